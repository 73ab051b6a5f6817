"""Orders other than the log's. The requests lose their times, so a schedule must give them new ones."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from logreplay.parsers.files import scratch_folder
from logreplay.replay.requests.plan import CHUNK_ROWS, Made, Requests


@dataclass(slots=True)
class Shuffled(Made):
    """Every request once in random order; again in another order, if the log is looped.

    Attributes:
        requests: to send. All of them are read before the first one is sent; a long log waits in a temporary file,
            not in memory.
        seed: the same seed gives the same order.
    """

    requests: Requests
    seed: int = 0

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        random = np.random.default_rng(self.seed)
        for deck in _gathered(self.requests):
            while True:
                order = random.permuted(np.arange(deck.height, dtype=np.uint32))
                for at in range(begin, len(order), rows):
                    yield deck[order[at : at + rows]]
                begin = max(0, begin - len(order))
                if not self.requests.loop:
                    return


@dataclass(slots=True)
class Drawn(Made):
    """Random draws from the log, with replacement: the mix of the log without its sequence.

    Attributes:
        requests: to draw from, as for `Shuffled`; as many are drawn as it has, or without end if it loops.
        seed: the same seed gives the same requests, and others where the stream begins later.
    """

    requests: Requests
    seed: int = 0

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        random = np.random.default_rng([self.seed, begin])
        for deck in _gathered(self.requests):
            left = deck.height
            while left:
                count = rows if self.requests.loop else min(rows, left)
                yield deck[random.integers(0, deck.height, count)]
                left -= 0 if self.requests.loop else count


def _gathered(requests: Requests) -> Iterator[pl.DataFrame]:
    """Yield one frame with all requests of a pass, mapped from a file that goes with this generator."""
    import pyarrow as pa

    timeless = pl.lit(None, pl.Datetime("us")).alias("start")
    with scratch_folder() as folder:
        path = folder / "deck.arrow"
        writer = None
        for frame in requests.one_pass():
            table = frame.with_columns(timeless).to_arrow(compat_level=pl.CompatLevel.newest())
            if writer is None:
                writer = pa.ipc.new_file(path, table.schema)
            writer.write_table(table)
        assert writer  # a pass without a request is an error
        writer.close()
        with pa.memory_map(str(path)) as mapped:
            deck = pl.from_arrow(pa.ipc.open_file(mapped).read_all(), rechunk=False)
            assert isinstance(deck, pl.DataFrame)
            yield deck
