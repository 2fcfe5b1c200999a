"""Published folders: layout, checksums, card, metadata, reproducibility, errors, hostile text. No other library."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.publish.card import markdown, yaml_text
from kbkit.benchmarks.publish.form import safe_ids
from kbkit.benchmarks.publish.settings import PublishSettings
from kbkit.benchmarks.published import publish
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures import files
from tests.benchmarks.published import BENCHMARKS, RETRIEVAL, a_run, hashes
from tests.conftest import Run
from tests.examples import first_some
from tests.hostile import NAMES


def rows(folder: Path, table: str) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_parquet(path) for path in (folder / "data" / table).glob("*.parquet")}


# -- contents ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", first_some(BENCHMARKS, 3))
def test_checksums_cover_all_files(folders: Path, name: str) -> None:
    folder = folders / name
    listed = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines())
    found = hashes(folder)
    del found["SHA256SUMS"]
    assert listed == found


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_original_files_are_copied(folders: Path, name: str) -> None:
    made = folders / "made" / name
    originals = hashes(folders / name / "original")
    assert originals
    assert originals.items() <= hashes(made).items()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_metadata_describes_the_tables(folders: Path, name: str) -> None:
    folder = folders / name
    about = json.loads((folder / "croissant.json").read_text("utf-8"))
    tables = {path.relative_to(folder).as_posix() for path in folder.glob("data/*/*.parquet")}
    assert {one["contentUrl"] for one in about["distribution"]} == tables
    for one in about["distribution"]:
        content = (folder / one["contentUrl"]).read_bytes()
        assert one["sha256"] == hashlib.sha256(content).hexdigest()
        assert one["contentSize"] == f"{len(content)} B"
    described: dict[str, list[str]] = {}
    for records in about["recordSet"]:
        for one in records["field"]:
            described.setdefault(one["source"]["fileObject"]["@id"], []).append(one["source"]["extract"]["column"])
    assert described == {table: pq.read_schema(folder / table).names for table in tables}


@pytest.mark.parametrize("name", RETRIEVAL)
def test_retrieval_files_agree(folders: Path, name: str) -> None:
    folder = folders / name
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    assert rows(folder, "corpus")["corpus"]["_id"].to_list() == [one["_id"] for one in corpus]
    assert rows(folder, "queries")["queries"]["text"].to_list() == [one["text"] for one in queries]
    judged = rows(folder, "default")
    assert set(judged) == {"train", "val", "test"}
    splits = {one["_id"]: one["split"] for one in queries}
    for split, frame in judged.items():
        with (folder / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as file:
            beir = list(csv.reader(file, delimiter="\t"))
        trec = [line.split() for line in (folder / "qrels" / f"{split}.txt").read_text("utf-8").splitlines()]
        assert beir[0] == ["query-id", "corpus-id", "score"] == frame.columns
        assert [(q, d, int(s)) for q, d, s in beir[1:]] == frame.rows()
        assert [(q, d, int(s)) for q, _, d, s in trec] == frame.rows()
        assert set(frame["query-id"]) == {query for query, own in splits.items() if own == split}
        assert set(frame["corpus-id"]) <= {one["_id"] for one in corpus}


def test_stark_answers_are_the_nodes_of_the_kb(folders: Path, world: KnowledgeBase) -> None:
    lines = (folders / "made" / "stark" / "queries.jsonl").read_text("utf-8").splitlines()
    expected = {(one["id"], a["type"], a["key"]) for one in map(json.loads, lines) for a in one["answers"]}
    corpus = rows(folders / "stark", "corpus")["corpus"]
    judged = pl.concat(rows(folders / "stark", "default").values())
    both = judged.join(corpus, left_on="corpus-id", right_on="_id")
    assert set(both.select("query-id", "type", "key").rows()) == expected
    sample = corpus.filter(pl.col("title") == "Egypt").row(0, named=True)
    assert sample["title"] == "Egypt"
    assert sample["text"] in "\n".join(world.sql("SELECT text FROM texts")["text"]) and sample["text"]


def test_quest_answers_and_evidence(folders: Path) -> None:
    records = [
        json.loads(line)
        for split in ("train", "val", "test")
        for line in (folders / "made" / "quest" / f"{split}.jsonl").read_text("utf-8").splitlines()
    ]
    queries = rows(folders / "quest", "queries")["queries"]
    titles = rows(folders / "quest", "corpus")["corpus"].select("_id", "title")
    judged = pl.concat(rows(folders / "quest", "default").values()).join(titles, left_on="corpus-id", right_on="_id")
    assert queries["text"].to_list() == [one["query"] for one in records]
    assert set(judged.select("query-id", "title").rows()) == {(r["id"], title) for r in records for title in r["docs"]}
    [(split, evidence)] = rows(folders / "quest", "evidence").items()
    assert split == "test"
    found = evidence.join(titles, left_on="document", right_on="_id").select(
        "query", "title", "rating", "phrase", "text"
    )
    rated = [one for one in records if one["metadata"].get("attributions")]
    assert set(found.rows()) == {
        (one["id"], *row)
        for one in rated
        for row in (
            (one["docs"][0], "complete", "a phrase", f"a span of {one['docs'][0]}"),
            (one["docs"][0], "complete", "b", "another"),
            (one["docs"][1], "none", "", ""),
        )
    }
    assert rated


def test_ska_units(folders: Path) -> None:
    lines = (folders / "made" / "ska" / "instances.jsonl").read_text("utf-8").splitlines()
    expected = [
        (one["id"], unit["id"], positive, unit["content"])
        for one in map(json.loads, lines)
        for positive, units in ((True, one["positive"]), (False, one["noise"]))
        for unit in units
    ]
    found = rows(folders / "ska", "units")["test"].select("instance", "id", "positive", "content")
    assert found.rows() == expected
    questions = rows(folders / "ska", "questions")["test"]
    assert questions["answers"].to_list() == [json.loads(line)["answers"] for line in lines]


def test_conversations_and_turns(folders: Path) -> None:
    lines = (folders / "made" / "conv" / "conversations.jsonl").read_text("utf-8").splitlines()
    expected = [
        (one["id"], number, turn["question"], [answer["text"] for answer in turn["answers"]])
        for one in map(json.loads, lines)
        for number, turn in enumerate(one["turns"], 1)
    ]
    found = rows(folders / "conv", "turns")["test"].select("conversation", "turn", "question", "answers")
    assert found.rows() == expected
    assert rows(folders / "conv", "conversations")["test"]["turns"].sum() == len(expected)


def test_sparql_questions(folders: Path) -> None:
    [(split, frame)] = rows(folders / "spinach", "questions").items()
    assert split == "dev"
    assert frame["question"].to_list() == ["Which cats?", "Is it so?", "How many?"]
    assert frame["answers"].to_list()[1:] == ["true", ""]
    assert json.loads(frame["answers"][0]) == [{"0": {"value": "Q1"}}] or "Q1" in frame["answers"][0]


# -- reproducibility --------------------------------------------------------------------------------------------------


def test_the_same_dataset_gives_the_same_bytes(folders: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    for name in BENCHMARKS:
        made = folders / "made" / name / ("own_dev.json" if name == "spinach" else "")
        publish(made, tmp_path / name, world)
        assert hashes(tmp_path / name) == hashes(folders / name)


def command_of(folder: Path) -> list[str]:
    [line] = re.findall(r"^\$ kbkit (.*)$", (folder / "README.md").read_text("utf-8"), re.M)
    return shlex.split(line)


def slow(*words: object) -> Any:
    return pytest.param(words, marks=pytest.mark.system)


@pytest.mark.parametrize(
    "command",
    [
        slow("stark", "make", "-n", 6, "--seed", 3, "--properties", 1),
        slow("quest", "make", "-n", 8, "--type", "country", "--max-answers", 12, "--constraint", "union_sides_from=2"),
        slow("ska", "make", "-n", 2, "--form", "kg", "--form", "table", "--tokens", 2_000),
        slow("conv", "make", "-n", 2, "--turns", 3, "--configuration", "text-typos", "--configuration", "voice"),
    ],
    ids=lambda words: words[0],
)
def test_the_command_in_the_card_makes_the_same_files(
    here: Run, world_kb: Path, tmp_path: Path, command: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("world.kb").symlink_to(world_kb)
    made = here(*command[:2], "world.kb", *command[2:], "-o", "first")
    assert made.returncode == 0, made.stderr
    done = here("publish", "first", "-o", "shared", "--kb", "world.kb")
    assert done.returncode == 0, done.stderr
    again = here(*command_of(tmp_path / "shared"))
    assert again.returncode == 0, again.stderr
    shutil.rmtree("first/stages")
    shutil.rmtree("DATASET/stages")
    assert hashes(Path("DATASET")) == hashes(Path("first"))


# -- the card ---------------------------------------------------------------------------------------------------------


def test_the_card(folders: Path) -> None:
    card = (folders / "stark" / "README.md").read_text("utf-8")
    assert 'license_name: "CC0-1.0; facts' in card
    assert "Made without a language model" in card
    assert "| documents | " in card
    assert "## Known limits\n\n- " in card
    assert "unknown" not in card
    assert "made by another program" in (folders / "spinach" / "README.md").read_text("utf-8")


def test_what_the_user_states(folders: Path, tmp_path: Path, here: Run) -> None:
    stated = ("--name", "My set", "--licence", "CC-BY-4.0", "--creator", "Ann: & Co", "--url", "https://x.org/a")
    made = folders / "made" / "quest"
    done = here("publish", made, "-o", tmp_path / "out", *stated, "--date", "2026-01-31")
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert card.startswith('---\npretty_name: "My set"\nlicense: "cc-by-4.0"\n')
    assert "# My set\n" in card
    assert "- **Licence of the knowledge graph:** unknown\n- **Licence of the dataset:** CC-BY-4.0\n" in card
    about = json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))
    assert (about["license"], about["datePublished"], about["url"]) == ("CC-BY-4.0", "2026-01-31", "https://x.org/a")
    assert about["creator"]["name"] == "Ann: & Co"


@pytest.mark.parametrize(
    "values", [{"url": "javascript:x"}, {"date": "31.1.2026"}, {"name": "x" * 300}, {"licence": "\ud800"}]
)
def test_invalid_settings(values: dict[str, str]) -> None:
    with pytest.raises(BadInputError):
        PublishSettings(**values)


@given(st.text())
def test_texts_stay_texts(text: str) -> None:
    shown = markdown(text)
    assert not re.search(r"[<>\n\r]|(?<!\\)[*_`\[\]|#]", shown)
    assert "://" not in shown
    # JSON and YAML agree on such a scalar, unless a character is outside the first plane.
    if all(ord(c) < 0x10000 for c in text):
        assert json.loads(yaml_text(text)) == text
    assert re.fullmatch("[\x20-\x7e\xa0-\U0010ffff]*", yaml_text(text))


def test_hostile_texts(tmp_path: Path, world: KnowledgeBase) -> None:
    folder = tmp_path / "---\nlicense: mit\n<b>"
    folder.mkdir()
    titles = [*NAMES, "=1+1", "---", "-5 | x", "id\twith tab", " "]
    documents = [{"title": title, "text": f"{title}\n---\n<script>"} for title in titles]
    queries = [{"query": f"{title} ", "docs": [title]} for title in titles if title.strip()]
    (folder / "documents.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents), "utf-8")
    (folder / "test.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries), "utf-8")
    about = {"made_by": "```\n<b>", "kb": "$(rm -rf x); ```\n", "seed": 0, "count": 3, "domains": ["`x`\n---\n"]}
    (folder / "dataset.json").write_text(json.dumps(about), "utf-8")
    out = tmp_path / "out"
    publish(folder, out, world)
    corpus = rows(out, "corpus")["corpus"]
    assert corpus["title"].to_list() == titles
    assert corpus["_id"].to_list() == [f"d{number}" for number in range(len(titles))]
    judged = files.read_gold(out / "qrels" / "test.txt").judgements
    assert judged["node"].to_list() == [f"d{n}" for n, title in enumerate(titles) if title.strip()]
    card = (out / "README.md").read_text("utf-8")
    front, text = card.split("\n---\n", 1)
    assert "license: mit" not in front.splitlines()
    assert all(
        re.match(r"---$|( *- |  )*[a-z_]+: |( *- )*\"|[a-z_]+:$|  data_files:$", line) for line in front.splitlines()
    )
    assert "<" not in text
    assert text.count("```") == 4
    assert "'$(rm -rf x);" in text


def test_ids() -> None:
    assert safe_ids(pl.Series(["a", "b/c#1"]), "q").to_list() == ["a", "b/c#1"]
    for odd in (["a b"], ["a", "a"], ["=x"], ['"'], ["ü"], [""], ["a\n"]):
        assert safe_ids(pl.Series(odd), "q").to_list() == [f"q{number}" for number in range(len(odd))]


# -- scores -----------------------------------------------------------------------------------------------------------


def test_published_judgements_score_as_the_dataset(folders: Path, here: Run, tmp_path: Path) -> None:
    run = a_run(folders / "stark", tmp_path / "run.trec")
    measures = ("--measure", "ndcg@10", "--measure", "recall@20", "-f", "json")
    made = here("measure", "ranking", run, folders / "made" / "stark", "--split", "test", *measures)
    shared = here("measure", "ranking", run, folders / "stark" / "qrels" / "test.txt", *measures)
    assert made.returncode == shared.returncode == 0, made.stderr + shared.stderr
    assert json.loads(made.stdout) == json.loads(shared.stdout)


# -- errors -----------------------------------------------------------------------------------------------------------


def test_no_dataset(tmp_path: Path, here: Run) -> None:
    for path in (tmp_path / "none", tmp_path):
        done = here("publish", path, "-o", tmp_path / "out")
        assert done.returncode == 1
        assert "dataset" in done.stderr
        assert not (tmp_path / "out").exists()


def test_incomplete(world: KnowledgeBase, folders: Path, tmp_path: Path) -> None:
    (tmp_path / "made" / "stages").mkdir(parents=True)
    with pytest.raises(KbError, match="incomplete"):
        publish(tmp_path / "made", tmp_path / "out", world)
    quest = shutil.copytree(folders / "made" / "quest", tmp_path / "quest")
    lines = (quest / "documents.jsonl").read_text("utf-8").splitlines(keepends=True)
    (quest / "documents.jsonl").write_text("".join(lines[:5]), "utf-8")
    with pytest.raises(KbError, match="lacks it"):
        publish(quest, tmp_path / "out", world)
    (quest / "documents.jsonl").unlink()
    with pytest.raises(KbError, match=r"no documents\.jsonl"):
        publish(quest, tmp_path / "out", world)
    ska = shutil.copytree(folders / "made" / "ska", tmp_path / "ska")
    text = (ska / "instances.jsonl").read_text("utf-8")
    (ska / "instances.jsonl").write_text(text[: len(text) - 40], "utf-8")
    with pytest.raises(BadInputError, match="Invalid JSON"):
        publish(ska, tmp_path / "out", world)
    assert not (tmp_path / "out").exists()


def test_stark_needs_its_kb(folders: Path, small: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(KbError, match="no documents"):
        publish(folders / "made" / "stark", tmp_path / "out")
    with pytest.raises(KbError, match="None of the"):
        publish(folders / "made" / "stark", tmp_path / "out", small)


def test_existing_folders(folders: Path, tmp_path: Path, here: Run) -> None:
    made, out = folders / "made" / "conv", tmp_path / "out"
    out.mkdir()
    assert here("publish", made, "-o", out).returncode == 0  # an empty folder
    before = hashes(out)
    done = here("publish", made, "-o", out)
    assert (done.returncode, "--replace" in done.stderr) == (1, True)
    assert here("publish", made, "-o", out, "--replace", "--name", "other").returncode == 0
    assert hashes(out) != before
    for path in (made, tmp_path):
        kept = hashes(path)
        done = here("publish", made, "-o", path, "--replace")
        assert (done.returncode, "other files" in done.stderr) == (1, True)
        assert hashes(path) == kept
