"""The figures of the ConvKGYarn paper: Tables 2, 3 and 4.

Table 4 was measured on 100 conversations of each set in each configuration, made from Wikidata of June 2023.
"""

from __future__ import annotations

from kbkit.benchmarks.convkgyarn.conversations import PROPERTIES, Setting
from kbkit.benchmarks.report import published

DIMENSIONS = ("fluency", "relevance", "diversity", "grammar")
AGREEMENT = "agreement"


def named(setting: Setting) -> str:
    """Return a configuration as the file of the paper's figures calls it: ``voice, deixis, disfluency``."""
    noise = zip(PROPERTIES[1:], setting[1:], strict=True)
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
