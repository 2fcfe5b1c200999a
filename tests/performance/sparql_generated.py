"""A hundred queries in Sparqloscope's categories, from the statistics of a KB: its types, relations, attributes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

from kbkit.schema import Attribute, NodeType, Relation, iri_escape
from tests.performance.sparql_queries import Query

COUNT = 100
_NUMERIC = ("BIGINT", "INTEGER", "DOUBLE", "FLOAT", "HUGEINT", "SMALLINT")


def generate(kb: Any, count: int = COUNT, seed: int = 1) -> list[Query]:
    """Return ``count`` queries, the same for the same KB and seed."""
    made = _Generator(kb, seed)
    found: dict[str, Query] = {}
    categories = itertools.cycle(made.categories())
    for _ in range(50 * count):  # small KBs have fewer than that
        name, make = next(categories)
        text = make()
        if text and len(found) < count:
            found.setdefault(text, Query(f"{len(found) + 1} {name}", text))
    return list(found.values())


class _Generator:
    """Draws queries by category."""

    def __init__(self, kb: Any, seed: int) -> None:
        self._kb, self._rng = kb, random.Random(seed)
        self._relations: list[Relation] = [relation for relation in kb.schema.relations if relation.edges]
        self._types: list[NodeType] = [t for t in kb.schema.node_types if t.count]
        self._attributes = [(t, a) for t in self._types for a in t.attributes if a.type in _NUMERIC]

    def categories(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield names and functions that return a query, or nothing if the KB does not have what it needs."""
        for name in dir(self):
            if name.startswith("make_"):
                yield name.removeprefix("make_").replace("_", " "), getattr(self, name)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _relation(self, head: str = "", tail: str = "") -> Relation | None:
        """Return a relation, from or to nodes of a type."""
        fit = [
            r
            for r in self._relations
            if any((not head or s.head == head) and (not tail or s.tail == tail) for s in r.signatures)
        ]
        return self._rng.choice(fit) if fit else None

    def _end(self, relation: Relation, tail: bool) -> str:
        signature = self._rng.choice(relation.signatures)
        return signature.tail if tail else signature.head

    def _arm(self, kind: str, subject: str, value: str) -> str:
        """Return a pattern between a node of a type and another variable, in either direction."""
        out, back = self._relation(head=kind), self._relation(tail=kind)
        if out and (back is None or self._rng.random() < 0.6):
            return f"{subject} <{out.iri}> {value} . "
        return f"{value} <{back.iri}> {subject} . " if back else ""

    def _key(self, kind: str) -> str:
        """Return the IRI of a node: a random one, so that its degree follows the graph's distribution."""
        node_type = next(t for t in self._types if t.name == kind)
        number = node_type.first + self._rng.randrange(node_type.count)
        key = self._kb.sql(f"SELECT key FROM nodes WHERE id = {number}").item()
        return f"<{self._kb.schema.node_iri(kind, key)}>"

    def _attribute(self) -> tuple[NodeType, Attribute, str] | None:
        if not self._attributes:
            return None
        node_type, attribute = self._rng.choice(self._attributes)
        return node_type, attribute, f"<{self._kb.schema.base}attr/{iri_escape(attribute.name)}>"

    def _quantile(self, node_type: NodeType, attribute: Attribute, part: float) -> str:
        column = f'"{attribute.name}"'
        return str(self._kb.sql(f'SELECT quantile_disc({column}, {part}) FROM "{node_type.table}"').item())

    def _word(self) -> str:
        node_type = self._rng.choice(self._types)
        number = node_type.first + self._rng.randrange(node_type.count)
        name = self._kb.sql(f"SELECT name FROM nodes WHERE id = {number}").item() or ""
        return max(
            ("".join(c for c in word if c.isascii() and c.isalnum()) for word in name.split()), key=len, default="a"
        )

    # -- categories ---------------------------------------------------------------------------------------------------

    def make_predicate_size(self) -> str:
        relation = self._relation()
        what = self._rng.choice(("*", "DISTINCT ?s", "DISTINCT ?o"))
        return f"SELECT (COUNT({what}) AS ?n) {{ ?s <{relation.iri}> ?o }}" if relation else ""

    def make_star_join(self) -> str:
        kind = self._rng.choice(self._types).name
        arms = {self._arm(kind, "?s", f"?o{n}") for n in range(self._rng.choice((2, 2, 3)))}
        return f"SELECT (COUNT(*) AS ?n) {{ {''.join(sorted(arms))}}}" if len(arms) > 1 and "" not in arms else ""

    def make_star_join_selective(self) -> str:
        relation = self._relation()
        if relation is None:
            return ""
        signature = self._rng.choice(relation.signatures)
        arm = self._arm(signature.head, "?s", "?o")
        return f"SELECT (COUNT(*) AS ?n) {{ ?s <{relation.iri}> {self._key(signature.tail)} . {arm}}}"

    def make_chain_join(self) -> str:
        return self._chain("?v0", self._rng.choice(self._types).name, "*")

    def make_chain_join_selective(self) -> str:
        kind = self._rng.choice(self._types).name
        return self._chain(self._key(kind), kind, "DISTINCT ?last")

    def _chain(self, start: str, kind: str, counted: str) -> str:
        """Return a query of two or three steps from a node or a variable of a type, in either direction."""
        text, node, length = "", start, self._rng.choice((2, 2, 3))
        for number in range(1, length + 1):
            after = "?last" if number == length else f"?v{number}"
            step = self._step(kind, node, after)
            if step is None:
                return ""
            text, kind, node = text + step[0], step[1], after
        return f"SELECT (COUNT({counted}) AS ?n) {{ {text}}}"

    def _step(self, kind: str, node: str, after: str) -> tuple[str, str] | None:
        """Return a pattern from a node of a type, more often along a relation than against it, and the type reached."""
        along = [(r, s.tail, True) for r in self._relations for s in r.signatures if s.head == kind]
        against = [(r, s.head, False) for r in self._relations for s in r.signatures if s.tail == kind]
        fit = along if along and (not against or self._rng.random() < 0.7) else against
        if not fit:
            return None
        relation, reached, forward = self._rng.choice(fit)
        ends = (node, after) if forward else (after, node)
        return f"{ends[0]} <{relation.iri}> {ends[1]} . ", reached

    def make_optional(self) -> str:
        node_type, relation = self._rng.choice(self._types), self._relation()
        if relation is None:
            return ""
        if self._rng.random() < 0.4:
            kind, first = node_type.name, f"?s a <{node_type.iri}>"
        else:
            kind, first = self._end(relation, tail=False), f"?s <{relation.iri}> ?o"
        return f"SELECT (COUNT(*) AS ?n) (COUNT(?x) AS ?m) {{ {first} OPTIONAL {{ {self._arm(kind, '?s', '?x')}}} }}"

    def make_minus(self) -> str:
        return self._without("MINUS { {} }")

    def make_exists(self) -> str:
        return self._without("FILTER EXISTS { {} }")

    def make_not_exists(self) -> str:
        return self._without("FILTER NOT EXISTS { {} }")

    def _without(self, form: str) -> str:
        relation = self._relation()
        if relation is None:
            return ""
        arm = self._arm(self._end(relation, tail=False), "?s", "?x")
        return f"SELECT (COUNT(DISTINCT ?s) AS ?n) {{ ?s <{relation.iri}> ?o {form.replace('{}', arm)} }}"

    def make_union(self) -> str:
        one, two = self._relation(), self._relation()
        if not one or not two:
            return ""
        what = self._rng.choice(("*", "DISTINCT ?s"))
        return f"SELECT (COUNT({what}) AS ?n) {{ {{ ?s <{one.iri}> ?o }} UNION {{ ?o <{two.iri}> ?s }} }}"

    def make_group_by(self) -> str:
        relation = self._relation()
        if relation is None:
            return ""
        key = self._rng.choice(("?s", "?o"))
        text = f"SELECT {key} (COUNT(*) AS ?c) {{ ?s <{relation.iri}> ?o }} GROUP BY {key}"
        return f"SELECT (COUNT(*) AS ?n) (MAX(?c) AS ?most) (SUM(?c) AS ?all) {{ {{ {text} }} }}"

    def make_top_ten(self) -> str:
        relation = self._relation()
        if relation is None:
            return ""
        key = self._rng.choice(("?s", "?o"))
        join = f"{key} rdfs:label ?name"
        return (
            f"SELECT ?name (COUNT(*) AS ?n) {{ ?s <{relation.iri}> ?o . {join} }} GROUP BY {key} ?name"
            " ORDER BY DESC(?n) ?name LIMIT 10"
        )

    def make_group_by_attribute(self) -> str:
        found = self._attribute()
        if found is None:
            return ""
        node_type, _, verb = found
        arm = self._arm(node_type.name, "?s", "?x")
        return f"SELECT ?v (COUNT(DISTINCT ?x) AS ?n) {{ ?s {verb} ?v . {arm}}} GROUP BY ?v ORDER BY DESC(?n) ?v"

    def make_regex(self) -> str:
        word = self._word()
        form = self._rng.choice(
            (f'"^{word}"', f'"{word}"', f'"{word[:4].lower()}", "i"', f'"{word[:2]}.*{word[-2:]}$"')
        )
        return f"SELECT (COUNT(*) AS ?n) {{ ?s rdfs:label ?name FILTER REGEX(?name, {form}) }}"

    def make_string_functions(self) -> str:
        value = self._rng.choice(
            (
                "STRLEN(?name)",
                "STRLEN(STRBEFORE(?name, ' '))",
                "STRLEN(UCASE(SUBSTR(?name, 2)))",
                "STRLEN(REPLACE(?name, '[aeiou]', ''))",
            )
        )
        node_type = self._rng.choice(self._types)
        where = self._rng.choice(("", f'FILTER CONTAINS(LCASE(?name), "{self._word()[:3].lower()}")'))
        return f"SELECT (SUM({value}) AS ?n) {{ ?s a <{node_type.iri}> . ?s rdfs:label ?name {where} }}"

    def make_numeric_filter(self) -> str:
        found = self._attribute()
        if found is None:
            return ""
        node_type, attribute, verb = found
        low, high = sorted(self._rng.sample((0.05, 0.25, 0.5, 0.75, 0.95, 0.99), 2))
        bounds = [self._quantile(node_type, attribute, part) for part in (low, high)]
        arm = self._rng.choice(("", self._arm(node_type.name, "?s", "?x")))
        return (
            f"SELECT (COUNT(*) AS ?n) (AVG(?v) AS ?mean) {{ ?s {verb} ?v . {arm}"
            f"FILTER(?v >= {bounds[0]} && ?v + 1 <= {bounds[1]}) }}"
        )

    def make_order_by(self) -> str:
        relation = self._relation()
        start = self._rng.choice((0, 1000, 10000))
        down = self._rng.choice(("?name", "DESC(?name)"))
        if relation is None:
            return ""
        return (
            f"SELECT ?name {{ ?s <{relation.iri}> ?o . ?o rdfs:label ?name }} ORDER BY {down} LIMIT 100 OFFSET {start}"
        )

    def make_distinct(self) -> str:
        relation = self._relation()
        if relation is None:
            return ""
        arm = self._arm(self._end(relation, tail=False), "?s", "?x")
        return f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?o ?x {{ ?s <{relation.iri}> ?o . {arm}}} }} }}"

    def make_path(self) -> str:
        inner = [r for r in self._relations if any(s.head == s.tail for s in r.signatures)]
        if not inner:
            return ""
        relation = self._rng.choice(inner)
        kind = next(s.head for s in relation.signatures if s.head == s.tail)
        form = self._rng.choice(("<{}>+", "<{}>*", "<{}>/<{}>", "<{}>/<{}>?", "^<{}>/<{}>", "(<{}>|^<{}>)+"))
        verb = form.replace("{}", relation.iri)
        return f"SELECT (COUNT(DISTINCT ?o) AS ?n) {{ {self._key(kind)} {verb} ?o }}"

    def make_all_of_a_node(self) -> str:
        kind = self._rng.choice(self._types).name
        return f"SELECT ?p ?o {{ {self._key(kind)} ?p ?o }}"
