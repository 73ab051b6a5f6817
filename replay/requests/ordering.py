"""Orders other than the log's. The requests lose their times, so a schedule must give them new ones."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from logreplay.core.files import scratch_folder
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
                    yield deck.rows(order[at : at + rows])
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
                yield deck.rows(random.integers(0, deck.height, count))
                left -= 0 if self.requests.loop else count


@dataclass(frozen=True, slots=True)
class _Deck:
    """All requests of a pass, one JSON object a line, mapped from a file.

    Attributes:
        text: the lines.
        ends: where each line ends, with its newline.
        schema: schema of the requests.
    """

    text: mmap.mmap
    ends: np.ndarray[Any, np.dtype[np.int64]]
    schema: pl.Schema

    @property
    def height(self) -> int:
        return len(self.ends)

    def rows(self, numbers: np.ndarray[Any, np.dtype[Any]]) -> pl.DataFrame:
        """The requests of these numbers, in this order."""
        begins = np.where(numbers > 0, self.ends[np.maximum(numbers, 1) - 1], 0)
        lines = b"".join(self.text[a:b] for a, b in zip(begins.tolist(), self.ends[numbers].tolist(), strict=True))
        coded = [name for name, kind in self.schema.items() if kind == pl.Binary]
        texts = pl.Schema({name: pl.String() if name in coded else kind for name, kind in self.schema.items()})
        rows = pl.read_lines(lines).to_series().str.json_decode(pl.Struct(texts)).struct.unnest()
        return rows.with_columns(pl.col(coded).str.decode("base64"))


def _gathered(requests: Requests) -> Iterator[_Deck]:
    """Yield all requests of a pass, in a file that goes with this generator."""
    timeless = pl.lit(None, pl.Datetime("us")).alias("start")
    sizes, schema = list[pl.Series](), dict[str, pl.DataType]()
    with scratch_folder() as folder, (folder / "deck.jsonl").open("w+b") as file:
        for frame in requests.one_pass():  # a pass without a request is an error
            rows = frame.with_columns(timeless)
            texts = rows.with_columns(cs.binary().bin.encode("base64"))
            lines = texts.select(pl.struct(pl.all()).struct.json_encode() + "\n").to_series()
            file.write(lines.str.join("").item().encode())
            sizes.append(lines.str.len_bytes())
            schema |= rows.schema  # each frame has the headers that its requests have
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            yield _Deck(text, pl.concat(sizes).cast(pl.Int64).cum_sum().to_numpy(), pl.Schema(schema))
