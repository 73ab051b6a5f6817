"""Counts the contents of a log, part by part, as it is read, in bounded memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.demand import rates
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.routes import Routes
from logreplay.analysis.statistics.quantiles import Ints, rank
from logreplay.core.files import Closing, writing
from logreplay.core.headers import HEADERS

_TIMES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_BOT: Final = (
    r"(?i)bot\b|bot[/;_-]|crawl|spider|slurp|archiver|facebookexternalhit|mediapartners|feedfetcher|monitor|uptime|pingdom|"
    r"^(?:curl|wget|python|go-http-client|java|okhttp|libwww|lwp|ruby|php|perl|apache-httpclient|node|axios|check_http)\b"
)
"""Agents that name themselves as programs. Those that pass for browsers are counted as such."""
_MOST_TIMES: Final = 8_000_000
"""Some thousand different times for each of a thousand routes."""
_SHARED: Final = 10
"""Number of different agents from which an address counts as that of several users."""
_OPTIONAL: Final = ("protocol", "agent", "client", "body")
_BODIES: Final = ("body", "body_ref", "payload")
"""Columns of bodies: of logs, of normalized CSVs, of captured requests."""
_WITH_BODY: Final = ("POST", "PUT", "PATCH")
_MOST: Final = 2_000_000
"""Keys told apart; beyond them the rarer half is counted together, so that hostile values cannot fill the memory."""
_PENDING: Final = 500_000
"""Rows of parts that wait to be added up."""
_IN_MEMORY: Final = 32 << 20
"""Bytes of routes kept in memory; a request takes about two. More go to a temporary file."""


class CountsByKey:
    """Counts of rows, and sums of values, for each key.

    Args:
        keys: columns that make the key.
        sums: values to add up, by name.
        most: keys told apart; None: all.

    Attributes:
        others: requests of keys that are not told apart.
    """

    def __init__(
        self, *keys: str, sums: Mapping[str, pl.Expr] = MappingProxyType({}), most: int | None = _MOST
    ) -> None:
        self._keys, self._sums, self._most = list(keys), dict(sums), most
        self._parts: list[pl.DataFrame] = []
        self._height = 0
        self.others = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Count some rows."""
        sums = [value.sum().alias(name) for name, value in self._sums.items()]
        part = rows.group_by(self._keys).agg(pl.len().cast(pl.Int64).alias("requests"), *sums)
        self._parts.append(part)
        self._height += part.height
        if self._height > _PENDING + 2 * self._parts[0].height:
            self._add_up()

    def table(self) -> pl.DataFrame:
        """The keys, ``requests`` and the sums, most requests first; equal counts in order of the keys."""
        if not self._parts:
            return pl.DataFrame(schema=[*self._keys, "requests", *self._sums])
        self._add_up()
        return self._parts[0].sort("requests", *self._keys, descending=[True, *(False for _ in self._keys)])

    def _add_up(self) -> None:
        total = pl.concat(self._parts).group_by(self._keys).agg(pl.col("requests", *self._sums).sum())
        if self._most and total.height > self._most:
            total = total.sort("requests", descending=True)
            self.others += int(total["requests"][self._most // 2 :].sum())
            total = total.head(self._most // 2)
        self._parts, self._height = [total], total.height


class RouteSpool(Closing):
    """Second, method and route of requests, in compressed blocks: memory does not grow with the log."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # closed by close()
        self._blocks: list[tuple[int, int, int]] = []
        """First second, last second and length of each."""

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def add(self, rows: pl.DataFrame) -> None:
        """Keep some rows: ``second`` (since 1970), ``op``, ``route``."""
        block = BytesIO()
        rows.select("second", "op", "route").write_ipc(block, compression="zstd")
        with writing(Path(gettempdir()), "TMPDIR"):
            length = self._file.write(block.getvalue())
        self._blocks.append((rows["second"].min(), rows["second"].max(), length))  # type: ignore[arg-type]

    def between(self, begin: int, end: int) -> pl.DataFrame:
        """Count the requests of these seconds: ``op``, ``route``, ``requests``, most requests first."""
        found, at = [pl.DataFrame(schema={"op": pl.String, "route": pl.UInt16, "requests": pl.Int64})], 0
        for first, last, length in self._blocks:
            if first < end and last >= begin:
                self._file.seek(at)
                data = self._file.read(length)
                rows = pl.read_ipc(data).filter(pl.col("second").is_between(begin, end, "left"))
                found.append(rows.group_by("op", "route").agg(pl.len().cast(pl.Int64).alias("requests")))
            at += length
        total = pl.concat(found).group_by("op", "route").agg(pl.col("requests").sum())
        return total.sort("requests", "op", "route", descending=[True, False, False])


class _LogCounts:
    """Counts of the rows of a log, and its routes, which ``spool`` keeps."""

    def __init__(self, spool: RouteSpool) -> None:
        self._routes = Routes()
        failed = {f"{digit}xx": (pl.col("rc") // 100 == digit) for digit in (4, 5)}
        self._seconds = CountsByKey("second", most=None)  # not more than the log has seconds
        self._by_route = CountsByKey("op", "route", sums={**failed, "bytes": pl.col("bytes")})
        self._by_second = spool
        self._times = CountsByKey("op", "route", "time", most=_MOST_TIMES)
        self._tallies = {name: CountsByKey(name) for name in ("rc", "op", "protocol", "agent", "without_body")}
        self._clients = CountsByKey("client", "agent_hash")
        self._headers = False

    def add(self, rows: pl.DataFrame) -> None:
        """Count some rows: ``start`` (microseconds since 1970) and the columns of the normalized record."""
        if not rows.height:
            return
        absent = [pl.lit(None, pl.String).alias(name) for name in _OPTIONAL if name not in rows.columns]
        bodies = pl.any_horizontal(
            pl.col(name).is_not_null() for name in _BODIES if name in rows.columns or name == "body"
        )
        micros = ((pl.col("latency").fill_null(0) + pl.col("xfertime").fill_null(0)) * 1e6).round().cast(pl.Int64)
        rows = rows.with_columns(*absent).with_columns(
            second=pl.col("start") // SECOND,
            route=pl.Series(self._routes.of(rows["url"])),
            time=_three_digits(micros),
            without_body=pl.col("op").is_in(_WITH_BODY) & ~bodies,
            agent_hash=pl.when(pl.col("agent").is_not_null()).then(pl.col("agent").hash()),
        )
        self._headers = self._headers or (HEADERS in rows.columns and rows[HEADERS].count() > 0)
        self._by_second.add(rows)
        for tally in (self._seconds, self._by_route, self._times, self._clients, *self._tallies.values()):
            tally.add(rows)

    def profile(self, zone: str) -> "LogProfile | None":
        """The counts; None without a row."""
        seconds = self._seconds.table().sort("second")
        if not seconds.height:
            return None
        names = pl.DataFrame(
            {"route": range(len(self._routes.names)), "name": self._routes.names}, schema_overrides={"route": pl.UInt16}
        )

        def named(table: pl.DataFrame) -> pl.DataFrame:
            return (
                table.join(names, on="route", how="left", maintain_order="left")
                .drop("route")
                .rename({"op": "method", "name": "route"})
            )

        tallies = {name: tally.table() for name, tally in self._tallies.items()}
        agents = tallies["agent"].drop_nulls().with_columns(bot=pl.col("agent").str.contains(_BOT))
        clients = (
            self._clients.table()
            .drop_nulls("client")
            .group_by("client")
            .agg(pl.col("requests").sum(), agents=pl.col("agent_hash").drop_nulls().n_unique())
            .sort("requests", "client", descending=[True, False])
        )
        named_counts = {"routes": self._by_route, "times of routes": self._times, "clients": self._clients}
        named_counts |= {"agents": self._tallies["agent"], "methods": self._tallies["op"]}
        cut = tuple(name for name, counts in named_counts.items() if counts.others)
        total = int(seconds["requests"].sum())
        hour = rates.busiest(seconds["second"].to_numpy(), seconds["requests"].to_numpy(), rates.HOUR)
        by_route = self._by_route.table()
        routes = named(by_route).with_columns(
            share=pl.col("requests") / total, bytes=pl.col("bytes") / pl.col("requests")
        )
        if not self._times.others:  # those that were cut are the rarest, which are the longest
            routes = _with_times(routes, named(self._times.table()))
        first = ("method", "route", "requests", "share", "4xx", "5xx", "bytes")
        return LogProfile(
            zone=zone,
            seconds=seconds,
            routes=routes.select(*first, pl.exclude(first)),
            peak_routes=named(self._by_second.between(hour.at, hour.at + rates.HOUR) if hour else by_route).select(
                "method", "route", "requests"
            ),
            statuses=tallies["rc"].rename({"rc": "status"}).sort("status"),
            methods=tallies["op"].rename({"op": "method"}),
            protocols=tallies["protocol"].drop_nulls(),
            agents=agents,
            clients=clients,
            without_body=int(tallies["without_body"].filter("without_body")["requests"].sum()),
            cut=cut,
            headers=self._headers,
        )


@dataclass(frozen=True, kw_only=True)
class LogProfile:
    """The contents of a log. Times in seconds, rates in requests/s, instants in seconds since 1970, UTC.

    Attributes:
        zone: time zone of the hours.
        seconds: ``second``, ``requests``: seconds with a request, ascending.
        routes: ``method``, ``route``, ``requests``, ``share``, ``4xx``, ``5xx``, ``bytes`` (mean), and, where the log
            has response times, ``p50``, ``p90``, ``p99``, rounded to three digits; most requests first.
        peak_routes: ``method``, ``route``, ``requests`` in the busiest hour of `peaks`, or in all of a shorter log.
        statuses, methods, protocols: the value and ``requests``.
        agents: ``agent``, ``requests``, ``bot``: whether it names itself as a program.
        clients: ``client``, ``requests``, ``agents`` (different ones).
        without_body: requests of methods that carry a body, whose body the log lacks.
        headers: True if the log has headers of requests.
        cut: tables whose rarest values are not told apart, since there are too many.
    """

    zone: str
    seconds: pl.DataFrame
    routes: pl.DataFrame
    peak_routes: pl.DataFrame
    statuses: pl.DataFrame
    methods: pl.DataFrame
    protocols: pl.DataFrame
    agents: pl.DataFrame
    clients: pl.DataFrame
    without_body: int
    headers: bool
    cut: tuple[str, ...]

    @property
    def requests(self) -> int:
        """All of them."""
        return int(self.per_second[1].sum())

    @property
    def first(self) -> int:
        """The second of the first request."""
        return int(self.per_second[0][0])

    @property
    def last(self) -> int:
        """The second of the last request."""
        return int(self.per_second[0][-1])

    @property
    def span(self) -> int:
        """Seconds from the first request to the last, both included."""
        return self.last - self.first + 1

    @cached_property
    def idle(self) -> tuple[Ints, Ints]:
        """See `rates.idle`."""
        return rates.idle(self.per_second[0])

    @property
    def mean(self) -> float:
        """Requests/s, without the times of `idle`."""
        return self.requests / (self.span - int(self.idle[1].sum()))

    @property
    def timed(self) -> bool:
        """Whether the requests have times of their own: not all in one second of several requests."""
        return self.span > 1 or self.requests == 1

    @cached_property
    def peaks(self) -> Mapping[str, rates.Peak]:
        """The busiest ``second``, ``minute`` and ``hour``; those that are longer than the log are left out."""
        found = {name: rates.busiest(*self.per_second, window) for name, window in rates.WINDOWS.items()}
        return {name: peak for name, peak in found.items() if peak and self.timed}

    @cached_property
    def rise(self) -> rates.Rise | None:
        """The steepest rise between two neighbouring minutes; None without one beyond chance."""
        return rates.steepest(*self.per_second, rates.MINUTE) if self.timed else None

    @cached_property
    def dispersion(self) -> Mapping[str, float]:
        """The index of dispersion of the requests in a ``second`` and in a ``minute``; NaN for a shorter log."""
        return {name: rates.dispersion(*self.per_second, rates.WINDOWS[name]) for name in ("second", "minute")}

    @cached_property
    def gaps(self) -> tuple[rates.Gap, ...]:
        """Times without a request in which the hours around them expect many."""
        return rates.gaps(*self.per_second)

    @cached_property
    def hours(self) -> pl.DataFrame:
        """See `rates.hours`."""
        return rates.hours(*self.per_second, self.zone)

    @cached_property
    def week(self) -> pl.DataFrame:
        """See `rates.week`; without the times of `idle`."""
        return rates.week(rates.without_idle(self.hours, *self.idle))

    @property
    def bots(self) -> int:
        """Requests of agents that name themselves as programs."""
        return int(self.agents.filter("bot")["requests"].sum())

    @property
    def shared(self) -> int:
        """Addresses with so many different agents that several users may be behind each."""
        return self.clients.filter(pl.col("agents") >= _SHARED).height

    def of_top_clients(self, number: int) -> float:
        """The share of all requests that come from the clients with the most."""
        return int(self.clients["requests"].head(number).sum()) / self.requests

    @cached_property
    def per_second(self) -> tuple[Ints, Ints]:
        """The columns of ``seconds``: each second with a request, ascending, and its requests, (n,)."""
        return self.seconds["second"].to_numpy(), self.seconds["requests"].to_numpy()


def profile_of(parts: Iterable[pl.DataFrame], zone: str = "UTC") -> LogProfile | None:
    """Count rows that come in parts; None if there are none."""
    with RouteSpool() as spool:
        counts = _LogCounts(spool)
        for rows in parts:
            counts.add(rows)
        return counts.profile(zone)


def _three_digits(micros: pl.Expr) -> pl.Expr:
    """Whole numbers rounded to three digits, so that a route has some thousand different times."""
    unit = (10 ** ((micros.clip(1).log10() - 2).floor().clip(0))).cast(pl.Int64)
    return (micros + unit // 2) // unit * unit


def _with_times(routes: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Routes with the percentiles of their times in seconds, where there are any."""
    if not (times["time"] > 0).any():
        return routes
    found: list[dict[str, Any]] = []
    for (method, route), part in times.sort("time").group_by("method", "route", maintain_order=True):
        below = np.cumsum(part["requests"].to_numpy())
        at = {name: int(np.searchsorted(below, rank(int(below[-1]), p))) for name, p in _TIMES.items()}
        found.append({"method": method, "route": route, **{name: part["time"][row] / 1e6 for name, row in at.items()}})
    return routes.join(pl.DataFrame(found), on=["method", "route"], how="left", maintain_order="left")
