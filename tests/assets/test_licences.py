"""The licences of all packages that kbkit installs are listed, and they allow any use."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("packaging")

from tests.generate import licences

PERMISSIVE = {
    *("MIT", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC", "PSF-2.0", "Zlib", "CC0-1.0"),
    "MPL-2.0",  # its files keep it; a program that uses them need not have it
}


def test_every_package_is_listed_with_its_licence() -> None:
    """Other systems may need more packages than this one."""
    here = {name: text for name, (text, _) in licences.installed().items()}
    listed = licences.listed()
    stale = {name: text for name, text in here.items() if listed.get(name) != text}
    assert not stale, "run python -m tests.generate.licences --write"
    assert set(re.findall(r"\*\*([\w-]+)\*\*", licences.FILE.read_text())) == set(licences.direct())


def test_all_licences_are_permissive() -> None:
    named = {part for text in licences.listed().values() for part in re.split(r" AND | OR |[()]", text) if part}
    assert named <= PERMISSIVE
