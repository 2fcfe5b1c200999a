"""English for questions over tables: what a cell is called, conditions as clauses, and frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kbkit import english
from kbkit.benchmarks.ska.tables.columns import CATEGORY, CODE, DATE, NAME, NUMBER, YEAR, WebColumn
from kbkit.benchmarks.ska.tables.data import TableData
from kbkit.english.askable import is_technical, lacks_currency, lacks_rater, lacks_unit
from kbkit.english.frames import frame_file, pool
from kbkit.english.names import written_name
from kbkit.english.readable import attribute_problem
from kbkit.english.types import WORKS

_NO_NOUN = frozenset(("name", "title", "full name", "term", "item", "property", "names", "titles", "common name"))
_NOUNS = frozenset(("cast", "cost", "cut", "head", "lead", "read", "record", "set", "spread", "run", "result", "score"))
"""Nouns that are participles as well."""
_MANY_WORDS, _BY = 5, " by "
PLACES = frozenset(("country", "continent", "region", "state", "province", "county", "city", "district", "range"))
"""Columns whose value says where a row is."""
_CONTAINED = frozenset(("city", "district"))
SITES = frozenset(
    (
        "airport", "bridge", "building", "castle", "church", "city", "college", "company", "country", "district",
        "glacier", "hospital", "hotel", "island", "lake", "mine", "monument", "mountain", "municipality", "museum",
        "national park", "park", "peak", "place", "port", "region", "reservoir", "river", "school", "settlement",
        "site", "stadium", "state", "station", "temple", "theatre", "town", "university", "village", "volcano",
        "waterfall",
    )
)  # fmt: skip
"""Rows that are somewhere: *the city in France*."""
_TIMES = frozenset(("birthday", "date", "day", "deadline", "foundation", "start", "end", "month", "time", "year"))
"""Nouns that say that a value is a date."""
EMPTY = frozenset(
    (
        "",
        "-",
        "–",
        "—",
        "?",
        "n/a",
        "na",
        "none",
        "unknown",
        "not rated",
        "unrated",
        "tba",
        "tbd",
        "no",
        "yes",
        "nil",
        "null",
        "x",
    )
)
"""Cells without information, in lower case; no question asks for them."""


def drawn(name: str, rng: np.random.Generator, **values: str) -> str:
    """Return a frame with its values, chosen at random."""
    sentences = pool("tables", name)
    text = sentences[int(rng.integers(len(sentences)))].format(**values)
    return text[:1].upper() + text[1:]


def adjectives(column: WebColumn, noun: str = "") -> tuple[str, ...]:
    """Return the adjective for a measure, its two comparatives and its two superlatives; () if there is none.

    ``noun``: what has the measure; people are tall, not high.
    """
    known = frame_file("tables")["adjectives"]
    measure = f"{column.noun} of a person" if english.is_person(noun) else column.noun
    return tuple(known.get(measure, known.get(column.noun, ())))


def row_noun(table: TableData) -> str:
    """Return what a row is about, in the singular: *country*; "" if unknown."""
    if table.noun or table.key is None:
        return table.noun
    noun = re.sub(r" (?:name|title)$", "", table.key.noun)
    if not noun or noun.casefold() in _NO_NOUN or " or " in noun:
        return ""
    if english.is_plural(noun):
        return english.singular(noun)
    return noun


def is_vague(header: str) -> bool:
    """Return whether a header does not show what kind of thing its names are of: *Name*, *Title*."""
    return header.casefold() in _NO_NOUN


def called(table: TableData, name: str) -> str:
    """Return the name of a row as it is written within a sentence."""
    if table.node_type:
        return written_name(name, table.node_type, table.article)
    is_title = "title" in (table.key.noun if table.key else "") or name[:1] in "\"'“‘"
    bare = name.strip('"“”')
    is_odd = bool(re.match(r"[\W\d]|[a-z]", bare)) or len(bare.split()) > _MANY_WORDS or bare[-1:] in "?!:,"
    if is_title or is_odd or "," in bare or " and " in bare:
        return english.quoted(bare)
    noun = row_noun(table)
    return english.named(bare, "country" if noun in ("nation", "team", "territory") else noun)


def value(text: str) -> str:
    """Return a value of a column as it is written within a sentence."""
    return english.quoted(text) if re.match(r"[\W\d]|[a-z]", text) or len(text.split()) > _MANY_WORDS else text


def thing(column: WebColumn, key: str) -> str:
    """Return *the area of Chad in km²*, or *the number of votes of X*."""
    if column.is_count:
        return f"the number of {column.noun} of {key}"
    unit = f" in {column.unit}" if column.unit else ""
    if column.kind == DATE and _TIMES.isdisjoint(column.noun.casefold().split()):
        return f"the {column.noun} date of {key}"
    return f"the {column.noun}{unit} of {key}" if _is_long(key) else f"the {column.noun} of {key}{unit}"


def _is_long(key: str) -> bool:
    """Return whether a row is described by a clause, which words after it would seem to belong to."""
    return bool(re.match(r"the [a-z]|whichever ", key))


def place_word(column: WebColumn, noun: str) -> str:
    """Return *in* for the place where rows are and the language of works, *from* for their country; "" for others."""
    if noun in SITES and column.noun.rpartition(" ")[2] in PLACES and column.noun not in _CONTAINED:
        return "in"
    return {"country": "from", "language": "in"}.get(column.noun, "") if noun in WORKS else ""


def lookup(column: WebColumn, key: str, rng: np.random.Generator, noun: str = "") -> str:
    """Return a question for a cell of a row; "" if the column cannot be worded. ``noun`` is what the row is."""
    short = "" if _is_long(key) else "_short"
    last = column.noun.rpartition(" ")[2]
    where = place_word(column, noun)
    values = {"key": key, "noun": column.noun, "by": column.by, "did": _did(column.by), "thing": thing(column, key)}
    if column.by:
        name = "by"
    elif english.is_participle(last) and column.kind in (YEAR, DATE):
        name = "year_by" if column.kind == YEAR else "date_by"
    elif not can_ask(column):
        return ""
    elif where and not column.is_plural:
        return drawn("place" if short else "place_long", rng, **values, where=where)
    elif column.kind == YEAR and column.noun == "year":
        name = "year_work" if noun in WORKS else "year"
    elif column.is_count:
        name = "count_people" if english.may_be_person(english.singular(column.noun)) else "count"
    elif english.is_person(column.noun):
        name = "who"
    else:
        name = "plural" if column.is_plural else "lookup"
    return drawn(name + short if name + short in frame_file("tables")["frames"] else name, rng, **values)


def _did(participle: str) -> str:
    """Return the past tense of a verb by its participle, *wrote* for *written*; any other text as it is."""
    lemmas = english.lemmas_of(participle).get("VERB", ())
    return next((form for lemma in lemmas for form in english.inflections(lemma, "VBD")), participle)


def can_ask(column: WebColumn) -> bool:
    """Return whether *the NOUN of X* reads well for a column."""
    if not column.noun or column.by or column.kind not in (NAME, CATEGORY, NUMBER, YEAR, DATE, CODE):
        return False
    if is_technical(column.noun) or _lacks_currency(column) or _lacks_unit(column):
        return False
    last = column.noun.rpartition(" ")[2]
    if last == "date" and column.kind not in (DATE, YEAR):
        return False
    if attribute_problem(column.noun) or (column.kind == NUMBER and lacks_rater(column.noun)):
        return False
    return not english.is_participle(last) or last in _NOUNS


def _lacks_currency(column: WebColumn) -> bool:
    """Return whether a column has amounts of money whose currency neither the header nor the cells say."""
    return column.kind == NUMBER and lacks_currency(column.noun, " ".join((column.unit, next(iter(column.counts), ""))))


def _lacks_unit(column: WebColumn) -> bool:
    """Return whether a column has amounts of a quantity whose unit neither the header nor the cells say."""
    said = column.unit or any(re.search(r"[^\W\d_eE]", cell) for cell in column.counts)
    return column.kind in (NUMBER, CODE) and not said and lacks_unit(column.noun.partition(" of the ")[0])


# -- conditions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowCondition:
    """A condition on rows: SQL over ``table_rows``, the rows that meet it, and its wording.

    ``one`` and ``several`` are predicates ("" if there is none), ``after`` follows a noun (*directed by X*), ``whose``
    follows *whose*.
    """

    column: WebColumn
    sql: str
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]]
    one: str = ""
    several: str = ""
    after: str = ""
    whose: str = ""
    values: tuple[str, ...] = ()


def noun_phrase(noun: str, clauses: Sequence[RowCondition]) -> str:
    """Return a noun (singular or plural) with conditions."""
    after = [clause.after for clause in clauses if clause.after]
    whose = [clause.whose for clause in clauses if not clause.after]
    amounts = [text for text in after if text.startswith("with ")]
    others = [text for text in after if not text.startswith("with ")]
    others.sort(key=lambda text: not text.startswith(("from ", "in ")))  # the movie from 2011 directed by X
    if len(others) > 1 and not others[-2].startswith(("from ", "in ")):  # directed by X that are rated PG
        be = "are" if noun_is_plural(noun) else "is"
        joint = "and" if _BY in others[-1] else f"that {be}"
        others[-2:] = [f"{others[-2]} {joint} {others[-1]}"]
    joined = ["with " + english.listed([text.removeprefix("with ") for text in amounts])] if amounts else []
    ends = ["whose " + " and whose ".join(whose)] if whose else []
    if ends and joined:  # X with a score of 8 whose country is Y: the score would seem to have a country
        is_plural = noun_is_plural(noun)
        singular = english.singular(noun) if is_plural else noun
        pronoun = "who" if english.is_person(noun) or english.is_person(singular) else "that"
        joined = [f"and {pronoun} {'have' if is_plural else 'has'} {joined[0].removeprefix('with ')}"]
        return " ".join([noun, *others, *ends, *joined])
    return " ".join([noun, *others, *joined, *ends])


def share_preposition(a: RowCondition, b: RowCondition) -> bool:
    """Return whether two conditions would follow a noun with the same word: *movies from China from 2015*."""
    return bool(a.after) and a.after.partition(" ")[0] == b.after.partition(" ")[0]


def noun_is_plural(noun: str) -> bool:
    """Return whether a noun phrase is plural."""
    return english.is_plural(noun)


def predicate(clauses: Sequence[RowCondition]) -> str:
    """Return conditions as one predicate; "" if one has none."""
    parts = [clause.several for clause in clauses]
    return " and ".join(parts) if all(parts) else ""
