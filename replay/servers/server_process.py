"""Runs a server while a block runs: in the running loop, or in a process that ends with the one that started it."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import LogreplayError
from logreplay.replay.child_process import start_python

if TYPE_CHECKING:
    from aiohttp.web_runner import BaseRunner

SERVER_LOG: Final = logging.Logger("logreplay")
"""The logger of the servers: prints their own errors on stderr, and nothing of what strangers send."""


def _is_own(record: logging.LogRecord) -> bool:
    """Whether a server itself failed: neither did the peer break HTTP, nor was the connection lost."""
    from aiohttp.http_exceptions import HttpProcessingError
    from aiohttp.web import RequestPayloadError

    fault = record.exc_info[1] if record.exc_info else None
    return not isinstance(fault, HttpProcessingError | RequestPayloadError | ConnectionError)


SERVER_LOG.addFilter(_is_own)


@asynccontextmanager
async def listening(runner: "BaseRunner", host: str, port: int) -> AsyncIterator[str]:
    """Serve in the running loop while the block runs; the value is the base URL. Port 0 is any that is free."""
    from aiohttp.web import TCPSite

    await runner.setup()
    try:
        await TCPSite(runner, host, port, backlog=4096).start()
        yield f"http://{f'[{host}]' if ':' in host else host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextmanager
def server_process(*arguments: object, failed: str) -> Iterator[str]:
    """Run a Python program that calls `serve_until_stdin_closes` while the block runs; the value is its URL."""
    with start_python(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            url = process.stdout.readline().decode().strip()
            if not url:
                raise LogreplayError(failed)
            yield url
        finally:
            process.kill()  # not terminate: one that was stopped (SIGSTOP) would be waited for


async def serve_until_stdin_closes(url: str) -> None:
    """In the server: send the URL to the process that started it, and wait until that ends."""
    closed = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), closed.set)
    with suppress(BrokenPipeError):  # that process has ended
        os.write(sys.stdout.fileno(), f"{url}\n".encode())
        await closed.wait()
