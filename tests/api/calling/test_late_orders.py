"""Orders to a running load that wait for a loop that is busy."""

import asyncio
import time
from typing import Any

from logreplay.calling.audience import Audience
from logreplay.replay.monitor.sidecar import OrderAsked
from logreplay.replay.schedules.orders import Order, parse_order


class Notes:
    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str, *, always: bool = False) -> None:
        self.told.append(text)


def test_an_order_that_comes_after_it_was_told_not_to_count_is_not_carried_out() -> None:
    listener: Any = Notes()
    nothing: Any = None
    audience, carried_out, answers = Audience(nothing, listener, nothing), list[str](), list[tuple[bool, str]]()

    def steer(order: Order, _: str) -> str:
        carried_out.append(order.text)
        return "done"

    async def main() -> None:
        with audience.may_call(steer):
            for text, seconds in (("raise 20%", 30.0), ("raise 30%", -0.1)):
                asked = OrderAsked(0, parse_order(text), "me", time.monotonic() + seconds)
                audience.order(asked, lambda done, text: answers.append((done, text)))
            await asyncio.sleep(0)

    asyncio.run(main())
    assert carried_out == ["raise 20%"]
    assert answers == [(True, "done"), (False, "the order came too late, and does not count: the machine is busy")]
    assert listener.told == ["raise 20%, by me: done"]
