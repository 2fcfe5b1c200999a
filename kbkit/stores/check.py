"""Consistency checks: checksums of all files, and counts of all stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kbkit.directory.damage import reading
from kbkit.directory.generations import check_files
from kbkit.directory.manifest import Manifest
from kbkit.errors import DamagedError, KbError, ShortageError
from kbkit.stores import ntriples
from kbkit.stores.sparql_text import string_literal

if TYPE_CHECKING:
    from kbkit.stores import Stores

Progress = Callable[[str, int, int], None]


def check_stores(stores: Stores, progress: Progress | None = None) -> list[tuple[str, str]]:
    """Return (``files`` or a store, problems) for each check; the problems are empty if there are none.

    Each store is compared with the tables: distinct (head, relation, tail) by relation, nodes, documents, vectors.
    ``progress`` is called with a stage (``files``, in bytes, then ``stores``), the amount done, and the total.
    """
    report = progress or (lambda *_: None)
    files = check_files(stores.folder, stores.manifest, lambda done, total: report("files", done, total))
    if Manifest.is_changed(stores.folder):
        files.append("manifest.json was changed after the build")
    if stores.folder.name != stores.manifest.generation:
        files.append(f"the folder is {stores.folder.name}, but the manifest says {stores.manifest.generation}")
    result = [("files", _joined(files))]
    steps: dict[str, Callable[[Stores], list[str]]] = {
        "tables": _tables,
        "nodes": _nodes,
        "adjacency": _adjacency,
        "triples": _triples,
        "columns": _columns,
        "text": _text,
        "vectors": _vectors,
        "embeddings": _embeddings,
    }
    present = [name for name in steps if name in stores.manifest.stores or name == "nodes"]  # which all KBs need
    for number, name in enumerate(present):
        report("stores", number, len(present))
        try:
            with reading(name, stores.folder / name):
                problem = _joined(steps[name](stores))
        except ShortageError:  # which says nothing about the store
            raise
        except KbError as error:
            problem = error.message if isinstance(error, DamagedError) else str(error)
        except Exception as error:  # noqa: BLE001 - a bug in one check does not hide what the others find
            problem = f"cannot be checked: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        result.append((name, problem))
    report("stores", len(present), len(present))
    return [(what, problem.encode("utf-8", "backslashreplace").decode()) for what, problem in result]


def _tables(stores: Stores) -> list[str]:
    rows = stores.tables.rows("SELECT type, count(*), min(id), max(id) FROM nodes GROUP BY type")
    ranges = {kind: (count, first, last) for kind, count, first, last in rows}
    expected = {t.name: (t.count, t.first, t.last) for t in stores.schema.node_types if t.count}
    problems = _differences("nodes of type", expected, ranges)
    edges = dict(stores.tables.rows("SELECT relation, count(*) FROM edges GROUP BY relation"))
    problems += _differences("edges of relation", {r.name: r.edges for r in stores.schema.relations}, edges)
    signatures = stores.tables.rows(
        "SELECT relation, h.type, t.type, count(*) FROM edges JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        " GROUP BY ALL"
    )
    expected_signatures = {
        f"{r.name} ({s.head}, {s.tail})": s.edges for r in stores.schema.relations for s in r.signatures
    }
    problems += _differences("edges of", expected_signatures, {f"{r} ({h}, {t})": n for r, h, t, n in signatures})
    texts = dict(stores.tables.rows("SELECT field, count(*) FROM texts GROUP BY field"))
    problems += _differences("texts of field", {f.name: f.texts for f in stores.schema.text_fields}, texts)
    problems += _recorded(
        stores, "tables", {"nodes": stores.schema.nodes, "edges": stores.schema.edges, "texts": sum(texts.values())}
    )
    [(outside,)] = stores.tables.rows(
        "SELECT count(*) FROM edges WHERE head NOT BETWEEN 0 AND $last OR tail NOT BETWEEN 0 AND $last",
        {"last": stores.schema.nodes - 1},
    )
    return problems + ([f"{outside:,} edges to ids that do not exist"] if outside else [])


def _nodes(stores: Stores) -> list[str]:
    from kbkit.stores import node_check

    counts = {"nodes": stores.nodes.count, "aliases": len(stores.nodes.alias_nodes)}
    return _recorded(stores, "nodes", counts) + node_check.differences(stores.nodes, stores.tables, stores.schema)


def _adjacency(stores: Stores) -> list[str]:
    pairs = dict(
        stores.tables.rows(
            "SELECT relation, count(*) FROM (SELECT DISTINCT head, relation, tail FROM edges) GROUP BY relation"
        )
    )
    expected = {name: (count, count) for name, count in pairs.items()}
    problems = _recorded(stores, "adjacency", {"pairs": sum(pairs.values())})
    return problems + _differences("neighbours of relation", expected, stores.adjacency.pairs())


def _triples(stores: Stores) -> list[str]:
    # A predicate of an RDF source may also have literals and unknown values.
    node = f"isIRI(?o) && (?p = kb:type || STRSTARTS(STR(?o), {string_literal(stores.schema.key_base)}))"
    apart = f"{{ ?s ?p ?o }} UNION {{ GRAPH <{ntriples.TABLES_GRAPH}> {{ ?s kb:type ?o }} BIND(kb:type AS ?p) }}"
    found_in = apart if stores.schema.types_apart else "?s ?p ?o"
    where = f"{found_in} FILTER({node})" if stores.schema.rdf_source else found_in
    query = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {where} }} GROUP BY ?p"
    frame = stores.triples.frame(query, timeout=None)
    counts = dict(zip(frame["p"].to_list(), frame["n"].to_list(), strict=True))
    problems = _differences(
        "triples of",
        {r.iri: r.pairs for r in stores.schema.relations},
        {r.iri: counts.get(r.iri, 0) for r in stores.schema.relations},
    )
    [(types,)] = stores.tables.rows("SELECT (SELECT count(*) FROM nodes) + (SELECT count(*) FROM node_types)")
    [count] = stores.triples.frame(
        "SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }", timeout=None
    )["n"]
    problems += _recorded(stores, "triples", {"triples": count})
    return problems + _differences("triples of", {"kb:type": types}, {"kb:type": counts.get("urn:kbkit:type", 0)})


def _columns(stores: Stores) -> list[str]:
    counts = stores.columns.counts()
    problems = _recorded(stores, "columns", counts)
    if stores.has("triples"):
        triples = stores.manifest.stores["triples"].counts.get("triples")
        problems += _differences("number of", {"quads": triples}, {"quads": counts["quads"]})
    return problems + stores.columns.problems()


def _text(stores: Stores) -> list[str]:
    documents = {"documents": stores.text.documents}
    return _recorded(stores, "text", documents) + _differences(
        "number of", {"documents": stores.schema.nodes}, documents
    )


def _vectors(stores: Stores) -> list[str]:
    shape = (stores.schema.nodes, stores.manifest.stores["vectors"].settings.get("dimension"))
    expected = {"vectors": shape, "LanceDB rows": stores.schema.nodes}
    problems = _recorded(stores, "vectors", {"vectors": stores.vectors.rows(), "chunks": len(stores.vectors.chunks)})
    if len(stores.vectors.chunk_nodes) != len(stores.vectors.chunks):
        problems.append(f"{len(stores.vectors.chunk_nodes):,} nodes of {len(stores.vectors.chunks):,} chunks")
    if not stores.vectors.is_consistent():
        problems.append("LanceDB reads other vectors than those that are searched")
    return problems + _differences(
        "shape of", expected, {"vectors": stores.vectors.matrix.shape, "LanceDB rows": stores.vectors.rows()}
    )


def _embeddings(stores: Stores) -> list[str]:
    matrix = stores.embeddings.matrix
    rows, columns = matrix.shape
    problems = _recorded(stores, "embeddings", {"embeddings": rows, "dimension": columns})
    return problems + _differences("number of", {"embeddings": stores.schema.nodes}, {"embeddings": rows})


def _recorded(stores: Stores, store: str, found: Mapping[str, object]) -> list[str]:
    """Compare counts with those in the manifest's record of a store."""
    recorded = stores.manifest.stores[store].counts
    return _differences(f"{store}:", {name: recorded.get(name) for name in found}, found)


def _differences(what: str, expected: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    names = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    return [f"{what} {name}: {found.get(name, 'none')} instead of {expected.get(name, 'none')}" for name in names]


def _joined(problems: list[str]) -> str:
    return "; ".join(problems[:3]) + (f"; and {len(problems) - 3} more" if len(problems) > 3 else "")
