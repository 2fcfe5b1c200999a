"""Entities of XML, which can make a small file expand to gigabytes, or read another file.

Ontologies declare abbreviations of IRIs (``<!ENTITY owl "http://www.w3.org/2002/07/owl#">``): short texts are accepted.
"""

from __future__ import annotations

from collections.abc import Callable

_LONGEST = 200
"""Maximum characters of an entity: a file expands to 50 times its size at most."""


def check_entity(error: Callable[[str], Exception], name: str, is_parameter: int, value: str | None) -> None:
    """Raise ``error(problem)`` for an entity that is long, external, or contains other entities or markup.

    The other arguments are the first ones of expat's ``EntityDeclHandler``.
    """
    if is_parameter or value is None or len(value) > _LONGEST or "&" in value or "<" in value:
        raise error(f"Unsupported entity {name[:50]!r} (long, external or made of other entities)")
