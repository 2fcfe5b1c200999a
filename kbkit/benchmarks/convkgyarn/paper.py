"""The figures of the ConvKGYarn paper: Tables 2, 3 and 4.

Table 4 was measured on 100 conversations of each set in each configuration, made from Wikidata of June 2023.
"""

from __future__ import annotations

from kbkit.benchmarks.report import published

Setting = tuple[str, bool, bool, bool]
"""interaction, deixis, disfluency, typo."""

SETTINGS: tuple[Setting, ...] = tuple(
    (interaction, deixis, noise and interaction == "voice", noise and interaction == "text")
    for interaction in ("voice", "text")
    for deixis in (False, True)
    for noise in (False, True)
)
"""The eight configurations in the order of the paper's rows."""


DIMENSIONS = ("fluency", "relevance", "diversity", "grammar")
AGREEMENT = "agreement"


def named(setting: Setting) -> str:
    """Return a configuration as the file of the paper's figures calls it: ``voice, deixis, disfluency``."""
    noise = zip(("deixis", "disfluency", "typo"), setting[1:], strict=True)
    return ", ".join([setting[0], *(name for name, on in noise if on)])


def statistics(name: str) -> dict[str, float]:
    """Return the figures of Table 1 for the set ``general`` or ``related``."""
    return published("convkgyarn").of("1")[name, ""]


def ratings(name: str, setting: Setting) -> dict[str, float]:
    """Return the figures of Table 2, empty without any: means of ratings from 1 to 5, and percent of agreement."""
    return published("convkgyarn").of("2").get((name, named(setting)), {})


def preferences(dimension: str) -> dict[str, float]:
    """Return the figures of Table 3: percent of graders who prefer ConvKGYarn to ConvQuestions, and of agreement."""
    return published("convkgyarn").of("3")[dimension, ""]


def systems() -> list[str]:
    """Return the systems of Table 4."""
    return list(dict.fromkeys(system for system, _ in published("convkgyarn").of("4")))


def effects(system: str, name: str, setting: Setting) -> dict[str, float]:
    """Return the figures of Table 4: means over turns and over conversations, ratio of NA."""
    return published("convkgyarn").of("4")[system, f"{name}, {named(setting)}"]
