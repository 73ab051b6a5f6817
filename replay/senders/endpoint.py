"""The target of a run, resolved and checked once, before the first request.

A load generator can do harm, so every target but loopback needs permission. Requests go only to the checked addresses;
no name is looked up during a run.
"""

import asyncio
import ipaddress
import re
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from logreplay.core.errors import NotPermitted, TargetError, UsageError
from logreplay.replay.senders.errors import connect_fault, local_fault
from logreplay.replay.senders.source_addresses import Sources, check_sources, reached_from

_PORTS: Final = {"http": 80, "https": 443}
HANDSHAKE_MARGIN_S: Final = 1.0
"""Seconds by which the limit of a TLS handshake exceeds the time-out of a request, so that the request ends first."""
_AUTHORITY: Final = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?\])(?::[0-9]*)?")
_PART: Final = r"(\[[0-9A-Fa-f:.]*(?:%[A-Za-z0-9_.-]+)?\]|[^:\[\]/@?#\s]*):([0-9]*)"
_CONNECT_TO: Final = re.compile(f"{_PART}:{_PART}")
_HIGHEST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Target:
    """A target as the user named it.

    Attributes:
        scheme: ``http`` or ``https``.
        host: name or address, without brackets; for a unix socket ``localhost``.
        port: 0 for a unix socket.
        path: path of the unix socket; empty for TCP.
    """

    scheme: str
    host: str
    port: int
    path: str = ""

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (0, _PORTS[self.scheme]) else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path else f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A target and the addresses that were found for it and checked.

    Attributes:
        target: as the user named it.
        addresses: numeric, in the order of the resolver; used in turn. Empty for a unix socket.
        sources: numeric addresses of this machine from which connections are opened; empty: the system chooses.
        unreached: addresses of the target that no source reaches, as they are of another version of IP.
        place: host and port to connect to, where they are not those of the target; the addresses are its own.
        tls_name: that the target's certificate must have, sent as SNI; empty: the host of the target.
    """

    target: Target
    addresses: tuple[str, ...]
    sources: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    place: Target | None = None
    tls_name: str = ""

    @property
    def port(self) -> int:
        """The port that is connected."""
        return (self.place or self.target).port

    def __str__(self) -> str:
        return f"{self.target} (connected to {self.place.authority})" if self.place else str(self.target)


class Dialer:
    """Opens connections to an endpoint, to its addresses in turn; the caller gives one up after ``timeout`` seconds.

    Attributes:
        opening: the connections that are being opened.
    """

    def __init__(self, endpoint: Endpoint, tls: ssl.SSLContext | None, timeout: float) -> None:
        self.opening: dict[Any, asyncio.Task[None]] = {}
        self._target, self._port = endpoint.target, endpoint.port
        name = endpoint.tls_name or endpoint.target.host
        self._tls: dict[str, Any] = {}
        if tls:
            limit = timeout + HANDSHAKE_MARGIN_S
            self._tls = {"ssl": tls, "server_hostname": name, "ssl_handshake_timeout": limit}
        self._addresses = cycle(endpoint.addresses or ("",))
        self._sources = Sources(endpoint.sources) if endpoint.sources else None

    def open(self, made: Callable[[], asyncio.Protocol], client: str | None = None) -> Coroutine[Any, Any, Any]:
        """Open a connection in the running loop, with the protocol that ``made`` makes, from its client's address."""
        loop, target = asyncio.get_running_loop(), self._target
        if target.path:
            return loop.create_unix_connection(made, target.path)
        if self._sources:
            return self._sources.connect(made, next(self._addresses), self._port, client, **self._tls)
        return loop.create_connection(made, next(self._addresses), self._port, **self._tls)

    def dial(self, connection: Any, local: Counter[str], client: str | None = None) -> None:
        """Begin to open a connection; if that fails, call its ``fail``, and count errors of this machine by name."""
        self.opening[connection] = asyncio.get_running_loop().create_task(self._dial(connection, local, client))

    async def _dial(self, connection: Any, local: Counter[str], client: str | None) -> None:
        try:
            await self.open(lambda: connection, client)
        except Exception as error:  # whatever it is, the exchanges must end
            if name := local_fault(error):
                local[name] += 1
            connection.fail(connect_fault(error), f"{type(error).__name__}: {error}")
        finally:
            del self.opening[connection]

    async def close(self) -> None:
        """Cancel the connections that are being opened."""
        opening = [*self.opening.values()]
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        await asyncio.sleep(0)  # lets the transports close


def parse_target(text: str) -> Target:
    """Read ``http://HOST[:PORT]``, ``https://…``, ``HOST:PORT`` or ``unix:/path/to/socket``; else TargetError."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/"):
            raise TargetError(f"target {text!r}: the path of a unix socket begins with /")
        return Target("http", "localhost", 0, path)
    if (port_alone := text.removeprefix(":")).isdigit():
        raise TargetError(f"target {text!r}: a port without a host; write http://127.0.0.1:{port_alone}")
    scheme, slash, rest = text.partition(":/")
    if slash and scheme.lower() in _PORTS and not rest.startswith("/"):
        raise TargetError(f"target: a slash is missing after {scheme}:/; write {scheme}://HOST:PORT")
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        raise TargetError(f"target {text!r}: {error}; write http://HOST:PORT") from None
    scheme, host = parts.scheme.lower(), parts.hostname or ""
    if scheme not in _PORTS:
        raise TargetError(f"target {text!r}: the scheme must be http or https; write http://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        remedy = "remove user and password from the target; --auth basic:FILE sends them"
        raise TargetError(f"target {parts.hostname!r}: {remedy}")
    if not host or not _AUTHORITY.fullmatch(parts.netloc):
        raise TargetError(f"target {text!r}: no valid host name; write http://HOST:PORT")
    if parts.netloc.endswith(":"):
        raise TargetError(
            f"target {text!r}: no port follows the colon; is a variable empty? Write {scheme}://{parts.netloc}PORT, or "
            f"{scheme}://{parts.netloc[:-1]} for port {_PORTS[scheme]}"
        )
    if port == 0:
        raise TargetError(f"target {text!r}: nothing listens on port 0; write a port between 1 and 65535")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise TargetError(f"target {text!r}: only a host, the paths come from the log; write {scheme}://{parts.netloc}")
    return Target(scheme, host, _PORTS[scheme] if port is None else port)


async def resolve(target: Target) -> Endpoint:
    """Look the target's name up, once; TargetError if there is no such name."""
    if target.path:
        return Endpoint(target, ())
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _unresolved(target, error) from None
    return Endpoint(target, tuple(dict.fromkeys(str(info[4][0]) for info in found)))


def turned(endpoint: Endpoint, turns: int) -> Endpoint:
    """The endpoint with its addresses rotated, so that workers share them from the first connection on."""

    def from_there(addresses: tuple[str, ...]) -> tuple[str, ...]:
        first = turns % max(len(addresses), 1)
        return addresses[first:] + addresses[:first]

    return replace(endpoint, addresses=from_there(endpoint.addresses), sources=from_there(endpoint.sources))


def with_sources(endpoint: Endpoint, sources: tuple[str, ...]) -> Endpoint:
    """The same endpoint, connected from these addresses of this machine.

    TargetError if it lacks one, or none has the version of IP of the target.
    """
    if not sources:
        return endpoint
    if endpoint.target.path:
        raise UsageError(f"--local-address and {endpoint.target} exclude each other: a unix socket has no addresses")
    check_sources(sources)
    if not (addresses := reached_from(sources, endpoint.addresses)):
        raise TargetError(
            f"target {endpoint.target}: {', '.join(endpoint.addresses)} and --local-address {sources[0]} are of "
            "different versions of IP; name local addresses of the same version"
        )
    unreached = tuple(address for address in endpoint.addresses if address not in addresses)
    return replace(endpoint, addresses=addresses, sources=sources, unreached=unreached)


def _unresolved(target: Target, error: Exception) -> TargetError:
    why = getattr(error, "strerror", None) or error
    remedy = "it is a file: name LOG, then TARGET" if Path(target.host).is_file() else "check its spelling"
    return TargetError(f"target {target}: the name {target.host!r} cannot be resolved: {why}; {remedy}")


def check_permission(endpoint: Endpoint, allowed: Collection[str] = ()) -> None:
    """Refuse a target without permission.

    Loopback addresses and unix sockets need no permission; any other must have been named: the host as it stands in
    the target, or each address of it that is not loopback.
    """
    target = endpoint.target
    named = {host.lower().strip("[]") for host in allowed}
    if target.path or target.host.lower() in named:
        return
    foreign = [address for address in endpoint.addresses if not is_loopback(address) and address not in named]
    if foreign:
        where = target.host if target.host in foreign else f"{target.host} ({', '.join(foreign)})"
        raise NotPermitted(
            f"target {target}: {where} is not this machine; if you may load it, add --allow-target {target.host}"
        )


def are_one(one: Endpoint, other: Endpoint) -> bool:
    """Whether two endpoints are surely one: a common address is enough unless their names may be virtual hosts."""
    if replace(one.target, host="") != replace(other.target, host=""):
        return False
    nameless = all(each.target.host in ("localhost", *each.addresses) for each in (one, other))
    return one.target.host == other.target.host or (nameless and not {*one.addresses}.isdisjoint(other.addresses))


def is_secure(endpoint: Endpoint) -> bool:
    """Whether nobody on the way can read requests: they use TLS, or stay on this machine (W3C Secure Contexts, 3.1)."""
    return endpoint.target.scheme == "https" or all(map(is_loopback, endpoint.addresses))


def is_loopback(address: str) -> bool:
    """Whether a numeric address is this machine's loopback, also as IPv4 within IPv6."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


@dataclass(frozen=True, slots=True)
class ConnectTo:
    """Connections to one host and port go to another one, as with ``--connect-to`` of curl.

    Attributes:
        host: host name of the targets, in lower case without brackets; empty: any.
        port: port number of the targets; 0: any.
        to_host: name or address that is connected; empty: that of the target.
        to_port: 0: that of the target.
    """

    host: str
    port: int
    to_host: str
    to_port: int

    @classmethod
    def parse(cls, text: str) -> "ConnectTo":
        """Read ``HOST:PORT:ADDR:PORT``, with brackets around IPv6; empty parts stand for any, and for no change."""
        match = _CONNECT_TO.fullmatch(text.strip())
        ports = [int(port or 0) for port in (match[2], match[4])] if match else []
        if not match or max(ports) > _HIGHEST_PORT or not (match[3] or match[4]):
            raise ValueError(
                f"{text!r}: expected HOST:PORT:ADDR:PORT, such as shop.example:443:127.0.0.1:8443, or ::127.0.0.1:8443 "
                "for any target"
            )
        return cls(match[1].strip("[]").lower(), ports[0], match[3].strip("[]"), ports[1])

    def __str__(self) -> str:
        names = [f"[{name}]" if ":" in name else name for name in (self.host, self.to_host)]
        return f"{names[0]}:{self.port or ''}:{names[1]}:{self.to_port or ''}"

    def fits(self, target: Target) -> bool:
        """Whether connections to a target go elsewhere."""
        return not target.path and self.host in ("", target.host.lower()) and self.port in (0, target.port)

    def place(self, target: Target) -> Target:
        """The host and port to connect to in place of those of a target."""
        return replace(target, host=self.to_host or target.host, port=self.to_port or target.port)


def connected(target: Target, rules: Sequence[ConnectTo]) -> Target:
    """The host and port to connect to for a target: by the first rule that fits, or its own."""
    return next((rule.place(target) for rule in rules if rule.fits(target)), target)


def check_used(rules: Iterable[ConnectTo], urls: Iterable[str]) -> None:
    """Check that each rule is that of a target: one with a misspelled name would let requests go to the name itself."""
    targets = [parse_target(url) for url in urls]
    for rule in rules:
        if not any(rule.fits(target) for target in targets):
            named = " and ".join(f"{target.host}:{target.port}" for target in targets)
            raise UsageError(f"--connect-to {rule}: it begins with the host and port of no target; expected {named}")
