"""SPARQL on columns: a query becomes one SQL statement on the KB's DuckDB.

``compile_query`` is the entry point. ``algebra`` translates syntax trees, ``patterns`` (with ``paths``) and ``selects``
(with ``aggregates``) turn the algebra into relations (``rows``), ``expressions`` and ``functions`` into SQL values
(``terms``, ``parts``), ``sources`` says what a triple pattern reads. ``results`` reads the rows.
"""

from kbkit.sparql.columns.compiler import Compiled, ResultTerm, compile_query, run
from kbkit.sparql.columns.terms import UnsupportedQueryError

__all__ = ["Compiled", "ResultTerm", "UnsupportedQueryError", "compile_query", "run"]
