"""Who won: a place of 1, where a KB has one column of places and calls nothing *won* itself."""

from __future__ import annotations

import re

from kbkit.english.question_words import ORDINALS
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import LITERAL, label_words

_PLACES = frozenset("place pos position rank placing placement standing finish".split())  # noqa: SIM905
_NUMBERS = {"first": 1, **ORDINALS}
_NTH = "|".join(_NUMBERS)
_NO_MOST = r"(?!(?:the )?(?:most|fewest|least|more|fewer)\b)"
_IN = r"(?:(?:in|at|of) )?"
_NAME = r"(?P<name>[A-Z][\w'\u2019]*(?: [A-Z][\w'\u2019]*)*)"


def place_column(elements: Elements) -> str:
    """Return the words of the only column that says who came first; "" if there is none, or *won* means another."""
    found = [
        (number, one.name)
        for number, node_type in enumerate(elements.types)
        for one in node_type.attributes
        if one.type.endswith(("INT", "INTEGER")) and label_words(one.name)[-1] in _PLACES
    ]
    similar = elements.labels.similarity
    is_said = any(similar(word).max(initial=0.0) >= LITERAL for word in ("won", "win", "winner"))
    if len(found) != 1 or is_said or elements.span(*found[0])[0] != 1:
        return ""
    return " ".join(label_words(found[0][1]))


def with_places(text: str, column: str) -> str:
    """Return a question about who won, or came second, as one about a column: *who had place 2 in*."""

    def nth(match: re.Match[str]) -> str:
        return f"who had {column} {_NUMBERS[match['nth'].casefold()]} in "

    text = re.sub(
        rf"\bwho (?:has |have )?(?:won|wins) {_IN}{_NO_MOST}(?=\w)", f"who had {column} 1 in ", text, flags=re.I
    )
    came = "(?:came|finished|placed|ranked|ended up)(?: in)?"
    text = re.sub(rf"\bwho {came} (?P<nth>{_NTH})(?: place)? (?:in|at|on) ", nth, text, flags=re.I)
    text = re.sub(
        rf"\b(?P<aux>has|did) {_NAME} (?:ever )?(?:won|win) {_IN}{_NO_MOST}(?=\w)",
        rf"did \g<name> have {column} 1 in ",
        text,
    )
    text = re.sub(
        rf"\bhow many (?P<what>\w+) (?:has|have|did) {_NAME} (?:won|win)\b",
        rf"how many \g<what> has \g<name> had {column} 1 in",
        text,
    )
    where = rf"\bwhere did {_NAME} (?:finish|come|place|rank) (?P<where>in|at) "
    return re.sub(where, rf"what was the {column} of \g<name> \g<where> ", text)
