"""What *who*, *where* and *how much* ask for: the types of people and of places, and amounts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kbkit.answers.attribute_values import ColumnValues
from kbkit.answers.syntax import Aggregate, Expression, ValueColumn
from kbkit.english.agents import CLIENTS, OF_CLIENTS, OF_STAFF, agent_nouns
from kbkit.english.question_words import (
    COUNTED,
    CREATING,
    DWELLING,
    MONEY_WORDS,
    PASTS,
    PAYING,
    PRICES,
    PRICES_OF_ONE,
    Adjective,
)
from kbkit.english.words import is_person, lemmas_of, may_be_person, may_be_verb, singular
from kbkit.questions.act_rules import ActRestriction
from kbkit.questions.clauses import AskedTarget, is_type
from kbkit.questions.element_lists import MOST, Element
from kbkit.questions.elements import MAX_HOPS
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.products import takings_of
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.time_and_place import TimePlanner
from kbkit.questions.units import UNITS
from kbkit.questions.ways import NotReadError

_COUNTING = frozenset(("count", "number", "total", "quantity"))
"""Words of labels that *how many* asks for."""
_SAID = 0.5
"""Least similarity of a verb and the date that it is about."""
_TELLING = 0.25
"""How much better words must express one of several types that may be asked for."""


class AskedPlanner(TimePlanner):
    """Chooses the types and amounts that question words of one question ask for."""

    def _how_much(self) -> AskedTarget:
        """Return the amount that *how much* asks for: the only number of a type that the question names.

        It is a total if a node may have several: what a customer has in accounts.
        """
        if (said := self._said_number()) is not None:
            return said
        kinds = list(dict.fromkeys(self._types_in(self.clauses.context)))
        numbers = [(kind, name) for kind in kinds if (name := self._only_number(kind))]
        about = self._conditioned()
        if paid := self._paid(kinds or list(dict.fromkeys(about)), is_named=bool(kinds)):
            return paid
        if len(kinds) != 1 or not numbers or not about:
            raise NotReadError("'how much'")
        [(kind, name)] = numbers
        link = QuestionLink(0, 0, "how much", (LabelOption(kind, name, 1.0, True),))
        named = {
            self.elements.type_number(node) for r in self.clauses.restrictions for v in r.values for node in v.nodes
        }
        named |= {kind} if name not in self._amounts_of(kind) else set()
        is_one = all(one in named if one == kind else self._is_single(one, kind) for one in about)
        return AskedTarget(link, "" if is_one else "sum")

    def _paid(self, kinds: list[int], *, is_named: bool) -> AskedTarget | None:
        """Return the sum of the amounts that a verb of paying is about: *how much did Ann spend*, of her orders.

        They are of the type that is named, or of the only neighbours with one that a named node has several of.
        """
        verbs = [word for word in self._tokens if word in PAYING]
        if len(verbs) != 1 or not kinds:
            return None
        near = self._several_of(kinds[0]) - {kinds[0]}
        if not any(map(self._amounts_of, near)):
            near = set().union(*map(self._several_of, near)) - {kinds[0], *near}
        of = kinds[:1] if is_named or any(map(self._amounts_of, kinds)) else sorted(near)
        found = [(kind, name) for kind in of for name in self._amounts_of(kind)]
        found = [one for one in found if _is_paid(one[1])] or found  # donations, not the costs of events
        if len(found) != 1:
            return None
        [(kind, name)] = found
        self._explain(verbs[0])
        return AskedTarget(QuestionLink(0, 0, "how much", (LabelOption(kind, name, 1.0, True),)), "sum")

    def _several_of(self, kind: int) -> set[int]:
        """Return the types that a node of a type has several nodes of beside it."""
        return {
            self.elements.all[hop].target
            for hop in self.elements.from_type(kind).tolist()
            if not self.elements.is_single(hop)
        }

    def _amounts_of(self, kind: int) -> list[str]:
        """Return the attributes of a type that are amounts of money, by their names; prices of one piece are none."""
        words = {one.name: {*label_words(one.name)} for one in self._numbers_of(kind)}
        if (product := takings_of(self.elements, kind)) is not None:
            return [product.dates[1]]
        return [name for name, said in words.items() if said & MONEY_WORDS and not said & PRICES_OF_ONE]

    def _averaged(self, adjective: Adjective) -> AskedTarget:
        """Return the average of the number that an adjective compares: *how long are films on average*."""
        kinds = list(dict.fromkeys([*self._types_in(self.clauses.context), *self._conditioned()]))[:1]
        try:
            found = self._by_adjective(adjective, kinds)
        except NotReadError:
            dates = sum(
                self.elements.is_yearly(kind, a.name) for kind in kinds for a in self.elements.types[kind].attributes
            )
            what = "the time between two dates" if dates > 1 else f"'{adjective.nouns[0]}'"
            self.clauses.unread.append(what)
            raise NotReadError(what) from None
        if self._is_date(found):
            self.clauses.unread.append("an average of dates")
            raise NotReadError("an average of dates")
        for word in [word for word in self.clauses.unexplained if may_be_verb(word)]:
            self._explain(word)
        return AskedTarget(QuestionLink(0, 0, "how", (replace(found, score=1.0, is_number=True),)), "avg")

    def _said_number(self) -> AskedTarget | None:
        """Return the number of the named nodes that a verb is about: *how much does Ann earn*, of a salary."""
        kinds = dict.fromkeys(self._conditioned() if not self.clauses.context else ())
        similar = self.elements.labels.similarity
        numbers = [
            (float(similar(word)[one.label]), one.name, word, kind)
            for word in self.clauses.unexplained
            for kind in kinds
            for one in self._numbers_of(kind)
        ]
        if not self.clauses.unexplained:  # how much is a baguette
            prices = [
                (1.0, e.name, "", e.source) for kind in kinds for e in self._numbers_of(kind) if _is_price(e.name)
            ]
            numbers = prices if len(prices) == 1 else []
        ranked = sorted(numbers, reverse=True)
        others = [score for score, name, *_ in ranked if name != ranked[0][1]]
        if not ranked or ranked[0][0] < _SAID or ranked[0][0] - max(others, default=0.0) < _TELLING / 2:
            return None
        score, name, word, kind = ranked[0]
        self._explain(word)
        return AskedTarget(QuestionLink(0, 0, "how much", (LabelOption(kind, name, score, True),)))

    def _numbers_of(self, kind: int) -> list[Element]:
        """Return the attributes of a type that are numbers and no years."""
        numbers = map(self.elements.all.__getitem__, self.elements.of_kind(MOST, kind).tolist())
        return [one for one in numbers if not self.elements.is_yearly(kind, one.name)]

    def _asked(self) -> int | None:
        """Return the type that *who* or *where* asks for; None if no such word decides."""
        clauses = self.clauses
        is_open = not clauses.targets and not clauses.groups
        if is_open and clauses.is_who and (agent := self._agent()) is not None:
            clauses.targets.append(agent)
            return None
        asked = self._asked_kind() if is_open and (clauses.is_who or clauses.is_where) else None
        if is_open and self._tokens[:1] == ["what"] and {*self._tokens[1:2]} & {"did", "has", "have", "had"}:
            asked = self._object_of_event()
        if is_open and clauses.is_who and asked is None and not clauses.context:
            kinds = [*(link.labels[0].type for link in clauses.said), *self._tested()]
            asked = next((kind for kind in kinds if self._is_nameless(kind) and self._naming_column(kind)), None)
        is_open = bool(clauses.asks_for) and clauses.head is None  # senior chemists who started in 2010
        if is_open and not clauses.targets and not clauses.context and asked is None:
            raise NotReadError(f"'{clauses.asks_for}'")
        return asked

    def _object_of_event(self) -> int | None:
        """Return what an event is about, beside those who are named: *what did Ann hire*, a bike."""
        events = [link.labels[0].type for link in self.clauses.events or self.clauses.context]
        named = {
            self.elements.type_number(node) for r in self.clauses.restrictions for v in r.values for node in v.nodes
        }
        if len(events) != 1 or not named & self.elements.people:
            return None
        hops = [self.elements.all[hop] for hop in self.elements.from_type(events[0]).tolist()]
        found = {hop.target for hop in hops if hop.forward} - named - self.elements.people - {events[0]}
        return next(iter(found)) if len(found) == 1 else None

    def _agent(self) -> AskedTarget | None:
        """Return the only column for who did what a participle says, of the types that are named: a *requester*."""
        kinds = dict.fromkeys([*self._types_in(self.clauses.context), *self._conditioned()])
        agents = {noun for word in self._words if is_participle(word) or word in PASTS for noun in agent_nouns(word)}
        found = [
            LabelOption(kind, a.name)
            for kind in kinds
            for a in self.elements.types[kind].attributes
            for word in (label_words(a.name) if a.type == "VARCHAR" else [])[-1:]
            if may_be_person(word) and word in agents
        ]
        if len(found) != 1:
            return None
        said = {*label_words(found[0].attribute)}
        for word in [word for word in self.clauses.unexplained if agent_nouns(word) & said]:
            self._explain(word)
        return AskedTarget(QuestionLink(0, 0, "who", tuple(found)))

    def _of_head(self, head: QuestionLink, context: list[int]) -> int:
        """Return the type of the nodes that a value stands for: of those that have it, or that belong to the node."""
        kinds = list(dict.fromkeys(value.type for value in head.values))
        nodes = self.elements.session.stores.nodes
        is_name = any(nodes.name(node).casefold() == head.text.casefold() for node in head.nodes)
        if not kinds and is_name and len(self._tokens) == head.last - head.first:
            raise NotReadError(f"'{head.text}'")  # aliens: the film, and hardly a question
        if not kinds:
            kinds = [self._only_neighbour(self.elements.type_number(node)) for node in head.nodes[:1]]
            if {*kinds} & {*context}:
                raise NotReadError(f"'{head.text}'")  # how many bulbs were used in all jobs: not how many jobs
        if not kinds:
            raise NotReadError(f"'{head.text}'")
        near = sorted(kinds, key=lambda kind: min((self._distance(kind, one) for one in context), default=0))
        self.doubts.choices += len(kinds) > 1 and not context
        return near[0]

    def _asked_kind(self) -> int | None:
        """Return the type of people, or of places, that *who* and *where* ask for: the nearest to what is named.

        None if the question names one itself, if there is none, or if several are as near.
        """
        if (people := self._measured_people()) is not None:
            return people
        fits = self._are_people if self.clauses.is_who else self._are_places
        named = self._types_in(self.clauses.context)
        if self.clauses.is_whose and self._are_people(named[0] if named else -1):
            raise NotReadError("'whose'")
        events = [link.labels[0].type for link in self.clauses.events]
        compared = [node for r in self.clauses.restrictions if r.operand == "node" for node in r.values[0].nodes[:1]]
        if any(map(fits, named)):
            return None
        tested = [*map(self.elements.type_number, compared), *self._tested()]
        if own := [kind for kind in dict.fromkeys(tested) if fits(kind)]:
            return own[0] if len(own) == 1 and self.clauses.is_who else None  # who is older than Ann: as she is
        about = [*events, *self._conditioned(), *named]
        return None if compared else self._nearest_kind(fits, about, is_sure=bool(events) or self.clauses.is_whose)

    def _nearest_kind(self, fits: Callable[[int], bool], about: list[int], *, is_sure: bool) -> int | None:
        """Return the type that is nearest to others, of those that fit; None if there is none.

        If it is not sure that the first of the others are theirs, words must say so.
        """
        kinds = [kind for kind in range(len(self.elements.types)) if fits(kind) and kind not in about]
        kinds = [kind for kind in kinds if not self._is_nameless(kind)] or kinds
        kinds = [kind for kind in kinds if min((self._distance(one, kind) for one in about), default=0) <= MAX_HOPS]
        if not about and self.clauses.is_who:
            kinds = [kind for kind in kinds if not self._are_companies(kind)] or kinds
        if len(kinds) < 2 or not about:
            return kinds[0] if len(kinds) == 1 else None
        near = sorted((self._distance(about[0], kind), kind) for kind in kinds)
        if (self._tested() or is_sure) and near[0][0] < near[1][0]:
            return near[0][1]  # who paid the most fines: those whose loans have them
        if near[0][0] == 1 < near[1][0] and CREATING & {*self.clauses.unexplained}:
            return near[0][1]  # who made the work: its artist, not a borrower
        ranked = sorted(((self._said(about[0], kind), kind) for kind in kinds), reverse=True)
        if ranked[0][0] - ranked[1][0] < _TELLING and (meant := self._by_deed(kinds)) is not None:
            return meant
        if ranked[0][0] - ranked[1][0] < _TELLING:  # who borrowed the book: not its author
            raise NotReadError("'who'" if self.clauses.is_who else "'where'")
        return ranked[0][1]

    def _by_deed(self, kinds: list[int]) -> int | None:
        """Return the only type of clients, or of staff, that a verb means: who hires bikes, and who repairs them."""
        words = {base for word in self._tokens for base in lemmas_of(word).get("VERB", ())}
        is_client = bool(words & OF_CLIENTS)
        if not is_client and not words & OF_STAFF:
            return None
        nouns = {kind: label_words(self.elements.types[kind].name)[-1] for kind in kinds}
        clients = [kind for kind, noun in nouns.items() if singular(noun) in CLIENTS]
        others = [kind for kind in kinds if kind not in clients]
        found = clients if is_client else others
        return found[0] if len(found) == 1 and clients and others else None

    def _are_companies(self, kind: int) -> bool:
        """Return whether the nodes of a type have the name of a company: sponsors, with a *company_name*."""
        known = self.elements.types[kind]
        names = [known.name_label, *(attribute.name for attribute in known.attributes)]
        return any(label_words(name) in (["company"], ["company", "name"]) for name in names if name)

    def _said(self, source: int, kind: int) -> float:
        """Return how well words of the question express a type, or the relations that lead there."""
        names = self.elements.type_labels.similarity
        own = max((float(names(word)[kind]) for word in self._words), default=0.0)
        paths = self._paths(source, kind)
        return max([own, *(self._expressed([hop]) for path in paths[:1] for hop in path)])

    def _tested(self) -> list[int]:
        """Return the types whose attributes the conditions and the superlative test."""
        links = [r.label for r in self.clauses.restrictions]
        links += [self.clauses.most.label] if self.clauses.most else []
        found = [link.labels[0].type for link in links if link is not None and link.labels and link.labels[0].attribute]
        found += [self.elements.all[most.hop].source for most in (self.clauses.most,) if most and most.hop >= 0]
        found += [r.act.kind for r in self.clauses.restrictions if isinstance(r, ActRestriction)]
        return found + [one.type for r in self.clauses.restrictions for value in r.values for one in value.values[:1]]

    def _owners(self, tree: Expression) -> Expression:
        """Return the named nodes that nameless ones belong to: the owners of accounts."""
        hops = self.elements.from_type(self.focus).tolist()
        named = {int(self.elements.target[hop]) for hop in hops} - {self.focus}
        named = {kind for kind in named if not self._is_nameless(kind)}
        if len(named) != 1:
            raise NotReadError("'who'")
        [kind] = named
        tree, self.focus = self._followed(tree, self._path(self.focus, kind)), kind
        return tree

    def _as_people(self, tree: Expression) -> Expression:
        """Return the people that rows without names are about: *managers*, of the seasons of managers, by name."""
        hops = self.elements.from_type(self.focus).tolist()
        named = {int(self.elements.target[hop]) for hop in hops if self.elements.is_single(hop)}
        people = {kind for kind in named & self.elements.people - {self.focus} if not self._is_nameless(kind)}
        if self.focus in self.elements.people and not named & self.elements.people - {self.focus}:
            texts = [a.name for a in self.elements.types[self.focus].attributes if a.type == "VARCHAR"]
            called = [name for name in texts if is_person(label_words(name)[-1])]
            return Aggregate("values", tree, (ValueColumn(called[0]),)) if len(called) == 1 else tree
        if self.focus not in self.elements.people or len(people) != 1:
            return tree
        kind = people.pop()
        tree, self.focus = self._followed(tree, self._path(self.focus, kind)), kind
        return tree

    def _naming_column(self, kind: int) -> str:
        """Return the only text attribute that tells nameless nodes apart; empty if there is none, or several."""
        node_type = self.elements.types[kind]
        known = ColumnValues.of(self.elements.session.stores)
        texts = [a for a in node_type.attributes if a.type == "VARCHAR"]
        telling = [a.name for a in texts if len(known.distinct(node_type, a)) == node_type.count]
        return telling[0] if len(telling) == 1 else ""

    def _is_nameless(self, kind: int) -> bool:
        """Return whether the nodes of a type are called by keys that are codes, to judge by the first."""
        nodes = self.elements.session.stores.nodes
        row = nodes.row(self.elements.types[kind].first)
        return row.name == row.key and not _NAME.fullmatch(row.name)

    def _uncounted(self, target: AskedTarget) -> AskedTarget:
        """Return the attribute itself for a number that is an attribute: ``how many cylinders does it have``."""
        if target.total != "count" or target.is_distinct or target.label is None or target.label.types():
            return target
        numbers = tuple(o for o in target.label.labels if _COUNTING & {*label_words(o.attribute)})
        target = replace(target, label=replace(target.label, labels=numbers or target.label.labels))
        assert target.label is not None
        option = self._attribute(target.label, self._conditioned())
        if not self._is_number(option) or (
            option.score == 1 and not all(self._is_number(one) for one in target.label.attributes())
        ):
            return target
        is_sum = target.label.text.casefold() in COUNTED and option.type not in self._conditioned()
        grouped = [link.types()[0].type for link in self.clauses.groups if is_type(link)]
        is_sum |= target.label.text.casefold() in UNITS  # how many kilos did we take
        is_sum |= bool(self.clauses.groups) and option.type not in grouped  # the number of docks per area
        after = list(self._tokens[target.label.last : target.label.last + 2])
        is_sum |= after[:1] in (["do"], ["did"], ["have"]) and after[1:] in (["we"], ["you"])  # did we carry
        is_sum |= after in (["have", "been"], ["has", "been"]) or (
            after[:1] in (["were"], ["was"]) and any(map(is_participle, after[1:]))  # how many hours were worked
        )
        owners = [kind for kind in self._conditioned() if kind != option.type]
        is_sum |= (
            bool(owners)
            and option.type not in self._conditioned()
            and not all(self._is_single(kind, option.type) for kind in owners)
        )  # how many points did Ann score, in several games
        for word in DWELLING if target.label.text.casefold() in COUNTED else ():
            self._explain(word)
        return AskedTarget(target.label, "sum" if is_sum else "", target.of)


_NAME = re.compile(r"(?=.*[a-z])[^\W\d_][^\d_]*")
"""A key that is a name: words without digits, not all in capitals."""


def _is_paid(name: str) -> bool:
    """Return whether an attribute is money that changes hands, and no price, by its name."""
    return not {"amount", "paid", "payment", "donation", "total"}.isdisjoint(label_words(name))


def _is_price(name: str) -> bool:
    """Return whether an attribute says what something costs, by its name."""
    return label_words(name)[-1] in PRICES
