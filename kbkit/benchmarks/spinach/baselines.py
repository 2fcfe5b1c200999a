"""The paper's two cheap baselines (section 5.3): a model that answers without a query, or with a query in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbkit.agent import describe
from kbkit.agent.actions import Explorer
from kbkit.benchmarks.spinach.execute import execute
from kbkit.benchmarks.spinach.files import SparqlQuestion
from kbkit.measures.rows import Result

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

DIRECT, ONE_SHOT = "direct", "one-shot"
PROMPTS = {DIRECT: "spinach_direct", ONE_SHOT: "spinach_sparql"}
_YES, _NO = "yes", "no"


@dataclass(frozen=True)
class Prediction:
    """The answer of a baseline: its rows (None with an ``error``), and the query, if it writes one."""

    rows: Result
    sparql: str = ""
    error: str = ""
    cut: bool = False


class Baseline:
    """A baseline by name; thread-safe. ``timeout`` and ``limit`` are those of a query."""

    def __init__(self, kb: KnowledgeBase, calls: Calls, name: str, timeout: float | None, limit: int) -> None:
        self._kb, self._calls, self._name, self._timeout, self._limit = kb, calls, name, timeout, limit
        self._about = describe.kb(kb.stores, Explorer(kb.stores).names) if name == ONE_SHOT else {}

    def gold(self, result: Result) -> Result:
        """Return a gold result as the baseline is compared with it.

        A model that writes no query answers with names, so that entities are replaced by theirs (appendix D).
        """
        if self._name != DIRECT or not isinstance(result, list):
            return result
        names = {value: self._name_of(value) for value in {cell["value"] for row in result for cell in row.values()}}
        return [
            {column: {"type": "literal", "value": names[cell["value"]]} for column, cell in row.items()}
            for row in result
        ]

    def _name_of(self, value: str) -> str:
        """Return the name of the node with an IRI; any other value is unchanged."""
        ids, _ = self._kb.stores.nodes.by_iri([value])
        return self._kb.stores.nodes.name(int(ids[0])) if len(ids) else value

    def answer(self, question: SparqlQuestion, gold: Result) -> Prediction:
        """Return the answer to a question; ``gold`` tells whether it is a question of yes or no."""
        inputs: dict[str, Any] = {"question": question.text}
        if self._name == ONE_SHOT:
            inputs["kb"] = self._about
        [answer] = self._calls.ask(PROMPTS[self._name], [inputs])
        if answer.value is None:
            return Prediction(None, error=f"no valid answer: {answer.problem}")
        if self._name == DIRECT:
            return Prediction(_rows(answer.value["rows"], is_boolean=isinstance(gold, bool)))
        query = answer.value["sparql"].strip()
        executed = execute(self._kb, query, self._timeout, self._limit)
        return Prediction(executed.result, query, executed.error, executed.cut)


def _rows(rows: list[list[str]], *, is_boolean: bool) -> Result:
    if is_boolean and len(rows) == 1 and len(rows[0]) == 1 and rows[0][0].casefold() in (_YES, _NO):
        return rows[0][0].casefold() == _YES
    return [
        {f"column{number}": {"type": "literal", "value": value} for number, value in enumerate(row, 1)} for row in rows
    ]
