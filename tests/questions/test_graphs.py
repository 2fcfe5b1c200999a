"""Questions about graphs: roles, categories, names that mean several things, ways around, and directions.

The films and papers are made in the test; the answers beside each question are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kbkit
from kbkit.kb import KnowledgeBase

FILMS = {"Vampires": (1998, 108), "Dusk": (1987, 93), "Snow": (2003, 151), "Fjord": (2010, 90), "Harbour": (1999, 100)}
EDGES = {
    "directed": ("person", "film", "Ida Holm Dusk|Ida Holm Snow|Jon Reyes Fjord|Jon Reyes Harbour|Mia Sato Vampires"),
    "acted_in": ("person", "film", "Tom Vance Dusk|Tom Vance Snow|Tom Vance Fjord|Ida Holm Fjord|Ana Ruiz Vampires"),
    "has_genre": ("film", "genre", "Vampires Horror|Dusk Horror|Dusk Comedy|Snow Animation|Fjord Comedy|Harbour War"),
    "is_about": ("film", "topic", "Dusk vampire|Dusk director|Fjord denmark|Snow actor|Harbour #Horror|Harbour genie"),
    "made_in": ("film", "country", "Vampires Japan|Dusk Denmark|Snow Denmark|Fjord Norway"),
    "cites": ("paper", "paper", "Alpha Beta|Alpha Gamma|Beta Gamma|Delta Gamma|Delta Alpha"),
    "trains": ("author", "author", "Lea Omar|Omar Ruth"),
    "formerly_lived_in": ("author", "country", "Lea Norway|Ruth Japan"),
    "supervisor": ("author", "author", "Lea Nils|Omar Nils|Nils Ruth"),
    "had_size": ("country", "year", "Denmark 2000|Denmark 2020|Norway 2000"),
    "coast_on": ("country", "sea", "Denmark Baltic|Norway Arctic"),
    "borders": ("country", "country", "Denmark Norway|Norway Japan"),
}
READ: dict[str, object] = {
    # roles: who does what a relation says
    "how many directors are there": 3,
    "list all actors": {"Tom Vance", "Ida Holm", "Ana Ruiz"},
    "which directors made more than one film": {"Ida Holm", "Jon Reyes"},
    "films without actors": {"Harbour"},
    "how many actors starred in Fjord": 2,
    # categories
    "comedies per country": {"Denmark", "Norway"},
    "shortest comedy": {"Fjord"},
    "animated films": {"Snow"},
    "most common genre": {"Horror", "Comedy"},
    "which actor has been in the most horror films": {"Tom Vance", "Ana Ruiz"},
    "who directed the most comedies": {"Ida Holm", "Jon Reyes"},
    "horror films with either Tom Vance or Ana Ruiz": {"Dusk", "Vampires"},
    "films with Tom Vance but without Ida Holm": {"Dusk", "Snow"},
    # names: a place and a topic, a film and a topic, a people and its place
    "comedies from denmark": {"Dusk"},
    "films about denmark": {"Fjord"},
    "films about vampires": {"Dusk"},
    "horror films": {"Vampires", "Dusk"},
    "japanese horror films": {"Vampires"},
    # directions
    "which papers cite Gamma?": {"Alpha", "Beta", "Delta"},
    "papers cited by Delta": {"Gamma", "Alpha"},
    "papers that Alpha cites": {"Beta", "Gamma"},
    "how many papers cite Alpha": 1,
    "most cited paper": {"Gamma"},
    "papers cited by more than 2 papers": {"Gamma"},
    "who supervises Lea": {"Nils"},
    "who does Nils supervise": {"Lea", "Omar"},
    "who was trained by Omar": {"Ruth"},
    "who was trained by someone that Lea trained?": {"Ruth"},
    "the trainer of Ruth": {"Omar"},
    "does Alpha cite Beta": True,
    "does Beta cite Alpha": False,
    # relations of the past only if the question is about the past
    "who lived in Norway": {"Lea"},
}
REFUSED = (
    "where does Lea live?",  # she formerly lived there
    "what genres are the films of Ida Holm",  # that she directed, or acted in?
    "seas bordering Denmark",  # not the seas of its neighbours
    "size of Denmark",  # not the years
    "where can I stream Dusk?",
    "what did Lea's supervisor publish?",
    "how many comedies per decade",
    "tall films",
    "did Denmark fight Norway?",  # not whether they share a border
    "films directed by Ida Holm in which she also acts",
    "films with either Tom Vance or Ana Ruiz made in Denmark",  # not any of the three
    "Which films have no director?",  # all have one, and *director* is a topic too
    "Which films have no genre?",  # not those that are not about a genie
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("graph")
    names: dict[str, set[str]] = {}
    edges = ["head_type,head,relation,tail_type,tail"]
    for relation, (head_type, tail_type, pairs) in EDGES.items():
        for pair in pairs.split("|"):
            head, _, tail = pair.rpartition(" ")
            names.setdefault(head_type, set()).add(head)
            names.setdefault(tail_type, set()).add(tail)
            edges.append(f"{head_type},{head},{relation},{tail_type},{tail}")
    nodes = ["type,key,name,year,minutes"]
    for kind, known in names.items():
        nodes += [f"{kind},{name},{name},{','.join(map(str, FILMS.get(name, ('', ''))))}" for name in sorted(known)]
    (folder / "nodes.csv").write_text("\n".join(nodes))
    (folder / "edges.csv").write_text("\n".join(edges))
    with kbkit.ingest(folder, out=folder / "films.kb", stores=["adjacency", "text"]) as made:
        yield made


def answers(kb: KnowledgeBase, question: str) -> object:
    """Return the names of the answers, or the value; None if the reading is not sure."""
    result = kb.ask(question)
    if not result.is_sure:
        return None
    if isinstance(result.value, list):  # a row for each group
        return {row[1] for row in result.value}
    return set(result.nodes()["name"]) if result.value is None else result.value


@pytest.mark.parametrize("question", READ)
def test_questions_about_graphs(kb: KnowledgeBase, question: str) -> None:
    assert answers(kb, question) == READ[question]


@pytest.mark.parametrize("question", REFUSED)
def test_refused_questions_about_graphs(kb: KnowledgeBase, question: str) -> None:
    assert answers(kb, question) is None


FLIGHTS: dict[str, object] = {
    "flights from Oslo": {"SK1", "SK2"},
    "flights to Oslo": {"SK3"},
    "flights from Oslo to Bergen": {"SK1"},
    "flights from Oslo that do not go to Bergen": {"SK2"},
    "how many flights from Norway to Denmark": 2,
    "transfers from Ann": {"t1", "t5"},
    "transfers to Ann": {"t2"},
    "transfers of Ann": None,  # hers, or those to her
}


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("trips")
    tables = {
        "airports": "code,city,country|OSL,Oslo,Norway|BGO,Bergen,Norway|CPH,Copenhagen,Denmark",
        "flights": "flight_no,origin,destination,price|SK1,OSL,BGO,70|SK2,OSL,CPH,90|SK3,CPH,OSL,95|SK4,BGO,CPH,40",
        "transfers": "id,payer,payee,amount|t1,Ann,Bob,5|t2,Bob,Ann,7|t3,Cy,Bob,9|t4,Cy,Bob,2|t5,Ann,Cy,1",
    }
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text(rows.replace("|", "\n"))
    with kbkit.ingest(folder, out=folder / "trips.kb", stores=["adjacency", "text"]) as made:
        yield made


@pytest.mark.parametrize("question", FLIGHTS)
def test_ends_that_prepositions_say(trips: KnowledgeBase, question: str) -> None:
    assert answers(trips, question) == FLIGHTS[question]
