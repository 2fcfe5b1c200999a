"""The rules that read how a question begins: who or what it asks for, and words that only introduce it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kbkit.english.question_words import ADJECTIVES, MONEY, PERSON_WORDS
from kbkit.english.words import may_be_verb
from kbkit.questions.clauses import SUPERLATIVE, L, N, Restriction, Rewriter, V, is_type
from kbkit.questions.lexicon import label_words
from kbkit.questions.question_link import QuestionLink

_RATES = ("hour", "day", "week", "month", "year", "night", "person", "head")
"""What prices are for: *30 euros an hour*."""
_PERIODS = {"year": ("annual", "yearly"), "month": ("monthly",), "week": ("weekly",), "day": ("daily",)}
"""Words in the names of columns of what there is in a period."""


def beginning(at: Rewriter) -> None:
    """Read who or what is asked for and how, and leave out words that only introduce the question."""
    at.apply(rf"(?<=how many ){L}", lambda found: "times" if _is_times(at.link(found[0])) else None)
    at.apply(rf"(?<=> ){L}", lambda found: "times" if _is_times(at.link(found[0])) and _follows_number(found) else None)
    at.clauses.is_yes_no = bool(
        re.match(r" (?:is|are|was|were|does|do|did|has|have|can) (?:(?!you |we |i )|(?:you|we) have any )", at.text)
    )
    at.text = re.sub(r" (?:(?:and|if so|so) )*which(?: ones?| are they| are those)?(?= $)", _listed(at), at.text)
    if at.clauses.is_yes_no and re.match(
        r" (?:has|have|had|did|does|do) (?:anyone|anybody|someone|somebody) ", at.text
    ):
        at.text = re.sub(r"^ (\S+) \S+(?: ever)?(?= )", r" \1", at.text)
    at.text = re.sub(r"^ only (?=list|show|give|return|tell)|(?<= )only $", " ", at.text)
    at.text = re.sub(r"^ (?:where and when|when and where) ", " where when ", at.text)
    asks = re.match(
        r"(?: (?:and|so|please|show|list|give|find|tell|me|us|name|did|does|is|there|has|have))* (\S+) ", at.text
    )
    first = asks[1] if asks else ""
    at.clauses.is_who = first in ("who", "whom", *PERSON_WORDS)
    at.clauses.is_where = first == "where"
    at.text = re.sub(r" (who|which|that|what) s (?=(?:on|in|under|not|a|an) )", r" \1 is ", at.text)
    _owned(at)
    at.text = re.sub(r" (?:take|takes|took|taken|taking) (?:part|place)(?= )", "", at.text)
    at.apply(rf"(?P<how>how much (?:{L} )?)money(?= )", lambda found: found["how"])
    _are_of(at)
    _people(at)
    _rates(at)
    _dates(at)
    at.text = at.text.replace(" due to ", " to ")
    at.text = re.sub(r" look(s|ed|ing|) after (?=\S)", r" manage\1 ", at.text)
    if at.clauses.is_where:
        at.text = at.text.replace(" do people ", " do ").replace(" can people ", " can ")

    def asked(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        return (
            None if label is None or is_type(label) else f"what is {match['rest']}"
        )  # but: how long is the longest river

    how = rf"(?<=^ )how (?:{'|'.join(ADJECTIVES)}) (?:is|was|are|were)"
    at.apply(rf"{how} (?P<rest>the (?:{SUPERLATIVE}) (?P<label>{L}))", asked)
    wish = r"(?:i|we) (?:(?:would|d) )?(?:like|love|want|need|wish)"
    at.text = re.sub(rf"^ {wish} (?:to (?:know|see|have|get) )?", " ", at.text)


def _are_of(at: Rewriter) -> None:
    """``is Go a cooperative game``, ``do we own the harp``: whether a name has what a column says."""

    def same(match: re.Match[str]) -> str | None:
        value, label, kind = at.link(match["value"]), at.link(match["label"]), at.link(match["type"])
        if value is None or not is_type(kind) or kind is None or not {o.type for o in kind.types()} & value.node_types:
            return None
        is_said = label is not None and (not label.labels or any(o.is_boolean for o in label.attributes()[:1]))
        return f"{match['value']} {match['label']}" if is_said and at.clauses.is_yes_no else None

    one = "(?:(?:a|an|the|one|of|our) )*"
    at.apply(rf"(?P<value>{V}) {one}(?P<label>{L}|{V}) (?P<type>{L})(?= $)", same)

    def ours(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or not any(o.is_boolean for o in label.attributes()[:1]):
            return None
        at.clauses.is_yes_no = True
        return f"is {match['value']} {match['label']}"

    at.apply(rf"(?<=^ )(?:do|did|have) (?:we|you) (?P<label>{L}) (?:the |a |an )?(?P<value>{V})(?= $)", ours)


def _people(at: Rewriter) -> None:
    """``how many people visit the museum``, of a number of visitors: the number, or its total."""

    def counted(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        options = label.attributes()[:1] if label is not None and not is_type(label) else []
        is_number = any(one.is_number and not one.is_year for one in options)
        people = at.link(match["people"])
        is_other = people is not None and people.text.casefold() != "people"
        if label is None or is_other or not is_number or not may_be_verb(label.text):
            return None
        return (
            f"what is the total {match['label']} of {match['rest']}" if match["all"] else f"how many {match['label']}"
        )

    def yearly(match: re.Match[str]) -> str | None:
        """``visitors a year``, of annual_visitors: what the name of the column says already."""
        period = at.link(match["label"])
        said = _PERIODS.get(period.text.casefold() if period is not None else match["word"], ())
        named = (label_words(one.attribute) for link in at.links for one in link.attributes()[:1])
        return "" if any(not {*said}.isdisjoint(words) for words in named) else None

    at.apply(rf"(?:a|per|each|every) (?:(?P<label>{L})|(?P<word>year|month|week|day))", yearly)
    total = "(?: (?P<rest>.*) (?P<all>in total|altogether)(?= $))?"
    at.apply(rf"(?<=^ )how many (?:people|(?P<people>{L})) (?P<label>{L}){total}", counted)


def _owned(at: Rewriter) -> None:
    """``who is our oldest client``, ``whose accounts were closed``: who is asked for."""
    be = r" who (?:is|are|was|were) (?:(?:our|the|your|my|a|an|their) )?(?:(?:<N\d+>|(?!<)\w+) ){0,3}"
    named = re.match(rf"{be}(?P<type>{L})(?= )", at.text)
    if named and is_type(at.link(named["type"])):  # who is our oldest client
        at.clauses.is_who, at.clauses.is_named = False, True
    owned = re.match(rf" whose (?P<type>{L})(?= )", at.text)
    if owned and is_type(at.link(owned["type"])):  # whose accounts were closed
        at.clauses.is_who = at.clauses.is_whose = True
    owned = re.match(rf" whose (?P<label>{L}) (?:is|was|are|were) (?:the )?(?P<value>{V})(?= )", at.text)
    if owned and not _is_other(at.link(owned["label"]), at.link(owned["value"])):  # whose e-mail is x@y
        at.clauses.is_who = True
        sign = at.restrict(Restriction(at.link(owned["label"]), "=", at.linked(owned["value"])))
        at.text = f" who has {sign}{at.text[owned.end() :]}"


def _rates(at: Rewriter) -> None:
    """``30 euros an hour``, ``0.15 per sheet``, ``the phone number of Ann``, ``among graduates``."""

    def numbered(match: re.Match[str]) -> str | None:
        return None if is_type(at.link(match["label"])) else f"{match['label']} of"  # the phone number of Ann

    at.apply(rf"(?P<label>{L}) numbers? of(?= {V})", numbered)
    money = "|".join(MONEY)

    def rated(match: re.Match[str]) -> str | None:
        link = at.link(match["unit"])
        return match["number"] if link is not None and link.text.casefold() in (*_RATES, "percent") else None

    at.apply(rf"(?P<number>{N}(?: (?:{money}))?) (?:an?|per) (?:{'|'.join(_RATES)})", lambda m: m["number"])
    at.apply(rf"(?P<number>{N}(?: (?:{money}))?) (?:(?:an?|per) )?(?P<unit>{L})", rated)
    at.apply(rf"(?P<number>{N}(?: (?:{money}))?) per {L}(?! <N)", lambda m: m["number"])  # 0.15 per sheet
    among = r"among(?: all)?(?: (?:the|our|your|these))?"

    def again(match: re.Match[str]) -> str | None:
        kinds = [at.link(sign) for sign in re.findall(L, match.string[: match.start()])]
        own = at.link(match["type"])
        is_same = any(is_type(one) and one.types()[0].type == own.types()[0].type for one in kinds if one and own)
        return "" if is_type(own) and is_same else None  # the major with the highest rate among graduates

    at.apply(rf"{among} (?P<type>{L})(?= $)", again)
    at.apply(rf"number of (?P<value>{V}) {among} (?P<type>{L})", lambda m: f"number of {m['type']} {m['value']}")
    at.apply(rf"(?P<label>{L}) (?:that |which )?(?:it|they) (?:is|are|was|were)(?= <L)", lambda m: m["label"])


def _dates(at: Rewriter) -> None:
    """``and when were they born``: the date beside the names."""

    def dated(match: re.Match[str]) -> str:
        label = at.link(match["label"])
        if label is None or label.text.casefold() != "born":
            return f"and their {match['label']}"
        at.links.append(replace(label, text="birth date"))
        return f"and their <L{len(at.links) - 1}>"

    def last(match: re.Match[str]) -> str | None:
        is_event = is_type(at.link(match["label"]))
        return f"when was the {match['nth']} {match['label']} of {match['who']}" if is_event else None

    been = r"(?:was|were|did|has|have|had) (?P<who>(?:the |our )?(?:<L\d+> )?<V\d+>) (?P<nth>last|first)(?: been| got)?"
    at.apply(rf"when {been} (?P<label>{L})", last)  # when was Comet last repaired

    def asked(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or is_type(label) or not re.search(rf"{L}|{V}", match.string[: match.start()]):
            return None
        is_number = any(one.is_number for one in label.attributes()[:1])
        return f"and their {match['label']}" if is_number or not match["how"] else None

    of_each = "(?: (?:on|of|for|at|in|to|from) (?:each|it|them|that|those)(?: one)?| each(?: one)?)?"
    what = "(?:(?P<how>how (?:many|much|long))|(?:what|which)(?: (?:is|was|are|were|s))?)"
    at.apply(rf"and {what}(?: (?:the|its|their|his|her))? (?P<label>{L}){of_each}(?= $)", asked)

    def done(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_text = label is not None and not is_type(label) and not any(o.is_number for o in label.attributes()[:1])
        return f"and their {match['label']}" if is_text else None

    at.apply(rf"and who (?P<label>{L}) (?:it|them|each|each one|that)(?= $)", done)  # and who wrote it

    def yearly(match: re.Match[str]) -> str | None:
        """``in which year was it first climbed``, of a column called so: not another year."""
        year, label = at.link(match["year"]), at.link(match["label"])
        options = label.attributes()[:1] if label is not None and not is_type(label) else []
        is_dated = any(one.score == 1 and (one.is_year or one.is_date) for one in options)
        is_same = year is not None and year.text.casefold() in ("year", "date", "day", "month")
        return match["rest"] if is_same and is_dated else None

    rest = rf"(?P<rest>(?:was|were|did|has|is) (?:{V}|the {L}) (?P<label>{L}))"
    at.apply(rf"(?<=^ )(?:in |on )?(?:which|what) (?P<year>{L}) {rest}(?= $)", yearly)

    they = "(?:it|they|he|she|each|was|were|is|are|did|does|do|has|have|of them|of these)"
    at.apply(rf"and when (?:{they} )*(?P<label>{L})", dated)

    def told(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_dated = label is not None and any(o.is_date or o.is_year for o in label.attributes()[:1])
        if label is None or is_type(label) or not is_dated:
            return None
        at.links.append(replace(label, text="when", first=at.last, last=at.last + 1))
        return f"{match['label']}{match['rest']} and their <L{len(at.links) - 1}>"

    time = f"(?:in|on|at|or|later|earlier|before|after|since|between|and|{N})"
    at.apply(rf"(?P<label>{L})(?P<rest>(?: {time})*) and when(?= $)", told)


def _listed(at: Rewriter) -> Callable[[re.Match[str]], str]:
    """Return what drops a question after another one: are there *unread books, and which ones*."""

    def use(match: re.Match[str]) -> str:
        if not at.clauses.is_yes_no:
            return match[0]
        at.clauses.is_yes_no = False
        return ""

    return use


def _is_other(label: QuestionLink | None, value: QuestionLink | None) -> bool:
    """Return whether a label is a type and a value names nodes of others: whose doctor is Ann, a patient."""
    kinds = {option.type for option in label.types()} if label is not None and is_type(label) else set()
    return bool(kinds) and value is not None and bool(value.nodes) and not kinds & value.node_types


def _follows_number(match: re.Match[str]) -> bool:
    """Return whether a number stands before a match: *more than 4 times*."""
    return bool(re.search(rf"{N} $", match.string[: match.start()]))


def _is_times(link: QuestionLink | None) -> bool:
    """Return whether a label is the word *times*, which asks how often: no attribute is called that."""
    return link is not None and link.text.casefold() == "times"
