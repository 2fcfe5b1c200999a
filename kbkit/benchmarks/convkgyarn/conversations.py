"""Conversations as typed records, and their files: Parquet or JSON Lines, with the same nested columns.

Conversations of one ``group`` are about the same facts in the same order; they differ only in their configuration, so
that scores can be compared in pairs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.dataset import writing
from kbkit.directory import systems
from kbkit.directory.files import parse_json
from kbkit.directory.typed_json import from_json
from kbkit.errors import BadInputError, KbError, reason

if TYPE_CHECKING:
    import pyarrow as pa

CONVERSATIONS = "conversations"
"""The stem of the file in a dataset's folder."""
INTERACTIONS = ("voice", "text")
PROPERTIES = ("interaction", "deixis", "disfluency", "typo")
"""The properties of a configuration."""
Setting = tuple[str, bool, bool, bool]
"""The values of :data:`PROPERTIES`."""

SETTINGS: tuple[Setting, ...] = tuple(
    (interaction, deixis, noise and interaction == "voice", noise and interaction == "text")
    for interaction in ("voice", "text")
    for deixis in (False, True)
    for noise in (False, True)
)
"""The eight configurations in the order of the paper's rows."""
KINDS = ("entity", "date", "number", "text")
"""Kinds of answers."""
FORMS = (
    "original", "deixis", "disfluencies", "deixis_disfluencies", "typos", "deixis_typos", "follow_up",
    "follow_up_typos", "follow_up_disfluencies",
)  # fmt: skip
"""Forms of questions. ``original`` questions can be understood alone; follow-ups are short (*And the Rhine?*)."""
_BATCH = 1_000


@dataclass(frozen=True)
class ConvEntity:
    """A node: ``reference`` is ``type#key``."""

    type: str
    key: str
    name: str
    aliases: list[str] = field(default_factory=list)

    @property
    def reference(self) -> str:
        """``type#key``, which outlives a generation of the KB."""
        return f"{self.type}#{self.key}"


@dataclass(frozen=True)
class TurnAnswer:
    """One correct answer.

    ``text`` is written as a person would say it (``12 May 1820``, ``1,230 km``), ``aliases`` are other names, ``node``
    is ``type#key`` of an entity, or else "", ``value`` the ISO date (or a year) or the plain number, or else "".
    """

    text: str
    aliases: list[str] = field(default_factory=list)
    node: str = ""
    value: str = ""


@dataclass(frozen=True)
class Turn:
    """A question with all of its answers.

    * ``kind``: one of ``KINDS``; ``unit`` that of numbers (``km``), "" if unknown
    * ``predicate``: the relation (``^name`` if followed from tail to head) or attribute; ``label``: in words
    * ``qualifier``: the relationship predicate of a qualified fact: the attribute of an edge, or a qualifier of
      Wikidata; "" for simple and complex facts. ``given``: the objects of the same predicate that the question names
    * ``subject``: ``entity`` or ``related``, the entity that the question is about
    * ``form``: one of ``FORMS``; it may differ from the configuration, since a first turn has no deixis
    * ``template``: id of the question's template
    """

    question: str
    answers: list[TurnAnswer]
    kind: str
    predicate: str
    label: str
    template: str
    form: str
    unit: str = ""
    qualifier: str = ""
    given: list[str] = field(default_factory=list)
    subject: str = "entity"


@dataclass(frozen=True)
class TurnPrediction:
    """The answers to one turn, empty if the system declines (NA) or fails with an ``error``.

    ``reading`` is how the baseline read the question: an answer expression.
    """

    answers: list[str] = field(default_factory=list)
    error: str = ""
    reading: str = ""

    @property
    def is_na(self) -> bool:
        """Whether the system declined to answer."""
        return not self.answers and not self.error


@dataclass(frozen=True)
class Conversation:
    """A conversation about ``entity``, and about ``related`` if it is set.

    ``interaction`` is voice or text; ``disfluency`` is only for voice, ``typo`` only for text.
    """

    id: str
    group: str
    entity: ConvEntity
    related: ConvEntity | None
    interaction: str
    deixis: bool
    disfluency: bool
    typo: bool
    turns: list[Turn]

    @property
    def configuration(self) -> str:
        """The configuration and the set in words: ``voice, deixis and disfluencies, related``."""
        return f"{in_words(self.setting)}, {'related' if self.related else 'general'}"

    @property
    def setting(self) -> Setting:
        """The configuration."""
        return self.interaction, self.deixis, self.disfluency, self.typo


def in_words(setting: Sequence[Any]) -> str:
    """Return a configuration in words: ``voice, deixis and disfluencies``."""
    phenomena = [name for name, on in zip(("deixis", "disfluencies", "typos"), setting[1:], strict=True) if on]
    return ", ".join([str(setting[0]), *([" and ".join(phenomena)] if phenomena else [])])


# -- files ------------------------------------------------------------------------------------------------------------


def arrow_schema() -> pa.Schema:
    """Return the columns of the Parquet file."""
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    entity = pa.struct([("type", text), ("key", text), ("name", text), ("aliases", texts)])
    answer = pa.struct([("text", text), ("aliases", texts), ("node", text), ("value", text)])
    kinds: dict[str, Any] = {"answers": pa.list_(answer), "given": texts}
    turn = pa.struct([(f.name, kinds.get(f.name, text)) for f in fields(Turn)])
    own: dict[str, Any] = {
        "entity": entity,
        "related": entity,
        "deixis": pa.bool_(),
        "disfluency": pa.bool_(),
        "typo": pa.bool_(),
        "turns": pa.list_(turn),
    }
    return pa.schema([(f.name, own.get(f.name, text)) for f in fields(Conversation)])


class ConvWriter:
    """``with Writer(path) as writer: writer.add(table)``: write tables of :func:`arrow_schema` to a file, one by one.

    The suffix decides the format: ``.parquet`` or ``.jsonl``. The file appears when the block ends without an error.
    """

    def __init__(self, path: Path) -> None:
        check_suffix(path)
        self.path, self.count = path, 0
        self._aside = path.with_name(f".{path.name}.new")
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> ConvWriter:
        self._stack.enter_context(writing(self.path))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.suffix == ".parquet":
            import pyarrow.parquet as pq

            self._parquet = pq.ParquetWriter(self._aside, arrow_schema(), compression="zstd")
        else:
            self._lines = self._aside.open("wb")
        return self

    def add(self, table: pa.Table) -> None:
        """Append conversations."""
        if self.path.suffix == ".parquet":
            self._parquet.write_table(table)
        else:
            import polars as pl

            frame = pl.from_arrow(table)
            assert isinstance(frame, pl.DataFrame)
            frame.write_ndjson(self._lines)
        self.count += table.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            (self._parquet if self.path.suffix == ".parquet" else self._lines).close()
            if error is None:
                systems.replace(self._aside, self.path)
            else:
                self._aside.unlink(missing_ok=True)


def check_suffix(path: Path) -> None:
    """Raise :class:`KbError` unless conversations can be written to a file with this name."""
    if path.suffix not in (".parquet", ".jsonl"):
        raise KbError(f"Unknown format of conversations: {path}", "Use a file that ends in .parquet or .jsonl")


def write_conversations(path: Path, conversations: Iterable[Conversation]) -> int:
    """Write conversations to a file; return their number."""
    import pyarrow as pa

    from kbkit.directory.typed_json import to_json

    with ConvWriter(path) as writer:
        batch: list[dict[str, Any]] = []
        for conversation in conversations:
            batch.append(_complete(to_json(conversation)))
            if len(batch) == _BATCH:
                writer.add(pa.Table.from_pylist(batch, schema=arrow_schema()))
                batch = []
        writer.add(pa.Table.from_pylist(batch, schema=arrow_schema()))
    return writer.count


def _complete(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the values that :func:`to_json` omits because they are the default."""

    def entity(one: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if one is None else {"aliases": [], **one}

    turns = [
        {
            **{"unit": "", "qualifier": "", "given": [], "subject": "entity"},
            **turn,
            "answers": [{"aliases": [], "node": "", "value": "", **answer} for answer in turn["answers"]],
        }
        for turn in record["turns"]
    ]
    return {**record, "entity": entity(record["entity"]), "related": entity(record.get("related")), "turns": turns}


def dataset_file(path: Path) -> Path:
    """Return the file of conversations in a dataset's folder, or ``path`` itself if it is a file.

    Raises :class:`KbError` if there is none.
    """
    if not path.is_dir():
        check_suffix(path)
        return path
    files = [path / f"{CONVERSATIONS}{suffix}" for suffix in (".parquet", ".jsonl")]
    for file in files:
        if file.exists():
            return file
    raise KbError(f"No conversations in {path}", f"Expected {files[0].name} or {files[1].name}")


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Read the conversations of a file or a dataset's folder, a batch at a time.

    Raises :class:`BadInputError` with the line or the number of the conversation that does not fit.
    """
    file = dataset_file(path)
    if not file.exists():
        raise KbError(f"{file} does not exist")
    for where, record in _parquet_records(file) if file.suffix == ".parquet" else _line_records(file):
        yield from_record(record, where)


def from_record(record: dict[str, Any], where: str) -> Conversation:
    """Return a conversation from its JSON data; ``where`` names it in errors (:class:`BadInputError`)."""
    one: Conversation = from_json(Conversation, {"related": None, **record}, where)
    _check(one, where)
    return one


def _line_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{file}, line {number}"
            try:
                record = parse_json(line)
            except (ValueError, RecursionError) as error:
                raise BadInputError(f"Invalid JSON in {where}: {error}") from None
            if not isinstance(record, dict):
                raise BadInputError(f"Expected an object in {where}")
            yield where, record


def _parquet_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInputError(f"Cannot read {file}: {reason(error)}") from None
    number = 0
    with source:
        for batch in source.iter_batches(_BATCH):
            for record in batch.to_pylist():
                number += 1
                yield f"{file}, conversation {number}", record


def _check(conversation: Conversation, where: str) -> None:
    """Raise :class:`BadInputError` for values that are not known, or a conversation without turns."""
    if conversation.interaction not in INTERACTIONS:
        raise BadInputError(
            f"Unknown interaction {conversation.interaction!r} in {where}", f"Use {' or '.join(INTERACTIONS)}"
        )
    if not conversation.turns:
        raise BadInputError(f"No turns in {where}")
    for number, turn in enumerate(conversation.turns, 1):
        if turn.kind not in KINDS:
            raise BadInputError(f"Unknown kind {turn.kind!r} in {where}, turn {number}", f"Use {', '.join(KINDS)}")
        if not turn.answers:
            raise BadInputError(f"No answers in {where}, turn {number}")
        if turn.subject == "related" and conversation.related is None:
            raise BadInputError(f"Turn {number} in {where} is about a related entity, but there is none")
