"""Random SPARQL queries whose results do not depend on chance: patterns, groups, paths, order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.sparql_expressions import COMPARISONS, Expressions

_SIMPLE = ("filter", "bind", "values")
"""Parts of a group without patterns."""


@dataclass
class Queries(Expressions):
    """Draws queries; ``depth`` limits how deep patterns nest."""

    depth: int = 2
    _names: dict[str, str] = field(default_factory=dict, init=False)
    """The variable of each term of the facts that a pattern was drawn from."""

    def query(self) -> str:
        """Return a query."""
        rng = self.rng
        self._fresh = self._triples = 0
        self._names.clear()
        draw = rng.random()
        if draw < 0.04:
            return f"{self.words.prefixes}ASK {self._dataset()}{self._group(self.depth)[0]}"
        if draw < 0.09:
            return self.words.prefixes + self._construct()
        select = self._select(self.depth, top=True)[0]
        if rng.random() < 0.05:
            select = select.replace(" WHERE ", f" {self._dataset()}WHERE ", 1)
        if rng.random() < 0.06:
            select += f" {self._values(['?a', '?b', '?c'])[0]}"
        return self.words.prefixes + (select.replace("?a", "$a") if rng.random() < 0.03 else select)

    def _construct(self) -> str:
        if self.words.facts and self.rng.random() < 0.2:
            facts = [self._fact([]) for _ in range(self.rng.randint(1, 2))]
            return f"CONSTRUCT WHERE {{ {' '.join(f'{s} {v} {o} .' for s, v, o in facts)} }}"
        text, known = self._group(self.depth)
        return f"CONSTRUCT {{ {self._template(known)} }} {self._dataset()}WHERE {text}"

    def _dataset(self) -> str:
        """Return FROM clauses, more often than not none."""
        if not self.words.graphs or self.rng.random() < 0.8:
            return ""
        clauses = self.rng.choices(("FROM", "FROM NAMED"), k=self.rng.choice((1, 2, 2)))
        return "".join(f"{clause} {self.rng.choice(self.words.graphs)} " for clause in clauses)

    # -- queries ------------------------------------------------------------------------------------------------------

    def _select(self, depth: int, *, top: bool = False) -> tuple[str, list[str]]:
        """Return a SELECT and its columns."""
        where, known = self._group(depth)
        if known and not top and self.rng.random() < 0.25:
            return self._sliced(where, known)
        if known and self.rng.random() < 0.28:
            return self._grouped(where, known, top=top)
        columns = self._some(known) or known
        shown = list(columns)
        if self.rng.random() < 0.3:
            name = self._new()
            shown.append(f"({self.expression(2, known)} AS {name})")
            columns = [*columns, name]
            if self.rng.random() < 0.3:  # a column that reads another one
                later = self._new()
                shown.append(f"({self.expression(1, [name])} AS {later})")
                columns = [*columns, later]
        star = not shown or (shown == columns and self.rng.random() < 0.25)
        distinct = "DISTINCT " if self.rng.random() < 0.25 else ""
        keys = known if not distinct and self.rng.random() < 0.3 else columns
        columns = known if star else columns
        text = f"SELECT {distinct}{'*' if star else ' '.join(shown)} WHERE {where}"
        return text + (self._order(keys) if top else ""), columns

    def _sliced(self, where: str, known: list[str]) -> tuple[str, list[str]]:
        """Return a subquery with ORDER BY or LIMIT whose rows are the same in any case, and its columns."""
        rng, name, one = self.rng, self._new(), self.rng.choice(known)
        order = f"ORDER BY {rng.choice(('{}', 'DESC({})')).format(one)}"
        ordered = f"SELECT DISTINCT (STR({one}) AS {name}) WHERE {where} ORDER BY {rng.choice(('', 'DESC'))}({name})"
        return rng.choice(
            (
                (f"SELECT {one} WHERE {where} LIMIT {rng.choice((0, 5000))}", [one]),
                (f"SELECT * WHERE {where} {order} LIMIT 5000", known),
                (f"SELECT REDUCED {one} WHERE {where} {order} LIMIT 0", [one]),
                (f"{ordered} LIMIT {rng.choice('123')}", [name]),
                (f"{ordered} OFFSET {rng.choice('12')}", [name]),
                (f"SELECT (COUNT(*) AS {name}) {{ SELECT {one} WHERE {where} LIMIT {rng.choice('123')} }}", [name]),
                (f"SELECT (COUNT(*) AS {name}) {{ SELECT {one} WHERE {where} {order} OFFSET 1 }}", [name]),
            )
        )

    def _grouped(self, where: str, known: list[str], *, top: bool) -> tuple[str, list[str]]:
        rng, keys, shown, columns = self.rng, [], [], []
        for variable in rng.sample(known, rng.choice((0, 1, 1, 2)) if len(known) > 1 else rng.choice((0, 1))):
            draw = rng.random()
            if draw < 0.2:
                name = self._new()
                keys.append(f"({self._textual(1, known)} AS {name})")
                columns.append(name)
            elif draw < 0.27:
                keys.append(f"STR({variable})")
            else:
                keys.append(variable)
                columns.append(variable)
        shown += columns
        grouped = list(columns)
        for _ in range(rng.choice((1, 1, 2, 3))):
            name = self._new()
            value = self._aggregate(known, grouped)
            if rng.random() < 0.1:
                value = f"({value} {rng.choice('+*-')} {self._aggregate(known, grouped)})"
            shown.append(f"({value} AS {name})")
            columns.append(name)
        text = f"SELECT {' '.join(shown)} WHERE {where}"
        if keys:
            text += f" GROUP BY {' '.join(keys)}"
        if rng.random() < 0.25:
            text += f" HAVING ({self._aggregate(known, grouped)} {rng.choice(COMPARISONS)} {rng.choice('012')})"
            if rng.random() < 0.3:
                text += f" ({self._condition(1, grouped or columns[:1], 0)})"
        return text + (self._order(columns) if top else ""), columns

    def _aggregate(self, known: list[str], grouped: list[str]) -> str:
        rng = self.rng
        variable = rng.choice(known) if rng.random() < 0.85 else self.expression(1, known)
        some = "DISTINCT " if rng.random() < 0.3 else ""
        kind = rng.choice(("COUNT", "COUNT", "*", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"))
        if kind == "*":
            return f"COUNT({some}*)" if rng.random() < 0.2 else "COUNT(*)"
        if kind == "SAMPLE":  # of one value, because the choice is open
            return f"SAMPLE({rng.choice(grouped)})" if grouped else "COUNT(*)"
        if kind == "GROUP_CONCAT":  # its order is open
            sign = rng.choice(("", '; SEPARATOR=", "', '; SEPARATOR=""', '; SEPARATOR="|a"', "; SEPARATOR='\\n'"))
            text = f"STR({variable})" if rng.random() < 0.5 else variable
            joined = f"GROUP_CONCAT({some}{text}{sign})"
            return rng.choice(
                (f"STRLEN({joined})", f"DATATYPE({joined})", f"LANG({joined})", f'CONTAINS({joined}, "b")')
            )
        return f"{kind}({some}{variable})"

    def _order(self, columns: list[str]) -> str:
        rng, text = self.rng, ""
        if columns and rng.random() < 0.3:
            keys = rng.sample(columns, rng.randint(1, min(2, len(columns))))
            signs = ("{}", "ASC({})", "DESC({})", "STR({})", "DESC(STRLEN(STR({})))", "(!BOUND({}))")
            text = " ORDER BY " + " ".join(rng.choices(signs, [4, 2, 4, 1, 1, 1])[0].format(key) for key in keys)
        if rng.random() < (0.5 if text else 0.05):
            text += f" LIMIT {rng.choice((0, 1, 2, 5, 10))}"
        if rng.random() < (0.2 if text else 0.02):
            text += f" OFFSET {rng.choice((0, 1, 3))}"
        return text

    def _template(self, known: list[str]) -> str:
        rng = self.rng
        things = [*known, *known, *self.words.subjects[:2], *(["_:t", "_:u", "[]"] if rng.random() < 0.3 else [])]
        verbs = [*self.words.predicates, *(known if rng.random() < 0.2 else [])]
        some = [f"{rng.choice(things)} {rng.choice(verbs)} {rng.choice(things)}" for _ in range(rng.choice((1, 2)))]
        return " . ".join(some) + rng.choice(("", "", f" ; {rng.choice(verbs)} {rng.choice(things)}, 1"))

    # -- patterns -----------------------------------------------------------------------------------------------------

    def _group(self, depth: int, inherited: Sequence[str] = ()) -> tuple[str, list[str]]:
        """Return a group and the variables that it may bind; ``inherited`` ones are shared with what is around it."""
        rng = self.rng
        parts, known = self._basic(inherited) if rng.random() < 0.95 else ([], [])
        outside = [*dict.fromkeys([*known, *inherited])]
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3)) if depth else rng.choice((0, 0, 0, 1))):
            text, more = self._part(depth, known, outside)
            parts.append(text)
            known = [*dict.fromkeys([*known, *more])]
            outside = [*dict.fromkeys([*known, *outside])]
        if rng.random() < 0.15:
            more_parts, more = self._basic(known)
            parts += more_parts
            known = [*dict.fromkeys([*known, *more])]
        return f"{{ {' '.join(parts)} }}", known

    def _part(self, depth: int, known: list[str], outside: list[str]) -> tuple[str, list[str]]:
        rng = self.rng
        if depth and self._triples < 7:
            kind = rng.choice(("optional", "optional", "union", "minus", "select", "graph", "group", *_SIMPLE))
        else:
            kind = rng.choice(("filter", "filter", "bind", "values"))
        if kind == "optional":
            text, more = self._group(depth - 1, known)
            return f"OPTIONAL {text}", more
        if kind == "union":
            branches = [self._group(depth - 1, known) for _ in range(rng.choice((2, 2, 2, 3)))]
            return " UNION ".join(one for one, _ in branches), [*dict.fromkeys(v for _, more in branches for v in more)]
        if kind == "group":
            return self._group(depth - 1, known)
        if kind == "minus":
            if rng.random() < 0.2:  # shares no variable, and removes nothing
                return f"MINUS {{ ?m {self._verb([])} ?n }}", []
            return f"MINUS {self._group(depth - 1, known)[0]}", []
        if kind == "select":
            text, more = self._select(depth - 1)
            text += f" {self._values(more)[0]}" if more and rng.random() < 0.1 else ""
            return f"{{ {text} }}", more
        if kind == "graph" and self.words.graphs:
            text, more = self._group(depth - 1, known)
            if rng.random() < 0.6:
                name = self._variable(known)
                return f"GRAPH {name} {text}", [*dict.fromkeys([*more, name])]
            return f"GRAPH {rng.choice(self.words.graphs)} {text}", more
        if kind == "bind":
            name, readable = self._new(), outside if rng.random() < 0.2 else known
            value = f"({self._condition(1, outside, depth)})" if rng.random() < 0.15 else self.expression(2, readable)
            return f"BIND({value} AS {name})", [name]
        if kind == "values":
            return self._values(known)
        return f"FILTER({self._condition(2, outside, depth)})", []

    def _values(self, known: list[str]) -> tuple[str, list[str]]:
        rng = self.rng
        names = [*dict.fromkeys(self._variable(known) for _ in range(rng.choice((1, 1, 2))))]

        def value() -> str:
            return "UNDEF" if rng.random() < 0.15 else self._constant()

        if len(names) == 1:
            return f"VALUES {names[0]} {{ {' '.join(value() for _ in range(rng.randint(0, 4)))} }}", names
        rows = " ".join(f"({' '.join(value() for _ in names)})" for _ in range(rng.randint(1, 3)))
        return f"VALUES ({' '.join(names)}) {{ {rows} }}", names

    def _basic(self, inherited: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Return one to four triple patterns, most of them connected, and their variables."""
        rng, known, parts = self.rng, list(inherited), []
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4)) if self._triples < 6 else 1):
            self._triples += 1
            if self.words.facts and rng.random() < 0.75:
                subject, verb, value = self._fact(known)
            else:
                subject, verb, value = self._any(known)
            parts.append(self._written(subject, verb, value))
            known = [*dict.fromkeys([*known, *(part for part in (subject, verb, value) if part[0] == "?")])]
        return parts, [name for name in known if any(f"{name} " in part for part in parts)]

    def _written(self, subject: str, verb: str, value: str) -> str:
        """Return a triple pattern, in one of the short forms at times."""
        rng, other = self.rng, self.rng.choice(self.words.predicates)
        draw = rng.random()
        if draw < 0.92 or verb[0] == "?":
            return f"{subject} {verb} {value} ."
        return rng.choice(
            (
                f"{subject} {verb} {value} ; {other} ?d .",
                f"{subject} {verb} {value} , ?e .",
                f"{subject} {verb} [ {other} ?d ] .",
                f"{subject} {verb} ( ?d ) .",
                f"{subject} {verb} {value} ; a ?d .",
                f"{subject} {verb} {value} ; {other} [] .",
                f"[ {verb} {value} ; {other} {subject} ] .",
                f"{subject} {verb} _:k{self._triples} . _:k{self._triples} {other} {value} .",
            )
        )

    def _fact(self, known: Sequence[str]) -> tuple[str, str, str]:
        """Return the pattern of a triple, which shares a variable with known ones if it can."""
        rng = self.rng
        near = [f for f in self.words.facts if {self._names.get(f[0]), self._names.get(f[2])} & set(known)]
        subject, verb, value = rng.choice(near or self.words.facts)
        return self._named(subject), self._verb([]) if rng.random() < 0.15 else verb, self._named(value)

    def _named(self, term: str) -> str:
        """Return the variable of a term, or the term."""
        if term not in self._names and (term.startswith("_:") or self.rng.random() < 0.9):
            free = [name for name in ("?a", "?b", "?c", "?d", "?e") if name not in self._names.values()]
            self._names[term] = self.rng.choice(free or ["?a", "?b", "?c", "?d"])
        return self._names.get(term, term)

    def _any(self, known: Sequence[str]) -> tuple[str, str, str]:
        rng = self.rng
        subject = rng.choice(self.words.subjects) if rng.random() < 0.12 else self._variable(known)
        if rng.random() < 0.04:
            subject = "_:n" + str(self._triples)
        value = self._constant() if rng.random() < 0.15 else self._variable([])
        if known and rng.random() < 0.3:
            value = rng.choice(known)
        return subject, self._verb(known), value

    def _verb(self, known: Sequence[str]) -> str:
        draw = self.rng.random()
        if draw < 0.12:
            return self.rng.choice(("?p", "?p", self._variable(known)))
        if draw < 0.24:
            return self.path(2)
        return self.rng.choice(self.words.predicates)

    def path(self, depth: int) -> str:
        """Return a property path."""
        rng, verb = self.rng, self.rng.choice(self.words.predicates)
        if not depth or rng.random() < 0.2:
            return verb
        inner = self.path(depth - 1)
        other = self.path(depth - 1)
        return rng.choice(
            (
                f"({inner})*",
                f"({inner})+",
                f"({inner})?",
                f"^({inner})",
                f"({inner}/{other})",
                f"({inner}|{other})",
                f"!{verb}",
                f"!(^{verb})",
                f"!({verb}|^{rng.choice(self.words.predicates)})",
                f"!({verb}|{rng.choice(self.words.predicates)})",
                f"!(^{verb}|^{rng.choice(self.words.predicates)})",
                f"({inner}/!{verb})",
                f"(^{verb}/({other})?)",
                f"^{verb}|{rng.choice(self.words.predicates)}/{verb}+",
            )
        )
