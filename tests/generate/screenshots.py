"""Photograph the explorer for the README and its guide: ``python -m tests.generate.screenshots`` (needs Chromium)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import kbkit
from kbkit import assets
from kbkit.benchmarks.people.labels import Labels
from kbkit.web.explore import links
from tests.explorer import TOKEN, served

WIDTH, HEIGHT = 1100, 720
QUESTION = "Which countries does the Danube flow through?"
CHART = "SELECT name, length_km FROM river ORDER BY length_km DESC LIMIT 12"


def graph(page: Any) -> None:
    """The neighbours of the Danube."""
    page.wait_for_function("() => globalThis.kbkit?.drawn?.data.nodes.length > 5")
    page.wait_for_timeout(1500)  # the layout moves until it is at rest


def chart(page: Any) -> None:
    """The bars of a result."""
    page.get_by_text("12 rows.").wait_for()


def label(page: Any) -> None:
    """The first hits of a query, some of them graded."""
    for key in "212":
        page.keyboard.press(key)
        page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)  # the page follows the chosen hit
    page.evaluate("scrollTo(0, 0)")


SCREENS = {
    "graph": (links.page("/graph", node="river#danube"), graph),
    "search": (links.page("/search", q=QUESTION), None),
    "query": (links.page("/query", q=CHART, view="chart"), chart),
    "label": (links.page("/label/1", annotator="ann"), label),
}


def main() -> None:
    """Write ``explore-*.png`` beside the guides."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as driver,
        kbkit.ingest("world", out=Path(folder) / "world.kb") as kb,
        served(kb) as (url, _),
    ):
        Labels(kb).write("long rivers that flow through several capitals", "ann")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        page.goto(f"{url.geturl()}/?token={TOKEN}")
        for name, (path, prepare) in SCREENS.items():
            page.goto(url.geturl() + path)
            page.wait_for_load_state("networkidle")
            if prepare:
                prepare(page)
            page.screenshot(path=assets.guides() / f"explore-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
