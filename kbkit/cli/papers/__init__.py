"""Commands of the five papers.

``making`` makes datasets and ``describing`` describes them, ``annotating`` and ``judgements`` are about people, and
``*_runs`` run and score systems, all papers side by side or a module for each.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.papers import (
    annotating,
    conv_runs,
    describing,
    judgements,
    making,
    quest_runs,
    ska_runs,
    ska_scores,
    spinach_runs,
    stark_runs,
)

COMMANDS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "stark": (
        "Make, run and score STaRK datasets.",
        {
            "make": making.make_stark,
            "stats": describing.stark_stats,
            "run": stark_runs.run,
            "eval": stark_runs.evaluate,
            "write": annotating.stark_write,
            "labels": judgements.stark_labels,
            "rate": annotating.stark_rate,
            "ratings": judgements.stark_ratings,
            "generate": making.generate_stark,
        },
    ),
    "quest": (
        "Make, run and score QUEST datasets.",
        {
            "make": making.make_quest,
            "documents": making.quest_documents,
            "stats": describing.quest_stats,
            "annotate": annotating.quest_annotate,
            "agreement": judgements.quest_agreement,
            "run": quest_runs.run,
            "eval": quest_runs.evaluate,
            "purity": describing.quest_purity,
        },
    ),
    "ska": (
        "Make, run and score SKA-Bench datasets.",
        {
            "make": making.make_ska,
            "check": describing.ska_check,
            "testbed": ska_runs.testbed,
            "prompt": ska_runs.prompt,
            "run": ska_runs.run,
            "eval": ska_scores.evaluate,
            "stats": describing.ska_stats,
            "annotate": annotating.ska_annotate,
            "review": annotating.ska_review,
            "agreement": judgements.ska_agreement,
            "revise": judgements.ska_revise,
        },
    ),
    "spinach": (
        "Check, run and score questions with SPARQL.",
        {
            "stats": describing.spinach_stats,
            "check": describing.spinach_check,
            "run": spinach_runs.run,
            "eval": spinach_runs.evaluate,
        },
    ),
    "conv": (
        "Make, run and score conversations (ConvKGYarn).",
        {
            "make": making.make_conv,
            "stats": describing.conv_stats,
            "run": conv_runs.run,
            "eval": conv_runs.evaluate,
            "rate": annotating.conv_rate,
            "compare": annotating.conv_compare,
            "ratings": judgements.conv_ratings,
            "proxies": describing.conv_proxies,
        },
    ),
}
"""The groups of commands with their help, and the commands of each."""


def register(app: typer.Typer) -> None:
    """Add the groups of commands to the program."""
    for name, (help_, commands) in COMMANDS.items():
        paper = group(help_)
        for command, function in commands.items():
            add(paper, function, command)
        app.add_typer(paper, name=name)
