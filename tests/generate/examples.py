"""Write the outputs of the examples in README and guides: ``python -m tests.generate.examples [PAGE ...]``.

Each console and Python example runs as in the tests, in a folder with ``world.kb``. An output that no longer matches
is replaced; one that is abridged with ``...`` is reported instead, to be edited by hand.
"""

from __future__ import annotations

import doctest
import re
import sys
import tempfile
from pathlib import Path

from tests.assets import test_documents as documents

_CHECKER = doctest.OutputChecker()


def page_path(name: str) -> Path:
    """Return the file of a page."""
    return documents.ROOT / "README.md" if name == "README" else documents.GUIDES / f"{name}.md"


def update(name: str, folder: Path) -> list[str]:
    """Rewrite the outputs of a page; return the examples that need a person."""
    path = page_path(name)
    text = path.read_text(encoding="utf-8")
    by_hand: list[str] = []
    documents.write_shown_files(text, folder)
    for command, expected in documents.steps(text):
        if command.startswith("cat "):
            continue
        run = documents.session if documents.is_session(command) else None
        printed = run(command, expected, folder) if run else documents.terminal(command, folder)
        if _CHECKER.check_output(expected + "\n", printed + "\n", doctest.ELLIPSIS):
            continue
        if "..." in re.sub(r"\.\.\. and ", "", expected):
            by_hand.append(f"{name}: $ {command}\n{printed}")
        else:
            shown = f"$ {command}\n{printed}" + "\n" * (printed and not expected)
            text = text.replace(f"$ {command}\n{expected}", shown if printed else f"$ {command}", 1)
    text = _python(name, text, folder, by_hand)
    path.write_text(text, encoding="utf-8")
    return by_hand


def _python(name: str, text: str, folder: Path, by_hand: list[str]) -> str:
    """Rewrite the outputs of the Python examples of a page, which share one namespace."""
    import contextlib
    import io

    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        for block in documents.blocks("pycon", text):
            changed = block
            for example in doctest.DocTestParser().get_examples(block):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    try:
                        exec(compile(example.source, "<page>", "single"), names)
                    except Exception as error:  # noqa: BLE001 - some examples show an error
                        if not example.exc_msg:
                            by_hand.append(f"{name}: >>> {example.source}{type(error).__name__}: {error}")
                        continue
                printed = out.getvalue()
                if _CHECKER.check_output(example.want, printed, doctest.ELLIPSIS):
                    continue
                if "..." in example.want:
                    by_hand.append(f"{name}: >>> {example.source}{printed}")
                elif example.want:
                    changed = changed.replace(example.want, printed, 1)
            text = text.replace(block, changed, 1)
    return text


def main(names: list[str]) -> None:
    """Update the named pages, or all."""
    for name in names or [*documents.PAGES]:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            if name != "README":
                documents.terminal("kbkit -q ingest world -o world.kb", folder)
            else:
                documents.terminal("kbkit demo", folder)
            for problem in update(name, folder):
                print(problem, end="\n\n", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
