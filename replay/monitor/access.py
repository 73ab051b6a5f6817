"""Decides the address a run listens on, and the HTTP requests it answers. Pure decisions."""

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Address:
    """Address to listen on; port 0: any free port."""

    host: str = LOOPBACK
    port: int = 0


def parse_address(text: str) -> Address:
    """Read ``PORT``, ``HOST:PORT`` or ``[IPV6]:PORT``; without a host it is this machine's loopback."""
    match = re.fullmatch(r"(?:(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>\d{1,5})", text)
    if not match or int(match["port"]) > 65535:
        raise ValueError(f"{text!r}: expected a port up to 65535, such as 8089, or HOST:PORT")
    return Address((match["host"] or LOOPBACK).strip("[]"), int(match["port"]))


def is_this_machine(host: str | None, names: frozenset[str]) -> bool:
    """Whether a Host header, with or without a port, names this machine: by an address, or by one of its ``names``."""
    name = re.sub(r":\d*$", "", host or "").lower()
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return name in names
    return True


def may_change(headers: Mapping[str, str], token: str) -> bool:
    """Whether a request may change or stop a run: it has the token, and comes from the live page or from no page."""
    origin, host = headers.get("Origin"), headers.get("Host")
    if origin is not None and re.sub(r"^https?://", "", origin) != host:
        return False
    given = headers.get("Authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode())
