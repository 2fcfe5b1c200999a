"""A KB whose names and relations try to leave the formats that they are written in."""

from __future__ import annotations

import csv
from pathlib import Path

import kbkit
from kbkit.kb import KnowledgeBase

NAMES = [
    '</script><script>document.title="owned"</script>',
    "<img src=x onerror=alert(1)> &amp; ]]> <!--",
    "quotes \" and ' and a backslash at the end \\",
    "two\nlines\r\nand a\ttab",
    "bell \x07 escape \x1b[31m nothing \x00 odd \ufffe \uffff".replace("\x00", ""),
    "emoji 👩‍🔬🏳️‍🌈 糖尿病",
    "שלום עולם \u202e reversed",
    "\\N \\G \\l {record|port} $& %s %d",
    "datum.x + 1; signal ${alert(1)} {{7*7}} #{x}",
    "long " * 60,
]
RELATION = '</script>"r\\'


def build(folder: Path) -> KnowledgeBase:
    """Build a KB: the first name in the middle of the others, two relations, a loop."""
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["key", "type", "name"], *([f"k{i}", f't"{i % 3}', name] for i, name in enumerate(NAMES))]
        )
    edges = [["k0", RELATION, f"k{i}"] for i in range(1, len(NAMES))] + [["k1", "x", "k0"], ["k0", "x", "k0"]]
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["head", "relation", "tail"], *edges])
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["key", "text"], *([f"k{i}", name] for i, name in enumerate(NAMES))])
    return kbkit.ingest("table", folder, out=folder / "x.kb", stores=["tables", "adjacency"])
