"""The head of an answer leaves with its body, and nothing is kept back for long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from sayso.service.http.connections import JoiningTransport


class Wire(asyncio.Transport):
    """A connection that keeps what was sent, one piece for each word to the system."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.closed_after: int | None = None

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.sent.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.closed_after is not None

    def close(self) -> None:
        self.closed_after = len(self.sent)


async def come_round() -> None:
    """Once everything that the loop was asked to do soon is done."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(done.set_result, None)
    await done


def test_a_head_leaves_together_with_the_body_that_follows_it() -> None:
    async def answer() -> list[bytes]:
        wire = Wire()
        joining = JoiningTransport(wire)
        for body in (b"one", b"two"):
            joining.write(b"head ")
            joining.write(body)
        await come_round()
        return wire.sent

    assert asyncio.run(answer()) == [b"head one", b"head two"]


def test_a_head_that_nothing_follows_leaves_when_the_loop_comes_round() -> None:
    async def answer() -> list[bytes]:
        wire = Wire()
        joining = JoiningTransport(wire)
        joining.write(b"head")
        await come_round()
        joining.write(b"later")
        await come_round()
        return wire.sent

    assert asyncio.run(answer()) == [b"head", b"later"]


def test_what_was_written_leaves_before_the_connection_is_closed() -> None:
    async def answer() -> Wire:
        wire = Wire()
        joining = JoiningTransport(wire)
        joining.write(b"goodbye")
        joining.close()
        await come_round()
        return wire

    wire = asyncio.run(answer())
    assert (wire.sent, wire.closed_after) == ([b"goodbye"], 1)


def test_what_is_for_somebody_who_has_left_is_dropped() -> None:
    async def write() -> list[bytes]:
        wire = Wire()
        joining = JoiningTransport(wire)
        joining.write(b"head")
        wire.close()
        joining.write(b"body")
        joining.write_at_once(b"more")
        await asyncio.sleep(0)
        return wire.sent

    assert asyncio.run(write()) == []
