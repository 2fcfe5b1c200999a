"""Instances over a graph, with and without texts: their statements hold, by SQL on the units alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit.benchmarks.dataset import QUERIES
from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.quest.make import make as make_quest
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.benchmarks.requirements.settings import RequirementSettings
from kbkit.benchmarks.ska import instances, statements
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs import make as graph
from kbkit.benchmarks.ska.instances import PASSAGE, TRIPLE, Instance, KnowledgeUnit
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.stark.make import make as make_stark
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from tests.benchmarks.ska.of_mountains import of_mountains
from tests.loops import each

SEED, KG, TEXT = 7, 12, 3
NOISE = 300  # units of an instance; the default is eight times as many


@pytest.fixture(scope="module")
def kg(world: KnowledgeBase) -> list[Instance]:
    made = graph.make(world, Gathering(KG, SEED), noise_units=NOISE)
    assert len(made) == KG
    return made


@pytest.fixture(scope="module")
def text(world: KnowledgeBase) -> list[Instance]:
    made = graph.make(world, Gathering(TEXT, SEED), text=True, noise_units=NOISE, templates=lambda: of_mountains(world))
    assert len(made) == TEXT
    return made


@pytest.fixture(scope="module")
def both(kg: list[Instance], text: list[Instance]) -> list[Instance]:
    return [*kg, *text]


def references(world: KnowledgeBase, answers: object) -> list[str]:
    return [row.reference for row in world.stores.nodes.rows(answers.ids.tolist()).values()]  # type: ignore[attr-defined]


# test_make.py proves a few instances of each form in the default run.
# -- the statements ---------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_statements_hold(both: list[Instance]) -> None:
    with Solver() as solver:
        assert [(one.id, failed) for one in each(both) if (failed := statements.check_instance(one, solver))] == []


@pytest.mark.system
def test_any_part_of_the_noise_changes_nothing(both: list[Instance]) -> None:
    rng = random.Random(1)
    with Solver() as solver:
        for one in each(both):
            for share in (0.02, 0.3, 0.9):
                part = rng.sample(one.noise, round(share * len(one.noise)))
                assert solver.answers(one, [*part, *one.positive]) == set(one.answers), one.question
                assert not solver.answers(one, part)


@pytest.mark.system
def test_most_positive_units_are_needed(kg: list[Instance]) -> None:
    """Only where an answer has several derivations is a unit redundant."""
    with Solver() as solver:
        redundant = sum(len(statements.redundant(one, solver)) for one in kg)
    assert redundant < 0.4 * sum(len(one.positive) for one in kg)


@pytest.mark.system
def test_a_wrong_instance_fails_in_plain_words(kg: list[Instance], text: list[Instance]) -> None:
    one = next(i for i in kg if len(i.answers) == 1 and len(i.positive) > 1)
    with Solver() as solver:
        moved = changed(one, positive=one.positive[1:], noise=[one.positive[0], *one.noise])
        assert statements.check_instance(moved, solver) == [f"the positive units do not give {one.answers[0]}"]
        moved = changed(one, positive=one.positive, noise=[*one.positive, *one.noise])
        assert statements.check_instance(moved, solver) == [f"the noise alone gives {one.answers[0]}"]
        moved = changed(one, answers=["Atlantis"])
        assert statements.check_instance(moved, solver)[0] == (
            f"the positive units do not give Atlantis and also give {one.answers[0]}"
        )
        untouched = text[0].provenance.sql.split("\n  AND id IN (SELECT id FROM mention")[0]
        failed = statements.check_instance(changed(text[0], sql=untouched), solver)
        assert any("give" in message for message in failed)
        assert statements.check_instance(changed(one, sql=""), solver) == ["the instance has no query"]
        assert statements.check_instance(changed(one, sql="SELECT x"), solver)[0].startswith("the query fails")


def changed(one: Instance, sql: str | None = None, **fields: object) -> Instance:
    import dataclasses

    if sql is not None:
        fields["provenance"] = dataclasses.replace(one.provenance, sql=sql)
    return dataclasses.replace(one, **fields)  # type: ignore[arg-type]


# -- the units --------------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_answers_are_those_of_another_engine(world: KnowledgeBase, kg: list[Instance]) -> None:
    for one in each(kg):
        found = world.answers(one.provenance.expression, engine="sparql")
        assert sorted(found.nodes()["name"]) == sorted(one.answers)


@pytest.mark.system
def test_triples_are_those_of_the_kb(world: KnowledgeBase, both: list[Instance]) -> None:
    sql = (
        "SELECT h.type || '#' || h.key, e.relation::VARCHAR, t.type || '#' || t.key, h.name, t.name FROM edges e"
        " JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
    )
    edges = {(head, relation, tail) for head, relation, tail, _, _ in world.sql(sql).iter_rows()}
    symmetric = {relation.name for relation in world.schema.relations if relation.symmetric}
    for one in each(both):
        triples = [tuple(unit.source) for unit in one.units if unit.kind == TRIPLE and unit.source[2]]
        assert set(triples) <= edges
        assert len(set(triples)) == len(triples)
        assert not any((tail, r, head) in triples for head, r, tail in triples if r in symmetric and head != tail)


@pytest.mark.system
def test_no_noise_turns_a_positive_triple_round(both: list[Instance]) -> None:
    for one in each(both):
        ends = {(unit.source[0], unit.source[2]) for unit in one.positive if unit.kind == TRIPLE}
        noise = {(unit.source[2], unit.source[0]) for unit in one.noise if unit.kind == TRIPLE}
        assert not ends & noise


@pytest.mark.system
def test_noise_is_near_the_question(world: KnowledgeBase, both: list[Instance]) -> None:
    """Within four steps of the named nodes; with texts within two of answers, decoys and near misses."""
    ids = {f"{kind}#{key}": n for n, kind, key in world.sql("SELECT id, type::VARCHAR, key FROM nodes").iter_rows()}
    edges = world.sql("SELECT head, tail FROM edges").to_numpy()
    edges = np.concatenate((edges, edges[:, ::-1]))
    for one in each(both):
        is_text = one.form == "kg+text"
        start = one.provenance.topics
        if is_text:
            kind, [*phrases] = one.provenance.asked, one.provenance.phrases
            own = [u for u in one.units if u.kind == PASSAGE and u.source[0].startswith(f"{kind}#")]
            start = [*start, *(u.source[0] for u in own if any(p.lower() in u.content[1].lower() for p in phrases))]
        distance = np.full(world.schema.nodes, 99)
        distance[[ids[node] for node in start]] = 0
        for step in range(1, 5):
            ends = edges[distance[edges[:, 0]] == step - 1, 1]
            distance[ends] = np.minimum(distance[ends], step)
        nodes = {node for u in one.noise if u.kind == TRIPLE for node in u.source[::2] if node}
        steps = distance[[ids[node] for node in nodes]]
        # There are as many near misses beside few units as beside many
        assert (steps > 2).mean() < 0.02 * graph.NOISE_UNITS / NOISE if is_text else steps.max() <= 4


@pytest.mark.system
def test_relations_alone_give_more_than_the_answers(text: list[Instance]) -> None:
    with Solver() as solver:
        for one in each(text):
            sql = one.provenance.sql.partition("\n  AND id IN (SELECT id FROM mention")[0]
            assert solver.answers(changed(one, sql=sql), one.units) > set(one.answers)


@pytest.mark.system
def test_values_and_texts_are_those_of_the_kb(world: KnowledgeBase, both: list[Instance]) -> None:
    lengths = dict(world.sql("SELECT 'river#' || key, length_km::VARCHAR FROM river").iter_rows())
    texts = {
        (r, f): t
        for r, f, t in world.sql(
            "SELECT n.type || '#' || n.key, t.field::VARCHAR, t.text FROM texts t JOIN nodes n USING (id)"
        ).iter_rows()
    }
    for unit in each(unit for one in both for unit in one.units):
        if unit.kind == PASSAGE:
            assert texts[unit.source[0], unit.source[1]] == unit.content[1]
        elif unit.source[1] == "length_km":
            assert lengths[unit.source[0]] == unit.content[2]
        elif unit.source[1] == "area_km2":
            assert not unit.content[2].endswith(".0")


@pytest.mark.system
def test_shapes(kg: list[Instance], text: list[Instance]) -> None:
    for one in kg:
        assert {unit.kind for unit in one.units} == {TRIPLE}
        assert len(one.noise) == NOISE
    for one in text:
        assert sum(unit.kind == TRIPLE for unit in one.units) >= 200
        assert {unit.kind for unit in one.positive} == {TRIPLE, PASSAGE}
        assert {unit.kind for unit in one.noise} == {TRIPLE, PASSAGE}
    sizes = Counter(min(len(one.positive), 5) for one in kg)
    assert all(sizes[size] for size in (2, 4, 5))
    kinds = Counter(one.provenance.question_id.split("/")[0] for one in kg)
    assert set(kinds) == {"relations", "exclusions", "conditions"}


@pytest.mark.system
def test_a_name_stands_for_one_node(both: list[Instance]) -> None:
    for one in each(both):
        nodes: dict[str, set[str]] = {}
        for unit in one.units:
            pairs = (
                zip(unit.content[::2], unit.source[::2], strict=True)
                if unit.kind == TRIPLE
                else [(unit.content[0], unit.source[0])]
            )
            for name, reference in pairs:
                if reference:
                    nodes.setdefault(name.casefold(), set()).add(reference)
        assert [name for name, found in nodes.items() if len(found) > 1] == []


@pytest.mark.system
def test_no_question_names_its_answer(both: list[Instance]) -> None:
    assert [one.question for one in both if leaks(one.question, one.answers)] == []
    assert len({one.question for one in both}) == len(both)


@pytest.mark.system
def test_an_exclusion_has_both_proofs(kg: list[Instance]) -> None:
    """Without the proofs of the excluded candidates there would be more answers."""
    excluding = [one for one in kg if one.provenance.question_id.startswith("exclusions")]
    with Solver() as solver:
        for one in each(excluding):
            needed = [
                unit
                for unit in one.positive
                if len(solver.answers(one, without(one.positive, unit))) > len(one.answers)
            ]
            assert needed, one.question


def without(units: Sequence[KnowledgeUnit], left_out: KnowledgeUnit) -> list[KnowledgeUnit]:
    return [unit for unit in units if unit is not left_out]


@pytest.mark.system
def test_noise_is_in_random_order(kg: list[Instance]) -> None:
    """Nodes of the question occur throughout, so that small testbeds have hard noise."""
    for one in each(kg):
        near = [
            unit.source[0] in one.provenance.topics or unit.source[2] in one.provenance.topics for unit in one.noise
        ]
        if sum(near) > 30:
            assert any(near[: len(near) // 2])
            assert any(near[len(near) // 2 :])


# -- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_same_seed_same_bytes(world_kb: Path, text: list[Instance], tmp_path: Path) -> None:
    with kbkit.open(world_kb) as kb:
        again = graph.make(kb, Gathering(TEXT, SEED), text=True, noise_units=NOISE, templates=lambda: of_mountains(kb))
    assert (
        instances.write_instances(tmp_path, again).read_bytes()
        == instances.write_instances(tmp_path, text).read_bytes()
    )
    assert instances.read_instances(tmp_path) == text


@pytest.mark.system
def test_noise_has_the_size_asked_for(world: KnowledgeBase) -> None:
    [one] = graph.make(world, Gathering(1), noise_units=50)
    assert len(one.noise) == 50
    [one] = graph.make(world, Gathering(1))
    assert 1_500 < len(one.noise) <= graph.NOISE_UNITS  # the subgraph of some topics is smaller


@pytest.mark.system
def test_questions_of_generated_datasets(world: KnowledgeBase, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"  # the atlas suggests only templates of countries, which need no texts
    own.write_text(
        "".join(
            f'[[template]]\nid = "own/{number}"\nexpression = "{one.expression}"\nanswer = "{one.answer}"\n'
            f'question = "{one.question}"\n'
            for number, one in enumerate(of_mountains(world))
        ),
        encoding="utf-8",
    )
    settings = RequirementSettings(30, seed=5, max_answers=6, templates=(str(own),))
    queries = make_stark(world, tmp_path / "stark", settings).report["queries"]
    make_quest(world, tmp_path / "quest", QuestSettings(("country",), 7, scale=True))
    files = (tmp_path / "stark", tmp_path / "quest" / QUERIES)
    left_out: Counter[str] = Counter()
    made = graph.make(world, Gathering(40, left_out=left_out), files=files, noise_units=20)
    assert {one.provenance.dataset for one in made} == {"stark", "quest"}
    assert left_out["it needs texts"]
    assert len(made) + left_out.total() == queries + sum(1 for _ in (tmp_path / "quest" / QUERIES).open())
    with_text = graph.make(world, Gathering(40), text=True, files=files, noise_units=20)
    assert {one.provenance.dataset for one in with_text} == {"stark"}


# -- bad input --------------------------------------------------------------------------------------------------------


def test_a_kb_without_texts(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,person,Ada\nb,person,Bob\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,b\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "small.kb") as kb:
        with pytest.raises(KbError, match=r"has no texts, so there are no instances of the form kg\+text"):
            graph.make(kb, Gathering(1), text=True)
        with pytest.raises(KbError, match="No question of the form kg has answers"):  # but a look-up
            graph.make(kb, Gathering(1))


@pytest.mark.system
def test_positive_units_that_exceed_the_limit(world: KnowledgeBase) -> None:
    left_out: Counter[str] = Counter()
    made = graph.make(world, Gathering(2, left_out=left_out), max_positive=3, noise_units=20)
    assert max(len(one.positive) for one in made) <= 3
    assert left_out["more than 3 positive units"]
    with pytest.raises(KbError, match=r"None of the \d+ questions .* more than 0 positive units"):
        graph.make(world, Gathering(1), max_positive=0)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("country{max area_km2}", "it needs all candidates"),
        ("count(country)", "it asks for a value"),
        ("country", "it asks for all nodes"),
        ("country{missing(area_km2)}", "it asks for missing values"),
        ("country -> [nonsense] -> river", "its expression does not fit the KB"),
        ("country#NIC -> [capital] -> city", "the question names its answer"),
    ],
)
def test_questions_that_cannot_be_used(world: KnowledgeBase, tmp_path: Path, record: str, reason: str) -> None:
    import json

    line = {"id": "0", "query": "Is it Managua?", "expression": record}
    (tmp_path / QUERIES).write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(KbError, match=reason):
        graph.make(world, Gathering(1), files=(tmp_path,))


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"id": "0", "query": "x"}', "Missing field"), ('{"query": "x", "expression": "a", "answers": [1]}', "Invalid")],
)
def test_invalid_files(world: KnowledgeBase, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / QUERIES).write_text(line + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=message):
        graph.make(world, Gathering(1), files=(tmp_path,))
    with pytest.raises(KbError, match="does not exist"):
        graph.make(world, Gathering(1), files=(tmp_path / "none",))
