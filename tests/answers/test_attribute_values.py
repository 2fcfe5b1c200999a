"""Values of attributes that no node has: the answers are empty, and a message names the closest values."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.answers import attribute_values
from kbkit.answers.attribute_values import ColumnValues
from kbkit.executor.dispatch import run
from kbkit.executor.executor import Executor
from kbkit.kb import KnowledgeBase
from tests.wording import Wording

UNKNOWN = {
    'country{un_status = "membr"}': "'member'",
    'country{un_status in ["member", "observr"]}': "'observer'",
    'continent:"Europe" -> country{official_name = "French Republik"} -> language': "'French Republic'",
    'country{name = "Frence"}': "'France'",
    'count(country{un_status = "membr"})': "'member'",
    'country - country{un_status = "MEMBER"}': "'member'",
    'country{un_status != "membr"}': "'member'",
    'country{not(un_status = "membr")}': "'member'",
}
KNOWN = (
    'country{un_status = "member"}',
    'country{un_status contains "membr"}',
    'country{name = "France"}',
    "country{area_km2 > 3}",
    "country{key = 'XXX'}",
    'country:"France" -> [borders] -> country',
)


@pytest.mark.parametrize("expression", UNKNOWN)
def test_an_unknown_value_has_the_closest_ones(world: KnowledgeBase, expression: str, wording: Wording) -> None:
    [message] = world.answers(expression).unknown_values()
    assert UNKNOWN[expression] in message
    wording(message)


@pytest.mark.parametrize("expression", KNOWN)
def test_what_can_be_meant_has_no_message(world: KnowledgeBase, expression: str) -> None:
    assert world.answers(expression).unknown_values() == []


def test_values_of_slots_are_checked(world: KnowledgeBase) -> None:
    expression = "country{un_status = <status>}"
    assert "'member'" in world.answers(expression, status="membr").unknown_values()[0]
    assert world.answers(expression, status="member").unknown_values() == []


def test_the_shell_warns(world: KnowledgeBase) -> None:
    outcome = run(Executor(world), 'country{un_status = "membr"}')
    assert outcome.note == "warning: No country has un_status \"membr\". Did you mean 'member'?"
    assert run(Executor(world), 'country{un_status = "member"}').note == ""


def test_columns_of_names_and_of_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["key,type,name,colours,label", "a,thing,A,red|green,x1", "b,thing,B,blue,x2", "c,thing,C,,x3"]
    (tmp_path / "nodes.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,is_near,b\n")
    monkeypatch.setattr(attribute_values, "MAX_VALUES", 2)
    with kbkit.ingest("table", tmp_path, out=tmp_path / "things.kb") as kb:
        kind = kb.schema.type("thing")
        label = next(a for a in kind.attributes if a.name == "label")
        assert ColumnValues.of(kb.stores).distinct(kind, label) == []
        assert kb.answers('thing{label = "x9"}').unknown_values() == []  # too many values: it is not known
