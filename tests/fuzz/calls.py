"""Random calls of the Python API: every call returns or raises a :class:`KbError`, in time, and the KB still answers.

The methods of the public classes, with their parameters, are found by introspection; arguments are valid values mixed
with hostile ones. ``TypeError`` and ``ValueError`` are allowed for arguments of a wrong Python type only, in one line,
from Python's own checks or from kbkit, never from inside a library.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import random
import resource
import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

import kbkit
from kbkit.errors import KbError
from tests.fuzz import Bench, Broken
from tests.fuzz.values import FLOATS, INTEGERS, WRONG, HangError, cycle, deep, shown, text, watched

CALLS = 40
"""Calls of a case."""
_MEMORY = 3 << 20
"""Growth of the peak memory, in KB, that a call may cause."""
_PACKAGE = str(Path(kbkit.__file__).parent)

_WORLD: dict[str, tuple[Any, ...]] = {
    "reference": ("France", "country#FRA", "city:Paris", "Nile", 0, 17, "#3", "FRA"),
    "relation": ("borders", "capital", "flows_through"),
    "relations": (["borders"], ["borders", "capital"], "borders"),
    "types": (["country"], ["country", "city"], "city"),
    "type": ("country", "city", "river", "language"),
    "expression": (
        'country:"France" -> [borders] -> country',
        "country",
        "country:<c> -> [borders] -> country",
        'count(country:"France" -> country)',
        "country{area_km2 > 100000}",
        'city - (country:"France" -> [capital] -> city)',
        "@saved",
        "(country | city) & country",
        "country{max area_km2}",
        "country -> [member_of{since < 1950}] -> organisation",
        "country{max(-> [member_of{since > 1950}] -> organisation, since) = 1955}",
    ),
    "query": ("landlocked and mountainous", '"the Nile"', "rivers of Africa", "Paris"),
    "question": ("Which countries border France?", "What is the capital of Japan?", "rivers that flow through Egypt"),
    "text": (
        "SELECT name FROM country WHERE key = $key",
        "SELECT ?s { ?s rdfs:label ?l } LIMIT 3",
        "SELECT 1",
        "FROM path_count('borders', 'edges')",
    ),
    "parts": (['country:"France" -> country'], []),
}
_TINY: dict[str, tuple[Any, ...]] = {
    "reference": ("g1", "g3", "insulin", 0, 5),
    "relation": ("treats", "interacts"),
    "type": ("gene", "drug", "disease"),
    "expression": ("*", "@saved", "gene"),
    "query": ("insulin", "gene"),
    "question": ("Which drugs treat diabetes?",),
}
_COMMON: dict[str, tuple[Any, ...]] = {
    "mode": ("auto", "bm25", "dense", "multivector", "hybrid", "relational", "best"),
    "engine": ("walk", "sql", "sparql", "spark", "quick"),
    "dialect": (None, "sparql", "wikidata", "sql"),
    "timeout": (None, 5.0, 0.001, 1, 0, -1.0),
    "max_steps": (1, 2, 4),
    "hops": (0, 1, 2, 3),
    "limit": (None, 1, 5, 100),
    "k": (1, 5, 20, 1000),
    "n": (1, 3, 10),
    "seed": (0, 1, 7),
    "min_answers": (None, 1, 2),
    "max_answers": (1, 5, 20),
    "weight": ("uniform", "popular", "best"),
    "slots": (None, {"c": "France"}, {"c": "#FRA"}, {"c": 3}),
    "bindings": ({"c": ["France", "Spain"]}, pl.DataFrame({"c": ["France"]}), {"c": [1, 2]}),
    "within": (None, "country", [0, 1, 2], 'country:"France" -> country', range(5)),
    "queries": (["a b", "c"], {"q1": "river"}, pl.DataFrame({"query": ["1"], "text": ["sea"]})),
    "questions": (["capital of France"], {"q1": "rivers of Egypt"}),
    "rerank": (None, None, "cross-encoder:nowhere", "magic"),
    "embedder": (None, None, "static", "none:such"),
    "store": ("tables", "text", "vectors", "embeddings"),
    "to": ("csv", "parquet", "ntriples", "kgtk", "stark", "xls"),
    "fusion": ("rrf", "minmax"),
    "fields": ("name", ["name", "text"], {"name": 2.0}),
    "weights": ({"bm25": 1.0, "dense": 2.0},),
    "constraints": (None, {"min_size": 1}),
    "name": ("saved", "set 1"),
    "source": ("table", "csv", "rdf", "nowhere"),
    "stores": (None, ["tables"], ["text"]),
    "analyzer": ("english", "german", "klingon"),
    "options": (None, {"header": "none"}),
    "columns": (None, {"key": "id"}),
    "nodes": ([0, 1], [], [3]),
    "node": (0, "France", 7),
    "id": ("France", "country", "capital"),
    "property": ("borders", "P31"),
    "values": (None, {"limit": "5"}),
    "progress": (None,),
}
_ALIASES = {"node": "reference", "start": "reference", "end": "reference", "template": "expression", "key": "query"}

MODULES = (
    ("kbkit.sparql.parse", "parse"),
    ("kbkit.answers.parse", "parse"),
    ("kbkit.answers.templates", "shipped"),
    ("kbkit.answers.templates", "as_template"),
    ("kbkit.measures.files", "read_queries"),
    ("kbkit.measures.records", "load_records"),
    ("kbkit.assets.queries", "load"),
    ("kbkit.ingestion.recipe", "load"),
    ("kbkit", "open"),
    ("kbkit", "ingest"),
    ("kbkit", "update"),
)
"""Functions of modules, as the guides call them."""
_API = ("kbkit.answers.answer_set", "kbkit.agent.actions")
_SKIPPED = {"close", "embedder"}
"""Members that end the KB, or that load a model for seconds."""


@functools.cache
def opened(path: Path) -> kbkit.KnowledgeBase:  # type: ignore[name-defined]
    """Open a KB once for all cases of this process."""
    return kbkit.open(path)


@functools.cache
def members(cls: type) -> list[str]:
    """Return the public methods and properties of a class, and the operators of sets."""
    special = {"__len__", "__contains__", "__and__", "__or__", "__sub__", "__repr__", "__iter__", "__getitem__"}
    special |= {"_repr_html_", "__eq__"}
    names = [name for name in dir(cls) if (name[0] != "_" or name in special) and name not in _SKIPPED]
    return [name for name in names if not isinstance(getattr(cls, name), type)]


class Arguments:
    """Draws arguments; ``wrong`` tells whether one of them is of a wrong Python type."""

    def __init__(self, rng: random.Random, bench: Bench, valid: dict[str, tuple[Any, ...]], hostile: float) -> None:
        self._rng, self._bench, self._valid, self._hostile = rng, bench, valid, hostile
        self.wrong = False
        self._typed_api = False

    def of(self, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments for a function; of wrong types only for the API itself."""
        self._typed_api = getattr(function, "__module__", "") in ("kbkit", "kbkit.kb", *_API)
        given: list[Any] = []
        named: dict[str, Any] = {}
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # a method of Python's own types
            return given, named
        for parameter in parameters:
            annotation = str(parameter.annotation)
            if parameter.kind is parameter.VAR_KEYWORD:
                for name in self._rng.sample(("key", "c", "fusion", "depth", "fields", "rrf_k", "x y"), self._count(2)):
                    named[name] = self.value(name, "int" if name in ("depth", "rrf_k") else annotation)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                given += [self.value(parameter.name, annotation) for _ in range(self._count(2))]
            elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
                given.append(self.value(parameter.name, annotation))
            elif parameter.default is parameter.empty or self._rng.random() < 0.4:
                named[parameter.name] = self.value(parameter.name, annotation)
        return given, named

    def _count(self, most: int) -> int:
        return self._rng.choice((0, 0, *range(most + 1)))

    def value(self, name: str, annotation: str) -> Any:
        """Return a value for a parameter: a valid one, a hostile one, or one of a wrong type."""
        name = _ALIASES.get(name, name)
        known = self._valid.get(name) or _COMMON.get(name)
        if self._rng.random() >= self._hostile:
            return self._rng.choice(known) if known else self._typed(annotation, mild=True)
        if self._typed_api and self._rng.random() < 0.15 and "Any" not in annotation and "object" not in annotation:
            self.wrong = True
            return self._rng.choice((*WRONG, cycle(), deep()))
        return self._typed(annotation)

    def _typed(self, annotation: str, *, mild: bool = False) -> Any:
        """Return a value that fits the annotation, as hostile as it can be."""
        rng = self._rng
        choices: list[Callable[[], Any]] = []
        words = lambda: "x" if mild else text(rng)  # noqa: E731
        if annotation in ("Path", "pl.DataFrame"):
            return self._bench.folder / "x.json" if annotation == "Path" else pl.DataFrame({"type": [], "key": []})
        if "Path" in annotation:
            choices.append(lambda: self._path(mild=mild))
        if "Mapping" in annotation:
            choices.append(lambda: {words(): words() for _ in range(rng.randrange(3))})
        if "Sequence" in annotation or "Iterable" in annotation or "Scope" in annotation or "Queries" in annotation:
            item = words if "str" in annotation or "PathLike" in annotation else lambda: rng.choice(INTEGERS)
            choices.append(lambda: [item() for _ in range(rng.randrange(4))])
        elif "Value" in annotation or "Any" in annotation:
            choices += [words, lambda: rng.choice(INTEGERS), lambda: rng.choice(FLOATS), lambda: None, cycle, deep]
        elif "bool" in annotation:
            choices.append(lambda: rng.random() < 0.5)
        if "int" in annotation and "Sequence" not in annotation and "Iterable" not in annotation:
            choices.append(lambda: 3 if mild else rng.choice(INTEGERS))
        if "float" in annotation:
            choices.append(lambda: 1.0 if mild else rng.choice(FLOATS))
        if "str" in annotation and "Path" not in annotation and "Mapping" not in annotation:
            choices.append(words)
        if not choices:
            return None
        return rng.choice(choices)()

    def _path(self, *, mild: bool) -> Any:
        folder = self._bench.folder
        if mild:
            return self._rng.choice((folder / "x.kb", self._copy(), folder, "nowhere.kb", folder / "a.html"))
        found = self._rng.choice((text(self._rng).lstrip("./"), "x" * 300, str(folder), "."))
        return found if self._rng.random() < 0.5 else Path(found)

    def _copy(self) -> Path:
        """Return a copy of the tiny KB, which calls may change."""
        return Path(shutil.copytree(self._bench.tiny, self._bench.folder / "copy.kb", dirs_exist_ok=True))


def targets(kb: Any, bench: Bench, rng: random.Random) -> Iterator[tuple[str, Callable[[Arguments], Any]]]:
    """Yield what to call: a name, and a function that draws the arguments, notes them and calls."""
    objects: list[tuple[str, Any]] = [("kb", kb)] * 6 + [("kb.explore", kb.explore), ("kb.workspace", kb.workspace)]
    try:
        expression = rng.choice(_WORLD["expression"] if kb.schema.name == "world" else _TINY["expression"])
        found = kb.answers(expression, **({"c": "France"} if "<c>" in expression else {}))
        objects += [(f"kb.answers({expression!r})", found)] * 3
    except KbError:
        pass
    while True:
        if rng.random() < 0.12:
            module, name = rng.choice(MODULES)
            yield f"{module}.{name}", getattr(importlib.import_module(module), name)
            continue
        label, holder = rng.choice(objects)
        name = rng.choice(members(type(holder)))
        yield f"{label}.{name}", functools.partial(getattr, holder, name)


def broken_by(error: BaseException, wrong: bool) -> str:
    """Return what is wrong with an exception, empty if it keeps the promise."""
    if isinstance(error, KbError):
        return "" if error.message.strip() else "an error without a message"
    said = f"{type(error).__name__}: {shown(str(error), 300)}"
    if isinstance(error, HangError):
        return "no end after the limit of time"
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f" at {last.filename.removeprefix(_PACKAGE)}:{last.lineno}"
    from_kbkit = last.filename.startswith((_PACKAGE, str(Path(__file__).parent)))
    if wrong and isinstance(error, (TypeError, ValueError)) and from_kbkit and "\n" not in str(error).strip():
        return ""
    return said + where


def answers_still(kb: Any) -> str:
    """Return what is wrong with a KB after hostile calls, empty if it answers."""
    count = kb.sql("SELECT count(*) AS n FROM nodes").item()
    if count != kb.schema.nodes or len(kb.search("river gene", k=1, mode="bm25")) > 1:
        return "the KB answers otherwise than before"
    if kb.answers("*").ids.size != count or kb.sparql("ASK { ?s ?p ?o }").item() is not True:
        return "the KB answers otherwise than before"
    return ""


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Make ``CALLS`` calls on one of the KBs."""
    rng = random.Random(seed)
    is_world = rng.random() < 0.7
    kb = opened(bench.world if is_world else bench.tiny)
    valid = _WORLD if is_world else _TINY
    calls = targets(kb, bench, rng)
    for _ in range(CALLS):
        label, target = next(calls)
        arguments = Arguments(rng, bench, valid, rng.choice((0.15, 0.5, 0.9)))
        peak, given, named = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, [], {}
        try:
            with watched(), contextlib.chdir(bench.folder):
                found = target() if isinstance(target, functools.partial) else target
                if callable(found):
                    given, named = arguments.of(found)
                    found = found(*given, **named)
                consume(found)
            problem = ""
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            problem = broken_by(error, arguments.wrong)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
        if grown > _MEMORY:
            problem = problem or f"{grown >> 10:,} MB more memory"
        if problem:
            words = [*map(shown, given), *(f"{name}={shown(value)}" for name, value in named.items())]
            yield Broken(f"{label}({', '.join(words)})", problem)
    if problem := answers_still(kb):
        yield Broken(f"after the calls of seed {seed}", problem)


def consume(found: Any) -> None:
    """Use a result as a caller would: show it, and read the first items of an iterator."""
    repr(found)
    if isinstance(found, Iterator):
        for _ in zip(range(3), found, strict=False):
            pass
    if isinstance(found, kbkit.KnowledgeBase):
        found.close()
