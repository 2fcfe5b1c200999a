"""The context of the cursor in an answer expression, from the tokens before it.

The reader remembers open paths, parentheses and conditions; of closed ones only the type of their nodes. It ignores
tokens that make no sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from kbkit.answers.tokens import tokens
from kbkit.stores.sparql_text import Token

COUNT = "count("
"""The attribute of a context after a count."""

TypeOf: TypeAlias = Callable[[str], str | None]


@dataclass
class OpenPath:
    """A path before the cursor: the types of its sets (None: unknown or any) and its last element.

    ``last`` is ``""`` (start), ``set``, ``arrow`` or ``step``; ``step`` holds the relations of a step whose second set
    is missing, None elsewhere.
    """

    types: list[str | None] = field(default_factory=list)
    arrows: list[str] = field(default_factory=list)
    last: str = ""
    step: tuple[tuple[str, bool], ...] | None = None
    lookup: str = ""
    """After a type: ``:`` or ``all`` before a name, ``@`` before the name of a set, ``done`` after one; ``count`` at
    the start of a count's path."""

    @property
    def answer(self) -> str | None:
        """The type where the arrows meet."""
        if not self.types:
            return None
        sets = [arrow for arrow, _ in zip(self.arrows, self.types[1:], strict=False)]
        return self.types[sets.index("<-")] if "<-" in sets else self.types[-1]

    def add(self, node_type: str | None) -> None:
        """Append a set."""
        self.types.append(node_type)
        self.last, self.step, self.lookup = "set", None, ""


@dataclass
class AnswersContext:
    """The context of the cursor.

    ``kind`` is one of set, after_set, after_step, edge, name, key, saved, attribute, after_attribute, value,
    after_value, total_attribute, nothing. ``typed`` is the current word, from ``start``; ``quote`` its open
    quotation mark. ``head`` is the position of the type before a name or key.
    """

    kind: str
    typed: str
    start: int
    path: OpenPath
    quote: str = ""
    head: int = 0
    type: str | None = None
    attribute: str = ""
    depth: int = 0


class CursorReader:
    """Reads a text up to the cursor, which is at its end."""

    def __init__(self, text: str, type_of: TypeOf, type_of_set: TypeOf, is_relation: Callable[[str], bool]) -> None:
        self.text, self.type_of, self.type_of_set, self.is_relation = text, type_of, type_of_set, is_relation
        self.paths: list[OpenPath] = [OpenPath()]
        self.operands: list[str | None] = [None]
        self.conditions: list[str] | None = None
        self.state = ""
        self.head = 0
        self.counts: list[tuple[str, int]] = []
        """For each open count, the state to restore and the number of paths around it."""

    def context(self) -> AnswersContext:
        """Return the context at the end of the text."""
        for token in tokens(self.text):
            if token.kind == "open_step" or (token.text == "[" and self.conditions is None):
                return self.edge(token.start + 1)
            if token.end == len(self.text) and (context := self.current(token)):
                return context
            self.read(token)
        return self.here(self.expected(), "", len(self.text))

    # -- the word at the cursor ---------------------------------------------------------------------------------------

    def current(self, token: Token) -> AnswersContext | None:
        """Return the context of the last token, if typing can extend it."""
        kind, text, start = token
        path = self.paths[-1]
        closed = kind in ("string", "key") and len(text) > 1 and text[-1] in "\"'"
        in_slot = kind == "word" and self.text[start - 1 : start] == "<"
        if kind == "comment" or closed or in_slot:
            return self.here("nothing", "", start)
        if kind in ("open_string", "open_quoted", "word"):
            quote = text[0] if text[0] in "\"'`" else ""
            typed = text[len(quote) :].replace("``", "`") if quote == "`" else text[len(quote) :]
            if kind == "open_string":
                is_name = self.conditions is None and path.lookup in (":", "all")
                return self.here("name" if is_name else "nothing", _unescaped(typed), start, quote)
            return self.here(self.expected(), typed, start, quote)
        if kind in ("key", "open_key") and path.last == "set" and self.conditions is None:
            typed = text[1:]
            quote = typed[:1] if typed[:1] == '"' else ""
            return self.here("key", typed[len(quote) :], start, quote)
        return None

    def here(self, kind: str, typed: str, start: int, quote: str = "") -> AnswersContext:
        """Return a context with the current path."""
        path = self.paths[-1]
        node_type = path.types[-1] if path.types else None
        attribute = self.conditions[0] if self.conditions else ""
        return AnswersContext(kind, typed, start, path, quote, self.head, node_type, attribute, len(self.paths))

    def edge(self, start: int) -> AnswersContext:
        """Return the context inside open brackets."""
        inside = self.text[start:]
        begin = max((inside.rfind(sign) for sign in "|!^"), default=-1) + 1
        ticks = inside.count("`") % 2
        if ticks:
            begin = inside.rfind("`")
        while begin < len(inside) and inside[begin].isspace():
            begin += 1
        typed = inside[begin:]
        context = self.here("edge", typed[ticks:].replace("``", "`"), start + begin, "`" * ticks)
        context.attribute = inside[:begin].rstrip()[-1:]
        return context

    def expected(self) -> str:
        """Return the kind of context of a word at this point."""
        path = self.paths[-1]
        if self.conditions is not None:
            return _IN_CONDITIONS[min(len(self.conditions), 3)] if self.state != "value" else "after_value"
        if self.state == "total":
            return "total_attribute"
        if path.last == "set":
            if path.lookup in (":", "all"):
                return "name"
            return "saved" if path.lookup == "@" else "after_set"
        return "after_step" if path.last == "step" else "set"

    # -- the tokens before it -----------------------------------------------------------------------------------------

    def read(self, token: Token) -> None:
        """Read one complete token."""
        kind, text, start = token
        if kind in ("space", "comment"):
            return
        if self.conditions is not None:
            self.condition(kind, text)
            return
        path = self.paths[-1]
        if kind in ("word", "quoted"):
            self.word(path, text[1:-1].replace("``", "`") if kind == "quoted" else text, start)
        elif kind == "step":
            self.step(text[1:-1])
        elif kind == "arrow":
            path.arrows += ["->" if text in ("->", "→") else "<-"] if path.last != "step" else []
            path.last = "arrow"
        elif kind in ("string", "slot", "key"):
            path.lookup = "all" if path.lookup == "all" else "done"
        elif kind == "symbol":
            self.punctuation(path, text, start)

    def word(self, path: OpenPath, name: str, start: int) -> None:
        """Read the name of a set, or of a relation without brackets."""
        if path.last == "set" and path.lookup == "@":
            path.types[-1], path.lookup = self.type_of_set(name), "done"
        elif path.last == "arrow" and self.type_of(name) is None and self.is_relation(name):
            path.step, path.last = ((name, False),), "step"
        elif path.last != "set":
            path.add(self.type_of(name))
            self.head = start

    def punctuation(self, path: OpenPath, symbol: str, start: int) -> None:
        """Read a symbol outside brackets and braces."""
        if symbol == "(":
            if path.last == "set" and path.lookup == ":":  # all("...")
                path.lookup = "all"
                return
            self.paths.append(OpenPath())
            self.operands.append(None)
        elif symbol == ")" and path.lookup == "all":
            path.lookup = "done"
        elif symbol == ")":
            self.close()
        elif symbol == "," and len(self.paths) == 2:  # values(..., attribute)
            self.paths[-1] = OpenPath([self.operands[-1] or path.answer], last="set")
            self.state = "total"
        elif symbol in "&|-":
            self.operands[-1] = self.operands[-1] or path.answer
            self.paths[-1] = OpenPath()
        elif symbol == ":":
            path.lookup = ":"
        elif symbol == "@":
            path.add(None)
            path.lookup = "@"
        elif symbol == "*":
            path.add(None)
            self.head = start
        elif symbol == "{":
            self.conditions, self.state = [], ""

    def close(self) -> None:
        """Read a closing parenthesis: its content becomes one set, or a measure in braces."""
        if self.counts and len(self.paths) == self.counts[-1][1] + 1:
            self.state, _ = self.counts.pop()
            self.paths.pop()
            self.operands.pop()
            self.conditions = [COUNT]
            return
        self.state = ""
        if len(self.paths) > 1:
            node_type = self.operands.pop() or self.paths[-1].answer
            self.paths.pop()
            self.paths[-1].add(node_type)
            self.paths[-1].lookup = "done"

    def condition(self, kind: str, text: str) -> None:
        """Read a token inside braces: attribute, operator, value, comma."""
        assert self.conditions is not None
        is_name = kind in ("word", "quoted")
        if text == "(" and self.conditions == ["count"]:
            self.counts.append((self.state, len(self.paths)))
            self.paths.append(OpenPath(self.paths[-1].types[-1:], last="set", lookup="count"))
            self.operands.append(None)
            self.conditions, self.state = None, ""
        elif is_name and len(self.conditions) == 1 and self.conditions[0] in ("max", "min") and not _is_test(text):
            self.conditions, self.state = [text.strip("`")], "value"
        elif text == "}":
            self.conditions = None
            self.paths[-1].lookup = "done"
        elif text == "," and self.state != "list":
            self.conditions, self.state = [], ""
        elif text in ("[", "(") and len(self.conditions) == 2:
            self.state = "list"
        elif text in ("]", ")"):
            self.state = "value"
        elif text == "(" or (not self.conditions and text in ("not", "missing")):
            self.state = "missing"
        elif is_name and len(self.conditions) < 2:
            self.conditions.append(text.strip("`"))
            self.state = "value" if self.state == "missing" else self.state
        elif kind == "operator" and len(self.conditions) == 1:
            self.conditions.append(text)
        elif self.state != "list" and len(self.conditions) == 2:
            self.state = "value"

    def step(self, inside: str) -> None:
        """Read closed brackets: relations, each with whether it is inverse."""
        edges = []
        for part in re.findall(r"(?:[^|`]|`(?:[^`]|``)*`)+", inside.strip().removeprefix("!")):
            bare = part.strip()
            name = bare.removeprefix("^").strip().rstrip("*+").strip()
            name = name[1:-1].replace("``", "`") if name[:1] == "`" and name[-1:] == "`" and len(name) > 1 else name
            edges.append((name, bare.startswith("^")))
        path = self.paths[-1]
        path.step, path.last = tuple(edges), "step"


_IN_CONDITIONS = ("attribute", "after_attribute", "value", "value")


def _is_test(word: str) -> bool:
    """Return whether a word after an attribute called max or min is an operator."""
    return word in ("in", "contains")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.S)
