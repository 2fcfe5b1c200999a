"""The guides that ship with kbkit, and the command `docs`: order, sections, search, pages on a screen."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit import assets
from kbkit.assets import guidebook
from kbkit.errors import KbError, UnknownNameError
from tests.conftest import SCRIPT, Run
from tests.console import read_all
from tests.loops import each
from tests.places import ROOT

NAMES = sorted(path.stem for path in assets.guides().glob("*.md"))
CHECKOUT = ROOT / "kbkit" / "assets" / "guides"
"""Where links are followed from: an installed package lacks the rest of the project."""
REFERENCES = ("commands", "schema", "reproduce")
"""Guides in which readers look things up; the others are read."""
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

PAGE = """# A page: of a kind

It links to [answers](answers.md), [ingest/README.md](../../ingest/README.md) and [DuckDB](https://duckdb.org), as
`a & b` says.

## Steps

```console
$ kbkit answers world.kb '(river:"Danube" -> country) & (language:"German" -> country)' --why --timeout 60 --engine walk
# no heading, and a printed line that is so long that no terminal of eighty columns shows it without folding it
```

| word | means |
| --- | --- |
| `within` | a set of nodes, an expression or ids, which a search leaves nothing else than, before the best are chosen |

### Deeper

One.

## Steps

Two.
"""


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


# -- the list ---------------------------------------------------------------------------------------------------------


def test_every_guide_is_listed_once_and_in_the_order_of_the_groups() -> None:
    listed = guidebook.guides()
    assert sorted(guide.name for guide in listed) == NAMES
    groups = [guide.group for guide in listed]
    assert groups == sorted(groups, key=[*[group for group, _ in guidebook.GROUPS], "more"].index)
    placed = [name for _, names in guidebook.GROUPS for name in names]
    assert len(placed) == len(set(placed))
    assert [guide.name for guide in listed if guide.group != "more"] == [name for name in placed if name in NAMES]


def test_a_guide_that_no_group_names_comes_last(tmp_path: Path) -> None:
    for name, title in (("aardvark", "Aardvarks"), ("search", "Search"), ("start", "Start"), ("zebra", "Zebras")):
        (tmp_path / f"{name}.md").write_text(f"# {title}\n\nText.\n", encoding="utf-8")
    listed = [(guide.name, guide.title, guide.group) for guide in guidebook.guides(tmp_path)]
    assert listed == [
        ("start", "Start", "getting started"),
        ("search", "Search", "querying"),
        ("aardvark", "Aardvarks", "more"),
        ("zebra", "Zebras", "more"),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_begins_with_a_title_that_fits_the_list(name: str) -> None:
    text = guidebook.load(name)
    title = text.partition("\n")[0]
    assert re.fullmatch(r"# \S.{3,58}", title)
    whole = [section.heading for section in guidebook.sections(name, text) if section.text.startswith("# ")]
    assert whole == [title[2:]]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REFERENCES])
def test_a_guide_is_short_enough_to_be_read(name: str) -> None:
    assert len(guidebook.load(name).split()) <= 2_500


def test_contents_name_every_guide_below_its_group() -> None:
    lines = guidebook.contents().splitlines()
    assert lines[0] == "getting started"
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [guide.name for guide in guidebook.guides()]
    assert max(map(len, lines)) <= 80


# -- sections ---------------------------------------------------------------------------------------------------------


def test_sections_of_a_page() -> None:
    found = guidebook.sections("page", PAGE)
    assert [(section.heading, section.slug) for section in found] == [
        ("A page: of a kind", "a-page-of-a-kind"),
        ("Steps", "steps"),
        ("Deeper", "deeper"),
        ("Steps", "steps-1"),
    ]
    assert found[3].text == "## Steps\n\nTwo.\n"
    assert found[1].address == "page#steps"


@given(st.lists(st.sampled_from(["# One", "## Two", "text", "```", "# in code", "", "### Three", "~~~~"]), max_size=12))
def test_sections_put_together_are_the_page(lines: list[str]) -> None:
    page = "\n".join(["# Title", *lines]) + "\n"
    found = guidebook.sections("page", page)
    assert "".join(section.text for section in found) == page
    assert all(section.text.startswith("#") for section in found)
    assert len({section.slug for section in found}) == len(found)


def test_a_section_is_read_with_what_is_below_it() -> None:
    part = guidebook.load("answers#saved-sets")
    assert part.startswith("## Saved sets\n")
    assert "## Templates" not in part
    whole = guidebook.load("answers")
    assert part.strip() in whole
    assert guidebook.load("answers#answers-paths-sets-and-proofs") == whole


def test_unknown_guides_and_sections_name_the_closest() -> None:
    with pytest.raises(UnknownNameError, match=r"^Unknown guide 'serch'\. Did you mean 'search'"):
        guidebook.load("serch")
    with pytest.raises(UnknownNameError, match=r"^Unknown section 'wy' in answers\. Did you mean 'why'"):
        guidebook.load("answers#wy")
    with pytest.raises(UnknownNameError, match=r"^Unknown guide '../README'\."):
        guidebook.load("../README")


# -- find -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["timeout", "Reciprocal rank", "CURRENT generation"])
def test_found_sections_hold_all_words(words: str) -> None:
    found = guidebook.find(words)
    assert found
    for section, line in found:
        assert all(word in section.text.casefold() for word in words.casefold().split())
        assert any(word in line.casefold() for word in words.casefold().split())
    order = [guide.name for guide in guidebook.guides()]
    assert [order.index(section.guide) for section, _ in found] == sorted(order.index(s.guide) for s, _ in found)


def test_nothing_that_holds_the_words_is_missed() -> None:
    expected = {
        section.address
        for name in NAMES
        for section in guidebook.sections(name, guidebook.load(name))
        if "tantivy" in section.text.lower()
    }
    assert {section.address for section, _ in guidebook.find("Tantivy")} == expected


def test_find_in_one_guide_and_without_words() -> None:
    assert {section.guide for section, _ in guidebook.find("timeout", "performance")} == {"performance"}
    assert guidebook.find("xyzzy") == []
    with pytest.raises(KbError, match=r"^Empty search"):
        guidebook.find(" ")
    with pytest.raises(UnknownNameError, match=r"^Unknown guide 'perf'\."):
        guidebook.find("timeout", "perf")


# -- links ------------------------------------------------------------------------------------------------------------


def test_links_lead_to_files_and_sections_that_are_there() -> None:
    pages = {name: without_code(guidebook.load(name)) for name in NAMES}
    link = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
    for name, target in each(((name, target) for name, text in pages.items() for target in link.findall(text)), 20):
        path, _, anchor = target.partition("#")
        file = CHECKOUT / (path or f"{name}.md")
        assert file.is_file(), target
        if anchor:
            slugs = [section.slug for section in guidebook.sections("", file.read_text(encoding="utf-8"))]
            assert anchor in slugs, target


# -- on a screen ------------------------------------------------------------------------------------------------------


def test_a_page_on_a_plain_screen() -> None:
    assert (
        guidebook.render(PAGE, 80, colour=False)
        == """A page: of a kind

It links to answers (kbkit docs answers), ingest/README.md and DuckDB
(https://duckdb.org), as `a & b` says.

Steps

$ kbkit answers world.kb '(river:"Danube" -> country) & (language:"German" -> country)' --why --timeout 60 --engine walk
# no heading, and a printed line that is so long that no terminal of eighty columns shows it without folding it

 word      means
 ──────────────────────────────────────────────────────────────────────────────
 `within`  a set of nodes, an expression or ids, which a search leaves nothing
           else than, before the best are chosen

Deeper

One.

Steps

Two.
"""
    )


def test_colours_are_escapes_and_nothing_else() -> None:
    page = re.sub(r"`([^`\n]+)`", r"\1", PAGE)  # code within a line has signs around it only where there are no colours
    coloured, plain = guidebook.render(page, 80), guidebook.render(page, 80, colour=False)
    assert "\x1b[1;36m$ kbkit answers" in coloured
    assert "\x1b[1mSteps" in coloured
    assert "\n".join(line.rstrip() for line in ESCAPE.sub("", coloured).split("\n")) == plain
    assert "\x1b[36ma & b\x1b[0m" in guidebook.render(PAGE, 80)


@pytest.mark.parametrize("width", [40, 300])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "commands"])
def test_prose_and_tables_fit_the_screen(name: str, width: int) -> None:
    shown = guidebook.render(without_code(guidebook.load(name)), width, colour=False)
    assert max(map(len, shown.splitlines())) <= min(width, guidebook.WIDTH)
    assert not re.search(r"\([\w./-]+\.md", shown)


@pytest.mark.parametrize("name", NAMES)
def test_code_keeps_its_lines(name: str) -> None:
    shown = guidebook.render(guidebook.load(name), 60, colour=False)
    code = "".join(re.findall(r"^```\w*\n(.*?)^```$", guidebook.load(name), re.DOTALL | re.MULTILINE))
    assert {line.rstrip().expandtabs() for line in code.splitlines()} <= set(shown.splitlines())


# -- the command ------------------------------------------------------------------------------------------------------


def test_docs_in_a_pipe_is_the_file(here: Run) -> None:
    assert here("docs", "start").stdout == (assets.guides() / "start.md").read_text(encoding="utf-8")
    assert here("docs", "search#modes").stdout == guidebook.load("search#modes")


def test_docs_on_a_terminal(here: Run) -> None:
    shown = here("docs", "performance#batches", terminal=True, env={"COLUMNS": "90"})
    assert shown.stdout == guidebook.render(guidebook.load("performance#batches"), 90, colour=False)
    assert here("docs", terminal=True).stdout == guidebook.contents()
    coloured = here("docs", "search#modes", terminal=True, env={"NO_COLOR": "", "COLUMNS": "90", "TERM": "xterm"})
    assert ESCAPE.search(coloured.stdout)


def test_docs_find(here: Run) -> None:
    found = here("docs", "--find", "interrupted builds", "-f", "csv")
    assert found.stdout.splitlines()[0] == "section,line"
    assert any(line.startswith("commands#kbkit-gc,") for line in found.stdout.splitlines())
    one = here("docs", "data", "--find", "gc", "-f", "csv").stdout.splitlines()
    assert [line.partition(",")[0] for line in one[1:]] == ["data#check-rebuild-move-delete"]
    none = here("docs", "--find", "xyzzy", terminal=True)
    assert ESCAPE.sub("", none.stdout).splitlines()[-1] == "0 rows"


def on_a_terminal(*arguments: str, env: dict[str, str]) -> str:
    """What a process prints whose three streams are a terminal of 24 lines."""
    lead, follow = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80", "LINES": "24", **env}
    process = subprocess.Popen([str(SCRIPT), *arguments], stdin=follow, stdout=follow, stderr=follow, env=environment)
    os.close(follow)
    printed = read_all(lead)
    assert process.wait() == 0
    return ESCAPE.sub("", printed)


@pytest.mark.system
def test_long_pages_go_through_the_pager() -> None:
    long = guidebook.render(guidebook.load("search"), 80, colour=False)
    mark = {"PAGER": "sed 's/^/> /'"}
    paged = on_a_terminal("-q", "docs", "search", env=mark)
    assert paged == "".join(f"> {line}\n" for line in long.splitlines())
    assert on_a_terminal("-q", "docs", "search", "--no-pager", env=mark) == long
    assert on_a_terminal("-q", "docs", "search", env={"PAGER": ""}) == long
    short = guidebook.render(guidebook.load("search#reranking"), 80, colour=False)
    assert on_a_terminal("-q", "docs", "search#reranking", env=mark) == short
