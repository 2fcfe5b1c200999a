"""Damaged files of every format, read in a process of their own: values, or one line of error, and no end of it.

Cheaper than ``sources``, which builds a KB of each: a reader alone, or for the files of ``kbkit ingest FILE`` the
inference of a recipe, which reads them whole.
"""

from __future__ import annotations

import importlib
import json
import pickle
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz import Bench, Broken, stored
from tests.fuzz.mutations import mutated
from tests.fuzz.process import READER, run
from tests.fuzz.sources import graph, write_graph, write_imdb, write_neo4j, write_rdf, write_wikitables, written
from tests.fuzz.values import shown
from tests.samples import amazon, stark

if TYPE_CHECKING:
    import pyarrow as pa

FILES = 20
"""Damaged files of a case."""
_WIKIDATA = Path(__file__).parents[2] / "ingest" / "wikidata" / "sample" / "entities.json"

Write = Callable[[Path, random.Random], object]


def _tables(ending: str) -> Write:
    def write(folder: Path, rng: random.Random) -> None:
        (folder / f"people.{ending}").write_bytes(written(graph(rng)[rng.choice(("nodes", "edges"))], ending))

    return write


def _of_stark(ending: str) -> Write:
    def write(folder: Path, rng: random.Random) -> None:
        files = stark.sample(rng.choice(("amazon", "mag", "prime"))).files()
        name = rng.choice(sorted(name for name in files if name.endswith(ending)))
        (folder / Path(name).name).write_bytes(files[name])

    return write


def _pickled(folder: Path, rng: random.Random) -> None:
    if rng.random() < 0.5:
        _of_stark(".pkl")(folder, rng)
        return
    rows = dict(enumerate(graph(rng)["nodes"]))
    (folder / "rows.pkl").write_bytes(pickle.dumps(rows, protocol=rng.randrange(6)))


def _literals(folder: Path, rng: random.Random) -> None:
    amazon.write_lines(folder / rng.choice(("x.json", "x.json.gz")), [repr(row) for row in graph(rng)["nodes"]])


def _geojson(folder: Path, rng: random.Random) -> None:
    features = [
        {"type": "Feature", "properties": row, "geometry": {"type": "Point", "coordinates": [1.5, 2]}}
        for row in graph(rng)["nodes"]
    ]
    (folder / "places.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def _lists(folder: Path, rng: random.Random) -> None:
    (folder / "all.json").write_text(json.dumps({**graph(rng), "version": 3}, indent=rng.choice((None, 1))))


def _dump(folder: Path, rng: random.Random) -> None:
    lines = json.loads(_WIKIDATA.read_text(encoding="utf-8"))
    chosen = rng.sample(lines, 6)
    (folder / "dump.json").write_text("[\n" + ",\n".join(map(json.dumps, chosen)) + "\n]\n", encoding="utf-8")


KINDS: Mapping[str, tuple[Write, str]] = {
    **{ending: (_tables(ending), "infer") for ending in (
        "csv", "csv.gz", "tsv", "psv", "json", "jsonl", "ndjson.gz", "parquet",
    )},
    **{ending: (_tables(ending), "stored") for ending in stored.ENDINGS},
    "geojson": (_geojson, "infer"),
    "lists of JSON": (_lists, "infer"),
    "wide csv": (write_imdb, "infer"),
    "graph": (write_graph, "graphs"),
    "rdf": (write_rdf, "rdf"),
    "neo4j": (write_neo4j, "neo4j"),
    "wikitables": (write_wikitables, "wikitables"),
    "delimited": (_tables("csv"), "delimited"),
    "python_literals": (_literals, "python_literals"),
    "text": (_tables("jsonl"), "text"),
    "pickle": (_pickled, "pickle"),
    "tensor": (_of_stark(".pt"), "tensor"),
    "wikidata": (_dump, "wikidata"),
}  # fmt: skip
"""Formats: how a file is written, and what reads it."""


def case(bench: Bench, seed: int) -> list[Broken]:
    """Damage files of one format and read them, in as few processes as do not end."""
    rng = random.Random(seed)
    name = sorted(KINDS)[seed % len(KINDS)]
    write, reader = KINDS[name]
    lines: list[tuple[str, str, str]] = []
    made: list[tuple[str, bytes]] = []
    for number in range(FILES):
        folder = bench.folder / str(number)
        folder.mkdir()
        write(folder, rng)
        path = rng.choice(sorted(p for p in folder.rglob("*") if p.is_file()))
        data, what = mutated(path.read_bytes(), rng, path.name)
        path.write_bytes(data)
        made.append((f"{name}, file {number}, {path.name}: {what}", data))
        lines.append((READER, "infer" if reader == "stored" and number % 5 == 0 else reader, str(folder)))
    broken = []
    at = 0
    while at < len(lines):
        for ended in run(lines[at:], bench.folder / f"printed{at}"):
            problem = ended.problem()
            if not problem and "load.sql" in ended.stderr:
                problem = f"blames the recipe: {ended.stderr}"
            if problem:
                broken.append(Broken(f"{made[at][0]}: {shown(made[at][1], 800)}", problem[:1500]))
            at += 1
    return broken


# -- in the process that reads ----------------------------------------------------------------------------------------


def read(reader: str, folder: Path) -> None:
    """Read the files of a folder to their end."""
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    if reader == "infer":
        from kbkit.ingestion.inference import infer

        infer(paths, "x")
    elif reader == "stored":
        module = importlib.import_module(f"kbkit.readers.{'workbooks' if paths[0].suffix == '.xlsx' else 'databases'}")
        for table in module.tables(paths[0]):
            _end(module.read(paths[0], table))
    elif reader == "graphs":
        from kbkit.readers import graphs

        for table in graphs.TABLES:
            graphs.read(paths[0], table).read_all()
    elif reader == "wikidata":
        from kbkit.readers.wikidata.convert import convert

        (folder / "parts").mkdir()
        convert(paths, {}, folder / "parts", lambda done, total: None)
    else:
        from kbkit import readers

        given = ("nodes", "edges") if reader in readers.WITH_TABLES else (None,)
        for table in given:
            _end(readers.reader(reader)(paths, *([table] if table else [])))


def _end(source: pa.RecordBatchReader) -> None:
    for batch in source:
        batch.validate()
