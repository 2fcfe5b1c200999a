"""Questions whose answers are known, made from a KB by a seed: for the table of the README, and for tests of retrieval.

* known items: some words of one node's name and texts; that node is the only answer
* questions that name entities: "movies by DIRECTOR with ACTOR about KEYWORD", worded in several ways, the entities
  drawn by the sampler and the keyword taken from the text of an answer; the answers are all films that it holds for
"""

from __future__ import annotations

import random
import re

import polars as pl

from kbkit.kb import KnowledgeBase
from tests.performance.timing import times

WORDINGS = (
    "movies by {d} with {a} about {k}",
    "{k} film directed by {d} starring {a}",
    "which movie of {d} has {a} in it and is about {k}?",
    "a {d} picture with {a} and {k}",
    "{a} in a film by {d}, on {k}",
    "what did {d} direct with {a}, something with {k}?",
)


def known_items(kb: KnowledgeBase, node_type: str, number: int, words: int, seed: int = 0) -> pl.DataFrame:
    """``number`` nodes with text, each with a query of ``words`` of its words: query, text, answers (ids)."""
    drawn = random.Random(seed)
    rows = kb.sql(
        "SELECT id, any_value(name) AS name, string_agg(text, ' ' ORDER BY field, position) AS text"
        " FROM texts JOIN nodes USING (id) WHERE type = $type GROUP BY id ORDER BY id",
        type=node_type,
    )
    queries = []
    for node, name, text in drawn.sample(rows.rows(), min(rows.height, 4 * number)):
        known = list(dict.fromkeys(re.findall(r"[^\W\d_]{3,}", f"{name} {text}")))
        if len(known) >= words + 2 and len(queries) < number:
            queries.append((str(len(queries) + 1), " ".join(drawn.sample(known, words)), [node]))
    return pl.DataFrame(queries, schema=["query", "text", "answers"], orient="row")


def questions(kb: KnowledgeBase, number: int, seed: int = 0) -> pl.DataFrame:
    """Questions about the films of imdb that name a director and an actor: query, text, answers (ids)."""
    drawn = random.Random(seed)
    template = "(person:<d> -> [directed] -> movie) & (person:<a> -> [acted_in] -> movie)"
    found = kb.sample(template, n=2 * number, seed=seed)
    queries = []
    for director, actor in found.select("d name", "a name").iter_rows():
        films = kb.answers(template, d=director, a=actor).ids.tolist()
        texts = kb.sql("SELECT id, text FROM texts WHERE id IN (SELECT unnest($ids)) ORDER BY id", ids=films)
        keywords = [set(text.split(", ")) for text in texts["text"]]
        if director != actor and keywords and len(queries) < number:
            keyword = drawn.choice(sorted(drawn.choice(keywords)))
            answers = [node for node, known in zip(texts["id"], keywords, strict=True) if keyword in known]
            text = drawn.choice(WORDINGS).format(d=director, a=actor, k=keyword)
            queries.append((str(len(queries) + 1), text, answers))
    return pl.DataFrame(queries, schema=["query", "text", "answers"], orient="row")


def scored(kb: KnowledgeBase, asked: pl.DataFrame, mode: str, node_type: str | None) -> tuple[float, dict[str, float]]:
    """The median time in ms of one query with its hits laid out, and a mode's hit@1, hit@10 and MRR."""
    from kbkit.measures import ranking, scores
    from kbkit.measures.files import Gold

    found = kb.search_many(asked, k=100, mode=mode, type=node_type)
    run = found.select("query", pl.col("id").cast(pl.String).alias("node"), "score")
    judgements = asked.select("query", pl.col("answers").alias("node")).explode("node")
    gold = Gold(judgements.select("query", pl.col("node").cast(pl.String), relevance=1), asked.select("query", "text"))
    means = scores.summary(ranking.measure(run, gold, ["hit@1", "hit@10", "mrr"])).row(0, named=True)
    median, _, _ = times(lambda text: kb.search(text, k=10, mode=mode, type=node_type), asked["text"][:100].to_list())
    return median, {name: means[name] for name in ("hit@1", "hit@10", "mrr")}
