"""Everyday phrases of a question in plain words: *still with us* is current, *leavers out* leaves out those who left.

This is done before words are linked, as phrases of several words would else be linked in parts: *left out* says nothing
about a date at which somebody left.
"""

from __future__ import annotations

import re

from kbkit.english.question_words import TAKINGS

_END = r"(?=\s*(?:[,;?.!)\u2013\u2014]|-\s|$))"
"""The end of a question or of a part of it."""
_START = r"(?:(?:[,;?.!]|\s[-\u2013\u2014])\s*(?:but |and |please )?|\s?\(\s*)"
"""What stands before an exclusion that follows a question."""
_OUR = r"(?:us|here|(?:the|our) (?!same\b)[a-z]+)"
_PRESENT = re.compile(
    rf"\bstill (?:(?:work(?:s|ing)?|employed|active|around|present|a member|members)(?: (?:for|with|at|of))?"
    rf"(?: {_OUR})?|(?:with|at) {_OUR}|here|around|out|on (?:the|our) (?:books|payroll|staff|list|team))\b|\bin post\b",
    re.I,
)
"""What is said of people who have not left: *still with us*, *still working here*, *still on the books*."""
_NOW = re.compile(r"\s*,?\s+(?:at the moment|right now|at present|these days|as of now|just now|nowadays)\b", re.I)
_LEAVERS = (
    r"(?:(?:any|the|all) )?(?:leavers?|(?:any(?:one|body)|those|people|everyone) "
    r"(?:who(?:'s|\u2019s|se| is| has| have|'ve)?|that(?:'s| has| have)?) (?:already )?(?:left|gone))"
)
_LEAVE_OUT = (
    r"(?:(?:not|don'?t|do not|without) (?:counting|count|including|include)|leav(?:e|ing) out|exclud(?:e|ing)"
    r"|ignor(?:e|ing)|skip(?:ping)?|omit(?:ting)?|minus)"
)
_LEFT_OUT = r"(?:left out|excluded|ignored|omitted|aside|not (?:counted|included)|out)"
_WITHOUT_LEAVERS = re.compile(
    rf"(?:{_START}|\s)(?:{_LEAVE_OUT} {_LEAVERS}|{_LEAVERS} (?:are |being )?{_LEFT_OUT}){_END}", re.I
)
"""An exclusion of those who have left."""
_ONES = r"(?:(?:the|any|all|all the|those|ones?)\s+)*"
_EXCLUDING = re.compile(
    rf"{_START}(?:{_LEAVE_OUT}|not)\s+{_ONES}(?P<what>(?!that\b|which\b|who\b|ones\b)[a-z]+(?:\s(?!that\b|and\b|or\b)[a-z]+)?)\s*\)?{_END}"
)
_EXCLUDED = re.compile(rf"(?:[,;]|\s-)\s+{_ONES}(?P<what>[a-z]+)(?:\s+ones?)?\s+(?:are\s+|being\s+)?{_LEFT_OUT}{_END}")
"""An exclusion after a question: *, not counting refunds*, *, refunded ones left out*."""
_REMARKS = (
    (re.compile(r"[,;.?]?\s+(?:a )?(?:simple |just )?yes or no(?: (?:will do|is fine|please))?\s*\??$", re.I), "?"),
    (re.compile(r"\s+(?:past (?:or|and) present|present (?:or|and) past)\b", re.I), ""),
    (re.compile(r"\s+all told\b", re.I), " in total"),
    (
        re.compile(r"\bbecause (?:they|it|he|she|we)(?: had| has| have)? \w+ (?=(?:a|an|the|some) \w+\W*$)", re.I),
        "because of ",
    ),
    (
        re.compile(
            r"^what (did|has|have|does|do)\b(?P<who>.+?) (?P<verb>pay|paid|spend|spent|earn|earned|owe|donate|donated"
            r"|raise|raised)(?P<all> (?:us|in total|altogether|overall|in all))*(?=\W*$)",
            re.I,
        ),
        r"how much \1\g<who> \g<verb>\g<all>",
    ),
    (re.compile(r"\bthis (?:season|year)'s(?= .*\b(?:19|20)\d\d\b)", re.I), "the"),
    (re.compile(r"\b(?:run|runs) out(?= (?:in|on|by|before|after|until|between|since)\b)", re.I), "expires"),
    (re.compile(r"\b(?:ran|run) out(?= (?:in|on|by|before|after|until|between|since)\b)", re.I), "expired"),
    (re.compile(r"[,.;?]\s*(?:skip|ignore|leave out|forget|drop) (?:any |all )?(?:the )?\w+ with none\b", re.I), ""),
    (re.compile(rf"\s+for us{_END}", re.I), ""),
    (re.compile(r"\b(how (?:many|much|long))(?: of (?:them|those|each))? (?:each|apiece)(?=\s*[?.!]*$)", re.I), r"\1"),
)
"""Remarks that say no more than fewer words do."""


_NAME = r"(?P<name>[A-Z][\w'\u2019]*(?: [A-Z][\w'\u2019]*)*)"
_UNDER = r"(?:reports?|reporting|answers?|answering) to|works? under|(?:is|are) under"
_BOSSED = (
    (re.compile(rf"\bwho (?:all )?(?:{_UNDER}) {_NAME}(?=\W*$)", re.I), r"whose boss is \g<name>"),
    (re.compile(rf"\bwho(?:m)? (?:does|did) {_NAME} (?:report|answer) to(?=\W*$)"), r"who is \g<name>'s boss"),
    (re.compile(rf"\bwho (?:is|was|does) {_NAME}(?: work)? under(?=\W*$)"), r"who is \g<name>'s boss"),
)
"""Who is whose boss, by a verb."""


def with_bosses(text: str) -> str:
    """Return a question about who reports to whom as one about somebody's boss."""
    for pattern, words in _BOSSED:
        text = pattern.sub(words, text)
    return text


_COMPARING = (
    "total|average|mean|most|least|highest|lowest|biggest|smallest|greatest|largest|best|worst|maximum|minimum|more|less"
    "|higher|lower|combined|overall|whose|gross|net"
)
_TAKINGS = re.compile(rf"(?:\b(?P<before>{_COMPARING}) )?\b(?P<word>{'|'.join(sorted(TAKINGS))})\b", re.I)
_TAKEN = (
    (
        re.compile(
            r"\bhow much (?:money )?(?:did|do|have) (?:we|they) "
            r"(?:make|made|take|taken|took|earn|earned|bring in|brought in)(?: in)?"
            r"(?= (?:on|from|for|in|at|with|off|during|between|since|before|after|last)\b|\W*$)",
            re.I,
        ),
        "what are the total takings",
    ),
    (
        re.compile(
            r"\b(?:brings?|brought|makes?|made|takes?|took|earns?|earned)(?: (?:us|in))* the most money\b", re.I
        ),
        "has the highest total takings",
    ),
)
"""What is taken, by a verb."""


def with_takings(text: str) -> str:
    """Return a question about takings, revenue or income as one about their total."""
    for pattern, words in _TAKEN:
        text = pattern.sub(words, text)
    return _TAKINGS.sub(lambda one: one[0] if one["before"] else f"total {one['word']}", text)


def in_plain_words(text: str) -> str:
    """Return a question with everyday phrases written in plain words."""
    for pattern, words in _REMARKS:
        text = pattern.sub(words, text)
    text = _NOW.sub(" currently", text)
    without_leavers = _WITHOUT_LEAVERS.sub("", text)
    if without_leavers != text:
        text = re.sub(r"\s*([?.!]*)\s*$", r" who are current\1", re.sub(r"\s+currently\b", "", without_leavers))
    text = _PRESENT.sub("current", text)
    excluded = _EXCLUDED.sub(r" that are not \g<what>", text)
    return excluded if excluded != text else _EXCLUDING.sub(r" that are not \g<what>", text)
