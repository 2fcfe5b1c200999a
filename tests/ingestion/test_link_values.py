"""References are found by their values: whatever their columns are called, and however they are written."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from kbkit.errors import UnknownNameError
from kbkit.ingestion.inference import chance, header_prior, infer
from kbkit.ingestion.request import Corrections

Table = dict[str, list[str]]
Corruption = Callable[[dict[str, Table], random.Random], Mapping[str, str]]

_FIRST = "Anna Ben Clara David Eva Felix Greta Hugo Ida Jonas Karin Leo Mia Nils Olga Paul"
_LAST = "Abbot Berger Carver Dorn Ekholm Fischer Garner Holm Ivers Jansen Keller Larsen Moreau Novak"
FIRST, LAST = _FIRST.split(), _LAST.split()
CLEAN = {"person_id": "people", "venue_id": "venues"}


def world(rng: random.Random) -> dict[str, Table]:
    """Return people and venues, numbered from 1, and visits that refer to them beside several amounts."""
    pairs = rng.sample([(first, last) for first in FIRST for last in LAST], 90)
    people = {
        "id": [str(n + 1) for n in range(90)],
        "first_name": [first for first, _ in pairs],
        "last_name": [last for _, last in pairs],
        "email": [f"{first}.{last}@example.org".lower() for first, last in pairs],
        "age": [str(rng.randint(18, 80)) for _ in pairs],
    }
    venues = {
        "id": [str(n + 1) for n in range(40)],
        "name": [f"{last} Hall {n}" for n, last in enumerate((LAST * 3)[:40])],
        "code": [f"{last[:2].upper()}{n:02}" for n, last in enumerate((LAST * 3)[:40])],
        "floor": [str(rng.randint(0, 12)) for _ in range(40)],
    }
    visits = {
        "visit_id": [str(n + 1) for n in range(400)],
        "person_id": rng.choices(people["id"], [1 / (1 + n % 7) for n in range(90)], k=400),
        "venue_id": rng.choices(venues["id"], k=400),
        "rating": [str(rng.randint(1, 5)) for _ in range(400)],
        "minutes": [str(rng.randint(1, 90)) for _ in range(400)],
        "score": [str(min(90, max(1, int(rng.gauss(45, 12))))) for _ in range(400)],
        "month": [str(rng.randint(1, 12)) for _ in range(400)],
    }
    return {"people": people, "venues": venues, "visits": visits}


def renamed(tables: dict[str, Table], person: str, venue: str) -> Mapping[str, str]:
    """Rename the columns that refer to people and venues."""
    names = {"person_id": person, "venue_id": venue}
    tables["visits"] = {names.get(name, name): values for name, values in tables["visits"].items()}
    return {person: "people", venue: "venues"}


def substituted(tables: dict[str, Table], by: Mapping[str, Sequence[str]]) -> None:
    """Put other values of the same rows in the place of keys."""
    for column, values in by.items():
        tables["visits"][column] = [values[int(key) - 1] for key in tables["visits"][column]]


def compound(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    return renamed(tables, "bill_to_person", "former_venue")


def roles(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    return renamed(tables, "approved_by", "located_at")


def no_words(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    return renamed(tables, "zeta", "col7")


def codes(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    substituted(tables, {"person_id": tables["people"]["email"], "venue_id": tables["venues"]["code"]})
    return renamed(tables, "keeper", "site")


def last_first(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    people = tables["people"]
    turned = [f"{last}, {first}" for first, last in zip(people["first_name"], people["last_name"], strict=True)]
    people["name"] = [f"{a} {b}" for a, b in zip(people.pop("first_name"), people.pop("last_name"), strict=True)]
    substituted(tables, {"person_id": turned})
    return renamed(tables, "mentor", "venue")


def padded(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    substituted(tables, {name: [f"{n + 1:05}" for n in range(90)] for name in CLEAN})
    return renamed(tables, "captain", "venue")


def nothing(tables: dict[str, Table], rng: random.Random) -> Mapping[str, str]:
    for name, none in (("person_id", "0"), ("venue_id", "-1")):
        tables["visits"][name] = [none if rng.random() < 0.1 else value for value in tables["visits"][name]]
    return renamed(tables, "mentor", "venue_id")


def dangling(tables: dict[str, Table], _: random.Random) -> Mapping[str, str]:
    for name, dropped in (("people", {3, 40, 77}), ("venues", {20})):
        known = tables[name].items()
        tables[name] = {key: [v for n, v in enumerate(values) if n not in dropped] for key, values in known}
    return renamed(tables, "approved_by", "venue_id")


def lists(tables: dict[str, Table], rng: random.Random) -> Mapping[str, str]:
    values = tables["visits"]["person_id"]
    tables["visits"]["person_id"] = [f"{int(one):03};{rng.randint(1, 90):03}" for one in values]
    return renamed(tables, "participants", "venue_id")


@pytest.mark.parametrize(
    "corrupt",
    [compound, roles, no_words, codes, last_first, padded, nothing, dangling, lists],
    ids=lambda f: f.__name__,
)
def test_references_are_found_however_they_are_named_and_written(corrupt: Corruption, tmp_path: Path) -> None:
    rng = random.Random(7)
    tables = world(rng)
    expected = corrupt(tables, rng)
    for name, table in tables.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([[*table], *zip(*table.values(), strict=True)])
    plan = infer([tmp_path], "test").plan
    links = [link for nodes in plan.nodes for _, link in nodes.links]
    links += [end for edges in plan.edges for end in (edges.head, edges.tail)]
    assert {link.columns[0]: link.target for link in links} == dict(expected)
    strangers = {link.columns[0]: link.missing for link in links if link.missing}
    assert bool(strangers) == (corrupt is dangling), (
        "what stands for no reference is missing, other values are reported"
    )


@pytest.mark.parametrize("seed", range(5))
def test_amounts_are_unlikely_references_and_identifiers_likely_ones(seed: int) -> None:
    rng = random.Random(seed)

    def numbers(values: Sequence[int]) -> chance.NumberSpread:
        counts = [values.count(value) for value in sorted({*values})]
        return chance.NumberSpread(len(values), len(counts), min(values), max(values), counts)

    keys = numbers(range(1, 101))
    amounts = [1 + int(20 * rng.random() ** 2) for _ in range(500)], [rng.randint(18, 80) for _ in range(500)]
    assert all(chance.of_numbers(numbers(values), keys, 0) < 0 for values in amounts)
    assert chance.of_numbers(numbers(rng.choices(range(1, 101), k=500)), keys, 0) > 3
    assert chance.of_numbers(numbers(rng.choices(range(1, 101), k=500)), numbers(range(1, 1001)), 0) < 0


def test_headers_say_whether_a_column_relates_rows_or_counts_something() -> None:
    for name in ("approved_by", "located_at", "keeper", "follows", "captain", "team_lead", "home", "part_of"):
        assert header_prior.is_relational(name), name
    for name in ("quantity", "order_number", "no_of_seats", "floor", "unit_price", "year"):
        assert header_prior.is_quantity(name), name
        assert not header_prior.is_relational(name), name


@pytest.mark.parametrize("given", ["given,surname", "given + surname"])
def test_names_can_be_in_several_columns(given: str, tmp_path: Path) -> None:
    (tmp_path / "bees.csv").write_text("id,given,surname\n1,Ann,Lee\n2,Bo,Chen\n")
    nodes = infer([tmp_path], "test", Corrections(named={"bees": given})).plan.nodes
    assert [one.named for one in nodes] == [("given", "surname")]
    with pytest.raises(UnknownNameError, match="nickname"):
        infer([tmp_path], "test", Corrections(named={"bees": "given,nickname"}))


@pytest.mark.parametrize("reach", [40, 8])
def test_the_other_end_of_edges_is_of_the_same_type_if_its_numbers_are_its_keys(reach: int, tmp_path: Path) -> None:
    """Cooks have teachers among the cooks; numbers up to 8 are those of something else, of which there are 8."""
    rng = random.Random(3)
    for name, count in (("cook", 40), ("dish", 70)):
        rows = "\n".join(f"{number},{name} number {number}" for number in range(1, count + 1))
        (tmp_path / f"{name}.csv").write_text(f"id,name\n{rows}\n")
    pairs = {(rng.randint(1, 40), rng.randint(1, reach)) for _ in range(80)}
    lines = "\n".join(f"{one},{other}" for one, other in sorted(pairs) if one != other)
    (tmp_path / "learned_with.csv").write_text(f"cook_id,substitute_id\n{lines}\n")
    [edges] = infer([tmp_path], "test").plan.edges
    assert (edges.head.target, edges.tail.target) == ("cook", "cook" if reach == 40 else "")
