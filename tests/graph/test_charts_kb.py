"""What `info --plot` and the `stats` commands draw, and the one option by which they do."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.benchmarks.quest import stats as quest_stats
from kbkit.benchmarks.quest.dataset import Example
from kbkit.graph import charts as kb_charts
from kbkit.kb import KnowledgeBase
from tests.console import Done
from tests.wording import Wording

Here = Callable[..., Done]


def labels(path: Path) -> list[str]:
    root = ET.fromstring(path.read_bytes())
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text") if node.text]


# -- a graph ----------------------------------------------------------------------------------------------------------


def test_types_and_relations(world: KnowledgeBase) -> None:
    types, relations, *_ = kb_charts.charts(world)
    assert (types.title, relations.title) == ("world: nodes by type", "world: edges by relation")
    counted = world.sql("SELECT type AS name, count(*) AS count FROM nodes GROUP BY ALL").rows()
    assert sorted(types.frame.rows()) == sorted(counted)
    assert types.frame["count"].is_sorted(descending=True)
    shown = dict(relations.frame.rows())
    assert shown["borders"] == world.sql("SELECT count(*) FROM borders").item()
    assert sum(shown.values()) == world.schema.edges


def test_relation_codes_have_labels(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        _, relations, *_ = kb_charts.charts(kb)
    assert relations.frame["name"][0] == "instance of (P31)"
    assert relations.frame["name"][-1].endswith(" others")
    assert relations.frame["count"].sum() == kb.schema.edges


def test_the_smallest_are_one_bar() -> None:
    frame = kb_charts._largest([(f"t{n}", n) for n in range(40)])
    assert frame.height == kb_charts.MAX_BARS + 1
    assert frame.rows()[0] == ("t39", 39)
    assert frame.rows()[-1] == ("9 others", sum(range(1, 10)))  # t0 counts nothing
    assert kb_charts._largest([("a", 1), ("b", 0)]).rows() == [("a", 1)]
    assert kb_charts._largest([]).rows() == []


@pytest.mark.parametrize("fixture", ["world", "small"])
def test_degrees_are_those_of_the_edges(fixture: str, request: pytest.FixtureRequest) -> None:
    kb: KnowledgeBase = request.getfixturevalue(fixture)
    symmetric = {r.name for r in kb.schema.relations if r.symmetric}
    found: Counter[int] = Counter()
    for head, relation, tail in set(kb.sql("SELECT head, relation::VARCHAR, tail FROM edges").rows()):
        found[head] += 1
        if relation not in symmetric:  # those are stored both ways
            found[tail] += 1
    assert kb_charts.degrees(kb).tolist() == [found[node] for node in range(kb.schema.nodes)]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=300))
def test_cumulative_fractions(values: list[int]) -> None:
    frame = kb_charts.at_least(np.array(values, np.int64))
    assert frame.height <= kb_charts._POINTS
    for value, share in frame.rows():
        assert share == pytest.approx(sum(v >= value for v in values) / len(values))
    drawn = frame["value"].to_list()
    assert drawn == sorted(set(drawn))
    assert set(drawn) <= set(values) - {0}
    if max(values):
        assert drawn[0] == min(v for v in values if v)
        assert drawn[-1] == max(values)


def test_degree_and_text_charts(world: KnowledgeBase) -> None:
    *_, degrees, texts = kb_charts.charts(world)
    alone = int((kb_charts.degrees(world) == 0).sum())
    assert degrees.title == f"world: degrees ({alone} nodes have no neighbour)"
    assert degrees.frame["type"].n_unique() == 8
    assert (degrees.lines, degrees.log, texts.log) == (True, "xy", "x")
    counts = [len(text.split(" ")) for (text,) in world.sql("SELECT text FROM texts").rows()]
    for words, share in texts.frame.select("value", "share").rows():
        assert share == pytest.approx(sum(count >= words for count in counts) / len(counts))


def test_long_texts_are_sampled(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb_charts, "_SAMPLE", 800)
    texts = kb_charts.charts(world)[-1]
    assert "a sample of" in texts.title
    assert "of 1,640 texts" in texts.title


def test_empty_charts_are_left_out(tmp_path: Path) -> None:
    pl.DataFrame({"key": ["1", "2"], "type": ["x", "y"], "name": ["a", "b"]}).write_csv(tmp_path / "nodes.csv")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "out.kb", stores=["tables"]) as kb:
        assert [chart.title for chart in kb_charts.charts(kb)] == [f"{kb.schema.name}: nodes by type"]


# -- the commands -----------------------------------------------------------------------------------------------------


@pytest.mark.system
@pytest.mark.core
def test_info_draws(here: Here, world_kb: Path, tmp_path: Path, wording: Wording) -> None:
    done = here("info", world_kb, "--plot", "out.svg", "-f", "csv", cwd=tmp_path)
    assert done.returncode == 0
    wording(done.stderr, "cli")
    assert done.stdout.startswith("item,value\n")  # the page is printed too
    shown = labels(tmp_path / "out.svg")
    assert {"world: nodes by type", "mountain", "322", "member_of", "words"} <= set(shown)
    done = here("-q", "info", world_kb, "--stark", "--plot", "out.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.html").is_file()


@pytest.mark.parametrize("command", [["info"], ["stark", "stats"], ["quest", "stats"], ["spinach", "stats"]])
def test_invalid_output_is_rejected_early(command: list[str], here: Here, tmp_path: Path, wording: Wording) -> None:
    done = here(*command, "nothing", "--plot", "out.gif", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")


# -- QUEST ------------------------------------------------------------------------------------------------------------


def example(template: str | None, domain: str | None, answers: int) -> Example:
    return Example("q", "q", tuple(map(str, range(answers))), "test", template=template, domain=domain)


def test_quest_charts() -> None:
    drawn = [("_", "films", 1), ("_", "books", 3), ("_ or _", "films", 30), (None, None, 4)]
    templates, answers = quest_stats.charts([example(*one) for one in drawn])
    assert templates.frame.select("template", "domain", "queries").rows() == [
        ("_", "books", 1),
        ("_", "films", 1),
        ("_ or _", "films", 1),
        ("none", "none", 1),
    ]
    held = {name: share for name, _, share in answers.frame.rows() if share}
    assert held == {"1": 0.25, "3-4": 0.5, "21+": 0.25}
    assert quest_stats.spread([])["share"].to_list() == [None] * len(quest_stats.BINS)
