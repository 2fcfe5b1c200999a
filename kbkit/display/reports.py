"""Reports: a title, remarks and titled tables, as one page of Markdown or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbkit.directory.files import write_files
from kbkit.display import html
from kbkit.display.render import clean, markdown
from kbkit.errors import KbError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".md", ".html")


class PageSection(NamedTuple):
    """A table with a title and a sentence about it."""

    title: str
    note: str
    table: pl.DataFrame


@dataclass(frozen=True)
class ReportPage:
    """A page. Sections without rows show their note alone."""

    title: str
    remarks: Sequence[str]
    sections: Sequence[PageSection]

    def to_markdown(self) -> str:
        """Return the page in GitHub's Markdown."""
        parts = [f"# {clean(self.title)}\n", *(f"- {clean(line)}\n" for line in self.remarks)]
        for section in self.sections:
            parts.append(f"\n## {clean(section.title)}\n" + (f"\n{clean(section.note)}\n" if section.note else ""))
            if section.table.height:
                parts.append("\n" + markdown(section.table))
        return "".join(parts)

    def to_html(self, *, whole: bool = False) -> str:
        """Return the page in HTML, which loads nothing and runs no script; ``whole``: all rows, texts of any length."""
        sections = [(one.title, one.note, one.table.columns, one.table.rows()) for one in self.sections]
        return html.report(self.title, self.remarks, sections, whole=whole)


def check(path: Path) -> None:
    """Raise the errors of :func:`write`, in advance."""
    if path.suffix.lower() not in ENDINGS:
        raise KbError(f"Unsupported page format {path.suffix!r}: {path}", f"Use one of {', '.join(ENDINGS)}")
    if not path.absolute().parent.is_dir():
        raise KbError(f"{path.absolute().parent} does not exist", "Create the folder first")


def write(report: ReportPage, path: Path) -> None:
    """Write a page in the format of the suffix of ``path``. Raises :class:`KbError` for another suffix."""
    check(path)
    write_files({path: report.to_html() if path.suffix.lower() == ".html" else report.to_markdown()})
