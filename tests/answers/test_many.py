"""``kb.answers_many``: the same answers as ``kb.answers`` gives row by row, for every expression and all bindings."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import kbkit
from kbkit.answers.templates import find
from kbkit.errors import KbError
from kbkit.ingestion.generate import generate
from kbkit.kb import KnowledgeBase
from tests.examples import examples
from tests.wording import Wording

SCHEMA = {"binding": pl.UInt32, "node": pl.Int32}


@pytest.fixture(scope="module")
def mag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A small KB in the shape of STaRK-MAG."""
    folder = tmp_path_factory.mktemp("mag")
    generate("mag", folder, scale=0.0005, seed=5, texts=False)
    kbkit.ingest("table", folder, out=folder / "mag.kb", stores=["adjacency"]).close()
    with kbkit.open(folder / "mag.kb") as kb:
        yield kb


@pytest.fixture(scope="module")
def kbs(world: KnowledgeBase, mag: KnowledgeBase, own_tiny: KnowledgeBase) -> dict[str, KnowledgeBase]:
    return {"world": world, "mag": mag, "tiny": own_tiny}


@pytest.fixture(scope="module")
def own_tiny(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The tiny graph in a KB of our own, for sets are saved in it."""
    files = {name: tiny / f"{name}.csv" for name in ("nodes", "edges", "texts")}
    out = tmp_path_factory.mktemp("many") / "tiny.kb"
    with kbkit.ingest("table", out=out, files=files, stores=["adjacency", "triples"]) as kb:
        kb.answers("drug{year > 0}").save("modern drugs")
        kb.answers("*{name contains 'i'}").save("any")
        yield kb


def keys(kb: KnowledgeBase, node_type: str) -> list[str]:
    """``#key`` of every node of a type."""
    return [f"#{key}" for key in kb.answers(node_type if "/" in node_type else f"`{node_type}`").nodes()["key"]]


def check(kb: KnowledgeBase, expression: str, bindings: dict[str, list[Any]], form: Any = dict) -> pl.DataFrame:
    """All at once is the same as one by one; integers are ids there."""
    found = kb.answers_many(expression, form(bindings))
    assert dict(found.schema) == SCHEMA
    rows = list(zip(*bindings.values(), strict=True))
    one_by_one = []
    known: dict[Any, list[int]] = {}
    for i, values in enumerate(rows):
        if repr(values) not in known:
            known[repr(values)] = kb.answers(expression, **dict(zip(bindings, values, strict=True))).ids.tolist()
        one_by_one += [(i, node) for node in known[repr(values)]]
    assert found.rows() == one_by_one  # kb.answers gives sorted distinct ids
    return found


# -- expressions ------------------------------------------------------------------------------------------------------

ONE_SLOT = [
    ("world", "country:<s>", "country"),
    ("world", "*:<s>", "continent"),
    ("world", "country:<s> -> city", "country"),
    ("world", "country:<s> -> [borders] -> country", "country"),
    ("world", "country:<s> -> [borders+] -> country", "country"),
    ("world", "country:<s> -> [borders*] -> country", "country"),
    ("world", "country:<s> -> [!borders] -> country", "country"),
    ("world", "country:<s> -> [borders] -> country -> [borders] -> country - country:<s>", "country"),
    ("world", "country - (country:<s> -> [borders] -> country)", "country"),
    ("world", "(country:<s> -> [borders] -> country) - country:<s> - (continent:'Africa' -> country)", "country"),
    ("world", "country:<s> | (country:<s> -> [borders] -> country)", "country"),
    ("world", "(continent:<s> -> country) & (language:'French' -> country)", "continent"),
    ("world", "(continent:<s> -> country){area_km2 > 100000, area_km2 < 900000}", "continent"),
    ("world", "(continent:<s> -> country){name contains 'an'} | country:'France'", "continent"),
    ("world", "continent:<s> -> country{area_km2 < 50000} -> [borders] -> country", "continent"),
    ("world", "continent:<s> -> country -> language -> country", "continent"),
    ("world", "sea:<s> -> [part_of*] -> sea <- [flows_into] <- river", "sea"),
    ("world", "sea:<s> -> [^part_of+] -> sea -> [coast_on] -> country", "sea"),
    ("world", "sea:<s> -> [part_of|^part_of] -> sea", "sea"),
    ("world", "*:<s> -> [flows_into|flows_through] -> *", "river"),
    ("world", "country:<s> -> [in_continent|speaks|borders] -> *", "country"),
    ("world", "river:<s> -> [flows_into*] -> river -> [flows_through] -> country", "river"),
    ("world", "country:<s> -> language <- [!speaks] <- country", "country"),
    ("world", "(country:<s> -> language -> country) & (country:<s> -> [borders] -> country)", "country"),
    ("world", "(country:<s> -> language -> country) - (country:<s> -> [borders] -> country)", "country"),
    ("world", "((country:<s> -> [borders] -> country) & (continent:'Asia' -> country)) -> language", "country"),
    ("world", "country{area_km2 > 1000000} & country:<s>", "country"),
    ("world", "country & country:<s>", "country"),
    ("tiny", "*:<s> -> [associated_with|interacts] -> *", "gene/protein"),
    ("tiny", "*:<s> -> [interacts*] -> *", "disease"),
    ("tiny", "drug:<s> -> [interacts*] -> drug", "drug"),
    ("tiny", "hormone:<s> -> [associated_with] -> disease", "hormone"),
    ("tiny", "gene/protein:<s> -> [interacts*] -> gene/protein", "gene/protein"),
    ("tiny", "@`modern drugs` & drug:<s>", "drug"),
    ("tiny", "@`modern drugs` - drug:<s>", "drug"),
    ("tiny", "(disease:<s> -> [is treated by] -> drug) | @`modern drugs`", "disease"),
    ("tiny", "(drug:<s> -> [targets] -> gene/protein) & @any", "drug"),
    ("tiny", "person:all('Zoë Müller') -> [order] -> drug & drug:<s>", "drug"),
    ("tiny", "(person:<s> -> [knows] -> person -> [order] -> drug) - (person:<s> -> [order] -> drug)", "person"),
]


@pytest.mark.parametrize(("kb", "expression", "slot"), ONE_SLOT)
def test_every_value_of_one_slot(kbs: dict[str, KnowledgeBase], kb: str, expression: str, slot: str) -> None:
    values = keys(kbs[kb], slot)[::3]
    found = check(kbs[kb], expression, {"s": values})
    nodes = kbs[kb].answers(f"`{slot}`" if "/" not in slot else slot).nodes()
    number = dict(zip(nodes["key"], nodes["id"], strict=True))
    ids = [number[value.removeprefix("#")] for value in values]
    assert kbs[kb].answers_many(expression, {"s": ids}).equals(found)


SEVERAL = [
    "country{name contains <part>}",
    "country{name in ['France', <name>], area_km2 != <area>}",
    "(continent:'Europe' -> country){area_km2 >= <area>} -> language",
    "(continent:<c> -> country) - (language:<l> -> country)",
    "(continent:<c> -> country) | (language:<l> -> country)",
    "((continent:<c> -> country) & (language:<l> -> country)) -> [borders] -> country",
    "continent:<c> -> country -> [!speaks] -> language:<l>",
    "language:<l> & (continent:<c> -> country -> language)",
    "*{name contains <part>} - (language:<l> -> country)",
]
BOUND_FILTERS = [
    "country{area_km2 > <area>} & (language:<l> -> country)",
    "(language:<l> -> country){area_km2 > <area>}",
    "(language:<l> -> country){area_km2 > <area>, name contains <part>, area_km2 < 5000000}",
    "(language:<l> -> country) - country{area_km2 > <area>}",
    "country{area_km2 > <area>} | (language:<l> -> country{area_km2 <= <area>})",
    "continent:<c> -> country{area_km2 > <area>} <- language:<l>",
    "(continent:<c> -> country{not missing(area_km2)}) & (language:<l> -> country) & country{name contains <part>}",
]


@pytest.mark.parametrize(
    ("form", "expression"), [(dict, text) for text in [*SEVERAL, *BOUND_FILTERS]] + [(pl.DataFrame, SEVERAL[-1])]
)
def test_several_slots(world: KnowledgeBase, expression: str, form: Any) -> None:
    names = world.sql("SELECT name FROM language ORDER BY id")["name"].to_list()[::7]
    rows = len(names)
    columns: dict[str, list[Any]] = {
        "l": ["French", "english", "ARABIC", *names][:rows],
        "c": (["Asia", "europe", "Africa"] * rows)[:rows],
        "area": [10**i % 3_000_017 for i in range(rows)],
        "part": (["an", "E", "", "'", "%", "zz", "land"] * rows)[:rows],
        "name": (["Spain", "spain", "O'Brien", "Chad"] * rows)[:rows],
    }
    used = {name: values for name, values in columns.items() if f"<{name}>" in expression}
    check(world, expression, used, form)


def test_filters_of_every_type(own_tiny: KnowledgeBase) -> None:
    for attribute, values in {
        "year": [1957, -40, 0, "1990"],
        "weight": [0.13, 5, "43.7", 1e3],
        "approved": ["true", "false"],
        "first_seen": ["1962-04-25", "1921-07-27"],
        "updated": ["2023-12-31T23:59:59", "2024-02-29 12:30:00"],
        "code": ["0042", "3630", "7157"],
    }.items():
        for op in ("=", "<=", ">", "!="):
            expression = f"gene/protein{{{attribute} {op} <v>}}"
            many = own_tiny.answers_many(expression, {"v": list(map(str, values))})
            single = [(i, n) for i, v in enumerate(values) for n in own_tiny.answers(expression, v=v)]
            assert many.rows() == single
    check(own_tiny, "drug{year > <v>}", {"v": [0, 1950, 3000, -99]})
    check(own_tiny, "drug{approved = <v>}", {"v": [True, False, True]})


def test_conditions_on_edges(own_tiny: KnowledgeBase) -> None:
    """Rows with other values follow other edges."""
    numbers = {"v": [3, 1, 7, 3, 2]}
    check(own_tiny, "drug <- [order{quantity >= <v>}] <- person", numbers)
    check(own_tiny, "person{count(-> [order{quantity = <v>}] -> drug) = 1}", numbers)
    people = {"p": ["#1", "#p2", "#1"], "v": [2, 1, 1], "w": ["pharmacy"] * 3}
    check(own_tiny, "person:<p> -> [order{quantity = <v>}] -> drug", {name: people[name] for name in "pv"})
    check(own_tiny, "(drug <- [order{source = <w>, quantity > <v>}] <- person:<p>) | drug{year > <v>}", people)


def test_dates(own_tiny: KnowledgeBase) -> None:
    """A column of dates is taken as texts, or refused in one line as ``kb.answers`` refuses a date."""
    dates = pl.DataFrame({"v": ["1962-04-25", "1900-01-01"]}).with_columns(pl.col("v").str.to_date())
    try:
        assert own_tiny.answers_many("drug{first_seen = <v>}", dates)["binding"].to_list() == [0]
    except KbError:
        with pytest.raises(KbError):
            own_tiny.answers("drug{first_seen = <v>}", v=dates["v"][0])


def test_arms_where_rows_choose_different_sides(mag: KnowledgeBase) -> None:
    """Popular fields with rare institutions, and the reverse, in one block."""
    expression = "field_of_study:<f> -> paper <- author <- institution:<i>"
    fields, institutions = keys(mag, "field_of_study"), keys(mag, "institution")
    rows = [(f, i) for f in fields for i in institutions][:150]
    check(mag, expression, {"f": [f for f, _ in rows], "i": [i for _, i in rows]})
    other = "paper:<p> -> [cites] -> paper & author:<a> -> paper & paper:<p> -> field_of_study -> paper"
    papers, authors = keys(mag, "paper"), keys(mag, "author")
    check(mag, other, {"p": papers[:150], "a": authors[:150]})
    either = "(paper:<p> -> [cites+] -> paper) & ((author:<a> -> paper) | (paper:<p> -> [cites] -> paper))"
    check(mag, either, {"p": papers[:40], "a": authors[:40]})
    for template in ("mag/same_author_and_field", "mag/cited", "mag/author"):
        slot = {"mag/author": authors}.get(template, papers)
        name = "author" if template == "mag/author" else "paper"
        many = mag.answers_many(template, {name: slot[:130]})
        single = [(i, n) for i, key in enumerate(slot[:130]) for n in mag.answers(find(template), **{name: key})]
        assert many.rows() == single


# -- bindings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 127, 128, 129, 1000])
@pytest.mark.parametrize(
    "expression", ["country:<s> -> [borders] -> country", "(country:<s> -> language -> country) - country:<s>"]
)
def test_numbers_of_rows(world: KnowledgeBase, rows: int, expression: str) -> None:
    values = (keys(world, "country") * 6)[:rows]
    found = check(world, expression, {"s": values})
    assert world.answers_many(expression, {"s": pl.Series(values, dtype=pl.String)}).equals(found)
    known = {f"#{key}": (number, name) for number, _, key, name in world.answers("country").nodes().iter_rows()}
    ids = pl.DataFrame({"s": pl.Series([known[v][0] for v in values], dtype=pl.Int64)})
    assert world.answers_many(expression, ids).equals(found)
    assert world.answers_many(expression, {"s": [known[v][1] for v in values]}).equals(found)


@pytest.mark.parametrize(
    "expression",
    ["country:<s> -> city", "country{area_km2 > <s>}", "country{name = <s>} & (continent:'Asia' -> country)"],
)
@pytest.mark.parametrize(
    "empty",
    [{"s": []}, pl.DataFrame({"s": []}), pl.DataFrame(schema={"s": pl.String}), pl.DataFrame(schema={"s": pl.Int64})],
)
def test_no_rows(world: KnowledgeBase, expression: str, empty: Any) -> None:
    found = world.answers_many(expression, empty)
    assert (found.height, dict(found.schema)) == (0, SCHEMA)


@pytest.mark.core
def test_rows_without_answers(world: KnowledgeBase) -> None:
    found = world.answers_many("country:<s> -> [borders] -> country", {"s": ["Iceland", "Cuba", "Japan"]})
    assert (found.height, dict(found.schema)) == (0, SCHEMA)
    found = check(world, "country:<s> -> [borders] -> country", {"s": ["Iceland", "Portugal", "iceland", "Portugal"]})
    assert found["binding"].to_list() == [1, 3]


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt16, pl.Int32, pl.UInt64])
def test_ids_of_any_width(own_tiny: KnowledgeBase, kind: Any) -> None:
    ids = own_tiny.answers("drug").ids.tolist()
    frame = pl.DataFrame({"s": pl.Series(ids, dtype=kind)})
    expected = own_tiny.answers_many("drug:<s> -> [interacts*] -> drug", {"s": ids})
    assert own_tiny.answers_many("drug:<s> -> [interacts*] -> drug", frame).equals(expected)


def test_other_texts(world: KnowledgeBase) -> None:
    frame = pl.DataFrame({"s": ["France", "spain", "France"]})
    expected = world.answers_many("country:<s> -> city", frame)
    assert expected["binding"].to_list() == [0, 1, 2]
    for kind in (pl.Categorical, pl.Enum(["France", "spain"])):
        assert world.answers_many("country:<s> -> city", frame.with_columns(pl.col("s").cast(kind))).equals(expected)


def test_many_threads(world: KnowledgeBase) -> None:
    expression = "((country:<s> -> language -> country) & (continent:<c> -> country)) - country:<s>"
    values = keys(world, "country")
    bindings = {"s": values, "c": [["Asia", "Africa", "Europe"][i % 3] for i in range(len(values))]}
    expected = check(world, expression, bindings)
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda _: world.answers_many(expression, bindings), range(16)):
            assert found.equals(expected)


# -- errors -----------------------------------------------------------------------------------------------------------

CITY = "country:<s> -> city"


@pytest.mark.parametrize(
    ("expression", "bindings", "fact"),
    [
        (CITY, {}, "<s>"),
        (CITY, {"s": ["France"], "t": ["x"]}, "'t'"),
        (CITY, {"s": ["France", None]}, "row 1"),
        (CITY, {"s": [None]}, "row 0"),
        ("country{area_km2 > <s>}", {"s": [1.0, None]}, "row 1"),
        ("country{area_km2 > <s>}", {"s": ["1", "much"]}, "'much'"),
        (CITY, {"s": ["France", "Frnace"]}, "'France'"),
        (CITY, {"s": ["France", ""]}, "''"),
        (CITY, {"s": ["#FRA", "#nope"]}, "key 'nope'"),
        (CITY, {"s": ["Asia"]}, "'Asia'"),
        (CITY, {"s": [0, 10_000_000]}, "10000000"),
        (CITY, {"s": [-1]}, "-1"),
        (CITY, {"s": [2**40]}, f"{2**40}"),
        (CITY, {"s": [1.5]}, "'1.5'"),
        (CITY, {"s": [True]}, "'True'"),
        ("*:<s>", {"s": [10_000_000]}, "10000000"),
        ("country <- country:'France'", {"s": []}, "'s'"),
        ("country <- [borders] <- country:'France'", {}, "<slot>"),
        ("country -> city", {}, "template"),
        ("country:<s> ->", {"s": ["France"]}, "olumn 15"),
        ("country:<s> -> mountain -> city", {"s": ["France"]}, "olumn 28"),
        (CITY, {"s": ["France", "No one", "Spain", "Nobody"]}, "'No one'"),
    ],
)  # fmt: skip
def test_errors(world: KnowledgeBase, expression: str, bindings: Any, fact: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        world.answers_many(expression, bindings)
    assert fact in str(caught.value).replace('"', "'")
    assert "\n" not in str(caught.value)
    wording(str(caught.value))


def test_an_id_of_another_type(world: KnowledgeBase) -> None:
    asia = world.find("continent:Asia")
    with pytest.raises(KbError, match=f"country.* {asia}"):
        world.answers_many(CITY, {"s": [world.find("country:France"), asia]})


def test_ambiguous_names(own_tiny: KnowledgeBase) -> None:
    with pytest.raises(KbError, match=r"'Zoë Müller'.*person#1, person#p2"):
        own_tiny.answers_many("person:<s> -> [order] -> drug", {"s": ["#1", "Zoë Müller"]})


@pytest.mark.parametrize("bindings", [{"l": ["French", "Arabic"], "c": ["Asia"]}, {"l": ["French"], "c": ["Asia"] * 3}])
def test_ragged_columns(world: KnowledgeBase, bindings: Any) -> None:
    with pytest.raises(KbError) as caught:
        world.answers_many("(continent:<c> -> country) & (language:<l> -> country)", bindings)
    assert "\n" not in str(caught.value)


# -- random expressions -----------------------------------------------------------------------------------------------

COUNTRY = st.recursive(
    st.sampled_from([
        "country:<s>", "(country:<s> -> [borders] -> country)", "(continent:<c> -> country)", "country",
        "(country:<s> -> language -> country)", "(language:'French' -> country)",
        "(country:<s> -> [borders+] -> country)", "country:'Chad'", "(sea -> [coast_on] -> country)",
    ]),
    lambda inner: st.one_of(
        st.builds("({} & {})".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
        st.builds("({} - {})".format, inner, inner),
        st.builds("({} -> [borders] -> country)".format, inner),
        st.builds("({} -> [!borders] -> country)".format, inner),
        st.builds("({} -> continent -> country)".format, inner),
        st.builds("{}{{name contains 'a', area_km2 < 600000}}".format, inner),
        st.builds("({} -> language <- [speaks] <- {})".format, inner, inner).map("({} -> country)".format),
    ),
    max_leaves=6,
)  # fmt: skip


COLUMNS = {
    "s": ["France", "Russia", "Iceland", "Mongolia", "France"],
    "c": ["Europe", "Africa", "Europe", "Asia", "Oceania"],
    "a": [100_000, 0, 9_999_999, 1_000, 50_000],
}
cheap = examples(20)


def check_random(kb: KnowledgeBase, expression: str) -> None:
    used = {name: values for name, values in COLUMNS.items() if f"<{name}>" in expression}
    if used:
        check(kb, expression, used)


@cheap
@given(COUNTRY)
def test_random_expressions(world: KnowledgeBase, expression: str) -> None:
    check_random(world, expression)


@settings(cheap, phases=[Phase.generate])
@given(st.builds("{} {} {}{{area_km2 > <a>}}".format, COUNTRY, st.sampled_from("&|-"), COUNTRY))
def test_random_expressions_with_a_filter(world: KnowledgeBase, expression: str) -> None:
    check_random(world, expression)
