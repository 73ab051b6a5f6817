"""Output that leaves by a thread of its own."""

import os
from threading import Thread

from logreplay.cli.display.async_output import Outlet


def test_a_full_pipe_that_somebody_made_non_blocking_loses_nothing() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    got: list[bytes] = []

    def read() -> None:
        while data := os.read(reading, 65_536):
            got.append(data)

    with open(writing, "w", encoding="utf-8") as stream:
        outlet = Outlet(stream)
        outlet.write("x" * 1_000_000)
        reader = Thread(target=read)
        reader.start()
        assert outlet.drain()
        assert outlet.failure is None
        outlet.close()
    reader.join()
    assert sum(map(len, got)) == 1_000_000
    os.close(reading)
