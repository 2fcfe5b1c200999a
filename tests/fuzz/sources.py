"""Damaged source files of every recipe: a clear error and nothing left, or the values that another reader reads.

The other readers are Python's :mod:`csv` and :mod:`json`, pyarrow and pyoxigraph. For graphs of the recipe ``table``
all keys, names, texts, attributes and edges are compared, for ``csv`` and ``triples`` all rows, for ``rdf`` the number
of statements, and for published graphs the sound KB: those that are only written differently have the same counts.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import math
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox

import kbkit
from kbkit import assets
from kbkit.errors import KbError
from kbkit.stores.triples import QUADS
from tests.fuzz import Bench, Broken, stored
from tests.fuzz.mutations import line_ends, mutated
from tests.fuzz.values import HangError, shown, watched
from tests.samples import amazon, ogbn_mag, primekg, stark

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS / "samples"
SOURCES = 5
"""Damaged sources of a case."""

Row = dict[str, Any]


class UnreadableError(Exception):
    """The other reader refuses a file."""


# -- graphs of the recipe table ---

_NAMES = (
    "Ann",
    "Björn",
    "O'Neil",
    'say "hi"',
    "a, b",
    "x;y",
    "糖尿病",
    " lead",
    "trail ",
    "1",
    "1.0",
    "007",
    "null",
    "NaN",
)
_WHEN = ("2020-01-01", "2020-01-01T00:00:00Z", "10:00:00", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "true", "1e5", "{}")
FORMATS = ("csv", "csv.gz", "tsv", "json", "json.gz", "jsonl", "ndjson.gz", "parquet", *stored.ENDINGS)


def graph(rng: random.Random) -> dict[str, list[Row]]:
    """Return the rows of a small graph."""
    count = rng.choice((1, 3, 12))
    keys = rng.sample([*(f"k{i}" for i in range(20)), "007", "1", "1e5", *_WHEN[:4], "ключ", "a/b c"], count)
    kinds = rng.choice((["x"], ["x", "y/z", "O'x"]))
    nodes: list[Row] = []
    for key in keys:
        row: Row = {"key": key, "type": rng.choice(kinds), "name": rng.choice((*_NAMES, *_WHEN))}
        for name, values in (("n", (1, 2, 2**40, -5)), ("real", (1.5, 2.0, 1e300)), ("flag", (True, False))):
            row[name] = rng.choice((*values, None))
        nodes.append({**row, "when": rng.choice((*_WHEN, None)), "note": rng.choice((*_NAMES, None))})
    edges = [
        {
            "head": rng.choice(keys),
            "relation": rng.choice(("knows", "is part of")),
            "tail": rng.choice(keys),
            "since": n,
        }
        for n in range(rng.choice((1, 5)))
    ]
    texts = [{"key": rng.choice(keys), "text": rng.choice(_NAMES) + "\nline two" * rng.randrange(2)} for _ in range(2)]
    return {"nodes": nodes, "edges": edges, "texts": texts}


def written(rows: list[Row], kind: str) -> bytes:
    """Return rows in a format."""
    plain = kind.removesuffix(".gz")
    if plain in stored.ENDINGS:
        return stored.written(rows, plain)
    if plain == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    if plain in ("jsonl", "ndjson"):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif plain == "json":
        text = json.dumps(rows, ensure_ascii=False, indent=1)
    else:
        file = io.StringIO()
        cells = [[_cell(value) for value in row.values()] for row in rows]
        mark = {"csv": ",", "psv": "|"}.get(plain, "\t")
        if plain == "tsv":
            cells = [[cell.replace("\t", " ").replace("\n", " ").replace('"', "'") for cell in row] for row in cells]
        csv.writer(file, delimiter=mark, lineterminator="\n").writerows([[*rows[0]], *cells])
        text = file.getvalue()
    return gzip.compress(text.encode(), mtime=0) if kind.endswith(".gz") else text.encode()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def read(path: Path) -> list[Row]:
    """Read a file with another reader; raise :class:`UnreadableError` for what it refuses."""
    if path.name.rpartition(".")[2] in stored.ENDINGS:
        try:
            return stored.read(path)
        except Exception as error:  # noqa: BLE001 - of openpyxl, which are of any kind
            raise UnreadableError(str(error)) from None
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        kind = path.name.removesuffix(".gz").rpartition(".")[2]
        if kind == "parquet":
            return pq.read_table(io.BytesIO(data)).to_pylist()
        text = data.decode("utf-8-sig")
        if kind in ("csv", "tsv"):
            return _delimited(text, kind)
        return _json(text)
    except (
        OSError,
        EOFError,
        ValueError,
        OverflowError,
        RecursionError,
        csv.Error,
        pa.ArrowException,
        KeyError,
    ) as error:
        raise UnreadableError(str(error)) from None


def _delimited(text: str, kind: str) -> list[Row]:
    source = io.StringIO(text, newline="")
    if kind == "csv":
        rows = [row for row in csv.reader(source, strict=True) if row]
    else:
        rows = [row for row in csv.reader(source, delimiter="\t", quoting=csv.QUOTE_NONE) if row]
    header, *rest = rows or [[]]
    names = [name.strip() or f"column{i}" for i, name in enumerate(header)]
    return [{n: v or None for n, v in zip(names, row, strict=True)} for row in rest]


def _json(text: str) -> list[Row]:
    def unique(pairs: list[tuple[str, Any]]) -> Row:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("duplicate key")
        return dict(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=unique)
    found, at = [], 0
    while at < len(text.rstrip(" \t\r\n")):
        value, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip(" \t\r\n")))
        found.append(value)
    rows = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("not objects")
    return rows


def same(value: Any, seen: Any) -> bool:
    """Return whether a value of the KB is the one in the file, or its text."""
    if value in (None, "") or seen is None:
        return seen in (None, "") and value in (None, "")
    if isinstance(seen, (list, tuple)) and not isinstance(value, (list, dict)):
        return [str(one) for one in seen] == str(value).split("|")
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str) == json.dumps(seen, default=str) or _loaded(seen) == value
    if isinstance(seen, bool) or isinstance(value, bool):
        return str(seen).lower() == str(value).strip().lower()
    if isinstance(seen, float) and math.isnan(seen):
        return isinstance(value, float) and math.isnan(value)
    if isinstance(seen, (int, float)):
        return _number(value) == seen or math.isclose(float(_number(value) or 0), seen, rel_tol=1e-14)
    if isinstance(seen, (datetime.date, datetime.time)):
        return _moment(seen) == _moment(value)
    if isinstance(value, float) and math.isnan(value) and seen == "NaN":  # which only Python reads as a number
        return True
    return str(value) == seen or (not isinstance(value, str) and _number(seen) == value)


def _loaded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _number(value: Any) -> float | None:
    try:
        return int(value) if not isinstance(value, float) else value
    except (TypeError, ValueError):
        pass
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _moment(value: Any) -> str:
    text = str(value).strip().replace("T", " ").removesuffix("Z").removesuffix("+00:00").removesuffix(" 00:00:00")
    return text.rstrip("0").rstrip(".") if "." in text else text


_CANONICAL = {"id": "key", "node": "key", "label": "name", "title": "name", "category": "type", "kind": "type"}


def check_table(kb: Any, folder: Path) -> Iterator[str]:
    """Compare a KB with the files that it was built from."""
    nodes, edges, texts = (_rows(folder, part) for part in ("nodes", "edges", "texts"))
    by_key: dict[tuple[str, str], Row] = {}
    for row in nodes:
        kind = row.get("type")
        by_key[("entity" if kind in (None, "") else _text(kind), _text(row.get("key")))] = row
    seen = {(kind, key): number for number, kind, key in kb.sql("SELECT id, type, key FROM nodes").iter_rows()}
    if set(seen) != set(by_key):
        yield f"keys differ: {shown(sorted(set(seen) ^ set(by_key)))}"
        return
    for reference, row in by_key.items():
        node = kb.node(seen[reference])
        name = row.get("name")
        name = name.strip(" ") if isinstance(name, str) else name  # spaces around a name are no part of it
        if not (same(name, node.name) or (name in (None, "") and node.name == node.key)):
            yield f"name of {reference}: {shown(name)} is {shown(node.name)}"
        for column, value in row.items():
            if column in ("key", "type", "name", "aliases", "types"):
                continue
            if not same(value, node.attributes.get(column, node.attributes.get(f"{column}_"))):
                yield f"{column} of {reference}: {shown(value)} is {shown(node.attributes.get(column))}"
    found = Counter(
        kb.sql(
            "SELECT h.key, e.relation, t.key FROM edges e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
        ).iter_rows()
    )
    wanted = {json.dumps(row, sort_keys=True, default=str): row for row in edges}
    expected = Counter((_text(r["head"]), _text(r["relation"]), _text(r["tail"])) for r in wanted.values())
    if set(found) != set(expected):
        yield f"edges differ: {shown(sorted(set(found) ^ set(expected)))}"
    said = Counter(kb.sql("SELECT n.key, x.text FROM texts x JOIN nodes n USING (id)").iter_rows())
    written_texts = Counter((_text(r["key"]), _text(r["text"])) for r in texts if r.get("text") not in (None, ""))
    if set(said) != set(written_texts):
        yield f"texts differ: {shown(sorted(set(said) ^ set(written_texts)))}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, (list, dict)) else str(value)


def _rows(folder: Path, part: str) -> list[Row]:
    [path] = folder.glob(f"{part}.*")
    return [{_CANONICAL.get(name, name): value for name, value in row.items()} for row in read(path)]


def write_table(folder: Path, rng: random.Random) -> None:
    for part, rows in graph(rng).items():
        kind = rng.choice(FORMATS)
        (folder / f"{part}.{kind}").write_bytes(written(rows, kind))


# -- other sources ---


def check_csv(kb: Any, folder: Path) -> Iterator[str]:
    """Compare the rows of tables of data."""
    for path in folder.iterdir():
        text = path.read_bytes().decode("utf-8-sig")
        first = io.StringIO(text, newline="").readline()
        mark = "\t" if path.suffix == ".tsv" else next((mark for mark in ",;\t" if mark in first), ",")
        quoting = csv.QUOTE_NONE if path.suffix == ".tsv" else csv.QUOTE_MINIMAL
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark, quoting=quoting) if any(row)]
        query = "SELECT cells FROM table_rows WHERE table_id = $table ORDER BY position"
        found = kb.sql(query, table=path.stem)["cells"].to_list()
        if [_stripped(row) for row in rows[1:]] != [_stripped(row) for row in found]:
            yield f"rows of {path.name} differ: {shown(rows[1:])} is {shown(found)}"


def _stripped(row: list[str]) -> list[str]:
    while row and not row[-1]:
        row = row[:-1]
    return row


def check_triples(kb: Any, folder: Path) -> Iterator[str]:
    """Compare the lines of three fields."""
    lines = (
        (folder / "train.tsv").read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )
    expected = {tuple(line.split("\t")) for line in lines if line}
    found = set(
        kb.sql(
            "SELECT h.key, e.relation, t.key FROM edges e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
        ).iter_rows()
    )
    if len(found) != len(expected) or {(h, t) for h, _, t in found} != {(row[0], row[-1]) for row in expected}:
        yield f"triples differ: {shown(sorted(map(str, found ^ expected)))}"


_SYNTAXES = {
    "ttl": ox.RdfFormat.TURTLE,
    "nt": ox.RdfFormat.N_TRIPLES,
    "rdf": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}


def check_rdf(kb: Any, folder: Path) -> Iterator[str]:
    """Compare the number of statements."""
    [path] = folder.iterdir()
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    syntax = _SYNTAXES[path.name.removesuffix(".gz").rpartition(".")[2]]
    expected = len({str(quad) for quad in ox.parse(data, format=syntax, base_iri="http://e.org/")})
    found = len(set(gzip.decompress((kb.folder / QUADS).read_bytes()).splitlines()))
    if found != expected:
        yield f"{found} statements instead of {expected}"


def write_rdf(folder: Path, rng: random.Random) -> None:
    kind = rng.choice(("ttl", "nt", "nt.gz", "rdf", "jsonld"))
    triples = [quad.triple for quad in ox.parse(path=TESTS / "tiny" / "tiny.ttl", format=ox.RdfFormat.TURTLE)]
    data = ox.serialize(triples, format=_SYNTAXES[kind.removesuffix(".gz")])
    assert data is not None
    (folder / f"graph.{kind}").write_bytes(gzip.compress(data, mtime=0) if kind.endswith("gz") else data)


def write_csv(folder: Path, rng: random.Random) -> None:
    for name in ("films", "prices"):
        rows = graph(rng)["nodes"]
        kind = rng.choice(("csv", "tsv"))
        (folder / f"{name}.{kind}").write_bytes(written(rows, kind))


def write_triples(folder: Path, rng: random.Random) -> None:
    lines = [f"e{rng.randrange(9)}\trelated to\té{rng.randrange(9)}\n" for _ in range(12)]
    (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")


def write_graph(folder: Path, rng: random.Random) -> None:
    network = nx.DiGraph() if rng.random() < 0.5 else nx.MultiGraph()
    network.add_nodes_from((row["key"], {"type": row["type"], "name": "Ann", "n": 7}) for row in graph(rng)["nodes"])
    nodes = sorted(network)
    for number in range(4):
        network.add_edge(rng.choice(nodes), rng.choice(nodes), relation="knows", since=number + 0.5)
    kind = rng.choice(("graphml", "gexf", "gml", "json", "graphml.gz"))
    path = folder / f"graph.{kind}"
    if kind == "json":
        path.write_text(json.dumps(nx.node_link_data(network, edges="links")), encoding="utf-8")
    else:
        {"graphml": nx.write_graphml_xml, "gexf": nx.write_gexf, "gml": nx.write_gml}[kind.removesuffix(".gz")](
            network, path
        )


_NODES = b'p:ID(P),name,born:int,tags:string[],:LABEL\n1,"A, ""B""",1964,x;y,Person;Actor\n2,Bj\xc3\xb6rn,,,Person\n'
_LINKS = b":START_ID(P),:END_ID(P),:TYPE,since:date\n1,2,KNOWS,2020-01-01\n2,1,KNOWS,\n"
_APOC = b"""{"type":"node","id":"0","labels":["A","B"],"properties":{"name":"Ann","n":[1,2],"ok":true}}
{"type":"node","id":"1","labels":["A"],"properties":{"title":"B","n":null}}
{"id":"0","type":"relationship","label":"R","properties":{"w":1.5},"start":{"id":"0"},"end":{"id":"1"}}
"""


def write_neo4j(folder: Path, rng: random.Random) -> None:
    if rng.random() < 0.4:
        (folder / "all.json").write_bytes(_APOC)
        return
    header, _, rows = _NODES.partition(b"\n")
    parts = {"p_header.csv": header + b"\n", "p.csv": rows} if rng.random() < 0.5 else {"p.csv": _NODES}
    for name, data in {**parts, "links.csv": _LINKS}.items():
        (folder / name).write_bytes(data)


def _copy(name: str) -> Callable[[Path, random.Random], None]:
    def write(folder: Path, rng: random.Random) -> None:
        shutil.copytree(SAMPLES / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.traced.json"))

    return write


def _asset(recipe: str, part: str) -> Callable[[Path, random.Random], None]:
    def write(folder: Path, rng: random.Random) -> None:
        shutil.copytree(assets.folder("ingest") / recipe / part, folder, dirs_exist_ok=True)

    return write


def write_stark(folder: Path, rng: random.Random) -> None:
    stark.sample(rng.choice(("amazon", "mag", "prime"))).write_folder(folder)


def write_wikitables(folder: Path, rng: random.Random) -> None:
    place = folder / "204-csv"
    place.mkdir()
    (place / "1.csv").write_text('"Year","Name"\n"1999","The \\"Moth\\""\n"2001","B, C"\n', encoding="utf-8")
    (place / "1.tsv").write_text('Year\tName\n1999\tThe "Moth"\n2001\tB, C\n', encoding="utf-8")


_FILM = {
    "movie_title": "Avatar\xa0", "movie_imdb_link": "http://www.imdb.com/title/tt0499549/", "director_name": "J. C.",
    "actor_1_name": "C. Pounder", "actor_2_name": "J. Moore", "actor_3_name": "", "genres": "Action|Fantasy",
    "plot_keywords": "avatar|future", "country": "USA", "language": "English", "content_rating": "PG-13",
    "title_year": "2009", "duration": "178", "budget": "237000000", "gross": "760505847", "imdb_score": "7.9",
    "num_voted_users": "886204", "color": "Color",
}  # fmt: skip


def write_imdb(folder: Path, rng: random.Random) -> None:
    other = {**_FILM, "movie_title": "Brave", "movie_imdb_link": "http://www.imdb.com/title/tt1217209/"}
    (folder / "movie_metadata.csv").write_bytes(written([_FILM, other], "csv"))


Writer = Callable[[Path, random.Random], object]
Check = Callable[[Any, Path], Iterator[str]]

RECIPES: dict[str, tuple[Writer, Check | None]] = {
    "table": (write_table, check_table),
    "csv": (write_csv, check_csv),
    "triples": (write_triples, check_triples),
    "rdf": (write_rdf, check_rdf),
    "graph": (write_graph, None),
    "neo4j": (write_neo4j, None),
    "kgtk": (_copy("kgtk"), None),
    "kgx": (_copy("kgx"), None),
    "hetionet": (_copy("hetionet"), None),
    "hybridqa": (_copy("hybridqa"), None),
    "tablebench": (_copy("tablebench"), None),
    "quest": (_copy("quest"), None),
    "webqsp": (_copy("rog"), None),
    "cwq": (_copy("rog"), None),
    "amazon": (lambda folder, _: amazon.write(folder), None),
    "ogbn_mag": (lambda folder, _: ogbn_mag.write(folder), None),
    "primekg": (lambda folder, _: primekg.write(folder), None),
    "stark": (write_stark, None),
    "wikidata": (_asset("wikidata", "sample"), None),
    "world": (_asset("world", "data"), None),
    "wikitablequestions": (write_wikitables, None),
    "imdb": (write_imdb, None),
}
_GENERIC = ("table", "csv", "triples", "rdf", "kgtk", "graph", "neo4j")


def damage(folder: Path, rng: random.Random) -> tuple[str, str]:
    """Damage one file; return its name and what was done."""
    path = rng.choice(sorted(p for p in folder.rglob("*") if p.is_file()))
    data, what = mutated(path.read_bytes(), rng, path.name)
    path.write_bytes(data)
    return path.name, what


def build(recipe: str, folder: Path, out: Path) -> Any:
    """Build a KB with the store that the comparison needs."""
    return kbkit.ingest(recipe, folder, out=out, stores=["tables"])


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Damage ``SOURCES`` sources, of the generic recipes more often."""
    rng = random.Random(seed)
    for number in range(SOURCES):
        recipe = rng.choice(("table", "table", "table", "csv", "rdf", "triples", "graph", "neo4j", *RECIPES))
        folder, out = bench.folder / f"source{number}", bench.folder / f"{number}.kb"
        folder.mkdir()
        write, check = RECIPES[recipe]
        write(folder, rng)
        name, what = damage(folder, rng) if rng.random() < 0.95 else ("", "nothing")
        before = sorted(bench.folder.rglob("*"))
        for problem in broken_by(recipe, folder, out, check, name):
            kept = {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name == name}
            yield Broken(f"{recipe}: {what} in {name}: {shown(kept.get(name, b''), 1500)}", problem)
        if out.exists():
            shutil.rmtree(out)
        elif left := set(bench.folder.rglob("*")) - set(before):
            yield Broken(f"{recipe}: {what} in {name}", f"left {', '.join(sorted(p.name for p in left))}")


def broken_by(recipe: str, folder: Path, out: Path, check: Check | None, name: str) -> Iterator[str]:
    """Build a KB and yield the promises that this breaks."""
    try:
        with watched():
            kb = build(recipe, folder, out)
    except KbError as error:
        text = str(error)
        if "\n" in text.strip() or "INTERNAL" in text or len(text) > 3_000:
            yield f"a message of {len(text.splitlines())} lines: {shown(text, 400)}"
        elif "load.sql" in text and recipe in _GENERIC:
            yield f"blames the recipe: {shown(text, 400)}"
        elif text.startswith(("Cannot read", "Invalid")) and name not in text:
            yield f"names no file: {shown(text, 400)}"
        if out.exists():
            yield f"left {out.name} after: {shown(text, 400)}"
        return
    except HangError:
        yield "no end after the limit of time"
        return
    except Exception as error:  # noqa: BLE001
        yield f"{type(error).__name__}: {shown(str(error), 400)}"
        return
    with kb:
        try:
            yield from check(kb, folder) if check else ()
        except (UnreadableError, UnicodeDecodeError, SyntaxError) as error:
            if name.endswith(".parquet"):  # damage of metadata that only pyarrow reads
                return
            yield f"reads what another reader refuses ({shown(str(error))})"
        for store, problem in kb.check():
            if problem:
                yield f"{store}: {problem}"


__all__ = ["RECIPES", "case", "line_ends"]
