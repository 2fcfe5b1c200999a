"""Makes a dataset: the five stages one after the other, each with a table of its own, then the files."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kbkit import __version__
from kbkit.benchmarks import stages
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.leaks import leaks
from kbkit.benchmarks.quest import documents, files, label, paraphrase, validate
from kbkit.benchmarks.quest.draft import EVIDENCE, Draft, Settings
from kbkit.benchmarks.quest.grammar import grammar
from kbkit.benchmarks.quest.label import Asked, Label
from kbkit.benchmarks.quest.parse import Parser
from kbkit.benchmarks.stages import Row, Stage
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.measures.records import content

__all__ = ["Made", "Settings", "make"]

Progress = Callable[[str, int, int], None]
Group = tuple[str, str]
PROMPTS = (paraphrase.PROMPT, validate.PROMPT, label.PROMPT)
_LEAK = "the query names its answer"
_UNCLEAR = "every wording can be read in another way"


@dataclass
class Made:
    """What was made: ``records`` as the files hold them, ``report`` the counts."""

    out: Path
    records: list[Row]
    report: dict[str, Any]


def make(
    kb: KnowledgeBase,
    out: Path,
    settings: Settings,
    calls: Calls | None = None,
    progress: Progress | None = None,
    *,
    replace: bool = False,
) -> Made:
    """Make a dataset in the folder ``out``, by models where there are ``calls``. The same settings give the same bytes.
    With ``replace``, from the beginning, and over a dataset that is there already.

    Raises :class:`KbError` for a domain without texts, where too few queries meet the constraints, nothing is left, or
    the folder holds a dataset that something else made; :class:`LockedError` while another run writes there.
    """
    documents.check(kb, settings.domains, settings.without, texts=settings.texts)
    run = _Run(kb, out, settings, calls, progress or (lambda *_: None))
    if not replace:
        stages.refuse_foreign(out, files.OWN)
    with stages.locked(out):
        if replace:
            run.draft.draw()  # before anything is removed
            stages.remove(out)
        return _made(run)


def _made(run: _Run) -> Made:
    """All stages, then the files."""
    kb, out, settings, calls = run.kb, run.out, run.settings, run.calls
    kept, seen = _filled(run, run.drawn)
    if not kept:
        reasons = ", ".join(f"{count} because {why}" for why, count in _dropped(seen).items())
        raise KbError(f"no query is left of {len(seen)}: {reasons}", f"{out / 'stages'} has each")
    records = files.records(kept, settings.domains)
    frame = documents.titles(kb, settings.domains)
    report = _report(run, records, seen)
    about = {"made_by": f"kbkit {__version__}", "kb": kb.schema.name, **settings.about()}
    about |= {"templates": [s.template for s in grammar().shapes], "models": list(calls.models) if calls else []}
    report["documents"] = {
        "count": frame.height,
        "without text": documents.write(kb, frame, out / files.DOCUMENTS, settings.without),
    }
    files.write(out, records, {**about, "split": files.SHARES, "report": report})
    return Made(out, records, report)


@dataclass
class _Run:
    """What all stages share."""

    kb: KnowledgeBase
    out: Path
    settings: Settings
    calls: Calls | None
    progress: Progress

    def stage(self, name: str) -> Stage:
        """A stage's table."""
        return Stage(self.out, name, self.about)

    @cached_property
    def about(self) -> dict[str, Any]:
        """All that the rows of the stages depend on."""
        manifest = self.kb.manifest
        models = (
            {"models": list(self.calls.models), "prompts": {p: self.calls.prompt(p).digest for p in PROMPTS}}
            if self.calls
            else {}
        )
        return {
            "made_by": f"kbkit {__version__}",
            "kb": self.kb.schema.name,
            "generation": manifest.generation,
            "created": manifest.created,
            **self.settings.about(),
            "file_digests": [hashlib.sha256(content(path)).hexdigest()[:12] for path in self.settings.files],
            **models,
        }

    @cached_property
    def draft(self) -> Draft:
        return Draft(self.kb, self.settings)

    @cached_property
    def drawn(self) -> list[Row]:
        """The queries, with a reserve."""
        table = self.stage("2_queries")
        self.progress("queries", 0, 1)
        if not table.path.exists():
            self.draft.draw()  # before anything is written: where there are too few, the next try has other settings
        assert self.categories
        assert self.families
        assert self.shapes
        rows = table.once(self.draft.queries)
        self.progress("queries", 1, 1)
        return rows

    @cached_property
    def categories(self) -> list[Row]:
        return self.stage("1_categories").once(self.draft.categories)

    @cached_property
    def families(self) -> list[Row]:
        return self.stage("1_families").once(self.draft.families)

    @cached_property
    def shapes(self) -> list[Row]:
        return self.stage("2_shapes").once(self.draft.shapes)

    @cached_property
    def parsers(self) -> dict[str, Parser]:
        """What reads queries back, by domain."""
        phrases: dict[str, dict[str, str]] = defaultdict(dict)
        for row in self.categories:
            phrases[row["domain"]][row["phrase"]] = row["expression"]
        return {domain: Parser(known) for domain, known in phrases.items()}

    @cached_property
    def matcher(self) -> Matcher:
        return Matcher(self.kb)


def _filled(run: _Run, drawn: Sequence[Row]) -> tuple[dict[Group, list[Row]], list[Row]]:
    """The queries of each domain and shape that pass all stages, and all that were looked at: as many as are wanted,
    those that fall out replaced from the reserve.
    """
    reserve: dict[Group, list[Row]] = defaultdict(list)
    for row in drawn:
        reserve[row["domain"], row["template"]].append(row)
    wanted = {(row["domain"], row["template"]): row["asked"] for row in run.shapes}
    kept: dict[Group, list[Row]] = {group: [] for group in wanted}
    seen: list[Row] = []
    while True:
        batch = []
        for group, rows in reserve.items():
            missing = wanted[group] - len(kept[group])
            batch += rows[:missing]
            reserve[group] = rows[missing:]
        if not batch:
            return {group: rows for group, rows in kept.items() if rows}, seen
        for name, work in (("3_paraphrases", _paraphrased), ("4_validated", _validated), ("5_labels", _labelled)):
            batch = _through(run, name, work, batch)
        seen += batch
        for row in batch:
            if "dropped" not in row:
                kept[row["domain"], row["template"]].append(row)


def _through(run: _Run, name: str, work: Callable[[_Run, list[Row]], list[Row]], rows: list[Row]) -> list[Row]:
    """One stage over the rows that are not dropped yet; a row keeps what earlier stages said of it."""
    going = [row for row in rows if "dropped" not in row]
    found = run.stage(name).run(
        going,
        lambda part: [{"id": r["id"], **w} for r, w in zip(part, work(run, part), strict=True)],
        progress=lambda done, total: run.progress(name[2:], done, total),
    )
    after = {row["id"]: row for row in found}
    return [{**row, **after.get(row["id"], {})} for row in rows]


# -- stage 3 ----------------------------------------------------------------------------------------------------------


def _paraphrased(run: _Run, rows: list[Row]) -> list[Row]:
    """The words of each query, unless they give an answer away."""
    said = paraphrase.by_model(run.calls, rows) if run.calls else [(_worded(run, row), "") for row in rows]
    result: list[Row] = []
    for row, (query, problem) in zip(rows, said, strict=True):
        if not query:
            result.append({"dropped": f"the model's paraphrase is unfit: {problem}" if problem else _UNCLEAR})
        elif leaks(query, [answer["name"] for answer in row["answers"]]):
            result.append({"query": query, "dropped": _LEAK})
        else:
            result.append({"query": query})
    return result


def _worded(run: _Run, row: Row) -> str:
    rng = random.Random(f"{run.settings.seed} {row['id']}")  # noqa: S311
    shape = grammar().shape(row["template"])
    return paraphrase.by_grammar(shape, row["phrases"], run.parsers[row["domain"]], rng)


# -- stage 4 ----------------------------------------------------------------------------------------------------------


def _validated(run: _Run, rows: list[Row]) -> list[Row]:
    """The votes on each; without a model there are none."""
    if not run.calls:
        return [{question: [] for question in validate.QUESTIONS} for _ in rows]
    result: list[Row] = []
    for votes in validate.votes(run.calls, rows):
        failed = validate.failed(votes)
        result.append({**votes, **({"dropped": f"it was voted down for {failed}"} if failed else {})})
    return result


# -- stage 5 ----------------------------------------------------------------------------------------------------------


def _labelled(run: _Run, rows: list[Row]) -> list[Row]:
    """The answers that stay, with their labels, and those that are removed."""
    if not run.settings.texts:
        return [{"labelled": row["answers"], "removed": []} for row in rows]
    texts = documents.passages(run.kb, {a["id"] for row in rows for a in row["answers"]}, run.settings.without)
    asked = [_asked(row, answer, texts) for row in rows for answer in row["answers"]]
    strict = run.settings.require != EVIDENCE[0]
    labels = iter(
        label.by_model(run.calls, asked) if run.calls else label.by_matching(run.matcher, asked, strict=strict)
    )
    result: list[Row] = []
    for row in rows:
        found: Row = {"labelled": [], "removed": []}
        for answer in row["answers"]:
            given = next(labels)
            why = _unfit(given, run.settings.require)
            shown = {**answer, **{k: v for k, v in given._asdict().items() if v or k == "rating"}}
            found["removed" if why else "labelled"].append({**shown, **({"why": why} if why else {})})
        if len(found["labelled"]) < run.settings.min_answers:
            found["dropped"] = "too few of its answers are relevant"
        result.append(found)
    return result


def _asked(row: Row, answer: Row, texts: Mapping[int, Any]) -> Asked:
    """What is asked of one answer's document: all phrases that hold for it, and the one that is excluded."""
    named = list(zip("ABC", row["phrases"], row["names"], strict=False))
    last = named[-1][0] if "not" in row["template"].split() else ""
    positive = tuple((phrase, name) for letter, phrase, name in named if letter in answer["holds"])
    negative = tuple((phrase, name) for letter, phrase, name in named if letter == last)
    return Asked(row["query"], texts[answer["id"]], positive, negative)


def _unfit(given: Label, require: str) -> str:
    """Why an answer is removed."""
    if given.problem:
        return "the model's label is unfit"
    if given.rating < label.RELEVANT:
        return f"rated {given.rating}"
    return "" if EVIDENCE.index(given.evidence) >= EVIDENCE.index(require) else f"evidence: {given.evidence}"


# -- what was done ----------------------------------------------------------------------------------------------------


def _dropped(seen: Sequence[Row]) -> dict[str, int]:
    reasons = (str(row["dropped"]).split(": ")[0] for row in seen if "dropped" in row)
    return dict(Counter(reasons).most_common())


def _report(run: _Run, records: Sequence[Row], seen: Sequence[Row]) -> dict[str, Any]:
    made = Counter((r["metadata"]["domain"], r["metadata"]["template"]) for r in records)
    shapes = [
        {**{k: v for k, v in row.items() if k != "id"}, "made": made[row["domain"], row["template"]]}
        for row in run.shapes
    ]
    ratings = [e for r in records for found in r["metadata"]["evidence_ratings"].values() for e in found]
    removed = Counter(answer["why"] for row in seen for answer in row.get("removed", ()))
    return {
        "queries": len(records),
        "splits": dict(Counter(record["split"] for record in records)),
        "families": [{k: v for k, v in row.items() if k != "id"} for row in run.families],
        "shapes": shapes,
        "dropped": _dropped(seen),
        "answers": sum(len(record["docs"]) for record in records),
        "answers removed": dict(removed.most_common()),
        "evidence": {name: ratings.count(name) for name in reversed(EVIDENCE)} if ratings else {},
        "quotes that are not in the document": sum(
            answer.get("lost", 0) for row in seen for kind in ("labelled", "removed") for answer in row.get(kind, ())
        ),
    }
