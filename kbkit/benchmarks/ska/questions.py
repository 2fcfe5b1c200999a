"""Questions from answer expressions: drawn and worded as STaRK's are, or read from the files of a dataset.

There are three kinds without texts: relations alone, relations with an exclusion (*and do not flow into the Black
Sea*), and relations with a condition on an attribute (*with a height of at least 5,000 m*). Questions for texts also
require a phrase that the texts of the answers mention.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kbkit.answers import syntax
from kbkit.answers.noun_phrases import noun_phrase
from kbkit.answers.parse import parse
from kbkit.answers.templates import Template
from kbkit.benchmarks.dataset import QUERIES
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.stark import relational
from kbkit.benchmarks.stark.answer_counts import Target
from kbkit.benchmarks.stark.fuse import Wording
from kbkit.benchmarks.stark.relational import Grounding
from kbkit.benchmarks.stark.requirements import Chooser
from kbkit.benchmarks.stark.settings import StarkSettings, complete_settings
from kbkit.benchmarks.stark.stages import Run
from kbkit.benchmarks.stark.textual import READER, Requirement
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures.records import JsonRecord, content, records

ANSWERS = {False: Target(0.5, 1.96), True: Target(0.5, 1.86)}
"""Numbers of answers without and with texts: the means of Table 1 of the paper."""
_CANDIDATES = {False: (1, 8), True: (2, 50)}
"""Least and greatest number of nodes that satisfy the relations."""
_CONSIDERED = 300
"""Suggested templates among which pairs of paths are looked for."""
_PAIRS = 12
_EXCLUDED, _LEFT = 3, 8
"""Greatest number of excluded candidates, and of all candidates, of a question with an exclusion."""
_ATTEMPTS = 4
"""Groundings drawn for each question with an exclusion."""
_SHARES = (0.55, 0.2, 0.25)
"""Shares of the questions by relations alone, with exclusions, and with conditions."""


@dataclass(frozen=True)
class Question:
    """A question: its ``text``, the ``expression`` of its answers, and ``phrases`` that their texts mention.

    ``answers`` (``type#key``) are those in the file, if it was read from one.
    """

    id: str
    dataset: str
    text: str
    expression: str
    phrases: tuple[str, ...] = ()
    answers: frozenset[str] = frozenset()


def draw(kb: KnowledgeBase, count: int, seed: int, *, text: bool) -> list[Question]:
    """Return about ``count`` questions, with phrases if ``text``; raise :class:`KbError` if no template fits."""
    templates = relational.templates(kb, (), seed)
    target = ANSWERS[text]
    settings = StarkSettings(
        count, seed, relations_only=0.0 if text else 1.0, target=target, min_candidates=_CANDIDATES[text][0]
    )
    pairs = [] if text else _exclusions(kb, seed)
    known = {template.id: template for template in (*templates, *(template for template, _ in pairs))}
    run = Run(kb, complete_settings(settings, templates), None, Matcher(kb), known)
    if text:
        drawn = relational.draw(kb, templates, target.counts(count, 8), seed, _CANDIDATES[True])
        return _worded(run, [Item(row) for row in drawn], "phrases")
    parts = [max(1, round(share * count)) for share in _SHARES]
    drawn = relational.draw(kb, templates, target.counts(parts[0], 8), seed, _CANDIDATES[False])
    for_conditions = _drawn_for_conditions(kb, templates, target.counts(parts[2], 8), seed + 1)
    groups = [
        _worded(run, [Item(row) for row in drawn], "relations"),
        _worded(run, [Item(row) for row in _grounded(kb, pairs, parts[1], seed)], "exclusions"),
        _worded(run, [Item(row) for row in for_conditions], "conditions"),
    ]
    return _mixed(groups)


def _drawn_for_conditions(
    kb: KnowledgeBase, templates: Sequence[Template], wanted: relational.Ints, seed: int
) -> list[Grounding]:
    """Return groundings of the templates whose answers have attributes; none if there are no such templates."""
    fitting = [template for template in templates if kb.schema.type(template.answer).attributes]
    if not fitting:
        return []
    try:
        return relational.draw(kb, fitting, wanted, seed, _CANDIDATES[True])
    except KbError:  # no grounding has several candidates
        return []


def _mixed(groups: Sequence[Sequence[Question]]) -> list[Question]:
    """Return the questions of all groups, each spread evenly."""
    placed = [
        ((at + 0.5) / len(group), number, one) for number, group in enumerate(groups) for at, one in enumerate(group)
    ]
    return [one for _, _, one in sorted(placed, key=lambda entry: entry[:2])]


# -- exclusions -------------------------------------------------------------------------------------------------------


def _exclusions(kb: KnowledgeBase, seed: int) -> list[tuple[Template, Template]]:
    """Return templates with an exclusion, each with the template whose answers both paths reach."""
    frame = kb.suggest_templates(_CONSIDERED, seed)
    found: list[tuple[Template, Template]] = []
    for name, expression, answer in frame.select("template", "expression", "answer").iter_rows():
        sides = _sides(parse(expression))
        if sides is None:
            continue
        without = str(syntax.combine("-", *sides))
        if noun_phrase(kb.session.resolved(parse(without), without), kb.schema) is not None:
            slots = " ".join(f"<{slot}>" for slot in syntax.slots(sides[0]) + syntax.slots(sides[1]))
            both = Template(f"suggest/{name}", expression, answer, slots)
            found.append((Template(f"suggest/{name}_excluded", without, answer, slots), both))
    turns: dict[str, Iterator[int]] = {}
    found.sort(key=lambda pair: next(turns.setdefault(pair[0].answer, itertools.count())))
    return found[:_PAIRS]


def _sides(tree: syntax.Expression) -> tuple[syntax.Expression, syntax.Expression] | None:
    """Return the two paths of an expression that meet at its answers."""
    if not isinstance(tree, syntax.Path) or "<-" not in tree.arrows or len(tree.elements) != 5:
        return None
    first, step, answer, other, second = tree.elements
    if tree.arrows != ("->", "->", "<-", "<-"):
        return None
    forward = ("->", "->")
    return syntax.Path((first, step, answer), forward), syntax.Path((second, other, answer), forward)


def _grounded(kb: KnowledgeBase, pairs: Sequence[tuple[Template, Template]], count: int, seed: int) -> list[Grounding]:
    """Return groundings of templates with an exclusion that excludes few candidates, and not all."""
    share = -(-_ATTEMPTS * count // max(1, len(pairs)))
    found: list[Grounding] = []
    for template, both in pairs:
        frame = kb.sample(both, share, seed, 1, _EXCLUDED)
        for one in relational.groundings(kb, both, frame):
            expression = syntax.fill(template.tree(), {slot: f"#{node.key}" for slot, node in one.slots.items()})
            candidates = kb.answers(str(expression)).ids.tolist()
            if 0 < len(candidates) <= _LEFT - len(one.candidates):
                found.append(
                    dataclasses.replace(one, template=template.id, expression=str(expression), candidates=candidates)
                )
    found = relational.unambiguous(kb, found)
    order = np.random.default_rng((seed, 1)).permutation(len(found)).tolist()
    return [dataclasses.replace(found[at], id=str(number)) for number, at in enumerate(order[:count])]


# -- wording ----------------------------------------------------------------------------------------------------------


def _worded(run: Run, items: Sequence[Item], kind: str) -> list[Question]:
    """Return the questions of groundings: with a condition, with phrases, or as they are."""
    if kind == "phrases":
        rows = run.textual(items)
    elif kind == "conditions":
        rows = _conditions(run, items)
    else:
        rows = [
            Requirement(i.id, i[Grounding].candidates[0], READER.name, answers=len(i[Grounding].candidates))
            for i in items
        ]
    for item, row in zip(items, rows, strict=True):
        item.add(row)
    kept = [item for item in items if not item.dropped and (item[Requirement].properties or kind in _PLAIN)]
    for item, wording in zip(kept, run.fused(kept), strict=True):
        item.add(wording)
    return [_question(item, kind) for item in kept if not item.dropped]


_PLAIN = ("relations", "exclusions")


def _question(item: Item, kind: str) -> Question:
    properties = item[Requirement].properties
    tests = [one.condition for one in properties if one.condition]
    expression = item[Grounding].expression
    if tests:
        expression = f"({expression}){{{', '.join(tests)}}}"
    phrases = tuple(one.text for one in properties if not one.condition)
    return Question(f"{kind}/{item.id}", "expressions", item[Wording].query, expression, phrases)


def _conditions(run: Run, items: Sequence[Item]) -> list[Requirement]:
    """Return a condition for each grounding; a row without one is dropped."""
    documents = run.documents(node for item in items for node in item[Grounding].candidates)
    chooser = Chooser(run.kb, run.matcher, {n: dataclasses.replace(d, passages=()) for n, d in documents.items()})
    rows = []
    for item in items:
        grounding = item[Grounding]
        gold, properties = chooser.choose(grounding.candidates, (), READER, grounding.wanted, 1, run.rng(2, item))
        count = chooser.count(grounding.candidates, properties)
        dropped = "" if properties else "no telling condition"
        rows.append(Requirement(item.id, gold, READER.name, properties, count, dropped=dropped))
    return rows


# -- files ------------------------------------------------------------------------------------------------------------


def read(path: Path) -> list[Question]:
    """Return the questions of a dataset of ``stark make`` or ``quest make``, by its folder or ``queries.jsonl``.

    Raises :class:`BadInputError` for a record without an expression.
    """
    path = path / QUERIES if path.is_dir() else path
    if not path.exists():
        raise KbError(f"{path} does not exist", "Use the folder of a dataset that kbkit generated")
    return [_of_record(record) for record in records(path, content(path))]


def _of_record(record: JsonRecord) -> Question:
    fields = record.fields
    name, text, expression = (fields.get(field) for field in ("id", "query", "expression"))
    if not isinstance(expression, str) or not isinstance(text, str):
        raise record.error("Missing field 'expression' or 'query'", "Use a dataset that kbkit generated")
    properties = fields.get("properties", [])
    nodes = fields.get("answer_nodes" if "docs" in fields else "answers", [])
    try:
        tests = [one["condition"] for one in properties if one.get("condition")]
        phrases = tuple(str(one["text"]) for one in properties if not one.get("condition"))
        answers = frozenset(f"{one['type']}#{one['key']}" for one in nodes)
    except (AttributeError, KeyError, TypeError):
        raise record.error("Invalid properties or answers") from None
    if tests:
        expression = f"({expression}){{{', '.join(tests)}}}"
    return Question(str(name), "quest" if "docs" in fields else "stark", text, expression, phrases, answers)
