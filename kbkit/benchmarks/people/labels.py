"""Queries that people write, and their grades of what the retrievers find for them, in the workspace of a KB.

As in TREC, the first hits of every retriever are pooled and graded by people who do not see which retriever found
them: 2 for an answer, 1 for an answer in part, 0 for none. STaRK's authors completed the answers of human-generated
queries by hand (section 2.6 and appendix C); :mod:`kbkit.benchmarks.stark.human` writes labelled queries in its format.

Answers that are known beforehand join the pool: those of a question that is read with certainty, unless they are more
than twice as many as the hits asked for, and those that a person adds, such as the answers of an expression.

Where annotators disagree, a person can decide: see :meth:`Labels.decide`.

``workspace/labels`` has ``queries.jsonl``, of whose lines with the same id the last one counts, and the judgements
``grades/ANNOTATOR.jsonl``, whose items are a query and a node (``type#key``) and whose question is the grade; decisions
are in ``decisions/NAME.jsonl``. Each query and each grade is saved at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.people.judged import judged
from kbkit.benchmarks.people.judgements import (
    GivenParts,
    Judgement,
    RaterFolder,
    amend_judgement,
    append_judgements,
    one_writer,
    outside,
    ratings,
)
from kbkit.benchmarks.people.pools import LabelledQuery, LabelPools, PoolNode
from kbkit.directory.files import append_json
from kbkit.directory.generations import now
from kbkit.directory.typed_json import from_json, to_json
from kbkit.errors import KbError, UnknownNameError, check_unicode
from kbkit.measures.agreement import agreement_table
from kbkit.measures.frames import Gold
from kbkit.measures.records import content, records

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase

ANSWER = 2
GRADES = {ANSWER: "answer", 1: "in part", 0: "no answer"}
LONGEST = 2_000
"""Maximum number of characters of a query or a note."""
_GRADE = "grade"
"""The question of all judgements."""


class Disagreement(NamedTuple):
    """A node of a query's pool that annotators graded differently, their grades, and the decision, if there is one.

    The note may be written before the decision.
    """

    query: LabelledQuery
    node: PoolNode
    grades: list[Judgement]
    decision: Judgement | None
    note: str


class Labels(LabelPools):
    """The labels of a KB. Several processes can read and write them."""

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__(kb)
        folder = kb.workspace.folder / "labels"
        self._queries = folder / "queries.jsonl"
        self._grades = RaterFolder(folder / "grades", _problem)
        self._decisions = RaterFolder(folder / "decisions", _problem)

    # -- queries ------------------------------------------------------------------------------------------------------

    def queries(self) -> list[LabelledQuery]:
        """Return all queries in the order in which they were written, without deleted ones."""
        return [query for query in self._every().values() if not query.deleted]

    def _every(self) -> dict[str, LabelledQuery]:
        """Return all queries by id, also deleted ones, whose ids are not used again."""
        return {one.id: one for one in self._states()}

    def _states(self) -> Iterator[LabelledQuery]:
        """Yield every state of every query, in the order in which they were saved."""
        if self._queries.is_file():
            for line in records(self._queries, content(self._queries, whole=True)):
                yield from_json(LabelledQuery, line.fields, f"{self._queries}, line {line.position}")

    def query(self, number: str) -> LabelledQuery:
        """Return a query, or raise :class:`UnknownNameError`."""
        known = {query.id: query for query in self.queries()}
        if number not in known:
            raise UnknownNameError("query", number, known)
        return known[number]

    def write(
        self,
        text: str,
        annotator: str,
        node: str = "",
        note: str = "",
        k: int = 10,
        type: str = "",  # noqa: A002 - as in search
        nodes: Sequence[str] = (),
    ) -> LabelledQuery:
        """Save a query with the pool of the ``k`` first hits of each retriever that the KB has stores for.

        ``node`` (``type#key``) is the entity that the query was written for, if any: it joins the pool with the grade
        2. ``type`` restricts the hits, and ``nodes`` (``type#key``) join the pool. Raises :class:`KbError` for an empty
        query, for one that contains the name of this node, and if this node is not of the type.
        """
        self._grades.path(annotator)  # raises for an invalid name
        check_range("number of hits", k)
        if type:
            self._kb.schema.type(type)
        if node:
            described = self._kb.node(node)
            node = f"{described.type}#{described.key}"
        text, note = self._checked(text, note, node, type)
        pool, reading = self._pool(text, k, type, [*self._known(nodes), *([node] if node else [])])
        with one_writer(self._queries):
            number = str(1 + max(map(int, self._every()), default=0))
            query = LabelledQuery(number, text, annotator, pool, node, note, now(), type, reading)
            append_json(self._queries, to_json(query))
        if node:
            self.grade(number, node, ANSWER, annotator)
        return query

    def edit(
        self,
        number: str,
        text: str,
        note: str,
        k: int = 10,
        type: str | None = None,  # noqa: A002 - as in search
    ) -> LabelledQuery:
        """Change the text, the note and the ``type`` of the answers of a query ("": any; None: as before).

        Hits of the new text or type join the pool; ungraded nodes of other types leave it. Grades are kept.
        """
        check_range("number of hits", k)
        query = self.query(number)
        kind = query.type if type is None else type
        if kind:
            self._kb.schema.type(kind)
        text, note = self._checked(text, note, query.node, kind)
        if (text, kind) == (query.text, query.type):
            return self._changed(number, note=note)
        found, reading = self._pool(text, k, kind)
        left: set[str] = set()
        if kind not in ("", query.type):
            graded = {node for own in self._all().values() for of, node in own if of == number}
            left = {node for node in query.pool if node.partition("#")[0] != kind and node not in graded}
        return self._changed(number, found, left, text=text, note=note, type=kind, reading=reading)

    def add(self, number: str, nodes: Sequence[str]) -> LabelledQuery:
        """Add nodes (``type#key``) to the pool of a query, after the others; those that it has stay."""
        return self._changed(number, self._known(nodes))

    def last_added(self, number: str) -> list[str]:
        """Return the nodes that the last change of a query added and that are not graded; nothing after another change.

        :meth:`undo` removes them.
        """
        states = [one for one in self._states() if one.id == number][-2:]
        before, after = (states[0], states[-1]) if states else (self.query(number),) * 2
        if before.deleted or after != replace(before, pool=after.pool) or after.pool[: len(before.pool)] != before.pool:
            return []
        graded = {node for own in self._all().values() for query, node in own if query == number}
        return [node for node in after.pool[len(before.pool) :] if node not in graded]

    def undo(self, number: str) -> LabelledQuery:
        """Remove the nodes of :meth:`last_added` from the pool of a query."""
        with one_writer(self._queries):
            query, added = self.query(number), set(self.last_added(number))
            changed = replace(query, pool=[node for node in query.pool if node not in added])
            if added:
                append_json(self._queries, to_json(changed))
        return changed

    def next_open(self, annotator: str, after: str = "") -> LabelledQuery | None:
        """Return the first query after another one, or else of all, with nodes that an annotator has not graded."""
        grades = {item for item, one in self.grades(annotator).items() if one.mark is not None}
        queries = self.queries()
        start = next((at for at, query in enumerate(queries, 1) if query.id == after), 0)
        for query in [*queries[start:], *queries[:start]]:
            left = [node for node in query.pool if (query.id, node) not in grades]
            if query.id != after and left and self._nodes(left):
                return query
        return None

    def delete(self, number: str) -> None:
        """Delete a query. Its grades and decisions do not count any more."""
        self._changed(number, deleted=True)

    def _changed(
        self, number: str, nodes: Sequence[str] = (), left: Collection[str] = (), **fields: Any
    ) -> LabelledQuery:
        """Change fields of a query, and its pool: nodes that have ``left`` it, and others that join it."""
        with one_writer(self._queries):
            query = self.query(number)
            kept = (node for node in query.pool if node not in left)
            changed = replace(query, pool=list(dict.fromkeys([*kept, *nodes])), **fields)
            if changed != query:
                append_json(self._queries, to_json(changed))
        return changed

    def _known(self, nodes: Sequence[str]) -> Sequence[str]:
        """Return nodes (``type#key``) that the KB has. Raises :class:`KbError` for another one."""
        known = self._nodes(nodes)
        for node in nodes:
            if node not in known:
                self._kb.find(node)  # raises with similar names
                raise KbError(f"{node} is not written as type#key")
        return nodes

    def _checked(self, text: str, note: str, node: str, type: str) -> tuple[str, str]:  # noqa: A002
        """Return a query and a note without needless spaces.

        Raises :class:`KbError` for an invalid one, and if the node that it is written for is not of the type.
        """
        text, note = " ".join(text.split()), note.strip()
        for noun, value in (("query", text), ("note", note)):
            check_unicode(value, f"the {noun}")
            if len(value) > LONGEST:
                raise KbError(f"The {noun} is too long", f"Use at most {LONGEST:,} characters")
        if not text:
            raise KbError("The query is empty", "Write a question or some words")
        if node:
            described = self._kb.node(node)
            if type and type not in (described.type, *described.other_types):
                raise KbError(f"{node} is not of the type {type}", f"Choose the type {described.type}, or another node")
            if name := leaks(text, (described.name, *described.aliases)):
                raise KbError(f"The query contains the name {name}", "Rewrite it without the name")
        return text, note

    # -- grades -------------------------------------------------------------------------------------------------------

    def grade(self, query: str, node: str, grade: int | None, annotator: str, note: str = "") -> None:
        """Save an annotator's grade of a node in the pool of a query; None withdraws it."""
        self.give(query, node, annotator, {"mark": grade, "note": note})

    def decide(self, query: str, node: str, grade: int | None, who: str, note: str = "") -> None:
        """Save the grade that counts whatever the annotators gave; None withdraws it. The last decision counts."""
        self.give(query, node, who, {"mark": grade, "note": note}, decision=True)

    def give(self, query: str, node: str, who: str, given: GivenParts, *, decision: bool = False) -> None:
        """Save the parts of a grade, or of a decision, that a person gave; the others stay as they were."""
        if node not in self.query(query).pool:
            raise KbError(f"{node} is not in the pool of query {query}")
        if "note" in given:
            given = {**given, "note": given["note"].strip()[:LONGEST]}
        blank, item = Judgement(who, (query, node), _GRADE, None), (query, node)
        if problem := _problem(replace(blank, **given)):
            raise KbError(f"Invalid grade: {problem}")
        folder = self._decisions if decision else self._grades
        path = folder.path(who)
        known = self._last_decisions().get(item) if decision else self.grades(who).get(item)
        amend_judgement(path, known, blank, given)

    def grade_rest(self, query: str, grade: int, annotator: str, among: Collection[str] | None = None) -> None:
        """Save one grade of all nodes of a pool, or of those ``among`` them, that an annotator has not graded."""
        check_range("grade", grade, min(GRADES), max(GRADES))
        grades, rest = self.grades(annotator), []
        for node in (one.reference for one in self.candidates(self.query(query))):
            known = grades.get((query, node)) or Judgement(annotator, (query, node), _GRADE, None)
            if known.mark is None and (among is None or node in among):
                rest.append(replace(known, mark=grade, when=""))
        append_judgements(self._grades.path(annotator), rest)

    def decisions(self) -> dict[tuple[str, ...], Judgement]:
        """Return the last decision on each (query, node), without withdrawn ones."""
        return {item: one for item, one in self._last_decisions().items() if one.mark is not None}

    def _last_decisions(self) -> dict[tuple[str, ...], Judgement]:
        """Return the last decision on each (query, node), with withdrawn ones, which may have a note."""
        every = [one for own in self._decisions.all().values() for one in own]
        return {one.item: one for one in sorted(every, key=lambda one: one.when)}

    def disagreements(self) -> list[Disagreement]:
        """Return the nodes that annotators graded differently, by query."""
        marks: dict[tuple[str, ...], list[Judgement]] = {}
        for own in self._grades.all().values():
            for one in own:
                if one.mark is not None:
                    marks.setdefault(one.item, []).append(one)
        last, found = self._last_decisions(), []
        for query in self.queries():
            apart = {
                node: marks[query.id, node]
                for node in query.pool
                if len({one.mark for one in marks.get((query.id, node), [])}) > 1
            }
            shown = self.candidates(replace(query, pool=list(apart))) if apart else []
            for node in shown:
                given = last.get((query.id, node.reference))
                decision = given if given and given.mark is not None else None
                found.append(Disagreement(query, node, apart[node.reference], decision, given.note if given else ""))
        return found

    def grades(self, annotator: str) -> dict[tuple[str, str], Judgement]:
        """Return the grades of an annotator by (query, node), with withdrawn ones, which may have a note."""
        return {(judgement.item[0], judgement.item[1]): judgement for judgement in self._grades.of(annotator)}

    def _all(self) -> dict[str, dict[tuple[str, ...], int]]:
        """Return the grades of all annotators for queries that are not deleted."""
        queries = {query.id for query in self.queries()}
        return {
            name: {item: mark for item, mark in ratings(own, _GRADE).items() if item[0] in queries}  # type: ignore[misc]
            for name, own in self._grades.all().items()
        }

    def table(self) -> pl.DataFrame:
        """Return every annotator's grades: query, text, type, key, name, annotator, grade, note, when, counts, kind.

        ``counts`` is the grade of the node for the query: see :meth:`judgements`. The ``kind`` is grade, or decision
        for the grade of a person who decided where annotators differ.
        """
        import polars as pl

        queries = {query.id for query in self.queries()}
        every = [(one, name, "grade") for name, own in self._grades.all().items() for one in own]
        every += [(one, one.who, "decision") for one in self.decisions().values()]
        given = [
            (*one.item, name, one.note, one.when, one.mark, kind)
            for one, name, kind in every
            if one.mark is not None and one.item[0] in queries
        ]
        names = ("query", "reference", "annotator", "note", "when")
        kinds = {**dict.fromkeys(names, pl.String), "grade": pl.Int64, "kind": pl.String}
        frame = pl.DataFrame(given, kinds, orient="row")
        named = {name: node.name for name, node in self._nodes(frame["reference"].unique()).items()}
        called = pl.DataFrame(list(named.items()), dict.fromkeys(("reference", "name"), pl.String), orient="row")
        return (
            self.judgements()
            .select("query", "text", "type", "key", reference=pl.format("{}#{}", "type", "key"), counts=pl.col("grade"))
            .join(frame, on=["query", "reference"], maintain_order="left_right")
            .join(called, on="reference", how="left", maintain_order="left")
            .select("query", "text", "type", "key", "name", "annotator", "grade", "note", "when", "counts", "kind")
        )

    def incomplete(self) -> dict[str, tuple[int, int]]:
        """Return for each query that was read with certainty and whose pool lacks answers how many it has, of how many.

        Judgements of such a pool take the others for no answers.
        """
        read = ((query.id, self.reading(query)) for query in self.queries())
        return {number: (one.joined, one.total) for number, one in read if one and one.joined < one.total}

    def undecided(self) -> int:
        """Return how many nodes annotators graded differently without a decision."""
        return sum(one.decision is None for one in self.disagreements())

    def judgements(self) -> pl.DataFrame:
        """Return the graded nodes of all queries: see :func:`judged`."""
        decided = {item: one.mark for item, one in self.decisions().items()}
        return judged(self._all(), {query.id: query.text for query in self.queries()}, decided)  # type: ignore[arg-type]

    def gold(self) -> Gold:
        """Return the judgements as answers that runs are scored against, with nodes named as in runs of kbkit.

        If some query has a type of answers, the queries have a column ``type``, which runs use.
        """
        judgements = self.judgements()
        queries = judgements.select("query", "text").unique(maintain_order=True)
        types = {query.id: query.type for query in self.queries() if query.type}
        if not queries.filter(queries["query"].is_in(list(types))).is_empty():
            queries = queries.with_columns(queries["query"].replace_strict(types, default=None).alias("type"))
        named = self._kb.stores.nodes.shortest_references(judgements)
        return Gold(judgements.select("query", named, relevance="grade"), queries)

    def progress(self) -> pl.DataFrame:
        """Return each annotator's progress: query, text, type, annotator, graded, pool (numbers of nodes)."""
        import polars as pl

        given = self._all()
        rows = [
            (query.id, query.text, query.type, name, sum(item[0] == query.id for item in own), len(query.pool))
            for query in self.queries()
            for name, own in (given or {query.annotator: {}}).items()
        ]
        numbers = dict.fromkeys(("graded", "pool"), pl.Int64)
        return pl.DataFrame(
            rows, schema={**dict.fromkeys(("query", "text", "type", "annotator"), pl.String), **numbers}, orient="row"
        )

    def agreement(self, query: str | None = None) -> pl.DataFrame:
        """Return how annotators agree on nodes that both graded: annotators, measure, items, agreement, kappa.

        ``query`` restricts it to one query and to its annotators.
        """
        given = self._all()
        if query is not None:
            own = {name: {i: mark for i, mark in marks.items() if i[0] == query} for name, marks in given.items()}
            given = {name: marks for name, marks in own.items() if marks}
        agreed = agreement_table("on", {_GRADE: given}, everyone=len(given) > 2)
        return agreed.drop("on").rename({"raters": "annotators"})


def _problem(judgement: Judgement) -> str:
    return outside({_GRADE: tuple(GRADES)}, judgement) or (
        "" if len(judgement.item) == 2 else "its item is not a query and a node"
    )
