"""Generate conversations: six stages, each with its own table, then the file of conversations and a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.convkgyarn import entities, facts, names, predicates, rules, select, templates, wording, written
from kbkit.benchmarks.convkgyarn.blocks import Blocks
from kbkit.benchmarks.convkgyarn.conversations import CONVERSATIONS, ConvWriter, check_suffix
from kbkit.benchmarks.convkgyarn.facts import Asked, Facts
from kbkit.benchmarks.convkgyarn.instances import Filler
from kbkit.benchmarks.convkgyarn.predicates import PREDICATES, Predicate
from kbkit.benchmarks.convkgyarn.rendering import render
from kbkit.benchmarks.convkgyarn.select import SELECTION, Selection
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.convkgyarn.tables import FrameTable
from kbkit.benchmarks.convkgyarn.templates import TEMPLATES, ConvTemplate
from kbkit.benchmarks.convkgyarn.wording import PredicateWording
from kbkit.benchmarks.left_out import LeftOutWords, left_out_words
from kbkit.benchmarks.pipeline import Output, Pipeline, Progress, dropped
from kbkit.benchmarks.predicates import unfit_type
from kbkit.benchmarks.recorded import generation, models, origin
from kbkit.benchmarks.requirements.work_years import WorkYears
from kbkit.english.relations import REMEDY, unworded
from kbkit.english.types import type_noun
from kbkit.errors import KbError, Option
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.schema import UNTYPED

Way = tuple[Asked, PredicateWording | None]
"""What is asked for, and the grammar's wording, if it has one."""
PROMPTS = (select.PROMPT, *written.PROMPTS)
_LISTED = 5
"""Predicates that an error lists."""
_ENTITIES = 20_000
"""Entities whose facts are read at once."""


def make(
    kb: KnowledgeBase,
    out: Path,
    settings: ConvSettings,
    calls: Calls | None = None,
    progress: Progress = lambda *_: None,
    *,
    format: str = "jsonl",  # noqa: A002
    replace: bool = False,
) -> Output:
    """Generate conversations in the folder ``out``, with the models of ``calls`` or by rule and grammar.

    ``format`` is jsonl or parquet. Equal settings give equal bytes. An interrupted run continues at the first stage
    without a table; with ``replace`` it starts over. Raises :class:`KbError` if there is nothing to ask for.
    """
    types, related = (tuple(kb.schema.type(n).name for n in names) for names in (settings.types, settings.related))
    settings = replace_fields(settings, types=types, related=related)
    path = out / f"{CONVERSATIONS}.{format}"
    check_suffix(path)
    run = _Run(kb, settings, calls)
    pipeline = Pipeline(out, {**run.about(), **generation(kb)}, progress)
    with pipeline.started((f"{CONVERSATIONS}.jsonl", f"{CONVERSATIONS}.parquet"), replace=replace):
        asked = run.asked(pipeline)
        chosen = run.entities(pipeline, asked)
        table = run.facts(pipeline, asked, chosen)
        conv_templates = run.templates(pipeline, asked)
        report = run.conversations(pipeline, path, chosen, table, conv_templates)
        return pipeline.finish({}, {**run.about(), "file": path.name}, report)


@dataclass(frozen=True)
class _Run:
    """The inputs of all stages."""

    kb: KnowledgeBase
    settings: ConvSettings
    calls: Calls | None

    def about(self) -> dict[str, Any]:
        """Return everything that the rows depend on."""
        words = {"leave_out": self.words.about}
        return {
            **origin(self.kb),
            **self.settings.about(),
            **words,
            **(models(self.calls, PROMPTS) if self.calls else {}),
        }

    @cached_property
    def words(self) -> LeftOutWords:
        """The words that no text may contain."""
        return left_out_words(self.settings.leave_out)

    @cached_property
    def people(self) -> frozenset[str]:
        """The types of people."""
        return predicates.people_types(self.kb)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types whose entities have conversations."""
        if self.settings.types:
            return tuple(dict.fromkeys((*self.settings.types, *self.settings.related)))
        known = [t for t in self.kb.schema.node_types if t.members]
        fit = [t.name for t in known if t.name != UNTYPED and not unfit_type(t)]
        return tuple(fit or (t.name for t in known))

    # -- stages 1 and 2 -----------------------------------------------------------------------------------------------

    def asked(self, pipeline: Pipeline) -> list[Way]:
        """Return the predicates and qualifiers that are asked for."""
        extracted = pipeline.rows(PREDICATES, lambda: predicates.extract(self.kb, self.types))
        selected = {row.id: row for row in pipeline.rows(SELECTION, lambda: self._selected(extracted))}
        asked: list[Way] = []
        for predicate in extracted:
            row = selected.get(predicate.id)
            if row is None or row.dropped:
                continue
            asked += self._ways(predicate, row.qualifiers)
        if not asked:
            raise KbError("No predicate is asked for", f"See {pipeline.out / 'stages'}")
        return asked

    def _ways(self, predicate: Predicate, qualifiers: Sequence[str]) -> list[Way]:
        """Return what is asked for of a predicate; a model can also ask where the grammar cannot."""
        known = {q.name if q else "": w for q, w in self._wordings(predicate, qualifiers)}
        wanted = [None, *(q for q in predicate.qualifiers if q.name in qualifiers)]
        ways: list[Way] = []
        for q in wanted:
            worded = known.get(q.name if q else "")
            if worded is None and (self.calls is None or (q is None and predicate.mean > self.settings.max_answers)):
                continue
            given = (
                worded.given if worded else "" if q is None else "object" if predicate.kind == "entity" else "qualifier"
            )
            ways.append((Asked(predicate, q, given), worded))
        return ways

    def _wordings(self, predicate: Predicate, qualifiers: Sequence[str]) -> Iterator[tuple[Any, PredicateWording]]:
        """Yield the ways to ask for a predicate: for its values, then for each qualifier."""
        person = predicate.type in self.people
        plain = wording.wording(predicate, self.kb.schema, person=person)
        if plain is not None and predicate.mean <= self.settings.max_answers:
            yield None, plain
        for qualifier in predicate.qualifiers:
            if qualifier.name in qualifiers:
                phrasing = wording.qualified(predicate, qualifier, self.kb.schema, person=person)
                if phrasing is not None:
                    yield qualifier, phrasing

    def _selected(self, asked: Sequence[Predicate]) -> list[Selection]:
        if self.calls:
            return select.by_model(self.calls, asked)
        s = self.settings
        rows = select.by_rule(asked, max_answers=s.max_answers, min_coverage=s.min_coverage)
        rows = [
            row if row.dropped else replace_fields(row, dropped=select.unknown(self.kb, one))
            for one, row in zip(asked, rows, strict=True)
        ]
        return [
            row if row.dropped or any(True for _ in self._wordings(one, row.qualifiers))
            else replace_fields(row, dropped=wording.problem(one, self.kb.schema) or "no wording that reads well")
            for one, row in zip(asked, rows, strict=True)
        ]  # fmt: skip

    # -- stages 3 and 4 -----------------------------------------------------------------------------------------------

    def entities(self, pipeline: Pipeline, asked: Sequence[Way]) -> pl.DataFrame:
        """Return the drawn entities and their related ones."""
        table = FrameTable(pipeline, "3_entities", entities.COLUMNS)
        pipeline.progress(table.label, 0, 1)
        if not table.path.exists():
            facts_asked = [one for one, _ in asked]
            drawn = entities.draw(self.kb, facts_asked, self.people, self.settings)
            if drawn.is_empty():
                raise self._too_few(pipeline, entities.most_facts(self.kb, facts_asked, self.settings.min_turns))
            if self.settings.related:
                more = entities.related(self.kb, drawn, self.people, self.settings)
                drawn = pl.concat([drawn, more.select(drawn.columns)])
            drawn = self._named(drawn)
            table.write([drawn])
        stored = pl.concat(list(table.read()))
        pipeline.progress(table.label, 1, 1)
        return stored

    def _too_few(self, pipeline: Pipeline, most: int) -> KbError:
        """Return the error for a KB none of whose entities has enough facts; one has ``most``."""
        rows = [row for row in pipeline.table(SELECTION).read() if row.dropped]
        left_out = "; ".join(f"{row.id} ({row.dropped})" for row in rows[:_LISTED])
        more = f" and {len(rows) - _LISTED:,} more" if len(rows) > _LISTED else ""
        message = f"No entity has {self.settings.min_turns} facts to ask for"
        message += f". Predicates not asked for: {left_out}{more}" if rows else ""
        fewer = Option("min_turns", str(most))
        if unworded(self.kb.schema):
            return KbError(message, *((f"{REMEDY}, or use ", fewer) if most else (REMEDY,)))
        return KbError(message, *(("Use ", fewer) if most else (f"See {pipeline.out / 'stages'}",)))

    def _named(self, drawn: pl.DataFrame) -> pl.DataFrame:
        """Leave out entities whose name, and aliases that have a listed word."""
        drawn = drawn.filter(~self.words.mask(drawn["name"]))
        listed = drawn["aliases"].explode().unique()
        listed = listed.filter(self.words.mask(listed))
        return drawn.with_columns(
            pl.col("aliases").list.eval(pl.element().filter(~pl.element().is_in(listed.implode())))
        )

    def facts(self, pipeline: Pipeline, asked: Sequence[Way], chosen: pl.DataFrame) -> FrameTable:
        """Make the table of facts, by entity in the order of ``chosen``."""
        table = FrameTable(pipeline, "4_facts", facts.COLUMNS)
        if not table.path.exists():
            reader = Facts(self.kb, [one for one, _ in asked], self.settings.max_answers, self.words)
            distinct = chosen.unique(["type", "id"], maintain_order=True)
            ids = self.kb.tables.lookup(
                "SELECT n.id AS node, concat(n.type::VARCHAR, '#', n.key) AS id FROM nodes n WHERE"
                " concat(n.type::VARCHAR, '#', n.key) IN (SELECT id FROM kbkit_chosen)",
                frames={"kbkit_chosen": distinct.select("id")},
            )
            known = distinct.join(ids, on="id", how="inner", maintain_order="left")
            said = pl.concat_str("name", "year", separator=" ").str.strip_chars()
            known = known.select("type", "key", said, "aliases", id=pl.col("node"))

            def blocks() -> Iterator[pl.DataFrame]:
                for start in range(0, known.height, _ENTITIES):
                    pipeline.progress(table.label, start, known.height)
                    yield reader.read(known.slice(start, _ENTITIES))

            table.write(blocks())
        pipeline.progress(table.label, chosen.height, chosen.height)
        return table

    # -- stage 5 ------------------------------------------------------------------------------------------------------

    def templates(self, pipeline: Pipeline, asked: Sequence[Way]) -> list[ConvTemplate]:
        """Return the templates."""
        related = self.settings.related

        def write() -> list[ConvTemplate]:
            if self.calls:
                return written.by_model(self.calls, [one for one, _ in asked], related)
            return [row for one, w in asked if w is not None for row in self._templates(one, w)]

        rows = pipeline.rows(TEMPLATES, write)
        labels = {(one.predicate.type, one.predicate.predicate): _own_words(one.predicate) for one, _ in asked}
        rules.check_rules(pipeline.table(TEMPLATES).path, rows, related, labels)
        valid = [row for row in rows if not row.dropped]
        if not valid:
            raise KbError(
                f"No templates: {rows[0].dropped if rows else 'the table is empty'}", f"See {pipeline.out / 'stages'}"
            )
        return valid

    def _templates(self, asked: Asked, own: PredicateWording) -> Iterator[ConvTemplate]:
        one = asked.predicate
        name = asked.qualifier.name if asked.qualifier else ""
        is_related = one.type in self.settings.related
        yield from templates.by_grammar(
            one, name, own, person=one.type in self.people, related=is_related, seed=self.settings.seed
        )

    # -- stage 6 ------------------------------------------------------------------------------------------------------

    def conversations(
        self,
        pipeline: Pipeline,
        path: Path,
        chosen: pl.DataFrame,
        table: FrameTable,
        conv_templates: Sequence[ConvTemplate],
    ) -> dict[str, Any]:
        """Write the conversations; return a report."""
        themes, targets, labels = {}, {}, {}
        for predicate in pipeline.table(PREDICATES).read():
            phrasing = wording.wording(predicate, self.kb.schema, person=predicate.type in self.people)
            key = predicate.type, predicate.predicate
            themes[key], targets[key], labels[key] = (
                phrasing.theme if phrasing else predicate.target,
                predicate.target,
                predicate.label,
            )
        rendered = render(conv_templates)
        filler = Filler(rendered, themes, self.settings)
        years = WorkYears(self.kb)
        described = names.called(chosen, self.kb.schema, {kind: years.noun(kind) for kind in chosen["type"].unique()})
        blocks = Blocks(described, table, rendered, self.settings, self.kb.schema, targets, labels)
        alone = related = 0
        with ConvWriter(path) as writer:
            for number, (groups, own) in enumerate(blocks):
                pipeline.progress("conversations", alone, self.settings.count)
                filled = filler.fill(groups, own, number)
                writer.add(filled)
                made = pl.DataFrame({name: filled.column(name) for name in ("group", "related")}).unique("group")
                alone += made["related"].null_count()
                related += made.height - made["related"].null_count()
                if alone == self.settings.count:
                    break
            if not writer.count:
                raise self._too_few(pipeline, blocks.most)
        pipeline.progress("conversations", self.settings.count, self.settings.count)
        rows = pipeline.table(TEMPLATES).read()
        return {
            "conversations": writer.count,
            "wanted": self.settings.count,
            "groups": alone,
            "alike": filler.about(),
            "related": related,
            "untyped": filler.untyped,
            "templates": len(conv_templates),
            "invalid": [f"{row.id}: {row.dropped}" for row in rows if row.dropped],
            "dropped": dropped(map(_reason, pipeline.table(SELECTION).read())),
        }


def _own_words(predicate: Predicate) -> str:
    """Return the words that a grammar's template may have of a predicate: its label, its target and its unit."""
    return " ".join((predicate.label, type_noun(predicate.target), predicate.unit))


def _reason(row: Selection) -> str:
    """Return why a predicate was dropped, without its own numbers."""
    return row.dropped.partition(" (")[0].partition(":")[0]
