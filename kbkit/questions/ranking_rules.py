"""The rules that read rankings: *top 5 films by gross*, *the 3 suppliers with the most orders*, by what ranks them."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import ADJECTIVES, SUPERLATIVES, TOTALS, Adjective
from kbkit.english.words import is_participle as is_past
from kbkit.english.words import is_plural
from kbkit.questions.clauses import SUPERLATIVE, L, Most, N, Rewriter, is_type
from kbkit.questions.superlative_rules import whole

_SUMS = "|".join(TOTALS)


def _done(at: Rewriter) -> None:
    """``by distance rowed``, ``by number of reviews written``: the participle at the end says no more."""

    def dropped(match: re.Match[str]) -> str | None:
        return match["by"] if is_past(match["verb"]) else None

    if re.search(rf" (?:top|bottom|ranked|{SUPERLATIVE}) ", at.text):
        words = "(?:(?:the|their|its|total|overall|combined|number|numbers|amount|amounts|of) )*"
        at.apply(rf"(?P<by>by {words}{L}) (?P<verb>[a-z]+)(?= (?:$|in|at|on|from|during|since|<[CN]))", dropped)


def _values_ranked(at: Rewriter) -> None:
    """``top 3 suppliers by number of orders``, of the column of orders; ``top 3 regions by total sales``."""

    def use(match: re.Match[str]) -> str | None:
        what, by, number = at.link(match["what"]), at.link(match["by"]), at.link(match["number"])
        if at.clauses.most is not None or what is None or is_type(what) or by is None or number is None:
            return None
        if not what.labels or what.labels[0].score < 1 or what.labels[0].is_boolean:
            return None
        adjective = Adjective(-1 if match["word"] in ("bottom", "lowest") else 1, ())
        if is_type(by) and match["number_of"]:
            kinds = {option.type for option in by.types()[:1]}
            own = tuple(option for option in what.attributes() if option.type in kinds)
            if not own:
                return None
            at.clauses.most = Most(replace(what, labels=own), adjective, whole(number), is_common=True)
            return f"{match['what']} <S0> {match['between']} {match['by']}"
        is_number = not is_type(by) and any(o.is_number and not o.is_year for o in by.attributes()[:1])
        if not is_number or match["number_of"]:
            return None
        total = "avg" if (match["total"] or "").strip() in ("average", "mean") else "sum"
        at.clauses.most = Most(by, adjective, whole(number), total=total)
        return f"{match['what']} <S0> {match['between']}"

    total = f"(?P<total>(?:{_SUMS}|overall|combined) )?(?:amounts? (?:of )?)?"
    at.apply(
        rf"(?:the )?(?P<word>top|bottom|highest|lowest|best) (?P<number>{N}) (?P<what>{L}) "
        rf"(?P<between>(?:(?!by |<[LN])\S+ ){{0,6}})(?:ranked )?(?:by|in terms of|measured by|according to) "
        rf"(?:the |their |its )?(?P<number_of>(?:total )?number of )?{total}(?P<by>{L})",
        use,
    )


def rankings(at: Rewriter) -> None:
    """``top 5 films by gross``, ``top 3 pets by total cost``, ``the largest cities in France by area``."""
    _done(at)
    _values_ranked(at)

    def ranked(match: re.Match[str]) -> str | None:
        number = at.link(match["number"])
        if number is None or is_type(at.link(match["by"])) or not is_type(at.link(match["type"])):
            return None
        sign = SUPERLATIVES.get(match["word"], Adjective(-1 if match["word"] == "bottom" else 1, ())).sign
        total = TOTALS[match["total"].strip()] if match["total"] else "sum" if match["overall"] else ""
        at.clauses.most = Most(
            at.link(match["by"]), Adjective(sign, ()), whole(number), is_amount=not total, total=total
        )
        return f"{match['type']} <S0>"

    at.apply(
        rf"(?:the )?(?P<word>top|highest|best|largest|lowest|bottom) (?P<number>{N}) (?P<type>{L}) "
        rf"(?:by|in|for|in terms of|ranked by|according to) (?:the |their )?(?P<total>(?:{_SUMS}) )?(?P<by>{L})"
        "(?P<overall> overall| in total| altogether)?",
        ranked,
    )

    def measured(match: re.Match[str]) -> str | None:
        by, number = at.link(match["by"]), at.link((match["number"] or match["few"] or "").strip())
        is_plural_type = is_type(by) and by is not None and is_plural(by.text.casefold()) and by.labels[0].score == 1
        is_counted = is_type(by) and (bool(match["number_of"]) or is_plural_type)  # the best customer by orders
        own = by.attributes() if by is not None else []
        is_number = any(o.is_number for o in own if o.score == own[0].score)
        if at.clauses.most is not None or by is None or not (is_counted or is_number):
            return None
        if match["number_of"] and match["more"]:
            return None  # by number of closed tickets
        if not is_type(at.link(match["type"])) or (match["word"] in ("top", "bottom") and number is None):
            return None
        sign = SUPERLATIVES.get(match["word"], Adjective(-1 if match["word"] == "bottom" else 1, ())).sign
        if match["inner"]:  # the most expensive room by base price
            sign *= ADJECTIVES[match["inner"].strip()].sign
        few = whole(number) if number else 1
        at.clauses.most = Most(by, Adjective(sign, ()), few, is_number=is_counted, is_amount=not is_counted)
        return f"{match['held']} {match['type']} <S0> {match['between']} {match['of']}{match['more']}"

    between = r"(?P<between>(?:(?!by |<[LN])\S+ ){0,6})"
    at.apply(
        rf"(?:the )?(?:top (?={N} (?:{SUPERLATIVE}) ))?(?P<few>{N} )?(?P<word>top|bottom|{SUPERLATIVE})"
        rf"(?P<inner> (?:{'|'.join(ADJECTIVES)}))?(?P<number> {N})? (?P<held>(?:<[CV]\d+> )*)"
        rf"(?:(?!<)[a-z]+(?:ing|ed) )?(?P<type>{L}) {between}"
        rf"(?:by|in terms of|measured by|according to) (?:the |their |its )?"
        rf"(?P<number_of>(?:total )?number of )?(?P<of>(?:<[CV]\d+> )*)(?P<by>{L})(?P<more>(?: {L})?)",
        measured,
    )
