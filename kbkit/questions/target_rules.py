"""The rules that read what a question asks for: targets and groups; and the reading of all clauses, in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kbkit.english.question_words import (
    ADJECTIVES,
    LIGHT_VERBS,
    SUPERLATIVES,
)
from kbkit.english.words import PREPOSITIONS, is_plural
from kbkit.english.words import is_participle as is_past
from kbkit.questions.absence_rules import absences, neither, unrelated
from kbkit.questions.act_rules import same_type
from kbkit.questions.acts import Act
from kbkit.questions.beginning_rules import beginning
from kbkit.questions.boolean_rules import booleans, states
from kbkit.questions.category_rules import categories
from kbkit.questions.clauses import AskedTarget, Clauses, L, Rewriter, is_type
from kbkit.questions.comparison_rules import averages, comparisons, prices, ranges, verbs
from kbkit.questions.condition_rules import values
from kbkit.questions.day_rules import days
from kbkit.questions.label_option import LabelOption
from kbkit.questions.link_words import is_participle
from kbkit.questions.measure_rules import measures
from kbkit.questions.number_rules import equal_numbers, numbers_left
from kbkit.questions.occurrence_rules import occurrences
from kbkit.questions.of_two_rules import of_two
from kbkit.questions.pair_rules import pairs
from kbkit.questions.period_rules import period_links, periods
from kbkit.questions.phrase_rules import asides, ever, ranks
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ranking_rules import rankings
from kbkit.questions.row_rules import UNSAID, heads, named_rows, names_of, node_pairs, owners_of
from kbkit.questions.several_rules import several
from kbkit.questions.superlative_rules import adverbs, most_among, orders, superlatives
from kbkit.questions.than_rules import entities
from kbkit.questions.total_rules import amounts, counts, extremes, of_how, on_average, spread, totals

_MARKED = frozenset(
    """
    average mean total sum maximum minimum max min more less fewer than larger smaller higher lower greater twice double
    half percent percentage ratio difference increase between before after not no never without only every except nor
    neither each per same exceed exceeds exceeded exceeding
    """.split()  # noqa: SIM905
) | {*SUPERLATIVES}
"""Words that say that the question is another one, if no rule has read them."""
_EVENT = 0.85
"""Least score of a type that a verb is derived from: *adopted*, of adoptions."""
_WHOLE = 0.8
"""Score of a label from which a word is more than a part of it."""
_POSSESSIVES = ("their", "its", "his", "her")
_EACH = ("each", "every", "any", "per")


def _references(at: Rewriter) -> list[str]:
    """Return the words that refer to something outside the question: ``this lake``, ``its depth``, ``does it flow``."""
    marks = re.finditer(rf"(?<!>) (this|these|that|those)(?= ({L}))", at.text)
    determined = [mark[1] for mark in marks if not (link := at.link(mark[2])) or not link.is_verb]
    first = re.search("<[LV]", at.text)
    owned = re.findall(r" (its|their|his|her)(?= )", at.text[: first.start()] if first else at.text)
    subjects = [] if re.search("<[VN]", at.text) else re.findall(r" (it|they|he|she)(?= )", at.text)
    return [*determined, *owned, *subjects]


def _groups(at: Rewriter) -> None:
    """``for each genre``, ``per country``, ``by year``; ``loans per branch`` counts them."""

    def counted(match: re.Match[str]) -> str | None:
        if at.clauses.targets or not is_type(at.link(match["counted"])):
            return None
        at.clauses.targets.append(AskedTarget(at.link(match["counted"]), "count"))
        return f"{match['before']}<T{len(at.clauses.targets) - 1}> {match['rest']}"

    rest = rf"(?P<rest> (?:<C\d+> )*(?:per|by) {L}(?: <C\d+>)*)(?= $)"
    at.apply(rf"(?<=^ )(?P<before>(?:<C\d+> )*)(?P<counted>{L}){rest}", counted)

    def headed(match: re.Match[str]) -> str | None:
        """``comedies per country``, ``number of comedies by year``: a value stands for what is counted."""
        found = at.clauses.restrictions[int(match["number"])]
        is_value = len(found.values) == 1 and not (found.values[0].number or found.label or found.negated)
        if at.clauses.targets or not is_value:
            return None
        at.clauses.head = found.values[0]
        at.clauses.targets.append(AskedTarget(None, "count"))
        return f"<T0> <C{match['number']}> {match['rest']}"

    at.apply(rf"(?<=^ )(?:(?:the )?number(?: of)? |how many )?<C(?P<number>\d+)>{rest}", headed)
    is_of_groups = bool(at.clauses.most) or any(target.total for target in at.clauses.targets)

    def use(match: re.Match[str]) -> str | None:
        if not is_of_groups and re.match(r"(?:from|in|at|on|to|with) every", match[0]):
            at.clauses.unread.append("'every'")  # members who borrowed from every branch
        at.clauses.groups.extend(at.linked(match["labels"]))
        return " <G0> "

    several = rf"(?P<labels>{L}(?: and(?: each| the)? {L})?)"

    def held(match: re.Match[str]) -> str | None:
        if not is_type(at.link(match["type"])):
            return None
        at.clauses.are_theirs = match["held"].count("<C") == len(at.clauses.restrictions)
        return f"{match['held']} per {match['type']}"

    at.apply(rf"(?:(?:in|for|of|by|from|on|at) )?each (?:of )?(?P<held>(?:<C\d+> )+)(?:s )?(?P<type>{L})", held)
    at.apply(
        r"(?:for|of|by|in|from|per|with|at|to|on|does|do|did|has|have|and)? ?(?:each|every|per)(?: of)?(?: the)?"
        rf"(?: different)? {several}",
        use,
    )
    if at.clauses.groups:  # for each citizenship, how many singers are from that country
        at.apply(r"(?:(?:from|in|of|for|by|to|with|at|on) )?(?:that|this|each|the same) (?!<)\w+", lambda _: "")
    if at.clauses.groups or any(target.total == "count" for target in at.clauses.targets):
        verb = "(?:is|are|was|were|do|does|did|has|have|had)(?= )"
        at.apply(rf"(?:in|for|of|by|from) each(?: <N\d+>| of them)?(?! (?!{verb})[a-z])", lambda _: "")
    if any(target.total for target in at.clauses.targets):
        at.apply(
            r"(?:grouped by|group by|(?<!ed )(?<!en )(?<!made )(?<!built )(?<!led )by|for(?: all)?(?: the)? different|"
            rf"across)(?: the| different)* {several}",
            use,
        )


def _owners_and_targets(at: Rewriter) -> None:
    """Take the labels that are left: attributes are asked for, and types stand between them and the conditions."""
    clauses, text = at.clauses, at.text
    asks = re.search(r" (where|when|who|whom|whose) ", text)
    clauses.asks_for = "when" if text.startswith(" where when ") else asks[1] if asks else ""
    clauses.is_either = " or " in text and len(clauses.restrictions) > 1
    owners: dict[str, QuestionLink | None] = {}
    several = rf"(?P<labels>{L}(?:(?: and| the| their| its)* {L})*)"
    kind = rf"(?:(?:the|all|each|every|any|those|these|different) )*(?P<type>{L})"
    for match in re.finditer(rf"{several} (?:of|for) {kind}", text):
        if is_type(at.link(match["type"])):
            owners.update(dict.fromkeys(re.findall(L, match["labels"]), at.link(match["type"])))
    what = r" (?:which|what)(?: (?:is|are|was|were))?(?: (?:the|different|distinct|kind of|type of))*"
    asked = re.search(rf"{what} (?P<type>{L})", text)
    for part in re.findall(L, text):
        link = at.link(part)
        assert link is not None
        follows_who = at.clauses.is_who and re.match(rf" (?:who|whom) (?:<\S+> )?{part}", text)
        is_derived = link.labels[0].score < 1 or is_participle(link.text)
        is_said = follows_who and not is_type(link) and " " not in link.text and is_derived
        if link.is_verb and is_type(link) and link.labels[0].score >= _EVENT:
            clauses.events.append(link)
        elif link.is_verb or is_said:  # cinemas opened in each year: not the year
            clauses.unexplained.append(link.text.casefold())
            clauses.said += [link] if is_said else []
        elif not is_type(link) and (_modifies(at, text, part, link) or _is_event(at, part, link, asked is not None)):
            clauses.said.append(link)
        elif asked and asked["type"] != part and _is_named_type(at, part, link):
            clauses.context.append(replace(link, labels=(LabelOption(link.labels[0].type),)))
        elif not is_type(link):
            _ask(at, part, link, owners.get(part))
        elif re.search(rf" and (?:which|what) {part}", text) and clauses.targets and not clauses.targets[0].total:
            clauses.targets.append(AskedTarget(names_of(link)))  # the candidates and which party they are from
        elif asked and asked["type"] == part:
            clauses.context.insert(0, link)
        else:
            clauses.context.append(link)
    first = clauses.targets[0].label if clauses.targets and not clauses.targets[0].total else None
    if first is not None and " of " in first.text and len(owners_of(first)) == 1 and not first.types():
        [owned] = owners_of(first)
        owner = replace(first, labels=(LabelOption(owned),))
        clauses.context = [owner, *(one for one in clauses.context if one.labels[0].type != owned)]
    named_rows(at, text)
    node_pairs(at, text)
    heads(at, text)


def _is_named_type(at: Rewriter, part: str, link: QuestionLink) -> bool:
    """Return whether what names of a type are called stands for its nodes: works lent *to institutions* in Paris."""
    is_name = link.labels[0].attribute == "name" and link.text.casefold() not in ("name", "names", "title", "titles")
    after = re.search(rf" (?:by|from|to|with|for) (?:the )?{part} (?:in |from |of |at )?<C(\d+)>", at.text)
    values = at.clauses.restrictions[int(after[1])].values if after else ()
    kinds = {option.type for option in link.attributes()}
    return is_name and is_plural(link.text) and any(value.value_types & kinds for value in values)


def _ask(at: Rewriter, part: str, link: QuestionLink, of: QuestionLink | None) -> None:
    """Take an attribute that is asked for, or note why it is hardly one. ``of`` is the type that the text says."""
    clauses, text = at.clauses, at.text
    if link.labels[0].is_boolean and (clauses.is_how_much or not _is_told(clauses, text, link)):
        clauses.unread.append("'how much'" if clauses.is_how_much else f"'{link.text}'")
    if link.text.casefold() in ADJECTIVES and re.search(rf"(?<! how) {part} {L}", text):
        clauses.unread.append(f"'{link.text}'")  # tall mountains: from which height on?
    if link.first == 1 and re.match(rf" whose {part}", text):
        clauses.is_who = True
        return
    if _is_said_of_type(at, text, part, link):
        clauses.unread.append(f"'{link.text}'")
    if clauses.most is not None and link.labels[0].score < 1 and re.search(rf" to {part} $", text):
        clauses.said.append(link)  # the most expensive to buy
    elif not clauses.targets or not re.search(rf" (?:have|has|had|having) (?:(?:a|an|any|the) )?{part}", text):
        clauses.targets.append(AskedTarget(link, "", of))


def _is_told(clauses: Clauses, text: str, link: QuestionLink) -> bool:
    """Return whether a question asks for a yes or no of named nodes: *whether the 5 is on time*."""
    kinds = {option.type for option in link.attributes()}
    named = [value for one in clauses.restrictions for value in one.values if value.nodes]
    return " whether " in text or any(kinds & value.node_types for value in named)


def _is_said_of_type(at: Rewriter, text: str, part: str, link: QuestionLink) -> bool:
    """Return whether a label describes nodes and is not asked for: *orders that are still open*, *out of stock*."""
    if link.labels[0].attribute in ("name", "key"):
        return False
    is_next = bool(re.search(rf" {part} <L", text)) and int(part[2:-1]) not in at.commas
    if link.labels[0].is_date and " " not in link.text and is_next:
        return True  # open work orders
    said = re.search(rf" (?P<type>{L}) (?:(?:that|which|who) )?(?:is|are|was|were) (?:(?!<)\w+ ){{0,2}}{part} $", text)
    return bool(re.search(f" out of {part} ", text)) or (said is not None and is_type(at.link(said["type"])))


def _modifies(at: Rewriter, text: str, part: str, link: QuestionLink) -> bool:
    """Return whether a part of a label stands before another one as nouns do in a compound: *number plates*."""
    after = re.search(rf" {part} ({L}) ", text)
    head = at.link(after[1]) if after else None
    is_noun = link.labels[0].score < _WHOLE and not is_plural(link.text) and not is_participle(link.text)
    return head is not None and not is_type(head) and is_noun and int(part[2:-1]) not in at.commas


def _is_event(at: Rewriter, part: str, link: QuestionLink, is_asked: bool) -> bool:
    """Return whether a label is the verb of a question and not the date that it names.

    *Which birds has Ann seen*, *has anyone seen a heron*, where a column says when birds were seen.
    """
    if " " in link.text:
        return False
    if at.clauses.is_yes_no:  # did anyone submit a paper
        is_done = link.labels[0].is_date and re.search(rf"^ did .*{part} (?:an?|any|the) ", at.text)
        return is_participle(link.text) or bool(is_done)
    if not is_participle(link.text):
        return False
    before = "(?:(?:has|have|had)(?: (?:ever|been|already))*|<[CV]\\d+>)"
    there = "(?: (?:in|at|on|from|near) <C)"
    if re.search(rf" {before} {part}{'(?= )' if is_asked else there}", at.text):
        return True  # seamstresses born in Leeds
    done = re.search(rf" (?P<kind>{L}) (?:(?:that|which|who|was|were|is|are|been|have|has|they|we) )*{part} ", at.text)
    is_verb = link.labels[0].is_date and done is not None and is_type(at.link(done["kind"]))
    return is_verb and not re.search(" (?:when|date|dates|and) ", at.text)  # which species were collected in Tyrol


def _is_noun(at: Rewriter, parts: Sequence[str], place: int) -> bool:  # noqa: PLR0911
    """Return whether a word of what is left is no verb, by the words beside it."""
    clauses = at.clauses
    part, before, after = parts[place], parts[place - 1] if place else "", "".join(parts[place + 1 : place + 2])
    if before in PREPOSITIONS or before in ("the", "a", "an", "s", *_POSSESSIVES, *_EACH):
        return True
    if before in clauses.unexplained:
        return True
    first = at.link(before) if before.startswith("<L") and (after == "of" or after.startswith("<C")) else None
    if first is not None and not is_type(first) and first.labels[0].score < _WHOLE and not is_participle(part):
        return True  # the home ground of the club, of home_goals
    if not before and after.startswith("<L"):
        return True  # budget airlines
    if re.fullmatch(r"<C\d+>", before) and (part.endswith("s") or is_plural(part)):
        values = clauses.restrictions[int(before[2:-1])].values
        if values and values[-1].number:
            return True  # rated above 4 stars
    if before in ("and", "or") and not after:
        return True  # patient and time
    if not before and after in ("<G0>", "by", "per", "and", "or"):
        return True  # wins by region, kids and spouses
    is_modifier = part.endswith(("ing", "ed")) and not clauses.is_yes_no
    is_modifier &= not before.startswith(("<L", "<T")) and before not in ("who", "that")
    if after.startswith("<L") and (is_modifier or before in ("which", "what", "whose")):
        return True  # ukraine winning songs, what blood type
    is_first = not any(one.startswith("<") for one in parts[:place])
    return before in ("which", "what") and is_first and not clauses.targets  # in which rooms


def _words_left(at: Rewriter) -> None:
    """Note the words that nothing explains, and the ones that say that the question is another one."""
    clauses, parts = at.clauses, at.text.split()
    for place, part in enumerate(parts):
        if _is_noun(at, parts, place):
            clauses.nouns.add(part)
        if part.startswith(("<N", "<V")):
            clauses.unread.append(f"'{at.links[int(part[2:-1])].text}'")
        elif part == "or" and not clauses.is_either:
            clauses.unread.append("'or'")
        elif part in _MARKED and not (part in ("not", "no") and " or not " in at.text):
            clauses.unread.append(f"'{part}'")
        elif part == "about" and parts[place + 1 : place + 2] and parts[place + 1].startswith("<C"):
            continue  # complained about noise
        elif not part.startswith("<") and part not in UNSAID:
            clauses.unexplained.append(part)


def read_clauses(question: Question, links: list[QuestionLink], acts: Mapping[str, Act]) -> Clauses:
    """Return the clauses of a question whose links are given; ``acts`` are relations of one type, by their words."""
    at = Rewriter(question, links, acts)
    beginning(at)
    period_links(at)
    asides(at)
    ranks(at)
    several(at)
    pairs(at)
    days(at)
    references = _references(at)
    for rule in (
        of_two,
        of_how,
        orders,
        occurrences,
        neither,
        states,
        same_type,
        unrelated,
        booleans,
        measures,
        averages,
        ranges,
        prices,
        comparisons,
        verbs,
        entities,
        categories,
        rankings,
        on_average,
        totals,
        extremes,
        spread,
        adverbs,
        most_among,
        superlatives,
        values,
        equal_numbers,
        absences,
        counts,
        amounts,
    ):
        rule(at)
    ever(at)
    periods(at, _groups)
    _owners_and_targets(at)
    numbers_left(at)
    _words_left(at)
    _done(at)
    _unread(at, question, references)
    return at.clauses


def _done(at: Rewriter) -> None:
    """Note a participle at the end that says which nodes are meant and that nothing explains: *who have died*."""
    done = re.search(r" (?:have|has|had) (?:also |already |since )?(?P<verb>[a-z]+) $", at.text)
    if done and is_past(done["verb"]) and done["verb"] not in LIGHT_VERBS and " <L" in at.text:
        at.clauses.unread.append(f"'{done['verb']}'")


def _unread(at: Rewriter, question: Question, references: list[str]) -> None:
    """Note what no rule reads: second questions, negative numbers, pronouns without a noun, capital letters."""
    place = rf"where (?:(?:is|are|was|were|the|its|their|his|her) )*{L} "
    second = re.search(rf" (?:and|or) (?!{place})(?:(?!<)\w+ )?(who|whom|where|when|why|how)(?= )", at.text)
    second = second or re.match(r" (?:and |so )?(why) ", at.text)
    if re.search(r"(?<!\S)[-\u2212]\d", question.text):
        at.clauses.unread.append("a negative number")
    manner = re.match(r" (?:and |so )?(how) (?:did|do|does|is|are|was|were|can) ", at.text)
    asked = [option for target in at.clauses.targets if target.label for option in target.label.labels[:1]]
    if asked and not any(option.is_number or option.is_boolean for option in asked):
        manner = None  # how does Ann pay: by a payment_method
    at.clauses.unread += [f"'{found[1]}'" for found in (second, manner) if found]
    if at.clauses.is_who:
        references = [word for word in references if word != "their"]
    if references and not at.clauses.groups:
        at.clauses.unread.append(f"what '{references[0]}' refers to")
    if not question.text.isupper():
        inside = (token for token in question.tokens[1:] if question.text[token.start].isupper())
        at.clauses.capitalized.update(token.word for token in inside)
