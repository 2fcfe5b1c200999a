"""Rewrite a query for the engine, with notes on the changes for the user.

Each step is a function that changes the tree for one purpose. New patterns are parsed with the same grammar, so the
result is always a valid query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lark import Token, Tree

from kbkit.errors import BadInputError, QuerySyntaxError, UnknownNameError, suggest
from kbkit.schema import STANDARD_PREFIXES, Wikibase
from kbkit.sparql import blazegraph, checks, paths, private, services, standard, times
from kbkit.sparql.context import Context, Find, QueryPrefixes, Search, Values, Walk
from kbkit.sparql.names import is_corrected
from kbkit.sparql.parse import error_at, parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import ParseTree, child, merge_triples, nodes, projected, tokens
from kbkit.stores.sparql_process import ResultColumn

_BASE = "https://query.wikidata.org/sparql"
_SCHEME = re.compile("<[A-Za-z][A-Za-z0-9+.-]*:")
DIALECTS = ("sparql", "wikidata")


@dataclass(frozen=True)
class Rewritten:
    """A query for the engine; each of the ``notes`` names one change. ``str`` prints the notes as comments.

    ``columns`` are those of the result, if labels are added to it; empty: those of the query.
    """

    text: str
    notes: tuple[str, ...] = ()
    columns: tuple[ResultColumn, ...] = ()

    def __str__(self) -> str:
        return "".join(f"# {' '.join(note.split())}\n" for note in self.notes) + self.text


def rewrite(
    text: str,
    dialect: str,
    search: Search | None = None,
    walk: Walk | None = None,
    languages: Sequence[str] = ("en",),
    limit: int | None = None,
    prefixes: Mapping[str, str] | None = None,
    types_apart: bool = False,
    add_columns: bool = False,
    find: Find | None = None,
    values: Values | None = None,
) -> Rewritten:
    """Rewrite a query to standard SPARQL 1.1 (and ``geof:`` functions) without ``SERVICE``.

    ``dialect`` is ``wikidata``, for queries written for the Wikidata Query Service, or ``sparql``, which changes only
    ``SERVICE kb:search``, the limit and calls in which the engines deviate from the standard; a query with none of
    these is returned unchanged. ``search`` answers
    ``SERVICE kb:search``, ``walk`` answers ``SERVICE gas:service``, ``find`` the EntitySearch of
    ``SERVICE wikibase:mwapi``, whose words may be those that ``values`` returns. ``languages``, best first, replace
    ``[AUTO_LANGUAGE]``. ``limit`` is the maximum number of rows of SELECT, or of solutions that CONSTRUCT and DESCRIBE
    are built from. ``prefixes`` are those known to the engine. With ``types_apart``, the triples of ``kb:type`` are in
    a graph of their own. With ``add_columns``, labels that are only shown are columns of the result rather than of the
    query. In the dialect ``sparql`` the engine may support more than this grammar (RDF 1.2): a query that does not
    parse and mentions no service is returned unchanged, without the limit, which the caller must then apply.
    Raises :class:`QuerySyntaxError` with line and column for other syntax errors and for unsupported features.
    """
    if dialect not in DIALECTS:
        raise UnknownNameError("dialect", dialect, DIALECTS)
    if limit is not None and limit < 0:
        raise BadInputError(f"Invalid limit: {limit}", "Use 0 or more, or None for no limit")
    wikidata = dialect == "wikidata"
    plain = not wikidata and limit is None and not types_apart and "service" not in text.lower()
    if plain and not is_corrected(text):
        return Rewritten(text)
    try:
        tree = parse(text)
    except QuerySyntaxError as error:
        if wikidata or "service" in text.lower():
            raise
        return Rewritten(text, (f"Sent unchanged, without a limit: {error.message}",))
    if wikidata:
        _set_base(tree)
    names = QueryPrefixes(tree, {**(Wikibase.PREFIXES if wikidata else {}), **STANDARD_PREFIXES, **(prefixes or {})})
    taken = {str(token)[1:].lstrip(":") for token in tokens(tree) if token.type in ("VAR", "BLANK_NODE_LABEL")}
    columns: list[ResultColumn] | None = [] if add_columns else None
    context = Context(names, tuple(languages) or ("en",), search, walk, limit, taken, [], columns, find, values)
    services.refuse_foreign(tree, context)
    if types_apart:
        private.find_types(tree, context)
    if wikidata:
        _wikidata(tree, context, known=prefixes is not None)
    else:
        services.evaluate(tree, context, wikidata=False)
        services.refuse_others(tree, context, wikidata=False)
        standard.correct(tree, context)
        apply_limit(tree, context)
    if not wikidata and not context.notes:
        return Rewritten(text)
    return Rewritten(to_text(tree) + "\n", tuple(context.notes), tuple(context.columns or ()))


def check_query(text: str, prefixes: Mapping[str, str]) -> None:
    """Raise :class:`QuerySyntaxError` for a query with a syntax error, an invalid column or an undeclared prefix."""
    tree = parse(text)
    checks.refuse_invalid(tree)
    names = QueryPrefixes(tree, {**STANDARD_PREFIXES, **prefixes})
    declare(tree, Context(names, ("en",), taken=set()), known=True)


def _wikidata(tree: ParseTree, context: Context, *, known: bool) -> None:
    blazegraph.inline_subqueries(tree, context)
    blazegraph.drop_hints(tree, context)
    services.inline(tree, context)
    stars = {id(query): projected(query) for query in nodes(tree, "select_query", "sub_select") if _has_star(query)}
    blazegraph.normalize_terms(tree, context)
    times.calculate(tree, context)
    blazegraph.drop_duplicate_columns(tree, context)
    blazegraph.expand_columns(tree, context)
    blazegraph.order_assignments(tree, context)
    services.evaluate(tree, context, wikidata=True)
    merge_triples(tree)
    apply_limit(tree, context)
    services.evaluate(tree, context, wikidata=True, last=True)
    blazegraph.separate_aggregates(tree, context)
    standard.skip_missing(tree, context)
    standard.correct(tree, context)
    services.refuse_others(tree, context, wikidata=True)
    paths.split_closures(tree, context)
    blazegraph.separate_bindings(tree, context)
    _list_columns(tree, stars)
    declare(tree, context, known=known)


def _set_base(tree: ParseTree) -> None:
    """Declare a base if the query has relative IRIs without any: the service resolves them against its address."""
    prologue = child(tree, "prologue")
    assert prologue is not None
    relative = (word for word in tokens(tree) if word.type == "IRIREF" and not _SCHEME.match(word))
    if child(prologue, "base_decl") is None and any(True for _ in relative):
        words: list[Token | ParseTree] = [Token("BASE", "BASE"), Token("IRIREF", f"<{_BASE}>")]
        prologue.children.insert(0, Tree("base_decl", words))


def _has_star(query: ParseTree) -> bool:
    clause = child(query, "select_clause")
    return clause is not None and clause.children[-1] == "*"


def _list_columns(tree: ParseTree, stars: dict[int, list[str]]) -> None:
    """List the columns of a ``SELECT *``: rewriting may have added variables, and the engine's order is its own."""
    for query in nodes(tree, "select_query", "sub_select"):
        columns = stars.get(id(query))
        if columns:
            clause = child(query, "select_clause")
            assert clause is not None
            clause.children[-1:] = [Token("VAR", "?" + name) for name in columns]


def apply_limit(tree: ParseTree, context: Context) -> None:
    """Add ``LIMIT``, unless the query has a lower one."""
    query = next(nodes(tree, "select_query", "construct_query", "describe_query"), None)
    if context.limit is None or query is None:
        return
    modifier = child(query, "solution_modifier")
    assert modifier is not None
    limit = next(nodes(modifier, "limit_clause"), None)
    number = Token("INTEGER", str(context.limit))
    if limit is not None:
        if int(str(limit.children[1])) <= context.limit:
            return
        limit.children[1] = number
    else:
        clause: ParseTree = Tree("limit_clause", [Token("LIMIT", "LIMIT"), number])
        both = child(modifier, "limit_offset_clauses")
        if both is None:
            modifier.children.append(Tree("limit_offset_clauses", [clause]))
        else:
            both.children.insert(0, clause)
    context.note(f"Limited to {context.limit:,} row{'' if context.limit == 1 else 's'}")


def declare(tree: ParseTree, context: Context, *, known: bool) -> None:
    """Declare the supplied prefixes that the query uses; if all prefixes are ``known``, reject undeclared ones."""
    used: dict[str, Token] = {}
    for token in tokens(tree):
        if token.type in ("PNAME_LN", "PNAME_NS"):
            used.setdefault(str(token).partition(":")[0], token)
    prologue = child(tree, "prologue")
    assert prologue is not None
    added = []
    for prefix, namespace in context.names.supplied.items():
        if prefix in used and prefix not in context.names.declared:
            added.append(prefix)
            words: list[Token | ParseTree] = [
                Token("PREFIX", "PREFIX"),
                Token("PNAME_NS", f"{prefix}:"),
                Token("IRIREF", f"<{namespace}>"),
            ]
            prologue.children.append(Tree("prefix_decl", words))
    if added:
        context.note(
            "Declared the prefixes " + ", ".join(added) if len(added) > 1 else f"Declared the prefix {added[0]}"
        )
    for prefix, token in used.items():
        if known and prefix not in context.names.all:
            hint = suggest(prefix, context.names.all) if prefix else _without_prefix(str(token), context)
            raise error_at(token.line or 0, token.column or 0, f"Undeclared prefix {prefix}:", hint)


def _without_prefix(name: str, context: Context) -> str:
    """Return what to write instead of a name with an empty prefix that is not declared."""
    kinds = (("relations", "rel"), ("attributes", "attr"))
    own = [f"{what} are {prefix}{name}" for what, prefix in kinds if prefix in context.names.supplied]
    declare = "PREFIX : <http://...>"
    return f"In this KB, {' and '.join(own)}; or declare {declare}" if own else f"Declare it: {declare}"
