"""Retriever ``qagnn``: hits of a search and their surroundings, in the order of a trained network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kbkit.errors import KbError
from kbkit.search import model_folder
from kbkit.search.qagnn.subgraphs import GraphMaker, GraphNames, QuestionGraph
from kbkit.search.ranking import Ranking
from kbkit.search.system_kinds import SystemName
from kbkit.stores import Stores
from kbkit.stores.arrays import Within

WEIGHTS = "model.safetensors"
BELOW = 1e6
"""How far hits beyond the part are below those in it."""


class QaGnn:
    """A trained QAGNN; ``name`` and ``settings`` as of any retriever."""

    def __init__(self, stores: Stores, system: SystemName) -> None:
        self._stores, self._system = stores, system
        self._folder = model_folder.opened(system)
        self.name = system.text
        self._about: Mapping[str, Any] = self._folder.about.get("network") or {}
        if not self._about:
            raise KbError(f"No model of qagnn in {system.model}", "Train one: kbkit train qagnn KB DATASET -o MODEL")
        if (
            self._about["dimension"] != stores.vectors.matrix.shape[1]
            or self._about["embedder"] != stores.embedder.name
        ):
            trained = f"{self._about['embedder']}, {self._about['dimension']} dimensions"
            raise KbError(f"{system.model} was trained with other vectors than those of the KB ({trained})")
        self.settings: Mapping[str, Any] = {"model": self._folder.model, "revision": self._folder.revision}

    @cached_property
    def _maker(self) -> GraphMaker:
        about = self._about
        vocabulary = GraphNames(about["relations"], about["types"])
        return GraphMaker(self._stores, vocabulary, about["depth"], about["size"])

    @cached_property
    def _network(self) -> Any:
        import torch
        from safetensors.torch import load_file

        model = network(self._about)
        with model_folder.loading(self._system):
            model.load_state_dict(load_file(str(f"{self._system.model}/{WEIGHTS}")))
        chosen = str(self._system.settings["device"])
        return model.eval().to(chosen or ("cuda" if torch.cuda.is_available() else "cpu"))

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """See :class:`kbkit.search.system_kinds.TextRetriever`."""
        graphs = self._maker.of(queries, k, within)
        return [ranked(self._network, graph, self._stores, k) for graph in graphs]


def network(about: Mapping[str, Any]) -> Any:
    """Return a network of the sizes that a model records."""
    from kbkit.search.qagnn.network import QaGnnNetwork

    edge_kinds = GraphNames(about["relations"], about["types"]).edge_kinds
    return QaGnnNetwork(about["dimension"], len(about["types"]), edge_kinds, about["hidden"], about["layers"])


def ranked(model: Any, graph: QuestionGraph, stores: Stores, k: int) -> Ranking:
    """Return the candidates of a part by the network's scores, then the hits beyond it."""
    import torch

    if not len(graph.ids):
        return Ranking(graph.ids, np.empty(0))
    with torch.inference_mode():
        scores = model(graph, stores.vectors.matrix.take(graph.ids)).cpu().numpy().astype(np.float64)
    ids, scores = graph.ids[graph.candidates], scores[graph.candidates]
    order = np.lexsort((ids, -scores))
    lowest = float(scores.min()) if len(scores) else 0.0
    below = lowest - BELOW - np.arange(len(graph.rest))
    return Ranking(np.concatenate([ids[order], graph.rest])[:k], np.concatenate([scores[order], below])[:k])
