"""Dumps of Wikidata, JSON or RDF -> Parquet tables and N-Triples in the model of the Wikidata Query Service."""
