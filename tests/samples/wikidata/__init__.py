"""Some entities of Wikidata in the format of its JSON dumps: our own selection of well-known facts, with real ids.

`python -m tests.samples.wikidata.make` writes ingest/wikidata/sample/entities.json from the modules beside it.
"""
