"""The link of columns of a table to the rows of another one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TableLink:
    """Columns of a table that refer to rows of another one (``target``) by its columns ``by``.

    Without ``target``, no table has the rows: the values are nodes of the type ``loose``. ``partial``: values that the
    target lacks refer to other tables, or to nothing, and are no nodes. ``joint`` is between the values of several
    columns ``by`` to which one column refers. ``lists``: each value is a list. ``missing`` is the number of different
    values that the target lacks, of ``distinct`` ones.
    ``without_self``: a row that refers to itself is the first of several, and has no link. ``form`` is the
    SQL expression of a value (``{v}``) as the target writes it, if it differs: in capitals, with zeros before it.
    ``absent`` are values such as 0 and *none* in rows that refer to none.
    """

    columns: tuple[str, ...]
    target: str
    by: tuple[str, ...]
    lists: bool = False
    missing: int = 0
    distinct: int = 0
    loose: str = ""
    joint: str = "/"
    partial: bool = False
    without_self: bool = False
    form: str = ""
    absent: tuple[str, ...] = ()
