"""Explain false positives by the constraints of the query that they violate (QUEST, section 5 and Table 6).

QUEST's authors had people judge a sample; for a query with an answer expression, the KB gives the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.answers.syntax import Combine, Expression
from kbkit.errors import KbError
from kbkit.measures.frames import Gold, ordered
from kbkit.measures.scores import grouped, with_groups
from kbkit.stores.adjacency import Ids

UNMET = pl.Schema(
    {
        "query": pl.String,
        "node": pl.String,
        "unmet": pl.Int64,
        "constraints": pl.Int64,
        "negation_violated": pl.Boolean,
    }
)

_FIND = """
SELECT w.position, 0 AS step, n.id FROM kbkit_names w JOIN nodes n ON n.type || '#' || n.key = w.node
UNION ALL
SELECT w.position, 1, n.id FROM kbkit_names w JOIN nodes n ON n.key = w.node AND n.type = w.type
UNION ALL
SELECT w.position, 2, n.id FROM kbkit_names w JOIN node_types t ON t.type = w.type JOIN nodes n ON n.id = t.id
WHERE n.key = w.node
UNION ALL
SELECT w.position, 2, n.id FROM kbkit_names w JOIN nodes n ON n.key = w.node WHERE w.type IS NULL"""


class Constraint(NamedTuple):
    """A set that must contain each answer or, if ``negated``, must not."""

    tree: Expression
    negated: bool = False

    @property
    def text(self) -> str:
        """The constraint as an answer expression."""
        return str(self.tree)


def constraints(tree: Expression) -> list[Constraint]:
    """Return the constraints of an expression: of ``a & b`` those of all parts; of ``a - b`` those of a, and b negated.

    Any other expression, including a union, is one constraint.
    """
    if isinstance(tree, Combine) and tree.op == "&":
        return [constraint for part in tree.parts for constraint in constraints(part)]
    if isinstance(tree, Combine) and tree.op == "-":
        return [*constraints(tree.parts[0]), *(Constraint(part, negated=True) for part in tree.parts[1:])]
    return [Constraint(tree)]


def unmet(session: Session, predicted: pl.DataFrame, gold: Gold) -> pl.DataFrame:
    """Return a row for each false positive, a predicted node that is not an answer of its query.

    Columns: query; node; unmet (number of violated constraints; a negated one is violated if the node is in its set);
    constraints (their number); negation_violated (null: no constraint is negated). ``unmet`` and ``negation_violated``
    are null for a node that is not in the KB. Nodes are named ``type#key``, or by a key of the answers' type.
    ``gold.queries`` has the answer expression of each query in the column ``expression``.
    """
    if "expression" not in gold.queries.columns:
        raise KbError("Missing column expression in the gold answers", "It holds the answer expression of each query")
    answered = gold.relevant
    wrong = ordered(predicted.join(gold.queries, on="query", how="semi")).join(
        answered, on=["query", "node"], how="anti"
    )
    expressions = dict(gold.queries.select("query", "expression").iter_rows())
    answers = lru_cache(64)(lambda text: AnswerSet(session, parse(text), text=text))
    trees, types = {}, {}
    for query in wrong["query"].unique(maintain_order=True):
        with _naming(query):
            trees[query] = _tree(expressions[query])
            types[query] = session.resolved(trees[query]).type
    parts = [pl.DataFrame(schema=UNMET)]
    for (query,), rows in _located(session, wrong, types).group_by("query", maintain_order=True):
        with _naming(query):
            parts.append(_failures(rows, trees[query], answers))
    return pl.concat(parts)


@contextmanager
def _naming(query: object) -> Iterator[None]:
    """Add the query to error messages."""
    try:
        yield
    except KbError as error:
        raise KbError(f"Query {query!r}: {error.message}", *error.hints) from None


def _tree(expression: object) -> Expression:
    if not isinstance(expression, str):
        raise KbError("Missing expression", "Each query of the gold answers needs one")
    return parse(expression)


def _failures(rows: pl.DataFrame, tree: Expression, answers: Callable[[str], AnswerSet]) -> pl.DataFrame:
    """Return the rows of one query (query, node, id) with their violated constraints."""
    required = constraints(tree)
    ids = rows["id"].fill_null(-1).to_numpy()
    failed = np.array([_inside(ids, answers(c.text).ids) == c.negated for c in required])
    negated = np.array([c.negated for c in required])
    known = pl.col("id").is_not_null()
    failures = rows.select(
        "query",
        "node",
        unmet=pl.when(known).then(pl.Series(failed.sum(axis=0))),
        constraints=pl.lit(len(required)),
        negation_violated=pl.when(known & bool(negated.any())).then(pl.Series(failed[negated].any(axis=0))),
    )
    return failures.cast(UNMET)


def _inside(ids: Ids, members: Ids) -> NDArray[np.bool_]:
    """Return for each id whether it is one of the sorted members."""
    positions = np.searchsorted(members, ids)
    inside: NDArray[np.bool_] = np.append(members, -2)[positions] == ids
    return inside


def _located(session: Session, rows: pl.DataFrame, types: Mapping[str, str | None]) -> pl.DataFrame:
    """Add the ``id`` of each node to rows (query, node); null for unknown and ambiguous names.

    ``types`` is the type of each query's answers. A single lookup, because it scans all nodes.
    """
    kinds = pl.DataFrame(
        {"query": list(types), "type": list(types.values())}, schema=dict.fromkeys(("query", "type"), pl.String)
    )
    typed = rows.select("query", "node").join(kinds, on="query", how="left", maintain_order="left")
    names = typed.select("node", "type").unique(maintain_order=True).with_row_index("position")
    matches = session.stores.tables.lookup(_FIND, frames={"kbkit_names": names}).unique()
    best = matches.filter(pl.col("step") == pl.col("step").min().over("position"))
    clear = best.filter(pl.col("position").is_unique()).select(pl.col("position").cast(names.schema["position"]), "id")
    resolved = names.join(clear, on="position", how="left").select("node", "type", "id")
    return typed.join(resolved, on=["node", "type"], how="left", nulls_equal=True, maintain_order="left")


def table(failures: pl.DataFrame, queries: pl.DataFrame | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
    """Summarize the result of :func:`unmet` as in QUEST's Table 6: a row per group, and one for all.

    Columns: ``by``; false_positives; unknown (how many are not in the KB); of the others, the fractions that violate 1,
    2, 3 constraints (``unmet_1``, ...; more columns if needed, and ``unmet_0`` if the gold lacks an answer of the KB);
    negation_violated, the fraction that violates a negated constraint, among queries with one. Null if there are no
    rows.
    """
    counts = sorted({1, 2, 3, *failures["unmet"].drop_nulls().to_list()})
    columns = [
        pl.len().cast(pl.Int64).alias("false_positives"),
        pl.col("unmet").null_count().cast(pl.Int64).alias("unknown"),
        *((pl.col("unmet") == count).mean().alias(f"unmet_{count}") for count in counts),
        pl.col("negation_violated").mean(),
    ]
    return grouped(with_groups(failures, queries, by), by, columns)


def remarks(failures: pl.DataFrame) -> list[str]:
    """Return notes on unknown nodes and on gold answers that differ from the KB."""
    lines = []
    unknown = failures["unmet"].null_count()
    if unknown:
        example = failures.filter(pl.col("unmet").is_null())["node"][0]
        lines.append(
            f"{unknown:,} false positives are not in the KB, for example {example!r}; they count as unknown only"
        )
    right = (failures["unmet"] == 0).sum()
    if right:
        lines.append(f"{right:,} false positives meet all constraints: the gold answers lack answers of the KB")
    return lines
