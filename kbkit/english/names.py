"""Names within sentences: places and organisations with their article (the Red Sea), titles in quotes."""

from __future__ import annotations

import re

from kbkit.english.types import THING, TITLED_WITH_SENTENCES, WORKS, type_noun
from kbkit.english.words import is_person, quoted, with_article

_TOWNS = {"city", "mountain", "town", "village"}
_WATERS = {"ocean", "river", "sea", "strait"}
_ALWAYS = {"currency", "mountain range", "range", *_WATERS}
"""Types all of whose names have the article. Lakes have none, mountains rarely."""
_INITIALS = 3
"""Letters of a country's name up to which they are initials."""
_NUMBER = re.compile(r"[\d.,]*\d")
_PLACES = {"area", "continent", "country", "county", "island", "lake", "location", "place", "region", "state"}
_BODIES = {"agency", "association", "company", "institution", "organisation", "organization", "party", "university"}
_JOBS = {"job", "occupation", "profession"}
_HONOURS = {"award", "medal", "order", "prize"}
_HONOUR = re.compile(r".*\b(?:Award|Medal|Order|Prize)\b.*")
_ARTICLE = re.compile(r"(?:the|al|el|la|le|les|los) ", re.IGNORECASE)
_ENDS = re.compile(
    ".* (?:Alps|Archipelago|Basin|Channel|Confederation|Desert|Emirates|Empire|Federation|Gulf|Islands|Isles|Kingdom"
    "|Mountains|Ocean|Peninsula|Republic|Reservoir|River|Sea|States|Strait|Straits|Territory|Union|Valley)"
)
_STARTS = re.compile(
    "(?:(?:Democratic |Federal |Islamic |People's )?Republic|(?:United )?Kingdom|Bay|Cape|Commonwealth|Gulf|Isle|Sea"
    "|Straits?|Federated States|University) of .*"
)
_ALONE = re.compile(
    "Arctic|Antarctic|Bahamas|Balkans|Caribbean|Comoros|Congo|EU|Eurozone|Far East|Gambia|Levant|Maldives|Middle East"
    "|Netherlands|Philippines|Soviet Union|UAE|UK|UN|US|USA|USSR"
)
_PEAKS = re.compile(r".*(?:horn|spitze?|glockner| Massif)|Brandberg|Brocken|Dom|Eiger|Feldberg|Jungfrau|Mönch")
"""Mountains with the article: mostly German names."""
_BODY = re.compile(
    r".*\b(?:Accord|Agency|Agreement|Alliance|Area|Assembly|Association|Authority|Bank|Commission|Commonwealth"
    r"|Community|Confederation|Convention|Council|Federation|Forum|Fund|Group|Initiative|Institute|League|Market"
    r"|Nations|Organi[sz]ation|Organisation|Pact|Parliament|Party|Partnership|Programme|Society|System|Treaty|Union)\b.*"
)
_BEFORE_OF = re.compile(
    r".*\b(?:Academy|College|Conservatory|Department|Faculty|Institute|Laboratory|Ministry|Museum|Observatory|School"
    r"|University) of .*"
)


def named(name: str, node_type: str, article: str = "") -> str:
    """Return a name as it reads within a sentence, with ``the`` if names of its type have it.

    ``article`` is the one that the schema gives for the type. Only names of places and organisations are changed;
    titles, people and terms are not.
    """
    kind = type_noun(node_type).casefold()
    if name.islower() and kind in _PLACES | _WATERS | _TOWNS:  # a source without capitals
        name = name.upper() if len(name) <= _INITIALS and kind in _PLACES else name.title()
    if _ARTICLE.match(name):
        return name
    if kind == "currency" and " " not in name:
        name = name.lower() if name.istitle() else name
    head = kind.rpartition(" ")[2]
    if head in _JOBS and name.islower():
        return with_article(name)
    place, body = kind in _PLACES, head in _BODIES
    always = kind in _ALWAYS or (bool(article) and not (body and " " not in name))
    if always and re.search(r"(?<! of) (?:Bay|Creek|Sound|Harbour)$", name):
        return name
    wanted = always or ((place or body) and bool(_ALONE.fullmatch(name) or _STARTS.fullmatch(name)))
    wanted = wanted or (place and bool(_ENDS.fullmatch(name))) or (kind == "mountain" and bool(_PEAKS.fullmatch(name)))
    wanted = wanted or (body and bool(_BODY.fullmatch(name) or _BEFORE_OF.fullmatch(name)))
    wanted = wanted or (head in _HONOURS and bool(_HONOUR.fullmatch(name)))
    return f"the {name}" if wanted else name


def written_name(name: str, node_type: str, article: str = "") -> str:
    """Return a name as a written sentence has it: titles, and names without a capital, in quotes.

    Others have their article; ``article`` is the one that the schema gives for the type. Numbers are as they are.
    """
    if _NUMBER.fullmatch(name):
        return name
    said = named(name, node_type, article)
    is_odd = said == name and (name[:1].islower() or name[:1].isdigit())
    return quoted(name) if type_noun(node_type) in WORKS or is_odd else said


def spoken_name(name: str, node_type: str, article: str = "") -> str:
    """Return a name as a spoken sentence has it: with its article, and only titles that read like sentences quoted.

    Names of nodes without a type are those of places, people or works alike.
    """
    noun = type_noun(node_type)
    head = noun.rpartition(" ")[2]
    said = named(name, "place" if head == THING else head, article)
    if said != name or is_person(noun):
        return said
    return f'"{name}"' if head in TITLED_WITH_SENTENCES and " " in name and '"' not in name else name
