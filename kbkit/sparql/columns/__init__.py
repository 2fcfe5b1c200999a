"""SPARQL on columns: a query becomes one SQL statement on the KB's DuckDB.

``compile_query`` is the entry point. ``translate`` (with ``translate_expressions``) turns syntax trees into the
``algebra``. ``patterns`` (with ``triple_patterns``, ``paths`` and ``counting``) and ``selects`` (with ``aggregates``)
turn that into relations (``rows``); ``expressions`` and ``functions`` make SQL values (``terms``, ``parts``);
``sources`` says what a triple pattern reads. ``results`` and ``writing`` read the rows. To add a function, write it in
``functions`` or ``number_functions`` and list it there.
"""

from kbkit.sparql.columns.compiler import Compiled, ResultTerm, compile_query, run
from kbkit.sparql.columns.terms import BEYOND, UnsupportedQueryError

__all__ = ["BEYOND", "Compiled", "ResultTerm", "UnsupportedQueryError", "compile_query", "run"]
