"""Pages of text from plain data: a node with its neighbours, explained hits, the contents of a KB."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kbkit.display.node_data import NodeData, arrow, attribute_title, edge_attributes, neighbors_shown, shown_name
from kbkit.display.render import cell, clean, heading, print_table, width_of
from kbkit.errors import plural

if TYPE_CHECKING:
    import polars as pl

_TEXT_LINES, _TEXTS = 12, 3
_COUNTED = ("store", "bytes", "seconds")
_SCALARS = ("title", "licence", "generation", "created", "nodes", "edges", "average_degree", "texts", "tokens")


class Line(NamedTuple):
    """A line of a page; headings are bold on terminals that support it."""

    text: str
    is_heading: bool = False


# -- a node -----------------------------------------------------------------------------------------------------------


def node_lines(data: NodeData, width: int = 80, *, full: bool = False, numbered: bool = False) -> list[Line]:
    """Return a node's page as lines wrapped to ``width``.

    Long texts are truncated unless ``full``; ``numbered`` numbers the links.
    """
    return [*_about(data, width), *_texts(data, width, full), *_groups(data, width, numbered)]


def _about(data: NodeData, width: int) -> Iterator[Line]:
    more = f", also {', '.join(data['other_types'])}" if data["other_types"] else ""
    yield from _folded(data.get("title", data["name"]), width, is_heading=True)
    yield from _folded(f"{data['reference']}{more} (id {data['id']})", width)
    if data["aliases"]:
        yield from _folded("also called " + ", ".join(data["aliases"]), width)
    for name, value in data["attributes"].items():
        yield from _folded(f"{attribute_title(data, name)}: {cell(value)}", width, 2)
    if origin := data.get("provenance"):
        file = f"from {origin['file']}, " if origin["file"] else ""
        changed = f", changed {origin['changed']}" if origin["changed"] != origin["added"] else ""
        yield from _folded(f"{file}added {origin['added']}{changed} (UTC)", width)


def _texts(data: NodeData, width: int, full: bool) -> Iterator[Line]:
    """Return each text under its field's name; of a field with many texts, the first ones."""
    seen: dict[str, int] = {}
    for text in data["texts"]:
        field = text["field"]
        seen[field] = seen.get(field, 0) + 1
        if full or seen[field] <= _TEXTS:
            yield Line("")
            yield from _folded(field, width, is_heading=True)
            lines = list(_folded(text["text"], width, 2))
            cut = len(lines) > _TEXT_LINES + 1 and not full
            yield from lines[:_TEXT_LINES] if cut else lines
            if cut:
                yield Line(f"  ... {len(lines) - _TEXT_LINES:,} more lines")
    for field, count in seen.items():
        if not full and count > _TEXTS:
            yield Line("")
            yield Line(f"... and {count - _TEXTS:,} more texts of {clean(field)}")


def _groups(data: NodeData, width: int, numbered: bool) -> Iterator[Line]:
    number, groups = 0, data.get("relations", [])
    digits = len(str(sum(len(group["neighbors"]) for group in groups)))
    for group in groups:
        yield Line("")
        label = f"  ({group['label']})" if "label" in group else ""
        title = f"{arrow(group)} [{group['relation']}] {arrow(group)} {group['type']}: {group['count']:,}{label}"
        yield from _folded(title, width, is_heading=True)
        for neighbor in group["neighbors"]:
            number += 1
            extra = "".join(f"; {k} {cell(v)}" for k, v in edge_attributes(neighbor).items())
            lead = f"{number:>{digits}}  " if numbered else ""
            yield from _folded(f"{shown_name(neighbor)}  ({neighbor['reference']}{extra})", width, 2, lead)
        more = group["count"] - neighbors_shown(group)
        if more > 0:
            yield Line(f"{' ' * (2 + (digits + 2) * numbered)}... and {more:,} more")


def explained(frame: pl.DataFrame, linked: pl.DataFrame | None) -> Iterator[str]:
    """Return hits with their explanations as an indented page, preceded by the nodes that the query names."""
    if linked is not None:
        for text, how, kind, key, name in linked.select("text", "how", "type", "key", "name").iter_rows():
            yield clean(f"{text}: {name}  ({kind}#{key}, {how})")
        yield "" if linked.height else "the query names no node\n"
    for rank, name, kind, key, score, why in frame.select("rank", "name", "type", "key", "score", "why").iter_rows():
        yield clean(f"{rank}. {name}  ({kind}#{key}) {score:.4g}")
        yield from (clean(f"  {line}") for line in why)


def _folded(text: str, width: int, indent: int = 0, lead: str = "", *, is_heading: bool = False) -> Iterator[Line]:
    """Return KB text as lines of at most ``width`` columns, the first preceded by ``lead``."""
    margin = " " * indent
    for paragraph in clean(text).split("\n"):
        rest = margin + " " * len(lead)
        folded = textwrap.wrap(
            paragraph,
            max(width, 20),
            initial_indent=margin + lead,
            subsequent_indent=rest,
            break_on_hyphens=False,  # Keys may contain spaces, and are meant to be copied.
        )
        yield from (Line(line.rstrip(), is_heading) for line in folded or [""])


def print_lines(lines: Sequence[Line], stream: IO[str]) -> None:
    """Write the lines of a page, with bold headings on a terminal."""
    stream.write("".join(f"{heading(line.text, stream) if line.is_heading else line.text}\n" for line in lines))


def print_text(lines: Iterable[str], stream: IO[str]) -> None:
    """Write lines of text."""
    stream.writelines(f"{line}\n" for line in lines)


# -- a KB -------------------------------------------------------------------------------------------------------------


def info_frame(data: dict[str, Any]) -> pl.DataFrame:
    """Return ``kb.info()`` as rows of (item, value)."""
    import polars as pl

    rows = [(name, cell(data[name])) for name in _SCALARS]
    rows += [(f"type {t['type']}", str(t["nodes"])) for t in data["types"]]
    rows += [
        (f"relation {r['head_type']} {r['relation']} {r['tail_type']}", str(r["edges"])) for r in data["relations"]
    ]
    rows += [(f"store {s['store']} {key}", cell(s[key])) for s in data["stores"] for key in s if key != "store"]
    rows += [(f"version {name}", version) for name, version in data["versions"].items()]
    return pl.DataFrame(rows, schema=["item", "value"], orient="row")


def print_info(data: dict[str, Any], stream: IO[str], width: int | None = None) -> None:
    """Print ``kb.info()``."""
    import polars as pl

    def say(text: str) -> None:
        print_lines(list(_folded(text, width or width_of(stream))), stream)

    def section(title: str, frame: pl.DataFrame) -> None:
        print_lines([Line(""), Line(title, is_heading=True)], stream)
        print_table(frame, stream, count=False, width=width)

    say(data["name"] if data["title"] == data["name"] else f"{data['name']}: {data['title']}")
    say(
        f"{plural(data['nodes'], 'node')}, {plural(data['edges'], 'edge')}, average degree {data['average_degree']:g};"
        f" {plural(data['texts'], 'text')}, {plural(data['tokens'], 'token')}"
    )
    licence = f"licence {data['licence']}; " if data["licence"] else ""
    say(f"{licence}generation {data['generation']} of {data['created']}")
    for name, drop in (("types", ("sql_name",)), ("relations", ("sql_name",))):
        if data[name]:
            section(name, pl.DataFrame(data[name]).drop(*drop))
    if data["candidate_types"]:
        say("")
        say("questions of the source ask for: " + ", ".join(data["candidate_types"]))
    if data["text_fields"]:
        section("text fields", pl.DataFrame(data["text_fields"]))
    section("stores", pl.DataFrame([_store(s) for s in data["stores"]]))
    say("")
    say(", ".join(f"{name} {version}" for name, version in data["versions"].items()))


def _store(record: dict[str, Any]) -> dict[str, Any]:
    settings = (f"{k} {cell(v)}" for k, v in record.items() if k not in _COUNTED and v not in ("", False))
    return {
        "store": record["store"],
        "MB": round(record["bytes"] / 1e6, 1),
        "seconds": record["seconds"],
        "settings": ", ".join(settings),
    }
