"""Options of commands that use language models, and how to open the models they name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.options import note, option, pairs
from kbkit.errors import KbError, Option
from kbkit.llm.client import VARIABLE, missing_model

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls
    from kbkit.search.rerank import Reranker

Llm = Annotated[
    list[str] | None,
    option(
        "--llm MODEL",
        f"Language model: MODEL@URL, replay:FILE or none (default: ${VARIABLE}); repeatable.",
        envvar=VARIABLE,
        show_envvar=False,
    ),
]
Budget = Annotated[
    float | None,
    option("--budget N", "Maximum number of tokens, or amount of money if --price is given.", rare=True),
]
Price = Annotated[
    list[str] | None,
    option("--price IN,OUT", "Price of a million input and output tokens; MODEL=IN,OUT for one model.", rare=True),
]
Prompts = Annotated[
    list[str] | None,
    option("--prompt NAME=FILE", "Replace a prompt (see kbkit llm prompts); repeatable.", rare=True),
]
Workers = Annotated[int, option("--workers N", "Number of concurrent calls.", rare=True)]


@dataclass(frozen=True)
class ModelOptions:
    """The language models of a command, and how they are called."""

    llm: Llm = None
    budget: Budget = None
    price: Price = None
    prompt: Prompts = None
    workers: Workers = 8

    def opened(
        self, context: typer.Context, kb: KnowledgeBase | Path
    ) -> contextlib.AbstractContextManager[Calls | None]:
        """Open the models; see :func:`opened`."""
        return opened(context, kb, self.llm, self.budget, self.price, self.prompt, self.workers)


NO_MODELS = ModelOptions()

_EXAMPLES = "For example ", Option("price", "0.15,0.6"), " or ", Option("price", "gpt-4o-mini=0.15,0.6")


@contextlib.contextmanager
def opened(
    context: typer.Context,
    kb: KnowledgeBase | Path,
    llm: Sequence[str] | None,
    budget: float | None = None,
    price: Sequence[str] | None = None,
    prompt: Sequence[str] | None = None,
    workers: int = 8,
) -> Iterator[Calls | None]:
    """Open the named models; None if no model is named. Calls are recorded in the KB's workspace, or in a folder.

    Progress is drawn during the block. At its end, even after an error, one line per model reports its usage.
    """
    if not llm or list(llm) == ["none"]:
        _refuse("llm", "", budget=budget, price=price, prompt=prompt)
        yield None
        return
    from kbkit.cli.progress import bars
    from kbkit.llm.cache import FILE
    from kbkit.llm.models import open_calls, open_models

    prompts = {name: Path(file) for name, file in pairs(prompt, "prompt", "rerank=mine.md").items()}
    quiet: bool = context.obj.quiet
    with contextlib.ExitStack() as stack:
        options: dict[str, Any] = {"workers": workers, "budget": budget, "prompts": prompts}
        models = open_models(llm)
        options["prices"] = prices(price, [model.name for model in models])
        folder = kb if isinstance(kb, Path) else kb.workspace.folder
        calls = open_calls(models, folder / FILE, **options)
        stack.callback(_report, context, calls)
        calls.listen = stack.enter_context(bars(quiet))
        yield calls


def _refuse(option: str, kind: str, **given: object) -> None:
    """Raise the error of options for a language model that are given without one, which ``option`` names."""
    for name, value in given.items():
        if value:
            raise missing_model(f"Option --{name} needs a language model", option, kind)


def _report(context: typer.Context, calls: Calls) -> None:
    calls.close()
    note(context, calls.account.lines())


def default_models() -> list[str]:
    """Return the models that the environment names."""
    return os.environ.get(VARIABLE, "").split()


def is_default(context: typer.Context) -> bool:
    """Return whether the models of ``--llm`` are those of the environment."""
    source = context.get_parameter_source("llm")
    return source is not None and source.name == "ENVIRONMENT"


@contextlib.contextmanager
def reranker(
    context: typer.Context, kb: KnowledgeBase, name: str | None, budget: float | None, price: Sequence[str] | None
) -> Iterator[str | Reranker | None]:
    """Open the reranker of ``--rerank``: the model of ``llm:MODEL@URL``, any other name unchanged."""
    kind, _, model = (name or "").partition(":")
    models = ([model] if model else default_models()) if kind == "llm" else None
    if models is None:
        _refuse("rerank", "llm:", budget=budget, price=price)
    if models == []:
        raise missing_model("Option --rerank llm needs a language model", "rerank", "llm:")
    with opened(context, kb, models, budget, price) as calls:
        if calls is None:
            yield name
            return
        from kbkit.search.rerank import ModelReranker

        yield ModelReranker(calls)


@contextlib.contextmanager
def stages(context: typer.Context, calls: Calls | None) -> Iterator[Callable[[str, int, int], None]]:
    """Draw one bar per stage of a run, next to the bars of model calls."""
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event

    with contextlib.ExitStack() as stack:
        listen = calls.listen if calls else stack.enter_context(bars(context.obj.quiet))
        yield lambda stage, done, total: listen(Event(stage, done, total)) if listen else None


def prices(values: Sequence[str] | None, models: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return prices by model; a price without a model applies to all models without a price of their own."""
    named, common = {}, None
    for text in values or ():
        model, sign, numbers = text.rpartition("=")
        if model in named or (common is not None and not sign):
            raise KbError(f"Duplicate price for {model or 'all models'}", *_EXAMPLES)
        if sign:
            named[model] = _price(numbers, text)
        else:
            common = _price(text, text)
    return ({} if common is None else dict.fromkeys(models, common)) | named


def _price(numbers: str, text: str) -> tuple[float, float]:
    try:
        read, written = map(float, numbers.split(","))
    except ValueError:
        raise KbError(f"Invalid price {text!r}", *_EXAMPLES) from None
    return read, written
