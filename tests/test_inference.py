"""Recipes inferred from files: folders with the schema that a person expects of them, and nothing is lost."""

from __future__ import annotations

import datetime
import difflib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.kb import KnowledgeBase

CASES = sorted(path.parent for path in (Path(__file__).parent / "inference").glob("*/expected.json"))


def files_of(case: Path) -> list[Path]:
    """Return the data files of a case."""
    return sorted(path for path in case.iterdir() if path.name != "expected.json")


def build(files: Sequence[Path], folder: Path, **options: Any) -> KnowledgeBase:
    """Build a KB from files without a recipe."""
    first, *others = files
    return kbkit.ingest(str(first), *others, out=folder / "my.kb", stores=["tables"], **options)


# -- what a KB holds, in a form to compare ----------------------------------------------------------------------------


def shape(kb: KnowledgeBase) -> dict[str, Any]:
    """Return types and relations of a KB as ``expected.json`` has them."""
    fields = kb.sql("SELECT DISTINCT type::VARCHAR AS type, field FROM texts JOIN nodes USING (id)").rows()
    types = {
        t.name: {
            "nodes": t.members,
            "attributes": sorted(a.name for a in t.attributes),
            "texts": sorted(field for type_, field in fields if type_ == t.name),
        }
        for t in kb.schema.node_types
        if t.members
    }
    relations = [
        [s.head, r.name, s.tail, s.edges, sorted(a.name for a in r.attributes)]
        for r in kb.schema.relations
        for s in r.signatures
    ]
    return {"types": types, "relations": sorted(relations)}


def completed(expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return an expectation with empty lists for what it leaves out."""
    types = {
        name: {
            "nodes": spec["nodes"],
            "attributes": sorted(spec.get("attributes", [])),
            "texts": sorted(spec.get("texts", [])),
        }
        for name, spec in expected["types"].items()
    }
    relations = sorted([*r[:4], sorted(r[4] if len(r) > 4 else [])] for r in expected["relations"])
    return {"types": types, "relations": relations}


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value


def properties(kb: KnowledgeBase, reference: str) -> dict[str, Any]:
    """Return name, aliases, attributes and texts of a node; a list where a text field has several texts."""
    node = kb.node(reference)
    texts: dict[str, Any] = {}
    for field, text in node.texts:
        texts[field] = text if field not in texts else [*([texts[field]] if isinstance(texts[field], str) else texts[field]), text]
    attributes = {name: plain(value) for name, value in node.attributes.items()}
    return {"name": node.name, "aliases": list(node.aliases), **attributes, **texts}


def lines(found: Mapping[str, Any]) -> list[str]:
    """Return one line for each type and relation."""
    types = [f"{name}: {json.dumps(spec, ensure_ascii=False)}" for name, spec in sorted(found["types"].items())]
    return types + [json.dumps(relation, ensure_ascii=False) for relation in found["relations"]]


def differences(kb: KnowledgeBase, expected: Mapping[str, Any]) -> list[str]:
    """Return what a KB has (``+``) and lacks (``-``)."""
    found, wanted = lines(shape(kb)), lines(completed(expected))
    differing = [line for line in difflib.ndiff(wanted, found) if line[0] in "+-"]
    for reference, values in expected.get("nodes", {}).items():
        try:
            has = properties(kb, reference)
        except kbkit.KbError as error:
            differing.append(f"{reference}: {error.message}")
            continue
        differing += [
            f"{reference}: {name} is {has.get(name)!r}, not {value!r}" for name, value in values.items() if has.get(name) != value
        ]
    return differing


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_person_gets_the_schema_they_expect(case: Path, tmp_path: Path) -> None:
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    with build(files_of(case), tmp_path) as kb:
        difference = differences(kb, expected)
    if difference:
        pytest.fail(f"{expected['note']}\n" + "\n".join(difference), pytrace=False)
