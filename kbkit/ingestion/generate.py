"""Synthetic graphs in the shape of the three knowledge bases of STaRK (Wu et al. 2024, table 2 and appendix A.1).

They have the published types, relations and counts, skewed degrees and texts of the published length, at any scale,
and no content of the originals: names and texts are composed from our own word lists. ``SHAPES`` declares the graphs.
The recipe ``table`` reads the files that :func:`generate` writes.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kbkit.directory import systems, temporary
from kbkit.errors import KbError, UnknownNameError
from kbkit.ingestion.generate_words import Ints, Prose, compose, count_words, strings

Progress = Callable[[str, int, int], None]

FILES = (
    "texts.parquet",
    "nodes.parquet",
    "edges.parquet",
)  # edges last: no recipe starts without them
MAX_SCALE = 10.0
_WORK = ".generating-"
"""Start of the name of the folder where the files are written first."""


@dataclass(frozen=True)
class Number:
    """A log-uniform attribute from ``low`` to ``high``; ``missing`` is the fraction of nodes without it."""

    name: str
    low: float
    high: float
    decimals: int = 0
    missing: float = 0.0


@dataclass(frozen=True)
class NodeShape:
    """``count`` nodes; ``names`` is a pattern of word lists, ``{Noun}`` being ``{noun}`` with capitals.

    ``words`` is the mean length of each node's text in ``field`` (0: no text); ``homonyms`` the fraction of nodes that
    share the name of another.
    """

    name: str
    count: int
    names: str
    field: str = ""
    words: int = 0
    homonyms: float = 0.0
    source: str = ""
    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True)
class End:
    """The degree distribution at one end: the r-th most popular node has the weight (r + shift) ** -exponent.

    ``exponent`` 0 is uniform, larger is steeper; ``shift`` flattens the top. With ``every``, each node has an edge if
    there are enough.
    """

    exponent: float = 0.6
    shift: float = 20.0
    every: bool = False


@dataclass(frozen=True)
class EdgeShape:
    """``edges`` from nodes of type ``head`` to nodes of type ``tail``; a name may occur with several pairs of types."""

    name: str
    head: str
    tail: str
    edges: int
    heads: End = End()
    tails: End = End()


@dataclass(frozen=True)
class GraphShape:
    """A graph at scale 1.0; with ``both_ways``, every edge is written in both directions, and ``edges`` counts both."""

    types: tuple[NodeShape, ...]
    relations: tuple[EdgeShape, ...]
    both_ways: bool = False


# Totals are those of table 2. Appendix A.1 rounds its breakdown to two or three digits, which add up to less: types
# stay within the rounding, and relations absorb the difference, at most 30,000 edges each. Only prime's types are
# published exactly. Mean words are the tokens of table 2 over the nodes with text, as if names were not counted. For
# mag, the published number of edges is about twice that of ogbn-mag, its source, as if each had been counted at both
# ends: papers have 19 authors on average. We use the published numbers.
_AMAZON = GraphShape(
    types=(
        NodeShape(
            "product", 932_442, "{Stem}{place} {adjective} {material} {item} {number}", "description", 635,
            numbers=(Number("price", 3, 900, decimals=2, missing=0.3), Number("sales_rank", 1, 3_000_000)),
        ),
        NodeShape("brand", 100_000, "{Stem}{place} {Trade}"),
        NodeShape("category", 1_400, "{Adjective} {item}s"),
        NodeShape("color", 1_700, "{Shade} {hue}"),
    ),
    relations=(
        EdgeShape("also_buy", "product", "product", 2_830_000, End(0.5, 1000), End(0.8, 50)),
        EdgeShape("also_view", "product", "product", 1_930_000, End(0.5, 1000), End(0.8, 50)),
        EdgeShape("has_brand", "product", "brand", 1_730_000, End(0.3, 1000, every=True), End(0.8, 10, every=True)),
        EdgeShape(
            "has_category", "product", "category", 2_330_000, End(0.3, 1000, every=True), End(0.9, 2, every=True),
        ),
        EdgeShape("has_color", "product", "color", 623_802, End(0.6, 1000), End(1.1, 2, every=True)),
    ),
)  # fmt: skip
_MAG = GraphShape(
    types=(
        NodeShape("author", 1_104_554, "{Given} {letter}. {Stem}{surname}", homonyms=0.02),
        NodeShape("institution", 8_701, "{school} of {Stem}{place}"),
        NodeShape("field_of_study", 59_469, "{Adjective} {noun} {study}"),
        NodeShape(
            "paper", 700_244, "{Adjective} {method} of {adjective} {noun}s", "abstract", 304,
            numbers=(Number("year", 1990, 2020),),
        ),
    ),
    relations=(
        EdgeShape("affiliated_with", "author", "institution", 2_022_116, End(0.4, 400), End(0.8, 5, every=True)),
        EdgeShape("cites", "paper", "paper", 9_720_000, End(0.5, 2000), End(0.9, 100)),
        EdgeShape("has_topic", "paper", "field_of_study", 14_530_000, End(0.2, 999, every=True), End(1, 4, every=True)),
        EdgeShape("writes", "author", "paper", 13_530_000, End(0.8, 400, every=True), End(0.6, 2000, every=True)),
    ),
)  # fmt: skip
_GENE, _TERM, _HUB, _CHILD = End(0.5, 50), End(0.8, 5), End(1.0, 5), End(0.0, every=True)
# The counts of PrimeKG's kg.csv by display_relation and types (Chandak et al. 2023), which add up to table 2's total.
_PRIME = GraphShape(
    types=(
        NodeShape("disease", 17_080, "{quality} {syllable}{syllable}r {disorder}", "description", 367, source="MONDO"),
        NodeShape("gene/protein", 27_671, "{letter}{letter}{letter}{number}{form}", "description", 700, source="NCBI"),
        NodeShape("molecular_function", 11_169, "{syllable}{syllable}{enzyme} activity", source="GO"),
        NodeShape("drug", 7_957, "{Syllable}{syllable}{syllable}{remedy}", "description", 700, source="DrugBank"),
        NodeShape("pathway", 2_516, "{Process} by {syllable}{syllable}rin", "description", 250, source="REACTOME"),
        NodeShape("anatomy", 14_035, "{side} {adjective} {organ}", source="UBERON"),
        NodeShape("effect/phenotype", 15_311, "{degree} {sign} of the {side} {organ}", source="HPO"),
        NodeShape("biological_process", 28_642, "{control} {syllable}{syllable}r {process}", source="GO"),
        NodeShape("cellular_component", 4_176, "{syllable}{syllable}r {compartment}", source="GO"),
        NodeShape("exposure", 818, "{adjective} {chemical}", source="CTD"),
    ),
    relations=(
        EdgeShape("ppi", "gene/protein", "gene/protein", 642_150, _GENE, _GENE),
        EdgeShape("carrier", "drug", "gene/protein", 1_728, End(), _HUB),
        EdgeShape("enzyme", "drug", "gene/protein", 10_634, End(), _HUB),
        EdgeShape("target", "drug", "gene/protein", 32_760, End(), _TERM),
        EdgeShape("transporter", "drug", "gene/protein", 6_184, End(), _HUB),
        EdgeShape("contraindication", "drug", "disease", 61_350, _TERM, _TERM),
        EdgeShape("indication", "drug", "disease", 18_776, End(), _TERM),
        EdgeShape("off-label use", "drug", "disease", 5_136, End(), _TERM),
        EdgeShape("synergistic interaction", "drug", "drug", 2_672_628, End(0.5, 200, every=True), End(0.5, 200)),
        EdgeShape("associated with", "disease", "gene/protein", 160_822, _TERM, _GENE),
        EdgeShape("associated with", "effect/phenotype", "gene/protein", 6_660, _TERM, _GENE),
        EdgeShape("parent-child", "anatomy", "anatomy", 28_064, _CHILD, _TERM),
        EdgeShape("parent-child", "biological_process", "biological_process", 105_772, _CHILD, _TERM),
        EdgeShape("parent-child", "cellular_component", "cellular_component", 9_690, _CHILD, _TERM),
        EdgeShape("parent-child", "disease", "disease", 64_388, _CHILD, _TERM),
        EdgeShape("parent-child", "effect/phenotype", "effect/phenotype", 37_472, _CHILD, _TERM),
        EdgeShape("parent-child", "exposure", "exposure", 4_140, _CHILD, _TERM),
        EdgeShape("parent-child", "molecular_function", "molecular_function", 27_148, _CHILD, _TERM),
        EdgeShape("parent-child", "pathway", "pathway", 5_070, _CHILD, _TERM),
        EdgeShape("phenotype absent", "disease", "effect/phenotype", 2_386, End(), _TERM),
        EdgeShape("phenotype present", "disease", "effect/phenotype", 300_634, End(), _TERM),
        EdgeShape("side effect", "drug", "effect/phenotype", 129_568, _TERM, _HUB),
        EdgeShape("interacts with", "gene/protein", "biological_process", 289_610, _GENE, _TERM),
        EdgeShape("interacts with", "gene/protein", "cellular_component", 166_804, _GENE, _HUB),
        EdgeShape("interacts with", "gene/protein", "molecular_function", 139_060, _GENE, _HUB),
        EdgeShape("interacts with", "gene/protein", "pathway", 85_292, _GENE, _TERM),
        EdgeShape("interacts with", "exposure", "gene/protein", 2_424, _TERM, _GENE),
        EdgeShape("interacts with", "exposure", "biological_process", 3_250, _TERM, _TERM),
        EdgeShape("interacts with", "exposure", "molecular_function", 90),
        EdgeShape("interacts with", "exposure", "cellular_component", 20),
        EdgeShape("linked to", "exposure", "disease", 4_608, _TERM, _TERM),
        EdgeShape("expression present", "anatomy", "gene/protein", 3_036_406, _HUB, End(0.2, 50)),
        EdgeShape("expression absent", "anatomy", "gene/protein", 39_774, _HUB, End(0.2, 50)),
    ),
    both_ways=True,
)
SHAPES = {"amazon": _AMAZON, "mag": _MAG, "prime": _PRIME}

_NODES, _EDGES, _WORDS = 200_000, 1_000_000, 4_000_000  # nodes, edges and words of text per row group, to limit memory


def generate(
    shape: str, out: Path, *, scale: float = 0.01, seed: int = 0, texts: bool = True, progress: Progress | None = None
) -> dict[str, int]:
    """Write ``nodes.parquet``, ``edges.parquet`` and (with ``texts``) ``texts.parquet`` into the folder ``out``.

    ``scale`` multiplies the counts of ``SHAPES[shape]``; a type keeps at least 3 nodes, a relation one edge and at most
    half of all its possible pairs. Keys are ``"0"``, ``"1"``, ... over all types, in their order. The same ``shape``,
    ``scale`` and ``seed`` give the same rows. ``progress`` is called with (``nodes``, ``edges`` or ``texts``; number
    written; total). Returns the numbers of ``nodes``, ``edges``, ``texts`` and ``tokens`` (split at spaces).

    Raises :class:`KbError` for an invalid scale or seed, existing files, and a folder that cannot be written; then
    nothing is written.
    """
    if shape not in SHAPES:
        raise UnknownNameError("shape", shape, SHAPES)
    if not 0 < scale <= MAX_SCALE:  # also rejects NaN
        raise KbError(f"Invalid scale: {scale}", f"Use a number above 0 and at most {MAX_SCALE:g}")
    if seed < 0:
        raise KbError(f"Invalid seed: {seed}", "Use 0 or more")
    graph = _GeneratedGraph(shape, scale, seed, progress or (lambda *_: None))
    with _publishing(out) as folder:
        nodes, edges = graph.write_nodes(folder), graph.write_edges(folder)
        documents, tokens = graph.write_texts(folder) if texts else (0, 0)
    return {"nodes": nodes, "edges": edges, "texts": documents, "tokens": tokens}


@contextlib.contextmanager
def _publishing(out: Path) -> Iterator[Path]:
    """Yield a temporary folder in ``out``; its files move to ``out`` at the end, or are deleted on errors."""
    with contextlib.ExitStack() as undo:
        try:
            if out.exists() and not out.is_dir():
                raise KbError(f"{out} is a file", "Choose a folder")
            for name in FILES:
                if (out / name).exists():
                    raise KbError(f"{out / name} already exists", "Choose another folder, or remove the file")
            for folder in reversed([folder for folder in (out, *out.parents) if not folder.exists()]):
                undo.callback(_remove_folder, folder)
            out.mkdir(parents=True, exist_ok=True)
            for left in temporary.abandoned(out, _WORK):
                systems.remove_tree(left)
            work = out / temporary.unique_name(_WORK)
            work.mkdir()
            undo.callback(systems.remove_tree, work)
            yield work
            for path in (work / name for name in FILES):
                if path.exists():
                    undo.callback((out / path.name).unlink, missing_ok=True)
                    systems.rename(path, out / path.name)
            work.rmdir()
        except OSError as error:
            raise KbError(f"Cannot write {out}: {error.strerror or error}", "Nothing was written") from error
        undo.pop_all()


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # never created, or no longer empty
        folder.rmdir()


class _GeneratedGraph:
    """A shape at a scale with a seed. Writes the three files; each part has its own random generator."""

    def __init__(self, name: str, scale: float, seed: int, progress: Progress) -> None:
        self.name, self.shape, self.seed, self.scale, self.progress = name, SHAPES[name], seed, scale, progress
        self.ways = 2 if self.shape.both_ways else 1
        self.counts = {t.name: max(3, round(t.count * scale)) for t in self.shape.types}
        firsts = np.cumsum([0, *self.counts.values()]).tolist()
        self.firsts = dict(zip(self.counts, firsts, strict=False))
        self.nodes: int = firsts[-1]

    def random(self, *part: str) -> np.random.Generator:
        """Return the random generator of a part, which is independent of the other parts."""
        return np.random.default_rng([self.seed, zlib.crc32("\n".join((self.name, *part)).encode())])

    def write_nodes(self, folder: Path) -> int:
        """Write ``nodes.parquet``; columns that a type lacks are NULL."""
        numbers = {n.name: pa.float64() if n.decimals else pa.int64() for t in self.shape.types for n in t.numbers}
        sources = {"source": pa.string()} if any(t.source for t in self.shape.types) else {}
        schema = pa.schema({"key": pa.string(), "type": pa.string(), "name": pa.string(), **sources, **numbers})
        with _writer(folder / "nodes.parquet", schema, ["type", "source"]) as writer:
            for type_ in self.shape.types:
                random, first = self.random("nodes", type_.name), self.firsts[type_.name]
                names = self.names(type_)
                for start, size in _slices(self.counts[type_.name], _NODES):
                    keys = np.arange(first + start, first + start + size)
                    columns = {n.name: _numbers(random, n, size) for n in type_.numbers}
                    columns |= {"key": strings(keys), "name": names(keys - first)}
                    columns |= {"type": pa.repeat(type_.name, size), "source": pa.repeat(type_.source, size)}
                    rows = [columns.get(f.name, pa.nulls(size, f.type)) for f in schema]
                    writer.write_table(pa.Table.from_arrays(rows, schema=schema))
                    self.progress("nodes", int(keys[-1]) + 1, self.nodes)
        return self.nodes

    def names(self, type_: NodeShape) -> Callable[[Ints], Any]:
        """Return a function from positions within the type to names, the same on each call."""
        random, count = self.random("names", type_.name), self.counts[type_.name]
        offset = int(random.integers(1 << 40))
        index = np.arange(count)
        shared = random.random(count) < type_.homonyms
        index[shared] = random.integers(count, size=int(shared.sum()))
        return lambda positions: compose(type_.names, index[positions], offset)

    def write_edges(self, folder: Path) -> int:
        """Write ``edges.parquet``; edges are sorted by head and tail within a relation and a pair of types."""
        counts = [self._edge_count(relation) for relation in self.shape.relations]
        # The same nodes are popular in all relations: their order is drawn once per type.
        order = {n: self.firsts[n] + self.random("order", n).permutation(c) for n, c in self.counts.items()}
        total, done = sum(counts) * self.ways, 0
        schema = pa.schema({"head": pa.string(), "relation": pa.string(), "tail": pa.string()})
        with _writer(folder / "edges.parquet", schema, ["relation"]) as writer:
            for relation, count in zip(self.shape.relations, counts, strict=True):
                random = self.random("edges", relation.name, relation.head, relation.tail)
                heads, tails = _draw_pairs(random, relation, count, order, self.shape.both_ways)
                for head, tail in ((heads, tails), (tails, heads))[: self.ways]:
                    for start, size in _slices(count, _EDGES):
                        part = slice(start, start + size)
                        rows = [strings(head[part]), pa.repeat(relation.name, size), strings(tail[part])]
                        writer.write_table(pa.Table.from_arrays(rows, schema=schema))
                        done += size
                        self.progress("edges", done, total)
        return total

    def _edge_count(self, relation: EdgeShape) -> int:
        """Return the number of distinct pairs: the scaled count, at most half of all possible pairs."""
        heads, tails = self.counts[relation.head], self.counts[relation.tail]
        possible, scaled = heads * tails, relation.edges * self.scale / self.ways
        if relation.head == relation.tail:
            possible = heads * (heads - 1) // self.ways
        return max(1, min(round(scaled), possible // 2))

    def write_texts(self, folder: Path) -> tuple[int, int]:
        """Write ``texts.parquet``; return the numbers of texts and tokens."""
        prose, done, tokens = Prose(self.random("prose")), 0, 0
        total = sum(self.counts[t.name] for t in self.shape.types if t.words)
        schema = pa.schema({"key": pa.string(), "field": pa.string(), "text": pa.string()})
        with _writer(folder / "texts.parquet", schema, ["field"]) as writer:
            for type_ in self.shape.types:
                random, names = self.random("texts", type_.name), self.names(type_)
                for start, size in _slices(self.counts[type_.name] if type_.words else 0, _WORDS // (type_.words or 1)):
                    positions = np.arange(start, start + size)
                    text = prose.write(random, names(positions), type_.words)
                    keys = strings(positions + self.firsts[type_.name])
                    writer.write_table(pa.Table.from_arrays([keys, pa.repeat(type_.field, size), text], schema=schema))
                    done, tokens = done + size, tokens + count_words(text)
                    self.progress("texts", done, total)
        return done, tokens


def _draw_pairs(
    random: np.random.Generator, relation: EdgeShape, wanted: int, order: Mapping[str, Ints], both_ways: bool
) -> tuple[Ints, Ints]:
    """Return exactly ``wanted`` distinct sorted pairs of different nodes; with ``both_ways``, unordered pairs."""
    by_rank_head, by_rank_tail = order[relation.head], order[relation.tail]
    first, second = len(by_rank_head), len(by_rank_tail)
    heads, tails = _ranks(random, wanted, first, relation.heads), _ranks(random, wanted, second, relation.tails)
    if relation.heads.every:
        heads[:first] = np.arange(min(first, wanted))
    if relation.tails.every:
        tails[-second:] = np.arange(min(second, wanted))
    pairs, steep = np.empty(0, np.int64), 1.0
    while True:
        heads, tails = by_rank_head[heads], by_rank_tail[tails]
        if both_ways and relation.head == relation.tail:
            heads, tails = np.minimum(heads, tails), np.maximum(heads, tails)
        drawn = np.sort((heads << 32 | tails)[heads != tails])
        drawn = drawn[np.flatnonzero(np.diff(drawn, prepend=-1))]  # np.unique hashes, which is five times slower
        positions = np.searchsorted(pairs, drawn)
        new = np.flatnonzero(np.append(pairs, -1)[positions] != drawn)
        if len(new) > wanted - len(pairs):
            new = np.sort(random.choice(new, wanted - len(pairs), replace=False))
        pairs = np.insert(pairs, positions[new], drawn[new])
        if len(pairs) == wanted:
            return pairs >> 32, pairs & 0xFFFFFFFF
        # Collisions are drawn again, each time more uniformly. That fills dense relations quickly, because at most half
        # of all pairs are needed.
        steep, size = steep * 0.7, 2 * (wanted - len(pairs)) + 16
        heads = _ranks(random, size, first, relation.heads, steep)
        tails = _ranks(random, size, second, relation.tails, steep)


def _ranks(random: np.random.Generator, size: int, count: int, end: End, steep: float = 1.0) -> Ints:
    """Draw ``size`` of the ranks 0 to ``count`` - 1 from a bounded power law, by inverse transform sampling."""
    low, high, power = 1 + end.shift, 1 + end.shift + count, 1 - end.exponent * steep
    drawn = random.random(size)
    if abs(power) < 1e-9:
        drawn = low * (high / low) ** drawn
    else:
        drawn = (low**power + drawn * (high**power - low**power)) ** (1 / power)
    return np.clip((drawn - low).astype(np.int64), 0, count - 1)


def _numbers(random: np.random.Generator, number: Number, size: int) -> Any:
    values = np.round(number.low * (number.high / number.low) ** random.random(size), number.decimals)
    values = values if number.decimals else values.astype(np.int64)
    return pa.array(values, mask=random.random(size) < number.missing)


def _writer(path: Path, schema: Any, repeated: list[str]) -> Any:
    """Return a Parquet writer with dictionaries for the ``repeated`` columns, which have few distinct values."""
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, use_dictionary=repeated)


def _slices(count: int, size: int) -> Iterator[tuple[int, int]]:
    return ((start, min(size, count - start)) for start in range(0, count, size))
