"""What completion must offer within an answer expression, and what it must not."""

from __future__ import annotations

from kbkit.executor.completion import complete
from kbkit.executor.vocabulary import Vocabulary
from kbkit.kb import KnowledgeBase


def check_completion(kb: KnowledgeBase, row: str, expected: list[str], absent: list[str]) -> None:
    """Complete at the sign ¦; ``expected`` must be offered in this order, and ``absent`` not."""
    found = complete(row.replace("¦", ""), row.index("¦"), Vocabulary.of(kb, {}, list), "answers")
    texts = [candidate.text for candidate in found]
    assert [text for text in texts if text in expected] == expected
    assert not set(texts) & set(absent)
