"""Words that no dataset publishes: a list of slurs, which users can replace, for the makers of all benchmarks.

A list is a text file with one word or phrase a line, in any case. A word also stands for its plural in *-s*. A line
with ``!`` before a phrase is an exception: *!Squaw Valley* keeps the name although *squaw* is listed. Lines with ``#``
are comments. Words are compared as wholes, so that *Scunthorpe* and *Montenegro* contain nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbkit.assets.operations import Setting
from kbkit.errors import BadInputError

if TYPE_CHECKING:
    import polars as pl

LeaveOut = Annotated[
    str,
    Setting(
        "File of words that no text of the dataset may contain, or none (default: kbkit's list of slurs).",
        values="FILE",
        noun="list of words",
        rare=True,
    ),
]
"""The setting of all makers: "" for the shipped list, ``none``, or a file."""
NONE = "none"
_BEFORE, _AFTER = r"(?<!\w)", r"(?!\w)"
SHIPPED = Path(__file__).with_suffix(".txt")
SHIPPED_NAME = "kbkit"
REASON = "a word that is left out"


@dataclass(frozen=True)
class LeftOutWords:
    """A list of words; ``name`` and ``checksum`` identify it in what a dataset says of itself."""

    name: str = NONE
    checksum: str = ""
    words: re.Pattern[str] | None = None
    exceptions: re.Pattern[str] | None = None

    def found(self, text: str) -> str:
        """Return the first listed word in a text, outside of exceptions, or ""."""
        if self.words is None or (match := self.words.search(text)) is None:
            return ""
        if self.exceptions is not None:
            match = self.words.search(self.exceptions.sub(" ", text))
        return match[0] if match else ""

    def any(self, texts: Iterable[str]) -> str:
        """Return the first listed word in several texts, or ""."""
        return next(filter(None, map(self.found, texts)), "")

    def mask(self, texts: pl.Series) -> pl.Series:
        """Return which texts of a column have a listed word; missing texts have none."""
        import polars as pl

        if self.words is None:
            return pl.Series(values=[False] * len(texts), dtype=pl.Boolean)
        plain = self.words.pattern.replace(_BEFORE, r"\b").replace(
            _AFTER, r"\b"
        )  # Rust's expressions cannot look around
        possible = texts.str.contains(f"(?i){plain}").fill_null(value=False)
        listed = {text for text in texts.filter(possible).unique().to_list() if self.found(text)}
        return texts.is_in(sorted(listed)).fill_null(value=False)

    @property
    def about(self) -> dict[str, str]:
        """The list in the description of a dataset."""
        return {"name": self.name, "sha256": self.checksum} if self.checksum else {"name": self.name}


def setting_of(about: Mapping[str, str]) -> str:
    """Return the setting that names the list of a dataset's description (:attr:`LeftOutWords.about`)."""
    name = about.get("name", NONE)
    return "" if name == SHIPPED_NAME else name


def left_out_words(setting: str = "") -> LeftOutWords:
    """Return the list that a setting names; raise :class:`BadInputError` if it cannot be read or has no words."""
    return LeftOutWords() if setting.casefold() == NONE else _read(Path(setting) if setting else SHIPPED)


@cache
def _read(path: Path) -> LeftOutWords:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"Cannot read {path}: {error}", "Use a text file with one word a line, or none") from None
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    words = [line for line in lines if not line.startswith("!")]
    if not words:
        raise BadInputError(f"No words in {path}", "Use none to leave out nothing")
    kept = [line[1:].strip() for line in lines if line.startswith("!") and line[1:].strip()]
    name = SHIPPED_NAME if path == SHIPPED else path.name
    return LeftOutWords(name, hashlib.sha256(text.encode()).hexdigest(), _pattern(words, "s?"), _pattern(kept, ""))


def _pattern(phrases: Iterable[str], ending: str) -> re.Pattern[str] | None:
    alternatives = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
    return re.compile(f"{_BEFORE}(?:{alternatives}){ending}{_AFTER}", re.IGNORECASE) if alternatives else None
