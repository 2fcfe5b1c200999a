"""The command demo: builds the sample KB and shows queries."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kbkit.cli.build import KbOutput, summarize
from kbkit.cli.commands import add
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

_SQL = "SELECT name, area_km2 FROM lake ORDER BY area_km2 DESC LIMIT 5"
_SPARQL = """SELECT ?name ?since {
  country:FRA rel:borders ?c . ?c rdfs:label ?name .
  ?membership rdf:subject ?c ; rdf:object organisation:nato ; attr:since ?since
} ORDER BY ?since"""
_ANSWERS = '(country:"France" -> [borders] -> country) & (language:"German" -> country)'
_SEARCH = "landlocked country in the high mountains"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    add(app, demo)


def demo(context: typer.Context, output: KbOutput = Path("world.kb")) -> None:
    """Build the sample KB and show example queries."""
    from kbkit.cli.progress import bars
    from kbkit.directory.generations import KbDirectory
    from kbkit.ingestion.build import ingest as run
    from kbkit.ingestion.request import IngestRequest
    from kbkit.kb import KnowledgeBase

    started = time.perf_counter()
    if KbDirectory(output).exists():
        with KnowledgeBase(output) as kb:
            known = kb.manifest.recipe["name"] == "world"
        if not known:
            raise KbError(f"{output} holds another KB", "Choose a new directory with ", Option("output", "KB"))
    with bars(context.obj.quiet) as listener:
        run(IngestRequest("world", replace=True), output, listener)
    summarize(context, output, started)
    with KnowledgeBase(output) as kb:
        _tour(kb, output)


def _tour(kb: KnowledgeBase, path: Path) -> None:
    """Print one query in each language, with its results."""
    from kbkit.display.render import print_table

    _head("The largest lakes, in SQL", f'kbkit sql {path} "{_SQL}"')
    print_table(kb.sql(_SQL), sys.stdout)
    _head("Neighbours of France that joined NATO, and when, in SPARQL", f"kbkit sparql {path} '{_SPARQL}'")
    print_table(kb.sparql(_SPARQL), sys.stdout)
    _head("Neighbours of France that speak German, with proofs", f"kbkit answers {path} '{_ANSWERS}' --why")
    found = kb.answers(_ANSWERS)
    typer.echo("\n".join(map(str, found.proofs(list(found)))))
    _head("Search by words and meaning", f'kbkit search {path} "{_SEARCH}" --type country -k 5')
    print_table(kb.search(_SEARCH, k=5, type="country").select("rank", "name", "score", "snippet"), sys.stdout)
    more = (f"kbkit shell {path}", f"kbkit show {path} France", "kbkit query list", "kbkit docs start", "kbkit --help")
    _head("More", "\n$ ".join(more))


def _head(title: str, command: str) -> None:
    typer.secho(f"\n{title}", bold=True)
    typer.echo(f"$ {command}")
