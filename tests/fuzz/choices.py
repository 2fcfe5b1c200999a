"""Readings chosen for questions, and the file of choices edited by hand.

A chosen reading answers its question from then on, everywhere, until it is forgotten, which brings the former reply
back. With any content of the file, a question has a reply or one line of error, and nothing else is changed.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.mcp import tools
from kbkit.questions.taught import FILE
from tests.console import here
from tests.fuzz import Bench, Broken
from tests.fuzz.commands import _CONTROL as CONTROL
from tests.fuzz.questions import question
from tests.fuzz.values import WRONG, HangError, shown, text, watched

QUESTIONS = 8
"""Questions of a case for which readings are chosen."""
EDITS = 12
"""Edited files of a case."""
_EXPRESSIONS = (
    "country", "*", "country -> [member_of{since < 1950}] -> organisation", "count(country)", "country{area_km2 > 1}",
    "country -> [gone] -> city", "country -> [member_of{gone < 1}] -> organisation", "@saved", "country:<c>", "(", "",
    "country -> [member_of{since < 1950}+] -> organisation", 'country:"Nowhere"', "country -> city\n", "country; DROP",
)  # fmt: skip
_TIMES = ("2025-01-02T03:04:05Z", "2025-01-02", "", "never", "9999-12-31T23:59:59+14:00", "0001-01-01", "\x1b[2J")


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Choose, then edit the file."""
    rng = random.Random(seed)
    path = Path(shutil.copytree(bench.world if rng.random() < 0.7 else bench.tiny, bench.folder / "my.kb"))
    with kbkit.open(path) as kb:
        for _ in range(QUESTIONS):
            asked = question(rng)[:2_000]
            yield from (Broken(f"choose for {shown(asked, 400)}", found) for found in _chosen(kb, asked, rng))
    before = _others(path)
    for _ in range(EDITS):
        asked, content = rng.choice(("zorped of France", question(rng)[:300])), _content(rng)
        (path / "workspace").mkdir(exist_ok=True)
        (path / "workspace" / FILE).write_bytes(content(asked))
        about = f"{FILE} is {shown(content(asked), 400)}, the question {shown(asked, 200)}"
        yield from (Broken(about, found) for found in _edited(path, asked, rng))
    after = _others(path)
    if changed := {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}:
        yield Broken("edited choices", f"changed {sorted(changed)}")


def _others(path: Path) -> dict[str, int]:
    found = (file for file in path.rglob("*") if file.is_file() and file.name != FILE)
    return {file.relative_to(path).as_posix(): file.stat().st_size for file in found}


# -- choices ----------------------------------------------------------------------------------------------------------


def _chosen(kb: KnowledgeBase, asked: str, rng: random.Random) -> Iterator[str]:
    """Choose a reading that is offered; yield what is wrong with the replies."""
    try:
        with watched():
            first = kb.ask(asked)
            offered = first.offered(5)
            if not offered:
                return
            number = rng.randrange(len(offered))
            wanted = offered[number].expression
            if rng.random() < 0.3:
                tool = next(tool for tool in tools.tools(kb, tools.ToolLimits(100, 20)) if tool.name == "choose")
                tool.work(question=asked, reading=number + 1)
            else:
                kb.choose(first, rng.choice((number + 1, wanted)))
            variants = (asked, asked.upper(), f"  {asked} ?")
            for again in map(kb.ask, variants):
                if again.expression != wanted or again.confidence != 1 or again.refusal:
                    yield f"{wanted!r} was chosen, and {again.question!r} is read as {again.expression!r}"
                if list(again.answers.ids) != list(kb.answers(wanted).ids):
                    yield f"{wanted!r} has other answers"
                same = again.question == asked  # others are read in other words
                if same and [one.expression for one in again.offered(5)] != [one.expression for one in offered]:
                    yield "other readings are offered"
            if kb.choices()["expression"][0] != wanted:
                yield "the choice is not listed"
            if rng.random() < 0.5:
                if not kb.forget_choice(asked):
                    yield "the choice is not forgotten"
                last = kb.ask(asked)
                if (last.expression, last.refusal) != (first.expression, first.refusal):
                    yield f"forgotten, and read as {last.expression!r} instead of {first.expression!r}"
    except (Exception, HangError) as error:  # noqa: BLE001
        if not isinstance(error, KbError) or "\n" in str(error) or CONTROL.search(str(error)):
            yield f"{type(error).__name__}: {shown(str(error), 400)}"


# -- edited files -----------------------------------------------------------------------------------------------------


def _edited(path: Path, asked: str, rng: random.Random) -> Iterator[str]:
    """Ask, list, choose and forget; yield what is wrong."""
    file, written = path / "workspace" / FILE, (path / "workspace" / FILE).read_bytes()
    lines = [("ask", path, asked), ("ask", path, "--choices"), ("ask", path, asked, "--pick", "1")]
    lines += [("ask", path, asked, "--forget"), ("ask", path, "--synonym", "borders=touches")]
    for line in rng.sample(lines, 3):
        if any("\0" in str(word) or str(word)[:1] == "-" for word in line[2:3] if word == asked):
            continue
        try:
            with watched():
                done = here(*line)
        except (Exception, HangError) as error:  # noqa: BLE001
            yield f"{line[2:]}: {type(error).__name__}: {shown(str(error), 300)}"
            continue
        errors = [said for said in done.stderr.splitlines() if said.startswith("kbkit: ")]
        if done.returncode not in (0, 1) or len(errors) != done.returncode or "Traceback" in done.stderr:
            yield f"{line[2:]} ended with {done.returncode}: {shown(done.stderr, 400)}"
        if found := CONTROL.search(done.stdout + done.stderr):
            yield f"{line[2:]} printed {found[0]!r}"
        if done.returncode and file.read_bytes() != written:
            yield f"{line[2:]} failed, and changed the file"
        written = file.read_bytes()


def _content(rng: random.Random) -> Callable[[str], bytes]:
    """Return a function that gives the content of a file for a question: of right form, of wrong values, or broken."""
    kind, state = rng.random(), rng.random()

    def content(asked: str) -> bytes:
        own = random.Random(state)
        rows: Any = [
            {
                "question": asked if own.random() < 0.6 else text(own)[:2_000],
                "expression": own.choice(_EXPRESSIONS) if own.random() < 0.8 else text(own)[:20_000],
                "when": own.choice(_TIMES[:1] * 5 + _TIMES),
            }
            for _ in range(own.choice((1, 2, 3, 2_000 if own.random() < 0.1 else 4)))
        ]
        data: Any = {"synonyms": {"borders": ["touches"]}, "learned": None, "choices": rows}
        if kind > 0.5:
            _spoil(data, own)
        raw = json.dumps(data).encode()
        if kind > 0.8:
            at = own.randrange(len(raw))
            raw = own.choice((raw[:at], raw[:at] + b"\xff" + raw[at:], raw * 2, b"\xef\xbb\xbf" + raw, b"[" * 9_999))
        return raw

    return content


def _spoil(data: Any, rng: random.Random) -> None:
    """Put a value of a wrong kind somewhere."""
    plain = [value for value in WRONG if isinstance(value, (type(None), int, float, str, list, dict))]
    value = rng.choice((*plain, "x" * 99_999, 10**400, float("nan"), "\ud800", {"question": {}}))
    place: Any = rng.choice((data, data["choices"], rng.choice(data["choices"]), data["synonyms"]))
    if isinstance(place, list):
        place[rng.randrange(len(place))] = value
    else:
        name = rng.choice((*place, "more"))
        if rng.random() < 0.3:
            place.pop(name, None)
        else:
            place[name] = value
