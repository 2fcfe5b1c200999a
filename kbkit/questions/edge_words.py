"""Words of a question about the attributes of edges: *more than 20 hours*, *with role editor*, *the most prize money*.

A question that such words are cut from is read by itself, and its expression gets the condition or the superlative:
*employees who worked more than 20 hours on ProductX* is *employees who worked on ProductX*, by edges of so many hours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import Condition, Expression, Nodes, subtrees
from kbkit.english.attributes import words_of_name
from kbkit.english.question_words import FUNCTION_WORDS, ORDINALS, SUPERLATIVES, TOTALS
from kbkit.questions.condition_rules import comparison
from kbkit.questions.expressions import compared_number
from kbkit.questions.lexicon import label_words, stem
from kbkit.questions.link_words import link_number
from kbkit.questions.state_links import ENDS
from kbkit.schema import Attribute, Relation, Schema, quote
from kbkit.stores import Stores

_MAX_VALUES = 200
"""Limit on the distinct values of a text attribute that are looked for."""
_LEAST = 4
"""Minimum number of letters of a value that occurs without the name of its attribute."""
_SPACE = r"\s+"
_LEAD = (
    r"(?:\b(?:with|having|has|have|had|whose|where|who|that|which|got|gets?|scored|received|at|for|in|of|a|an|the|"
    r"their|its|whom)\s+)*"
)
_HOLDS = r"(?:\b(?:with|having|has|have|had|as|who|that|which|were|was|is|are|a|an|the)\s+)*"
_OP = (
    r"(?:no )?(?:more|greater|higher|larger|bigger|longer|less|fewer|lower|smaller|shorter) than|over|above|under|"
    r"below|exceeding|at least|at most|up to|exactly"
)
_NUMBER = r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?P<or>\s+or\s+(?:more|less|above|below|higher|lower|fewer))?"
_BE = r"(?:(?:is|was|are|were|of|being|equals?)\s+)*"
_GETS = (
    r"(?:\b(?:with|that|who|which|has|have|had|having|won|wins?|earned|earns?|got|gets?|received|makes?|made|worked|"
    r"works?|paid|pays?|owes?|owed|spent|incurred|collected|(?:run|ran|racked|built|piled) up)\s+)*"
)
_BEST = "most|least|fewest|highest|largest|greatest|biggest|lowest|smallest"
_LAST_VERB = re.compile(
    r"\s(?P<who>(?:who|that|which)\s+(?:(?:has|have|had|were|was|are|is)\s+)*)?(?P<verb>\w+)\W*$", re.I
)
_PLACES = ("rank", "place", "position", "placing", "standing")
_FINISHED = r"(?:came|finished|placed|ranked|ended up)(?:\s+in)?"
_ORDINALS = {"first": 1, **ORDINALS}
_ALL = r"(?P<all>\s+(?:in total|overall|altogether|in all|combined))?"
_ASKS = r"(?:(?:what|is|are|was|were|s|the|show|give|me|list|find|calculate)[\s']+)*"
_FEW = re.compile(r"(?P<asks>(?:which|what|name|list|show)\s+(?:the\s+)?)(?P<few>\w+)\s+", re.I)
_SUMMED = ("most", "least", "fewest")
_NOW = ("current", "currently", "now")
_PRESENT = rf"\b(?:{'|'.join(_NOW)})\b"
"""Words for edges that have not ended."""


@dataclass(frozen=True)
class EdgeWords:
    """Words about an attribute of a relation's edges: the ``rest`` of the question, and what they say.

    It is a ``condition`` on the edges or, with ``total`` (sum, avg, min or max), a superlative of what each node's
    edges add up to: ``sign`` is 1 for the greatest, and ``number`` how many nodes are asked for.
    """

    rest: str
    words: str
    relation: Relation
    attribute: Attribute
    condition: Condition | None = None
    total: str = ""
    sign: int = 1
    number: int = 1
    is_sum: bool = False
    """Whether the sum over the edges of all nodes of ``rest`` is asked for, or with ``is_grouped``, of each of them."""
    is_grouped: bool = False


def unread_of_edges(schema: Schema, tree: Expression, words: Collection[str]) -> list[str]:
    """Return the words for attributes of the edges that an expression follows, of which it says nothing:
    *corresponding authors*, where authors of papers are corresponding or not.

    Words of its relations, of its types and of their attributes say something else.
    """
    parts = {part for part in subtrees(tree) if isinstance(part, str)}
    kinds = {part.type for part in subtrees(tree) if isinstance(part, Nodes)}
    followed = [relation for relation in schema.relations if relation.name in parts and relation.attributes]
    own = [a.label or a.name for one in schema.primary_types if one.name in kinds for a in one.attributes]
    known = {stem(word) for text in (*parts, *kinds, *own) if text for word in label_words(text)}
    found: set[str] = set()
    for attribute in (attribute for relation in followed for attribute in relation.attributes):
        label = {stem(word) for word in label_words(attribute.label or attribute.name) if word not in FUNCTION_WORDS}
        if attribute.name not in parts and known.isdisjoint(label) and label <= {*map(stem, words)}:
            found |= label
        if attribute.name not in parts and _is_end(attribute):
            found |= {stem(word) for word in words if word in _NOW}  # their coach now: none of the past
    return [word for word in words if stem(word) in found]


def _is_end(attribute: Attribute) -> bool:
    """Return whether an attribute tells when an edge ended: those of the present have none."""
    is_time = attribute.type.startswith(("DATE", "TIMESTAMP")) or is_number(attribute.type)
    return is_time and bool(ENDS & {*map(stem, label_words(attribute.name))})


class EdgeAttributes:
    """The attributes of edges of a KB, looked up in questions."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        known = [(r, a) for r in stores.schema.relations for a in r.attributes]
        self._patterns = [(r, a, _label(a)) for r, a in known]

    def of(self, text: str) -> Iterator[EdgeWords]:
        """Yield what words of a question say about attributes of edges."""
        yield from map(_without_verb, self._found(text))

    def _found(self, text: str) -> Iterator[EdgeWords]:
        for relation, attribute, label in self._patterns:
            if _is_end(attribute):
                for match in re.finditer(_PRESENT, text, re.I):
                    condition = Condition(attribute.name, "missing", ())
                    yield EdgeWords(_without(text, match), match[0].strip(), relation, attribute, condition)
            if is_number(attribute.type):
                if re.search(label, text, re.I):
                    yield from _numbers(text, relation, attribute, label)
            elif attribute.type == "VARCHAR":
                yield from self._values(text, relation, attribute, label)

    def _values(self, text: str, relation: Relation, attribute: Attribute, label: str) -> Iterator[EdgeWords]:
        folded = text.casefold()
        for value in self._texts.get((relation.name, attribute.name), ()):
            if not all(word in folded for word in value.casefold().split()):  # compiling patterns takes longer
                continue
            said = rf"['\"]?\b{_SPACE.join(map(re.escape, value.split()))}\b['\"]?"
            condition = Condition(attribute.name, "=", (value,))
            alone = rf"|{_HOLDS}{said}" if len(value) >= _LEAST else ""
            after = r"(?P<after>\s+(?:after|following|during|from))?"
            pattern = rf"(?:{_LEAD}{label}\s+{_BE}{said}|{_HOLDS}{said}\s+{label}{alone}){after}"
            for match in re.finditer(pattern, text, re.I):  # complications after an operation: with an operation
                rest = _without(text, match, " with " if match["after"] else " ")
                yield EdgeWords(rest, match[0].strip(), relation, attribute, condition)

    @cached_property
    def _texts(self) -> dict[tuple[str, str], list[str]]:
        """The distinct values of text attributes with few of them, by relation and attribute."""
        found = {}
        for relation, attribute, _ in self._patterns:
            if attribute.type == "VARCHAR":
                column, table = quote(attribute.name), quote(relation.table)
                sql = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT {_MAX_VALUES + 1}"
                values = [value for (value,) in self._stores.tables.rows(sql)]
                if len(values) <= _MAX_VALUES:
                    found[relation.name, attribute.name] = sorted(filter(str.strip, values), key=lambda v: (-len(v), v))
        return found


def _label(attribute: Attribute) -> str:
    """Return a pattern of the words for an attribute, in the plural too."""
    unit = words_of_name(attribute.name)
    names = {" ".join(label_words(text)) for text in (attribute.name, attribute.label or attribute.name, unit.noun)}
    words = (r"[\s_-]+".join(map(re.escape, name.split())) for name in sorted(names, key=len, reverse=True))
    return rf"\b(?:{'|'.join(words)})s?\b"


def _without_verb(said: EdgeWords) -> EdgeWords:
    """Drop a verb that the relation has, if nothing follows it any more: *employees who worked*."""
    match = _LAST_VERB.search(said.rest)
    stems = {stem(word) for word in label_words(said.relation.label or said.relation.name)}
    verb = match["verb"].casefold() if match else ""
    if match is None or stem(verb) not in stems or not (match["who"] or verb.endswith(("ed", "ing"))):
        return said  # not: which procedures
    return replace(said, rest=said.rest[: match.start()].rstrip())


def _without(text: str, match: re.Match[str], kept: str = " ") -> str:
    return " ".join(f"{text[: match.start()].rstrip(' ,')}{kept}{text[match.end() :]}".split())


def _numbers(text: str, relation: Relation, attribute: Attribute, label: str) -> Iterator[EdgeWords]:
    compared = rf"(?:(?P<op>{_OP})\s+)?{_NUMBER}"
    for pattern in (rf"{_LEAD}{label}\s+{_BE}{compared}", rf"{_LEAD}{compared}\s+{label}"):
        for match in re.finditer(pattern, text, re.I):
            condition = _condition(match, attribute)
            yield EdgeWords(_without(text, match), match[0].strip(), relation, attribute, condition)
    if label_words(attribute.name)[-1] in _PLACES:
        for match in re.finditer(rf"\b{_FINISHED}\s+(?P<place>{'|'.join(_ORDINALS)})\b", text, re.I):
            condition = Condition(attribute.name, "=", (_ORDINALS[match["place"].casefold()],))
            yield EdgeWords(_without(text, match), match[0], relation, attribute, condition)
    money = r"(?:\s+(?:money|amounts?))?(?:\s+\w+ed)?"
    total = r"(?:(?P<total>total|overall|combined|average|mean)\s+)?"
    amount = r"(?:(?:money\s+)?(?:in|on)\s+)?"
    best = rf"{_GETS}(?:the\s+)?\b(?P<best>{_BEST})\s+{amount}{total}{label}{money}{_ALL}"
    for match in re.finditer(best, text, re.I):
        sign = SUPERLATIVES[match["best"].casefold()].sign
        total = "sum" if match["all"] or match["best"].casefold() in _SUMMED else "max" if sign > 0 else "min"
        if match["total"]:
            total = TOTALS.get(match["total"].casefold(), "sum")
        few = _FEW.match(text)
        number = link_number([few["few"].casefold()], few["few"]) if few else ""
        rest = _without(text, match)
        if few and number.isdigit() and few.end() <= match.start():  # which three teams had the highest scores
            rest = f"{few['asks']}{rest[few.end() :]}"
        else:
            number = "1"
        yield EdgeWords(rest, match[0].strip(), relation, attribute, None, total, sign, int(number))
    group = r"(?P<by>by|per|(?:for|in|of|from|at|to)\s+(?:each|every))(?:\s+(?:each|every|the|different))*"
    amounts = rf"(?:{_ASKS})?(?:total|sum|combined|overall)(?:\s+(?:of|the|all|amount|sum))*\s+{label}"
    items = r"(?:(?:of|for)\s+(?:the\s+|all\s+)*\w+\s+)?"
    for match in re.finditer(rf"^{amounts}\s+(?:{items}{group}|(?:of|for|from|at|by))\s+(?P<nodes>.+)", text, re.I):
        rest = f"each {match['nodes']}" if match["by"] else match["nodes"]
        yield EdgeWords(rest, match[0], relation, attribute, None, "sum", is_sum=True, is_grouped=bool(match["by"]))
    by = rf"\s+by\s+(?:total\s+)?{label}(?:\s+(?:\w+ed|sold|won))?(?=\W*$)"
    ranked = rf"\b(?P<word>top|bottom)\s+(?P<number>\d{{1,9}})\s+(?P<nodes>[^,]+?){by}"
    for match in re.finditer(ranked, text, re.I):
        sign = 1 if match["word"].casefold() == "top" else -1
        rest = f"{text[: match.start()]} the {match['nodes']}"
        yield EdgeWords(" ".join(rest.split()), match[0], relation, attribute, None, "sum", sign, int(match["number"]))


def _condition(match: re.Match[str], attribute: Attribute) -> Condition:
    number = match["number"].replace(",", "")
    said = (match["op"] or "").casefold()
    op = comparison(said.removeprefix("no ")) if said else "="
    if said.startswith("no "):
        op = {">": "<=", "<": ">="}[op]
    if match["or"]:
        op = ">=" if match["or"].split()[-1].casefold() in ("more", "above", "higher") else "<="
    op, constant = compared_number(attribute.type, op, number)
    return Condition(attribute.name, op, (constant,))
