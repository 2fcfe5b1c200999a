"""How an entity is written down here, and what becomes of it in the dump's format.

A claim is (property, value, *more): the value is text that is read by the property's datatype, `SOME` or `NO`;
more are qualifiers (a dict: property -> value or list of values), references (a list of such dicts) and marks:
"preferred", "deprecated", "lower" (a statement id that begins with the entity's id in small letters, as old ones do),
"padded" (a time with a year of eleven digits, as old dumps write it), "numeric" (an entity value without "id").

    time              1952-03-11, 1952-03, 1952, -0384 (384 BCE), 1950/8 (with its precision), 1642-12-25J (Julian)
    quantity          8848.86 Q11573, 8844.43±0.21 Q11573, -38.83 Q25267, 3755251
    globe-coordinate  52.5167,13.3833 with /0.01 (precision), / (precision unknown), @Q405 (globe)
    monolingualtext   de:Angela Dorothea Kasner

Format: https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

SOME, NO = "<somevalue>", "<novalue>"
ENTITY = "http://www.wikidata.org/entity/"
EARTH, GREGORIAN, JULIAN = "Q2", "Q1985727", "Q1985786"
RANKS = ("preferred", "deprecated")
IDS = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
TIME = re.compile(r"(-?)(\d+)(?:-(\d\d))?(?:-(\d\d))?(?:/(\d+))?(J?)")
QUANTITY = re.compile(r"([+-]?[\d.]+)(?:±([\d.]+))?(?: (Q\d+))?")
COORDINATE = re.compile(r"(-?[\d.]+),(-?[\d.]+)(?:/([\d.e-]*))?(?:@(Q\d+))?")

Claim = tuple[Any, ...]
Json = dict[str, Any]
Make = Callable[[], Json]
DATATYPES: dict[str, str] = {}
"""Property -> datatype: filled by :func:`prop`, needed when the declared entities are made."""


def sha1(content: object) -> str:
    return hashlib.sha1(json.dumps(content, sort_keys=True).encode()).hexdigest()


def time_value(text: str, padded: bool = False) -> Json:
    sign, year, month, day, precision, julian = TIME.fullmatch(text).groups()
    digits = year.zfill(11 if padded else 4)
    return {
        "time": f"{sign or '+'}{digits}-{month or '00'}-{day or '00'}T00:00:00Z",
        "timezone": 0, "before": 0, "after": 0,
        "precision": int(precision or (11 if day else 10 if month else 9)),
        "calendarmodel": ENTITY + (JULIAN if julian else GREGORIAN),
    }  # fmt: skip


def signed(amount: str) -> str:
    return amount if amount.startswith(("-", "+")) else f"+{amount}"


def quantity_value(text: str) -> Json:
    amount, spread, unit = QUANTITY.fullmatch(text).groups()
    value = {"amount": signed(amount), "unit": ENTITY + unit if unit else "1"}
    if spread is not None:
        places = len(spread.partition(".")[2])
        value["upperBound"] = signed(f"{float(amount) + float(spread):.{places}f}")
        value["lowerBound"] = signed(f"{float(amount) - float(spread):.{places}f}")
    return value


def number(text: str) -> float | int:
    """PHP writes whole numbers without a fraction."""
    return int(float(text)) if float(text).is_integer() else float(text)


def coordinate_value(text: str) -> Json:
    latitude, longitude, precision, globe = COORDINATE.fullmatch(text).groups()
    step = None if precision == "" else number(precision or "0.0001")
    place = {"latitude": number(latitude), "longitude": number(longitude), "altitude": None, "precision": step}
    return {**place, "globe": ENTITY + (globe or EARTH)}


def entity_value(text: str, numeric: bool = False) -> Json:
    kinds = {"Q": "item", "P": "property", "L": "lexeme", "E": "entity-schema"}
    kind = "form" if "-F" in text else "sense" if "-S" in text else kinds[text[0]]
    value: Json = {"entity-type": kind}
    if kind in {"item", "property", "lexeme"}:
        value["numeric-id"] = int(text[1:])
    return value if numeric else {**value, "id": text}


def data_value(datatype: str, text: str, marks: set[str]) -> Json:
    if datatype in {"entity-schema"} or datatype.startswith("wikibase-"):
        return {"value": entity_value(text, "numeric" in marks), "type": "wikibase-entityid"}
    if datatype == "time":
        return {"value": time_value(text, "padded" in marks), "type": "time"}
    if datatype == "quantity":
        return {"value": quantity_value(text), "type": "quantity"}
    if datatype == "globe-coordinate":
        return {"value": coordinate_value(text), "type": "globecoordinate"}
    if datatype == "monolingualtext":
        language, _, words = text.partition(":")
        return {"value": {"text": words, "language": language}, "type": "monolingualtext"}
    return {"value": text, "type": "string"}


def snak(pid: str, value: str, marks: set[str]) -> Json:
    datatype = DATATYPES[pid]
    if value in (SOME, NO):
        return {"snaktype": value.strip("<>"), "property": pid, "datatype": datatype}
    made = {"snaktype": "value", "property": pid, "datavalue": data_value(datatype, value, marks)}
    return {**made, "datatype": datatype}


def snaks(parts: dict[str, Any], marks: set[str], hashed: bool) -> dict[str, list[Json]]:
    made = {}
    for pid, values in parts.items():
        listed = [snak(pid, value, marks) for value in (values if isinstance(values, list) else [values])]
        made[pid] = [{**one, "hash": sha1(one)} if hashed else one for one in listed]
    return made


def statement(subject: str, claim: Claim) -> Json:
    pid, value, *more = claim
    marks = {mark for mark in more if isinstance(mark, str)}
    made: Json = {"mainsnak": snak(pid, value, marks), "type": "statement"}
    for part in (part for part in more if isinstance(part, dict)):
        made["qualifiers"] = snaks(part, marks, hashed=True)
        made["qualifiers-order"] = list(part)
    number = str(uuid.uuid5(IDS, json.dumps([subject, *claim], sort_keys=True))).upper()
    made["id"] = f"{subject.lower() if 'lower' in marks else subject}${number}"
    made["rank"] = next((rank for rank in RANKS if rank in marks), "normal")
    for references in (part for part in more if isinstance(part, list)):
        made["references"] = [reference(parts) for parts in references]
    return made


def reference(parts: dict[str, Any]) -> Json:
    made = snaks(parts, set(), hashed=False)
    return {"hash": sha1(made), "snaks": made, "snaks-order": list(parts)}


def claims_of(subject: str, claims: tuple[Claim, ...]) -> dict[str, list[Json]]:
    made: dict[str, list[Json]] = {}
    for claim in claims:
        made.setdefault(claim[0], []).append(statement(subject, claim))
    return made


def terms(values: dict[str, str]) -> dict[str, Json]:
    return {language: {"language": language, "value": value} for language, value in values.items() if value}


def aliases(listed: list[str] | dict[str, list[str]]) -> dict[str, list[Json]]:
    by = listed if isinstance(listed, dict) else {"en": listed} if listed else {}
    return {language: [{"language": language, "value": value} for value in values] for language, values in by.items()}


def entity(subject: str, kind: str, names: dict[str, str], about: dict[str, str], aka: Any, claims: Any) -> Json:
    number = int(subject[1:])
    made = {"type": kind, "id": subject, "labels": terms(names), "descriptions": terms(about)}
    made["aliases"] = aliases(aka)
    made["claims"] = claims_of(subject, claims)
    made["lastrevid"] = 2_000_000_000 + number
    return {**made, "modified": "2024-05-01T12:00:00Z"} if kind == "item" else made


def item(subject: str, en: str, about: str, *claims: Claim, de: str = "=", fr: str = "=", **more: Any) -> Make:
    """Declare an item; `=` is the English label. more: names, abouts (other languages), aka, links, bare."""
    names = {"en": en, "de": en if de == "=" else de, "fr": en if fr == "=" else fr, **more.get("names", {})}
    abouts = {"en": about, **more.get("abouts", {})}

    def make() -> Json:
        made = entity(subject, "item", names, abouts, more.get("aka", []), claims)
        made["sitelinks"] = sitelinks(more.get("links", {}), names)
        # PHP wrote an empty map as a list, and some dumps still have it so.
        return {key: [] if value == {} else value for key, value in made.items()} if more.get("bare") else made

    return make


def sitelinks(links: Any, names: dict[str, str]) -> dict[str, Json]:
    """`links`: site -> title, or site -> (title, badges); or the languages of Wikipedias whose title is the label."""
    if isinstance(links, str):
        links = {f"{language}wiki": names.get(language) or names["en"] for language in links.split()}
    pairs = {site: (link, []) if isinstance(link, str) else link for site, link in links.items()}
    return {site: {"site": site, "title": title, "badges": badges} for site, (title, badges) in pairs.items()}


def prop(subject: str, datatype: str, en: str, about: str, *claims: Claim, **more: Any) -> Make:
    """Declare a property. more: de, fr, aka."""
    DATATYPES[subject] = datatype

    def make() -> Json:
        names = {"en": en, "de": more.get("de", ""), "fr": more.get("fr", "")}
        made = entity(subject, "property", names, {"en": about}, more.get("aka", []), claims)
        return {"type": "property", "datatype": datatype, **{key: made[key] for key in made if key != "type"}}

    return make


def lexeme(subject: str, lemma: dict[str, str], language: str, category: str, *claims: Claim, **parts: Any) -> Make:
    """Declare a lexeme; forms: (representation, features, claims), senses: (glosses, claims)."""

    def make() -> Json:
        forms = [
            {"id": f"{subject}-F{place}", "representations": terms(words), "grammaticalFeatures": features,
             "claims": claims_of(f"{subject}-F{place}", said)}
            for place, (words, features, said) in enumerate(parts["forms"], 1)
        ]  # fmt: skip
        senses = [
            {"id": f"{subject}-S{place}", "glosses": terms(words), "claims": claims_of(f"{subject}-S{place}", said)}
            for place, (words, said) in enumerate(parts["senses"], 1)
        ]
        return {
            "type": "lexeme", "id": subject, "lemmas": terms(lemma), "lexicalCategory": category,
            "language": language, "claims": claims_of(subject, claims), "forms": forms, "senses": senses,
            "lastrevid": 2_000_000_000 + int(subject[1:]),
        }  # fmt: skip

    return make
