"""Review of synthesized rows by people (section 3.2.3 of the paper): rows that are unsafe are deleted.

A verdict says of a synthesized row whether it is safe: whether the answers of the question stay the same with it. The
file of a reviewer is ``review/NAME.jsonl`` in the folder of the dataset; each verdict is saved at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from kbkit.benchmarks.dataset import check_seed
from kbkit.benchmarks.ska.instances import Instance, Unit
from kbkit.directory.files import append_json, whole_lines
from kbkit.errors import BadInputError, KbError
from kbkit.measures.records import content, records

FOLDER = "review"
_NAME = re.compile(r"[\w-][\w.-]{0,63}")


@dataclass(frozen=True)
class Verdict:
    """What a reviewer says of a synthesized row: the instance, the id of the unit, and whether it is safe."""

    instance: str
    unit: str
    safe: bool


@dataclass(frozen=True)
class Reviewed:
    """The outcome of a review: numbers of rows that were judged, and of those that are unsafe."""

    judged: int
    unsafe: int

    @property
    def share(self) -> float:
        """The fraction of safe rows among those judged (the paper: 0.925); NaN if none was judged."""
        return 1 - self.unsafe / self.judged if self.judged else float("nan")


def sampled(instances: Sequence[Instance], count: int, rows: int, seed: int) -> list[tuple[Instance, list[Unit]]]:
    """Return ``count`` instances with synthesized rows at random, each with up to ``rows`` of these rows."""
    check_seed(seed)
    fit = [one for one in instances if any(unit.synthesized for unit in one.noise)]
    rng = np.random.default_rng(seed)
    chosen = sorted(rng.choice(len(fit), min(count, len(fit)), replace=False).tolist()) if fit else []
    result = []
    for at in chosen:
        units = [unit for unit in fit[at].noise if unit.synthesized]
        kept = sorted(rng.choice(len(units), min(rows, len(units)), replace=False).tolist())
        result.append((fit[at], [units[i] for i in kept]))
    return result


def file_of(folder: Path, reviewer: str) -> Path:
    """Return the file of a reviewer. Raises :class:`KbError` for a name that is not one word."""
    if not _NAME.fullmatch(reviewer):
        raise KbError(f"Invalid reviewer {reviewer!r}", "Use letters, digits, '-', '_' and '.'")
    return folder / FOLDER / f"{reviewer}.jsonl"


def mark(path: Path, verdict: Verdict) -> None:
    """Append a verdict to a reviewer's file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    append_json(path, asdict(verdict))


def verdicts(path: Path) -> list[Verdict]:
    """Read the verdicts of a file, of several on one row the last; none without a file.

    An incomplete last line, which a killed process left, is skipped. Raises :class:`BadInputError` for any other
    invalid line.
    """
    if not path.is_file():
        return []
    found: dict[tuple[str, str], Verdict] = {}
    for record in records(path, whole_lines(content(path))):
        instance, unit, is_safe = (record.fields.get(name) for name in ("instance", "unit", "safe"))
        if not (isinstance(instance, str) and isinstance(unit, str) and isinstance(is_safe, bool)):
            hint = 'Example: {"instance": "table-0", "unit": "n7", "safe": false}'
            raise BadInputError(f"Invalid verdict in {path}, line {record.position}", hint)
        found[instance, unit] = Verdict(instance, unit, is_safe)
    return list(found.values())


def apply(instances: Sequence[Instance], given: Iterable[Verdict]) -> tuple[list[Instance], Reviewed]:
    """Return the instances without the rows that any reviewer marked as unsafe, and the outcome.

    Ids of the remaining units stay the same. Raises :class:`KbError` for a row that no instance has, or that is not
    synthesized.
    """
    known = {(one.id, unit.id): unit for one in instances for unit in one.noise}
    judged: dict[tuple[str, str], bool] = {}
    for verdict in given:
        key = (verdict.instance, verdict.unit)
        if key not in known or not known[key].synthesized:
            message = f"Instance {verdict.instance!r} has no synthesized row {verdict.unit!r}"
            raise KbError(message, "The rows were reviewed in other instances: review them again")
        judged[key] = judged.get(key, True) and verdict.safe
    unsafe = {key for key, is_safe in judged.items() if not is_safe}
    kept = [replace(one, noise=[unit for unit in one.noise if (one.id, unit.id) not in unsafe]) for one in instances]
    return kept, Reviewed(len(judged), len(unsafe))
