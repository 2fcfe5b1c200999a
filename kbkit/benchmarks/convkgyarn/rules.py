"""The rules of templates, for those that a model wrote and those that a person edited."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kbkit.benchmarks.convkgyarn.templates import FORMS, VARIANTS, ConvTemplate, placeholder
from kbkit.errors import BadInputError

QUESTION_WORDS = ("who", "whom", "what", "when", "which", "how")
"""Words with which no search query starts (Figure 4 of the paper)."""
_PRONOUNS = ("[they]", "[them]", "[their]")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_DEICTIC = re.compile(
    r"(?i)\b(?:it|its|this|that|these|those|they|them|their|theirs|he|him|his|she|her|hers|there|here|one)\b"
)
_PERSONAL = re.compile(r"(?i)\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers)\b(?!-)")
_HINT = "Correct the line, or delete the file to recompute the stage"


def problem(template: ConvTemplate, label: str = "") -> str:
    """Return what is wrong with a template, or ""; ``label`` has the words of its predicate, which refer to nothing."""
    return _of_placeholders(template, label) or (
        _of_query(template.text) if template.interaction == "text" else _of_question(template)
    )


def _of_placeholders(template: ConvTemplate, label: str) -> str:
    text, slot = template.text, placeholder(template.type)
    if not text.strip() or "\n" in text or re.search(r"[\[\]]", _BRACKETS.sub("", text)):
        return "unbalanced brackets" if text.strip() and "\n" not in text else "the text is empty or has several lines"
    points = "deixis" in template.form
    counts = Counter(f"[{inner}]" for inner in _BRACKETS.findall(text))
    own = {slot, "[object]", "[qualifier]", *(_PRONOUNS if points else ())}
    unknown = [name for name in counts if name not in own and not re.search(r"[~+/]", name)]
    if unknown:
        return f"unknown placeholder {unknown[0]}; the subject is {slot}"
    if counts[slot] != (0 if points else 1):
        return f"{slot} must not occur, as a deictic word takes its place" if points else f"{slot} must occur once"
    if template.form != "follow_up":
        for name in ("object", "qualifier"):
            wanted = int(template.given == name)
            if counts[f"[{name}]"] != wanted:
                return f"[{name}] must occur once" if wanted else f"[{name}] must not occur"
    said = _BRACKETS.sub(lambda m: " " if f"[{m[1]}]" in (slot, "[object]", "[qualifier]") else m[1], text)
    if points:
        return "" if _DEICTIC.search(said) else "no deictic word such as it, this or they"
    own = {word.casefold() for word in re.findall(r"\w+", label)}  # an attribute size_it
    words = [] if template.related else [word for word in _PERSONAL.findall(said) if word.casefold() not in own]
    return f"{words[0]!r} refers to the history, which this form does not need" if words else ""


def _of_query(text: str) -> str:
    plain = _BRACKETS.sub("", text)
    if plain != plain.lower():
        return "a search query is in lower case"
    first = re.match(r"\W*(\w+)", text)
    if first and first[1] in QUESTION_WORDS:
        return f"a search query does not start with {first[1]!r}"
    return ""


def _of_question(template: ConvTemplate) -> str:
    if not template.text.rstrip().endswith(("?", ".")):
        return "a question ends in a question mark or a full stop"
    return ""


def expected(related: bool) -> list[tuple[bool, str, str, int]]:
    """Return related, interaction, form and variant of the 24 or 54 templates of a fact."""
    forms = [(False, *form) for form in FORMS]
    if related:
        forms += [(True, *form) for form in FORMS] + [(True, "voice", "follow_up"), (True, "text", "follow_up")]
    return [(*form, number) for form in forms for number in range(1, VARIANTS + 1)]


def check_rules(
    path: Path,
    templates: Sequence[ConvTemplate],
    related: Iterable[str],
    labels: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Check the templates of a table that a person may have edited; ``labels`` are the words of (type, predicate).

    Raises :class:`BadInputError` with file, line and what is wrong: a rule that is broken, or a missing template.
    """
    for template in templates:
        label = (labels or {}).get((template.type, template.predicate), "")
        if not template.dropped and (wrong := problem(template, label)):
            raise BadInputError(f"Invalid template in {path}, line {_line(path, template.id)}: {wrong}", _HINT)
    types = set(related)
    sets: dict[tuple[str, str, str], list[ConvTemplate]] = {}
    for template in templates:
        if not template.dropped:
            sets.setdefault((template.type, template.predicate, template.asks), []).append(template)
    for rows in sets.values():
        known = {(row.related, row.interaction, row.form, row.variant) for row in rows}
        if len({row.given for row in rows}) > 1:
            line = _line(path, rows[-1].id)
            raise BadInputError(f"Invalid template in {path}, line {line}: given differs from that of others", _HINT)
        for is_related, interaction, form, variant in expected(rows[0].type in types):
            if (is_related, interaction, form, variant) not in known:
                name = f"{'related ' * is_related}{interaction} {form} {variant}"
                where = f"{path}, near line {_line(path, rows[0].id)}"
                raise BadInputError(f"Missing template {name} of {rows[0].type}.{rows[0].predicate} in {where}", _HINT)


def _line(path: Path, name: str) -> int:
    """Return the last line of a table with a row of this id."""
    wanted = json.dumps(name, ensure_ascii=False)
    lines = path.read_text(encoding="utf-8").split("\n")
    return max((n for n, line in enumerate(lines, 1) if f'"id": {wanted}' in line), default=1)
