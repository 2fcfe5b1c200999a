"""Readings of a question with a superlative inside: *the longest river in the smallest state*.

The superlative is read first, as a question of its own, and then the question with the name of its answer, for which
the answer's expression stands in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Aggregate, Expression, Key, Name, Nodes, Path, replaced, subtrees
from kbkit.english.question_words import FUNCTION_WORDS, INTERROGATIVES, SUPERLATIVES
from kbkit.english.types import type_noun
from kbkit.english.words import PREPOSITIONS
from kbkit.questions.composed_reading import FoundParts
from kbkit.questions.lexicon import stem
from kbkit.questions.part_reading import PartReading
from kbkit.questions.reading_words import answer_type

_WORD = re.compile(r"[^\W_]+")
_BEFORE = FUNCTION_WORDS | INTERROGATIVES | SUPERLATIVES.keys() | {"many", "number", "count"}
"""Words before the inner superlative that say nothing that could be asked of it."""
_RELATIVE = ("with", "that", "which", "who", "having")
_MAX_INNER = 3
"""Limit on the parts of a question that are tried as the inner superlative."""


class NestedReading(PartReading):
    """Reads superlatives inside questions."""

    def read(self, text: str, *, is_read: bool = False) -> FoundParts | None:
        """Return the expression of a question with a superlative inside; None if it cannot be read.

        ``is_read``: only if a reading of the whole may take the superlative for one of what the question asks for.
        """
        for start, stop, is_clear in islice(self._spans(text), _MAX_INNER):
            found = self._nested(text, start, stop) if is_clear or not is_read else None
            if found is not None:
                return found
        return None

    def _spans(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Yield where the inner superlative may begin and end, the last ones first: to the end, or with one noun.

        Whether it is clear that it is inside: the noun is said before, or stands before the superlative.
        """
        words = list(_WORD.finditer(text))
        plain = [word[0].casefold() for word in words]
        kinds = [self.elements.types_called(stem(word)) for word in plain]
        first = next((n for n, word in enumerate(plain) if kinds[n] or word not in _BEFORE), len(plain))
        for at in range(len(words) - 2, first, -1):
            if plain[at] not in SUPERLATIVES:
                continue
            head = at - 1 if plain[at - 1] == "the" else at
            if kinds[at + 1] and head > first:
                is_again = any(kinds[at + 1] & kind for kind in kinds[:head])
                yield words[head].start(), words[-1].end(), is_again
                yield words[head].start(), words[at + 1].end(), is_again
            nouns = (n for n in range(head - 1, first, -1) if kinds[n] and plain[n + 1] in _RELATIVE)
            if (noun := next(nouns, -1)) > 0:  # the state that borders the most
                start = noun - 1 if plain[noun - 1] == "the" else noun
                if start > first and (start < noun or plain[noun - 1] in PREPOSITIONS):
                    yield words[start].start(), words[-1].end(), True

    def _nested(self, text: str, start: int, stop: int) -> FoundParts | None:
        """Return the expression of a question whose inner superlative is a part of its text; None if there is none."""
        inner = self._sure(text[start:stop])
        tree = None if inner is None or inner.best is None else inner.best.tree
        kind = None if tree is None else answer_type(tree)
        if inner is None or inner.best is None or tree is None or kind is None or isinstance(tree, Aggregate):
            return None
        ids = AnswerSet(self.elements.session, tree).ids
        if not len(ids):
            return None
        row = self.elements.session.stores.nodes.row(int(ids[0]))
        outer = self._sure(f"{text[:start]}the {type_noun(kind)} {row.name}{text[stop:]}")
        if outer is None or outer.best is None or outer.best.tree is None:
            return None
        selected = {part for part in subtrees(outer.best.tree) if isinstance(part, Nodes) and part.selector is not None}
        if len(selected) != 1:
            return None
        [named] = selected
        is_it = named.type == row.type and named.selector in (Name(row.name), Key(row.key))
        if not is_it or not self._goes_on(outer.best.tree, named):
            return None
        whole = replaced(outer.best.tree, named, tree)
        return FoundParts(whole, (inner.best, outer.best), min(inner.confidence, outer.confidence))

    def _goes_on(self, tree: Expression, named: Nodes) -> bool:
        """Return whether an expression asks for something of named nodes, and not for themselves."""
        starts = {part.elements[0] for part in subtrees(tree) if isinstance(part, Path)}
        is_of_value = isinstance(tree, Aggregate) and tree.op == "values" and tree.source == named
        return named in starts or is_of_value
