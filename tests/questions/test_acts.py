"""Questions about relations between nodes of one type: who acts, who is beside them, nobody, and how many.

The answers beside each question are written by hand, from ``EDGES``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.questions.directions import agent_of

EDGES = {
    "cites": ("paper", "paper", "Alpha Beta|Alpha Gamma|Beta Gamma|Delta Gamma|Delta Alpha"),
    "authored": ("author", "paper", "Lea Alpha|Omar Beta|Ruth Gamma|Nils Delta"),
    "supervises": ("author", "author", "Lea Omar|Lea Ruth|Omar Nils"),
    "owns": ("firm", "firm", "Arden Brook|Arden Cliff|Brook Dale"),
    "employs": ("firm", "author", "Arden Lea|Brook Omar"),
    "depends_on": ("module", "module", "core base|web core|web base|shell core"),
    "parent_of": ("finch", "finch", "Ada Bix|Ada Coo|Bix Dot"),
    "guides": ("tutor", "tutor", "Pia Sam"),
}
VALUES = {
    "Alpha": "2019,", "Beta": "2021,", "Gamma": "2020,", "Delta": "2022,",
    "Lea": ",senior", "Omar": ",junior", "Ruth": ",junior", "Nils": ",junior",
}  # fmt: skip
READ: dict[str, object] = {
    # beside a condition, a count or another relation
    "Which junior authors does Lea supervise?": {"Omar", "Ruth"},
    "junior authors supervised by Omar": {"Nils"},
    "papers from before 2021 that Alpha cites": {"Gamma"},
    "How many of our papers does Alpha cite?": 2,
    "papers written by authors Lea supervises": {"Beta", "Gamma"},
    "Which firms employ authors that Lea supervises?": {"Brook"},
    "average year of the papers that Alpha cites": 2020.5,
    # who acts
    "Who is Nils supervised by?": {"Omar"},
    "Who owns Brook?": {"Arden"},
    "who owns the most firms?": {"Arden"},
    "Does Arden own part of Brook?": True,
    "Does Brook own part of Arden?": False,
    # nobody
    "papers that none of our other papers cite": {"Delta"},
    "papers that do not cite any other paper": {"Gamma"},
    "authors who supervise nobody": {"Ruth", "Nils"},
    "authors nobody supervises": {"Lea"},
    "modules that nothing depends on": {"web", "shell"},
    "firms that are not owned by any other firm": {"Arden"},
    # how many
    "papers that cite more than one paper": {"Alpha", "Delta"},
    "papers cited by at least two other papers": {"Gamma"},
    "Which author supervises the most people?": {"Lea"},
    "Which paper has been cited the most?": {"Gamma"},
    # nouns for either end
    "students of Lea": {"Omar", "Ruth"},
    "Lea's students": {"Omar", "Ruth"},
    "how many students does Lea have": 2,
    "junior authors without students": {"Ruth", "Nils"},
    "dependencies of web": {"core", "base"},
    "modules without any dependencies": {"base"},
    "the module with the most dependencies": {"web"},
    "modules with more than one dependency": {"web"},
    "offspring of Ada": {"Bix", "Coo"},
    "parents of Dot": {"Bix"},
    # two steps
    "authors supervised by someone that Lea supervises": {"Nils"},
    "papers that cite papers cited by Alpha": {"Alpha", "Beta", "Delta"},
}
REFUSED = (
    "papers that Alpha refutes",
    "papers that Alpha cites and refutes",
    "Which authors guided Pia?",  # authors guide nobody
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("acts")
    kinds: dict[str, str] = {}
    edges = ["head_type,head,relation,tail_type,tail"]
    for relation, (head_type, tail_type, pairs) in EDGES.items():
        for head, tail in map(str.split, pairs.split("|")):
            kinds |= {head: head_type, tail: tail_type}
            edges.append(f"{head_type},{head},{relation},{tail_type},{tail}")
    nodes = ["type,key,name,year,rank", *(f"{kind},{n},{n},{VALUES.get(n, ',')}" for n, kind in sorted(kinds.items()))]
    (folder / "nodes.csv").write_text("\n".join(nodes))
    (folder / "edges.csv").write_text("\n".join(edges))
    with kbkit.ingest(folder, out=folder / "x.kb", stores=["adjacency", "text"]) as made:
        yield made


@pytest.mark.parametrize("question", READ)
def test_relations_of_one_type(kb: KnowledgeBase, question: str) -> None:
    result, expected = kb.ask(question), READ[question]
    assert result.is_sure, result.doubts
    assert (set(result.nodes()["name"]) if isinstance(expected, set) else result.value) == expected


@pytest.mark.parametrize("question", REFUSED)
def test_other_relations_are_refused(kb: KnowledgeBase, question: str) -> None:
    assert not kb.ask(question).is_sure


@pytest.mark.parametrize(("label", "acts"), [("teacher_of", 1), ("child_of", -1), ("variant_of", 0), ("cites", 1)])
def test_who_acts(label: str, acts: int) -> None:
    assert agent_of(label) == acts
