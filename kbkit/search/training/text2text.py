"""Train a text-to-text model to say *relevant* or *not relevant* (QUEST, appendix A), validated by reranking.

Half of the negatives are drawn from the best nodes by full text, half at random, and an answer is repeated until there
are as many answers as negatives.
"""

from __future__ import annotations

from typing import Any

from kbkit.search import model_folder, text2text
from kbkit.search.ranking import Ranking
from kbkit.search.training.fit import Training
from kbkit.search.training.trainer import TrainingParts

RATE = 1e-4
"""Learning rate of the start from a model: T5's, which is higher than that of encoders."""


def parts(training: Training) -> TrainingParts:
    """Return what is trained: a model of the transformers library, with the trainer of that library."""
    from transformers import DataCollatorForSeq2Seq

    settings = training.settings
    with model_folder.loading_start(training.kind.name, training.start):
        model, tokenizer = text2text.loaded(training.start)
    length = settings.length or text2text.LENGTH
    if settings.device:
        model.to(settings.device)

    def rank(current: Any) -> list[Ranking]:
        return training.reranked(
            lambda pairs: text2text.probabilities(current, tokenizer, pairs, length=length, batch=4 * settings.batch)
        )

    return TrainingParts(
        _trainer_class(),
        _arguments,
        model,
        None,
        _rows(training, tokenizer, length),
        rank,
        {"data_collator": DataCollatorForSeq2Seq(tokenizer, model=model), "processing_class": tokenizer},
        has_duplicates=True,
        rate=RATE,
        saved=(tokenizer,),
    )


def _rows(training: Training, tokenizer: Any, length: int) -> dict[str, list[Any]]:
    """Return the pieces of inputs and outputs: those of a negative once, of an answer as often as it has negatives."""
    texts = training.pairs.texts
    inputs, labels = [], []
    for pair in training.pairs.pairs:
        for node in pair.negatives:
            inputs += [text2text.model_input(pair.question.text, texts[at]) for at in (pair.positive, node)]
            labels += [text2text.RELEVANT, text2text.NOT_RELEVANT]
    read = tokenizer(inputs, truncation=True, max_length=length)
    known = {label: tokenizer(label)["input_ids"] for label in (text2text.RELEVANT, text2text.NOT_RELEVANT)}
    return {
        "input_ids": read["input_ids"],
        "attention_mask": read["attention_mask"],
        "labels": [known[label] for label in labels],
    }


def _arguments(batch_sampler: Any, **rest: Any) -> Any:  # noqa: ARG001 - of sentence-transformers
    from transformers import TrainingArguments

    return TrainingArguments(**rest)


def _trainer_class() -> type:
    from transformers import Trainer

    class RerankingTrainer(Trainer):  # type: ignore[misc]
        """The library's trainer, with the evaluator of sentence-transformers'."""

        def __init__(self, *, loss: None, evaluator: Any, train_dataset: Any, **rest: Any) -> None:  # noqa: ARG002
            # The library asks for a set to evaluate on; the evaluator has its own.
            super().__init__(train_dataset=train_dataset, eval_dataset=train_dataset, **rest)
            self._evaluator = evaluator

        def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
            measures = {f"eval_{name}": value for name, value in self._evaluator(self.model).items()}
            self.log(measures)
            events = self.callback_handler
            self.control: Any = events.on_evaluate(self.args, self.state, self.control, measures)
            return measures

    return RerankingTrainer
