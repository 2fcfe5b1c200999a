"""Entities of a KB of Wikidata as Wikidata's own addresses give them: in its JSON, and in RDF.

They are put together from the KB's tables and triples. Hashes of snaks are kbkit's own, and pages have no numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kbkit.readers.wikidata.literals import DAY, wikidata_time
from kbkit.schema import STANDARD_PREFIXES, Wikibase

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

SPACES = {"item": 0, "property": 120, "lexeme": 146}
"""Numbers of the wiki's namespaces."""
TERMS = ("labels", "descriptions", "aliases")
_TYPES = {"Q": "item", "P": "property", "L": "lexeme"}
_ONTOLEX, _DCT = Wikibase.PREFIXES["ontolex"], Wikibase.PREFIXES["dct"]
_VERBS = {
    STANDARD_PREFIXES["rdfs"] + "label": "labels",
    Wikibase.SCHEMA + "description": "descriptions",
    STANDARD_PREFIXES["skos"] + "altLabel": "aliases",
    Wikibase.SCHEMA + "version": "version",
    Wikibase.SCHEMA + "dateModified": "modified",
    Wikibase.ONTOLOGY + "propertyType": "datatype",
    Wikibase.ONTOLOGY + "lemma": "lemmas",
    Wikibase.ONTOLOGY + "lexicalCategory": "category",
    Wikibase.ONTOLOGY + "grammaticalFeature": "features",
    _DCT + "language": "language",
    _ONTOLEX + "lexicalForm": "forms",
    _ONTOLEX + "sense": "senses",
    _ONTOLEX + "representation": "representations",
    STANDARD_PREFIXES["skos"] + "definition": "glosses",
}
_PRECISIONS = """
SELECT ?latitude ?longitude ?precision {
  <%s> ?claim ?statement . ?statement ?property ?value .
  ?value <http://wikiba.se/ontology#geoLatitude> ?latitude ; <http://wikiba.se/ontology#geoLongitude> ?longitude ;
    <http://wikiba.se/ontology#geoPrecision> ?precision
}"""
_ROOT = "{ VALUES ?root { wd:KEY } } UNION { VALUES ?part { ontolex:lexicalForm ontolex:sense } wd:KEY ?part ?root }"
"""An entity; of a lexeme, its forms and senses too."""
_RDF = """
CONSTRUCT { ?s ?p ?o } WHERE {
  {
    SELECT DISTINCT ?s {
      { VALUES ?s { wd:KEY } }
      UNION { VALUES ?part { ontolex:lexicalForm ontolex:sense } wd:KEY ?part ?s }
      UNION { ?s schema:about wd:KEY }
      UNION { ROOT ?root ?claim ?s FILTER(STRSTARTS(STR(?s), STR(wds:))) }
      UNION {
        ROOT ?root ?claim ?statement . ?statement ?property ?s
        FILTER(STRSTARTS(STR(?statement), STR(wds:)))
        FILTER(STRSTARTS(STR(?s), STR(wdv:)) || STRSTARTS(STR(?s), STR(wdref:)))
      }
      UNION {
        ROOT ?root ?claim ?statement . ?statement prov:wasDerivedFrom ?reference . ?reference ?property ?s
        FILTER(STRSTARTS(STR(?s), STR(wdv:)))
      }
    }
  }
  ?s ?p ?o
}""".replace("ROOT", _ROOT)
Terms = dict[str, list[Mapping[str, Any]]]
Row = Mapping[str, Any]


def entity(kb: KnowledgeBase, key: str) -> dict[str, Any] | None:
    """Return an entity in Wikidata's JSON, None if the KB lacks it."""
    if not kb.stores.nodes.by_key(None, [key])[0]:
        return None
    kind, terms = _TYPES[key[0]], _terms(kb, key)
    version, modified = ([term["value"] for term in terms.get(name, ())] for name in ("version", "modified"))
    found: dict[str, Any] = {
        "pageid": 0, "ns": SPACES[kind], "title": title(key), "lastrevid": int(version[0]) if version else 0,
        "modified": modified[0] if modified else "1970-01-01T00:00:00Z", "type": kind, "id": key,
    }  # fmt: skip
    if kind == "lexeme":
        return found | _lexeme(kb, terms) | {"claims": _claims(kb, key)}
    found |= {name: _by_language(terms.get(name, ()), name == "aliases") for name in TERMS}
    if kind == "property":
        found["datatype"] = _datatype(terms)
    found["claims"] = _claims(kb, key)
    if kind == "item":
        links = _rows(kb, "sitelinks", "id", key, "site")
        found["sitelinks"] = {
            row["site"]: {name: row[name] for name in ("site", "title", "url")} | {"badges": []} for row in links
        }
    return found


def rdf(kb: KnowledgeBase, key: str, form: str) -> bytes:
    """Return the triples of an entity, its statements, values, references and pages in a format of RDF.

    N-Triples are in the order of dumps, which have an entity before its statements.
    """
    with kb.sparql_results(_RDF.replace("KEY", key), form, dialect="sparql") as results:
        found = results.read()
    if form != "ntriples":
        return found
    own, statements = f"<{Wikibase.ENTITY}".encode(), f"<{Wikibase.PREFIXES['wds']}".encode()
    lines = found.splitlines(keepends=True)
    first = [line for line in lines if line.startswith(own) and not line.startswith(statements)]
    return b"".join([*first, *(line for line in lines if not line.startswith(own) or line.startswith(statements))])


def title(key: str) -> str:
    """Return the title of an entity's page."""
    return {"Q": "", "P": "Property:", "L": "Lexeme:"}[key[0]] + key


# -- terms ------------------------------------------------------------------------------------------------------------


def _terms(kb: KnowledgeBase, key: str) -> Terms:
    """Return the values of an entity's triples other than statements by name."""
    verbs = " ".join(f"<{verb}>" for verb in _VERBS)
    query = f"SELECT ?p ?o {{ VALUES ?p {{ {verbs} }} <{Wikibase.ENTITY}{key}> ?p ?o }}"
    found: Terms = {}
    for verb, term in kb.sparql_terms(query, dialect="sparql").iter_rows():
        found.setdefault(_VERBS[verb["value"]], []).append(term)
    return found


def _by_language(terms: Iterable[Mapping[str, Any]], several: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for term in terms:
        one = {"language": term["language"], "value": term["value"]}
        if several:
            found.setdefault(term["language"], []).append(one)
        else:
            found[term["language"]] = one
    return found


def _keys(terms: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(term["value"].removeprefix(Wikibase.ENTITY) for term in terms)


def _lexeme(kb: KnowledgeBase, terms: Terms) -> dict[str, Any]:
    """Return what lexemes have in place of labels."""

    def parts(name: str, texts: str) -> Iterable[tuple[dict[str, Any], Terms]]:
        for key in sorted(_keys(terms.get(name, ())), key=lambda key: int(key.rpartition("-")[2][1:])):
            said = _terms(kb, key)
            yield {"id": key, texts: _by_language(said.get(texts, ())), "claims": _claims(kb, key)}, said

    return {
        "lemmas": _by_language(terms.get("lemmas", ())),
        "lexicalCategory": next(iter(_keys(terms.get("category", ()))), ""),
        "language": next(iter(_keys(terms.get("language", ()))), ""),
        "forms": [
            part | {"grammaticalFeatures": _keys(said.get("features", ()))}
            for part, said in parts("forms", "representations")
        ],
        "senses": [part for part, _ in parts("senses", "glosses")],
    }


def _datatype(terms: Terms) -> str:
    """Return the datatype of a property: of ``WikibaseItem``, it is ``wikibase-item``."""
    name = next((term["value"].removeprefix(Wikibase.ONTOLOGY) for term in terms.get("datatype", ())), "String")
    return "commonsMedia" if name == "CommonsMedia" else re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


# -- statements -------------------------------------------------------------------------------------------------------


def _claims(kb: KnowledgeBase, key: str) -> dict[str, list[dict[str, Any]]]:
    """Return the statements of an entity, a form or a sense by property."""
    statements = _rows(kb, "statements", "subject", key, "rowid")
    if not statements:
        return {}
    qualifiers = _grouped(_rows(kb, "qualifiers", "subject", key, "rowid"), "statement")
    references = _grouped(_rows(kb, "reference_snaks", "subject", key, "rowid"), "statement")
    shown = [*statements, *(row for rows in (*qualifiers.values(), *references.values()) for row in rows)]
    exact = _precisions(kb, key) if any(row["latitude"] is not None for row in shown) else {}
    claims: dict[str, list[dict[str, Any]]] = {}
    for row in statements:
        claim = {"mainsnak": _snak(row, exact), "type": "statement", "id": row["id"], "rank": row["rank"]}
        held = _snaks(qualifiers.get(row["id"], []), exact)
        if held:
            claim |= {"qualifiers": held, "qualifiers-order": list(held)}
        sources = _grouped(references.get(row["id"], []), "reference")
        if sources:
            said = ({"hash": name, "snaks": _snaks(snaks, exact)} for name, snaks in sources.items())
            claim["references"] = [{**one, "snaks-order": list(one["snaks"])} for one in said]
        claims.setdefault(row["property"], []).append(claim)
    return claims


def _precisions(kb: KnowledgeBase, key: str) -> dict[tuple[float, float], float]:
    """Return the precisions of an entity's coordinates, which the tables lack."""
    rows = kb.sparql_terms(_PRECISIONS % (Wikibase.ENTITY + key), dialect="sparql").iter_rows()
    numbers = ([float(term["value"]) for term in row] for row in rows)
    return {(latitude, longitude): precision for latitude, longitude, precision in numbers}


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


def _snaks(
    rows: Iterable[dict[str, Any]], exact: Mapping[tuple[float, float], float]
) -> dict[str, list[dict[str, Any]]]:
    return {name: [_snak(row, exact) for row in held] for name, held in _grouped(rows, "property").items()}


def _snak(row: Row, exact: Mapping[tuple[float, float], float]) -> dict[str, Any]:
    snak = {"snaktype": row["snak"], "property": row["property"], "datatype": row["datatype"]}
    whole = snak | ({"datavalue": _value(row, exact)} if row["snak"] == "value" else {})
    return whole | {"hash": hashlib.sha1(json.dumps(whole, sort_keys=True).encode(), usedforsecurity=False).hexdigest()}


def _value(row: Row, exact: Mapping[tuple[float, float], float]) -> dict[str, Any]:
    kind, text = row["datatype"], row["value"]
    if kind == "time":
        precision = DAY if row["precision"] is None else row["precision"]  # truthy dumps have none
        calendar = row["calendar"] or "Q1985727"
        parts = {"time": wikidata_time(text, precision, calendar), "timezone": 0, "before": 0, "after": 0}
        return {"type": "time", "value": parts | {"precision": precision, "calendarmodel": Wikibase.ENTITY + calendar}}
    if kind == "quantity":
        unit = row["unit"] if row["unit"] not in (None, "", "1") else ""
        bounds = (("upperBound", row["upper"]), ("lowerBound", row["lower"]))
        amount = {
            "amount": text if text.startswith("-") else f"+{text}",
            "unit": Wikibase.ENTITY + unit if unit else "1",
        }
        return {
            "type": "quantity",
            "value": amount | {name: _bound(bound) for name, bound in bounds if bound is not None},
        }
    if kind == "globe-coordinate":
        at = row["latitude"], row["longitude"]
        place = {"latitude": at[0], "longitude": at[1], "altitude": None, "precision": exact.get(at)}
        return {"type": "globecoordinate", "value": place | {"globe": Wikibase.ENTITY + (row["globe"] or "Q2")}}
    if kind == "monolingualtext":
        return {"type": "monolingualtext", "value": {"text": text, "language": row["language"]}}
    if row["target"] and (kind.startswith("wikibase-") or kind == "entity-schema"):
        number = row["target"][1:]
        numeric = {"numeric-id": int(number)} if number.isdecimal() and kind != "entity-schema" else {}
        return {
            "type": "wikibase-entityid",
            "value": {"entity-type": kind.removeprefix("wikibase-"), **numeric, "id": row["target"]},
        }
    return {"type": "string", "value": text}


def _bound(number: float) -> str:
    text = f"{Decimal(repr(number)):+f}"
    return text.removesuffix(".0")
