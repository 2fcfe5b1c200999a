"""Instances of SKA-Bench (section 3.1 of the paper): a question, its answers, and positive and noisy units.

An instance is self-contained: its units are what a model reads, and where its question was made from a query, that
query runs on the units alone (:mod:`kbkit.benchmarks.ska.solve`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kbkit.benchmarks.dataset import json_lines
from kbkit.benchmarks.left_out import LeftOutWords
from kbkit.benchmarks.ska.settings import FORMS
from kbkit.directory.files import parse_json, write_files
from kbkit.directory.typed_json import from_json, to_json
from kbkit.errors import BadInputError, Command, KbError

FILE = "instances.jsonl"
_MAKE = "Run ", Command("ska make"), " to make a dataset"
TRIPLE, ROW, PASSAGE = KINDS = ("triple", "row", "passage")


@dataclass(frozen=True)
class KnowledgeUnit:
    """A unit of knowledge: a ``triple``, a ``row`` or a ``passage``.

    ``content`` is what a model reads: head, relation and tail; the cells of a row, in the order of the header; the
    title and the text of a passage. ``source`` is where it comes from: for a triple the head (``type#key``), the
    relation and the tail (``type#key``; empty for the value of an attribute); for a row the table and the position in
    it; for a passage the node (``type#key``), the field and its position (empty for texts that cells link to).
    ``position`` is the place of a row in the full table, synthesized rows included. ``synthesized`` names what made a
    row (a model, or ``rule``), and ``check`` the result of its check.
    """

    id: str
    kind: str
    content: list[str]
    source: list[str] = field(default_factory=list)
    position: int = 0
    synthesized: str = ""
    check: str = ""

    @property
    def is_structured(self) -> bool:
        """Whether the unit is a triple or a row."""
        return self.kind != PASSAGE


@dataclass(frozen=True)
class Provenance:
    """Where an instance comes from.

    ``dataset`` and ``question_id`` name the source of the question, ``kb`` the KB, ``table`` the table. ``evidence``
    is how the positive units were found: ``derivations`` of an ``expression``, the rows that a ``sql`` query uses, a
    published ``trace``, ``cells`` that match, the shortest ``paths`` from topics to answers, a ``model``, or
    ``people``. ``sql`` is the question as a query over the units (empty if there is none). ``topics`` are the nodes
    (``type#key``) or cells that the question names. ``aliases`` are other names of answers, by answer.
    With texts, ``phrases`` are what the passages must mention, and ``asked`` is the type of the answers in a graph.
    """

    dataset: str
    question_id: str = ""
    kb: str = ""
    table: str = ""
    evidence: str = ""
    expression: str = ""
    sql: str = ""
    topics: list[str] = field(default_factory=list)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    phrases: list[str] = field(default_factory=list)
    asked: str = ""


@dataclass(frozen=True)
class Instance:
    """A question with its answers, its positive units and its noise, in the order in which noise is added.

    ``title`` and ``header`` are those of the table, for the forms with tables. Unit ids are unique in the instance:
    ``p0``, ``p1`` for positive units, ``n0``, ``n1`` for noise.
    """

    id: str
    form: str
    question: str
    answers: list[str]
    positive: list[KnowledgeUnit]
    noise: list[KnowledgeUnit]
    provenance: Provenance
    title: str = ""
    header: list[str] = field(default_factory=list)

    @property
    def units(self) -> list[KnowledgeUnit]:
        """All units, the positive ones first."""
        return [*self.positive, *self.noise]

    def chosen(self, ids: Iterable[str]) -> list[KnowledgeUnit]:
        """Return units by id, in the order of ``ids``. Raises :class:`KbError` for an unknown id."""
        known = {unit.id: unit for unit in self.units}
        try:
            return [known[name] for name in ids]
        except KeyError as error:
            message = f"Instance {self.id} has no unit {error.args[0]!r}"
            raise KbError(
                message, "The testbeds were made from other instances: run ", Command("ska testbed DATASET"), " again"
            ) from None


def numbered(units: Sequence[KnowledgeUnit], letter: str) -> list[KnowledgeUnit]:
    """Return units with the ids ``letter`` and a number from 0."""
    return [replace(unit, id=f"{letter}{number}") for number, unit in enumerate(units)]


def without_words(instance: Instance, words: LeftOutWords) -> Instance | None:
    """Return an instance without the noise that has listed words; None if it needs a text with such a word."""
    needed = [text for unit in instance.positive for text in unit.content]
    if words.any((instance.question, *instance.answers, instance.title, *instance.header, *needed)):
        return None
    noise = [unit for unit in instance.noise if not words.any(unit.content)]
    return instance if len(noise) == len(instance.noise) else replace(instance, noise=numbered(noise, "n"))


# -- files ------------------------------------------------------------------------------------------------------------


def write_instances(folder: Path, instances: Sequence[Instance]) -> Path:
    """Write the instances of a dataset as JSON lines, all of them or none."""
    path = folder / FILE
    write_files({path: json_lines(to_json(instance) for instance in instances)})
    return path


def read_instances(path: Path) -> list[Instance]:
    """Read the instances of a dataset folder or file. Raises :class:`BadInputError` that names file, line and field."""
    return list(scan(path))


def file_of(dataset: Path) -> Path:
    """Return the file of instances of a folder, or the file itself. Raises :class:`KbError` if it does not exist."""
    path = dataset / FILE if dataset.is_dir() else dataset
    if not path.is_file():
        raise KbError(f"{path} does not exist", *_MAKE)
    return path


def scan(path: Path) -> Iterator[Instance]:
    """Read instances one at a time; see :func:`read_instances`. Raises :class:`KbError` if there are none."""
    path = file_of(path)
    seen: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                instance = _instance(line, f"{path}, line {number}")
                if instance.id in seen:
                    raise BadInputError(f"Duplicate instance {instance.id!r} in {path}, line {number}")
                seen.add(instance.id)
                yield instance
    if not seen:
        raise KbError(f"No instances in {path}", *_MAKE)


def _instance(line: bytes, where: str) -> Instance:
    """Read one instance and check its form, its header, and the ids, kinds and parts of its units."""
    try:
        value = parse_json(line)
        if b"\\ud" in line.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadInputError(f"Unpaired surrogate (invalid Unicode) in {where}") from None
    except (ValueError, RecursionError):
        raise BadInputError(f"Invalid JSON in {where}") from None
    instance = _from_json(value, where)
    if instance.form not in FORMS:
        raise BadInputError(f"Unknown form {instance.form!r} in {where}", f"Use {', '.join(FORMS)}")
    if len({name.casefold() for name in instance.header}) < len(instance.header):
        raise BadInputError(f"Duplicate column in the header in {where}", "Names must differ regardless of case")
    ids: set[str] = set()
    sources = {TRIPLE: 3, ROW: 0, PASSAGE: 2} if instance.provenance.sql else dict.fromkeys(KINDS, 0)
    lengths = {TRIPLE: 3, ROW: len(instance.header), PASSAGE: 2}
    for unit in instance.units:
        if unit.kind not in KINDS:
            raise BadInputError(f"Unknown kind of unit {unit.kind!r} in {where}", f"Use {', '.join(KINDS)}")
        if unit.id in ids:
            raise BadInputError(f"Duplicate unit {unit.id!r} in {where}")
        if len(unit.content) != lengths[unit.kind]:
            message = f"Unit {unit.id} in {where} has {len(unit.content)} parts instead of {lengths[unit.kind]}"
            raise BadInputError(message)
        if len(unit.source) < sources[unit.kind]:
            raise BadInputError(f"Unit {unit.id} in {where} has no source", "The query of the instance needs it")
        ids.add(unit.id)
    return instance


def _from_json(value: Any, where: str) -> Instance:
    """Convert JSON data to an instance: valid units directly, which takes a tenth of the time; all else with errors."""
    if isinstance(value, dict):
        lists = [value.get(name) for name in ("positive", "noise")]
        if all(isinstance(units, list) and all(map(_is_unit, units)) for units in lists):
            positive, noise = ([KnowledgeUnit(**unit) for unit in units] for units in lists if isinstance(units, list))
            rest: Instance = from_json(Instance, {**value, "positive": [], "noise": []}, where)
            return replace(rest, positive=positive, noise=noise)
    whole: Instance = from_json(Instance, value, where)
    return whole


_TYPES: dict[str, type] = {
    "id": str, "kind": str, "content": list, "source": list, "position": int, "synthesized": str, "check": str
}  # fmt: skip
_REQUIRED = {"id", "kind", "content"}


def _is_unit(value: Any) -> bool:
    """Return whether JSON data has the fields of a unit and their types."""
    return (
        type(value) is dict
        and value.keys() >= _REQUIRED
        and all(type(part) is _TYPES.get(name) for name, part in value.items())
        and all(type(text) is str for text in value["content"])
        and all(type(text) is str for text in value.get("source", ()))
    )
