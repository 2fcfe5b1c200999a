"""Search: hits of one mode or of several side by side, by type, with reasons."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from kbkit.answers.parse import parse
from kbkit.answers.syntax_tree import Combine, Filter, Key, Nodes, Path, Step
from kbkit.english.headings import relation_heading
from kbkit.errors import KbError, QueryTimeoutError
from kbkit.executor.languages import is_question
from kbkit.questions.understood import in_words
from kbkit.search.settings import missing_stores
from kbkit.web.explore import links, reading
from kbkit.web.explore.reading import nouns
from kbkit.web.explore.site import said, status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from kbkit.answers.syntax_tree import Expression
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
_COUNTS = (10, 20, 50, 100, 200)
"""Numbers of hits that a person can ask for."""
_MISSPELT = 0.8
"""Least similarity of a misspelt word of a name."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Search(site)
    return [
        *reading.routes(site),
        site.route("/search", screen.page),
        site.route("/search/hits", screen.hits),
        site.route("/search/types", screen.types),
    ]


def _is_name(words: str) -> bool:
    """Return whether words are written as a name: several, all with a capital."""
    given = words.split()
    return 1 < len(given) < 5 and all(word[0].isupper() for word in given) and not is_question(words)


def _named(found: list[dict[str, Any]], words: str, least: float = 1.0) -> dict[str, Any] | None:
    """Return the first hit whose name has all words, spelled at least so similarly."""
    wanted = [re.sub(r"\W", "", word).casefold() for word in words.split()]
    for row in found:
        name = row["name"].casefold()
        if all(word in name or get_close_matches(word, re.findall(r"\w+", name), 1, least) for word in wanted):
            return row
    return None


def _parts(tree: Expression) -> list[Expression]:
    """Return the expressions of which all must be met."""
    if isinstance(tree, Combine) and tree.op == "&":
        return [one for part in tree.parts for one in _parts(part)]
    return [tree]


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
        nameless = found is not None and _is_name(asked["q"]) and not _named(found, asked["q"])
        return self._site.page(
            "search.html",
            request,
            status_of(problem) if problem else 200,
            problem=said(problem),
            **asked,
            modes=self._modes(),
            compared=[mode for mode in _COMPARED if mode in self._modes()],
            found=found,
            asks=is_question(asked["q"]) and self._site.kb.has("adjacency"),
            counts=_COUNTS,
            more=next((count for count in _COUNTS if count > asked["k"]), 0) if len(found or ()) == asked["k"] else 0,
            nameless=nameless,
            meant=_named(found or [], asked["q"], _MISSPELT) if nameless else None,
            named=self._site.vocabulary.names(asked["q"], None, asked["k"]) if problem else (),
            types=[t.name for t in self._site.kb.schema.node_types if t.members],
            named_types=self._named_types(asked["q"]),
        )

    def _named_types(self, words: str) -> list[NodeType]:
        """Return the types that words name, in singular or plural."""
        named = words.casefold()
        kinds = [kind for kind in self._site.kb.schema.node_types if kind.members]
        return [kind for kind in kinds if named in nouns(kind.name)] if named else []

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
        filters = self._filters(asked["within"])
        shown: dict[str, Any] = {
            "counts": counts,
            "total": found.height,
            "most": _FACETED,
            "facets": facets,
            "filters": filters,
        }
        return self._site.page("types.html", request, **asked, **shown)

    def _filters(self, within: str) -> list[tuple[str, str, int]]:
        """Return each filter in words, the filters without it, and how many nodes of the KB it keeps."""
        if not within:
            return []
        parts = _parts(parse(within))
        result = []
        for at, part in enumerate(parts):
            others = " & ".join(f"({other})" for other in (*parts[:at], *parts[at + 1 :]))
            result.append((self._filter_words(part), others, len(self._site.kb.answers(str(part)))))
        return result

    def _filter_words(self, part: Expression) -> str:
        """Return a filter as the facets name it: *has the genre: Crime*, *year < 2000*."""
        match part:
            case Filter(source=Nodes(selector=None)):
                return ", ".join(map(str, part.conditions))
            case Path(elements=(Nodes(type=str(kind), selector=Key(key)), Step(edges=(edge,)), Nodes(type=str(own)))):
                schema, node = self._site.kb.schema, self._site.kb.find(f"{kind}#{key}")
                heading = relation_heading(schema, edge.relation, own, kind, of_head=edge.inverse)
                return f"{heading}: {self._site.titled(node, self._site.kb.stores.nodes.row(node).name)}"
        return in_words(self._site.kb.answers(str(part)), self._site.kb.stores)

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
