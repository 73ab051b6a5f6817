"""A transport that leads nowhere, for a connection that a test feeds by hand."""

import asyncio
from typing import Any


class Nowhere(asyncio.Transport):
    """Takes what is written, and is closed as asked."""

    closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return True if name == "sslcontext" else default  # so that it is written to us, not to a descriptor

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True
