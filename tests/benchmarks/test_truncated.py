"""Relations of which a source lists the first few values, and lists in place of texts: no benchmark asks for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.benchmarks.convkgyarn.conversations import read_conversations
from kbkit.benchmarks.convkgyarn.make import make as make_conversations
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.incomplete import is_truncated, truncated
from kbkit.benchmarks.left_out import LeftOutWords
from kbkit.benchmarks.quest import categories
from kbkit.benchmarks.requirements.suggested import suggested
from kbkit.benchmarks.requirements.unfit_bindings import with_starts
from kbkit.benchmarks.requirements.work_years import WorkYears
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs.make import make as make_graphs
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.kbs import LIGHT

FILMS, PEOPLE = 80, 40
FIRST = ("Ba", "Do", "Fe", "Gi", "Ka", "Lu", "Mo", "Na", "Pe", "Ro")
LAST = ("lan", "mir", "nos", "rat", "vek", "tor", "dun", "sel")


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Films with a year, a director, a language, three actors, two tags, and a list of keywords as their text."""
    folder = tmp_path_factory.mktemp("truncated")
    nodes = ["key,type,name,year", *(f"f{n},film,The {_name(n)},{1990 + n % 20}" for n in range(FILMS))]
    nodes += [f"p{n},person,{_name(n)} Lee," for n in range(PEOPLE)]
    nodes += [f"l{n},language,{name}," for n, name in enumerate(("French", "Hindi", "Welsh"))]
    nodes += [f"k{n},tag,{name}," for n, name in enumerate(("heist", "desert", "robot", "island"))]
    edges = ["head,relation,tail"]
    for n in range(FILMS):
        edges += [f"p{n % 20},directed,f{n}", f"f{n},in_language,l{n % 3}"]
        edges += [f"p{20 + (n + step) % 20},acted_in,f{n}" for step in range(3)]
        edges += [f"f{n},has_tag,k{(n + step) % 4}" for step in range(2)]
    texts = ["key,field,text", *(f'f{n},keywords,"heist, desert, robot"' for n in range(FILMS))]
    for name, lines in (("nodes", nodes), ("edges", edges), ("texts", texts)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "films.kb", stores=LIGHT) as kb:
        yield kb


def _name(number: int) -> str:
    return FIRST[number % 10] + LAST[number // 10]


def test_first_values_are_found_in_both_directions(films: KnowledgeBase) -> None:
    assert is_truncated(films, "film", "person", [("acted_in", False)])
    assert is_truncated(films, "person", "film", [("acted_in", True)])
    assert not is_truncated(films, "person", "film", [("directed", True)])
    expressions = {
        "person:<p> -> [acted_in] -> film": "acted_in",
        "(person:<p> -> [directed] -> film) & (person:<q> -> [acted_in] -> film)": "acted_in",
        "person:<p> -> [directed] -> film": "",
        "tag:<t> -> [has_tag] -> film": "",  # said of the films with that tag
        "film:<f> -> [has_tag] -> tag -> [has_tag] -> film": "has_tag",
    }
    found = {one: truncated(films, films.session.resolved(parse(one), one).root) for one in expressions}
    assert found == expressions


def test_no_template_and_no_category_has_first_values(films: KnowledgeBase) -> None:
    expressions = [one.expression for one in suggested(films, 1)]
    assert any("directed" in one for one in expressions)
    assert not any("acted_in" in one for one in expressions)
    known = categories.build(films, "film")
    assert not any("acted_in" in name for name in known.by_family())
    assert known.left_out[f"of relation acted_in, {categories.TRUNCATED}"] == 20


def test_lists_are_no_texts_of_a_graph(films: KnowledgeBase) -> None:
    gathering = Gathering(4, 1, LeftOutWords())
    with pytest.raises(KbError, match="has no texts but lists"):
        make_graphs(films, gathering, text=True)


def test_conversations_say_the_year_of_a_work(films: KnowledgeBase, tmp_path: Path) -> None:
    assert WorkYears(films).noun("film") == "film"
    assert not WorkYears(films).noun("person")
    make_conversations(films, tmp_path / "out", ConvSettings(count=6, min_turns=2, types=("film",)))
    made = list(read_conversations(tmp_path / "out"))
    years = {f"film#f{n}": str(1990 + n % 20) for n in range(FILMS)}
    first = [(f"film#{one.entity.key}", one.turns[0].question) for one in made if not one.typo]
    assert first
    assert not [text for key, text in first if years[key] not in text]
    assert not [turn for one in made for turn in one.turns if turn.predicate in ("year", "^acted_in", "acted_in")]


def test_the_named_node_is_no_evidence() -> None:
    path = 'film:"A" -> person -> film'
    assert str(with_starts(parse(f'({path}) - film:"A"'))) == str(parse(path))
    assert str(with_starts(parse(f'({path}) - (film:"A" | film:"B")'))) == str(parse(path))
    other = f'({path}) - (tag:"heist" -> film)'
    assert str(with_starts(parse(other))) == str(parse(other))
