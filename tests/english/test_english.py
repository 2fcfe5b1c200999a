"""English for relations and expressions: verb phrases, plurals, articles, noun phrases."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit import english
from kbkit.answers.parse import parse
from kbkit.answers.templates import shipped
from kbkit.answers.wording import noun_phrase
from kbkit.english.clauses import Clause
from kbkit.english.descriptions import descriptions
from kbkit.english.names import written_name
from kbkit.english.noun_phrases import NounPhrase, either
from kbkit.ingestion import recipe as recipes
from kbkit.kb import KnowledgeBase
from tests.loops import each


def test_clauses_are_joined_by_or_and_by_and_if_they_are_negated() -> None:
    clauses = Clause("flies", "fly", "flying"), Clause("swims", "swim", "swimming")
    assert either(clauses) == Clause("flies or swims", "fly or swim", "flying or swimming")
    assert either(clauses, is_negated=True) == Clause("flies and swims", "fly and swim", "flying and swimming")
    assert either(clauses[:1]) is clauses[0]


@pytest.mark.core
@pytest.mark.parametrize(
    ("label", "one", "several", "negated", "inverse"),
    [
        ("cites", "cites", "cite", "do not cite", "are cited by"),
        ("directed", "directed", "directed", "did not direct", "were directed by"),
        ("wrote", "wrote", "wrote", "did not write", "were written by"),
        ("acted in", "acted in", "acted in", "did not act in", None),
        ("flows into", "flows into", "flow into", "do not flow into", None),
        ("is a member of", "is a member of", "are members of", "are not members of", None),
        ("has the genre", "has the genre", "have the genre", "do not have the genre", "are genres of"),
        ("hypernym", "has {} as a hypernym", "have {} as a hypernym", "do not have {} as a hypernym",
         "are hypernyms of"),
        ("has_part", "has {} as a part", "have {} as a part", "do not have {} as a part", "are parts of"),
        ("part_of", "is part of", "are part of", "are not part of", None),
        ("isa", "is a kind of", "are kinds of", "are not kinds of", None),
        ("located_in", "is located in", "are located in", "are not located in", None),
        ("similar_to", "is similar to", "are similar to", "are not similar to", None),
        ("interacts_with", "interacts with", "interact with", "do not interact with", None),
        ("interact with", "interacts with", "interact with", "do not interact with", None),
        ("result_of", "is a result of", "are results of", "are not results of", None),
        ("conceptually_related_to", "is conceptually related to", "are conceptually related to",
         "are not conceptually related to", None),
        ("has the official or national language", "has the official or national language",
         "have the official or national language", "do not have the official or national language",
         "are official or national languages of"),
        ("can cause", "can cause", "can cause", "cannot cause", None),
        ("co-occurs_with", "co-occurs with", "co-occur with", None, None),
    ],
)  # fmt: skip
def test_verb_phrases(label: str, one: str, several: str, negated: str | None, inverse: str | None) -> None:
    found = english.verb_phrase(label)
    assert found is not None
    assert (found.singular, found.plural) == (one, several)
    assert negated is None or found.negated(is_plural=True) == negated
    back = found.inverse()
    assert (back and back.plural) == inverse


@pytest.mark.parametrize(
    ("label", "one", "inverse"),
    [
        ("directed_by", "was directed by", "directed"),
        ("written_by", "was written by", "wrote"),
        ("affected_by", "is affected by", "affects"),
        ("has_tags", "has {} as a tag", "is a tag of"),
        ("has_imdb_rating", "has {} as an imdb rating", "is an imdb rating of"),
        ("in_language", "is in the language", None),
        ("placeOfBirth", "has {} as a place of birth", "is a place of birth of"),
        ("born_in", "was born in", None),
    ],
)
def test_labels_of_other_graphs(label: str, one: str, inverse: str | None) -> None:
    found = english.verb_phrase(label)
    assert found is not None
    assert found.singular == one
    back = found.inverse()
    assert (back and back.singular) == inverse


@pytest.mark.parametrize("label", ["also_see", "expression absent", "member_of_domain_region"])
def test_labels_that_do_not_read_well(label: str) -> None:
    assert english.verb_phrase(label) is None


@pytest.mark.parametrize(
    ("noun", "several", "with_article"),
    [
        ("country", "countries", "a country"),
        ("person", "people", "a person"),
        ("field of study", "fields of study", "a field of study"),
        ("gene or protein", "genes or proteins", "a gene or protein"),
        ("analysis", "analyses", "an analysis"),
        ("species", "species", "a species"),
        ("hour", "hours", "an hour"),
        ("university", "universities", "a university"),
        ("umbrella", "umbrellas", "an umbrella"),
        ("unusual case", "unusual cases", "an unusual case"),
        ("Ukrainian film", "Ukrainian films", "a Ukrainian film"),
        ("honest man", "honest men", "an honest man"),
        ("one-way street", "one-way streets", "a one-way street"),
        ("FBI agent", "FBI agents", "an FBI agent"),
        ("8-hour film", "8-hour films", "an 8-hour film"),
        ("official or national language", "official or national languages", "an official or national language"),
        ("European city", "European cities", "a European city"),
    ],
)
def test_nouns(noun: str, several: str, with_article: str) -> None:
    assert english.plural(noun) == several
    assert english.with_article(noun) == with_article


@pytest.mark.parametrize(
    ("name", "node_type", "article", "text"),
    [
        ("Danube", "river", "the", "the Danube"),
        ("The Beatles", "band", "the", "The Beatles"),
        ("Czech Republic", "country", "", "the Czech Republic"),
        ("USA", "country", "", "the USA"),
        ("France", "country", "", "France"),
        ("College of Arts", "institution", "", "the College of Arts"),
        ("dry season", "keyword", "", "'dry season'"),
        ("1990s", "keyword", "", "'1990s'"),
        ("women's rights", "keyword", "", '"women\'s rights"'),
        ("Heat", "movie", "", "'Heat'"),
        ("United States", "entity", "", "the United States"),
        ("German Empire", "entity", "", "the German Empire"),
        ("Nobel Prize in Chemistry", "entity", "", "the Nobel Prize in Chemistry"),
        ("University of Paris", "entity", "", "the University of Paris"),
        ("Trinity College", "entity", "", "Trinity College"),
        ("Greater Caucasus", "region", "", "the Greater Caucasus"),
        ("HYACINTH BEAMON", "guest", "", "Hyacinth Beamon"),
        ("BO RAY", "reservation", "the reservation of", "the reservation of Bo Ray"),
        ("IBM UK", "company", "", "IBM UK"),
        ("HEAT WAVE", "movie", "", "'HEAT WAVE'"),
        ("2012", "movie", "", "'2012'"),
        ("2012", "year", "", "2012"),
    ],
)
def test_names(name: str, node_type: str, article: str, text: str) -> None:
    assert written_name(name, node_type, article) == text


def phrase(kb: KnowledgeBase, expression: str) -> NounPhrase | None:
    return noun_phrase(kb.session.resolved(parse(expression), expression), kb.schema)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("country:<c> -> mountain", "mountains in <c>"),
        ("river:<r> -> sea", "seas that <r> flows into"),
        ("sea:<s> -> river", "rivers that flow into <s>"),
        ("country:<c> -> city", "cities that are capitals of <c>"),
        ("river:<r> -> country -> city",
         "cities that are each the capital of a country that <r> flows through or along"),
        ("country:<c> -> organisation", "organisations with <c> as a member"),
        ("country:<c> -> currency", "currencies used in <c>"),
        ("mountain:<m> -> country -> mountain - mountain:<m>", "other mountains in the same country as <m>"),
        ("river:<r> -> country -> lake", "lakes in a country that <r> flows through or along"),
        ("organisation:<o> -> country <- sea:<s>", "countries that are members of <o> and have a coast on <s>"),
        ("country - (organisation:<o> -> country)", "countries that are not members of <o>"),
        ("(sea:<s> -> country) - (organisation:<o> -> country)",
         "countries that have a coast on <s> but are not members of <o>"),
        ("sea:<s> -> [!coast_on] -> country", "countries that do not have a coast on <s>"),
        ("(sea:<s> -> country) & (country:<c> -> [borders] -> country)",
         "countries that have a coast on <s> and have a land border with <c>"),
        ("country:<c> -> [borders*] -> country", None),
        ("(country:<c> -> sea) | (country:<d> -> sea)", None),
        ("country", None),
        ("(mountain:<m> -> country) - country#FRA", None),
    ],
)  # fmt: skip
def test_noun_phrases(world: KnowledgeBase, expression: str, text: str | None) -> None:
    found = phrase(world, expression)
    if text is None:
        assert found is None or not found.clauses
    else:
        assert found is not None
        assert found.text(is_plural=True, reduce=True) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("person:<p> -> [order{quantity = 2}] -> drug", "drugs that are orders of <p> with quantity 2"),
        (
            "person:<p> -> [order{quantity >= <n>, source = 'pharmacy'}] -> drug",
            "drugs that are orders of <p> with a quantity of at least <n> and source pharmacy",
        ),
        ("person -> [order{quantity = 2}] -> drug", None),  # the quantity of the person
        ("person:<p> -> [order{since = 2021}] -> drug", None),
        ("drug - (person:<p> -> [order{quantity = 2}] -> drug)", None),
        ("person:<p> -> [order{quantity = 2}] -> drug -> [order] -> person", None),  # of the drugs with the quantity
    ],
)
def test_conditions_on_edges(small: KnowledgeBase, expression: str, text: str | None) -> None:
    found = phrase(small, expression)
    assert (found and found.text(is_plural=True)) == text


def test_a_relation_takes_its_phrases_from_the_recipe(tmp_path: Path) -> None:
    recipe = shutil.copytree(recipes.load("table").folder, tmp_path / "recipe")
    with (recipe / "recipe.toml").open("a", encoding="utf-8") as file:
        file.write(
            '\n[types.gene]\narticle = "the"\n'
            '[relations.target]\nphrases = { drug = "targets", gene = "is targeted by" }\n'
            '[relations.likes]\nphrases = { tail = "is a favourite of" }\n'
        )
    data = tmp_path / "data"
    data.mkdir()
    (data / "nodes.csv").write_text("key,type,name\nG,gene,G\nD,drug,D\nE,drug,E\n")
    (data / "edges.csv").write_text("head,relation,tail\nD,target,G\nG,target,D\nD,likes,E\n")
    with kbkit.ingest(str(recipe), data, out=tmp_path / "g.kb") as kb:
        assert kb.schema.type("gene").article == "the"
        assert phrase(kb, "gene:<g> -> drug").text(is_plural=True) == "drugs that target <g>"  # type: ignore[union-attr]
        assert phrase(kb, "drug:<d> -> gene").text(is_plural=False) == "gene that is targeted by <d>"  # type: ignore[union-attr]
        favourites = phrase(kb, "drug:<d> -> [likes] -> drug")
        assert favourites is not None
        assert favourites.text(is_plural=True) == "drugs that are favourites of <d>"


@pytest.mark.parametrize(
    ("clauses", "text"),
    [
        (["worked as <job>"], "physicists"),
        (["worked as <job>", "were born in <place>"], "physicists who were born in Ulm"),
        (["worked as <job>", "worked as <other>"], "physicists who are also poets"),
        (["were born in <place>", "did not work as <job>"], "people who were born in Ulm but are not physicists"),
        (["were married to people who worked as <job>"], "people who were married to physicists"),
    ],
)
def test_jobs_are_nouns(clauses: list[str], text: str) -> None:
    names = {"job": "a physicist", "other": "'poet'", "place": "Ulm"}
    phrase = NounPhrase("person", tuple(Clause(clause, clause) for clause in clauses)).filled(names)
    assert phrase.text(is_plural=True) == text


def test_a_chain_through_one_thing_says_so() -> None:
    several = Clause("lies in a country that <x> flows through", "lie in countries that <x> flows through")
    clause = replace(several, plural="lie in a country that <x> flows through", others=(several,))
    phrase = NounPhrase("lake", (clause,)).of_one("country")
    assert phrase.text(is_plural=True) == "lakes that lie in the country that <x> flows through"
    assert phrase.clauses[0].others == ()
    phrase = NounPhrase("lake", (clause,)).of_one("country", is_only=False)
    assert phrase.text(is_plural=True) == "lakes that lie in a country that <x> flows through"
    assert phrase.clauses[0].others == ()


def test_a_clause_does_not_follow_a_name_that_it_would_describe() -> None:
    bordering = Clause("borders Laos", "border Laos", "next to Laos", is_alike=True)
    joined = Clause("has joined the League", "have joined the League", "belonging to the League")
    on_sea = Clause("the sea lies in", "the sea lies in", "on the sea", is_subject=False)
    for clauses, text in [
        ((bordering,), "countries next to Laos"),
        ((bordering, joined), "countries that border Laos and have joined the League"),
        ((bordering, on_sea), "countries that border Laos and are on the sea"),
        ((on_sea, joined), "countries on the sea that have joined the League"),
    ]:
        assert NounPhrase("country", clauses).text(is_plural=True, reduce=True) == text


def test_works_are_not_of_a_genre_by_its_noun() -> None:
    horror, comedy = (Clause("", f"are not in the {genre} genre") for genre in ("Horror", "Comedy"))
    assert NounPhrase("movie", (horror,)).text(is_plural=True) == "movies that are not horror movies"
    assert NounPhrase("film", (comedy,)).text(is_plural=True) == "films that are not comedies"


def test_given_phrases_name_the_slots_of_their_templates() -> None:
    for template in each(shipped()):
        if template.phrase:
            noun, predicate = template.phrase.split(": ")
            assert noun
            assert {part.split(">")[0] for part in predicate.split("<")[1:]} == {
                part.split(">")[0] for part in template.question.split("<")[1:]
            }


def test_the_dictionary_is_searched_as_the_library_reads_it() -> None:
    """The library's own reader of its files gives the same entries, and it does read them."""
    from lemminflect import config
    from lemminflect.codecs.InflectionLUCodec import InflectionLUCodec
    from lemminflect.codecs.LemmaLUCodec import LemmaLUCodec

    from kbkit.english.dictionary import dictionary

    library = dictionary()
    searched = ((library.Lemmatizer().lemma_dict, LemmaLUCodec.load(config.lemma_lu_fn)),
                (library.Inflections().infl_dict, InflectionLUCodec.load(config.inflection_lu_fn)))  # fmt: skip
    for found, read in searched:
        some = [*read][::40]
        assert len(some) > 800
        assert {word: found.get(word) for word in some} == {word: read[word] for word in some}
        assert found.get("xyzzyq", {}) == {}
    assert library.getAllLemmas("Flows") == {"NOUN": ("Flow",), "VERB": ("Flow",)}
    assert library.getInflection("can", "VBD") == ("could",)


@pytest.mark.parametrize(
    ("text", "noun", "said"),
    [
        ("The highest mountain of the Atlas and of North Africa.", "mountain",
         ["the highest mountain of the Atlas and of North Africa"]),
        ("Capital of Angola on the Atlantic, founded by the Portuguese in 1576.", "city",
         ["the city founded by the Portuguese in 1576"]),
        ("A mountain that rises steeply above the Hunza valley, in snow.", "mountain",
         ["the mountain that rises steeply above the Hunza valley"]),
        ("Ann Lee crossed the Gobi on foot.", "player", ["the player who crossed the Gobi on foot"]),
        ("A port with cliffs. Ships like it.", "city", []),
        ("The largest country in the world by area.", "country", []),
        ("A country known for its cuisine.", "country", []),
    ],
)  # fmt: skip
def test_clauses_that_describe_one_thing(text: str, noun: str, said: list[str]) -> None:
    found = list(descriptions(text, noun, "Ann Lee"))
    assert [one.said for one in found] == said
    assert all(one.said.endswith(text[one.start : one.end].removeprefix("The ")) for one in found)


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "predicates"),
    [
        ("A port, famous for pearl fishing, with cliffs.",
         [("is famous for pearl fishing", "are famous for pearl fishing", "famous for pearl fishing")]),
        ("A city founded by the Romans.",
         [("was founded by the Romans", "were founded by the Romans", "founded by the Romans")]),
        ("A lake that is frozen throughout the year.",
         [("is frozen throughout the year", "are frozen throughout the year", "")]),
        ("A river that drowned the town of Mologa.",
         [("drowned the town of Mologa", "drowned the town of Mologa", "")]),
        ("The highest thing of Malta.", [("", "", "")]),
        ("The largest island of Malta.", []),
        ("A coin not divided into farthings.", []),
        ("A fort of Malta, in a part known for salt.", []),
        ("A sea that tankers leave for the open ocean.", [("", "", "")]),
        ("A state of coral islands largely destroyed by storms.",
         [("was largely destroyed by storms", "were largely destroyed by storms", "largely destroyed by storms")]),
        ("A town narrowly divided by a river.", []),
        ("A coin divided into 1,000 milles.", []),
    ],
)  # fmt: skip
def test_clauses_are_predicates(text: str, predicates: list[tuple[str, str, str]]) -> None:
    assert [one.predicates for one in descriptions(text, "thing")] == predicates


@pytest.mark.core
def test_genres_are_adjectives_and_nouns() -> None:
    of_genre = Clause("belongs to the genre <g>", "belong to the genre <g>", others=(Clause("", "", before="<g>"),))
    by = Clause("was directed by Ang Lee", "were directed by Ang Lee")
    texts = {}
    for genre in ("History", "Comedy", "Anime"):
        phrase = NounPhrase("movie", (of_genre, by)).filled({"g": genre}).varied(np.random.default_rng(0))
        texts[genre] = phrase.text(is_plural=True)
    assert texts == {
        "History": "historical movies that were directed by Ang Lee",
        "Comedy": "comedies that were directed by Ang Lee",
        "Anime": "Anime movies that were directed by Ang Lee",
    }
