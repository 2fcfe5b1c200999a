"""The context of the cursor in an answer expression, from the tokens before it.

The reader remembers open paths, parentheses and conditions; of closed ones only the type of their nodes. It ignores
tokens that make no sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kbkit.answers.date_functions import DATE_FUNCTIONS
from kbkit.answers.errors import FUNCTIONS, TOTALS
from kbkit.answers.tokens import open_tests, tokens, without_tests
from kbkit.executor.completion.open_path import OpenPath
from kbkit.stores.sparql_text import Token

COUNT = "count("
"""The attribute of a context after a count or another function."""

TypeOf: TypeAlias = Callable[[str], str | None]


@dataclass
class AnswersContext:
    """The context of the cursor.

    ``kind`` is one of set, after_set, after_step, edge, name, key, saved, attribute, after_attribute, value,
    after_value, total_attribute, after_total, argument, after_argument, date, after_date, after_best, after_group,
    nothing. ``typed`` is
    the current word, from ``start``; ``quote`` its open quotation mark. ``head`` is the position of the type before a
    name or key.
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
    relation: str = ""
    """The relation in whose braces the cursor is, on the attributes of its edges."""
    edges: str = ""
    """The relation of the last step to the nodes of a value, whose columns may be attributes of its edges."""
    is_part: bool = False
    """Whether the cursor is after the first set of a fraction."""
    operator: str = ""
    """The operator before a value, unless that is one of a list."""


class CursorReader:
    """Reads a text up to the cursor, which is at its end."""

    def __init__(self, text: str, type_of: TypeOf, type_of_set: TypeOf, is_relation: Callable[[str], bool]) -> None:
        self.text, self.type_of, self.type_of_set, self.is_relation = text, type_of, type_of_set, is_relation
        self.paths: list[OpenPath] = [OpenPath()]
        self.operands: list[str | None] = [None]
        self.conditions: list[str] | None = None
        self.state = ""
        self.head = 0
        self.opened: list[tuple[list[str] | None, str, int]] = []
        """For each open count or value, the conditions and state to restore, and the number of paths around it."""
        self.before = ""
        """The word before, which may be the name of a function."""
        self.functions: list[int] = []
        """The number of paths with each open path of a measure."""
        self.per: list[int] = []
        """The number of paths around each open path of a superlative's groups."""
        self.part = 0
        """The number of paths inside an open fraction, up to its ``of``."""
        self.around_dates = ""
        """The state to restore after a function of dates."""
        self.total: list[str | None] = []
        """The type of the nodes whose columns, groups or order are written, for each open function."""
        self.edges = ""
        """The relation of the last step to these nodes."""

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
                is_value = self.conditions is not None and len(self.conditions) == 2
                other = "value" if is_value and self.state != "value" else "nothing"
                return self.here("name" if is_name else other, _unescaped(typed), start, quote)
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
        is_single = self.conditions is not None and len(self.conditions) == 2 and self.state != "list"
        operator = self.conditions[1] if self.conditions is not None and is_single else ""
        at = (path, quote, self.head, node_type, attribute, len(self.paths))
        is_part = len(self.paths) == self.part
        edges = self.edges if kind == "total_attribute" or self.around_dates == "after_total" else ""
        return AnswersContext(kind, typed, start, *at, edges=edges, is_part=is_part, operator=operator)

    def edge(self, start: int) -> AnswersContext:
        """Return the context inside open brackets."""
        inside = self.text[start:]
        if tests := open_tests(inside):
            return self.edge_test(tests[0], start + tests[1])
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

    def edge_test(self, relation: str, start: int) -> AnswersContext:
        """Return the context inside the braces of a relation; they are read as those of a set would be."""
        context = CursorReader("*{" + self.text[start:], self.type_of, self.type_of_set, self.is_relation).context()
        context.start += start - 2
        context.relation, _ = _edge_name(relation)
        return context

    def expected(self) -> str:
        """Return the kind of context of a word at this point."""
        path = self.paths[-1]
        if self.conditions is not None:
            return _IN_STATE.get(self.state, _IN_CONDITIONS[min(len(self.conditions), 3)])
        if self.state in ("total", "after_total"):
            return "total_attribute" if self.state == "total" else "after_total"
        if self.state in ("argument", "after_argument", "date", "after_date"):
            return self.state
        if path.last == "set":
            after = "after_group" if self.is_in_group() else "after_set"
            return {":": "name", "all": "name", "@": "saved"}.get(path.lookup, after)
        return "after_step" if path.last == "step" else "set"

    def is_in_group(self) -> bool:
        """Return whether the current path is one of a superlative's groups."""
        return bool(self.per) and len(self.paths) == self.per[-1] + 1

    def is_in_function(self) -> bool:
        """Return whether the current path is one of a measure."""
        return bool(self.functions) and len(self.paths) == self.functions[-1]

    # -- the tokens before it -----------------------------------------------------------------------------------------

    def read(self, token: Token) -> None:
        """Read one complete token."""
        kind, text, start = token
        if kind in ("space", "comment"):
            return
        if self.of_dates(text):
            self.before = text
            return
        if self.conditions is not None:
            self.condition(kind, text)
            self.before = text
            return
        before, self.before = self.before, text
        in_columns = self.state in ("total", "after_total")
        if (in_columns and self.column(kind, text, before)) or self.argument(text) or self.group_end(kind, text):
            return
        path = self.paths[-1]
        if text == "of" and len(self.paths) == self.part and path.last == "set":
            self.part, self.paths[-1], self.operands[-1] = 0, OpenPath(), None
            return
        if text == "(" and before in ("fraction", "percentage"):
            self.part = len(self.paths) + 1
        if text in ("by", "having") and path.last == "set" and path.lookup not in (":", "all", "@"):
            self.columns(path)
            return
        if kind in ("word", "quoted"):
            self.word(path, text[1:-1].replace("``", "`") if kind == "quoted" else text, start)
        elif kind == "step":
            self.step(text[1:-1])
        elif kind == "arrow":
            self.arrow(path, "->" if text in ("->", "→") else "<-")
        elif kind in ("string", "slot", "key"):
            path.lookup = "all" if path.lookup == "all" else "done"
        elif kind == "symbol":
            self.punctuation(path, text, start)

    def of_dates(self, text: str) -> bool:
        """Read a token of a function of dates, from its parenthesis to the end; return whether it is one."""
        is_measure = self.conditions is not None or self.state in ("after_total", "after_argument")
        if text == "(" and self.before in DATE_FUNCTIONS and is_measure:
            self.around_dates, self.state = self.state, "date"
        elif self.state not in ("date", "after_date"):
            return False
        elif text == ")":
            self.state = self.around_dates
            if self.conditions is not None and len(self.conditions) == 1 and not self.state:
                self.conditions = [COUNT]
        else:
            self.state = "date" if text == "," else "after_date"
        return True

    def arrow(self, path: OpenPath, arrow: str) -> None:
        """Read an arrow; as the first token of a value, it starts another measure of the same nodes."""
        if path == OpenPath() and self.opened and len(self.paths) == self.opened[-1][2] + 1:
            path.types = self.paths[-2].types[-1:]
            self.functions.append(len(self.paths))
        path.arrows += [arrow] if path.last != "step" else []
        path.last = "arrow"

    def argument(self, text: str) -> bool:
        """Read a token of the attribute of a measure along a path; return whether it is one."""
        if text == ",":
            if not self.is_in_function():
                return False
            self.paths[-1], self.state = OpenPath(self.paths[-1].types[-1:], last="set"), "argument"
            return True
        if self.state not in ("argument", "after_argument") or text == ")":
            return False
        self.state = "after_argument"
        return True

    def group_end(self, kind: str, text: str) -> bool:
        """Read a token after the path by which a superlative groups; return whether it is one."""
        if text in (",", "}") and self.is_in_group():
            self.per.pop()
            self.close()
            self.condition(kind, text)
            return True
        if text == "." and self.paths[-1].last == "set" and (self.total or self.is_in_group()):
            self.state = "total"
            return True
        return False

    def columns(self, path: OpenPath) -> None:
        """Start the columns, groups or order of a value, whose nodes are those of the path before them."""
        if not self.total:
            self.total.append(self.operands[-1] or path.answer)
            self.edges = path.followed[0][0] if len(path.followed) == 1 else ""
        self.paths[-1] = OpenPath([self.total[-1]], last="set")
        self.state = "total"

    def column(self, kind: str, text: str, before: str) -> bool:
        """Read a token of the columns, groups or order of a value; return whether it is one."""
        if kind == "arrow" and self.state == "total":  # the path of a group
            self.paths[-1] = OpenPath([self.total[-1] if self.total else None], last="set", lookup="count")
            self.state = ""
            return False
        if text == "(" and before in FUNCTIONS:
            self.open_count()
        elif text in (",", "by", "having") and not self.is_in_group():
            self.paths[-1], self.state = OpenPath(self.total[-1:], last="set"), "total"
        elif text in (",", "}"):
            return False
        elif kind in ("word", "quoted", "number"):
            self.state = "after_total"
        else:
            return text != ")"
        return True

    def open_count(self) -> None:
        """Read the parenthesis of a measure along a path, from the nodes of the last set."""
        self.opened.append(([COUNT] if self.conditions is not None else None, self.state, len(self.paths)))
        self.paths.append(OpenPath(self.paths[-1].types[-1:], last="set", lookup="count"))
        self.functions.append(len(self.paths))
        self.operands.append(None)
        self.conditions, self.state = None, ""

    def group(self, kind: str, text: str) -> bool:
        """Read a token of what a superlative groups by: ``per``, an attribute, or the first arrow of a path."""
        if self.state not in ("best", "per") or (text != "per" if self.state == "best" else text in (",", "}")):
            return False
        if self.state == "per" and kind == "arrow":
            self.open_group(text)
        else:
            self.state = "per" if self.state == "best" else "value"
        return True

    def open_group(self, arrow: str) -> None:
        """Read the first arrow of a path by which a superlative groups, from the nodes of the last set."""
        self.per.append(len(self.paths))
        self.opened.append((self.conditions, "value", len(self.paths)))
        path = OpenPath(self.paths[-1].types[-1:], last="set")
        path.arrows, path.last = ["->" if arrow in ("->", "→") else "<-"], "arrow"
        self.paths.append(path)
        self.operands.append(None)
        self.conditions, self.state = None, ""

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
        elif symbol == "," and len(self.paths) > 1:  # values(..., attribute)
            self.columns(path)
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
        self.total = []
        if self.is_in_function():
            self.functions.pop()
        if self.opened and len(self.paths) == self.opened[-1][2] + 1:
            self.conditions, self.state, _ = self.opened.pop()
            self.paths.pop()
            self.operands.pop()
            if self.conditions is None and self.paths:  # a count among columns
                self.total, self.state = [self.paths[-1].types[-1] if self.paths[-1].types else None], "after_total"
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
        if self.function(kind, text) or self.group(kind, text):
            return
        is_name = kind in ("word", "quoted")
        is_attribute = is_name and text not in ("in", "contains")  # else max is an attribute that is compared
        if is_attribute and len(self.conditions) == 1 and self.conditions[0] in ("max", "min"):
            self.conditions, self.state = [text.strip("`")], "best"
        elif text == "}":
            self.conditions, self.state = None, ""
            self.paths[-1].lookup = "done"
        elif text == "," and self.state != "list":
            self.conditions, self.state = [], ""
        elif text in ("[", "(") and len(self.conditions) == 2:
            self.state = "list"
        elif text in ("]", ")"):
            self.state = "value"
        elif text == "(" or (not self.conditions and text == "missing"):
            self.state = "missing"
        elif is_name and len(self.conditions) < 2:
            self.conditions.append(text.strip("`"))
            self.state = "value" if self.state == "missing" else self.state
        elif kind == "operator" and len(self.conditions) == 1:
            self.conditions.append(text)
        elif self.state != "list" and len(self.conditions) == 2:
            self.state = "value"

    def function(self, kind: str, text: str) -> bool:
        """Read a token that opens a count, a value or a negation, or the number of a superlative; return whether."""
        assert self.conditions is not None
        if text == "(" and len(self.conditions) == 1 and self.conditions[0] in FUNCTIONS:
            self.open_count()
        elif text == "(" and len(self.conditions) == 2 and self.before in TOTALS:
            self.opened.append((self.conditions, "value", len(self.paths)))
            self.paths.append(OpenPath())
            self.operands.append(None)
            self.conditions, self.state = None, ""
        elif kind == "number" and self.conditions in (["top"], ["bottom"]):
            self.conditions = ["max"]
        elif text == "(" and self.state == "not":
            self.conditions, self.state = [], ""
        elif not self.conditions and text == "not":
            self.state = "not"
        else:
            return False
        return True

    def step(self, inside: str) -> None:
        """Read closed brackets: relations, each with whether it is inverse."""
        inside = without_tests(inside).strip().removeprefix("!")
        edges = [_edge_name(part) for part in re.findall(r"(?:[^|`]|`(?:[^`]|``)*`)+", inside)]
        path = self.paths[-1]
        path.step, path.last = tuple(edges), "step"


_IN_STATE = {"value": "after_value", "best": "after_best", "per": "total_attribute"}
_IN_STATE |= {"date": "date", "after_date": "after_date"}
_IN_CONDITIONS = ("attribute", "after_attribute", "value", "value")


def _edge_name(text: str) -> tuple[str, bool]:
    """Return the relation in the text of an alternative of a step, and whether it is inverse."""
    bare = text.strip()
    name = bare.removeprefix("^").strip().rstrip("*+").strip()
    is_quoted = name[:1] == "`" and name[-1:] == "`" and len(name) > 1
    return name[1:-1].replace("``", "`") if is_quoted else name, bare.startswith("^")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.S)
