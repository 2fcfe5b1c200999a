"""Conversations made of the samples that ship with kbkit: answers recomputed by SQL, wording, typos, files."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.convkgyarn import predicates, rules, templates
from kbkit.benchmarks.convkgyarn.conversations import Conversation, Turn, read_conversations
from kbkit.benchmarks.convkgyarn.make import make
from kbkit.benchmarks.convkgyarn.settings import CONFIGURATIONS, ConvSettings
from kbkit.benchmarks.convkgyarn.typos import with_safe_typos, with_typos
from kbkit.english.frames import pool
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.loops import each

KEYBOARD = {
    "a": "qwsz", "b": "ghvn", "c": "dfxv", "d": "erfcxs", "e": "rdsw", "f": "rtgvcd", "g": "tyhbvf", "h": "yujnbg",
    "i": "uojk", "j": "uikmnh", "k": "iolmj", "l": "opk", "m": "jkn", "n": "hjbm", "o": "ipkl", "p": "ol", "q": "aw",
    "r": "tfde", "s": "wedxza", "t": "ygfr", "u": "yihj", "v": "fgcb", "w": "qeas", "x": "sdzc", "y": "tugh",
    "z": "asx",
}  # fmt: skip
"""The letters that touch each letter of a QWERTY keyboard, written down by hand."""
PERSONAL = re.compile(r"\b(?:it|its|they|them|their|he|him|his|she|her)\b(?!-)", re.IGNORECASE)


@pytest.fixture(scope="module")
def embedded(world_kb: Path, here: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = shutil.copytree(world_kb, tmp_path_factory.mktemp("conv") / "world.kb")
    assert here("-q", "build", copy, "embeddings").returncode == 0
    return copy


@pytest.fixture(scope="module")
def folder(embedded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Conversations about all types of the world, related entities for countries."""
    out = tmp_path_factory.mktemp("conv") / "out"
    with kbkit.open(embedded) as kb:
        make(kb, out, ConvSettings(min_turns=2, max_answers=20, count=120, related=("country",)))
    return out


@pytest.fixture(scope="module")
def made(folder: Path) -> list[Conversation]:
    return list(read_conversations(folder))


def words(text: str) -> str:
    return " " + " ".join(re.findall(r"[^\W_]+", text.lower())) + " "


# -- answers ----------------------------------------------------------------------------------------------------------


def expected(kb: KnowledgeBase, one: Conversation, turn: Turn) -> set[str]:
    """Return the answers that the tables of the KB have: references of nodes, or values."""
    entity = one.related if turn.subject == "related" else one.entity
    assert entity is not None
    node = kb.find(entity.reference)
    name = turn.predicate.removeprefix("^").partition(":")[0]
    column = f'"{turn.qualifier}"' if turn.qualifier else ""
    if name in kb.schema._relations:
        near, far = ("tail", "head") if turn.predicate.startswith("^") else ("head", "tail")
        kind = turn.predicate.partition(":")[2]
        rows = kb.tables.rows(
            f"SELECT n.type::VARCHAR || '#' || n.key, n.name, {column or 'NULL'} FROM \"{name}\" e"
            f" JOIN nodes n ON n.id = e.{far} WHERE e.{near} = {node}"
            + (f" AND n.type::VARCHAR = '{kind}'" if kind else "")
        )
        if turn.qualifier:
            return {str(value) for _, title, value in rows if title in turn.given and value is not None}
        return {reference for reference, _, _ in rows}
    [(value,)] = kb.tables.rows(f'SELECT "{name}" FROM "{entity.type}" WHERE id = {node}')
    if isinstance(value, list):
        return set(value)
    return {value} if isinstance(value, str) else {f"{value:.10g}"}


def test_every_answer_is_in_the_kb(embedded: Path, made: list[Conversation]) -> None:
    seen = Counter[str]()
    with kbkit.open(embedded) as kb:
        for one in each(made):
            for turn in one.turns if one.id.endswith(".voice") else ():
                given = {a.node or a.value or a.text for a in turn.answers}
                assert given == expected(kb, one, turn), (one.id, turn.question)
                seen[turn.kind + "?" * bool(turn.qualifier)] += 1
    assert min(seen.values()) > 1
    assert set(seen) == {"entity", "number", "date", "text", "date?", "number?", "text?"}


@pytest.mark.system
def test_qualified_facts_of_wikidata_are_statements(wikidata_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        make(
            kb,
            tmp_path,
            ConvSettings(
                min_turns=2, max_answers=20, count=100, types=("human", "film", "big_city", "sovereign_state"), turns=8
            ),
        )
        seen = set()
        for one in read_conversations(tmp_path):
            for turn in one.turns if one.id.endswith(".voice") and turn_is_qualified(one) else ():
                if not turn.qualifier:
                    continue
                rows = kb.tables.rows(
                    "SELECT coalesce(o.name, s.amount::BIGINT::VARCHAR), q.value, t.name FROM statements s"
                    " JOIN qualifiers q ON q.statement = s.id LEFT JOIN nodes o ON o.key = s.target"
                    " LEFT JOIN nodes t ON t.key = q.target"
                    " WHERE s.subject = $key AND s.property = $p AND q.property = $q AND s.rank <> 'deprecated'",
                    {"key": one.entity.key, "p": turn.predicate, "q": turn.qualifier},
                )
                seen.add((turn.predicate, turn.qualifier))
                [given] = turn.given
                for answer in turn.answers:
                    said = answer.value or answer.text
                    assert any(
                        (value == given and (qualifier.startswith(said) or said == name))
                        or (value == said and qualifier.startswith(given))
                        for value, qualifier, name in rows
                    ), (turn, rows)
    assert {("P26", "P580"), ("P39", "P580"), ("P39", "P1366"), ("P1082", "P585")} <= seen


def turn_is_qualified(one: Conversation) -> bool:
    return any(turn.qualifier for turn in one.turns)


# -- questions --------------------------------------------------------------------------------------------------------


def test_questions_are_complete_and_do_not_name_their_answers(made: list[Conversation]) -> None:
    for one in each(made):
        names = [one.entity.name, *one.entity.aliases]
        for number, turn in enumerate(each(one.turns)):
            assert not re.search(r"[\[\]{}~+/|]|  |^ | $", turn.question), turn.question
            said = words(turn.question)
            for answer in turn.answers:
                for text in (answer.text, *answer.aliases):
                    assert words(text) not in said, (turn.question, text)
            if one.interaction == "text":
                assert turn.question == turn.question.lower()
                assert turn.question.split()[0] not in ("who", "whom", "what", "when", "which", "how")
            else:
                assert re.fullmatch(r"[^a-z].*[?.]", turn.question), turn.question
            if number == 0:
                assert not PERSONAL.search(turn.question)
                assert one.typo or any(name.lower() in turn.question.lower() for name in names)
            elif turn.form.startswith("deixis") and turn.subject == "entity":
                assert words(one.entity.name) not in said or one.entity.name in " ".join(turn.given), turn.question


def test_configurations_of_a_group_share_their_facts(made: list[Conversation]) -> None:
    groups = defaultdict(list)
    for one in made:
        groups[one.group].append(one)
    for conversations in groups.values():
        assert {c.id.partition(".")[2] for c in conversations} == set(CONFIGURATIONS)
        facts = {
            json.dumps([[t.predicate, t.qualifier, t.given, t.subject, [vars(a) for a in t.answers]] for t in c.turns])
            for c in conversations
        }
        assert len(facts) == 1
        for turns in zip(*(c.turns for c in conversations), strict=True):
            # The phenomena differ, the question behind them does not: follow-ups apart, one variant is used.
            assert len({t.template[-1] for t in turns}) == 1
    related = [c for c in made if c.related]
    assert len(related) >= 8 * 5
    for one in related:
        assert [t.subject for t in one.turns] == sorted(t.subject for t in one.turns)
        assert one.turns[-1].subject == "related"
        first = next(t for t in one.turns if t.subject == "related")
        assert one.related is not None
        named = [one.related.name, *one.related.aliases]
        assert one.typo or any(name.lower() in first.question.lower() for name in named)
    follow_ups = [(c.turns[i - 1], t) for c in related for i, t in enumerate(c.turns) if t.form.startswith("follow_up")]
    assert follow_ups
    for before, turn in follow_ups:
        assert (before.predicate, before.qualifier, before.subject) == (turn.predicate, "", "entity")


def test_each_typo_is_one_edit_outside_of_names_of_one_word(made: list[Conversation]) -> None:
    plain = {c.id: c for c in made}
    kinds = Counter[str]()
    for one in made:
        if not one.typo:
            continue
        right = plain[one.id.replace("-typos", "")]
        for typed, correct in zip(one.turns, right.turns, strict=True):
            kinds[edit(correct.question, typed.question)] += 1
            assert typed.template[-1] == correct.template[-1]
            entity = one.related if typed.subject == "related" else one.entity
            assert entity is not None
            if re.fullmatch(r"\w+", entity.name) and entity.name.lower() in correct.question:
                assert entity.name.lower() in typed.question
            for given in typed.given:
                assert given.lower() in typed.question
    assert set(kinds) == {"deletion", "swap", "qwerty"}
    assert min(kinds.values()) > sum(kinds.values()) / 5


def test_no_typo_writes_the_answer() -> None:
    """Without its n, "armenian dram" would name Armenia."""
    right = pl.Series(["armenian dram"] * 3_000)
    spans = [(np.full(3_000, 9), np.full(3_000, 13))]
    answers = pl.DataFrame({"fact": [7, 8], "answer": [" armenia ", " dram "]})
    typed = with_safe_typos(right, spans, pl.Series([7] * 3_000), answers, np.random.default_rng(1))
    assert "armenain dram" in typed
    assert "armenia dram" not in typed
    assert {edit("armenian dram", one) for one in typed} == {"deletion", "swap", "qwerty"}
    assert "armenia dram" in with_typos(right, spans, np.random.default_rng(1))


def edit(right: str, typed: str) -> str:
    """Return which one edit turns a text into another, by trying all."""
    for i in range(len(right)):
        if right[:i] + right[i + 1 :] == typed:
            return "deletion"
        if right[:i] + right[i + 1 : i + 2] + right[i] + right[i + 2 :] == typed:
            return "swap"
        if any(right[:i] + near + right[i + 1 :] == typed for near in KEYBOARD.get(right[i], "")):
            return "qwerty"
    raise AssertionError((right, typed))


def test_each_fact_has_24_questions_or_54_with_a_related_entity(folder: Path, here: Run) -> None:
    lines = (folder / "stages" / f"{templates.TEMPLATES.name}.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    sizes = Counter((r["type"], r["predicate"], r["asks"]) for r in map(json.loads, lines))
    assert {n for (kind, *_), n in sizes.items() if kind == "country"} == {54}
    assert {n for (kind, *_), n in sizes.items() if kind != "country"} == {24}
    rows = json.loads(here("-q", "conv", "stats", folder, "--table", "1", "-f", "json").stdout)
    by = {(row["dataset"], row["figures"]): row["questions_per_fact"] for row in rows}
    assert by["general", "here"] == by["general", "paper"] == 24
    assert by["related", "here"] == by["related", "paper"] == 54
    counts = json.loads(here("-q", "conv", "stats", folder, "--table", "0", "-f", "json").stdout)
    assert {row["conversations"] for row in counts if row["configuration"].endswith("general")} == {120}
    assert len(counts) == 16


# -- files ------------------------------------------------------------------------------------------------------------

SMALL = ConvSettings(min_turns=2, max_answers=20, count=30, types=("river", "mountain"), turns=3)


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "lock"}


@pytest.mark.system
def test_the_same_seed_gives_the_same_bytes(world: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make(world, tmp_path / name, SMALL)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    make(world, tmp_path / "parquet", SMALL, format="parquet")
    assert list(read_conversations(tmp_path / "parquet")) == list(read_conversations(tmp_path / "one"))
    make(
        world,
        tmp_path / "other",
        ConvSettings(min_turns=2, max_answers=20, count=30, types=("river", "mountain"), turns=3, seed=1),
    )
    assert list(read_conversations(tmp_path / "other")) != list(read_conversations(tmp_path / "one"))


def test_types_that_share_members_have_each_predicate_once(small: KnowledgeBase) -> None:
    """Nodes with several types have attributes in the tables of other types."""
    found = predicates.extract(small, [t.name for t in small.schema.node_types])
    assert len({row.id for row in found}) == len(found)
    [year] = [row for row in found if row.id == "gene/protein.year"]
    assert (year.entities, year.members) == (3, 3)


def test_more_groups_than_entities_and_chosen_configurations(world: KnowledgeBase, tmp_path: Path) -> None:
    settings = ConvSettings(
        min_turns=2,
        max_answers=20,
        count=450,
        types=("lake",),
        configurations=("text", "voice-deixis"),
        turns=2,
        alike=450,
    )
    made = make(world, tmp_path, settings)
    conversations = list(read_conversations(tmp_path))
    groups = {c.group: (c.entity.reference, frozenset(turn.predicate for turn in c.turns)) for c in conversations}
    assert 450 >= made.report["groups"] == len(groups) > len({c.entity.reference for c in conversations})
    assert len(set(groups.values())) == len(groups)  # no conversation twice
    assert {c.id.partition(".")[2] for c in conversations} == {"text", "voice-deixis"}
    assert {len(c.turns) for c in conversations} == {2}


@pytest.fixture(scope="module")
def small_dataset(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("conv") / "small"
    make(world, out, SMALL)
    return out


def edited(tmp_path: Path, dataset: Path, change: Callable[[list[str]], object], stage: str) -> Path:
    """Copy a dataset, change the lines of a table, and return the table."""
    shutil.copytree(dataset, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "stages" / f"{stage}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    change(lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_an_edited_template_is_used(world: KnowledgeBase, small_dataset: Path, tmp_path: Path) -> None:
    def change(lines: list[str]) -> None:
        lines[:] = [re.sub(r'"text": "[^"]*\[river\][^"]*\?"', '"text": "Tell me more of [river]?"', x) for x in lines]

    edited(tmp_path, small_dataset, change, "5_templates")
    make(world, tmp_path, SMALL)
    assert any(t.question.startswith("Tell me more of the ") for c in read_conversations(tmp_path) for t in c.turns)


MISTAKES = [
    ("voice.original.1", "How long is [sea]?", r"unknown placeholder \[sea\]; the subject is \[river\]"),
    ("voice.original.1", "How long is it?", r"\[river\] must occur once"),
    ("voice.original.1", "How long is [river?", "unbalanced brackets"),
    ("voice.original.2", "How long is [river] and its mouth?", "'its' refers to the history"),
    ("voice.deixis.1", "How long is [river]?", r"\[river\] must not occur"),
    ("voice.deixis.2", "How long are rivers?", "no deictic word"),
    ("voice.disfluencies.3", "How, um, long is [river]", "a question ends in"),
    ("text.original.1", "Length of [river]", "lower case"),
    ("text.typos.1", "how long [river]", "does not start with 'how'"),
    ("text.original.3", "length of [object] in [river]", r"\[object\] must not occur"),
    ("text.deixis.1", "", "the text is empty"),
]


@pytest.mark.parametrize(("template", "text", "problem"), MISTAKES)
def test_a_mistake_in_an_edited_template_is_named(
    world: KnowledgeBase, small_dataset: Path, tmp_path: Path, template: str, text: str, problem: str
) -> None:
    where = 0

    def change(lines: list[str]) -> None:
        nonlocal where
        where = next(n for n, line in enumerate(lines) if f'"river.length_km:{template}"' in line)
        lines[where] = json.dumps({**json.loads(lines[where]), "text": text})

    edited(tmp_path, small_dataset, change, "5_templates")
    with pytest.raises(BadInputError, match=rf"5_templates.jsonl, line {where + 1}: .*{problem}"):
        make(world, tmp_path, SMALL)


def test_pronouns_in_the_words_of_a_predicate_refer_to_nothing(tmp_path: Path) -> None:
    """A template of an attribute with the word *it* in its name or its label is valid."""
    row = templates.ConvTemplate("a:voice.original.1", "place", "size_it", "", "", "voice", "original", 1, "{}")
    for text, label, problem in (
        ("What is the size it of [place]?", "size it", ""),
        ("What is the size it of [place]?", "size", "'it' refers to the history, which this form does not need"),
    ):
        assert rules.problem(dataclasses.replace(row, text=text), label) == problem


def test_thanks_never_begin_a_conversation(made: list[Conversation]) -> None:
    thanks = tuple(pool("conversations", "thanks"))
    assert thanks
    assert len(made) > 100
    assert not [c.id for c in made if c.turns[0].question.startswith(thanks)]


def test_other_damage_of_tables_is_named(world: KnowledgeBase, small_dataset: Path, tmp_path: Path) -> None:
    path = edited(
        tmp_path, small_dataset, lambda lines: lines.__setitem__(3, lines[3].replace('"kind"', '"sort"')), "4_facts"
    )
    with pytest.raises(BadInputError, match=r"'kind' in .*4_facts.jsonl, line 4"):
        make(world, tmp_path, SMALL)
    path.unlink()
    path = tmp_path / "stages" / "5_templates.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[0] = lines[0].replace(f'"rows": {len(lines) - 1}', f'"rows": {len(lines) - 2}')
    path.write_text("\n".join([lines[0], *lines[2:]]) + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"Missing template .* in .*5_templates.jsonl, near line \d+"):
        make(world, tmp_path, SMALL)


def test_a_deleted_fact_is_noticed(world: KnowledgeBase, small_dataset: Path, tmp_path: Path) -> None:
    """As in every table of a stage, the first line has the number of rows."""
    count = len(
        edited(tmp_path, small_dataset, lambda lines: lines.pop(3), "4_facts").read_text(encoding="utf-8").splitlines()
    )
    with pytest.raises(BadInputError, match=rf"4_facts.jsonl has {count - 1} rows instead of {count}"):
        make(world, tmp_path, SMALL)


# -- invalid input ----------------------------------------------------------------------------------------------------


def small_kb(tmp_path: Path) -> Path:
    nodes = "id,type,name,height_m\n1,person,Анна Каренина,\n2,person,Лев Толстой,\n3,city,東京,\n"
    nodes += "4,tower,Пик,\n5,mountain,K2,8611\n"
    edges = "head,relation,tail\n1,born in,3\n2,born in,3\n1,knows,2\n2,knows,1\n5,lies in,3\n"
    (tmp_path / "nodes.csv").write_text(nodes, encoding="utf-8")
    (tmp_path / "edges.csv").write_text(edges, encoding="utf-8")
    out = tmp_path / "small.kb"
    kbkit.ingest("table", out=out, files={n: tmp_path / f"{n}.csv" for n in ("nodes", "edges")}).close()
    return out


def test_other_scripts_and_types_of_one_entity(tmp_path: Path) -> None:
    with kbkit.open(small_kb(tmp_path)) as kb:
        made = make(kb, tmp_path / "out", ConvSettings(count=6, min_turns=2))
        said = [t.question for c in read_conversations(tmp_path / "out") for t in c.turns]
        assert made.report["groups"] == 4  # of two predicates each: there are no others
        assert any("Анна Каренина" in q for q in said)
        assert any("анна каренина" in q for q in said)
        assert any("K2" in q for q in said)
        with pytest.raises(KbError, match="No predicate is asked for"):
            make(kb, tmp_path / "none", ConvSettings(min_turns=2, max_answers=20, types=("tower",)))
        with pytest.raises(KbError, match="No entity has 5 facts"):
            make(
                kb,
                tmp_path / "five",
                ConvSettings(types=("mountain",), turns=5, min_turns=5),
            )
        with pytest.raises(UnknownNameError, match="Unknown type 'castle'"):
            make(kb, tmp_path / "type", ConvSettings(min_turns=2, max_answers=20, types=("castle",)))
        with pytest.raises(UnknownNameError, match="Unknown configuration 'sign'"):
            make(kb, tmp_path / "sign", ConvSettings(min_turns=2, max_answers=20, configurations=("sign",)))
        with pytest.raises(KbError, match="no graph embeddings"):
            make(kb, tmp_path / "related", ConvSettings(min_turns=2, max_answers=20, related=("person",)))
        with pytest.raises(KbError, match="Invalid turns: 1"):
            make(kb, tmp_path / "turns", ConvSettings(min_turns=2, max_answers=20, turns=1))


def test_the_command_resumes_and_protects_other_datasets(world_kb: Path, tmp_path: Path, here: Run) -> None:
    arguments = ("conv", "make", world_kb, "-o", tmp_path / "out", "-n", "10", "-t", "lake", "--min-turns", "2")
    arguments += ("--max-alike", "10")
    done = here(*arguments)
    assert done.returncode == 0
    assert "80 conversations, 10 groups with the same facts" in done.stdout
    before = content(tmp_path / "out")
    (tmp_path / "out" / "conversations.jsonl").unlink()
    assert here(*arguments).returncode == 0
    assert content(tmp_path / "out") == before
    done = here(*arguments, "--seed", "1")
    assert done.returncode == 1
    assert "made with other settings: seed was 0, now 1" in done.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "conversations.jsonl").write_text("{}\n")
    done = here("conv", "make", world_kb, "-o", tmp_path / "mine")
    assert done.returncode == 1
    assert "holds a dataset that kbkit did not generate" in done.stderr


@pytest.mark.system
def test_no_typo_in_an_alias_of_one_word(wikidata_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        settings = ConvSettings(
            min_turns=2, max_answers=20, count=120, types=("human",), configurations=("text", "text-typos")
        )
        make(kb, tmp_path, settings)
    conversations = {one.id: one for one in read_conversations(tmp_path)}
    seen = 0
    for one in conversations.values():
        names = [name.lower() for name in (one.entity.name, *one.entity.aliases)]
        for typed, right in zip(one.turns, conversations[f"{one.group}.text"].turns, strict=True):
            used = max((name for name in names if name in right.question), key=len, default=" ")
            seen += " " not in used and used != names[0]
            assert " " in used or used in typed.question, (right.question, typed.question, used)
    assert seen > 5
