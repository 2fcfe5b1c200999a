"""SPARQL expressions as SQL, with three-valued logic: NULL is an error or an unbound variable.

The semantics are Oxigraph's where SPARQL 1.1 leaves a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kbkit.sparql.columns import functions
from kbkit.sparql.columns.algebra import AggregateCall, ExistsCall, Expression, FunctionCall, QueryVariable
from kbkit.sparql.columns.evaluating import UNBOUND, boolean_value
from kbkit.sparql.columns.parts import NumberParts, PartsOfTerm, number_of, parts_of, quotient, truth
from kbkit.sparql.columns.rows import SqlRows, common_kind, may_equal
from kbkit.sparql.columns.terms import (
    NUMBERS,
    ConstantTerm,
    SqlValue,
    UnsupportedQueryError,
    beyond,
    is_literal,
    is_time,
    number,
    promoted,
)

_ORDERS = ("<", ">", "<=", ">=")


@dataclass
class ExpressionScope:
    """Where an expression is evaluated: a relation, the values of aggregates, and how EXISTS is answered."""

    rows: SqlRows
    exists: Callable[[SqlRows, ExistsCall], str] | None = None
    aggregates: Mapping[AggregateCall, SqlValue] = field(default_factory=dict)

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, expression: Expression) -> SqlValue:
        """Return the value of an expression; it may add columns to the relation."""
        if isinstance(expression, ConstantTerm):
            return expression.value
        if isinstance(expression, QueryVariable):
            return self.rows.variables.get(expression.name, UNBOUND)
        if isinstance(expression, AggregateCall):
            if expression not in self.aggregates:
                raise UnsupportedQueryError("an aggregate outside SELECT, HAVING and ORDER BY")
            return self.aggregates[expression]
        if isinstance(expression, ExistsCall):
            if self.exists is None:
                raise UnsupportedQueryError("EXISTS in this place")
            return SqlValue(self.exists(self.rows, expression), "boolean", nullable=False)
        operator = _OPERATORS.get(expression.name)
        if operator is not None:
            return operator(self, expression)
        return functions.call(self, expression)

    def plain(self, expression: Expression) -> SqlValue:
        """Return the value of an expression as a column that is neither ``id`` nor ``node``."""
        return self.rows.plain(self.rows.decoded(self.value(expression)))

    def condition(self, expression: Expression) -> str:
        """Return a condition that is true where the expression is: NULL and false need not be told apart."""
        if isinstance(expression, FunctionCall) and expression.name in ("&&", "||"):
            left, right = (self.condition(part) for part in expression.arguments)
            return f"({left} {'AND' if expression.name == '&&' else 'OR'} {right})"
        if isinstance(expression, FunctionCall) and expression.name == "=":
            comparison = self._equal_to_constant(*expression.arguments)
            if comparison is not None:
                return comparison
        if isinstance(expression, FunctionCall) and expression.name == "IN":
            first, *others = expression.arguments
            equalities = [self._equal_to_constant(first, other) for other in others]
            if equalities and all(equality is not None for equality in equalities):
                return f"({' OR '.join(equality for equality in equalities if equality)})"
        return truth(self.rows, self.value(expression))

    def _equal_to_constant(self, left: Expression, right: Expression) -> str | None:
        """Return a condition for a variable and a term that equals only itself."""
        if isinstance(left, ConstantTerm):
            left, right = right, left
        if not isinstance(left, QueryVariable) or not isinstance(right, ConstantTerm):
            return None
        value = self.value(left)
        if not right.text.startswith(("<", '""', '"@')) or value.kind not in ("id", "node", "term"):
            return None
        constant = self.rows.decoder.constant(right, value.kind)
        return "false" if constant is None else f"{value.sql} = {constant}"


_ZERO = number("0").value


# -- logic ------------------------------------------------------------------------------------------------------------


def _and(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    left, right = (truth(scope.rows, scope.value(part)) for part in call.arguments)
    return boolean_value(f"{left} {'AND' if call.name == '&&' else 'OR'} {right}")


def _not(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    return boolean_value(f"NOT {truth(scope.rows, scope.value(call.arguments[0]))}")


# -- comparisons ------------------------------------------------------------------------------------------------------


def _equality(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    left, right = (scope.value(part) for part in call.arguments)
    equality = equal(scope.rows, left, right)
    return equality if call.name == "=" else boolean_value(f"NOT {equality.sql}")


def equal(rows: SqlRows, left: SqlValue, right: SqlValue) -> SqlValue:
    """Return whether two values are equal: RDFterm-equal with Oxigraph's answers for unknown datatypes."""
    if left.kind == right.kind == "node":
        return boolean_value(f"{left.sql} = {right.sql}")
    left, right = rows.plain(rows.decoded(left)), rows.plain(rows.decoded(right))
    if left.kind in NUMBERS and right.kind in NUMBERS:
        return boolean_value(_numbers_compared(left, "=", right))
    if left.kind == right.kind and left.kind != "term":
        return boolean_value(f"{left.sql} = {right.sql}")
    if "term" not in (left.kind, right.kind):  # of different kinds
        return boolean_value(f"if({left.sql} IS NULL OR {right.sql} IS NULL, NULL, false)")
    if right.kind != "term":
        left, right = right, left
    if left.kind in ("iri", "string"):
        same, parts = f"{rows.plain(rows.converted(left, 'term')).sql} = {right.sql}", parts_of(rows, right)
        unknown = f"WHEN {is_time(parts.tag)} THEN {beyond('times', 'BOOLEAN')}"
        beside = f" OR CASE WHEN {parts.is_known_or_resource} THEN false {unknown} END" if left.kind == "string" else ""
        return boolean_value(same + beside)
    one, other = number_of(rows, left), number_of(rows, right)
    a, b = (rows.plain(rows.converted(value, "term")) for value in (left, right))
    pa, pb = parts_of(rows, a), parts_of(rows, b)
    numbers = "coalesce(" + _codes_compared(one, "=", other) + ", false)"
    return boolean_value(
        f"CASE WHEN {one.code} IS NOT NULL AND {other.code} IS NOT NULL THEN {numbers}"
        f" WHEN {a.sql} = {b.sql} THEN true WHEN {a.sql} IS NULL OR {b.sql} IS NULL THEN NULL"
        f" WHEN NOT {is_literal(a.sql)} OR NOT {is_literal(b.sql)} THEN false"
        f" WHEN starts_with({pa.tag}, '@') OR starts_with({pb.tag}, '@') THEN false"
        f" WHEN {pa.tag} = {pb.tag} AND {pa.epoch} IS NOT NULL AND {pb.epoch} IS NOT NULL THEN"
        f" {_moments_compared(pa, '=', pb)}"
        f" WHEN {pa.is_known_or_resource} AND {pb.is_known_or_resource} THEN false"
        f" WHEN {is_time(pa.tag)} AND ({pb.is_known_or_resource} OR {is_time(pb.tag)})"
        f" OR {is_time(pb.tag)} AND {pa.is_known_or_resource} THEN {beyond('times', 'BOOLEAN')} END"
    )


def _order(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    left, right = (scope.plain(part) for part in call.arguments)
    return less(scope.rows, left, call.name, right)


def less(rows: SqlRows, left: SqlValue, sign: str, right: SqlValue) -> SqlValue:
    """Return whether one value is before or after another; NULL for values without an order."""
    kinds = {left.kind, right.kind}
    if "term" in kinds:
        return boolean_value(_terms_ordered(rows, left, sign, right))
    if kinds <= set(NUMBERS):
        return boolean_value(_numbers_compared(left, sign, right))
    if len(kinds) > 1:
        return SqlValue("NULL::BOOLEAN", "boolean")
    if left.kind in ("iri", "boolean"):
        return boolean_value(f"if({left.sql} = {right.sql}, {_of_same(sign)}, NULL)")
    return boolean_value(f"{left.sql} {sign} {right.sql}")


def _of_same(sign: str) -> str:
    """Return the answer for two terms that are the same: a term is never before itself."""
    return str("=" in sign).lower()


def _terms_ordered(rows: SqlRows, left: SqlValue, sign: str, right: SqlValue) -> str:
    """Compare values of which one at least is internal text."""
    kinds = {left.kind, right.kind}
    if "string" in kinds:
        a, b = ((v.sql if v.kind == "string" else parts_of(rows, v).simple) for v in (left, right))
        return f"{a} {sign} {b}"
    one, other = number_of(rows, left), number_of(rows, right)
    numbers = _codes_compared(one, sign, other)
    if kinds & set(NUMBERS):
        return numbers
    a, b = (rows.plain(rows.converted(value, "term")).sql for value in (left, right))
    pa, pb = PartsOfTerm(rows, a), PartsOfTerm(rows, b)
    return (
        f"CASE WHEN {a} = {b} THEN {_of_same(sign)}"
        f" WHEN {one.code} IS NOT NULL AND {other.code} IS NOT NULL THEN {numbers}"
        f" WHEN {pa.tag} IS DISTINCT FROM {pb.tag} THEN if(ends_with({pa.tag}, 'uration') AND"
        f" ends_with({pb.tag}, 'uration'), {beyond('durations of two kinds', 'BOOLEAN')}, NULL)"
        f" WHEN {pa.tag} = '' OR starts_with({pa.tag}, '@') THEN {pa.text} {sign} {pb.text}"
        f" WHEN {pa.epoch} IS NOT NULL AND {pb.epoch} IS NOT NULL THEN {_moments_compared(pa, sign, pb)}"
        f" WHEN {is_time(pa.tag)} THEN {beyond('times', 'BOOLEAN')} END"
    )


def _numbers_compared(left: SqlValue, sign: str, right: SqlValue) -> str:
    """Compare columns of numbers. NaN, which DuckDB orders, is not equal to anything and has no order."""
    kind = max(left.kind, right.kind, key=NUMBERS.index)
    compared = f"{promoted(left, kind)} {sign} {promoted(right, kind)}"
    doubles = [value.sql for value in (left, right) if value.kind == "double" and not _finite(value.sql)]
    if not doubles:
        return compared
    nan = " OR ".join(f"isnan({sql})" for sql in doubles)
    both_nan = f"if({doubles[0]} = {doubles[-1]}, {str('=' in sign).lower()}, NULL)" if len(doubles) > 1 else "NULL"
    return f"if({nan}, {'false' if sign == '=' else both_nan}, {compared})"


def _finite(sql: str) -> bool:
    return sql.startswith("'") and "NaN" not in sql


def _codes_compared(one: NumberParts, sign: str, other: NumberParts) -> str:
    """Compare numbers whose kinds are known to each row only."""
    doubles = f"if(isnan({one.double}) OR isnan({other.double}), NULL, {one.double} {sign} {other.double})"
    return (
        f"CASE WHEN greatest({one.code}, {other.code}) <= 2 AND {one.code} IS NOT NULL AND {other.code} IS NOT NULL"
        f" THEN {one.exact} {sign} {other.exact}"
        f" WHEN {one.code} IS NOT NULL AND {other.code} IS NOT NULL THEN {doubles} END"
    )


def _moments_compared(a: PartsOfTerm, sign: str, b: PartsOfTerm) -> str:
    """Compare times; one without a time zone is before or after another one if it is so in every zone."""
    if sign == "=":
        return f"({a.zoned} = {b.zoned} AND {a.epoch} = {b.epoch})"
    margin = "14 * 3600 * 1000000::BIGINT"
    return (
        f"CASE WHEN {a.zoned} = {b.zoned} THEN {a.epoch} {sign} {b.epoch}"
        f" WHEN abs({a.epoch} - {b.epoch}) > {margin} THEN {a.epoch} {sign} {b.epoch} END"
    )


def _in(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    first, *others = call.arguments
    if not others:  # Oxigraph: false for some terms, an error for others
        raise UnsupportedQueryError("IN with an empty list")
    value = scope.value(first)
    equalities = [equal(scope.rows, value, scope.value(other)).sql for other in others]
    return boolean_value(" OR ".join(equalities))


def _same(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    left, right = (scope.value(part) for part in call.arguments)
    if not may_equal(left.kind, right.kind):
        return boolean_value(f"if({left.sql} IS NULL OR {right.sql} IS NULL, NULL, false)")
    kind = common_kind((left.kind, right.kind))
    one, other = (scope.rows.plain(scope.rows.converted(value, kind)) for value in (left, right))
    return boolean_value(f"{one.sql} = {other.sql}")


# -- arithmetic -------------------------------------------------------------------------------------------------------


def _arithmetic(scope: ExpressionScope, call: FunctionCall) -> SqlValue:
    if call.name == "plus":
        return calculated(scope.rows, scope.plain(call.arguments[0]), "+", _ZERO)
    if call.name == "negate":
        return calculated(scope.rows, _ZERO, "-", scope.plain(call.arguments[0]))
    left, right = (scope.plain(part) for part in call.arguments)
    return calculated(scope.rows, left, call.name, right)


def calculated(rows: SqlRows, left: SqlValue, sign: str, right: SqlValue) -> SqlValue:
    """Return the sum, difference, product or quotient; NULL for other values than numbers."""
    kinds = {left.kind, right.kind}
    if kinds & {"iri", "string", "boolean"}:
        return UNBOUND
    if kinds & {"date", "dateTime"}:
        raise UnsupportedQueryError("arithmetic with dates")
    if "term" not in kinds:
        kind = max(left.kind, right.kind, key=NUMBERS.index)
        kind = "decimal" if kind == "integer" and sign == "/" else kind
        return SqlValue(_operation(kind, sign, promoted(left, kind), promoted(right, kind)), kind)
    one, other = number_of(rows, left), number_of(rows, right)
    code = rows.compute(
        f"CASE WHEN {one.code} IS NULL OR {other.code} IS NULL THEN"
        f" if({one.is_time} OR {other.is_time}, {beyond('arithmetic with times', 'INTEGER')}, NULL)"
        f" ELSE greatest({one.code}, {other.code}) END"
    )
    exact = rows.compute(f"CASE WHEN {code} <= 2 THEN {_operation('decimal', sign, one.exact, other.exact)} END")
    doubles = _operation("double", sign, one.double, other.double)
    floats = _operation("double", sign, f"{one.double}::FLOAT", f"{other.double}::FLOAT")
    double = rows.compute(f"CASE {code} WHEN 4 THEN {doubles} WHEN 3 THEN ({floats})::DOUBLE END")
    if sign == "/":
        code = rows.compute(f"if({code} = 1, 2, {code})")
    return NumberParts.of(rows, code, exact, double)


def _operation(kind: str, sign: str, a: str, b: str) -> str:
    if kind == "double":
        return (
            f"CASE WHEN {b} = 0 THEN CASE WHEN {a} = 0 OR isnan({a}) THEN 'NaN'::DOUBLE WHEN ({a} > 0) <> signbit({b})"
            f" THEN 'INF'::DOUBLE ELSE '-INF'::DOUBLE END ELSE {a} / {b} END"
            if sign == "/"
            else f"({a} {sign} {b})"
        )
    if kind == "integer":
        return f"TRY_CAST({a}::HUGEINT {sign} {b}::HUGEINT AS BIGINT)"
    if sign in ("+", "-"):
        return f"TRY({a} {sign} {b})"
    if sign == "*":
        return _product(a, b)
    return quotient(a, b)


def _product(a: str, b: str) -> str:
    """Multiply decimals exactly where 38 digits suffice; Oxigraph has more."""
    short = "DECIMAL(19,9)"
    return (
        f"CASE WHEN abs({a}) < 1e9 AND abs({b}) < 1e9 AND round({a}, 9) = {a} AND round({b}, 9) = {b}"
        f" THEN (TRY_CAST({a} AS {short}) * TRY_CAST({b} AS {short}))::DECIMAL(38,18)"
        f" WHEN {a} = trunc({a}) AND {b} = trunc({b}) AND abs({a}::DOUBLE * {b}::DOUBLE) < 1e19"
        f" THEN TRY_CAST({a}::HUGEINT * {b}::HUGEINT AS DECIMAL(38,18))"
        f" WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {beyond('products of long decimals', 'DECIMAL(38,18)')} END"
    )


_OPERATORS: dict[str, Callable[[ExpressionScope, FunctionCall], SqlValue]] = {
    "&&": _and,
    "||": _and,
    "!": _not,
    "=": _equality,
    "!=": _equality,
    **dict.fromkeys(_ORDERS, _order),
    "IN": _in,
    "SAMETERM": _same,
    **dict.fromkeys(("+", "-", "*", "/", "plus", "negate"), _arithmetic),
}
