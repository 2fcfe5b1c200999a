"""Completion of SPARQL: relations, attributes, types, prefixes, nodes and variables, by position in the triple."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kbkit.executor.completion.ranking import (
    NAMES,
    Candidate,
    CompletionItem,
    about,
    candidate,
    layered,
    ranked,
    starting,
)
from kbkit.executor.completion.sparql_context import ENDED, OBJECT, PREDICATE, VARIABLE, SparqlContext, context
from kbkit.executor.completion.sparql_names import SparqlNames
from kbkit.executor.vocabulary import NamedNode, Vocabulary
from kbkit.schema import iri_escape

_START = ("SELECT", "PREFIX", "ASK", "CONSTRUCT", "DESCRIBE")
_SELECT = ("DISTINCT", "*", "WHERE {", "(COUNT(", "(COUNT(DISTINCT", "(SAMPLE(", "(AVG(", "(SUM(", "(MIN(", "(MAX(")
_END = ("ORDER BY", "LIMIT", "GROUP BY", "HAVING (", "OFFSET", "VALUES")
_PATTERN = ("OPTIONAL {", "FILTER(", "FILTER NOT EXISTS {", "FILTER EXISTS {", "BIND(", "VALUES", "MINUS {", "UNION {")
_MORE_PATTERN = ("GRAPH", "SERVICE", "SELECT")
_FUNCTIONS = """BOUND( STR( LANG( LANGMATCHES( REGEX( CONTAINS( STRSTARTS( STRENDS( STRLEN( SUBSTR( UCASE( LCASE(
    REPLACE( CONCAT( STRBEFORE( STRAFTER( YEAR( MONTH( DAY( NOW( IF( COALESCE( DATATYPE( IRI( ISIRI( ISLITERAL( ABS(
    ROUND( CEIL( FLOOR( COUNT( SUM( AVG( MIN( MAX( SAMPLE( GROUP_CONCAT( STRDT( STRLANG(""".split()  # noqa: SIM905
_WORDS = ("AS", "IN (", "NOT IN (", "NOT EXISTS {", "EXISTS {", "DISTINCT", "true", "false")
_AFTER = {"order": ("BY",), "group": ("BY",), "not": ("EXISTS {",), "filter": ("NOT EXISTS {", "EXISTS {", "(")}
_TYPE_VERBS = ("a", "rdf:type", "kb:type", "wdt:P31", "wdt:P31/wdt:P279*")
_LABELS = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en". }'
_SEARCH = 'SERVICE kb:search { ?item kb:matches "" }'
KEYWORDS = frozenset(
    word.casefold()
    for phrases in (_START, _SELECT, _END, _PATTERN, _MORE_PATTERN, _FUNCTIONS, _WORDS)
    for phrase in phrases
    for word in re.findall(r"[A-Za-z_]+", phrase)
) | {"base", "where", "by", "asc", "desc", "reduced", "from", "named", "silent"}
"""Words to highlight."""
_LOCAL_NAME = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:[A-Za-z0-9_.-]|%[0-9A-Fa-f]{2})*(?<!\.)")


def complete(text: str, at: int, vocabulary: Vocabulary) -> list[Candidate]:  # noqa: PLR0911
    """Return the candidates at a position of a SPARQL query."""
    here = context(text, at)
    terms = _names_of(vocabulary, here)
    if here.kind in ("comment", "string", "open_string", "iri", "open_iri", "number", "tag"):
        return []
    if here.kind == "variable":
        return starting(here.typed[1:], _variables(text, here), here.start)
    if here.kind == "name":
        return _local(vocabulary, terms, here)
    if here.frame.kind == "pattern":
        return _in_pattern(terms, here, text)
    if here.frame.kind == "path":
        return layered(here.typed, here.start, terms.predicates, _prefixes(terms))
    if here.frame.kind == "list":
        return layered(here.typed, here.start, _prefixes(terms))
    if here.frame.kind == "expression":
        exact = [_variables(text, here), _keywords(_FUNCTIONS, here), _keywords(_WORDS, here), _prefixes(terms)]
        return layered(here.typed, here.start, exact=exact)
    return _in_head(terms, here, text)


def _names_of(vocabulary: Vocabulary, here: SparqlContext) -> SparqlNames:
    """Return the names of the KB with the prefixes of the query; those of the last query are cached."""
    if not here.prefixes:
        return vocabulary.cached("sparql", lambda: SparqlNames(vocabulary.schema))
    last: list[SparqlNames] = vocabulary.cached("sparql of the last query", list)
    if not last or last[0].declared != here.prefixes:
        last[:] = [SparqlNames(vocabulary.schema, here.prefixes)]
    return last[0]


def _keywords(words: Iterable[str], here: SparqlContext) -> list[CompletionItem]:
    small = here.typed and here.typed == here.typed.lower()
    return [CompletionItem(word, word.lower() if small else word) for word in words]


def _variables(text: str, here: SparqlContext) -> list[CompletionItem]:
    """Return the variables of the query, except the one at the cursor."""
    found = [match[1] for match in VARIABLE.finditer(text) if match.start() != here.start]
    return [CompletionItem(name, f"?{name}", "variable", 0, "", f"?{name}") for name in dict.fromkeys(found)]


def _prefixes(terms: SparqlNames) -> list[CompletionItem]:
    nodes = {t.name: t.members for t in terms.schema.node_types}
    own = {"rel": "relations", "attr": "attributes", "type": "types", "text": "texts"}
    return [
        CompletionItem(
            name, f"{name}:", own.get(name) or namespace, nodes.get(name, 0) + 2 * (name in own), "", f"{name}:"
        )
        for name, namespace in terms.prefixes.items()
        if name
    ]


# -- by context -------------------------------------------------------------------------------------------------------


def _in_head(terms: SparqlNames, here: SparqlContext, text: str) -> list[Candidate]:  # noqa: PLR0911
    """Complete outside braces: the query form, variables, modifiers."""
    frame, variables = here.frame, _variables(text, here)
    if frame.word in _AFTER:
        return layered(here.typed, here.start, exact=[_keywords(_AFTER[frame.word], here)])
    if frame.word == "by" or frame.word in ("asc", "desc"):
        order = _keywords(("DESC(", "ASC("), here) if frame.before == "order" else []
        ends = _keywords(_END, here) if here.last[:1] in ("?", "$", ")") else []
        return layered(here.typed, here.start, exact=[variables, order, ends])
    if frame.word in ("limit", "offset", "prefix", "base"):
        return []
    if frame.word == "describe":
        return layered(here.typed, here.start, exact=[variables, _prefixes(terms)])
    if here.ended:
        return layered(here.typed, here.start, exact=[_keywords(_END, here)])
    if frame.word in ("select", "distinct", "reduced"):
        return layered(here.typed, here.start, exact=[variables, _keywords(_SELECT, here)])
    if frame.word in ("where", "ask", "construct"):
        return layered(here.typed, here.start, exact=[_keywords(("WHERE {", "{"), here)])
    return layered(here.typed, here.start, exact=[_keywords(_START, here)])


def _in_pattern(terms: SparqlNames, here: SparqlContext, text: str) -> list[Candidate]:
    frame, prefixes = here.frame, _prefixes(terms)
    variables = _variables(text, here)
    if frame.word in _AFTER:
        return layered(here.typed, here.start, exact=[_keywords(_AFTER[frame.word], here)])
    if frame.position == PREDICATE:
        return layered(here.typed, here.start, terms.predicates, terms.common_predicates(), exact=[prefixes, variables])
    if frame.position == OBJECT:
        return _objects(terms, here, variables, prefixes)
    if frame.position == ENDED:
        if here.typed:
            return []
        signs = {". ": "end the triple", "; ": "another predicate of this subject", ", ": "another object"}
        return [candidate(sign, here.start, sign.strip(), meta) for sign, meta in signs.items()]
    services = [CompletionItem("SERVICE kb:search", _SEARCH, "full text")]
    if terms.wikidata:
        services.append(CompletionItem("SERVICE wikibase:label", _LABELS, "labels of the selected nodes"))
    keywords = [*_keywords(_PATTERN, here), *services, *_keywords(_MORE_PATTERN, here)]
    return layered(here.typed, here.start, exact=[variables, prefixes, keywords])


def _objects(
    terms: SparqlNames, here: SparqlContext, variables: list[CompletionItem], prefixes: list[CompletionItem]
) -> list[Candidate]:
    """Complete an object: types after ``a``; after a relation, nodes of its tail types first."""
    if here.frame.verb in _TYPE_VERBS:
        return layered(here.typed, here.start, terms.all_types, exact=[variables, prefixes])
    tails = terms.tails.get(here.frame.verb, ())
    nodes = [item._replace(meta=f"nodes of type {item.name}") for item in prefixes if item.name in tails]
    others = [item for item in prefixes if item.name not in tails]
    return layered(here.typed, here.start, nodes, exact=[variables, others])


# -- prefixed names ---------------------------------------------------------------------------------------------------


def _local(vocabulary: Vocabulary, terms: SparqlNames, here: SparqlContext) -> list[Candidate]:
    """Complete after ``prefix:``: relations, attributes and types of the namespace, nodes by key and by name."""
    prefix, _, local = here.typed.partition(":")
    namespace = terms.prefixes.get(prefix)
    if namespace is None:
        return []
    found = ranked(local, terms.within(prefix), here.start)
    taken = {c.text for c in found}
    return found + [c for c in _nodes(vocabulary, here, prefix, namespace, local) if c.text not in taken]


def _nodes(vocabulary: Vocabulary, here: SparqlContext, prefix: str, namespace: str, local: str) -> list[Candidate]:
    schema = vocabulary.schema
    node_type, before = None, ""
    if schema.rdf_source:
        if not namespace.startswith(schema.key_base):
            return []
        before = namespace.removeprefix(schema.key_base)
    else:
        spaces = {schema.node_namespace(t.name): t.name for t in schema.node_types}
        node_type = spaces.get(namespace)
        if node_type is None:
            return []
    nodes = list(vocabulary.keys(before + local, node_type, NAMES))
    if len(local) > 1:
        nodes += vocabulary.names(local.replace("_", " ").replace("%20", " "), node_type, NAMES)
    return list(_written(schema.rdf_source, here.start, prefix, before, nodes).values())


def _written(
    rdf_source: bool, start: int, prefix: str, before: str, nodes: Iterable[NamedNode]
) -> dict[str, Candidate]:
    found: dict[str, Candidate] = {}
    for node in nodes:
        local = node.key.removeprefix(before) if rdf_source else iri_escape(node.key)
        if node.key.startswith(before) and _LOCAL_NAME.fullmatch(local):
            text = f"{prefix}:{local}"
            found.setdefault(text, candidate(text, start, f"{text} {node.name}", about(node)))
    return found
