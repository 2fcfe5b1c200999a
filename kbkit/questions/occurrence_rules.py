"""The rules that read whether something ever happened: *did Ann ever use a code*, *did anyone drop out*."""

from __future__ import annotations

import re

from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.words import may_be_verb
from kbkit.questions.boolean_rules import is_boolean
from kbkit.questions.clauses import L, Restriction, Rewriter, V, is_type

_HAVING = frozenset(("have", "has", "had", "got", "get"))


def occurrences(at: Rewriter) -> None:
    """Read the columns that a question of yes or no says to be filled, or to say yes."""
    if not at.clauses.is_yes_no:
        return

    def filled(match: re.Match[str]) -> str | None:
        verb, label = match["verb"], at.link(match["label"])
        if label is None or is_type(label) or is_boolean(label) or label.labels[0].attribute in ("name", "key"):
            return None
        if verb not in _HAVING and (verb in FUNCTION_WORDS or not may_be_verb(verb)):
            return None
        return f"{match['value']} {at.restrict(Restriction(label, 'missing', (), negated=True))}"

    at.apply(rf"(?P<value>{V}(?: {L})?) (?:ever )?(?P<verb>[a-z]+) (?:a|an|any) (?P<label>{L})(?= $)", filled)

    def said(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        return f"did {at.restrict(Restriction(label, 'holds'))}" if is_boolean(label) else None

    at.apply(rf"(?<=^ )(?:did|has|have) (?P<label>{L})(?: (?:out|up|off|in|away))?", said)
