"""KBs that were built without some of the stores."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.errors import KbError, UnknownNameError
from tests.conftest import TESTS, Run
from tests.wording import Wording

TINY = TESTS / "tiny"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bare") / "bare.kb"
    kbkit.ingest("table", TINY, out=out, stores=["text"]).close()
    return out


def test_what_was_left_out_is_not_there_and_the_rest_works(bare: Path) -> None:
    with kbkit.open(bare) as kb:
        assert sorted(kb.manifest.stores) == ["nodes", "tables", "text"]
        assert {p.name for p in kb.folder.iterdir()} == {"lock", "manifest.json", "tables.duckdb", "nodes", "text"}
        assert [what for what, problem in kb.check() if not problem] == ["files", "tables", "nodes", "text"]
        assert [row["store"] for row in kb.info()["stores"]] == ["tables", "nodes", "text"]
        assert kb.search("insulin", mode="bm25").height
        assert kb.search("insulin").equals(kb.search("insulin", mode="bm25"))
        assert kb.answers("drug", engine="sql").ids.tolist()


@pytest.mark.parametrize(
    ("store", "use"),
    [
        ("adjacency", lambda kb: kb.answers("drug -> [associated_with] -> disease").ids),
        ("triples", lambda kb: kb.sparql("DESCRIBE <urn:x>")),
        ("vectors", lambda kb: kb.search("aspirin", mode="dense")),
        ("vectors", lambda kb: kb.search("aspirin", embedder="static", mode="bm25")),
    ],
)
def test_an_error_says_how_to_add_a_store(bare: Path, store: str, use: object, wording: Wording) -> None:
    with kbkit.open(bare) as kb, pytest.raises(KbError) as caught:
        use(kb)  # type: ignore[operator]
    assert store in caught.value.message
    assert f"build KB {store}" in caught.value.hint
    wording(str(caught.value))


@pytest.mark.system
def test_build_adds_what_was_left_out(run: Run, here: Run, tmp_path: Path) -> None:
    out = tmp_path / "grown.kb"
    done = run("ingest", "table", TINY, "-o", out, "--stores", "tables")
    assert done.returncode == 0, done.stderr
    for store in ("adjacency", "vectors"):
        done = here("build", out, store)
        assert done.returncode == 0, done.stderr
    with kbkit.open(out) as kb:
        assert sorted(kb.manifest.stores) == ["adjacency", "nodes", "tables", "vectors"]
        assert [problem for _, problem in kb.check() if problem] == []
        assert kb.search("insulin")["snippet"][0].startswith("A hormone that lets cells")  # in the mode dense


@pytest.mark.core
def test_an_unknown_store_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"store 'vector'.*'vectors'"):
        kbkit.ingest("table", TINY, out=tmp_path / "t.kb", stores=["vector"])
    assert not (tmp_path / "t.kb").exists()
