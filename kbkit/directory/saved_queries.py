"""Queries that a user saved in a KB's workspace."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from kbkit.directory.generations import now
from kbkit.directory.saved_files import SavedFiles, check_texts
from kbkit.errors import check_unicode


@dataclass(frozen=True)
class SavedQuery:
    """A statement in ``sql``, ``sparql``, ``answers`` or ``search``, and when it was saved (UTC).

    ``view`` is how a page showed its result, as parameters of an address: the table, its order and filters, the chart.
    """

    name: str
    language: str
    statement: str
    saved: str
    view: str = ""


class SavedQueries(SavedFiles[SavedQuery]):
    """The saved queries in a folder."""

    item, noun = SavedQuery, "query"

    def save(self, name: str, language: str, statement: str, view: str = "") -> None:
        """Save a query, replacing one of the same name."""
        check_unicode(statement, "the query")
        self._write(SavedQuery(name, language, statement, now(), view))

    def check(self, item: SavedQuery) -> None:
        """See :meth:`SavedFiles.check`."""
        check_texts(*astuple(item))
