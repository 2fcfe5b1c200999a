"""The staging database and the one that is built from it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import duckdb
import pytest

from kbkit.stores import table_build


@pytest.mark.parametrize("name", ["kb", "staging", 'a\'b "q" ü;?#%', "~x"])
def test_a_build_that_failed_leaves_no_database_open(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    staging = table_build.connect_staging(folder)
    staging.execute("CREATE TABLE memory.main.left_behind(a INT)")
    with pytest.raises(duckdb.Error) as failure:  # there is no file of tables
        table_build.built_database(staging, folder)
    with contextlib.closing(table_build.connect_staging(folder)) as again:
        assert again.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []
    assert failure.value  # whose traceback holds what was open
