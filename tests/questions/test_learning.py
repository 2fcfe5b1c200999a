"""Teaching a KB the words of its questions: synonyms, and weights learned from questions with answers."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.ingestion import recipe as recipes
from kbkit.kb import KnowledgeBase
from kbkit.questions import teaching
from kbkit.questions.learn import MIN_EXAMPLES, as_text, estimate, f1, interval, split
from kbkit.questions.taught import FILE, Taught
from tests.conftest import Run
from tests.console import good, one_line
from tests.wording import Wording

WORDS = {"r1": "painted", "r2": "bought", "r3": "stole", "r4": "repaired"}
"""What the relations mean, which their labels do not say."""
PAIRS = 40


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB whose relations r1 to r4 all lead from persons to things."""
    folder = tmp_path_factory.mktemp("learning")
    drawn = random.Random(5)
    people = [f"p{i},person,Ann{i} Falk\n" for i in range(40)]
    things = [f"t{i},thing,Vase{i} Blue\n" for i in range(60)]
    (folder / "nodes.csv").write_text("key,type,name\n" + "".join(people + things), encoding="utf-8")
    edges = {(f"p{i}", relation, f"t{drawn.randrange(60)}") for i in range(40) for relation in WORDS for _ in range(2)}
    lines = "".join(",".join(edge) + "\n" for edge in sorted(edges))
    (folder / "edges.csv").write_text("head,relation,tail\n" + lines, encoding="utf-8")
    kbkit.ingest("table", folder, out=folder / "x.kb", stores=["adjacency", "text"]).close()
    return folder / "x.kb"


@pytest.fixture
def kb(path: Path) -> Iterator[KnowledgeBase]:
    """The KB, to which nothing has been taught."""
    with kbkit.open(path) as opened:
        teaching.forget(opened.stores)
        yield opened
        teaching.forget(opened.stores)


def pairs(kb: KnowledgeBase, first: int, count: int) -> list[tuple[str, list[str]]]:
    """Return questions about persons from ``first`` on, with the right answers."""
    found = []
    for number in range(first, first + count):
        relation = list(WORDS)[number % 4]
        answers = kb.answers(f'person:"Ann{number} Falk" -> [{relation}] -> thing').nodes()["name"].to_list()
        found.append((f"Which things were {WORDS[relation]} by Ann{number} Falk?", answers))
    return found


def write(path: Path, examples: list[tuple[str, list[str]]]) -> Path:
    lines = (json.dumps({"question": question, "answers": answers}) for question, answers in examples)
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


def right(kb: KnowledgeBase, examples: list[tuple[str, list[str]]]) -> float:
    """Return the fraction of questions that are answered exactly."""
    return sum(set(kb.ask(q).nodes()["name"]) == {*answers} for q, answers in examples) / len(examples)


@pytest.mark.core
def test_learning_answers_held_out_questions(
    kb: KnowledgeBase, path: Path, here: Run, run: Run, tmp_path: Path
) -> None:
    unseen = [pair for pair in pairs(kb, 0, 40) if pair not in pairs(kb, 0, PAIRS)[:28]]
    examples = write(tmp_path / "pairs.jsonl", pairs(kb, 0, 28) * 2)
    before = right(kb, unseen)
    calls: list[tuple[int, int]] = []
    learned, kept = teaching.learn_from(kb.stores, examples, lambda done, total: calls.append((done, total)))
    assert kept
    assert learned.examples == 56
    assert learned.after > learned.before
    assert learned.topics == 28  # each question is in the file twice
    assert 0.8 < learned.low < learned.after <= learned.high
    assert calls == [(n, 56) for n in range(1, 57)]
    assert (path / "workspace" / FILE).is_file()
    assert Taught.of(kb.stores).learned == learned
    after = right(kb, unseen)  # at once
    assert before <= 0.5 < 0.8 <= after
    question, answers = unseen[0]
    found = {row["name"] for row in json.loads(good(run("ask", path, question, "-f", "json"), None))}
    assert found == {*answers}  # in a new process
    assert "Deleted" in here("ask", path, "--forget").stderr
    assert not (path / "workspace" / FILE).exists()
    with kbkit.open(path) as again:
        assert right(again, unseen) == before


def test_learning_is_reproducible(kb: KnowledgeBase, path: Path, tmp_path: Path) -> None:
    examples = write(tmp_path / "pairs.jsonl", pairs(kb, 0, MIN_EXAMPLES))
    first, _ = teaching.learn_from(kb.stores, examples)
    again, _ = teaching.learn_from(kb.stores, examples)  # it starts from the weights of kbkit, not from those learned
    assert first == again


def test_what_does_not_help_is_discarded(kb: KnowledgeBase, path: Path, here: Run, tmp_path: Path) -> None:
    wrong = [(question, ["Nothing of this name"]) for question, _ in pairs(kb, 0, MIN_EXAMPLES)]
    done = here("-q", "ask", path, "--learn", write(tmp_path / "pairs.jsonl", wrong))
    assert good(done).splitlines() == [
        "held-out questions with exactly the right answers: 0.000 before, 0.000 after",
        "95% interval of the latter: 0.000 to 0.278 (10 topics, none in two folds)",
        "discarded, because it does not improve the held-out questions",
    ]
    assert not (path / "workspace" / FILE).exists()


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "3",
        '{"question": "x"}',
        '{"question": 3, "answers": ["a"]}',
        '{"question": " ", "answers": ["a"]}',
        '{"question": "x", "answers": "a"}',
        '{"question": "x", "answers": []}',
    ],
)
def test_an_invalid_pair_names_its_line(kb: KnowledgeBase, line: str, tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.jsonl", pairs(kb, 0, 2))
    file.write_text(file.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"pairs\.jsonl, line 4"):
        teaching.learn_from(kb.stores, file)


def test_files_without_pairs(kb: KnowledgeBase, path: Path, here: Run, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.jsonl").write_text("")
    write(tmp_path / "few.jsonl", pairs(kb, 0, MIN_EXAMPLES - 1))
    write(tmp_path / "blank.jsonl", [("x", ["a"]), ("  ", ["a"])])
    for name in ("bytes", "empty", "few", "blank", "none"):
        wording(one_line(here("-q", "ask", path, "--learn", tmp_path / f"{name}.jsonl")), "cli")


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"3",
        b"\xff",
        b'{"synonyms": 5}',
        b'{"synonyms": {"r1": 5}}',
        b'{"learned": 5}',
        b'{"choices": 5}',
        b'{"choices": [["a"]]}',
        b'{"choices": [{"question": "a", "expression": 5, "when": "2025-01-02T03:04:05Z"}]}',
        b'{"choices": [{"question": "a", "expression": "b", "when": "\\u001b[2J"}]}',
        b'{"choices": [{"question": "\\ud800", "expression": "b", "when": "2025-01-02T03:04:05Z"}]}',
        b'{"learned": {"weights": {}, "words": [], "more": 1}}',
        b'{"learned": {"weights": {"hops": "x"}, "words": []}}',
        b'{"learned": {"weights": {"hops": NaN}, "words": []}}',
        b'{"learned": {"weights": {}, "words": [["a"]]}}',
        b'{"learned": {"weights": {}, "words": [["a", "r1", 0, null]]}}',
    ],
)
def test_a_corrupt_file_is_one_clear_error(kb: KnowledgeBase, path: Path, here: Run, content: bytes) -> None:
    (path / "workspace").mkdir(exist_ok=True)
    (path / "workspace" / FILE).write_bytes(content)
    with kbkit.open(path) as again, pytest.raises(KbError, match=rf"{FILE}.*Delete it"):
        again.ask("Who is Ann1 Falk?")
    assert "Deleted" in here("ask", path, "--forget").stderr


def test_weights_for_unknown_relations_and_places_are_ignored(path: Path, kb: KnowledgeBase) -> None:
    words = [["paint", "gone", 0, 5.0], ["paint", "r1", 99, 5.0], ["paint", "r1", -1, 5.0]]
    (path / "workspace").mkdir(exist_ok=True)
    (path / "workspace" / FILE).write_text(json.dumps({"learned": {"weights": {"gone": 1.0}, "words": words}}))
    question = pairs(kb, 0, 1)[0][0]
    with kbkit.open(path) as again:
        assert again.ask(question).expression == kb.ask(question).expression


def test_synonyms(kb: KnowledgeBase, path: Path, here: Run, wording: Wording) -> None:
    examples = pairs(kb, 0, 20)
    before = right(kb, examples)
    commands = [part for name, word in WORDS.items() for part in ("--synonym", f"{name.upper()}={word.upper()}")]
    done = here("ask", path, *commands)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"{name}: {word.upper()}" for name, word in WORDS.items()]
    assert Taught.of(kb.stores).synonyms == {name: [word] for name, word in WORDS.items()}
    with kbkit.open(path) as again:
        assert before < 0.5 < right(again, examples) == 1.0
    for name, word in (("r9", "x"), ("zz", "x"), ("r1", "two words"), ("r1", " ")):
        with pytest.raises(KbError) as caught:
            teaching.add_synonym(kb.stores, name, word)
        wording(str(caught.value))
        assert isinstance(caught.value, UnknownNameError) == (name not in WORDS)
    assert Taught.of(kb.stores).synonyms == {name: [word] for name, word in WORDS.items()}


def test_synonyms_survive_learning_and_another_generation(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "nodes.csv").write_text("key,type,name\na,person,Ann\nv,thing,Vase\nu,thing,Urn\n", encoding="utf-8")
    (source / "edges.csv").write_text("head,relation,tail\na,r1,v\na,r2,u\n", encoding="utf-8")
    for _ in range(2):
        out = tmp_path / "x.kb"
        with kbkit.ingest("table", source, out=out, stores=["adjacency", "text"], replace=True) as kb:
            teaching.add_synonym(kb.stores, "r2", "bought")
    with kbkit.open(out) as kb:
        assert kb.ask("What was bought by Ann?").nodes()["key"].to_list() == ["u"]


@pytest.mark.system
def test_the_estimate_of_held_out_questions_holds_for_new_ones(kb: KnowledgeBase, tmp_path: Path) -> None:
    """The interval includes what questions about other persons get, which the weights have not seen."""
    learned, _ = teaching.learn_from(kb.stores, write(tmp_path / "pairs.jsonl", pairs(kb, 0, 20) * 3))
    assert learned.topics == 20
    assert learned.low <= right(kb, pairs(kb, 20, 20)) <= learned.high


def test_questions_about_one_topic_are_in_one_fold() -> None:
    topics = ["a"] * 7 + ["b", "c", "d", "e", "f", "b", "c"]
    folds = split(topics)
    assert len({*zip(topics, folds, strict=True)}) == len({*topics})
    assert max(folds.count(fold) for fold in range(5)) == 7
    assert {*folds} == {*range(5)}


def test_the_penalty_of_a_fold_is_chosen_on_the_others() -> None:
    assert estimate(np.array([[5, 5], [1, 1]])) == 10
    # Fold 0: the second row has most elsewhere (8), and 0 there. Folds 1 and 2: the first row (9), and 0 there.
    assert estimate(np.array([[9, 0, 0], [0, 4, 4]])) == 0


def test_the_interval_is_wilsons() -> None:
    assert interval(0.8, 30) == pytest.approx((0.627, 0.905), abs=0.001)
    assert interval(1.0, 10) == pytest.approx((0.722, 1.0), abs=0.001)


def test_expressions_and_rows_of_sql_teach_the_same(kb: KnowledgeBase, tmp_path: Path) -> None:
    examples = pairs(kb, 0, 12)
    expected = teaching.read_pairs(kb.stores, write(tmp_path / "pairs.jsonl", examples))
    lines = []
    for number, (question, _) in enumerate(examples):
        expression = f'person:"Ann{number} Falk" -> [{list(WORDS)[number % 4]}] -> thing'
        lines.append(json.dumps({"question": question, "expression": expression}))
    (tmp_path / "expressions.jsonl").write_text("\n".join(lines))
    assert teaching.read_pairs(kb.stores, tmp_path / "expressions.jsonl") == expected
    rows = pl.DataFrame([(q, name) for q, names in examples for name in names], ["question", "answer"], orient="row")
    rows.write_csv(tmp_path / "rows.csv")
    assert teaching.read_pairs(kb.stores, tmp_path / "rows.csv") == expected
    (tmp_path / "value.jsonl").write_text('{"question": "How many?", "expression": "count(person)"}')
    assert teaching.read_pairs(kb.stores, tmp_path / "value.jsonl")[0].answers == {"40"}


def test_mistakes_in_expressions_and_rows(kb: KnowledgeBase, tmp_path: Path, wording: Wording) -> None:
    files = {
        "a.jsonl": '{"question": "x", "expression": "persn"}',
        "b.jsonl": '{"question": "x", "expression": "person{name = \\"Nobody\\"}"}',
        "c.jsonl": '{"question": "x", "expression": "person", "answers": ["a"]}',
        "d.csv": "question,answers\nx,a\n",
        "e.csv": "question,answer\nx,a\nx,\n",
        "f.csv": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(BadInputError) as caught:
            teaching.read_pairs(kb.stores, tmp_path / name)
        wording(str(caught.value))


def test_how_answers_are_compared() -> None:
    assert [as_text(value) for value in (3.0, 3.5, 3, "x")] == ["3", "3.5", "3", "x"]
    assert f1({"a", "b"}, frozenset({"a"})) == pytest.approx(2 / 3)
    assert f1(set(), frozenset({"a"})) == 0.0


@pytest.mark.parametrize(
    ("given", "question"),
    [
        ('words = ["helmed", "shot"]', "Who helmed Red Sky?"),
        ('phrases = { film = ["was helmed by", "has {} as its maker"] }', "Who helmed Red Sky?"),
        ('phrases = { film = ["was helmed by", "has {} as its maker"] }', "Who is the maker of Red Sky?"),
    ],
)
def test_a_recipe_gives_words(tmp_path: Path, given: str, question: str) -> None:
    recipe = shutil.copytree(recipes.load("table").folder, tmp_path / "recipe")
    with (recipe / "recipe.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[relations.r1]\n{given}\n")
    source = tmp_path / "films"
    source.mkdir()
    (source / "nodes.csv").write_text("key,type,name\na,person,Ann Lee\nb,film,Red Sky\n", encoding="utf-8")
    (source / "edges.csv").write_text("head,relation,tail\na,r1,b\n", encoding="utf-8")
    with kbkit.ingest(str(recipe), source, out=tmp_path / "films.kb") as kb:
        result = kb.ask(question)
        assert (result.expression, result.is_trusted) == ('film:"Red Sky" -> [r1] -> person', True)


def test_an_open_kb_learns_words_at_once_and_an_alias_means_all_its_nodes(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        "key,type,name,aliases\na,person,Ann Lee,Blue Fox\nb,person,Ann Ray,Blue Fox\n"
        "f,film,Red Sky,\ng,film,Green Sea,\n",
        encoding="utf-8",
    )
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,directed,f\nb,directed,g\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "films.kb") as kb:
        both = kb.ask("Which films did Blue Fox direct?")
        assert both.nodes()["name"].to_list() == ["Red Sky", "Green Sea"]
        assert kb.answers(both.expression, engine="sql").ids.tolist() == both.answers.ids.tolist()
        assert kb.ask("Who helmed Red Sky?").unexplained == ["helmed"]
        teaching.add_synonym(kb.stores, "directed", "helmed")
        assert kb.ask("Who helmed Red Sky?").unexplained == []
        teaching.forget(kb.stores)
        assert kb.ask("Who helmed Red Sky?").unexplained == ["helmed"]
