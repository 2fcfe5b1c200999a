"""Patterns of the sentences that state a fact of a node, such as ``It was directed by {names}``.

Sentences and phrases of categories have the same source, so each category of a node has its sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

<<<<<<< HEAD
from kbkit.answers import english
from kbkit.benchmarks.quest import phrases
from kbkit.schema import Attribute
=======
from kbkit import english
from kbkit.benchmarks.quest import phrases
from kbkit.english.attributes import attribute_words
from kbkit.english.names import named
from kbkit.english.types import are_people, type_noun
from kbkit.english.words import YEARS
from kbkit.schema import Attribute, quote
>>>>>>> english

NAMES = "{names}"
"""The place of the names in a fact."""
<<<<<<< HEAD
_UNITS = {
    **{name: name for name in ("days", "hours", "minutes", "seconds", "years", "km", "kg", "mm", "cm")},
    **{"m": "metres", "km2": "square kilometres", "m2": "square metres", "usd": "US dollars", "percent": "percent"},
}
=======
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_SHOWN = (*_NUMBERS, "VARCHAR", "DOUBLE", "FLOAT", "DATE", "BOOLEAN", "VARCHAR[]")
>>>>>>> english


@dataclass(frozen=True)
class Fact:
    """The sentence for one name, and the one for several; ``{names}`` is their place."""

    one: str
    many: str

    @property
    def words(self) -> str:
        """The words without the names."""
        return self.one.replace(NAMES, " ")


def of_head(domain: str, label: str, other: str) -> Fact:
    """Return the fact of a head about tails of type ``other``: ``It was made in {names}``."""
    subject, possessive, noun = _subject(domain), _possessive(domain), type_noun(other) if other else ""
    if noun in phrases.MARKERS:
        return Fact(f"{possessive} {noun} is {NAMES}.", f"{possessive} {english.plural(noun)} are {NAMES}.")
    also, either, has_as = (p.fullmatch(label) for p in (phrases.ALSO, phrases.EITHER, phrases.HAS_AS))
    if also:
        return _same(f"Those who {also[1]} it also {also[2]} {NAMES}.")
    if either:
        return _same(f"{subject} is linked to {NAMES} as {either[1]}.")
    if has_as:
        return _as_noun(subject, has_as[1])
    clause = phrases.finite(label)
    if not clause:
        return Fact(f"{possessive} {label} is {NAMES}.", f"{possessive} {english.plural(label)} are {NAMES}.")
    sentence = f"{subject} {clause.replace('{}', NAMES)}." if "{}" in clause else f"{subject} {clause} {NAMES}."
    return _of_noun(subject, label, clause, noun) or _same(sentence)


def _as_noun(subject: str, noun: str) -> Fact:
    """Return the fact that a node has others in a role: ``It has {names} as members``."""
    one = f"{subject} has {NAMES} as {english.with_article(noun)}."
    return Fact(one, f"{subject} has {NAMES} as {english.plural(noun)}.")


def _of_noun(subject: str, label: str, clause: str, noun: str) -> Fact | None:
    """Return the fact for a label that has a noun for its object: ``has the genre``, ``is in the language``."""
    has = phrases.HAS.fullmatch(label)
    into = re.fullmatch(rf"(is in|comes in|belongs to) the {re.escape(noun)}", clause)
    if into:
        many = f"{subject} {into[1]} the {english.plural(noun)} {NAMES}."
        return Fact(f"{subject} {into[1]} the {NAMES} {noun}.", many)
    if not has or phrases.ends_with_preposition(label):
        return None
    if has[1] == noun:
        group = noun in phrases.GROUPS
        one = f"{subject} is in the {NAMES} {noun}." if group else f"{subject} has the {noun} {NAMES}."
        return Fact(one, f"{subject} {'is in' if group else 'has'} the {english.plural(noun)} {NAMES}.")
    return _as_noun(subject, has[1])


def of_tail(domain: str, label: str) -> Fact:
    """Return the fact of a tail about heads: ``It was directed by {names}``, ``{names} acted in it``."""
    subject, object_ = _subject(domain), "this person" if are_people(domain) else "it"
    clause, noun, by = phrases.finite(label), phrases.noun_of(label), phrases.passive(label)
    if noun:
        return _same(f"{subject} is {english.with_article(noun)} of {NAMES}.")
    if not clause:
        return _same(f"{subject} is linked to {NAMES}.")
    if by:
        return _same(f"{subject} {by} {NAMES}.")
    clause = phrases.without_place(label, clause)
    return Fact(f"{NAMES} {clause} {object_}.", f"{NAMES} {phrases.agreeing(clause)} {object_}.")


def of_attribute(domain: str, attribute: Attribute, *, years: bool) -> Fact:
    """Return the fact about an attribute, whose values may be ``years``: ``Its duration is 142 minutes``."""
    possessive = _possessive(domain)
    words, unit, _ = attribute_words(attribute)
    after = f" {unit.words}" if unit else ""
    if years and english.is_participle(words):
        return _same(f"{_subject(domain)} was {words} in {NAMES}.")
    if attribute.type.endswith("[]"):
        return Fact(f"{possessive} {words} include {NAMES}.", f"{possessive} {words} include {NAMES}.")
    verb = "are" if english.is_plural(words) else "is"
    return _same(f"{possessive} {words} {verb} {NAMES}{after}.")


def of_flag(domain: str, attribute: Attribute, *, value: bool) -> str:
    """Return the fact about a Boolean attribute: ``It is not active``."""
    words = attribute_words(attribute).noun
    subject, (first, _, rest), no = _subject(domain), words.partition(" "), "" if value else "not "
    if rest and first in ("is", "was"):
        return f"{subject} {first} {no}{rest}."
    if rest and first == "has":
        return f"{subject} {'has' if value else 'does not have'} {rest}."
    return f"{subject} is {no}marked as {words}."


def _same(sentence: str) -> Fact:
    return Fact(sentence, sentence)


def _subject(domain: str) -> str:
    return "This person" if are_people(domain) else "It"


def _possessive(domain: str) -> str:
<<<<<<< HEAD
    return "This person's" if phrases.are_people(domain) else "Its"
=======
    return "This person's" if are_people(domain) else "Its"


# -- sentences --------------------------------------------------------------------------------------------------------


def sentences(kb: KnowledgeBase, found: Categories) -> pl.DataFrame:
    """Return the facts of the nodes of a domain: id, facts (list of sentences). Nodes without facts are left out."""
    parts = [_of_attributes(kb, found.domain), _of_groups(kb, found)]
    both = pl.concat([part for part in parts if part.height] or parts[:1])
    capital = pl.col("sentence").str.slice(0, 1).str.to_uppercase() + pl.col("sentence").str.slice(1)
    return both.with_columns(sentence=capital).group_by("id", maintain_order=True).agg(facts=pl.col("sentence"))


_SENTENCES = pl.Schema({"id": pl.Int64, "sentence": pl.String})


def _of_attributes(kb: KnowledgeBase, domain: str) -> pl.DataFrame:
    node_type = kb.schema.type(domain)
    shown = [attribute for attribute in node_type.attributes if attribute.type in _SHOWN]
    if not shown:
        return pl.DataFrame(schema=_SENTENCES)
    columns = ", ".join(f"{_as_text(one)} AS {quote(f'c{number}')}" for number, one in enumerate(shown))
    frame = kb.tables.lookup(f"SELECT id, {columns} FROM {quote(node_type.table)} ORDER BY id")
    parts = []
    for number, attribute in enumerate(shown):
        known = frame.select(pl.col("id").cast(pl.Int64), names=pl.col(f"c{number}")).drop_nulls()
        if attribute.type == "BOOLEAN":
            yes, no = (pl.lit(of_flag(domain, attribute, value=value)) for value in (True, False))
            sentence = pl.when(pl.col("names")).then(yes).otherwise(no)
        else:
            fact = of_attribute(domain, attribute, years=_are_years(known["names"]))
            sentence = _filled(fact.one, pl.col("names"))
        parts.append(known.select("id", sentence=sentence))
    return pl.concat(parts).cast(dict(_SENTENCES))  # type: ignore[arg-type] # names and types


def _are_years(texts: pl.Series) -> bool:
    years = texts.cast(pl.Int64, strict=False)
    return bool(years.is_between(*YEARS).fill_null(value=False).all()) and len(years) > 0


def _as_text(attribute: Attribute) -> str:
    """Return SQL for the text of a value; null for a missing or empty one."""
    column = quote(attribute.name)
    if attribute.type in _NUMBERS:
        grouped = f"coalesce(format('{{:,}}', TRY_CAST({column} AS BIGINT)), {column}::VARCHAR)"
        return grouped if attribute_words(attribute).unit else f"{column}::VARCHAR"
    if attribute.type in ("DOUBLE", "FLOAT"):
        return (
            f"CASE WHEN {column} = trunc({column}) AND abs({column}) < 1e15"
            f" THEN format('{{:,}}', TRY_CAST({column} AS BIGINT)) ELSE {column}::VARCHAR END"
        )
    if attribute.type == "BOOLEAN":
        return column
    if attribute.type == "VARCHAR[]":
        return f"nullif(array_to_string({column}, ', '), '')"
    return f"nullif(trim({column}::VARCHAR), '')"


def _filled(pattern: str, names: pl.Expr) -> pl.Expr:
    before, _, after = pattern.partition(NAMES)
    return pl.lit(before) + names + pl.lit(after)


def _of_groups(kb: KnowledgeBase, found: Categories) -> pl.DataFrame:
    """Return a sentence for each node and each family by nodes that has categories."""
    groups = found.groups
    used = set(found.by_family())
    if groups is None or not len(groups.values):
        return pl.DataFrame(schema=_SENTENCES)
    sizes = np.diff(groups.matrix.indptr)
    frame = pl.DataFrame(
        {
            "family": np.repeat(groups.families_of, sizes).astype(np.int32),
            "value": np.repeat(groups.values, sizes).astype(np.int64),
            "id": groups.matrix.indices.astype(np.int64),
        }
    )
    parts = [pl.DataFrame(schema=_SENTENCES)]
    names = _names(kb, groups.values)
    for number, family in enumerate(groups.families):
        fact = family.fact
        if fact is None or family.id not in used:
            continue
        own = frame.filter(pl.col("family") == number).join(names, on="value", maintain_order="left")
        own = _with_articles(own, family)
        listed = own.group_by("id", maintain_order=True).agg("name").sort("id")
        count = pl.col("name").list.len()
        joined = pl.col("name").list.head(count - 1).list.join(", ") + " and " + pl.col("name").list.last()
        sentence = (
            pl.when(count == 1)
            .then(_filled(fact.one, pl.col("name").list.first()))
            .otherwise(_filled(fact.many, joined))
        )
        parts.append(listed.select("id", sentence=sentence))
    return pl.concat(parts)


def _names(kb: KnowledgeBase, values: np.ndarray) -> pl.DataFrame:
    """Return value, name of nodes that have a readable name."""
    wanted = pl.DataFrame({"id": np.unique(values).astype(np.int32)})
    sql = (
        "SELECT n.id::BIGINT AS value, trim(n.name) AS name FROM nodes n JOIN kbkit_wanted w USING (id)"
        " WHERE trim(coalesce(n.name, '')) <> '' AND NOT (n.name = n.key AND regexp_full_match(n.name, $code))"
    )
    from kbkit.benchmarks.quest.categories import CODE

    return kb.tables.lookup(sql, {"code": CODE.pattern}, {"kbkit_wanted": wanted})


def _with_articles(frame: pl.DataFrame, family: Family) -> pl.DataFrame:
    distinct = frame["name"].unique().to_list() if family.other else []
    changed: Mapping[str, str] = {
        name: shown for name in distinct if (shown := named(name, family.other, family.article)) != name
    }
    return frame.with_columns(pl.col("name").replace_strict(changed, default=pl.col("name"))) if changed else frame
>>>>>>> english
