"""Lays out rows as a table that fits a width, or as lists of values if the columns do not fit.

Widths are columns of a terminal, where some characters take two columns, or none. Numbers are never folded or cut.
A word is cut or folded only if no width of the other columns avoids it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

LINES = 3
"""Maximum number of lines of a cell that may be cut."""
CUT = "..."
"""The mark of what was left out of a cell."""
_NAME = 32
"""Texts up to this width are names, which stay on one line if longer texts have room for ``_PROSE``."""
_PROSE = 20
_LEAST = 8
"""Minimum width of a column of texts."""
_GAPS = (3, 2)
"""Gaps between two columns: the usual one, and that of a table that has to be folded or cut."""
_MANY = 8
"""Characters per column of a cell that are looked at: more than the cell can show, even with combining marks."""
_WORD = re.compile(r"\S+")
_SIGN = re.compile(r"[-_/#:@,;=&?|.]+")


@dataclass
class TableLayout:
    """A table to be printed: ``width`` is that of the screen, ``cuts`` whether cells have at most ``LINES`` lines.

    ``is_cut`` tells whether :meth:`lines` left anything out.
    """

    console: Console
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    cuts: bool = False
    is_cut: bool = False

    @property
    def width(self) -> int:
        """Width of the screen."""
        return self.console.width

    def lines(self) -> Iterator[Text]:
        """Yield the lines of the table."""
        cells = [[self._text(value) for value in row] for row in self.rows]
        sizes = [Sizes.of(name, column) for name, column in zip(self.names, self._columns(cells), strict=True)]
        found = widths(sizes, self.numeric, self.width)
        if found is None:
            yield from self._records(cells)
            return
        gap, chosen = found
        broken = [_broken(name, width) for name, width in zip(self.names, chosen, strict=True)]
        chosen = [  # a broken name may leave room that no value uses
            min(width, max(size.line, *map(cell_len, parts))) if size.line <= width else width
            for parts, size, width in zip(broken, sizes, chosen, strict=True)
        ]
        header = [Text("\n".join(parts)) for parts in broken]
        for line in self._row(header, chosen, gap):
            line.stylize("bold")
            yield line
        sign = "-" if self.console.options.ascii_only else "─"
        yield Text(sign * (sum(chosen) + gap * (len(chosen) - 1)))
        for row in cells:
            yield from self._row(row, chosen, gap)

    def _columns(self, cells: list[list[Text]]) -> list[tuple[str, ...]]:
        return list(zip(*([text.plain for text in row] for row in cells), strict=True)) or [()] * len(self.names)

    def _text(self, value: str) -> Text:
        """Return the text of a cell; what is between ``**`` is bold if the terminal supports it."""
        text = _bold(value.replace("\t", " ")) if self.console.color_system is not None else Text(value)
        longest = _MANY * LINES * self.width
        if self.cuts and len(text) > longest:
            self.is_cut = True
            return text[:longest] + Text(CUT)
        return text

    def _row(self, cells: Sequence[Text], chosen: Sequence[int], gap: int) -> Iterator[Text]:
        """Yield the lines of a row."""
        parts = [self._folded(text, width) for text, width in zip(cells, chosen, strict=True)]
        for number in range(max(map(len, parts))):
            line = Text()
            for part, width, right in zip(parts, chosen, self.numeric, strict=True):
                text = part[number] if number < len(part) else Text()
                space = " " * (width - cell_len(text.plain))
                line = line.append(space if right else "").append_text(text).append("" if right else space)
                line.append(" " * gap)
            line.rstrip()
            yield line

    def _records(self, cells: list[list[Text]]) -> Iterator[Text]:
        """Yield rows one below the other, with a line for each value; without rows, the names of the columns."""
        if not cells:
            yield from Text(", ".join(self.names)).wrap(self.console, self.width, overflow="fold")
            return
        wide = min(max(map(cell_len, self.names)), max(_LEAST, self.width // 2 - 4))
        names = [self._folded(Text(name), wide) for name in self.names]
        for number, row in enumerate(cells, 1):
            yield Text(f"row {number}", style="bold")
            for name, value in zip(names, row, strict=True):
                values = self._folded(value, max(1, self.width - wide - 4))
                for i in range(max(len(name), len(values))):
                    left = name[i].plain if i < len(name) else ""
                    line = Text(f"  {left}{' ' * (wide - cell_len(left))}  ")
                    line.append_text(values[i] if i < len(values) else Text())
                    line.rstrip()
                    yield line

    def _folded(self, text: Text, width: int) -> list[Text]:
        """Return the lines of a cell, the last of which ends with ``CUT`` if there is more."""
        if cell_len(text.plain) <= width and "\n" not in text.plain:
            return [text]
        short = _short_words(text, width) if self.cuts else _split_words(text, width)
        lines = list(short.wrap(self.console, width, overflow="fold"))
        if self.cuts and len(lines) > LINES:
            lines = [*lines[: LINES - 1], _ended(lines[LINES - 1], width)]
            self.is_cut = True
        self.is_cut = self.is_cut or (self.cuts and short is not text)
        return lines or [text]


# -- widths -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Widths of a column: of the name, of the longest part of the name between signs, and, of its values, of the
    longest line and of the longest word.
    """

    name: int
    part: int
    line: int
    word: int

    @classmethod
    def of(cls, name: str, values: Sequence[str]) -> Sizes:
        """Measure a column."""
        lines = [line for value in values for line in value.split("\n")]
        words = (cell_len(word) for line in lines for word in line.split())
        parts = map(cell_len, _parts(name))
        return cls(cell_len(name), max(parts, default=0), max(map(cell_len, lines), default=0), max(words, default=0))

    @property
    def full(self) -> int:
        """The width in which no line is folded."""
        return max(self.name, self.line)


def widths(sizes: Sequence[Sizes], numeric: Sequence[bool], width: int) -> tuple[int, list[int]] | None:
    """Return the gap between columns and their widths; None if the columns do not fit.

    Tried in this order: no line is folded; names are not folded; no word is; the longest words are.
    """
    for gap in _GAPS:
        if sum(full := [size.full for size in sizes]) + gap * (len(sizes) - 1) <= width:
            return gap, full
    gap = _GAPS[-1]
    room = width - gap * (len(sizes) - 1)
    columns = list(zip(sizes, numeric, strict=True))
    whole = [max(size.part, size.line) for size in sizes]
    words = [high if number else max(size.part, size.word) for high, (size, number) in zip(whole, columns, strict=True)]
    names = [high if high <= _NAME else max(low, _PROSE) for low, high in zip(words, whole, strict=True)]
    fixed = [
        max(size.line, min(size.part, _LEAST)) if number else min(low, _LEAST)
        for low, (size, number) in zip(words, columns, strict=True)
    ]
    for least, most in ((whole, full), (names, whole), (words, whole), (fixed, names)):
        if sum(least) <= room:
            return gap, levelled(least, most, room)
    return None


def levelled(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Return widths between two bounds that use the room: all are cut at the same level, the highest that fits."""

    def at(level: int) -> list[int]:
        return [min(high, max(low, level)) for low, high in zip(least, most, strict=True)]

    below, above = 0, room + 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if sum(at(middle)) <= room else (below, middle)
    found = at(below)
    for i in sorted(range(len(found)), key=lambda i: found[i] - most[i]):
        if found[i] < most[i] and sum(found) < room:
            found[i] += 1
    return found


# -- texts ------------------------------------------------------------------------------------------------------------


def _bold(value: str) -> Text:
    parts = value.split("**")
    if len(parts) < 3 or len(parts) % 2 == 0:
        return Text(value)
    return Text.assemble(*((part, "bold" if position % 2 else "") for position, part in enumerate(parts)))


def _parts(name: str) -> list[str]:
    """Return the parts of a column's name, each with the signs after it."""
    return re.findall(r"[^_@\s]*[_@\s]+|[^_@\s]+", name)


def _broken(name: str, width: int) -> list[str]:
    """Break a name after signs into lines of at most ``width``, or of its longest part."""
    lines = [""]
    for part in _parts(name):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def _short_words(text: Text, width: int) -> Text:
    """Leave out the middle of words that are too long, such as IRIs, whose ends tell them apart.

    Scripts with wide characters are not shortened: they have no spaces and may be folded anywhere.
    """
    result, end = Text(), 0
    for match in _WORD.finditer(text.plain):
        word = match[0]
        if cell_len(word) <= width or any(cell_len(character) > 1 for character in word):
            continue
        room = max(width - len(CUT), 0)
        head, tail = _fitting(word, room - room // 2), _fitting(word[::-1], room // 2)
        result.append_text(text[end : match.start() + head]).append(CUT[:width])
        end = match.end() - tail
    return result.append_text(text[end:]) if end else text


def _split_words(text: Text, width: int) -> Text:
    """Break words that are too long after a sign, where their parts end, if a line has one."""
    breaks = []
    for match in _WORD.finditer(text.plain):
        start = match.start()
        while cell_len(text.plain[start : match.end()]) > width:
            line = text.plain[start : start + max(1, _fitting(text.plain[start : match.end()], width))]
            start += max((sign.end() for sign in _SIGN.finditer(line)), default=len(line))
            breaks.append(start)
    return Text("\n").join(text.divide(breaks)) if breaks else text


def _fitting(text: str, width: int) -> int:
    """Return the number of characters at the start of a text that fit."""
    count = 0
    while count < len(text) and cell_len(text[: count + 1]) <= width:
        count += 1
    return count


def _ended(line: Text, width: int) -> Text:
    """Return a line with ``CUT`` at its end, in the place of its last words if there is no room."""
    plain, room = line.plain.rstrip(), max(width - len(CUT), 0)
    if cell_len(plain) > room:
        spaces = [match.start() for match in re.finditer(r"\s+", plain) if cell_len(plain[: match.start()]) <= room]
        plain = plain[: spaces[-1]] if spaces and spaces[-1] else plain[: _fitting(plain, room)]
    return line[: len(plain.rstrip(" .,;:"))].append(CUT[:width])
