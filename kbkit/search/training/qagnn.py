"""Train QAGNN: the answers of a question against the other nodes of its part of the KB, by softmax."""

from __future__ import annotations

import importlib.metadata
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.directory.files import replacing, write_files
from kbkit.errors import KbError
from kbkit.search import model_folder
from kbkit.search.qagnn import retriever
from kbkit.search.qagnn.subgraphs import GraphMaker, GraphNames, QuestionGraph
from kbkit.search.training.questions import QuestionSplits, TrainingQuestion
from kbkit.search.training.settings import TrainingSettings
from kbkit.search.training.trainer import TrainedModel, TrainingEvents
from kbkit.stores import Stores

HIDDEN, LAYERS, SIZE, DEPTH, RATE = 64, 3, 300, 100, 1e-3
_DECAY = 0.01


def fit(
    splits: QuestionSplits,
    out: Path,
    settings: TrainingSettings,
    *,
    dataset: str,
    events: TrainingEvents,
) -> TrainedModel:
    """Train to the best epoch by the first measure of validation, and write the folder ``out``.

    The start (epoch 0) is the order of the search itself. An interrupted training starts over: it takes minutes.
    """
    import torch

    stores = splits.stores
    about = _shape(stores, settings)
    torch.manual_seed(settings.seed)
    started = time.perf_counter()
    maker = GraphMaker(stores, GraphNames(about["relations"], about["types"]), about["depth"], about["size"])
    parts = [
        maker.of([question.text for question in part], DEPTH, splits.within)
        for part in (splits.train, splits.validation)
    ]
    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    network = retriever.network(about).to(device)

    def measured(epoch: int, **more: float) -> dict[str, Any]:
        network.eval()
        rankings = [retriever.ranked(network, graph, stores, DEPTH) for graph in parts[1]]
        row = {"epoch": epoch, **splits.score(splits.validation, rankings), **more}
        events.line(", ".join(f"{name} {value:.4g}" for name, value in row.items()))
        return row

    curve = [measured(0)]
    measure = next(name for name in curve[0] if name != "epoch")
    best, weights = 0, _weights(network)
    optimizer = torch.optim.AdamW(network.parameters(), settings.rate or RATE, weight_decay=_DECAY)
    taught = _answered(splits.train, parts[0])
    if not taught:
        raise KbError("No answer of a training question is in its part of the KB", "Train on other questions")
    rng = np.random.default_rng(settings.seed)
    for epoch in range(1, settings.epochs + 1):
        loss = _epoch(network, optimizer, taught, stores, rng, settings.batch)
        events.step(epoch, settings.epochs)
        curve.append(measured(epoch, loss=loss))
        if curve[-1][measure] > curve[best][measure]:
            best, weights = epoch, _weights(network)
        if epoch - best >= settings.patience:
            break
    trained = TrainedModel(out, curve, best, time.perf_counter() - started, measure)
    questions = {"train": len(splits.train), "taught": len(taught), "validation": len(splits.validation)}
    record = {
        **{"version": model_folder.VERSION, "kbkit": importlib.metadata.version("kbkit-kg")},
        **{"torch": torch.__version__, "system": "qagnn", "dataset": dataset, "kb": stores.schema.name},
        **{"questions": questions, "settings": asdict(settings), "network": about, "curve": curve},
        **{"best_epoch": best, "seconds": round(trained.seconds, 1), "device": device},
    }
    _write(out, weights, record)
    return trained


def _shape(stores: Stores, settings: TrainingSettings) -> dict[str, Any]:
    """Return what the network and its graphs are made of. Raises :class:`KbError` for a missing store."""
    for store in ("adjacency", "vectors"):
        if not stores.has(store):
            raise KbError(f"qagnn needs {store}, which the KB does not have")
    return {
        "relations": list(stores.adjacency.pairs()),
        "types": [kind.name for kind in stores.schema.node_types],
        "dimension": int(stores.vectors.matrix.shape[1]),
        "embedder": stores.embedder.name,
        "depth": settings.depth or DEPTH,
        "size": max(SIZE, settings.depth),
        "hidden": HIDDEN,
        "layers": LAYERS,
    }


def _answered(
    questions: Sequence[TrainingQuestion], graphs: Sequence[QuestionGraph]
) -> list[tuple[QuestionGraph, np.ndarray[Any, np.dtype[np.bool_]]]]:
    """Return the parts that have an answer, and which of their nodes are answers."""
    marked = [(graph, np.isin(graph.ids, question.answers)) for question, graph in zip(questions, graphs, strict=True)]
    return [(graph, answers) for graph, answers in marked if (answers & graph.candidates).any()]


def _epoch(network: Any, optimizer: Any, taught: Sequence[Any], stores: Any, rng: Any, batch: int) -> float:
    """Take a step for every batch of questions in random order; return the mean loss."""
    import torch

    network.train()
    total, order = 0.0, rng.permutation(len(taught))
    for first in range(0, len(order), batch):
        optimizer.zero_grad()
        chosen = order[first : first + batch]
        for number in chosen.tolist():
            graph, answers = taught[number]
            scores = network(graph, stores.vectors.matrix.take(graph.ids))
            scores = scores[torch.from_numpy(graph.candidates)]
            right = torch.from_numpy(answers[graph.candidates])
            loss = torch.logsumexp(scores, 0) - torch.logsumexp(scores[right], 0)
            (loss / len(chosen)).backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    return total / len(taught)


def _weights(network: Any) -> dict[str, Any]:
    return {name: value.detach().cpu().clone() for name, value in network.state_dict().items()}


def _write(out: Path, weights: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    from safetensors.torch import save_file

    with replacing(out) as folder:
        folder.mkdir(exist_ok=True)
        save_file(dict(weights), str(folder / retriever.WEIGHTS))
        write_files(
            {
                folder / model_folder.ABOUT: json.dumps(record, indent=1) + "\n",
                folder / model_folder.CARD: _card(out.name, record),
            }
        )


def _card(name: str, record: Mapping[str, Any]) -> str:
    rows = "\n".join(", ".join(f"{key} {value:.4g}" for key, value in row.items()) for row in record["curve"])
    asked, seconds = record["questions"], record["seconds"]
    return (
        f"# {name}\n\nA QAGNN for the KB {record['kb']}, trained by `kbkit train qagnn` on {asked['taught']} questions"
        f" of {record['dataset']} in {seconds:,.0f} s. Use: `kbkit run KB QUERIES -m qagnn:{name}`.\n\n"
        f"Validation ({asked['validation']} questions; epoch {record['best_epoch']} was kept, 0 is the search alone):"
        f"\n\n```\n{rows}\n```\n"
    )
