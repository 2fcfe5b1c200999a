"""What ``answers_many`` and the sampler do on large graphs, tried on small ones: thresholds are lowered to nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.answers import batch, batch_evaluator, evaluate, pairs
from kbkit.answers.batch import count_batch, count_up_to
from kbkit.answers.bind import bind_constants
from kbkit.answers.templates import find
from kbkit.ingestion.generate import generate
from kbkit.kb import KnowledgeBase
from kbkit.stores.adjacency import Csr, Heavy
from tests.examples import examples

NAMES = ("author", "cited", "field", "institution", "same_author", "same_author_and_field", "institution_and_field")
OWN = (
    "paper:<paper> -> author -> paper | paper:<paper> -> [cites|^cites] -> paper",
    "(paper:<paper> -> field_of_study -> paper) - (paper:<paper> -> author -> paper)",
    "(paper:<paper> -> [cites+] -> paper) & (paper:<paper> -> author -> paper) & paper{year > 2000}",
    "institution:<institution> -> author -> paper <- [has_topic] <- field_of_study:<field_of_study>",
    "(institution:<institution> -> author -> paper -> author) & (author -> [affiliated_with] -> institution -> author)",
)


@pytest.fixture(scope="module")
def mag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("mag")
    generate("mag", folder, scale=0.0005, seed=9, texts=False)
    with kbkit.ingest("table", folder, out=folder / "mag.kb", stores=["adjacency"]) as kb:
        yield kb


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_evaluator, "_HEAVY", -1)
    monkeypatch.setattr(batch_evaluator, "_MANY", -1)
    monkeypatch.setattr(batch_evaluator, "_BITMAP", 0)
    monkeypatch.setattr(batch, "BLOCK", 7)
    monkeypatch.setattr(pairs, "_LONG", 0)
    monkeypatch.setattr(evaluate, "SMALL", 0)
    whole = Heavy.of
    monkeypatch.setattr(Heavy, "of", staticmethod(lambda csr: whole(csr, limit=5)))


def bindings(kb: KnowledgeBase, text: str, rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    plan = kb.session.resolved(text if not isinstance(text, str) else kbkit.answers.parse(text))
    columns = {}
    for p in (p for p in plan.parameters if not p.is_value):
        members = kb.session.members(p.type)
        columns[p.source.name] = rng.choice(members, rows).astype(np.int32)
    return columns


@pytest.fixture(params=[*NAMES, *OWN])
def template(request: pytest.FixtureRequest) -> object:
    return find(f"mag/{request.param}").tree() if request.param in NAMES else kbkit.answers.parse(request.param)


def test_one_by_one_is_the_same(mag: KnowledgeBase, template: object, lowered: None) -> None:
    columns = bindings(mag, template, 20)
    many = mag.answers_many(str(template), columns)
    for row in range(20):
        one = mag.answers(str(template), **{slot: f"#{mag.node(int(ids[row])).key}" for slot, ids in columns.items()})
        assert many.filter(binding=row)["node"].to_list() == one.ids.tolist()


@pytest.mark.parametrize("limit", [3, *(pytest.param(n, marks=pytest.mark.system) for n in (0, 20))])
def test_counting_up_to_a_bound(mag: KnowledgeBase, template: object, limit: int, lowered: None) -> None:
    plan = mag.session.resolved(template)
    columns = bindings(mag, template, 200)
    given = {p.name: columns[p.source.name] for p in plan.parameters if not p.is_value}
    counts = count_batch(plan, mag.session, bind_constants(plan, mag.session), given, 200)
    capped = count_up_to(plan, mag.session, bind_constants(plan, mag.session), given, 200, limit)
    assert capped.tolist() == np.minimum(counts, limit + 1).tolist()
    assert counts.sum() > 0


def test_samples_are_the_same(mag: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mag.sample("mag/same_author_and_field", 30, seed=2)
    monkeypatch.setattr(batch_evaluator, "_HEAVY", -1)
    monkeypatch.setattr(pairs, "_LONG", 0)
    assert mag.sample("mag/same_author_and_field", 30, seed=2).equals(before)


rows = st.lists(st.lists(st.integers(0, 30), max_size=12, unique=True), min_size=1, max_size=9)


@examples(20)
@given(rows, st.integers(1, 200), st.data())
def test_heavy_nodes(table: list[list[int]], limit: int, data: st.DataObject) -> None:
    """``meet`` is what a loop over the rows says of the heavy nodes, by both of its ways."""
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in table])))
    targets = np.array([t for row in table for t in sorted(row)], np.int32)
    heavy = Heavy.of(Csr(10, None, offsets, targets), limit)
    kept = set(heavy.nodes.tolist())
    smallest = min((len(table[n - 10]) for n in kept), default=0)
    assert len(kept) == min(limit, len(table))
    assert all(len(row) <= smallest for n, row in enumerate(table, 10) if n not in kept)
    sources = data.draw(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(sorted(kept))), unique=True))
    asked = sorted(data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(-5, 40)), max_size=30)))
    expected = [any(row == r and t in table[n - 10] for row, n in sources) for r, t in asked]
    of, nodes = (np.array([s[i] for s in sources], kind) for i, kind in ((0, np.int64), (1, np.int32)))
    row, near = (np.array([a[i] for a in asked], kind) for i, kind in ((0, np.int64), (1, np.int32)))
    assert heavy.meet(row, near, of, nodes, 5).tolist() == expected
    if asked:
        assert heavy.meet(row, near, of, nodes, 0).tolist() == expected
