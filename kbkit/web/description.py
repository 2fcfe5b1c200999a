"""What the endpoint says about itself: a page for people, and a SPARQL service description for programs."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from kbkit.display.html import text
from kbkit.errors import plural
from kbkit.stores.sparql_formats import ALL, GRAPH
from kbkit.stores.sparql_text import string_literal

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

PAGE = "html"
OFFERS = (
    *((known.name, known.media_types) for known in ALL if known.holds == GRAPH),
    (PAGE, ("text/html", "application/xhtml+xml")),
)
"""The forms of the description, with their media types."""

EXAMPLE = "SELECT ?s ?name { ?s rdfs:label ?name } LIMIT 5"
_FORMATS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
            "Turtle", "N-Triples", "JSON-LD", "RDF_XML")  # fmt: skip


def curl(url: str) -> str:
    """Return a command that asks the endpoint; its quotes suit the shells of all systems."""
    return f'curl {url} -H "Accept: text/csv" --data-urlencode "query={EXAMPLE}"'


def query(kb: KnowledgeBase, url: str) -> str:
    """Return a query whose result is the service description (https://www.w3.org/TR/sparql11-service-description/)."""
    formats = " , ".join(f"<http://www.w3.org/ns/formats/{name}>" for name in _FORMATS)
    return f"""PREFIX sd: <http://www.w3.org/ns/sparql-service-description#>
CONSTRUCT {{
  <{url}> a sd:Service ;
    sd:endpoint <{url}> ;
    sd:supportedLanguage sd:SPARQL11Query ;
    sd:resultFormat {formats} ;
    sd:defaultDataset _:dataset .
  _:dataset a sd:Dataset ; rdfs:label {string_literal(kb.schema.name)} ; sd:defaultGraph _:graph .
  _:graph a sd:Graph .
}} WHERE {{}}"""


def page(kb: KnowledgeBase, url: str, timeout: float | None, rows: int | None) -> str:
    """Return the page for a person who opens the endpoint in a browser."""
    limits = [f"{timeout:g} seconds for a query"] if timeout else []
    limits += [plural(rows, "row")] if rows is not None else []
    name, counts = text(kb.schema.name), f"{kb.schema.nodes:,} nodes, {kb.schema.edges:,} edges"
    prefixes = "".join(
        f"<tr><td><code>{text(prefix)}:</code></td><td>{text(iri)}</td></tr>"
        for prefix, iri in kb.schema.prefixes().items()
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{name}: SPARQL endpoint</title></head>
<body>
<h1>{name}: SPARQL endpoint</h1>
<p>{counts}. Programs send queries to <code>{html.escape(url)}</code> by the SPARQL 1.1 protocol, for example:</p>
<pre>{html.escape(curl(url))}</pre>
<p>Results are SPARQL JSON, XML, CSV or TSV; those of CONSTRUCT and DESCRIBE Turtle, N-Triples, JSON-LD or RDF/XML, as
<code>Accept</code> or the parameter <code>format</code> says. {"Limits: " + ", ".join(limits) + "." if limits else ""}
The KB is read-only.</p>
<h2>Prefixes</h2>
<table>{prefixes}</table>
</body>
</html>
"""
