"""The settings of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kbkit.assets.operations import Setting

RANDOM = "random"
PRECISIONS = ("auto", "float32", "float16", "bfloat16")
LOSSES = ("listwise", "pairwise", "pointwise")


@dataclass(frozen=True)
class TrainingSettings:
    """How a system is trained. A number of 0 stands for the system's own default."""

    initial: Annotated[
        str, Setting("Weights to start from: a model, or random for a tiny BERT.", values="MODEL", example=RANDOM)
    ] = RANDOM
    epochs: Annotated[int, Setting("Maximum number of epochs.", values="N", least=1, most=10_000)] = 5
    patience: Annotated[
        int, Setting("Epochs without improvement after which training stops.", values="N", least=1, most=10_000)
    ] = 2
    batch: Annotated[int, Setting("Pairs per step.", values="N", least=2, most=65_536)] = 16
    rate: Annotated[
        float, Setting("Learning rate (default: 2e-5; random weights: 5e-4).", least=0, most=1, rare=True)
    ] = 0.0
    negatives: Annotated[
        int,
        Setting(
            "Hard negatives per pair (default: 1; cross-encoder: 7; text2text: 8).", least=0, most=100, noun="negatives"
        ),
    ] = 0
    depth: Annotated[
        int, Setting("Number of full-text results that negatives are drawn from.", least=1, most=10_000, rare=True)
    ] = 100
    positives: Annotated[
        int, Setting("Maximum number of answers of a question that are used.", least=1, most=10_000, rare=True)
    ] = 3
    length: Annotated[
        int, Setting("Word pieces of a text that are read (default: 256).", least=0, most=100_000, rare=True)
    ] = 256
    neighbours: Annotated[
        bool, Setting("Whether texts name the neighbours of a node.", name="neighbours", rare=True)
    ] = True
    pool: Annotated[
        int, Setting("Number of texts that validation ranks after each epoch.", least=100, most=10_000_000, rare=True)
    ] = 2_000
    loss: Annotated[str, Setting("Loss of a cross-encoder.", choices=LOSSES, rare=True)] = LOSSES[0]
    precision: Annotated[
        str, Setting("Numbers of training (auto: 16 bits on a GPU, else 32).", choices=PRECISIONS, rare=True)
    ] = PRECISIONS[0]
    device: Annotated[str, Setting("Device (default: a GPU if there is one, else cpu).", rare=True)] = ""
    seed: Annotated[int, Setting("Random seed, for reproducible output.", values="N", least=0, most=2**32 - 1)] = 0
