"""Filters on rows: by time, target, status, method and client."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.quantities import microseconds
from logreplay.parsers.conversion.report import ConvertReport

_STATUS: Final = re.compile(r"([1-5][0-9x]{2}|[0-9]{3})(?:(?:-|\.\.)([1-5][0-9x]{2}|[0-9]{3}))?")


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a row must all meet; empty ones are met by every row.

    Attributes:
        since: start not before, ISO 8601.
        until: start before, ISO 8601.
        match: regular expression that the target must contain (Rust syntax, linear time).
        exclude: regular expression that it must not contain.
        status: ``200,3xx,500-504``.
        method: ``GET,HEAD``.
        client: addresses and networks, ``10.0.0.7,192.168.0.0/16``.
    """

    since: str = ""
    until: str = ""
    match: str = ""
    exclude: str = ""
    status: str = ""
    method: str = ""
    client: str = ""

    def condition(self, zone: str = "") -> pl.Expr | None:
        """The conditions as one; None if there are none.

        Args:
            zone: zone of ``since`` and ``until`` without an offset; empty: UTC.

        Raises:
            LogreplayError: one of them cannot be read, or ``until`` is not after ``since``.
        """
        tests: list[pl.Expr] = []
        since = instant(self.since, zone, "--since") if self.since else None
        until = instant(self.until, zone, "--until") if self.until else None
        if since is not None and until is not None and since >= until:
            raise LogreplayError(
                f"--until {self.until} must be after --since {self.since}: no request starts at or after the second "
                "and before the first"
            )
        if since is not None:
            tests.append(pl.col("start") >= since)
        if until is not None:
            tests.append(pl.col("start") < until)
        if self.match:
            tests.append(pl.col("url").str.contains(_pattern(self.match, "--match")))
        if self.exclude:
            tests.append(~pl.col("url").str.contains(_pattern(self.exclude, "--exclude")))
        if self.status:
            tests.append(_status_test(self.status))
        if self.method:
            tests.append(pl.col("op").is_in([_method(part.strip()) for part in self.method.split(",")]))
        if self.client:
            tests.append(_client_test(self.client))
        return pl.all_horizontal(tests).fill_null(False) if tests else None


def wanted(batches: Iterable[pl.DataFrame], keep: Filter, zone: str, report: ConvertReport) -> Iterator[pl.DataFrame]:
    """Yield the rows that a filter keeps, and count the others."""
    condition = keep.condition(zone)
    for rows in batches:
        kept = rows if condition is None else rows.filter(condition)
        report.filtered += rows.height - kept.height
        report.converted -= rows.height - kept.height
        yield kept


def _method(text: str) -> str:
    """Return a method in upper case."""
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", text):
        raise LogreplayError(f"--method: {text!r} is not a method; write GET,HEAD,POST")
    return text.upper()


def instant(text: str, zone: str, option: str) -> int:
    """An instant in ISO 8601 → microseconds since 1970, UTC."""
    try:
        return microseconds(text, time_zone(zone) if zone else UTC)
    except ValueError:
        raise LogreplayError(
            f"{option} {text!r}: not a time; write 2026-11-20, 2026-11-20T18:30 or 2026-11-20T18:30:00+01:00"
        ) from None


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of a name."""
    try:
        zone = ZoneInfo(name)
        pl.Series([0]).cast(pl.Datetime("us", name))  # Polars, which computes with it, knows fewer than Python
    except (ValueError, OSError, KeyError, pl.exceptions.ComputeError):  # ZoneInfoNotFoundError is a KeyError
        raise LogreplayError(
            f"--timezone {name!r}: no such time zone; write an IANA name such as Europe/Berlin or UTC"
        ) from None
    return zone


def _pattern(text: str, option: str) -> str:
    try:
        pl.Series([""]).str.contains(text)
    except pl.exceptions.ComputeError as error:
        reason = next((line for line in str(error).splitlines() if line.startswith("error:")), "error: regex").strip()
        raise LogreplayError(f"{option} {text!r}: not a regular expression: {reason[7:]}") from None
    return text


def _status_test(text: str) -> pl.Expr:
    try:
        ranges = status_ranges(text)
    except ValueError as error:
        raise LogreplayError(f"--status {error}") from None
    return pl.any_horizontal(pl.col("rc").is_between(low, high) for low, high in ranges)


def status_ranges(text: str) -> list[tuple[int, int]]:
    """The first and last of each range in a set of statuses: ``200``, ``3xx``, ``500-504`` (or ``500..504``)."""
    ranges = []
    for part in map(str.strip, text.lower().split(",")):
        if not (match := _STATUS.fullmatch(part)):
            raise ValueError(f"{part!r}: expected statuses such as 200, 3xx or 500-504, several with commas")
        low, high = int(match[1].replace("x", "0")), int((match[2] or match[1]).replace("x", "9"))
        if high < low:
            raise ValueError(f"{part!r}: no status is in this range; write {match[2]}-{match[1]}")
        ranges.append((low, high))
    return ranges


def _client_test(text: str) -> pl.Expr:
    networks = []
    for part in text.split(","):
        try:
            networks.append(ip_network(part.strip(), strict=False))
        except ValueError:
            raise LogreplayError(
                f"--client {part.strip()!r}: not an address; write 10.0.0.7 or 192.168.0.0/16, several with commas"
            ) from None

    def inside(clients: pl.Series) -> pl.Series:
        distinct = clients.unique()
        known = [_within(client, networks) for client in distinct]
        return clients.replace_strict(distinct, pl.Series(known, dtype=pl.Boolean))

    return pl.col("client").map_batches(inside, return_dtype=pl.Boolean)


def _within(client: str | None, networks: list[IPv4Network | IPv6Network]) -> bool:
    try:
        address = ip_address(client or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address  # ::ffff:10.0.0.7, of a server that listens on IPv6
    return any(address in network or mapped in network for network in networks)
