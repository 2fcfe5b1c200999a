"""Addresses of the pages. Each can be shared and loaded again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.requests import Request

    from kbkit.schema import NodeType

_NODE = "/node/"
_DOTS = ("", ".", "..")
"""Segments that a browser would remove from a path, encoded or not."""


def page(path: str, **parameters: Any) -> str:
    """Return the address of a page; parameters that are None or empty are left out, lists are repeated."""
    given = {name.rstrip("_"): value for name, value in parameters.items() if value not in (None, "", [], False)}
    return path + (f"?{urlencode(given, doseq=True, errors='replace')}" if given else "")


def node(kind: str, key: str, query: str = "") -> str:
    """Return the address of a node's page; the words of ``query`` are marked in its texts."""
    if kind in _DOTS or key in _DOTS:
        return page(_NODE.rstrip("/"), ref=f"{kind}#{key}", q=query)
    return page(f"{_NODE}{quote(kind, safe='', errors='replace')}/{quote(key, safe='', errors='replace')}", q=query)


def members(kind: str) -> str:
    """Return the address of the list of a type's nodes."""
    from kbkit.answers.syntax import identifier  # it would delay the first page

    return page("/query", q=identifier(kind), language="answers")


def table(kind: NodeType) -> str:
    """Return the address of the table of a type's nodes: with their attributes, if all have the same ones."""
    if not kind.attributes or kind.others:
        return members(kind.name)
    return page("/query", q=sql_of_type(kind), language="sql")


def sql_of_type(kind: NodeType) -> str:
    """Return SQL for the nodes of a type with their attributes."""
    from kbkit.stores.sql_names import identifier  # it would delay the first page

    return f"SELECT * FROM {identifier(kind.table)}"


def sql_of_attribute(kind: NodeType, attribute: str) -> str:
    """Return SQL for the values of an attribute, with the nodes that have them."""
    from kbkit.stores.sql_names import identifier  # it would delay the first page

    names = dict.fromkeys(("id", "name", attribute))
    return f"SELECT {', '.join(map(identifier, names))} FROM {identifier(kind.table)}"


def statistics(kind: NodeType, attribute: str) -> str:
    """Return the address of the statistics of an attribute."""
    return page("/query", q=sql_of_attribute(kind, attribute), language="sql", view="columns")


def reference(request: Request) -> str:
    """Return the node that an address names. Raises :class:`HTTPException` if it names none."""
    given = request.query_params.get("ref")
    if given is not None:
        return given
    # The raw path, because types and keys may contain slashes.
    path = request.scope.get("raw_path") or request.scope["path"].encode()
    kind, _, key = path.decode("latin-1").partition("?")[0].removeprefix(_NODE).partition("/")
    if not kind or not key:
        raise HTTPException(404, "The address of a node is /node/TYPE/KEY.")
    return f"{unquote(kind, errors='replace')}#{unquote(key, errors='replace')}"


def text(request: Request, name: str, longest: int = 2_000) -> str:
    """Return a text of the address, without spaces around it. Raises :class:`HTTPException` if it is too long."""
    value = request.query_params.get(name, "").strip()
    if len(value) > longest:
        raise HTTPException(400, f"The parameter {name} is too long: at most {longest:,} characters are allowed.")
    return value


def flag(request: Request, name: str) -> bool:
    """Return whether an address sets a flag."""
    return bool(request.query_params.get(name))


def is_foreign(request: Request) -> bool:
    """Return whether another site leads to an address."""
    return request.headers.get("sec-fetch-site") in ("cross-site", "same-site")


def texts(request: Request, name: str, most: int = 50) -> list[str]:
    """Return the values of a parameter that may be repeated. Raises :class:`HTTPException` for too many."""
    values = [value for value in request.query_params.getlist(name) if value]
    if len(values) > most or any(len(value) > 2_000 for value in values):
        raise HTTPException(400, f"The parameter {name} is given too often: at most {most} times are allowed.")
    return values


def number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """Return a number of the address, limited to a range. Raises :class:`HTTPException` if it is none."""
    value = request.query_params.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) < 12):
        raise HTTPException(400, f"Invalid number for the parameter {name}.")
    return min(max(int(value), least), most)
