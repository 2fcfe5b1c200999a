"""Bounds on what the queries of a dataset have in common, and what a KB knows in part."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.benchmarks.duplicates import Spread
from kbkit.benchmarks.incomplete import is_known_in_part, truncated
from kbkit.benchmarks.requirements.answer_counts import Share, select
from kbkit.english.countries import is_country
from kbkit.english.descriptions import statements
from tests.kbs import LIGHT

FILMS = 60


def test_a_mould_and_a_name_occur_a_few_times_alone() -> None:
    spread = Spread(50)
    assert sum(spread.add("films of a year", [f"year {number}"]) for number in range(20)) == 10
    assert [spread.add(f"mould {number}", ["Ann Lee"]) for number in range(3)] == [True, True, False]


def test_queries_beyond_a_strict_share_are_not_selected() -> None:
    bare = np.array([True, True, True, False])
    assert select([1, 1, 1, 1], np.ones(4, np.int64), [Share(bare, 2, math.inf)]) == [0, 1, 3]
    assert select([1, 1, 1, 1], np.ones(4, np.int64), [Share(bare, 2, 100.0)]) == [0, 1, 2, 3]


def test_the_main_country_of_works_and_the_language_of_few_are_known_in_part(tmp_path: Path) -> None:
    nodes = ["key,type,name", *(f"f{n},film,Film {chr(65 + n % 26)}{n}" for n in range(FILMS))]
    nodes += ["c0,country,Chad", "c1,country,Peru", "l0,language,Hausa", "l1,language,Kanuri", "p0,person,Ann Lee"]
    edges = ["head,relation,tail", *(f"f{n},made_in,c{n % 2}" for n in range(FILMS))]
    edges += [f"f{n},in_language,l{n % 2}" for n in range(8)] + [f"f{n},directed_by,p0" for n in range(FILMS)]
    for name, lines in (("nodes", nodes), ("edges", edges)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "films.kb", stores=LIGHT) as kb:
        known = {
            name: is_known_in_part(kb, "film", tail, [(name, True)])
            for name, tail in (("made_in", "country"), ("in_language", "language"), ("directed_by", "person"))
        }
        assert known == {"made_in": True, "in_language": True, "directed_by": False}
        text = "country:<country> -> [made_in] -> film"
        assert truncated(kb, kb.session.resolved(parse(text), text).root) == "made_in"


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The longest river of the eastern plain that drains to the Atlantic.", []),
        ("A river of Patagonia whose lower valley was settled by people from Wales.", []),
        ("A river of Patagonia settled by people from Wales.", ["settled by people from Wales"]),
        ("A river of the eastern plain that drains to the Atlantic.", ["drains to the Atlantic"]),
    ],
)
def test_a_clause_of_a_superlative_or_of_another_subject_is_not_stated(text: str, said: list[str]) -> None:
    assert [text[one.start : one.end] for one in statements(text, "river")] == said


@pytest.mark.core
def test_names_of_countries_in_any_case() -> None:
    assert [is_country(name) for name in ("england", "Peru", "usa", "robot")] == [True, True, True, False]
