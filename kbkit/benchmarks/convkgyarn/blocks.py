"""Groups of conversations in blocks: the entities with enough facts, each as often as the number of groups demands,
with a reserve for groups that ask for what enough others ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from kbkit.benchmarks.convkgyarn import names
from kbkit.benchmarks.convkgyarn.rendering import Rendered
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.convkgyarn.tables import FrameTable
from kbkit.benchmarks.evidence import padded_words
from kbkit.schema import Schema

BLOCK = 2_000
"""Groups that are filled at once."""
_KEY = ["type", "key"]
_SPARE = 2
"""Groups per conversation that is wanted."""


class Blocks:
    """Yields groups with the facts of their entities.

    ``described`` are the entities of stage 3 with how they are called, ``table`` their facts. ``targets`` has the type
    of the values of each (type, predicate), ``labels`` its words. ``most``: how many facts one has.
    """

    def __init__(
        self, described: pl.DataFrame, table: FrameTable, rendered: Rendered, settings: ConvSettings, schema: Schema,
        targets: Mapping[tuple[str, str], str], labels: Mapping[tuple[str, str], str],
    ) -> None:  # fmt: skip
        self._settings, self._schema, self._table = settings, schema, table
        rows = [(*key, targets[key], labels[key]) for key in targets]
        self._words = pl.DataFrame(rows, schema=["type", "predicate", "target", "label"], orient="row")
        self._sets, self._said = rendered.sets.drop("set"), rendered.said
        words = rendered.said.with_columns(word=pl.col("said").str.strip_chars().str.split(" ")).drop("said")
        self._first = words.explode("word").unique()
        self._main = described.filter(pl.col("related_to") == "")
        self._related = described.filter(pl.col("related_to") != "")
        self.most = 0

    def __iter__(self) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Yield groups (group, entity, related) and facts (with label, given_voice, given_text)."""
        enough, further = self._counted()
        total = enough.height
        if not total:
            return
        each = -(-_SPARE * self._settings.count // total)
        number = 0
        for facts in self._whole_entities():
            own = (
                facts.select(_KEY).unique(maintain_order=True).join(enough, on=_KEY, how="inner", maintain_order="left")
            )
            turns = pl.DataFrame({"turn": range(each)})
            groups = own.select(_KEY).join(turns, how="cross").sort("turn", maintain_order=True)
            for start in range(0, groups.height, BLOCK):
                part = groups.slice(start, BLOCK)
                frame = self._described(part, number)
                number += part.height
                yield frame, self._worded(pl.concat([facts, further]) if further.height else facts)

    def _read(self) -> Iterator[pl.DataFrame]:
        """Yield the facts, without those whose answers are words of their own templates: *what kind of sea*, a sea."""
        keys = ["type", "predicate", "asks"]
        for facts in self._table.read():
            answers = facts.select("id", *keys, answer=pl.col("answers").list.eval(
                pl.concat_list(pl.element().struct.field("text"), pl.element().struct.field("aliases"))
            ).list.eval(pl.element().explode()))  # fmt: skip
            words = answers.explode("answer").with_columns(padded_words("answer")).filter(pl.col("answer") != "  ")
            words = words.with_columns(word=pl.col("answer").str.strip_chars().str.split(" ").list.first())
            possible = words.join(self._first, on=[*keys, "word"], how="semi").join(self._said, on=keys)
            leaks = pl.col("said").str.contains(pl.col("answer"), literal=True)
            yield facts.join(possible.filter(leaks).select("id"), on="id", how="anti", maintain_order="left")

    def _counted(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the entities with enough facts in the order of stage 3, and the facts of related entities."""
        counts, kept = [], []
        wanted = self._related.select(_KEY).unique(maintain_order=True)
        for facts in self._read():
            known = facts.join(self._sets, on=["type", "predicate", "asks"], how="semi")
            counts.append(known.group_by(*_KEY, "predicate", "asks").len())
            if wanted.height:
                kept.append(facts.join(wanted, on=_KEY, how="semi", maintain_order="left"))
        sets = pl.concat(counts).group_by(_KEY).agg(n=pl.struct("predicate", "asks").n_unique())
        self.most = max(sets["n"].to_list(), default=0)
        sets = sets.filter(pl.col("n") >= self._settings.min_turns)
        enough = self._main.select(_KEY).join(sets, on=_KEY, how="semi", maintain_order="left")
        return enough, pl.concat(kept) if kept else pl.DataFrame(schema=self._table.columns)

    def _whole_entities(self) -> Iterator[pl.DataFrame]:
        """Yield blocks of facts in which the facts of no entity are cut."""
        rest: pl.DataFrame | None = None
        for facts in self._read():
            frame = facts if rest is None else pl.concat([rest, facts])
            last = (pl.col("type") == frame["type"][-1]) & (pl.col("key") == frame["key"][-1])
            rest = frame.filter(last)
            whole = frame.filter(~last)
            if whole.height:
                yield whole
        if rest is not None and rest.height:
            yield rest

    def _described(self, part: pl.DataFrame, number: int) -> pl.DataFrame:
        """Return groups with their entities; those with a related entity are there twice, alone and with it."""
        width = max(6, len(str(self._settings.count)))
        fields = [name for name in self._main.columns if name not in ("related_to", "id")]
        own = part.join(self._main, on=_KEY, how="left", maintain_order="left").select(
            "id",
            group=pl.format("g{}", (pl.int_range(pl.len()) + number + 1).cast(pl.String).str.zfill(width)),
            entity=pl.struct(fields),
        )
        paired = self._related.select("related_to", related=pl.struct(fields)).unique("related_to", maintain_order=True)
        with_related = own.join(paired, left_on="id", right_on="related_to", how="inner", maintain_order="left")
        alone = own.with_columns(related=pl.lit(None, dtype=paired.schema["related"]))
        both = pl.concat([alone, with_related.with_columns(pl.col("group") + "r").select(alone.columns)])
        return both.sort("group").drop("id")

    def _worded(self, facts: pl.DataFrame) -> pl.DataFrame:
        """Return facts with the words of their predicates, and how the objects that they name are called."""
        frame = facts.unique("id", keep="first", maintain_order=True).join(
            self._words, on=["type", "predicate"], how="left", maintain_order="left"
        ).with_columns(first=pl.col("given").list.first())  # fmt: skip
        parts = []
        for (target,), group in frame.filter(pl.col("first").is_not_null()).group_by("target", maintain_order=True):
            texts = group["first"].unique(maintain_order=True)
            called = names.given(texts, str(target), self._schema)
            parts.append(called.with_columns(first=texts, target=pl.lit(str(target))))
        empty = pl.DataFrame(
            schema={"given_voice": pl.String, "given_text": pl.String, "first": pl.String, "target": pl.String}
        )
        known = pl.concat([empty, *parts])
        return frame.join(known, on=["first", "target"], how="left", maintain_order="left").drop("first", "target")
