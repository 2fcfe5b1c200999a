"""Shapes of files as others publish them: no header, unknown endings, mixed lists, codes of several systems."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion.inference import Inferred, infer
from tests.ingestion.test_exports import Files, written

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CODES = ["".join(pair) for pair in itertools.product(LETTERS, "KLMN")]
"""Codes of two letters."""


def rows_and_keys(found: Inferred) -> dict[str, tuple[int, tuple[str, ...]]]:
    """The numbers of rows and the keys of the types."""
    return {nodes.table.type: (nodes.table.rows, tuple(nodes.key)) for nodes in found.plan.nodes}


def links_of(found: Inferred) -> set[tuple[str, Sequence[str], str]]:
    """The links: the table, its columns, and the table or the type to which they refer."""
    links = [(nodes.table, link) for nodes in found.plan.nodes for _, link in nodes.links]
    links += [(edges.table, link) for edges in found.plan.edges for link in (edges.head, edges.tail)]
    return {(table.name, link.columns, link.target or link.loose) for table, link in links}


def test_files_without_headers_and_usual_endings_keep_all_rows(tmp_path: Path) -> None:
    countries = [f'"Land {code}","{code}","\\N"' for code in CODES[:30]]
    countries[0] = '"Bonaire, Saba and others","BQ",""'
    lines = [f'{n},"Line {n}","{CODES[n % 30]}"' for n in range(1, 61)]
    ports = [f'{n},"Port {n}","Town {n}"' for n in range(1, 40)]
    files: Files = {
        "countries.dat": "\n".join(countries),
        "airlines.data": "\n".join(['-1,"Unknown",\\N', *lines]),
        "airports.out": "\n".join(ports),
        "log.out": "started\nread 12 files, and wrote 3\nended\n",
    }
    folder = written(tmp_path / "in", files)
    (folder / "weights.dat").write_bytes(b"\0\1,\2\n" * 9)
    found = infer([folder], "x")
    assert {kind: rows for kind, (rows, _) in rows_and_keys(found).items()} == {
        "country": 30,
        "airline": 61,
        "airport": 39,
    }
    assert links_of(found) <= {("airlines", ("column3",), "countries")}  # no numbers from 1 to n are others
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert kb.node("airline#-1").name == "Unknown"
    (tmp_path / "a.xyz").write_text("a,b\n1,2\n")
    with pytest.raises(BadInputError) as error:
        infer([tmp_path / "a.xyz"], "x")
    assert "rename it to .csv" in str(error.value.hints)


@pytest.mark.parametrize(("header", "kept"), [("NAME,CC", 30), ("PORT,IATA", 30), ("Bonaire, Saba,BQ", 31)])
def test_names_of_columns_in_capitals_are_a_header(header: str, kept: int, tmp_path: Path) -> None:
    first, _, last = header.rpartition(",")
    text = "\n".join([f'"{first}","{last}"', *(f'"Land {code}","{code}"' for code in CODES[:30])])
    [nodes] = infer([written(tmp_path, {"lands.csv": text})], "x").plan.nodes
    assert nodes.table.rows == kept


def test_codes_of_two_systems_are_not_linked(tmp_path: Path) -> None:
    languages = [{"alpha_3": f"{a}{b}a".lower(), "name": f"Tongue {a}{b}"} for a in LETTERS for b in LETTERS[:13]]
    countries = [{"alpha_3": f"{a}{b}A", "name": f"Land {a}{b}"} for a in LETTERS for b in "AMZ"]
    folder = written(tmp_path, {"languages.json": languages, "countries.json": countries})
    assert links_of(infer([folder], "x")) == set()


def test_lists_of_json_are_read_whole(tmp_path: Path) -> None:
    stations = [{"name": f"Stop {n}", "lines": ["Red", f"Line {n % 3}"], "zones": [n % 4]} for n in range(20)]
    stations[3]["name"], stations[7]["lines"], stations[3]["zones"] = "Stop 4", "Red", stations[4]["zones"]
    members = {f"C{n}": [{"name": f"N{n}{m}", "rank": m, "party": "x"} for m in range(3)] for n in range(9)}
    files: Files = {
        "stations.json": {"description": "Stops", "stations": stations},
        "planets.json": {"description": "Minor planets", "planets": [f"{n} Ceres" for n in range(30)]},
        "towns.json": [f"Town {n}" for n in range(12)],
        "members.json": {**members, "C10": []},
    }
    folder = written(tmp_path / "in", files)
    assert rows_and_keys(infer([folder], "x")) == {
        "station": (20, ()),
        "planet": (30, ("name",)),
        "town": (12, ("name",)),
        "member": (27, ("name",)),
    }
    with kbkit.ingest(str(folder), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        assert {*kb.sql("SELECT name FROM line")["name"]} == {"Red", "Line 0", "Line 1", "Line 2"}


def test_merged_rows_are_named(tmp_path: Path) -> None:
    text = "name,level,town\n" + "".join(f"Spring {n // 2},{n // 2},Town {n % 7}\n" for n in range(20))
    found = infer([written(tmp_path, {"springs.csv": text})], "x")
    assert "Merged rows: springs (10 with the same name, whose town is a list)" in found.notes


def test_keys_of_two_columns_are_referred_to_by_others_named_alike(tmp_path: Path) -> None:
    teams = [(year, f"T{n:02}") for year in range(1990, 2000) for n in range(12)]
    games = "".join(f"{year},{team},P{n % 9},{n}\n" for n, (year, team) in enumerate(teams))
    series = "".join(f"{year},T{n:02},T{n + 1:02},{n}\n" for year in range(1990, 2000) for n in range(10))
    votes = "".join(f"play{n % 45:03},{n % 40},x\n" for n in range(90))
    schools = "".join(f"play{n:03},S{n % 9},{1980 + n % 5}\n" for n in [*range(30, 160), *range(40, 60)])
    files: Files = {
        "Teams.csv": "yearID,teamID,wins\n" + "".join(f"{y},{t},{n}\n" for n, (y, t) in enumerate(teams)),
        "HomeGames.csv": f"year.key,team.key,place,games\n{games}",
        "Series.csv": f"yearID,teamIDwinner,teamIDloser,ties\n{series}",
        "Votes.csv": f"playerID,votes,by\n{votes}",
        "Studies.csv": f"playerID,schoolID,yearID\n{schools}",
        "Schools.csv": "schoolID,name\n" + "".join(f"S{n},School {n}\n" for n in range(9)),
    }
    found = infer([written(tmp_path, files)], "x")
    assert rows_and_keys(found)["team"] == (120, ("yearID", "teamID"))
    assert links_of(found) >= {
        ("HomeGames", ("year.key", "team.key"), "Teams"),
        ("Series", ("yearID", "teamIDwinner"), "Teams"),
        ("Series", ("yearID", "teamIDloser"), "Teams"),
        ("Studies", ("playerID",), "player"),
        ("Votes", ("playerID",), "player"),
    }


def test_combinations_and_colours_of_two_columns_are_no_nodes(tmp_path: Path) -> None:
    colours = ["Gray", "Black", "White", "Cinnamon"]
    lines = [f"{n},{one},\"{two}, {one}\",\"{one}+{two}, {two}+{one}\"" for n in range(9) for one, two in
             itertools.permutations(colours, 2)]  # fmt: skip
    text = "row,Primary Color,Other Colors,Combinations\n" + "\n".join(lines)
    assert links_of(infer([written(tmp_path, {"squirrels.csv": text})], "x")) == set()


def test_a_last_name_is_no_key(tmp_path: Path) -> None:
    text = "Last name,First name,Grade\n" + "".join(f"Oak{n},Ann,{n % 6}\n" for n in range(20))
    assert rows_and_keys(infer([written(tmp_path, {"students.csv": text})], "x")) == {"student": (20, ())}
