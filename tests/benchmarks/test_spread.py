"""Bounds on what the queries of a dataset have in common, and what a KB knows in part."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.benchmarks.duplicates import Spread, mould_of
from kbkit.benchmarks.incomplete import is_known_in_part, is_short_cast, truncated
from kbkit.benchmarks.requirements.answer_counts import Share, select
from kbkit.benchmarks.requirements.other_forms import is_symbol, runs, short_forms, spellings
from kbkit.english.countries import is_country
from kbkit.english.descriptions import statements
from kbkit.english.names import is_uncapitalized
from kbkit.english.relations import Link, mismatch
from kbkit.english.reputations import names_thing, reputations
from kbkit.schema import Relation, Signature
from tests.kbs import LIGHT

FILMS = 60


def test_a_mould_and_a_name_occur_twice_alone() -> None:
    spread = Spread(50)
    assert [spread.add("films of a year", [f"year {number}"]) for number in range(3)] == [True, True, False]
    assert [spread.add(f"mould {number}", ["Ann Lee"]) for number in range(3)] == [True, True, False]
    assert sum(spread.add("films of a director about X", [f"film {n}"], on_text=True) for n in range(20)) == 10
    assert spread.about() == {"moulds": 4, "most": 2}
    assert sum(Spread(50, 8).fits("a", [], is_lookup=True) for _ in range(9)) == 9


def test_a_tenth_of_the_queries_are_look_ups() -> None:
    spread = Spread(50)
    assert sum(spread.add(f"mould {number}", [], is_lookup=True) for number in range(20)) == 5


@pytest.mark.core
@pytest.mark.parametrize(
    ("one", "other", "is_sql"),
    [
        ('person:"Ann Lee" -> [directed] -> film', 'person:"Bo Li" -> [directed] -> film', False),
        ("country{population >= 5000000}", "country{population >= 100}", False),
        ("film#f1 -> person", "film#f23 -> person", False),
        ("SELECT \"Area\" FROM t WHERE name IN ('a', 'b')", "SELECT \"Area\" FROM t WHERE name IN ('c')", True),
    ],
)
def test_moulds_leave_out_names_and_numbers(one: str, other: str, is_sql: bool) -> None:
    assert mould_of(one, is_sql=is_sql) == mould_of(other, is_sql=is_sql)
    assert ("Area" in mould_of(one, is_sql=is_sql)) == is_sql


@pytest.mark.core
@pytest.mark.parametrize(
    ("term", "text", "is_there"),
    [
        ("PPAR-gamma", "It activates PPARγ.", True),
        ("PPAR-gamma", "It activates the PPARg receptor.", True),
        ("NF-kB", "It inhibits the translocation of NFkB.", True),
        ("PPAR-gamma", "It activates PPAR-delta.", False),
    ],
)
def test_terms_in_other_forms(term: str, text: str, is_there: bool) -> None:
    assert is_symbol(term)
    assert (not spellings(term).isdisjoint(runs(text))) == is_there


@pytest.mark.core
def test_texts_explain_short_forms() -> None:
    assert short_forms(["It inhibits P-glycoprotein (P-gp)."]) == {"pglycoprotein": {"pgp"}, "pgp": {"pglycoprotein"}}


@pytest.mark.core
def test_labels_that_make_no_sentence_for_their_types() -> None:
    def link(label: str, *pairs: tuple[str, str]) -> Link:
        signatures = tuple(Signature(head, tail, 1) for head, tail in pairs)
        relation = Relation(label, label, "", 1, 1, signatures, label=label)
        return Link(relation, *pairs[0], of_head=True)

    assert "a biological process is none" in mismatch(link("interacts with", ("gene", "biological_process")))
    assert mismatch(link("interacts with", ("gene", "gene"))) == ""
    assert "no direction" in mismatch(link("target", ("gene", "drug"), ("drug", "gene")))
    assert mismatch(link("target", ("drug", "gene"))) == ""


@pytest.mark.core
def test_what_others_are_known_for_and_names_in_lower_case() -> None:
    assert [names_thing(one) for one in ("Lake Bled", "coffee from Mocha", "Nobel Prizes", "castles")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert [is_uncapitalized(one) for one in ("gulf of mexico", "colorado", "red", "Red Sea")] == [
        True, True, False, False,
    ]  # fmt: skip
    said = "It flows in a valley known for sugar cane. It is known for tower houses."
    assert [said[start:end] for start, end in reputations(said)] == ["tower houses"]


@pytest.mark.core
def test_a_cast_of_a_few_is_that_of_the_notable() -> None:
    assert [is_short_cast("features", 1.4), is_short_cast("features", 12), is_short_cast("was directed by", 1)] == [
        True, False, False,
    ]  # fmt: skip


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
