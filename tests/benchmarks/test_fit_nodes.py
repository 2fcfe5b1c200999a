"""Nodes that questions leave out, and what a question may deny."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit.answers.sample_sets import SampleRequest
from kbkit.answers.templates import Template
from kbkit.benchmarks import fit_nodes
from kbkit.benchmarks.doubted_facts import doubted
from kbkit.benchmarks.quest import categories, sample
from kbkit.benchmarks.quest.grammar import grammar
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.benchmarks.ska.graphs import questions
from kbkit.benchmarks.ska.tables.sources import of_type
from kbkit.english.markers import CRUDE, NO_TOPIC, STORED
from kbkit.kb import KnowledgeBase
from tests.kbs import LIGHT
from tests.loops import each

FILMS = 40
TAGS = ("space", "bd-r", "joe dante", "vomiting", "real", "two word title", "Film 3")


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Films with a year each, but the first with two; all but one have one of three genres, some a second one."""
    folder = tmp_path_factory.mktemp("films")
    nodes = ["key,type,name", *(f"f{n},film,Film {n}" for n in range(FILMS)), "p,person,Joe Dante"]
    nodes += [f"t{n},tag,{name}" for n, name in enumerate(TAGS)]
    nodes += [f"y{year},year,{year}" for year in (1990, 1991)]
    nodes += [f"g{name},genre,{name}" for name in ("War", "Drama", "Crime")]
    edges = ["head,relation,tail", "f0,released,y1991"]
    edges += [f"f{n},released,y1990" for n in range(FILMS)]
    edges += [f"f{n},has_tag,t{n % len(TAGS)}" for n in range(FILMS)]
    edges += [f"f{n},has_genre,g{('War', 'Drama', 'Crime')[n % 3]}" for n in range(1, FILMS)]
    edges += [f"f{n},has_genre,g{('Drama', 'Crime', 'War')[n % 3]}" for n in range(1, FILMS, 4)]
    edges += [f"p,directed,f{n}" for n in range(0, FILMS, 2)]
    texts = ["key,text", "f1,A man and his dog run away / two sisters open a small shop", "f2,He is 1/2 French / Dutch"]
    for name, lines in (("nodes", nodes), ("edges", edges), ("texts", texts)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "films.kb", stores=LIGHT) as kb:
        yield kb


@pytest.mark.parametrize(("gulfs", "are_mixed"), [(1, False), (2, True)])
def test_a_type_whose_nodes_are_named_as_another_kind(gulfs: int, are_mixed: bool, tmp_path: Path) -> None:
    names = [*(f"Gulf of A{n}" for n in range(gulfs)), *(f"B{n} Sea" for n in range(15)), "Sea of Gulf", "C Gulf D"]
    nodes = ["key,type,name", *(f"s{n},sea,{name}" for n, name in enumerate(names)), "f,film,The Gulf"]
    (tmp_path / "nodes.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\nf,shot_on,s0\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "g.kb", stores=LIGHT) as kb:
        assert fit_nodes.mixed_types(kb) == ({"sea"} if are_mixed else set())


def test_relations_that_lead_to_one_node(world: KnowledgeBase) -> None:
    assert fit_nodes.is_function(world, "country", [("capital", True)])
    assert not fit_nodes.is_function(world, "country", [("borders", True)])
    assert not fit_nodes.is_function(world, "continent", [("in_continent", False)])
    assert not fit_nodes.is_function(world, "river", [("capital", True)])


def test_labels_that_tell_nothing_are_left_out(films: KnowledgeBase) -> None:
    names = dict(films.sql("SELECT id, name FROM nodes WHERE type = 'tag'").rows())
    reasons = {names[node]: reason for node, reason in fit_nodes.left_out_markers(films).items()}
    assert reasons == {
        "bd-r": STORED,
        "joe dante": fit_nodes.AMBIGUOUS,
        "vomiting": CRUDE,
        "real": NO_TOPIC,
        "two word title": STORED,
    }


def test_nodes_with_two_years_or_two_texts_are_merged(films: KnowledgeBase) -> None:
    names = dict(films.sql("SELECT id, name FROM nodes WHERE type = 'film'").rows())
    assert {names[node] for node in fit_nodes.merged_nodes(films)} == {"Film 0", "Film 1"}


def test_labels_of_few_things_and_of_things_of_all_kinds_tell_nothing(
    films: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_nodes, "_LABELLED", 30)
    names = dict(films.sql("SELECT id, name FROM nodes WHERE type = 'tag'").rows())
    reasons = {names[node]: reason for node, reason in fit_nodes.left_out_markers(films).items()}
    assert reasons["space"] == reasons["Film 3"] == fit_nodes.SCATTERED
    assert reasons["real"] == NO_TOPIC
    monkeypatch.setattr(fit_nodes, "_HOLDERS", 7)
    assert fit_nodes.RARE not in reasons.values()
    assert fit_nodes.RARE in fit_nodes.left_out_markers(films).values()
    monkeypatch.setattr(fit_nodes, "_DEVIATION", -9.0)
    monkeypatch.setattr(fit_nodes, "_LIFT", 0.5)
    assert fit_nodes.SCATTERED not in fit_nodes.left_out_markers(films).values()


def test_wholes_have_parts(world: KnowledgeBase) -> None:
    names = dict(world.sql("SELECT id, name FROM nodes WHERE type = 'sea'").rows())
    above = {names[node] for node in fit_nodes.wholes(world, "sea")}
    assert "Atlantic Ocean" in above
    assert "Gulf of Guinea" not in above
    assert not fit_nodes.wholes(world, "sea", ["part_of"])
    assert not fit_nodes.wholes(world, "country")


def test_two_years_of_most_nodes_are_no_sign_of_merging(world: KnowledgeBase) -> None:
    assert not fit_nodes.merged_nodes(world)


@pytest.mark.parametrize(
    ("counts", "whole"),
    [([1, 1, 1, 1], True), ([1] * 40 + [2], True), ([1, 1, 1, 2], False), ([1, 2, 2, 3], True), ([], True)],
)
def test_lists_that_are_whole(counts: list[int], whole: bool) -> None:
    assert fit_nodes.are_whole(np.array(counts, np.int64)) == whole


def request() -> SampleRequest:
    return SampleRequest(50, 0, 1, 40, constraints=QuestSettings(("x",), scale=True).bounds())


def test_differences_deny_only_what_each_answer_has_a_value_of(world: KnowledgeBase) -> None:
    found = categories.build(world, "country")
    shape = grammar().shape("_ that are not _")
    drawn = sample.candidates(found, shape, request())
    heads = {
        name: set(world.sql(f'SELECT DISTINCT head FROM "{name}"')["head"].to_list())
        for name in ("member_of", "speaks", "uses_currency")
    }
    checked = 0
    for row, denied in enumerate(drawn.rows[:, 1].tolist()):
        relation = next((name for name in heads if f"[{name}]" in found.items[denied].family), "")
        answers = drawn.answers.indices[drawn.answers.indptr[row] : drawn.answers.indptr[row + 1]].tolist()
        assert not relation or heads[relation].issuperset(answers)
        checked += bool(relation)
    assert checked


def test_unions_join_categories_that_share_many_members(world: KnowledgeBase) -> None:
    found = categories.build(world, "country")
    drawn = sample.candidates(found, grammar().shape("_ or _"), request())
    members = {number: set(found.sets.matrix[[number]].indices.tolist()) for number in set(drawn.rows.ravel().tolist())}
    assert len(drawn.rows) > 10
    for one, other in each(drawn.rows.tolist(), 10):
        common, every = members[one] & members[other], members[one] | members[other]
        assert len(common) >= max(2, 0.25 * len(every))
        assert found.items[one].family == found.items[other].family
        assert not {found.named[one], found.named[other]} & (members[one] | members[other])  # no answer is named


def test_facts_that_an_attribute_qualifies_decide_about_no_answer(world: KnowledgeBase) -> None:
    edges = doubted(world)["speaks"]
    rows = world.sql("SELECT head, tail FROM speaks WHERE status = 'de facto'").rows()
    assert edges == set(rows)
    assert len(edges) > 10
    found = categories.build(world, "country")
    doubtful = {
        number: {head for head, tail in edges if tail == found.named[number]} for number in range(len(found.items))
    }
    checked = 0
    for template in ("_", "_ that are also _", "_ that are not _"):
        drawn = sample.candidates(found, grammar().shape(template), request())
        for row, numbers in enumerate(drawn.rows.tolist()):
            answers = set(drawn.answers.indices[drawn.answers.indptr[row] : drawn.answers.indptr[row + 1]].tolist())
            assert not any(doubtful[number] & answers for number in numbers)
            checked += any(doubtful[number] for number in numbers)
    assert checked


def test_exclusions_leave_out_what_the_others_often_are(world: KnowledgeBase) -> None:
    found = categories.build(world, "country")
    drawn = sample.candidates(found, grammar().shape("_ that are not _"), request())
    members = {number: set(found.sets.matrix[[number]].indices.tolist()) for number in set(drawn.rows.ravel().tolist())}
    every = len(world.answers("country"))
    for one, other in each(drawn.rows.tolist(), 3):
        share = len(members[one] & members[other]) / len(members[one])
        assert share >= 0.5 or share >= max(0.2, 3 * len(members[other]) / every)


def test_labels_and_lists_that_are_not_whole_are_not_denied(films: KnowledgeBase) -> None:
    found = categories.build(films, "film")
    known = {family.partition(":")[0]: values for family, values in found.known.items()}
    assert known["tag"].are_labels
    assert known["person"].of_people
    assert not known["genre"].are_whole
    assert known["genre"].nodes.sum() == FILMS - 1
    rows = sample.candidates(found, grammar().shape("_ that are not _"), request()).rows
    assert {found.items[number].family.partition(":")[0] for number in rows[:, 1].tolist()}.isdisjoint(("tag", "genre"))


def test_exclusions_of_a_graph_deny_only_known_values(films: KnowledgeBase, world: KnowledgeBase) -> None:
    def known(kb: KnowledgeBase, expression: str) -> tuple[frozenset[int], bool]:
        return questions._known(kb, Template("a/b", expression, "x", "<a> <b>"))

    assert known(films, "(person:<p> -> film) - (tag:<t> -> film)") == (frozenset(), False)
    assert known(films, "(tag:<t> -> film) - (person:<p> -> film)") == (frozenset(), False)
    assert known(films, "(tag:<t> -> film) - (genre:<g> -> film)")[1] is False
    nodes, whole = known(world, "(continent:<c> -> country) - (organisation:<o> -> country)")
    assert whole
    assert nodes == set(world.sql("SELECT DISTINCT head FROM member_of")["head"].to_list())


def test_early_dates_of_tables_are_years(tmp_path: Path) -> None:
    days = {"a": "1990-05-06", "b": "1409-12-11", "c": "0800-01-01", "d": "1583-01-01"}
    rows = "".join(f"{key},person,P {key},{day}\n" for key, day in days.items())
    (tmp_path / "nodes.csv").write_text(f"key,type,name,born\n{rows}", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,b\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "p.kb", stores=LIGHT) as kb:
        assert kb.schema.type("person").attributes[0].type == "DATE"
        table = of_type(kb, kb.schema.type("person"))
        assert [row[table.header.index("Born")] for row in table.rows] == ["1990-05-06", "1409", "", "1583-01-01"]
