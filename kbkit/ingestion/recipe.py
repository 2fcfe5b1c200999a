"""A recipe: what a source is, which files it reads, and how its tables become nodes, edges and texts.

A recipe is a folder with ``recipe.toml`` (this module) and ``load.sql`` (plain DuckDB SQL). See ``ingest/README.md``
for the keys.
"""

from __future__ import annotations

import re
import tomllib
import urllib.parse
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from kbkit import assets
from kbkit.errors import BadInputError, UnknownNameError, suggest
from kbkit.schema import Role, iri_escape


@dataclass(frozen=True)
class Option:
    """A setting of a recipe; SQL reads it with ``getvariable('name')``."""

    default: str
    help: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileSpec:
    """A raw file, seen by ``load.sql`` as a table of this name.

    ``match`` are file name patterns, tried in order; ``many`` takes all that match instead of one. ``names`` maps a
    canonical column name to the names it may have in the file; those in ``required`` must be there. ``columns`` names
    the columns of a file without a header line. Everything is read as text unless the format has types of its own.
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
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    reader: str = ""
    converter: str = ""


@dataclass(frozen=True)
class RelationSpec:
    """What a recipe says of a relation."""

    label: str = ""
    symmetric: bool = False
    iri: str = ""


@dataclass(frozen=True)
class Download:
    """A file that ``kbkit fetch`` gets, from ``url`` (http or https) to ``name``, a relative path of plain parts.

    By default ``name`` is the last part of the address. ``part`` is the label by which a user takes only some of a
    source's files; ``bytes`` and ``sha256`` (hexadecimal) are what the file must have, where they are known.
    """

    url: str
    name: str = ""
    part: str = ""
    bytes: int | None = None
    sha256: str = ""
    help: str = ""


@dataclass(frozen=True)
class _TypeSpec:
    description: str = ""


@dataclass(frozen=True)
class _TextSpec:
    weight: float = 1.0


@dataclass(frozen=True)
class _RoleSpec:
    types: tuple[str, ...] = ()
    interests: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A recipe, read and checked.

    ``infer`` gives text attributes the narrowest type that all their values have; ``single_values`` makes plain
    attributes of lists that never hold more than one. ``data`` is a folder inside the recipe that it reads by default;
    ``rdf_quads`` names the table of quads that SPARQL is to see instead of what the tables say, or the file whose
    converter gives them; then a node's IRI is ``key_base`` and its key. ``extra_tables`` are further tables that SQL
    sees; ``dialect`` is the SPARQL that the source's users write.
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
    single_values: bool = False
    rdf_quads: str = ""
    name_weight: float = 1.25
    files: tuple[FileSpec, ...] = ()
    downloads: tuple[Download, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, RelationSpec] = field(default_factory=dict)
    texts: Mapping[str, float] = field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    key_base: str = ""
    dialect: str = ""
    extra_tables: tuple[str, ...] = ()

    @property
    def converted(self) -> FileSpec | None:
        """The file that a converter reads, if there is one."""
        return next((spec for spec in self.files if spec.converter), None)

    @property
    def sql(self) -> str:
        """The text of ``load.sql``."""
        return (self.folder / "load.sql").read_text(encoding="utf-8")


def names() -> list[str]:
    """The recipes that ship with kbkit."""
    return sorted(p.parent.name for p in assets.folder("ingest").glob("*/recipe.toml"))


def load(source: str) -> Recipe:
    """The recipe called ``source``, or the one in the folder ``source``."""
    folder = Path(source)
    if "/" not in source and "\\" not in source and source in names():
        folder = assets.folder("ingest") / source
    elif not folder.is_dir():
        raise UnknownNameError("recipe", source, names(), "kbkit, nor is there a folder of that name")
    for name in ("recipe.toml", "load.sql"):
        if not (folder / name).is_file():
            raise BadInputError(f"{folder} is no recipe: it has no {name}", "kbkit recipe new writes a skeleton")
    path = folder / "recipe.toml"
    try:
        return _parse(tomllib.loads(path.read_text(encoding="utf-8")), folder)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: {error}") from None
    except _RecipeError as error:
        raise BadInputError(f"{path}: {error}", error.hint) from None


class _RecipeError(Exception):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def _parse(data: dict[str, Any], folder: Path) -> Recipe:
    tables = ("files", "options", "types", "relations", "texts", "roles")
    plain = {key: value for key, value in data.items() if key not in (*tables, "downloads")}
    kinds = {f.name: str(f.type) for f in fields(Recipe) if f.name not in (*tables, "downloads", "folder")}
    _check_keys(plain, [*kinds, *tables, "downloads"], "")
    for key, value in plain.items():
        _check_kind(key, value, kinds[key], "")
    if not plain.get("title"):
        raise _RecipeError("it has no title")
    parts = {name: _table(data.get(name, {}), f"[{name}]") for name in tables}
    specs = tuple(_file(name, spec) for name, spec in parts["files"].items())
    if not specs:
        raise _RecipeError("it declares no [files.NAME]")
    name = plain.pop("name", folder.resolve().name)
    base = plain.pop("base", f"http://example.org/{iri_escape(name)}/")
    if re.search(r'[<>"{}|^`\\\x00-\x20]', base):
        raise _RecipeError(f"base {base!r} is no IRI", "percent-encode what may not stand in one")
    types = {key: _record(_TypeSpec, value, f"[types.{key}]") for key, value in parts["types"].items()}
    texts = {key: _record(_TextSpec, value, f"[texts.{key}]") for key, value in parts["texts"].items()}
    return Recipe(
        name=name,
        base=base,
        folder=folder,
        files=specs,
        downloads=_downloads(data.get("downloads", [])),
        options={key: _record(Option, value, f"[options.{key}]") for key, value in parts["options"].items()},
        relations={
            key: _record(RelationSpec, value, f"[relations.{key}]") for key, value in parts["relations"].items()
        },
        types={key: spec.description for key, spec in types.items()},
        texts={key: float(spec.weight) for key, spec in texts.items()},
        roles=_roles(parts["roles"]),
        **plain,
    )


def _roles(data: Mapping[str, Any]) -> tuple[Role, ...]:
    specs = {name: _record(_RoleSpec, value, f"[roles.{name}]") for name, value in data.items()}
    return tuple(Role(name, spec.types, spec.interests, spec.fields) for name, spec in specs.items())


def load_roles(path: Path) -> tuple[Role, ...]:
    """The roles of a file that holds tables ``[roles.NAME]``, as a recipe does."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        _check_keys(data, ["roles"], "")
        roles = _roles(_table(data.get("roles", {}), "[roles]"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, _RecipeError) as error:
        raise BadInputError(f"{path}: {error}", getattr(error, "hint", "")) from None
    if not roles:
        raise BadInputError(f"{path} names no role", "write [roles.reader] and keys below it")
    return roles


def _file(name: str, data: Any) -> FileSpec:
    where = f"[files.{name}]"
    spec: FileSpec = _record(FileSpec, {"name": name, **_table(data, where)}, where)
    if spec.optional and not (spec.names or spec.columns or spec.reader or spec.converter):
        raise _RecipeError(f"{where} is optional but does not say its columns", "add columns or [files.NAME.names]")
    if any(not _is_list(value) for value in spec.names.values()):
        raise _RecipeError(
            f"[files.{name}.names] holds something that is no list of names", "e.g. key = ['id', 'node_id']"
        )
    return replace(spec, names={key: tuple(value) for key, value in spec.names.items()})


_NAME_PART = re.compile(r"(?=.*[^.])[^<>:\"/\\|?*]*[^<>:\"/\\|?*. ]")
"""A file or folder name that every system takes as no more than a name."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def _downloads(data: Any) -> tuple[Download, ...]:
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise _RecipeError(f"downloads is {data!r}, not a list of tables", "write [[downloads]] and keys below it")
    result = tuple(_download(f"[[downloads]] {number}", item) for number, item in enumerate(data, 1))
    taken: dict[str, int] = {}
    for number, download in enumerate(result, 1):
        first = taken.setdefault(download.name.casefold(), number)
        if first != number:
            raise _RecipeError(f"[[downloads]] {first} and {number} are both saved as {download.name!r}", "add a name")
    for folder in (folder for name in taken for folder in PurePosixPath(name).parents):
        if str(folder) in taken:
            raise _RecipeError(
                f"[[downloads]] {taken[str(folder)]} is saved as a folder of another", "name it otherwise"
            )
    return result


def _download(where: str, data: dict[str, Any]) -> Download:
    made: Download = _record(Download, data, where)
    if not is_web_address(made.url):
        hint = "it should be http:// or https://, percent-encoded, without a user name"
        raise _RecipeError(f"url is {made.url!r} in {where}", hint)
    last = urllib.parse.urlsplit(made.url).path.rpartition("/")[2]
    name = made.name or urllib.parse.unquote(last)
    if not name:
        raise _RecipeError(f"{where} has no name, nor does its url end in one", "add the name to save it as")
    parts = name.split("/")
    plain = name.isprintable() and all(_NAME_PART.fullmatch(part) and not _DEVICE.fullmatch(part) for part in parts)
    if not plain:
        raise _RecipeError(f"the name {name!r} in {where} is unsafe", "a relative path of plain parts, e.g. a/b.zip")
    if name.casefold().endswith((".part", ".part.json")):
        raise _RecipeError(f"the name {name!r} in {where} is one of an unfinished download", "name it otherwise")
    if (made.bytes or 0) < 0:
        raise _RecipeError(f"bytes is {made.bytes} in {where}", "it should be 0 or more")
    if made.sha256 and not re.fullmatch("[0-9a-fA-F]{64}", made.sha256):
        raise _RecipeError(f"sha256 is {made.sha256!r} in {where}", "it should be 64 hexadecimal digits")
    return replace(made, name=name, sha256=made.sha256.lower())


def is_web_address(url: str) -> bool:
    """Whether ``url`` is http or https, percent-encoded, and without a user name or password."""
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:  # of the port, of brackets, or of a host that no name server could be asked for
        return False
    return fine and "@" not in parts.netloc and bool(re.fullmatch("[!-~]+", url))


def _record(cls: Any, data: Any, where: str) -> Any:
    """A dataclass from a table of the recipe; each value must be of the kind that its field says."""
    data = _table(data, where)
    kinds = {f.name: str(f.type) for f in fields(cls)}
    _check_keys(data, list(kinds), f" in {where}")
    for key, value in data.items():
        _check_kind(key, value, kinds[key], f" in {where}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    for needed in (f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING):
        if needed not in values:
            raise _RecipeError(f"{where} has no {needed}")
    return cls(**values)


def _table(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _RecipeError(f"{where.strip('[]')} is {data!r}, not a table", f"write {where} and keys below it")
    return data


def _check_kind(key: str, value: Any, kind: str, where: str) -> None:
    expected = {
        "str": ("a text", isinstance(value, str)),
        "str | None": ("a text", isinstance(value, str)),
        "bool": ("true or false", isinstance(value, bool)),
        "int | None": ("a whole number", isinstance(value, int) and not isinstance(value, bool)),
        "float": ("a number", isinstance(value, (int, float)) and not isinstance(value, bool)),
        "tuple[str, ...]": ("a list of texts", _is_list(value)),
    }
    what, fits = expected.get(kind, ("a table", isinstance(value, dict)))
    if not fits:
        raise _RecipeError(f"{key} is {value!r}{where}", f"it should be {what}")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _check_keys(data: dict[str, Any], known: list[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise _RecipeError(f"unknown key {key!r}{where}", suggest(key, known))


def settings(recipe: Recipe, given: Mapping[str, str]) -> dict[str, str]:
    """The recipe's options with the user's values; refuses unknown ones."""
    for key, value in given.items():
        if key not in recipe.options:
            raise UnknownNameError("option", key, recipe.options, f"recipe {recipe.name}")
        choices = recipe.options[key].choices
        if choices and value not in choices:
            raise UnknownNameError(f"value of option {key}", value, choices)
    return {key: given.get(key, option.default) for key, option in recipe.options.items()}
