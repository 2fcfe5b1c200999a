"""A model rates the answers to the turns of conversations, 0 or 1 each (ConvKGYarn, Figure 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.benchmarks.convkgyarn.run import NA, ConvAnswers

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

PROMPT = "conv_judge"


def judge(
    conversations: Sequence[Conversation], attempts: Sequence[ConvAnswers], calls: Calls
) -> tuple[list[list[int | None]], int]:
    """Return the rating of each turn of each conversation (None: the judge failed), and the number of failures.

    A conversation is rated in one call. If the reply does not have one rating per turn, each turn is rated in a call of
    its own. A reply may have 20 ratings at most, because small models do not stop.
    """
    inputs = [_turns(conversation, attempt) for conversation, attempt in zip(conversations, attempts, strict=True)]
    replies = calls.ask(PROMPT, [{"turns": turns} for turns in inputs])
    ratings = [_ratings(reply, len(turns)) for reply, turns in zip(replies, inputs, strict=True)]
    again = [
        (i, position)
        for i, turn_ratings in enumerate(ratings)
        if turn_ratings is None
        for position in range(len(inputs[i]))
    ]
    singles = calls.ask(PROMPT, [{"turns": [inputs[i][position]]} for i, position in again])
    judged: list[list[int | None]] = [turn_ratings or [None] * len(inputs[i]) for i, turn_ratings in enumerate(ratings)]
    for (i, position), reply in zip(again, singles, strict=True):
        [judged[i][position]] = _ratings(reply, 1) or [None]
    return judged, sum(rating is None for turn_ratings in judged for rating in turn_ratings)


def _turns(conversation: Conversation, attempt: ConvAnswers) -> list[dict[str, Any]]:
    return [
        {
            "question": turn.question,
            "gold_answers": [answer.text for answer in turn.answers],
            "candidates": prediction.answers or [NA],
        }
        for turn, prediction in zip(conversation.turns, attempt.turns, strict=True)
    ]


def _ratings(reply: Any, count: int) -> list[int | None] | None:
    """Return the ratings of a reply; None if their number is wrong."""
    if reply.problem or len(reply.value["ratings"]) != count:
        return None
    return list(reply.value["ratings"])
