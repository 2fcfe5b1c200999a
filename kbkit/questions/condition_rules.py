"""The rules that read conditions: comparisons with numbers, averages and nodes, values and names, and absences."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import (
    COMPARATIVES,
    CONCEPTS,
    COUNTED,
    FUNCTION_WORDS,
    MONEY,
    PRICES,
    Adjective,
)
from kbkit.english.words import is_plural, may_be_verb, singular
from kbkit.questions.clauses import BE, OF, L, N, Restriction, Rewriter, V, is_type
from kbkit.questions.label_lookup import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink

_OWNING = 0.8
"""Least score of a label whose attribute has a value beside it: French citizens."""
_MORE = "more|greater|larger|bigger|higher"
_LESS = "less|fewer|smaller|lower"
_OPERATORS = (
    (rf"(?:no|not) (?:{_LESS}) than", ">="),
    (rf"(?:no|not) (?:{_MORE}) than", "<="),
    ("at least|minimum of|a minimum of", ">="),
    ("at most|maximum of|up to|a maximum of", "<="),
    (rf"(?:{_MORE}) than or equal to", ">="),
    (rf"(?:{_LESS}) than or equal to", "<="),
    (rf"(?:{_MORE})(?: in number)? than|over|above|exceeding|exceeds?|exceeded|in excess of|beyond", ">"),
    (rf"(?:{_LESS}) than|under|below", "<"),
    ("since|from", ">="),
    ("after|later than", ">"),
    ("before|earlier than|prior to", "<"),
    ("until", "<="),
)
OPS = "|".join(f"(?:{words})" for words, _ in _OPERATORS)
ADJECTIVE = "|".join(sorted((word for word, one in COMPARATIVES.items() if one.nouns), key=len, reverse=True))
COMPARED = rf"{BE}(?P<op>{OPS}|(?:{ADJECTIVE})(?: than)?) (?P<number>{N})"
"""A comparison with a number; :func:`comparison` returns its operator."""
_AVERAGE = r"(?:the |an )?(?:overall )?(?:average|mean)"
NO = (
    r"(?:not|isn t|aren t|wasn t|weren t|other than|except(?: for)?|excluding|different from|leaving out|apart from|"
    r"aside from|ignoring|omitting|not counting|not including|outside(?: of)?)"
)
_HAVE = "(?:have|use|include|contain|speak|play|own)"
_LACKS = rf"(?:{NO} |(?:do|does|did|don|doesn|didn) (?:not|t) {_HAVE} (?:a |an |any |the )?)"
_UP = "more|above|greater|higher|over|older|later|longer"
_OR_MORE = rf"(?:or|and) (?:{_UP}|less|fewer|below|lower|under|younger|earlier|shorter)"
_VALUES = rf"(?P<value>{V}(?:(?: or| nor| and)+(?: with| in| by| on)?(?: the| an?)? {V})*)"
_PEOPLE = ("people", "persons", "guests", "visitors", "participants", "attendees")
_CAPACITIES = ("capacity", "seats", "guests")
"""Nouns for how many people there is room for."""
_ORDINAL = ("season", "episode", "round", "grade", "level", "series", "chapter", "year", "week", "version")
"""Columns whose numbers say which one it is, and not how many."""
_TIMES = {"once": "1", "twice": "2"}


def _operator(phrase: str) -> str:
    """Return the comparison operator that a phrase means."""
    phrase = phrase.strip()
    return next((op for words, op in _OPERATORS if re.fullmatch(words, phrase)), "=")


def comparison(phrase: str) -> str:
    """Return the comparison operator that a phrase of :data:`COMPARED` means."""
    adjective = _comparative(phrase)
    return _operator(phrase) if adjective is None else ">" if adjective.sign > 0 else "<"


def _comparative(phrase: str) -> Adjective | None:
    """Return the adjective of a comparative that says what it compares: *older than*, but not *more than*."""
    adjective = COMPARATIVES.get(phrase.removesuffix(" than").strip())
    return adjective if adjective is not None and adjective.nouns else None


def is_state(label: QuestionLink) -> bool:
    """Return whether a label is a participle that a column says yes or no to: *elected*."""
    return not is_type(label) and is_participle(label.text) and any(o.is_boolean for o in label.attributes()[:1])


def _is_owned(match: re.Match[str]) -> bool:
    """Return whether the words before a match say that it is a condition: ``whose number of seats is over 100``."""
    before = match.string[: match.start()]
    return bool(re.search(r" (?:whose|where|with|having|has|have|if|that|which) (?:the |a |an )?$", before))


def averages(at: Rewriter) -> None:
    """``weight below the average``, ``older than the average age of all``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["after"] or match["before"])
        adjective = _comparative(match["op"])
        op = (">" if adjective.sign > 0 else "<") if adjective else _operator(match["op"])
        tail = ""
        if adjective is not None and is_type(label) and not match["after"]:
            label, tail = None, match["before"] or ""  # lakes deeper than the average
        if match["after"] and is_type(at.link(match["before"])):
            tail = match["before"]  # payments above the average amount
        if label is None and adjective is None:
            return None
        return f"{tail} {at.restrict(Restriction(label, op, (), False, adjective, 'avg'))}"

    def amount(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or is_type(label):
            return None
        op = _operator(f"{match['op']} than")
        return at.restrict(Restriction(label, op, (), False, None, "avg"))  # that sold more tickets than average

    at.apply(rf"(?:(?:that|which|who) )?(?:<L\d+> )?(?P<op>{_MORE}|{_LESS}) (?P<label>{L}) than {_AVERAGE}", amount)
    op = rf"(?:for )?(?P<op>{OPS}|(?:{ADJECTIVE}) than)"
    tail = rf"(?:{OF} <L\d+>)?"
    at.apply(rf"(?:(?P<before>{L}) )?{BE}{op} (?:that of )?{_AVERAGE}(?: (?P<after>{L}){tail})?", use)


def ranges(at: Rewriter) -> None:
    """``between 1990 and 2000``, ``at least 3 and at most 5``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["before"] or match["after"])
        low, high = at.linked(match["low"])[0], at.linked(match["high"])[0]
        pair = (replace(low, unit=low.unit or high.unit), high)  # between 5 and 6 kg
        if is_type(at.link(match["before"])) and all(one.may_be_date for one in pair):
            return f"{match['before']} {at.restrict(Restriction(None, 'between', pair, False, COMPARATIVES['after']))}"
        adjective = None if label else COMPARATIVES["after"]
        if label is None and (match["money"] or pair[0].unit):
            adjective = Adjective(1, PRICES if match["money"] else (pair[0].unit,))
        return at.restrict(Restriction(label, "between", pair, False, adjective))

    money = f"(?: (?:{'|'.join(MONEY)}))?"
    at.apply(
        rf"(?:(?P<before>{L}) )?{BE}(?:in the range )?(?:between|from) (?P<low>{N}){money} (?:and|to) (?P<high>{N})"
        rf"(?P<money>{money})(?: (?P<after>{L}))?",
        use,
    )

    def both(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        first = at.restrict(Restriction(label, _operator(match["one"]), at.linked(match["low"])))
        return f"{first} {at.restrict(Restriction(label, _operator(match['two']), at.linked(match['high'])))}"

    at.apply(rf"(?P<label>{L}) {BE}(?P<one>{OPS}) (?P<low>{N}) (?:and|but) {BE}(?P<two>{OPS}) (?P<high>{N})", both)


def prices(at: Rewriter) -> None:
    """``rooms for under 100``, ``over 200 dollars``: of what something costs."""

    def money(match: re.Match[str]) -> str:
        price = Adjective(1, PRICES)
        return at.restrict(Restriction(None, _operator(match["op"] or ""), at.linked(match["number"]), False, price))

    def typed(match: re.Match[str]) -> str | None:
        is_named = match["type"][1] != "L" or is_type(at.link(match["type"]))
        return f"{match['type']} {money(match)}" if is_named else None  # not: herbs that sell for over 20

    def holding(match: re.Match[str]) -> str | None:
        kind, noun = at.link(match["type"]), at.link(match["people"])
        if not is_type(kind) or (noun is not None and noun.text.casefold() not in _PEOPLE):
            return None
        seats = Adjective(1, _CAPACITIES)
        sign = Restriction(None, _operator(match["op"] or "at least"), at.linked(match["number"]), False, seats)
        return f"{match['type']} {at.restrict(sign)}"

    people = rf"(?:{'|'.join(_PEOPLE)}|(?P<people>{L}))"
    at.apply(
        rf"(?P<type>{L}) (?:big enough |suitable |good |large enough )?for (?:(?P<op>{OPS}) )?(?P<number>{N}) {people}",
        holding,
    )
    at.apply(rf"{BE}(?:for |on |cost |costs |costing )?(?:(?P<op>{OPS}) )?(?P<number>{N}) (?:{'|'.join(MONEY)})", money)
    at.apply(rf"(?P<type>{L}|{V}|<C\d+>) (?:for|costing) (?P<op>{OPS}) (?P<number>{N})(?! <L)", typed)


def _is_no_comparison(match: re.Match[str], before: QuestionLink | None, after: QuestionLink | None) -> bool:
    """Return whether the labels around a comparison are of other clauses."""
    if (
        after is not None
        and not is_type(after)
        and (re.search(rf" (?:in|on) (?:\w+ )?{L}$", match[0]) or match["held"])
    ):
        return True
    if after is None and is_type(before) and re.search(" (?:with|have|has|had|having) ", match[0]):
        return True  # drivers with more than 3
    is_time = before is None and match["op"] in ("from", "since", "after", "before", "until")
    if after is not None and is_time and re.match(rf" {BE}(?:{OPS}) {N} ", match.string[match.end() :]):
        return True  # films of 2012 rated above 7
    return match["op"] == "from" and all(link is None or is_type(link) for link in (before, after))  # films from 2015


def _counts_values(after: QuestionLink) -> bool:
    """Return whether a number counts the values of a column that is called by a singular: *more than 3 seasons*."""
    option = after.labels[0]
    last = label_words(option.attribute)[-1:] if option.attribute not in ("", "name", "key") else []
    is_plural_noun = is_plural(after.text.casefold()) and bool(last) and last[0] == singular(after.text.casefold())
    return is_plural_noun and last[0] in _ORDINAL


def _is_rate(before: QuestionLink, after: QuestionLink) -> bool:
    """Return whether the label after a number names the attribute, and the one before it is only akin to another."""
    is_number = not is_type(after) and any(option.is_number for option in after.attributes()[:1])
    return is_number and not is_type(before) and before.labels[0].score < _OWNING <= after.labels[0].score


def _expired(at: Rewriter) -> None:
    """``laptops whose warranty ended before 2022``."""

    def expired(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        dates = tuple(o for o in label.attributes() if o.is_year) if label is not None and not is_type(label) else ()
        if label is None or not dates or not may_be_verb(match["verb"]):
            return None
        op = _operator(match["op"])
        return at.restrict(Restriction(replace(label, labels=dates), op, at.linked(match["number"])))

    dated = "(?P<op>before|after|since|until|in|on)"
    at.apply(rf"whose (?P<label>{L}) (?P<verb>[a-z]+) {dated} (?P<number>{N})", expired)  # whose warranty ended before


def comparisons(at: Rewriter) -> None:
    """``more than 4 cylinders``, ``longer than 300 km``, ``3 or more``."""

    def use(match: re.Match[str]) -> str | None:
        before, after = at.link(match["before"]), at.link(match["after"])
        adjective = _comparative(match["op"])
        op = _operator(match["op"])
        if adjective and op == "=":
            op = ">" if adjective.sign > 0 else "<"
        if match["or"]:
            op = ">=" if re.search(_UP, match["or"]) else "<="
        if _is_no_comparison(match, before, after) or match.string[match.end() :].startswith(" times "):
            return None
        if after is not None and _counts_values(after):
            at.clauses.unread.append(f"how many {after.text}")
            return None
        label = after
        tail = ""
        if before is not None and is_participle(before.text) and not is_type(before) and is_type(after):
            tail = ""  # collected more than 15 samples
            if not before.labels[0].is_year:
                at.clauses.unread.append(f"'{before.text}'")  # skippered more than 5 outings, of their skipper_no
        elif before is not None and after is not None and _is_rate(before, after):
            label = after  # cost less than 400 a night, of a hire_per_night
        elif before is not None and (after is None or any(option.is_number for option in before.attributes())):
            label = before
            tail = match["after"] or ""
        elif before is not None:
            tail = match["before"]
        unit = at.linked(match["number"])[0].unit
        if unit and is_type(label) and label is before:
            tail, label, adjective = match["before"], None, Adjective(1, (unit,))  # rides over 50 km
        if label is None and adjective is None and unit:
            adjective = Adjective(1, (unit,))  # volcanoes above 5000 m
        if label is None and adjective is None:
            return None
        if adjective and is_type(label) and match["before"]:
            tail, label = match["before"], None
        if before is not None and label is before and " of " in before.text and not _is_owned(match):
            tail = f"{match['before']} {tail}"  # show the amount of the payments over 100
        sign = at.restrict(Restriction(label, op, at.linked(match["number"]), False, adjective))
        if (
            before is not None
            and label is before
            and re.search(r" (?:each|every|per|by)$", match.string[: match.start()].rstrip())
        ):
            tail = f"{match['before']} {tail}"  # films each year since 2010
        return f"{tail} {match['held'] or ''} {sign}"

    _expired(at)
    number = rf"(?P<number>{N})(?P<or> {_OR_MORE})?"
    of = r"(?: (?:different |distinct |of the |of |(?:in|on) (?:the |their |his |her |its )?)*(?P<held>(?:<[CV]\d+> )*)"
    of += rf"(?P<after>{L}))?"
    at.apply(
        rf"(?:(?P<before>{L}) )?{BE}(?:for )?(?P<op>{OPS}|(?:{ADJECTIVE})(?: than)?) (?:the )?(?:year )?{number}{of}",
        use,
    )

    def people(match: re.Match[str]) -> str:
        noun = Adjective(1, CONCEPTS[match["noun"]])
        return at.restrict(Restriction(None, _operator(match["op"]), at.linked(match["number"]), False, noun))

    at.apply(rf"{BE}(?P<op>{OPS}) (?P<number>{N}) (?P<noun>{'|'.join(COUNTED)})", people)

    def plain(match: re.Match[str]) -> str | None:
        op = ">=" if re.search(_UP, match["or"]) else "<="
        label, number = at.link(match["after"] or match["before"]), at.linked(match["number"])
        is_year = bool(re.fullmatch(r"1\d{3}|20\d{2}", number[0].number))
        if label is None:
            return at.restrict(Restriction(None, op, number, False, COMPARATIVES["after"])) if is_year else None
        tail = match["before"] if match["after"] and is_type(at.link(match["before"])) else ""
        return f"{tail or ''} {at.restrict(Restriction(label, op, number))}"

    at.apply(rf"(?P<before>){BE}(?P<number>{N}) (?P<after>{L}) (?P<or>{_OR_MORE})", plain)
    at.apply(rf"(?:(?P<before>{L}) )?{BE}(?P<number>{N}) (?P<or>{_OR_MORE})(?: (?P<after>{L}))?", plain)


def verbs(at: Rewriter) -> None:
    """``earn more than 30000``, ``weighing over 3500``: of the number that the verb is about."""

    def use(match: re.Match[str]) -> str | None:
        if match["verb"] in FUNCTION_WORDS or not at.linked(match["number"]):
            return None
        op = _operator(match["op"])
        adjective = Adjective(1, (match["verb"],))
        return None if op == "=" else at.restrict(Restriction(None, op, at.linked(match["number"]), False, adjective))

    def often(match: re.Match[str]) -> str | None:
        verb, written, label = match["verb"], match["number"], at.link(match["label"])
        number = QuestionLink(0, 0, written, number=_TIMES[written]) if written in _TIMES else at.link(written)
        if number is None:
            return None
        if label is not None:  # purchased more than once
            if is_state(label):  # elected more than once, of results that say so
                kind = replace(label, labels=(LabelOption(label.labels[0].type),))
                often = at.restrict(Restriction(kind, _operator(match["op"] or ""), (number,)))
                return f"{at.restrict(Restriction(label, 'holds'))} {often}"
            is_counted = is_type(label) and is_participle(label.text)
            return at.restrict(Restriction(label, _operator(match["op"] or ""), (number,))) if is_counted else None
        if verb in FUNCTION_WORDS or not may_be_verb(verb):
            return None
        before = [link for link in map(at.link, re.findall(L, match.string[: match.start()])) if is_type(link)]
        if not before:
            return None
        at.clauses.verbs.append(verb)
        return at.restrict(Restriction(before[-1], _operator(match["op"] or ""), (number,), operand="times"))

    aux = "(?:(?:that|which|who|has|have|had|is|are|was|were|been|ever|got|get) )*"
    times = rf"(?P<number>{N}(?= times)|once|twice)(?: times)?"
    at.apply(rf"{aux}(?:(?P<label>{L})|(?P<verb>[a-z]+)) (?P<op>{OPS}|exactly)? ?{times}", often)
    at.apply(rf"(?P<verb>[a-z]+) (?P<op>{OPS}) (?P<number>{N})", use)


def _substrings(at: Rewriter) -> None:
    """``songs that contain the word love``, ``the notes of the events with the substring 'East'``."""

    def contained(match: re.Match[str]) -> str | None:
        label, before = at.link(match["label"]), at.linked(match.string[: match.start()])
        texts = [link for link in before if link.labels and not is_type(link)]
        if is_type(label) and texts:
            return f"{match['label']} {at.restrict(Restriction(texts[-1], 'contains', at.linked(match['value'])))}"
        if is_type(label):
            return None  # beers that contain a German ingredient
        return at.restrict(Restriction(label, "contains", at.linked(match["value"])))

    word = r"(?:contain\w*|includ\w*|substring|(?:the )?(?:word|phrase|string|text)s?)"
    most = r"(?:(?!<)\S+ ){0,4}?"
    at.apply(rf"(?P<label>{L}) {most}{word} (?:the |a |word |substring |phrase )*(?P<value>{V})", contained)


def _meanings(label: QuestionLink) -> set[tuple[int, str]]:
    return {(option.type, option.attribute) for option in label.labels}


def _owns(at: Rewriter, label: QuestionLink | None, match: re.Match[str]) -> bool:
    """Return whether a label names an attribute that has the value."""
    if label is None or not label.attributes():
        return False
    stems = {stem(word) for word in label.text.casefold().split()}
    values = at.linked(match["value"])[0].values
    meant = {(option.type, option.attribute) for option in label.attributes() if option.score >= _OWNING}
    if any((value.type, value.attribute) in meant for value in values):
        return True
    if may_be_verb(label.text.casefold()) and {(v.type, v.attribute) for v in values} == _meanings(label):
        return True  # pay cash, of a payment method
    return any(stems <= {*map(stem, label_words(value.attribute))} for value in values)  # a king bed: bed_type


def _is_apposition(at: Rewriter, label: QuestionLink | None, match: re.Match[str]) -> bool:
    """Return whether a label after a name says what it names: *the Harbour branch*."""
    types = {option.type for option in label.types()} if label is not None and is_type(label) else set()
    values = at.linked(match["value"])
    if label is None or not types or any(value.values or not types & value.node_types for value in values):
        return False
    is_one = len(values) == 1 and not label.text.casefold().endswith("s")
    return is_one or all(value.node_types <= types for value in values)


def values(at: Rewriter) -> None:
    """Values and names: ``whose citizenship is France``, ``French singers``, ``not built by Ford``."""
    _substrings(at)

    def restricted(label: QuestionLink | None, match: re.Match[str], *, negated: bool = False) -> str:
        values = at.linked(match["value"])
        op = "all" if " and " in match["value"] else "in" if len(values) > 1 else "="
        is_both = " both " in f"{match.string[: match.start()][-6:]}{match[0]}"
        return at.restrict(Restriction(label, op, values, negated, is_both=is_both))

    def labelled(match: re.Match[str]) -> str | None:
        before, after, negated = at.link(match["label"]), at.link(match["after"]), bool(match["not"])
        if match["preposition"] and not _owns(at, before, match):  # its headquarters in Paris, but not cities in France
            return None
        is_same = before is not None and after is not None and before.labels[:1] == after.labels[:1]
        if _is_apposition(at, after, match) and not is_same:
            return f"{match['label']} {restricted(after, match, negated=negated)}"
        if _owns(at, after, match):  # rooms with a modern decor
            return f"{match['label']} {restricted(after, match, negated=negated)}"
        value = at.linked(match["value"])[0]
        fits = before is None or is_type(before) or _owns(at, before, match) or not (value.values or value.nodes)
        is_name = before is not None and bool(value.nodes) and any(o.attribute == "name" for o in before.attributes())
        if not fits and not is_name and not match["preposition"]:  # the e-mail of the customer Ann Lee
            return f"{match['label']} {restricted(None, match, negated=negated)} {match['after'] or ''}"
        types = {option.type for option in before.types()} if before is not None and is_type(before) else set()
        if types and value.nodes and not value.values and not types & value.node_types:  # products that are yellow
            return f"{match['label']} {restricted(None, match, negated=negated)} {match['after'] or ''}"
        sign = restricted(before, match, negated=negated)
        is_context = is_type(before) and not value.nodes
        return f"{match['label'] if is_context else ''} {sign} {match['after'] or ''}"

    def named(match: re.Match[str]) -> str:
        label = at.link(match["after"])
        is_own = _owns(at, label, match) or _is_apposition(at, label, match)  # a modern decor, but modern rooms
        sign = restricted(label if is_own else None, match, negated=bool(match["not"]))
        asks = "which " if match.start() == 1 and match[0].startswith("which ") else ""  # which consultant has
        return f"{asks}{sign}" if is_own else f"{asks}{sign} {match['after'] or ''}"

    def lacking(match: re.Match[str]) -> str | None:
        are_names = all(value.nodes for value in at.linked(match["value"]))
        return restricted(None, match, negated=True) if are_names else None

    at.apply(rf"(?:(?:and|but) )?without (?:the )?{_VALUES}(?! <L)", lacking)
    after = rf"(?: (?P<after>{L}))?"
    either = "(?:either |both |the )*"
    at.apply(
        rf"(?P<label>{L}) (?:either )?{BE}(?P<not>{_LACKS})?{BE}"
        r"(?P<preposition>(?:in|at|from|by|on|as|for|about) (?:the )?)?"
        rf"{either}{_VALUES}{after}",
        labelled,
    )
    by = r"(?: (?!<)\w+){0,2} (?:by|in|from|at|on|of|to|for|about)(?: the| an?)?"
    at.apply(
        rf"(?:not|isn t|aren t|wasn t|weren t|never){by} {_VALUES}", lambda match: restricted(None, match, negated=True)
    )
    at.apply(rf"(?P<not>{_LACKS})?{BE}(?:about )?(?:the )?{_VALUES}{after}", named)
