"""AnswerSet: an expression over one KB, run when its members are asked for, by any of three engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers import syntax
from kbkit.answers.algebra import Plan, Stored, operators
from kbkit.answers.bind import Bindings, bind
from kbkit.answers.parse import parse
from kbkit.answers.session import Session
from kbkit.answers.syntax import Expression, Value, combine
from kbkit.answers.to_sparql import to_sparql
from kbkit.answers.to_sql import to_sql
from kbkit.answers.walk import walk
from kbkit.errors import KbError, UnknownNameError
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.catalogue import Template
    from kbkit.answers.engines import Engine
    from kbkit.answers.why import Why

ENGINES = ("walk", "sql", "sparql")


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
        from kbkit.answers.catalogue import shipped

        expression = next((template for template in shipped() if template.id == expression), expression)
    if isinstance(expression, str):
        return AnswerSet(session, parse(expression), values, engine, expression, timeout)
    return AnswerSet(session, expression.tree(), values, engine, expression.expression, timeout)


class AnswerSet:
    """The nodes that an expression stands for. Nothing runs before ``ids`` (or ``len``, ``in``, ...) is asked for.

    ``& | -`` combine two sets of one KB, ``==`` compares members. Iterating gives ids.
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
        self._slots = dict(slots or {})
        self.plan: Plan = session.resolved(tree, text)
        self._bound: Bindings = bind(self.plan, session, self._slots)
        self.tree: Expression = syntax.fill(tree, self._slots) if self._slots else tree

    @property
    def expression(self) -> str:
        """The expression, with its slots filled."""
        return str(self.tree)

    @property
    def type(self) -> str | None:
        """The type of the members; None for any."""
        return self.plan.type

    # -- members ------------------------------------------------------------------------------------------------------

    @cached_property
    def ids(self) -> Ids:
        """The members' ids: int32, sorted, distinct. They belong to this generation."""
        if self.engine == "walk":
            found = walk(self.plan, self._session, self._bound)
        elif not isinstance(self.engine, str):
            found = self.engine.ids(self, self._session, self._timeout)
        elif self.engine == "sql":
            frame = self._session.stores.tables.frame(self.sql, timeout=self._timeout)
            found = frame["id"].to_numpy().astype(np.int32)
        else:
            found = self._ids_of(self._session.stores.triples.frame(self.sparql, timeout=self._timeout))
        found.flags.writeable = False
        return found

    def _ids_of(self, answers: pl.DataFrame) -> Ids:
        iris = answers["answer"].to_list() if answers.width else []
        found, missing = self._session.by_iri(iris)
        if missing or len(found) != len(iris):
            raise KbError(f"SPARQL gave {len(iris)} answers, of which the tables know {len(found)}", "run kbkit check")
        return found

    def nodes(self) -> pl.DataFrame:
        """The members: id, type, key, name, in the order of ids."""
        import polars as pl

        sql = "SELECT id, type, key, name FROM nodes WHERE id IN (SELECT member FROM kbkit_members) ORDER BY id"
        return self._session.stores.tables.lookup(sql, frames={"kbkit_members": pl.DataFrame({"member": self.ids})})

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    def __contains__(self, node: object) -> bool:
        """Whether a node is a member: an id, or a reference as ``kb.find`` takes it."""
        if not isinstance(node, (int, str, np.integer)):
            return False
        number = int(node) if not isinstance(node, str) else self._session.stores.nodes.find(node)
        place = int(np.searchsorted(self.ids, number))
        return place < len(self.ids) and int(self.ids[place]) == number

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
        tree = combine(op, self.tree, other.tree)
        return AnswerSet(self._session, tree, engine=self.engine, timeout=self._timeout)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnswerSet):
            return NotImplemented
        self._same_kb(other)
        return np.array_equal(self.ids, other.ids)

    __hash__ = None  # type: ignore[assignment]

    def belongs_to(self, session: Session) -> bool:
        """Whether its ids are those of the KB that ``session`` is of."""
        return self._session is session

    def _same_kb(self, other: AnswerSet) -> None:
        if self._session is not other._session:
            raise KbError("two answer sets of different KBs", "save one, and name it @set in the other")

    # -- compiled, explained, saved -----------------------------------------------------------------------------------

    @property
    def sql(self) -> str:
        """DuckDB SQL that gives the members and runs by itself on the KB's tables."""
        return to_sql(replace(self.plan, text=self.expression), self._session.schema, self._bound)

    @property
    def sparql(self) -> str:
        """SPARQL 1.1 that gives the members' IRIs and runs by itself on the KB's triples."""
        schema = self._session.schema
        members = {}
        for name in {op.name for op in operators(self.plan.root) if isinstance(op, Stored)}:
            frame = self._session.stored_nodes(name)
            members[name] = [schema.node_iri(*row) for row in frame.select("type", "key").iter_rows()]
        return to_sparql(replace(self.plan, text=self.expression), schema, self._bound, members)

    def why(self, node: int | str) -> Why:
        """A proof that a node is a member, by a shortest path; raises :class:`KbError` when it is none."""
        return self.proofs([self._session.stores.nodes.find(node)])[0]

    def proofs(self, nodes: Sequence[int]) -> list[Why]:
        """The proofs of several members, by their ids."""
        from kbkit.answers.why import explain

        return explain(self.plan, self._session, self._bound, nodes)

    def save(self, name: str) -> None:
        """Keep the members in the workspace, where ``@name`` and SQL (``answer_members``) see them."""
        stores = self._session.stores
        stores.workspace.save(name, self.expression, self.type, self._session.generation, self.nodes())

    def __repr__(self) -> str:
        count = f", {len(self.ids):,} members" if "ids" in self.__dict__ else ""
        return f"<AnswerSet {self.expression}{count}>"

    def _repr_html_(self) -> str:
        from kbkit.display import html as html_pages
        from kbkit.stores.nodes import NODES_SQL

        try:
            first = self.ids[: html_pages.ROWS].tolist()
            rows = self._session.stores.tables.rows(f"{NODES_SQL} ORDER BY id", {"ids": first})
            proof = self.proofs(first[:1])[0].lines() if first and self._session.stores.has("adjacency") else []
        except KbError as error:
            return html_pages.failure(self.expression, str(error))
        members = [(kind, key, name) for _, key, kind, name in rows]
        return html_pages.answers(self.expression, self.type, len(self.ids), members, proof)
