"""Addresses of this machine from which connections are opened."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any, Final
from zlib import crc32

from logreplay.core.errors import TargetError

MOST: Final = 4096
_BIND_ADDRESS_NO_PORT: Final = 24
"""Linux socket option: the port is chosen when the socket connects, so that it may be in use towards another
destination."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_sources(text: str) -> tuple[str, ...]:
    """Read addresses, ranges and networks with commas between: ``127.0.0.2,127.0.0.8-127.0.0.11,127.1.0.0/28``."""
    found: dict[str, None] = {}
    for part in text.split(","):
        for address in _addresses(part.strip()):
            found[str(address)] = None
            if len(found) > MOST:
                raise ValueError(f"{text!r}: these are more than {MOST:,} addresses; name fewer")
    return tuple(found)


def _addresses(text: str) -> Iterator[_Address]:
    first, dash, last = text.partition("-")
    try:
        if "/" in text:
            yield from ipaddress.ip_network(text).hosts()
        elif not dash:
            yield ipaddress.ip_address(text)
        else:
            low, high = ipaddress.ip_address(first), ipaddress.ip_address(last)
            if low.version != high.version or int(low) > int(high):
                raise ValueError("the range ends before it begins")
            yield from (type(low)(number) for number in range(int(low), int(high) + 1))
    except ValueError as error:
        raise ValueError(
            f"{text!r}: expected addresses of this machine, such as 127.0.0.2,127.0.0.3 or 127.0.0.2-127.0.0.9 or "
            f"127.0.1.0/28: {error}"
        ) from None


def check_sources(sources: Sequence[str]) -> None:
    """Check that this machine has these addresses; TargetError if it lacks one."""
    for source in sources:
        try:
            with socket.socket(_family(source)) as tried:
                tried.bind((source, 0))
        except OSError as error:
            raise TargetError(
                f"--local-address {source}: this machine cannot send from it: {error.strerror}; ip address shows its "
                "addresses"
            ) from None


def reached_from(sources: Sequence[str], addresses: Sequence[str]) -> tuple[str, ...]:
    """The addresses of a target that have the version of IP of a source."""
    families = {_family(source) for source in sources}
    return tuple(address for address in addresses if _family(address) in families)


class Sources:
    """Chooses the source of each connection: the next one, or always the same for a client.

    ``sources`` has at least one address of each version of IP that destinations have.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        of_family = {
            family: [source for source in sources if _family(source) == family]
            for family in (socket.AF_INET, socket.AF_INET6)
        }
        self._turns = {family: cycle(some) for family, some in of_family.items()}
        # of a client: the same, wherever the turns begin
        self._sorted = {family: sorted(some) for family, some in of_family.items()}

    async def connect(
        self, made: Callable[[], asyncio.Protocol], address: str, port: int, client: str | None, **tls: Any
    ) -> tuple[Any, Any]:
        """Open a connection in the running loop, with the protocol that ``made`` returns."""
        loop, family = asyncio.get_running_loop(), _family(address)
        some = self._sorted[family]
        source = next(self._turns[family]) if client is None else some[crc32(client.encode()) % len(some)]
        opened = socket.socket(family)
        try:
            opened.setblocking(False)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
            opened.bind((source, 0))
            await loop.sock_connect(opened, (address, port))
            return await loop.create_connection(made, sock=opened, **tls)
        except BaseException:
            opened.close()
            raise


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
