"""What *when* and *where* ask for, and whether something ever happened."""

from __future__ import annotations

from kbkit.answers.syntax import Expression
from kbkit.english.question_words import DWELLING, PLACES, TRADING
from kbkit.english.words import may_be_verb
from kbkit.questions.clauses import AskedTarget, is_type
from kbkit.questions.conditions import ConditionPlanner
from kbkit.questions.element_lists import MOST
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.question_link import QuestionLink
from kbkit.questions.ways import NotReadError

_SAID = 0.5
"""Least similarity of a verb and the date that it is about."""
_LYING = frozenset("based born come comes found from held lie lies located lying sited situated stand stands".split())  # noqa: SIM905
"""Verbs of where something is."""
_EVER = frozenset(("ever", "anything", "anyone", "anybody", "once"))
"""Words of a question whether something ever happened."""
_HINTED = 0.25
"""Least similarity of a verb and the only events of what is named."""
_TELLING = 0.25
"""How much better words must express one of several dates or events."""


class TimePlanner(ConditionPlanner):
    """Chooses the dates, places and events that question words of one question ask for."""

    def _where(self) -> AskedTarget | None:
        """Return the place that *where* asks for: the only attribute of the named nodes that is called as one."""
        clauses = self.clauses
        is_open = clauses.is_where and not clauses.targets and not clauses.context and not clauses.most
        kinds = list(dict.fromkeys(self._conditioned())) if is_open else []
        if len(kinds) != 1:
            return None
        names = [a.name for a in self.elements.types[kinds[0]].attributes if a.type == "VARCHAR"]
        places = [name for name in names if label_words(name)[-1] in PLACES]
        if len(places) != 1:
            return None
        for word in [word for word in clauses.unexplained if word in (*DWELLING, *_LYING)]:
            self._explain(word)
        if clauses.unexplained:
            raise NotReadError("'where'")  # where do appeals go
        return AskedTarget(QuestionLink(0, 0, "where", (LabelOption(kinds[0], places[0]),)))

    def _when(self) -> AskedTarget | None:
        """Return the date that *when* and a verb ask for: the date of birth, of *when was he born*."""
        clauses = self.clauses
        if (last := self._when_last()) is not None:
            return last
        events = [link.labels[0].type for link in clauses.events]  # when was it launched, of launches
        others = [link for link in clauses.context if link not in clauses.events]
        is_open = clauses.asks_for == "when" and not clauses.targets and not others and not clauses.most
        kinds = dict.fromkeys([*events, *self._conditioned()]) if is_open else {}
        if is_open and events and (date := self._date_of(events[0])):
            return AskedTarget(QuestionLink(0, 0, "when", (LabelOption(events[0], date, 1.0, True),)))
        dates = [
            (
                max(
                    (float(self.elements.labels.similarity(word)[one.label]) for word in clauses.unexplained),
                    default=0.0,
                ),
                one,
            )
            for kind in kinds
            for one in map(self.elements.all.__getitem__, self.elements.of_kind(MOST, kind).tolist())
            if self.elements.is_yearly(kind, one.name)
        ]
        found = sorted(dates, key=lambda pair: -pair[0])
        if (
            len(found) == 1
            and {*label_words(found[0][1].name)}
            <= {"year", "date", *label_words(self.elements.types[found[0][1].source].name)}
            and not self._are_people(next(iter(kinds)))
        ):
            found = [(1.0, found[0][1])]  # when it came out: its year
        if not found or found[0][0] < _SAID or (len(found) > 1 and found[0][0] - found[1][0] < _TELLING / 2):
            return None
        best = found[0][1]
        for word in list(clauses.unexplained):
            if float(self.elements.labels.similarity(word)[best.label]) >= _SAID or may_be_verb(word):
                self._explain(word)
        return AskedTarget(QuestionLink(0, 0, "when", (LabelOption(best.source, best.name, 1.0, True),)))

    def _when_last(self) -> AskedTarget | None:
        """Return the date of the last or first of some events: *when was the last repair of Comet*."""
        clauses = self.clauses
        most = clauses.most
        is_of_time = most is not None and most.count == 1 and "date" in most.adjective.nouns
        is_of_time = is_of_time and most is not None and (most.label is None or is_type(most.label))
        links = (*clauses.context, *([most.label] if most and most.label else []))
        kinds = dict.fromkeys(link.labels[0].type for link in links if link.labels)
        if clauses.asks_for != "when" or clauses.targets or not is_of_time or len(kinds) != 1:
            return None
        [kind] = kinds
        date = self._date_of(kind)
        return AskedTarget(QuestionLink(0, 0, "when", (LabelOption(kind, date, 1.0, True),))) if date else None

    def _date_of(self, kind: int) -> str:
        """Return the date of the events of a type: the only one, or the one that comes first; empty if unknown."""
        names = [a.name for a in self.elements.types[kind].attributes if a.type.startswith(("DATE", "TIMESTAMP"))]
        return names[0] if len(names) == 1 else self.elements.own_date(kind)

    def _occurred(self) -> Expression | None:
        """Return what ever happened to a named node: the loans of a book, of *was Emma ever lent out*."""
        clauses = self.clauses
        [*nodes] = [r.values[0] for r in clauses.restrictions if r.values and r.values[0].nodes and not r.negated]
        is_one = len(clauses.restrictions) == len(nodes) == 1 and not clauses.context and not clauses.most
        verbs = [word for word in clauses.unexplained if may_be_verb(word)]
        if not is_one or len(verbs) != 1 or len(clauses.unexplained) > 1 or not _EVER & {*self._tokens}:
            return None
        kind = self.elements.type_number(nodes[0].nodes[0])
        hops = [self.elements.all[hop] for hop in self.elements.from_type(kind).tolist()]
        events = {hop.target for hop in hops if not self._is_single(kind, hop.target)} - {kind}
        said = sorted(((self._meant_by(verbs[0], kind, event), event) for event in events), reverse=True)
        if not said or (len(said) > 1 and (said[0][0] < _SAID or said[0][0] - said[1][0] < _TELLING / 2)):
            raise NotReadError(f"'{verbs[0]}'")
        if said[0][0] < _HINTED and verbs[0] not in TRADING:
            raise NotReadError(f"'{verbs[0]}'")  # did Ann ever dance
        self._explain(verbs[0])
        return self._followed(self._named_node(nodes[0].nodes[0]), self._path(kind, said[0][1]))

    def _meant_by(self, verb: str, kind: int, event: int) -> float:
        """Return how well a verb says the type of an event, or the relation that leads there."""
        relations = self.elements.labels.similarity(verb)
        hops = (hop for path in self._paths(kind, event)[:1] for hop in path)
        own = float(self.elements.type_labels.similarity(verb)[event])
        return max([own, *(float(relations[self.elements.all[hop].label]) for hop in hops)])

    def _are_people(self, kind: int) -> bool:
        return kind in self.elements.people
