"""What a retriever with a model keeps of a KB: a code for the text of each node, in the user's workspace.

An index is a folder ``workspace/indexes/KIND-DIGEST``, which the model and its settings name: the codes, as the
retriever writes them, ``nodes.parquet`` (the node of each row by type and key, and a digest of its text) and
``index.json``. It outlives a generation: after a change of the KB, only the texts that have changed are encoded again.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.directory import systems
from kbkit.directory.damage import check_plain
from kbkit.directory.files import parse_json, replacing
from kbkit.search.node_texts import NodeTexts
from kbkit.search.ranking import Ranking
from kbkit.stores import Stores
from kbkit.stores.vectors import top

FOLDER, STATE, NODES = "indexes", "index.json", "nodes.parquet"
_VERSION = 1
BATCH = 1_024
"""Number of texts that are read and encoded between two progress reports."""

Rows = NDArray[np.int64]
Progress = Callable[[int, int], None]


class Codes(Protocol):
    """Writes and reads the codes of texts."""

    def write(self, folder: Path, old: Path | None, kept: Rows, texts: TextSource) -> None:
        """Write codes to a folder: those of the rows ``kept`` of the folder ``old``, then those of new texts."""
        ...


@dataclass(frozen=True)
class TextSource:
    """New texts, read in batches: the ids of their nodes, and ``progress``, which is called with (done, total)."""

    texts: NodeTexts
    ids: Rows
    progress: Progress

    def __len__(self) -> int:
        return len(self.ids)

    def batches(self) -> Iterator[list[str]]:
        """Yield lists of texts."""
        for start in range(0, len(self.ids), BATCH):
            self.progress(start, len(self.ids))
            yield self.texts.of(self.ids[start : start + BATCH].tolist())
        self.progress(len(self.ids), len(self.ids))


@dataclass(frozen=True)
class IndexState:
    """An index that is up to date: its ``folder``, the node id of each row, and what making it took.

    ``encoded``: the number of texts that were encoded this time; ``seconds``: how long that took.
    """

    folder: Path
    ids: NDArray[np.int64]
    encoded: int
    seconds: float

    @property
    def size(self) -> int:
        """The size of the files in bytes."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def update(
    stores: Stores,
    kind: str,
    settings: Mapping[str, Any],
    codes: Codes,
    *,
    relations: bool,
    progress: Progress = lambda *_: None,
) -> IndexState:
    """Bring an index up to date and return it; ``settings`` are all that the codes depend on.

    Indexes of other weights at the same ``settings["model"]`` are deleted, because that model no longer exists.
    """
    asked = {"kind": kind, "version": _VERSION, "relations": relations, **settings}
    name = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
    folder = stores.workspace.folder / FOLDER / f"{kind}-{name}"
    check_plain(folder, *folder.glob("*"))
    state = _state(folder)
    if state.get("generation") == stores.manifest.generation:
        return IndexState(folder, _rows(folder, _all_nodes(stores)), 0, 0.0)
    started = time.perf_counter()
    texts = NodeTexts(stores, relations)
    nodes = texts.digests()
    known = _read(folder) if state else nodes.head(0).select("type", "key", "digest")
    kept = known.with_row_index("row").join(nodes, on=["type", "key", "digest"]).sort("row")
    new = nodes.join(kept, on="id", how="anti")
    source = TextSource(texts, new["id"].to_numpy().astype(np.int64), progress)
    with replacing(folder) as new_folder:
        new_folder.mkdir()
        codes.write(new_folder, folder if kept.height else None, kept["row"].to_numpy().astype(np.int64), source)
        listed = pl.concat([kept.select("type", "key", "digest"), new.select("type", "key", "digest")])
        listed.write_parquet(new_folder / NODES)
        about = {**asked, "generation": stores.manifest.generation, "nodes": listed.height}
        (new_folder / STATE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8", newline="\n")
    _forget_others(folder, asked)
    ids = np.concatenate([kept["id"].to_numpy(), new["id"].to_numpy()]).astype(np.int64)
    return IndexState(folder, ids, len(source), time.perf_counter() - started)


def _state(folder: Path) -> dict[str, Any]:
    """Return the state of an index; empty without a complete one."""
    try:
        state = parse_json((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and (folder / NODES).is_file() else {}


def _read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO((folder / NODES).read_bytes()))


def count(folder: Path) -> int:
    """Return the number of rows of an index."""
    return _read(folder).height


def _all_nodes(stores: Stores) -> pl.DataFrame:
    return stores.tables.lookup("SELECT id, type::VARCHAR AS type, key FROM nodes")


def _rows(folder: Path, nodes: pl.DataFrame) -> NDArray[np.int64]:
    """Return the id of each row's node."""
    rows = _read(folder).join(nodes, on=["type", "key"], how="left", maintain_order="left")
    return rows["id"].to_numpy().astype(np.int64)


def _forget_others(folder: Path, asked: Mapping[str, Any]) -> None:
    for other in folder.parent.glob(f"{asked['kind']}-*"):
        state = _state(other) if other != folder else {}
        if state and state.get("model") == asked.get("model") and state.get("revision") != asked.get("revision"):
            systems.remove_tree(other)


def best(scores: NDArray[Any], ids: NDArray[np.int64], k: int) -> Ranking:
    """Return the ``k`` best ids by score, ties by id."""
    order = np.argsort(ids, kind="stable")
    chosen = order[top(scores[order], k)]
    return Ranking(ids[chosen], scores[chosen].astype(np.float64))
