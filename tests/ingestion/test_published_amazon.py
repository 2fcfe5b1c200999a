"""The recipe for Amazon's reviews of 2018, and the reader of Python literals that its questions need."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError
from kbkit.kb import KnowledgeBase
from kbkit.readers import python_literals
from tests.kbs import mentions
from tests.samples import amazon as sample
from tests.wording import Wording

FEW = ("tables",)
"""The stores that most tests can do with."""

# A colour of the sample comes in two products at most.
OPTIONS = {"color_threshold": "1"}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = sample.write(tmp_path_factory.mktemp("amazon"))
    out = tmp_path_factory.mktemp("kb") / "amazon.kb"
    with kbkit.ingest("amazon", folder, out=out, options=OPTIONS, stores=["adjacency"]) as opened:
        yield opened


def edges(kb: KnowledgeBase) -> list[tuple[str, str, str]]:
    rows = kb.sql("""SELECT h.key, relation, t.key AS key2 FROM edges
                     JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail""").rows()
    return sorted(rows)


def refusal(folder: Path) -> str:
    """What the ingest of a folder is refused with, and that it leaves no KB."""
    out = folder / "out.kb"
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("amazon", folder, out=out)
    assert not out.exists()
    return str(caught.value)


def test_counts(kb: KnowledgeBase) -> None:
    assert [(what, problem) for what, problem in kb.check() if problem] == []
    assert [(t.name, t.count) for t in kb.schema.node_types] == [
        ("product", 3), ("brand", 2), ("category", 2), ("color", 1),
    ]  # fmt: skip
    assert {r.name: r.edges for r in kb.schema.relations} == {
        "also_buy": 2, "also_view": 2, "has_brand": 3, "has_category": 3, "has_color": 2,
    }  # fmt: skip
    assert kb.schema.candidate_types == ("product",)


@pytest.mark.core
def test_nodes(kb: KnowledgeBase) -> None:
    # Not the product without a review, nor the second of two rows with one ASIN.
    assert kb.sql("SELECT type, key, name FROM nodes ORDER BY id").rows() == [
        ("product", "K000000001", "Gale kite, 2 m"),
        ("product", "K000000002", "Line for kites"),
        ("product", "K000000003", "K000000003"),
        ("brand", "Gale", "Gale"),
        ("brand", "breeze", "breeze"),
        ("category", "kites", "kites"),
        ("category", "lines", "lines"),
        ("color", "storm grey", "storm grey"),
    ]
    first, second, third = kb.node(0), kb.node(1), kb.node(2)
    assert first.attributes == {"price": 1024.5, "sales_rank": 12345, "department": "Sports & Outdoors"}
    assert second.attributes == {"sales_rank": 7, "department": "Sports & Outdoors"}  # its price is a style sheet
    assert third.attributes == {}


def test_edges_lead_to_known_nodes_only(kb: KnowledgeBase) -> None:
    assert edges(kb) == [
        ("K000000001", "also_buy", "K000000002"),
        ("K000000001", "also_view", "K000000002"),
        ("K000000001", "also_view", "K000000003"),
        ("K000000001", "has_brand", "Gale"),
        ("K000000001", "has_category", "kites"),
        ("K000000001", "has_color", "storm grey"),
        ("K000000002", "has_brand", "Gale"),
        ("K000000002", "has_category", "kites"),
        ("K000000002", "has_category", "lines"),
        ("K000000003", "also_buy", "K000000001"),
        ("K000000003", "has_brand", "breeze"),
        ("K000000003", "has_color", "storm grey"),
    ]


def test_texts(kb: KnowledgeBase) -> None:
    assert kb.node(0).texts == [
        ("description", 'A kite for "storms".'),
        ("description", "It folds."),
        ("details", "Product Dimensions: 3 x 4 inches ; 2 pounds"),
        ("features", "Carbon & nylon"),
        ("features", "Folds"),
        ("questions", "Does it fly in 30\" of rain?\nIt's wet, but \u2018yes\u2019."),
        ("questions", "How long?\n2 m"),
        # 1,204 votes, 3, none
        ("reviews", "Tore\nIt tore."),
        ("reviews", "Fine"),
        ("reviews", "Flies\nIt flies."),
    ]
    assert kb.node(1).texts == [("description", "Strong line."), ("reviews", "Too short\u2026")]
    assert kb.node(2).texts == []


def test_the_templates_of_the_paper_resolve_and_answer(kb: KnowledgeBase) -> None:
    fitting = kb.templates().filter("fits")["template"].to_list()
    assert len(fitting) == 15
    assert all(name.startswith("amazon/") for name in fitting)
    answers = kb.answers('color:"storm grey" -> product <- brand:"Gale"')
    assert answers.nodes()["key"].to_list() == ["K000000001"]


def test_options_and_files_left_out(tmp_path: Path) -> None:
    folder = sample.write(tmp_path, category_list=False)
    (folder / f"qa_{sample.DEPARTMENT}.json.gz").unlink()
    options = {"products": "all", "reviews": "1", "category_threshold": "1"}
    with kbkit.ingest("amazon", folder, out=tmp_path / "my.kb", options=options, stores=FEW) as kb:
        assert [(t.name, t.count) for t in kb.schema.node_types] == [("product", 4), ("brand", 3), ("category", 2)]
        assert kb.sql("SELECT key FROM category ORDER BY id")["key"].to_list() == ["kites", "sports & outdoors"]
        assert kb.node("product#K000000004").name == "Nobody reviewed it"
        assert [text for field, text in kb.node(0).texts if field in ("reviews", "questions")] == ["Tore\nIt tore."]


def test_colours_are_counted_by_products(tmp_path: Path) -> None:
    # 21 products come in teal, 20 in moss green, and one in umber, as 30 reviewers say.
    products = [f"C{i:09}" for i in range(21)]
    wearers = [*((asin, "Teal") for asin in products), *((asin, "Moss Green") for asin in products[1:])]
    wearers += [(products[0], "Umber")] * 30
    wearers += [(asin, color) for asin in products for color in ("XL", "100", "one two three four five")]
    sample.write_lines(tmp_path / "meta_A.json", [json.dumps({"asin": asin}) for asin in products])
    lines = [json.dumps({"asin": asin, "style": {"Color:": f" {color}"}}) for asin, color in wearers]
    sample.write_lines(tmp_path / "A.json", lines)
    with kbkit.ingest("amazon", tmp_path, out=tmp_path / "my.kb", stores=FEW) as kb:
        assert kb.sql("SELECT key FROM color")["key"].to_list() == ["teal"]
        assert kb.schema.relation("has_color").edges == 21


def test_the_25_reviews_with_most_votes(tmp_path: Path) -> None:
    sample.write_lines(tmp_path / "meta_A.json", [json.dumps({"asin": "A000000001"})])
    lines = [{"asin": "A000000001", "reviewText": f"text {i}", "vote": f"{i:,}"} for i in (5, 1100, *range(10, 40))]
    sample.write_lines(tmp_path / "A.json", [json.dumps(line) for line in lines])
    with kbkit.ingest("amazon", tmp_path, out=tmp_path / "my.kb", stores=FEW) as kb:
        expected = ["text 1100", *(f"text {i}" for i in range(39, 15, -1))]
        assert kb.node(0).texts == [("reviews", text) for text in expected]


def test_fields_that_only_late_lines_have(tmp_path: Path) -> None:
    plain = [{"asin": f"P{i:09}"} for i in range(25_000)]
    late: list[dict[str, Any]] = [{"asin": "Q000000001", "title": "Late", "brand": "Last", "feature": "One text"}]
    late.append({"asin": "Q000000002", "title": 7, "feature": {"no": "list"}, "details": "none", "category": "none"})
    sample.write_lines(tmp_path / "meta_A.json", [json.dumps(row) for row in [*plain, *late]])
    reviews = [*plain, {"asin": "Q000000001", "style": {"Colour": "x", "Color:": "Late Red"}}, {"asin": "Q000000002"}]
    sample.write_lines(tmp_path / "A.json", [json.dumps(row) for row in reviews])
    options = {"color_threshold": "0"}
    with kbkit.ingest("amazon", tmp_path, out=tmp_path / "my.kb", options=options, stores=FEW) as kb:
        assert kb.node("product#Q000000001").texts == [("features", "One text")]
        assert edges(kb) == [("Q000000001", "has_brand", "Last"), ("Q000000001", "has_color", "late red")]
        assert kb.node("product#Q000000002").name == "7"


# -- broken files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"asin": "A000000001", "reviewT', "line 3"),
        ("{'asin': 'A000000001'}", "line 3"),
        ('{"product": "A000000001"}', "line 3"),
        ("[1, 2]", "line 3"),
    ],
)
def test_a_line_that_is_no_review(tmp_path: Path, line: str, message: str, wording: Wording) -> None:
    sample.write_lines(tmp_path / "meta_A.json", [json.dumps({"asin": "A000000001"})])
    sample.write_lines(tmp_path / "A.json", [json.dumps({"asin": "A000000001"}), "", line])
    wording(mentions(refusal(tmp_path), message), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize("name", ["meta_", "", "qa_"])
def test_a_truncated_file(tmp_path: Path, name: str, wording: Wording) -> None:
    sample.write(tmp_path)
    path = tmp_path / f"{name}{sample.DEPARTMENT}.json.gz"
    path.write_bytes(path.read_bytes()[:-20])
    wording(mentions(refusal(tmp_path), f"{path}"), replace={str(tmp_path): "DIR"})


def test_a_line_of_11_megabytes(tmp_path: Path, wording: Wording) -> None:
    sample.write(tmp_path)
    path = tmp_path / f"{sample.DEPARTMENT}.json.gz"
    sample.write_lines(path, [json.dumps({"asin": "A000000001", "reviewText": "x" * 11_000_000})])
    wording(mentions(refusal(tmp_path), f"{path} | line 1"), replace={str(tmp_path): "DIR"})


# -- the reader -------------------------------------------------------------------------------------------------------


def read(*paths: Path) -> list[tuple[int, int, Any]]:
    rows = python_literals.read(paths).read_all().to_pylist()
    return [(row["file"], row["line"], json.loads(row["json"])) for row in rows]


def test_the_reader_takes_what_printing_a_dict_gives(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json.gz", tmp_path / "b.json"
    rows = [*sample.QUESTIONS, {"a": True, "b": False, "c": [1, -2.5, None], 'say "it\'s"': "\u00e9 \U0001f600"}]
    sample.write_lines(first, [repr(rows[0]), "", "  " + repr(rows[1]) + "  "])
    sample.write_lines(second, [repr(row) for row in rows])
    assert read(first, second) == [(0, 1, rows[0]), (0, 3, rows[1]), *((1, n, row) for n, row in enumerate(rows, 1))]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=4))
def test_what_was_printed_is_read_again(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "printed.json"
    sample.write_lines(path, [repr(row) for row in rows])
    assert read(path) == [(0, number, row) for number, row in enumerate(rows, 1)]


def test_halves_of_surrogate_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    sample.write_lines(path, [r"{'whole': '\ud83d\ude00', 'half': 'x\ud83d'}"])
    assert read(path) == [(0, 1, {"whole": "\U0001f600", "half": "x\ufffd"})]


@pytest.mark.parametrize(
    "line",
    [
        "__import__('os').system('true')",
        "{'a': __import__('os')}",
        "{'a': open('x')}",
        "{'a': [x for x in 'ab']}",
        "{'a': f'{1}'}",
        "{'a': 1 << 2}",
        "{'a': 'b'} if True else 1",
        "lambda: 1",
        "{'a': 1",
        "{'a': true}",
        "{'a': {1, 2}}",
        "{'a': b'bytes'}",
        "{('a', 'b'): 1}",
        "{'a': 1e999}",
        "{'a': 1j}",
        "{'a': " + "[" * 300 + "]" * 300 + "}",
        "-" * 100_000 + "1",
        "1+" * 100_000 + "1",
        "{'a': " + "9" * 5000 + "}",
        "{'a': 'nul \0'}",
    ],
)
def test_the_reader_refuses_what_is_no_literal(tmp_path: Path, line: str, wording: Wording) -> None:
    path = tmp_path / "a.json"
    sample.write_lines(path, ["{}", line])
    with pytest.raises(BadInputError) as caught:
        read(path)
    wording(mentions(str(caught.value), f"{path} | line 2 | 'key' | 'value' | 1.5"), replace={str(tmp_path): "DIR"})


def test_the_reader_bounds_lines(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"{'a': '" + b"x" * 10_000_000 + b"'}\n"))
    with pytest.raises(BadInputError) as caught:
        read(path)
    wording(mentions(str(caught.value), f"{path} | line 1 | 1,000,000"), replace={str(tmp_path): "DIR"})


def test_the_reader_names_a_line_that_is_not_utf8(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"{'a': 'b'}\n{'a': '\xff'}\n")
    with pytest.raises(BadInputError) as caught:
        read(path)
    wording(mentions(str(caught.value), f"{path} | line 2 | 8"), replace={str(tmp_path): "DIR"})


WHOLE = gzip.compress(b"{'a': 'b'}\n" * 9, mtime=0)  # without a clock, so that every process collects the same cases


@pytest.mark.parametrize(
    "data",
    [WHOLE[:-9], WHOLE[:10] + b"\xff" * 20, WHOLE[:-6] + b"\0" * 6, b"no gzip at all"],
    ids=["cut", "garbled", "wrong checksum", "no gzip"],
)
def test_the_reader_names_a_broken_file(tmp_path: Path, data: bytes, wording: Wording) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(data)
    with pytest.raises(BadInputError) as caught:
        read(path)
    wording(mentions(str(caught.value), f"{path}"), replace={str(tmp_path): "DIR"})
