"""Dates as people and programs write them: the form that all values of a column have, and why there is none.

To read another form of days, add it to :data:`DAYS`; each may have a time after it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_D, _Y, _MONTH = "[0-9]{1,2}", "[0-9]{4}", "[A-Za-z]{3,9}"
_WEEKDAY = "[A-Za-z]{3,9}"
_NAMED_MONTHS = {
    "{B} %d %Y": f"{_MONTH} {_D} {_Y}",
    "{B} %d, %Y": f"{_MONTH} {_D}, {_Y}",
    "%d {B} %Y": f"{_D} {_MONTH} {_Y}",
    "%d. {B} %Y": rf"{_D}\. {_MONTH} {_Y}",
    "%d-{B}-%Y": f"{_D}-{_MONTH}-{_Y}",
    "%d/{B}/%Y": f"{_D}/{_MONTH}/{_Y}",
    "%d-{B}-%y": f"{_D}-{_MONTH}-[0-9]{{2}}",
    "%d/{B}/%y": f"{_D}/{_MONTH}/[0-9]{{2}}",
    "{A}, {B} %d, %Y": f"{_WEEKDAY}, {_MONTH} {_D}, {_Y}",
    "{A}, %d {B} %Y": f"{_WEEKDAY}, {_D} {_MONTH} {_Y}",
    "{A} %d {B} %Y": f"{_WEEKDAY} {_D} {_MONTH} {_Y}",
}
DAYS = {
    "%d.%m.%Y": rf"{_D}\.{_D}\.{_Y}",
    "%d.%m.%y": r"[0-3][0-9]\.[01][0-9]\.[0-9]{2}",
    "%m/%d/%Y": f"{_D}/{_D}/{_Y}",
    "%d/%m/%Y": f"{_D}/{_D}/{_Y}",
    "%m/%d/%y": f"{_D}/{_D}/[0-9]{{2}}",
    "%d/%m/%y": f"{_D}/{_D}/[0-9]{{2}}",
    "%m-%d-%Y": f"{_D}-{_D}-{_Y}",
    "%d-%m-%Y": f"{_D}-{_D}-{_Y}",
    "%Y/%m/%d": f"{_Y}/{_D}/{_D}",
    "%Y.%m.%d": rf"{_Y}\.{_D}\.{_D}",
    "%Y-%m-%d": f"{_Y}-{_D}-{_D}",
    **{
        form.format(B=month, A=day): test
        for month, day in (("%b", "%a"), ("%B", "%A"), ("%b", "%A"), ("%B", "%a"))
        for form, test in _NAMED_MONTHS.items()
    },
    "%Y%m%d": "(19|20)[0-9]{2}[01][0-9][0-3][0-9]",
}
"""Patterns of the forms of days."""
_CLOCKS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%g", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
_JOINTS = (" ", ", ", "T", " at ")
CLOCK = r"(, | at | |T)[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?[apAP][mM])?"
WHOLE = {
    "%a %b %d %H:%M:%S %Y": rf"{_WEEKDAY} {_MONTH} +{_D} [0-9:]+ {_Y}",
    "%a %b %d %H:%M:%S %z %Y": rf"{_WEEKDAY} {_MONTH} +{_D} [0-9:]+ [+-][0-9]{{4}} {_Y}",
    "%a, %d %b %Y %H:%M:%S %z": rf"{_WEEKDAY}, {_D} {_MONTH} {_Y} [0-9:]+ [+-][0-9]{{4}}",
    "%a, %d %b %Y %H:%M:%S GMT": rf"{_WEEKDAY}, {_D} {_MONTH} {_Y} [0-9:]+ GMT",
    "%d %b %Y %H:%M:%S %z": rf"{_D} {_MONTH} {_Y} [0-9:]+ [+-][0-9]{{4}}",
    "%d/%b/%Y:%H:%M:%S %z": rf"{_D}/{_MONTH}/{_Y}:[0-9:]+ [+-][0-9]{{4}}",
    "%Y-%m-%d %H:%M:%S UTC": f"{_Y}-{_D}-{_D} [0-9:]+ UTC",
    "%Y%m%dT%H%M%S": "[0-9]{8}T[0-9]{6}",
    "%Y%m%dT%H%M%SZ": "[0-9]{8}T[0-9]{6}Z",
}
"""Forms of times: of C, Twitter, mail, HTTP, logs of web servers, Ruby, and calendars."""
_WORD = (
    r"(?i:jan|feb|fév|mar|mär|mrt|apr|avr|abr|ma[ijy]|jun|juin|jul|juil|aug|août|ago|sep|set|o[ckut]t|nov|de[czs]|déc|ene"
    r"|gen|mag|giu|lug|dic|out)[A-Za-zÀ-ÖØ-öø-ɏ]{0,9}\.?"  # \p{L}, repeated, takes 20 ms to compile, for each table
)
_PARTIAL = (
    rf"((1[5-9]|20)[0-9]{{2}}(-[01][0-9]|/[01]?[0-9])?|[01]?[0-9]/(1[5-9]|20)[0-9]{{2}}|{_WORD},?"
    r" (1[5-9]|20)[0-9]{2})"
)
"""A year, or a month of a year."""
_LOOSE_DAY = (
    rf"({_D}[./-]{_D}[./-]([0-9]{{2}}|{_Y})|{_Y}[./-]{_D}[./-]{_D}|(19|20)[0-9]{{6}}"
    rf"|{_D}(st|nd|rd|th|\.)?[ /-]?{_WORD},?[ /-](of )?({_Y}|[0-9]{{2}})|{_WORD} {_D}(st|nd|rd|th)?,? {_Y})"
)
LOOSE = rf"{_PARTIAL}|(\p{{L}}+,? )?{_LOOSE_DAY}([ T,:].*[0-9].*|T[0-9]{{6}}Z?)?|\p{{L}}+ {_WORD} +{_D} .*{_Y}"
"""What looks like a date, in any form."""
TWO_WAYS = {
    "dmy": {"%m/%d/%Y": "%d/%m/%Y", "%m/%d/%y": "%d/%m/%y", "%m-%d-%Y": "%d-%m-%Y"},
    "mdy": {"%d/%m/%Y": "%m/%d/%Y", "%d/%m/%y": "%m/%d/%y", "%d-%m-%Y": "%m-%d-%Y"},
}
"""Forms of 3/4/2024 that nothing may decide between: by the order that the user says, the one that is out."""
_SHORT_YEARS = {"%d.%m.%Y": "%d.%m.%y", "%m/%d/%Y": "%m/%d/%y", "%d/%m/%Y": "%d/%m/%y"}
"""Forms in which some of the years of a column may have two digits: 12/08/2023 beside 12/08/23."""
LIKE_NUMBERS = ("%Y%m%d", "%d.%m.%y")
"""Forms of dates that identifiers and numbers of versions and sections have, too."""
UNCLEAR = "3/4 may be 3 April or 4 March"
_NEARLY = 0.8
"""Fraction of the values from which a column looks like one of dates."""
_SORTED_DAYS = 5
"""Different days in order that show which of two readings is right."""
YEARS_AHEAD = 2
_LONGEST = 60


@dataclass(frozen=True)
class DateReading:
    """How to read a column of dates: the forms that its values have, all of which are days alone unless ``timed``.

    Without ``forms``, ``problem`` is the reason why it stays text.
    """

    forms: tuple[str, ...] = ()
    problem: str = ""

    def expression(self, value: str) -> str:
        """Return the SQL expression of a value as text in ISO 8601; a value in another form stays as it is."""
        listed = ", ".join(map(literal, self.forms))
        time = f"try_strptime({value}, {listed if len(self.forms) == 1 else f'[{listed}]'})"
        if any("%z" in form for form in self.forms):
            time = f"({time} AT TIME ZONE 'UTC')"
        time += "" if any("%M" in form for form in self.forms) else "::DATE"
        return f"coalesce({time}::VARCHAR, {value})"


@dataclass(frozen=True)
class _DateColumn:
    """A column whose values look like dates: its expression without missing values, and forms of all its values.

    ``short``: some have the form with years of two digits.
    """

    value: str
    forms: tuple[str, ...] = ()
    short: bool = False
    problem: str = ""


def find(
    con: Connection, source: str, start: str, columns: Mapping[str, str], numbered: Collection[str], order: str = ""
) -> dict[str, DateReading]:
    """Return how to read the columns of a table whose values look like dates.

    ``columns`` are the SQL expressions of their values, missing ones NULL; ``numbered`` are those that hold numbers of
    things, such as versions. ``start`` are the first rows, in order; ``order`` is ``dmy`` or ``mdy`` if the user said
    what 3/4/2024 is.
    """
    found = {name: _forms(con, source, value, name in numbered) for name, value in columns.items()}
    unclear = {name for name, one in found.items() if len(one.forms) > 1 and _swapped(one.forms)}
    sure = {one.forms[0] for name, one in found.items() if name not in unclear and one.forms}
    result = {}
    for name, one in found.items():
        form = _chosen(con, start, one, order, sure) if name in unclear else (one.forms or ("",))[0]
        if not form:
            result[name] = DateReading(problem=one.problem or UNCLEAR)
            continue
        short = _SHORT_YEARS[form] if one.short else ""
        result[name] = _reading(con, source, one.value, form, short)
    return result


def _forms(con: Connection, source: str, value: str, numbered: bool) -> _DateColumn:
    """Return the forms of days or times that all values of a column have, or a problem if there are none."""
    tests = {**DAYS, **WHOLE}
    usable = [form for form in tests if not (numbered and form in LIKE_NUMBERS)]
    counts = ", ".join(f"count({parsed('v', form)})" for form in usable)
    known = f"(SELECT left({value}, {_LONGEST}) AS v FROM {source} WHERE {value} IS NOT NULL)"
    without_day = f"count(*) FILTER (regexp_full_match(v, {literal(_PARTIAL)}))"
    [(total, partial, *numbers)] = con.execute(f"SELECT count(*), {without_day}, {counts} FROM {known}").fetchall()
    whole = tuple(form for form, count in zip(usable, numbers, strict=True) if count == total > 0)
    if whole:
        return _DateColumn(value, whole)
    count_of = dict(zip(usable, numbers, strict=True))
    mixed = ((long, count_of.get(long, 0), count_of.get(short, 0)) for long, short in _SHORT_YEARS.items())
    if both := tuple(form for form, long, short in mixed if long > short > 0 and long + short == total):
        return _DateColumn(value, both, short=True)
    if partial == total:
        return _DateColumn(value, problem="without days")
    several = sum(map(bool, numbers)) > 1 and not any(count + partial == total for count in numbers)
    if partial:
        problem = "some have no day" + (", the others have several forms" if several else "")
        return _DateColumn(value, problem=problem)
    best = max(range(len(usable)), key=lambda place: numbers[place])
    other = f"{parsed('v', usable[best])} IS NULL" if numbers[best] else "true"
    [(example,)] = con.execute(f"SELECT any_value(v) FROM {known} WHERE {other}").fetchall()
    return _DateColumn(value, problem=f"{'another form' if numbers[best] else 'unknown form'}: {example}")


def parsed(value: str, form: str) -> str:
    """Return the expression of a value in one form, a day with any time after it; NULL for others."""
    if form in WHOLE:
        test, forms = WHOLE[form], [form]
    else:
        test, forms = f"{DAYS[form]}({CLOCK})?", timed(form)
    listed = ", ".join(map(literal, forms))
    return f"CASE WHEN regexp_full_match({value}, {literal(test)}) THEN try_strptime({value}, [{listed}]) END"


def timed(form: str) -> list[str]:
    """Return a form of days, alone and with times of day."""
    return [form, *(f"{form}{joint}{clock}" for joint in _JOINTS for clock in _CLOCKS)]


def _swapped(forms: Sequence[str]) -> bool:
    """Return whether forms of the same values have the day and the month at each other's place."""
    return any(form in forms and other in forms for form, other in TWO_WAYS["dmy"].items())


def _chosen(con: Connection, source: str, column: _DateColumn, order: str, sure: set[str]) -> str:
    """Return the form of days that the user said, that other columns have, or by which the rows are in order."""
    pair = [form for form in column.forms if form in {**TWO_WAYS["dmy"], **TWO_WAYS["mdy"]}][:2]
    if order:
        return next(form for form in pair if form not in TWO_WAYS[order])
    if others := [form for form in pair if form in sure]:
        return others[0] if len(others) == 1 else ""
    in_order = [form for form in pair if _is_sorted(con, source, column.value, form)]
    return in_order[0] if len(in_order) == 1 else ""


def _is_sorted(con: Connection, source: str, value: str, form: str) -> bool:
    """Return whether the rows of a table are in the order of a column, or the opposite one."""
    rows = f"(SELECT {parsed(value, form)} AS d, row_number() OVER () AS n FROM {source})"
    [(up, down, days)] = con.execute(f"""
        SELECT count(*) FILTER (d > before), count(*) FILTER (d < before), count(DISTINCT d::DATE)
        FROM (SELECT d, lag(d) OVER (ORDER BY n) AS before FROM {rows} WHERE d IS NOT NULL)""").fetchall()
    return days >= _SORTED_DAYS and not (up and down)


def _reading(con: Connection, source: str, value: str, form: str, short: str) -> DateReading:
    """Return how to read values that all have a form of days, with or without times, or a form of times.

    Some may have the form ``short``, which comes first: %Y would read 23 as a year.
    """
    forms = [form] if form in WHOLE else [*(timed(short) if short else ()), *timed(form)]
    counts = ", ".join(f"count(try_strptime({value}, {literal(one)}))" for one in forms)
    [(latest, now, *numbers)] = con.execute(f"""
        SELECT max({parsed(value, short or form)})::TIMESTAMP, current_date + INTERVAL {YEARS_AHEAD} YEAR, {counts}
        FROM {source} WHERE {value} IS NOT NULL""").fetchall()
    if "%y" in (short or form) and latest > now:
        return DateReading(problem="years of two digits may be of two centuries")
    return DateReading(tuple(one for one, count in zip(forms, numbers, strict=True) if count))


def epoch(con: Connection, source: str, name: str, value: str) -> int:
    """Return how many units of a number since 1970 are a second: 1, or 1,000 for milliseconds; 0 if a column has
    other numbers, or is not named as a time.

    Zeros are missing values.
    """
    words = names.words(name)
    if not (set(words[-1:]) & _TIMES or {"timestamp", "datetime"} & set(words)) or names.is_count(name):
        return 0
    counts = ", ".join(f"count_if(n BETWEEN {_FIRST * unit} AND {_LAST * unit})" for unit in _UNITS)
    numbers = f"SELECT TRY_CAST({value} AS DOUBLE) AS n FROM {source} WHERE {value} IS NOT NULL"
    [(every, zeros, *found)] = con.execute(f"SELECT count(*), count_if(n = 0), {counts} FROM ({numbers})").fetchall()
    return next((unit for unit, count in zip(_UNITS, found, strict=True) if count and count + zeros == every), 0)


def of_epoch(value: str, unit: int) -> str:
    """Return the SQL expression of the time, of UTC, of a number since 1970."""
    number = f"nullif(TRY_CAST({value} AS DOUBLE), 0)"
    return f"epoch_ms(CAST({number} * {1000 // unit} AS BIGINT))"


_UNITS = (1, 1000)
_FIRST, _LAST = 500_000_000, 4_102_444_800
"""Seconds since 1970 of times that people have: from 1985 to 2099."""
_TIMES = frozenset(
    ["ts", "timestamp", "time", "created", "updated", "modified", "changed", "deleted", "joined", "posted", "sent",
     "seen", "edited", "date", "utc", "epoch", "at", "on", "set", "login", "expires", "registered", "published",
     "added", "received", "started", "finished"]
)  # fmt: skip
"""Last words of columns with times."""


def looks_dated(look: Mapping[str, float], present: float) -> bool:
    """Return whether a column of texts looks like one of dates that are not in ISO 8601."""
    return 0 < _NEARLY * present <= look["dated"] and look["dates"] < present and look["zoned"] < present
