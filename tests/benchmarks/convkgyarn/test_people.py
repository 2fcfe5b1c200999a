"""People judge conversations: rate and compare in a terminal's place, their tables, ConvQuestions, proxies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kbkit.benchmarks.convkgyarn import proxies, ratings, references
from kbkit.benchmarks.convkgyarn.conversations import read_conversations
from kbkit.benchmarks.convkgyarn.paper import DIMENSIONS
from kbkit.benchmarks.convkgyarn.ratings import COMPARE, RATE, Rated
from kbkit.kb import KnowledgeBase
from tests.benchmarks.convkgyarn import data as conv_data
from tests.conftest import Run
from tests.loops import each
from tests.wording import Wording


@pytest.fixture(scope="module")
def dataset(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return conv_data.dataset(world, tmp_path_factory.mktemp("people") / "c.jsonl", 6)


def question(text: str, answer: str = "a") -> dict[str, Any]:
    return {
        "turn": 0,
        "question_id": "0-0",
        "question": text,
        "answer": "https://www.wikidata.org/wiki/Q1",
        "answer_text": answer,
    }


def convquestions(path: Path) -> Path:
    """A file in the form of ConvQuestions: two entities of the dataset (one by another name), and one that it lacks."""
    rows = [
        ("France", "Q142", ["Which city is France's capital?", "and its money?", "how big?"]),
        ("brazil", "Q155", ["What borders Brazil?"]),
        ("Narnia", "Q999", ["Who rules Narnia?", "since when?"]),
    ]
    records = [
        {
            "conv_id": str(number),
            "domain": "places",
            "seed_entity": f"https://www.wikidata.org/wiki/{key}",
            "seed_entity_text": name,
            "questions": [question(text) for text in questions],
        }
        for number, (name, key, questions) in enumerate(rows)
    ]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# -- rate -------------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_three_raters_rate_the_same_conversations_and_table_2_follows(here: Run, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "ratings.jsonl"
    answers = {"ann": "4 5 2 4", "bob": "4 3 2 5", "cy": "1 4 2 3"}
    for rater, given_ in answers.items():
        typed = "\n".join(given_.split() * 16) + "\n"
        done = here("conv", "rate", dataset, "-o", out, "--rater", rater, "-n", 1, stdin=typed)
        assert done.returncode == 0, done.stderr
        assert "16 of 16" in done.stdout
        assert "Poor" in done.stdout
    rows = lines(out)
    items = [[row["item"][1] for row in rows if row["who"] == rater] for rater in answers]
    assert items[0] == items[1] == items[2]
    assert len({*items[0]}) == 16
    done = here("conv", "ratings", out, "--table", 2, "-f", "json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert [row["figures"] for row in table] == ["here", "paper"] * 16
    assert all(row["agreement"] is not None for row in table)
    for row in table[::2]:
        assert [row[name] for name in DIMENSIONS] == pytest.approx([3, 4, 2, 4])
        assert row["agreement"] == pytest.approx(50)  # fluency and diversity of four
    shown = here("conv", "ratings", out)
    assert "3.00 (3.97)" in shown.stdout
    assert "Table 3" not in shown.stdout


def test_a_rater_can_stop_resume_correct_a_slip_and_opt_out(here: Run, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    command = ("conv", "rate", dataset, "-o", out, "--rater", "ann", "-n", 1)
    first = here(*command, stdin="9\nyes\n5\n4\n3\n2\no\n1\n2\nq\n")
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("Enter 1 Poor") == 2
    rated, out_row = ratings.read_rated([out])
    assert rated.values == dict(zip(DIMENSIONS, (5, 4, 3, 2), strict=True))
    assert out_row.values == {}
    second = here(*command, stdin="1\n1\n1\n1\n")  # then the input ends
    assert "2 of 16 conversations done" in second.stderr
    assert "3 of 16" in second.stdout
    assert len({one.item for one in ratings.read_rated([out])}) == 3
    done = here("conv", "ratings", out)
    assert "1 conversation judgement left out because the rater opted out" in done.stderr
    assert "2 conversations with fewer than 3 raters" in done.stderr


def test_the_entrance_test(here: Run, dataset: Path, tmp_path: Path) -> None:
    expert, out = tmp_path / "expert.jsonl", tmp_path / "r.jsonl"
    made = here(
        "conv", "rate", dataset, "-o", expert, "--rater", "expert", "-n", 1, stdin="5\n5\n5\n5\n1\n1\n1\n1\nq\n"
    )
    assert made.returncode == 0, made.stderr
    tested = {one.item for one in ratings.read_rated([expert])}
    assert len(tested) == 2
    command = ("conv", "rate", dataset, "-o", out, "-n", 1, "--entrance", expert)
    incomplete = here(*command, "--rater", "ann", stdin="5\n5\n5\n5\nq\n")
    assert incomplete.returncode == 1
    assert "not complete" in incomplete.stderr
    passed = here(*command, "--rater", "ann", stdin="2\n2\n2\n2\n3\n3\n3\n3\nq\n")
    assert passed.returncode == 0, passed.stderr
    assert "Entrance test passed: 100 % of 8 values agree" in passed.stderr
    found = ratings.read_rated([out])
    assert {one.item for one in found if one.test} == tested
    assert tested.isdisjoint(one.item for one in found if not one.test)
    failed = here(*command, "--rater", "bob", stdin="5\n5\n5\n5\n5\n5\n5\n5\n")
    assert failed.returncode == 1
    assert "Entrance test not passed: 50 % of 8 values agree. At least 70 % must agree." in failed.stderr
    assert not [one for one in ratings.read_rated([out]) if one.rater == "bob" and not one.test]
    again = here(*command, "--rater", "bob", stdin="1\n")  # the test is not repeated
    assert again.returncode == 1
    assert "not passed" in again.stderr


def test_the_sample_is_uniform_over_configurations(dataset: Path) -> None:
    known = list(read_conversations(dataset))
    drawn = ratings.sample(known, 2, 3)
    counts: dict[Any, int] = {}
    for one in drawn:
        counts[one.configuration] = counts.get(one.configuration, 0) + 1
    assert set(counts.values()) == {2}
    assert len(counts) == 16
    assert [one.id for one in ratings.sample(known, 2, 3)] == [one.id for one in drawn]
    assert [one.id for one in ratings.sample(known, 2, 4)] != [one.id for one in drawn]


# -- compare ----------------------------------------------------------------------------------------------------------


def test_pairs_are_about_the_same_entity_and_equally_long(here: Run, dataset: Path, tmp_path: Path) -> None:
    reference, out = convquestions(tmp_path / "cq.json"), tmp_path / "p.jsonl"
    for rater, answers in (("ann", "a b s a"), ("bob", "a a s b"), ("cy", "b a s s")):
        done = here(
            "conv",
            "compare",
            dataset,
            reference,
            "-o",
            out,
            "--rater",
            rater,
            stdin="\n".join(answers.split() * 2) + "\n",
        )
        assert done.returncode == 0, done.stderr
        assert "2 of 2" in done.stdout
        assert "Narnia" not in done.stdout
    found = {
        one.id: one for one in references.match(read_conversations(dataset), references.read_references(reference), 0)
    }
    assert {one.ours.entity.name for one in found.values()} == {"France", "Brazil"}
    for one in found.values():
        assert len(one.ours.turns) == len(one.reference.turns)
        assert (one.ours.interaction, one.ours.deixis, one.ours.disfluency, one.ours.related) == (
            "voice",
            True,
            False,
            None,
        )
    rated = [one for one in ratings.read_rated([out], COMPARE) if one.rater == "ann"]
    assert len(rated) == 2
    for one in rated:  # A is the reference where the order is swapped
        ann = {"a": "reference", "b": "ours"} if found[one.item].swapped else {"a": "ours", "b": "reference"}
        assert one.values == {
            "fluency": ann["a"],
            "relevance": ann["b"],
            "diversity": "same",
            "grammar": ann["a"],
        }
    rows = json.loads(here("conv", "ratings", out, "--table", 3, "-f", "json").stdout)
    table, printed = ({row["dimension"]: row for row in rows if row["figures"] == of} for of in ("here", "paper"))
    assert table["diversity"]["same"] == 100
    assert {table[name]["agreement"] for name in ("fluency", "relevance", "diversity")} == {100}
    assert table["grammar"]["agreement"] == 0
    assert table["fluency"]["preference"] + table["fluency"]["reference"] == pytest.approx(100)
    assert printed["relevance"]["preference"] == 62.2


def test_references_of_a_domain_are_paired_by_type_after_those_of_the_same_entity(
    dataset: Path, tmp_path: Path
) -> None:
    reference = references.read_references(convquestions(tmp_path / "cq.json"))
    found = references.match(read_conversations(dataset), reference, 1, {"places": "country"})
    names = {one.reference.name: one.ours.entity.name for one in found}
    assert names["France"] == "France"
    assert names["brazil"] == "Brazil"
    assert names["Narnia"] not in ("France", "Brazil")
    assert len({one.ours.group for one in found}) == 3


def test_the_form_of_the_copy_is_read_too(tmp_path: Path) -> None:
    record = {
        "domain": "music", "seed_entity": "https://www.wikidata.org/wiki/Q223495", "seed_entity_text": "The Carpenters",
        "questions": ["When did they sign?", "first hit?"], "answers": [["1969"], ["Q928282"]],
        "answer_texts": ["1969", "Close to You"],
    }  # fmt: skip
    (tmp_path / "t.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    [one] = references.read_references(tmp_path / "t.jsonl")
    assert (one.key, one.name, one.domain) == ("Q223495", "The Carpenters", "music")
    assert one.turns == (("When did they sign?", "1969"), ("first hit?", "Close to You"))


# -- agreement --------------------------------------------------------------------------------------------------------


def judged(values: Sequence[Sequence[int]]) -> list[Rated]:
    """Judgements of one dimension: a row per item, a value per rater."""
    return [
        Rated(RATE, f"r{rater}", f"i{item}", {"fluency": value})
        for item, row in enumerate(values)
        for rater, value in enumerate(row)
    ]


def test_agreement_of_a_worked_example() -> None:
    """Of four items with three raters, 1-1-5, 2-2-2 and 3-4-4 agree; the fifth has two raters only."""
    rated = judged([(1, 1, 5), (2, 2, 2), (3, 4, 4), (1, 2, 3), (5, 5)])
    assert ratings.agreement(rated) == ratings.agreement(rated, "fluency") == (4, 75.0)
    assert ratings.agreement(rated, "grammar") == (0, None)


# -- proxies ----------------------------------------------------------------------------------------------------------


def test_proxies_of_worked_examples() -> None:
    """Six words, seven syllables; 6 of 6 words and 4 of 4 pairs are distinct, nothing is repeated."""
    words, ease, one, two, repeated = proxies.measure(["The cat sat.", "Dogs run over?"])
    assert words == 3
    assert ease == pytest.approx(206.835 - 1.015 * 3 - 84.6 * 7 / 6)
    assert (one, two, repeated) == (1, 1, 0)
    _, _, one, two, repeated = proxies.measure(["what is the capital", "what is the area"])
    assert one == pytest.approx(5 / 8)
    assert two == pytest.approx(4 / 6)
    assert repeated == pytest.approx(1 / 4)
    assert proxies.measure(["?", ""]) == (None,) * 5


def test_proxies_beside_a_reference(here: Run, dataset: Path, tmp_path: Path) -> None:
    done = here("conv", "proxies", dataset, convquestions(tmp_path / "cq.json"), "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["part"]: row for row in json.loads(done.stdout)}
    assert rows["cq"]["conversations"] == 3
    assert len(rows) == 17
    assert rows["voice, disfluencies, general"]["repetition"] > rows["voice, deixis, general"]["repetition"]
    assert "proxies" in here("conv", "proxies", "--help").stdout


# -- errors -----------------------------------------------------------------------------------------------------------


def test_errors_say_what_is_wrong(here: Run, dataset: Path, tmp_path: Path, wording: Wording) -> None:
    def file(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    def given(**other: object) -> str:
        about = {"related": False, "interaction": "voice", "deixis": False, "disfluency": False, "typo": False}
        row = {"who": "a", "item": [RATE, "i"], "question": "fluency", "mark": 5, "about": about}
        return json.dumps({**row, **other}) + "\n"

    typing = {"related": False, "interaction": "voice", "deixis": False, "disfluency": False, "typo": True}
    out = tmp_path / "out.jsonl"
    rate = ("conv", "rate", dataset, "-o", out, "--rater")
    reference = convquestions(tmp_path / "cq.json")
    commands: list[tuple[object, ...]] = [
        (*rate, " "),
        (*rate, "ann", "--entrance", file("two.jsonl", given() + given(who="b"))),
        (*rate, "ann", "--entrance", file("lacking.jsonl", given(item=[RATE, "nobody"]))),
        (*rate, "ann", "-n", "0"),
        ("conv", "ratings", file("six.jsonl", given(mark=6))),
        ("conv", "ratings", file("task.jsonl", given(item=["guess", "i"]))),
        ("conv", "ratings", file("none.jsonl", given(question="opt out", mark=True))),
        ("conv", "ratings", file("noise.jsonl", given(about=typing))),
        ("conv", "compare", dataset, file("odd.json", '[{"question": 1}]'), "-o", out, "--rater", "ann"),
        ("conv", "compare", dataset, reference, "-o", out, "--rater", "ann", "--domain", "places=river"),
        (
            "conv",
            "compare",
            dataset,
            reference,
            "-o",
            out,
            "--rater",
            "ann",
            "--threshold",
            "7",
            "--entrance",
            tmp_path / "pairs.jsonl",
        ),
    ]
    file("pairs.jsonl", given(item=[COMPARE, "i"], mark="same"))
    for command in each(commands):
        done = here(*command, stdin="")
        assert done.returncode == 1, (command, done.stdout)
        wording(done.stderr, "cli", {str(tmp_path): "DIR"})
