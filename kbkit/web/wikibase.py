"""Wikidata's own addresses, for clients written for it: entities as JSON, searches of entities, look-ups of labels.

* ``/wiki/Special:EntityData/Q42.json``: an entity (https://www.wikidata.org/wiki/Wikidata:Data_access)
* ``/w/api.php``: the actions ``wbgetentities`` and ``wbsearchentities`` (https://www.wikidata.org/w/api.php)

Entities are put together from the KB's tables and triples: labels, descriptions and aliases in the languages that the
KB has, and statements with qualifiers and references. Hashes are kbkit's own, and revisions
are 0.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kbkit.schema import STANDARD_PREFIXES, Wikibase
from kbkit.search.entities import entities
from kbkit.web import protocol
from kbkit.web.rules import plain

if TYPE_CHECKING:
    from starlette.requests import Request

    from kbkit.kb import KnowledgeBase

DATA, API = "/wiki/Special:EntityData/{name}", "/w/api.php"
_ID = re.compile(r"[QPL][1-9][0-9]{0,15}")
_MOST = 50
"""Maximum number of entities of a request, as in Wikidata."""
_TYPES = {"Q": "item", "P": "property", "L": "lexeme"}
_TERMS = {
    STANDARD_PREFIXES["rdfs"] + "label": "labels",
    Wikibase.SCHEMA + "description": "descriptions",
    STANDARD_PREFIXES["skos"] + "altLabel": "aliases",
}
_SPACES = {"item": 0, "property": 120, "lexeme": 146}
"""Numbers of the wiki's namespaces."""
_LETTERS = {"item": "Q", "property": "P", "lexeme": "L"}
Row = Mapping[str, Any]


def routes(kb: KnowledgeBase) -> list[Route]:
    """Return the routes of a KB of Wikidata; none for another KB."""
    if kb.schema.dialect != "wikidata":
        return []

    def answering(work: Callable[[Request], tuple[int, dict[str, Any]]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            status, body = await anyio.to_thread.run_sync(work, request)
            return JSONResponse(body, status)

        return answer

    async def api(request: Request) -> Response:
        fields = protocol.parsed(request.scope.get("query_string", b""), "the address")
        if request.method == "POST":
            fields += protocol.parsed(await request.body(), "the body")
        status, body = await anyio.to_thread.run_sync(_api, kb, dict(fields))
        return JSONResponse(body, status)

    return [
        Route(DATA, answering(lambda request: _data(kb, request.path_params["name"]))),
        Route(API, api, methods=["GET", "POST"]),
    ]


def named_as_by_blazegraph(answer: Response) -> Response:
    """Add to an error the words by which clients of the query service tell a bad query from a slow one."""
    kind = {400: "ExecutionException", 504: "TimeoutException"}.get(answer.status_code)
    if kind is None:
        return answer
    text = bytes(answer.body).decode().rstrip("\n")
    return plain(f"{text}\njava.util.concurrent.{kind}: {text} at java.util.concurrent", answer.status_code)


def _data(kb: KnowledgeBase, name: str) -> tuple[int, dict[str, Any]]:
    key = name.removesuffix(".json")
    if not _ID.fullmatch(key):
        return 400, _error("invalid-entity-id", f"Unsupported entity {name!r}. Write Q42.json.")
    found = entity(kb, key)
    return (
        (404, _error("no-such-entity", f"The KB lacks {key}.")) if found is None else (200, {"entities": {key: found}})
    )


def _api(kb: KnowledgeBase, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """Answer an action. Errors have the status 200, as in MediaWiki."""
    action = fields.get("action", "")
    if action == "wbsearchentities":
        return 200, _searched(kb, fields)
    if action == "wbgetentities":
        keys = [key for key in fields.get("ids", "").split("|") if key]
        wrong = next((key for key in keys if not _ID.fullmatch(key)), None)
        if not keys or wrong is not None or len(keys) > _MOST:
            reason = f"Invalid ids. Give 1 to {_MOST} ids, such as Q42|P31."
            return 200, _error("no-such-entity" if wrong else "param-missing", reason)
        languages = [code for code in fields.get("languages", "").split("|") if code]
        props = [prop for prop in fields.get("props", "").split("|") if prop]
        return 200, {"entities": {key: _cut(key, entity(kb, key), languages, props) for key in keys}, "success": 1}
    if action == "query" and fields.get("meta"):  # what clients ask before they begin
        return 200, {
            "batchcomplete": "",
            "query": {"tokens": {"csrftoken": "+\\"}, "general": {"sitename": "Wikidata"}},
        }
    valid = "wbsearchentities, wbgetentities"
    return 200, _error("badvalue", f"Unsupported action {action!r}. Valid: {valid}. The KB is read-only.")


def _error(code: str, info: str) -> dict[str, Any]:
    return {"error": {"code": code, "info": info}}


# -- searches ---------------------------------------------------------------------------------------------------------


def _searched(kb: KnowledgeBase, fields: Mapping[str, str]) -> dict[str, Any]:
    text, letter = fields.get("search", ""), _LETTERS.get(fields.get("type", "item"), "")
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


# -- entities ---------------------------------------------------------------------------------------------------------


def entity(kb: KnowledgeBase, key: str) -> dict[str, Any] | None:
    """Return an entity in Wikidata's JSON, None if the KB lacks it."""
    if not kb.stores.nodes.by_key(None, [key])[0]:
        return None
    kind = _TYPES[key[0]]
    statements = _rows(kb, "statements", "subject", key, "rowid")
    page = {"pageid": 0, "ns": _SPACES[kind], "title": key, "lastrevid": 0, "modified": "1970-01-01T00:00:00Z"}
    found: dict[str, Any] = {**page, "type": kind, "id": key, **_terms(kb, key)}
    if kind == "property":
        used = kb.tables.rows("SELECT any_value(datatype) FROM statements WHERE property = $key", {"key": key})
        found["datatype"] = used[0][0] or "string"
    qualifiers = _grouped(_rows(kb, "qualifiers", "subject", key, "statement, position"), "statement")
    references = _grouped(_rows(kb, "reference_snaks", "subject", key, "statement, reference, position"), "statement")
    claims: dict[str, list[dict[str, Any]]] = {}
    for row in statements:
        claim = {"mainsnak": _snak(row), "type": "statement", "id": row["id"], "rank": row["rank"]}
        held = _snaks(qualifiers.get(row["id"], []))
        if held:
            claim |= {"qualifiers": held, "qualifiers-order": list(held)}
        sources = _grouped(references.get(row["id"], []), "reference")
        if sources:
            said = ({"hash": name, "snaks": _snaks(snaks)} for name, snaks in sources.items())
            claim["references"] = [{**one, "snaks-order": list(one["snaks"])} for one in said]
        claims.setdefault(row["property"], []).append(claim)
    links = _rows(kb, "sitelinks", "id", key, "site")
    sites = {row["site"]: {name: row[name] for name in ("site", "title", "url")} | {"badges": []} for row in links}
    return found | {"claims": claims} | ({"sitelinks": sites} if kind == "item" else {})


def _terms(kb: KnowledgeBase, key: str) -> dict[str, Any]:
    """Return labels, descriptions and aliases by language."""
    found: dict[str, dict[str, Any]] = {name: {} for name in _TERMS.values()}
    verbs = " ".join(f"<{verb}>" for verb in _TERMS)
    query = f"SELECT ?p ?o {{ VALUES ?p {{ {verbs} }} <{Wikibase.ENTITY}{key}> ?p ?o }}"
    for verb, term in kb.sparql_terms(query, dialect="sparql").iter_rows():
        one = {"language": term["language"], "value": term["value"]}
        kept = found[_TERMS[verb["value"]]]
        if _TERMS[verb["value"]] == "aliases":
            kept.setdefault(term["language"], []).append(one)
        else:
            kept[term["language"]] = one
    return dict(found)


def _rows(kb: KnowledgeBase, table: str, column: str, key: str, order: str) -> list[dict[str, Any]]:
    if not kb.tables.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = $table", {"table": table}):
        return []
    query = f"SELECT * FROM {table} WHERE {column} = $key ORDER BY {order}"
    return kb.tables.lookup(query, {"key": key}).rows(named=True)


def _grouped(rows: Iterable[dict[str, Any]], column: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


def _snaks(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [_snak(row) for row in held] for name, held in _grouped(rows, "property").items()}


def _snak(row: Row) -> dict[str, Any]:
    snak = {"snaktype": row["snak"], "property": row["property"], "datatype": row["datatype"]}
    whole = snak | ({"datavalue": _value(row)} if row["snak"] == "value" else {})
    return whole | {"hash": hashlib.sha1(json.dumps(whole, sort_keys=True).encode(), usedforsecurity=False).hexdigest()}


def _value(row: Row) -> dict[str, Any]:
    kind, text = row["datatype"], row["value"]
    if kind == "time":
        time = {"time": text if text.startswith(("-", "+")) else f"+{text}", "timezone": 0, "before": 0, "after": 0}
        calendar = Wikibase.ENTITY + (row["calendar"] or "Q1985727")
        return {"type": "time", "value": time | {"precision": row["precision"], "calendarmodel": calendar}}
    if kind == "quantity":
        unit = row["unit"] if row["unit"] not in (None, "", "1") else ""
        amount = {
            "amount": text if text.startswith("-") else f"+{text}",
            "unit": Wikibase.ENTITY + unit if unit else "1",
        }
        bounds = (("lowerBound", row["lower"]), ("upperBound", row["upper"]))
        return {
            "type": "quantity",
            "value": amount | {name: f"{bound:+g}" for name, bound in bounds if bound is not None},
        }
    if kind == "globe-coordinate":
        place = {"latitude": row["latitude"], "longitude": row["longitude"], "altitude": None, "precision": None}
        return {"type": "globecoordinate", "value": place | {"globe": Wikibase.ENTITY + (row["globe"] or "Q2")}}
    if kind == "monolingualtext":
        return {"type": "monolingualtext", "value": {"text": text, "language": row["language"]}}
    if row["target"] and kind.startswith("wikibase-"):
        entity_id: dict[str, Any] = {"entity-type": kind.removeprefix("wikibase-"), "id": row["target"]}
        number = row["target"][1:]
        return {
            "type": "wikibase-entityid",
            "value": entity_id | ({"numeric-id": int(number)} if number.isdecimal() else {}),
        }
    return {"type": "string", "value": text}


def _cut(key: str, found: dict[str, Any] | None, languages: list[str], props: list[str]) -> dict[str, Any]:
    """Return an entity with some languages and parts only (empty: all)."""
    if found is None:
        return {"id": key, "missing": ""}
    parts = {**found}
    for name in _TERMS.values():
        if languages:
            parts[name] = {code: value for code, value in parts[name].items() if code in languages}
    names = ("labels", "descriptions", "aliases", "claims", "sitelinks", "datatype")
    return {name: value for name, value in parts.items() if not props or name not in names or name in props}
