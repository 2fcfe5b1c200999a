"""``SERVICE wikibase:label``: labels, descriptions and aliases in the languages asked for, in plain SPARQL.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Label_service. The service runs last in its group: it
never takes rows away and never multiplies them. A label is looked up row by row: OPTIONAL is, in Oxigraph, as long as
its subject is bound in every row; a variable that may be unbound stands in for one that is (``?key`` below), or all
labels would be joined with all rows.
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
from kbkit.sparql.parse import patterns
from kbkit.sparql.patterns import above, append, depth, is_in_exists, parents, put, query_of
from kbkit.sparql.printing import to_text
from kbkit.sparql.scope import certain, visible
from kbkit.sparql.tree import Node, ParseTree, child, children, copy, nodes, tokens

_AUTO = "[auto_language]"
_LANGUAGE = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_NOTHING = "<urn:kbkit:nothing>"
_VERBS = {
    Wikibase.PREFIXES["rdfs"] + "label": "Label",
    Wikibase.SCHEMA + "description": "Description",
    Wikibase.PREFIXES["skos"] + "altLabel": "AltLabel",
}
MOST_WORDS = 50_000
"""Patterns that aliases would repeat beyond this are refused: nested, they grow without bound."""
_SUFFIXES = ("AltLabel", "Label", "Description")


class _Wanted(NamedTuple):
    subject: str  # ?x, or an IRI as it is written
    kind: str  # Label, Description or AltLabel
    target: str  # ?xLabel


def serve(tree: ParseTree, context: Context) -> ParseTree:
    """Put the patterns that look labels up for each label service, the innermost first."""
    parent_of = parents(tree)
    found = services.of(tree, context, services.LABEL)
    plans = [(depth(service, parent_of), service, _plan(service, context, parent_of)) for service in found]
    services_in = Counter(id(parent_of[id(service)]) for service in found)
    for _, service, (languages, wanted) in sorted(plans, key=lambda plan: -plan[0]):
        group = parent_of[id(service)]
        put(group, service)
        if is_in_exists(group, parent_of) and not wanted:
            continue
        pattern = [part for part in group.children if part not in ("{", "}")]
        seen = visible(*pattern)
        todo = [want for want in wanted if want.target[1:] not in seen]
        graph = _graph(service, todo, group, parent_of)
        if services_in[id(group)] == 1 and all(want.subject.startswith("?") for want in todo) and not graph:
            names = [(want.target[1:], want.subject[1:]) for want in todo]
            group = postpone(query_of(group, parent_of), group, names)
        _Lookup(context, service, group, languages, graph).add(todo)
        words = ", ".join(want.target for want in todo)
        chosen = ", ".join(languages)
        context.note(f"label service: {words} in {chosen}" if words else "label service: nothing asks for a label")
    return tree


def _graph(service: ParseTree, wanted: list[_Wanted], group: ParseTree, parent_of: dict[int, ParseTree]) -> str:
    """The variable of the GRAPH around, where aliases are wanted: their sub-select has to show it; "" where none is."""
    around = above(group, parent_of, "graph_graph_pattern")
    if around is None or not any(want.kind == "AltLabel" for want in wanted):
        return ""
    name = around.children[1]
    if not isinstance(name, Token) or name.type != "VAR":
        return ""
    if depth(query_of(group, parent_of), parent_of) > depth(around, parent_of):
        services.refuse(
            service,
            f"aliases in a sub-select in GRAPH {name} would be those of all graphs",
            "ask for the aliases outside of the sub-select, or for one graph",
        )
    return "?" + name[1:]


def _plan(service: ParseTree, context: Context, parent_of: dict[int, ParseTree]) -> tuple[list[str], list[_Wanted]]:
    """The languages and what is wanted of one service."""
    given, rest = services.parameters(service, context)
    languages = _languages(service, given, context)
    explicit = []
    for triple in rest:
        kind = _VERBS.get(context.names.iri(triple.verb) or "")
        if kind is None or not isinstance(triple.subject, Token) or not isinstance(triple.object, Token):
            services.refuse(
                service,
                f"SERVICE wikibase:label cannot serve {to_text(triple.verb)}",
                "it knows ?x rdfs:label ?name, schema:description and skos:altLabel",
            )
        if triple.object.type != "VAR":
            services.refuse(service, "SERVICE wikibase:label gives labels: they need a variable", "?x rdfs:label ?name")
        explicit.append(_Wanted(_sign(triple.subject), kind, _sign(triple.object)))
    return languages, explicit or _automatic(service, parent_of)


def _sign(token: Token) -> str:
    return "?" + token[1:] if token.type == "VAR" else str(token)


def _languages(service: ParseTree, given: list[tuple[str, Node]], context: Context) -> list[str]:
    """The codes of all ``wikibase:language`` parameters, best first, in lower case as engines keep them."""
    chosen: dict[str, None] = {}
    for iri, value in given:
        text = services.constant(value)
        if iri != Wikibase.ONTOLOGY + "language" or text is None:
            name = context.names.short(iri)
            services.refuse(
                service, f"SERVICE wikibase:label has no parameter {name} {to_text(value)}", 'wikibase:language "en,de"'
            )
        for code in (part.strip().lower() for part in text.split(",")):
            if code == _AUTO:
                chosen |= dict.fromkeys(language.lower() for language in context.languages)
            elif _LANGUAGE.fullmatch(code):
                chosen[code] = None
            elif code:
                services.refuse(service, f"{code!r} is no language", 'as in: wikibase:language "[AUTO_LANGUAGE],en"')
    return list(chosen) or [language.lower() for language in context.languages]


def _automatic(service: ParseTree, parent_of: dict[int, ParseTree]) -> list[_Wanted]:
    """The ?xLabel, ?xDescription and ?xAltLabel that the SELECT names and its pattern does not bind."""
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
    wanted = []
    for name in mentioned:
        for suffix in _SUFFIXES:
            base = name.removesuffix(suffix)
            if name not in bound and base != name and base in here:
                wanted.append(_Wanted("?" + base, suffix, "?" + name))
                break
    return wanted


def _words(node: ParseTree) -> list[str]:
    return [part.upper() for part in node.children if isinstance(part, Token)]


class _Lookup:
    """Adds patterns to one group."""

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

    def add(self, wanted: list[_Wanted]) -> None:
        """Look up each of these."""
        for want in wanted:
            {"Label": self.label, "Description": self.description, "AltLabel": self.aliases}[want.kind](want)

    def put(self, text: str) -> None:
        """Add patterns, given as text, at the end of the group."""
        append(self.group, *patterns(text))

    def key(self, subject: str, *, always: bool = False) -> str:
        """A term that is bound in every row: the subject, or a variable that holds it wherever it is bound."""
        if not always and (not subject.startswith("?") or subject[1:] in self.certain):
            return subject
        if subject not in self.keys:
            self.keys[subject] = self.context.variable(subject + "_key" if subject.startswith("?") else "key")
            self.put(f"BIND(COALESCE({subject}, {_NOTHING}) AS {self.keys[subject]})")
        return self.keys[subject]

    def translations(self, want: _Wanted, verb: str) -> list[str]:
        """A variable for each language, bound where a better one has nothing."""
        key = self.key(want.subject)
        found: list[str] = []
        for language in self.languages:
            variable = self.context.variable(f"{want.target}_{language.replace('-', '_')}")
            tests = [*(f"!BOUND({better})" for better in found), f'LANG({variable}) = "{language}"']
            self.put(f"OPTIONAL {{ {key} {verb} {variable} . FILTER({' && '.join(tests)}) }}")
            found.append(variable)
        return found

    def label(self, want: _Wanted) -> None:
        """The best label, else the entity's id, else the text of what it is."""
        found = self.translations(want, self.context.names.short(Wikibase.PREFIXES["rdfs"] + "label"))
        text = f"STR({want.subject})"
        name = f'IF(STRSTARTS({text}, "{Wikibase.ENTITY}"), STRAFTER({text}, "{Wikibase.ENTITY}"), {text})'
        self.put(f"BIND(COALESCE({', '.join([*found, name])}) AS {want.target})")

    def description(self, want: _Wanted) -> None:
        """The best description; unbound where there is none."""
        found = self.translations(want, self.context.names.short(Wikibase.SCHEMA + "description"))
        self.put(f"BIND(COALESCE({', '.join(found)}) AS {want.target})")

    def aliases(self, want: _Wanted) -> None:
        """The aliases in the best language that has any, in one string.

        A list per row takes a sub-select, which is computed on its own: so it gets the pattern again, to list the
        aliases of the nodes that are found and not of all.
        """
        key, verb = (
            self.key(want.subject, always=True),
            self.context.names.short(Wikibase.PREFIXES["skos"] + "altLabel"),
        )
        found = []
        shown = f"{self.graph} {key}"
        size = sum(1 for part in self.before for _ in tokens(part)) * len(self.languages)
        if size > MOST_WORDS:
            hint = "take fewer languages, or ask for the aliases further out"
            services.refuse(self.service, f"with its aliases the query has over {MOST_WORDS} words", hint)
        for language in self.languages:
            pattern: ParseTree = Tree("group_graph_pattern", [copy(part) for part in self.before])
            self.context.with_new_blank_nodes(pattern)
            alias = self.context.variable("alias")
            column = self.context.variable(f"{want.target}_{language.replace('-', '_')}")
            found_nodes = (
                f"SELECT DISTINCT {self.graph} ({want.subject} AS {key}) "
                f"WHERE {{ {to_text(pattern)} FILTER(BOUND({want.subject})) }}"
            )
            self.put(
                f'OPTIONAL {{ SELECT {shown} (GROUP_CONCAT({alias}; SEPARATOR = ", ") AS {column}) WHERE {{ '
                f'{{ {found_nodes} }} {key} {verb} {alias} . FILTER(LANG({alias}) = "{language}") }} '
                f"GROUP BY {shown} }}"
            )
            found.append(column)
        self.put(f"BIND(COALESCE({', '.join(found)}) AS {want.target})")
