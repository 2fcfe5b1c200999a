"""The rules that read totals: averages, sums, extremes, counts and amounts."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import ADJECTIVES, EXTREMES, PAYING, SUPERLATIVES, TOTALS, goodness
from kbkit.questions.clauses import SUPERLATIVE, AskedTarget, L, Rewriter, V, is_type
from kbkit.questions.expressions import is_date as is_date_name
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words

_TOTALS: dict[str, str] = {**TOTALS, "avg": "avg", "overall": "sum", **EXTREMES}
_TOTAL = "|".join(_TOTALS)
_SAID = 0.85
"""Least score of a label that a verb of paying says."""


def totals(at: Rewriter) -> None:
    """``average weight``, ``maximum and minimum age``, but not ``the car with the maximum weight``."""

    def ahead(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_number = label is not None and not is_type(label) and any(o.is_number for o in label.attributes()[:1])
        return f"{match['total']} {match['label']} {match['values']}" if is_number else None

    # total approved annual leave days
    at.apply(rf"(?P<total>{'|'.join(TOTALS)})(?: of| the| all)* (?P<values>{V}(?: {V})*) (?P<label>{L})", ahead)

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or not label.attributes():
            return None
        after = re.match(rf" (?:<[CV]\d+> )*({L}) ", match.string[match.end() :])
        is_thing = after is not None and is_type(at.link(after[1]))
        is_thing |= bool(re.match(rf" {V} $", match.string[match.end() :]))
        if is_thing and match["words"] in SUPERLATIVES:
            return None  # the highest rated movie, the highest grossing western
        if at.clauses.is_who and {*match["words"].split()} <= {*EXTREMES}:
            return None  # who scored the highest number of points
        signs = []
        for word in re.findall(_TOTAL, match["words"]):
            at.clauses.targets.append(AskedTarget(label, _TOTALS[word]))
            signs.append(f"<T{len(at.clauses.targets) - 1}>")
        return " ".join(signs)

    at.apply(
        r"(?<!with )(?<!with the )(?<!has )(?<!has the )(?<!have )(?<!have the )(?<!had )(?<!had the )(?<!whose )"
        r"(?<!most )(?<!highest )(?<!lowest )(?<!largest )(?<!smallest )(?<!greatest )(?<!least )"
        rf"(?<!their )(?:the |an )?(?P<words>(?:{_TOTAL})(?:(?: and| the)* (?:{_TOTAL}))*)"
        r"(?: of| number| amount| the| values?| all| possible)*"
        r"(?: (?:length|duration|time|distance|height|depth|width|weight|size|area|price|cost) in)?"
        rf" (?P<label>{L})",
        use,
    )


def on_average(at: Rewriter) -> None:
    """``what does a bike cost on average``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if at.clauses.targets or label is None or not any(one.is_number for one in label.attributes()[:1]):
            return None
        at.clauses.targets.append(AskedTarget(label, "avg"))
        return f"<T{len(at.clauses.targets) - 1}>"

    at.apply(rf"(?P<label>{L}) on average(?= $)", use)


def extremes(at: Rewriter) -> None:
    """``what is the cheapest rate``: the value, as nothing says whose it is."""

    def use(match: re.Match[str]) -> str | None:
        label, adjective = at.link(match["label"]), SUPERLATIVES[match["word"]]
        if at.clauses.targets or label is None or label.types() or not label.attributes()[0].is_number:
            return None
        measure = label.attributes()[0].attribute
        is_reversed = adjective.dates and is_date_name(measure)
        if match["word"] in ("best", "worst"):
            sign = goodness(label_words(measure))
            if not sign:
                at.clauses.unread.append(f"which {label.text} is the {match['word']}")
                return None
            is_reversed = sign < 0
        at.clauses.targets.append(AskedTarget(label, "max" if (adjective.sign > 0) != is_reversed else "min"))
        return f"{match['what']} <T{len(at.clauses.targets) - 1}>"

    what = "(?P<what>(?:so |and )?(?:what|how much) (?:is|was|are|were|s))"
    at.apply(rf"(?<=^ ){what}(?: the| our| your)* (?P<word>{SUPERLATIVE}) (?P<label>{L})(?! <[LV])", use)


def of_how(at: Rewriter) -> None:
    """``how long are films on average``, ``how old is a player on average``."""

    def use(match: re.Match[str]) -> str:
        label = at.link(match["label"])
        if label is not None and not is_type(label) and any(one.is_number for one in label.attributes()[:1]):
            at.clauses.targets.append(AskedTarget(label, "avg"))  # how long does the warm-up take
            return f"{match['aux']} {match['rest']}"
        at.clauses.averaged = ADJECTIVES[match["how"]]
        return f"{match['aux']} {match['label'] or ''} {match['rest']}"

    aux = "(?P<aux>do|does|did|is|are|was|were)(?: the| a| an)*"
    adjective = rf"(?P<how>{'|'.join(ADJECTIVES)})"
    rest = "(?P<rest>(?:(?! on average ).)*?)"
    often = "(?:on average|on an average|in general|typically|usually|normally)"
    at.apply(rf"(?<=^ )how {adjective} {aux} (?P<label>{L})?{rest} {often}(?= $)", use)
    at.apply(rf"(?<=^ )on average how {adjective} {aux} (?P<label>{L})?{rest}(?= $)", use)


def spread(at: Rewriter) -> None:
    """``for different numbers of cylinders``, before they are read as a count."""

    def use(match: re.Match[str]) -> str | None:
        at.clauses.groups.extend(at.linked(match["label"]))
        return " <G0> "

    if any(target.total for target in at.clauses.targets):
        at.apply(
            r"(?:for|by|per)(?: all)?(?: the)? (?:each|every|different)(?: different)? "
            rf"(?:numbers?|values?|kinds?|types?) of (?P<label>{L})",
            use,
        )


def amounts(at: Rewriter) -> None:
    """``how much does Brown have in savings``: an amount that the rest of the question tells."""
    is_first = at.text.startswith((" how much ", " so how much ", " and how much "))

    def use(_: re.Match[str]) -> str:
        at.clauses.is_how_much = True
        return ""

    def paid(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_number = label is not None and not is_type(label) and any(o.is_number for o in label.attributes()[:1])
        if at.clauses.targets or not is_number or match["verb"] not in PAYING:
            return None
        at.clauses.targets.append(AskedTarget(label, "sum"))
        return f"{match['before']} <T{len(at.clauses.targets) - 1}>"  # how much has Ann paid in fares

    whole = "(?: altogether| in total| overall| in all)?"
    at.apply(
        rf"how much(?: money)?(?P<before>(?: \S+){{1,4}}) (?P<verb>[a-z]+) (?:in|on|for) (?P<label>{L}){whole}(?= $)",
        paid,
    )

    def done(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_paid = label is not None and label.text.casefold() in PAYING and label.labels[0].score >= _SAID
        if at.clauses.targets or label is None or is_type(label) or not is_paid:
            return None
        whom = at.link(match["whom"])
        if whom is not None and not is_type(whom):
            return None
        at.clauses.is_how_much = True
        if whom is None:
            at.clauses.events.append(replace(label, labels=(LabelOption(label.labels[0].type),)))
        return f"{match['before']} {match['whom'] or ''}"  # how much has Ann paid us, of payments with a date

    us = f"(?: (?:us|me|you|them|back|out|so far))*(?: (?:to )?(?:the|our|their) (?P<whom>{L}))?"
    aux = "(?:has|have|had|did|does|do|was|were|been|we|they)"
    end = rf"(?={whole} (?:$|<C|(?:by|in|with|on|from|for|to|via) <C))"
    at.apply(rf"how much(?: money)?(?P<before>(?: {aux}| <C\d+>)*) (?P<label>{L}){us}{end}", done)
    at.apply(r"what(?: do| does| did)?(?=(?: <C\d+>)+ (?:has|have|had|keeps?) (?:in|on) )", use)
    at.apply(rf"how much(?: money)?(?! {L} (?:do|does|did|is|was|has|have))", use)
    if at.clauses.is_how_much and is_first:
        at.apply("(?:altogether|in total|overall|in all|so far)(?= (?:$|<C))", lambda _: "")


def _times(at: Rewriter) -> None:
    """``how often has Ann been seen``, ``how many times did he hire a bike``: the events that the verb means."""

    def often(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if at.clauses.targets or label is None or not is_type(label):
            return None
        at.clauses.targets.append(AskedTarget(label, "count"))
        return f"<T{len(at.clauses.targets) - 1}> {match['who']}"

    aux = "(?:has|have|had|did|does|do|was|were|is|are)"
    been = "(?: (?:ever|been|being|got))*"
    who = rf"(?P<who>(?: (?:the|a|an|our|we|you|{L}|{V}|<C\d+>))*?)"
    at.apply(rf"how (?:often|many times)(?: {aux})?{who}{been} (?P<label>{L})", often)


def counts(at: Rewriter) -> None:
    """``how many songs``, ``the number of different genres``."""
    _times(at)

    def use(match: re.Match[str]) -> str | None:
        before = re.search(r" <L(\d+)> $", match.string[: match.start()])
        if before and int(before[1]) not in at.commas and match[0].startswith("number"):
            return f"of {match['held']} {match['label']}"  # phone numbers of owners
        at.clauses.targets.append(AskedTarget(at.link(match["label"]), "count", None, bool(match["distinct"])))
        return f"<T{len(at.clauses.targets) - 1}> {match['held']}"

    def ahead(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if at.clauses.targets or not is_type(label):
            return None
        at.clauses.targets.append(AskedTarget(label, "count"))
        return f"<T{len(at.clauses.targets) - 1}>"  # case count by outcome

    at.apply(rf"(?P<label>{L}) counts?(?= (?:by|per|for each|in each) )", ahead)
    phrase = r"(?:how many|(?:the )?(?:total )?(?:numbers?|counts?)(?: of|(?= <C))|count(?: the)?(?: number of)?)"
    at.apply(
        rf"{phrase} (?:(?:all|of|the|our|these|those|total|times|in|more) )*(?P<held>(?:<C\d+> )*)"
        rf"(?P<distinct>(?:different |distinct |unique |kinds of |types of )*)(?P<label>{L})",
        use,
    )
