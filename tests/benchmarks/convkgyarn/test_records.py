"""ConvKGYarn: the files of conversations."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.benchmarks.convkgyarn import stats
from kbkit.benchmarks.convkgyarn.conversations import (
    ConvEntity,
    Conversation,
    Turn,
    TurnAnswer,
    read_conversations,
    write_conversations,
)
from kbkit.errors import BadInputError

RHINE = ConvEntity("river", "Rhine", "Rhine", ["Rhein"])
TURNS = [
    Turn(
        "How long is the Rhine?",
        [TurnAnswer("1,230 km", ["1230"], value="1230")],
        "number",
        "length_km",
        "length",
        "t1",
        "original",
        unit="km",
    ),
    Turn(
        "And the Rhône?",
        [TurnAnswer("Mediterranean Sea", node="sea#med")],
        "entity",
        "flows_into",
        "flows into",
        "t2",
        "follow_up",
        given=["Alps"],
        subject="related",
    ),
]
ONE = Conversation("g1.voice", "g1", RHINE, ConvEntity("river", "Rhône", "Rhône"), "voice", True, False, False, TURNS)
TWO = Conversation("g2.text", "g2", RHINE, None, "text", False, False, True, TURNS[:1])


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_files_keep_every_field(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"conversations{suffix}"
    assert write_conversations(path, [ONE, TWO]) == 2
    assert list(read_conversations(path)) == list(read_conversations(tmp_path)) == [ONE, TWO]
    assert ONE.configuration == "voice, deixis, related"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"voice"', '"sign"', "Unknown interaction 'sign'"),
        ('"number"', '"colour"', "Unknown kind 'colour'"),
        ('"question"', '"query"', "Unknown field 'query'"),
        ('"related":{', '"related":[', "Invalid JSON"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "conversations.jsonl"
    write_conversations(path, [TWO, ONE])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace(old, new)]) + "\n")
    with pytest.raises(BadInputError, match=rf"{message}.*conversations.jsonl, line 2"):
        list(read_conversations(path))


@pytest.mark.parametrize("text", ["\x00", '{"id": "g1"}', "[1]", '{"turns": 3}'])
def test_the_statistics_of_a_file_that_holds_no_conversations(tmp_path: Path, text: str) -> None:
    (tmp_path / "conversations.jsonl").write_text(text + "\n")
    with pytest.raises(BadInputError):
        stats._counts(tmp_path)
