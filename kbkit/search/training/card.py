"""The card of a trained model and the curve of its training, as text and as a drawing."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.display import charts
from kbkit.errors import MissingExtraError

CURVE, DRAWING = "curve.jsonl", "curve.svg"

_LIBRARIES = {
    "biencoder": ("sentence-transformers", "from sentence_transformers import SentenceTransformer\n\n"
                  'model = SentenceTransformer("{name}")'),
    "cross-encoder": ("sentence-transformers", "from sentence_transformers import CrossEncoder\n\n"
                      'model = CrossEncoder("{name}")'),
    "splade": ("sentence-transformers", "from sentence_transformers import SparseEncoder\n\n"
               'model = SparseEncoder("{name}")'),
    "text2text": ("transformers", "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n\n"
                  'model = AutoModelForSeq2SeqLM.from_pretrained("{name}")\n'
                  'tokenizer = AutoTokenizer.from_pretrained("{name}")'),
    "late": ("PyLate", 'from pylate import models\n\nmodel = models.ColBERT("{name}")'),
}  # fmt: skip
"""The library of each system, and how it loads a model."""

_CARD = """\
---
library_name: {library}
tags: [{library}, {system}, kbkit]
---

# {name}

A model of the system `{system}`, trained by `kbkit train {system}` on the questions of {dataset}: {train} questions for
training, {validation} for validation, {pairs} pairs. It started from {start}.

```
kbkit run KB QUERIES -o run.trec {option}
```

```python
{code}
```

It reads texts of nodes as kbkit writes them: `name: texts`, {relations}, cut after {length} word pieces.

## Training

Measured on the validation questions, over {pool} texts of the KB (epoch 0: before training; epoch {best} was kept). It
took {seconds:,.0f} s on {device} in {precision}. `kbkit.json` has all settings and versions.

{curve}
"""


def text(name: str, record: Mapping[str, Any]) -> str:
    """Return the card of a model."""
    system, settings = record["system"], record["settings"]
    library, code = _LIBRARIES.get(system, ("sentence-transformers", ""))
    option = f"--rerank {system}:{name}" if system in ("cross-encoder", "text2text") else f"-m {system}:{name}"
    return _CARD.format(
        library=library,
        system=system,
        name=name,
        dataset=record["dataset"],
        **record["questions"],
        start=record["start"]["model"],
        option=option,
        code=code.format(name=name),
        relations="then the names of neighbours by relation" if settings["neighbours"] else "without neighbours",
        length=settings["length"],
        best=record["best_epoch"],
        seconds=record["seconds"],
        device=record["device"],
        precision=record["precision"],
        curve=_table(record["curve"]),
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[_cell(row.get(name)) for name in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def chart(rows: Sequence[Mapping[str, Any]], title: str) -> charts.Chart:
    """Return a chart of the measures by epoch."""
    import polars as pl

    long = [
        (row["epoch"], name, float(value))
        for row in rows
        for name, value in row.items()
        if name not in ("epoch", "loss")
    ]
    frame = pl.DataFrame(long, schema=["epoch", "measure", "value"], orient="row")
    return charts.Chart(title, frame, "epoch", "value", colour="measure", lines=True, percent=True)


def draw(rows: Sequence[Mapping[str, Any]], title: str, folder: Path) -> None:
    """Draw the curve to a file in ``folder`` if the extra ``plot`` is installed."""
    with contextlib.suppress(MissingExtraError):
        charts.write([chart(rows, title)], folder / DRAWING)


def without_card(model: Any) -> dict[str, bool]:
    """Return the argument that keeps a library from writing a card of its own, if it has one."""
    return (
        {"create_model_card": False}
        if "create_model_card" in inspect.signature(model.save_pretrained).parameters
        else {}
    )
