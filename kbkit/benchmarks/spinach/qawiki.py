"""Read QAWiki (Moya Loustaunau and Hogan, CEUR-WS 4108), which is published as the RDF of its Wikibase.

A question is an item with queries (P11). Its label is the question in one language, its other names are paraphrases.
Items without a query, such as ambiguous questions, are left out.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc

from kbkit.errors import BadInputError
from kbkit.measures.records import JsonRecord
from kbkit.readers import rdf
from kbkit.schema import STANDARD_PREFIXES

_QUERY = "<https://qawiki.org/prop/direct/P11>"
_LABEL = f"<{STANDARD_PREFIXES['rdfs']}label>"


def is_rdf(path: Path) -> bool:
    """Return whether a file is RDF by its name, rather than JSON."""
    return path.name.removesuffix(".gz").endswith((".ttl", ".nt"))


def questions(path: Path) -> list[JsonRecord]:
    """Return a record of each question: its id, its words as QALD's list of languages, and its query.

    Raises :class:`BadInputError` for invalid RDF, and for RDF without questions.
    """
    queries: dict[str, str] = {}
    words: dict[str, list[dict[str, str]]] = {}
    for batch in rdf.read([path]):
        wanted = batch.filter(pc.fill_null(pc.is_in(batch["p"], pc.cast([_QUERY, _LABEL], batch["p"].type)), False))
        for row in wanted.to_pylist():
            text, language = rdf.text(row["o"])
            if row["p"] == _LABEL:
                words.setdefault(row["s"], []).append({"language": language, "string": text})
            else:
                queries.setdefault(row["s"], text)
    if not queries:
        raise BadInputError(f"No questions in {path}", "RDF of questions is a dump of QAWiki; other files are JSON")
    return [
        JsonRecord({"id": name, "question": words.get(iri, []), "sparql": query}, f"{path}, {name}")
        for iri, query in queries.items()
        for name in [iri.rstrip(">").rpartition("/")[2]]
    ]
