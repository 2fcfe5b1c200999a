"""The promises of the guide troubleshooting name the tests that prove them."""

from __future__ import annotations

import ast
import re

from kbkit import assets
from tests.fuzz.__main__ import AREAS
from tests.places import ROOT


def promises() -> dict[str, list[str]]:
    """Return the tests that the table of the guide names, by promise."""
    text = (assets.guides() / "troubleshooting.md").read_text(encoding="utf-8")
    section = text.partition("## What we promise")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {row[0].strip(): re.findall(r"`(tests/[^`]+)`", row[-1]) for row in rows[1:]}


def test_every_promise_names_tests_that_exist() -> None:
    found = promises()
    assert len(found) > 15
    assert [promise for promise, tests in found.items() if not tests] == []
    for path in {path for tests in found.values() for path in tests}:
        names = {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}
        area = re.fullmatch(r"tests/fuzz/(\w+)\.py", path)
        if area:
            assert area[1] in AREAS and "case" in names, path
        else:
            assert any(name.startswith("test_") for name in names), path


def test_every_generator_proves_a_promise() -> None:
    named = {path for tests in promises().values() for path in tests}
    assert {f"tests/fuzz/{area}.py" for area in AREAS} <= named
