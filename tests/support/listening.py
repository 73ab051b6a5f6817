"""Listens where a test wants its server: on a free port, with or without TLS, or on a unix socket."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def listening(
    handler: Handler, host: str, tls: ssl.SSLContext | None, socket_path: str, limit: int = 1 << 16
) -> tuple[asyncio.Server, str]:
    """Serve with a handler of connections; return the server and its URL.

    Args:
        handler: is called with each connection.
        host: its address.
        tls: context for https.
        socket_path: of a unix socket, which takes the place of the port; empty: none.
        limit: bytes that a reader may hold.
    """
    if socket_path:
        return await asyncio.start_unix_server(handler, socket_path, limit=limit), f"unix:{socket_path}"
    server = await asyncio.start_server(handler, host, 0, limit=limit, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    return server, f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
