"""Templates that the schema suggests and that read well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from kbkit.answers import syntax
from kbkit.answers.algebra import Hop
from kbkit.answers.operator_tree import operators
from kbkit.answers.parse import parse
from kbkit.answers.suggest import suggest
from kbkit.answers.templates import Template
from kbkit.answers.wording import noun_phrase
from kbkit.benchmarks.documents import types_with_text
from kbkit.benchmarks.fit_nodes import (
    check_named,
    head_nouns,
    nameless_types,
)
from kbkit.benchmarks.incomplete import few_listed, truncated
from kbkit.benchmarks.requirements.plausible import implausible
from kbkit.english.relations import REMEDY, unworded
from kbkit.english.roles import TYPES_NEEDED, is_asked, is_label, is_untyped, tail_noun
from kbkit.errors import KbError, Option
from kbkit.kb import KnowledgeBase

SUGGEST = "suggest"
_SUGGESTED = 36
"""Number of suggested templates to use, alternating between types of answers."""
_CONSIDERED = 200
_REASONS = 3
"""Reasons that an error lists."""


def suggested(kb: KnowledgeBase, seed: int, least: int = 1, *, with_texts: bool = False) -> list[Template]:
    """Return templates from the schema that read well, with texts if possible.

    ``with_texts``: also such as need a requirement on texts (:func:`implausible`).

    They alternate between types of answers and between one and two named things. Plausible templates
    (:mod:`plausible`) and templates with groundings of at least ``least`` answers are preferred.
    """
    frame = _readable(kb, suggest(kb.session, _CONSIDERED, seed, least))
    if least > 1:  # two named things need no requirement, which would choose among the candidates
        others = _readable(kb, suggest(kb.session, _CONSIDERED, seed))
        are_pairs = pl.Series([len(syntax.slots(parse(one))) > 1 for one in others["expression"]], dtype=pl.Boolean)
        pairs = others.filter(are_pairs).join(frame, on="expression", how="anti", maintain_order="left")
        frame = pl.concat([frame, pairs]).sort("groundings", "expression", descending=[True, False])
    if frame.is_empty() and least > 1:
        frame = _readable(kb, suggest(kb.session, _CONSIDERED, seed))
    if frame.is_empty():
        hint = ("Use ", Option("template"), " with a TOML file of templates")
        check_named(kb, nameless_types(kb), *hint[1:])
        if head_nouns(kb) is not None:
            raise KbError("Nothing says what the nodes without a type are", f"{TYPES_NEEDED}, or use ", *hint[1:])
        if problems := unworded(kb.schema):
            name, problem = next(iter(problems.items()))
            message = f"No template can be worded: the label of relation {name} has {problem}"
            raise KbError(message, f"{REMEDY}, or use ", *hint[1:])
        raise KbError("The schema suggests no template whose answers have texts", *hint)
    why = [implausible(kb, one, with_texts=with_texts) for one in frame["expression"]]
    frame = frame.filter(pl.Series([not reason for reason in why], dtype=pl.Boolean))
    if frame.is_empty():
        reasons = "; ".join(reason for reason, _ in Counter(why).most_common(_REASONS))
        first = f"{REMEDY}, or use " if unworded(kb.schema) else "Use "
        hint = (first, Option("template"), " with a TOML file of templates")
        if more := few_listed(kb):
            hint = (f"{more}. Or use ", *hint[1:])
        raise KbError(f"The schema suggests no template that a reader would ask: {reasons}", *hint)
    slots = pl.Series("slots", [len(syntax.slots(parse(one))) for one in frame["expression"]], dtype=pl.Int64)
    frame = frame.with_columns(slots)
    turn = pl.int_range(pl.len()).over("answer", "slots")
    rows = frame.with_columns(turn.alias("turn")).sort("turn", maintain_order=True).head(_SUGGESTED)
    suggestions = []
    for name, expression, answer, question in rows.select("template", "expression", "answer", "question").iter_rows():
        template = Template(f"{SUGGEST}/{name}", expression, answer, question)
        # A node that the query names is not an answer.
        starts = any(
            isinstance(p, syntax.Nodes) and p.type == answer and isinstance(p.selector, syntax.Slot)
            for p in syntax.subtrees(template.tree())
        )
        suggestions.append(Template(template.id, expression, answer, question, exclude_start=starts))
    return suggestions


def _readable(kb: KnowledgeBase, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the suggestions that can be worded, of answers with texts if any has."""
    nameless = nameless_types(kb)
    kinds = [{row["answer"], *_named_types(row["expression"])} for row in frame.iter_rows(named=True)]
    frame = frame.filter(pl.Series([nameless.isdisjoint(of_row) for of_row in kinds], dtype=pl.Boolean))
    if with_text := types_with_text(kb):
        frame = frame.filter(pl.col("answer").is_in(sorted(with_text)))
    heads = head_nouns(kb)
    reads_well = [_reads_well(kb, expression, heads) for expression in frame["expression"]]
    return frame.filter(pl.Series(reads_well, dtype=pl.Boolean))


def _named_types(expression: str) -> set[str]:
    """Return the types of the nodes that an expression names."""
    parts = (part for part in syntax.subtrees(parse(expression)) if isinstance(part, syntax.Nodes))
    return {part.type for part in parts if part.type and isinstance(part.selector, syntax.Slot)}


def _reads_well(kb: KnowledgeBase, expression: str, heads: Mapping[str, str] | None) -> bool:
    """Return whether an expression can be worded; of nodes without types, people and heads of relations are asked for.

    Their labels, such as tags, are not used: their names are those of anything.
    """
    plan = kb.session.resolved(parse(expression), expression)
    words = None if truncated(kb, plan.root) else noun_phrase(plan, kb.schema, heads)
    if words is None or heads is None or not is_untyped(plan.type):
        return words is not None
    moves = [move for operator in operators(plan.root) if isinstance(operator, Hop) for move in operator.moves]
    nouns = [tail_noun(kb.schema.relation(move.relation)) for move in moves]
    return is_asked(words.noun, heads) and all(noun and not is_label(noun) for noun in nouns)
