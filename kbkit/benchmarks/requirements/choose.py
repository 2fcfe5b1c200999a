"""Choose requirements without a model: phrases and conditions that about as many candidates meet as wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from kbkit.answers.syntax import Nodes
from kbkit.benchmarks.documents import Document, Span, read_documents
from kbkit.benchmarks.evidence import Matcher, contains, folded
from kbkit.benchmarks.requirements.conditions import Conditions
from kbkit.benchmarks.requirements.options import Mask, RequirementOption
from kbkit.benchmarks.requirements.other_texts import OtherTexts
from kbkit.benchmarks.requirements.phrases import (
    Mentions,
    avoided,
    is_item,
    is_mention,
    telling_phrases,
    tells_story,
)
from kbkit.benchmarks.requirements.terms import EMPTY
from kbkit.benchmarks.requirements.textual import TextProperty
from kbkit.english.reputations import is_general, names_thing
from kbkit.english.types import WORKS, type_noun
from kbkit.kb import KnowledgeBase
from kbkit.schema import Role, quote

PHRASE, CONDITION = "phrase", "condition"
"""Kinds of requirements."""
ITEM, STORY, CLAUSE, AMOUNT, DATE, LONE, OPEN = "item", "story", "clause", "amount", "date", "lone", "open"
"""Kinds of requirements: items of lists, such as keywords, whom a story is about, what a description states,
bounds of numbers other than years, years, bounds that one candidate alone meets, and all that may hold for things that
the KB does not have: all but statements with a name or a year."""
_MAX_PHRASES = 60
"""Telling phrases of a gold answer that are considered."""
_COMMON_LEAD = 0.01
"""Maximum fraction of the stories that mention a lead: many have a lawyer, and not all of their texts say so."""
_NAMED = re.compile(r"\b[^\W\d_a-z]|\d{3}")
_TAGGED = 2
"""Works that must have a tag or the like: in the tags of one work it is there by chance, but two are not."""
_COMMON_THING = 0.02
"""Maximum fraction of the texts that mention what one is known for in one word, such as oil: others are, too."""
_MAX_NEIGHBORS = 2_000
_GOLDS, _CONSIDERED = 6, 20
"""Candidates that are tried as the gold answer until about as many as wanted meet the requirements, and candidates
among which those with phrases are looked for."""
_PHRASE_FIRST = 0.8
"""Probability that a phrase is preferred to a condition."""
_PAIRED = 0.6
"""Probability that two requirements are chosen together."""
_RAREST = 4
"""Equally good choices that are drawn from, those of the rarest terms."""
_TOLERANCE = 0.4
"""How much farther from the wanted number of answers, relative to it, a phrase may be than a condition."""


def fits(candidates: int, wanted: int) -> bool:
    """Return whether several answers are wanted, and about as many satisfy the relations alone."""
    return wanted > 1 and abs(candidates - wanted) <= max(1, wanted // 2)


def _cost(options: Sequence[RequirementOption], wanted: int) -> float:
    """Return how far the number of candidates that meet all options is from the wanted one, relative to it."""
    return abs(int(np.logical_and.reduce([option.mask for option in options]).sum()) - wanted) / wanted


class Chooser:
    """Chooses requirements for groundings whose candidates have the given ``documents``; of one ``kind``, or any.

    A phrase is chosen only if the text of another node of the type mentions it too, so that the relations are needed.
    ``read`` reads the documents of such nodes.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        matcher: Matcher,
        documents: Mapping[int, Document],
        kind: str = "",
        read: Callable[[Iterable[int]], dict[int, Document]] | None = None,
    ) -> None:
        self._kb, self._kind = kb, kind
        self._read = read or partial(read_documents, kb)
        self._others: dict[str, OtherTexts] = {}
        self._matcher = matcher
        self._documents = documents
        self.mentions = Mentions(matcher, documents.values())
        self._conditions: dict[str, Conditions] = {}
        self._avoided: dict[str, frozenset[str]] = {}

    def choose(
        self,
        candidates: Sequence[int],
        hidden: Sequence[str],
        role: Role,
        wanted: int,
        limit: int,
        rng: np.random.Generator,
        *,
        alone: bool = False,
        relations: Collection[str] = (),
        noun: str = "",
        without: Collection[str] = (),
    ) -> tuple[int, list[TextProperty]]:
        """Return a gold answer and 1 to ``limit`` requirements that about ``wanted`` candidates meet, it among them.

        Without a phrase or a condition that leaves out a candidate there are no requirements. With ``alone`` there are
        none either if the number of candidates is closer to the wanted one. ``hidden`` are names that no phrase may
        contain; nor does a phrase repeat the name of a node that one of ``relations``, those of the grounding, joins to
        the gold answer. ``noun`` is what the candidates are, if their type does not say it. ``without`` are kinds of
        requirements that are not asked for.
        """
        with_text = [row for row, node in enumerate(candidates) if self._documents[node].passages]
        rows = with_text or list(range(len(candidates)))
        pair = limit > 1 and bool(rng.random() < _PAIRED)
        prefers_phrase = bool(rng.random() < _PHRASE_FIRST)
        gold, options, chosen, least = rows[0], [], [], np.inf
        tried = rng.permutation(rows).tolist()
        if prefers_phrase and self._kind != CONDITION:  # of some more candidates, those with a phrase first
            documents = {row: self._documents[candidates[row]] for row in tried[:_CONSIDERED]}
            of_rows = {
                row: self._phrases(candidates, own, hidden, role, relations, noun, without)
                for row, own in documents.items()
            }
            described = [row for row, phrases in of_rows.items() if any(one.is_clause for one in phrases)]
            told = [row for row, phrases in of_rows.items() if phrases and row not in described]
            tried = [*described, *told, *(row for row in tried if row not in {*described, *told})]
        of_gold = {
            row: [
                option
                for option in self._options(candidates, row, hidden, role, wanted, relations, noun, without)
                if not option.mask.all()
            ]
            for row in tried[:_GOLDS]
        }
        for row, available in of_gold.items():
            best = self._best(available, wanted, rng, pair=pair, prefers_phrase=prefers_phrase) if available else []
            cost = _cost(best, wanted) if best else np.inf
            if cost < least:
                gold, options, chosen, least = row, available, best, cost
            if cost <= _TOLERANCE:
                break
        if alone and fits(len(candidates), wanted) and abs(len(candidates) - wanted) < least * wanted:
            return candidates[gold], []
        for _ in range(int(rng.integers(limit)) - len(chosen) + 1 if chosen else 0):
            chosen = [*chosen, *self._further(options, chosen, wanted)]
        return candidates[gold], [option.property(rng) for option in chosen]

    def has_phrases_alone(self, node_type: str) -> bool:
        """Return whether a type has no attributes that conditions could test."""
        return self._conditions_of(node_type).is_empty

    def _conditions_of(self, node_type: str) -> Conditions:
        if node_type not in self._conditions:
            self._conditions[node_type] = Conditions(self._kb, node_type)
        return self._conditions[node_type]

    def masks(self, candidates: Sequence[int], properties: Iterable[TextProperty]) -> list[Mask]:
        """Return for each property which candidates have it."""
        masks = []
        for text_property in properties:
            if text_property.condition:
                masks.append(self._meet(candidates, text_property))
            else:
                masks.append(self.mentions.mask(self.mentions.forms(text_property.text), candidates))
        return masks

    def count(self, candidates: Sequence[int], properties: Iterable[TextProperty]) -> int:
        """Return how many candidates have all properties."""
        return int(np.logical_and.reduce([np.ones(len(candidates), bool), *self.masks(candidates, properties)]).sum())

    def _meet(self, candidates: Sequence[int], text_property: TextProperty) -> Mask:
        """Return which candidates meet a condition; those whose primary type lacks the attribute do not."""
        types = np.array([self._documents[node].type for node in candidates], object)
        mask = np.zeros(len(candidates), bool)
        for name in np.unique(types).tolist():
            if any(attribute.name == text_property.field for attribute in self._kb.schema.type(name).attributes):
                kept = self._kb.answers(f"{Nodes(name)}{{{text_property.condition}}}").ids
                mask |= (types == name) & np.isin(candidates, kept)
        return mask

    def spans(self, node: int, properties: Iterable[TextProperty]) -> tuple[Span | None, ...]:
        """Return for each property where a node's texts mention the phrase, or the value of its attribute."""
        spans: list[Span | None] = []
        for text_property in properties:
            if text_property.condition:
                table = quote(self._kb.schema.type_of(node).table)
                sql = f"SELECT {quote(text_property.field)} FROM {table} WHERE id = $id"
                [(value,)] = self._kb.tables.rows(sql, {"id": node})
                spans.append(Span(text_property.field, 0, len(str(value)), str(value)))
            else:
                spans.append(self.mentions.find(self.mentions.forms(text_property.text), node))
        return tuple(spans)

    def _options(
        self,
        candidates: Sequence[int],
        gold: int,
        hidden: Sequence[str],
        role: Role,
        wanted: int,
        relations: Collection[str],
        noun: str,
        without: Collection[str],
    ) -> list[RequirementOption]:
        document = self._documents[candidates[gold]]
        options = []
        if self._kind != CONDITION:
            options = self._phrases(candidates, document, hidden, role, relations, noun, without)
        if self._kind == PHRASE:
            return options
        known = self._conditions_of(document.type)
        if not known.is_empty and OPEN not in without:
            conditions = known.options(known.values(candidates), gold, wanted)
            if AMOUNT in without:
                conditions = [(one, mask) for one, mask in conditions if one.is_date or not one.is_bound]
            if LONE in without:
                conditions = [
                    (one, mask) for one, mask in conditions if one.is_date or not one.is_bound or mask.sum() > 1
                ]
            if DATE in without:
                conditions = [(one, mask) for one, mask in conditions if not one.is_date]
            options += [
                RequirementOption(condition, mask, frozenset((f"{condition.attribute}:",)))
                for condition, mask in conditions
            ]
        return options

    def _phrases(
        self,
        candidates: Sequence[int],
        document: Document,
        hidden: Sequence[str],
        role: Role,
        relations: Collection[str],
        noun: str,
        without: Collection[str],
    ) -> list[RequirementOption]:
        avoid = self._avoid(document.type) | avoided(self.mentions, document.names)
        if any(passage.field == "name" for passage in document.passages):
            avoid = self._avoid(document.type)
        every = [relation.name for relation in self._kb.schema.relations]
        neighbors, stated = (folded(self._neighbors(document.id, names)) for names in (every, relations))
        noun = noun or type_noun(document.type)
        phrases = telling_phrases(document, role, self.mentions, self._matcher, avoid, hidden, neighbors, noun)
        options = []
        for phrase in phrases[:_MAX_PHRASES]:
            if contains(phrase.span.text, stated) or is_mention(phrase):
                continue
            kind = ITEM if is_item(phrase) else CLAUSE if phrase.predicates else STORY * tells_story(document, noun)
            if kind in without:
                continue
            if OPEN in without and not _NAMED.search(phrase.span.text):
                continue
            others = self._texts_of(document.type)
            if kind == STORY and others.share(phrase.forms) > _COMMON_LEAD:
                continue
            is_shared = self._kind == PHRASE  # the texts are given, so that others may state the same
            is_plain = phrase.is_reputation and not names_thing(phrase.span.text)
            if is_shared and is_plain:
                continue  # countries on the Oder that are known for castles: a reader knows others
            if is_plain and others.share((phrase.head,)) > _COMMON_THING:
                continue
            is_of_some = phrase.predicates is not None and phrase.predicates[0].startswith("has ")
            if is_of_some and not is_shared and not _NAMED.search(phrase.span.text):
                continue  # other countries have a coastal plain
            told = {*phrase.forms} - EMPTY
            is_whole = is_shared or kind == ITEM
            if not (others.mention(phrase.forms, candidates) if is_whole else others.mention_any(told, candidates)):
                continue
            mask = self.mentions.mask(phrase.forms, candidates)
            if mask.all() or not self.mentions.uncertain(phrase, candidates).any():
                is_tag = kind == ITEM and noun.rpartition(" ")[2] in WORKS and mask.sum() < _TAGGED
                is_common = is_plain and (is_general(phrase.span.text) or others.count(phrase.head) > 1)
                is_lone = bool(is_tag or is_plain)
                options.append(RequirementOption(phrase, mask, frozenset(phrase.forms), is_lone, is_common))
        return options

    def _texts_of(self, node_type: str) -> OtherTexts:
        if node_type not in self._others:
            self._others[node_type] = OtherTexts.of_type(self._kb, node_type, self.mentions, self._read)
        return self._others[node_type]

    def _avoid(self, node_type: str) -> frozenset[str]:
        """Return the stems of a type and of the relations that join it."""
        if node_type not in self._avoided:
            joined = [
                relation
                for relation in self._kb.schema.relations
                if any(node_type in (signature.head, signature.tail) for signature in relation.signatures)
            ]
            labels = [text for relation in joined for text in (relation.label, relation.name)]
            self._avoided[node_type] = avoided(self.mentions, [node_type, *labels])
        return self._avoided[node_type]

    def _neighbors(self, node: int, relations: Iterable[str]) -> list[str]:
        """Return the names of the neighbours of a node by some relations."""
        masks: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []
        for name in relations:
            for forward in (True, False):
                masks.append(self._kb.session.move(name, forward).neighbors(node)[:_MAX_NEIGHBORS])
        ids = np.unique(np.concatenate(masks))[:_MAX_NEIGHBORS] if masks else np.empty(0, np.int32)
        return [name for name in self._kb.stores.nodes.frame(ids)["name"].to_list() if name]

    @staticmethod
    def _best(
        options: Sequence[RequirementOption], wanted: int, rng: np.random.Generator, *, pair: bool, prefers_phrase: bool
    ) -> list[RequirementOption]:
        """Return the option, or with ``pair`` the two options, that as many candidates meet as wanted.

        Two conditions of a pair each leave out candidates that the other accepts; a term may be there to say more. At
        most one compares a number: *from 1998 or later and at least 94 minutes long* is arbitrary.
        Among equally good ones the choice is random among the rarest terms.
        """
        masks = np.array([option.mask for option in options], np.int32)
        common = masks @ masks.T
        sizes = np.diagonal(common)
        cost = np.full(common.shape, np.inf)
        kinds = np.array([option.kind for option in options])
        are_lone = np.array([option.is_lone for option in options])
        are_terms = np.array([option.is_phrase for option in options])
        if pair or (prefers_phrase and are_terms.any() and are_lone[are_terms].all()):
            useful = (common < sizes[:, None]) & (common < sizes[None, :]) | (are_terms[:, None] & are_terms[None, :])
            apart = np.array([[a.words.isdisjoint(b.words) for b in options] for a in options])
            are_bounds = np.array([option.is_bound for option in options])
            useful &= ~(are_bounds[:, None] & are_bounds[None, :])
            # Not: tagged 'woods' and 135 minutes long; nor: crossed by the Tigris and known for carpets.
            useful &= (kinds[:, None] == kinds[None, :]) | ~(are_terms[:, None] | are_terms[None, :])
            useful &= ~(kinds == "phrase")[:, None]
            are_common = np.array([option.is_common for option in options])  # not: known for steel and grain
            useful &= ~(are_common[:, None] & are_common[None, :])
            cost = np.where(useful & apart, np.abs(common - wanted) / wanted, np.inf)
            cost[np.tril_indices(len(options))] = np.inf
        if not np.isfinite(cost).any():
            alone = np.eye(len(options), dtype=bool) & ~are_lone
            cost = np.where(alone, np.abs(common - wanted) / wanted, np.inf)
            if not alone.any():
                return []
        best = cost.min()
        if prefers_phrase:
            with_phrase = np.where(are_terms[:, None] | are_terms[None, :], cost, np.inf)
            if with_phrase.min() <= best + _TOLERANCE:
                cost, best = with_phrase, with_phrase.min()
        first, second = np.nonzero(cost <= best + 1e-9)
        scores = np.array([option.score for option in options])
        rarest = np.argsort(-(scores[first] + scores[second]), kind="stable")[:_RAREST]
        at = int(rarest[int(rng.integers(len(rarest)))])
        return [options[position] for position in dict.fromkeys((int(first[at]), int(second[at])))]

    @staticmethod
    def _further(
        options: Sequence[RequirementOption], chosen: Sequence[RequirementOption], wanted: int
    ) -> list[RequirementOption]:
        """Return an option about something else that leaves about ``wanted`` candidates, if there is one."""
        kept = np.logical_and.reduce([option.mask for option in chosen])
        words = frozenset[str]().union(*(option.words for option in chosen))
        has_bound = any(option.is_bound for option in chosen)
        free = [
            one
            for one in options
            if not one.is_lone and one.words.isdisjoint(words) and not (has_bound and one.is_bound)
        ]
        kinds = {option.kind for option in chosen}
        free = [one for one in free if {one.kind} == kinds or not (one.is_phrase or any(o.is_phrase for o in chosen))]
        free = [
            option for option in free if min(wanted, int(kept.sum())) <= int((option.mask & kept).sum()) < kept.sum()
        ]
        return free[:1]
