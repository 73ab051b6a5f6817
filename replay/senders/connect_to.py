"""Connections that go to another address than the name of the target says, as with ``--connect-to`` of curl."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from logreplay.core.errors import UsageError
from logreplay.replay.senders.endpoint import Target, parse_target

_PART: Final = r"(\[[0-9A-Fa-f:.]*(?:%[A-Za-z0-9_.-]+)?\]|[^:\[\]/@?#\s]*):([0-9]*)"
_FORM: Final = re.compile(f"{_PART}:{_PART}")
_HIGHEST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class ConnectTo:
    """Connections to one host and port go to another one.

    Attributes:
        host: host name of the targets, in lower case without brackets; empty: any.
        port: port number of the targets; 0: any.
        to_host: name or address that is connected; empty: that of the target.
        to_port: 0: that of the target.
    """

    host: str
    port: int
    to_host: str
    to_port: int

    @classmethod
    def parse(cls, text: str) -> "ConnectTo":
        """Read ``HOST:PORT:ADDR:PORT``, with brackets around IPv6; empty parts stand for any, and for no change.

        Raises:
            ValueError: it has another form.
        """
        match = _FORM.fullmatch(text.strip())
        ports = [int(port or 0) for port in (match[2], match[4])] if match else []
        if not match or max(ports) > _HIGHEST_PORT or not (match[3] or match[4]):
            raise ValueError(
                f"{text!r}: expected HOST:PORT:ADDR:PORT, such as shop.example:443:127.0.0.1:8443, or ::127.0.0.1:8443 "
                "for any target"
            )
        return cls(match[1].strip("[]").lower(), ports[0], match[3].strip("[]"), ports[1])

    def __str__(self) -> str:
        names = [f"[{name}]" if ":" in name else name for name in (self.host, self.to_host)]
        return f"{names[0]}:{self.port or ''}:{names[1]}:{self.to_port or ''}"

    def fits(self, target: Target) -> bool:
        """Whether connections to a target go elsewhere."""
        return not target.path and self.host in ("", target.host.lower()) and self.port in (0, target.port)

    def place(self, target: Target) -> Target:
        """The host and port to connect to in place of those of a target."""
        return replace(target, host=self.to_host or target.host, port=self.to_port or target.port)


def connected(target: Target, rules: Sequence[ConnectTo]) -> Target:
    """The host and port to connect to for a target: by the first rule that fits, or its own."""
    return next((rule.place(target) for rule in rules if rule.fits(target)), target)


def check_used(rules: Iterable[ConnectTo], urls: Iterable[str]) -> None:
    """Check that each rule is that of a target: one with a misspelled name would let requests go to the name itself.

    Raises:
        UsageError: one is not.
    """
    targets = [parse_target(url) for url in urls]
    for rule in rules:
        if not any(rule.fits(target) for target in targets):
            named = " and ".join(f"{target.host}:{target.port}" for target in targets)
            raise UsageError(f"--connect-to {rule}: it begins with the host and port of no target; expected {named}")
