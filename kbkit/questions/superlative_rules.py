"""The rules that read superlatives and the order of what is asked for."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import (
    ADJECTIVES,
    FREQUENT,
    FUNCTION_WORDS,
    ORDINALS,
    SUPERLATIVES,
    TENURE,
    TOTALS,
    Adjective,
)
from kbkit.english.words import is_plural, may_be_verb
from kbkit.questions.clauses import BE, SUPERLATIVE, L, Most, N, Restriction, Rewriter, V, is_type
from kbkit.questions.expressions import is_date
from kbkit.questions.lexicon import stem
from kbkit.questions.link_words import is_participle
from kbkit.questions.question_link import QuestionLink

_DIRECTION = (
    "ascending|descending|increasing|decreasing|reverse alphabetical|alphabetical|alphabetic|lexicographical|"
    "lexicographic|chronological|asc|desc"
)
_MOST = 2.0**31 - 1
"""Limit on how many nodes are asked for."""
_DESCENDING = ("descending", "decreasing", "reverse", "desc")
_USED = frozenset(("used", "chosen", "requested", "ordered", "booked", "bought", "sold"))
"""Participles after which *most* says that something is common."""
_LASTING = frozenset(("serving", "standing", "established"))
"""Verbs of what began first: *the longest serving nurse*."""
_OF_TIME = ("late", "early", "old", "new")
"""Adjectives that have superlatives of one word, so that after *most* they say something else."""
_SHORT = 5
"""Letters of adjectives that hardly follow *most*."""


def whole(number: QuestionLink) -> int:
    """Return a number as how many are asked for, 1 at least and no more than a KB can have."""
    try:
        return int(max(1.0, min(float(number.number), _MOST)))
    except ValueError:
        return 1


def adverbs(at: Rewriter) -> None:
    """``the least used service``, ``opened first``: no label follows the word."""

    def used(match: re.Match[str]) -> str | None:
        verb, label = match["verb"], at.link(match["type"])
        if at.clauses.most is not None or not may_be_verb(verb) or verb in FUNCTION_WORDS or verb in ADJECTIVES:
            return None
        if label is not None and not is_type(label):
            return often_said(match) if verb in _USED and match["type"] == match[0].split()[-1] else None
        sign = SUPERLATIVES[match["word"]].sign
        at.clauses.most = Most(None, Adjective(sign, ()), is_use=True)
        at.clauses.verbs.append(verb)
        return f"{match['type']} <S0>"

    def often_said(match: re.Match[str]) -> str | None:
        label, done = at.link(match["type"]), at.link(match.groupdict().get("done"))
        is_attribute = label is not None and not is_type(label) and not label.attributes()[0].is_number
        is_verb = match["verb"] is None or (match["verb"] not in FUNCTION_WORDS and may_be_verb(match["verb"]))
        if at.clauses.most is not None or not is_attribute or not is_verb or (done and not is_participle(done.text)):
            return None
        at.clauses.most = Most(label, Adjective(SUPERLATIVES[match["word"]].sign, ()), is_common=True)
        return f"{match['type']} <S0>"  # which product is ordered most often, of orders

    be = "(?:that|which|is|are|was|were|gets?|been|has|have)"
    often = "(?:often|frequently|commonly)"
    at.apply(
        rf"(?P<type>{L}) (?:{be} )*(?:(?P<done>{L})|(?P<verb>[a-z]+)) (?:the )?(?P<word>most|least) {often}(?= $)",
        often_said,
    )
    often = "(?: often| frequently| commonly)?"
    word, verb = rf"(?:the )?(?P<word>most|least){often}", r"(?P<verb>[a-z]+)"
    at.apply(rf"(?P<type>{L}) (?:(?:that|which|is|are|was|were|gets?|been|has|have) )*{verb} {word}(?= $)", used)
    at.apply(rf"{word} {verb} (?P<type>{L})", used)

    def money(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_number = label is not None and not is_type(label) and any(o.is_number for o in label.attributes()[:1])
        if at.clauses.most is not None or not is_number:
            return None
        at.clauses.most = Most(label, Adjective(SUPERLATIVES[match["word"]].sign, ()), is_amount=True)
        return "<S0>"

    at.apply(rf"(?:the )?(?P<word>most|least)(?: money)? (?:in|on) (?:the |his |her |their )?(?P<label>{L})", money)

    def timed(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if at.clauses.most is not None or label is None or not any(o.is_number for o in label.attributes()[:1]):
            return None
        sign = -1 if match["word"].startswith(("first", "earliest", "least")) else 1
        at.clauses.most = Most(label, Adjective(sign, ()))
        return "<S0>"

    word = "first|last|earliest|latest|most recently|least recently"
    at.apply(rf"(?:got |get |was |were |is |are )?(?P<label>{L}) (?:the )?(?P<word>{word})(?! <L)", timed)


def _by_verbs(at: Rewriter) -> None:
    """``the 3 highest scoring songs``, ``the best paid employee``."""

    def said(match: re.Match[str]) -> str | None:
        verb, label = match["verb"], at.link(match["label"])
        if at.clauses.most is not None or label is None or verb in FUNCTION_WORDS or verb in ADJECTIVES:
            return None
        if not verb.endswith("ing") and not is_participle(verb):
            return None
        number = at.link(match["few"] or match["number"])
        adjective = Adjective(SUPERLATIVES[match["word"]].sign, (verb, stem(verb)))
        if match["word"] == "longest" and verb in _LASTING:
            adjective = TENURE
        at.clauses.most = Most(None, adjective, whole(number) if number else 1)
        return f"{match['held']} {match['label']} <S0>"

    at.apply(
        rf"(?:the )?(?:top )?(?:(?P<few>{N}) )?(?P<word>highest|lowest|best|worst|top|longest) (?:(?P<number>{N}) )?"
        rf"(?P<verb>[a-z]+) (?P<held>(?:<C\d+> )*)(?P<label>{L})",
        said,
    )

    def stayed(match: re.Match[str]) -> str | None:
        if at.clauses.most is not None:
            return None
        at.clauses.most = Most(None, TENURE)
        return f"{match['label']} <S0>" if is_type(at.link(match["label"])) else "<S0>"

    been = "(?:has|have) (?:been|worked|served) (?:(?!<)\\w+ ){0,3}?"
    at.apply(rf"{been}(?P<label>)(?:the )?longest(?= $)", stayed)  # who has been with us the longest
    at.apply(rf"{been}(?P<label>{L}) (?:here |for us |with us )?(?:the )?longest(?= $)", stayed)


def _by_who(at: Rewriter) -> None:
    """``who earns the most``, ``outages that cost us the least``: of the number that the verb is about."""

    def said(match: re.Match[str]) -> str | None:
        verb = match["verb"]
        if at.clauses.most is not None or verb in FUNCTION_WORDS or verb in ADJECTIVES or not may_be_verb(verb):
            return None
        at.clauses.most = Most(None, Adjective(SUPERLATIVES[match["word"]].sign, (verb, stem(verb))))
        return f"{match['who']} <S0>"

    who = "who|that|which" if not at.clauses.is_who else "who"
    be = "(?:(?:is|are|was|were|gets?|got|has|have|been) )*"
    whom = "(?:(?:us|me|you|them) )?(?:the )?"
    at.apply(rf"(?P<who>{who}) {be}(?P<verb>[a-z]+) {whom}(?P<word>most|least)(?= (?:$|<C))", said)


def most_among(at: Rewriter) -> None:
    """``in the most horror films``, ``the fewest westerns``: the most nodes that have a value."""

    def use(match: re.Match[str]) -> str | None:
        values, label = at.linked(match["values"]), at.link(match["label"])
        is_counted = is_type(label) if label is not None else is_plural(values[-1].text.casefold())
        is_related = any(value.nodes and not value.values for value in values)
        if at.clauses.most is not None or not (is_counted and is_related):
            return None
        for value in values:
            at.restrict(Restriction(None, "=", (value,)))
        at.clauses.most = Most(label, SUPERLATIVES[match["word"]], among=values)
        return "<S0>"

    at.apply(rf"(?:the )?(?P<word>most|fewest)(?P<values>(?: {V})+)(?: (?P<label>{L}))?", use)


def superlatives(at: Rewriter) -> None:
    """``the 3 largest``, ``top 5 films by gross``, ``the most songs``, ``the most common genre``."""
    _by_verbs(at)
    _by_who(at)

    def use(match: re.Match[str]) -> str | None:
        if at.clauses.most is not None:
            at.clauses.unread.append("two superlatives")
            return None
        word, count = match["word"], 1
        number = at.link(match["top"] or match["few"])
        if number is not None:
            count = whole(number)
        is_nth = match["nth"] is not None
        count = ORDINALS[match["nth"]] if is_nth else count
        adjective = SUPERLATIVES[word]
        inner = (match["inner"] or "").strip()
        if inner in ADJECTIVES:
            adjective = ADJECTIVES[inner]._replace(sign=ADJECTIVES[inner].sign * adjective.sign)
        label = at.link(match["label"])
        is_short = word in ("most", "fewest") and len(inner) <= _SHORT and inner in ADJECTIVES
        if inner in _OF_TIME or (is_short and label is not None and label.text.casefold().endswith("s")):
            return None  # the most late rentals are hardly the latest, nor the most low scores the lowest
        is_common = label is not None and inner in FREQUENT
        is_number = bool(match["of"])
        if (label is None and not adjective.nouns) or (match["held"] and not is_type(label)):
            return None
        summed = re.search(r" (total|combined|average|mean) (?:number of )?<L", match[0])
        total = "" if is_type(label) else TOTALS[summed[1]] if summed else "sum" if match["sum"] else ""
        is_amount = word in ("most", "least", "fewest") and not inner
        if is_nth and (is_common or total):
            return None
        most = Most(label, adjective, count, is_common, is_number, is_amount=is_amount, is_nth=is_nth, total=total)
        at.clauses.most = most
        keeps = is_type(label) and (bool(adjective.nouns) or is_common) and not is_number
        return f"{match['held']} {match['label']} <S0>" if keeps or is_common else f"<S0> {match['held']}"

    at.apply(
        rf"{BE}(?:the )?(?:top (?P<top>{N}) |(?P<few>{N}) |(?P<nth>{'|'.join(ORDINALS)}) )?(?P<word>{SUPERLATIVE})"
        rf"(?P<inner> (?:{'|'.join((*ADJECTIVES, *FREQUENT))}))?"
        r"(?P<of> (?:number|amount|count|total number)s?(?: of)?)?"
        r"(?: (?:different|distinct|total|combined|average|mean|number of))*"
        rf"(?P<held>(?: <[CV]\d+>)*)(?: (?P<label>{L})(?P<sum> in total| altogether)?)",
        use,
    )
    at.apply(
        rf"{BE}(?:the )?(?:top (?P<top>{N}) |(?P<few>{N}) |(?P<nth>{'|'.join(ORDINALS)}) )?(?P<word>{SUPERLATIVE})"
        rf"(?P<inner> (?:{'|'.join((*ADJECTIVES, *FREQUENT))}))?"
        r"(?P<of> (?:number|amount|count|total number)s?(?: of)?)?(?P<held>)(?P<sum>)(?P<label>)",
        use,
    )

    _after(at)


def _after(at: Rewriter) -> None:
    """``which part was tested most often``, ``whose score is highest``."""

    def after(match: re.Match[str]) -> str | None:
        if at.clauses.most is not None:
            return None
        label = at.link(match["label"])
        if match["often"] and label is not None and is_participle(label.text):
            at.clauses.verbs.append(label.text.casefold())  # which part was tested most often
            at.clauses.most = Most(None, Adjective(SUPERLATIVES[match["word"]].sign, ()), is_use=True)
            return "<S0>"
        at.clauses.most = Most(label, SUPERLATIVES[match["word"]])
        return "<S0>"

    at.apply(
        rf"{BE}(?P<label>{L}) (?:is )?(?:the )?(?P<word>most|least|highest|lowest|largest|smallest)"
        "(?P<often> often| frequently)?",
        after,
    )


def _first_adjective(match: re.Match[str]) -> Adjective:
    """Return the adjective of *oldest first* or *most expensive first*."""
    adjective = SUPERLATIVES[match["first"]]
    if not match["inner"]:
        return adjective
    inner = ADJECTIVES[match["inner"]]
    return inner._replace(sign=inner.sign * adjective.sign)


def orders(at: Rewriter) -> None:
    """``sorted by age``, ``in descending order of price``, ``from the oldest to the youngest``."""
    verb = r"(?:(?:and )?(?:sorted|ordered|arranged|ranked|listed|sort|order)(?: them| the results?| the list)?)"

    def use(match: re.Match[str]) -> str:
        at.clauses.order = (at.link(match["by"]), any(word in (match["dir"] or "") for word in _DESCENDING))
        return ""

    def alphabetic(_: re.Match[str]) -> str:
        at.clauses.order = (None, False)
        return ""

    at.apply("(?:and )?(?:(?:sorted|ordered|listed|arranged) )?alphabetically(?: sorted| ordered)?", alphabetic)

    def first(match: re.Match[str]) -> str:
        adjective, by = _first_adjective(match), at.link(match["of"] or match["by"])  # the year they were founded
        is_of_date = adjective.dates and by is not None and any(is_date(o.attribute) for o in by.attributes()[:1])
        at.clauses.order = (by, (adjective.sign > 0) != is_of_date)
        return ""

    at.apply(
        rf"(?:{verb} )?(?:by|in order of|according to)(?: the| their| its)? (?P<by>{L})(?: (?P<of>{L}))?"
        rf"(?: (?:they|it|he|she) (?:was|were|is|are) (?:<L\d+>|\w+))?"
        rf"(?: with| from)?(?: the)? (?P<first>{SUPERLATIVE})(?: (?P<inner>{'|'.join(ADJECTIVES)}))?(?: ones?)?"
        rf" (?:first|to (?:the )?(?:{SUPERLATIVE}))",
        first,
    )
    inner = rf"(?: (?:of|by|on|according to)(?: the| their| its)?(?: total)? (?P<by>{L}))"
    at.apply(rf"(?:{verb} )?(?:in )?(?:the )?(?:an? )?(?P<dir>{_DIRECTION})(?: alphabetical)?(?: order)?{inner}?", use)

    def leading(match: re.Match[str]) -> str | None:
        if at.clauses.order is not None:
            return None
        adjective = _first_adjective(match)
        at.clauses.order, at.clauses.order_by = (None, adjective.sign > 0), adjective
        return ""

    inner = rf"(?: (?P<inner>{'|'.join(ADJECTIVES)}))?"
    at.apply(rf"(?:with )?(?:the )?(?P<first>{SUPERLATIVE}){inner}(?: ones?)? first(?= $)", leading)

    _named_first(at)

    def spanned(match: re.Match[str]) -> str | None:
        at.clauses.order = (at.link(match["by"]), SUPERLATIVES[match["first"]].sign > 0)
        return ""

    at.apply(
        rf"{verb}? ?(?:from )(?:the )?(?P<first>{SUPERLATIVE})(?: first)? to (?:the )?(?:{SUPERLATIVE})"
        rf"(?: (?P<by>{L}))?",
        spanned,
    )
    inner = rf"(?:by|in order of|according to|in)(?: the| their| its)?(?: order of)? (?P<by>{L})"
    at.apply(rf"{verb} {inner}(?:(?: in| from)?(?: the)? (?P<dir>{_DIRECTION})(?: order)?)?", use)
    at.apply(rf"{verb} by when (?:the |their |its )?(?:<L\d+> )??(?P<by>{L})(?P<dir>)(?= $)", use)
    at.apply(rf"in (?:the )?order of(?: the| their| its)? (?P<by>{L})(?P<dir>)(?= $)", use)


def _named_first(at: Rewriter) -> None:
    """``cheapest shipping first``: by what the adjective is said of."""

    def named(match: re.Match[str]) -> str | None:
        label, adjective = at.link(match["by"]), SUPERLATIVES[match["first"]]
        if at.clauses.order is not None or label is None or is_type(label):
            return None
        numbers = tuple(option for option in label.attributes() if option.is_number)
        if not numbers:
            return None
        is_reversed = adjective.dates and numbers[0].is_year
        at.clauses.order = (replace(label, labels=numbers), (adjective.sign > 0) != is_reversed)
        return ""

    at.apply(rf"(?:with )?(?:the )?(?P<first>{SUPERLATIVE}) (?P<by>{L}) first(?= $)", named)
