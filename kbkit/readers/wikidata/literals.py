"""Values as Wikibase writes them in RDF: times, numbers, texts and IRIs.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format, and the behaviour of Wikibase's exporter
where that page says nothing.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache
from urllib.parse import quote, quote_plus

from kbkit.schema import Wikibase

XSD = Wikibase.PREFIXES["xsd"]
TYPE = f"<{Wikibase.PREFIXES['rdf']}type>"
MATHML = "http://www.w3.org/1998/Math/MathML"
MEDIA = "http://commons.wikimedia.org/wiki/Special:FilePath/"
COMMONS_DATA = "http://commons.wikimedia.org/data/main/"

JULIAN = "Q1985786"
YEAR, MONTH, DAY = 9, 10, 11
"""Precisions of a time: 0 is a billion years, 9 a year, 11 a day, 14 a second."""

_TIME = re.compile(r"([+-]?)([0-9]+)-([0-9]{1,2})-([0-9]{1,2})T([0-9]{2}:[0-9]{2}:[0-9]{2}Z?)")
_RDF_TIME = re.compile(r"(-?[0-9]{4,})-([0-9]{2})-([0-9]{2})T(.*)")
_AMOUNT = re.compile(r"[+-]?[0-9]{1,200}(\.[0-9]{1,200})?")
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIRST_JULIAN, _LAST_JULIAN = -4713, 1465072
"""Years (without a year 0) in which Wikibase converts Julian dates; it treats other dates as Gregorian."""


@lru_cache(1 << 16)
def date_time(time: str, precision: int, calendar: str) -> str | None:
    """Convert a time of Wikibase's JSON to xsd:dateTime, or return None if it cannot be expressed (year 0).

    Times less precise than a month become 1 January, those less precise than a day the first of the month. Julian dates
    with day precision become Gregorian. Years BCE with at least year precision are numbered as in XSD 1.1, where 1 BCE
    is 0000; for coarser ones Wikibase keeps the number. Raises ``ValueError`` for an invalid time.
    """
    match = _TIME.fullmatch(time)
    if not match:
        raise ValueError(f"{time[:50]!r} is not a valid time")
    sign, digits, month_text, day_text, clock = match.groups()
    negative = sign == "-"
    year = int(digits)
    month = min(max(int(month_text), 1), 12)
    day = max(int(day_text), 1)
    if year == 0:
        return None
    if calendar == JULIAN and precision >= DAY:
        converted = _from_julian(-year if negative else year, month, day)
        if converted is not None:
            return _format_time(*converted, clock)
    if precision <= YEAR:
        month = day = 1
    elif precision == MONTH:
        day = 1
    day = min(day, _days(-year if negative else year, month))
    if negative and precision >= YEAR:
        year -= 1
    sign = "-" if negative and year else ""
    return f"{sign}{year:04d}-{month:02d}-{day:02d}T{clock}"


def wikidata_time(text: str, precision: int, calendar: str) -> str:
    """Return a time of RDF as Wikidata's JSON has it, the inverse of :func:`date_time`.

    Parts that the precision leaves out are 00, Julian dates are those of their calendar, and there is no year 0.
    """
    match = _RDF_TIME.fullmatch(text)
    if match is None:
        return text
    year, month, day = (int(part) for part in match.groups()[:3])
    if calendar == JULIAN and precision >= DAY:
        year, month, day = _to_julian(year, month, day)
    if precision >= YEAR and year <= 0:
        year -= 1
    month, day = month * (precision > YEAR), day * (precision > MONTH)
    return f"{'-' if year < 0 else '+'}{abs(year):04d}-{month:02d}-{day:02d}T{match[4]}"


def _days(year: int, month: int) -> int:
    """Return the days of a month in the proleptic Gregorian calendar (without a year 0)."""
    if month != 2:
        return _MONTHS[month - 1]
    year = year + 1 if year < 0 else year
    return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28


def _from_julian(year: int, month: int, day: int) -> tuple[int, int, int] | None:
    """Convert a Julian date (no year 0) to a Gregorian one (astronomical years) by its Julian day number."""
    if not _FIRST_JULIAN <= year <= _LAST_JULIAN or day > 31:
        return None
    year = year + 1 if year < 0 else year
    before = (14 - month) // 12
    y, m = year + 4800 - before, month + 12 * before - 3
    number = day + (153 * m + 2) // 5 + 365 * y + y // 4 - 32083
    if number <= 0:
        return None
    a = number + 32044
    b = (4 * a + 3) // 146097
    c = a - 146097 * b // 4
    d = (4 * c + 3) // 1461
    e = c - 1461 * d // 4
    m = (5 * e + 2) // 153
    return 100 * b + d - 4800 + m // 10, m + 3 - 12 * (m // 10), e - (153 * m + 2) // 5 + 1


def _to_julian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Convert a Gregorian date to a Julian one (both in astronomical years) by its Julian day number."""
    before = (14 - month) // 12
    y, m = year + 4800 - before, month + 12 * before - 3
    number = day + (153 * m + 2) // 5 + 365 * y + y // 4 - y // 100 + y // 400 - 32045
    if number <= 0 or year > _LAST_JULIAN:
        return year, month, day
    c = number + 32082
    d = (4 * c + 3) // 1461
    e = c - 1461 * d // 4
    m = (5 * e + 2) // 153
    return d - 4800 + m // 10, m + 3 - 12 * (m // 10), e - (153 * m + 2) // 5 + 1


def _format_time(year: int, month: int, day: int, clock: str) -> str:
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}T{clock}"


def amount(text: object) -> str:
    """Return the number of a quantity with its sign, as in RDF; raise ``ValueError`` for an invalid number."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):  # dumps of the first years
        text = plain_number(text)
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise ValueError(f"{str(text)[:50]!r} is not a decimal number")
    return text if text[0] in "+-" else "+" + text


def plain_number(value: object) -> str:
    """Format a JSON number without an exponent; raise ``ValueError`` unless it is finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:50]!r} is not a number")
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


# -- N-Triples --------------------------------------------------------------------------------------------------------

_SPECIAL = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(32), 127)} | {
    ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t",
}  # fmt: skip


def text_literal(text: str) -> str:
    """Return a plain literal."""
    return f'"{text.translate(_ESCAPES)}"' if _SPECIAL.search(text) else f'"{text}"'


_COMMON_URL = re.compile(
    r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?"
    r"(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//[^/?#]*)?([^#]*)(#.*)?", re.DOTALL)
_NOT_IN_IRI = re.compile(
    r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+,;=:@/?%\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd"
    r"\U00020000-\U0002fffd\U00030000-\U0003fffd-]"
)
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]+\](:[0-9]*)?")
_PORT = re.compile(r":(?![0-9]*$)")


def iri(text: str) -> str | None:
    """Return an IRI (RFC 3987) in angle brackets with invalid characters percent-encoded, or None without a scheme."""
    if _COMMON_URL.fullmatch(text):
        return f"<{text}>"
    match = _URL.fullmatch(text.strip())
    if not match:
        return None
    scheme, authority, path, fragment = match.groups()
    if authority:
        user, at, host = authority[2:].rpartition("@")
        if not _IPV6.fullmatch(host):
            host = _PORT.sub("%3A", _encoded(host))
        authority = f"//{_encoded(user).replace('@', '%40')}{at}{host}"
    elif path.startswith("//"):
        return None
    end = "" if fragment is None else "#" + _encoded(fragment[1:])
    return f"<{scheme}:{authority or ''}{_encoded(path)}{end}>"


def _encoded(text: str) -> str:
    return _NOT_IN_IRI.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text)


def raw_url(text: str) -> str:
    """Encode all but letters, digits and ``-_.~``, as PHP's ``rawurlencode`` does."""
    return quote(text, safe="")


def wiki_url(text: str) -> str:
    """Encode as MediaWiki's ``wfUrlencode``, which keeps some punctuation; spaces become ``+``."""
    return quote_plus(text, safe=";@$!*(),/~:")


# -- languages --------------------------------------------------------------------------------------------------------

CANONICAL = {
    "als": "gsw", "bat-smg": "sgs", "be-x-old": "be-tarask", "cbk-zam": "cbk", "crh": "crh-latn",
    "de-formal": "de-x-formal", "eml": "egl", "es-formal": "es-x-formal", "fiu-vro": "vro", "hu-formal": "hu-x-formal",
    "map-bms": "jv-x-bms", "mo": "ro-cyrl-md", "nl-informal": "nl-x-informal", "no": "nb", "nrm": "nrf",
    "roa-rup": "rup", "roa-tara": "nap-x-tara", "simple": "en-simple", "sr-ec": "sr-cyrl", "sr-el": "sr-latn",
    "zh-classical": "lzh", "zh-cn": "zh-hans-cn", "zh-hk": "zh-hant-hk", "zh-min-nan": "nan", "zh-mo": "zh-hant-mo",
    "zh-my": "zh-hans-my", "zh-sg": "zh-hans-sg", "zh-tw": "zh-hant-tw", "zh-yue": "yue",
}  # fmt: skip
"""MediaWiki's nonstandard language codes, with the standard ones in lower case."""

_TAG = re.compile(  # RFC 5646: language, script, region, variants, private use
    r"(?:[a-z]{2,3}(?:-[a-z]{3}){0,3}|[a-z]{4,8})(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(?:-x(?:-[a-z0-9]{1,8})+)?(?=-|$)"
)


@lru_cache(4096)
def language_tag(code: str) -> str:
    """Convert a language code of MediaWiki to the standard tag, in lower case as in the query service.

    An invalid code (``mis-x-q118976027``) is cut to its valid prefix; without one the tag is ``und``.
    """
    tag = code.lower().replace("_", "-")
    match = _TAG.match(CANONICAL.get(tag, tag))
    return match[0] if match else "und"


# -- from RDF ---------------------------------------------------------------------------------------------------------

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def literal_parts(literal: str) -> tuple[str, str, str]:
    """Return (text, language tag, datatype) of a literal in N-Triples."""
    end = literal.rindex('"')
    content, rest = literal[1:end], literal[end + 1 :]
    if "\\" in content:
        content = _ESCAPE.sub(_unescape, content)
    return content, rest[1:] if rest.startswith("@") else "", rest[3:-1] if rest.startswith("^^") else ""


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(match[3], match[3])
