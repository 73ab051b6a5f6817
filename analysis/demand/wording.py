"""Writes the contents of a log in sentences and as JSON."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.format_time import show_rate
from logreplay.core.plural import number_of
from logreplay.core.quantities import percent

_DAY_S: Final = 86_400
_LEAST_SHOWN: Final = 1e-4
"""Smaller numbers are written with an exponent."""
_EMPTY: Final = 5
"""Empty times with a line of their own."""


def when(second: int, zone: str) -> str:
    """An instant in a time zone: ``2026-11-21 08:31:53``."""
    return datetime.fromtimestamp(second, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S")


def rate(value: float, beside: float = 0.0) -> str:
    """A rate with its unit: ``35.9/s``, ``3/min``, ``2.5/h``, ``1.2/day``; if possible in the unit of ``beside``."""
    for length, unit in ((1, "s"), (MINUTE, "min"), (HOUR, "h")):
        if not value or (max(value, beside) * length >= 0.1 and value * length >= _LEAST_SHOWN):
            return f"{show_rate(value * length)}/{unit}"
    return f"{show_rate(value * _DAY_S)}/day"


def sentences(profile: LogProfile) -> Iterator[tuple[str, str]]:
    """Name and text of each fact."""
    zone = profile.zone
    first, last = when(profile.first, zone), when(profile.last, zone)
    if not profile.timed:
        yield "requests", f"{profile.requests:,}, all in the second {first} {zone}: their rate is unknown"
    else:
        yield "requests", f"{profile.requests:,} in {span(profile.span)}, {first} to {last} {zone}"
        peaks, most = profile.peaks.items(), max((each.rate for each in profile.peaks.values()), default=0.0)
        busy = [f"busiest {name} {rate(each.rate, most)} at {when(each.at, zone)}" for name, each in peaks]
        without = f", {rate(profile.mean)} without the empty times" if len(profile.idle[0]) else ""
        yield "rate", "; ".join([f"mean {rate(profile.requests / profile.span)}{without}", *busy])
        longest = sorted(zip(*(each.tolist() for each in profile.idle), strict=True), key=lambda each: -each[1])
        for begin, length in longest[:_EMPTY]:
            yield "empty", f"{span(length)} without a request from {when(begin, zone)} on"
        if others := [length for _, length in longest[_EMPTY:]]:
            yield "empty", f"{number_of(len(others), 'other time')} without a request, {span(sum(others))} in all"
        yield from _bursts(profile)
    yield "methods", _shares(profile.methods, "method", profile.requests)
    yield "statuses", _shares(_classes(profile.statuses), "status", profile.requests)
    if profile.protocols.height:
        yield "protocols", _shares(profile.protocols, "protocol", profile.requests)
    if profile.clients.height:
        yield "clients", _clients(profile)
    if profile.cut:
        yield "left out", f"there are too many different {', '.join(profile.cut)}: the rarest are not in the tables"
    if profile.bots:
        yield "programs", f"{percent(profile.bots / profile.requests)} of the requests name a program as their agent"


def as_dict(profile: LogProfile) -> dict[str, Any]:
    """The facts as JSON: instants ISO 8601 UTC, times in seconds, rates in requests/s."""
    rise = profile.rise
    return {
        "requests": profile.requests,
        "first": iso(profile.first),
        "last": iso(profile.last),
        "span_s": profile.span,
        "zone": profile.zone,
        "rates": {
            "mean": profile.requests / profile.span if profile.timed else None,
            **dict.fromkeys(("second", "minute", "hour")),
            **{name: {"rate": peak.rate, "at": iso(peak.at)} for name, peak in profile.peaks.items()},
        },
        "dispersion": {name: _number(value) for name, value in profile.dispersion.items()},
        "rise": {"at": iso(rise.at), "before": rise.before, "after": rise.after, "window_s": rise.seconds}
        if rise
        else None,
        "gaps": [{"at": iso(gap.at), "seconds": gap.seconds, "expected": gap.expected} for gap in profile.gaps],
        "methods": dict(profile.methods.select("method", "requests").iter_rows()),
        "statuses": {str(status): count for status, count in profile.statuses.iter_rows()},
        "protocols": dict(profile.protocols.iter_rows()),
        "clients": {
            "number": profile.clients.height,
            "top_1_share": profile.of_top_clients(1),
            "top_10_share": profile.of_top_clients(10),
            "shared_addresses": profile.shared,
        },
        "not_told_apart": list(profile.cut),
        "program_requests": profile.bots,
        "without_body": profile.without_body,
        "routes": profile.routes.to_dicts(),
        "week": profile.week.to_dicts(),
    }


def _bursts(profile: LogProfile) -> Iterator[tuple[str, str]]:
    second, minute = profile.dispersion.values()
    if not math.isnan(second):
        more = "" if math.isnan(minute) else f", {minute:.3g} per minute"
        yield "bursts", f"index of dispersion {second:.3g} per second{more}; 1 for independent requests (Poisson)"
    if rise := profile.rise:
        at = when(rise.at, profile.zone)
        yield "steepest rise", f"from {rate(rise.before, rise.after)} to {rate(rise.after)} within a minute, at {at}"
    for gap in profile.gaps:
        if gap.at in profile.idle[0]:
            continue
        expected = f"{gap.expected:,.0f} or more are expected, by the hours before and after it"
        yield "gap", f"{span(gap.seconds)} without a request from {when(gap.at, profile.zone)} on; {expected}"


def _clients(profile: LogProfile) -> str:
    least = "at least " if "clients" in profile.cut else ""
    text = f"{least}{number_of(profile.clients.height, 'address', 'addresses')}; the busiest sends "
    text += f"{percent(profile.of_top_clients(1))} of the requests"
    text += f", ten send {percent(profile.of_top_clients(10))}" if profile.clients.height > 10 else ""
    if shared := profile.shared:
        has = "has" if shared == 1 else "have"
        text += f"; {shared:,} {has} 10 or more different agents: several users may be behind one address"
    return text


def _classes(statuses: pl.DataFrame) -> pl.DataFrame:
    named = pl.when(pl.col("status") > 0).then(pl.format("{}xx", pl.col("status") // 100)).otherwise(pl.lit("none"))
    return statuses.group_by(status=named).agg(pl.col("requests").sum()).sort("requests", descending=True)


def _shares(table: pl.DataFrame, name: str, total: int) -> str:
    shown = table.select(name, "requests").head(6).iter_rows()
    return ", ".join(f"{value} {percent(count / total)}" for value, count in shown)


def span(seconds: int) -> str:
    """A length of time: ``60 s``, ``92 minutes``, ``3.5 days``."""
    for length, name in ((_DAY_S, "days"), (HOUR, "hours"), (MINUTE, "minutes")):
        if seconds >= 2 * length:
            return f"{show_rate(seconds / length)} {name}"
    return f"{seconds} s"


def iso(second: int) -> str:
    """An instant, seconds since 1970, in ISO 8601, UTC: ``2026-11-21T08:31:53Z``."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
