"""The closed classes of English words that questions are made of. Nothing here names a relation or a type of a KB.

Everything else in a question is a content word, which the reading of the question should explain.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PERSON_WORDS = _words("anybody anyone everybody everyone somebody someone")
NOBODY = _words("nobody noone none nothing")
"""Pronouns that negate: ``books nobody borrowed``."""
MONTHS = {
    month: number
    for number, months in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ],
        1,
    )
    for month in months.split()
}
GREETINGS = _words("hi hello hey thanks thank kindly ok okay guys folks")


FUNCTION_WORDS = _words(
    """
    a also an and another any are as at be been being both but by called can could d d'you did do does done each
    either etc ever every find for from get give got had has have having he her here hers him his how i if in
    into is it its just know known let lets list listed ll m many may me might much my name named of on one ones
    only or other others our out please re s same shall she should show so some someone something such t tell
    than that the their them then there these they thing things this those through to together too up us ve via
    want was we were what when where which who whom whose why will with would you your
    """
)
"""Words that need no explanation."""

SHARED = _words("also co common same share shared shares sharing together")
"""Words that say that a relation is followed forward and back: films that share a director."""

NEGATIONS = _words("besides except excluding neither never no nor not without")
_NEGATED_VERBS = _words("aren can couldn didn doesn don hadn hasn haven isn shouldn wasn weren won wouldn")
CONTRACTIONS = {
    **{f"{verb}t": (verb, "t") for verb in _NEGATED_VERBS - {"can", "won"}},
    **{f"{word}s": (word, "s") for word in ("what", "who", "where", "when", "that", "there")},
}
"""Words that people write without the apostrophe, as the parts around it."""


def is_negation(word: str, following: str) -> bool:
    """Return whether a word negates; ``don't`` is the words ``don`` and ``t``."""
    return word in NEGATIONS or (word in _NEGATED_VERBS and following == "t")


ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5}
"""Ranks: ``the second largest`` is number 2 in descending order."""

UNSUPPORTED = _words("only second third fourth fifth neither nor")
"""Operators that no expression has: a question with one is read without it, and the reading is not trusted."""

PREPOSITIONS = _words("of by in to from with at for on into")

NAMING = _words("named called")

MONEY = _words("dollar dollars euro euros pound pounds bucks quid")
"""Units of money."""

PRICES = ("price", "cost", "amount", "fee")
"""Nouns for a price."""

MEASURED = ("date", "day", "year", "month", "time", "amount", "number", "quantity", "price")
"""Nouns before the participle that a label has before them."""
NO_INITIALS = frozenset(("id", "no", "nr", "nm", "dt", "cd"))
"""Short labels that are no initials of two words."""
TRADING = _words("used booked bought sold ordered purchased requested chosen visited lent rented hired")
"""Verbs for what many nodes refer to, whatever they are called."""
MONEY_WORDS = _words("amount cost costs fee fees fine paid payment price spend total value donation")
"""Words of attributes that are amounts of money."""
TAKINGS = _words("revenue revenues income turnover takings earnings")
"""Nouns for what amounts of money add up to."""
PRICES_OF_ONE = _words("unit each per list purchase bought buying wage salary refund discount budget")
"""Words of prices that do not add up, and of amounts that are not taken."""
PAYING = _words(
    """
    spent spend spends spending paid pay pays paying earned earn earns made received owe owes owed owing raised raise
    collected collect donated donate gave give given contributed brought
    """
)
"""Verbs that are about an amount of money, whatever its attribute is called."""

COUNTED = _words("people inhabitants residents citizens")
"""Nouns that a number of inhabitants counts."""

OUTCOMES = _words("win wins won winning lose loses lost losing drew drawn beat beats beaten pass passed fail failed")
"""Verbs that select by outcome: ``games that the team won``."""

BIRTH = _words("birth born birthday birthdate dob")
"""Words of dates of birth."""
TAKING = _words("take takes took taken taking")
"""A verb that says little without its object: *take part, took charge*."""
LIGHT_VERBS = _words(
    "been came come done given gotten had held made occurred happened placed recorded registered taken"
)
"""Participles that add no condition: ``games that have been held``."""
CREATING = _words("made created painted drew drawn composed wrote written built produced designed sculpted authored")
"""Verbs of making: those who did it are the nearest people that a thing refers to."""
APPEARING = _words("released published issued launched established introduced")
"""Verbs of what appears for the first time."""
PLAIN_VERBS = _words(
    """
    accept add appear assign associate attract base be become begin belong bring call come concern connect contain cover
    create date deal deliver do end exist fall feature find get give go grow happen have hit hold host include involve
    keep lie link list live locate log make manage measure mention need occur offer open operate own place produce
    provide put receive record register relate remain represent reside run say see send serve set share show sit stand
    start stay take use want work write
    """
)
"""Verbs in the infinitive that often say no more than that things are related: ``come from``, ``belong to``."""

ENDS = {
    "from": frozenset(
        "from origin source start departure departing depart sender sent donor giver seller payer pickup".split()  # noqa: SIM905
    ),
    "to": frozenset(
        "to destination dest target end arrival arriving arrive recipient receiver payee buyer dropoff".split()  # noqa: SIM905
    ),
}
"""Words of columns and relations for what something comes from, and what it goes to, by the preposition."""

FREQUENT = ("common", "frequent", "frequently", "popular", "commonly")
"""Words after *most* for what there is most of."""

FOREMOST = _words("main primary principal chief")
"""Adjectives for the first among several, which is the only one where there is one."""

DWELLING = ("live", "lives", "living", "lived")
"""Forms of *live* as a verb; *live* is also an adjective."""

LOCATING = _words("at in is lies located on situated within")
"""Words of relations that say no more than where something is."""

PLACES = _words("address city country headquarters location place site state street town venue")
"""Nouns for a place."""

CLASSES = ("kind", "kinds", "type", "types", "sort", "sorts", "category", "categories")
"""Nouns before *of* that ask for classes: ``kinds of beds``."""

CONCEPTS: dict[str, tuple[str, ...]] = {
    "who": ("person", "people"),
    "whom": ("person", "people"),
    "whose": ("person", "people"),
    "size": ("area", "population", "length", "number"),
    **dict.fromkeys(COUNTED, ("population", "inhabitants")),
    "when": ("date", "year", "time"),
    "where": ("place", "location"),
    **dict.fromkeys(CLASSES, ("kind", "type", "sort", "category", "class", "genre")),
    **dict.fromkeys(
        _words("about describe describes described describing topic topics subject subjects theme themes words terms"),
        ("topic", "subject", "theme", "tag", "keyword"),
    ),
    **dict.fromkeys(
        _words("neighbour neighbours neighboring neighbouring neighbor neighbors adjoin adjoins adjoining"),
        ("border", "borders"),
    ),
}
"""What question words and words of classification ask for, as nouns."""

NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}

PASTS = _words(
    """
    ate became began bore broke brought came chose drew drove fell flew fought gave grew knew led rang rode rose ran
    sang sank saw shook spoke stole swam swore threw took tore went woke wore wrote
    """
)
"""Irregular verbs in the past, if it differs from the participle."""
PARTICIPLES = _words(
    "made built won held born written given taken sold bought led found paid known grown drawn sung spoken shown seen"
    " broadcast ridden driven eaten flown worn chosen stolen thrown sent kept spent lent taught caught bred fed lit"
    " laid"
)
"""Common participles that do not end in ``ed``."""

PLAIN_WORDS = _words(
    """
    how many number count different distinct unique total along well return display give state provide print both
    either each exist exists existing listed available present altogether whose all order sorted please together
    following corresponding respective respectively currently entire every details information where amount value
    values there kind kinds type types sort in if among amongst database dataset
    recorded stored still anything everything across yet
    """
)
"""Further words that need no explanation beside the clauses of a question."""

GENDERS = {
    **dict.fromkeys(("f", "female"), ("female", "women", "woman")),
    **dict.fromkeys(("m", "male"), ("male", "men", "man")),
}
"""What the values of a column that has both of them, and hardly others, are called."""

_CALENDAR = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
SHORT_DATES = {name[:size]: name for name in _CALENDAR for size in (3, 4) if len(name) > size}
"""The days and months that short values of a column that has several such are: Sat, Sept."""

NO = frozenset(["no", "n", "false", "none", "f"])
"""Values that say that something is absent."""
YES = frozenset(["yes", "y", "true", "t"])
"""Values that say that something is present, in a column that has no others but those for no."""

TOTALS = {
    **dict.fromkeys(("total", "combined", "sum", "altogether"), "sum"),
    **dict.fromkeys(("average", "mean"), "avg"),
}
"""Words that ask for one number for the attribute of many nodes."""

EXTREMES = {
    **dict.fromkeys(("minimum", "lowest", "smallest", "least", "min"), "min"),
    **dict.fromkeys(("maximum", "highest", "largest", "greatest", "max"), "max"),
}
"""Words that ask for the least or greatest value of an attribute."""

INTERROGATIVES = _words("how what when where which who whom whose")


class Adjective(NamedTuple):
    """The nouns that an adjective compares, in order of preference: more is greater (``sign`` 1) or less (-1).

    For ``dates`` the sign is reversed: the oldest has the earliest year.
    """

    sign: int
    nouns: tuple[str, ...]
    dates: bool = False


_SIZE = ("area", "size", "population", "length", "volume", "magnitude", "number", "amount")
ADJECTIVES = {
    **dict.fromkeys(("large", "big", "great", "huge"), Adjective(1, _SIZE)),
    **dict.fromkeys(("small", "little", "tiny"), Adjective(-1, _SIZE)),
    **dict.fromkeys(("high", "tall"), Adjective(1, ("height", "elevation", "altitude", "level"))),
    "low": Adjective(-1, ("height", "elevation", "altitude", "level")),
    "long": Adjective(1, ("length", "duration", "distance", "pages")),
    "short": Adjective(-1, ("length", "duration", "height")),
    "old": Adjective(1, ("age",), dates=True),
    "early": Adjective(-1, ("year", "date", "time")),
    "late": Adjective(1, ("year", "date", "time")),
    "recent": Adjective(1, ("year", "date", "time")),
    "recently": Adjective(1, ("year", "date", "time")),
    "new": Adjective(-1, ("age",), dates=True),
    "young": Adjective(-1, ("age",), dates=True),
    "heavy": Adjective(1, ("weight", "mass")),
    "light": Adjective(-1, ("weight", "mass")),
    "deep": Adjective(1, ("depth",)),
    "shallow": Adjective(-1, ("depth",)),
    **dict.fromkeys(("fast", "quick"), Adjective(1, ("speed",))),
    "slow": Adjective(-1, ("speed",)),
    "wide": Adjective(1, ("width", "breadth")),
    "narrow": Adjective(-1, ("width", "breadth")),
    "rich": Adjective(1, ("income", "wealth", "revenue", "gdp")),
    "poor": Adjective(-1, ("income", "wealth", "revenue", "gdp")),
    "hot": Adjective(1, ("temperature",)),
    "warm": Adjective(1, ("temperature",)),
    "cold": Adjective(-1, ("temperature",)),
    **dict.fromkeys(("expensive", "pricey", "costly", "dear"), Adjective(1, ("price", "cost", "budget", "rent"))),
    "cheap": Adjective(-1, ("price", "cost", "budget", "rent")),
    "valuable": Adjective(1, ("value", "worth", "price")),
    **dict.fromkeys(("far", "distant", "remote"), Adjective(1, ("distance",))),
    **dict.fromkeys(("near", "close"), Adjective(-1, ("distance",))),
    "strong": Adjective(1, ("strength", "power")),
    "weak": Adjective(-1, ("strength", "power")),
    "powerful": Adjective(1, ("power", "strength")),
    "thick": Adjective(1, ("thickness",)),
    "thin": Adjective(-1, ("thickness",)),
    "loud": Adjective(1, ("loudness", "volume", "noise")),
    "quiet": Adjective(-1, ("loudness", "volume", "noise")),
    "bright": Adjective(1, ("brightness", "magnitude")),
    "hard": Adjective(1, ("hardness", "difficulty")),
    "soft": Adjective(-1, ("hardness",)),
    "difficult": Adjective(1, ("difficulty",)),
    "steep": Adjective(1, ("gradient", "slope", "steepness")),
    "hilly": Adjective(1, ("ascent", "climb", "elevation")),
    "wet": Adjective(1, ("rainfall", "precipitation", "rain")),
    "dry": Adjective(-1, ("rainfall", "precipitation", "rain")),
    "windy": Adjective(1, ("wind",)),
    "humid": Adjective(1, ("humidity",)),
    "sweet": Adjective(1, ("sugar", "sweetness")),
    "bitter": Adjective(1, ("bitterness",)),
    "salty": Adjective(1, ("salt", "sodium", "salinity")),
    "profitable": Adjective(1, ("profit", "margin")),
    "experienced": Adjective(1, ("experience",)),
    "frequent": Adjective(1, ("frequency",)),
    "dangerous": Adjective(1, ("danger", "risk")),
    "busy": Adjective(1, ("traffic", "footfall", "visitors")),
    "populous": Adjective(1, ("population",)),
    "populated": Adjective(1, ("population",)),
    "dense": Adjective(1, ("density",)),
    "sparse": Adjective(-1, ("density",)),
    "popular": Adjective(1, ("popularity", "votes", "rating")),
    "good": Adjective(1, ("rating", "score", "quality")),
    "bad": Adjective(-1, ("rating", "score", "quality")),
    "northern": Adjective(1, ("latitude",)),
    "southern": Adjective(-1, ("latitude",)),
    "eastern": Adjective(1, ("longitude",)),
    "western": Adjective(-1, ("longitude",)),
}


TENURE = Adjective(-1, ("start", "hired", "joined", "since"))
"""What tells for how long somebody has been there: the least of a date."""

GOOD_MEASURES = _words(
    "accuracy attendance earnings efficiency fitness gpa goals grade grades gross income mark marks medals pay"
    " performance points popularity profit quality rating ratings revenue review reviews salary salaries satisfaction"
    " score scores stars victories votes wage wages win wins yield"
)
"""Words of measures of which more is better."""
RANKS = _words("place placing pos position rank ranking standing")
"""Words of numbers of which 1 is the best and comes first."""
BAD_MEASURES = _words(
    "accidents churn complaint complaints crime crimes damage deaths debt defect defects deficit delay delays dropout"
    " error errors failure failures fault faults fatalities injuries latency loss losses mortality penalties penalty"
    " place placing pollution position rank ranking turnover unemployment"
)
"""Words of measures of which less is better."""


def goodness(words: Iterable[str]) -> int:
    """Return 1 if more of the measure with these words is better, -1 if less is, 0 if that is not known."""
    said = {*words}
    return -1 if said & BAD_MEASURES else 1 if said & GOOD_MEASURES else 0


def _forms(ending: str) -> dict[str, Adjective]:
    forms = {}
    for word, adjective in ADJECTIVES.items():
        stem = word[:-1] if word.endswith("e") else word
        stem = f"{word.removesuffix('y').removesuffix('e')}i" if word.endswith("y") else stem
        forms[stem + ending] = forms[stem + stem[-1] + ending] = adjective
    return forms


SUPERLATIVES: dict[str, Adjective] = {
    **_forms("est"),
    "best": ADJECTIVES["good"],
    "worst": ADJECTIVES["bad"],
    "first": ADJECTIVES["early"],
    "last": ADJECTIVES["late"],
    "latest": ADJECTIVES["late"],
    "biggest": ADJECTIVES["big"],
    **dict.fromkeys(("farthest", "furthest"), ADJECTIVES["far"]),
    **{f"{side}most": ADJECTIVES[side] for side in ("northern", "southern", "eastern", "western")},
    "maximum": Adjective(1, ()),
    "minimum": Adjective(-1, ()),
    "most": Adjective(1, ()),
    "least": Adjective(-1, ()),
    "fewest": Adjective(-1, ()),
}
"""Superlatives; those without nouns compare what follows them (``most rivers``, ``least populous``)."""

COMPARATIVES: dict[str, Adjective] = {
    **_forms("er"),
    **{f"more {word}": adjective for word, adjective in ADJECTIVES.items()},
    **{f"less {word}": adjective._replace(sign=-adjective.sign) for word, adjective in ADJECTIVES.items()},
    **dict.fromkeys(("farther", "further", "further away", "farther away"), ADJECTIVES["far"]),
    "better": ADJECTIVES["good"],
    "worse": ADJECTIVES["bad"],
    "more": Adjective(1, ()),
    "over": Adjective(1, ()),
    "above": Adjective(1, ()),
    "exceeding": Adjective(1, ()),
    "exceeds": Adjective(1, ()),
    "less": Adjective(-1, ()),
    "fewer": Adjective(-1, ()),
    "under": Adjective(-1, ()),
    "below": Adjective(-1, ()),
    "after": Adjective(1, ("year", "date", "time")),
    "since": Adjective(1, ("year", "date", "time")),
    "before": Adjective(-1, ("year", "date", "time")),
    "until": Adjective(-1, ("year", "date", "time")),
}
"""Comparatives; with a number, they are a comparison of an attribute or of a number of neighbours."""
