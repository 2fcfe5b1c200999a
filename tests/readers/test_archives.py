"""Sources in zip archives and in folders of folders."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion import archives
from tests.conftest import TESTS, Run
from tests.ingestion.test_recipes import content
from tests.kbs import mentions
from tests.wording import Wording

TINY = TESTS / "tiny"
FILES = ("nodes.csv", "edges.csv", "texts.csv")


def packed(path: Path, inside: str = "data/tiny/", more: dict[str, bytes] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            archive.write(TINY / name, inside + name)
        for name, data in (more or {}).items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


def refused(path: Path, tmp_path: Path) -> str:
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("table", path, out=tmp_path / "refused.kb", stores=["tables"])
    assert not (tmp_path / "refused.kb").exists()
    return str(caught.value).replace(str(tmp_path), "TMP")


@pytest.mark.core
def test_an_archive_is_read_like_the_files_in_it(tmp_path: Path) -> None:
    path = packed(tmp_path / "tiny.zip", more={"data/tiny/readme.md": b"not a table", "data/pictures/": b""})
    with (
        kbkit.ingest("table", path, out=tmp_path / "zip.kb", stores=["tables"]) as zipped,
        kbkit.ingest("table", TINY, out=tmp_path / "files.kb", stores=["tables"]) as plain,
    ):
        assert content(zipped) == content(plain)
        assert [source["name"] for source in zipped.manifest.sources] == ["tiny.zip"]
        assert sorted(p.name for p in zipped.folder.iterdir()) == ["lock", "manifest.json", "nodes", "tables.duckdb"]


def test_an_error_names_the_file_in_the_archive(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "broken.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nodes.csv", "key,name\na,Ann\nb\n")
        archive.writestr("edges.csv", "head,relation,tail\n")
    wording(
        mentions(refused(path, tmp_path), "TMP/broken.zip | nodes.csv | line 3 | 1 | 2"), replace={str(tmp_path): "DIR"}
    )


@pytest.mark.parametrize("name", ["../nodes.csv", "a/../../nodes.csv", "/etc/nodes.csv"])
def test_names_that_reach_outside_are_refused(tmp_path: Path, name: str, wording: Wording) -> None:
    path = packed(tmp_path / "sly.zip", more={name: b"key\na\n"})
    wording(mentions(refused(path, tmp_path), f"TMP/sly.zip | {name!r}"), replace={str(tmp_path): "DIR"})


def test_damaged_archives_are_refused(tmp_path: Path, wording: Wording) -> None:
    path = packed(tmp_path / "cut.zip")
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    wording(mentions(refused(path, tmp_path), "TMP/cut.zip"), replace={str(tmp_path): "DIR"})
    place = whole.index(b"data/tiny/nodes.csv") + 60
    path.write_bytes(whole[:place] + bytes(20) + whole[place + 20 :])
    wording(mentions(refused(path, tmp_path), "TMP/cut.zip | data/tiny/nodes.csv"), replace={str(tmp_path): "DIR"})


def test_a_member_that_declares_more_than_the_disk_holds_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = packed(tmp_path / "bomb.zip")
    whole = bytearray(path.read_bytes())
    entry = whole.rindex(b"PK\x01\x02", 0, whole.index(b"data/tiny/nodes.csv", whole.index(b"PK\x01\x02")))
    whole[entry + 24 : entry + 28] = struct.pack("<I", 0xFFFFFFF0)  # the size that it unpacks to
    path.write_bytes(whole)
    [nodes] = [member for member in archives.members(path) if member.name == "nodes.csv"]
    assert archives.size(nodes) == 0xFFFFFFF0
    mentions(refused(path, tmp_path), "nodes.csv | 4,294,967,280 | bytes")  # too large, or a wrong size on a large disk


def test_patterns_with_folders_tell_files_of_one_name_apart(here: Run, tmp_path: Path) -> None:
    recipe = tmp_path / "pairs"
    recipe.mkdir()
    (recipe / "recipe.toml").write_text(
        'title = "t"\n[files.likes]\nmatch = ["likes/edge.csv"]\ncolumns = ["a", "b"]\n'
        '[files.knows]\nmatch = ["knows/edge.csv"]\ncolumns = ["a", "b"]\n'
    )
    (recipe / "load.sql").write_text(
        "CREATE TABLE edges AS SELECT a AS head, 'likes' AS relation, b AS tail FROM likes"
        " UNION ALL SELECT a, 'knows', b FROM knows;\n"
        "CREATE TABLE nodes AS SELECT DISTINCT key FROM (SELECT head AS key FROM edges UNION SELECT tail FROM edges)"
        " ORDER BY key;\n"
    )
    for name, line in (("likes", "x,y\n"), ("knows", "y,x\n")):
        (tmp_path / "raw" / "relations" / name).mkdir(parents=True)
        (tmp_path / "raw" / "relations" / name / "edge.csv").write_text(line)
    done = here("ingest", recipe, tmp_path / "raw", "-o", tmp_path / "p.kb", "--stores", "tables")
    assert done.returncode == 0, done.stderr
    with kbkit.open(tmp_path / "p.kb") as kb:
        rows = kb.sql(
            "SELECT h.key, relation, t.key FROM edges JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        )
        assert sorted(rows.rows()) == [("x", "likes", "y"), ("y", "knows", "x")]
