"""Small datasets of all five benchmarks, and their published folders, for the tests of what is published."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

from kbkit.benchmarks.published import publish
from kbkit.benchmarks.requirements.settings import RequirementSettings
from kbkit.benchmarks.stark import make
from kbkit.kb import KnowledgeBase
from tests.benchmarks.convkgyarn import data as conv_data
from tests.benchmarks.quest import data as quest_data
from tests.benchmarks.ska import data as ska_data

BENCHMARKS = ("stark", "quest", "ska", "spinach", "conv")
RETRIEVAL = ("stark", "quest")
SPARQL = [
    {"id": 7, "question": "Which cats?", "sparql": "SELECT ?x WHERE { ?x wdt:P31 wd:Q146 }", "answers": [["Q1"]]},
    {"id": 8, "question": "Is it so?", "sparql": "ASK {}", "answers": True},
    {"id": 9, "question": "How many?", "sparql": "SELECT (COUNT(*) AS ?n) WHERE {}"},
]


PATHS = {
    "peaks": ("country:<c> -> mountain", "Which mountains lie in <c>?"),
    "shores": ("sea:<s> -> country", "Which countries have a coast on <s>?"),
    "banks": ("country:<c> -> river", "Which rivers flow through <c>?"),
}
"""Templates of the sample that need not be suggested first, which takes longer than a few queries."""


def write_templates(path: Path) -> str:
    """Write the templates to a file, and return its path."""
    text = "[[template]]\nid = '{}'\nexpression = '{}'\nquestion = '{}'\n"
    path.write_text("".join(text.format(name, *template) for name, template in PATHS.items()), encoding="utf-8")
    return str(path)


def datasets(kb: KnowledgeBase, folder: Path) -> dict[str, Path]:
    """Make the datasets in a folder."""
    templates = (write_templates(folder / "templates.toml"),)
    make.make(kb, folder / "stark", RequirementSettings(12, fractions=(0.2, 0.2, 0.6), templates=templates), None)
    _add_evidence(quest_data.write(kb, folder / "quest", 6) / "test.jsonl")
    ska_data.dataset(folder / "ska", 2)
    (folder / "conv").mkdir()
    conv_data.dataset(kb, folder / "conv" / "conversations.jsonl", 3)
    (folder / "spinach").mkdir()
    (folder / "spinach" / "own_dev.json").write_text(json.dumps(SPARQL), encoding="utf-8")
    return {name: folder / name / ("own_dev.json" if name == "spinach" else "") for name in BENCHMARKS}


def _add_evidence(path: Path) -> None:
    """Rate the first two answers of each query: complete with two spans, and none."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        first, second = record["docs"][:2]
        spans = [{"a phrase": f"a span of {first}"}, {"b": "another"}]
        more = {"evidence_ratings": {first: ["complete"], second: ["none"]}, "attributions": {first: spans}}
        record["metadata"] = {**record.get("metadata", {}), **more}
    quest_data.lines(path, records)


def publish_all(kb: KnowledgeBase, folder: Path) -> Path:
    """Make all datasets and publish them: ``folder/NAME`` from ``folder/made/NAME``."""
    (folder / "made").mkdir(parents=True)
    for name, path in datasets(kb, folder / "made").items():
        publish(path, folder / name, kb)
    shutil.rmtree(folder / "made" / "stark" / "stages")
    return folder


def hashes(folder: Path) -> dict[str, str]:
    """Return the checksum of each file of a folder, by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def a_run(folder: Path, path: Path) -> Path:
    """Write a run over the test split of a published folder: some answers at random ranks among other documents."""
    chance = random.Random(5)
    judged: dict[str, list[str]] = {}
    for line in (folder / "qrels" / "test.txt").read_text(encoding="utf-8").splitlines():
        query, _, document, _ = line.split()
        judged.setdefault(query, []).append(document)
    ids = [json.loads(line)["_id"] for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = []
    for query, right in judged.items():
        found = [one for one in chance.sample(ids, 40) if one not in right]
        for answer in chance.sample(right, (len(right) + 1) // 2):
            found.insert(chance.randrange(6), answer)
        # Powers of two, so that no library rounds two scores to one.
        lines += [f"{query} Q0 {document} {at + 1} {2.0**-at} run" for at, document in enumerate(found)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
