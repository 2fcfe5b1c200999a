"""Templates: expressions with slots and a question wording, kept in ``templates/*.toml``, or in a file of the user's.

To add a template: a ``[[template]]`` in a catalogue. ``kbkit templates`` lists them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit import assets
from kbkit.answers import syntax
from kbkit.answers.parse import ExpressionError, parse
from kbkit.answers.resolve import resolve
from kbkit.answers.syntax import Expression, Nodes, Slot, Value, combine
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.schema import Schema

if TYPE_CHECKING:
    import polars as pl

_KEYS = {"id", "expression", "answer", "question", "printed", "note", "exclude_start", "shape"}
_PART = re.compile(r"\{([A-Z])\}")


@dataclass(frozen=True)
class Template:
    """An expression with slots, and how to ask it.

    ``id`` is ``catalogue/name``; ``answer`` the type of its answers; ``printed`` the metapath as its paper prints it;
    ``exclude_start`` takes the nodes of slots from the answers where they have the same type. An expression may hold
    parts (``{A} & {B}``), for which ``parts`` gives the choices.
    """

    id: str
    expression: str
    answer: str
    question: str = ""
    paper: str = ""
    printed: str = ""
    note: str = ""
    exclude_start: bool = False
    shape: str = ""
    parts: tuple[str, ...] = ()

    @property
    def letters(self) -> tuple[str, ...]:
        """The parts it has: A, B, C; none for a plain expression."""
        return tuple(dict.fromkeys(_PART.findall(self.expression)))

    @property
    def skeleton(self) -> Expression:
        """The expression with each part as a set ``@A``."""
        return parse(_PART.sub(r"@\1", self.expression))

    def tree(self, parts: Sequence[str] = ()) -> Expression:
        """The expression; each part is one of ``parts`` in turn, its slots renamed so that parts stay apart."""
        if not self.letters:
            return _without_starts(parse(self.expression)) if self.exclude_start else parse(self.expression)
        given = [parse(part) for part in parts or self.parts]
        sets = {}
        for i, letter in enumerate(self.letters):
            part = given[i % len(given)]
            names: dict[str, Value] = {slot: Slot(f"{slot} {letter}") for slot in syntax.slots(part)}
            sets[letter] = syntax.fill(part, names) if len(self.letters) > 1 else part
        return syntax.put(self.skeleton, sets)


def _without_starts(tree: Expression) -> Expression:
    """``tree`` minus its own start nodes, where they are of the type of the answers."""
    answer = _answer(tree)
    starts = [p for p in syntax.walk(tree) if isinstance(p, Nodes) and isinstance(p.pick, Slot) and p.type == answer]
    for start in dict.fromkeys(starts):
        tree = combine("-", tree, start)
    return tree


def _answer(tree: Expression) -> str | None:
    """The type that a tree's answers are written with."""
    if isinstance(tree, syntax.Combine):
        return _answer(tree.parts[0])
    if isinstance(tree, syntax.Filter):
        return _answer(tree.source)
    if isinstance(tree, syntax.Path):
        place = tree.arrows.index("<-") if "<-" in tree.arrows else -1
        element = tree.elements[place]
        assert not isinstance(element, syntax.Step)
        return _answer(element)
    return tree.type if isinstance(tree, Nodes) else None


@cache
def shipped() -> tuple[Template, ...]:
    """The templates that ship with kbkit, catalogue by catalogue."""
    folder = assets.templates()
    return tuple(template for path in sorted(folder.glob("*.toml")) for template in load(path))


def load(path: Path) -> list[Template]:
    """The templates of a catalogue; raises :class:`BadInputError` that says what is wrong with which one."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from None
    rows = data.get("template")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInputError(f"{path} holds no template", "write one under [[template]]")
    paper = " ".join(str(data[key]) for key in ("paper", "section") if data.get(key))
    parts = data.get("parts", [])
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadInputError(f"{path}: parts is no list of texts", "parts = ['genre:<genre> -> movie']")
    found = [_template(path, row, paper, tuple(parts)) for row in rows]
    for template in found:
        if sum(other.id == template.id for other in found) > 1:
            raise BadInputError(f"{path}: several templates are called {template.id!r}", "give each its own id")
    return found


def _template(path: Path, row: Mapping[str, Any], paper: str, parts: tuple[str, ...]) -> Template:
    where = f"{path}, template {row.get('id', '?')}"
    for key in row:
        if key not in _KEYS:
            raise UnknownNameError("key", key, sorted(_KEYS), where)
    for key in ("id", "expression"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise BadInputError(f"{where} has no {key}", f"write {key} = '...'")
    for key, value in row.items():
        if not isinstance(value, bool if key == "exclude_start" else str):
            raise BadInputError(f"{where}: {key} is {value!r}", "exclude_start is true or false, all else is text")
    fields = {**row, "id": f"{path.stem}/{row['id']}", "answer": row.get("answer", "")}
    template = Template(**fields, paper=paper, parts=parts)
    if template.letters and not parts:
        raise BadInputError(f"{where} has parts, and the file names none", "parts = ['genre:<genre> -> movie']")
    try:
        template.tree()
    except ExpressionError as error:
        raise BadInputError(f"{where}: {error.message}", *error.hints) from None
    return template


def find(name: str, own: Sequence[Template] = ()) -> Template:
    """The template called ``name``: ``catalogue/name``, or ``name`` where only one catalogue has it."""
    known = [*own, *shipped()]
    hits = [t for t in known if t.id == name] or [t for t in known if t.id.split("/", 1)[1] == name]
    if not hits:
        raise UnknownNameError("template", name, [t.id for t in known])
    if len(hits) > 1:
        raise KbError(f"several templates are called {name!r}", "name one of " + ", ".join(t.id for t in hits))
    return hits[0]


def as_template(given: str | Template) -> Template:
    """A template as it is, by its id, or from an expression: a text with a ``<slot>`` is an expression."""
    if isinstance(given, Template):
        return given
    return Template("expression", given, "") if "<" in given else find(given)


def listed(templates: Sequence[Template], schema: Schema | None = None, parts: Sequence[str] = ()) -> pl.DataFrame:
    """Templates as rows: template, answer, expression, question; with a schema also fits, those that
    do first, and the problem if not.
    """
    import polars as pl

    rows = []
    for template in templates:
        problem = misfit(template, schema, parts) if schema is not None else ""
        rows.append((template.id, not problem, template.answer, template.expression, template.question, problem))
    columns = ["template", "fits", "answer", "expression", "question", "problem"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    if schema is None:
        return frame.drop("fits", "problem")
    return frame.sort("fits", descending=True, maintain_order=True)


def details(template: Template) -> pl.DataFrame:
    """All about one template: field, value."""
    import polars as pl

    rows = [(name, str(value)) for name, value in vars(template).items() if value not in ("", (), False)]
    return pl.DataFrame(rows, schema=["field", "value"], orient="row")


def write(frame: pl.DataFrame, path: Path, title: str) -> None:
    """Write rows (template, expression, answer, question) as a catalogue of your own, for :func:`load`."""
    import json

    lines = [f"title = {json.dumps(title, ensure_ascii=False)}", ""]
    for row in frame.select("template", "expression", "answer", "question").iter_rows():
        fields = zip(("id", "expression", "answer", "question"), row, strict=True)
        quoted = ((name, json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")) for name, value in fields)
        lines += ["[[template]]", *(f"{name} = {value}" for name, value in quoted), ""]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def misfit(template: Template, schema: Schema, parts: Sequence[str] = ()) -> str:
    """Why a template does not fit a schema; empty when it does."""
    try:
        resolve(template.tree(parts), schema)
    except KbError as error:
        return error.message
    return ""
