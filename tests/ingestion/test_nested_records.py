"""Records inside of records: what stands for a record, what is a thing of its own, and what is an attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import BadInputError
from kbkit.ingestion.json_records import split
from kbkit.readers import tagged_references
from tests.examples import examples
from tests.ingestion.test_exports import Files, Nodes, check_export

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jane"]
MORE = [*NAMES, "Kai", "Lea"]
PEOPLE = [
    {
        "id": n + 1,
        "name": name,
        "team": {"id": n % 3 + 1, "name": ["Red", "Blue", "Green"][n % 3]},
        "manager": {"id": n // 2 + 1, "name": NAMES[n // 2]} if n else None,
        "friends": [{"id": one % 12 + 1, "name": MORE[one % 12], "since": n} for one in (n, n + 3)],
    }
    for n, name in enumerate(NAMES)
]
STUBS: Files = {
    "people.json": PEOPLE,
    "library.json": {
        "meta": {"version": "1.10", "counts": {"authors": 3}},
        "data": {
            "authors": [{"id": n, "name": NAMES[n], "born": 1900 + n} for n in range(3)],
            "books": [
                {"id": 50 + n, "title": f"Book {n}", "author": {"id": n % 4, "name": NAMES[n % 4]}} for n in range(6)
            ],
        },
    },
}
CAST = [
    {
        "id": n + 1,
        "title": f"Film {n}",
        "cast": [{"id": 70 + (n + k) % 6, "name": NAMES[(n + k) % 6], "role": f"r{n}{k}"} for k in range(2)],
        "crew": [{"id": 70 + n, "name": NAMES[n], "job": "Editor"}],
        "credit": [{"name": NAMES[n % 2], "artist": {"id": 9 + n % 2, "name": NAMES[n % 2]}}],
    }
    for n in range(6)
]
TYPED: Files = {
    "pages.json": {
        "results": [
            {
                "object": "page",
                "id": f"p{n}",
                "properties": {
                    "Name": {"id": "t", "type": "title", "title": [{"plain_text": "Page "}, {"plain_text": f"{n}"}]},
                    "Size": {"id": "s", "type": "number", "number": n},
                    "Next": {"id": "r", "type": "relation", "relation": [{"id": f"p{(n + 1) % 3}"}], "has_more": False},
                },
            }
            for n in range(3)
        ]
    }
}
ATTRIBUTES: Files = {
    "servers.xml": "<list>"
    + "".join(
        f'<server id="s{n}"><name>host {n}</name><property name="os" value="{"ab"[n % 2]}"/>'
        f'<property name="ram" value="{2**n}"/></server>'
        for n in range(4)
    )
    + "</list>",
    "courses.json": [
        {
            "code": f"C{n}",
            "title": f"Course {n}",
            "specs": [{"key": "level", "value": n}, {"key": "place", "value": "Ely"}],
            "chapters": [{"title": title, "pages": n + k} for k, title in enumerate(("Introduction", "End"))],
        }
        for n in range(4)
    ],
}
WRAPPERS: Files = {
    "world.json": {
        "countries": {code: {"name": code * 2, "currency": "EUR"} for code in ("AT", "FR", "IT")},
        "currencies": {code: {"name": f"{code} money", "digits": 2} for code in ("EUR", "CHF", "GBP")},
        "cities": [["city", "country", "people"], ["Rome", "IT", 3], ["Paris", "FR", 2]],
    }
}
RIS = "TY  - JOUR\nAU  - Lee, Ann\nAU  - Ray, Bo\nTI  - Reeds of\n  the river\nPY  - 2010/05/03/\nSP  - 1\nEP  - 10\n"
ENW = "%0 Book\n%A Lee, Ann\n%T Stones\n%D 1999\n%K a; b\n"
REFERENCES: Files = {
    "papers.ris": f"{RIS}ER  - \n\nTY  - BOOK\nAU  - Lee, Ann\nTI  - Sand\nPY  - 2012\nER  - \n",
    "tools.csv": "tool,language,price\na,3.8,1.50\nb,3.9,2.25\nc,3.10,3.00\n",
}
MAPS: Files = {
    "town.osm": '<osm version="0.6"><node id="1" lat="59.1" lon="10"><tag k="name" v="Cafe"/></node>'
    '<node id="2" lat="59.2" lon="10"/><way id="1"><nd ref="1"/><nd ref="2"/><tag k="name" v="Road"/></way></osm>',
    "music.xml": '<plist version="1.0"><dict><key>Version</key><integer>1</integer><key>Tracks</key><dict>'
    + "".join(
        f"<key>{n}</key><dict><key>Track ID</key><integer>{n}</integer><key>Name</key><string>T {n}</string></dict>"
        for n in (7, 8, 9)
    )
    + "</dict><key>Lists</key><array><dict><key>Name</key><string>Run</string><key>Items</key><array><dict>"
    "<key>Track ID</key><integer>8</integer></dict></array></dict><dict><key>Name</key><string>Rest</string>"
    "</dict></array></dict></plist>",
    "site.jsonld": {
        "@context": "https://schema.org",
        "@graph": [
            {"@id": "#b", "@type": "Book", "name": "Reeds", "author": {"@id": "#p", "@type": "Person", "name": "Ann"}},
            {"@id": "#c", "@type": "Book", "name": "Sand", "author": {"@id": "#p"}},
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            STUBS,
            {"person": 12, "team": 3, "author": 4, "book": 6},
            {"person team team 10", "person manager person 9", "person friends person 20", "book author author 6"},
            {"author#1": {"born": 1901}, "author#3": {"name": "Dan"}, "person#12": {"name": "Lea"}},
            id="stubs",
        ),
        pytest.param(
            {"films.json": CAST},
            {"film": 6, "cast": 6, "artist": 2},
            {"film films_cast cast 12", "film films_crew cast 6", "film artist artist 6"},
            {"cast#71": {"name": "Ben"}},
            id="roles",
        ),
        pytest.param(
            ATTRIBUTES,
            {"server": 4, "course": 4, "chapter": 8},
            {"chapter course course 8"},
            {"server#s3": {"os": "b", "ram": 8}, "course#C2": {"level": 2, "place": "Ely"}},
            id="attributes",
        ),
        pytest.param(
            TYPED, {"page": 3}, {"page next page 3"}, {"page#p2": {"name": "Page 2", "Size": 2}}, id="typed values"
        ),
        pytest.param(
            WRAPPERS,
            {"country": 3, "currency": 3, "city": 2},
            {"country currency currency 3", "city country country 2"},
            {"currency#EUR": {"name": "EUR money"}, "city#Rome": {"people": 3}},
            id="wrappers",
        ),
        pytest.param(
            REFERENCES,
            {"reference": 2, "tool": 3},
            set(),
            {
                "reference:Reeds of the river": {"year": 2010, "date": "2010-05-03", "pages": "1-10"},
                "tool#c": {"language": "3.10", "price": 3.0},
            },
            id="references",
        ),
        pytest.param(
            MAPS,
            {"node": 2, "way": 1, "track": 3, "list": 2, "book": 2, "person": 1},
            {"way node node 2", "list items_track track 1", "book author person 2"},
            {"node#1": {"name": "Cafe", "lat": 59.1}},
            id="maps",
        ),
    ],
)
def test_nested_records_get_the_schema_that_a_person_expects(
    files: Files, types: dict[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_tags_of_references_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.enw").write_text(f"{ENW}\n{ENW.replace('Stones', 'Dunes')}", encoding="utf-8")
    (tmp_path / "b.ris").write_text("no tag\n", encoding="utf-8")
    first, second = tagged_references.read(tmp_path / "a.enw")
    assert first == {"type": "Book", "author": ["Lee, Ann"], "title": "Stones", "year": 1999, "keywords": ["a", "b"]}
    assert second["title"] == "Dunes"
    with pytest.raises(BadInputError, match=r"No tag in .*b\.ris, line 1"):
        tagged_references.read(tmp_path / "b.ris")


@examples(20)
@given(data=st.data(), size=st.integers(4, 12))
def test_objects_with_the_values_of_records_are_no_second_type(data: st.DataObject, size: int) -> None:
    """Each object leads to the record with its identifier, or to a thing of its own where the values differ."""
    other = data.draw(st.booleans())
    of = data.draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size).filter(lambda one: len({*one}) > 1))
    names = [f"{'other' if other else 'name'} {number}" for number in range(size)]
    rows: list[dict[str, Any]] = [
        {
            "id": number,
            "name": f"name {number}",
            "extra": number % 2,
            "of": {"id": of[number], "name": names[of[number]]},
        }
        for number in range(size)
    ]
    found = split(rows, "things")
    assert len(found) == 1 + other
    assert [row["of"] for row in found[""].rows] == of
    assert found[""].links["of"] == ("of" if other else "", "id")
