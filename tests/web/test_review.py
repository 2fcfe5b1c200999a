"""`kbkit ingest --review`: the pages that correct an inferred recipe, and what they become."""

from __future__ import annotations

import contextlib
import errno
import html
import re
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


@pytest.mark.system
def test_a_recipe_is_corrected_by_clicks(browser: Any, review: Any) -> None:
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
    assert "No space left on device" in shown(page)
