"""The figures of the ConvKGYarn paper: Tables 2, 3 and 4.

Table 4 was measured on 100 conversations of each set in each configuration, made from Wikidata of June 2023.
"""

from __future__ import annotations

from typing import NamedTuple

Setting = tuple[str, bool, bool, bool]
"""interaction, deixis, disfluency, typo."""

SETTINGS: tuple[Setting, ...] = tuple(
    (interaction, deixis, noise and interaction == "voice", noise and interaction == "text")
    for interaction in ("voice", "text")
    for deixis in (False, True)
    for noise in (False, True)
)
"""The eight configurations in the order of the paper's rows."""


class Effect(NamedTuple):
    """A cell triple of Table 4: mean over turns, mean over conversations, ratio of NA."""

    turns: float
    conversations: float
    na: float


def _effects(*cells: tuple[float, ...]) -> dict[tuple[bool, Setting], Effect]:
    """Return the effects by (related, setting) from rows of six numbers, general before related."""
    rows = zip(SETTINGS, cells, strict=True)
    return {
        (related, setting): Effect(row[related], row[2 + related], row[4 + related])
        for setting, row in rows
        for related in (False, True)
    }


TABLE_4 = {
    "GPT3.5 (paper)": _effects(
        (0.246, 0.326, 0.234, 0.323, 0.485, 0.304),
        (0.250, 0.349, 0.236, 0.346, 0.434, 0.272),
        (0.261, 0.305, 0.244, 0.303, 0.440, 0.312),
        (0.261, 0.306, 0.254, 0.304, 0.432, 0.276),
        (0.246, 0.333, 0.233, 0.329, 0.459, 0.276),
        (0.220, 0.279, 0.199, 0.277, 0.513, 0.352),
        (0.239, 0.307, 0.221, 0.302, 0.445, 0.306),
        (0.201, 0.220, 0.179, 0.219, 0.519, 0.433),
    ),
    "GPT4 (paper)": _effects(
        (0.301, 0.391, 0.292, 0.387, 0.352, 0.252),
        (0.320, 0.412, 0.307, 0.407, 0.329, 0.232),
        (0.299, 0.374, 0.288, 0.370, 0.333, 0.269),
        (0.299, 0.384, 0.290, 0.381, 0.340, 0.244),
        (0.316, 0.371, 0.294, 0.366, 0.335, 0.285),
        (0.265, 0.347, 0.242, 0.346, 0.451, 0.350),
        (0.269, 0.361, 0.248, 0.355, 0.385, 0.309),
        (0.222, 0.290, 0.201, 0.285, 0.479, 0.396),
    ),
}

DIMENSIONS = ("fluency", "relevance", "diversity", "grammar")
AGREEMENT = "agreement"

_TABLE_2 = (
    ("voice", False, ((3.97, 4.63, 2.40, 3.90, 75.5), (3.39, 4.49, 2.25, 3.37, 73.5), (3.99, 4.59, 2.45, 3.77, 74.8),
                      (3.29, 4.41, 2.32, 3.02, 71.0))),
    ("voice", True, ((3.70, 3.71, 2.66, 3.69, 68.5), (3.34, 3.74, 2.59, 3.39, 67.6), (3.76, 3.89, 2.79, 3.72, 69.3),
                     (3.36, 3.73, 2.73, 3.38, 71.5))),
    ("text", False, ((2.83, 4.41, 2.19, 2.95, 70.8), (2.61, 4.36, 2.17, 2.18, 68.8), (2.84, 4.36, 2.29, 2.83, 67.1),
                     (2.29, 4.09, 2.00, 1.63, 73.0))),
    ("text", True, ((2.57, 3.38, 2.58, 2.75, 66.3), (2.29, 3.45, 2.45, 1.97, 71.5), (2.48, 3.33, 2.54, 2.73, 70.8),
                    (2.12, 3.31, 2.58, 1.86, 68.5))),
)  # fmt: skip

TABLE_2: dict[tuple[bool, Setting], dict[str, float]] = {
    (related, setting): dict(zip((*DIMENSIONS, AGREEMENT), row, strict=True))
    for interaction, related, rows in _TABLE_2
    for setting, row in zip([one for one in SETTINGS if one[0] == interaction], rows, strict=True)
}
"""Means of ratings from 1 to 5, and percent of ratings on which two of three raters agree."""

TABLE_3 = {
    "preference": dict(zip(DIMENSIONS, (45.0, 62.2, 56.0, 56.6), strict=True)),
    "agreement": dict(zip(DIMENSIONS, (84.6, 89.0, 82.2, 86.6), strict=True)),
}
"""Percent of graders who prefer ConvKGYarn to ConvQuestions, and percent of agreement."""
