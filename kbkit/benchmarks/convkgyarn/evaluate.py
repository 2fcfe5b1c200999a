"""Scores of runs on conversations: Table 4 of ConvKGYarn, and paired differences between configurations.

A turn scores 1 if one of the predicted answers is right, decided by exact rules or by a model. Conversations of one
group have the same facts, so that two configurations are compared on the same facts, pair by pair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.benchmarks import run as running
from kbkit.benchmarks.convkgyarn import paper
from kbkit.benchmarks.convkgyarn.conversations import PROPERTIES, SETTINGS, Conversation, in_words
from kbkit.benchmarks.convkgyarn.judge import judge
from kbkit.benchmarks.convkgyarn.matching import matches
from kbkit.benchmarks.convkgyarn.run import ConvAnswers
from kbkit.display.charts import Chart
from kbkit.errors import KbError, UnknownNameError, plural
from kbkit.measures import scores as tests

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

SETS = ("general", "related")
MEASURES = ("turns", "conversations", "na")
BREAKDOWNS = (*PROPERTIES, "set", "form", "subject", "kind", "predicate", "type", "turn")
"""Columns of :func:`per_turn` that scores can be grouped by."""
_RESAMPLES = 10_000


Run = running.Run[ConvAnswers]
"""The predictions by conversation."""


# -- files ------------------------------------------------------------------------------------------------------------


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read runs of :func:`kbkit.benchmarks.convkgyarn.run.run`, or of another program in the same form.

    A line is ``{"id": conversation, "turns": [{"answers": [...]}, ...]}``. See
    :func:`kbkit.benchmarks.run.read_runs`.
    """
    return running.read_runs(paths, ConvAnswers, "conv run")


# -- scores -----------------------------------------------------------------------------------------------------------


def per_turn(
    conversations: Sequence[Conversation], runs: Sequence[Run], calls: Calls | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Score each turn that each run has, and return remarks on what is missing.

    Columns: system, conversation, group, set (general or related), interaction, deixis, disfluency, typo, turn (from
    1), type, predicate, kind, form, subject, question, gold, answers, score (0 or 1; null if the judge failed), na.
    With ``calls``, a model decides, see :mod:`kbkit.benchmarks.convkgyarn.judge`; without, the rules of
    :mod:`kbkit.benchmarks.convkgyarn.matching`. Raises :class:`KbError` for a run of other conversations.
    """
    remarks: list[str] = []
    frames = []
    for run in runs:
        known = [conversation for conversation in conversations if conversation.id in run.rows]
        if not known:
            raise KbError(f"{run.path} has none of the conversations", "Use the dataset that it was made with")
        attempts = [_checked(conversation, run) for conversation in known]
        if calls is not None:
            ratings, failures = judge(known, attempts, calls)
        else:
            ratings, failures = (
                [_matched(conversation, attempt) for conversation, attempt in zip(known, attempts, strict=True)],
                0,
            )
        frames.append(pl.DataFrame(list(_rows(run.name, known, attempts, ratings)), schema=_SCHEMA, orient="row"))
        remarks += _remarks(run, len(conversations) - len(known), attempts, failures)
    return pl.concat(frames), remarks


_TEXTS = ("system", "conversation", "group", "set", "interaction")
_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(_TEXTS, pl.String()),
        **dict.fromkeys(("deixis", "disfluency", "typo"), pl.Boolean()),
        "turn": pl.Int64(),
        **dict.fromkeys(("type", "predicate", "kind", "form", "subject", "question"), pl.String()),
        **dict.fromkeys(("gold", "answers"), pl.List(pl.String())),
        "score": pl.Int64(),
        "na": pl.Boolean(),
    }
)


def _checked(conversation: Conversation, run: Run) -> ConvAnswers:
    attempt = run.rows[conversation.id]
    if len(attempt.turns) != len(conversation.turns):
        message = f"{run.path} has {plural(len(attempt.turns), 'turn')} of conversation {conversation.id!r}"
        raise KbError(f"{message}, which has {len(conversation.turns)}", "Use the dataset that it was made with")
    return attempt


def _matched(conversation: Conversation, attempt: ConvAnswers) -> list[int | None]:
    pairs = zip(conversation.turns, attempt.turns, strict=True)
    return [int(matches(prediction.answers, turn)) for turn, prediction in pairs]


def _rows(
    system: str,
    conversations: Sequence[Conversation],
    attempts: Sequence[ConvAnswers],
    ratings: Sequence[Sequence[int | None]],
) -> Iterator[tuple[Any, ...]]:
    for conversation, attempt, rated in zip(conversations, attempts, ratings, strict=True):
        own = (
            system,
            conversation.id,
            conversation.group,
            SETS[conversation.related is not None],
            conversation.interaction,
        )
        noise = (conversation.deixis, conversation.disfluency, conversation.typo)
        for number, (turn, prediction, score) in enumerate(
            zip(conversation.turns, attempt.turns, rated, strict=True), 1
        ):
            gold = [answer.text for answer in turn.answers]
            about = conversation.related if turn.subject == "related" and conversation.related else conversation.entity
            facts = (about.type, turn.predicate, turn.kind, turn.form, turn.subject, turn.question)
            yield (*own, *noise, number, *facts, gold, prediction.answers, score, prediction.is_na)


def _remarks(run: Run, missing: int, attempts: Sequence[ConvAnswers], failures: int) -> list[str]:
    errors = sum(bool(turn.error) for attempt in attempts for turn in attempt.turns)
    remarks = []
    if missing:
        remarks.append(f"{run.name}: without {plural(missing, 'conversation')} that the run does not have")
    if errors:
        remarks.append(f"{run.name}: {plural(errors, 'turn')} with an invalid answer of the model, scored 0")
    if failures:
        remarks.append(f"{run.name}: {plural(failures, 'turn')} that the judge could not rate, left out")
    return remarks


# -- tables -----------------------------------------------------------------------------------------------------------

_MEANS = (
    pl.col("turn").len().cast(pl.Int64).alias("count"),
    pl.col("score").mean().alias("turns"),
    pl.col("na").mean().alias("na"),
)


def table(turns: pl.DataFrame, *, published: bool = True) -> pl.DataFrame:
    """Return Table 4: system, interaction, deixis, disfluency, typo, then for both sets the measures.

    ``general_turns`` and ``general_conversations`` are means of scores over turns, and over conversations of their mean
    over turns; ``general_na`` is the fraction of turns without an answer; the same for ``related``. With ``published``,
    rows of the paper's systems follow.
    """
    place = {setting: position for position, setting in enumerate(SETTINGS)}
    systems = turns["system"].unique(maintain_order=True).to_list()
    means = _measured(turns, ["system", "set", *PROPERTIES])
    cells: dict[tuple[Any, ...], dict[str, float | None]] = {}
    for row in means.iter_rows(named=True):
        key = (row["system"], *(row[name] for name in PROPERTIES))
        cells.setdefault(key, {}).update({f"{row['set']}_{name}": row[name] for name in MEASURES})
    order = sorted(cells, key=lambda key: (systems.index(key[0]), place.get(key[1:], len(place)), key[1:]))
    rows = [(*key, *(cells[key].get(f"{kind}_{name}") for name in MEASURES for kind in SETS)) for key in order]
    if published:
        wanted = {key[1:] for key in order}
        rows += [row for row in _published() if row[1:5] in wanted]
    names = [f"{kind}_{name}" for name in MEASURES for kind in SETS]
    schema = {"system": pl.String, "interaction": pl.String, **dict.fromkeys(PROPERTIES[1:], pl.Boolean)}
    return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(names, pl.Float64)}, orient="row")


def as_printed(scores: pl.DataFrame) -> pl.DataFrame:
    """Return Table 4 as the paper prints it: ``general / related`` in each cell, three digits."""

    def shown(kind: str, name: str) -> pl.Expr:
        return pl.col(f"{kind}_{name}").map_elements(lambda value: f"{value:.3f}", pl.String).fill_null("-")

    cells = [pl.format("{} / {}", *(shown(kind, name) for kind in SETS)).alias(name) for name in MEASURES]
    marks = [pl.when(pl.col(name)).then(pl.lit("x")).otherwise(pl.lit("")).alias(name) for name in PROPERTIES[1:]]
    return scores.select("system", "interaction", *marks, *cells)


def _published() -> Iterator[tuple[Any, ...]]:
    for system in paper.systems():
        for setting in SETTINGS:
            pair = [paper.effects(system, kind, setting) for kind in SETS]
            yield (f"{system} (paper)", *setting, *(one[name] for name in MEASURES for one in pair))


def _measured(turns: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the measures of each group: ``by``, count (turns), turns, na, conversations."""
    over_turns = turns.group_by(by, maintain_order=True).agg(_MEANS)
    each = turns.group_by(*by, "conversation", maintain_order=True).agg(pl.col("score").mean())
    over_conversations = each.group_by(by, maintain_order=True).agg(pl.col("score").mean().alias("conversations"))
    return over_turns.join(over_conversations, on=list(by), how="left", nulls_equal=True, maintain_order="left")


def breakdown(turns: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return count (turns), turns, conversations, na for each system and group of ``by`` (of ``BREAKDOWNS``)."""
    for name in by:
        if name not in BREAKDOWNS:
            raise UnknownNameError("column", name, BREAKDOWNS)
    columns = ["system", *dict.fromkeys(by)]
    systems = pl.Enum(turns["system"].unique(maintain_order=True).to_list())
    means = _measured(turns, columns).with_columns(pl.col("system").cast(systems)).sort(columns)
    return means.with_columns(pl.col("system").cast(pl.String)).select(*columns, "count", *MEASURES)


def differences(turns: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Compare configurations that differ in one property, and systems, on the same facts.

    A row for each pair: compared (deixis, disfluency, typo, interaction or system), system (two systems as ``A / B``),
    set, first and second (the two configurations), groups (with both), mean_first, mean_second, difference (second -
    first), low, high (its 95 % interval, paired bootstrap over groups), p (two-sided, paired randomization test).
    Scores are those of conversations; see :func:`kbkit.measures.scores.compare`.
    """
    scores = turns.group_by("system", "set", *PROPERTIES, "group", maintain_order=True).agg(pl.col("score").mean())
    rows = []
    for compared, system, kind, first, second, both in _pairs(scores):
        tested = tests.compare(*both, n=_RESAMPLES, seed=seed).row(0, named=True)
        figures = (tested[name] for name in ("mean_a", "mean_b", "difference", "low", "high", "p_randomization"))
        rows.append((compared, system, kind, first, second, tested["queries"], *figures))
    texts = dict.fromkeys(("compared", "system", "set", "first", "second"), pl.String)
    figures_of = dict.fromkeys(("mean_first", "mean_second", "difference", "low", "high", "p"), pl.Float64)
    return pl.DataFrame(rows, schema={**texts, "groups": pl.Int64, **figures_of}, orient="row")


Pair = tuple[str, str, str, str, str, tuple[pl.DataFrame, pl.DataFrame]]


def _pairs(scores: pl.DataFrame) -> Iterator[Pair]:
    """Yield what is compared, the system, the set, the names of both sides, and their scores by group."""
    parts = dict(scores.group_by("system", "set", *PROPERTIES, maintain_order=True))
    for compared in ("deixis", "disfluency", "typo", "interaction", "system"):
        for one, two in combinations(parts, 2):
            first, second = sorted((one, two), key=lambda key: _order(key, scores))
            if _difference(first, second) != compared:
                continue
            both = _same_groups(parts[first], parts[second])
            if both[0].height:
                system = f"{first[0]} / {second[0]}" if compared == "system" else first[0]
                yield compared, system, first[1], in_words(first[2:]), in_words(second[2:]), both


def _order(key: tuple[Any, ...], scores: pl.DataFrame) -> tuple[Any, ...]:
    """Return a key by which the plain configuration comes first, and systems are in their order."""
    systems = scores["system"].unique(maintain_order=True).to_list()
    return systems.index(key[0]), *(value == "text" if isinstance(value, str) else value for value in key[2:])


def _difference(first: tuple[Any, ...], second: tuple[Any, ...]) -> str:
    """Return the one property in which two configurations of a set differ, else ""."""
    names = ("system", "set", *PROPERTIES)
    differ = [name for name, one, two in zip(names, first, second, strict=True) if one != two]
    return differ[0] if len(differ) == 1 and differ[0] != "set" else ""


def _same_groups(first: pl.DataFrame, second: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    columns = [pl.col("group").alias("query"), "score"]
    both = [frame.filter(pl.col("score").is_not_null()).select(columns) for frame in (first, second)]
    common = both[0].join(both[1], on="query", how="semi", maintain_order="left")
    return common, both[1].join(common, on="query", how="semi", maintain_order="left")


def charts(turns: pl.DataFrame) -> list[Chart]:
    """Return a chart of the mean score and one of the ratio of NA for each set: bars by configuration and system."""
    means = _measured(turns, ["system", "set", *PROPERTIES])
    named = means.with_columns(
        pl.struct(PROPERTIES).map_elements(lambda row: in_words(list(row.values())), pl.String).alias("configuration")
    )
    order = {in_words(setting): position for position, setting in enumerate(SETTINGS)}
    named = named.sort(pl.col("configuration").replace_strict(order, default=len(order)), maintain_order=True)
    kinds = [kind for kind in SETS if kind in named["set"]]
    titles = {"turns": "mean score of turns", "na": "turns without an answer"}
    return [
        Chart(
            f"{title}, {kind} set",
            named.filter(pl.col("set") == kind),
            "configuration",
            measure,
            colour="system",
            percent=True,
            flat=True,
            x_title="",
            y_title=title,
        )
        for kind in kinds
        for measure, title in titles.items()
    ]


def checked_against(run: Run, digest: str) -> list[str]:
    """Return a remark if a run was made with another version of the conversations (their SHA-256)."""
    recorded = run.settings.get("conversations")
    if recorded and recorded != digest:
        return [f"{run.name}: made with another version of the conversations ({json.dumps(recorded)[1:9]}...)"]
    return []
