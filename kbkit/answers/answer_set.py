"""AnswerSet: the answers of an expression, evaluated lazily by one of three engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.answers import members, syntax
from kbkit.answers.algebra import Plan, SavedNodes, Total
from kbkit.answers.attribute_values import unknown_values
from kbkit.answers.bind import Bindings, bind
from kbkit.answers.columns import columns
from kbkit.answers.evaluate import evaluate
from kbkit.answers.operator_tree import plan_operators
from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.answers.syntax import Expression, Value, combine
from kbkit.answers.to_sparql import to_sparql, value_sparql
from kbkit.answers.to_sql import to_sql, value_sql
from kbkit.answers.total_rows import read_sparql
from kbkit.answers.totals import finished, fraction_origin, spoken, value_frame, value_of, value_text
from kbkit.assets.arguments import checked
from kbkit.errors import Command, KbError, MissingExtraError, UnknownNameError
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import distinct, node_ids

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from kbkit.answers.derivations import Derivations
    from kbkit.answers.engines import Engine
    from kbkit.answers.templates import Template
    from kbkit.answers.why import Why

_MAX_UNPICKLED = 4
"""Number of KBs that a process keeps open for the sets it has unpickled."""

ENGINES = ("walk", "sql", "sparql")
"""Engines of a KB: the adjacency arrays, DuckDB and Oxigraph."""


def answers(
    stores: Stores,
    expression: str | Template,
    engine: str | Engine = "walk",
    timeout: float | None = None,
    slots: Mapping[str, Value] | None = None,
) -> AnswerSet:
    """Return the answers of an expression or a template; see :meth:`kbkit.kb.KnowledgeBase.answers`."""
    session, values = Session.of(stores), slots or {}
    if isinstance(expression, str) and values and "/" in expression and "<" not in expression:
        from kbkit.answers.templates import by_id

        expression = by_id().get(expression, expression)
    if isinstance(expression, str):
        return AnswerSet(session, parse(expression), values, engine, expression, timeout)
    from kbkit.answers.templates import as_template

    template = as_template(expression)
    return AnswerSet(session, template.tree(), values, engine, template.expression, timeout)


@lru_cache(_MAX_UNPICKLED)
def _opened(path: str, generation: str) -> Stores:
    return Stores(path, generation)


def _unpickled(opening: tuple[str, str], *arguments: Any) -> AnswerSet:
    return AnswerSet(Session.of(_opened(*opening)), *arguments)


@checked
class AnswerSet:
    """The nodes that an expression describes; evaluated lazily, on first use of ``ids``, ``len``, ``in`` and so on.

    ``& | -`` combine two sets of one KB, ``==`` compares members, iterating yields ids. ``count(EXPR)`` and the like
    are the set EXPR with a ``value``; their ``sql`` and ``sparql`` return the set. Pickling saves the expression, and
    the path and generation of the KB; all sets of one KB that a process unpickles share its stores.
    """

    def __init__(
        self,
        session: Session,
        tree: Expression,
        slots: Mapping[str, Value] | None = None,
        engine: str | Engine = "walk",
        text: str = "",
        timeout: float | None = None,
    ) -> None:
        if isinstance(engine, str) and engine not in ENGINES:
            raise UnknownNameError("engine", engine, ENGINES)
        self._session, self.engine, self._timeout = session, engine, timeout
        self._slots, self._text = dict(slots or {}), text
        self.plan: Plan = session.resolved(tree, text)
        self._bound: Bindings = bind(self.plan, session, self._slots)
        self._tree = tree

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the expression, and the path and generation of the KB."""
        opening = self._session.stores.__reduce__()[1]
        return _unpickled, (opening, self._tree, self._slots, self.engine, self._text, self._timeout)

    @cached_property
    def tree(self) -> Expression:
        """The syntax tree, with values in place of slots."""
        return syntax.fill(self._tree, self._slots) if self._slots else self._tree

    @property
    def expression(self) -> str:
        """The expression, with values in place of slots."""
        return str(self.tree)

    @property
    def set_expression(self) -> str:
        """The expression of the set alone: for ``count(EXPR)`` and the like, EXPR."""
        return str(syntax.set_of(self.tree))

    @property
    def type(self) -> str | None:
        """The type of the members (None: any)."""
        return self.plan.type

    # -- members ------------------------------------------------------------------------------------------------------

    @cached_property
    def ids(self) -> Ids:
        """The ids of the members: int32, sorted, distinct; valid for this generation."""
        if self.engine == "walk":
            ids = evaluate(self.plan, self._session, self._bound)
        elif not isinstance(self.engine, str):
            ids = self.engine.ids(self, self._session, self._timeout)
        elif self.engine == "sql":
            frame = self._session.stores.tables.frame(self.sql, timeout=self._timeout)
            ids = frame["id"].to_numpy().astype(np.int32)
        else:
            ids = self._ids_of(self._session.stores.triples.frame(self.sparql, timeout=self._timeout))
        ids.flags.writeable = False
        return ids

    def _ids_of(self, answers: pl.DataFrame) -> Ids:
        iris = answers["answer"].to_list() if answers.width else []
        ids, missing = self._session.stores.nodes.by_iri(iris)
        if missing or len(ids) != len(iris):
            message = f"SPARQL returned {len(iris):,} answers, but only {len(ids):,} are nodes of the tables"
            raise KbError(message, "Run ", Command("check KB"), " for details")
        return ids

    def nodes(self) -> pl.DataFrame:
        """Return the members sorted by id: id, type, key, name."""
        return self._session.stores.nodes.frame(self.ids, ("id", "type", "key", "name"))

    def to_polars(self) -> pl.DataFrame:
        """Return :meth:`nodes` and, for a set of one type, the attributes of the type."""
        return members.frame(self._session.stores, self.ids, self.type)

    def to_arrow(self) -> pa.Table:
        """Return :meth:`to_polars` as an Arrow table."""
        return self.to_polars().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """Return :meth:`to_polars` as a pandas frame, with pandas' own types."""
        try:
            return self.to_polars().to_pandas()
        except ModuleNotFoundError:
            raise MissingExtraError("pandas", "pandas") from None

    def to_networkx(self) -> nx.MultiDiGraph[str]:
        """Return the members and the edges between them; see :func:`kbkit.answers.members.network`."""
        return members.network(self._session.stores, self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    def __contains__(self, node: object) -> bool:
        """Return whether a node is a member: an id, or a reference as for ``kb.find``."""
        if not isinstance(node, (int, str, np.integer)):
            return False
        number = int(node) if not isinstance(node, str) else self._session.stores.nodes.find(node)
        position = int(np.searchsorted(self.ids, number))
        return position < len(self.ids) and int(self.ids[position]) == number

    # -- paths --------------------------------------------------------------------------------------------------------

    def paths(self) -> int:
        """Return the number of paths that the expression describes, without listing them; exact, whatever its size.

        Nodes and edges may repeat on a path. See :mod:`kbkit.answers.path_counts`.
        """
        from kbkit.answers.path_counts import count_paths

        return count_paths(self.plan, self._session, self._bound)

    def paths_by(self, by: str | int = "end", limit: int | None = None) -> pl.DataFrame:
        """Return the number of paths for each ``start``, each ``end``, or each node after ``by`` steps.

        Columns: id, key, type, name, paths; sorted by paths, the most first, of which ``limit`` are returned (None:
        all).
        """
        from kbkit.answers.path_counts import paths_by

        return paths_by(self.plan, self._session, self._bound, by, limit)

    # -- values -------------------------------------------------------------------------------------------------------

    @cached_property
    def value(self) -> Any:
        """The value of ``count(...)``, ``sum(...)`` and so on, a number, text or date; of ``exists(...)``, a boolean.

        Of ``values(...)`` with one attribute, a sorted list; of a table, its rows as tuples. None for an expression
        that is only a set, and for an average, minimum or maximum without values.
        """
        total = self.plan.total
        if self.engine == "walk" and total in (Total("exists"), Total("count")):
            return bool(len(self.ids)) if total == Total("exists") else len(self.ids)
        return None if total is None else value_of(total, self._values)

    @property
    def value_origin(self) -> str:
        """The two counts of a fraction, as in *3 of 6 nodes*; empty for any other value."""
        total = self.plan.total
        if total is None or total.part is None or total.is_table:
            return ""
        return fraction_origin(total.part, self._session, self._bound, self.ids)

    @property
    def value_text(self) -> str:
        """The value as a line of text, a share with what it is of: *12.18% (24 of 197 nodes)*."""
        return value_text(self.plan.total, self.value, self.value_origin)

    def value_table(self) -> pl.DataFrame | None:
        """Return the value as a table; None for an expression that is only a set.

        A single value has a column named after the function. The columns of ``values(...)`` are called as the
        attributes; with several attributes or an order, ``node`` (``type#key``) is the first. Groups have a column for
        each attribute, ``node`` and ``name`` for the nodes of a path, and the value.
        """
        return None if self.plan.total is None else self._values

    @cached_property
    def _values(self) -> pl.DataFrame:
        if self.engine == "sql":
            assert self.value_sql is not None and self.plan.total is not None
            frame = self._session.stores.tables.frame(self.value_sql, timeout=self._timeout)
            return finished(frame, columns(self.plan.total))
        if self.engine == "sparql":
            assert self.value_sparql is not None and self.plan.total is not None
            return read_sparql(self._session, self.plan.total, self.value_sparql, self._timeout)
        return value_frame(self.plan, self._session, self._bound, self.ids)

    def unknown_values(self) -> list[str]:
        """Return a message about each text value in the expression that no node has, with the closest values."""
        return unknown_values(self.plan, self._session, self._bound)

    # -- algebra ------------------------------------------------------------------------------------------------------

    def __and__(self, other: AnswerSet) -> AnswerSet:
        return self._combine("&", other)

    def __or__(self, other: AnswerSet) -> AnswerSet:
        return self._combine("|", other)

    def __sub__(self, other: AnswerSet) -> AnswerSet:
        return self._combine("-", other)

    def _combine(self, op: str, other: AnswerSet) -> AnswerSet:
        if not isinstance(other, AnswerSet):
            return NotImplemented
        self._same_kb(other)
        tree = combine(op, syntax.set_of(self.tree), syntax.set_of(other.tree))
        return AnswerSet(self._session, tree, engine=self.engine, timeout=self._timeout)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnswerSet):
            return NotImplemented
        self._same_kb(other)
        return np.array_equal(self.ids, other.ids)

    __hash__ = None  # type: ignore[assignment]

    def belongs_to(self, session: Session) -> bool:
        """Return whether the ids belong to the KB of ``session``."""
        return self._session is session

    def _same_kb(self, other: AnswerSet) -> None:
        if self._session is not other._session:
            raise KbError("Answer sets of different KBs cannot be combined", "Save one and use it as @set")

    # -- compiled, explained, saved -----------------------------------------------------------------------------------

    @property
    def sql(self) -> str:
        """DuckDB SQL for the members, without parameters, to run on the KB's tables."""
        return to_sql(replace(self.plan, text=self.expression), self._session.schema, self._bound)

    @property
    def value_sql(self) -> str | None:
        """DuckDB SQL for :meth:`value_table`, without parameters; None for an expression that is only a set."""
        if self.plan.total is None:
            return None
        return value_sql(replace(self.plan, text=self.expression), self._session.schema, self._bound)

    @property
    def sparql(self) -> str:
        """SPARQL 1.1 for the IRIs of the members, without parameters, to run on the KB's triples."""
        schema = self._session.schema
        return to_sparql(replace(self.plan, text=self.expression), schema, self._bound, self._member_iris())

    @property
    def value_sparql(self) -> str | None:
        """SPARQL 1.1 for the value, without parameters; None for an expression that is only a set.

        Nodes are IRIs, an element of a list is a row of its own, and ties of a limit are not cut.
        """
        if self.plan.total is None:
            return None
        plan, schema = replace(self.plan, text=self.expression), self._session.schema
        return value_sparql(plan, schema, self._bound, self._member_iris())

    def _member_iris(self) -> dict[str, list[str]]:
        """Return the IRIs of the members of each saved set of the plan."""
        schema = self._session.schema
        members = {}
        for name in {op.name for op in plan_operators(self.plan) if isinstance(op, SavedNodes)}:
            frame = self._session.saved_nodes(name)
            members[name] = [schema.node_iri(*row) for row in frame.select("type", "key").iter_rows()]
        return members

    def why(self, node: int | str, *, all: bool = False) -> Why:  # noqa: A002
        """Return a proof, by a shortest path, that a node is a member; raise :class:`KbError` if it is not.

        With ``all``: the union of all proofs, every triple and fact that occurs in any of them.
        """
        return self.proofs([self._session.stores.nodes.find(node)], all=all)[0]

    def proofs(self, nodes: Sequence[int], *, all: bool = False) -> list[Why]:  # noqa: A002
        """Return proofs for several members, by id; with ``all`` the union of all proofs of each."""
        if all:
            from kbkit.answers.derivations import why_all

            return [why_all(self.plan, self._session, self._bound, node) for node in self._known(nodes).tolist()]
        from kbkit.answers.why import explain

        return explain(self.plan, self._session, self._bound, self._known(nodes).tolist())

    def derivations(self, nodes: Sequence[int] | None = None) -> Derivations:
        """Return the union of all derivations of members, by id; of all members by default."""
        from kbkit.answers.derivations import derivations

        wanted = self.ids if nodes is None else distinct(self._known(nodes))
        return derivations(self.plan, self._session, self._bound, wanted)

    def _known(self, nodes: Sequence[int]) -> Ids:
        return node_ids(nodes, "nodes", self._session.schema.nodes).astype(np.int32)

    def exclusions(self) -> Derivations:
        """Return the derivations of the candidates that differences exclude: why they are candidates, and why not.

        With :meth:`derivations`, these triples decide the answers: no further triple of the KB changes them.
        """
        from kbkit.answers.derivations import exclusions

        return exclusions(self.plan, self._session, self._bound)

    def save(self, name: str) -> None:
        """Save the members in the workspace, for use as ``@name`` and in SQL (``answer_members``)."""
        stores = self._session.stores
        stores.workspace.save(name, self.set_expression, self.type, self._session.generation, self.nodes())

    def __repr__(self) -> str:
        count = f", {len(self.ids):,} members" if "ids" in self.__dict__ else ""
        if self.plan.total is not None and "value" in self.__dict__:
            count += f", value {self.value!r}"
        return f"<AnswerSet {self.expression}{count}>"

    def _repr_html_(self) -> str:
        from kbkit.display import html as html_pages
        from kbkit.display.render import cell

        try:
            first = self.ids[: html_pages.ROWS].tolist()
            rows = self._session.stores.nodes.rows(first)
            proof = self.proofs(first[:1])[0].lines() if first and self._session.stores.has("adjacency") else []
        except KbError as error:
            return html_pages.failure(self.expression, str(error))
        members = [(row.type, row.key, row.name) for row in rows.values()]
        value = None
        if self.plan.total is not None:
            value = cell(self.value) if isinstance(self.value, list) else spoken(self.value)
        return html_pages.answers(self.expression, self.type, len(self.ids), members, proof, value)
