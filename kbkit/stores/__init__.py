"""The five stores of a generation. Each module is the only one that imports its engine; none imports another.

============== ======================================== =======================
``tables``     DuckDB: the store of record              ``tables.duckdb``
``adjacency``  numpy: compressed sparse rows            ``adjacency/``
``triples``    Oxigraph: RDF, asked through a worker    ``triples/``
``text``       Tantivy: full text                       ``text/``
``vectors``    LanceDB and a memory-mapped matrix       ``vectors/``
============== ======================================== =======================
"""
