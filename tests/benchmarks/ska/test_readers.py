"""What a strict reader objects to: units that need no other source, repeated questions, bare triples, wrong words."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit.benchmarks import predicates
from kbkit.benchmarks.dataset import ABOUT
from kbkit.benchmarks.left_out import left_out_words
from kbkit.benchmarks.ska import make as maker
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs import make as graph
from kbkit.benchmarks.ska.graphs import questions
from kbkit.benchmarks.ska.graphs.subgraphs import Subgraphs
from kbkit.benchmarks.ska.graphs.units import Drafts, GraphDraft
from kbkit.benchmarks.ska.instances import PASSAGE, TRIPLE, Instance, read_instances, without_words
from kbkit.benchmarks.ska.settings import SkaSettings
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import readable_from_one
from kbkit.benchmarks.ska.tables import sources
from kbkit.benchmarks.ska.tables.drafts import Drafter
from kbkit.english.askable import lacks_currency
from kbkit.english.stems import is_english, shares_stem
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute
from tests.benchmarks.ska.of_mountains import of_mountains


@pytest.fixture(scope="module")
def text(world: KnowledgeBase) -> list[Instance]:
    return graph.make(world, Gathering(3, 11), text=True, noise_units=300, templates=lambda: of_mountains(world))


def fitting(one: Instance) -> set[str]:
    """Return the nodes of the asked type that have all phrases, by the letters of their passages."""
    texts: dict[str, str] = {}
    for unit in one.units:
        if unit.kind == PASSAGE and unit.source[0].startswith(f"{one.provenance.asked}#"):
            texts[unit.source[0]] = texts.get(unit.source[0], "") + " " + unit.content[1].lower()
    return {node for node, said in texts.items() if all(p.lower() in said for p in one.provenance.phrases)}


def test_texts_alone_leave_a_choice(text: list[Instance]) -> None:
    assert text
    for one in text:
        answers = {u.source[0] for u in one.positive if u.kind == PASSAGE}
        assert len(answers) == len(one.answers)
        assert fitting(one) > answers


def test_statements_see_a_source_that_no_reader_needs(text: list[Instance]) -> None:
    one = text[0]
    answers = {u.source[0] for u in one.positive}
    alone = replace(one, noise=[u for u in one.noise if u.kind == TRIPLE or u.source[0] in answers])
    relations = replace(one, noise=[u for u in one.noise if u.kind == PASSAGE])
    with Solver() as solver:
        assert readable_from_one(one, solver) == ""
        assert readable_from_one(alone, solver).startswith("the structured units are not needed")
        assert readable_from_one(relations, solver) == "the passages are not needed by a reader"


def test_triples_carry_the_attributes_of_their_edge(world: KnowledgeBase) -> None:
    member = world.answers('country:"Japan" -> [member_of] -> organisation')
    triples = member.derivations(member.ids.tolist()).triples
    shown = Subgraphs(world).with_attributes(triples)
    assert shown.height == triples.height
    assert shown["attributes"].str.contains(r"^( \{since: \d{4}\})?$").all()
    [(tail, year)] = world.sql(
        "SELECT tail, since FROM member_of WHERE tail = (SELECT id FROM organisation WHERE name = 'United Nations')"
        " AND head = (SELECT id FROM country WHERE name = 'Japan')"
    ).iter_rows()
    assert shown.filter(shown["tail"] == tail)["attributes"].to_list() == [f" {{since: {year}}}"]


def test_parallel_edges_and_marks_in_values_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,person,Ann\nb,club,Blue\n")
    (tmp_path / "edges.csv").write_text('head,relation,tail,role\na,joined,b,"cook, waiter"\na,joined,b,head\n')
    with kbkit.ingest("table", tmp_path, out=tmp_path / "m.kb") as kb:
        found = kb.answers('person:"Ann" -> [joined] -> club')
        shown = Subgraphs(kb).with_attributes(found.derivations(found.ids.tolist()).triples)
        assert sorted(shown["attributes"]) == [' {role: "cook, waiter"}', " {role: head}"]


def test_questions_of_one_meaning_are_one(world: KnowledgeBase) -> None:
    drafts = Drafts(world, text=False)
    one, two = (f'(country:"{a}" -> [borders] -> country) & (country:"{b}" -> [borders] -> country)'
                for a, b in (("France", "Germany"), ("Germany", "France")))  # fmt: skip
    made = [drafts.draft(questions.GraphQuestion("x", "x", "?", text), 40) for text in (one, two)]
    assert isinstance(made[0], GraphDraft)
    assert isinstance(made[1], GraphDraft)
    assert made[0].meaning == made[1].meaning
    table = sources.of_type(world, world.schema.type("country"))
    few = replace(table, rows=table.rows[:8], places=table.places[:8])
    drafter, rng = Drafter(few), np.random.default_rng(1)
    found = [draft for draft in (drafter.sum(2, rng) for _ in range(200)) if draft]
    sums = {(draft.meaning[1], frozenset(draft.rows)) for draft in found}  # of a column over some rows
    assert len({draft.question for draft in found}) > len(sums)
    assert len({draft.meaning for draft in found}) == len(sums)


def test_a_part_of_a_type_gets_no_question_about_all_rows(world: KnowledgeBase) -> None:
    country = world.schema.type("country")
    assert not sources.of_type(world, country).is_part
    part = sources.of_type(world, country, most=50)
    assert part.is_part
    assert len(part.rows) == 50


def test_listed_words_leave_instances(text: list[Instance], tmp_path: Path) -> None:
    one = text[0]
    needed = [one.question, *one.answers, *(said for unit in one.positive for said in unit.content)]
    titles = (unit.content[0] for unit in one.noise if unit.kind == PASSAGE)
    noise = next(title for title in titles if not any(title.casefold() in said.casefold() for said in needed))
    path = tmp_path / "words.txt"
    path.write_text(noise, encoding="utf-8")
    kept = without_words(one, left_out_words(str(path)))
    assert kept is not None
    assert len(kept.noise) < len(one.noise)
    assert kept.positive == one.positive
    path = tmp_path / "answers.txt"
    path.write_text(one.answers[0], encoding="utf-8")
    assert without_words(one, left_out_words(str(path))) is None


@pytest.mark.system
def test_a_dataset_has_no_listed_word(world: KnowledgeBase, tmp_path: Path) -> None:
    path, out = tmp_path / "words.txt", tmp_path / "out"
    path.write_text("Europe\n", encoding="utf-8")
    maker.make([world], out, SkaSettings(4, 2, ("kg", "table"), tokens=1000, leave_out=str(path)))
    made = read_instances(out)
    assert made
    texts = [text for one in made for text in (one.question, *one.answers)]
    texts += [text for one in made for unit in one.units for text in unit.content]
    assert not any(re.search(r"(?i)\beurope\b", text) for text in texts)
    about = json.loads((out / ABOUT).read_text(encoding="utf-8"))
    assert about["leave_out"]["name"] == "words.txt"


def test_predicates_that_no_benchmark_asks_for(world: KnowledgeBase) -> None:
    assert predicates.unfit_attribute(Attribute("budget", "DOUBLE")) == "an amount of money without its currency"
    assert predicates.unfit_attribute(Attribute("budget_usd", "DOUBLE")) == ""
    assert predicates.unfit_attribute(Attribute("P18", "VARCHAR", "image")) == "media or position"
    assert predicates.technical(Attribute("latitude", "DOUBLE"))
    assert not predicates.unfit_expression(world, "country{area_km2 > 5} -> [borders] -> country")
    assert "latitude" in predicates.unfit_expression(world, "city{latitude > 5}")
    assert not predicates.unfit_predicates(world.schema)


@pytest.mark.parametrize(
    ("name", "other", "shared"),
    [
        ("Moldova", "Moldovan leu", True),
        ("Denmark", "Danish krone", True),
        ("Türkiye", "Turkish lira", True),
        ("Sri Lanka", "Sri Lankan rupee", True),
        ("Paris", "France", False),
        ("Mount Cook", "Mount Etna", False),
        ("12 May 1820", "May Ayim", False),
    ],
)
def test_stems(name: str, other: str, shared: bool) -> None:
    assert shares_stem(name, [other]) is shared


def test_languages_and_money() -> None:
    assert is_english("A dormant volcano of Réunion")
    assert not is_english("Hauptstadt und Land der Bundesrepublik Deutschland")
    assert not is_english("Staat in Mitteleuropa")
    assert lacks_currency("gross revenue")
    assert not lacks_currency("budget", "US dollars")
    assert not lacks_currency("cost in euros")
    assert not lacks_currency("population")


# -- published questions of STaRK --------------------------------------------------------------------------------------


@pytest.mark.system
def test_published_questions_of_stark(world: KnowledgeBase, tmp_path: Path) -> None:
    """A question names Japan, and the words of the description of what is asked for."""
    sql = """
        SELECT o.key, t.text FROM organisation o JOIN texts t USING (id) JOIN member_of m ON m.tail = o.id
        JOIN country c ON c.id = m.head WHERE c.name = 'Japan' ORDER BY o.key LIMIT 4"""
    rows = world.sql(sql).rows()
    path = tmp_path / "stark_qa.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "query", "answer_ids"])
        for number, (key, text) in enumerate(rows):
            words = " ".join(word for word in text.split() if word.islower())
            writer.writerow([number, f"Which one has Japan as a member and is {words}?", json.dumps([key])])
        writer.writerow([9, "Which one is unknown?", "[123456]"])
    settings = SkaSettings(4, 0, ("kg+text", "table"), tokens=5_000, questions=(path,))
    made = maker.make([world], tmp_path / "out", settings)
    instances = read_instances(tmp_path / "out")
    texts = [one for one in instances if one.form == "kg+text"]
    assert {one.form for one in instances} == {"kg+text", "table"}
    assert texts
    for one in texts:
        assert one.provenance.dataset == "stark"
        assert "country#" in one.provenance.topics[0]
        assert {unit.kind for unit in one.positive} == {TRIPLE, PASSAGE}
        assert any(unit.content[0] == "Japan" for unit in one.positive if unit.kind == TRIPLE)
        assert sum(unit.kind == TRIPLE for unit in one.units) >= 200
    assert made.report["left_out"]["kg+text"]["the KB does not have an answer"] == 1
