"""Fixtures of several benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.benchmarks.published import publish_all
from tests.once import Once


@pytest.fixture(scope="module")
def folders(world: KnowledgeBase, once: Once) -> Path:
    """The published folder of one dataset of each benchmark."""
    return once("published", lambda out: publish_all(world, out))
