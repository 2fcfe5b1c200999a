"""Which predicates are fit to be asked about, by their words: one filter for all makers of questions.

Questions do not ask for identifiers in other databases, pictures, positions on a map, the structure of the KB, or what
its editors note for each other. :mod:`kbkit.benchmarks.predicates` applies this to the predicates of a schema.
"""

from __future__ import annotations

import re

MAINTENANCE = "maintenance of the KB"
STRUCTURE = "structure of the KB"
GROUP = "a group of the KB"
MEDIA = "media or position"
UNIT = "an amount without its unit"
MONEY = "an amount of money without its currency"
RATER = "votes or a rating without its rater"
DATE = "dates that are texts"
A_NAME = "a name"
LABELS = "labels of users"
IDENTIFIER = "an identifier"
VAGUE = "a place of any size"
_IDENTIFIERS = re.compile(
    r"(?i)\b(?:ids?|idx|identifier|code|index|key|tag|url|uri|iri|website|e-?mail|phone|isbn|issn|doi|zip|hash"
    r"|expression|formula|schema|formatter|hashtag|username|statement|number of (?:edges|rows))\b"
)
_MEDIA = re.compile(
    r"(?i)\b(?:image|photo|picture|logo|icon|audio|video|sound|map|banner|geoshape|coordinates?|latitude|longitude|lat"
    r"|lon|file ?name|file|pronunciation|signature|motif|thumbnail)\b"
)
_NAMES = re.compile(r"(?i)(?:.* )?(?:name|title|label|alias|pseudonym|demonym|abbreviation|name in native language)")
_MAINTENANCE = re.compile(
    r"(?i)(?:.* )?example|inverse (?:property|label item)|subproperty of|related property|wikidata .*|.*\bwikidata\b.*"
    r"|described (?:by|at).*|topic.*(?:category|template)|equivalent .*|.*\bitem\b.*|sourcing .*|external .*|commons .*"
    r"|.*\bwikimedia\b.*|.*\bwikiproject\b.*|property .*|.* property|properties .*|.*\bconstraints?\b.*"
    r"|category (?:for|of|associated|combines) .*|(?:retrieved|stated in|(?:has )?list of).*"
    r"|last (?:update|modified|edited).*|permanent duplicated.*|(?:said to be the )?same as|archives at|reference url"
)
_STRUCTURE = re.compile(
    r"(?i)(?:instance|subclass|different|type|kind|class|opposite) (?:of|from)|is ?a|(?:sex or )?gender|sex"
)
_GROUPS = re.compile(r"(?i)(?:.* )?category")
_WHOLES = re.compile(r"(?i)located in the administrative territorial entity")
_LABELS = re.compile(r"(?i)(?:(?:has|have) )?(?:the )?(?:user )?(?:hash)?tags?")
_MONEY = re.compile(
    r"(?i)(?:.*\b)?(?:budget|gross|(?:gross )?revenues?|costs?|prices?|salary|salaries|income|wages?|sales"
    r"|earnings|turnover|profits?|box office|gdp|debt|fees?|fare|amount paid|prize money"
    r"|market value|net worth|payments?)(?: per\b.*)?"
)
_MEASURES = re.compile(
    r"(?i)(?:.*\b)?(?:area|length|height|width|breadth|depth|thickness|elevation|altitude|distance|radius|diameter|weight"
    r"|mass|volume|density|duration|temperature|speed|velocity|acceleration|pressure|energy|voltage|current|resistance"
    r"|frequency|wavelength|concentration|abundance|conductivity|affinity|polarizability"
    r"|(?:heat|thermal) capacity|basicity"
    r"|electronegativity|heat(?: of \w+)?|(?:melting|boiling|freezing|flash) (?:point|temperature)|half[- ]life"
    r"|lattice constant|(?:radius|abundance) \w+|uncertainty)"
)
"""Nouns of quantities that say nothing without a unit."""
_RATINGS = re.compile(r"(?i)(?:(?:number|count) of )?(?:user )?votes|(?:(?:average|mean|user) )?(?:score|rating|stars)")
"""Judgements of people whom the label does not name, as *IMDb rating* does."""
_CURRENCIES = re.compile(r"(?i).*\b(?:dollars?|euros?|pounds?|yen|francs?|usd|eur|gbp|us\$)\b.*|[$€£¥].*")
_TEXTS = ("text", "number")


_LINKS = re.compile(r"(?i)(?:ids?|idx|identifier|key|index|url|uri|iri|link|ref|reference)s?")
"""Words that say nothing of an entity that they lead to."""


def unfit(label: str, kind: str) -> str:
    """Return why no question asks for a predicate, or "".

    ``label`` is its words, ``kind`` that of its values: ``text``, ``number``, ``date`` or ``entity``.
    """
    if _WHOLES.fullmatch(label):
        return VAGUE
    reason = unfit_as_condition(label, kind)
    if reason == A_NAME and label == "birth name":
        return ""
    if kind == "entity" and _LABELS.fullmatch(label):
        return LABELS
    return reason or (GROUP if _GROUPS.fullmatch(label) else "")


def unfit_as_condition(label: str, kind: str) -> str:
    """Return why no question uses a predicate to say which things it is about, or ""; groups may be used.

    See :func:`unfit` for the arguments.
    """
    if _MAINTENANCE.fullmatch(label):
        return MAINTENANCE
    if _STRUCTURE.fullmatch(label):
        return STRUCTURE
    if _MEDIA.search(label):
        return MEDIA
    if _NAMES.fullmatch(label):
        return A_NAME
    identifiers = _IDENTIFIERS.search(label) if kind in _TEXTS else _LINKS.fullmatch(label)
    return IDENTIFIER if identifiers else ""


def lacks_currency(label: str, unit: str = "") -> bool:
    """Return whether numbers with a label are amounts of money whose currency nothing says."""
    return bool(_MONEY.fullmatch(label)) and not _CURRENCIES.fullmatch(f"{label} {unit}".strip())


def lacks_rater(label: str) -> bool:
    """Return whether numbers with a label are votes or ratings, and nothing says whose: *score*, not *IMDb rating*."""
    return bool(_RATINGS.fullmatch(label))


def lacks_unit(label: str, unit: str = "") -> bool:
    """Return whether numbers with a label are amounts of a quantity whose unit nothing says: *density*."""
    return not unit and bool(_MEASURES.fullmatch(label))


def is_technical(label: str, kind: str = "text") -> bool:
    """Return whether a predicate is an identifier, a file, a position or a note of editors.

    No sentence should mention those.
    """
    return unfit(label, kind) in (MAINTENANCE, MEDIA, IDENTIFIER)
