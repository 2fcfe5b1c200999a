"""Exports of programs: what they wrap around records, and copies of records inside of others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion.inference import infer

Files = Mapping[str, Any]
Nodes = Mapping[str, Mapping[str, Any]]

MODELS: Files = {
    "dump.json": [
        {"model": "shop.tag", "pk": 1, "fields": {"name": "new"}},
        {"model": "shop.tag", "pk": 2, "fields": {"name": "used"}},
        {"model": "shop.book", "pk": 1, "fields": {"title": "Reeds", "author": 2, "tags": [1, 2]}},
        {"model": "shop.book", "pk": 2, "fields": {"title": "Dunes", "author": 1, "tags": []}},
        {"model": "auth.user", "pk": 1, "fields": {"username": "ann"}},
        {"model": "auth.user", "pk": 2, "fields": {"username": "bo"}},
    ]
}
VALUES: Files = {
    "users.jsonl": [
        {
            "_id": {"$oid": "5f01a0000001"},
            "name": "Ann",
            "likes": [{"$oid": "5f0c00000001"}],
            "n": {"$numberLong": "7"},
        },
        {"_id": {"$oid": "5f01a0000002"}, "name": "Bo", "likes": [], "n": {"$numberLong": "8"}},
    ],
    "cafes.jsonl": [
        {"_id": {"$oid": "5f0c00000001"}, "name": "Elm", "since": {"$date": "2020-05-01T00:00:00Z"}},
        {"_id": {"$oid": "5f0c00000002"}, "name": "Oak", "since": {"$date": {"$numberLong": "1588291200000"}}},
    ],
}
COPIES: Files = {
    "board.json": {
        "lists": [{"id": "aaaa000001", "name": "To do"}, {"id": "aaaa000002", "name": "Done"}],
        "cards": [
            {
                "id": "cccc000001",
                "name": "Paint",
                "idList": "aaaa000001",
                "list": {"id": "aaaa000001", "name": "To do"},
            },
            {"id": "cccc000002", "name": "Sweep", "idList": "aaaa000002", "list": {"id": "aaaa000002", "name": "Done"}},
        ],
        "actions": [
            {"id": "dddd000001", "kind": "move", "card": {"id": "cccc000001", "name": "Paint"}},
            {"id": "dddd000002", "kind": "move", "card": {"id": "cccc000003", "name": "Shed"}},
            {"id": "dddd000003", "kind": "copy", "card": {"id": "cccc000002", "name": "Sweep"}},
        ],
    }
}
SKU = {"id": "sku_000001", "unit": "kg"}
PAGES: Files = {
    "orders.json": {
        "object": "list",
        "has_more": False,
        "data": [
            {"id": "or_00000001", "items": {"data": [{"id": "li_00000001", "qty": 1, "sku": SKU}]}},
            {"id": "or_00000002", "items": {"data": [{"id": "li_00000002", "qty": 3, "sku": SKU}]}},
        ],
    },
    "payments.json": {
        "data": [
            {
                "id": "pa_00000001",
                "order": "or_00000001",
                "payer": {"name": "Ann"},
                "customer": "cu_00000001",
                "sum": 5,
            },
            {"id": "pa_00000002", "order": "or_00000002", "payer": {"name": "Bo"}, "customer": "cu_00000002", "sum": 6},
        ]
    },
    "customers.json": {"data": [{"id": "cu_00000001", "name": "Ann"}, {"id": "cu_00000002", "name": "Bo"}]},
}
DAYS: Files = {
    "users.json": [{"id": "U01", "name": "ann"}, {"id": "U02", "name": "bo"}],
    "channels.json": [{"id": "C01", "name": "general"}, {"id": "C02", "name": "random"}, {"id": "C03", "name": "help"}],
    "general/2026-10-05.json": [{"type": "message", "user": "U01", "text": "Hello"}],
    "general/2026-10-06.json": [{"type": "message", "user": "U02", "text": "Hi", "edited": True}],
    "random/2026-10-05.json": [{"type": "message", "user": "U01", "text": "Tea?"}],
    "help/2026-10-07.json": [{"type": "message", "user": "U02", "text": "How?"}],
    "library_export.csv": 'Book Id,Title,ISBN\n10,Reeds,"=""0441478123"""\n11,Dunes,"=""0061054887"""\n',
    "stock/2025.csv": "sku,left\na1,3\nb2,NA\n",
    "stock/2026.csv": "sku,left\na1,5\nNA,0\n",
    "codes.xml": '<list day="1"><all><code id="008"><land>Albania</land></code><code id="978"><land>Malta</land>'
    "<land>Spain</land></code></all></list>",
    "settings.xml": "<settings><colour>red</colour></settings>",
}


def written(folder: Path, files: Files) -> Path:
    """Write files to a folder: texts, lines of JSON and JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "\n".join(map(json.dumps, content)) if name.endswith((".jsonl", ".ndjson")) else json.dumps(content)
        path.write_text(content if isinstance(content, str) else lines, encoding="utf-8")
    return folder


def check_export(folder: Path, files: Files, types: Mapping[str, int], relations: set[str], nodes: Nodes) -> None:
    """Ingest files and compare nodes per type, edges per relation and types, and values of nodes."""
    with kbkit.ingest(str(written(folder / "in", files)), out=folder / "x.kb", stores=["tables"]) as kb:
        assert {one.name: one.members for one in kb.schema.node_types if one.members} == types
        found = {f"{s.head} {r.name} {s.tail} {s.edges}" for r in kb.schema.relations for s in r.signatures}
        assert found == relations
        for reference, values in nodes.items():
            node = kb.node(reference)
            known = {"name": node.name, **node.attributes}
            assert {name: str(known[name]) for name in values} == {name: str(value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            MODELS,
            {"tag": 2, "book": 2, "user": 2},
            {"book author user 2", "book tag tag 2"},
            {"book#1": {"name": "Reeds"}, "user#2": {"name": "bo"}},
            id="models",
        ),
        pytest.param(
            VALUES,
            {"user": 2, "cafe": 2},
            {"user like cafe 1"},
            {"user#5f01a0000002": {"name": "Bo", "n": 8}, "cafe#5f0c00000002": {"since": "2020-05-01 00:00:00"}},
            id="values",
        ),
        pytest.param(
            COPIES,
            {"list": 2, "card": 3, "action": 3},
            {"card list list 2", "action card card 3"},
            {"card#cccc000001": {"name": "Paint"}, "card#cccc000003": {"name": "Shed"}},
            id="copies",
        ),
        pytest.param(
            PAGES,
            {"order": 2, "item": 2, "sku": 1, "payment": 2, "customer": 2},
            {"order item item 2", "item sku sku 2", "payment order order 2", "payment customer customer 2"},
            {"payment#pa_00000001": {"name": "pa_00000001", "payer_name": "Ann", "sum": 5}},
            id="pages",
        ),
        pytest.param(
            DAYS,
            {"user": 2, "channel": 3, "message": 4, "book": 2, "stock": 4, "code": 2},
            {"message channel channel 4", "message user user 4"},
            {"book#10": {"ISBN": "0441478123"}, "code#978": {"land": ["Malta", "Spain"]}, "stock#3": {"file": 2026}},
            id="days",
        ),
    ],
)
def test_an_export_gets_the_schema_that_a_person_expects(
    files: Files, types: Mapping[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_what_is_read_together_and_what_is_not_is_said(tmp_path: Path) -> None:
    notes = infer([written(tmp_path, DAYS)], "x").notes
    assert f"Skipped {tmp_path / 'settings.xml'}: no list of records" in notes
    assert "Read 2 files as one table, stock: stock/2025.csv and others like it" in notes
    assert not any(note.startswith("Not read") for note in notes)
    alone = infer([written(tmp_path / "alone", {"books.csv": "id,title,author\n1,A,Ann\n2,B,Ann\n3,C,Bo\n"})], "x")
    assert alone.notes == [
        "No links found between rows: the KB has no edges. Columns whose values could be nodes (--node): books.author"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a><r x="1"/><r x="2"/></a>', "Unsupported entity 'd'"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a><r x="&b;"/></a>', "Unsupported entity 'b'"),
        ("<a>" * 300 + "</a>" * 300, "nested deeper than 256 levels"),
        ("<a><r x='1'/><r", "Invalid XML"),
        ("<a><b>1</b></a>", "has no list of records"),
    ],
)
def test_other_xml_is_refused_by_name(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=problem) as error:
        infer([path], "x")
    assert str(path) in error.value.message


def test_new_files_in_folders_are_kept_in_step(tmp_path: Path) -> None:
    message = {"type": "message", "user": "U01", "text": "Hello"}
    files = {"users.json": [{"id": "U01", "name": "ann"}], "help/2026-01-01.json": [message]}
    source = written(tmp_path / "in", {**files, "tea/2026-01-01.json": [message], "stock_1.csv": "sku,left\na,1\n"})
    written(source, {"stock_2.csv": "sku,left\nb,1\n"})
    kbkit.ingest(str(source), out=tmp_path / "x.kb", stores=["tables"], sync=True).close()
    written(source, {"tea/2026-01-02.json": [message], "stock_3.csv": "sku,left\nc,1\n"})
    with kbkit.ingest(str(source), out=tmp_path / "x.kb", sync=True) as kb:
        members = {one.name: one.members for one in kb.schema.node_types}
        assert members == {"user": 1, "message": 3, "stock": 3}
