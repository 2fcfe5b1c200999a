"""The ways between the types of a KB that the words of one question may mean, and how doubtful the choice is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import (
    Combine,
    Expression,
    Nodes,
    Path,
    PathFunction,
)
from kbkit.english.question_words import ENDS, LIGHT_VERBS
from kbkit.english.words import may_be_verb
from kbkit.questions.clauses import Clauses, Restriction
from kbkit.questions.elements import MAX_HOPS, Elements
from kbkit.questions.expressions import is_named, step
from kbkit.questions.lexicon import FAINT, STRONG, label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink

ALIKE = 0.2
"""How much better one of two ways between nodes must be expressed for it to be the one that is meant."""
_MANY = 3
"""Ways as likely as the best from which each counts as a choice by chance: the drugs *per gene*, by any relation."""
_SEVERAL = 2
"""Ways of which any is meant, at most: *Ann's films* are those that she directed and those that she acted in."""
_RARER = 0.25
"""Fraction of the edges of a relation below which another one is hardly meant: capitals, of cities in a state."""
_UNSAID = 2
"""Choices by chance that a path counts which no word says though a verb is left."""


WHETHER = "whether "
"""The beginning of why a choice between relations is not read."""
FORMER = frozenset("former formerly previous previously past once earlier before used ex old did was were".split())  # noqa: SIM905
"""Words of relations that have ended, and of questions about them."""


def is_former(label: str) -> bool:
    """Return whether a relation is one of the past: *formerly lived at*."""
    return not {"former", "formerly", "previous", "previously", "ex"}.isdisjoint(label_words(label))


def is_of_past(words: Iterable[str]) -> bool:
    """Return whether a question is about the past, by its words."""
    return any(word in FORMER or is_participle(word) for word in words)


class NotReadError(Exception):
    """The clauses have no expression; the message says which of them."""


@dataclass
class Doubts:
    """What makes a plan doubtful: the worst score of a label, relations that are followed, and choices by chance."""

    label: float = 1.0
    relations: int = 0
    choices: int = 0
    words: list[str] = field(default_factory=list)
    followed: set[int] = field(default_factory=set)
    """The labels of relations that are followed, and of attributes that an adjective compares."""


class Ways:
    """Chooses the relations that join types, and writes down how doubtful the choices are."""

    def __init__(
        self,
        elements: Elements,
        links: Sequence[QuestionLink],
        clauses: Clauses,
        words: Iterable[str],
        tokens: Sequence[str] = (),
    ) -> None:
        self._tokens = tokens
        self._links = links
        self.elements, self.clauses, self.doubts = elements, clauses, Doubts()
        self._words = list(words)
        kinds = {link.text.casefold() for link in links if link.is_whole_type}
        self._apart_from_types = [word for word in self._words if word not in kinds]
        self.focus = -1
        self._taken: set[tuple[int, int]] = set()
        self._guesses: set[str] = set()
        """Nouns that stand for a type, and words that only a part of a value has."""
        self._said_hop = -1
        """The hop whose neighbours a superlative counts, if a verb says it."""
        self._leading: QuestionLink | None = None
        """The value whose relation is chosen now."""
        self._held: dict[int, list[Restriction]] = {}
        """The conditions on the nodes of types that are counted."""
        self._saying: set[str] = set()
        """Words that say which attribute has a value."""

    def _explain(self, word: str) -> None:
        """Note that a word is explained by the choice of an attribute."""
        if word in self.clauses.unexplained:
            self.clauses.unexplained.remove(word)

    def _is_end(self, link: QuestionLink, name: str) -> bool:
        """Return whether a column or a relation is the end that the preposition before a value says: *from* Oslo."""
        before = self._tokens[link.first - 1] if link.first else ""
        return not ENDS.get(before, frozenset()).isdisjoint(label_words(name))

    def _distance(self, source: int, target: int) -> int:
        """Return the number of relations between two types; more than any if no path joins them."""
        paths = self.elements.paths(source, target)
        return len(paths[0]) if paths else 3 * MAX_HOPS

    def _paths(self, source: int, target: int) -> list[list[int]]:
        """Return the shortest paths from one type to another, as hops; the ones that words express best first."""
        paths = [list(path) for path in self.elements.paths(source, target)]
        ends = [path for path in paths if self._leads_from(source, path)]
        paths = ends or paths
        paths = [path for path in paths if self._bridge(path) < 0] or paths if len(paths) > 1 else paths
        if len(paths) < 2:
            return paths
        named = {link.labels[0].type for link in self._links if link.labels and not link.labels[0].attribute}
        through = {tuple(path): any(int(self.elements.target[hop]) in named for hop in path[:-1]) for path in paths}
        return sorted(
            paths, key=lambda path: (-through[tuple(path)], -self._expressed(path))
        )  # who repaired it: by repairs

    def _leads_from(self, kind: int, path: list[int]) -> bool:
        """Return whether the preposition before a node or value of a type says the first relation of a path."""
        links = self._links if self._leading is None else [self._leading]
        named = (link for link in links if not link.labels and kind in link.node_types | link.value_types)
        return bool(path) and any(self._is_end(link, self.elements.all[path[0]].name) for link in named)

    def _expressed(self, path: list[int], words: Sequence[str] | None = None) -> float:
        """Return how well words of the question express some elements; words for types express no relations."""
        similar = self.elements.labels.similarity
        found = (self.elements.all[at].label for at in path)
        words = self._apart_from_types if words is None else words
        return sum(max((float(similar(word)[label]) for word in words), default=0.0) for label in found)

    def _path(self, source: int, target: int) -> list[int]:
        if source == target:
            raise NotReadError(f"a relation between two nodes of type {self.elements.types[source].name}")
        paths = self._paths(source, target)
        names = [self.elements.types[number].name for number in (source, target)]
        if not paths:
            raise NotReadError(f"no relation leads from {names[0]} to {names[1]}")
        said = [self._expressed(path) for path in paths]
        verbs = [word for word in self.clauses.unexplained if may_be_verb(word) and word not in LIGHT_VERBS]
        if len(said) > 1 and len(paths[0]) == 1 and said[0] < FAINT and verbs:
            raise NotReadError(f"'{verbs[0]}'")  # who turned out for it: not who led it
        if len(paths[0]) == 1:
            self._check_choice(paths, is_one=False)
        self._check_bridges(paths[0])
        alike = sum(said[0] - other < ALIKE for other in said[1:])
        named = {link.labels[0].type for link in self._links if link.labels and not link.labels[0].attribute}
        ways = [[int(self.elements.target[hop]) for hop in path[:-1]] for path in paths]
        if named & {*ways[0]} and not any(named & {*way} for way in ways[1:]):
            alike = 0  # only one of them leads through what is named
        self.doubts.choices += min(alike, 1) if alike < _MANY else alike
        for hop in paths[0]:
            if is_former(self.elements.relation_label(hop)) and not is_of_past(self._tokens):
                raise NotReadError(f"whether '{self.elements.relation_label(hop)}' is meant")
        self._taken.add((source, target))
        if self._is_unsaid(paths[0], source, target):
            self.doubts.choices += _UNSAID
        self.doubts.relations += len(paths[0])
        self.doubts.followed |= {self.elements.all[hop].label for hop in paths[0]}
        return paths[0]

    def _check_bridges(self, path: list[int]) -> None:
        """Raise an error if two steps only lead to what has something in common, which no word says.

        Finds of a trench are not those that were found by whoever dug there, too.
        """
        if (middle := self._bridge(path)) >= 0:
            raise NotReadError(f"what has the same {self.elements.types[middle].name}")

    def _bridge(self, path: list[int]) -> int:
        """Return the type of which two steps of a path only lead to what has the same one; -1 if there is none."""
        elements = self.elements
        said = {option.type for link in self._links for option in link.types()} if len(path) > 1 else set()
        for one, other in pairwise(path):
            middle, back, forth = int(elements.target[one]), int(elements.inverse[one]), int(elements.inverse[other])
            is_shared = elements.is_single(one) and elements.is_single(forth)
            is_shared &= not (elements.is_single(back) or elements.is_single(other))
            if is_shared and middle not in said and not self._says_type(middle):
                return middle
        return -1

    def _says_type(self, kind: int) -> bool:
        """Return whether a word of the question is similar to the name of a type."""
        similar = self.elements.type_labels.similarity
        return any(similar(word)[kind] >= STRONG for word in self._words)

    def _is_unsaid(self, path: list[int], source: int, target: int) -> bool:
        """Return whether a verb says how two types are related, which the path does not, and another is hardly longer.

        Customers *bought* a product: by a review that they wrote, or by an order?
        """
        verbs = [word for word in self.clauses.unexplained if may_be_verb(word)]
        verbs = [word for word in verbs if self.clauses.is_who or word not in LIGHT_VERBS]
        between = [int(self.elements.target[hop]) for hop in path[:-1]]
        if not verbs or not between:
            return False
        relations, types = self.elements.labels.similarity, self.elements.type_labels.similarity
        for word in verbs:
            said = [float(relations(word)[self.elements.all[hop].label]) for hop in path]
            if max([*said, *(float(types(word)[kind]) for kind in between)]) >= FAINT:
                return False
        others = {int(self.elements.target[hop]) for hop in self.elements.from_type(source).tolist()}
        others -= {source, target, *between}
        is_long = self.clauses.is_who and len(path) > 2
        return is_long or any(self._distance(kind, target) <= len(path) for kind in others)

    def _reached(self, tree: Expression, source: int, target: int) -> Expression:
        """Return the nodes of a type that some nodes lead to; if they are named, by each relation that may be meant.

        *Tom Hanks movies* are those that he acted in, and those that he directed.
        """
        paths = self._paths(source, target) if is_named(tree) else []
        alike = [path for path in paths if self._expressed(paths[0]) - self._expressed(path) < ALIKE]
        is_choice = len(paths) > 1 and len(paths[0]) == 1
        if is_choice and self.clauses.unexplained and (len(alike) > 1 or self._expressed(paths[0]) < FAINT):
            raise NotReadError(f"'{self.clauses.unexplained[0]}'")  # movies that he produced: not those he directed
        if len(alike) < 2 or not is_choice:
            self._check_choice(self._paths(source, target), is_one=is_named(tree))
            return self._followed(tree, self._path(source, target))
        is_agent = any(link.nodes and self._tokens[link.first - 1 : link.first] == ["by"] for link in self._links)
        if (is_agent or len(alike) > _SEVERAL) and not self._is_one_of_alike(tree, alike):
            raise NotReadError(f"how {tree} is related")  # books by Ann: written, or translated?
        self._taken.add((source, target))
        self.doubts.relations += 1
        self.doubts.followed |= {self.elements.all[hop].label for path in alike for hop in path}
        return Combine("|", tuple(self._followed(tree, path) for path in alike))

    def _is_one_of_alike(self, tree: Expression, alike: list[list[int]]) -> bool:
        """Return whether one of the paths from some nodes leads to all that the others lead to."""
        sets = [AnswerSet(self.elements.session, self._followed(tree, path)) for path in alike]
        both = AnswerSet(self.elements.session, Combine("|", tuple(self._followed(tree, path) for path in alike)))
        return max(map(len, sets)) == len(both)

    def _check_choice(self, ways: list[list[int]], *, is_one: bool) -> None:
        """Raise an error if no word says which of two relations between the same types is followed first.

        *Matches at a stadium*: of the club at home, or away? *The genres of the films of Ann* (``is_one``): of those
        that she directed, or acts in?
        """
        said = [self._expressed(path[:1]) for path in ways]
        if len(ways) < 2 or (len(ways[0]) > 1 and not is_one):
            return
        ends = [[int(self.elements.target[hop]) for hop in path] for path in ways[:2]]
        is_same = ends[0] == ends[1] and ways[0][1:] == ways[1][1:]
        edges = sorted(len(self.elements.move(way[0]).targets) for way in ways[:2])
        is_open = max(said) < FAINT and abs(said[0] - said[1]) < ALIKE and edges[0] >= _RARER * edges[1]
        if is_same and is_open:
            names = " or ".join(repr(self.elements.relation_label(way[0])) for way in ways[:2])
            raise NotReadError(f"{WHETHER}{names} is meant")

    def _ways(self, source: int, target: int) -> list[list[int]]:
        """Return the shortest paths between two types, or the relations of one type."""
        if source != target:
            return self._paths(source, target)
        hops = self.elements.from_type(source).tolist()
        return [[hop] for hop in hops if self.elements.target[hop] == target]

    def _is_single(self, source: int, target: int) -> bool:
        """Return whether each node of a type leads to one node of another at most, as songs to their singer."""
        paths = self.elements.paths(source, target)
        return bool(paths) and all(map(self.elements.is_single, paths[0]))

    def _followed(self, tree: Expression, path: list[int]) -> Expression:
        """Return the nodes that a path leads to."""
        elements: list[object] = [tree]
        for hop in path:
            one = self.elements.all[hop]
            elements += [step(self.elements, one), Nodes(self.elements.types[one.target].name)]
        return Path(tuple(elements), ("->",) * (len(elements) - 1)) if path else tree  # type: ignore[arg-type]

    def _count(self, source: int, target: int, hop: int = -1) -> PathFunction:
        """Return the number of nodes of a type that a path from another type reaches, or that a hop does."""
        whole = self._followed(Nodes(None), [hop] if hop >= 0 else self._path(source, target))
        assert isinstance(whole, Path)
        return PathFunction(whole.elements[1:], whole.arrows)
