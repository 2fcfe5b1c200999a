"""QAWiki's RDF as a file of questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.benchmarks.spinach import sources, stats
from kbkit.benchmarks.spinach.files import read_questions
from kbkit.errors import BadInputError
from tests.wording import Wording

DUMP = r"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix wd: <https://qawiki.org/entity/> .
@prefix wdt: <https://qawiki.org/prop/direct/> .
@prefix p: <https://qawiki.org/prop/> .

wd:Q1 rdfs:label "question"@en ; wdt:P1 wd:Q7 .
wd:Q11 rdfs:label "¿Quién interpretó el personaje Eleven?"@es, "Who played \"Eleven\"?"@en ;
    skos:altLabel "Who was Eleven?"@en ; wdt:P1 wd:Q1 ; p:P11 <https://qawiki.org/entity/statement/Q11-a> ;
    wdt:P11 "SELECT ?x {\n wd:Q19798734 p:P161 [ pq:P453 \"a\"@en ; ps:P161 ?x ] }" .
wd:Q12 rdfs:label "¿Cuál?"@es ; wdt:P1 wd:Q1 ; wdt:P11 "ASK { wd:Q42 wdt:P31 wd:Q5 }" .
wd:Q13 rdfs:label "Which one?"@en ; wdt:P1 wd:Q2 .
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "qawiki.ttl"
    path.write_text(DUMP, encoding="utf-8")
    return path


def test_questions_with_queries(dump: Path) -> None:
    first, second = read_questions(dump, question=True).questions
    assert (first.id, first.text) == ("Q11", 'Who played "Eleven"?')
    assert first.sparql == 'SELECT ?x {\n wd:Q19798734 p:P161 [ pq:P453 "a"@en ; ps:P161 ?x ] }'
    assert (second.id, second.text, second.sparql) == ("Q12", "¿Cuál?", "ASK { wd:Q42 wdt:P31 wd:Q5 }")


def test_statistics_of_its_queries(dump: Path) -> None:
    dataset = read_questions(dump)
    assert sources.lengths([dataset]).height == 0  # which has no conversations
    assert stats.describe([dataset])[0].unread == ()


def test_other_rdf_is_refused(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "other.nt"
    path.write_text('<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> "a" .\n')
    with pytest.raises(BadInputError, match="No questions") as raised:
        read_questions(path)
    wording(str(raised.value), replace={str(tmp_path): "DIR"})
