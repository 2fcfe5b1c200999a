"""Why a node is an answer: the triples exist, are enough by themselves, and are few."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.answers.parse import parse
from kbkit.answers.syntax import Combine
from kbkit.answers.why import Why
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.answers import oracle, proofs
from tests.answers.expressions import Writer
from tests.answers.graphs import Case, case
from tests.examples import examples

GRAPHS = 6


def triples(why: Why, refs: tuple[oracle.Ref, ...]) -> list[oracle.Triple]:
    return [(refs[head], relation, refs[tail]) for head, _, relation, tail, _ in why.triples.iter_rows()]


def references(kb: KnowledgeBase) -> tuple[oracle.Ref, ...]:
    return tuple(kb.sql("SELECT type::VARCHAR, key FROM nodes ORDER BY id").iter_rows())


def check(made: Case, text: str, slots: dict[str, object], ref: oracle.Ref) -> None:
    """The proof that ``ref`` is an answer proves it."""
    tree = parse(text)
    why = made.kb.answers(text, **slots).why(made.refs.index(ref))
    proof = triples(why, made.refs)
    assert set(proof) <= made.graph.edges
    assert len(set(proof)) == len(proof)
    assert ref in oracle.answers(oracle.only(made.graph, proof), text, slots), (text, slots, ref, str(why))
    if isinstance(tree, Combine) and tree.op == "-":
        assert why.absent
    if proofs.countable(tree):
        assert len(proof) <= proofs.costs(oracle.Oracle(made.graph, slots), tree)[ref]


@pytest.mark.parametrize("seed", range(GRAPHS))
@examples(20)
@given(rng=st.randoms(use_true_random=False))
def test_a_proof_is_correct_sufficient_and_short(seed: int, rng: random.Random) -> None:
    made = case(seed)
    writer = Writer(rng, made.graph, measures=False)  # the triples of a proof do not include all that is counted
    text = writer.expression(3)
    try:
        answers = oracle.answers(made.graph, text, writer.slots)
    except (oracle.RefusedError, KbError):
        return
    for ref in rng.sample(sorted(answers), min(2, len(answers))):
        check(made, text, writer.slots, ref)
    for ref in sorted(set(made.refs) - answers)[:1]:
        with pytest.raises(KbError, match="is not an answer"):
            made.kb.answers(text, **writer.slots).why(made.refs.index(ref))


# -- one by one -------------------------------------------------------------------------------------------------------

PROOFS = [
    ('person:"Zoe Mueller" -> [order] -> drug', "drug#1", ["person#1 order drug#1"]),
    ("gene/protein#g1 -> [associated_with+] -> disease", "disease#x2", ["gene/protein#g1 associated_with disease#x2"]),
    ("gene/protein#g2 -> [interacts*] -> gene/protein", "gene/protein#g2", []),
    ("*#g2 -> [interacts+] -> gene/protein", "gene/protein#g2", ["gene/protein#g2 interacts gene/protein#g2"]),
    ("person#1 -> [knows+] -> person", "person#1", ["person#1 knows person#p2", "person#p2 knows person#1"]),
    ("person#p2 -> [!order] -> drug", "drug#1", []),
    ("drug - (drug - (person -> [order] -> drug))", "drug#1", ["person#1 order drug#1"]),
    ("drug{year > 1950, approved = true}", "drug#1", []),
    ("disease <- [associated_with] <- drug{year > 1950}", "disease#x1", ["drug#a/b c associated_with disease#x1"]),
    (
        "(gene/protein#g2 -> [interacts] -> gene/protein)"
        " - ((gene/protein - (drug#1 -> [targets] -> gene/protein)) -> [interacts] -> gene/protein)",
        "gene/protein#g2",
        ["gene/protein#g2 interacts gene/protein#g2", "drug#1 targets gene/protein#g2"],
    ),
    (
        "(gene/protein#g2 -> [interacts] -> gene/protein)"
        " - ((gene/protein - (drug#1 -> [targets] -> gene/protein)) -> [interacts+] -> gene/protein)",
        "gene/protein#g2",
        ["gene/protein#g2 interacts gene/protein#g2", "drug#1 targets gene/protein#g2"],
    ),
]


@pytest.mark.core
@pytest.mark.parametrize(("text", "node", "expected"), PROOFS, ids=[text for text, _, _ in PROOFS])
def test_proofs_on_the_tiny_graph(small: KnowledgeBase, text: str, node: str, expected: list[str]) -> None:
    refs = references(small)
    whole = oracle.from_kb(small)
    why = small.answers(text).why(node)
    said = triples(why, refs)
    assert tuple(node.split("#", 1)) in oracle.answers(oracle.only(whole, said), text)
    assert sorted(f"{'#'.join(head)} {relation} {'#'.join(tail)}" for head, relation, tail in said) == sorted(expected)
    assert bool(why.absent) == ("!" in text or " - " in text)
    assert bool(why.facts) == ("{" in text)


def test_a_proof_has_the_attributes_of_edges(small: KnowledgeBase) -> None:
    found = small.answers("person -> [order{quantity > 1, source = 'pharmacy'}] -> drug -> [order] -> person")
    expected = [
        f"[order] -> 5-FU / fluorouracil: {text}" for text in ("quantity = 2", "quantity = 3", "source = pharmacy")
    ]
    for whole in (False, True):
        why = found.why("person#1", all=whole)
        assert sorted(why.facts) == expected
    drugs = small.answers("person -> [order{quantity > 2}] -> drug")
    assert drugs.why("drug#1").facts == ("Zoë Müller: [order] -> 5-FU / fluorouracil: quantity = 3",)
    absent = small.answers("drug - (person -> [order{quantity > 2}] -> drug)").why("drug#00123").absent
    assert absent == ("person -> [order{quantity > 2}] -> drug",)


def test_a_proof_has_both_of_two_attributes(small: KnowledgeBase) -> None:
    found = small.answers("drug{weight < year, name != code}")
    both = ("weight = 0.13 < year = 1957", "name = 5-FU / fluorouracil != code = 0042")
    assert found.why("drug#1").facts == both
    each = {"weight = 0.13", "year = 1957", "name = 5-FU / fluorouracil", "code = 0042"}
    assert set(found.why("drug#1", all=True).facts) == each
    edges = small.answers("person#1 -> [order{quantity <= quantity, source = source}] -> drug").why("drug#1")
    texts = ("quantity = 2", "quantity = 3", "source = pharmacy")
    assert sorted(edges.facts) == [f"Zoë Müller: [order] -> 5-FU / fluorouracil: {text}" for text in texts]
    absent = small.answers("drug - drug{weight < year, approved = true}").why("drug#00123").absent
    assert absent == ("drug{weight < year, approved = true}",)


@pytest.mark.parametrize("node", ["drug#00123", "person#1", 0])
def test_no_proof_for_a_node_that_is_not_an_answer(small: KnowledgeBase, node: int | str) -> None:
    with pytest.raises(KbError, match="is not an answer"):
        small.answers("person#1 -> [order] -> drug").why(node)


@pytest.mark.parametrize("node", ["drug#none", "enzyme#1", -1, 10_000])
def test_no_proof_for_an_unknown_node(small: KnowledgeBase, node: int | str) -> None:
    with pytest.raises(KbError):
        small.answers("person#1 -> [order] -> drug").why(node)
