"""Entities and statements to rows of the tables, and the ids that they mention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kbkit.readers.wikidata.model import Entity, EntityPage, Reference
from kbkit.readers.wikidata.parts import SCHEMAS, SNAK_TABLES

_ID_COLUMNS = ("target", "calendar", "unit", "globe")


class RowWriter:
    """Collects rows by table, as tuples in the order of ``parts.SCHEMAS``.

    ``nodes`` appends the value node to the rows of snaks, as RDF dumps need it.
    """

    def __init__(self, *, nodes: bool = False) -> None:
        self.tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SCHEMAS}
        self._mentioned: set[str] = set()
        self._nodes = nodes

    def add(self, page: EntityPage) -> None:
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
        for statement_id, rank, best, main, more, references in entity.statements:
            row = (statement_id, name, main.property, rank, best, *main.columns)
            statements.append((*row, main.node) if node else row)
            for position, snak in enumerate(more):
                row = (statement_id, name, snak.property, position, *snak.columns)
                qualifiers.append((*row, snak.node) if node else row)
            for position, reference in enumerate(references):
                self.tables["references"].append((statement_id, name, reference.hash, position))
                self.add_reference(reference)

    def add_reference(self, reference: Reference) -> None:
        """Add the snaks of a reference, if it has not been read before."""
        for position, snak in enumerate(reference.snaks or ()):
            row = (reference.hash, snak.property, position, *snak.columns)
            self.tables["reference_snaks"].append((*row, snak.node) if self._nodes else row)

    def properties(self) -> set[str]:
        """Return the properties of all snaks."""
        return {snak[column] for column, snak in self._snaks("property")}

    def mentioned(self) -> set[str | None]:
        """Return all other ids in the rows, possibly with None."""
        return self._mentioned.union(*({snak[column] for column, snak in self._snaks(name)} for name in _ID_COLUMNS))

    def _snaks(self, name: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the rows with values and the position of a column in each.

        A dump in RDF describes references of other entities too.
        """
        cited = {row[2] for row in self.tables["references"]}
        for table in SNAK_TABLES:
            column = SCHEMAS[table].names.index(name)
            of_others = table == "reference_snaks" and self._nodes
            yield from ((column, row) for row in self.tables[table] if not of_others or row[0] in cited)
