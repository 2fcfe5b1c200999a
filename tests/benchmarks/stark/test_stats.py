"""Statistics of STaRK datasets: by hand on small ones, on the published one, and as commands."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.benchmarks.stark import dataset as datasets
from kbkit.benchmarks.stark import stats
from kbkit.errors import KbError
from kbkit.measures.frames import Gold
from tests.conftest import Done
from tests.wording import Wording

Here = Callable[..., Done]

SMALL = """\
id,query,answer_ids
0,a b a b,"[1, 2, 3]"
1,a  b,[4]
2,"c
D","[5, 6]"
7,c,[]
"""


def write(folder: Path, table: str = SMALL, splits: dict[str, str] | None = None, records: Any = None) -> Path:
    (folder / "stark_qa").mkdir(parents=True)
    (folder / "stark_qa" / "stark_qa.csv").write_text(table, encoding="utf-8")
    for name, ids in (splits or {}).items():
        (folder / "split").mkdir(exist_ok=True)
        (folder / "split" / f"{name}.index").write_text("\n".join(ids.split()) + "\n", encoding="utf-8")
    if records is not None:
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / "queries.jsonl").write_text(text, encoding="utf-8")
    return folder


def words(*counts: tuple[str, int, int]) -> list[dict[str, Any]]:
    return [{"id": name, "relational_words": r, "textual_words": t, "query": "..."} for name, r, t in counts]


@pytest.fixture
def small(tmp_path: Path) -> stats.StarkStatistics:
    folder = write(
        tmp_path / "small",
        splits={"train": "0 1", "test": "7", "test-0.1": "7"},
        records=words(("0", 1, 3), ("1", 1, 1), ("2", 0, 0), ("9", 5, 0)),
    )
    return stats.statistics(datasets.read_datasets(folder))


# -- by hand ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_table_3(small: stats.StarkStatistics) -> None:
    # query 2 is in no split, and there is no val
    assert small.counts.rows() == [("small", 4, 2, 1.5, 0.5, None, 0.25)]


def test_table_4(small: stats.StarkStatistics) -> None:
    # a 3, b 3, c 2, D 1 of 9
    entropy = -(2 * 3 / 9 * math.log2(3 / 9) + 2 / 9 * math.log2(2 / 9) + 1 / 9 * math.log2(1 / 9))
    assert small.diversity.rows() == [("small", 9, 4, pytest.approx(entropy), pytest.approx(4 / 9), 0)]


def test_repeated_sequences_of_four_words() -> None:
    import polars as pl

    texts = ["Rivers of Chad, please: all", "rivers of Chad please", "of Chad please", None]
    queries = pl.DataFrame({"query": ["0", "1", "2", "3"], "text": texts})
    gold = Gold(pl.DataFrame(schema={"query": pl.String, "node": pl.String, "relevance": pl.Int64}), queries)
    [repeated] = stats.diversity(datasets.StarkDataset("d", gold, None))["repeated_4grams"]
    assert repeated == pytest.approx(2 / 3)  # "rivers of chad please" twice, "of chad please all" once


def test_figure_4(small: stats.StarkStatistics) -> None:
    assert small.lengths.rows() == [("small", "words", 2.25, 2.0, 4.0, 4), ("small", "answers", 1.5, 1.5, 3.0, 3)]
    answers = small.distribution.filter(of="answers")
    assert answers["bin"].to_list() == ["0", "1", "2", "3-5", "6-10", "11-20", "21-30", "31-50", "51+"]
    assert answers["queries"].to_list() == [1, 1, 1, 1, 0, 0, 0, 0, 0]
    assert answers["share"].to_list()[:5] == [0.25, 0.25, 0.25, 0.25, 0]


def test_figure_5(small: stats.StarkStatistics) -> None:
    # 1/4 and 1/2; query 2 has no such words, and query 9 is none of the dataset's
    assert small.composition.rows() == [("small", 2, 0.375, 0.625)]


def test_figure_5_of_requirements_as_text(tmp_path: Path) -> None:
    """For published datasets: the parts of some of their queries, as a person marked them."""
    parts = [
        {"id": "0", "relational": "by Radio Flyer", "textual": ["sturdy", "easy to carry"]},
        {"id": 7, "relational": [], "textual": "red"},
    ]
    found = stats.statistics(datasets.read_datasets(write(tmp_path / "small", records=parts)))
    assert found.composition.rows() == [("small", 2, pytest.approx(3 / 7 / 2), pytest.approx((4 / 7 + 1) / 2))]


@given(st.lists(st.integers(0, 120), min_size=1, max_size=40))
def test_bins(lengths: list[int]) -> None:
    import polars as pl

    queries = pl.DataFrame({"query": [str(i) for i in range(len(lengths))], "text": [" w" * n for n in lengths]})
    gold = Gold(pl.DataFrame(schema={"query": pl.String, "node": pl.String, "relevance": pl.Int64}), queries)
    found = stats.statistics([datasets.StarkDataset("d", gold, None)])

    def bin_of(length: int) -> str:
        if length <= 5 or length > 50:
            return "0-5" if length <= 5 else "51+"
        return next(f"{high - 4}-{high}" for high in range(10, 55, 5) if length <= high)

    expected = Counter(map(bin_of, lengths))
    bins = found.distribution.filter(of="words")
    assert {name: n for name, n in bins.select("bin", "queries").iter_rows() if n} == dict(expected)
    assert bins["queries"].sum() == len(lengths)


@given(st.lists(st.text(st.sampled_from("aAbß,.\u00a0 \t\n"), max_size=12), min_size=1, max_size=12))
def test_diversity_property(texts: list[str]) -> None:
    import polars as pl

    queries = pl.DataFrame({"query": [str(i) for i in range(len(texts))], "text": texts})
    gold = Gold(pl.DataFrame(schema={"query": pl.String, "node": pl.String, "relevance": pl.Int64}), queries)
    counts = Counter(" ".join(texts).split())
    tokens = counts.total()
    [(_, n, v, entropy, ratio, _)] = stats.diversity(datasets.StarkDataset("d", gold, None)).rows()
    assert (n, v) == (tokens, len(counts))
    if tokens:
        assert ratio == pytest.approx(len(counts) / tokens)
        assert entropy == pytest.approx(-sum(c / tokens * math.log2(c / tokens) for c in counts.values()))
    else:
        assert (entropy, ratio) == (None, None)


def test_several_datasets_and_human_questions(tmp_path: Path) -> None:
    first, second = write(tmp_path / "one"), write(tmp_path / "more" / "one")
    human = second / "stark_qa" / "stark_qa_human_generated_eval.csv"
    human.write_text("id,query,answer_ids,answer_ids_source\n0,who?,[1],[1]\n", encoding="utf-8")
    names = [dataset.name for dataset in datasets.read_all([first, second])]
    assert names == [str(first), str(second), f"{second} human"]
    (second / "stark_qa" / "stark_qa.csv").unlink()
    [alone] = datasets.read_all([second])
    assert (alone.name, alone.human, alone.gold.queries.height) == ("one", True, 1)
    assert [dataset.name for dataset in datasets.read_datasets(human)] == ["stark_qa_human_generated_eval"]


def names_of(*paths: Path) -> list[str]:
    return [dataset.name for dataset in datasets.read_all(paths)]


def test_datasets_have_distinct_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = write(tmp_path / "a"), write(tmp_path / "b")
    csv = Path("stark_qa") / "stark_qa.csv"
    assert names_of(one, tmp_path / "b" / ".." / "a", one) == ["a"]
    assert names_of(one / csv, two / csv) == [str(one / csv), str(two / csv)]
    assert names_of(one / "stark_qa", one / csv) == [str(one / "stark_qa"), str(one / csv)]
    assert names_of(one, one / csv) == ["a", "stark_qa"]
    (one / "stark_qa" / "stark_qa_human_generated_eval.csv").write_text("id,query,answer_ids\n0,w,[1]\n")
    other = write(tmp_path / "c" / "a human")
    assert names_of(one, other) == [str(one), f"{one} human", str(other)]
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a human")
    assert names_of(Path("a"), Path("a human")) == ["a", "a human", "a human (2)"]


def test_datasets_with_the_same_name(here: Here, tmp_path: Path) -> None:
    write(tmp_path / "d")
    paths = ("d", "./d", "d/stark_qa", "d/stark_qa/stark_qa.csv")
    done = here("-q", "stark", "stats", *paths, "-f", "table", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    header = next(line for line in done.stdout.splitlines() if line.startswith("answers"))
    assert header.split() == ["answers", "d", "d/stark_qa", "d/stark_qa/stark_qa.csv"]


def test_remarks(tmp_path: Path) -> None:
    without = write(tmp_path / "bare")
    split = write(tmp_path / "split", splits={"train": "0 1 2"}, records=words(("0", 1, 1)))
    assert stats.remarks(datasets.read_all([without, split])) == [
        "bare: no queries.jsonl, so its relational and textual words are unknown (figure 5)",
        "bare: no split/*.index",
        "split: 1 of 4 queries are in no split",
    ]


# -- the published one ------------------------------------------------------------------------------------------------


def test_amazon(shared_data: Path) -> None:
    found = stats.statistics(datasets.read_datasets(shared_data / "stark_qa" / "amazon"))
    made, human = found.counts.rows()
    # Table 3: 9,100; 7,082; 17.99 (the published file holds 18.28); 0.65 / 0.17 / 0.18. And 81; 64; 19.50.
    assert made[:3] == ("amazon", 9100, 7082)
    assert made[3] == pytest.approx(18.2816, abs=1e-4)
    assert [round(share, 2) for share in made[4:]] == [0.65, 0.17, 0.18]
    assert human[:3] == ("amazon human", 81, 64)
    assert round(human[3], 2) == 19.49
    assert human[4:] == (None, None, None)
    # Table 4
    [entropy, _] = found.diversity["entropy"]
    assert round(entropy, 2) == 10.39
    assert round(found.diversity["type_token_ratio"][0], 3) == 0.11
    # section 2.5: about 22 % of the queries have more than 30 answers
    answers = found.distribution.filter(of="answers", dataset="amazon")
    assert round(answers["share"][-2:].sum(), 2) == 0.22


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_json_output(here: Here, tmp_path: Path) -> None:
    write(tmp_path / "d", splits={"test": "0 1 2 7"}, records=words(("0", 1, 3)))
    done = here("stark", "stats", "d", "-f", "ndjson", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {tuple(row) for row in rows} == {("dataset", "metric", "at", "value")}
    assert {row["metric"]: row["value"] for row in rows if row["at"] is None} == {
        "queries": 4, "several_answers": 2, "average_answers": 1.5, "train": None, "val": None, "test": 1,
        "tokens": 9, "types": 4, "entropy": pytest.approx(1.8911, abs=1e-4), "type_token_ratio": pytest.approx(4 / 9),
        "repeated_4grams": 0,
        "mean_of_words": 2.25, "median_of_words": 2, "p90_of_words": 4, "most_of_words": 4,
        "mean_of_answers": 1.5, "median_of_answers": 1.5, "p90_of_answers": 3, "most_of_answers": 3,
        "relational": 0.25, "textual": 0.75,
    }  # fmt: skip
    by = [(row["at"], row["value"]) for row in rows if row["metric"] == "queries_by_answers"]
    assert by[:4] == [("0", 1), ("1", 1), ("2", 1), ("3-5", 1)]


@pytest.mark.system
def test_screen_output_and_plot(here: Here, tmp_path: Path) -> None:
    write(tmp_path / "d", splits={"test": "0 1 2 7"}, records=words(("0", 1, 3)))
    done = here("stark", "stats", "d", "-f", "table", "--plot", "out.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "out.svg: 3 charts\n")
    titles = [line for line in done.stdout.splitlines() if line.startswith(("Table", "Figure"))]
    assert titles == [
        "Table 3: queries and answers",
        "Table 4: diversity of the queries",
        "Figure 4: lengths",
        "Figure 4: queries by number of words, in percent",
        "Figure 4: queries by number of answers, in percent",
        "Figure 5: relational and textual words",
    ]
    drawn = (tmp_path / "out.svg").read_text(encoding="utf-8")
    for text in ("Words per query", "Answers per query", "Relational and textual words", "textual"):
        assert text in drawn


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"stark_qa/stark_qa.csv": ""},
        {"stark_qa/stark_qa.csv": "id,query,answer_ids\n"},
        {"stark_qa/stark_qa.csv": SMALL, "split/test.index": "0\n8\n"},
        {"stark_qa/stark_qa.csv": SMALL, "queries.jsonl": '{"id": 0, "relational_words": 1}\n'},
        {"stark_qa/stark_qa.csv": SMALL, "queries.jsonl": '{"id": 0, "relational_words": -1}\n'},
        {
            "stark_qa/stark_qa.csv": SMALL,
            "queries.jsonl": "".join(json.dumps(record) + "\n" for record in words(("0", 1, 1), ("0", 9, 1))),
        },
        {"stark_qa/stark_qa.csv": SMALL, "queries.jsonl": '{"id": null}\n'},
        {"stark_qa/stark_qa.csv": SMALL, "queries.jsonl": '{"id": 0, "relational": [1], "textual": ""}\n'},
    ],
)
def test_errors(here: Here, tmp_path: Path, files: dict[str, str], wording: Wording) -> None:
    (tmp_path / "d").mkdir()
    for name, text in files.items():
        path = tmp_path / "d" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = here("stark", "stats", "d", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})


def test_invalid_plot_format(here: Here, tmp_path: Path) -> None:
    done = here("stark", "stats", "nothing", "--plot", "out.gif", cwd=tmp_path)
    assert done.returncode == 1
    assert "'.gif'" in done.stderr


# -- Table 2 ----------------------------------------------------------------------------------------------------------


def test_table_2(here: Here, world_kb: Path) -> None:
    done = here("info", world_kb, "--stark", "-f", "ndjson")
    assert done.returncode == 0
    with kbkit.open(world_kb) as kb:
        nodes, edges = (kb.sql(f"SELECT count(*) FROM {table}").item() for table in ("nodes", "edges"))
        texts = kb.sql("SELECT text FROM texts")["text"].to_list()
        types = kb.sql("SELECT count(DISTINCT type) FROM nodes").item()
        relations = kb.sql("SELECT count(DISTINCT relation) FROM edges").item()
    assert json.loads(done.stdout) == {
        "entity_types": types,
        "relation_types": relations,
        "average_degree": round(2 * edges / nodes, 1),
        "entities": nodes,
        "relations": edges,
        "tokens": sum(len(text.split()) for text in texts),
    }


def test_an_empty_dataset_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KbError, match="No queries of"):
        datasets.read_datasets(write(tmp_path / "d", "id,query,answer_ids\n"))
