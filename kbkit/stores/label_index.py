"""Write an index of labels, descriptions and aliases beside the triples, which ``sparql_worker.py`` reads.

The triplestore reads each label of an entity from the disk to find the one in a language; the index has all of them in
one place. ``labels.data`` holds records, in the order of the source: an entity and a property, then the values as
``en@Berlin``, each after a tab. ``labels.hashes`` holds the CRC-32 values of entities with properties, sorted, and
``labels.places`` where the record of each starts and ends.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np

from kbkit.schema import STANDARD_PREFIXES, Wikibase

_PROPERTIES = (
    STANDARD_PREFIXES["rdfs"] + "label",
    STANDARD_PREFIXES["skos"] + "altLabel",
    Wikibase.SCHEMA + "description",
)
_LINE = re.compile(
    rb'^<([^>\n]*)> <(%b)> "(.*)"@([A-Za-z0-9-]+) \.$' % "|".join(map(re.escape, _PROPERTIES)).encode(), re.MULTILINE
)


class LabelIndexWriter:
    """Collects the labels of N-Quads that pass by, whose entities have no escapes in their IRIs.

    The index is smaller if the lines of an entity follow each other.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / "labels.data").open("wb")
        self._hashes, self._ends = array("I"), array("Q", [0])
        self._rest, self._subject = b"", b""
        self._records: dict[bytes, list[bytes]] = {}

    def passing(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield chunks of the source unchanged, then write the index."""
        with self._file:
            for chunk in chunks:
                self._add(chunk)
                yield chunk
            self._add(b"\n")  # the last line may lack it
            self._flush()
        hashes, ends = np.array(self._hashes, np.uint32), np.array(self._ends, np.uint64)
        order = hashes.argsort(kind="stable")
        hashes[order].tofile(self._folder / "labels.hashes")
        np.column_stack([ends[:-1], ends[1:]])[order].tofile(self._folder / "labels.places")

    def _add(self, chunk: bytes) -> None:
        lines, _, self._rest = (self._rest + chunk).rpartition(b"\n")
        for subject, verb, value, language in _LINE.findall(lines):
            if subject != self._subject:
                self._flush()
                self._subject = subject
            # An escaped tab, as any escape, makes the reader ask the triplestore
            self._records.setdefault(verb, []).append(language.lower() + b"@" + value.replace(b"\t", rb"\t"))

    def _flush(self) -> None:
        for verb, values in self._records.items():
            key = self._subject + b" " + verb
            self._hashes.append(crc32(key))
            self._ends.append(self._ends[-1] + self._file.write(b"\t".join([key, *values])))
        self._records = {}
