"""Whether texts of other nodes of a type mention a phrase too; otherwise a question with it needs no relations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from kbkit.benchmarks.documents import Document
from kbkit.benchmarks.requirements.phrases import Mentions
from kbkit.kb import KnowledgeBase

_MOST = 10_000
"""Nodes of a type whose texts are read."""


class OtherTexts:
    """The words of some documents, by which phrases are looked up."""

    def __init__(self, documents: Mapping[int, Document], mentions: Mentions) -> None:
        self._texts: dict[int, str] = {}
        self._nodes: dict[str, set[int]] = {}
        for node, document in documents.items():
            forms = [mentions.forms(passage.text) for passage in document.passages]
            self._texts[node] = "\n".join(f" {' '.join(words)} " for words in forms)
            for form in {form for words in forms for form in words}:
                self._nodes.setdefault(form, set()).add(node)

    @classmethod
    def of_type(
        cls,
        kb: KnowledgeBase,
        node_type: str,
        mentions: Mentions,
        read: Callable[[Iterable[int]], Mapping[int, Document]],
    ) -> OtherTexts:
        """Read the documents of a type, of a large one a sample."""
        kind = kb.schema.type(node_type)
        nodes = np.arange(kind.first, kind.last + 1)
        if len(nodes) > _MOST:
            nodes = np.sort(np.random.default_rng(0).choice(nodes, _MOST, replace=False))
        return cls(read(nodes.tolist()), mentions)

    def share(self, forms: Sequence[str]) -> float:
        """Return the fraction of the documents that have all of some forms."""
        nodes = set.intersection(*(self._nodes.get(form, set()) for form in forms))
        return len(nodes) / max(1, len(self._texts))

    def count(self, form: str) -> int:
        """Return the number of documents that have a form."""
        return len(self._nodes.get(form, ()))

    def mention_any(self, forms: Iterable[str], candidates: Collection[int]) -> bool:
        """Return whether a document of no candidate has one of some forms."""
        return any(not self._nodes.get(form, set()) <= {*candidates} for form in forms)

    def mention(self, forms: Sequence[str], candidates: Collection[int]) -> bool:
        """Return whether a document of no candidate has some forms in this order."""
        wanted, known = f" {' '.join(forms)} ", [self._nodes.get(form, set()) for form in forms]
        nodes = set.intersection(*known) if known else set()
        return any(wanted in self._texts[node] for node in nodes.difference(candidates))
