"""The pages of `kbkit explore`: what each screen shows, and requests that no browser of the user would send."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import io
import json
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from starlette import testclient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

import kbkit
from kbkit.benchmarks.people.labels import Labels
from kbkit.benchmarks.people.pools import LabelReading
from kbkit.benchmarks.people.same_nodes import decisions
from kbkit.display import render
from kbkit.errors import KbError, QueryTimeoutError
from kbkit.graph import suspicious_nodes
from kbkit.graph.nodes import degrees_of_all
from kbkit.kb import KnowledgeBase
from kbkit.measures.files import read_gold
from kbkit.web.explore import access, check, links, query_files, query_results
from kbkit.web.explore import query as query_screen
from kbkit.web.explore.app import application
from kbkit.web.explore.running import route
from kbkit.web.explore.site import PageLimits
from tests import hostile
from tests.conftest import SCRIPT
from tests.console import here
from tests.explorer import HOST, TOKEN, opened, served

PART = {"HX-Request": "true"}
ENDS = ("NPL", "FRA")
ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
"""Runs for years."""


@pytest.fixture(scope="module")
def client(world: KnowledgeBase) -> Any:
    """A browser at the world KB."""
    return opened(world)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, KnowledgeBase]]:
    """A browser at a KB of hostile names."""
    folder = tmp_path_factory.mktemp("evil")
    hostile.build(folder).close()
    with kbkit.ingest("table", folder, out=folder / "y.kb", stores=["tables", "adjacency", "text"]) as kb:
        yield opened(kb), kb


def shown(answer: Any) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


class Page(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def links(self) -> list[str]:
        """The addresses that the page leads to or fetches; those of a POST change something."""
        names = ("href", "src", "action", "hx-get")
        gets = [attrs for _, attrs in self.found if attrs.get("method") != "post"]
        return [value for attrs in gets for name in names if (value := attrs.get(name))]


# -- screens ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_home_shows_what_the_kb_holds(client: Any) -> None:
    page = shown(client.get("/"))
    assert "1,642 nodes, 5,486 edges" in page
    assert "country 197" in page
    assert re.search(r"country 197 Russia China", shown(client.get("/types")))
    assert re.search(r"river flows_through country \d+", page)
    examples = client.get("/examples")
    assert "Which countries have a land border with Russia?" in shown(examples)
    first = next(link for link in Page(examples.text).links() if link.startswith("/search?"))
    assert "Read as" in shown(client.get(first.replace("/search?", "/search/reading?")))


def test_a_question_is_answered_above_the_hits_with_proofs(client: Any) -> None:
    answer = client.get("/search/reading", params={"q": "Which countries are in Africa?"})
    assert re.search(r"Read as .*continent:\"Africa\" -> \[in_continent\] -> country", shown(answer))
    assert "all 54" in shown(answer)
    assert re.search(r"Confidence \d\d%: \w+ ", shown(answer))
    assert "Angola → lies in → Africa" in shown(answer)
    assert "Did you mean" not in shown(answer)
    yes = client.get("/search/reading", params={"q": "Is the Nile longer than the Amazon?"})
    assert re.search(r"^true Understood: .* Read as ", shown(yes))


def test_a_question_that_is_not_read_has_buttons_for_the_closest_readings(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "world.kb")) as own:
        client = opened(own)
        questions = (
            "dry countries in Asia",
            "countries with twice as many lakes as Canada?",
            "Which countries like cheese?",
        )
        for question in questions:
            answer = client.get("/search/reading", params={"q": question})
            assert re.search(r"Not answered: (no meaning found for|'\w+' is not read)", shown(answer))
            assert "sure" not in shown(answer)
            readings = re.findall(r'<button name="q" value="([^"]*)"', answer.text)
            chosen = client.post("/search/choose", data={"question": question, "q": html.unescape(readings[-1])})
            assert (chosen.status_code, chosen.url.path, chosen.url.params["q"]) == (200, "/search", question)
            assert "as you chose on 20" in shown(client.get("/search/reading", params={"q": question}))
            assert client.post("/search/forget", data={"q": question}).status_code == 200
            assert "Not answered" in shown(client.get("/search/reading", params={"q": question}))
        gone = {"question": question, "q": "country -> [gone] -> country"}
        beside = client.post("/search/choose", data=gone, headers=PART)  # beside the expression, which stays
        assert (beside.status_code, beside.text.startswith('<p class="problem"')) == (400, True)
        wrong = client.post("/search/choose", data=gone)
        assert (wrong.status_code, "Unknown relation" in shown(wrong)) == (400, True)
        corrected = client.post("/search/choose", data={"question": question, "q": "sea"})  # none of the readings
        hits = re.findall(r'class="head">\s*<a class="node" href="/node/(\w+)/', corrected.text)
        assert set(hits) == {"sea"}  # they follow the reading
        client.post("/search/forget", data={"q": question})
        assert "names nothing in this KB" in shown(client.get("/search/reading", params={"q": "xyzzy foo bar?"}))


def test_words_that_are_read_in_part_are_no_answer_but_readings(client: Any) -> None:
    """*rivers ... that flow into ...*: words without the form of a question are offered, folded, and never answered."""
    folded = client.get(
        "/search/reading", params={"q": "rivers longer than 3000 km that meander into the Atlantic Ocean"}
    )
    assert shown(folded).startswith("As a question: not answered, ")
    assert "no meaning found for 'meander'" in shown(folded)
    readings = client.get("/search/reading", params={"q": "average population of countries with cheese"}, headers=PART)
    assert re.search(r"average population.* from \d+ nodes?", shown(readings))  # one value, not as many answers
    longest = shown(client.get("/search/reading", params={"q": "Which is the longest river?"}))
    assert longest.startswith("Nile length (km) 6650 ")


def test_a_misspelt_name_leads_to_its_node(client: Any) -> None:
    page = client.get("/search", params={"q": "Papua Niew Guinee"})
    assert "Did you mean Papua New Guinea " in shown(page)
    assert "perhaps the KB has no" not in shown(page)


def test_words_that_name_no_type_are_not_answered_by_all_its_nodes(
    client: Any, world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """*Heat* was read as movies, by likeness of meaning."""

    def box(words: str) -> str:
        return shown(client.get("/search/reading", params={"q": words}, headers=PART))

    assert "all 293" in box("Which rivers are there?")
    assert "all 293" in box("all rivrs")  # misspelt
    asked = world.ask("all rivers")
    assert asked.is_sure
    assert asked.matches
    monkeypatch.setattr(kbkit.kb.KnowledgeBase, "ask", lambda *_: asked)
    assert "all 293" in box("all rivers")
    for words in ("Heat", "stream of heat"):  # as if they were read so
        asked._read = dataclasses.replace(asked._read, text=words)
        assert box(words) == ""


def test_the_query_box_answers_questions(client: Any) -> None:
    part = {"HX-Request": "true"}
    asked = {"q": "Which countries border Nepal?", "language": "ask"}
    answer = client.get("/query/run", params=asked, headers=part)
    assert "read as country:" in shown(answer)
    proofs = [html.unescape(found) for found in re.findall(r'hx-get="(/query/why[^"]*)"', answer.text)]
    assert "Nepal → has a land border with → China" in shown(client.get(proofs[0]))
    files = [html.unescape(link) for link in Page(answer.text).links() if link.startswith("/query/file")]
    assert "China" in client.get(files[0]).text
    doubtful = client.get("/query/run", params={"q": "Which countries like cheese?"}, headers=part)
    assert "Did you mean" in shown(doubtful)


def test_completion_offers_names_aliases_and_their_pages(client: Any) -> None:
    answer = client.get("/complete", params={"q": "Germ"})
    assert "Germany country" in shown(answer)
    assert 'href="/node/country/DEU"' in answer.text
    assert client.get("/complete", params={"q": "zzzz"}).text.strip() == ""
    assert client.get("/complete").text.strip() == ""


def test_search_shows_hits_with_reasons_types_and_the_reading(client: Any, world: KnowledgeBase) -> None:
    question = {"q": "landlocked countries in Africa"}
    answer = client.get("/search", params=question)
    assert "Botswana" in shown(answer)
    assert "<mark>landlocked</mark>" in answer.text
    assert "bm25: " in shown(answer)
    assert re.search(r"country \d+", shown(client.get("/search/types", params=question)))
    reading = client.get("/search/reading", params=question)
    assert 'continent:"Africa" -> [in_continent] -> country' in html.unescape(reading.text)
    assert "'landlocked'" in shown(reading)  # what the reading leaves out
    assert "Did you mean" in shown(reading)
    assert client.get("/search/reading", params={"q": "xyzzy foo bar"}).text.strip() == ""
    names = [client.get("/search/reading", params={"q": text}).text for text in ("who borders nepal?", "the nile")]
    assert [text.partition("<p>")[0].count("<details>") for text in names] == [0, 1]  # a name is no question: folded
    assert "all 197 nodes of the type country" in shown(client.get("/search", params={"q": "Countries"}))
    rivers = client.get("/search", params={"q": "long river", "type": "river", "mode": "bm25"})
    assert set(re.findall(r'href="/node/([^/"]+)/', rivers.text)) == {"river"}
    expression = 'country:"France" -> [flows_through] -> river'
    within = client.get("/search", params={"q": "longest river", "within": expression})
    keys = set(re.findall(r'href="/node/river/([^"?]+)', within.text))
    assert keys
    assert keys <= set(world.answers(expression).nodes()["key"])


def test_a_name_that_no_node_has_is_said(client: Any) -> None:
    def page(words: str) -> str:
        return shown(client.get("/search", params={"q": words}))

    said = "No node of these hits has all the words in its name: perhaps the KB has no"
    assert f"{said} Uma Thurman ." in page("Uma Thurman")
    for words in ("Lake Baikal", "long rivers", "Nepal", "Which River?", "Federated States of Micronesia"):
        assert said not in page(words)
    assert "/label?q=long+rivers" in Page(client.get("/search", params={"q": "long rivers"}).text).links()


def test_search_side_by_side_and_invalid_settings(client: Any) -> None:
    page = Page(client.get("/search", params={"q": "sea", "mode": "compare"}).text)
    parts = [link for link in page.links() if link.startswith("/search/hits")]
    assert len(parts) == 3
    assert all("sea" in client.get(part).text for part in parts)
    assert client.get("/search", params={"q": "x", "mode": "nonsense"}).status_code == 400
    assert client.get("/search", params={"q": "x", "type": "nonsense"}).status_code in (400, 404)
    assert client.get("/search", params={"q": "x", "within": "country ->"}).status_code == 400
    assert client.get("/search", params={"q": "x", "k": "9" * 30}).status_code == 400


def test_a_node_shows_texts_attributes_and_pages_of_neighbours(client: Any, world: KnowledgeBase) -> None:
    page = client.get("/node/country/RUS")
    for text in ("Russia", "area (km²) 17,098,246", "has a land border with", "mountains that lie in it", "Moscow"):
        assert text in shown(page)
    city = client.get("/node?ref=Kathmandu&q=a+temple")
    assert "27.72° N, 85.32° E" in shown(city)
    assert "<mark>temples</mark>" in client.get("/node/city/kathmandu?q=a+temple").text
    more = [link for link in Page(page.text).links() if link.startswith("/group")]
    [borders] = [link for link in more if "relation=borders" in link]
    first = set(re.findall(r'href="(/node/country/[^"]+)"', page.text))
    rest = set(re.findall(r'href="(/node/country/[^"]+)"', client.get(borders, headers=PART).text))
    neighbours = world.neighbors("Russia", "borders")["key"].to_list()
    assert {f"/node/country/{key}" for key in neighbours} <= first | rest
    assert not first & rest
    assert client.get("/node?ref=russia", follow_redirects=False).headers["location"] == "/node/country/RUS"
    missing = client.get("/node/country/nowhere")
    assert missing.status_code == 404
    assert "Unknown node" in shown(missing)


def test_a_graph_grows_and_shrinks_by_addresses(client: Any, world: KnowledgeBase) -> None:
    def fetch(address: str) -> Any:
        return client.get(address.replace("/graph?", "/graph/data?")).json()

    first = fetch("/graph?" + urllib.parse.urlencode({"node": "country#RUS"}))
    names = [node["name"] for node in first["nodes"]]
    assert names[0] == "Russia"
    assert set(names[1:]) <= set(world.neighbors("Russia")["name"])
    [group] = first["groups"]
    rivers = world.neighbors("Russia", "flows_through").height
    assert (group["node"], group["missing"]) == (0, rivers - 25)
    assert fetch(group["more"])["groups"] == []
    china = next(node for node in first["nodes"] if node["name"] == "China")
    grown = fetch(china["toggle"])
    assert len(grown["nodes"]) > len(names)
    opened = next(node for node in grown["nodes"] if node["name"] == "China")
    assert opened["opened"]
    assert len(fetch(opened["toggle"])["nodes"]) == len(names)
    assert client.get("/graph", params={"node": "country#RUS"}).status_code == 200
    assert "Well-known nodes" in shown(client.get("/graph"))
    graphml = client.get(first["graphml"])
    assert graphml.text.count("<node ") == len(names)
    assert "attachment" in graphml.headers["content-disposition"]
    assert client.get("/graph/data", params={"node": "x"}, headers=PART).status_code == 404
    for wrong in ("[", "[1,2,3,4]", '["a","b",1,-1]', "[" * 1500):
        assert client.get("/graph/data", params={"node": "Russia", "more": wrong}).status_code == 400


def test_a_graph_has_a_limit(client: Any, world: KnowledgeBase) -> None:
    countries = [f"country#{key}" for key in world.neighbors("Africa", "in_continent")["key"][:40]]
    refused = client.get("/graph/data", params={"node": "continent:Africa", "open": countries})
    assert refused.status_code in (200, 400)
    assert refused.status_code == 200 or "1,000 nodes" in shown(refused)
    assert client.get("/graph/data", params={"node": "Africa", "open": ["x"] * 41}).status_code == 400


def test_paths_are_listed_and_drawn(client: Any, world: KnowledgeBase) -> None:
    ends = {"from": "country#FRA", "to": "Tokyo"}
    page = client.get("/paths", params=ends)
    assert "shortest path" in shown(page)
    assert "← is a member of ← Japan has the capital Tokyo" in shown(page)
    assert re.search(r'name="from" value="France".*name="to" value="Tokyo"', page.text, re.S)  # as a person names them
    data = client.get("/paths/data", params=ends).json()
    assert data["layered"]
    assert data["nodes"][0]["name"] == "France"
    assert client.get(data["graphml"]).status_code == 200
    shortest = client.get("/paths", params={**ends, "shortest": "1", "limit": "100"})
    assert "or more steps were not searched Search longer paths" in shown(shortest)
    [longer] = [
        html.unescape(link)
        for link in Page(shortest.text).links()
        if link.startswith("/paths?") and "path=" not in link
    ]
    assert longer == "/paths?from=country%23FRA&to=Tokyo&steps=6&limit=100"
    assert "not searched" not in shown(client.get(longer))
    assert "longer without hubs" in shown(client.get(longer))
    several = client.get("/paths", params={"from": "Nepal", "to": "Bolivia"})
    assert "1 of the 6 shortest paths of 2 steps, and 9 longer without hubs Show the 6 shortest" in shown(several)
    [fewer] = [html.unescape(link) for link in Page(several.text).links() if link.endswith("shortest=1")]
    assert "6 shortest paths of 2 steps" in shown(client.get(fewer))
    none = client.get("/paths", params={**ends, "relation": "speaks"})
    assert "No path of at most 6 steps" in shown(none)
    unknown = client.get("/paths", params={"from": "Frence", "to": "Tokyo"})
    assert unknown.status_code == 404
    assert "/paths?from=country%23FRA&to=Tokyo&steps=6" in Page(unknown.text).links()
    assert re.search("Unknown node 'Frence'\\. Did you mean, instead of Frence .*France country", shown(unknown))
    key = client.get("/paths", params={"from": "BTN", "to": "Tokyo"})  # of a country and a currency
    links_of = [link for link in Page(key.text).links() if "BTN&to=Tokyo" in link]
    assert links_of == [f"/paths?from={kind}%23BTN&to=Tokyo&steps=6" for kind in ("country", "currency")]
    assert client.get("/paths/data", params={**ends, "relation": "speaks"}, headers=PART).status_code == 400
    assert page.text.count(" checked") == len(world.schema.relations) + len(world.schema.node_types)
    assert "checked" not in re.sub(r'value="speaks" checked', "", re.sub(r'name="type"[^>]*', "", none.text))


def test_paths_avoid_hubs_and_types_and_are_saved_as_text(client: Any, world: KnowledgeBase) -> None:
    ends = {"from": "Nepal", "to": "France"}
    assert "without hubs (more than 67 neighbours)" in shown(client.get("/paths", params=ends))
    degrees = world.stores.shared(degrees_of_all)

    def inner(**more: str) -> list[tuple[str, int]]:
        nodes = client.get("/paths/data", params={**ends, **more}).json()["nodes"]
        paths = [urllib.parse.unquote(node["page"]).removeprefix("/node/").split("/", 1) for node in nodes]
        found = [world.find("#".join(path)) for path in paths]
        return [(path[0], int(degrees[node])) for path, node in zip(paths, found, strict=True) if path[1] not in ENDS]

    assert sorted(degree for _, degree in inner())[-2] < 67  # by default, only the shortest path leads through a hub
    assert max(degree for _, degree in inner(shortest="1")) > 100
    assert max(degree for _, degree in inner(nohubs="1")) <= 67
    assert {kind for kind, _ in inner(type="country")} == {"country"}
    text = client.get("/paths/file", params={**ends, "format": "md"})
    assert text.headers["content-type"].startswith("text/markdown")
    assert re.search(r"^# Nepal to France\n\n\d+ paths: .*^1\. Nepal .* France", text.text, re.S | re.M)
    assert re.search(r"## Source\n\nKB world, generation 0001, built on [\d-]{10}, licence .*; kbkit [\d.]+", text.text)
    assert "127.0.0.1" not in text.text
    command = shlex.split(re.findall(r"^    kbkit (path .*)$", text.text, re.M)[0])
    assert command[:4] == ["path", "world.kb", "country#NPL", "country#FRA"]
    same = here(command[0], world.directory.path, *command[2:], "-f", "json")
    rows = pl.DataFrame(json.loads(same.stdout))
    saved = re.findall(r"^\d+\. Nepal (.*)$", text.text, re.M)
    names = rows.unique(["path", "step"]).sort("path", "step").group_by("path", maintain_order=True).agg("name")["name"]
    assert [[name for name in own if name not in line] for own, line in zip(names, saved, strict=True)] == [
        ["Nepal"] for _ in saved
    ]
    assert len(saved) > 1
    listed = client.get("/paths", params=ends)
    [one] = [html.unescape(link) for link in Page(listed.text).links() if link.endswith("path=2")]
    drawn = client.get(one.replace("/paths", "/paths/data")).json()  # its pictures and files have only this path
    assert [node["name"] for node in sorted(drawn["nodes"], key=lambda node: node["hop"])] == ["Nepal", *names[1][1:]]
    assert re.search(rf": path 2 of {len(saved)}$", drawn["title"])
    [one] = [html.unescape(link) for link in Page(client.get(one).text).links() if "format=md" in link]
    alone = client.get(one)
    assert re.findall(r"^\d+\. Nepal (.*)$", alone.text, re.M) == saved[1:2]
    assert f"Path 2 of {len(saved)} that the command below lists." in alone.text
    assert 'filename="world-Nepal-France-2.md"' in alone.headers["content-disposition"]
    assert client.get(one.replace("path=2", "path=99")).status_code == 404
    narrow = {**ends, "shortest": "1", "nohubs": "1", "type": "country", "relation": "borders", "steps": "8"}
    told = client.get("/paths/file", params={**narrow, "format": "md"}).text
    assert "--max-steps 8 --limit 10 --relation borders --type country --max-degree 67\n" in told
    assert 'filename="world-Nepal-France.md"' in text.headers["content-disposition"]
    assert "- France: `country#FRA`" in text.text


def test_nodes_that_are_unknown_have_suggestions(client: Any) -> None:
    chosen = shown(client.get("/paths", params={"from": "Sea", "to": "Nepal"})).partition("instead of")[2]
    assert chosen.startswith(" Sea Red Sea sea")  # whole words before similar ones
    assert "No name is like xyzzyq" in shown(client.get("/paths", params={"from": "xyzzyq", "to": "Nepal"}))
    half = client.get("/paths", params={"from": "Nepal", "to": ""})
    assert "Now enter the other node, in the field To." in shown(half)
    assert "nter a node in" not in shown(client.get("/paths"))
    graph = client.get("/graph", params={"node": "Lake"})
    assert graph.status_code == 404
    assert "Did you mean '" in shown(graph)
    similar = [link for link in Page(graph.text).links() if link.startswith("/graph?node=")]
    assert "Lake" in urllib.parse.unquote_plus(similar[0])
    assert client.get(similar[0]).status_code == 200
    nothing = client.get("/complete", params={"from": "xyzzyq"})
    assert "No match" in shown(nothing)


def test_queries_in_every_language(client: Any, world: KnowledgeBase) -> None:
    def run(text: str, language: str = "") -> Any:
        return client.get("/query/run", params={"q": text, "language": language}, headers=PART)

    rows = run("SELECT id, name, area_km2 FROM country ORDER BY area_km2 DESC LIMIT 2")
    assert re.search(r"2 rows .* Russia 17,098,246 .* Canada", shown(rows))
    assert '/node/country/RUS"' in rows.text
    assert rows.headers["hx-push-url"].startswith("/query?")
    graph = run("SELECT ?x { ?x rdfs:label 'France' }")
    assert '/node/country/FRA"' in graph.text
    expression = 'river:"Danube" -> [flows_through] -> country'
    answers = run(expression)
    assert "10 rows" in shown(answers)
    code = client.get("/query/view", params={"q": expression, "view": "code"}, headers=PART)
    assert "SELECT DISTINCT" in shown(code)
    proof = next(link for link in Page(answers.text).links() if link.startswith("/query/why"))
    assert "Danube → flows through or along → Austria" in shown(client.get(proof))
    assert "197" in shown(run("count(country)"))
    assert "Botswana" in shown(run("landlocked Kalahari", "search"))
    saved = client.get("/query/file", params={"q": "SELECT name FROM sea ORDER BY name", "format": "csv"})
    assert len(saved.text.splitlines()) == 1 + world.schema.type("sea").members
    parquet = client.get("/query/file", params={"q": "SELECT 1 AS x", "format": "parquet"})
    assert parquet.content.startswith(b"PAR1")
    page = client.get("/query", params={"q": expression, "language": "answers"})
    assert any(link.startswith("/query/view?") for link in Page(page.text).links())
    assert "SELECT name FROM sea" not in shown(page)
    assert "SELECT id, name, area_km2" in shown(page)  # the history
    client.get("/query/view", params={"q": "SELECT id, name FROM sea", "view": "chart"}, headers=PART)
    chart = {"q": "SELECT id, name FROM sea", "view": "chart", "x": "1", "column": "1"}
    client.get("/query/chart", params=chart, headers=PART)
    kept = [link for link in Page(client.get("/query/known", headers=PART).text).links() if "FROM+sea" in link]
    assert [
        dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(html.unescape(link)).query)).get("x") for link in kept[:1]
    ] == ["1"]
    led = client.get(
        "/query", params={"q": "x"}, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    )
    assert not any("x" in link for link in Page(led.text).links() if link.startswith(("/query/run?", "/query/view?")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.name, b.name FROM nodes a, nodes b",
        "SELECT 1; SELECT a.name, b.name FROM nodes a, nodes b",
        "SELECT * { ?a ?b ?c . ?d ?e ?f }",
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(RAND() < 2) }",
        "CONSTRUCT { ?a ?b ?c . ?d ?e ?f } { ?a ?b ?c . ?d ?e ?f FILTER(RAND() < 2) }",
    ],
)
@pytest.mark.system
def test_results_that_memory_cannot_hold(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    client = opened(world, PageLimits(timeout=60, rows=40))
    assert "More than 40 rows" in shown(client.get("/query/run", params={"q": query}, headers=PART))
    file = {"q": query, "format": "csv"}
    monkeypatch.setattr(query_files, "_FILE", query_files._FILE._replace(rows=3_000))
    refused = client.get("/query/file", params=file, headers=PART)
    assert (refused.status_code, "more than 3,000 rows" in shown(refused)) == (400, True)
    monkeypatch.setattr(query_files, "_FILE", query_files._FILE._replace(bytes=50_000))
    monkeypatch.setattr(query_results, "_BYTES", 500)
    for path in ("/query/file", "/query/run"):
        refused = client.get(path, params=file, headers=PART)
        assert (refused.status_code, "The result has more than" in shown(refused)) == (400, True)


@pytest.mark.parametrize("front_end", ["serve", "explore", "mcp"])
def test_sql_of_servers_uses_a_quarter_of_the_memory(world_kb: Path, front_end: str) -> None:
    from kbkit.mcp import server as mcp
    from kbkit.web import app

    with kbkit.open(world_kb) as kb, duckdb.connect(config={"memory_limit": "25%"}) as quarter:
        {
            "serve": lambda: app.application(kb),
            "explore": lambda: application(kb, "token"),
            "mcp": lambda: mcp.server(kb, mcp.ToolLimits(10, 10)),
        }[front_end]()
        setting = "SELECT current_setting('memory_limit')"
        assert kb.sql(setting).item() == quarter.execute(setting).fetchone()[0]


def test_a_workspace_that_is_refused_leaves_no_traceback(
    world_kb: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(world_kb, tmp_path / "x.kb")
    (path / "workspace").mkdir(exist_ok=True)
    history = path / "workspace" / "query_history.json"
    history.unlink(missing_ok=True)
    history.symlink_to(tmp_path / "elsewhere")
    with kbkit.open(path) as kb, testclient.TestClient(application(kb, TOKEN), base_url=HOST) as client:
        client.get("/", params={"token": TOKEN})
        answer = client.get("/query/run", params={"q": "country"}, headers=PART)
    assert "query_history.json is a link" in shown(answer)
    assert not (tmp_path / "elsewhere").exists()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_are_written_in_slices(kind: str) -> None:
    for height in (0, 1, 4, 5):
        frame = pl.DataFrame({"a": range(height), "b": ["x,\n]"] * height, "c": [[1, 2]] * height})
        stream = io.StringIO()
        render.write_text(frame, kind, stream)
        assert b"".join(render.chunks_of(frame, kind, 2)).decode() == stream.getvalue()


def test_queries_that_fail(client: Any, world: KnowledgeBase) -> None:
    def run(text: str, **more: str) -> Any:
        return client.get("/query/run", params={"q": text, **more}, headers=PART)

    wrong = run("SELECT nme FROM country")
    assert wrong.status_code == 400
    assert "Did you mean 'name'?" in shown(wrong)
    assert "<html" not in wrong.text
    for text in ("!ls", ".output /tmp/x", ".quit", ".read /etc/passwd"):
        assert "do not run here" in shown(run(text)), text
    for text in ("DELETE FROM country", "COPY country TO '/tmp/x.csv'", "SELECT * FROM read_csv('/etc/passwd')"):
        assert run(text).status_code == 400, text
    assert run("x" * 50_001).status_code == 400
    assert run("x", language="nonsense").status_code == 400
    assert run("").text == ""
    short = opened(world, PageLimits(timeout=0.3, rows=3))
    endless = short.get("/query/run", params={"q": ENDLESS}, headers=PART)
    assert (endless.status_code, "cancelled after 0.3 s" in shown(endless)) == (504, True)
    few = short.get("/query/run", params={"q": "SELECT * FROM country"}, headers=PART)
    assert "More than 3 rows" in shown(few)
    assert "the first 3 are shown" in shown(few)
    both = short.get("/query/run", params={"q": "SELECT 1 AS x UNION ALL SELECT 2; -- all"}, headers=PART)
    assert "2 rows" in shown(both)
    crossed = "SELECT a.id FROM nodes a, nodes b, nodes c, nodes d"
    assert "More than 3 rows" in shown(
        opened(world, PageLimits(timeout=20, rows=3)).get("/query/run", params={"q": crossed}, headers=PART)
    )


def test_views_of_a_result(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_screen, "PAGE", 10)
    query = {"q": "SELECT id, name, area_km2, un_status FROM country ORDER BY name"}

    def view(**more: str) -> Any:
        answer = client.get("/query/view", params={**query, **more}, headers=PART)
        assert answer.status_code == 200
        return answer

    first = view()
    assert "Rows 1–10 of 197 Next Last" in shown(first)
    assert "Rows 191–197 of 197 First Previous" in shown(view(page="99"))
    largest = view(order="2", desc="1")
    assert re.search(r'aria-sort="descending".*?Russia.*?Canada', largest.text, re.S)
    assert largest.headers["hx-push-url"].endswith("order=2&desc=1")
    kept = view(f1="land", f2=">400000", order="2")
    assert re.search(r"1 of 197 rows match the filters; ran in [\d.]+ s", shown(kept))
    assert "Thailand" in shown(kept)
    wrong = view(f2="> many")
    assert "Invalid filter for the numbers of area_km2: 'many'" in shown(wrong)
    assert 'value="&gt; many"' in wrong.text  # where it can be mended
    columns = view(view="columns")
    assert "un_status text 0 3 member observer member 193" in shown(columns)
    most = next(link for link in Page(columns.text).links() if "order=2&desc=1" in link)
    assert re.search(r">17,098,246</a>", columns.text)
    assert "Russia" in shown(client.get(most.replace("/query?", "/query/view?"), headers=PART))
    chosen = next(html.unescape(link) for link in Page(columns.text).links() if "f3=" in link)
    members = client.get(chosen.replace("/query?", "/query/view?"), headers=PART)
    assert "193 of 197 rows match the filters" in shown(members)
    chart = client.get("/query/chart", params={**query, "column": ["1", "2"], "order": "2", "desc": "1"}).json()
    assert (chart["total"], chart["columns"][0][0], chart["columns"][1][0]) == (197, "Russia", 17098246)
    assert [values[0] for values in chart["nodes"]] == ["country", "RUS", "Russia"]
    bare = client.get("/query/chart", params={"q": "SELECT 1 AS x", "column": "0"}).json()
    assert (bare["columns"], "nodes" in bare) == ([[1]], False)
    assert client.get("/query/run", params=query).history[0].headers["location"] == "/query?" + urllib.parse.urlencode(
        query
    )


def test_each_view_of_a_result_is_an_address_that_back_leaves(client: Any) -> None:
    query = {"q": "SELECT id, name, area_km2 FROM country"}

    def header(before: dict[str, str], **after: str) -> str:
        shown_before = f"{HOST}{links.page('/query', **query, **before)}"
        headers = {**PART, "HX-Current-URL": shown_before}
        answer = client.get("/query/view", params={**query, **after}, headers=headers)
        [name] = {"hx-push-url", "hx-replace-url"} & set(answer.headers)
        assert answer.headers[name] == links.page("/query", **query, **after)
        return name

    assert header({}) == "hx-replace-url"  # a page that is loaded
    assert header({}, view="columns") == "hx-push-url"
    assert header({"view": "columns"}, order="2", desc="1") == "hx-push-url"
    assert header({}, f1="p") == "hx-push-url"
    assert header({"f1": "p"}, f1="pa") == "hx-replace-url"  # a filter that is typed is one step
    assert header({"f1": "pa"}) == "hx-push-url"


def test_numbers_have_separators_except_years_and_ids(client: Any) -> None:
    def cells(text: str) -> list[str]:
        page = client.get("/query/run", params={"q": text}, headers=PART).text
        return re.findall(r"<td class=n[^>]*>([^<]*)</td>", page)

    rows = "(VALUES (1492, 1830, 7100, 4400, 10), (2000, 4999, 12000, 9500, 1200)) t(founded, n_id, sales, code, cost)"
    found = cells(f"SELECT * FROM {rows}")
    assert found == ["1492", "1830", "7,100", "4400", "10", "2000", "4999", "12,000", "9500", "1,200"]
    assert cells("SELECT 1400 AS year, 5000 AS pages") == ["1400", "5,000"]


def test_filters_are_shown_in_all_views_and_restrict_the_files(client: Any) -> None:
    query = {"q": "SELECT id, name, area_km2, un_status FROM country", "f1": "land", "f2": ">400000"}
    views = {
        view: client.get("/query/view", params={**query, "view": view}, headers=PART)
        for view in ("table", "columns", "graph", "chart", "code")
    }
    assert {view: "1 of 197 rows match the filters" in shown(page) for view, page in views.items()} == dict.fromkeys(
        views, True
    )
    assert "name contains land × area_km2 >400000 × Clear all filters" in shown(views["chart"])
    addresses = [html.unescape(link) for link in Page(views["chart"].text).links()]
    cleared = next(link for link in addresses if "f1=" not in link and "f2=" in link and "view=chart" in link)
    fewer = client.get(cleared.replace("/query?", "/query/view?"), headers=PART)
    assert re.search(r"\d\d of 197 rows match the filters", shown(fewer))
    csv = next(link for link in addresses if link.startswith("/query/file") and link.endswith("format=csv"))
    assert [line.split(",")[1] for line in client.get(csv).text.splitlines()] == ["name", "Thailand"]
    whole = client.get("/query/file", params={"q": query["q"], "format": "csv"})
    assert len(whole.text.splitlines()) == 198


def test_what_a_text_was_read_as_is_said(client: Any) -> None:
    def run(text: str, **more: str) -> str:
        return shown(client.get("/query/run", params={"q": text, **more}, headers=PART))

    assert "Read as a search for words." in run("long rivers")
    assert "Read as" not in run("long rivers", language="search")
    assert "**" not in run("longest river in Africa")
    assert "<mark>" in client.get("/query/run", params={"q": "longest river in Africa"}, headers=PART).text
    assert "Read as SQL." in run("SELECT 1")
    assert "Read as an expression." in run("river{length_km > 5000}")
    refused = run("which rivers have length [ 5000?")
    assert "Not answered: " in refused
    assert "rows in" not in refused
    wrong = run("river[length_km > 5000]")
    assert "Write conditions in braces: type{attribute < 10}. Read as an expression" in wrong
    assert "Go to line 1, column 6" in wrong
    assert "Did you mean 'river'?" in run("SELECT * FROM rivers")
    assert "Valid types: " in run("SELECT * FROM automobiles")
    assert "put them in quotes or use the language Search" in run("show rivers")
    assert ".mode" not in run("updated maps = better maps")


def test_graphs_of_results(client: Any) -> None:
    def graph(text: str, status: int = 200) -> Any:
        answer = client.get("/query/graph", params={"q": text}, headers=PART)
        assert answer.status_code == status
        return answer.json() if status == 200 else shown(answer)

    proven = graph('river:"Danube" -> [flows_through] -> country')
    assert len(proven["nodes"]) == 11
    assert len(proven["edges"]) == 10
    assert [node["name"] for node in proven["nodes"] if not node["marked"]] == ["Danube"]  # the others are answers
    pairs = graph("SELECT head, tail FROM borders WHERE head IN (SELECT id FROM country WHERE name = 'Nepal')")
    assert {node["name"] for node in pairs["nodes"]} == {"Nepal", "China", "India"}
    assert len(pairs["edges"]) == 3  # that between the neighbours, too
    rdf = graph("SELECT ?river ?sea { ?river rel:flows_into ?sea . ?river rdfs:label 'Nile' }")
    assert {node["name"] for node in rdf["nodes"]} == {"Nile", "Mediterranean Sea"}
    first = graph("country")
    assert ("; 77 more nodes omitted" in first["summary"], first["more"]) == (True, 197)
    whole = client.get("/query/graph", params={"q": "country", "nodes": 197}, headers=PART).json()
    assert (len(whole["nodes"]), whole["more"]) == (197, 0)
    assert "no nodes to draw" in graph("SELECT name FROM country", 400)


def test_the_place_of_an_error(client: Any) -> None:
    for text, place in (
        ("SELECT nme FROM country", (1, 8)),
        ("\n\n  SELECT name\nFROM countri", (4, 6)),
        ("country ->", (1, 11)),
        ('# a remark\ncountry:"Franc"', (2, 1)),
        ("SELECT ?x {\n ?x rdfs:label 'France }", (2, 16)),
    ):
        answer = client.get("/query/run", params={"q": text}, headers=PART)
        [(_, attrs)] = [found for found in Page(answer.text).found if "data-line" in found[1]]
        assert (int(attrs["data-line"] or 0), int(attrs["data-column"] or 0)) == place, text


def test_the_side_pane_of_the_queries(world_kb: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(world_kb, tmp_path / "k.kb")
    with kbkit.open(copy) as kb:
        client = opened(kb)
        names = Page(client.get("/query/names", params={"find": "area_"}).text).found
        inserted = [attrs["data-sparql"] for tag, attrs in names if tag == "button"]
        assert {"type:country", "attr:area_km2"} < set(inserted)
        assert "type:language" not in inserted
        assert "No name contains" in shown(client.get("/query/names", params={"find": "zzz"}))
        examples = client.get("/query/examples")
        languages = set()
        for link in map(html.unescape, Page(examples.text).links()):
            answer = client.get(link.replace("/query?", "/query/view?"), headers=PART)
            assert answer.status_code == 200, link
            assert re.search(r"[1-9]\d* rows? in", shown(answer)), link
            languages |= set(urllib.parse.parse_qs(link.partition("?")[2])["language"])
        assert languages == {"sql", "sparql", "answers", "ask", "search"}
        form = {"q": "SELECT 40 + 2 AS x", "name": "Answer", "language": ""}
        saved = client.post("/query/save", data=form, headers=PART)
        assert kb.workspace.queries.find("Answer").language == "sql"  # type: ignore[union-attr]
        assert "Answer" in shown(saved)
        assert "Invalid name" in shown(client.post("/query/save", data={**form, "name": ""}, headers=PART))
        assert "Answer" not in shown(client.post("/query/save", data={"delete": "Answer"}, headers=PART))
        client.get("/query/run", params={"q": "SELECT 43"}, headers=PART)
    with kbkit.open(copy) as kb:  # it outlives the server
        client = opened(kb)
        assert "SELECT 43" in shown(client.get("/query"))
        assert "SELECT 43" not in shown(client.post("/query/forget", headers=PART))
        assert "SELECT 43" not in shown(client.get("/query"))


def test_the_schema_is_drawn_listed_and_linked(client: Any, world: KnowledgeBase) -> None:
    page = client.get("/schema")
    assert re.search(r"river flows_into sea 162 .*river flows_into river 103", shown(page))
    data = client.get("/schema/data").json()
    assert {node["type_name"] for node in data["nodes"]} == {t.name for t in world.schema.node_types}
    labels = {relation["label"] for relation in data["relations"]}
    assert {"borders 638", "flows into 162", "flows into 21", "lies in 201"} < labels
    assert len(data["relations"]) == sum(len(r.signatures) for r in world.schema.relations)
    about = client.get("/schema/type", params={"name": "river"})
    assert re.search(r"Danube|Rhine", shown(about))
    assert "length_km integer" in shown(about)
    assert client.get("/schema/type", params={"name": "x"}, headers=PART).status_code == 404
    assert "/schema?type=river" in Page(page.text).links()
    lengths = [html.unescape(link) for link in Page(page.text).links() if "length_km" in link]
    statistics = client.get(lengths[0].replace("/query?", "/query/view?"), headers=PART)
    assert re.search(r"length_km integer .* 6,650 ", shown(statistics))
    few = shown(client.get("/schema", params={"find": "capital"}))
    assert "country capital city 209" in few
    assert "flows_into" not in few
    samples = [html.unescape(link) for link in Page(about.text + page.text).links() if link.startswith("/query?")]
    for link in samples[::7]:
        answer = client.get(link.replace("/query?", "/query/view?"), headers=PART)
        assert re.search(r"[1-9]\d* rows? in", shown(answer)), link


def test_suspicious_data_is_listed_with_queries(client: Any, world: KnowledgeBase) -> None:
    for page in ("/", "/schema"):
        assert "/check" in Page(client.get(page).text).links()
    page = client.get("/check")
    findings = world.suspicions()
    assert findings.height > 10
    found = [html.unescape(link) for link in Page(page.text).links() if link.startswith("/query?")]
    assert found == [links.page("/query", q=sql, language="sql") for sql in findings["sql"]]
    answer = client.get(found[0].replace("/query?", "/query/view?"), headers=PART)
    assert re.search(r"[1-9]\d* rows? in", shown(answer))
    files = {of: client.get("/check/file", params={"of": of}) for of in ("findings", "nodes", "duplicates", "x")}
    assert [answer.status_code for answer in files.values()] == [200, 200, 200, 400]
    assert 'filename="world-check-findings.csv"' in files["findings"].headers["content-disposition"]
    assert pl.read_csv(files["findings"].content)["finding"].to_list() == findings["finding"].to_list()
    nodes = pl.read_csv(files["nodes"].content)
    assert nodes.filter((nodes["kind"] == "isolated") & (nodes["type"] == "lake"))["name"].len() == 1
    several = nodes.filter((nodes["kind"] == "contradiction") & (nodes["finding"].str.contains("values of capital")))
    assert all(re.fullmatch("capital: .+, .+", value) for value in several["value"])
    assert several.height > 1
    assert '<a href="/check" aria-current="page">Check</a>' in page.text
    [first] = nodes.filter(nodes["kind"] == "isolated").head(1).to_dicts()
    place = findings["kind"].to_list().index("isolated")
    row = {"of": str(place), "at": "r", "row": f"{first['type']}#{first['key']}", "pickr": "1", "noter": "is so"}
    client.post("/check/rows", data=row, headers=PART)
    judged = pl.read_csv(client.get("/check/file", params={"of": "nodes"}).content).filter(pl.col("fine"))
    assert judged.select("key", "note").rows() == [(first["key"], "is so")]
    assert "Judge the rows (1 fine)" in shown(client.get("/check"))
    report = client.post("/check/report", data={f"pick{place}": "1"}).text
    assert ("1 row judged fine left out" in report, "| id |" in report) == (True, False)


def test_chosen_findings_are_saved_with_notes(client: Any, world: KnowledgeBase) -> None:
    findings = world.suspicions()

    def kept() -> tuple[list[str], dict[str, str]]:
        """The ticks and the notes of the page, opened anew."""
        found = [attrs for _, attrs in Page(opened(world).get("/check").text).found]
        notes = {attrs["name"]: attrs["value"] for attrs in found if "maxlength" in attrs and attrs.get("value")}
        return [attrs["name"] for attrs in found if "checked" in attrs], notes

    for sent in ({"pick3": "1", "note3": ""}, {"pick3": "1", "note3": "look"}, {"about": "For all"}, {"note4": "no"}):
        answer = client.post("/check/chosen", data=sent, headers=PART)
    assert shown(answer) == "1 finding chosen, saved"
    assert kept() == (["pick3"], {"note3": "look", "note4": "no", "about": "For all"})  # without its tick, too
    client.post("/check/chosen", data={"note3": "look"}, headers=PART)
    client.post("/check/chosen", data={"about": ""}, headers=PART)
    assert kept() == ([], {"note3": "look", "note4": "no"})
    boxes = [attrs["name"] for tag, attrs in Page(client.get("/check").text).found if attrs.get("type") == "checkbox"]
    assert boxes == [f"pick{at}" for at in range(findings.height)]
    given = {"pick0": "1", "note0": "check the **capitals**", "note1": "not chosen", "about": "For the curator"}
    report = client.post("/check/report", data=given)
    assert 'filename="world-check-report.md"' in report.headers["content-disposition"]
    assert report.text.startswith("# Findings in the data\n- For the curator\n- KB world, generation 0001")
    assert report.text.count("\n## ") == 1
    assert f"## {findings['finding'][0]}\n\ncheck the **capitals**\n\n" in report.text
    assert " ".join(findings["sql"][0].split()) in report.text
    assert "not chosen" not in report.text
    rows = world.sql(findings["sql"][0])
    assert report.text.count("\n| ") == min(20, rows.height) + 2
    assert re.search(r"\| [^|]+, [^|]+ \|", report.text)  # the capitals, which are a list
    assert "shape:" not in report.text
    world.workspace.queries.save("far capitals", "sql", "SELECT id, name FROM country LIMIT 3;")
    world.workspace.queries.save("broken", "sql", "SELECT nothing FROM country")
    own = [name for name in re.findall(r'name="(pick[^"]*)"', client.get("/check").text) if name.startswith("pickq")]
    text = client.post("/check/report", data=dict.fromkeys(own, "1")).text
    assert text.count("\n| ") == 5
    assert re.search(r"## broken\n\n.*nothing", text)
    csv = pl.read_csv(io.BytesIO(client.get("/check/file", params={"of": "findings"}).content))
    assert csv["note"].drop_nulls().to_list() == ["look", "no"]
    nothing = client.post("/check/report", data={"note0": "x"})
    assert nothing.status_code == 400
    assert "No finding is chosen" in shown(nothing)


PAIRS = """id,name,city,founded
c1,Acme Tools,Berlin,1911
c2,ACME Tools Ltd,Berlin,1911
c3,Elm Street Bakery,Paris,1950
c4,Elm Street Bakery,Rome,1999
"""


def test_pairs_of_similar_nodes_are_shown_with_values_and_decided(tmp_path: Path) -> None:
    (tmp_path / "firm.csv").write_text(PAIRS)
    (tmp_path / "person.csv").write_text("id,name\np1,Ann Miller\np2,Ann Millar\n")
    stores = ["tables", "adjacency", "text"]
    files = [tmp_path / "firm.csv", tmp_path / "person.csv"]
    with pytest.warns(UserWarning, match="no edges"):
        kbkit.ingest(*map(str, files), out=tmp_path / "firms.kb", stores=stores, sync=True).close()
    with kbkit.open(tmp_path / "firms.kb") as kb:
        client = opened(kb)
        every = kb.duplicates()
        assert every["type"].n_unique() == 2
        assert "Nodes that may be the same" in shown(client.get("/check/duplicates"))
        page = client.get("/check/duplicates", headers=PART)
        types = [link for link in Page(page.text).links() if link.startswith("/check/duplicates")]
        assert types == ["/check/duplicates", *(f"/check/duplicates?type={t}" for t in _by_count(every["type"]))]
        assert "city: Berlin; founded: 1911" in shown(page)
        assert "city: Paris / Rome; founded: 1950 / 1999" in shown(page)
        own = client.get("/check/duplicates?type=person", headers=PART)
        [file] = [html.unescape(link) for link in Page(own.text).links() if link.startswith("/check/file")]
        assert pl.read_csv(client.get(file).content).height == 1
        assert "are alike" in shown(client.get("/check/duplicates", params={"type": "x"}, headers=PART))
        pair = next(row for row in every.iter_rows(named=True) if row["key"] in ("c1", "c2"))
        named = {name: pair[name] for name in ("type", "key", "other_key")}
        row = client.post("/check/duplicates", data={**named, "decision": "apart"}, headers=PART)
        assert 'data-grade="apart"' in row.text
        assert client.post("/check/duplicates", data={**named, "decision": "merge"}).url.path == "/check/duplicates"
        for wrong in ({"decision": "burn"}, {"decision": "merge", "key": "c9"}):
            assert client.post("/check/duplicates", data={**named, **wrong}).status_code == 400
        again = opened(kb)  # decisions are kept, whatever list they are made in
        for kind in ("", pair["type"]):
            page = again.get("/check/duplicates", params={"type": kind}, headers=PART)
            assert page.text.count('data-grade="merge"') == 1
        answer = again.get("/check/file", params={"of": "duplicates"})
        assert pl.read_csv(answer.content)["decision"].drop_nulls().to_list() == ["merge"]
        (tmp_path / "decisions.csv").write_bytes(answer.content)
        assert [one.decision for one in decisions(kb.workspace.folder / "check" / "pairs.jsonl")] == ["merge"]
        assert client.post("/check/duplicates", data={"rest": "burn"}).status_code == 400
        client.post("/check/duplicates", data={"rest": "apart", "type": ""})  # a decision stays
        kept = pl.read_csv(again.get("/check/file", params={"of": "duplicates"}).content)["decision"].to_list()
        assert sorted(kept) == ["apart"] * (every.height - 1) + ["merge"]
    with kbkit.merge(tmp_path / "firms.kb", tmp_path / "decisions.csv") as kb:
        assert kb.schema.type("firm").count == 3


def test_the_page_says_which_findings_the_file_cuts(
    world_kb: Path, world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "LISTED", 3)
    monkeypatch.setattr(suspicious_nodes, "LISTED", 3)
    client, found = opened(world), world.suspicions()
    cut = found.filter((found["number"] > 3) & (found["kind"] != "cardinality"))
    page = shown(client.get("/check"))
    assert re.findall(r"CSV: the first 3 of ([\d,]+)", page) == [f"{number:,}" for number in cut["number"]]
    nodes = pl.read_csv(client.get("/check/file", params={"of": "nodes"}).content)
    counted = found.filter(found["kind"] != "cardinality")["number"].clip(upper_bound=3).sum()
    assert (cut.height > 0, nodes.height) == (True, counted)


def _by_count(values: pl.Series) -> list[str]:
    return values.value_counts().sort("count", "type", descending=[True, False])["type"].to_list()


def test_rows_lead_to_the_nodes_that_they_name(client: Any) -> None:
    def view(text: str, language: str = "sql") -> Any:
        return client.get("/query/view", params={"q": text, "language": language}, headers=PART)

    for columns in ("key, name", "type, key", "type, name"):
        page = view(f"SELECT {columns} FROM nodes WHERE name IN ('Nepal', 'Danube')")
        assert {"/node/country/NPL", "/node/river/danube"} < set(Page(page.text).links()), columns
    unclear = view("SELECT 'NPL' AS key, 'France' AS name UNION ALL SELECT 'BTN', 'Bhutan'")
    assert [link for link in Page(unclear.text).links() if link.startswith("/node")] == ["/node/country/BTN"]
    steps = view('river -> [flows_into] -> sea:"Black Sea"', "answers")
    assert "The answers are the last part of the expression: seas." in shown(steps)
    whole = view("continent", "answers")
    assert "The answers are" not in shown(whole)
    assert ("Why" in shown(whole), "Why" in shown(steps)) == (False, True)
    ends = view("SELECT head, tail, 3 AS some_id FROM borders WHERE head = (SELECT id FROM country WHERE key = 'NPL')")
    assert re.search(r"\d+ Nepal \d+ China 3 \d+ Nepal \d+ India 3", shown(ends))
    same = view("SELECT name AS key, name, id FROM continent")
    assert "key" in shown(same)  # what a person asked for is shown
    file = client.get("/query/file", params={"q": "SELECT 1 AS x", "format": "csv"})
    assert 'filename="world-SELECT-1-AS-x.csv"' in file.headers["content-disposition"]


def test_two_nodes_lead_to_their_paths_first(client: Any) -> None:
    page = client.get("/search/reading", params={"q": "How are Nepal and France related?"})
    assert re.match(
        r"Paths between Nepal and France As a question: not answered, \d+ readings? to choose from Not answered",
        shown(page),
    )
    assert re.findall("<details[^>]*>", page.text)[0] == "<details>"  # closed
    common = client.get("/search/reading", params={"q": "What do Nepal and France have in common?"})
    assert shown(common).startswith("Paths between Nepal and France As a question:")
    connects = client.get("/search/reading", params={"q": "What connects Nepal and France?"})
    assert shown(connects).startswith("Paths between Nepal and France As a question:")
    other = client.get("/search/reading", params={"q": "When did Nepal visit France?"})
    assert shown(other).startswith("Paths between Nepal and France Not answered")
    assert shown(page).count("'related'") <= 1


def test_a_link_of_another_site_runs_no_query(client: Any) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    led = client.get("/query/run", params={"q": "SELECT 42"}, headers=foreign, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (303, "/query?q=SELECT+42")
    assert "/query/view" not in client.get("/query?q=SELECT+42", headers=foreign).text
    viewed = client.get("/query/view", params={"q": "SELECT 42"}, headers=foreign, follow_redirects=False)
    assert (viewed.status_code, viewed.headers["location"]) == (303, "/query?q=SELECT+42")
    for path in (
        "/query/file?format=csv&q=SELECT+42",
        "/query/why?q=country&node=1",
        "/query/graph?q=country",
        "/query/chart?q=SELECT+42&column=0",
    ):
        assert client.get(path, headers=foreign).status_code == 403


def test_names_are_found_without_full_text(tmp_path: Path) -> None:
    with kbkit.ingest("world", out=tmp_path / "bare.kb", stores=["tables", "adjacency"]) as kb:
        page = opened(kb).get("/search?q=Nepal")
        assert page.status_code == 400
        assert "no store &#39;text&#39;" in page.text
        assert "/node/country/NPL" in page.text


def test_completion_of_queries_at_the_cursor(client: Any) -> None:
    found = client.get("/query/complete", params={"q": "SELECT name FROM cou WHERE x", "at": "20"})
    [first, *_] = found.json()
    assert (first["text"], first["start"]) == ("country", 17)
    [germany, *_] = client.get("/query/complete", params={"q": 'country:"Germ', "language": "answers"}).json()
    assert "Germany" in germany["text"]


def test_a_query_ends_when_the_browser_leaves(world_kb: Path) -> None:
    with kbkit.open(world_kb) as kb, served(kb) as (address, cookie):
        for _ in range(6):  # more than run at once
            with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
                path = links.page("/query/run", q=ENDLESS, language="sql")
                head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nCookie: {cookie}\r\nHX-Request: true\r\n\r\n"
                connection.sendall(head.encode())
        headers = {"Cookie": cookie, "HX-Request": "true"}
        request = urllib.request.Request(f"{address.geturl()}/query/run?q=SELECT+41%2B1", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert b"42" in answer.read()


def test_any_screen_ends_at_the_time_limit() -> None:
    """Its address answers with 504 while the handler still runs."""
    over = threading.Event()

    def endless(_: Request) -> Response:
        over.wait(60)
        return Response("late")

    app = Starlette(routes=[route("/slow", endless, 0.01)])
    try:
        with pytest.raises(QueryTimeoutError, match=r"exceeded the time limit of 0\.01 s"):
            testclient.TestClient(app).get("/slow")
    finally:
        over.set()


# -- pages as a whole -------------------------------------------------------------------------------------------------


def test_every_link_of_the_pages_leads_to_a_page(client: Any) -> None:
    """All links that can be reached in two clicks, a few of each screen."""
    seen: set[str] = set()
    waiting = ["/"]
    for _ in range(3):
        found: list[str] = []
        for address in waiting:
            answer = client.get(address)
            assert answer.status_code == 200, address
            found += [html.unescape(link) for link in Page(answer.text).links() if link.startswith("/")]
        screens: dict[str, list[str]] = {}
        for link in dict.fromkeys(found):
            if link not in seen:
                screens.setdefault(link.partition("?")[0].split("/")[1], []).append(link)
        waiting = [link for listed in screens.values() for link in listed[:6]]
        seen |= set(waiting)
    assert len(seen) > 30


def test_pages_run_no_script_but_the_files(client: Any) -> None:
    for address in (
        "/",
        "/search?q=sea",
        "/node/country/FRA",
        "/graph?node=France",
        "/paths?from=France&to=Japan",
        "/query",
        "/query?q=country&view=chart",
        "/schema",
    ):
        answer = client.get(address)
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        for tag, attrs in Page(answer.text).found:
            assert tag != "style"
            assert tag != "script" or (attrs.get("src") or "").startswith("/static/"), address
            assert not [name for name in attrs if name.startswith(("on", "hx-on")) or name == "style"], address


def test_files_are_those_of_the_pages_only(client: Any) -> None:
    page = Page(client.get("/graph?node=France").text)
    files = [link for link in page.links() if link.startswith(("/static/", "/types.css"))]
    assert len(files) >= 10
    for file in files:
        answer = client.get(file)
        assert answer.status_code == 200
        assert re.match(r"text/(javascript|css)", answer.headers["content-type"])
    for path in (
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "....//app.py",
        "/etc/passwd",
        "vendor.json",
        "a%00b",
        "",
    ):
        assert client.get(f"/static/{path}").status_code in (403, 404), path


# -- access -----------------------------------------------------------------------------------------------------------


def test_only_a_browser_with_the_token_sees_pages(world: KnowledgeBase) -> None:
    client = testclient.TestClient(application(world, TOKEN), base_url=HOST, follow_redirects=False)
    for address in ("/", "/search?q=x", "/static/explore.css", "/?token=wrong", "/?token=", "/nonsense", "/?token=%ff"):
        assert client.get(address).status_code == 403, address
    answer = client.get("/search?q=sea+of&token=the-token")
    assert (answer.status_code, answer.headers["location"]) == (303, "/search?q=sea+of")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert client.get("/").status_code == 200
    assert client.get("//evil.example/?token=the-token").headers.get("location", "/") != "//evil.example/"


def test_the_token_of_the_started_browser_works_once(world: KnowledgeBase) -> None:
    """Other users of the machine see the arguments of the browser's process."""
    app = application(world, TOKEN, once="seen-by-all")
    first, second = (testclient.TestClient(app, base_url=HOST, follow_redirects=False) for _ in range(2))
    assert first.get("/?token=seen-by-all").status_code == 303
    assert first.get("/").status_code == 200
    assert second.get("/?token=seen-by-all").status_code == 403
    assert second.get("/?token=").status_code == 403
    assert second.get(f"/?token={TOKEN}").status_code == 303


def test_a_page_without_the_cookie_asks_for_the_token(world: KnowledgeBase) -> None:
    client = testclient.TestClient(application(world, TOKEN, kept=True), base_url=HOST, follow_redirects=False)
    html_wanted = {"Accept": "text/html,*/*"}
    asked = client.get("/search?q=%3Cb%3E%22&type=river&token=old", headers=html_wanted)
    assert (asked.status_code, asked.headers["cache-control"]) == (403, "no-store")
    inputs = [attributes for tag, attributes in Page(asked.text).found if tag == "input"]
    assert [(one["name"], one.get("value")) for one in inputs] == [("q", '<b>"'), ("type", "river"), ("token", None)]
    for given in (TOKEN, f"http://127.0.0.1:5000/?token={TOKEN} "):
        answer = client.get("/search", params={"q": "x", "token": given}, headers=html_wanted)
        assert (answer.status_code, answer.headers["location"]) == (303, "/search?q=x")
        assert "Max-Age=2592000" in answer.headers["set-cookie"]
        client.cookies.clear()
    assert client.get("/search?q=x", headers={**html_wanted, "Host": "evil.example"}).text.startswith("Unknown host")
    assert "Not allowed." in client.get("/search?q=x", headers=PART).text
    unkept = testclient.TestClient(application(world, TOKEN), base_url=HOST, follow_redirects=False)
    assert "Max-Age" not in unkept.get(f"/?token={TOKEN}").headers["set-cookie"]


def test_a_token_is_kept_in_a_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_SETTINGS", str(tmp_path / "settings"))
    kb = tmp_path / "a.kb"
    token = access.kept_token(kb)
    assert access.kept_token(tmp_path / "x" / ".." / "a.kb") == token
    assert access.kept_token(tmp_path / "b.kb") != token
    path = next(one for one in (tmp_path / "settings/explore").iterdir() if one.read_text() == token)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    replaced = access.kept_token(kb, new=True)
    assert replaced != token
    assert access.kept_token(kb) == replaced
    path.chmod(0o644)  # others may have read it
    fresh = access.kept_token(kb)
    assert (fresh != replaced, path.stat().st_mode & 0o777) == (True, 0o600)
    path.write_text("guessable")
    assert access.kept_token(kb) != "guessable"
    (tmp_path / "elsewhere").write_text(fresh)
    (tmp_path / "elsewhere").chmod(0o600)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert access.kept_token(kb) != fresh
    monkeypatch.setenv("KBKIT_SETTINGS", str(tmp_path / "elsewhere"))  # no folder
    assert access.kept_token(kb) != access.kept_token(kb)


def test_foreign_hosts_and_pages_are_refused(client: Any) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/", headers={"Host": "127.0.0.1.evil.example"}).status_code == 403
    assert client.get("/", headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post("/query/run", headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status_code == 403
    followed = client.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    assert followed.status_code == 200
    assert "access-control-allow-origin" not in followed.headers
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/node/country/FRA").status_code == 405


# -- hostile values ---------------------------------------------------------------------------------------------------


def test_hostile_names_are_text_everywhere(evil: tuple[Any, KnowledgeBase]) -> None:
    client, kb = evil
    key = "k0"
    kind = kb.node(key).type
    pages = [
        "/",
        "/types",
        "/examples",
        links.node(kind, key),
        links.page("/graph", node=f"{kind}#{key}"),
        links.page("/paths", from_=f"{kind}#{key}", to=f"{kb.node('k1').type}#k1"),
        *(links.page("/search", q=name[:40], mode="bm25") for name in hostile.NAMES),
        *(links.page("/complete", q=name[:4]) for name in hostile.NAMES),
        *(links.node(kb.node(f"k{i}").type, f"k{i}") for i in range(len(hostile.NAMES))),
    ]
    for address in pages:
        answer = client.get(address)
        assert answer.status_code in (200, 400), (address, answer.text)
        assert "\u202e" not in answer.text
        assert "\x1b" not in answer.text
        for tag, attrs in Page(answer.text).found:
            assert tag != "img", address
            assert tag != "script" or (attrs.get("src") or "").startswith("/static/"), address
            assert not [name for name in attrs if name.startswith("on")], address
            assert not (attrs.get("href") or "").lower().startswith("javascript"), address
    data = client.get(links.page("/graph/data", node=f"{kind}#{key}"))
    assert data.headers["content-type"] == "application/json"
    assert len(data.json()["nodes"]) == len(hostile.NAMES)


def test_nodes_with_any_key_have_an_address(tmp_path: Path) -> None:
    keys = ["a/b", "..", ".", "%2F", "a?b#c", "é ü", "a+b&c=d", "//", "-->", "x" * 300, "\\", "a#b:c"]
    rows = "".join(f'"{key}",gene/protein,"n {i}"\n' for i, key in enumerate(keys))
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + rows, encoding="utf-8")
    (tmp_path / "edges.csv").write_text('head,relation,tail\n"a/b",r,".."\n', encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "k.kb", stores=["tables", "adjacency"]) as kb:
        client = opened(kb)
        for i, key in enumerate(keys):
            answer = client.get(links.node("gene/protein", key))
            assert answer.status_code == 200, key
            assert f"<bdi>n {i}</bdi></h1>" in answer.text


@pytest.mark.system
def test_300_malformed_requests(world_kb: Path) -> None:
    """Each is refused or answered, without an internal error, and the server goes on."""
    rng = random.Random(23)
    with kbkit.open(world_kb) as kb, served(kb) as (address, cookie):
        statuses = set()
        for _ in range(300):
            with socket.create_connection((address.hostname, address.port), timeout=2) as connection:
                connection.sendall(sent := malformed(rng, address.netloc, cookie))
                received = b""
                with contextlib.suppress(TimeoutError):  # the request may lack an end
                    while part := connection.recv(1 << 16):
                        received += part
            assert b"Traceback" not in received
            assert b"Internal" not in received, (sent, received)
            statuses.add(received[9:12].decode() if received else "")
        assert "500" not in statuses
        assert {"200", "400", "403"} <= statuses
        asked = [
            urllib.request.Request(f"{address.geturl()}/search?q={word}", headers={"Cookie": cookie})
            for word in ("sea", "river", "war", "king") * 5
        ]
        with ThreadPoolExecutor(20) as pool:  # twenty at once
            assert list(pool.map(lambda request: urllib.request.urlopen(request).status, asked)) == [200] * 20


ADDRESSES = """
    /search?q= /search?mode= /search?q=x&k= /search?q=x&within= /search/reading?q= /node/ /node/country/ /node?ref=
    /group?ref=France&relation= /group?ref=France&relation=borders&type=country&direction=out&offset= /graph?node=
    /graph/data?node=France&more= /graph/data?node=France&open= /graph/file?node=France&format= /paths?from=France&to=
    /paths?from=France&to=Japan&steps= /complete?q= /static/ /query?q= /query/run?q= /query/run?language=sql&q= //
    /query/view?q= /query/view?q=country&f0= /query/view?q=country&order= /query/view?q=country&page= /query/names?find=
    /schema?find= /schema/type?name= /query/graph?q= /query/chart?q=country&column= /query/complete?q=
    /query/complete?q=SELECT&at= /query/file?q=SELECT+1&format= /query/why?node=3&q= /../.. /?token=
""".split()  # noqa: SIM905


def malformed(rng: random.Random, host: str, cookie: str) -> bytes:
    """A request of which one or two parts are wrong."""
    noise = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 60)))
    word = rng.choice(
        [noise, b"%", b"%00", b"%ff%fe", b"'" * 50, b"{" * 3000, b"((((", "é".encode(), b"", b"%ed%a0%80", b"9" * 40]
    )
    quoted = urllib.parse.quote_from_bytes(word).encode()
    path = rng.choice(ADDRESSES).encode() + rng.choice([word, quoted, quoted])
    headers = [
        b"Host: " + rng.choice([host.encode()] * 6 + [b"", noise]),
        b"Cookie: " + rng.choice([cookie.encode()] * 8 + [noise]),
        rng.choice(
            [
                b"X: y",
                b"HX-Request: true",
                b"Origin: " + noise,
                b"Sec-Fetch-Site: cross-site",
                noise,
                b"Content-Length: -1",
            ]
        ),
    ]
    method = rng.choice([b"GET"] * 6 + [b"HEAD", b"POST", b"OPTIONS", noise[:9]])
    version = rng.choice([b"HTTP/1.1"] * 8 + [b"HTTP/1.0", noise])
    return b"\r\n".join([b" ".join([method, path, version]), *headers, b"Connection: close", b"", b""])


@pytest.mark.system
def test_a_bookmark_works_after_a_restart(world_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_SETTINGS", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(SCRIPT), "explore", str(world_kb), "--no-browser", "--port", str(port)]
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    for opened_address in ("", "/schema"):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip().partition(" ")[2]
            bookmark = f"http://127.0.0.1:{port}{opened_address}" if opened_address else address
            with browser.open(bookmark) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


@pytest.mark.system
@pytest.mark.core
def test_the_command(world_kb: Path) -> None:
    """It prints an address that works in a browser, and ends on Ctrl-C."""
    command = [str(SCRIPT), "explore", str(world_kb), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert re.fullmatch(r"world: http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", line)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with browser.open(line.partition(" ")[2]) as answer:
            assert b"Countries of the world" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


# -- Python -----------------------------------------------------------------------------------------------------------


def test_popular_nodes_and_questions_about_them(world: KnowledgeBase) -> None:
    frame = world.popular("country", 5)
    degrees = [sum(count for *_, count in world.degrees(node)) for node in frame["id"]]
    assert frame["neighbours"].to_list() == degrees == sorted(degrees, reverse=True)
    assert world.popular(limit=3)["neighbours"][0] >= degrees[0]
    assert world.popular("sea", 10_000).height == world.schema.type("sea").members
    assert world.popular(limit=0).height == 0
    examples = world.examples(4)
    assert examples.height == 4
    for question, expression, count in examples.iter_rows():
        assert world.ask(question).expression == expression
        assert len(world.answers(expression)) == count


def test_facets_of_hits_are_filters(world: KnowledgeBase, client: Any) -> None:
    hits = world.search("country", 500, type="country")["id"].to_list()
    facets = world.facets(hits, "country")
    status = facets.filter(facets["attribute"] == "un_status")
    assert status["value"][0] == "member"
    for expression, count in facets.select("expression", "nodes").iter_rows():
        assert len(set(world.answers(expression).ids.tolist()) & set(hits)) == count
    assert world.facets([], "country").height == 0
    areas = facets.filter(facets["attribute"] == "area_km2")
    assert (areas["heading"][0], areas.height) == ("area (km²)", 3)
    assert re.fullmatch(r"under [\d,]+000", areas["value"][0])
    assert areas["nodes"].sum() == len(hits)
    assert facets.filter(facets["heading"] == "lies in")["value"][0] == "Africa"
    mountains = world.search("mountain", 500, type="mountain")["id"].to_list()
    near = world.facets(mountains, "mountain")
    assert near.filter(near["attribute"] == "height_m")["value"].str.contains("\N{EN DASH}").any()
    for expression, count in near.select("expression", "nodes").iter_rows():
        assert len(set(world.answers(expression).ids.tolist()) & set(mountains)) == count
    page = client.get("/search/types", params={"q": "island", "type": "country"})
    assert "UN status : member 70" in shown(page)
    links = [html.unescape(link) for link in Page(page.text).links() if "within=" in link]
    assert links
    assert all(client.get(link).status_code == 200 for link in links)


def test_a_group_of_a_page_goes_on_where_the_page_ends(world: KnowledgeBase) -> None:
    groups = world.page("Russia", 3).data["relations"]
    for group in groups:
        about = [group[name] for name in ("relation", "direction", "type")]
        assert world.page_group("Russia", *about, limit=3) == group
        rest = world.page_group("Russia", *about, limit=1_000, offset=3)["neighbors"]
        whole = world.page_group("Russia", *about, limit=1_000)["neighbors"]
        assert whole == [*group["neighbors"], *rest]
    with pytest.raises(KbError, match="Invalid direction"):
        world.page_group("Russia", "borders", "sideways", "country")


def test_a_grown_graph_counts_what_it_leaves_out(world: KnowledgeBase) -> None:
    graph = world.grow("Russia", ["China", "Peru"], 2)
    assert [world.node(node).name for node in graph.opened] == ["Russia"] + ["China"] * ("China" in _names(graph))
    for rest in graph.rest:
        direction = {1: "out", -1: "in", 0: "out"}[rest.direction]
        neighbours = world.neighbors(rest.node, rest.relation)
        total = neighbours.filter(neighbours["direction"] == direction).height
        assert 0 < rest.neighbours < total
    more = world.grow("Russia", [], 2, {("Russia", "borders", 0): 100})
    assert not [rest for rest in more.rest if rest.relation == "borders"]
    for wrong in ({"x": "x"}, {("Russia", "borders", 2): 1}, {("Russia", "borders", 0): "x"}):
        with pytest.raises(KbError, match="Invalid more"):
            world.grow("Russia", more=wrong)
    with pytest.raises(KbError, match="more than 1,000 nodes"):
        world.grow("Africa", world.answers("country").ids.tolist(), 50)


def _names(graph: Any) -> list[str]:
    names: list[str] = graph.graph.nodes["name"].to_list()
    return names


def test_a_view_is_saved_opened_and_deleted(world_kb: Path, tmp_path: Path) -> None:
    client = opened(kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb")))
    places = {"country#NPL": [10, 20.5, 1], "country#IND": [3, 4, 0]}
    given = {"name": "the 'Alps'", "address": "?node=Nepal&size=*neighbours&view=old", "places": json.dumps(places)}
    address = client.post("/graph/views", data=given).json()["address"]
    assert address == "/graph?view=the+%27Alps%27&node=Nepal&size=%2Aneighbours"
    assert client.get(address).status_code == 200
    assert address in Page(client.get("/graph").text).links()
    assert client.get(address.replace("/graph?", "/graph/data?")).json()["places"] == places
    for wrong in ("[", "[]", '{"a": [1, 2]}', '{"a": [1, 2, "x"]}', '{"a": [1, 2, NaN]}'):
        assert client.post("/graph/views", data={**given, "places": wrong}).status_code == 400
    assert client.post("/graph/views", data={**given, "name": " "}).status_code == 400
    assert client.get("/graph/data?node=Nepal&view=none", headers=PART).status_code == 404
    assert "Saved views" not in shown(client.post("/graph/views/delete", data={"name": "the 'Alps'"}))
    assert client.post("/graph/views/delete", data={"name": "the 'Alps'"}).status_code == 404


def test_nodes_of_a_graph_have_values(client: Any, world: KnowledgeBase) -> None:
    data = client.get("/graph/data", params={"node": "Nepal"}).json()
    values = {one["name"]: one for one in data["values"]}
    assert values["area_km2"]["heading"] == "area (km²)"
    assert values["area_km2"]["values"]["0"] == 147181
    names = [node["name"] for node in data["nodes"]]
    assert values["*neighbours"]["values"]["0"] == len(names) - 1
    assert values["*pagerank"]["values"] == {}
    ranked_data = client.get("/graph/data", params={"node": "Nepal", "rank": 1}).json()
    ranked = {one["name"]: one["values"] for one in ranked_data["values"]}
    ranks = dict(world.graph.pagerank().select("id", "value").iter_rows())
    assert ranked["*pagerank"]["0"] == pytest.approx(ranks[world.find("Nepal")])
    more = json.dumps(["continent#asia", "in_continent", -1, 25])
    grown = client.get("/graph/data", params={"node": "Nepal", "more": more}).json()
    assert len(grown["nodes"]) >= len(names) + 20  # a relation of a node that is not opened
    assert {"mountain", "country"} <= set(world.well_known(10)["type"])
    assert "year" not in set(world.well_known(20)["type"])


def test_disagreements_are_decided(world_kb: Path, tmp_path: Path) -> None:
    kb = kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb"))
    client, labels = opened(kb), Labels(kb)
    query = labels.write("long rivers", "ann")
    first, second, third = query.pool[:3]
    for node, ann, bob in ((first, 2, 2), (second, 2, 0), (third, 1, 0)):
        labels.grade("1", node, ann, "ann", "a note")
        labels.grade("1", node, bob, "bob")
    assert "2 disagreements" in shown(client.get("/label"))
    page = shown(client.get("/label/disagreements", params={"who": "carl"}))
    assert page.count("a note") == 2
    files = [client.get("/label/file", params={"format": kind}) for kind in ("qrels", "csv", "jsonl", "x")]
    assert [answer.status_code for answer in files] == [200, 200, 200, 400]
    assert files[0].text.count("\n") == 3
    assert files[1].text.startswith("query,text,type,key,name,annotator,grade,note,")
    assert files[1].text.count("a note") == 3
    assert json.loads(files[2].text)["text"] == "long rivers"
    form = {"query": "1", "node": second, "who": "carl", "grade": "1"}
    listed = shown(client.get("/label"))
    assert "2 of 2 disagreements are not decided: the files have the median of the grades, rounded down" in listed
    told = here("stark", "labels", kb.directory.path, "-o", tmp_path / "labels.qrels").stderr
    assert "2 disagreements not decided: the grade is the median, rounded down" in told
    assert "0 of 2 decided" in page
    part = client.post("/label/disagreements", data={**form, "who": "bob", "note": "in part"}, headers=PART)
    assert part.text.lstrip().startswith("<li")
    when = labels.table()["when"][-1][:10]
    assert f"Decided by bob , who graded it too, on {when}: 1 in part" in shown(part)
    assert 'value="in part"' in part.text
    facts = shown(client.get("/label/1", params={"annotator": "ann"}))
    [glimpse] = re.findall(r'<div class="head">.*?</div>\s*<p class="soft" dir="auto">(.*?)</p>', part.text, re.S)
    assert " ".join(re.sub("<[^>]*>", " ", html.unescape(glimpse)).split()) in facts  # what those who grade see
    client.post("/label/disagreements", data={**form, "who": "bob", "grade": ""})
    decided = client.post("/label/disagreements", data=form)
    assert "1 of 2 decided" in shown(decided)
    assert page.count("Decided") == shown(decided).count("Decided") - 1
    grades = {f"{row['type']}#{row['key']}": row["grade"] for row in labels.judgements().to_dicts()}
    assert grades == {first: 2, second: 1, third: 0}
    client.post("/label/disagreements", data={**form, "grade": ""})
    assert labels.judgements().sort("key")["grade"].to_list() == [
        {first: 2, second: 1, third: 0}[node] for node in sorted((first, second, third))
    ]
    assert client.post("/label/disagreements", data={**form, "grade": "7"}).status_code == 400
    assert client.post("/label/disagreements", data={**form, "node": "x#y"}).status_code == 400
    assert "bob: 33% of 3 nodes" in shown(client.get("/label/1", params={"annotator": "ann"}))
    assert "You decide as carl" in shown(client.get("/label/disagreements"))  # not as the last annotator
    fresh = opened(kb)
    fresh.get("/label/1", params={"annotator": "bob"})
    assert "Your name" in shown(fresh.get("/label/disagreements"))  # bob graded them
    hit = client.post("/label/1", data={"node": second, "annotator": "ann", "grade": "0"}, headers=PART)
    assert "bob: 67% of 3 nodes" in shown(hit)  # the agreement is that of the moment


def test_pages_are_saved_as_one_file(client: Any, evil: tuple[Any, KnowledgeBase]) -> None:
    pages = {
        "/node/country/NPL": [
            "# Nepal\n",
            "| area (km²) | 147,181 |",
            "## has the capital (city, 1)\n\nKathmandu (role capital)\n",
        ],
        "/search/reading?q=Which+countries+border+Nepal%3F": [
            "# Which countries border Nepal?\n",
            '- Expression: country:"Nepal" -> [borders] -> country\n',
            "| India | country#IND | Nepal → has a land border with → India |",
        ],
    }
    for page, expected in pages.items():
        addresses = [link for link in Page(client.get(page).text).links() if "format=" in link]
        files = {kind: client.get(link) for link in addresses for kind in ("md", "html") if f"format={kind}" in link}
        assert [text for text in expected if text not in files["md"].text] == [], files["md"].text
        assert files["html"].text.startswith("<!DOCTYPE html>")
        assert "<script" not in files["html"].text
        assert files["md"].headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    browser, kb = evil
    first = kb.stores.nodes.row(0)
    hostile_page = browser.get("/save/node", params={"ref": f"{first.type}#{first.key}", "format": "html"})
    assert hostile_page.status_code == 200
    assert {tag for tag, _ in Page(hostile_page.text).found} <= {
        *("html", "head", "meta", "title", "body", "h1", "h2", "div", "style", "ul", "li", "p"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }  # fmt: skip
    assert client.get("/save/node", params={"ref": "country#NPL", "format": "exe"}).status_code == 400
    assert client.get("/save/node", params={"ref": "country#XXX", "format": "md"}).status_code == 404


def test_known_answers_are_judged(world_kb: Path, tmp_path: Path) -> None:
    kb = kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb"))
    client, labels = opened(kb), Labels(kb)
    asked = client.get("/search/reading", params={"q": "Which countries border Nepal?"})
    [judge] = [link for link in Page(asked.text).links() if link.startswith("/label?")]
    given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(judge).query))
    assert given["q"] == "Which countries border Nepal?"
    run = client.get("/query/view", params={"q": 'continent:"Africa" -> country'}, headers=PART)
    [judge] = [link for link in Page(run.text).links() if link.startswith("/label?")]
    form = client.get(judge)
    assert 'The answers of continent:"Africa" -> country (at most 100) join the hits' in shown(form)
    assert '<option value="country" selected>' in form.text  # all answers are countries
    sent = {"q": "African countries", "answers": 'continent:"Africa" -> country', "annotator": "ann", "type": "country"}
    page = client.post("/label", data=sent)
    assert page.url.path == "/label/1"
    assert len(labels.query("1").pool) >= 54
    assert "The 54 answers are among the hits." in shown(page)
    assert "area (km²)" in shown(page)  # facts to judge by
    again = client.post("/label", data={**sent, "answers": "river{max length_km}"})
    assert (again.url.path, labels.query("1").pool[-1].partition("#")[0]) == ("/label/1", "river")
    foreign = {"annotator": "eve"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert "Annotator eve" in shown(client.get("/label/1", params=foreign[0], headers=foreign[1]))
    assert "Annotator ann" in shown(client.get("/label/1"))
    added = client.post("/label/1/add", data={"node": "Nepal", "annotator": "ann"})
    assert labels.query("1").pool[-1] == "country#NPL"
    assert "Nepal" in shown(added)
    client.post("/label/1/add", data={"answers": "mountain{max height_m}", "annotator": "ann"})
    assert labels.query("1").pool[-1] == "mountain#mount-everest"
    many = client.post("/label/1/add", data={"answers": "country", "annotator": "ann"})
    added = labels.last_added("1")
    assert len(added) > 40
    assert f"{len(added)} nodes added, of 197 answers Take back" in shown(many)
    labels.grade("1", added[0], 0, "ann")
    undone = client.post("/label/1/undo", data={})
    assert (undone.url.path, added[0] in labels.query("1").pool) == ("/label/1", True)
    assert set(added[1:]).isdisjoint(labels.query("1").pool)
    assert labels.last_added("1") == []
    again = client.post("/label/1/add", data={"answers": "mountain{max height_m}", "annotator": "ann"})
    assert "The answer is among the hits." in shown(again)
    for wrong, said in (({"node": "Nepall"}, "Nepall"), ({"answers": "countri"}, "countri"), ({}, "Nothing to add")):
        refused = client.post("/label/1/add", data={**wrong, "annotator": "ann"})
        assert (refused.status_code >= 400, said in shown(refused)) == (True, True)
    assert client.post("/label", data={**sent, "answers": "countri"}).status_code == 400


def test_a_pool_that_lacks_answers_is_flagged(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb")) as kb:
        client, labels = opened(kb), Labels(kb)
        labels.write("Which countries are in Africa?", "ann", k=10)
        assert labels.incomplete().keys() == {"1"}
        joined, total = labels.incomplete()["1"]
        page = shown(client.get("/label"))
        assert f"{joined} of {total} answers pooled" in page
        assert f"{joined} of {total} answers pooled" in shown(client.get("/label/1", params={"annotator": "ann"}))
        assert "1 query has answers that are not among the hits to grade, so the files count them as wrong" in page
        labels.add("1", labels.reading(labels.query("1")).missing)
        assert labels.incomplete() == {}
        assert "not among the hits" not in shown(client.get("/label"))


def test_an_expression_that_leads_to_its_first_part_is_refused(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb")) as kb:
        client = opened(kb)
        expression = 'country:"Nepal" <- [borders] <- country'
        page = client.get("/label", params={"answers": expression})
        assert "The arrows lead to the first part of the expression: its answers are countries." in shown(page)
        assert 'For those of the last part: country:"Nepal" -> [borders] -> country' in shown(page)
        saved = client.post("/label", data={"q": "a", "annotator": "ann", "answers": expression})
        assert saved.status_code == 400
        assert Labels(kb).queries() == []
        note = client.get("/query/view", params={"q": expression, "language": "answers"}, headers=PART)
        assert "The answers are where the arrows of the expression meet: countries" in shown(note)


def test_answers_of_a_reading_join_unless_they_are_many(
    world_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb"))
    client, labels = opened(kb), Labels(kb)
    few = client.post("/label", data={"q": "Which countries border Nepal?", "annotator": "ann"})
    assert re.search("Read as countries .*Nepal ; 2 answers joined", shown(few))
    many = client.post("/label", data={"q": "Which countries are in Africa?", "annotator": "ann", "k": "10"})
    told = re.search("its 54 answers did not all join the hits: \\d+ are among them Add (\\d+) more", shown(many))
    assert told is not None
    before = labels.query("2").pool
    [(_, form)] = [
        (tag, attrs) for tag, attrs in Page(many.text).found if tag == "input" and attrs.get("name") == "answers"
        and attrs.get("type") == "hidden"
    ]  # fmt: skip
    added = client.post("/label/2/add", data={"answers": form["value"], "annotator": "ann"})
    assert len(labels.query("2").pool) == len(before) + int(told[1])
    assert "54 answers joined" in shown(added)
    client.post("/label/2/undo", data={})
    assert labels.query("2").pool == before
    typed = client.post("/label", data={"q": "Which countries are in Africa?", "annotator": "ann", "type": "river"})
    assert "there are no answers of the type river" in shown(typed)
    assert "Read as" not in shown(client.post("/label", data={"q": "long rivers", "annotator": "ann"}))
    for reading, told in (
        (LabelReading("x", ["country#NPL"], 0, 109), "Read as x ; its 109 answers did not join the hits Add 1 of them"),
        (LabelReading("x", [], 100, 109), "Read as x ; 100 of its 109 answers joined"),
    ):
        monkeypatch.setattr(Labels, "reading", lambda *_, reading=reading: reading)
        assert told in shown(client.get("/label/1", params={"annotator": "ann"}))


def test_the_type_of_the_answers_is_edited_and_downloaded(world_kb: Path, tmp_path: Path) -> None:
    kb = kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb"))
    client, labels = opened(kb), Labels(kb)
    query = labels.write("big water in Africa", "ann", type="river")
    labels.grade(query.id, query.pool[0], 2, "bob")
    client.get("/label/1", params={"annotator": "ann"})
    sent = {"q": query.text, "note": "", "annotator": "ann", "type": "lake"}
    page = client.post("/label/1/edit", data=sent)
    pool = labels.query("1").pool
    assert pool[0] == query.pool[0]  # it is graded
    assert {node.partition("#")[0] for node in pool[1:]} == {"lake"}
    assert "Answers of the type lake" in shown(page)
    refused = client.post("/label/1/edit", data={**sent, "type": "lak"})
    assert (refused.status_code, "Unknown type 'lak'" in shown(refused)) == (404, True)
    whole = client.post("/label/1/edit", data={**sent, "type": ""})
    assert ("Answers of the type" in shown(whole), labels.query("1").pool[: len(pool)]) == (False, pool)
    assert "type" not in json.loads(client.get("/label/file", params={"format": "jsonl"}).text)
    client.post("/label/1/edit", data=sent)
    (tmp_path / "l.jsonl").write_bytes(client.get("/label/file", params={"format": "jsonl"}).content)
    assert json.loads((tmp_path / "l.jsonl").read_text())["type"] == "lake"
    assert set(kb.search_many(tmp_path / "l.jsonl", 5, "bm25")["type"]) == {"lake"}


def test_hits_without_a_grade_are_graded_at_once(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb")) as kb:
        client, labels = opened(kb), Labels(kb)
        pool = labels.write("long rivers", "ann").pool
        labels.grade("1", pool[0], 2, "ann")
        labels.grade("1", pool[1], None, "ann", "look again")
        page = client.post("/label/1/rest", data={"annotator": "ann", "grade": "0"})
        assert f"All {len(pool)} graded" in shown(page)
        marks = {node: one.mark for (_, node), one in labels.grades("ann").items()}
        assert marks == {node: 2 if node == pool[0] else 0 for node in pool}
        assert labels.grades("ann")["1", pool[1]].note == "look again"
        for wrong in ({"annotator": "", "grade": "0"}, {"annotator": "ann"}, {"annotator": "ann", "grade": "3"}):
            assert client.post("/label/1/rest", data=wrong).status_code == 400
        labels.write("Which countries border Nepal?", "ann")
        client.post("/label/2/rest", data={"annotator": "ann", "grade": "2", "of": "reading"})
        answers = {node for (query, node), one in labels.grades("ann").items() if query == "2" and one.mark == 2}
        assert answers == {"country#CHN", "country#IND"}


def test_the_type_that_a_query_names_is_proposed(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb")) as kb:
        client, labels = opened(kb), Labels(kb)
        for text, named in (("rivers that end in a desert", "river"), ("Nepal and its rivers", "")):
            query = labels.write(text, "ann")
            page = client.get(f"/label/{query.id}", params={"annotator": "ann"})
            assert (f"the query names the type {named or ''}" in shown(page)) == bool(named)
        sent = {"annotator": "ann", "q": "rivers that end in a desert", "note": "", "type": "river"}
        page = client.post("/label/1/edit", data=sent)
        assert "names the type" not in shown(page)
        assert {node.partition("#")[0] for node in labels.query("1").pool} == {"river"}


def test_the_annotator_of_the_address_is_remembered(world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb")) as kb:
        client = opened(kb)
        Labels(kb).write("long rivers", "ann")
        client.get("/label", params={"annotator": "ben"})
        assert 'name="annotator" value="ben"' in client.get("/label/1").text
        client.get("/label", params={"annotator": "eve"}, headers={"Sec-Fetch-Site": "cross-site"})
        assert 'name="annotator" value="ben"' in client.get("/label/1").text


def test_queries_are_pasted_edited_and_deleted(world_kb: Path, tmp_path: Path) -> None:
    kb = kbkit.open(shutil.copytree(world_kb, tmp_path / "w.kb"))
    client, labels = opened(kb), Labels(kb)
    sent = {"queries": "long rivers\n\n high  mountains \nlong rivers\n", "annotator": "Zoë", "type": "river"}
    assert client.post("/label/many", data=sent).status_code == 200
    assert [(one.text, one.type) for one in labels.queries()] == [("long rivers", "river"), ("high mountains", "river")]
    form = client.get("/label").text  # the annotator and the type are remembered
    assert ('value="Zoë"' in form, '<option value="river" selected>' in form) == (True, True)
    assert "Grade the next query: long rivers" in shown(client.get("/label"))
    assert 'id="open" href="/label/2"' in client.get("/label/1").text
    mixed = client.post("/label/many", data={**sent, "queries": "deep lakes\n" + "x" * 2001})
    assert "too long. Use at most 2,000 characters. The queries below were not saved." in shown(mixed)
    assert [one.text for one in labels.queries()][2:] == ["deep lakes"]
    mistyped = client.post("/label/many", data={**sent, "queries": "deep lakes\nlong rivers | stream"})
    assert "Line 2, 'long rivers': unknown type 'stream'. The types are country, " in shown(mistyped)
    assert len(labels.queries()) == 3
    for queries in (" ", "a\n" * 201):
        assert client.post("/label/many", data={**sent, "queries": queries}).status_code == 400
    labels.grade("1", labels.query("1").pool[0], 2, "ann")
    page = client.post("/label/1/edit", data={"q": "the longest rivers", "note": "by length", "annotator": "Zoë"})
    assert re.search("the longest rivers 0 of .* by length", shown(page))
    assert "Delete the query and its 1 grade by all annotators?" in shown(page)
    refused = client.post("/label/1/edit", data={"q": "", "note": "", "annotator": "Zoë"})
    assert (refused.status_code, "The query is empty" in shown(refused)) == (400, True)
    assert client.post("/label/1/delete", data={}).url.path == "/label"
    assert client.get("/label/1").status_code == 404
    assert labels.judgements().is_empty()


def test_labels_of_keys_with_spaces_are_exported(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,name\nClint Mansell,Clint Mansell\nNino Rota,Nino Rota\n")
    stores = ["tables", "adjacency", "text"]
    with kbkit.ingest(str(tmp_path / "people.csv"), out=tmp_path / "k.kb", stores=stores) as kb:
        client, labels = opened(kb), Labels(kb)
        query = labels.write("composer of film scores Mansell", "ann", nodes=["person#Clint Mansell"])
        [node] = [one for one in query.pool if one.endswith("#Clint Mansell")]
        labels.grade(query.id, node, 2, "ann")
        answer = client.get("/label/file", params={"format": "qrels"})
        assert answer.text == "1 0 data:,Clint%20Mansell 2\n"
        (tmp_path / "l.qrels").write_bytes(answer.content)
        assert read_gold(tmp_path / "l.qrels").judgements.rows() == [("1", "Clint Mansell", 2)]


def test_rows_without_a_name_are_shown_by_what_they_link_to(tmp_path: Path) -> None:
    (tmp_path / "ships.csv").write_text("id,name\n1,Lettice\n2,Mary\n")
    (tmp_path / "deaths.csv").write_text("id,ship_id,cause\n7,1,storm\n8,2,fire\n")
    files = [str(tmp_path / "ships.csv"), str(tmp_path / "deaths.csv")]
    with kbkit.ingest(*files, out=tmp_path / "k.kb", stores=["tables", "adjacency", "text"]) as kb:
        client = opened(kb)
        query = Labels(kb).write("storm at sea", "ann", "death#7")
        pages = [
            client.get("/search", params={"q": "7"}),
            client.get("/query/view", params={"q": "SELECT * FROM death"}, headers=PART),
            client.get("/query/view", params={"q": "death", "language": "answers"}, headers=PART),
            client.get(f"/label/{query.id}", params={"annotator": "ann"}),
        ]
        assert ["death 7 (Lettice)" in shown(page) for page in pages] == [True] * 4
        assert "is a ship of: death 7 (Lettice)" in shown(client.get("/search", params={"q": "Lettice"}))
    with kbkit.ingest(*files, out=tmp_path / "bare.kb", stores=["tables", "text"]) as kb:
        assert "7 death" in shown(opened(kb).get("/search", params={"q": "7"}))  # no links to make titles of


def test_what_was_understood_is_told_word_by_word(client: Any) -> None:
    read = shown(client.get("/search/reading", params={"q": "Which countries border Nepal?"}))
    assert "Understood: countries that have a land border with Nepal; almost certainly right" in read
    assert "countries type country border relation has a land border with Nepal country Nepal" in read
    related = client.get("/search/reading", params={"q": "Why is the Nile related to the Danube?"})
    assert "/paths?from=Nile&to=Danube" in Page(related.text).links()
    missed = client.get(
        "/search/reading", params={"q": "Which landlocked countries in Africa have more than 2 rivers?"}
    )
    assert "landlocked not understood" in shown(missed)
    assert re.search(r"countries that lie in Africa and have more than 2 rivers \d+ answers", shown(missed))
