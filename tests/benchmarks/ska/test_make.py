"""Datasets of all forms: from a KB to checked instances, published questions, and rows that people reviewed."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from kbkit.benchmarks.people.judgements import Judgement
from kbkit.benchmarks.ska import instances, review, statements
from kbkit.benchmarks.ska.make import make
from kbkit.benchmarks.ska.settings import FORMS, SkaSettings
from kbkit.benchmarks.ska.solve import Solver
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run

SMALL = SkaSettings(2, seed=4, tokens=2_000)


@pytest.fixture(scope="module")
def dataset(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset of all forms."""
    out = tmp_path_factory.mktemp("ska") / "world"
    make([world], out, SMALL)
    return out


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    shutil.copytree(dataset, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.core
def test_a_kb_gives_all_forms_and_every_instance_is_proved(dataset: Path) -> None:
    made = instances.read_instances(dataset)
    assert Counter(one.form for one in made) == dict.fromkeys(FORMS, 2)
    with Solver() as solver:
        assert [(one.id, statements.check_instance(one, solver)) for one in made] == [(one.id, []) for one in made]
    assert all(one.noise and one.question[0].isupper() and one.question[-1] not in ",;: " for one in made)


@pytest.mark.system
def test_the_same_seed_gives_the_same_bytes_and_an_interrupted_run_continues(
    dataset: Path, world: KnowledgeBase, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    make([world], again, SMALL)
    assert (again / instances.FILE).read_bytes() == (dataset / instances.FILE).read_bytes()
    (again / "stages" / "4_table_text.jsonl").unlink()  # killed before the last form
    (again / instances.FILE).unlink()
    kept = (again / "stages" / "1_kg.jsonl").stat().st_mtime_ns
    make([world], again, SMALL)
    assert (again / instances.FILE).read_bytes() == (dataset / instances.FILE).read_bytes()
    assert (again / "stages" / "1_kg.jsonl").stat().st_mtime_ns == kept
    with pytest.raises(KbError, match="seed was 4, now 5"):
        make([world], again, SkaSettings(2, seed=5, tokens=2_000))


@pytest.mark.system
def test_several_kbs_share_the_instances(world: KnowledgeBase, tmp_path: Path) -> None:
    make([world, world], tmp_path / "two", SkaSettings(3, forms=("kg",), tokens=1_000))
    made = instances.read_instances(tmp_path / "two")
    assert len(made) == 3
    assert len({one.id for one in made}) == 3


@pytest.mark.system
def test_the_questions_of_other_benchmarks(here: Run, world_kb: Path, tmp_path: Path) -> None:
    stark, out = tmp_path / "stark", tmp_path / "out"
    done = here("stark", "make", world_kb, "-o", stark, "-n", 6, "--relations-only", 1)
    assert done.returncode == 0, done.stderr
    done = here("ska", "make", world_kb, "-o", out, "--questions", stark, "--form", "kg", "-n", 2)
    assert done.returncode == 0, done.stderr
    asked = {json.loads(line)["query"] for line in (stark / "queries.jsonl").read_text(encoding="utf-8").splitlines()}
    made = instances.read_instances(out)
    assert made
    assert {one.question for one in made} <= asked


@pytest.mark.system
def test_questions_of_files_and_of_datasets_together(here: Run, world_kb: Path, tmp_path: Path) -> None:
    """Neither takes the place of the other; a changed file is another run."""
    stark, own, out = tmp_path / "stark", tmp_path / "own.jsonl", tmp_path / "out"
    done = here("stark", "make", world_kb, "-o", stark, "-n", 6, "--relations-only", 1)
    assert done.returncode == 0, done.stderr
    graph = [["Rhine", "flows into", "North Sea"], ["Rhine", "crosses", "Basel"], ["Elbe", "flows into", "North Sea"]]
    asked = {"id": "1", "question": "What does the Rhine flow into?", "answer": ["North Sea"], "q_entity": ["Rhine"]}
    own.write_text(json.dumps({**asked, "a_entity": ["North Sea"], "graph": graph}) + "\n", encoding="utf-8")
    command = ("ska", "make", world_kb, "-o", out, "--questions", own, "--questions", stark, "--form", "kg", "-n", 4)
    done = here(*command)
    assert done.returncode == 0, done.stderr
    made = instances.read_instances(out)
    assert [one.question == asked["question"] for one in made] == [True, False, False, False]
    own.write_text(own.read_text(encoding="utf-8").replace("Rhine", "Main"), encoding="utf-8")
    assert "was made with other settings: questions was" in here(*command).stderr


def test_check_finds_what_an_edit_broke(here: Run, copy: Path) -> None:
    done = here("ska", "check", copy)
    assert (done.returncode, done.stdout) == (0, "")
    assert "8 instances checked, 0 with failures" in done.stderr
    path = copy / instances.FILE
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    broken = json.loads(first)
    broken["positive"] = []
    path.write_text("\n".join([json.dumps(broken), *rest]) + "\n", encoding="utf-8")
    done = here("ska", "check", copy, "-f", "ndjson")
    assert done.returncode == 1
    problems = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["instance"] for row in problems} == {broken["id"]}
    assert "Statements fail in 1 instance" in done.stderr


PLAYERS = """Player,Team,Born,Goals,Caps,Position
Anna Berg,Lyon,1990,12,40,Forward
Ben Cole,Porto,1988,3,22,Defender
Carla Diaz,Lyon,1994,7,31,Midfielder
Dan Evans,Celtic,1991,0,18,Keeper
Eva Frank,Porto,1996,15,27,Forward
Finn Gray,Celtic,1985,1,64,Defender
Gina Holt,Basel,1993,4,12,Midfielder
Hugo Ibsen,Basel,1989,9,55,Forward
Ida Jonas,Lyon,1997,2,9,Defender
"""


@pytest.fixture(scope="module")
def players(here: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset over a small table, so that most of its noise is synthesized."""
    folder = tmp_path_factory.mktemp("players")
    (folder / "players.csv").write_text(PLAYERS, encoding="utf-8")
    done = here("ingest", "csv", folder / "players.csv", "-o", folder / "players.kb")
    assert done.returncode == 0, done.stderr
    done = here("ska", "make", folder / "players.kb", "-o", folder / "out", "-n", 3, "--tokens", 2000)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_people_delete_unsafe_rows(here: Run, players: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(players, copy)
    made = instances.read_instances(copy)
    tasks = review.sampled(made, 0, 2, 0)
    assert tasks
    assert {one.form for one, _ in tasks} <= {"table", "table+text"}
    first, units = tasks[0]
    done = here("ska", "review", copy, "--rater", "ann", "-n", 0, "--rows", 2, stdin="7\n1\nq\n")
    assert done.returncode == 0, done.stderr
    assert "Enter 0 for none, numbers from 1 to 2" in done.stdout
    assert "2 judgements saved" in done.stderr
    done = here("ska", "review", copy, "--rater", "ann", "-n", 0, "--rows", 2, stdin="0\n" * len(tasks))
    assert f"1 of {len(tasks)} instances done" in done.stderr
    done = here("ska", "revise", copy, "-o", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    share = 1 - 1 / (2 * len(tasks))
    assert f"Safe rows: {share:.1%} of {2 * len(tasks)} reviewed (the paper: 92.5%)" in done.stderr
    revised = {one.id: one for one in instances.read_instances(tmp_path / "new")}
    gone = {unit.id for unit in first.noise} - {unit.id for unit in revised[first.id].noise}
    assert gone == {units[0].id}
    assert [one for one in made if revised[one.id] != one] == [first]
    with Solver() as solver:
        assert statements.check_instance(revised[first.id], solver) == []


def test_verdicts_of_other_instances(players: Path) -> None:
    made = instances.read_instances(players)
    for unit in ("n99999", next(unit.id for one in made for unit in one.noise if not unit.synthesized)):
        with pytest.raises(KbError, match="has no synthesized row"):
            review.judged(made, [Judgement("ann", (made[0].id, unit), "unsafe", mark=True)])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"count": 0}, KbError, "number of instances: 0"),
        ({"forms": ("graph",)}, UnknownNameError, "Unknown form 'graph'"),
        ({"tokens": 10}, KbError, "number of tokens: 10"),
        ({"questions": (Path("none.tsv"),)}, BadInputError, "none.tsv does not exist"),
        ({"seed": -1}, KbError, "Invalid seed"),
    ],
)
def test_invalid_settings(settings: dict[str, object], error: type[KbError], message: str) -> None:
    with pytest.raises(error, match=message):
        SkaSettings(**{"count": 1, **settings})  # type: ignore[arg-type]


def test_forms_that_a_kb_does_not_allow(here: Run, tiny_kb: Path, tmp_path: Path) -> None:
    done = here("ska", "make", tiny_kb, "-o", tmp_path / "out", "--form", "table")
    assert done.returncode == 1
    assert "No instance of the form table: the table has fewer than 6 columns or 8 rows" in done.stderr
    assert not (tmp_path / "out" / instances.FILE).exists()
    done = here("ska", "make", tiny_kb, "-o", tmp_path / "other", "--questions", tmp_path)
    assert f"{tmp_path} has no queries.jsonl" in done.stderr
