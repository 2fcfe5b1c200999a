"""The sentences that ship with kbkit, and their validator."""

from __future__ import annotations

import pytest

from kbkit.english.frames import FOLDER, frame_file, pool, problems

FILES = sorted(path.stem for path in FOLDER.glob("*.toml"))


@pytest.mark.core
@pytest.mark.parametrize("name", FILES)
def test_shipped_files_are_valid(name: str) -> None:
    assert frame_file(name)


def test_there_are_files() -> None:
    assert {"searches", "sets", "tables", "conversations", "predicates"} <= set(FILES)
    assert "{direct}?" in pool("conversations", "voice")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"slots": {"a": "x"}, "frames": {"one": ["Is {b} {a}?"]}}, "frames.one[0]: unknown slot {b} in 'Is {b} {a}?'"),
        ({"slots": {"a": "x", "b": "y"}, "frames": {"one": ["{a}"]}}, "nothing uses the slot {b}"),
        ({"slots": {"a": "x"}, "frames": {"one": ["{a"], "two": ["{a}"]}}, "frames.one[0]: unpaired bracket in '{a'"),
        ({"slots": {"a": "x"}, "frames": {"one": ["{a}", "{a b}"]}}, "frames.one[1]: invalid slot in '{a b}'"),
        ({"slots": {"a": "x"}, "frames": {"one": ["{a}"], "two": []}}, "frames.two: empty text"),
    ],
)
def test_invalid_files(data: dict[str, object], problem: str) -> None:
    assert problem in problems(data)
