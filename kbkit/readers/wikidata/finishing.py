"""Complete a conversion: add everything that depends on all parts.

Entities that are mentioned but not converted become stubs, external identifiers get the IRIs they stand for, and the
statements of RDF dumps get the contents of their value nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from kbkit.readers.converted import Converted
from kbkit.readers.wikidata import parts
from kbkit.readers.wikidata.options import ConversionOptions
from kbkit.readers.wikidata.parts import connect, copy, literal, parquet, table_of, write_lines
from kbkit.readers.wikidata.passes import PassResult
from kbkit.schema import Wikibase

_KIND = """CASE WHEN id LIKE '%-F%' THEN 'form' WHEN id LIKE '%-S%' THEN 'sense'
 WHEN id[1] = 'P' THEN 'property' WHEN id[1] = 'L' THEN 'lexeme' WHEN id[1] = 'M' THEN 'mediainfo' ELSE 'item' END"""
STUBS, STUB_TERMS, STUB_QUADS, NORMAL_QUADS = (
    "stubs.parquet", "stub_terms.parquet", "stubs.nt.gz", "normalized.nt.gz",
)  # fmt: skip


@dataclass(frozen=True)
class ConversionFiles:
    """Files of a conversion: tables, N-Triples, lines that several entities share, and the entities that are mentioned.

    ``normalize`` says whether IRIs of external identifiers are still missing.
    """

    tables: dict[str, list[Path]]
    quads: list[Path]
    shared: list[Path]
    mentions: list[Path]
    normalize: bool


def json_layout(result: PassResult, options: ConversionOptions) -> ConversionFiles:
    """Return the files of the parts of a JSON dump."""

    def each(name: str) -> list[Path]:
        return [part / name for part in result.folders]

    tables = {table: each(f"{table}.parquet") for table in parts.SCHEMAS}
    triples = options.triples
    return ConversionFiles(
        tables, each(parts.QUADS) if triples else [], each("shared.parquet") if triples else [],
        each("mentions.parquet"), normalize=triples,
    )  # fmt: skip


def finish(
    folder: Path, result: PassResult, layout: ConversionFiles, options: ConversionOptions, scanned: Sequence[Path] = ()
) -> Converted:
    """Add stubs, with names if the parts of a first pass (``scanned``) have them, and list all files."""
    con = connect(folder)
    try:
        _stubs(con, folder, layout, scanned)
        tables = {**layout.tables, "entities": [*layout.tables["entities"], folder / STUBS]}
        if scanned:
            tables["terms"] = [*layout.tables["terms"], folder / STUB_TERMS]
        quads = [*layout.quads, *_quads(con, folder, layout, stubs=bool(scanned))] if options.triples else []
    finally:
        con.close()
    counts = {
        "entities": result.entities, "statements": result.statements, "triples": result.triples,
        "duplicates": result.duplicates, "stubs": pq.read_metadata(folder / STUBS).num_rows,
    }  # fmt: skip
    skipped = result.skipped
    counts["bad_lines"] = len(skipped.places)
    kept = [path for part in result.folders if (path := part / parts.ENTITIES).exists()]
    return Converted(tables, quads, layout.shared, counts, skipped.first, kept)


def _stubs(con: duckdb.DuckDBPyConnection, folder: Path, layout: ConversionFiles, scanned: Sequence[Path]) -> None:
    """Write the entities that are mentioned but not converted, and their terms if known."""
    target = folder / STUBS
    if not target.exists():
        known = (
            f"(SELECT id, any_value(datatype) AS datatype FROM {table_of(scanned, 'known')} GROUP BY id)"
            if scanned
            else "(SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS datatype)"
        )
        copy(
            con,
            f"""SELECT id, {_KIND} AS kind, k.datatype, true AS stub
                FROM (SELECT DISTINCT id FROM {parquet(layout.mentions)}
                      WHERE id NOT IN (SELECT id FROM {parquet(layout.tables["entities"])}))
                LEFT JOIN {known} k USING (id)
                ORDER BY kind, length(id), id""",
            target,
        )
    if scanned and not (folder / STUB_TERMS).exists():
        copy(
            con,
            f"""SELECT id, term, language, value
                FROM (SELECT *, row_number() OVER () AS position FROM {table_of(scanned, "names")})
                WHERE id IN (SELECT id FROM read_parquet({literal(target)})) ORDER BY position""",
            folder / STUB_TERMS,
        )


def _quads(con: duckdb.DuckDBPyConnection, folder: Path, layout: ConversionFiles, *, stubs: bool) -> list[Path]:
    """Write the names of stubs, and the IRIs of external identifiers, as N-Triples."""
    files = []
    if stubs:
        files.append(folder / STUB_QUADS)
        if not files[-1].exists():
            names = f"FROM read_parquet({literal(folder / STUB_TERMS)}) WHERE term IN ('label', 'description')"
            write_lines(con, f"SELECT {_TERM_LINE} {names}", files[-1])
    if layout.normalize:
        files.append(folder / NORMAL_QUADS)
        if not files[-1].exists():
            write_lines(con, _normalized(layout.tables), files[-1])
    return files


# As literals.text_literal, except for the rare control characters.
_ESCAPED = r"""replace(replace(replace(replace(replace(
 regexp_replace(value, '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]', ' ', 'g'),
 '\', '\\'), '"', '\"'), chr(10), '\n'), chr(13), '\r'), chr(9), '\t')"""
_TERM_LINE = f"""'<{Wikibase.ENTITY}' || id || '> '
 || CASE term WHEN 'label' THEN '<{Wikibase.PREFIXES["rdfs"]}label>' ELSE '<{Wikibase.SCHEMA}description>' END
 || ' "' || {_ESCAPED} || '"@' || language || ' .'"""

_READABLE = {
    "%3B": ";", "%40": "@", "%24": "$", "%21": "!", "%2A": "*", "%28": "(", "%29": ")", "%2C": ",", "%2F": "/",
    "%7E": "~", "%3A": ":", "%20": "+",
}  # fmt: skip
"""Characters that MediaWiki does not encode in URLs (``literals.wiki_url``)."""
_SIGN = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*"
_FORMATTER = f"https?://[A-Za-z0-9.-]+(?:/{_SIGN})?(?:#{_SIGN})?"


def _normalized(tables: Mapping[str, Sequence[Path]]) -> str:
    """Return a query for the lines of ``wdtn:``, ``psn:`` and ``pqn:`` of external identifiers.

    Their property must have a formatter for RDF (P1921). References have no such lines.
    """
    encoded = "url_encode(trim(value))"
    for code, sign in _READABLE.items():
        encoded = f"replace({encoded}, '{code}', '{sign}')"
    node = f"'<{Wikibase.PREFIXES['wds']}' || regexp_replace({{id}}, '[^A-Za-z0-9_-]', '-', 'g') || '>'"
    # replace() takes the dollar sign of the formatter literally.
    address = f"'<' || replace(formatter, '$1', {encoded}) || '> .'"

    def lines(subject: str, prefix: str, table: str, condition: str) -> str:
        return f"""SELECT {subject} || ' <{Wikibase.PREFIXES[prefix]}' || v.property || '> ' || {address} AS line
            FROM {parquet(tables[table])} v JOIN formatters f ON v.property = f.property
            WHERE v.datatype = 'external-id' AND v.snak = 'value' AND {condition}"""

    return f"""
        WITH formatters AS (
          SELECT subject AS property, first(value) AS formatter FROM {parquet(tables["statements"])}
          WHERE property = 'P1921' AND best AND snak = 'value' AND contains(value, '$1')
            AND regexp_full_match(value, {literal(_FORMATTER)}) GROUP BY subject)
        {lines(f"'<{Wikibase.ENTITY}' || subject || '>'", "wdtn", "statements", "best")}
        UNION ALL {lines(node.format(id="id"), "psn", "statements", "true")}
        UNION ALL {lines(node.format(id="statement"), "pqn", "qualifiers", "true")}"""


# -- RDF --------------------------------------------------------------------------------------------------------------

_FROM_NODES = ("precision", "calendar", "lower", "upper", "unit", "globe")
_ROUNDS = 4
"""Steps from a statement to its references, their values, and the normalized values."""


def rdf_layout(folder: Path, result: PassResult, options: ConversionOptions) -> ConversionFiles:
    """Join statements with their value nodes, select the nodes in use, and return the files."""
    con = connect(folder)
    try:
        _create_datatypes(con, result.folders)
        for table in parts.SNAK_TABLES:
            if not (folder / f"{table}.parquet").exists():
                _join_nodes(con, result.folders, table, folder / f"{table}.parquet")
        mentions = [part / "mentions.parquet" for part in result.folders]
        shared = folder / "shared.parquet"
        if options.triples:
            if not (shared.exists() and (folder / "named.parquet").exists()):
                _select_used(con, result.folders, folder)
            mentions.append(folder / "named.parquet")
    finally:
        con.close()
    tables = {table: [part / f"{table}.parquet" for part in result.folders] for table in parts.SCHEMAS}
    tables |= {table: [folder / f"{table}.parquet"] for table in parts.SNAK_TABLES}
    quads = [part / parts.QUADS for part in result.folders] if options.triples else []
    return ConversionFiles(tables, quads, [shared] if options.triples else [], mentions, normalize=False)


def _create_datatypes(con: duckdb.DuckDBPyConnection, folders: Sequence[Path]) -> None:
    con.execute(
        f"CREATE TABLE datatypes AS SELECT id, any_value(datatype) AS datatype FROM {table_of(folders, 'entities')}"
        " WHERE kind = 'property' AND datatype IS NOT NULL GROUP BY id"
    )


def _join_nodes(con: duckdb.DuckDBPyConnection, folders: Sequence[Path], table: str, target: Path) -> None:
    columns = ", ".join(f"any_value({name}) AS {name}" for name in _FROM_NODES)
    filled = ", ".join(f"coalesce(r.{name}, v.{name}) AS {name}" for name in _FROM_NODES)
    cited = f"WHERE reference IN (SELECT reference FROM {table_of(folders, 'references')})"
    copy(
        con,
        f"""SELECT r.* EXCLUDE (node, scan_position) REPLACE (
                     {filled}, CASE WHEN snak = 'value' OR d.datatype IS NOT NULL
                                   THEN coalesce(d.datatype, r.datatype) END AS datatype)
            FROM (SELECT *, row_number() OVER () AS scan_position FROM {table_of(folders, table)}
                  {cited if table == "reference_snaks" else ""}) r
            LEFT JOIN (SELECT node, {columns} FROM {table_of(folders, "values")} GROUP BY node) v ON r.node = v.node
            LEFT JOIN datatypes d ON d.id = r.property ORDER BY scan_position""",
        target,
    )


def _select_used(con: duckdb.DuckDBPyConnection, folders: Sequence[Path], folder: Path) -> None:
    """Write the nodes that statements refer to, and the entities that these nodes mention."""
    con.execute(f"CREATE VIEW nodes AS FROM {table_of(folders, 'nodes')}")
    con.execute(f"CREATE TABLE used AS SELECT DISTINCT node FROM {table_of(folders, 'uses')}")
    for _ in range(_ROUNDS):
        con.execute("""
            INSERT INTO used SELECT DISTINCT object FROM nodes
            WHERE object IS NOT NULL AND object NOT IN (SELECT node FROM used)
            AND subject IN (SELECT node FROM used)""")
    lines = "SELECT DISTINCT line FROM nodes WHERE subject IN (SELECT node FROM used)"
    copy(con, f"{lines} ORDER BY line", folder / "shared.parquet")
    pattern = "<http://www.wikidata.org/entity/([QPLM][1-9][0-9]*)> \\.$"
    copy(
        con,
        f"""SELECT DISTINCT id FROM (
              SELECT unnest([regexp_extract(line, {literal(pattern)}, 1),
                             regexp_extract(line, {literal("/prop/[a-z/-]*(P[1-9][0-9]*)> ")}, 1)]) AS id
              FROM read_parquet({literal(folder / "shared.parquet")})) WHERE id <> '' ORDER BY id""",
        folder / "named.parquet",
    )
