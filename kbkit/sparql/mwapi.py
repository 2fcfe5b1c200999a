"""Rewrite ``SERVICE wikibase:mwapi``: searches of Wikidata itself, answered from the KB's own full-text index.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual/MWAPI. The services EntitySearch, Search, and
Generator with the generator ``search`` find entities by words, and by ``haswbstatement:P31=Q5``, which becomes a
pattern. The others read pages, revisions and categories of a wiki, which no KB contains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from lark import Token, Tree

from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Wikibase
from kbkit.sparql.calls import constant, iri_token, number_token, parameters, values, variable
from kbkit.sparql.context import Context
from kbkit.sparql.fulltext import MAX_LIMIT, hits
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    Triple,
    above,
    child,
    copy,
    drop_verbs,
    group,
    group_of,
    is_variable,
    nodes,
    parents,
    put,
    tokens,
    variables,
    visible,
)
from kbkit.stores.sparql_text import string_literal

_HINT = 'Find entities with SERVICE kb:search { ?item kb:matches "words" }'
_WORDS = {"EntitySearch": "search", "Search": "srsearch", "Generator": "gsrsearch"}
"""The supported APIs, and the parameter with their words."""
_LIMITS = {"EntitySearch": ("limit", 50), "Search": ("srlimit", 500), "Generator": ("gsrlimit", 500)}
"""The parameter that limits the hits, and its maximum."""
_KINDS = {"item": "Q", "property": "P", "lexeme": "L", "form": "L", "sense": "L"}
_MOST_SEARCHES = 200
"""Maximum number of values of the words."""
_CANDIDATES = 2_000
"""Number of hits that are tested, if not all of them are results."""
_WITHOUT_VALUES = ("filter", "minus_graph_pattern", "service_graph_pattern")
_KEYWORD = re.compile(r'(-?)([a-z]+):("[^"]*"|\S+)', re.I)
_PROPERTY = re.compile(r"P[1-9][0-9]*")
_ENTITY = re.compile(r"[QPL][1-9][0-9]*")


class _Statement(NamedTuple):
    """A test of ``haswbstatement:``: any of these (property, value) or (property,)."""

    negated: bool
    alternatives: list[tuple[str, ...]]

    def pattern(self, item: str, context: Context) -> str:
        """Return a pattern that matches the items with any of the statements."""
        parts = []
        for prop, *value in self.alternatives:
            verb = context.names.short(Wikibase.PREFIXES["wdt"] + prop)
            entity = bool(value) and _ENTITY.fullmatch(value[0]) is not None
            text = "[]" if not value else f"<{Wikibase.ENTITY}{value[0]}>" if entity else string_literal(value[0])
            parts.append(f"{{ {item} {verb} {text} . }}")
        return " UNION ".join(parts)

    def filter(self, item: str, context: Context) -> str:
        """Return the test as a filter."""
        return f"FILTER {'NOT ' if self.negated else ''}EXISTS {{ {self.pattern(item, context)} }}"


class QueryWords(NamedTuple):
    """Words that are the values of a variable."""

    name: str


_Arguments: TypeAlias = dict[str, str | QueryWords]


class _Outputs(NamedTuple):
    """The variables of a call, empty if not requested."""

    item: str
    title: str
    label: str
    ordinal: str


def search(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Replace each call by its hits; if its words are a variable, by those of each of its values."""
    parent_of = parents(tree)
    for call in calls:
        arguments, outputs = _read(call, context)
        words = arguments[_WORDS[str(arguments["api"])]]
        if isinstance(words, str):
            new = _hits(call, context, arguments, outputs, words)
        else:
            bound_values = _values(tree, call, words.name, parent_of, context)
            new = _union(
                [(term, _hits(call, context, arguments, outputs, text)) for text, term in bound_values], words.name
            )
        put(parent_of[id(call)], call, *new)


def _hits(call: ParseTree, context: Context, arguments: _Arguments, outputs: _Outputs, text: str) -> list[Node]:
    """Return a pattern that matches the hits of a text."""
    api = str(arguments["api"])
    words, tests = _words(call, text)
    item = outputs.item or context.variable("item")
    name, most = _LIMITS[api]
    wanted = str(arguments.get(name, ""))
    limit = min(int(wanted), MAX_LIMIT) if wanted.isdecimal() else most
    new: list[Node] = []
    if words:
        letter = _KINDS.get(str(arguments.get("type", "item")), "")
        iris = _found(context, api, words, letter, max(limit, _CANDIDATES) if tests else limit)
        new += _tested(iris, item, outputs.ordinal, tests, limit, context)
    else:
        parts = [test.filter(item, context) if test.negated else test.pattern(item, context) for test in tests]
        new += patterns(f"{{ SELECT DISTINCT {item} WHERE {{ {' '.join(parts)} }} LIMIT {limit} }}")
        context.note(f"Rewrote the search {text!r} as a pattern")
    if outputs.title:
        id_of = f"STRAFTER(STR({item}), {string_literal(Wikibase.ENTITY)})"
        new += patterns(f"BIND({id_of} AS {outputs.title})")
    if outputs.label:
        label = context.names.short(STANDARD_PREFIXES["rdfs"] + "label")
        codes = string_literal(",".join(dict.fromkeys([str(arguments.get("language", "en")), *context.languages])))
        function = context.names.short(KB_NAMESPACE + "inLanguage")
        new += patterns(f"BIND(STR({function}({item}, {label}, {codes})) AS {outputs.label})")
    return new


def _tested(
    iris: Sequence[str], item: str, ordinal: str, tests: Sequence[_Statement], limit: int, context: Context
) -> list[Node]:
    """Return a pattern that matches the first hits that pass the tests."""
    place = ordinal or (context.variable("place") if tests else "")
    names = [item, place] if place else [item]
    found = values(names, ([iri_token(iri), number_token(at)][: len(names)] for at, iri in enumerate(iris, 1)))
    if not tests:
        return [found]
    filters = " ".join(test.filter(item, context) for test in tests)
    shown = " ".join([item, ordinal]).rstrip()
    new = patterns(f"{{ SELECT {shown} WHERE {{ {filters} }} ORDER BY {place} LIMIT {limit} }}")
    inner = child(next(nodes(new[0], "where_clause")), "group_graph_pattern")
    assert inner is not None
    inner.children.insert(1, found)
    return new


def _found(context: Context, api: str, words: str, letter: str, limit: int) -> list[str]:
    """Return the IRIs of hits: EntitySearch prefers labels."""
    if api != "EntitySearch" or context.find is None:
        most = limit if letter == "Q" else max(limit, _CANDIDATES)
        kind = "property" if letter == "P" else None
        return [iri for iri in hits(context, words, most, kind=kind) if iri.startswith(Wikibase.ENTITY + letter)][
            :limit
        ]
    iris = [iri for iri in context.find(words, limit, letter) if iri.startswith(Wikibase.ENTITY + letter)]
    context.note(f"Searched for {words!r}: {len(iris)} hit{'' if len(iris) == 1 else 's'}")
    return iris


def _read(call: ParseTree, context: Context) -> tuple[_Arguments, _Outputs]:
    """Return the parameters by local name, and the variables of the outputs."""
    pairs, rest = parameters(call, context)
    arguments: _Arguments = {}
    for iri, node in pairs:
        text = constant(node)
        name = iri.removeprefix(Wikibase.MWAPI).removeprefix(Wikibase.ONTOLOGY)
        if text is None and name in _WORDS.values() and context.values is not None and is_variable(node):
            arguments[name] = QueryWords(variable(node)[1:])
            continue
        if text is None and name in (*_WORDS.values(), "api", "endpoint", "generator"):
            hint = "The search runs before the query: use a string or a query parameter"
            refuse(call, f"The value of {context.names.short(iri)} must be a constant, not {to_text(node)}", hint)
        arguments[name] = text or ""
    reason = _unsupported(arguments, context)
    if reason:
        refuse(call, f"SERVICE wikibase:mwapi is not supported here: {reason}", _HINT)
    return arguments, _outputs(call, rest, context)


def _unsupported(arguments: _Arguments, context: Context) -> str:
    """Return why a call cannot be answered, empty if it can."""
    api, host = str(arguments.get("api", "")), str(arguments.get("endpoint", ""))
    if host.removeprefix("https://") != "www.wikidata.org":
        return f"it reads {host or 'a wiki'}, and a KB has entities of Wikidata only"
    if api not in _WORDS or (api == "Generator" and arguments.get("generator") != "search"):
        name = f"{api} {arguments.get('generator', '')}".strip() or "no API"
        return f"{name} reads pages of a wiki, and a KB has entities only"
    if context.search is None:
        return "there is no text index"
    return "" if _WORDS[api] in arguments else f"mwapi:{_WORDS[api]} is missing"


def _outputs(call: ParseTree, rest: Sequence[Triple], context: Context) -> _Outputs:
    outputs = {"item": "", "title": "", "label": "", "ordinal": ""}
    for triple in rest:
        verb = (context.names.iri(triple.verb) or "").removeprefix(Wikibase.ONTOLOGY)
        source = (context.names.iri(triple.object) or "").removeprefix(Wikibase.MWAPI)
        name = {"apiOrdinal": "ordinal", "apiOutputItem": "item"}.get(verb, source if verb == "apiOutput" else "")
        if name not in outputs or not isinstance(triple.subject, Token) or triple.subject.type != "VAR":
            hint = "Valid: ?item wikibase:apiOutputItem mwapi:item, mwapi:title, mwapi:label, wikibase:apiOrdinal"
            refuse(call, f"Unsupported output {to_text(triple.object)} of SERVICE wikibase:mwapi", hint)
        outputs[name] = variable(triple.subject)
    return _Outputs(**outputs)


# -- words that are a variable ----------------------------------------------------------------------------------------


def _values(
    tree: ParseTree, call: ParseTree, name: str, parent_of: dict[int, ParseTree], context: Context
) -> Sequence[tuple[str, str]]:
    """Return the values of a variable, as the patterns around a call bind it: their texts, and the terms."""
    assert context.values is not None
    outputs = {str(word)[1:] for word in tokens(group_of(call)) if word.type == "VAR"} - {name}
    around = above(call, parent_of, "group_graph_pattern")
    chosen: list[Node] = []
    while around is not None and not chosen:
        chosen = _binding(around, name, outputs)
        around = above(around, parent_of, "group_graph_pattern")
    if not chosen:
        hint = "Bind it, or use a string"
        refuse(call, f"The words of SERVICE wikibase:mwapi are ?{name}, which no pattern binds", hint)
    prologue = child(tree, "prologue")
    head = "" if prologue is None else to_text(prologue)
    where = " ".join(map(to_text, chosen))
    bindings = context.values(f"{head} SELECT DISTINCT ?{name} WHERE {{ {where} }} LIMIT {_MOST_SEARCHES + 1}")
    if len(bindings) > _MOST_SEARCHES:
        hint = "Add patterns that bind fewer, or use a constant"
        refuse(call, f"?{name} has over {_MOST_SEARCHES} values, each of them a search", hint)
    return bindings


def _binding(around: ParseTree, name: str, outputs: set[str]) -> list[Node]:
    """Return the patterns of a group that bind a variable, and what they depend on, without those of the outputs."""
    parts = [copy(part) for part in around.children if isinstance(part, Tree) and part.data not in _WITHOUT_VALUES]
    blocks = group(*parts)
    drop_verbs(blocks, lambda triple: bool(outputs & variables(Tree("triple", list(triple)))))
    known, chosen = {name}, list[Node]()
    rest = [part for part in blocks.children[1:-1] if isinstance(part, Tree) and not outputs & set(visible(part))]
    while linked := [part for part in rest if known & set(visible(part))]:
        chosen += linked
        known = known.union(*map(variables, linked))
        rest = [part for part in rest if part not in linked]
    bound = [part for part in parts if any(part is other for other in chosen)]
    return bound if name in visible(*bound) else []


def _union(branches: Sequence[tuple[str, list[Node]]], name: str) -> list[Node]:
    """Return a pattern that matches the hits of each value."""
    if not branches:
        return patterns(f"VALUES ?{name} {{ }}")
    words: list[Node] = []
    for term, pattern in branches:
        words += [Token("UNION", "UNION"), group(*patterns(f"VALUES ?{name} {{ {term} }}"), *pattern)]
    return [Tree("group_or_union_graph_pattern", words[1:])]


def _words(call: ParseTree, text: str) -> tuple[str, list[_Statement]]:
    """Split a search into its words and its tests of statements; ``inlabel:`` and ``intitle:`` stand before words."""
    tests, words, at = [], [], 0
    for match in _KEYWORD.finditer(text):
        sign, keyword, value = match.groups()
        words.append(text[at : match.start()])
        at = match.end()
        plain = value.strip('"')
        if keyword.lower() == "haswbstatement":
            tests.append(_Statement(bool(sign), [tuple(part.split("=", 1)) for part in plain.split("|")]))
        elif keyword.lower() in ("inlabel", "intitle") and not sign:
            words.append(plain.partition("@")[0])
        else:
            refuse(call, f"Unsupported keyword {keyword}: in a search", "Use words and haswbstatement:P31=Q5")
    remaining = " ".join(" ".join([*words, text[at:]]).split()).strip("\"'")
    if not remaining and all(test.negated for test in tests):
        refuse(call, f"The search {text!r} has no words", "Use words and haswbstatement:P31=Q5")
    wrong = next((part[0] for test in tests for part in test.alternatives if not _PROPERTY.fullmatch(part[0])), None)
    if wrong is not None:
        refuse(call, f"Invalid property {wrong!r} in haswbstatement:", "Write haswbstatement:P31=Q5")
    return remaining, sorted(tests)
