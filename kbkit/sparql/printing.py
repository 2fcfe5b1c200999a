"""Print a syntax tree: its words unchanged, white space by rule, one pattern per line."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from lark import Token, Tree

from kbkit.sparql.tree import Node, ParseTree, children, tokens

_WIDE = 100
"""A list of values is wrapped after this many columns."""
_SHORT = 75
"""A group of one triple is printed in one line up to this length."""

_OWN_LINE = {
    "base_decl",
    "prefix_decl",
    "version_decl",
    "select_clause",
    "dataset_clause",
    "where_clause",
    "named_subquery",
    "group_clause",
    "having_clause",
    "order_clause",
    "limit_offset_clauses",
    "values_clause",
    "triples_same_subject_path",
    "triples_same_subject",
}
_LISTS = ("property_list_path_not_empty", "property_list_not_empty")
_BLOCKS = {"group_graph_pattern", "named_subquery", "construct_template"}
_CALLS = {"built_in_call", "aggregate", "arg_list", "bind"}
_PATHS = {"path_alternative", "path_sequence", "path_inverse", "path_elt", "path_group", "path_negated_property_set"}


def to_text(tree: Node) -> str:
    """Print a tree. Parsing the text again gives the same tree: no word is changed, added or dropped."""
    printer = _Printer()
    stack: list[tuple[Node, ParseTree | None]] = [(tree, None)]
    while stack:
        node, parent = stack.pop()
        if isinstance(node, Token):
            printer.write(node, parent)
        else:
            printer.enter(node, parent)
            stack += [(part, node) for part in reversed(node.children)]
    return "".join(printer.parts)


@dataclass
class _Printer:
    parts: list[str] = field(default_factory=list)
    indent: int = 0
    column: int = 0
    due: int | None = None
    """Indent of a pending line break."""
    last: Token | None = None
    last_parent: ParseTree | None = None
    short: set[int] = field(default_factory=set)
    """Groups printed in one line, by ``id``."""
    round: list[int] = field(default_factory=lambda: [0])
    """Number of open round or square brackets, for each open block."""

    def enter(self, tree: ParseTree, parent: ParseTree | None) -> None:
        """Decide whether a line break precedes a subtree."""
        if tree.data == "group_graph_pattern" and parent is not None and _is_short(tree, parent):
            self.short.add(id(tree))
            self.short.update(id(part) for part in tree.children)
        if parent is not None and id(parent) in self.short:
            self.due = None
            return
        in_group = parent is not None and parent.data == "group_graph_pattern"
        several_rows = tree.data == "data_row" and parent is not None and _has_rows(parent)
        if tree.data in _OWN_LINE or in_group:
            self.due = self.indent
        elif several_rows:
            self.due = self.indent + 1

    def write(self, word: Token, parent: ParseTree | None) -> None:
        """Write one word, preceded by white space where needed."""
        rule = parent.data if parent is not None else ""
        block = rule in _BLOCKS and id(parent) not in self.short
        if word == "}":
            self.round.pop()
            self.indent -= block
            rows = rule == "inline_data_full" and parent is not None and _has_rows(parent)
            if (block and self.last != "{") or rows:
                self.due = self.indent
        if word in (".", ";"):
            self.due = None
        if word.type == "UNION" and self.last_parent is not None and id(self.last_parent) in self.short:
            self.due = self.indent  # one line for each of two short groups
        if rule in ("inline_data_one_var", "data_row") and self.column > _WIDE:
            self.due = self.indent + 1
        self._space(word, parent)
        self._out(word)
        if word == "{":
            self.round.append(0)
            self.indent += block
        elif word in ("(", "["):
            self.round[-1] += 1
        elif word in (")", "]"):
            self.round[-1] -= 1
        elif word == ";" and rule.startswith("property_list") and not self.round[-1] and id(parent) not in self.short:
            self.due = self.indent + 2
        self.last, self.last_parent = word, parent

    def _space(self, word: Token, parent: ParseTree | None) -> None:
        if self.last is None:
            self.due = None
        elif self.due is not None:
            self.parts.append("\n" + "  " * self.due)
            self.column, self.due = 2 * self.due, None
        elif not _joined(self.last, self.last_parent, word, parent):
            self._out(" ")

    def _out(self, text: str) -> None:
        self.parts.append(text)
        self.column = len(text) - text.rfind("\n") - 1 if "\n" in text else self.column + len(text)


def _has_rows(block: ParseTree) -> bool:
    """Return whether ``VALUES`` has several rows; it is asked for each, so it stops at the second."""
    rows = (part for part in block.children if isinstance(part, Tree) and part.data == "data_row")
    return next(islice(rows, 1, None), None) is not None


def _is_short(group: ParseTree, parent: ParseTree) -> bool:
    """Return whether a group consists of one short triple pattern."""
    if parent.data == "where_clause" or len(group.children) != 3:
        return False
    block = group.children[1]
    if not isinstance(block, Tree) or block.data != "triples_block" or len(children(block, *_OWN_LINE)) != 1:
        return False
    words = list(tokens(block))
    several = any(";" in part.children for part in children(children(block, *_OWN_LINE)[0], *_LISTS))
    return not several and sum(map(len, words)) + len(words) <= _SHORT and not any("\n" in word for word in words)


def _joined(last: Token, last_parent: ParseTree | None, word: Token, parent: ParseTree | None) -> bool:
    """Return whether two words are written without a space. If in doubt they are not: a space is always safe."""
    before = last_parent.data if last_parent is not None else ""
    rule = parent.data if parent is not None else ""
    if last == "(" or word in (")", ",") or (last == "[" and word == "]"):
        return True
    if word == "(":
        return _opens_call(last, before, parent)
    if rule == "rdf_literal" and parent is not None:
        return word is not parent.children[0]
    if rule in _PATHS and word in ("/", "|", "?", "*", "+"):
        return True
    return _sticks_to_next(last, before, word)


def _sticks_to_next(last: Token, before: str, word: Token) -> bool:
    """Return whether an operator is written without a space after it: in paths, datatypes and unary expressions."""
    if before == "unary_expression" and last in ("+", "-"):
        return word.type not in ("NUMBER", "SIGNED_NUMBER")
    return (
        last == "!"
        or (last == "^^" and before == "rdf_literal")
        or (last == "^" and before.startswith("path"))
        or (last in ("/", "|") and before in _PATHS)
    )


def _opens_call(last: Token, before: str, parent: ParseTree | None) -> bool:
    """Return whether a bracket belongs to the name before it, or to a path."""
    rule = parent.data if parent is not None else ""
    if last == "!":
        return True
    if rule == "expression_list":
        return last.type == "FUNCTION_ANY"  # Oxigraph 0.5 parses COALESCE( but not COALESCE (
    if rule == "bracketted_expression":
        return last.type in ("FILTER", "HAVING", "ASC", "DESC")
    if rule == "path_group":
        return before in _PATHS and last != "("
    return rule in _CALLS
