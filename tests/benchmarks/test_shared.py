"""Shared parts of the benchmarks: names in texts, splits, sentences, evidence, and the pipeline of stages."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.dataset import assign, bin_counts, run_names
from kbkit.benchmarks.documents import Document, TextPassage, read_documents, types_with_text
from kbkit.benchmarks.duplicates import distinct
from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.pipeline import Item, Pipeline, Row, Stage, Table, remove
from kbkit.directory.typed_json import from_json, to_json
from kbkit.english.sentences import sentences
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from tests.wording import Wording


@pytest.mark.parametrize(
    ("text", "names", "given_away"),
    [
        ("Which mountain is Mount Everest?", ["K2", "Mount Everest"], "Mount Everest"),
        ("which is MOUNT   everest's neighbour", ["Mount Everest"], "Mount Everest"),
        ("near Sao Tome", ["São Tomé"], "São Tomé"),
        ("near São Tomé", ["sao tome"], "sao tome"),
        ("countries like Guinea-Bissau", ["Guinea"], "Guinea"),
        ("the guineas fly", ["Guinea"], ""),
        ("is it about boats", ["It"], "It"),
        ("bits of wit", ["It"], ""),
        ("anything", ["", "?!", "..."], ""),
        ("what?! no", ["?!"], "?!"),
        ("", ["x"], ""),
        ("watch 🎬 now", ["🎬"], "🎬"),
        ("go to 東京タワーへ行く", ["東京"], "東京"),
        ("born in Lodz", ["Łódź"], "Łódź"),
        ("born in Tromsø", ["Tromso"], "Tromso"),
        ("made in the USA", ["U.S.A."], "U.S.A."),
        ("made in the U.S.A.", ["U.S.A."], "U.S.A."),
    ],
)
def test_leaks(text: str, names: list[str], given_away: str) -> None:
    assert leaks(text, names) == given_away


@given(st.text(), st.text(), st.text())
def test_a_name_between_spaces_is_always_found(before: str, name: str, after: str) -> None:
    if leaks(name, [name]):
        assert leaks(f"{before} {name} {after}", [name]) == name
    else:
        assert not any(c.isascii() and c.isalnum() for c in name)


@given(st.integers(0, 300), st.lists(st.integers(0, 20), min_size=1, max_size=5).filter(any), st.integers(0, 9))
def test_splits_have_the_size_of_their_fractions(count: int, weights: list[int], seed: int) -> None:
    shares = {str(i): weight / sum(weights) for i, weight in enumerate(weights)}
    found = assign(count, shares, np.random.default_rng(seed))
    assert len(found) == count
    for name, share in shares.items():
        assert abs(found.count(name) - share * count) < 1
    assert found == assign(count, shares, np.random.default_rng(seed))


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.5, -0.5), (float("nan"), 1.0), ()])
def test_invalid_fractions(shares: tuple[float, ...], wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        assign(3, dict(zip("abc", shares, strict=False)), np.random.default_rng(0))
    wording(str(caught.value))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("  A line\nanother  line \n\n", ["A line", "another  line"]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("Dr. Who met J. Smith in St. Louis. They spoke.", ["Dr. Who met J. Smith in St. Louis.", "They spoke."]),
        ("version 1.2 is out, e.g. today", ["version 1.2 is out, e.g. today"]),
        ("", []),
        (" . ", ["."]),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert [text[s:e] for s, e in sentences(text)] == found


@given(st.text(st.sampled_from("Aab1.!? \n\"'(")))
def test_sentences_cover_all_letters(text: str) -> None:
    places = sentences(text)
    assert all(s < e for s, e in places)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(places))
    covered = set().union(*(range(s, e) for s, e in places)) if places else set()
    assert all(i in covered for i, c in enumerate(text) if c.isalnum())


def test_documents_have_their_texts_in_order(small: KnowledgeBase) -> None:
    rows = small.sql("SELECT n.id, n.key, t.field::VARCHAR, t.text FROM nodes n JOIN texts t USING (id) ORDER BY ALL")
    found = read_documents(small, range(small.schema.nodes))
    assert sorted(found) == list(range(small.schema.nodes))
    expected = {(node, text) for node, _, _, text in rows.iter_rows()}
    assert {(d.id, p.text) for d in found.values() for p in d.passages} == expected
    assert types_with_text(small) == {found[node].type for node in rows["id"].to_list()}
    with_none = [d for d in found.values() if not d.passages]
    assert with_none
    assert with_none[0].sentences == []


def test_several_texts_of_a_field_are_numbered() -> None:
    document = Document(0, "t", "k", "n", (TextPassage("review", "Good. Fine."), TextPassage("review#2", "Bad.")))
    assert [(s.field, s.start, s.end, s.text) for s in document.sentences] == [
        ("review", 0, 5, "Good."),
        ("review", 6, 11, "Fine."),
        ("review#2", 0, 4, "Bad."),
    ]


@pytest.fixture(scope="module")
def matcher(world: KnowledgeBase) -> Matcher:
    return Matcher(world)


def test_evidence_is_the_sentence_with_the_words(matcher: Matcher) -> None:
    document = Document(
        -1, "t", "k", "Nepal", (TextPassage("d", "It lies in Asia. The Himalayan peaks are high. People farm rice."),)
    )
    phrases = ["Himalayan peak", "farming of rice", "Nepal", "submarines"]
    peaks, rice, name, none = matcher.match(phrases, [document] * 4)
    assert peaks.span.text == "The Himalayan peaks are high."
    assert peaks.lexical == pytest.approx(1)
    assert rice.span.text == "People farm rice."
    assert rice.lexical == pytest.approx(1)
    assert (name.span.field, name.span.text) == ("name", "Nepal")
    assert none.lexical == 0
    assert none.semantic < peaks.semantic


def test_rare_words_count_more(matcher: Matcher) -> None:
    rare, common = "terraced", "country"
    assert matcher.weight(matcher.words(rare)[0]) > matcher.weight(matcher.words(common)[0])
    with_rare = Document(-1, "t", "k", "x", (TextPassage("d", "It is terraced."),))
    with_common = Document(-2, "t", "k", "x", (TextPassage("d", "It is a country."),))
    first, second = matcher.match([f"{rare} {common}"] * 2, [with_rare, with_common])
    assert first.lexical > 0.5 > second.lexical
    assert first.lexical + second.lexical == pytest.approx(1)


def test_evidence_does_not_depend_on_the_batch(world: KnowledgeBase) -> None:
    documents = list(read_documents(world, range(60)).values())
    phrases = [d.sentences[0].text[:40] if d.sentences else "x" for d in documents]
    together = Matcher(world).match(phrases, documents)
    alone = [Matcher(world).match([p], [d])[0] for p, d in zip(phrases[:5], documents[:5], strict=True)]
    assert [(e.span, e.lexical) for e in together[:5]] == [(e.span, e.lexical) for e in alone]
    assert [e.semantic for e in together[:5]] == pytest.approx([e.semantic for e in alone], abs=1e-6)


def test_long_texts_are_split_in_time() -> None:
    """A quadratic algorithm takes a minute for each."""
    for text in (" " * 100_000, "J. A. " * 15_000, "a. " * 50_000, "\n" * 100_000, "x" * 250_000):
        assert len(sentences(text)) <= 50_001


# -- pipeline ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Row):
    """The input of the stages below."""


@dataclass(frozen=True)
class Square(Row):
    """A row with one column of each kind."""

    square: int
    parts: list[Number] = field(default_factory=list)
    note: str | None = None
    weight: float = 1.0


SQUARES = Stage("1_squares", Square)
NUMBERS = [Number(str(i)) for i in range(10)]


def squares(seen: list[str]) -> Callable[[Sequence[Number]], list[Square]]:
    def work(batch: Sequence[Number]) -> list[Square]:
        seen.extend(row.id for row in batch)
        return [Square(row.id, int(row.id) ** 2, [Number("p")] * int(row.id)) for row in batch]

    return work


def table(out: Path, **settings: Any) -> Table[Square]:
    return Pipeline(out, settings).table(SQUARES)


@pytest.mark.core
def test_a_stage_computes_each_row_once(tmp_path: Path) -> None:
    seen: list[str] = []
    first = table(tmp_path, n=1).fill(NUMBERS[:4], squares(seen), 3)
    rows = table(tmp_path, n=1).fill(NUMBERS, squares(seen), 3)
    assert first == rows[:4]
    assert [row.square for row in rows] == [i * i for i in range(10)]
    assert seen == [row.id for row in NUMBERS]


@pytest.mark.parametrize("cut", [1, 17, 60])
def test_an_incomplete_line_is_computed_again(tmp_path: Path, cut: int) -> None:
    stage = table(tmp_path)
    rows = stage.fill(NUMBERS, squares([]))
    text = stage.path.read_bytes()
    stage.path.write_bytes(text[:-cut])
    seen: list[str] = []
    assert table(tmp_path).fill(NUMBERS, squares(seen)) == rows
    assert stage.path.read_bytes() == text
    assert 1 <= len(seen) <= 2


def test_a_failed_batch_is_computed_again(tmp_path: Path) -> None:
    seen: list[str] = []

    def fails_at_six(batch: Sequence[Number]) -> list[Square]:
        if batch[0].id == "6":
            raise KbError("Enough")
        return squares(seen)(batch)

    with pytest.raises(KbError, match="Enough"):
        table(tmp_path).fill(NUMBERS, fails_at_six, 2)
    table(tmp_path).fill(NUMBERS, squares(seen), 2)
    assert seen == [row.id for row in NUMBERS]


def test_a_deleted_line_is_computed_again_and_an_edited_one_is_kept(tmp_path: Path) -> None:
    stage = table(tmp_path)
    stage.fill(NUMBERS, squares([]))
    lines = stage.path.read_text().splitlines()
    del lines[4]
    lines[2] = lines[2].replace('"square": 1', '"square": 7')
    stage.path.write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    rows = table(tmp_path).fill(NUMBERS, squares(seen))
    assert seen == ["3"]
    assert [row.square for row in rows[:4]] == [0, 7, 4, 9]


def test_items_collect_the_rows_of_stages_until_they_are_dropped(tmp_path: Path) -> None:
    items = [Item(number) for number in NUMBERS]
    reports: list[tuple[str, int, int]] = []
    pipeline = Pipeline(tmp_path, {}, lambda *report: reports.append(report))

    def odd_only(batch: Sequence[Item]) -> list[Square]:
        return [Square(item.id, 0, dropped="" if int(item.id) % 2 else "even") for item in batch]

    pipeline.advance(SQUARES, items, odd_only, batch=4)
    assert [item.id for item in items if not item.dropped] == list("13579")
    assert items[2].get(Square) == Square("2", 0, dropped="even")
    assert items[3][Number] == NUMBERS[3]
    assert reports == [("squares", 0, 10), ("squares", 4, 10), ("squares", 8, 10), ("squares", 10, 10)]
    seen: list[str] = []
    pipeline.advance(Stage("2_more", Square), items, squares(seen))  # type: ignore[arg-type]
    assert seen == list("13579")


def test_rows_of_threads(tmp_path: Path) -> None:
    seen: list[str] = []

    def work(number: Number) -> Square:
        return squares(seen)([number])[0]

    table(tmp_path).fill_concurrently(NUMBERS, work, 3, lambda *_: None)
    assert sorted(seen) == [row.id for row in NUMBERS]
    table(tmp_path).fill_concurrently(NUMBERS, work, 3, lambda *_: None, retry=lambda row: row.square > 60)
    assert sorted(seen[10:]) == ["8", "9"]


def test_other_settings_are_rejected(tmp_path: Path, wording: Wording) -> None:
    table(tmp_path, seed=1, n=3).fill(NUMBERS, squares([]))
    with pytest.raises(KbError, match="seed was 1, now 2") as caught:
        table(tmp_path, seed=2, n=3).fill(NUMBERS, squares([]))
    wording(str(caught.value), replace={str(tmp_path): "DIR"})
    with pytest.raises(KbError, match="n was 3, now null"):
        table(tmp_path, seed=1).read()


def test_of_duplicate_rows_the_later_counts(tmp_path: Path) -> None:
    stage = table(tmp_path)
    rows = stage.fill(NUMBERS, squares([]))
    with stage.path.open("ab") as file:
        file.write(stage.path.read_bytes().split(b"\n", 1)[1])
    assert table(tmp_path).fill(NUMBERS, squares([])) == rows


def test_rows_made_at_once_are_written_once(tmp_path: Path) -> None:
    rows = [Square("a", 1), Square("b", 2, [Number("x")], note="Ä\u2028", weight=2)]
    pipeline = Pipeline(tmp_path, {})
    assert pipeline.rows(SQUARES, lambda: rows) == rows
    assert pipeline.rows(SQUARES, list) == rows
    lines = table(tmp_path).path.read_text("utf-8").split("\n")
    assert json.loads(lines[0]) == {"settings": {}, "rows": 2}
    assert json.loads(lines[1]) == {"id": "a", "square": 1}


@pytest.mark.parametrize("left", [0, 1, 2])
def test_rows_made_at_once_are_complete_or_missing(tmp_path: Path, left: int, wording: Wording) -> None:
    stage = table(tmp_path)
    stage.write([Square(str(i), i) for i in range(3)])
    lines = stage.path.read_bytes().split(b"\n")
    stage.path.write_bytes(b"".join(line + b"\n" for line in lines[:left]))
    with pytest.raises(BadInputError) as caught:
        Pipeline(tmp_path, {}).rows(SQUARES, list)
    wording(str(caught.value), replace={str(tmp_path): "DIR"})
    remove(tmp_path)
    assert not stage.path.parent.exists()


@pytest.mark.parametrize("text", ["{}\n", "[]\n", "x\n", "[" * 100_000 + "\n"], ids=["object", "list", "text", "deep"])
def test_invalid_tables(tmp_path: Path, text: str, wording: Wording) -> None:
    stage = table(tmp_path)
    stage.path.parent.mkdir()
    stage.path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        stage.fill(NUMBERS, squares([]))
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize(
    "row",
    [
        "3",
        "{}",
        '{"id": "1"}',
        '{"id": "1", "square": "1"}',
        '{"id": "1", "square": true}',
        '{"id": "1", "square": 1, "sqare": 1}',
        '{"id": "1", "square": 1, "parts": [{"id": 2}]}',
        '{"id": "1", "square": 1, "parts": {}}',
    ],
)
def test_invalid_rows_are_named_by_line(tmp_path: Path, row: str, wording: Wording) -> None:
    stage = table(tmp_path)
    stage.fill(NUMBERS[:1], squares([]))
    with stage.path.open("a") as file:
        file.write(row + "\n")
    with pytest.raises(BadInputError, match=r"1_squares\.jsonl, line 3") as caught:
        stage.fill(NUMBERS, squares([]))
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


@given(
    st.builds(
        Square,
        st.text(),
        st.integers(),
        st.lists(st.builds(Number, st.text())),
        st.none() | st.text(),
        st.floats(allow_nan=False) | st.integers(),
        dropped=st.text(),
    )
)
def test_rows_survive_json(row: Square) -> None:
    assert from_json(Square, json.loads(json.dumps(to_json(row))), "") == row


# -- parts of every dataset -------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40)))
def test_bins_count_every_value_once(values: list[int]) -> None:
    found = bin_counts(values, ((0, 0), (1, 4), (5, 20), (21, None)))
    assert [label for label, _, _ in found] == ["0", "1-4", "5-20", "21+"]
    assert sum(count for _, count, _ in found) == len(values)
    assert all(fraction == (count / len(values) if values else None) for _, count, fraction in found)


def test_runs_are_named_by_stem_or_path() -> None:
    assert run_names([Path("a/x.json"), Path("b/x.json"), Path("b/y.json")]) == ["a/x.json", "b/x.json", "y"]


@pytest.mark.parametrize(
    ("first", "second", "is_duplicate"),
    [
        (("a", "1234"), ("a", "123"), True),
        (("a", "12345"), ("a", "12678"), False),
        (("a", "12345"), ("b", "12346"), True),
        (("a", "12345"), ("b", "123678"), False),
        (("a", "1"), ("b", "1"), False),
        (("a", "bc"), ("b", "ac"), True),  # compatriots of Ann, and compatriots of Bob, one of them
        (("a", ""), ("a", ""), False),
    ],
)
def test_queries_with_similar_answers_are_duplicates(
    first: tuple[str, str], second: tuple[str, str], is_duplicate: bool
) -> None:
    other = ("z", "89")
    assert distinct([first, other, second]) == ([0, 1] if is_duplicate else [0, 1, 2])
    assert distinct([second, first, other]) == ([0, 2] if is_duplicate else [0, 1, 2])
