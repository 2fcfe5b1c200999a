"""Link the words of a question to what a KB has: types, attributes, relations, values, nodes and numbers.

A link covers a span of tokens; the longest links win. What a span means is decided later, among its options, by what
stands beside it and by how far it is from what is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from kbkit.english.genres import genres_of
from kbkit.english.question_words import (
    COMPARATIVES,
    EXTREMES,
    FREQUENT,
    FUNCTION_WORDS,
    MONEY,
    ORDINALS,
    SUPERLATIVES,
    TAKING,
    TOTALS,
)
from kbkit.english.stems import PEOPLES
from kbkit.english.thesaurus import related_words
from kbkit.english.words import PREPOSITIONS, is_plural, lemmas_of, may_be_verb, singular
from kbkit.questions.compound_links import compounds
from kbkit.questions.directions import ACTIVE, voice
from kbkit.questions.elements import Elements
from kbkit.questions.label_lookup import WHOLE_LABEL, LabelLookup
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import LITERAL, label_words, stem
from kbkit.questions.link_words import bases, denied_root, is_misspelled, is_of_people, is_participle, link_number
from kbkit.questions.mentions import MAX_NODES, Mention
from kbkit.questions.number_labels import similar_number
from kbkit.questions.partial_links import PartialLinks
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.thing_nouns import compound_type, is_thing, type_with
from kbkit.questions.units import UNITS, MeasuringUnit, unit_of
from kbkit.questions.values import AttributeValue, AttributeValues
from kbkit.stores.folding import words as folded_words

MAX_LABEL = 5
"""Limit on the words of a label."""
_MEASURING = frozenset([*TOTALS, *EXTREMES])
"""Words after which a number is meant."""
_NAMES = frozenset(["name", "names", "title", "titles"])
_UNNAMED = (FUNCTION_WORDS | {"per"}) - _NAMES
"""Words that neither begin nor end a link."""
_COUNTED = (["most"], ["fewest"], ["many"], ["more"], ["fewer"])
_BEFORE_NOUNS = ("per", "each", "every", "which", "what", "the", "a", "an", "one", "this", "by")
"""Words after which a noun stands."""
_DETERMINERS = frozenset("all any both each either every".split())  # noqa: SIM905
_ADVERBS = frozenset("yet still already again ever never currently now".split())  # noqa: SIM905
"""Words that are no labels, however similar they are to one."""
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'(?!\w)|\u201c([^\u201d]+)\u201d|\u2018([^\u2019]+)\u2019")
_DIGITS = re.compile(r"\d")
_SIGN = re.compile(r"[-+#*\u2212]+(?!\w)")
"""Signs that end a value."""
_NO_UNIT = MeasuringUnit("", Decimal(1))
_OF_PEOPLES = ("an", "ese", "ish")
"""Endings of the words for peoples that are also read in lower case."""
_IN_USE = frozenset(("in use", "in service", "in operation", "operational"))
"""Phrases for what is used."""
_ACTIVE = ("active", "operational", "in use", "in service", "in operation", "working")
"""Names of columns that say whether something is used."""
_SPANS = frozenset("decade decades century centuries".split())  # noqa: SIM905
"""Spans of time that no attribute is."""
_ROLE = 0.9
"""Score of a type of people that a noun says by what they do: directors, of people who directed."""
_PART_OF_LABEL = 0.7
"""Score of a label below which a word is only its first part."""
_MAX_INITIALS = 4
"""Letters of an abbreviation up to which it may be the initials of a value."""
_CLASS = 2
"""Values that begin with the same word from which it stands for all of them."""
_MAX_SHORT = 3
"""Letters up to which a value is only meant if it is written in the same case."""


@dataclass
class Linker:
    """Links the words of questions about one KB."""

    elements: Elements
    values: AttributeValues

    def __post_init__(self) -> None:
        self._labels, self._partial = LabelLookup(self.elements), PartialLinks(self.elements, self.values)
        schema = self.elements.session.schema
        words = (label_words(attribute.name) for relation in schema.relations for attribute in relation.attributes)
        plain = (label[:-1] if len(label) > 1 and unit_of(label) else label for label in words)
        self._of_edges = {stem(label[0]) for label in plain if len(label) == 1}
        """The stems of attributes of edges, which no expression has."""

    def links(self, question: Question, mentions: Sequence[Mention]) -> list[QuestionLink]:
        """Return the links of a question from left to right; they do not overlap."""
        tokens, taken = question.tokens, [False] * len(question.tokens)
        found: list[QuestionLink] = []

        def take(link: QuestionLink) -> None:
            found.append(link)
            taken[link.first : link.last] = [True] * (link.last - link.first)

        for link in self._quoted(question, mentions):
            if not any(taken[link.first : link.last]):
                take(link)
        for link in self._first_and_last(question):
            if not any(taken[link.first : link.last]):
                take(link)
        sure = (m for m in mentions if m.how in ("exact", "derived") or (m.how == "stemmed" and m.last - m.first > 1))
        named = {(m.first, m.last): m.nodes for m in sure}
        misspelled = {at for mention in filter(is_misspelled, mentions) for at in mention.tokens}
        longest = max([MAX_LABEL, *(last - first for first, last in named)])
        for size in range(min(longest, len(tokens)), 0, -1):
            for first in range(len(tokens) - size + 1):
                span = range(first, first + size)
                if not any(taken[first : first + size]):
                    derives = first not in misspelled
                    found_here = self._linked(question, span, named.get((first, first + size), ()), derives)
                    if found_here is not None:
                        take(found_here)
        for mention in filter(is_misspelled, mentions):
            if not any(taken[mention.first : mention.last]):
                take(QuestionLink(mention.first, mention.last, mention.text, nodes=mention.nodes))
        for further in (self._partial.by_part, self._by_similarity, self._partial.by_words):
            for link in further(question, taken, found):
                take(link)
        found = [self._class_of(link, found) for link in found]
        of = self.elements.type_number
        typed = [replace(one, node_types=frozenset(map(of, one.nodes))) if one.nodes else one for one in found]
        return self._keyed(compounds(question, sorted(typed, key=lambda link: link.first)))

    def _class_of(self, link: QuestionLink, links: Sequence[QuestionLink]) -> QuestionLink:
        """Return a link of the values that begin with a participle before a type: *closed deals*, ``Closed won``."""
        is_said = bool(link.labels) and is_participle(link.text) and not link.labels[0].is_boolean and not link.values
        if not is_said or not any(one.first == link.last and one.types() for one in links):
            return link
        kinds = {option.type for one in links if one.first == link.last for option in one.types()}
        held = self.values.holding([link.text.casefold()])
        if len(held) < _CLASS or {value.type for value in held} - kinds:
            return link
        return replace(link, labels=(), values=held, is_partial=True)

    def _first_and_last(self, question: Question) -> Iterator[QuestionLink]:
        """Yield links for ``first and last name``."""
        for at in range(len(question.tokens) - 3):
            words = [token.word for token in question.tokens[at : at + 4]]
            if words[1] == "and" and words[3] in _NAMES:
                pair = [self._labels.labelled([words[0], "name"]), self._labels.labelled([words[2], "name"])]
                if all(labels and labels[0].score > 0.6 for labels in pair):
                    yield QuestionLink(at, at + 1, words[0], pair[0])
                    yield QuestionLink(at + 2, at + 4, words[2], pair[1])

    def _by_similarity(
        self, question: Question, taken: list[bool], found: list[QuestionLink]
    ) -> Iterator[QuestionLink]:
        """Yield links for words that are left, and that are similar to a label."""
        tokens = question.tokens
        for at, token in enumerate(tokens):
            is_verb = any(earlier.word in ("do", "does", "did") for earlier in tokens[:at])  # how many did it play
            follows = any(link.last == at and link.types() for link in found)  # the customers pay
            is_verb = is_verb or (follows and may_be_verb(token.word))
            is_operator = (
                at in question.operators | question.in_labels
                or token.word in COMPARATIVES
                or token.word in SUPERLATIVES
            )
            is_operator |= stem(token.word) in self._of_edges  # quantity, which is no unit_price
            is_operator |= token.word in MONEY and at > 0 and tokens[at - 1].word[:1].isdigit()
            is_operator |= token.word == "about" and at + 1 < len(
                tokens
            )  # complaints about noise, but: what is it about
            is_operator |= self._is_act(question, at)
            is_operator |= token.word in ("part", "place") and at > 0 and tokens[at - 1].word in TAKING
            is_operator |= token.word in _SPANS  # per decade: not per year
            following = tokens[at + 1].word if at + 1 < len(tokens) else ""
            is_operator |= token.word in ORDINALS and following in SUPERLATIVES  # the second longest: no time
            is_operator |= token.word in PREPOSITIONS | TAKING | {"than", "more", "less", "fewer"}
            is_operator |= token.word in _ADVERBS
            is_operator |= token.word in _DETERMINERS or bool(related_words(token.word).places)  # German: no attribute
            if not taken[at] and not is_verb and token.word not in FUNCTION_WORDS | {"per"} and not is_operator:
                options = self._labels.similar(token.word)
                is_said = is_participle(token.word) and any(link.first == at + 1 and link.types() for link in found)
                if not options and at > 0 and tokens[at - 1].word in _MEASURING and not is_said:
                    options = similar_number(self.elements, token.word)
                if options:
                    yield QuestionLink(at, at + 1, token.word, options)

    def _keyed(self, links: list[QuestionLink]) -> list[QuestionLink]:
        """Return the links with nodes for numbers that are keys of the type before them: *event 80*."""
        types, nodes = self.elements.types, self.elements.session.stores.nodes
        result: list[QuestionLink] = []
        for link in links:
            before = result[-1] if result else None
            is_next = before is not None and before.last == link.first and not _is_several(before.text.casefold())
            if (
                link.number.isdigit()
                and before is not None
                and is_next
                and before.labels
                and not before.labels[0].attribute
            ):
                kind = before.labels[0].type
                [found] = nodes.by_key(types[kind].name, [link.number])
                [called] = nodes.by_name(types[kind].name, [link.number])
                texts = tuple(v for v in self.values.named([link.number]) if v.type == kind)
                if texts and not (found or called):  # account 338, of an account_name
                    result.append(replace(link, number="", values=texts))
                    continue
                if found or called:
                    ids = (found[0].id,) if found else tuple(row.id for row in called[:5])
                    node = replace(link, number="", nodes=ids, node_types=frozenset((kind,)))
                    result.append(node)
                    continue
            result.append(link)
        return result

    def _quoted(self, question: Question, mentions: Sequence[Mention]) -> Iterable[QuestionLink]:
        for match in _QUOTED.finditer(question.text):
            inside = [at for at, token in enumerate(question.tokens) if match.start() < token.start < match.end()]
            is_of_name = any({*inside} < {*m.tokens} for m in mentions if m.same_case)  # Rock 'n' Roll
            if inside and not is_of_name:
                first, last = inside[0], inside[-1] + 1
                text = next(group for group in match.groups() if group)
                words = [question.tokens[at].word for at in inside]
                nodes = tuple(self.elements.session.stores.nodes.named(text).tolist()[:5])
                yield QuestionLink(first, last, text, (), tuple(self.values.named(words)), nodes, is_quoted=True)

    def _linked(self, question: Question, span: range, nodes: tuple[int, ...], derives: bool) -> QuestionLink | None:  # noqa: PLR0911, PLR0912
        """Return the link of a span, if it is a number, a label, a value or a name as a whole."""
        words = [question.tokens[at].word for at in span]
        start, end = question.tokens[span[0]].start, question.tokens[span[-1]].end
        text = question.text[start:end]
        before = question.text[:start].split()[-1:]
        if len(words) == 1 and words[0] in MONEY and before and _DIGITS.search(before[0]):
            return None  # 30 euros, where a column is in EUR
        if number := self._number(span, words, text):
            return number
        is_operator = len(words) == 1 and span[0] in question.operators | question.in_labels
        is_operator |= words in (["first"], ["last"]) and span[-1] + 1 == len(question.tokens)  # cheapest first
        if not is_operator and (signed := self._signed(question, span)):
            return signed
        letters = text.replace("&", "").replace(".", "")
        is_short = letters.isupper() and 1 < len(letters) <= _MAX_INITIALS and not question.text.isupper()
        if is_short and not nodes and not self.values.named(words) and (values := self.values.initials(letters)):
            return QuestionLink(span[0], span[-1] + 1, text, (), values)  # R&D
        is_phrase = len(words) > 1 and (words[0] in _UNNAMED or words[-1] in _UNNAMED)
        states = tuple(self.values.states(words)) if is_phrase else ()
        if states:  # to do, on loan, in progress
            return QuestionLink(span[0], span[-1] + 1, text, (), states)
        if " ".join(words) in _IN_USE and (flags := self._flags(_ACTIVE)):
            return QuestionLink(span[0], span[-1] + 1, text, flags)
        if len(words) == 1 and words[0] in _UNNAMED and (column := self._partial.plain_column(question, span[0])):
            return QuestionLink(span[0], span[-1] + 1, text, column)
        is_operator |= len(words) == 1 and words[0] in FREQUENT and before in (["most"], ["least"])
        if len(words) == 1 and words[0] in _UNNAMED and (kinds := self._called_plainly(words[0], before)):
            return QuestionLink(span[0], span[-1] + 1, text, kinds)
        if is_operator or {words[0], words[-1]} & _UNNAMED:
            is_name = bool(nodes) and text != text.lower() and not is_operator
            return QuestionLink(span[0], span[-1] + 1, text, nodes=nodes) if is_name else None
        if words[-1:] == ["no"] and [one.word for one in question.tokens[span[-1] + 1 :][:1]] == ["longer"]:
            return None  # statutes no longer in force
        labels = self._labels.labelled(words, is_group=before in (["by"], ["per"], ["each"], ["every"]))
        if words == ["people"] and (not labels or labels[0].score < WHOLE_LABEL) and _selects(question, span[-1] + 1):
            kinds = tuple(map(LabelOption, self.elements.people))
            return QuestionLink(span[0], span[-1] + 1, text, kinds) if len(kinds) == 1 else None
        labels = self._with_parts(words, labels)
        if len(words) == 1 and not (labels and labels[0].score >= WHOLE_LABEL) and is_thing(question, span[0]):
            labels = compound_type(self.elements, words[0]) or type_with(words[0], labels) or labels
        is_part = bool(labels) and labels[0].score < _PART_OF_LABEL and all(one.attribute for one in labels)
        if len(words) == 1 and is_part and self._is_called(words[0]):
            labels = ()  # based in Leeds, of a relation called base, and not the base_fare
        values = self._values_of(question, words, text)
        is_name = bool(nodes or values) and text != text.lower() and not question.text.isupper() and span[0] > 0
        following = question.tokens[span[-1] + 1].word if span[-1] + 1 < len(question.tokens) else ""
        describes = bool(following) and bool(self.elements.types_called(stem(following)))
        if labels and self._is_state(words, labels[0], values, before, describes=describes):
            return QuestionLink(span[0], span[-1] + 1, text, (), values, nodes)
        if len(words) == 1 and labels and labels[0].score < WHOLE_LABEL and self._is_act(question, span[0]):
            return None  # cite, where papers have citations: a number, and relations
        if labels and not (is_name and labels[0].score < 1):
            return QuestionLink(span[0], span[-1] + 1, text, labels, values, nodes)
        is_counted = before in _COUNTED
        if len(words) == 1 and text.islower() and (role := self._role(words[0], is_noun=is_counted)):
            kind = LabelOption(self.elements.all[role[0]].target, "", _ROLE)
            return QuestionLink(span[0], span[-1] + 1, text, (kind,), role=role)
        if len(words) == 1 and text.islower() and self._is_relation(words[0]):
            return None  # directed, though a film has that name
        if not values and not nodes and len(words) == 1 and derives:
            values, nodes = self._derived(text, is_first=span[0] == 0)
        elif len(words) == 1 and not values and _describes(question, span[0]):  # Japanese films: also of Japan
            nodes = tuple(dict.fromkeys((*nodes, *self._derived(text, is_first=span[0] == 0)[1])))[:MAX_NODES]
        if values or nodes:
            return QuestionLink(span[0], span[-1] + 1, text, (), values, nodes)
        return None

    def _called_plainly(self, word: str, before: Sequence[str]) -> tuple[LabelOption, ...]:
        """Return the type that a word which mostly says little is the name of: *takings per show*."""
        is_noun = bool(before) and before[0].casefold() in _BEFORE_NOUNS
        return tuple(map(LabelOption, self.elements.types_called(stem(word)))) if is_noun else ()

    def _values_of(self, question: Question, words: list[str], text: str) -> tuple[AttributeValue, ...]:
        """Return the values that a text is, in the same case if it is short."""
        is_signed = not text.replace(" ", "").isalnum()
        values = tuple(self.values.named(folded_words(text).split() if is_signed else words))
        if len(text) > _MAX_SHORT or (len(text) == _MAX_SHORT and lemmas_of(text.casefold())):
            return values
        is_short = text.isupper() and not question.text.isupper()  # UK, of the United Kingdom
        return tuple(v for v in values if v.value == text or (is_short and len(v.value) > len(text)))

    def _with_parts(self, words: list[str], labels: tuple[LabelOption, ...]) -> tuple[LabelOption, ...]:
        """Return the labels of words, or else those that their initials or one word of a label call."""
        if words == ["people"] and not labels and not self.elements.people:
            labels = self._labels.labelled(["population"])
        if not labels and len(words) <= MAX_LABEL and not {*words} & _DETERMINERS:
            labels = self._labels.initials(words)
        return self._of_word(words[0], labels) if len(words) == 1 and (not labels or labels[0].score < 1) else labels

    def _number(self, span: range, words: list[str], text: str) -> QuestionLink | None:
        """Return the link of a number, with its unit if some attribute is measured in such units."""
        unit = words[-1] if len(words) == 2 and UNITS.get(words[-1], _NO_UNIT).measures in self._labels.measured else ""
        number = link_number(words[:1] if unit else words, text.split(maxsplit=1)[0] if unit else text)
        return QuestionLink(span[0], span[-1] + 1, text, number=number, unit=unit) if number else None

    def _of_word(self, word: str, labels: tuple[LabelOption, ...]) -> tuple[LabelOption, ...]:
        """Return the labels of a word of which none is all: also of what it denies, and none if edges have it."""
        if labels and labels[0].score < WHOLE_LABEL and stem(word) in self._of_edges:
            return ()  # fines, of citations that have a fine: not the base_fine of their codes
        denied = self._labels.labelled([root]) if (root := denied_root(word)) else ()
        is_denied = bool(denied) and (denied[0].is_boolean or (denied[0].is_optional and is_participle(root)))
        return denied if is_denied else labels  # unpaid, inactive, of paid, active, or of paid_on

    def _flags(self, names: Iterable[str]) -> tuple[LabelOption, ...]:
        """Return the only column that says yes or no and has one of some names."""
        found = [option for name in names for option in self._labels.labelled(name.split()) if option.is_boolean]
        return tuple(found) if len(found) == 1 and found[0].score == 1 else ()

    def _signed(self, question: Question, span: range) -> QuestionLink | None:
        """Return the link of a value that ends with a sign, if the span and the sign after it are one: AB+, C++."""
        start, end = question.tokens[span[0]].start, question.tokens[span[-1]].end
        sign = _SIGN.match(question.text, end)
        if sign is None:
            return None
        text = question.text[start : sign.end()]
        words = [question.tokens[at].word for at in span]
        values = tuple(value for value in self.values.named(words) if value.value.casefold() == text.casefold())
        return QuestionLink(span[0], span[-1] + 1, text, (), values) if values else None

    def _is_state(
        self,
        words: Sequence[str],
        label: LabelOption,
        values: Sequence[AttributeValue],
        before: Sequence[str],
        *,
        describes: bool,
    ) -> bool:
        """Return whether a word is exactly a value, and only akin to a label: open, where a column is *opened_at*."""
        name = label.attribute or self.elements.types[label.type].name
        is_exact = len(words) == 1 and any(value.value.casefold() == words[0] for value in values)
        is_value = before in (["a"], ["an"], ["by"]) or describes
        if is_exact and label.attribute and label.score < _PART_OF_LABEL and is_value:
            return True  # with a car, where another column is a car_capacity; state agencies, which have a state_code
        return is_exact and words[0] not in label_words(name) and f"{words[0]}s" not in label_words(name)

    def _role(self, word: str, *, is_noun: bool = False) -> tuple[int, ...]:
        """Return the hops to the nodes of one type that a noun names by a relation: *directors*, *capitals*.

        ``is_noun`` tells that it is no verb: *the most targets*.
        """
        people = self.elements.people_called(word)
        if not people and self.elements.type_labels.similarity(word).max(initial=0.0) >= LITERAL:
            return ()  # cars, which are vehicles
        hops = [self.elements.all[hop] for hop in self.elements.role_hops(word)]
        if not people and (hops and "NOUN" in lemmas_of(singular(word)) and (is_noun or not may_be_verb(word))):
            ends = (hop for hop in hops if hop.forward and not is_plural(label_words(hop.name)[-1]))
            people = {hop.target for hop in ends}  # capitals; but flights are no airports
        if len(people) != 1:
            return ()
        found = [hop for hop in self.elements.role_hops(word) if self.elements.all[hop].target in people]
        is_boss = all(self.elements.all[hop].source in people & self.elements.people for hop in found)
        return () if is_boss else tuple(found)  # bosses: see acts

    def _is_act(self, question: Question, at: int) -> bool:
        """Return whether a word is a verb in the active that a relation between nodes of one type is called by."""
        elements = self.elements
        similar = elements.labels.similarity(question.tokens[at].word)
        hops = (one for one in elements.all[: elements.hops] if one.source == one.target)
        return (
            any(similar[one.label] >= LITERAL for one in hops)
            and voice([token.word for token in question.tokens], at) == ACTIVE
        )

    def _is_called(self, word: str) -> bool:
        """Return whether a word is all that a relation is called, or its participle."""
        called = (label_words(one.name) for one in self.elements.all[: self.elements.hops])
        return any([stem(word)] == [*map(stem, words)] for words in called)

    def _is_relation(self, word: str) -> bool:
        """Return whether a word is the label of a relation."""
        elements = self.elements
        similar, least = elements.labels.similarity(word), LITERAL if may_be_verb(word) else 1.0
        return any(similar[element.label] >= least for element in elements.all[: elements.hops])

    def _derived(self, text: str, *, is_first: bool) -> tuple[tuple[AttributeValue, ...], tuple[int, ...]]:
        """Return the values and nodes that an adjective is derived from: ``European``, of Europe."""
        for genre in (one for one in genres_of(text) if one != text):
            if of_genre := self.elements.session.stores.nodes.named(genre).tolist():
                return tuple(self.values.named([genre])), tuple(of_genre[:MAX_NODES])
        if text[:1].islower():
            if text not in PEOPLES and not text.endswith((*_OF_PEOPLES, "ist", "ists")):
                return (), ()
            text, is_first = text.capitalize(), text not in PEOPLES and not text.endswith("an")
        places = related_words(text.lower()).places
        for base in (*bases(text, is_first=is_first), *places):
            values = tuple(self.values.named(base.lower().split()))
            nodes = tuple(self.elements.session.stores.nodes.named(base).tolist()[:5])
            if values or nodes:
                return values, nodes
        return (), ()


def _is_several(word: str) -> bool:
    """Return whether a noun is a plural that differs from its singular: *events*, but not *series*."""
    return word.endswith("s") and word not in ("series", "species", "news") and singular(word) != word


def _describes(question: Question, at: int) -> bool:
    """Return whether a word for a people stands before another word, as an adjective does, and not after *in*."""
    word, before = question.tokens[at].word, question.tokens[at - 1].word if at else ""
    after = question.tokens[at + 1].word if at + 1 < len(question.tokens) else ""
    return is_of_people(word) and before != "in" and bool(after) and after not in FUNCTION_WORDS


def _selects(question: Question, at: int) -> bool:
    """Return whether a word follows that says which people are meant: *people without a car*."""
    words = [token.word for token in question.tokens[at : at + 1]]
    return bool(words) and words[0] in ("who", "whose", "with", "without", "that", "on", "in", "from", "at")
