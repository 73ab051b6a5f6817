"""A figure of a source at one instant, its growth, and the page of a URL within bounds."""

import errno
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from logreplay.core.masking import terminal_safe

if TYPE_CHECKING:
    from aiohttp import ClientSession

LARGEST: Final = 4 << 20
"""Bytes of an answer that are read."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of one reading.

    Attributes:
        value: None if it is not known: at the first reading of a counter, or for the problem.
        maximum: largest possible value; None: unknown.
        problem: reason why the value is not known; empty: none.
    """

    value: float | None
    maximum: float | None = None
    problem: str = ""


class Source(ABC):
    """A source of figures.

    Args:
        text: as the user wrote it.

    Raises:
        ValueError: it is wrong, or what it names is not there.
    """

    figures: ClassVar[tuple[str, ...]] = ()
    """Their names, behind the name that the user gave; empty for a source of one figure."""

    @abstractmethod
    def __init__(self, text: str) -> None: ...

    @abstractmethod
    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        """Read all figures, by name.

        Args:
            session: reads URLs.
            at: seconds of the monotonic clock.

        Raises:
            Exception: whatever a library finds wrong; the text is shown.
        """

    async def close(self) -> None:  # noqa: B027  most sources have nothing to end
        """End what it has started."""


class Growth:
    """Turns readings of a counter into its growth per second."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None

    def since(self, at: float, count: float) -> float | None:
        """Return the growth since the reading before; None for the first. A fall is an error: the counter was reset."""
        last, self._last = self._last, (at, count)
        if last is None:
            return None
        if count < last[1]:
            raise ValueError(f"the counter fell from {last[1]:g} to {count:g}: its server was restarted")
        return (count - last[1]) / (at - last[0])


class Readable(Protocol):
    """A stream of bytes."""

    async def read(self, n: int = -1, /) -> bytes:
        """Return the next bytes; none at the end."""


def fault_of(error: Exception) -> str:
    """Why a foreign source was not read, or a collector not reached, in words that a terminal shows."""
    if isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
        return "connection refused"
    return terminal_safe(str(error), " ") or type(error).__name__


async def text_of(stream: Readable) -> str:
    """Read a stream to its end."""
    data = b""
    while part := await stream.read(LARGEST):
        data += part
        if len(data) > LARGEST:
            raise ValueError(f"more than {LARGEST} bytes")
    return data.decode(errors="replace")


async def fetched(url: str, session: "ClientSession") -> str:
    """Read a page; redirects are not followed."""
    async with session.get(url, allow_redirects=False) as response:
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return await text_of(response.content)
