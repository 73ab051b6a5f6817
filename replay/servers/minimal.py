"""Answers every request at once with the same few bytes: the least a web server can do, to calibrate the generator."""

import asyncio
from contextlib import AbstractContextManager
from typing import Final

import uvloop

from logreplay.replay.servers.server_process import serve_until_stdin_closes, server_process

ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nhello, this is 24 bytes!"
HEAD_ANSWER: Final = ANSWER[: ANSWER.index(b"\r\n\r\n") + 4]


class MinimalResponder(asyncio.Protocol):
    """Answers each blank line, that is, the end of each request's head."""

    def __init__(self) -> None:
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            self.answer(HEAD_ANSWER if head.startswith(b"HEAD ") else ANSWER)

    def answer(self, answer: bytes) -> None:
        self._transport.write(answer)


def responding() -> AbstractContextManager[str]:
    """Run the server in a process of its own while the block runs; the value is its URL."""
    module = "logreplay.replay.servers.minimal"
    return server_process("-m", module, failed=f"the responder did not start; to see why, run: python -P -m {module}")


async def serve(protocol: type[MinimalResponder]) -> None:
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=4096)
    await serve_until_stdin_closes(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


if __name__ == "__main__":
    uvloop.run(serve(MinimalResponder))
