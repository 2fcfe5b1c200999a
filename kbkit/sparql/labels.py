"""Rewrite ``SERVICE wikibase:label``: labels, descriptions and aliases in the requested languages.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Label_service. Each becomes a column of the result
(``shown_labels.py``), or a ``BIND`` to the function ``kb:inLanguage`` of the worker, which looks at the values of a
property once, whatever the number of languages. The service runs last in its group, or before the first assignment that
uses its variables. It neither removes nor multiplies rows, and leaves variables that are already bound.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from lark import Token, Tree

from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Wikibase
from kbkit.sparql.calls import constant, parameters, variable
from kbkit.sparql.context import Context, rename
from kbkit.sparql.late_labels import postpone
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.shown_labels import detach
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    above,
    certain,
    child,
    children,
    depth,
    is_in_exists,
    nodes,
    parents,
    put,
    query_of,
    tokens,
    variables,
    visible,
)
from kbkit.stores.sparql_process import ResultColumn
from kbkit.stores.sparql_text import string_literal

_AUTO = "[auto_language]"
_AUTOMATIC = {  # by the end of the variable's name; the first that fits
    "AltLabel": STANDARD_PREFIXES["skos"] + "altLabel",
    "Label": STANDARD_PREFIXES["rdfs"] + "label",
    "Description": Wikibase.SCHEMA + "description",
}


class _Request(NamedTuple):
    """A column to compute: the best value of a property."""

    subject: str  # ?x, or an IRI as written
    verb: str  # rdfs:label
    target: str  # ?xLabel
    property: str  # the IRI of the verb, or "" if that is a variable


def lookup(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Replace each label service by assignments that look up labels, the innermost first."""
    parent_of = parents(tree)
    plans = [(depth(call, parent_of), call, _plan(call, context, parent_of)) for call in calls]
    calls_in = Counter(id(parent_of[id(call)]) for call in calls)
    for _, call, (languages, requests) in sorted(plans, key=lambda plan: -plan[0]):
        group = parent_of[id(call)]
        put(group, call)
        if is_in_exists(group, parent_of) and not requests:
            continue
        bound, known = visible(*group.children), certain(*group.children)
        todo = [request for request in requests if request.target[1:] not in known]
        alone = calls_in[id(group)] == 1 and not any(request.target[1:] in bound for request in todo)
        graph = _graph(group, parent_of)
        if alone and not graph and all(request.subject.startswith("?") for request in todo):
            outer = _late(query_of(group, parent_of), group, todo, ",".join(languages), context)
        else:
            outer = group
        if outer is not None:
            for request in todo:
                _assign(outer, request, ",".join(languages), graph, context)
        words, codes = ", ".join(request.target for request in todo), ", ".join(languages)
        context.note(f"Looked up {words} in {codes}" if words else "Removed SERVICE wikibase:label: no label is used")


def _late(
    query: ParseTree, group: ParseTree, requests: list[_Request], languages: str, context: Context
) -> ParseTree | None:
    """Return the group in which to look up labels after all else, or None if they are columns of the result."""
    labels = [
        ResultColumn(request.target[1:], request.subject[1:], request.property, languages) for request in requests
    ]
    if detach(query, group, labels, context):
        return None
    outer = postpone(query, group, [label[:2] for label in labels])
    return None if outer is not group and detach(query, outer, labels, context) else outer


def _assign(group: ParseTree, request: _Request, languages: str, graph: str, context: Context) -> None:
    """Insert one assignment into a group; a value that the group may bind itself takes precedence."""
    function = context.names.short(KB_NAMESPACE + "inLanguage")
    more = f", {graph}" if graph else ""
    value = f"{function}({request.subject}, {request.verb}, {string_literal(languages)}{more})"
    if request.target[1:] in visible(*group.children):
        own = context.variable(request.target)
        for part in group.children:
            if isinstance(part, Tree):
                rename(part, {request.target: own})
        value = f"COALESCE({own}, {value})"
    at = _place(group, request)
    group.children[at:at] = patterns(f"BIND({value} AS {request.target})")


def _place(group: ParseTree, request: _Request) -> int:
    """Return where to assign a label: at the end, or before an assignment that uses it, if its subject is bound."""
    needed = {request.subject[1:]} if request.subject.startswith("?") else set()
    for at, part in enumerate(group.children):
        if isinstance(part, Tree) and part.data == "bind" and request.target[1:] in variables(part):
            if needed <= visible(*group.children[:at]).keys():
                return at
            break
    return len(group.children) - 1


def _graph(group: ParseTree, parent_of: dict[int, ParseTree]) -> str:
    """Return the graph around a group, which has labels of its own, or ""."""
    around = above(group, parent_of, "graph_graph_pattern")
    if around is None or depth(query_of(group, parent_of), parent_of) > depth(around, parent_of):
        return ""  # a subquery does not see the variable
    return variable(around.children[1])


def _plan(call: ParseTree, context: Context, parent_of: dict[int, ParseTree]) -> tuple[list[str], list[_Request]]:
    """Return the languages and the columns of one service."""
    values, rest = parameters(call, context)
    languages = _languages(call, values, context)
    explicit = []
    for triple in rest:
        if not isinstance(triple.object, Token) or triple.object.type != "VAR":
            refuse(call, "The object of a label must be a variable", "Write ?x rdfs:label ?name")
        if not isinstance(triple.subject, Token) or not isinstance(triple.verb, Token):
            refuse(call, "SERVICE wikibase:label needs plain triples", "Write ?x rdfs:label ?name")
        verb = context.names.iri(triple.verb)
        word = variable(triple.verb) if verb is None else context.names.short(verb)
        explicit.append(_Request(variable(triple.subject), word, variable(triple.object), verb or ""))
    return languages, explicit or _automatic(call, context, parent_of)


def _languages(call: ParseTree, values: list[tuple[str, Node]], context: Context) -> list[str]:
    """Return the codes of all ``wikibase:language`` parameters, best first, in lower case as in the engine."""
    codes: dict[str, None] = {}
    for iri, value in values:
        if iri != Wikibase.ONTOLOGY + "language":
            continue
        text = constant(value)
        if text is None:
            message = f"The value of wikibase:language must be a constant, not {to_text(value)}"
            refuse(call, message, 'Write wikibase:language "en,de"')
        for code in (part.strip().lower() for part in text.split(",")):
            added = context.languages if code == _AUTO else [code] if code else []
            codes |= dict.fromkeys(language.lower() for language in added)
    return list(codes) or [language.lower() for language in context.languages]


def _automatic(call: ParseTree, context: Context, parent_of: dict[int, ParseTree]) -> list[_Request]:
    """Return the ?xLabel, ?xDescription and ?xAltLabel that the SELECT uses and no other pattern binds."""
    query = query_of(call, parent_of)
    sources = children(query, "select_clause", "solution_modifier", "construct_template")
    if query.data == "describe_query":
        sources = [Tree("describe", [part for part in query.children if isinstance(part, Token)])]
    mentioned = dict.fromkeys(str(token)[1:] for source in sources for token in tokens(source) if token.type == "VAR")
    where = child(query, "where_clause")
    here = visible(*parent_of[id(call)].children)
    bound = (visible(where) if where is not None else {}).keys() - here.keys()
    for source in sources:
        computed = [part for part in nodes(source, "select_expression", "group_condition") if "AS" in _words(part)]
        bound |= {str(part.children[-2])[1:] for part in computed}
    requests = []
    for name in mentioned:
        suffix = next((end for end in _AUTOMATIC if name.endswith(end) and name != end), "")
        base = name.removesuffix(suffix)
        if suffix and name not in bound and base in here:
            verb = _AUTOMATIC[suffix]
            requests.append(_Request("?" + base, context.names.short(verb), "?" + name, verb))
    return requests


def _words(node: ParseTree) -> list[str]:
    return [part.upper() for part in node.children if isinstance(part, Token)]
