"""Reads questions by sketches: makes them, and tries the likeliest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from kbkit.answers.answer_set import AnswerSet
from kbkit.errors import KbError
from kbkit.questions.answer_kinds import content
from kbkit.questions.clause_reading import ClauseReading, WordMatch
from kbkit.questions.composed_reading import ComposedReading
from kbkit.questions.element_lists import VALUE
from kbkit.questions.elements import Elements
from kbkit.questions.question import Question
from kbkit.questions.sketches import judge
from kbkit.questions.sketches.conditions import ConditionFinder, SketchCondition, merged
from kbkit.questions.sketches.forms import Forms, Sketch
from kbkit.questions.sketches.judge import TriedSketch
from kbkit.questions.sketches.sets import NodeSet, NodeSets
from kbkit.questions.sketches.words import SketchWords

_MAX_COMBINED, _MAX_CHOSEN = 200, 24
"""Limits on the combinations of meanings that are compared, and on those of which sketches are made."""
_DROPPED = 3.0
"""How much worse a combination is that leaves out a name or number."""
MAX_TRIED = 10
"""Limit on the sketches whose answers are found."""
_DOUBTED = 0.25
"""Confidence in all sketches of a question together."""
_MAX_WORDS = 40
"""Words of a question up to which it is read so."""
_NAMED = 0.5
"""How well a word must express something in a question without names and values."""
_SAID = 0.3
"""How well something must express a word, for people to be told so."""
_MAX_NODES = 500_000
"""Number of nodes up to which a KB is read so: trying readings must not take long."""
_MAX_ATTRIBUTES = 400
"""The same for attributes."""


@dataclass(frozen=True)
class SketchReading(ComposedReading):
    """A reading by a sketch, which is offered to people and compared with other readings, but never an answer."""

    unsaid: tuple[str, ...] = ()
    """The content words that nothing expresses."""

    @property
    def is_trusted(self) -> bool:
        """Whether its answers can be used as they are: never."""
        return False

    @property
    def unexplained(self) -> list[str]:
        """The content words that nothing explains."""
        return [*self.unsaid]

    def matches(self) -> list[WordMatch]:
        """Return what names, values and words were matched to."""
        return [*self.said, *(WordMatch(word, "", 0.0) for word in self.unsaid)]


class SketchReader:
    """Reads questions about one KB by sketches."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        nodes = sum(one.count for one in elements.types)
        attributes = sum(len(one.attributes) for one in elements.types)
        self.is_possible = elements.typed and nodes <= _MAX_NODES and 0 < attributes <= _MAX_ATTRIBUTES

    def readings(self, reading: ClauseReading, question: Question, most: int) -> list[SketchReading]:
        """Return readings of a question by sketches, the likeliest first; ``reading`` has the links of its words.

        Finding answers takes longest: sketches are tried until the first ``most`` are certain.
        """
        if not self.is_possible or not reading.links or len(question.tokens) > _MAX_WORDS:
            return []
        words = SketchWords(self.elements, question, reading.links)
        if not words.named and words.fit.max(initial=0.0) < _NAMED:
            return []
        scored = [pair for pair in judge.ranked(self.tried(words, most)) if pair[1].is_meant]
        odds = np.exp(np.array([score for score, _ in scored]))
        shares = (_DOUBTED * odds / odds.sum()).tolist() if scored else []
        pairs = list(zip(scored, shares, strict=True))[:most]
        return [self._reading(reading, words, one.sketch, share) for (_, one), share in pairs]

    def _reading(self, reading: ClauseReading, words: SketchWords, sketch: Sketch, share: float) -> SketchReading:
        said, unsaid = _matches(reading, words, sketch)
        parts = (self.elements, reading.links, reading.clauses, reading.planner, sketch.tree)
        return SketchReading(*parts, said=said, certainty=share, unsaid=unsaid)

    def tried(self, words: SketchWords, most: int = MAX_TRIED) -> list[TriedSketch]:
        """Return the likeliest sketches with their answers, so many that the first ``most`` are certain."""
        found: dict[str, tuple[float, Sketch, Mapping[str, float]]] = {}
        for sketch, features in self.sketches(words):
            score, text = judge.total(judge.weights(), features), str(sketch.tree)
            if text not in found or found[text][0] < score:
                found[text] = score, sketch, features
        tried: list[TriedSketch] = []
        for score, sketch, known in sorted(found.values(), key=lambda one: -one[0])[:MAX_TRIED]:
            # What answers say can only lower a score.
            if len(tried) >= most and judge.ranked(tried)[most - 1][0] >= score:
                break
            tried.append(self._tried(sketch, known))
        return tried

    def _tried(self, sketch: Sketch, features: Mapping[str, float]) -> TriedSketch:
        try:
            answers = AnswerSet(self.elements.session, sketch.tree)
            known, is_empty = content(answers)
            value = answers.value
        except KbError:
            return TriedSketch(sketch, features, None, 0)
        size = len(value) if isinstance(value, list) else len(answers) if value is None else 1
        return TriedSketch(sketch, features, known, 0 if is_empty else size)

    def sketches(self, words: SketchWords) -> Iterator[tuple[Sketch, dict[str, float]]]:
        """Yield the sketches of a question with their features."""
        conditions, sets = ConditionFinder(words, judge.weights()), NodeSets(words)
        for chosen, dropped in self._combinations(conditions):
            left_out = None
            if sum(kind == "number" for kind, _ in dropped) == 1:
                left_out = next(words.numbers[at] for kind, at in dropped if kind == "number")
            counts = Counter(kind for kind, _ in dropped)
            kinds = {one.kind for one in chosen}
            uses = {"denied flag"} if any(one.is_denied for one in chosen) else set()
            for kind in range(len(self.elements.types)):
                if any(kind != other and not self.elements.paths(other, kind) for other in kinds):
                    continue
                forms = Forms(words, sets, kind, left_out)
                for nodes in self._sets(sets, kind, chosen):
                    for sketch in forms.all(nodes, chosen):
                        one = replace(sketch, uses=sketch.uses | uses) if uses else sketch
                        yield one, judge.features(words, one, counts)

    def _sets(self, sets: NodeSets, kind: int, chosen: Sequence[SketchCondition]) -> Iterator[NodeSet]:
        for nodes in sets.meeting(kind, chosen):
            yield nodes
            yield from sets.denying(kind, chosen, nodes)

    def _combinations(
        self, conditions: ConditionFinder
    ) -> Iterator[tuple[list[SketchCondition], list[tuple[str, int]]]]:
        """Yield the likeliest combinations of what the words may select, with the links and numbers they leave out."""
        words, choices = conditions.words, conditions.choices()
        spans = [("link", at) for at in range(len(words.named))] + [("number", at) for at in range(len(words.numbers))]
        flags = conditions.flags()

        def score(ways: Sequence[SketchCondition | None]) -> float:
            dropped = sum(one is None for one in ways[: len(spans)])
            return sum(conditions.score(one.features) for one in ways if one is not None) - _DROPPED * dropped

        every = list(islice(product(*choices, *flags), _MAX_COMBINED))
        for ways in sorted(every, key=score, reverse=True)[:_MAX_CHOSEN]:
            dropped = [span for span, one in zip(spans, ways, strict=False) if one is None]
            yield merged(one for one in ways if one is not None), dropped


def _matches(
    reading: ClauseReading, words: SketchWords, sketch: Sketch
) -> tuple[tuple[WordMatch, ...], tuple[str, ...]]:
    """Return what names, values and words of a question were matched to, and the words that nothing expresses."""
    elements = words.elements
    taken = [link.text for link, doubt in zip(words.named, words.is_doubtful, strict=True) if not doubt]
    found = [match for match in reading.matches() if match.words in taken and match.meaning]
    own = {one.label: f"{elements.types[one.source].name}.{one.name}" for one in elements.all if one.kind == VALUE}
    own |= {
        atom: f"{elements.types[kind].name}.{name}"
        for (kind, name), atom in words.attributes.items()
        if kind == sketch.kind
    }
    names = {one.label: one.name for one in elements.all[: elements.hops]} | own
    names |= {words.type_atom(kind): one.name for kind, one in enumerate(elements.types)}
    atoms, unsaid = [*dict.fromkeys((*sketch.atoms, words.type_atom(sketch.kind)))], []
    for number, at in enumerate(words.content):
        fit = words.fit[number, atoms]
        if fit.max() < _SAID:
            unsaid.append(words.tokens[at])
        else:
            found.append(WordMatch(words.tokens[at], names[atoms[int(fit.argmax())]], round(float(fit.max()), 2)))
    return tuple(found), tuple(unsaid)
