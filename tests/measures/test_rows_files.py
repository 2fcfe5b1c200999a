"""Files of predicted and gold result rows: the forms they may have, and what is wrong with those that have another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import BadInputError
from kbkit.measures import lists, rows
from kbkit.measures.rows import RowsPrediction
from tests.examples import examples
from tests.measures.test_rows import score, table, uri
from tests.wording import Wording

Files = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> Files:
    def write(content: object, name: str = "a.json", lines: bool = False) -> Path:
        path = tmp_path / name
        text = "\n".join(map(json.dumps, content)) + "\n" if lines else json.dumps(content, indent=1)  # type: ignore[call-overload]
        path.write_text(content if isinstance(content, str) else text, encoding="utf-8", newline="")
        return path

    return write


LITERAL = {"type": "literal", "value": "a"}


def test_one_file_as_a_list_or_as_lines(file: Files) -> None:
    content = [
        {
            "id": 7,
            "question": "Who?",
            "dataset": "dev",
            "f1": 1,
            "em": True,
            "n": 3,
            "tags": ["x"],
            "predicted_answer_tuple": table("a"),
            "gold_answer_tuple": table("a"),
        },
        {"question": "Is it?", "predicted": None, "gold": True, "n": None},
        {"predicted": False, "gold": False, "dataset": "test"},
    ]
    records = rows.read_predictions(file(content))
    assert records == [
        RowsPrediction("7", table("a"), table("a"), {"question": "Who?", "dataset": "dev", "n": 3}),
        RowsPrediction("Is it?", None, True, {"n": None}),
        RowsPrediction("3", False, False, {"dataset": "test"}),
    ]
    assert rows.read_predictions(file(content, "b.jsonl", lines=True)) == records
    assert rows.read_predictions(file(content, "b.txt", lines=True)) == records
    assert rows.read_predictions(file("\ufeff" + "\r\n\n".join(map(json.dumps, content)), "b.json")) == records
    assert rows.queries(records).to_dict(as_series=False) == {
        "query": ["7", "Is it?", "3"],
        "question": ["Who?", None, None],
        "dataset": ["dev", None, "test"],
        "n": [3, None, None],
    }
    assert rows.measure(records)["f1"].to_list() == [1.0, 0.0, 1.0]


def test_group_fields_of_several_kinds_become_text(file: Files) -> None:
    fields = [{"a": 1, "b": 1, "c": True, "d": 2**70}, {"a": 0.5, "b": "x", "c": None, "d": 1}]
    frame = rows.queries(rows.read_predictions(file([{**more, "predicted": [], "gold": []} for more in fields])))
    assert frame.schema == {
        "query": pl.String,
        "a": pl.Float64,
        "b": pl.String,
        "c": pl.Boolean,
        "d": frame.schema["d"],
    }
    assert frame["b"].to_list() == ["1", "x"]


def test_two_files_of_sparql_results(file: Files) -> None:
    predicted = file({"head": {"vars": ["x"]}, "results": {"bindings": table("a b")}}, "predicted.srj")
    gold = file({"head": {"vars": ["x"]}, "results": {"bindings": table("a")}}, "capitals.json")
    assert rows.read_predictions(predicted, gold) == [RowsPrediction("capitals", table("a b"), table("a"), {})]
    ask = file({"head": {}, "boolean": True}, "ask.json")
    assert rows.read_predictions(ask, gold) == [RowsPrediction("capitals", True, table("a"), {})]
    assert rows.read_predictions(gold, ask) == [RowsPrediction("ask", table("a"), True, {})]


def test_two_files_joined_by_id_by_question_and_by_position(file: Files) -> None:
    gold = [
        {"id": "1", "question": "Who?", "results": {"bindings": table("a")}, "dataset": "dev"},
        {"id": "2", "question": "What?", "results": {"head": {}, "results": {"bindings": table("b")}}},
        {"id": "3", "question": "Is it?", "results": {"boolean": True}},
        {"id": "4", "question": "When?", "gold_answer_tuple": table("c")},
    ]
    predicted = [
        {"id": 3, "question": "is it?", "answer_tuple": True},
        {"id": 1, "question": "Who?", "bindings": table("c"), "dataset": "mine"},
        {"id": 9, "question": "?", "bindings": []},
        {"id": 4, "question": "When?", "predicted": None},
    ]
    expected = [
        RowsPrediction("1", table("c"), table("a"), {"question": "Who?", "dataset": "dev"}),
        RowsPrediction("2", None, table("b"), {"question": "What?"}),
        RowsPrediction("3", True, True, {"question": "Is it?"}),
        RowsPrediction("4", None, table("c"), {"question": "When?"}),
    ]
    right = file(gold, "gold.jsonl", lines=True)
    assert rows.read_predictions(file(predicted), right) == expected
    for record in predicted:
        del record["id"]
    by_question = rows.read_predictions(file(predicted), right)
    assert [r.predicted for r in by_question] == [table("c"), None, None, None]
    assert [r.query for r in by_question] == ["1", "2", "3", "4"]
    bare = [{"answer_tuple": table("a")}, {"answer_tuple": False}]
    assert [r.query for r in rows.read_predictions(file(bare), file(bare, "b.json"))] == ["1", "2"]


def test_plain_cells_and_rows(file: Files) -> None:
    plain = ["a", 3, 2.5, True, None, "b"]
    texts = ["a", "3", "2.5", "true", "b"]
    row = {name: {"type": "literal", "value": text} for name, text in zip("01235", texts, strict=True)}
    content = [{"id": "list", "predicted": [plain], "gold": [dict(zip("abcdef", plain, strict=True))]}]
    content.append({"id": "column", "predicted": ["a", 3.0], "gold": [["a"], [3]]})
    content.append({"id": "number", "predicted": [[{"type": "literal", "value": 5}]], "gold": [["5"]]})
    quoted = {"type": "triple", "value": {"subject": uri("a"), "object": uri("b")}}
    turned = {"value": {"object": uri("b"), "subject": uri("a")}, "type": "triple"}
    content.append({"id": "triple", "predicted": [{"t": quoted}], "gold": [[turned]]})
    records = rows.read_predictions(file(content))
    assert records[0].predicted == [row]
    assert rows.measure(records)["em"].to_list() == [1.0] * 4


RECORD = {"predicted": [], "gold": []}


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("", []),
        (" \n ", []),
        ("[]", []),
        ("nope", ["column 1"]),
        ('[{"predicted": 1,\n]', ["line 2"]),
        ('{"predicted": [], "gold": []}\n{"predicted": [],', ["line 2"]),
        ("[" * 100_000, []),
        ('[{"id": ' + "1" * 5_000 + "}]", ["4300"]),
        ('[{"id": "\\ud800", "predicted": [], "gold": []}]', []),
        ("[3]", ["record 1", "3"]),
        ([RECORD, [1]], ["record 2"]),
        (
            [RECORD, {"gold": []}],
            ["record 2", "predicted_answer_tuple"],
        ),
        ([{"predicted": []}], ["record 1", "gold_answer_tuple"]),
        (
            [{**RECORD, "id": "a"}, RECORD, {**RECORD, "id": "a"}],
            ["record 3", '"a"', "record 1"],
        ),
        ([{**RECORD, "id": ["a"]}], ["record 1"]),
        (
            [{**RECORD, "gold": "x"}],
            ["record 1", '"x"'],
        ),
        ([{**RECORD, "gold": {"vars": []}}], ["record 1"]),
        (
            [{**RECORD, "predicted": [[], [["a"]]]}],
            ["record 1", "2", '"type"', '"value"'],
        ),
        (
            [{**RECORD, "predicted": [{"x": {"type": "uri"}}]}],
            ["record 1"],
        ),
        ({"head": {}, "boolean": True}, []),
    ],
)
def test_bad_files(file: Files, content: object, facts: list[str], wording: Wording) -> None:
    path = file(content)
    with pytest.raises(BadInputError) as caught:
        rows.read_predictions(path)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize("depth", [100, 900, 970, 980, 984, 986, 988, 990, 1_500])
def test_nesting_never_ends_in_a_traceback(file: Files, depth: int) -> None:
    cell = '{"type": "triple", "value": ' + "[" * depth + "]" * depth + "}"
    path = file('[{"predicted": [{"x": ' + cell + '}], "gold": [["a"]]}]')
    try:
        assert score(*next((r.predicted, r.gold) for r in rows.read_predictions(path))) == (0.0, 0.0)
        assert depth < 1_000
    except BadInputError as error:
        assert "nested too deep" in str(error)


def test_files_that_cannot_be_read(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes(b'[\n{"id": "caf\xe9"}]')
    with pytest.raises(BadInputError) as caught:
        rows.read_predictions(path)
    message = str(caught.value)
    assert [fact for fact in ["latin.json", "line 2", "8"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})
    with pytest.raises(BadInputError) as caught:
        rows.read_predictions(tmp_path / "none.json")
    message = str(caught.value)
    assert [fact for fact in ["none.json"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize(
    ("predicted", "gold", "facts"),
    [
        (
            [{"id": "A1", "results": []}],
            [{"id": "a1", "results": []}],
            ['"A1"', '"a1"'],
        ),
        (
            [{"id": 1, "results": []}],
            [{"results": []}],
            ["record 1", '"1"'],
        ),
        (
            [{"results": []}],
            [{"results": []}] * 2,
            ["1", "2"],
        ),
        (
            [{"id": 1, "results": []}] * 2,
            [{"id": 1, "results": []}],
            ["record 2", '"1"', "record 1"],
        ),
        (
            [{"id": 1, "results": []}],
            [{"id": 1}],
            ["record 1", "answer_tuple", "gold_answer_tuple"],
        ),
        (
            {"head": {}, "boolean": True},
            [{"id": 1, "results": []}],
            [],
        ),
        (
            [{"id": 1, "results": []}],
            {"head": {}, "boolean": True},
            [],
        ),
        (
            {"head": {}, "boolean": 1},
            {"head": {}, "boolean": True},
            ["1"],
        ),
    ],
)
def test_bad_pairs_of_files(file: Files, predicted: object, gold: object, facts: list[str], wording: Wording) -> None:
    paths = file(predicted, "p.json"), file(gold, "g.json")
    with pytest.raises(BadInputError) as caught:
        rows.read_predictions(*paths)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


KEYS = ("id", "question", "predicted", "gold", "answer", "answers", "results", "bindings", "value", "x")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@pytest.mark.parametrize("measures", [rows, lists])
@given(JSON, JSON)
@examples(20)
def test_any_json_is_scored_or_rejected(measures: Any, tmp_path: Path, first: object, second: object) -> None:
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path, value in zip(paths, (first, second), strict=True):
        path.write_text(json.dumps(value), encoding="utf-8")
    for given_files in ([paths[0]], paths):
        try:
            records = measures.read_predictions(*given_files)
        except BadInputError as error:
            assert error.message and "\n" not in error.message
        else:
            assert measures.measure(records).height == measures.queries(records).height == len(records)
