"""Stage 6: conversations (section 2.7 of the paper): facts are chosen and ordered, templates filled, typos made.

All of it works on columns, a block of groups at a time, so that millions of conversations stream to a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from kbkit.benchmarks.convkgyarn.conversations import arrow_schema
from kbkit.benchmarks.convkgyarn.rendering import (
    COLUMNS,
    GIVEN,
    NONE,
    POSSESSIVE,
    PRONOUNS,
    SUBJECT,
    Rendered,
)
from kbkit.benchmarks.convkgyarn.settings import CONFIGURATIONS, ConvSettings
from kbkit.benchmarks.convkgyarn.templates import VARIANTS
from kbkit.benchmarks.convkgyarn.typos import Spans, with_safe_typos
from kbkit.benchmarks.duplicates import Spread
from kbkit.benchmarks.evidence import padded_words

_REDRAWN = 2
"""Times that facts are drawn for a group with the same number of turns."""
_ALIAS = 0.2
"""Fraction of further turns that call the entity by an alias, if it has one."""
_INTERROGATIVE = r"^(?:who|whom|what|when|which|how)\b"
_FOLLOW_UP = {"voice": COLUMNS.index("voice.follow_up"), "text": COLUMNS.index("text.follow_up")}


class Filler:
    """Makes the conversations of blocks of groups; ``untyped`` counts questions that could not have a typo."""

    def __init__(self, rendered: Rendered, themes: Mapping[tuple[str, str], str], settings: ConvSettings) -> None:
        self._rendered, self._settings = rendered, settings
        self.untyped = 0
        self._seen = pl.Series("facts", [], pl.String)
        self.most = Spread(settings.count, settings.alike).of_mould
        self._made: Counter[str] = Counter()
        self._numbers = 0
        listed = sorted(set(themes.values()))
        keys = [(name, predicate, listed.index(theme)) for (name, predicate), theme in themes.items()]
        themed = pl.DataFrame(keys, schema=["type", "predicate", "theme"], orient="row")
        self._sets = rendered.sets.join(themed, on=["type", "predicate"], how="left").with_columns(
            pl.col("theme").fill_null(-1), pl.col("set").cast(pl.Int64)
        )

    def fill(self, groups: pl.DataFrame, facts: pl.DataFrame, number: int) -> pa.Table:
        """Return the conversations of a block of groups.

        ``groups``: group (its id), entity and related (ids of entities or null), and their described columns as
        structs; ``facts``: those of these entities. ``number`` is the number of the block, for its random numbers.
        """
        rng = np.random.default_rng([self._settings.seed, 6, number])
        turns = self._turns(groups, facts, rng)
        if turns.is_empty():
            return arrow_schema().empty_table()
        groups = self._renamed(groups, turns)
        chosen = self._variants(turns, rng)
        words = _answer_words(facts, turns)
        parts = [self._questions(turns, chosen, name, words, rng) for name in self._settings.configurations]
        return self._assembled(groups, turns, facts, parts)

    # -- which facts, in which order ----------------------------------------------------------------------------------

    def _turns(self, groups: pl.DataFrame, facts: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Return the turns of each group in order: group, subject (0 or 1), fact and what filling needs."""
        known = facts.with_row_index("fact").with_columns(pl.col("fact").cast(pl.Int64)).join(
            self._sets, on=["type", "predicate", "asks"], how="inner", maintain_order="left"
        ).select(
            "fact", "set", "theme", "predicate", "asks", "given_voice", "given_text",
            entity=pl.col("type") + "\x00" + pl.col("key"), many=pl.col("answers").list.len() > 1,
        )  # fmt: skip
        own = groups.with_row_index("g").with_columns(pl.col("g").cast(pl.Int64))
        alone = self._alone(own.filter(pl.col("related").is_null()), known, rng)
        kept = own.filter(pl.col("g").is_in(alone["g"].implode()))["group"] + "r"
        both = own.filter(pl.col("related").is_not_null() & pl.col("group").is_in(kept.implode()))
        if both.is_empty():
            return self._positioned(alone, rng)
        half = -(-self._settings.turns // 2)
        about = self._picked(both, "entity", known, rng, half, 0)
        last = about.group_by("g", maintain_order=True).last().select("g", last="set")
        second = self._picked(both, "related", known, rng, self._settings.turns - half, 1, last)
        joined = pl.concat([about, second.select(about.columns)])
        joined = joined.filter(pl.col("subject").n_unique().over("g") == 2)
        turns = pl.concat([alone, self._new(joined)]).sort("g", "subject", maintain_order=True)
        return self._positioned(turns, rng)

    def _alone(self, own: pl.DataFrame, known: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Return the turns of groups without a related entity, no more than are wanted in all.

        Groups whose predicates enough others ask for are drawn again, at last with fewer turns.
        """
        parts: list[pl.DataFrame] = []
        for limit in range(self._settings.turns, self._settings.min_turns - 1, -1):
            for _ in range(_REDRAWN):
                drawn = self._unlike(self._new(self._picked(own, "entity", known, rng, limit, 0)))
                parts.append(drawn)
                own = own.filter(~pl.col("g").is_in(drawn["g"].implode()))
        return pl.concat(parts).sort("g", maintain_order=True)

    def _unlike(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Return the turns of the groups that ask for the same predicates as a few others at most, and count them."""
        moulds = turns.group_by("g", maintain_order=True).agg(
            mould=pl.concat_str("set", "asks", separator="/").sort().str.join(" ")
        )
        before = pl.col("mould").replace_strict(dict(self._made), default=0, return_dtype=pl.Int64)
        is_rare = before + pl.int_range(pl.len()).over("mould") < self.most
        kept = moulds.filter(is_rare).head(self._settings.count - self._made.total())
        self._made.update(kept["mould"].to_list())
        self._seen = pl.concat([self._seen, _facts_of(turns)["facts"]])  # those left out are as many as others
        return turns.filter(pl.col("g").is_in(kept["g"].implode()))

    def about(self) -> dict[str, int]:
        """Return the number of sets of predicates, and how many conversations may ask for one, for a report."""
        return {"moulds": len(self._made), "most": self.most}

    def _renamed(self, groups: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
        """Return the groups with the turns numbered in order, as some have none."""
        rows = groups.with_row_index("g").with_columns(is_alone=pl.col("related").is_null())
        rows = rows.with_columns(is_made=pl.col("is_alone") & pl.col("g").is_in(turns["g"].unique().implode()))
        number = (pl.col("is_made").cum_sum() + self._numbers).cast(pl.String)
        width = groups["group"].str.strip_suffix("r").str.len_chars().max()
        self._numbers += int(rows["is_made"].sum())
        end = pl.when("is_alone").then(pl.lit("")).otherwise(pl.lit("r"))
        name = pl.format("g{}{}", number.str.zfill(int(str(width)) - 1), end)
        return rows.with_columns(group=name).drop("g", "is_alone", "is_made")

    def _picked(
        self, own: pl.DataFrame, column: str, known: pl.DataFrame, rng: np.random.Generator, limit: int, subject: int,
        last: pl.DataFrame | None = None,
    ) -> pl.DataFrame:  # fmt: skip
        """Return up to ``limit`` facts of each group, of one per predicate and qualifier, with themes together."""
        described = own.select("g", pl.col(column).struct.unnest())
        rows = described.with_columns(entity=pl.col("type") + "\x00" + pl.col("key")).join(known, on="entity")
        rows = rows.sort("g", "fact")
        rows = rows.with_columns(pl.Series("draw", rng.random(rows.height)), subject=pl.lit(subject))
        if last is not None:  # the last question about the entity is the first one about the related entity
            rows = rows.join(last, on="g", how="left", maintain_order="left").with_columns(
                draw=pl.when((pl.col("set") == pl.col("last")) & (pl.col("asks") == "")).then(-1.0).otherwise("draw")
            ).drop("last")  # fmt: skip
        rows = rows.filter(pl.col("draw").rank("ordinal").over("g", "set") == 1)
        rows = rows.filter(pl.col("draw").rank("ordinal").over("g") <= limit)
        theme = pl.col("draw").min().over("g", "theme")
        return rows.with_columns(theme=theme).sort("g", "theme", "predicate", "asks", "draw").with_columns(
            is_follow_up=pl.col("draw") == -1.0
        ).drop("draw", "theme")  # fmt: skip

    def _new(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Return the turns of groups with enough of them that ask for other facts than those before."""
        turns = turns.filter(pl.len().over("g") >= self._settings.min_turns)
        facts_of = _facts_of(turns)
        is_new = facts_of["facts"].is_first_distinct() & ~facts_of["facts"].is_in(self._seen.implode())
        return turns.filter(pl.col("g").is_in(facts_of.filter(is_new)["g"].implode()))

    def _positioned(self, turns: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Return the turns of groups with their positions, and whether they name the entity by an alias."""
        turns = turns.with_columns(
            position=pl.int_range(pl.len()).over("g"), of_subject=pl.int_range(pl.len()).over("g", "subject")
        )
        drawn = pl.Series("use_alias", rng.random(turns.height) < _ALIAS)
        has_alias = pl.col("alias_voice").is_not_null()
        turns = turns.with_columns(drawn).with_columns(pl.col("use_alias") & has_alias & (pl.col("of_subject") > 0))
        own, alias = pl.col("is_single"), pl.col("alias_is_single").fill_null(value=False)
        return turns.with_columns(  # of the name that the question uses; an alias may contain the name
            is_single=own | (pl.col("use_alias") & alias),
            is_long=pl.when("use_alias").then("alias_is_long").otherwise("is_long"),
        )

    # -- questions ----------------------------------------------------------------------------------------------------

    def _variants(self, turns: pl.DataFrame, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return a variant for each turn, the same in all configurations; long names get no possessive."""
        plain = self._rendered.plain[turns["set"].to_numpy()]
        allowed = plain | ~turns["is_long"].to_numpy()[:, None]
        # In turn, so that a question is worded as seldom as possible as in another conversation.
        turn = turns.select(pl.int_range(pl.len()).over("set")).to_series().to_numpy()
        first = rng.integers(VARIANTS, size=len(self._rendered.plain))[turns["set"].to_numpy()]
        after = (np.arange(VARIANTS) - (turn + first)[:, None]) % VARIANTS
        best: NDArray[np.int64] = np.argmin(np.where(allowed, after, VARIANTS), axis=1)
        return best

    def _questions(
        self, turns: pl.DataFrame, variants: NDArray[np.int64], name: str, words: pl.DataFrame, rng: np.random.Generator
    ) -> pl.DataFrame:
        """Return question, form and template of each turn in a configuration."""
        interaction, deixis, disfluency, typo = CONFIGURATIONS[name]
        subject = turns["subject"].to_numpy()
        points = deixis & (turns["of_subject"].to_numpy() > 0)
        # A follow-up repeats the question before it, about the related entity.
        follows = turns["is_follow_up"].to_numpy() & deixis & (not disfluency) & (turns["of_subject"].to_numpy() == 0)
        asked = turns["set"].to_numpy()
        follows &= (np.concatenate(([-1], asked[:-1])) == asked) & (turns["position"].to_numpy() > 0)
        phenomenon = "disfluencies" if disfluency else "typos" if typo else ""
        names = [f"deixis_{phenomenon}".strip("_") if on else phenomenon or "original" for on in (False, True)]
        form = np.where(points, COLUMNS.index(f"{interaction}.{names[1]}"), COLUMNS.index(f"{interaction}.{names[0]}"))
        form = np.where(follows, _FOLLOW_UP[interaction], form)
        pronoun = (
            turns["pronoun"].replace_strict(list(PRONOUNS), range(len(PRONOUNS)), return_dtype=pl.Int64).to_numpy()
        )
        number = self._rendered.index[
            turns["set"].to_numpy(), subject, form, variants, pronoun,
            turns["past"].to_numpy().astype(int), turns["many"].to_numpy().astype(int),
        ]  # fmt: skip
        questions, spans = self._filled(turns, number, interaction)
        if typo:
            right = questions
            questions = with_safe_typos(right, spans, turns["fact"], words, rng)
            self.untyped += int((right == questions).sum())
        shown = np.array([column.split(".")[1] for column in COLUMNS], object)[form]
        if typo:
            shown = np.where(follows, "follow_up_typos", shown)
        template = self._rendered.ids.gather(number)
        return pl.DataFrame({"question": questions, "form": pl.Series(shown, dtype=pl.String), "template": template})

    def _filled(self, turns: pl.DataFrame, number: NDArray[np.int32], interaction: str) -> tuple[pl.Series, Spans]:
        """Return the filled texts, and the spans of words that must keep their letters."""
        first, second, third = (piece.gather(number) for piece in self._rendered.pieces)
        kinds = self._rendered.kinds[number]
        frame = turns.select(
            pl.when("use_alias").then(f"alias_{interaction}").otherwise(interaction).alias("name"),
            pl.col(f"given_{interaction}").fill_null("").alias("given"),
        ).with_columns(p0=first, p1=second, p2=third, k0=pl.Series(kinds[:, 0]), k1=pl.Series(kinds[:, 1]))
        possessive = (
            pl.when(pl.col("name").str.ends_with("s")).then(pl.col("name") + "'").otherwise(pl.col("name") + "'s")
        )

        def value(kind: str) -> pl.Expr:
            of = pl.col(kind)
            return (
                pl.when(of == SUBJECT).then("name").when(of == POSSESSIVE).then(possessive)
                .when(of == GIVEN).then("given").otherwise(pl.lit(""))
            )  # fmt: skip

        frame = frame.with_columns(v0=value("k0"), v1=value("k1"))
        if interaction == "text":  # a title may begin with an interrogative, but no search query
            is_bare = (pl.col("p0") == "") & pl.col("v0").str.contains(_INTERROGATIVE)
            frame = frame.with_columns(p0=pl.when(is_bare).then(pl.lit("find ")).otherwise("p0"))
        size = frame.select(pl.col("p0", "v0", "p1", "v1").str.len_chars().cast(pl.Int64))
        p0, v0, p1, v1 = (size[column].to_numpy() for column in size.columns)
        single = turns["is_single"].to_numpy()
        spans = []
        for start, length, kind in ((p0, v0, kinds[:, 0]), (p0 + v0 + p1, v1, kinds[:, 1])):
            protects = (kind == GIVEN) | ((kind != NONE) & single)
            spans.append((start, start + np.where(protects, length, 0)))
        return frame.select(pl.concat_str("p0", "v0", "p1", "v1", "p2").alias("q"))["q"], spans

    # -- records ------------------------------------------------------------------------------------------------------

    def _assembled(
        self, groups: pl.DataFrame, turns: pl.DataFrame, facts: pl.DataFrame, parts: Sequence[pl.DataFrame]
    ) -> pa.Table:
        """Return conversations as an Arrow table: by group, then by configuration."""
        names, rows = self._settings.configurations, turns.height
        g = turns["g"].to_numpy()
        order = np.lexsort(
            (np.tile(np.arange(rows), len(names)), np.repeat(np.arange(len(names)), rows), np.tile(g, len(names)))
        )
        said = pl.concat(parts)[order]
        at = np.tile(np.arange(rows), len(names))[order]
        about = facts[turns["fact"].to_numpy()].select("answers", "kind", "predicate", "label", "unit", "asks", "given")
        subject = pl.Series(np.where(turns["subject"].to_numpy() == 0, "entity", "related"), dtype=pl.String)
        fields = about.with_columns(subject=subject)[at]
        frame = pl.concat([said, fields.rename({"asks": "qualifier"})], how="horizontal")
        schema = arrow_schema()
        inner = schema.field("turns").type.value_type
        table = frame.select([field.name for field in inner]).to_arrow()
        structs = pa.StructArray.from_arrays(
            [_cast(table.column(field.name), field.type) for field in inner], fields=list(inner)
        )
        ids, counts = np.unique(g, return_counts=True)
        sizes = np.repeat(counts, len(names))
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        listed = pa.ListArray.from_arrays(pa.array(offsets), structs, type=schema.field("turns").type)
        return self._conversations(groups, np.repeat(ids, len(names)), listed)

    def _conversations(self, groups: pl.DataFrame, ids: NDArray[np.int64], listed: pa.Array) -> pa.Table:
        """Return the columns of conversations, given the group of each one."""
        names = self._settings.configurations
        repeats = len(ids) // len(names)
        flags = [CONFIGURATIONS[name] for name in names] * repeats
        own = groups[ids]
        entity = ["type", "key", "name", "aliases"]
        shown = [pl.col(column).struct.field(entity) for column in ("entity", "related")]
        head = own.select(
            id=pl.col("group") + "." + pl.Series(list(names) * repeats),
            group="group",
            entity=pl.struct(shown[0]),
            related=pl.when(pl.col("related").is_null()).then(None).otherwise(pl.struct(shown[1])),
            interaction=pl.Series([f[0] for f in flags]),
            deixis=pl.Series([f[1] for f in flags]),
            disfluency=pl.Series([f[2] for f in flags]),
            typo=pl.Series([f[3] for f in flags]),
        ).to_arrow()
        schema = arrow_schema()
        columns = [listed if f.name == "turns" else _cast(head.column(f.name), f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)


def _facts_of(turns: pl.DataFrame) -> pl.DataFrame:
    """Return what the turns of each group ask for: g, facts."""
    asked = pl.concat_str("entity", "set", pl.col("given_text").fill_null(""), separator="\x00")
    return turns.group_by("g", maintain_order=True).agg(asked.sort().str.join("\x01").alias("facts"))


def _answer_words(facts: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Return the words of the answers of the facts of turns: fact, answer, one row for each text and alias."""
    used = turns["fact"].unique()
    one = pl.element().struct
    texts = pl.col("answers").list.eval(pl.concat_list(one.field("text"), one.field("aliases")))
    answers = facts[used].select(fact=used, answer=texts.list.eval(pl.element().explode()))
    return answers.explode("answer").with_columns(padded_words("answer")).filter(pl.col("answer") != "  ").unique()


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return column.cast(kind).combine_chunks() if column.num_chunks != 1 else column.chunk(0).cast(kind)
