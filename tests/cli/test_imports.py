"""Start-up imports no engine: the program answers --help at once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.examples import first_some

ENGINES = (
    "duckdb", "polars", "numpy", "pyarrow", "scipy", "tantivy", "pyoxigraph", "lancedb", "model2vec", "lark", "pandas",
    "sentence_transformers", "torch", "huggingface_hub", "pytrec_eval", "starlette", "uvicorn", "anyio",
    "kbkit.kb", "kbkit.stores",
)  # fmt: skip
HELP = """
import contextlib, io
from kbkit.cli.app import State, app
for args in ([], ["ingest"], ["sql"], ["search"], ["show"], ["recipe"], ["measure"], ["run"]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        app([*args, "--help"], obj=State())
    assert "Usage" in out.getvalue()
"""


@pytest.mark.parametrize("code", first_some(["import kbkit", "from kbkit import *", "import kbkit.cli.app", HELP], 3))
def test_no_engine_is_imported(code: str) -> None:
    report = f"\nimport json, sys\nprint(json.dumps([name for name in {ENGINES!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_opening_a_kb_opens_no_store(tiny_kb) -> None:
    code = "import json, sys, kbkit\nwith kbkit.open(sys.argv[1]) as kb: kb.schema.nodes\n"
    report = f"print(json.dumps([name for name in {ENGINES[:10]!r} if name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code + report, str(tiny_kb)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_one_engine_at_a_time(tiny_kb) -> None:
    code = (
        "import json, sys, kbkit\nfrom kbkit.stores.text_query import TextQuery\n"
        "with kbkit.open(sys.argv[1]) as kb: assert len(kb.text.search(TextQuery('gene'), 1)[0]) == 1\n"
    )
    report = "print(json.dumps([n for n in ('duckdb', 'pyoxigraph', 'lancedb', 'model2vec') if n in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code + report, str(tiny_kb)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
