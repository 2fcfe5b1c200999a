"""Questions about databases of others, with gold SQL: how many are right, and how many wrong with confidence.

Spider's development questions over three databases, and questions in ``table_questions.jsonl``, which a writer who had
not seen the code wrote about eleven more, and others about five: those about two of these were written by a writer who
had not seen the code, those about three before any of them was tried, by someone who knew the code. Rules were
developed on all of them. A question without SQL has no answer in the data; it is right to refuse it.
The questions of WikiTableQuestions were asked by people about tables of Wikipedia, with answers in place of SQL.

An answer is right if it gives the rows of the gold: columns in any order, and one more at most. The reference of a node
and its name count as one.
Golds compare columns of numbers that SQLite stores as text as text (``'97' > '150'``); kbkit reads them as numbers.
``as numbers`` are the figures for golds over a copy of the database with such columns as numbers.
Nodes are right if their names, keys or another text that identifies them are the gold's only column, or two of them, or
if their names are its two columns, as first and last names are; names beside values may be two columns, too.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import hashlib
import itertools
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.ask import AskResult
from kbkit.questions.read import SURE
from kbkit.readers import wikitables as wikitables_reader
from kbkit.schema import quote
from tests.performance import calibration, data
from tests.performance.report import Figure
from tests.performance.small import SHARED
from tests.performance.timing import times

SPIDER = SHARED / "spider"
WIKITABLES = SHARED / "wikitablequestions"
OWN = Path(__file__).with_name("table_questions.jsonl")
WRITTEN = Path(__file__).with_name("written")
"""Databases and questions that other writers made, who had not seen the code."""
HIGH = 0.9


class TableQuestion(NamedTuple):
    """A question about a database; ``sql`` is None if the data has no answer, or the ``answers`` are given."""

    database: str
    question: str
    sql: str | None
    answers: tuple[str, ...] = ()

    @property
    def has_gold(self) -> bool:
        """Whether the data has an answer."""
        return self.sql is not None or bool(self.answers)


class Outcome(NamedTuple):
    """What became of a question: ``sure`` is whether it is answered, ``right`` whether the answers are the gold's.

    ``right_as_numbers``: those of the gold over numbers.
    """

    database: str
    confidence: float
    sure: bool
    right: bool
    refusable: bool
    right_as_numbers: bool = False


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """Spider's questions, and our own about databases that were looked at and that were not; then the calibration."""
    if not SPIDER.is_dir():
        yield Figure("questions about tables", note="no data")
        return
    sets = {
        "Spider, three databases (tuned on)": spider(),
        "own questions, eleven databases (tuned on)": own(tuned=True),
        "own questions, five other databases": own(tuned=False),
        "questions of another writer, five databases (nothing tuned on)": written("unseen"),
        "WikiTableQuestions, 80 tables": wikitables(tuned=True),
        "WikiTableQuestions, 40 other tables (nothing tuned on)": wikitables(tuned=False),
    }
    found: dict[str, list[Outcome]] = {}
    for what, asked in sets.items():
        figure, found[what] = _figure(what, asked)
        yield figure
    for what, outcomes in found.items():
        yield from calibrated(what, outcomes, [one.confidence for one in outcomes])
    every = list(itertools.chain(*found.values()))
    recalibrated = calibration.left_out(
        [one.database for one in every], [one.confidence for one in every], [one.right for one in every]
    )
    yield from calibrated("all, recalibrated with the database left out", every, recalibrated.tolist())


def calibrated(what: str, outcomes: Sequence[Outcome], confidence: Sequence[float]) -> Iterator[Figure]:
    """Yield the calibration error of a set, and its risk at each threshold."""
    right, sure = [one.right for one in outcomes], [one.sure for one in outcomes]
    error = round(calibration.calibration_error(confidence, right), 3)
    yield Figure(f"{what}: calibration", answers=len(outcomes), extra={"expected calibration error": error})
    for risk in calibration.risk_coverage(confidence, right, sure):
        extra = {"coverage": round(risk.coverage, 3)}
        extra |= {} if risk.error is None else {"wrong": round(risk.error, 3)}
        yield Figure(f"{what}: confidence >= {risk.threshold}", answers=len(outcomes), extra=extra)


def spider() -> list[TableQuestion]:
    """Return Spider's questions whose gold has rows."""
    rows = json.loads((SPIDER / "questions.json").read_text(encoding="utf-8"))
    asked = [TableQuestion(row["db"], row["question"], row["sql"]) for row in rows]
    return [one for one in asked if gold_of(one)]


def own(*, tuned: bool) -> list[TableQuestion]:
    """Return our own questions, about databases that were looked at (``tuned``) or not."""
    rows = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]
    return [TableQuestion(row["database"], row["question"], row["sql"]) for row in rows if row["tuned"] == tuned]


def written(style: str) -> list[TableQuestion]:
    """Return questions that writers asked about databases of theirs: ``plain``, ``casual``, or ``unseen``.

    Rules were developed on part of the first two, and weights of sketches fitted to them; on the last, nothing was.
    """
    rows = [json.loads(line) for line in (WRITTEN / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return [TableQuestion(row["database"], row["question"], row["sql"]) for row in rows if row["style"] == style]


def wikitables(*, tuned: bool) -> list[TableQuestion]:
    """Return the questions of WikiTableQuestions about the tables that were looked at (``tuned``), or the others.

    Each table is a KB with one type, *entry*, since the data has no titles; golds are what its readers wrote.
    """
    path = WIKITABLES / "data" / "training.tsv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = [
        TableQuestion(row["context"], row["utterance"], None, tuple(map(_plain, row["targetValue"].split("|"))))
        for row in rows
    ]
    return [one for one in found if (_number(Path(one.database).stem) % 3 != 0) == tuned]


def _number(name: str) -> int:
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(), 16)


def _plain(text: str) -> str:
    """Return an answer of WikiTableQuestions as kbkit writes it: numbers without commas, yes as 1, ISO dates."""
    text = wikitables_reader.unescape(text).replace("\n", " ")
    if re.fullmatch(r"-?[\d,]+(\.\d+)?", text):
        return text.replace(",", "")
    for form in ("%B %d, %Y", "%b %d, %Y"):
        with contextlib.suppress(ValueError):
            return str(datetime.datetime.strptime(text, form).date())
    return {"yes": "1", "no": "0", "true": "1", "false": "0"}.get(text.casefold(), text)


def _figure(what: str, asked: Sequence[TableQuestion]) -> tuple[Figure, list[Outcome]]:
    import kbkit as package

    opened = {name: package.open(kb_of(name)) for name in {one.database for one in asked}}
    outcomes: list[Outcome] = []
    try:
        for kb in opened.values():
            kb.ask(asked[0].question)

        def ask(one: TableQuestion) -> None:
            kb, right = opened[one.database], [False, False]
            try:
                result = kb.ask(one.question)
                sure, confidence = result.is_sure, result.confidence
                if one.has_gold:
                    right = [is_right(kb, result, gold_of(one, as_numbers=numbers)) for numbers in (False, True)]
            except KbError:
                sure, confidence = False, 0.0
            outcomes.append(Outcome(one.database, confidence, sure, right[0], not one.has_gold, right[1]))

        median, high, _ = times(ask, asked, budget=600)
    finally:
        for kb in opened.values():
            kb.close()
    outcomes = outcomes[-len(asked) :]
    certain = [one for one in outcomes if one.confidence >= HIGH]
    shares = {
        "right": sum(one.right if one.sure else one.refusable for one in outcomes) / len(asked),
        f"wrong at {SURE}": sum(one.sure and not one.right for one in outcomes) / len(asked),
        f"right at {HIGH}": sum(one.right for one in certain) / max(1, len(certain)),
        "right as numbers": sum(one.right_as_numbers if one.sure else one.refusable for one in outcomes) / len(asked),
        "wrong as numbers": sum(one.sure and not one.right_as_numbers for one in outcomes) / len(asked),
    }
    extra = {name: round(share, 3) for name, share in shares.items()}
    return Figure(what, median, p95=high, answers=len(asked), extra=extra), outcomes


def database_of(name: str) -> Path:
    """Return the SQLite file of a database."""
    own_file = WRITTEN / f"{name}.sqlite"
    return own_file if own_file.exists() else SPIDER / "databases" / f"{name}.sqlite"


def kb_of(name: str) -> Path:
    """Return the KB of a database or table, which is made once."""
    import kbkit as package

    def make(path: Path) -> None:
        package.ingest(str(database_of(name)), out=path).close()

    def make_of_table(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder, (WIKITABLES / name).open(encoding="utf-8", newline="") as file:
            table = Path(folder) / "entries.csv"
            with table.open("w", encoding="utf-8", newline="") as out:
                csv.writer(out).writerows(csv.reader(wikitables_reader.quoted(file)))
            package.ingest(str(table), out=path).close()

    if name.endswith(".csv"):
        return data.made(data.folder() / f"wikitable-{Path(name).stem}.kb", make_of_table)
    return data.made(data.folder() / f"spider-{name}.kb", make)


def gold_of(one: TableQuestion, *, as_numbers: bool = False) -> list[tuple[str, ...]]:
    """Return the rows of the gold of a question."""
    if one.sql is None:
        return [(cell(answer),) for answer in one.answers]
    with sqlite3.connect(f"file:{database_of(one.database)}?mode=ro", uri=True) as database:
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        used = _with_numbers(one.database) if as_numbers else database
        return [tuple(map(cell, row)) for row in used.execute(one.sql).fetchall()]


@cache
def _with_numbers(name: str) -> sqlite3.Connection:
    """Return a copy of a database in which columns of text that have numbers only (or ``null``) are numbers."""
    copied = sqlite3.connect(":memory:")
    copied.text_factory = lambda text: text.decode("utf-8", "replace")
    with sqlite3.connect(f"file:{database_of(name)}?mode=ro", uri=True) as database:
        database.backup(copied)
    for (table,) in copied.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        own, parts = quote(table), []
        for _, column, kind, *_ in copied.execute(f"PRAGMA table_info({own})").fetchall():
            cell = quote(column)
            words = [row[0] for row in copied.execute(f"SELECT DISTINCT {cell} FROM {own}").fetchall()]
            texts = [str(word) for word in words if word is not None and str(word).casefold() != "null"]
            is_number = kind.upper() == "TEXT" and bool(texts) and all(_is_number(text) for text in texts)
            value = f"CASE WHEN lower({cell}) <> 'null' THEN CAST({cell} AS NUMERIC) END AS {cell}"
            parts.append(value if is_number else cell)
        copied.execute(f"CREATE TABLE kbkit_copy AS SELECT {', '.join(parts)} FROM {own}")
        copied.execute(f"DROP TABLE {own}")
        copied.execute(f"ALTER TABLE kbkit_copy RENAME TO {own}")
    return copied


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def cell(value: Any) -> str:
    """Return a value as it is compared: numbers with three decimals, days as ISO dates (kbkit reads columns of
    ``9 December 2007`` as dates), texts in lower case, the key of a node.
    """
    if value is None:
        return ""
    text = str(int(value)) if isinstance(value, bool) else str(value).strip().casefold()
    head, sign, key = text.partition("#")
    text = key if sign and head.replace("_", "").isalnum() else text
    try:
        return f"{round(float(text), 3):g}"
    except ValueError:
        pass
    try:
        return str(datetime.datetime.strptime(text, "%d %B %Y").date())
    except ValueError:
        return text


def is_right(kb: KnowledgeBase, result: AskResult, gold: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a result has the rows of a gold, whose first and last names may be one column."""
    if result.answers is None or not gold:
        return False
    if len(gold[0]) > 2 and result.value is not None:
        whole = (
            [(*row[:at], " ".join(row[at : at + 2]), *row[at + 2 :]) for row in gold] for at in range(len(gold[0]) - 1)
        )
        if any(_has_rows(kb, result, rows) for rows in whole):
            return True
    return _has_rows(kb, result, gold)


def _has_rows(kb: KnowledgeBase, result: AskResult, gold: Sequence[tuple[str, ...]]) -> bool:
    assert result.answers is not None
    value = result.value
    if value is not None:
        rows = value if isinstance(value, list) else [value]
        found = [tuple(map(cell, row if isinstance(row, tuple) else (row,))) for row in rows]
        if found and len(found[0]) == len(gold[0]) + 2 and result.answers.value_table().columns[:2] == ["node", "name"]:
            found = [row[1:] for row in found]  # the reference and the name are one thing
        if not found or len(found[0]) > len(gold[0]) + 1:
            return False
        return _same(gold, found) or ("name" in _columns(result) and any(_same(one, found) for one in _joined(gold)))
    nodes = result.nodes()
    if not nodes.height or len(gold[0]) > 2:
        return False
    columns = [
        nodes["name"].to_list(),
        nodes["key"].to_list(),
        *_identifying(kb, nodes["type"][0], nodes["id"].to_list()),
    ]
    rows = list(zip(*(map(cell, column) for column in columns), strict=True))
    is_pair = len(gold[0]) == 2 and _same([(" ".join(row),) for row in gold], rows)  # first and last names of people
    return is_pair or _same(gold, rows)


def _columns(result: AskResult) -> list[str]:
    """Return the columns of the values that a result gives."""
    return [] if result.answers is None else result.answers.value_table().columns


def _joined(gold: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """Yield the rows of a gold with two columns side by side as one: first and last names of people."""
    for at in range(len(gold[0]) - 1):
        yield [(*row[:at], f"{row[at]} {row[at + 1]}", *row[at + 2 :]) for row in gold]


def _identifying(kb: KnowledgeBase, name: str, ids: Sequence[int]) -> list[list[str]]:
    """Return the text attributes whose values tell the nodes apart."""
    known = kb.schema.type(name)
    columns = []
    for attribute in known.attributes:
        if attribute.type.startswith("VARCHAR"):
            rows = dict(kb.sql(f"SELECT id, {quote(attribute.name)} FROM {quote(known.table)}").rows())
            column = [str(rows.get(node)) for node in ids]
            columns += [column] if len(set(column)) == len(column) else []
    return columns


def _same(gold: Sequence[tuple[str, ...]], found: Sequence[tuple[str, ...]]) -> bool:
    """Return whether some columns of what was found, in some order, are the rows of the gold."""
    orders = itertools.permutations(range(len(found[0])), len(gold[0]))
    return any({tuple(row[at] for at in order) for row in found} == {*gold} for order in orders)
