"""The tests themselves: none would pass if fixtures gave it nothing to check."""

from __future__ import annotations

import pytest

from tests.loops import each, uncertain_tests
from tests.places import TESTS


def test_no_test_asserts_only_in_loops_that_may_be_empty() -> None:
    """Where all cases come from elsewhere, a test counts them with ``each``."""
    paths = sorted(TESTS.rglob("test_*.py"))
    assert len(paths) > 150
    found = {path.relative_to(TESTS).as_posix(): uncertain_tests(path.read_text()) for path in paths}
    assert {path: list(names) for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "body",
    [
        "for one in made: assert one",
        "for one in made:\n  for two in one.parts: assert two",
        "for one in each(made):\n  for two in one.parts: assert two",
        "assert all(one for one in made)",
        "assert [one for one in made if one.failed] == []",
        "assert not [one for one in made]",
        "with open(path):\n  for one in made: assert one",
    ],
)
def test_that_check_sees(body: str) -> None:
    assert list(uncertain_tests(_test(body))) == ["test_it"]


@pytest.mark.parametrize(
    "body",
    [
        "for one in each(made): assert one",
        "for one in 1, 2: assert one",
        "texts = ['a', 'b']\nfor one in texts: assert one",
        "for one in made: assert one\nassert len(made) == 3",
        "for one in made:\n  with pytest.raises(Error): one()\nassert made",
        "with pytest.raises(Error): it()",
        "assert [one for one in kb.check() if one] == []",
        "for name, one in zip(NAMES, made, strict=True): assert one",
    ],
)
def test_and_only_that(body: str) -> None:
    assert not uncertain_tests(_test(body))


def _test(body: str) -> str:
    return "def test_it(made):\n" + "".join(f"  {line}\n" for line in body.split("\n"))


def test_each_counts() -> None:
    assert list(each("abc", 3)) == ["a", "b", "c"]
    with pytest.raises(AssertionError, match="2 cases instead of 3"):
        list(each("ab", 3))
    with pytest.raises(AssertionError, match="0 cases instead of 1"):
        list(each([]))
