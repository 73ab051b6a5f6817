"""The stream of requests that gives each its credentials, shortly before it is sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from logreplay.replay.requests.auth.schemes import Scheme
from logreplay.replay.requests.plan import CHUNK_ROWS, Chunk, Made, RequestStream, signing_part


@dataclass(slots=True)
class Authorized(Made):
    """Requests with credentials.

    Attributes:
        requests: without.
        scheme: adds the credentials.
        ahead: add them when requests are read, not within the second before they are due: the due times of users, and
            of a load that is changed while it is sent, are not known before.
    """

    requests: RequestStream
    scheme: Scheme
    ahead: bool = False

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        self.scheme.load()
        for frame in self.requests.frames(rows, begin):
            yield self.scheme.apply(frame) if self.ahead else frame

    @property
    def signing(self) -> bool:
        """Whether credentials are added, or another part of the stream signs, when requests are due."""
        return not self.ahead or signing_part(self.requests) is not None

    @property
    def together(self) -> int:
        """Requests given credentials in one go."""
        inner = signing_part(self.requests)
        return min(self.scheme.together, inner.together) if inner else self.scheme.together

    def sign(self, chunk: Chunk) -> Chunk:
        """Add the credentials to a chunk, after other parts of the stream have signed it."""
        inner = signing_part(self.requests)
        chunk = inner.sign(chunk) if inner else chunk
        return chunk if self.ahead else Chunk(self.scheme.apply(chunk.frame), chunk.due)


def stale(stream: RequestStream) -> str:
    """Why the secret of a stream could not be read again when it was last looked at; empty if it was, or has none."""
    inner: Any = stream
    while inner is not None and not isinstance(inner, Authorized):
        inner = getattr(inner, "requests", None)
    return inner.scheme.stale if inner else ""
