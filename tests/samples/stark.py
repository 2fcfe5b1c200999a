"""Tiny archives in the format of STaRK's processed ones, with invented content, written without torch."""

from __future__ import annotations

import io
import math
import pickle
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.ingestion.generate import SHAPES

NODES_OF_A_TYPE = 4
TYPES = {
    "amazon": ["product", "brand", "category", "color"],
    "mag": ["author", "institution", "field_of_study", "paper"],
    "prime": ["disease", "gene/protein", "molecular_function", "drug", "pathway", "anatomy", "effect/phenotype",
              "biological_process", "cellular_component", "exposure"],
}  # fmt: skip
RELATIONS = {
    "amazon": ["also_buy", "also_view", "has_brand", "has_category", "has_color"],
    "mag": ["affiliated_with", "cites", "has_topic", "writes"],
    "prime": ["ppi", "carrier", "enzyme", "target", "transporter", "contraindication", "indication", "off-label use",
              "synergistic interaction", "associated with", "parent-child", "phenotype absent", "phenotype present",
              "side effect", "interacts with", "linked to", "expression present", "expression absent"],
}  # fmt: skip
FOLDER = {"amazon": "processed/cache/brand-category-color", "mag": "processed", "prime": "processed"}
Edge = tuple[int, int, int]


@dataclass
class Archive:
    """What an archive says: ``edges`` are (head, tail, type number)."""

    kb: str
    node_info: dict[int, dict[str, Any]]
    node_types: list[int]
    edges: list[Edge]

    def files(self) -> dict[str, bytes]:
        """The files by name."""
        heads, tails, types = ([edge[i] for edge in self.edges] for i in range(3))
        result = {
            "node_info.pkl": pickle.dumps(self.node_info),
            "node_types.pt": tensor(self.node_types),
            "edge_index.pt": tensor([heads, tails]),
            "edge_types.pt": tensor(types),
        }
        if self.kb != "mag":
            result["node_type_dict.pkl"] = pickle.dumps(dict(enumerate(TYPES[self.kb])))
            result["edge_type_dict.pkl"] = pickle.dumps(dict(enumerate(RELATIONS[self.kb])))
        return result

    def write_folder(self, folder: Path) -> Path:
        """Unpacked, below ``folder``; returns it."""
        place = folder / FOLDER[self.kb]
        place.mkdir(parents=True)
        for name, data in self.files().items():
            (place / name).write_bytes(data)
        return folder

    def write_zip(self, path: Path) -> Path:
        """As it is published; returns ``path``."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.files().items():
                archive.writestr(f"{FOLDER[self.kb]}/{name}", data)
        return path


def sample(kb: str) -> Archive:
    """Four nodes of each type and a few edges of every signature that the published one has."""
    types = TYPES[kb]
    first = {name: place * NODES_OF_A_TYPE for place, name in enumerate(types)}
    info = {first[name] + i: _INFO[kb](name, i) for name in types for i in range(NODES_OF_A_TYPE)}
    if kb == "mag":  # where the papers are not in order
        info = {number: info[number] for number in [*range(12), 15, 12, 14, 13]}
    edges: list[Edge] = []
    for place, relation in enumerate(SHAPES[kb].relations):
        number = RELATIONS[kb].index(relation.name)
        for i in range(NODES_OF_A_TYPE):
            for j in range(NODES_OF_A_TYPE):
                head, tail = first[relation.head] + i, first[relation.tail] + j
                cured = relation.name == "indication" and j == 0  # one disease has no drug, as a template asks for
                if (3 * i * i + 5 * j + i * j + place) % 7 < 3 and head != tail and not cured:
                    edges.append((head, tail, number))
                    if SHAPES[kb].both_ways:
                        edges.append((tail, head, number))
    node_types = [place for place, _ in enumerate(types) for _ in range(NODES_OF_A_TYPE)]
    return Archive(kb, info, node_types, list(dict.fromkeys(edges)))


def _amazon(kind: str, i: int) -> dict[str, Any]:
    if kind != "product":
        return {f"{kind}_name": np.str_(f"{kind} {i}")}
    reviews = [
        {"summary": "Fair", "reviewText": 'It is "fair", [NaN] stars.', "vote": math.nan, "overall": np.float64(3)},
        {"summary": "Good", "reviewText": "Held up.", "vote": "1,234", "style": {"Color:": " Red"}},
        {"summary": "Poor", "reviewText": math.nan, "vote": "5", "style": None},
    ]
    return {
        "review": reviews if i == 1 else [], "qa": [{"question": "Does it float?", "answer": "Yes."}] if i == 1 else [],
        "asin": f"B{i:09}", "title": f"Ball {i}" if i != 2 else "", "global_category": "Sports and Outdoors",
        "price": ["", "$1,001.50", "$3 - $4", "varies"][i], "rank": [">#2,345 in Sports (See all)"] if i else "",
        "feature": ["Round", "", "ASIN of the set: B1"], "description": ["A ball.", "It rolls."],
        "details": {"product_dimensions": "1 x 2 inches ; 4 ounces"} if i == 1 else {}, "brand": "brand 0",
    }  # fmt: skip


def _mag(kind: str, i: int) -> dict[str, Any]:
    if kind != "paper":
        name = f"{kind} {i}" if i != 3 else -1
        level = {"Level": i} if kind == "field_of_study" else {}
        counts = {"PaperCount": i or -1, "CitationCount": 5}
        return {"mag_id": 900 + i, "DisplayName": name, **counts, **level, "type": kind}
    return {
        "mag_id": 100 + i, "Date": "2015-03-02" if i else -1, "Year": 2015 if i != 1 else -1, "DocType": "Journal",
        "OriginalVenue": "Letters" if i else -1, "JournalDisplayName": -1, "ConferenceSeriesDisplayName": math.nan,
        "PaperCitationCount": i, "title": f"On samples, part {i}", "abstract": f"We count to {i}.\r\n", "type": "paper",
    }  # fmt: skip


def _prime(kind: str, i: int) -> dict[str, Any]:
    details: dict[str, Any] = {
        "gene/protein": {
            "alias": ["A1", "A2"] if i else "A0", "_id": "1", "entrez_id": 5, "summary": "Binds.",
            "other_names": math.nan,
            "genomic_pos": [{"chr": "1", "start": 5}, {"chr": "2"}] if i else {"chr": "X", "start": 7},
            "interpro": [{"id": "IPR1", "desc": "Domain"}] if i else {"id": "IPR1", "desc": "Domain"},
            "generif": [{"pubmed": 1, "text": "First note."}, {"pubmed": 2, "text": "Second note."}],
        },
        "drug": {
            "description": "A compound.", "half_life": "4 hours", "atc_1": None, "molecular_weight": np.float64(99.5),
        },
        "pathway": {"name": ["Pathway"], "summation": {"dbId": 3, "_x": "y", "text": "Goes on."}, "tags": ("a", "b")},
    }.get(kind, {})  # fmt: skip
    known = {"id": f"{i}", "type": kind, "name": f"{kind} {i}", "source": "S"}
    return {**known, "details": details} if details else known


_INFO: dict[str, Callable[[str, int], dict[str, Any]]] = {"amazon": _amazon, "mag": _mag, "prime": _prime}


# -- tensors ----------------------------------------------------------------------------------------------------------


def tensor(values: Sequence[Any], name: str = "archive") -> bytes:
    """A contiguous int64 tensor as torch saves it."""
    array = np.array(values, "<i8")
    strides = [stride // 8 for stride in array.strides] if array.size else [1] * array.ndim
    return torch_file(describe(array.shape, strides, array.size), array.tobytes(), name)


def describe(
    sizes: Sequence[int], strides: Sequence[int], elements: int, offset: int = 0, kind: str = "LongStorage"
) -> bytes:
    """The pickle in a tensor's file."""
    storage = b"(" + _text("storage") + f"ctorch\n{kind}\n".encode() + _text("0") + _text("cpu")
    storage += _int(elements) + b"tQ"
    shape = b"".join(b"(" + b"".join(map(_int, numbers)) + b"t" for numbers in (sizes, strides))
    rebuilt = storage + _int(offset) + shape + b"\x89ccollections\nOrderedDict\n)R"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + rebuilt + b"tR."


def torch_file(
    description: bytes,
    storage: bytes,
    name: str = "archive",
    order: bytes = b"little",
    compression: int = zipfile.ZIP_STORED,
) -> bytes:
    """The zip archive around a description and its storage."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr(f"{name}/data.pkl", description)
        archive.writestr(f"{name}/byteorder", order)
        archive.writestr(f"{name}/data/0", storage)
        archive.writestr(f"{name}/version", b"3\n")
    return buffer.getvalue()


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text.encode())) + text.encode()


def _int(number: int) -> bytes:
    data = number.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data
