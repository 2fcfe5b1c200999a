"""kbkit stark write: sampling of entities, pages, leaks, and the saved files."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kbkit
from kbkit.benchmarks.stark import human
from kbkit.benchmarks.stark import task as tasks
from kbkit.errors import BadInputError, KbError
from kbkit.export.numbering import numbering
from kbkit.kb import KnowledgeBase
from kbkit.measures import files
from tests.conftest import Done
from tests.kbs import KBKIT
from tests.wording import Wording

Here = Callable[..., Done]

NODES = """\
key,type,name,aliases
7,film,The Night-Train!,Nachtzug
007,film,Snow,
f3,film,No Text,
x,film,Étoile du Nord,
d1,person,Ines Roy,
d2,person,Omar Day,
g,genre,crime,
"""
EDGES = """\
head_type,head,relation,tail_type,tail
person,d1,directed,film,7
person,d1,directed,film,007
person,d1,directed,film,x
person,d2,acts in,film,7
film,7,has genre,genre,g
film,x,has genre,genre,g
"""
TEXTS = f"""\
key,field,text
7,plot,"A train is stopped by snow, and the sleepers are questioned."
007,plot,Somebody waits in a hut.
x,plot,"{"long " * 1000}end"
d1,life,A director from Nantes.
"""


@pytest.fixture(scope="module")
def kb_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("write")
    for name, text in (("nodes", NODES), ("edges", EDGES), ("texts", TEXTS)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    kbkit.ingest("table", folder, out=folder / "f.kb", stores=("tables", "adjacency")).close()
    return folder / "f.kb"


@pytest.fixture(scope="module")
def kb(kb_path: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(kb_path) as opened:
        yield opened


def table(out: Path) -> list[list[str]]:
    with (out / "stark_qa" / "stark_qa_human_generated_eval.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def told(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "human.jsonl").read_text(encoding="utf-8").splitlines()]


# -- the draw ---------------------------------------------------------------------------------------------------------


def test_every_node_with_a_text_is_drawn_once(kb: KnowledgeBase) -> None:
    films = [kb.find(f"film#{key}") for key in ("7", "007", "x")]
    drawn = list(human.draw(kb, ["film"], 0))
    assert sorted(drawn) == sorted(films)
    assert list(human.draw(kb, ["film"], 0)) == drawn
    orders = {tuple(human.draw(kb, ["film"], seed)) for seed in range(40)}
    assert len(orders) == 6  # of three nodes
    assert sorted(human.draw(kb, [], 0)) == sorted([*films, kb.find("person#d1")])
    assert [kb.node(node).key for node in human.draw(kb, ["film"], 0, ["7", "x"])] == ["007"]


def test_nothing_to_draw(kb: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        next(human.draw(kb, ["genre"], 0))
    wording(str(caught.value))


# -- the page ---------------------------------------------------------------------------------------------------------


def test_paths_by_hand(kb: KnowledgeBase) -> None:
    assert human.paths(kb, kb.node("film#7")) == [
        "The Night-Train! <- [directed] <- Ines Roy -> [directed] -> Snow",
        "The Night-Train! -> [has genre] -> crime <- [has genre] <- Étoile du Nord",
    ]
    assert human.paths(kb, kb.node("film#7"), limit=1) == [
        "The Night-Train! <- [directed] <- Ines Roy -> [directed] -> Snow"
    ]
    assert human.paths(kb, kb.node("film#f3")) == []


def test_every_path_is_in_the_graph(world: KnowledgeBase) -> None:
    edges = world.sql(
        "SELECT h.name, relation, t.name AS tail FROM edges JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
    )
    known = set(edges.iter_rows())
    for reference in ("country:France", "river:Danube", "language:German"):
        node = world.node(reference)
        found = human.paths(world, node)
        assert 1 <= len(found) <= 8
        for path in found:
            first, forward, second, onward, third = _steps(path)
            assert first == node.name != third
            assert _edge(first, forward, second) in known
            assert _edge(second, onward, third) in known


def _steps(path: str) -> list[str]:
    for arrow in ("->", "<-"):
        path = path.replace(f" {arrow} [", f"\n{arrow}").replace(f"] {arrow} ", "\n")
    return path.split("\n")


def _edge(one: str, step: str, other: str) -> tuple[str, str, str]:
    return (one, step[2:], other) if step.startswith("->") else (other, step[2:], one)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("which film is the night train", "The Night-Train!"),
        ("a film like THE NIGHT, TRAIN and such", "The Night-Train!"),
        ("der Nachtzug?", "Nachtzug"),
        ("a night on a train", ""),
        ("the night trains", ""),
    ],
)
def test_leaks(kb: KnowledgeBase, query: str, name: str) -> None:
    assert human.leak(query, kb.node("film#7")) == name


def test_leaks_ignore_accents(kb: KnowledgeBase) -> None:
    assert human.leak("is it etoile du nord", kb.node("film#x")) == "Étoile du Nord"


# -- what is saved ----------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_append(kb: KnowledgeBase, tmp_path: Path) -> None:
    queries = {"7": 'a train, stuck in "snow"', "007": "who waits?", "x": "long\nfilm"}
    numbers = [human.append(kb, tmp_path, query, kb.node(f"film#{key}"), 5) for key, query in queries.items()]
    assert numbers == ["0", "1", "2"]
    ids = [kb.find(f"film#{key}") for key in queries]
    assert table(tmp_path) == [
        ["id", "query", "answer_ids"],
        ["0", 'a train, stuck in "snow"', f"[{ids[0]}]"],
        ["1", "who waits?", f"[{ids[1]}]"],
        ["2", "long\nfilm", f"[{ids[2]}]"],
    ]
    assert told(tmp_path)[1] == {
        "id": "1",
        "query": "who waits?",
        "entity": {"type": "film", "key": "007", "name": "Snow", "number": ids[1]},
        "seed": 5,
        "numbers": numbering(kb.tables).digest,
    }
    gold = files.read_gold(tmp_path, "human_generated_eval")
    assert gold.judgements["node"].to_list() == list(map(str, ids))
    assert human.answered(tmp_path) == ["film#7", "film#007", "film#x"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "human.jsonl", "stark_qa", "stark_qa_human_generated_eval.csv",
    ]  # fmt: skip


def test_append_to_the_published_file(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = human.table(tmp_path)
    path.parent.mkdir()
    path.write_text('id,query,answer_ids,answer_ids_source\n3,a?,"[1, 2]",[1]\n80,b?,[2],[2]\n', encoding="utf-8")
    assert human.append(kb, tmp_path, "c?", kb.node("film#7"), 0) == "81"
    assert table(tmp_path) == [
        ["id", "query", "answer_ids", "answer_ids_source"],
        ["3", "a?", "[1, 2]", "[1]"],
        ["80", "b?", "[2]", "[2]"],
        ["81", "c?", "[7]", ""],
    ]
    assert [record["id"] for record in told(tmp_path)] == ["81"]


def test_recovery_after_a_killed_writer(kb: KnowledgeBase, tmp_path: Path) -> None:
    human.append(kb, tmp_path, "a?", kb.node("film#7"), 0)
    before = human.table(tmp_path).read_bytes()
    human.append(kb, tmp_path, "lost?", kb.node("film#x"), 0)
    human.table(tmp_path).write_bytes(before)  # the csv comes last
    assert human.append(kb, tmp_path, "b?", kb.node("film#007"), 0) == "1"
    assert [(record["id"], record["query"]) for record in told(tmp_path)] == [("0", "a?"), ("1", "b?")]


def test_invalid_table(kb: KnowledgeBase, tmp_path: Path) -> None:
    human.table(tmp_path).parent.mkdir()
    human.table(tmp_path).write_text("id,answer_ids\n0,[7]\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="query"):
        human.append(kb, tmp_path, "a?", kb.node("film#7"), 0)
    assert human.table(tmp_path).read_text(encoding="utf-8") == "id,answer_ids\n0,[7]\n"


def test_a_folder_that_cannot_be_written(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    with pytest.raises(KbError, match=r"out: (Not a directory|File exists)"):
        human.append(kb, tmp_path / "out", "a?", kb.node("film#7"), 0)


def test_concurrent_writers(kb: KnowledgeBase, tmp_path: Path) -> None:
    node = kb.node("film#7")
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda i: human.append(kb, tmp_path, f"query {i}", node, i), range(24)))
    assert sorted(map(int, numbers)) == list(range(24))
    assert {row[1] for row in table(tmp_path)[1:]} == {f"query {i}" for i in range(24)}
    assert len(told(tmp_path)) == 24
    assert not list(tmp_path.glob(".*"))  # no lock stays


# -- files of earlier versions, and types that share keys -------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A country and a currency have the key BTN."""
    folder = tmp_path_factory.mktemp("shared")
    nodes = "key,type,name\nBTN,country,Bhutan\nBTN,currency,Ngultrum\nFRA,country,France\n"
    texts = "key,type,text\nBTN,country,mountains\nBTN,currency,money of mountains\nFRA,country,wine\n"
    edges = "head_type,head,relation,tail_type,tail\ncountry,BTN,pays_with,currency,BTN\n"
    for name, text in (("nodes", nodes), ("texts", texts), ("edges", edges)):
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "s.kb", stores=("tables", "adjacency")) as opened:
        yield opened


def saved(out: Path, node: str, answer: str) -> None:
    """A file with one answer by key, as earlier versions wrote it."""
    kind, key = node.split("#")
    human.table(out).parent.mkdir(parents=True)
    human.table(out).write_text(f'id,query,answer_ids\n0,old?,"[""{answer}""]"\n', encoding="utf-8")
    entity = {"type": kind, "key": key, "name": "x"}
    line = json.dumps({"id": "0", "query": "old?", "entity": entity, "seed": 0})
    (out / "human.jsonl").write_text(line + "\n", encoding="utf-8")


@pytest.mark.core
def test_a_key_of_another_type_skips_no_node(shared: KnowledgeBase, tmp_path: Path) -> None:
    saved(tmp_path / "keys", "currency#BTN", "BTN")
    human.append(shared, tmp_path / "numbers", "money?", shared.node("currency#BTN"), 0)
    for out in ("keys", "numbers"):
        left = {shared.node(node).name for node in human.draw(shared, (), 0, human.answered(tmp_path / out))}
        assert left == {"Bhutan", "France"}
    assert [shared.node(n).name for n in human.draw(shared, ["country"], 0, ["BTN"])] == ["France"]  # of unknown type


def test_a_file_with_keys_is_continued(kb: KnowledgeBase, tmp_path: Path) -> None:
    saved(tmp_path, "film#007", "007")
    assert human.naming(kb, ["film"], tmp_path) == "key"
    human.append(kb, tmp_path, "train?", kb.node("film#x"), 0, names="key")
    assert [row[2] for row in table(tmp_path)[1:]] == ['["007"]', '["x"]']


def test_keys_become_references_if_types_share_them(shared: KnowledgeBase, tmp_path: Path) -> None:
    saved(tmp_path, "currency#BTN", "BTN")
    assert human.naming(shared, ["currency"], tmp_path) == "key"
    assert human.naming(shared, ["country"], tmp_path) == "reference"  # with the currency that is there
    human.append(shared, tmp_path, "peaks?", shared.node("country#BTN"), 0, names="reference")
    assert [row[2] for row in table(tmp_path)[1:]] == ['["currency#BTN"]', '["country#BTN"]']
    assert human.naming(shared, ["currency"], tmp_path) == "reference"
    human.append(shared, tmp_path, "wine?", shared.node("country#FRA"), 0)  # as the file does
    assert table(tmp_path)[3][2] == '["country#FRA"]'
    task = tasks.task(shared, files.read_gold(tmp_path, "human_generated_eval"))
    assert (task.names, task.unknown) == ("reference", 0)


def test_an_ambiguous_answer_is_rejected_at_once(
    here: Here, shared: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    path = human.table(tmp_path)
    path.parent.mkdir()
    path.write_text('id,query,answer_ids\n3,a?,"[""BTN""]"\n', encoding="utf-8")
    before = path.read_bytes()
    done = here("stark", "write", shared.directory.path, "-o", tmp_path, stdin="one\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'BTN'" in done.stderr
    assert "'3'" in done.stderr
    wording(done.stderr, "cli", replace={str(path): "PATH"})
    assert path.read_bytes() == before


# -- the command ------------------------------------------------------------------------------------------------------


def names_by_draw(kb: KnowledgeBase, seed: int) -> list[str]:
    return [kb.node(node).name for node in human.draw(kb, ["film"], seed)]


def test_a_session(here: Here, kb: KnowledgeBase, kb_path: Path, tmp_path: Path) -> None:
    first, second, third = names_by_draw(kb, 1)
    typed = f"is it {first.upper()}\n  something with a train \n\nthe last one\nnever read\n"
    done = here("stark", "write", kb_path, "-o", tmp_path / "o", "--type", "film", "--seed", 1, stdin=typed)
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line in (first, second, third)]
    assert shown == [first, second, third]
    before, _, after = done.stdout.partition(f"query> is it {first.upper()}\n")
    rejection, after = after.split("\n", 1)
    assert before
    assert first in rejection
    assert after.startswith("query> something with a train\nsaved as query 0\n")
    assert "query> the last one\nsaved as query 1\n" in after
    saved = f"{tmp_path}/o/stark_qa/stark_qa_human_generated_eval.csv: 2 queries written\n"
    assert done.stderr == saved
    assert [(r["query"], r["entity"]["name"], r["seed"]) for r in told(tmp_path / "o")] == [  # type: ignore[index]
        ("something with a train", first, 1),
        ("the last one", third, 1),
    ]


def test_a_session_continues(here: Here, kb: KnowledgeBase, kb_path: Path, tmp_path: Path) -> None:
    first, second, third = names_by_draw(kb, 2)
    for typed, shown, number in (("one\nq\nnot read", [first, second], "0"), ("two\n", [second, third], "1")):
        done = here("-q", "stark", "write", kb_path, "-o", tmp_path, "-t", "film", "--seed", 2, stdin=typed)
        assert (done.returncode, done.stderr) == (0, "")
        assert [line for line in done.stdout.splitlines() if line in (first, second, third)] == shown
        assert f"saved as query {number}\n" in done.stdout
    assert [row[1] for row in table(tmp_path)] == ["query", "one", "two"]


def test_page_of_an_entity(here: Here, kb_path: Path, tmp_path: Path) -> None:
    done = here("-q", "stark", "write", kb_path, "-o", tmp_path, "--type", "film", stdin="\n\n\n")
    for line in (
        "film#7 (id 0)",
        "also called Nachtzug",
        "  A train is stopped by snow, and the sleepers are questioned.",
        "<- [directed] <- person: 1",
        "  Ines Roy  (person#d1)",
        "paths",
        "  The Night-Train! <- [directed] <- Ines Roy -> [directed] -> Snow",
    ):
        assert f"\n{line}\n" in done.stdout, line
    assert re.search(r"^  \.\.\. [0-9,]+ more lines$", done.stdout, re.MULTILINE)
    assert not (tmp_path / "human.jsonl").exists()


@pytest.mark.parametrize("typed", ["", "q\n", "q"])
def test_quitting_writes_nothing(here: Here, kb_path: Path, tmp_path: Path, typed: str) -> None:
    done = here("stark", "write", kb_path, "-o", tmp_path / "o", stdin=typed)
    assert done.returncode == 0
    assert f"{tmp_path}/o/stark_qa/stark_qa_human_generated_eval.csv: 0" in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.system
def test_invalid_utf8_input(kb_path: Path, tmp_path: Path, wording: Wording) -> None:
    words = [KBKIT, "stark", "write", kb_path, "-o", tmp_path]
    done = subprocess.run(
        words,
        input=b"caf\xe9\n",
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 1
    wording(done.stderr.decode(), "cli")


@pytest.mark.parametrize("name", ["file", "file/below", "dir"])
def test_output_folder_is_checked_first(here: Here, kb_path: Path, tmp_path: Path, name: str, wording: Wording) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "stark_qa").write_text("", encoding="utf-8")
    done = here("stark", "write", kb_path, "-o", tmp_path / name, stdin="one\n")
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})


def test_negative_seed(here: Here, kb_path: Path, tmp_path: Path, wording: Wording) -> None:
    done = here("stark", "write", kb_path, "-o", tmp_path, "--seed", -1, stdin="a\n")
    assert done.returncode == 1
    wording(done.stderr, "cli")


def test_an_unknown_type(here: Here, kb_path: Path, tmp_path: Path, wording: Wording) -> None:
    done = here("stark", "write", kb_path, "-o", tmp_path, "--type", "movie", stdin="a\n")
    assert done.returncode == 1
    wording(done.stderr, "cli")
