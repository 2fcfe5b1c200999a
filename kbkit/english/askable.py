"""Which predicates are fit to be asked about: one filter for all makers of questions.

Questions do not ask for identifiers in other databases, pictures, positions on a map, or the structure of the KB.
"""

from __future__ import annotations

import re

STRUCTURE = "structure of the KB"
MEDIA = "media or position"
A_NAME = "a name"
IDENTIFIER = "an identifier"
_IDENTIFIERS = re.compile(
    r"(?i)\b(?:ids?|idx|identifier|code|index|key|tag|url|uri|iri|website|e-?mail|phone|isbn|issn|doi|zip|hash"
    r"|expression|formula|schema|formatter|hashtag|username|statement|number of (?:edges|rows))\b"
)
_MEDIA = re.compile(
    r"(?i)\b(?:image|photo|picture|logo|icon|audio|video|sound|map|banner|geoshape|coordinates?|latitude|longitude|lat"
    r"|lon|file ?name|file|pronunciation|signature|motif|thumbnail)\b"
)
_NAMES = re.compile(r"(?i)(?:.* )?(?:name|title|label|alias|pseudonym|demonym|abbreviation|name in native language)")
_STRUCTURE = re.compile(
    r"(?i)(?:instance|subclass|subproperty|different|type|kind|class|example|opposite) (?:of|from)|inverse property"
    r"|related property|wikidata .*|described (?:by|at).*|topic.*category|equivalent .*|.*\bitem\b.*|sourcing .*"
    r"|external .*|commons .*|is ?a|sex or gender|gender|sex|(?:.* )?category|property .*|.* property|properties .*"
)
_TEXTS = ("text", "number")


def unfit(label: str, kind: str) -> str:
    """Return why no question asks for a predicate, or "".

    ``label`` is its words, ``kind`` that of its values: ``text``, ``number``, ``date`` or ``entity``.
    """
    if _STRUCTURE.fullmatch(label):
        return STRUCTURE
    if _MEDIA.search(label):
        return MEDIA
    if _NAMES.fullmatch(label) and label != "birth name":
        return A_NAME
    return IDENTIFIER if kind in _TEXTS and _IDENTIFIERS.search(label) else ""


def is_technical(label: str, kind: str = "text") -> bool:
    """Return whether a predicate is an identifier, a file or a position, which no sentence should mention."""
    return unfit(label, kind) in (MEDIA, IDENTIFIER)
