"""The exploration actions: on KBs of tables, of RDF, and with Wikidata's tables of statements and qualifiers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import kbkit
from kbkit.agent import describe, entries
from kbkit.agent.actions import Explorer
from kbkit.agent.agent import Agent
from kbkit.agent.results import Entry, Hit, SearchHits
from kbkit.agent.values import time
from kbkit.directory.generations import fingerprint
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.client import ModelRequest, Reply
from kbkit.mcp.tools import ToolLimits, tools
from tests.loops import each
from tests.places import TESTS
from tests.wording import Wording


def kb_of(explorer: Explorer) -> KnowledgeBase:
    """The open KB that an explorer works on."""
    kb = KnowledgeBase.__new__(KnowledgeBase)
    kb.stores = explorer.stores
    return kb


@pytest.fixture(scope="module")
def explorer(world: KnowledgeBase) -> Explorer:
    return Explorer(world.stores)


@pytest.fixture(scope="module")
def table(small: KnowledgeBase) -> Explorer:
    return Explorer(small.stores)


@pytest.fixture(scope="module")
def rdf(rdf_kb: Path) -> Iterator[Explorer]:
    with kbkit.open(rdf_kb) as kb:
        yield Explorer(kb.stores)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.id for hit in hits]


# -- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("France", "country:FRA"),  # whose stem is that of every franc
        ("  FRANCE ", "country:FRA"),
        ("République française", "country:FRA"),  # an alias
        ("republique francaise", "country:FRA"),  # without accents
        ("Djibouti", "country:DJI"),  # a city too, which has fewer edges
        ("pound sterling", "currency:GBP"),
        ("world trade", "organisation:wto"),  # all words of its name
    ],
)
def test_names_and_aliases_come_first(explorer: Explorer, text: str, first: str) -> None:
    assert ids(explorer.search(text).entities)[0] == first


def test_texts_come_after_names(explorer: Explorer) -> None:
    found = ids(explorer.search("euro").entities)
    assert found[0] == "currency:EUR"
    assert "currency:KMF" in found  # tied to the euro, says its text
    assert len(found) == len(set(found)) == 8


def test_at_most_eight_entities_and_four_properties(explorer: Explorer) -> None:
    found = explorer.search("capital country area in")
    assert (len(found.entities), len(found.properties)) <= (8, 4)
    assert len(explorer.search("sea").entities) == 8


@pytest.mark.parametrize(
    ("text", "first", "about"),
    [
        ("borders", "rel:borders", "country -> country; 638 edges, both ways"),
        ("bordering countries", "rel:borders", "country -> country; 638 edges, both ways"),
        ("land border", "rel:borders", "country -> country; 638 edges, both ways"),
        ("member of", "rel:member_of", "country -> organisation; 1,639 edges; its edges have since"),
        ("length", "attr:length_km", "attribute (BIGINT) of river"),
        ("membership since", "attr:since", "attribute (BIGINT) of member_of"),
    ],
)
def test_relations_and_attributes_are_properties(explorer: Explorer, text: str, first: str, about: str) -> None:
    found = explorer.search(text).properties
    assert about in [hit.description for hit in found if hit.id == first]


def test_what_is_meant_where_no_word_is_found(explorer: Explorer) -> None:
    assert explorer.search("zzzqqq xxyyzz").properties == []


@pytest.mark.parametrize(
    "text", ["country:FRA", " <http://example.org/world/country/FRA>", "country#FRA", "rel:borders", "attr:area_km2"]
)
def test_an_id_gives_what_has_it(explorer: Explorer, text: str) -> None:
    found = explorer.search(text)
    [hit] = [*found.entities, *found.properties]
    assert hit.id == ("country:FRA" if "FRA" in text else text)
    assert bool(found.properties) == text.startswith(("rel:", "attr:"))


def test_a_key_may_be_a_word(explorer: Explorer) -> None:
    assert ids(explorer.search("FRA").entities)[0] == "country:FRA"
    assert len(explorer.search("paris").entities) > 1


def test_what_is_near_in_meaning_only_says_so(explorer: Explorer) -> None:
    found = explorer.search("zzzqqq xxyyzz").entities
    assert found
    assert all(hit.description.startswith("near in meaning only; ") for hit in found)
    assert "near in meaning" not in explorer.search("France").text


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_search(explorer: Explorer, text: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        explorer.search(text)
    wording(str(caught.value))


@pytest.mark.parametrize(
    "text", ['"France', "a OR (b", "O'Brien; DROP TABLE nodes", "\x00", "?", "€", "<iri>", "x" * 5000]
)
def test_any_text_can_be_searched_for(explorer: Explorer, table: Explorer, text: str) -> None:
    for where in (explorer, table):
        assert len(where.search(text).entities) <= 8


def test_a_search_as_text_json_and_a_line() -> None:
    found = SearchHits([Hit("Q42", "Douglas Adams", "English\nwriter\x1b[2J")], [Hit("P69", "educated at", "")])
    assert found.text == "Entities:\n- Douglas Adams (Q42): English writer�[2J\nProperties:\n- educated at (P69)"
    assert found.to_json() == {
        "entities": ["Douglas Adams (Q42): English writer�[2J"],
        "properties": ["educated at (P69)"],
    }
    assert found.folded == "found Douglas Adams (Q42); educated at (P69)"
    assert (SearchHits([], []).text, SearchHits([], []).folded) == ("Entities: none\nProperties: none", "found nothing")


def test_a_kb_without_search_indexes(tmp_path: Path, wording: Wording) -> None:
    folder = TESTS / "tiny"
    files = {name: folder / f"{name}.csv" for name in ("nodes", "edges", "texts")}
    with kbkit.ingest("table", out=tmp_path / "bare.kb", files=files, stores=["tables"]) as kb:
        bare = Explorer(kb.stores)
        assert ids(bare.search("fluorouracil").entities) == ["drug:1"]
        assert ids(bare.search("insulyn").entities)[0] == "<http://example.org/tiny/gene%2Fprotein/g3>"
        assert bare.entry("drug:1").edges["rel:targets"]
        assert bare.sparql("ASK {}").kind == "results"
        wording(bare.sparql("DESCRIBE <urn:x>").message)
        with pytest.raises(KbError) as caught:
            Agent(kb.stores, Calls([Scripted()], Cache(None)))
        wording(str(caught.value))


# -- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_an_entry_of_a_kb_of_tables(explorer: Explorer) -> None:
    paris = explorer.entry("city:paris")
    assert (paris.id, paris.name) == ("city:paris", "Paris")
    assert paris.description.startswith("city; Capital of France on the Seine")
    assert paris.edges == {
        "rdf:type": "type:city",
        "attr:latitude": "48.86",
        "attr:longitude": "2.35",
        "incoming": {"has the capital (rel:capital)": "France (country:FRA)"},
    }
    assert paris.text.startswith("Paris (city:paris): city; Capital of France")
    assert json.loads(paris.text.partition("\n")[2]) == paris.edges
    assert paris.to_json()["edges"] == paris.edges
    assert paris.folded == "Paris (city:paris) has rdf:type, attr:latitude, attr:longitude, incoming"


def test_edges_have_their_attributes_as_qualifiers(explorer: Explorer) -> None:
    edges = explorer.entry("country:FRA").edges
    assert edges["has the capital (rel:capital)"] == {"Paris (city:paris)": {"Qualifiers": [{"attr:role": "capital"}]}}
    assert "Belgium (country:BEL)" in edges["has a land border with (rel:borders)"]
    assert edges["is a member of (rel:member_of)"]["Council of Europe (organisation:council-of-europe)"] == {
        "Qualifiers": [{"attr:since": "1949"}]
    }
    assert "has a land border with (rel:borders)" not in edges["incoming"]  # symmetric: they lead out


def test_parallel_edges_are_one_value_with_several_qualifiers(table: Explorer) -> None:
    order = table.entry("person#1").edges["rel:order"]
    [(_, held)] = order.items()
    assert [q["attr:quantity"] for q in held["Qualifiers"]] == ["2", "3"]


def test_long_lists_are_cut_with_a_note(explorer: Explorer) -> None:
    edges = explorer.entry("organisation:un").edges["incoming"]["is a member of (rel:member_of)"]
    assert len(edges) == entries.INCOMING + 1
    assert edges[-1].startswith("... and 1")
    assert entries.gathered([(str(n), {}) for n in range(20)], 25)[-1] == "... and 5 more"
    assert entries.gathered([("a", {"q": "1"}), ("b", {})], 9) == {
        "a": {"Qualifiers": [{"q": "1"}]},
        "b": {},
        "...": "7 more",
    }


WRITTEN = ["country:FRA", "country#FRA", "<http://example.org/world/country/FRA>", "http://example.org/world/country/FRA",
           "FRA", "France", "country:France", " france "]  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
def test_a_node_may_be_written_in_many_ways(explorer: Explorer, written: str) -> None:
    assert explorer.entry(written).id == "country:FRA"


def test_every_id_that_is_shown_is_read_back(table: Explorer, rdf: Explorer) -> None:
    """Keys with signs, letters of all scripts, IRIs: also in SPARQL they are the node."""
    for explorer in (table, rdf):
        kb = kb_of(explorer)
        for node in each(range(kb.schema.nodes)):
            found = kb.node(node)
            written = explorer.names.node(found.type, found.key)
            assert explorer.names.find(written) == node
            assert explorer.entry(written).id == written
            assert explorer.sparql(f"SELECT ?p {{ {written} ?p ?o }}").kind == "results"


def test_an_entry_of_an_rdf_source(rdf: Explorer) -> None:
    entry = rdf.entry("BRCA1")
    assert entry.id == "gene:g1"  # with the prefix of the file
    assert entry.edges["rdf:type"]
    assert any("associated_with" in name for name in entry.edges)


@pytest.mark.parametrize("written", ["country:FRX", "Frence", "zzzqqq", ""])
def test_unknown_ids_name_the_closest(explorer: Explorer, written: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        explorer.entry(written)
    wording(str(caught.value))


def test_the_entry_of_a_relation(explorer: Explorer) -> None:
    assert explorer.entry("rel:member_of").to_json() == {
        "entry": "is a member of (rel:member_of): country -> organisation; 1,639 edges; its edges have since",
        "edges": {
            "joins": "type:country -> type:organisation (1,639 edges)",
            "its edges have": ["attr:since (BIGINT)"],
        },
    }
    assert explorer.entry("attr:area_km2").description == "attribute (DOUBLE) of country, continent, sea, lake"


def test_an_entry_that_is_cut() -> None:
    entry = Entry("Q1", "x", "", {"a (P1)": "1", "b (P2)": "2" * 50, "c (P3)": "3"})
    assert entry.size == len('{"a (P1)": "1", "b (P2)": "", "c (P3)": "3"}') + 50
    assert (entry.within(10_000), entry.within(0).edges) == (entry, {"a (P1)": "1"})
    assert (entry.within(50).edges, entry.within(50).omitted) == ({"a (P1)": "1"}, 2)
    assert entry.within(50).text.endswith("\n(2 properties are left out)")


def test_an_entry_without_what_does_not_help() -> None:
    entry = Entry("Q1", "x", "", {"a (P1)": "1", "b (P2)": "2", "c (P3)": "3"}).kept(["b (P2)", "made up"])
    assert (entry.edges, entry.omitted) == ({"b (P2)": "2"}, 2)
    assert entry.to_json()["left out"] == "2 properties"


# -- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written", ["rel:member_of", "member_of", "is a member of", "http://example.org/world/rel/member_of"]
)
def test_examples_of_a_relation(explorer: Explorer, written: str) -> None:
    found = explorer.examples(written)
    assert found.title == "is a member of (rel:member_of): country -> organisation; 1,639 edges; its edges have since"
    assert len(found.examples) == 5
    for example in found.examples:  # each of them is an edge, with its attribute
        head, tail = (example[name].rpartition("(")[2].rstrip(")") for name in ("subject", "value"))
        since = example["Qualifiers"]["attr:since"]
        query = (
            f"ASK {{ ?s rdf:subject {head} ; rdf:predicate rel:member_of ; rdf:object {tail} ; attr:since {since} }}"
        )
        assert kb_of(explorer).sparql(query)["ask"].item()
    assert found == explorer.examples(written)
    assert found.text.count("\n- ") == 5


def test_examples_of_attributes(explorer: Explorer) -> None:
    found = explorer.examples("attr:area_km2").examples
    assert len(found) == 5
    node = found[0]["subject"].rpartition("(")[2].rstrip(")")
    area = kb_of(explorer).node(explorer.names.find(node)).attributes["area_km2"]
    assert f"{area:g}" == f"{float(found[0]['value']):g}"
    assert all("attr:role" in example["Qualifiers"] for example in explorer.examples("attr:role").examples)


@pytest.mark.parametrize("written", ["rel:bordrs", "memberof", "zzzqqq"])
def test_unknown_properties_name_the_closest(explorer: Explorer, written: str, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        explorer.examples(written)
    wording(str(caught.value))


# -- queries ----------------------------------------------------------------------------------------------------------


def test_results_are_the_first_and_last_rows(explorer: Explorer) -> None:
    found = explorer.sparql("SELECT ?x ?name { ?x a type:country ; rdfs:label ?name } ORDER BY ?name")
    assert (found.kind, found.rows, found.cut) == ("results", 197, False)
    assert found.frame is not None
    assert found.frame.height == 197
    assert found.said == "results: 197 rows; the first and last 5 are shown"
    names = found.frame["name"].to_list()
    shown = [row.split(" | ")[1].removesuffix(" |") for row in found.shown[2:]]
    assert shown == [*names[:5], "...", *names[-5:]]
    assert found.shown[0] == "| x | name |"
    assert found.shown[2] == "| country:AFG | Afghanistan |"
    assert found.folded == "results: 197 rows of x, name"


def test_ten_rows_are_shown_whole(explorer: Explorer) -> None:
    found = explorer.sparql("SELECT ?x { ?x a type:country } LIMIT 10")
    assert len(found.shown) == 12
    assert found.said == "results: 10 rows"


def test_iris_without_a_prefix_stand_in_brackets(explorer: Explorer) -> None:
    found = explorer.sparql('SELECT (<http://other.example/a> AS ?x) ("a: b" AS ?y) { }')
    assert found.shown[2:] == ["| <http://other.example/a> | a: b |"]


def test_a_row_cap(explorer: Explorer) -> None:
    found = explorer.sparql("SELECT ?x { ?x a type:country }", limit=50)
    assert (found.rows, found.cut, found.count) == (50, True, "more than 50 rows")
    exact = explorer.sparql("SELECT ?x { ?x a type:country }", limit=197)
    assert (exact.rows, exact.cut) == (197, False)


ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"


@pytest.mark.parametrize(
    ("query", "kind", "said"),
    [
        ("ASK { ?a ?b ?c }", "results", "results: 1 row"),
        ("SELECT (COUNT(?x) AS ?n) { ?x a type:nothing }", "results", "results: 1 row"),
        ("SELECT ?x { ?x a type:nothing }", "empty", "empty: the query ran, and gave no rows"),
        ("SELECT ?x {\n ?x a ?y ;;; }}", "syntax", "syntax error: Unexpected '}' (line 2, column 15)"),
        ("SELECT ?x {\n ?x nope:p ?y }", "syntax", "syntax error: Undeclared prefix nope: (line 2, column 5)"),
        (
            "SELECT ?x (COUNT(?y) AS ?n) { ?x a ?y }",
            "syntax",
            "syntax error: ?x is neither grouped nor aggregated (line 1, column 8)",
        ),
        ("  ", "syntax", "syntax error: the query is empty"),
        (ENDLESS, "timeout", "timeout: SPARQL query cancelled after 0.2 s; make the query simpler"),
        (
            "SELECT * { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }",
            "syntax",
            "syntax error: SERVICE <http://127.0.0.1:1/> is not supported: ",
        ),
    ],
)
def test_what_became_of_a_query(explorer: Explorer, query: str, kind: str, said: str) -> None:
    found = explorer.sparql(query, timeout=0.2 if kind == "timeout" else 20)
    assert found.kind == kind, found.text
    assert found.said.startswith(said)
    assert "\n" not in found.said
    assert found.to_json()["outcome"] == found.said


# -- Wikidata's tables ------------------------------------------------------------------------------------------------

PEOPLE = {
    "Q42": ("human", "Douglas Adams", "English writer"), "Q5": ("class", "human", ""),
    "P31": ("property", "instance of", ""),
    "P69": ("property", "educated at", "where somebody learned"), "P569": ("property", "date of birth", ""),
    "P580": ("property", "start time", ""), "P1855": ("property", "Wikidata property example", ""),
    "P2048": ("property", "height", ""), "P625": ("property", "coordinate location", ""),
    "P1477": ("property", "birth name", ""),
    "P40": ("property", "child", ""), "P214": ("property", "VIAF ID", ""),
    "Q691283": ("class", "St John's College", ""),
    "Q11573": ("class", "metre", ""), "Q405": ("class", "Moon", ""), "Q4273363": ("class", "Brentwood School", ""),
}  # fmt: skip
STATEMENTS = [  # subject, property, rank, snak, datatype, value, target, precision, unit, globe, language
    ("Q42", "P214", "normal", "value", "external-id", "113230702", None, None, None, None, None),
    ("Q42", "P31", "normal", "value", "wikibase-item", "Q5", "Q5", None, None, None, None),
    ("Q42", "P69", "normal", "value", "wikibase-item", "Q4273363", "Q4273363", None, None, None, None),
    ("Q42", "P69", "preferred", "value", "wikibase-item", "Q691283", "Q691283", None, None, None, None),
    ("Q42", "P69", "deprecated", "value", "wikibase-item", "Q5", "Q5", None, None, None, None),
    ("Q42", "P569", "normal", "value", "time", "1952-03-11T00:00:00Z", None, 11, None, None, None),
    ("Q42", "P2048", "normal", "value", "quantity", "1.96", None, None, "Q11573", None, None),
    ("Q42", "P625", "normal", "value", "globe-coordinate", "Point(1.5 2)", None, None, None, "Q405", None),
    ("Q42", "P1477", "normal", "value", "monolingualtext", "Douglas Noël Adams", None, None, None, None, "en"),
    ("Q42", "P40", "normal", "somevalue", "wikibase-item", None, None, None, None, None, None),
    ("P69", "P1855", "normal", "value", "wikibase-item", "Q42", "Q42", None, None, None, None),
]
QUALIFIERS = [  # of the statement with this number: property, datatype, value, target, precision
    (3, "P580", "time", "1971-01-01T00:00:00Z", None, 9),
    (10, "P69", "wikibase-item", "Q691283", "Q691283", None),
    (10, "P580", "time", "1971-01-01T00:00:00Z", None, 9),
]


@pytest.fixture(scope="module")
def wikidata(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """A KB with nodes of Wikidata's, and the tables that its recipe adds."""
    folder = tmp_path_factory.mktemp("wikidata")
    files = {name: folder / f"{name}.csv" for name in ("nodes", "edges", "texts")}
    rows = [f'{key},{kind},"{name}"' for key, (kind, name, _) in PEOPLE.items()]
    files["nodes"].write_text("\n".join(["key,type,name", *rows]) + "\n")
    files["edges"].write_text(
        "head_type,head,relation,tail_type,tail\nhuman,Q42,P31,class,Q5\nhuman,Q42,P69,class,Q691283\n"
    )
    texts = [f"{kind},{key},description,{about}" for key, (kind, _, about) in PEOPLE.items() if about]
    files["texts"].write_text("\n".join(["type,key,field,text", *texts]) + "\n")
    kbkit.ingest("table", out=folder / "w.kb", files=files, stores=["tables", "text", "adjacency", "triples"]).close()
    generation = folder / "w.kb" / "generations" / "0001"
    _add_tables(generation / "tables.duckdb")
    manifest = json.loads((generation / "manifest.json").read_text())
    manifest["schema"]["dialect"] = "wikidata"
    manifest["files"]["tables.duckdb"] = fingerprint(generation / "tables.duckdb")
    (generation / "manifest.json").write_text(json.dumps(manifest))
    with kbkit.open(folder / "w.kb") as kb:
        yield Explorer(kb.stores)


def _add_tables(path: Path) -> None:
    texts = "snak VARCHAR, datatype VARCHAR, value VARCHAR, target VARCHAR, precision INTEGER, calendar VARCHAR,"
    more = "amount DOUBLE, lower DOUBLE, upper DOUBLE, unit VARCHAR, latitude DOUBLE, longitude DOUBLE, globe VARCHAR,"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE statements(id VARCHAR, subject VARCHAR, property VARCHAR, rank VARCHAR, best BOOLEAN,"
            f" {texts} {more} language VARCHAR)"
        )
        con.execute(
            "CREATE TABLE qualifiers(statement VARCHAR, subject VARCHAR, property VARCHAR, position INTEGER,"
            f" {texts} {more} language VARCHAR)"
        )
        for number, row in enumerate(STATEMENTS):
            con.execute(
                "INSERT INTO statements (id, best, subject, property, rank, snak, datatype, value, target, precision,"
                f" unit, globe, language) VALUES ({', '.join('?' * 13)})",
                [f"{row[0]}${number}", True, *row],
            )
        for place, (number, *row) in enumerate(QUALIFIERS):
            subject = STATEMENTS[number][0]
            con.execute(
                "INSERT INTO qualifiers (statement, subject, position, snak, property, datatype, value, target,"
                f" precision) VALUES ({', '.join('?' * 9)})",
                [f"{subject}${number}", subject, place, "value", *row],
            )


@pytest.mark.parametrize("written", ["q42", "<http://www.wikidata.org/entity/Q42>", "Douglas Adams"])
def test_an_entry_of_wikidata(wikidata: Explorer, written: str) -> None:
    entry = wikidata.entry(written)
    assert entry.title == "Douglas Adams (Q42): English writer"
    assert list(entry.edges.items()) == [  # in the order of properties, ids of other sites last
        ("instance of (P31)", "human (Q5)"),
        ("child (P40)", "unknown value"),
        ("educated at (P69)", {
            "St John's College (Q691283)": {"Qualifiers": [{"start time (P580)": "1971"}]},  # preferred
            "Brentwood School (Q4273363)": {},
        }),
        ("date of birth (P569)", "11 March 1952"),
        ("coordinate location (P625)", "Point(1.5 2) on Moon (Q405)"),
        ("birth name (P1477)", "Douglas Noël Adams (en)"),
        ("height (P2048)", "1.96 metre (Q11573)"),
        ("VIAF ID (P214)", "113230702"),
    ]  # fmt: skip


def test_what_leads_to_an_item_is_counted(wikidata: Explorer) -> None:
    assert wikidata.entry("Q691283").edges == {"incoming": {"P69": "1 edge"}}


@pytest.mark.parametrize("written", ["P69", "wdt:P69", "educated at", "<http://www.wikidata.org/prop/direct/P69>"])
def test_the_examples_that_a_property_gives(wikidata: Explorer, written: str) -> None:
    found = wikidata.examples(written)
    assert found.title == "educated at (P69): where somebody learned; datatype wikibase-item"
    given, *own = found.examples
    assert all(example.keys() >= {"Qualifiers"} for example in own[:1])
    assert given == {
        "subject": "Douglas Adams (Q42)",
        "value": "St John's College (Q691283)",
        "Qualifiers": {"start time (P580)": "1971"},
    }
    assert "- Douglas Adams (Q42): St John's College (Q691283)  [start time (P580): 1971]\n" in found.text


def test_examples_have_qualifiers_and_references(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        found = kb.explore.examples("P1082").examples
        assert sum("Qualifiers" in example and "References" in example for example in found) >= 3
        assert len({str(example.get("Qualifiers")) for example in found}) >= 3
        assert len(kb.explore.examples("P31").examples) == 5
        assert "  (reference: " in kb.explore.examples("P1082").text


def test_examples_of_a_property_that_gives_none(wikidata: Explorer, wording: Wording) -> None:
    assert wikidata.examples("P2048").examples == [{"subject": "Douglas Adams (Q42)", "value": "1.96 metre (Q11573)"}]
    assert wikidata.examples("P580").text == "start time (P580)\nno examples"
    with pytest.raises(KbError) as caught:
        wikidata.examples("Q42")
    wording(str(caught.value))


def test_properties_of_wikidata_are_searched_apart(wikidata: Explorer) -> None:
    found = wikidata.search("educated at")
    assert ids(found.properties)[0] == "P69"
    assert "P69" not in ids(found.entities)
    assert ids(wikidata.search("Douglas Adams").entities) == ["Q42"]
    assert wikidata.search("Douglas Adams").entities[0].line == "Douglas Adams (Q42): English writer"


def test_what_a_model_is_told_of_wikidata(wikidata: Explorer) -> None:
    about = describe.kb(wikidata.stores, wikidata.names)
    assert "Wikidata Query Service" in about["notes"][0]
    assert "relations" not in about


# -- a KB of Wikidata, as its recipe builds it ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample(wikidata_kb: Path) -> Iterator[Explorer]:
    with kbkit.open(wikidata_kb) as kb:
        yield Explorer(kb.stores)


def test_an_entry_of_the_sample(sample: Explorer) -> None:
    berlin = sample.entry("Q64")
    assert berlin.title == "Berlin (Q64): federated state, capital and largest city of Germany"
    assert next(iter(berlin.edges)) == "instance of (P31)"
    assert berlin.edges["population (P1082)"] == {  # the preferred one first
        "3755251": {"Qualifiers": [{"point in time (P585)": "31 December 2022"}]},
        "3520031": {"Qualifiers": [{"point in time (P585)": "31 December 2015", "rank": "normal; not in wdt:"}]},
    }
    assert berlin.edges["elevation above sea level (P2044)"] == "34 metre (Q11573)"
    assert berlin.edges["incoming"]["capital (P36)"] == "2 edges"
    adams = sample.entry("Q42").edges["educated at (P69)"]
    assert adams["St John's College (Q691283)"]["Qualifiers"][0]["academic major (P812)"] == (
        "English literature (Q186579)"
    )


def test_entries_and_properties_of_the_sample(sample: Explorer) -> None:
    kb = kb_of(sample)
    properties = 0
    for node in range(0, kb.schema.nodes, 8):
        found = kb.node(node)
        entry = sample.entry(found.key)
        assert (entry.id, entry.name) == (found.key, found.name)
        statements = "SELECT count(DISTINCT property) FROM statements WHERE subject = $key AND rank <> 'deprecated'"
        [(count,)] = kb.tables.rows(statements, {"key": found.key})
        assert len(entry.edges.keys() - {"incoming"}) == count
        json.dumps(entry.to_json())
        if found.type == "property":
            properties += 1
            assert sample.examples(found.key).id == found.key
    assert properties > 10


def test_queries_of_the_query_service(sample: Explorer) -> None:
    query = """SELECT ?x ?xLabel { ?x p:P69/ps:P69 wd:Q691283 .
      SERVICE wikibase:label { bd:serviceParam wikibase:language "en". } }"""
    assert sample.sparql(query).shown[2:] == ["| wd:Q42 | Douglas Adams |"]
    assert sample.sparql("SELECT ?x {\n ?x nope:p ?y }").said.startswith(
        "syntax error: Undeclared prefix nope: (line 2, column 5)"
    )


def test_searches_of_the_sample(sample: Explorer) -> None:
    found = sample.search("educated at")
    assert ids(found.properties)[0] == "P69"
    assert not [hit for hit in found.entities if hit.id.startswith("P")]
    assert ids(sample.search("Douglas Adams").entities)[0] == "Q42"
    assert ids(sample.search("Deutschland").entities)[0] == "Q183"
    assert not [hit for hit in sample.search("zzzqqq xxyyzz").entities if hit.name in ("", hit.id)]


@pytest.mark.parametrize("text", ["Q42", "q42", "wd:Q42", "<http://www.wikidata.org/entity/Q42>", "P31", "wdt:P31"])
def test_an_id_of_wikidata_gives_what_has_it(sample: Explorer, text: str) -> None:
    found = sample.search(text)
    one = "P31" if "P31" in text else "Q42"
    assert (ids(found.entities), ids(found.properties)) == (([one], []) if one == "Q42" else ([], [one]))


@pytest.mark.parametrize("written", ["Q999999999", "wd:Q999999999", "nobody at all"])
def test_unknown_ids_of_wikidata(sample: Explorer, written: str, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        sample.entry(written)
    wording(str(caught.value))


class Scripted:
    """A model that says one thing after another."""

    name = "scripted"

    def __init__(self, *said: str) -> None:
        self.said, self.asked = list(said), []

    def complete(self, request: ModelRequest) -> Reply:
        self.asked.append(json.loads(request.asked()))
        return Reply(self.said.pop(0))


def test_a_question_on_wikidata(sample: Explorer) -> None:
    """With the SPINACH paper's names of the actions, and a query as the query service takes it."""
    query = """SELECT ?school ?schoolLabel WHERE { wd:Q42 wdt:P69 ?school .
      SERVICE wikibase:label { bd:serviceParam wikibase:language "en". } } ORDER BY ?schoolLabel"""
    actions = ('search_wikidata("Douglas Adams")', 'get_property_examples("P69")', 'get_wikidata_entry("Q42")')
    said = [f"Thought: t\n>> {action}" for action in (*actions, f'execute_sparql("""{query}""")', "stop()")]
    model = Scripted(*said)
    answer = Agent(sample.stores, Calls([model], Cache(None))).ask("Where did Douglas Adams go to school?")
    assert answer.rows["schoolLabel"].to_list() == ["Brentwood School", "St John's College"]
    assert [step.action for step in answer.trace] == ["search", "examples", "entry", "sparql", "stop"]
    assert "Wikidata Query Service" in model.asked[0]["kb"]["notes"][0]
    assert answer.trace[2].observation.startswith("Douglas Adams (Q42): English science fiction writer")


def test_the_examples_of_tools_fit_each_kb(
    explorer: Explorer, table: Explorer, rdf: Explorer, sample: Explorer
) -> None:
    """Each description of a tool for other agents ends with a call that gives something."""
    for where in (explorer, table, rdf, sample):
        for tool in each(tools(kb_of(where), ToolLimits())):
            _, sign, example = tool.does.partition("Example: ")
            if sign:
                arguments = json.loads(example)
                assert set(tool.schema["required"]) == set(arguments)
                said = tool.work(**arguments).text
                assert said
                assert not said.startswith(("0 ", "Entities: none")), (tool.name, example)


# -- values in words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "precision", "said"),
    [
        ("2023-02-04T00:00:00Z", 11, "4 February 2023"),
        ("2023-02-01T00:00:00Z", 10, "February 2023"),
        ("2023-01-01T00:00:00Z", 9, "2023"),
        ("1950-01-01T00:00:00Z", 8, "1950s"),
        ("1800-01-01T00:00:00Z", 7, "18th century"),
        ("1801-01-01T00:00:00Z", 7, "19th century"),
        ("2000-01-01T00:00:00Z", 6, "2nd millennium"),
        ("-0043-03-15T00:00:00Z", 11, "15 March 44 BCE"),  # XSD 1.1 counts a year 0
        ("0000-01-01T00:00:00Z", 9, "1 BCE"),
        ("-0500-01-01T00:00:00Z", 7, "5th century BCE"),
        ("-13798000000-01-01T00:00:00Z", 3, "about the year 13,798,000,000 BCE"),
        ("2023-02-04T12:30:00Z", 14, "4 February 2023"),
        ("2023-02-04", None, "4 February 2023"),
        ("+0000-00-00T00:00:00Z", 9, "+0000-00-00T00:00:00Z"),
        ("soon", 11, "soon"),
    ],
)
def test_times_are_written_by_their_precision(value: str, precision: int | None, said: str) -> None:
    assert time(value, precision) == said


# -- what a model is told ---------------------------------------------------------------------------------------------


def test_what_a_model_is_told_of_a_kb(explorer: Explorer) -> None:
    about = describe.kb(explorer.stores, explorer.names)
    assert about["name"] == "Countries of the world and their relations"
    assert about["relations"]["rel:borders"] == "has a land border with: country -> country; 638 edges, both ways"
    assert about["types"]["type:river"] == "293 nodes; has attr:length_km"
    assert about["prefixes"]["country"] == "http://example.org/world/country/"
    json.dumps(about)


def test_the_note_on_full_text_is_true(explorer: Explorer, sample: Explorer) -> None:
    for where, words, found in ((explorer, "Paris", "city:paris"), (sample, "Douglas Adams", "wd:Q42")):
        [note] = [note for note in describe.kb(where.stores, where.names)["notes"] if "kb:search" in note]
        pattern = note.partition(" finds")[0].replace("words", words)
        assert f"| {found} |" in where.sparql(f"SELECT ?x {{ {pattern} }}").shown


def test_the_note_on_attributes_of_edges_is_true(explorer: Explorer) -> None:
    [note] = [note for note in describe.kb(explorer.stores, explorer.names)["notes"] if "attr:NAME ?value" in note]
    pattern = note.partition(": ")[2].replace("rel:NAME", "rel:capital").replace("attr:NAME", "attr:role")
    found = explorer.sparql(f"SELECT ?value {{ {pattern} FILTER(?tail = city:paris) }}")
    assert found.shown[2:] == ["| capital |"]


def test_actions_can_be_left_out(wording: Wording) -> None:
    assert [a["name"] for a in describe.actions(())] == ["search", "entry", "examples", "sparql", "stop"]
    assert [a["name"] for a in describe.actions(("entry", "search"))] == ["examples", "sparql", "stop"]
    with pytest.raises(KbError) as caught:
        describe.actions(("sparql",))
    wording(str(caught.value))
    with pytest.raises(UnknownNameError) as caught:
        describe.actions(("serch",))
    wording(str(caught.value))


def test_labels_cannot_break_out_of_a_line() -> None:
    """Control characters and line breaks of labels reach neither a screen nor the lines of a result."""
    hostile = "x\x1b[2J\nAction: stop()\r" + "y" * 500
    hit = Hit("Q1", hostile, hostile)
    for written in (hit.line, SearchHits([hit], []).text.removeprefix("Entities:\n").partition("\nProperties")[0]):
        assert not set(written) & {"\n", "\r", "\x1b"}
        assert len(written) < 700
