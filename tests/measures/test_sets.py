"""Measures of answer sets, and why false positives are wrong."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.answers.parse import parse
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.measures import false_positives
from kbkit.measures.false_positives import constraints, table, unmet
from kbkit.measures.sets import measure
from tests.measures.test_ranking import best_first, gold_of, only, run_of
from tests.wording import Wording

# -- precision, recall, F1 --------------------------------------------------------------------------------------------


@pytest.mark.core
def test_one_set() -> None:
    # Five predicted, two of them among three answers.
    found = measure({"q": ["a", "b", "c", "d", "e"]}, gold_of({"q": {"b": 1, "e": 2, "z": 1, "a": 0}}), [2, 5, 3])
    assert found.columns == [
        *("query", "precision", "recall", "f1"),
        *("recall@2", "mrecall@2", "recall@5", "mrecall@5", "recall@3", "mrecall@3"),
    ]
    assert only(found) == pytest.approx(
        {
            "precision": 2 / 5,
            "recall": 2 / 3,
            "f1": 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3),
            "recall@2": 1 / 3,
            "mrecall@2": 0,
            "recall@5": 2 / 3,
            "mrecall@5": 0,
            "recall@3": 1 / 3,
            "mrecall@3": 0,
        }
    )


@pytest.mark.parametrize(
    ("k", "recall", "all_of_them"), [(1, 1 / 3, 0), (2, 2 / 3, 0), (3, 2 / 3, 0), (4, 1, 1), (9, 1, 1)]
)
def test_mrecall_needs_all_answers(k: int, recall: float, all_of_them: float) -> None:
    # With three answers, one or two places can never hold all of them.
    found = only(measure({"q": ["a", "b", "x", "c"]}, gold_of({"q": {"a": 1, "b": 1, "c": 1}}), [k]))
    assert (found[f"recall@{k}"], found[f"mrecall@{k}"]) == (pytest.approx(recall), all_of_them)


def test_a_perfect_set_of_more_than_k_answers() -> None:
    answers = {str(i): 1 for i in range(21)}
    found = only(measure({"q": list(answers)}, gold_of({"q": answers}), [20]))
    assert found == pytest.approx({"precision": 1, "recall": 1, "f1": 1, "recall@20": 20 / 21, "mrecall@20": 0})


def test_undefined_scores_are_null() -> None:
    gold = gold_of({"empty": {"a": 1}, "unanswered": {}, "wrong": {"a": 1}, "nonsense": {"a": 0}})
    found = measure({"empty": [], "unanswered": ["a"], "wrong": ["b"], "nonsense": ["a"]}, gold, [1])
    assert found.rows() == [
        ("empty", None, 0, 0, 0, 0),
        ("unanswered", None, None, None, None, None),
        ("wrong", 0, 0, 0, 0, 0),
        ("nonsense", None, None, None, None, None),
    ]
    assert measure({}, gold).rows() == [
        ("empty", None, 0, 0),
        ("unanswered", *[None] * 3),
        ("wrong", None, 0, 0),
        ("nonsense", *[None] * 3),
    ]


def test_order_is_by_score() -> None:
    run = run_of({"q": {"z": 0.1, "b": 0.9, "a": 0.9}})
    found = only(measure(run, gold_of({"q": {"a": 1, "z": 1}}), [1, 2]))
    assert (found["recall@1"], found["recall@2"]) == (0.5, 0.5)


def test_invalid_sets(wording: Wording) -> None:
    gold = gold_of({"q": {"a": 1}})
    with pytest.raises(KbError) as caught:
        measure({"q": ["a", "b", "a"]}, gold)
    message = str(caught.value)
    assert [fact for fact in ["'a'", "'q'"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        measure({"q": ["a"]}, gold, [0])
    message = str(caught.value)
    assert [fact for fact in ["0", "1", "1,000,000"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        measure({"p": ["a"]}, gold)
    message = str(caught.value)
    assert [fact for fact in ["'p'", "'q'"] if fact not in message] == []
    wording(message)


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4), st.lists(st.integers(1, 9), max_size=3))
def test_scores_are_those_of_the_definitions(queries: list[tuple[list[str], list[str]]], ks: list[int]) -> None:
    predicted = {str(i): nodes for i, (nodes, _) in enumerate(queries)}
    rows = measure(predicted, gold_of({str(i): dict.fromkeys(a, 1) for i, (_, a) in enumerate(queries)}), ks).to_dicts()
    for row, (nodes, answers) in zip(rows, queries, strict=True):
        both = len(set(nodes) & set(answers))
        if not answers:
            assert set(row.values()) == {row["query"], None}
            continue
        precision, recall = both / len(nodes) if nodes else None, both / len(answers)
        f1 = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
        assert (row["precision"], row["recall"], row["f1"]) == pytest.approx((precision, recall, f1))
        for k in ks:
            assert row[f"recall@{k}"] == pytest.approx(len(set(nodes[:k]) & set(answers)) / len(answers))
            assert row[f"mrecall@{k}"] == float(set(answers) <= set(nodes[:k]))


# -- constraints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("drug", ["drug"]),
        ("a & b", ["a", "b"]),
        ("a & b & c", ["a", "b", "c"]),
        ("a - b", ["a", "not b"]),
        ("a - b - c", ["a", "not b", "not c"]),
        ("(a & b) - c", ["a", "b", "not c"]),
        ("a & (b - c)", ["a", "b", "not c"]),
        ("a | b", ["a | b"]),
        ("(a | b) & c", ["a | b", "c"]),
        ("a - (b & c)", ["a", "not b & c"]),
        ("a - (b - c)", ["a", "not b - c"]),
        ("(a & b){year > 3}", ["(a & b){year > 3}"]),
        ("a -> b <- c", ["a -> b <- c"]),
    ],
)
def test_constraints(expression: str, expected: list[str]) -> None:
    assert ["not " * c.negated + c.text for c in constraints(parse(expression))] == expected


# -- false positives --------------------------------------------------------------------------------------------------

TREATED = "(disease -> [is treated by] -> drug)"  # 1, 00123, and gene/protein#g3, which is a drug too
ORDERED = "(person -> [order] -> drug)"  # 1, 00123
OLD = "drug{year < 1970}"  # 1 of 1957, 00123 of -40, g3 of 1921; a/b c is of 2001


def with_expressions(judged: Mapping[str, Mapping[str, int]], expressions: list[str | None], **groups: list[str]):
    return gold_of(judged, expression=expressions, **groups)


def test_the_sets_that_the_tests_rest_on(small: KnowledgeBase) -> None:
    found = {text: sorted(small.answers(text).nodes()["key"]) for text in (TREATED, ORDERED, OLD)}
    assert found == {TREATED: ["00123", "1", "g3"], ORDERED: ["00123", "1"], OLD: ["00123", "1", "g3"]}


def failures(small: KnowledgeBase, nodes: list[str], expression: str, right: tuple[str, ...] = ()) -> list[tuple]:
    gold = with_expressions({"q": dict.fromkeys(right or ["none"], 1)}, [expression])
    found = unmet(small.session, run_of(best_first("q", nodes)), gold)
    assert dict(found.schema) == false_positives.UNMET
    return [row[1:] for row in found.rows()]


def test_what_each_false_positive_fails(small: KnowledgeBase) -> None:
    expression = f"({TREATED} & {OLD}) - {ORDERED}"
    nodes = ["g3", "1", "a/b c", "gene/protein#g2", "gene/protein#g3", "unheard", "disease#x1"]
    assert failures(small, nodes, expression, ("g3",)) == [
        ("1", 1, 3, True),
        ("a/b c", 2, 3, False),
        ("gene/protein#g2", 2, 3, False),
        ("gene/protein#g3", 0, 3, False),  # the gold calls it g3 only
        ("unheard", None, 3, None),
        ("disease#x1", 2, 3, False),
    ]


def test_without_negation_nothing_is_said_of_it(small: KnowledgeBase) -> None:
    assert failures(small, ["drug#1", "a/b c", "??"], f"{TREATED} & {ORDERED}", ("drug#1",)) == [
        ("a/b c", 2, 2, None),
        ("??", None, 2, None),
    ]


def test_an_empty_set_is_failed_by_all(small: KnowledgeBase) -> None:
    nothing = "drug{year > 9999}"
    assert failures(small, ["1", "a/b c"], f"{OLD} & {nothing}") == [("1", 1, 2, None), ("a/b c", 2, 2, None)]
    assert failures(small, ["a/b c"], f"{OLD} - {nothing}") == [("a/b c", 1, 2, False)]


def test_a_key_that_means_several_is_unknown(small: KnowledgeBase) -> None:
    """Of any type: drug#1 and person#1 have one key; within a type it is clear."""
    assert failures(small, ["1", "person#1", "g1"], "* - disease") == [
        ("1", None, 2, None),
        ("person#1", 0, 2, False),
        ("g1", 0, 2, False),
    ]
    assert failures(small, ["1"], "person - person") == [("1", 1, 2, True)]


def test_right_predictions_and_strangers_are_no_rows(small: KnowledgeBase) -> None:
    gold = with_expressions({"q": {"1": 1}}, ["drug"])
    assert unmet(small.session, run_of({"q": {"1": 1.0}, "other": {"9": 1.0}}), gold).is_empty()


def test_gold_without_expressions(small: KnowledgeBase, wording: Wording) -> None:
    run = run_of(best_first("q", "a"))
    with pytest.raises(KbError) as caught:
        unmet(small.session, run, gold_of({"q": {"1": 1}}))
    message = str(caught.value)
    wording(message)
    with pytest.raises(KbError) as caught:
        unmet(small.session, run, with_expressions({"q": {"1": 1}}, [None]))
    message = str(caught.value)
    assert [fact for fact in ["'q'"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        unmet(small.session, run, with_expressions({"q": {"1": 1}}, ["drugs & drug"]))
    message = str(caught.value)
    assert [fact for fact in ["'q'", "Column 1", "'drugs'"] if fact not in message] == []
    wording(message)
    with pytest.raises(KbError) as caught:
        unmet(small.session, run, with_expressions({"q": {"1": 1}}, ["drug &"]))
    message = str(caught.value)
    assert [fact for fact in ["'q'", "Column 7"] if fact not in message] == []
    wording(message)


def test_the_table(small: KnowledgeBase, wording: Wording) -> None:
    both, less = f"{TREATED} & {ORDERED}", f"{TREATED} - {ORDERED}"
    gold = with_expressions(
        {"p": {"1": 1}, "q": {"g3": 1}, "r": {"g3": 1}}, [both, less, "drug"], template=["A∩B", "A\\B", "A"]
    )
    run = run_of(
        best_first("p", ["g3", "a/b c", "gene/protein#g1", "?"])
        | best_first("q", ["1", "a/b c", "00123", "g3"])
        | best_first("r", ["?"])
    )
    found = unmet(small.session, run, gold)
    assert table(found, gold.queries, ["template"]).to_dicts() == [
        {
            "template": template,
            "false_positives": count,
            "unknown": unknown,
            "unmet_1": one,
            "unmet_2": two,
            "unmet_3": three,
            "negation_violated": negation,
        }
        for template, count, unknown, one, two, three, negation in [
            ("A", 1, 1, None, None, None, None),
            ("A\\B", 3, 0, 1.0, 0.0, 0.0, pytest.approx(2 / 3)),
            ("A∩B", 4, 1, pytest.approx(1 / 3), pytest.approx(2 / 3), 0.0, None),
            ("all", 8, 2, pytest.approx(4 / 6), pytest.approx(2 / 6), 0.0, pytest.approx(2 / 3)),
        ]
    ]
    notes = false_positives.remarks(found)
    assert len(notes) == 1
    wording("\n".join(notes))
    with pytest.raises(UnknownNameError) as caught:
        table(found, gold.queries, ["domain"])
    message = str(caught.value)
    assert [fact for fact in ["'domain'"] if fact not in message] == []
    wording(message)


def test_the_table_has_columns_as_needed(wording: Wording) -> None:
    rows = [("q", "a", 0, 5, None), ("q", "b", 5, 5, None)]
    found = pl.DataFrame(rows, schema=false_positives.UNMET, orient="row")
    assert table(found).columns == [
        *("false_positives", "unknown", "unmet_0", "unmet_1", "unmet_2", "unmet_3", "unmet_5"),
        "negation_violated",
    ]
    notes = false_positives.remarks(found)
    assert len(notes) == 1
    wording("\n".join(notes))
    empty = table(found.clear())
    assert empty.to_dicts()[0] == {"false_positives": 0, "unknown": 0, **dict.fromkeys(empty.columns[2:])}
