"""The guides that ship with kbkit: their order, their sections, and how they look on a screen.

A guide is a Markdown file in ``kbkit/guides``; its name is the file's, its first line is its title.
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
    ("start here", ("start", "shell", "look")),
    ("your data", ("data", "wikidata", "export")),
    ("asking", ("answers", "search", "engines", "notebook", "ask", "llm")),
    ("benchmarks", ("measures", "stark", "quest", "ska", "spinach", "convkgyarn", "reproduce")),
    ("reference", ("commands", "schema", "performance", "troubleshooting")),
)
"""Guides in the order of reading. One that stands nowhere comes last, so that a new file needs no entry."""
WIDTH = 100
"""Lines longer than this are hard to read, however wide the terminal is."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_STYLES = {"markdown.code": "cyan", "markdown.table.border": "dim", "markdown.table.header": "bold"}


@dataclass(frozen=True)
class Guide:
    """A guide in the list of them."""

    name: str
    title: str
    group: str


@dataclass(frozen=True)
class Section:
    """A part of a guide below one heading, up to the next heading of any level; ``slug`` names it in an address."""

    guide: str
    heading: str
    slug: str
    text: str

    @property
    def address(self) -> str:
        """What ``kbkit docs`` takes: ``answers#saved-sets``."""
        return f"{self.guide}#{self.slug}"


def guides(folder: Path | None = None) -> list[Guide]:
    """All guides in the order of reading; those that ship with kbkit, or those in ``folder``."""
    files = {path.stem: path for path in sorted((folder or assets.guides()).glob("*.md"))}
    listed = {name: group for group, names in GROUPS for name in names if name in files}
    placed = listed | {name: "more" for name in files if name not in listed}
    return [Guide(name, _title(files[name].read_text(encoding="utf-8")), group) for name, group in placed.items()]


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def load(name: str) -> str:
    """A guide's Markdown, or that of one section and what is below it: ``answers`` or ``answers#saved-sets``.

    Raises :class:`UnknownNameError` with the closest names.
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
    """The sections of a guide in order; lines with ``#`` inside code are no headings."""
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
    """Headings as GitHub names them in addresses: lower case, no punctuation, hyphens; ``-1`` after a second one."""
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return [slug + (f"-{plain[:at].count(slug)}" if slug in plain[:at] else "") for at, slug in enumerate(plain)]


def find(words: str, guide: str = "") -> list[tuple[Section, str]]:
    """Sections that hold all of ``words``, in any case, each with its first line that holds most of them.

    In the order of reading; in one guide only if it is named. Raises :class:`KbError` where there are no words.
    """
    wanted = words.casefold().split()
    if not wanted:
        raise KbError("--find wants a word", "e.g. kbkit docs --find timeout")
    names = [guide] if guide else [each.name for each in guides()]
    return list(_holding(names, wanted))


def _holding(names: list[str], wanted: list[str]) -> Iterator[tuple[Section, str]]:
    for name in names:
        for section in sections(name, load(name)):
            if all(word in section.text.casefold() for word in wanted):
                lines = [line.strip() for line in section.text.splitlines()]
                yield section, max(lines, key=lambda line: sum(word in line.casefold() for word in wanted))


def contents() -> str:
    """The list of guides for the eye, by group."""
    known = guides()
    room = max(len(guide.name) for guide in known) + 2
    lines: list[str] = []
    for group in dict.fromkeys(guide.group for guide in known):
        lines += ["", group]
        lines += [f"  {guide.name:<{room}}{guide.title}" for guide in known if guide.group == group]
    return "\n".join([*lines[1:], "", "kbkit docs NAME shows one; kbkit docs --find WORD finds sections.", ""])


def render(text: str, width: int = WIDTH, *, colour: bool = True) -> str:
    """Markdown as lines for a terminal of ``width`` columns, with escapes for bold and colours if wanted.

    Prose and tables are never wider than :data:`WIDTH`. Code keeps its lines, however long: the terminal folds them,
    and what is copied is whole.
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
        no_color=not colour,  # the caller has looked at the environment
        legacy_windows=False,
        highlight=False,
        theme=Theme({**dict.fromkeys(("markdown.h1", "markdown.h2", "markdown.h3"), "bold"), **_STYLES}),
    )
    console.print(_markdown(text, colour), crop=False)
    lines = [line.rstrip() if _ESCAPE.sub("", line).strip() else "" for line in screen.getvalue().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _markdown(text: str, colour: bool) -> Any:
    """The page as rich prints it, but for headings, code, and links that lead nowhere."""
    from rich.markdown import CodeBlock, Heading, Markdown

    class Code(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield from _code_lines(str(self.text))

    class Left(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class Page(Markdown):
        elements = {**Markdown.elements, "fence": Code, "code_block": Code, "heading_open": Left}  # noqa: RUF012

    page = Page(text, hyperlinks=False)
    for token in page.parsed:
        if token.children:
            token.children = _without_paths(token.children)
            for code in token.children if not colour else ():
                code.content = f"`{code.content}`" if code.type == "code_inline" else code.content
    return page


def _code_lines(code: str) -> Iterator[Any]:
    """What is typed in bold, what is printed as it is."""
    from rich.text import Text

    for line in code.rstrip("\n").split("\n"):
        typed = line.startswith(("$ ", ">>> ", "... "))
        yield Text(line, style="bold cyan" if typed else "cyan", overflow="ignore", no_wrap=True)


def _without_paths(tokens: list[Any]) -> list[Any]:
    """A link to a file stays as its text; one to another guide also says how to read that here."""
    known = {path.stem for path in assets.guides().glob("*.md")}
    kept, stack = [], []
    for token in tokens:
        if token.type == "link_open":
            stack.append(token)
            if _outside(token):
                kept.append(token)
        elif token.type == "link_close":
            opened = stack.pop()
            if _outside(opened):
                kept.append(token)
            elif (name := _guide_of(opened)) in known:
                kept.append(token.copy(type="text", tag="", nesting=0, content=f" (kbkit docs {name})"))
        else:
            kept.append(token)
    return kept


def _outside(link: Any) -> bool:
    return str(link.attrs.get("href", "")).startswith(("http://", "https://"))


def _guide_of(link: Any) -> str:
    found = re.search(r"([\w-]+)\.md(?:#.*)?$", str(link.attrs.get("href", "")))
    return found[1] if found else ""
