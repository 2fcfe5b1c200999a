"""What can be said only when all parts are there: which entities are mentioned but not taken, and the addresses that
external identifiers stand for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from kbkit.readers.converted import Converted
from kbkit.readers.wikidata import parts
from kbkit.readers.wikidata.database import connect, copy, files, literal, parquet, write_lines
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.passes import Made
from kbkit.schema import Wikibase

_KIND = """CASE WHEN id LIKE '%-F%' THEN 'form' WHEN id LIKE '%-S%' THEN 'sense'
 WHEN id[1] = 'P' THEN 'property' WHEN id[1] = 'L' THEN 'lexeme' WHEN id[1] = 'M' THEN 'mediainfo' ELSE 'item' END"""
STUBS, STUB_TERMS, STUB_QUADS, NORMAL_QUADS = (
    "stubs.parquet", "stub_terms.parquet", "stubs.nt.gz", "normalized.nt.gz",
)  # fmt: skip


@dataclass(frozen=True)
class Laid:
    """What lies ready when all pieces are converted: files by table, N-Triples, lines that several entities share, and
    lists of the entities that are named. ``formatters`` says whether addresses of identifiers are still to be made.
    """

    tables: dict[str, list[Path]]
    quads: list[Path]
    shared: list[Path]
    mentions: list[Path]
    formatters: bool


def lay(made: Made, options: Options) -> Laid:
    """The parts of a JSON dump as they are."""

    def each(name: str) -> list[Path]:
        return [part / name for part in made.folders]

    tables = {table: each(f"{table}.parquet") for table in parts.SCHEMAS}
    triples = options.triples
    return Laid(
        tables, each(parts.QUADS) if triples else [], each("shared.parquet") if triples else [],
        each("mentions.parquet"), formatters=triples,
    )  # fmt: skip


def finish(folder: Path, made: Made, laid: Laid, options: Options, scanned: Sequence[Path] = ()) -> Converted:
    """Add the stubs, with names if a first pass (``scanned``) has them, and list all parts."""
    con = connect(folder)
    try:
        _stubs(con, folder, laid, scanned)
        tables = {**laid.tables, "entities": [*laid.tables["entities"], folder / STUBS]}
        if scanned:
            tables["terms"] = [*laid.tables["terms"], folder / STUB_TERMS]
        quads = [*laid.quads, *_quads(con, folder, laid, stubs=bool(scanned))] if options.triples else []
    finally:
        con.close()
    counts = {
        "entities": made.entities, "statements": made.statements, "triples": made.triples,
        "duplicates": made.duplicates, "stubs": pq.read_metadata(folder / STUBS).num_rows,
    }  # fmt: skip
    return Converted(tables, quads, laid.shared, counts)


def _stubs(con: duckdb.DuckDBPyConnection, folder: Path, laid: Laid, scanned: Sequence[Path]) -> None:
    """Entities that are named and were not taken; their terms where they are known."""
    target = folder / STUBS
    if not target.exists():
        known = (
            f"(SELECT id, any_value(datatype) AS datatype FROM {files(scanned, 'known')} GROUP BY id)"
            if scanned
            else "(SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS datatype)"
        )
        copy(
            con,
            f"""SELECT id, {_KIND} AS kind, k.datatype, true AS stub
                FROM (SELECT DISTINCT id FROM {parquet(laid.mentions)}
                      WHERE id NOT IN (SELECT id FROM {parquet(laid.tables["entities"])}))
                LEFT JOIN {known} k USING (id)
                ORDER BY kind, length(id), id""",
            target,
        )
    if scanned and not (folder / STUB_TERMS).exists():
        copy(
            con,
            f"""SELECT id, term, language, value
                FROM (SELECT *, row_number() OVER () AS place FROM {files(scanned, "names")})
                WHERE id IN (SELECT id FROM read_parquet({literal(target)})) ORDER BY place""",
            folder / STUB_TERMS,
        )


def _quads(con: duckdb.DuckDBPyConnection, folder: Path, laid: Laid, *, stubs: bool) -> list[Path]:
    """The names of the stubs, and the addresses of external identifiers, as N-Triples."""
    written = []
    if stubs:
        written.append(folder / STUB_QUADS)
        if not written[-1].exists():
            names = f"FROM read_parquet({literal(folder / STUB_TERMS)}) WHERE term <> 'alias'"
            write_lines(con, f"SELECT {_TERM_LINE} {names}", written[-1])
    if laid.formatters:
        written.append(folder / NORMAL_QUADS)
        if not written[-1].exists():
            write_lines(con, _normalized(laid.tables), written[-1])
    return written


# As literals.text_literal has it: control characters are the rare case.
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
"""What MediaWiki does not leave encoded in an address (``literals.wiki_url``)."""
_SIGN = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*"
_FORMATTER = f"https?://[A-Za-z0-9.-]+(?:/{_SIGN})?(?:#{_SIGN})?"


def _normalized(tables: Mapping[str, Sequence[Path]]) -> str:
    """A query for the lines of ``wdtn:``, ``psn:`` and ``pqn:`` of external identifiers, whose property has a formatter
    for RDF (P1921); in references they are not made.
    """
    encoded = "url_encode(trim(value))"
    for code, sign in _READABLE.items():
        encoded = f"replace({encoded}, '{code}', '{sign}')"
    node = f"'<{Wikibase.PREFIXES['wds']}' || regexp_replace({{id}}, '[^A-Za-z0-9_-]', '-', 'g') || '>'"
    # The dollar sign of the formatter is taken for what it is: replace() knows no patterns.
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
