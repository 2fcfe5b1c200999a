"""What speaks against the relations that a reading along a chain follows: their direction, a choice among several, and
ways that no word says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from kbkit.english.question_words import OUTCOMES, SHARED
from kbkit.english.words import may_be_verb
from kbkit.questions.candidates import Topic
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.directions import agent_of, noun_forward, voice
from kbkit.questions.element_lists import HOP, Element
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import FAINT, LITERAL, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.question import Question
from kbkit.questions.ways import is_former, is_of_past

_PRONOUNS = frozenset("he she they him himself herself themselves".split())  # noqa: SIM905
_RETURNING = 2
"""Steps of a way there and back."""


@dataclass(frozen=True)
class RelationDoubts:
    """The doubts about the relations of a reading."""

    chain: ChainReading

    @property
    def of_relations(self) -> list[str]:
        """The words and names of the question whose relation the reading does not express."""
        found = ["'or'"] * self.joins_too_many + self.pronouns + self.repeated + self.any_relation + self.namesakes
        is_around = self.is_detour or self.returns or self.is_unsaid_sharing
        return found + self.unsaid + self.outcomes + self.undirected + self.former + ["a way around"] * is_around

    @property
    def elements(self) -> Elements:
        """The elements of the KB."""
        return self.chain.elements

    @property
    def question(self) -> Question:
        """The question."""
        return self.chain.question

    @property
    def _names(self) -> set[int]:
        """The positions of the words of the names that the reading starts at."""
        return {at for topic in self.chain.topics if topic.mention is not None for at in topic.mention.tokens}

    @property
    def _arms(self) -> list[tuple[Topic, list[Element]]]:
        """Where each arm starts, and its elements."""
        return list(zip(self.chain.topics, self.chain.arms, strict=True))

    @property
    def is_detour(self) -> bool:
        """Whether one word must say several relations, though one joins the two types: *seas bordering Italy* are those
        on its coast, where only countries have borders.
        """
        elements, named = self.elements, self._names
        if not elements.typed or self.chain.ends_with_attribute:
            return False
        words = [self.question.tokens[at].word for at in self.question.content(named)]
        others = [word for word in words if not elements.types_called(stem(word))]
        hops = [(topic, [one for one in arm if one.kind == HOP]) for topic, arm in self._arms if topic.mention]
        return (
            len(others) == 1
            and len(words) < 3
            and any(
                len(arm) > 1
                and arm[-1].target != topic.type
                and any(elements.all[at].target == arm[-1].target for at in elements.from_type(topic.type).tolist())
                for topic, arm in hops
            )
        )

    @property
    def pronouns(self) -> list[str]:
        """The pronouns for whom the question has named: films by Ann *in which she acts*, by two relations to her."""
        named = [topic.mention.last for topic in self.chain.topics if topic.mention is not None]
        rest = self.question.tokens[min(named) :] if named else ()
        return [f"'{token.word}'" for token in rest if token.word in _PRONOUNS]

    @property
    def repeated(self) -> list[str]:
        """The verbs said more often than their relation is followed: *mentored by someone that Ann mentored*."""
        named, similar = self._names, self.elements.labels.similarity
        words = [token.word for at, token in enumerate(self.question.tokens) if at not in named]
        found = []
        for word in dict.fromkeys(one for one in words if words.count(one) > 1 and is_participle(one)):
            steps = [one for arm in self.chain.arms for one in arm if similar(word)[one.label] >= LITERAL]
            is_back = len({one.forward for one in steps if one.source == one.target}) > 1 and SHARED.isdisjoint(words)
            found += [f"'{word}'"] * (0 < len(steps) < words.count(word) or is_back)
        for word in words:
            rest = word.removeprefix("grand")
            steps = [one for arm in self.chain.arms for one in arm if similar(rest)[one.label] >= LITERAL]
            found += [f"'{word}'"] * (rest != word and len(steps) < _RETURNING)  # grandparents: parents of parents
        return found

    @property
    def any_relation(self) -> list[str]:
        """The names whose relation no word says, though others with other answers join the same types: *films of Ann*,
        who directed some and acts in others.
        """
        elements = self.elements
        words = [self.question.tokens[at].word for at in self.question.content(self._names)]
        words = [word for word in words if not elements.types_called(stem(word))]
        found = []
        for topic, arm in self._arms if elements.typed and not self.chain.unexplained else ():
            if topic.mention is None or len(arm) < 2 or arm[0].kind != HOP or arm[1].kind != HOP:
                continue
            first = arm[0]
            said = max((float(elements.labels.similarity(word)[first.label]) for word in words), default=0.0)
            others = [
                one
                for one in map(elements.all.__getitem__, elements.from_type(topic.type).tolist())
                if one.target == first.target and one.label != first.label
            ]
            if said >= FAINT or not others:
                continue
            move = elements.session.move
            reached = [
                {int(end) for node in topic.nodes for end in move(one.name, one.forward).neighbors(node)}
                for one in (first, *others)
            ]
            if any(ends - reached[0] for ends in reached[1:]):
                found.append(f"how '{topic.mention.text}' is related")
        return found

    @property
    def namesakes(self) -> list[str]:
        """The names of nodes of several types that lead to different answers, if no word says which type or relation is
        meant: *war films*, of a genre and of a keyword.
        """
        elements, found = self.elements, []
        words = [self.question.tokens[at].word for at in self.question.content(self._names)]
        for topic, arm in self._arms if elements.typed else ():
            mention = topic.mention
            kinds = {elements.type_number(node) for node in mention.nodes} - {topic.type} if mention else set()
            if mention is None or not kinds or not arm or arm[0].kind != HOP:
                continue
            hops = [one for one in map(elements.all.__getitem__, range(elements.hops)) if one.target == arm[0].target]
            own, others = [arm[0]], [one for one in hops if one.source in kinds and one.target != one.source]
            said = [self._is_named(one, words) for one in (*own, *others)]
            if any(said):
                continue
            move, reached = elements.session.move, []
            for ways, nodes in ((own, topic.nodes), (others, mention.nodes)):
                reached.append(
                    {
                        int(end)
                        for one in ways
                        for node in nodes
                        if elements.type_number(node) == one.source
                        for end in move(one.name, one.forward).neighbors(node)
                    }
                )
            if reached[1] - reached[0]:
                found.append(f"which '{mention.text}' is meant")
        return found

    @property
    def undirected(self) -> list[str]:
        """The verbs of a relation between nodes of one type whose label does not say which of them acts: *mentors*."""
        elements, words = self.elements, [token.word for token in self.question.tokens]
        hops = [one for arm in self.chain.arms for one in arm if one.kind == HOP and one.source == one.target]
        hops = [one for one in hops if elements.typed and one.name not in elements.mutual and not agent_of(one.name)]
        return self._turned + [
            f"the direction of '{word}'"
            for at, word in enumerate(words)
            if voice(words, at)
            and is_participle(word)
            and any(elements.labels.similarity(word)[one.label] >= LITERAL for one in hops)
        ]

    @property
    def _turned(self) -> list[str]:
        """The nouns of a relation that is followed in the other direction: *what is Ann a cousin of*."""
        elements, words = self.elements, [token.word for token in self.question.tokens]
        found = []
        for topic, arm in self._arms if elements.typed else ():
            hop = arm[0] if arm and topic.mention else None
            if hop is None or topic.mention is None or hop.kind != HOP or hop.source != hop.target:
                continue
            for at, word in enumerate(words):
                is_head = noun_forward(words, at, hop.name)
                is_turned = is_head is not None and hop.forward != (is_head == (topic.mention.first < at))
                found += [f"the direction of '{word}'"] * (is_turned and hop.name not in elements.mutual)
        return found

    @property
    def unsaid(self) -> list[str]:
        """The verb at the end that says what a name does, if a relation of its type is followed that it does not say:
        *papers that X refutes*, which X cites.
        """
        last = len(self.question.tokens) - 1
        word = self.question.tokens[last].word
        ends = {topic.mention.last for topic in self.chain.topics if topic.mention is not None}
        hops = [arm[0] for topic, arm in self._arms if topic.mention and arm and arm[0].kind == HOP]
        similar = self.elements.labels.similarity(word)
        is_other = any(one.source == one.target and similar[one.label] < FAINT for one in hops)
        return [f"'{word}'"] * (last in ends and word in self.chain.unexplained and is_other and may_be_verb(word))

    @property
    def outcomes(self) -> list[str]:
        """The verbs for who won or lost that no relation or attribute says: *who won it*, of those who played in it."""
        named, similar = self._names, self.elements.labels.similarity
        words = [token.word for at, token in enumerate(self.question.tokens) if at not in named]
        labels = [one.label for arm in self.chain.arms for one in arm]
        return [f"'{w}'" for w in words if w in OUTCOMES and max(similar(w)[labels], default=0.0) < LITERAL]

    @property
    def is_unsaid_sharing(self) -> bool:
        """Whether it goes from a name along a relation and back, though a verb says something else: *was followed*."""
        words = [self.question.tokens[at].word for at in self.question.content(self._names)]
        verbs = [word for word in self.chain.unexplained if is_participle(word)]
        ways = [hops for topic, arm in self._arms if topic.mention for hops in [arm[:_RETURNING]]]
        backs = [
            (one, other) for one, other in (way for way in ways if len(way) == _RETURNING) if one.name == other.name
        ]
        is_said = any(self.elements.labels.similarity(w)[one.label] >= FAINT for w in words for one, _ in backs)
        return bool(verbs and backs) and not is_said and SHARED.isdisjoint(token.word for token in self.question.tokens)

    @property
    def is_other_deed(self) -> bool:
        """Whether it ends with those who did something, which no word says, though one says what they did."""
        elements, verbs = self.elements, [word for word in self.chain.unexplained if may_be_verb(word)]
        ends = [hops[-1] for _, arm in self._arms if (hops := [one for one in arm if one.kind == HOP])]
        deeds = [one for one in ends if elements.is_verbal[one.label] and one.target in elements.people]
        words = [self.question.tokens[at].word for at in self.question.content(self._names)]
        said = {one.label for one in deeds if any(elements.labels.similarity(w)[one.label] >= FAINT for w in words)}
        return bool(verbs) and any(one.label not in said for one in deeds)

    @property
    def former(self) -> list[str]:
        """The relations of the past that it follows, if the question is not about the past: *where does Ann live*."""
        words = {token.word for token in self.question.tokens}
        hops = [one for arm in self.chain.arms for one in arm if one.kind == HOP and is_former(one.name)]
        return [f"whether '{one.name}' is meant" for one in hops if not is_of_past(words)]

    def _is_named(self, hop: Element, words: list[str]) -> bool:
        """Return whether a word says a relation, or the type that it starts at."""
        elements = self.elements
        return any(
            elements.labels.similarity(word)[hop.label] >= LITERAL
            or elements.type_labels.similarity(word)[hop.source] >= LITERAL
            for word in words
        )

    @property
    def joins_too_many(self) -> bool:
        """Whether it takes any of three, of which *or* joins two: comedies with Ann or Ben."""
        topics = [topic.mention for topic in self.chain.topics if topic.mention is not None]
        if self.chain.frame.combine != "|" or len(topics) < 3:
            return False
        start, end = (self.question.tokens[at] for at in (topics[0].last - 1, topics[-1].first))
        between = self.question.text[start.end : end.start]
        return between.count(",") + len(re.findall(r"\bor\b", between)) < len(topics) - 1

    @property
    def returns(self) -> bool:
        """Whether it goes from all nodes of a type along a relation and straight back: *who uses the dollar*."""
        elements = self.elements
        ways = [arm for topic, arm in self._arms if topic.mention is None and elements.typed]
        steps = [pair for arm in ways for pair in pairwise(arm[:_RETURNING])]
        return any(
            one.kind == other.kind == HOP and one.name == other.name and one.source == other.target
            for one, other in steps
        )
