"""Ontologies in the OBO format: their terms as records, and as nodes of a KB; odd and hostile files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.readers import obo_documents

TERMS = """format-version: 1.4
ontology: small

[Term]
id: GO:1
name: cell
def: "The basic \\"unit\\" of life." [PMID:1]
synonym: "unit of life" EXACT []

[Term]
id: GO:2
name: neuron
is_a: GO:1 ! cell
relationship: part_of GO:3 {source="x"} ! brain
is_obsolete: false
comment: Excitable.
comment: In brains.

[Typedef]
id: part_of
name: part of

[Term]
id: GO:3
name: brain
"""


def read(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    (tmp_path / "small.obo").write_text(text, encoding="utf-8")
    return obo_documents.read(tmp_path / "small.obo")


def test_terms_are_records(tmp_path: Path) -> None:
    cell, neuron, brain = read(tmp_path, TERMS)
    assert cell == {"id": "GO:1", "name": "cell", "def": 'The basic "unit" of life.', "synonym": ["unit of life"]}
    assert neuron == {
        "id": "GO:2", "name": "neuron", "is_a": ["GO:1"], "part_of": ["GO:3"], "is_obsolete": False,
        "comment": ["Excitable.", "In brains."],
    }  # fmt: skip
    assert brain == {"id": "GO:3", "name": "brain"}


def test_terms_are_nodes(tmp_path: Path) -> None:
    (tmp_path / "small.obo").write_text(TERMS, encoding="utf-8")
    with kbkit.ingest(str(tmp_path / "small.obo"), out=tmp_path / "my.kb", stores=["tables"]) as kb:
        edges = kb.sql("SELECT h.key, t.key FROM edges e JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail")
        assert set(edges.rows()) == {("GO:2", "GO:1"), ("GO:2", "GO:3")}


@pytest.mark.parametrize(
    ("lines", "record"),
    [
        ("id: A\nid: B\nname: a\nname: b", {"id": "A", "name": "a"}),
        ("id: A\nrelationship: id B\nrelationship: name C", {"id": "A", "id_relation": ["B"], "name_relation": ["C"]}),
        ("id: A\npart_of: B\nrelationship: part_of C", {"id": "A", "part_of": ["B", "C"]}),
        ("id: A\nrelationship: lonely", {"id": "A", "relationship": "lonely"}),
        ("name: without an identifier", None),
    ],
)
def test_tags_that_clash(tmp_path: Path, lines: str, record: dict[str, Any] | None) -> None:
    assert read(tmp_path, f"[Term]\n{lines}\n") == ([record] if record else [])


def test_a_line_without_a_tag_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"small\.obo, line 3"):
        read(tmp_path, "[Term]\nid: X:1\nbroken\n")


@pytest.mark.parametrize("content", [b"\xff\xfe[Term]", b"\x1f\x8b\x08broken"])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ("bad.obo.gz" if content.startswith(b"\x1f") else "bad.obo")
    path.write_bytes(content)
    with pytest.raises(BadInputError, match="Cannot read"):
        obo_documents.read(path)
