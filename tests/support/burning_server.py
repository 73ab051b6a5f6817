"""A server whose routes each burn a known processor time: ``python burning_server.py PORT /a=0.002 /b=0.01``."""

import asyncio
import sys
import time


def burn(seconds: float) -> None:
    """Use this much processor time of this thread, however long that takes."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Burning(asyncio.Protocol):
    """Answers requests of one connection, one after the other."""

    costs: dict[str, float]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.rest = transport, b""

    def data_received(self, data: bytes) -> None:
        *heads, self.rest = (self.rest + data).split(b"\r\n\r\n")
        for head in heads:
            path = head.split(b" ", 2)[1].decode().partition("?")[0]
            burn(self.costs.get("/" + path.split("/")[1], 0.0))
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


async def main(port: int, costs: dict[str, float]) -> None:
    """Serve until killed; print the port."""
    Burning.costs = costs
    server = await asyncio.get_running_loop().create_server(Burning, "127.0.0.1", port)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    pairs = [word.partition("=") for word in sys.argv[2:]]
    asyncio.run(main(int(sys.argv[1]), {path: float(seconds) for path, _, seconds in pairs}))
