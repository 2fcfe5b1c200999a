"""Training without a model: pairs with hard negatives, splits, export, checkpoints, indexes, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.benchmarks import training_data
from kbkit.errors import KbError, LockedError, MissingExtraError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.search import model_folder, model_index
from kbkit.search.model_index import Rows, TextSource
from kbkit.search.node_texts import NodeTexts
from kbkit.search.ranking import Ranking
from kbkit.search.system_kinds import KINDS, RERANKER, kind_of, parse_name
from kbkit.search.training import examples, fit, late, work
from kbkit.search.training.questions import QuestionSplits, TrainingQuestion
from kbkit.search.training.settings import TrainingSettings
from tests.console import good
from tests.search import paraphrases


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paraphrases.folder(tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="module")
def kb(folder: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(folder / "places.kb") as opened:
        yield opened


@pytest.fixture(scope="module")
def splits(kb: KnowledgeBase, folder: Path) -> Iterator[QuestionSplits]:
    with training_data.opened(kb, folder / "questions.jsonl") as found:
        yield found


# -- pairs ------------------------------------------------------------------------------------------------------------


def test_negatives_are_the_best_by_full_text_that_are_no_answers(kb: KnowledgeBase, splits: QuestionSplits) -> None:
    made = examples.pairs(splits, TrainingSettings(depth=9), 3)
    assert {pair.question.id for pair in made} == {question.id for question in splits.train}
    for pair in made:
        hits = kb.search(pair.question.text, 9, "bm25", quotes=False)["id"].to_list()
        assert set(pair.negatives) <= set(hits) - set(pair.question.answers)
        assert [hits.index(node) for node in pair.negatives] == sorted(hits.index(node) for node in pair.negatives)
        assert pair.positive in pair.question.answers


@pytest.mark.parametrize(("count", "at_random", "best"), [(4, 0.5, 2), (5, 0.5, 3), (3, 1.0, 0)])
def test_some_negatives_are_drawn_from_all_nodes(
    kb: KnowledgeBase, splits: QuestionSplits, count: int, at_random: float, best: int
) -> None:
    elsewhere = 0
    for pair in examples.pairs(splits, TrainingSettings(depth=9), count, at_random):
        assert len(set(pair.negatives) - set(pair.question.answers)) == count
        hits = kb.search(pair.question.text, 9, "bm25", quotes=False)["id"].to_list()
        assert set(pair.negatives[:best]) <= set(hits)
        elsewhere += len(set(pair.negatives[best:]) - set(hits))
    assert elsewhere > 0.6 * (count - best) * len(splits.train)  # 36 of 45 nodes are no hits


def test_pairs_depend_on_the_seed_only(splits: QuestionSplits) -> None:
    made = [examples.pairs(splits, TrainingSettings(seed=seed), 2) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_missing_negatives_are_drawn_from_the_searched_nodes(splits: QuestionSplits) -> None:
    unknown = TrainingQuestion("q", "xylophone quartz", (3, 4, 5))
    few = dataclasses.replace(splits, train=[unknown], within=np.arange(12))
    made = examples.pairs(few, TrainingSettings(positives=2), 9)
    assert len(made) == 2
    for pair in made:
        assert sorted(pair.negatives) == [node for node in range(12) if node not in (3, 4, 5)]
    with pytest.raises(KbError, match="Too few nodes for 10 negatives"):
        examples.pairs(few, TrainingSettings(), 10)


@pytest.mark.parametrize("size", [0, 20, 30, 100])
def test_pool_has_all_answers_and_then_the_best_by_full_text(splits: QuestionSplits, size: int) -> None:
    settings = dataclasses.replace(TrainingSettings(), pool=size)
    answers = {node for question in splits.validation for node in question.answers}
    found = examples.pool(splits, settings).tolist()
    assert answers <= set(found)
    assert found == sorted(set(found)) == examples.pool(splits, settings).tolist()
    assert len(found) == min(len(paraphrases.PAIRS), max(size, len(answers)))
    if size == 20:
        best = {ids[0] for ids in examples.ranked(splits.stores, splits.validation, None, 1)}
        assert len(set(found) - answers - best) <= max(0, size - len(answers | best))


def test_export_writes_texts(here: Any, folder: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    notes = good(here("-q", "train", "late", kb.directory.path, folder / "questions.jsonl", "--export", out))
    assert notes == ""
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    texts = NodeTexts(kb.stores).of(range(len(paraphrases.PAIRS)))
    assert len(lines) == sum(number % 4 != 0 for number in range(len(paraphrases.PAIRS)))
    for line in lines:
        assert set(line) == {"id", "query", "positive", "negatives"}
        assert line["positive"] == texts[int(line["id"][1:])]
        assert len(line["negatives"]) == 1
        assert line["negatives"][0] in texts


def test_rerankers_read_candidates(splits: QuestionSplits) -> None:
    kind = kind_of("cross-encoder")
    assert kind is not None
    assert kind.role == RERANKER
    [with_relations] = fit.texts_of(kind, splits.stores, TrainingSettings(), [1])
    [alone] = fit.texts_of(kind, splits.stores, TrainingSettings(neighbours=False), [1])
    assert (alone, with_relations) == ("p1. amber and cedar", "p1. amber and cedar. next: p2. next: p0")


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_late_scores_are_sums_of_the_best_products(queries: list[int], texts: list[int]) -> None:
    rng = np.random.default_rng(len(queries) + 7 * len(texts))
    vectors = [[rng.normal(size=(count, 3)).astype(np.float32) for count in counts] for counts in (queries, texts)]
    wanted = [[sum(max(q @ t for t in text) for q in query) for text in vectors[1]] for query in vectors[0]]
    np.testing.assert_allclose(late.scores(*vectors), wanted, rtol=1e-4, atol=1e-5)


# -- questions --------------------------------------------------------------------------------------------------------


def test_questions_of_a_file(kb: KnowledgeBase, splits: QuestionSplits) -> None:
    assert len(splits.train) + len(splits.validation) == len(paraphrases.PAIRS)
    for question in (*splits.train, *splits.validation):
        [answer] = question.answers
        a, b = paraphrases.PAIRS[answer]
        assert paraphrases.QUESTION_WORDS[a] in question.text
        assert paraphrases.TEXT_WORDS[b] in question.text


@pytest.mark.system
@pytest.mark.parametrize("kind", ["quest", "stark"])
def test_questions_of_a_dataset_with_documents(kb: KnowledgeBase, tmp_path: Path, kind: str) -> None:
    """Its documents are the texts, and answers are found by title or by type and key."""
    count = len(paraphrases.PAIRS)
    write(tmp_path / "documents.jsonl", *({"title": f"p{at}", "text": f"document {at}"} for at in range(count)))
    parts = {"train": range(10, count), "val": range(10)}
    if kind == "quest":
        for split, numbers in parts.items():
            write(tmp_path / f"{split}.jsonl", *({"query": f"query {at}", "docs": [f"p{at}"]} for at in numbers))
    else:
        answers = [{"number": at, "type": "place", "key": f"p{at}"} for at in range(count)]
        write(tmp_path / "queries.jsonl", *({"id": at, "answers": [answers[at]]} for at in range(count)))
        files = {f"split/{split}.index": "".join(f"{at}\n" for at in numbers) for split, numbers in parts.items()}
        rows = "".join(f"{at},query {at},[{at}]\n" for at in range(count))
        for name, text in {"stark_qa/stark_qa.csv": f"id,query,answer_ids\n{rows}", **files}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
    with training_data.opened(kb, tmp_path) as found:
        questions = [*found.validation, *found.train]
        texts = NodeTexts(found.stores).of([answer for question in questions for answer in question.answers])
        assert [question.text for question in questions] == [f"query {at}" for at in range(count)]
        assert texts == [f"p{at}: document {at}" for at in range(count)]
        assert found.unknown == found.dropped == 0


def test_answers_that_are_not_in_the_kb_are_counted(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Over both splits: the answers, and the questions that are left without one."""
    answers = {"train": (["p1", "nobody"], ["no one"], ["nothing"]), "val": (["p2"], ["nobody"])}
    rows = [
        {"id": f"{split}{at}", "query": "amber", "relevant": keys, "split": split}
        for split, lists in answers.items()
        for at, keys in enumerate(lists)
    ]
    with training_data.opened(kb, write(tmp_path / "q.jsonl", *rows)) as found:
        assert (len(found.train), len(found.validation)) == (1, 1)
        assert (found.unknown, found.dropped) == (4, 3)


def test_scores_are_means_over_all_questions(splits: QuestionSplits) -> None:
    some = splits.validation[:2]
    right, nothing = Ranking(np.array([9, some[0].answers[0]]), np.array([2.0, 1.0])), Ranking(*np.empty((2, 0)))
    found = training_data.score(some, [right, nothing])
    assert found == {"mrr": 0.25, "hit@1": 0.0, "hit@5": 0.5, "recall@20": 0.5}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="\n")
    return path


TRAIN = {"id": "a", "query": "amber", "relevant": ["p1"], "split": "train"}
VALIDATION = {"id": "b", "query": "brook", "relevant": ["p9"], "split": "val"}


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ([{key: value for key, value in TRAIN.items() if key != "split"}], ()),
        ([VALIDATION], ()),
        ([TRAIN], ()),
        ([{**TRAIN, "relevant": ["nobody"]}, VALIDATION], ()),
        ([TRAIN, VALIDATION], ("--validation", "train")),
        ([TRAIN, VALIDATION], ("--epochs", "0")),
        ([TRAIN, VALIDATION], ("--loss", "best")),
        ([TRAIN, VALIDATION], ("--negatives", "101")),
    ],
    ids=["no splits", "no train", "no val", "no positives", "same split", "no epochs", "unknown loss", "negatives"],
)
def test_questions_that_nothing_is_learned_from(
    here: Any, kb: KnowledgeBase, tmp_path: Path, rows: list[dict[str, Any]], more: Sequence[str], wording: Any
) -> None:
    path, out = write(tmp_path / "q.jsonl", *rows), tmp_path / "pairs.jsonl"
    done = here("train", "biencoder", kb.directory.path, path, "--export", out, *more)
    assert done.returncode == 1
    assert not out.exists()
    wording(done.stderr, "cli")


def test_nothing_to_write_and_unknown_systems(here: Any, kb: KnowledgeBase, folder: Path, wording: Any) -> None:
    dataset = folder / "questions.jsonl"
    for system, more in (("biencoder", ()), ("bm25", ("--export", "x"))):
        done = here("train", system, kb.directory.path, dataset, *more)
        assert done.returncode == 1
        wording(done.stderr, "cli")


# -- names ------------------------------------------------------------------------------------------------------------


def test_settings_in_a_name() -> None:
    found = parse_name("late:my/model?probes=4&device=cpu")
    assert (found.model, found.chosen) == ("my/model", {"probes": 4, "device": "cpu"})
    assert found.settings == {"length": 0, "batch": 32, "device": "cpu", "bits": 4, "probes": 4, "full_scores": 4096}
    assert parse_name("llm:a?b@http://localhost/v1?x=1", RERANKER).model == "a?b@http://localhost/v1?x=1"


@pytest.mark.parametrize(
    "name",
    ["hybrid?", "hybrid?fusion=x", "hybrid?depth=0", "multivector?average=", "multivector?average=1.5", "bm25?k=1",
     "bm25:model", "biencoder", "biencoder:?length=1", "biencoder:m?zz=1", "late:m?bits=9", "nothing:m"],
)  # fmt: skip
def test_invalid_names(kb: KnowledgeBase, name: str, wording: Any) -> None:
    with pytest.raises(KbError) as caught:
        kb.search_many(["amber"], 3, name)
    wording(str(caught.value))


def test_settings_in_the_name_of_a_mode(small: KnowledgeBase) -> None:
    queries = ["river city", "old town"]
    named = small.search_many(queries, 5, "hybrid?fusion=rrf&rrf_k=1")
    assert named.equals(small.search_many(queries, 5, "hybrid", fusion="rrf", rrf_k=1))
    assert not named.equals(small.search_many(queries, 5, "hybrid"))


def test_commands_list_all_systems(here: Any) -> None:
    lists = [good(here(*command, "--systems")) for command in (["run"], ["stark", "run"], ["quest", "run"], ["train"])]
    assert len(set(lists)) == 1
    for kind in KINDS:
        assert f"\n{kind.form} " in lists[0]


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = dataclasses.replace(fit.trained_kind("late"), packages=("no_such_package",))
    with pytest.raises(MissingExtraError, match="needs the extra 'late'"):
        kind.require()
    monkeypatch.setattr(fit, "PACKAGES", ("no_training_package",))
    with pytest.raises(
        MissingExtraError, match=r"Training of the system late needs the extras 'train,late'.*\[train,late\]"
    ):
        fit.require(kind)
    with pytest.raises(MissingExtraError, match="Training of the system biencoder needs the extra 'train'"):
        fit.require(dataclasses.replace(fit.trained_kind("biencoder"), packages=("no_training_package",)))


# -- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        {"kbkit.json": {"version": 1, "system": "late"}},
        {"config_sentence_transformers.json": {"model_type": "SparseEncoder"}},
    ],
)
def test_a_model_of_another_system(tmp_path: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8", newline="\n")
    with pytest.raises(KbError, match=r"is a model for (late|splade), not for biencoder"):
        model_folder.opened(parse_name(f"biencoder:{tmp_path}"))


def test_a_broken_record_of_a_model(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"version": 0}'):
        (tmp_path / "kbkit.json").write_text(content, encoding="utf-8", newline="\n")
        with pytest.raises(KbError, match=r"Invalid file .*kbkit\.json"):
            model_folder.opened(parse_name(f"biencoder:{tmp_path}"))


def checkpoint(folder: Path, number: int, state: str | None, weights: bytes | None = b"w") -> Path:
    made = folder / f"checkpoint-{number}"
    made.mkdir(parents=True)
    if state is not None:
        (made / "trainer_state.json").write_text(state, encoding="utf-8", newline="\n")
    if weights is not None:
        (made / "model.safetensors").write_bytes(weights)
    return made


def test_a_training_continues_from_its_last_complete_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), work.opened(tmp_path / "m", {"seed": 1}) as place:
        assert place.checkpoint() is None
        first = checkpoint(
            place.folder, 9, '{"log_history": [{"epoch": 1.0, "eval_mrr": 0.5}, {"epoch": 1, "loss": 2}]}'
        )
        checkpoint(place.folder, 10, None)  # was being written when the training was killed
        place.write_start({"mrr": 0.25})
        raise RuntimeError
    with work.opened(tmp_path / "m", {"seed": 1}) as place:
        assert place.checkpoint() == first
        assert place.measures(first) == [{"epoch": 0, "mrr": 0.25}, {"epoch": 1, "mrr": 0.5, "loss": 2}]
        with pytest.raises(LockedError), work.opened(tmp_path / "m", {"seed": 1}):
            pass
        (place.folder / "checkpoint-11").mkdir()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("state", "weights"), [("{", b"w"), ("[]", b"w"), ('{"log_history": []}', None)])
def test_a_broken_checkpoint(tmp_path: Path, state: str, weights: bytes | None) -> None:
    place = work.TrainingWork(tmp_path, tmp_path)
    checkpoint(tmp_path, 3, state, weights)
    with pytest.raises(KbError, match=r"Broken checkpoint .*checkpoint-3"):
        place.checkpoint()


def test_other_settings_and_models_that_exist(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), work.opened(tmp_path / "m", {"seed": 1}) as place:
        checkpoint(place.folder, 1, '{"log_history": []}')
        raise RuntimeError
    with pytest.raises(KbError, match="other settings"), work.opened(tmp_path / "m", {"seed": 2}):
        pass
    with work.opened(tmp_path / "m", {"seed": 2}, replace=True) as place:
        assert place.checkpoint() is None
    (tmp_path / "m").mkdir()
    for replace in (False, True):  # not a model of kbkit train, so it is never replaced
        with pytest.raises(KbError, match="exists"), work.opened(tmp_path / "m", {}, replace=replace):
            pass
    with pytest.raises(KbError, match="does not exist"), work.opened(tmp_path / "no" / "m", {}):
        pass


# -- indexes ----------------------------------------------------------------------------------------------------------


class Lengths:
    """Codes that are the texts themselves."""

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        known = [] if old is None else json.loads((old / "texts.json").read_text(encoding="utf-8"))
        codes = [known[row] for row in kept.tolist()] + [text for batch in texts.batches() for text in batch]
        (folder / "texts.json").write_text(json.dumps(codes), encoding="utf-8", newline="\n")


def indexed(kb: KnowledgeBase, revision: str = "1") -> tuple[int, dict[int, str]]:
    """Return the number of texts that were encoded, and the code of each node."""
    settings = {"model": "m", "revision": revision}
    state = model_index.update(kb.stores, "biencoder", settings, Lengths(), relations=True)
    codes = json.loads((state.folder / "texts.json").read_text(encoding="utf-8"))
    return state.encoded, dict(zip(state.ids.tolist(), codes, strict=True))


def texts(kb: KnowledgeBase) -> dict[int, str]:
    ids = range(kb.schema.nodes)
    return dict(zip(ids, NodeTexts(kb.stores).of(ids), strict=True))


def test_an_index_encodes_only_what_has_changed(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "g.kb"
    source.mkdir()
    names = ["a", "b", "c", "d"]
    (source / "edges.csv").write_text("head,relation,tail\na,knows,b\n", encoding="utf-8", newline="\n")

    def build(rows: Sequence[str], about: str) -> None:
        nodes = "".join(f"{name},thing,{name}\n" for name in rows)
        (source / "nodes.csv").write_text(f"key,type,name\n{nodes}", encoding="utf-8", newline="\n")
        lines = "".join(f"{name},{about if name == 'd' else 'plain'}\n" for name in rows)
        (source / "texts.csv").write_text(f"key,text\n{lines}", encoding="utf-8", newline="\n")
        kbkit.ingest("table", source, out=out, replace=True, stores=("tables", "nodes")).close()

    build(names, "old")
    with KnowledgeBase(out) as kb:
        assert indexed(kb) == (4, texts(kb))
        assert indexed(kb) == (0, texts(kb))
    build(["Z", "a", "b", "d"], "new")  # ids change, c is gone, the text of d is another, a and b stay
    with KnowledgeBase(out) as kb:
        assert indexed(kb) == (2, texts(kb))
        assert indexed(kb, "2") == (4, texts(kb))
        assert len(list((out / "workspace" / "indexes").iterdir())) == 1  # no model has the weights of the first


def test_unknown_systems_of_a_training() -> None:
    with pytest.raises(UnknownNameError):
        fit.trained_kind("dense")
