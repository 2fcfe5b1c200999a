"""Completion of SQL: tables, columns of the statement's tables, functions, keywords and node names, by clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kbkit.executor.completion import sql_words as words
from kbkit.executor.completion.ranking import Candidate, CompletionItem, ItemPool, layered, named, ranked
from kbkit.executor.completion.sql_context import SqlContext, SqlPart, SqlScope, SqlSource, context, outputs
from kbkit.executor.vocabulary import LAST, Vocabulary
from kbkit.schema import literal, quote
from kbkit.stores.sql_names import identifier

_TABLE_CLAUSES = ("from", "join", "describe")
_EQUAL = ("=", "<>", "!=", "like", "ilike")


def complete(text: str, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Return the candidates at a position of an SQL statement."""
    here = context(text, at)
    found = _candidates(here, text, vocabulary)
    quote = here.typed[:1]
    if here.kind.startswith("open_") and text[at : at + 1] == quote:  # the quote is already closed
        return [replace(c, text=c.text.removesuffix(quote)) for c in found]
    return found


def _candidates(here: SqlContext, text: str, vocabulary: Vocabulary) -> list[Candidate]:  # noqa: PLR0911
    if here.kind in ("comment", "string", "quoted", "number") or here.typed.startswith("$"):
        return []
    if here.kind == "open_string":
        return _values(here, vocabulary) if here.typed.startswith("'") else []
    last = here.last
    if last is not None and last.text == ".":
        return _columns_of(here, vocabulary)
    if last is not None and last.word in words.PAIRS and not _is_name(here.frames[-1].before):
        return _keywords(here, text, words.PAIRS[last.word])
    if not here.frames[-1].before:
        return _begin(here, text, vocabulary)
    if (next_words := _next_words(here.frames[-1].before)) is not None:
        return _keywords(here, text, next_words)
    if here.awaits_operand:
        return _tables(here, vocabulary) if here.clause in _TABLE_CLAUSES else _operands(here, text, vocabulary)
    after = words.AFTER.get(here.clause, ())
    if not here.frames[-1].clause:  # within a function or a list
        after = tuple(word for word in after if word in ("AND", "OR", "AS", "IS NULL", "LIKE", "ORDER BY", "IN ("))
    return _keywords(here, text, after)


def _next_words(before: list[SqlPart]) -> Iterable[str] | None:
    """Return the only words that can follow after a cast, UNION ALL and the tables of WITH; None elsewhere."""
    last, previous = before[-1], before[-2].word if len(before) > 1 else ""
    if last.text == "::":
        return words.TYPES
    if (last.word == "all" and previous in ("union", "except", "intersect")) or last.word == "explain":
        return ("SELECT", "FROM", *(("ANALYZE",) if last.word == "explain" else ()))
    if last.kind == "group" and previous in ("as", "materialized") and "with" in (part.word for part in before):
        clauses = {part.word for part in before} & {"select", "from"}
        return None if clauses else ("SELECT", "FROM")
    return None


def _is_name(before: list[SqlPart]) -> bool:
    """Return whether the last word is a column name after a dot."""
    return len(before) > 1 and before[-2].text == "."


def _begin(here: SqlContext, text: str, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete the start of a statement or of a group in parentheses."""
    if len(here.frames) == 1:
        return _keywords(here, text, words.START)
    outer = SqlContext(here.frames[:-1], here.typed, here.start, here.kind)
    query = [CompletionItem(word, words.cased(word, here.typed, text)) for word in ("SELECT", "FROM", "WITH")]
    last = outer.last
    if last is not None and last.word == "over":
        return _keywords(here, text, ("PARTITION BY", "ORDER BY"))
    if last is not None and last.word in ("as", "from", "join", "exists", "materialized"):
        return layered(_typed(here), here.start, exact=[query])
    return _operands(here, text, vocabulary, query if last is not None and last.word == "in" else [])


def _typed(here: SqlContext) -> str:
    return here.typed.removeprefix('"').replace('""', '"')


def _keywords(here: SqlContext, text: str, known: Iterable[str]) -> list[Candidate]:
    if here.typed.startswith('"'):
        return []
    items = [CompletionItem(word, words.cased(word, here.typed, text[: here.start])) for word in known]
    return layered(here.typed, here.start, exact=[items])


def _write(here: SqlContext, name: str) -> str:
    """Return an identifier, in quotes if the user typed one."""
    return quote(name) if here.typed.startswith('"') else identifier(name)


# -- tables and columns -----------------------------------------------------------------------------------------------


def _tables(here: SqlContext, vocabulary: Vocabulary) -> list[Candidate]:
    write = quote if here.typed.startswith('"') else identifier
    types, others = vocabulary.cached(f"sql {write.__name__}", lambda: _pools(vocabulary, write))
    made = [CompletionItem(name, _write(here, name), "of this statement") for name in here.own_tables()]
    last = [CompletionItem(LAST, "", "the last result")] if vocabulary.last_columns() else []
    functions = [
        CompletionItem(name, f"{name}(", "function") for name in words.TABLE_FUNCTIONS if not here.typed.startswith('"')
    ]
    return layered(_typed(here), here.start, [*made, *last], types, others, exact=[functions])


def _pools(vocabulary: Vocabulary, write: Callable[[str], str]) -> tuple[ItemPool, ItemPool]:
    """Return the tables of types, and all other tables."""
    types = {t.table: t.members for t in vocabulary.schema.node_types}
    weights = {**{r.table: r.edges for r in vocabulary.schema.relations}, **types}
    known = [CompletionItem(n, write(n), about, weights.get(n, 0)) for n, about in vocabulary.tables() if n != LAST]
    return ItemPool(i for i in known if i.name in types), ItemPool(i for i in known if i.name not in types)


def _columns(source: SqlSource, vocabulary: Vocabulary) -> list[tuple[str, str]]:
    if source.columns:
        return [(name, "") for name in source.columns]
    return list(vocabulary.columns(source.table))


def _columns_of(here: SqlContext, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete after a dot: columns of the table before it."""
    before = here.frames[-1].before
    alias = before[-2].name if len(before) > 1 else ""
    if not alias:
        return []
    known = [source for source in here.sources() if source.alias.casefold() == alias.casefold()]
    source = known[0] if known else SqlSource(alias, alias)
    items = [CompletionItem(name, _write(here, name), kind) for name, kind in _columns(source, vocabulary)]
    return ranked(_typed(here), items, here.start)


def _operands(
    here: SqlContext, text: str, vocabulary: Vocabulary, more: Sequence[CompletionItem] = ()
) -> list[Candidate]:
    """Complete a value: columns, then table aliases, keywords (``more`` among them) and functions."""
    clause, last = here.clause, here.last
    if clause == "limit" or (clause == "with" and last is not None and last.text != ","):
        return _keywords(here, text, words.BEFORE.get(clause, ()))
    if last is not None and last.word in ("as", "over"):
        return []
    sources = here.sources()
    columns = _column_items(here, sources, vocabulary)
    aliases = [CompletionItem(s.alias, f"{_write(here, s.alias)}.", f"table {s.table}") for s in sources if s.alias]
    if here.typed.startswith('"'):
        return layered(_typed(here), here.start, columns, aliases)
    functions = [CompletionItem(name, f"{name}(", kind) for name, kind in words.FUNCTIONS.items()]
    keywords = [
        CompletionItem(word, words.cased(word, here.typed, text[: here.start])) for word in words.BEFORE.get(clause, ())
    ]
    listed = last is None or last.text == "," or last.word in ("select", "distinct")
    star = [CompletionItem("*", "*", "all columns")] if clause == "select" and listed and not here.typed else []
    outs = outputs(here.frames[-1].parts) if clause in ("group", "having", "qualify", "order") else ()
    columns += [CompletionItem(name, _write(here, name), "of this query", -99) for name in outs]
    return layered(here.typed, here.start, columns, aliases, exact=[star, keywords, more, functions])


def _column_items(here: SqlContext, sources: list[SqlSource], vocabulary: Vocabulary) -> list[CompletionItem]:
    """Return the columns of tables, qualified if several tables have them."""
    owners: dict[str, list[tuple[SqlSource, str]]] = {}
    for source in sources:
        for name, kind in _columns(source, vocabulary):
            owners.setdefault(name, []).append((source, kind))
    items = []
    for position, (name, owned) in enumerate(owners.items()):
        for source, kind in owned:
            qualified = source.alias and (len(owned) > 1 or (here.clause == "on" and not here.typed.startswith('"')))
            text = f"{identifier(source.alias)}.{identifier(name)}" if qualified else _write(here, name)
            items.append(CompletionItem(name, text, f"{kind} of {source.alias or 'a query'}", -position))
    return items


# -- values -----------------------------------------------------------------------------------------------------------


def _values(here: SqlContext, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete a string that a column is compared with: names of nodes, types or relations."""
    before = _compared(here.frames)
    if before is None:
        return []
    typed = here.typed[1:].replace("''", "'")
    column = before[-1].name.casefold()
    alias = before[-3].name.casefold() if len(before) > 2 and before[-2].text == "." else ""
    tables = [s.table for s in here.sources() if not alias or s.alias.casefold() == alias]
    schema = vocabulary.schema
    if column == "type":
        types = (CompletionItem(t.name, literal(t.name), "type", t.members) for t in schema.node_types)
        return ranked(typed, vocabulary.cached("sql types", lambda: ItemPool(types)), here.start)
    if column == "relation":
        relations = (CompletionItem(r.name, literal(r.name), "relation", r.edges, r.label) for r in schema.relations)
        return ranked(typed, vocabulary.cached("sql relations", lambda: ItemPool(relations)), here.start)
    if column != "name":
        return []
    types_of = [vocabulary.type_of_table(table) for table in tables]
    node_type = next((name for name in types_of if name is not None), None)
    return named(vocabulary, typed, node_type, here.start, literal)


def _compared(frames: list[SqlScope]) -> list[SqlPart] | None:
    """Return the parts up to the column that a string is compared with, before ``=`` or ``IN (``."""
    before = frames[-1].before
    if before and (before[-1].text.casefold() in _EQUAL) and len(before) > 1 and before[-2].name:
        return before[:-1]
    if len(frames) > 1 and all(part.kind == "string" or part.text == "," for part in before):
        outer = frames[-2].before
        if outer and outer[-1].word == "in":
            outer = outer[:-1] if len(outer) < 2 or outer[-2].word != "not" else outer[:-2]
            return outer if outer and outer[-1].name else None
    return None
