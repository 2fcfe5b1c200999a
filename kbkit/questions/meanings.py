"""What the labels and names of a question mean: types, attributes, nodes, and the relations that join types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from kbkit.answers.syntax import (
    Combine,
    Condition,
    Expression,
    Filter,
    Group,
    Key,
    Name,
    Nodes,
)
from kbkit.english.question_words import BIRTH, LIGHT_VERBS, PRICES, Adjective
from kbkit.english.words import PREPOSITIONS
from kbkit.questions.clauses import is_type
from kbkit.questions.element_lists import MOST, numeric
from kbkit.questions.expressions import both, is_date
from kbkit.questions.label_lookup import STANDING
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import FAINT, label_words
from kbkit.questions.link_words import is_of_people, is_participle
from kbkit.questions.period_rules import PeriodLink, dated, dates_of, group_by_own_date, own_date
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.units import UNITS, unit_of
from kbkit.questions.ways import NotReadError, Ways
from kbkit.schema import Attribute

_PLACE = 0.6
"""Least similarity of *where* and a type of places."""
_WHERE = ("in", "from", "at")
"""Prepositions before places."""
_GAINING = ("earn", "earns", "earned", "earning", "make", "makes", "made", "gross", "grossed", "raised", "won", "got")
"""Verbs of what money comes in by, which is no price."""
NO_ATTRIBUTE = "no attribute fits the adjective"
"""Why a superlative or a comparison is not read, if nothing is named that the adjective could compare."""
SEVERAL_DATES = "which of several dates is meant"
_HINT = 0.2
"""Weight of other words of the question in the choice of an attribute that an adjective compares."""


_LIMITS = frozenset(("min", "max", "minimum", "maximum"))
_SAID_OF_DATES = 0.4
"""Least similarity of a verb and the one of several dates that it is about."""
_OTHER_DATE = 0.4
"""How much less likely a date of a type further off is, if the nearest type has dates."""
_ROUND = 0.2
"""How much further nodes are of which others may have several."""
_SAME_TIME = 0.03
"""How much better one of several dates must be said, at least."""
_OF_AGE = 0.2
"""How much more likely the date of birth is what *oldest* and *youngest* say of people."""
_SAME_PRICE = 0.15
"""How much better one of several prices must fit, at least."""
_TIMED = 0.75
"""Score of an attribute that holds dates or years, whatever its name, as what *before* and *latest* compare."""
_SURE = 0.95
"""Least score of a label that is surely meant."""
_AMOUNTS = frozenset(("amount", "quantity", "weight", "mass", "volume"))


_CALENDAR = ("year", "month", "week", "day", "quarter", "date")
_MEASURED = {
    **dict.fromkeys(
        ("length", "distance", "height", "elevation", "altitude", "depth", "width", "breadth", "pages"), "length"
    ),
    **{"duration": "time", "area": "area", "volume": "volume", "weight": "mass", "mass": "mass"},
}
"""What the nouns of adjectives are measured in."""


class Meanings(Ways):
    """Chooses what the links of one question mean, and writes down how doubtful the choices are."""

    def _types_before(self, link: QuestionLink | None) -> list[int]:
        """Return the types that the question names before a link, the nearest first."""
        if link is None:
            return []
        before = [one for one in self._links if one.last <= link.first and one.labels and not one.labels[0].attribute]
        return self._types_in(sorted(before, key=lambda one: -one.first)[:1])

    def _named_before(self, link: QuestionLink) -> list[int]:
        """Return the type of the nodes of one name that the question names before a link: the Golden Mic *in 2023*."""
        before = max((one for one in self._links if one.last <= link.first), key=lambda one: one.last, default=None)
        is_next = before is not None and link.first - before.last < len(("in", "the"))
        several = before.nodes if before is not None and is_next and not before.labels else ()
        kinds = {self.elements.type_number(node) for node in several} if len(several) > 1 else set()
        return list(kinds) if len(kinds) == 1 else []

    def _said_before(self, link: QuestionLink, option: LabelOption) -> tuple[float, str]:
        """Return how well a word between a link and the one before it says an attribute, and the word: *born* in."""
        labels = [e.label for e in self.elements.all if e.source == option.type and e.name == option.attribute]
        start = max((one.last for one in self._links if one.last <= link.first), default=0)
        words = [word for word in self._tokens[start : link.first] if word in self.clauses.unexplained]
        similar = self.elements.labels.similarity
        if self._is_end(link, option.attribute):
            return 1.0, ""
        return max(((float(similar(word)[labels[0]]), word) for word in words if labels), default=(0.0, ""))

    def _said_of_nodes(self, link: QuestionLink, kind: int) -> tuple[float, str]:
        """Return how well the preposition before a name says nodes of a type: *from* a place, *about* a keyword."""
        [before] = self._tokens[link.first - 1 : link.first] or [""]
        if self._are_places(kind) and (before in _WHERE or is_of_people(link.text.casefold())):
            return 1.0, ""
        is_apart = before in PREPOSITIONS and self.focus not in (kind, -1)
        ways = [way for way in self._paths(self.focus, kind)[:1] if way] if is_apart else []
        names = {word for way in ways for word in label_words(self.elements.relation_label(way[-1]))}
        return float(before in names), ""

    def _are_places(self, kind: int) -> bool:
        return float(self.elements.type_labels.similarity("where")[kind]) >= _PLACE

    def _guessed(self, *texts: str) -> None:
        """Note that words of the question are likely, but not surely, what they were taken for."""
        self.doubts.choices += len({*texts} - self._guesses)
        self._guesses |= {*texts}

    def _types_in(self, links: Iterable[QuestionLink]) -> list[int]:
        result = []
        for link in links:
            options = link.types()
            if options:
                self.doubts.label = min(self.doubts.label, options[0].score)
                if options[0].score == STANDING:
                    self._guessed(link.text)
                if len(options) > 1 and options[1].score == options[0].score:
                    options = sorted(options, key=lambda option: -self.elements.types[option.type].count)
                    self.doubts.choices += 1
                result.append(options[0].type)
        return result

    def _attribute(self, link: QuestionLink, near: Iterable[int], is_number_only: bool = False) -> LabelOption:
        """Return the attribute that a label means: the one nearest to some types, the first of them most of all."""
        near = list(near)
        options = [o for o in link.attributes() if not is_number_only or self._is_number(o)]
        if not options:
            raise NotReadError(f"'{link.text}' is no {'number' if is_number_only else 'attribute'}")

        def cost(option: LabelOption) -> float:
            steps = [self._distance(option.type, kind) + 0.5 * place for place, kind in enumerate(near)]
            return min(steps, default=0.0) - 2 * option.score

        ranked = sorted(options, key=cost)
        best = ranked[0]
        if len(ranked) > 1 and cost(ranked[1]) == cost(best):
            self.doubts.choices += 1
        self.doubts.label = min(self.doubts.label, best.score)
        unit = unit_of(label_words(best.attribute))
        for word in [word for word in self.clauses.unexplained if unit and UNITS.get(word) == UNITS[unit]]:
            self._explain(word)  # the price of a kilo, of price_per_kg
        return best

    def _summed(self, link: QuestionLink, total: str) -> LabelOption:
        """Return the number of the focus that a total is of: of sums and averages, no date."""
        plain = tuple(o for o in link.labels if o.attribute and self._is_number(o) and not self._is_date(o))
        if not plain and (amount := self._amount_of(link)) is not None:
            return amount
        if total in ("sum", "avg") and plain:
            link = replace(link, labels=plain)
        return self._attribute(link, [self.focus], True)

    def _amount_of(self, link: QuestionLink) -> LabelOption | None:
        """Return the only mass, volume or amount beside a text attribute: the kilos of honey, for *total honey*."""
        texts = [o for o in link.attributes() if o.score >= _SURE and self._type_of(o) == "VARCHAR"]
        texts = [o for o in texts if o.attribute not in ("name", "key")]
        kinds = {option.type for option in texts} if not link.types() else set()
        names = [(n, a.name) for n in kinds for a in self.elements.types[n].attributes if _is_amount(a)]
        if len(names) != 1:
            return None
        self._guessed(link.text)
        return LabelOption(*names[0], texts[0].score, True)

    def _is_date(self, option: LabelOption) -> bool:
        """Return whether an attribute holds dates or years, of which *oldest* means the least."""
        return is_date(option.attribute) or self.elements.is_yearly(option.type, option.attribute)

    def _is_number(self, option: LabelOption) -> bool:
        return numeric(self._type_of(option))

    def _type_of(self, option: LabelOption) -> str:
        if option.attribute in ("name", "key"):
            return "VARCHAR"
        attributes = self.elements.types[option.type].attributes
        return next((a.type for a in attributes if a.name == option.attribute), "VARCHAR")

    def _by_adjective(  # noqa: PLR0912
        self, adjective: Adjective, near: Iterable[int], is_dated: bool = False, number: str = ""
    ) -> LabelOption:
        """Return the numeric attribute that an adjective compares: ``oldest`` an age, or a year of birth.

        With ``is_dated`` only attributes of dates, as a month or a day is compared. Of several prices the one is meant
        whose values are both above and below the ``number`` that it is compared with.
        """
        labels, best, chosen, label = self.elements.labels, 0.0, None, -1
        timed: dict[str, float] = {}
        scores: dict[tuple[int, str], float] = {}
        nouns = [*adjective.nouns, *(("year", "date") if adjective.dates else ())]
        units = {_MEASURED.get(noun, "") for noun in nouns}
        near = list(near)
        asked = {target.label.text.casefold() for target in self.clauses.targets if target.label is not None}
        words = [w for w in self._words if adjective.dates or not any(w in text.split() for text in asked)]
        is_own = "date" in nouns and bool(near) and self._has_dates(near[0])
        kinds = [k for k in dict.fromkeys(near) if "date" not in nouns or k == near[0] or self._has_dates(k)]
        for place, kind in enumerate(kinds):
            for at in self.elements.of_kind(MOST, kind).tolist():  # numbers and dates
                element = self.elements.all[at]
                unit = unit_of(label_words(element.name))
                if unit and "" not in units and UNITS[unit].measures not in units:
                    continue  # long is not a size in bytes
                if adjective.dates and _LIMITS & {*label_words(element.name)[:1]}:
                    continue  # the newest game is not the one with the least minimum age
                if is_dated and not self._type_of(LabelOption(kind, element.name)).startswith(("DATE", "TIMESTAMP")):
                    continue
                if place and is_timed_by_verb(element.name) and self._expressed([at], self._words) < _SAID_OF_DATES:
                    continue  # elected in 2024: not in parties founded then
                # Born after 1990: a date of birth, not of death; but population of the largest state: by area.
                hint = _HINT * self._expressed([at], words)
                is_timed = "date" in nouns and self.elements.is_yearly(kind, element.name)
                if is_timed and not {*label_words(self.elements.types[kind].name)}.isdisjoint(
                    label_words(element.name)
                ):
                    hint += 2 * _SAME_TIME  # of orders, the order date
                is_birth = not {*label_words(element.name)}.isdisjoint(BIRTH)
                if is_timed and "age" in nouns and kind in self.elements.people and is_birth:
                    hint += _OF_AGE  # the oldest of people: by birth
                for rank, noun in enumerate(nouns):
                    is_measured = bool(unit) and UNITS[unit].measures == _MEASURED.get(noun)
                    found = max(float(labels.similarity(noun)[element.label]), _TIMED * (is_timed or is_measured))
                    score = found - 0.05 * rank - (_OTHER_DATE if is_own else 0.1) * place + hint
                    if is_timed and kind == next(iter(near)):
                        timed[element.name] = max(score, timed.get(element.name, 0.0))
                    scores[kind, element.name] = max(score, scores.get((kind, element.name), 0.0))
                    if score > best:
                        best, chosen, label = score, LabelOption(kind, element.name, score), element.label
        if chosen is None or best < 0.5:
            raise NotReadError(NO_ATTRIBUTE)
        if adjective.nouns == PRICES:
            chosen = self._price_meant(chosen, label, scores, number)
        if chosen.attribute in timed and len(timed) > 1:
            chosen = self._date_meant(chosen, label, timed)
        self.doubts.label = min(self.doubts.label, chosen.score)
        self.doubts.followed.add(label)
        return chosen

    def _price_meant(
        self, best: LabelOption, label: int, scores: dict[tuple[int, str], float], number: str
    ) -> LabelOption:
        """Return which of several prices of a type is meant; see :meth:`_by_adjective`."""
        alike = [one for one, score in scores.items() if one[0] == best.type and score > best.score - _SAME_PRICE]
        gains = [verb for verb in self.clauses.unexplained if verb in _GAINING]
        is_gain = bool(gains) and float(self.elements.labels.similarity(gains[0])[label]) < FAINT
        if number and len(alike) > 1:
            alike = [one for one in alike if self._is_within(one, number)] or alike
        if len(alike) > 1 or is_gain:  # films that earned a million: not their cost
            raise NotReadError("which of several prices is meant")
        return LabelOption(*alike[0], scores[alike[0]])

    def _date_meant(self, best: LabelOption, label: int, timed: dict[str, float]) -> LabelOption:
        """Return which of several dates of a type is meant: the one that a word says, or the date of the nodes.

        ``best`` is the best one, with the position of its ``label``; ``timed`` has the scores of all.
        """
        similar = self.elements.labels.similarity
        verbs = [word for word in self.clauses.unexplained if is_participle(word) and word not in LIGHT_VERBS]
        if verbs and max(float(similar(word)[label]) for word in verbs) < _SAID_OF_DATES:
            raise NotReadError(SEVERAL_DATES)  # expired before 2018, of valid_from and valid_to
        own = self.elements.own_date(best.type)
        is_said = own != best.attribute and any(float(similar(word)[label]) >= FAINT for word in self._words)
        if own in timed and not is_said:
            return replace(best, attribute=own, score=min(best.score, _TIMED))
        if max(score for name, score in timed.items() if name != best.attribute) > best.score - _SAME_TIME:
            raise NotReadError(SEVERAL_DATES)
        return best

    def _is_within(self, one: tuple[int, str], number: str) -> bool:
        """Return whether some nodes have more than a number of an attribute, and others less."""
        low, high = self.elements.span(*one)
        return low is not None and low < Decimal(number) < high

    def _has_dates(self, kind: int) -> bool:
        return any(self.elements.is_yearly(kind, attribute.name) for attribute in self.elements.types[kind].attributes)

    def _in_role(self, tree: Expression, kind: int, counted: int) -> Expression:
        """Return the nodes of a type that have the role which the question names: of people, those who directed.

        Nothing is added if they are followed by its relation anyway, or what they have most of is (``counted``).
        """
        links = [*self.clauses.context, *(target.label for target in self.clauses.targets if target.label is not None)]
        for role in dict.fromkeys(link.role for link in links if link.role):
            hops = [hop for hop in role if int(self.elements.target[hop]) == kind]
            if any(self.elements.source[hop] == kind for hop in hops):
                hops = [hop for hop in hops if self.elements.forward[hop]]  # prerequisites: not what has them
            labels = {self.elements.all[hop].label for hop in hops}
            ways = self._paths(kind, counted)[:1] if counted >= 0 else []
            said = {self.elements.all[hop].label for way in ways for hop in way} | self.doubts.followed
            if not hops or labels & said:
                continue
            sources = [self.elements.types[int(self.elements.source[hop])].name for hop in hops]
            parts = tuple(self._followed(Nodes(name), [hop]) for name, hop in zip(sources, hops, strict=True))
            tree = both(tree, parts[0] if len(parts) == 1 else Combine("|", parts))
            self.doubts.followed |= labels
        return tree

    def _groups(self, links: list[QuestionLink]) -> tuple[Group, ...]:
        """Return what the question groups by: ``for each region and year``."""
        different = {link.labels or link.text: link for link in links}.values()
        return tuple(dict.fromkeys(map(self._group, different)))

    def _group(self, link: QuestionLink) -> Group:
        """Return the groups of the focus that a label means."""
        if isinstance(link, PeriodLink):
            return self._period_group(link)
        if is_type(link):
            kind = link.types()[0].type
            return Group("name") if kind == self.focus else Group(self._count(self.focus, kind))
        option = self._attribute(link, [self.focus, *self._types_in(self.clauses.context)])
        if option.type != self.focus and option.score < 1 and link.text.casefold() in _CALENDAR:
            raise NotReadError(f"'per {link.text}'")  # trips per year: not by the year in which their boats were built
        return self._group_of(option)

    def _period_group(self, link: PeriodLink) -> Group:
        """Return the groups by year or month: of a named date, by what is called so, or of the only date."""
        if link.labels:
            option = self._attribute(link, [self.focus])
            if option.attribute not in dates_of(self.elements, option.type):
                raise NotReadError(f"the {link.period} of '{option.attribute}'")
            return dated(self._group_of(option), link.period)
        called = link.called
        is_own = called is not None and any(option.type == self.focus for option in called.attributes())
        if called is not None and (is_own or not own_date(self.elements, self.focus)):
            return self._group(called)
        said = [word for word in self.clauses.unexplained if word not in LIGHT_VERBS]
        if said:  # how many members borrowed per month, who joined on one date
            raise NotReadError(f"'{said[0]}'")
        beside = self._types_in([*self.clauses.context, *self.clauses.events])
        return group_by_own_date(self.elements, self.focus, link.period, beside)

    def _group_of(self, option: LabelOption) -> Group:
        """Return the groups of the focus by an attribute, of its own or of the nodes that a path leads to."""
        if option.type == self.focus:
            return Group(option.attribute)
        path = self._count(self.focus, option.type)
        return Group(path) if option.attribute in ("name", "key") else Group(path, attribute=option.attribute)

    def _near(self, kind: int, near: list[int]) -> float:
        steps = min(self._distance(kind, one) + 0.5 * min(place, 1) for place, one in enumerate(near))
        is_one = self._distance(near[0], kind) < 2 or self._is_single(near[0], kind)
        return steps if is_one else steps + _ROUND  # the show of a ticket, not a part of its seller

    def _nodes(self, link: QuestionLink, kind: int) -> Expression:
        nodes = [node for node in link.nodes if self.elements.type_number(node) == kind]
        if not nodes:
            raise NotReadError(f"no {self.elements.types[kind].name} is '{link.text}'")
        known = self.elements.types[kind].name
        if len(nodes) > 1:
            names = {self.elements.session.stores.nodes.name(node) for node in nodes}
            return Filter(Nodes(known), (Condition("name", "=" if len(names) == 1 else "in", tuple(sorted(names))),))
        trees = tuple(Nodes(known, self._selector(kind, node)) for node in nodes)
        return trees[0] if len(trees) == 1 else Combine("|", trees)

    def _named_node(self, node: int) -> Nodes:
        kind = self.elements.type_number(node)
        return Nodes(self.elements.types[kind].name, self._selector(kind, node))

    def _selector(self, kind: int, node: int) -> Name | Key:
        nodes = self.elements.session.stores.nodes
        row = nodes.row(node)
        [same] = nodes.by_name(self.elements.types[kind].name, [row.name])
        return Name(row.name) if len(same) == 1 and row.name.strip() else Key(row.key)


def is_timed_by_verb(name: str) -> bool:
    """Return whether an attribute is called by the participle of what happened: *founded*, *opened_on*."""
    words = label_words(name)
    return bool(words) and is_participle(words[0]) and len(words) <= 2


def _is_amount(attribute: Attribute) -> bool:
    """Return whether an attribute says how much of something there is: *Kg*, *volume_l*, *quantity*."""
    words = label_words(attribute.name)
    unit = UNITS.get(unit_of(words))
    is_measured = unit is not None and unit.measures in ("mass", "volume")
    return numeric(attribute.type) and (is_measured or not _AMOUNTS.isdisjoint(words))
