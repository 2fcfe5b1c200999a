"""Search: hits of one mode or of several side by side, by type, with reasons; and the reading of a question."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from kbkit.english.types import type_noun, type_plural
from kbkit.errors import KbError, QueryTimeoutError
from kbkit.executor.languages import is_question
from kbkit.questions.reply import reply
from kbkit.search.settings import missing_stores
from kbkit.web.explore import links
from kbkit.web.explore.site import said, status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.questions.ask import AskResult
    from kbkit.schema import NodeType
    from kbkit.web.explore.site import Site

_MODES = {
    "auto": "Best",
    "bm25": "Words",
    "dense": "Meaning",
    "hybrid": "Words and meaning",
    "relational": "Question",
    "compare": "Side by side",
}
_COMPARED = ("bm25", "dense", "hybrid")
_SCORES = ("bm25", "dense", "multivector", "relational")
_FACETED = 200
"""Hits that are counted by type."""
_FACETS_SECONDS = 0.5
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


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Search(site)
    return [
        site.route("/search", screen.page),
        site.route("/search/hits", screen.hits),
        site.route("/search/types", screen.types),
        site.route("/search/reading", screen.reading),
        site.route("/search/choose", screen.choose, method="POST"),
        site.route("/search/forget", screen.forget, method="POST"),
    ]


def _nouns(kind: str) -> set[str]:
    return {name.casefold() for name in (kind, type_noun(kind), type_plural(kind))}


def _is_name(words: str) -> bool:
    """Return whether words are written as a name: several, all with a capital."""
    given = words.split()
    return 1 < len(given) < 5 and all(word[0].isupper() for word in given) and not is_question(words)


def _has_name(found: list[dict[str, Any]], words: str) -> bool:
    """Return whether the name of a hit has all words."""
    wanted = [re.sub(r"\W", "", word).casefold() for word in words.split()]
    return any(all(word in row["name"].casefold() for word in wanted) for row in found)


class _Search:
    def __init__(self, site: Site) -> None:
        self._site = site

    def page(self, request: Request) -> Response:
        """Show the form and the hits; facets and the reading of a question follow as parts."""
        asked = self._asked(request)
        several = asked["mode"] == "compare"
        found, problem = None, None
        if asked["q"] and not several:
            try:
                found = self._found(asked)
            except KbError as error:  # with the form, where it can be mended
                problem = error
        return self._site.page(
            "search.html",
            request,
            status_of(problem) if problem else 200,
            problem=said(problem),
            **asked,
            modes=self._modes(),
            compared=[mode for mode in _COMPARED if mode in self._modes()],
            found=found,
            nameless=found is not None and _is_name(asked["q"]) and not _has_name(found, asked["q"]),
            named=self._site.vocabulary.names(asked["q"], None, asked["k"]) if problem else (),
            types=[t.name for t in self._site.kb.schema.node_types if t.members],
            named_types=self._named_types(asked["q"]),
        )

    def _named_types(self, words: str) -> list[NodeType]:
        """Return the types that words name, in singular or plural."""
        named = words.casefold()
        kinds = [kind for kind in self._site.kb.schema.node_types if kind.members]
        return [kind for kind in kinds if named in _nouns(kind.name)] if named else []

    def hits(self, request: Request) -> Response:
        """Return the hits of one mode as a part of a page."""
        asked = self._asked(request)
        return self._site.page("hits.html", request, **asked, found=self._found(asked), brief=True)

    def types(self, request: Request) -> Response:
        """Return the number of hits of each type among the first hits."""
        asked = self._asked(request)
        mode = "auto" if asked["mode"] == "compare" else asked["mode"]
        # Without the type, so that another one can be chosen.
        found = self._site.kb.search(asked["q"], _FACETED, mode, within=asked["within"] or None)
        counts = found["type"].value_counts(sort=True).rows()
        facets = self._facets(found.filter(found["type"] == asked["type"])["id"].to_list(), asked)
        return self._site.page("types.html", request, **asked, counts=counts, total=found.height, facets=facets)

    def _facets(self, ids: list[int], asked: dict[str, Any]) -> dict[str, list[tuple[str, int, str]]]:
        """Return (value, number of hits, filter) by heading of an attribute or a relation of the chosen type.

        Nothing if counting takes long, and no values that all hits have.
        """
        if not ids:
            return {}
        try:
            frame = self._site.kb.facets(ids, asked["type"], timeout=_FACETS_SECONDS)
        except QueryTimeoutError:
            return {}
        result: dict[str, list[tuple[str, int, str]]] = {}
        for _, heading, value, count, expression in frame.iter_rows():
            if count == len(ids) and asked["within"]:  # the filter itself, or one that changes nothing
                continue
            within = f"({asked['within']}) & ({expression})" if asked["within"] else expression
            result.setdefault(heading, []).append((value, count, within))
        return result

    def reading(self, request: Request) -> Response:
        """Return the answer to a question, or the closest readings; nothing if the words are not a question.

        Words that are answered though some of them are not read are none, and so are those without the name of a type
        of which all nodes would be answers.
        """
        question = links.text(request, "q")
        read = self._site.kb.ask(question) if question and self._site.kb.has("adjacency") else None
        if read is None:
            return self._site.page("nothing.html", request)
        doubtful = read.choice is None and (not read.matches or read.confidence < _DOUBTFUL)
        misread = read.choice is None and read.is_sure and (not all(one.meaning for one in read.matches))
        if (not is_question(question) and (doubtful or misread)) or self._is_all(read):
            return self._site.page("nothing.html", request)
        return self._site.page(
            "reading.html",
            request,
            reply=reply(read, closest=_OTHERS),
            is_question=is_question(question),
            is_name=bool(len(self._site.kb.stores.nodes.called(question))),
            ends=self._ends(read),
            asks_paths=bool(_ASKS_PATHS.search(question)),
        )

    def _is_all(self, read: AskResult) -> bool:
        """Return whether a question is read as all nodes of a type that no words of it name: *Heat* as movies."""
        kinds = [kind.name for kind in self._site.kb.schema.node_types]
        if read.choice is not None or read.expression not in kinds:
            return False
        words = re.findall(r"\w+", read.question.casefold())
        nouns = [" ".join(re.findall(r"\w+", noun)) for noun in _nouns(read.expression)]
        said = (" ".join(words[at : at + 1 + noun.count(" ")]) for noun in nouns for at in range(len(words)))
        return not any(get_close_matches(one, nouns, 1, _MISSPELT) for one in said)

    def _ends(self, read: AskResult) -> list[str]:
        """Return the two nodes of a question that is not answered, whose paths may answer it; nothing for others."""
        kinds = {kind.name for kind in self._site.kb.schema.node_types}
        nodes = dict.fromkeys(one.meaning for one in read.matches if one.meaning.partition("#")[0] in kinds)
        named = [self._site.reference(node) for node in nodes if "#" in node]
        return named if len(named) == 2 and not (read.answers is not None and read.is_sure) else []

    def choose(self, request: Request) -> Response:
        """Remember the reading that a person chose for a question, and show its answers."""
        form = request.state.form
        question = form.get("q", "")
        self._site.kb.choose(self._site.kb.ask(question), form.get("expression", ""))
        return RedirectResponse(f"/search?{urlencode({'q': question})}", 303)

    def forget(self, request: Request) -> Response:
        """Forget the reading that was chosen for a question."""
        question = request.state.form.get("q", "")
        self._site.kb.forget_choice(question)
        return RedirectResponse(f"/search?{urlencode({'q': question})}", 303)

    def _modes(self) -> dict[str, str]:
        """Return the modes that the KB was built for."""
        stores = self._site.kb.stores
        return {m: name for m, name in _MODES.items() if not missing_stores(stores, m)}

    def _asked(self, request: Request) -> dict[str, Any]:
        mode = links.text(request, "mode") or "auto"
        if mode not in _MODES:
            raise HTTPException(400, f"Unknown mode. Use {', '.join(_MODES)}.")
        return {
            "q": links.text(request, "q"),
            "mode": mode,
            "type": links.text(request, "type"),
            "within": links.text(request, "within", 10_000),
            "k": links.number(request, "k", 20, 1, 200),
        }

    def _found(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the hits as plain data."""
        kb = self._site.kb
        frame = kb.search(
            asked["q"], asked["k"], asked["mode"], asked["within"] or None, asked["type"] or None, explain=True
        )
        rows: list[dict[str, Any]] = frame.to_dicts()
        self._site.describe(rows, "snippet")
        for row in rows:
            scores = {name: row[name] for name in _SCORES if row.get(name) is not None}
            row["scores"] = {"score": row["score"], **scores}
        return rows
