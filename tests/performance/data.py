"""Graphs, KBs, groundings and documents that the suite measures on, made in ``$KBKIT_BENCH`` when they are not there.

The folder is by default ``kbkit-bench`` below the temporary one. At scale 1.0 it takes about 40 GB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import kbkit
from tests.performance.metapaths import NAMES, expected
from tests.performance.timing import KBKIT

MANY = 10_000
CHECKED = 20
"""Groundings of each template whose answers are compared, node by node, with those of a plain join."""
_ANY = 10**9


def folder() -> Path:
    """Where everything is kept."""
    path = Path(os.environ.get("KBKIT_BENCH") or Path(tempfile.gettempdir()) / "kbkit-bench")
    path.mkdir(parents=True, exist_ok=True)
    return path


def made(path: Path, make: Callable[[Path], object]) -> Path:
    """``path``, which ``make`` writes under another name if it is not there: what was stopped half way is done anew."""
    if not path.exists():
        half = path.with_name(path.name + ".half")
        remove(half)
        make(half)
        half.rename(path)
    return path


def remove(path: Path) -> None:
    """Take a file or a folder away, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def source(scale: float, shape: str = "mag") -> Path:
    """The generated Parquet files."""

    def write(path: Path) -> None:
        subprocess.run([KBKIT, "stark", "generate", shape, "--scale", str(scale), "-o", str(path)], check=True)

    return made(folder() / f"{shape}-{scale}", write)


def graph_only(scale: float) -> Path:
    """The same files without the texts: what a graph database loads."""

    def link(path: Path) -> None:
        path.mkdir()
        for name in ("nodes.parquet", "edges.parquet"):
            (path / name).symlink_to(source(scale).resolve() / name)

    return made(folder() / f"mag-{scale}-graph", link)


def kb(scale: float) -> Path:
    """The KB with the stores that answers need; the others are the slowest to build."""
    out = folder() / f"mag-{scale}.kb"
    return _ingested(out, source(scale), "--stores", "tables,adjacency,triples")


def graph_kb(scale: float, engine: str = "") -> Path:
    """The KB of the files without texts, with tables, nodes and adjacency."""
    return _ingested(folder() / f"mag-{scale}-graph.kb", graph_only(scale), "--stores", "adjacency")


def whole_kb(scale: float, engine: str = "") -> Path:
    """The KB with all its stores."""
    return _with(kb(scale), "text", "vectors")


def text_kb(scale: float, engine: str = "") -> Path:
    """The KB with its full text."""
    return _with(kb(scale), "text")


def _with(out: Path, *stores: str) -> Path:
    for store in stores:
        with kbkit.open(out) as opened:
            missing = store not in opened.manifest.stores
        if missing:
            subprocess.run([KBKIT, "build", str(out), store], check=True)
            subprocess.run([KBKIT, "gc", str(out)], check=True)
    return out


def _ingested(out: Path, files: Path, *options: str) -> Path:
    if not (out / "CURRENT").is_file():
        subprocess.run([KBKIT, "ingest", "table", str(files), "-o", str(out), *options], check=True)
    return out


def groundings(scale: float, name: str) -> pl.DataFrame:
    """Up to 10,000 groundings with at least one answer, uniform: a column of ids per slot, and for the first 20 their
    answers, computed by joins of the Parquet file that no engine took part in.
    """
    return pl.read_parquet(folder() / f"mag-{scale}.groundings" / f"{name}.parquet")


def graph(scale: float, engine: str = "") -> None:
    """Make all of a graph that the answers need."""

    def draw_all(path: Path) -> None:
        from kbkit.answers.sample import draw
        from kbkit.answers.sample_sets import SampleRequest
        from kbkit.answers.templates import find

        path.mkdir()
        edges = pl.scan_parquet(source(scale) / "edges.parquet")
        with kbkit.open(kb(scale)) as opened:
            for name in NAMES:
                plan = opened.session.resolved(find(f"mag/{name}").tree())
                drawn = draw(opened.session, plan, SampleRequest(MANY, 7, 1, _ANY))
                table = pl.DataFrame({slot: drawn.values[:, i].astype(np.int64) for i, slot in enumerate(drawn.slots)})
                table.with_row_index("row").join(
                    expected(name, table.head(CHECKED), edges), on="row", how="left", maintain_order="left"
                ).drop("row").write_parquet(path / f"{name}.parquet")

    made(folder() / f"mag-{scale}.groundings", draw_all)


def many(scale: float, name: str) -> pl.DataFrame:
    """10,000 groundings of a template; where the graph has fewer, some more than once."""
    table = groundings(scale, name).drop("answers")
    return table if table.height >= MANY else table.sample(MANY, with_replacement=True, seed=3)


def ntriples(scale: float, engine: str = "") -> Path:
    """The statements of the KB's triplestore, as one file of N-Triples."""

    def write(path: Path) -> None:
        from kbkit.stores import ntriples as statements

        with kbkit.open(kb(scale)) as opened, path.open("w", encoding="utf-8", newline="") as handle:
            for query in statements.queries(opened.schema):
                for batch in opened.tables.batches(query):
                    handle.writelines(filter(None, batch.column(0).to_pylist()))

    return made(folder() / f"mag-{scale}.nt", write)


# -- documents ---------------------------------------------------------------------------------------------------------

DOCUMENTS, WORDS, VOCABULARY = 500_000, 100, 200_000
QUERIES, ASKED = 200, 6


def documents(scale: float) -> Path:
    """Invented documents, 500,000 at scale 1.0: nodes.parquet, texts.parquet, edges.parquet.

    Words come from a Zipf distribution over 200,000, the most frequent of which are English stop words, as in running
    text.
    """
    from kbkit.stores.text_query import STOP_WORDS

    def write(place: Path) -> None:
        place.mkdir()
        number = round(DOCUMENTS * scale)
        drawn = np.random.default_rng(1)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        words = np.array(["".join(drawn.choice(letters, size)) for size in drawn.integers(4, 10, VOCABULARY)])
        words[: len(STOP_WORDS)] = sorted(STOP_WORDS)
        chances = 1 / np.arange(1, VOCABULARY + 1)
        chosen = drawn.choice(VOCABULARY, (number, WORDS), p=chances / chances.sum())
        names = [" ".join(words[pair]) for pair in drawn.integers(0, VOCABULARY, (number, 2))]
        keys = [f"d{i}" for i in range(number)]
        texts = [" ".join(words[row]) for row in chosen]
        pl.DataFrame({"id": keys, "type": "document", "name": names}).write_parquet(place / "nodes.parquet")
        pl.DataFrame({"id": keys, "field": "text", "text": texts}).write_parquet(place / "texts.parquet")
        ring = {"source": keys, "relation": "next", "target": [*keys[1:], keys[0]]}
        pl.DataFrame(ring).write_parquet(place / "edges.parquet")

    return made(folder() / f"documents-{scale}", write)


def documents_kb(scale: float, engine: str = "") -> Path:
    """The KB of the documents, and the queries."""
    asked(scale)
    return _ingested(folder() / f"documents-{scale}.kb", documents(scale))


def texts(scale: float) -> list[str]:
    """The documents; the place of one is its id in the KB."""
    return pl.read_parquet(documents(scale) / "texts.parquet")["text"].to_list()


def asked(scale: float) -> tuple[list[str], list[int]]:
    """Queries of six words of a document each, none a stop word, and the document each was drawn from.

    They have a file of their own, so that who asks them need not hold the documents.
    """
    from kbkit.stores.text_query import STOP_WORDS

    def draw(path: Path) -> None:
        held = texts(scale)
        drawn = np.random.default_rng(5)
        places = [int(place) for place in drawn.integers(0, len(held), QUERIES)]
        telling = [[w for w in dict.fromkeys(held[place].split()) if w not in STOP_WORDS] for place in places]
        queries = [" ".join(drawn.choice(row, ASKED, replace=False)) for row in telling]
        pl.DataFrame({"query": queries, "place": places}).write_parquet(path)

    frame = pl.read_parquet(made(folder() / f"documents-{scale}.queries.parquet", draw))
    return frame["query"].to_list(), frame["place"].to_list()
