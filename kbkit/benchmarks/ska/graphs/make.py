"""Instances of the forms kg and kg+text, from questions with answer expressions.

Positive units are all derivations of all answers, and both proofs of the candidates that the question excludes; with
texts also the passages that show the answers' phrases. Noise is the rest of the subgraph around the named nodes, the
answers and the near misses: nodes that meet a part of the question. Each instance is checked by running its query on
its units (:mod:`kbkit.benchmarks.ska.statements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kbkit.answers.templates import Template
from kbkit.benchmarks.duplicates import distinct, mould_of
from kbkit.benchmarks.left_out import REASON
from kbkit.benchmarks.pipeline import listed
from kbkit.benchmarks.requirements.phrases import is_list_field
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs import questions
from kbkit.benchmarks.ska.graphs.questions import GraphQuestion
from kbkit.benchmarks.ska.graphs.units import Drafts, GraphDraft
from kbkit.benchmarks.ska.instances import TRIPLE, Instance, Provenance, numbered, without_words
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance
from kbkit.english.relations import unworded
from kbkit.errors import KbError, Option
from kbkit.kb import KnowledgeBase

NOISE_UNITS = 2_200
"""Triples of the noise, or triples and passages: what 24k tokens need."""
MAX_POSITIVE = 40
_MIN_TRIPLES = 200
"""Least number of triples of an instance with texts (section 3.2.1 of the paper)."""
_MIN_UNITS = 2 * _MIN_TRIPLES
"""Least size of the noise with texts, for as many triples."""
_SPARE = {False: (4.0, 10), True: (12.0, 150)}
"""Questions drawn for each instance, and some more, so that the numbers of positive units can be chosen; few have
a text that says what those of other nodes say too."""
_SIZES = {False: (0.05, 0.27, 0.24, 0.16, 0.28), True: (0.0, 0.2, 0.26, 0.24, 0.3)}
"""Shares of instances with 1, 2, 3, 4 and more positive units, without and with texts; means as in Table 1."""


def make(
    kb: KnowledgeBase,
    gathering: Gathering,
    *,
    text: bool = False,
    noise_units: int = NOISE_UNITS,
    max_positive: int = MAX_POSITIVE,
    files: Sequence[Path] = (),
    templates: Callable[[], Sequence[Template]] | None = None,
) -> list[Instance]:
    """Return instances of the form kg, or with ``text`` kg+text; equal arguments give equal instances.

    ``noise_units`` is the greatest size of the noise (with texts at least 400), ``max_positive`` that of the positive
    units. ``files`` are datasets of ``stark make`` and ``quest make`` whose questions are used instead of new ones.
    ``templates`` is a function to use instead of :func:`questions.templates`.
    Raises :class:`KbError` if the KB has no texts for kg+text, if no template fits, or if no instance is left.
    """
    form = "kg+text" if text else "kg"
    if text and not any(field.texts and not is_list_field(field.name) for field in kb.schema.text_fields):
        why = "has no texts but lists" if any(field.texts for field in kb.schema.text_fields) else "has no texts"
        raise KbError(f"{kb.directory.path} {why}, so there are no instances of the form kg+text", "Use form kg")
    if files:
        drawn = [question for path in files for question in questions.read_graph_questions(path)]
    else:
        unclear = unworded(kb.schema)
        gathering.left_out.update({f"relation {name}, whose label has {why}": 1 for name, why in unclear.items()})
        known = templates() if templates else questions.templates(kb, gathering.seed, text=text)
        share, more = _SPARE[text]
        number = int(gathering.count * share) + more
        drawn = questions.draw(kb, number, gathering.seed, known, text=text)
        if not drawn:
            hint = ("Use ", Option("form"), " for other forms")
            raise KbError(f"No question of the form {form} has answers of which the KB is sure to hold all", *hint)
    drafts = Drafts(kb, text=text)
    ordered = _ordered(_drafted(drafts, drawn, max_positive, gathering, form), _SIZES[text])
    ordered = ordered if files else _varied(ordered, gathering.left_out)
    size = max(noise_units, _MIN_UNITS) if text else noise_units
    with Solver() as solver:

        def outcome(draft: GraphDraft) -> Instance | str:
            def made() -> Instance | str:
                return _instance(kb, drafts, draft, form, size, gathering, solver)

            names = [*draft.named, *map(str.casefold, draft.question.phrases)]
            return made() if files else gathering.unlike(_mould(draft), names, made, on_text=text)

        instances = gathering.gather(f"noise of {form}", ordered, outcome)
    if not instances:
        why = listed(dict(gathering.left_out.most_common(5)))
        raise KbError(f"None of the {len(drawn)} questions gives an instance of the form {form}: {why}")
    return [replace(one, id=f"{kb.schema.name}-{form}-{number}") for number, one in enumerate(instances)]


def _drafted(
    drafts: Drafts, drawn: Sequence[GraphQuestion], max_positive: int, gathering: Gathering, form: str
) -> list[GraphDraft]:
    """Return the drafts of questions, one of each meaning."""
    known: dict[Hashable, GraphDraft] = {}
    for number, question in enumerate(drawn):
        gathering.progress(f"positive units of {form}", number, len(drawn))
        draft = drafts.draft(question, max_positive)
        if isinstance(draft, str):
            gathering.left_out[draft] += 1
        elif draft.meaning in known:
            gathering.left_out["another question has its meaning"] += 1
        else:
            known[draft.meaning] = draft
    return list(known.values())


def _ordered(drafts: Sequence[GraphDraft], shares: Sequence[float]) -> list[GraphDraft]:
    """Return drafts in the order in which they are used, so that the numbers of positive units have their shares."""
    groups: list[list[GraphDraft]] = [[] for _ in shares]
    for draft in drafts:
        groups[min(draft.size, len(shares)) - 1].append(draft)
    groups = [_alternating(group) for group in groups]
    placed = [
        ((at + 0.5) / share if share else float("inf"), number, at, draft)
        for number, (group, share) in enumerate(zip(groups, shares, strict=True))
        for at, draft in enumerate(group)
    ]
    return [draft for *_, draft in sorted(placed, key=lambda entry: entry[:3])]


def _mould(draft: GraphDraft) -> tuple[str, int]:
    return mould_of(draft.question.expression), len(draft.question.phrases)


def _alternating(drafts: Sequence[GraphDraft]) -> list[GraphDraft]:
    """Return drafts so that their moulds alternate, rare ones too."""
    seen: Counter[tuple[str, int]] = Counter()
    turns = []
    for draft in drafts:
        turns.append(seen[_mould(draft)])
        seen[_mould(draft)] += 1
    return [drafts[at] for at in np.argsort(turns, kind="stable").tolist()]


def _varied(drafts: Sequence[GraphDraft], left_out: Counter[str]) -> list[GraphDraft]:
    """Return the drafts without near duplicates."""
    kept = distinct([(draft.named, draft.answers.tolist()) for draft in drafts])
    if len(kept) < len(drafts):
        left_out["another question asks almost the same"] += len(drafts) - len(kept)
    return [drafts[at] for at in kept]


def _instance(
    kb: KnowledgeBase, drafts: Drafts, draft: GraphDraft, form: str, size: int, gathering: Gathering, solver: Solver
) -> Instance | str:
    """Return an instance whose statements hold, with up to ``size`` units of noise, or why there is none."""
    rng = np.random.default_rng((gathering.seed, *draft.question.id.encode()))
    units = drafts.units(draft, size, rng)
    if isinstance(units, str):
        return units
    positive, noise, answers = units
    if form == "kg+text" and sum(unit.kind == TRIPLE for unit in (*positive, *noise)) < _MIN_TRIPLES:
        return f"the subgraph has fewer than {_MIN_TRIPLES} triples"
    order = rng.permutation(len(positive)).tolist()
    candidate = Instance(
        "",
        form,
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
    instance = without_words(candidate, gathering.words)
    if instance is None:
        return REASON
    failed = check_instance(instance, solver)
    return failed[0] if failed else instance
