"""Rewrite extensions of Blazegraph to standard SPARQL 1.1, from named subqueries to variables that are bound twice.

* query hints: dropped
* named subqueries, ``WITH { SELECT ... } AS %name`` and ``INCLUDE %name``: inlined
* terms: ``TRUE``, ``"2020-01-01"^^xsd:dateTime``, undeclared ``:a`` for ``_:a``, ``wikibase:isSomeValue``
* duplicate columns; computed columns in HAVING and in other columns; aggregates in BIND
* variables that are bound twice
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from lark import Token, Tree

from kbkit.errors import suggest
from kbkit.schema import Wikibase
from kbkit.sparql import times
from kbkit.sparql.context import Context, rename, string
from kbkit.sparql.parse import expression, patterns, refuse, repeatable
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    Triple,
    certain,
    child,
    children,
    copy,
    drop_verbs,
    group,
    index,
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

_XSD = Wikibase.PREFIXES["xsd"]
_LANGUAGE = Wikibase.ONTOLOGY + "language"
_AUTO = re.compile(re.escape("[AUTO_LANGUAGE]"), re.I)


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
    """Rewrite ``TRUE``, times without a time of day, ``:a`` for ``_:a``, functions of Wikibase, and the placeholder
    for the user's language, except where the label service has it: there it stands for several languages.
    """
    lists = {id(word) for verb, value in _verbs(tree) if context.is_iri(verb, _LANGUAGE) for word in tokens(value)}
    blank = {str(token)[2:] for token in tokens(tree) if token.type == "BLANK_NODE_LABEL"}

    def change(node: Node) -> Node:
        if isinstance(node, Tree):
            return {"rdf_literal": times.complete_literal, "function_call": _function, "built_in_call": _is_blank}.get(
                node.data, _same
            )(node, context)
        if "[" in node and id(node) not in lists and _AUTO.search(node):
            return Token.new_borrow_pos(node.type, _AUTO.sub(context.languages[0], node), node)
        if node.type == "BOOLEAN" and node != node.lower():
            return Token("BOOLEAN", node.lower())
        if node.type == "PNAME_LN" and node.startswith(":") and "" not in context.names.all and node[1:] in blank:
            context.note(f"Read {node} as the blank node _{node}: the prefix : is not declared")
            return Token("BLANK_NODE_LABEL", "_" + node)
        return node

    replace(tree, change)


def _verbs(tree: ParseTree) -> Iterator[tuple[Node, Node]]:
    for properties in nodes(tree, "property_list_path_not_empty"):
        yield from pairs(properties)


def _same(node: ParseTree, _context: Context) -> Node:
    return node


def _function(call: ParseTree, context: Context) -> Node:
    """Rewrite ``wikibase:isSomeValue(?x)``, and ``xsd:dateTime`` of a constant date."""
    arguments = call.children[1]
    assert isinstance(arguments, Tree)
    values = [value for value in arguments.children if value not in ("(", ")", ",")]
    if context.is_iri(call.children[0], Wikibase.ONTOLOGY + "isSomeValue") and len(values) == 1:
        context.note("Rewrote wikibase:isSomeValue() as a test for Wikidata's IRIs of unknown values")
        return expression(_is_unknown(repeatable(values[0], call)))
    if context.is_iri(call.children[0], _XSD + "dateTime") and len(values) == 1:
        value = values[0]
        if isinstance(value, Tree) and value.data == "rdf_literal" and len(value.children) == 1:
            assert isinstance(value.children[0], Token)
            time = times.complete(string(value.children[0]))
            if time is not None:
                context.note(f'Read {value.children[0]} as "{time}": it is not a valid xsd:dateTime')
                value.children[0] = Token("STRING", f'"{time}"')
    return call


def _is_blank(call: ParseTree, context: Context) -> Node:
    """Extend ``isBLANK(?x)``: unknown values are blank nodes in Wikibase's model, but IRIs in the query service."""
    if not isinstance(call.children[0], Token) or call.children[0].upper() != "ISBLANK":
        return call
    context.note("Extended isBLANK() to Wikidata's IRIs of unknown values")
    text = repeatable(call.children[2], call)
    return expression(f"ISBLANK({text}) || {_is_unknown(text)}")


def _is_unknown(text: str) -> str:
    return f'ISIRI({text}) && STRSTARTS(STR({text}), "{Wikibase.GENID}")'


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


def expand_columns(tree: ParseTree, context: Context) -> None:
    """Replace computed columns of a grouped SELECT, in HAVING and in later columns, by their expressions."""
    for query in nodes(tree, "select_query", "sub_select"):
        clause, modifier = child(query, "select_clause"), child(query, "solution_modifier")
        assert clause is not None and modifier is not None
        columns = children(clause, "select_expression")
        computed = {str(part.children[-2])[1:]: part.children[1] for part in columns}
        for condition in children(modifier, "having_clause"):
            _expand(condition, computed, "HAVING", context)
        grouped = child(modifier, "group_clause")
        if grouped is None and not any(True for _ in nodes(clause, "aggregate")):
            continue
        where = children(query, "where_clause", "values_clause")
        bound = set(visible(*where)) if grouped is None else _group_variables(grouped)
        earlier: dict[str, Node] = {}
        for column in columns:
            part: ParseTree = Tree("column", [column.children[1]])
            _expand(part, earlier, "SELECT", context)
            [column.children[1]] = part.children
            name = str(column.children[-2])[1:]
            if name not in bound:
                earlier[name] = column.children[1]


def _expand(part: ParseTree, computed: dict[str, Node], where: str, context: Context) -> None:
    """Replace computed columns in a part of a query, except those in aggregates and EXISTS: there, the pattern's."""
    inner = nodes(part, "aggregate", "exists_func", "not_exists_func")
    below = {name for aggregate in inner for name in variables(aggregate)}
    used = sorted((variables(part) & set(computed)) - below)
    if not used:
        return
    texts = {name: repeatable(computed[name], part) for name in used}

    def change(node: Node) -> Node:
        if isinstance(node, Tree) and node.data == "built_in_call" and str(node.children[0]).upper() == "BOUND":
            text = to_text(node.children[2])  # already replaced, but BOUND takes a variable only
            return (
                expression(f"COALESCE(SAMETERM({text}, {text}), false)") if isinstance(node.children[2], Tree) else node
            )
        name = str(node)[1:] if isinstance(node, Token) and node.type == "VAR" else ""
        return expression(texts[name]) if name in texts else node

    replace(part, change)
    context.note("Repeated the expressions of " + ", ".join(f"?{name}" for name in used) + f" in {where}")


def order_assignments(tree: ParseTree, context: Context) -> None:
    """Move each BIND behind the triples of its group that bind its variables, where the service evaluates it."""
    for parent in nodes(tree, "group_graph_pattern"):
        binds = [part for part in parent.children if isinstance(part, Tree) and part.data == "bind"]
        for bind in binds * len(binds):  # a BIND may wait for another
            at = index(parent, bind)
            missing = variables(bind.children[2]) - visible(*parent.children[:at]).keys()
            known: set[str] = set()
            for later in range(at + 1, len(parent.children) if missing else 0):
                part = parent.children[later]
                known |= visible(part).keys() if part in binds else certain(part)
                if missing <= known:
                    put(parent, bind)
                    after = index(parent, part) + 1
                    parent.children[after:after] = [bind]
                    context.note(f"Moved BIND of {bind.children[-2]} behind the patterns that bind its variables")
                    break


def separate_aggregates(tree: ParseTree, context: Context) -> None:
    """Compute aggregates in BIND over the patterns before it: ``BIND(?n / MAX(?n) AS ?share)``."""
    for group_pattern in list(nodes(tree, "group_graph_pattern")):
        for bind in [part for part in group_pattern.children if isinstance(part, Tree) and part.data == "bind"]:
            aggregates = [to_text(part) for part in nodes(bind, "aggregate")]
            if not aggregates:
                continue
            at = index(group_pattern, bind)
            before: ParseTree = Tree("group_graph_pattern", [copy(part) for part in group_pattern.children[:at]])
            before.children.append(Token("RBRACE", "}"))
            context.rename_blank_nodes(before)
            names = {text: context.variable("aggregate") for text in dict.fromkeys(aggregates)}
            columns = " ".join(f"({text} AS {name})" for text, name in names.items())
            group_pattern.children[at:at] = patterns(f"{{ SELECT {columns} WHERE {to_text(before)} }}")
            replace(bind, partial(_named_aggregate, names))
            context.note(f"Computed {', '.join(names)} over the patterns before BIND")


def _named_aggregate(names: dict[str, str], node: Node) -> Node:
    is_aggregate = isinstance(node, Tree) and node.data == "aggregate"
    return Token("VAR", names[to_text(node)]) if is_aggregate else node


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
    bound = set(visible(*inside)) | _group_variables(grouping)
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
    names = set()
    for condition in children(grouping, "group_condition"):
        words: list[Node] = condition.children
        last = words[0] if len(words) == 1 else words[-2]
        if isinstance(last, Token) and last.type == "VAR":
            names.add(str(last)[1:])
    return names


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
