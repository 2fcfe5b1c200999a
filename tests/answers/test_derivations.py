"""All derivations: the triples that a brute-force search finds, and enough to decide the answers."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.answers.parse import parse
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.answers import derivations as brute_force
from tests.answers import oracle
from tests.answers.expressions import Writer
from tests.answers.graphs import Case, case
from tests.conftest import Run
from tests.examples import examples, first_some

GRAPHS = 6
choices = st.randoms(use_true_random=False)


def triples(made: Case, frame: object) -> set[oracle.Triple]:
    return {(made.refs[h], r, made.refs[t]) for h, r, t in frame.iter_rows()}  # type: ignore[attr-defined]


def one_way(graph: oracle.Graph, found: set[oracle.Triple]) -> set[oracle.Triple]:
    """Triples of symmetric relations in one direction."""
    return {(min(h, t), r, max(h, t)) if r in graph.symmetric else (h, r, t) for h, r, t in found}


def drawn(seed: int, rng: random.Random) -> tuple[Case, str, dict[str, object], frozenset[oracle.Ref]] | None:
    """A case with an expression and its answers; None for an expression without meaning."""
    made = case(seed)
    writer = Writer(rng, made.graph, measures=False)
    text = writer.expression(3)
    try:
        return made, text, writer.slots, oracle.answers(made.graph, text, writer.slots)
    except (oracle.RefusedError, KbError):
        return None


@pytest.mark.parametrize("seed", first_some(range(GRAPHS), 3))
@examples(8)
@given(rng=choices)
def test_derivations_are_those_of_a_brute_force_search(seed: int, rng: random.Random) -> None:
    case_ = drawn(seed, rng)
    if case_ is None:
        return
    made, text, slots, answers = case_
    some = frozenset(rng.sample(sorted(answers), rng.randint(0, len(answers))))
    found = made.kb.answers(text, **slots).derivations([made.refs.index(ref) for ref in some])
    expected = brute_force.derivations(made.graph, parse(text), slots, some)
    assert one_way(made.graph, triples(made, found.triples)) == one_way(made.graph, expected), text
    assert found.triples.is_unique().all()


@pytest.mark.parametrize("seed", range(GRAPHS))
@examples(8)
@given(rng=choices)
def test_with_exclusions_they_decide_the_answers(seed: int, rng: random.Random) -> None:
    """No further triple of the graph changes the answers."""
    case_ = drawn(seed, rng)
    if case_ is None:
        return
    made, text, slots, answers = case_
    found = made.kb.answers(text, **slots)
    positive = triples(made, found.derivations().triples) | triples(made, found.exclusions().triples)
    others = sorted(made.graph.edges - positive)
    for noise in ([], others, rng.sample(others, len(others) // 2)):
        kept = oracle.only(made.graph, positive | set(noise))
        assert oracle.answers(kept, text, slots) == answers, (text, len(noise))


# -- one by one -------------------------------------------------------------------------------------------------------


def lines(kb: KnowledgeBase, text: str, node: str) -> list[str]:
    return sorted(kb.answers(text).why(node, all=True).lines())


def test_all_paths_to_an_answer(world: KnowledgeBase) -> None:
    """The Amazon flows through two countries that speak Spanish."""
    text = "river#amazon -> [flows_through] -> country -> [speaks] -> language"
    assert lines(world, text, "language#spa") == [
        "Amazon -> [flows_through] -> Colombia",
        "Amazon -> [flows_through] -> Peru",
        "Colombia -> [speaks] -> Spanish",
        "Peru -> [speaks] -> Spanish",
    ]
    assert len(world.answers(text).why("language#spa").triples) == 2


def test_facts_and_absences(world: KnowledgeBase) -> None:
    text = '(country#BRA -> [borders] -> country - (country#PER -> [borders] -> country)){un_status contains "member"}'
    found = world.answers(text)
    why = found.why(found.ids[0].item(), all=True)
    assert len(why.facts) == 1
    assert why.facts[0].startswith("un_status = ")
    assert len(why.absent) == 1


def test_an_excluded_candidate_has_both_proofs(world: KnowledgeBase) -> None:
    text = "(country#NIC -> [coast_on] -> sea) - (sea#atlantic-ocean -> [^part_of] -> sea)"
    excluded = world.answers(text).exclusions()
    assert [row.name for row in world.stores.nodes.rows(excluded.nodes.tolist()).values()] == ["Caribbean Sea"]
    assert sorted(excluded.triples["relation"]) == ["coast_on", "part_of"]


def test_nodes_excluded_by_name_need_no_proof(world: KnowledgeBase) -> None:
    text = "(mountain#k2 -> [lies_in] -> country -> [lies_in] -> mountain) - mountain#k2"
    assert world.answers(text).exclusions().triples.is_empty()


def test_nodes_that_are_no_answers_are_refused(world: KnowledgeBase) -> None:
    with pytest.raises(KbError, match="is not an answer"):
        world.answers("river#amazon -> [flows_through] -> country").derivations([0, 1])


def test_command(here: Run, world_kb: object) -> None:
    text = "river#amazon -> [flows_through] -> country -> [speaks] -> language"
    shown = here("answers", world_kb, text, "--why", "--all").stdout
    assert shown.count("-> [speaks] -> Spanish") == 2
    assert here("answers", world_kb, text, "--why").stdout.count("-> [speaks] -> Spanish") == 1
    refused = here("answers", world_kb, text, "--all")
    assert refused.returncode
    assert "--why" in refused.stderr
