"""The guides that ship with kbkit: list, sections, search, and rendering for a terminal.

A guide is a Markdown file in ``kbkit/assets/guides``, named after the file; its first line is the title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit import assets
from kbkit.errors import KbError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("getting started", ("start", "data", "changes", "shell", "explore", "look", "graph", "notebook")),
    ("querying", ("answers", "search", "embedders", "ask", "agent", "sparql", "wikidata", "engines", "llm", "export")),
    ("benchmarks", ("measures", "training", "stark", "quest", "ska", "spinach", "conv", "publish", "reproduce")),
    ("reference", ("commands", "schema", "troubleshooting", "performance", "architecture")),
)
"""Guides in reading order. Guides without an entry come last."""
WIDTH = 100
"""Maximum width of prose, because longer lines are hard to read."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_STYLES = {"markdown.code": "cyan", "markdown.table.border": "dim", "markdown.table.header": "bold"}


@dataclass(frozen=True)
class Guide:
    """A guide with its title and group."""

    name: str
    title: str
    group: str


@dataclass(frozen=True)
class Section:
    """The part of a guide from a heading to the next heading of any level; ``slug`` is its name in an address."""

    guide: str
    heading: str
    slug: str
    text: str

    @property
    def address(self) -> str:
        """Address of the section: ``answers#saved-sets``."""
        return f"{self.guide}#{self.slug}"


def guides(folder: Path | None = None) -> list[Guide]:
    """Return all guides, in reading order, from ``folder`` (default: those that ship with kbkit)."""
    files = {path.stem: path for path in sorted((folder or assets.guides()).glob("*.md"))}
    listed = {name: group for group, names in GROUPS for name in names if name in files}
    grouped = listed | {name: "more" for name in files if name not in listed}
    return [Guide(name, _title(files[name].read_text(encoding="utf-8")), group) for name, group in grouped.items()]


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def load(name: str) -> str:
    """Return the Markdown of a guide, or of a section with its subsections: ``answers``, ``answers#saved-sets``.

    Raises :class:`UnknownNameError`.
    """
    guide, _, slug = name.partition("#")
    known = {path.stem: path for path in assets.guides().glob("*.md")}
    if guide not in known:
        raise UnknownNameError("guide", guide, known)
    text = known[guide].read_text(encoding="utf-8")
    return _part(guide, text, slug) if slug else text


def _part(guide: str, text: str, slug: str) -> str:
    found = sections(guide, text)
    at = next((number for number, section in enumerate(found) if section.slug == slug), None)
    if at is None:
        raise UnknownNameError("section", slug, [section.slug for section in found], guide)
    level = _level(found[at])
    end = next((n for n in range(at + 1, len(found)) if _level(found[n]) <= level), len(found))
    return "".join(section.text for section in found[at:end]).rstrip("\n") + "\n"


def _level(section: Section) -> int:
    return len(section.text) - len(section.text.lstrip("#"))


def sections(guide: str, text: str) -> list[Section]:
    """Return the sections of a guide in order, ignoring ``#`` in code blocks."""
    starts: list[tuple[int, str]] = []
    fence, position = "", 0
    for line in text.splitlines(keepends=True):
        if mark := re.match(r"(```+|~~~+)", line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and re.match(r"#{1,6} ", line):
            starts.append((position, line.strip("# \n")))
        position += len(line)
    ends = [start for start, _ in starts[1:]] + [len(text)]
    slugs = _slugs([heading for _, heading in starts])
    return [
        Section(guide, heading, slug, text[at:end])
        for (at, heading), slug, end in zip(starts, slugs, ends, strict=True)
    ]


def _slugs(headings: list[str]) -> list[str]:
    """Return GitHub's anchors of headings: lower case, hyphens, no punctuation, ``-1`` after a repeated one."""
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return [slug + (f"-{plain[:at].count(slug)}" if slug in plain[:at] else "") for at, slug in enumerate(plain)]


def find(words: str, guide: str = "") -> list[tuple[Section, str]]:
    """Return the sections with all ``words``, ignoring case, each with the line that has most of them (first on ties).

    Searches all guides in reading order, or only ``guide``. Raises :class:`KbError` if there are no words.
    """
    terms = words.casefold().split()
    if not terms:
        raise KbError("Empty search", "Enter at least one word")
    found = []
    for name in [guide] if guide else [each.name for each in guides()]:
        for section in sections(name, load(name)):
            if all(term in section.text.casefold() for term in terms):
                lines = [line.strip() for line in section.text.splitlines()]
                found.append((section, max(lines, key=lambda line: sum(term in line.casefold() for term in terms))))
    return found


def contents() -> str:
    """Return the list of guides by group, as text."""
    known = guides()
    room = max(len(guide.name) for guide in known) + 2
    lines: list[str] = []
    for group in dict.fromkeys(guide.group for guide in known):
        lines += ["", group]
        lines += [f"  {guide.name:<{room}}{guide.title}" for guide in known if guide.group == group]
    return "\n".join(
        [*lines[1:], "", "Read a guide with 'kbkit docs GUIDE', a section with 'kbkit docs GUIDE#SECTION'.", ""]
    )


def render(text: str, width: int = WIDTH, *, colour: bool = True) -> str:
    """Render Markdown for a terminal of ``width`` columns, with bold and colours if ``colour``.

    Prose and tables are at most :data:`WIDTH` wide. Lines of code are not wrapped, so that they can be copied.
    """
    import io

    from rich.console import Console
    from rich.theme import Theme

    screen = io.StringIO()
    console = Console(
        file=screen,
        width=max(20, min(width, WIDTH)),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,  # the caller has checked the environment
        legacy_windows=False,
        highlight=False,
        theme=Theme({**dict.fromkeys(("markdown.h1", "markdown.h2", "markdown.h3"), "bold"), **_STYLES}),
    )
    console.print(_markdown(text, colour), crop=False)
    lines = [line.rstrip() if _ESCAPE.sub("", line).strip() else "" for line in screen.getvalue().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _markdown(text: str, colour: bool) -> Any:
    """Return a Rich renderable with plain headings, unwrapped code, and no links to files."""
    from rich.markdown import CodeBlock, Heading, Markdown

    class Code(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield from _code_lines(str(self.text))

    class Left(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class GuidePage(Markdown):
        elements = {**Markdown.elements, "fence": Code, "code_block": Code, "heading_open": Left}  # noqa: RUF012

    page = GuidePage(text, hyperlinks=False)
    for token in page.parsed:
        if token.children:
            token.children = _without_paths(token.children)
            for code in token.children if not colour else ():
                code.content = f"`{code.content}`" if code.type == "code_inline" else code.content
    return page


def _code_lines(code: str) -> Iterator[Any]:
    """Yield lines of code, with input in bold."""
    from rich.text import Text

    for line in code.rstrip("\n").split("\n"):
        typed = line.startswith(("$ ", ">>> ", "... "))
        yield Text(line, style="bold cyan" if typed else "cyan", overflow="ignore", no_wrap=True)


def _without_paths(tokens: list[Any]) -> list[Any]:
    """Replace links to files by their text, and add the command to links to guides."""
    known = {path.stem for path in assets.guides().glob("*.md")}
    result, stack = [], []
    for token in tokens:
        if token.type == "link_open":
            stack.append(token)
            if _outside(token):
                result.append(token)
        elif token.type == "link_close":
            opened = stack.pop()
            if _outside(opened):
                result.append(token)
            elif (name := _guide_of(opened)) in known:
                result.append(token.copy(type="text", tag="", nesting=0, content=f" (kbkit docs {name})"))
        else:
            result.append(token)
    return result


def _outside(link: Any) -> bool:
    return str(link.attrs.get("href", "")).startswith(("http://", "https://"))


def _guide_of(link: Any) -> str:
    found = re.search(r"([\w-]+)\.md(?:#.*)?$", str(link.attrs.get("href", "")))
    return found[1] if found else ""
