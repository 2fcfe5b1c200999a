"""Trees in JSON and XML: records inside of records of the same kind are rows of one table, with their parents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.ingestion.json_trees import field_of_tree, tree
from tests.examples import examples
from tests.ingestion.test_exports import Files, Nodes, check_export


def nested(number: int, depth: int, field: str) -> dict[str, Any]:
    """Return a record with two others inside, down to a depth."""
    inside = [nested(10 * number + n, depth - 1, field) for n in (1, 2)] if depth else []
    return {"id": number, "author": "Ann" if number % 2 else "Bo", field: inside}


def named(name: str, depth: int) -> dict[str, Any]:
    """Return a record with a name and three others inside, which have names that repeat."""
    return {"name": name, **({"children": [named(one, depth - 1) for one in "xyz"]} if depth else {"size": 4})}


OUTLINES = "".join(
    f'<outline text="{group}">'
    + "".join(f'<outline text="{group} {n}" xmlUrl="https://{group}{n}.example"/>' for n in range(3))
    + "</outline>"
    for group in ("News", "Code")
)
FEED = "".join(f"<item><title>Post {n}</title><guid>p{n}</guid></item>" for n in range(4))


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            {"comments.json": [nested(1, 3, "replies"), nested(2, 1, "replies")]}, {"comment": 18},
            {"comment parent comment 16"}, {"comment#12": {"author": "Bo"}}, id="replies",
        ),
        pytest.param(
            {"plants.json": named("r", 2)}, {"plant": 13}, {"plant parent plant 12"}, {"plant#r/x/z": {"size": 4}},
            id="root",
        ),
        pytest.param(
            {"feeds.opml": f"<opml version='2.0'><head/><body>{OUTLINES}</body></opml>"}, {"outline": 8},
            {"outline parent outline 6"}, {"outline#Code/Code 1": {"xmlUrl": "https://Code1.example"}}, id="outlines",
        ),
        pytest.param(
            {"posts.rss": f"<rss version='2.0'><channel><title>A</title>{FEED}</channel></rss>"}, {"post": 4}, set(),
            {"post#p1": {"name": "Post 1"}}, id="feed",
        ),
    ],
)  # fmt: skip
def test_records_inside_of_records_of_their_kind_are_of_one_type(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_lists_of_other_things_are_no_trees() -> None:
    orders = [{"id": n, "items": [{"sku": f"s{n}", "items": 2}], "notes": [{"text": "x"}]} for n in range(3)]
    assert field_of_tree(orders, "orders") == ""
    shelves = [{"id": n, "shelves": [{"height": 3, "boxes": [{"sku": n}]}]} for n in range(3)]
    assert field_of_tree(shelves, "shelves") == ""
    assert tree([{"a": 1, "kids": [{"a": 1, "kids": []}]}], "kids") is None


def every(row: dict[str, Any], above: int | None = None) -> Iterator[tuple[int, int | None]]:
    """Yield the number of each record with that of the one that it is in."""
    yield row["n"], above
    for one in row.get("kids", []):
        yield from every(one, row["n"])


@examples(30)
@given(st.recursive(st.just([]), lambda kids: st.lists(kids, max_size=3), max_leaves=20))
def test_no_record_of_a_tree_is_lost(shape: list[Any]) -> None:
    numbers = iter(range(1000))

    def build(kids: list[Any]) -> dict[str, Any]:
        return {"n": next(numbers), "key": f"k{next(numbers)}", "kids": [build(one) for one in kids]}

    rows = [build(shape), build(shape)]
    found = tree(rows, "kids")
    assert found is not None
    keys = {row[found.key]: row["n"] for row in found.rows}
    pairs = [(row["n"], keys.get(row[found.parent])) for row in found.rows]
    assert pairs == [pair for row in rows for pair in every(row)]


@pytest.mark.parametrize("names", ["columns", "fields"])
def test_names_of_columns_beside_lists_of_values_make_rows(names: str, tmp_path: Path) -> None:
    rows = [["Ely", "UK", 20], ["Rome", "IT", 90], ["Oslo", "NO", 60]]
    columns = ["city", "country", "people"]
    whole = {
        names: columns if names == "columns" else [{"name": one} for one in columns],
        "index": [0, 1, 2],
        "data": rows,
    }
    check_export(tmp_path, {"cities.json": whole}, {"city": 3}, set(), {"city#Rome": {"country": "IT", "people": 90}})
