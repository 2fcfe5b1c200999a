"""Rewrite ``SERVICE wikibase:label``: labels, descriptions and aliases in the requested languages.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Label_service. The service runs last in its group, and
neither removes nor multiplies rows. Oxigraph evaluates OPTIONAL row by row only if the subject is bound in every row.
A variable that may be unbound is therefore replaced by one that never is (``?key`` below); otherwise the join would
cover all labels and all rows.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from lark import Token, Tree

from kbkit.schema import Wikibase
from kbkit.sparql import services
from kbkit.sparql.context import Context
from kbkit.sparql.late_labels import postpone
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.services import variable
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    above,
    append,
    certain,
    child,
    children,
    copy,
    depth,
    is_in_exists,
    nodes,
    parents,
    put,
    query_of,
    tokens,
    visible,
)

_AUTO = "[auto_language]"
_LANGUAGE = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_NOTHING = "<urn:kbkit:nothing>"
_VERBS = {
    Wikibase.PREFIXES["rdfs"] + "label": "Label",
    Wikibase.SCHEMA + "description": "Description",
    Wikibase.PREFIXES["skos"] + "altLabel": "AltLabel",
}
MAX_WORDS = 50_000
"""Limit on the words that aliases repeat: nested ones grow exponentially."""
_SUFFIXES = ("AltLabel", "Label", "Description")


class _Request(NamedTuple):
    """A label, description or alias column to compute."""

    subject: str  # ?x, or an IRI as written
    kind: str  # Label, Description or AltLabel
    target: str  # ?xLabel


def lookup(tree: ParseTree, context: Context) -> None:
    """Replace each label service by patterns that look up labels, the innermost first."""
    parent_of = parents(tree)
    found = services.of(tree, context, services.LABEL)
    plans = [(depth(service, parent_of), service, _plan(service, context, parent_of)) for service in found]
    services_in = Counter(id(parent_of[id(service)]) for service in found)
    for _, service, (languages, requests) in sorted(plans, key=lambda plan: -plan[0]):
        group = parent_of[id(service)]
        put(group, service)
        if is_in_exists(group, parent_of) and not requests:
            continue
        pattern = [part for part in group.children if part not in ("{", "}")]
        seen = visible(*pattern)
        todo = [request for request in requests if request.target[1:] not in seen]
        graph = _graph(service, todo, group, parent_of)
        if services_in[id(group)] == 1 and all(request.subject.startswith("?") for request in todo) and not graph:
            names = [(request.target[1:], request.subject[1:]) for request in todo]
            group = postpone(query_of(group, parent_of), group, names)
        _Lookup(context, service, group, languages, graph).add(todo)
        words = ", ".join(request.target for request in todo)
        codes = ", ".join(languages)
        context.note(f"Looked up {words} in {codes}" if words else "Removed SERVICE wikibase:label: no label is used")


def _graph(service: ParseTree, requests: list[_Request], group: ParseTree, parent_of: dict[int, ParseTree]) -> str:
    """Return the variable of the enclosing GRAPH if aliases need it (their subquery must project it), else ""."""
    around = above(group, parent_of, "graph_graph_pattern")
    if around is None or not any(request.kind == "AltLabel" for request in requests):
        return ""
    name = around.children[1]
    if not isinstance(name, Token) or name.type != "VAR":
        return ""
    if depth(query_of(group, parent_of), parent_of) > depth(around, parent_of):
        refuse(
            service,
            f"Aliases in a subquery in GRAPH {name} would come from all graphs",
            "Request the aliases outside the subquery, or name one graph",
        )
    return "?" + name[1:]


def _plan(service: ParseTree, context: Context, parent_of: dict[int, ParseTree]) -> tuple[list[str], list[_Request]]:
    """Return the languages and the columns of one service."""
    values, rest = services.parameters(service, context)
    languages = _languages(service, values, context)
    explicit = []
    for triple in rest:
        kind = _VERBS.get(context.names.iri(triple.verb) or "")
        if kind is None or not isinstance(triple.subject, Token) or not isinstance(triple.object, Token):
            refuse(
                service,
                f"Unknown property {to_text(triple.verb)} in SERVICE wikibase:label",
                "Valid properties: rdfs:label, schema:description, skos:altLabel",
            )
        if triple.object.type != "VAR":
            refuse(service, "The object of a label must be a variable", "Write ?x rdfs:label ?name")
        explicit.append(_Request(variable(triple.subject), kind, variable(triple.object)))
    return languages, explicit or _automatic(service, parent_of)


def _languages(service: ParseTree, values: list[tuple[str, Node]], context: Context) -> list[str]:
    """Return the codes of all ``wikibase:language`` parameters, best first, in lower case as in the engine."""
    codes: dict[str, None] = {}
    for iri, value in values:
        text = services.constant(value)
        if iri != Wikibase.ONTOLOGY + "language" or text is None:
            name = context.names.short(iri)
            message = f"Unsupported parameter {name} {to_text(value)} of SERVICE wikibase:label"
            refuse(service, message, 'Write wikibase:language "en,de"')
        for code in (part.strip().lower() for part in text.split(",")):
            if code == _AUTO:
                codes |= dict.fromkeys(language.lower() for language in context.languages)
            elif _LANGUAGE.fullmatch(code):
                codes[code] = None
            elif code:
                refuse(service, f"Invalid language code {code!r}", 'Write wikibase:language "[AUTO_LANGUAGE],en"')
    return list(codes) or [language.lower() for language in context.languages]


def _automatic(service: ParseTree, parent_of: dict[int, ParseTree]) -> list[_Request]:
    """Return the ?xLabel, ?xDescription and ?xAltLabel that the SELECT uses and its pattern does not bind."""
    query = query_of(service, parent_of)
    sources = children(query, "select_clause", "solution_modifier", "construct_template")
    if query.data == "describe_query":
        sources = [Tree("describe", [part for part in query.children if isinstance(part, Token)])]
    mentioned = dict.fromkeys(str(token)[1:] for source in sources for token in tokens(source) if token.type == "VAR")
    where = child(query, "where_clause")
    bound = visible(where) if where is not None else {}
    for source in sources:
        computed = [part for part in nodes(source, "select_expression", "group_condition") if "AS" in _words(part)]
        bound |= dict.fromkeys(str(part.children[-2])[1:] for part in computed)
    here = visible(*parent_of[id(service)].children)
    requests = []
    for name in mentioned:
        for suffix in _SUFFIXES:
            base = name.removesuffix(suffix)
            if name not in bound and base != name and base in here:
                requests.append(_Request("?" + base, suffix, "?" + name))
                break
    return requests


def _words(node: ParseTree) -> list[str]:
    return [part.upper() for part in node.children if isinstance(part, Token)]


class _Lookup:
    """Adds the lookups of one service to its group."""

    def __init__(
        self, context: Context, service: ParseTree, group: ParseTree, languages: list[str], graph: str
    ) -> None:
        self.context, self.service, self.group, self.languages, self.graph = context, service, group, languages, graph
        inside = [part for part in group.children if part not in ("{", "}")]
        self.before = [
            copy(part) for part in inside if not (isinstance(part, Tree) and part.data == "service_graph_pattern")
        ]
        self.certain = certain(*inside)
        self.keys: dict[str, str] = {}

    def add(self, requests: list[_Request]) -> None:
        """Add the patterns of all requests."""
        for request in requests:
            {"Label": self.label, "Description": self.description, "AltLabel": self.aliases}[request.kind](request)

    def put(self, text: str) -> None:
        """Add patterns at the end of the group."""
        append(self.group, *patterns(text))

    def key(self, subject: str, *, always: bool = False) -> str:
        """Return a term that is bound in every row: the subject, or a variable equal to it wherever it is bound."""
        if not always and (not subject.startswith("?") or subject[1:] in self.certain):
            return subject
        if subject not in self.keys:
            self.keys[subject] = self.context.variable(subject + "_key" if subject.startswith("?") else "key")
            self.put(f"BIND(COALESCE({subject}, {_NOTHING}) AS {self.keys[subject]})")
        return self.keys[subject]

    def translations(self, request: _Request, verb: str) -> list[str]:
        """Return a variable per language, bound only if no better language has a value."""
        key = self.key(request.subject)
        found: list[str] = []
        for language in self.languages:
            variable = self.context.variable(f"{request.target}_{language.replace('-', '_')}")
            tests = [*(f"!BOUND({better})" for better in found), f'LANG({variable}) = "{language}"']
            self.put(f"OPTIONAL {{ {key} {verb} {variable} . FILTER({' && '.join(tests)}) }}")
            found.append(variable)
        return found

    def label(self, request: _Request) -> None:
        """Look up the best label; without any, the entity's id, or the value as text."""
        found = self.translations(request, self.context.names.short(Wikibase.PREFIXES["rdfs"] + "label"))
        text = f"STR({request.subject})"
        name = f'IF(STRSTARTS({text}, "{Wikibase.ENTITY}"), STRAFTER({text}, "{Wikibase.ENTITY}"), {text})'
        self.put(f"BIND(COALESCE({', '.join([*found, name])}) AS {request.target})")

    def description(self, request: _Request) -> None:
        """Look up the best description (unbound: none)."""
        found = self.translations(request, self.context.names.short(Wikibase.SCHEMA + "description"))
        self.put(f"BIND(COALESCE({', '.join(found)}) AS {request.target})")

    def aliases(self, request: _Request) -> None:
        """Look up the aliases in the best language that has any, joined by commas.

        A list per row needs a subquery, which is evaluated independently. It repeats the pattern, so that only the
        aliases of matching nodes are listed.
        """
        key, verb = (
            self.key(request.subject, always=True),
            self.context.names.short(Wikibase.PREFIXES["skos"] + "altLabel"),
        )
        found = []
        columns = f"{self.graph} {key}"
        size = sum(1 for part in self.before for _ in tokens(part)) * len(self.languages)
        if size > MAX_WORDS:
            hint = "Use fewer languages, or request the aliases in an outer query"
            refuse(self.service, f"The query has over {MAX_WORDS:,} words with aliases expanded", hint)
        for language in self.languages:
            pattern: ParseTree = Tree("group_graph_pattern", [copy(part) for part in self.before])
            self.context.rename_blank_nodes(pattern)
            alias = self.context.variable("alias")
            column = self.context.variable(f"{request.target}_{language.replace('-', '_')}")
            found_nodes = (
                f"SELECT DISTINCT {self.graph} ({request.subject} AS {key}) "
                f"WHERE {{ {to_text(pattern)} FILTER(BOUND({request.subject})) }}"
            )
            self.put(
                f'OPTIONAL {{ SELECT {columns} (GROUP_CONCAT({alias}; SEPARATOR = ", ") AS {column}) WHERE {{ '
                f'{{ {found_nodes} }} {key} {verb} {alias} . FILTER(LANG({alias}) = "{language}") }} '
                f"GROUP BY {columns} }}"
            )
            found.append(column)
        self.put(f"BIND(COALESCE({', '.join(found)}) AS {request.target})")
