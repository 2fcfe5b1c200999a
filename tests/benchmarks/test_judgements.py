"""People's judgements: the files that all tasks share, with writers at once, kills, damage, and any text; and tasks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Hashable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.people import judgements
from kbkit.benchmarks.people.judgements import (
    Judgement,
    RaterFolder,
    append_judgements,
    known_judgements,
    one_writer,
    outside,
    ratings,
    read_judgements,
)
from kbkit.benchmarks.people.tasks import Answers, Marking, Passage, Task, TaskItem, TaskQuestion
from kbkit.directory.files import append_json
from kbkit.errors import BadInputError, KbError, LockedError, UnknownNameError
from tests.wording import Wording

WRITER = """
import sys
from pathlib import Path
from kbkit.benchmarks.people.judgements import Judgement, append_judgements
who, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    pair = [Judgement(who, (str(number),), question, number, "n" * 3_000) for question in ("first", "second")]
    append_judgements(Path(sys.argv[1]), pair)
    print(number, flush=True)
"""


def writer(path: Path, who: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), who, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def marks(path: Path) -> list[tuple[str, tuple[str, ...], str, object]]:
    return [(one.who, one.item, one.question, one.mark) for one in known_judgements(path)]


# -- any judgements ---------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["a\nb", "\u2028", '"}', "\r"])
NAMES = TEXTS.filter(bool)
MARKS = st.none() | st.booleans() | st.integers(-3, 3) | TEXTS
JUDGEMENTS = st.builds(
    Judgement,
    st.sampled_from(["ann", "bob"]) | NAMES,
    st.lists(st.sampled_from("ab") | NAMES, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["x", "y"]) | NAMES,
    MARKS,
    TEXTS,
    st.just("2026-01-02T03:04:05Z"),
    st.floats(0, 1e6),
    st.dictionaries(TEXTS, MARKS, max_size=2),
)


@pytest.mark.core
@given(st.lists(st.lists(JUDGEMENTS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_what_is_read_is_the_last_judgement_on_each_question(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Judgement]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "j.jsonl"
    expected: dict[Hashable, Judgement] = {}
    for batch in batches:
        append_judgements(path, batch)
        expected |= {(one.who, one.item, one.question): one for one in batch}
    assert read_judgements([path]) == list(expected.values())
    assert path.read_bytes().count(b"\n") == sum(map(len, batches))


@given(st.lists(JUDGEMENTS, min_size=1, max_size=4), st.data())
def test_a_file_cut_anywhere_keeps_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, saved: list[Judgement], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "j.jsonl"
    append_judgements(path, saved)
    text = path.read_bytes()
    kept = data.draw(st.integers(0, len(text)))
    path.write_bytes(text[:kept])
    ends = [at for at, byte in enumerate(text) if byte == ord("\n")]  # a line without its line break is whole too
    whole = [one for one, end in zip(saved, ends, strict=True) if end <= kept]
    last = Judgement("zoe", ("new",), "x", 1, when="2026-01-01T00:00:00Z")
    expected = list({(one.who, one.item, one.question): one for one in [*whole, last]}.values())
    assert known_judgements(path) == [one for one in expected if one is not last]
    append_judgements(path, [last])
    assert known_judgements(path) == expected


def test_a_last_line_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    long = "x" * 300_000
    append_judgements(path, [Judgement("ann", ("1",), "q", long)])
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip(b"\n"))
    append_judgements(path, [Judgement("ann", ("2",), "q", 2)])
    path.write_bytes(path.read_bytes() + whole[:200_000])
    append_judgements(path, [Judgement("ann", ("3",), "q", 3)])
    assert marks(path) == [("ann", ("1",), "q", long), ("ann", ("2",), "q", 2), ("ann", ("3",), "q", 3)]


# -- several writers, and kills ---------------------------------------------------------------------------------------


@pytest.mark.system
def test_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.jsonl"
    started = [writer(path, who, 40) for who in ("ann", "bob", "cy")]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    for process in started:
        assert process.stdout
        process.stdout.close()
    for who in ("ann", "bob", "cy"):
        own = [one for one in known_judgements(path) if one.who == who]
        assert [(one.item, one.question, one.mark) for one in own] == [
            ((str(number),), question, number) for number in range(40) for question in ("first", "second")
        ]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [one["question"] for one in lines] == ["first", "second"] * 120  # batches stay together
    assert [one.name for one in path.parent.iterdir()] == ["j.jsonl"]


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("after", [1, 7, 25])
def test_a_killed_writer_leaves_what_it_confirmed(tmp_path: Path, after: int) -> None:
    path = tmp_path / "j.jsonl"
    process = writer(path, "ann", 100_000)
    assert process.stdout
    confirmed = [int(process.stdout.readline()) for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    known = known_judgements(path)
    assert {one.mark for one in known} >= set(confirmed)
    append_judgements(path, [Judgement("bob", ("1",), "first", 5)])  # its lock ended with it
    assert marks(path) == [*((one.who, one.item, one.question, one.mark) for one in known), ("bob", ("1",), "first", 5)]


def test_a_busy_file_is_an_error_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "_PATIENCE", 0.1)
    path = tmp_path / "j.jsonl"
    with one_writer(path), pytest.raises(LockedError, match=r"Another run writes to .*j\.jsonl"):
        append_judgements(path, [Judgement("ann", ("1",), "q", 1)])
    assert not path.exists()
    append_judgements(path, [Judgement("ann", ("1",), "q", 1)])
    assert len(marks(path)) == 1


# -- invalid judgements -----------------------------------------------------------------------------------------------

VALID = '{"who": "a", "item": ["i"], "question": "q", "mark": 1}'


@pytest.mark.parametrize(
    "line",
    [
        "not JSON",
        "[1]",
        "{",
        '{"who": "a", "item": ["i"], "question": "q"}',
        '{"who": 1, "item": ["i"], "question": "q", "mark": 1}',
        '{"who": "", "item": ["i"], "question": "q", "mark": 1}',
        '{"who": "a", "item": [], "question": "q", "mark": 1}',
        '{"who": "a", "item": "i", "question": "q", "mark": 1}',
        '{"who": "a", "item": ["i"], "question": "", "mark": 1}',
        '{"who": "a", "item": ["i"], "question": "q", "mark": 1.5}',
        '{"who": "a", "item": ["i"], "question": "q", "mark": [1]}',
        '{"who": "a", "item": ["i"], "question": "q", "mark": 1, "colour": 2}',
        '{"who": "a", "item": ["i"], "question": "q", "mark": "\\ud800"}',
        '{"who": "a", "item": ["i"], "question": "other", "mark": 1}',
        '{"who": "a", "item": ["i"], "question": "q", "mark": 3}',
        '{"who": "a", "item": ["i"], "question": "q", "mark": true}',
    ],
)
def test_damaged_lines_are_named(line: str, tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(f"{VALID}\n{line}\n{VALID}\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="line 2") as caught:
        read_judgements([path], lambda one: outside({"q": (0, 1, 2)}, one))
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


def test_files_without_judgements(tmp_path: Path) -> None:
    assert known_judgements(tmp_path / "none.jsonl") == []
    (tmp_path / "empty.jsonl").touch()
    assert known_judgements(tmp_path / "empty.jsonl") == []
    with pytest.raises(BadInputError, match="is empty"):
        read_judgements([tmp_path / "empty.jsonl"])
    (tmp_path / "latin.jsonl").write_bytes(VALID.replace("a", "\u00e9", 1).encode("latin-1") + b"\n")
    with pytest.raises(BadInputError, match="Invalid UTF-8"):
        read_judgements([tmp_path / "latin.jsonl"])


def test_invalid_unicode_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    good = Judgement("ann", ("1",), "q", 1)
    for bad in (
        Judgement("\ud800", ("1",), "q", 1),
        Judgement("ann", ("\ud800",), "q", 1),
        Judgement("ann", ("1",), "q", "\ud800"),
        Judgement("ann", ("1",), "q", 1, "\ud800"),
    ):
        with pytest.raises(BadInputError, match="unpaired surrogate"):
            append_judgements(path, [good, bad])
    append_judgements(path, [])
    assert not path.exists()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "j.jsonl", tmp_path):
        with pytest.raises(KbError, match="Cannot write"):
            append_judgements(path, [Judgement("ann", ("1",), "q", 1)])


def test_other_files_keep_their_judgements_and_the_last_file_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    append_judgements(first, [Judgement("ann", ("1",), "q", 1), Judgement("ann", ("2",), "q", 1)])
    append_judgements(second, [Judgement("bob", ("1",), "q", 0), Judgement("ann", ("1",), "q", None, "a slip")])
    found = read_judgements([first, second])
    assert [(one.who, one.item, one.mark, one.note) for one in found] == [
        ("ann", ("1",), None, "a slip"), ("ann", ("2",), 1, ""), ("bob", ("1",), 0, ""),
    ]  # fmt: skip
    assert ratings([one for one in found if one.who == "ann"], "q") == {("2",): 1}
    assert all(one.when.startswith("20") for one in found)


# -- a file for each person -------------------------------------------------------------------------------------------


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    folder = RaterFolder(tmp_path / "annotations")
    assert folder.all() == {}
    for who in ("bob", "ann"):
        append_judgements(folder.path(who), [Judgement(who, ("1",), "q", 1)])
    assert list(folder.all()) == ["ann", "bob"]
    assert list(folder.all(["bob"])) == ["bob"]
    assert folder.of("cy") == []
    with pytest.raises(UnknownNameError, match="cy"):
        folder.all(["cy"])
    for name in ("../ann", "", ".", ".hidden", "a b", "a/b", "x" * 65):
        with pytest.raises(KbError, match="Invalid rater"):
            folder.path(name)
    folder.path("ann").rename(folder.path("anna"))
    with pytest.raises(BadInputError, match=r"anna\.jsonl, line 1: it is ann's, but the file is anna's"):
        folder.all()


# -- tasks ------------------------------------------------------------------------------------------------------------

QUESTIONS = (
    TaskQuestion("size", "How large is it?", {"1": "small", "2": "large"}, {"1": 1, "2": 2}),
    TaskQuestion("shown", "Is it shown?", {"y": "yes", "n": "no"}, {"y": True, "n": False}),
    TaskQuestion("where", "Where?", {"a": "", "b": ""}, unless=("shown", "n")),
)
OUT = TaskQuestion("opt out", "", {"o": "opt out"}, {"o": True})


class Things(Task):
    """Two items with three questions, one of which depends on another, and two rows to mark."""

    title = "Judge things"
    noun = ("thing", "things")

    @property
    def keys(self) -> list[str]:
        """The items."""
        return ["1", "2"]

    def item(self, key: Hashable) -> TaskItem:
        """Return an item."""
        marking = Marking("red", "red rows", Passage([["x"], ["y"]]), [f"{key}x", f"{key}y"], empty=True)
        return TaskItem(str(key), marking=marking, questions=QUESTIONS, instead=OUT)


ANSWERS = st.one_of(
    st.just(Answers(instead="o")),
    st.builds(
        lambda size, where, rows: Answers(
            {"size": size, "shown": "y" if where else "n"} | ({"where": where} if where else {}), sorted(rows)
        ),
        st.sampled_from("12"),
        st.sampled_from(["", "a", "b"]),
        st.sets(st.sampled_from([0, 1])),
    ),
)


@pytest.mark.core
@given(st.lists(st.tuples(st.sampled_from("12"), ANSWERS), max_size=6))
def test_the_last_answers_to_an_item_are_given_in_this_session_and_the_next(
    tmp_path_factory: pytest.TempPathFactory, saves: list[tuple[str, Answers]]
) -> None:
    path = tmp_path_factory.mktemp("task") / "j.jsonl"
    append_judgements(path, [Judgement("bob", ("1",), "size", 2), Judgement("bob", ("2",), "opt out", mark=True)])
    task = Things(path, "ann")
    expected: dict[str, Answers] = {}
    for key, answers in saves:
        changed = task.save(key, answers)
        assert changed == 0 if expected.get(key) == answers else changed > 0 or expected.get(key)
        before = path.read_bytes()
        assert task.save(key, answers) == 0  # nothing is new
        assert path.read_bytes() == before
        expected[key] = answers
    for one in (task, Things(path, "ann")):
        assert {key: one.given(key) for key in one.keys} == {key: expected.get(key) for key in one.keys}
        assert {key for key in one.keys if one.done(key)} == expected.keys()
    given_ = ratings([one for one in known_judgements(path) if one.who == "ann"], "where")
    assert given_ == {(key,): one.choices["where"] for key, one in expected.items() if "where" in one.choices}


FULL = Answers({"size": "2", "shown": "y", "where": "b"}, [1], seconds=12.34)


@pytest.mark.parametrize("lines", range(6))
def test_an_item_whose_judgements_were_cut_off_is_not_done(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "j.jsonl"
    task = Things(path, "ann")
    assert task.save("1", FULL) == 5
    text = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(text) == 5
    path.write_text("".join(text[:lines]), encoding="utf-8")
    again = Things(path, "ann")
    assert again.done("1") == (lines == 5)
    assert again.save("1", FULL) == 5 - lines
    assert Things(path, "ann").given("1") == Answers({"size": "2", "shown": "y", "where": "b"}, [1])
    assert {one.seconds for one in known_judgements(path)} == {12.3}


def test_an_opt_out_replaces_answers_and_the_reverse(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    task = Things(path, "ann")
    task.save("1", FULL)
    assert task.save("1", Answers(instead="o")) == 1
    found = {one.question: one.mark for one in known_judgements(path)}
    assert found == {"opt out": True, "size": None, "shown": None, "where": None, "red": None}
    assert task.save("1", FULL) == 5
    assert {one.question for one in known_judgements(path) if one.mark is None} == {"opt out"}


def test_a_session_removes_the_lock_file_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "_PATIENCE", 0.1)
    path, lock = tmp_path / "j.jsonl", tmp_path / ".j.jsonl.lock"
    lock.touch()
    Things(path, "ann")
    assert not lock.exists()
    with one_writer(path):
        Things(path, "ann")
        assert lock.exists()


def test_a_task_checks_its_file(tmp_path: Path) -> None:
    append_json(tmp_path / "j.jsonl", {"who": "bob", "item": ["1"], "question": "size", "mark": 7})
    with pytest.raises(BadInputError, match=r"line 1: size 7 is not 1, 2"):
        Things(tmp_path / "j.jsonl", "ann", lambda one: outside({"size": (1, 2)}, one))
    with pytest.raises(KbError, match="Empty name"):
        Things(tmp_path / "other.jsonl", " ")
