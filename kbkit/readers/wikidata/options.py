"""Options of the Wikidata converter: which entities and languages, and which output."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kbkit.errors import BadInputError

_ENTITY = re.compile(r"[QPLM][1-9][0-9]{0,11}")
_LANGUAGE = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*")
_MAX_HOPS = 3


@dataclass(frozen=True)
class ConversionOptions:
    """Options of a conversion. Empty tuples and ``limit`` 0 mean no restriction.

    ``properties`` are (property, value) pairs; an empty value matches any.
    """

    languages: tuple[str, ...] = ("en",)
    classes: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()
    hops: int = 0
    limit: int = 0
    triples: bool = True
    sitelinks: bool = True
    references: bool = True
    keep_entities: bool = True
    skip_bad_lines: bool = False

    @property
    def selects(self) -> bool:
        """Whether the dump must be read twice: to select entities, and to convert them."""
        return bool(self.classes or self.properties or self.ids)

    def to_json(self) -> str:
        """Return all options as text, for comparison."""
        return json.dumps(asdict(self), sort_keys=True)


def parse(values: Mapping[str, str]) -> ConversionOptions:
    """Parse the recipe's options, strings by name; raise :class:`BadInputError` for invalid ones.

    Options that load.sql reads are checked too, because it runs only after the conversion.
    """
    for name in ("max_types", "max_attributes"):
        _number(name.replace("_", "-"), values.get(name, ""), 100_000)
    chosen = ConversionOptions(
        languages=_languages(values.get("language", "")),
        classes=_ids("class", values.get("class", ""), "Q", "Q5,Q515"),
        properties=_properties(values.get("property", "")),
        ids=_id_list(values.get("ids", "")),
        hops=_number("hops", values.get("hops", ""), _MAX_HOPS),
        limit=_number("limit", values.get("limit", ""), 1 << 40),
        triples=values.get("triples", "yes") != "no",
        sitelinks=values.get("sitelinks", "yes") != "no",
        references=values.get("references", "yes") != "no",
        keep_entities=values.get("keep_entities", "yes") != "no",
        skip_bad_lines=values.get("skip_bad_lines", "no") == "yes",
    )
    if chosen.hops and not chosen.selects:
        raise BadInputError("Option hops needs a selection", "Set the option class, property or ids too")
    return chosen


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _languages(text: str) -> tuple[str, ...]:
    languages = [part.lower() for part in _parts(text)] or ["en"]
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            raise BadInputError(
                f"Invalid language code {language!r} in option language", "Use codes such as en,de, or all"
            )
    return () if "all" in languages else tuple(dict.fromkeys(languages))


def _ids(option: str, text: str, letters: str, example: str) -> tuple[str, ...]:
    ids = [part.upper() for part in _parts(text)]
    for name in ids:
        if not _ENTITY.fullmatch(name) or name[0] not in letters:
            raise BadInputError(f"Invalid id {name!r} in option {option}", f"Use ids such as {example}")
    return tuple(dict.fromkeys(ids))


def _properties(text: str) -> tuple[tuple[str, str], ...]:
    properties = []
    for part in _parts(text):
        name, _, value = part.partition("=")
        [known] = _ids("property", name.strip() or part, "P", "P106, or P106=Q82594")
        properties.append((known, value.strip()))
    return tuple(dict.fromkeys(properties))


def _id_list(text: str) -> tuple[str, ...]:
    """Parse ids separated by commas, or read a file with one per line; text after an id and a space is ignored."""
    if not text.strip():
        return ()
    if _ENTITY.fullmatch(_parts(text.upper())[0] if _parts(text) else ""):
        return _ids("ids", text, "QPLM", "Q42,Q5, or the name of a file with one per line")
    return read_ids(Path(text.strip()).expanduser(), f"Option ids: {text!r} is neither an id nor a readable file")


def read_ids(path: Path, problem: str = "") -> tuple[str, ...]:
    """Read a file with an id per line; raise :class:`BadInputError`, with ``problem`` if the file cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        hint = "Use ids such as Q42,Q5, or the name of a file with one per line" if problem else "Write one id per line"
        raise BadInputError(f"{problem or f'Cannot read {path}'}: {reason}", hint) from None
    ids = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if words and not words[0].startswith("#"):
            name = words[0].rsplit("/", 1)[-1].strip("<>").removeprefix("wd:").upper()
            if not _ENTITY.fullmatch(name):
                raise BadInputError(f"Invalid id {words[0][:50]!r} in {path}, line {number}", "Use ids such as Q42")
            ids.append(name)
    if not ids:
        raise BadInputError(f"No id in {path}", "Write one id per line, such as Q42")
    return tuple(dict.fromkeys(ids))


def _number(option: str, text: str, limit: int) -> int:
    text = text.strip().replace("_", "")
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 13 or int(text) > limit:
        raise BadInputError(f"Invalid value {text[:20]!r} of option {option}", f"Use an integer from 0 to {limit:,}")
    return int(text)
