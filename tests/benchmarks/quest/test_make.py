"""QUEST datasets made of the sample KB: files checked against the KB, resuming, models, invalid input."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.answers.sample_sets import Constraints, SampleRequest
from kbkit.benchmarks.documents import Document, TextPassage
from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.pipeline import locked
from kbkit.benchmarks.quest import sample
from kbkit.benchmarks.quest.categories import build
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.benchmarks.quest.draft import default_domains, with_domains
from kbkit.benchmarks.quest.grammar import grammar
from kbkit.benchmarks.quest.label import Labelling, by_matching
from kbkit.benchmarks.quest.make import make
from kbkit.benchmarks.quest.paraphrase import Parser
from kbkit.benchmarks.quest.records import split_of
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.benchmarks.quest.shown import CategoryCondition, Reader
from kbkit.errors import KbError, LockedError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.llm import recording
from kbkit.llm.cache import Cache
from kbkit.llm.calls import BudgetError, Calls
from kbkit.llm.client import ModelRequest as Call
from kbkit.llm.client import Reply, Usage
from kbkit.llm.recording import Replay
from kbkit.measures.files import read_gold, read_queries
from tests.conftest import Run
from tests.llm_server import Server, status
from tests.loops import each
from tests.wording import Wording

SETTINGS = QuestSettings(("country", "river"), count=42, seed=3, scale=True)
FILES = (
    *("train.jsonl", "val.jsonl", "test.jsonl", "queries.jsonl"),
    *("documents.jsonl", "documents.nodes.jsonl", "dataset.json"),
)
QUEST = {"query", "docs", "original_query", "scores", "metadata"}
RATINGS = {"relevance_ratings", "evidence_ratings", "attributions"}
METADATA = {"template", "domain", "fluency", "meaning", "naturalness", *RATINGS}


OPS = {
    "_": "",
    "_ or _": "|",
    "_ that are also _": "&",
    "_ that are not _": "-",
    "_ or _ or _": "||",
    "_ that are also both _ and _": "&&",
    "_ that are also _ but not _": "&-",
}
"""The operations of each template, from left to right."""


def joined(op: str, left: set[int], right: set[int]) -> set[int]:
    return left & right if op == "&" else left - right if op == "-" else left | right


def combined(ops: str, parts: list[set[int]]) -> set[int]:
    whole = parts[0]
    for op, part in zip(ops, parts[1:], strict=True):
        whole = joined(op, whole, part)
    return whole


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def queries(out: Path) -> list[dict[str, Any]]:
    return rows(out / "queries.jsonl")


def content(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def made(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quest") / "made"
    make(world, out, SETTINGS)
    return out


# -- what the files say -----------------------------------------------------------------------------------------------


def test_every_answer_satisfies_its_expression(world: KnowledgeBase, made: Path) -> None:
    """Recomputed by SPARQL; without a model none is removed."""
    for row in each(queries(made)):
        nodes = world.answers(row["expression"], engine="sparql").nodes()
        expected = {(kind, key) for kind, key in nodes.select("type", "key").iter_rows()}
        answers = {(node["type"], node["key"]) for node in row["answer_nodes"]}
        assert answers == expected
        assert 2 <= len(answers) <= 20
        assert {kind for kind, _ in answers} == {row["metadata"]["domain"]}


def test_sides_meet_the_constraints_that_the_dataset_names(world: KnowledgeBase, made: Path) -> None:
    about = json.loads((made / "dataset.json").read_text(encoding="utf-8"))
    used = {(row["domain"], row["template"]): row["constraints"] for row in about["report"]["shapes"]}
    for row in each(queries(made)):
        sets = [set(world.answers(part["expression"]).ids.tolist()) for part in row["categories"]]
        template = row["metadata"]["template"]
        bounds = Constraints(**used[row["metadata"]["domain"], template])
        whole = sets[0]
        for op, other in zip(OPS[template], sets[1:], strict=True):
            assert bounds.allow(op, len(whole), len(other), len(whole & other))
            assert whole & other
            whole = joined(op, whole, other)
        assert whole == set(world.answers(row["expression"]).ids.tolist())
        assert len({frozenset(part) for part in sets}) == len(sets)


def test_records_are_consistent(made: Path) -> None:
    known = {row["phrase"]: row["expression"] for row in rows(made / "stages" / "1_categories.jsonl")[1:]}
    names = {row["title"]: row for row in rows(made / "documents.nodes.jsonl")}
    found = queries(made)
    assert len({row["id"] for row in found}) == len({row["query"] for row in found}) == len(found)
    for row in found:
        assert not leaks(row["query"], row["docs"])
        shape = grammar().shape(row["metadata"]["template"])
        parts = [part["expression"] for part in row["categories"]]
        assert row["expression"] == shape.expression(parts)
        assert Parser(known).parse(row["query"]) == shape.expression([parts[i] for i in shape.ordered(parts)])
        phrases = [part["phrase"] for part in row["categories"]]
        assert row["original_query"] == shape.marked(phrases)
        assert row["original_query"].count("<mark>") == len(phrases)
        assert [names[title]["key"] for title in row["docs"]] == [node["key"] for node in row["answer_nodes"]]
        assert row["scores"] is None


def test_labels_quote_the_documents(made: Path) -> None:
    texts = {row["title"]: f"{row['title']}\n{row['text']}" for row in rows(made / "documents.jsonl")}
    kinds: Counter[str] = Counter()
    for row in queries(made):
        metadata = row["metadata"]
        assert list(metadata["relevance_ratings"]) == list(metadata["evidence_ratings"]) == row["docs"]
        for title in row["docs"]:
            [rating], [evidence] = metadata["relevance_ratings"][title], metadata["evidence_ratings"][title]
            [marks] = metadata["attributions"][title]
            last = row["categories"][-1]["phrase"] if " not " in metadata["template"] else ""
            assert rating == (3 if evidence == "complete" and last not in marks else 2)
            assert bool(marks.keys() - {last}) == (evidence != "none")
            assert all(span in texts[title] for span in marks.values())
            assert all(phrase in row["original_query"] for phrase in marks)
            kinds[evidence] += 1
    assert set(kinds) == {"complete"}


def test_splits(made: Path) -> None:
    found = {split: [q for q in queries(made) if q["split"] == split] for split in ("train", "val", "test")}
    keys = [
        {(row["metadata"]["template"], frozenset(p["phrase"] for p in row["categories"])) for row in part}
        for part in found.values()
    ]
    assert sum(map(len, keys)) == len(keys[0] | keys[1] | keys[2]) == sum(map(len, found.values()))
    assert all(row["split"] == split for split, part in found.items() for row in part)
    assert abs(len(found["test"]) - sum(map(len, found.values())) / 2) <= 7
    assert found["val"]


def test_split_fractions_of_each_shape() -> None:
    """Of 200 queries a shape: 100 for testing, 80 for training, 20 for validation."""
    for shape in range(7):
        assert Counter(split_of(7 * turn + shape) for turn in range(200)) == {"test": 100, "train": 80, "val": 20}


def test_the_files_have_the_keys_that_quest_reads_and_no_others(made: Path) -> None:
    """Its reader builds ``Example(**record)``, ``ExampleMetadata(**metadata)`` and ``Document(**record)``."""
    whole = {row["id"]: row for row in queries(made)}
    for split in ("train", "val", "test"):
        of_split = [row for row in whole.values() if row["split"] == split]
        published = rows(made / f"{split}.jsonl")
        assert published == [{key: row[key] for key in row if key in QUEST} for row in of_split]
        assert all(set(row) == QUEST and set(row["metadata"]) == METADATA for row in published)
        assert [e.id for e in QuestDataset.open(made).read(split)] == [row["id"] for row in of_split]
        assert [e.expression for e in QuestDataset.open(made).read(split)] == [row["expression"] for row in of_split]
        assert read_gold(made / f"{split}.jsonl").queries["query"].to_list() == [row["id"] for row in of_split]
    assert all(set(row) == {"title", "text"} for row in rows(made / "documents.jsonl"))
    found = QuestDataset.open(made).documents()
    assert found is not None
    wanted = [(row["title"], row["type"], row["key"]) for row in rows(made / "documents.nodes.jsonl")]
    assert found.select("title", "type", "key").collect().rows() == wanted


def test_the_files_load_in_other_readers(made: Path) -> None:
    gold = read_gold(made / "test.jsonl")
    assert read_queries(made / "test.jsonl")["text"].to_list() == [row["query"] for row in rows(made / "test.jsonl")]
    assert {"template", "domain", "expression", "split"} <= set(gold.queries.columns)
    assert gold.judgements.height == sum(len(row["docs"]) for row in rows(made / "test.jsonl"))
    dataset = QuestDataset.open(made)
    assert [example.docs for example in dataset.read("test")] == [tuple(r["docs"]) for r in rows(made / "test.jsonl")]


# -- the same again ---------------------------------------------------------------------------------------------------


def test_an_interrupted_run_gives_the_same_bytes(world: KnowledgeBase, made: Path, tmp_path: Path) -> None:
    """Also where a run was stopped: half a table, half a line."""
    again = tmp_path / "again"
    (again / "stages").mkdir(parents=True)
    for name in ("1_categories", "1_families", "2_shapes", "2_queries"):
        shutil.copy(made / "stages" / f"{name}.jsonl", again / "stages")
    half = (made / "stages" / "3_paraphrases.jsonl").read_bytes()
    (again / "stages" / "3_paraphrases.jsonl").write_bytes(half[: len(half) // 2])
    make(world, again, SETTINGS)
    assert content(again) == content(made)


def test_another_seed_makes_other_queries(world: KnowledgeBase, made: Path, tmp_path: Path) -> None:
    other = QuestSettings(("country", "river"), count=14, seed=4, scale=True)
    with pytest.raises(KbError, match=r"count was 42, now 14|seed was 3, now 4"):
        make(world, made, other)
    make(world, tmp_path, other)
    assert not {row["query"] for row in queries(tmp_path)} <= {row["query"] for row in queries(made)}


# -- sampling ---------------------------------------------------------------------------------------------------------


def test_every_category_of_a_query_matters(world: KnowledgeBase) -> None:
    """Against sets of Python's: without any one of its categories an expression has other answers."""
    found = build(world, "country")
    matrix = found.sets.matrix
    assert matrix is not None
    known = 0
    loose = Constraints(0, 0, 1000, 1000, 1.0, 1, 1.1)
    for shape in grammar().shapes[1:]:
        picked, answers, _ = sample.candidates(found, shape, SampleRequest(1, 1, 2, 20, constraints=loose))
        known += bool(len(picked))
        ops = OPS[shape.template]
        for place in range(0, len(picked), 1 + len(picked) // 200):
            parts = [set(matrix[[i]].indices.tolist()) for i in picked[place].tolist()]
            whole = combined(ops, parts)
            assert whole == set(answers[[place]].indices.tolist())
            assert 2 <= len(whole) <= 20
            for gone in range(ops == "-", len(parts)):  # what A - B is without A, nobody asks
                left = ops[: gone - 1] + ops[gone:] if gone else ops[1:]
                assert combined(left, parts[:gone] + parts[gone + 1 :]) != whole
    assert known > 4


def test_too_few_queries_name_the_constraint(world: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(KbError) as error:
        make(world, tmp_path / "out", QuestSettings(("river",), count=70, scale=False))
    assert "river, '_ that are also _': " in error.value.message
    assert "of 10 possible, intersection_sides_over=50 binds (without it" in error.value.message
    assert "scale_constraints" in error.value.hint
    assert not (tmp_path / "out").exists()


def test_the_limit_of_the_sampler_is_reported(world: KnowledgeBase) -> None:
    found, shape = build(world, "country"), grammar().shape("_ or _ or _")
    asked = SampleRequest(1, 1, 2, 20, constraints=Constraints())
    first, second = (sample.candidates(found, shape, replace(asked, count=count)) for count in (1, 8_000))
    assert first.more
    assert second.more
    assert len(first.rows) <= len(second.rows) and len(second.rows)
    assert sample.binding(found, shape, asked) == "of 20,000 expressions, the maximum that is tried"


def test_parts_of_a_union_are_of_one_family(world: KnowledgeBase) -> None:
    found, shape = build(world, "country"), grammar().shape("_ or _")
    rows = sample.candidates(found, shape, SampleRequest(1, 1, 2, 20, constraints=Constraints())).rows
    kinds = [{found.items[number].family for number in row} for row in rows.tolist()]
    assert len(kinds) > 10
    assert all(len(kind) == 1 for kind in kinds)
    assert len({next(iter(kind)) for kind in kinds}) > 2
    assert not any("borders" in next(iter(kind)) for kind in kinds)


def test_evidence_of_texts_and_of_facts_is_counted_apart(made: Path) -> None:
    records = [json.loads(line) for line in (made / "queries.jsonl").read_text().splitlines()]
    documents = map(json.loads, (made / "documents.jsonl").read_text().splitlines())
    texts = {row["title"]: row["text"].split("\n")[0] for row in documents}
    spans = {"of texts": 0, "of facts": 0}
    for record in records:
        for title, [marks] in record["metadata"]["attributions"].items():
            for phrase, quote in marks.items():
                is_fact = phrase in record["fact_evidence"].get(title, ())
                spans["of facts" if is_fact else "of texts"] += 1
                assert is_fact or quote == title or quote in texts[title]
    report = json.loads((made / "dataset.json").read_text())["report"]
    assert report["evidence spans"] == spans
    assert spans["of texts"] and spans["of facts"]


# -- the folder -------------------------------------------------------------------------------------------------------


def test_replace_removes_nothing_before_queries_are_drawn(world: KnowledgeBase, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    for settings in (QuestSettings(("river",), count=70, scale=False), QuestSettings(("land",))):
        with pytest.raises(KbError):
            make(world, out, settings, replace=True)
        assert content(out) == content(made)
    make(world, out, QuestSettings(("country",), count=7, seed=4, scale=True), replace=True)
    assert len(queries(out)) == 7


def test_a_foreign_dataset_is_not_overwritten(world: KnowledgeBase, tmp_path: Path, wording: Wording) -> None:
    for name in ("train.jsonl", "documents.jsonl"):
        folder = tmp_path / Path(name).stem
        folder.mkdir()
        (folder / name).write_text("theirs\n", encoding="utf-8")
        with pytest.raises(KbError) as error:
            make(world, folder, SMALL)
        wording(str(error.value), replace={str(tmp_path): "DIR"})
        assert content(folder) == {name: b"theirs\n"}
    make(world, tmp_path / "train", SMALL, replace=True)
    assert len(queries(tmp_path / "train")) == 7


def test_two_runs_do_not_write_to_one_folder(world: KnowledgeBase, tmp_path: Path, wording: Wording) -> None:
    out = tmp_path / "deep" / "out"
    with locked(out):
        with pytest.raises(LockedError) as error:
            make(world, out, SMALL)
        wording(str(error.value), replace={str(tmp_path): "DIR"})
        assert content(out) == {"stages/lock": b""}
    assert not (tmp_path / "deep").exists()


# -- models -----------------------------------------------------------------------------------------------------------


class Scripted:
    """A model whose answers are computed from the question."""

    def __init__(self, name: str, change: Callable[[dict[str, Any]], Any] = lambda asked: None) -> None:
        self.name, self.change, self.asked = name, change, 0

    def complete(self, request: Call) -> Reply:
        self.asked += 1
        asked = json.loads(request.messages[1].content)
        value = self.change(asked)
        if value is None and "document" in asked:
            text = asked["document"]["text"].split(".")[0]
            marks = [{"phrase": phrase, "quote": text} for phrase in asked["phrases"]]
            value = {"rating": 3, "evidence": "complete", "attributions": marks}
        elif value is None and "original" in asked:
            value = {"fluent": True, "same_meaning": True, "natural": True}
        elif value is None:
            value = {"query": f"I look for {asked['query']}"}
        return Reply(value if isinstance(value, str) else json.dumps(value), Usage(10, 5))


SMALL = QuestSettings(("country",), count=7, seed=1, scale=True)


def test_a_model_words_votes_and_labels(world: KnowledgeBase, tmp_path: Path) -> None:
    def change(asked: dict[str, Any]) -> Any:
        if "document" not in asked:
            return None
        if asked["document"]["title"] == "France":
            return {"rating": 1, "evidence": "none", "attributions": []}
        quotes = [{"phrase": asked["phrases"][0], "quote": "words that no document has"}]
        return {"rating": 2, "evidence": "partial", "attributions": quotes}

    first, second = Scripted("first", change), Scripted("second")
    calls = Calls([first, second], Cache(None))
    done = make(world, tmp_path / "out", SMALL, calls)
    assert [len(rows(tmp_path / "out" / f"{s}.jsonl")) for s in ("train", "val", "test")] == [3, 0, 4]
    for row in done.records:
        assert row["query"].startswith("I look for countries")
        metadata = row["metadata"]
        assert metadata["fluency"] == metadata["meaning"] == metadata["naturalness"] == [True] * 3
        assert "France" not in row["docs"]
        assert all(metadata["evidence_ratings"][title] == ["partial"] for title in row["docs"])
        assert all(metadata["attributions"][title] == [{}] for title in row["docs"])
    assert done.report["quotes that are not in the document"] >= done.report["answers"]
    assert second.asked > 0
    about = json.loads((tmp_path / "out" / "dataset.json").read_text(encoding="utf-8"))
    assert about["models"] == ["first", "second"]
    # The recorded calls make the same again, byte for byte.
    recording.write(calls.cache.rows(), tmp_path / "calls.jsonl")
    replayed = [Replay(name, tmp_path / "calls.jsonl") for name in ("first", "second")]
    make(world, tmp_path / "replayed", SMALL, Calls(replayed, Cache(None)))
    assert content(tmp_path / "replayed") == content(tmp_path / "out")


def test_queries_voted_down_are_replaced(world: KnowledgeBase, tmp_path: Path) -> None:
    """Two of three find queries on languages unnatural; the third vote alone would keep them."""

    def change(asked: dict[str, Any]) -> Any:
        if "original" in asked and "official" in asked["original"]:
            return {"fluent": True, "same_meaning": True, "natural": False}
        return None

    no, yes = Scripted("no", change), Scripted("yes")
    done = make(world, tmp_path / "out", SMALL, Calls([no, yes], Cache(None)))
    dropped = [row for row in rows(tmp_path / "out" / "stages" / "4_validated.jsonl")[1:] if "dropped" in row]
    assert dropped
    assert all(row["naturalness"] == [False, True, False] for row in dropped)
    assert done.report["dropped"]["it was voted down for naturalness"] == len(dropped)
    assert len(done.records) == 7
    assert not any("official" in row["query"] for row in done.records)


def test_invalid_answers_are_counted(world: KnowledgeBase, tmp_path: Path) -> None:
    broken = Scripted("broken", lambda asked: "{" if "document" not in asked and "original" not in asked else None)
    with pytest.raises(KbError, match="queries remains"):
        make(world, tmp_path / "out", SMALL, Calls([broken], Cache(None)))
    kept = rows(tmp_path / "out" / "stages" / "3_paraphrases.jsonl")[1:]
    assert all(row["dropped"].startswith("the model's paraphrase is invalid: ") for row in kept)


def test_a_run_continues_after_the_budget_is_spent(world: KnowledgeBase, tmp_path: Path) -> None:
    """What was paid is not paid again, and the result is that of one run."""
    cache = tmp_path / "calls.sqlite"
    model = Scripted("m")
    with pytest.raises(BudgetError):
        make(world, tmp_path / "out", SMALL, Calls([model], Cache(cache), budget=200, workers=1))
    spent = model.asked
    assert spent
    make(world, tmp_path / "out", SMALL, Calls([model], Cache(cache)))
    whole = Scripted("m")
    make(world, tmp_path / "whole", SMALL, Calls([whole], Cache(None)))
    assert model.asked == whole.asked
    assert content(tmp_path / "out") == content(tmp_path / "whole")


# -- evidence ---------------------------------------------------------------------------------------------------------


def test_evidence_can_be_required(world: KnowledgeBase, tmp_path: Path) -> None:
    bare = QuestSettings(("river",), count=70, seed=4, scale=True, facts="never", require="none", alike=70)
    everything = make(world, tmp_path / "bare", bare).report["evidence"]
    assert everything["none"]
    assert everything["complete"] + everything["partial"]
    strict = replace(bare, require="complete")
    done = make(world, tmp_path / "strict", strict)
    assert done.records
    ratings = [e for r in done.records for found in r["metadata"]["evidence_ratings"].values() for e in found]
    assert set(ratings) == {"complete"}
    assert done.report["answers removed"]


WAR = CategoryCondition("films in the War genre", "War", "in the genre It is in the genre .")


@pytest.mark.parametrize(
    ("condition", "text", "shows"),
    [
        (WAR, "It is in the genres Action and War.", True),
        (WAR, "A war film about a lost ship.", True),
        (WAR, "Two films of war.", False),
        (CategoryCondition("films in Polish", "Polish", "in It is in .\tIt is in {names}."), "A Polish film.", True),
        (CategoryCondition("films in Polish", "Polish", "in It is in .\tIt is in {names}."), "It is in Polish.", False),
        (WAR, "A treasure among war ruins.", False),
        (WAR, "The warden of a genre.", False),
        (CategoryCondition("films directed by Ann Lee", "Ann Lee", "directed by"), "It was directed by Ann Lee.", True),
        (CategoryCondition("films directed by Ann Lee", "Ann Lee", "directed by"), "Ann Lee sings.", False),
        (CategoryCondition("films directed by Ann Lee", "Ann Lee", "directed by"), "Lee directed Ann.", False),
        (CategoryCondition("films from 1994", "1994", "from Its year is ."), "Its year is 1994.", True),
        (CategoryCondition("films from 1994", "1994", "from Its year is ."), "In 1994 she left.", False),
        (CategoryCondition("French war films", "French war films"), "One of the French war films of its day.", True),
        (CategoryCondition("French war films", "French war films"), "A French film about the war.", False),
    ],
)
def test_sentences_that_show_a_category(
    world: KnowledgeBase, condition: CategoryCondition, text: str, shows: bool
) -> None:
    """A name alone is no evidence, nor are the words of a phrase that do not stand together."""
    document = Document(0, "film", "x", "X", (TextPassage("plot", f"Nothing. {text} The end."),), ())
    span = Reader(world.text).shown(condition, document)
    assert (span.text if span else None) == (text if shows else None)


def test_weak_counter_evidence(world: KnowledgeBase) -> None:
    """A river that no longer flows into the Aral Sea may be called one that does."""
    text = TextPassage("article", "It flows through Uzbekistan and once flowed into the Aral Sea.")
    document = Document(0, "river", "syr", "Syr Darya", (text,), ())
    yes = CategoryCondition("rivers that flow through Uzbekistan", "Uzbekistan", "that flow through")
    no = CategoryCondition("rivers that flow into the Aral Sea", "Aral Sea", "that flow into")
    asked = [Labelling("q", document, (yes,), (no,))]
    [label] = by_matching(Reader(world.text), asked)
    assert (label.rating, label.evidence) == (2, "complete")
    assert label.attributions == {yes.phrase: text.text}  # what speaks against an answer is no evidence for it
    [strict] = by_matching(Reader(world.text), asked, strict=True)
    assert strict == label._replace(rating=1)
    [plain] = by_matching(Reader(world.text), [asked[0]._replace(negative=())])
    assert (plain.rating, plain.evidence) == (3, "complete")


def test_without_evidence_there_are_no_labels(world: KnowledgeBase, tmp_path: Path) -> None:
    done = make(
        world, tmp_path / "out", QuestSettings(("country",), count=7, seed=1, scale=True, texts=False, require="none")
    )
    assert all(not row["metadata"]["relevance_ratings"] for row in each(done.records))
    for row in done.records:
        assert len(row["docs"]) == len(world.answers(row["expression"]))


# -- wrong input, commands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"domains": ("country", "country")},
        {"count": 0},
        {"min_answers": 0},
        {"min_answers": 9, "max_answers": 8},
        {"require": "all"},
        {"require": "partial", "texts": False},
        {"facts": "sometimes"},
        {"augmented": -1},
    ],
)
def test_invalid_settings(options: dict[str, Any], wording: Wording) -> None:
    with pytest.raises(KbError) as error:
        QuestSettings(**{"domains": ("country",), **options})
    wording(str(error.value))


def test_types_with_texts_are_the_default_domains(world: KnowledgeBase) -> None:
    completed = with_domains(world, QuestSettings(count=7))
    assert completed == QuestSettings(default_domains(world), count=7)
    assert completed.domains
    assert with_domains(world, SMALL) is SMALL


def test_invalid_domains(world: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="'land'"):
        make(world, tmp_path / "out", QuestSettings(("land",)))
    with pytest.raises(KbError, match="type year"):
        make(world, tmp_path / "out", QuestSettings(("year",)))


@pytest.mark.core
def test_make_command(here: Run, world_kb: Path, tmp_path: Path) -> None:
    arguments = ("quest", "make", world_kb, "--type", "country", "-n", 7, "-o")
    strict = ("--constraint", "difference_sides_over=90", "--no-scale-constraints")
    short = here(*arguments, tmp_path / "out", *strict)
    assert short.returncode == 1
    assert "country, '_ that are not _': 0 of 1 possible" in short.stderr
    done = here(*arguments, tmp_path / "out", *strict[:2])
    assert done.returncode == 0, done.stderr
    assert "country:<country> -> [borders] -> country" in done.stdout
    assert "constraints scaled down for country, '_ that are not _': difference_sides_over=" in done.stdout
    assert "7 queries (" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*FILES, "stages"}
    again = here("-q", *arguments, tmp_path / "out", "--replace", "--seed", 1)
    assert (again.returncode, again.stdout) == (0, "")


def test_documents_command(here: Run, world_kb: Path, tmp_path: Path) -> None:
    done = here("quest", "documents", world_kb, "--type", "river", "-o", tmp_path / "documents.jsonl")
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "documents.jsonl")
    assert f"{len(found)} documents, 0 of them without text" in done.stderr
    assert set(found[0]) == {"title", "text"}
    nodes = rows(tmp_path / "documents.nodes.jsonl")
    assert [row["title"] for row in nodes] == [row["title"] for row in found]
    assert set(nodes[0]) == {"title", "type", "key"}


def test_an_endpoint_that_rejects_the_call(here: Run, world_kb: Path, tmp_path: Path) -> None:
    with Server(otherwise=status(401)) as server:
        arguments = ("--type", "country", "--llm", f"m@{server.url}", "-o", tmp_path / "out")
        done = here("quest", "make", world_kb, "-n", 7, "--scale-constraints", *arguments)
    assert done.returncode == 1
    assert server.url in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--type", "land"),
        ("--type", "country", "--facts", "some"),
        ("--type", "country", "--augmented", "-1"),
        ("--type", "country", "--constraint", "sides=3"),
        ("--type", "country", "--constraint", "union_sides_from=x"),
        ("--type", "country", "--phrases", "none.toml"),
        ("--type", "country", "--category-file", "none.tsv"),
    ],
)
def test_command_errors(
    here: Run, world_kb: Path, tmp_path: Path, arguments: tuple[str, ...], wording: Wording
) -> None:
    done = here("quest", "make", world_kb, "-n", 7, "--scale-constraints", "-o", tmp_path / "out", *arguments)
    assert done.returncode == 1
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})
    assert "Traceback" not in done.stderr


def test_documents_of_a_type_without_categories(here: Run, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + "".join(f"n{i},note,Note {i}\n" for i in range(4)))
    (tmp_path / "edges.csv").write_text("head,relation,tail\nn0,follows,n1\n")
    (tmp_path / "texts.csv").write_text("key,field,text\n" + "".join(f"n{i},body,Text {i}.\n" for i in range(4)))
    kbkit.ingest("table", tmp_path, out=tmp_path / "n.kb").close()
    done = here("quest", "documents", tmp_path / "n.kb", "-t", "note", "-o", tmp_path / "documents.jsonl")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "documents.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == [f"Text {i}." for i in range(4)]
