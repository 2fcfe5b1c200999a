"""Descriptions of operations: what is described, how values are built and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest

from kbkit.assets.operations import Setting, build, check_settings, described, is_described
from kbkit.errors import BadInputError, UnknownNameError


@dataclass(frozen=True)
class Title:
    title: Annotated[str, Setting("Title.")] = ""


@dataclass(frozen=True)
class Poll:
    count: Annotated[int, Setting("Number of questions.", least=1, most=9, noun="number of questions")]
    inner: Any = None
    share: Annotated[float, Setting("Fraction.", least=0)] | None = None
    kinds: Annotated[Sequence[str], Setting("Kinds.", choices=("open", "closed"), noun="kind")] = ()
    title: Title = field(default_factory=Title)
    names: Annotated[Mapping[str, Path], Setting("Files.")] = field(default_factory=dict)


def test_fields_are_described_in_order_with_those_of_parts() -> None:
    fields = described(Poll)
    assert [(one.name, one.type, one.optional) for one in fields] == [
        ("count", int, False),
        ("share", float, True),
        ("kinds", Sequence[str], False),
        ("title", str, False),
        ("names", Mapping[str, Path], False),
    ]
    assert [one.required for one in fields] == [True, False, False, False, False]
    assert [one.default for one in fields[1:]] == [None, (), "", {}]
    assert is_described(Poll)
    assert not is_described(int)
    assert not is_described(dataclass(type("Plain", (), {})))


def test_values_are_distributed_over_the_parts() -> None:
    made = build(Poll, {"count": 2, "title": "T", "unknown": 1}, inner=3)
    assert made == Poll(2, 3, title=Title("T"))
    assert build(Title, {}) == Title()


@pytest.mark.parametrize("value", [0, 10, -1])
def test_numbers_have_a_range(value: int) -> None:
    with pytest.raises(BadInputError) as caught:
        check_settings(Poll(value))
    assert caught.value.message == f"Invalid number of questions: {value}"
    assert caught.value.hint == "Use 1 to 9"


@pytest.mark.parametrize("value", [-0.1, math.nan])
def test_an_open_range(value: float) -> None:
    with pytest.raises(BadInputError) as caught:
        check_settings(Poll(1, share=value))
    assert caught.value.hint == "Use 0 or more"


def test_choices_of_lists() -> None:
    check_settings(Poll(1, kinds=("open", "closed")))
    with pytest.raises(UnknownNameError) as caught:
        check_settings(Poll(1, kinds=("open", "close")))
    assert (caught.value.kind, caught.value.name) == ("kind", "close")
