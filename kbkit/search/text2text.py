"""A text-to-text model that says whether a text is relevant to a query: QUEST's classifier (section 4.3, appendix A).

The input is query and text, the output *relevant* or *not relevant*; the score of a text is the probability of the
first, from 0 to 1. Any T5-like model of the transformers library fits; see :class:`EncoderSettings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kbkit.errors import KbError
from kbkit.search import model_folder
from kbkit.search.rerank import RerankCandidate
from kbkit.search.system_kinds import SystemName
from kbkit.stores.embedders import quiet_transformers

RELEVANT, NOT_RELEVANT = "relevant", "not relevant"
LENGTH = 384
"""Word pieces of an input, as in QUEST's code, unless the model was trained with another number."""


def model_input(query: str, text: str) -> str:
    """Return what the model reads. A long input is cut at its end, which is the text's."""
    return f"query: {query}, doc: {text}"


def loaded(model: str) -> tuple[Any, Any]:
    """Return a model on disk and its tokenizer."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    quiet_transformers()
    return (
        AutoModelForSeq2SeqLM.from_pretrained(model, local_files_only=True),
        AutoTokenizer.from_pretrained(model, local_files_only=True),
    )


def probabilities(
    model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], *, length: int, batch: int
) -> list[float]:
    """Return the probability of *relevant* for each pair of query and text."""
    import torch

    labels = tokenizer(RELEVANT, return_tensors="pt").input_ids.to(model.device)
    # Texts of like length are read together, so that little is padded.
    order = sorted(range(len(pairs)), key=lambda number: len(pairs[number][1]))
    scores = [0.0] * len(pairs)
    model.eval()
    for start in range(0, len(order), batch):
        numbers = order[start : start + batch]
        texts = [model_input(*pairs[number]) for number in numbers]
        read = tokenizer(texts, truncation=True, max_length=length, padding=True, return_tensors="pt")
        with torch.inference_mode():
            logits = model(
                input_ids=read.input_ids.to(model.device),
                attention_mask=read.attention_mask.to(model.device),
                labels=labels.repeat(len(numbers), 1),
            ).logits
            likely = torch.log_softmax(logits.float(), dim=-1)  # of the pieces of *relevant* and of the end
            chosen = likely[:, range(labels.shape[1]), labels[0]].sum(dim=1).exp()
        for number, score in zip(numbers, chosen.tolist(), strict=True):
            scores[number] = score
    return scores


class TextToText:
    """A reranker by the probability of *relevant*."""

    def __init__(self, system: SystemName) -> None:
        folder = model_folder.opened(system)
        with model_folder.loading(system):
            model, self._tokenizer = loaded(folder.model)
        self._model = model.to(_device(str(system.settings["device"])))
        self.name = system.text
        self._batch = int(system.settings["batch"])
        trained = folder.about.get("settings")
        own = trained.get("length") if isinstance(trained, dict) else None
        self._length = int(system.settings["length"] or own or LENGTH)
        self._relations = folder.relations
        self.settings = {**folder.settings(system), "length": self._length}

    def score(self, query: str, candidates: Sequence[RerankCandidate]) -> Sequence[float]:
        """See :class:`kbkit.search.rerank.Reranker`."""
        read = candidates if self._relations else [candidate.alone() for candidate in candidates]
        pairs = [(query, candidate.document()) for candidate in read]
        return probabilities(self._model, self._tokenizer, pairs, length=self._length, batch=self._batch)


def _device(name: str) -> str:
    import torch

    chosen = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.device(chosen)
    except RuntimeError:
        raise KbError(f"Invalid device {chosen!r}", "Use cpu or cuda") from None
    return chosen
