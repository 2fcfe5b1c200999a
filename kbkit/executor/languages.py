"""Recognize the language of a statement, and its end. Pure functions of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from kbkit.executor.lexers import masked, sql_tokens, unfinished

LANGUAGES = ("sql", "sparql", "answers", "search", "ask")
IN_WORDS = ("search", "ask")
"""Languages of plain words, which no syntax ends."""
AUTO = "auto"
COMMAND = "command"
GRAPH = "graph"
"""The language of a graph algorithm's result, which is no statement."""
Language = Callable[[str], str]
"""Returns the language of a statement."""

_HEAD = 5_000
"""Characters that decide between SQL and SPARQL."""
_NAME = r'(?:[\w.]+|"[^"]+")'
_SQL = re.compile(
    rf"""\s*(?:
      [(\s]*select\b | with\s+(?:recursive\s+)?{_NAME}\s*(?:\([^)]*\)\s*)?(?:using\s+key\s*\(|as\b)
    | from\s+\w+\( | from\s+(?:{_NAME}|'[^']*'|\()\s*
        (?:$|;|,|as\b|select\b|where\b|group\b|order\b|limit\b|using\b
        |(?:(?:left|right|full|inner|cross|anti|semi|natural)\s+)?join\b)
    | (?:desc|describe|summarize|table|pragma|show)\s+(?:{_NAME}|select\b.*|all\s+tables)\s*(?:\([^)]*\)\s*)?;?\s*$
    | explain\s+(?:analyze\b|select\b|with\b|from\b|values\b|\() | values\s*\( | call\s+\w+\s*\(
    | (?:un)?pivot\s+{_NAME}\s+on\b
    | set\s+(?:\w+\s+)?\w+\s*(?:=|to\b) | reset\s+\w+\s*;?\s*$
    | create\s+(?:or\s+replace\s+)?(?:temp|temporary|table|view|macro|function|schema|type|sequence|index|secret)\b
    | insert\s+into\b | update\s+{_NAME}\s+set\b | delete\s+from\b | truncate\s+(?:table\s+)?{_NAME}\s*;?\s*$
    | (?:drop|alter)\s+(?:table|view|macro|function|schema|type|sequence|index|secret|database)\b
    | copy\s+(?:{_NAME}\s*(?:\([^)]*\)\s*)?(?:to|from)\b|\() | attach\s+'
    | (?:detach|install|load)\s+\w+\s*;?\s*$
    | (?:import|export)\s+database\b | (?:checkpoint|begin|commit|rollback|vacuum)\s*(?:transaction\s*)?;?\s*$
    | use\s+{_NAME}\s*;?\s*$
    )""",
    re.I | re.S | re.X,
)
_VARIABLE = r"(?:\?\w|\$\w(?=[^;]*\{))"  # $name is a parameter in SQL
_SPARQL = re.compile(
    rf"""\s*(?:
      prefix\s+[\w.-]*: | base\s+< | (?:ask|construct)\s*(?:where\s*|from\s.*)?\{{ | ask\s+(?:where|from)\b
    | construct\s+where\b | describe\s+(?:\?|<|\*|[\w.-]*:)
    | select\b\s*(?:(?:distinct|reduced)\b\s*)?(?:{_VARIABLE}|\*\s*(?:where\b\s*)?\{{|\*\s*from\s+(?:named\s+)?<
        |\(\s*\?\w|\(.*?\bas\s+{_VARIABLE})
    | (?:insert|delete)\s+(?:data\s*|where\s*)?\{{ | (?:clear|drop)\s+(?:graph|default|named|all)\b
    )""",
    re.I | re.S | re.X,
)
_GROUP = re.compile(r"\{[^{}]*\?\w[^{}]*\}")
_KEYWORDS = {
    *("SELECT", "FROM", "WHERE", "JOIN", "HAVING", "LIMIT", "VALUES"),
    *("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "MATCH", "MERGE", "RETURN"),
}
"""Words that are not taken for a search if they are in capitals."""
_PLAIN_SELECT = re.compile(r"\s*select((?:\s+[^\W\d_][\w'’-]*)+)\s*[.?!]?\s*\Z", re.I)
_WORDS_ONLY = re.compile(r"[^\W\d_]+(?:(?:\s+|['’-])[^\W\d_]+)*[\s;.?!]*")
_SELECT_WORDS = {"distinct", "as", "where", "limit", "by", "case", "null", "true", "false", "union", "having"}
_SIGNS = re.compile(r"[\[{<=`]|->")
_CLAUSES = re.compile(r"\b(?:select|from|where|join|group\s+by|order\s+by|limit)\b", re.I)
_TWO_WORDS = re.compile(r"\s*[^\W\d_]+\s+[^\W\d_]+")
_ARROW = re.compile("->|<-|→|←")
_SET = re.compile(r"""[(\s]*(?:@[\w`]|(?:[\w/*]+|`[^`]*`)\s*(?::\s*(?:["'<]|all\s*\()|\#\S|\{))""")
"""The start of a set of nodes that is more than a type."""
_QUESTION = re.compile(
    r"""\s*(?:
      [^\s?]+\s[^?]*\?+                                   # two words or more, and a question mark
    | (?:which|what|who|whose)\s+\w[\w'’-]*\s+\w.*      # three words or more
    | how\s+many\s+\w.*
    )\s*\Z""",
    re.I | re.S | re.X,
)
_COMMENTS = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|\#[^\n]*(?:\n|\Z))+", re.S)
_COMMAND = re.compile(r"\s*(?:\.(?!\d)|\\[A-Za-z?!]|!\s*[\w./~$])")
_WORD_COMMAND = re.compile(r"\s*(?:exit|quit|help)\s*;?\s*\Z", re.I)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_FEW_LINES = 50
_CONTINUES_WITH = re.compile(r"\s*(?:->|<-|→|←|[&|])")
_CONTINUES = re.compile(r"(?:->|<-|→|←|[&|,:]|(?<=\s)-)\s*\Z")

_TOTAL = re.compile(
    r"""\s*(?:exists|count|values|sum|avg|min|max)\s*\(
    ((?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})*?)        # a set, with braces in braces
    (?:(?:,|\bby\b)(?:[^;]*))?\)[\s;]*\Z""",
    re.S | re.X,
)
"""An expression for a number or for the values of an attribute: ``count(country)``, ``values(country, name)``."""


@dataclass(frozen=True)
class Statement:
    """One statement of a script, its language, and the line (from 1) on which it starts."""

    text: str
    language: str
    line: int = 1


# -- recognition ------------------------------------------------------------------------------------------------------


def recognize(text: str, types: Collection[str] = ()) -> str:  # noqa: PLR0911
    """Return the language of a statement: one of ``LANGUAGES`` or ``command``; ``types`` are the KB's.

    Plain words are a question if they have its form (``which rivers cross Peru``, ``lakes of Peru?``), else a search,
    even if they start with a word of SQL (``from France to Spain``, ``select committee members``): the rest has to look
    like SQL too, or have keywords in capitals (``SELEC name FROM country``): the engine says what is wrong. SELECT is
    SPARQL if a ``?variable`` or a group ``{`` follows.
    """
    if is_command(text):
        return COMMAND
    start = _COMMENTS.match(text)
    if start is not None and start.end() == len(text):
        return "sql"  # only comments, which every engine accepts
    statement = text[start.end() :] if start is not None else text
    if _SPARQL.match(masked(statement[:_HEAD], "sparql")):
        return "sparql"
    total = _TOTAL.match(masked(statement, "answers", inside="_"))
    if total is not None and _is_expression(total[1], types):
        return "answers"
    if _SQL.match(_without_comments(statement[:_HEAD])):
        return _words(statement) if _is_plain_select(statement, types) else "sql"
    if _GROUP.search(masked(statement[:_HEAD], "sparql")):
        return "sparql"
    if _is_expression(masked(statement, "answers", inside="_"), types):
        return "answers"
    if _has_keywords(statement[:_HEAD]):
        return "sql"
    words = _words(statement)
    if words == "search" and has_signs(statement):
        return "sql" if _CLAUSES.search(statement[:_HEAD]) else "answers"  # whose error says what is wrong
    return words


def has_signs(text: str) -> bool:
    """Return whether a text has signs outside quotes that no search has: brackets, comparisons, arrows, backticks."""
    return _SIGNS.search(masked(text, "answers", inside="_")) is not None


def is_question(text: str) -> bool:
    """Return whether plain words have the form of a question: an interrogative first, or a question mark at the end."""
    return len(text) < _HEAD and _QUESTION.match(text) is not None


def is_command(text: str, *, words: bool = True) -> bool:
    r"""Return whether a text is a command: ``.show``, ``\d``, ``!ls``, or with ``words`` just ``exit`` or ``help``."""
    return _COMMAND.match(text) is not None or (words and _WORD_COMMAND.match(text) is not None)


def may_be_words(text: str, language: str = "sql") -> bool:
    """Return whether the user of a failed statement may have meant a search."""
    if language == "answers":
        signs = masked(text, "answers", inside="_")
        return not _ARROW.search(signs) and not _SET.match(signs) and _TWO_WORDS.match(text) is not None
    if _SPARQL.match(masked(text, "sparql")) or not _SQL.match(_without_comments(text)):
        return "?" not in text
    return _WORDS_ONLY.fullmatch(text.strip()) is not None


def _words(text: str) -> str:
    """Return the language of plain words."""
    return "ask" if is_question(text) else "search"


def _is_expression(signs: str, types: Collection[str]) -> bool:
    """Return whether a text has an arrow, starts with a set of nodes, or combines sets and types by set operators."""
    if _ARROW.search(signs) or _SET.match(signs):
        return True
    known = {name.casefold() for name in types} | {"_", "*"}
    parts = re.split(r"[&|]|(?<=\s)-(?=\s|\Z)", signs)
    names = [name for part in parts if (name := part.strip("(); \t\r\n"))]
    fit = (name[:1] == "`" or name.casefold() in known or _SET.match(name) for name in names)
    return names not in ([], ["*"]) and all(fit)


def _is_plain_select(text: str, types: Collection[str]) -> bool:
    """Return whether a text is English that starts with "select": words only, which SQL's grammar does not allow."""
    found = None if text.lstrip().startswith("SELECT") else _PLAIN_SELECT.match(text)
    words = [word.casefold() for word in found[1].split()] if found else []
    if len(words) < 2 or _SELECT_WORDS.intersection(words):
        return False
    known = {name.casefold() for name in types}
    sources = [i for i, word in enumerate(words) if word == "from"]
    if sources:  # "select a b from c" is SQL, "select the best films from c" is not
        first = sources[0]
        return first > 3 and words[first + 1 : first + 2] != [] and words[first + 1] not in known
    return True


def _has_keywords(text: str) -> bool:
    """Return whether a text has a keyword in capitals and is not all in capitals: ``SELEC name FROM country``."""
    words = re.findall(r"[^\W\d_]+", masked(text, "sql", inside="_"))
    return words[:1] != [] and words[0].isupper() and not text.isupper() and not _KEYWORDS.isdisjoint(words)


# -- ends and scripts -------------------------------------------------------------------------------------------------


def is_complete(text: str, language: str, *, blank_ends: bool) -> bool:
    """Return whether a statement ends where the text ends.

    SQL and SPARQL end with ``;``, and with ``blank_ends`` also with an empty line, but never inside quotes, brackets or
    braces. Commands, searches and questions end with the line, and so do complete answer expressions.
    """
    if language in (COMMAND, *IN_WORDS) or not text.strip():
        return True
    signs = masked(text, language)
    if unfinished(text, language) or _has_open_bracket(signs):
        return False
    if language == "answers":
        return not _CONTINUES.search(signs)
    ends = signs.rstrip(" \t")
    if language == "sparql" and "}" not in signs and not re.search(r"(?i)\bdescribe\b(?!\s*:)", signs):
        return False  # only prefixes
    return ends.rstrip().endswith(";") or (blank_ends and (ends.endswith("\n") and ends.rstrip() != ""))


def split(text: str, mode: str | Language = AUTO, types: Collection[str] = ()) -> Iterator[Statement]:
    """Split a script into statements. An unfinished one at the end is included: its engine reports the error.

    ``mode`` is the language of all statements except commands, or ``auto``, or a function that returns the language of
    a statement when its turn comes, since earlier statements can set the mode. An empty line ends SPARQL, but not SQL.
    """
    text = text.removeprefix("\ufeff")
    lines: list[str] = []
    first = 1
    script = text.split("\n")
    for number, line in enumerate(script, 1):
        if not lines:
            first = number
        if lines or line.strip():
            lines.append(line)
        if not lines or (len(lines) > _FEW_LINES and line.strip() and ";" not in line):
            continue  # examine a long statement only where it may end
        joined = "\n".join(lines)
        language = _language(joined, mode, types)
        if _is_comment(joined, language):
            lines = [] if _is_closed_comment(joined) else lines
            continue
        pieces, rest = _pieces(joined, language)
        for piece, offset in pieces:
            yield Statement(piece, _language(piece, mode, types), first + offset)
        if pieces:
            lines, first = [] if is_empty(rest) else [rest.lstrip()], number
            joined, language = rest.lstrip(), _language(rest, mode, types)
        ended = joined + "\n" * (not line.strip())
        if lines and is_empty(joined):
            lines = []
        if language == "answers" and number < len(script) and _CONTINUES_WITH.match(script[number]):
            continue
        if lines and is_complete(ended, language, blank_ends=language != "sql"):
            yield Statement(joined.strip(), language, first)
            lines = []
    rest = "\n".join(lines).strip()
    if rest and not _is_comment(rest, _language(rest, mode, types)):
        yield Statement(rest, _language(rest, mode, types), first)


def is_empty(text: str) -> bool:
    """Return whether a text has no statement, only ``;``, spaces and closed comments."""
    bare = text.strip("; \t\r\n")
    return not bare or (_is_comment(bare, "") and _is_closed_comment(bare))


def body(text: str) -> str:
    """Return a statement without the comments before it."""
    start = _COMMENTS.match(text)
    return text if start is None else text[start.end() :]


def without_end(text: str, language: str) -> str:
    """Return a statement without the ``;`` at its end; positions stay the same."""
    if language not in ("sql", "sparql", "answers"):
        return text.rstrip()
    return text[: len(masked(text, language, inside="_").rstrip("; \t\r\n"))]


def _is_comment(text: str, language: str) -> bool:
    return language != COMMAND and text != "" and body(text) == ""


def _is_closed_comment(text: str) -> bool:
    found = re.findall(r"/\*.*?(?:\*/|\Z)|--[^\n]*|#[^\n]*", text, flags=re.S)
    return all(not part.startswith("/*") or (len(part) >= 4 and part.endswith("*/")) for part in found)


def _language(text: str, mode: str | Language, types: Collection[str]) -> str:
    if not isinstance(mode, str):
        return mode(text)
    if is_command(text, words=mode not in IN_WORDS):
        return COMMAND
    return recognize(text, types) if mode == AUTO else mode


def _pieces(text: str, language: str) -> tuple[list[tuple[str, int]], str]:
    """Return the statements that ``;`` ends, each with the number of lines before it, and the rest of the text."""
    if language not in ("sql", "sparql"):
        return [], text
    signs, start, depth = masked(text, language), 0, 0
    pieces = []
    for sign in re.finditer(r"[(\[{)\]};]", signs):
        depth += {"(": 1, "[": 1, "{": 1, ";": 0}.get(sign[0], -1)
        if sign[0] == ";" and depth <= 0 and (language != "sparql" or "}" in signs[start : sign.start()]):
            pieces.append((text[start : sign.end()].strip(), signs.count("\n", 0, start)))
            start, depth = sign.end(), 0
    return [(piece, line) for piece, line in pieces if piece.strip("; \n\t")], text[start:]


def _without_comments(text: str) -> str:
    return "".join(" " if "comment" in token.kind else token.text for token in sql_tokens(text))


def _has_open_bracket(signs: str) -> bool:
    waiting: list[str] = []
    for sign in re.findall(r"[(\[{)\]}]", signs):
        if sign in _PAIRS:
            waiting.append(_PAIRS[sign])
        elif waiting and waiting[-1] == sign:
            waiting.pop()
    return bool(waiting)
