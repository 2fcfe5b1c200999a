"""The labels of a KB, what types and attributes are called: found by words, by stems, and by similarity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kbkit.answers.attribute_values import ColumnValues
from kbkit.answers.resolve_attributes import is_number
from kbkit.english.abbreviations import shortened
from kbkit.english.question_words import (
    BIRTH,
    CLASSES,
    CONCEPTS,
    FUNCTION_WORDS,
    MEASURED,
    NO,
    NO_INITIALS,
    TAKINGS,
    YES,
)
from kbkit.english.thesaurus import related_words
from kbkit.english.words import lemmas_of, singular
from kbkit.questions.element_lists import HOP, VALUE, Element, numeric
from kbkit.questions.elements import Elements
from kbkit.questions.expressions import is_date
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import alternatives, cosine, label_words, related, stem
from kbkit.questions.link_words import DERIVED_LABEL, is_participle, overlap
from kbkit.questions.number_labels import takings
from kbkit.questions.units import UNITS, is_other_unit, unit_of
from kbkit.schema import Attribute, NodeType

_PEOPLE, _ONLY = frozenset(["people", "person", "persons", "folk", "folks", "staff"]), 0.9
"""Words for the only type of people, and the score of it, or of the only type that a word begins."""
_LEAST_START = 4
"""Letters of a word that begins the name of a type, at least."""
_DATED = ("date", "day", "dt", "time")
"""Words after a participle in the name of a date."""
_UNSHORTENED = frozenset("this that these those the a an is was are were".split())  # noqa: SIM905
"""Words of which initials have none: *paid this season* is no ``pts``."""
_KEYS = frozenset(["id", "ids", "key", "keys", "code", "codes", "identifier", "identifiers"])
_KEY_WORDS = frozenset(["number", "numbers", "no", "nr"])
"""Further words for keys after the name of a type."""
_NUMBER = 0.6
"""Score of the key of nodes for their number."""
_KEY_ENDING = re.compile("_?(?:id|key|code|no|nr|number)$")
_LEAST = 0.7
"""Least similarity of a word and a label of which it is neither a word nor a derived word."""
_INSIDE = frozenset(("of", "the", "in"))
"""Function words that a question may put inside a label: year of birth."""
WHOLE_LABEL = 0.95
"""Least score of a label with all its words."""
_NAMES = frozenset(["name", "names", "title", "titles"])
_NUMBERED, _LEAST_FLAGS = frozenset(("number", "count", "level", "grade", "score", "rank", "id", "total")), 5
"""Last words of numbers that may happen to be 0 and 1 only, and the nodes from which two values say yes and no."""
_CLASS_STEMS = frozenset(map(stem, CONCEPTS["kind"]))
"""Stems of the words for kinds that labels have."""
_CLASS_NOUNS = ("group", "class", "genre")
"""Nouns for kinds that stand for one another at the end of a label."""
_FREQUENT, _RARE = (2, 0.25), (4, 0.5)
"""Greatest rank of the senses of synonyms, and how similar they must be at least; of rarer senses they must be more."""
_SAME_KIND, _AKIN = 1, 0.6
"""Greatest rank of a noun that is more general than two others, and how similar these must be at least."""
_SYNONYM = 0.85
"""Score of a synonym of a label, relative to the label itself."""
STANDING = 0.5
"""Score of a type that a noun stands for though it is called otherwise."""
_BIRTHS = frozenset(map(stem, BIRTH))
"""Stems of the words of dates of birth."""
_PER = 0.2
"""How much less the unit of a rate is its label."""
_SHORT = 0.9
"""Score of a label with an abbreviation of a word, relative to the label with the word itself."""
_INITIAL = 0.8
"""Score of a label of two letters that the only word it can be short for begins with."""


@dataclass
class LabelLookup:
    """The labels of one KB."""

    elements: Elements
    measured: set[str] = field(default_factory=set)
    """What the units in the names of attributes measure."""
    _labels: list[tuple[tuple[str, ...], LabelOption]] = field(default_factory=list)
    _with_stem: dict[str, list[int]] = field(default_factory=dict)
    _derived_from: dict[str, list[int]] = field(default_factory=dict)
    _written: dict[str, str] = field(default_factory=dict)
    """The words of labels, with their stems."""
    _of_flags: set[str] = field(default_factory=set)
    """The first words of columns that say yes or no, and are called so."""
    _abbreviated: dict[str, str] = field(default_factory=dict)
    """The stems of the words of labels that words of questions are abbreviated to."""
    _heads: dict[str, set[str]] = field(default_factory=dict)
    """The last words of labels, with the nouns that are more general."""
    _with_head: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    _synonyms: dict[str, dict[int, float]] = field(default_factory=dict)
    """The labels whose last word has a synonym, with the score that it has for them."""

    def __post_init__(self) -> None:
        for number, node_type in enumerate(self.elements.types):
            for text in (node_type.name, *alternatives(node_type.name)):
                self._add(label_words(text), LabelOption(number))
            if who := self._keyed_by(number, node_type):
                self._add(who, LabelOption(number, "", WHOLE_LABEL))
            for text, attribute_name in ((node_type.name_label, "name"), (node_type.key_label, "key")):
                if text:
                    self._add(label_words(text), LabelOption(number, attribute_name))
            for attribute in node_type.attributes:
                is_boolean = self._is_boolean(number, node_type, attribute)
                is_day = attribute.type.startswith(("DATE", "TIMESTAMP"))
                is_number_here, is_year = numeric(attribute.type), self.elements.is_yearly(number, attribute.name)
                is_year |= is_date(attribute.name)
                is_optional = is_day and self.elements.is_optional(number, attribute.name)
                option = LabelOption(
                    number, attribute.name, 1.0, is_number_here, is_boolean, is_day, is_optional, is_year
                )
                unit = unit_of(label_words(attribute.name))
                if unit and is_number(attribute.type):
                    self.measured.add(UNITS[unit].measures)
                for text in dict.fromkeys((attribute.name, attribute.label or attribute.name)):
                    words = label_words(text)
                    self._add(words, option)
                    is_noun = len(words) > 1 and words[-1] == unit and not is_participle(words[-2])  # not: used_kb
                    if is_day and len(words) == 2 and words[1] in _DATED and is_participle(words[0]):
                        self._add(words[:1], option)  # paid, of a paid_date as of paid_on
                    if unit and is_number(attribute.type) and is_noun:
                        self._add(words[:-1], option)  # the wavelength, of wavelength_nm

    def labelled(self, words: Sequence[str], *, is_group: bool = False) -> tuple[LabelOption, ...]:  # noqa: PLR0912
        """Return the labels with these words: with all of them and no others, else with these and others.

        ``is_group`` tells that something is grouped by them, which is rather an attribute: *by vet*, of vet visits.
        """
        content = [word for word in words if word not in FUNCTION_WORDS or word in _NAMES]
        if len(words) == 2 and words[0] in MEASURED and is_participle(words[1]):
            return self.labelled([words[1], words[0]])  # date placed, of an order_placed_date
        stems, share = self._stems(content)
        options: list[LabelOption] = []
        for label, option in (self._labels[at] for at in self._near(stems)):
            inside = {*words} - {*content} - _INSIDE
            is_plain = not inside or inside <= {*label_words(option.attribute or self.elements.types[option.type].name)}
            score = overlap(stems, label, is_plain)
            if score == DERIVED_LABEL and not option.is_number and is_participle(words[-1]):
                score = 0.0  # cars made in 1970: not the make
            if len(words) > 1 and score < WHOLE_LABEL and is_participle(words[-1]):
                score = 0.0  # orders shipped: not the order_shipping_charges
            if not option.attribute and score == 1 and len(words) == 1 and words[0].endswith("ed"):
                score = DERIVED_LABEL  # elected, of elections
            if score and score < WHOLE_LABEL and self._is_per(stems, option):
                score *= 1 - _PER  # words, of a rate_per_word
            if {*stems} < {*label} and all(one.isdigit() for one in {*label} - {*stems}):
                score = max(score, _SHORT)  # the electorate, of an electorate_2024
            if option.attribute == "key" and score < WHOLE_LABEL and not _KEYS.isdisjoint(label):
                score = 0.0  # counties: not the county_id
            if score:
                options.append(replace(option, score=share * score))
        if words[-1] in _NAMES | _KEYS and (len(words) == 1 or words[:-1] == ["full"]):
            attribute = "name" if words[-1] in _NAMES else "key"
            known = {option.type for option in options if option.score >= _SHORT and option.attribute}
            options += [LabelOption(n, attribute, 0.95) for n in range(len(self.elements.types)) if n not in known]
        if len(words) == 2 and words[1] in _KEYS | _KEY_WORDS and not any(o.score >= WHOLE_LABEL for o in options):
            named = self._labels_of_types(stems[:1])
            options = [LabelOption(kind, "key", WHOLE_LABEL) for kind in named] or options  # order number
        if len(words) == 1 and words[0] in _KEY_WORDS and options:
            options += [LabelOption(n, "key", _NUMBER) for n in range(len(self.elements.types))]
        options = options or self._of_class(words) or self._short(words)
        if len(words) > 2 and words[0] in CLASSES and words[1] == "of":
            options = self._classes_of(words[2:]) or options
        options = self._literal(words, [*options, *(self._births(options) if list(words) == ["born"] else ())])
        heads = {option.type: option for option in options if not option.attribute}
        same = [o for o in options if o.attribute and o.score == 1 and o.type in heads and len(stems) == 1]
        same = [o for o in same if not (o.is_boolean and is_participle(words[0]))]  # elected: as a column says
        same = [o for o in same if not (is_group and self._is_literal(words[0], o))]  # by inspector, of inspections
        for option in [o for o in same if not o.is_number or self._is_head(stems[0], o.type)]:
            options.remove(option)  # the makers, where car_maker has an attribute `maker`
            options.remove(heads[option.type])
            heads[option.type] = replace(heads[option.type], score=0.95)
            options.append(heads[option.type])
        seen: dict[tuple[int, str], LabelOption] = {}
        for option in sorted(options, key=lambda option: -option.score):
            seen.setdefault((option.type, option.attribute), option)
        options = list(seen.values())
        best = max((option.score for option in options), default=0.0)
        # A type also by its last word, beside an attribute of that name: the makers, of car_maker.
        kept = [o for o in options if o.score >= best - (0.15 if o.attribute else 0.3)]
        return tuple(sorted(kept, key=lambda option: -option.score))

    def _births(self, options: Sequence[LabelOption]) -> list[LabelOption]:
        """Return the dates and years of birth of types that have none among some options."""
        known = {option.type for option in options if option.is_year and option.score >= WHOLE_LABEL}
        yearly = self.elements.is_yearly
        named = ((label, one) for label, one in self._labels if one.is_year and yearly(one.type, one.attribute))
        found = (option for label, option in named if not _BIRTHS.isdisjoint(label))
        return [replace(option, score=WHOLE_LABEL) for option in found if option.type not in known]

    def _literal(self, words: Sequence[str], options: list[LabelOption]) -> list[LabelOption]:
        """Return the options; adopters are less likely for *adoptions*, what others are called, with the same stem."""
        said = [singular(word) for word in words]
        names = [label_words(option.attribute or self.elements.types[option.type].name) for option in options]
        same = [[singular(word) for word in name] == said for name in names]
        if not any(same):
            return options
        pairs = zip(options, same, strict=True)
        return [one if is_same else replace(one, score=min(one.score, DERIVED_LABEL)) for one, is_same in pairs]

    def _is_literal(self, word: str, option: LabelOption) -> bool:
        """Return whether a word is what an attribute is called, and only akin to what its type is called."""
        own = [singular(word)]
        node_type = self.elements.types[option.type]
        said = (*label_words(node_type.name)[-1:], *self._keyed_by(option.type, node_type))
        others = [singular(part) for part in said]  # vets, of vet visits
        return [singular(part) for part in label_words(option.attribute)] == own and own[0] not in others

    def _is_per(self, stems: Sequence[str], option: LabelOption) -> bool:
        """Return whether all words are what an attribute is counted by: *kilo*, of a price_per_kilo."""
        words = label_words(option.attribute)
        return "per" in words and {*stems} <= {*map(stem, words[words.index("per") :])}

    def _of_class(self, words: Sequence[str]) -> list[LabelOption]:
        """Return the labels that end with another noun for a kind: *blood type*, of a blood_group."""
        if len(words) < 2 or words[-1] not in CLASSES:
            return []
        others = (self.labelled([*words[:-1], other]) for other in _CLASS_NOUNS)
        return next(([*found] for found in others if found and found[0].score >= WHOLE_LABEL), [])

    def _is_head(self, one: str, kind: int) -> bool:
        """Return whether a stem is of the last word of the name of a type: of orders, but not casks of cask_order."""
        return [one] == [stem(word) for word in label_words(self.elements.types[kind].name)[-1:]]

    def initials(self, words: Sequence[str]) -> tuple[LabelOption, ...]:
        """Return the label that the initials of words are: MPG, of *miles per gallon*; AE, of *adverse events*."""
        short = "".join(word[0] for word in words)
        if len(words) < 2 or stem(short) not in self._with_stem:
            return ()
        if (len(words) == 2 and (short in NO_INITIALS or lemmas_of(short))) or _UNSHORTENED & {*words}:
            return ()
        is_pair = len(words) == 2
        return tuple(o for o in self.labelled([short]) if o.score == 1 and (is_pair or o.attribute))

    def similar(self, word: str) -> tuple[LabelOption, ...]:
        """Return the types and attributes whose labels are most similar to a word: those that it is a synonym of."""
        if word in TAKINGS and (amounts := takings(self.elements)):
            return amounts
        if not is_participle(word) and (found := self._synonymous(word)):
            return found
        elements = self.elements
        kind = elements.type_labels.similarity(word)
        label = elements.labels.similarity(word)
        options = [LabelOption(number, "", float(kind[number])) for number in range(len(elements.types))]
        for at in range(elements.hops, len(elements.all)):
            element = elements.all[at]
            if element.kind == VALUE:
                score = 0.0 if is_participle(word) else float(label[element.label])
                options.append(LabelOption(element.source, element.name, score, self._is_number(element)))
        relations = [float(label[e.label]) for e in elements.all[: elements.hops] if e.kind == HOP]
        options = [o for o in options if not is_other_unit(word, label_words(o.attribute))]  # hours: no minutes_spent
        best = max((option.score for option in options), default=0.0)
        if best < _LEAST or best < max(relations, default=0.0):
            return ()
        return tuple(replace(o, score=0.8 * o.score) for o in options if o.score >= best - 0.05)

    def _synonymous(self, word: str) -> tuple[LabelOption, ...]:
        """Return the type or attribute that a word is a synonym of; none if it is one of several labels."""
        found = self._synonyms.get(stem(singular(word)), {})
        best = max(found.values(), default=0.0)
        if not found:
            found = self._akin(singular(word))
            best = max(found.values(), default=0.0)
        near = [(self._labels[at], score) for at, score in found.items() if score >= best - 0.05]
        if len({label for (label, _), _ in near}) != 1:
            return ()
        options = {(o.type, o.attribute): replace(o, score=score) for (_, o), score in near}.values()
        is_done = word.endswith("ing") and any(o.is_boolean for o in options)  # selling: not accepts_marketing
        return () if is_done else tuple(options)

    def _add(self, words: Sequence[str], option: LabelOption) -> None:
        content = [word for word in words if word not in FUNCTION_WORDS or word in _NAMES] or list(words)
        stems = tuple(map(stem, content))
        self._written.update(zip(content, stems, strict=True))
        if option.is_boolean and words[-1] == "yn":
            self._of_flags.add(words[0])
        for one in dict.fromkeys(stems):
            self._with_stem.setdefault(one, []).append(len(self._labels))
        if option.attribute not in ("name", "key"):
            self._add_synonyms(
                singular(content[-1]), stems, are_people=not option.attribute and option.type in self.elements.people
            )
        self._labels.append((stems, option))

    def _akin(self, word: str) -> dict[int, float]:
        """Return the labels whose last word is of the same kind as a word, and similar: *town*, of cities."""
        general = {one for one, rank in related_words(word).general.items() if rank <= _SAME_KIND}
        heads = (head for head, kinds in self._heads.items() if general & kinds and cosine(word, head) >= _AKIN)
        return {at: _SYNONYM * share for head in heads for at, share in self._with_head[head]}

    def _add_synonyms(self, head: str, stems: tuple[str, ...], *, are_people: bool) -> None:
        """Note the synonyms of the last word of a label, and of a type of people the nouns that are more general."""
        known, share = related_words(head), overlap(stems[-1:], stems, True)
        self._heads[head] = {one for one, rank in known.general.items() if rank <= _SAME_KIND}
        self._with_head.setdefault(head, []).append((len(self._labels), share))
        for word, rank in {**(known.general if are_people else {}), **known.synonyms}.items():
            limits = (_FREQUENT, _RARE)
            if any(rank <= most and cosine(word, head) >= least for most, least in limits):
                of = self._synonyms.setdefault(stem(word), {})
                of[len(self._labels)] = _SYNONYM * share

    def _keyed_by(self, number: int, node_type: NodeType) -> list[str]:
        """Return what the key of a type says that its nodes are, in words: *customers*, of accounts with a ``custid``.

        None for a key that refers to another type.
        """
        name = _KEY_ENDING.sub("", node_type.key_label.casefold())
        hops = [self.elements.all[hop] for hop in self.elements.from_type(number).tolist()]
        is_plain = name == node_type.key_label.casefold()  # work orders, of a maintenance with a WorkOrder
        if not name or (is_plain and node_type.name_label) or any(hop.forward and hop.name == name for hop in hops):
            return []
        found = label_words(node_type.key_label if is_plain else name)
        return [] if len(found) > 2 or set(found) & {*label_words(node_type.name)} else found

    def _is_boolean(self, number: int, node_type: NodeType, attribute: Attribute) -> bool:
        """Return whether an attribute says yes or no: by its type, its values, or the name of a column of numbers."""
        if attribute.type == "VARCHAR":
            known = ColumnValues.of(self.elements.session.stores).distinct(node_type, attribute)
            said = {value.casefold() for value in known} if len(known) <= 4 else set()
            return bool(said & YES) and said <= YES | NO
        if attribute.type == "BOOLEAN" or not attribute.type.endswith(("INT", "INTEGER")):
            return attribute.type == "BOOLEAN"
        if attribute.name.casefold().startswith(("is_", "has_")):
            return True
        last = label_words(attribute.name)[-1:]
        is_plain = bool(last) and not last[0].endswith("s") and last[0] not in _NUMBERED
        return is_plain and node_type.count >= _LEAST_FLAGS and self.elements.has_flags(number, attribute.name)

    def _near(self, stems: tuple[str, ...]) -> list[int]:
        """Return the labels with one of some stems; for one stem also labels of one word that it is derived from."""
        near = {at for one in stems for at in self._with_stem.get(one, ())}
        if len(stems) == 1:
            if stems[0] not in self._derived_from:
                singles = ((at, label) for at, (label, _) in enumerate(self._labels) if len(label) == 1)
                self._derived_from[stems[0]] = [at for at, label in singles if related(stems[0], label[0])]
            near.update(self._derived_from[stems[0]])
        return sorted(near)

    def _stems(self, words: Sequence[str]) -> tuple[tuple[str, ...], float]:
        """Return the stems of words as labels have them, and the share of the score that abbreviations leave."""
        stems = tuple(map(stem, words))
        found = [
            one if one in self._with_stem else self._short_stem(word) or one
            for word, one in zip(words, stems, strict=True)
        ]
        return tuple(found), 1.0 if tuple(found) == stems else _SHORT

    def _short_stem(self, word: str) -> str:
        """Return the stem of the only word of labels that a word is abbreviated to: *trial*, of ``trl_no``."""
        if word not in self._abbreviated:
            found = self._written.get(shortened(word, self._written), "")
            if not found:  # discontinued, of disc_yn
                begun = [short for short in self._of_flags if len(short) >= _LEAST_START and word.startswith(short)]
                found = stem(begun[0]) if len(begun) == 1 and len(word) > len(begun[0]) + 2 else ""
            self._abbreviated[word] = found
        return self._abbreviated[word]

    def _is_number(self, element: Element) -> bool:
        attributes = self.elements.types[element.source].attributes
        return any(a.name == element.name and numeric(a.type) for a in attributes)

    def _labels_of_types(self, stems: tuple[str, ...]) -> list[int]:
        """Return the types that are called so."""
        return [option.type for label, option in self._labels if not option.attribute and label == stems]

    def _classes_of(self, words: Sequence[str]) -> list[LabelOption]:
        """Return the attributes that say which kinds there are of what words name: *kinds of beds*, a bed_type."""
        stems = {*map(stem, words)}
        found = [
            (option, len(label))
            for label, option in self._labels
            if option.attribute and stems < {*label} and {*label} & _CLASS_STEMS
        ]
        if not found:  # types of products, which have a category
            kinds = self._labels_of_types(tuple(map(stem, words)))
            own = [(o, 1) for label, o in self._labels if o.attribute and o.type in kinds and {*label} & _CLASS_STEMS]
            found = own if len({o.attribute for o, _ in own}) == 1 else []
        least = min((size for _, size in found), default=0)
        return [replace(option, score=WHOLE_LABEL) for option, size in found if size == least]

    def _short(self, words: Sequence[str]) -> list[LabelOption]:
        """Return the type that *people* must mean, or that a word begins: *repos*, of repositories."""
        if len(words) != 1:
            return []
        [word] = words
        if word in _PEOPLE:
            return [LabelOption(kind, "", _ONLY) for kind in self.elements.people] * (len(self.elements.people) == 1)
        start = word.removesuffix("s")
        if len(start) < _LEAST_START:
            return self._initial(word)
        names = [label_words(node_type.name) for node_type in self.elements.types]
        begun = [kind for kind, name in enumerate(names) if len(name) == 1 and name[0].startswith(start)]
        return [LabelOption(begun[0], "", _ONLY)] if len(begun) == 1 else self._initial(word)

    def _initial(self, word: str) -> list[LabelOption]:
        """Return the only text attribute of two letters that a word begins with: *phase*, of ``ph``."""
        shorts = {word[0] + letter for letter in word[1:] if letter not in "aeiouy"} & self._with_stem.keys()
        if len(word) < _LEAST_START or len(shorts) != 1 or is_participle(word):
            return []
        labels = (self._labels[at] for at in self._with_stem[shorts.pop()])
        found = [option for label, option in labels if len(label) == 1]
        is_one = len(found) == 1 and found[0].attribute and not found[0].is_number
        return [replace(found[0], score=_INITIAL)] if is_one else []
