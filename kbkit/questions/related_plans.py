"""Write what a question asks of two named nodes: whether a relation leads from one to the other."""

from __future__ import annotations

from kbkit.answers.syntax import Combine, Expression
from kbkit.english.question_words import LIGHT_VERBS
from kbkit.questions.directions import expected_forward, noun_forward, voice
from kbkit.questions.group_plans import GroupPlanner
from kbkit.questions.lexicon import LITERAL
from kbkit.questions.ways import ALIKE, NotReadError

RelatedPair = tuple[float, list[int], int, int]
"""How well a path between two named nodes is expressed, its hops, and the nodes."""
_SAYING = 0.4
"""Least similarity of a word and the relation that it says two names have."""


class RelatedPlanner(GroupPlanner):
    """Plans whether two named nodes are related."""

    def _related(self) -> Expression | None:
        """Return the second of two named nodes if a relation leads there from the first: ``Is Japan in Asia``."""
        clauses, restrictions = self.clauses, self.clauses.restrictions
        if len(restrictions) == 1 and restrictions[0].op == "all":
            restrictions = self._apart()
        is_pair = len(restrictions) == 2 and not clauses.context and not clauses.most
        if not is_pair or any(r.operand or r.negated or not r.values or not r.values[0].nodes for r in restrictions):
            return None
        pairs = [
            (self._expressed(path), path, first, second)
            for first in restrictions[0].values[0].nodes[:2]
            for second in restrictions[1].values[0].nodes[:2]
            for path in self._ways(self.elements.type_number(first), self.elements.type_number(second))
        ]
        if not pairs:
            return None
        ranked = sorted(pairs, key=lambda pair: (len(pair[1]), -pair[0]))
        best = ranked[0]
        alike = [pair for pair in ranked if len(pair[1]) == len(best[1]) and best[0] - pair[0] < ALIKE]
        same = [pair for pair in alike if pair[2:] == best[2:]]  # in a film: as director or as actor
        starts = {node: r.values[0].first for r in restrictions for node in r.values[0].nodes}
        same = self._directed(same, is_subject=starts[best[2]] < starts[best[3]])
        self.doubts.choices += len(same) < len(alike)
        self.doubts.relations += len(best[1])
        labels = {self.elements.all[hop].label for _, path, *_ in same for hop in path}
        self.doubts.followed |= labels
        similar = self.elements.labels.similarity
        for word in [word for word in clauses.unexplained if max(similar(word)[[*labels]]) >= LITERAL]:
            self._explain(word)
        is_said = any(max(similar(word)[[*labels]]) >= _SAYING for word in self._words)
        unsaid = [word for word in clauses.unexplained if not is_said and word not in LIGHT_VERBS]
        if unsaid or (clauses.unexplained and len(same) > 1):
            raise NotReadError(f"'{clauses.unexplained[0]}'")  # did they fight: not whether they share a border
        ends = [self._named_node(node) for node in best[2:]]
        ways = tuple(self._followed(ends[0], path) for _, path, *_ in same)
        return Combine("&", (ways[0] if len(ways) == 1 else Combine("|", ways), ends[1]))

    def _directed(self, pairs: list[RelatedPair], *, is_subject: bool) -> list[RelatedPair]:
        """Return the ways between two nodes of one type in the direction that the verb says: *does A depend on B*.

        ``is_subject`` tells whether they start at the node that is named first.
        """
        elements, found = self.elements, []
        for pair in pairs:
            hop = elements.all[pair[1][0]]
            if len(pair[1]) > 1 or hop.source != hop.target or hop.name in elements.mutual:
                found.append(pair)
                continue
            similar = elements.labels.similarity
            at = next((n for n, word in enumerate(self._tokens) if similar(word)[hop.label] >= LITERAL), -1)
            forward = expected_forward(self._tokens, at, hop.name, None) if at >= 0 else None
            forward = noun_forward(self._tokens, at, hop.name) if at >= 0 and forward is None else forward
            is_mutual = self._tokens[at + 1 : at + 2] == ["with"]  # does A appear with B: B with A, too
            if at >= 0 and forward is None and voice(self._tokens, at) and not is_mutual:
                raise NotReadError(f"the direction of '{self._tokens[at]}'")
            if forward is None or forward == (hop.forward == is_subject):
                found.append(pair)
        return found
