"""The review of an inferred recipe in the browser: corrections of any kind, taken back, built, and built at once.

Each request is answered without an internal error; a build that fails says why on the page; one that ends leads to the
explorer of a KB that passes its check.
"""

from __future__ import annotations

import contextlib
import html
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kbkit
from kbkit.errors import KbError
from kbkit.ingestion.request import IngestSettings
from kbkit.ingestion.review import reviewing
from kbkit.kb import KnowledgeBase
from tests.fuzz import Bench, Broken
from tests.fuzz.inferred import KINDS
from tests.fuzz.values import HangError, shown, text, watched

REQUESTS = 30
"""Requests of a case."""
_FILES = {
    "films.csv": "film_id,title,year,director\nF1,Alien,1979,P1\nF2,Brazil,1985,P2\nF3,Gravity,2013,P1\n",
    "people.csv": "id,name,country\nP1,Ridley,UK\nP2,Terry,USA\n",
    "cast.csv": "film_id,person_id,role\nF1,P1,Ripley\nF2,P1,himself\n",
}
_PART = {"HX-Request": "true"}
_TOKEN = "token"


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Review files, and build what became of them."""
    from starlette import testclient

    from kbkit.web.explore import app

    rng = random.Random(seed)
    source, out = bench.folder / "source", bench.folder / "x.kb"
    source.mkdir()
    if rng.random() < 0.6:
        for name, content in _FILES.items():
            (source / name).write_text(content, encoding="utf-8")
    else:
        rng.choice(KINDS)(source, rng)
    with contextlib.ExitStack() as stack:
        try:
            settings = IngestSettings(stores=["tables", "adjacency", "text"])
            review = stack.enter_context(reviewing(str(source), [], out, settings))
        except KbError:
            return
        served = app.reviewing(review, _TOKEN, lambda path: stack.enter_context(KnowledgeBase(path)))
        client = testclient.TestClient(served, base_url="http://127.0.0.1:7890", raise_server_exceptions=False)
        client.get("/", params={"token": _TOKEN})
        did: list[str] = []
        for _ in range(REQUESTS):
            did.append(_request(client, review, rng))
            if problem := did[-1].partition("BROKEN ")[2]:
                yield Broken(f"{_told(source)}: {' / '.join(did[-8:])}", problem)
        yield from (Broken(f"{_told(source)}: {' / '.join(did[-12:])}", problem) for problem in _built(client, out))


def _told(source: Path) -> str:
    return ", ".join(f"{path.name}: {shown(path.read_bytes(), 300)}" for path in sorted(source.rglob("*.*")))


def _request(client: Any, review: Any, rng: random.Random) -> str:
    """Send a request; return what it was, and what is broken after ``BROKEN``."""
    what = rng.choice(("correct",) * 8 + ("undo", "data", "", "progress") + ("build",) * (rng.random() < 0.1))
    form = {}
    if what == "correct":
        tables = {table.name: [column.name for column in table.columns] for table in review.tables()}
        table = rng.choice(sorted(tables))
        columns = tables[table] or [""]
        kind = rng.choice(("type", "key", "name", "column", "column", "column"))
        link = f"link:{rng.choice(sorted(tables))}"
        values = {"column": ("attribute", "text", "nodes", "omit", link, "link:", "link:x"), "type": ("person", "")}
        value = rng.choice(values.get(kind, ("", *columns)))
        form = {"what": kind, "table": table, "column": rng.choice(columns), "value": value}
        if rng.random() < 0.2:
            name = rng.choice(sorted(form))
            form[name] = text(rng)[:5_000].encode("utf-8", "replace").decode()
    about = f"{what} {shown(form)}" if form else what
    try:
        with watched():
            if what in ("correct", "undo", "build"):
                answer = client.post(f"/review/{what}", data=form, headers=_PART)
            else:
                answer = client.get(f"/review/{what}" if what else "/", headers=_PART if what == "progress" else {})
    except HangError:
        return f"{about} BROKEN no end after the limit of time"
    except Exception as error:  # noqa: BLE001
        return f"{about} BROKEN {type(error).__name__}: {shown(str(error), 300)}"
    if answer.status_code >= 500 or "nternal error" in answer.text:
        return f"{about} BROKEN status {answer.status_code}: {shown(answer.text, 300)}"
    return about


def _built(client: Any, out: Path) -> Iterator[str]:
    """Build, and yield what is wrong with what the page says or with the KB."""
    client.post("/review/build", headers=_PART)
    end = time.monotonic() + 60
    while True:
        answer = client.get("/review/progress", headers=_PART)
        if answer.headers.get("hx-retarget") or "hx-redirect" in answer.headers or answer.status_code != 200:
            break
        if time.monotonic() > end:
            yield "the build does not end"
            return
        time.sleep(0.05)
    if not (out / "CURRENT").exists():
        said = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())
        if 'class="problem"' not in answer.text and "problem" not in answer.text:
            yield f"the build failed, and the page says nothing of it: {shown(said, 300)}"
        return
    with kbkit.open(out) as kb:
        yield from (f"check: {name}: {problem}" for name, problem in kb.check() if problem)
