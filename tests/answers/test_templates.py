"""The shipped templates: each runs alike on every engine, in bulk and as a query file; and how catalogues are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit import assets
from kbkit.answers import parse, syntax
from kbkit.answers import templates as catalogue
from kbkit.answers.templates import Template, shipped
from kbkit.assets import queries
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.executor.lexers import parameters
from kbkit.ingestion.generate import generate
from kbkit.kb import KnowledgeBase
from tests.examples import first_some
from tests.generate import template_queries
from tests.loops import each
from tests.wording import Wording

SCALES = {"amazon": (0.001, 1), "mag": (0.001, 1), "prime": (0.01, 3)}  # where every template has answers
COUNTS = {"amazon": 15, "mag": 7, "prime": 28, "quest": 7}
STARK = [t for t in shipped() if not t.letters]
BY_ID = {t.id: t for t in shipped()}
stark = pytest.mark.parametrize("template", STARK, ids=lambda t: t.id)


@pytest.fixture(scope="module")
def shape_kbs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A KB in each shape of STaRK."""
    paths = {}
    for shape, (scale, seed) in SCALES.items():
        folder = tmp_path_factory.mktemp(shape)
        generate(shape, folder, scale=scale, seed=seed, texts=False)
        paths[shape] = folder / f"{shape}.kb"
        kbkit.ingest("table", folder, out=paths[shape], name="table", stores=["adjacency", "triples"]).close()
    return paths


@pytest.fixture(scope="module")
def shapes(shape_kbs: dict[str, Path]) -> Iterator[dict[str, KnowledgeBase]]:
    """They are open for all tests here."""
    opened = {shape: kbkit.open(path) for shape, path in shape_kbs.items()}
    yield opened
    for kb in opened.values():
        kb.close()


def slots_of(template: Template) -> list[str]:
    return syntax.slots(template.tree())


def starts_of(template: Template) -> list[Any]:
    """The nodes that slots stand for, in the expression as stored."""
    return [p for p in syntax.subtrees(parse(template.expression)) if isinstance(p, syntax.Nodes) and p.selector]


def stem(template: Template) -> str:
    return "stark/" + template.id.replace("/", "_")


@lru_cache(None)
def groundings(kb: KnowledgeBase, template: Template) -> list[dict[str, Any]]:
    """Return one with 1 to 20 answers, if any, and two with any number."""
    frames = [kb.sample(template, 1, seed=1), kb.sample(template, 2, seed=2, min_answers=1, max_answers=100_000)]
    return [row for frame in frames for row in frame.to_dicts()]


def iris(kb: KnowledgeBase, nodes: pl.DataFrame) -> set[str]:
    return {kb.schema.node_iri(*row) for row in nodes.select("type", "key").iter_rows()}


def query_values(query: queries.QueryFile, bound: dict[str, str]) -> dict[str, str]:
    """A query file's parameters: their help names the slot."""
    found = {p.name: re.match(r"<(.*)>, by name or key$", p.help) for p in query.parameters}
    return {name: bound[match[1]] for name, match in found.items() if match}


# -- every template of STaRK ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", first_some(STARK, 4), ids=lambda t: t.id)
def test_engines_agree(shapes: dict[str, KnowledgeBase], template: Template) -> None:
    kb = shapes[template.id.split("/")[0]]
    rows = groundings(kb, template)
    assert len(rows) >= 2
    slots = slots_of(template)
    sets = []
    for row in rows:
        bound = {slot: row[slot] for slot in slots}
        assert all(value.startswith("#") for value in bound.values())
        walk, sql, sparql = (kb.answers(template, engine, **bound) for engine in ("walk", "sql", "sparql"))
        assert walk.ids.tolist() == sql.ids.tolist() == sparql.ids.tolist()
        assert row["answers"] == len(walk) > 0
        assert kb.answers(row["expression"]).ids.tolist() == walk.ids.tolist()
        nodes = walk.nodes()
        assert walk.type == template.answer
        assert set(nodes["type"]) == {template.answer}
        same = [p.selector.name for p in starts_of(template) if p.type == template.answer]
        assert bool(same) == template.exclude_start
        assert not {bound[slot][1:] for slot in same} & set(nodes["key"])
        for slot in slots:
            assert row[f"{slot} name"] in row["question"]
        assert "<" not in row["question"]
        sets.append(walk.ids.tolist())
    many = kb.answers_many(template, pl.DataFrame(rows).select(slots))
    assert many.columns == ["binding", "node"]
    assert many.rows() == [(i, node) for i, ids in enumerate(sets) for node in ids]
    assert kb.answers_many(template.id, pl.DataFrame(rows).select(slots)).equals(many)


@stark
def test_without_exclude_start_the_start_may_be_an_answer(shapes: dict[str, KnowledgeBase], template: Template) -> None:
    """The stored expression minus its starts equals the template: ``exclude_start`` has no other effect."""
    if not template.exclude_start:
        return
    kb = shapes[template.id.split("/")[0]]
    for row in each(kb.sample(template, 2, max_answers=1000).to_dicts()):
        bound = {slot: row[slot] for slot in slots_of(template)}
        own = {kb.find(f"{p.type}{bound[p.selector.name]}") for p in starts_of(template) if p.type == template.answer}
        plain = set(kb.answers(template.expression, **bound).ids.tolist())
        assert set(kb.answers(template, **bound).ids.tolist()) == plain - own


@pytest.mark.parametrize("template", first_some(STARK, 2), ids=lambda t: t.id)
def test_query_files_agree(shapes: dict[str, KnowledgeBase], template: Template) -> None:
    kb = shapes[template.id.split("/")[0]]
    sql, sparql = (queries.load(kind, stem(template)) for kind in queries.ENDINGS)
    assert [p.name for p in sql.parameters] == [p.name for p in sparql.parameters]
    for row in groundings(kb, template)[::2]:
        bound = {slot: row[slot] for slot in slots_of(template)}
        given = query_values(sql, bound)
        assert len(given) == len(sql.parameters) == len(bound)
        nodes = kb.answers(template, **bound).nodes()
        assert kb.run(sql, given).rows() == nodes.rows()
        found = kb.run(sparql, query_values(sparql, bound))
        assert found.columns == ["answer"]
        assert found.height == nodes.height
        assert set(found["answer"]) == iris(kb, nodes)


@pytest.mark.parametrize("kind", queries.ENDINGS)
@stark
def test_form_of_query_files(kind: str, template: Template) -> None:
    path = queries.shipped(kind)[stem(template)]
    text = path.read_text(encoding="utf-8")
    query = queries.load(kind, stem(template))
    assert query.title == template.question
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    body = "\n".join(line for line in text.splitlines() if not line.startswith(("--", "#")))
    used = set(parameters(body, "sparql")) if kind == "sparql" else set(re.findall(r"\$([a-z]\w*)", body))
    assert used == {p.name for p in query.parameters}
    assert "$" not in query.title + query.description
    assert all(p.type.startswith("node of ") and p.default is None for p in query.parameters)


@pytest.mark.core
def test_lines_of_query_files() -> None:
    lines = [line for _, _, text in template_queries.files() for line in text.splitlines()]
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("kind", queries.ENDINGS)
def test_query_files_are_fresh(kind: str) -> None:
    made = {name: text for language, name, text in template_queries.files() if language == kind}
    folder = assets.folder(kind) / template_queries.TOPIC
    assert sorted(path.name for path in folder.iterdir()) == sorted(made)
    stale = [name for name, text in made.items() if (folder / name).read_text(encoding="utf-8") != text]
    assert not stale, "run python -m tests.generate.template_queries"
    assert len(made) == 50


def test_the_schema_they_are_compiled_for(shapes: dict[str, KnowledgeBase]) -> None:
    """It is that of a generated KB: types, relations, signatures, and names of tables."""
    for shape, kb in each(shapes.items(), len(SCALES)):
        made = template_queries.shape_schema(shape)
        for schema_a, schema_b in ((made, kb.schema), (kb.schema, made)):
            for t in each(schema_a.node_types):
                assert schema_b.type(t.name).table == t.table
            for r in schema_a.relations:
                other = schema_b.relation(r.name)
                assert (other.table, other.iri) == (r.table, r.iri)
                assert {(s.head, s.tail) for s in other.signatures} == {(s.head, s.tail) for s in r.signatures}


@pytest.mark.parametrize(("name", "style"), [("mag/author", " name"), ("prime/unindicated_diseases", "")])
def test_query_files_by_the_console_script(
    here: Any, shapes: dict[str, KnowledgeBase], shape_kbs: dict[str, Path], name: str, style: str
) -> None:
    template = BY_ID[name]
    shape, _ = name.split("/")
    kb = shapes[shape]
    [row] = kb.sample(template, 1, max_answers=1000).to_dicts()
    nodes = kb.answers(template, **{slot: row[slot] for slot in slots_of(template)}).nodes()
    bound = {slot: row[slot + style] for slot in slots_of(template)}
    given = [f"-p{k}={v}" for k, v in query_values(queries.load("sql", stem(template)), bound).items()]
    done = here("sql", shape_kbs[shape], stem(template), *given, "-f", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == ["id", *map(str, nodes["id"].to_list())]
    done = here("sparql", shape_kbs[shape], stem(template), *given, "-f", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()[1:]) == iris(kb, nodes)


def test_query_files_refuse_nodes_of_other_types(shapes: dict[str, KnowledgeBase]) -> None:
    kb = shapes["mag"]
    key = kb.sql("SELECT key FROM institution LIMIT 1")["key"][0]
    for kind in queries.ENDINGS:
        query = queries.load(kind, "stark/mag_author")
        for wrong in (f"#{key}", "Nobody at all", f"institution#{key}"):
            with pytest.raises(KbError):
                kb.run(query, {"author": wrong})


# -- the catalogues ---------------------------------------------------------------------------------------------------


def test_number_of_templates() -> None:
    assert Counter(t.id.split("/")[0] for t in shipped()) == COUNTS
    assert len(BY_ID) == len(shipped())
    texts = [t.expression for t in shipped()]
    assert len(set(texts)) == len(texts)
    assert len({t.question for t in shipped()}) == len(texts)


@pytest.mark.parametrize("template", shipped(), ids=lambda t: t.id)
def test_rules_of_catalogues(template: Template) -> None:
    asked = set(re.findall(r"<([^<>]+)>", template.question))
    assert asked
    assert re.fullmatch(r"[a-z]+/[a-z_]+", template.id)
    assert template.paper
    assert template.question.endswith("?") or template.letters
    if template.letters:
        assert asked == set(template.letters)
        assert "".join(template.letters) == "ABC"[: len(template.letters)]
        assert len(syntax.slots(template.tree())) == len(template.letters)
        assert template.shape
        return
    slots = slots_of(template)
    assert asked == set(slots)
    assert template.answer
    assert parse(str(template.tree())) == template.tree()
    assert template.exclude_start == (template.answer in {p.type for p in starts_of(template)})
    if template.printed:
        parse(template.printed)
    else:
        assert template.id.startswith("amazon/")  # the paper prints only the first few


def test_templates_fit_their_own_shape_only(shapes: dict[str, KnowledgeBase], world: KnowledgeBase) -> None:
    for shape, kb in shapes.items():
        frame = kb.templates()
        assert frame.columns == ["template", "fits", "answer", "expression", "question", "problem"]
        assert set(frame.filter("fits")["template"]) == {t.id for t in STARK if t.id.startswith(f"{shape}/")}
        assert frame["fits"].to_list() == sorted(frame["fits"].to_list(), reverse=True)
        assert set(frame.filter("fits")["problem"]) == {""}
        assert "" not in set(frame.filter(~pl.col("fits"))["problem"])
        assert not frame["problem"].str.contains("\n").any()
    assert not world.templates()["fits"].any()
    parts = ["continent:<c> -> country"]
    fitting = catalogue.listed(shipped(), world.schema, parts).filter("fits")["template"]
    assert fitting.to_list() == [t.id for t in shipped() if t.letters]
    assert catalogue.listed(shipped()).columns == ["template", "answer", "expression", "question"]


@pytest.mark.core
def test_find() -> None:
    assert catalogue.find("mag/author").id == "mag/author"
    assert catalogue.find("unindicated_diseases").id == "prime/unindicated_diseases"
    with pytest.raises(UnknownNameError, match=r"'mag/autor'.*'mag/author'"):
        catalogue.find("mag/autor")
    own = [Template("mine/author", "a:<a> -> b", "b"), Template("mine/x", "a:<a> -> b", "b")]
    assert catalogue.find("x", own) is own[1]
    with pytest.raises(KbError) as several:
        catalogue.find("author", own)
    assert "mine/author, mag/author" in several.value.hint
    assert catalogue.find("mine/author", own) is own[0]


@pytest.mark.parametrize("name", ["/", "", "mag/", "quest/singel", "author:<author"])
def test_unknown_templates(world: KnowledgeBase, name: str) -> None:
    with pytest.raises(KbError) as caught:
        catalogue.find(name)
    assert "\n" not in str(caught.value)


# -- a catalogue of the user's own ------------------------------------------------------------------------------------

GOOD = """
title = "Mine"
parts = ['continent:<c> -> country', 'language:<l> -> country']
[[template]]
id = "capital"
expression = 'continent:<continent> -> country -> city'
answer = "city"
question = "Which capitals lie in <continent>?"
[[template]]
id = "beside"
expression = 'country:<c> -> [borders] -> country -> [borders] -> country'
answer = "country"
exclude_start = true
[[template]]
id = "either"
expression = '{A} | {B}'
[[template]]
id = "pair"
expression = '{A} & {B} & {C}'
"""


@pytest.fixture
def own(tmp_path: Path) -> Any:
    def write(text: str | bytes) -> Path:
        path = tmp_path / "mine.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_custom_catalogue(own: Any, world: KnowledgeBase) -> None:
    capital, beside, either, pair = catalogue.load(own(GOOD))
    assert [t.id for t in (capital, beside, either, pair)] == [
        "mine/capital", "mine/beside", "mine/either", "mine/pair",
    ]  # fmt: skip
    assert "Tokyo" in set(world.answers(capital, continent="Asia").nodes()["name"])
    near = world.answers(beside, c="Portugal")
    assert "France" in set(near.nodes()["name"])
    assert "Portugal" not in set(near.nodes()["name"])
    assert syntax.slots(either.tree()) == ["c A", "l B"]
    assert syntax.slots(pair.tree()) == ["c A", "l B", "c C"]
    assert syntax.slots(pair.tree(["language:<l> -> country"])) == ["l A", "l B", "l C"]
    assert len(world.answers(either, **{"c A": "Europe", "l B": "French"})) > 45
    assert catalogue.misfit(capital, world.schema) == ""
    assert "'nope'" in catalogue.misfit(Template("x/y", "nope:<n> -> city", "city"), world.schema)


ONE = "[[template]]\nid = 'x'\nexpression = '{}'\n"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", ""),
        ("title = 'x'", ""),
        ("template = []", ""),
        ("template = 3", ""),
        ("template = [1]", ""),
        ("[template]\nid = 'x'", ""),
        ("[[template]", ""),
        (b"title = '\xff'", ""),
        ("[[template]]\nexpression = 'a'", "id in"),
        ("[[template]]\nid = ' '\nexpression = 'a'", "id in"),
        ("[[template]]\nid = 'x'", "expression in"),
        ("[[template]]\nid = 'x'\nexpression = 3", "expression in"),
        ("[[template]]\nid = 'x'\nexpresion = 'a'", "'expresion' in"),
        (ONE.format("a:<x> -> "), "template x: Column 9"),
        (ONE.format("a:<x> => b"), "template x: Column 7"),
        (ONE.format("{A} & {B}"), "template x"),
        ("parts = ['a:<x> ->']\n" + ONE.format("{A}"), "template x: Column 9"),
        (2 * ONE.format("a:<x> -> b"), "'mine/x'"),
        *((ONE.format("a:<x> -> b") + line, line.split()[0])
          for line in ("exclude_start = 'no'", "question = 3", "answer = ['a']", "printed = {}", "note = 1")),
        *((f"{line}\n" + ONE.format("{A}"), "parts") for line in ("parts = 'a:<x> -> b'", "parts = 3")),
    ],
)  # fmt: skip
def test_invalid_catalogues(own: Any, text: str, fact: str, wording: Wording) -> None:
    path = own(text)
    with pytest.raises(KbError) as caught:
        catalogue.load(path)
    assert fact in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, BadInputError) or caught.value.kind == "key"  # type: ignore[attr-defined]
    wording(str(caught.value), replace={str(path): "FILE"})


def test_a_missing_catalogue(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(BadInputError, match=re.escape(str(path))):
            catalogue.load(path)


def test_a_byte_order_mark(own: Any) -> None:
    """Editors on Windows write one; query files may have it too."""
    assert len(catalogue.load(own(b"\xef\xbb\xbf" + GOOD.encode()))) == 4


def test_a_part_with_other_angle_brackets(own: Any) -> None:
    """Angle brackets in quotes or in comparisons do not mark a slot."""
    text = 'parts = ["""continent:<c> -> country{area_km2<900000, area_km2>10, name != \'<no slot>\'}"""]\n'
    [template] = catalogue.load(own(text + ONE.format("{A} & {B}")))
    assert syntax.slots(template.tree()) == ["c A", "c B"]
    assert "'<no slot>'" in str(template.tree()).replace('"', "'")


@pytest.mark.parametrize("odd", ["\u2028 \x1b", "\x7f"])
def test_written_catalogues_load_again(tmp_path: Path, odd: str) -> None:
    rows = {
        "template": ["a", "b_c"],
        "expression": ['gene/protein:<"x"\\> -> drug', "`a b`:<é> -> c{name = 'q\"'}"],
        "answer": ["drug", "c"],
        "question": ['Which "drug"\tof <x>?', f"é 🤧 {odd}"],
    }
    path = tmp_path / "again.toml"
    catalogue.write(pl.DataFrame(rows), path, 'A "title" \\ of 糖')
    again = catalogue.load(path)
    assert [(t.id, t.expression, t.answer, t.question) for t in again] == [
        ("again/" + a, b, c, d) for a, b, c, d in zip(*rows.values(), strict=True)
    ]
