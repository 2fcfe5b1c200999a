"""The functions and casts of SPARQL 1.1 in SQL, with Oxigraph's choices."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES
from kbkit.schema import literal as sql_string
from kbkit.sparql.columns import labels, number_functions
from kbkit.sparql.columns.algebra import Expression, FunctionCall
from kbkit.sparql.columns.evaluating import UNBOUND, Evaluating, Function, boolean_value, simple_text, string_value
from kbkit.sparql.columns.parts import parts_of, truth
from kbkit.sparql.columns.rows import SqlRows, common_kind
from kbkit.sparql.columns.terms import (
    NUMBERS,
    XSD,
    ConstantTerm,
    SqlValue,
    UnsupportedQueryError,
    beyond,
    lexical,
    plain_case,
)
from kbkit.sparql.columns.terms import literal as literal_constant

_STRINGS = ("string", "term")


def call(scope: Evaluating, expression: FunctionCall) -> SqlValue:
    """Return the value of a function. Raises :class:`UnsupportedQueryError` for an unknown one."""
    function = _FUNCTIONS.get(expression.name)
    if function is None:
        raise UnsupportedQueryError(f"the function {expression.name}")
    return function(scope, expression.arguments)


# -- terms ------------------------------------------------------------------------------------------------------------


def _str(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    return string_value(lexical(scope.plain(arguments[0])))


def _lang(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind == "term":
        tag = parts_of(scope.rows, value).tag
        return string_value(f"if(starts_with({tag}, '@'), substr({tag}, 2), if({tag} IS NULL, NULL, ''))")
    return UNBOUND if value.kind == "iri" else string_value(f"if({value.sql} IS NULL, NULL, '')")


def _datatype(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind == "iri":
        return UNBOUND
    if value.kind != "term":
        return SqlValue(f"if({value.sql} IS NULL, NULL, '{XSD}{value.kind}')", "iri")
    tag = parts_of(scope.rows, value).tag
    language = STANDARD_PREFIXES["rdf"] + "langString"
    return SqlValue(
        f"CASE WHEN {tag} = '' THEN '{XSD}string' WHEN starts_with({tag}, '@') THEN '{language}'"
        f" WHEN {tag} IS NOT NULL THEN substr({tag}, 2) END",
        "iri",
    )


def _iri(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind == "iri":
        return value
    if value.kind not in _STRINGS:
        return UNBOUND
    text = value.sql if value.kind == "string" else parts_of(scope.rows, value).simple
    absolute = f"regexp_full_match({text}, '[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{{}}|\\\\^`\\x00-\\x20]*')"
    checked_iri = scope.rows.compute(
        f"CASE WHEN {text} IS NULL THEN NULL WHEN {absolute} AND NOT contains({text}, '%') AND {text} ="
        f" regexp_replace({text}, '[^ -~]', '', 'g') THEN {text} ELSE {beyond('IRI of unusual text', 'VARCHAR')} END"
    )
    if value.kind == "string":
        return SqlValue(checked_iri, "iri")
    return SqlValue(f"if(starts_with({value.sql}, '<'), substr({value.sql}, 2), {checked_iri})", "iri")


def _is_kind(kind: str) -> Function:
    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        value = scope.value(arguments[0])
        if value.kind in ("id", "term"):
            value = scope.plain(arguments[0])
            sign = {"iri": "<", "blank": "_", "literal": '"'}[kind]
            return boolean_value(f"starts_with({value.sql}, '{sign}')")
        is_kind = kind == ("iri" if value.kind in ("iri", "node") else "literal")
        return boolean_value(f"if({value.sql} IS NULL, NULL, {is_kind})")

    return function


def _is_numeric(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    if value.kind == "term":
        return boolean_value(f"if({value.sql} IS NULL, NULL, {parts_of(scope.rows, value).code} IS NOT NULL)")
    return boolean_value(f"if({value.sql} IS NULL, NULL, {value.kind in NUMBERS})")


def _strlang(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    text, tag = (simple_text(scope.rows, scope.plain(part)) for part in arguments)
    valid = f"regexp_full_match({tag}, '[a-zA-Z]{{2,8}}(-[a-zA-Z0-9]{{1,8}})*')"
    return SqlValue(f"if({valid}, '\"@' || lower({tag}) || '\"' || {text}, NULL)", "term")


def _strdt(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    target = arguments[1]
    if not isinstance(target, ConstantTerm) or not target.text.startswith("<"):
        raise UnsupportedQueryError("STRDT with a computed datatype")
    datatype, first = target.text[1:], arguments[0]
    if isinstance(first, ConstantTerm):
        return literal_constant(first.text[2:], datatype=datatype).value if first.text.startswith('""') else UNBOUND
    text = simple_text(scope.rows, scope.plain(first))
    if datatype == XSD + "string":
        return string_value(text)
    if datatype.startswith(XSD):
        raise UnsupportedQueryError("STRDT with a computed text and a datatype of XML Schema")
    return SqlValue(f"""('"^' || {sql_string(datatype)} || '"' || {text})""", "term")


def _bound(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    return SqlValue(f"({scope.value(arguments[0]).sql} IS NOT NULL)", "boolean", nullable=False)


def _choice(scope: Evaluating, condition: str, one: SqlValue, other: SqlValue) -> SqlValue:
    one, other, kind = _united(scope.rows, one, other)
    return SqlValue(
        f"CASE WHEN {condition} IS NULL THEN NULL WHEN {condition} THEN {one.sql} ELSE {other.sql} END", kind
    )


def _united(rows: SqlRows, one: SqlValue, other: SqlValue) -> tuple[SqlValue, SqlValue, str]:
    if UNBOUND.sql in (one.sql, other.sql):
        return one, other, other.kind if one.sql == UNBOUND.sql else one.kind
    kind = common_kind((one.kind, other.kind))
    first, second = (rows.plain(rows.converted(value, kind)) for value in (one, other))
    return first, second, kind


def _if(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    condition = scope.rows.compute(truth(scope.rows, scope.value(arguments[0])))
    return _choice(scope, condition, scope.value(arguments[1]), scope.value(arguments[2]))


def _coalesce(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = UNBOUND
    for argument in reversed(arguments):
        one, other, kind = _united(scope.rows, scope.value(argument), value)
        value = SqlValue(f"coalesce({one.sql}, {other.sql})", kind, one.nullable and other.nullable)
    return value


# -- strings ----------------------------------------------------------------------------------------------------------


def _text(rows: SqlRows, value: SqlValue) -> str:
    """Return the text of an xsd:string or of a literal with a language, NULL for other values."""
    if value.kind == "string":
        return value.sql
    return parts_of(rows, value).string if value.kind == "term" else "NULL::VARCHAR"


def _like(rows: SqlRows, value: SqlValue, text: str) -> SqlValue:
    """Return a string with the language of another one."""
    if value.kind != "term":
        return string_value(text)
    tag = parts_of(rows, value).tag
    return SqlValue(f"'\"' || {tag} || '\"' || ({text})", "term")


def _on_text(sql: Callable[[str], str], kind: str) -> Function:
    """Return a function of the text of a string; with the kind ``string`` the result keeps the language."""

    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        value = scope.plain(arguments[0])
        computed = sql(_text(scope.rows, value))
        return _like(scope.rows, value, computed) if kind == "string" else SqlValue(computed, kind)

    return function


def _hash(name: str) -> Function:
    return lambda scope, arguments: string_value(f"{name}({simple_text(scope.rows, scope.plain(arguments[0]))})")


def _compatible(rows: SqlRows, value: SqlValue, other: SqlValue) -> tuple[str, str]:
    """Return the texts of two strings; the second is NULL unless it is plain or has the language of the first."""
    text, argument = _text(rows, value), _text(rows, other)
    if other.kind == "term":
        tag = parts_of(rows, other).tag
        own = parts_of(rows, value).tag if value.kind == "term" else "''"
        argument = rows.compute(f"if({tag} = '' OR {tag} = {own}, {argument}, NULL)")
    return text, argument


def _test(name: str) -> Function:
    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        text, part = _compatible(scope.rows, *(scope.plain(argument) for argument in arguments))
        return boolean_value(f"{name}({text}, {part})")

    return function


def _beside(before: bool) -> Function:
    def function(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
        value = scope.plain(arguments[0])
        text, part = _compatible(scope.rows, value, scope.plain(arguments[1]))
        cut = (
            f"left({text}, strpos({text}, {part}) - 1)"
            if before
            else f"substr({text}, strpos({text}, {part}) + length({part}))"
        )
        empty_part = f"if({text} IS NULL, NULL, {chr(39) * 2 if before else text})"
        beside = scope.rows.compute(f"if({part} = '', {empty_part}, {cut})")
        if value.kind != "term":
            missing = f"if({part} IS NULL OR {text} IS NULL, NULL, '')"
            return string_value(f"if({part} = '' OR contains({text}, {part}), {beside}, {missing})")
        whole = _like(scope.rows, value, beside).sql
        empty = """'""'"""
        return SqlValue(
            f"CASE WHEN {part} IS NULL OR {text} IS NULL THEN NULL WHEN contains({text}, {part}) THEN {whole}"
            f" ELSE {empty} END",
            "term",
        )

    return function


def _substr(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value, *numbers = (scope.plain(argument) for argument in arguments)
    text = _text(scope.rows, value)
    if any(number.kind != "integer" for number in numbers):
        raise UnsupportedQueryError("SUBSTR with numbers of unknown kind")
    start = numbers[0].sql
    if len(numbers) == 1:
        return _like(scope.rows, value, f"substr({text}, greatest({start}, 1))")
    end = f"({start} + {numbers[1].sql})"
    return _like(scope.rows, value, f"substr({text}, greatest({start}, 1), greatest({end} - greatest({start}, 1), 0))")


def _concat(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    values = [scope.plain(argument) for argument in arguments]
    text = " || ".join(_text(scope.rows, value) for value in values) or "''"
    if all(value.kind == "string" for value in values):
        return string_value(f"({text})")
    tags = [
        "''" if value.kind == "string" else parts_of(scope.rows, value).tag
        for value in values
        if value.kind in _STRINGS
    ]
    same = " AND ".join(f"{tag} = {tags[0]}" for tag in tags[1:]) or "true"
    return SqlValue(f"'\"' || if({same}, {tags[0] if tags else 'NULL'}, '') || '\"' || ({text})", "term")


_SPECIAL = re.compile(r"[\\.^$|?*+()\[\]{}]")
_CLASSES = {"d": r"\p{Nd}", "D": r"\P{Nd}", "s": r"[\s\x{0B}\x{85}\p{Z}]", "w": r"[\p{L}\p{M}\p{Nd}\p{Pc}]"}


def _pattern(argument: Expression, flags: Expression | None) -> str:
    """Return a constant regular expression for RE2, with its flags inside."""
    options = "" if flags is None else _constant_text(flags)
    pattern = _constant_text(argument)
    if set(options) - set("ismq"):
        raise UnsupportedQueryError(f"the flags {options!r} of a regular expression")
    pattern = re.sub(_SPECIAL, r"\\\g<0>", pattern) if "q" in options else _for_re2(pattern)
    chosen = "".join(sorted(set(options) - {"q"}))
    whole = f"(?{chosen}{'' if 's' in options else '-s'}){pattern}"
    try:
        pc.match_substring_regex(pa.scalar(""), whole)  # by RE2, as in DuckDB
    except pa.ArrowInvalid:
        raise UnsupportedQueryError("this regular expression") from None
    return sql_string(whole)


def _for_re2(pattern: str) -> str:
    """Rewrite the classes that mean Unicode in Oxigraph and ASCII in RE2."""
    parts = []
    inside = False
    for token in re.findall(r"\\.|\[\^?|\]|.", pattern, re.DOTALL):
        part = token
        if part.startswith("[") and not inside:
            inside = True
        elif part == "]":
            inside = False
        elif inside and part in ("[", "[^", "&", "~"):
            raise UnsupportedQueryError("nested classes in a regular expression")
        elif len(part) == 2 and part[1].isalnum():
            if part[1] not in _CLASSES or (inside and part[1] in "sw"):
                raise UnsupportedQueryError(f"{part} in a regular expression")
            part = _CLASSES[part[1]]
        parts.append(part)
    return "".join(parts)


_OTHER_REFERENCE = r"\$(?!\{[0-9]\}|[0-9](?![0-9A-Za-z_]))|\\"


def _constant_text(argument: Expression) -> str:
    if not isinstance(argument, ConstantTerm) or not argument.text.startswith('""'):
        raise UnsupportedQueryError("a regular expression that is not a constant")
    return argument.text[2:]


def _regex(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    text = _text(scope.rows, scope.plain(arguments[0]))
    flags = arguments[2] if len(arguments) > 2 else None
    pattern = _pattern(arguments[1], flags)
    if flags is None and not _SPECIAL.search(_constant_text(arguments[1])):
        return boolean_value(f"contains({text}, {sql_string(_constant_text(arguments[1]))})")
    return boolean_value(f"regexp_matches({text}, {pattern})")


def _replace(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    value = scope.plain(arguments[0])
    pattern = _pattern(arguments[1], arguments[3] if len(arguments) > 3 else None)
    replacement = _constant_text(arguments[2])
    if re.search(_OTHER_REFERENCE, replacement) or arguments[1] == ConstantTerm('""'):
        raise UnsupportedQueryError("this replacement of a regular expression")
    groups = len(re.findall(r"(?<!\\)\((?!\?)", pattern))
    if any(int(digit) > groups for digit in re.findall(r"\$\{?([0-9])", replacement)):
        raise UnsupportedQueryError("a reference to a group that a regular expression lacks")
    replacement = re.sub(r"\$(?:([0-9])|\{([0-9])\})", r"\\\1\2", replacement)
    text = _text(scope.rows, value)
    return _like(scope.rows, value, f"regexp_replace({text}, {pattern}, {sql_string(replacement)}, 'g')")


def _langmatches(scope: Evaluating, arguments: tuple[Expression, ...]) -> SqlValue:
    tag, wanted = (simple_text(scope.rows, scope.plain(argument)) for argument in arguments)
    starts = f"starts_with(lower({tag}), lower({wanted}) || '-')"
    return boolean_value(f"if({wanted} = '*', {tag} <> '', lower({tag}) = lower({wanted}) OR {starts})")


_FUNCTIONS: dict[str, Function] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "IRI": _iri,
    "URI": _iri,
    "ISIRI": _is_kind("iri"),
    "ISURI": _is_kind("iri"),
    "ISBLANK": _is_kind("blank"),
    "ISLITERAL": _is_kind("literal"),
    "ISNUMERIC": _is_numeric,
    "STRLANG": _strlang,
    "STRDT": _strdt,
    "BOUND": _bound,
    "IF": _if,
    "COALESCE": _coalesce,
    "STRLEN": _on_text(lambda text: f"length({text})", "integer"),
    "UCASE": _on_text(lambda text: f"upper({plain_case(text)})", "string"),
    "LCASE": _on_text(lambda text: f"lower({plain_case(text)})", "string"),
    "ENCODE_FOR_URI": lambda scope, arguments: string_value(
        f"url_encode({_text(scope.rows, scope.plain(arguments[0]))})"
    ),
    "MD5": _hash("md5"),
    "SHA1": _hash("sha1"),
    "SHA256": _hash("sha256"),
    "CONTAINS": _test("contains"),
    "STRSTARTS": _test("starts_with"),
    "STRENDS": _test("ends_with"),
    "STRBEFORE": _beside(before=True),
    "STRAFTER": _beside(before=False),
    "SUBSTR": _substr,
    "CONCAT": _concat,
    "REGEX": _regex,
    "REPLACE": _replace,
    "LANGMATCHES": _langmatches,
    f"<{KB_NAMESPACE}inLanguage>": labels.in_language,
    **number_functions.FUNCTIONS,
}
