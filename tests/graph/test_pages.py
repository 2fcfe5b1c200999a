"""A node's page: its structure, line breaks, and unusual names and texts."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.display.pages import Line, explained, print_info, print_lines
from kbkit.graph.glimpses import facts, glimpses
from kbkit.graph.pages import Page, following
from kbkit.kb import KnowledgeBase

LONG = "word " * 400
ODD = [
    ("a", "person", "Ada \x1b[31mred\x1b[0m", "one text"),
    ("b", "person", "Bob\nof\ttwo lines", ""),
    ("c", "person", "x" * 300, ""),
    ("d", "person", "", ""),
    ("e f", "odd type", "日本語の名前 " * 12, ""),
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Nodes with names and texts that are no joy to print."""
    import polars as pl

    folder = tmp_path_factory.mktemp("odd")
    pl.DataFrame([row[:3] for row in ODD], ["key", "type", "name"], orient="row").write_parquet(
        folder / "nodes.parquet"
    )
    edges: list[tuple[str, str, str, int | None]] = [("a", "knows", "b", 1999)]
    edges += [("a", "knows", key, 2000 + i) for i, (key, *_) in enumerate(ODD[1:])]
    edges += [("b", "knows", "a", None), ("c", "sees", "a", None)]
    pl.DataFrame(edges, ["head", "relation", "tail", "since"], orient="row").write_parquet(folder / "edges.parquet")
    texts = [("a", "note", f"{i}: {text}") for i, text in enumerate(["first\x07", LONG, "third", "fourth", "fifth"])]
    texts += [("a", "summary", LONG), ("b", "note", "short\n\nwith\nlines")]
    pl.DataFrame(texts, ["key", "field", "text"], orient="row").write_parquet(folder / "texts.parquet")
    files = {name: folder / f"{name}.parquet" for name in ("nodes", "edges", "texts")}
    with kbkit.ingest("table", out=folder / "odd.kb", files=files, stores=("tables", "adjacency")) as kb:
        yield kb


# -- structure --------------------------------------------------------------------------------------------------------

COUNTED = """
SELECT relation, 'out' AS direction, n.type AS type, count(DISTINCT e.tail) AS count
FROM edges e JOIN nodes n ON n.id = e.tail WHERE e.head = $id GROUP BY ALL
UNION ALL
SELECT relation, 'in', n.type, count(DISTINCT e.head)
FROM edges e JOIN nodes n ON n.id = e.head JOIN relations r USING (relation)
WHERE e.tail = $id AND NOT r.is_symmetric AND r.head_type = n.type GROUP BY ALL
"""


@pytest.mark.parametrize("reference", ["country#FRA", "city#paris", "sea#black-sea", "river#nile", "continent#europe"])
def test_groups_are_those_that_sql_counts(world: KnowledgeBase, reference: str) -> None:
    data = world.page(reference).data
    found = {(g["relation"], g["direction"], g["type"], g["count"]) for g in data["relations"]}
    params = {"id": data["id"]}
    rows = world.tables.frame(COUNTED, params)
    assert found == set(rows.rows())
    assert len(found) == len(data["relations"])
    for group in data["relations"]:
        assert len(group["neighbors"]) == min(group["count"], 5)
        ids = [world.find(neighbor["reference"]) for neighbor in group["neighbors"]]
        assert ids == sorted(ids)
        assert all(neighbor["reference"].startswith(f"{group['type']}#") for neighbor in group["neighbors"])


@pytest.mark.parametrize("limit", [0, -3, 1, 7, 1000])
def test_limit_of_neighbours(world: KnowledgeBase, limit: int) -> None:
    page = world.page("country#FRA", limit)
    for group in page.data["relations"]:
        assert len(group["neighbors"]) == min(group["count"], max(limit, 0))
    assert [g["count"] for g in page.data["relations"]] == [g["count"] for g in world.page(58).data["relations"]]
    text = str(page)
    assert ("... and 11 more" in text) == (limit <= 0)
    assert ("... and" not in text) == (limit == 1000)


@pytest.mark.core
def test_a_page_says_what_the_node_is(world: KnowledgeBase) -> None:
    page = world.page("France")
    assert list(page.data) == [
        *("id", "reference", "name", "aliases", "other_types", "attributes", "texts", "relations"),
    ]
    lines = [line.text for line in page.lines()]
    assert lines[:6] == [
        "France",
        "country#FRA (id 58)",
        "also called République française",
        "  official_name: French Republic",
        "  area_km2: 643801",
        "  un_status: member",
    ]
    assert "-> [borders] -> country: 11" in lines
    assert "<- [lies_in] <- mountain: 13" in lines
    assert "  Paris  (city#paris; role capital)" in lines
    assert [line.text for line in page.lines() if line.is_heading][:3] == [
        *("France", "description", "-> [borders] -> country: 11"),
    ]


def test_parallel_edges_are_lines_of_their_own(odd: KnowledgeBase) -> None:
    page = odd.page("a")
    group = next(g for g in page.data["relations"] if (g["direction"], g["type"]) == ("out", "person"))
    assert group["count"] == 3
    assert [(n["reference"], n.get("since")) for n in group["neighbors"]][:3] == [
        ("person#b", 1999),
        ("person#b", 2000),
        ("person#c", 2001),
    ]
    inward = next(g for g in page.data["relations"] if (g["relation"], g["direction"]) == ("knows", "in"))
    assert inward["neighbors"] == [{"reference": "person#b", "name": "Bob\nof\ttwo lines"}]  # no value, no word


def test_parallel_edges_lead_to_one_neighbour(odd: KnowledgeBase) -> None:
    """Those after it are counted, and shown on the next page."""
    page = odd.page("a", 1)
    assert [n.get("since") for n in page.groups[0]["neighbors"]] == [1999, 2000]
    assert "  ... and 2 more" in [line.text for line in page.lines()]
    assert "… and 2 more" in page._repr_html_()
    rest = following(odd.stores, page, 5)
    assert [n["reference"] for n in rest.groups[0]["neighbors"]] == ["person#c", "person#d"]
    assert not any("more" in line.text for line in rest.lines())


def test_other_types_stand_beside_the_primary_one(small: KnowledgeBase) -> None:
    page = small.page("gene/protein#g3")
    assert sorted(page.data["other_types"]) == ["drug", "hormone"]
    assert re.search(r"gene/protein#g3, also (drug, hormone|hormone, drug) \(id \d+\)", str(page))


def test_a_type_that_is_never_primary(small: KnowledgeBase) -> None:
    """Such types have no range of ids: relational search, and pages, took one for the next type's."""
    schema = small.schema
    assert "hormone" in {t.name for t in schema.node_types}
    assert "hormone" not in {t.name for t in schema.primary_types}
    lasts = [t.last for t in schema.primary_types]
    assert lasts == sorted(set(lasts))
    assert lasts[-1] == schema.nodes - 1
    for node, kind in small.sql("SELECT id, type FROM nodes").rows():
        assert schema.type_of(node).name == kind
    found = small.search("sugar disease of insulin", mode="relational", explain=True)
    assert {"diabetes mellitus 糖尿病", "insulin"} <= set(found["name"])
    for node in range(schema.nodes):
        data = small.page(node).data
        for group in data["relations"]:
            for neighbor in group["neighbors"]:
                assert small.node(neighbor["reference"]).type == group["type"]


def test_a_node_without_anything(small: KnowledgeBase) -> None:
    page = small.page("p3")
    assert page.data["relations"] == []
    assert page.data["texts"] == []
    assert page.links == []
    assert str(page).startswith("Nobody, Known\nperson#p3 (id ")


def test_codes_have_labels(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        id_ = kb.sql("SELECT head FROM edges WHERE relation = 'P31' ORDER BY head LIMIT 1")["head"][0]
        page = kb.page(id_)
        group = next(g for g in page.data["relations"] if g["relation"] == "P31" and g["direction"] == "out")
        assert group["label"] == "instance of"
        assert re.search(r"^-> \[P31\] -> .*: \d+  \(instance of\)$", str(page), re.M)
        labels = page.data.get("attribute_labels", {})
        for name, label in labels.items():
            assert any(line.text.startswith(f"  {label} ({name}): ") for line in page.lines(200))
        for width in (40, 80):
            assert_folded(page, width)


# -- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["country#FRA", "river#nile"])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_numbers_are_those_of_the_links(world: KnowledgeBase, reference: str, width: int) -> None:
    page = world.page(reference)
    text = " ".join(line.text for line in page.lines(width, numbered=True))
    text = re.sub(r"\s+", " ", text)
    assert page.links
    for number, link in enumerate(page.links, 1):
        name = re.sub(r"\s+", " ", world.node(link).name)
        assert re.search(rf" {number} {re.escape(name)} \({re.escape(link)}[;)]", text), link
    assert f" {len(page.links) + 1} " not in text.split(f"({page.links[-1]}")[1]
    assert page.links == [n["reference"] for g in page.data["relations"] for n in g["neighbors"]]


def test_numbers_stand_in_a_column(world: KnowledgeBase) -> None:
    lines = [line.text for line in world.page("country#FRA").lines(80, numbered=True)]
    numbered = [line for line in lines if re.match(r" +\d+  \S", line)]
    assert len({re.match(r" +\d+  ", line).end() for line in numbered}) == 1  # type: ignore[union-attr]
    assert "      ... and 6 more" in lines


# -- folding ----------------------------------------------------------------------------------------------------------


def assert_folded(page: Page, width: int) -> None:
    """No line is longer than the width, unless one word is."""
    for numbered in (False, True):
        for line in page.lines(width, full=True, numbered=numbered):
            assert len(line.text) <= width or len(line.text.split()) <= 2, line.text
            assert line.text == line.text.rstrip()
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\n]", line.text)


@pytest.mark.parametrize("width", [24, 40, 80, 120])
def test_pages_fold(world: KnowledgeBase, odd: KnowledgeBase, small: KnowledgeBase, width: int) -> None:
    for reference in ("country#FRA", "organisation#oecd", "river#nile", "year#2000"):
        assert_folded(world.page(reference), width)
    for kb in (odd, small):
        for node in range(kb.schema.nodes):
            assert_folded(kb.page(node), width)


def test_minimum_width(world: KnowledgeBase) -> None:
    page = world.page("France")
    assert page.lines(1) == page.lines(20)


# -- texts ------------------------------------------------------------------------------------------------------------


def test_long_texts_are_cut_and_say_by_how_much(odd: KnowledgeBase) -> None:
    page = odd.page("a")
    lines = [line.text for line in page.lines(80)]
    full = [line.text for line in page.lines(80, full=True)]
    place, whole = lines.index("summary"), full.index("summary")
    end = next(i for i in range(whole, len(full)) if full[i] == "" or full[i].startswith(("->", "<-")))
    count = end - whole - 1
    assert count == 27  # 400 words of 4 letters, 15 or 16 of them a line
    assert lines[place + 1 : place + 14] == [*full[whole + 1 : whole + 13], f"  ... {count - 12} more lines"]
    assert " ".join(full[whole + 1 : end]).split() == LONG.split()


def test_of_many_texts_of_a_field_the_first_are_shown(odd: KnowledgeBase) -> None:
    page = odd.page("a")
    lines = [line.text for line in page.lines()]
    assert lines.count("note") == 3
    assert "... and 2 more texts of note" in lines
    assert "  2: third" in lines
    assert "  3: fourth" not in lines
    full = [line.text for line in page.lines(full=True)]
    assert full.count("note") == 5
    assert "  4: fifth" in full
    assert not any("more" in line for line in full)


def test_lines_of_a_text_stay_lines(odd: KnowledgeBase) -> None:
    lines = [line.text for line in odd.page("b").lines()]
    place = lines.index("note")
    assert lines[place + 1 : place + 5] == ["  short", "", "  with", "  lines"]


def test_hostile_names_are_harmless(odd: KnowledgeBase) -> None:
    for node in range(odd.schema.nodes):
        page = odd.page(node)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", str(page))
        assert page.links == [n["reference"] for g in page.data["relations"] for n in g["neighbors"]]
    assert odd.page("a").data["name"] == "Ada \x1b[31mred\x1b[0m"  # data stay as they are
    assert str(odd.page("a")).startswith("Ada \N{REPLACEMENT CHARACTER}[31mred")


def test_headings_are_bold_where_the_screen_can(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain, bold = io.StringIO(), Terminal()
    for stream in (plain, bold):
        print_lines([Line("Name", is_heading=True), Line(""), Line("text")], stream)
    assert plain.getvalue() == "Name\n\ntext\n"
    assert bold.getvalue() == "\x1b[1mName\x1b[0m\n\ntext\n"


# -- hits, and the KB -------------------------------------------------------------------------------------------------


def test_hits_explain_themselves(world: KnowledgeBase) -> None:
    hits = world.search("flat-topped mountain above Cape Town", k=2, explain=True)
    lines = list(explained(hits, None))
    assert re.match(r"1\. Table Mountain  \(mountain#table-mountain\) \d\.\d+$", lines[0])
    assert lines[1].startswith("  type mountain: probably asked for (")
    assert lines[2].startswith("  bm25: 1 of ")
    assert sum(not line.startswith(" ") for line in lines) == 2
    linked = list(explained(hits, world.linked("xyzzy")))
    assert linked[0] == "the query names no node\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_info_fits(world: KnowledgeBase, width: int) -> None:
    stream = io.StringIO()
    print_info(world.info(), stream, width)
    lines = stream.getvalue().split("\n")
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line in ("types", "relations", "text fields", "stores")] == [
        *("types", "relations", "text fields", "stores"),
    ]


def test_rows_without_a_name_have_titles_of_what_they_link_to(tmp_path: Path) -> None:
    (tmp_path / "ships.csv").write_text("id,name\n1,Lettice\n2,Mary\n")
    (tmp_path / "deaths.csv").write_text("id,ship_id,killed\n7,1,3\n8,2,5\n")
    (tmp_path / "notes.csv").write_text("id,death_id,pages\n70,7,1\n71,8,2\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("ships", "deaths", "notes")]
    with kbkit.ingest(*files, out=tmp_path / "k.kb", stores=["tables", "adjacency"]) as kb:
        names = kb.grow("death#7").graph.nodes["name"].to_list()
        assert sorted(names) == ["Lettice", "death 7 (Lettice)", "note 70 (Lettice)"]
        page = kb.page("note#71")
        assert page.data["name"] == "71"
        assert str(page).startswith("note 71 (Mary)")
        assert "death 8 (Mary)  (death#8)" in str(page)
        assert "title" not in kb.page("ship#1").data


def test_a_list_shows_neighbours_of_nodes_without_a_text(world: KnowledgeBase) -> None:
    nepal, everest = world.find("country#NPL"), world.find("Mount Everest")
    seen = glimpses(world.stores, [nepal, everest])
    assert seen[nepal] == "has a land border with: China, India; has the capital: Kathmandu"
    assert seen[everest] == "lies in: China, Nepal"
    known = facts(world.stores, dict.fromkeys([nepal, everest], ""))
    assert known[everest] == "height (m) 8849; lies in: China, Nepal; range Himalayas"
    assert "; has a land border with: China, India; has the capital: Kathmandu; " in known[nepal]
