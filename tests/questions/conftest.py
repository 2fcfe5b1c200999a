"""The database that a module asks questions of, made by its ``SCRIPT`` and called ``NAME``, and the KB of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import made


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    name: str = request.module.NAME
    return made(tmp_path_factory.mktemp(name) / f"{name}.sqlite", request.module.SCRIPT)


@pytest.fixture(scope="module")
def kb(database: Path) -> Iterator[KnowledgeBase]:
    with kbkit.ingest(str(database), out=database.with_suffix(".kb")) as kb:
        yield kb
