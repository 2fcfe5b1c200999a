"""HTML for notebooks: a KB, a node, answers, hits. Pure functions of plain data.

Text of a KB is data: every value is cleaned, truncated and escaped here. The HTML loads nothing and runs no script; its
colours are inherited from the notebook.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kbkit.display.node_data import (
    Neighbor,
    NeighborGroup,
    NodeData,
    arrow,
    attribute_title,
    edge_attributes,
    neighbors_shown,
    shown_name,
)
from kbkit.display.render import cell, clean
from kbkit.errors import plural

ROWS, HITS = 20, 100
"""Maximum number of answers, and of hits, to show."""
TABLE_ROWS = 100
"""Maximum number of rows of other tables."""
_CELL, _TEXT = 300, 10_000
"""Maximum number of characters of a cell, and of a node's text."""
_MARKED = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+")
_STYLE = (
    "<style>"
    "div.kbkit{text-align:left;line-height:1.4}"
    "div.kbkit table{border-collapse:collapse;margin:.3em 0;text-align:left}"
    "div.kbkit th,div.kbkit td{text-align:left;vertical-align:top;padding:.1em .7em .1em 0;max-width:50em;"
    "border-bottom:1px solid rgba(128,128,128,.3);overflow-wrap:break-word}"
    "div.kbkit th.n,div.kbkit td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    "div.kbkit .dim{opacity:.65}"
    "div.kbkit .text{white-space:pre-wrap;overflow-wrap:anywhere;max-width:50em;margin:.2em 0 .4em 1em}"
    "div.kbkit summary{cursor:pointer}"
    "div.kbkit ul{margin:.1em 0 .4em;padding-left:1.6em}"
    # A page in a frame has the colours that its element prefers: those of the themes of Jupyter and of VS Code.
    "[data-jp-theme-light=true] div.kbkit iframe,.vscode-light div.kbkit iframe{color-scheme:light}"
    "[data-jp-theme-light=false] div.kbkit iframe,.vscode-dark div.kbkit iframe{color-scheme:dark}"
    "div.kbkit mark{background:rgba(255,190,0,.35);color:inherit}"
    "</style>"
)


# -- pages ------------------------------------------------------------------------------------------------------------


def overview(name: str, title: str, counts: Sequence[str], tables: Mapping[str, tuple[Sequence[str], Rows]]) -> str:
    """Render a KB: name, title, ``counts`` as text, and collapsed tables by caption as (columns, rows)."""
    head = f"<b>{text(name)}</b>{': ' * bool(title)}{text(title)}"
    folded = [
        _folded(f"{len(rows):,} {text(caption)}", table(columns, rows, counts=True))
        for caption, (columns, rows) in tables.items()
    ]
    return _page(_line(head), _line(text("; ".join(counts))), *folded)


def answers(
    expression: str, type_name: str | None, count: int, rows: Rows, proof: Sequence[str], value: str | None = None
) -> str:
    """Render an answer set: expression, its value if it has one, number and type of the members, the first members as
    (type, key, name), and the proof of the first, one line per step.
    """
    of = f" of type {text(type_name)}" if type_name else ""
    members = table(("", "name", "reference"), [(n, name, f"{kind}#{key}") for n, (kind, key, name) in _numbered(rows)])
    more = _line(f"… and {count - len(rows):,} more", dim=True) if count > len(rows) else ""
    why = _folded(f"why {text(rows[0][2])}", _list(map(text, proof))) if rows and proof else ""
    head = _line(f"<code>{text(expression, 2000)}</code>")
    if value is not None:
        head += _line(f"<b>{text(value, 2000)}</b>")
    return _page(head, _line(plural(count, "member") + of), members if rows else "", more, why)


def hits(columns: Sequence[str], rows: Rows, count: int) -> str:
    """Render the first of ``count`` hits; ``rows`` have the values of ``columns``, which include name, type, key,
    snippet.
    """
    if not rows:
        return _page(_line("no hits", dim=True))
    hidden = ("rank", "id", "key", "type", "name", "snippet", "weak", "why", "linked")
    scores = [name for name in columns if name not in hidden]
    head = ["", *scores, "hit"]
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    body = [[_td(row.get("rank")), *(_td(row[name]) for name in scores), f"<td>{_hit(row)}</td>"] for row in shown]
    more = _line(f"… and {count - len(rows):,} more", dim=True) if count > len(rows) else ""
    return _page(_laid_out([_th(name, name in scores) for name in head], body), more)


def node(data: NodeData) -> str:
    """Render a node."""
    more = f", also {', '.join(map(text, data['other_types']))}" if data["other_types"] else ""
    called = _line("also called " + text(", ".join(data["aliases"]), 1000), dim=True) if data["aliases"] else ""
    rows = [(attribute_title(data, name), value) for name, value in data["attributes"].items()]
    return _page(
        _line(f"<b>{text(data.get('title', data['name']))}</b>"),
        _line(f"<code>{text(data['reference'])}</code>{more} (id {data['id']:,})", dim=True),
        called,
        table(("", ""), rows) if rows else "",
        *(_folded(f"{text(t['field'])}: {_begin(t['text'])}", _text_block(t["text"])) for t in data["texts"]),
        *map(_group, data.get("relations", ())),
    )


def rows(columns: Sequence[str], values: Rows, count: int) -> str:
    """Render the first of ``count`` rows of a query."""
    more = f"; the first {len(values):,} are shown" if count > len(values) else ""
    return _page(table(columns, values), _line(plural(count, "row") + more, dim=True))


def document(title: str, columns: Sequence[str], rows: Rows) -> str:
    """Render a complete page: a table of all rows, in which addresses are links."""
    body = [[f"<td>{_linked(value)}</td>" for value in row] for row in rows]
    return _whole(title, _page(_laid_out([_th(name) for name in columns], body)))


def report(
    title: str,
    remarks: Sequence[str],
    sections: Sequence[tuple[str, str, Sequence[str], Rows]],
    *,
    whole: bool = False,
) -> str:
    """Render a complete page: remarks, then sections as (title, note, columns, rows), each with its first rows.

    A ``whole`` page has all rows, and texts of any length with their line breaks.
    """
    limit = None if whole else _CELL
    parts = [_list(text(remark, limit) for remark in remarks)] if remarks else []
    for heading, note, columns, values in sections:
        parts.append(f"<h2>{text(heading)}</h2>")
        parts.append(f'<p class="text">{text(note, None)}</p>' if whole else f"<p>{text(note)}</p>")
        if values and whole:
            cells = [[f"<td>{text(value, None)}</td>" for value in row] for row in values]
            parts.append(_laid_out([_th(name) for name in columns], cells))
        elif values:
            parts.append(table(columns, values))
    return _whole(title, _page(*parts))


def _whole(title: str, content: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{text(title)}</title>\n</head>\n'
        f"<body>\n<h1>{text(title)}</h1>\n{content}\n</body>\n</html>\n"
    )


def _linked(value: Any) -> str:
    """Return a value as escaped text; an address on the web is a link."""
    if not (isinstance(value, str) and _ADDRESS.fullmatch(value)):
        return text(value)
    return f'<a href="{html.escape(value)}" rel="noreferrer">{text(value)}</a>'


def failure(title: str, message: str) -> str:
    """Render an error."""
    return _page(_line(f"<code>{text(title, 2000)}</code>"), _line(text(message, 1000)))


# -- parts ------------------------------------------------------------------------------------------------------------

Rows = Sequence[Sequence[Any]]


def table(columns: Sequence[str], rows: Rows, *, counts: bool = False) -> str:
    """Render the first rows as a table, numbers right-aligned. Numbers that are ``counts`` get thousands separators;
    others, such as years, do not.
    """
    shown = rows[:TABLE_ROWS]
    numbers = [_are_numbers(values) for values in zip(*shown, strict=True)] or [False] * len(columns)
    head = [_th(name, number) for name, number in zip(columns, numbers, strict=True)] if any(columns) else []
    more = _line(f"… and {len(rows) - len(shown):,} more", dim=True) if len(rows) > len(shown) else ""
    return _laid_out(head, [[_td(value, counts) for value in row] for row in shown]) + more


def drawn(title: str, drawing: str, content: str) -> str:
    """Render a graph: its drawing (a :func:`frame`, or empty), and other content, collapsed below a drawing."""
    return _page(drawing, _folded(text(title), content)) if drawing else _page(_line(text(title)), content)


def lines(whole: str) -> str:
    """Render text with its line breaks."""
    return f"<pre>{text(whole, _TEXT)}</pre>"


def frame(page: str, height: int = 480) -> str:
    """Return a complete page as a part of another one, apart from it: its scripts see nothing else."""
    style = f"width:100%;height:{height}px;border:1px solid rgba(128,128,128,.3);border-radius:4px"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(page)}"></iframe>'


def text(value: Any, limit: int | None = _CELL) -> str:
    """Return a value as escaped text, truncated to ``limit`` characters (None: whole), without control characters."""
    whole = value if isinstance(value, str) else cell(value)
    # An unpaired surrogate would corrupt the notebook's file.
    kept = clean(whole[:limit]).encode("utf-8", "replace").decode()
    return html.escape(kept) + "…" * (limit is not None and len(whole) > limit)


def _page(*parts: str) -> str:
    # The two classes stop notebooks from reading $...$ in a text as a formula.
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
    """Render a hit: name, reference, snippet with the matches marked, and the collapsed explanation."""
    weak = " (weak)" if row.get("weak") else ""
    head = f'<b>{text(row["name"])}</b> <span class="dim">{text(row["type"])}#{text(str(row["key"]))}{weak}</span>'
    snippet = _MARKED.sub(r"<mark>\1</mark>", text(row["snippet"] or "", 1000))
    reasons = [*(row.get("linked") or []), *(row.get("why") or [])]
    return f"{head}<br>{snippet}" + (_folded("why", _list(map(text, reasons))) if reasons else "")


def _begin(whole: str) -> str:
    return f'<span class="dim">{text(" ".join(whole[:500].split()), 80)}</span>'


def _text_block(whole: str) -> str:
    return f'<div class="text">{text(whole, _TEXT)}</div>'


def _group(group: NeighborGroup) -> str:
    """Render the neighbours of one relation and direction, collapsed, with the first names in the summary."""
    sign = html.escape(arrow(group))
    label = f" ({text(group['label'])})" if "label" in group else ""
    first = ", ".join(text(shown_name(n), 60) for n in group["neighbors"][:3]) + ", …" * (group["count"] > 3)
    items = [_neighbor(neighbor) for neighbor in group["neighbors"]]
    if group["count"] > neighbors_shown(group):
        items.append(f'<span class="dim">… and {group["count"] - neighbors_shown(group):,} more</span>')
    title = f"{sign} [{text(group['relation'])}]{label} {sign} {text(group['type'])}: {group['count']:,}"
    return _folded(f'{title} <span class="dim">{first}</span>', _list(items))


def _neighbor(neighbor: Neighbor) -> str:
    extra = "".join(f"; {text(k)} {text(v)}" for k, v in edge_attributes(neighbor).items())
    return f'{text(shown_name(neighbor))} <span class="dim">({text(neighbor["reference"])}{extra})</span>'
