"""Updates of a Wikidata KB: what it is after one is what an ingest of the changed dump gives."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import KbError
from kbkit.ingestion.build import UpdatedSource
from kbkit.ingestion.build import ingest as build
from kbkit.ingestion.request import IngestRequest
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.ingestion.test_update import said
from tests.kbs import mentions
from tests.samples.wikidata import make
from tests.wording import Wording

Entities = dict[str, dict[str, Any]]
STORES = ("tables", "adjacency", "triples", "columns", "text")
OPTIONS = {"language": "de,en", "max_types": "20", "external_ids": "yes"}
BEFORE: Entities = {one["id"]: one for one in json.loads(make.FILE.read_text(encoding="utf-8"))}
DELETED = ("Q937", "P800", "Q145")


def changes() -> Entities:
    """Other names, statements, ranks and references, another class, and a new entity."""
    adams, berlin, new = (copy.deepcopy(BEFORE[name]) for name in ("Q42", "Q64", "Q64"))
    adams["labels"]["en"]["value"] = "Douglas N. Adams"
    adams["sitelinks"] = {}
    del adams["claims"]["P69"]
    stated = {**copy.deepcopy(adams["claims"]["P31"][0]["mainsnak"]), "property": "P248"}
    born = adams["claims"]["P569"][0]
    born |= {"rank": "preferred", "references": [{"hash": "0a", "snaks": {"P248": [stated]}, "snaks-order": ["P248"]}]}
    berlin["claims"]["P31"][0]["mainsnak"]["datavalue"]["value"] = {"entity-type": "item", "id": "Q999000001"}
    new |= {
        "id": "Q999000001",
        "labels": {"en": {"language": "en", "value": "kind of city"}},
        "claims": {},
        "sitelinks": {},
    }
    return {one["id"]: one for one in (adams, berlin, new)}


def ingest(entities: Entities, folder: Path, **options: str) -> Path:
    folder.mkdir()
    dump = folder / "dump.json"
    dump.write_text("[\n" + ",\n".join(map(json.dumps, entities.values())) + "\n]\n", encoding="utf-8")
    kbkit.ingest("wikidata", dump, out=folder / "kb", options=OPTIONS | options, stores=STORES).close()
    return folder / "kb"


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest(BEFORE, tmp_path_factory.mktemp("update") / "before")


def everything(kb: KnowledgeBase) -> dict[str, Any]:
    """All that the tables, the statements and SPARQL say."""
    extra = {name: sorted(map(repr, kb.sql(f"FROM {name}").rows())) for name in kb.schema.extra_tables}
    triples = kb.sparql("SELECT ?s ?p ?o { ?s ?p ?o }", dialect="sparql", max_rows=1_000_000).rows()
    return {**said(kb), **extra, "triples": sorted(map(repr, triples))}


@pytest.mark.system
def test_an_update_gives_what_an_ingest_of_the_changed_dump_gives(before: Path, tmp_path: Path) -> None:
    updated = tmp_path / "kb"
    shutil.copytree(before, updated)
    changed = changes()
    one, other, gone = tmp_path / "Q42.json", tmp_path / "more.jsonl", tmp_path / "gone.txt"
    one.write_text(json.dumps({"entities": {"Q42": changed["Q42"]}}, indent=1), encoding="utf-8")  # Special:EntityData
    other.write_text("".join(json.dumps(changed[name]) + "\n" for name in ("Q999000001", "Q64")), encoding="utf-8")
    gone.write_text("\n".join(DELETED), encoding="utf-8")
    with kbkit.update(updated, entities=[one, other]) as kb:
        assert kb.sparql('SELECT ?l { wd:Q42 rdfs:label ?l FILTER(LANG(?l) = "en") }')["l"].item() == "Douglas N. Adams"
    kept = {name: entity for name, entity in (BEFORE | changed).items() if name not in DELETED}
    compared = ingest(kept, tmp_path / "after")
    with kbkit.update(updated, delete=gone) as kb, kbkit.open(compared) as after:
        found, expected = everything(kb), everything(after)
        assert found.keys() == expected.keys()
        for what, rows in expected.items():
            assert found[what] == rows, what
        assert kb.schema == after.schema
        assert kb.manifest.recipe["options"] == after.manifest.recipe["options"]
        assert [source["name"] for source in kb.manifest.sources] == ["dump.json", "Q42.json", "more.jsonl", "gone.txt"]
        assert [problem for _, problem in kb.check() if problem] == []


@pytest.mark.system
def test_the_command(here: Run, before: Path, tmp_path: Path, wording: Wording) -> None:
    updated, file = tmp_path / "kb", tmp_path / "ids.txt"
    shutil.copytree(before, updated)
    file.write_text("Q999\nQ42\n", encoding="utf-8")
    failed = here("update", updated, "--delete", file)
    wording(mentions(failed.stderr, "'Q999' | --skip-dangling"), "cli", replace={str(tmp_path): "DIR"})
    done = here("update", updated, "--delete", file, "--skip-dangling")
    assert done.returncode == 0, done.stderr
    with kbkit.open(updated) as kb:
        assert kb.sql("SELECT count(*) AS n FROM statements WHERE subject = 'Q42'")["n"].item() == 0
    (tmp_path / "bad.jsonl").write_text('{"type": "item"}\n', encoding="utf-8")
    failed = here("update", updated, "--entities", tmp_path / "bad.jsonl")
    wording(mentions(failed.stderr, "bad.jsonl, line 1"), "cli", replace={str(tmp_path): "DIR"})
    failed = here("update", updated, "--entities", file, "--nodes", file)
    wording(mentions(failed.stderr, "together"), "cli")


def test_another_build_in_the_meantime_is_not_lost(before: Path, tmp_path: Path, wording: Wording) -> None:
    updated = tmp_path / "kb"
    shutil.copytree(before, updated)
    with pytest.raises(KbError) as caught:
        build(IngestRequest("wikidata", [make.FILE], replace=True), updated, updated=UpdatedSource("0009"))
    wording(mentions(str(caught.value), "Another build"))
    with kbkit.open(updated) as kb:
        assert kb.manifest.generation == "0001"


@pytest.mark.system
def test_a_selection_is_not_updated(tmp_path: Path, wording: Wording) -> None:
    """Which entities belong to it depends on others that the KB does not have."""
    selected = ingest(BEFORE, tmp_path / "part", **{"class": "Q5"}, triples="no")
    with pytest.raises(KbError) as caught:
        kbkit.update(selected, entities=make.FILE)
    wording(mentions(str(caught.value), "entities | replace"))
    ingest(BEFORE, tmp_path / "other", keep_entities="no", triples="no")
    assert not list((tmp_path / "other").rglob("entities.jsonl.gz"))
