"""Options of commands that ask language models, and how their values are read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.options import pairs
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls
    from kbkit.search.rerank import Reranker

Llm = Annotated[
    list[str] | None,
    typer.Option("--llm", metavar="MODEL", help="MODEL@URL, replay:FILE or none; repeat it for a second model."),
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="N", help="Stop at so many tokens; at so much money if --price is given."),
]
Price = Annotated[
    list[str] | None,
    typer.Option(
        "--price", metavar="IN,OUT", help="Of a million tokens, read and written; MODEL=IN,OUT for one model."
    ),
]
PromptFiles = Annotated[
    list[str] | None,
    typer.Option("--prompt", metavar="NAME=FILE", help="Your file in the place of a prompt; repeat it."),
]
Workers = Annotated[int, typer.Option("--workers", metavar="N", help="Calls that run at once.")]

_PRICE = "e.g. --price 0.15,0.6 or --price gpt-4o-mini=0.15,0.6"


@contextlib.contextmanager
def opened(
    context: typer.Context,
    kb: KnowledgeBase,
    llm: Sequence[str] | None,
    budget: float | None = None,
    price: Sequence[str] | None = None,
    prompt: Sequence[str] | None = None,
    workers: int = 8,
) -> Iterator[Calls | None]:
    """The calls that the options ask for, kept in the KB's workspace; None where no model is named, or ``none``.

    Progress is drawn meanwhile; at the end, and after an error too, a line a model says what was used.
    """
    if not llm or list(llm) == ["none"]:
        _refuse(budget=budget, price=price, prompt=prompt)
        yield None
        return
    from kbkit.cli.progress import bars
    from kbkit.llm.cache import FILE
    from kbkit.llm.models import open_calls, open_models

    prompts = {name: Path(file) for name, file in pairs(prompt or (), "--prompt", "rerank=mine.md").items()}
    quiet: bool = context.obj.quiet
    with contextlib.ExitStack() as stack:
        options: dict[str, Any] = {"workers": workers, "budget": budget, "prompts": prompts}
        models = open_models(llm)
        options["prices"] = prices(price, [model.name for model in models])
        calls = open_calls(models, kb.workspace.folder / FILE, **options)
        stack.callback(_report, calls, quiet)
        calls.listen = stack.enter_context(bars(quiet))
        yield calls


@contextlib.contextmanager
def reranker(
    context: typer.Context, kb: KnowledgeBase, name: str | None, budget: float | None, price: Sequence[str] | None
) -> Iterator[str | Reranker | None]:
    """What ``--rerank`` names: ``llm:MODEL@URL`` with its calls opened as above, anything else as it is."""
    kind, _, model = (name or "").partition(":")
    with opened(context, kb, [model] if kind == "llm" and model else None, budget, price) as calls:
        if calls is None:
            yield name
            return
        from kbkit.search.rerank import ModelReranker

        yield ModelReranker(calls)


@contextlib.contextmanager
def stages(context: typer.Context, calls: Calls | None) -> Iterator[Callable[[str, int, int], None]]:
    """Draws how far each stage of a run is; where models are asked, beside their own bars."""
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event

    with contextlib.ExitStack() as stack:
        listen = calls.listen if calls else stack.enter_context(bars(context.obj.quiet))
        yield lambda stage, done, total: listen(Event(stage, done, total)) if listen else None


def prices(given: Sequence[str] | None, models: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Prices by model; one without a model's name is for all that have none of their own."""
    named, common = {}, None
    for text in given or ():
        model, sign, numbers = text.rpartition("=")
        if model in named or (common is not None and not sign):
            raise KbError(f"--price says {'the price of ' + model if sign else 'one price for all'} twice", _PRICE)
        if sign:
            named[model] = _price(numbers, text)
        else:
            common = _price(text, text)
    return ({} if common is None else dict.fromkeys(models, common)) | named


def _price(numbers: str, text: str) -> tuple[float, float]:
    try:
        read, written = map(float, numbers.split(","))
    except ValueError:
        raise KbError(f"--price {text!r} is not IN,OUT", _PRICE) from None
    return read, written


def _refuse(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise KbError(
                f"--{name} is for language models, and none is named",
                "--llm MODEL@URL names one, and --rerank llm:MODEL@URL",
            )


def _report(calls: Calls, quiet: bool) -> None:
    from kbkit.display.render import clean

    calls.close()
    for line in [] if quiet else calls.account.lines():
        typer.echo(clean(line), err=True)
