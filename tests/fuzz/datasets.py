"""Datasets, runs and judgements of all five benchmarks, edited by hand: the commands that read them.

Each command ends in time, with a result or one line of error, leaves no file if it fails, and no text of a file
controls the terminal.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import console
from tests.fuzz import Bench, Broken
from tests.fuzz.commands import broken_by
from tests.fuzz.mutations import mutated
from tests.fuzz.values import shown

_MAKES: tuple[tuple[str, str], ...] = (
    ("stark make KB -n 10 -o stark", ""),
    ("stark rate stark -o rates.jsonl --rater me", "1\n" * 20),
    ("quest make KB -t river -n 7 --scale-constraints -o quest", ""),
    ("quest run KB quest -o quest-run -m bm25 --classifier none", ""),
    ("quest annotate quest --rater me", "y\nc\n" * 30),
    ("quest annotate quest --rater you", "y\np\n" * 30),
    ("ska make KB -n 2 -o ska", ""),
    ("ska testbed ska", ""),
    ("ska annotate ska --rater me", "2\n" * 30),
    ("ska annotate ska --rater you", "3\n" * 30),
    ("conv make KB -n 3 -o conv", ""),
    ("conv run KB conv -o conv.jsonl", ""),
    ("conv rate conv -o conv-rates.jsonl --rater me", "3\n" * 60),
)
"""Commands that make the files, and their input."""
_READS: dict[str, tuple[str, ...]] = {
    "stark": (
        "stark stats stark", "stark audit KB stark", "stark run KB stark -m bm25 --latency 0 -f csv",
        "stark eval stark run.json", "stark ratings rates.jsonl", "stark rate stark -o rates.jsonl --rater me",
        "stark case KB stark run.json run.json", "publish stark --kb KB -o published",
    ),
    "quest": (
        "quest stats quest", "quest agreement quest", "quest annotate quest --rater me", "quest eval quest quest.json",
        "measure sets quest.json quest/queries.jsonl", "publish quest -o published",
    ),
    "ska": (
        "ska stats ska", "ska check ska", "ska agreement ska", "ska annotate ska --rater me", "ska prompt ska 1",
        "ska testbed ska", "ska revise ska -o revised", "publish ska -o published",
    ),
    "conv": (
        "conv stats conv", "conv eval conv conv.jsonl", "conv ratings conv-rates.jsonl", "conv proxies conv",
        "conv rate conv -o conv-rates.jsonl --rater me", "conv run KB conv -o again.jsonl", "publish conv -o published",
    ),
}  # fmt: skip
"""Commands that read the files of a benchmark."""


@functools.cache
def made(world: Path) -> Path:
    """Return a folder with a dataset of each benchmark, runs and judgements, made once."""
    folder = Path(tempfile.mkdtemp(prefix="kbkit-datasets-"))
    for line, given in _MAKES:
        done = console.here(*(str(world) if word == "KB" else word for word in line.split()), stdin=given, cwd=folder)
        assert done.returncode == 0 or given, done.stderr
    (folder / "run.json").write_text(json.dumps({str(n): {"0": 0.5, "1": 0.4} for n in range(10)}))
    (folder / "quest.json").write_text(json.dumps({str(n): ["0", "1"] for n in range(7)}))
    shutil.rmtree(folder / "quest-run" / "documents.kb", ignore_errors=True)
    return folder


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Change some files of a benchmark and run the commands that read them, each on a copy."""
    rng = random.Random(seed)
    name = rng.choice(sorted(_READS))
    original = bench.folder / "original"
    shutil.copytree(made(bench.world), original)
    read = [word for line in _READS[name] for word in line.split()]
    files = [
        path
        for path in sorted(original.rglob("*"))
        if path.is_file() and "stages" not in path.parts and path.relative_to(original).parts[0] in read
    ]
    changes = []
    for path in rng.choices(files, k=rng.choice((1, 1, 1, 2))):
        content, change = mutated(path.read_bytes(), rng, path.name)
        path.write_bytes(content)
        changes.append(f"{path.relative_to(original)}: {change}")
    for number, line in enumerate(_READS[name]):
        folder = bench.folder / f"work{number}"
        shutil.copytree(original, folder)
        words = [str(bench.world) if word == "KB" else word for word in line.split()]
        for problem in broken_by(words, "y\n1\nc\n" * 9, folder, {"HOME": str(bench.folder)}, terminal=True):
            yield Broken(f"{line} after {shown(', '.join(changes), 400)}", problem)
        shutil.rmtree(folder)
