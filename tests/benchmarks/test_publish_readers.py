"""The libraries that people use load published folders unchanged, and score a run alike.

They are the extra ``publish``; a test is skipped without its library. stark-qa needs versions of its own: see
``tests/benchmarks/stark/test_official.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kbkit.measures import files
from kbkit.measures.ranking import measure
from tests.benchmarks.published import BENCHMARKS, RETRIEVAL, SPARQL, a_run

pytestmark = pytest.mark.system
STARK = os.environ.get("STARK_QA_PYTHON", "")
SCRIPT = Path(__file__).parent / "stark" / "stark_package.py"
CUTS = (1, 10, 20, 1000)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the libraries from the network, and their caches in the folder of the test."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    for name in ("HF_HOME", "MTEB_CACHE", "IR_DATASETS_HOME", "CROISSANT_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def tables(folder: Path) -> dict[str, dict[str, pl.DataFrame]]:
    found: dict[str, dict[str, pl.DataFrame]] = {}
    for path in sorted(folder.glob("data/*/*.parquet")):
        found.setdefault(path.parent.name, {})[path.stem] = pl.read_parquet(path)
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# -- loaders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BENCHMARKS)
def test_hugging_face_datasets(folders: Path, name: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    folder, cache = folders / name, str(tmp_path / "cache")
    expected = tables(folder)
    assert sorted(datasets.get_dataset_config_names(str(folder))) == sorted(expected)
    for config, splits in expected.items():
        loaded = datasets.load_dataset(str(folder), config, cache_dir=cache)
        assert set(loaded) == set(splits)
        for split, frame in splits.items():
            assert loaded[split].column_names == frame.columns
            assert loaded[split].to_list() == frame.to_dicts()
            types = {str(getattr(feature, "dtype", "list")) for feature in loaded[split].features.values()}
            assert types <= {"string", "int64", "bool", "list"}
    first = datasets.load_dataset(str(folder), cache_dir=cache)  # the default configuration
    assert set(first) <= {"train", "val", "test", "dev"}


def test_the_card_is_yaml(folders: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs the package huggingface_hub")
    for name in BENCHMARKS:
        data = hub.DatasetCard.load(folders / name / "README.md").data.to_dict()
        assert data["pretty_name"] == ("own_dev" if name == "spinach" else name)
        assert data["language"] == ["en"]
        assert {one["config_name"] for one in data["configs"]} == set(tables(folders / name))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_croissant(folders: Path, name: str) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="needs the package mlcroissant")
    folder = folders / name
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    assert all("datePublished" in text for text in map(str, issues.warnings))
    expected = {
        (table if len(splits) == 1 else f"{table}/{split}"): frame
        for table, splits in tables(folder).items()
        for split, frame in splits.items()
    }
    assert {one.id for one in dataset.metadata.record_sets} == set(expected)
    for records, frame in expected.items():
        found = [{key.removeprefix(f"{records}/"): text(one[key]) for key in one} for one in dataset.records(records)]
        assert found == frame.to_dicts()


def text(value: Any) -> Any:
    """Return a value of a record: mlcroissant has texts as bytes."""
    if isinstance(value, bytes):
        return value.decode()
    return [text(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", RETRIEVAL)
def test_beir(folders: Path, name: str) -> None:
    loaders = pytest.importorskip("beir.datasets.data_loader", reason="needs the package beir")
    folder = folders / name
    for split in ("train", "val", "test"):
        corpus, queries, qrels = loaders.GenericDataLoader(str(folder)).load(split=split)
        assert corpus == {
            one["_id"]: {"text": one["text"], "title": one["title"]} for one in lines(folder / "corpus.jsonl")
        }
        own = {one["_id"]: one["text"] for one in lines(folder / "queries.jsonl") if one["split"] == split}
        assert queries == own
        assert qrels == judgements(folder, split)


def judgements(folder: Path, split: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query, document, score in tables(folder)["default"][split].iter_rows():
        found.setdefault(query, {})[document] = score
    return found


def mteb_task(folder: Path, name: str) -> Any:
    pytest.importorskip("mteb", reason="needs the package mteb")
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    about = TaskMetadata(
        name=f"Own{name}",
        description="A published dataset",
        dataset={"path": str(folder), "revision": "local"},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["val", "test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
    )
    return type(f"Own{name}", (AbsTaskRetrieval,), {"metadata": about})()


@pytest.mark.parametrize("name", RETRIEVAL)
def test_mteb(folders: Path, name: str) -> None:
    folder = folders / name
    task = mteb_task(folder, name)
    task.load_data()
    corpus = lines(folder / "corpus.jsonl")
    for split in ("val", "test"):
        loaded = task.dataset["default"][split]
        assert loaded["relevant_docs"] == judgements(folder, split)
        assert [(one["id"], one["title"], one["text"]) for one in loaded["corpus"]] == [
            (one["_id"], one["title"], one["text"]) for one in corpus
        ]
        own = {one["_id"]: one["text"] for one in lines(folder / "queries.jsonl") if one["split"] == split}
        assert {one["id"]: one["text"] for one in loaded["queries"]} == own


@pytest.mark.parametrize("name", RETRIEVAL)
def test_ir_datasets(folders: Path, name: str, tmp_path: Path) -> None:
    ir = pytest.importorskip("ir_datasets", reason="needs the package ir_datasets")
    from ir_datasets.datasets import beir as formats
    from ir_datasets.formats import JsonlDocs, JsonlQueries, TrecQrels
    from ir_datasets.util.download import LocalDownload

    folder = folders / name
    documents = JsonlDocs(
        LocalDownload(folder / "corpus.jsonl"),
        formats.BeirTitleDoc,
        mapping={"doc_id": "_id", "text": "text", "title": "title"},
        docstore_path=str(tmp_path / "docs.pklz4"),
    )
    queries = JsonlQueries(LocalDownload(folder / "queries.jsonl"), mapping={"query_id": "_id", "text": "text"})
    qrels = TrecQrels(LocalDownload(folder / "qrels" / "test.txt"), {1: "answer"})
    ir.registry.register(f"own/{name}", ir.Dataset(documents, queries, qrels))
    dataset = ir.load(f"own/{name}")
    corpus = lines(folder / "corpus.jsonl")
    assert [(one.doc_id, one.title, one.text) for one in dataset.docs_iter()] == [
        (one["_id"], one["title"], one["text"]) for one in corpus
    ]
    assert dataset.docs_store().get(corpus[3]["_id"]).text == corpus[3]["text"]
    assert {one.query_id: one.text for one in dataset.queries_iter()} == {
        one["_id"]: one["text"] for one in lines(folder / "queries.jsonl")
    }
    assert dataset.qrels_dict() == judgements(folder, "test")


@pytest.mark.skipif(not STARK, reason="STARK_QA_PYTHON names no Python with the package stark-qa")
def test_stark_package(folders: Path) -> None:
    request = {"request": "questions", "folder": str(folders / "stark"), "name": "original", "human": False}
    done = subprocess.run(
        [STARK, str(SCRIPT)], input=json.dumps(request), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = json.loads(done.stdout)
    expected = {split: judgements(folders / "stark", split) for split in ("train", "val", "test")}
    for split, own in expected.items():
        rows = [loaded["rows"][position] for position in loaded["splits"][split]]
        assert {str(number): {str(answer): 1 for answer in answers} for _, number, answers in rows} == own


# -- scores -----------------------------------------------------------------------------------------------------------


def floats(*values: float) -> list[float]:
    return [float(value) for value in values]


@pytest.mark.parametrize("name", RETRIEVAL)
def test_all_libraries_score_alike(folders: Path, name: str, tmp_path: Path) -> None:
    """nDCG@10, recall@20, MRR and P@1 of one run over the published judgements."""
    folder = folders / name
    path, gold = a_run(folder, tmp_path / "run.trec"), folder / "qrels" / "test.txt"
    own = files.read_gold(gold)
    run = files.read_run(path, own)
    scores = measure(run, own, ["ndcg@10", "recall@20", "mrr", "precision@1"])
    ours = floats(*(scores[column].mean() for column in scores.columns[1:]))
    assert len(ours) == 4
    assert all(0 < value < 1 for value in ours)
    results: dict[str, dict[str, float]] = {}
    for query, document, score in run.iter_rows():
        results.setdefault(query, {})[document] = score
    found = {
        reader.__name__: reader(path, gold, results, folder)
        for reader in (ranx_scores, ir_measures_scores, beir_scores, mteb_scores)
    }
    known = {reader: values for reader, values in found.items() if values is not None}
    if not known:
        pytest.skip("needs one of ranx, ir_measures, beir and mteb")
    for reader, values in known.items():  # BEIR and mteb give five digits
        assert values == pytest.approx(ours, rel=0, abs=1e-5), reader


Results = dict[str, dict[str, float]]


def ranx_scores(path: Path, gold: Path, results: Results, folder: Path) -> list[float] | None:
    try:
        import ranx
    except ImportError:
        return None
    names = ["ndcg@10", "recall@20", "mrr", "precision@1"]
    scores = ranx.evaluate(ranx.Qrels.from_file(str(gold)), ranx.Run.from_file(str(path)), names)
    return floats(*(scores[name] for name in names))


def ir_measures_scores(path: Path, gold: Path, results: Results, folder: Path) -> list[float] | None:
    try:
        import ir_measures
        from ir_measures import RR, P, R, nDCG
    except ImportError:
        return None
    names = [nDCG @ 10, R @ 20, RR, P @ 1]
    judged, run = ir_measures.read_trec_qrels(str(gold)), ir_measures.read_trec_run(str(path))
    scores = ir_measures.calc_aggregate(names, judged, run)
    return floats(*(scores[name] for name in names))


def beir_scores(path: Path, gold: Path, results: Results, folder: Path) -> list[float] | None:
    try:
        from beir.datasets.data_loader import GenericDataLoader
        from beir.retrieval.evaluation import EvaluateRetrieval
    except ImportError:
        return None
    _, _, qrels = GenericDataLoader(str(folder)).load(split="test")
    ndcg, _, recall, precision = EvaluateRetrieval.evaluate(qrels, results, list(CUTS), ignore_identical_ids=False)
    mrr = EvaluateRetrieval.evaluate_custom(qrels, results, list(CUTS), metric="mrr")
    return floats(ndcg["NDCG@10"], recall["Recall@20"], mrr["MRR@1000"], precision["P@1"])


def mteb_scores(path: Path, gold: Path, results: Results, folder: Path) -> list[float] | None:
    try:
        from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores
    except ImportError:
        return None
    task = mteb_task(folder, folder.name)
    task.load_data()
    scores = calculate_retrieval_scores(results, task.dataset["default"]["test"]["relevant_docs"], CUTS)
    return floats(scores.ndcg["NDCG@10"], scores.recall["Recall@20"], scores.mrr["MRR@1000"], scores.precision["P@1"])


def test_sparql_questions_are_whole(folders: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    loaded = datasets.load_dataset(str(folders / "spinach"), "questions", split="dev")
    assert loaded["sparql"][:] == [one["sparql"] for one in SPARQL]


def test_kbkit_imports_none_of_them() -> None:
    code = (
        "import sys, kbkit.benchmarks.published; print([n for n in ('datasets', 'mteb', 'ranx') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
