"""Disagreements: the nodes that annotators graded differently, for a person to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from kbkit.benchmarks.people.labels import GRADES, Disagreement, Labels
from kbkit.web.explore import links
from kbkit.web.explore.site import is_part

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.benchmarks.people.judgements import GivenParts
    from kbkit.web.explore.site import Site

ANNOTATOR = "kbkit_annotator"
"""The cookie with the name of the last annotator."""
DECIDER = "kbkit_decider"
"""The cookie with the name of the last person who decided."""
YEAR = 365 * 24 * 3600
"""Seconds that a browser keeps names."""
_PATH = "/label/disagreements"


def routes(site: Site) -> list[Route]:
    """Return the routes of this screen."""
    screen = _Disagreements(site)
    return [site.route(_PATH, screen.page), site.route(_PATH, screen.decide, method="POST")]


class _Disagreements:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._labels = Labels(site.kb)

    def page(self, request: Request) -> Response:
        """Show the nodes that annotators graded differently, to decide."""
        found = self._shown(self._labels.disagreements())
        who = links.text(request, "who") or unquote(request.cookies.get(DECIDER, ""))
        if not who and annotator_of(request) not in {given.who for one in found for given in one["grades"]}:
            who = annotator_of(request)  # one of those who differ has to say so
        decided = sum(one["decision"] is not None for one in found)
        page = self._site.page("label_apart.html", request, who=who, found=found, decided=decided, grades=GRADES)
        if who and not links.is_foreign(request):
            page.set_cookie(DECIDER, quote(who), YEAR, httponly=True, samesite="lax")
        return page

    def _shown(self, found: list[Disagreement]) -> list[dict[str, Any]]:
        """Return disagreements as the templates show them, with the facts that annotators see."""
        shown = [{**one._asdict(), "hit": one.node._asdict()} for one in found]
        for query in {one.query.id: one.query for one in found}.values():
            hits = [one["hit"] for one in shown if one["query"].id == query.id]
            self._site.describe(hits, "text", self._labels.asked(query))
        return shown

    def decide(self, request: Request) -> Response:
        """Save a decision; return it as a part of the page, or to the list."""
        form = request.state.form
        given, who = given_of(form), form.get("who", "")
        query, node = form.get("query", ""), form.get("node", "")
        self._labels.give(query, node, who, given, decision=True)
        if is_part(request) and "mark" not in given:
            return self._site.page("noted.html", request)
        if not is_part(request):
            return RedirectResponse(links.page(_PATH, who=who), 303)
        found = [one for one in self._labels.disagreements() if (one.query.id, one.node.reference) == (query, node)]
        [one] = self._shown(found)
        return self._site.page("label_decided.html", request, who=who, one=one, grades=GRADES)


def grade_of(form: dict[str, str]) -> int | None:
    """Return the grade of a form; None for none. Raises :class:`HTTPException` for an unknown one."""
    given = form.get("grade", "")
    if given not in ("", *map(str, GRADES)):
        raise HTTPException(400, f"Unknown grade. Use {', '.join(map(str, GRADES))}.")
    return int(given) if given else None


def given_of(form: dict[str, str]) -> GivenParts:
    """Return the grade and the note of a form; it may have one of them, and the other stays as it was."""
    given: GivenParts = {"mark": grade_of(form)} if "grade" in form else {}
    return {**given, "note": form["note"]} if "note" in form else given


def annotator_of(request: Request) -> str:
    """Return the annotator of the address, or the last one in this browser."""
    return links.text(request, "annotator") or unquote(request.cookies.get(ANNOTATOR, ""))
