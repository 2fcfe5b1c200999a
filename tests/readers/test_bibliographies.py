"""Bibliographies of BibTeX: their entries as records, and as nodes of a KB; odd and invalid files."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.readers import bibliographies

SHELF = r"""% made for a test
@string{press = "North Press"}

@book{bell2001,
  author    = {Bell, Ann and Gr{\"u}n, Carl},
  title     = {The {Old} Bridge},
  year      = 2001,
  publisher = press,
  keywords  = {bridges, stone},
}

@inproceedings{dahl2004,
  author   = "Dahl, Eva and Bell, Ann and {Bridges and Roads Ltd}",
  title    = "Arches \& vaults",
  crossref = {conf04},
  pages    = {1--10},
  keywords = {stone, vaults},
}

@inproceedings{bell2004,
  author   = {Ann Bell and Dahl, Eva},
  title    = {Ropes},
  crossref = {conf04},
  month    = mar,
}

@article(lopez2010,
  author  = {L{\'o}pez, Ida and Dahl, Eva},
  title   = {Cables},
  year    = {2010},
  journal = {Steel},
)

@article{bell2011,
  author = {Bell, Ann},
  title  = {Piers},
  year   = {2011},
}

@article{dahl2012,
  author = {Dahl, Eva and Gr{\"u}n, Carl},
  title  = {Piers again},
  year   = {2012},
}

@proceedings{conf04, title = {Conference on Spans}, year = {2004}, publisher = press # " and Sons"}

@comment{kept by a program: {nothing}}
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    path = tmp_path / "shelf.bib"
    path.write_text(SHELF, encoding="utf-8")
    return path


def test_entries_have_persons_keywords_and_fields_without_commands(shelf: Path) -> None:
    entries = {one["key"]: one for one in bibliographies.read(shelf)}
    assert [*entries] == ["bell2001", "dahl2004", "bell2004", "lopez2010", "bell2011", "dahl2012", "conf04"]
    assert entries["bell2001"] == {
        "key": "bell2001", "type": "book", "author": ["Bell, Ann", "Grün, Carl"], "title": "The Old Bridge",
        "year": "2001", "publisher": "North Press", "keywords": ["bridges", "stone"],
    }  # fmt: skip
    assert entries["dahl2004"]["author"] == ["Dahl, Eva", "Bell, Ann", "Bridges and Roads Ltd"]
    assert entries["dahl2004"]["title"] == "Arches & vaults"
    assert entries["bell2004"]["author"] == ["Bell, Ann", "Dahl, Eva"]
    assert entries["bell2004"]["month"] == "3"
    assert entries["lopez2010"]["author"][0] == "López, Ida"
    assert entries["conf04"]["publisher"] == "North Press and Sons"


def test_persons_and_cross_references_are_links(shelf: Path, tmp_path: Path) -> None:
    with kbkit.ingest(str(shelf), out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        assert {one.name: one.members for one in kb.schema.node_types} == {"shelf": 7, "author": 5}
        edges = {r.name: sum(s.edges for s in r.signatures) for r in kb.schema.relations}
        assert edges == {"author": 12, "crossref": 2}
        assert kb.node("shelf#dahl2004").name == "Arches & vaults"


@pytest.mark.parametrize(
    "text", ["@book{a, title = {x", "@book{a, title = }", '@book{a, title = "x}', "@book{a, x = 1"]
)
def test_an_entry_without_end_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.bib"
    path.write_text(f"\n{text}", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"Invalid BibTeX in .*bad\.bib, line 2"):
        bibliographies.read(path)
