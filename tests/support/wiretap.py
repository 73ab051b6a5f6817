"""A proxy that notes when the kernel received what a client wrote: the order of writes to several sockets."""

import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

_SO_TIMESTAMPNS: Final = 35
"""Of Linux; Python has no name for it."""
_SOME: Final = 1 << 16


class Wiretap:
    """The proxy.

    Attributes:
        url: to ask instead of the server's.
        written: when each piece from the client arrived, nanoseconds of the system's clock.
    """

    def __init__(self, url: str, threads: ThreadPoolExecutor) -> None:
        parts = urlsplit(url)
        self._server, self._threads = (parts.hostname, parts.port), threads
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)  # accepted sockets inherit it
        self._sockets = [self._listener]
        self.url = f"{parts.scheme}://localhost:{self._listener.getsockname()[1]}"
        self.written: list[int] = []
        threads.submit(self._accept)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                self._threads.submit(self._note, client, server)
                self._threads.submit(_pass_on, server, client)

    def _note(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while (received := client.recvmsg(_SOME, 64))[0]:
                data, stamps = received[:2]
                for _, _, stamp in stamps:  # none while the kernel has not begun to take the time
                    seconds, nanoseconds = struct.unpack("qq", stamp)
                    self.written.append(seconds * 10**9 + nanoseconds)
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def since(self, instant: int) -> list[int]:
        """When the pieces after an instant arrived."""
        return [when for when in self.written if when > instant]

    def close(self) -> None:
        """End all connections."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_SOME):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def wiretap(url: str) -> Iterator[Wiretap]:
    """Listen before a server while the block runs."""
    with ThreadPoolExecutor(64) as threads:
        tap = Wiretap(url, threads)
        try:
            yield tap
        finally:
            tap.close()
