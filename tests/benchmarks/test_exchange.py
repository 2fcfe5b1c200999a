"""Tasks for Label Studio and Argilla, and their answers: round trips, the programs' own readers, invalid files."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kbkit.benchmarks.convkgyarn.conversations import read_conversations
from kbkit.benchmarks.convkgyarn.tasks import ConvRating
from kbkit.benchmarks.people.exchange import PROGRAMS, export_task, import_answers, slots
from kbkit.benchmarks.people.judgements import known_judgements
from kbkit.benchmarks.people.tasks import Answers, Task
from kbkit.benchmarks.quest.annotate import RelevanceTask
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.annotate import UnitsTask
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.benchmarks.convkgyarn import data as conv_data
from tests.benchmarks.quest import data as quest_data
from tests.benchmarks.ska.test_annotate import instance
from tests.conftest import Run
from tests.once import Once

Tasks = Callable[[str, str], Task]
KINDS = ("quest", "ska", "conv")
ANN = str(uuid.UUID(int=7))
"""A person, as Argilla names people."""


@pytest.fixture(scope="module")
def datasets(world: KnowledgeBase, once: Once) -> Path:
    """A dataset of each kind."""

    def make(folder: Path) -> None:
        quest_data.write(world, folder / "countries", 2)
        conv_data.dataset(world, folder / "talk.jsonl", 1)
        instances.write_instances(folder / "rivers", [instance("1"), instance("2", 1)])

    return once("exchange", make)


@pytest.fixture
def task(datasets: Path, tmp_path: Path) -> Tasks:
    """A task of a kind for a rater."""
    shutil.copytree(datasets, tmp_path, dirs_exist_ok=True)

    def make(kind: str, who: str) -> Task:
        if kind == "quest":
            return RelevanceTask(QuestDataset.open(tmp_path / "countries"), who, "test", 4)
        if kind == "ska":
            return UnitsTask(tmp_path / "rivers", who)
        talks = {one.id: one for one in read_conversations(tmp_path / "talk.jsonl")}
        return ConvRating(talks, tmp_path / f"ratings-{who}.jsonl", who, {}, 0.7)

    return make


def judge(task: Task) -> None:
    """Answer each item: the last choice of each question, other rows each time, and once the question instead."""
    for place, key in enumerate(task.keys):
        item = task.item(key)
        if item.instead.choices and place == 1:
            task.save(key, Answers(instead=list(item.instead.choices)[-1]))
            continue
        choices = {one.name: list(one.choices)[-1 - place % 2] for one in item.questions}
        rows = list(range(place, len(item.marking.rows), 2)) if item.marking else []
        applied = {one.name: choices[one.name] for one in item.questions if one.applies(choices)}
        task.save(key, Answers(applied, rows))


def marks(task: Task) -> list[tuple[Any, ...]]:
    return sorted((one.item, one.question, one.mark) for one in known_judgements(task.path) if one.mark is not None)


def label_studio_export(folder: Path) -> Path:
    """Turn predictions into annotations, as a person who submits them does."""
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
    for number, one in enumerate(tasks, 1):
        [prediction] = one.pop("predictions")
        done = {
            "id": number,
            "completed_by": 1,
            "was_cancelled": False,
            "lead_time": 2.5,
            "result": prediction["result"],
        }
        one |= {"id": number, "annotations": [done], "predictions": []}
    return written(folder.parent / "export.json", tasks)


def argilla_export(folder: Path) -> Path:
    """Turn suggestions into responses, as a person who submits them does."""
    records = json.loads((folder / "records.json").read_text("utf-8"))
    for one in records:
        given = one["suggestions"].items()
        one["responses"] = {name: [{"value": found["value"], "user_id": ANN}] for name, found in given}
    return written(folder.parent / "export.json", records)


SUBMIT = {"label-studio": label_studio_export, "argilla": argilla_export}


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(task: Tasks, tmp_path: Path, kind: str, program: str) -> None:
    first = task(kind, "ann")
    judge(first)
    assert export_task(first, program, tmp_path / "out") == len(first.keys)
    export = SUBMIT[program](tmp_path / "out")
    other = task(kind, "bob")
    done = import_answers(other, export)
    assert (done.items, done.unanswered) == (len(first.keys), 0)
    assert marks(other) == marks(first) != []
    assert done.judgements == len(marks(first))
    assert import_answers(other, export).judgements == 0
    assert {one.who for one in known_judgements(other.path)} >= {"bob"}
    assert all(other.given(key) == first.given(key) for key in first.keys)


def test_the_time_is_kept(task: Tasks, tmp_path: Path) -> None:
    first = task("quest", "ann")
    judge(first)
    export_task(first, "label-studio", tmp_path / "out")
    other = task("quest", "bob")
    import_answers(other, label_studio_export(tmp_path / "out"))
    assert {one.seconds for one in known_judgements(other.path)} == {2.5}


@pytest.mark.parametrize("program", PROGRAMS)
def test_items_without_judgements(task: Tasks, tmp_path: Path, program: str) -> None:
    one = task("quest", "ann")
    export_task(one, program, tmp_path / "out")
    [path] = [path for name in ("tasks.json", "records.json") if (path := tmp_path / "out" / name).exists()]
    records = json.loads(path.read_text("utf-8"))
    assert not any(record.get("predictions") or record.get("suggestions") for record in records)
    with pytest.raises(KbError, match="has no answers"):
        import_answers(one, path)
    if program == "label-studio":
        records[0]["annotations"] = [{"completed_by": {"email": "x@y", "id": 3}, "result": []}]
        done = import_answers(one, written(path, records))
        assert (done.items, done.unanswered) == (0, 1)


def test_several_people(task: Tasks, tmp_path: Path) -> None:
    first = task("conv", "ann")
    judge(first)
    export_task(first, "label-studio", tmp_path / "out")
    export = label_studio_export(tmp_path / "out")
    tasks = json.loads(export.read_text("utf-8"))
    for one in tasks:
        [mine] = one["annotations"]
        one["annotations"] += [
            {**mine, "completed_by": {"id": 2, "email": "eve@example.org"}, "result": mine["result"][:0]}
        ]
        one["annotations"] += [{**mine, "completed_by": 9, "was_cancelled": True}]
    written(export, tasks)
    with pytest.raises(KbError, match=r"2 people: 1, eve@example\.org"):
        import_answers(task("conv", "bob"), export)
    with pytest.raises(UnknownNameError, match="annotator '9'"):
        import_answers(task("conv", "bob"), export, "9")
    assert import_answers(task("conv", "bob"), export, "1").items == len(tasks)
    assert import_answers(task("conv", "eve"), export, "eve@example.org").unanswered == len(tasks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t[0]["annotations"][0]["result"][0]["value"].update(choices=["17"]), "Invalid answer '17'"),
        (lambda t: t[0]["annotations"][0]["result"][0]["value"].update(choices=["0", "1"]), "Invalid answer"),
        (lambda t: t[0]["annotations"][0]["result"][0].update(from_name="x"), "Unknown question 'x'"),
        (lambda t: t[0]["annotations"][0]["result"][0].pop("value"), "Invalid result"),
        (lambda t: t[0]["annotations"][0]["result"].pop(0), "No answer to relevance"),
        (lambda t: t[0]["annotations"][0].update(result=3), "Invalid result"),
        (lambda t: t[0].update(annotations=3), "Invalid annotations"),
        (lambda t: t[0]["data"].pop("item"), r"No data\.item"),
        (lambda t: t[0]["data"].update(item='["9", "Z"]'), "Unknown item"),
        (lambda t: t.append(3), "is not an export"),
        (lambda t: t.clear(), "is not an export"),
    ],
)
def test_invalid_files(task: Tasks, tmp_path: Path, change: Callable[[Any], object], message: str) -> None:
    first = task("quest", "ann")
    judge(first)
    export_task(first, "label-studio", tmp_path / "out")
    tasks = json.loads(label_studio_export(tmp_path / "out").read_text("utf-8"))
    change(tasks)
    other = task("quest", "bob")
    with pytest.raises(BadInputError, match=message):
        import_answers(other, written(tmp_path / "export.json", tasks))
    assert not other.path.exists()


@pytest.mark.parametrize("records", [[{"fields": {}, "id": 3}], [{"fields": {}, "id": "x", "responses": {"q": [1]}}]])
def test_invalid_records(task: Tasks, tmp_path: Path, records: Any) -> None:
    with pytest.raises(BadInputError, match="record 1"):
        import_answers(task("quest", "bob"), written(tmp_path / "records.json", records))


def test_commands(here: Run, task: Tasks, tmp_path: Path) -> None:
    first = task("quest", "ann")
    judge(first)
    base = ("quest", "annotate", tmp_path / "countries", "-n", 4, "--rater")
    done = here(*base, "ann", "--export", tmp_path / "out", "--program", "argilla")
    assert (done.returncode, "4 pairs for argilla" in done.stderr) == (0, True)
    done = here(*base, "bob", "--import", argilla_export(tmp_path / "out"))
    assert (done.returncode, f"{len(marks(first))} judgements saved" in done.stderr) == (0, True)
    assert marks(task("quest", "bob")) == marks(first)
    again = here(*base, "ann", "--export", tmp_path / "out")
    assert (again.returncode, "new or empty folder" in again.stderr) == (1, True)
    unknown = here(*base, "ann", "--export", tmp_path / "other", "--program", "prodigy")
    assert (unknown.returncode, "label-studio" in unknown.stderr) == (1, True)
    both = here(*base, "ann", "--export", tmp_path / "other", "--import", tmp_path / "export.json")
    assert both.returncode == 1


# -- the programs' own code -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_label_studio_accepts_the_tasks(task: Tasks, tmp_path: Path, kind: str) -> None:
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="needs the package label-studio-sdk")
    first = task(kind, "ann")
    judge(first)
    export_task(first, "label-studio", tmp_path / "out")
    interface = sdk.LabelInterface((tmp_path / "out" / "config.xml").read_text("utf-8"))
    interface.validate()
    shown = {name for key in first.keys for name in (slot.name for slot in slots(first.item(key)))}
    assert {control.name for control in interface.controls} == shown
    for one in json.loads((tmp_path / "out" / "tasks.json").read_text("utf-8")):
        for prediction in one.pop("predictions"):
            assert interface.validate_prediction(prediction, return_errors=True) == []
        assert interface.validate_task(one)


@pytest.mark.parametrize("kind", KINDS)
def test_argilla_reads_the_dataset_and_writes_the_export(task: Tasks, tmp_path: Path, kind: str) -> None:
    """Everything of ``Dataset.from_disk`` and ``to_disk`` that needs no server."""
    argilla = pytest.importorskip("argilla", reason="needs the package argilla")
    from argilla._models import DatasetModel
    from argilla.records._io import JsonIO

    first = task(kind, "ann")
    judge(first)
    out = tmp_path / "out"
    export_task(first, "argilla", out)
    with mock.patch.object(argilla.Argilla, "_default_client", mock.MagicMock()):
        settings = argilla.Settings.from_json(out / ".argilla" / "settings.json")
        assert json.loads(json.dumps(settings.serialize(), default=str)) == json.loads(
            (out / ".argilla" / "settings.json").read_text("utf-8")
        )
        DatasetModel(**json.loads((out / ".argilla" / "dataset.json").read_text("utf-8")))
        labels = {one.name: {str(label) for label in one.labels} for one in settings.questions}
        records = JsonIO._records_from_json(out / "records.json")
        for record in records:
            for suggestion in record.suggestions:
                value = suggestion.value
                assert set(value if isinstance(value, list) else [value]) <= labels[suggestion.question_name]
                record.responses.add(argilla.Response(suggestion.question_name, value, user_id=uuid.UUID(ANN)))
        JsonIO.to_json(records, tmp_path / "export.json")
    other = task(kind, "bob")
    import_answers(other, tmp_path / "export.json")
    assert marks(other) == marks(first)
