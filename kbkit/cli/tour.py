"""What ``kbkit demo`` shows after it built the sample: one question in each way of asking, with its answer."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from kbkit.display.render import print_table
from kbkit.kb import KnowledgeBase

_SQL = "SELECT name, area_km2 FROM lake ORDER BY area_km2 DESC LIMIT 5"
_SPARQL = """SELECT ?name ?since {
  country:FRA rel:borders ?c . ?c rdfs:label ?name .
  ?membership rdf:subject ?c ; rdf:object organisation:nato ; attr:since ?since
} ORDER BY ?since"""
_ANSWERS = '(country:"France" -> [borders] -> country) & (language:"German" -> country)'
_SEARCH = "landlocked country in the high mountains"


def tour(path: Path) -> None:
    """Print the tour of the world KB at ``path``."""
    with KnowledgeBase(path) as kb:
        _head("The largest lakes, in SQL", f'kbkit sql {path} -c "{_SQL}"')
        print_table(kb.sql(_SQL), sys.stdout)
        _head("Which neighbours of France joined NATO, and when, in SPARQL", f"kbkit sparql {path} -c '{_SPARQL}'")
        print_table(kb.sparql(_SPARQL), sys.stdout)
        _head("Which neighbours of France speak German, and why", f"kbkit answers {path} '{_ANSWERS}' --why")
        found = kb.answers(_ANSWERS)
        typer.echo("\n".join(map(str, found.proofs(list(found)))))
        _head("By words and meaning together", f'kbkit search {path} "{_SEARCH}" --type country -k 5')
        print_table(kb.search(_SEARCH, k=5, type="country").select("rank", "name", "score", "snippet"), sys.stdout)
    more = (f"kbkit shell {path}", f"kbkit show {path} France", "kbkit queries", "kbkit docs start", "kbkit --help")
    _head("More", "\n$ ".join(more))


def _head(title: str, command: str) -> None:
    typer.secho(f"\n{title}", bold=True)
    typer.echo(f"$ {command}")
