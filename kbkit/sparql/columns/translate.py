"""Translate syntax trees into the algebra.

Sequences, alternatives and inverses of property paths become patterns here; only the closures ``?``, ``*`` and ``+``
remain as paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lark import Token, Tree

from kbkit.sparql.columns.algebra import (
    AlgebraQuery,
    BasicPattern,
    BindPattern,
    Expression,
    FilterPattern,
    FunctionCall,
    GraphPattern,
    JoinPattern,
    MinusPattern,
    NegatedPredicates,
    OptionalPattern,
    PathClosure,
    PathPattern,
    Pattern,
    QueryVariable,
    SelectPattern,
    Term,
    TriplePattern,
    UnionPattern,
    ValuesPattern,
    aggregate_calls,
)  # fmt: skip
from kbkit.sparql.columns.terms import ConstantTerm, UnsupportedQueryError, iri
from kbkit.sparql.columns.translate_expressions import RDF, ExpressionTranslator, variable_of
from kbkit.sparql.context import QueryPrefixes
from kbkit.sparql.tree import Node, ParseTree, child, children, group_of, nodes, projected


def translate(tree: ParseTree, prefixes: Mapping[str, str]) -> AlgebraQuery:
    """Translate the syntax tree of a query. Raises :class:`UnsupportedQueryError` for what has no algebra here."""
    query = next(nodes(tree, "select_query", "ask_query", "construct_query", "describe_query"))
    if query.data == "describe_query":
        raise UnsupportedQueryError("DESCRIBE")
    translator = _Translator(QueryPrefixes(tree, prefixes))
    default, named = translator.datasets(query)
    if query.data == "select_query":
        return AlgebraQuery("select", translator.select(query), graphs=(default, named))
    if query.data == "ask_query":
        pattern = translator.where(query)
        return AlgebraQuery("ask", SelectPattern(pattern, (), limit=1), graphs=(default, named))
    template_tree = child(query, "construct_template")
    assert template_tree is not None
    where = child(query, "where_clause")
    pattern = translator.where(query) if where is not None else BasicPattern(tuple(translator.template(template_tree)))
    translator.canonical = False
    template = tuple(translator.template(template_tree))
    used = dict.fromkeys(t for triple in template for t in (triple.subject, triple.predicate, triple.object))
    columns = tuple((term, None) for term in used if isinstance(term, QueryVariable) and not term.is_blank)
    select = translator.modified(query, pattern, columns, distinct=False)
    return AlgebraQuery("triples", select, template, (default, named))


class _Translator(ExpressionTranslator):
    """Translates queries, patterns and triples."""

    # -- queries ------------------------------------------------------------------------------------------------------

    def datasets(self, query: ParseTree) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        default: list[str] = []
        named: list[str] = []
        clauses = children(query, "dataset_clause")
        for clause in clauses:
            target = named if len(clause.children) == 3 else default
            target.append(self._iri(clause.children[-1]).text[1:])
        return (tuple(default), tuple(named)) if clauses else (None, None)

    def where(self, query: ParseTree) -> Pattern:
        if child(query, "named_subquery") is not None:
            raise UnsupportedQueryError("named subqueries")
        where = child(query, "where_clause")
        assert where is not None
        group = where.children[-1]
        assert isinstance(group, Tree)
        pattern = self.group(group)
        values = child(query, "values_clause")
        return pattern if values is None else _join(pattern, self._values(values))

    def select(self, query: ParseTree) -> SelectPattern:
        pattern = self.where(query)
        clause = child(query, "select_clause")
        assert clause is not None
        words = [str(part).upper() for part in clause.children if isinstance(part, Token)]
        columns: list[tuple[QueryVariable, Expression | None]] = []
        if clause.children[-1] == "*":
            columns = [(QueryVariable(name), None) for name in projected(query)]
        else:
            for part in clause.children:
                if isinstance(part, Tree):
                    columns.append((variable_of(part.children[-2]), self.expression(part.children[1])))
                elif part.type == "VAR":
                    columns.append((variable_of(part), None))
        select = self.modified(query, pattern, tuple(columns), distinct="DISTINCT" in words or "REDUCED" in words)
        if select.group is not None and child(query, "values_clause") is not None:
            raise UnsupportedQueryError("VALUES after groups")  # which it is joined with (section 18.2.4.3)
        return select

    def modified(
        self,
        query: ParseTree,
        pattern: Pattern,
        columns: tuple[tuple[QueryVariable, Expression | None], ...],
        *,
        distinct: bool,
    ) -> SelectPattern:
        modifier = child(query, "solution_modifier")
        assert modifier is not None
        group_clause, having = child(modifier, "group_clause"), child(modifier, "having_clause")
        conditions = tuple(self.expression(c) for c in having.children[1:]) if having is not None else ()
        group: tuple[tuple[QueryVariable | None, Expression], ...] | None = None
        if group_clause is not None:
            group = tuple(self._group_key(key) for key in children(group_clause, "group_condition"))
        elif any(aggregate_calls(*(e for _, e in columns if e is not None), *conditions)):
            group = ()
        order_clause = child(modifier, "order_clause")
        keys = children(order_clause, "order_condition") if order_clause is not None else []
        limit, offset = next(nodes(modifier, "limit_clause"), None), next(nodes(modifier, "offset_clause"), None)
        return SelectPattern(
            pattern,
            columns,
            distinct,
            group,
            conditions,
            tuple(self._order_key(key) for key in keys),
            None if limit is None else int(str(limit.children[1])),
            0 if offset is None else int(str(offset.children[1])),
        )

    def _group_key(self, key: ParseTree) -> tuple[QueryVariable | None, Expression]:
        parts = [part for part in key.children if part not in ("(", ")")]
        if len(parts) == 3:  # expression AS ?variable
            return variable_of(parts[2]), self.expression(parts[0])
        value = self.expression(parts[0])
        return (value if isinstance(value, QueryVariable) else None), value

    def _order_key(self, key: ParseTree) -> tuple[Expression, bool]:
        first = key.children[0]
        descending = isinstance(first, Token) and first.upper() == "DESC"
        return self.expression(key.children[-1]), descending

    # -- patterns -----------------------------------------------------------------------------------------------------

    def group(self, tree: ParseTree) -> Pattern:
        """Translate ``{ ... }``: parts in order, filters over the whole."""
        pattern, filters = self._group_and_filters(tree)
        for condition in filters:
            pattern = FilterPattern(condition, pattern)
        return pattern

    def _group_and_filters(self, tree: ParseTree) -> tuple[Pattern, list[Expression]]:
        pattern: Pattern = BasicPattern()
        filters: list[Expression] = []
        for part in tree.children[1:-1]:
            if isinstance(part, Token):
                continue
            if part.data == "triples_block":
                pattern = _join(pattern, BasicPattern(tuple(self.triples(part))))
            elif part.data == "filter":
                filters.append(self.expression(part.children[1]))
            elif part.data == "sub_select":
                pattern = _join(pattern, self.select(part))
            elif part.data == "optional_graph_pattern":
                pattern = self._optional(pattern, group_of(part))
            elif part.data == "minus_graph_pattern":
                pattern = MinusPattern(pattern, self.group(group_of(part)))
            elif part.data == "bind":
                pattern = BindPattern(pattern, variable_of(part.children[-2]), self.expression(part.children[2]))
            else:
                pattern = _join(pattern, self._part(part))
        return pattern, filters

    def _optional(self, left: Pattern, group: ParseTree) -> Pattern:
        """Translate OPTIONAL, whose own filters, not those of groups inside, see the variables before it."""
        right, filters = self._group_and_filters(group)
        condition: Expression | None = None
        for one in filters:
            condition = one if condition is None else FunctionCall("&&", (condition, one))
        return OptionalPattern(left, right, condition)

    def _part(self, part: ParseTree) -> Pattern:
        if part.data == "group_or_union_graph_pattern":
            branches = tuple(self.group(group) for group in children(part, "group_graph_pattern"))
            return branches[0] if len(branches) == 1 else UnionPattern(branches)
        if part.data == "graph_graph_pattern":
            return GraphPattern(self.term(part.children[1]), self.group(group_of(part)))
        if part.data == "inline_data":
            return self._values(part)
        raise UnsupportedQueryError(part.data.replace("_graph_pattern", "").replace("_", " ").upper())

    def _values(self, part: ParseTree) -> ValuesPattern:
        block = part.children[1]
        assert isinstance(block, Tree)
        names = tuple(
            QueryVariable(str(word)[1:]) for word in block.children if isinstance(word, Token) and word.type == "VAR"
        )
        if block.data == "inline_data_one_var":
            cells = [part for part in block.children[1:] if part not in ("{", "}")]
            return ValuesPattern(names, tuple((self._cell(cell),) for cell in cells))
        rows = tuple(tuple(self._cell(c) for c in row.children[1:-1]) for row in children(block, "data_row"))
        return ValuesPattern(names, rows)

    def _cell(self, node: Node) -> ConstantTerm | None:
        if isinstance(node, Token) and node.type == "UNDEF":
            return None
        term = self.term(node)
        assert isinstance(term, ConstantTerm)
        return term

    # -- triples ------------------------------------------------------------------------------------------------------

    def template(self, tree: ParseTree) -> Iterator[TriplePattern]:
        block = child(tree, "construct_triples")
        for part in self.triples(block) if block is not None else ():
            assert isinstance(part, TriplePattern)
            yield part

    def triples(self, block: ParseTree) -> Iterator[TriplePattern | PathPattern | SelectPattern]:
        for part in children(block, "triples_same_subject_path", "triples_same_subject"):
            first, *rest = part.children
            extra: list[TriplePattern | PathPattern | SelectPattern] = []
            subject = self._node(first, extra)
            yield from extra
            for properties in rest:
                assert isinstance(properties, Tree)
                yield from self._properties(subject, properties)

    def _properties(
        self, subject: Term, properties: ParseTree
    ) -> Iterator[TriplePattern | PathPattern | SelectPattern]:
        parts = [part for part in properties.children if part != ";"]
        for verb, objects in zip(parts[::2], parts[1::2], strict=True):
            assert isinstance(objects, Tree)
            for part in objects.children:
                if part == ",":
                    continue
                extra: list[TriplePattern | PathPattern | SelectPattern] = []
                target = self._node(part, extra)
                yield from extra
                yield from self._path(subject, verb, target)

    def _node(self, node: Node, extra: list[TriplePattern | PathPattern | SelectPattern]) -> Term:
        """Return the term of a node of a triple; what brackets and lists say about it goes to ``extra``."""
        if isinstance(node, Tree) and node.data.startswith("blank_node_property_list"):
            subject = self._fresh()
            properties = node.children[1]
            assert isinstance(properties, Tree)
            extra += self._properties(subject, properties)
            return subject
        if isinstance(node, Tree) and node.data.startswith("collection"):
            rest: Term = iri(RDF + "nil")
            for item in reversed(node.children[1:-1]):
                cell, inner = self._fresh(), list[TriplePattern | PathPattern | SelectPattern]()
                value = self._node(item, inner)
                extra += [
                    TriplePattern(cell, iri(RDF + "first"), value),
                    TriplePattern(cell, iri(RDF + "rest"), rest),
                    *inner,
                ]
                rest = cell
            return rest
        return self.term(node)

    def _path(self, subject: Term, path: Node, target: Term) -> Iterator[TriplePattern | PathPattern | SelectPattern]:
        """Translate a property path (SPARQL 1.1, section 18.2.2.4)."""
        if isinstance(path, Token):
            yield TriplePattern(subject, variable_of(path) if path.type == "VAR" else self._verb(path), target)
            return
        parts = [part for part in path.children if not (isinstance(part, Token) and part in ("(", ")", "|", "/", "^"))]
        if path.data == "path_group":
            yield from self._path(subject, parts[0], target)
        elif path.data == "path_inverse":
            yield from self._path(target, parts[0], subject)
        elif path.data == "path_sequence":
            between = [self._fresh() for _ in parts[1:]]
            for start, part, end in zip([subject, *between], parts, [*between, target], strict=True):
                yield from self._path(start, part, end)
        elif path.data == "path_alternative":
            yield _distinct(
                UnionPattern(tuple(BasicPattern(tuple(self._path(subject, part, target))) for part in parts)),
                subject,
                target,
            )
        elif path.data == "path_negated_property_set":
            yield from self._negated(subject, parts, target)
        else:
            inner, sign = path.children
            start, end = self._fresh(), self._fresh()
            step = BasicPattern(tuple(self._path(start, inner, end)))
            yield PathPattern(
                subject, PathClosure(step, start, end, zero=sign in ("?", "*"), many=sign in ("*", "+")), target
            )

    def _negated(
        self, subject: Term, parts: Sequence[Node], target: Term
    ) -> Iterator[TriplePattern | PathPattern | SelectPattern]:
        forward = tuple(self._verb(part) for part in parts if isinstance(part, Token) and part != "!")
        backward = tuple(self._verb(part.children[1]) for part in parts if isinstance(part, Tree))
        triples = [TriplePattern(subject, NegatedPredicates(forward), target)] if forward or not backward else []
        if backward:
            triples.append(TriplePattern(target, NegatedPredicates(backward), subject))
        if len(triples) == 1:
            yield triples[0]
        else:
            yield _distinct(UnionPattern(tuple(BasicPattern((triple,)) for triple in triples)), subject, target)

    def _verb(self, node: Node) -> ConstantTerm:
        return iri(RDF + "type") if node == "a" else self._iri(node)


def _distinct(pattern: Pattern, subject: Term, target: Term) -> SelectPattern:
    """Return the pairs that a path with alternatives joins, each once, as Oxigraph does."""
    columns = dict.fromkeys(term for term in (subject, target) if isinstance(term, QueryVariable))
    return SelectPattern(pattern, tuple((variable, None) for variable in columns), distinct=True)


def _join(left: Pattern, right: Pattern) -> Pattern:
    """Join two patterns; adjacent basic ones become one."""
    if left == BasicPattern():
        return right
    if right == BasicPattern():
        return left
    if isinstance(left, BasicPattern) and isinstance(right, BasicPattern):
        return BasicPattern(left.parts + right.parts)
    return JoinPattern(left, right)
