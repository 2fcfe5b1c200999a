"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.directory import files as whole_files
from kbkit.errors import KbError


def test_texts_and_bytes_in_new_folders_and_in_place_of_old_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    whole_files.write({tmp_path / "a": "é\n", tmp_path / "b" / "c": b"\xff"})
    assert (tmp_path / "a").read_bytes() == "é\n".encode()
    assert (tmp_path / "b" / "c").read_bytes() == b"\xff"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "c"]


@pytest.mark.parametrize("wrong", ["folder", "a/below"])
def test_all_or_nothing(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "folder" / "x").mkdir(parents=True)
    with pytest.raises(KbError, match="cannot be written"):
        whole_files.write({tmp_path / wrong: "new", tmp_path / "a": "new"})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "folder", "x"]
