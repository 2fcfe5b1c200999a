"""Instances of the forms kg and kg+text, from questions with answer expressions.

Positive units are all derivations of all answers, and both proofs of the candidates that the question excludes; with
texts also the passages that show the answers' phrases. Noise is the rest of the subgraph around the named nodes, the
answers and the near misses: nodes that meet a part of the question. Each instance is checked by running its query on
its units (:mod:`kbkit.benchmarks.ska.statements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kbkit.answers.templates import Template
from kbkit.benchmarks.duplicates import distinct
from kbkit.benchmarks.left_out import REASON, LeftOutWords
from kbkit.benchmarks.pipeline import Progress
from kbkit.benchmarks.ska.graphs import questions
from kbkit.benchmarks.ska.graphs.questions import GraphQuestion
from kbkit.benchmarks.ska.graphs.units import Drafts, GraphDraft
from kbkit.benchmarks.ska.instances import TRIPLE, Instance, Provenance, numbered, without_words
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance
from kbkit.english.relations import unworded
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase

NOISE_UNITS = 2_200
"""Triples of the noise, or triples and passages: what 24k tokens need."""
MAX_POSITIVE = 40
_MIN_TRIPLES = 200
"""Least number of triples of an instance with texts (section 3.2.1 of the paper)."""
_MIN_UNITS = 2 * _MIN_TRIPLES
"""Least size of the noise with texts, for as many triples."""
_SPARE = {False: 2.5, True: 8.0}
"""Questions drawn for each instance, so that the numbers of positive units can be chosen."""
_SIZES = {False: (0.05, 0.27, 0.24, 0.16, 0.28), True: (0.0, 0.2, 0.26, 0.24, 0.3)}
"""Shares of instances with 1, 2, 3, 4 and more positive units, without and with texts; means as in Table 1."""


@dataclass(frozen=True)
class _Settings:
    count: int
    seed: int
    text: bool
    noise_units: int
    max_positive: int
    files: tuple[Path, ...]
    words: LeftOutWords


def make(
    kb: KnowledgeBase,
    count: int,
    seed: int = 0,
    *,
    text: bool = False,
    noise_units: int = NOISE_UNITS,
    max_positive: int = MAX_POSITIVE,
    files: Sequence[Path] = (),
    progress: Progress = lambda *_: None,
    left_out: Counter[str] | None = None,
    words: LeftOutWords | None = None,
    templates: Callable[[], Sequence[Template]] | None = None,
) -> list[Instance]:
    """Return up to ``count`` instances of the form kg, or with ``text`` kg+text; equal arguments give equal instances.

    ``noise_units`` is the greatest size of the noise (with texts at least 400), ``max_positive`` that of the positive
    units. ``files`` are datasets of ``stark make`` and ``quest make`` whose questions are used instead of new ones.
    ``left_out`` counts the reasons for which questions were left out. No text has one of ``words``. ``templates``
    is a function to use instead of :func:`questions.templates`, such as a cached one.
    Raises :class:`KbError` if the KB has no texts for kg+text, if no template fits, or if no instance is left.
    """
    if text:
        noise_units = max(noise_units, _MIN_UNITS)
    settings = _Settings(count, seed, text, noise_units, max_positive, tuple(files), words or LeftOutWords())
    reasons: Counter[str] = Counter() if left_out is None else left_out
    form = "kg+text" if settings.text else "kg"
    if settings.text and not any(field.texts for field in kb.schema.text_fields):
        raise KbError(f"{kb.directory.path} has no texts, so there are no instances of the form kg+text", "Use form kg")
    if not settings.files:
        reasons.update({f"relation {name}, whose label has {why}": 1 for name, why in unworded(kb.schema).items()})
    drawn = _drawn(kb, settings, templates)
    drafts = Drafts(kb, text=settings.text)
    known: list[GraphDraft] = []
    meanings: set[Hashable] = set()
    for number, question in enumerate(drawn):
        progress(f"positive units of {form}", number, len(drawn))
        draft, reason = drafts.draft(question, settings.max_positive)
        if draft is not None and draft.meaning in meanings:
            reasons["another question has its meaning"] += 1
        elif draft is not None:
            meanings.add(draft.meaning)
            known.append(draft)
        else:
            reasons[reason] += 1
    instances: list[Instance] = []
    with Solver() as solver:
        for draft in _varied(_ordered(known, settings), settings, reasons):
            if len(instances) == settings.count:
                break
            progress(f"noise of {form}", len(instances), settings.count)
            instance, reason = _instance(kb, drafts, draft, settings, solver)
            if instance is not None:
                instances.append(replace(instance, id=f"{kb.schema.name}-{form}-{len(instances)}"))
            else:
                reasons[reason] += 1
    progress(f"noise of {form}", settings.count, settings.count)
    if not instances:
        why = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common(5)) or "no question was drawn"
        raise KbError(f"None of the {len(drawn)} questions gives an instance of the form {form}: {why}")
    return instances


def _drawn(
    kb: KnowledgeBase, settings: _Settings, templates: Callable[[], Sequence[Template]] | None
) -> list[GraphQuestion]:
    if settings.files:
        return [question for path in settings.files for question in questions.read_graph_questions(path)]
    known = templates() if templates else questions.templates(kb, settings.seed)
    count = int(settings.count * _SPARE[settings.text]) + 5
    return questions.draw(kb, count, settings.seed, known, text=settings.text)


def _ordered(drafts: Sequence[GraphDraft], settings: _Settings) -> list[GraphDraft]:
    """Return drafts in the order in which they are used, so that the numbers of positive units have their shares."""
    shares = _SIZES[settings.text]
    groups: list[list[GraphDraft]] = [[] for _ in shares]
    for draft in drafts:
        groups[min(draft.size, len(shares)) - 1].append(draft)
    placed = [
        ((at + 0.5) / share if share else float("inf"), number, at, draft)
        for number, (group, share) in enumerate(zip(groups, shares, strict=True))
        for at, draft in enumerate(group)
    ]
    return [draft for *_, draft in sorted(placed, key=lambda entry: entry[:3])]


def _varied(drafts: Sequence[GraphDraft], settings: _Settings, reasons: Counter[str]) -> Sequence[GraphDraft]:
    """Return the drafts without near duplicates; all drafts if the user gave the questions."""
    if settings.files:
        return drafts
    kept = distinct([(draft.named, draft.answers.tolist()) for draft in drafts])
    if len(kept) < len(drafts):
        reasons["another question asks almost the same"] += len(drafts) - len(kept)
    return [drafts[at] for at in kept]


def _instance(
    kb: KnowledgeBase, drafts: Drafts, draft: GraphDraft, settings: _Settings, solver: Solver
) -> tuple[Instance | None, str]:
    """Return an instance whose statements hold, or why there is none."""
    rng = np.random.default_rng((settings.seed, *draft.question.id.encode()))
    units = drafts.units(draft, settings.noise_units, rng)
    if isinstance(units, str):
        return None, units
    positive, noise, answers = units
    if settings.text and sum(unit.kind == TRIPLE for unit in (*positive, *noise)) < _MIN_TRIPLES:
        return None, f"the subgraph has fewer than {_MIN_TRIPLES} triples"
    order = rng.permutation(len(positive)).tolist()
    candidate = Instance(
        "",
        "kg+text" if settings.text else "kg",
        draft.question.text,
        answers,
        numbered([positive[at] for at in order], "p"),
        numbered(noise, "n"),
        Provenance(
            draft.question.dataset,
            draft.question.id,
            kb.schema.name,
            evidence="derivations",
            expression=draft.question.expression,
            sql=draft.sql,
            topics=draft.topics,
            phrases=list(draft.question.phrases),
            asked=draft.plan.root.type or "",
        ),
    )
    instance = without_words(candidate, settings.words)
    if instance is None:
        return None, REASON
    failed = check_instance(instance, solver)
    return (instance, "") if not failed else (None, failed[0])
