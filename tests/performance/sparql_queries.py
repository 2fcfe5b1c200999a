"""Twenty queries on MAG's shape in the manner of Sparqloscope, 16 of them with an SQL query for the same answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Query:
    """A query; ``sql`` returns the same rows, if there is one."""

    name: str
    sparql: str
    sql: str = ""


_CONSTANTS = {
    "topic": "SELECT key FROM field_of_study JOIN has_topic ON tail = id GROUP BY id, key ORDER BY count(*) DESC, id",
    "rare": "SELECT key FROM field_of_study JOIN has_topic ON tail = id GROUP BY id, key ORDER BY count(*), id",
    "institution": "SELECT key FROM institution JOIN affiliated_with ON tail = id GROUP BY id, key"
    " ORDER BY count(*) DESC, id",
    "paper": "SELECT key FROM paper JOIN cites ON tail = id GROUP BY id, key ORDER BY count(*) DESC, id",
}
"""The nodes that queries name: the largest and the smallest topic, the largest institution, the most cited paper."""
_TYPES = {"topic": "field_of_study", "rare": "field_of_study"}

_QUERIES = (
    Query("1 all triples", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
    Query("2 predicates", "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n) ?p"),
    Query(
        "3 star of three",
        "SELECT (COUNT(*) AS ?n) { ?p rel:cites ?q . ?p rel:has_topic ?t . ?a rel:writes ?p }",
        "SELECT sum(c * t * w)::BIGINT AS n FROM (SELECT head AS id, count(*) AS c FROM cites GROUP BY head)"
        " JOIN (SELECT head AS id, count(*) AS t FROM has_topic GROUP BY head) USING (id)"
        " JOIN (SELECT tail AS id, count(*) AS w FROM writes GROUP BY tail) USING (id)",
    ),
    Query(
        "4 chain of two",
        "SELECT (COUNT(*) AS ?n) { ?a rel:writes ?p . ?p rel:has_topic ?t }",
        "SELECT count(*) AS n FROM writes w JOIN has_topic t ON t.head = w.tail",
    ),
    Query(
        "5 chain of three from an institution",
        "SELECT (COUNT(DISTINCT ?t) AS ?n) { ?a rel:affiliated_with $institution . ?a rel:writes ?p ."
        " ?p rel:has_topic ?t }",
        "SELECT count(DISTINCT t.tail) AS n FROM affiliated_with a JOIN writes w ON w.head = a.head"
        " JOIN has_topic t ON t.head = w.tail WHERE a.tail = (SELECT id FROM institution WHERE key = '$institution')",
    ),
    Query(
        "6 selective star with names",
        "SELECT ?name ?year { ?p rel:has_topic $rare . ?p attr:year ?year . ?p rdfs:label ?name"
        " FILTER(?year >= 2010) } ORDER BY ?name ?year",
        "SELECT name, year FROM paper JOIN has_topic t ON t.head = paper.id WHERE year >= 2010"
        " AND t.tail = (SELECT id FROM field_of_study WHERE key = '$rare') ORDER BY name, year",
    ),
    Query(
        "7 optional",
        "SELECT (COUNT(*) AS ?n) (COUNT(?i) AS ?m) { ?a rdf:type <$basetype/author>"
        " OPTIONAL { ?a rel:affiliated_with ?i } }",
        "SELECT count(*) AS n, count(f.tail) AS m FROM author LEFT JOIN affiliated_with f ON f.head = author.id",
    ),
    Query(
        "8 minus",
        "SELECT (COUNT(DISTINCT ?p) AS ?n) { ?p rel:cites ?q MINUS { ?r rel:cites ?p } }",
        "SELECT count(DISTINCT head) AS n FROM cites WHERE head NOT IN (SELECT tail FROM cites)",
    ),
    Query(
        "9 not exists",
        "SELECT (COUNT(*) AS ?n) { ?a rdf:type <$basetype/author> FILTER NOT EXISTS { ?a rel:affiliated_with ?i } }",
        "SELECT count(*) AS n FROM author WHERE id NOT IN (SELECT head FROM affiliated_with)",
    ),
    Query(
        "10 exists",
        "SELECT (COUNT(*) AS ?n) { ?p rel:has_topic $topic"
        " FILTER EXISTS { ?q rel:cites ?p . ?q rel:has_topic $topic } }",
        "WITH papers AS (SELECT head AS id FROM has_topic WHERE tail ="
        " (SELECT id FROM field_of_study WHERE key = '$topic'))"
        " SELECT count(*) AS n FROM papers WHERE id IN (SELECT tail FROM cites WHERE head IN (FROM papers))",
    ),
    Query(
        "11 union",
        "SELECT (COUNT(DISTINCT ?p) AS ?n) { { $paper rel:cites ?p } UNION { ?p rel:cites $paper } }",
        "WITH this AS (SELECT id FROM paper WHERE key = '$paper') SELECT count(*) AS n FROM"
        " (SELECT tail FROM cites WHERE head = (FROM this) UNION SELECT head FROM cites WHERE tail = (FROM this))",
    ),
    Query(
        "12 papers by year",
        "SELECT ?year (COUNT(?p) AS ?n) { ?p attr:year ?year } GROUP BY ?year ORDER BY ?year",
        "SELECT year, count(*) AS n FROM paper WHERE year IS NOT NULL GROUP BY year ORDER BY year",
    ),
    Query(
        "13 ten largest topics",
        "SELECT ?name (COUNT(?p) AS ?n) { ?p rel:has_topic ?t . ?t rdfs:label ?name } GROUP BY ?t ?name"
        " ORDER BY DESC(?n) ?name LIMIT 10",
        "SELECT name, count(*) AS n FROM has_topic JOIN field_of_study f ON f.id = tail GROUP BY f.id, name"
        " ORDER BY n DESC, name LIMIT 10",
    ),
    Query(
        "14 ten most active institutions",
        "SELECT ?name (COUNT(DISTINCT ?p) AS ?n) { ?a rel:affiliated_with ?i . ?a rel:writes ?p . ?p attr:year ?year ."
        " ?i rdfs:label ?name FILTER(?year > 2015) } GROUP BY ?i ?name ORDER BY DESC(?n) ?name LIMIT 10",
        "SELECT i.name, count(DISTINCT p.id) AS n FROM affiliated_with a JOIN writes w ON w.head = a.head"
        " JOIN paper p ON p.id = w.tail JOIN institution i ON i.id = a.tail WHERE p.year > 2015"
        " GROUP BY i.id, i.name ORDER BY n DESC, i.name LIMIT 10",
    ),
    Query(
        "15 regular expression",
        'SELECT (COUNT(*) AS ?n) { ?p rdfs:label ?name FILTER REGEX(?name, "clust.*ing", "i") }',
        "SELECT count(*) AS n FROM nodes WHERE regexp_matches(name, '(?i)clust.*ing')",
    ),
    Query(
        "16 names by first letter",
        "SELECT ?letter (COUNT(*) AS ?n) (AVG(STRLEN(?name)) AS ?length) { ?p rdfs:label ?name"
        " BIND(UCASE(SUBSTR(?name, 1, 1)) AS ?letter) } GROUP BY ?letter ORDER BY ?letter",
        "SELECT upper(name[1:1]) AS letter, count(*) AS n, avg(length(name)) AS length FROM nodes"
        " GROUP BY letter ORDER BY letter",
    ),
    Query(
        "17 numeric filter",
        "SELECT (COUNT(*) AS ?n) (AVG(?year) AS ?mean) { ?p attr:year ?year FILTER(?year * 2 - 4000 > 10) }",
        "SELECT count(*) AS n, avg(year) AS mean FROM paper WHERE year * 2 - 4000 > 10",
    ),
    Query(
        "18 distinct in order",
        "SELECT DISTINCT ?name { ?a rel:writes ?p . ?a rdfs:label ?name } ORDER BY ?name LIMIT 100 OFFSET 1000",
        "SELECT DISTINCT name FROM author WHERE id IN (SELECT head FROM writes) ORDER BY name LIMIT 100 OFFSET 1000",
    ),
    Query("19 path", "SELECT (COUNT(?q) AS ?n) { $paper rel:cites+ ?q }"),
    Query("20 all of a node", "SELECT ?p ?o { $paper ?p ?o }"),
)


def queries(kb: Any) -> list[Query]:
    """Return the queries for a KB of MAG's shape."""
    base = kb.schema.base
    keys = {name: kb.sql(f"{text} LIMIT 1").item() for name, text in _CONSTANTS.items()}
    found = []
    for query in _QUERIES:
        sparql, sql = query.sparql.replace("$base", base), query.sql
        for name, key in keys.items():
            sparql = sparql.replace(f"${name}", f"<{kb.schema.node_iri(_TYPES.get(name, name), key)}>")
            sql = sql.replace(f"${name}", key)
        found.append(Query(query.name, sparql, sql))
    return found
