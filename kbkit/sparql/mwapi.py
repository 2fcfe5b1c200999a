"""Rewrite ``SERVICE wikibase:mwapi``: searches of Wikidata itself, answered from the KB's own full-text index.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual/MWAPI. The services EntitySearch, Search, and
Generator with the generator ``search`` find entities by words, and by ``haswbstatement:P31=Q5``, which becomes a
pattern. The others read pages, revisions and categories of a wiki, which no KB contains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lark import Token

from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Wikibase
from kbkit.sparql.calls import constant, iri_token, number_token, parameters, values, variable
from kbkit.sparql.context import Context
from kbkit.sparql.fulltext import MAX_LIMIT, hits
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, parents, put
from kbkit.stores.sparql_text import string_literal

_HINT = 'Find entities with SERVICE kb:search { ?item kb:matches "words" }'
_WORDS = {"EntitySearch": "search", "Search": "srsearch", "Generator": "gsrsearch"}
"""The supported APIs, and the parameter with their words."""
_LIMITS = {"EntitySearch": ("limit", 50), "Search": ("srlimit", 500), "Generator": ("gsrlimit", 500)}
"""The parameter that limits the hits, and its maximum."""
_KINDS = {"item": "Q", "property": "P", "lexeme": "L", "form": "L", "sense": "L"}
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


class _Outputs(NamedTuple):
    """The variables of a call, empty if not requested."""

    item: str
    title: str
    label: str
    ordinal: str


def search(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Replace each call by its hits."""
    parent_of = parents(tree)
    for call in calls:
        arguments, outputs = _read(call, context)
        api = arguments.get("api", "")
        words, tests = _words(call, arguments[_WORDS[api]])
        item = outputs.item or context.variable("item")
        name, most = _LIMITS[api]
        limit = min(int(arguments[name]), MAX_LIMIT) if arguments.get(name, "").isdecimal() else most
        new: list[Node] = []
        if words:
            names = [item, outputs.ordinal] if outputs.ordinal else [item]
            new.append(_table(context, words, arguments.get("type", "item"), names, limit))
            new += patterns(" ".join(test.filter(item, context) for test in tests)) if tests else []
        else:
            parts = [test.filter(item, context) if test.negated else test.pattern(item, context) for test in tests]
            where = " ".join(parts)
            new += patterns(f"{{ SELECT DISTINCT {item} WHERE {{ {where} }} LIMIT {limit} }}")
            context.note(f"Rewrote the search {arguments[_WORDS[api]]!r} as a pattern")
        if outputs.title:
            id_of = f"STRAFTER(STR({item}), {string_literal(Wikibase.ENTITY)})"
            new += patterns(f"BIND({id_of} AS {outputs.title})")
        if outputs.label:
            label = context.names.short(STANDARD_PREFIXES["rdfs"] + "label")
            codes = string_literal(",".join(dict.fromkeys([arguments.get("language", "en"), *context.languages])))
            function = context.names.short(KB_NAMESPACE + "inLanguage")
            new += patterns(f"BIND(STR({function}({item}, {label}, {codes})) AS {outputs.label})")
        put(parent_of[id(call)], call, *new)


def _read(call: ParseTree, context: Context) -> tuple[dict[str, str], _Outputs]:
    """Return the parameters by local name, and the variables of the outputs."""
    given, rest = parameters(call, context)
    arguments: dict[str, str] = {}
    for iri, node in given:
        text = constant(node)
        name = iri.removeprefix(Wikibase.MWAPI).removeprefix(Wikibase.ONTOLOGY)
        if text is None and name in (*_WORDS.values(), "api", "endpoint", "generator"):
            hint = "The search runs before the query: use a string or a query parameter"
            refuse(call, f"The value of {context.names.short(iri)} must be a constant, not {to_text(node)}", hint)
        arguments[name] = text or ""
    api, host = arguments.get("api", ""), arguments.get("endpoint", "")
    reason = ""
    if host.removeprefix("https://") != "www.wikidata.org":
        reason = f"it reads {host or 'a wiki'}, and a KB has entities of Wikidata only"
    elif api not in _WORDS or (api == "Generator" and arguments.get("generator") != "search"):
        name = f"{api} {arguments.get('generator', '')}".strip() or "no API"
        reason = f"{name} reads pages of a wiki, and a KB has entities only"
    elif context.search is None:
        reason = "there is no text index"
    elif _WORDS[api] not in arguments:
        reason = f"mwapi:{_WORDS[api]} is missing"
    if reason:
        refuse(call, f"SERVICE wikibase:mwapi is not supported here: {reason}", _HINT)
    found = {"item": "", "title": "", "label": "", "ordinal": ""}
    for triple in rest:
        verb = (context.names.iri(triple.verb) or "").removeprefix(Wikibase.ONTOLOGY)
        source = (context.names.iri(triple.object) or "").removeprefix(Wikibase.MWAPI)
        name = {"apiOrdinal": "ordinal", "apiOutputItem": "item"}.get(verb, source if verb == "apiOutput" else "")
        if name not in found or not isinstance(triple.subject, Token) or triple.subject.type != "VAR":
            hint = "Valid: ?item wikibase:apiOutputItem mwapi:item, mwapi:title, mwapi:label, wikibase:apiOrdinal"
            refuse(call, f"Unsupported output {to_text(triple.object)} of SERVICE wikibase:mwapi", hint)
        found[name] = variable(triple.subject)
    return arguments, _Outputs(**found)


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


def _table(context: Context, words: str, kind: str, names: Sequence[str], limit: int) -> Node:
    """Return the hits as ``VALUES``: entities, and their positions from 1."""
    letter = _KINDS.get(kind, "")
    found = [iri for iri in hits(context, words, limit) if iri.startswith(Wikibase.ENTITY + letter)]
    return values(names, ([iri_token(iri), number_token(at)][: len(names)] for at, iri in enumerate(found, 1)))
