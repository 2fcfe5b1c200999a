"""STaRK's processed archives as a source: pickles and tensors read without trust, and the three KBs made of them."""

from __future__ import annotations

import io
import json
import math
import pickle
import re
import struct
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.answers import syntax
from kbkit.answers.templates import Template, shipped
from kbkit.errors import BadInputError
from kbkit.ingestion import recipe as recipes
from kbkit.kb import KnowledgeBase
from kbkit.readers import pickles, reader, tensors
from tests.conftest import Run
from tests.examples import examples
from tests.kbs import mentions
from tests.samples import stark
from tests.samples.stark import Archive, describe, tensor, torch_file
from tests.wording import Wording

KBS = ("amazon", "mag", "prime")


@pytest.fixture(scope="module")
def kbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, KnowledgeBase]]:
    """The three samples, each given in another of the forms that archives are kept in."""
    folder = tmp_path_factory.mktemp("stark")
    places = {
        "amazon": stark.sample("amazon").write_folder(folder / "above"),
        "mag": stark.sample("mag").write_folder(folder / "mag") / "processed",
        "prime": stark.sample("prime").write_zip(folder / "processed.zip"),
    }
    # Amazon's products alone, without brands, categories and colours, lie beside the whole.
    (folder / "above" / "processed" / "node_info.pkl").write_bytes(pickle.dumps({}))
    stores = ["adjacency", "triples"]
    opened = {kb: kbkit.ingest("stark", place, out=folder / f"{kb}.kb", stores=stores) for kb, place in places.items()}
    yield opened
    for kb in opened.values():
        kb.close()


def staged(source: Archive | dict[str, bytes], folder: Path, **options: str) -> duckdb.DuckDBPyConnection:
    """The tables that the recipe makes of an archive (or its files by name), without building a KB."""
    recipe = recipes.load("stark")
    con = duckdb.connect()
    for name, value in recipes.settings(recipe, options).items():
        con.execute(f"SET VARIABLE {name} = $value", {"value": value})
    files = source.files() if isinstance(source, Archive) else source
    for spec in recipe.files:
        [name] = {Path(pattern).name for pattern in spec.match}
        if name in files:
            (folder / name).write_bytes(files[name])
            con.register("batches", reader(spec.reader)([folder / name]))
            con.execute(f"CREATE TABLE {spec.name} AS SELECT * FROM batches")
        else:
            con.execute(f"CREATE TABLE {spec.name}(key VARCHAR, value VARCHAR)")
    con.execute(recipe.sql)
    return con


def edges_of(kb: KnowledgeBase) -> set[tuple[int, int, str]]:
    rows = kb.sql("SELECT h.key, t.key, relation FROM edges e JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail")
    return {(int(head), int(tail), relation) for head, tail, relation in rows.rows()}


# -- the three KBs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kb", KBS)
def test_nodes_and_edges_of_each_kb(kbs: dict[str, KnowledgeBase], kb: str) -> None:
    archive, schema = stark.sample(kb), kbs[kb].schema
    assert schema.nodes == len(archive.node_info)
    assert schema.edges == len(archive.edges)
    assert edges_of(kbs[kb]) == {(h, t, stark.RELATIONS[kb][r]) for h, t, r in archive.edges}
    assert [(t.name, t.count) for t in schema.node_types] == [(name, 4) for name in stark.TYPES[kb]]
    assert schema.candidate_types == {"amazon": ("product",), "mag": ("paper",), "prime": ()}[kb]
    assert [problem for _, problem in kbs[kb].check() if problem] == []
    for number, place in enumerate(archive.node_types):
        name = stark.TYPES[kb][place]
        assert kbs[kb].node(f"{name}#{number}").key == str(number)


@pytest.mark.parametrize("template", [t for t in shipped() if not t.letters], ids=lambda t: t.id)
def test_every_template_has_answers(kbs: dict[str, KnowledgeBase], template: Template) -> None:
    kb = kbs[template.id.split("/")[0]]
    row = kb.sample(template, 1, seed=1, min_answers=1, max_answers=100).to_dicts()[0]
    bound = {slot: row[slot] for slot in syntax.slots(template.tree())}
    assert set(kb.answers(template, **bound).nodes()["type"]) == {template.answer}


AMAZON_1 = {
    "asin": "B000000001", "global_category": "Sports and Outdoors", "price": 1001.5, "sales_rank": 2345,
    "dimensions": "1 x 2 inches", "weight": "4 ounces",
}  # fmt: skip


def test_products(kbs: dict[str, KnowledgeBase]) -> None:
    kb = kbs["amazon"]
    node = kb.node("product#1")
    assert (node.name, node.attributes) == ("Ball 1", AMAZON_1)
    assert node.texts == [
        ("description", "A ball.\nIt rolls."),
        ("features", "Round"),
        ("qa", "Does it float? Yes."),
        ("reviews", 'Good: Held up.\nPoor\nFair: It is "fair", [NaN] stars.'),
    ]
    assert kb.sql("SELECT name, price, sales_rank FROM product ORDER BY id").rows() == [
        ("Ball 0", None, None),
        ("Ball 1", 1001.5, 2345),
        ("2", 3.0, 2345),
        ("Ball 3", None, 2345),
    ]
    assert kb.node("15").name == "color 3"


def test_no_more_than_25_reviews_and_questions(tmp_path: Path) -> None:
    archive = stark.sample("amazon")
    reviews = [{"summary": f"s{i}", "reviewText": f"t{i}", "vote": str(i % 3)} for i in range(40)]
    archive.node_info[0] |= {"review": reviews, "qa": [{"question": f"q{i}", "answer": "a"} for i in range(40)]}
    rows = staged(archive, tmp_path).execute("SELECT field, text FROM texts WHERE key = '0'").fetchall()
    best = sorted(range(40), key=lambda i: -(i % 3))[:25]
    assert dict(rows)["reviews"].split("\n") == [f"s{i}: t{i}" for i in best]
    assert dict(rows)["qa"].split("\n") == [f"q{i} a" for i in range(25)]


ODD = [2**70, -1, math.nan, None, "", [], {}, [1, None, "x"], {"a": {"b": [1]}}, True, "a\0b", [[["deep"]]], "1e999"]


def test_unexpected_value_types(tmp_path: Path) -> None:
    """A field of another kind than expected is missing, or text; no node is lost."""
    archive = stark.sample("amazon")
    names = ("title", "price", "rank", "details", "description", "feature", "review", "qa", "asin", "brand_name")
    for item in [None, [1], "text", *({"asin": "A", name: value} for name in names for value in ODD)]:
        archive.node_info[len(archive.node_info)] = item  # type: ignore[assignment]
        archive.node_types.append(0)
    con = staged(archive, tmp_path)
    assert len(con.execute("FROM nodes").fetchall()) == len(archive.node_info)
    texts = con.execute("SELECT field, text FROM texts WHERE key::INTEGER >= 16").fetchall()
    assert ("description", "1\nx") in texts
    assert ("features", "1\nx") in texts
    assert {field for field, _ in texts} == {"description", "features"}


def test_papers_and_what_is_missing(kbs: dict[str, KnowledgeBase]) -> None:
    kb = kbs["mag"]
    rows = kb.sql("SELECT key, name, date::VARCHAR, year, venue, citation_count FROM paper ORDER BY id").rows()
    assert rows == [
        ("12", "On samples, part 0", None, 2015, None, 0),
        ("13", "On samples, part 1", "2015-03-02", 2015, "Letters", 1),
        ("14", "On samples, part 2", "2015-03-02", 2015, "Letters", 2),
        ("15", "On samples, part 3", "2015-03-02", 2015, "Letters", 3),
    ]
    assert {a.name for a in kb.schema.type("paper").attributes}.isdisjoint({"journal", "conference", "paper_count"})
    authors = kb.sql("SELECT name, mag_id, paper_count, citation_count FROM author ORDER BY id").rows()
    assert authors[0] == ("author 0", 900, None, 5)
    assert authors[3] == ("3", 903, 3, 5)
    assert kb.sql("SELECT level FROM field_of_study ORDER BY id")["level"].to_list() == [0, 1, 2, 3]
    assert kb.node("paper#13").texts == [("abstract", "We count to 1.")]


def test_details_of_prime(kbs: dict[str, KnowledgeBase]) -> None:
    kb = kbs["prime"]
    gene = kb.node("gene/protein#5")
    assert gene.aliases == ["A1", "A2"]
    assert gene.attributes == {"source_id": "1", "source": "S"}
    assert gene.texts == [
        ("description", "Binds."),
        ("details", "alias: A1, A2\ngenomic pos: chr 1, start 5\ninterpro: Domain\ngenerif: First note.; Second note."),
    ]
    assert kb.node("gene/protein#4").aliases == ["A0"]
    assert kb.node("gene/protein#4").texts[1][1].startswith("alias: A0\ngenomic pos: chr X, start 7\ninterpro: Domain")
    assert kb.node("drug#12").texts == [
        ("description", "A compound."),
        ("details", "half life: 4 hours\nmolecular weight: 99.5"),
    ]
    pathway = "name: Pathway\nsummation: dbId 3, text Goes on.\ntags: a, b"
    assert kb.node("pathway#16").texts == [("details", pathway)]
    assert kb.node("disease#0").texts == []


@pytest.mark.parametrize(
    ("kb", "first", "last"),
    [
        ("amazon", ("product", "0", "Sample item 0"), ("color", "47", "red")),
        ("mag", ("author", "0", "Author Number 0"), ("paper", "59", "A study of samples, part 29")),
        ("prime", ("gene/protein", "0", "gene sample 0"), ("anatomy", "119", "anatomy sample 11")),
    ],
)
def test_archives_that_torch_wrote(
    shared_data: Path, tmp_path: Path, kb: str, first: tuple[str, ...], last: tuple[str, ...]
) -> None:
    folder = shared_data / "stark_skb"
    counts = json.loads((folder / "counts.json").read_text())[kb]
    with zipfile.ZipFile(folder / kb / "processed.zip") as archive:
        con = staged({Path(name).name: archive.read(name) for name in archive.namelist()}, tmp_path)
    nodes = con.execute("SELECT type, key, name FROM nodes").fetchall()
    assert (len(nodes), nodes[0], nodes[-1]) == (counts["nodes"], first, last)
    assert con.execute("SELECT count(*) FROM edges").fetchone() == (counts["edges_on_disk"],)
    assert {row[0] for row in nodes} == set(stark.TYPES[kb])
    relations = con.execute("SELECT DISTINCT relation FROM edges").fetchall()
    assert {name for (name,) in relations} == set(stark.RELATIONS[kb])


# -- compat -----------------------------------------------------------------------------------------------------------


def merged(edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """What STaRK's loader leaves of the edges; worked out edge by edge."""
    pairs = [(head, tail) for head, tail, _ in edges]
    if sorted(pairs) == sorted((tail, head) for head, tail in pairs):
        return sorted(set(edges))
    types = defaultdict(list)
    for head, tail, number in edges:
        types[head, tail].append(number)
        types[tail, head].append(number)
    return sorted((*pair, math.floor(sum(numbers) / len(numbers))) for pair, numbers in types.items())


def compat_edges(edges: list[tuple[int, int, int]], folder: Path) -> list[tuple[int, int, int]]:
    archive = stark.sample("amazon")
    archive.edges = edges
    rows = staged(archive, folder, compat="yes").execute("SELECT head, tail, relation FROM edges").fetchall()
    return sorted((int(head), int(tail), stark.RELATIONS["amazon"].index(relation)) for head, tail, relation in rows)


@pytest.mark.core
def test_compat_by_hand(tmp_path: Path) -> None:
    """Types 0 and 1 give 0; 1 and 3 give 2; a duplicate edge counts twice: 0, 4 and 4 give 8 / 3 = 2."""
    edges = [(0, 1, 0), (1, 0, 1), (1, 2, 1), (1, 2, 3), (2, 3, 0), (3, 2, 4), (3, 2, 4), (4, 4, 3)]
    expected = [(0, 1, 0), (1, 0, 0), (1, 2, 2), (2, 1, 2), (2, 3, 2), (3, 2, 2), (4, 4, 3)]
    assert compat_edges(edges, tmp_path) == expected == merged(edges)


def test_compat_leaves_a_symmetric_graph_alone(tmp_path: Path) -> None:
    edges = [(0, 1, 0), (1, 0, 3), (0, 1, 1), (1, 0, 1)]
    assert compat_edges(edges, tmp_path) == sorted(edges)


@examples(10)
@given(edges=st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.integers(0, 4)), min_size=1, max_size=15))
def test_compat_is_what_the_loader_gives(tmp_path: Path, edges: list[tuple[int, int, int]]) -> None:
    assert sorted(set(compat_edges(edges, tmp_path))) == merged(edges)


# -- files that do not fit --------------------------------------------------------------------------------------------


def _short(archive: Archive) -> None:
    archive.node_types.pop()


def _unknown_type(archive: Archive) -> None:
    archive.node_types[0] = 7


def _unknown_relation(archive: Archive) -> None:
    archive.edges[0] = (0, 1, 9)


def _gap(archive: Archive) -> None:
    archive.node_info[99] = archive.node_info.pop(3)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (_short, {}, "16 | 15"),
        (_unknown_type, {}, "7"),
        (_unknown_relation, {}, "9"),
        (_gap, {}, "99 | 0 | 15"),
        (lambda _: None, {"kb": "prime"}, "amazon | prime"),
    ],
)
def test_files_that_do_not_belong_together(
    tmp_path: Path, change: Callable[[Archive], None], options: dict[str, str], message: str, wording: Wording
) -> None:
    archive = stark.sample("amazon")
    change(archive)
    with pytest.raises(duckdb.InvalidInputException) as caught:
        staged(archive, tmp_path, **options)
    wording(mentions(str(caught.value), message), replace={str(tmp_path): "DIR"})


def test_a_missing_dictionary_and_a_stray_edge(here: Run, tmp_path: Path, wording: Wording) -> None:
    files = stark.sample("amazon").files()
    del files["node_type_dict.pkl"]
    with pytest.raises(duckdb.InvalidInputException) as caught:
        staged(files, tmp_path)
    wording(mentions(str(caught.value), "node_type_dict.pkl"), replace={str(tmp_path): "DIR"})
    archive = stark.sample("mag")
    archive.edges.append((0, 77, 0))
    done = here("ingest", "stark", archive.write_zip(tmp_path / "mag.zip"), "-o", tmp_path / "kb")
    assert done.returncode == 1
    wording(mentions(done.stderr, "1 | '0' | '77'"), "cli", replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "kb" / "CURRENT").exists()


# -- pickles ----------------------------------------------------------------------------------------------------------


def read_pickle(data: bytes, folder: Path) -> dict[str, Any]:
    path = folder / "node_info.pkl"
    path.write_bytes(data)
    rows = pickles.read([path]).read_all().to_pylist()
    return {row["key"]: json.loads(row["value"], parse_constant=pytest.fail) for row in rows}


PLAIN = {
    0: {"a": None, "b": [True, False, -1, 2**70, 0.5], "c": {"d": {}, "e": []}, "f": 'é\n"\0\u2028 [NaN, ,NaN :NaN'},
    1: [math.nan, math.inf, {"x": -math.inf, "y": [1, math.nan]}],
    -2: ("x", (1, 2)),
    "text": "a" * 1000,
    "set": {3, 1, 2},
    "bytes": b"plain",
    "ordered": OrderedDict(z=1, a=2),
    "numpy": [np.float64(1.5), np.float32(0.25), np.int64(-7), np.uint8(200), np.bool_(True)],
    "numpy texts": [np.str_("né"), np.str_("")],
    "nan": np.float64("nan"),
    "bytes8": np.bytes_(b"ab"),
}
AS_JSON = {
    "0": {**PLAIN[0]},  # type: ignore[dict-item]
    "1": [None, None, {"x": None, "y": [1, None]}],
    "-2": ["x", [1, 2]],
    "text": "a" * 1000,
    "set": [1, 2, 3],
    "bytes": "plain",
    "ordered": {"z": 1, "a": 2},
    "numpy": [1.5, 0.25, -7, 200, True],
    "numpy texts": ["né", ""],
    "nan": None,
    "bytes8": "ab",
}


@pytest.mark.parametrize(("protocol", "old_numpy"), [(0, False), (2, True), (3, False), (4, True), (5, False)])
def test_plain_data_come_back_from_every_protocol(tmp_path: Path, protocol: int, *, old_numpy: bool) -> None:
    data = pickle.dumps(PLAIN, protocol)
    if old_numpy and protocol < 4:  # above, names have their length before them
        data = data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    elif old_numpy:
        old, new = b"\x16numpy._core.multiarray", b"\x15numpy.core.multiarray"
        data = re.sub(b"\x95.{8}", b"", data, flags=re.DOTALL).replace(b"\x8c" + old, b"\x8c" + new)
    assert read_pickle(data, tmp_path) == AS_JSON
    assert list(read_pickle(data, tmp_path)) == list(AS_JSON)


def test_lists_and_many_batches(tmp_path: Path) -> None:
    assert read_pickle(pickle.dumps(["a", None, 3]), tmp_path) == {"0": "a", "1": None, "2": 3}
    assert read_pickle(pickle.dumps({}), tmp_path) == {}
    many = {i: f"value {i}" for i in range(50_001)}
    assert read_pickle(pickle.dumps(many), tmp_path) == {str(key): value for key, value in many.items()}
    assert read_pickle(pickle.dumps({"lone": "a\ud800b"}), tmp_path) == {"lone": "a?b"}


class Evil:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call


def _laughs() -> bytes:
    value: list[Any] = ["ha" * 50]
    for _ in range(30):
        value = [value] * 10
    return pickle.dumps({0: value})


def _long_laugh() -> bytes:
    text = "x" * 1_000_000
    return pickle.dumps({0: [text] * 1_000_000})


def _nested_lists(depth: int) -> bytes:
    return b"\x80\x04}K\0" + b"]" * depth + b"a" * (depth - 1) + b"s."


def _of_itself() -> bytes:
    value: list[Any] = []
    value.append(value)
    return pickle.dumps({0: value})


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a call": (pickle.dumps({0: Evil(print, ("hello",))}), "builtins.print"),
    "a module": (b"cos\nsystem\n(S'false'\ntR.", "os.system"),
    "eval": (b"\x80\x04}\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.", "builtins.eval"),
    "an array": (pickle.dumps({0: np.arange(3)}), "numpy._core.multiarray._reconstruct"),
    "objects in numpy": (b"\x80\x04cnumpy\ndtype\n\x8c\x02O8\x89\x88\x87R.", "numpy value of type 'O8'"),
    "a huge numpy text": (
        b"\x80\x04cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n\x8c\x02i8\x89\x88\x87RC\x03abc\x86R.",
        "numpy value of type 'i8' in 3 bytes",
    ),
    "another encoding": (b"\x80\x02c_codecs\nencode\nX\1\0\0\0aX\x04\0\0\0zlib\x86R.", "Latin-1"),
    "changes what it calls": (b"\x80\x04ccollections\nOrderedDict\n}\x8c\x09_functionNsb.", "Cannot read"),
    "a changed slot": (b"\x80\x04cnumpy\ndtype\nN}\x8c\x09_functionNs\x86b.", "modifies a"),
    "a persistent id": (b"\x80\x02X\1\0\0\0aQ.", "byte 8 | 0x51"),
    "an instance": (b"(icollections\nOrderedDict\n.", "byte 1 | 0x69"),
    "an extension": (b"\x80\x02\x82\x01.", "byte 2 | 0x82"),
    "a buffer outside": (b"\x80\x05\x97.", "byte 2 | 0x97"),
    "cut short": (pickle.dumps(PLAIN)[:-20], "is truncated"),
    "no end": (b"\x80\x04}", "is truncated"),
    "garbage": (b"<html>not found</html>", "byte 0 | 0x3c"),
    "nothing on the stack": (b"\x80\x04.", "Cannot read"),
    "a length of 2**62": (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"a.", "is truncated"),
    "a frame of 2**40": (b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"}.", "is truncated"),
    "a memo of 2**32": (b"\x80\x02}r\xff\xff\xff\xff.", "byte 3 | 0x72"),
    "a memo in digits": (b"}p999999999\n.", "byte 1 | 0x70"),
    "a missing memo": (b"\x80\x04h\x07.", "Cannot read | Memo value not found at index 7"),
    "nested lists": (_nested_lists(100_000), "Value of '0' | contains itself"),
    "nested tuple keys": (b"\x80\x04})" + b"\x85" * 500_000 + b"Ns.", "contains more than 1,000 tuples"),
    "tuples nested by calls": (
        b"\x80\x04cnumpy\ndtype\n\x94)\x94" + b"0h\0\x8c\x02i8h\1\x86\x94R" * 3 + b".",
        "numpy type of an unknown form",
    ),
    "tuples nested by states": (
        b"\x80\x04cnumpy\ndtype\n\x8c\x02i8\x85R(K\3\x8c\1<NNN)t\x94b.",
        "numpy type of an unknown form",
    ),
    "itself": (_of_itself(), "Value of '0' | contains itself"),
    "shared lists": (_laughs(), "Value of '0' | contains itself"),
    "a shared text": (_long_laugh(), "Value of '0' | contains itself"),
    "a huge number": (pickle.dumps({0: 10**9999}), "Value of '0' | JSON"),
    "a huge key": (pickle.dumps({10**9999: 0}), "Integer key of more than 4,000 digits"),
    "digits": (b"L" + b"9" * 9999 + b"L\n.", "Cannot read | Exceeds the limit"),
    "a tuple key": (pickle.dumps({(1, 2): 0}), "Unsupported key | tuple"),
    "a key of bytes": (pickle.dumps({0: {b"a": 1}}), "Value of '0' | JSON"),
    "no text": (pickle.dumps({0: b"\xff"}), "Value of '0' | JSON"),
    "a type": (b"\x80\x04}K\0ccollections\nOrderedDict\ns.", "Value of '0' | JSON: unsupported type call"),
    "a text alone": (pickle.dumps("text"), "Unsupported content | str"),
    "a name of two lines": (b"cos\x1c\nsystem\x85\n.".decode("latin-1").encode(), "uses os\\x1c.system\\x85, which"),
    "a set of a text": (pickle.dumps({0: Evil(set, ("abc",))}), "creates a set from something other than a list"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str], wording: Wording
) -> None:
    data, message = HOSTILE[name]
    with pytest.raises(BadInputError) as caught:
        read_pickle(data, tmp_path)
    wording(mentions(caught.value.message, f"{tmp_path / 'node_info.pkl'}"), replace={str(tmp_path): "DIR"})
    mentions(caught.value.message, message)
    assert caught.value.hint
    assert capfd.readouterr() == ("", "")


@given(data=st.data())
def test_a_damaged_pickle_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray(pickle.dumps(PLAIN, data.draw(st.integers(0, 5))))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "node_info.pkl"
    path.write_bytes(whole[: data.draw(st.integers(1, len(whole)))])
    try:
        assert pickles.read([path]).read_all().column_names == ["key", "value"]
    except BadInputError as error:
        assert str(path) in error.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


def without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return {key: without_nan(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(value=JSON | st.lists(st.sampled_from([math.nan, "NaN", "[NaN", "\nNaN", ",\nNaN,", math.inf])))
def test_any_json_comes_back(tmp_path: Path, value: Any) -> None:
    assert read_pickle(pickle.dumps([value]), tmp_path) == {"0": without_nan(value)}


# -- tensors ----------------------------------------------------------------------------------------------------------


def read_tensor(data: bytes, folder: Path) -> dict[str, list[int]]:
    path = folder / "edge_index.pt"
    path.write_bytes(data)
    result: dict[str, list[int]] = tensors.read([path]).read_all().to_pydict()
    return result


def raw(numbers: list[float], kind: str = "<i8") -> bytes:
    return np.array(numbers, kind).tobytes()


TENSORS: dict[str, tuple[bytes, list[list[int]]]] = {
    "of one row": (tensor([5, -6, 2**62]), [[5, -6, 2**62]]),
    "of two rows": (tensor([[1, 2, 3], [4, 5, 6]], name="edge_index"), [[1, 2, 3], [4, 5, 6]]),
    "empty": (tensor([]), [[]]),
    "two empty rows": (tensor([[], []]), [[], []]),
    "transposed": (torch_file(describe([2, 3], [1, 2], 6), raw([1, 4, 2, 5, 3, 6])), [[1, 2, 3], [4, 5, 6]]),
    "expanded": (torch_file(describe([2, 3], [1, 0], 2), raw([7, 8])), [[7, 7, 7], [8, 8, 8]]),
    "a part": (torch_file(describe([3], [2], 9, offset=1), raw(list(range(9)))), [[1, 3, 5]]),
    "int32": (torch_file(describe([2], [1], 2, kind="IntStorage"), raw([1, -2], "<i4")), [[1, -2]]),
    "bytes": (torch_file(describe([2], [1], 2, kind="ByteStorage"), raw([1, 255], "u1")), [[1, 255]]),
    "truth": (torch_file(describe([2], [1], 2, kind="BoolStorage"), b"\1\0"), [[1, 0]]),
    "floats": (torch_file(describe([2], [1], 2, kind="FloatStorage"), raw([0.0, -3.0], "<f4")), [[0, -3]]),
    "half": (torch_file(describe([2], [1], 2, kind="HalfStorage"), raw([1.0, 2.0], "<f2")), [[1, 2]]),
    "big-endian": (torch_file(describe([2], [1], 2), raw([1, 2], ">i8"), order=b"big"), [[1, 2]]),
    "compressed": (torch_file(describe([2], [1], 2), raw([1, 2]), compression=zipfile.ZIP_DEFLATED), [[1, 2]]),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(tmp_path: Path, name: str) -> None:
    data, rows = TENSORS[name]
    columns = ["value"] if len(rows) == 1 else [f"c{i}" for i in range(len(rows))]
    assert read_tensor(data, tmp_path) == {"position": [*range(len(rows[0]))], **dict(zip(columns, rows, strict=True))}


def test_a_tensor_of_many_batches(tmp_path: Path) -> None:
    numbers = np.arange(2_500_000).reshape(2, -1)
    (tmp_path / "x.pt").write_bytes(tensor(numbers))  # type: ignore[arg-type]
    table = tensors.read([tmp_path / "x.pt"]).read_all()
    for i, name in enumerate(["c0", "c1"]):
        assert np.array_equal(table[name].to_numpy(), numbers[i])
    assert np.array_equal(table["position"].to_numpy(), np.arange(1_250_000))


def _zip(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


ONE = describe([1], [1], 1)
BAD_TENSORS: dict[str, tuple[bytes, str]] = {
    "no zip": (b"\x80\x02}.", "Cannot read | File is not a zip file"),
    "an old one": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", "format | torch before 1.6"),
    "no pickle": (_zip(a__data__0=raw([1])), "contains 0 files data.pkl"),
    "two pickles": (_zip(a__data__0=raw([1]), **{"a__data.pkl": ONE, "b__data.pkl": ONE}), "contains 2 files data.pkl"),
    "no storage": (_zip(**{"a__data.pkl": ONE}), "contains 0 files data/0"),
    "a dict": (torch_file(b"\x80\x02}.", b""), "contains a dict instead of a tensor"),
    "a call": (torch_file(b"\x80\x02cos\nsystem\n)R.", b""), "os.system"),
    "a number": (torch_file(describe([], [], 1), raw([1])), "contains a tensor of shape []"),
    "a cube": (torch_file(describe([1, 1, 1], [1, 1, 1], 1), raw([1])), "contains a tensor of shape [1, 1, 1]"),
    "too wide": (tensor(np.zeros((17, 2))), "contains a tensor of shape [17, 2]"),  # type: ignore[arg-type]
    "outside": (torch_file(describe([3], [1], 2), raw([1, 2])), "exceeds its storage"),
    "strides outside": (torch_file(describe([2, 2], [2, 1], 3), raw([1, 2, 3])), "exceeds its storage"),
    "offset outside": (torch_file(describe([0], [1], 1, offset=2), raw([1])), "exceeds its storage"),
    "before it": (torch_file(describe([2], [-1], 2, offset=1), raw([1, 2])), "describes a tensor in an unknown form"),
    "repeated": (torch_file(describe([2, 1 << 40], [0, 0], 1), raw([1])), "repeats its storage to 2,199,023,255,552"),
    "other bytes": (torch_file(describe([1], [1], 1), raw([1, 2])), "16 bytes of numbers instead of 8"),
    "a huge storage": (torch_file(describe([1], [1], 1 << 47), raw([1])), "8 bytes of numbers instead of"),
    "halves": (torch_file(describe([1], [1], 1, kind="DoubleStorage"), raw([0.5], "<f8")), "Unsupported number 0.5"),
    "nan": (torch_file(describe([1], [1], 1, kind="FloatStorage"), raw([math.nan], "<f4")), "Unsupported number nan"),
    "complex": (torch_file(describe([1], [1], 1, kind="ComplexFloatStorage"), raw([1])), "torch.ComplexFloatStorage"),
    "middle-endian": (torch_file(ONE, raw([1]), order=b"middle"), "unknown byte order b'middle'"),
    "long order": (torch_file(ONE, raw([1]), order=b"x" * 99), "has 99 bytes in archive/byteorder"),
    "cut short": (tensor([1, 2, 3])[:-30], "Cannot read"),
    "damaged": (tensor([0x1234567890]).replace((0x1234567890).to_bytes(8, "little"), b"\1" * 8), "checksum"),
    "no storage id": (torch_file(b"\x80\x02N\x85Q.", b""), "refers to something other than the storage of a tensor"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TENSORS)
def test_bad_tensors_are_refused(tmp_path: Path, name: str) -> None:
    data, message = BAD_TENSORS[name]
    with pytest.raises(BadInputError) as caught:
        read_tensor(data, tmp_path)
    assert str(tmp_path / "edge_index.pt") in caught.value.message
    mentions(caught.value.message, message)
    assert caught.value.hint


@given(data=st.data())
def test_a_damaged_tensor_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    packed = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    whole = bytearray(torch_file(describe([2, 3], [3, 1], 6), raw([1, 2, 3, 4, 5, 6]), compression=packed))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "edge_index.pt"
    path.write_bytes(whole[: data.draw(st.integers(1, len(whole)))])
    try:
        assert tensors.read([path]).read_all().num_rows >= 0
    except BadInputError as error:
        assert str(path) in error.message


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive, written once: its size depends on the time of day."""
    return stark.sample("mag").write_zip(tmp_path_factory.mktemp("archive") / "processed.zip").read_bytes()


@examples(4)
@given(data=st.data())
def test_a_damaged_archive_gives_a_kb_or_one_line(tmp_path: Path, archive: bytes, data: st.DataObject) -> None:
    whole = bytearray(archive)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "processed.zip").write_bytes(whole)
    try:
        kbkit.ingest("stark", tmp_path / "processed.zip", out=tmp_path / "kb", replace=True, stores=["tables"]).close()
    except BadInputError as error:
        assert "\n" not in str(error)
