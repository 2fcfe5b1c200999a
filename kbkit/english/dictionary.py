"""The English dictionary of lemminflect, whose files are searched: to parse them whole takes longer than a command."""

from __future__ import annotations

import gzip
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any


class _SearchedFile:
    """The entries of a compressed file of lines ``word,category,...``, sorted by word."""

    def __init__(self, path: str, parse: Callable[[str], Any], fixed: Mapping[str, Any]) -> None:
        self._lines = gzip.decompress(Path(path).read_bytes()).splitlines()
        self._parse, self._fixed = parse, fixed

    def get(self, word: str, default: object = None) -> Any:
        """Return the entry of a word: its forms by part of speech or tag."""
        if word in self._fixed:
            return self._fixed[word]
        prefix = word.encode() + b","
        at = bisect_left(self._lines, prefix[:-1], key=_word)
        entry: dict[str, Any] = {}
        while at < len(self._lines) and self._lines[at].startswith(prefix):
            entry |= self._parse(self._lines[at].decode())
            at += 1
        return entry or default


@cache
def dictionary() -> Any:
    """Return the module lemminflect, with dictionaries that are searched in the place of those it would load."""
    import lemminflect
    from lemminflect import config
    from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
    from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec
    from lemminflect.core.LexicalUtils import categoryToUPos

    def lemmas(line: str) -> dict[str, Any]:
        _, category, forms = LemmaLUCodec.fromString(line)
        return {categoryToUPos(category): forms}

    def inflections(line: str) -> dict[str, Any]:
        forms: dict[str, Any] = InflectionLUCodec.fromString(line)[2]
        return forms

    auxiliaries = InflectionLUCodec.updateForAuxMod({})
    lemminflect.Lemmatizer().lemma_dict = _SearchedFile(config.lemma_lu_fn, lemmas, {})
    lemminflect.Inflections().infl_dict = _SearchedFile(config.inflection_lu_fn, inflections, auxiliaries)
    return lemminflect


def _word(line: bytes) -> bytes:
    return line[: line.index(b",")]
