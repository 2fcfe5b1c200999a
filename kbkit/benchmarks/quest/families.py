"""Families of categories: groups of a type's nodes by a relation, a hierarchy or an attribute."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from kbkit.answers import syntax
from kbkit.answers.parse import parse
from kbkit.answers.syntax import Condition, Edge, Filter, Nodes, Slot, Step
from kbkit.benchmarks.fit_nodes import are_codes, are_lists, below, head_nouns, is_mutual, runs
from kbkit.benchmarks.predicates import CONSTANT, unfit_attribute, unfit_relation
from kbkit.benchmarks.quest.grammar import parsed
from kbkit.directory.files import parse_toml
from kbkit.english import categories, facts
from kbkit.english.attributes import attribute_words, is_flag
from kbkit.english.facts import FactFrames
from kbkit.english.names import article_of, named
from kbkit.english.readable import attribute_problem
from kbkit.english.relations import Link, mismatch, unworded
from kbkit.english.roles import is_label, is_untyped, tail_noun
from kbkit.english.types import type_noun, type_plural
from kbkit.english.words import YEARS, plural, with_name
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, Relation, quote

_HOME = f"home to {categories.NAME}"
_WORKED_AS = f"worked as {categories.NAME}"
_FEW_NUMBERS = 50
_MAX_VALUES = 5_000
_PARTS = re.compile(r"(?i)(?:has_?)?parts?(?:_of)?|contains")
_CONTAINED = re.compile(r"(?i).*\b(?:in|within|of|to)(?: the \w+)?")
_STRING, _NUMBER = "VARCHAR", ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


@dataclass(frozen=True)
class Family:
    """A family: ``id`` is an expression with one slot, ``pattern`` the phrase.

    The slot is for a node of type ``other`` ("" if the pattern is the user's), or for a value of ``attribute``.
    ``article`` precedes the names of ``other``. ``fact`` words the sentence of a document about the members'
    categories; None if documents say nothing of them.
    """

    id: str
    pattern: str
    attribute: Attribute | None = None
    other: str = ""
    fact: FactFrames | None = None
    article: str = ""

    def expression(self, value: syntax.Value) -> str:
        """Return the expression with a value (``#key`` for a node) in the slot."""
        before, slot, after = _around_slot(self.id)
        if slot and isinstance(value, str) and value.startswith("#"):
            return f"{before}#{syntax.selector_of(value)}{after}"
        tree = parsed(self.id)
        return str(syntax.fill(tree, dict.fromkeys(syntax.slots(tree), value)))

    def phrase(self, name: str) -> str:
        """Return the phrase of the category with this name."""
        if (
            self.attribute is not None
            and name[:1].islower()
            and not name.isalpha()
            and self.pattern.endswith(f" is {categories.NAME}")
        ):
            name = f'"{name}"'  # a common noun would need an article
        is_kind = self.attribute is not None and self.pattern.partition(" of the ")[2].endswith(f'"{categories.NAME}"')
        if self.attribute is not None and is_kind:
            noun = categories.kind_noun(self.attribute.label or self.attribute.name, name)
            if noun:
                return plural(noun)
        of_country = self.attribute is not None and attribute_words(self.attribute).noun.endswith("country")
        kind = self.other or "country" * of_country  # whose country is the United Kingdom
        shown = named(name, kind, self.article) if kind else name
        noun = type_noun(self.other) if self.other else ""
        if noun and self.pattern.endswith(_HOME) and shown == name and noun[:5] not in name.casefold():
            shown = f"the {noun} {name}"  # home to the mountain X: few know the name
        if name.islower() and self.pattern.endswith(_WORKED_AS):
            return plural(name)  # timeless: some are alive
        return with_name(self.pattern, categories.NAME, shown)

    @property
    def cues(self) -> str:
        """Words that tell in a text what the name has to do with a member, and after a tab the fact for one name."""
        _, _, words = self.pattern.replace(categories.NAME, " ").partition(" ")
        return " ".join(f"{words} {self.fact.words}".split()) + f"\t{self.fact.one}" if self.fact else words


@lru_cache(1_000)
def _around_slot(family: str) -> tuple[str, str, str]:
    """Return the text before the slot for a node, the slot, and the text after it; empty if the text is not clear."""
    names = list(syntax.slots(parsed(family)))
    parts = family.partition(f":{Slot(names[0])}") if len(names) == 1 else ("", "", "")
    return parts if parts[1] and parts[1] not in parts[2] else ("", "", "")


def families(
    kb: KnowledgeBase, domain: str, own: Sequence[str] = (), patterns: Mapping[str, str] | None = None
) -> list[Family]:
    """Return the families of a type: ``own`` (expressions with one slot), then those of the schema.

    ``patterns`` are phrases by family. Raises :class:`KbError` for an expression that does not fit.
    """
    all_families = [_own(kb, domain, expression) for expression in own]
    known = {family.id for family in all_families}
    all_families += [f for f in (*_relations(kb, domain), *_attributes(kb, domain)) if f.id not in known]
    wanted = patterns or {}
    return [replace(f, pattern=wanted[f.id], other="") if f.id in wanted else f for f in all_families]


def read_patterns(path: Path) -> dict[str, str]:
    """Read a user's phrases: a TOML file of ``"family" = "movies that {name} directed"``."""
    try:
        data = parse_toml(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    for family, pattern in data.items():
        if not isinstance(pattern, str) or pattern.count(categories.NAME) != 1:
            hint = 'Example: "movies that {name} directed"'
            raise BadInputError(f"The phrase of {family!r} in {path} needs {{name}} once", hint)
        if categories.has_marks(pattern):
            raise BadInputError(
                f"The phrase of {family!r} in {path} contains <mark>", "Remove it; it marks phrases in queries"
            )
    return {family: " ".join(pattern.split()) for family, pattern in data.items()}


def family_of(path: Path) -> str:
    """Return the name of the family of a file's categories."""
    return f"file {path.name}"


def answer_type(kb: KnowledgeBase, expression: str) -> str:
    """Return the type of the nodes of an expression; raise :class:`KbError` unless it has one slot."""
    plan = kb.session.resolved(parse(expression), expression)
    slots = [p for p in plan.parameters if isinstance(p.source, Slot)]
    if len(slots) != 1 or slots[0].is_value:
        number = sum(not slot.is_value for slot in slots)
        hint = "Use exactly one, as in 'genre:<g> -> movie'"
        raise KbError(f"Category {expression!r} has {number} slots for nodes", hint)
    return plan.type or "*"


def _own(kb: KnowledgeBase, domain: str, expression: str) -> Family:
    kind = answer_type(kb, expression)
    if kind != domain:
        raise KbError(f"Category {expression!r} has nodes of type {kind}, not {domain}")
    pattern = f"{type_plural(domain)} that belong to {categories.NAME}"
    return Family(str(parse(expression)), pattern, fact=facts.of_head(domain, "belongs to", ""))


# -- relations --------------------------------------------------------------------------------------------------------


def _relations(kb: KnowledgeBase, domain: str) -> Iterator[Family]:
    problems = unworded(kb.schema)
    heads = head_nouns(kb) if is_untyped(domain) else None
    for relation in kb.schema.relations:
        signatures = [
            one for one in relation.signatures if not mismatch(Link(relation, one.head, one.tail, of_head=True))
        ]
        of_domain = any(domain in (s.head, s.tail) for s in signatures)
        is_unworded = relation.name in problems and len(signatures) == len(relation.signatures)
        if not of_domain or is_unworded or unfit_relation(relation):
            continue
        label = _label(relation)
        if heads is not None:
            yield from _by_role(kb, relation, domain, heads)
            continue
        as_head, as_tail = (Link(relation, domain, None, of_head=of_head).given for of_head in (True, False))
        either = "" if as_head or as_tail else categories.of_either(domain, label)
        mutual = is_mutual(kb, relation)
        for signature in signatures:
            if signature.head == domain:
                ends = "both" if categories.of_either(domain, label) else "heads"
                path = _path(kb, relation, signature.tail, domain, ends)
                record = Link(relation, domain, signature.tail, of_head=True)
                own = as_head or (record.given if record.is_record else label)
                yield _family(kb, path, domain, signature.tail, own, either)
            # With the same pairs in both directions there is one family, worded as for heads.
            twice = mutual or bool(categories.of_either(domain, label))
            if signature.tail == domain and (not twice or not runs(relation, domain, signature.head)):
                path = _path(kb, relation, signature.head, domain, "tails")
                if Link(relation, domain, signature.head, of_head=False).is_record:
                    continue  # colors that are listed for X
                if as_tail or either:
                    yield _family(kb, path, domain, signature.head, as_tail or label, either)
                else:
                    pattern, fact = categories.of_tail(domain, label, signature.head), facts.of_tail(domain, label)
                    yield Family(path, pattern, None, signature.head, fact, article_of(kb.schema.type(signature.head)))


def _by_role(kb: KnowledgeBase, relation: Relation, domain: str, heads: Mapping[str, str]) -> Iterator[Family]:
    """Yield the family of the heads of a relation of nodes without types, if they have a noun: *films by X*."""
    noun, other = heads.get(relation.name, ""), tail_noun(relation)
    if not noun or not other or is_label(other):
        return
    label = Link(relation, domain, None, of_head=True).given or _label(relation)
    for signature in relation.signatures:
        if signature.head == domain:
            path = _path(kb, relation, signature.tail, domain, "heads")
            fact = facts.of_head(noun, label, other)
            yield Family(path, _of_head(noun, label, other), None, other, fact)


def _family(kb: KnowledgeBase, path: str, domain: str, other: str, label: str, either: str) -> Family:
    """Return the family of nodes that are the subject of a label."""
    fact = facts.of_head(domain, label, other)
    return Family(path, either or _of_head(domain, label, other), None, other, fact, article_of(kb.schema.type(other)))


def _of_head(domain: str, label: str, other: str) -> str:
    if other.casefold().endswith("category") and not label.endswith(type_noun(other)):
        return categories.of_category(domain, other)
    return categories.of_head(domain, label, other)


def _label(relation: Relation) -> str:
    return " ".join((relation.label or relation.name.replace("_", " ")).split())


def _path(kb: KnowledgeBase, relation: Relation, other: str, domain: str, ends: str) -> str:
    """Return the path from a node of ``other`` to the domain's nodes: the relation's ``ends`` are heads, tails or both.

    Members of a node in a hierarchy include those of the nodes below it. The closure of the hierarchy precedes the
    relation if it is among the nodes of ``other``; if the relation is the hierarchy, it is the relation's own closure.
    Parts count for what is in a whole, not for what is on or flows into it: a coast on the Red Sea is none on an ocean.
    """
    edge = Edge(relation.name)
    if runs(relation, other, domain) and not relation.symmetric and ends != "tails":
        edge = replace(edge, inverse=True)
    if other == domain and _downwards(kb, relation, domain) is not None:
        edge = replace(edge, closure="+")
    both = ends == "both" and edge.inverse and not is_mutual(kb, relation)
    step = Step((edge, replace(edge, inverse=False)) if both else (edge,))
    start: tuple[syntax.Expression | Step, ...] = (Nodes(other, Slot(other)),)
    below = (_downwards(kb, each, other) for each in kb.schema.relations) if other != domain else iter(())
    down = next((edge for edge in below if edge is not None), None)
    if down is not None and _PARTS.fullmatch(down.relation) and not _CONTAINED.fullmatch(_label(relation)):
        down = None
    if down is not None:
        start += (Step((down,)), Nodes(other))
    elements = (*start, step, Nodes(domain))
    return str(syntax.Path(elements, ("->",) * (len(elements) - 1)))


def _downwards(kb: KnowledgeBase, relation: Relation, node_type: str) -> Edge | None:
    """Return the step from a node to all below it, if a relation of a type to itself is a hierarchy."""
    forward = below(kb, relation, node_type)
    return None if forward is None else Edge(relation.name, inverse=not forward, closure="*")


# -- attributes -------------------------------------------------------------------------------------------------------


def _attributes(kb: KnowledgeBase, domain: str) -> Iterator[Family]:
    node_type = kb.schema.type(domain)
    usable = [a for a in node_type.attributes if a.type.removesuffix("[]") in (_STRING, "BOOLEAN", *_NUMBER)]
    usable = [a for a in usable if not unfit_attribute(a) and not attribute_problem(attribute_words(a).noun)]
    if not usable:
        return
    counts = " UNION ALL ".join(_counts_sql(node_type.table, position, a) for position, a in enumerate(usable))
    for position, distinct, count, low, high, top in kb.tables.lookup(f"{counts} ORDER BY position").iter_rows():
        years = low is not None and low >= YEARS[0] and high <= YEARS[1]
        is_text = usable[position].type == _STRING
        is_constant = is_text and top is not None and top >= CONSTANT * count
        values = _values(kb, node_type.table, usable[position]) if is_text and distinct <= _MAX_VALUES else []
        is_unfit = is_constant or are_lists(values) or are_codes(values)
        if is_flag(usable[position]) and usable[position].type != "BOOLEAN" and (low, high) != (0, 1):
            continue
        if _groups(usable[position], distinct, count, years=years) and not is_unfit:
            yield _attribute(domain, usable[position], years=years)


def _values(kb: KnowledgeBase, table: str, attribute: Attribute) -> list[str]:
    """Return the distinct values of a text attribute."""
    column = quote(attribute.name)
    rows = kb.tables.rows(f"SELECT DISTINCT {column} FROM {quote(table)} WHERE {column} IS NOT NULL")
    return [str(value) for (value,) in rows]


def _counts_sql(table: str, position: int, attribute: Attribute) -> str:
    """Return SQL for position, distinct values, values, the bounds of numbers, and the size of the largest group."""
    column = quote(attribute.name)
    value = f"unnest({column})" if attribute.type.endswith("[]") else column
    bounds = "min(v)::BIGINT, max(v)::BIGINT" if attribute.type in _NUMBER else "NULL::BIGINT, NULL::BIGINT"
    values = f"SELECT v, count(*) OVER (PARTITION BY v) AS n FROM (SELECT {value} AS v FROM {quote(table)})"
    top = "max(n) FILTER (WHERE v IS NOT NULL)"
    return f"SELECT {position} AS position, count(DISTINCT v), count(v), {bounds}, {top} FROM ({values})"


def _groups(attribute: Attribute, distinct: int, count: int, *, years: bool) -> bool:
    """Return whether values form groups: few distinct ones; numbers only if they are years or very few."""
    if distinct < 2 or distinct > _MAX_VALUES or count < 3 * distinct:
        return False
    return years or attribute.type not in _NUMBER or distinct <= _FEW_NUMBERS


def _attribute(domain: str, attribute: Attribute, *, years: bool) -> Family:
    several = attribute.type.endswith("[]")
    tree = Filter(Nodes(domain), (Condition(attribute.name, "=", (Slot("value"),)),))
    if is_flag(attribute):
        return Family(str(tree), "", attribute, fact=facts.of_flags(domain, attribute))
    pattern = categories.of_attribute(domain, attribute.label or attribute.name, year=years, several=several)
    return Family(str(tree), pattern, attribute, fact=facts.of_attribute(domain, attribute, years=years))
