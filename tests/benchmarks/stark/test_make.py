"""STaRK datasets made of a KB: queries, answers, proofs and files, with and without models."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.benchmarks.dataset import SPLITS
from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.pipeline import Output
from kbkit.benchmarks.requirements import (
    sentences,
    textual,
    verify,
)
from kbkit.benchmarks.requirements.settings import RequirementSettings
from kbkit.benchmarks.requirements.unfit_bindings import with_starts
from kbkit.benchmarks.stark import dataset
from kbkit.benchmarks.stark.make import make
from kbkit.english.clauses import Clause
from kbkit.english.noun_phrases import NounPhrase
from kbkit.english.words import plural
from kbkit.errors import KbError, LockedError
from kbkit.kb import KnowledgeBase
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.models import open_models
from kbkit.measures.files import read_gold
from kbkit.schema import Role, quote
from tests.benchmarks.published import write_templates
from tests.conftest import Run
from tests.examples import some
from tests.kbs import source
from tests.llm_server import Seen, Server, by
from tests.loops import each
from tests.once import Once
from tests.wording import Wording

SETTINGS = RequirementSettings(20, seed=7)


@pytest.fixture(scope="module")
def made(world: KnowledgeBase, once: Once) -> Output:
    return make(world, once("stark/made", lambda out: make(world, out, SETTINGS)), SETTINGS)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of templates, which are not suggested first."""
    return write_templates(tmp_path_factory.mktemp("templates") / "own.toml")


@pytest.fixture(scope="module")
def few(own: str) -> RequirementSettings:
    return RequirementSettings(8, seed=3, templates=(own,))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- what was made ---------------------------------------------------------------------------------------------------


def test_count(made: Output) -> None:
    assert len(made.records) == made.report["queries"] == 20
    assert [record["id"] for record in made.records] == [str(i) for i in range(20)]
    assert made.report["drawn"] == 20 * 3 + 5
    assert made.report["golds_verified"] is None
    assert len({record["query"] for record in made.records}) == 20
    assert len({record["template"] for record in made.records}) > 10


def test_every_answer_satisfies_its_expression_in_sparql(made: Output, world: KnowledgeBase) -> None:
    for record in each(made.records):
        found = world.answers(record["expression"], engine="sparql")
        assert len(found) == record["candidates"]
        keys = set(zip(*found.nodes().select("type", "key").to_dict(as_series=False).values(), strict=True))
        assert {(a["type"], a["key"]) for a in record["answers"]} <= keys
        assert 1 <= len(record["answers"]) <= 20
        assert record["gold"]["key"] in {a["key"] for a in record["answers"]}


def test_every_answer_has_its_proof(made: Output, world: KnowledgeBase) -> None:
    for record in each(made.records):
        for answer in each(record["answers"][:3]):
            reference = f"{answer['type']}#{answer['key']}"
            stated = str(with_starts(parse(record["expression"])))  # not that an answer is not the named node
            assert answer["why"] == world.answers(stated).why(reference).lines()


def test_no_query_names_an_answer(made: Output) -> None:
    for record in each(made.records):
        assert leaks(record["query"], [answer["name"] for answer in record["answers"]]) == ""


def test_queries_mention_entities_and_properties(made: Output) -> None:
    for record in each(made.records):
        for text in (record["query"], record["fused"]):
            for slot in record["slots"].values():
                names = [slot["name"].casefold(), f" {slot['key']}"]  # the euro, OPEC
                assert any(name in text.casefold() for name in names), (slot, text)
            for entry in record["properties"]:
                forms = [entry["text"], *entry.get("forms", {}).values()]
                forms += [plural(form) for form in forms if form]  # glacial lakes
                said = text.casefold()
                assert any(form and form.removeprefix("with ").casefold() in said for form in forms)
        assert 0 < record["relational_words"] <= len(record["fused"].split())
        assert (record["textual_words"] > 0) == bool(record["properties"])
        assert len(record["properties"]) <= 2


def test_positions_of_properties_and_evidence(made: Output, world: KnowledgeBase) -> None:
    rows = world.sql(
        "SELECT n.type::VARCHAR, n.key, t.field::VARCHAR, t.text FROM texts t JOIN nodes n USING (id)"
    ).rows()
    texts = {row[:3]: row[3] for row in rows}
    for record in each(made.records):
        gold = record["gold"]
        for entry in record["properties"]:
            if "condition" not in entry:
                text = texts[gold["type"], gold["key"], entry["field"]]
                assert text[entry["start"] : entry["end"]] == entry["text"]
                assert entry["evidence"] in text
        for answer in each(record["answers"]):
            assert [e.get("property", 0) for e in answer["evidence"]] == list(range(len(record["properties"])))
            for span, entry in zip(answer["evidence"], record["properties"], strict=True):
                if "condition" not in entry:
                    text = texts[answer["type"], answer["key"], span["field"]]
                    assert text[span["start"] : span["end"]] == span["text"]


def satisfying(world: KnowledgeBase, entry: dict[str, Any], node_type: str) -> tuple[set[str], set[str]]:
    """The keys of a type that have a property for certain, and those that may have it, by plain SQL.

    A text with the very words of a phrase mentions it; one that lacks the beginning of a word does not.
    """
    table = quote(world.schema.type(node_type).table)
    if "condition" in entry:
        where = re.sub(r", (?=\w+ [<>=])", " AND ", entry["condition"]).replace('"', "'")
        keys = set(world.sql(f"SELECT key FROM {table} WHERE {where}")["key"])
        return keys, keys
    words = re.findall(r"[^\W_]+", entry["text"].lower())
    exact = r"[^\pL\pN]+".join(map(re.escape, words))
    begun = r"[\pL\pN]*[^\pL\pN]+".join(re.escape(word[: max(1, len(word) - 4)]) for word in words)
    found = []
    for pattern in (rf"(^|[^\pL\pN]){exact}($|[^\pL\pN])", rf"(^|[^\pL\pN]){begun}"):
        sql = f"SELECT key FROM {table} JOIN texts t USING (id) WHERE regexp_matches(lower(t.text), $pattern)"
        found.append(set(world.tables.lookup(sql, {"pattern": pattern})["key"]))
    return found[0], found[1]


def test_sql_finds_the_same_answers(made: Output, world: KnowledgeBase) -> None:
    """Every answer has all properties, and no other candidate has them."""
    for record in each(made.records):
        candidates = set(world.sql(world.answers(record["expression"]).sql)["id"])
        nodes = dict(zip(candidates, map(world.node, candidates), strict=True))
        certain, possible = ({node.key for node in nodes.values()} for _ in range(2))
        for entry in record["properties"]:
            least, most = satisfying(world, entry, record["answers"][0]["type"])
            certain &= least
            possible &= most
        assert certain <= {answer["key"] for answer in record["answers"]} <= possible


def test_answers_are_the_candidates_that_the_rule_accepts(made: Output) -> None:
    for record in each(made.records):
        if record["properties"]:
            assert len(record["checks"]) == record["candidates"]
            accepted = [
                check["key"] for check in record["checks"] if all(all(v["satisfied"]) for v in check["verdicts"])
            ]
            assert accepted == [answer["key"] for answer in record["answers"]]
            assert {v["verifier"] for check in record["checks"] for v in check["verdicts"]} == {verify.RULE}


# -- files -----------------------------------------------------------------------------------------------------------


def test_file_layout(made: Output) -> None:
    gold = read_gold(made.folder)
    assert gold.queries["query"].to_list() == [record["id"] for record in made.records]
    assert gold.queries["text"].to_list() == [record["query"] for record in made.records]
    assert gold.queries["split"].to_list() == [record["split"] for record in made.records]
    answers = {(r["id"], str(a["number"])) for r in made.records for a in r["answers"]}
    assert set(gold.judgements.select("query", "node").iter_rows()) == answers
    sizes = {split: read_gold(made.folder, split).queries.height for split in (*SPLITS, dataset.TEST_TENTH)}
    assert sizes == {"train": 12, "val": 4, "test": 4, "test-0.1": 1}
    tests = set(read_gold(made.folder, "test").queries["query"])
    assert set(read_gold(made.folder, dataset.TEST_TENTH).queries["query"]) <= tests
    lines = (made.folder / "queries.jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line) for line in lines if line] == made.records
    about = json.loads((made.folder / "dataset.json").read_text("utf-8"))
    assert about["report"] == made.report
    with (made.folder / "stark_qa" / "stark_qa.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == ["id", "query", "answer_ids"]


@pytest.mark.parametrize(
    ("templates", "shares"),
    [
        (["amazon/brand", "amazon/color"], (0.65, 0.17, 0.18)),
        (["prime/x"], (0.55, 0.20, 0.25)),
        (["mag/x"], (0.60, 0.20, 0.20)),
        (["amazon/x", "prime/x"], (0.60, 0.20, 0.20)),
        (["suggest/x"], (0.60, 0.20, 0.20)),
    ],
)
def test_split_fractions_of_the_paper(templates: list[str], shares: tuple[float, ...]) -> None:
    assert dataset.fractions_of(templates) == shares


# -- again, and going on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", some([2, 7], 2))
def test_an_interrupted_run_continues(made: Output, world: KnowledgeBase, tmp_path: Path, left: int) -> None:
    """Its files are those of the other run with the same seed, byte by byte."""

    def stop(stage: str, done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(world, tmp_path, SETTINGS, progress=stop)
    assert not (tmp_path / "queries.jsonl").exists()
    for table in (tmp_path / "stages").glob("*.jsonl"):
        if table.stat().st_size > 4000 and not table.name.startswith("1"):
            table.write_bytes(table.read_bytes()[:-100])  # as a killed process leaves it
    make(world, tmp_path, SETTINGS)
    assert files(tmp_path) == files(made.folder)


def test_concurrent_runs_are_rejected(few: RequirementSettings, world: KnowledgeBase, tmp_path: Path) -> None:
    """The first run goes on; another seed makes other queries."""
    told: list[str] = []

    def another(*_: object) -> None:
        if not told:
            with pytest.raises(LockedError) as caught:
                make(world, tmp_path / "out", few)
            told.append(caught.value.message)

    made = make(world, tmp_path / "out", few, progress=another)
    assert told == [f"Another run writes to {tmp_path / 'out'}"]
    assert not (tmp_path / "out" / "stages" / "lock").exists()
    assert make(world, tmp_path / "out", few).records == made.records
    other = make(world, tmp_path / "other", dataclasses.replace(few, seed=8))
    assert not {record["query"] for record in other.records} <= {record["query"] for record in made.records}


def test_a_foreign_dataset_is_not_overwritten(few: RequirementSettings, world: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "stark_qa").mkdir()
    (tmp_path / "stark_qa" / "stark_qa.csv").write_text("id,query,answer_ids\n0,theirs,[1]\n")
    before = files(tmp_path)
    with pytest.raises(KbError, match="holds a dataset that kbkit did not generate"):
        make(world, tmp_path, few)
    assert files(tmp_path) == before
    assert len(make(world, tmp_path, few, replace=True).records) == 8


def test_other_settings_are_rejected(made: Output, world: KnowledgeBase) -> None:
    before = files(made.folder)
    with pytest.raises(KbError, match=r"1_relational\.jsonl was made with other settings: seed was 7, now 9"):
        make(world, made.folder, RequirementSettings(20, seed=9))
    assert files(made.folder) == before


# -- stages, one by one ----------------------------------------------------------------------------------------------


def test_roles(world: KnowledgeBase) -> None:
    roles = [Role("anyone"), Role("climber", ("mountain",)), Role("guide", ("mountain", "lake"))]
    drawn = {
        kind: {textual.role_for(roles, kind, np.random.default_rng(i)).name for i in range(40)}
        for kind in ("mountain", "lake", "sea")
    }
    assert drawn == {"mountain": {"climber", "guide"}, "lake": {"guide"}, "sea": {"anyone"}}
    assert textual.role_for(roles[1:], "sea", np.random.default_rng(0)) == textual.READER
    assert {role.name for role in world.schema.roles} == {"traveller", "student"}


def test_sentences_do_not_tell_the_number_of_answers(made: Output) -> None:
    """A requirement has as many answers as verification finds, and they are asked for in the plural, one as well."""

    def rows(stage: str) -> dict[str, dict[str, Any]]:
        lines = (made.folder / "stages" / f"{stage}.jsonl").read_text("utf-8").splitlines()[1:]
        return {row["id"]: row for row in map(json.loads, lines)}

    supposed, verified = rows("2_textual"), rows("4_verified")
    complete = [name for name, row in verified.items() if "dropped" not in row]
    assert complete
    assert [supposed[name]["answers"] for name in complete] == [len(verified[name]["answers"]) for name in complete]
    phrase = NounPhrase("lake", (Clause("lies in Chad", "lie in Chad"),))
    required = sentences.Requirements("are deep", (), ("with fish",))
    drawn = {sentences.sentences(phrase, required, "", np.random.default_rng(i))[1] for i in range(200)}
    assert len(drawn) > 10
    assert not any(re.search(r"\b[Ll]ake\b", query) for query in drawn)


@pytest.mark.system
def test_numbers_of_answers_reach_a_target(world: KnowledgeBase, tmp_path: Path) -> None:
    """The sample has few queries with one answer that a person would ask, so its target has few."""
    made = make(world, tmp_path / "x", RequirementSettings(30, seed=4, several=0.95, mean_answers=4.0, alike=60))
    assert made.report["several"] == pytest.approx(0.95, rel=0.1)
    assert made.report["answers"] == pytest.approx(4.0, rel=0.1)


def test_names_as_texts(tmp_path: Path) -> None:
    topics = ("graph search", "query planning", "index compression", "entity linking", "answer ranking")
    folder = tmp_path / "g"
    folder.mkdir()
    papers = [f"Fast {topics[i % 5]} for large {topics[i // 5]} systems" for i in range(25)]
    nodes = [
        *(f"p{i},paper,{name}" for i, name in enumerate(papers)),
        *(f"a{i},author,Ann Number{i}" for i in range(5)),
    ]
    (folder / "nodes.csv").write_text("id,type,name\n" + "\n".join(nodes) + "\n")
    edges = [f"a{i % 5},wrote,p{j}" for j in range(25) for i in (j, j + 1, j // 5)]
    (folder / "edges.csv").write_text("source,relation,target\n" + "\n".join(dict.fromkeys(edges)) + "\n")
    with kbkit.ingest("table", folder, out=tmp_path / "g.kb") as kb:
        made = make(kb, tmp_path / "x", RequirementSettings(6, seed=4, text="name", relations_only=0))
    assert len(made.records) == 6
    for record in made.records:
        for entry in record["properties"]:
            assert entry["field"] == "name"
            assert "title" in record["query"]
            having = {f"p{i}" for i, name in enumerate(papers) if entry["text"] in name}
            assert {answer["key"] for answer in record["answers"]} <= having
        assert leaks(record["query"], [answer["name"] for answer in record["answers"]]) == ""


def test_relations_alone(few: RequirementSettings, world: KnowledgeBase, tmp_path: Path) -> None:
    made = make(world, tmp_path / "x", dataclasses.replace(few, relations_only=1))
    for record in each(made.records):
        assert record["properties"] == []
        assert len(record["answers"]) == record["candidates"]


# -- with models -----------------------------------------------------------------------------------------------------


def model(seen: Seen) -> str:
    """A model that knows the prompts by their inputs."""
    given = seen.inputs
    if "count" in given:
        words = next(iter(given["document"]["texts"].values())).split()
        return json.dumps({"properties": [{"text": " ".join(words[2:5]), "source": "description"}]})
    if "question" in given:
        return json.dumps({"query": f"{given['question']} I mean {' and '.join(given['properties'])}."})
    if "query" in given:
        return json.dumps({"query": f"Please: {given['query']}"})
    text = json.dumps(given["document"], ensure_ascii=False)
    checks = [
        {"number": int(number), "satisfied": wanted in text, "quote": wanted if wanted in text else ""}
        for number, wanted in given["properties"].items()
    ]
    return json.dumps({"checks": checks})


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(otherwise=by(model)) as running:
        yield running


def asked(names: list[str], cache: Path | None = None, **options: Any) -> Calls:
    return Calls(open_models(names), Cache(cache), **options)


@pytest.mark.core
def test_models_do_all_four_stages(
    few: RequirementSettings, world: KnowledgeBase, server: Server, tmp_path: Path
) -> None:
    calls = asked([f"first@{server.url}", f"second@{server.url}"])
    made = make(world, tmp_path, few, calls)
    assert len(made.records) == 8
    assert made.report["golds_verified"] == 1.0
    for record in made.records:
        assert record["query"] == f"Please: {record['fused']}"
        assert all({v["verifier"] for v in c["verdicts"]} == {"first", "second"} for c in record["checks"])
        for answer in record["answers"]:
            assert [e["text"] for e in answer["evidence"]] == [p["text"] for p in record["properties"]]
    models = {body["model"]: [] for body in (seen.body for seen in server.requests)}
    for seen in server.requests:
        models[seen.body["model"]].append(seen.inputs.keys())
    assert {"query", "names", "target", "role"} not in models["first"]
    assert {"question", "properties", "target", "role", "interests"} not in models["second"]


def product_model(seen: Seen) -> str:
    """A model that finds one requirement of each kind, drops the one that a review contradicts, and knows mountains."""
    given = seen.inputs
    if "requirements" in given:
        used = [int(number) for number, text in given["requirements"].items() if text not in given["negative"]]
        wanted = " and ".join(given["requirements"][str(number)] for number in used)
        query = f"{given['question']} I want {given['category']} with {wanted}."
        return json.dumps({"used": [*used, 99], "query": query})
    if "category" in given:
        return json.dumps({"belongs": "a" in given["document"]["name"]})
    if "count" in given:
        words = next(iter(given["document"]["texts"].values())).split()
        kinds = {"negative": words[1], "hard": " ".join(words[2:4]), "soft": words[1]}
        statements = [{"kind": kind, "text": text, "source": "description"} for kind, text in kinds.items()]
        return json.dumps({"category": "a high place", "statements": statements})
    return model(seen)


def test_products_have_hard_and_soft_requirements_and_a_category(
    few: RequirementSettings, world: KnowledgeBase, tmp_path: Path
) -> None:
    settings = dataclasses.replace(few, roles=(Role("customer", products=True),))
    with Server(otherwise=by(product_model)) as server:
        made = make(world, tmp_path, settings, asked([f"m@{server.url}"]))
    assert made.records
    for record in made.records:
        assert [entry["kind"] for entry in record["properties"]] == ["hard"]  # a review contradicts the soft one
        assert f"a high place with {record['properties'][0]['text']}." in record["query"]
        verifiers = {check["name"]: {v["verifier"] for v in check["verdicts"]} for check in record["checks"]}
        assert all((found == {verify.CATEGORY}) == ("a" not in name) for name, found in verifiers.items())
        assert all("a" in answer["name"] for answer in record["answers"])
    of_properties = [seen.inputs for seen in server.requests if "properties" in seen.inputs]
    assert of_properties
    assert all("a" in given["document"]["name"] for given in of_properties)


@pytest.mark.system
def test_a_recording_gives_the_same_bytes_with_no_network(
    world_kb: Path, here: Run, server: Server, tmp_path: Path
) -> None:
    kb = tmp_path / "w.kb"
    shutil.copytree(world_kb, kb)
    options = ["-n", 4, "--seed", 5]
    live = here("stark", "make", kb, *options, "-o", tmp_path / "live", "--llm", f"m@{server.url}")
    assert live.returncode == 0, live.stderr
    assert "m: " in live.stderr
    calls = len(server.requests)
    assert here("llm", "export", kb, tmp_path / "calls.jsonl").returncode == 0
    replayed = here(
        "stark", "make", world_kb, *options, "-o", tmp_path / "again", "--llm", f"replay:{tmp_path / 'calls.jsonl'}"
    )
    assert replayed.returncode == 0, replayed.stderr
    assert len(server.requests) == calls
    for name in ("queries.jsonl", "stark_qa/stark_qa.csv", "dataset.json", "split/test.index"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "live" / name).read_bytes()
    replay = ("--llm", f"replay:{tmp_path / 'calls.jsonl'}")
    lacking = here("stark", "make", world_kb, "-n", 1, "--seed", 6, "-o", tmp_path / "no", *replay)
    assert lacking.returncode == 1
    assert "kbkit: " in lacking.stderr


@pytest.mark.system
def test_a_run_continues_after_the_budget_is_spent(
    few: RequirementSettings, world: KnowledgeBase, server: Server, tmp_path: Path
) -> None:
    names = [f"m@{server.url}"]
    cache = tmp_path / "calls.sqlite"
    with pytest.raises(KbError, match="200 tokens"):
        make(world, tmp_path / "out", few, asked(names, cache, budget=200))
    before = len(server.requests)
    assert before < 40
    made = make(world, tmp_path / "out", few, asked(names, cache))
    alone = make(world, tmp_path / "alone", few, asked(names))
    assert files(tmp_path / "out") == files(tmp_path / "alone")
    # The second run asked for the rest only, the third for all.
    whole = len(server.requests) - before - (len(server.requests) - before) // 2
    assert len(made.records) == len(alone.records) == 8
    assert whole > before


def test_invalid_answers_of_models_are_counted(few: RequirementSettings, world: KnowledgeBase, tmp_path: Path) -> None:
    def odd(seen: Seen) -> str:
        if "document" in seen.inputs and "count" not in seen.inputs and "a" in seen.inputs["document"]["name"]:
            return "I would rather not"
        return model(seen)

    with Server(otherwise=by(odd)) as server:
        made = make(world, tmp_path, few, asked([f"m@{server.url}"]))
    assert made.report["unusable_judgements"] > 0
    assert made.report["golds_verified"] < 1
    assert made.report["dropped"]["the gold answer does not pass"] > 0
    assert all("a" not in answer["name"] for record in made.records for answer in record["answers"])


def test_a_query_that_names_its_answer_is_dropped(
    few: RequirementSettings, world: KnowledgeBase, tmp_path: Path
) -> None:
    names: list[str] = []

    def chatty(seen: Seen) -> str:
        if "count" in seen.inputs:
            names.append(seen.inputs["document"]["name"])
        return json.dumps({"query": f"{seen.inputs['query']} {names}"}) if "names" in seen.inputs else model(seen)

    with (
        Server(otherwise=by(chatty)) as server,
        pytest.raises(KbError, match=r"14 queries remains: the query names its answer \(14\)"),
    ):
        make(world, tmp_path, few, asked([f"m@{server.url}"]))


def test_answers_of_models_are_checked(few: RequirementSettings, world: KnowledgeBase, tmp_path: Path) -> None:
    """Queries that are empty or lost a name are dropped; properties come once, on one line, as many as were asked."""

    def odd(seen: Seen) -> str:
        if "count" in seen.inputs:
            said = json.loads(model(seen))["properties"][0]["text"]
            texts = [said, said.replace(" ", "\n"), said, "", "of the world", "on the map", "in all atlases"]
            return json.dumps({"properties": [{"text": text, "source": "x"} for text in texts]})
        if "names" in seen.inputs:
            blank, lost = ord(seen.inputs["query"][-2]) % 3 == 0, ord(seen.inputs["query"][-2]) % 3 == 1
            return json.dumps(
                {"query": "  \n" if blank else "something with water" if lost else "Oh\n" + seen.inputs["query"]}
            )
        if "properties" in seen.inputs and "question" not in seen.inputs:
            count = len(seen.inputs["properties"])
            checks = [{"number": i, "satisfied": True, "quote": ""} for i in range(1, count + 1)]
            return json.dumps({"checks": checks})
        return model(seen)

    with Server(otherwise=by(odd)) as server:
        made = make(world, tmp_path, few, asked([f"m@{server.url}"]))
    dropped = made.report["dropped"]
    reasons = {"no query: it has 0 characters", "no query: a name is missing", "the query names an answer"}
    reasons.add("more than 27 answers")  # this model accepts every candidate
    assert dropped.keys() <= reasons
    assert dropped.keys() & {"no query: a name is missing", "no query: it has 0 characters"}
    for record in made.records:
        assert record["query"] == f"Oh {record['fused']}"
        texts = [entry["text"] for entry in record["properties"]]
        assert len(set(texts)) == len(texts) <= 2
        assert not any("\n" in text for text in texts)


@pytest.mark.parametrize("numbers", [[1, 1], [2]])
def test_judgements_with_wrong_numbers_are_invalid(
    few: RequirementSettings, world: KnowledgeBase, tmp_path: Path, numbers: list[int]
) -> None:
    def odd(seen: Seen) -> str:
        if "properties" in seen.inputs and "question" not in seen.inputs:
            return json.dumps({"checks": [{"number": n, "satisfied": True, "quote": ""} for n in numbers]})
        return model(seen)

    with Server(otherwise=by(odd)) as server, pytest.raises(KbError) as caught:
        make(world, tmp_path, dataclasses.replace(few, count=2, max_properties=1), asked([f"m@{server.url}"]))
    assert "the gold answer does not pass" in caught.value.message
    assert f"judgements could not be used, e.g. it judged properties {sorted(numbers)} of 1" in caught.value.message


# -- the command, and bad input --------------------------------------------------------------------------------------


def test_the_command(world_kb: Path, own: str, here: Run, tmp_path: Path) -> None:
    given = ("stark", "make", world_kb, "-o", tmp_path / "data", "--template", own)
    done = here(*given, "-n", 8, "--seed", 1, "--splits", "0.5,0.25,0.25")
    assert done.returncode == 0, done.stderr
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith(f"{tmp_path / 'data'}: 8 queries of 29 drawn, ")
    assert second.startswith("Several answers: ")
    assert done.stderr == ""
    assert {path.name for path in (tmp_path / "data" / "stages").iterdir()} == {
        "1_relational.jsonl", "2_textual.jsonl", "3_fused.jsonl", "4_verified.jsonl",
    }  # fmt: skip
    refused = here(*given, "-n", 9, "--seed", 1)
    assert refused.returncode == 1
    assert "queries was 8, now 9" in refused.stderr
    assert here(*given, "-n", 2, "--replace").returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--splits", "0.5,0.5"],
        ["--splits", "1,1,1"],
        ["-n", "0"],
        ["--like", "magg"],
        ["--like", "mag", "--several", "0.5"],
        ["--several", "0.5"],
        ["--several", "0.5", "--mean-answers", "1"],
        ["--relations-only", "2"],
        ["--text", "title"],
        ["--max-answers", "-1"],
        ["--max-candidates", "1"],
        ["--template", "nothing"],
        ["--roles", "none.toml"],
        ["--llm", "m@ftp://127.0.0.1/v1"],
        ["--seed", "-1"],
        ["--properties", "21"],
        ["--sampling", "x"],
        ["--budget", "5"],
    ],
)
def test_bad_options(world_kb: Path, here: Run, tmp_path: Path, options: list[str], wording: Wording) -> None:
    done = here("stark", "make", world_kb, "-o", tmp_path / "x", *options)
    assert done.returncode == 1
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


@pytest.fixture(scope="module")
def bare_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph without any text."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "nodes.csv").write_text("id,type,name\n" + "".join(f"n{i},t,Node {i}\n" for i in range(9)))
    (folder / "edges.csv").write_text("source,relation,target\n" + "".join(f"n{i},r,n{i + 1}\n" for i in range(8)))
    kbkit.ingest("table", folder, out=folder / "bare.kb", stores=["tables", "adjacency", "text"]).close()
    return folder / "bare.kb"


def test_a_kb_without_texts(bare_kb: Path, here: Run, tmp_path: Path, wording: Wording) -> None:
    done = here("stark", "make", bare_kb, "-o", tmp_path / "x")
    assert done.returncode == 1
    wording(done.stderr, "cli")


def test_a_kb_without_its_text_index(here: Run, tmp_path: Path) -> None:
    kb = tmp_path / "w.kb"
    kbkit.ingest("table", source(tmp_path / "source", 1), out=kb, stores=["tables", "adjacency"]).close()
    done = here("stark", "make", kb, "-o", tmp_path / "x")
    assert done.returncode == 1
    assert "text" in done.stderr
    assert "kbkit build" in done.stderr


@pytest.mark.system
def test_replace_removes_only_tables_and_only_with_valid_options(world_kb: Path, here: Run, tmp_path: Path) -> None:
    out = tmp_path / "x"
    assert here("stark", "make", world_kb, "-n", 4, "-o", out).returncode == 0
    (out / "stages" / "thesis.txt").write_text("mine")
    before = files(out)
    for wrong in (["--template", "nosuch"], ["--sampling", "bogus"], ["--seed", -1]):
        assert here("stark", "make", world_kb, *wrong, "-o", out, "--replace").returncode == 1
    assert files(out) == before
    assert here("stark", "make", world_kb, "-n", 5, "-o", out, "--replace").returncode == 0
    assert (out / "stages" / "thesis.txt").read_text() == "mine"


def test_other_roles_or_questions_are_other_settings(world_kb: Path, here: Run, tmp_path: Path) -> None:
    roles, own = tmp_path / "roles.toml", tmp_path / "own.toml"
    template = "[[template]]\nid = 'a'\nexpression = 'country:<c> -> mountain'\nquestion = '{} <c>?'\n"
    given = ["stark", "make", world_kb, "-n", 4, "--roles", roles, "--template", own, "-o", tmp_path / "x"]
    roles.write_text("[roles.a]\ninterests = 'ships'\n")
    own.write_text(template.format("In"))
    assert here(*given).returncode == 0
    roles.write_text("[roles.a]\ninterests = 'poetry'\n")
    assert "roles was" in here(*given).stderr
    roles.write_text("[roles.a]\ninterests = 'ships'\n")
    own.write_text(template.format("Of"))
    assert "templates was" in here(*given).stderr


@pytest.mark.parametrize("question", ["", "Which?", "Which in <d>?", "Which in <c> and <d>?"])
def test_a_question_must_name_its_slots(
    world_kb: Path, here: Run, tmp_path: Path, question: str, wording: Wording
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(f"[[template]]\nid = 'a'\nexpression = 'country:<c> -> mountain'\nquestion = '{question}'\n")
    done = here("stark", "make", world_kb, "-o", tmp_path / "x", "--template", own)
    wording(done.stderr, "cli")


def test_no_property_and_no_query_has_an_alias_of_its_answer(made: Output, world: KnowledgeBase) -> None:
    for record in each(made.records):
        for answer in each(record["answers"]):
            node = world.node(f"{answer['type']}#{answer['key']}")
            assert not leaks(record["query"], [node.name, *node.aliases])


def test_roles_of_a_file(world: KnowledgeBase, world_kb: Path, here: Run, tmp_path: Path) -> None:
    roles = tmp_path / "roles.toml"
    roles.write_text("[roles.sailor]\ninterests = 'winds'\n")
    done = here("stark", "make", world_kb, "-n", 3, "-o", tmp_path / "x", "--roles", roles)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "x" / "queries.jsonl").read_text("utf-8").splitlines()]
    assert {record["role"] for record in records} == {"sailor"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[rolls.a]\n",
        "[roles.a]\nintrests = 'x'\n",
        "[roles.a]\ntypes = 'sea'\n",
        "roles = 3\n",
        "[roles",
    ],
)
def test_invalid_roles(world_kb: Path, here: Run, tmp_path: Path, text: str, wording: Wording) -> None:
    (tmp_path / "roles.toml").write_text(text)
    done = here("stark", "make", world_kb, "-o", tmp_path / "x", "--roles", tmp_path / "roles.toml")
    assert done.returncode == 1
    assert str(tmp_path / "roles.toml") in done.stderr
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})


@pytest.mark.system
def test_roles_survive_update_and_export(world: KnowledgeBase, here: Run, tmp_path: Path) -> None:
    kb = tmp_path / "w.kb"
    kbkit.ingest("world", out=kb, stores=["tables"]).close()
    (tmp_path / "nodes.csv").write_text("id,type,name\natlantis,country,Atlantis\n")
    assert here("update", kb, "--nodes", tmp_path / "nodes.csv").returncode == 0
    with kbkit.open(kb) as changed:
        assert changed.schema.nodes == world.schema.nodes + 1
        assert changed.schema.roles == world.schema.roles
        changed.export("csv", tmp_path / "flat", flat=True)
    with kbkit.ingest(str(tmp_path / "flat"), out=tmp_path / "again.kb", stores=["tables"]) as again:
        assert again.schema.roles == world.schema.roles


def test_types_without_texts_are_asked_for_by_relations_alone(tmp_path: Path, here: Run) -> None:
    folder = tmp_path / "g"
    folder.mkdir()
    (folder / "nodes.csv").write_text(
        "id,type,name\n" + "".join(f"a{i},author,Ann {i}\np{i},paper,Title {i}\n" for i in range(6))
    )
    (folder / "edges.csv").write_text(
        "source,relation,target\n" + "".join(f"a{i},wrote,p{j}\n" for i in range(6) for j in range(i))
    )
    (folder / "texts.csv").write_text("id,field,text\np1,abstract,A study of striped zebra herds in summer.\n")
    own = tmp_path / "t.toml"
    own.write_text(
        "[[template]]\nid = 'by'\nexpression = 'paper:<p> -> author'\nanswer = 'author'\nquestion = 'Who wrote <p>?'\n"
    )
    kbkit.ingest("table", folder, out=tmp_path / "g.kb").close()
    done = here("stark", "make", tmp_path / "g.kb", "-n", 3, "-o", tmp_path / "x", "--template", own)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "x" / "queries.jsonl").read_text("utf-8").splitlines()]
    assert records
    for record in records:
        assert record["properties"] == []
        assert record["textual_words"] == 0
        assert len(record["answers"]) == record["candidates"]
        assert "wrote 'Title" in record["query"]
