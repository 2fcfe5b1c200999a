"""Filter bindings of templates: unnatural questions, and answers that a reader would dispute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from kbkit.answers import syntax
from kbkit.answers.algebra import Hop, Lookup, Plan
from kbkit.answers.operator_tree import operators
from kbkit.answers.templates import Template
from kbkit.benchmarks.fit_nodes import MISSING, is_function, is_optional, merged_nodes, wholes
from kbkit.benchmarks.incomplete import uncategorized
from kbkit.english.markers import is_marker
from kbkit.english.noun_phrases import NounPhrase
from kbkit.english.relations import roles_of
from kbkit.english.roles import is_untyped
from kbkit.english.types import WORKS, are_people, type_noun
from kbkit.kb import KnowledgeBase

_FEW = 3
"""Nodes that a person would name."""
_LEFT_OUT = 0.2
"""Minimum fraction of the nodes of one path that the other path leaves out."""


def unfit_bindings(
    kb: KnowledgeBase,
    template: Template,
    words: NounPhrase | None,
    types: Mapping[str, str | None],
    bindings: pl.DataFrame,
    sizes: Mapping[int, int],
) -> set[int]:
    """Return the numbers of the bindings of a template that are left out.

    ``words`` are the answers in words, ``types`` those of the slots, and ``sizes`` the numbers of answers by binding.
    """
    tree = template.tree()
    unfit = _idle(kb, tree, bindings, sizes) | _partial(kb, tree, types, bindings)
    if any(is_marker(kind or "") for kind in types.values()) and len(types) > 1:
        unfit |= {binding for binding, size in sizes.items() if size < 2}  # the tag of one film is there by chance
    return unfit | _unfit_middles(kb, template, words, types, bindings)


def _idle(kb: KnowledgeBase, tree: syntax.Expression, bindings: pl.DataFrame, sizes: Mapping[int, int]) -> set[int]:
    """Return the bindings of two paths that meet in which one path is redundant or incomplete.

    A path is redundant if it excludes hardly any node: *by Jane Doe and in English*, if all her films are in English; a
    person would name the few nodes of a path.
    It is incomplete if many nodes of the other path have no value of its relation: *written by Jane Doe and directed
    by Ann Lee*, if many of Lee's films have no writer; of a category, such as a genre, if one has none.
    """
    tree = with_starts(tree)
    if not isinstance(tree, syntax.Path) or tree.arrows != ("->", "->", "<-", "<-"):
        return set()
    start, step, middle, last_step, end = tree.elements
    arms = [syntax.Path(elements, ("->", "->")) for elements in ((start, step, middle), (end, last_step, middle))]
    found = [kb.answers_many(str(arm), bindings.select(syntax.slots(arm))).select("binding", "node") for arm in arms]
    counts = [dict(frame.group_by("binding").len().iter_rows()) for frame in found]
    idle = {
        binding
        for of_arm in counts
        for binding, count in of_arm.items()
        if count <= _FEW or sizes.get(binding, 0) > (1 - _LEFT_OUT) * count
    }
    for arm, own, other in ((arms[0], counts[0], 1), (arms[1], counts[1], 0)):
        if (known := _with_value(kb, arm)) is None:
            continue
        lacking = dict(
            found[other].filter(~pl.col("node").is_in(known.implode())).group_by("binding").len().iter_rows()
        )
        for binding, count in lacking.items():
            of_other = counts[other][binding]
            if of_other <= own.get(binding, 0) and count > MISSING * of_other:
                idle.add(binding)
        open_to_all = pl.Series(_uncategorized(kb, arm), dtype=pl.Int32)
        idle.update(found[other].filter(pl.col("node").is_in(open_to_all.implode()))["binding"].to_list())
    return idle


def with_starts(tree: syntax.Expression) -> syntax.Expression:
    """Return an expression without the difference that excludes the nodes that a query names."""
    is_without = isinstance(tree, syntax.Combine) and tree.op == "-" and _are_named(tree.parts[1])
    return tree.parts[0] if isinstance(tree, syntax.Combine) and is_without else tree


def _are_named(tree: syntax.Expression) -> bool:
    """Return whether an expression lists nodes."""
    if isinstance(tree, syntax.Combine):
        return tree.op == "|" and all(map(_are_named, tree.parts))
    return isinstance(tree, syntax.Nodes) and tree.selector is not None


def _partial(
    kb: KnowledgeBase, tree: syntax.Expression, types: Mapping[str, str | None], bindings: pl.DataFrame
) -> set[int]:
    """Return the bindings that name a whole whose parts the relations do not count.

    A country on the Gulf of Guinea has a coast on the Atlantic Ocean to a reader, though not in the KB.
    """
    found: set[int] = set()
    for path in (part for part in syntax.subtrees(tree) if isinstance(part, syntax.Path)):
        for end, step in ((path.elements[0], path.elements[1]), (path.elements[-1], path.elements[-2])):
            if not isinstance(end, syntax.Nodes) or not isinstance(end.selector, syntax.Slot):
                continue
            slot = end.selector.name
            stated = {edge.relation for edge in step.edges} if isinstance(step, syntax.Step) else set()
            above = wholes(kb, types[slot] or "", stated)
            keys = [key.removeprefix("#") for key in bindings[slot].to_list()]
            ids = kb.stores.nodes.unique_ids(types[slot] or "", keys).tolist() if len(above) else []
            found.update(binding for binding, node in enumerate(ids) if node in above)
    return found


def _unfit_middles(
    kb: KnowledgeBase,
    template: Template,
    words: NounPhrase | None,
    types: Mapping[str, str | None],
    bindings: pl.DataFrame,
) -> set[int]:
    """Return the bindings of chains with a middle that is several things in one node, or that a person would name.

    That is *one of the same countries as the Rhine*, where the named thing has several middles and nothing says what
    they are of it; and the few that are identified by anything but a work: *married to the theoretical physicist*,
    *next to the country that the Zugspitze lies in*.
    """
    found: set[int] = set()
    plan = kb.session.resolved(template.tree(), template.expression)
    merged = merged_nodes(kb)
    if template.exclude_start and is_untyped(plan.root.type) and not any(back for *_, back in _middles(plan)):
        found |= _of_themselves(kb, template, types, bindings)  # other writers of films directed by Ann Lee
    for slot, middle, moves, leads_back in _middles(plan):
        is_work = type_noun(types[slot] or "").rpartition(" ")[2] in WORKS
        shared = words and words.sharing(type_noun(middle), f"<{slot}>", roles_of(middle, are_several=True))
        is_told = any("shares " in clause.singular for clause in shared.clauses) if shared else False
        is_named = not is_work if not leads_back else not is_told or (not is_work and are_people(middle))
        keys = [key.removeprefix("#") for key in bindings[slot].to_list()]
        for binding, node in enumerate(kb.stores.nodes.unique_ids(types[slot] or "", keys).tolist()):
            middles = {
                int(one) for relation, forward in moves for one in kb.session.move(relation, forward).neighbors(node)
            }
            few = 1 if is_untyped(types[slot]) else _FEW
            is_riddle = is_named and ((len(middles) > 1) if leads_back else (len(middles) <= few))
            # By a director of X: nearly all films have one, so that others may be mistakes.
            is_riddle |= leads_back and len(middles) > 1 and is_function(kb, types[slot], moves)
            if is_riddle or not merged.isdisjoint(middles):
                found.add(binding)
    return found


def _of_themselves(
    kb: KnowledgeBase, template: Template, types: Mapping[str, str | None], bindings: pl.DataFrame
) -> set[int]:
    """Return the bindings whose named node is an answer itself."""
    answers = kb.answers_many(template.expression, bindings).select("binding", "node")
    found: set[int] = set()
    for slot in bindings.columns:
        keys = [key.removeprefix("#") for key in bindings[slot].to_list()]
        nodes = pl.Series(kb.stores.nodes.unique_ids(types[slot] or "", keys), dtype=answers["node"].dtype)
        named = pl.DataFrame({"binding": range(len(nodes)), "node": nodes}).cast({"binding": answers["binding"].dtype})
        found.update(answers.join(named, on=["binding", "node"], how="semi")["binding"].to_list())
    return found


def _middles(plan: Plan) -> Iterator[tuple[str, str, list[tuple[str, bool]], bool]]:
    """Yield each chain from a named node: its slot, the type and the moves to the middle, and whether it leads back."""
    for hop in (operator for operator in operators(plan.root) if isinstance(operator, Hop)):
        before = hop.source
        if isinstance(before, Hop) and isinstance(before.source, Lookup) and before.type is not None:
            source = next(p.source for p in plan.parameters if p.name == before.source.parameter)
            if isinstance(source, syntax.Slot):
                moves = [(move.relation, move.forward) for move in before.moves]
                is_back = [(m.relation, not m.forward) for m in hop.moves] == moves
                yield source.name, before.type, moves, is_back


def _uncategorized(kb: KnowledgeBase, arm: syntax.Path) -> list[int]:
    """Return the nodes that may be at the end of a path though the KB does not say so (:func:`uncategorized`)."""
    root = kb.session.resolved(arm, str(arm)).root
    assert isinstance(root, Hop)
    nodes: list[int] = uncategorized(kb, root.type, [(move.relation, not move.forward) for move in root.moves]).tolist()
    return nodes


def _with_value(kb: KnowledgeBase, arm: syntax.Path) -> pl.Series | None:
    """Return the nodes that have a value of the relation of a path; None if the value is optional."""
    start, step, end = arm.elements
    assert isinstance(start, syntax.Nodes) and isinstance(end, syntax.Nodes) and isinstance(step, syntax.Step)
    if is_optional(end.type or "", start.type or ""):
        return None
    every = syntax.Path((syntax.Nodes(start.type), step, end), arm.arrows)
    return pl.Series(kb.answers(str(every)).ids)
