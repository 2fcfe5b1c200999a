"""The turns of requests: who waits gets one in a fair order, and a cancelled request leaves none taken."""

from __future__ import annotations

import asyncio

import pytest

from kbkit.web.turns import QueueFullError, Turns


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_clients_take_turns() -> None:
    """One client has three of four turns and a queue; the others pass it, and each other only in order."""

    async def run() -> list[str]:
        turns, order = Turns(4, 100), list[str]()

        async def request(client: str) -> None:
            await turns.acquire(client)
            order.append(client)

        tasks = [asyncio.create_task(request("many")) for _ in range(6)]
        await _settle()
        tasks += [asyncio.create_task(request(client)) for client in ("a", "b", "c")]
        await _settle()
        assert order == ["many"] * 3 + ["a"]
        for client in ("many", "many", "a", "b"):
            turns.release(client)
            await _settle()
        for task in tasks:
            task.cancel()
        return order

    assert asyncio.run(run()) == ["many"] * 3 + ["a", "b", "c", "many", "many"]


def test_a_cancelled_request_keeps_no_turn() -> None:
    async def run() -> None:
        turns = Turns(2, 10)
        await turns.acquire("a")
        waiting, granted = (asyncio.create_task(turns.acquire("a")) for _ in range(2))
        await _settle()
        waiting.cancel()
        await _settle()
        turns.release("a")  # to the second one, which is cancelled before it runs
        granted.cancel()
        await _settle()
        await turns.acquire("a")
        await turns.acquire("b")

    asyncio.run(run())


def test_a_client_fills_half_of_the_queue() -> None:
    async def run() -> None:
        turns = Turns(1, 4)
        await turns.acquire("many")
        tasks = [asyncio.create_task(turns.acquire("many")) for _ in range(2)]
        await _settle()
        with pytest.raises(QueueFullError):
            await turns.acquire("many")
        tasks += [asyncio.create_task(turns.acquire(client)) for client in "ab"]
        await _settle()
        with pytest.raises(QueueFullError):
            await turns.acquire("c")
        for task in tasks:
            task.cancel()

    asyncio.run(run())
