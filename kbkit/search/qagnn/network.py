"""The network of QAGNN in plain PyTorch: attention over typed edges, conditioned on the question."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from kbkit.search.qagnn.subgraphs import FEATURES, QuestionGraph

_KINDS = 4


class EdgeAttention(nn.Module):  # type: ignore[misc] # of a library without types
    """A layer: messages from a node, its relation and both nodes' types, weighted by attention (GAT with edges)."""

    def __init__(self, size: int, edge_kinds: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.edge = nn.Embedding(edge_kinds, size)
        self.query, self.key, self.message = (nn.Linear(size * n, size) for n in (1, 2, 2))
        self.out = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, size))
        self.norm = nn.LayerNorm(size)

    def forward(self, x: torch.Tensor, edges: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        """Return the nodes (n, size) after a step along ``edges`` (2, m)."""
        source, target = edges
        sent = torch.cat([x[source], self.edge(relations)], dim=1)
        shape = (len(source), self.heads, -1)
        scores = (self.query(x)[target].view(shape) * self.key(sent).view(shape)).sum(2) / (
            x.shape[1] / self.heads
        ) ** 0.5
        weights = torch.exp(scores - scores.detach().max())
        total = torch.zeros(len(x), self.heads, device=x.device).index_add(0, target, weights)
        weighted = (weights / total[target].clamp_min(1e-9))[:, :, None] * self.message(sent).view(shape)
        gathered = torch.zeros_like(x).index_add(0, target, weighted.reshape(len(source), -1))
        updated: torch.Tensor = self.norm(x + self.out(gathered))
        return updated


class QaGnnNetwork(nn.Module):  # type: ignore[misc] # of a library without types
    """Scores the nodes of a part of the KB for a question.

    A node's score is a linear function of its features, which begins as the search's own order, plus what the network
    makes of it, which begins at 0.
    """

    def __init__(
        self, dimension: int, types: int, edge_kinds: int, size: int, layers: int, dropout: float = 0.2
    ) -> None:
        super().__init__()
        self.node, self.context = nn.Linear(dimension, size), nn.Linear(dimension, size)
        self.of_kind, self.of_type = nn.Embedding(_KINDS, size), nn.Embedding(types + 1, size)
        self.numbers = nn.Linear(len(FEATURES), size)
        self.layers = nn.ModuleList(EdgeAttention(size, edge_kinds) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.score = nn.Sequential(nn.Linear(4 * size, size), nn.GELU(), nn.Dropout(dropout), nn.Linear(size, 1))
        self.base = nn.Linear(len(FEATURES), 1)
        with torch.no_grad():
            self.base.weight.zero_()
            self.base.weight[0, 0] = 5.0  # the scores of the search, spread for a softmax
            self.base.bias.zero_()
            self.score[-1].weight.zero_()
            self.score[-1].bias.zero_()

    def forward(self, graph: QuestionGraph, vectors: Any) -> torch.Tensor:
        """Return the scores of the nodes; ``vectors`` are those of the KB for them."""
        device = self.base.weight.device
        features = torch.from_numpy(graph.features).to(device)
        asked = self.context(torch.from_numpy(graph.query).to(device))[None]
        x = torch.cat([self.node(torch.as_tensor(vectors, device=device)), asked])
        kinds, types = torch.from_numpy(graph.kinds).to(device), torch.from_numpy(graph.types).to(device)
        x = self.dropout(x + self.of_kind(kinds) + self.of_type(types) + self.numbers(features))
        first = x
        edges, relations = torch.from_numpy(graph.edges).to(device), torch.from_numpy(graph.relations).to(device)
        for layer in self.layers:
            x = self.dropout(layer(x, edges, relations))
        nodes, context = x[:-1], x[-1:].expand(len(x) - 1, -1)
        joined = torch.cat([nodes, first[:-1], context, nodes * asked], dim=1)
        scores: torch.Tensor = (self.score(joined) + self.base(features[:-1]))[:, 0]
        return scores
