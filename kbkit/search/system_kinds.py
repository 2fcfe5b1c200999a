"""Kinds of retrieval systems, and how a run names one: ``KIND``, ``KIND:MODEL``, ``KIND:MODEL?NAME=VALUE&...``.

A retriever ranks nodes (:class:`TextRetriever`), a reranker scores the best results of one
(:class:`kbkit.search.rerank.Reranker`). Both have ``name`` and ``settings``, which a run records. A retriever may have
``index``, which brings up to date what it keeps beside the KB; a kind that learns has a trainer, the function that
:mod:`kbkit.search.training` calls (``fit``).

To add a system, write a class with ``search`` (or ``score``) and an entry of :data:`KINDS` that names it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Protocol
from urllib.parse import parse_qsl

from kbkit.assets.operations import Setting, SettingField, build, check_settings, described
from kbkit.errors import KbError, MissingExtraError, UnknownNameError
from kbkit.search.ranking import Ranking
from kbkit.stores.arrays import Within
from kbkit.stores.embedders import sentence_transformers

if TYPE_CHECKING:
    import polars as pl

RETRIEVER, RERANKER = "retriever", "reranker"
Value = str | int | float | bool


@dataclass(frozen=True)
class SystemKind:
    """A kind of systems.

    * ``model``: what a name has after the colon, as in ``biencoder:MODEL`` (empty: nothing)
    * ``needs``: the stores of the KB that it needs
    * ``settings``: the dataclass that describes the settings in a name (:mod:`kbkit.assets.operations`)
    * ``extra``: the extra of kbkit that installs the ``packages`` (names of modules) that it imports
    * ``opens``: the class ``module:name`` that is called with the stores (retrievers only) and a :class:`SystemName`
    * ``trainer``: the function ``module:name`` that says what is trained (empty: nothing), or ``fits`` the one that
      trains in its own way
    * ``negatives``: hard negatives per training pair, by default; ``at_random`` is the fraction drawn from all nodes
    """

    name: str
    role: str
    summary: str
    model: str = ""
    needs: tuple[str, ...] = ()
    extra: str = ""
    packages: tuple[str, ...] = ()
    settings: type | None = None
    opens: str = ""
    trainer: str = ""
    fits: str = ""
    negatives: int = 1
    at_random: float = 0.0

    @property
    def form(self) -> str:
        """How a run names a system of this kind."""
        return f"{self.name}:{self.model}" if self.model else self.name

    @property
    def described(self) -> Mapping[str, SettingField]:
        """The settings by name."""
        return {} if self.settings is None else {setting.name: setting for setting in described(self.settings)}

    @property
    def is_installed(self) -> bool:
        """Whether the packages that it needs are installed; they are not imported."""
        return all(map(is_installed, self.packages))

    def library(self) -> Any:
        """Import sentence-transformers. Raises :class:`MissingExtraError`, which names the extra."""
        self.require()
        return sentence_transformers()

    def require(self) -> None:
        """Raise :class:`MissingExtraError`, which names the extra, unless the packages are installed."""
        if not self.is_installed:
            raise MissingExtraError(f"The system {self.name}", self.extra)


@dataclass(frozen=True)
class SystemName:
    """A system as a run names it; ``model`` is empty for kinds without one, ``chosen`` are the settings in the name."""

    text: str
    kind: SystemKind
    model: str = ""
    chosen: Mapping[str, Value] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Mapping[str, Value]:
        """All settings: those in the name, else the defaults."""
        return {name: self.chosen.get(name, setting.default) for name, setting in self.kind.described.items()}


class TextRetriever(Protocol):
    """Ranks the nodes of a KB for queries.

    It may have a method ``index(progress)`` too, which brings up to date what it keeps beside the KB; ``progress`` is
    called with (done, total). ``search`` does so as well if need be.
    """

    @property
    def name(self) -> str:
        """The name in a run."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that its rankings depend on: model, revision, settings. A run records it."""
        ...

    def search(self, queries: Sequence[str], k: int, within: Within) -> list[Ranking]:
        """Return the ``k`` best nodes of ``within`` (None: all) for each query. The filter applies before the top k."""
        ...


def kind_of(name: str, role: str = "") -> SystemKind | None:
    """Return the kind that a name begins with, None for an unknown one; ``role`` restricts it."""
    word = name.partition("?")[0].partition(":")[0]
    return next((kind for kind in KINDS if kind.name == word and role in ("", kind.role)), None)


def is_model(name: str) -> bool:
    """Return whether a name is that of a retriever with a model, which is no search mode of the KB's own stores."""
    kind = kind_of(name, RETRIEVER)
    return kind is not None and bool(kind.opens)


def parse_name(name: str, role: str = RETRIEVER) -> SystemName:
    """Parse the name of a system.

    Raises :class:`UnknownNameError` for an unknown kind or setting, :class:`KbError` for a missing model or an invalid
    value.
    """
    kind = kind_of(name, role)
    has_settings = kind is None or kind.settings or not kind.model  # an address may have a question mark too
    rest, mark, query = name.partition("?") if has_settings else (name, "", "")
    model = rest.partition(":")[2]
    if kind is None or bool(model) != bool(kind.model):
        raise UnknownNameError(role, name, [one.form for one in KINDS if one.role == role])
    options = dict(parse_qsl(query, keep_blank_values=True))
    known = kind.described
    if mark and not known:
        raise KbError(f"{kind.name} has no settings: {name!r}", f"Use {kind.form}")
    if mark and not options:
        raise KbError(f"No settings after '?' in {name!r}", f"Settings of {kind.name}: {', '.join(known)}")
    for key in options:
        if key not in known:
            raise UnknownNameError(f"setting of {kind.name}", key, known)
    chosen = {key: _value(known[key], text) for key, text in options.items()}
    if kind.settings is not None:
        check_settings(build(kind.settings, chosen))
    return SystemName(name, kind, model, chosen)


def _value(field: SettingField, text: str) -> Value:
    """Return a value of the type of a setting. Raises :class:`KbError` for another one."""
    kinds = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}
    try:
        if field.type is bool:
            return {"true": True, "false": False}[text]
        if not text:
            raise ValueError
        value: Value = field.type(text)
        return value
    except (ValueError, KeyError):
        raise KbError(f"Invalid {field.noun}: {text!r}", f"Use {kinds[field.type]}") from None


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    return package in sys.modules or importlib.util.find_spec(package) is not None


def imported(path: str) -> Callable[..., Any]:
    """Return the class or function ``module:name``."""
    module, _, name = path.partition(":")
    target: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return target


# -- the kinds --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FusedSettings:
    """Settings in the name of a hybrid search; see :class:`kbkit.search.settings.SearchOptions`."""

    fusion: Annotated[str, Setting("Score fusion.", choices=("minmax", "rrf"))] = "minmax"
    rrf_k: Annotated[float, Setting("Constant of reciprocal rank fusion.", least=0)] = 60.0
    depth: Annotated[int, Setting("Minimum number of results of each fused retriever.", least=1)] = 100


@dataclass(frozen=True)
class ChunkSettings:
    """Settings in the name of a search of chunks."""

    average: Annotated[int, Setting("Number of best chunks averaged to a document's score (0: all).", least=0)] = 3
    chunk_depth: Annotated[
        int, Setting("Number of best results of dense whose chunks are compared (0: all nodes).", least=0)
    ] = 0


@dataclass(frozen=True)
class GraphSettings:
    """Settings in the name of a graph neural network."""

    device: Annotated[str, Setting("cpu, cuda, ... (empty: a GPU if there is one).")] = ""


@dataclass(frozen=True)
class EncoderSettings:
    """Settings in the name of a system that reads texts with a model of PyTorch."""

    length: Annotated[int, Setting("Word pieces of a text (0: as the model was trained).", least=0, most=100_000)] = 0
    batch: Annotated[int, Setting("Number of texts that are read together.", least=1, most=100_000)] = 32
    device: Annotated[str, Setting("cpu, cuda, ... (empty: a GPU if there is one).")] = ""


@dataclass(frozen=True)
class LateSettings(EncoderSettings):
    """Settings in the name of a late-interaction model; see :mod:`kbkit.search.late`."""

    bits: Annotated[int, Setting("Bits per number of the index.", least=1, most=8)] = 4
    probes: Annotated[int, Setting("Centroids that are compared per word of a query.", least=1, most=100_000)] = 8
    full_scores: Annotated[int, Setting("Texts that are compared exactly.", least=1, most=10_000_000)] = 4_096


_EXTRA, _PACKAGES = "sentence-transformers", ("sentence_transformers",)

KINDS = (
    SystemKind("bm25", RETRIEVER, "full text", needs=("text",)),
    SystemKind("dense", RETRIEVER, "vectors of the KB", needs=("vectors",)),
    SystemKind("multivector", RETRIEVER, "vectors of chunks", needs=("vectors",), settings=ChunkSettings),
    SystemKind("hybrid", RETRIEVER, "bm25 and dense, fused", needs=("text", "vectors"), settings=FusedSettings),
    SystemKind(
        "relational", RETRIEVER, "hybrid, answers of read questions first", needs=("text", "vectors", "adjacency")
    ),
    SystemKind("learned", RETRIEVER, "ranking of the KB, learned from examples", needs=("text",)),
    SystemKind(
        "biencoder",
        RETRIEVER,
        "one vector a text (DPR, ANCE, T5 dual encoder)",
        "MODEL",
        extra=_EXTRA,
        packages=_PACKAGES,
        settings=EncoderSettings,
        opens="kbkit.search.biencoder:BiEncoder",
        trainer="kbkit.search.training.biencoder:parts",
    ),
    SystemKind(
        "late",
        RETRIEVER,
        "one vector a word (ColBERT), PLAID index",
        "MODEL",
        extra="late",
        packages=("pylate", "fast_plaid"),
        settings=LateSettings,
        opens="kbkit.search.late:LateInteraction",
        trainer="kbkit.search.training.late:parts",
    ),
    SystemKind(
        "splade",
        RETRIEVER,
        "learned weights of words",
        "MODEL",
        extra=_EXTRA,
        packages=_PACKAGES,
        settings=EncoderSettings,
        opens="kbkit.search.splade:Splade",
        trainer="kbkit.search.training.splade:parts",
    ),
    SystemKind(
        "qagnn",
        RETRIEVER,
        "graph neural network over the nodes around a question",
        "MODEL",
        needs=("adjacency", "text", "vectors"),
        extra="qagnn",
        packages=("torch",),
        settings=GraphSettings,
        opens="kbkit.search.qagnn.retriever:QaGnn",
        fits="kbkit.search.training.qagnn:fit",
    ),
    SystemKind(
        "cross-encoder",
        RERANKER,
        "query and text read together",
        "MODEL",
        extra=_EXTRA,
        packages=_PACKAGES,
        settings=EncoderSettings,
        opens="kbkit.search.rerank:CrossEncoder",
        trainer="kbkit.search.training.crossencoder:parts",
        negatives=7,
    ),
    SystemKind(
        "text2text",
        RERANKER,
        "query and text read together by a T5 that writes relevant or not relevant (QUEST)",
        "MODEL",
        extra=_EXTRA,
        packages=("torch", "transformers"),
        settings=EncoderSettings,
        opens="kbkit.search.text2text:TextToText",
        trainer="kbkit.search.training.text2text:parts",
        negatives=8,
        at_random=0.5,
    ),
    SystemKind("llm", RERANKER, "language model", "MODEL@URL", opens="kbkit.search.rerank:ModelReranker"),
)
"""All kinds of systems. The first are the search modes of the KB's own stores (:mod:`kbkit.search.settings`)."""


def listed() -> pl.DataFrame:
    """Return all kinds: system, role, summary, settings, extra, and installed (yes, or what to install)."""
    import polars as pl

    rows = [
        (
            kind.form,
            kind.role,
            kind.summary,
            ", ".join(_with_default(name, setting.default) for name, setting in kind.described.items()),
            "yes" if kind.is_installed else f"no: needs the extra {kind.extra}",
        )
        for kind in KINDS
    ]
    return pl.DataFrame(rows, schema=["system", "role", "summary", "settings", "installed"], orient="row")


def _with_default(name: str, value: Value) -> str:
    """Return ``name=value``, or the name alone for a text that is empty by default."""
    return name if value == "" else f"{name}={str(value).lower() if isinstance(value, bool) else value}"
