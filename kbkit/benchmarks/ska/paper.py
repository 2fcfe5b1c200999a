"""Figures of the paper (SKA-Bench, ACL submission): Tables 1 to 5, in its order of forms and models."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, NamedTuple

from kbkit.benchmarks.ska.settings import FORMS
from kbkit.benchmarks.ska.testbeds import NOISE, ONLY, ORDER, REJECTION, orders_of, sizes_of

_NAMES = (
    "Llama3.1-8B",
    "TableGPT-2",
    "Qwen2.5-7B",
    "GLM4-9B",
    "Mistral-7B",
    "DeepSeek-v3",
    "GPT-4o",
    "DeepSeek-R1",
)


class Counted(NamedTuple):
    """Table 1: means per instance. Pairs are of structured units and of passages; None without passages.

    Tokens of positive units are means per unit.
    """

    question_tokens: float
    answers: float
    positive: tuple[float, float | None]
    positive_tokens: tuple[float, float | None]
    noise: tuple[float, float | None]
    instances: int
    minutes: float


COUNTS = MappingProxyType({
    "kg": Counted(15.75, 1.96, (4.25, None), (16.77, None), (4541.39, None), 233, 5.9),
    "table": Counted(23.31, 1.10, (3.40, None), (30.88, None), (1521.83, None), 295, 3.6),
    "kg+text": Counted(30.76, 1.86, (2.53, 1.92), (22.31, 1053.55), (417.29, 79.84), 195, 6.8),
    "table+text": Counted(22.41, 1.01, (1.17, 1.28), (28.37, 203.78), (1144.55, 661.90), 198, 5.8),
})  # fmt: skip

SIZES = MappingProxyType({
    ("kg", "1k"): (34.23, None, 637.64),
    ("kg", "4k"): (150.34, None, 2831.40),
    ("kg", "12k"): (604.35, None, 11394.18),
    ("kg", "24k"): (1167.19, None, 22036.82),
    ("table", "1k"): (29.39, None, 777.45),
    ("table", "4k"): (130.39, None, 3268.45),
    ("table", "12k"): (488.00, None, 12054.15),
    ("table", "24k"): (958.78, None, 23595.51),
    ("kg+text", "4k"): (11.37, 2.91, 3172.54),
    ("kg+text", "12k"): (40.84, 6.79, 7417.67),
    ("kg+text", "24k"): (153.45, 19.11, 21644.20),
    ("table+text", "4k"): (25.82, 14.58, 3510.74),
    ("table+text", "12k"): (75.81, 119.01, 11899.54),
    ("table+text", "24k"): (165.81, 369.01, 23070.81),
})  # fmt: skip
"""Table 2: means of structured units, of passages and of tokens, by form and size."""

_NOISE = (
    (67.53, 58.19, 45.86, 42.34, 27.56, 23.52, 22.16, 13.05, 67.02, 58.89, 49.28, 30.27, 18.44, 12.48),
    (78.93, 66.76, 53.14, 48.49, 24.40, 24.05, 20.09, 16.02, 64.84, 55.16, 46.92, 35.91, 25.63, 25.60),
    (72.45, 60.00, 47.98, 40.97, 36.69, 32.04, 30.45, 28.68, 76.51, 62.82, 51.83, 38.49, 36.00, 28.56),
    (82.95, 66.04, 52.75, 49.95, 19.55, 17.71, 16.77, 17.26, 75.39, 65.14, 55.29, 32.13, 33.65, 30.13),
    (59.04, 60.34, 47.98, 45.20, 17.67, 18.11, 16.91, 16.19, 69.37, 66.97, 53.54, 29.21, 25.40, 15.83),
    (85.06, 73.93, 65.85, 59.08, 54.42, 51.83, 47.58, 45.57, 77.12, 74.96, 68.87, 55.64, 53.61, 48.55),
    (85.33, 73.42, 63.04, 58.61, 51.39, 45.18, 40.55, 38.24, 77.38, 73.53, 67.39, 56.52, 53.28, 51.97),
    (89.95, 81.58, 70.32, 64.67, 61.96, 61.88, 61.02, 58.24, 83.14, 78.67, 71.92, 62.24, 57.62, 56.97),
)
"""Table 3: macro-F1 in percent, a row for each model; the columns are forms and their sizes."""

_ORDER = (
    (55.07, 58.19, 65.85, 23.52, 22.71, 19.47, 24.57, 61.85, 58.89, 62.55, 18.44, 22.37, 18.53, 24.41),
    (82.07, 66.76, 77.36, 24.05, 26.40, 17.25, 21.62, 57.47, 55.16, 54.53, 25.63, 36.75, 24.44, 28.03),
    (78.60, 60.00, 75.70, 32.04, 33.26, 24.07, 31.38, 64.89, 62.82, 67.74, 36.00, 48.29, 29.37, 37.46),
    (81.30, 66.04, 82.55, 17.71, 21.15, 12.38, 16.22, 70.05, 65.14, 69.34, 33.65, 41.20, 23.89, 31.14),
    (73.28, 60.34, 64.30, 18.11, 21.32, 14.76, 15.92, 63.19, 66.97, 66.36, 25.40, 33.16, 15.44, 27.78),
    (84.40, 73.93, 87.52, 51.83, 49.32, 44.75, 51.31, 76.81, 74.96, 76.41, 53.61, 55.80, 47.02, 49.06),
    (81.75, 73.42, 83.69, 45.18, 45.62, 40.47, 43.33, 74.88, 73.53, 74.98, 53.28, 54.88, 47.72, 52.23),
    (89.90, 81.58, 89.40, 61.88, 67.11, 61.63, 64.36, 79.60, 78.67, 81.12, 57.62, 59.28, 53.04, 57.97),
)
"""Table 4, likewise: forms and their orders."""

_REJECTION = (
    (49.36, 47.46, 48.21, 56.57),
    (83.69, 70.85, 85.13, 93.94),
    (81.55, 70.17, 75.90, 80.81),
    (69.96, 61.69, 63.59, 71.72),
    (61.37, 62.71, 51.28, 53.03),
    (78.54, 69.83, 58.97, 69.70),
    (87.98, 73.56, 76.92, 80.81),
    (91.42, 72.88, 68.21, 82.32),
)
"""Table 5: rejection rates in percent, by form."""

REJECTION_AVERAGES = MappingProxyType(
    dict(zip(_NAMES, (50.40, 83.40, 77.11, 66.74, 57.10, 69.26, 79.82, 78.71), strict=True))
)
"""The last column of Table 5."""


def scores() -> Iterator[dict[str, Any]]:
    """Yield the figures of Tables 3 to 5: system, form, testbed, setting, value (percent)."""
    for testbed, rows, settings in (
        (NOISE, _NOISE, sizes_of),
        (ORDER, _ORDER, orders_of),
        (REJECTION, _REJECTION, lambda _: (ONLY,)),
    ):
        columns = [(form, setting) for form in FORMS for setting in settings(form)]
        for system, row in zip(_NAMES, rows, strict=True):
            for (form, setting), value in zip(columns, row, strict=True):
                yield {"system": system, "form": form, "testbed": testbed, "setting": setting, "value": value}
