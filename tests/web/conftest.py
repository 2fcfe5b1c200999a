"""Fixtures of the servers: KBs of their own, because pages keep queries and views in the workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase


@pytest.fixture(scope="module")
def world_kb(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of our own, with the files of the world KB."""
    return shutil.copytree(world_kb, tmp_path_factory.mktemp("web") / "world.kb", copy_function=os.link)


@pytest.fixture(scope="module")
def world(world_kb: Path) -> Iterator[KnowledgeBase]:
    """The KB, open for all tests of a module."""
    with kbkit.open(world_kb) as opened:
        yield opened
