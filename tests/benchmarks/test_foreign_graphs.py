"""Questions about tables with foreign keys, and about nodes without types: what they say, and that they are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import kbkit
from kbkit.benchmarks.convkgyarn.conversations import read_conversations
from kbkit.benchmarks.convkgyarn.make import make as make_conversations
from kbkit.benchmarks.convkgyarn.predicates import Predicate
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.convkgyarn.wording import wording
from kbkit.benchmarks.predicates import unfit_expression
from kbkit.benchmarks.quest.families import families
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.settings import RequirementSettings
from kbkit.benchmarks.stark.make import make as make_stark
from kbkit.english.relations import NO_VERB, REMEDY, unworded
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Schema

PEOPLE = ["Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal", "Ivo", "Jan", "Kim", "Lu"]
GUESTS = [(f"{first.upper()} STONE", PEOPLE.index(first) % 5 + 1, PEOPLE.index(first) % 3) for first in PEOPLE]
"""Name, adults, room."""


@pytest.fixture(scope="module")
def inn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reservations with the names of guests, and the rooms that they refer to."""
    folder = tmp_path_factory.mktemp("inn")
    nodes = ["key,type,name,first_name,last_name,adults,beds"]
    nodes += [f"R{number},room,{color} Room,,,,{number + 1}" for number, color in enumerate(("Blue", "Red", "Green"))]
    nodes += [f"{n},reservation,{name},{name.split()[0]},STONE,{adults}," for n, (name, adults, _) in enumerate(GUESTS)]
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    edges = ["head,relation,tail", *(f"{number},room,R{room}" for number, (_, _, room) in enumerate(GUESTS))]
    (folder / "edges.csv").write_text("\n".join(edges) + "\n")
    kbkit.ingest("table", folder, out=folder / "inn.kb").close()
    return folder / "inn.kb"


def untyped(folder: Path, first: str, second: str) -> KnowledgeBase:
    """Return a KB of 30 nodes without types with two relations to people, and one to years."""
    works = [f"Work {chr(65 + number)}" for number in range(20)]
    edges = [f"{work},{first},{PEOPLE[number % 4]} Stone" for number, work in enumerate(works)]
    edges += [
        f"{work},{second},{PEOPLE[4 + (number + k) % 7]} Hill" for number, work in enumerate(works) for k in (0, 2)
    ]
    edges += [f"{work},release_year,{1990 + number // 2}" for number, work in enumerate(works)]
    names = sorted({cell for edge in edges for cell in edge.split(",")[::2]})
    (folder / "nodes.csv").write_text("key,type,name\n" + "".join(f"{name},node,{name}\n" for name in names))
    (folder / "edges.csv").write_text("head,relation,tail\n" + "\n".join(edges) + "\n")
    return kbkit.ingest("table", folder, out=folder / "works.kb")


def test_a_reservation_has_no_adults(inn: Path, tmp_path: Path) -> None:
    with kbkit.open(inn) as kb:
        make_conversations(kb, tmp_path / "out", ConvSettings(count=8, min_turns=1, types=("reservation",)))
    turns = [
        (one.entity.name, turn.question, [answer.text for answer in turn.answers])
        for one in read_conversations(tmp_path / "out")
        if (one.interaction, one.deixis, one.disfluency) == ("voice", False, False)
        for turn in one.turns
    ]
    adults = [(name, text, answers) for name, text, answers in turns if "adults" in text]
    assert adults
    assert not [text for _, text, _ in turns if "room" in text]
    known = {name: str(count) for name, count, _ in GUESTS}
    assert [answers for _, _, answers in adults] == [[known[name]] for name, _, _ in adults]
    said = [text for name, text, _ in adults if f"listed for the reservation of {name.title()}" in text]
    assert len(said) == len(adults)


def test_a_relation_without_a_verb_is_not_asked_about(inn: Path, tmp_path: Path) -> None:
    with kbkit.open(inn) as kb:
        assert unworded(kb.schema) == {"room": NO_VERB}
        assert unfit_expression(kb, "room:<room> -> [room] -> reservation")
        with pytest.raises(KbError, match=r"reservation\.room \(a label .* \(no verb\)\)") as refused:
            make_conversations(kb, tmp_path / "out", ConvSettings(count=8, types=("reservation",)))
    assert REMEDY in str(refused.value.hints)


def test_a_value_that_only_describes_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\n1,product,Cup\n2,product,Jar\nr,color,red\nb,color,blue\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,color,r\n2,color,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "cups.kb") as kb:
        assert not unworded(kb.schema)
        assert not unfit_expression(kb, "color:<color> -> [color] -> product")
        assert unfit_expression(kb, "product:<product> -> [color] -> color")


def test_rows_without_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\n1,game,\n2,game,\ns,stadium,Old Field\nt,stadium,New Field\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,stadium,s\n2,stadium,s\n1,stadium,t\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "games.kb") as kb:
        with pytest.raises(KbError, match="Nodes of type game have no names but numbers") as refused:
            relational.templates(kb)
        assert "column 'name' of load.sql" in str(refused.value.hints)


def test_nodes_without_types_are_called_by_their_roles(tmp_path: Path) -> None:
    with untyped(tmp_path, "directed_by", "starred_actors") as kb:
        settings = RequirementSettings(6, seed=7, relations_only=1.0)
        make_stark(kb, tmp_path / "out", settings)
        patterns = [family.pattern for family in families(kb, "node")]
    queries = [json.loads(line)["query"] for line in (tmp_path / "out" / "queries.jsonl").read_text().splitlines()]
    assert queries
    assert not [text for text in queries if re.search(r"\bthings?\b", text)]
    assert not [text for text in queries if not re.search(r"(?i)\b(?:film|movie|actor|director)s?\b", text)]
    assert sorted(patterns) == ["films directed by {name}", "films released in {name}", "films that star {name}"]


def test_nodes_that_nothing_names_are_refused(tmp_path: Path) -> None:
    with (
        untyped(tmp_path, "linked_to", "cites") as kb,
        pytest.raises(KbError, match="Nothing says what the nodes without a type are") as refused,
    ):
        relational.templates(kb)
    assert "types in the recipe" in str(refused.value.hints)


@pytest.mark.core
@pytest.mark.parametrize(("label", "who"), [("governor", "who"), ("decor", "what"), ("rotor", "what")])
def test_only_people_are_asked_for_with_who(label: str, who: str) -> None:
    one = Predicate("p", "room", label, label, "attribute", "text", 9, 9, 1.0, 1, 9, 0.1, "simple")
    found = wording(one, Schema("a", "", (), (), ()), person=False)
    assert found is not None
    assert {core.wh for core in found.cores} == {who}
