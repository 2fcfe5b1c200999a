"""BM25 over real texts finds what bm25s finds, on the same words."""

from __future__ import annotations

from pathlib import Path

import bm25s
import numpy as np
import pytest

import kbkit
from kbkit.stores.text import field_name
from kbkit.stores.text_query import TextQuery
from tests.performance.known_items import known_items


def test_the_best_hit_is_that_of_bm25s(shared_data: Path, tmp_path: Path) -> None:
    with kbkit.ingest("triples", shared_data / "wn18rr", out=tmp_path / "wn.kb", chunk_words=0, stores=["text"]) as kb:
        texts = kb.sql("SELECT id, text FROM texts ORDER BY id")
        ids, field = texts["id"].to_numpy(), field_name(kb.schema.text_fields[0].name)
        peer = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        peer.index([[word.stem for word in kb.text.tokens(text)] for text in texts["text"]], show_progress=False)
        asked = known_items(kb, kb.schema.node_types[0].name, 200, 5)
        agreed = 0
        for text in asked["text"]:
            [best], [score] = kb.text.search(TextQuery(text), 1, None, {field: 1.0})
            scores = peer.get_scores(kb.text.words(text))
            # Tantivy multiplies by k1 + 1, and keeps the length of a document in one byte.
            assert score == pytest.approx(2.2 * scores.max(), rel=0.1)
            agreed += bool(np.isin(best, ids[np.isclose(scores, scores.max(), rtol=1e-6)]))
        assert asked.height == 200
        assert agreed >= 190
