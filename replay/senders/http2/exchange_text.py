"""An HTTP/2 request and its response as text, for ``-v`` and ``--crash``."""

from typing import Any

from hpack import Decoder

from logreplay.replay.senders.contract import KEPT_BODY, Exchange
from logreplay.replay.senders.http2.frames import HEADER_BYTES
from logreplay.replay.senders.http2.stream import Stream


def request_text(request: bytes) -> bytes:
    """A rendered request in the form of HTTP/1: request line, headers, blank line, body."""
    end = HEADER_BYTES + int.from_bytes(request[:3])
    fields: Any = Decoder(1 << 24).decode(request[HEADER_BYTES:end], raw=True)
    pairs = [(bytes(name), bytes(value)) for name, value in fields]
    pseudo = {name: value for name, value in pairs if name.startswith(b":")}
    lines = [pseudo[b":method"] + b" " + pseudo[b":path"] + b" HTTP/2", b"host: " + pseudo.get(b":authority", b"")]
    lines += [name + b": " + value for name, value in pairs if not name.startswith(b":")]
    return b"\r\n".join(lines) + b"\r\n\r\n" + request[end:]


def exchange_of(stream: Stream, word: str, connect: int, latency: int, xfertime: int) -> Exchange:
    """A stream that has ended, as an exchange; times in nanoseconds."""
    return Exchange(
        stream.seq,
        request_text(stream.request),
        stream.status,
        b"",
        stream.fields.headers if stream.fields else (),
        stream.size,
        connect / 1e9,
        latency / 1e9,
        xfertime / 1e9,
        word,
        stream.detail,
        body=stream.kept[:KEPT_BODY],
    )
