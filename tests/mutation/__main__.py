"""Draw mutants, run for each the tests of its room, and list those that no test notices.

    python -m tests.mutation --seed 1 --count 40
    python -m tests.mutation --seed 1 --count 40 --tests ../other-checkout

All runs in a copy of the checkout. ``--tests`` takes the tests of another checkout, so that two suites can be compared
on the same mutants.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutation.mutants import Mutant, draw
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

    def tests_of(self, module: str) -> list[str]:
        """Return the test files of a module's room, first those that name the module or its folder."""
        folder = self._folder / "tests" / Path(module).parent.relative_to("kbkit")
        while not folder.is_dir():
            folder = folder.parent
        files = sorted(folder.rglob("test_*.py"))
        dotted = module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        package, _, name = dotted.rpartition(".")
        known = (dotted, f"from {package} import {name}")
        text = {file: file.read_text(encoding="utf-8") for file in files}
        names = {name, package.rpartition(".")[2]}
        files.sort(
            key=lambda file: (
                not any(one in text[file] for one in known),
                file.stem.removeprefix("test_") not in names,
                package not in text[file],
            )
        )
        return [file.relative_to(self._folder).as_posix() for file in files]

    def notices(self, mutant: Mutant) -> str:
        """Return what the tests say of a mutant: the test that fails, that time is up, or nothing."""
        path = self._folder / mutant.file
        kept = path.read_bytes()
        path.write_bytes(mutant.put_into(kept))
        try:
            done = self._pytest([*self.tests_of(mutant.file), "-x"])
        except subprocess.TimeoutExpired:
            return f"not done after {self._limit:.0f} s"
        finally:
            path.write_bytes(kept)
        if done.returncode == 0:
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0][:160] if failed else f"exit code {done.returncode}"

    def _pytest(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *self._options, *words]
        variables = {**os.environ, "PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": ""}
        return subprocess.run(
            command, cwd=self._folder, env=variables, capture_output=True, text=True, check=False, timeout=self._limit
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="Random seed.")
    parser.add_argument("--count", type=int, default=40, help="Number of mutants.")
    parser.add_argument("--area", action="append", choices=AREAS, help="Folder of kbkit to change (default: all).")
    parser.add_argument("--tests", type=Path, default=ROOT, help="Checkout whose tests run.")
    parser.add_argument("--limit", type=float, default=600, help="Seconds per mutant.")
    parser.add_argument("--only", type=int, action="append", help="Number of a mutant to try.")
    parser.add_argument("--list", action="store_true", help="List the mutants and exit.")
    parser.add_argument("options", nargs="*", help="Options of pytest, after --.")
    chosen = parser.parse_args()
    mutants = draw(ROOT, chosen.area or AREAS, chosen.count, chosen.seed)
    if chosen.list:
        for number, one in enumerate(mutants):
            print(f"{number:3d} {one}")
        return
    with tempfile.TemporaryDirectory(prefix="kbkit-mutation-") as folder:
        trial = Trial(Path(folder), chosen.tests.resolve(), chosen.options, chosen.limit)
        noticed = tried = 0
        for number, one in enumerate(mutants):
            if chosen.only and number not in chosen.only:
                continue
            begun = time.monotonic()
            found = trial.notices(one)
            state = f"caught ({found})" if found else "SURVIVED"
            print(f"{number:3d} {time.monotonic() - begun:5.0f} s {one}: {state}", flush=True)
            noticed, tried = noticed + bool(found), tried + 1
        print(f"{noticed} of {tried} mutants are caught")


if __name__ == "__main__":
    main()
