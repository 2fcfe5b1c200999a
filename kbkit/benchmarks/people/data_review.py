"""What a person decided on data of a KB that may be wrong, in its workspace; each decision is saved at once.

``workspace/check`` has judgements: ``findings.jsonl`` on findings of :meth:`kbkit.kb.KnowledgeBase.suspicions`, and
``pairs.jsonl`` on pairs of :meth:`kbkit.kb.KnowledgeBase.duplicates`, in the form of ``kbkit duplicates --decide``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.benchmarks.people.judgements import Judgement, amend_judgement, append_judgements, known_judgements
from kbkit.benchmarks.people.same_nodes import DECISION, pair_problem
from kbkit.ingestion.merging import APART, SAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kbkit.benchmarks.people.judgements import GivenParts, Mark

DECISIONS = {SAME: "Merge", APART: "Keep apart"}
"""The decisions on a pair, in words."""
LONGEST = 2_000
"""Maximum number of characters of a note."""
_WHO, _CHOSEN, _ALL = "me", "chosen", ("all",)


class DataReview:
    """The decisions in a folder. Several processes can read and write them."""

    def __init__(self, folder: Path) -> None:
        self._findings, self._pairs = folder / "findings.jsonl", folder / "pairs.jsonl"

    def findings(self) -> Mapping[tuple[str, ...], Judgement]:
        """Return choices and notes of findings by kind, type, part and finding; the note on all is ``("all",)``."""
        return {one.item: one for one in known_judgements(self._findings)}

    def choose(self, finding: tuple[str, ...], note: str, *, chosen: bool = True) -> None:
        """Choose a finding, or withdraw the choice, with a note, which stays."""
        blank = Judgement(_WHO, finding, _CHOSEN, None)
        given: GivenParts = {"mark": chosen or None, "note": note.strip()[:LONGEST]}
        amend_judgement(self._findings, self.findings().get(finding), blank, given)

    @property
    def about(self) -> str:
        """The note on all findings."""
        known = self.findings().get(_ALL)
        return known.note if known else ""

    @about.setter
    def about(self, note: str) -> None:
        self.choose(_ALL, note)

    def pairs(self) -> Mapping[tuple[str, ...], Mark]:
        """Return the decisions on pairs by type, key and other key."""
        return {one.item: one.mark for one in known_judgements(self._pairs, pair_problem) if one.mark in DECISIONS}

    def decide(self, pairs: Iterable[tuple[str, ...]], decision: str | None) -> None:
        """Decide on pairs (type, key, other key): merge or apart; None withdraws the decisions."""
        append_judgements(self._pairs, [Judgement(_WHO, pair, DECISION, decision) for pair in pairs])
