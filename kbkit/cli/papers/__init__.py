"""Commands of the five papers.

``making`` makes datasets and ``describing`` describes them, ``annotating`` and ``judgements`` are about people, and
``*_runs`` run and score systems, all papers side by side or a module for each. ``factory`` has what they share.
"""

from __future__ import annotations

import functools
import importlib

import typer

from kbkit.cli.commands import LazyGroup, add

GROUPS = {
    "stark": "Make, run and score STaRK datasets.",
    "quest": "Make, run and score QUEST datasets.",
    "ska": "Make, run and score SKA-Bench datasets.",
    "spinach": "Check, run and score questions with SPARQL.",
    "conv": "Make, run and score conversations (ConvKGYarn).",
}
"""The groups of commands, with their help."""


COMMANDS: dict[str, dict[str, str]] = {
    "stark": {
        "make": "making.make_stark",
        "stats": "describing.stark_stats",
        "audit": "describing.stark_audit",
        "run": "stark_runs.run",
        "eval": "stark_runs.evaluate",
        "case": "stark_runs.case",
        "write": "annotating.stark_write",
        "labels": "judgements.stark_labels",
        "rate": "annotating.stark_rate",
        "ratings": "judgements.stark_ratings",
        "generate": "making.generate_stark",
    },
    "quest": {
        "make": "making.make_quest",
        "documents": "making.quest_documents",
        "stats": "describing.quest_stats",
        "annotate": "annotating.quest_annotate",
        "agreement": "judgements.quest_agreement",
        "run": "quest_runs.run",
        "eval": "quest_runs.evaluate",
        "purity": "describing.quest_purity",
    },
    "ska": {
        "make": "making.make_ska",
        "check": "describing.ska_check",
        "testbed": "ska_runs.testbed",
        "prompt": "ska_runs.prompt",
        "run": "ska_runs.run",
        "eval": "ska_scores.evaluate",
        "stats": "describing.ska_stats",
        "annotate": "annotating.ska_annotate",
        "review": "annotating.ska_review",
        "agreement": "judgements.ska_agreement",
        "revise": "judgements.ska_revise",
    },
    "spinach": {
        "stats": "describing.spinach_stats",
        "check": "describing.spinach_check",
        "run": "spinach_runs.run",
        "eval": "spinach_runs.evaluate",
        "errors": "spinach_runs.errors",
    },
    "conv": {
        "make": "making.make_conv",
        "stats": "describing.conv_stats",
        "run": "conv_runs.run",
        "eval": "conv_runs.evaluate",
        "rate": "annotating.conv_rate",
        "compare": "annotating.conv_compare",
        "ratings": "judgements.conv_ratings",
        "proxies": "describing.conv_proxies",
    },
}
"""The commands of each group, with the modules and names of their functions."""


def register(app: typer.Typer) -> None:
    """Add the groups of commands to the program; their modules are imported when they are needed."""
    for name, help_ in GROUPS.items():
        app.add_typer(LazyGroup(help_, functools.partial(_load, name)), name=name)


def _load(name: str, paper: typer.Typer) -> None:
    """Add the commands of a paper to its group."""
    for command, place in COMMANDS[name].items():
        module, function = place.split(".")
        add(paper, getattr(importlib.import_module(f"{__name__}.{module}"), function), command)
