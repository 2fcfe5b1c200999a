"""kbkit's fast path: a plan that was made once, walked over the adjacency arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

import kbkit
from kbkit.answers.batch import count_batch
from kbkit.answers.bind import bind_constants
from kbkit.answers.evaluate import evaluate
from kbkit.answers.templates import find
from kbkit.stores.node_directory import NodeRow
from tests.performance import data
from tests.performance.metapaths import NAMES


class Engine:
    @staticmethod
    def path(scale: float) -> Path:
        """The arrays that answers are walked on."""
        with kbkit.open(data.kb(scale)) as kb:
            return kb.folder / "adjacency"

    def __init__(self, scale: float) -> None:
        self.kb = kbkit.open(data.kb(scale))
        self.plans = {name: self.kb.session.resolved(find(f"mag/{name}").tree()) for name in NAMES}
        self.slots = {name: {p.source.name: p.name for p in plan.parameters} for name, plan in self.plans.items()}

    def ids(self, name: str, row: Mapping[str, int]) -> list[int]:
        return self._evaluate(name, row).tolist()

    def count(self, name: str, row: Mapping[str, int]) -> int:
        return len(self._evaluate(name, row))

    def _evaluate(self, name: str, row: Mapping[str, int]) -> Any:
        known = self.slots[name]
        return evaluate(
            self.plans[name], self.kb.session, {known[s]: (NodeRow(i, "", "", ""),) for s, i in row.items()}
        )

    def many(self, name: str, table: pl.DataFrame) -> int:
        plan, session = self.plans[name], self.kb.session
        columns = {p.name: table[p.source.name].to_numpy() for p in plan.parameters}
        return int(count_batch(plan, session, bind_constants(plan, session), columns, table.height).sum())

    def close(self) -> None:
        self.kb.close()
