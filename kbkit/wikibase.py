"""Names in Wikibase's RDF: the namespaces that the Wikidata Query Service supplies, and what is built from them.

Source: https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format (prefixes), and the prefixes that the query
service declares for every query.
"""

from __future__ import annotations

ENTITY = "http://www.wikidata.org/entity/"
PROP = "http://www.wikidata.org/prop/"
GENID = "http://www.wikidata.org/.well-known/genid/"
"""Values that are known to exist and not what they are (somevalue): the query service makes IRIs of them."""

ONTOLOGY = "http://wikiba.se/ontology#"
GEO = "http://www.opengis.net/ont/geosparql#"
GEOF = "http://www.opengis.net/def/function/geosparql/"
SCHEMA = "http://schema.org/"
BLAZEGRAPH = "http://www.bigdata.com/rdf#"
HINT = "http://www.bigdata.com/queryHints#"
MWAPI = "https://www.mediawiki.org/ontology#API/"
GAS = "http://www.bigdata.com/rdf/gas#"

PREFIXES = {
    "wd": ENTITY,
    "wds": ENTITY + "statement/",
    "wdv": "http://www.wikidata.org/value/",
    "wdref": "http://www.wikidata.org/reference/",
    "wdata": "http://www.wikidata.org/wiki/Special:EntityData/",
    "wdt": PROP + "direct/",
    "wdtn": PROP + "direct-normalized/",
    "p": PROP,
    "ps": PROP + "statement/",
    "psv": PROP + "statement/value/",
    "psn": PROP + "statement/value-normalized/",
    "pq": PROP + "qualifier/",
    "pqv": PROP + "qualifier/value/",
    "pqn": PROP + "qualifier/value-normalized/",
    "pr": PROP + "reference/",
    "prv": PROP + "reference/value/",
    "prn": PROP + "reference/value-normalized/",
    "wdno": PROP + "novalue/",
    "wikibase": ONTOLOGY,
    "bd": BLAZEGRAPH,
    "hint": HINT,
    "mwapi": MWAPI,
    "gas": GAS,
    "schema": SCHEMA,
    "prov": "http://www.w3.org/ns/prov#",
    "geo": GEO,
    "geof": GEOF,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dct": "http://purl.org/dc/terms/",
    "cc": "http://creativecommons.org/ns#",
    "ontolex": "http://www.w3.org/ns/lemon/ontolex#",
    "fn": "http://www.w3.org/2005/xpath-functions#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dbo": "http://dbpedia.org/ontology/",
    "mediawiki": "https://www.mediawiki.org/ontology#",
    "sesame": "http://www.openrdf.org/schema/sesame#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "bds": "http://www.bigdata.com/rdf/search#",
}
"""Prefix -> namespace, as the Wikidata Query Service supplies them without being asked."""
