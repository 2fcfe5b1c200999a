"""Errors that a user can cause, their hints, and helpers that word messages.

Every such error is a :class:`KbError`. Any other exception is a bug in kbkit. The library never writes command-line
flags or shell commands into an error: hints name parameters (:class:`Option`) and commands (:class:`Command`), and each
front end spells these in its own way with a :class:`Speller`.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

DISTRIBUTION = "kbkit-kg"
"""Name of the package on the index, where the name kbkit belongs to another project."""

INVALID_UNICODE = "Invalid Unicode (unpaired surrogate)"
INVALID_UNICODE_HINT = "Convert the text to UTF-8"

_LONGEST = 1_500
"""Maximum characters of a message or hint."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_PASSWORD = re.compile(r"(?<=://)[^/\s@'\"<>]+(?=@)")
"""The user name and password of an address."""


class Option(NamedTuple):
    """A parameter that a hint mentions, by its Python name, and the value to give it (empty: a switch)."""

    name: str
    value: str = ""


class Command(NamedTuple):
    """A command that a hint mentions: its words without the program's name (``build KB text``)."""

    words: str


Part = str | Option | Command
"""A hint is a sequence of texts, options and commands."""


class Speller(Protocol):
    """How a front end writes options and commands."""

    def option(self, option: Option) -> str: ...  # noqa: D102
    def command(self, command: Command) -> str: ...  # noqa: D102


_MAPPINGS = frozenset({"columns", "files", "options"})
"""Parameters with a mapping, which the command line writes as ``KEY=VALUE``."""


class PythonSpeller:
    """Options as keyword arguments, commands as typed in a terminal."""

    def option(self, option: Option) -> str:
        """Spell ``timeout``, ``timeout=5``, or ``columns={"head": "subject"}``."""
        key, equals, value = option.value.partition("=")
        if option.name in _MAPPINGS and equals:
            return f'{option.name}={{"{key}": "{value}"}}'
        return f"{option.name}={option.value}" if option.value else option.name

    def command(self, command: Command) -> str:
        """Spell ``kbkit build KB text``."""
        return f"kbkit {command.words}"


PYTHON = PythonSpeller()


class KbError(Exception):
    """An error that the user can fix.

    ``message`` describes the problem and its location, ``hints`` are the parts of a sentence with the remedy, ``hint``
    is that sentence for Python users (empty: none), ``exit_code`` is the exit status of the command line. Addresses in
    them lose user name and password, because errors are shown, logged and reported.
    """

    exit_code = 1

    def __init__(self, message: str, *hints: Part) -> None:
        self.message = without_passwords(message)
        super().__init__(self.message)
        self.hints = hints

    @property
    def hint(self) -> str:
        """The hint for Python users."""
        return self.hint_for(PYTHON)

    def hint_for(self, speller: Speller) -> str:
        """Return the hint in the words of a front end."""
        return without_passwords("".join(_spelled(part, speller) for part in self.hints))

    def text_for(self, speller: Speller) -> str:
        """Return message and hint as sentences, in the words of a front end."""
        return " ".join(sentence(_cut(part)) for part in (self.message, self.hint_for(speller)) if part)

    def __str__(self) -> str:
        return self.text_for(PYTHON)


class UnknownNameError(KbError):
    """A name that does not exist. The hint lists the closest names, unless ``hints`` replace it."""

    def __init__(self, kind: str, name: str, choices: Iterable[str], where: str = "", *hints: Part) -> None:
        known = list(choices)
        message = f"Unknown {kind} {name!r}{' in ' + where if where else ''}"
        super().__init__(message, *([hint for hint in hints if hint] or [suggest(name, known)]))
        self.kind, self.name, self.choices = kind, name, known


class UnknownNameWarning(UserWarning):
    """A query uses a name that the KB lacks, so that a part of it matches nothing."""


class MissingExtraError(KbError):
    """A feature whose optional packages are not installed; ``extra`` names one, or several with commas between."""

    def __init__(self, what: str, extra: str) -> None:
        several = "s" if "," in extra else ""
        super().__init__(f"{what} needs the extra{several} '{extra}'", f"Run: {install_command(extra)}")


class BadInputError(KbError):
    """An invalid source file, recipe or value."""


class NoRecordsError(BadInputError):
    """A file that can be read, but has no list of records."""


class NotAKbError(KbError):
    """A path that is not a KB, or a KB that this version cannot read."""


class DamagedError(KbError):
    """A KB with a file that is damaged or missing."""


class ShortageError(KbError):
    """Too little memory, or too few threads or open files, for what was asked. No file is damaged."""


class LockedError(KbError):
    """Another process holds the lock; the message names it."""


class ForkedError(KbError):
    """A forked process that cannot use the libraries of its parent."""


class QueryError(KbError):
    """A query that the engine rejected, at ``line`` and ``column`` (from 1; 0 if unknown)."""

    def __init__(self, message: str, *hints: Part, line: int = 0, column: int = 0) -> None:
        super().__init__(message, *hints)
        self.line, self.column = line, column


class QuerySyntaxError(QueryError):
    """A query with a syntax error."""


class QueryTimeoutError(KbError):
    """A query that exceeded its time limit."""

    exit_code = 124  # as timeout(1)


class ResultTooLargeError(KbError):
    """A result with more bytes than the caller accepts."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The result has more than {limit // 10**6:,} MB", "Select fewer rows or columns")


class InterruptedBuildError(KbError):
    """A build that the user interrupted; the live generation is unchanged."""

    exit_code = 130  # as a shell reports SIGINT


# -- errors of the operating system ------------------------------------------------------------------------------------

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_REMEDIES = {
    **dict.fromkeys(DISK_FULL, "Free disk space, or choose another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Change the permissions, or use another path"),
    **dict.fromkeys((errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOENT), "Check the path"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Close other programs, or raise the limit: ulimit -n 4096"),
    errno.EROFS: "Choose a folder that can be written to",
    **dict.fromkeys((errno.ENXIO, errno.ENODEV), "Choose a file"),
    errno.EIO: "Check the disk",
    errno.EBADF: "Open the stream, or redirect it to /dev/null",
    errno.ENOMEM: "Free memory, or raise the limit",
}


def reason(error: Exception) -> str:
    """Return what went wrong, in the words of the operating system but without numbers and paths."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def remedy(error: Exception) -> str:
    """Return what to do about an error of the operating system, or ''."""
    return _REMEDIES.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def is_disk_full(error: Exception) -> bool:
    """Return whether an error of the system or of an engine says that there is no room for a file."""
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return True
    return any(words in str(error) for words in ("No space left", "File too large", "Disk quota"))


_SHORTAGES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("Too many open files", "os error 23)", "os error 24)"),
        "too many open files",
        "Close other programs, or raise the limit: ulimit -n 4096",
    ),
    (
        ("start new thread", "spawn thread", "to spawn", "ThreadPoolBuildError", "Resource temporarily unavailable",
         "os error 11)", "thread constructor"),
        "too many threads",
        "Close other programs, or raise the limit: ulimit -u 4096",
    ),
    (
        ("MemoryError", "Out of Memory", "bad allocation", "bad_alloc", "Unable to allocate", "allocate memory",
         "os error 12)", "failed to map segment", "malloc of size"),
        "out of memory",
        "Free memory, or raise the limit: ulimit -v unlimited",
    ),
    (
        ("Max expression depth", "maximum recursion depth exceeded"),
        "an expression is nested too deeply",
        "Split it into smaller ones",
    ),
)  # fmt: skip
"""Phrases of the engines' errors, the shortage, and the remedy."""


def shortage(error: BaseException | str) -> ShortageError | None:
    """Return the error for a shortage that an engine or the system reports in its own words; None for other errors."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    for phrases, what, hint in _SHORTAGES:
        if any(phrase in text for phrase in phrases):
            return ShortageError(what[:1].upper() + what[1:], hint)
    return None


def is_panic(error: BaseException) -> bool:
    """Return whether an exception is a panic of an engine in Rust; each has a class of its own, of this name."""
    return type(error).__name__ == "PanicException"


def system_error(error: OSError, action: str = "") -> KbError:
    """Return an error of the operating system as one that a user can read: the path, the reason, the remedy.

    ``action`` is what failed (default: the use of the path). Paths of kbkit's own files are not shown.
    """
    own = str(Path(__file__).parent)
    paths = [str(name) for name in (error.filename, error.filename2) if name is not None]
    shown = next((path for path in paths if not path.startswith(own)), "")
    if not action and error.errno == errno.EBADF and not paths:
        action = "Standard input or output is closed"
    what = action or (f"Cannot use {shown}" if shown else "")
    return KbError(f"{what}: {reason(error)}" if what else reason(error), remedy(error))


# -- words -------------------------------------------------------------------------------------------------------------


def _cut(text: str) -> str:
    """Leave out the middle of a text that quotes a long value."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 300]}…{text[-300:]}"


def _spelled(part: Part, speller: Speller) -> str:
    if isinstance(part, Option):
        return speller.option(part)
    return speller.command(part) if isinstance(part, Command) else part


def install_command(extra: str) -> str:
    """Return the pip command that installs an extra, from the checkout if kbkit was installed from one."""
    import importlib.metadata
    import json
    from urllib.parse import unquote, urlsplit

    try:
        origin = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}"
    except importlib.metadata.PackageNotFoundError:
        origin = "{}"
    data = json.loads(origin)
    target = unquote(urlsplit(data["url"]).path) if "dir_info" in data else DISTRIBUTION
    return f"python -m pip install '{target}[{extra}]'"


def without_passwords(text: str) -> str:
    """Return a text without the user names and passwords of its addresses.

    >>> without_passwords("http://me:secret@localhost:8000/v1 does not answer")
    'http://...@localhost:8000/v1 does not answer'
    """
    return _PASSWORD.sub("...", text) if "@" in text else text


def sentence(text: str) -> str:
    """Return ``text`` with a final period unless it already ends a sentence."""
    return text if text.endswith((".", "?", "!", ":")) else f"{text}."


def suggest(name: str, choices: Iterable[str], limit: int = 5, noun: str = "names") -> str:
    """Return a hint with the ``choices`` closest to ``name``, or with all of them if there are few.

    ``noun`` says what the choices are.
    """
    known = sorted(set(choices))
    if not known:
        return "None exist"
    folded: dict[str, str] = {}
    for choice in known:
        folded.setdefault(choice.casefold(), choice)
    close = [folded[match] for match in difflib.get_close_matches(name.casefold(), list(folded), limit, 0.6)]
    if close:
        return "Did you mean " + " or ".join(map(repr, close)) + "?"
    if len(known) <= 12:
        return f"Valid {noun}: " + ", ".join(known)
    return f"There are {len(known)}, for example " + ", ".join(known[:limit])


def clipped(text: str, limit: int = 60) -> str:
    """Return a text of at most ``limit`` characters, the end of a longer one replaced by ``...``."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count with its noun: ``1 node``, ``3,000 nodes``; ``plural_noun`` is the plural if not noun + ``s``."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"


def unpaired_surrogate(text: str) -> int | None:
    """Return the position of the first unpaired surrogate, which no engine accepts; None for valid Unicode."""
    match = _SURROGATE.search(text)
    return None if match is None else match.start()


def check_unicode(text: str, where: str) -> None:
    """Raise :class:`BadInputError` if ``text`` has an unpaired surrogate."""
    if unpaired_surrogate(text) is not None:
        raise BadInputError(f"{INVALID_UNICODE} in {where}", INVALID_UNICODE_HINT)
