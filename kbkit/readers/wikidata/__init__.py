"""Dumps of Wikidata, JSON or RDF -> Parquet tables and N-Triples in the model of the Wikidata Query Service.

``convert`` is where it begins. Reading: ``formats``, ``dump`` (JSON) and ``rdf_pieces`` cut files into pieces,
``admission`` lets entities in. Work: ``passes`` over the pieces, ``pool`` and ``worker`` (processes), ``state`` (what
can be gone on with), ``parts`` (what is written). JSON: ``tasks``, ``scan``, ``entity`` and ``values`` (rows),
``wikibase_rdf``, ``objects``, ``literals``, ``sites``, ``units`` (triples). RDF: ``rdf_dump``, ``rdf_tasks``,
``rdf_rows``. Choice and end: ``options``, ``selection``, ``finish``, ``rdf_finish``, ``database``; ``estimate`` for a
dry run.
"""
