"""Stage 1: relational requirements. Templates, their groundings, and the candidates that each has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kbkit.answers import syntax
from kbkit.answers import templates as catalogue
from kbkit.answers.sample import slot_columns
from kbkit.answers.templates import Template
from kbkit.benchmarks.documents import types_with_text
from kbkit.benchmarks.stages import Row
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase

SUGGEST = "suggest"
_SUGGESTED = 20
"""Templates taken of those that a schema suggests, the best of each type of answers in turn."""
_LOOKED_AT = 200
_ROUNDS = 4
_SLOT = re.compile("<([^<>]+)>")


def templates(kb: KnowledgeBase, names: Sequence[str] = (), seed: int = 0) -> list[Template]:
    """The templates that ``names`` mean: ids, catalogues (``mag``), TOML files, or ``suggest``.

    Without names, those of STaRK's catalogues that fit the KB, or what its schema suggests where none does. Raises
    :class:`KbError` for a template that does not fit.
    """
    shipped = [t for t in catalogue.shipped() if not t.letters]
    if not names:
        fitting = [t for t in shipped if not catalogue.misfit(t, kb.schema)]
        return fitting or suggested(kb, seed)
    chosen: list[Template] = []
    for name in names:
        if name == SUGGEST:
            chosen += suggested(kb, seed)
        elif name.endswith(".toml"):
            chosen += catalogue.load(Path(name))
        else:
            chosen += _catalogue(kb, [t for t in shipped if t.id.split("/")[0] == name], name) or [catalogue.find(name)]
    for template in chosen:
        if template.letters:
            raise KbError(f"template {template.id} has parts", "QUEST's shapes are for kbkit quest make")
        if problem := catalogue.misfit(template, kb.schema):
            raise KbError(
                f"template {template.id} does not fit this KB: {problem}", "kbkit templates DIR lists those that do"
            )
        named = set(_SLOT.findall(template.question))
        if named != set(syntax.slots(template.tree())):
            slots = ", ".join(f"<{slot}>" for slot in syntax.slots(template.tree()))
            raise KbError(
                f"template {template.id} asks {template.question!r}", f"its question is to name its slots: {slots}"
            )
    return list({template.id: template for template in chosen}.values())


def _catalogue(kb: KnowledgeBase, group: list[Template], name: str) -> list[Template]:
    """The templates of a whole catalogue that fit the KB."""
    problems = [catalogue.misfit(template, kb.schema) for template in group]
    if group and all(problems):
        raise KbError(f"no template of catalogue {name} fits this KB: {problems[0]}", "--templates suggest makes some")
    return [template for template, problem in zip(group, problems, strict=True) if not problem]


def suggested(kb: KnowledgeBase, seed: int) -> list[Template]:
    """Templates made from the schema, whose answers are of types that have texts, types in turn."""
    frame = kb.suggest_templates(_LOOKED_AT, seed).filter(pl.col("answer").is_in(sorted(types_with_text(kb))))
    if frame.is_empty():
        raise KbError("the schema suggests no template whose answers have texts", "give --templates a file of your own")
    turn = pl.int_range(pl.len()).over("answer")
    rows = frame.with_columns(turn.alias("turn")).sort("turn", maintain_order=True).head(_SUGGESTED)
    found = []
    for name, expression, answer, question in rows.select("template", "expression", "answer", "question").iter_rows():
        template = Template(f"{SUGGEST}/{name}", expression, answer, question)
        # The nodes that a query names are no answers to it.
        starts = any(
            isinstance(p, syntax.Nodes) and p.type == answer and isinstance(p.selector, syntax.Slot)
            for p in syntax.subtrees(template.tree())
        )
        found.append(Template(template.id, expression, answer, question, exclude_start=starts))
    return found


def draw(
    kb: KnowledgeBase,
    chosen: Sequence[Template],
    count: int,
    seed: int,
    bounds: tuple[int, int],
    weight: str = "uniform",
) -> list[Row]:
    """About ``count`` groundings in random order, as many of each template as there are, up to an equal share.

    Rows: id, template, expression, question, slots (name -> type, key, name), candidates (ids, as many as ``bounds``
    allow).
    """
    drawn = _shares(kb, chosen, count, seed, bounds, weight)
    rows = [row for template, frame in zip(chosen, drawn, strict=True) for row in _rows(kb, template, frame)]
    if not rows:
        raise KbError(
            f"no grounding of {len(chosen)} templates has {bounds[0]} to {bounds[1]} answers",
            "--max-candidates allows for more",
        )
    order = np.random.default_rng(seed).permutation(len(rows))[:count]
    return [{"id": str(i), **rows[place]} for i, place in enumerate(order.tolist())]


def _shares(
    kb: KnowledgeBase, chosen: Sequence[Template], count: int, seed: int, bounds: tuple[int, int], weight: str
) -> list[pl.DataFrame]:
    """Groundings of each template; where one has too few, the others give more."""
    share = -(-count // len(chosen))
    asked = [share] * len(chosen)
    frames = [kb.sample(t, n, seed, *bounds, weight) for t, n in zip(chosen, asked, strict=True)]
    for _ in range(_ROUNDS):
        lacking = count - sum(frame.height for frame in frames)
        open_ones = [i for i, frame in enumerate(frames) if frame.height >= asked[i]]
        if lacking <= 0 or not open_ones:
            break
        for i in open_ones:
            asked[i] += -(-lacking // len(open_ones))
            frames[i] = kb.sample(chosen[i], asked[i], seed, *bounds, weight)
    return frames


def _rows(kb: KnowledgeBase, template: Template, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The groundings of one template with their candidates, which are looked up all at once."""
    if frame.is_empty():
        return []
    plan = kb.session.resolved(template.tree(), template.expression)
    columns = dict(zip(plan.slots, slot_columns(plan.slots), strict=True))
    types = {p.source.name: p.type for p in plan.parameters if isinstance(p.source, syntax.Slot)}
    bindings = frame.select(pl.col(column).alias(slot) for slot, column in columns.items())
    found = kb.answers_many(template, bindings).group_by("binding", maintain_order=True).agg("node")
    candidates = dict(found.iter_rows())
    result = []
    for i, row in enumerate(frame.iter_rows(named=True)):
        slots = {
            slot: {"type": types[slot], "key": row[column][1:], "name": row[f"{column} name"]}
            for slot, column in columns.items()
        }
        result.append(
            {
                "template": template.id,
                "expression": row["expression"],
                "question": row["question"],
                "slots": slots,
                "candidates": candidates.get(i, []),
            }
        )
    return result
