"""What queries have in common: unique query patterns (Table 6) and unique properties (Table 7), appendices A and B."""

from __future__ import annotations

from lark import Token

from kbkit.benchmarks.spinach.features import Query, properties, wikidata_id
from kbkit.schema import Wikibase
from kbkit.sparql.tree import ParseTree, children, tokens

_ONE_OF_ALL = {"VAR": "?", "NUMBER": "0", "SIGNED_NUMBER": "0", "INTEGER": "0", "STRING": '""'}
"""What stands for every variable, number and string."""
_PREFIXES = sorted(Wikibase.PREFIXES.items(), key=lambda item: -len(item[1]))
"""The longest namespace first, as some begin with others."""


def pattern(tree: ParseTree) -> str:
    """The form of a query: its tokens, "ignoring all query variables, property IDs (PIDs), entity IDs (QIDs), numbers,
    and string literals" (appendix B).

    White space, comments, the case of keywords and prefix declarations do not count, and an IRI is the same however it
    is written. All variables are one. Namespaces are kept: ``wdt:P31`` and ``p:P31`` differ.
    """
    query = Query(tree)
    body = (part for part in tree.children if part not in children(tree, "prologue"))
    return " ".join(_form(query, token) for part in body for token in tokens(part))


def _form(query: Query, token: Token) -> str:
    if token.type in _ONE_OF_ALL:
        return _ONE_OF_ALL[token.type]
    word, iri = str(token), query.iri(token)
    if not iri:
        return word if word == "a" else word.upper()
    name = wikidata_id(iri)
    return _shortened(iri.removesuffix(name) + name[:1])


def _shortened(iri: str) -> str:
    """An IRI with the prefix of the Wikidata Query Service, where it has one: ``wdt:P``."""
    for prefix, space in _PREFIXES:
        if iri.startswith(space):
            return f"{prefix}:{iri.removeprefix(space)}"
    return f"<{iri}>"


def pids(tree: ParseTree) -> set[str]:
    """The properties of a query, wherever they stand: also ``wd:P31``, as a value."""
    return properties(Query(tree), tree)
