"""Commands that clean a KB: duplicates."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.build import summarize
from kbkit.cli.commands import add
from kbkit.cli.judging import InBrowser, judge
from kbkit.cli.options import Kb, Rendering, argument, note, option
from kbkit.errors import KbError, Option, plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.ingestion.merging import PairDecision

_SHOWN = 3
_ON_SCREEN = ("score", "type", "key", "name", "other_key", "other_name", "neighbors", "same", "differ")


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, duplicates)


def duplicates(
    context: typer.Context,
    kb: Kb,
    node_type: Annotated[str | None, argument("TYPE", "Node type to look at (default: all).")] = None,
    k: Annotated[int, option("-k N", "Number of pairs.", min=1)] = 100,
    least: Annotated[float, option("--min-score FRACTION", "Least score of a pair.", min=0.5, max=1)] = 0.85,
    decide: Annotated[
        Path | None,
        option("--decide FILE", "Decide on each pair; decisions go to FILE (JSON lines)."),
    ] = None,
    rater: Annotated[str, option("--rater NAME", "Name of the person who rates.")] = "me",
    browser: InBrowser = False,
    merge: Annotated[
        Path | None,
        option("--merge FILE", "Merge the pairs that FILE decides to merge."),
    ] = None,
    *,
    rendering: Rendering,
) -> None:
    """Find nodes that may be the same, and merge them.

    Nothing is merged without a decision: write the pairs to a file (-o pairs.csv) and enter merge or apart in its
    column decision, or use --decide. Then --merge FILE builds the next generation of the KB, in which the first
    node of a pair has the names, keys, texts and edges of the other as well.
    """
    if merge is not None:
        if decide is not None:
            raise KbError("Conflicting options: pairs are decided or merged", "Use one of the two")
        _merge(context, kb, merge)
        return
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        found = opened.duplicates(node_type, k, least)
        if decide is not None:
            from kbkit.benchmarks.people.same_nodes import SameNodes

            judge(context, SameNodes(opened, found, decide, rater), browser)
            note(context, [f"To merge: kbkit duplicates {kb} --merge {decide}"])
            return
    if browser:
        raise KbError("No file for the decisions", "Use ", Option("decide", "FILE"))
    rendering.write(_short(found) if rendering.on_screen else found)
    if rendering.output is not None:
        note(context, [f"Enter merge or apart as the decision; then: kbkit duplicates {kb} --merge {rendering.output}"])


def _short(found: pl.DataFrame) -> pl.DataFrame:
    """Return the columns for the screen, with the first of many attributes."""
    import polars as pl

    def first_some(name: str) -> pl.Expr:
        listed = pl.col(name).str.split("; ")
        more = pl.format("{} and {} more", listed.list.head(_SHOWN).list.join("; "), listed.list.len() - _SHOWN)
        return pl.when(listed.list.len() > _SHOWN + 1).then(more).otherwise(pl.col(name)).alias(name)

    return found.select(_ON_SCREEN).with_columns(first_some("same"), first_some("differ"))


def _merge(context: typer.Context, kb: Path, path: Path) -> None:
    from kbkit.cli.progress import bars
    from kbkit.ingestion.update import merge

    started = time.perf_counter()
    decided = _decisions(path)
    with bars(context.obj.quiet) as listener:
        merge(kb, decided, path, listener)
    note(context, [f"{plural(sum(one.decision == 'merge' for one in decided), 'pair')} merged"])
    summarize(context, kb, started)


def _decisions(path: Path) -> list[PairDecision]:
    """Return the decisions of a table, or of a file of judgements."""
    from kbkit.benchmarks.people.same_nodes import decisions
    from kbkit.ingestion.merge_file import read_decisions

    if path.suffix.lower() in (".jsonl", ".ndjson") and path.is_file():
        with path.open("rb") as handle:
            if b'"who"' in handle.readline(10_000):
                return decisions(path)
    return read_decisions(path)
