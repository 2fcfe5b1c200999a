"""The function behind the label service, ``kb:inLanguage(?x, rdfs:label, "de,en")``, as joins.

It is the value of a property in the first of these languages that has one; several values in it are joined by commas.
Without any, a label is the id of an entity or the text of a literal. :mod:`kbkit.stores.sparql_worker` has it for
Oxigraph.
"""

from __future__ import annotations

from kbkit.schema import STANDARD_PREFIXES, Wikibase
from kbkit.schema import literal as sql_string
from kbkit.sparql.columns.algebra import Expression
from kbkit.sparql.columns.evaluating import UNBOUND, Evaluating
from kbkit.sparql.columns.rows import SqlRows
from kbkit.sparql.columns.terms import ConstantTerm, SqlValue, UnsupportedQueryError, lexical

_LABEL = STANDARD_PREFIXES["rdfs"] + "label"


def in_language(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    """Return the value of a property in the best of several languages."""
    if len(arguments) > 3:
        raise UnsupportedQueryError("labels in GRAPH")
    subject, verb, languages = arguments
    if not isinstance(verb, ConstantTerm) or not isinstance(languages, ConstantTerm):
        raise UnsupportedQueryError("labels by a variable property")
    if verb.kind != "iri" or not languages.text.startswith('""'):
        raise UnsupportedQueryError("labels by other terms than a property and a text")
    return best_label(scope.rows, scope.value(subject), verb, languages.text[2:])


def best_label(rows: SqlRows, value: SqlValue, verb: ConstantTerm, languages: str) -> SqlValue:
    """Return the value of a property of a column in the best of several languages, whose codes have commas between."""
    codes = tuple(languages.split(","))
    if not all(codes):
        raise UnsupportedQueryError("labels without a language")
    is_label = verb.text[1:] == _LABEL
    if value.sql.startswith(UNBOUND.sql):
        return UNBOUND
    if value.kind not in ("id", "node", "iri", "term"):  # literals
        return SqlValue(lexical(rows.plain(value)), "string") if is_label else UNBOUND
    value = rows.plain(value)
    best = rows.best_values(value, verb, codes)
    if not is_label:
        return SqlValue(best, "term")
    whole = rows.plain(rows.decoded(value))
    text = whole.sql if whole.kind == "iri" else f"substr({whole.sql}, 2)"
    entity = sql_string(Wikibase.ENTITY)
    name = f"""'""' || if(starts_with({text}, {entity}), substr({text}, {len(Wikibase.ENTITY) + 1}), {text})"""
    if whole.kind == "iri":
        return SqlValue(f"coalesce({best}, {name})", "term", whole.nullable)
    other = f"""CASE {whole.sql}[1] WHEN '<' THEN {name} WHEN '"' THEN '""' || {lexical(whole)} END"""
    return SqlValue(f"coalesce({best}, {other})", "term")
