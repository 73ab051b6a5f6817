"""An HTTP/2 server in a process of its own that answers at once: ``python -P instant_http2.py [CERTIFICATE KEY]``."""

import asyncio
import ssl
import sys
from contextlib import AbstractContextManager

import uvloop

from logreplay.replay.servers.http2_service import EitherService
from logreplay.replay.servers.server_process import serve_until_stdin_closes, server_process


async def respond(method: str, path: str) -> tuple[int, int]:
    """Status and body size of each answer."""
    return 200, 5


def instant_http2(*certificate: object) -> AbstractContextManager[str]:
    """Run the server while the block runs; the value is its URL.

    Args:
        certificate: for TLS, the files of a certificate and of its key.
    """
    return server_process(__file__, *certificate, failed="the server did not start")


async def main(*certificate: str) -> None:
    """Serve."""
    tls = None
    if certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
        tls.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: EitherService(asyncio.Protocol, respond), "127.0.0.1", 0, ssl=tls)
    await serve_until_stdin_closes(f"{'https' if tls else 'http'}://localhost:{server.sockets[0].getsockname()[1]}")


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
