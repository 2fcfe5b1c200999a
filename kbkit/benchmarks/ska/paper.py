"""Figures of the paper (SKA-Bench, ACL submission): Tables 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kbkit.benchmarks.report import published
from kbkit.benchmarks.ska.testbeds import NOISE, ORDER, REJECTION

AVERAGE = "average"
"""The last column of Table 5: the mean of the forms."""
_TESTBEDS = {"3": NOISE, "4": ORDER, "5": REJECTION}


def counts(form: str) -> dict[str, float] | None:
    """Return the figures of Table 1 for a form, as :class:`kbkit.benchmarks.ska.stats.SkaStatistics` names them."""
    return published("ska").of("1").get((form, ""))


def sizes(form: str, size: str) -> dict[str, float] | None:
    """Return the figures of Table 2: units, texts and tokens of knowledge bases of a form and size."""
    return published("ska").of("2").get((form, size))


def scores() -> Iterator[dict[str, Any]]:
    """Yield the figures of Tables 3 to 5: system, form, testbed, setting, value (percent)."""
    for table, testbed in _TESTBEDS.items():
        for (system, form), values in published("ska").of(table).items():
            if form != AVERAGE:
                for setting, value in values.items():
                    yield {"system": system, "form": form, "testbed": testbed, "setting": setting, "value": value}


def safe_rows() -> float:
    """Return the percentage of synthesized rows that reviewers found safe (section 3.2.3)."""
    return published("ska").value("", "synthesized rows", "", "safe")
