"""The vocabulary of random queries on a KB whose triples are derived from its tables."""

from __future__ import annotations

import random

import pyoxigraph as ox

from tests.fuzz.sparql_expressions import Vocabulary
from tests.fuzz.sparql_graphs import constant
from tests.sparql.engines import KbDataset

_LONG = 60
"""Length above which a literal is no constant of a query."""


def vocabulary(data: KbDataset) -> Vocabulary:
    """Return the vocabulary: the predicates of the KB's triples, and its nodes and values."""
    quads = sorted(data.store, key=str)
    predicates = sorted({str(quad.predicate) for quad in quads})
    subjects = sorted({str(quad.subject) for quad in quads})
    here = [str(quad.object) for quad in quads if len(str(quad.object)) < _LONG]
    prefixes = "".join(f"PREFIX {name}: <{iri}> " for name, iri in data.prefixes.items()) + "\n"

    def draw(rng: random.Random) -> str:
        return rng.choice(here) if rng.random() < 0.8 else constant(rng)

    facts = [(str(q.subject), str(q.predicate), str(q.object)) for q in quads if q.graph_name == ox.DefaultGraph()]
    return Vocabulary(prefixes, predicates, subjects, draw, ("<http://e/g>",), facts)
