"""Templates of questions about mountains, of which the atlas has only some: a user may ask for them all the same."""

from __future__ import annotations

from kbkit.answers.templates import Template
from kbkit.kb import KnowledgeBase


def of_mountains(kb: KnowledgeBase) -> list[Template]:
    """Return the suggested templates of mountains with one slot."""
    frame = kb.suggest_templates(200, 0)
    rows = frame.select("template", "expression", "answer", "question").iter_rows()
    return [
        Template(f"suggest/{name}", expression, answer, question)
        for name, expression, answer, question in rows
        if answer in ("mountain", "river") and question.count("<") == 1 and "<country>" in question
    ]
