"""Questions over a small database: the readings of each, in all engines, beside the rows of its SQL."""

from __future__ import annotations

import datetime
import sqlite3
from pathlib import Path

from kbkit.kb import KnowledgeBase


def made(path: Path, script: str) -> Path:
    """Make a SQLite database from a script; return its path."""
    with sqlite3.connect(path) as database:
        database.executescript(script)
    return path


def cells(value: object) -> set[tuple[object, ...]]:
    """Return rows without the references of nodes, numbers rounded, dates as SQLite has them."""
    rows = value if isinstance(value, list) else [value]
    tuples = [row if isinstance(row, tuple) else (row,) for row in rows]
    return {tuple(_cell(cell) for cell in row if "#" not in str(cell)) for row in tuples}


def _cell(cell: object) -> object:
    if isinstance(cell, (int, float)):
        return round(float(cell), 6)
    return cell.isoformat() if isinstance(cell, datetime.date) else cell


def check_gold(kb: KnowledgeBase, database: Path, question: str, sql: str) -> None:
    """Check that a question is answered, with the rows of the SQL; nodes may be told by names or by keys."""
    with sqlite3.connect(database) as connection:
        gold = cells(connection.execute(sql).fetchall())
    assert gold
    result = kb.ask(question)
    assert result.is_sure, (result.expression, result.doubts)
    for engine in ("walk", "sql", "sparql"):
        answers = kb.answers(result.expression, engine=engine)
        nodes = answers.nodes()
        names, keys = (_numbers(nodes[column].to_list()) for column in ("name", "key"))
        found = [cells(answers.value)] if answers.value is not None else [cells(names), cells(keys)]
        assert gold in found, (engine, result.expression)


def answers(kb: KnowledgeBase, question: str) -> object:
    """Return the names of the answers of a question, or its value; None if the reading is not sure."""
    result = kb.ask(question)
    if not result.is_sure:
        return None
    return {*result.nodes()["name"].to_list()} if result.value is None else result.value


def check_refused(kb: KnowledgeBase, question: str, reason: str = "") -> None:
    """Check that a question is not answered, and that the refusal or the doubts name the reason, if one is given."""
    result = kb.ask(question)
    assert not result.is_sure, result.expression
    assert reason in "; ".join((result.refusal, *result.doubts))


def _numbers(texts: list[str]) -> list[object]:
    """Return names and keys of digits as numbers, as the database has them."""
    return [int(text) if text.isdigit() else text for text in texts]
