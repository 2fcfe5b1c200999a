"""A query as this engine takes it, and in words what was changed.

Each step is a function from tree to tree with one concern; new pieces are parsed by the same grammar, so that what
comes out is a query again. The steps, in this order: named subqueries, hints, terms and dates, full text, places, the
cap on rows, labels, services that are refused, paths, variables bound twice, prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lark import Token, Tree

from kbkit.errors import BadInputError, QuerySyntaxError, UnknownNameError, suggest
from kbkit.schema import STANDARD_PREFIXES, Wikibase
from kbkit.sparql import full_text, geo, labels, leniencies, named_subqueries, paths, rebinding, services
from kbkit.sparql.context import Context, Search
from kbkit.sparql.names import Names
from kbkit.sparql.parse import parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.scope import projected
from kbkit.sparql.tree import ParseTree, child, nodes, tokens

DIALECTS = ("sparql", "wikidata")


@dataclass(frozen=True)
class Rewritten:
    """A query for the engine; ``notes`` say what was changed, each in a few words."""

    text: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "".join(f"# {' '.join(note.split())}\n" for note in self.notes) + self.text


def rewrite(
    text: str,
    dialect: str,
    search: Search | None = None,
    languages: Sequence[str] = ("en",),
    limit: int | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> Rewritten:
    """The query in standard SPARQL 1.1 (and ``geof:`` functions), with no ``SERVICE`` in it.

    ``dialect`` is ``wikidata``, for queries as the Wikidata Query Service takes them, or ``sparql``: there only
    ``SERVICE kb:search`` and the cap are put in, and a text without both comes back as it is. ``search`` answers
    ``SERVICE kb:search``; ``languages``, best first, stand for ``[AUTO_LANGUAGE]``. ``limit`` caps the rows of SELECT,
    and the solutions that CONSTRUCT and DESCRIBE are made from. ``prefixes`` are those that the engine will supply.
    In the dialect ``sparql`` the engine may know more than this grammar (RDF 1.2): what cannot be read here, and names
    no service, comes back as it is, without the cap, for the engine to judge; who wants few rows then takes the first.
    Raises :class:`QuerySyntaxError` with line and column for what cannot be read, or has no counterpart here.
    """
    if dialect not in DIALECTS:
        raise UnknownNameError("dialect", dialect, DIALECTS)
    if limit is not None and limit < 0:
        raise BadInputError(f"a cap of {limit} rows is negative", "give 0 or more, or none")
    wikidata = dialect == "wikidata"
    if not wikidata and limit is None and "service" not in text.lower():
        return Rewritten(text)
    try:
        tree = parse(text)
    except QuerySyntaxError as error:
        if wikidata or "service" in text.lower():
            raise
        return Rewritten(text, (f"taken as it is, with no cap in it: {error.message}",))
    names = Names(tree, {**(Wikibase.PREFIXES if wikidata else {}), **STANDARD_PREFIXES, **(prefixes or {})})
    taken = {str(token)[1:].lstrip(":") for token in tokens(tree) if token.type in ("VAR", "BLANK_NODE_LABEL")}
    context = Context(names, tuple(languages) or ("en",), search, limit, taken)
    if wikidata:
        _wikidata(tree, context, known=prefixes is not None)
    else:
        full_text.search(tree, context)
        services.refuse_others(tree, context, wikidata=False)
        cap(tree, context)
    if not wikidata and not context.notes:
        return Rewritten(text)
    return Rewritten(to_text(tree) + "\n", tuple(context.notes))


def check(text: str, prefixes: Mapping[str, str]) -> None:
    """Raise :class:`QuerySyntaxError` for a query that cannot be read, or that uses a prefix which is nobody's."""
    tree = parse(text)
    names = Names(tree, {**STANDARD_PREFIXES, **prefixes})
    declare(tree, Context(names, ("en",), None, None, set()), known=True)


def _wikidata(tree: ParseTree, context: Context, *, known: bool) -> None:
    named_subqueries.inline(tree, context)
    services.drop_hints(tree, context)
    services.ask_here(tree, context)
    stars = {id(query): projected(query) for query in nodes(tree, "select_query", "sub_select") if _has_star(query)}
    leniencies.terms(tree, context)
    leniencies.dates(tree, context)
    leniencies.columns(tree, context)
    leniencies.having(tree, context)
    full_text.search(tree, context)
    geo.locate(tree, context)
    cap(tree, context)
    labels.serve(tree, context)
    services.refuse_others(tree, context, wikidata=True)
    paths.turn_round(tree, context)
    rebinding.separate(tree, context)
    _write_out_stars(tree, stars)
    declare(tree, context, known=known)


def _has_star(query: ParseTree) -> bool:
    clause = child(query, "select_clause")
    return clause is not None and clause.children[-1] == "*"


def _write_out_stars(tree: ParseTree, stars: dict[int, list[str]]) -> None:
    """Name the columns of ``SELECT *`` where rewriting has added variables that nobody asked for."""
    for query in nodes(tree, "select_query", "sub_select"):
        columns = stars.get(id(query))
        if columns and columns != projected(query):
            clause = child(query, "select_clause")
            assert clause is not None
            clause.children[-1:] = [Token("VAR", "?" + name) for name in columns]


def cap(tree: ParseTree, context: Context) -> ParseTree:
    """Let at most ``context.limit`` rows come: a lower LIMIT stays as it is."""
    query = next(nodes(tree, "select_query", "construct_query", "describe_query"), None)
    if context.limit is None or query is None:
        return tree
    modifier = child(query, "solution_modifier")
    assert modifier is not None
    limit = next(nodes(modifier, "limit_clause"), None)
    number = Token("INTEGER", str(context.limit))
    if limit is not None:
        if int(str(limit.children[1])) <= context.limit:
            return tree
        limit.children[1] = number
    else:
        clause: ParseTree = Tree("limit_clause", [Token("LIMIT", "LIMIT"), number])
        both = child(modifier, "limit_offset_clauses")
        if both is None:
            modifier.children.append(Tree("limit_offset_clauses", [clause]))
        else:
            both.children.insert(0, clause)
    context.note(f"at most {context.limit} rows")
    return tree


def declare(tree: ParseTree, context: Context, *, known: bool) -> ParseTree:
    """Declare the prefixes that are used and supplied; refuse those that are ``known`` to be nobody's."""
    used = {str(token).partition(":")[0]: token for token in tokens(tree) if token.type in ("PNAME_LN", "PNAME_NS")}
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
        context.note("prefixes supplied: " + ", ".join(added))
    for prefix, token in used.items():
        if known and prefix not in context.names.all:
            line, column = token.line or 0, token.column or 0
            message = f"line {line}, column {column}: the prefix {prefix}: is declared nowhere"
            hint = suggest(prefix, context.names.all) if prefix else f"PREFIX {prefix}: <http://...> declares it"
            raise QuerySyntaxError(message, hint, line=line, column=column)
    return tree
