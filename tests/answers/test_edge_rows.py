"""Values of the attributes of edges: ``values(drug <- [order] <- person, quantity)``."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.answers.parse import parse
from kbkit.errors import KbError
from kbkit.executor.completion import complete
from kbkit.executor.vocabulary import Vocabulary
from kbkit.kb import KnowledgeBase
from kbkit.questions.reading_words import ReadingWords
from tests.answers.expressions import Writer
from tests.answers.graphs import case
from tests.answers.test_cases import prints_back
from tests.answers.test_fraction import ENGINES, value_of
from tests.answers.test_measures import check_agreement, same
from tests.console import good
from tests.examples import examples, some
from tests.wording import Wording

VALUES: dict[str, Any] = {
    "values(person#1 -> [order] -> drug#1, quantity)": [2, 3],
    "values(person#p2 -> [order] -> drug#1, quantity)": [],
    "values(drug <- [order] <- person, quantity)": [1, 2, 3],
    "values(drug -> [order] -> person, QUANTITY)": [1, 2, 3],
    "values(drug -> [^order] -> person, source)": ['market "O\'Neil"', "pharmacy"],
    "values(person -> [order{quantity > 2}] -> drug, quantity)": [3],
    "values(person -> [order{quantity > 1, quantity < 3}] -> drug, since)": [dt.date(2020, 1, 15)],
    "sum(person -> [order] -> drug, quantity)": 6,
    "avg(person -> [order] -> drug, quantity)": 2.0,
    "avg(person -> [order] -> drug{year < 0}, quantity)": 1.0,
    "avg(person#p3 -> [order] -> drug, quantity)": None,
    "sum(person#p3 -> [order] -> drug, quantity)": 0,
    "min(person -> [order] -> drug, since)": dt.date(2020, 1, 15),
    "max(person -> [order] -> drug, year(since))": 2021,
    "count(person -> [order] -> drug, source)": 2,
    "count(person -> [order] -> drug, days(since, since))": 1,
    "min, max(person -> [order] -> drug, quantity)": [(1, 3)],
    "max, sum(person -> [order] -> drug, quantity, year)": [(3, 1957 + 1957 - 40)],
    "values(person -> [order] -> drug, quantity, source order by quantity desc)": [
        ("drug#1", 3, "pharmacy"),
        ("drug#1", 2, "pharmacy"),
        ("drug#00123", 1, 'market "O\'Neil"'),
    ],
    "values(person -> [order] -> drug, name order by since desc)": [
        ("drug#1", "5-FU / fluorouracil"),
        ("drug#1", "5-FU / fluorouracil"),
        ("drug#00123", "O'Brien's tonic; DROP TABLE nodes; --"),
    ],
    "values(person -> [order] -> drug, quantity, count(-> [targets] -> gene/protein) order by quantity limit 1)": [
        ("drug#00123", 1, 0)
    ],
    "count(person -> [order] -> drug by source)": [('market "O\'Neil"', 1), ("pharmacy", 2)],
    "count(person -> [order] -> drug by year(since))": [(2020, 1), (2021, 1)],
    "sum(person -> [order] -> drug, quantity by source)": [('market "O\'Neil"', 1), ("pharmacy", 5)],
    "sum(person -> [order] -> drug, quantity by key)": [("00123", 1), ("1", 5)],
    "avg, max(person -> [order] -> drug, year, quantity by key)": [("00123", -40.0, 1), ("1", 1957.0, 3)],
    "sum(person -> [order] -> drug, quantity by <- [order] <- person)": [
        ("person#1", "Zoë Müller", 5),
        ("person#p2", "Zoë Müller", 1),
    ],
    "sum(person -> [order] -> drug, quantity by approved having sum > 1 order by sum desc limit 1)": [(True, 5)],
    "sum(person -> [order] -> drug, year by quantity)": [(1, -40), (2, 1957), (3, 1957)],
    "values(person -> [order] -> drug by quantity, approved)": [(1, False), (2, True), (3, True)],
    "fraction(drug{year > 0} of person -> [order] -> drug by source)": [('market "O\'Neil"', 0.0), ("pharmacy", 1.0)],
    "values((person -> [order] -> drug) - drug#1, quantity)": [1],
    "values((person#1 -> [order] -> drug) & drug{approved = true}, quantity)": [2, 3],
    "values((person -> [order] -> drug){max year}, quantity)": [2, 3],
    "values(person -> [order] -> drug{max year}, quantity)": [],
    "values(person#1 -> [knows] -> person, since)": [dt.date(1999, 12, 31)],
    "values(person -> [knows] -> person, name, since)": [
        ("person#1", "Zoë Müller", dt.date(1999, 12, 31)),
        ("person#p2", "Zoë Müller", dt.date(1999, 12, 31)),
    ],
    "values(disease -> [is treated by] -> drug, source)": ["Toronto"],
    "values(gene/protein <- [is treated by] <- disease, source, since)": [
        ("gene/protein#g3", "Toronto", dt.date(1922, 1, 11))
    ],
    "values(* -> [order] -> drug, quantity)": [1, 2, 3],
    "values(person -> [order] -> *, quantity)": [1, 2, 3],
    "values(person -> [order] -> drug <- [targets] <- gene/protein, quantity)": [2, 3],
    "values(person -> [order] -> drug <- [is treated by] <- disease, since, source)": "refused",
    "values(person -> [order] -> drug <- [is treated by] <- disease, quantity, source)": [
        ("drug#1", 2, "pharmacy"),
        ("drug#1", 3, "pharmacy"),
        ("drug#00123", 1, 'market "O\'Neil"'),
    ],
    "values(person -> [order] -> drug -> [targets] -> gene/protein, quantity)": "refused",
    "values((person -> [order] -> drug) | drug#00123, quantity)": "refused",
    "values(person -> [order|takes] -> drug, quantity)": "refused",
    "values(person -> [!order] -> drug, quantity)": "refused",
    "values((person#1 -> [order] -> drug) & (person#p2 -> [order] -> drug), quantity)": "refused",
    'values(person -> [order{since in ["2020", "2021"]}] -> drug, quantity)': "refused",
    "values(person -> [order{since = 2021}] -> drug, quantity)": [3],
    "avg(person -> [order] -> drug, source)": "refused",
    "values(drug, quantity)": "refused",
}


@pytest.mark.parametrize("text", VALUES)
def test_values(small: KnowledgeBase, text: str) -> None:
    found = {engine: value_of(small, engine, text) for engine in ("oracle", *ENGINES)}
    assert [engine for engine, value in found.items() if not same(value, VALUES[text])] == [], found
    prints_back(text)


ERRORS = [
    "values(drug, quantity)",
    "values(person -> [order] -> drug, quantities)",
    "values(person -> [order|takes] -> drug, quantity)",
    'values(person -> [order{since in ["2020", "2021"]}] -> drug, quantity)',
    "values((person#1 -> [order] -> drug) & (person#p2 -> [order] -> drug), quantity)",
    "sum(person -> [order] -> drug, source)",
    "drug{year > avg(person -> [order] -> drug, quantity)}",
    "sum(person -> [order] -> drug, quantity by quantities)",
]


@pytest.mark.parametrize("text", ERRORS)
def test_errors(small: KnowledgeBase, text: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        small.answers(text)
    wording(str(caught.value))


COMPLETED: dict[str, tuple[list[str], list[str]]] = {
    "values(person -> [order] -> drug, ¦": (["approved", "quantity"], []),
    "values(person -> [order] -> drug, year, qu¦": (["quantity"], []),
    "count(person -> [order] -> drug by ¦": (["approved", "quantity"], []),
    "count(person -> [order] -> drug by year(¦": (["first_seen", "since"], ["quantity"]),
    "values(person -> [order] -> drug, name order by ¦": (["quantity"], []),
    "values(person -> [order|takes] -> drug, ¦": (["approved"], ["quantity"]),
    "values(drug, ¦": (["approved"], ["quantity"]),
    "values(person -> [order] -> drug, count(-> ¦": ([], ["quantity"]),
    "values(person -> [order] -> drug{¦": (["approved"], ["quantity"]),
}


@pytest.mark.parametrize("row", COMPLETED)
def test_completion(small: KnowledgeBase, row: str) -> None:
    expected, absent = COMPLETED[row]
    found = complete(row.replace("¦", ""), row.index("¦"), Vocabulary.of(small, {}, list), "answers")
    texts = [candidate.text for candidate in found]
    assert [text for text in texts if text in expected] == expected
    assert not set(texts) & set(absent)


def test_in_words(small: KnowledgeBase) -> None:
    words = ReadingWords(small.schema).text(parse("avg(person#1 -> [order] -> drug, quantity by source)"))
    assert words == "average quantity of drugs (by order) of the person 1, for each source"


def test_proofs(small: KnowledgeBase, here: Any, tiny_kb: Path) -> None:
    text = "values(person -> [order] -> drug, quantity, year(since))"
    assert small.answers(text).why("drug#1").lines() == [  # type: ignore[union-attr]
        "Zoë Müller -> [order] -> 5-FU / fluorouracil",
        "Zoë Müller: [order] -> 5-FU / fluorouracil: quantity = 2",
        "Zoë Müller: [order] -> 5-FU / fluorouracil: since = 2020-01-15",
        "Zoë Müller: [order] -> 5-FU / fluorouracil: quantity = 3",
        "Zoë Müller: [order] -> 5-FU / fluorouracil: since = 2021-06-30",
    ]
    assert "quantity = 1" in good(here("answers", tiny_kb, text, "--why"))


def test_compiled_text_runs_by_itself(small: KnowledgeBase) -> None:
    answers = small.answers("sum(person -> [order{quantity > 1}] -> drug, quantity by year(since))")
    assert small.sql(answers.value_sql).rows() == answers.value == [(2020, 2), (2021, 3)]
    assert sorted(small.sparql(answers.value_sparql).rows()) == [(2020, 2), (2021, 3)]


class EdgeWriter(Writer):
    """Writes values of what one step of a relation with attributes reaches; these may be of its edges."""

    row: tuple[str, str | None, dict[str, str]] | None = None
    """The path to the rows, its end, and the attributes of its edges."""

    def of_edges(self) -> str | None:
        """A value of edges; None if no relation has attributes."""
        rich = sorted(s for s in self.graph.signatures if self.graph.edge_kinds.get(s[1]))
        if not rich:
            return None
        head, relation, tail = self.rng.choice(rich)
        start, end = (head, tail) if self.one_in(2) else (tail, head)
        path = f"{self.inside(start, 1)} -> [{self.edge(relation, start, end)}] -> {self.end(end, 1)}"
        if self.one_in(3):
            path = f"({path}) {self.rng.choice(['&', '-'])} {self.inside(end, 1)}"
        self.row = path, end, dict(self.graph.edge_kinds[relation])
        return self.total(end)

    def of(self, wanted: str | None, depth: int) -> str:
        if self.row is not None and self.row[0]:
            path, self.row = self.row[0], ("", *self.row[1:])
            return path
        return super().of(wanted, depth)

    def kinds(self, wanted: str | None) -> dict[str, str]:
        own = super().kinds(wanted)
        more = self.row[2] if self.row is not None and self.row[1] == wanted else {}
        return more | own if self.one_in(3) or not more else more


@pytest.mark.parametrize("seed", some(range(10), 2))
@examples(12)
@given(rng=st.randoms(use_true_random=False))
def test_values_agree_with_the_oracle(seed: int, rng: random.Random) -> None:
    made = case(seed)
    writer = EdgeWriter(rng, made.graph)
    text = writer.of_edges()
    if text is None:
        return
    check_agreement(made, text, writer.slots)
