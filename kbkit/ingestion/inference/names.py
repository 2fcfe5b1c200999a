"""Names: words of a file or column name, types from file names, and how well a column's name fits a type."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from kbkit.english.dictionary import dictionary
from kbkit.readers.columns import unique

NAMES = (
    "name", "full name", "fullname", "display name", "title", "label", "caption", "headline", "username", "user name",
    "login", "handle",
    "titel", "bezeichnung", "nom", "titre", "nombre", "titulo", "título", "nome", "titolo", "naam", "namn", "navn",
    "identifier", "slug", "filename",
)  # fmt: skip
"""Columns with the name of a row, best first, in several languages."""
ALIASES = frozenset({"alias", "aliases", "synonym", "synonyms", "aka", "nickname", "other names", "other name"})
PROSE = frozenset(
    [
        "abstract", "bio", "biography", "body", "comment", "comments", "content", "description", "detail", "document",
        "notes", "overview", "plot", "remarks", "review", "summary", "synopsis", "text",
    ]
)  # fmt: skip
"""Columns that usually hold texts."""
PARENTS = frozenset(
    [
        "parent", "father", "mother", "child", "spouse", "husband", "wife", "partner", "boss", "manager", "supervisor",
        "mentor", "reports to", "predecessor", "successor", "previous", "next", "reply to", "in reply to", "replies to",
        "chief", "original", "buddy", "accepted answer", "duplicate", "referred by", "referrer",
    ]
)  # fmt: skip
"""Columns that usually refer to a row of the same file."""
ROLES = frozenset(
    [
        "actor", "advisor", "approver", "artist", "assignee", "author", "borrower", "buyer", "callee", "caller",
        "captain", "cast", "chair", "coach", "composer", "creator", "director", "editor", "followed", "followee",
        "follower", "founder", "friend", "head", "instructor", "lead", "leader", "lender", "loser",
        "opponent", "owner", "payee", "payer", "president", "producer", "receiver", "recipient", "reporter",
        "requester", "reviewer", "seller", "sender", "sponsor", "submitter", "teacher", "translator", "tutor",
        "winner", "writer", *PARENTS,
    ]
)  # fmt: skip
"""Columns that usually refer to a person, without ``id`` in their name."""
_PERSON_WORDS = "user person member account employee profile contact volunteer student"
PERSONS = frozenset((word,) for word in _PERSON_WORDS.split())
"""Last words of types to which columns of roles refer if they have no table of their own."""
HEADS = ("head", "source", "from", "src", "start", "subject", "node1")
TAILS = ("tail", "target", "to", "dst", "end", "object", "node2")
RELATIONS = (
    "relation", "predicate", "rel", "relation type", "edge type", "relationship", "metaedge", "edge label",
    "interaction type", "relationship type",
)  # fmt: skip

ORDINALS = frozenset(("no", "nr", "num", "number", "nummer", "pos", "index", "seq", "order"))
"""Last words of columns that may count the rows of something, rather than identify a thing."""
_IDS = frozenset(
    ["id", "ids", "pk", "pmid", "oid", "key", "code", "fk", "ref", "uuid", "guid", "uri", "iri", "no", "nr", "num",
     "number", "nummer"]
)  # fmt: skip
_GENERIC = frozenset({*_IDS, "name", "title", "label"})
_MADE_UP = re.compile(r"column\d+")
"""Names of columns of files without a header."""
_NUMBERED = re.compile(r"(?<=[^\W\d])(\d+|_[ab12])$", re.IGNORECASE)
WRAPPINGS = frozenset(
    {"api", "tbl", "table", "dim", "fact", "csv", "export", "dataset", "data", "info", "list", "lookup", "metadata"}
)
NODES = frozenset({"node", "nodes", "vertex", "vertices", "entity", "entities"})
"""Words of file names that say nothing about the rows."""
_WORD = re.compile(r"[A-Z]+s?(?![^\W\dA-Z_])|[A-Z]?[^\W\dA-Z_]+|\d+")
_IRREGULAR = {"people": "person", "persons": "person", "movies": "movie", "data": "data", "emojis": "emoji"}


@functools.lru_cache(1 << 16)  # of each pair of a column and a table
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: ``birthCountry_id`` has ``birth``, ``country`` and ``id``."""
    return tuple(word.lower() for word in _WORD.findall(_ORDINAL.sub(lambda found: _ORDINALS[int(found[1]) - 1], name)))


_ORDINAL = re.compile(r"(?<![^\W_])([1-9])(st|nd|rd|th)(?![^\W_])", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@functools.lru_cache(1 << 16)
def plain(name: str) -> str:
    """Return a name as words separated by spaces."""
    return " ".join(words(name))


@functools.cache
def singular(word: str) -> str:
    """Return the singular of an English noun; other words lose a final ``s``."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    lemmas = dictionary().getLemma(word, "NOUN", lemmatize_oov=False)
    if lemmas:
        return str(lemmas[0])
    if len(word) > 5 and word.endswith("ies"):
        return f"{word[:-3]}y"
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "as"))
    return word.removesuffix("s") if plural else word  # of another language


def is_noun(word: str) -> bool:
    """Return whether a word is an English noun."""
    return bool(dictionary().getLemma(word, "NOUN", lemmatize_oov=False))


def subject(column: str) -> tuple[str, ...]:
    """Return the words that say what a column refers to: ``fk_birthCountry_id`` has ``birth`` and ``country``."""
    parts = list(words(_NUMBERED.sub("", column)))
    while len(parts) > 1 and (parts[-1] in _IDS or parts[-1] == "name"):
        parts.pop()
    while len(parts) > 1 and parts[0] in ("fk", "id"):
        parts.pop(0)
    if ending := _id_ending(parts[-1] if parts else ""):
        parts[-1] = parts[-1].removesuffix(ending)
    return (*parts[:-1], singular(parts[-1])) if parts else ()


def _id_ending(word: str) -> str:
    """Return the end of a word that says that it identifies something: of ``countryid`` and ``Kundennummer``."""
    found = next((ending for ending in ("id", "nummer", "nr") if word.endswith(ending)), "")
    return found if len(word) > len(found) + _PAIR and word not in _ENDING_IN_ID else ""


_PAIR = 2
_ENDING_IN_ID = frozenset(
    ["android", "arid", "avoid", "bid", "fluid", "grid", "humid", "hybrid", "liquid", "paid", "rapid", "solid", "valid"]
)


def of_parent(column: str) -> tuple[str, ...]:
    """Return the words of the identifier that a column has of the parents of rows: ``id`` of ``Parent id``, ``item no``
    of ``item_no_of_parent``; none for other columns.
    """
    parts = words(column)
    said = parts[1:] if parts[:1] == ("parent",) else parts[:-2] if parts[-2:] == ("of", "parent") else ()
    return said if is_id("_".join(said)) else ()


def is_id(column: str) -> bool:
    """Return whether a column is named as an identifier: ``id``, ``country_id``, ``CountryCode``, ``fk_country``."""
    parts = words(column)
    joined = parts[-1] if parts else ""
    ends = joined in _IDS or bool(_id_ending(joined))
    return bool(parts) and (ends or (parts[0] in ("fk", "id") and parts[-1] not in ("type", "kind")))


def is_own_id(column: str, kind: str) -> bool:
    """Return whether a column is named as the identifier of a type: ``id``, or ``film_id`` of ``film``."""
    alone = words(column) in (("id",), ("pk",), ("key",), ("code",), ("uuid",), ("guid",), ("uri",), ("iri",), ("ref",))
    return alone or (is_id(column) and fit(column, kind) == 3)


def is_own_name(column: str, kind: str) -> bool:
    """Return whether a column is named as the name of a type: ``name``; ``film_name`` or ``fname`` of ``film``."""
    own = words(column) in ((f"{kind[:1].lower()}name",), (*words(kind), "title"), (*words(kind), "label"))
    return plain(column) in NAMES or own or (not is_id(column) and fit(column, kind) == 3)


def is_english_name(column: str) -> bool:
    """Return whether a column has names in English, and says so: ``name_en``, ``English title``, ``ename``."""
    parts = set(words(column))
    return parts == {"ename"} or any(parts == {one, of} for one in _ENGLISH for of in ("name", "title", "label"))


_ENGLISH = ("en", "eng", "english")


def is_file(column: str) -> bool:
    """Return whether a column is named as one of files: ``Filename``, ``file path``."""
    return plain(column) in ("filename", "filepath") or words(column)[-2:] in (("file", "name"), ("file", "path"))


_PERSON_NAMES = (
    ("first name", "last name"), ("given name", "family name"), ("firstname", "lastname"), ("forename", "surname"),
    ("name first", "name last"), ("first name", "surname"), ("given name", "surname"), ("prénom", "nom"),
    ("vorname", "nachname"), ("nombre", "apellido"), ("nome", "cognome"), ("fname", "lname"),
    ("firstname", "surname"), ("forename", "last name"), ("given name", "last name"),
    ("given names", "surname"), ("forenames", "surname"), ("given names", "family name"), ("first", "last"),
    ("vorname", "name"), ("prenom", "nom"), ("nombre", "apellidos"), ("voornaam", "achternaam"),
    ("förnamn", "efternamn"), ("fornavn", "etternavn"), ("fornavn", "efternavn"), ("imię", "nazwisko"),
)  # fmt: skip
"""Pairs of columns with the first and the last names of persons, in several languages."""


def of_person(columns: Sequence[str], kind: str) -> tuple[str, str] | None:
    """Return the columns with the first and the last names of persons, None if there are none."""
    for start in range(len(words(kind)) or 1):  # of results by candidate: Candidate surname
        before = " ".join(words(kind)[start:])
        known = {plain(column).removeprefix(f"{before} "): column for column in columns}
        for first, last in _PERSON_NAMES:
            if first in known and last in known:
                return known[first], known[last]
    return None


_OF_PERSONS = ROLES - PARENTS


def is_role_of_persons(column: str) -> bool:
    """Return whether a column is named as a role of persons: ``Author``, ``editors``, ``recordedBy``."""
    parts = words(column)
    return " ".join(subject(column)) in _OF_PERSONS or (len(parts) > 1 and parts[-1] == "by")


_GLOBAL_IDS = frozenset(
    ["email", "mail", "sku", "isbn", "issn", "doi", "orcid", "ean", "gtin", "iban", "barcode", "wikidata"]
)
"""Words for identifiers that are the same in every source: of persons, books, products."""


def is_global_id(column: str) -> bool:
    """Return whether a column is named as an identifier that is the same in all sources: ``Email``, ``Product SKU``."""
    return _global_word(column) in _GLOBAL_IDS


def is_product_code(column: str) -> bool:
    """Return whether a column is named as a code of goods and books, whose digits are no number: ``ISBN``."""
    return _global_word(column) in _PRODUCT_CODES


_PRODUCT_CODES = frozenset(["isbn", "isbn13", "isbn10", "issn", "ean", "gtin", "upc", "barcode"])


def is_same_global_id(column: str, other: str) -> bool:
    """Return whether two columns are named as the same identifier of :func:`is_global_id`."""
    return is_global_id(column) and _global_word(column) == _global_word(other)


def without_global_id(column: str) -> tuple[str, ...]:
    """Return the words of a name before that of an identifier: ``buyer`` of ``Buyer email address``."""
    return _global_words(column)[:-1]


def _global_word(column: str) -> str:
    return next(iter(_global_words(column)[-1:]), "")


def _global_words(column: str) -> tuple[str, ...]:
    """Return the words of a name without one that only says what it is: ``email`` of ``Email address``."""
    parts = words(column)
    return parts[:-1] if parts[-1:] == ("address",) and len(parts) > 1 else parts


_MEASURES = frozenset(["year", "date", "day", "month", "time", "age", "rank", "size", "season", "week"])
"""Words that several columns end in without referring to each other."""


def is_measure(word: str) -> bool:
    """Return whether a word is one of years, dates and the like, which several tables have without being related."""
    return word in _MEASURES


_INITIALED = re.compile(r"([a-z])(no|nr|num|nbr|number|id|code|key)")


def with_key(column: str, key: str) -> bool:
    """Return whether a column is named as a key with something before it, or with another word for *number*.

    ``Mgr_ssn``, ``Essn``: the key ``Ssn``; ``Dno``: the key ``Dnumber``. Keys of common words say nothing.
    """
    here, there = words(column), words(key)
    if is_generic(key) or not here or not there or there[-1] in _MEASURES:
        return False
    if len(here) > len(there):
        return here[-len(there) :] == there
    if here == there or len(here) != 1:
        return False
    initials = [_INITIALED.fullmatch(one) for one in (here[0], there[0])]
    if all(initials):
        return initials[0][1] == initials[1][1]  # type: ignore[index]
    return len(there[0]) >= 3 and len(here[0]) == len(there[0]) + 1 and here[0].endswith(there[0])


_OPPOSITES = (("origin", "dest"), ("origin", "destination"), ("from", "to"), ("departure", "arrival"),
              ("source", "target"), ("start", "end"))  # fmt: skip


def is_other_end(column: str, other: str) -> bool:
    """Return whether two columns are named as the two ends of a way: ``origin`` and ``dest``."""
    here, there = words(column), words(other)
    if len(here) != len(there):
        return False
    apart = [tuple(pair) for pair in zip(here, there, strict=True) if pair[0] != pair[1]]
    return len(apart) == 1 and (apart[0] in _OPPOSITES or apart[0][::-1] in _OPPOSITES)


def is_count(column: str) -> bool:
    """Return whether a column is named as a number of things: ``Number_of_hosts``, ``num_orders``."""
    parts = words(column)
    return parts[:2] in (("number", "of"), ("no", "of"), ("count", "of")) or (
        len(parts) > 1 and parts[0] in ("num", "count", "total") and parts[1] not in _IDS
    )


def is_plural(column: str) -> bool:
    """Return whether a column is named in the plural: ``tags``."""
    parts = words(column)
    return bool(parts) and singular(parts[-1]) != parts[-1]


OTHERS = frozenset(
    ["category", "type", "group", "class", "status", "city", "country", "region", "state", "host", "domain", "user"]
)
"""Words of columns that name something else than the row."""


def is_generic(column: str) -> bool:
    """Return whether a column's name says nothing about what it holds: ``id``, ``code``, ``name``, ``column1``."""
    return plain(column) in _GENERIC or _MADE_UP.fullmatch(column) is not None


LAST_WORD = 1.5
"""See :func:`fit`."""


@functools.lru_cache(1 << 16)
def fit(column: str, kind: str) -> float:
    """Return how well a column's name fits the name of a type: 3 the same, 2 the type at the end of the column's name
    (``birth_country``: ``country``), 1.5 the same last word (``color``: ``car_color``), 0 otherwise.
    """
    there, here = words(kind), subject(column)
    if not there or not here:
        return 0
    if here[:-1] == there[:-1] and _alike(here[-1], there[-1]):
        return 3
    if len(here) != len(there) and _alike("".join(here), "".join(there)):
        return 3  # feeditem: feed_item
    if not _alike(here[-1], there[-1]):
        return 0
    return 2 if here[-len(there) : -1] == there[:-1] else LAST_WORD


def is_short_for(column: str, kind: str) -> bool:
    """Return whether a column is named after the start of a type's last word: ``lang_code`` of ``language``."""
    here, there = subject(column), words(kind)
    starts = len(here) == 1 and bool(there) and there[-1].startswith(here[0])
    return starts and len(here[0]) >= _SHORT and here[0] not in _IDS


def is_abbreviation(word: str, whole: str) -> bool:
    """Return whether a word abbreviates another one: its start, or a word of no dictionary with some of its letters in
    order: ``dept`` of ``department``.
    """
    if len(word) < _SHORT or len(word) >= len(whole) or _alike(word, whole):
        return False
    letters = iter(whole)
    some = word[0] == whole[0] and all(letter in letters for letter in word)
    return whole.startswith(word) or (some and not dictionary().getLemma(word, "NOUN", lemmatize_oov=False))


_SHORT = 3


def _alike(a: str, b: str) -> bool:
    """Return whether two words are the same, or one is a plural of the other in some language of Europe."""
    short, long = sorted((a, b), key=len)
    endings = ("s", "es", "n", "en", "e", "er", "x" if short.endswith("u") else "s")
    return a == b or (len(short) >= 4 and long in {short + ending for ending in endings})


def is_sequence(column: str) -> bool:
    """Return whether a column numbers the rows of a thing in a sequence, such as the events of a person: ``AESEQ``."""
    return words(column)[-1:] in {("seq",), ("sequence",), ("ordering",)} or bool(re.fullmatch("[A-Z]{2,4}SEQ", column))


def types(tables: Sequence[Sequence[str]]) -> list[str]:
    """Return a type for the words of each table name: in the singular, as an identifier."""
    last = [len(parts) - (2 if len(parts) > 1 and parts[-1].isdigit() else 1) for parts in tables]  # sales 2024
    plain = [[*parts[:at], singular(parts[at]), *parts[at + 1 :]] for parts, at in zip(tables, last, strict=True)]
    return unique([identifier("_".join(parts)) for parts in plain])


def identifier(name: str) -> str:
    """Return a name of letters, digits and ``_`` that starts with a letter."""
    text = re.sub(r"\W+", "_", name).strip("_")
    return text if text and not text[0].isdigit() else f"t_{text}"
