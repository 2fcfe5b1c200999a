"""Where in an answer expression the cursor is, read from what stands before it.

The text is read sign by sign, as far as it goes: what is open (a path, brackets, conditions) is kept, what is closed is
forgotten but for the type of its nodes. Whatever makes no sense is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

TypeOf: TypeAlias = Callable[[str], str | None]

_SIGN = re.compile(
    r"""(?P<comment>(?<!\S)\#[^\n]*)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<open_string>["'](?:[^\\]|\\.|\\)*\Z)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<open_quoted>`(?:[^`]|``)*\Z)
    | (?P<key>(?<!\s)\#(?:"(?:[^"\\]|\\.)*"|(?:(?!->|<-)[^\s(){}\[\]<>&|,"'`\#→←@])+))
    | (?P<open_key>(?<!\s)\#(?:"(?:[^"\\]|\\.)*)?\Z)
    | (?P<arrow>->|<-|→|←)
    | (?P<slot><[^<>\s=-][^<>\n]*>)
    | (?P<operator>!=|<=|>=|[=<>])
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w))
    | (?P<word>\w+(?:/\w+)*/?)
    | (?P<space>\s+)
    | (?P<sign>.)""",
    re.X | re.S,
)
_EDGES = re.compile(r"(?:[^\[\]`]|`(?:[^`]|``)*`)*")


@dataclass
class Path:
    """One path as far as it is read: the types of its sets (None: unknown or any), and what stands last.

    ``last`` is ``""`` (nothing yet), ``set``, ``arrow`` or ``step``; ``step`` holds the relations of a step that waits
    for its other end, ``None`` where there is none.
    """

    types: list[str | None] = field(default_factory=list)
    arrows: list[str] = field(default_factory=list)
    last: str = ""
    step: tuple[tuple[str, bool], ...] | None = None
    pick: str = ""
    """After a type: ``:`` or ``all`` while a name is awaited, ``@`` for that of a set, ``done`` when there was one."""

    @property
    def answer(self) -> str | None:
        """The type where the arrows meet."""
        if not self.types:
            return None
        sets = [arrow for arrow, _ in zip(self.arrows, self.types[1:], strict=False)]
        return self.types[sets.index("<-")] if "<-" in sets else self.types[-1]

    def add(self, node_type: str | None) -> None:
        """A set follows."""
        self.types.append(node_type)
        self.last, self.step, self.pick = "set", None, ""


@dataclass
class Place:
    """What is open at the cursor.

    ``kind`` is one of set, after_set, after_step, edge, name, key, saved, attribute, after_attribute, value,
    after_value, nothing. ``typed`` is the cut word there, which starts at ``start``; ``quote`` its open quotation mark.
    ``head`` is where the type before a name or key starts.
    """

    kind: str
    typed: str
    start: int
    path: Path
    quote: str = ""
    head: int = 0
    type: str | None = None
    attribute: str = ""
    depth: int = 0


class Reader:
    """Reads a text up to its end, which is where the cursor is."""

    def __init__(self, text: str, type_of: TypeOf, type_of_set: TypeOf, is_relation: Callable[[str], bool]) -> None:
        self.text, self.type_of, self.type_of_set, self.is_relation = text, type_of, type_of_set, is_relation
        self.paths: list[Path] = [Path()]
        self.wholes: list[str | None] = [None]
        self.conditions: list[str] | None = None
        self.head = 0
        self.sign = ""

    def place(self) -> Place:
        """Where the end of the text is."""
        at, end = 0, len(self.text)
        while at < end:
            if self.conditions is None and self.text[at] == "[":
                stop = _EDGES.match(self.text, at + 1)
                closing = stop.end() if stop else end
                if closing >= end or self.text[closing] != "]":
                    return self.edge(at + 1)
                self.step(self.text[at + 1 : closing])
                at = closing + 1
                continue
            found = _SIGN.match(self.text, at)
            if found is None:
                break
            kind = found.lastgroup or ""
            if found.end() == end and (place := self.cut(kind, found[0], at)):
                return place
            self.read(kind, found[0], at)
            at = found.end()
        return self.waiting(end)

    # -- what is cut by the cursor --------------------------------------------------------------------------------

    def cut(self, kind: str, sign: str, at: int) -> Place | None:
        """The place, where the last sign may go on."""
        path = self.paths[-1]
        closed = kind in ("string", "key") and len(sign) > 1 and sign[-1] in "\"'"
        in_slot = kind == "word" and self.text[at - 1 : at] == "<"
        if kind == "comment" or closed or in_slot:
            return self.here("nothing", "", at)
        if kind in ("open_string", "open_quoted", "word"):
            quote = sign[0] if sign[0] in "\"'`" else ""
            typed = sign[len(quote) :].replace("``", "`") if quote == "`" else sign[len(quote) :]
            if kind == "open_string":
                named = self.conditions is None and path.pick in (":", "all")
                return self.here("name" if named else "nothing", _unescaped(typed), at, quote)
            return self.here(self.expected(), typed, at, quote)
        if kind in ("key", "open_key") and path.last == "set" and self.conditions is None:
            typed = sign[1:]
            quote = typed[:1] if typed[:1] == '"' else ""
            return self.here("key", typed[len(quote) :], at, quote)
        return None

    def here(self, kind: str, typed: str, at: int, quote: str = "") -> Place:
        """A place in what is open now."""
        path = self.paths[-1]
        known = path.types[-1] if path.types else None
        attribute = self.conditions[0] if self.conditions else ""
        return Place(kind, typed, at, path, quote, self.head, known, attribute, len(self.paths))

    def edge(self, start: int) -> Place:
        """The place in open brackets."""
        inside = self.text[start:]
        begin = max((inside.rfind(sign) for sign in "|!^"), default=-1) + 1
        ticks = inside.count("`") % 2
        if ticks:
            begin = inside.rfind("`")
        while begin < len(inside) and inside[begin].isspace():
            begin += 1
        typed = inside[begin:]
        place = self.here("edge", typed[ticks:].replace("``", "`"), start + begin, "`" * ticks)
        place.attribute = inside[:begin].rstrip()[-1:]
        return place

    def expected(self) -> str:
        """What a word is, here."""
        path = self.paths[-1]
        if self.conditions is not None:
            return _IN_CONDITIONS[min(len(self.conditions), 3)] if self.sign != "value" else "after_value"
        if path.last == "set":
            if path.pick in (":", "all"):
                return "name"
            return "saved" if path.pick == "@" else "after_set"
        return "after_step" if path.last == "step" else "set"

    def waiting(self, at: int) -> Place:
        """The place after the last sign, where no word is begun."""
        return self.here(self.expected(), "", at)

    # -- what stands before it ------------------------------------------------------------------------------------

    def read(self, kind: str, sign: str, at: int) -> None:
        """Take one whole sign in."""
        if kind in ("space", "comment"):
            return
        if self.conditions is not None:
            self.condition(kind, sign)
            return
        path = self.paths[-1]
        if kind in ("word", "quoted"):
            self.word(path, sign[1:-1].replace("``", "`") if kind == "quoted" else sign, at)
        elif kind == "arrow":
            path.arrows += ["->" if sign in ("->", "→") else "<-"] if path.last != "step" else []
            path.last = "arrow"
        elif kind in ("string", "slot", "key"):
            path.pick = "all" if path.pick == "all" else "done"
        elif kind == "sign":
            self.punctuation(path, sign, at)

    def word(self, path: Path, name: str, at: int) -> None:
        """A name that stands for a set, or for a relation without brackets."""
        if path.last == "set" and path.pick == "@":
            path.types[-1], path.pick = self.type_of_set(name), "done"
        elif path.last == "arrow" and self.type_of(name) is None and self.is_relation(name):
            path.step, path.last = ((name, False),), "step"
        elif path.last != "set":
            path.add(self.type_of(name))
            self.head = at

    def punctuation(self, path: Path, sign: str, at: int) -> None:
        """A single sign outside brackets and braces."""
        if sign == "(":
            if path.last == "set" and path.pick == ":":  # all("...")
                path.pick = "all"
                return
            self.paths.append(Path())
            self.wholes.append(None)
        elif sign == ")" and path.pick == "all":
            path.pick = "done"
        elif sign == ")":
            self.close()
        elif sign in "&|-":
            self.wholes[-1] = self.wholes[-1] or path.answer
            self.paths[-1] = Path()
        elif sign == ":":
            path.pick = ":"
        elif sign == "@":
            path.add(None)
            path.pick = "@"
        elif sign == "*":
            path.add(None)
            self.head = at
        elif sign == "{":
            self.conditions, self.sign = [], ""

    def close(self) -> None:
        """A closing parenthesis: what stood in it is one set."""
        if len(self.paths) > 1:
            whole = self.wholes.pop() or self.paths[-1].answer
            self.paths.pop()
            self.paths[-1].add(whole)
            self.paths[-1].pick = "done"

    def condition(self, kind: str, sign: str) -> None:
        """One sign of what stands in braces: attribute, operator, value, comma."""
        assert self.conditions is not None
        if sign == "}":
            self.conditions = None
            self.paths[-1].pick = "done"
        elif sign == "," and self.sign != "list":
            self.conditions, self.sign = [], ""
        elif sign in ("[", "(") and len(self.conditions) == 2:
            self.sign = "list"
        elif sign in ("]", ")"):
            self.sign = "value"
        elif sign == "(" or (not self.conditions and sign in ("not", "missing")):
            self.sign = "missing"
        elif kind in ("word", "quoted") and len(self.conditions) < 2:
            self.conditions.append(sign.strip("`"))
            self.sign = "value" if self.sign == "missing" else self.sign
        elif kind == "operator" and len(self.conditions) == 1:
            self.conditions.append(sign)
        elif self.sign != "list" and len(self.conditions) == 2:
            self.sign = "value"

    def step(self, inside: str) -> None:
        """Closed brackets: the relations in them, each with whether it is turned round."""
        edges = []
        for part in re.findall(r"(?:[^|`]|`(?:[^`]|``)*`)+", inside.strip().removeprefix("!")):
            bare = part.strip()
            name = bare.removeprefix("^").strip().rstrip("*+").strip()
            name = name[1:-1].replace("``", "`") if name[:1] == "`" and name[-1:] == "`" and len(name) > 1 else name
            edges.append((name, bare.startswith("^")))
        path = self.paths[-1]
        path.step, path.last = tuple(edges), "step"


_IN_CONDITIONS = ("attribute", "after_attribute", "value", "value")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.S)
