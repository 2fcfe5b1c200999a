"""Read the clauses of a question: what it asks for, and the conditions, order and groups that it names.

Links stand in the text as signs (``<L0>`` a label, ``<V1>`` a value or node, ``<N2>`` a number), and rules rewrite the
text from the most specific phrase to the most general one: ``<L0> between <N1> and <N2>`` becomes a condition, ``<C0>``.
What no rule consumes is asked for, stands on the way between the two, or is not explained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kbkit.english.question_words import ADJECTIVES, COMPARATIVES, FUNCTION_WORDS, SUPERLATIVES, Adjective
from kbkit.english.words import PREPOSITIONS
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.links import Link
from kbkit.questions.question import Question

Total = Literal["count", "sum", "avg", "min", "max"]
_L, _V, _N = r"<L\d+>", r"<V\d+>", r"<N\d+>"
_OF = r"(?: of| for| in)?(?: all| each)?(?: the| their| its| his| her| this| these)?"
_THE = r"(?:(?:the|a|an|any|some|their|its|his|her|all|different|distinct|single) )*"
_BE = r"(?:(?:that|which|who|is|are|was|were|be|being|been|has|have|had|having|with|whose|of|equal|equals|to|exactly|a|an|value|named|called|it|they) )*"
_MORE = "more|greater|larger|bigger|higher"
_LESS = "less|fewer|smaller|lower"
_OPERATORS = (
    (rf"(?:no|not) (?:{_LESS}) than", ">="),
    (rf"(?:no|not) (?:{_MORE}) than", "<="),
    ("at least|minimum of|a minimum of", ">="),
    ("at most|maximum of|up to|a maximum of", "<="),
    (rf"(?:{_MORE}) than or equal to", ">="),
    (rf"(?:{_LESS}) than or equal to", "<="),
    (rf"(?:{_MORE})(?: in number)? than|over|above|exceeding|exceeds?|exceeded|in excess of|beyond", ">"),
    (rf"(?:{_LESS}) than|under|below", "<"),
    ("since|from", ">="),
    ("after|later than", ">"),
    ("before|earlier than|prior to", "<"),
    ("until", "<="),
)
_OP = "|".join(f"(?:{words})" for words, _ in _OPERATORS)
_ADJECTIVE = "|".join(sorted((word for word, one in COMPARATIVES.items() if one.nouns), key=len, reverse=True))
_SUPERLATIVE = "|".join(sorted(SUPERLATIVES, key=len, reverse=True))
_DIRECTION = (
    "ascending|descending|increasing|decreasing|reverse alphabetical|alphabetical|alphabetic|lexicographical|"
    "lexicographic|chronological|asc|desc"
)
_DESCENDING = ("descending", "decreasing", "reverse", "desc")
_AVERAGE = r"(?:the |an )?(?:overall )?(?:average|mean)"
_HAVE = (
    r"(?:(?:do|does|did|don|doesn|didn|has|have|had|hasn|haven|hadn|is|are|was|were|isn|aren|wasn|weren|that|which|who"
    r"|t) )*"
)
_WORD = r"(?:(?!<)\S+ ){0,3}?"


_TOTALS: dict[str, Total] = {
    **dict.fromkeys(("average", "mean", "avg"), "avg"),
    **dict.fromkeys(("total", "sum", "combined", "overall"), "sum"),
    **dict.fromkeys(("minimum", "lowest", "smallest", "least", "min"), "min"),
    **dict.fromkeys(("maximum", "highest", "largest", "greatest", "max"), "max"),
}
_TOTAL = "|".join(_TOTALS)


@dataclass(frozen=True)
class Restriction:
    """A condition: of an attribute that ``label`` or ``nouns`` names, or of how many nodes of the type ``label`` there
    are; ``operand`` is an aggregate (``avg``) of the attribute itself, or a node to compare with.
    """

    label: Link | None
    op: str
    values: tuple[Link, ...] = ()
    negated: bool = False
    adjective: Adjective | None = None
    operand: str = ""


@dataclass(frozen=True)
class Most:
    """A superlative: the ``count`` nodes with the greatest (``sign`` 1) or least of what ``label`` or ``nouns`` names.

    ``is_common``: the most frequent values of ``label`` are asked for.
    """

    label: Link | None
    adjective: Adjective
    count: int = 1
    is_common: bool = False
    is_number: bool = False


@dataclass(frozen=True)
class Target:
    """What is asked for: a label, or an aggregate of it. ``of`` is the type whose attribute it is, if the text says."""

    label: Link | None
    total: Total | Literal[""] = ""
    of: Link | None = None
    is_distinct: bool = False


@dataclass
class Clauses:
    """The clauses of a question. ``context`` are the labels that stand between what is asked for and the conditions."""

    targets: list[Target] = field(default_factory=list)
    context: list[Link] = field(default_factory=list)
    restrictions: list[Restriction] = field(default_factory=list)
    most: Most | None = None
    groups: list[Link] = field(default_factory=list)
    order: tuple[Link | None, bool] | None = None
    is_yes_no: bool = False
    is_either: bool = False
    nouns: set[str] = field(default_factory=set)
    """Words that follow an article, a preposition or an unexplained word, so that they are hardly verbs."""
    capitalized: set[str] = field(default_factory=set)
    """Words that begin with a capital inside the question, as names do."""
    asks_for: str = ""
    """The question word that asks for a person, place or time."""
    unexplained: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Phrases that no rule reads."""


class _Rewriter:
    """Rewrites the text of one question by the rules, and collects its clauses."""

    def __init__(self, question: Question, links: Sequence[Link]) -> None:
        self.links, self.clauses = links, Clauses()
        self.text = self._signed(question)

    def _signed(self, question: Question) -> str:
        """Return the words of the question in lower case, with a sign for each link."""
        starts = {link.first: (number, link) for number, link in enumerate(self.links)}
        words, at = [], 0
        while at < len(question.tokens):
            if at in starts:
                number, link = starts[at]
                letter = "N" if link.number else "V" if not link.labels else "L"
                words.append(f"<{letter}{number}>")
                at = link.last
            else:
                words.append(question.tokens[at].word)
                at += 1
        return " " + " ".join(words) + " "

    def link(self, sign: str | None) -> Link | None:
        """Return the link of a sign."""
        return None if not sign else self.links[int(sign[2:-1])]

    def linked(self, signs: str) -> tuple[Link, ...]:
        """Return the links of all signs in a phrase."""
        return tuple(self.links[int(number)] for number in re.findall(r"<[LVN](\d+)>", signs))

    def apply(self, pattern: str, use: Callable[[re.Match[str]], str | None]) -> None:
        """Replace each match of a pattern by what ``use`` returns; None leaves it as it is."""

        def replaced(match: re.Match[str]) -> str:
            result = use(match)
            return match[0] if result is None else f" {result} "

        self.text = re.sub(r"\s+", " ", re.sub(f"(?<=\\s){pattern}(?=\\s)", replaced, self.text))

    def restrict(self, restriction: Restriction) -> str:
        """Add a condition and return its sign."""
        self.clauses.restrictions.append(restriction)
        return f"<C{len(self.clauses.restrictions) - 1}>"

    def is_type(self, link: Link | None) -> bool:
        """Return whether a label is first of all a type."""
        return bool(link and link.labels and not link.labels[0].attribute)


def _operator(phrase: str) -> str:
    """Return the comparison operator that a phrase means."""
    phrase = phrase.strip()
    return next((op for words, op in _OPERATORS if re.fullmatch(words, phrase)), "=")


def read_clauses(question: Question, links: Sequence[Link]) -> Clauses:
    """Return the clauses of a question whose links are given."""
    at = _Rewriter(question, links)
    at.clauses.is_yes_no = bool(re.match(r" (?:is|are|was|were|does|do|did|has|have|can) ", at.text))
    for rule in (
        _orders, _averages, _ranges, _comparisons, _entities, _totals, _spread, _superlatives, _values, _equal_numbers, _absences,
        _counts, _groups,
    ):  # fmt: skip
        rule(at)
    _heads(at)
    if not question.text.isupper():
        inside = (token for token in question.tokens[1:] if question.text[token.start].isupper())
        at.clauses.capitalized.update(token.word for token in inside)
    return at.clauses


def _orders(at: _Rewriter) -> None:
    verb = r"(?:(?:and )?(?:sorted|ordered|arranged|ranked|listed|sort|order)(?: them| the results?| the list)?)"

    def use(match: re.Match[str]) -> str:
        found = match.groupdict()
        direction = next((value for name, value in found.items() if name.startswith("dir") and value), "")
        label = next((value for name, value in found.items() if name.startswith("by") and value), None)
        at.clauses.order = (at.link(label), any(word in direction for word in _DESCENDING))
        return ""

    inner = rf"(?: (?:of|by|on|according to)(?: the| their| its)?(?: total)? (?P<by>{_L}))"
    at.apply(rf"(?:{verb} )?(?:in )?(?:the )?(?:an? )?(?P<dir>{_DIRECTION})(?: alphabetical)?(?: order)?{inner}?", use)
    def spanned(match: re.Match[str]) -> str | None:
        at.clauses.order = (at.link(match["by"]), SUPERLATIVES[match["first"]].sign > 0)
        return ""

    at.apply(
        rf"{verb}? ?(?:from )(?:the )?(?P<first>{_SUPERLATIVE})(?: first)? to (?:the )?(?:{_SUPERLATIVE})(?: (?P<by>{_L}))?", spanned
    )
    inner = rf"(?:by|in order of|according to|in)(?: the| their| its)?(?: order of)? (?P<by>{_L})"
    at.apply(rf"{verb} {inner}(?:(?: in| from)?(?: the)? (?P<dir>{_DIRECTION})(?: order)?)?", use)


def _averages(at: _Rewriter) -> None:
    """``weight below the average``, ``older than the average age of all``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["after"] or match["before"])
        word = match["op"].removesuffix(" than").strip()
        adjective = COMPARATIVES.get(word) if word in COMPARATIVES and COMPARATIVES[word].nouns else None
        op = (">" if adjective.sign > 0 else "<") if adjective else _operator(match["op"])
        tail = ""
        if adjective is not None and at.is_type(label) and not match["after"]:
            label, tail = None, match["before"] or ""  # lakes deeper than the average
        if label is None and adjective is None:
            return None
        return f"{tail} {at.restrict(Restriction(label, op, (), False, adjective, 'avg'))}"

    op = rf"(?P<op>{_OP}|(?:{_ADJECTIVE}) than)"
    tail = rf"(?:{_OF} <L\d+>)?"
    at.apply(rf"(?:(?P<before>{_L}) )?{_BE}{op} (?:that of )?{_AVERAGE}(?: (?P<after>{_L}){tail})?", use)


def _ranges(at: _Rewriter) -> None:
    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["before"] or match["after"])
        pair = at.linked(match["low"]) + at.linked(match["high"])
        adjective = None if label else COMPARATIVES["after"]
        return at.restrict(Restriction(label, "between", pair, False, adjective))

    at.apply(
        rf"(?:(?P<before>{_L}) )?{_BE}(?:in the range )?(?:between|from) (?P<low>{_N}) (?:and|to) (?P<high>{_N})"
        rf"(?: (?P<after>{_L}))?",
        use,
    )

    def both(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        first = at.restrict(Restriction(label, _operator(match["one"]), at.linked(match["low"])))
        return f"{first} {at.restrict(Restriction(label, _operator(match['two']), at.linked(match['high'])))}"

    at.apply(rf"(?P<label>{_L}) {_BE}(?P<one>{_OP}) (?P<low>{_N}) (?:and|but) {_BE}(?P<two>{_OP}) (?P<high>{_N})", both)


def _comparisons(at: _Rewriter) -> None:
    def use(match: re.Match[str]) -> str | None:
        before, after = at.link(match["before"]), at.link(match["after"])
        word = match["op"].removesuffix(" than").strip()
        adjective = COMPARATIVES.get(word) if word in COMPARATIVES and COMPARATIVES[word].nouns else None
        op = _operator(match["op"])
        if adjective and op == "=":
            op = ">" if adjective.sign > 0 else "<"
        if match["or"]:
            op = ">=" if re.search("more|above|greater|higher|over|older|later|longer", match["or"]) else "<="
        label = after
        tail = ""
        if before is not None and (after is None or any(option.is_number for option in before.attributes())):
            label = before
            tail = match["after"] or ""
        elif before is not None:
            tail = match["before"]
        if label is None and adjective is None:
            if word not in ("over", "above", "under", "below", "at least", "at most", "from"):
                return None
            if word == "from":
                return None
        if adjective and label is not None and at.is_type(label):
            tail, label = match["before"] or "", label
            if match["before"]:
                label = None
        return f"{tail} {at.restrict(Restriction(label, op, at.linked(match['number']), False, adjective))}"

    number = rf"(?P<number>{_N})(?P<or> (?:or|and) (?:more|above|greater|higher|over|older|later|longer|less|fewer|below|lower|under|younger|earlier|shorter))?"
    of = rf"(?: (?:different |distinct |of the |of )*(?P<after>{_L}))?"
    at.apply(
        rf"(?:(?P<before>{_L}) )?{_BE}(?P<op>{_OP}|(?:{_ADJECTIVE}) than|(?:{_ADJECTIVE})) (?:the )?(?:year )?{number}{of}", use
    )

    def plain(match: re.Match[str]) -> str | None:
        op = ">=" if re.search("more|above|greater|higher|over|older|later|longer", match["or"]) else "<="
        label = at.link(match["after"] or match["before"])
        if label is None:
            return None
        return at.restrict(Restriction(label, op, at.linked(match["number"])))

    number = number.replace(")?", ")", 1) if False else number
    at.apply(
        rf"(?:(?P<before>{_L}) )?{_BE}(?P<number>{_N}) (?P<or>(?:or|and) (?:more|above|greater|higher|over|older|less|fewer|below|lower|under|younger))"
        rf"(?: (?P<after>{_L}))?",
        plain,
    )


def _entities(at: _Rewriter) -> None:
    """``larger than France``, ``more albums than Queen``."""

    def use(match: re.Match[str]) -> str | None:
        value = at.link(match["value"])
        if value is None or not value.nodes:
            return None
        word = match["op"]
        adjective = COMPARATIVES.get(word)
        if adjective is None:
            return None
        label = at.link(match["label"] or match["before"])
        tail = (match["before"] or "") if match["label"] else ""
        if adjective.nouns and at.is_type(label) and not match["label"]:
            label, tail = None, match["before"] or ""  # countries larger than France
        if label is None and not adjective.nouns:
            return None
        op = ">" if adjective.sign > 0 else "<"
        return f"{tail} {at.restrict(Restriction(label, op, (value,), False, adjective, 'node'))}"

    at.apply(
        rf"(?:(?P<before>{_L}) )?{_BE}(?P<op>{_ADJECTIVE}|more|less|fewer)(?: (?P<label>{_L}))? than (?:the )?"
        rf"(?:that of )?(?:<L\d+> )?(?P<value>{_V})",
        use,
    )


def _superlatives(at: _Rewriter) -> None:
    def ranked(match: re.Match[str]) -> str | None:
        number = at.link(match["number"])
        if number is None or at.is_type(at.link(match["by"])) or not at.is_type(at.link(match["type"])):
            return None
        sign = SUPERLATIVES.get(match["word"], Adjective(1, ())).sign
        at.clauses.most = Most(at.link(match["by"]), Adjective(sign, ()), max(1, int(float(number.number))))
        return f"{match['type']} <S0>"

    at.apply(
        rf"(?:the )?(?P<word>top|highest|best|largest|lowest|bottom) (?P<number>{_N}) (?P<type>{_L}) (?:by|in|in terms of|ranked by|according to) (?:the |their )?(?P<by>{_L})",
        ranked,
    )

    def use(match: re.Match[str]) -> str | None:
        if at.clauses.most is not None:
            at.clauses.unread.append("two superlatives")
            return None
        word, count = match["word"], 1
        number = at.link(match["top"] or match["few"])
        if number is not None:
            count = int(float(number.number))
        adjective = SUPERLATIVES[word]
        inner = (match["inner"] or "").strip()
        if inner in ADJECTIVES:
            adjective = ADJECTIVES[inner]._replace(sign=ADJECTIVES[inner].sign * adjective.sign)
        label = at.link(match["label"])
        is_common = inner in ("common", "frequent", "frequently", "popular", "commonly")
        is_number = bool(match["of"])
        if label is None and not adjective.nouns:
            return None
        at.clauses.most = Most(label, adjective, max(1, count), is_common, is_number)
        keeps = at.is_type(label) and (bool(adjective.nouns) or is_common) and not is_number
        return f"{match['label']} <S0>" if keeps or is_common else "<S0>"

    at.apply(
        rf"{_BE}(?:the )?(?:top (?P<top>{_N}) |(?P<few>{_N}) )?(?P<word>{_SUPERLATIVE})(?P<inner> (?:{'|'.join(ADJECTIVES)}|common|frequent|frequently|commonly))?"
        rf"(?P<of> (?:number|amount|count|total number)s?(?: of)?)?(?: (?:different|distinct|total))*(?: (?P<label>{_L}))?",
        use,
    )

    def after(match: re.Match[str]) -> str | None:
        if at.clauses.most is not None:
            return None
        at.clauses.most = Most(at.link(match["label"]), SUPERLATIVES[match["word"]])
        return "<S0>"

    at.apply(rf"{_BE}(?P<label>{_L}) (?:is )?(?:the )?(?P<word>most|least|highest|lowest|largest|smallest)", after)


_NO = r"(?:not|isn t|aren t|wasn t|weren t|other than|except|excluding|different from)"
_LACKS = rf"(?:{_NO} |(?:do|does|did|don|doesn|didn) (?:not|t) (?:have|use|include|contain|speak|play|own) (?:a |an |any |the )?)"
_VALUES = rf"(?P<value>{_V}(?:(?: or| nor| and| and the)+ {_V})*)"
_NUMBERS = rf"(?P<value>{_N}(?: (?:or|and) {_N})*)"


def _values(at: _Rewriter) -> None:
    """Values and names: ``whose citizenship is France``, ``French singers``, ``not built by Ford``."""

    def restricted(label: Link | None, match: re.Match[str], *, negated: bool = False) -> str:
        values = at.linked(match["value"])
        op = "all" if " and " in match["value"] else "in" if len(values) > 1 else "="
        return at.restrict(Restriction(label, op, values, negated))

    def owns(label: Link | None, match: re.Match[str]) -> bool:
        """Return whether a label names an attribute that has the value."""
        if label is None or not label.attributes():
            return False
        stems = {stem(word) for word in label.text.casefold().split()}
        values = at.linked(match["value"])[0].values
        return any(stems <= {*map(stem, label_words(value.attribute))} for value in values)  # a king bed: bed_type

    def contained(match: re.Match[str]) -> str:
        return at.restrict(Restriction(at.link(match["label"]), "contains", at.linked(match["value"])))

    def labelled(match: re.Match[str]) -> str | None:
        before, after, negated = at.link(match["label"]), at.link(match["after"]), bool(match["not"])
        if match["preposition"] and not owns(before, match):  # its headquarters in Paris, but not cities in France
            return None
        if owns(after, match):  # rooms with a modern decor
            return f"{match['label']} {restricted(after, match, negated=negated)}"
        sign = restricted(before, match, negated=negated)
        is_context = at.is_type(before) and not at.linked(match["value"])[0].nodes
        return f"{match['label'] if is_context else ''} {sign} {match['after'] or ''}"

    def named(match: re.Match[str]) -> str:
        label = at.link(match["after"])
        is_own = owns(label, match)  # a modern decor, but modern rooms
        sign = restricted(label if is_own else None, match, negated=bool(match["not"]))
        return sign if is_own else f"{sign} {match['after'] or ''}"

    word = r"(?:contain\w*|includ\w*|substring|(?:the )?(?:word|phrase|string|text)s?)"
    most = r"(?:(?!<)\S+ ){0,4}?"
    at.apply(rf"(?P<label>{_L}) {most}{word} (?:the |a |word |substring |phrase )*(?P<value>{_V})", contained)
    after = rf"(?: (?P<after>{_L}))?"
    either = "(?:either |both |the )*"
    at.apply(
        rf"(?P<label>{_L}) (?:either )?{_BE}(?P<not>{_LACKS})?{_BE}(?P<preposition>(?:in|at|from|by|on|as|for) (?:the )?)?"
        rf"{either}{_VALUES}{after}",
        labelled,
    )
    by = r"(?: (?!<)\w+){0,2} (?:by|in|from|at|on|of|to|for)(?: the| a)?"
    at.apply(
        rf"(?:not|isn t|aren t|wasn t|weren t|never){by} {_VALUES}", lambda match: restricted(None, match, negated=True)
    )
    at.apply(rf"(?P<not>{_LACKS})?{_BE}{_VALUES}{after}", named)


def _equal_numbers(at: _Rewriter) -> None:
    """``4 cylinders``, ``born in 1948 or 1949``."""

    def restricted(label: Link | None, match: re.Match[str], adjective: Adjective | None = None) -> str:
        values = at.linked(match["value"])
        op = "in" if len(values) > 1 else "="
        return at.restrict(Restriction(label, op, values, bool(match["not"]), adjective))

    def labelled(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        return None if at.is_type(label) else restricted(label, match)

    def dated(match: re.Match[str]) -> str | None:
        values = at.linked(match["value"])
        if not all(re.fullmatch("1[0-9]{3}|20[0-9]{2}", value.number) for value in values):
            return None
        return restricted(None, match, COMPARATIVES["after"])

    no = rf"(?P<not>{_NO} )?"
    at.apply(rf"(?P<label>{_L}) {_BE}{no}(?:either |equal to |exactly |in |on )*{_NUMBERS}(?! <L)", labelled)
    at.apply(rf"(?P<not>not )?(?:with |has |have |having |had |exactly )*{_NUMBERS} (?P<label>{_L})", labelled)
    at.apply(
        rf"(?P<not>not )?(?:either )?(?:in|on|during|of) (?:the )?(?:year )?(?:of )?(?:either )?{_NUMBERS}", dated
    )


def _absences(at: _Rewriter) -> None:
    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if not at.is_type(label):
            return None
        return at.restrict(Restriction(label, "none"))

    at.apply(
        rf"(?:with(?: \w+)? no|without(?: any| a)?|(?:has|have|having|had) no|(?:(?:that|which|who) )?(?:do|does|did|don|doesn|didn|has|have|had|hasn|"
        rf"haven|is|are|was|were|isn|aren|wasn|weren)(?: (?:not|t))(?: (?!<)\w+){{0,3}}(?: any| a| an| in any)?(?: single)?|never (?:\w+ )?(?:any|a)|no|not a single|not in any) (?P<label>{_L})",
        use,
    )


def _totals(at: _Rewriter) -> None:
    """``average weight``, ``maximum and minimum age``, but not ``the car with the maximum weight``."""

    def use(match: re.Match[str]) -> str | None:
        label = at.link(match["label"])
        if label is None or not label.attributes():
            return None
        signs = []
        for word in re.findall(_TOTAL, match["words"]):
            at.clauses.targets.append(Target(label, _TOTALS[word]))
            signs.append(f"<T{len(at.clauses.targets) - 1}>")
        return " ".join(signs)

    at.apply(
        rf"(?<!with )(?<!with the )(?<!has )(?<!has the )(?<!have )(?<!have the )(?<!had the )(?<!whose )(?<!most )(?<!their )"
        rf"(?:the |an )?(?P<words>(?:{_TOTAL})(?:(?: and| the)* (?:{_TOTAL}))*)(?: of| number| amount| the| values?| all| possible)*"
        rf" (?P<label>{_L})",
        use,
    )


def _counts(at: _Rewriter) -> None:
    def use(match: re.Match[str]) -> str | None:
        at.clauses.targets.append(Target(at.link(match["label"]), "count", None, bool(match["distinct"])))
        return f"<T{len(at.clauses.targets) - 1}>"

    phrase = r"(?:how many|(?:the )?(?:total )?(?:numbers?|counts?) of|count(?: the)?(?: number of)?)"
    at.apply(
        rf"{phrase} (?:(?:all|of|the|total|times|in|more) )*"
        rf"(?P<distinct>(?:different |distinct |unique |kinds of |types of )*)(?P<label>{_L})",
        use,
    )


def _spread(at: _Rewriter) -> None:
    """``for different numbers of cylinders``, before they are read as a count."""

    def use(match: re.Match[str]) -> str | None:
        at.clauses.groups.append(at.links[int(match["label"][2:-1])])
        return " <G0> "

    if any(target.total for target in at.clauses.targets):
        at.apply(rf"(?:for|by|per)(?: all)?(?: the)? (?:each|every|different)(?: different)? (?:numbers?|values?|kinds?|types?) of (?P<label>{_L})", use)


def _groups(at: _Rewriter) -> None:
    def use(match: re.Match[str]) -> str | None:
        at.clauses.groups.extend(at.linked(match["labels"]))
        return " <G0> "

    several = rf"(?P<labels>{_L}(?: and(?: each| the)? {_L})?)"
    at.apply(rf"(?:for|of|by|in|from|per|with|at|to|on|does|do|did|has|have|and)? ?(?:each|every|per)(?: of)?(?: the)?(?: different)? {several}", use)
    if at.clauses.groups or any(target.total == "count" for target in at.clauses.targets):
        at.apply(rf"(?:in|for|of|by|from) each(?: <N\d+>| of them)?", lambda _: "")
    if any(target.total for target in at.clauses.targets):
        at.apply(rf"(?:grouped by|group by|(?<!ed )(?<!en )(?<!made )(?<!built )(?<!led )by|for(?: all)?(?: the)?(?: different)|across)(?: the| different)* {several}", use)


_MARKED = re.compile(
    r"average|mean|total|sum|maximum|minimum|max|min|most|least|more|less|fewer|than|larger|smaller|higher|lower|"
    r"greater|twice|double|half|percent|percentage|ratio|difference|share|increase|between|before|after|not|no|never|without|only|every|except|nor|neither|"
    + "|".join(sorted(SUPERLATIVES, key=len, reverse=True))
)


def _heads(at: _Rewriter) -> None:
    """Take what is left: labels that are asked for, labels on the way, and words that nothing explains."""
    clauses, text = at.clauses, at.text
    asks = re.search(r" (where|when|who|whom|whose) ", text)
    clauses.asks_for = asks[1] if asks else ""
    clauses.is_either = " or " in text and len(clauses.restrictions) > 1
    owners: dict[str, Link | None] = {}
    several = rf"(?P<labels>{_L}(?:(?: and| the| their| its)* {_L})*) (?:of|for) (?:(?:the|all|each|every|any|those|these|different) )*(?P<type>{_L})"
    for match in re.finditer(several, text):
        if at.is_type(at.link(match["type"])):
            owners.update(dict.fromkeys(re.findall(_L, match["labels"]), at.link(match["type"])))
    asked = re.search(rf" (?:which|what)(?: (?:is|are|was|were))?(?: (?:the|different|distinct|kind of|type of))* (?P<type>{_L})", text)
    parts = text.split()
    for part in parts:
        if not part.startswith("<L"):
            continue
        link = at.link(part)
        assert link is not None
        if not at.is_type(link):
            clauses.targets.append(Target(link, "", owners.get(part)))
        elif asked and asked["type"] == part:
            clauses.context.insert(0, link)
        else:
            clauses.context.append(link)
    if not clauses.targets and re.search(rf"{_L} and (?:the |all )*{_L}", text) and len(clauses.context) > 1:
        clauses.unread.append("two kinds of nodes")
    few = re.search(rf" (?:the )?(?P<number>{_N}) (?P<type>{_L}) ", text)
    if few and clauses.most is not None and clauses.most.count == 1 and at.is_type(at.link(few["type"])):
        number = at.link(few["number"])
        assert number is not None
        clauses.most = replace(clauses.most, count=max(1, int(float(number.number))))
        parts.remove(few["number"])
    totals = [target for target in clauses.targets if target.total == "count"]
    if " in total " in text and totals and totals[0].label and not at.is_type(totals[0].label):
        clauses.targets[clauses.targets.index(totals[0])] = replace(totals[0], total="sum")
    if " how many " in text or " number of " in text:
        clauses.unread.append("what is counted")
    before = ""
    for part in parts:
        if before and (before in PREPOSITIONS or before in ("the", "a", "an", "of") or before in clauses.unexplained):
            clauses.nouns.add(part)
        before = part
        if part.startswith(("<N", "<V")):
            clauses.unread.append(f"'{at.links[int(part[2:-1])].text}'")
        elif not part.startswith("<"):
            if part == "total" and " in total " in text:
                continue
            if _MARKED.fullmatch(part) and not (part in ("not", "no") and " or not " in text):
                clauses.unread.append(f"'{part}'")
            elif part not in FUNCTION_WORDS and part not in _PLAIN:
                clauses.unexplained.append(part)


_PLAIN = frozenset(
    """
    how many number count different distinct unique total along well return display give state provide print both
    either each exist exists existing listed available present altogether whose all order sorted please together
    following corresponding respective respectively currently entire every details information where amount value
    values there kind kinds type types sort in or if
    """.split()
)
"""Words that no clause needs."""
