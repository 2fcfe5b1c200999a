"""Call prompts on models: cached, in parallel, with an account and a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.display.progress import Event, Listener
from kbkit.errors import KbError, Option, UnknownNameError
from kbkit.llm import prompts as prompt_files
from kbkit.llm import threads
from kbkit.llm.account import Account, BudgetError, Prices
from kbkit.llm.cache import Cache
from kbkit.llm.client import NO_ROOM, Model, ModelRequest, Reply, missing_model
from kbkit.llm.prompts import ModelAnswer, Prompt, complaint, parse_reply
from kbkit.llm.recording import Replay

__all__ = ["Account", "BudgetError", "Calls", "ModelAnswer"]

WORKERS = 8
MAX_WORKERS = 1024


class Calls:
    """Calls to one or more models; the first is the default, ``second`` is the second, if any.

    * ``workers``: number of parallel calls
    * ``budget``: limit in the currency of ``prices`` (by model, per million input and output tokens), else in tokens
    * ``prompts``: user's files that replace shipped prompts, by name
    * ``listen``: progress listener; ``stage`` is the prompt's name

    Raises :class:`KbError` for invalid arguments.
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
        if not 1 <= workers <= MAX_WORKERS:
            raise KbError(f"Invalid number of workers: {workers}", f"Use 1 to {MAX_WORKERS:,}")
        self._models = {model.name: model for model in models}
        self.cache = cache
        sources = {model.name: "the recording" if isinstance(model, Replay) else "the cache" for model in models}
        self.account = Account(sources, prices, budget)
        self._workers, self.listen = workers, listen
        self._own = {name: Path(file) for name, file in (prompts or {}).items()}
        self._prompts: dict[str, Prompt] = {}
        for name in self._own:
            self.prompt(name)

    @property
    def models(self) -> tuple[str, ...]:
        """The models' names, in order."""
        return tuple(self._models)

    @property
    def second(self) -> str:
        """The second model, or the first if there is only one."""
        return self.models[1] if len(self._models) > 1 else self._model(None).name

    def prompt(self, name: str) -> Prompt:
        """Return a prompt: the user's own, or the shipped one."""
        if name not in self._prompts:
            self._prompts[name] = prompt_files.load(name, self._own.get(name))
        return self._prompts[name]

    def ask(
        self, prompt: str, inputs: Sequence[Mapping[str, Any]], model: str | None = None, sample: int = 0
    ) -> list[ModelAnswer]:
        """Return the answers to a prompt, in the order of ``inputs``.

        Cached calls are free, and equal calls are made once. Each reply is cached at once, so that an interrupted run
        (:class:`BudgetError`, :class:`KbError` of an endpoint, Ctrl-C) pays only for the remaining calls when repeated.
        An invalid answer is requested once more, with the problem; if that fails too, its ``problem`` is set.
        """
        target = self._model(model)
        form = self.prompt(prompt)
        batch = [form.request(values, sample) for values in inputs]
        keys = [request.key(target.name) for request in batch]
        requests = dict(zip(keys, batch, strict=True))
        known = self._known(target, list(requests))
        answers: dict[str, ModelAnswer] = {}

        def resolve(key: str) -> None:
            answers[key] = self._answer(target, requests[key], key, known.get(key))

        def report() -> None:
            if self.listen is not None:
                self.listen(Event(prompt, len(answers), len(requests)))

        for key, reply in known.items():
            answer = parse_reply(reply, form.schema, form.max_tokens)
            if not answer.problem:  # an invalid answer is requested again, which may be a paid call
                answers[key] = answer
        self.account.add_cached(target.name, len(answers))
        report()
        try:
            threads.each(resolve, [key for key in requests if key not in answers], self._workers, report)
        except BudgetError:
            self.account.check_budget()  # includes calls that were in progress
            raise
        return [answers[key] for key in keys]

    def close(self) -> None:
        """Close the cache."""
        self.cache.close()

    # -- one call -----------------------------------------------------------------------------------------------------

    def _answer(self, model: Model, request: ModelRequest, key: str, known: Reply | None) -> ModelAnswer:
        reply = self._reply(model, request, key, known)
        answer = parse_reply(reply, request.schema, request.max_tokens)
        if not answer.problem:
            return answer
        if reply == NO_ROOM:  # the messages that request another answer are longer still
            self.account.add_unfit(model.name)
            return answer
        again = request.followed(*complaint(reply, answer.problem, request.schema))
        key = again.key(model.name)
        reply = self._reply(model, again, key, self._known(model, [key]).get(key))
        answer = parse_reply(reply, again.schema, again.max_tokens)
        if answer.problem:
            self.account.add_unfit(model.name)
        return answer

    def _known(self, model: Model, keys: Sequence[str]) -> dict[str, Reply]:
        return {} if isinstance(model, Replay) else self.cache.find(keys)

    def _reply(self, model: Model, request: ModelRequest, key: str, known: Reply | None) -> Reply:
        """Return a known reply, or call the model and cache its reply."""
        if known is None and not isinstance(model, Replay):
            return self._paid(model, request, key)
        reply = known or model.complete(request)
        self.account.add_cached(model.name)
        return reply

    def _paid(self, model: Model, request: ModelRequest, key: str) -> Reply:
        """Call the model within the budget.

        If another process cached a reply first, use that one, so that a recording reproduces the run.
        """
        self.account.check_budget()
        reply = model.complete(request)
        self.cache.put(key, model.name, request, reply)
        self.account.add(model.name, reply.usage)
        if self.account.budget is not None and not any(reply.usage) and reply != NO_ROOM:
            raise KbError(f"{model.name} does not report its usage of tokens", "Omit ", Option("budget"))
        return self.cache.get(key) or reply

    def _model(self, name: str | None) -> Model:
        if not self._models:
            raise missing_model()
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            raise UnknownNameError("model", name, self._models)
        return self._models[name]
