"""Croissant metadata of a publication: JSON-LD, as version 1.0 of mlcommons.org/croissant describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from kbkit.benchmarks.publish.form import Publication, WrittenTable
from kbkit.benchmarks.publish.settings import PublishSettings

UNKNOWN = "unknown"
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    **{name: f"cr:{name}" for name in ("equivalentProperty", "extract", "field", "fileProperty", "fileObject")},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in ("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5")},
    **{name: f"cr:{name}" for name in ("parentField", "path", "recordSet", "references", "regex", "repeated")},
    **{name: f"cr:{name}" for name in ("replace", "samplingRate", "separator", "source", "subField", "transform")},
    "sc": "https://schema.org/",
}
_TYPES: Mapping[pl.DataType, str] = {
    pl.String(): "sc:Text",
    pl.List(pl.String): "sc:Text",
    pl.Int64(): "sc:Integer",
    pl.Float64(): "sc:Float",
    pl.Boolean(): "sc:Boolean",
}


class FileSum(NamedTuple):
    """Size and checksum of a file."""

    bytes: int
    sha256: str


def metadata(
    publication: Publication,
    tables: Sequence[WrittenTable],
    settings: PublishSettings,
    licence: str,
    files: Mapping[str, FileSum],
) -> str:
    """Return the metadata as JSON. ``files`` are those of the folder by path; ``licence`` is that of the KB."""
    about: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": settings.name,
        "description": publication.summary,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": settings.licence or licence or UNKNOWN,
        "version": "1.0.0",
        "citeAs": publication.paper,
        "isLiveDataset": False,
        "distribution": [_file(name, file_sum) for name, file_sum in files.items() if name.startswith("data/")],
        "recordSet": [_records(table, split) for table in tables for split in table.rows],
    }
    if settings.url:
        about["url"] = settings.url
    if settings.creator:
        about["creator"] = {"@type": "sc:Organization", "name": settings.creator}
    if settings.date:
        about["datePublished"] = settings.date
    return json.dumps(about, ensure_ascii=False, indent=1) + "\n"


def _file(name: str, file_sum: FileSum) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{file_sum.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file_sum.sha256,
    }


def record_set(table: WrittenTable, split: str) -> str:
    """Return the name of the records of a split: that of the table, followed by the split if there are several."""
    return table.name if len(table.rows) == 1 else f"{table.name}/{split}"


def _records(table: WrittenTable, split: str) -> dict[str, Any]:
    name = record_set(table, split)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": table.about,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": f"{name}/{column}",
                "description": table.columns[column],
                "dataType": _TYPES[kind],
                **({"repeated": True} if kind == pl.List(pl.String) else {}),
                "source": {
                    "fileObject": {"@id": f"data/{table.name}/{split}.parquet"},
                    "extract": {"column": column},
                },
            }
            for column, kind in table.schema.items()
        ],
    }
