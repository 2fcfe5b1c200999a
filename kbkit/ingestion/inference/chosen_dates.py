"""Columns that a person says hold dates or years, although their values have several forms: each is read by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.errors import UnknownNameError
from kbkit.ingestion.inference import dates
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    from kbkit.ingestion.inference.profile import ProfiledTable

    Connection = duckdb.DuckDBPyConnection

YEAR = "year"
KINDS = (*dates.TWO_WAYS, YEAR)
"""What the values become: dates, with 3/4 as 3 April (``dmy``) or 4 March (``mdy``), or years."""
_YEAR = "(?:[0-9]{0,3}[^0-9]+)*([12][0-9]{3})(?:[^0-9]+[0-9]{0,3})*"
"""A text with one number of four digits, and only shorter ones beside it."""


def read(con: Connection, table: ProfiledTable, name: str, kind: str) -> ProfiledColumn:
    """Return a column of ``table`` whose values become dates or years; those without one become missing.

    Raises :class:`UnknownNameError` for a kind that is not one of :data:`KINDS`.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of dates", kind, KINDS)
    column, source = table.columns[name], identifier(table.name)
    text = f"trim({column.value}::VARCHAR)"
    forms = _forms(con, source, text, kind)
    time = _time(con, source, text, forms)
    if kind == YEAR:  # a day without a number of four digits has its year, too
        short = any("%y" in form or form == "%Y%m%d" for form in forms)
        year = f"nullif(regexp_extract({text}, '^{_YEAR}$', 1), '')"
        value = f"coalesce({year}, year({time})::VARCHAR)" if short else year
    else:
        value = f"{time}{'' if '%M' in time else '::DATE'}::VARCHAR"
    [(count, found, distinct, example)] = con.execute(f"""
        SELECT count(v), count(d), count(DISTINCT d), any_value(v) FILTER (d IS NULL)
        FROM (SELECT {text} AS v, {value} AS d FROM {source})""").fetchall()
    what = "year" if kind == YEAR else "day"
    lost = f"{count - found:,} of {count:,} values have no {what}, such as {example!r}" if count > found else ""
    look = "integer" if kind == YEAR else "date"
    return replace(
        column, kind="VARCHAR", look=look, value=value, count=found, distinct=distinct, missing=0, problem="", lost=lost
    )


def _forms(con: Connection, source: str, text: str, kind: str) -> dict[str, str]:
    """Return the forms that values have, with their patterns. Of two that read one value, the ``kind`` decides; years
    of two digits are left out if some would lie ahead.
    """
    tests = {form: test for form, test in {**dates.DAYS, **dates.WHOLE}.items() if "%z" not in form}
    later = dates.TWO_WAYS.get(kind, {})
    ordered = sorted(tests, key=lambda form: ("%y" not in form, form in later))
    cases = " ".join(f"WHEN {dates.parsed('v', form)} IS NOT NULL THEN {n}" for n, form in enumerate(ordered))
    short = ", ".join(dates.parsed("v", form) for form in ordered if "%y" in form)
    rows = f"SELECT CASE {cases} END AS n, coalesce({short}) AS t FROM (SELECT {text} AS v FROM {source})"
    ahead = f"bool_or(t > current_date + INTERVAL {dates.YEARS_AHEAD} YEAR)"
    query = f"SELECT n, coalesce({ahead}, false) FROM ({rows}) WHERE n IS NOT NULL GROUP BY n ORDER BY n"
    found = [(ordered[n], is_ahead) for n, is_ahead in con.execute(query).fetchall()]
    return {form: tests[form] for form, is_ahead in found if not (is_ahead and "%y" in form)}


def _time(con: Connection, source: str, text: str, forms: dict[str, str]) -> str:
    """Return the SQL expression of the time of each text that has one of ``forms``, alone or with a time of day."""
    if not forms:
        return "NULL::TIMESTAMP"
    variants = [one for form in forms for one in ([form] if form in dates.WHOLE else dates.timed(form))]
    counts = ", ".join(f"count(try_strptime({text}, {literal(one)}))" for one in variants)
    [numbers] = con.execute(f"SELECT {counts} FROM {source}").fetchall()
    used = [one for one, count in zip(variants, numbers, strict=True) if count]
    clock = f"({dates.CLOCK})?" if any("%M" in one for one in used) else ""
    test = f"({'|'.join(dict.fromkeys(forms.values()))}){clock}"
    listed = ", ".join(map(literal, used))
    return f"CASE WHEN regexp_full_match({text}, {literal(test)}) THEN try_strptime({text}, [{listed}]) END"
