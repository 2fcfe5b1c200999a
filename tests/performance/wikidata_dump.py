"""A made-up dump of Wikidata's form and sizes, to measure the converter with; and the measuring.

python -m tests.performance.wikidata_dump make DUMP.json.gz --entities 20000 --statements 12
python -m tests.performance.wikidata_dump measure DUMP.json.gz [--triples no] [--class Q5] ...
python -m tests.performance.wikidata_dump labels KB
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGES = ("en", "de", "fr", "es", "nl", "it", "pl", "ru", "ja", "pt", "sv", "zh")
KINDS = (  # datatype and share, about as on Wikidata
    ("wikibase-item", 0.42), ("external-id", 0.28), ("time", 0.09), ("string", 0.07), ("quantity", 0.06),
    ("monolingualtext", 0.03), ("globe-coordinate", 0.02), ("commonsMedia", 0.02), ("url", 0.01),
)  # fmt: skip
PROPERTIES = {kind: [f"P{number}" for number in range(10 + 90 * place, 90 + 90 * place)]
              for place, (kind, _) in enumerate(KINDS)}  # fmt: skip
ENTITY = "http://www.wikidata.org/entity/"


class Shape(NamedTuple):
    """What the entities of a dump have."""

    statements: float
    """Statements of an item, on average."""
    properties: Mapping[str, Sequence[str]] = PROPERTIES
    """By datatype, the most frequent first."""
    kinds: Sequence[tuple[str, float]] = KINDS
    frequent: int = 10
    """How many of a datatype's properties have most of its statements."""
    languages: Sequence[str] = LANGUAGES
    shuffled: bool = False
    """Whether labels are in any of the languages, rather than in the first ones."""
    precisions: Sequence[int] = (11,)
    """Of times: 9 is a year, 10 a month, 11 a day."""
    qualified: float = 0.25
    referenced: float = 0.6
    """Fractions of statements with qualifiers, and with references."""
    classes: int = 0
    """Items with a superclass, the first ones (0: a hundredth)."""


def entities(count: int, shape: Shape, seed: int = 1) -> Iterator[dict[str, Any]]:
    """``count`` items, and the properties they use."""
    drawn = random.Random(seed)
    for kind, names in shape.properties.items():
        for name in names:
            yield {
                "type": "property", "datatype": kind, "id": name, "labels": _terms(drawn, name, 6, shape),
                "descriptions": _terms(drawn, "about " + name, 4, shape), "aliases": [], "claims": [], "lastrevid": 7,
            }  # fmt: skip
    for number in range(1, count + 1):
        yield _item(drawn, number, count, shape)


def _item(drawn: random.Random, number: int, count: int, shape: Shape) -> dict[str, Any]:
    name = f"Q{number}"
    claims: dict[str, list[dict[str, Any]]] = {
        "P31": [_statement(drawn, name, "P31", "wikibase-item", f"Q{_class(drawn, count)}", count, shape)]
    }
    if number <= (shape.classes or max(count // 100, 20)):  # classes, each below an earlier one
        above = f"Q{drawn.randint(1, number)}"
        claims["P279"] = [_statement(drawn, name, "P279", "wikibase-item", above, count, shape)]
    for _ in range(round(drawn.expovariate(1 / max(shape.statements - 1, 0.1)))):
        kind = drawn.choices([kind for kind, _ in shape.kinds], [share for _, share in shape.kinds])[0]
        names = shape.properties[kind]
        prop = names[min(int(drawn.expovariate(1 / shape.frequent)), len(names) - 1)]
        claims.setdefault(prop, []).append(_statement(drawn, name, prop, kind, None, count, shape))
    return {
        "type": "item", "id": name, "labels": _terms(drawn, f"name of {number}", 8, shape),
        "descriptions": _terms(drawn, f"what {number} is", 5, shape),
        "aliases": {"en": [{"language": "en", "value": f"other name of {number}"}]}, "claims": claims,
        "sitelinks": {f"{code}wiki": {"site": f"{code}wiki", "title": f"Page {number}", "badges": []}
                      for code in shape.languages[: drawn.choice((0, 1, 3, 8))]},
        "pageid": number + 100, "ns": 0, "title": name, "lastrevid": 1_000_000 + number,
        "modified": "2024-05-01T10:00:00Z",
    }  # fmt: skip


def _class(drawn: random.Random, count: int) -> int:
    """A few classes hold most items."""
    return min(int(drawn.paretovariate(0.8)), max(count // 100, 20))


def _terms(drawn: random.Random, text: str, count: int, shape: Shape) -> dict[str, dict[str, str]]:
    number = min(drawn.randint(1, 2 * count - 1), len(shape.languages))
    codes = drawn.sample(shape.languages, number) if shape.shuffled else shape.languages[:number]
    return {code: {"language": code, "value": f"{text} {code}"} for code in codes}


def _statement(
    drawn: random.Random, subject: str, prop: str, kind: str, value: str | None, count: int, shape: Shape
) -> dict[str, Any]:
    code = f"{drawn.getrandbits(128):032X}"
    made: dict[str, Any] = {
        "mainsnak": _snak(drawn, prop, kind, value, count, shape), "type": "statement",
        "id": f"{subject}${code[:8]}-{code[8:12]}-{code[12:16]}-{code[16:20]}-{code[20:]}", "rank": "normal",
    }  # fmt: skip
    if drawn.random() < shape.qualified:
        made["qualifiers"] = {"P300": [_snak(drawn, "P300", "time", None, count, shape)]}
        made["qualifiers-order"] = ["P300"]
    if drawn.random() < shape.referenced:
        snaks = {"P11": [_snak(drawn, "P11", "wikibase-item", f"Q{drawn.randint(1, 50)}", count, shape)],
                 "P210": [_snak(drawn, "P210", "time", None, count, shape)]}  # fmt: skip
        code = hashlib.sha1(json.dumps(snaks).encode()).hexdigest()
        made["references"] = [{"hash": code, "snaks": snaks, "snaks-order": ["P11", "P210"]}]
    return made


def _snak(drawn: random.Random, prop: str, kind: str, value: str | None, count: int, shape: Shape) -> dict[str, Any]:
    number = drawn.randint(1, count)
    form: tuple[str, Any] = ("string", f"text {number}")
    if kind == "wikibase-item":
        name = value or f"Q{number}"
        form = ("wikibase-entityid", {"entity-type": "item", "numeric-id": int(name[1:]), "id": name})
    elif kind == "time":
        day = f"+{drawn.randint(1800, 2024)}-{drawn.randint(1, 12):02d}-{drawn.randint(1, 28):02d}T00:00:00Z"
        form = ("time", {"time": day, "timezone": 0, "before": 0, "after": 0,
                         "precision": shape.precisions[number % len(shape.precisions)],
                         "calendarmodel": ENTITY + "Q1985727"})  # fmt: skip
    elif kind == "quantity":
        form = ("quantity", {"amount": f"+{number}", "unit": drawn.choice(("1", ENTITY + "Q11573"))})
    elif kind == "monolingualtext":
        form = ("monolingualtext", {"text": f"words {number}", "language": "fr"})
    elif kind == "globe-coordinate":
        latitude, longitude = round(drawn.uniform(-90, 90), 6), round(drawn.uniform(-180, 180), 6)
        where = {"latitude": latitude, "longitude": longitude, "precision": 0.0001, "globe": ENTITY + "Q2"}
        form = ("globecoordinate", where)
    elif kind == "url":
        form = ("string", f"http://example.org/{number}")
    return {"snaktype": "value", "property": prop, "hash": f"{drawn.getrandbits(160):040x}", "datatype": kind,
            "datavalue": {"value": form[1], "type": form[0]}}  # fmt: skip


def make(path: Path, count: int, shape: Shape) -> None:
    """Write the dump, packed as its name says."""
    with gzip.open(path, "wt", 5) if path.suffix == ".gz" else path.open("w") as file:
        file.write("[\n")
        for place, entity in enumerate(entities(count, shape)):
            file.write((",\n" if place else "") + json.dumps(entity, separators=(",", ":")))
        file.write("\n]\n")


def measure(path: Path, options: dict[str, str]) -> None:
    """Convert into a folder that is thrown away; print rates and peak memory."""
    from kbkit.readers.wikidata.convert import convert
    from tests.performance.timing import Memory, disk_mb

    own, below = Memory(), Memory(children=True)
    with tempfile.TemporaryDirectory() as folder, own.watched(), below.watched():
        started = time.perf_counter()
        made = convert([path], options, Path(folder) / "parts", lambda done, total: None)
        taken = time.perf_counter() - started
        disk = disk_mb(Path(folder))
    total = made.counts["entities"]
    print(f"{total:,} entities in {taken:.1f} s: {total / taken:,.0f} a second; {made.counts}; {disk:,.0f} MB written")
    print(f"peak memory: this process {own.resident:,.0f} MB, the others together {below.resident:,.0f} MB")


_SERVICE = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en,de" }'
_LABELLED = {
    "rows of 10,000": ("SELECT ?x ?y{} { ?x wdt:P31 ?y {} } LIMIT 10000", ""),
    "a join": ("SELECT ?y{} { ?x wdt:P10 ?y . ?y wdt:P11 ?z {} } LIMIT 10000", ""),
    "groups": ("SELECT ?y{} (COUNT(*) AS ?n) { ?x wdt:P10 ?y {} } GROUP BY ?y{} ORDER BY DESC(?n) LIMIT 100", ""),
    "a lookup": ("SELECT ?y{} { <$one> wdt:P10 ?y {} }", "SELECT ?x { ?x wdt:P10 ?y } LIMIT 1"),
}
"""Queries with places for a label, the service, and the label again; and a query for the entity ``$one``."""


def _with(text: str, parts: Sequence[str]) -> str:
    for part in parts:
        text = text.replace("{}", part, 1)
    return text


def labels(path: Path) -> None:
    """Print milliseconds of queries without labels and with them on each engine: the best of 10, and the first."""
    import kbkit

    with kbkit.open(path) as kb:
        for name, (form, start) in _LABELLED.items():
            text = form.replace("$one", str(kb.sparql(start).item())) if start else form
            for engine in ("columns", "oxigraph", "auto"):
                shown = []
                for parts in (("", "", ""), (" ?yLabel", _SERVICE, " ?yLabel")):
                    times = []
                    for _ in range(10):
                        started = time.perf_counter()
                        rows = kb.sparql(_with(text, parts), engine=engine).height
                        times.append(1000 * (time.perf_counter() - started))
                    shown.append(f"{min(times):.0f} ({times[0]:.0f})")
                print(f"{name}, {engine}: {rows:,} rows, {shown[0]} ms, with labels {shown[1]} ms", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("make", "measure", "labels"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--statements", type=float, default=12)
    for name in ("language", "class", "property", "ids", "hops", "limit", "triples", "sitelinks"):
        parser.add_argument(f"--{name}", default="")
    given = vars(parser.parse_args())
    if given["action"] == "make":
        make(given["path"], given["entities"], Shape(given["statements"]))
    elif given["action"] == "labels":
        labels(given["path"])
    else:
        measure(given["path"], {k: v for k, v in given.items() if isinstance(v, str) and k != "action"})


if __name__ == "__main__":
    main()
