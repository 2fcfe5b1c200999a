"""The nouns of a question for kinds of nodes, in a KB that names no kinds: *movies*, where all nodes have one type.

They select nothing, and are no words for relations either, however similar: *which movies did he write* has nothing to
do with *starred actors*.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.english.words import is_plural
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import STRONG
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question

_BEING = (["is"], ["are"], ["was"], ["were"])
_KINDS_OF = (["kind", "of"], ["type", "of"], ["sort", "of"])


def kind_nouns(elements: Elements, question: Question, found: Sequence[Mention]) -> frozenset[int]:
    """Return the positions of such nouns: after *which* or *a*, before a name, plurals, or beside a word of a label, as
    in *what genre of film is Heat* and *film co-writers of Ann*.

    There are none unless another word is one of a label, so that the noun is not the only word for a relation.
    """
    if elements.typed or not elements.hops:
        return frozenset()
    named = {at for mention in found if mention.is_sure for at in mention.tokens}
    best = {at: elements.labels.similarity(question.tokens[at].word).max(initial=0.0) for at in question.content(named)}
    if not any(value >= STRONG for value in best.values()):
        return frozenset()
    firsts = {mention.first for mention in found if mention.is_sure}
    labels = {at for at, value in best.items() if value >= STRONG}
    words = [token.word for token in question.tokens]

    def is_kind(at: int) -> bool:
        before = words[max(0, at - 2) : at]
        is_asked = before[-1:] in (["which"], ["what"]) or before in _KINDS_OF
        is_asked |= before[-1:] == ["of"] and at - 2 in labels and words[at + 1 : at + 2] in _BEING
        modifies = words[at + 1 : at + 2] == ["co"] and at + 2 in labels
        return is_asked or modifies or before[-1:] in (["a"], ["an"]) or at + 1 in firsts or is_plural(words[at])

    return frozenset(at for at, value in best.items() if value < STRONG and is_kind(at))
