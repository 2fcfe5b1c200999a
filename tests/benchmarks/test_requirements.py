"""Parts of queries that combine relations, phrases of texts and conditions on attributes."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.benchmarks import evidence
from kbkit.benchmarks.documents import Document, Span, TextPassage, read_documents
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.requirements import (
    answer_counts,
    choose,
    conditions,
    phrases,
    products,
    relational,
    sentences,
    textual,
    verify,
)
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.textual import Requirement
from kbkit.english.clauses import Clause
from kbkit.english.noun_phrases import NounPhrase
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Role
from tests.kbs import LIGHT
from tests.loops import each


def test_templates_by_id_catalogue_file_and_suggestion(world: KnowledgeBase, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        "[[template]]\nid = 'peaks'\nexpression = 'country:<c> -> mountain'\nanswer = 'mountain'\nquestion = '<c>?'\n"
    )
    [peaks] = relational.templates(world, [str(own)])
    assert (peaks.id, peaks.answer) == ("mine/peaks", "mountain")
    suggested = relational.templates(world, ["suggest"])
    assert relational.templates(world) == suggested
    assert 10 <= len(suggested) <= 36
    with pytest.raises(KbError, match="catalogue mag"):
        relational.templates(world, ["mag"])
    with pytest.raises(KbError, match="mag/author"):
        relational.templates(world, ["mag/author"])
    with pytest.raises(KbError, match="'mga'"):
        relational.templates(world, ["mga"])
    with pytest.raises(KbError, match="quest/union"):
        relational.templates(world, ["quest/union"])


def test_nodes_that_a_query_names_are_not_candidates(world: KnowledgeBase) -> None:
    chosen = relational.templates(world, ["suggest"])
    for row in each(relational.draw(world, chosen, np.arange(50) % 12 + 1, 1, (1, 30))):
        named = {world.find(f"{slot.type}#{slot.key}") for slot in row.slots.values()}
        assert not named & set(row.candidates)
        assert 1 <= len(row.candidates) <= 30
        assert row.candidates == world.answers(row.expression).ids.tolist()


def test_groundings_name_no_whole_and_no_unclear_middle(world: KnowledgeBase, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    rows = {
        "coast": ("sea:<s> -> [coast_on] -> country", "country", "On <s>?"),
        "part": ("sea:<s> -> [part_of] -> sea", "sea", "In <s>?"),
        "same": ("(mountain:<m> -> country -> mountain) - mountain:<m>", "mountain", "As <m>?"),
    }
    own.write_text(
        "".join(
            f"[[template]]\nid = '{name}'\nexpression = '{expression}'\nanswer = '{answer}'\nquestion = '{asked}'\n"
            for name, (expression, answer, asked) in rows.items()
        )
    )
    found: dict[str, set[str]] = {}
    for template in relational.templates(world, [str(own)]):
        frame = world.sample(template, 400, 1, 1, 400, "uniform")
        drawn = relational.groundings(world, template, frame)
        found[template.id] = {slot.name for row in drawn for slot in row.slots.values()}
    assert "Gulf of Guinea" in found["mine/coast"]
    assert "Atlantic Ocean" not in found["mine/coast"]
    assert "Mediterranean Sea" in found["mine/part"]
    assert len(found["mine/same"]) > 50
    assert found["mine/same"].isdisjoint(("Tupungato", "Mont Blanc"))  # in two countries each


def test_templates_with_many_groundings_make_up_for_others(world: KnowledgeBase, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        "[[template]]\nid = 'few'\nexpression = 'continent:<c> -> country'\nanswer = 'country'\nquestion = 'In <c>?'\n"
        "[[template]]\nid = 'many'\nexpression = 'country:<c> -> mountain'\nanswer = 'mountain'\nquestion = 'In <c>?'\n"
    )
    rows = relational.draw(world, relational.templates(world, [str(own)]), np.ones(40, np.int64), 0, (1, 60))
    counts = {name: sum(row.template == f"mine/{name}" for row in rows) for name in ("few", "many")}
    assert counts["few"] <= 7
    assert len(rows) == 40


@pytest.mark.core
@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The highest peak of the Alps.", {"Alps": "the Alps"}),
        ("It lies in the Teton Range.", {"Teton Range": "the Teton Range"}),
        ("A fortress (with a moat) stands.", {"fortress": "a fortress", "moat": "a moat"}),
        ("First climbed by Whymper in summer.", {"Whymper": "Whymper"}),
        (
            "A famous volcano observatory, above the tarn, known for moraines.",
            {"volcano observatory": "a volcano observatory", "moraines": "moraines"},
        ),
        ("The agency gathers statistics and searched for clues.", {"statistics": "statistics"}),
        ("The Andean peaks of French legend, and the Danes. Alps.", {"Danes": "the Danes"}),
        ("It is the story of a cover up by a senator.", {"senator": "a senator"}),
        ("The heir of the Byzantine and Ottoman Empires near Sparta.", {"Sparta": "Sparta"}),
        # No thing of its own: part of a longer noun, of a fixed phrase, or a pronoun.
        ("He carries a heroin stuffed doll.", {}),
        ("It is an immense rock and ice face.", {}),
        ("On a lark, loan sharks stop at nothing.", {}),
        ("They run the workforce themselves.", {}),
        ("Der Fluss, Berg und Tal.", {}),
        ("It is known, and was, 1975.", {}),
        ("of the in", {}),
        ("", {}),
    ],
)
def test_telling_phrases(world: KnowledgeBase, sentence: str, found: dict[str, str]) -> None:
    document = Document(0, "mountain", "k", "Some Name", (TextPassage("story", sentence),))
    matcher = Matcher(world)
    mentions = phrases.Mentions(matcher, [document])
    telling = phrases.telling_phrases(document, Role("r"), mentions, matcher, frozenset(), [], frozenset())
    assert {phrase.span.text: phrase.said for phrase in telling} == found
    for phrase in telling:
        assert sentence[phrase.span.start : phrase.span.end] == phrase.span.text
        assert mentions.mask(phrase.forms, [0]).tolist() == [True]
        assert mentions.find(phrase.forms, 0) == phrase.span


def test_a_description_mentions_common_nouns_by_chance(world: KnowledgeBase) -> None:
    passage = TextPassage("description", "A port near the Alps with museums.")
    document = Document(0, "city", "k", "Some Name", (passage,))
    matcher = Matcher(world)
    mentions = phrases.Mentions(matcher, [document])
    telling = phrases.telling_phrases(document, Role("r"), mentions, matcher, frozenset(), [], frozenset())
    assert [phrase.said for phrase in telling] == ["the Alps"]


def test_items_of_a_list_are_quoted(world: KnowledgeBase) -> None:
    matcher, text = Matcher(world), "avatar, blue people, moon, u.s. soldier, It has never been shown anywhere else"
    document = Document(0, "movie", "k", "Some Name", (TextPassage("keywords", text),))
    mentions = phrases.Mentions(matcher, [document])
    telling = phrases.telling_phrases(document, Role("r"), mentions, matcher, frozenset(), [], frozenset())
    assert {phrase.said for phrase in telling} == {"'avatar'", "'blue people'", "'moon'", "'u.s. soldier'"}


@pytest.mark.parametrize(
    ("text", "is_mentioned", "is_uncertain"),
    [
        ("Two detectives meet.", True, False),
        ("An investigator meets a suspect.", False, True),
        ("A farmer meets a nun.", False, False),
        ("He is on detective island.", True, True),
        ("The Marx Detectives meet.", True, True),
    ],
)
def test_other_words_for_a_term_are_uncertain(
    world: KnowledgeBase, text: str, is_mentioned: bool, is_uncertain: bool
) -> None:
    mentions = phrases.Mentions(Matcher(world), [Document(0, "t", "k", "n", (TextPassage("a", text),))])
    assert mentions.mask(mentions.forms("detective"), [0]).tolist() == [is_mentioned]
    phrase = phrases.Phrase(("detective",), Span("a", 0, 9, "detective"), "a detective", 1.0, "a detective")
    assert mentions.uncertain(phrase, [0]).tolist() == [is_uncertain]


def test_what_gives_the_answer_away_is_no_phrase(world: KnowledgeBase) -> None:
    text = "A mosque of Pakistan. A Pakistan mosque. Rupee notes show the Khyber Pass."
    document = Document(0, "currency", "PKR", "Pakistani rupee", (TextPassage("story", text),))
    matcher = Matcher(world)
    mentions = phrases.Mentions(matcher, [document])
    avoid = phrases.avoided(mentions, ["Pakistani rupee", "currency"])
    found = phrases.telling_phrases(
        document, Role("r"), mentions, matcher, avoid, ["Khyber Pass"], evidence.folded(["Pakistan"])
    )
    assert [phrase.span.text for phrase in found] == ["mosque"]


@pytest.mark.parametrize(
    ("phrase", "text", "is_mentioned"),
    [
        ("volcanic island", "Two Volcanic islands.", True),
        ("volcanic island", "An island, volcanic.", False),
        ("north western", "north-western winds", True),
        ("first climbed in 1953", "It was first climbed in 1953.", True),
        ("first climbed in 1953", "It was first climbed, and in 1953 again.", False),
        ("café", "CAFÉ society", True),
        ("a b", "a", False),
    ],
)
def test_mentions(world: KnowledgeBase, phrase: str, text: str, is_mentioned: bool) -> None:
    document = Document(0, "t", "k", "n", (TextPassage("a", "Nothing."), TextPassage("b", text)))
    mentions = phrases.Mentions(Matcher(world), [document])
    stems = mentions.forms(phrase)
    assert mentions.mask(stems, [0]).tolist() == [is_mentioned]
    assert (mentions.find(stems, 0) is not None) == is_mentioned


def test_conditions_hold_for_the_rows_that_they_name(world: KnowledgeBase) -> None:
    for node_type in ("mountain", "lake", "language", "organisation"):
        known = conditions.Conditions(world, node_type)
        every = world.answers(node_type).ids.tolist()
        whole = [None not in row for row in known.values(every).iter_rows()]
        ids = [node for node, has in zip(every, whole, strict=True) if has][:60]
        values = known.values(ids)
        options = ((gold, *one) for gold in range(len(ids)) for one in known.options(values, gold, 4))
        for gold, condition, mask in each(options, 5):
            assert mask[gold] or gold >= len(ids)
            kept = world.answers(f"{node_type}{{{condition.test}}}").ids.tolist()
            assert [node for node, has in zip(ids, mask, strict=True) if has] == [n for n in ids if n in kept]
            assert all(words.whose or words.modifier for words in condition.wordings)


def test_popularity_has_round_lower_bounds_that_leave_something_out(tmp_path: Path) -> None:
    rows = [f"f{n},film,F {n},{2_300 * n + 38}" for n in range(1, 21)]
    (tmp_path / "nodes.csv").write_text("\n".join(["key,type,name,downloads", *rows]) + "\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\nf1,likes,f2\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "f.kb", stores=LIGHT) as kb:
        known, ids = conditions.Conditions(kb, "film"), kb.answers("film").ids.tolist()
        options = [one for gold in range(20) for one in known.options(known.values(ids), gold, 3)]
        assert {condition.test for condition, _ in options} == {"downloads >= 20000"}
        assert all(mask.mean() <= 0.8 for _, mask in options)


@pytest.mark.parametrize(
    ("below", "bound", "are_years", "rounded"),
    [
        ([90.0], 1234.0, False, 1000.0),
        ([1100.0], 1234.0, False, 1200.0),
        ([120.5], 129.9, False, 125.0),
        ([1205.0], 1299.0, False, 1200.0),
        ([7.1], 7.46, False, 7.4),
        ([], 0.0, False, 0.0),
        ([90.0], 1234.0, True, 1230.0),
        ([1231.0], 1234.0, True, 1234.0),
    ],
)
def test_bounds_are_round(below: list[float], bound: float, are_years: bool, rounded: float) -> None:
    assert conditions._round_between(np.array(below), bound, are_years=are_years) == rounded


def test_ranges_of_years_are_not_long() -> None:
    intervals = [(1985.0, np.inf), (2005.0, np.inf), (1990.0, 1999.0), (-np.inf, 1999.0), (2010.0, 2019.0)]
    kept = [(2005.0, 2016.0), (1990.0, 1999.0), (-np.inf, 1999.0)]
    assert conditions._known_years(intervals, np.array([1927.0, 2016.0])) == kept


def test_a_value_that_is_missing_or_one_of_several_is_no_condition(tmp_path: Path) -> None:
    rows = ["a,tongue,A,Latin,3", "b,tongue,B,Latin|Arabic,4", "c,tongue,C,Arabic,5", "d,tongue,D,Arabic,"]
    rows += ["e,tongue,E,Arabic,2", "f,tongue,F,Arabic,2", "g,tongue,G,Arabic,6", "h,tongue,H,Arabic,6"]
    (tmp_path / "nodes.csv").write_text("\n".join(["key,type,name,script,letters", *rows]) + "\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,likes,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "g.kb") as kb:
        known, ids = conditions.Conditions(kb, "tongue"), kb.answers("tongue").ids.tolist()
        tests = {condition.attribute for condition, _ in known.options(known.values([*ids[:3], *ids[4:]]), 0, 1)}
        assert tests == {"letters"}
        assert not known.options(known.values(ids), 0, 1)


@pytest.mark.parametrize(("others", "few", "is_asked"), [("", 6, False), ("90", 6, True), ("90", 5, False)])
def test_a_bound_holds_for_several_nodes_and_chooses_among_some(
    others: str, few: int, is_asked: bool, tmp_path: Path
) -> None:
    values = ["80", "85", "3", "3", "3", "3", *others.split()]
    rows = [f"t{at},tongue,T {at},{value}" for at, value in enumerate(values)]
    (tmp_path / "nodes.csv").write_text("\n".join(["key,type,name,letters", *rows]) + "\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\nt0,likes,t1\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "g.kb") as kb:
        known, ids = conditions.Conditions(kb, "tongue"), kb.answers("tongue").ids.tolist()
        options = known.options(known.values(ids[:few]), 0, 2)
        assert bool(options) == is_asked
        assert all(mask.sum() > 1 for _, mask in options)


def test_conditions_are_checked_by_the_type_of_each_candidate(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name,size\na,cat,A,1\nb,cat,B,3\nc,dog,C,3\nd,dog,D,1\ne,fish,E,\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,likes,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "g.kb") as kb:
        nodes = kb.answers("*").ids.tolist()
        chooser = choose.Chooser(kb, Matcher(kb), read_documents(kb, nodes))
        wanted = textual.TextProperty("are big", "size", 0, 0, "", "size >= 2")
        for order in (nodes, nodes[::-1]):
            [mask] = chooser.masks(order, [wanted])
            assert {kb.node(n).key for n, has in zip(order, mask.tolist(), strict=True) if has} == {"b", "c"}


def test_flags_are_worded_as_what_holds(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        "key,type,name,is_toxic,has_c6_gb,is_safe\na,plant,A,1,0,2\nb,plant,B,0,1,1\nc,plant,C,1,1,0\n"
    )
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,likes,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "g.kb") as kb:
        known = conditions.Conditions(kb, "plant")
        nodes = kb.answers("plant").ids.tolist()
        for row, said in ((0, "are toxic"), (1, "are not toxic")):
            [(condition, mask)] = known.options(known.values(nodes), row, 1)
            [words] = condition.wordings
            assert words.several == said
            assert sorted(np.array(nodes)[mask]) == kb.answers(f"plant{{{condition.test}}}").ids.tolist()


@pytest.mark.parametrize(
    ("verb", "noun", "role", "said"),
    [
        ("star", "person", "actor", "share an actor with X"),
        ("do not star", "person", "actor", "do not star any of the same people as X"),
        ("belong to a film that stars", "person", "actor", "belong to a film that stars one of the same people as X"),
        ("do not lie in", "country", "", "do not lie in any of the same countries as X"),
        ("lie in", "country", "", "lie in a country that X lies in"),
        ("were written by", "person", "", "were written by one of the same people as X"),
    ],
)
def test_what_several_share_is_worded(verb: str, noun: str, role: str, said: str) -> None:
    first, *rest = verb.split(" ")
    one = " ".join([{"do": "does", "were": "was"}.get(first, f"{first}s"), *rest])
    clause = Clause(f"{one} the same {noun} as X", f"{verb} the same {noun} as X")
    [shared] = NounPhrase("thing", (clause,)).sharing(noun, "X", {"stars": role} if role else {}).clauses
    assert shared.plural == said
    [kept] = NounPhrase("thing", (clause,)).sharing(noun, "X", {}, are_several=False).clauses
    assert kept == clause


def test_only_things_that_one_chooses_are_recommended() -> None:
    rng = np.random.default_rng(0)

    def queries(noun: str) -> str:
        phrase = NounPhrase(noun, (Clause("is in Peru", "are in Peru"),))
        required = sentences.Requirements()
        return " ".join(sentences.sentences(phrase, required, "", rng)[1] for _ in range(300))

    assert "Recommend" in queries("movie")
    assert not re.search("Recommend|Suggest|Wanted|How about", queries("river"))


def test_sentences_have_their_parts_in_every_frame() -> None:
    known = sentences.frames()
    groups = [known.choice + known.things, known.predicate, known.relations, known.inverted]
    groups += [tuple(role[name]) for role in (*known.roles.values(), known.one) for name in role]
    assert sum(map(len, groups[:4])) >= 40
    for frame in (frame for group in groups for frame in group):
        names = set(re.findall(r"{(\w+)}", frame))
        assert names & {"things", "Things", "np", "noun", "kind"}
        assert frame[0].isupper() or frame.startswith("{Things}")
        assert frame[-1] in ".?" or frame == "{Things}"
        assert "np" not in names or "vp" in names


@pytest.mark.parametrize("like", answer_counts.published_targets())
@pytest.mark.parametrize("queries", [100, 1000])
def test_wanted_answers_have_the_distribution_of_the_paper(like: str, queries: int) -> None:
    target = answer_counts.target_of(like)
    counts = target.counts(queries, target.max_answers)
    assert len(counts) == queries
    assert counts.min() == 1
    assert counts.max() <= target.max_answers
    assert (counts > 1).mean() == pytest.approx(target.several, abs=0.01)
    assert counts.mean() == pytest.approx(target.mean, rel=0.02)


def test_selection_comes_close_to_the_wanted_answers() -> None:
    counts = [1] * 80 + [2] * 10 + [5] * 10
    chosen = answer_counts.select(counts, np.array([1] * 10 + [2] * 4 + [6] * 6))
    assert Counter(counts[at] for at in chosen) == {1: 10, 2: 4, 5: 6}
    assert answer_counts.select([3], np.array([1, 1])) == [0]


def test_selection_limits_what_queries_have_in_common() -> None:
    counts = [1] * 6 + [4] * 6
    of_one_template = np.arange(12) % 2 == 0
    share = answer_counts.Share(of_one_template, 2, 2 * answer_counts.ONE_OR_SEVERAL)
    chosen = answer_counts.select(counts, np.array([1, 1, 1, 4, 4, 4]), [share])
    assert of_one_template[chosen].sum() == 2
    assert Counter(counts[at] for at in chosen) == {1: 3, 4: 3}
    chosen = answer_counts.select(counts, np.array([1] * 12), [share])
    assert len(chosen) == 12  # there are no others
    mild = answer_counts.Share(of_one_template, 2, 1.0)
    assert of_one_template[answer_counts.select(counts, np.array([1] * 5), [mild])].sum() == 2


def test_a_query_with_one_answer_may_be_worded_for_one_thing() -> None:
    known = {"known": "famous", "said": "brass bands", "one": "is famous for brass bands"}
    others = known | {"said": "plum brandy", "one": "is famous for plum brandy"}
    properties = [textual.TextProperty("plum brandy", "description", 9, 20, "", "", others),
                  textual.TextProperty("brass bands", "description", 30, 41, "", "", known)]  # fmt: skip
    required = sentences.requirements(properties, "description", np.random.default_rng(0))
    assert required.one == "is famous for brass bands and plum brandy"  # in another order than in the text
    phrase = NounPhrase("country", (Clause("borders Greece", "border Greece", "bordering Greece"),))
    rng = np.random.default_rng(1)
    said = {sentences.sentences(phrase, required, "", rng, is_one=True)[1] for _ in range(200)}
    assert "Which country bordering Greece is famous for brass bands and plum brandy?" in said
    assert "Which countries bordering Greece are famous for brass bands and plum brandy?" in said
    assert not any("country" in one and " are " in one for one in said)


def test_queries_do_not_name_most_of_their_answers(tmp_path: Path) -> None:
    makes = {"Honda": ["civic", "accord", "prelude"], "Ford": ["pinto", "maverick", "torino"]}
    nodes = [("make", name, name) for name in makes]
    nodes += [("car", model, f"{make} {model}" if make == "Honda" else model)
              for make, models in makes.items() for model in models]  # fmt: skip
    edges = [("car", model, "made_by", "make", make) for make, models in makes.items() for model in models]
    frame = pl.DataFrame(nodes, schema=["type", "key", "name"], orient="row")
    columns = ["head_type", "head", "relation", "tail_type", "tail"]
    with kbkit.from_frames(frame, pl.DataFrame(edges, schema=columns, orient="row"), out=tmp_path / "c.kb") as kb:
        [template] = [one for one in relational.templates(kb, ["suggest"]) if one.answer == "car"]
        drawn = relational.draw(kb, [template], np.ones(4, np.int64), 0, (1, 50))
        assert {slot.name for one in drawn for slot in one.slots.values()} == {"Ford"}


@pytest.mark.parametrize(("several", "mean"), [(1.2, 3), (-0.1, 3), (0.5, 1.2), (0.0, 2.0)])
def test_impossible_targets(several: float, mean: float) -> None:
    with pytest.raises(KbError):
        answer_counts.Target(several, mean)


def test_position_of_a_quotation() -> None:
    document = Document(0, "t", "k", "n", (TextPassage("a", "Nothing."), TextPassage("b", "A Red house.")))
    assert verify.quoted(document, "Red house") == Span("b", 2, 11, "Red house")
    assert verify.quoted(document, " red HOUSE ") == Span("b", 2, 11, "Red house")
    assert verify.quoted(document, "blue house") is None
    assert verify.quoted(document, "") is None


def test_an_answer_that_is_missing_loses_no_query() -> None:
    """Models answer every input; without this check, the last queries would vanish."""
    query = {
        Grounding: SimpleNamespace(question="Which drug?"),
        Requirement: SimpleNamespace(category="drug", properties=[], negative=[]),
    }
    calls = SimpleNamespace(ask=lambda name, inputs: [])
    with pytest.raises(ValueError, match="zip"):
        products.fused(calls, [query], [Role("a chemist")])  # type: ignore[arg-type, list-item]
