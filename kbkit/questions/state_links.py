"""States that a missing date tells: *open* work orders have no date of closing, *current* staff has not left.

Only where a type has one date that all nodes have, and one that some lack, by whose name something ends; and where
neither a value nor a column of states says the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink

OPEN = frozenset("open ongoing current currently active unfinished unresolved outstanding running alive living".split())  # noqa: SIM905
"""Words for what has begun and not ended."""
ENDED = frozenset("finished completed ended concluded former past dead deceased".split())  # noqa: SIM905
"""Words for what has ended."""
_OF_LIFE = frozenset("alive dead deceased".split())  # noqa: SIM905
"""Words for who has not died, and who has."""
_DEATHS = frozenset(map(stem, ("death", "died", "deceased")))
"""Stems of the words of a date of death."""
ENDS = frozenset(
    map(
        stem,
        [
            "end",
            "ended",
            "ending",
            "close",
            "closed",
            "closing",
            "finish",
            "finished",
            "complete",
            "completed",
            "completion",
            "resolved",
            "solved",
        ],
    )
) | frozenset(
    map(
        stem,
        [
            "left",
            "leaving",
            "leave",
            "departed",
            "departure",
            "returned",
            "return",
            "released",
            "discharged",
            "terminated",
            "until",
            "to",
            "back",
            "resigned",
            "retired",
            "checkout",
        ],
    )
)
"""Stems of the words of a date at which something ends."""
_OF_LIFE = frozenset("alive living dead deceased".split())  # noqa: SIM905
_DEATHS = frozenset(map(stem, ["died", "death", "deceased", "dod"]))
"""Stems of the words of a date of death, which alone tells who is alive."""
_FEW = 2
"""Types that a question names up to which what joins them may be meant."""
_FAR = frozenset(("still", "current", "currently", "former", "past"))
"""Words that may be about what joins the nodes that a question names: *current tenants* have a lease."""
_STATES = frozenset("status state stage condition phase active".split())  # noqa: SIM905
"""Words of a column that tells states itself."""


def with_states(elements: Elements, question: Question, links: Sequence[QuestionLink]) -> list[QuestionLink]:
    """Return the links of a question with one for a word that says whether something has ended."""
    found = list(links)
    for at, token in enumerate(question.tokens):
        last = at + 1
        if token.word == "still" and last < len(question.tokens) and question.tokens[last].word.endswith("ing"):
            last += 1  # still renting
        elif token.word not in OPEN | ENDED:
            continue
        own = [link for link in found if link.first < last and at < link.last]
        if at in question.operators or any(_is_kept(link, at, last) for link in own):
            continue
        if token.word == "currently" and any(link.is_value and link.first == last for link in found):
            continue  # currently stopped, as a value says
        others = [link for link in found if link not in own]
        kinds = [link.labels[0].type for link in others if link.labels]
        kinds += [value.type for link in others for value in link.values[:1] if link.is_value]
        is_who = not kinds and question.tokens[0].word in ("who", "anyone", "anybody")
        kinds = [*elements.people] if is_who else kinds  # who is still with us
        is_far = token.word in _FAR
        ends = _DEATHS if token.word in _OF_LIFE else ENDS
        end = _ended(elements, list(dict.fromkeys(kinds)), ends, is_far=is_far)
        if end is None or (last == at + 1 and any(one.labels and one.labels[0].type != end.type for one in own)):
            continue
        link = QuestionLink(at, last, "ongoing" if token.word == "still" else token.word, (end,))
        found = sorted([*others, link], key=lambda one: one.first)
    return found


def _is_kept(link: QuestionLink, first: int, last: int) -> bool:
    """Return whether a word is a value, a column that says yes or no, or a part of a longer label."""
    is_flag = bool(link.labels) and link.labels[0].score == 1 and link.labels[0].is_boolean
    return link.first < first or link.last > last or link.is_value or is_flag


def _ended(elements: Elements, kinds: Sequence[int], words: frozenset[str], *, is_far: bool) -> LabelOption | None:
    """Return the only end of the types that a question names, or else of what joins them: of leases, for tenants."""
    ends = [end for kind in kinds if (end := ending(elements, kind, words)) is not None]
    if ends or not is_far or len(kinds) > _FEW:
        return ends[0] if len(ends) == 1 else None
    near = {int(elements.target[hop]) for kind in kinds for hop in elements.from_type(kind).tolist()} - {*kinds}
    ends = [end for kind in sorted(near) if (end := ending(elements, kind, words)) is not None]
    return ends[0] if len(ends) == 1 else None


def ending(elements: Elements, kind: int, words: frozenset[str] = ENDS) -> LabelOption | None:
    """Return the only date of a type at which something ends that others have not reached; None if there is none.

    ``words`` are the stems by one of which it is called.
    """
    node_type = elements.types[kind]
    if any(_STATES & {*label_words(a.name)} for a in node_type.attributes):
        return None
    dates = [a.name for a in node_type.attributes if elements.is_yearly(kind, a.name)]
    known = {name: elements.is_optional(kind, name) for name in dates}
    ends = [name for name, is_optional in known.items() if is_optional and words & {*map(stem, label_words(name))}]
    if len(ends) != 1 or all(known.values()):
        return None
    return LabelOption(kind, ends[0], 1.0, True, is_date=True, is_optional=True, is_year=True)
