"""Why false positives are wrong: which constraints of the query they fail (QUEST, section 5 and Table 6).

QUEST's authors had people judge a sample; where a query has an answer expression, the KB itself knows.
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
from kbkit.measures.summary import grouped, with_groups
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
SELECT w.place, 0 AS step, n.id FROM kbkit_wanted w JOIN nodes n ON n.type || '#' || n.key = w.node
UNION ALL
SELECT w.place, 1, n.id FROM kbkit_wanted w JOIN nodes n ON n.key = w.node AND n.type = w.type
UNION ALL
SELECT w.place, 2, n.id FROM kbkit_wanted w JOIN node_types t ON t.type = w.type JOIN nodes n ON n.id = t.id
WHERE n.key = w.node
UNION ALL
SELECT w.place, 2, n.id FROM kbkit_wanted w JOIN nodes n ON n.key = w.node WHERE w.type IS NULL"""


class Constraint(NamedTuple):
    """One set that an answer lies in, or, ``negated``, does not lie in."""

    tree: Expression
    negated: bool = False

    @property
    def text(self) -> str:
        """The constraint as an expression."""
        return str(self.tree)


def constraints(tree: Expression) -> list[Constraint]:
    """The constraints of an expression: those of all parts of ``a & b``; for ``a - b`` those of a, and b negated.

    Anything else is one constraint, a union too.
    """
    if isinstance(tree, Combine) and tree.op == "&":
        return [found for part in tree.parts for found in constraints(part)]
    if isinstance(tree, Combine) and tree.op == "-":
        return [*constraints(tree.parts[0]), *(Constraint(part, negated=True) for part in tree.parts[1:])]
    return [Constraint(tree)]


def unmet(session: Session, predicted: pl.DataFrame, gold: Gold) -> pl.DataFrame:
    """A row for each false positive: a predicted node that is no answer of its query.

    query, node, unmet (how many constraints it fails; a negated one fails if the node is in its set), constraints (how
    many there are), negation_violated (null where no constraint is negated). ``unmet`` and ``negation_violated`` are
    null for a node that the KB does not know. Nodes are named by ``type#key``, or by a key of the type of the answers.
    ``gold.queries`` has the answer expression of each query in the column ``expression``.
    """
    if "expression" not in gold.queries.columns:
        raise KbError("the gold has no column expression", "it says which nodes are the answers, e.g. a & b - c")
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
    """Say which query an error is about."""
    try:
        yield
    except KbError as error:
        raise KbError(f"query {query!r}: {error.message}", *error.hints) from None


def _tree(expression: object) -> Expression:
    if not isinstance(expression, str):
        raise KbError("it has no expression", "every query of the gold needs one")
    return parse(expression)


def _failures(rows: pl.DataFrame, tree: Expression, answers: Callable[[str], AnswerSet]) -> pl.DataFrame:
    """The rows of one query (query, node, id) with what they fail."""
    asked = constraints(tree)
    ids = rows["id"].fill_null(-1).to_numpy()
    failed = np.array([_inside(ids, answers(c.text).ids) == c.negated for c in asked])
    negated = np.array([c.negated for c in asked])
    known = pl.col("id").is_not_null()
    found = rows.select(
        "query",
        "node",
        unmet=pl.when(known).then(pl.Series(failed.sum(axis=0))),
        constraints=pl.lit(len(asked)),
        negation_violated=pl.when(known & bool(negated.any())).then(pl.Series(failed[negated].any(axis=0))),
    )
    return found.cast(UNMET)


def _inside(ids: Ids, members: Ids) -> NDArray[np.bool_]:
    """Which ids are among the members, which are sorted."""
    places = np.searchsorted(members, ids)
    found: NDArray[np.bool_] = np.append(members, -2)[places] == ids
    return found


def _located(session: Session, rows: pl.DataFrame, types: Mapping[str, str | None]) -> pl.DataFrame:
    """Rows (query, node) with the ``id`` of their node, null for names that the KB lacks or that can mean several.

    ``types`` gives the type of each query's answers. One look-up for all: it reads every node.
    """
    kinds = pl.DataFrame(
        {"query": list(types), "type": list(types.values())}, schema=dict.fromkeys(("query", "type"), pl.String)
    )
    typed = rows.select("query", "node").join(kinds, on="query", how="left", maintain_order="left")
    wanted = typed.select("node", "type").unique(maintain_order=True).with_row_index("place")
    found = session.stores.tables.lookup(_FIND, frames={"kbkit_wanted": wanted}).unique()
    best = found.filter(pl.col("step") == pl.col("step").min().over("place"))
    clear = best.filter(pl.col("place").is_unique()).select(pl.col("place").cast(wanted.schema["place"]), "id")
    names = wanted.join(clear, on="place", how="left").select("node", "type", "id")
    return typed.join(names, on=["node", "type"], how="left", nulls_equal=True, maintain_order="left")


def table(failures: pl.DataFrame, queries: pl.DataFrame | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
    """What :func:`unmet` found, laid out as QUEST's Table 6, a row a group and one for all.

    The ``by`` columns, false_positives, unknown (those of them that the KB does not know), then of the others the
    shares that fail 1, 2, 3 constraints (``unmet_1``, ...; more columns where more fail, and ``unmet_0`` where the gold
    lacks an answer that the KB has), and negation_violated, the share that a negated constraint excludes, of those
    whose query has one. Null where there is nothing to share.
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
    """What a reader of the table should know."""
    result = []
    unknown = failures["unmet"].null_count()
    if unknown:
        named = failures.filter(pl.col("unmet").is_null())["node"][0]
        result.append(
            f"false positives that the KB does not know: {unknown:,}, e.g. {named!r}; counted as unknown only"
        )
    right = (failures["unmet"] == 0).sum()
    if right:
        result.append(f"false positives that meet every constraint: {right:,}; the KB has answers that the gold lacks")
    return result
