"""Scientists, writers, politicians, film makers and composers."""

from __future__ import annotations

from typing import Any

from .entity import NO, SOME, Claim, Make, item

PHYSICIST, CHEMIST, MATHEMATICIAN = ("P106", "Q169470"), ("P106", "Q593644"), ("P106", "Q170790")
WRITER, NOVELIST, PLAYWRIGHT, POET = (("P106", job) for job in ("Q36180", "Q6625963", "Q214917", "Q49757"))
DIRECTOR, ACTOR, POLITICIAN, PHILOSOPHER = (("P106", job) for job in ("Q2526255", "Q33999", "Q82955", "Q4964182"))
CDU, SPD = ("P102", "Q49762"), ("P102", "Q49768")
BRITON, AMERICAN, GERMAN = (("P27", country) for country in ("Q145", "Q30", "Q183"))
NO_SPOUSE, NO_CHILD, CIRCA = ("P26", NO), ("P40", NO), {"P1480": "Q5727902"}
WIKIPEDIA = {"P143": "Q328"}
GND = {"P248": "Q36578", "P227": "119033364", "P813": "2014-04-09"}


def person(subject: str, name: str, about: str, sex: str, born: str, died: str, *claims: Claim, **more: Any) -> Make:
    """A human; claims of birth and death with qualifiers are given among the claims, and then `born`, `died` are ""."""
    gender = "Q6581072" if sex == "f" else "Q6581097"
    dates = [claim for claim in (("P569", born), ("P570", died)) if claim[1]]
    return item(subject, name, about, ("P31", "Q5"), ("P21", gender), *dates, *claims, **more)


def chancellor(start: str, end: str, before: str, after: str, number: str) -> Claim:
    links = {"P1365": before, "P1366": after}
    return ("P39", "Q4970706", {"P580": start, "P582": end, "P1545": number, **{p: v for p, v in links.items() if v}})


def president(start: str, end: str, number: str, **links: str) -> Claim:
    return ("P39", "Q11696", {"P580": start, "P582": end, "P1545": number, **links})


PEOPLE = [
    # Douglas Adams has something of everything.
    person("Q42", "Douglas Adams", "English science fiction writer and humorist (1952–2001)", "m", "", "",
           ("P569", "1952-03-11", "lower", [GND, {"P248": "Q54919", "P214": "113230702"}]),
           ("P570", "2001-05-11", [GND]), ("P19", "Q350", [WIKIPEDIA]), ("P20", "Q159288"), BRITON, WRITER, NOVELIST,
           PLAYWRIGHT, ("P106", "Q28389"), ("P1412", "Q1860"), ("P1477", "en-gb:Douglas Noël Adams"),
           ("P69", "Q691283", {"P580": "1971", "P582": "1974", "P812": "Q186579"}, [WIKIPEDIA]),
           ("P69", "Q4961791", {"P580": "1959", "P582": "1970"}), ("P800", "Q25169"), ("P2048", "1.96 Q11573"),
           ("P26", "Q14623681", {"P580": "1991-11-24", "P582": "2001-05-11"}), ("P40", "Q14623683"),
           ("P18", "Douglas adams portrait cropped.jpg"), ("P856", "https://douglasadams.com/"),
           ("P373", "Douglas Adams"), ("P214", "113230702"), ("P227", "119033364"), ("P345", "nm0010930"),
           aka={"en": ["Douglas Noel Adams", "Douglas N. Adams", "DNA"], "de": ["Douglas Noël Adams"]},
           names={"mul": "Douglas Adams", "ru": "Дуглас Адамс", "ja": "ダグラス・アダムズ", "ar": "دوغلاس آدمز"},
           abouts={"de": "britischer Schriftsteller", "fr": "écrivain et scénariste anglais"},
           links={"enwiki": "Douglas Adams", "dewiki": "Douglas Adams", "frwiki": ("Douglas Adams", ["Q17437798"]),
               "enwikiquote": "Douglas Adams", "commonswiki": "Category:Douglas Adams"}),
    # Scientists.
    person("Q937", "Albert Einstein", "German-born theoretical physicist (1879–1955)", "m", "1879-03-14", "1955-04-18",
           ("P19", "Q3012"), ("P20", "Q138518"), PHYSICIST, ("P106", "Q19350898"), ("P27", "Q43287", {"P582": "1896"}),
           ("P27", "Q39", {"P580": "1901", "P582": "1955"}), ("P27", "Q30", {"P580": "1940", "P582": "1955"}),
           ("P69", "Q11942", {"P580": "1896", "P582": "1900"}), ("P108", "Q11942", {"P580": "1912", "P582": "1914"}),
           ("P26", "Q76346", {"P580": "1903-01-06", "P582": "1919-02-14", "P1545": "1"}),
           ("P26", "Q68761", {"P580": "1919-06-02", "P582": "1936-12-20", "P1545": "2"}), ("P40", "Q468357"),
           ("P40", "Q123371"), ("P40", "Q118253"), ("P166", "Q38104", {"P585": "1921"}), ("P800", "Q35875"),
           ("P1412", "Q188"), ("P1412", "Q1860"), ("P214", "75121530"), ("P227", "118529579"),
           ("P373", "Albert Einstein"), ("P18", "Albert Einstein Head.jpg"), aka=["Einstein", "A. Einstein"],
           abouts={"de": "theoretischer Physiker", "fr": "physicien théoricien"}, names={"he": "אלברט איינשטיין"},
           links={"enwiki": ("Albert Einstein", ["Q17437798"]), "dewiki": ("Albert Einstein", ["Q17437796"]),
               "frwiki": "Albert Einstein"}),
    person("Q76346", "Mileva Marić", "Serbian physicist, first wife of Albert Einstein", "f", "1875-12-19",
           "1948-08-04", PHYSICIST, ("P20", "Q72"), ("P69", "Q11942"),
           ("P26", "Q937", {"P580": "1903-01-06", "P582": "1919-02-14"}), ("P40", "Q468357"), ("P40", "Q123371"),
           ("P40", "Q118253"), names={"sr": "Милева Марић"}),
    person("Q68761", "Elsa Einstein", "second wife of Albert Einstein", "f", "1876-01-18", "1936-12-20",
           ("P20", "Q138518"), ("P26", "Q937", {"P580": "1919-06-02", "P582": "1936-12-20"}), NO_CHILD),
    person("Q123371", "Hans Albert Einstein", "Swiss-American engineer", "m", "1904-05-14", "1973-07-26",
           ("P22", "Q937"), ("P25", "Q76346"), ("P69", "Q11942"), fr=""),
    person("Q7259", "Ada Lovelace", "English mathematician (1815–1852)", "f", "1815-12-10", "1852-11-27",
           ("P19", "Q84"), ("P20", "Q84"), MATHEMATICIAN, ("P106", "Q5482740"), ("P22", "Q5679"), ("P1412", "Q1860"),
           aka=["Ada King, Countess of Lovelace", "Ada Byron", "Lady Lovelace"], links="en de fr"),
    person("Q1035", "Charles Darwin", "English naturalist and biologist (1809–1882)", "m", "1809-02-12", "1882-04-19",
           ("P106", "Q18805"), ("P69", "Q35794", {"P580": "1828", "P582": "1831"}), ("P800", "Q20124"),
           ("P1412", "Q1860"), aka=["Charles Robert Darwin", "Darwin"],
           links={"enwiki": ("Charles Darwin", ["Q17437796"])}),
    person("Q7186", "Marie Curie", "Polish and French physicist and chemist (1867–1934)", "f", "1867-11-07",
           "1934-07-04", ("P19", "Q270"), ("P27", "Q142", {"P580": "1895"}), PHYSICIST, CHEMIST, ("P69", "Q209842"),
           ("P26", "Q37463", {"P580": "1895-07-26", "P582": "1906-04-19"}), ("P40", "Q7504"),
           ("P166", "Q38104", {"P585": "1903"}), ("P166", "Q44585", {"P585": "1911"}),
           ("P1477", "pl:Maria Salomea Skłodowska"), ("P1559", "pl:Maria Salomea Skłodowska-Curie"),
           aka=["Maria Salomea Skłodowska-Curie", "Madame Curie"], names={"pl": "Maria Skłodowska-Curie"},
           links="en fr"),
    person("Q37463", "Pierre Curie", "French physicist (1859–1906)", "m", "1859-05-15", "1906-04-19", ("P19", "Q90"),
           ("P20", "Q90"), ("P27", "Q142"), PHYSICIST, ("P69", "Q209842"), ("P26", "Q7186"), ("P40", "Q7504"),
           ("P166", "Q38104", {"P585": "1903"})),
    person("Q7504", "Irène Joliot-Curie", "French chemist (1897–1956)", "f", "1897-09-12", "1956-03-17", ("P19", "Q90"),
           ("P20", "Q90"), ("P27", "Q142"), CHEMIST, PHYSICIST, ("P22", "Q37463"), ("P25", "Q7186"),
           ("P166", "Q44585", {"P585": "1935"})),
    person("Q7251", "Alan Turing", "English computer scientist (1912–1954)", "m", "1912-06-23", "1954-06-07",
           ("P19", "Q84"), BRITON, ("P106", "Q82594"), MATHEMATICIAN,
           ("P69", "Q924289", {"P580": "1931", "P582": "1934"}), ("P69", "Q21578", {"P580": "1936", "P582": "1938"}),
           ("P184", "Q92741"), NO_SPOUSE, NO_CHILD, aka=["Alan Mathison Turing", "A. M. Turing", "Turing"],
           links={"enwiki": ("Alan Turing", ["Q17437798"])}),
    person("Q92741", "Alonzo Church", "American mathematician (1903–1995)", "m", "1903-06-14", "1995-08-11",
           ("P19", "Q61"), AMERICAN, MATHEMATICIAN, ("P69", "Q21578", {"P582": "1927"}), ("P185", "Q7251"), bare=True),
    person("Q935", "Isaac Newton", "English mathematician and physicist (1642–1727)", "m", "1642-12-25J", "1727-03-20J",
           MATHEMATICIAN, PHYSICIST, ("P106", "Q11063"), ("P69", "Q332342", {"P580": "1661"}), NO_SPOUSE, NO_CHILD,
           ("P1412", "Q397"), aka=["Sir Isaac Newton"], links={"enwiki": "Isaac Newton"}),
    person("Q307", "Galileo Galilei", "Italian astronomer and physicist (1564–1642)", "m", "1564-02-15J", "1642-01-08",
           ("P106", "Q11063"), PHYSICIST, MATHEMATICIAN, PHILOSOPHER, fr="Galilée", aka=["Galileo"]),
    person("Q7604", "Leonhard Euler", "Swiss mathematician (1707–1783)", "m", "1707-04-15", "1783-09-18", MATHEMATICIAN,
           PHYSICIST, ("P184", "Q227897"), aka=["Euler"]),
    person("Q227897", "Johann Bernoulli", "Swiss mathematician (1667–1748)", "m", "1667-07-27J", "1748-01-01",
           MATHEMATICIAN, ("P185", "Q7604"), aka=["Jean Bernoulli", "John Bernoulli"]),
    # Antiquity.
    person("Q6691", "Homer", "name ascribed by the ancient Greeks to the author of the Iliad and the Odyssey", "m",
           "-0800/7", SOME, ("P19", SOME), POET, fr="Homère", names={"el": "Όμηρος"}),
    person("Q913", "Socrates", "classical Greek Athenian philosopher", "m", "", "-0399", ("P569", "-0470", CIRCA),
           PHILOSOPHER, de="Sokrates", fr="Socrate"),
    person("Q859", "Plato", "Greek philosopher (c. 427–348 BC)", "m", "", "-0347", ("P569", "-0427", CIRCA),
           PHILOSOPHER, ("P1066", "Q913"), de="Platon", fr="Platon"),
    person("Q868", "Aristotle", "ancient Greek philosopher (384–322 BC)", "m", "-0384", "-0322", PHILOSOPHER,
           ("P1066", "Q859"), de="Aristoteles", fr="Aristote"),
    person("Q1048", "Julius Caesar", "Roman general and dictator (100–44 BC)", "m", "-0100-07-12J", "-0044-03-15J",
           ("P20", "Q220"), POLITICIAN, WRITER, ("P1412", "Q397"), de="Gaius Iulius Caesar", fr="Jules César",
           aka=["Caesar", "Gaius Julius Caesar"]),
    # Writers.
    person("Q692", "William Shakespeare", "English playwright and poet (1564–1616)", "m", "1564-04", "1616-04-23J",
           PLAYWRIGHT, POET, WRITER, ("P800", "Q41567"), ("P800", "Q83186"),
           aka=["Shakespeare", "The Bard", "W. Shakespeare"], links="en"),
    person("Q5879", "Johann Wolfgang von Goethe", "German writer, artist and politician (1749–1832)", "m", "1749-08-28",
           "1832-03-22", POET, PLAYWRIGHT, NOVELIST, ("P69", "Q154804", {"P580": "1765", "P582": "1768"}),
           ("P1412", "Q188"), ("P1412", "Q150"), ("P227", "118540238"),
           aka={"en": ["Goethe"], "de": ["J. W. v. Goethe"]},
           links={"dewiki": ("Johann Wolfgang von Goethe", ["Q17437796"])}),
    person("Q36322", "Jane Austen", "English novelist (1775–1817)", "f", "1775-12-16", "1817-07-18", NOVELIST,
           ("P800", "Q170583"), NO_SPOUSE, NO_CHILD),
    person("Q5679", "Lord Byron", "English poet (1788–1824)", "m", "1788-01-22", "1824-04-19", ("P19", "Q84"), POET,
           ("P69", "Q332342", {"P580": "1805", "P582": "1808"}), ("P40", "Q7259"), aka=["George Gordon Byron"],
           names={"mul": "Lord Byron"}, de="", fr=""),
    # Politicians.
    person("Q2516", "Helmut Schmidt", "German politician (1918–2015)", "m", "1918-12-23", "2015-11-10",
           ("P19", "Q1055"), ("P20", "Q1055"), GERMAN, POLITICIAN, SPD,
           chancellor("1974-05-16", "1982-10-01", "Q2514", "Q2518", "5")),
    person("Q2518", "Helmut Kohl", "German politician (1930–2017)", "m", "1930-04-03", "2017-06-16", GERMAN, POLITICIAN,
           CDU, chancellor("1982-10-01", "1998-10-27", "Q2516", "Q2530", "6")),
    person("Q2530", "Gerhard Schröder", "German politician (born 1944)", "m", "1944-04-07", "", GERMAN, POLITICIAN, SPD,
           ("P106", "Q40348"), chancellor("1998-10-27", "2005-11-22", "Q2518", "Q567", "7")),
    person("Q567", "Angela Merkel", "German politician and physicist (born 1954)", "f", "1954-07-17", "",
           ("P19", "Q1055"), GERMAN, POLITICIAN, PHYSICIST, CDU,
           chancellor("2005-11-22", "2021-12-08", "Q2530", "Q61053", "8"), ("P26", "Q62085", {"P580": "1998-12-30"}),
           NO_CHILD, ("P69", "Q154804", {"P580": "1973", "P582": "1978"}), ("P1477", "de:Angela Dorothea Kasner"),
           ("P1412", "Q188"), aka=["Angela Dorothea Merkel", "Merkel"], abouts={"de": "deutsche Politikerin (CDU)"},
           links="en de fr"),
    person("Q62085", "Joachim Sauer", "German chemist (born 1949)", "m", "1949-04-19", "", GERMAN, CHEMIST,
           ("P26", "Q567", {"P580": "1998-12-30"})),
    person("Q61053", "Olaf Scholz", "German politician (born 1958)", "m", "1958-06-14", "", GERMAN, POLITICIAN, SPD,
           chancellor("2021-12-08", "2025-05-06", "Q567", "", "9"), ("P26", "Q920705", {"P580": "1998"})),
    person("Q91", "Abraham Lincoln", "16th president of the United States (1809–1865)", "m", "1809-02-12", "1865-04-15",
           ("P20", "Q61"), AMERICAN, POLITICIAN, ("P106", "Q40348"), president("1861-03-04", "1865-04-15", "16"),
           aka=["Honest Abe", "A. Lincoln"]),
    person("Q76", "Barack Obama", "44th president of the United States (born 1961)", "m", "1961-08-04", "", AMERICAN,
           POLITICIAN, ("P106", "Q40348"), ("P102", "Q29552"), ("P26", "Q13133", {"P580": "1992-10-03"}),
           president("2009-01-20", "2017-01-20", "44", P1365="Q207", P1366="Q22686"),
           ("P166", "Q35637", {"P585": "2009"}), ("P1477", "en:Barack Hussein Obama II"), ("P214", "52010985"),
           aka=["Barack Hussein Obama II", "Obama"],
           links={"enwiki": ("Barack Obama", ["Q17437796"]), "dewiki": "Barack Obama"}),
    person("Q13133", "Michelle Obama", "American lawyer (born 1964)", "f", "1964-01-17", "", AMERICAN,
           ("P106", "Q40348"), ("P26", "Q76", {"P580": "1992-10-03"}), ("P69", "Q21578", {"P582": "1985"})),
    # Film and music.
    person("Q2001", "Stanley Kubrick", "American film director (1928–1999)", "m", "1928-07-26", "1999-03-07",
           ("P19", "Q60"), AMERICAN, DIRECTOR, ("P106", "Q28389")),
    person("Q42574", "James Cameron", "Canadian film director (born 1954)", "m", "1954-08-16", "", DIRECTOR,
           ("P106", "Q28389")),
    person("Q3772", "Quentin Tarantino", "American film director (born 1963)", "m", "1963-03-27", "", AMERICAN,
           DIRECTOR, ACTOR, ("P106", "Q28389")),
    person("Q25191", "Christopher Nolan", "British-American film director (born 1970)", "m", "1970-07-30", "",
           ("P19", "Q84"), DIRECTOR, BRITON, AMERICAN),
    person("Q269214", "John Lasseter", "American animator and film director (born 1957)", "m", "1957-01-12", "",
           DIRECTOR),
    person("Q38111", "Leonardo DiCaprio", "American actor (born 1974)", "m", "1974-11-11", "", ("P19", "Q65"), AMERICAN,
           ACTOR, ("P345", "nm0000138")),
    person("Q202765", "Kate Winslet", "English actress (born 1975)", "f", "1975-10-05", "", BRITON, ACTOR),
    person("Q2263", "Tom Hanks", "American actor (born 1956)", "m", "1956-07-09", "", AMERICAN, ACTOR,
           ("P345", "nm0000158")),
    person("Q39792", "Jack Nicholson", "American actor (born 1937)", "m", "1937-04-22", "", AMERICAN, ACTOR),
    person("Q125017", "Uma Thurman", "American actress (born 1970)", "f", "1970-04-29", "", AMERICAN, ACTOR),
    person("Q254", "Wolfgang Amadeus Mozart", "composer of the Classical period (1756–1791)", "m", "1756-01-27",
           "1791-12-05", ("P20", "Q1741"), ("P106", "Q36834"), ("P509", SOME), aka=["Mozart"], links="de"),
    person("Q255", "Ludwig van Beethoven", "German composer (1770–1827)", "m", "1770-12", "1827-03-26",
           ("P20", "Q1741"), ("P106", "Q36834"), NO_SPOUSE, aka=["Beethoven", "Louis \"Ludwig\" van Beethoven"]),
]  # fmt: skip
