"""Instances of SKA-Bench from the CSV files of the world sample, each with a query over its units, for tests."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kbkit import assets
from kbkit.benchmarks.ska.instances import (
    PASSAGE,
    ROW,
    TRIPLE,
    Instance,
    KnowledgeUnit,
    Provenance,
    numbered,
    write_instances,
)

WORLD = assets.folder("ingest") / "world" / "data"


def rows(name: str) -> list[dict[str, str]]:
    with (WORLD / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


NAMES = {("country", r["key"]): r["name"] for r in rows("countries")} | {
    (kind, r["key"]): r["name"]
    for kind, file in (("river", "rivers"), ("sea", "seas"), ("lake", "lakes"), ("language", "languages"))
    for r in rows(file)
}


def triple(head: tuple[str, str], relation: str, tail: tuple[str, str]) -> KnowledgeUnit:
    ends = [f"{kind}#{key}" for kind, key in (head, tail)]
    return KnowledgeUnit("", TRIPLE, [NAMES[head], relation, NAMES[tail]], [ends[0], relation, ends[1]])


def graph() -> list[KnowledgeUnit]:
    """Rivers, where they flow, and the neighbours and languages of countries."""
    flows = [triple(("river", r["river"]), "flows through", ("country", r["country"])) for r in rows("river_countries")]
    mouths = [
        triple(("river", r["river"]), "flows into", (r["mouth_type"], r["mouth"]))
        for r in rows("river_mouths")
        if (r["mouth_type"], r["mouth"]) in NAMES
    ]
    borders = [triple(("country", r["country"]), "borders", ("country", r["neighbour"])) for r in rows("borders")]
    speaks = [
        triple(("country", r["country"]), "speaks", ("language", r["language"])) for r in rows("country_languages")
    ]
    return flows + mouths + borders + speaks


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def built(
    name: str,
    form: str,
    question: str,
    answers: Iterable[str],
    units: list[KnowledgeUnit],
    positive: list[KnowledgeUnit],
    sql: str,
    **more: object,
) -> Instance:
    """An instance whose noise are the other units, in random order."""
    noise = [unit for unit in units if unit not in positive]
    random.Random(name).shuffle(noise)
    about = Provenance("world", name, evidence="sql", sql=sql)
    both = numbered(positive, "p"), numbered(noise, "n")
    return Instance(name, form, question, sorted(answers), *both, about, **more)  # type: ignore[arg-type]


def kg(count: int) -> list[Instance]:
    """Rivers of a country, and seas that its rivers flow into."""
    everything = graph()
    rng = random.Random(1)
    countries = sorted({unit.content[2] for unit in everything if unit.content[1] == "flows through"})
    made = []
    for country in rng.sample(countries, count):
        through = [u for u in everything if u.content[1:] == ["flows through", country]]
        if len(made) % 2:
            rivers = {u.content[0] for u in through}
            ends = [
                u
                for u in everything
                if u.content[1] == "flows into" and u.content[0] in rivers and u.source[2][:3] == "sea"
            ]
            starts = {u.content[0] for u in ends}
            through = [u for u in through if u.content[0] in starts]
            question, answers = f"Which seas do the rivers of {country} flow into?", {u.content[2] for u in ends}
            sql = (
                "SELECT DISTINCT b.tail_name FROM triples a JOIN triples b ON a.head = b.head"
                f" WHERE a.relation = 'flows through' AND a.tail_name = {quoted(country)}"
                " AND b.relation = 'flows into' AND b.tail_type = 'sea'"
            )
            positive = through + ends
        else:
            question, answers = f"Which rivers flow through {country}?", {u.content[0] for u in through}
            sql = f"SELECT head_name FROM triples WHERE relation = 'flows through' AND tail_name = {quoted(country)}"
            positive = through
        if answers:
            made.append(built(f"kg-{len(made)}", "kg", question, answers, everything, positive, sql))
    return made


HEADER = ["Mountain", "Height (m)", "Range", "Note"]


def mountains() -> list[KnowledgeUnit]:
    found = [r for r in rows("mountains") if r["height_m"]]
    return [
        KnowledgeUnit(
            "", ROW, [r["name"], r["height_m"], r["range"], f"a|b {i % 7}"], ["mountains", str(i)], position=i
        )
        for i, r in enumerate(found)
    ]


def table(count: int) -> list[Instance]:
    """Heights of mountains, and the mountains of a range above a height."""
    everything, made = mountains(), []
    rng = random.Random(2)
    for unit in rng.sample([u for u in everything if u.content[2]], count):
        if len(made) % 2:
            name, limit = unit.content[2], int(unit.content[1]) - 1
            positive = [u for u in everything if u.content[2] == name and int(u.content[1]) > limit]
            question = f"Which mountains of the {name} are higher than {limit} metres?"
            answers = {u.content[0] for u in positive}
            sql = f'SELECT "Mountain" FROM table_rows WHERE "Range" = {quoted(name)} AND "Height (m)"::INT > {limit}'
        else:
            positive = [u for u in everything if u.content[0] == unit.content[0]]
            question, answers = f"What is the height of {unit.content[0]}?", {u.content[1] for u in positive}
            sql = f'SELECT "Height (m)" FROM table_rows WHERE "Mountain" = {quoted(unit.content[0])}'
        about = {"title": "Mountains", "header": HEADER}
        made.append(built(f"table-{len(made)}", "table", question, answers, everything, positive, sql, **about))
    return made


def described(kind: str, file: str) -> list[KnowledgeUnit]:
    return [
        KnowledgeUnit("", PASSAGE, [r["name"], r["description"]], [f"{kind}#{r['key']}", "description", "0"])
        for r in rows(file)
        if r["description"]
    ]


def beginning(passage: KnowledgeUnit) -> str:
    return " ".join(passage.content[1].split()[:6])


def unambiguous(units: list[KnowledgeUnit]) -> list[KnowledgeUnit]:
    """Passages whose beginning no other one has."""
    passages = [u for u in units if u.kind == PASSAGE]
    counts = Counter(map(beginning, passages))
    return [u for u in passages if counts[beginning(u)] == 1]


def kg_text(count: int) -> list[Instance]:
    """Countries that a river of a description flows through."""
    everything = (
        [u for u in graph() if u.content[1] != "speaks"] + described("river", "rivers") + described("sea", "seas")
    )
    passages = [u for u in unambiguous(everything) if u.source[0].startswith("river")]
    made = []
    for passage in random.Random(3).sample(passages, 4 * count):
        words = beginning(passage)
        through = [u for u in everything if u.source[0] == passage.source[0] and u.content[1:2] == ["flows through"]]
        if not through or len(made) == count:
            continue
        sql = (
            "SELECT tail_name FROM triples JOIN passages ON head = node"
            f" WHERE relation = 'flows through' AND text LIKE {quoted(words + '%')}"
        )
        question = f'Which countries does the river described as "{words}" flow through?'
        answers = {u.content[2] for u in through}
        made.append(built(f"kgt-{len(made)}", "kg+text", question, answers, everything, [*through, passage], sql))
    return made


def table_text(count: int) -> list[Instance]:
    """Height of a mountain of a description."""
    everything = mountains() + described("mountain", "mountains")
    names = {u.content[0]: u for u in everything if u.kind == ROW}
    passages = [u for u in unambiguous(everything) if u.content[0] in names]
    made = []
    for number, passage in enumerate(random.Random(4).sample(passages, count)):
        words = beginning(passage)
        row = names[passage.content[0]]
        sql = (
            'SELECT "Height (m)" FROM table_rows JOIN passages ON "Mountain" = passages.title'
            f" WHERE text LIKE {quoted(words + '%')}"
        )
        question = f'What is the height of the mountain described as "{words}"?'
        about = {"title": "Mountains", "header": HEADER}
        made.append(
            built(f"tt-{number}", "table+text", question, [row.content[1]], everything, [row, passage], sql, **about)
        )
    return made


def instances(count: int = 4) -> list[Instance]:
    """``count`` instances of each form."""
    return [*kg(count), *table(count), *kg_text(count), *table_text(count)]


def dataset(folder: Path, count: int = 4) -> Path:
    """Write a dataset; return its folder."""
    write_instances(folder, instances(count))
    return folder


if __name__ == "__main__":
    import sys

    dataset(Path(sys.argv[1]), int(sys.argv[2]))
