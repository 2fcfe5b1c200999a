"""Answer expressions that do not fit a KB: one line with the position and the choices; and unusual names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.answers import ExpressionError
from kbkit.answers.syntax import identifier, quoted
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.examples import first_some
from tests.wording import Wording

ENGINES = ("walk", "sql", "sparql")


def error_of(kb: KnowledgeBase, text: str, **slots: object) -> str:
    """Return the error of an expression: one line with a position, the same for every engine."""
    messages = set()
    for engine in ENGINES:
        with pytest.raises(ExpressionError) as caught:
            len(kb.answers(text, engine=engine, **slots))  # type: ignore[arg-type]
        messages.add(str(caught.value))
    [message] = messages
    assert len(message.splitlines()) == 1, message
    assert re.match(r"(Line \d+, c|C)olumn \d+: ", message)
    return message


# expression -> position of the error
WORLD = {
    "contry": "Column 1",
    "country -> citty": "Column 12",
    "capital": "Column 1",
    "country &\n  (citty | city)": "Line 2, column 4",
    "`no\ntype`": "Line 1, column 1",
    "country -> foo -> country": "Column 12",
    "country -> [bordrs] -> country": "Column 13",
    "country -> [borders|capitol] -> country": "Column 21",
    "country -> [`x\ny`] -> country": "Line 1, column 13",
    "country -> [borders] -> country -> [capital] -> country": "Column 37",
    "city -> [borders] -> city": "Column 10",
    "country -> [^capital] -> city": "Column 14",
    "country -> [borders|capital] -> country": "Column 21",
    "country -> [capital*] -> city": "Column 13",
    "city -> [^capital+] -> country": "Column 11",
    "mountain -> language": "Column 13",
    "country -> *": "Column 12",
    "* -> country": "Column 6",
    "country <- continent <- mountain": "Column 12",
    'country:"Frnace"': "Column 1",
    'city <- [capital] <- country:"Frnace"': "Column 22",
    "country#FRAA": "Column 1",
    "city#FRA": "Column 1",
    '*:"Frnace"': "Column 1",
    'country:"xqxqxq"': "Column 1",
    'country:""': "Column 1",
    'country:"A\nB"': "Line 1, column 1",
    "country & city": "Column 11",
    "country - (country -> city)": "Column 12",
    "country | (* & city)": "Column 12",
    "@nowhere": "Column 1",
    "country{area > 5}": "Column 9",
    "*{area_km2 > 5}": "Column 3",
    "country{\nname = 'x',\nfoo = 1}": "Line 3, column 1",
    "mountain{missing(hight_m)}": "Column 18",
    "mountain{height_m contains '8'}": "Column 10",
    "mountain{height_m = 'high'}": "Column 10",
    "mountain{height_m > 1.5}": "Column 10",
    "mountain{height_m in [1, 'x']}": "Column 10",
    "mountain{height_m = 99999999999999999999}": "Column 10",
    "country{area_km2 > true}": "Column 9",
    "country:<c>": "Column 1",
    "country{area_km2 > <a>}": "Column 9",
    "country:<x> -> [capital] -> city:<x>": "Column 29",
    "country:<x>{area_km2 > <x>}": "Column 13",
    "country{area_km2 > <x>, name = <x>}": "Column 25",
    "country{max}": "Column 9",
    "country{area_km2 > 1, min }": "Column 23",
    "country{max area}": "Column 13",
    "country{max area_km2 > 5}": "Column 22",
    "country{count(river) > 3}": "Column 9",
    "country{count() > 3}": "Column 9",
    "country{count(<- river)}": "Column 24",
    "country{count(<- river) > 'x'}": "Column 9",
    "country{count(<- river) > 1.5}": "Column 9",
    "country{count(<- rivver) > 1}": "Column 18",
    "country{count(<- river{length > 3}) > 1}": "Column 24",
    "country{count(-> [capital]) > 1}": "Column 18",
    "country{count(-> [capital] -> [borders] -> country) > 1}": "Column 31",
    "country{count(-> language <- country) > 1}": "Column 30",
    "country{count(-> [!borders] -> country) > 1}": "Column 18",
    "country{count(-> mountain -> language) > 1}": "Column 30",
    "country{avg(<- river) > 1}": "Column 9",
    "country{avg(river, length_km) > 1}": "Column 9",
    "country{avg(<- river, name) > 1}": "Column 9",
    "country{max sum(<- river, length)}": "Column 13",
    "country{max(<- river, name) > count(<- river)}": "Column 31",
    "country{max(<- river, length_km) > 'x'}": "Column 9",
    "*{max area_km2}": "Column 7",
    "country & count(city)": "Column 11",
    "count(country) & country": "Column 1",
    "(sum(country, area_km2))": "Column 2",
    "count(country": "Column 14",
    "values(country)": "Column 1",
    "values(country, )": "Column 17",
    "values(country, area)": "Column 17",
    "sum(country, name)": "Column 14",
    "avg(sea, depth)": "Column 10",
}


@pytest.mark.parametrize("text", WORLD)
def test_errors_in_world(world: KnowledgeBase, text: str, wording: Wording) -> None:
    message = error_of(world, text)
    assert message.startswith(f"{WORLD[text]}: ")
    wording(message)


SMALL = {
    'person:"Zoë Müller"': "Column 1",
    'person:"zoë müller" -> [takes] -> drug': "Column 1",
    '*:"Zoë Müller"': "Column 1",
    "*#1": "Column 1",
    "person -> drug": "Column 11",
    "disease -> [is_treated_by] -> drug": "Column 13",
    "person -> [takes] -> drug -> [takes] -> drug": "Column 31",
    "person{first_seen = 'soon'}": "Column 8",
    "person{first_seen = '1958-02-30'}": "Column 8",
    "person{first_seen > 19580}": "Column 8",
    "drug{updated = 'x'}": "Column 6",
    "drug{approved = 1}": "Column 6",
    "drug{approved contains 'true'}": "Column 6",
    "drug{weight = 'x'}": "Column 6",
    "person{approved = true}": "Column 8",
    f"person -> [knows{{since not in {list(range(1990, 2000))}}}] -> person": "Column 18",
    "drug{weight > name}": "Column 15",
    "drug{year > first_seen}": "Column 13",
    "drug{approved = true, code = yes}": "Column 30",
    "drug{weight > yaer}": "Column 15",
    "person -> [order{quantity > since}] -> drug": "Column 29",
    "person -> [order{quantity > quantities}] -> drug": "Column 29",
    "person{max(-> [order] -> drug, first_seen) > year}": "Column 46",
}


@pytest.mark.parametrize("text", SMALL)
def test_errors_in_tiny(small: KnowledgeBase, text: str, wording: Wording) -> None:
    message = error_of(small, text)
    assert message.startswith(f"{SMALL[text]}: ")
    wording(message)


def test_slots_and_engines(world: KnowledgeBase, wording: Wording) -> None:
    wording(error_of(world, "country:<c>", c="Frnace"))
    wording(error_of(world, "country:<c>", c="#FRAA"))
    wording(error_of(world, "mountain{height_m = <h>}", h=1.5))
    wording(error_of(world, "country{area_km2 > <a>}", a="big"))
    for text, slots in (("country:<c>", {"c": "France", "d": "Spain"}), ("country", {"c": "France"})):
        with pytest.raises(UnknownNameError) as caught:
            world.answers(text, **slots)  # type: ignore[arg-type]
        assert caught.value.kind == "slot"
        wording(str(caught.value))
    with pytest.raises(UnknownNameError) as caught:
        world.answers("country", engine="prolog")
    assert caught.value.choices == ["walk", "sql", "sparql"]
    with pytest.raises(KbError, match="different KBs"):
        world.answers("country") & kbkit.open(world.directory.path).answers("country")
    with pytest.raises(TypeError):
        world.answers("country") & 5  # type: ignore[operator]


def test_accepted_forms(world: KnowledgeBase, small: KnowledgeBase) -> None:
    """Valid forms that are close to invalid ones."""
    for engine in ENGINES:

        def names(text: str, kb: KnowledgeBase = world, engine: str = engine, **slots: str) -> list[str]:
            return kb.answers(text, engine=engine, **slots).nodes()["name"].to_list()

        assert names('COUNTRY:"france" -> [CAPITAL] -> City') == ["Paris"]
        assert names('country:"Portugal" -> borders -> country') == ["Spain"]
        assert names('city:"Lisbon" -> [^capital] -> country') == ["Portugal"]
        assert names("country{AREA_KM2 > 10000000}") == ["Russia"]
        assert names("country:<gene/protein>", **{"gene/protein": "#FRA"}) == ["France"]
        assert names('mountain{height_m = 8849.0, height_m = "8849"}') == ["Mount Everest"]
        assert names('person:all("zoë müller")', small) == ["Zoë Müller", "Zoë Müller"]
        assert names('GENE/PROTEIN:"INS" & (drug:"Инсулин" | *)', small) == ["insulin"]


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_answer_sets(world: KnowledgeBase, engine: str) -> None:
    iceland = 'country:"Iceland" -> [borders] -> country'
    for text in ("country{area_km2 < 0}", iceland, "country{missing(key)} & country"):
        empty = world.answers(text, engine=engine)
        assert (len(empty), list(empty), empty.ids.tolist()) == (0, [], [])
        assert empty.ids.dtype == "int32"
        assert empty.nodes().schema == world.answers("country").nodes().schema
        assert empty.nodes().columns == ["id", "type", "key", "name"]
        assert "France" not in empty
        with pytest.raises(KbError, match=r"^France \(country#FRA\) is not an answer of") as caught:
            empty.why("France")
        assert len(str(caught.value).splitlines()) == 1


# -- names of every kind -----------------------------------------------------------------------------------------------

VALUES = [
    *("O'Brien", 'say "x"', "back\\slash", "\\n", "\\u0041", "'''", '"""', "`", "``", "true", "1e3", "NULL"),
    *("$x", "$1", "{}", "{{x}}", "; DROP TABLE nodes; --", "'; COPY nodes TO '/tmp/x'; --", "%", "_", "*", "(a|b)+"),
    *("} . ?s ?p ?o . {", "<http://x.org/>", ">", "SERVICE <http://x.org/> {}", "INSERT DATA {}", "x # c", "/*", "--"),
    *("a/b", "a#b", "->", "@x", "[r]", "%20", "two\nlines", "tab\there", "\r", "🤧", "é", "e\u0301", "ß", "ﬀ", "\x7f"),
]
BREAKS = ["\u2028", "\x85", "a\x0cb", "a\x1cb"]
NAMES = [
    *(('t"q', 'r"q'), ("t'q", "r'q"), ("a b", "order"), ("select", "from"), ("x; DROP", "a|b"), ("->", "x]")),
    *(("`", "*"), ("$x", "!r"), ("{}", "^r"), ("тип", "r+"), ("#h", "->"), ("a:b", "$r"), ("<t>", "`b`")),
    *(("Nodes", "свя"), ("?v", "#c"), ("node_1", "edges"), ("answer", "answer_members"), ("all", "🤧")),
    *(("a\\b", "a\\c"), ("item", "<r>"), ("all_1", "")),
]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A KB whose nodes have odd keys, names and notes, each joined to one ``hub``; and odd types with odd relations."""
    folder = tmp_path_factory.mktemp("odd")
    values = VALUES + BREAKS
    rows = [(v, "odd", v, v) for v in values] + [(f"h{i}", "hub", "h", None) for i in range(len(values))]
    rows += [(f"k{i}{side}", kind, f"n{i}{side}", "x") for i, (kind, _) in enumerate(NAMES) for side in "ab"]
    rows += [("p", "reached", "p", None), ("q", "reached", "q", None)]
    frame = pl.DataFrame(rows, schema=["key", "type", "name", "note"], orient="row")
    frame.with_columns(pl.col("note").alias('n"o;te $x')).write_parquet(folder / "nodes.parquet")
    edges = [("odd", v, "r", "hub", f"h{i}") for i, v in enumerate(values)]
    edges += [(kind, f"k{i}a", r or "r", kind, f"k{i}b") for i, (kind, r) in enumerate(NAMES)]
    edges += [("reached", "p", "next", "reached", "q")]
    columns = ["head_type", "head", "relation", "tail_type", "tail"]
    pl.DataFrame(edges, schema=columns, orient="row").write_parquet(folder / "edges.parquet")
    kbkit.ingest("table", folder, out=folder / "odd.kb", stores=["adjacency", "triples"]).close()
    with kbkit.open(folder / "odd.kb") as kb:
        yield kb


def agree(kb: KnowledgeBase, text: str, expected: list[int], **slots: str) -> None:
    for engine in ENGINES:
        assert kb.answers(text, engine=engine, **slots).ids.tolist() == expected, (engine, text)


@pytest.mark.parametrize("value", first_some(VALUES, 2))
def test_odd_values(odd: KnowledgeBase, value: str) -> None:
    [node] = odd.sql("SELECT id FROM nodes WHERE type = 'odd' AND key = $k", k=value)["id"].to_list()
    hub = odd.find(f"hub#h{VALUES.index(value)}")
    name = odd.node(node).name  # white space at its ends is trimmed when it is loaded
    said, key = quoted(name), quoted(value)
    agree(odd, f"(odd:{said} & odd#{key}) -> hub <- odd:all({said})", [hub])
    agree(odd, "odd:<n> & *:<k>", [node], n=name, k="#" + value)
    agree(odd, f"odd{{note = {key}, key in [{key}, 'zz'], `n\"o;te $x` = {key}}}", [node])
    agree(odd, "odd{note = <n>, key in ['zz', <n>], `n\"o;te $x` = <n>}", [node], n=value)
    both = odd.answers("odd{name contains <n>}", n=name).ids.tolist()
    assert node in both
    agree(odd, f"odd{{name contains {said}}}", both)
    filled = odd.answers("odd:<n>", n=name)
    assert odd.answers(filled.expression) == filled
    assert filled.why(node).node == node


@pytest.mark.parametrize("value", BREAKS)
def test_odd_line_breaks(odd: KnowledgeBase, value: str) -> None:
    [node] = odd.sql("SELECT id FROM nodes WHERE type = 'odd' AND key = $k", k=value)["id"].to_list()
    agree(odd, "odd - odd{key != <k>}", [node], k=value)


@pytest.mark.parametrize(("kind", "relation"), NAMES)
def test_odd_types_and_relations(odd: KnowledgeBase, kind: str, relation: str) -> None:
    number = NAMES.index((kind, relation))
    a, b = (odd.find(f"k{number}{side}") for side in "ab")
    t, r = identifier(kind), "`" + (relation or "r").replace("`", "``") + "`"
    agree(odd, f"{t}#k{number}a -> [{r}] -> {t}", [b])
    agree(odd, f"{t}#k{number}b -> [^{r}] -> {t}", [a])
    agree(odd, f"{t}#k{number}a -> [{r}*] -> {t}", [a, b])
    agree(odd, f"{t}#k{number}a -> [!{r}+] -> *{{name = 'n{number}a'}}", [a])
    agree(odd, f"{t}{{note = 'x'}} -> [{r}|^{r}*] -> *", [a, b])
    agree(odd, f"* - (* - ({t} & *))", [a, b])
    found = odd.answers(f"{t}#k{number}a -> [{r}] -> {t}")
    assert odd.answers(found.expression) == found
    assert found.why(b).triples["relation"].to_list() == [relation or "r"]


def test_a_type_called_reached(odd: KnowledgeBase) -> None:
    agree(odd, "reached#p -> [!next+] -> reached", [odd.find("reached#p")])


# -- defects -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["person - person", "person:<x> - person:<x>", "person & (person - person)"])
def test_a_set_without_itself(small: KnowledgeBase, text: str) -> None:
    agree(small, text, [], **({"x": "#1"} if "<x>" in text else {}))


def test_one_line_for_several(world: KnowledgeBase) -> None:
    with pytest.raises(KbError) as caught:
        world.answers("country\n:<c>", d="France")
    with pytest.raises(KbError) as no_answer:
        world.answers("country:\n'France'").why("Spain")
    with pytest.raises(KbError) as no_set:
        world.answers("@`a\nb`")
    assert [len(str(error.value).splitlines()) for error in (caught, no_answer, no_set)] == [1, 1, 1]


def test_a_very_long_path(small: KnowledgeBase) -> None:
    text = "person" + " -> [knows] -> person" * 2000
    try:
        assert len(small.answers(text)) == 2
    except KbError as error:
        assert len(str(error).splitlines()) == 1  # a limit that is said is good as well


@pytest.mark.parametrize("text", ['person:"\ud800"', 'person#"\ud800"', 'person{name = "\ud800"}'])
def test_lone_surrogates(small: KnowledgeBase, text: str) -> None:
    try:
        assert [len(small.answers(text, engine=engine)) for engine in ("walk", "sql")] == [0, 0]
    except KbError as error:
        assert str(error)


def test_a_slot_that_is_none(world: KnowledgeBase) -> None:
    assert "slot <c>" in error_of(world, "country:<c>", c=None)


def test_plans_of_equal_constants_are_not_confused(small: KnowledgeBase) -> None:
    """1, 1.0 and true are equal to Python; as texts they are not."""
    every = small.answers("*")
    one, real, true = ((every & small.answers(f"*{{key = {value}}}")).plan for value in ("1", "1.0", "true"))
    assert [plan.parameters[0].source for plan in (one, real, true)] == [1, 1.0, True]
    assert [str(plan.parameters[0].source) for plan in (one, real, true)] == ["1", "1.0", "True"]
    assert len(every & small.answers("*{key = 1}")) == 2
    assert len(every & small.answers("*{key = 1.0}")) == 0


def test_types_with_names_of_internal_tables(tmp_path: Path) -> None:
    names = ["batch", "values", "pairs", "members", "member", "v", "p", "b", "row"]
    nodes = "".join(f"{name}1,{name},5\n{name}2,{name},7\n" for name in names)
    edges = "".join(f"{name}{i},r,3\n" for name in names for i in (1, 2))
    (tmp_path / "nodes.csv").write_text(f"key,type,size\n{nodes}3,other,\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text(f"head,relation,tail\n{edges}", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "t.kb", stores=["adjacency", "triples"]) as kb:
        for name in names:
            text = f"(other#3 -> [r] -> {name}){{size > <s>}}"
            for engine in ENGINES:
                assert kb.answers(text, engine, s=6).nodes()["key"].to_list() == [f"{name}2"]
            assert kb.answers_many(text, {"s": [0, 6, 9]})["binding"].to_list() == [0, 0, 1]
            assert kb.answers_many(f"(other:<b> -> [r] -> {name}){{size > <s>}}", {"b": ["#3"], "s": [6]}).height == 1
            kb.answers(text, s=6).save(name)
            assert len(kb.answers(f"@{name}")) == 1
            assert kb.sample(f"{name}:<x> -> [r] -> other", 5).height == 2
