"""Templates: expressions with slots and a question, from ``assets/templates/*.toml`` or a catalogue of the user.

To add a template, add a ``[[template]]`` to a catalogue.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit import assets
from kbkit.answers import syntax
from kbkit.answers.errors import ExpressionError
from kbkit.answers.parse import parse
from kbkit.answers.resolve import resolve
from kbkit.answers.syntax import Expression, Nodes, Slot, Value, combine
from kbkit.assets.arguments import invalid
from kbkit.directory.files import parse_toml
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.schema import Schema

if TYPE_CHECKING:
    import polars as pl

_KEYS = {"id", "expression", "answer", "question", "printed", "note", "exclude_start", "shape", "phrase"}
_PARTS_HINT = "Add parts = ['genre:<genre> -> movie']"
_PART = re.compile(r"\{([A-Z])\}")


@dataclass(frozen=True)
class Template:
    """An expression with slots, and a question.

    ``id`` is ``catalogue/name``; ``answer`` the type of the answers; ``phrase`` words them (``drugs: target <gene>``),
    for expressions that are hard to word; ``printed`` is the metapath as printed in the paper;
    ``exclude_start`` removes slot nodes of the answer type from the answers. An expression may contain parts
    (``{A} & {B}``), whose choices are ``parts``.
    """

    id: str
    expression: str
    answer: str
    question: str = ""
    phrase: str = ""
    paper: str = ""
    printed: str = ""
    note: str = ""
    exclude_start: bool = False
    shape: str = ""
    parts: tuple[str, ...] = ()

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the parts (A, B, C); empty for a plain expression."""
        return tuple(dict.fromkeys(_PART.findall(self.expression)))

    @property
    def skeleton(self) -> Expression:
        """The expression with each part as a saved set ``@A``."""
        return parse(_PART.sub(r"@\1", self.expression))

    def tree(self, parts: Sequence[str] = ()) -> Expression:
        """Return the expression. Parts are taken from ``parts`` in turn; their slots are renamed to be distinct."""
        if not self.letters:
            return _without_starts(self.expression) if self.exclude_start else parse(self.expression)
        choices = [parse(part) for part in parts or self.parts]
        sets = {}
        for i, letter in enumerate(self.letters):
            part = choices[i % len(choices)]
            names: dict[str, Value] = {slot: Slot(f"{slot} {letter}") for slot in syntax.slots(part)}
            sets[letter] = syntax.fill(part, names) if len(self.letters) > 1 else part
        return syntax.substitute(self.skeleton, sets)


@lru_cache(1024)
def _without_starts(expression: str) -> Expression:
    """Return the answers of an expression minus its start nodes of the answer type."""
    tree = syntax.set_of(parse(expression))
    answer = _answer(tree)
    nodes = [part for part in syntax.subtrees(tree) if isinstance(part, Nodes) and isinstance(part.selector, Slot)]
    starts = [part for part in nodes if part.type == answer]
    for start in dict.fromkeys(starts):
        tree = combine("-", tree, start)
    return tree


def _answer(tree: Expression) -> str | None:
    """Return the type of a tree's answers as written in the expression."""
    if isinstance(tree, syntax.Combine):
        return _answer(tree.parts[0])
    if isinstance(tree, (syntax.Filter, syntax.Aggregate)):
        return _answer(tree.source)
    if isinstance(tree, syntax.Path):
        element = tree.elements[tree.arrows.index("<-") if "<-" in tree.arrows else -1]
        assert not isinstance(element, syntax.Step)
        return _answer(element)
    return tree.type if isinstance(tree, Nodes) else None


@cache
def shipped() -> tuple[Template, ...]:
    """Return the templates shipped with kbkit, by catalogue."""
    folder = assets.templates()
    return tuple(template for path in sorted(folder.glob("*.toml")) for template in load(path))


@cache
def by_id() -> dict[str, Template]:
    """Return the templates shipped with kbkit by id."""
    return {template.id: template for template in shipped()}


def load(path: Path) -> list[Template]:
    """Return the templates of a catalogue; raise :class:`BadInputError` if one is invalid."""
    try:
        data = parse_toml(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    rows = data.get("template")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInputError(f"No templates in {path}", "Add a [[template]] table")
    paper = " ".join(str(data[key]) for key in ("paper", "section") if data.get(key))
    parts = data.get("parts", [])
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadInputError(f"Invalid parts in {path}: expected a list of texts", _PARTS_HINT)
    templates = [_template(path, row, paper, tuple(parts)) for row in rows]
    for template in templates:
        if sum(other.id == template.id for other in templates) > 1:
            raise BadInputError(f"Duplicate template {template.id!r} in {path}", "Ids must be unique")
    return templates


def _template(path: Path, row: Mapping[str, Any], paper: str, parts: tuple[str, ...]) -> Template:
    where = f"{path}, template {row.get('id', '?')}"
    for key in row:
        if key not in _KEYS:
            raise UnknownNameError("key", key, sorted(_KEYS), where)
    for key in ("id", "expression"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise BadInputError(f"Missing {key} in {where}", f"Add {key} = '...'")
    for key, value in row.items():
        if not isinstance(value, bool if key == "exclude_start" else str):
            expected = "true or false" if key == "exclude_start" else "a text"
            raise BadInputError(f"Invalid {key} {value!r} in {where}: expected {expected}")
    fields = {**row, "id": f"{path.stem}/{row['id']}", "answer": row.get("answer", "")}
    template = Template(**fields, paper=paper, parts=parts)
    if template.letters and not parts:
        raise BadInputError(f"Missing parts for {where}", _PARTS_HINT)
    try:
        template.tree()
    except ExpressionError as error:
        raise BadInputError(f"{where}: {error.message}", *error.hints) from None
    return template


def find(name: str, own: Sequence[Template] = ()) -> Template:
    """Return the template ``catalogue/name``, or ``name`` if only one catalogue has it."""
    if not own and name in by_id():
        return by_id()[name]
    known = [*own, *shipped()]
    hits = [t for t in known if t.id == name] or [t for t in known if t.id.split("/", 1)[1] == name]
    if not hits:
        raise UnknownNameError("template", name, [t.id for t in known])
    if len(hits) > 1:
        raise KbError(f"Ambiguous template {name!r}", "Use one of " + ", ".join(t.id for t in hits))
    return hits[0]


def as_template(template: str | Template) -> Template:
    """Return a template from its id or from an expression; a text with a ``<slot>`` is an expression."""
    if isinstance(template, Template):
        return template
    if not isinstance(template, str):
        raise invalid("template", template, "Use an expression, or the id of a template")
    return Template("expression", template, "") if "<" in template else find(template)


def listed(templates: Sequence[Template], schema: Schema | None = None, parts: Sequence[str] = ()) -> pl.DataFrame:
    """Return templates as rows: template, answer, expression, question; with a schema also fits and problem, and
    templates that fit first.
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
    """Return the fields of a template: field, value."""
    import polars as pl

    rows = [(name, str(value)) for name, value in vars(template).items() if value not in ("", (), False)]
    return pl.DataFrame(rows, schema=["field", "value"], orient="row")


def write(frame: pl.DataFrame, path: Path, title: str) -> None:
    """Write rows (template, expression, answer, question) as a catalogue for :func:`load`."""
    import json

    lines = [f"title = {json.dumps(title, ensure_ascii=False)}", ""]
    for row in frame.select("template", "expression", "answer", "question").iter_rows():
        fields = zip(("id", "expression", "answer", "question"), row, strict=True)
        quoted = ((name, json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")) for name, value in fields)
        lines += ["[[template]]", *(f"{name} = {value}" for name, value in quoted), ""]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def misfit(template: Template, schema: Schema, parts: Sequence[str] = ()) -> str:
    """Return why a template does not fit a schema; empty if it does."""
    try:
        resolve(template.tree(parts), schema)
    except KbError as error:
        return error.message
    return ""
