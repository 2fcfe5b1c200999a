"""A source without the name of a recipe: files and folders, whose recipe is recognized or inferred."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbkit.directory import systems
from kbkit.directory.files import is_file, is_folder, write_files
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion import source_files
from kbkit.ingestion.inference import Inferred, infer
from kbkit.ingestion.inference.recognize import recognize
from kbkit.ingestion.request import Corrections


@dataclass(frozen=True)
class RecipeSource:
    """A recipe, by name or folder, and its files; ``inferred`` is how it was inferred, if it was, and ``folder`` where
    it was written.
    """

    recipe: str
    paths: Sequence[Path]
    inferred: Inferred | None = None
    folder: Path | None = None


def is_files(source: str) -> bool:
    """Return whether a source is a file or a folder without a recipe, not the name or the folder of a recipe.

    The name of a shipped recipe wins; ``./table`` is a file. Raises :class:`BadInputError` for a missing file.
    """
    if recipes.is_name(source):
        return False
    if source_files.suffix(Path(source)) and not is_file(source) and not is_folder(source):
        raise BadInputError(f"{source} does not exist")
    return is_file(source) or (is_folder(source) and not (Path(source) / "recipe.toml").is_file())


def only_files(source: str) -> str:
    """Return how to name files instead of a recipe, or the file or folder that is called like it."""
    return f"Name the files only: ./{source}" if Path(source).exists() else "Name files without a recipe"


def _is_dataset(path: Path) -> bool:
    """Return whether a folder is a dataset that kbkit made."""
    about = path / "dataset.json"
    return about.is_file() and b'"made_by"' in about.read_bytes()[:200]


def named(source: str, paths: Sequence[Path]) -> str | None:
    """Return the recipe of a source as far as it is known without reading whole files."""
    return recognize([Path(source), *paths]) if is_files(source) else source


@contextlib.contextmanager
def resolved(
    source: str,
    paths: Sequence[Path],
    out: Path,
    corrections: Corrections | None = None,
    reviewed: Inferred | None = None,
    *,
    sync: bool = False,
) -> Iterator[RecipeSource]:
    """Yield the recipe and the files of a source.

    An inferred recipe is written next to the KB ``out``, to ``NAME.recipe``; if the block fails, a new one is deleted,
    and an earlier one restored. With ``sync``, its nodes keep the file of their row.
    Corrections infer a recipe for files that a shipped one would read. ``reviewed`` is a recipe that was inferred for
    the files before.
    Raises :class:`BadInputError` for a missing file, and if the user edited an earlier recipe.
    """
    told = corrections not in (None, Corrections())
    if not is_files(source):
        if told and (recipes.is_name(source) or is_folder(source)):
            raise KbError(f"{source} is a recipe: it has no guesses to correct", only_files(source))
        yield RecipeSource(source, paths)
        return
    files = [Path(source), *paths]
    for path in (path for path in files if not path.exists()):
        raise BadInputError(f"{path} does not exist")
    known = None if told or reviewed else recognize(files)
    if known is not None:
        yield RecipeSource(known, files)
        return
    for path in (path for path in files if _is_dataset(path)):
        raise BadInputError(f"{path} is a dataset of questions, made from a KB: it has no nodes to load")
    folder = out.with_name(f"{out.stem}.recipe")
    inferred = reviewed or infer(files, out.stem, corrections, source_file=sync)
    former = {path: path.read_bytes() for path in (folder / "recipe.toml", folder / "load.sql") if path.is_file()}
    is_new = not folder.exists()
    try:
        inferred.write(folder)
        yield RecipeSource(str(folder.absolute() if len(folder.parts) == 1 else folder), files, inferred, folder)
    except BaseException:
        if is_new:
            systems.remove_tree(folder)
        elif former != {path: path.read_bytes() for path in former}:
            write_files(former)
        raise
