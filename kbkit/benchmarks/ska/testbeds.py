"""The testbeds of SKA-Bench (section 3.4): which units of an instance a model sees, and in which order.

A record names the units of one instance in one setting of a testbed. Noise is added to the positive units in its stored
order, until the next unit would exceed the budget of tokens, so that smaller knowledge bases are subsets of larger
ones. All settings of a form but those of noise robustness have the same size: 4k tokens, with texts 12k.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.benchmarks.dataset import json_lines
from kbkit.benchmarks.ska.instances import ROW, Instance, KnowledgeUnit
from kbkit.benchmarks.ska.rendering import cells, line
from kbkit.benchmarks.ska.settings import FORMS
from kbkit.benchmarks.ska.tokens import Tokenizer, tokenizer
from kbkit.directory.files import parse_json, write_files
from kbkit.directory.typed_json import from_json, to_json
from kbkit.errors import BadInputError, Command, KbError, UnknownNameError

NOISE, ORDER, INTEGRATION, REJECTION = TESTBEDS = ("noise", "order", "integration", "rejection")
SIZES = ("1k", "4k", "12k", "24k")
LARGER = ("64k", "128k")
"""Sizes that the paper leaves open."""
ORDERS = ORIGINAL, PREFIX, RANDOM, SUFFIX = ("original", "prefix", "random", "suffix")
GROUPS = ("2", "3", "4", ">4")
"""Numbers of positive units: the settings of information integration. In forms with texts they are heterogeneous."""
ONLY = "noise only"
SEED = 42
REPORT = "testbeds.json"
_KILO = 1024
"""Tokens in 1k: the paper's tables of 12k have 12,054 tokens on average."""
_FILES = {">4": "more", ONLY: "only"}


@dataclass(frozen=True)
class TestbedRecord:
    """The units that a model sees: ids in order, structured units before passages, and their number of ``tokens``."""

    id: str
    instance: str
    form: str
    testbed: str
    setting: str
    units: list[str]
    tokens: int


@dataclass
class Report:
    """The settings of the testbeds of a dataset, and counts by form and size.

    ``instances`` are the ids of all instances, in order. ``sizes`` are sums over the records of noise robustness:
    ``[form, size, records, structured units, passages, tokens, records whose noise ran out]``. ``left_out`` are ids of
    instances by reason.
    """

    tokenizer: str
    seed: int
    dataset: str
    instances: list[str] = field(default_factory=list)
    sizes: list[list[Any]] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)


class Sized(NamedTuple):
    """An instance, the tokens of its header, of all positive units together, and of each unit of the noise."""

    instance: Instance
    header: int
    positive: int
    noise: list[int]


# -- sizes ------------------------------------------------------------------------------------------------------------


def budget(size: str) -> int:
    """Return the number of tokens of a size (``4k``). Raises :class:`UnknownNameError`."""
    if size not in (*SIZES, *LARGER):
        raise UnknownNameError("size", size, [*SIZES, *LARGER])
    return int(size.removesuffix("k")) * _KILO


def sizes_of(form: str, further: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the sizes of noise robustness for a form; those with texts start at 4k."""
    return (*(SIZES[1:] if "text" in form else SIZES), *further)


def size_of(form: str) -> str:
    """Return the size of the other testbeds for a form."""
    return "12k" if "text" in form else "4k"


def sized(instance: Instance, counted: Tokenizer) -> Sized:
    """Count the tokens of an instance."""
    header = [instance.title, cells(instance.header)] if instance.header else []
    texts = [*header, *map(line, instance.positive), *map(line, instance.noise)]
    counts = counted.counts(texts)
    first = len(header) + len(instance.positive)
    return Sized(instance, sum(counts[: len(header)]), sum(counts[len(header) : first]), counts[first:])


def fitting(one: Sized, limit: int, *, positive: bool = True) -> tuple[int, int] | None:
    """Return how many units of the noise fit into ``limit`` tokens, and the tokens of all.

    None if the positive units alone exceed the limit.
    """
    start = one.header + (one.positive if positive else 0)
    if start > limit:
        return None
    sums = list(takewhile(lambda total: total <= limit, accumulate(one.noise, initial=start)))
    return len(sums) - 1, sums[-1]


# -- orders -----------------------------------------------------------------------------------------------------------


def arranged(instance: Instance, noise: int, order: str, seed: int = SEED, *, positive: bool = True) -> list[str]:
    """Return the ids of the positive units and the first ``noise`` units of the noise, in an order.

    Structured units come before passages; the order is that within each of these. ``prefix`` has the positive units at
    the beginning, ``suffix`` at the end, ``random`` anywhere. ``original`` is random for triples and passages, while
    rows are in the order of their table.
    """
    chosen = [*(instance.positive if positive else ()), *instance.noise[:noise]]
    random.Random(f"{seed} {instance.id}").shuffle(chosen)  # noqa: S311 - reproducible, not secret
    known = {unit.id for unit in instance.positive}
    ids = []
    for structured in (True, False):
        units = [unit for unit in chosen if unit.is_structured == structured]
        if order in (PREFIX, SUFFIX):
            units.sort(key=lambda unit: (unit.id in known) == (order == SUFFIX))
        elif order == ORIGINAL:
            units.sort(key=_place)  # stable: triples and passages stay shuffled
        ids += [unit.id for unit in units]
    return ids


def _place(unit: KnowledgeUnit) -> int:
    return unit.position if unit.kind == ROW else 0


def orders_of(form: str) -> tuple[str, ...]:
    """Return the settings of order insensitivity for a form: only tables have an original order."""
    return ORDERS if form.startswith("table") else ORDERS[1:]


def group_of(instance: Instance) -> str:
    """Return the setting of information integration; empty for an instance that is in none.

    With texts, only instances count that need both structured units and passages.
    """
    count, structured = len(instance.positive), sum(unit.is_structured for unit in instance.positive)
    if count < 2 or ("text" in instance.form and structured in (0, count)):
        return ""
    return str(count) if count <= 4 else GROUPS[-1]


# -- records ----------------------------------------------------------------------------------------------------------


def records(one: Sized, further: Sequence[str] = (), seed: int = SEED) -> Iterator[tuple[TestbedRecord | None, str]]:
    """Yield the records of an instance, or None with the reason why there is none."""
    instance, form = one.instance, one.instance.form
    standard = size_of(form)
    for size in sizes_of(form, further):
        fits = fitting(one, budget(size))
        if fits is None:
            yield None, f"{form}: positive units exceed {size}"
        else:
            yield _record(instance, NOISE, size, arranged(instance, fits[0], ORIGINAL, seed), fits[1]), ""
    fits = fitting(one, budget(standard))
    if fits is not None:
        for order in orders_of(form):
            yield _record(instance, ORDER, order, arranged(instance, fits[0], order, seed), fits[1]), ""
        group = group_of(instance)
        if group:
            yield _record(instance, INTEGRATION, group, arranged(instance, fits[0], ORIGINAL, seed), fits[1]), ""
        else:
            kind = "heterogeneous" if "text" in form else "positive"
            yield None, f"{form}, {INTEGRATION}: fewer than 2 {kind} units"
    alone = fitting(one, budget(standard), positive=False)
    if alone is not None and alone[0]:
        units = arranged(instance, alone[0], ORIGINAL, seed, positive=False)
        yield _record(instance, REJECTION, ONLY, units, alone[1]), ""
    else:
        yield None, f"{form}, {REJECTION}: no noise fits into {standard}"


def _record(instance: Instance, testbed: str, setting: str, units: list[str], tokens: int) -> TestbedRecord:
    name = f"{testbed}/{setting}/{instance.id}"
    return TestbedRecord(name, instance.id, instance.form, testbed, setting, units, tokens)


def make(
    instances: Iterable[Instance],
    dataset: str = "",
    *,
    further: Sequence[str] = (),
    seed: int = SEED,
    counted: Tokenizer | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[list[TestbedRecord], Report]:
    """Make all testbeds; ``further`` are sizes of noise robustness beyond the paper's, ``dataset`` is its hash."""
    for size in further:
        budget(size)
    counted = counted or tokenizer()
    report = Report(counted.name, seed, dataset)
    testbed_records: list[TestbedRecord] = []
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 5)
    for number, instance in enumerate(instances, 1):
        one = sized(instance, counted)
        structured = {unit.id for unit in instance.units if unit.is_structured}
        report.instances.append(instance.id)
        for record, reason in records(one, tuple(dict.fromkeys(further)), seed):
            if record is None:
                report.left_out.setdefault(reason, []).append(instance.id)
                continue
            testbed_records.append(record)
            if record.testbed == NOISE:
                both = sum(unit in structured for unit in record.units)
                ran_out = len(record.units) == len(instance.positive) + len(instance.noise)
                new = (1, both, len(record.units) - both, record.tokens, ran_out)
                total = sums[record.form, record.setting]
                total[:] = [a + b for a, b in zip(total, new, strict=True)]
        progress(number, 0)
    order = [(form, size) for form in FORMS for size in sizes_of(form, LARGER)]
    report.sizes = [[*key, *sums[key]] for key in order if key in sums]
    return testbed_records, report


# -- files ------------------------------------------------------------------------------------------------------------


def file_name(testbed: str, setting: str) -> str:
    """Return the file of a setting: ``noise-4k.jsonl``."""
    return f"{testbed}-{_FILES.get(setting, setting)}.jsonl"


def write_testbeds(folder: Path, testbed_records: Sequence[TestbedRecord], report: Report) -> list[Path]:
    """Write a file for each setting, and the report; files of earlier testbeds in the folder are removed."""
    files: dict[str, list[TestbedRecord]] = defaultdict(list)
    for record in testbed_records:
        files[file_name(record.testbed, record.setting)].append(record)
    content = {folder / name: json_lines(map(to_json, of_file)) for name, of_file in files.items()}
    old = [path for testbed in TESTBEDS for path in folder.glob(f"{testbed}-*.jsonl") if path not in content]
    write_files({**content, folder / REPORT: json.dumps(asdict(report), ensure_ascii=False) + "\n"})
    for path in old:
        path.unlink()
    return list(content)


def read_testbeds(
    folder: Path, testbeds: Sequence[str] = (), settings: Sequence[str] = (), forms: Sequence[str] = ()
) -> tuple[list[TestbedRecord], Report]:
    """Read the records of some (default: all) testbeds, settings and forms, in the order of the instances.

    Raises :class:`KbError` if there are none, and :class:`BadInputError` that names file and line.
    """
    for kind, names, known in (
        ("testbed", testbeds, TESTBEDS),
        ("setting", settings, (*SIZES, *LARGER, *ORDERS, *GROUPS, ONLY)),
        ("form", forms, FORMS),
    ):
        for name in names:
            if name not in known:
                raise UnknownNameError(kind, name, known)
    report = read_report(folder)
    selected = []
    for testbed in testbeds or TESTBEDS:
        for path in sorted(folder.glob(f"{testbed}-*.jsonl")):
            selected += [record for record in _records(path) if not settings or record.setting in settings]
    selected = [record for record in selected if not forms or record.form in forms]
    if not selected:
        raise KbError(f"No such records in {folder}", "Choose other testbeds, settings or forms")
    place = {name: position for position, name in enumerate(report.instances)}
    return sorted(selected, key=lambda record: place.get(record.instance, len(place))), report


def read_report(folder: Path) -> Report:
    """Read the report of testbeds. Raises :class:`KbError` if there is none."""
    path = folder / REPORT
    if not path.is_file():
        raise KbError(f"No testbeds in {folder}", "Run ", Command("ska testbed DATASET"), " to make them")
    try:
        report: Report = from_json(Report, parse_json(path.read_bytes()), str(path))
    except (ValueError, RecursionError):
        raise BadInputError(f"Invalid JSON in {path}", "Make the testbeds again") from None
    return report


def _records(path: Path) -> Iterator[TestbedRecord]:
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if text.strip():
                where = f"{path}, line {number}"
                try:
                    value = parse_json(text)
                except (ValueError, RecursionError):
                    raise BadInputError(f"Invalid JSON in {where}", "Make the testbeds again") from None
                yield from_json(TestbedRecord, value, where)
