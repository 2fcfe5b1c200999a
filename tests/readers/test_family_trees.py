"""Family trees in GEDCOM: their records, and their links in a KB; odd and hostile files."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.readers import family_trees
from tests.readers.hostile import changed, check_linear

TREE = """0 HEAD
1 CHAR UTF-8
0 @I1@ INDI
1 NAME Ann Mary /Lee/
1 SEX F
1 BIRT
2 DATE 3 MAR 1850
2 PLAC York, England
1 NOTE She kept
2 CONC  bees
2 CONT and hens.
1 SOUR @S1@
2 PAGE p. 3
1 FAMS @F1@
1 _UID 1234
0 @I2@ INDI
1 NAME Bo /Chen/
2 SURN Chen-Lee
1 BIRT
2 DATE ABT 1848
1 NOTE @N1@
0 @I3@ INDI
1 NAME Cy /Lee/
1 BIRT
2 DATE BET 1870 AND 1872
1 FAMC @F1@
0 @F1@ FAM
1 HUSB @I2@
1 WIFE @I1@
1 CHIL @I3@
1 MARR
2 DATE 1 JAN 1869
0 @S1@ SOUR
1 TITL Parish book
0 @N1@ NOTE A carter
0 TRLR
"""


def test_a_family_tree_has_individuals_families_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "x.ged"
    path.write_text("\ufeff" + TREE, encoding="utf-8")
    found = family_trees.read(path)
    assert found["individuals"][0] == {
        "id": "I1", "name": "Ann Mary Lee", "surname": "Lee", "sex": "F", "birth_date": "1850-03-03",
        "birth_year": 1850, "birth_place": "York, England", "notes": "She kept bees\nand hens.", "sources": ["S1"],
    }  # fmt: skip
    assert found["individuals"][1]["birth_date"] == "ABT 1848"
    assert found["individuals"][1]["notes"] == "A carter"
    assert "birth_year" not in found["individuals"][2]
    assert found["families"] == [
        {
            "id": "F1",
            "husband": "I2",
            "wife": "I1",
            "children": ["I3"],
            "marriage_date": "1869-01-01",
            "marriage_year": 1869,
        }
    ]


def test_a_family_tree_and_a_table_make_a_kb(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "lee.ged").write_bytes(TREE.encode("utf-16"))
    (folder / "photos.csv").write_text("file,person_id\na.jpg,I1\nb.jpg,I3\nc.jpg,I1\n", encoding="utf-8")
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        found = {f"{s.head} {r.name} {s.tail} {s.edges}" for r in kb.schema.relations for s in r.signatures}
        assert found == {
            "family husband individual 1", "family wife individual 1", "family child individual 1",
            "individual source source 1", "photo person individual 3",
        }  # fmt: skip
        assert kb.node("individual#I1").name == "Ann Mary Lee"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 HEAD\n1 CHAR\n3 X y\n", r"Level 3 below level 1 in .*x.ged, line 3. Export the family tree again"),
        ("a table\n", r"x.ged is no family tree in GEDCOM: line 1 is not 0 HEAD"),
        ("", r"x.ged is no family tree in GEDCOM"),
    ],
)
def test_another_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ged"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=message):
        family_trees.read(path)


@pytest.mark.parametrize(
    "part", ["0 @", "@", "1 CONC a\n", "9 X\n", "0 @A@ INDI\n", "1 ", " ", "\n", "x\n", "1 NAME /"]
)
def test_hostile_trees_take_time_that_grows_with_their_length(part: str, tmp_path: Path) -> None:
    check_linear(family_trees.read, tmp_path / "x.ged", "0 HEAD\n0 @I1@ INDI\n1 NOTE " + part * 100_000)


def test_changed_trees_are_read_or_refused(tmp_path: Path) -> None:
    path, refused = tmp_path / "x.ged", 0
    for content in changed(TREE.encode(), (b"@", b"\n", b"9 ", b"\xff", b"/", b"\0", b""), seed=3):
        path.write_bytes(content)
        try:
            family_trees.read(path)
        except KbError:
            refused += 1
    assert 0 < refused < 500
