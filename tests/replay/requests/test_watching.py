"""The task that looks after a run ends with the plan, at whatever moment that is."""

import asyncio

import pytest

from logreplay.replay.engine import engine as engine_module
from logreplay.replay.engine.engine import Engine
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender


@pytest.mark.parametrize("turns", range(6))
def test_it_ends_also_when_the_rows_were_counted_just_then(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan ends so many turns of the loop after the thread that writes has said that it is done."""
    monkeypatch.setattr(engine_module, "_FLUSH_S", 0)

    async def main() -> None:
        sender = WireSender(Endpoint(parse_target("http://127.0.0.1:1"), ("127.0.0.1",)), timeout=1)
        async with Engine(sender, MemoryResults()) as engine:
            asked, counted = asyncio.Event(), asyncio.Event()

            def ask_to_count() -> asyncio.Event:
                asked.set()
                return counted

            monkeypatch.setattr(engine, "_ask_to_count", ask_to_count)
            watch = asyncio.create_task(engine._watch(None))
            await asked.wait()
            for _ in range(3):
                await asyncio.sleep(0)  # until it waits
            counted.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            watch.cancel()
            await asyncio.wait([watch], timeout=5)
            assert watch.cancelled()

    asyncio.run(main())
