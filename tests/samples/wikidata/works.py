"""Books, films, music, formulas, an element, and two lexemes."""

from __future__ import annotations

from .entity import NO, SOME, Claim, item, lexeme

NOVEL, PLAY, FILM, ENGLISH = ("P31", "Q8261"), ("P31", "Q25379"), ("P31", "Q11424"), ("P407", "Q1860")


def cast(actor: str, role: str) -> Claim:
    return ("P161", actor, {"P4633": role})


WORKS = [
    item("Q25169", "The Hitchhiker's Guide to the Galaxy", "book series by Douglas Adams", ("P31", "Q277759"),
         ("P50", "Q42"), ENGLISH, ("P577", "1979-10-12"), ("P1476", "en:The Hitchhiker's Guide to the Galaxy"),
         de="Per Anhalter durch die Galaxis", fr="Le Guide du voyageur galactique", aka=["HHGTTG", "H2G2"],
         links="en de"),
    item("Q20124", "On the Origin of Species", "1859 book by Charles Darwin", ("P31", "Q47461344"), ("P50", "Q1035"),
         ENGLISH, ("P577", "1859-11-24", {"P291": "Q84"}),
         ("P1476", "en:On the Origin of Species by Means of Natural Selection"), de="Über die Entstehung der Arten",
         fr="De l’origine des espèces", links={"enwiki": "On the Origin of Species"}),
    item("Q41567", "Hamlet", "tragedy by William Shakespeare", PLAY, ("P50", "Q692"), ENGLISH, ("P577", "1603"),
         aka=["The Tragedy of Hamlet, Prince of Denmark"]),
    item("Q83186", "Romeo and Juliet", "tragedy by William Shakespeare", PLAY, ("P50", "Q692"), ENGLISH,
         ("P577", "1597"), de="Romeo und Julia", fr="Roméo et Juliette"),
    item("Q170583", "Pride and Prejudice", "1813 novel by Jane Austen", NOVEL, ("P50", "Q36322"), ENGLISH,
         ("P577", "1813-01-28"), de="Stolz und Vorurteil", fr="Orgueil et Préjugés"),
    # Films.
    item("Q103474", "2001: A Space Odyssey", "1968 film by Stanley Kubrick", FILM, ("P57", "Q2001"),
         ("P577", "1968-04-02"), ("P2047", "149 Q7727"), ("P345", "tt0062622"), de="2001: Odyssee im Weltraum",
         fr="2001, l’Odyssée de l’espace", aka=["2001"]),
    item("Q186341", "The Shining", "1980 film by Stanley Kubrick", FILM, ("P57", "Q2001"), ("P577", "1980-05-23"),
         cast("Q39792", "Jack Torrance"), ("P2047", "146 Q7727"), ("P345", "tt0081505"), de="Shining", fr="Shining"),
    item("Q104123", "Pulp Fiction", "1994 film by Quentin Tarantino", FILM, ("P57", "Q3772"), ("P577", "1994"),
         cast("Q125017", "Mia Wallace"), cast("Q3772", "Jimmie Dimmick"), ("P2047", "154 Q7727"),
         ("P2130", "8000000 Q4917"), ("P345", "tt0110912")),
    item("Q171048", "Toy Story", "1995 computer-animated film", ("P31", "Q202866"), ("P57", "Q269214"),
         ("P577", "1995-11-22"), cast("Q2263", "Sheriff Woody \"the cowboy\""), ("P2047", "81 Q7727"),
         ("P345", "tt0114709"), abouts={"de": "US-amerikanischer Animationsfilm (1995)"}),
    item("Q44578", "Titanic", "1997 film by James Cameron", FILM, ("P57", "Q42574"),
         ("P577", "1997-11-01", {"P291": SOME}), ("P577", "1997-12-19", {"P291": "Q30"}), cast("Q38111", "Jack Dawson"),
         cast("Q202765", "Rose DeWitt Bukater"), ("P2047", "195 Q7727"), ("P2130", "200000000 Q4917"),
         ("P345", "tt0120338"), ("P373", "Titanic (1997 film)"),
         links={"enwiki": "Titanic (1997 film)", "dewiki": "Titanic (1997)"}),
    item("Q25188", "Inception", "2010 film by Christopher Nolan", FILM, ("P57", "Q25191"),
         ("P577", "2010-07-16", {"P291": ["Q30", "Q145"]}), cast("Q38111", "Dom Cobb"), ("P2047", "148 Q7727"),
         ("P2130", "160000000 Q4917"), ("P345", "tt1375666")),
    # Music, formulas, an element.
    item("Q11980", "Für Elise", "bagatelle for solo piano by Beethoven", ("P31", "Q207628"), ("P86", "Q255"),
         ("P571", "1810-04-27"), ("P1476", "de:Für Elise"), ("P6686", r"\relative c'' { e16 dis e dis e b d c a8 }"),
         fr="La Lettre à Élise", aka=["Bagatelle No. 25"]),
    item("Q11989", "Symphony No. 9", "symphony by Beethoven", ("P31", "Q207628"), ("P86", "Q255"), ("P571", "1824"),
         ("P407", "Q188", {"P642": SOME}), ("P6686", r"\relative c' { fis4 fis g a a g fis e }"), de="9. Sinfonie",
         fr="Symphonie nº 9", aka=["Choral Symphony", "Beethoven's Ninth"]),
    item("Q35875", "mass–energy equivalence", "relation of mass and energy in physics", ("P2534", "E = mc^2"),
         ("P571", "1905"), de="Äquivalenz von Masse und Energie", fr="E=mc2", aka=["E=mc²", r"$E=mc^{2}\ $"]),
    item("Q11518", "Pythagorean theorem", "relation among the sides of a right triangle",
         ("P2534", r"a^2 + b^2 = c^2 \iff c = \sqrt{a^2 + b^2}"), ("P577", NO), de="Satz des Pythagoras",
         fr="théorème de Pythagore", aka=["Pythagoras' theorem"]),
    item("Q925", "mercury", "chemical element with symbol Hg and atomic number 80", ("P31", "Q11344"), ("P246", "Hg"),
         ("P2101", "-38.83±0.05 Q25267", {"P1480": NO}), de="Quecksilber", fr="mercure", aka=["quicksilver", "Hg"],
         names={"la": "hydrargyrum"}),
    # An item without any label, one with its label for all languages only.
    item("Q14623681", "", "", ("P31", "Q5"), ("P26", "Q42", {"P580": "1991-11-24"}), de="", fr=""),
    item("Q14623683", "", "daughter of Douglas Adams", ("P31", "Q5"), ("P22", "Q42"), de="", fr="",
         names={"mul": "Polly Adams"}),
]  # fmt: skip

LEXEMES = [
    lexeme("L4082", {"en": "food"}, "Q1860", "Q1084", ("P5275", "72632"), ("P5831", "en:food for thought"),
           forms=[({"en": "food"}, [], [("P443", "En-uk-food.ogg")]), ({"en": "food"}, ["Q110786"], []),
                  ({"en": "foods"}, ["Q146786"], [])],
           senses=[({"en": "any substance consumed to provide nutritional support for the body"},
                    [("P5137", "Q2095")])]),
    lexeme("L1", {"mis-x-Q36790": "ama", "mis-x-Q401": "𒂼"}, "Q36790", "Q1084", forms=[],
           senses=[({"en": "mother", "de": "Mutter"}, [])]),
]  # fmt: skip
