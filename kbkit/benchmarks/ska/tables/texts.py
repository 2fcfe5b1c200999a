"""Questions over a table and the texts that its cells link to: the form *table+text*.

A question describes a row by a telling phrase of a passage and asks for a cell that the passage does not give, or
narrows the rows that such a phrase fits by another column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kbkit import english
from kbkit.benchmarks.documents import Document, TextPassage
from kbkit.benchmarks.evidence import Matcher, folded, leaks
from kbkit.benchmarks.requirements.phrases import Mentions, Phrase, avoided, telling_phrases
from kbkit.benchmarks.requirements.textual import READER
from kbkit.benchmarks.ska.tables import wording
from kbkit.benchmarks.ska.tables.columns import CATEGORY, NAME, WebColumn
from kbkit.benchmarks.ska.tables.conditions import equal, literal, place_word
from kbkit.benchmarks.ska.tables.drafts import Drafter, TableDraft, follows
from kbkit.english.stems import is_english, shares_stem

_VERBS = ("mentions {}", "mentions {}", "contains the phrase {}", "speaks of {}")
_PLURAL_VERBS = ("include {}", "contain {}")
_ROW = "entry"
"""What a row is called if the subject of the table is unknown."""
_KINDS = {"cell": 0.45, "narrowed": 0.25, "linked": 0.15, "compared": 0.15}
_NUMBER = re.compile(r"\d{3,}")
_PHRASES = 25
_MAX_MENTIONS = 40
_TRIES = 12


@dataclass(frozen=True)
class _Links:
    """A column whose cells have texts: the documents, and the row of each (-1 if several rows have the cell)."""

    column: WebColumn
    documents: list[Document]
    rows: list[int]
    texts: list[tuple[int, ...]]
    """The passages of each document, by position in the texts of the table."""


class TextDrafter:
    """Drafts questions over one table with passages."""

    def __init__(self, drafter: Drafter, matcher: Matcher) -> None:
        self._drafter, self._matcher = drafter, matcher
        self._table = drafter.table
        self._noun = drafter.noun or _ROW
        self._phrases: dict[int, list[Phrase]] = {}

    @cached_property
    def _mentions(self) -> Mentions:
        return Mentions(self._matcher, [document for links in self._links for document in links.documents])

    @cached_property
    def _links(self) -> list[_Links]:
        """The columns with texts; a title of several nodes is left out."""
        nodes: dict[str, set[str]] = {}
        texts: dict[str, list[int]] = {}
        for number, text in enumerate(self._table.texts):
            nodes.setdefault(text.title, set()).add(text.node)
            texts.setdefault(text.title, []).append(number)
        linked = {(link.column, link.title) for link in self._table.passages}
        all_links, number = [], 0
        for column in self._table.columns:
            is_named = column.kind in (NAME, CATEGORY) and column.noun and " of the " not in column.noun
            if column is not self._drafter.key and not is_named:
                continue
            links = _Links(column, [], [], [])
            rows: dict[str, list[int]] = {}
            for row, cell in enumerate(column.cells):
                rows.setdefault(cell, []).append(row)
            for title, of_title in rows.items():
                if len(nodes.get(title, ())) == 1 and (column.position, title) in linked:
                    passages = tuple(
                        TextPassage(self._table.texts[t].field, self._table.texts[t].text) for t in texts[title]
                    )
                    node = next(iter(nodes[title]))
                    links.documents.append(Document(number, node.partition("#")[0], node, title, passages))
                    links.rows.append(of_title[0] if len(of_title) == 1 else -1)
                    links.texts.append(tuple(texts[title]))
                    number += 1
            if len(links.documents) > 1:
                all_links.append(links)
        return all_links

    @property
    def _by_key(self) -> _Links | None:
        return next((links for links in self._links if links.column is self._drafter.key), None)

    def draft(self, rng: np.random.Generator) -> TableDraft | None:
        """Return a question of a random kind; None if the chosen one does not work out."""
        makers: dict[str, Callable[[np.random.Generator], TableDraft | None]] = {
            "cell": self._cell, "narrowed": self._narrowed, "linked": self._linked, "compared": self._compared,
        }  # fmt: skip
        if not self._links:
            return None
        if self._by_key is None:
            makers = {"linked": self._linked}
        elif len(self._links) == 1:
            makers.pop("linked")
        weight = np.array([_KINDS[name] for name in makers])
        kind = list(makers)[int(rng.choice(len(makers), p=weight / weight.sum()))]
        for _ in range(_TRIES):
            draft = makers[kind](rng)
            if draft is not None:
                return draft
        return None

    # -- phrases ------------------------------------------------------------------------------------------------------

    def _telling(self, links: _Links, at: int) -> list[Phrase]:
        """Return telling phrases of a document that repeat neither its name nor a cell of its row."""
        document = links.documents[at]
        if document.id not in self._phrases:
            names = [document.name, self._noun, links.column.noun]
            row = links.rows[at]
            hidden = [cell for cell in self._table.rows[row] if cell] if row >= 0 else [document.name]
            avoid = avoided(self._mentions, names)
            phrases = telling_phrases(document, READER, self._mentions, self._matcher, avoid, hidden, folded(hidden))
            self._phrases[document.id] = [
                phrase for phrase in phrases if "\n" not in phrase.span.text and is_english(phrase.sentence)
            ][:_PHRASES]
        return self._phrases[document.id]

    def _fitting(self, links: _Links, phrase: Phrase) -> list[int] | None:
        """Return the documents that mention a phrase; None if the query, which looks for the letters, finds others."""
        mask = self._mentions.mask(phrase.forms, [document.id for document in links.documents])
        text = phrase.span.text.lower()
        literal_mask = [any(text in p.text.lower() for p in d.passages) for d in links.documents]
        return np.flatnonzero(mask).tolist() if mask.tolist() == literal_mask else None

    @staticmethod
    def _mentioned(phrase: Phrase) -> str:
        return f"contains(lower(text), lower({literal(phrase.span.text)}))"

    def _where(self, links: _Links, condition: str) -> str:
        return f"{links.column.sql} IN (SELECT title FROM passages WHERE {condition})"

    def _passages(self, links: _Links, at: int, phrase: Phrase) -> tuple[int, ...]:
        text = phrase.span.text.lower()
        return tuple(t for t in links.texts[at] if text in self._table.texts[t].text.lower())

    def _described(self, phrase: Phrase, rng: np.random.Generator) -> str:
        """Return *description mentions 'salt lake'*."""
        noun = self._table.text_noun
        verbs = _PLURAL_VERBS if english.is_plural(noun) else _VERBS
        return f"{noun} {verbs[int(rng.integers(len(verbs)))].format(english.quoted(phrase.span.text))}"

    def _one(self, links: _Links, rng: np.random.Generator) -> tuple[int, Phrase] | None:
        """Return a document with one row and a phrase that it alone mentions."""
        rows = [at for at, row in enumerate(links.rows) if row >= 0]
        if not rows:
            return None
        at = int(rng.choice(rows))
        phrases = self._telling(links, at)
        for number in rng.permutation(len(phrases)).tolist():
            if self._fitting(links, phrases[number]) == [at]:
                return at, phrases[number]
        return None

    def _gives(self, text: tuple[int, ...], answer: str) -> bool:
        """Return whether passages give the answer."""
        shown = [self._table.texts[t].text for t in text]
        numbers = [digits.lstrip("0") for digits in _NUMBER.findall(answer.replace(",", ""))]
        said = {digits for one in shown for digits in _NUMBER.findall(one.replace(",", ""))}
        titles = [self._table.texts[t].title for t in text]
        return any(leaks(one, [answer]) for one in shown) or not said.isdisjoint(numbers) or shares_stem(answer, titles)

    # -- questions ----------------------------------------------------------------------------------------------------

    def _cell(self, rng: np.random.Generator) -> TableDraft | None:
        """Ask for a cell of the row whose own text mentions a phrase."""
        links = self._by_key
        drawn = self._one(links, rng) if links else None
        if links is None or drawn is None:
            return None
        at, phrase = drawn
        row, texts = links.rows[at], self._passages(links, at, phrase)
        columns = [
            c for c in self._drafter.asked if self._drafter.has_value(c, row) and not self._gives(texts, c.cells[row])
        ]
        if not columns:
            return None
        column = columns[int(rng.integers(len(columns)))]
        where = self._where(links, self._mentioned(phrase))
        text = wording.lookup(column, f"the {self._noun} whose {self._described(phrase, rng)}", rng)
        uses = f"{links.column.sql} = {literal(links.documents[at].name)}"
        sql = f"SELECT {column.sql} FROM table_rows WHERE {where}"
        return TableDraft("cell of a described row", text, sql, uses, (row,), (), texts, phrases=(phrase.span.text,))

    def _linked(self, rng: np.random.Generator) -> TableDraft | None:
        """Ask for the row, or a cell of it, that names a thing whose text mentions a phrase."""
        others = [
            links for links in self._links if links.column is not self._drafter.key and wording.can_ask(links.column)
        ]
        # Not: which city is in a country whose description ...; a country has more cities than the table.
        others = [links for links in others if not place_word(links.column, self._noun)]
        links = others[int(rng.integers(len(others)))] if others else None
        drawn = self._one(links, rng) if links else None
        if links is None or drawn is None:
            return None
        at, phrase = drawn
        row, texts = links.rows[at], self._passages(links, at, phrase)
        key = self._drafter.key
        columns = [key, *self._drafter.asked]
        circular = f" of the {links.column.noun}"  # the area of the country of the city in a country whose ...
        columns = [c for c in columns if c is not links.column and not c.noun.endswith(circular)]
        columns = [c for c in columns if self._drafter.has_value(c, row)
                   and not self._gives(texts, c.cells[row])]  # fmt: skip
        if not columns:
            return None
        column = columns[0] if columns[0] is key and rng.random() < 0.5 else columns[int(rng.integers(len(columns)))]
        where = self._where(links, self._mentioned(phrase))
        which = f"has {english.with_article(links.column.noun)} whose {self._described(phrase, rng)}"
        if column is key:
            text = f"Which {self._noun} {which}?"
        else:
            text = wording.lookup(column, f"the {self._noun} that {which}", rng)
        uses = f"{links.column.sql} = {literal(links.documents[at].name)}"
        sql = f"SELECT {column.sql} FROM table_rows WHERE {where}"
        return TableDraft("row with a described cell", text, sql, uses, (row,), (), texts, phrases=(phrase.span.text,))

    def _narrowed(self, rng: np.random.Generator) -> TableDraft | None:
        """Ask for a cell of the one row that has a value, of several whose texts mention a phrase."""
        links = self._by_key
        rows = [at for at, row in enumerate(links.rows) if row >= 0] if links else []
        if links is None or not rows:
            return None
        at = int(rng.choice(rows))
        row, phrases = links.rows[at], self._telling(links, at)
        clauses = [equal(c, row, self._noun) for c in self._table.columns if c is not self._drafter.key]
        known = [clause for clause in clauses if clause is not None and clause.mask.sum() > 1]
        for number in rng.permutation(len(phrases)).tolist():
            phrase = phrases[number]
            fit = self._fitting(links, phrase)
            if fit is None or not 1 < len(fit) <= _MAX_MENTIONS or any(links.rows[one] < 0 for one in fit):
                continue
            if any(self._mentions.is_inside(phrase, links.documents[one].id) for one in fit):
                continue
            useful = [c for c in known if c.mask[[links.rows[one] for one in fit]].sum() == 1]
            texts = self._passages(links, at, phrase)
            useful = [c for c in useful if not self._gives(texts, c.column.cells[row])]
            if not useful:
                continue
            clause = useful[int(rng.integers(len(useful)))]
            columns = [c for c in self._drafter.asked if c is not clause.column and self._drafter.has_value(c, row)
                       and not follows(c, [clause.column])
                       and not self._gives(texts, c.cells[row])]  # fmt: skip
            if not columns:
                continue
            column = columns[int(rng.integers(len(columns)))]
            noun = wording.noun_phrase(self._noun, [clause])
            joined = "and whose" if clause.after == "" else "whose"
            text = wording.lookup(column, f"the {noun} {joined} {self._described(phrase, rng)}", rng)
            where = f"{self._where(links, self._mentioned(phrase))} AND {clause.sql}"
            names = ", ".join(literal(links.documents[one].name) for one in fit)
            others = [one for one in fit if one != at]
            return TableDraft(
                "narrowed by text", text, f"SELECT {column.sql} FROM table_rows WHERE {where}",
                f"{links.column.sql} IN ({names}) AND {clause.sql}", (row,), clause.values, texts,
                tuple(links.rows[one] for one in others),
                tuple(t for one in others for t in self._passages(links, one, phrase)), (phrase.span.text,),
            )  # fmt: skip
        return None

    def _compared(self, rng: np.random.Generator) -> TableDraft | None:
        """Ask for a cell of that of two described rows whose number is larger or smaller."""
        links = self._by_key
        drawn = [self._one(links, rng) for _ in range(2)] if links else []
        both = [pair for pair in drawn if pair is not None]
        if links is None or len(both) < 2 or both[0][0] == both[1][0]:
            return None
        rows = [links.rows[at] for at, _ in both]
        texts = tuple(t for at, phrase in both for t in self._passages(links, at, phrase))
        numeric = [c for c in self._drafter.numeric if None not in (c.numbers[rows[0]], c.numbers[rows[1]])
                   and c.numbers[rows[0]] != c.numbers[rows[1]]]  # fmt: skip
        if not numeric:
            return None
        column = numeric[int(rng.integers(len(numeric)))]
        columns = [c for c in self._drafter.asked if c is not column and c.cells[rows[0]] != c.cells[rows[1]]
                   and all(self._drafter.has_value(c, row) for row in rows)
                   and not any(self._gives(texts, c.cells[row]) for row in rows)]  # fmt: skip
        if not columns:
            return None
        asked = columns[int(rng.integers(len(columns)))]
        is_high = bool(rng.random() < 0.65)
        descriptions = [f"the {self._noun} whose {self._described(phrase, rng)}" for _, phrase in both]
        which = self._drafter.which(column, is_high=is_high, count=2)
        question = wording.lookup(asked, f"the one {which}", rng)
        text = wording.drawn("only_two", rng, keys=english.listed(descriptions), question=wording.continued(question))
        where = self._where(links, " OR ".join(self._mentioned(phrase) for _, phrase in both))
        sql = (
            f"SELECT {asked.sql} FROM table_rows WHERE {where} AND (SELECT count(*) FROM table_rows WHERE {where}) = 2"
            f" ORDER BY {column.number_sql} {'DESC' if is_high else 'ASC'} LIMIT 1"
        )
        uses = self._drafter.named(rows)
        phrases = tuple(phrase.span.text for _, phrase in both)
        return TableDraft("compared by text", text, sql, uses, tuple(rows), (), texts, phrases=phrases)
