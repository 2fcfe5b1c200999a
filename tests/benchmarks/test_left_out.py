"""Words that datasets leave out, and the filter of predicates that all benchmarks share."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from kbkit.benchmarks.left_out import left_out_words
from kbkit.errors import BadInputError


def test_shipped_list_compares_whole_words_and_knows_exceptions() -> None:
    words = left_out_words()
    assert words.found("Two Faggots and a Movie") == "Faggots"
    assert words.any(["The Squaw Man"]) == "Squaw"
    for name in ("Dick Van Dyke", "Kike Maíllo", "Spiced Ham", "Montenegro", "Río Negro", "Squaw Valley"):
        assert words.found(name) == ""
    assert words.about["name"] == "kbkit"


def test_a_word_outside_of_an_exception_is_found() -> None:
    assert left_out_words().found("Squaw Valley and The Squaw Man") == "Squaw"


def test_columns_are_checked_as_texts_are() -> None:
    texts = pl.Series(["The Squaw Man", "Squaw Valley", None, "Spiced", "Dick Van Dyke", "a faggot"])
    assert left_out_words().mask(texts).to_list() == [True, False, False, False, False, True]
    assert not left_out_words("none").mask(texts).any()


def test_users_replace_or_drop_the_list(tmp_path: Path) -> None:
    own = tmp_path / "words.txt"
    own.write_text("# mine\nblue  moon\n!Once in a Blue Moon\n", encoding="utf-8")
    words = left_out_words(str(own))
    assert words.found("a Blue Moon") == "Blue Moon"
    assert words.found("once in a blue moon") == ""
    assert words.found("The Squaw Man") == ""
    assert left_out_words("none").found("The Squaw Man") == ""


@pytest.mark.parametrize("content", ["# nothing\n", None])
def test_bad_lists(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "list.txt"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError):
        left_out_words(str(path))
