"""The label service of the Wikidata dialect on columns: joins that return what the function of the worker does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest
from polars.testing import assert_frame_equal

import kbkit
from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Wikibase
from kbkit.sparql import engines
from kbkit.sparql.columns import UnsupportedQueryError
from kbkit.sparql.run import query
from tests.examples import some
from tests.sparql.engines import Dataset, columns, oxigraph
from tests.sparql.solutions import Term

LABEL, ALIAS = (ox.NamedNode(STANDARD_PREFIXES[p] + n) for p, n in (("rdfs", "label"), ("skos", "altLabel")))
LINK = ox.NamedNode("http://e/link")
PREFIX = f"PREFIX kb: <{KB_NAMESPACE}> PREFIX skos: <{STANDARD_PREFIXES['skos']}> "
LANGUAGES = ("en", "de,en", "fr,en,de", "en-gb,mul", "xx", "EN", "de,de")
VALUES = [
    *(
        ox.Literal(text, language=tag)
        for text in ("a", "B", 'q"x', "", "é, è")
        for tag in ("en", "de", "fr", "en-GB", "mul")
    ),
    ox.Literal("plain"),
    ox.Literal("1", datatype=ox.NamedNode(STANDARD_PREFIXES["xsd"] + "integer")),
]
THINGS = [
    *(ox.NamedNode(Wikibase.ENTITY + name) for name in ("Q1", "Q2", "Q3", "Q4")),
    ox.NamedNode("http://e/other"),
    ox.BlankNode("b"),
    *VALUES[::4],
]


def graph(rng: random.Random) -> list[ox.Quad]:
    """Entities with no, one or several values of each property in each language, and links to every kind of term."""
    quads = []
    for _ in range(rng.choice((3, 20, 60))):
        one = rng.choice(THINGS[:6])
        place = ox.NamedNode("http://e/g") if rng.random() < 0.1 else ox.DefaultGraph()
        value = rng.choice(THINGS[:5]) if rng.random() < 0.1 else rng.choice(VALUES)
        quads.append(ox.Quad(one, rng.choice((ALIAS, LABEL)), value, place))
        quads.append(ox.Quad(one, LINK, rng.choice(THINGS), ox.DefaultGraph()))
    # Oxigraph's function stops at the first label in the first language, of which an entity has one.
    single = {
        (q.subject, q.object.language, q.graph_name): q
        for q in quads
        if q.predicate == LABEL and isinstance(q.object, ox.Literal)
    }
    return [q for q in quads if q.predicate != LABEL or q in single.values() or not isinstance(q.object, ox.Literal)]


def _unlabelled(row: Iterable[Term]) -> tuple[object, ...]:
    return tuple("blank node" if isinstance(term, ox.BlankNode) else term for term in row)


@pytest.mark.parametrize("seed", some(range(6), 3))
def test_the_value_in_the_best_language(seed: int) -> None:
    rng = random.Random(seed)
    data, rows = Dataset(graph(rng)), 0
    for languages in LANGUAGES:
        for verb in ("rdfs:label", "skos:altLabel"):
            call = f'kb:inLanguage(?x, {verb}, "{languages}")'
            for where in (
                f"?y <{LINK.value}> ?x BIND({call} AS ?l)",
                f"?y <{LINK.value}> ?z OPTIONAL {{ ?z <{LINK.value}> ?x }} BIND({call} AS ?l)",
                f"{{ ?x ?p ?y }} UNION {{ BIND(STR(?q) AS ?x) }} UNION {{ BIND('s' AS ?x) }} BIND({call} AS ?l)",
                f"VALUES ?x {{ <{Wikibase.ENTITY}Q1> <{Wikibase.ENTITY}Q99> 'text' 5 UNDEF }} BIND({call} AS ?l)",
                f"BIND(IRI(CONCAT('{Wikibase.ENTITY}', 'Q2')) AS ?x) BIND({call} AS ?l)",
                f"?x <{LINK.value}> ?y . ?y <{LINK.value}> ?z BIND({call} AS ?l) FILTER(STRLEN(?l) < 3)"
                f' BIND(kb:inLanguage(?z, skos:altLabel, "en,fr") AS ?m)',
            ):
                text = f"{PREFIX}SELECT * {{ {where} }}"
                wanted, found = oxigraph(data, text), columns(data, text)
                order = [found.variables.index(name) for name in wanted.variables]
                mine = Counter(_unlabelled(row[at] for at in order) for row in found.rows)
                assert mine == Counter(map(_unlabelled, wanted.rows)), text
                rows += sum(row[wanted.variables.index("l")] is not None for row in wanted.rows)
    assert rows > 50


@pytest.mark.parametrize(
    "call", ["?x, ?p, 'en'", "?x, rdfs:label, ''", "?x, rdfs:label, 'en', ?g", "?x, rdfs:label, ?y"]
)
def test_what_is_left_to_oxigraph(call: str) -> None:
    with pytest.raises(UnsupportedQueryError):
        columns(
            Dataset(graph(random.Random(1))),
            f"{PREFIX}SELECT * {{ GRAPH ?g {{ ?x ?p ?y }} BIND(kb:inLanguage({call}) AS ?l) }}",
        )


SHOWN = (
    "SELECT ?x ?xLabel ?xAltLabel ?c ?cLabel ?cDescription { ?x wdt:P31 ?c SERVICE wikibase:label"
    ' { bd:serviceParam wikibase:language "de,en" } }',
    "SELECT ?xLabel { ?x wdt:P31 ?c SERVICE wikibase:label { bd:serviceParam wikibase:language 'fr' } }"
    " ORDER BY ?x LIMIT 9",
    "SELECT ?c ?cLabel (COUNT(?x) AS ?n) { ?x wdt:P31 ?c SERVICE wikibase:label { bd:serviceParam wikibase:language"
    " '[AUTO_LANGUAGE]' } } GROUP BY ?c ?cLabel ORDER BY DESC(?n) ?cLabel ?c",
)


@pytest.mark.parametrize("text", SHOWN)
def test_labels_that_are_only_shown(wikidata_kb: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with kbkit.open(wikidata_kb) as kb:
        wanted = kb.sparql(text, engine="oxigraph")
        assert wanted.height > 3
        assert "small" in query(kb.stores, text).explained()
        assert "lookup" not in query(kb.stores, text, engine="columns").explained()
        monkeypatch.setattr(engines, "_FEW_QUADS", 0)
        assert "Table Scan" in query(kb.stores, text).explained()
        key = None if "ORDER" in text else wanted.columns
        for engine in ("auto", "columns"):
            found = kb.sparql(text, engine=engine)
            one, other = (frame if key is None else frame.sort(key) for frame in (found, wanted))
            assert_frame_equal(one, other)


def test_lookups_with_labels_go_to_oxigraph(wikidata_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_FEW_QUADS", 0)
    text = "SELECT ?cLabel { wd:Q42 wdt:P31 ?c SERVICE wikibase:label { bd:serviceParam wikibase:language 'en' } }"
    with kbkit.open(wikidata_kb) as kb:
        assert "lookup" in query(kb.stores, text).explained()
        assert_frame_equal(kb.sparql(text, engine="columns"), kb.sparql(text))
