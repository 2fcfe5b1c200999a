"""Questions over a table and the texts that its cells link to: the form *table+text*.

A question describes a row by a clause of its passage (*the river known for its gharials*),
and asks for a cell that the passage does not give. Where passages are lists of labels, it asks for the rows that have a
person in a column and a label in their passages (*movies directed by X that are tagged 'y'*).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from kbkit.benchmarks.documents import Document, TextPassage
from kbkit.benchmarks.evidence import Matcher, contains, folded, leaks
from kbkit.benchmarks.requirements.phrases import is_list_field
from kbkit.benchmarks.requirements.terms import items
from kbkit.benchmarks.ska.tables import wording
from kbkit.benchmarks.ska.tables.conditions import literal
from kbkit.benchmarks.ska.tables.drafts import Drafter, TableDraft
from kbkit.benchmarks.ska.tables.wording import RowCondition
from kbkit.english.attributes import is_popularity
from kbkit.english.descriptions import descriptions
from kbkit.english.markers import is_crude, untelling
from kbkit.english.reputations import head_of, is_general, names_thing, reputations
from kbkit.english.stems import is_english, shares_stem
from kbkit.english.types import STORIES
from kbkit.english.words import is_participle, is_plural, quoted

_ROW = "entry"
"""What a row is called if the subject of the table is unknown."""
_NUMBER = re.compile(r"\d{3,}")
_SHARED = 0.3
"""Maximum fraction of the words of a clause, weighted by rarity, that the text of another row may contain."""
_MOST_WORDS = 8
"""Maximum number of words of a clause: a longer one is a quotation."""
_BY = "by"
_SHARED_BY_MANY = frozenset(("famous", "known", "largely", "mostly", "noted", "renowned"))
"""How clauses begin that may fit several things, of which the texts say so of one."""
_FAMOUS = ("famous", "known", "noted", "renowned")
_COMMON_THING = 0.02
"""Maximum fraction of the rows whose texts have the noun of what a row is known for: others are, too."""
_LONGEST = 7
"""Maximum number of words of a clause: more are a quotation."""
_TRIES = 12
_FEW, _MOST = 3, 6
"""Minimum number of rows with the person of a question, and maximum number of its answers."""


@dataclass(frozen=True)
class _Described:
    """A description of a row: the noun phrase ``said``, made from ``phrases`` of a passage."""

    said: str
    phrases: tuple[str, ...]


def _is_special(clause: str) -> bool:
    """Return whether a clause probably fits one thing alone.

    More than one country is known for its coffee or drained by a river, but not known for the Grand Canyon.
    """
    words = clause.split()
    if _BY in words and is_participle(words[words.index(_BY) - 1]):
        return False
    return words[0] not in _SHARED_BY_MANY or any(word[:1].isupper() for word in words)


class TextDrafter:
    """Drafts questions over one table with passages."""

    def __init__(self, drafter: Drafter, matcher: Matcher) -> None:
        self._drafter, self._matcher = drafter, matcher
        self._table, self._key = drafter.table, drafter.key
        self._noun = drafter.noun or _ROW
        self._known: dict[int, list[_Described]] = {}

    @cached_property
    def _documents(self) -> dict[int, Document]:
        """The texts of the rows, by row; titles of several nodes or rows are left out."""
        nodes: dict[str, set[str]] = {}
        for text in self._table.texts:
            nodes.setdefault(text.title, set()).add(text.node)
        linked = {link.title for link in self._table.passages if link.column == self._key.position}
        rows: dict[str, list[int]] = {}
        for row, cell in enumerate(self._key.cells):
            rows.setdefault(cell, []).append(row)
        documents = {}
        for title, of_title in rows.items():
            if len(of_title) == 1 and len(nodes.get(title, ())) == 1 and title in linked:
                node = next(iter(nodes[title]))
                passages = tuple(TextPassage(text.field, text.text) for text in self._of_title.get(title, ()))
                row = of_title[0]
                documents[row] = Document(row, node.partition("#")[0], node, title, passages)
        return documents

    @cached_property
    def _of_title(self) -> dict[str, list[TextPassage]]:
        texts: dict[str, list[TextPassage]] = {}
        for text in self._table.texts:
            texts.setdefault(text.title, []).append(TextPassage(text.field, text.text))
        return texts

    @cached_property
    def _rows(self) -> list[int]:
        return sorted(self._documents)

    @cached_property
    def _lower(self) -> dict[int, list[str]]:
        """The texts of the rows in lower case."""
        return {row: [passage.text.lower() for passage in one.passages] for row, one in self._documents.items()}

    @cached_property
    def _words(self) -> dict[int, frozenset[str]]:
        """The words of the text of each row, stemmed."""
        return {row: frozenset(self._matcher.words(one.text)) for row, one in self._documents.items()}

    def draft(self, rng: np.random.Generator) -> TableDraft | None:
        """Return a question; None if none works out."""
        if len(self._rows) < 2:
            return None
        for _ in range(_TRIES):
            draft = self._cell(rng) or self._tagged(rng)
            if draft is not None:
                return draft
        return None

    # -- descriptions -------------------------------------------------------------------------------------------------

    def _one(self, rng: np.random.Generator) -> tuple[int, _Described] | None:
        """Return a random row with a description that fits no other row; None if it has no description."""
        row = int(rng.choice(self._rows))
        if row not in self._known:
            self._known[row] = self._by_clauses(row)
        known = self._known[row]
        return (row, known[int(rng.integers(len(known)))]) if known else None

    def _by_clauses(self, row: int) -> list[_Described]:
        """Return descriptions by clauses that contain no cell of the row and fit no other row."""
        document = self._documents[row]
        hidden = folded([part for cell in self._table.rows[row] for part in cell.split(", ") if part])
        known = []
        for passage in document.passages:
            if is_plural(passage.field) or passage.field in STORIES or not is_english(passage.text):
                continue
            for one in descriptions(passage.text, self._noun, document.name):
                clause = passage.text[one.start : one.end]
                is_own = contains(clause, hidden) or shares_stem(clause, document.names)
                is_own |= len(clause.split()) > _LONGEST
                if is_own or self._holders((clause,)) != [row]:
                    continue
                if one.is_superlative or (_is_special(clause) and self._is_rare(clause, row)):
                    known.append(_Described(one.said, (clause,)))
            known += self._by_reputation(row, passage.text, hidden)
        return known

    def _by_reputation(self, row: int, text: str, hidden: frozenset[str]) -> Iterator[_Described]:
        """Yield descriptions by two things that a text says a row is known for, which no other text mentions both."""
        names = self._documents[row].names
        things = [text[start:end] for start, end in reputations(text, names)]
        things = [one for one in things if not (contains(one, hidden) or shares_stem(one, names))]
        most = max(1, _COMMON_THING * len(self._rows))
        things = [one for one in things if names_thing(one) or len(self._holders((head_of(one),))) <= most]
        own = [names_thing(one) or (not is_general(one) and len(self._holders((head_of(one),))) == 1) for one in things]
        for (first, is_own), (second, is_own_too) in combinations(zip(things, own, strict=True), 2):
            if self._holders((first, second)) == [row] and (is_own or is_own_too):
                word = _FAMOUS[(row + len(first)) % len(_FAMOUS)]
                yield _Described(f"the {self._noun} {word} for {second} and {first}", (first, second))

    def _is_rare(self, clause: str, row: int) -> bool:
        """Return whether no text of another row contains most words of a clause, rare ones counting more."""
        weights = {word: self._matcher.weight(word) for word in self._matcher.words(clause)}
        others = (own for other, own in self._words.items() if other != row)
        most = max((sum(weights[word] for word in own & weights.keys()) for own in others), default=0.0)
        return len(weights) > 2 and len(clause.split()) <= _MOST_WORDS and most <= _SHARED * sum(weights.values())

    def _holders(self, phrases: tuple[str, ...]) -> list[int]:
        """Return the rows with a passage that contains all phrases; compares text as the SQL of the question does."""
        wanted = [phrase.lower() for phrase in phrases]
        return [row for row, texts in self._lower.items() if any(all(one in text for one in wanted) for text in texts)]

    def _where(self, described: _Described) -> str:
        condition = " AND ".join(f"contains(lower(text), lower({literal(phrase)}))" for phrase in described.phrases)
        return f"{self._key.sql} IN (SELECT title FROM passages WHERE {condition})"

    def _passages(self, row: int, described: _Described) -> tuple[int, ...]:
        title, wanted = self._documents[row].name, [phrase.lower() for phrase in described.phrases]
        texts = enumerate(self._table.texts)
        return tuple(
            at for at, text in texts if text.title == title and all(one in text.text.lower() for one in wanted)
        )

    def _gives(self, text: tuple[int, ...], answer: str) -> bool:
        """Return whether passages give the answer."""
        shown = [self._table.texts[t].text for t in text]
        numbers = [digits.lstrip("0") for digits in _NUMBER.findall(answer.replace(",", ""))]
        said = {digits for one in shown for digits in _NUMBER.findall(one.replace(",", ""))}
        titles = [self._table.texts[t].title for t in text]
        return any(leaks(one, [answer]) for one in shown) or not said.isdisjoint(numbers) or shares_stem(answer, titles)

    # -- questions ----------------------------------------------------------------------------------------------------

    def _cell(self, rng: np.random.Generator) -> TableDraft | None:
        """Ask for a cell of a described row."""
        drawn = self._one(rng)
        if drawn is None:
            return None
        row, described = drawn
        texts = self._passages(row, described)
        # The highest mountain of Crete: a name tells where it is.
        is_named = any(word[:1].isupper() for phrase in described.phrases for word in phrase.split()[1:])
        columns = [
            c for c in self._drafter.asked
            if self._drafter.has_value(c, row) and not is_popularity(c.noun)
            and not self._gives(texts, c.cells[row])
            and not (is_named and c.noun.rpartition(" ")[2] in wording.PLACES)
        ]  # fmt: skip
        if not columns:
            return None
        column = columns[int(rng.integers(len(columns)))]
        text = wording.lookup(column, described.said, rng, self._drafter.noun)
        sql = f"SELECT {column.sql} FROM table_rows WHERE {self._where(described)}"
        uses = self._drafter.named([row])
        return TableDraft("cell of a described row", text, sql, uses, (row,), (), texts, phrases=described.phrases)

    def _tagged(self, rng: np.random.Generator) -> TableDraft | None:
        """Ask which rows have a person in a column and a label in their passages: *movies directed by X tagged 'y'*."""
        row = int(rng.choice(self._rows))
        clauses = [c for c in self._drafter.clauses(row) if c.column.by and c.values and c.mask.sum() >= _FEW]
        options = [option for clause in clauses for option in self._labelled(row, clause)]
        if not options:
            return None
        clause, item, rows = options[int(rng.integers(len(options)))]
        if self._drafter.are_many([clause]) or not all(self._drafter.can_name(self._key.cells[at]) for at in rows):
            return None
        described = _Described(item, (item,))
        where = f"{clause.sql} AND {self._where(described)}"
        things = wording.noun_phrase(self._drafter.nouns, [clause])
        text = wording.drawn("tagged", rng, things=things, predicate=f"are tagged {quoted(item)}")
        sql = f"SELECT {self._key.sql} FROM table_rows WHERE {where}"
        passages = tuple(at for one in rows for at in self._passages(one, described))
        near = tuple(at for at in np.flatnonzero(clause.mask).tolist() if at not in rows)
        holders = [at for at in self._holders((item,)) if at not in rows and self._has_item(at, item)]
        others = tuple(at for one in holders for at in self._passages(one, described))
        if not all(at in self._documents and any(True for _ in self._items(at)) for at in near):
            return None  # a row without labels may deserve any
        own = {self._documents[at].name for at in near}
        of_near = tuple(at for at, one in enumerate(self._table.texts) if one.title in own)
        uses = self._drafter.named(list(rows))
        draft = TableDraft(
            "tagged rows", text, sql, uses, rows, clause.values, passages, (item,), near, (*of_near, *others)
        )
        return draft if others else None

    def _labelled(self, row: int, clause: RowCondition) -> Iterator[tuple[RowCondition, str, tuple[int, ...]]]:
        """Yield the labels of a row that some other rows with the condition have, with these rows."""
        for label in self._items(row):
            if untelling(label, "keyword") or is_crude(label) or label.casefold() in self._matcher.untold:
                continue
            rows = tuple(at for at in self._holders((label,)) if clause.mask[at])
            is_fit = 1 < len(rows) < min(clause.mask.sum(), _MOST + 1)
            if is_fit and all(self._has_item(at, label) for at in rows):
                yield clause, label, rows

    def _has_item(self, row: int, item: str) -> bool:
        """Return whether a list in the passages of a row has an item, not only a longer one with its words."""
        return any(label.casefold() == item.casefold() for label in self._items(row))

    def _items(self, row: int) -> Iterator[str]:
        """Yield the labels of the lists in the passages of a row."""
        for text in (one.text for one in self._documents[row].passages if is_list_field(one.field)):
            yield from (text[start:end] for start, end, _ in items(text))
