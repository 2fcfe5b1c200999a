"""The text of a question before its words are linked: without asides about the data, and with quarters as months.

Both are done before linking, since a KB may have a column called ``record`` or ``quarter_ct``, whose name is not meant.
"""

from __future__ import annotations

import re

from kbkit.english.words import is_participle
from kbkit.questions.units import UNITS

_INTRODUCTION = re.compile(r"^[^:?]{0,30}\bquestion\b[^:?]{0,10}:\s+", re.I)
"""What announces a question: ``Quick question: ...``."""
_DATA = r"(?:database|data ?base|data ?set|data|knowledge base)"
_ASIDE = re.compile(
    rf"\s(?:(?:(?:that|which) (?:are|is|were) )?(?:currently )?(?:(?:on|in) (?:record|file)"
    rf"|(?:in|from|of|on) (?:(?:the|our|your|this|these|my|all|whole|entire) )+{_DATA})"
    rf"|(?:that |which )?(?:you|we) (?:currently )?(?:have|know(?: of| about)?|hold))(?=\s*[?.!]*\s*$)"
)
"""Words at the end of a question that say no more than that the KB has something."""
_COPULA, _AUXILIARY = re.compile(r"\b(?:are|is|were)$"), re.compile(r"\b(?:do|did|does|can|could)$")
_ORDINALS = {"1": 1, "2": 2, "3": 3, "4": 4, "first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WHEN = r"(?:\b(?P<when>in|during|of|for|from|since|after|before|until)\s+)?(?:the\s+)?"
_NTH = r"(?P<nth>first|second|third|fourth|last|[1-4](?:st|nd|rd|th))\s+(?P<part>quarter|half)"
_QUARTER = re.compile(
    rf"{_WHEN}(?:(?:{_NTH}|(?P<q>[Qq][1-4]))(?:\s+of|\s+in|,)?(?:\s+the\s+year)?[\s/-]+(?P<year>1\d{{3}}|20\d\d)"
    rf"|(?P<before>1\d{{3}}|20\d\d)[\s/-]?(?P<late>[Qq][1-4]))\b",
    re.I,
)
"""A quarter or a half of a year: ``in the second quarter of 2021``, ``Q2 2021``, ``2021-Q2``."""
_NAMED = "|".join(f"{month[:3]}(?:{month[3:]})?" if month[3:] else month for month in _MONTHS)
_RANGE = re.compile(
    rf"(?P<first>\b(?:between|from)\s+(?:{_NAMED}))\b(?P<rest>\s+(?:and|to|until)\s+(?:{_NAMED})\s+(?P<year>(?:1\d|20)\d\d)\b)",
    re.I,
)
"""A range of months that share the year after the second one."""
_ASKING = r"who|whom|whose|what|which|when|where|why|how"
_COLUMNS = re.compile(
    rf"\?\s+(?!(?:and|or|so|but)\s+(?:{_ASKING})\b)(?:(?:please|and|just|also) )*"
    r"(?:(?:give|show|list|tell|return|include)\s+(?:me\s+)?)?(?:the\s+)?"
    rf"(?!(?:{_ASKING}|is|are|was|were|do|does|did|has|have|can|could|if|i|we|you|they|it"
    r"|or|but|so|not|only|thanks?|cheers)\b)(?P<columns>[^?!]{3,80}?)(?:,?\s+(?:please|thanks?))?\s*[.!]?\s*$",
    re.I,
)
"""What follows a question mark: the columns that are asked for, ``Which rooms are free? Name and price please``."""
_TENS = {"thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80}
_TENS["nineties"] = 90
_DECADE = re.compile(
    r"\b(?:(?P<when>from|of|in|during|since|before|after|until) )?"
    r"(?:(?:the )?(?P<year>(?:1[5-9]|20)\d0)'?s|the ['\u2019]?(?P<short>[2-9]0)'?s"
    rf"|the (?P<tens>{'|'.join(_TENS)}))\b",
    re.IGNORECASE,
)
"""A decade: ``in the 1990s``, ``of the 90s``."""


_CENTURY = re.compile(
    r"\b(?:(?P<when>from|of|in|during|since|before|after|until) )?(?:the )?(?P<nth>1?\d|2[01])(?:st|nd|rd|th)"
    r"[ -]century\b",
    re.IGNORECASE,
)
"""A century: ``in the 18th century``."""


_LISTED = re.compile(
    r"(?<=[^\W\d_])(?<!following):\s+(?:the\s+)?(?P<columns>[^?!:A-Z]{3,60}?(?:,| and )[^?!:A-Z]{3,60}?)\s*[.?!]?\s*$"
)
"""What follows a colon, if it is no title: the columns that are asked for, ``the 5 longest films: title and year``."""


_CURRENCY = {"$": "dollars", "\u00a3": "pounds", "\u20ac": "euros"}
_AMOUNT = re.compile(r"([$\u00a3\u20ac]) ?(\d[\d,.]*\d|\d)(?!\w)")
"""A number after the sign of a currency."""


def with_currency(text: str) -> str:
    """Return a question with the names of currencies for their signs."""
    return _AMOUNT.sub(lambda found: f"{found[2]} {_CURRENCY[found[1]]}", text)


_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?(?:(?:{_NAMED}) )?(?:19|20)\d\d\b"
"""A day, month or year."""
_PLURAL = r"[a-z]+(?<!s)s"
_LIMIT = "(?:longer|more|less|at least|at most|over|under|up to|between|for|exactly)"
"""What follows *last* if it is a verb: *courses that last more than a day*."""
_SHORT = (
    (re.compile(r"\bw/o\b", re.I), "without"),
    (re.compile(r"\bw/(?=\s|\w)", re.I), "with "),
    (re.compile(r"\b(who|what|when|where|why|how)\s+(?:in the world|on earth)\b", re.I), r"\1"),
    (re.compile(r"\s+in (?:a few|a couple of|a word or two|other|your own|simple) words(?=\s*[?.!]*\s*$)", re.I), ""),
    (re.compile(r"\ba few\b", re.I), "some"),
    (re.compile(r"\b(?:is|are) applicable to\b"), "describe"),
    (re.compile(r"\b(do|does|did)\b(.+) (?:fall|belong) (?:under|in|into|to|within)(?=\s*[?.!]*$)"), r"\1\2 have"),
    (re.compile(r"\be-(?=mails?\b)", re.I), "e"),
    (re.compile(r"\s+above sea[- ]level\b", re.I), ""),
    (re.compile(r"\b(was|were|been) taken on\b"), r"\1 hired"),
    (re.compile(r"\b(was|were|been|be) (?:handed|turned) in\b"), r"\1 submitted"),
    (re.compile(rf"\b(that|which|who|not|{_PLURAL}) last(?= {_LIMIT} )"), r"\1 take"),
    (re.compile(r"\s+so far(?=\s*[?.!]*\s*$)", re.I), ""),
    (re.compile(r"\bfrom ((?:19|20)\d\d) on(?:wards?)?\b", re.I), r"since \1"),
    (re.compile(r"\b(?:(?:in|from) )?((?:19|20)\d\d) (?:and|or) (?:later|after|onwards?)\b", re.I), r"since \1"),
    (re.compile(rf"\b(?:before|by) the end of (?={_DAY})", re.I), "until "),
    (re.compile(rf"\bby (?={_DAY})", re.I), "until "),
    (re.compile(rf"\bthe end of (?={_DAY})", re.I), ""),
    (re.compile(r"\b(\w+) for the first time\b", re.I), r"first \1"),
    (re.compile(r"^\s*where in the \w+ (?=(?:is|are|was|were)\b)", re.I), "where "),
    (re.compile(r"\s+to (?:their|its|his|her) name(?: here)?(?=\s*[?.!]*\s*$)", re.I), ""),
    # Adverbs that say nothing, where they are no part of a title.
    (re.compile(r"\b(never|not|do|does|did|has|have|had|is|are|was|were|that|which|who) (?:actually|really)\b"), r"\1"),
)
"""Short words, and phrases that say no more than fewer words do: ``who on earth``, ``in a few words``."""

_BLANK = re.compile(
    rf"^(?!.*\b(?:{_ASKING})\b)(.+ (?:is|are|was|were) an? .+ (?:by|of|in|with|from)) this ([a-z]+)(?=\s*\.?$)"
)
"""A statement that ends with what is asked for, as in a quiz: *Heat is a film written by this person*."""

_SHORT_UNIT = 3
"""Letters of units that are short words for others."""
_ONE_UNIT = re.compile(
    r"\b(?P<op>than|over|under|above|below|least|most) (?P<half>half )?an? "
    rf"(?P<unit>{'|'.join(one for one in UNITS if len(one) > _SHORT_UNIT)})\b",
    re.I,
)
"""One or half a unit after a comparison: *more than an hour*."""


_MADE_BY = re.compile(r"\bwho (?:is|are|was|were) (?P<what>[^?]*?(?P<last>\w+)) by(?=\s*[?.!]*\s*$)", re.I)
"""Who something is by, which is who made it."""
_WORTH = re.compile(
    r"\b(?:what|how much) (?P<be>is|are|was|were) (?P<what>(?:(?! and )[^?])+?) worth"
    r"(?P<total> altogether| in total| in all)?(?=\s*[?.!]*\s*$)",
    re.I,
)
"""What something is worth: its value."""
_WORTH_OVER = re.compile(r"\b(?:is|are|was|were) worth (?=(?:more|less|over|under|above|below|at|between|\d)\b)", re.I)
"""What is worth more than an amount."""


def with_value(text: str) -> str:
    """Return a question with the *value* of what something is worth: ``what is the ring worth``."""
    text = _WORTH_OVER.sub("have a value of ", text)
    return _WORTH.sub(
        lambda one: f"what {one['be']} the {'total ' if one['total'] else ''}value of {one['what']}", text
    )


def in_full(text: str) -> str:
    """Return a question with short words written in full, without fillers: ``w/o``, *so far*, *actually*."""
    for pattern, word in _SHORT:
        text = pattern.sub(word, text)
    text = _MADE_BY.sub(lambda one: one[0] if is_participle(one["last"]) else f"who made {one['what']}", text)
    text = _BLANK.sub(r"\1 which \2", text)
    return _ONE_UNIT.sub(lambda one: f"{one['op']} {'0.5' if one['half'] else '1'} {one['unit']}", text)


def without_introduction(text: str) -> str:
    """Return a question without what announces it: ``Quick question: ...``."""
    return _INTRODUCTION.sub("", text)


def without_asides(text: str) -> str:
    """Return a question without asides at its end: *on record*, *in our database*, *that you have*.

    A question that would be a word, or a verb without its subject, stays as it is.
    """
    found = _ASIDE.search(text)
    if found is None:
        return text
    head = text[: found.start()]
    if len(head.split()) == 1 or _AUXILIARY.search(head):
        return text
    rest = f"{head} there" if _COPULA.search(head) else without_asides(head)
    return f"{rest}{text[found.end() :]}"


def with_columns(text: str) -> str:
    """Return a question with the columns that follow its question mark in the same sentence: *rooms with name*."""
    found = _COLUMNS.sub(lambda match: f" with {match['columns']}", text)
    return _LISTED.sub(lambda match: f" with their {match['columns']}", found)


def with_months(text: str) -> str:
    """Return a question with quarters and halves of years as ranges of months: *between April 2021 and June 2021*.

    Both months of a range have their year: *between April and June 2021*.
    """
    return _RANGE.sub(r"\g<first> \g<year>\g<rest>", _QUARTER.sub(_months, text))


def has_decade(text: str) -> bool:
    """Return whether a question names a decade or a century."""
    return _DECADE.search(text) is not None or _CENTURY.search(text) is not None


def with_decades(text: str) -> str:
    """Return a question with decades as ranges of years: *movies of the 90s* are from between 1990 and 1999.

    So are centuries: the 18th is from 1701 to 1800.
    """
    return _CENTURY.sub(_century, _DECADE.sub(_years, text))


def _years(match: re.Match[str]) -> str:
    first = int(match["year"] or f"19{match['short'] or _TENS[match['tens'].lower()]}")
    return _span(match["when"], first, first + 9)


def _century(match: re.Match[str]) -> str:
    last = 100 * int(match["nth"])
    return _span(match["when"], last - 99, last)


def _span(preposition: str | None, first: int, last: int) -> str:
    """Return a range of years after the preposition of its name: *before* the first, *after* the last."""
    when = (preposition or "").lower()
    if when in ("since", "before"):
        return f"{when} {first}"
    return f"{when} {last}" if when in ("after", "until") else f"between {first} and {last}"


def _months(match: re.Match[str]) -> str:
    year, size = match["year"] or match["before"], 3
    if match["nth"]:
        number = _ORDINALS[re.sub(r"(?<=\d)\D+", "", match["nth"].lower())]
        size = 6 if match["part"].lower() == "half" else 3
        if number == _ORDINALS["last"] and size == 6:
            number = 2 if match["nth"].lower() == "last" else number
    else:
        number = int((match["q"] or match["late"])[1])
    if number * size > len(_MONTHS):
        return match[0]
    first, last = f"{_MONTHS[(number - 1) * size]} {year}", f"{_MONTHS[number * size - 1]} {year}"
    when = (match["when"] or "").lower()
    if when in ("since", "before"):
        return f"{when} {first}"
    return f"{when} {last}" if when in ("after", "until") else f"between {first} and {last}"
