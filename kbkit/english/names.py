"""Names within sentences: places and organisations with their article (the Red Sea), titles in quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbkit.english.attributes import words_of_name
from kbkit.english.types import THING, TITLED_WITH_SENTENCES, WORKS, type_noun
from kbkit.english.words import is_person, lemmas_of, listed, plural, quoted, with_article
from kbkit.schema import NodeType

_TOWNS = {"city", "mountain", "town", "village"}
_WATERS = {"ocean", "river", "sea", "strait"}
_ALWAYS = {"currency", "mountain range", "range", *_WATERS}
"""Types all of whose names have the article. Lakes have none, mountains rarely."""
_INITIALS = 3
"""Letters of a country's name up to which they are initials."""
_NUMBER = re.compile(r"[\d.,]*\d")
_PLACES = {"area", "continent", "country", "county", "island", "lake", "location", "place", "region", "state"}
BODIES = {"agency", "association", "company", "institution", "organisation", "organization", "party", "university"}
_JOBS = {"job", "occupation", "profession"}
_HONOURS = {"award", "medal", "order", "prize"}
_HONOUR = re.compile(r".*\b(?:Award|Medal|Order|Prize)\b.*")
_ARTICLE = re.compile(r"(?:the|al|el|la|le|les|los) ", re.IGNORECASE)
_ENDS = re.compile(
    ".* (?:Alps|Archipelago|Caucasus|Basin|Channel|Confederation|Desert|Emirates|Empire|Federation|Gulf|Islands|Isles"
    "|Kingdom|Mountains|Ocean|Peninsula|Republic|Reservoir|River|Sea|States|Strait|Straits|Territory|Union|Valley)"
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


_CAPITALS = re.compile(r"[^\W\d_a-z]+(?:['’-][^\W\d_a-z]+)*(?: [^\W\d_a-z]+(?:['’-][^\W\d_a-z]+)*)+")
_LONG_WORD = 5
"""Letters of a word from which it is no abbreviation."""
_FULL_NAME = frozenset(("first name", "last name"))
_RECORDS = frozenset(
    (
        "account", "application", "appointment", "booking", "card", "claim", "contract", "enrollment", "enrolment",
        "entry", "invoice", "loan", "membership", "order", "payment", "policy", "purchase", "registration", "rental",
        "reservation", "subscription", "ticket", "transaction", "visit",
    )
)  # fmt: skip
"""Nouns of what people have, so that a record with a person's name is not the person."""
_LEAD = re.compile(r"(the (\w[\w ]*) of )(.+)")


def is_uncapitalized(name: str) -> bool:
    """Return whether a text may be a name in lower case, as some databases write them all: *gulf of mexico*."""
    return name.islower() and (len(name.split()) > 1 or not lemmas_of(name))


def bears_full_names(node_type: NodeType) -> bool:
    """Return whether nodes of a type have a first name and a last name: people, or records with a person's name."""
    words = {words_of_name(attribute.label or attribute.name).noun.casefold() for attribute in node_type.attributes}
    return words >= _FULL_NAME


def are_named_people(node_type: NodeType) -> bool:
    """Return whether the nodes of a type are people with first and last names, whatever their table is called."""
    return bears_full_names(node_type) and type_noun(node_type.name).rpartition(" ")[2] not in _RECORDS


def article_of(node_type: NodeType) -> str:
    """Return what precedes the names of a type: its article, or *the reservation of* if these are names of people."""
    noun = type_noun(node_type.name)
    is_record = bears_full_names(node_type) and noun.rpartition(" ")[2] in _RECORDS
    return node_type.article or (f"the {noun} of" if is_record else "")


def listed_names(names: Sequence[str]) -> str:
    """Return names with *and*: *the reservations of Ann Lee and Bo Ray*."""
    leads = [_LEAD.fullmatch(name) for name in names]
    first = leads[0]
    if len(names) > 1 and first and all(lead and lead[1] == first[1] and lead[3][:1].isupper() for lead in leads):
        return f"the {plural(first[2])} of {listed([lead[3] for lead in leads if lead])}"
    return listed(names)


def in_title_case(name: str, least: int = _LONG_WORD) -> str:
    """Return *Hyacinth Beamon* for *HYACINTH BEAMON*; names of one word and abbreviations are as they are.

    ``least`` letters has the longest word of a name in capitals.
    """
    is_loud = name.isupper() and _CAPITALS.fullmatch(name) and max(map(len, name.split())) >= least
    return name.title().replace("'S", "'s") if is_loud else name


def named(name: str, node_type: str, article: str = "") -> str:
    """Return a name as it reads within a sentence, with ``the`` if names of its type have it.

    ``article`` is the one that the schema gives for the type (:func:`article_of`). Only names of places, organisations,
    honours and nodes without a type are changed; titles, people and terms are not.
    """
    kind = type_noun(node_type).casefold()
    name = in_title_case(name) if kind not in WORKS else name
    if article.endswith(" of"):
        return f"{article} {in_title_case(name, 1)}"
    if name.islower() and kind in _PLACES | _WATERS | _TOWNS:  # a source without capitals
        name = name.upper() if len(name) <= _INITIALS and kind in _PLACES else name.title()
    if _ARTICLE.match(name):
        return name
    if kind == "currency" and " " not in name:
        name = name.lower() if name.istitle() else name
    head = kind.rpartition(" ")[2]
    if head in _JOBS and name.islower():
        return with_article(name)
    is_untyped = kind == THING
    place, body = kind in _PLACES or is_untyped, head in BODIES
    always = kind in _ALWAYS or (bool(article) and not (body and " " not in name))
    if always and re.search(r"(?<! of) (?:Bay|Creek|Sound|Harbour)$", name):
        return name
    wanted = always or ((place or body) and bool(_ALONE.fullmatch(name) or _STARTS.fullmatch(name)))
    wanted = wanted or (place and bool(_ENDS.fullmatch(name))) or (kind == "mountain" and bool(_PEAKS.fullmatch(name)))
    wanted = wanted or (body and bool(_BODY.fullmatch(name)))
    wanted = wanted or ((body or is_untyped) and bool(_BEFORE_OF.fullmatch(name)))
    wanted = wanted or ((head in _HONOURS or is_untyped) and bool(_HONOUR.fullmatch(name)))
    return f"the {name}" if wanted else name


def written_name(name: str, node_type: str, article: str = "") -> str:
    """Return a name as a written sentence has it: titles, and names without a capital, in quotes.

    Others have their article; ``article`` is the one that the schema gives for the type. Numbers that are no titles are
    as they are.
    """
    is_title = type_noun(node_type) in WORKS
    if _NUMBER.fullmatch(name) and not is_title:
        return name
    said = named(name, node_type, article)
    is_odd = said == name and (name[:1].islower() or name[:1].isdigit())
    return quoted(name) if is_title or is_odd else said


def spoken_name(name: str, node_type: str, article: str = "") -> str:
    """Return a name as a spoken sentence has it: with its article, and only titles that read like sentences or numbers
    quoted.

    Names of nodes without a type are those of places, people or works alike.
    """
    noun = type_noun(node_type)
    head = noun.rpartition(" ")[2]
    said = named(name, node_type, article)
    if said != name or is_person(noun):
        return said
    is_sentence = head in TITLED_WITH_SENTENCES and " " in name and '"' not in name
    return f'"{name}"' if is_sentence or (head in WORKS and _NUMBER.fullmatch(name)) else name
