"""Wikidata's own addresses, for clients written for it: entities as JSON and RDF, and searches of entities.

* ``/entity/Q42`` and ``/wiki/Special:EntityData/Q42.json``, ``.ttl``, ``.nt``, ``.rdf`` or ``.jsonld``: an entity
  (https://www.wikidata.org/wiki/Wikidata:Data_access)
* ``/w/api.php``: the actions ``wbgetentities``, ``wbsearchentities``, and ``query`` with ``list=search``
  (https://www.wikidata.org/w/api.php)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from kbkit.errors import KbError
from kbkit.schema import Wikibase
from kbkit.search.entities import entities
from kbkit.sparql.run import languages
from kbkit.stores.sparql_formats import ALL, GRAPH
from kbkit.web import protocol
from kbkit.web.entity_data import SPACES, TERMS, entity, rdf, title
from kbkit.web.negotiation import best, ranges
from kbkit.web.rules import plain

if TYPE_CHECKING:
    from starlette.requests import Request

    from kbkit.kb import KnowledgeBase

DATA, ENTITY, API = "/wiki/Special:EntityData/", "/entity/", "/w/api.php"
_ID = re.compile(r"[QPL][1-9][0-9]{0,15}")
_MOST = 50
"""Maximum number of entities of a request, as in Wikidata."""
_MOST_PAGES = 500
_LETTERS = {"item": "Q", "property": "P", "lexeme": "L"}
_JSON = "application/json"
_FORMATS = {"json": (_JSON,)} | {known.suffix[1:]: known.media_types for known in ALL if known.holds == GRAPH}
"""Media types of an entity's data by the suffix of its address."""
_NAMES = {known.suffix[1:]: known.name for known in ALL}
_SEARCH = """
SELECT ?item ?description {
  SERVICE wikibase:mwapi {
    bd:serviceParam wikibase:api "Search" ; wikibase:endpoint "www.wikidata.org" ; mwapi:type "%s" ;
      mwapi:srsearch $words ; mwapi:srlimit "%d" .
    ?item wikibase:apiOutputItem mwapi:title . ?place wikibase:apiOrdinal true
  }
  OPTIONAL { ?item schema:description ?description FILTER(LANG(?description) = "%s") }
} ORDER BY ?place"""


def routes(kb: KnowledgeBase) -> list[Route]:
    """Return the routes of a KB of Wikidata; none for another KB."""
    if kb.schema.dialect != "wikidata":
        return []

    async def data(request: Request) -> Response:
        name, accept = request.path_params["name"], request.headers.get("accept")
        return await anyio.to_thread.run_sync(_data, kb, name, accept)

    async def named(request: Request) -> Response:
        return RedirectResponse(DATA + request.path_params["name"], 303)

    async def api(request: Request) -> Response:
        fields = protocol.parsed(request.scope.get("query_string", b""), "the address")
        if request.method == "POST":
            fields += protocol.parsed(await request.body(), "the body")
        return JSONResponse(await anyio.to_thread.run_sync(_api, kb, dict(fields)))

    return [
        Route(DATA + "{name}", data),
        Route(ENTITY + "{name}", named),
        Route(API, api, methods=["GET", "POST"]),
    ]


def named_as_by_blazegraph(answer: Response) -> Response:
    """Add to an error the words by which clients of the query service tell a bad query from a slow one."""
    kind = {400: "ExecutionException", 504: "TimeoutException"}.get(answer.status_code)
    if kind is None:
        return answer
    text = bytes(answer.body).decode().rstrip("\n")
    return plain(f"{text}\njava.util.concurrent.{kind}: {text} at java.util.concurrent", answer.status_code)


def _data(kb: KnowledgeBase, name: str, accept: str | None) -> Response:
    """Return an entity in the format that the suffix of the address names, else in the one that is accepted."""
    key, _, suffix = name.partition(".")
    if not _ID.fullmatch(key) or suffix not in ("", *_FORMATS):
        forms = ", ".join(f"Q42.{form}" for form in _FORMATS)
        return JSONResponse(_error("invalid-entity-id", f"Unsupported entity {name!r}. Write {forms}."), 400)
    if not suffix:
        chosen = best(ranges(accept), _FORMATS.items())
        suffix = chosen[0] if chosen else "json"
    if not kb.stores.nodes.by_key(None, [key])[0]:
        return JSONResponse(_error("no-such-entity", f"The KB lacks {key}."), 404)
    headers = {"Vary": "Accept"}
    if suffix == "json":
        return JSONResponse({"entities": {key: entity(kb, key)}}, headers=headers)
    return Response(rdf(kb, key, _NAMES[suffix]), headers=headers, media_type=_FORMATS[suffix][0])


def _api(kb: KnowledgeBase, fields: Mapping[str, str]) -> dict[str, Any]:
    """Answer an action. Errors have the status 200, as in MediaWiki."""
    action = fields.get("action", "")
    if action == "wbsearchentities":
        return _searched(kb, fields)
    if action == "wbgetentities":
        return _got(kb, fields)
    if action == "query" and fields.get("list") == "search":
        return _pages(kb, fields)
    if action == "query" and fields.get("meta"):  # what clients ask before they begin
        return {
            "batchcomplete": "",
            "query": {"tokens": {"csrftoken": "+\\"}, "general": {"sitename": "Wikidata"}},
        }
    valid = "wbsearchentities, wbgetentities, query with list=search"
    return _error("badvalue", f"Unsupported action {action!r}. Valid: {valid}. The KB is read-only.")


def _got(kb: KnowledgeBase, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return entities by their ids, or by the titles of their pages."""
    keys = _listed(fields, "ids")
    wrong = next((key for key in keys if not _ID.fullmatch(key)), None)
    names = [(site, name) for site in _listed(fields, "sites") for name in _listed(fields, "titles")]
    if not 0 < len(keys) + len(names) <= _MOST or wrong is not None:
        reason = f"Invalid ids. Give 1 to {_MOST} ids, such as ids=Q42|P31, or sites=enwiki and titles."
        return _error("no-such-entity" if wrong else "param-missing", reason)
    codes, props = _listed(fields, "languages"), _listed(fields, "props")
    found = {key: _cut(key, entity(kb, key), codes, props) for key in keys}
    for at, (site, name) in enumerate(names, 1):
        key = _with_page(kb, site, name)
        missing = {"site": site, "title": name, "missing": ""}
        found[key or f"-{at}"] = _cut(key, entity(kb, key), codes, props) if key else missing
    return {"entities": found, "success": 1}


def _listed(fields: Mapping[str, str], name: str) -> list[str]:
    return [part for part in fields.get(name, "").split("|") if part]


def _with_page(kb: KnowledgeBase, site: str, name: str) -> str | None:
    """Return the id of the entity with a page of Wikipedia or its sister projects."""
    if not kb.tables.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'sitelinks'"):
        return None
    query = "SELECT id FROM sitelinks WHERE site = $site AND title = $name"
    rows = kb.tables.rows(query, {"site": site, "name": name.replace("_", " ")})
    return rows[0][0] if rows else None


def _error(code: str, info: str) -> dict[str, Any]:
    return {"error": {"code": code, "info": info}}


# -- searches ---------------------------------------------------------------------------------------------------------


def _searched(kb: KnowledgeBase, fields: Mapping[str, str]) -> dict[str, Any]:
    kind = fields.get("type", "item")
    if kind not in _LETTERS:
        return _error("badvalue", f"Unsupported type {kind!r}. Valid: {', '.join(_LETTERS)}.")
    text, letter = fields.get("search", ""), _LETTERS[kind]
    limit = fields.get("limit", "7")
    count = min(int(limit), _MOST) if limit.isdecimal() else _MOST
    offset = min(int(fields.get("continue", "0")), 10_000) if fields.get("continue", "0").isdecimal() else 0
    ids = entities(kb.stores, text, offset + count + 1, letter) if text.strip() else []
    shown = [_hit(kb, node, text) for node in ids[offset : offset + count]]
    more = {"search-continue": offset + count} if len(ids) > offset + count else {}
    return {"searchinfo": {"search": text}, "search": shown, **more, "success": 1}


def _hit(kb: KnowledgeBase, node: int, text: str) -> dict[str, Any]:
    row, found = kb.stores.nodes.row(node), kb.node(node)
    matched = next((alias for alias in found.aliases if alias.casefold().startswith(text.strip().casefold())), None)
    is_label = row.name.casefold().startswith(text.strip().casefold()) or matched is None
    kind, name = ("label", row.name) if is_label else ("alias", matched)
    return {
        "id": row.key, "title": row.key, "concepturi": Wikibase.ENTITY + row.key, "label": row.name,
        "description": found.texts[0][1] if found.texts else "", "match": {"type": kind, "text": name},
        **({} if is_label else {"aliases": [matched]}),
    }  # fmt: skip


def _pages(kb: KnowledgeBase, fields: Mapping[str, str]) -> dict[str, Any]:
    """Search as ``SERVICE wikibase:mwapi`` does, by words and ``haswbstatement:P31=Q5``."""
    text, limit, offset = (fields.get(name, "") for name in ("srsearch", "srlimit", "sroffset"))
    count = min(int(limit), _MOST_PAGES) if limit.isdecimal() else 10
    first = min(int(offset), 10_000) if offset.isdecimal() else 0
    space = fields.get("srnamespace", "0").partition("|")[0]
    kind = next((name for name, number in SPACES.items() if str(number) == space), "item")
    query = _SEARCH % (kind, first + count + 1, languages(kb.stores)[0])
    try:
        found = kb.sparql_terms(query, dialect="wikidata", words=text)
    except KbError as error:
        return _error("cirrussearch-error", error.message)
    rows = [(item["value"].removeprefix(Wikibase.ENTITY), said) for item, said in found.iter_rows()]
    shown = [
        {"ns": SPACES[kind], "title": title(key), "pageid": 0, "snippet": said["value"] if said else ""}
        for key, said in rows[first : first + count]
    ]
    more = {"continue": {"sroffset": first + count, "continue": "-||"}} if len(rows) > first + count else {}
    return {"batchcomplete": "", **more, "query": {"searchinfo": {"totalhits": len(rows)}, "search": shown}}


def _cut(key: str, found: dict[str, Any] | None, codes: list[str], props: list[str]) -> dict[str, Any]:
    """Return an entity with some languages and parts only (empty: all)."""
    if found is None:
        return {"id": key, "missing": ""}
    parts = {**found}
    for name in TERMS:
        if codes and name in parts:
            parts[name] = {code: value for code, value in parts[name].items() if code in codes}
    names = ("labels", "descriptions", "aliases", "claims", "sitelinks", "datatype")
    return {name: value for name, value in parts.items() if not props or name not in names or name in props}
