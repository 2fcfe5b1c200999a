"""Calls of a run: prompts to models, through the cache, many at once, with an account and a budget."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.display.progress import Event, Listener
from kbkit.errors import KbError, UnknownNameError, plural
from kbkit.llm import prompts as prompt_files
from kbkit.llm import reading, threads
from kbkit.llm.account import Account, BudgetError, Prices, Tally
from kbkit.llm.cache import Cache
from kbkit.llm.client import Model, Reply, Request
from kbkit.llm.prompts import Prompt
from kbkit.llm.reading import Answer
from kbkit.llm.replay import Replay

__all__ = ["Account", "Answer", "BudgetError", "Calls"]

WORKERS = 8
_MOST_WORKERS = 1024


class Calls:
    """Asks models, at least one; the first is the default, ``second`` the second if there is one.

    ``workers`` calls run at once. ``budget`` is in the currency of ``prices`` (by model: what a million tokens read and
    written cost), else in tokens. ``prompts`` are a user's files in the place of shipped ones, by name. ``listen``
    hears how many of a batch are done (``stage`` is the prompt's name). Raises :class:`KbError` for what cannot be.
    """

    def __init__(
        self,
        models: Sequence[Model],
        cache: Cache,
        *,
        workers: int = WORKERS,
        budget: float | None = None,
        prices: Mapping[str, Prices] | None = None,
        prompts: Mapping[str, str | Path] | None = None,
        listen: Listener | None = None,
    ) -> None:
        self._models = {model.name: model for model in models}
        self.cache = cache
        self.account = Account({model.name: _tally(model, prices or {}) for model in models})
        self._workers, self._budget, self.listen = workers, budget, listen
        self._own = {name: Path(file) for name, file in (prompts or {}).items()}
        self._prompts: dict[str, Prompt] = {}
        self._guard = threading.Lock()
        self._check(prices or {})

    @property
    def models(self) -> tuple[str, ...]:
        """The models' names, in order."""
        return tuple(self._models)

    @property
    def second(self) -> str:
        """The second model, or the first if there is one only."""
        return self.models[1] if len(self._models) > 1 else self._model(None).name

    def prompt(self, name: str) -> Prompt:
        """The prompt that is asked under this name: the user's own or the shipped one."""
        if name not in self._prompts:
            self._prompts[name] = prompt_files.load(name, self._own.get(name))
        return self._prompts[name]

    def ask(
        self, prompt: str, inputs: Sequence[Mapping[str, Any]], model: str | None = None, sample: int = 0
    ) -> list[Answer]:
        """The answers to a prompt, in the order of ``inputs``.

        What the cache knows costs nothing, and equal calls are made once. Each reply is kept as it comes, so that a
        run which stops (:class:`BudgetError`, an endpoint's :class:`KbError`, Ctrl-C) can be run again and pays for the
        rest only. An answer that does not fit is asked for once more, with what is wrong; then its ``problem`` is set.
        """
        asked = self._model(model)
        form = self.prompt(prompt)
        wanted = [form.request(values, sample) for values in inputs]
        keys = [request.key(asked.name) for request in wanted]
        requests = dict(zip(keys, wanted, strict=True))
        known = self._known(asked, list(requests))
        answers: dict[str, Answer] = {}

        def resolve(key: str) -> None:
            answers[key] = self._answer(asked, requests[key], key, known.get(key))

        for key, reply in known.items():
            answer = reading.read(reply, form.schema, form.max_tokens)
            if not answer.problem:  # else it is asked again, which may be a call
                answers[key] = answer
        self._count_known(asked, len(answers))
        self._tell(prompt, len(answers), len(requests))
        rest = [key for key in requests if key not in answers]
        workers = min(self._workers, len(rest))
        try:
            threads.each(resolve, rest, workers, lambda: self._tell(prompt, len(answers), len(requests)))
        except BudgetError:
            self._check_budget()  # with what was used by calls that were under way
            raise
        return [answers[key] for key in keys]

    def close(self) -> None:
        """Close the cache."""
        self.cache.close()

    # -- one call -----------------------------------------------------------------------------------------------------

    def _answer(self, model: Model, request: Request, key: str, known: Reply | None) -> Answer:
        reply = self._reply(model, request, key, known)
        answer = reading.read(reply, request.schema, request.max_tokens)
        if not answer.problem:
            return answer
        again = request.followed(*reading.complaint(reply, answer.problem, request.schema))
        key = again.key(model.name)
        answer = reading.read(
            self._reply(model, again, key, self._known(model, [key]).get(key)), again.schema, again.max_tokens
        )
        if answer.problem:
            with self._guard:
                self.account.models[model.name].unfit += 1
        return answer

    def _known(self, model: Model, keys: Sequence[str]) -> dict[str, Reply]:
        return {} if isinstance(model, Replay) else self.cache.find(keys)

    def _reply(self, model: Model, request: Request, key: str, known: Reply | None) -> Reply:
        """A known reply, or one that is asked for and kept."""
        if known is None and not isinstance(model, Replay):
            return self._paid(model, request, key)
        reply = known or model.complete(request)
        self._count_known(model, 1)
        return reply

    def _paid(self, model: Model, request: Request, key: str) -> Reply:
        """A reply of the model itself, within the budget. Where another process kept one first, all go by that, so
        that a recording repeats the run.
        """
        self._check_budget()
        reply = model.complete(request)
        self.cache.put(key, model.name, request, reply)
        with self._guard:
            self.account.models[model.name].add(reply.usage)
        if self._budget is not None and not any(reply.usage):
            raise KbError(f"{model.name} does not say how many tokens it used", "no budget can be kept: leave it out")
        return self.cache.get(key) or reply

    def _count_known(self, model: Model, count: int) -> None:
        tally = self.account.models[model.name]
        with self._guard:
            tally.calls += count
            tally.cached += count

    def _check_budget(self) -> None:
        with self._guard:
            if self._budget is None:
                return
            account, cost = self.account, self.account.cost
            spent = account.input + account.output if cost is None else cost
            if spent < self._budget:
                return
            calls = account.calls - account.cached
        limit = f"{self._budget:,.0f} tokens" if cost is None else f"{self._budget:,.4f}"
        used = f"{spent:,.0f}" if cost is None else f"{spent:,.4f}"
        raise BudgetError(
            f"the budget of {limit} is spent ({used} used by {plural(calls, 'call')})",
            "what is done is kept: run it again with a larger --budget",
        )

    # -- what was given -----------------------------------------------------------------------------------------------

    def _model(self, name: str | None) -> Model:
        if not self._models:
            raise KbError("no language model is named", "--llm MODEL@URL names one")
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            raise UnknownNameError("model", name, self._models)
        return self._models[name]

    def _check(self, prices: Mapping[str, Prices]) -> None:
        if not 1 <= self._workers <= _MOST_WORKERS:
            raise KbError(f"workers is {self._workers}", f"it is from 1 to {_MOST_WORKERS:,}")
        if self._budget is not None and not (math.isfinite(self._budget) and self._budget >= 0):
            raise KbError(f"the budget is {self._budget}", "it is 0 (the cache only) or more")
        for name, price in prices.items():
            if name not in self._models:
                raise UnknownNameError("model", name, self._models, "prices")
            if not all(math.isfinite(part) and part >= 0 for part in price):
                raise KbError(f"the price of {name} is {price}", "two numbers, 0 or more, for a million tokens each")
        unpriced = [name for name, tally in self.account.models.items() if tally.prices is None]
        if self._budget is not None and prices and unpriced:
            raise KbError(f"a budget in money needs the price of {unpriced[0]} too", f"--price {unpriced[0]}=IN,OUT")
        for name in self._own:
            self.prompt(name)

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self.listen is not None:
            self.listen(Event(stage, done, total))


def _tally(model: Model, prices: Mapping[str, Prices]) -> Tally:
    source = "the recording" if isinstance(model, Replay) else "the cache"
    return Tally(prices=prices.get(model.name), source=source)
