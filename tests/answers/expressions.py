"""Random expressions for a graph: mostly such as its schema allows, and some that it refuses."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Mapping
from typing import Any

from tests.answers import oracle
from tests.answers.graphs import NAMES, VALUES, tick

PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


_NAME = r"`(?:[^`]|``)+`"
_LAST_ATTRIBUTE = re.compile(rf"(?:^|\.)({_NAME}|(?:year|month|days)\({_NAME}(?:, {_NAME})?\))$")
_MONTHS = ["2024-02", "2023-12", "0800-12", "1990-01"]


class Writer:
    """Writes expressions about ``graph`` with the choices of ``rng``; ``slots`` are the values of those it used.

    ``measures`` allows counts and superlatives.
    """

    def __init__(self, rng: random.Random, graph: oracle.Graph, wrong: float = 0.0, *, measures: bool = True) -> None:
        self.rng, self.graph, self.wrong, self.measures = rng, graph, wrong, measures
        self.slots: dict[str, Any] = {}
        self.reached: str | None = None
        """The type at the end of the last path."""
        self.followed: dict[str, str] = {}
        """The attributes of the edges of its last step."""
        self.types = sorted(graph.types)
        self.relations = sorted(graph.relations)
        self.oracle = oracle.Oracle(graph, {})

    def one_in(self, n: int) -> bool:
        return self.rng.randint(1, n) == 1

    def type(self) -> str | None:
        return None if self.one_in(10) else self.rng.choice(self.types)

    def expression(self, depth: int = 4) -> str:
        """An expression; keeps the slots that it has, for a part may have been thrown away."""
        text = self.of(self.type(), depth)
        self.slots = {name: value for name, value in self.slots.items() if f"<{name}>" in text}
        return text

    def of(self, wanted: str | None, depth: int) -> str:
        """An expression whose answers have the type ``wanted``, to be read alone."""
        if self.wrong and self.rng.random() < self.wrong:
            wanted = self.type()
        choice = self.rng.randint(0, 9) if depth > 0 else 0
        if choice <= 1:
            return self.source(wanted)
        if choice <= 6:
            return self.path(wanted, depth)
        if choice == 7:
            return self.where(wanted, depth)
        sign = self.rng.choice([" - ", " & ", " | ", "-", "&"])
        parts = [self.inside(wanted, depth - 1) for _ in range(2 if self.one_in(2) else 3)]
        if self.one_in(8):
            parts[-1] = self.inside(None, depth - 1)
        return sign.join(parts)

    def inside(self, wanted: str | None, depth: int) -> str:
        """An expression of that type that may stand as a part of another."""
        text = self.of(wanted, depth)
        return text if self.is_source(text) else f"({text})"

    def is_source(self, text: str) -> bool:
        return text == getattr(self, "last", None)

    def source(self, wanted: str | None) -> str:
        written = "*" if wanted is None else self.named(wanted)
        members = [self.graph.nodes[ref] for ref in sorted(self.oracle.all(wanted))]
        choice = self.rng.randint(0, 9)
        if choice >= 4 and members:
            written += self.pick(self.rng.choice(members), choice)
        elif choice == 3:
            fitting = [name for name, typed in self.graph.saved.items() if wanted in (None, typed.type)]
            written = "@" + tick(self.rng.choice(fitting)) if fitting else written
        self.last = written
        return written

    def named(self, name: str) -> str:
        if self.one_in(8) and name.swapcase().casefold() == name.casefold():
            name = name.swapcase()
        return name if set(name) <= PLAIN else tick(name)

    def pick(self, node: oracle.Node, choice: int) -> str:
        """``#key`` or a name: as written, in other case, an alias, or one that is nobody's."""
        if choice == 4:
            slot = f"slot {len(self.slots)}/x"
            self.slots[slot] = "#" + node.key
            return f":<{slot}>"
        if choice <= 6:
            return "#" + (node.key if set(node.key) <= PLAIN else quoted(node.key))
        name = self.rng.choice([node.name, node.name, node.name.swapcase(), *node.aliases])
        if self.wrong and self.one_in(10):
            name = self.rng.choice(NAMES)
        if choice == 7 and self.one_in(3) and not name.startswith("#"):
            slot = f"slot {len(self.slots)}"
            self.slots[slot] = name
            return f":<{slot}>"
        return f":{quoted(name)}" if choice == 8 and self.one_in(3) else f":all({quoted(name)})"

    def where(self, wanted: str | None, depth: int) -> str:
        source = self.source(wanted) if self.one_in(2) else self.inside(wanted, depth - 1)
        written = self.filtered(source if self.is_source(source) else f"({source})", wanted)
        self.last = written
        return written

    def filtered(self, source: str, wanted: str | None) -> str:
        tests = ", ".join(self.test(wanted) for _ in range(self.rng.choice([1, 1, 2])))
        return f"{source}{{{tests}}}"

    def test(self, wanted: str | None) -> str:
        if self.measures and self.one_in(3):
            return self.measured(wanted)
        members = [self.graph.nodes[ref] for ref in sorted(self.oracle.all(wanted))]
        kinds = {"name": "VARCHAR", "key": "VARCHAR"}
        if wanted is not None:
            kinds |= {
                a: k for a, k in self.graph.kinds.items() if any(n.attributes.get(a) is not None for n in members)
            }
        attribute = self.rng.choice(list(kinds))
        if self.one_in(6):
            return self.pair(attribute, kinds)
        present = [v for n in members for v in oracle.present(n, attribute)]
        return self.condition(attribute, kinds[attribute].removesuffix("[]"), present)

    def pair(self, attribute: str, kinds: Mapping[str, str]) -> str:
        """A comparison with another attribute, mostly one of its kind."""
        categories = [{"DOUBLE", "BIGINT"}, {"DATE", "TIMESTAMP"}, {"VARCHAR"}, {"BOOLEAN"}]
        [category] = [c for c in categories if kinds[attribute].removesuffix("[]") in c]
        alike = [a for a in kinds if kinds[a].removesuffix("[]") in category]
        other = self.rng.choice(list(kinds) if self.wrong else alike)
        return f"{tick(attribute)} {self.rng.choice(['=', '!=', '<', '<=', '>', '>='])} {tick(other)}"

    def condition(self, attribute: str, plain: str, present: list[Any]) -> str:
        op = self.rng.choice(
            ["=", "!=", "<", "<=", ">", ">=", "in", "not in", "missing", "not missing", "contains", "not contains"]
        )
        name = tick(attribute)
        if op.endswith("missing"):
            return f"{op}({name})"
        if op.endswith("contains"):
            word = self.rng.choice(["", "a", "O", "I", ".", "\\", "x y", "Ü", "К", "%", "🤧", "'", "\n"])
            return f"{name} {op} {quoted(word)}" if plain == "VARCHAR" or self.wrong else f"not missing({name})"
        choices = present + VALUES[plain]
        values = [self.constant(self.rng.choice(choices)) for _ in range(self.rng.randint(1, 3))]
        return f"{name} in [{', '.join(values)}]" if op.endswith("in") else f"{name} {op} {values[0]}"

    def measured(self, wanted: str | None) -> str:
        """A superlative, a comparison of a measure, or a negation."""
        choice = self.rng.randint(0, 6)
        if choice == 0:
            return f"not ({', '.join(self.test(wanted) for _ in range(self.rng.choice([1, 1, 2])))})"
        if choice == 1:
            return self.compared(wanted)
        function = self.path_function(wanted)
        if (made := self.of_dates(self.kinds(wanted))) and self.one_in(3):
            function = made
        sign = self.rng.choice(["=", "!=", "<", "<=", ">", ">="])
        if choice == 2 and function is not None:
            mine = self.path_function(wanted) if self.one_in(2) else None
            alike = [a for a in self.attributes(wanted) if self.plain_kind(a) == function[1]]
            if alike and self.one_in(3):
                return f"{function[0]} {sign} {tick(self.rng.choice(alike))}"
            left = mine[0] if mine else tick(self.rng.choice(alike or self.attributes(wanted)))
            return f"{left} {sign} {function[0]}"
        if function is None or self.one_in(2):
            attribute = self.rng.choice(self.attributes(wanted))
            measure = tick(attribute) if function is None or self.one_in(3) else function[0]
            per = f" per {self.group(wanted)}" if self.one_in(3) else ""
            if self.one_in(2):
                return f"{self.rng.choice(['top', 'bottom'])} {self.constant(self.rng.randint(1, 4))} {measure}{per}"
            return f"{self.rng.choice(['max', 'min'])} {measure}{per}"
        text, kind = function
        if "month(" in text and kind == "VARCHAR":
            return f"{text} {sign} {self.constant(self.rng.choice(_MONTHS))}"
        is_number = kind in ("BIGINT", "DOUBLE")
        return f"{text} {sign} {self.constant(self.rng.randint(0, 4) if is_number else self.rng.choice(VALUES[kind]))}"

    def compared(self, wanted: str | None) -> str:
        """A comparison with a value of nodes of any type, mostly of the same attribute."""
        other = wanted if self.one_in(2) else self.type()
        left = self.rng.choice(self.attributes(wanted))
        same = left if left in self.attributes(other) else self.rng.choice(self.attributes(other))
        kind = self.graph.kinds.get(left, "VARCHAR")
        ops = ["values", "min", "max", *(["count", "sum"] if kind.startswith("BIGINT") else [])]
        op = self.rng.choice(ops)
        counts = self.count(wanted) if self.one_in(3) else None
        if counts is not None:
            op = "count"
        source = self.of(other, 1)
        column = "" if op == "count" and self.one_in(2) else f", {tick(same)}"
        sign = self.rng.choice(["=", "!=", "<", "<=", ">", ">="])
        return f"{counts or tick(left)} {sign} {op}({source}{column})"

    def total(self, wanted: str | None, depth: int = 2) -> str:
        """A value of nodes of a type: a scalar, a list or a table."""
        source = self.of(wanted, depth)
        op = self.rng.choice(["exists", "count", "count", "values", "values", "sum", "avg", "min", "max"])
        columns = [self.measure(wanted) for _ in range(self.rng.choice([1, 1, 2, 3]) if op == "values" else 1)]
        if op == "exists" or (op == "count" and self.one_in(2)):
            columns = []
        if op in ("min", "max") and self.one_in(2):
            op = self.rng.choice(["min, max", "max, min", "max, sum, avg", "avg, max"])
            columns += [self.measure(wanted)] * (op == "avg, max" and self.one_in(2))
        text = "".join(f", {column}" for column in columns)
        if op == "values" and self.one_in(4):
            columns, text = [], ""
        if self.one_in(8):
            op, columns, text = self.rng.choice(["fraction", "percentage"]), [], ""
            source = f"{self.of(wanted if not self.one_in(6) else None, 1)} of {source}"
        if (op not in ("values", "exists") and self.one_in(2)) or (op == "values" and not columns):
            groups = [self.group(wanted) for _ in range(self.rng.choice([1, 1, 2]))]
            keys = op.split(", ") * (op != "values")
            numbers = [key for key in keys if key in ("count", "sum", "avg")]
            for group in groups:
                attribute = _LAST_ATTRIBUTE.search(group)
                keys += ["node", "name"] if attribute is None else [attribute[1]]
            return f"{op}({source}{text} by {', '.join(groups)}{self.having(numbers)}{self.order(keys)})"
        order = self.order([self.measure(wanted) for _ in range(2)]) if op == "values" else ""
        return f"{op}({source}{text}{order})"

    def order(self, keys: list[str]) -> str:
        if self.one_in(2):
            return ""
        chosen = self.rng.sample(keys, self.rng.randint(1, min(2, len(keys))))
        text = ", ".join(f"{key}{self.rng.choice(['', ' asc', ' desc'])}" for key in chosen)
        return f" order by {text}{f' limit {self.rng.randint(1, 4)}' if self.one_in(2) else ''}"

    def measure(self, wanted: str | None) -> str:
        function = self.path_function(wanted) if self.one_in(3) else None
        return function[0] if function else self.own(self.kinds(wanted))[0]

    def own(self, kinds: Mapping[str, str]) -> tuple[str, str]:
        """An attribute or, at times, a function of dates, and its DuckDB type."""
        function = self.of_dates(kinds)
        if function is not None and self.one_in(3):
            return function
        attribute = self.rng.choice(list(kinds))
        return tick(attribute), kinds[attribute]

    def of_dates(self, kinds: Mapping[str, str]) -> tuple[str, str] | None:
        """A function of dates among attributes, and its DuckDB type; None without dates."""
        fitting = [a for a, kind in kinds.items() if kind in ("DATE", "TIMESTAMP") or (self.wrong and self.one_in(9))]
        if not fitting:
            return None
        op = self.rng.choice(["year", "month", "days"])
        names = [tick(self.rng.choice(fitting)) for _ in range(1 + (op == "days"))]
        return f"{op}({', '.join(names)})", "VARCHAR" if op == "month" else "BIGINT"

    def kinds(self, wanted: str | None) -> dict[str, str]:
        """The DuckDB types of the attributes of a type."""
        return {name: self.graph.kinds.get(name, "VARCHAR") for name in self.attributes(wanted)}

    def path_function(self, wanted: str | None) -> tuple[str, str] | None:
        """A function of what a path reaches from nodes of a type, and its DuckDB type; see :meth:`count`."""
        count = self.count(wanted)
        if count is None or self.one_in(3):
            return count and (count, "BIGINT")
        edges = {a: k for a, k in self.followed.items() if a not in self.attributes(self.reached)}
        if edges and self.one_in(2):
            own, kind = self.own(edges)
            op = self.rng.choice(["count", "min", "max", *(["sum"] * (kind == "BIGINT"))])
            text = f"{op}({count.removeprefix('count(').removesuffix(')')}, {own})"
            return text, "BIGINT" if op == "count" else kind.removesuffix("[]")
        if (made := self.of_dates(self.kinds(self.reached))) and self.one_in(3):
            op = self.rng.choice(["count", "min", "max", *(["sum", "avg"] * (made[1] == "BIGINT"))])
            text = f"{op}({count.removeprefix('count(').removesuffix(')')}, {made[0]})"
            return text, {"count": "BIGINT", "avg": "DOUBLE"}.get(op, made[1])
        attribute = self.rng.choice(self.attributes(self.reached))
        kind = self.plain_kind(attribute)
        values = [v for n in self.graph.nodes.values() for v in oracle.present(n, attribute)]
        is_whole = self.graph.kinds.get(attribute) == "BIGINT"
        is_exact = is_whole and all(abs(value) < 2**50 for value in values)
        op = self.rng.choice(["count", "min", "max", *(["sum"] * is_whole), *(["avg"] * is_exact)])
        text = f"{op}({count.removeprefix('count(').removesuffix(')')}, {tick(attribute)})"
        return text, {"count": "BIGINT", "avg": "DOUBLE"}.get(op, kind)

    def plain_kind(self, attribute: str) -> str:
        """The DuckDB type of an attribute, or of the elements of a list."""
        return self.graph.kinds.get(attribute, "VARCHAR").removesuffix("[]")

    def having(self, numbers: list[str]) -> str:
        if not numbers or self.one_in(2):
            return ""
        op = self.rng.choice(["=", "!=", "<", "<=", ">", ">="])
        return f" having {self.rng.choice(numbers)} {op} {self.rng.choice([0, 1, 2, 1.5])}"

    def group(self, wanted: str | None) -> str:
        count = self.count(wanted) if self.one_in(2) else None
        if count is None:
            return self.own(self.kinds(wanted))[0]
        attribute = f".{self.own(self.kinds(self.reached))[0]}" if self.one_in(2) else ""
        path = count.removeprefix("count(").removesuffix(")")
        return f"{path}{attribute}"

    def attributes(self, wanted: str | None) -> list[str]:
        members = [self.graph.nodes[ref] for ref in sorted(self.oracle.all(wanted))]
        own = [a for a in self.graph.kinds if wanted and any(n.attributes.get(a) is not None for n in members)]
        return [*own, "name", "key"]

    def count(self, wanted: str | None) -> str | None:
        """A count of what one step or several reach from nodes of a type; None where no relation leads from them."""
        followed: dict[str, str] = {}
        text, here, arrow = "", wanted, self.rng.choice(["->", "<-"])
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            options = [
                (r, t)
                for r in self.relations
                for t in [*self.types, None]
                if (self.oracle.direction(r, here, t) if arrow == "->" else self.oracle.direction(r, t, here))
            ]
            if not options:
                break
            relation, there = self.rng.choice(options)
            ends = (here, there) if arrow == "->" else (there, here)
            edge = self.edge(relation, *ends)
            text += f" {arrow} [{edge}] {arrow} {self.end(there, 1)}"
            followed = {} if edge.endswith(("*", "+")) else dict(self.graph.edge_kinds.get(relation, {}))
            here = there
        self.reached, self.followed = here, followed
        return f"count({text})" if text else None

    def constant(self, value: Any) -> str:
        if value != value:  # NaN is nothing to compare with
            value = 0.5
        if isinstance(value, dt.datetime) and self.one_in(3):
            value = value.date()
        if self.one_in(6):
            slot = f"value {len(self.slots)}"
            self.slots[slot] = value if isinstance(value, (str, int, float)) else str(value)
            return f"<{slot}>"
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, (int, float)) else quoted(str(value))

    # -- paths --------------------------------------------------------------------------------------------------------

    def path(self, wanted: str | None, depth: int) -> str:
        left = self.arm(wanted, depth)
        end = self.end(wanted, depth)
        if self.one_in(4):
            right = self.arm(wanted, depth)[::-1]
            return "".join(
                [*left, end, *(part.replace("->", "<-") if part.startswith(" ") else part for part in right)]
            )
        return "".join([*left, end])

    def end(self, wanted: str | None, depth: int) -> str:
        """The element where a path ends: most often the bare type."""
        if self.rng.randint(0, 9) < 7:
            return "*" if wanted is None else self.named(wanted)
        return self.inside(wanted, depth - 1) if self.one_in(2) else self.where(wanted, 0)

    def arm(self, wanted: str | None, depth: int) -> list[str]:
        """Elements and arrows that lead to nodes of a type, without those."""
        start, step = self.step(wanted)
        before = [] if depth <= 1 or self.one_in(2) else self.arm(start, depth - 1)
        element = self.end(start, depth - 2) if before else self.inside(start, depth - 1)
        return [*before, element, *([" -> ", step] if step else []), " -> "]

    def step(self, wanted: str | None) -> tuple[str | None, str]:
        """A type and a step that leads from it to the type ``wanted``."""
        options = [(s, r) for s in [*self.types, None] for r in self.relations if self.oracle.direction(r, s, wanted)]
        if not options or (self.wrong and self.rng.random() < self.wrong):
            return self.type(), f"[{self.edge(self.rng.choice(self.relations), None, wanted)}]"
        start, relation = self.rng.choice(options)
        fitting = [r for s, r in options if s == start]
        if len(fitting) == 1 and self.one_in(2):
            return start, ""
        edges = [self.edge(relation, start, wanted)]
        if self.one_in(4):
            edges.append(self.edge(self.rng.choice(fitting), start, wanted))
        return start, f"[{'!' if self.one_in(5) else ''}{'|'.join(edges)}]"

    def edge(self, relation: str, start: str | None, wanted: str | None) -> str:
        inverse = self.one_in(3) and (bool(self.wrong) or self.oracle.fits(relation, wanted, start))
        repeats = any(h == t and r == relation for h, r, t in self.graph.signatures)
        closure = self.rng.choice(["*", "+"]) if (repeats or self.wrong) and self.one_in(3) else ""
        plain = all(c in PLAIN or c in " '/" for c in relation)
        known = self.graph.edge_kinds.get(relation, {})
        tests = [self.edge_test(relation, known) for _ in range(self.rng.choice([1, 1, 2]))] if known else []
        if (closure and not self.wrong) or not self.one_in(2):
            tests = []
        braces = f"{{{', '.join(tests)}}}" if tests else ""
        return f"{'^' * inverse}{relation if plain else tick(relation)}{closure}{braces}"

    def edge_test(self, relation: str, known: Mapping[str, str]) -> str:
        rows = [
            row for (_, r, _), several in sorted(self.graph.rows.items(), key=str) if r == relation for row in several
        ]
        attribute = self.rng.choice(list(known))
        if self.one_in(5):
            return self.pair(attribute, known)
        present = [v for row in rows for v in oracle.values(row.get(attribute))]
        return self.condition(attribute, known[attribute].removesuffix("[]"), present)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
