"""Conditions by relations between nodes of one type that a verb says: *papers that X cites*, *cited by no other*.

The verb says who acts, and so does the label of the relation (see :mod:`kbkit.questions.directions`); if one of them
does not, there is no condition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from kbkit.answers.syntax import Comparison, Expression, Nodes
from kbkit.english.question_words import SUPERLATIVES
from kbkit.english.words import may_be_verb
from kbkit.questions.acts import Act
from kbkit.questions.attribute_tests import ConditionPart
from kbkit.questions.clauses import AskedTarget, L, Most, Restriction, Rewriter, V
from kbkit.questions.condition_rules import COMPARED, comparison
from kbkit.questions.directions import ACTIVE, voice
from kbkit.questions.expressions import whole_number
from kbkit.questions.link_words import is_participle
from kbkit.questions.pair_rules import PairTests

_BE = "is|are|was|were|be|been|being|get|gets|got"
_HAVE = "(?:(?:has|have|had|also|ever|already|been|being|is|are|was|were|get|gets|got) )*"
_THE = "(?:(?:the|a|an|on|upon|to|from|in|for|with|under) )*"
_TO = "(?: (?:by|on|upon|to|from|with))?"
_WHO, _WHOM = "(?:(?P<who>that|which|who) )?", "(?:(?:that|which|who|whom) )?"
_NOT = r"(?:(?:is|are|was|were|has|have|had|do|does|did|don|doesn|didn|hasn|haven|hadn|isn|aren|wasn|weren) )"
_NO_ONE = "nobody|no one|none|nothing"
_ANY = "any|a|an|another|other|others|single|of|our|the|their|these|else|anyone|anybody|anything"
_END = r"(?= (?:$|<C|(?:and|or|but|that|which|who|whose|with|without|in|at|on|from|since|before|after|by|about) ))"
_NONE = Act(-1, -1, -1, False)


@dataclass(frozen=True)
class ActRestriction(Restriction):
    """A condition that a relation of one type holds: with the named ``values``, with any, or with a number of nodes.

    ``act`` is the relation, ``is_agent`` tells whether the nodes that are meant act, not those beside them.
    """

    act: Act = _NONE
    is_agent: bool = False
    inner: ActRestriction | None = None
    """A condition on the nodes beside them."""


class _Rules:
    """Reads the conditions of one question."""

    def __init__(self, at: Rewriter, known: Mapping[str, Act]) -> None:
        self.at, self.known = at, known

    def _named(self, match: re.Match[str], *, is_agent: bool) -> str | None:
        """Add the condition that the relation holds with the value of a match; return its sign, or None."""
        act, value = self._verb(match["verb"]), self.at.link(match["value"])
        if act is None or value is None or value.number or act.kind not in value.node_types:
            return None
        return self._restrict(act, ActRestriction(None, "=", (value,), act=act, is_agent=is_agent))

    def _restrict(self, act: Act, restriction: ActRestriction) -> str:
        self._asked(act)
        return self.at.restrict(restriction)

    def _asked(self, act: Act) -> None:
        """Note that *who owns the bank* asks for companies, if only companies own."""
        clauses = self.at.clauses
        if clauses.is_who and not act.are_people:
            clauses.is_who, clauses.is_named = False, True

    def _verb(self, word: str) -> Act | None:
        act = self.known.get(word)
        return act if act is not None and not act.noun else None

    def _act(self, match: re.Match[str]) -> Act | None:
        """Return the relation that the verb of a match says, unless the type beside it is another one."""
        act, other = self._verb(match["verb"]), self.at.link(match["type"])
        is_other = act is not None and other is not None and {one.type for one in other.types()[:1]} != {act.kind}
        return None if is_other else act

    def _any(self, match: re.Match[str], *, is_agent: bool) -> str | None:
        """Add the condition that the relation holds with no node."""
        act = self._act(match)
        if act is None:
            return None
        return self._restrict(act, ActRestriction(None, "=", (), True, act=act, is_agent=is_agent))

    def names(self) -> None:
        """``papers that X cites``, ``cited by X``, ``that cite X``."""
        is_pair = self.at.clauses.is_yes_no and len(re.findall(V, self.at.text)) > 1  # does X cite Y

        def before(match: re.Match[str]) -> str | None:
            return None if is_participle(match["verb"]) and match["be"] else self._named(match, is_agent=False)

        def by(match: re.Match[str]) -> str | None:
            return self._named(match, is_agent=False) if is_participle(match["verb"]) else None

        def by_whom(match: re.Match[str]) -> str | None:
            return self._named(match, is_agent=True) if is_participle(match["verb"]) else None

        def after(match: re.Match[str]) -> str | None:
            words, place = match.string.split(), match.string[: match.start("verb")].count(" ") - 1
            is_active = voice(words, place) == ACTIVE and not re.search(rf"{V} $", match.string[: match.start()])
            return self._named(match, is_agent=True) if is_active else None

        verb, value = "(?P<verb>[a-z]+)", f"(?P<value>{V})"
        for pattern, use in (
            (rf"(?:{_BE}) {value} {_HAVE}{verb} by(?= $)", by_whom),
            (rf"(?:(?P<be>{_BE}) )?{value} (?:(?:has|have|had|also|ever) )*{verb}{_END}", before),
            (rf"{verb} by (?:the )?{value}", by),
            (rf"{verb} {_THE}{value}(?! <L)", after),
        ):
            if not is_pair:
                self.at.apply(pattern, use)

    def nouns(self) -> None:
        """``the students of X``, ``X's supervisor``, ``without dependencies``, ``the most students``."""

        def of(match: re.Match[str]) -> str | None:
            act, value = self._noun(match), self.at.link(match["value"])
            if act is None or value is None or act.kind not in value.node_types:
                return None
            found = ActRestriction(None, "=", (value,), act=act, is_agent=act.noun > 0)
            if act.is_twice:
                found = ActRestriction(None, "=", act=act, is_agent=act.noun > 0, inner=found)
            return self._restrict(act, found)

        def lacking(match: re.Match[str]) -> str | None:
            act = self._noun(match)
            found = act and ActRestriction(None, "=", (), negated=True, act=act, is_agent=act.noun < 0)
            return self._restrict(act, found) if act and found and not act.is_twice else None

        def counted(match: re.Match[str]) -> str | None:
            act = self._noun(match)
            return None if act is None else self._counted(match, act, is_agent=act.noun < 0)

        def most(match: re.Match[str]) -> str | None:
            act = self._noun(match)
            return None if act is None else self._most(match, act, is_agent=act.noun < 0)

        def how_many(match: re.Match[str]) -> str | None:
            if (sign := of(match)) is not None:
                self.at.clauses.targets.append(AskedTarget(None, "count"))
            return sign

        def whose(match: re.Match[str]) -> str | None:
            act, value = self.known.get(match["noun"]), self.at.link(match["value"])
            if act is None or value is None or act.is_twice or act.kind not in value.node_types:
                return None
            self.at.clauses.is_who = True
            return f"who {self._restrict(act, ActRestriction(None, '=', (value,), act=act, is_agent=act.noun < 0))}"

        noun, value = "(?P<noun>[a-z]+)", f"(?:the )?(?P<value>{V})"
        self.at.apply(rf"whose (?:line )?{noun} (?:is|was) {value}(?= $)", whose)
        have = f"{_WHO}(?:has|have|had|having|with)"
        has = "(?:does|do|did|has|have)"
        self.at.apply(rf"how many {noun} {has} {value}(?: have| had| got)?(?= $)", how_many)
        self.at.apply(rf"{noun} of {value}(?! <L)", of)
        self.at.apply(rf"{value} s {noun}(?! <L)", of)
        self.at.apply(rf"(?:without|{have} no|lacking)(?: (?:any|a|an|other))* {noun}", lacking)
        self.at.apply(rf"{have} (?:the )?(?P<word>most|fewest|least) {noun}(?= $)", most)
        self.at.apply(rf"{have} {COMPARED} {noun}", counted)

    def _noun(self, match: re.Match[str]) -> Act | None:
        act = self.known.get(match["noun"])
        return act if act is not None and act.noun else None

    def _counted(self, match: re.Match[str], act: Act, *, is_agent: bool) -> str | None:
        """Add the condition that a number of nodes is beside those that are meant."""
        if act.is_twice:
            return None
        op, number = comparison(match["op"]), self.at.linked(match["number"])
        return self._restrict(act, ActRestriction(None, op, number, operand="act", act=act, is_agent=is_agent))

    def _most(self, match: re.Match[str], act: Act, *, is_agent: bool) -> str | None:
        """Note that the nodes are meant with the most, or fewest, beside them."""
        if act.is_twice or self.at.clauses.most is not None:
            return None
        self._asked(act)
        hop = act.done if is_agent else act.by
        self.at.clauses.most = Most(None, SUPERLATIVES[match["word"]], is_use=True, hop=hop)
        return f"{match['who'] or ''} <S0>"

    def chained(self) -> None:
        """``papers that cite papers cited by X``, ``trained by someone that X trained``."""

        def use(match: re.Match[str]) -> str | None:
            act, inner = self._act(match), self.at.clauses.restrictions[int(match["inner"])]
            if act is None or not isinstance(inner, ActRestriction) or inner.negated or inner.act.kind != act.kind:
                return None
            outer = ActRestriction(None, "=", act=act, is_agent=not _is_done(match), inner=inner)
            self.at.clauses.restrictions[int(match["inner"])] = outer
            return f"{match['who'] or ''} <C{match['inner']}>"

        some = f"(?:(?:{_ANY}|someone|somebody|people|those|ones?) )*(?:(?P<type>{L}) )?"
        self.at.apply(rf"{_WHO}{_HAVE}(?P<verb>[a-z]+){_TO} {some}{_WHOM}<C(?P<inner>\d+)>", use)

    def none(self) -> None:
        """``papers that none of our other papers cite``, ``researchers who supervise nobody``, ``never cited``."""

        def no_one(match: re.Match[str]) -> str | None:
            return "nobody" if self.at.links[int(match["number"])].text == "one" else None

        def subject(match: re.Match[str]) -> str | None:
            return self._any(match, is_agent=False)

        def other(match: re.Match[str]) -> str | None:
            return self._any(match, is_agent=not _is_done(match))

        verb, of_type = "(?P<verb>[a-z]+)", f"(?P<type>{L})"
        no_one_of = rf"(?:(?:{_NO_ONE}|no)(?: (?:of|our|the|their|these|other|else|single))*(?: {of_type})?)"
        never = rf"{_WHO}(?:{_NOT}(?:not |t )|{_NOT}?never |not )(?:(?:been|yet|ever) )*"
        self.at.apply(r"no <N(?P<number>\d+)>(?! <L)", no_one)
        self.at.apply(rf"{_WHOM}{no_one_of} (?:(?:has|have|had|ever) )*{verb}{_END}", subject)
        self.at.apply(rf"{never}{verb}{_TO}(?: (?:{_ANY}))*(?: {of_type})?{_END}", other)
        self.at.apply(rf"{_WHO}{_HAVE}{verb}{_TO} {no_one_of}{_END}", other)

    def numbers(self) -> None:
        """``papers that cite more than 3 others``, ``cited by at least two other papers``, ``the most people``."""

        def counted(match: re.Match[str]) -> str | None:
            act = self._act(match)
            return None if act is None else self._counted(match, act, is_agent=not _is_done(match))

        def most(match: re.Match[str]) -> str | None:
            act = self._act(match)
            return None if act is None else self._most(match, act, is_agent=not _is_done(match))

        others = rf"(?: (?:others?|people|persons|times|often|different|of|our|the|them))*(?: (?P<type>{L}))?"
        verb = rf"{_WHO}{_HAVE}(?P<verb>[a-z]+){_TO}"
        self.at.apply(rf"{verb} (?:the )?(?P<word>most|fewest|least){others}(?= $)", most)
        self.at.apply(rf"{verb} {COMPARED}{others}{_END}", counted)


def _is_done(match: re.Match[str]) -> bool:
    """Return whether a match says what is done to the nodes that are meant: *is cited*, but not *has cited*."""
    if not is_participle(match["verb"]):
        return False
    is_passive = re.search(rf" (?:{_BE}|by)(?= )", f" {match[0]} ") is not None
    return is_passive or not re.search(r" (?:has|have|had|hasn|haven|hadn|didn|who|which|that)(?= )", f" {match[0]} ")


def same_type(at: Rewriter) -> None:
    """Read the conditions by relations between nodes of one type."""
    if not at.acts:
        return
    rules = _Rules(at, at.acts)
    for read in (rules.none, rules.numbers, rules.names, rules.nouns, rules.chained):
        read()
    if at.clauses.is_named:
        at.text = at.text.replace(" who ", " which ", 1)
    is_read = any(isinstance(one, ActRestriction) for one in at.clauses.restrictions)
    at.clauses.unread += [f"'{word}'" for word in at.text.split() if word in at.acts and is_read]
    others = re.findall(r"<C\d+> (?:and|or|but) (?:(?:not|never|also) )*([a-z]+) $", at.text)
    at.clauses.unread += [f"'{word}'" for word in others if is_read and may_be_verb(word)]  # cites and refutes


class ActTests(PairTests):
    """Writes the conditions that :func:`same_type` reads."""

    def _act_part(self, restriction: ActRestriction, *, dry: bool) -> ConditionPart:
        """Return a condition as a number of nodes, or as the nodes that others lead to; only its type if ``dry``."""
        act, values = restriction.act, restriction.values
        if dry:
            return ConditionPart(act.kind)
        hop = act.by if restriction.is_agent else act.done
        self.doubts.relations += 1
        self.doubts.followed.add(self.elements.all[hop].label)
        if values and values[0].number:
            count = self._count(act.kind, act.kind, act.done if restriction.is_agent else act.by)
            number = whole_number(restriction.op, Decimal(values[0].number))
            return ConditionPart(act.kind, (Comparison(count, *number),))
        others: Expression = Nodes(self.elements.types[act.kind].name)
        if restriction.inner is not None:
            others = self._act_part(restriction.inner, dry=False).tree or others
        elif values:
            others = self._nodes(values[0], act.kind)
        return ConditionPart(act.kind, (), self._followed(others, [hop]), restriction.negated)
