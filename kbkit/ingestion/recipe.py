"""Recipes: which files a source consists of, and how its tables become nodes, edges and texts.

A recipe is a folder with ``recipe.toml`` (this module) and ``load.sql`` (plain DuckDB SQL). ``ingest/README.md`` lists
the keys, ``recipe.schema.json`` declares them.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
import shutil
import tomllib
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from kbkit import assets
from kbkit.assets.validation import validate
from kbkit.directory.files import is_file, is_folder, parse_toml
from kbkit.errors import INVALID_UNICODE_HINT, BadInputError, Command, KbError, Part, UnknownNameError
from kbkit.ingestion.request import Identity
from kbkit.readers import WITH_TABLES
from kbkit.schema import Role, iri_escape
from kbkit.stores.data_tables import DATA_TABLES


@dataclass(frozen=True)
class RecipeOption:
    """An option of a recipe; SQL reads it with ``getvariable('name')``. With ``integer``, it is an integer from 0."""

    default: str
    help: str = ""
    choices: tuple[str, ...] = ()
    integer: bool = False


@dataclass(frozen=True)
class FileSpec:
    """A source file, which ``load.sql`` sees as a table of this name.

    ``match`` are file name patterns, tried in order; with ``many`` all matching files are read. ``names`` maps a column
    name to the names that it may have in the file; those in ``required`` must exist. ``columns`` names the columns of a
    file without a header line, ``skip`` is the number of lines before the header. All columns are read as text unless
    the format is typed. ``table`` is the table of a SQLite or DuckDB database, the sheet of a workbook, or the list in
    a JSON file; several specifications may read the same file then. ``spaced`` is a delimiter that is part of a field
    where a blank follows it; with ``short_rows``, rows may lack their last fields; with ``footer``, the last lines of
    the file that have one field only are left out. ``folder`` and ``file`` are the names of columns
    with the name of each row's folder and of its file, without the ending.
    """

    name: str
    match: tuple[str, ...]
    help: str = ""
    optional: bool = False
    many: bool = False
    format: str = ""
    columns: tuple[str, ...] = ()
    delimiter: str = ""
    quote: str | None = None
    escape: str = ""
    skip: int = 0
    spaced: str = ""
    short_rows: bool = False
    footer: bool = False
    encoding: str = ""
    table: str = ""
    folder: str = ""
    file: str = ""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    reader: str = ""
    converter: str = ""


@dataclass(frozen=True)
class RelationSpec:
    """A relation in a recipe. Edges of a ``symmetric`` relation are stored in both directions.

    ``words`` are further words for it in questions: verbs, nouns, its inverse. ``phrases`` are verb phrases by their
    subject, a type or ``head`` or ``tail`` for any node at that end (``tail = "is cited by"``). Sentences use them,
    and questions their words (*stars*); without one, the label is worded.
    """

    label: str = ""
    symmetric: bool = False
    iri: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, str], ...] = ()


def _relation(spec: dict[str, Any]) -> RelationSpec:
    given = spec.get("phrases", {}).items()
    phrases = tuple((subject, one) for subject, text in given for one in ([text] if isinstance(text, str) else text))
    return RelationSpec(**{**spec, "words": tuple(spec.get("words", ())), "phrases": phrases})


@dataclass(frozen=True)
class TypeSpec:
    """A node type in a recipe; ``article`` precedes the names of its nodes in generated sentences (``the`` Danube).

    ``name_label`` and ``key_label`` are words of questions for the names and the keys of its nodes.
    """

    description: str = ""
    article: str = ""
    name_label: str = ""
    key_label: str = ""


@dataclass(frozen=True)
class TextSpec:
    """A text field in a recipe; ``weight`` multiplies its full-text score."""

    weight: float = 1.0


@dataclass(frozen=True)
class Download:
    """A file that ``kbkit fetch`` downloads from ``url`` (http or https) to the relative path ``name``.

    By default ``name`` is the last part of the URL. ``part`` is a label for downloading only some files. ``bytes`` and
    ``sha256`` (hexadecimal) are the expected size and digest, if known.
    """

    url: str
    name: str = ""
    part: str = ""
    bytes: int | None = None
    sha256: str = ""
    help: str = ""


@dataclass(frozen=True)
class Recipe:
    """A validated recipe.

    ``infer`` gives text attributes the narrowest type that fits all values, except those of ``as_text``;
    ``infer_dates`` only finds dates and times, which formats with types of their own may lack;
    ``single_values`` unwraps list attributes that never have more than one value. ``data`` is a folder in the
    recipe that is read by default. ``rdf_quads`` names the table of quads for SPARQL, or the file whose converter
    makes them; then a node's IRI is ``key_base`` and its key. ``extra_tables`` are further tables for SQL;
    ``dialect`` is the SPARQL dialect of the source's users. With ``tables``, the recipe makes tables of data
    (:mod:`kbkit.ingestion.data_tables`), which are extra tables too. A ``generic`` recipe is for any files of a
    format: a KB is called like its source. With ``source_file``, the tables of files have a column ``file of the
    row``, and ``nodes`` keeps it for the provenance of nodes.
    """

    name: str
    folder: Path
    title: str
    description: str = ""
    licence: str = ""
    get: str = ""
    base: str = ""
    data: str = ""
    infer: bool = False
    infer_dates: bool = False
    as_text: tuple[str, ...] = ()
    single_values: bool = False
    tables: bool = False
    rdf_quads: str = ""
    name_weight: float = 1.25
    files: tuple[FileSpec, ...] = ()
    downloads: tuple[Download, ...] = ()
    options: Mapping[str, RecipeOption] = field(default_factory=dict)
    types: Mapping[str, TypeSpec] = field(default_factory=dict)
    relations: Mapping[str, RelationSpec] = field(default_factory=dict)
    texts: Mapping[str, float] = field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    key_base: str = ""
    dialect: str = ""
    extra_tables: tuple[str, ...] = ()
    generic: bool = False
    source_file: bool = False

    @property
    def converted(self) -> FileSpec | None:
        """The file that a converter reads, if any."""
        return next((spec for spec in self.files if spec.converter), None)

    @property
    def sql(self) -> str:
        """The text of ``load.sql``."""
        return _read_text(self.folder / "load.sql")


_BASE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20]*[/#:?=]")
"""An absolute IRI that ends where a name can follow."""


def complete_identity(identity: Identity, recipe: Recipe, paths: Sequence[Path]) -> Identity:
    """Return an identity with a name and title for a KB that a generic recipe makes of ``paths``."""
    if not recipe.generic:
        return identity
    name = identity.name or source_name(paths) or recipe.name
    return replace(identity, name=name, title=identity.title or name)


def with_identity(recipe: Recipe, identity: Identity) -> Recipe:
    """Return a recipe with an identity. Raises :class:`KbError` for a base that is no prefix of IRIs."""
    if identity.base and not _BASE.fullmatch(identity.base):
        raise KbError(f"Invalid base of IRIs: {identity.base!r}", "Use an address such as https://example.org/zoo/")
    changes: dict[str, Any] = {
        name: value for name in ("name", "title", "licence", "base") if (value := getattr(identity, name))
    }
    if identity.name and not identity.base and recipe.base == _base(recipe.name):
        changes["base"] = _base(identity.name)
    both = {name: replace(recipe.relations.get(name, RelationSpec()), symmetric=True) for name in identity.symmetric}
    return replace(recipe, **changes, relations={**recipe.relations, **both})


def source_name(paths: Sequence[Path]) -> str:
    """Return the name of the only file without its endings, or of the folder of several; empty without one."""
    absolute = [path.absolute() for path in paths]
    folders = {path.parent for path in absolute}
    only = absolute[0] if len(absolute) == 1 else folders.pop() if len(folders) == 1 else None
    if only is None:
        return ""
    text = only.name if only.is_dir() or len(absolute) > 1 else _ENDINGS.sub("", only.name)
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:100]


_ENDINGS = re.compile(r"(?<=.)(\.[A-Za-z][A-Za-z0-9]{0,7})(\.(gz|zip|bz2))?$", re.IGNORECASE)


def _base(name: str) -> str:
    """Return the default base of IRIs."""
    return f"http://example.org/{iri_escape(name)}/"


def names() -> list[str]:
    """Return the names of the recipes that ship with kbkit."""
    return sorted(p.parent.name for p in assets.folder("ingest").glob("*/recipe.toml"))


def is_name(source: str) -> bool:
    """Return whether a source is the name of a recipe that ships with kbkit; ``./table`` is a path."""
    return "/" not in source and "\\" not in source and source in names()


def as_source(folder: Path) -> str:
    """Return the folder of a recipe as an argument in a shell, with a slash, so that it is not taken for a name."""
    text = str(folder)
    return shlex.quote(text if "/" in text or "\\" in text else f"./{text}")


def as_files(path: Path) -> str:
    """Return a file or folder as a source: with ``./`` if it is called like a recipe, for which it would be taken."""
    return f"./{path}" if is_name(str(path)) else str(path)


def load(source: str) -> Recipe:
    """Load the recipe with the name ``source``, or the one in the folder ``source``."""
    folder = Path(source)
    if is_name(source):
        return _shipped(source)
    if not is_folder(source):
        tables = ("Use ", Command(f"ingest table {source}"), " to load tables") if is_file(source) else ()
        raise UnknownNameError("recipe or folder", source, names(), "", *tables)
    for name in ("recipe.toml", "load.sql"):
        if not (folder / name).is_file():
            hint: tuple[Part, ...] = ("Use ", Command("recipe new FOLDER"), " to create a recipe")
            if name == "recipe.toml":
                hint = ("Use ", Command(f"ingest table {folder}"), " to load its tables, or ", *hint[1:])
            raise BadInputError(f"Not a recipe: {folder} has no {name}", *hint)
    return _load(folder)


@functools.cache
def _shipped(name: str) -> Recipe:
    """Load a recipe that ships with kbkit, once: its validation takes longer than to load a small table."""
    return _load(assets.folder("ingest") / name)


def _load(folder: Path) -> Recipe:
    path = folder / "recipe.toml"
    data = _read_toml(path)
    validate(data, _schema(), str(path))
    try:
        return _parse(data, folder)
    except BadInputError as error:
        raise BadInputError(f"{path}: {error.message}", *error.hints) from None


def load_roles(path: Path) -> tuple[Role, ...]:
    """Load the roles of a file with tables ``[roles.NAME]``, as in a recipe."""
    schema = {
        "type": "object", "additionalProperties": False, "properties": {"roles": {"$ref": "#/$defs/roles"}},
        "$defs": _schema()["$defs"],
    }  # fmt: skip
    data = _read_toml(path)
    validate(data, schema, str(path))
    roles = _roles(data.get("roles", {}))
    if not roles:
        raise BadInputError(f"No role in {path}", "Add a table [roles.NAME]")
    return roles


def settings(recipe: Recipe, values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of all options of a recipe.

    Raises :class:`UnknownNameError` for unknown options and choices, and :class:`BadInputError` for other values.
    """
    for key, value in values.items():
        if key not in recipe.options:
            raise UnknownNameError("option", key, recipe.options, f"recipe {recipe.name}")
        choices = recipe.options[key].choices
        if choices and value not in choices:
            raise UnknownNameError(f"value of option {key}", value, choices)
        if recipe.options[key].integer and not re.fullmatch(r"[0-9]{1,9}", value):
            raise BadInputError(f"Invalid value {value!r} of option {key}", "Use an integer from 0 to 999,999,999")
    return {key: values.get(key, option.default) for key, option in recipe.options.items()}


def write_skeleton(folder: Path) -> None:
    """Write a commented recipe to a new folder."""
    if folder.exists():
        raise BadInputError(f"{folder} already exists", "Choose a new folder")
    shutil.copytree(Path(__file__).parent / "skeleton", folder)


# -- parsing ----------------------------------------------------------------------------------------------------------


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(_read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path}: {error}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"Cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"Invalid UTF-8 in {path}, line {line}", INVALID_UNICODE_HINT) from None


@functools.cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(Path(__file__).with_name("recipe.schema.json").read_text(encoding="utf-8"))
    return schema


def _parse(data: dict[str, Any], folder: Path) -> Recipe:
    """Return the recipe of a validated document."""
    data = dict(data)
    if data.get("tables"):
        data["extra_tables"] = [*DATA_TABLES, *data.get("extra_tables", ())]
    name = data.pop("name", folder.resolve().name)
    if not (folder / data.get("data", "")).resolve().is_relative_to(folder.resolve()):
        raise BadInputError(f"data is outside the recipe: {data['data']!r}", "Name such a folder in the command")
    return Recipe(
        name=name,
        folder=folder,
        base=data.pop("base", _base(name)),
        files=tuple(_file(key, spec) for key, spec in data.pop("files").items()),
        downloads=_downloads(data.pop("downloads", [])),
        options={key: RecipeOption(**_frozen(spec)) for key, spec in data.pop("options", {}).items()},
        relations={key: _relation(spec) for key, spec in data.pop("relations", {}).items()},
        types={key: TypeSpec(**spec) for key, spec in data.pop("types", {}).items()},
        texts={key: float(TextSpec(**spec).weight) for key, spec in data.pop("texts", {}).items()},
        roles=_roles(data.pop("roles", {})),
        **_frozen(data),
    )


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with tuples for lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _roles(tables: Mapping[str, Any]) -> tuple[Role, ...]:
    return tuple(Role(name, **_frozen(spec)) for name, spec in tables.items())


def _file(name: str, table: Mapping[str, Any]) -> FileSpec:
    spec = FileSpec(name, **{**_frozen(table), "names": _frozen(table.get("names", {}))})
    if spec.optional and not (spec.names or spec.columns or spec.reader or spec.converter):
        raise BadInputError(
            f"Optional file without columns: files.{name}", f"Add the key columns or a table [files.{name}.names]"
        )
    others = {"encoding": spec.encoding, "converter": spec.converter, "reader": spec.reader}
    other = next((key for key, value in others.items() if value and value not in WITH_TABLES), "")
    if spec.table and other:
        raise BadInputError(f"files.{name} has the keys table and {other}", "Remove one of them")
    return spec


_NAME_PART = re.compile(r"(?=.*[^.])[^<>:\"/\\|?*]*[^<>:\"/\\|?*. ]")
"""A file or folder name that is valid on every system."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def _downloads(tables: list[dict[str, Any]]) -> tuple[Download, ...]:
    result = tuple(_download(f"downloads[{number}]", table) for number, table in enumerate(tables))
    taken: dict[str, int] = {}
    for number, download in enumerate(result):
        first = taken.setdefault(download.name.casefold(), number)
        if first != number:
            raise BadInputError(
                f"Duplicate name {download.name!r} of downloads[{first}] and downloads[{number}]", "Add the key name"
            )
    for folder in (folder for name in taken for folder in PurePosixPath(name).parents):
        if str(folder) in taken:
            message = f"The name of downloads[{taken[str(folder)]}] is the folder of another download"
            raise BadInputError(message, "Choose another name")
    return result


def _download(where: str, table: dict[str, Any]) -> Download:
    url = table["url"]
    if not is_web_address(url):
        hint = "Use a percent-encoded http:// or https:// URL without a user name"
        raise BadInputError(f"Invalid value {url!r} for {where}.url", hint)
    name = table.get("name") or urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
    if not name:
        raise BadInputError(f"No file name in {where}.url", "Add the key name")
    parts = name.split("/")
    safe = name.isprintable() and all(_NAME_PART.fullmatch(part) and not _DEVICE.fullmatch(part) for part in parts)
    if not safe:
        raise BadInputError(f"Unsafe file name {name!r} in {where}", "Use a relative path such as a/b.zip")
    if name.casefold().endswith((".part", ".part.json")):
        raise BadInputError(f"Reserved file name {name!r} in {where}", "Choose a name that does not end in .part")
    return Download(**{**table, "name": name, "sha256": table.get("sha256", "").lower()})


def is_web_address(url: str) -> bool:
    """Return whether ``url`` is a percent-encoded http or https URL without a user name or password."""
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:  # of the port, brackets, or host name
        return False
    return valid and "@" not in parts.netloc and bool(re.fullmatch("[!-~]+", url))
