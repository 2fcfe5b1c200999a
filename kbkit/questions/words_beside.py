"""The words of a question beside the names of nodes, and the stems of the words for attributes of edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from kbkit.english.question_words import EXTREMES, FUNCTION_WORDS, INTERROGATIVES, TOTALS
from kbkit.english.words import lemmas_of, may_be_verb
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question
from kbkit.questions.units import unit_of
from kbkit.schema import Attribute

SURE, BY_VERB = 0.9, 0.8
"""How certain a reading is: that explains all words, or all but a verb."""
PERCENT = {"percent", "percentage", "pct"}
PLAIN = frozenset("much many long year years time s per".split())  # noqa: SIM905
"""Words of what is asked for that need no explanation: how much, in what year."""
_VERBS = frozenset("be is are was were do does did has have had".split())  # noqa: SIM905


class WordsBeside:
    """The words of a question beside some names."""

    def __init__(self, question: Question, names: Sequence[Mention]) -> None:
        self.question, taken = question, {at for name in names for at in name.tokens}
        self.all = [(at, token.word) for at, token in enumerate(question.tokens) if at not in taken]
        self.words = dict(self.all)
        self.is_yes_no = bool(self.all) and self.all[0][0] == 0 and self.all[0][1] in _VERBS

    @cached_property
    def function(self) -> tuple[str, set[int]]:
        """The function that is asked for and the positions of its words: values without any; empty if several are."""
        ops = {op for word in self.words.values() if (op := EXTREMES.get(word) or TOTALS.get(word))}
        best = self.question.superlative
        if best is not None and not ops:
            ops = {"max" if best.adjective.sign > 0 else "min"}
        used = {at for at, word in self.all if word in EXTREMES or word in TOTALS}
        used |= set(range(best.first, best.last + 1)) if best is not None else set()
        return ("" if len(ops) > 1 else next(iter(ops), "values")), used

    @property
    def asks_value(self) -> bool:
        """Whether a value is asked for, not the nodes that have it: *what is the highest fine*."""
        first = [word for _, word in self.all[:3]]
        return first[:1] == ["what"] and first[1:2] in (["is"], ["s"], ["was"], ["are"], ["were"])

    def asks_other_than(self, stems: set[str]) -> bool:
        """Return whether people, places or *which* others are asked for than what words with some stems mean."""
        if {*self.words.values()} & {"who", "whom", "whose", "where"}:
            return True
        after = (noun for (_, word), (_, noun) in pairwise(self.all) if word in ("which", "what"))
        plain = FUNCTION_WORDS | PLAIN | {*EXTREMES, *TOTALS}
        return any(noun not in plain and not forms(noun) & stems for noun in after)

    def is_each(self, stems: set[str]) -> bool:
        """Return whether the words say *per* or *each* before a word with one of these stems."""
        pairs = pairwise(self.all)
        return any(word in ("per", "each", "every", "by") and forms(noun) & stems for (_, word), (_, noun) in pairs)

    def at(self, stems: set[str]) -> list[int]:
        """Return the positions of the words with these stems."""
        return [at for at, word in self.all if stem(word) in stems and word not in FUNCTION_WORDS]

    def text(self, positions: Sequence[int]) -> str:
        """Return the words at some positions."""
        return " ".join(self.words[at] for at in sorted({*positions}))

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
        plain = FUNCTION_WORDS | INTERROGATIVES | PLAIN
        rest = [(at, word) for at, word in self.all if at not in used and word not in plain]
        left = [word for _, word in rest if not forms(word) & known]
        if not left:
            return SURE
        return BY_VERB if len(left) == 1 and may_be_verb(left[0]) else 0.0


def forms(word: str) -> set[str]:
    """Return the stems of a word and of its lemmas: of *sang*, that of *sing* too."""
    return {stem(word), *(stem(lemma) for lemmas in lemmas_of(word).values() for lemma in lemmas)}


def stems_of(attribute: Attribute) -> set[str]:
    """Return the stems of the words for an attribute."""
    said = {word for text in (attribute.name, attribute.label or "") for word in label_words(text)}
    return {stem(word) for word in (said | PERCENT if said & PERCENT else said)}


def is_said(attribute: Attribute, said: list[str]) -> bool:
    """Return whether words say an attribute: the noun of its name, or its unit."""
    parts = label_words(attribute.name)
    parts = parts[: parts.index("per")] if "per" in parts[1:] else parts
    heads = {*parts[-1:], *(parts[-2:-1] if unit_of(parts) else [])}
    heads |= PERCENT if heads & PERCENT else set()
    return bool({stem(word) for word in said} & {stem(head) for head in heads})
