"""SPARQL as a syntax tree: read, rewritten, printed back."""

from kbkit.sparql_syntax.parse import parse
from kbkit.sparql_syntax.printing import to_text

__all__ = ["parse", "to_text"]
