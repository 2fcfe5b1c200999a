"""What speaks against a reading along a chain of relations, though it explains the words of the question somehow.

An answer that is not right is worse than none: a chain of another type than the one that is asked for, or one that a
word is only similar to, is not trusted.
"""

from __future__ import annotations

import re

from kbkit.answers.answer_set import AnswerSet
from kbkit.english.question_words import ADJECTIVES, FUNCTION_WORDS
from kbkit.english.words import may_be_person, may_be_verb, singular
from kbkit.questions.chain_reading import COMPARISONS
from kbkit.questions.element_lists import COMPARED_NEIGHBOURS, HOP, MOST_NEIGHBOURS, VALUE, Element, numeric
from kbkit.questions.expressions import expression, type_of_value
from kbkit.questions.lexicon import FAINT, LITERAL, label_words, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.relation_doubts import RelationDoubts
from kbkit.questions.scoring import WEIGHTS

TELLING = 0.7
"""Least similarity of a word and the attribute that a reading ends with."""
_CLEARER = 0.1
"""How much better words say one of several dates than the others, at least."""
_LOOKED_AT = 20
"""Nodes whose names are looked at."""
_GENERAL = frozenset("amount code count date dates day days kind month name names number total type year years".split())  # noqa: SIM905
"""Words of labels that say little about which attribute is meant."""
WHEN = FUNCTION_WORDS | {"when"}
"""Words that say that a date is asked for, but not which."""
ASKED = 0.4
"""Least fit of an attribute and what the question asks for."""


class ChainDoubts(RelationDoubts):
    """The doubts about a reading."""

    @property
    def not_read(self) -> list[str]:
        """The words that the reading does not express, and *what is asked for* if it is something else."""
        found = ["a condition that all meet"] * self.keeps_all + self.asked_before_type + self.roles
        found += self.other_types + self.other_labels + self.vague + self.modifiers
        is_other = self.is_off_topic or self.starts_unnamed or self.ends_with_rows or self.ends_with_years
        is_other |= self.is_of_neighbours
        found += self.of_relations
        return found + ["what is asked for"] * (is_other or self.is_other_kind or self.counts_others)

    @property
    def other_labels(self) -> list[str]:
        """The words of a relation that the expression only has something similar for: *directed*, beside written by."""
        labels = self.elements.label[: self.elements.hops]
        explained = self.chain.scored.explained[self.chain.row].tolist()
        words = (self.question.tokens[at].word for at in self.chain.scored.words)
        pairs = [(word, value) for word, value in zip(words, explained, strict=True) if value < TELLING]
        similar = self.elements.labels.similarity
        return [f"'{word}'" for word, _ in pairs if similar(word)[labels].max(initial=0.0) >= LITERAL]

    @property
    def other_types(self) -> list[str]:
        """The words that name a type which the expression has nothing to do with."""
        if not self.elements.typed:
            return []
        touched = {topic.type for topic in self.chain.topics}
        touched |= {number for arm in self.chain.arms for one in arm for number in (one.source, one.target)}
        touched |= {self.elements.all[one.hop].target for arm in self.chain.arms for one in arm if one.hop >= 0}
        named = {at for topic in self.chain.topics for at in topic.words}
        found = []
        for at in self.question.content(named):
            word = self.question.tokens[at].word
            exact = self.elements.types_called(stem(word))
            found += [f"'{word}'"] * bool(exact and not touched & exact)
        return found

    @property
    def starts_unnamed(self) -> bool:
        """Whether it comes from a type that no word names to one that a word names: *services*, of any events."""
        if not self.elements.typed or self.chain.selects:
            return False
        stems = [stem(self.question.tokens[at].word) for at in self.question.content(set())]
        called = set().union(*(self.elements.types_called(one) for one in stems))
        firsts = [(topic, arm[0]) for topic, arm in self._arms if arm and not topic.words]
        return any(one.kind == HOP and one.target in called and one.source not in called for _, one in firsts)

    @property
    def is_off_topic(self) -> bool:
        """Whether it ends with an attribute that is hardly what the question asks for: a code, where actors are."""
        values = [arm[-1] for arm in self.chain.arms if arm and arm[-1].kind == VALUE]
        asks_who = any(token.word in ("who", "whom") for token in self.question.tokens[:1])
        if asks_who and any(numeric(type_of_value(self.elements, value)) for value in values):
            return True  # no person is a number
        if asks_who and values and min(map(self._said, values)) >= LITERAL:
            return False  # who directed it, where films have a director
        if values and self.question.asked is None and max(map(self._said, values)) < TELLING:
            return True  # scores, where there are grades
        return self.chain.ends_with_attribute and float(self.chain.features[list(WEIGHTS).index("answer")]) < ASKED

    @property
    def _values(self) -> list[tuple[Element, int, bool]]:
        """The attributes that it ends with, the positions of the words for them (-1: none), if a hop leads there."""
        chain = self.chain
        row, slots = chain.frame.elements[chain.row].tolist(), chain.scored.slots[chain.row].tolist()
        known = [(self.elements.all[at], slot) for at, slot in zip(row, slots, strict=False) if at >= 0]
        is_beyond, words = any(one.kind == HOP for one, _ in known), [*chain.scored.words, -1]
        return [(one, words[slot], is_beyond) for one, slot in known if one.kind == VALUE]

    @property
    def roles(self) -> list[str]:
        """The nouns for types after *as*, which say a role that it does not express: *took part as climber*."""
        found = re.findall(r"(?<!as well )\bas (?:an? )?([a-z]+)", self.question.text)
        named = {self.question.tokens[at].word for at in self._names}
        return [f"'as {word}'" for word in found if word not in named and self._is_type(word)]

    @property
    def asked_before_type(self) -> list[str]:
        """The words for what it answers with that stand before the noun for the nodes: *which living authors*."""
        words = [token.word for token in self.question.tokens]
        return [
            f"'{words[at]}'"
            for value, at, _ in self._values
            if self.elements.typed
            and words[at - 1 : at] in (["which"], ["what"])
            and value.source in self.elements.types_called(stem("".join(words[at + 1 : at + 2])))
        ]

    @property
    def is_of_neighbours(self) -> bool:
        """Whether it answers with an attribute of neighbours of which only a general word is said: *in what year was it
        described*, with the year when who described it was born.
        """
        said = {stem(token.word) for token in self.question.tokens}
        for value, _, is_beyond in self._values if self.elements.typed else ():
            label = [word for word in label_words(value.name) if word not in FUNCTION_WORDS]
            special = {stem(word) for word in label if word not in _GENERAL}
            is_part = bool(special) and len(special) < len(label) and not special & said
            if is_beyond and is_part and self._said(value, _GENERAL) < FAINT:
                return True
        return False

    @property
    def is_any_date(self) -> bool:
        """Whether it answers *when* with one of several dates of the same nodes, and no word says which."""
        values = [arm[-1] for arm in self.chain.arms if arm and arm[-1].kind == VALUE]
        if not values or all(token.word != "when" for token in self.question.tokens):
            return False
        elements = self.elements
        others = [
            one
            for one in elements.all
            if one.kind == VALUE and one.source == values[0].source and elements.is_yearly(one.source, one.name)
        ]
        rivals = [self._said(one, WHEN) for one in others if one.name != values[0].name]
        return bool(rivals) and self._said(values[0], WHEN) < max(rivals) + _CLEARER

    def _said(self, value: Element, without: frozenset[str] = frozenset()) -> float:
        """Return how similar the best word of the question is to the label of an attribute."""
        question = self.question
        named = self._names
        words = [t.word for at, t in enumerate(question.tokens) if at not in named and t.word not in without]
        similar = (self.elements.labels.similarity(word)[value.label] for word in words)
        return max(map(float, similar), default=0.0)

    @property
    def ends_with_things(self) -> bool:
        """Whether it answers with nodes that are no people, though the KB has types of people."""
        is_typed = self.elements.typed and not self.chain.ends_with_attribute
        return is_typed and bool(self.elements.people) and not self.ends_with_people

    @property
    def ends_with_people(self) -> bool:
        """Whether it answers with nodes of a type of people."""
        arms = zip(self.chain.topics, self.chain.arms, strict=True)
        return bool(self.elements.people & {arm[-1].target if arm else topic.type for topic, arm in arms})

    @property
    def vague(self) -> list[str]:
        """The words that are only similar to what the KB has: rodents, to mammals; a soundtrack, to genres."""
        elements, named = (
            self.elements,
            self._names,
        )
        found = []
        for at in self.question.content(named):
            word = self.question.tokens[at].word
            is_noun = elements.typed and word.endswith("s") and not word.endswith("ss") and not may_be_verb(word)
            best = self._likeness(at)
            found += [f"'{word}'"] * (best < (TELLING if is_noun else FAINT * (at in self._faint)))
        return found

    @property
    def _faint(self) -> set[int]:
        """The positions of words that express a relation faintly, though nodes of both types are related in other ways,
        or that also express the type that it reaches, and no better.
        """
        elements, frame = self.elements, self.chain.frame
        row, slots = frame.elements[self.chain.row].tolist(), self.chain.scored.slots[self.chain.row].tolist()
        found, plain = set(), set()
        for of_label, of_type, hop in zip(slots[: len(row)], slots[len(row) :], row, strict=False):
            is_choice = 0 <= hop < elements.hops and elements.has_other_ways(hop)
            words = [self.chain.scored.words[n] for n in ((of_label,) if is_choice else (of_label, of_type)) if n >= 0]
            is_faint = all(self._likeness(at) < FAINT for at in words)
            if words and not is_faint:
                plain.add(elements.all[hop].label)
            elif elements.all[hop].label not in plain:  # the way back along a relation needs no word
                found |= {*words}
        return found

    def _likeness(self, at: int) -> float:
        """Return the greatest similarity of a word to any label or type."""
        word, elements = self.question.tokens[at].word, self.elements
        return max(
            float(one.max(initial=0.0))
            for one in (elements.labels.similarity(word), elements.type_labels.similarity(word))
        )

    @property
    def modifiers(self) -> list[str]:
        """The words before types that it has nothing for: *tall* mountains; and if it names no node, those that are
        only similar to its labels: *landlocked* countries.
        """
        elements, question = self.elements, self.question
        named = self._names
        found = []
        for at in question.content(named) if elements.typed else ():
            before, word, after = ([token.word for token in question.tokens[n : n + 1]] for n in (at - 1, at, at + 1))
            is_vague = word[0] in ADJECTIVES or not (named or self.chain.is_label(word[0]))
            is_vague |= at == 0 and word[0] in self.chain.unexplained  # lead maintainers
            is_vague |= (
                word[0] in self.chain.unexplained
                and is_participle(word[0])
                and before != ["who"]
                and at - 1 not in named
            )
            if is_vague and before != ["how"] and after and self._is_type(after[0]):
                found.append(f"'{word[0]}'")
        return found

    def _is_type(self, word: str) -> bool:
        """Return whether a word is the name of a type or a synonym of one."""
        elements = self.elements
        similar = elements.type_labels.similarity(word)
        return bool(elements.types_called(stem(word))) or bool((similar >= LITERAL).any())

    @property
    def is_other_kind(self) -> bool:
        """Whether it answers with nodes of another type than the noun that says what is asked for: *which movies*."""
        elements, question = self.elements, self.question
        if self.chain.ends_with_attribute:
            return False
        if not elements.typed:
            kind = question.asked_kind
            ends = self.chain.frame.last_class(elements)[self.chain.row]
            return bool(kind) and not may_be_person(singular(kind)) and not elements.unnamed[ends]
        named = {at for topic in self.chain.topics if topic.mention is not None for at in topic.words}
        where, content = question.interrogative(named), question.content(named)
        is_asking = where >= 0 and question.tokens[where].word in ("which", "what")
        if [token.word for token in question.tokens[where : where + 2]] == ["how", "many"]:
            is_asking, where = True, where + 1
        if not is_asking and where in (0, len(question.tokens) - 1):  # who, or written by who
            return False
        head = next((at for at in content if at > where or not is_asking), None)
        if head is None or (is_asking and head != where + 1):
            return False
        word = question.tokens[head].word
        kinds = elements.types_called(stem(word)) or elements.people_called(word)
        return bool(kinds) and not kinds & self._ends

    @property
    def _ends(self) -> set[int]:
        """The types of the answers."""
        arms = [[topic.type, *(one.target for one in arm if one.kind == HOP)] for topic, arm in self._arms]
        return {arm[-1] for arm in arms}

    @property
    def is_undated(self) -> bool:
        """Whether it answers *when* with nodes that are no dates or years."""
        if self.chain.ends_with_attribute or not any(arm for arm in self.chain.arms):
            return False
        elements = self.elements
        lasts = [hops[-1] for arm in self.chain.arms if (hops := [one for one in arm if one.kind == HOP])]
        dates, kinds = elements.labels.similarity("when"), elements.type_labels.similarity("when")
        return all(max(dates[one.label], kinds[one.target] * elements.typed) < TELLING for one in lasts)

    @property
    def counts_others(self) -> bool:
        """Whether other nodes are counted than the noun after a superlative or a number says: *the most movies*."""
        found, elements = self.question.superlative or self.question.comparison, self.elements
        after = self.question.tokens[found.last + 1 : found.last + 2] if found else ()
        kinds = elements.types_called(stem(after[0].word)) if after and elements.typed else set()
        counted = {int(elements.described[at]) for at in self._counted}
        return bool(kinds and counted) and not kinds & counted

    @property
    def _counted(self) -> list[int]:
        """The positions of the elements whose neighbours are counted."""
        row, kinds = self.chain.frame.elements[self.chain.row], (MOST_NEIGHBOURS, COMPARED_NEIGHBOURS)
        return [at for at in row.tolist() if at >= 0 and self.elements.all[at].kind in kinds]

    @property
    def ends_with_rows(self) -> bool:
        """Whether it answers with numbered rows of a type that no word names: prize winners, of rows that join both."""
        elements = self.elements
        if not elements.typed or self.chain.ends_with_attribute or not len(self.chain.answers):
            return False
        row = elements.session.stores.nodes.row(int(self.chain.answers.ids[0]))
        similar = elements.type_labels.similarity
        kind = elements.type_number(row.id)
        said = max((float(similar(token.word)[kind]) for token in self.question.tokens), default=0.0)
        ends = [elements.all[hop] for hop in elements.from_type(kind).tolist()]
        joins = len({hop.target for hop in ends if hop.forward}) > 1
        return joins and row.name == row.key and row.key.isdigit() and said < LITERAL

    @property
    def ends_with_years(self) -> bool:
        """Whether it answers with years though no word asks for them: *population of Brazil*."""
        elements = self.elements
        if not elements.typed or self.chain.ends_with_attribute or not len(self.chain.answers):
            return False
        asked = {"when", "year", "years", "date", "dates", "since"}
        nodes = elements.session.stores.nodes
        names = [nodes.name(int(node)) for node in self.chain.answers.ids[:_LOOKED_AT]]
        kinds = {*label_words(" ".join(elements.types[kind].name for kind in self._ends))}
        is_year = bool(kinds & asked) and all(len(name) == 4 and name.isdigit() for name in names)
        return is_year and not asked & {token.word for token in self.question.tokens}

    @property
    def keeps_all(self) -> bool:
        """Whether it compares with a number, and all nodes meet the comparison."""
        if not any(element.kind in COMPARISONS for arm in self.chain.arms for element in arm):
            return False
        bare = [[element for element in arm if element.kind not in COMPARISONS] for arm in self.chain.arms]
        frame = self.chain.frame
        tree = expression(self.elements, self.question, frame.topics, bare, frame.combine)
        everything = AnswerSet(self.elements.session, tree).ids
        return len(everything) > 1 and len(self.chain.answers.ids) == len(everything)
