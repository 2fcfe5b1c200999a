"""Every recipe: on a small sample in the published format with its counts pinned, and on the published data themselves
where they lie beside the project.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.ingestion import recipe as recipes
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.kbs import mentions
from tests.wording import Wording


def content(kb: KnowledgeBase) -> dict[str, Any]:
    """All that a KB says: schema, and every table in a fixed order."""
    schema = kb.schema.to_json()
    tables = ["nodes", "edges", "texts", "node_types", "types", "relations"]
    tables += [f'"{t.table}"' for t in kb.schema.node_types] + [f'"{r.table}"' for r in kb.schema.relations]
    rows = {name: kb.sql(f"SELECT * FROM {name} ORDER BY ALL") for name in tables}
    return {"schema": schema, **{name: (frame.schema, frame.rows()) for name, frame in rows.items()}}


def assert_sound(kb: KnowledgeBase) -> None:
    assert [(what, problem) for what, problem in kb.check() if problem] == []


def answers_in_every_mode(kb: KnowledgeBase, query: str, key: str) -> None:
    """Each mode finds the node among the first ten."""
    for mode in ("bm25", "dense", "hybrid"):
        assert key in kb.search(query, k=10, mode=mode)["key"].to_list(), mode


# -- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_recipes_lists_every_recipe_with_title_and_licence(here: Run) -> None:
    done = here("recipe", "list", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["recipe"] for row in rows] == recipes.names()
    assert {"imdb", "rdf", "table", "triples", "world"} <= {row["recipe"] for row in rows}
    assert all(row["title"] and row["licence"] for row in rows)


@pytest.mark.parametrize("name", recipes.names())
def test_a_recipe_tells_what_it_reads(here: Run, name: str) -> None:
    done = here("recipe", "show", name, "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["recipe"]: row[name] for row in json.loads(done.stdout)}
    spec = recipes.load(name)
    assert rows["title"] == spec.title
    assert rows["description"]
    assert rows["licence"]
    assert rows["get"]
    for file in spec.files:
        shown = rows[f"file {file.name}" + (" (optional)" if file.optional else "")]
        assert shown.startswith(" or ".join(file.match))
    for option, setting in spec.options.items():
        assert rows[f"--set {option}={setting.default}"]


def test_recipe_new_writes_a_recipe_that_works(here: Run, tmp_path: Path, wording: Wording) -> None:
    done = here("recipe", "new", "club", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "club").iterdir()) == ["load.sql", "recipe.toml"]
    people = (
        "id,name,born,bio\n007,James,1920-11-11,Likes martinis.\n008,Bill,1930-01-02,\n009,Peter,,Plays the tuba.\n"
    )
    (tmp_path / "people.csv").write_text(people)
    (tmp_path / "friends.csv").write_text("a,b,since\n007,008,1950\n008,009,1962\n")
    done = here("ingest", "./club", "people.csv", "friends.csv", "-o", "my.kb", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mentions(done.stderr, "my.kb | 3 nodes | 1 type | 4 edges | 1 relation | 2 texts")
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert_sound(kb)
        assert kb.schema.name == "club"
        assert [(a.name, a.type) for a in kb.schema.type("person").attributes] == [("born", "DATE")]
        knows = kb.schema.relation("knows")
        assert (knows.symmetric, knows.label) == (True, "knows")
        assert [(a.name, a.type) for a in knows.attributes] == [("since", "BIGINT")]
        assert kb.neighbors("person#008")["key"].to_list() == ["007", "009"]
        assert kb.node("009").texts == [("bio", "Plays the tuba.")]
    again = here("recipe", "new", "club", cwd=tmp_path)
    assert again.returncode == 1
    wording(mentions(again.stderr, "club"), "cli", replace={str(tmp_path): "DIR"})


def test_an_optional_file_may_be_absent(here: Run, tmp_path: Path) -> None:
    assert here("recipe", "new", "club", cwd=tmp_path).returncode == 0
    # Without friends.csv the skeleton's SQL has no columns a and b to read, unless the recipe names them.
    toml = (tmp_path / "club" / "recipe.toml").read_text()
    text = toml.replace("optional = true", 'optional = true\ncolumns = ["a", "b", "since"]')
    (tmp_path / "club" / "recipe.toml").write_text(text)
    (tmp_path / "people.csv").write_text("id,name,born,bio\n1,Ann,,\n")
    done = here("ingest", "./club", "people.csv", "-o", "my.kb", "--stores", "tables", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert (kb.schema.nodes, kb.schema.edges) == (1, 0)
        assert_sound(kb)


# -- table ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny_content(tiny_kb: Path) -> dict[str, Any]:
    with kbkit.open(tiny_kb) as kb:
        return content(kb)


def test_the_tiny_graph_is_what_it_says(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        assert_sound(kb)
        assert [(t.name, t.first, t.count, t.others, t.table) for t in kb.schema.node_types] == [
            ("gene/protein", 0, 3, 0, "gene/protein"),
            ("drug", 3, 3, 1, "drug"),
            ("disease", 6, 3, 0, "disease"),
            ("person", 9, 3, 0, "person"),
            ("hormone", 0, 0, 2, "hormone"),
        ]
        assert [(a.name, a.type) for a in kb.schema.type("gene/protein").attributes] == [
            ("year", "BIGINT"),
            ("weight", "DOUBLE"),
            ("approved", "BOOLEAN"),
            ("first_seen", "DATE"),
            ("updated", "TIMESTAMP"),
            ("code", "VARCHAR"),
            ("note", "VARCHAR"),
        ]
        assert [(r.name, r.table, r.edges, r.pairs) for r in kb.schema.relations] == [
            ("associated_with", "associated_with", 4, 4),
            ("interacts", "interacts", 3, 3),
            ("is treated by", "is treated by", 3, 3),
            ("knows", "knows", 2, 2),
            ("order", "rel_order", 3, 2),
            ("takes", "takes", 2, 2),
            ("targets", "targets", 1, 1),
        ]
        order = kb.schema.relation("order")
        assert [(a.name, a.type) for a in order.attributes] == [
            ("quantity", "BIGINT"),
            ("since", "DATE"),
            ("source", "VARCHAR"),
        ]
        assert [(s.head, s.tail, s.edges) for s in kb.schema.relation("associated_with").signatures] == [
            ("gene/protein", "disease", 2),
            ("drug", "disease", 1),
            ("gene/protein", "gene/protein", 1),
        ]
        assert [(f.name, f.texts) for f in kb.schema.text_fields] == [
            ("biography", 2),
            ("description", 4),
            ("history", 1),
            ("summary", 4),
        ]
        first, last = kb.node(0), kb.node(11)
        assert (first.reference, first.name) == ("gene/protein#g1", "BRCA1")
        assert first.attributes["code"] == "0672"
        assert first.texts == [
            ("history", 'The "race" for it ended in 1994.'),
            ("summary", "A gene that repairs broken DNA.\nFaults in it raise the risk of breast cancer."),
            ("summary", "It was found on chromosome 17."),
        ]
        assert (last.reference, last.name, last.texts) == ("person#p3", "Nobody, Known", [])
        assert last.attributes == {"year": 1912, "note": "no edge and no text"}
        assert kb.neighbors(11).height == 0
        assert kb.node("gene/protein#g3").other_types == ["drug", "hormone"]
        assert kb.node("drug#a/b c").name == "C:\\temp\\new inhibitor"
        assert kb.node("drug#00123").attributes["weight"] == 1000.0
        assert kb.sql("SELECT key FROM drug ORDER BY id")["key"].to_list() == ["g3", "1", "00123", "a/b c"]
        assert kb.sql("SELECT head, tail, quantity FROM rel_order ORDER BY ALL").rows() == [
            (9, 3, 2),
            (9, 3, 3),
            (10, 4, 1),
        ]


def write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    """Rows as a file of the kind its ending says."""
    plain = path.name.removesuffix(".gz")
    names = list(rows[0])
    if plain.endswith(".parquet"):
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
        return
    if plain.endswith("json"):
        text = json.dumps(rows, ensure_ascii=False)
    elif plain.endswith(("jsonl", "ndjson")):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif plain.endswith("tsv"):
        lines = [names, *([("" if v is None else v) for v in row.values()] for row in rows)]
        text = "".join("\t".join(line) + "\n" for line in lines)
    else:
        lines = [names, *([("" if v is None else v) for v in row.values()] for row in rows)]
        text = "".join(",".join('"' + v.replace('"', '""') + '"' if v else "" for v in line) + "\r\n" for line in lines)
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8", newline="") as handle:
            handle.write(text)
    else:
        path.write_text(text, encoding="utf-8", newline="")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file, None for what is empty."""
    with path.open(encoding="utf-8", newline="") as handle:
        return [{k: v or None for k, v in row.items()} for row in csv.DictReader(handle)]


@pytest.mark.parametrize("ending", ["csv.gz", "tsv", "parquet", "ndjson", "json", "jsonl.gz"])
def test_every_format_of_tables_gives_the_same_kb(
    ending: str, tiny: Path, tiny_content: dict[str, Any], tmp_path: Path
) -> None:
    for name in ("nodes", "edges", "texts"):
        # TSV has no quoting, and so no way to write a text of two lines.
        kind = "csv" if name == "texts" and ending.startswith("tsv") else ending
        write_rows(read_rows(tiny / f"{name}.csv"), tmp_path / f"{name}.{kind}")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", name="table", stores=["tables"]) as kb:
        assert content(kb) == tiny_content
        assert_sound(kb)


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_formats_with_types_of_their_own_give_the_same_kb(
    ending: str, tiny: Path, tiny_content: dict[str, Any], tmp_path: Path
) -> None:
    nodes = read_rows(tiny / "nodes.csv")
    for node in nodes:
        node["year"] = int(node["year"])
        node["weight"] = float(node["weight"]) if node["weight"] else None
        node["approved"] = {"true": True, "false": False, None: None}[node["approved"]]
        for name in ("aliases", "types"):
            node[name] = node[name].split("|") if node[name] else None
    edges = read_rows(tiny / "edges.csv")
    for edge in edges:
        edge["quantity"] = int(edge["quantity"]) if edge["quantity"] else None
    write_rows(nodes, tmp_path / f"nodes.{ending}")
    write_rows(edges, tmp_path / f"edges.{ending}")
    write_rows(read_rows(tiny / "texts.csv"), tmp_path / f"texts.{ending}")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", name="table", stores=["tables"]) as kb:
        assert content(kb) == tiny_content


def test_a_column_that_another_one_replaces_is_kept(here: Run, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,name,full_name\na,Ann,Ann Lee\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,a\n", encoding="utf-8")
    done = here("ingest", "table", tmp_path, "-o", tmp_path / "kb", "--column", "name=full_name")
    assert done.returncode == 0, done.stderr
    with KnowledgeBase(tmp_path / "kb") as kb:
        assert kb.tables.rows("SELECT name, name_ FROM entity") == [("Ann Lee", "Ann")]


def test_columns_of_other_names_are_found_or_told(here: Run, tmp_path: Path) -> None:
    (tmp_path / "kg_nodes.tsv").write_text("id\tcategory\tname\nA\tx\tAnn\nB\tx\tBob\n")
    (tmp_path / "kg_edges.tsv").write_text("Subject\tpredicate\tcible\tweight\nA\tlikes\tB\t0.5\n")
    done = here("ingest", "table", tmp_path, "-o", tmp_path / "kb", "--column", "tail=cible", "--stores", "tables")
    assert done.returncode == 0, done.stderr
    with kbkit.open(tmp_path / "kb") as kb:
        assert kb.sql("SELECT head, tail, weight FROM likes").rows() == [(0, 1, 0.5)]
        assert [(t.name, t.count) for t in kb.schema.node_types] == [("x", 2)]


def test_files_may_be_named_one_by_one_and_a_byte_order_mark_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("\ufeffkey,name\r\n1,Ann\r\n2,Bob\r\n", encoding="utf-8")
    (tmp_path / "knows.csv").write_text("head,relation,tail\n1,knows,2\n")
    files = {"nodes": tmp_path / "people.csv", "edges": tmp_path / "knows.csv"}
    with kbkit.ingest("table", out=tmp_path / "kb", files=files, stores=["tables"]) as kb:
        assert kb.sql("SELECT key, name FROM nodes ORDER BY id").rows() == [("1", "Ann"), ("2", "Bob")]


# -- triples ----------------------------------------------------------------------------------------------------------

TRIPLES = {
    "train.tsv": "00260881\t_hypernym\t00260622\n01332730\t_also_see\t03122748\n",
    "dev.tsv": "02174461\t_hypernym\t00260881\n",
    "test.tsv": "00260622\t_also_see\t02174461\n00260881\t_hypernym\t00260622\n",
}
GLOSSES = {
    "00260881": ("land reform", "a redistribution of agricultural land"),
    "00260622": ("reform", "a change for the better"),
    "01332730": ('cover "up"', 'hide from view; "cover the pot"'),
    "03122748": ("covering", "an object, such as a lid, that covers"),
    "02174461": ("clangour", "make a loud noise"),
}


def write_all(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def assert_glossed(kb: KnowledgeBase) -> None:
    """The five synsets above; first and last node in the order of the files (dev, test, train), then heads first."""
    assert_sound(kb)
    assert kb.sql("SELECT key, name FROM nodes ORDER BY id").rows() == [
        (key, GLOSSES[key][0]) for key in ("02174461", "00260881", "00260622", "01332730", "03122748")
    ]
    assert kb.manifest.report["duplicate_edges"] == 1
    edges = kb.sql(
        "SELECT h.key, e.relation, t.key FROM edges e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
    )
    assert sorted(edges.rows()) == [
        ("00260622", "_also_see", "02174461"),
        ("00260881", "_hypernym", "00260622"),
        ("01332730", "_also_see", "03122748"),
        ("02174461", "_hypernym", "00260881"),
    ]
    texts = kb.sql("SELECT key, field, text FROM texts JOIN nodes USING (id)").rows()
    assert {(key, text) for key, _, text in texts} == {(key, gloss) for key, (_, gloss) in GLOSSES.items()}
    assert {field for _, field, _ in texts} == {"description"}


def test_triples_with_name_and_gloss_in_one_file(tmp_path: Path) -> None:
    labels = "".join(f"{key}\t{name}, {gloss}\n" for key, (name, gloss) in GLOSSES.items())
    relations = "_hypernym\thypernym\n_also_see\talso see\n"
    files = {**TRIPLES, "entity2text.txt": labels, "relation2text.txt": relations}
    with kbkit.ingest("triples", write_all(tmp_path / "wn", files), out=tmp_path / "kb", stores=["tables"]) as kb:
        assert_glossed(kb)
        assert {r.name: r.label for r in kb.schema.relations} == {"_hypernym": "hypernym", "_also_see": "also see"}
        assert [(t.name, t.count) for t in kb.schema.node_types] == [("entity", 5)]


def test_triples_with_names_and_descriptions_in_two_files(tmp_path: Path) -> None:
    files = {
        **TRIPLES,
        "entity2text.txt": "".join(f"{key}\t{name}\n" for key, (name, _) in GLOSSES.items()),
        "entity2textlong.txt": "".join(f"{key}\t{gloss}\n" for key, (_, gloss) in GLOSSES.items()),
        "entity2type.txt": "00260881\tact\n00260881\tevent\n03122748\tartefact\n",
    }
    with kbkit.ingest("triples", write_all(tmp_path / "umls", files), out=tmp_path / "kb", stores=["tables"]) as kb:
        assert_sound(kb)
        assert kb.node("act#00260881").other_types == ["event"]
        assert kb.node("00260881").name == "land reform"
        assert kb.node("00260881").texts == [("description", "a redistribution of agricultural land")]
        assert {t.name: (t.count, t.others) for t in kb.schema.node_types} == {
            "entity": (3, 0),
            "act": (1, 0),
            "artefact": (1, 0),
            "event": (0, 1),
        }


def test_triples_alone_and_a_label_option(tmp_path: Path) -> None:
    folder = write_all(tmp_path / "bare", TRIPLES)
    with kbkit.ingest("triples", folder, out=tmp_path / "kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT name FROM nodes WHERE id = 0").item() == "02174461"
        assert (kb.schema.nodes, kb.schema.edges, kb.schema.text_fields) == (5, 4, ())
    labels = "".join(f"{key}\t{name}, {gloss}\n" for key, (name, gloss) in GLOSSES.items())
    write_all(folder, {"entity2text.txt": labels})
    more = {"replace": True, "options": {"labels": "name"}, "stores": ["tables"]}
    with kbkit.ingest("triples", folder, out=tmp_path / "kb", **more) as kb:
        assert kb.node("00260622").name == "reform, a change for the better"
        assert kb.schema.text_fields == ()


def test_the_one_file_that_a_recipe_needs_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "anything.tsv").write_text('a\tr\tb\n"b\tr\ta\n')
    with kbkit.ingest("triples", tmp_path / "anything.tsv", out=tmp_path / "kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT key FROM nodes ORDER BY id")["key"].to_list() == ["a", "b", '"b']


# -- imdb -------------------------------------------------------------------------------------------------------------

IMDB_COLUMNS = """color,director_name,num_critic_for_reviews,duration,director_facebook_likes,actor_3_facebook_likes,
actor_2_name,actor_1_facebook_likes,gross,genres,actor_1_name,movie_title,num_voted_users,cast_total_facebook_likes,
actor_3_name,facenumber_in_poster,plot_keywords,movie_imdb_link,num_user_for_reviews,language,country,content_rating,
budget,title_year,actor_2_facebook_likes,imdb_score,aspect_ratio,movie_facebook_likes""".replace("\n", "").split(",")

NBSP = "\u00a0"
FILMS: list[dict[str, str]] = [
    {
        "color": "Color",
        "director_name": "Ada Stern",
        "duration": "101",
        "genres": "Comedy|Drama",
        "actor_1_name": "Bo Lund",
        "actor_2_name": "Cy Marsh",
        "actor_3_name": "Di Nott",
        "movie_title": f"First Light{NBSP}",
        "num_voted_users": "900",
        "plot_keywords": "dawn|lighthouse|storm",
        "movie_imdb_link": "http://www.imdb.com/title/tt0000101/?ref_=fn_tt_tt_1",
        "language": "English",
        "country": "UK",
        "content_rating": "PG",
        "budget": "1000000",
        "gross": "2500000",
        "title_year": "1999",
        "imdb_score": "7.5",
    },
    {
        "color": " Black and White",
        "director_name": "Bo Lund",
        "duration": "88",
        "genres": "Drama",
        "actor_1_name": "Bo Lund",
        "movie_title": f'The "Quiet", Loud{NBSP}',
        "num_voted_users": "50",
        "movie_imdb_link": "http://www.imdb.com/title/tt0000202/?ref_=fn_tt_tt_1",
        "language": "French",
        "country": "France",
        "title_year": "1931",
        "imdb_score": "8",
    },
    # The first film again, later and with more votes: this row is the one that counts.
    {
        "color": "Color",
        "director_name": "Ada Stern",
        "duration": "101",
        "genres": "Comedy|Drama",
        "actor_1_name": "Bo Lund",
        "actor_2_name": "Cy Marsh",
        "actor_3_name": "Di Nott",
        "movie_title": f"First Light{NBSP}",
        "num_voted_users": "1000",
        "plot_keywords": "dawn|lighthouse|storm",
        "movie_imdb_link": "http://www.imdb.com/title/tt0000101/?ref_=fn_tt_tt_1",
        "language": "English",
        "country": "UK",
        "content_rating": "PG",
        "budget": "1000000",
        "gross": "2500000",
        "title_year": "1999",
        "imdb_score": "7.5",
    },
    {  # a series: no director, no year, blanks after the title
        "color": "Color",
        "genres": "Comedy",
        "actor_1_name": "Cy Marsh",
        "actor_2_name": "Eve Öster",
        "movie_title": f"Night Shift{NBSP}            ",
        "num_voted_users": "7",
        "plot_keywords": "hospital",
        "movie_imdb_link": "http://www.imdb.com/title/tt0000303/?ref_=fn_tt_tt_1",
        "country": "UK",
        "content_rating": "TV-14",
        "imdb_score": "6.1",
    },
    {  # two films of one title
        "director_name": "Ada Stern",
        "genres": "Thriller",
        "movie_title": f"First Light{NBSP}",
        "num_voted_users": "12",
        "plot_keywords": "submarine|storm",
        "movie_imdb_link": "http://www.imdb.com/title/tt0000404/?ref_=fn_tt_tt_1",
        "actor_1_name": "Eve Öster",
        "actor_2_name": "Eve Öster",
        "title_year": "2010",
        "budget": "12215500000",
        "language": "English",
        "imdb_score": "5",
    },
    {
        "color": "Color",
        "director_name": "Fay Quist",
        "genres": "Documentary",
        "movie_title": f"Bees{NBSP}",
        "num_voted_users": "3",
        "plot_keywords": "beekeeping|honey",
        "movie_imdb_link": "http://www.imdb.com/title/tt0000505/?ref_=fn_tt_tt_1",
        "title_year": "2015",
        "imdb_score": "9.1",
        "country": "Sweden",
        "language": "Swedish",
        "duration": "60",
    },
]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("imdb")
    with (folder / "movie_metadata.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, IMDB_COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(FILMS)
    with kbkit.ingest("imdb", folder, out=folder / "kb", stores=["adjacency"]) as kb:
        yield kb


def test_imdb_merges_rows_and_trims_titles(films: KnowledgeBase) -> None:
    assert_sound(films)
    assert [(t.name, t.count) for t in films.schema.node_types] == [
        ("movie", 5),
        ("person", 6),
        ("genre", 4),
        ("keyword", 7),
        ("country", 3),
        ("language", 3),
        ("content_rating", 2),
    ]
    assert {r.name: r.edges for r in films.schema.relations} == {
        "directed": 4,
        "acted_in": 7,
        "has_genre": 6,
        "has_keyword": 8,
        "made_in": 4,
        "in_language": 4,
        "rated": 2,
    }
    assert films.sql("SELECT key, name FROM movie ORDER BY id").rows() == [
        ("tt0000202", 'The "Quiet", Loud'),
        ("tt0000101", "First Light"),
        ("tt0000303", "Night Shift"),
        ("tt0000404", "First Light"),
        ("tt0000505", "Bees"),
    ]
    assert films.node(0).key == "tt0000202"
    assert films.node(films.schema.nodes - 1).reference == "content_rating#TV-14"


def test_imdb_attributes_texts_and_edges(films: KnowledgeBase) -> None:
    assert [(a.name, a.type) for a in films.schema.type("movie").attributes] == [
        ("year", "BIGINT"),
        ("duration_minutes", "BIGINT"),
        ("budget", "BIGINT"),
        ("gross", "BIGINT"),
        ("score", "DOUBLE"),
        ("votes", "BIGINT"),
        ("color", "VARCHAR"),
    ]
    first = films.node("movie#tt0000101")
    assert first.attributes["votes"] == 1000
    assert first.texts == [("keywords", "dawn, lighthouse, storm")]
    assert films.node("tt0000404").attributes == {"year": 2010, "budget": 12215500000, "score": 5.0, "votes": 12}
    cast = films.neighbors("movie#tt0000101", "acted_in").select("name", "billing").rows()
    assert sorted(cast) == [("Bo Lund", 1), ("Cy Marsh", 2), ("Di Nott", 3)]
    assert films.neighbors("movie#tt0000404", "acted_in").select("name", "billing").rows() == [("Eve Öster", 1)]
    assert films.neighbors("person#Bo Lund", "directed")["key"].to_list() == ["tt0000202"]
    assert films.neighbors("movie#tt0000303", "directed").height == 0


def test_imdb_numbers_people_by_their_first_film_then_by_name(films: KnowledgeBase) -> None:
    """Several people come with one film: without the name every build would number them otherwise."""
    people = films.sql(
        "SELECT p.name, min(e.tail) AS film FROM person p JOIN edges e ON e.head = p.id"
        " GROUP BY p.id, p.name ORDER BY p.id"
    )
    numbered = list(zip(people["film"], people["name"], strict=True))
    assert len({film for film, _ in numbered}) < len(numbered)
    assert numbered == sorted(numbered)


def test_imdb_trims_what_else_the_source_pads(films: KnowledgeBase) -> None:
    assert films.node("movie#tt0000202").attributes["color"] == "Black and White"


# -- the published data -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def imdb(imdb_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(imdb_kb) as kb:
        yield kb


def test_published_imdb_counts_equal_a_count_of_our_own(imdb: KnowledgeBase, shared_data: Path) -> None:
    with (shared_data / "imdb" / "movie_metadata.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 5043
    films: dict[str, dict[str, str]] = {}
    for row in rows:
        key = row["movie_imdb_link"].split("/title/")[1].split("/")[0]
        if key not in films or int(row["num_voted_users"]) > int(films[key]["num_voted_users"]):
            films[key] = row
    values: dict[str, set[str]] = {
        name: {row[name] for row in films.values() if row[name]} for name in ("country", "language", "content_rating")
    }
    cast = [(key, row[f"actor_{n}_name"].strip(" ")) for key, row in films.items() for n in (1, 2, 3)]
    directors = [(key, row["director_name"].strip(" ")) for key, row in films.items() if row["director_name"]]
    genres = {(key, g) for key, row in films.items() for g in row["genres"].split("|")}
    keywords = {(key, w) for key, row in films.items() for w in row["plot_keywords"].split("|") if w}
    played = {(key, name) for key, name in cast if name}
    expected = {
        "movie": len(films),
        "person": len({name for _, name in played} | {name for _, name in directors}),
        "genre": len({g for _, g in genres}),
        "keyword": len({w for _, w in keywords}),
        **{name: len(found) for name, found in values.items()},
    }
    assert {t.name: t.count for t in imdb.schema.node_types} == expected
    assert sum(expected.values()) == imdb.schema.nodes == 21_652
    edges = {r.name: r.edges for r in imdb.schema.relations}
    assert edges["directed"] == len(directors)
    assert edges["acted_in"] == len(played)
    assert edges["has_genre"] == len(genres)
    assert edges["has_keyword"] == len(keywords)
    assert edges["rated"] == sum(1 for row in films.values() if row["content_rating"])
    assert imdb.node(0).name == "Avatar"
    titles = imdb.sql("SELECT name FROM movie WHERE name <> trim(name) OR contains(name, chr(160))")
    assert titles.height == 0
    assert_sound(imdb)


def test_published_imdb_answers(imdb: KnowledgeBase) -> None:
    sql = imdb.sql(
        "SELECT m.name FROM directed d JOIN movie m ON m.id = d.tail JOIN person p ON p.id = d.head"
        " WHERE p.name = $who AND m.year >= 1990 ORDER BY m.name",
        who="James Cameron",
    )
    sparql = imdb.sparql(
        'SELECT ?name { ?p rdfs:label "James Cameron" ; rel:directed ?m . ?m rdfs:label ?name ; attr:year ?y'
        " FILTER(?y >= 1990) } ORDER BY ?name"
    )
    assert sql["name"].to_list() == sparql["name"].to_list()
    assert {"Avatar", "Titanic"} <= set(sql["name"])


@pytest.fixture(scope="module")
def wordnet(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    out = tmp_path_factory.mktemp("wn18rr") / "kb"
    with kbkit.ingest("triples", shared_data / "wn18rr", out=out, stores=["triples"]) as kb:
        yield kb


def lines_of(folder: Path, *names: str) -> list[tuple[str, ...]]:
    text = "".join((folder / name).read_text(encoding="utf-8") for name in names)
    return [tuple(line.split("\t")) for line in text.split("\n") if line]


def test_published_wn18rr(wordnet: KnowledgeBase, shared_data: Path) -> None:
    triples = lines_of(shared_data / "wn18rr", "train.tsv", "dev.tsv", "test.tsv")
    entities = {end for head, _, tail in triples for end in (head, tail)}
    relations = Counter(relation for _, relation, _ in set(triples))
    assert (wordnet.schema.nodes, wordnet.schema.edges) == (len(entities), len(set(triples))) == (40_943, 93_003)
    assert {r.name: r.edges for r in wordnet.schema.relations} == dict(relations)
    keys = wordnet.sql("SELECT key FROM nodes")["key"]
    assert set(keys) == entities
    assert sum(key.startswith("0") for key in keys) == sum(key.startswith("0") for key in entities) > 20_000
    labels = dict(lines_of(shared_data / "wn18rr", "entity2text.txt"))
    found = wordnet.sql("SELECT key, name, text FROM nodes LEFT JOIN texts USING (id)")
    assert {key: f"{name}, {text}" for key, name, text in found.iter_rows()} == labels
    assert_sound(wordnet)


def test_published_wn18rr_answers(wordnet: KnowledgeBase, shared_data: Path) -> None:
    expected = {t for h, r, t in lines_of(shared_data / "wn18rr", "train.tsv", "dev.tsv", "test.tsv")
                if (h, r) == ("00260881", "_hypernym")}  # fmt: skip
    sql = wordnet.sql(
        "SELECT t.key FROM _hypernym e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail WHERE h.key = $key",
        key="00260881",
    )
    sparql = wordnet.sparql("SELECT (STRAFTER(STR(?t), 'entity/') AS ?key) { entity:00260881 rel:_hypernym ?t }")
    assert set(sql["key"]) == set(sparql["key"]) == expected == {"00260622"}


def test_published_umls(shared_data: Path, tmp_path: Path) -> None:
    triples = set(lines_of(shared_data / "umls", "train.tsv", "dev.tsv", "test.tsv"))
    with kbkit.ingest("triples", shared_data / "umls", out=tmp_path / "kb") as kb:
        assert (
            (kb.schema.nodes, len(kb.schema.relations), kb.schema.edges) == (135, 46, len(triples)) == (135, 46, 6_529)
        )
        texts = dict(lines_of(shared_data / "umls", "entity2textlong.txt"))
        virus = kb.node("virus")
        assert virus.texts == [("description", texts["virus"])]
        caused = {tail for head, relation, tail in triples if (head, relation) == ("virus", "causes")}
        sql = kb.sql(
            "SELECT t.key FROM causes e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
            " WHERE h.key = 'virus'"
        )
        sparql = kb.sparql("SELECT (STRAFTER(STR(?t), 'entity/') AS ?key) { entity:virus rel:causes ?t }")
        assert set(sql["key"]) == set(sparql["key"]) == caused
        answers_in_every_mode(kb, "small infectious agent that replicates inside living cells", "virus")
        assert_sound(kb)


# -- world ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as kb:
        yield kb


def names(kb: KnowledgeBase, query: str) -> list[str]:
    return kb.sql(query).to_series().to_list()


def test_world_is_whole(world: KnowledgeBase) -> None:
    assert_sound(world)
    counts = {t.name: t.count for t in world.schema.node_types}
    assert list(counts) == [
        "country",
        "city",
        "continent",
        "language",
        "currency",
        "organisation",
        "sea",
        "river",
        "lake",
        "mountain",
        "year",
    ]
    assert (counts["country"], counts["continent"], counts["year"]) == (197, 7, 2)
    assert world.schema.nodes >= 800
    assert world.schema.edges >= 4_000
    assert world.manifest.report == {
        **world.manifest.report,
        "duplicate_edges": 0,
        "dangling_edges": 0,
        "merged_nodes": 0,
    }
    assert all(t.table == t.name for t in world.schema.node_types)
    assert all(r.label for r in world.schema.relations)


def test_world_rows_all_arrive(world: KnowledgeBase) -> None:
    folder = recipes.load("world").folder / "data"

    def rows(name: str) -> int:
        return len(read_rows(folder / f"{name}.csv"))

    edges = {r.name: r.edges for r in world.schema.relations}
    assert edges == {
        "borders": 2 * rows("borders"),
        "capital": rows("capitals"),
        "in_continent": rows("country_continents"),
        "speaks": rows("country_languages"),
        "uses_currency": rows("country_currencies"),
        "member_of": rows("memberships"),
        "had_population": rows("populations"),
        "coast_on": rows("coasts"),
        "part_of": rows("sea_parts"),
        "flows_through": rows("river_countries"),
        "flows_into": rows("river_mouths"),
        "lies_in": rows("lake_countries") + rows("mountain_countries"),
    }


def test_every_country_has_a_capital_a_continent_and_so_on(world: KnowledgeBase) -> None:
    for relation in ("capital", "in_continent", "speaks", "uses_currency", "had_population"):
        query = f"SELECT key FROM country WHERE id NOT IN (SELECT head FROM {relation})"
        assert names(world, query) == [], relation


def test_every_river_flows_through_a_country(world: KnowledgeBase) -> None:
    assert names(world, "SELECT key FROM river WHERE id NOT IN (SELECT head FROM flows_through)") == []


@pytest.mark.parametrize("kind", ["lake", "mountain"])
def test_every_lake_and_mountain_is_in_a_country_or_in_antarctica(world: KnowledgeBase, kind: str) -> None:
    query = f"SELECT text FROM {kind} JOIN texts USING (id) WHERE id NOT IN (SELECT head FROM lies_in)"
    assert [text for text in names(world, query) if "Antarctic" not in text] == []


def test_every_city_is_a_capital_and_every_thing_of_the_sample_is_used(world: KnowledgeBase) -> None:
    assert names(world, "SELECT key FROM city WHERE id NOT IN (SELECT tail FROM capital)") == []
    assert names(world, "SELECT key FROM language WHERE id NOT IN (SELECT tail FROM speaks)") == []
    assert names(world, "SELECT key FROM currency WHERE id NOT IN (SELECT tail FROM uses_currency)") == []
    assert names(world, "SELECT key FROM organisation WHERE id NOT IN (SELECT tail FROM member_of)") == []


def test_borders_go_both_ways_and_never_home(world: KnowledgeBase) -> None:
    query = "SELECT head FROM borders b WHERE NOT EXISTS (FROM borders o WHERE o.head = b.tail AND o.tail = b.head)"
    assert names(world, query) == []
    assert names(world, "SELECT head FROM borders WHERE head = tail") == []
    assert world.schema.relation("borders").symmetric


def test_landlocked_countries_have_no_coast(world: KnowledgeBase) -> None:
    inland = set(names(world, "SELECT key FROM country WHERE id NOT IN (SELECT head FROM coast_on)"))
    certain = """AFG AND ARM AUT AZE BDI BFA BLR BOL BTN BWA CAF CHE CZE ETH HUN KAZ KGZ LAO LIE LSO LUX MDA MKD MLI
    MNG MWI NER NPL PRY RWA SMR SRB SSD SVK SWZ TCD TJK TKM UGA UZB VAT XKX ZMB ZWE"""
    assert inland == set(certain.split())


def test_islands_have_a_coast(world: KnowledgeBase) -> None:
    query = "SELECT key FROM country WHERE id NOT IN (FROM (SELECT head FROM borders UNION SELECT head FROM coast_on))"
    assert names(world, query) == []


def test_rivers_end_in_one_place_and_never_in_themselves(world: KnowledgeBase) -> None:
    assert names(world, "SELECT head FROM flows_into WHERE head = tail") == []
    assert names(world, "SELECT head FROM flows_into GROUP BY head HAVING count(*) > 1") == []
    assert {s.tail for s in world.schema.relation("flows_into").signatures} == {"sea", "lake", "river"}


def test_rivers_that_flow_into_rivers_reach_an_end(world: KnowledgeBase) -> None:
    query = """
        WITH RECURSIVE course(river, place, steps) AS (
          SELECT head, tail, 1 FROM flows_into
          UNION ALL
          SELECT c.river, f.tail, steps + 1 FROM course c JOIN flows_into f ON f.head = c.place WHERE steps < 50)
        SELECT river FROM course WHERE steps >= 50"""
    assert names(world, query) == []


def test_every_node_but_years_has_one_description_and_a_name(world: KnowledgeBase) -> None:
    assert set(names(world, "SELECT DISTINCT type FROM nodes WHERE id NOT IN (SELECT id FROM texts)")) == {"year"}
    assert names(world, "SELECT id FROM texts GROUP BY id HAVING count(*) > 1") == []
    assert names(world, "SELECT DISTINCT field FROM texts") == ["description"]
    assert names(world, "SELECT key FROM nodes WHERE name = key AND type NOT IN ('year')") == []
    assert names(world, "SELECT name FROM nodes WHERE name <> trim(name)") == []
    assert names(world, "SELECT text FROM texts WHERE text <> trim(text) OR NOT suffix(text, '.')") == []


def test_figures_of_the_world_are_possible(world: KnowledgeBase) -> None:
    for query in (
        "SELECT key FROM mountain WHERE height_m IS NULL OR height_m NOT BETWEEN 100 AND 8849",
        "SELECT key FROM river WHERE length_km IS NULL OR length_km NOT BETWEEN 20 AND 7100",
        "SELECT key FROM country WHERE area_km2 IS NULL OR area_km2 NOT BETWEEN 0 AND 17200000",
        "SELECT key FROM lake WHERE area_km2 NOT BETWEEN 0 AND 400000 OR max_depth_m NOT BETWEEN 0 AND 1700",
        "SELECT key FROM city WHERE latitude NOT BETWEEN -90 AND 90 OR longitude NOT BETWEEN -180 AND 180",
        "SELECT head FROM had_population WHERE people IS NULL OR people NOT BETWEEN 100 AND 1500000000",
        "SELECT head FROM member_of WHERE since NOT BETWEEN 1800 AND 2026",
    ):
        assert names(world, query) == [], query


def test_the_world_answers(world: KnowledgeBase) -> None:
    query = """SELECT n.name FROM borders b JOIN country c ON c.id = b.head JOIN country n ON n.id = b.tail
               WHERE c.key = 'PRT'"""
    assert names(world, query) == ["Spain"]
    assert world.sparql("SELECT ?name { country:PRT rel:borders/rdfs:label ?name }")["name"].to_list() == ["Spain"]
    answers_in_every_mode(world, "Nepal landlocked country in the Himalayas", "NPL")


def test_the_sample_needs_no_path_and_no_network(here: Run, tmp_path: Path) -> None:
    # A copy of the recipe is the same recipe: a user may start from it.
    shutil.copytree(recipes.load("world").folder, tmp_path / "mine")
    done = here("ingest", "./mine", "-o", "my.kb", "--stores", "tables", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert kb.schema.name == "mine"
        assert kb.schema.type("country").count == 197
