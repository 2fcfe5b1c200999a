"""`kbkit shell` in a real terminal: what a person types, and what the screen shows."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from tests.terminal import ALT_ENTER, BACKSPACE, DOWN, ENTER, LEFT, TAB, UP, Shell, Terminal, ctrl

pytestmark = pytest.mark.system

SCRIPT = Path(sys.executable).with_name("kbkit")
PLAIN = {"PAGER": "cat"}
SLOW = "SELECT count(*) FROM range(100000000000) a, range(1000) b;"
HELP = ".help   Tab completes   Ctrl-R searches the history   Ctrl-D leaves"
BORDERS = """\
 n   name          node
──────────────────────────────
 1   Andorra       country#AND
 2   Belgium       country#BEL
 3   Brazil        country#BRA
 4   Switzerland   country#CHE
 5   Germany       country#DEU
 6   Spain         country#ESP
 7   Italy         country#ITA
 8   Luxembourg    country#LUX
 9   Monaco        country#MCO
10   Netherlands   country#NLD
11   Suriname      country#SUR
11 rows"""


def copied(source: Path, target: Path) -> Path:
    """A copy of a KB that nobody has worked with: history and sets go to it."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("workspace"))
    return target


@pytest.fixture
def kb(world_kb: Path, tmp_path: Path) -> Path:
    return copied(world_kb, tmp_path / "world.kb")


@pytest.fixture(scope="module")
def open_shell(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell that many tests share: it starts once."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "slow.sql").write_text(f"SELECT 'before' AS x;\n{SLOW}\nSELECT 'after' AS x;")
    with Shell(copied(world_kb, folder / "world.kb"), rows=40, cwd=folder, env=PLAIN) as shell:
        yield shell


@pytest.fixture
def shell(open_shell: Shell) -> Iterator[Shell]:
    """The shared shell, at an empty prompt, as it was before."""
    yield open_shell
    open_shell.clear()


# -- a session --------------------------------------------------------------------------------------------------------


def test_a_whole_session(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "more.kbq").write_text('SELECT 6 * 7 AS answer;\n\ncountry:"Spain" -> [capital] -> city\n')
    with Shell(kb, rows=30, columns=80, cwd=tmp_path, env=PLAIN) as shell:
        shell.wait(HELP)
        shell.typed('country:"Fra')
        shell.wait("France  country#FRA", "answers: Enter runs it")
        shell.send(TAB)
        shell.wait('> country:"France"')
        shell.send(ENTER)  # takes what was chosen, and runs nothing
        shell.wait('> country:"France"', gone="country#FRA")
        assert shell.cursor_line == 'world> country:"France"'
        shell.typed(" -> [bo")
        shell.wait("has a land border with")
        shell.send(TAB, ENTER)
        shell.wait('> country:"France" -> [borders', gone="has a land border with")
        shell.typed("] -> country")
        shell.send(ENTER)
        shell.wait("11 rows")
        shell.prompted()
        assert "\n".join(shell.written[1:-1]) == BORDERS

        assert shell.ask("SELECT count(*) AS neighbours FROM _;") == "neighbours\n──────────\n        11\n1 row"
        capital = "capital\n──────────\ncity:paris\n1 row"
        found = shell.ask("SELECT ?capital { country:FRA rel:capital ?capital };")
        assert found.replace("─", "") == capital.replace("─", "")
        found = shell.ask("inlet of the Barents Sea").split("\n")
        assert found[0].split() == ["rank", "name", "node", "score", "snippet"]
        assert found[2].split()[:3] == ["1", "White", "Sea"]
        assert found[-1] == "10 rows; .wrap shows whole cells"

        shell.ask('country:"France" -> [borders] -> country')
        assert shell.ask(".save neighbours") == "@neighbours: 11 nodes"
        assert "1   Paris" in shell.ask('country:"France" -> [capital] -> city')
        assert shell.ask("@neighbours").endswith("11 rows")
        assert shell.ask(".read more.kbq").split("\n") == [
            *("answer", "──────", "    42", "1 row"),
            *("n   name     node", "────────────────────────", "1   Madrid   city#madrid", "1 row"),
        ]
        page = shell.ask(".show city#paris").split("\n")
        assert page[0] == "Paris"
        assert "  1  France  (country#FRA; role capital)" in page
        assert shell.ask("1").startswith("France\ncountry#FRA")
        assert shell.ask(".back").startswith("Paris\n")
        shell.typed(".quit")
        shell.send(ENTER)
        assert shell.ended() == 0


def test_leaving(kb: Path) -> None:
    """Ctrl-D leaves, also at once, while libraries are still being loaded."""
    for _ in range(2):
        with Shell(kb) as shell:
            shell.send(ctrl("d"))
            assert shell.ended() == 0
            assert b"Traceback" not in shell.raw


def test_clearing_a_line(shell: Shell) -> None:
    shell.typed("SELECT nonsense")
    shell.clear()
    assert shell.ask("SELECT 1 AS one;") == "one\n───\n  1\n1 row"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM range(100000000000) a, range(1000) b;",
        "SELECT (count(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i };",
    ],
)
def test_breaking_a_query(shell: Shell, statement: str) -> None:
    shell.paste(f"SELECT 7 * {len(statement)} AS it;\n{statement}\nSELECT 'not' || ' reached' AS x;")
    shell.send(ENTER)
    shell.wait(f"{7 * len(statement)}\n1 row")  # so that it is the query that is broken, not the shell on its way to it
    shell.breaks()
    shell.wait("^CCancelled.")
    shell.prompted()
    assert "not reached" not in shell.text
    assert shell.ask("ASK { country:FRA rel:borders country:DEU };") == "ask\n────\nTrue\n1 row"
    assert shell.ask("SELECT 1 AS one;") == "one\n───\n  1\n1 row"


def test_breaking_a_file(shell: Shell) -> None:
    """Ctrl-C stops the file, too, and not only one of its statements."""
    shell.typed(".read slow.sql")
    shell.enter()
    shell.wait("before\n1 row")
    shell.breaks()
    shell.wait("^CCancelled.")
    shell.prompted()
    assert "after" not in shell.text


# -- keys -------------------------------------------------------------------------------------------------------------


def test_ctrl_c_stops_a_system_command(shell: Shell) -> None:
    # `exec`: a signal between the fork of a child and its start may be lost in the system's shell.
    shell.typed("!echo started && exec sleep 60")
    shell.send(ENTER)
    shell.wait("\nstarted")
    shell.send(ctrl("c"))
    shell.wait("exit code")
    shell.prompted()
    assert shell.ask("SELECT 1 AS one;") == "one\n───\n  1\n1 row"


def test_several_lines(shell: Shell) -> None:
    expected = "name\n───────────\nAfghanistan\n1 row"
    assert shell.ask("SELECT name", "FROM country", "LIMIT 1;") == expected
    assert shell.ask("SELECT name", "FROM country", "LIMIT 1", "").lstrip("\n") == expected
    shell.typed("SELECT 1 AS one")
    shell.send(ALT_ENTER)
    shell.wait("  1\n1 row")
    shell.prompted()


def test_enter_within_a_statement(shell: Shell) -> None:
    """In the only line of a whole statement Enter runs it, wherever the cursor is; within several it breaks a line."""
    shell.typed("SELECT 11 AS n;")
    shell.send(LEFT, LEFT, LEFT, ENTER)
    shell.wait("11\n1 row")
    shell.prompted()
    shell.typed("SELECT 12 AS n,")
    shell.enter()
    shell.typed("13 AS m;")
    shell.send(UP)
    shell.wait_until(lambda: shell.cursor_line == "world> SELECT 12 AS n,", "cursor in the first line")
    shell.send(ENTER)
    shell.wait("world> SELECT 1\n   ... 2 AS n,\n   ... 13 AS m;")
    assert "2 rows" not in shell.text


def test_history_restores_multiline_statements(kb: Path) -> None:
    with Shell(kb, env=PLAIN) as shell:
        shell.ask("SELECT name", "FROM country", "LIMIT 1", "")
        shell.ask("landlocked")
        shell.send(UP)
        shell.prompted("landlocked")
        shell.send(UP)
        shell.wait("> SELECT name\n   ... FROM country\n   ... LIMIT 1\n\n", gone="\n   ...\n")
        shell.send(";", ENTER)
        shell.prompted()
        shell.send(ctrl("r"))
        shell.wait("I-search backward:")
        shell.send("land")
        shell.wait("> landlocked")
        shell.send(ENTER)
        shell.wait("search: Enter searches", gone="I-search")
        assert shell.cursor_line == "world> landlocked"
        shell.clear()
        shell.send(ctrl("d"))
        assert shell.ended() == 0


def test_a_statement_that_ctrl_r_found_runs(kb: Path) -> None:
    """The cursor goes to its end: Enter would break the line that holds the word."""
    with Shell(kb, env=PLAIN) as shell:
        shell.ask("SELECT name AS found", "FROM country LIMIT 1;")
        shell.ask("SELECT 1 AS one;")
        shell.send(ctrl("r"), "found")
        shell.wait("I-search backward: found")
        shell.send(ENTER)
        shell.wait(gone="I-search")
        shell.send(ENTER)
        shell.wait_until(lambda: shell.text.count("Afghanistan") == 2, "second answer")
        shell.prompted()


def test_history_is_kept_by_kb(kb: Path, world_kb: Path, tmp_path: Path) -> None:
    copied(world_kb, tmp_path / "other.kb")
    with Shell(kb, env=PLAIN) as first, Shell(kb, env=PLAIN) as second:
        first.ask("SELECT 1 AS first;")
        second.ask("SELECT 2 AS second;")
    with Shell(kb, env=PLAIN, cwd=tmp_path) as shell:
        assert shell.ask(".history") == "SELECT 1 AS first;\nSELECT 2 AS second;\n.history"
        shell.typed(".open other.kb")
        shell.send(ENTER)
        shell.name = "other"
        shell.prompted()
        shell.ask("SELECT 3 AS third;")
        assert shell.ask(".history") == "SELECT 3 AS third;\n.history"
    kept = (kb / "workspace" / "shell_history").read_text()
    assert [line for line in kept.split("\n") if line.startswith("+SELECT")] == [
        "+SELECT 1 AS first;",
        "+SELECT 2 AS second;",
    ]


def test_history_that_cannot_be_kept(kb: Path) -> None:
    """It serves the session all the same."""
    (kb / "workspace").write_text("")
    with Shell(kb, env=PLAIN) as shell:
        shell.ask("SELECT 1 AS one;")
        shell.send(UP)
        shell.prompted("SELECT 1 AS one;")
        shell.clear()
        shell.send(ctrl("d"))
        assert shell.ended() == 0


def test_history_that_leads_elsewhere(kb: Path) -> None:
    """A device may be read for ever, and a file of the user be overwritten: a KB with links is not opened."""
    history = kb / "workspace" / "shell_history"
    history.parent.mkdir()
    history.symlink_to("/dev/zero")
    done = subprocess.run(
        [SCRIPT, "sets", "list", kb], input="", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "shell_history is a link, and a KB consists of files and folders" in done.stderr


def test_menus_open_only_when_useful(shell: Shell) -> None:
    shell.typed("SELECT name FR")
    shell.wait("FROM\n")
    shell.typed("OM country;")
    shell.wait(gone="DESCRIBE")
    shell.send(LEFT, "x", BACKSPACE)  # two keys later, no menu has come up for the whole statement
    shell.clear()
    shell.typed("SELECT name")
    shell.enter()
    shell.typed("FROM country")
    shell.enter()
    shell.typed("LI")  # a menu for the new line would have come up before this one's
    shell.wait("LIMIT")
    shell.clear()
    shell.typed(".sho")
    shell.wait(".show  Show a node's page")
    shell.send(ENTER)  # nothing was chosen: Enter runs the line
    shell.wait("Expected a node")
    shell.prompted()


def test_plain_words_open_a_menu_only_on_tab(shell: Shell) -> None:
    """One word may begin a statement and opens a menu; a second one makes it a search."""
    shell.typed("Central Afric")
    shell.wait("search: Enter searches")
    assert "country#CAF" not in shell.text
    shell.send(TAB)
    shell.wait("Central African Republic", "country#CAF")
    shell.send(DOWN, ENTER, "  ")
    shell.wait("world> Central African")


# -- pasting ----------------------------------------------------------------------------------------------------------


def test_pasted_statements_all_run(shell: Shell) -> None:
    shell.paste("SELECT 1 AS one;\nASK { country:FRA rel:borders country:DEU };\n.mode\n")
    shell.paste('country:"France" -> [capital] -> city\n')
    shell.wait('... country:"France" -> [capital] -> city')
    assert "mode auto" not in shell.text  # it stands there until Enter
    shell.send(ENTER)
    shell.wait("  1\n1 row", "True", "mode auto", "1   Paris   city#paris")
    shell.prompted()


def test_pasted_statements_end_with_the_first_that_fails(shell: Shell) -> None:
    shell.paste("SELECT nothing;\nSELECT 'not' || ' reached' AS x;")
    shell.send(ENTER)
    shell.wait('Referenced column "nothing"')
    shell.prompted()
    assert "not reached" not in shell.text


def test_a_pasted_paragraph_is_one_search(shell: Shell) -> None:
    shell.ask(".search -k 1")
    shell.paste("a lake high in the Andes\nbetween Peru and Bolivia\n")
    shell.wait("between Peru and Bolivia\n")
    shell.send(ENTER)
    shell.wait("language#aym", "1 row")  # whose text has most of the words
    shell.prompted()
    assert shell.text.count("1 row\n") >= 1
    shell.ask(".search -k 10")


def test_garbage(shell: Shell) -> None:
    """What is pasted by mistake: no byte of it reaches the terminal as it is, and the prompt comes back."""
    before = len(shell.raw)
    shell.paste(bytes(b for b in range(256) if b != 0x1B) + b"\x1b]0;title\x07\x1b[2J")
    shell.wait("^@^A^B")
    shell.send(ALT_ENTER)
    shell.prompted()
    assert b"\x1b]0;title" not in shell.raw[before:]
    shell.send("\x1b[99~", "\x1bOx", b"\xff\xfe", "\x00")
    shell.clear()
    assert shell.ask("SELECT 1 AS one;") == "one\n───\n  1\n1 row"


def test_a_line_of_many_thousand_signs(kb: Path) -> None:
    with Shell(kb, rows=24, env=PLAIN) as shell:
        shell.paste("SELECT length('" + "x" * 300_000 + "') AS n;")
        shell.wait("x') AS n;", patience=60)
        shell.send(ENTER)
        shell.wait("300000\n1 row", patience=60)
        shell.prompted()
        assert shell.ask("SELECT 1 AS one;") == "one\n───\n  1\n1 row"
        assert (kb / "workspace" / "shell_history").stat().st_size < 1000


def test_an_open_quote(shell: Shell) -> None:
    """The line below says how to get out."""
    shell.typed("SELECT 'a")
    shell.enter()
    shell.enter()
    shell.wait("sql: incomplete", "Alt-Enter runs it, Ctrl-C clears it")
    shell.send(ALT_ENTER)
    shell.wait("unterminated string literal")
    shell.prompted()


def test_signs_of_many_scripts(shell: Shell) -> None:
    shell.typed("SELECT 'ירושלים' AS a, '东京' AS b, 'é😀' AS c;")
    shell.send(ENTER)
    shell.wait("ירושלים", "东", "é😀", "1 row")
    shell.prompted()


# -- windows and terminals --------------------------------------------------------------------------------------------


def test_tables_fit_the_window(kb: Path) -> None:
    with Shell(kb, rows=24, columns=100, env=PLAIN) as shell:
        statement = "SELECT repeat('word ', 30) AS text;"
        assert max(map(len, shell.ask(statement).split("\n"))) > 80
        shell.resize(24, 50)
        wide = shell.ask(statement).split("\n")
        assert 40 < max(map(len, wide)) <= 50
        shell.resize(10, 20)
        shell.send("SELECT name FROM country LIMIT 1;")
        shell.wait("T 1;")  # the text goes over two lines
        shell.send(ENTER)
        shell.wait("Afghanistan\n1 row")
        shell.prompted()
        shell.resize(5, 60)
        shell.typed("SELECT na")
        shell.send(ctrl("c"))
        shell.prompted()
        shell.ask("SELECT 1 AS one;")
        assert "too small" not in shell.text


def test_the_pager(kb: Path) -> None:
    """What is longer than the screen is paged; q leaves, and Ctrl-C ends neither it nor the shell."""
    if shutil.which("less") is None:
        pytest.skip("less is not installed")
    with Shell(kb, rows=12, columns=60, env={"PAGER": "less"}) as shell:
        shell.typed("SELECT name FROM country ORDER BY name;")
        shell.send(ENTER)
        shell.wait("Afghanistan", "\n:")
        shell.send(ctrl("c"), ctrl("c"))

        def pressed(key: str, text: str) -> bool:
            shell.send(key)  # again and again: a terminal forgets the keys that it holds when Ctrl-C comes
            return text in shell.text

        shell.wait_until(lambda: pressed("G", "of 197 rows"), "end")
        shell.resize(8, 50)
        shell.wait_until(lambda: pressed("g", "Afghanistan"), "beginning")
        shell.send("q")
        shell.prompted()
        shell.typed("SELECT 1 AS one;")
        shell.send(ENTER)
        shell.wait("1 row")  # short: not paged
        shell.prompted()
        shell.typed(".pager off")
        shell.send(ENTER)
        shell.wait("pager off")
        shell.prompted()
        shell.typed("SELECT name FROM country ORDER BY name;")
        shell.send(ENTER)
        shell.wait("rows")
        shell.prompted()


@pytest.mark.parametrize("pager", ["missing-program", "'", "head -n 1"])
def test_broken_pagers(kb: Path, pager: str) -> None:
    """Without a pager that starts all of it comes; one that reads no further is no error."""
    with Shell(kb, rows=12, env={"PAGER": pager, "LESS": "-E"}) as shell:
        shell.typed("SELECT name FROM country ORDER BY name LIMIT 20;")
        shell.send(ENTER)
        shell.prompted()
        shown = "\n".join(shell.written)
        assert ("20 rows" in shown) == (pager != "head -n 1")
        assert "error" not in shown


@pytest.mark.parametrize(
    ("env", "colours"),
    [
        ({"TERM": "linux"}, {"bold brightblue"}),
        ({"NO_COLOR": "1"}, {"bold default"}),
        ({"TERM": "xterm", "LC_ALL": "C", "LANG": "C"}, {"bold 5f5fff"}),
    ],
)
def test_terminals(kb: Path, env: dict[str, str], colours: set[str]) -> None:
    with Shell(kb, env=PLAIN | env) as shell:
        shell.typed("SELECT 'é' AS x;")
        shell.wait_until(lambda: shell.colours("SELECT") != {"default"}, "colours")
        assert shell.colours("SELECT") == colours
        shell.send(ENTER)
        shell.wait("x\n─\né\n1 row")
        shell.prompted()


def test_a_dumb_terminal(kb: Path) -> None:
    """Emacs has one: lines, which it edits itself, and nothing that moves the cursor."""
    with Shell(kb, rows=12, env={"TERM": "dumb"}) as shell:
        shell.typed("SELECT namex")
        shell.send(BACKSPACE, ENTER)
        shell.wait("world> SELECT name\n   ...")
        shell.send("FROM country LIMIT 1", ENTER, ENTER)
        shell.wait("Afghanistan\n1 row")
        shell.prompted()
        shell.send("SELECT name FROM country;", ENTER)
        shell.wait("of 197 rows")  # no pager
        shell.prompted()
        shell.typed("nonsense")
        shell.clear()
        shell.send(ctrl("d"))
        assert shell.ended() == 0
        assert b"\x1b[" not in shell.raw.replace(b"\x1b[?12l\x1b[?25h", b"")


def test_results_in_a_file(kb: Path, tmp_path: Path) -> None:
    """`kbkit shell KB > out`: the prompt stays on the screen, the results go where they are sent."""
    with Terminal("/bin/sh", "-c", f"exec {SCRIPT} shell {kb} > {tmp_path}/out") as terminal:
        terminal.wait("world>")
        terminal.send("SELECT name FROM country LIMIT 2;", ENTER)
        terminal.wait("LIMIT 2;\nworld>")
        terminal.send("SELECT nothing;", ENTER)
        terminal.wait('column "nothing"')
        terminal.wait_until(lambda: terminal.before_cursor == "world> ", "prompt")
        terminal.send(ctrl("d"))
        assert terminal.ended() == 0
    shown = (tmp_path / "out").read_text().split("\n")
    assert shown[0] == "name"
    assert shown[2:] == ["Afghanistan", "Angola", "2 rows", ""]


# -- what happens meanwhile -------------------------------------------------------------------------------------------


def test_the_kb_changes_and_goes(tiny: Path, tiny_kb: Path, tmp_path: Path) -> None:
    kb = copied(tiny_kb, tmp_path / "tiny.kb")
    files = {"nodes": tiny / "nodes.csv", "edges": tiny / "edges.csv", "texts": tiny / "texts.csv"}
    with Shell(kb, env=PLAIN) as shell:
        shell.ask("SELECT 1 AS one;")
        kbkit.ingest("table", out=kb, files=files, replace=True).close()
        told = shell.ask("SELECT 2 AS two;").replace("\n", "")
        assert "(generation 0002); .open loads it" in told
        assert shell.ask("SELECT 3 AS three;").startswith("three\n")  # it is said once
        assert "nodes" in shell.ask(".open")
        shell.ask("SELECT count(*) FROM nodes;")
        shutil.rmtree(kb)
        told = shell.ask("SELECT count(*) > 0 AS still FROM nodes;")
        assert "does not exist; queries still use the open generation" in told.replace("\n", "")
        assert told.endswith("\nTrue\n1 row")
        shell.send(ctrl("d"))
        assert shell.ended() == 0
    assert not kb.exists()  # history has not brought it back


def is_dead(pid: int) -> bool:
    """Whether a process has ended; its parent may not know yet."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")


def test_the_sparql_process_dies(kb: Path) -> None:
    with Shell(kb, env=PLAIN) as shell:
        shell.ask("ASK { ?a ?b ?c };")
        words = ["ps", "-o", "pid=", "--ppid", str(shell.pid)]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        if found.returncode:
            pytest.skip("ps does not tell children")
        killed = list(map(int, found.stdout.split()))
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        shell.wait_until(lambda: all(map(is_dead, killed)), "end of the killed processes")
        assert "True" in shell.ask("ASK { ?a ?b ?c };")


# -- the editor -------------------------------------------------------------------------------------------------------


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """An editor that turns every 1 into a 7."""
    path = tmp_path / "editor"
    path.write_text('#!/bin/sh\nsed s/1/7/g "$1" > "$1.new" && mv "$1.new" "$1"\n')
    path.chmod(0o755)
    return path


def test_an_editor(kb: Path, editor: Path) -> None:
    with Shell(kb, env=PLAIN | {"EDITOR": str(editor)}) as shell:
        shell.ask("SELECT 1 AS one;")
        shell.typed(".edit")
        shell.send(ENTER)
        shell.prompted("SELECT 7 AS one;")
        shell.send(ENTER)
        shell.wait("  7\n1 row")
        shell.prompted()
        shell.typed("SELECT 11 AS n;")
        shell.send(ctrl("x"), ctrl("e"))
        shell.prompted("SELECT 77 AS n;")  # it waits for Enter
        shell.send(ENTER)
        shell.wait("77\n1 row")
        shell.prompted()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("false", "false: Editing failed"),
        ("/no/such/editor", "/no/such/editor: Editing failed"),
    ],
)
def test_editors_that_fail(kb: Path, command: str, problem: str) -> None:
    with Shell(kb, columns=120, env=PLAIN | {"VISUAL": command}) as shell:
        shell.ask("SELECT 1 AS one;")
        shell.typed(".edit")
        shell.send(ENTER)
        shell.wait(problem)
        shell.prompted("SELECT 1 AS one;")
        shell.clear()
        shell.typed("SELECT 2 AS two;")
        shell.send(ctrl("x"), ctrl("e"))
        shell.wait_until(lambda: shell.text.count(problem) == 2, problem)
        shell.prompted("SELECT 2 AS two;")


# -- the first prompt, and colours ------------------------------------------------------------------------------------

HEAVY = ("duckdb", "numpy", "polars", "pyarrow", "lancedb", "tantivy", "scipy", "pyoxigraph", "rich", "jsonschema")


def test_no_engine_is_imported_before_the_first_prompt(world_kb: Path) -> None:
    """What it takes to ask is all that is imported before it."""
    program = f"""
import sys
from kbkit.shell.display import Display
from kbkit.executor.executor import Executor
from kbkit.executor.prompt_settings import PromptSettings
from kbkit.shell.repl import Repl
from kbkit.shell.runner import Runner
settings = PromptSettings()
Repl(Runner(Executor.open({str(world_kb)!r}, settings), Display(settings)))
print(*(name for name in {HEAVY!r} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def _luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_are_legible_on_black_and_on_white() -> None:
    """A contrast of 4 to both: WCAG asks for 3 of large text, and for 4.5 of small, which no colour has to both."""
    from kbkit.shell.highlight import STYLE

    colours = {
        word.removeprefix("fg:").removeprefix("bg:")
        for _, style in STYLE.style_rules
        for word in style.split()
        if "#" in word
    } - {"#ffffff", "#005faf"}  # the chosen candidate, white on blue
    assert len(colours) > 5
    for colour in colours:
        light = _luminance(colour) + 0.05
        assert min(light / 0.05, 1.05 / light) >= 4, colour
    assert 1.05 / (_luminance("#005faf") + 0.05) >= 4.5


def test_long_cells_are_cut_until_wrap(kb: Path, tmp_path: Path) -> None:
    query = ("SELECT name, text FROM country", "JOIN texts USING (id) WHERE name = 'France';")
    with Shell(kb, rows=40, columns=60, cwd=tmp_path, env=PLAIN) as shell:
        assert shell.ask(*query) == (
            "name    text\n"
            "────────────────────────────────────────────────────────────\n"
            "France  A large country of western Europe reaching from the\n"
            "        Atlantic and the English Channel to the\n"
            "        Mediterranean, with the Alps and Pyrenees on its...\n"
            "1 row; .wrap shows whole cells"
        )
        assert shell.ask(".wrap") == "wrap on"
        whole = shell.ask(*query)
        assert "fashion, aircraft" in whole
        assert whole.endswith("\n1 row")
        shell.ask(".wrap off")
        shell.ask(".once long.txt")
        shell.ask(*query)  # files get whole cells
        assert "aircraft and tourism." in (tmp_path / "long.txt").read_text(encoding="utf-8")
        assert "country:FRA" in shell.ask("SELECT * { ?s rel:borders country:ESP };")
        assert "warning: Unknown relation 'bordres' in rel:bordres" in shell.ask("ASK { ?s rel:bordres ?o };")


def test_more_continues_a_page(kb: Path) -> None:
    with Shell(kb, rows=60, env=PLAIN) as shell:
        assert "... and 6 more" in shell.ask(".show France")
        assert "1  Spain  (country#ESP)" in shell.ask(".more")
        assert shell.ask("1").startswith("Spain\n")
