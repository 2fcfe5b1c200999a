"""Positive units annotated by people: what they see, their files, their agreement, and the dataset that results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kbkit.benchmarks.people.judgements import Judgement, append_judgements
from kbkit.benchmarks.ska import annotate, instances
from kbkit.benchmarks.ska.instances import Instance, KnowledgeUnit, Provenance
from kbkit.errors import BadInputError, KbError
from tests.conftest import Run

RIVERS = [("Rhine", "1230", "North Sea"), ("Elbe", "1094", "North Sea"), ("Rhone", "813", "Mediterranean")]


def instance(name: str, positive: int = 0) -> Instance:
    """Return a question about the river at a place of the table; the other rows are noise."""
    rows = [KnowledgeUnit("", "row", list(row), ["rivers", str(at)], at) for at, row in enumerate(RIVERS)]
    river = RIVERS[positive]
    return Instance(
        name,
        "table",
        f"How long is the {river[0]}?",
        [river[1]],
        instances.numbered([rows[positive]], "p"),
        instances.numbered([row for row in rows if row.position != positive], "n"),
        Provenance("test", table="rivers", evidence="cells", topics=[river[0]]),
        title="Rivers",
        header=["River", "Length in km", "Mouth"],
    )


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "rivers"
    instances.write_instances(folder, [instance("1"), instance("2", 1), instance("3", 2)])
    return folder


def test_annotators_see_the_same_units_without_knowing_which_are_positive() -> None:
    many = replace(
        instance("7"), noise=[KnowledgeUnit(f"n{n}", "row", ["Elbe", str(n), ""], [], n) for n in range(100)]
    )
    units = annotate.shown(many)
    assert len(units) == annotate.UNITS
    assert [unit.id for unit in units] == [unit.id for unit in annotate.shown(many)]
    assert "p0" in {unit.id for unit in units}
    places = {annotate.shown(replace(many, id=str(n))).index(many.positive[0]) for n in range(30)}
    assert len(places) > 10  # not always first


def test_a_session_is_saved_at_once_and_resumed(here: Run, dataset: Path) -> None:
    first = here("ska", "annotate", dataset, "--rater", "ann", stdin="7\n1 x\n2,1 2\nq\n")
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("Enter numbers from 1 to 3") == 2
    assert "How long is the" in first.stdout
    path = dataset / "annotations" / "ann.jsonl"
    saved = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    task = annotate.tasks(instances.read_instances(dataset))[0]
    assert [(one["item"], one["mark"]) for one in saved] == [
        ([task.id, unit.id], at < 2) for at, unit in enumerate(annotate.shown(task))
    ]
    second = here("ska", "annotate", dataset, "--rater", "ann", stdin="o\n3\n")
    assert "1 of 3 instances done" in second.stderr
    done = annotate.annotations_of(annotate.annotator_files(dataset).all(), instances.read_instances(dataset))
    assert [one.verdict for one in done["ann"].values()] == ["usable", "order", "usable"]
    assert "0 judgements saved" in here("ska", "annotate", dataset, "--rater", "ann", stdin="").stderr


def annotated(dataset: Path, rater: str, name: str, verdict: str, units: Sequence[str], minutes: float = 0) -> None:
    """Save an annotation of an instance: a verdict, or the units that its answers need."""
    shown = next(annotate.shown(one) for one in instances.read_instances(dataset) if one.id == name)
    if verdict == "usable":
        marks = [Judgement(rater, (name, unit.id), "needed", unit.id in units, seconds=60 * minutes) for unit in shown]
    else:
        marks = [Judgement(rater, (name,), "verdict", verdict, seconds=60 * minutes)]
    append_judgements(annotate.annotator_files(dataset).path(rater), marks)


def test_agreement_and_the_revised_dataset(here: Run, dataset: Path, tmp_path: Path) -> None:
    for rater, units in (("ann", ["p0", "n1"]), ("bob", ["p0", "n1"]), ("cleo", ["n0"])):
        annotated(dataset, rater, "1", "usable", units, 1)
        annotated(dataset, rater, "2", "usable" if rater == "ann" else "wrong", ["p0"], 2)
    table = here("ska", "agreement", dataset, "-f", "ndjson")
    assert table.returncode == 0, table.stderr
    assert "table: median 1.5 minutes of 6" in table.stderr
    rows = [json.loads(line) for line in table.stdout.splitlines()]
    everyone = {row["on"]: row for row in rows if row["raters"] == "all"}
    assert (everyone["verdict"]["items"], everyone["verdict"]["agreement"]) == (2, 0.5)
    assert (everyone["units"]["items"], everyone["units"]["agreement"]) == (3, 0.0)
    assert {row["raters"] for row in rows} == {"all", "ann, bob", "ann, cleo", "bob, cleo"}
    done = here("ska", "revise", dataset, "-o", tmp_path / "new")
    assert "1 left out: an answer is wrong" in done.stderr
    one, three = instances.read_instances(tmp_path / "new")
    assert (one.id, three) == ("1", instance("3", 2))
    assert [unit.content[0] for unit in one.positive] == ["Rhine", "Rhone"]
    assert [unit.id for unit in one.units] == ["p0", "p1", "n0"]
    assert one.provenance.evidence == "people"


def test_annotations_of_another_version_and_incomplete_ones(dataset: Path) -> None:
    files, made = annotate.annotator_files(dataset), instances.read_instances(dataset)
    annotated(dataset, "ann", "1", "usable", ["p0"])
    append_judgements(files.path("bob"), [Judgement("bob", ("1", "p0"), "needed", mark=True)])  # then the session ended
    append_judgements(files.path("bob"), [Judgement("bob", ("7", "p0"), "needed", mark=True)])
    found = annotate.annotations_of(files.all(), made)
    assert found == {"ann": {"1": annotate.Annotation("usable", frozenset({"p0"}))}, "bob": {}}
    append_judgements(files.path("ann"), [Judgement("ann", ("1", "n9"), "needed", mark=True)])
    with pytest.raises(KbError, match=r"Instance 1 has no unit 'n9'.*another version"):
        annotate.annotations_of(files.all(), made)


@pytest.mark.parametrize(
    ("item", "question", "mark", "message"),
    [
        (("1",), "verdict", "dull", "line 1: verdict 'dull' is not wrong, incomplete"),
        (("1", "p0"), "verdict", "wrong", "its item is not an instance"),
        (("1",), "needed", True, "its item is not an instance"),
        (("1", "p0"), "needed", 1, "needed 1 is not True, False"),
        (("1", "p0"), "other", True, "question 'other' is not verdict, needed"),
    ],
)
def test_bad_annotations(dataset: Path, item: tuple[str, ...], question: str, mark: str | bool, message: str) -> None:
    files = annotate.annotator_files(dataset)
    append_judgements(files.path("cleo"), [Judgement("cleo", item, question, mark)])
    with pytest.raises(BadInputError, match=message):
        files.of("cleo")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": "graph"}, "Unknown form 'graph' in .*line 1.*Use kg, table"),
        ({"header": ["River", "Length"]}, "Unit p0 .*has 3 parts instead of 2"),
        ({"noise": [{"id": "p0", "kind": "row", "content": ["a", "b", "c"]}]}, "Duplicate unit 'p0'"),
        ({"noise": [{"id": "n0", "kind": "cell", "content": ["a"]}]}, "Unknown kind of unit 'cell'"),
        ({"answers": "Rhine"}, "Invalid value"),
        ({"colour": 1}, "Unknown field 'colour'"),
    ],
)
def test_invalid_instances_name_file_and_line(dataset: Path, change: dict[str, object], message: str) -> None:
    path = dataset / instances.FILE
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    path.write_text(json.dumps({**json.loads(first), **change}) + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=message):
        instances.read_instances(dataset)
    path.write_text(first + "\n" + first + "\n{", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"Duplicate instance '1' in .*line 2"):
        instances.read_instances(dataset)
    with pytest.raises(KbError, match="does not exist"):
        instances.read_instances(dataset / "none")
