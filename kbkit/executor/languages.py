"""Which language a statement is in, by its own syntax, and where it ends. Pure functions of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

LANGUAGES = ("sql", "sparql", "answers", "search")
AUTO = "auto"
COMMAND = "command"
Language = Callable[[str], str]
"""The language of a statement."""

_MASKED = {
    # What is no syntax: quoted text and comments, the open ones too. A comment counts as white space.
    "sql": r"""'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
        |--[^\n]*|/\*.*?(?:\*/|\Z)""".replace("\n        ", ""),
    "sparql": r""""{3}(?:\\.|.)*?(?:"{3}|\Z)|'{3}(?:\\.|.)*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|'(?:\\.|[^'\\\n])*+'?
        |<[^<>"{}|^`\\\s]*>|(?<![\w:])\#[^\n]*""".replace("\n        ", ""),
    "answers": r""""(?:\\.|[^"\\])*(?:"|\Z)|'(?:\\.|[^'\\])*(?:'|\Z)|`[^`]*(?:`|\Z)|(?<!\S)\#[^\n]*""",
}
_SIGNS = {language: re.compile(pattern, re.S) for language, pattern in _MASKED.items()}
_OPEN_QUOTE = {"sql": "'\"$", "sparql": "'\"", "answers": "'\"`"}

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
_ARROW = re.compile("->|<-|→|←")
_SET = re.compile(r"""[(\s]*(?:@[\w`]|(?:[\w/*]+|`[^`]*`)\s*(?::\s*(?:["'<]|all\s*\()|\#\S|\{))""")
"""How a set of nodes starts that is more than a type."""
_COMMENTS = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|\#[^\n]*(?:\n|\Z))+", re.S)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_TRIPLE = ('"""', "'''")
_FEW_LINES = 50
_GOES_ON_WITH = re.compile(r"\s*(?:->|<-|→|←|[&|])")
_GOES_ON = re.compile(r"(?:->|<-|→|←|[&|,:]|(?<=\s)-)\s*\Z")


@dataclass(frozen=True)
class Statement:
    """One statement of a text, the line (from 1) that it starts on, and its language."""

    text: str
    language: str
    line: int = 1


def recognize(text: str, types: Collection[str] = ()) -> str:
    """The language of a statement: one of ``LANGUAGES``, or ``command``. ``types`` are the KB's.

    Plain words are a search, also those that start with a word of SQL (``from France to Spain``): what follows has to
    be SQL's. Two languages share SELECT, which is SPARQL's where a ``?variable`` or a group ``{`` follows.
    """
    if is_command(text):
        return COMMAND
    start = _COMMENTS.match(text)
    if start is not None and start.end() == len(text):
        return "sql"  # nothing but comments, which no engine minds
    body = text[start.end() :] if start is not None else text
    if _SPARQL.match(masked(body, "sparql")):
        return "sparql"
    if _SQL.match(_without_comments(body)):
        return "sql"
    return "answers" if _is_expression(masked(body, "answers", inside="_"), types) else "search"


def is_command(text: str) -> bool:
    """Whether a text is a dot-command: ``.5`` is a number."""
    return re.match(r"\s*\.(?!\d)", text) is not None


def _is_expression(signs: str, types: Collection[str]) -> bool:
    """Whether a text has an arrow, starts as a set of nodes, or joins such and types by set operators."""
    if _ARROW.search(signs) or _SET.match(signs):
        return True
    known = {name.casefold() for name in types} | {"_", "*"}
    parts = re.split(r"[&|]|(?<=\s)-(?=\s|\Z)", signs)
    names = [name for part in parts if (name := part.strip("(); \t\r\n"))]
    fit = (name[:1] == "`" or name.casefold() in known or _SET.match(name) for name in names)
    return names not in ([], ["*"]) and all(fit)


def is_complete(text: str, language: str, *, blank_ends: bool) -> bool:
    """Whether a statement ends where the text does.

    SQL and SPARQL end with ``;``, and where ``blank_ends`` with an empty line; nothing ends within quotes, brackets or
    braces. Commands and searches end with the line; so do answer expressions that are whole.
    """
    if language in (COMMAND, "search") or not text.strip():
        return True
    signs = masked(text, language)
    if _is_open(text, signs, language):
        return False
    if language == "answers":
        return not _GOES_ON.search(signs)
    ends = signs.rstrip(" \t")
    if language == "sparql" and "}" not in signs and not re.search(r"(?i)\bdescribe\b(?!\s*:)", signs):
        return False  # prefixes alone
    return ends.rstrip().endswith(";") or (blank_ends and (ends.endswith("\n") and ends.rstrip() != ""))


def split(text: str, mode: str | Language = AUTO, types: Collection[str] = ()) -> Iterator[Statement]:
    """The statements of a script, in order. What is open at the end is a statement too: its engine says what is wrong.

    ``mode`` is the language of all of them but the commands, or ``auto``, or a function that is asked for each when it
    is its turn, since those before it may set the mode. An empty line ends SPARQL, and not SQL.
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
            continue  # a long statement is looked at where it may end
        whole = "\n".join(lines)
        language = _language(whole, mode, types)
        if _is_comment(whole, language):
            lines = [] if _is_closed_comment(whole) else lines
            continue
        pieces, rest = _pieces(whole, language)
        for piece, at in pieces:
            yield Statement(piece, _language(piece, mode, types), first + at)
        if pieces:
            lines, first = [] if is_nothing(rest) else [rest.lstrip()], number
            whole, language = rest.lstrip(), _language(rest, mode, types)
        ended = whole + "\n" * (not line.strip())
        if lines and is_nothing(whole):
            lines = []
        if language == "answers" and number < len(script) and _GOES_ON_WITH.match(script[number]):
            continue
        if lines and is_complete(ended, language, blank_ends=language != "sql"):
            yield Statement(whole.strip(), language, first)
            lines = []
    rest = "\n".join(lines).strip()
    if rest and not _is_comment(rest, _language(rest, mode, types)):
        yield Statement(rest, _language(rest, mode, types), first)


def _is_closed_comment(text: str) -> bool:
    found = re.findall(r"/\*.*?(?:\*/|\Z)|--[^\n]*|#[^\n]*", text, flags=re.S)
    return all(_is_closed(part, "sql") for part in found if part.startswith("/*"))


def is_nothing(text: str) -> bool:
    """Whether a text has no statement: nothing but signs that end one, or comments that are whole."""
    bare = text.strip("; \t\r\n")
    return not bare or (_is_comment(bare, "") and _is_closed_comment(bare))


def body(text: str) -> str:
    """A statement without the comments before it."""
    start = _COMMENTS.match(text)
    return text if start is None else text[start.end() :]


def _is_comment(text: str, language: str) -> bool:
    return language != COMMAND and text != "" and body(text) == ""


def _language(text: str, mode: str | Language, types: Collection[str]) -> str:
    if not isinstance(mode, str):
        return mode(text)
    return COMMAND if is_command(text) else recognize(text, types) if mode == AUTO else mode


def _pieces(text: str, language: str) -> tuple[list[tuple[str, int]], str]:
    """The statements of one language that ``;`` ends, each with the number of lines before it, and what is left."""
    if language not in ("sql", "sparql"):
        return [], text
    signs, start, depth = masked(text, language), 0, 0
    pieces = []
    for sign in re.finditer(r"[(\[{)\]};]", signs):
        depth += {"(": 1, "[": 1, "{": 1, ";": 0}.get(sign[0], -1)
        if sign[0] == ";" and depth <= 0 and (language == "sql" or "}" in signs[start : sign.start()]):
            pieces.append((text[start : sign.end()].strip(), signs.count("\n", 0, start)))
            start, depth = sign.end(), 0
    return [(piece, line) for piece, line in pieces if piece.strip("; \n\t")], text[start:]


def without_end(text: str, language: str) -> str:
    """A statement without the ``;`` that ends it: only SQL has one, and places stay where they are."""
    if language not in ("sql", "sparql", "answers"):
        return text.rstrip()
    return text[: len(masked(text, language, inside="_").rstrip("; \t\r\n"))]


def masked(text: str, language: str, inside: str = " ") -> str:
    """The text with quoted parts and comments blank, in the same places; quotes stay."""

    def blank(found: re.Match[str]) -> str:
        part = found[0]
        if _is_none(part, language):
            return part
        sign = part[0] if part[0] in "'\"`<" else " "
        kept = re.sub(r"[^\n]", inside if sign != " " else " ", part[1:])
        last = part[-1] if sign != " " and len(part) > 1 and part[-1] in "'\"`>" else kept[-1:]
        return sign + kept[:-1] + last if len(part) > 1 else sign

    return _SIGNS[language].sub(blank, text)


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*|/\*.*?(?:\*/|\Z)", " ", text, flags=re.S)


def _is_open(text: str, signs: str, language: str) -> bool:
    """Whether a quote, bracket or brace waits for its other half."""
    for found in _SIGNS[language].finditer(text):
        part, at_end = found[0], found.end() == len(text)
        if at_end and (part[0] in _OPEN_QUOTE[language] or part.startswith("/*")) and not _is_closed(part, language):
            return not _is_none(part, language)
    waiting: list[str] = []
    for sign in re.findall(r"[(\[{)\]}]", signs):
        if sign in _PAIRS:
            waiting.append(_PAIRS[sign])
        elif waiting and waiting[-1] == sign:
            waiting.pop()
    return bool(waiting)


def _is_none(part: str, language: str) -> bool:
    """Whether a quote is no text's: a short one of SPARQL that its line does not close. What follows it is syntax."""
    short = language == "sparql" and part[0] in "'\"" and part[:3] not in _TRIPLE
    return short and not _is_closed(part, language)


def _is_closed(part: str, language: str) -> bool:
    if part.startswith("/*"):
        return len(part) >= 4 and part.endswith("*/")
    if language == "sparql" and part[:3] in _TRIPLE:
        return len(part) >= 6 and part.endswith(part[:3])
    if part.startswith("$"):
        tag = part[: part.index("$", 1) + 1]
        return len(part) >= 2 * len(tag) and part.endswith(tag)
    if len(part) < 2 or not part.endswith(part[0]):
        return False
    if language == "sql":
        return part[1:-1].replace(part[0] * 2, "").count(part[0]) == 0
    body = part[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 0
