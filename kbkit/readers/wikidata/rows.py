"""Entities and statements to rows of the tables, and the ids that they mention."""

from __future__ import annotations

from typing import Any

from kbkit.readers.wikidata.model import Entity, Page
from kbkit.readers.wikidata.parts import SCHEMAS

_ID_COLUMNS = ("target", "calendar", "unit", "globe")


class RowWriter:
    """Collects rows by table, as tuples in the order of ``parts.SCHEMAS``.

    ``nodes`` appends the value node to the rows of statements and qualifiers, as RDF dumps need it.
    """

    def __init__(self, *, nodes: bool = False) -> None:
        self.tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SCHEMAS}
        self._mentioned: set[str] = set()
        self._nodes = nodes

    def add(self, page: Page) -> None:
        """Add the rows of an entity, its forms and senses, and its sitelinks."""
        for entity in page.entities:
            self._add_entity(entity)
        for link in page.sitelinks:
            self.tables["sitelinks"].append((page.id, link.site, link.title, link.url))
            self._mentioned.update(link.badges)

    def _add_entity(self, entity: Entity) -> None:
        name, node = entity.id, self._nodes
        self.tables["entities"].append((name, entity.kind, entity.datatype, False))
        self.tables["terms"].extend((name, *term) for term in entity.terms)
        self._mentioned.update(target for _, target in entity.links)
        statements, qualifiers = self.tables["statements"], self.tables["qualifiers"]
        for own, rank, best, main, more, _ in entity.statements:
            row = (own, name, main.property, rank, best, *main.columns)
            statements.append((*row, main.node) if node else row)
            for position, snak in enumerate(more):
                row = (own, name, snak.property, position, *snak.columns)
                qualifiers.append((*row, snak.node) if node else row)

    def properties(self) -> set[str]:
        """Return the properties of statements and qualifiers."""
        return {row[2] for table in ("statements", "qualifiers") for row in self.tables[table]}

    def mentioned(self) -> set[str | None]:
        """Return all other ids in the rows, possibly with None."""
        found: set[str | None] = set(self._mentioned)
        for table in ("statements", "qualifiers"):
            positions = [SCHEMAS[table].names.index(name) for name in _ID_COLUMNS]
            found.update(row[position] for row in self.tables[table] for position in positions)
        return found
