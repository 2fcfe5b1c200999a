"""Answer expressions: types that a path may reach, relations that fit, nodes by name, attributes, operators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from kbkit.answers.syntax import Edge, Key, identifier, quoted
from kbkit.executor.completion.answer_place import Path, Place, Reader
from kbkit.executor.completion.names import MOST, about, ambiguous
from kbkit.executor.completion.ranking import Candidate, Item, Pool, candidate, layered, plainly, ranked
from kbkit.executor.vocabulary import Vocabulary
from kbkit.schema import Join

_RIGHT = re.compile(r"[^\[\]]*\]\s*(?:->|<-|→|←)\s*(`(?:[^`]|``)+`|\w+(?:/\w+)*)")
_OPERATORS = {
    **{"=": "equal", "!=": "other than", "<": "less", "<=": "at most", ">": "more", ">=": "at least"},
    **{"in [": "one of", "contains": "holds these letters"},
}
_SET_SIGNS = {"& ": "and", "| ": "or", "- ": "without", "{": "with attributes"}
_ARROWS = {"-> ": "to what it is joined to", "<- ": "from what reaches it"}
_SHOWN_RELATIONS = 3


def complete(text: str, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """What may stand at the cursor of an expression."""
    sets = {s.name: vocabulary.type(s.type or "") for s in vocabulary.sets()} if "@" in text[:at] else {}
    reader = Reader(text[:at], vocabulary.type, sets.get, lambda name: vocabulary.relation(name) is not None)
    place = reader.place()
    make = _KINDS.get(place.kind)
    found = make(vocabulary, place, text, at) if make else []
    if place.quote == "`" == text[at : at + 1]:  # it is closed already
        return [replace(c, text=c.text[:-1] if c.text.startswith("`") else f"`{c.text}") for c in found]
    return found


# -- sets and relations -----------------------------------------------------------------------------------------------


def _set(vocabulary: Vocabulary, place: Place, _text: str, _at: int) -> list[Candidate]:
    path = place.path
    if path.last != "arrow":
        return ranked(place.typed, vocabulary.kept("types", lambda: Pool(_types(vocabulary))), place.start)
    source = path.types[-1] if path.types else None
    if source is None and path.step is None:
        types = vocabulary.kept("types", lambda: Pool(_types(vocabulary)))
        steps = vocabulary.kept("steps", lambda: _bracketed(_all_edges(vocabulary)))
        return layered(place.typed, place.start, types, steps)
    ways = vocabulary.schema.joins_between(source, None) if source is not None else _ways_of_step(vocabulary, path)
    ways = [way for way in ways if _fits(way, path)]
    groups = [_reached(vocabulary, ways)]
    if path.step is None and not place.quote:
        groups.append(_bracketed(_edges(ways, source)))
    return layered(place.typed, place.start, *groups)


def _ways_of_step(vocabulary: Vocabulary, path: Path) -> list[Join]:
    relations = [vocabulary.relation(name) for name, _ in path.step or ()]
    return [way for relation in relations if relation is not None for way in relation.joins()]


def _reached(vocabulary: Vocabulary, ways: Iterable[Join]) -> Pool:
    """The types that a hop may lead to."""
    reached: dict[str, dict[str, int]] = {}
    for way in ways:
        for name in vocabulary.schema.types_of(way.target):
            by = reached.setdefault(name, {})
            by[way.relation.name] = by.get(way.relation.name, 0) + way.edges
    return Pool(Item(name, identifier(name), _by(by), sum(by.values())) for name, by in reached.items())


def _bracketed(items: Iterable[Item]) -> Pool:
    return Pool(item._replace(text=f"[{item.written}]") for item in items)


def _all_edges(vocabulary: Vocabulary) -> Iterable[Item]:
    for r in vocabulary.schema.relations:
        yield Item(r.name, str(Edge(r.name)), r.label or f"{r.edges:,} edges", r.edges, r.label)


def _types(vocabulary: Vocabulary) -> Iterable[Item]:
    for t in vocabulary.schema.node_types:
        yield Item(t.name, identifier(t.name), f"type, {t.members:,} nodes", t.members)


def _by(relations: dict[str, int]) -> str:
    """By which relations a type is reached, the most used first."""
    names = sorted(relations, key=lambda name: (-relations[name], name))
    more = f" and {len(names) - _SHOWN_RELATIONS} more" if len(names) > _SHOWN_RELATIONS else ""
    return f"by {', '.join(names[:_SHOWN_RELATIONS])}{more}"


def _fits(way: Join, path: Path) -> bool:
    """Whether a way is one of those that the step in brackets before it allows."""
    if path.step is None:
        return True
    # A plain relation runs the way that there is; one that is turned round needs the other.
    back = path.arrows[-1:] == ["<-"]
    name = way.relation.name.casefold()
    return any(
        name == relation.casefold() and (not inverse or way.relation.symmetric or way.forward == back)
        for relation, inverse in path.step
    )


def _edge(vocabulary: Vocabulary, place: Place, text: str, at: int) -> list[Candidate]:
    known = place.typed.rstrip()
    if known != place.typed and vocabulary.relation(known) is not None:
        return [candidate("]", at, meta="the end of the step"), candidate("| ", at, meta="or another relation")]
    path, right = place.path, _RIGHT.match(text, at)
    target = vocabulary.type(right[1].strip("`").replace("``", "`")) if right else None
    source = path.types[-1] if path.types else None
    ways = vocabulary.schema.joins_between(source, target)
    inverse = place.attribute == "^"
    if source is None and target is None:
        return ranked(place.typed, vocabulary.kept("edges", lambda: Pool(_all_edges(vocabulary))), place.start)
    if inverse:
        back = path.arrows[-1:] == ["<-"]
        ways = [way for way in ways if way.relation.symmetric or way.forward == back]
    items = _edges(ways, source)
    if not inverse:
        items += [
            item._replace(text=f"^{item.written}", meta=f"{item.meta}, backwards") for item in _turned(ways, items)
        ]
    return ranked(place.typed, items, place.start)


def _edges(ways: Iterable[Join], source: str | None) -> list[Item]:
    """The relations of ways, each once."""
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
        items.append(Item(name, str(Edge(name)), label + _signature(way, source), edges[name], way.relation.label))
    return items


def _signature(way: Join, source: str | None) -> str:
    known = [s for s in way.relation.signatures if source is None or source in (s.head, s.tail)]
    chosen = max(known or way.relation.signatures, key=lambda s: s.edges)
    more = f" and {len(known) - 1} more" if len(known) > 1 else ""
    return f"{chosen.head} -> {chosen.tail}{more}"


def _turned(ways: Iterable[Join], items: Iterable[Item]) -> list[Item]:
    """Those relations that lead from a type to itself, where ``^`` makes a difference."""
    loops = {way.relation.name for way in ways if way.source == way.target and not way.relation.symmetric}
    return [item for item in items if item.name in loops]


# -- nodes ------------------------------------------------------------------------------------------------------------


def _name(vocabulary: Vocabulary, place: Place, text: str, at: int) -> list[Candidate]:
    """Nodes of the type: by name; by key, where several have one name and no closing quotation mark is there yet."""
    closed = place.quote == '"' == text[at : at + 1]
    nodes = vocabulary.names(place.typed, place.type, MOST)
    several = ambiguous(nodes)
    found: dict[str, Candidate] = {}
    for node in nodes:
        name = quoted(node.name)
        if node.name not in several or place.path.pick == "all" or closed:
            written = name[:-1] if closed else name
            found.setdefault(written, candidate(written, place.start, node.name, about(node)))
            continue
        every = f"all({name})"
        found.setdefault(every, candidate(every, place.start, f'all("{node.name}")', "all nodes of this name"))
        one = f"{identifier(place.type or node.type)}#{Key(node.key)}"
        found[one] = candidate(one, place.head, f"{node.name} ({node.type}#{node.key})", "one of several")
    return list(found.values())


def _key(vocabulary: Vocabulary, place: Place, _text: str, _at: int) -> list[Candidate]:
    nodes = vocabulary.keys(place.typed, place.type, MOST)
    return [candidate(f"#{Key(node.key)}", place.start, node.key, node.name) for node in nodes]


def _saved(vocabulary: Vocabulary, place: Place, _text: str, _at: int) -> list[Candidate]:
    items = (Item(s.name, identifier(s.name), s.help) for s in vocabulary.sets())
    return ranked(place.typed, items, place.start)


# -- conditions -------------------------------------------------------------------------------------------------------


def _attribute(vocabulary: Vocabulary, place: Place, _text: str, _at: int) -> list[Candidate]:
    items = [Item(name, _attribute_name(name), kind, 1, label) for name, kind, label in _attributes(vocabulary, place)]
    tests = [Item(f"{word}missing(", "", "without this attribute" if not word else "with it") for word in ("", "not ")]
    return ranked(place.typed, [*items, *([] if place.quote else tests)], place.start)


def _attributes(vocabulary: Vocabulary, place: Place) -> list[tuple[str, str, str]]:
    own = [("name", "VARCHAR", ""), ("key", "VARCHAR", "")]
    if place.type is None:
        return own
    return [*((a.name, a.type, a.label) for a in vocabulary.schema.type(place.type).attributes), *own]


def _attribute_name(name: str) -> str:
    return f"`{name}`" if name in ("missing", "not", "in", "contains", "true", "false") else identifier(name)


def _after_attribute(vocabulary: Vocabulary, place: Place, text: str, at: int) -> list[Candidate]:
    kinds = {name.casefold(): kind for name, kind, _ in _attributes(vocabulary, place)}
    kind = kinds.get(place.attribute.casefold(), "VARCHAR")
    space = "" if place.typed or text[:at][-1:].isspace() else " "
    items = [
        Item(sign, f"{space}{sign}{'' if sign.endswith('[') else ' '}", meta)
        for sign, meta in _OPERATORS.items()
        if sign != "contains" or kind.startswith("VARCHAR")
    ]
    return plainly(place.typed, items, place.start)


# -- what goes on -----------------------------------------------------------------------------------------------------


def _after_set(_: Vocabulary, place: Place, text: str, at: int) -> list[Candidate]:
    if place.typed:
        return []
    signs = dict(_ARROWS) if "<-" not in place.path.arrows else {"<- ": _ARROWS["<- "]}
    signs |= _SET_SIGNS | ({") ": "the end of the parenthesis"} if place.depth > 1 else {})
    return _signs(signs, text, at)


def _after_step(_: Vocabulary, place: Place, text: str, at: int) -> list[Candidate]:
    sign = f"{(place.path.arrows or ['->'])[-1]} "
    return [] if place.typed else _signs({sign: "to the nodes that the relation joins"}, text, at)


def _after_value(_: Vocabulary, place: Place, text: str, at: int) -> list[Candidate]:
    if place.typed or not text[:at][-1:].isspace():
        return []
    return _signs({"} ": "the end of the conditions", ", ": "and another condition"}, text, at)


def _signs(signs: dict[str, str], text: str, at: int) -> list[Candidate]:
    space = "" if text[:at][-1:].isspace() else " "
    return [candidate(space + sign, at, sign.strip(), meta) for sign, meta in signs.items()]


_KINDS: dict[str, Callable[[Vocabulary, Place, str, int], list[Candidate]]] = {
    "set": _set,
    "edge": _edge,
    "name": _name,
    "key": _key,
    "saved": _saved,
    "attribute": _attribute,
    "after_attribute": _after_attribute,
    "after_set": _after_set,
    "after_step": _after_step,
    "after_value": _after_value,
}
