"""Names with several meanings: the rarer one is no answer, unless a word says it."""

from __future__ import annotations

from kbkit.kb import KnowledgeBase

NAME, SCRIPT = (
    "cinema",
    """
CREATE TABLE film (film_id INTEGER PRIMARY KEY, title TEXT, tint TEXT);
INSERT INTO film VALUES (1, 'Dusk', 'sepia'), (2, 'Reef', 'sepia'), (3, 'Tide', 'vivid'), (4, 'Moor', 'sepia');
CREATE TABLE keyword (keyword_id INTEGER PRIMARY KEY, keyword TEXT);
INSERT INTO keyword VALUES (1, 'sepia'), (2, 'storm'), (3, 'harbour');
CREATE TABLE film_keyword (film_id INTEGER REFERENCES film, keyword_id INTEGER REFERENCES keyword);
INSERT INTO film_keyword VALUES (3, 1), (1, 2), (2, 2), (4, 3), (3, 3);
""",
)
KEYWORD = 'keyword:"sepia"'


def test_the_rarer_meaning_is_no_answer(kb: KnowledgeBase) -> None:
    result = kb.ask("Which films are sepia?")
    assert not (result.is_sure and KEYWORD in result.expression)


def test_a_word_says_which_meaning(kb: KnowledgeBase) -> None:
    result = kb.ask("Which films have the keyword sepia?")
    assert result.is_sure
    assert result.nodes()["name"].to_list() == ["Tide"]
