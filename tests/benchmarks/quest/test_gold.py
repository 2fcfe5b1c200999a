"""Gold answers of generated QUEST datasets against SQL written by hand, and the readability of their queries.

The SQL here reads the tables of the KB directly: it shares no code with the evaluator that makes the answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.benchmarks.quest.draft import default_domains
from kbkit.benchmarks.quest.make import make
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.english.frames import frame_file
from kbkit.english.words import plural
from kbkit.kb import KnowledgeBase
from tests.loops import each

COUNT, FEWEST, AUGMENTED = 70, 20, 20
PARTS = """WITH RECURSIVE below(top, sea) AS (SELECT id, id FROM sea UNION SELECT b.top, p.head FROM below b
JOIN part_of p ON p.tail = b.sea) """
"""Each sea with all seas within it, itself included."""
ENDS = 'SELECT {answer} FROM "{relation}" WHERE {given} = $node AND {answer} IN (SELECT id FROM {domain})'


def tails(relation: str, domain: str) -> str:
    return ENDS.format(answer="tail", given="head", relation=relation, domain=domain)


def heads(relation: str, domain: str) -> str:
    return ENDS.format(answer="head", given="tail", relation=relation, domain=domain)


WORLD = {
    "country:<country> -> [borders] -> country": "SELECT tail FROM borders WHERE head = $node",
    "city:<city> -> [capital] -> country": heads("capital", "country"),
    "continent:<continent> -> [in_continent] -> country": heads("in_continent", "country"),
    "language:<language> -> [speaks] -> country": heads("speaks", "country"),
    "currency:<currency> -> [uses_currency] -> country": heads("uses_currency", "country"),
    "organisation:<organisation> -> [member_of] -> country": heads("member_of", "country"),
    "sea:<sea> -> [coast_on] -> country": heads("coast_on", "country"),
    "river:<river> -> [flows_through] -> country": tails("flows_through", "country"),
    "mountain:<mountain> -> [lies_in] -> country": tails("lies_in", "country"),
    "lake:<lake> -> [lies_in] -> country": tails("lies_in", "country"),
    "country{un_status = <value>}": "SELECT id FROM country WHERE un_status = $name",
    "country:<country> -> [capital] -> city": tails("capital", "city"),
    "country:<country> -> [speaks] -> language": tails("speaks", "language"),
    "language{family = <value>}": "SELECT id FROM language WHERE family = $name",
    "language{script = <value>}": "SELECT id FROM language WHERE list_contains(script, $name)",
    "country:<country> -> [uses_currency] -> currency": tails("uses_currency", "currency"),
    "country:<country> -> [coast_on] -> sea": tails("coast_on", "sea"),
    "sea:<sea> -> [^part_of+] -> sea": PARTS + "SELECT sea FROM below WHERE top = $node AND sea <> top",
    "sea:<sea> -> [part_of+] -> sea": PARTS + "SELECT top FROM below WHERE sea = $node AND sea <> top",
    "sea{kind = <value>}": "SELECT id FROM sea WHERE kind = $name",
    "country:<country> -> [flows_through] -> river": heads("flows_through", "river"),
    "sea:<sea> -> [flows_into] -> river": heads("flows_into", "river"),
    "river:<river> -> [^flows_into] -> river": heads("flows_into", "river"),
    "lake:<lake> -> [flows_into] -> river": heads("flows_into", "river"),
    "country:<country> -> [lies_in] -> lake": heads("lies_in", "lake"),
    "country:<country> -> [lies_in] -> mountain": heads("lies_in", "mountain"),
}
FILMS = {
    "person:<person> -> [directed] -> movie": tails("directed", "movie"),
    "person:<person> -> [acted_in] -> movie": tails("acted_in", "movie"),
    "genre:<genre> -> [has_genre] -> movie": heads("has_genre", "movie"),
    "keyword:<keyword> -> [has_keyword] -> movie": heads("has_keyword", "movie"),
    "country:<country> -> [made_in] -> movie": heads("made_in", "movie"),
    "language:<language> -> [in_language] -> movie": heads("in_language", "movie"),
    "content_rating:<content_rating> -> [rated] -> movie": heads("rated", "movie"),
    "movie{year = <value>}": "SELECT id FROM movie WHERE year = $name::INTEGER",
    "movie{color = <value>}": "SELECT id FROM movie WHERE color = $name",
}
COMBINED = {
    "_": "({0})",
    "_ or _": "({0}) UNION ({1})",
    "_ that are also _": "({0}) INTERSECT ({1})",
    "_ that are not _": "({0}) EXCEPT ({1})",
    "_ or _ or _": "({0}) UNION ({1}) UNION ({2})",
    "_ that are also both _ and _": "({0}) INTERSECT ({1}) INTERSECT ({2})",
    "_ that are also _ but not _": "(({0}) INTERSECT ({1})) EXCEPT ({2})",
}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


@pytest.fixture(scope="module")
def films(imdb_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(imdb_kb) as kb:
        yield kb


@pytest.fixture(scope="module")
def made_world(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, Path]:
    return world, complete(world, tmp_path_factory.mktemp("gold"))


@pytest.fixture(scope="module")
def made_films(films: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, Path]:
    return films, complete(films, tmp_path_factory.mktemp("gold"))


def complete(kb: KnowledgeBase, folder: Path) -> Path:
    """Make queries with the defaults of the command."""
    settings = QuestSettings(default_domains(kb), count=COUNT, seed=1, scale=True, augmented=AUGMENTED)
    made = make(kb, folder / "made", settings).records
    assert FEWEST <= len(made) <= COUNT  # films have few kinds of categories, and few queries may be alike
    return folder / "made"


@pytest.fixture(params=["made_world", pytest.param("made_films", marks=pytest.mark.system)])
def made(request: pytest.FixtureRequest) -> tuple[KnowledgeBase, Path]:
    found: tuple[KnowledgeBase, Path] = request.getfixturevalue(request.param)
    return found


def members(kb: KnowledgeBase, sql: str, row: dict[str, Any]) -> set[int]:
    """Return the members of a category by the SQL of its family."""
    values: dict[str, Any] = {"name": row["name"]} if "$name" in sql else {}
    if "$node" in sql:
        kind = row["family"].split(":")[0]
        sql_of = "SELECT id FROM nodes WHERE type = $type AND {}"
        found = kb.tables.lookup(sql_of.format("trim(name) = $said"), {"type": kind, "said": row["name"]})
        if found.is_empty():  # the phrase says an acronym: NATO, the OECD
            said = row["name"].removeprefix("the ")
            found = kb.tables.lookup(sql_of.format("list_contains(aliases, $said)"), {"type": kind, "said": said})
        values["node"] = found.item()
    return set(kb.tables.lookup(sql, values).to_series().to_list())


def test_gold_answers_by_sql(made: tuple[KnowledgeBase, Path]) -> None:
    kb, folder = made
    by_phrase = {row["phrase"]: row for row in rows(folder / "stages" / "1_categories.jsonl")[1:]}
    titles = {row["title"]: (row["type"], row["key"]) for row in rows(folder / "documents.nodes.jsonl")}
    ids = {(kind, key): node for node, kind, key in kb.tables.lookup("SELECT id, type::VARCHAR, key FROM nodes").rows()}
    checked = 0
    for row in rows(folder / "queries.jsonl"):
        parts = [by_phrase[part["phrase"]] for part in row["categories"]]
        sets = [members(kb, {**WORLD, **FILMS}[part["family"]], part) for part in parts]
        listed = [" UNION ALL ".join(f"SELECT {node}" for node in sorted(one)) for one in sets]
        sql = COMBINED[row["metadata"]["template"]].format(*listed)
        expected = set(kb.tables.lookup(sql).to_series().to_list())
        assert {ids[titles[title]] for title in row["docs"]} == expected, row["query"]
        assert 2 <= len(expected) <= 20
        checked += 1
    assert checked >= FEWEST
    used = {part["phrase"] for row in rows(folder / "queries.jsonl") for part in row["categories"]}
    augmented = rows(folder / "augmented.jsonl")
    assert len(augmented) == AUGMENTED
    lowered = {phrase[0].upper() + phrase[1:]: part for phrase, part in by_phrase.items()}
    for row in augmented:
        part = lowered[row["query"]]
        assert part["phrase"] not in used
        assert {ids[titles[title]] for title in row["docs"]} == members(kb, {**WORLD, **FILMS}[part["family"]], part)


def test_documents_show_every_answer(made: tuple[KnowledgeBase, Path]) -> None:
    """Each name that a query asks for is in the document of each answer that it applies to."""
    _, folder = made
    texts = {row["title"]: row["text"] for row in rows(folder / "documents.jsonl")}
    names = {row["phrase"]: row["name"] for row in rows(folder / "stages" / "1_categories.jsonl")[1:]}
    for row in each(rows(folder / "queries.jsonl")):
        ratings = row["metadata"]["evidence_ratings"]
        assert {evidence for found in ratings.values() for evidence in found} == {"complete"}
        if row["metadata"]["template"] in ("_", "_ that are also _", "_ that are also both _ and _"):
            wanted = [names[part["phrase"]].casefold() for part in row["categories"]]
            for title in row["docs"]:
                assert all(name in texts[title].casefold() for name in wanted), (row["query"], title)


BAD = re.compile(
    r"/|_|\||\bm/0|Q\d{3}|\b(\w+) \1\b|\b(?:that|who) (?:is|was|has|does)\b|\ba [aeio]|\bthe the\b| ,|,,|\s{2}|^[a-z]"
)
"""What a copy editor would strike: symbols, ids, repeated words, wrong agreement, articles, punctuation, no capital."""


def test_queries_read_well(made: tuple[KnowledgeBase, Path]) -> None:
    _, folder = made
    texts = [row["query"] for row in rows(folder / "queries.jsonl")]
    assert len(set(texts)) == len(texts)
    assert not [text for text in texts if BAD.search(text)]
    assert all(text.endswith("?") == text.startswith("What ") for text in texts)
    kinds = {row["metadata"]["domain"] for row in rows(folder / "queries.jsonl")}
    plurals = {kind[:-1] + "ies" if kind.endswith("y") else f"{kind}s" for kind in kinds}
    plurals |= {"bays", "gulfs", "straits"}  # seas of a kind are called by it
    plurals |= {plural(noun).lower() for noun in frame_file("genres")["nouns"].values()}  # comedies
    assert not [text for text in texts if not plurals & {*re.findall(r"\w+", text.lower())}]


def test_facts_of_a_country(world: KnowledgeBase, made_world: tuple[KnowledgeBase, Path]) -> None:
    [row] = [row for row in rows(made_world[1] / "documents.jsonl") if row["title"] == "Luxembourg"]
    own, *facts = row["text"].split("\n")
    assert own.startswith("A ")
    assert "It has a land border with Belgium, Germany and France." in facts
    assert "It has German, French and Luxembourgish as official or national languages." in facts
    assert "It uses the euro." in facts
    assert "Its area is 2,586 square kilometres." in facts
    assert not any("had so many people" in fact for fact in facts)  # groups that no category uses


def test_facts_are_optional(world: KnowledgeBase, tmp_path: Path) -> None:
    bare = QuestSettings(("river",), count=7, seed=1, scale=True, facts="never", require="none")
    done = make(world, tmp_path / "bare", bare)
    assert done.report["documents"]["with facts"] == []
    assert done.report["evidence"]["none"] > done.report["evidence"]["complete"]
    texts = {row["title"]: row["text"] for row in rows(tmp_path / "bare" / "documents.jsonl")}
    plain = world.tables.lookup(
        "SELECT n.name, t.text FROM river r JOIN nodes n USING (id) JOIN texts t USING (id) ORDER BY n.id LIMIT 5"
    )
    assert all(texts[name] == text for name, text in plain.rows())
