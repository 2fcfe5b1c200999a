"""Draw mutants, run for each the tests that reach it, and list those that no test caught.

    python -m tests.mutation --seed 1 --count 40
    python -m tests.mutation --seed 1 --count 40 --tests ../other-checkout

All runs in a copy of the checkout. ``--tests`` takes the tests of another checkout, so that two suites can be compared
on the same mutants.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tests.mutation.mutants import Mutant, draw
from tests.mutation.reach import marked
from tests.places import ROOT

AREAS = ("benchmarks", "ingestion/inference", "questions", "sparql", "answers", "search", "measures")


class Trial:
    """A copy of the checkout in which mutants are tried."""

    def __init__(self, folder: Path, tests: Path, options: list[str], limit: float) -> None:
        self._folder, self._options, self._limit = folder, options, limit
        for root, only in ((ROOT, ""), (tests, "tests")):
            shutil.rmtree(folder / "tests", ignore_errors=True)
            for name in subprocess.check_output(["git", "ls-files", only or "."], cwd=root, text=True).splitlines():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / name, target)
        shutil.copytree(Path(__file__).parent, folder / "tests" / "mutation", dirs_exist_ok=True)

    def reaching(self, mutants: list[Mutant], areas: list[str]) -> list[list[str]]:
        """Return the test files that reach each mutant, quick ones first; all of its room for one reached by many."""
        kept = {one.file: (self._folder / one.file).read_bytes() for one in mutants}
        for file, text in kept.items():
            numbered = [(one, number) for number, one in enumerate(mutants) if one.file == file]
            for one, number in sorted(numbered, key=lambda pair: -pair[0].start):
                code = marked(one.old, number, one.is_statement)
                text = text[: one.start] + code.encode() + text[one.end :]  # noqa: PLW2901
            (self._folder / file).write_bytes(text)
        target = self._folder / "reached"
        seconds: dict[str, float] = defaultdict(float)
        for room in dict.fromkeys(_room(area) for area in areas):
            done = self._pytest([room, "--durations=0"], {"KBKIT_REACHED": str(target)}, 0)
            if done.returncode:
                sys.exit(f"{room} fails without a mutant:\n{done.stdout[-4000:]}")
            for line in done.stdout.splitlines():
                if "s call" in line or "s setup" in line:
                    time_, _, test = line.split(maxsplit=2)
                    seconds[test.partition("::")[0]] += float(time_.removesuffix("s"))
        for file, text in kept.items():
            (self._folder / file).write_bytes(text)
        reached: dict[int, set[str]] = defaultdict(set)
        for line in target.read_text(encoding="utf-8").splitlines() if target.exists() else []:
            number, _, test = line.partition(" ")
            reached[int(number)].add(test)
        return [
            [_room(one.file)] if "*" in reached[number] else sorted(reached[number], key=lambda test: seconds[test])
            for number, one in enumerate(mutants)
        ]

    def catches(self, mutant: Mutant, files: list[str]) -> str:
        """Return the test that fails with the mutant, ``timeout``, or nothing."""
        path = self._folder / mutant.file
        kept = path.read_bytes()
        path.write_bytes(mutant.put_into(kept))
        try:
            done = self._pytest([*files, "-x"], {}, self._limit)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            path.write_bytes(kept)
        if done.returncode in (0, 5):
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0][:160] if failed else f"exit code {done.returncode}"

    def _pytest(self, words: list[str], environment: dict[str, str], limit: float) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "tests.mutation.reach", *self._options, *words]
        variables = {**os.environ, "PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "", **environment}
        return subprocess.run(
            command, cwd=self._folder, env=variables, capture_output=True, text=True, check=False, timeout=limit or None
        )


def _room(path: str) -> str:
    """Return the folder of tests of a module or an area."""
    parts = path.removeprefix("kbkit/").split("/")
    return f"tests/{parts[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="Random seed.")
    parser.add_argument("--count", type=int, default=40, help="Number of mutants.")
    parser.add_argument("--area", action="append", choices=AREAS, help="Folder of kbkit to change (default: all).")
    parser.add_argument("--tests", type=Path, default=ROOT, help="Checkout whose tests run.")
    parser.add_argument("--reached", type=Path, help="File that keeps which tests reach which mutants.")
    parser.add_argument("--limit", type=float, default=300, help="Seconds per mutant.")
    parser.add_argument("--only", type=int, action="append", help="Number of a mutant to try.")
    parser.add_argument("--list", action="store_true", help="List the mutants and exit.")
    parser.add_argument("options", nargs="*", help="Options of pytest, after --.")
    chosen = parser.parse_args()
    areas = chosen.area or list(AREAS)
    mutants = draw(ROOT, areas, chosen.count, chosen.seed)
    if chosen.list:
        for number, one in enumerate(mutants):
            print(number, one)
        return
    with tempfile.TemporaryDirectory(prefix="kbkit-mutation-") as folder:
        trial = Trial(Path(folder), chosen.tests.resolve(), chosen.options, chosen.limit)
        if chosen.reached and chosen.reached.exists():
            files = json.loads(chosen.reached.read_text(encoding="utf-8"))
        else:
            files = trial.reaching(mutants, areas)
            if chosen.reached:
                chosen.reached.write_text(json.dumps(files), encoding="utf-8")
        caught = tried = 0
        for number, one in enumerate(mutants):
            if chosen.only and number not in chosen.only:
                continue
            begun = time.monotonic()
            found = trial.catches(one, files[number]) if files[number] else ""
            state = f"caught ({found})" if found else "survived" if files[number] else "not reached"
            print(f"{number:3d} {time.monotonic() - begun:5.0f} s {state} {one}", flush=True)
            caught, tried = caught + bool(found), tried + 1
        print(f"{caught} of {tried} mutants are caught")


if __name__ == "__main__":
    main()
