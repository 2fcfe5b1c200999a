"""Makes a dataset: the four stages one after the other, each with a table of its own, then the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kbkit import __version__
from kbkit.answers.sample_sets import WEIGHTS
from kbkit.answers.templates import Template
from kbkit.benchmarks import splits, stages
from kbkit.benchmarks.documents import Document, read, types_with_text
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.leaks import leaks
from kbkit.benchmarks.stages import Row, Stage
from kbkit.benchmarks.stark import fuse, layout, relational, textual, verify
from kbkit.benchmarks.stark.verify import Check
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls
from kbkit.schema import Role

Progress = Callable[[str, int, int], None]

PROMPTS = ("stark_properties", "stark_fuse", "stark_rephrase", "stark_verify")
_STEP, _STEP_WITH_MODEL = 200, 25
"""Rows done at once: with models fewer, because each candidate's document is a call."""
_MOST_PROPERTIES = 20
_SPARE, _SPARE_WITH_MODEL = 1.5, 1.2
"""Groundings drawn for each query wanted: some lead to a query that gives its answer away, or that its gold fails."""


@dataclass(frozen=True)
class Settings:
    """What to make. ``templates`` are as :func:`relational.templates` takes them, ``roles`` replace the KB's own.

    ``properties`` is the most asked of a text (each query has 1 to so many), ``candidates`` the most nodes that the
    relations alone may leave, ``least_candidates`` the fewest, ``answers`` the most that a query may have,
    ``gold_share`` the share of gold answers that each rule's threshold lets pass, ``shares`` those of train, val and
    test (none: the paper's).
    """

    count: int
    seed: int = 0
    templates: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    properties: int = 2
    candidates: int = 50
    least_candidates: int = 2
    answers: int = 20
    weight: str = "uniform"
    gold_share: float = 0.95
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("count", "properties", "least_candidates", "answers"):
            if getattr(self, name) < 1:
                raise KbError(f"{name} is {getattr(self, name)}", "it is 1 or more")
        if self.properties > _MOST_PROPERTIES:
            raise KbError(f"{self.properties} properties", f"at most {_MOST_PROPERTIES} are asked for")
        if self.seed < 0:
            raise KbError(f"the seed is {self.seed}", "it is 0 or more")
        if self.weight not in WEIGHTS:
            raise UnknownNameError("weight", self.weight, WEIGHTS)
        if self.candidates < self.least_candidates:
            raise KbError(f"candidates from {self.least_candidates} to {self.candidates}", "the most is no less")
        if not 0 < self.gold_share <= 1:
            raise KbError(f"the share of golds is {self.gold_share:g}", "it is above 0 and at most 1")
        if self.shares:
            splits.check(self.shares)


@dataclass
class Made:
    """What was made: ``records`` as ``queries.jsonl`` holds them, ``report`` the counts."""

    out: Path
    records: list[Row]
    report: dict[str, Any]


@dataclass
class _Run:
    """What all stages share."""

    kb: KnowledgeBase
    settings: Settings
    calls: Calls | None
    progress: Progress
    matcher: Matcher
    roles: Mapping[str, Role] = field(default_factory=dict)

    @cached_property
    def types_with_text(self) -> set[str]:
        """The types of nodes that have texts."""
        return types_with_text(self.kb)

    def rng(self, stage: int, row: Row) -> np.random.Generator:
        """Random numbers for one row of one stage, whatever was done before it."""
        return np.random.default_rng((self.settings.seed, stage, int(row["id"])))

    def step(self, name: str) -> Callable[[int, int], None]:
        """Tells how far a stage is."""
        return lambda done, total: self.progress(name, done, total)


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
    With ``replace``, from the beginning.

    Raises :class:`KbError` where the KB has no texts, no template fits, or nothing is left.
    """
    if not any(f.texts for f in kb.schema.text_fields):
        raise KbError("this KB has no texts to take properties from", "kbkit sample draws queries on relations alone")
    roles = settings.roles or kb.schema.roles
    run = _Run(kb, settings, calls, progress or (lambda *_: None), Matcher(kb), {r.name: r for r in roles})
    chosen = relational.templates(kb, settings.templates, settings.seed)
    about = _about(run, chosen)
    if not replace:
        stages.refuse_foreign(out, (layout.TABLE, layout.RECORDS))
    with stages.locked(out):
        if replace:
            stages.remove(out)
        return _made(run, out, chosen, about)


def _made(run: _Run, out: Path, chosen: Sequence[Template], about: Mapping[str, Any]) -> Made:
    """Run the stages and write the files."""
    kb, settings = run.kb, run.settings
    # Ids belong to one generation, and so do the tables that hold them.
    fixed = {**about, "generation": kb.manifest.generation, "created": kb.manifest.created}
    wanted = int(settings.count * (_SPARE_WITH_MODEL if run.calls else _SPARE)) + 5
    bounds = (settings.least_candidates, settings.candidates)
    run.progress("relational", 0, 1)
    drawn = Stage(out, "1_relational", fixed).once(
        lambda: relational.draw(kb, chosen, wanted, settings.seed, bounds, settings.weight)
    )
    run.progress("relational", 1, 1)
    rows = _stage(run, Stage(out, "2_textual", fixed), drawn, _textual, "textual")
    rows = _stage(run, Stage(out, "3_fused", fixed), rows, _fused, "fused")
    thresholds = {} if run.calls else _thresholds(run, rows)
    rows = _stage(
        run,
        Stage(out, "4_verified", {**fixed, "thresholds": thresholds}),
        rows,
        lambda r, part: _verified(r, part, thresholds),
        "verified",
    )
    kept = [row for row in rows if "dropped" not in row][: settings.count]
    report = _report(rows, kept, thresholds, settings.count)
    if not kept:
        raise KbError(f"no query is left of {len(rows)}: {_reasons(rows, report)}", f"{out / 'stages'} has each")
    records = [_record(number, row) for number, row in enumerate(kept)]
    shares = settings.shares or layout.shares_of([t.id for t in chosen])
    names = layout.REFERENCE if layout.ambiguous(kb, (a["type"] for r in records for a in r["answers"])) else layout.KEY
    told = {**about, "names": names, "split": list(shares), "report": report}
    layout.write(out, records, shares, settings.seed, told)
    return Made(out, records, report)


def _about(run: _Run, chosen: Sequence[Template]) -> dict[str, Any]:
    """All that the rows of the stages depend on."""
    settings = run.settings
    return {
        "made_by": f"kbkit {__version__}",
        "kb": run.kb.schema.name,
        "queries": settings.count,
        "seed": settings.seed,
        "templates": [
            {"id": t.id, "expression": str(t.tree()), "question": t.question, "exclude_start": t.exclude_start}
            for t in chosen
        ],
        "roles": [asdict(role) for role in run.roles.values()],
        "properties": settings.properties,
        "candidates": [settings.least_candidates, settings.candidates],
        "answers": settings.answers,
        "weight": settings.weight,
        "gold_share": settings.gold_share,
        "models": list(run.calls.models) if run.calls else [],
        "prompts": {name: run.calls.prompt(name).digest for name in PROMPTS} if run.calls else {},
    }


def _stage(
    run: _Run, table: Stage, rows: Sequence[Row], work: Callable[[_Run, list[Row]], list[Row]], name: str
) -> list[Row]:
    """One stage over the rows that are not dropped yet; a row keeps what earlier stages said of it."""
    going = [row for row in rows if "dropped" not in row]
    found = table.run(
        going,
        lambda part: [{"id": r["id"], **w} for r, w in zip(part, work(run, part), strict=True)],
        _STEP_WITH_MODEL if run.calls else _STEP,
        run.step(name),
    )
    after = {row["id"]: row for row in found}
    return [{**row, **after.get(row["id"], {})} for row in rows]


# -- stage 2 ---------------------------------------------------------------------------------------------------------


def _textual(run: _Run, rows: list[Row]) -> list[Row]:
    """The gold answer, the role, and the properties of each."""
    documents = read(run.kb, (node for row in rows for node in row["candidates"]))
    result: list[Row] = []
    waiting: list[tuple[int, Document, Role, int]] = []
    for place, row in enumerate(rows):
        rng = run.rng(2, row)
        candidates = [documents[node] for node in row["candidates"]]
        with_text = [d for d in candidates if d.passages]
        gold = (with_text or candidates)[int(rng.integers(len(with_text or candidates)))]
        role = textual.role_for(list(run.roles.values()), gold.type, rng)
        count = 1 + int(rng.integers(run.settings.properties))
        found: Row = {"gold": gold.id, "role": role.name}
        if not with_text:
            # Types without texts are asked for by relations alone, as the paper asks for phenotypes.
            if gold.type in run.types_with_text:
                found["dropped"] = "no candidate has a text"
            else:
                found["properties"] = []
        elif run.calls:
            waiting.append((place, gold, role, count))
        else:
            hidden = [name for d in candidates for name in d.names]
            hidden += [slot["name"] for slot in row["slots"].values()]
            properties = textual.telling(gold, run.matcher, role, hidden, count, rng)
            found |= {"properties": properties} if properties else {"dropped": "the gold's text has no telling phrase"}
        result.append(found)
    if run.calls and waiting:
        places, golds, roles, counts = zip(*waiting, strict=True)
        for place, said in zip(places, textual.asked(run.calls, run.matcher, golds, roles, counts), strict=True):
            result[place] |= said
    return result


# -- stage 3 ---------------------------------------------------------------------------------------------------------


def _fused(run: _Run, rows: list[Row]) -> list[Row]:
    """The query of each, unless it gives the gold answer away."""
    golds = read(run.kb, (row["gold"] for row in rows))
    if run.calls:
        roles = [run.roles.get(row["role"], textual.READER) for row in rows]
        said = fuse.asked(run.calls, rows, [golds[row["gold"]].type for row in rows], roles)
    else:
        said = []
        for row in rows:
            texts = [p["text"] for p in row["properties"]]
            fused, query = fuse.worded(row["question"], texts, row["role"], run.rng(3, row))
            said.append({"fused": fused, "query": query})
    for row, found in zip(rows, said, strict=True):
        if "query" in found and leaks(found["query"], golds[row["gold"]].names):
            found["dropped"] = "the query names its answer"
    return said


# -- stage 4 ---------------------------------------------------------------------------------------------------------


def _thresholds(run: _Run, rows: Sequence[Row]) -> dict[str, float]:
    """The thresholds of the rules, from the gold answers of all queries."""
    going = [row for row in rows if "dropped" not in row]
    golds = read(run.kb, (row["gold"] for row in going))
    pairs = [(p["text"], golds[row["gold"]]) for row in going for p in row["properties"]]
    evidence = run.matcher.match([text for text, _ in pairs], [document for _, document in pairs])
    return verify.thresholds(evidence, run.settings.gold_share)


def _verified(run: _Run, rows: list[Row], bounds: Mapping[str, float]) -> list[Row]:
    """The candidates that have all properties, with the proofs of their relations and the spans of their texts."""
    documents = read(run.kb, (node for row in rows for node in row["candidates"]))
    texts = {row["id"]: [p["text"] for p in row["properties"]] for row in rows}
    pairs = [(texts[row["id"]], documents[node]) for row in rows for node in row["candidates"] if texts[row["id"]]]
    checks = iter(verify.by_models(run.calls, pairs) if run.calls else verify.by_rules(run.matcher, pairs, bounds))
    result = []
    for row in rows:
        asked = bool(texts[row["id"]])
        judged = [(documents[node], next(checks) if asked else []) for node in row["candidates"]]
        result.append(_settled(run, row, judged))
    return result


def _settled(run: _Run, row: Row, judged: Sequence[tuple[Document, list[Check]]]) -> Row:
    accepted = [(document, checks) for document, checks in judged if all(check.accepts for check in checks)]
    gold = next(document for document, _ in judged if document.id == row["gold"])
    passes = any(document.id == gold.id for document, _ in accepted)
    found: Row = {
        "gold_passes": passes,
        "gold_node": _node(gold),
        "checks": [
            {**_node(document), "verdicts": [_verdict(c) for c in checks]} for document, checks in judged if checks
        ],
    }
    named = leaks(row["query"], (name for document, _ in accepted for name in document.names))
    if not passes:
        return {**found, "dropped": "the gold answer does not pass"}
    if named:
        return {**found, "dropped": "the query names an answer"}
    if len(accepted) > run.settings.answers:
        return {**found, "dropped": f"more than {run.settings.answers} answers"}
    proofs = run.kb.answers(row["expression"]).proofs([document.id for document, _ in accepted])
    answers = [
        {**_node(document), "why": proof.lines(), "evidence": _evidence(row["properties"], checks, run, document)}
        for (document, checks), proof in zip(accepted, proofs, strict=True)
    ]
    return {**found, "found": answers}


def _verdict(check: Check) -> dict[str, Any]:
    shown: dict[str, Any] = {"verifier": check.verifier, "satisfied": list(check.satisfied)}
    if check.scores:
        shown["scores"] = list(check.scores)
    if check.problem:
        shown["problem"] = check.problem
    return shown


def _evidence(
    properties: Sequence[Row], checks: Sequence[Check], run: _Run, document: Document
) -> list[dict[str, Any]]:
    """For each property the span that shows it: a verifier's own, or where none says, the best match."""
    result = []
    for number, entry in enumerate(properties):
        span = next((c.spans[number] for c in checks if c.spans[number] is not None), None)
        if span is None:
            span = run.matcher.match([entry["text"]], [document])[0].span
        result.append(
            {"property": number, "field": span.field, "start": span.start, "end": span.end, "text": span.text}
        )
    return result


def _node(document: Document) -> dict[str, str]:
    return {"type": document.type, "key": document.key, "name": document.name}


# -- what comes out --------------------------------------------------------------------------------------------------


def _record(number: int, row: Row) -> Row:
    """A record of ``queries.jsonl``."""
    return {
        "id": str(number),
        "query": row["query"],
        "split": "",
        "template": row["template"],
        "expression": row["expression"],
        "slots": row["slots"],
        "question": row["question"],
        "role": row["role"],
        "fused": row["fused"],
        "properties": row["properties"],
        "relational_words": fuse.words(row["question"]),
        "textual_words": sum(fuse.words(p["text"]) for p in row["properties"]),
        "gold": row["gold_node"],
        "candidates": len(row["candidates"]),
        "answers": row["found"],
        "checks": row["checks"],
    }


def _report(rows: Sequence[Row], kept: Sequence[Row], bounds: Mapping[str, float], wanted: int) -> dict[str, Any]:
    """Counts: what was drawn and dropped, and the share of gold answers that passed (section 2.4 of the paper)."""
    judged = [row["gold_passes"] for row in rows if "gold_passes" in row and row["properties"]]
    unusable = sum("problem" in v for row in rows for c in row.get("checks", ()) for v in c["verdicts"])
    return {
        "wanted": wanted,
        "queries": len(kept),
        "drawn": len(rows),
        "dropped": dict(Counter(row["dropped"] for row in rows if "dropped" in row).most_common()),
        "unusable_judgements": unusable,
        "thresholds": dict(bounds),
        "golds_verified": round(sum(judged) / len(judged), 4) if judged else None,
        "candidates": round(float(np.mean([len(row["candidates"]) for row in kept])), 2) if kept else None,
        "answers": round(float(np.mean([len(row["found"]) for row in kept])), 2) if kept else None,
    }


def _reasons(rows: Sequence[Row], report: Mapping[str, Any]) -> str:
    said = [f"{reason} ({count})" for reason, count in report["dropped"].items()]
    problems = (v["problem"] for row in rows for c in row.get("checks", ()) for v in c["verdicts"] if "problem" in v)
    if report["unusable_judgements"]:
        said.append(f"{report['unusable_judgements']:,} judgements could not be used, e.g. {next(problems)}")
    return ", ".join(said) or "nothing was drawn"
