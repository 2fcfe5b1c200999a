"""The rules that read which values of an attribute most nodes have, or fewest: *which insurer covers the most cats*."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import FREQUENT, FUNCTION_WORDS, SUPERLATIVES, Adjective
from kbkit.english.words import is_plural, lemmas_of
from kbkit.questions.clauses import L, Most, N, Rewriter, is_type
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.superlative_rules import whole

_VARIETY = "(?:range|variety|selection|choice|assortment)"
_BETWEEN = frozenset(
    (
        "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "we", "you", "they", "for", "from", "in",
        "to",
    )
)  # fmt: skip
"""Words that say nothing between what is asked for and what is counted."""
_FEW = rf"(?:(?P<few>{N}) )?"
_THE = "(?:(?:the|our|all|their|its) )*"


def categories(at: Rewriter) -> None:
    """Read the values of an attribute as the most frequent ones, if the question says clearly what is counted."""
    _varied(at)
    for rule in (_counted, _common, _often):
        if at.clauses.most is None:
            rule(at)


def _varied(at: Rewriter) -> None:
    """``the widest range of parts``: the most parts."""

    def use(match: re.Match[str]) -> str | None:
        return f"the most {match['label']}" if is_type(at.link(match["label"])) else None

    at.apply(rf"(?:the )?(?:widest|broadest|largest|biggest|greatest) {_VARIETY} of {_THE}(?P<label>{L})", use)


def _counted(at: Rewriter) -> None:
    """``which insurer covers the most cats``, ``which two towns have the fewest owners``."""

    def use(match: re.Match[str]) -> str | None:
        named, counted, is_elsewhere = at.linked(match["values"]), at.link(match["counted"]), False
        if counted is None and named and is_plural(named[-1].text.casefold()):
            kinds = named[-1].value_types
        else:
            kinds = _kinds(counted)
        asked = _category(at.link(match["what"]), kinds) if kinds else None
        if asked is None and kinds and counted is None:  # which town has the most dogs, of their owners
            asked = _category(at.link(match["what"]))
            is_elsewhere = True
        said = [] if asked is None else _said(at, asked, match["verb"])
        if asked is None or said is None:
            return None
        at.clauses.verbs += said
        at.clauses.head = named[-1] if is_elsewhere else None
        _most(at, asked, match)
        return f"{match['what']} <S0> of {match['values']} {match['counted'] or ''}"

    at.apply(
        rf"(?<=^ )(?:(?:in|from|at|to|for|by) )?(?:which|what) {_FEW}(?P<what>{L}) (?P<verb>(?:(?:\w+|{L}) ){{0,3}}?)"
        rf"{_THE}(?P<word>most|fewest)(?: of)? {_THE}(?P<values>(?:<V\d+> ?)*)(?P<counted>{L})?",
        use,
    )


def _said(at: Rewriter, asked: QuestionLink, phrase: str) -> list[str] | None:
    """Return the verbs of a phrase between what is asked for and what is counted; None if it says something else."""
    verbs: list[str] = []
    for part in phrase.split():
        link = at.link(part) if part.startswith("<") else None
        word = part if link is None else link.text.casefold()
        is_faint = link is None or not link.labels or link.labels[0].score < 1 or link.labels == asked.labels
        is_verb = "VERB" in lemmas_of(word) and word not in FUNCTION_WORDS
        if not is_faint or not (is_verb or word in _BETWEEN):
            return None
        verbs += [word] * is_verb
    return verbs


def _common(at: Rewriter) -> None:
    """``which make of car is the most popular among private customers``."""

    def use(match: re.Match[str]) -> str | None:
        of = at.link(match["type"])
        asked = _category(at.link(match["what"]), None if of is None else _kinds(of))
        if asked is None:
            return None
        _most(at, asked, match)
        return f"{match['what']} <S0> {match['of']}"

    of = rf"(?P<of>(?: (?:of|for|in) {_THE}(?:<[CV]\d+> )*(?P<type>{L}))?)"
    at.apply(
        rf"{_FEW}(?P<what>{L}){of} (?:is|are|was|were) (?:the )?(?P<word>most|least) (?:{'|'.join(FREQUENT)})(?! <L)",
        use,
    )
    if at.clauses.most is not None:
        at.apply(r"among (?=(?:the )?<[CLV])", lambda _: "of")


def _often(at: Rewriter) -> None:
    """``the three medicines we prescribe most often``, of prescriptions."""

    def use(match: re.Match[str]) -> str | None:
        made, verb = at.link(match["type"]), match["verb"]
        asked = _category(at.link(match["what"]), None if made is None else _kinds(made))
        if asked is None or (verb and (verb in FUNCTION_WORDS or "VERB" not in lemmas_of(verb))):
            return None
        at.clauses.verbs += [verb] * bool(verb)
        _most(at, asked, match, is_use=bool(verb))
        return f"{match['what']} <S0>"

    often = "(?: often| frequently| commonly)?"
    at.apply(
        rf"{_FEW}(?P<what>{L}) (?:that )?(?:(?:do|does|did|have|has) )?(?:we|they|you|people) "
        rf"(?:(?P<verb>[a-z]+)|(?P<type>{L})) (?:the )?(?P<word>most|least){often}(?! <[LV]| [a-z]+ <[LV])",
        use,
    )


def _kinds(link: QuestionLink | None) -> frozenset[int]:
    """Return the type that a link is first of all, if it is one."""
    return frozenset(option.type for option in link.types()[:1]) if link is not None and is_type(link) else frozenset()


def _category(link: QuestionLink | None, kinds: frozenset[int] | None = None) -> QuestionLink | None:
    """Return a link to an attribute, of some types if they are given, if it is surely one that is no number or date."""
    if link is None or not link.labels or is_type(link) or link.types():
        return None
    own = tuple(option for option in link.attributes() if kinds is None or option.type in kinds)
    if not own or own[0].score < 1 or own[0].attribute in ("name", "key"):
        return None
    is_other = own[0].is_number or own[0].is_date or own[0].is_year or own[0].is_boolean
    return None if is_other else replace(link, labels=own)


def _most(at: Rewriter, asked: QuestionLink, match: re.Match[str], *, is_use: bool = False) -> None:
    few = at.link(match["few"])
    adjective = Adjective(SUPERLATIVES[match["word"]].sign, ())
    count = whole(few) if few is not None else 1
    at.clauses.most = Most(asked, adjective, count, is_common=True, is_use=is_use)
