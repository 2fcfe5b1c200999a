"""Questions from answer expressions: drawn and worded as STaRK's are, or read from the files of a dataset.

There are three kinds without texts: relations alone, relations with an exclusion (*and do not flow into the Black
Sea*), and relations with a condition on an attribute (*with a height of at least 5,000 m*). Questions for texts also
require a phrase that the texts of the answers mention.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from kbkit.answers import syntax
from kbkit.answers.algebra import Hop
from kbkit.answers.parse import parse
from kbkit.answers.templates import Template
from kbkit.answers.wording import noun_phrase
from kbkit.benchmarks.dataset import QUERIES
from kbkit.benchmarks.documents import read_documents
from kbkit.benchmarks.doubted_facts import DOUBTED, ODD
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.fit_nodes import MERGED, are_whole, below, head_nouns
from kbkit.benchmarks.incomplete import FRAGMENT, gapped
from kbkit.benchmarks.pipeline import Item
from kbkit.benchmarks.predicates import fit_templates, unfit_expression, unfit_predicates
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.answer_counts import Target
from kbkit.benchmarks.requirements.choose import CONDITION, LONE, OPEN, PHRASE, Chooser
from kbkit.benchmarks.requirements.fuse import FusedQuery
from kbkit.benchmarks.requirements.phrases import is_list_field
from kbkit.benchmarks.requirements.plausible import asks_for_own_parts, implausible, is_plain_chain
from kbkit.benchmarks.requirements.relational import Grounding
from kbkit.benchmarks.requirements.settings import MIN_CANDIDATES, RequirementSettings, complete_settings
from kbkit.benchmarks.requirements.stages import StagesRun
from kbkit.benchmarks.requirements.textual import READER, Requirement, role_for
from kbkit.benchmarks.ska.graphs.subgraphs import two_way
from kbkit.english.markers import is_marker
from kbkit.english.noun_phrases import NounPhrase
from kbkit.english.roles import tail_noun
from kbkit.english.types import are_people, type_noun
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures.records import JsonRecord, content, records

_ANSWERS = {False: Target(0.5, 1.96), True: Target(0.7, 3.0)}
"""Numbers of answers without and with texts, for which requirements are chosen.

The means of Table 1 of the paper are 1.96 and 1.86; phrases that several texts mention are rare, so more are asked for.
"""
_BOUNDS = (((1, 1), 0.55), ((2, 3), 0.3), ((4, 6), 0.15))
"""Numbers of answers of questions by relations alone, and their shares."""
_CANDIDATES = (2, 50)
"""Least and greatest number of nodes that satisfy the relations of a question with a requirement."""
_MOST_WANTED = 8
_MAX_PHRASES = 2
_CONSIDERED = 300
"""Suggested templates among which pairs of paths are looked for."""
_PAIRS = 12
_EXCLUDED, _LEFT = (2, 3), 8
"""Numbers of excluded candidates, and greatest number of all candidates, of a question with an exclusion."""
_DENIED_JOB, _JOB = "did not work as ", "worked as "
_ATTEMPTS = 4
"""Groundings drawn for each question with an exclusion."""
_SHARES = (0.55, 0.2, 0.25)
"""Shares of the questions by relations alone, with exclusions, and with conditions."""


@dataclass(frozen=True)
class GraphQuestion:
    """A question: its ``text``, the ``expression`` of its answers, and ``phrases`` that their texts mention.

    ``answers`` (``type#key``) are those in the file, if it was read from one.
    """

    id: str
    dataset: str
    text: str
    expression: str
    phrases: tuple[str, ...] = ()
    answers: frozenset[str] = frozenset()


def templates(kb: KnowledgeBase, seed: int, *, text: bool = False) -> list[Template]:
    """Return the templates of questions, with ``text`` of those with phrases; raise :class:`KbError` if none fits."""
    known = fit_templates(kb, relational.templates(kb, (), seed, MIN_CANDIDATES if text else 1, with_texts=text))
    if text:
        return known
    known = [one for one in known if not is_plain_chain(kb, one.expression)] or known
    return [one for one in known if not asks_for_own_parts(kb, one.expression)] or known


def draw(kb: KnowledgeBase, count: int, seed: int, templates: Sequence[Template], *, text: bool) -> list[GraphQuestion]:
    """Return about ``count`` questions of templates, with phrases if ``text``."""
    target = _ANSWERS[text]
    settings = RequirementSettings(
        count, seed, relations_only=0.0 if text else 1.0, several=target.several, mean_answers=target.mean
    )
    pairs = [] if text else _exclusions(kb, seed)
    known = {template.id: template for template in (*templates, *(template for template, _ in pairs))}
    run = StagesRun(kb, complete_settings(settings, templates), None, Matcher(kb), known, says_acronyms=False)
    if not known:
        return []
    if text:
        drawn = relational.draw(kb, templates, target.counts(count, _MOST_WANTED), seed, _CANDIDATES)
        return _worded(run, drawn, "phrases")
    parts = [max(1, round(share * count)) for share in _SHARES]
    by_attribute = [template for template in templates if kb.schema.type(template.answer).attributes]
    wanted = target.counts(parts[2], _MOST_WANTED)
    # A template of one step asks for all members of a class, or for a single obvious fact.
    chains = [template for template in templates if relational.steps_of(template) > 1]
    groups = {
        "relations": _alone(kb, chains, parts[0], seed),
        "exclusions": _grounded(kb, pairs, parts[1], seed),
        "conditions": _drawn(kb, by_attribute, wanted, seed + 1, (MIN_CANDIDATES, _CANDIDATES[1]))
        or _drawn(kb, by_attribute, wanted, seed + 1, _CANDIDATES),
    }
    return _mixed([_worded(run, rows, kind) for kind, rows in groups.items()])


def _alone(kb: KnowledgeBase, templates: Sequence[Template], count: int, seed: int) -> list[Grounding]:
    """Return groundings for questions by relations alone, divided between the ranges of numbers of answers."""
    return [
        row
        for bounds, share in _BOUNDS
        for row in _drawn(kb, templates, np.ones(max(1, round(share * count)), np.int64), seed, bounds)
    ]


def _drawn(
    kb: KnowledgeBase, templates: Sequence[Template], wanted: relational.Ints, seed: int, bounds: tuple[int, int]
) -> list[Grounding]:
    """Return groundings with a number of candidates; none if there are none."""
    try:
        groundings = relational.draw(kb, templates, wanted, seed, bounds) if templates else []
    except KbError:
        return []
    return [dataclasses.replace(grounding, id=f"{bounds[0]}{grounding.id}") for grounding in groundings]


def _mixed(groups: Sequence[Sequence[GraphQuestion]]) -> list[GraphQuestion]:
    """Return the questions of all groups, each spread evenly."""
    placed = [
        ((at + 0.5) / len(group), number, grounding)
        for number, group in enumerate(groups)
        for at, grounding in enumerate(group)
    ]
    return [grounding for _, _, grounding in sorted(placed, key=lambda entry: entry[:2])]


# -- exclusions -------------------------------------------------------------------------------------------------------


def _exclusions(kb: KnowledgeBase, seed: int) -> list[tuple[Template, Template]]:
    """Return templates with an exclusion, each with the template whose answers both paths reach.

    Relations that are stored in both directions are left out: which end is the subject is unknown, so they read badly.
    """
    frame = kb.suggest_templates(_CONSIDERED, seed)
    unclear = two_way(kb) - {relation.name for relation in kb.schema.relations if relation.symmetric}
    unclear |= unfit_predicates(kb.schema).keys()
    # Not part of the ocean in one step, but in two.
    unclear |= {r.name for r in kb.schema.relations if any(below(kb, r, s.head) is not None for s in r.signatures)}
    heads = head_nouns(kb)
    candidates: list[tuple[bool, Template, Template]] = []
    for name, expression, answer in frame.select("template", "expression", "answer").iter_rows():
        sides = _sides(parse(expression))
        if sides is None or any(isinstance(p, syntax.Edge) and p.relation in unclear for p in _parts(sides)):
            continue
        slots = " ".join(f"<{slot}>" for slot in syntax.slots(sides[0]) + syntax.slots(sides[1]))
        if implausible(kb, expression):
            continue
        both = Template(f"suggest/{name}", expression, answer, slots)
        for number, (left, right) in enumerate((sides, sides[::-1])):
            without = str(syntax.combine("-", left, right))
            if gapped(kb, kb.session.resolved(left, str(left)).root):
                continue
            phrase = noun_phrase(kb.session.resolved(parse(without), without), kb.schema, heads)
            if phrase is not None and _is_like(phrase):
                template = Template(f"suggest/{name}_excluded{number}", without, answer, slots)
                candidates.append((not phrase.clauses[-1].is_subject, template, both))
    turns: dict[tuple[bool, str], Iterator[int]] = {}
    # Subjects first: *that are not members of the UN* rather than *that the Nile does not flow through*.
    candidates.sort(key=lambda row: (row[0], next(turns.setdefault((row[0], row[1].answer), itertools.count()))))
    return [(template, both) for _, template, both in candidates[:_PAIRS]]


def _is_like(phrase: NounPhrase) -> bool:
    """Return whether a question may deny what the last clause denies: a job of people with another job only."""
    *given, denied = (clause.singular for clause in phrase.clauses)
    return not denied.startswith(_DENIED_JOB) or any(one.startswith(_JOB) for one in given)


def _parts(sides: Sequence[syntax.Expression]) -> Iterator[object]:
    return (part for side in sides for part in syntax.subtrees(side))


def _sides(tree: syntax.Expression) -> tuple[syntax.Expression, syntax.Expression] | None:
    """Return the two paths of an expression that meet at its answers."""
    if not isinstance(tree, syntax.Path) or "<-" not in tree.arrows or len(tree.elements) != 5:
        return None
    first, step, answer, other, second = tree.elements
    if tree.arrows != ("->", "->", "<-", "<-"):
        return None
    forward = ("->", "->")
    return syntax.Path((first, step, answer), forward), syntax.Path((second, other, answer), forward)


def _grounded(kb: KnowledgeBase, pairs: Sequence[tuple[Template, Template]], count: int, seed: int) -> list[Grounding]:
    """Return groundings of templates with an exclusion that excludes some candidates and leaves several."""
    share = -(-_ATTEMPTS * count // max(1, len(pairs)))
    groundings: list[Grounding] = []
    for template, both in pairs:
        known, whole = _known(kb, template)
        frame = kb.sample(both, share, seed, *_EXCLUDED) if whole else pl.DataFrame()
        for grounding in relational.groundings(kb, both, frame):
            expression = syntax.fill(template.tree(), {slot: f"#{node.key}" for slot, node in grounding.slots.items()})
            candidates = kb.answers(str(expression)).ids.tolist()
            if 1 < len(candidates) <= _LEFT - len(grounding.candidates) and known.issuperset(candidates):
                groundings.append(
                    dataclasses.replace(
                        grounding, template=template.id, expression=str(expression), candidates=candidates
                    )
                )
    groundings = relational.unambiguous(kb, groundings)
    order = np.random.default_rng((seed, 1)).permutation(len(groundings)).tolist()
    return [dataclasses.replace(groundings[at], id=str(number)) for number, at in enumerate(order[:count])]


def _known(kb: KnowledgeBase, template: Template) -> tuple[frozenset[int], bool]:
    """Return the nodes with a value of the relation that an exclusion denies, and whether a question may deny it.

    A node without any value is no answer: that it does not have one value says nothing. Labels are not denied, as lists
    of them are never whole; nor are genres, which overlap, years, people, as in *films by Jane Doe without Ann Lee*,
    and things of the kind that is asked for, as in *countries on the Nile that do not border Chad*.
    """
    tree = template.tree()
    assert isinstance(tree, syntax.Combine)
    left, right = tree.parts
    assert isinstance(left, syntax.Path) and isinstance(right, syntax.Path)
    start = right.elements[0]
    assert isinstance(start, syntax.Nodes)
    relations = [kb.schema.relation(part.relation) for part in syntax.subtrees(right) if isinstance(part, syntax.Edge)]
    of_year = any(
        noun.rpartition(" ")[2] == "year" for noun in (type_noun(start.type or ""), *map(tail_noun, relations))
    )
    is_alike = start.type is not None and start.type == template.answer and left.elements[1] != right.elements[1]
    of_genre = type_noun(start.type or "").rpartition(" ")[2] == "genre"
    if is_marker(start.type or "") or are_people(start.type or "") or of_year or of_genre or is_alike:
        return frozenset(), False
    every = syntax.Path((syntax.Nodes(start.type), *right.elements[1:]), right.arrows)
    plan = kb.session.resolved(every, str(every))
    assert isinstance(plan.root, Hop)
    nodes = kb.answers(str(every)).ids
    moves = [kb.session.move(move.relation, not move.forward) for move in plan.root.moves]
    counts = np.sum([move.ranges(nodes)[1] for move in moves], axis=0)
    return frozenset(nodes.tolist()), are_whole(counts)


# -- wording ----------------------------------------------------------------------------------------------------------


def _worded(run: StagesRun, rows: Sequence[Grounding], kind: str) -> list[GraphQuestion]:
    """Return the questions of groundings: with a condition, with phrases, or as they are."""
    doubtful = run.merged | run.fragments
    items = [Item(row) for row in rows if kind not in _PLAIN or doubtful.isdisjoint(row.candidates)]
    items = [item for item in items if kind not in _PLAIN or run.odd(item).isdisjoint(item[Grounding].candidates)]
    items = [item for item in items if kind not in _PLAIN or not run.is_doubted(item, item[Grounding].candidates)]
    rows = [item[Grounding] for item in items]
    if kind == "phrases":
        required = _required(run, items, PHRASE, _MAX_PHRASES)
    elif kind == "conditions":
        required = _required(run, items, CONDITION, 1)
    else:
        required = [Requirement(row.id, row.candidates[0], READER.name, answers=len(row.candidates)) for row in rows]
    for item, requirement in zip(items, required, strict=True):
        item.add(requirement)
    kept = [item for item in items if not item.dropped and (item[Requirement].properties or kind in _PLAIN)]
    kept = [item for item in kept if not unfit_expression(
        run.kb, _expression(item), is_worded=bool(run.templates[item[Grounding].template].phrase)
    )]  # fmt: skip
    for item, wording in zip(kept, run.fused(kept), strict=True):
        item.add(wording)
    return [_question(item, kind) for item in kept if not item.dropped]


_PLAIN = ("relations", "exclusions")


def _question(item: Item, kind: str) -> GraphQuestion:
    phrases = tuple(text_property.text for text_property in item[Requirement].properties if not text_property.condition)
    text = item[FusedQuery].query
    text = text[:-1] if text.endswith("..") else text  # Washington, D.C.
    return GraphQuestion(f"{kind}/{item.id}", "expressions", text, _expression(item), phrases)


def _expression(item: Item) -> str:
    """Return the expression of a grounding with the conditions of its requirement."""
    tests = [text_property.condition for text_property in item[Requirement].properties if text_property.condition]
    expression = item[Grounding].expression
    return f"({expression}){{{', '.join(tests)}}}" if tests else expression


def _required(run: StagesRun, items: Sequence[Item], kind: str, limit: int) -> list[Requirement]:
    """Return 1 to ``limit`` requirements of a kind for each grounding; a row without any is dropped."""
    lists = [field.name for field in run.kb.schema.text_fields if is_list_field(field.name)]
    documents = read_documents(run.kb, (node for item in items for node in item[Grounding].candidates), lists)
    chooser = Chooser(run.kb, run.matcher, documents, kind)
    rows = []
    for item in items:
        rng, nodes, wanted = run.rng(2, item), item[Grounding].candidates, item[Grounding].wanted
        role = role_for(list(run.roles.values()), documents[nodes[0]].type, rng)
        hidden = [name for node in nodes for name in documents[node].names]
        hidden += [slot.name for slot in item[Grounding].slots.values()]
        unasked = relational.unasked(run.kb, run.templates[item[Grounding].template])
        without = {*unasked, LONE} - {OPEN}  # the texts are given, and others do not count
        noun = run.noun(item)
        gold, properties = chooser.choose(nodes, hidden, role, wanted, limit, rng, noun=noun, without=without)
        meets = np.logical_and.reduce([np.ones(len(nodes), bool), *chooser.masks(nodes, properties)])
        answers = np.array(nodes)[meets].tolist()
        dropped = "" if properties else f"no telling {kind}"
        dropped = dropped or MERGED * (not run.merged.isdisjoint(answers))
        dropped = dropped or ODD * (not run.odd(item).isdisjoint(answers))
        dropped = dropped or DOUBTED * run.is_doubted(item, answers)
        dropped = dropped or FRAGMENT * (not run.fragments.isdisjoint(answers))
        rows.append(Requirement(item.id, gold, role.name, properties, len(answers), dropped=dropped))
    return rows


# -- files ------------------------------------------------------------------------------------------------------------


def read_graph_questions(path: Path) -> list[GraphQuestion]:
    """Return the questions of a dataset of ``stark make`` or ``quest make``, by its folder or ``queries.jsonl``.

    Raises :class:`BadInputError` for a record without an expression.
    """
    path = path / QUERIES if path.is_dir() else path
    if not path.exists():
        raise KbError(f"{path} does not exist", "Use the folder of a dataset that kbkit generated")
    return [_of_record(record) for record in records(path, content(path))]


def _of_record(record: JsonRecord) -> GraphQuestion:
    fields = record.fields
    name, text, expression = (fields.get(field) for field in ("id", "query", "expression"))
    if not isinstance(expression, str) or not isinstance(text, str):
        raise record.error("Missing field 'expression' or 'query'", "Use a dataset that kbkit generated")
    properties = fields.get("properties", [])
    nodes = fields.get("answer_nodes" if "docs" in fields else "answers", [])
    try:
        tests = [text_property["condition"] for text_property in properties if text_property.get("condition")]
        phrases = tuple(
            str(text_property["text"]) for text_property in properties if not text_property.get("condition")
        )
        answers = frozenset(f"{one['type']}#{one['key']}" for one in nodes)
    except (AttributeError, KeyError, TypeError):
        raise record.error("Invalid properties or answers") from None
    if tests:
        expression = f"({expression}){{{', '.join(tests)}}}"
    return GraphQuestion(str(name), "quest" if "docs" in fields else "stark", text, expression, phrases, answers)
