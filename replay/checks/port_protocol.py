"""Asks a port for its protocol, after a first request in the wrong one."""

import asyncio
import re
import ssl
from typing import Final

from logreplay.replay.senders.endpoint import Dialer, Endpoint
from logreplay.replay.senders.http2.connection_state import greeting
from logreplay.replay.senders.http2.frames import HEADER_BYTES, SETTINGS
from logreplay.replay.senders.tls import tls_context

_REPLY_S: Final = 2.0
_STATUS: Final = re.compile(rb"HTTP/1\.\d (\d\d\d)")
_BAD_REQUEST: Final = b"400"
"""The status with which a TLS port refuses a request without TLS."""


async def remedy(endpoint: Endpoint, *, http: str, answered: bool) -> str:
    """What the port of a target speaks instead, and what to do; empty if its replies do not show it.

    Args:
        endpoint: where a request failed.
        http: the version of HTTP of the request.
        answered: the request got a response of HTTP/1, if only a refusal.
    """
    if endpoint.target.scheme == "http":
        if await speaks_tls(endpoint):
            return "its port speaks TLS; write https:// for http://"
        if http == "1.1" and not answered and await _speaks_http2(endpoint):
            return "its port speaks HTTP/2 only; use --http 2"
    elif await _speaks_http1(endpoint):
        return "its port speaks HTTP without TLS; write http:// for https://"
    elif await _speaks_http2(endpoint):
        return "its port speaks HTTP/2 without TLS; write http:// for https://, with --http 2"
    return ""


async def speaks_tls(endpoint: Endpoint) -> bool:
    """Whether a handshake with a port succeeds, or is refused by an alert."""
    if endpoint.target.path:
        return False
    try:
        async with asyncio.timeout(_REPLY_S):
            transport, _ = await Dialer(endpoint, tls_context(verify=False), _REPLY_S).open(asyncio.Protocol)
    except ssl.SSLError as error:
        return "ALERT" in str(error)
    except (OSError, TimeoutError):
        return False
    transport.abort()
    return True


async def _speaks_http2(endpoint: Endpoint) -> bool:
    reply = await _reply(endpoint, greeting(), HEADER_BYTES)
    return len(reply) == HEADER_BYTES and reply[3] == SETTINGS and not any(reply[5:])


async def _speaks_http1(endpoint: Endpoint) -> bool:
    asked = f"HEAD / HTTP/1.1\r\nHost: {endpoint.target.authority}\r\nConnection: close\r\n\r\n"
    match = _STATUS.match(await _reply(endpoint, asked.encode(), len("HTTP/1.1 200")))
    return match is not None and match[1] != _BAD_REQUEST


async def _reply(endpoint: Endpoint, data: bytes, count: int) -> bytes:
    """The first bytes of a reply without TLS; fewer if no more come."""
    reader = asyncio.StreamReader()
    try:
        async with asyncio.timeout(_REPLY_S):
            transport, _ = await Dialer(endpoint, None, _REPLY_S).open(lambda: asyncio.StreamReaderProtocol(reader))
            try:
                transport.write(data)
                return await reader.readexactly(count)
            except asyncio.IncompleteReadError as error:
                return error.partial
            finally:
                transport.abort()
    except (OSError, TimeoutError):
        return b""
