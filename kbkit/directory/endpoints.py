"""The addresses that the user has named. Requests, and the API key with them, go to no other.

A KB records the endpoint of its embedder, but a KB may come from a stranger. An address counts once the user has named
it in a command, and is remembered for the user, in ``endpoints.txt`` of the settings folder, not in the KB.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from kbkit.directory import systems

FILE = "endpoints.txt"


def _file() -> Path:
    return systems.settings_folder() / FILE


def known() -> set[str]:
    """Return the remembered addresses."""
    try:
        return set(_file().read_text(encoding="utf-8", errors="replace").split("\n")) - {""}
    except (OSError, RuntimeError):  # no home folder
        return set()


def remember(url: str) -> None:
    """Remember an address that the user named. Without a writable settings folder it counts for this command only."""
    url = url.rstrip("/")
    _named.add(url)
    if url not in known():
        with contextlib.suppress(OSError, RuntimeError):
            _file().parent.mkdir(parents=True, exist_ok=True)
            with _file().open("a", encoding="utf-8", newline="\n") as file:
                file.write(f"{url}\n")


def is_known(url: str) -> bool:
    """Return whether the user has named an address, now or earlier."""
    return url.rstrip("/") in _named or url.rstrip("/") in known()


_named: set[str] = set()
"""The addresses named in this process."""
