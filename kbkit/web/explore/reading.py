"""The reading of a question: its answer, or what was understood and the closest readings to choose from."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from kbkit.answers.parse import parse
from kbkit.answers.syntax_tree import Aggregate, Filter, Superlative
from kbkit.display.render import cell
from kbkit.english.headings import attribute_heading, figure
from kbkit.english.types import type_noun, type_plural
from kbkit.errors import KbError
from kbkit.executor.languages import is_question
from kbkit.questions.reply import MAX_PROOFS, AskReply, ProvedAnswer, reply
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.questions.ask import AskResult
    from kbkit.web.explore.site import Site

_OTHERS = 3
"""Other readings of a question that is answered."""
_ASKS_PATHS = re.compile(
    r"^(how|what|in what way|is|are|do|does)\b.*\b(related|connected|linked|in common"
    r"|(relation|relationship|connection|link)s? (between|of))\b|^what (connects|links|relates)\b",
    re.IGNORECASE,
)
"""Questions about what two nodes have to do with each other, to which their paths are the answer."""
_MISSPELT = 0.8
"""Least similarity of a misspelt name of a type."""
_DOUBTFUL = 0.2
"""Minimum confidence to show readings of words that do not have the form of a question."""
_PROSE = 4
"""Number of words from which words without the form of a question may be one: *average budget of action movies*."""
_GREATEST = re.compile(r"^.+ = (.+?), the (?:greatest|least) of ")
"""A line of a proof with the value that decided."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this part of a page."""
    part = _Reading(site)
    return [
        site.route("/search/reading", part.reading),
        site.route("/search/choose", part.choose, method="POST"),
        site.route("/search/forget", part.forget, method="POST"),
    ]


def nouns(kind: str) -> set[str]:
    """Return the words for a type, in singular and plural."""
    return {name.casefold() for name in (kind, type_noun(kind), type_plural(kind))}


def first_type(read: AskResult) -> str:
    """Return the type that a question names before all else that was understood; "" for none."""
    known = [one for one in read.matches if one.meaning]
    first = min(known, key=lambda one: read.question.find(one.words), default=None)
    kinds = {kind.name for kind in read.stores.schema.node_types if kind.members}
    return first.meaning if first and first.meaning in kinds else ""


class _Reading:
    def __init__(self, site: Site) -> None:
        self._site = site

    def reading(self, request: Request) -> Response:
        """Return the answer to a question, or the closest readings; nothing if the words are not a question.

        Words without the form of a question that are answered though some of them are not read are not answered. Those
        without the name of a type of which all nodes would be answers are no question, and so are those of which
        nothing certain is read, unless they begin with the name of a type.
        """
        question = links.text(request, "q")
        read = self._site.kb.ask(question) if question and self._site.kb.has("adjacency") else None
        if read is None or self._is_all(read):
            return self._site.page("nothing.html", request)
        asks = is_question(question)
        missed = [one.words for one in read.matches if not one.meaning] if read.choice is None else []
        is_prose = len(question.split()) >= _PROSE
        named = is_prose and bool(first_type(read))
        doubtful = read.choice is None and (not read.matches or read.confidence < _DOUBTFUL)
        if not asks and not named and (doubtful or (missed and read.is_sure)):
            return self._site.page("nothing.html", request)
        known = reply(read, closest=_OTHERS)
        if not asks and known.is_answered and missed:
            known = _unanswered(known, read, missed)
        is_name = bool(len(self._site.kb.stores.nodes.called(question)))
        if is_name and not asks and not known.is_answered:
            return self._site.page("nothing.html", request)
        within = links.text(request, "within", 10_000)
        known, filtered = self._filtered(known, within) if within and known.is_answered else (known, True)
        return self._site.page(
            "reading.html",
            request,
            reply=known,
            value=_value(known),
            rows=self._rows(known),
            shown=MAX_PROOFS,
            filtered=filtered,
            within=within,
            is_question=asks or (is_prose and not missed and not all("#" in one.meaning for one in read.matches)),
            is_name=is_name,
            ends=self._ends(read),
            asks_paths=bool(_ASKS_PATHS.search(question)),
            decisive=_decisive(known),
            words=[one for one in known.words if one.kind or not known.is_answered],  # all words count in an answer
            conditions=list(dict.fromkeys(map(str, _conditions(parse(known.expression))))) if known.is_answered else [],
            values={one.expression for one in known.others if isinstance(parse(one.expression), Aggregate)},
        )

    def _rows(self, known: AskReply) -> list[tuple[str, str, str, str]]:
        """Return the values of nodes in a reply, such as numbers by genre: type, key and name of the node, values."""
        kinds = {kind.name for kind in self._site.kb.schema.node_types}
        rows = known.value if isinstance(known.value, list) else []
        if not all(isinstance(row, tuple) and len(row) > 2 and str(row[0]).partition("#")[0] in kinds for row in rows):
            return []
        return [
            (*reference.split("#", 1), name, ", ".join(cell(figure("", value)) for value in values))
            for reference, name, *values in rows
        ]

    def _filtered(self, known: AskReply, within: str) -> tuple[AskReply, bool]:
        """Return the reply with the answers that a filter keeps, and whether it applies to these."""
        if known.value is not None:
            return known, False
        try:
            kept = self._site.kb.answers(f"({known.expression}) & ({within})")
            nodes = kept.nodes()
        except KbError:  # of another type
            return known, False
        first = nodes.head(MAX_PROOFS)
        proofs = (why.lines() for why in kept.proofs(first["id"].to_list()))
        rows = (first[name].to_list() for name in ("id", "type", "key", "name"))
        proved = [ProvedAnswer(*one) for one in zip(*rows, proofs, strict=True)]
        phrase = f"{known.phrase}, filtered" if known.phrase else ""
        return replace(known, expression=kept.expression, answers=proved, count=nodes.height, phrase=phrase), True

    def _is_all(self, read: AskResult) -> bool:
        """Return whether a question is read as all nodes of a type that no words of it name: *Heat* as movies."""
        kinds = [kind.name for kind in self._site.kb.schema.node_types]
        if read.choice is not None or read.expression not in kinds:
            return False
        words = re.findall(r"\w+", read.question.casefold())
        known = [" ".join(re.findall(r"\w+", noun)) for noun in nouns(read.expression)]
        said = (" ".join(words[at : at + 1 + noun.count(" ")]) for noun in known for at in range(len(words)))
        return not any(get_close_matches(one, known, 1, _MISSPELT) for one in said)

    def _ends(self, read: AskResult) -> list[str]:
        """Return the two nodes of a question that is not answered, whose paths may answer it; nothing for others."""
        kinds = {kind.name for kind in self._site.kb.schema.node_types}
        nodes = dict.fromkeys(one.meaning for one in read.matches if one.meaning.partition("#")[0] in kinds)
        named = [self._site.reference(node) for node in nodes if "#" in node]
        return named if len(named) == 2 and not (read.answers is not None and read.is_sure) else []

    def choose(self, request: Request) -> Response:
        """Remember the reading that a person chose or wrote for a question, and show its answers.

        An error is a message beside the expression, if a part of the page asks.
        """
        form = request.state.form
        question = form.get("question", "")
        self._site.kb.choose(self._site.kb.ask(question), form.get("q", ""), own=True)
        address = f"/search?{urlencode({'q': question})}"
        return Response(headers={"HX-Redirect": address}) if is_part(request) else RedirectResponse(address, 303)

    def forget(self, request: Request) -> Response:
        """Forget the reading that was chosen for a question."""
        question = request.state.form.get("q", "")
        self._site.kb.forget_choice(question)
        return RedirectResponse(f"/search?{urlencode({'q': question})}", 303)


def _unanswered(known: AskReply, read: AskResult, missed: list[str]) -> AskReply:
    """Return the reply to words that are read in part as one that offers the reading."""
    words = ", ".join(f'"{one}"' for one in missed)
    refusal = f"Not answered: {words or 'the question'} is not read"
    return replace(known, is_answered=False, refusal=refusal, others=read.offered(_OTHERS))


def _conditions(part: object) -> Iterator[object]:
    """Yield the conditions in an expression."""
    if isinstance(part, Filter):
        yield from part.conditions
    if isinstance(part, tuple):
        for one in part:
            yield from _conditions(one)
    elif is_dataclass(part):
        for one in fields(part):
            if one.name != "conditions":
                yield from _conditions(getattr(part, one.name))


def _value(known: AskReply) -> str:
    """Return the value of a reply with separators if it is a large number."""
    return cell(figure("", known.value)) if type(known.value) in (int, float) else known.value_text


def _decisive(known: AskReply) -> dict[int, str]:
    """Return the values that decided, for answers that are the greatest or least of others: *511*."""
    tree = parse(known.expression) if known.expression else None
    last = tree.conditions[-1] if isinstance(tree, Filter) else None
    if not isinstance(last, Superlative):
        return {}
    what = f"{attribute_heading(last.measure)} " if isinstance(last.measure, str) else ""
    found = ((one.id, _GREATEST.match(line)) for one in known.answers for line in one.proof)
    return {node: f"{what}{_separated(value[1])}" for node, value in found if value}


def _separated(value: str) -> str:
    """Return a value of a proof, with separators if it is a large number."""
    return cell(figure("", int(value))) if re.fullmatch(r"-?[0-9]{1,18}", value) else value
