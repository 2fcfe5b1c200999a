"""Names of attributes: those of their columns, with the type before them where a name means two things.

All types share an attribute of one name, with one type of values. A date and a text of the same name are apart: the
date stays one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.ingestion.staging import COLUMNS

Apart = Collection[tuple[str, str]]
"""Types with names of columns, in lower case."""
_TEXTS = ("text", "address", "prose")
_NARROW = ("integer", "number", "date", "boolean")


def attribute(name: str, kind: str, apart: Apart = (), *, of_edges: bool = False) -> str:
    """Return the name of an attribute: that of its column, with the type before a name that has another meaning, or
    that is among those :func:`apart`.
    """
    taken = {*COLUMNS["edges" if of_edges else "nodes"], "id", "position", "row number"}
    return f"{'_'.join(kind.split())}_{name}" if name.casefold() in taken or (kind, name.casefold()) in apart else name


def apart(plan: TablePlan) -> frozenset[tuple[str, str]]:
    """Return the attributes of nodes that have texts while those of the same name of other types are dates or numbers,
    or the other way round: of both, the ones in fewer tables, or the texts.

    Codes stay together: some of their values may have letters.
    """
    by_name: dict[str, list[tuple[str, ProfiledColumn]]] = {}
    for kind, name, column in _attributes(plan):
        by_name.setdefault(name.casefold(), []).append((kind, column))
    found: set[tuple[str, str]] = set()
    for name, columns in by_name.items():
        texts = [kind for kind, column in columns if column.look in _TEXTS]
        narrow = [kind for kind, column in columns if column.look in _NARROW]
        is_code = (
            names.is_id(name)
            or names.is_global_id(name)
            or any(column.is_code or column.codes for _, column in columns)
        )
        dates = any(column.look == "date" for _, column in columns)
        if texts and narrow and not set(texts) & set(narrow) and (dates or not is_code):
            found |= {(kind, name) for kind in (narrow if len(narrow) < len(texts) else texts)}
    return frozenset(found)


def _attributes(plan: TablePlan) -> Iterator[tuple[str, str, ProfiledColumn]]:
    """Yield the attributes of nodes: their type, their name and their column, those without values left out."""
    for nodes in plan.nodes:
        kind, columns = nodes.table.type, nodes.table.columns
        yield from ((kind, name, columns[name]) for name in nodes.values if columns[name].count)
        for detail in nodes.details:
            named = {name: detail.table.columns[column] for name, column in detail.values.items()}
            yield from ((kind, name, column) for name, column in named.items() if detail.single and column.count)
