"""Folders that change: a later run gives what an ingest with the same recipe gives, and says what changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import DamagedError, KbError
from kbkit.ingestion.changes import ChangeCounts
from kbkit.ingestion.request import IngestSettings
from kbkit.ingestion.sync import SyncResult, sync
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.examples import examples
from tests.ingestion.test_update import said, write
from tests.wording import Wording

STORES = ["tables", "adjacency"]
BODIES = (
    "A tense film about a crew and a creature in deep space, slow and patient and full of dread.",
    "Two men, one city, and a long coffee. The best shootout that was ever filmed in a street.",
    "Rain, neon and a question that is never answered, with music that stays for a long time.",
)


class Shop:
    """The model of a folder: directors, movies of a director, reviews of a movie."""

    def __init__(self, directors: dict[str, str], movies: dict[str, Any], reviews: dict[str, Any]) -> None:
        self.directors = directors
        self.movies = {key: (t, y, d if d in directors else None) for key, (t, y, d) in movies.items()}
        self.reviews = {key: (m, body) for key, (m, body) in reviews.items() if m in movies}

    def write(self, folder: Path, second: Iterable[str] = (), *, sparse: bool = True) -> Path:
        """Write the files; movies in ``second`` have one of their own. ``sparse`` objects lack empty fields."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write(folder / "directors.csv", ({"id": k, "name": n} for k, n in self.directors.items()), "id name")
        rows = [{"id": k, "title": t, "year": y, "director": d} for k, (t, y, d) in self.movies.items()]
        of_second = [row for row in rows if row["id"] in second]
        write(folder / "movies.csv", (row for row in rows if row not in of_second), "id title year director")
        if of_second:
            write(folder / "movies_2.csv", of_second, "id title year director")
        objects = [
            {"id": k, "movie": m} | ({"body": body} if body or not sparse else {})
            for k, (m, body) in self.reviews.items()
        ]
        (folder / "reviews.json").write_text(json.dumps(objects))
        return folder

    def nodes(self) -> dict[Any, Any]:
        found = {("director", k): n for k, n in self.directors.items()}
        found |= {("movie", k): (t, y) for k, (t, y, _) in self.movies.items()}
        return found | {("review", k): k for k in self.reviews}

    def edges(self) -> dict[Any, Any]:
        found = {(("movie", k), ("director", d)): 1 for k, (_, _, d) in self.movies.items() if d}
        return found | {(("review", k), ("movie", m)): 1 for k, (m, _) in self.reviews.items()}

    def texts(self) -> dict[Any, Any]:
        return {("review", k): body for k, (_, body) in self.reviews.items() if body}


def counts(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> ChangeCounts:
    changed = sum(before[key] != now[key] for key in before.keys() & now.keys())
    return ChangeCounts(len(now.keys() - before.keys()), changed, len(before.keys() - now.keys()))


def touched(before: Shop, now: Shop) -> set[Any]:
    """Nodes that are new, or whose values, texts or edges from them differ."""

    def own(shop: Shop) -> dict[Any, Any]:
        edges = {key: sorted(tail for head, tail in shop.edges() if head == key) for key in shop.nodes()}
        return {key: (value, shop.texts().get(key), edges[key]) for key, value in shop.nodes().items()}

    old = own(before)
    return {key for key, value in own(now).items() if old.get(key) != value}


FIRST = Shop(
    {"d1": "Ridley Scott", "d2": "Michael Mann"},
    {"1": ("Alien", 1979, "d1"), "2": ("Blade Runner", 1982, "d1"), "3": ("Heat", 1995, "d2")},
    {"r1": ("1", BODIES[0]), "r2": ("3", BODIES[1])},
)
DIRECTORS = st.dictionaries(st.sampled_from(["d1", "d2", "d3"]), st.sampled_from(["Ann Lee", "Bo Ek"]), min_size=1)
MOVIE = st.tuples(
    st.sampled_from(["Alien", "Heat", 'Say "Hi", 2']),
    st.sampled_from([None, 1979, 2001]),
    st.sampled_from(["d1", "d3"]),
)
MOVIES = st.dictionaries(st.sampled_from("12345"), MOVIE).map(lambda movies: {"1": ("Alien", 1979, "d1")} | movies)
REVIEW = st.tuples(st.sampled_from("123"), st.sampled_from([None, *BODIES]))
REVIEWS = st.dictionaries(st.sampled_from(["r1", "r2", "r3"]), REVIEW).map(lambda found: {"r0": ("1", None)} | found)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder ``shop`` with the KB ``shop.kb`` and its recipe; copy it before a change."""
    base = tmp_path_factory.mktemp("sync")
    kbkit.ingest(str(FIRST.write(base / "shop")), out=base / "shop.kb", sync=True, stores=STORES).close()
    return base


@pytest.fixture
def shop(first: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first, tmp_path / "base"))


def synced(base: Path, **more: Any) -> SyncResult:
    return sync(str(base / "shop"), [], base / "shop.kb", IngestSettings(sync=True), **more)


@examples(1, phases=[Phase.explicit, Phase.generate])  # shrinking would take minutes
@given(data=st.data())
def test_random_edits_give_what_a_new_ingest_gives(
    first: Path, tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    base = Path(shutil.copytree(first, tmp_path_factory.mktemp("edits") / "base"))
    before = FIRST
    with pytest.MonkeyPatch.context() as patch:
        for day in range(1, 3):
            patch.setattr("kbkit.ingestion.folder_watch.now", lambda day=day: f"2030-01-0{day}T00:00:00Z")
            after = Shop(data.draw(DIRECTORS), data.draw(MOVIES), data.draw(REVIEWS))
            second = data.draw(st.sets(st.sampled_from("12345")))
            after.write(base / "shop", second)
            expected = [counts(getattr(before, part)(), getattr(after, part)()) for part in ("nodes", "edges", "texts")]
            assert synced(base, dry_run=True).changes == (result := synced(base)).changes
            assert [result.changes.nodes, result.changes.edges, result.changes.texts] == expected
            assert (result.folder is not None) == any(count for one in expected for count in vars(one).values())

            after.write(base / "whole", sparse=False)
            recipe = str(base / "shop.recipe")
            with (
                KnowledgeBase(base / "shop.kb") as kb,
                kbkit.ingest(recipe, base / "whole", out=base / "again.kb", stores=STORES, replace=True) as again,
            ):
                assert said(kb) == said(again)
                assert [problem for _, problem in kb.check() if problem] == []
                rows = kb.sql("SELECT type::VARCHAR AS type, key, file, changed FROM provenance JOIN nodes USING (id)")
            assert {(t, k) for t, k, _, changed in rows.rows() if changed.day == day} >= touched(before, after)
            new = {(t, k) for t, k, _, changed in rows.rows() if (changed.year, changed.day) == (2030, day)}
            assert new == touched(before, after)
            files = {(t, k): file for t, k, file, _ in rows.rows()}
            assert files == {place: file_of(place, second) for place in after.nodes()}
            before = after
    shutil.rmtree(base)


def file_of(place: tuple[str, str], second: Iterable[str]) -> str:
    kind, key = place
    return {"director": "directors.csv", "review": "reviews.json"}.get(
        kind, "movies_2.csv" if key in second else "movies.csv"
    )


def test_an_unchanged_folder_builds_nothing(shop: Path, here: Run) -> None:
    assert not synced(shop).folder
    (shop / "shop" / "movies.csv").touch()
    assert here("ingest", shop / "shop", "-o", shop / "shop.kb", "--sync").stdout == "nothing changed\n"
    assert [path.name for path in (shop / "shop.kb" / "generations").iterdir()] == ["0001"]


def edited(name: str, change: Callable[[str], str]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(change((folder / name).read_text()))


def copied(name: str, new: str, change: Callable[[str], str] = lambda text: text) -> Callable[[Path], object]:
    return lambda folder: (folder / new).write_text(change((folder / name).read_text()))


UNCOVERED = {
    "a new column": (edited("movies.csv", lambda t: t.replace("\n", ",5\n").replace("director,5", "director,stars")),
                     ["'stars'", "movies.csv"]),
    "a missing column": (edited("movies.csv", lambda t: t.replace("director", "by")), ["'director'", "movies.csv"]),
    "a new field": (edited("reviews.json", lambda t: t.replace('"id"', '"stars": 4, "id"')),
                    ["'stars'", "reviews.json"]),
    "a new file": (copied("movies.csv", "actors.csv"), ["actors.csv"]),
    "a new file with other columns": (copied("movies.csv", "movies_2.csv", lambda t: t.replace("year", "yr")),
                                      ["'year'", "movies_2.csv"]),
    "a missing file": (lambda folder: (folder / "movies.csv").unlink(), ["movies.csv"]),
    "a link to nothing": (edited("movies.csv", lambda t: t.replace("d2", "d9")), ["'d9'"]),
}  # fmt: skip


@pytest.mark.parametrize("case", UNCOVERED)
def test_what_the_recipe_does_not_cover_is_named(shop: Path, wording: Wording, case: str) -> None:
    change, facts = UNCOVERED[case]
    change(shop / "shop")
    with pytest.raises(KbError) as raised:
        synced(shop)
    for fact in facts:
        assert fact in str(raised.value)
    wording(str(raised.value))
    assert (shop / "shop.kb" / "CURRENT").read_text() == "0001\n"


def test_other_changes_are_not_lost(shop: Path, tmp_path: Path) -> None:
    nodes = write(tmp_path / "more.csv", [{"type": "movie", "key": "9", "name": "Zodiac"}], "type key name")
    with kbkit.update(shop / "shop.kb", nodes=[nodes]) as kb:
        found = kb.sql(
            "SELECT key, file FROM provenance JOIN nodes USING (id) WHERE type = 'movie' ORDER BY key"
        ).rows()
        assert found == [("1", "movies.csv"), ("2", "movies.csv"), ("3", "movies.csv"), ("9", "more.csv")]
        assert "from more.csv, added" in str(kb.page("movie#9"))
    with pytest.raises(KbError, match=r"more\.csv"):
        synced(shop)
    with kbkit.ingest(str(shop / "shop"), out=shop / "shop.kb", sync=True, replace=True, stores=STORES) as kb:
        assert kb.schema.type("movie").count == 3


def test_an_empty_list_has_no_rows(shop: Path) -> None:
    (shop / "shop" / "reviews.json").write_text("[]")
    assert str(synced(shop).changes) == "2 nodes removed; 2 edges removed; 2 texts removed"


def test_settings_of_the_first_run_hold(shop: Path) -> None:
    with pytest.raises(KbError, match="name differs"):
        kbkit.ingest(str(shop / "shop"), out=shop / "shop.kb", sync=True, name="other")
    edited("movies.csv", lambda text: text.replace("Heat", "Heat 2"))(shop / "shop")
    for _ in range(2):  # the second build has the settings from the first one's record
        with kbkit.ingest(str(shop / "shop"), out=shop / "shop.kb", sync=True, stores=STORES) as kb:
            assert (kb.schema.name, kb.has("text")) == ("shop", False)
        edited("movies.csv", lambda text: text.replace("Heat 2", "Heat 3"))(shop / "shop")


def test_an_edited_recipe_reads_all_files_again(shop: Path) -> None:
    script = shop / "shop.recipe" / "load.sql"
    script.write_text(script.read_text().replace("title AS name", "upper(title) AS name"))
    with kbkit.ingest(str(shop / "shop.recipe"), shop / "shop", out=shop / "shop.kb", sync=True) as kb:
        assert kb.sql("SELECT name FROM movie ORDER BY name").to_series().to_list() == ["ALIEN", "BLADE RUNNER", "HEAT"]
    edited("movies.csv", lambda text: text.replace("Heat", "Heat 2"))(shop / "shop")
    with kbkit.ingest(str(shop / "shop"), out=shop / "shop.kb", sync=True) as kb:
        assert kb.find("HEAT 2")


def test_a_failed_build_leaves_the_kb_as_it_was(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    edited("movies.csv", lambda text: text.replace("Heat", "Heat 2"))(shop / "shop")
    with monkeypatch.context() as patch:
        patch.setattr("kbkit.ingestion.build.publish", interrupted)
        with pytest.raises(KbError, match="interrupted"):
            synced(shop)
    assert [path.name for path in (shop / "shop.kb" / "generations").iterdir()] == ["0001"]
    assert str(synced(shop).changes) == "1 node changed"


def test_files_of_a_shipped_recipe(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    write(folder / "nodes.csv", [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}], "id name")
    write(folder / "edges.csv", [{"head": "a", "relation": "to", "tail": "b"}], "head relation tail")
    kbkit.ingest("table", folder, out=tmp_path / "own.kb", sync=True, stores=STORES).close()
    write(folder / "nodes.csv", [{"id": "a", "name": "A", "size": 3}, {"id": "b", "name": "B"}], "id name size")
    result = sync("table", [folder], tmp_path / "own.kb", IngestSettings(sync=True))
    assert str(result.changes) == "1 node changed"
    with KnowledgeBase(tmp_path / "own.kb") as kb:
        assert kb.sql("SELECT DISTINCT file FROM provenance").rows() == [("nodes.csv",)]
        assert [a.name for a in kb.schema.type("entity").attributes] == ["size"]


def test_a_kb_that_was_not_built_with_sync(tmp_path: Path) -> None:
    kbkit.ingest(str(FIRST.write(tmp_path / "shop")), out=tmp_path / "shop.kb", stores=STORES).close()
    with pytest.raises(KbError, match="not built to be kept in step"):
        kbkit.ingest(str(tmp_path / "shop"), out=tmp_path / "shop.kb", sync=True)


@pytest.mark.parametrize("content", [b"\xff", b'{"recipe": ', b"[" * 100_000])
def test_a_damaged_record(shop: Path, content: bytes) -> None:
    record = next((shop / "shop.kb").glob("generations/*/sync/source.json"))
    record.write_bytes(content)
    with pytest.raises(DamagedError, match=r"source.json is damaged: .*Run kbkit check KB for details"):
        synced(shop)
