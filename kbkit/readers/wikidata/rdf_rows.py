"""What a dump says of an entity in RDF -> rows of the tables.

A truthy dump has the values of the best rank alone: each is a statement of normal rank, without qualifiers, called
``Q42$P31$`` and a hash. What a value node says (precision, unit) may stand far from the statement: rows name the node,
and ``rdf_finish`` joins them.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any
from urllib.parse import unquote, unquote_plus

from kbkit.readers.wikidata.entity import Languages
from kbkit.readers.wikidata.objects import COMMONS_DATA, MATHML, MEDIA, TYPE, XSD
from kbkit.readers.wikidata.rdf_dump import TERMS, Group, Triple, property_of, text
from kbkit.schema import Wikibase

_RANK, _BEST = f"<{Wikibase.ONTOLOGY}rank>", f"<{Wikibase.ONTOLOGY}BestRank>"
_ABOUT, _NAME, _PART = f"<{Wikibase.SCHEMA}about>", f"<{Wikibase.SCHEMA}name>", f"<{Wikibase.SCHEMA}isPartOf>"
_KIND = f"<{Wikibase.ONTOLOGY}propertyType>"
_IN_ENTITY = f"<{Wikibase.ENTITY}"
_POINT = re.compile(r"(?:<http://www\.wikidata\.org/entity/(Q[0-9]+)> )?Point\(([-+0-9.eE]+) ([-+0-9.eE]+)\)")
_ID = re.compile(r"[A-Z][0-9]+(-[A-Z][0-9]+)?")
_KINDS = {"Q": "item", "P": "property", "L": "lexeme", "M": "mediainfo"}
_BY_ID = {"Q": "wikibase-item", "P": "wikibase-property", "L": "wikibase-lexeme", "E": "entity-schema"}
_NAMED = {"CommonsMedia": "commonsMedia"}
_PROJECTS = {"wikipedia": "wiki"}

VALUES = ("node", "precision", "calendar", "lower", "upper", "unit", "globe")
_OF_NODES = {
    f"<{Wikibase.ONTOLOGY}{name}>": (column, kind)
    for name, column, kind in (
        ("timePrecision", "precision", int), ("timeCalendarModel", "calendar", str), ("quantityUnit", "unit", str),
        ("quantityLowerBound", "lower", float), ("quantityUpperBound", "upper", float), ("geoGlobe", "globe", str),
    )
}  # fmt: skip

_NO_VALUE = ("novalue", *(None,) * 13)
_SOME_VALUE = ("somevalue", *(None,) * 13)


def kind_of(name: str) -> str:
    """item, property, lexeme, form, sense or mediainfo."""
    sub = name.partition("-")[2]
    return {"F": "form", "S": "sense"}.get(sub[:1]) or _KINDS.get(name[0], "item")


def datatype_of(kind: str) -> str:
    """``wikibase-item`` of ``<http://wikiba.se/ontology#WikibaseItem>``."""
    name = kind.rsplit("#", 1)[-1].rstrip(">")
    return _NAMED.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def value_columns(value: str) -> tuple[Any, ...]:
    """The columns from ``snak`` to ``language`` for an object; ``datatype`` as it looks from the value alone."""
    datatype, shown, target = "string", "", None
    amount = latitude = longitude = globe = unit = language = None
    if value.startswith(f"<{Wikibase.GENID}"):
        return _SOME_VALUE
    if value.startswith("<"):
        shown = value[1:-1]
        if shown.startswith(Wikibase.ENTITY) and _ID.fullmatch(shown[len(Wikibase.ENTITY) :]):
            shown = target = shown[len(Wikibase.ENTITY) :]
            sub = {"form": "wikibase-form", "sense": "wikibase-sense"}.get(kind_of(shown))
            datatype = sub or _BY_ID.get(shown[0], "wikibase-item")
        elif shown.startswith(MEDIA):
            datatype, shown = "commonsMedia", unquote(shown[len(MEDIA) :])
        elif shown.startswith(COMMONS_DATA):
            datatype = "tabular-data" if shown.endswith(".tab") else "geo-shape"
            shown = unquote_plus(shown[len(COMMONS_DATA) :])
        else:
            datatype = "url"
    else:
        shown, tag, kind = text(value)
        if tag:
            datatype, language = "monolingualtext", tag
        elif kind == f"{XSD}dateTime":
            datatype = "time"
        elif kind == f"{XSD}decimal":
            datatype, amount, shown = "quantity", float(shown), shown.removeprefix("+")
        elif kind == MATHML:
            datatype = "math"
        elif kind == f"{Wikibase.GEO}wktLiteral" and (point := _POINT.fullmatch(shown)):
            datatype, globe = "globe-coordinate", point[1] or "Q2"
            longitude, latitude = float(point[2]), float(point[3])
            shown = f"Point({point[2]} {point[3]})"
    return (
        "value", datatype, shown, target, None, None, amount, None, None, unit, latitude, longitude, globe, language,
    )  # fmt: skip


class Tables:
    """Rows by table: those of ``entity.Rows``, with the value's node as a last column of statements and qualifiers;
    ``values`` are of nodes.
    """

    def __init__(self, languages: Languages) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("entities", "terms", "statements", "qualifiers", "sitelinks", "values")
        }
        self.properties: set[str] = set()
        self._order = {tag: place for place, tag in enumerate(languages.tags_in_order)}

    def add(self, group: Group) -> None:
        """Take in what is said of an entity."""
        by_subject: dict[str, list[tuple[str, str]]] = {}
        for subject, predicate, value in group.own:
            by_subject.setdefault(subject, []).append((predicate, value))
        for subject, said in by_subject.items():
            name = subject[len(_IN_ENTITY) : -1]
            if subject.startswith(_IN_ENTITY) and _ID.fullmatch(name):
                self._entity(name, said, by_subject)
            elif any(predicate == _ABOUT for predicate, _ in said):
                self._sitelink(group.name, subject, dict(said))
        self._values(group.nodes)

    def _entity(self, name: str, said: list[tuple[str, str]], others: dict[str, list[tuple[str, str]]]) -> None:
        kinds = [datatype_of(value) for predicate, value in said if predicate == _KIND]
        self.rows["entities"].append((name, kind_of(name), kinds[0] if kinds else None, False))
        self.rows["terms"].extend(self.terms(name, said))
        full = {prop for predicate, _ in said for space, prop in [property_of(predicate)] if space == "p"}
        for predicate, value in said:
            space, prop = property_of(predicate)
            if space == "p":
                self._statement(name, prop, value, others.get(value, []))
            elif space == "wdt" and prop not in full:
                self._truthy(name, prop, value_columns(value), value)
            elif predicate == TYPE and value.startswith(f"<{Wikibase.PREFIXES['wdno']}"):
                prop = value[1:-1].rpartition("/")[2]
                if prop not in full:
                    self._truthy(name, prop, _NO_VALUE, value)

    def terms(self, name: str, said: list[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
        """(id, term, language, value), in the order of the chosen languages."""
        rows = []
        for predicate, value in said:
            if predicate in TERMS:
                content, tag, _ = text(value)
                rows.append((name, TERMS[predicate], tag, content))
        order = {"label": 0, "description": 1, "alias": 2}
        return sorted(rows, key=lambda row: (order[row[1]], self._order.get(row[2], len(self._order))))

    def _truthy(self, name: str, prop: str, columns: tuple[Any, ...], value: str) -> None:
        code = hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()[:16]
        self.properties.add(prop)
        self.rows["statements"].append((f"{name}${prop}${code}", name, prop, "normal", True, *columns, None))

    def _statement(self, name: str, prop: str, node: str, said: list[tuple[str, str]]) -> None:
        own = node[len(Wikibase.PREFIXES["wds"]) + 1 : -1]
        own = f"{own[: len(name)]}${own[len(name) + 1 :]}"
        rank, best, main, full = "normal", False, "", None
        qualifiers: list[tuple[str, tuple[Any, ...]]] = []
        nodes: dict[str, list[str]] = {}
        for predicate, value in said:
            space, of = property_of(predicate)
            if predicate == _RANK:
                rank = value.rsplit("#", 1)[-1].removesuffix("Rank>").lower()
            elif predicate == TYPE:
                best = best or value == _BEST
                if value.startswith(f"<{Wikibase.PREFIXES['wdno']}"):
                    qualifiers.append((value[1:-1].rpartition("/")[2], _NO_VALUE))
            elif space == "ps":
                main = value
            elif space == "psv":
                full = value[1:-1].rpartition("/")[2]
            elif space == "pq":
                qualifiers.append((of, value_columns(value)))
            elif space == "pqv":
                nodes.setdefault(of, []).append(value[1:-1].rpartition("/")[2])
        if not main and (prop, _NO_VALUE) in qualifiers:
            qualifiers.remove((prop, _NO_VALUE))  # it is the statement's own
        self.properties.update((prop, *(of for of, _ in qualifiers)))
        columns = value_columns(main) if main else _NO_VALUE
        self.rows["statements"].append((own, name, prop, rank, best, *columns, full))
        for position, (of, columns) in enumerate(qualifiers):
            # Values and their nodes are not joined in RDF: they are in the same order in a dump, as far as it goes.
            found = nodes[of].pop(0) if columns[0] == "value" and nodes.get(of) else None
            self.rows["qualifiers"].append((own, name, of, position, *columns, found))

    def _sitelink(self, name: str, page: str, said: dict[str, str]) -> None:
        title = text(said[_NAME])[0] if _NAME in said else ""
        site = _site(said.get(_PART, ""))
        self.rows["sitelinks"].append((name, site, title, page[1:-1]))

    def _values(self, nodes: list[Triple]) -> None:
        found: dict[str, dict[str, Any]] = {}
        for subject, predicate, value in nodes:
            if predicate in _OF_NODES:
                column, kind = _OF_NODES[predicate]
                content = value[1:-1].rpartition("/")[2] if kind is str else kind(text(value)[0])
                name = subject[1:-1].rpartition("/")[2]
                found.setdefault(name, {})[column] = "1" if column == "unit" and content == "Q199" else content
        self.rows["values"].extend(
            (name, *(facts.get(column) for column in VALUES[1:])) for name, facts in found.items()
        )


def _site(home: str) -> str:
    """``enwiki`` of ``<https://en.wikipedia.org/>``; the host where it is not of that form."""
    host = home.strip("<>/").partition("://")[2]
    alone = {"www.wikidata.org": "wikidatawiki", "www.mediawiki.org": "mediawikiwiki", "wikisource.org": "sourceswiki",
             "www.wikifunctions.org": "wikifunctionswiki", "be-tarask.wikipedia.org": "be_x_oldwiki"}  # fmt: skip
    parts = host.split(".")
    if host in alone or len(parts) != 3:
        return alone.get(host, host)
    code, project, _ = parts
    if project == "wikimedia":
        return f"{code}wiki"
    return f"{code.replace('-', '_')}{_PROJECTS.get(project, project)}"
