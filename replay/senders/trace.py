"""Shows exchanges one by one, and stops at the first one that failed."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote_from_bytes, quote_plus

import numpy as np

from logreplay.core.masking import MASK, masked
from logreplay.core.plural import number_of
from logreplay.core.record import failed
from logreplay.replay.senders.contract import ERROR_CODES, FIRST_LOGIN, Exchange, SenderCounts
from logreplay.replay.senders.expected_status import unexpected

SHOWN_BODY: Final = 4096
"""Bytes shown of the body of a failing exchange, on `SHOWN_LINES` at most."""
SHOWN_LINES: Final = 20
_SHOWN_BINARY: Final = 32
_CONTROL: Final = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""Bytes that texts do not contain; the rule of file(1)."""


@dataclass(slots=True)
class Watch:
    """Looks at each exchange as it ends; give `see` to the engine as ``trace``.

    Attributes:
        crash: stop at the first exchange that failed (`logreplay.core.record.failed`).
        show: called with the text of each exchange.
        secrets: do not mask credentials.
        stop: called when the run is to stop.
        culprit: the exchange that stopped the run.
    """

    crash: bool = False
    show: Callable[[str], object] | None = None
    secrets: bool = False
    stop: Callable[[str], object] | None = None
    culprit: Exchange | None = None

    @property
    def needed(self) -> bool:
        """Whether exchanges need to be examined."""
        return self.crash or self.show is not None

    def see(self, exchange: Exchange) -> None:
        """Look at one exchange."""
        if self.show:
            self.show(describe(exchange, secrets=self.secrets))
        if self.crash and not self.culprit and _failed(exchange) and exchange.error != "dropped":
            self.culprit = exchange
            if self.stop:
                self.stop("crash")


def _failed(exchange: Exchange) -> bool:
    """Whether an exchange failed, by the rule of all counts."""
    values = ERROR_CODES[exchange.error], exchange.status, exchange.expected_rc
    return bool(failed(*(np.array([value]) for value in values))[0])


def describe(exchange: Exchange, *, secrets: bool = False) -> str:
    """An exchange as text: a line each for request, response and times; if it failed, the beginning of its body, too.

    Control bytes are shown as escapes, and secrets as ``***`` unless asked for: those that `logreplay.core.masking`
    recognises, those that the exchange names, and the bodies of a login.
    """
    if not secrets and exchange.seq >= FIRST_LOGIN:
        exchange = _without_bodies(exchange)
    if not secrets and exchange.secrets:
        exchange = _without(exchange)

    def shown(data: bytes) -> str:
        return printable(data if secrets else masked(data.decode("latin-1")).encode("latin-1"))

    lines = [f"> {shown(line)}" for line in exchange.request.removesuffix(b"\r\n\r\n").split(b"\r\n")]
    if exchange.status:
        lines.append(f"< {exchange.status} {shown(exchange.reason)}".rstrip())
        lines += [f"< {shown(name + b': ' + value)}" for name, value in exchange.headers]
        lines += _body_lines(exchange, secrets=secrets) if _failed(exchange) else []
    if exchange.error:
        lines.append(f"! {exchange.error}" + (f": {shown(exchange.detail.encode())}" if exchange.detail else ""))
    elif unexpected(exchange.status, exchange.expected_rc):
        lines.append(f"! status {exchange.status}; the log had {exchange.expected_rc or 'none'}")
    times = ", ".join(
        f"{name} {seconds * 1000:.3f} ms"
        for name, seconds in (
            ("connect", exchange.connect),
            ("latency", exchange.latency),
            ("xfertime", exchange.xfertime),
        )
    )
    what = "login" if exchange.seq >= FIRST_LOGIN else f"request {exchange.seq}"
    lines.append(f"= {what}: {exchange.size} bytes, {times}")
    return "\n".join(lines) + "\n"


def _without_bodies(exchange: Exchange) -> Exchange:
    """A login with ``***`` for its bodies: no rule knows the names of its fields."""
    head, end, body = exchange.request.partition(b"\r\n\r\n")
    mask = MASK.encode()
    return replace(exchange, request=head + end + (mask if body else b""), body=mask if exchange.body else b"")


def _without(exchange: Exchange) -> Exchange:
    """An exchange with ``***`` for the values that it names as secrets, also where they are coded."""
    plain = sorted(exchange.secrets, key=len, reverse=True)
    coded = {form for value in plain for form in (value, quote_from_bytes(value, "").encode(), *_in_text(value))}
    pattern = re.compile(b"|".join(re.escape(form) for form in sorted(coded, key=len, reverse=True)))

    def hidden(data: bytes) -> bytes:
        return pattern.sub(MASK.encode(), data)

    return replace(
        exchange,
        request=hidden(exchange.request),
        headers=[(name, hidden(value)) for name, value in exchange.headers],
        body=hidden(exchange.body),
    )


def _in_text(value: bytes) -> Iterator[bytes]:
    """A value as it stands in a form and in JSON, where some escape slashes, and some all but ASCII."""
    text = value.decode("utf-8", "replace")
    yield quote_plus(text).encode()
    for ascii_only in (True, False):
        in_json = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield in_json.encode()
        yield in_json.replace("/", "\\/").encode()


def _body_lines(exchange: Exchange, *, secrets: bool) -> list[str]:
    """The beginning of a response body, line by line; binary data are named, not shown."""
    body, size = exchange.body, exchange.size
    if not body:
        return []
    if _CONTROL.search(body):
        coding = next((value for name, value in exchange.headers if name.lower() == b"content-encoding"), b"")
        kind = f"binary ({printable(coding)})" if coding else "binary"
        return [f"| {size} bytes, {kind}, beginning {body[:_SHOWN_BINARY].hex(' ')}"]
    if not secrets:  # the quote ends a JSON value that is cut off, so that it is recognised
        body = masked(body.decode("latin-1") + '"').encode("latin-1").removesuffix(b'"')
    lines = [f"| {printable(line.expandtabs())}" for line in body[:SHOWN_BODY].splitlines()]
    if len(lines) > SHOWN_LINES:
        return [*lines[:SHOWN_LINES], f"| ... the first {SHOWN_LINES} lines of {size} bytes"]
    return [*lines, f"| ... the first {SHOWN_BODY} of {size} bytes"] if size > SHOWN_BODY else lines


def describe_counts(counts: SenderCounts) -> str:
    """The counts of a sender as text; the first cause of each error, secrets masked, control bytes shown as escapes."""
    retries = number_of(counts.retried, "retry", "retries")
    first = f"connections: {counts.connections} opened, reused {number_of(counts.reused, 'time')}, {retries}"
    causes = [f"first {word}: {printable(masked(text).encode())}" for word, text in counts.details.items()]
    local = [
        f"{name}: {number_of(count, 'connection')} could not be opened or used here"
        for name, count in counts.local.items()
    ]
    return "\n".join([first, *causes, *local])


def printable(data: bytes) -> str:
    """Untrusted bytes as text that is safe for a terminal."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}" for byte in data)
