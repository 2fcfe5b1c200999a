"""`kbkit ingest --review`: the pages that correct an inferred recipe, and what they become."""

from __future__ import annotations

import contextlib
import errno
import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette import testclient

from kbkit.ingestion.request import IngestSettings
from kbkit.ingestion.review import IngestReview, reviewing
from kbkit.kb import KnowledgeBase
from kbkit.web.explore import app
from tests.explorer import HOST, TOKEN, Tab, serving
from tests.ingestion.test_review import FILES

PART = {"HX-Request": "true"}


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Any]:
    """The application of a review."""
    data = tmp_path / "data"
    data.mkdir()
    for name, text in FILES.items():
        (data / name).write_text(text)
    (data / "people.csv").write_text(FILES["people.csv"].replace("UK", "<b>UK</b>"))
    with contextlib.ExitStack() as stack:
        settings = IngestSettings(stores=["adjacency", "text"])
        found = stack.enter_context(reviewing(str(data), [], tmp_path / "k.kb", settings))
        yield app.reviewing(found, TOKEN, lambda path: stack.enter_context(KnowledgeBase(path)))


def shown(answer: Any) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def test_pages_correct_and_build(review: Any) -> None:
    client = testclient.TestClient(review, base_url=HOST, follow_redirects=False)
    for address in ("/", "/review/data"):
        assert client.get(address).status_code == 403
    assert client.get(f"/?token={TOKEN}").status_code == 303
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert client.post("/review/build", headers={"Origin": "https://evil.example"}).status_code == 403
    page = client.get("/")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "films 3 rows Nodes: film" in shown(page)
    assert "&lt;b&gt;UK" in page.text

    def correct(**form: str) -> Any:
        return client.post("/review/correct", data={"column": "", **form}, headers=PART)

    assert "Nodes: human" in shown(correct(what="type", table="people", value="human"))
    wrong = correct(what="key", table="people", value="nothing")
    assert "Unknown column 'nothing'" in shown(wrong)
    assert "Nodes: human" in shown(wrong)
    assert "Nodes: person" in shown(client.post("/review/undo", headers=PART))
    correct(what="column", table="films", column="genre", value="nodes")
    data = client.get("/review/data").json()
    assert [node["name"] for node in data["nodes"]] == ["film 3", "person 3", "genre 2"]
    assert "Building k.kb" in shown(client.post("/review/build", headers=PART))
    while "hx-redirect" not in (answer := client.get("/review/progress", headers=PART)).headers:
        assert "Building k.kb" in shown(answer)
    home = client.get("/")
    assert "genre 2" in shown(home)
    assert client.get("/query").status_code == 200


def test_a_build_that_fails_is_reported_and_repeated(review: Any, tmp_path: Path) -> None:
    client = testclient.TestClient(review, base_url=HOST)
    client.get(f"/?token={TOKEN}")
    (tmp_path / "k.recipe").mkdir()  # of a user
    (tmp_path / "k.recipe" / "load.sql").write_text("mine")
    answer = client.post("/review/build", headers=PART)
    while "Building" in shown(answer):
        answer = client.get("/review/progress", headers=PART)
    assert "already exists, and was edited" in shown(answer)
    assert "films 3 rows" in shown(answer)


def test_guesses_are_accepted_and_rows_with_one_key_merged(tmp_path: Path) -> None:
    films = "film_id,title,director_id\nf1,A,p1\nf2,B,p1\nf3,C,p2\nf3,D,p3\nf5,E,p9\n"
    data = {"films.csv": films, "people.csv": "person_id,name\np1,Ann\np2,Bo\np3,Cy\np4,Di\n"}
    for name, text in data.items():
        (tmp_path / name).write_text(text)
    with contextlib.ExitStack() as stack:
        settings = IngestSettings(stores=["adjacency"])
        files = [tmp_path / name for name in data]
        found = stack.enter_context(reviewing(str(files[0]), files[1:], tmp_path / "k.kb", settings))
        serve = app.reviewing(found, TOKEN, lambda path: stack.enter_context(KnowledgeBase(path)))
        client = testclient.TestClient(serve, base_url=HOST)
        page = client.get(f"/?token={TOKEN}")
        assert "film_id looks like the key of films, but 'f3' is in rows 3 and 4; the key is title" in shown(page)
        for button, fact in (
            ("use as key: film_id", "film_id is the key of films, but 'f3' is in rows 3 and 4"),
            ("link to people", "1 of 4 values are not in people"),
            ("merge rows with the same key", ""),
        ):
            values = re.search(rf"hx-vals='([^']*)'>\s*{button}", page.text)
            assert values is not None, button
            form = json.loads(html.unescape(values[1]))
            page = client.post("/review/correct", data=form, headers=PART)
            assert fact in shown(page)
        assert "Unsure" not in shown(page)
        assert "--merge-duplicates" in shown(page)
        answer = client.post("/review/build", headers=PART)
        while "hx-redirect" not in answer.headers:
            answer = client.get("/review/progress", headers=PART)
        kb = KnowledgeBase(tmp_path / "k.kb")
        stack.enter_context(kb)
        assert {one.name: one.members for one in kb.schema.node_types} == {"film": 4, "person": 5}


@pytest.mark.system
def test_a_recipe_is_corrected_by_clicks(browser: Any, review: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with serving(review) as (url, _):
        for width, scheme in ((360, "light"), (1200, "dark")):
            tab = Tab(browser, url.geturl(), width, scheme)
            tab.drawn()
            page = tab.page
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            found = axe.Axe().run(page).response["violations"]
            assert [(v["id"], node["html"]) for v in found for node in v["nodes"]] == []
            if width == 360:
                tab.context.close()
        recipe = tmp_path / "k.recipe"
        recipe.mkdir()
        (recipe / "load.sql").write_text("mine")
        page.get_by_role("button", name="Build k.kb").click()
        page.get_by_text("was edited").wait_for()
        shutil.rmtree(recipe)  # corrections go on after a build that failed
        page.get_by_label("What genre of films becomes").select_option("nodes of its own")
        page.wait_for_function("() => kbkit.drawn?.data.nodes.length === 3")
        page.locator("[data-type=person]").get_by_label("Type").fill("human")
        page.keyboard.press("Enter")
        page.locator("[data-type=human]").wait_for()
        page.get_by_role("button", name="Build k.kb").click()
        page.get_by_role("heading", name="Types", exact=True).wait_for()
        assert page.get_by_role("region", name="Relations").inner_text().count("human") == 2
        assert tab.wrong == []
        tab.context.close()


def test_a_build_that_fails_in_any_way_says_so(review: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IngestReview, "build", fail)
    client = testclient.TestClient(review, base_url=HOST)
    client.get(f"/?token={TOKEN}")
    page = client.post("/review/build", headers=PART)
    while "hx-retarget" not in page.headers:
        page = client.get("/review/progress", headers=PART)
    assert page.headers["hx-reswap"] == "innerHTML"  # the part stays, for corrections that follow
    assert "No space left on device" in shown(page)
