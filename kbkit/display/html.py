"""What a notebook shows of a KB, a node, answers and hits, as HTML. Pure functions of plain data.

Text of a KB is data: every value is cleaned, cut and escaped here. A page asks for nothing outside and runs no script;
its colours come from the notebook, light or dark.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kbkit.display.render import cell, clean
from kbkit.errors import plural

ROWS, HITS = 20, 100
"""Answers, and hits, that a page shows."""
_TABLE_ROWS, _CELL, _TEXT = 100, 300, 10_000
"""Rows of any other table; letters of a cell, and of a text of a node."""
_MARKED = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_STYLE = (
    "<style>"
    "div.kbkit{text-align:left;line-height:1.4}"
    "div.kbkit table{border-collapse:collapse;margin:.3em 0}"
    "div.kbkit th,div.kbkit td{text-align:left;vertical-align:top;padding:.1em .7em .1em 0;max-width:50em;"
    "border-bottom:1px solid rgba(128,128,128,.3);overflow-wrap:break-word}"
    "div.kbkit th.n,div.kbkit td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    "div.kbkit .dim{opacity:.65}"
    "div.kbkit .text{white-space:pre-wrap;overflow-wrap:anywhere;max-width:50em;margin:.2em 0 .4em 1em}"
    "div.kbkit summary{cursor:pointer}"
    "div.kbkit ul{margin:.1em 0 .4em;padding-left:1.6em}"
    "div.kbkit mark{background:rgba(255,190,0,.35);color:inherit}"
    "</style>"
)


# -- pages ------------------------------------------------------------------------------------------------------------


def overview(name: str, title: str, counts: Sequence[str], tables: Mapping[str, tuple[Sequence[str], Rows]]) -> str:
    """A KB: its name and title, ``counts`` in words, and tables by their captions as (columns, rows), folded."""
    head = f"<b>{text(name)}</b>{': ' * bool(title)}{text(title)}"
    folded = [
        _folded(f"{len(rows):,} {text(caption)}", table(columns, rows, counts=True))
        for caption, (columns, rows) in tables.items()
    ]
    return _page(_line(head), _line(text("; ".join(counts))), *folded)


def answers(expression: str, type_name: str | None, count: int, rows: Rows, proof: Sequence[str]) -> str:
    """An answer set: its expression, how many members of which type, the first as (type, key, name), and the proof of
    the first, a line a step.
    """
    of = f" of type {text(type_name)}" if type_name else ""
    members = table(("", "name", "reference"), [(n, name, f"{kind}#{key}") for n, (kind, key, name) in _numbered(rows)])
    more = _line(f"… and {count - len(rows):,} more", dim=True) if count > len(rows) else ""
    why = _folded(f"why {text(rows[0][2])}", _list(map(text, proof))) if rows and proof else ""
    head = _line(f"<code>{text(expression, 2000)}</code>")
    return _page(head, _line(plural(count, "member") + of), members if rows else "", more, why)


def hits(columns: Sequence[str], rows: Rows, count: int) -> str:
    """The first of ``count`` hits; each row has the values of ``columns``, name, type, key and snippet among them."""
    if not rows:
        return _page(_line("no hits", dim=True))
    hidden = ("rank", "id", "key", "type", "name", "snippet", "why", "linked")
    scores = [name for name in columns if name not in hidden]
    head = ["", *scores, "hit"]
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    body = [[_td(row.get("rank")), *(_td(row[name]) for name in scores), f"<td>{_hit(row)}</td>"] for row in shown]
    more = _line(f"… and {count - len(rows):,} more", dim=True) if count > len(rows) else ""
    return _page(_laid_out([_th(name, name in scores) for name in head], body), more)


def node(data: Mapping[str, Any]) -> str:
    """A node's page, of the data of :class:`kbkit.graph.pages.Page`; ``relations`` may be missing."""
    more = f", also {', '.join(map(text, data['other_types']))}" if data["other_types"] else ""
    called = _line("also called " + text(", ".join(data["aliases"]), 1000), dim=True) if data["aliases"] else ""
    labels = data.get("attribute_labels", {})
    rows = [(f"{labels[k]} ({k})" if k in labels else k, v) for k, v in data["attributes"].items()]
    return _page(
        _line(f"<b>{text(data['name'])}</b>"),
        _line(f"<code>{text(data['reference'])}</code>{more} (id {data['id']:,})", dim=True),
        called,
        table(("", ""), rows) if rows else "",
        *(_folded(f"{text(t['field'])}: {_begin(t['text'])}", _text_block(t["text"])) for t in data["texts"]),
        *map(_group, data.get("relations", ())),
    )


def failure(title: str, message: str) -> str:
    """What cannot be shown, and why."""
    return _page(_line(f"<code>{text(title, 2000)}</code>"), _line(text(message, 1000)))


# -- parts ------------------------------------------------------------------------------------------------------------

Rows = Sequence[Sequence[Any]]


def table(columns: Sequence[str], rows: Rows, *, counts: bool = False) -> str:
    """A table of the first rows; columns of numbers are to the right. Numbers that are ``counts`` have commas, as years
    and the like have none.
    """
    shown = rows[:_TABLE_ROWS]
    numbers = [_are_numbers(values) for values in zip(*shown, strict=True)] or [False] * len(columns)
    head = [_th(name, number) for name, number in zip(columns, numbers, strict=True)] if any(columns) else []
    more = _line(f"… and {len(rows) - len(shown):,} more", dim=True) if len(rows) > len(shown) else ""
    return _laid_out(head, [[_td(value, counts) for value in row] for row in shown]) + more


def neighbourhood(title: str, columns: Sequence[str], rows: Rows, image: str) -> str:
    """How many nodes lie around one, as a table, and a drawing of them (an ``src``; empty for none)."""
    drawn = f'<img src="{html.escape(image)}">' if image else ""
    return _page(_line(text(title)), table(columns, rows, counts=True), drawn)


def text(value: Any, limit: int = _CELL) -> str:
    """A value as escaped text, cut to ``limit`` letters, without control characters."""
    whole = value if isinstance(value, str) else cell(value)
    # Half a surrogate pair is no text, and would break the notebook's file.
    kept = clean(whole[:limit]).encode("utf-8", "replace").decode()
    return html.escape(kept) + "…" * (len(whole) > limit)


def _page(*parts: str) -> str:
    # The two classes keep a notebook from reading $...$ in a text as a formula.
    return f'<div class="kbkit tex2jax_ignore mathjax_ignore">{_STYLE}{"".join(parts)}</div>'


def _line(content: str, *, dim: bool = False) -> str:
    return f'<div class="dim">{content}</div>' if dim else f"<div>{content}</div>"


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _laid_out(head: Sequence[str], body: Iterable[Iterable[str]]) -> str:
    top = f"<thead><tr>{''.join(head)}</tr></thead>" if head else ""
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in body)
    return f"<table>{top}<tbody>{rows}</tbody></table>"


def _th(name: str, is_number: bool = False) -> str:
    return f'<th class="n">{text(name)}</th>' if is_number else f"<th>{text(name)}</th>"


def _td(value: Any, is_count: bool = False) -> str:
    if not _are_numbers((value,)):
        return f"<td>{text(value)}</td>"
    return f'<td class="n">{f"{value:,}" if is_count else text(value)}</td>'


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _numbered(rows: Rows) -> Iterable[tuple[int, Sequence[Any]]]:
    return enumerate(rows, 1)


def _hit(row: Mapping[str, Any]) -> str:
    """A hit's name and reference, its snippet with the words marked, and why it is one, folded."""
    head = f'<b>{text(row["name"])}</b> <span class="dim">{text(row["type"])}#{text(str(row["key"]))}</span>'
    snippet = _MARKED.sub(r"<mark>\1</mark>", text(row["snippet"] or "", 1000))
    reasons = [*(row.get("linked") or []), *(row.get("why") or [])]
    return f"{head}<br>{snippet}" + (_folded("why", _list(map(text, reasons))) if reasons else "")


def _begin(whole: str) -> str:
    return f'<span class="dim">{text(" ".join(whole[:500].split()), 80)}</span>'


def _text_block(whole: str) -> str:
    return f'<div class="text">{text(whole, _TEXT)}</div>'


def _group(group: Mapping[str, Any]) -> str:
    """The neighbours under one relation and direction, folded; the first names stand in the summary."""
    arrow = html.escape("->" if group["direction"] == "out" else "<-")
    label = f" ({text(group['label'])})" if "label" in group else ""
    to = f" {text(group['type'])}" if "type" in group else ""
    first = ", ".join(text(n["name"], 60) for n in group["neighbors"][:3]) + ", …" * (group["count"] > 3)
    items = [_neighbor(neighbor) for neighbor in group["neighbors"]]
    if group["count"] > len(items):
        items.append(f'<span class="dim">… and {group["count"] - len(items):,} more</span>')
    title = f"{arrow} [{text(group['relation'])}]{label} {arrow}{to}: {group['count']:,}"
    return _folded(f'{title} <span class="dim">{first}</span>', _list(items))


def _neighbor(neighbor: Mapping[str, Any]) -> str:
    extra = "".join(f"; {text(k)} {text(v)}" for k, v in neighbor.items() if k not in ("reference", "name"))
    return f'{text(neighbor["name"])} <span class="dim">({text(neighbor["reference"])}{extra})</span>'
