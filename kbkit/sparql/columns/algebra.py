"""The algebra of SPARQL 1.1 (section 18.2), and the translation of syntax trees into it.

Sequences, alternatives and inverses of property paths become patterns here; only the closures ``?``, ``*`` and ``+``
remain as paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lark import Token, Tree

from kbkit.schema import STANDARD_PREFIXES
from kbkit.sparql.columns.terms import XSD, Constant, UnsupportedQueryError, iri, literal, number
from kbkit.sparql.context import QueryPrefixes, string
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes, projected, tokens

RDF = STANDARD_PREFIXES["rdf"]


@dataclass(frozen=True)
class Variable:
    """A variable, or a blank node of a pattern, whose name starts with ``_:``."""

    name: str

    @property
    def is_blank(self) -> bool:
        """Whether the variable is a blank node, which SELECT * leaves out."""
        return self.name.startswith("_:")


Term: TypeAlias = Variable | Constant


@dataclass(frozen=True)
class Closure:
    """The path ``step?``, ``step*`` or ``step+``; ``step`` is a pattern between the variables ``start`` and ``end``."""

    step: Pattern
    start: Variable
    end: Variable
    zero: bool
    many: bool


@dataclass(frozen=True)
class NegatedSet:
    """The path ``!(a|b)``: any predicate but these."""

    predicates: tuple[Constant, ...]


@dataclass(frozen=True)
class Triple:
    """A triple pattern. A variable predicate is a :class:`Variable`."""

    subject: Term
    predicate: Term | NegatedSet
    object: Term


@dataclass(frozen=True)
class Path:
    """A pattern of a closure between two terms."""

    subject: Term
    closure: Closure
    object: Term


@dataclass(frozen=True)
class Basic:
    """A basic graph pattern; empty: one solution without bindings."""

    parts: tuple[Triple | Path | Select, ...] = ()


@dataclass(frozen=True)
class Join:
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class LeftJoin:
    left: Pattern
    right: Pattern
    condition: Expression | None = None


@dataclass(frozen=True)
class Union:
    branches: tuple[Pattern, ...]


@dataclass(frozen=True)
class Minus:
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Filter:
    condition: Expression
    pattern: Pattern


@dataclass(frozen=True)
class Extend:
    pattern: Pattern
    variable: Variable
    value: Expression


@dataclass(frozen=True)
class Values:
    variables: tuple[Variable, ...]
    rows: tuple[tuple[Constant | None, ...], ...]


@dataclass(frozen=True)
class Graph:
    graph: Term
    pattern: Pattern


@dataclass(frozen=True)
class Call:
    """An operator or function: ``=``, ``!``, ``STRLEN``, or the IRI of a cast in angle brackets."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Exists:
    pattern: Pattern
    negated: bool


@dataclass(frozen=True)
class Aggregate:
    """An aggregate; ``argument`` None is ``COUNT(*)``."""

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str = " "


Expression: TypeAlias = Variable | Constant | Call | Exists | Aggregate


@dataclass(frozen=True)
class Select:
    """A query or subquery. ``columns`` are (variable, expression or None); ``order`` are (expression, descending)."""

    pattern: Pattern
    columns: tuple[tuple[Variable, Expression | None], ...]
    distinct: bool = False
    group: tuple[tuple[Variable | None, Expression], ...] | None = None
    having: tuple[Expression, ...] = ()
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    offset: int = 0


Pattern: TypeAlias = Basic | Join | LeftJoin | Union | Minus | Filter | Extend | Values | Graph | Select


@dataclass(frozen=True)
class Query:
    """A whole query: ``kind`` is select, ask or triples. ``template`` is that of CONSTRUCT."""

    kind: str
    select: Select
    template: tuple[Triple, ...] = ()
    graphs: tuple[tuple[str, ...] | None, tuple[str, ...] | None] = (None, None)


def translate(tree: ParseTree, prefixes: Mapping[str, str]) -> Query:
    """Translate the syntax tree of a query. Raises :class:`UnsupportedQueryError` for what has no algebra here."""
    query = next(nodes(tree, "select_query", "ask_query", "construct_query", "describe_query"))
    if query.data == "describe_query":
        raise UnsupportedQueryError("DESCRIBE")
    translator = _Translator(QueryPrefixes(tree, prefixes))
    default, named = translator.datasets(query)
    if query.data == "select_query":
        return Query("select", translator.select(query), graphs=(default, named))
    if query.data == "ask_query":
        pattern = translator.where(query)
        return Query("ask", Select(pattern, (), limit=1), graphs=(default, named))
    template_tree = child(query, "construct_template")
    assert template_tree is not None
    where = child(query, "where_clause")
    pattern = translator.where(query) if where is not None else Basic(tuple(translator.template(template_tree)))
    template = tuple(translator.template(template_tree))
    used = dict.fromkeys(t for triple in template for t in (triple.subject, triple.predicate, triple.object))
    columns = tuple((term, None) for term in used if isinstance(term, Variable) and not term.is_blank)
    select = translator.modified(query, pattern, columns, distinct=False)
    return Query("triples", select, template, (default, named))


@dataclass
class _Translator:
    names: QueryPrefixes
    blank: int = 0
    labels: dict[str, Variable] = field(default_factory=dict)

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

    def select(self, query: ParseTree) -> Select:
        pattern = self.where(query)
        clause = child(query, "select_clause")
        assert clause is not None
        words = [str(part).upper() for part in clause.children if isinstance(part, Token)]
        columns: list[tuple[Variable, Expression | None]] = []
        if clause.children[-1] == "*":
            columns = [(Variable(name), None) for name in projected(query)]
        else:
            for part in clause.children:
                if isinstance(part, Tree):
                    columns.append((_variable(part.children[-2]), self.expression(part.children[1])))
                elif part.type == "VAR":
                    columns.append((_variable(part), None))
        return self.modified(query, pattern, tuple(columns), distinct="DISTINCT" in words)

    def modified(
        self,
        query: ParseTree,
        pattern: Pattern,
        columns: tuple[tuple[Variable, Expression | None], ...],
        *,
        distinct: bool,
    ) -> Select:
        modifier = child(query, "solution_modifier")
        assert modifier is not None
        group_clause, having = child(modifier, "group_clause"), child(modifier, "having_clause")
        conditions = tuple(self.expression(c) for c in having.children[1:]) if having is not None else ()
        group: tuple[tuple[Variable | None, Expression], ...] | None = None
        if group_clause is not None:
            group = tuple(self._group_key(key) for key in children(group_clause, "group_condition"))
        elif any(_aggregates(e) for _, e in columns if e is not None) or any(map(_aggregates, conditions)):
            group = ()
        order_clause = child(modifier, "order_clause")
        keys = children(order_clause, "order_condition") if order_clause is not None else []
        limit, offset = next(nodes(modifier, "limit_clause"), None), next(nodes(modifier, "offset_clause"), None)
        return Select(
            pattern,
            columns,
            distinct,
            group,
            conditions,
            tuple(self._order_key(key) for key in keys),
            None if limit is None else int(str(limit.children[1])),
            0 if offset is None else int(str(offset.children[1])),
        )

    def _group_key(self, key: ParseTree) -> tuple[Variable | None, Expression]:
        parts = [part for part in key.children if part not in ("(", ")")]
        if len(parts) == 3:  # expression AS ?variable
            return _variable(parts[2]), self.expression(parts[0])
        value = self.expression(parts[0])
        return (value if isinstance(value, Variable) else None), value

    def _order_key(self, key: ParseTree) -> tuple[Expression, bool]:
        first = key.children[0]
        descending = isinstance(first, Token) and first.upper() == "DESC"
        return self.expression(key.children[-1]), descending

    # -- patterns -----------------------------------------------------------------------------------------------------

    def group(self, tree: ParseTree) -> Pattern:
        """Translate ``{ ... }``: parts in order, filters over the whole."""
        pattern: Pattern = Basic()
        filters: list[Expression] = []
        for part in tree.children[1:-1]:
            if isinstance(part, Token):
                continue
            if part.data == "triples_block":
                pattern = _join(pattern, Basic(tuple(self.triples(part))))
            elif part.data == "filter":
                filters.append(self.expression(part.children[1]))
            elif part.data == "sub_select":
                pattern = _join(pattern, self.select(part))
            elif part.data == "optional_graph_pattern":
                pattern = self._optional(pattern, self.group(_group(part)))
            elif part.data == "minus_graph_pattern":
                pattern = Minus(pattern, self.group(_group(part)))
            elif part.data == "bind":
                pattern = Extend(pattern, _variable(part.children[-2]), self.expression(part.children[2]))
            else:
                pattern = _join(pattern, self._part(part))
        for condition in filters:
            pattern = Filter(condition, pattern)
        return pattern

    def _optional(self, left: Pattern, right: Pattern) -> Pattern:
        conditions: list[Expression] = []
        while isinstance(right, Filter):
            conditions.append(right.condition)
            right = right.pattern
        condition: Expression | None = None
        for one in reversed(conditions):
            condition = one if condition is None else Call("&&", (condition, one))
        return LeftJoin(left, right, condition)

    def _part(self, part: ParseTree) -> Pattern:
        if part.data == "group_or_union_graph_pattern":
            branches = tuple(self.group(group) for group in children(part, "group_graph_pattern"))
            return branches[0] if len(branches) == 1 else Union(branches)
        if part.data == "graph_graph_pattern":
            return Graph(self.term(part.children[1]), self.group(_group(part)))
        if part.data == "inline_data":
            return self._values(part)
        raise UnsupportedQueryError(part.data.replace("_graph_pattern", "").replace("_", " ").upper())

    def _values(self, part: ParseTree) -> Values:
        block = part.children[1]
        assert isinstance(block, Tree)
        names = tuple(
            Variable(str(word)[1:]) for word in block.children if isinstance(word, Token) and word.type == "VAR"
        )
        if block.data == "inline_data_one_var":
            cells = [part for part in block.children[1:] if part not in ("{", "}")]
            return Values(names, tuple((self._cell(cell),) for cell in cells))
        rows = tuple(tuple(self._cell(c) for c in row.children[1:-1]) for row in children(block, "data_row"))
        return Values(names, rows)

    def _cell(self, node: Node) -> Constant | None:
        if isinstance(node, Token) and node.type == "UNDEF":
            return None
        term = self.term(node)
        assert isinstance(term, Constant)
        return term

    # -- triples ------------------------------------------------------------------------------------------------------

    def template(self, tree: ParseTree) -> Iterator[Triple]:
        block = child(tree, "construct_triples")
        for part in self.triples(block) if block is not None else ():
            assert isinstance(part, Triple)
            yield part

    def triples(self, block: ParseTree) -> Iterator[Triple | Path | Select]:
        for part in children(block, "triples_same_subject_path", "triples_same_subject"):
            first, *rest = part.children
            extra: list[Triple | Path | Select] = []
            subject = self._node(first, extra)
            yield from extra
            for properties in rest:
                assert isinstance(properties, Tree)
                yield from self._properties(subject, properties)

    def _properties(self, subject: Term, properties: ParseTree) -> Iterator[Triple | Path | Select]:
        parts = [part for part in properties.children if part != ";"]
        for verb, objects in zip(parts[::2], parts[1::2], strict=True):
            assert isinstance(objects, Tree)
            for part in objects.children:
                if part == ",":
                    continue
                extra: list[Triple | Path | Select] = []
                target = self._node(part, extra)
                yield from extra
                yield from self._path(subject, verb, target)

    def _node(self, node: Node, extra: list[Triple | Path | Select]) -> Term:
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
                cell, inner = self._fresh(), list[Triple | Path | Select]()
                value = self._node(item, inner)
                extra += [Triple(cell, iri(RDF + "first"), value), Triple(cell, iri(RDF + "rest"), rest), *inner]
                rest = cell
            return rest
        return self.term(node)

    def _fresh(self) -> Variable:
        self.blank += 1
        return Variable(f"_:{self.blank}")  # labels of the query are `_:b...`

    def _path(self, subject: Term, path: Node, target: Term) -> Iterator[Triple | Path | Select]:
        """Translate a property path (SPARQL 1.1, section 18.2.2.4)."""
        if isinstance(path, Token):
            yield Triple(subject, _variable(path) if path.type == "VAR" else self._verb(path), target)
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
            yield _distinct(Union(tuple(Basic(tuple(self._path(subject, part, target))) for part in parts)), subject, target)
        elif path.data == "path_negated_property_set":
            yield from self._negated(subject, parts, target)
        else:
            inner, sign = path.children
            start, end = self._fresh(), self._fresh()
            step = Basic(tuple(self._path(start, inner, end)))
            yield Path(subject, Closure(step, start, end, zero=sign in ("?", "*"), many=sign in ("*", "+")), target)

    def _negated(self, subject: Term, parts: Sequence[Node], target: Term) -> Iterator[Triple | Path | Select]:
        forward = tuple(self._verb(part) for part in parts if isinstance(part, Token) and part != "!")
        backward = tuple(self._verb(part.children[1]) for part in parts if isinstance(part, Tree))
        triples = [Triple(subject, NegatedSet(forward), target)] if forward or not backward else []
        if backward:
            triples.append(Triple(target, NegatedSet(backward), subject))
        if len(triples) == 1:
            yield triples[0]
        else:
            yield _distinct(Union(tuple(Basic((triple,)) for triple in triples)), subject, target)

    def _verb(self, node: Node) -> Constant:
        return iri(RDF + "type") if node == "a" else self._iri(node)

    # -- terms and expressions ----------------------------------------------------------------------------------------

    def _iri(self, node: Node) -> Constant:
        found = self.names.iri(node)
        if found is None:
            raise UnsupportedQueryError(f"the term {next(tokens(node))}")
        return iri(found)

    def term(self, node: Node) -> Term:
        """Return a variable or constant. Literals are as Oxigraph stores them."""
        if isinstance(node, Token):
            if node.type == "VAR":
                return _variable(node)
            if node.type == "BLANK_NODE_LABEL":
                return Variable("_:b" + str(node)[2:])
            if node.type in ("NUMBER", "SIGNED_NUMBER"):
                return number(str(node))
            if node.type == "BOOLEAN":
                return literal(str(node).lower(), datatype=XSD + "boolean")
            return self._iri(node)
        if node.data == "anon":
            return self._fresh()
        if node.data == "nil":
            return iri(RDF + "nil")
        if node.data == "rdf_literal":
            text = string(node.children[0])
            if len(node.children) == 1:
                return literal(text)
            if len(node.children) == 2:
                tag = str(node.children[1])[1:]
                if "--" in tag:
                    raise UnsupportedQueryError("text directions")
                return literal(text, language=tag)
            return literal(text, datatype=self._iri(node.children[2]).text[1:])
        raise UnsupportedQueryError(node.data.replace("_", " "))

    def expression(self, node: Node) -> Expression:
        """Translate an expression."""
        if isinstance(node, Token) or node.data in ("rdf_literal", "nil"):
            return self.term(node)
        if node.data == "bracketted_expression":
            return self.expression(node.children[1])
        if node.data in ("conditional_or_expression", "conditional_and_expression"):
            sign = "||" if node.data == "conditional_or_expression" else "&&"
            return _chain(sign, [self.expression(part) for part in node.children if part != sign])
        if node.data == "relational_expression":
            return self._comparison(node)
        if node.data in ("additive_expression", "multiplicative_expression", "signed_multiplicative"):
            return self._arithmetic(node)
        if node.data == "unary_expression":
            value = self.expression(node.children[-1])
            for sign in reversed(node.children[:-1]):
                value = Call({"!": "!", "-": "negate", "+": "plus"}[str(sign)], (value,))
            return value
        if node.data == "aggregate":
            return self._aggregate(node)
        return self._function(node)

    def _comparison(self, node: ParseTree) -> Expression:
        left = self.expression(node.children[0])
        words = [str(part).upper() for part in node.children[1:-1]]
        if words[-1] != "IN":
            return Call(words[0], (left, self.expression(node.children[-1])))
        listed = node.children[-1]
        assert isinstance(listed, Tree)
        found = Call("IN", (left, *self._arguments(listed)))
        return Call("!", (found,)) if words[0] == "NOT" else found

    def _arithmetic(self, node: ParseTree) -> Expression:
        parts = list(node.children)
        value = self.expression(parts.pop(0))
        while parts:
            part = parts.pop(0)
            if isinstance(part, Token) and part in ("+", "-", "*", "/"):
                value = Call(str(part), (value, self.expression(parts.pop(0))))
            else:  # `a -1` is a sum
                value = Call("+", (value, self.expression(part)))
        return value

    def _arguments(self, listed: ParseTree) -> tuple[Expression, ...]:
        parts = [part for part in listed.children if part not in ("(", ")", ",")]
        if any(isinstance(part, Token) and part.upper() == "DISTINCT" and part.type == "DISTINCT" for part in parts):
            raise UnsupportedQueryError("DISTINCT in a function call")
        return tuple(self.expression(part) for part in parts)

    def _aggregate(self, node: ParseTree) -> Aggregate:
        name = str(node.children[0]).upper()
        inner = list(node.children[2:-1])
        distinct = isinstance(inner[0], Token) and inner[0].type == "DISTINCT"
        inner = inner[distinct:]
        argument = None if inner[0] == "*" else self.expression(inner[0])
        separator = " "
        if len(inner) > 1:
            word = inner[-1]
            assert isinstance(word, Token)
            separator = string(word)
        return Aggregate(name, argument, distinct, separator)

    def _function(self, node: ParseTree) -> Expression:
        if node.data == "function_call":
            name, listed = node.children
            assert isinstance(listed, Tree)
            return Call(f"<{self._iri(name).text[1:]}>", self._arguments(listed))
        if node.data != "built_in_call":
            raise UnsupportedQueryError(str(node.data).replace("_", " "))
        first = node.children[0]
        if isinstance(first, Tree):  # EXISTS
            return Exists(self.group(_group(first)), negated=first.data == "not_exists_func")
        name = str(first).upper()
        if len(node.children) == 2 and isinstance(node.children[1], Tree):
            return Call(name, self._arguments(node.children[1]))
        parts = [part for part in node.children[1:] if part not in ("(", ")", ",")]
        return Call(name, tuple(self.expression(part) for part in parts))


def _distinct(pattern: Pattern, subject: Term, target: Term) -> Select:
    """Return the pairs that a path with alternatives joins, each once, as Oxigraph does."""
    columns = dict.fromkeys(term for term in (subject, target) if isinstance(term, Variable))
    return Select(pattern, tuple((variable, None) for variable in columns), distinct=True)


def _variable(node: Node) -> Variable:
    assert isinstance(node, Token)
    return Variable(str(node)[1:])


def _group(part: ParseTree) -> ParseTree:
    group = part.children[-1]
    assert isinstance(group, Tree)
    return group


def _chain(sign: str, parts: list[Expression]) -> Expression:
    value = parts[0]
    for part in parts[1:]:
        value = Call(sign, (value, part))
    return value


def _join(left: Pattern, right: Pattern) -> Pattern:
    """Join two patterns; adjacent basic ones become one."""
    if left == Basic():
        return right
    if right == Basic():
        return left
    if isinstance(left, Basic) and isinstance(right, Basic):
        return Basic(left.parts + right.parts)
    return Join(left, right)


def _aggregates(value: Expression) -> bool:
    if isinstance(value, Call):
        return any(_aggregates(part) for part in value.arguments)
    return isinstance(value, Aggregate)


def conjuncts(condition: Expression | None) -> list[Expression]:
    """Return the conditions that ``&&`` joins; None has none."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def variables(expression: Expression) -> set[str]:
    """Return the variables of an expression outside aggregates; EXISTS counts as one that no pattern binds."""
    if isinstance(expression, Variable):
        return {expression.name}
    if isinstance(expression, Call):
        return {name for part in expression.arguments for name in variables(part)}
    return {"\0exists"} if isinstance(expression, Exists) else set()
