"""Statistics of a dataset: Tables 1 and 2 and Figure 4 of the paper, beside its figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from kbkit.benchmarks.dataset import distribution
from kbkit.benchmarks.report import HERE, beside
from kbkit.benchmarks.ska import paper
from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit
from kbkit.benchmarks.ska.rendering import line
from kbkit.benchmarks.ska.settings import FORMS
from kbkit.benchmarks.ska.testbeds import Report, budget, fitting, sized, sizes_of
from kbkit.benchmarks.ska.tokens import Tokenizer, tokenizer
from kbkit.display.charts import Chart

_COUNTED = (
    "question_tokens", "answers", "positive", "positive_texts", "positive_tokens", "text_tokens", "noise",
    "noise_texts",
)  # fmt: skip
MOST = 10
"""Numbers of positive units from this on are one group of Figure 4."""
_BINS = (*((number, number) for number in range(1, MOST)), (MOST, None))


@dataclass(frozen=True)
class SkaStatistics:
    """Frames for the tables and the figure, all with the columns ``form`` and ``figures`` (here or paper).

    * ``counts`` (Table 1): instances and means: tokens of questions, answers, positive units (structured, and passages
      as positive_texts), tokens of a positive unit (positive_tokens, text_tokens), noise, noise_texts
    * ``sizes`` (Table 2): size, instances, and means of units, texts and tokens
    * ``distribution`` (Figure 4): positive (number of units; ``10+``), instances, percent
    """

    tokenizer: str
    counts: pl.DataFrame
    sizes: pl.DataFrame
    distribution: pl.DataFrame

    def sections(self) -> list[tuple[str, pl.DataFrame]]:
        """Return titles and frames to print."""
        shares = self.distribution.with_columns(pl.col("percent").round(1))
        wide = shares.pivot("positive", index="form", values="percent", maintain_order=True)
        order = [str(number) for number in range(1, MOST)] + [f"{MOST}+"]
        figure = wide.select("form", *(name for name in order if name in wide.columns))
        return [
            ("Table 1: means per instance; triples or rows / passages", _narrow(self.counts)),
            ("Table 2: means per knowledge base of each size", self.sizes),
            ("Figure 4: instances by number of positive units, in percent", figure),
        ]


def statistics(
    instances: Iterable[Instance],
    counted: Tokenizer | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> SkaStatistics:
    """Compute the statistics of a dataset, reading its instances once."""
    counted = counted or tokenizer()
    rows: list[tuple[object, ...]] = []
    sizes: dict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
    units: dict[str, list[int]] = defaultdict(list)
    for number, instance in enumerate(instances, 1):
        rows.append(_row(instance, counted))
        units[instance.form].append(len(instance.positive))
        one = sized(instance, counted)
        for size in sizes_of(instance.form):
            fits = fitting(one, budget(size))
            if fits is not None:
                chosen = [*instance.positive, *instance.noise[: fits[0]]]
                structured = sum(unit.is_structured for unit in chosen)
                sizes[instance.form, size].append((structured, len(chosen) - structured, fits[1]))
        progress(number, 0)
    return SkaStatistics(counted.name, _counts(rows), _sizes(sizes), _distribution(units))


def _row(instance: Instance, counted: Tokenizer) -> tuple[object, ...]:
    structured, texts = _apart(instance.positive)
    tokens = counted.counts([instance.question, *map(line, structured), *map(line, texts)])
    noise, passages = _apart(instance.noise)
    hybrid = "text" in instance.form
    return (
        instance.form,
        tokens[0],
        len(instance.answers),
        len(structured),
        len(texts) if hybrid else None,
        sum(tokens[1 : 1 + len(structured)]),
        sum(tokens[1 + len(structured) :]) if hybrid else None,
        len(noise),
        len(passages) if hybrid else None,
    )


def _apart(units: list[KnowledgeUnit]) -> tuple[list[KnowledgeUnit], list[KnowledgeUnit]]:
    """Return structured units and passages."""
    return [unit for unit in units if unit.is_structured], [unit for unit in units if not unit.is_structured]


def _counts(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema={"form": pl.String, **dict.fromkeys(_COUNTED, pl.Float64)}, orient="row")
    means = frame.group_by("form").agg(
        pl.len().cast(pl.Int64).alias("instances"),
        pl.col("question_tokens", "answers", "positive", "positive_texts").mean(),
        pl.col("positive_tokens").sum() / pl.col("positive").sum(),
        pl.col("text_tokens").sum() / pl.col("positive_texts").sum(),
        pl.col("noise", "noise_texts").mean(),
    )
    # 0 / 0 in a form without passages
    means = means.with_columns(pl.col("positive_tokens", "text_tokens").fill_nan(None))
    columns = means.columns[1:]

    def printed(form: str) -> list[float | None] | None:
        counts = paper.counts(form)
        return None if counts is None else [counts.get(name) for name in columns]

    return _rounded(beside(_in_order(means), ["form"], printed))


def _narrow(counts: pl.DataFrame) -> pl.DataFrame:
    """Return Table 1 as the paper prints it, with passages in the columns of triples and rows: ``2.53/1.92``."""
    pairs = [("positive", "positive_texts"), ("positive_tokens", "text_tokens"), ("noise", "noise_texts")]
    shown = [
        pl.concat_str(pl.col(pair).round(2).cast(pl.String), separator="/", ignore_nulls=True).alias(pair[0])
        for pair in map(list, pairs)
    ]
    return counts.with_columns(shown).drop(text for _, text in pairs)


def _sizes(sizes: dict[tuple[str, str], list[tuple[int, int, int]]]) -> pl.DataFrame:
    here = []
    for (form, size), counts in sizes.items():
        means = [sum(column) / len(counts) for column in zip(*counts, strict=True)]
        here.append((form, size, len(counts), means[0], means[1] if "text" in form else None, means[2]))
    return _size_table(here)


def report_sizes(report: Report) -> pl.DataFrame:
    """Return Table 2 from the report of testbeds."""
    here = []
    for form, size, count, units, texts, tokens, _ in report.sizes:
        means = (units / count, texts / count if "text" in form else None, tokens / count)
        here.append((form, size, count, *means))
    return _size_table(here)


def _size_table(here: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    means = ("units", "texts", "tokens")
    schema = {"form": pl.String, "size": pl.String, "instances": pl.Int64, **dict.fromkeys(means, pl.Float64)}
    frame = pl.DataFrame(here, schema=schema, orient="row")

    def printed(form: str, size: str) -> list[float | None] | None:
        sizes = paper.sizes(form, size)
        return None if sizes is None else [None, *(sizes.get(name) for name in means)]

    size = pl.col("size").str.strip_suffix("k").cast(pl.Int64)
    return _rounded(beside(_in_order(frame, size), ["form", "size"], printed))


def _in_order(frame: pl.DataFrame, *then: pl.Expr) -> pl.DataFrame:
    """Return rows in the paper's order of forms."""
    place = {form: position for position, form in enumerate(FORMS)}
    return frame.sort(pl.col("form").replace_strict(place, return_dtype=pl.Int64), *then)


def _rounded(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.selectors.float().round(2))


def _distribution(units: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    groups = [((form,), units[form]) for form in FORMS if form in units]
    shares = distribution(groups, _BINS, ("form", "positive", "instances"))
    return shares.select(pl.exclude("share"), percent=100 * pl.col("share"))


def long(stats: SkaStatistics) -> pl.DataFrame:
    """Return all figures in one frame: form, figures, metric, at (size, number of positive units or null), value."""
    counts = stats.counts.unpivot(index=["form", "figures"], variable_name="metric").with_columns(
        at=pl.lit(None, pl.String)
    )
    sizes = stats.sizes.unpivot(index=["form", "size", "figures"], variable_name="metric").rename({"size": "at"})
    bins = stats.distribution.select(
        "form", figures=pl.lit(HERE), metric=pl.lit("instances_by_positive"), at="positive", value="instances"
    )
    names = ["form", "figures", "metric", "at", "value"]
    return pl.concat(
        [part.select(names).with_columns(pl.col("value").cast(pl.Float64)) for part in (counts, sizes, bins)]
    )


def charts(stats: SkaStatistics) -> list[Chart]:
    """Return Figure 4."""
    shares = stats.distribution.with_columns(share=pl.col("percent") / 100)
    title = "Instances by number of positive units"
    return [
        Chart(title, shares, "positive", "share", "form", percent=True, x_title="positive units", y_title="instances")
    ]
