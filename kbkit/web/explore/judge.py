"""Judge: the items of a person's task one by one, and the answers, which are saved at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from kbkit.benchmarks.people.tasks import Answers, TaskItem, TaskStage, validated
from kbkit.errors import KbError
from kbkit.web.explore.site import said, status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from kbkit.benchmarks.people.tasks import Task
    from kbkit.web.explore.site import Pages

_TEST, _ITEMS = "test", "items"


def routes(pages: Pages, task: Task) -> list[Route]:
    """Return the routes of a task."""
    screen = _Judge(pages, task)
    return [
        pages.route("/", screen.next),
        pages.route("/{stage}/{place:int}", screen.show),
        pages.route("/{stage}/{place:int}", screen.save, method="POST"),
    ]


class _Judge:
    def __init__(self, pages: Pages, task: Task) -> None:
        self._pages, self._task = pages, task
        self._lock = threading.RLock()
        self._started: dict[Hashable, float] = {}

    def next(self, request: Request) -> Response:
        """Lead to the first item that is left, or show that none is."""
        with self._lock:
            stage = self._task.stage()
            for place, key in enumerate(stage.items, 1):
                if not self._task.done(key):
                    return RedirectResponse(_address(stage, place), 303, {"Cache-Control": "no-store"})
        return self._pages.page("judge_end.html", request, task=self._task, count=len(stage.items))

    def show(self, request: Request) -> Response:
        """Show an item with the answers that it has."""
        with self._lock:
            stage, place = self._place(request)
            key = stage.items[place - 1]
            self._started.setdefault(key, time.monotonic())
            return self._page(request, stage, place, self._task.given(key) or Answers(), None)

    def save(self, request: Request) -> Response:
        """Save the answers to an item, and lead to the next one."""
        with self._lock:
            stage, place = self._place(request)
            key = stage.items[place - 1]
            item = self._task.item(key)
            answers = _answers(item, request.state.form, time.monotonic() - self._started.get(key, time.monotonic()))
            try:
                self._task.save(key, validated(item, answers))
            except KbError as error:  # with the answers, where they can be mended
                return self._page(request, stage, place, answers, error)
            self._started.pop(key, None)
            left = [number for number, one in enumerate(stage.items, 1) if not self._task.done(one)]
            after = next((number for number in left if number > place), None)
        return RedirectResponse(_address(stage, after) if after else "/", 303)

    def _place(self, request: Request) -> tuple[TaskStage, int]:
        """Return the stage and the place of an item. Raises :class:`HTTPException` if there is none."""
        stage, place = self._task.stage(), request.path_params["place"]
        if request.path_params["stage"] != _name(stage) or not 1 <= place <= len(stage.items):
            raise HTTPException(404, "There is no such item.")
        return stage, place

    def _page(
        self, request: Request, stage: TaskStage, place: int, answers: Answers, problem: KbError | None
    ) -> Response:
        return self._pages.page(
            "judge.html",
            request,
            status_of(problem) if problem else 200,
            task=self._task,
            item=self._task.item(stage.items[place - 1]),
            answers=answers,
            note=stage.note,
            place=place,
            total=len(stage.items),
            done=sum(map(self._task.done, stage.items)),
            address=lambda number: _address(stage, number),
            problem=said(problem),
        )


def _name(stage: TaskStage) -> str:
    return _TEST if stage.test else _ITEMS


def _address(stage: TaskStage, place: int) -> str:
    return f"/{_name(stage)}/{place}"


def _answers(item: TaskItem, form: Mapping[str, str], seconds: float) -> Answers:
    """Return the answers of a form: ``question1``, ``question2``, ..., ``row1``, ``row2``, ..., or ``instead``."""
    if form.get("instead"):
        return Answers(instead=form["instead"], seconds=seconds)
    chosen = {one.name: form.get(f"question{number}", "") for number, one in enumerate(item.questions, 1)}
    rows = item.marking.passage.rows if item.marking else ()
    return Answers(chosen, [at for at in range(len(rows)) if f"row{at + 1}" in form], seconds=seconds)
