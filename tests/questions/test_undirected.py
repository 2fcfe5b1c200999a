"""Relations that hold in both directions: of undirected graphs, and those that say so but are stored in one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase

NAMES = ("Valjean", "Javert", "Fantine", "Cosette", "Marius")
EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (3, 4))
ANSWERS: dict[str, set[str] | int | bool] = {
    "Who appears with Javert?": {"Valjean", "Fantine"},
    "Which characters appear with Javert?": {"Valjean", "Fantine"},
    "characters that appear with Cosette": {"Valjean", "Marius"},
    "Which characters appear with Valjean and Javert?": {"Fantine"},
    "Which character appears with the most characters?": {"Valjean"},
    "How many characters appear with Fantine?": 2,
    "Does Javert appear with Valjean?": True,
    "Does Valjean appear with Javert?": True,
    "Does Javert appear with Marius?": False,
}


def graphml(folder: Path) -> Path:
    """Write an undirected graph of one type and one relation."""
    nodes = "".join(
        f'<node id="n{n}"><data key="l">{name}</data><data key="t">character</data></node>'
        for n, name in enumerate(NAMES)
    )
    edges = "".join(f'<edge source="n{a}" target="n{b}"><data key="r">appears with</data></edge>' for a, b in EDGES)
    keys = '<key id="l" for="node" attr.name="label"/><key id="t" for="node" attr.name="type"/>'
    keys += '<key id="r" for="edge" attr.name="relation"/>'
    path = folder / "g.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{keys}<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
    )
    return path


def tables(folder: Path, relation: str) -> Path:
    """Write the same graph as tables, with each edge in one direction."""
    (folder / "nodes.csv").write_text(
        "key,type,name\n" + "".join(f"n{n},character,{name}\n" for n, name in enumerate(NAMES))
    )
    (folder / "edges.csv").write_text("head,relation,tail\n" + "".join(f"n{a},{relation},n{b}\n" for a, b in EDGES))
    return folder


@pytest.fixture(scope="module", params=["graph", "table"])
def kb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp(request.param)
    source = graphml(folder) if request.param == "graph" else tables(folder, "appears with")
    with kbkit.ingest(request.param, source, out=folder / "x.kb") as opened:
        assert opened.schema.relation("appears with").symmetric == (request.param == "graph")
        yield opened


@pytest.mark.parametrize("question", ANSWERS)
def test_both_sides_are_read(kb: KnowledgeBase, question: str) -> None:
    result = kb.ask(question)
    assert result.is_sure
    assert result.answers is not None
    expected = ANSWERS[question]
    assert (set(result.nodes()["name"]) if isinstance(expected, set) else result.value) == expected
    for engine in ("sql", "sparql"):
        other = kb.answers(result.expression, engine=engine)
        assert (other.ids.tolist(), other.value) == (result.answers.ids.tolist(), result.value)


def test_other_relations_keep_their_direction(tmp_path: Path) -> None:
    with kbkit.ingest("table", tables(tmp_path, "follows"), out=tmp_path / "x.kb") as kb:
        assert "|" not in kb.ask("Which characters follow Javert?").expression
