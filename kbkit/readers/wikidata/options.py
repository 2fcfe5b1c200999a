"""The options of the Wikidata converter: which entities, which languages, what is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kbkit.errors import BadInputError

_ENTITY = re.compile(r"[QPLM][1-9][0-9]{0,11}")
_LANGUAGE = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*")
_MOST_HOPS = 3


@dataclass(frozen=True)
class Options:
    """What to take. Empty tuples and ``limit`` 0 leave a choice open; ``languages`` empty means all.

    ``properties`` are (property, value) pairs, the value empty for any.
    """

    languages: tuple[str, ...] = ("en",)
    classes: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()
    hops: int = 0
    limit: int = 0
    triples: bool = True
    sitelinks: bool = True

    @property
    def subset(self) -> bool:
        """Whether the dump must be read once to choose, and again to convert."""
        return bool(self.classes or self.properties or self.ids)

    def to_json(self) -> str:
        """All settings as text, to compare, and to hand to a worker."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Options:
        """The settings that :meth:`to_json` wrote."""
        known = json.loads(text)
        lists = {key: tuple(known[key]) for key in ("languages", "classes", "ids")}
        return cls(**{**known, **lists, "properties": tuple((p, v) for p, v in known["properties"])})


def parse(given: Mapping[str, str]) -> Options:
    """Read the recipe's options, texts by name; raises :class:`BadInputError` for what cannot be meant.

    Those that load.sql reads are looked at too: it runs when all is converted.
    """
    for name in ("max_types", "max_attributes"):
        _number(name.replace("_", "-"), given.get(name, ""), 100_000)
    found = Options(
        languages=_languages(given.get("language", "")),
        classes=_ids("class", given.get("class", ""), "Q", "Q5,Q515"),
        properties=_properties(given.get("property", "")),
        ids=_listed(given.get("ids", "")),
        hops=_number("hops", given.get("hops", ""), _MOST_HOPS),
        limit=_number("limit", given.get("limit", ""), 1 << 40),
        triples=given.get("triples", "yes") != "no",
        sitelinks=given.get("sitelinks", "yes") != "no",
    )
    if found.hops and not found.subset:
        raise BadInputError("option hops: there is nothing to go on from", "give class, property or ids too")
    return found


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _languages(text: str) -> tuple[str, ...]:
    languages = [part.lower() for part in _parts(text)] or ["en"]
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            raise BadInputError(f"option language: {language!r} is no language code", "such as en, or en,de; or all")
    return () if "all" in languages else tuple(dict.fromkeys(languages))


def _ids(option: str, text: str, letters: str, example: str) -> tuple[str, ...]:
    ids = [part.upper() for part in _parts(text)]
    for name in ids:
        if not _ENTITY.fullmatch(name) or name[0] not in letters:
            raise BadInputError(f"option {option}: {name!r} is no id", f"such as {example}")
    return tuple(dict.fromkeys(ids))


def _properties(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in _parts(text):
        name, _, value = part.partition("=")
        [known] = _ids("property", name.strip() or part, "P", "P106, or P106=Q82594")
        found.append((known, value.strip()))
    return tuple(dict.fromkeys(found))


def _listed(text: str) -> tuple[str, ...]:
    """Ids separated by commas, or those in a file, one a line; what follows an id and white space is a remark."""
    if not text.strip():
        return ()
    if _ENTITY.fullmatch(_parts(text.upper())[0] if _parts(text) else ""):
        return _ids("ids", text, "QPLM", "Q42,Q5, or the name of a file with one a line")
    path = Path(text.strip()).expanduser()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadInputError(
            f"option ids: {text!r} is neither an id nor a file that can be read: {reason}",
            "such as Q42,Q5, or the name of a file with one a line",
        ) from None
    found = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if words and not words[0].startswith("#"):
            name = words[0].rsplit("/", 1)[-1].strip("<>").removeprefix("wd:").upper()
            if not _ENTITY.fullmatch(name):
                raise BadInputError(f"{path}, line {number}: {words[0][:50]!r} is no id", "such as Q42")
            found.append(name)
    if not found:
        raise BadInputError(f"{path} holds no id", "one a line, such as Q42")
    return tuple(dict.fromkeys(found))


def _number(option: str, text: str, limit: int) -> int:
    text = text.strip().replace("_", "")
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 13 or int(text) > limit:
        raise BadInputError(f"option {option}: {text[:20]!r} is no whole number", f"from 0 to {limit:,}")
    return int(text)
