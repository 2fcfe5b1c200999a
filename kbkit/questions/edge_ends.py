"""Questions that name the ends of an edge with attributes, or one end: *the price of X at Y*, *head winemaker at Y*.

All words must be names, an attribute of the edges or one of its values, the relation, or the types at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Condition,
    Edge,
    Expression,
    Group,
    Key,
    Name,
    Nodes,
    Path,
    Step,
    ValueColumn,
)
from kbkit.english.question_words import (
    MONEY,
    MONEY_WORDS,
    PAYING,
    PRICES,
)
from kbkit.english.types import type_noun
from kbkit.english.words import may_be_verb
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import alternatives, label_words, stem
from kbkit.questions.mentions import Mention
from kbkit.questions.question import AskedComparison, Question
from kbkit.questions.words_beside import PERCENT, PLAIN, SURE, WordsBeside, forms, is_said, stems_of
from kbkit.schema import Attribute, Relation, quote
from kbkit.stores.folding import words

_MAX_VALUES = 200
"""Limit on the distinct values of a text attribute that are looked for."""
_YEARS = (1000, 2100)
_SINCE = frozenset("since joined join year date from start started begin began when".split())  # noqa: SIM905
_UNTIL = frozenset("until till to end ended left".split())  # noqa: SIM905
_STEMS_OF_DATES = {stem(word) for word in _SINCE | _UNTIL}
_STEMS_OF_MONEY = {stem(w) for w in (*PAYING, *MONEY, *MONEY_WORDS, *PRICES, "charge", "sell", "sold", "money")}
"""Stems of words that say no more than that dates, or amounts of money, are asked for."""
_SEVERAL = {"and", "or", "each", "every", "per"}
"""Words that ask for more than the values of an attribute."""


@dataclass(frozen=True)
class EdgeAnswer:
    """What a question about an edge asks for; ``words`` are those that name ``attribute``."""

    tree: Expression
    relation: Relation
    attribute: Attribute
    words: str
    certainty: float
    names: int
    """The number of ends that the question names."""

    @property
    def is_surely_meant(self) -> bool:
        """Whether hardly anything else is asked for: both ends are named or none is, and each word fits."""
        return self.names != 1 and self.certainty == SURE


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
        most = max((answer.names for answer in found), default=0)
        return [answer for answer in found if answer.names == most]

    def _read(self, question: Question, mentions: Sequence[Mention]) -> Iterator[EdgeAnswer]:
        if not self._relations or question.negation is not None or not question.is_supported:
            return
        ends = [end for mention in mentions if mention.how == "exact" for end in self._ends(mention)]
        if question.comparison:
            numbered = self._numbered(question.comparison)
            if not numbered:
                return
            ends += numbered
        for relation in self._relations:
            for signature in relation.signatures:
                heads = [end for end in ends if end.type == signature.head]
                tails = [end for end in ends if end.type == signature.tail]
                for head in heads:
                    for tail in tails:
                        if not {*head.mention.tokens} & {*tail.mention.tokens}:
                            yield from self._of_both(question, relation, head, tail)
                if not ends:
                    yield from self._of_none(question, relation, signature.head, signature.tail)
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

    def _numbered(self, comparison: AskedComparison) -> list[_End]:
        """Return the ends of relations that are called like a number, such as a year: *in 2020*."""
        if comparison.operator != "=":
            return []
        number, nodes = comparison.number, self.elements.session.stores.nodes
        kinds = {kind for one in self._relations for pair in one.signatures for kind in (pair.head, pair.tail)}
        named = [(kind, nodes.by_name(kind, [number])[0]) for kind in sorted(kinds)]
        return [
            _End(Mention(comparison.first, comparison.last + 1, number, (row.id,), "exact"), row.id, kind)
            for kind, rows in named if len(rows) == 1 for row in rows
        ]  # fmt: skip

    # -- two names ----------------------------------------------------------------------------------------------------

    def _of_both(self, question: Question, relation: Relation, head: _End, tail: _End) -> Iterator[EdgeAnswer]:
        """Yield the value of an attribute of the edges between two nodes, or whether it is the one that is said."""
        rest = WordsBeside(question, (head.mention, tail.mention))
        is_back = head.type == tail.type and head.mention.first > tail.mention.first
        if question.superlative or question.total or (is_back and {"from", "to"} <= {*rest.words.values()}):
            return
        known = self._known(relation, head.type, tail.type)
        if rest.is_yes_no:
            for condition, attribute, at in self._values_in(relation, rest):
                certainty = rest.certainty({*known, *stems_of(attribute)}, {*at})
                reached = self._reached(relation, condition, head, tail.type)
                tree = Aggregate("exists", Combine("&", (reached, self._node(tail))))
                if certainty:
                    yield EdgeAnswer(tree, relation, attribute, rest.text(at), certainty, 2)
            return
        for attribute, said, others in self._asked(relation, rest):
            certainty = rest.certainty({*known, *others, *stems_of(attribute)}, {*said})
            value = self._aggregate("values", relation, attribute, self._node(head), self._node(tail))
            if value is not None and (certainty == SURE or (certainty and said)):
                yield EdgeAnswer(value, relation, attribute, rest.text(said), certainty, 2)

    def _aggregate(
        self, op: str, relation: Relation, attribute: Attribute, start: Nodes, end: Nodes
    ) -> Aggregate | None:
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
        rest = WordsBeside(question, (end.mention,))
        if rest.is_yes_no or question.is_count:
            return
        known = self._known(relation, end.type, other)
        if not question.superlative and not question.total:
            for condition, attribute, at in self._values_in(relation, rest):
                certainty = rest.certainty({*known, *stems_of(attribute)}, {*at})
                if certainty and self._asks_for(rest, other):
                    tree = self._reached(relation, condition, end, other)
                    yield EdgeAnswer(tree, relation, attribute, rest.text(at), certainty, 1)
        op, used = rest.function
        is_listed = bool({*rest.words.values()} & {"their", "with"} and rest.at(self._known_types(other)))
        for attribute, said, _ in self._asked(relation, rest, other, *([] if is_listed else [end.type])):
            is_several = bool({*rest.words.values()} & _SEVERAL - {*label_words(attribute.name)}) and not is_listed
            if not op or not said or is_several or not (op == "values" or is_number(attribute.type)):
                continue
            certainty = rest.certainty({*known, *stems_of(attribute)}, {*said, *used})
            value = self._aggregate(op, relation, attribute, self._node(end), Nodes(other))
            if certainty and value is not None and is_listed:  # the grapes in a wine and their percentage
                value = replace(value, columns=(ValueColumn("name"), *value.columns)) if op == "values" else None
            if certainty and value is not None:
                yield EdgeAnswer(value, relation, attribute, rest.text(said), certainty, 1)

    # -- no names -----------------------------------------------------------------------------------------------------

    def _of_none(self, question: Question, relation: Relation, *ends: str) -> Iterator[EdgeAnswer]:
        """Yield a function of an attribute of all edges that join nodes of two types, or of those of each node."""
        rest = WordsBeside(question, ())
        op, used = rest.function
        if rest.is_yes_no or question.is_count or not used or not op:
            return
        for attribute, said, _ in self._asked(relation, rest, *ends):
            more = _STEMS_OF_MONEY if stems_of(attribute) & _STEMS_OF_MONEY else set()
            stems = {*self._known(relation, *ends), *stems_of(attribute), *more}
            if not said or not is_number(attribute.type) or rest.certainty(stems, {*said, *used}) < SURE:
                continue
            each = [kind for kind in ends if rest.is_each(self._known_types(kind))]
            near, far = ends if each in ([], [ends[1]]) else ends[::-1]
            value = self._aggregate(op, relation, attribute, Nodes(near), Nodes(far))
            if value is None or not isinstance(value.source, Path) or len(each) > 1:
                continue
            if each and value.source.elements[-1] != Nodes(far):
                continue
            if each or rest.asks_value:
                value = replace(value, groups=(Group("name"),)) if each else value
                yield EdgeAnswer(value, relation, attribute, rest.text(said), SURE, 0)

    def _reached(self, relation: Relation, condition: Condition, end: _End, other: str) -> Path:
        """Return the nodes of a type that edges which meet a condition join to a node."""
        edge = Edge(relation.name, conditions=(condition,))
        return Path((self._node(end), Step((edge,)), Nodes(other)), ("->", "->"))

    def _asks_for(self, rest: WordsBeside, kind: str) -> bool:
        """Return whether the question word can ask for nodes of a type."""
        people, said = {self.elements.types[number].name for number in self.elements.people}, {*rest.words.values()}
        if said & (PLAIN | {"when", "how"}) - {"s"}:  # in what year was she Carmen
            return False
        return kind in people if said & {"who", "whom"} else not ("where" in said and kind in people)

    # -- attributes and their values ----------------------------------------------------------------------------------

    def _asked(self, relation: Relation, rest: WordsBeside, *ends: str) -> list[tuple[Attribute, list[int], set[str]]]:
        """Return the attribute that the question asks for, the tokens that say it, and the stems of verbs about it.

        It is none if its words may as well mean an attribute of the types ``ends``.
        """
        found = [(one, rest.at(stems_of(one))) for one in relation.attributes if one.type != "BOOLEAN"]
        said = [(one, at) for one, at in found if is_said(one, [rest.words[n] for n in at])]
        if said:
            most = max(len(at) for _, at in said)
            said = [(one, at) for one, at in said if len(at) == most]
            is_meant = len(said) == 1 and not self._is_of_nodes(said[0][0], most, ends)
            is_meant = is_meant and not rest.asks_other_than(stems_of(said[0][0]))
            return [(*said[0], set())] if is_meant else []
        if not ends and (noun := self._noun(relation, rest)):
            return [(relation.attributes[0], noun, set())]
        asked = {word for _, word in rest.all}
        if "when" in asked or {"what", "year"} <= asked or {"which", "year"} <= asked:
            is_end = bool(asked & {"until", "till"})
            dated = [one for one in relation.attributes if self._is_dated(relation, one)]
            dated = [one for one in dated if bool({*label_words(one.name)} & _UNTIL) == is_end] or dated
            return [(dated[0], [], _STEMS_OF_DATES)] if len(dated) == 1 else []
        if {"how", "much"} <= asked or asked & {"cost", "costs", "price", "charge", "charges"}:
            numbers = [a for a in relation.attributes if is_number(a.type) and not self._is_dated(relation, a)]
            amounts = [a for a in numbers if {*label_words(a.name)} & {*PRICES, *MONEY_WORDS}]
            stems = _STEMS_OF_MONEY if amounts else set()
            amounts = amounts or [a for a in numbers if {*label_words(a.name)} & PERCENT]
            return [(amounts[0], [], stems)] if len(amounts) == 1 else []
        return []

    def _noun(self, relation: Relation, rest: WordsBeside) -> list[int]:
        """Return the places of a noun for the only number of a relation: *population* in 2020, of its ``people``."""
        if len(relation.attributes) > 1 or not is_number(relation.attributes[0].type):
            return []
        types = self._known_types(*(kind for pair in relation.signatures for kind in (pair.head, pair.tail)))
        nouns = {stem(word) for word in label_words(relation.name) if not may_be_verb(word)} - types
        return [] if rest.asks_other_than(nouns) else rest.at(nouns)

    def _is_of_nodes(self, attribute: Attribute, said: int, ends: Sequence[str]) -> bool:
        """Return whether the words of an attribute may as well mean one of nodes."""
        mine, schema = stems_of(attribute), self.elements.session.schema
        others = [stems_of(one) for kind in ends for one in schema.type(kind).attributes]
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

    def _values_in(self, relation: Relation, rest: WordsBeside) -> Iterator[tuple[Condition, Attribute, list[int]]]:
        """Yield conditions on attributes that the question says: the longest value of each, or that it is true."""
        for attribute in relation.attributes:
            if attribute.type == "BOOLEAN":
                said = [rest.at(forms(word)) for word in label_words(attribute.name)]
                if all(said):
                    yield Condition(attribute.name, "=", (True,)), attribute, [at for each in said for at in each]
                continue
            values = self._texts.get((relation.name, attribute.name), [])
            found = [(value, at) for value, parts in values if (at := rest.sequence(parts))]
            if found:
                value, at = max(found, key=lambda one: len(one[1]))
                yield Condition(attribute.name, "=", (value,)), attribute, at

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
        verbs = (word for text in (relation.name, relation.label or "") for word in label_words(text))
        return self._known_types(*kinds).union(*map(forms, verbs))

    def _known_types(self, *kinds: str) -> set[str]:
        """Return the stems of the words for types."""
        nouns = (name for kind in kinds for name in (type_noun(kind), kind, *alternatives(kind)))
        return set().union(*(forms(word) for text in nouns for word in label_words(text)))

    def _node(self, end: _End) -> Nodes:
        row = self.elements.session.stores.nodes.row(end.node)
        [same] = self.elements.session.stores.nodes.by_name(end.type, [row.name])
        return Nodes(end.type, Name(row.name) if len(same) == 1 and row.name.strip() else Key(row.key))
