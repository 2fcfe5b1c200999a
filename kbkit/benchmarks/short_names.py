"""Acronyms that questions use for long names: NATO for the North Atlantic Treaty Organization."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from kbkit.english.names import BODIES
from kbkit.english.types import type_noun
from kbkit.kb import KnowledgeBase

_LONG = 4
"""Words of a name from which a person would say its acronym."""
_SAID_AS_WORD = re.compile(r"[^AEIOU]?(?:[AEIOU]{1,2}[^AEIOU]{1,2})*[AEIOU]{1,2}[^AEIOU]?")
_LETTERS = 4
"""Letters of an acronym from which it may be said as a word."""
_SQL = f"""
WITH long AS (SELECT id, name, type::VARCHAR AS type, aliases[1] AS alias
              FROM nodes SEMI JOIN kbkit_wanted USING (id)
              WHERE len(string_split_regex(name, '[ -]+')) >= {_LONG}),
acronyms AS (SELECT * FROM long WHERE regexp_full_match(alias, '[A-Z]{{3,7}}')),
said AS (SELECT id, unnest(list_append(coalesce(aliases, []), name)) AS said FROM nodes),
taken AS (SELECT lower(said) AS said FROM said
          WHERE lower(said) IN (SELECT lower(alias) FROM acronyms) GROUP BY 1 HAVING count(DISTINCT id) > 1)
SELECT id, name, type, alias FROM acronyms WHERE lower(alias) NOT IN (SELECT said FROM taken) ORDER BY id"""


def short_names(kb: KnowledgeBase, nodes: Iterable[int]) -> dict[int, str]:
    """Return the acronyms of nodes with a long name, with *the* where it is said: *NATO*, *the OECD*.

    They are the first aliases of bodies, aliases of no other node, in capitals, and have letters of the name in its
    order.
    """
    wanted = pl.DataFrame({"id": pl.Series(sorted(set(nodes)), dtype=pl.Int32)})
    found: dict[int, str] = {}
    for node, name, kind, alias in kb.tables.lookup(_SQL, frames={"kbkit_wanted": wanted}).iter_rows():
        is_body = type_noun(kind).rpartition(" ")[2] in BODIES  # of a language, few know the acronym
        if is_body and re.match(".*?".join(alias), name, re.IGNORECASE):
            is_word = len(alias) >= _LETTERS and _SAID_AS_WORD.fullmatch(alias)
            found[node] = alias if is_word else f"the {alias}"
    return found
