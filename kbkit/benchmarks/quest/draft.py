"""The first two stages: categories, and queries drawn from them, with a reserve for those that later stages drop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.answers.sample_sets import Constraints, Request
from kbkit.benchmarks.quest import categories, sample
from kbkit.benchmarks.quest.categories import Categories
from kbkit.benchmarks.quest.documents import titles
from kbkit.benchmarks.quest.families import answer_type, families, family_of
from kbkit.benchmarks.quest.grammar import Shape, grammar
from kbkit.benchmarks.stages import Row
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase

_RESERVE = 4
"""So many times as many queries are drawn as are wanted."""
EVIDENCE = ("none", "partial", "complete")


@dataclass(frozen=True)
class Settings:
    """What to make: ``count`` queries for the types ``domains``, each with ``min_answers`` to ``max_answers`` answers.

    ``categories``, ``files`` and ``patterns`` are as :func:`kbkit.benchmarks.quest.categories.build` takes them;
    ``scale`` halves bounds on sizes where a shape is short; ``require`` is the least evidence an answer's document must
    show; ``texts`` is off for domains without texts, whose answers get no labels; ``without`` are text fields that are
    left out of documents.
    """

    domains: tuple[str, ...]
    count: int = 350
    seed: int = 0
    min_answers: int = 2
    max_answers: int = 20
    categories: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    patterns: Mapping[str, str] = field(default_factory=dict)
    constraints: Constraints = field(default_factory=Constraints)
    scale: bool = False
    require: str = "none"
    texts: bool = True
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.domains:
            raise KbError("no domain is named", "--domain TYPE says what the queries ask for")
        if len(set(self.domains)) < len(self.domains):
            raise KbError("a domain is named twice", "name each type once")
        if self.require not in EVIDENCE:
            raise UnknownNameError("evidence", self.require, EVIDENCE)
        if self.count < 1:
            raise KbError(f"{self.count} queries", "ask for 1 or more")
        if self.min_answers < 1:
            raise KbError(f"{self.min_answers} answers at least", "a query has 1 or more")
        if not self.texts and self.require != "none":
            raise KbError("evidence is required, and texts are not to be looked at", "leave one of the two out")
        Request(self.count, self.seed, self.min_answers, self.max_answers)

    def about(self) -> dict[str, Any]:
        """Plain data, all that the rows of the stages depend on."""
        plain = {**asdict(self), "files": [path.name for path in self.files]}
        return plain | {name: list(plain[name]) for name in ("domains", "categories", "without")}


@dataclass
class Draft:
    """Draws the queries of all domains; nothing runs before it is asked for."""

    kb: KnowledgeBase
    settings: Settings

    @cached_property
    def found(self) -> dict[str, Categories]:
        """The categories of each domain."""
        s = self.settings
        known = {domain: families(self.kb, domain, self.own(domain), s.patterns) for domain in s.domains}
        ids = [family.id for of_domain in known.values() for family in of_domain]
        for family in s.patterns:
            if family not in ids:
                raise UnknownNameError("family of categories", family, ids)
        files = list({path.resolve(): path for path in s.files}.values())
        found = {domain: categories.build(self.kb, domain, known[domain], files) for domain in s.domains}
        for path in files:
            if not any(of.in_files[family_of(path)] for of in found.values()):
                raise BadInputError(
                    f"{path} groups no two nodes of type {' or '.join(s.domains)}",
                    "a line is: category<TAB>key or name",
                )
        return found

    def own(self, domain: str) -> list[str]:
        """The user's expressions that stand for nodes of a domain; raises :class:`KbError` for one of no domain."""
        types = {text: answer_type(self.kb, text) for text in self.settings.categories}
        for text, kind in types.items():
            if kind not in self.settings.domains:
                raise KbError(f"--category {text!r} stands for nodes of type {kind}", "name it too: --domain TYPE")
        return [text for text, kind in types.items() if kind == domain]

    def categories(self) -> list[Row]:
        """A row for each category."""
        return [
            {"id": f"{domain}/{number}", "domain": domain, **asdict(item)}
            for domain, found in self.found.items()
            for number, item in enumerate(found.items)
        ]

    def families(self) -> list[Row]:
        """A row for each family, with what was left out of each domain under ``left out:``."""
        return [
            {"id": f"{domain}/{name}", "domain": domain, "family": name, "categories": count}
            for domain, found in self.found.items()
            for name, count in (
                *found.by_family().items(),
                *((f"left out: {why}", count) for why, count in found.left_out.items() if count),
            )
        ]

    @cached_property
    def lots(self) -> list[tuple[str, int, sample.Lot]]:
        """(domain, wanted, what was drawn) for each domain and shape. Raises :class:`KbError` where there are too few,
        which says of each shape how many are possible and what binds.
        """
        s = self.settings
        uses: dict[str, Counter[int]] = {domain: Counter() for domain in s.domains}
        lots, short = [], []
        for number, (domain, shape, wanted) in enumerate(self.wanted()):
            seed = int(np.random.SeedSequence([s.seed, number]).generate_state(1)[0])
            asked = Request(_RESERVE * wanted + 20, seed, s.min_answers, s.max_answers, constraints=s.constraints)
            lot = sample.draw(self.found[domain], shape, asked, wanted, uses[domain], scale=s.scale)
            lots.append((domain, wanted, lot))
            if len(lot.queries) < wanted:
                why = sample.binding(self.found[domain], shape, asked)
                short.append(f"{domain}, {shape.template!r}: {len(lot.queries)} of {wanted} possible, {why}")
        if short and (not s.scale or not any(lot.queries for _, _, lot in lots)):
            hint = "--scale-constraints halves the bounds until there are enough; --constraint NAME=VALUE sets one"
            raise KbError("too few queries meet the constraints: " + "; ".join(short), hint)
        return lots

    def draw(self) -> None:
        """Draw now; raises what :attr:`lots` does."""
        _ = self.lots

    def wanted(self) -> Iterator[tuple[str, Shape, int]]:
        """(domain, shape, how many), evenly."""
        shapes = grammar().shapes
        places = [(domain, shape) for domain in self.settings.domains for shape in shapes]
        shares = sample.shares(self.settings.count, places)
        yield from ((domain, shape, share) for (domain, shape), share in zip(places, shares, strict=True) if share)

    def shapes(self) -> list[Row]:
        """A row for each domain and shape: asked, possible, and the constraints that were used."""
        return [
            {
                "id": f"{domain}/{lot.shape.template}",
                "domain": domain,
                "template": lot.shape.template,
                "asked": wanted,
                "possible": lot.possible,
                "more": lot.more,
                "constraints": asdict(lot.constraints),
            }
            for domain, wanted, lot in self.lots
        ]

    def queries(self) -> list[Row]:
        """A row for each query, those of a shape best first: its phrases, expression and answers. ``holds`` are the
        letters of the categories that an answer is in.
        """
        frame = titles(self.kb, self.settings.domains)
        known = {row[0]: row[1:] for row in frame.iter_rows()}
        rows: list[Row] = []
        for domain, _, lot in self.lots:
            found = self.found[domain]
            for query in lot.queries:
                items = [found.items[number] for number in query.categories]
                phrases = [item.phrase for item in items]
                members = [_holds(found, number, query.answers) for number in query.categories]
                answers = [
                    dict(zip(("id", "type", "key", "name", "title"), (node, *known[node]), strict=True))
                    | {"holds": "".join(x for x, has in zip("ABC", inside, strict=False) if has)}
                    for node, *inside in zip(query.answers, *members, strict=True)
                ]
                rows.append(
                    {
                        "id": str(len(rows)),
                        "domain": domain,
                        "template": lot.shape.template,
                        "original": lot.shape.plain(phrases),
                        "marked": lot.shape.marked(phrases),
                        "phrases": phrases,
                        "names": [item.name for item in items],
                        "parts": [item.expression for item in items],
                        "expression": lot.shape.expression([item.expression for item in items]),
                        "answers": answers,
                    }
                )
        return rows


def _holds(found: Categories, number: int, answers: tuple[int, ...]) -> list[bool]:
    """Whether each answer is in a category."""
    matrix: Any = found.sets.matrix
    members = matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]]
    return [bool(inside) for inside in np.isin(answers, members)]
