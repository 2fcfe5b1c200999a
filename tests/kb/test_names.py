"""Names of classes: one name has one meaning in the package."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.places import ROOT

TWINS = {
    # Nodes of an expression as it is written, and the store of nodes.
    "Nodes": ("answers/syntax_tree", "stores/nodes"),
    # Private classes, each of which only its own file names.
    "_Batch": ("benchmarks/convkgyarn/written", "stores/vector_build"),
    "_Graph": ("benchmarks/ska/small_kb", "web/explore/graph"),
    "_Maker": ("benchmarks/convkgyarn/templates", "benchmarks/ska/published/make", "benchmarks/ska/tables/make"),
    "_Run": ("benchmarks/convkgyarn/make", "benchmarks/quest/make", "benchmarks/ska/make", "web/sparql"),
    "_Sql": ("answers/to_sql", "benchmarks/ska/graphs/triples_sql"),
    "_Work": ("benchmarks/ska/tables/by_models", "mcp/tools"),
}
"""The classes whose name several files define, and these files."""
_CLASS = re.compile(r"^[ \t]*class (\w+)(?=[(:])", re.MULTILINE)


def class_places(sources: dict[str, str]) -> dict[str, list[str]]:
    """The files that define each class."""
    places: dict[str, list[str]] = defaultdict(list)
    for file, text in sorted(sources.items()):
        for name in {found[1] for found in _CLASS.finditer(text)}:
            places[name].append(file)
    return places


def twins(places: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """The classes that several files define."""
    return {name: tuple(files) for name, files in places.items() if len(files) > 1}


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    package = ROOT / "kbkit"
    texts = {
        path.relative_to(package).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
    }
    assert len(texts) > 400
    return texts


def test_classes_have_names_of_their_own(sources: dict[str, str]) -> None:
    """A new class takes a name that no other file has; who renames one removes it from the list."""
    places = class_places(sources)
    assert "Manifest" in places
    assert twins(places) == TWINS


def test_that_check_sees_a_twin() -> None:
    sources = {"old/file": "class Manifest: ...\nclass Other: ...", "new/file": "def f():\n  class Manifest: ..."}
    assert twins(class_places(sources)) == {"Manifest": ("new/file", "old/file")}
