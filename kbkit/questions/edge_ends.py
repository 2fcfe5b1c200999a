"""Questions that name the ends of an edge with attributes, or one end: *the price of X at Y*, *head winemaker at Y*.

All words must be names, an attribute of the edges or one of its values, the relation, or the types at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Condition,
    Edge,
    Expression,
    Key,
    Name,
    Nodes,
    Path,
    Step,
    ValueColumn,
)
from kbkit.english.question_words import (
    EXTREMES,
    FUNCTION_WORDS,
    INTERROGATIVES,
    MONEY,
    MONEY_WORDS,
    PAYING,
    PRICES,
    TOTALS,
)
from kbkit.english.types import type_noun
from kbkit.english.words import lemmas_of, may_be_verb
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import alternatives, label_words, stem
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question
from kbkit.questions.units import unit_of
from kbkit.schema import Attribute, Relation, quote
from kbkit.stores.folding import words

_MAX_VALUES = 200
"""Limit on the distinct values of a text attribute that are looked for."""
_SURE, _BY_VERB = 0.9, 0.8
"""How certain a reading is: that explains all words, or all but a verb."""
_YEARS = (1000, 2100)
_PERCENT = {"percent", "percentage", "pct"}
_SINCE = frozenset("since joined join year date from start started begin began when".split())  # noqa: SIM905
_UNTIL = frozenset("until till to end ended left".split())  # noqa: SIM905
_STEMS_OF_DATES = {stem(word) for word in _SINCE | _UNTIL}
_STEMS_OF_MONEY = {stem(w) for w in (*PAYING, *MONEY, *MONEY_WORDS, *PRICES, "charge", "sell", "sold", "money")}
"""Stems of words that say no more than that dates, or amounts of money, are asked for."""
_VERBS = frozenset("be is are was were do does did has have had".split())  # noqa: SIM905
_PLAIN = frozenset("much many long year years time s".split())  # noqa: SIM905
"""Words of what is asked for that need no explanation: how much, in what year."""


@dataclass(frozen=True)
class EdgeAnswer:
    """What a question about an edge asks for; ``words`` are those that name ``attribute``."""

    tree: Expression
    relation: Relation
    attribute: Attribute
    words: str
    certainty: float
    names_both: bool = False
    """Whether the question names both ends."""

    @property
    def is_surely_meant(self) -> bool:
        """Whether it is hardly an attribute of the nodes that is asked for: both ends are named, and each word fits."""
        return self.names_both and self.certainty == _SURE


@dataclass(frozen=True)
class _End:
    """A name in the question: its tokens, a node and its type."""

    mention: Mention
    node: int
    type: str


class EdgeEnds:
    """Reads questions about the edges of one KB by the names at their ends."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self._relations = [relation for relation in elements.session.schema.relations if relation.attributes]

    def read(self, question: Question, mentions: Sequence[Mention]) -> list[EdgeAnswer]:
        """Return what the question may ask for: of both ends, if it names both."""
        found = list(self._read(question, mentions))
        return [answer for answer in found if answer.names_both] or found

    def _read(self, question: Question, mentions: Sequence[Mention]) -> Iterator[EdgeAnswer]:
        if not self._relations or question.comparison or question.negation is not None or not question.is_supported:
            return
        ends = [end for mention in mentions if mention.how == "exact" for end in self._ends(mention)]
        for relation in self._relations:
            for signature in relation.signatures:
                heads = [end for end in ends if end.type == signature.head]
                tails = [end for end in ends if end.type == signature.tail]
                for head in heads:
                    for tail in tails:
                        if not {*head.mention.tokens} & {*tail.mention.tokens}:
                            yield from self._of_both(question, relation, head, tail)
                if signature.head != signature.tail:
                    for end, other in (*((h, signature.tail) for h in heads), *((t, signature.head) for t in tails)):
                        yield from self._of_one(question, relation, end, other)

    def _ends(self, mention: Mention) -> Iterator[_End]:
        """Yield the node of each type that a name may mean; a type with several of that name is left out."""
        types = self.elements.types
        named = [(node, types[self.elements.type_number(node)].name) for node in mention.nodes]
        for node, kind in named:
            if [other for _, other in named].count(kind) == 1 and not mention.is_ambiguous:
                yield _End(mention, node, kind)

    # -- two names ----------------------------------------------------------------------------------------------------

    def _of_both(self, question: Question, relation: Relation, head: _End, tail: _End) -> Iterator[EdgeAnswer]:
        """Yield the value of an attribute of the edges between two nodes, or whether it is the one that is said."""
        rest = _Rest(question, (head.mention, tail.mention))
        is_back = head.type == tail.type and head.mention.first > tail.mention.first
        if question.superlative or question.total or (is_back and {"from", "to"} <= {*rest.words.values()}):
            return
        known = self._known(relation, head.type, tail.type)
        for attribute, value, at in self._values_in(relation, rest):
            certainty = rest.certainty({*known, *_stems(attribute)}, {*at})
            if certainty and rest.is_yes_no:
                edge = Edge(relation.name, conditions=(Condition(attribute.name, "=", (value,)),))
                reached = Path((self._node(head), Step((edge,)), Nodes(tail.type)), ("->", "->"))
                tree = Aggregate("exists", Combine("&", (reached, self._node(tail))))
                yield EdgeAnswer(tree, relation, attribute, value, certainty, True)
        if rest.is_yes_no:
            return
        for attribute, said, others in self._asked(relation, rest):
            certainty = rest.certainty({*known, *others, *_stems(attribute)}, {*said})
            tree = self._aggregate("values", relation, attribute, self._node(head), self._node(tail))
            if tree is not None and (certainty == _SURE or (certainty and said)):
                words = " ".join(rest.words[at] for at in said)
                yield EdgeAnswer(tree, relation, attribute, words, certainty, True)

    def _aggregate(
        self, op: str, relation: Relation, attribute: Attribute, start: Nodes, end: Nodes
    ) -> Expression | None:
        """Return a function of an attribute of the edges that join two sets; None if the nodes of both have it too."""
        schema, step = self.elements.session.schema, Step((Edge(relation.name),))
        for source, target in ((start, end), (end, start)):
            own = {a.name.casefold() for a in schema.type(str(target.type)).attributes}
            if attribute.name.casefold() not in {*own, "name", "key"} and (source is start or start.type != end.type):
                return Aggregate(op, Path((source, step, target), ("->", "->")), (ValueColumn(attribute.name),))
        return None

    # -- one name -----------------------------------------------------------------------------------------------------

    def _of_one(self, question: Question, relation: Relation, end: _End, other: str) -> Iterator[EdgeAnswer]:
        """Yield the nodes that edges with a value join to a node, or a function of an attribute of its edges."""
        rest = _Rest(question, (end.mention,))
        if rest.is_yes_no or question.is_count:
            return
        known = self._known(relation, end.type, other)
        if not question.superlative and not question.total:
            for attribute, value, at in self._values_in(relation, rest):
                certainty = rest.certainty({*known, *_stems(attribute)}, {*at})
                if certainty and self._asks_for(rest, other):
                    edge = Edge(relation.name, conditions=(Condition(attribute.name, "=", (value,)),))
                    tree = Path((self._node(end), Step((edge,)), Nodes(other)), ("->", "->"))
                    yield EdgeAnswer(tree, relation, attribute, value, certainty)
        functions = {EXTREMES.get(word) or TOTALS.get(word) for word in rest.words.values()} - {None}
        if question.superlative and not functions:
            functions = {"max" if question.superlative.adjective.sign > 0 else "min"}
        op = str(next(iter(functions), "values"))
        used = {at for at, word in rest.all if word in EXTREMES or word in TOTALS or at in question.operators}
        for attribute, said, _ in self._asked(relation, rest, end.type, other):
            is_fit = op == "values" or is_number(attribute.type)
            if len(functions) > 1 or not is_fit or not _is_said(attribute, [rest.words[at] for at in said]):
                continue
            certainty = rest.certainty({*known, *_stems(attribute)}, {*said, *used})
            tree = self._aggregate(op, relation, attribute, self._node(end), Nodes(other))
            if certainty and tree is not None:
                yield EdgeAnswer(tree, relation, attribute, " ".join(rest.words[at] for at in said), certainty)

    def _asks_for(self, rest: _Rest, kind: str) -> bool:
        """Return whether the question word can ask for nodes of a type."""
        people = {self.elements.types[number].name for number in self.elements.people}
        if "who" in rest.words.values() or "whom" in rest.words.values():
            return kind in people
        return not ("where" in rest.words.values() and kind in people) and "when" not in rest.words.values()

    # -- attributes and their values ----------------------------------------------------------------------------------

    def _asked(self, relation: Relation, rest: _Rest, *ends: str) -> list[tuple[Attribute, list[int], set[str]]]:
        """Return the attribute that the question asks for, the tokens that say it, and the stems of verbs about it.

        It is none if its words may as well mean an attribute of the types ``ends``.
        """
        found = [(one, rest.at(_stems(one))) for one in relation.attributes]
        said = [(one, at) for one, at in found if _is_said(one, [rest.words[n] for n in at])]
        if said:
            most = max(len(at) for _, at in said)
            said = [(one, at) for one, at in said if len(at) == most]
            is_meant = len(said) == 1 and not self._is_of_nodes(said[0][0], most, ends)
            return [(*said[0], set())] if is_meant else []
        asked = {word for _, word in rest.all}
        if "when" in asked or {"what", "year"} <= asked or {"which", "year"} <= asked:
            is_end = bool(asked & {"until", "till"})
            dated = [one for one in relation.attributes if self._is_dated(relation, one)]
            dated = [one for one in dated if bool({*label_words(one.name)} & _UNTIL) == is_end] or dated
            return [(dated[0], [], _STEMS_OF_DATES)] if len(dated) == 1 else []
        if {"how", "much"} <= asked or asked & {"cost", "costs", "price", "charge", "charges"}:
            money = {*PRICES, *MONEY_WORDS}
            amounts = [a for a in relation.attributes if is_number(a.type) and {*label_words(a.name)} & money]
            return [(amounts[0], [], _STEMS_OF_MONEY)] if len(amounts) == 1 else []
        return []

    def _is_of_nodes(self, attribute: Attribute, said: int, ends: Sequence[str]) -> bool:
        """Return whether the words of an attribute may as well mean one of nodes."""
        mine, schema = _stems(attribute), self.elements.session.schema
        others = [_stems(one) for kind in ends for one in schema.type(kind).attributes]
        return any(len(mine & other) >= said for other in others)

    @cached_property
    def _texts(self) -> dict[tuple[str, str], list[tuple[str, list[str]]]]:
        """The distinct values of text attributes with few of them, with their words, by relation and attribute."""
        found = {}
        for relation in self._relations:
            for attribute in relation.attributes:
                if attribute.type != "VARCHAR":
                    continue
                column = quote(attribute.name)
                sql = f"SELECT DISTINCT {column} FROM {quote(relation.table)} WHERE {column} IS NOT NULL"
                rows = self.elements.session.stores.tables.rows(f"{sql} ORDER BY 1 LIMIT {_MAX_VALUES + 1}")
                if len(rows) <= _MAX_VALUES:
                    found[relation.name, attribute.name] = [(v, words(v).split()) for (v,) in rows if words(v)]
        return found

    def _values_in(self, relation: Relation, rest: _Rest) -> Iterator[tuple[Attribute, str, list[int]]]:
        """Yield the attributes with the longest value of theirs that the question says, and its tokens."""
        for attribute in relation.attributes:
            values = self._texts.get((relation.name, attribute.name), [])
            said = [(value, at) for value, parts in values if (at := rest.sequence(parts))]
            if said:
                value, at = max(said, key=lambda one: len(one[1]))
                yield attribute, value, at

    def _is_dated(self, relation: Relation, attribute: Attribute) -> bool:
        """Return whether an attribute has dates, or years and a name that says so."""
        if attribute.type.startswith(("DATE", "TIMESTAMP")):
            return True
        if not is_number(attribute.type) or not {*label_words(attribute.name)} & (_SINCE | _UNTIL):
            return False
        column, table = quote(attribute.name), quote(relation.table)
        [(low, high)] = self.elements.session.stores.tables.rows(f"SELECT min({column}), max({column}) FROM {table}")
        return low is not None and _YEARS[0] <= low <= high <= _YEARS[1]

    # -- words and nodes ----------------------------------------------------------------------------------------------

    def _known(self, relation: Relation, *kinds: str) -> set[str]:
        """Return the stems of the words for a relation and for the types at its ends."""
        nouns = (name for kind in kinds for name in (type_noun(kind), kind, *alternatives(kind)))
        texts = (relation.name, relation.label or "", *nouns)
        return set().union(*(_forms(word) for text in texts for word in label_words(text)))

    def _node(self, end: _End) -> Nodes:
        row = self.elements.session.stores.nodes.row(end.node)
        [same] = self.elements.session.stores.nodes.by_name(end.type, [row.name])
        return Nodes(end.type, Name(row.name) if len(same) == 1 and row.name.strip() else Key(row.key))


class _Rest:
    """The words of a question beside some names."""

    def __init__(self, question: Question, names: Sequence[Mention]) -> None:
        taken = {at for name in names for at in name.tokens}
        self.all = [(at, token.word) for at, token in enumerate(question.tokens) if at not in taken]
        self.words = dict(self.all)
        self.is_yes_no = bool(self.all) and self.all[0][0] == 0 and self.all[0][1] in _VERBS

    def at(self, stems: set[str]) -> list[int]:
        """Return the positions of the words with these stems."""
        return [at for at, word in self.all if stem(word) in stems and word not in FUNCTION_WORDS]

    def sequence(self, parts: list[str]) -> list[int]:
        """Return the positions of words that follow one another, the last one in the plural too; none if not found."""
        size = len(parts)
        for first in range(len(self.all) - size + 1):
            here = self.all[first : first + size]
            is_joined = here[-1][0] - here[0][0] == size - 1
            last = here[-1][1] == parts[-1] or stem(here[-1][1]) == stem(parts[-1])
            if is_joined and last and [word for _, word in here[:-1]] == parts[:-1]:
                return [at for at, _ in here]
        return []

    def certainty(self, known: set[str], used: set[int]) -> float:
        """Return how certain a reading is that explains words by their stems or positions; 0 if words are left."""
        plain = FUNCTION_WORDS | INTERROGATIVES | _PLAIN
        rest = [(at, word) for at, word in self.all if at not in used and word not in plain]
        left = [word for _, word in rest if not _forms(word) & known]
        if not left:
            return _SURE
        return _BY_VERB if len(left) == 1 and may_be_verb(left[0]) else 0.0


def _forms(word: str) -> set[str]:
    """Return the stems of a word and of its lemmas: of *sang*, that of *sing* too."""
    return {stem(word), *(stem(lemma) for lemmas in lemmas_of(word).values() for lemma in lemmas)}


def _stems(attribute: Attribute) -> set[str]:
    """Return the stems of the words for an attribute."""
    said = {word for text in (attribute.name, attribute.label or "") for word in label_words(text)}
    return {stem(word) for word in (said | _PERCENT if said & _PERCENT else said)}


def _is_said(attribute: Attribute, said: list[str]) -> bool:
    """Return whether words say an attribute: the noun of its name, or its unit."""
    parts = label_words(attribute.name)
    parts = parts[: parts.index("per")] if "per" in parts[1:] else parts
    heads = {*parts[-1:], *(parts[-2:-1] if unit_of(parts) else [])}
    heads |= _PERCENT if heads & _PERCENT else set()
    return bool({stem(word) for word in said} & {stem(head) for head in heads})
