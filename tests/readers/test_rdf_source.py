"""RDF as a source: syntaxes, languages, datatypes, blank nodes, classes, graphs, and what SPARQL still sees."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import duckdb
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion import recipe as recipes
from kbkit.kb import KnowledgeBase
from kbkit.readers import nesting, rdf
from kbkit.stores.triples import QUADS
from tests.examples import examples, first_some
from tests.ingestion.test_recipes import assert_sound, content

PREFIXES = """
@prefix : <http://e.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def build(folder: Path, *files: str | tuple[str, str], store: str = "tables", **options: str) -> KnowledgeBase:
    """Build a KB of Turtle texts (or (name, text) pairs) in one folder, each text after the prefixes above.

    ``store`` is the store that the test needs: triples for SPARQL.
    """
    folder.mkdir(exist_ok=True)
    for number, file in enumerate(files):
        name, text = file if isinstance(file, tuple) else (f"{number}.ttl", file)
        (folder / name).write_text(PREFIXES + text if name.endswith(("ttl", "trig")) else text, encoding="utf-8")
    return kbkit.ingest("rdf", folder, out=folder / "kb", options=options, name="rdf", replace=True, stores=[store])


def staged(path: Path, **options: str) -> duckdb.DuckDBPyConnection:
    """The tables that the recipe makes of a file, without building a KB."""
    recipe = recipes.load("rdf")
    con = duckdb.connect()
    for name, value in recipes.settings(recipe, options).items():
        con.execute(f"SET VARIABLE {name} = $value", {"value": value})
    con.register("batches", rdf.read([path]))
    con.execute("CREATE TABLE quads AS SELECT * FROM batches")
    con.execute(recipe.sql)
    return con


def dump(kb: KnowledgeBase) -> set[tuple[Any, ...]]:
    """All quads as terms, in N-Triples syntax."""
    query = """SELECT ?g ?s ?p ?o (lang(?o) AS ?l) (datatype(?o) AS ?d)
               { { ?s ?p ?o BIND("" AS ?g) } UNION { GRAPH ?g { ?s ?p ?o } } }"""
    return {tuple(map(str, row)) for row in kb.sparql(query).rows()}


# -- syntaxes ---------------------------------------------------------------------------------------------------------

SYNTAXES = {
    "nt": ox.RdfFormat.N_TRIPLES,
    "nq": ox.RdfFormat.N_QUADS,
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "rdf": ox.RdfFormat.RDF_XML,
    "owl": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
    "n3": ox.RdfFormat.N3,
}


def kept(kb: KnowledgeBase) -> set[bytes]:
    """The source's quads as the KB keeps them; all else in the RDF store is made of them and of the tables."""
    return set(gzip.decompress((kb.folder / QUADS).read_bytes()).splitlines())


@pytest.fixture(scope="module")
def expected(rdf_kb: Path) -> tuple[dict[str, Any], set[bytes], set[tuple[Any, ...]]]:
    """Tables and quads of the tiny graph, and what SPARQL sees."""
    with kbkit.open(rdf_kb) as kb:
        found = content(kb)
        found["schema"].pop("source_prefixes")
        return found, kept(kb), dump(kb)


def rows_of(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[Any, ...]]]:
    """All tables that the recipe makes, without the parser's random labels of blank nodes."""
    varying = "('blank', 'rdf_prefixes')"  # not every syntax has prefixes
    tables = con.execute(f"SELECT table_name FROM duckdb_tables() WHERE table_name NOT IN {varying}").fetchall()
    names = [name for (name,) in tables]
    return {name: sorted(con.execute(f'FROM "{name}"').fetchall(), key=repr) for name in names}


@pytest.mark.parametrize(
    "ending", first_some(["nq", "ttl.gz", "trig", "rdf", "owl", "jsonld", "n3", "nt.gz", "rdf.gz"], 3)
)
def test_every_syntax_gives_the_same_tables(ending: str, tiny: Path, tmp_path: Path) -> None:
    path = write_syntax(tiny, tmp_path, ending)
    assert rows_of(staged(path)) == rows_of(staged(tiny / "tiny.ttl"))


def write_syntax(tiny: Path, folder: Path, ending: str) -> Path:
    """Write the tiny graph in another syntax."""
    triples = [quad.triple for quad in ox.parse(path=tiny / "tiny.ttl", format=ox.RdfFormat.TURTLE)]
    data = ox.serialize(triples, format=SYNTAXES[ending.removesuffix(".gz")])
    assert data is not None
    path = folder / f"graph.{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    return path


def nested(ending: str, depth: int) -> bytes:
    """A file of one statement or more, nested that deep; its literal has as many signs that open a level."""
    xml = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    n = (depth - 2) // 2
    ends = {
        "rdf": (
            xml + b'<e:T rdf:about="http://e/1"><e:p>' * n,
            b"<![CDATA[" + b"<b>" * depth + b"]]>",
            b"</e:p></e:T>" * n + b"</rdf:RDF>",
        ),
        "jsonld": (b'{"http://e/p":' * depth, b'"\\\\\\"' + b"{" * depth + b'"', b"}" * depth),
        "nt": (
            b"<http://e/a> <http://e/p> " + b"<<( <http://e/a> <http://e/p> " * depth,
            b'"x"',
            b" )>>" * depth + b" .",
        ),
    }
    return b"".join(ends[ending])


@pytest.mark.parametrize("ending", ["rdf", "jsonld", "nt"])
@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_the_depth_of_a_file_is_limited(ending: str, piece: int) -> None:
    """Parsers of deep files take forever or end the process. Strings, and pieces that are read, do not matter."""
    syntax = {"rdf": ox.RdfFormat.RDF_XML, "jsonld": ox.RdfFormat.JSON_LD, "nt": ox.RdfFormat.N_TRIPLES}[ending]

    def read(depth: int) -> bytes:
        file = nesting.Shallow(io.BytesIO(nested(ending, depth)), syntax)
        return b"".join(iter(lambda: file.read(piece), b""))

    assert read(nesting.LIMIT) == nested(ending, nesting.LIMIT)
    with pytest.raises(nesting.TooDeepError):
        read(nesting.LIMIT + 2)


@pytest.mark.parametrize("ending", ["rdf", "jsonld", "nt"])
def test_a_deep_file_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"deep.{ending}"
    path.write_bytes(nested(ending, 100_000))
    with pytest.raises(BadInputError, match=f"deep.{ending} is nested deeper than 256 levels"):
        kbkit.ingest("rdf", path, out=tmp_path / "x.kb")


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ('<!ENTITY a "http://e/">', ""),
        ('<!ENTITY b "hahaha"><!ENTITY a "&b;&b;&b;&b;">', "Unsupported entity 'a'"),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "Unsupported entity 'a'"),
        (f'<!ENTITY a "{"ha" * 101}">', "Unsupported entity 'a'"),
        ('<!-- <!ENTITY a "http://e/"> -->', "Unsupported entity"),  # which Oxigraph reads, and expat does not
        ('<!ENTITY a "http://e/"><!ENTITY a "&lt;">', "Unsupported entity"),
    ],
)
def test_entities_of_rdf_xml_are_short(declared: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "x.rdf"
    path.write_text(
        f"<!DOCTYPE rdf:RDF [{declared}]>\n"
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        '<e:T rdf:about="&a;1"/></rdf:RDF>',
        encoding="utf-8",
    )
    if problem:
        with pytest.raises(BadInputError, match=rf"x\.rdf, line 1: {problem} \("):
            rdf.read([path]).read_all()
    else:
        assert rdf.read([path]).read_all()["s"].to_pylist()[0] == "<http://e/1>"


@pytest.mark.parametrize("ending", first_some(["nt", "jsonld.gz"], 2))
def test_other_syntaxes_give_the_same_kb(ending: str, tiny: Path, expected: Any, tmp_path: Path) -> None:
    path = write_syntax(tiny, tmp_path, ending)
    with kbkit.ingest("rdf", path, out=tmp_path / "kb", name="rdf", stores=["triples"]) as kb:
        found = content(kb)
        assert found["schema"].pop("source_prefixes") == ()
        assert (found, kept(kb), dump(kb)) == expected
        assert_sound(kb)


def test_the_tiny_graph_as_rdf(rdf_kb: Path) -> None:
    with kbkit.open(rdf_kb) as kb:
        assert_sound(kb)
        assert [(t.name, t.count, t.others) for t in kb.schema.node_types] == [
            ("Gene", 2, 1),
            ("Disease", 3, 0),
            ("Hormone", 2, 0),
            ("Drug", 2, 2),
            ("Person", 3, 0),
            ("entity", 1, 0),
        ]
        assert {r.name: r.edges for r in kb.schema.relations} == {
            "address": 1,
            "associated_with": 4,
            "interacts": 3,
            "is%20treated%20by": 3,
            "knows": 2,
            "order": 2,
            "takes": 2,
            "targets": 1,
        }
        assert kb.schema.relation("order").iri == "http://example.org/tiny/order"
        assert kb.schema.type("Gene").iri == "http://example.org/tiny/Gene"
        gene = kb.node("http://example.org/tiny/gene/g1")
        assert (gene.id, gene.type, gene.name) == (0, "Gene", "breast cancer 1")
        assert gene.attributes["code"] == "0672"
        assert gene.texts == [
            ("description", "A gene that repairs broken DNA.\nFaults in it raise the risk of breast cancer.")
        ]
        insulin = kb.node("insulin")
        assert (insulin.type, set(insulin.other_types)) == ("Hormone", {"Gene", "Drug"})


def test_files_together_are_one_graph(tmp_path: Path) -> None:
    first, second = ':a a :X ; rdfs:label "A" ; :p :b .', ':b a :X ; rdfs:label "B" ; :p :a .\n:a :p :b .'
    with (
        build(tmp_path / "two", first, second, store="triples") as two,
        build(tmp_path / "one", first + second, store="triples") as one,
    ):
        assert content(two) == content(one)
        assert dump(two) == dump(one)
        assert two.schema.edges == 2


# -- names and languages ----------------------------------------------------------------------------------------------

LABELS = """
:both rdfs:label "colour"@en , "Farbe"@de , "couleur"@fr .
:dialect rdfs:label "Farbe"@de , "colour"@en-GB .
:plain rdfs:label "plain" , "schlicht"@de .
:foreign rdfs:label "цвет"@ru .
:none :p :both .
:better rdfs:label "label"@en ; skos:prefLabel "preferred"@en .
:language rdfs:label "english"@en ; skos:prefLabel "deutsch"@de .
:shout rdfs:label "x"@EN , "y"@de .
<http://e.org/path/last#frag> :p :both .
<http://e.org/path/slash/> :p :both .
"""


def test_names_prefer_the_language_then_the_predicate(tmp_path: Path) -> None:
    with build(tmp_path / "en", LABELS) as kb:
        english = dict(kb.sql("SELECT replace(key, 'http://e.org/', ''), name FROM nodes").rows())
        assert_sound(kb)
    assert english == {
        "both": "colour",
        "dialect": "colour",
        "plain": "plain",
        "foreign": "цвет",
        "none": "none",
        "better": "preferred",
        "language": "english",
        "shout": "x",
        "path/last#frag": "frag",
        "path/slash/": "slash",
    }
    with build(tmp_path / "de", LABELS, language="de") as kb:
        german = dict(kb.sql("SELECT replace(key, 'http://e.org/', ''), name FROM nodes").rows())
    assert german == {
        **english, "both": "Farbe", "dialect": "Farbe", "plain": "schlicht", "language": "deutsch", "shout": "y"
    }  # fmt: skip


def test_other_names_of_the_language_or_of_none_are_aliases(tmp_path: Path) -> None:
    labels = ':a rdfs:label "car"@en , "auto" , "Auto"@de ; skos:prefLabel "automobile"@en .'
    with build(tmp_path, labels, store="triples") as kb:
        node = kb.node("automobile")
        assert sorted(node.aliases) == ["auto", "car"]
        assert kb.find("car") == node.id
        assert kb.sparql('SELECT ?s { ?s rdfs:label "Auto"@de }').height == 1


def test_alternative_labels_are_aliases(tmp_path: Path) -> None:
    with build(tmp_path, ':a rdfs:label "car" ; skos:altLabel "auto" , "motor car" .') as kb:
        assert sorted(kb.node("car").aliases) == ["auto", "motor car"]


def test_texts_of_the_best_language_only(tmp_path: Path) -> None:
    text = """
    :a rdfs:comment "one"@en , "eins"@de , "plain" ; skos:definition "two"@en .
    :b rdfs:comment "plain" , "deux"@fr .
    :c rdfs:comment "trois"@fr , "drei"@de .
    """
    with build(tmp_path, text) as kb:
        rows = kb.sql("SELECT key, field, position, text FROM texts JOIN nodes USING (id) ORDER BY id, position").rows()
    assert [(key[-1], field, position, text) for key, field, position, text in rows] == [
        ("a", "description", 0, "one"),
        ("a", "description", 1, "two"),
        ("b", "description", 0, "plain"),
        ("c", "description", 0, "trois"),
        ("c", "description", 1, "drei"),
    ]


def test_options_name_other_predicates(tmp_path: Path) -> None:
    text = ':a :heading "Alpha" ; :story "Long ago." ; :kind :Tale ; :p :b . :b a :Ignored .'
    options = {"labels": "http://e.org/heading", "descriptions": "story", "types": "http://e.org/kind"}
    with build(tmp_path, text, **options) as kb:
        node = kb.node("Alpha")
        assert (node.type, node.texts) == ("Tale", [("description", "Long ago.")])
        assert kb.node("http://e.org/b").type == "entity"
        assert_sound(kb)


# -- attributes -------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_literals_become_attributes_of_their_kind(tmp_path: Path) -> None:
    text = """
    :a :int 7 ; :neg -3 ; :dec 1.50 ; :dbl 1e3 ; :yes true ; :day "2024-02-29"^^xsd:date ; :zip "08001" ;
       :moment "2024-02-29T12:30:00"^^xsd:dateTime ; :utc "2024-02-29T12:30:00Z"^^xsd:dateTime ; :note "text"@en ;
       :year "1999"^^xsd:gYear ; :odd "x"^^:odd .
    """
    with build(tmp_path, text, store="triples") as kb:
        kinds = {a.name: a.type for a in kb.schema.type("entity").attributes}
        assert kinds == {
            "int": "BIGINT",
            "neg": "BIGINT",
            "dec": "DOUBLE",
            "dbl": "DOUBLE",
            "yes": "BOOLEAN",
            "day": "DATE",
            "zip": "VARCHAR",
            "moment": "TIMESTAMP",
            "utc": "TIMESTAMP",
            "note": "VARCHAR",
            "year": "BIGINT",
            "odd": "VARCHAR",
        }
        attributes = kb.node("http://e.org/a").attributes
        assert (attributes["int"], attributes["neg"], attributes["dec"], attributes["dbl"]) == (7, -3, 1.5, 1000.0)
        assert (attributes["yes"], attributes["zip"], attributes["note"]) == (True, "08001", "text")
        # SPARQL sees datatypes; Oxigraph stores the value of a number, not how it was written.
        frame = kb.sparql(
            "SELECT ?p (STR(?o) AS ?text) (DATATYPE(?o) AS ?type) { <http://e.org/a> ?p ?o FILTER(isLiteral(?o)) }"
        )
        written = {p.removeprefix("http://e.org/"): (text, kind) for p, text, kind in frame.iter_rows()}
        xsd = "http://www.w3.org/2001/XMLSchema#"
        assert written["dec"] == ("1.5", xsd + "decimal")
        assert written["dbl"][1] == xsd + "double"
        assert written["zip"] == ("08001", xsd + "string")
        assert written["year"] == ("1999", xsd + "gYear")
        assert written["odd"] == ("x", "http://e.org/odd")
        assert_sound(kb)


def test_attributes_of_several_values_are_lists(tmp_path: Path) -> None:
    with build(tmp_path, ':a :n 3 , 1 , 2 ; :one "x" . :b :n 5 ; :word "p" , "q"@en , "r"@de .') as kb:
        assert {a.name: a.type for a in kb.schema.type("entity").attributes} == {
            "n": "BIGINT[]",
            "one": "VARCHAR",
            "word": "VARCHAR[]",
        }
        first, second = kb.node("http://e.org/a"), kb.node("http://e.org/b")
        assert sorted(first.attributes["n"]) == [1, 2, 3]
        assert second.attributes["n"] == [5]
        assert sorted(second.attributes["word"]) == ["p", "q"]


def test_names_that_kbkit_uses_itself_get_an_underscore(tmp_path: Path) -> None:
    text = ':a :id "i" ; :key "k" ; :type "t" ; :aliases "s" ; :position 1 ; rdfs:label "A" .'
    with build(tmp_path, text) as kb:
        names = [a.name for a in kb.schema.type("entity").attributes]
        assert sorted(names) == ["aliases_", "id_", "key_", "position_", "type_"]
        assert kb.sql("SELECT id_, key_, type_, aliases_, position_ FROM entity").rows() == [("i", "k", "t", "s", 1)]


def test_max_attributes_keeps_the_most_frequent(tmp_path: Path) -> None:
    with build(tmp_path, ":a :often 1 ; :rare 1 . :b :often 2 .", max_attributes="1", store="triples") as kb:
        assert [a.name for a in kb.schema.type("entity").attributes] == ["often"]
        assert kb.sparql("SELECT ?o { ?s <http://e.org/rare> ?o }").rows() == [(1,)]


# -- blank nodes ------------------------------------------------------------------------------------------------------


def test_blank_nodes_are_numbered_by_first_appearance(tmp_path: Path) -> None:
    text = "_:z <http://e.org/p> _:a .\n<http://e.org/x> <http://e.org/q> _:m .\n_:a <http://e.org/p> _:z .\n"
    with build(tmp_path, ("graph.nt", text), store="triples") as kb:
        assert kb.sql("SELECT key FROM nodes ORDER BY id")["key"].to_list() == [
            "urn:kbkit:blank:1",
            "urn:kbkit:blank:2",
            "http://e.org/x",
            "urn:kbkit:blank:3",
        ]
        found = kb.sparql("SELECT ?s ?o { ?s <http://e.org/p> ?o } ORDER BY ?s").rows()
        assert found == [("urn:kbkit:blank:1", "urn:kbkit:blank:2"), ("urn:kbkit:blank:2", "urn:kbkit:blank:1")]
        assert_sound(kb)


def test_blank_nodes_of_one_label_in_two_files_are_two(tmp_path: Path) -> None:
    line = '_:same <http://e.org/p> "{}" .\n_:same <http://e.org/q> <http://e.org/x> .\n'
    with build(tmp_path, ("a.nt", line.format("first")), ("b.nt", line.format("second"))) as kb:
        rows = kb.sql("SELECT key, p FROM entity WHERE p IS NOT NULL ORDER BY id").rows()
        assert rows == [("urn:kbkit:blank:1", "first"), ("urn:kbkit:blank:2", "second")]
        assert kb.schema.relation("q").edges == 2
        assert_sound(kb)


def test_collections_and_nested_blank_nodes(tmp_path: Path) -> None:
    with build(tmp_path, ':a :list ( :x "two" 3 ) ; :box [ :in [ :deep "down" ] ] .', store="triples") as kb:
        path = "<http://e.org/box>/<http://e.org/in>/<http://e.org/deep>"
        assert kb.sparql(f"SELECT ?o {{ <http://e.org/a> {path} ?o }}").rows() == [("down",)]
        items = kb.sparql("SELECT ?o { <http://e.org/a> <http://e.org/list>/rdf:rest*/rdf:first ?o }")
        assert items.height == 3
        assert_sound(kb)


# -- types and relations ----------------------------------------------------------------------------------------------

CLASSES = """
:a a :Big , :Mid , :Small . :b a :Big , :Mid . :c a :Big . :d a :Big . :e a :Mid . :f :p :a .
"""


def test_the_smallest_class_is_the_primary_type(tmp_path: Path) -> None:
    with build(tmp_path, CLASSES, store="triples") as kb:
        found = kb.sql(
            "SELECT right(key, 1), n.type, list_sort(list(t.type::VARCHAR)) FROM nodes n"
            " LEFT JOIN node_types t USING (id) GROUP BY ALL ORDER BY 1"
        ).rows()
        assert found == [
            ("a", "Small", ["Big", "Mid"]),
            ("b", "Mid", ["Big"]),
            ("c", "Big", [None]),
            ("d", "Big", [None]),
            ("e", "Mid", [None]),
            ("f", "entity", [None]),
        ]
        assert kb.sparql("SELECT ?s { ?s kb:type <http://e.org/Big> }").height == 4
        assert_sound(kb)


def test_max_types_keeps_the_largest_classes(tmp_path: Path) -> None:
    with build(tmp_path, CLASSES + ":g a :Small2 .", max_types="2", store="triples") as kb:
        assert {t.name: (t.count, t.others) for t in kb.schema.node_types} == {
            "Mid": (3, 0),
            "Big": (2, 2),
            "entity": (2, 0),
        }
        assert kb.sparql("SELECT ?c { <http://e.org/g> rdf:type ?c }").rows() == [("http://e.org/Small2",)]
        assert_sound(kb)


def test_classes_and_predicates_that_end_alike_are_told_apart(tmp_path: Path) -> None:
    text = """
    @prefix o: <http://other.org/ns#> .
    :a a :Thing . :b a :Thing . :c a o:Thing . :d a <http://e.org/deep/thing> .
    :a :links :b , :c . :b o:links :c . :c <http://e.org/deep/Links> :d .
    :a :size 1 . :b :size 2 . :c o:size 3 .
    """
    with build(tmp_path, text) as kb:
        types = {t.name: (t.iri, t.count) for t in kb.schema.node_types}
        assert types == {
            "Thing": ("http://e.org/Thing", 2),
            "deep_thing": ("http://e.org/deep/thing", 1),
            "o_Thing": ("http://other.org/ns#Thing", 1),
        }
        relations = {r.name: (r.iri, r.edges) for r in kb.schema.relations}
        assert relations["links"] == ("http://e.org/links", 2)
        assert set(relations) == {"links", "o_links", "deep_Links"}
        assert {a.name for a in kb.schema.type("Thing").attributes} == {"size"}
        assert_sound(kb)


PERSONS = """@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix my-ex: <http://e.com/> . @prefix rdf: <http://evil.org/> . @prefix rel: <http://evil.org/rel/> .
<http://e.org/a> a foaf:Person ; foaf:knows <http://e.org/b> . <http://e.org/b> a <http://schema.org/Person> .
<http://e.org/c> a <http://dbpedia.org/ontology/Person> , my-ex:Person .
<http://e.org/d> a <http://www.x.net/v1/Person> .
"""


def test_types_that_share_a_name_are_told_apart_by_their_prefixes(tmp_path: Path) -> None:
    """Names are words in answers, SQL and SPARQL; a prefix of the file replaces none of the KB."""
    with build(tmp_path, ("x.trig", PERSONS), store="triples") as kb:
        names = {t.name for t in kb.schema.node_types}
        assert names >= {"foaf_Person", "schema_Person", "ontology_Person", "my_ex_Person", "x_Person"}
        assert kb.answers("schema_Person").nodes()["key"].to_list() == ["http://e.org/b"]
        assert kb.sql("SELECT count(*) FROM types WHERE type = 'foaf_Person'").item() == 1
        assert kb.sparql("SELECT ?x { ?x a foaf:Person ; foaf:knows ?y }").height == 1
        known = kb.schema.prefixes()
        assert (known["foaf"], known["my-ex"]) == ("http://xmlns.com/foaf/0.1/", "http://e.com/")
        assert known["rdf"].startswith("http://www.w3.org/")
        assert known["rel"] == f"{kb.schema.base}rel/"
    with kbkit.open(tmp_path / "kb") as kb:
        assert kb.schema.prefixes() == known


def test_prefixes_of_rdf_xml_and_json_ld_and_hostile_ones(tmp_path: Path) -> None:
    xml = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/" xmlns:bad="no iri"'
        ' xmlns:\u00e9="http://f/"><e:A rdf:about="http://e/1"/></rdf:RDF>'
    )
    json_ld = '{"@context": {"foaf": "http://xmlns.com/foaf/0.1/"}, "@id": "http://e/1", "foaf:name": "A"}'
    many = "".join(f"@prefix p{n}: <http://p/{n}> .\n" for n in range(5_000))
    files = [("x.rdf", xml), ("y.jsonld", json_ld), ("z.ttl", many + f"@prefix q: <http://{'q' * 5_000}> .")]
    with build(tmp_path, *files) as kb:
        found = dict(kb.schema.source_prefixes)
    assert (found["e"], found["foaf"]) == ("http://e/", "http://xmlns.com/foaf/0.1/")
    assert not {"bad", "\u00e9", "", "q"} & set(found)
    assert len(found) < 1_100


def test_classes_are_nodes_only_where_something_is_said_of_them(tmp_path: Path) -> None:
    with build(tmp_path, ':a a :X , :Y . :Y rdfs:label "the class Y" .') as kb:
        assert sorted(kb.sql("SELECT key FROM nodes")["key"]) == ["http://e.org/Y", "http://e.org/a"]
        assert_sound(kb)


def test_kb_types_of_an_exported_kb_are_not_taken_for_relations(tmp_path: Path) -> None:
    with build(tmp_path, ":a a :X ; <urn:kbkit:type> :Wrong ; :p :a .", store="triples") as kb:
        assert [r.name for r in kb.schema.relations] == ["p"]
        assert kb.sparql("SELECT ?t { ?s kb:type ?t }").rows() == [("http://e.org/X",)]
        assert_sound(kb)


# -- graphs -----------------------------------------------------------------------------------------------------------


def test_named_graphs_are_visible_to_sparql_and_edges_count_once(tmp_path: Path) -> None:
    text = ':a :p :b . :g1 { :a :p :b . :b :p :c . } :g2 { :a :p :b ; rdfs:label "A" . } _:g { :c :p :a . }'
    with build(tmp_path, ("graph.trig", text), store="triples") as kb:
        assert kb.schema.relation("p").edges == 3
        assert kb.node("A").key == "http://e.org/a"
        query = "SELECT ?g { GRAPH ?g { <http://e.org/a> <http://e.org/p> <http://e.org/b> } } ORDER BY ?g"
        assert kb.sparql(query)["g"].to_list() == ["http://e.org/g1", "http://e.org/g2"]
        graphs = kb.sparql("SELECT DISTINCT ?g { GRAPH ?g { <http://e.org/c> ?p ?o } } ORDER BY ?g")["g"].to_list()
        assert graphs == ["urn:kbkit:blank:1", "urn:kbkit:tables"]  # the second holds what the tables made of it
        # Without GRAPH a query sees all graphs.
        assert kb.sparql("SELECT DISTINCT ?s ?o { ?s <http://e.org/p> ?o }").height == 3
        assert kb.sql("SELECT count(*) FROM nodes WHERE key LIKE '%g1'").item() == 0
        assert_sound(kb)


def test_a_statement_in_two_graphs_is_one_statement(tmp_path: Path) -> None:
    text = ":g1 { :a :p :b . } :g2 { :a :p :b . }"
    with build(tmp_path, ("graph.trig", text), store="triples") as kb:
        assert kb.sparql("SELECT (COUNT(*) AS ?n) { ?s <http://e.org/p> ?o }").item() == 1


def test_language_tags_are_kept_for_sparql(tmp_path: Path) -> None:
    with build(tmp_path, LABELS, store="triples") as kb:
        found = kb.sparql("SELECT ?l (LANG(?l) AS ?tag) { <http://e.org/both> rdfs:label ?l } ORDER BY ?tag").rows()
        assert [(str(label), tag) for label, tag in found] == [("Farbe", "de"), ("colour", "en"), ("couleur", "fr")]
        assert kb.sparql('SELECT ?s { ?s rdfs:label "colour"@en-gb }').height == 1


# -- literals ---------------------------------------------------------------------------------------------------------

ODD = [
    "tab\t newline\n return\r quote\" apostrophe' backslash\\",
    "\\n is not a newline, \\\\t is not a tab, \\",
    'ends like a language "@en',
    'ends like a type "^^<http://e.org/x>',
    '"',
    '" .\n<http://e.org/evil> <http://e.org/p> "x',
    "\x85\u2028\u2029\ufeff\xad",
    "emoji 🤧 and e\u0301, 糖尿病, \U0010ffff",
    "  spaces stay  ",
    "<not an iri> _:b $x ?y {z}",
]


def _write_literals(path: Path, values: list[str]) -> None:
    a, p = ox.NamedNode("http://e.org/a"), "http://e.org/p"
    triples = [ox.Triple(a, ox.NamedNode(f"{p}{n}"), ox.Literal(value)) for n, value in enumerate(values)]
    ox.serialize(triples, path, format=ox.RdfFormat.N_TRIPLES)


def test_a_literal_with_every_escape_comes_back_from_sql_and_sparql(tmp_path: Path) -> None:
    _write_literals(tmp_path / "odd.nt", ODD)
    with kbkit.ingest("rdf", tmp_path / "odd.nt", out=tmp_path / "kb", stores=["adjacency", "triples"]) as kb:
        attributes = kb.node("http://e.org/a").attributes
        assert [attributes[f"p{n}"] for n in range(len(ODD))] == ODD
        found = kb.sparql("SELECT ?p ?o { <http://e.org/a> ?p ?o FILTER(isLiteral(?o)) }").rows()
        assert {p.removeprefix("http://e.org/p"): o for p, o in found} == {str(n): text for n, text in enumerate(ODD)}
        assert kb.schema.nodes == 1
        assert_sound(kb)


def test_control_characters_come_back(tmp_path: Path) -> None:
    text = "\b\f\v\x01\x1f\x7f"
    _write_literals(tmp_path / "odd.nt", [text])
    assert staged(tmp_path / "odd.nt").execute("SELECT p0 FROM nodes").fetchall() == [([text],)]


def test_escapes_as_a_source_may_write_them(tmp_path: Path) -> None:
    text = r'<http://e.org/\u0061> <http://e.org/p> "\t\b\n\r\f\"\'\\ \u00e9 \U0001F927 \u0041" .' + "\n"
    with build(tmp_path, ("graph.nt", text)) as kb:
        assert kb.node("http://e.org/a").attributes == {"p": "\t\b\n\r\f\"'\\ é 🤧 A"}
        assert_sound(kb)


PRIVATE = "\ue000"
LITERAL = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r", exclude_characters=PRIVATE), max_size=12
)


@examples(10)
@given(
    values=st.lists(LITERAL | st.sampled_from(ODD), min_size=1, max_size=20), tag=st.sampled_from(["", "en", "en-GB"])
)
def test_any_literal_comes_back(tmp_path: Path, values: list[str], tag: str) -> None:
    path = tmp_path / "any.nt"
    a, label = ox.NamedNode("http://e.org/a"), ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
    ox.serialize(
        [ox.Triple(a, label, ox.Literal(v, language=tag) if tag else ox.Literal(v)) for v in values],
        path,
        format=ox.RdfFormat.N_TRIPLES,
    )
    texts = staged(path).execute("SELECT text FROM texts").fetchall()
    assert [row[0] for row in texts] == list(dict.fromkeys(values))


def test_a_private_use_character_is_no_backslash(tmp_path: Path) -> None:
    _write_literals(tmp_path / "private.nt", [f"icon {PRIVATE}"])
    rows = staged(tmp_path / "private.nt").execute("SELECT p0 FROM nodes").fetchall()
    assert rows == [([f"icon {PRIVATE}"],)]


def test_iris_of_every_kind_are_keys(tmp_path: Path) -> None:
    iris = ["http://e.org/a%20b", "urn:isbn:0451450523", "mailto:a@e.org", "http://e.org/ключ", "http://e.org/x?y=1&z#f",
            "http://e.org/O'Brien", "urn:x", "http://e.org/"]  # fmt: skip
    text = "".join(f"<{iri}> <http://e.org/p> <{iri}> .\n" for iri in iris)
    with build(tmp_path, ("graph.nt", text), store="triples") as kb:
        assert kb.sql("SELECT key FROM nodes ORDER BY id")["key"].to_list() == iris
        for iri in iris:
            assert kb.sparql(f"ASK {{ <{iri}> kb:type ?t }}").item()
        assert all(kb.sql("SELECT name <> '' FROM nodes").to_series())
        assert_sound(kb)


def test_relative_iris_do_not_depend_on_where_the_file_lies(tmp_path: Path) -> None:
    with build(tmp_path / "here", "<a> <p> <b> .") as here, build(tmp_path / "there", "<a> <p> <b> .") as there:
        assert content(here) == content(there)
        assert here.node(0).key == "http://example.org/a"
