"""The tools of ``kbkit mcp``: description, arguments, an example that fits the KB, and implementation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbkit.agent import describe
from kbkit.agent.actions import MOST_BYTES, Explorer
from kbkit.agent.names import line
from kbkit.agent.results import Outcome, table
from kbkit.display.render import records
from kbkit.errors import KbError, plural
from kbkit.questions.reply import CLOSEST, reply
from kbkit.schema import quote
from kbkit.stores.sql_results import ResultBounds

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase
    from kbkit.questions.ask import AskResult

SHOWN = 20
"""Default number of rows that a tool returns."""
_LONGEST_TEXT = 4_000
_LONGEST_ENTRY = 24_000
_COLUMNS, _FEW = 25, 10


@dataclass(frozen=True)
class ToolLimits:
    """Limits of a tool: maximum number of ``rows``, and ``timeout`` of a query in seconds (None: no limit)."""

    rows: int = 1_000
    timeout: float | None = 60.0

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise KbError(f"Invalid limit: {self.rows} rows", "Use 1 or more")


@dataclass(frozen=True)
class ToolReply:
    """What a tool returns: a text for a model, and for some tools the same as data for a program."""

    text: str
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class McpTool:
    """A tool: ``arguments`` are the properties of its JSON schema, of which the first is required; ``output`` is the
    schema of the data that it returns, if any.
    """

    name: str
    does: str
    arguments: Mapping[str, Mapping[str, Any]]
    work: Callable[..., ToolReply]
    output: Mapping[str, Any] | None = None
    is_read_only: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        required = [name for name in self.arguments if name != "limit"]
        properties = {name: dict(kind) for name, kind in self.arguments.items()}
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_WORDS = {"type": "array", "items": {"type": "string"}}
_RECORDS = {"type": "array", "items": {"type": "object"}}
_COUNT = {"type": "integer", "description": "Number of results found, at most the server's limit."}
_COMPLETE = {"type": "boolean", "description": "Whether all results are listed."}
_ROWS_SCHEMA = _object(columns=_WORDS, rows=_RECORDS, count=_COUNT, complete=_COMPLETE)
_TEXT = {"type": "string"}
_ASK_SCHEMA = {
    **_object(
        answered={"type": "boolean", "description": "Whether the reading is certain enough to be used."},
        confidence={"type": "number", "description": "Probability that the answers are exactly right, 0 to 1."},
        expression={**_TEXT, "description": "The answer expression that the question was read as; empty if refused."},
        value={"description": "The number, text, boolean or list that the question asks for; null for nodes."},
        answers={**_RECORDS, "description": "type, key and name of nodes with the lines of a proof of each."},
        count=_COUNT,
        complete=_COMPLETE,
        refusal={**_TEXT, "description": "What could not be read; empty if the question is answered."},
        closest={
            **_RECORDS,
            "description": "The closest readings, if it is not answered: number, words, and answer expression.",
        },
    )
}
_SIMILAR_SCHEMA = _object(nodes=_RECORDS)
_UNREAD = "Ask in other words, or find ids with search and write a query."
_PATHS = 50
"""Maximum number of paths."""
_ANSWERS_SCHEMA = _object(nodes=_RECORDS, count=_COUNT, complete=_COMPLETE)


def tools(kb: KnowledgeBase, limits: ToolLimits) -> list[McpTool]:
    """Return the tools of a KB, except those whose store it lacks."""
    work, example = _Work(kb, limits), _Examples(kb)
    text = {"type": "string", "minLength": 1}
    limit = {"limit": {"type": "integer", "minimum": 1, "maximum": limits.rows, "default": min(SHOWN, limits.rows)}}
    found = [
        McpTool("schema", "List the types, relations, attributes, prefixes and SQL tables of the KB, and how to query"
             " it. Call this first.", {}, work.schema, {"type": "object"}),
        McpTool("search", "Find entities (at most 8) and properties (at most 4: relations and attributes) by words in"
             f" their names, aliases and texts. Example: {example.search}", {"text": text}, work.search),
        McpTool("entry", "Return an entity's properties with values, qualifiers and labels. The id is one that another"
             f" tool returned, or a name. Example: {example.entry}", {"id": text}, work.entry),
        McpTool("show", "Return an entity's entry and all of its texts.", {"id": text}, work.show),
        McpTool("examples", "Return a few examples of the use of a property (relation or attribute), by its id."
             f" Example: {example.examples}", {"property": text}, work.examples),
        McpTool("sql", "Run one SELECT statement (DuckDB SQL) on the KB's tables, which the tool schema lists."
             f" Read-only. Example: {example.sql}", {"query": text, **limit}, work.sql, _ROWS_SCHEMA),
    ]  # fmt: skip
    if kb.has("triples"):
        does = "Run a SPARQL query. Returns results, empty, a syntax error with its position, or timeout. Read-only."
        does = f"{does} Example: {example.sparql}"
        found.append(McpTool("sparql", does, {"query": text, **limit}, work.sparql, _ROWS_SCHEMA))
    if kb.has("adjacency"):
        does = (
            'Return the nodes that a path of relations reaches, e.g. type:"name" -> [relation] -> type; combine sets'
            " with & | and -."
        )
        does = f"{does} Example: {example.answers}"
        found.append(McpTool("answers", does, {"expression": text, **limit}, work.answers, _ANSWERS_SCHEMA))
        does = (
            "Return the shortest paths between two entities, by any relations and against their directions, at most 4"
            " steps long. Needs two ids or names."
        )
        does = f"{does} Example: {example.path}"
        ends = {"start": text, "end": text}
        paths_limit = {"limit": {"type": "integer", "minimum": 1, "maximum": _PATHS, "default": 5}}
        found.append(McpTool("path", does, {**ends, **paths_limit}, work.path))
        does = (
            "Answer a question in plain English without a language model. Returns the answers with proofs, the"
            " expression that was evaluated, and a confidence. If the reading is uncertain, returns no answers, but"
            " what could not be read and the closest readings, which the tool answers can run."
        )
        does = f"{does} Example: {example.ask}"
        found.append(McpTool("ask", does, {"question": text, **limit}, work.ask, _ASK_SCHEMA))
        does = (
            "Answer a question that ask did not answer with one of its closest readings, and remember it for the"
            " question. Only for a reading that the user chose: show the readings to the user first."
        )
        number = {"type": "integer", "minimum": 1, "maximum": CLOSEST, "description": "Number of the reading."}
        arguments = {"question": text, "reading": number, **limit}
        found.append(McpTool("choose", does, arguments, work.choose, _ASK_SCHEMA, is_read_only=False))
    if kb.has("embeddings") or kb.has("vectors"):
        does = "Return the entities of the same type that are most similar to one, by the graph or else by their texts."
        found.append(
            McpTool("similar", f"{does} Example: {example.entry}", {"id": text, **limit}, work.similar, _SIMILAR_SCHEMA)
        )
    return found


class _Work:
    """The implementations of the tools. Errors are :class:`KbError`."""

    def __init__(self, kb: KnowledgeBase, limits: ToolLimits) -> None:
        self._kb, self._limits, self._explorer = kb, limits, Explorer(kb.stores)

    def schema(self) -> ToolReply:
        about = describe.kb(self._kb.stores, self._explorer.names) | {"sql": _sql_tables(self._kb)}
        return ToolReply(json.dumps(about, ensure_ascii=False, indent=1), about)

    def search(self, text: str) -> ToolReply:
        return ToolReply(self._explorer.search(text).text)

    def entry(self, id: str) -> ToolReply:  # noqa: A002
        return ToolReply(self._explorer.entry(id).within(_LONGEST_ENTRY).text)

    def show(self, id: str) -> ToolReply:  # noqa: A002
        entry = self._explorer.entry(id).within(_LONGEST_ENTRY)
        try:
            texts = self._kb.node(self._explorer.names.find(id)).texts
        except KbError:  # a relation or attribute has none
            texts = []
        return ToolReply("\n\n".join([entry.text, *(f"{field}: {line(text, _LONGEST_TEXT)}" for field, text in texts)]))

    def examples(self, property: str) -> ToolReply:  # noqa: A002
        return ToolReply(self._explorer.examples(property).text)

    def sparql(self, query: str, limit: int = SHOWN) -> ToolReply:
        found = self._explorer.sparql(query, self._limits.timeout, self._limits.rows)
        if found.kind not in ("results", "empty") or found.frame is None:
            hint = "Try its parts one by one, or look at examples of its properties first"
            raise KbError(found.said, hint if found.kind == "timeout" else "")
        if not found.frame.height:
            return ToolReply(found.text, _data(found.frame, limit, cut=False))
        shown = self._table(found.frame, limit, found.cut, self._explorer.names.shortened)
        return ToolReply("\n".join([shown.text, *found.why]), shown.data)

    def sql(self, query: str, limit: int = SHOWN) -> ToolReply:
        cap = self._limits.rows
        self._kb.tables.check_one_query(query)
        text = f"SELECT * FROM (\n{query.strip().rstrip(';')}\n) LIMIT {cap + 1}"
        frame = self._kb.tables.frame(text, timeout=self._limits.timeout, bounds=ResultBounds(cap + 1, MOST_BYTES))
        return self._table(frame.head(cap), limit, frame.height > cap)

    def answers(self, expression: str, limit: int = SHOWN) -> ToolReply:
        found = self._kb.answers(expression)
        ids = found.ids
        shown = self._kb.stores.nodes.frame(ids[:limit]).select("id", "type", "key", "name")
        names = self._explorer.names
        lines = [f"- {names.titled_node(kind, key, name)}" for _, kind, key, name in shown.iter_rows()]
        more = f"; the first {limit}:" if len(ids) > limit else ":" if lines else ""
        value = [] if found.plan.total is None else [f"value: {found.value}"]
        warnings = [f"warning: {line(message)}" for message in found.unknown_values()]
        text = "\n".join([*value, plural(len(ids), "answer") + more, *lines, *warnings])
        data = {"nodes": records(shown), "count": len(ids), "complete": len(ids) <= limit}
        return ToolReply(text, data | ({} if found.plan.total is None else {"value": found.value}))

    def path(self, start: str, end: str, limit: int = 5) -> ToolReply:
        find = self._explorer.names.find
        found = self._kb.paths(find(start), find(end), limit=limit)
        if not found.listed:
            hint = "Look at their entries, or join them in a query"
            raise KbError("No path of at most 4 steps between these entities", hint)
        return ToolReply("\n".join(line(one, _LONGEST_TEXT) for one in found.lines(0)))

    def similar(self, id: str, limit: int = SHOWN) -> ToolReply:  # noqa: A002
        node = self._explorer.names.find(id)
        if self._kb.has("embeddings"):
            found = self._kb.related(node, limit)
        else:
            row = self._kb.stores.nodes.row(node)
            texts = self._kb.node(node).texts
            words = texts[0][1] if texts else row.name
            found = self._kb.search(words, limit + 1, mode="dense", type=row.type)
            found = found.filter(found["id"] != node).head(limit)
        shown = found.select("type", "key", "name", "score")
        names = self._explorer.names
        lines = [f"- {names.titled_node(kind, key, name)}: {score:.3f}" for kind, key, name, score in shown.iter_rows()]
        return ToolReply("\n".join(lines) or "no similar entity", {"nodes": records(shown)})

    def ask(self, question: str, limit: int = SHOWN) -> ToolReply:
        return self._replied(self._kb.ask(question), limit)

    def choose(self, question: str, reading: int, limit: int = SHOWN) -> ToolReply:
        return self._replied(self._kb.choose(self._kb.ask(question), reading), limit)

    def _replied(self, result: AskResult, limit: int) -> ToolReply:
        found = reply(result, limit)
        names = self._explorer.names
        answers = [
            {"type": kind, "key": key, "name": name, "proof": proof} for _, kind, key, name, proof in found.answers
        ]
        data = {
            "answered": found.is_answered, "confidence": round(found.confidence, 3), "expression": found.expression,
            "value": _plain(found.value), "answers": answers, "count": found.count, "complete": found.count <= limit,
            "refusal": found.refusal,
            "closest": [] if found.is_answered else [
                {"number": n, "words": one.text, "expression": one.expression} for n, one in enumerate(found.others, 1)
            ],
        }  # fmt: skip
        told = [found.unused_choice] if found.unused_choice else []
        if not found.is_answered:
            closest = [f"{n}. {one.text}: {one.expression}" for n, one in enumerate(found.others, 1)]
            head = ["Closest readings, for the user to choose from (tool choose):"] if closest else []
            return ToolReply("\n".join([*told, found.refusal, *head, *closest, _UNREAD]), data)
        confidence = found.certainty if found.is_chosen else f"confidence: {found.confidence:.2f}"
        lines = [*told, f"expression: {found.expression}", confidence]
        lines += [] if found.value is None else [f"value: {found.value_text}"]
        more = f"; the first {limit}:" if found.count > limit else ":" if answers else ""
        lines.append(plural(found.count, "answer" if found.value is None else "node") + more)
        for _, kind, key, name, proof in found.answers:
            lines += [f"- {names.titled_node(kind, key, name)}", *(f"  {line(step, _LONGEST_TEXT)}" for step in proof)]
        return ToolReply("\n".join(lines), data)

    def _table(
        self, frame: pl.DataFrame, limit: int, cut: bool, shortened: Callable[[Any], Any] = lambda value: value
    ) -> ToolReply:
        count = Outcome("results", "", frame, cut=cut).count
        more = f"; the first {limit}:" if frame.height > limit else ":" if frame.height else ""
        lines = table(frame.head(limit), shortened, max(limit, 1)) if frame.height else []
        return ToolReply("\n".join([count + more, *lines]), _data(frame, limit, cut=cut))


def _plain(value: Any) -> Any:
    """Return the value of an expression as JSON has it: dates as text, rows as lists."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _data(frame: pl.DataFrame, limit: int, *, cut: bool) -> dict[str, Any]:
    """Return the first rows of a frame as data, with long texts cut as in entries."""
    rows = [
        {name: value[:_LONGEST_TEXT] if isinstance(value, str) else value for name, value in row.items()}
        for row in records(frame.head(limit))
    ]
    complete = not cut and frame.height <= limit
    return {"columns": frame.columns, "rows": rows, "count": frame.height, "complete": complete}


def _sql_tables(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the tables of SQL with their columns: those of the largest types and relations, and all other tables."""
    schema = kb.schema
    limit = _FEW if schema.dialect == "wikidata" else describe.LISTED
    columns = kb.tables.rows(
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns()"
        " WHERE database_name = 'kb' AND NOT internal GROUP BY table_name"
    )
    by_name = dict(columns)
    types = sorted(schema.node_types, key=lambda t: -t.members)[:limit]
    relations = sorted(schema.relations, key=lambda r: -r.edges)[:limit]
    special = {t.table for t in schema.node_types} | {r.table for r in schema.relations}
    names = [*sorted(by_name.keys() - special), *(t.table for t in types), *(r.table for r in relations)]
    return {quote(name): _columns(by_name[name]) for name in names if name in by_name}


def _columns(names: Sequence[str]) -> str:
    more = f", and {len(names) - _COLUMNS} more" if len(names) > _COLUMNS else ""
    return ", ".join(map(quote, names[:_COLUMNS])) + more


class _Examples:
    """Example calls that fit the KB: its largest relation, and a node of it. Names of the KB are data here too."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._names = kb, Explorer(kb.stores).names
        relation = max(kb.schema.relations, key=lambda r: r.edges, default=None)
        self._relation = relation
        sql = "SELECT id, type, key, name FROM nodes ORDER BY id LIMIT 1"
        if relation is not None:
            sql = (
                "SELECT n.id, n.type, n.key, n.name FROM nodes n WHERE id ="
                f" (SELECT min(head) FROM {quote(relation.table)})"
            )
        rows = kb.tables.rows(sql)
        self._node = rows[0] if rows else (0, "", "", "")

    @property
    def search(self) -> str:
        return _call(text=self._node[3])

    @property
    def entry(self) -> str:
        return _call(id=self._names.node(self._node[1], self._node[2]))

    @property
    def path(self) -> str:
        other = self._node
        if self._relation is not None:
            first = f"(SELECT min(tail) FROM {quote(self._relation.table)})"
            other = self._kb.tables.rows(f"SELECT id, type, key, name FROM nodes WHERE id = {first}")[0]
        return _call(start=self._names.node(*self._node[1:3]), end=self._names.node(*other[1:3]))

    @property
    def examples(self) -> str:
        if self._relation is None:
            return _call(property="rdfs:label")
        return _call(property=self._names.relation(self._relation.name).id)

    @property
    def sparql(self) -> str:
        if self._relation is None:
            return _call(query="SELECT ?x ?name WHERE { ?x rdfs:label ?name } LIMIT 10")
        known = self._names.relation(self._relation.name)
        edge = f"wdt:{known.id}" if self._names.wikidata else known.id
        return _call(query=f"SELECT ?x ?y WHERE {{ ?x {edge} ?y }} LIMIT 10")

    @property
    def sql(self) -> str:
        if self._relation is None:
            return _call(query="SELECT type, count(*) FROM nodes GROUP BY type")
        table_name = quote(self._relation.table)
        joined = "JOIN nodes a ON a.id = r.head JOIN nodes b ON b.id = r.tail"
        return _call(query=f"SELECT a.name, b.name FROM {table_name} r {joined} LIMIT 10")

    @property
    def answers(self) -> str:
        if self._relation is None:
            return _call(expression="*")
        signature = max(self._relation.signatures, key=lambda s: s.edges)
        return _call(expression=f"`{signature.head}` -> [`{self._relation.name}`] -> `{signature.tail}`")

    @property
    def ask(self) -> str:
        questions = self._kb.examples(1)["question"].to_list()
        return _call(question=questions[0] if questions else f"What is {self._node[3]}?")


def _call(**arguments: str) -> str:
    """Return arguments as JSON on one line."""
    return json.dumps({name: line(value, 400) for name, value in arguments.items()}, ensure_ascii=False)
