"""Convert Wikidata dumps (JSON or RDF) to Parquet tables and N-Triples in the model of the Wikidata Query Service.

``convert`` is the entry point, ``estimate`` the dry run. ``dumps`` cuts files into pieces, ``admission`` filters them,
and ``passes`` sends the rest to worker processes, which run the functions of ``tasks``. There ``json_reader`` (with
``json_values``) or ``rdf_reader`` turns a piece into the entities and statements of ``model``, which ``rows`` and
``quads`` write to ``parts``. ``bad_lines`` collects what cannot be read, ``finishing`` adds data that depends on all
parts. ``literals``, ``wikimedia`` and ``units`` hold the formats and tables of Wikibase and Wikimedia.
"""
