"""Write the result of a compiled query as bytes, in a published format and a chunk of rows at a time.

The bytes are those of Oxigraph's writers, except that a carriage return in XML is a character reference: readers of XML
take a plain one for a line feed.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kbkit.sparql.columns.lexical import BLANK_NODE, IRI, XSD, Coded, Column, coded

if TYPE_CHECKING:
    from kbkit.sparql.columns.compiler import ResultTerm
    from kbkit.stores.sparql_formats import Format

_ROWS = 1 << 14
"""Rows of a chunk."""
_TEXT = pa.large_string()


def chunks(
    kind: str, columns: Sequence[ResultTerm], table: pa.Table, form: Format, prefixes: Mapping[str, str]
) -> Iterator[bytes]:
    """Yield the bytes of a result; ``prefixes`` are for the formats of graphs that have them."""
    if kind == "ask":
        yield _ASK[form.name].format(str(table.column(0)[0].as_py()).lower()).encode()
    elif kind == "triples":
        lines = _rows(_N_TRIPLES, columns, table)
        yield from lines if form.name == "ntriples" else _graph(b"".join(lines), form, prefixes)
    else:
        writer = _WRITERS[form.name]
        yield writer.header([column.name for column in columns]).encode()
        yield from _rows(writer, columns, table)
        if writer.footer:
            yield writer.footer.encode()


def _graph(lines: bytes, form: Format, prefixes: Mapping[str, str]) -> Iterator[bytes]:
    import pyoxigraph as ox

    written = io.BytesIO()
    quads = ox.parse(lines, ox.RdfFormat.N_TRIPLES, lenient=True)
    rdf_format = ox.RdfFormat.from_extension(form.suffix[1:])
    assert rdf_format is not None
    ox.serialize((quad.triple for quad in quads), written, rdf_format, prefixes=dict(prefixes))
    yield written.getvalue()


@dataclass(frozen=True)
class _Writer:
    """How a format writes the rows of a result.

    ``around`` returns the texts before and after the text of a term, by variable and head, ``escape`` escapes its text,
    and ``bare`` tells which literals of a head are written as their text only.
    """

    around: Callable[[str, str], tuple[str, str]]
    escape: Callable[[Column], Column]
    header: Callable[[Sequence[str]], str] = lambda _: ""
    footer: str = ""
    before: str = ""
    """Text before a row."""
    between: str = ""
    """Text between the cells of a row, also those of unbound variables."""
    after: str = ""
    """Text after a row."""
    separated: bool = False
    """Whether a comma is between rows, and between the cells of bound variables."""
    bare: Mapping[str, str] = field(default_factory=dict)
    """Regular expressions of the text of literals that are written without quotes and tags, by head."""


def _rows(writer: _Writer, columns: Sequence[ResultTerm], table: pa.Table) -> Iterator[bytes]:
    """Yield the rows of a table in chunks."""
    for start in range(0, table.num_rows, _ROWS):
        part = table.slice(start, _ROWS)
        cells = [
            _cell(writer, column.name, coded(part.column(at), column.representation))
            for at, column in enumerate(columns)
        ]
        text = _bytes(_lines(writer, cells, part.num_rows))
        yield text[1:] if writer.separated and start == 0 else text


def _cell(writer: _Writer, name: str, terms: Coded) -> Column:
    """Return the terms of a variable as text; null if unbound."""
    before = terms.spread(lambda head: writer.around(name, head)[0])
    after = terms.spread(lambda head: writer.around(name, head)[1])
    text = _joined(before, writer.escape(terms.values), after)
    for head, form in writer.bare.items():
        if head in terms.heads:
            is_bare = pc.match_substring_regex(terms.values, f"^(?:{form})$")
            if terms.codes is not None:
                is_bare = pc.and_(is_bare, terms.holds(head.__eq__))
            text = pc.if_else(is_bare, terms.values, text)
    return text


def _lines(writer: _Writer, cells: Sequence[Column], count: int) -> Column:
    """Return the rows as text."""
    if cells:
        text = _joined(*cells, between=writer.between, null_handling="replace", null_replacement="")
    else:
        text = pa.repeat(_scalar(""), count)
    if writer.separated:
        return _joined(",{", pc.utf8_slice_codeunits(text, 1), "}")
    return _joined(writer.before, text, writer.after)


def _bytes(column: Column) -> bytes:
    """Return the concatenated strings of a column."""
    if not len(column):
        return b""
    _, offsets, data = column.buffers()
    ends = memoryview(offsets).cast("B").cast("q")
    return bytes(memoryview(data)[ends[column.offset] : ends[column.offset + len(column)]]) if data else b""


def _joined(*parts: Any, between: str = "", **options: str) -> Column:
    columns = [_scalar(part) if isinstance(part, str) else part for part in (*parts, between)]
    return pc.binary_join_element_wise(*columns, **options)


def _scalar(text: str) -> Any:
    return pa.scalar(text, _TEXT)


# -- escapes ----------------------------------------------------------------------------------------------------------


def _escape(text: Column, named: Mapping[str, str], controls: str = "", code: str = "") -> Column:
    """Replace characters by their names in a format, and ``controls``, which are rare, by their codes."""
    pattern = "[" + "".join(f"\\x{ord(character):02x}" for character in named) + controls + "]"
    if not _any(text, pattern):
        return text
    for character, name in named.items():
        text = pc.replace_substring(text, character, name)
    if controls and _any(text, f"[{controls}]"):
        for character in map(chr, (*range(0x20), 0x7F, 0xFFFE, 0xFFFF)):
            if re.match(f"[{controls}]", character):
                text = pc.replace_substring(text, character, code.format(ord(character)))
    return text


def _any(text: Column, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(text, pattern)).as_py())


_ALWAYS = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_NAMED = {**_ALWAYS, "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_TSV = {**_ALWAYS, "\t": "\\t"}
_XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&apos;", '"': "&quot;", "\r": "&#13;"}
_SPACE = {" ": "&#32;", "\t": "&#9;", "\n": "&#10;"}


def _xml_cells(text: Column) -> Column:
    """Escape text for XML; white space at its ends is written as references, which readers do not trim."""
    text, at_ends = _escape(text, _XML), pc.match_substring_regex(text, r"^[ \t\n\r]|[ \t\n\r]$").fill_null(False)
    if not pc.any(at_ends).as_py():
        return text
    parts = pc.extract_regex(
        text.filter(at_ends), r"(?s)^(?P<first>(?:[ \t\n]|&#13;)*)(?P<rest>.*?)(?P<last>(?:[ \t\n]|&#13;)*)$"
    )
    first, rest, last = (pc.struct_field(parts, name) for name in ("first", "rest", "last"))
    return pc.replace_with_mask(text, at_ends, _joined(_escape(first, _SPACE), rest, _escape(last, _SPACE)))


def _quoted_cells(text: Column) -> Column:
    """Put cells of CSV in quotes if they need them."""
    special = pc.match_substring_regex(text, '[",\r\n]')
    if not pc.any(special).as_py():
        return text
    return pc.if_else(special, _joined('"', pc.replace_substring(text, '"', '""'), '"'), text)


# -- formats ----------------------------------------------------------------------------------------------------------


def _turtle(_: str, head: str) -> tuple[str, str]:
    if head == IRI:
        return "<", ">"
    if head == BLANK_NODE:
        return "_:", ""
    return '"', '"' + (f"^^<{head[1:]}>" if head.startswith("^") else head)


def _csv(_: str, head: str) -> tuple[str, str]:
    return ("_:" if head == BLANK_NODE else ""), ""


def _json(name: str, head: str) -> tuple[str, str]:
    kind = {IRI: "uri", BLANK_NODE: "bnode"}.get(head, "literal")
    more = ""
    if head.startswith("^"):
        more = f',"datatype":{json.dumps(head[1:], ensure_ascii=False)}'
    elif head.startswith("@"):
        language, _, direction = head[1:].partition("--")
        more = f',"xml:lang":"{language}"' + (f',"its:dir":"{direction}"' if direction else "")
    return f',{json.dumps(name, ensure_ascii=False)}:{{"type":"{kind}","value":"', f'"{more}}}'


def _xml(name: str, head: str) -> tuple[str, str]:
    tag, more = {IRI: "uri", BLANK_NODE: "bnode"}.get(head, "literal"), ""
    if head.startswith("^"):
        more = f' datatype="{_xml_text(head[1:])}"'
    elif head.startswith("@"):
        language, _, direction = head[1:].partition("--")
        more = f' xml:lang="{language}"' + (f' its:dir="{direction}"{_ITS}' if direction else "")
    return f'<binding name="{_xml_text(name)}"><{tag}{more}>', f"</{tag}></binding>"


_ITS = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'
_XML_START = '<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>'


def _xml_text(text: str) -> str:
    return "".join(_XML.get(character, character) for character in text)


def _json_header(names: Sequence[str]) -> str:
    return (
        f'{{"head":{{"vars":{json.dumps(names, ensure_ascii=False, separators=(",", ":"))}}},"results":{{"bindings":['
    )


def _xml_header(names: Sequence[str]) -> str:
    return _XML_START + "".join(f'<variable name="{_xml_text(name)}"/>' for name in names) + "</head><results>"


_N_TRIPLES = _Writer(
    _turtle,
    lambda text: _escape(text, _NAMED, "\\x00-\\x1f\\x7f\ufffe\uffff", "\\u{:04X}"),
    between=" ",
    after=" .\n",
)
_WRITERS = {
    "sparql-json": _Writer(
        _json,
        lambda text: _escape(text, _NAMED, r"\x00-\x1f", "\\u{:04x}"),
        _json_header,
        "]}}",
        separated=True,
    ),
    "sparql-xml": _Writer(
        _xml,
        _xml_cells,
        _xml_header,
        "</results></sparql>",
        before="<result>",
        after="</result>",
    ),
    "sparql-csv": _Writer(_csv, _quoted_cells, lambda names: ",".join(names) + "\r\n", between=",", after="\r\n"),
    "sparql-tsv": _Writer(
        _turtle,
        lambda text: _escape(text, _TSV),
        lambda names: "\t".join(f"?{name}" for name in names) + "\n",
        between="\t",
        after="\n",
        bare={
            f"^{XSD}boolean": "true|false",
            f"^{XSD}integer": "[-+]?[0-9]+",
            f"^{XSD}decimal": r"[-+]?[0-9]*\.[0-9]+",
            f"^{XSD}double": r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+",
        },
    ),
}
_ASK = {
    "sparql-json": '{{"head":{{}},"boolean":{}}}',
    "sparql-xml": _XML_START + "</head><boolean>{}</boolean></sparql>",
    "sparql-csv": "{}",
    "sparql-tsv": "{}",
}
