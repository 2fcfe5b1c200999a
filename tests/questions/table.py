"""Questions in English with the SQL that answers them, written from the data and not from what kbkit reads.

``e`` are the edges with names (``head``, ``r``, ``tail``) their ids, and the type of the head (``h``).
"""

from __future__ import annotations

from typing import Any

from kbkit.kb import KnowledgeBase

EDGES = """
WITH e AS (
    SELECT a.name AS head, a.type AS h, a.id AS head_id, edges.relation AS r, b.name AS tail, b.id AS tail_id
    FROM edges JOIN nodes a ON a.id = edges.head JOIN nodes b ON b.id = edges.tail
)
"""
_THROUGH = "SELECT head FROM e WHERE r = 'flows_through' AND tail = "
_BORDERS = "SELECT tail FROM e WHERE r = 'borders' AND head = "

WORLD: dict[str, tuple[str, str]] = {
    # -- one hop ------------------------------------------------------------------------------------------------------
    "forward": ("What is the capital of Nepal?", "SELECT tail FROM e WHERE r = 'capital' AND head = 'Nepal'"),
    "backward": ("Which rivers flow through Peru?", f"{_THROUGH}'Peru'"),
    "symmetric": ("Which countries border France?", f"{_BORDERS}'France'"),
    "passive": (
        "What languages are spoken in Switzerland?",
        "SELECT tail FROM e WHERE r = 'speaks' AND head = 'Switzerland'",
    ),
    "passive, backward": ("Which countries are bordered by Chad?", f"{_BORDERS}'Chad'"),
    "preposition first": (
        "Into which sea does the Danube flow?",
        "SELECT tail FROM e WHERE r = 'flows_into' AND head = 'Danube'",
    ),
    "type of one of two signatures": (
        "Which mountains lie in Nepal?",
        "SELECT head FROM e WHERE r = 'lies_in' AND tail = 'Nepal' AND h = 'mountain'",
    ),
    "noun for a relation": (
        "Which currency is used in Japan?",
        "SELECT tail FROM e WHERE r = 'uses_currency' AND head = 'Japan'",
    ),
    "members": (
        "Which countries are members of the African Union?",
        "SELECT head FROM e WHERE r = 'member_of' AND tail = 'African Union'",
    ),
    "possessive": ("What are Nepal's languages?", "SELECT tail FROM e WHERE r = 'speaks' AND head = 'Nepal'"),
    "no question": ("rivers of Peru", f"{_THROUGH}'Peru'"),
    "an order": (
        "List all mountains in Nepal",
        "SELECT head FROM e WHERE r = 'lies_in' AND tail = 'Nepal' AND h = 'mountain'",
    ),
    # -- names --------------------------------------------------------------------------------------------------------
    "lower case": ("which rivers flow through peru", f"{_THROUGH}'Peru'"),
    "upper case": ("WHICH RIVERS FLOW THROUGH PERU?", f"{_THROUGH}'Peru'"),
    "underscores": ("Which countries border Burkina_Faso?", f"{_BORDERS}'Burkina Faso'"),
    "misspelled": ("Which rivers flow through Venezeula?", f"{_THROUGH}'Venezuela'"),
    "plural name": ("Which countries use euros?", "SELECT head FROM e WHERE r = 'uses_currency' AND tail = 'Euro'"),
    "type beside a name": (
        "Which countries does the river Danube flow through?",
        "SELECT tail FROM e WHERE r = 'flows_through' AND head = 'Danube'",
    ),
    "name in a name": ("Which countries border South Africa?", f"{_BORDERS}'South Africa'"),
    # -- more hops ----------------------------------------------------------------------------------------------------
    "two hops": (
        "What are the capitals of the countries that the Danube flows through?",
        "SELECT DISTINCT c.tail FROM e JOIN e c ON c.head_id = e.tail_id AND c.r = 'capital'"
        " WHERE e.r = 'flows_through' AND e.head = 'Danube'",
    ),
    "two hops, the second from a type": (
        "Which languages are spoken in countries that border Peru?",
        "SELECT DISTINCT s.tail FROM e JOIN e s ON s.head_id = e.tail_id AND s.r = 'speaks'"
        " WHERE e.r = 'borders' AND e.head = 'Peru'",
    ),
    "three hops": (
        "Which languages are spoken in the countries on the coast of the sea that the Danube flows into?",
        "SELECT DISTINCT s.tail FROM e JOIN e c ON c.tail_id = e.tail_id AND c.r = 'coast_on'"
        " JOIN e s ON s.head_id = c.head_id AND s.r = 'speaks' WHERE e.r = 'flows_into' AND e.head = 'Danube'",
    ),
    "two hops from a city": (
        "What is the currency of the country whose capital is Tokyo?",
        "SELECT u.tail FROM e JOIN e u ON u.head_id = e.head_id AND u.r = 'uses_currency'"
        " WHERE e.r = 'capital' AND e.tail = 'Tokyo'",
    ),
    "forward and back": (
        "Which countries share a language with Portugal?",
        "SELECT DISTINCT s.head FROM e JOIN e s ON s.tail_id = e.tail_id AND s.r = 'speaks' AND s.head <> 'Portugal'"
        " WHERE e.r = 'speaks' AND e.head = 'Portugal'",
    ),
    # -- sets ---------------------------------------------------------------------------------------------------------
    "both": (
        "Which rivers flow through both Germany and Austria?",
        f"{_THROUGH}'Germany' INTERSECT {_THROUGH}'Austria'",
    ),
    "three names": (
        "Which rivers flow through Germany, Austria and Hungary?",
        f"{_THROUGH}'Germany' INTERSECT {_THROUGH}'Austria' INTERSECT {_THROUGH}'Hungary'",
    ),
    "two relations": (
        "Which countries in Africa speak Portuguese?",
        "SELECT head FROM e WHERE r = 'in_continent' AND tail = 'Africa'"
        " INTERSECT SELECT head FROM e WHERE r = 'speaks' AND tail = 'Portuguese'",
    ),
    "two relations, more words": (
        "Which countries in South America have a coast on the Pacific Ocean?",
        "SELECT head FROM e WHERE r = 'in_continent' AND tail = 'South America'"
        " INTERSECT SELECT head FROM e WHERE r = 'coast_on' AND tail = 'Pacific Ocean'",
    ),
    "or": ("Which rivers flow through Peru or Ecuador?", f"{_THROUGH}'Peru' UNION {_THROUGH}'Ecuador'"),
    "but not": (
        "Which rivers flow through Germany but not Austria?",
        f"{_THROUGH}'Germany' EXCEPT {_THROUGH}'Austria'",
    ),
    "do not": ("Which rivers do not flow through Germany?", f"SELECT name FROM river EXCEPT {_THROUGH}'Germany'"),
    "two relations and do not": (
        "Which countries in South America do not speak Spanish?",
        "SELECT head FROM e WHERE r = 'in_continent' AND tail = 'South America'"
        " EXCEPT SELECT head FROM e WHERE r = 'speaks' AND tail = 'Spanish'",
    ),
    # -- numbers ------------------------------------------------------------------------------------------------------
    "superlative of a type": ("What is the longest river?", "SELECT name FROM river ORDER BY length_km DESC LIMIT 1"),
    "superlative of neighbours": (
        "What is the highest mountain in Nepal?",
        "SELECT head FROM e JOIN mountain m ON m.id = head_id WHERE r = 'lies_in' AND tail = 'Nepal'"
        " ORDER BY height_m DESC LIMIT 1",
    ),
    "bound on the superlative of neighbours": (
        "countries whose longest river is over 3000 km",
        "SELECT DISTINCT tail FROM e JOIN river ON river.id = head_id WHERE r = 'flows_through' AND length_km > 3000",
    ),
    "superlative over two hops": (
        "What is the longest river in Africa?",
        "SELECT DISTINCT e.head, length_km FROM e JOIN e c ON c.head_id = e.tail_id AND c.tail = 'Africa'"
        " JOIN river ON river.id = e.head_id WHERE e.r = 'flows_through' ORDER BY length_km DESC LIMIT 1",
    ),
    "superlative before a hop": (
        "What is the capital of the largest country?",
        "SELECT tail FROM e JOIN country ON country.id = head_id WHERE r = 'capital' ORDER BY area_km2 DESC LIMIT 1",
    ),
    "most": (
        "Which country has the most rivers?",
        "SELECT tail FROM e WHERE r = 'flows_through' GROUP BY tail ORDER BY count(*) DESC LIMIT 1",
    ),
    "most, back to the type": (
        "Which country borders the most countries?",
        "SELECT head FROM e WHERE r = 'borders' GROUP BY head QUALIFY rank() OVER (ORDER BY count(*) DESC) = 1",
    ),
    "neighbours": ("Which countries are neighbours of Peru?", f"{_BORDERS}'Peru'"),
    "count": ("How many countries border Germany?", "SELECT count(*) FROM e WHERE r = 'borders' AND head = 'Germany'"),
    "count backward": (
        "How many rivers flow through Brazil?",
        "SELECT count(*) FROM e WHERE r = 'flows_through' AND tail = 'Brazil'",
    ),
    "count of a comparison": (
        "How many mountains are higher than 8000 m?",
        "SELECT count(*) FROM mountain WHERE height_m > 8000",
    ),
    "how long": ("How long is the Danube?", "SELECT length_km FROM river WHERE name = 'Danube'"),
    "how deep": ("How deep is Lake Baikal?", "SELECT max_depth_m FROM lake WHERE name ILIKE '%Baikal%'"),
    "when": (
        "When was NATO founded?",
        "SELECT founded FROM organisation WHERE name = 'North Atlantic Treaty Organization'",
    ),
    "attribute": ("What is the official name of Greece?", "SELECT official_name FROM country WHERE name = 'Greece'"),
    "attribute over a hop": (
        "How high are the mountains of Nepal?",
        "SELECT DISTINCT height_m FROM e JOIN mountain m ON m.id = head_id WHERE r = 'lies_in' AND tail = 'Nepal'",
    ),
    "total": (
        "What is the total area of the countries in Europe?",
        "SELECT sum(area_km2) FROM e JOIN country ON country.id = head_id WHERE r = 'in_continent' AND tail = 'Europe'",
    ),
    "average": (
        "What is the average length of the rivers in France?",
        "SELECT avg(length_km) FROM e JOIN river ON river.id = head_id WHERE r = 'flows_through' AND tail = 'France'",
    ),
    "longer than": ("Which rivers are longer than 3000 km?", "SELECT name FROM river WHERE length_km > 3000"),
    "longer than, with a comma": (
        "Which rivers are longer than 3,000 km?",
        "SELECT name FROM river WHERE length_km > 3000",
    ),
    "higher than, of neighbours": (
        "Which mountains in Nepal are higher than 8000 m?",
        "SELECT head FROM e JOIN mountain m ON m.id = head_id WHERE r = 'lies_in' AND tail = 'Nepal'"
        " AND height_m > 8000",
    ),
    "more than": (
        "Which countries border more than 8 countries?",
        "SELECT head FROM e WHERE r = 'borders' GROUP BY head HAVING count(*) > 8",
    ),
    "more than, other type": (
        "Which countries speak more than 3 languages?",
        "SELECT head FROM e WHERE r = 'speaks' GROUP BY head HAVING count(*) > 3",
    ),
    "a fraction": ("Which rivers are shorter than 300.5 km?", "SELECT name FROM river WHERE length_km < 300.5"),
    "a fraction of a number of neighbours": (
        "Which countries border more than 8.5 countries?",
        "SELECT head FROM e WHERE r = 'borders' GROUP BY head HAVING count(*) > 8.5",
    ),
    "since a year": (
        "Which organisations were founded since 1991?",
        "SELECT name FROM organisation WHERE founded >= 1991",
    ),
    "after a year": (
        "Which organisations were founded after 1990?",
        "SELECT name FROM organisation WHERE founded > 1990",
    ),
}

_ORDERS = "SELECT DISTINCT tail FROM e WHERE r = 'order' AND head = 'Zoë Müller'"
TINY: dict[str, tuple[str, str]] = {
    "two nodes of a name": ("Which drugs did Zoë Müller order?", _ORDERS),
    "no accents": ("which drugs did zoe muller order", _ORDERS),
    "alias": (
        "Which drugs target p53?",
        "SELECT head FROM e WHERE r = 'targets' AND tail LIKE 'TP53%'",
    ),
    "several words of a relation": (
        "Which diseases are treated by fluorouracil?",
        "SELECT head FROM e WHERE r = 'is treated by' AND tail LIKE '5-FU%'",
    ),
    "a word of a type": (
        "Which genes interact with BRCA1?",
        "SELECT head FROM e WHERE r = 'interacts' AND tail = 'BRCA1'",
    ),
    "plural of a name": (
        "Which diseases are associated with insulins?",
        "SELECT tail FROM e WHERE r = 'associated_with' AND head = 'insulin'",
    ),
    "Cyrillic": (
        "Which drugs treat грипп?",
        "SELECT tail FROM e WHERE r = 'is treated by' AND head LIKE 'flu %'",
    ),
    "name with a sign": (
        "Which drugs interact with 5-FU / fluorouracil?",
        "SELECT tail FROM e WHERE r = 'interacts' AND head LIKE '5-FU%'",
    ),
    "after the year of a date": (
        "Which genes were found after 1921?",
        "SELECT name FROM \"gene/protein\" WHERE first_seen > '1921-12-31'",
    ),
    "attribute": ("What is the weight of BRCA1?", "SELECT weight FROM \"gene/protein\" WHERE name = 'BRCA1'"),
}


def expected(kb: KnowledgeBase, sql: str) -> list[Any]:
    """Return the first column, sorted."""
    return sorted(kb.sql(EDGES + sql).to_series(0).to_list(), key=str)
