"""Links of parts: of a name written with capitals, and of words that only one value has among others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.words import lemmas_of, singular
from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.values import AttributeValues
from kbkit.stores.folding import words as folded_words

_BEFORE_VALUES = frozenset("a an any the with for about of in by on from to as has have had no without".split())  # noqa: SIM905
"""Words before some of the words of a value."""
_NOTING = frozenset("because got hit mention mentions mentioned mentioning saying says said".split())  # noqa: SIM905
"""Further words before some of the words of a note."""
_BE = ("is", "are", "was", "were", "not")
_MAX_HOLDING = 20
"""Limit on the nodes that a part of a name may mean."""
_MAX_SHORT = 3
"""Letters up to which a word in lower case is no part of a name or value."""
_SAID = 0.85
"""Least similarity of a word to a label that it means rather than a name."""


@dataclass(frozen=True)
class PartialLinks:
    """Finds the links of parts of names and values in one KB."""

    elements: Elements
    values: AttributeValues

    def by_part(self, question: Question, taken: list[bool], found: list[QuestionLink]) -> Iterator[QuestionLink]:
        """Yield links for parts of one name each, written with capitals: *Einstein*, or *Nile*, of the Nile river."""
        tokens, first = question.tokens, 1
        if question.text.isupper() or not self.elements.session.stores.has("text"):
            return
        while first < len(tokens):
            last = first
            while last < len(tokens) and not taken[last] and question.text[tokens[last].start].isupper():
                last += 1
            is_strange = first < len(tokens) and not taken[first] and self._is_strange(question, first)
            last += is_strange and last == first  # donna
            words = [token.word for token in tokens[first:last]]
            if words and len("".join(words)) >= _MAX_SHORT and not FUNCTION_WORDS & {*words}:
                text = question.text[tokens[first].start : tokens[last - 1].end]
                nodes = self.elements.session.stores.text.names_holding(text, None, _MAX_HOLDING).tolist()
                kinds = {o.type for link in found if link.last == first for o in link.types()}  # Judge Hathaway
                whole = [node for node in nodes if self._is_part(words, node, kinds)]
                values = self.values.of_people(words)
                if not whole and not values and (len(words) > 1 or is_strange):
                    values = list(self.values.holding(words))[:2]  # Pike & Sorrel, of a firm of that name
                    whole = nodes if is_strange and not values else []
                if len(whole) + len(values) == 1:
                    yield QuestionLink(first, last, text, (), tuple(values), tuple(whole))
            first = max(last, first + 1)

    def _is_strange(self, question: Question, at: int) -> bool:
        """Return whether a word is no English word, and none that labels have, so that it is rather a name."""
        word, labels = question.tokens[at].word, (self.elements.labels, self.elements.type_labels)
        is_word = word in FUNCTION_WORDS or lemmas_of(word) or lemmas_of(singular(word)) or not word.isalpha()
        if is_word or at in question.operators or len(word) <= _MAX_SHORT:
            return False
        return all(one.similarity(word).max(initial=0.0) < _SAID for one in labels)

    def by_words(self, question: Question, taken: list[bool], found: list[QuestionLink]) -> Iterator[QuestionLink]:
        """Yield links for words that are left and that only one value has among others: *fuel*, of ``fuel pump``."""
        tokens, first = question.tokens, 0
        while first < len(tokens):
            last = first
            while last < len(tokens) and not taken[last] and self._is_noun(question, last):
                last += 1
            if last == first < len(tokens) and not taken[first] and is_participle(tokens[first].word):
                last += any(link.first == first + 1 and link.types() for link in found)  # paid rentals
            words = [token.word for token in tokens[first:last]]
            is_type = any(link.first == last and link.types() for link in found)  # accepted papers
            is_said = is_type or (first > 0 and tokens[first - 1].word in _BEFORE_VALUES)
            is_noted = first > 0 and tokens[first - 1].word in _NOTING
            held = self.values.holding(words) if words and is_said else ()
            if words and not held and (is_noted or is_said):
                held = self.values.noting(words)
            if held:
                text = question.text[tokens[first].start : tokens[last - 1].end]
                yield QuestionLink(first, last, text, (), held, is_partial=True)
            first = max(last, first + 1)

    def _is_noun(self, question: Question, at: int) -> bool:
        word = question.tokens[at].word
        if at in question.operators or word in FUNCTION_WORDS or len(word) <= _MAX_SHORT:
            return False
        return bool({"NOUN", "ADJ"} & {*lemmas_of(word), *lemmas_of(singular(word))})

    def _is_part(self, words: list[str], node: int, kinds: set[int]) -> bool:
        """Return whether a node has these words in its name, and is a person, or of the type that is named before them
        (``kinds``) or that the rest of its name says.
        """
        name = {*folded_words(self.elements.session.stores.nodes.name(node)).split()}
        kind = self.elements.type_number(node)
        if not {*words} <= name:
            return False
        return kind in self.elements.people | kinds or name - {*words} <= {*label_words(self.elements.types[kind].name)}

    def plain_column(self, question: Question, at: int) -> tuple[LabelOption, ...]:
        """Return the column of yes and no that a word which mostly says little is called by: *listed* firms."""
        before, after = ([token.word for token in question.tokens[n : n + 1]] for n in (max(at - 1, 0), at + 1))
        is_said = bool(after and self.elements.types_called(stem(after[0]))) or (before[0] in _BE and not after)
        word = [question.tokens[at].word]
        kinds = enumerate(self.elements.types) if is_said else ()
        columns = ((n, one.name) for n, kind in kinds for one in kind.attributes if one.type == "BOOLEAN")
        return tuple(LabelOption(n, name, 1.0, is_boolean=True) for n, name in columns if label_words(name) == word)
