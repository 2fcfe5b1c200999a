"""A source without the name of a recipe: files and folders, whose recipe is recognized or inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kbkit.directory.files import is_file, is_folder
from kbkit.errors import KbError
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.inference import Corrections, Inferred, infer
from kbkit.ingestion.inference.recognize import recognize


@dataclass(frozen=True)
class Source:
    """A recipe, by name or folder, and its files; ``inferred`` is how it was inferred, if it was, and ``folder`` where
    it was written.
    """

    recipe: str
    paths: Sequence[Path]
    inferred: Inferred | None = None
    folder: Path | None = None


def is_files(source: str) -> bool:
    """Whether a source is a file or a folder without a recipe, not the name or the folder of a recipe.

    The name of a shipped recipe wins; ``./table`` is a file.
    """
    if recipes.is_name(source):
        return False
    return is_file(source) or (is_folder(source) and not (Path(source) / "recipe.toml").is_file())


def named(source: str, paths: Sequence[Path]) -> str | None:
    """Return the recipe of a source as far as it is known without reading whole files."""
    return recognize([Path(source), *paths]) if is_files(source) else source


def resolve(source: str, paths: Sequence[Path], out: Path, corrections: Corrections | None = None) -> Source:
    """Return the recipe and the files of a source. An inferred recipe is written next to the KB ``out``, to
    ``NAME.recipe``. Corrections infer a recipe for files that a shipped one would read.
    """
    told = corrections not in (None, Corrections())
    if not is_files(source):
        if told:
            raise KbError(f"{source} is a recipe: it has no guesses to correct", "Name the files only")
        return Source(source, paths)
    files = [Path(source), *paths]
    known = None if told else recognize(files)
    if known is not None:
        return Source(known, files)
    folder = out.with_name(f"{out.stem}.recipe")
    inferred = infer(files, out.stem, corrections)
    inferred.write(folder)
    return Source(str(folder), files, inferred, folder)
