"""The rules that remove what says nothing about the answers: asides about the data, and verbs of *we* and *you*."""

from __future__ import annotations

import re
from dataclasses import replace

from kbkit.english.question_words import CLASSES
from kbkit.english.words import is_participle as is_past
from kbkit.english.words import is_plural, lemmas_of
from kbkit.questions.boolean_rules import is_boolean
from kbkit.questions.clauses import SUPERLATIVE, L, Rewriter, V, is_type
from kbkit.questions.link_words import is_participle
from kbkit.questions.units import UNITS

_DATA = (
    "database|data|dataset|data set|system|systems|records?|files?|lists?|catalogue|catalog|tables?|registry|register|"
    "archives?|books|knowledge base"
)
"""Words for the data themselves."""
_WHOLE = (
    "airline|association|business|centre|center|chain|clinic|club|collection|college|company|department|enterprise|federation|firm|fleet|"
    "gallery|garden|group|holdings|hospital|hotel|institute|institution|inventory|lab|laboratory|league|library|museum|"
    "network|office|organi[sz]ation|park|portfolio|practice|restaurant|school|shop|site|society|station|stock|store|team|"
    "university|warehouse|zoo"
)
"""Words for what all of the data are about: *in our shop* leaves nothing out, but *in my city* does."""


_JOINING = frozenset(("join", "joined", "joining", "leave", "left", "leaving", "enter", "entered"))
"""Verbs that are said of all that the data are about, whatever it is: *joined the airline*."""
_AKIN = 0.75
"""Score of a label to which a word is only similar."""


def asides(at: Rewriter) -> None:
    """``on file``, ``in our database``, ``which films do we have``, ``staff members``."""
    at.apply(r"(?:on|in) (?:file|record|existence|circulation)", lambda _: "")
    at.apply(r"(?:take|takes|took|taken) (?:charge|care|part|hold) (?:of|in)", lambda _: "had")
    at.apply(r"(?P<verb>own|owns|owned|owning) (?:a |any |some )?(?:part|share|stake)s? (?:of|in)", lambda m: m["verb"])
    at.apply(r"anywhere(?= $)", lambda _: "")
    if " how much " in at.text or " total " in at.text:

        def whole(match: re.Match[str]) -> str | None:
            return None if is_type(at.link(match["label"])) else ""

        at.apply(rf"(?:across|over) all(?: the| our)? (?P<label>{L})(?= $)", whole)
    their = "(?:(?:our|your|my|the|this|these|all) )+"
    at.apply(rf"(?:on|in|from|of) {their}(?:{_DATA})(?= (?:$|who|that|which))", lambda _: "")
    at.apply(rf"(?:on|in|at|of|for) (?:our|my|your) (?:{_WHOLE})(?= $)", lambda _: "")
    at.apply(
        rf"(?:in|at) the (?:{_WHOLE})(?= (?:$|is|are|was|were|has|have|the (?:longest|shortest|most) $))", lambda _: ""
    )
    own = rf"(?<= )(?P<phrase>(?:in|at|from|near|around) (?:my|our|your)) (?:(?P<label>{L})|(?P<word>[a-z]+))(?= )"
    for match in re.finditer(own, at.text):
        label = at.link(match["label"])
        word = label.text if label else match["word"]
        if not is_plural(word):  # in my town: only the asker knows which
            at.clauses.unread.append(f"'{match['phrase']} {word}'")

    _joined_us(at)
    at.apply(rf"(?<= of )(?:every|each)(?= (?:{V} )+{L} )", lambda _: "")  # of every Lowton player
    at.apply(r"members? of (?:the |our )?(?=<L)", lambda _: "")

    def members(match: re.Match[str]) -> str | None:
        return match["type"] if is_type(at.link(match["type"])) else None

    at.apply(rf"(?P<type>{L}) (?:members?|people|persons?|folks)", members)

    _with_verbs_of_ours(at)

    def dated(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_one = label is not None and bool(label.attributes()) and not is_type(label) and is_participle(label.text)
        return f"{match['before']} {match['label']}" if is_one else None

    when = "(?:(?:when|that|on which|in which|at which) )?"
    at.apply(
        rf"(?P<before>and|with|the|their|,) (?:the )?(?:date|day|year|time) {when}(?:it|they|he|she|each)"
        rf"(?: (?:was|were|has|have))? (?P<label>{L})",
        dated,
    )

    at.apply(rf"single (?={SUPERLATIVE} )", lambda _: "")
    _done(at)

    def headed(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        options = label.attributes()[:1] if label is not None and not is_type(label) else []
        return match["label"] if any(not one.is_number and not one.is_boolean for one in options) else None

    at.apply(rf"(?P<label>{L}) (?:address|addresses|names?)(?! (?:of|<))", headed)
    _of_kinds(at)


def _joined_us(at: Rewriter) -> None:
    """``joined the team``, ``left the airline``: all that the data are about, whatever it is called."""

    def ours(match: re.Match[str]) -> str | None:
        label, whole = at.link(match["label"]), at.link(match["whole"])
        is_whole = whole is None or (whole.is_partial and bool(re.fullmatch(_WHOLE, whole.text.casefold())))
        return match["label"] if label is not None and is_participle(label.text) and is_whole else None

    at.apply(
        rf"(?P<label>{L}) (?:the|our|us|with us)(?: (?:{_WHOLE}|(?P<whole>{V})))?(?! (?:of|<[LV]))", ours
    )  # joined the team

    def entered(match: re.Match[str]) -> str | None:
        label, other = at.link(match["label"]), at.link(match["other"])
        is_joined = label is not None and not is_type(label) and label.text.casefold() in _JOINING
        is_unknown = other is None or (bool(other.labels) and other.labels[0].score < _AKIN)
        return match["label"] if is_joined and is_unknown else None

    when = r"(?= (?:$|in|on|between|before|after|since|during|from|<[NC]))"
    at.apply(rf"(?P<label>{L}) (?:the|our) (?:(?P<other>{L})|(?!<)\w+){when}", entered)


def _of_kinds(at: Rewriter) -> None:
    """``kilos of honey``, ``per kind of honey``: the number beside a column called so, and that column."""

    def kind(match: re.Match[str]) -> str | None:
        label, of = at.link(match["label"]), at.link(match["of"])
        options = of.attributes()[:1] if of is not None and not is_type(of) else []
        is_class = label is None or (label.text.casefold() in CLASSES and not is_type(label))
        return match["of"] if is_class and any(not (o.is_number or o.is_boolean) for o in options) else None

    def measured(match: re.Match[str]) -> str | None:
        label, of = at.link(match["label"]), at.link(match["of"])
        if label is None or of is None or is_type(label) or is_type(of) or label.text.casefold() not in UNITS:
            return None
        kinds = {o.type for o in of.attributes() if not o.is_number}
        own = tuple(o for o in label.attributes() if o.type in kinds)
        if not own:
            return None
        at.links.append(replace(label, labels=own))  # kilos of honey, of a row's honey and kg
        return f"<L{len(at.links) - 1}>"

    at.apply(rf"(?P<label>{L}) of (?P<of>{L})(?! <)", measured)
    at.apply(rf"(?P<label>{L}) of (?P<of>{L})(?! <)", kind)  # per kind of honey, of a column called so
    at.apply(rf"(?P<label>)(?<= per )(?:{'|'.join(CLASSES)}) of (?P<of>{L})(?! <)", kind)


def _with_verbs_of_ours(at: Rewriter) -> None:
    """``how much did we spend``, ``how many passengers did we carry in 2023``."""

    def said(match: re.Match[str]) -> str | None:
        return match["we"] if "VERB" in lemmas_of(match["verb"]) else None

    we = r"(?P<we>(?:do|did|have|can|could) (?:we|you|i)(?: (?:actually|currently|ever|still))?)"
    at.apply(rf"{we} (?P<verb>[a-z]+)(?= (?:$|in total $|altogether $))", said)

    def added(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        is_number = label is not None and not is_type(label) and label.labels[0].is_number
        is_verb = "VERB" in lemmas_of(match["verb"])
        return f"how many {match['label']} {match['we']}" if is_number and is_verb else None

    at.apply(rf"how many (?P<label>{L}) {we} (?P<verb>[a-z]+)(?= in <N)", added)  # did we carry in 2023


def _done(at: Rewriter) -> None:
    """``hours logged by Ann``, ``by km driven``: the participle says no more than the number before it."""

    def dropped(match: re.Match[str]) -> str | None:
        label, done = at.link(match["label"]), at.link(match["done"])
        is_number = label is not None and not is_type(label) and any(o.is_number for o in label.attributes()[:1])
        is_said = done is not None and " " not in done.text and is_past(done.text.casefold())
        return match["label"] if is_number and is_said and not is_boolean(done) else None

    at.apply(rf"(?P<label>{L}) (?P<done>{L})(?= (?:by|per|for each|$))", dropped)


def ever(at: Rewriter) -> None:
    """``the highest rate anybody ever paid``: of all that there are."""
    if at.clauses.most is not None or any(target.total in ("max", "min") for target in at.clauses.targets):
        someone = "(?:(?:anybody|anyone|somebody|someone|we|you|has|have|had|that|was|been) )*"
        at.apply(
            rf"{someone}ever (?:been )?(?:made|recorded|seen|known|paid|set|measured|given|registered)", lambda _: ""
        )


def ranks(at: Rewriter) -> None:
    """``who came first``: a rank, of which only the words of a column would tell which one."""
    place = "first|last|second|third|fourth|fifth|top|bottom"
    if found := re.search(rf" (?:came|come|comes|finish|finished|finishes|placed|ranked|ended up) ({place}) ", at.text):
        at.clauses.unread.append(f"'{found[1]}'")
