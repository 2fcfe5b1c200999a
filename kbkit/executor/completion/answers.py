"""Completion of answer expressions: reachable types, fitting relations, nodes by name, attributes, operators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from kbkit.answers.resolve_attributes import is_comparable
from kbkit.answers.syntax import Edge, Key, OtherAttribute, identifier, quoted
from kbkit.executor.completion import answers_words as words
from kbkit.executor.completion.answers_context import COUNT, AnswersContext, CursorReader
from kbkit.executor.completion.open_path import OpenPath
from kbkit.executor.completion.ranking import (
    NAMES,
    Candidate,
    CompletionItem,
    ItemPool,
    about,
    ambiguous,
    candidate,
    layered,
    ranked,
    starting,
)
from kbkit.executor.vocabulary import Vocabulary
from kbkit.schema import Join

_LISTED_RELATIONS = 3
_RIGHT = re.compile(r"[^\[\]]*\]\s*(?:->|<-|→|←)\s*(`(?:[^`]|``)+`|\w+(?:/\w+)*)")


def complete(text: str, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Return the candidates at a position of an expression."""
    sets = {s.name: vocabulary.type(s.type or "") for s in vocabulary.sets()} if "@" in text[:at] else {}
    reader = CursorReader(text[:at], vocabulary.type, sets.get, lambda name: vocabulary.relation(name) is not None)
    here = reader.context()
    make = _KINDS.get(here.kind)
    found = make(vocabulary, here, text, at) if make else []
    if here.quote == "`" == text[at : at + 1]:  # already closed
        return [replace(c, text=c.text[:-1] if c.text.startswith("`") else f"`{c.text}") for c in found]
    return found


# -- sets and relations -----------------------------------------------------------------------------------------------


def _set(vocabulary: Vocabulary, here: AnswersContext, text: str, _at: int) -> list[Candidate]:
    path = here.path
    if path.last != "arrow":
        if not here.quote and not text[: here.start].strip():
            types = vocabulary.cached("types", lambda: ItemPool(_types(vocabulary)))
            return layered(here.typed, here.start, types, exact=[words.TOTALS])
        return ranked(here.typed, vocabulary.cached("types", lambda: ItemPool(_types(vocabulary))), here.start)
    source = path.types[-1] if path.types else None
    if source is None and path.step is None:
        types = vocabulary.cached("types", lambda: ItemPool(_types(vocabulary)))
        steps = vocabulary.cached("steps", lambda: _bracketed(_all_edges(vocabulary)))
        return layered(here.typed, here.start, types, steps)
    ways = vocabulary.schema.joins_between(source, None) if source is not None else _ways_of_step(vocabulary, path)
    ways = [way for way in ways if _fits(way, path)]
    groups = [_reached(vocabulary, ways)]
    if path.step is None and not here.quote:
        groups.append(_bracketed(_edges(ways, source)))
    return layered(here.typed, here.start, *groups)


def _ways_of_step(vocabulary: Vocabulary, path: OpenPath) -> list[Join]:
    relations = [vocabulary.relation(name) for name, _ in path.step or ()]
    return [way for relation in relations if relation is not None for way in relation.joins()]


def _reached(vocabulary: Vocabulary, ways: Iterable[Join]) -> ItemPool:
    """Return the types that a step can reach."""
    reached: dict[str, dict[str, int]] = {}
    for way in ways:
        for name in vocabulary.schema.types_of(way.target):
            by = reached.setdefault(name, {})
            by[way.relation.name] = by.get(way.relation.name, 0) + way.edges
    return ItemPool(CompletionItem(name, identifier(name), _by(by), sum(by.values())) for name, by in reached.items())


def _bracketed(items: Iterable[CompletionItem]) -> ItemPool:
    return ItemPool(item._replace(text=f"[{item.inserted}]") for item in items)


def _all_edges(vocabulary: Vocabulary) -> Iterable[CompletionItem]:
    for r in vocabulary.schema.relations:
        yield CompletionItem(r.name, str(Edge(r.name)), r.label or f"{r.edges:,} edges", r.edges, r.label)


def _types(vocabulary: Vocabulary) -> Iterable[CompletionItem]:
    for t in vocabulary.schema.node_types:
        yield CompletionItem(t.name, identifier(t.name), f"type, {t.members:,} nodes", t.members)


def _by(relations: dict[str, int]) -> str:
    """Return the relations that reach a type, the most frequent first."""
    names = sorted(relations, key=lambda name: (-relations[name], name))
    more = f" and {len(names) - _LISTED_RELATIONS} more" if len(names) > _LISTED_RELATIONS else ""
    return f"by {', '.join(names[:_LISTED_RELATIONS])}{more}"


def _fits(way: Join, path: OpenPath) -> bool:
    """Return whether the step in brackets before the cursor allows this relation and direction."""
    if path.step is None:
        return True
    # A plain relation runs in the direction that exists; an inverse one against it.
    back = path.arrows[-1:] == ["<-"]
    name = way.relation.name.casefold()
    return any(
        name == relation.casefold() and (not inverse or way.relation.symmetric or way.forward == back)
        for relation, inverse in path.step
    )


def _edge(vocabulary: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    known = here.typed.rstrip()
    relation = vocabulary.relation(known)
    if known != here.typed and relation is not None:
        tests = [candidate("{", at, meta="conditions on the attributes of its edges")] if relation.attributes else []
        return [candidate("]", at, meta="end the step"), candidate("| ", at, meta="another relation"), *tests]
    path, right = here.path, _RIGHT.match(text, at)
    target = vocabulary.type(right[1].strip("`").replace("``", "`")) if right else None
    source = path.types[-1] if path.types else None
    ways = vocabulary.schema.joins_between(source, target)
    inverse = here.attribute == "^"
    if source is None and target is None:
        return ranked(here.typed, vocabulary.cached("edges", lambda: ItemPool(_all_edges(vocabulary))), here.start)
    if inverse:
        back = path.arrows[-1:] == ["<-"]
        ways = [way for way in ways if way.relation.symmetric or way.forward == back]
    items = _edges(ways, source)
    if not inverse:
        items += [
            item._replace(text=f"^{item.inserted}", meta=f"{item.meta}, backwards") for item in _turned(ways, items)
        ]
    return ranked(here.typed, items, here.start)


def _edges(ways: Iterable[Join], source: str | None) -> list[CompletionItem]:
    """Return the distinct relations of the joins."""
    edges: dict[str, int] = {}
    first: dict[str, Join] = {}
    for way in ways:
        name = way.relation.name
        edges[name] = edges.get(name, 0) + way.edges
        if name not in first or way.edges > first[name].edges:
            first[name] = way
    items = []
    for name, way in first.items():
        label = f"{way.relation.label}; " if way.relation.label else ""
        items.append(
            CompletionItem(name, str(Edge(name)), label + _signature(way, source), edges[name], way.relation.label)
        )
    return items


def _signature(way: Join, source: str | None) -> str:
    known = [s for s in way.relation.signatures if source is None or source in (s.head, s.tail)]
    chosen = max(known or way.relation.signatures, key=lambda s: s.edges)
    more = f" and {len(known) - 1} more" if len(known) > 1 else ""
    return f"{chosen.head} -> {chosen.tail}{more}"


def _turned(ways: Iterable[Join], items: Iterable[CompletionItem]) -> list[CompletionItem]:
    """Return the relations from a type to itself, where ``^`` makes a difference."""
    loops = {way.relation.name for way in ways if way.source == way.target and not way.relation.symmetric}
    return [item for item in items if item.name in loops]


# -- nodes ------------------------------------------------------------------------------------------------------------


def _name(vocabulary: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    """Complete a node by name; nodes with the same name by key, unless the quote is already closed."""
    closed = here.quote == '"' == text[at : at + 1]
    nodes = vocabulary.names(here.typed, here.type, NAMES)
    several = ambiguous(nodes)
    found: dict[str, Candidate] = {}
    for node in nodes:
        name = quoted(node.name)
        if node.name not in several or here.path.lookup == "all" or closed:
            inserted = name[:-1] if closed else name
            found.setdefault(inserted, candidate(inserted, here.start, node.name, about(node)))
            continue
        every = f"all({name})"
        found.setdefault(every, candidate(every, here.start, f'all("{node.name}")', "all nodes with this name"))
        one = f"{identifier(here.type or node.type)}#{Key(node.key)}"
        found[one] = candidate(one, here.head, f"{node.name} ({node.type}#{node.key})", "one of these nodes")
    return list(found.values())


def _key(vocabulary: Vocabulary, here: AnswersContext, _text: str, _at: int) -> list[Candidate]:
    nodes = vocabulary.keys(here.typed, here.type, NAMES)
    return [candidate(f"#{Key(node.key)}", here.start, node.key, node.name) for node in nodes]


def _saved(vocabulary: Vocabulary, here: AnswersContext, _text: str, _at: int) -> list[Candidate]:
    items = (CompletionItem(s.name, identifier(s.name), s.help) for s in vocabulary.sets())
    return ranked(here.typed, items, here.start)


# -- conditions -------------------------------------------------------------------------------------------------------


def _attribute(vocabulary: Vocabulary, here: AnswersContext, _text: str, _at: int) -> list[Candidate]:
    items = [
        CompletionItem(name, _attribute_name(name), kind, 1, label)
        for name, kind, label in _attributes(vocabulary, here)
    ]
    tests = [
        CompletionItem(f"{word}missing(", "", "without this attribute" if not word else "with this attribute")
        for word in ("", "not ")
    ]
    tests += [*words.SUPERLATIVES, *_functions(vocabulary, here)] if not here.relation else []
    return ranked(here.typed, [*items, *([] if here.quote else tests)], here.start)


def _measure(vocabulary: Vocabulary, here: AnswersContext, _text: str, _at: int) -> list[Candidate]:
    items = [
        CompletionItem(name, identifier(name), kind, 1, label) for name, kind, label in _attributes(vocabulary, here)
    ]
    return ranked(here.typed, [*items, *([] if here.quote else _functions(vocabulary, here))], here.start)


def _functions(vocabulary: Vocabulary, here: AnswersContext) -> list[CompletionItem]:
    """Return the measures along a path, the count alone before a letter is typed; and those of dates."""
    return [*(words.FUNCTIONS if here.typed else [words.COUNT]), *_date_functions(vocabulary, here)]


def _date_functions(vocabulary: Vocabulary, here: AnswersContext) -> list[CompletionItem]:
    """Return the functions of dates, if there is a date."""
    return words.DATES if any(_is_date(kind) for _, kind, _ in _attributes(vocabulary, here)) else []


def _is_date(kind: str) -> bool:
    return kind.startswith(("DATE", "TIMESTAMP"))


def _date(vocabulary: Vocabulary, here: AnswersContext, _text: str, _at: int) -> list[Candidate]:
    """Complete an argument of a function of dates."""
    items = [
        CompletionItem(name, identifier(name), kind, 1, label)
        for name, kind, label in _attributes(vocabulary, here)
        if _is_date(kind)
    ]
    return ranked(here.typed, items, here.start)


def _after_date(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    return [] if here.typed else _signs(words.DATE_SIGNS, text, at)


def _argument(vocabulary: Vocabulary, here: AnswersContext, _text: str, _at: int) -> list[Candidate]:
    """Complete the attribute of a measure along a path."""
    items = [
        CompletionItem(name, identifier(name), kind, 1, label) for name, kind, label in _attributes(vocabulary, here)
    ]
    items += _date_functions(vocabulary, here) if here.typed and not here.quote else []
    return ranked(here.typed, items, here.start)


def _after_argument(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    return [] if here.typed else _signs({") ": "end the measure"}, text, at)


def _attributes(vocabulary: Vocabulary, here: AnswersContext) -> list[tuple[str, str, str]]:
    if here.relation:
        relation = vocabulary.relation(here.relation)
        return [(a.name, a.type, a.label) for a in relation.attributes] if relation is not None else []
    own = [("name", "VARCHAR", ""), ("key", "VARCHAR", "")]
    if here.type is not None:
        own = [*((a.name, a.type, a.label) for a in vocabulary.schema.type(here.type).attributes), *own]
    relation, known = vocabulary.relation(here.edges), {name.casefold() for name, _, _ in own}
    of_edges = relation.attributes if relation is not None else ()
    return [*own, *((a.name, a.type, a.label) for a in of_edges if a.name.casefold() not in known)]


def _attribute_name(name: str) -> str:
    return f"`{name}`" if name in ("missing", "not", "in", "contains", "true", "false") else identifier(name)


def _after_attribute(vocabulary: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    kinds = {name.casefold(): kind for name, kind, _ in _attributes(vocabulary, here)}
    if here.attribute in ("max", "min") and here.attribute not in kinds and text[: here.start][-1:].isspace():
        return _measure(vocabulary, here, text, at)
    kind = "BIGINT" if here.attribute == COUNT else kinds.get(here.attribute.casefold(), "VARCHAR")
    space = "" if here.typed or text[:at][-1:].isspace() else " "
    items = [
        CompletionItem(sign, f"{space}{sign}{'' if sign.endswith('[') else ' '}", meta)
        for sign, meta in words.OPERATORS.items()
        if (sign != "contains" or kind.startswith("VARCHAR")) and (not sign.endswith("in [") or here.attribute != COUNT)
    ]
    return starting(here.typed, items, here.start)


def _value(vocabulary: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    """Complete the right side of a condition: a value or another attribute, or a function of other nodes."""
    found: list[Candidate] = []
    kinds = {name.casefold(): kind for name, kind, _ in _attributes(vocabulary, here)}
    if here.type is not None and here.quote != "`" and kinds.get(here.attribute.casefold(), "").startswith("VARCHAR"):
        closed = here.quote == text[at : at + 1] != ""
        for value in vocabulary.values(here.type, here.attribute, here.typed, NAMES):
            inserted = quoted(value)
            if here.quote == "'":
                inserted = f"'{inserted[1:-1].replace(chr(39), chr(92) + chr(39))}'"
            found.append(candidate(inserted[:-1] if closed else inserted, here.start, value, "value"))
    if here.quote in ("", "`") and here.operator in words.COMPARISONS:
        found += ranked(here.typed, _others(vocabulary, here, kinds), here.start)
    if not here.quote and here.typed and not here.relation:
        functions = [*words.VALUES, *words.FUNCTIONS, *_date_functions(vocabulary, here)]
        return [*found, *starting(here.typed, functions, here.start)]
    return found


def _others(vocabulary: Vocabulary, here: AnswersContext, kinds: dict[str, str]) -> list[CompletionItem]:
    """Return the attributes with which the one on the left compares."""
    mine = here.attribute.casefold()
    kind = "BIGINT" if here.attribute == COUNT else kinds.get(mine, "")
    return [
        CompletionItem(name, str(OtherAttribute(name)), other, 1, label)
        for name, other, label in _attributes(vocabulary, here)
        if name.casefold() != mine and is_comparable(kind, other, by_day=here.attribute != COUNT)
    ]


# -- operators -------------------------------------------------------------------------------------------------------


def _after_set(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    if here.typed:
        return []
    if here.path.lookup == "count":
        return _signs(words.ARROWS, text, at)
    signs = dict(words.ARROWS) if "<-" not in here.path.arrows else {"<- ": words.ARROWS["<- "]}
    signs |= {"of ": "the whole of the fraction"} if here.is_part else {}
    signs |= words.SET_SIGNS | ({") ": "close the parenthesis"} if here.depth > 1 else {})
    return _signs(signs, text, at)


def _after_step(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    sign = f"{(here.path.arrows or ['->'])[-1]} "
    return [] if here.typed else _signs({sign: "to the next nodes"}, text, at)


def _after_value(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    if here.typed or not text[:at][-1:].isspace():
        return []
    return _signs({"} ": "end the conditions", ", ": "another condition"}, text, at)


def _after_best(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    if here.typed or not text[:at][-1:].isspace():
        return []
    return _signs({"} ": "end the conditions", ", ": "another condition", "per ": "of each group"}, text, at)


def _after_group(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    signs = {"} ": "end the conditions", ", ": "another condition", **words.ARROWS}
    return [] if here.typed else _signs(signs, text, at)


def _after_total(_: Vocabulary, here: AnswersContext, text: str, at: int) -> list[Candidate]:
    return [] if here.typed else _signs(words.COLUMNS, text, at)


def _signs(signs: dict[str, str], text: str, at: int) -> list[Candidate]:
    space = "" if text[:at][-1:].isspace() else " "
    return [candidate(space + sign, at, sign.strip(), meta) for sign, meta in signs.items()]


_KINDS: dict[str, Callable[[Vocabulary, AnswersContext, str, int], list[Candidate]]] = {
    "set": _set,
    "edge": _edge,
    "name": _name,
    "key": _key,
    "saved": _saved,
    "attribute": _attribute,
    "after_attribute": _after_attribute,
    "total_attribute": _measure,
    "argument": _argument,
    "after_argument": _after_argument,
    "date": _date,
    "after_date": _after_date,
    "after_best": _after_best,
    "after_group": _after_group,
    "value": _value,
    "after_total": _after_total,
    "after_set": _after_set,
    "after_step": _after_step,
    "after_value": _after_value,
}
