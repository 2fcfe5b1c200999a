"""Whether the stores of a KB agree and its files are as they were written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kbkit.errors import KbError
from kbkit.layout import check_files
from kbkit.stores.sparql_text import string_literal

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

Tell = Callable[[str, int, int], None]


def check(kb: KnowledgeBase, tell: Tell | None = None) -> list[tuple[str, str]]:
    """(what was checked, problem) for files and each store; the problem is empty when there is none.

    All compare distinct counts with the tables: (head, relation, tail) by relation, nodes, documents, vectors.
    ``tell`` hears of a stage (``files`` in bytes, then ``stores``), how much of it is done, and of how much.
    """
    told = tell or (lambda *_: None)
    files = check_files(kb.folder, kb.manifest, lambda done, total: told("files", done, total))
    if kb.folder.name != kb.manifest.generation:
        files.append(f"the folder is called {kb.folder.name}, the manifest says {kb.manifest.generation}")
    result = [("files", _several(files))]
    steps: dict[str, Callable[[KnowledgeBase], list[str]]] = {
        "tables": _tables,
        "adjacency": _adjacency,
        "triples": _triples,
        "text": _text,
        "vectors": _vectors,
    }
    present = [name for name in steps if name in kb.manifest.stores]
    for place, name in enumerate(present):
        told("stores", place, len(present))
        try:
            result.append((name, _several(steps[name](kb))))
        except KbError as error:
            result.append((name, str(error)))
        except Exception as error:  # noqa: BLE001 - a damaged store may fail in any way its engine knows
            result.append((name, f"cannot be read: {' '.join(str(error).split())[:200]}"))
    told("stores", len(present), len(present))
    return result


def _tables(kb: KnowledgeBase) -> list[str]:
    rows = kb.tables.rows("SELECT type, count(*), min(id), max(id) FROM nodes GROUP BY type")
    found = {kind: (count, first, last) for kind, count, first, last in rows}
    expected = {t.name: (t.count, t.first, t.last) for t in kb.schema.node_types if t.count}
    problems = _differences("nodes of type", expected, found)
    edges = dict(kb.tables.rows("SELECT relation, count(*) FROM edges GROUP BY relation"))
    problems += _differences("edges of relation", {r.name: r.edges for r in kb.schema.relations}, edges)
    signatures = kb.tables.rows(
        "SELECT relation, h.type, t.type, count(*) FROM edges JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        " GROUP BY ALL"
    )
    expected_signatures = {f"{r.name} ({s.head}, {s.tail})": s.edges for r in kb.schema.relations for s in r.signatures}
    problems += _differences("edges of", expected_signatures, {f"{r} ({h}, {t})": n for r, h, t, n in signatures})
    texts = dict(kb.tables.rows("SELECT field, count(*) FROM texts GROUP BY field"))
    problems += _differences("texts of field", {f.name: f.texts for f in kb.schema.text_fields}, texts)
    problems += _recorded(
        kb, "tables", {"nodes": kb.schema.nodes, "edges": kb.schema.edges, "texts": sum(texts.values())}
    )
    [(outside,)] = kb.tables.rows(
        "SELECT count(*) FROM edges WHERE head NOT BETWEEN 0 AND $last OR tail NOT BETWEEN 0 AND $last",
        {"last": kb.schema.nodes - 1},
    )
    return problems + ([f"{outside:,} edges to ids that do not exist"] if outside else [])


def _adjacency(kb: KnowledgeBase) -> list[str]:
    pairs = dict(
        kb.tables.rows(
            "SELECT relation, count(*) FROM (SELECT DISTINCT head, relation, tail FROM edges) GROUP BY relation"
        )
    )
    expected = {name: (count, count) for name, count in pairs.items()}
    problems = _recorded(kb, "adjacency", {"pairs": sum(pairs.values())})
    return problems + _differences("neighbours of relation", expected, kb.adjacency.pairs())


def _triples(kb: KnowledgeBase) -> list[str]:
    # A predicate of an RDF source may have literals too, and values that are known to exist only.
    node = f"isIRI(?o) && (?p = kb:type || STRSTARTS(STR(?o), {string_literal(kb.schema.key_base)}))"
    where = f"?s ?p ?o FILTER({node})" if kb.schema.rdf_source else "?s ?p ?o"
    query = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {where} }} GROUP BY ?p"
    frame = kb.triples.frame(query, timeout=None)
    found = dict(zip(frame["p"].to_list(), frame["n"].to_list(), strict=True))
    problems = _differences(
        "triples of",
        {r.iri: r.pairs for r in kb.schema.relations},
        {r.iri: found.get(r.iri, 0) for r in kb.schema.relations},
    )
    [(types,)] = kb.tables.rows("SELECT (SELECT count(*) FROM nodes) + (SELECT count(*) FROM node_types)")
    [count] = kb.triples.frame(
        "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }", timeout=None
    )["n"]
    problems += _recorded(kb, "triples", {"triples": count})
    return problems + _differences("triples of", {"kb:type": types}, {"kb:type": found.get("urn:kbkit:type", 0)})


def _text(kb: KnowledgeBase) -> list[str]:
    documents = {"documents": kb.text.documents}
    return _recorded(kb, "text", documents) + _differences("number of", {"documents": kb.schema.nodes}, documents)


def _vectors(kb: KnowledgeBase) -> list[str]:
    shape = (kb.schema.nodes, kb.manifest.stores["vectors"].settings["dimension"])
    expected = {"matrix": shape, "LanceDB rows": kb.schema.nodes}
    problems = _recorded(kb, "vectors", {"vectors": kb.vectors.rows(), "chunks": len(kb.vectors.chunks)})
    if len(kb.vectors.chunk_nodes) != len(kb.vectors.chunks):
        problems.append(f"{len(kb.vectors.chunk_nodes):,} nodes of {len(kb.vectors.chunks):,} chunks")
    return problems + _differences(
        "shape of", expected, {"matrix": kb.vectors.matrix.shape, "LanceDB rows": kb.vectors.rows()}
    )


def _recorded(kb: KnowledgeBase, store: str, found: Mapping[str, object]) -> list[str]:
    """Compare with the counts that the manifest records for a store."""
    recorded = kb.manifest.stores[store].counts
    return _differences(f"{store}:", {name: recorded.get(name) for name in found}, found)


def _differences(what: str, expected: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    names = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    return [f"{what} {name}: {found.get(name, 'none')}, not {expected.get(name, 'none')}" for name in names]


def _several(problems: list[str]) -> str:
    return "; ".join(problems[:3]) + (f"; and {len(problems) - 3} more" if len(problems) > 3 else "")
