"""Completion of dot-commands: their names, and their arguments by kind."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from kbkit.executor import languages
from kbkit.executor.completion import answers, search, sparql, sql
from kbkit.executor.completion.ranking import (
    LIMIT,
    NAMES,
    Candidate,
    CompletionItem,
    ItemPool,
    about,
    ambiguous,
    candidate,
    layered,
    ranked,
    starting,
)
from kbkit.executor.vocabulary import FORMATS, Argument, CommandWords, Vocabulary, VocabularyEntry

_COMMAND = re.compile(r"\s*\.([\w-]*)")
_WORD = re.compile(r"""(?:\\.|'[^']*(?:'|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)|[^\s\\'"]|\\\Z)+""", re.S)
_SQL = re.compile(r"(?i)\s*(?:from|with|describe|summarize)\s+\w*\Z")
_REFERENCE = re.compile(r"[^:#]+[:#]")
_MAX_ENTRIES = 2_000
"""Entries of a folder to read: some have millions."""

_STATEMENTS = {
    "sql": sql.complete,
    "sparql": sparql.complete,
    "answers": answers.complete,
    **dict.fromkeys(languages.IN_WORDS, search.complete),
}
_CHOICES = {
    Argument.SWITCH: ("on", "off"),
    Argument.LANGUAGE: ("auto", *languages.LANGUAGES, *FORMATS),
    Argument.FORMAT: (*FORMATS, "auto"),
}
_REST = (
    *(Argument.NODE, Argument.EXPRESSION, Argument.STATEMENT, Argument.QUESTION),
    *(Argument.TYPE_OR_RELATION, Argument.RELATION),
)
"""Arguments that extend to the end of the line, including spaces."""


def complete(text: str, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Return the candidates at a position of a dot-command."""
    command = _COMMAND.match(text)
    if command is None or at < command.start(1):
        return []
    if at <= command.end():
        return _names(text[command.start(1) : at], command.start(1) - 1, vocabulary)
    known = _known(vocabulary, command[1])
    if known is None or not known.arguments or not text[command.end()].isspace():
        return []
    return _argument(known, text, command.end(), at, vocabulary)


def _names(typed: str, start: int, vocabulary: Vocabulary) -> list[Candidate]:
    commands = _commands(vocabulary)
    items = [CompletionItem(words.name, _inserted(words), words.help, 0, "", f".{words.name}") for words in commands]
    for words in commands if typed else ():
        same = f"the same as .{words.name}"
        items += [CompletionItem(alias, _inserted(words, alias), same, 0, "", f".{alias}") for alias in words.aliases]
    return starting(typed, items, start)


def _commands(vocabulary: Vocabulary) -> list[CommandWords]:
    return [replace(words, name=words.name.removeprefix(".")) for words in vocabulary.commands.values()]


def _inserted(words: CommandWords, name: str = "") -> str:
    takes = any(argument is not Argument.NONE for argument in words.arguments)
    return f".{name or words.name}{' ' * takes}"


def _known(vocabulary: Vocabulary, name: str) -> CommandWords | None:
    """Return the command with this name, or the only one that starts with it."""
    commands = _commands(vocabulary)
    known = {alias: words for words in commands for alias in (words.name, *words.aliases)}
    if name in known:
        return known[name]
    found = [words for words in commands if name and words.name.startswith(name.lower())]
    return found[0] if len(found) == 1 else None


def _argument(known: CommandWords, text: str, begin: int, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete the argument at the cursor; the last argument of some kinds extends to the end of the line."""
    words = list(_WORD.finditer(text, begin, at))
    if words and words[-1].end() == at:
        number, start = len(words) - 1, words[-1].start()
    else:
        number, start = len(words), at
    for i, kind in enumerate(known.arguments[: number + 1]):
        if kind in _REST:
            start = words[i].start() if i < len(words) else at
            return _of_kind(kind, text, start, at, vocabulary)
    if number >= len(known.arguments):
        return []
    return _of_kind(known.arguments[number], text, start, at, vocabulary)


def _of_kind(kind: Argument, text: str, start: int, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    typed = text[start:at]
    if kind in (Argument.EXPRESSION, Argument.STATEMENT):
        return _statement(kind, text, start, at, vocabulary)
    if kind is Argument.QUESTION:
        found = search.complete(text[start:], at - start, vocabulary)
        return [Candidate(c.text, c.start + start, c.display, c.meta) for c in found]
    if kind in (Argument.FILE, Argument.KB):
        return files(typed, start, kind is Argument.KB)
    if kind is Argument.NODE:
        return _nodes(typed, start, vocabulary)
    if kind in _CHOICES:
        return starting(typed, map(CompletionItem, _CHOICES[kind]), start)
    return _listed(kind, typed, start, vocabulary)


def _listed(kind: Argument, typed: str, start: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete an argument from a list."""
    if kind in (Argument.RELATION, Argument.TYPE_OR_RELATION):
        types, relations = vocabulary.cached("names", lambda: _pools(vocabulary))
        return layered(typed, start, *((relations,) if kind is Argument.RELATION else (types, relations)))
    commands = [CompletionItem(words.name, "", words.help) for words in _commands(vocabulary)]
    if kind is Argument.COMMAND:
        return _dotted(typed, start, commands)
    lists: dict[Argument, Callable[[], Iterable[VocabularyEntry]]] = {
        Argument.QUERY: vocabulary.queries,
        Argument.TEMPLATE: vocabulary.templates,
        Argument.SET: vocabulary.sets,
        Argument.TOPIC: vocabulary.topics,
        Argument.ALGORITHM: _algorithms,
    }
    if kind not in lists:
        return []
    if kind is Argument.SET and typed.startswith("@"):
        typed, start = typed[1:], start + 1
    items = [CompletionItem(word.name, "", word.help) for word in lists[kind]()]
    if kind is Argument.TOPIC:
        return _dotted(typed, start, commands) if typed.startswith(".") else layered(typed, start, items, commands)
    return ranked(typed, items, start)


def _algorithms() -> list[VocabularyEntry]:
    from kbkit.graph.algorithms.table import ALGORITHMS

    return [VocabularyEntry(one.name, one.summary) for one in ALGORITHMS]


def _pools(vocabulary: Vocabulary) -> tuple[ItemPool, ItemPool]:
    schema = vocabulary.schema
    types = ItemPool(CompletionItem(t.name, "", f"type, {t.members:,} nodes", t.members) for t in schema.node_types)
    return types, ItemPool(
        CompletionItem(r.name, "", f"relation, {r.edges:,} edges", r.edges, r.label) for r in schema.relations
    )


def _dotted(typed: str, start: int, commands: Iterable[CompletionItem]) -> list[Candidate]:
    dot = len(typed) - len(typed.removeprefix("."))
    return starting(typed[dot:], commands, start + dot)


def _statement(kind: Argument, text: str, start: int, at: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete a statement after a command, in its language; a single word may also be a type or a table."""
    rest, position = text[start:], at - start
    if kind is Argument.EXPRESSION:
        language = "answers"
    else:
        types = [t.name for t in vocabulary.schema.node_types]
        language = "sql" if _SQL.match(rest) else languages.recognize(rest, types)
    found = _STATEMENTS[language](rest, position, vocabulary) if language in _STATEMENTS else []
    if kind is Argument.STATEMENT and language == "search" and " " not in rest:
        found = [*answers.complete(rest, position, vocabulary), *sql.complete(rest, position, vocabulary), *found]
    return [Candidate(c.text, c.start + start, c.display, c.meta) for c in found]


def _nodes(typed: str, start: int, vocabulary: Vocabulary) -> list[Candidate]:
    """Complete a node by name, ``type:name`` or ``type#key``."""
    before = _REFERENCE.match(typed)
    node_type = vocabulary.type(before[0][:-1]) if before else None
    if before is None or node_type is None:
        bare = typed.lstrip("\"'")
        return _named(bare, start, None, "", vocabulary)
    rest = typed[before.end() :]
    if before[0].endswith(":"):
        return _named(rest, start, node_type, before[0], vocabulary)
    nodes = vocabulary.keys(rest, node_type, NAMES)
    return [candidate(f"{before[0]}{node.key}", start, node.key, node.name) for node in nodes if node.key.isprintable()]


def _named(typed: str, start: int, node_type: str | None, before: str, vocabulary: Vocabulary) -> list[Candidate]:
    nodes = vocabulary.names(typed, node_type, NAMES) if typed or node_type else []
    several = ambiguous(nodes)
    found: dict[str, Candidate] = {}
    for node in nodes:
        # A number would open a row of the last result, and outer spaces would be cut.
        plain = node.name.isprintable() and node.name == node.name.strip() and not node.name.isdecimal()
        text = f"{before}{node.name}" if plain and node.name not in several else f"{node.type}#{node.key}"
        display = node.name if node.name not in several else f"{node.name} ({node.type}#{node.key})"
        found.setdefault(text, candidate(text, start, display, about(node)))
    return [c for c in found.values() if c.text.isprintable()]


# -- files -------------------------------------------------------------------------------------------------------------


def files(raw: str, start: int, kb: bool = False) -> list[Candidate]:
    """Return files whose path starts with ``raw``, a word that may be quoted; folders end in ``/``.

    Hidden files need their dot. With ``kb``, return only folders, KBs first.
    """
    quote = raw[0] if raw[:1] in ("'", '"') else ""
    typed = raw[1:] if quote else raw.replace("\\ ", " ")
    folder, slash, begin = typed.rpartition("/")
    entries = _entries(folder + slash, begin, kb)
    found = []
    for name, is_folder, is_kb in entries:
        path = f"{folder}{slash}{name}{'/' * (is_folder and not is_kb)}"
        meta = "KB" if is_kb else "folder" if is_folder else ""
        found.append(
            candidate(_quoted(path, quote, is_folder and not is_kb), start, path.rpartition("/")[2] or f"{name}/", meta)
        )
    return found


def _entries(folder: str, begin: str, kb: bool) -> list[tuple[str, bool, bool]]:
    """Return (name, is it a folder, is it a KB) of entries that start with ``begin``, exact case first."""
    try:
        path = Path(folder or ".").expanduser()
        with os.scandir(path) as listed:
            known = [
                (entry.name, entry.is_dir())
                for entry in itertools.islice(listed, _MAX_ENTRIES)
                if entry.name.casefold().startswith(begin.casefold())
                and (begin.startswith(".") or not entry.name.startswith("."))
            ]
    except (OSError, ValueError, RuntimeError):  # no such folder, a zero byte, no such user
        return []
    known = [(name, is_folder) for name, is_folder in known if is_folder or not kb]
    known.sort(key=lambda entry: (not entry[0].startswith(begin), kb and not entry[0].endswith(".kb"), entry))
    return [(name, is_folder, is_folder and _is_kb(path / name)) for name, is_folder in known[:LIMIT]]


def _is_kb(folder: Path) -> bool:
    try:
        return (folder / "CURRENT").is_file()
    except OSError:
        return False


def _quoted(path: str, quote: str, is_folder: bool) -> str:
    """Return a path as one word; quotes stay open after a folder, so that a file name can follow."""
    home, slash, rest = path.partition("/") if path.startswith("~") else ("", "", path)
    if quote == '"':
        escaped = path.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}' if is_folder else f'"{escaped}"'
    if not quote and shlex.quote(rest) == rest:
        return path
    if not rest:
        return path
    written = shlex.quote(rest) if not quote else "'" + rest.replace("'", "'\"'\"'") + "'"
    if is_folder and "'" not in rest:
        written = written.removesuffix("'")
    return f"{home}{slash}{written}" if not quote else (written if not home else f"'{home}{slash}{written[1:]}")
