"""Rewrite calls whose results in Oxigraph, and on columns, are not those of the standard or of the query service.

* ``GROUP_CONCAT(?x)`` joins ``STR(?x)`` (SPARQL 1.1, section 18.5.1.7); the engines join strings only
* ``REPLACE(?x, "a(b)", "$1c")``: a reference has digits (XPath, ``fn:replace``); the engines read the group ``1c``
* ``REGEX`` and ``REPLACE`` with an invalid regular expression, which match nothing, are noted
* aggregates of the dialect ``wikidata`` skip rows that lack the variable, as Blazegraph does; the standard's are errors
"""

from __future__ import annotations

import re

from lark import Token, Tree

from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES
from kbkit.sparql.context import Context, string
from kbkit.sparql.parse import expression
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import Node, ParseTree, certain, child, children, nodes, replace
from kbkit.stores.sparql_text import is_regex, string_literal

INVALID = "Invalid regular expression "
"""How the notes begin that users are told without asking."""
NONE = KB_NAMESPACE + "none"
"""Datatype of the value that stands for a missing one in MIN: its text is after all others."""
_STRINGS = ("STR", "LANG", "ENCODE_FOR_URI", "MD5", "SHA1", "SHA256", "SHA384", "SHA512", "STRUUID")
"""Functions whose results are strings without a language."""
_AMBIGUOUS = re.compile(r"\\|\$\$|\$\d[\w{]")
"""What the engines may read in another way than ``fn:replace``."""
_SPECIAL = re.compile(r"[\\()\[{*+?]")
"""What every invalid regular expression has."""
_REFERENCE = re.compile(r"\\([\\$])|\$(\d+)|([\\$])")


def correct(tree: ParseTree, context: Context) -> None:
    """Rewrite the calls that deviate from the standard."""

    def change(node: Node) -> Node:
        if isinstance(node, Token):
            return node
        name = str(node.children[0]).upper() if node.data in ("aggregate", "built_in_call") else ""
        if name == "GROUP_CONCAT":
            _join_texts(node, context)
        elif name in ("REGEX", "REPLACE"):
            _note_invalid(node, name, context)
            if name == "REPLACE":
                _write_references(node, context)
        return node

    replace(tree, change)


def _argument(aggregate: ParseTree) -> int:
    """Return the position of the argument of an aggregate."""
    first = aggregate.children[2]
    return 3 if isinstance(first, Token) and first.type == "DISTINCT" else 2


def _join_texts(aggregate: ParseTree, context: Context) -> None:
    at = _argument(aggregate)
    value = aggregate.children[at]
    if isinstance(value, Tree) and value.data == "built_in_call" and str(value.children[0]).upper() in _STRINGS:
        return
    aggregate.children[at] = Tree("built_in_call", [Token("FUNCTION_1", "STR"), _sign("("), value, _sign(")")])
    context.note("GROUP_CONCAT joins values as text")


def _sign(text: str) -> Token:
    return Token("LPAR" if text == "(" else "RPAR", text)


def _note_invalid(call: ParseTree, name: str, context: Context) -> None:
    """Note a constant regular expression that the engines reject, as ``fn:matches`` does: the call is an error."""
    at = 6 if name == "REGEX" else 8
    pattern, flags = (_constant(call.children[place]) if place < len(call.children) else "" for place in (4, at))
    if pattern is None or flags is None or not (_SPECIAL.search(pattern) or set(flags) - set("imsx")):
        return
    if not is_regex(pattern, flags):
        shown = string_literal(pattern)
        context.note(f"{INVALID}{shown}: nothing matches it. Look-around and back-references are not supported")


def _write_references(call: ParseTree, context: Context) -> None:
    """Write ``$1c`` as ``${1}c`` in the constant replacement of a call; one that is invalid stays."""
    pattern, replacement, flags = (
        _constant(call.children[at]) if at < len(call.children) else None for at in (4, 6, 8)
    )
    if replacement is None:
        return
    if "q" in (flags or ""):
        written = replacement.replace("$", "$$")
    elif not _AMBIGUOUS.search(replacement):
        return
    else:
        groups = 99 if pattern is None else len(re.findall(r"(?<!\\)\((?!\?)", pattern))
        written = _REFERENCE.sub(lambda match: _reference(match, groups), replacement)
    if written != replacement:
        call.children[6] = Tree("rdf_literal", [Token("STRING", string_literal(written))])
        context.note(f"Read {string_literal(replacement)} as XPath's fn:replace does")


def _reference(match: re.Match[str], groups: int) -> str:
    escaped, digits, _ = match.groups()
    if escaped is not None:
        return "$$" if escaped == "$" else "\\"
    if digits is None:  # an error of fn:replace
        return match[0]
    length = len(digits)
    while length > 1 and int(digits[:length]) > groups:
        length -= 1
    return f"${{{digits[:length]}}}{digits[length:]}"


def _constant(node: Node) -> str | None:
    """Return the text of a string constant."""
    token = node.children[0] if isinstance(node, Tree) and node.data == "rdf_literal" else None
    return string(token) if isinstance(token, Token) else None


# -- rows that lack a variable ----------------------------------------------------------------------------------------


def skip_missing(tree: ParseTree, context: Context) -> None:
    """Make aggregates of variables that may be unbound skip such rows."""
    for query in list(nodes(tree, "select_query", "sub_select")):
        where = child(query, "where_clause")
        assert where is not None
        known = _certain(where.children[-1], context)

        def change(node: Node, known: set[str] = known) -> Node:
            if not isinstance(node, Tree) or node.data != "aggregate":
                return node
            value = node.children[_argument(node)]
            if not isinstance(value, Token) or value.type != "VAR" or str(value)[1:] in known:
                return node
            text = _skipping(node, str(value))
            if text is None:
                return node
            context.note(f"Skipped rows without {value} in {str(node.children[0]).upper()}, as the query service does")
            return expression(text)

        for part in children(query, "select_clause", "solution_modifier"):
            replace(part, change)


def _skipping(aggregate: ParseTree, name: str) -> str | None:
    """Return an aggregate that skips rows without a variable; None if it does so anyway."""
    function = str(aggregate.children[0]).upper()
    distinct = "DISTINCT " if _argument(aggregate) == 3 else ""
    if function == "GROUP_CONCAT":
        words = [part for part in aggregate.children if isinstance(part, Token) and part.type == "STRING"]
        separator = string(words[-1]) if words else " "
        part = f"CONCAT({string_literal(separator)}, STR({name}))" if separator else f"STR({name})"
        joined = f'GROUP_CONCAT({distinct}COALESCE({part}, ""); SEPARATOR="")'
        return f"SUBSTR({joined}, {len(separator) + 1})" if separator else joined
    total, count = f"SUM({distinct}COALESCE({name}, 0))", f"COUNT({distinct}{name})"
    if function == "SUM":
        return total
    if function == "AVG":
        return f"IF({count} = 0, 0, {total} / {count})"
    if function not in ("MIN", "MAX"):
        return None
    other = "BNODE()" if function == "MAX" else f'"\U0010ffff"^^<{NONE}>'
    return f"IF({count} = 0, 1/0, {function}(COALESCE({name}, {other})))"


def _certain(group: Node, context: Context) -> set[str]:
    """Return variables that a group binds in every row, those of labels included."""
    bound = certain(group)
    label = STANDARD_PREFIXES["rdfs"] + "label"
    for bind in children(group, "bind") if isinstance(group, Tree) else ():
        call = bind.children[2]
        if isinstance(call, Tree) and call.data == "function_call":
            listed = call.children[1]
            assert isinstance(listed, Tree)
            is_label = context.is_iri(call.children[0], KB_NAMESPACE + "inLanguage")
            if is_label and context.is_iri(listed.children[3], label) and to_text(listed.children[1])[1:] in bound:
                bound.add(str(bind.children[-2])[1:])
    return bound
