"""Folders as people have them: files beside the tables, subfolders, and shapes of tables in the exports of others."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import kbkit
from kbkit.ingestion.inference import Inferred, dialect, infer, table_names
from kbkit.ingestion.request import Corrections
from kbkit.readers import xml_records

Given = Mapping[str, str | bytes]

PROSE = "Summary\n=======\n\nThese data, which are free, were made by many.\n\nCite us, please, if you use any of it.\n"
BOOKS = "id,title,year\n1,Dune,1965\n2,Emma,1815\n3,Ulysses,1922\n"
LOANS = "book_id,reader\n1,Ann\n2,Bo\n2,Ann\n"
STATEMENT = "Datum;Betrag;Text\n0{}.02.22;-1,50;Bäcker\n1{}.03.22;2.000,00;Gehalt\n"


def _written(folder: Path, files: Given) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def _links(inferred: Inferred) -> set[str]:
    """Return the links of nodes as ``table.column target``, and the edges as ``head relation tail``."""
    plan = inferred.plan
    found = {f"{n.table.name}.{'+'.join(o.columns)} {o.target or o.loose}" for n in plan.nodes for _, o in n.links}
    ends = [(e, e.head.target or e.head.loose, e.tail.target or e.tail.loose) for e in plan.edges]
    return found | {f"{head} {e.by or e.relation} {tail}" for e, head, tail in ends}


def test_files_beside_the_tables_are_named_and_not_read(tmp_path: Path) -> None:
    files: Given = {
        "books.csv": BOOKS,
        "README.txt": PROSE,
        "LICENSE.csv": PROSE,
        "about.txt": PROSE,
        "~$books.xlsx": b"\x05Ann",
        "Thumbs.db": b"x",
        "shapes.sdf": "x",
        "old/books.csv": BOOKS,
        "covers/1.png": b"\x89PNG",
    }
    inferred = infer([_written(tmp_path, files)], "x")
    assert [table.name for table in inferred.tables] == ["books"]
    assert [note for note in inferred.notes if note.startswith("Not read")] == [
        "Not read: LICENSE.csv, README.txt, about.txt (document, not a table)",
        "Not read: Thumbs.db, ~$books.xlsx (file of the system or of an open program)",
        "Not read: shapes.sdf (format .sdf; to read it, convert it to CSV or JSON)",
        "Not read: covers/1.png (media)",
        f"Not read: old/books.csv (in a subfolder; to read it, add {tmp_path / 'old'} to the command)",
    ]


def test_a_readme_with_columns_is_a_table(tmp_path: Path) -> None:
    inferred = infer([_written(tmp_path, {"readme.csv": BOOKS, "words.txt": "word\nred\nblue\n"})], "x")
    assert sorted(table.rows for table in inferred.tables) == [2, 3]


def test_a_folder_with_folders_only_is_read_with_them_and_its_tables_stay_apart(tmp_path: Path) -> None:
    files = {
        "2024-03/README.md": "x",
        "2024-03/data/categories.csv": "category,crates,created,id,slug\nMaths,5,2020-01-02,1,ma\nGames,7,,2,games\n",
        "2024-03/data/keywords.csv": "crates,created,id,keyword\n5,2020-01-02,1,async\n6,,2,web\n",
        "2024-03/data/books.csv": BOOKS,
        "2024-03/data/loans.csv": LOANS,
        "kb/CURRENT": "0001",
        "kb/generations/0001/manifest.json": '[{"id": 1}, {"id": 2}]',
    }
    rows = {table.name: table.rows for table in infer([_written(tmp_path, files)], "x").tables}
    assert rows == {"books": 3, "categories": 2, "keywords": 2, "loans": 3}


def test_tables_called_like_documents_are_read_also_in_archives(tmp_path: Path) -> None:
    files = {
        "authors.csv": "author\nAnn Lee\nBo Ray\n",
        "citations.csv": 'id,title\n1,"A, or B"\n2,C\n3,"D, E, and F"\n',
        "README.txt": PROSE,
    }
    folder = _written(tmp_path / "in", files)
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    for source in (folder, tmp_path / "in.zip"):
        inferred = infer([source], "x")
        assert sorted(table.name for table in inferred.tables) == ["authors", "citations"]
        assert "Not read: README.txt (document, not a table)" in inferred.notes


def test_archives_links_and_subfolders_of_a_folder_are_named_if_they_are_not_read(tmp_path: Path) -> None:
    folder = _written(tmp_path / "in", {"books.csv": BOOKS, "_old/a.csv": BOOKS, "new/b.csv": LOANS})
    (folder / "elsewhere").symlink_to(tmp_path)
    (folder / "new" / "gone.csv").symlink_to(tmp_path / "nothing")
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("loans.csv", LOANS)
        archive.writestr("notes.md", "x")
    inferred = infer([folder], "x")
    assert sorted(table.name for table in inferred.tables) == ["books", "loans"]
    to_add = f"{folder / 'elsewhere'}, {folder / '_old'}, {folder / 'new'}"
    assert [note for note in inferred.notes if note.startswith("Not read")] == [
        "Not read: more.zip/notes.md (document, not a table)",
        f"Not read: elsewhere, _old/a.csv, new/b.csv (in a subfolder; to read them, add {to_add} to the command)",
        "Not read: new/gone.csv (not a file: a pipe, or a link to nothing)",
    ]


def test_names_without_identifiers_in_brackets_are_not_lost(tmp_path: Path) -> None:
    genes = "id,places\n" + "".join(f"g{n},nucleus [GO:{n % 3}]; cytosol\n" for n in range(9))
    files = {"genes.csv": genes, "terms.csv": "id,name\nGO:0,a\nGO:1,b\nGO:2,c\n"}
    assert _links(infer([_written(tmp_path, files)], "x")) == set()


def test_numbers_of_versions_are_no_dates(tmp_path: Path) -> None:
    rows = "id,version,day\n1,01.02.03,01.02.03\n2,04.05.06,04.05.06\n"
    [table] = infer([_written(tmp_path, {"releases.csv": rows})], "x").tables
    assert [table.columns[name].look for name in ("version", "day")] == ["text", "date"]


def test_numbers_that_become_text_are_named(tmp_path: Path) -> None:
    books, films = "id,title,phone number\n1,A,44301\n2,B,44302\n", "id,title,phone number\n1,A,44-301\n2,B,44302\n"
    files = {"books.csv": books, "films.csv": films}
    note = "Read as text, like another attribute of the same name: books.phone number (films.phone number has texts)"
    assert note in infer([_written(tmp_path, files)], "x").notes


@pytest.mark.parametrize("names", [("20221231-007.CSV", "20231231-008.CSV"), ("january.csv", "february.csv")])
def test_files_of_one_layout_are_one_table(names: tuple[str, str], tmp_path: Path) -> None:
    files = {name: STATEMENT.format(n, n).encode("latin-1") for n, name in enumerate(names, 1)}
    inferred = infer([_written(tmp_path, files)], "x")
    [table] = inferred.tables
    looks = {name: column.look for name, column in table.columns.items()}
    assert (table.rows, looks["Datum"], looks["Betrag"]) == (4, "date", "number")


def test_times_with_a_zone_and_letters_for_booleans_are_read_and_codes_keep_their_digits(tmp_path: Path) -> None:
    rows = "id,made,free,accession_number,length\n1,2020-04-18 07:33:28.675248+00,t,346.2000,1.50\n"
    rows += "2,2020-04-19 07:33:28+00,f,12.1936,2.25\n3,2020-04-19 07:33:28+02,f,7.1940,3.50\n"
    folder = _written(tmp_path / "in", {"works.csv": rows})
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        found = kb.sql("SELECT made, free, accession_number, length FROM work ORDER BY key").rows()
    assert [str(row[0]) for row in found] == [
        "2020-04-18 07:33:28.675248",
        "2020-04-19 07:33:28",
        "2020-04-19 05:33:28",
    ]
    assert [row[1:] for row in found] == [(True, "346.2000", 1.5), (False, "12.1936", 2.25), (False, "7.1940", 3.5)]


EDGES = "\n".join(f"A::{n} CtD B::{n % 3} {n}" for n in range(1, 9))
NODES = "".join(f"{kind}::{n}\tnode {n}\t{kind}\n" for kind in "AB" for n in range(9))
PROTEINS = "".join(
    f"P{n}\tname {n}\tnucleus [GO:000000{n % 3}]; cytosol [GO:0000009]\t9606.ENSP{n};\n" for n in range(9)
)
PAIRS = "".join(f"9606.ENSP{n} 9606.ENSP{m} {n + m}\n" for n in range(9) for m in range(n))
TITLES = "".join(f"tt10000{n:02},Film {n}\n" for n in range(20))
PEOPLE = "".join(f'nm{n},Person {n},"tt10000{n:02},tt10000{n + 3:02}"\n' for n in range(18))


@pytest.mark.parametrize(
    ("files", "links"),
    [
        pytest.param(
            {"edges.sif": f"source metaedge target weight\n{EDGES}\n", "genes.tsv": f"id\tname\tkind\n{NODES}"},
            {"genes metaedge genes"},
            id="relations of edges between blanks",
        ),
        pytest.param(
            {
                "links.txt": f"protein1 protein2 score\n{PAIRS}",
                "uniprot.tsv": f"Entry\tEntry Name\tOntology\tSTRING\n{PROTEINS}",
                "terms.tsv": "id\tname\nGO:0000000\ta\nGO:0000001\tb\nGO:0000002\tc\nGO:0000009\td\n",
            },
            {"uniprot link uniprot", "uniprot.Ontology terms"},
            id="codes of another source, identifiers in brackets",
        ),
        pytest.param({"links.txt": f"protein1 protein2 score\n{PAIRS}"}, {"protein link protein"}, id="edges alone"),
        pytest.param(
            {
                "people.csv": f"nconst,name,knownForTitles\n{PEOPLE}",
                "titles.csv": f"tconst,title\n{TITLES}",
                "ratings.csv": "tconst,rating\n" + "".join(f"tt10000{n:02},{n}.5\n" for n in range(9)),
            },
            {"people.knownForTitles titles", "ratings.tconst titles"},
            id="lists of codes, a few of which are unknown",
        ),
        pytest.param(
            {
                "books.csv": BOOKS,
                "books_languages_link.csv": "id,book,lang_code\n1,1,1\n2,2,2\n3,3,1\n",
                "languages.csv": "id,lang_code\n1,eng\n2,deu\n",
            },
            {"books books_languages languages"},
            id="a short form of a type",
        ),
        pytest.param(
            {
                "dm.csv": "STUDY,USUBJID,AGE\n" + "".join(f"S1,01-{n},{n}\n" for n in range(30, 36)),
                "ds.csv": "STUDY,USUBJID,DSSEQ\n" + "".join(f"S1,01-{n},1\n" for n in range(30, 36)),
                "ae.csv": "STUDY,USUBJID,AESEQ,TERM\n"
                + "".join(f"S1,01-{n},{k},ACHE\n" for n in range(30, 36) for k in (1, 2)),
            },
            {"ae.USUBJID dm", "ds.USUBJID dm"},
            id="events of subjects",
        ),
    ],
)
def test_links_of_the_tables_of_others(files: Given, links: set[str], tmp_path: Path) -> None:
    assert _links(infer([_written(tmp_path, files)], "x")) == links


def test_a_link_that_the_user_names_is_not_replaced_by_one_of_several_columns(tmp_path: Path) -> None:
    visits = "site,subject,day\n" + "".join(f"{n % 2},{n},{d}\n" for n in range(4) for d in (1, 2))
    files = {
        "visits.csv": visits,
        "doses.csv": visits.replace("day", "dose"),
        "subjects.csv": "subject,age\n0,30\n1,31\n2,40\n3,41\n",
    }
    told = Corrections(links={"doses.subject": "subjects"}, keys={"visits": ["site", "subject"]})
    assert "doses.subject subjects" in _links(infer([_written(tmp_path, files)], "x", told))


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["protein1 protein2 score", "a1 b1 5", "a1 b2 6"], " "),
        (["first last", "Ann Lee", "Bo Ray"], ","),  # names have no digits
        (["a b", "1 2", "3"], ","),
        (["full name", "Room 12", "Room 13"], ","),
        (["a b", "1 2", "3 4"], " "),
    ],
)
def test_blanks_separate_fields_with_digits(lines: list[str], delimiter: str) -> None:
    assert dialect._delimiter("\n".join(lines)) == delimiter


def test_the_name_of_a_source_before_most_names_of_tables_is_dropped() -> None:
    tables = ["olist_customers", "olist_orders", "olist_sellers", "category_translation"]
    assert table_names.tables(tables) == [["customers"], ["orders"], ["sellers"], ["category", "translation"]]
    tables = ["order_items", "order_payments", "order_reviews", "sellers"]  # an English word says what the rows are
    assert table_names.tables(tables) == [one.split("_") for one in tables]


def test_totals_and_notes_alone_in_their_line_are_no_rows(tmp_path: Path) -> None:
    rows = "Number,Device,Price\n1,Pump,2\n2,Lamp,3\nTotal,,\n* Price without tax,,\n"
    inferred = infer([_written(tmp_path, {"devices.csv": rows})], "x")
    assert inferred.tables[0].rows == 2
    assert "Left out rows of totals and notes: devices (2)" in inferred.notes


# -- JSON and XML -----------------------------------------------------------------------------------------------------


def _match(number: int) -> object:
    home, away = (
        {f"{side}_team_id": n, f"{side}_team_name": f"Club {n}"} for side, n in (("home", number), ("away", 9 - number))
    )
    return {"match_id": number, "title": f"Match {number}", "home_team": home, "away_team": away}


def _lineup(number: int) -> object:
    players = [
        {"player_id": p, "player_name": f"P {p}", "jersey_number": n} for n, p in enumerate((number, number + 1))
    ]
    return {"team_id": number % 3, "lineup": players}


def _activity(number: int) -> object:
    note = {"id": f"https://x/{number}", "type": "Note", "content": f"<p>{'long text ' * 9}{number}</p>", "to": ["a"]}
    note |= {"inReplyTo": f"https://x/{number - 2}" if number > 1 else None}
    note |= {"tag": [{"type": "Hashtag", "href": "https://x/t", "name": "#sun"}]}
    return {"id": f"https://x/{number}/activity", "object": f"https://y/{number}" if number == 5 else note}


@pytest.mark.parametrize(
    ("make", "types", "links"),
    [
        (_match, {"team": 10, "match": 6}, {"matches.home_team team", "matches.away_team team"}),
        (_lineup, {"player": 7, "match": 6}, {"matches.lineup player"}),
        (_activity, {"object": 6, "tag": 1}, {"matches.object object", "object.inReplyTo object", "object.tag tag"}),
    ],
)
def test_objects_in_records_of_json_are_nodes(
    make: Callable[[int], object], types: Mapping[str, int], links: set[str], tmp_path: Path
) -> None:
    content = json.dumps([make(number) for number in range(6)])
    inferred = infer([_written(tmp_path, {"matches.json": content})], "x")
    rows = {nodes.table.type: nodes.table.rows for nodes in inferred.plan.nodes}
    assert types.items() <= rows.items()
    assert links <= _links(inferred)


XML = """<set xmlns:c="http://x.org/content/" xmlns:e="http://x.org/1.2/excerpt/">
{}</set>"""
ARTICLE = """<article><cite><PMID v="1">33{n}</PMID><c:encoded>text {n}</c:encoded><e:encoded/><authors>
<author valid="Y"><LastName>Lee</LastName><ForeName>Ann</ForeName><where>City {n}</where></author>
<author valid="Y"><LastName>Ray</LastName><ForeName>Bo</ForeName><where>City {n}</where></author></authors>
<terms><term ui="D1">Brain</term><term ui="D2">Mice</term></terms></cite></article>"""


def test_nested_elements_of_xml_are_nodes_with_shared_names(tmp_path: Path) -> None:
    path = _written(tmp_path, {"set.xml": XML.format("\n".join(ARTICLE.format(n=n) for n in range(4)))}) / "set.xml"
    cite = xml_records.read(path)["article"][0]["cite"]
    assert {name: cite[name] for name in ("PMID", "PMID_v", "content_encoded", "excerpt_encoded")} == {
        "PMID": "330",
        "PMID_v": "1",
        "content_encoded": "text 0",
        "excerpt_encoded": None,
    }
    links = _links(infer([path], "x"))
    assert {"article article_author author", "article.cite_terms_term term"} <= links


def test_an_attribute_with_the_name_of_elements_is_one_of_them(tmp_path: Path) -> None:
    path = _written(tmp_path, {"set.xml": '<set><a b="1"><b>2</b><b>3</b></a><a><b>4</b></a></set>'}) / "set.xml"
    assert xml_records.read(path)["a"] == [{"b": ["1", "2", "3"]}, {"b": ["4"]}]


def of_year(year: int, header: str, *rows: str) -> str:
    """Return a CSV file whose rows end in numbers of a year."""
    return "\n".join([header, *(f"{row},{year + n}" for n, row in enumerate(rows))]) + "\n"


def test_files_of_one_name_and_shape_in_several_folders_are_one_type(tmp_path: Path) -> None:
    staff = [f"{n},P{n}" for n in range(1, 8)]
    sales = [f"{n},{n % 5 + 1}" for n in range(1, 12)]
    files = {
        f"{year}/{name}.csv": of_year(year, header, *rows)
        for year in (2023, 2024)
        for name, header, rows in (
            ("staff", "staff_id,name,room", staff[: year - 2018]),
            ("sales", "sale_id,staff_id,sum", sales),
        )
    }
    with kbkit.ingest(str(_written(tmp_path / "in", files)), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert {one.name: one.members for one in kb.schema.node_types} == {"staff": 11, "sale": 22}
        assert [(s.head, r.name, s.tail, s.edges) for r in kb.schema.relations for s in r.signatures] == [
            ("sale", "staff", "staff", 22)
        ]
        assert kb.node("staff#2024/2").attributes == {"staff_id": 2, "room": 2025, "folder": 2024}


def test_files_of_one_name_and_other_shapes_are_called_like_their_folders(tmp_path: Path) -> None:
    files = {
        "2023/sales.csv": "sale_id,product,sum\n1,Lamp,3\n2,Desk,4\n",
        "2024/sales.csv": "receipt,shop,clerk,total\n1,Ely,Bo,3\n2,Oak,Al,4\n",
        "north/shops.csv": "shop_id,name,town\n1,A,Ely\n2,B,Ely\n",
        "south/shops.csv": "id,name,clerk,rooms\n7,C,Bo,2\n8,D,Al,3\n",
        "south/goods.csv": "good_id,name\n7,Lamp\n8,Desk\n",
    }
    found = infer([_written(tmp_path, files)], "x").plan.nodes
    assert {one.table.name: one.table.type for one in found} == {
        "sales_2023": "sale_2023", "sales_2024": "sale_2024", "north_shops": "north_shop", "south_shops": "south_shop",
        "goods": "good",
    }  # fmt: skip


def test_line_ends_of_two_kinds_are_read_without_loss(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'id,name,note\r\n1,A,"a\r\nb"\n2,B,"c\nd ""e""\r\n,"\r\n3,5" pipe,f\n')
    with kbkit.ingest(str(path), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        rows = kb.sql("SELECT key, name, note FROM row ORDER BY key").rows()
    assert rows == [("1", "A", "a\r\nb"), ("2", "B", 'c\nd "e"\r\n,'), ("3", '5" pipe', "f")]
