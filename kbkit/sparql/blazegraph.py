"""Rewrite extensions of Blazegraph to standard SPARQL 1.1, from named subqueries to lenient dates.

* query hints: dropped
* named subqueries, ``WITH { SELECT ... } AS %name`` and ``INCLUDE %name``: inlined
* terms: ``TRUE``, ``"2020-01-01"^^xsd:dateTime``, undeclared ``:a`` for ``_:a``, ``wikibase:isSomeValue``
* comparisons of ``xsd:date`` with times, and differences of times, which Blazegraph counts in days
* duplicate columns; HAVING over a computed column; variables that are bound twice
"""

from __future__ import annotations

import re

from lark import Token, Tree

from kbkit.errors import suggest
from kbkit.schema import Wikibase
from kbkit.sparql.context import Context, rename, string
from kbkit.sparql.parse import expression, patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    Triple,
    child,
    children,
    copy,
    drop_verbs,
    group,
    nodes,
    pairs,
    parents,
    put,
    replace,
    tokens,
    variables,
    visible,
)

MAX_WORDS = 50_000
"""Limit on the size of a query with its named subqueries inlined: nested ones grow exponentially."""
MAX_REPEATED = 2_000
"""Limit on the characters of an operand that must be written several times: nested ones grow exponentially."""

_XSD = Wikibase.PREFIXES["xsd"]
_DATE = re.compile(r"([-+]?\d{4,})(?:-(\d\d)(?:-(\d\d))?)?(?:T(\d\d:\d\d:\d\d(?:\.\d+)?))?(Z|[-+]\d\d:\d\d)?")
_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")


def drop_hints(tree: ParseTree, context: Context) -> None:
    """Remove query hints: triples whose subject or verb is in the namespace ``hint:``."""

    def is_hint(triple: Triple) -> bool:
        return any((context.names.iri(node) or "").startswith(Wikibase.HINT) for node in triple[:2])

    dropped = drop_verbs(tree, is_hint)
    if dropped:
        context.note("Removed hints to the query optimizer" if dropped > 1 else "Removed a hint to the query optimizer")


# -- named subqueries -------------------------------------------------------------------------------------------------


def inline_subqueries(tree: ParseTree, context: Context) -> None:
    """Replace each ``INCLUDE`` by a copy of its named subquery."""
    definitions: dict[str, ParseTree] = {}
    parent_of = parents(tree)
    for named in list(nodes(tree, "named_subquery")):
        select = child(named, "sub_select")
        assert select is not None
        name = str(named.children[-1])
        if name in definitions:
            refuse(named, f"Duplicate named subquery {name}", "Rename one of them")
        definitions[name] = select
        parent_of[id(named)].children.remove(named)
    used: set[str] = set()
    size = sum(1 for _ in tokens(tree))
    todo: list[tuple[ParseTree, ParseTree, tuple[str, ...]]] = [
        (parent_of[id(include)], include, ()) for include in nodes(tree, "include") if id(include) in parent_of
    ]
    while todo:
        parent, include, names = todo.pop()
        body = copy(_definition(include, definitions, names))
        assert isinstance(body, Tree)
        name = str(include.children[1])
        if name in used:
            context.rename_blank_nodes(body)
        used.add(name)
        size += sum(1 for _ in tokens(body))
        if size > MAX_WORDS:
            refuse(include, f"The query has over {MAX_WORDS:,} words with named subqueries inlined", "Include fewer")
        put(parent, include, Tree("group_or_union_graph_pattern", [group(body)]))
        within = parents(body)
        todo += [(within[id(inner)], inner, (*names, name)) for inner in nodes(body, "include")]
    for name in definitions:
        context.note(f"Inlined {name} where it is included" if name in used else f"Removed {name}: it is not included")


def _definition(include: ParseTree, definitions: dict[str, ParseTree], names: tuple[str, ...]) -> ParseTree:
    name = str(include.children[1])
    if name not in definitions:
        hint = suggest(name, definitions) if definitions else f"Define it: WITH {{ SELECT ... }} AS {name}"
        refuse(include, f"Unknown named subquery {name}", hint)
    if name in names:
        refuse(include, f"Named subquery {name} includes itself", "Include only subqueries defined before it")
    return definitions[name]


# -- terms and functions ----------------------------------------------------------------------------------------------


def normalize_terms(tree: ParseTree, context: Context) -> None:
    """Rewrite ``TRUE``, times without a time of day, ``:a`` for ``_:a``, and functions of Wikibase."""
    blank = {str(token)[2:] for token in tokens(tree) if token.type == "BLANK_NODE_LABEL"}

    def change(node: Node) -> Node:
        if isinstance(node, Tree):
            return {"rdf_literal": _time, "function_call": _function, "built_in_call": _is_blank}.get(node.data, _same)(
                node, context
            )
        if node.type == "BOOLEAN" and node != node.lower():
            return Token("BOOLEAN", node.lower())
        if node.type == "PNAME_LN" and node.startswith(":") and "" not in context.names.all and node[1:] in blank:
            context.note(f"Read {node} as the blank node _{node}: the prefix : is not declared")
            return Token("BLANK_NODE_LABEL", "_" + node)
        return node

    replace(tree, change)


def _same(node: ParseTree, _context: Context) -> Node:
    return node


def _time(literal: ParseTree, context: Context) -> Node:
    """Complete ``"2020-01-01"^^xsd:dateTime``; months and days of 0, as Wikibase writes them, become 1."""
    words = literal.children
    if len(words) == 3 and context.is_iri(words[2], _XSD + "dateTime") and isinstance(words[0], Token):
        time = _complete(string(words[0]))
        if time is not None:
            context.note(f'Read {words[0]} as "{time}": it is not a valid xsd:dateTime')
            return Tree("rdf_literal", [Token("STRING", f'"{time}"'), *words[1:]], literal.meta)
    return literal


def _complete(text: str) -> str | None:
    """Return a date as a date with time, or None if it is complete or not a date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, time, zone = match.groups()
    month, day = (part if part not in (None, "00") else "01" for part in (month, day))
    result = f"{year.removeprefix('+')}-{month}-{day}T{time or '00:00:00'}{zone or ('' if time else 'Z')}"
    return result if result != text else None


def _function(call: ParseTree, context: Context) -> Node:
    """Rewrite ``wikibase:isSomeValue(?x)``, and ``xsd:dateTime`` of a constant date."""
    arguments = call.children[1]
    assert isinstance(arguments, Tree)
    values = [value for value in arguments.children if value not in ("(", ")", ",")]
    if context.is_iri(call.children[0], Wikibase.ONTOLOGY + "isSomeValue") and len(values) == 1:
        context.note("Rewrote wikibase:isSomeValue() as a test for Wikidata's IRIs of unknown values")
        return expression(_is_unknown(_repeatable(values[0], call)))
    if context.is_iri(call.children[0], _XSD + "dateTime") and len(values) == 1:
        value = values[0]
        if isinstance(value, Tree) and value.data == "rdf_literal" and len(value.children) == 1:
            assert isinstance(value.children[0], Token)
            time = _complete(string(value.children[0]))
            if time is not None:
                context.note(f'Read {value.children[0]} as "{time}": it is not a valid xsd:dateTime')
                value.children[0] = Token("STRING", f'"{time}"')
    return call


def _is_blank(call: ParseTree, context: Context) -> Node:
    """Extend ``isBLANK(?x)``: unknown values are blank nodes in Wikibase's model, but IRIs in the query service."""
    if not isinstance(call.children[0], Token) or call.children[0].upper() != "ISBLANK":
        return call
    context.note("Extended isBLANK() to Wikidata's IRIs of unknown values")
    text = _repeatable(call.children[2], call)
    return expression(f"ISBLANK({text}) || {_is_unknown(text)}")


def _repeatable(value: Node, parent: ParseTree) -> str:
    """Return the text of an operand that replaces ``parent`` and occurs in it more than once."""
    text = to_text(value)
    if len(text) > MAX_REPEATED:
        refuse(parent, f"Operand longer than {MAX_REPEATED:,} characters", "Assign it to a variable with BIND first")
    return text


def _is_unknown(text: str) -> str:
    return f'ISIRI({text}) && STRSTARTS(STR({text}), "{Wikibase.GENID}")'


# -- dates ------------------------------------------------------------------------------------------------------------


def compare_dates(tree: ParseTree, context: Context) -> None:
    """Compare ``xsd:date`` constants as times, and return differences of times in days, as Blazegraph does."""
    objects = {
        str(value)[1:]
        for properties in nodes(tree, "property_list_path_not_empty")
        for verb, value in pairs(properties)
        if not (context.names.iri(verb) or "").startswith(Wikibase.ONTOLOGY + "quantity")
    }

    def change(node: Node) -> Node:
        if not isinstance(node, Tree):
            return node
        if node.data == "relational_expression" and node.children[1] in _COMPARISONS:
            left, sign, right = node.children
            if _may_be_time(left, objects, context):
                node.children = [left, sign, _as_time(right, context)]
            elif _may_be_time(right, objects, context):
                node.children = [_as_time(left, context), sign, right]
        if node.data == "additive_expression" and len(node.children) == 3 and node.children[1] == "-":
            return _days(node, objects, context)
        return node

    replace(tree, change)


def _as_time(node: Node, context: Context) -> Node:
    """Turn a constant date into a time: all dates of Wikidata are times."""
    if isinstance(node, Tree) and node.data == "rdf_literal" and len(node.children) == 3:
        word = node.children[0]
        if context.is_iri(node.children[2], _XSD + "date") and isinstance(word, Token):
            time = _complete(string(word))
            if time is not None:
                context.note(f"Compared {word}^^xsd:date as a time")
                kind = context.names.short(_XSD + "dateTime")
                return next(nodes(expression(f'"{time}"^^{kind}'), "rdf_literal"))
    return node


def _days(node: ParseTree, objects: set[str], context: Context) -> Node:
    """Rewrite ``?a - ?b`` to a number of days if the result is a duration."""
    left, _, right = node.children
    if not (_may_be_time(left, objects, context) and _may_be_time(right, objects, context)):
        return node
    text = _repeatable(node, node)
    context.note(f"Rewrote {text}: a difference of times is a number of days")
    duration, decimal = (context.names.short(_XSD + name) for name in ("dayTimeDuration", "decimal"))
    days = f'COALESCE({decimal}(REPLACE(STR({text}), "T.*$|[PD]", "")), 0)'  # P5DT3H, -P5D, PT0S
    return expression(f"IF(DATATYPE({text}) = {duration}, {days}, {text})")


def _may_be_time(node: Node, objects: set[str], context: Context) -> bool:
    while isinstance(node, Tree) and node.data == "bracketted_expression":
        node = node.children[1]
    if isinstance(node, Token):
        return node.type == "VAR" and str(node)[1:] in objects
    if node.data == "built_in_call":
        return str(node.children[0]).upper() == "NOW"
    return node.data == "function_call" and context.is_iri(node.children[0], _XSD + "dateTime")


# -- columns and variables --------------------------------------------------------------------------------------------


def drop_duplicate_columns(tree: ParseTree, context: Context) -> None:
    """Remove repeated columns of SELECT."""
    for clause in nodes(tree, "select_clause"):
        seen: set[str] = set()
        columns = []
        for part in clause.children:
            name = str(part)[1:] if isinstance(part, Token) and part.type == "VAR" else ""
            if name and name in seen:
                context.note(f"Removed the duplicate column ?{name}")
                continue
            seen.add(name)
            columns.append(part)
        clause.children = columns


def expand_having(tree: ParseTree, context: Context) -> None:
    """Replace computed columns of SELECT in HAVING by their expressions."""
    for query in nodes(tree, "select_query", "sub_select"):
        clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
        assert clause is not None and modifier is not None
        computed = {str(part.children[-2])[1:]: part.children[1] for part in children(clause, "select_expression")}
        for condition in children(modifier, "having_clause"):
            inner = nodes(condition, "aggregate", "exists_func", "not_exists_func")
            below = {name for part in inner for name in variables(part)}  # there, the name is the pattern's
            used = sorted((variables(condition) & set(computed)) - below)
            if used:
                _substitute(condition, {name: computed[name] for name in used})
                context.note("Repeated the expressions of " + ", ".join(f"?{name}" for name in used) + " in HAVING")


def _substitute(condition: ParseTree, computed: dict[str, Node]) -> None:
    def change(node: Node) -> Node:
        if isinstance(node, Token) and node.type == "VAR" and str(node)[1:] in computed:
            return expression(to_text(computed[str(node)[1:]]))
        return node

    replace(condition, change)


def separate_bindings(tree: ParseTree, context: Context) -> None:
    """Rename variables that are bound twice.

    ``SELECT (expression AS ?x)`` over a pattern or GROUP BY that binds ``?x``: the column is the expression, and the
    inner ``?x`` is renamed. ``BIND(expression AS ?x)`` after ``?x`` is bound: rows where the two differ are dropped.
    """
    for query in list(nodes(tree, "select_query", "sub_select")):
        _separate_columns(query, context)
    for parent in list(nodes(tree, "group_graph_pattern")):
        _separate_binds(parent, context)


def _separate_columns(query: ParseTree, context: Context) -> None:
    clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
    assert clause is not None
    grouping = child(modifier, "group_clause") if modifier is not None else None
    inside = [part for part in (*children(query, "where_clause", "values_clause"), grouping) if part is not None]
    grouped = grouping is not None or any(list(nodes(part, "aggregate")) for part in clause.children)
    bound = _group_variables(grouping) if grouped else set(visible(*inside))
    after = children(modifier, "having_clause") if modifier is not None else []
    for at, column in enumerate(clause.children):
        if not isinstance(column, Tree):
            continue
        target = column.children[-2]
        assert isinstance(target, Token)
        name = str(target)[1:]
        if name not in bound:
            continue
        if isinstance(column.children[1], Token) and column.children[1][1:] == name:
            clause.children[at] = target  # (?x AS ?x)
            continue
        new = context.variable(name)
        context.note(f"Renamed the inner ?{name} to {new}: ?{name} is bound twice")
        names = {"?" + name: new}
        bound = bound - {name} | {new[1:]}
        later = [part for part in clause.children[at + 1 :] if isinstance(part, Tree)]
        later += children(modifier, "order_clause") if modifier is not None else []
        aggregates = [part for parent in later for part in nodes(parent, "aggregate")]
        for part in (*inside, *after, *aggregates, *(p for p in clause.children[:at] if isinstance(p, Tree))):
            rename(part, names)
        renamed: ParseTree = Tree("column", column.children[:-2])
        rename(renamed, names)
        column.children[:-2] = renamed.children


def _group_variables(grouping: ParseTree | None) -> set[str]:
    """Return the variables that GROUP BY projects."""
    if grouping is None:
        return set()
    found = set()
    for condition in children(grouping, "group_condition"):
        words: list[Node] = condition.children
        last = words[0] if len(words) == 1 else words[-2]
        if isinstance(last, Token) and last.type == "VAR":
            found.add(str(last)[1:])
    return found


def _separate_binds(parent: ParseTree, context: Context) -> None:
    at = 0
    seen: set[str] = set()
    while at < len(parent.children):
        bind = parent.children[at]
        at += 1
        name = str(bind.children[-2])[1:] if isinstance(bind, Tree) and bind.data == "bind" else ""
        if not isinstance(bind, Tree) or name not in seen:
            seen |= visible(bind).keys()
            continue
        first, second = context.variable(name), context.variable(name)
        context.note(f"Dropped rows where the two values of ?{name} differ: it is bound twice")
        for part in parent.children[: at - 1]:
            if isinstance(part, Tree):
                rename(part, {"?" + name: first})
        renamed: ParseTree = Tree("bind", bind.children[:-2])
        rename(renamed, {"?" + name: first})
        bind.children = [*renamed.children, Token("VAR", second), bind.children[-1]]
        new = patterns(
            f"BIND(COALESCE({first}, {second}) AS ?{name}) "
            f"FILTER(!BOUND({first}) || !BOUND({second}) || SAMETERM({first}, {second}))"
        )
        parent.children[at:at] = new
        at += len(new)
        seen |= {first[1:], second[1:]}
