"""Names the options whose values the log lacks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.bodies import REF
from logreplay.core.errors import LogError, LogreplayError
from logreplay.core.headers import HEADERS, header_pairs
from logreplay.core.masking import terminal_safe
from logreplay.core.plural import number_of
from logreplay.inputs.logs import Tell
from logreplay.inputs.python_logs import TableLog
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.requests.bodies import LoggedBody
from logreplay.replay.requests.follow import Followed
from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD, WITH_BODY
from logreplay.replay.requests.headers import HeaderFromLog, LoggedHeaders, is_of_trace
from logreplay.replay.requests.log_stats import ORDER_OVER
from logreplay.replay.requests.plan import MADE, Requests
from logreplay.replay.requests.sources import LogFile, RequestSource, Stored, lacking, without_body

_LOOKED_AT: Final = 50_000
"""Rows that are searched for a client with most of the requests."""
_FEWEST: Final = 20
"""Fewest requests for which a share is reported."""
_MOST_OF: Final = 0.5


@dataclass(frozen=True, slots=True)
class Needed:
    """A column of the log without which an option would silently do something else.

    Attributes:
        text: missing fields, the option that needs them, and the remedy.
        known: the value of a request, null where it has none; None: the column.
    """

    column: str
    text: str
    known: pl.Expr | None = None


PROTOCOL: Final = Needed("protocol", "a value in column protocol, which --http log needs; use --http 1.1 or --http 2")
THINK: Final = Needed(
    "thinktime",
    "a pause in column thinktime, which --think log needs; access logs have none: use --think 1s, or --think 1s..3s",
    pl.when(pl.col("thinktime") > 0).then(pl.col("thinktime")),
)


def expect(
    needed: Sequence[Needed], log: Path | RequestSource, methods: frozenset[str], path: Path | None = None
) -> None:
    """Check that at least one request of a log has a value in each needed column."""
    source = LogFile(log) if isinstance(log, Path) else log
    for each in needed:
        if count := lacking(source, (each.column,), each.column, methods, each.known):
            raise LogreplayError(f"{path or log}: none of {number_of(count, 'request')} has {each.text}")


def expect_readable(log: Path | RequestSource, options: str) -> None:
    """Check that the times of a table, which options need, can be read."""
    if isinstance(log, TableLog) and log.untimed:
        raise LogError(f"{log.untimed}; {options} the times of requests")


def expect_times(requests: Requests, *, ordered: bool) -> None:
    """Check that the requests of a log have known, different start times, and are in order.

    Args:
        requests: those of the log that are sent; read until two different times are found. If they will not be put in
            order, at least `ORDER_OVER` rows are read; the order of later rows is checked when they are read.
        ordered: they will be put in order.
    """
    log = requests.source
    expect_readable(log, "--speed and --arrivals log need")
    for _ in requests.one_pass():
        differ = requests.figures.last > requests.figures.first
        enough = requests.rows >= ORDER_OVER and (differ or not requests.usable)
        if enough or (differ and ordered):
            break
    if not ordered:
        requests.figures.expect_order(log, few=True)
    if requests.figures.last == requests.figures.first and requests.usable > 1:
        have = "the same time" if requests.figures.last else "no time"
        raise LogreplayError(
            f"{log}: its {requests.usable:,} requests have {have}: --speed and --arrivals log would send all of them "
            "at once; give a rate with --tps, without --arrivals log"
        )


def tell_lacking(
    request_rules: RequestRules, sender_rules: SenderRules, log: Path | RequestSource, tell: Tell, *, where: str = ""
) -> None:
    """Report the options whose values the log lacks; of a followed log, those that it lacked so far."""
    source, methods = LogFile(log) if isinstance(log, Path) else log, sender_rules.methods
    for about, text in (
        *_clients(request_rules, source, methods, by_client=sender_rules.by_client),
        *_values(request_rules, source, methods),
        *_headers(request_rules, source, methods),
        *_bodies(request_rules, source, methods),
    ):
        tell(f"{about}: {where}{text}")


_Said = Iterator[tuple[str, str]]
"""The option, and a sentence on what the log lacks for it."""


def _nowhere(
    source: RequestSource,
    methods: frozenset[str],
    option: str,
    columns: Sequence[str],
    text: str,
    rendered: str = "",
    value: pl.Expr | None = None,
) -> _Said:
    """A warning if no request has a value in any of some columns; ``text`` follows the number of requests.

    The last two arguments are those of `lacking`.
    """
    if isinstance(source, Followed):
        count = min(source.lacking(column, methods) for column in columns)
    else:
        count = lacking(source, columns, rendered, methods, value)
    if count:
        yield f"warning: {option}", f"none of {number_of(count, 'request')}{text}"


def _clients(rules: RequestRules, source: RequestSource, methods: frozenset[str], *, by_client: bool) -> _Said:
    key = rules.client_key
    if key and key.columns:
        text = " has a value; clients are told apart by their addresses"
        yield from _nowhere(source, methods, f"--client-key {key}", key.columns, text, value=key.value)
    elif by_client:
        text = " has a value in column client; all of them share one connection"
        yield from (none := [] if key else [*_nowhere(source, methods, "--by-client", ("client",), text)])
        if not none and not isinstance(source, Followed) and (crowded := _crowded(source, methods)):
            yield "warning: --by-client", crowded


def _crowded(source: RequestSource, methods: frozenset[str]) -> str:
    """A sentence on the client that has most of the first requests, as behind NAT or a proxy; empty if none has."""
    counts, read = Counter[str](), 0
    for frame in source.batches(("op", "client")):
        sent = frame.filter(pl.col("op").is_in(methods))["client"]
        counts.update(dict(sent.drop_nulls().value_counts().iter_rows()))
        read += frame.height
        if read >= _LOOKED_AT:
            break
    client, most = next(iter(counts.most_common(1)), ("", 0))
    total = counts.total()
    if total < _FEWEST or most < _MOST_OF * total:
        return ""
    some = f"of the{'' if read < _LOOKED_AT else ' first'} {number_of(total, 'request')}"
    return (
        f"{terminal_safe(client[:60])} has {most / total:.0%} {some}, which share one connection, and over HTTP/1.1 "
        "wait for each other; if it is a proxy or NAT, tell the clients behind it apart with --client-key, such as "
        "address+agent"
    )


def _values(rules: RequestRules, source: RequestSource, methods: frozenset[str]) -> _Said:
    for name, value, header, instead in (
        ("host", rules.host, "Host", "logreplay's own Host is sent"),
        ("agent", rules.agent, "User-Agent", "logreplay's own User-Agent is sent"),
        ("referer", rules.referer, "Referer", "no Referer is sent"),
    ):
        if value == "log":
            text = f" has a value in column {name}; {instead}"
            yield from _nowhere(source, methods, f"--{name} log", (name,), text, header)


def _headers(rules: RequestRules, source: RequestSource, methods: frozenset[str]) -> _Said:
    for header in rules.header:
        if isinstance(header, HeaderFromLog) and header.column not in MADE:
            text = f" has a value in column {header.column}; it is not sent; name another column: '{header.name}: "
            option = f"--header '{header.name}: log'"
            yield from _nowhere(
                source, methods, option, header.columns, f"{text}log:COLUMN'", header.name, header.value
            )
    if LoggedHeaders() not in rules.header:
        return
    text = " has a value in column headers; none of its headers is sent"
    yield from (none := [*_nowhere(source, methods, "--header log", (HEADERS,), text)])
    if not none and not isinstance(source, Followed):
        named = {header.name.lower() for header in rules.header}
        left_out, having, rows = _traces_in(source, named)
        if left_out:
            text = f"not sent: {', '.join(left_out)}, which {having:,} of the first {number_of(rows, 'request')} have; "
            text += "they would join the traces of production; "
            yield "--header log", f"{text}send one with --header '{left_out[0]}: log'"


def _traces_in(source: RequestSource, named: set[str]) -> tuple[list[str], int, int]:
    """Look for headers of traces in the first rows of a log, except for those that are ``named``.

    Returns:
        Their names in lower case, the number of requests that have any, and of those that were looked at.
    """
    texts: list[str | None] = next((frame[HEADERS].to_list() for frame in source.batches((HEADERS,))), [])
    found = [{name.lower() for name, _ in header_pairs(text)} - named for text in texts if text]
    traces = [{name for name in names if is_of_trace(name)} for names in found]
    return sorted(set().union(*traces)), sum(map(bool, traces)), len(texts)


def _bodies(rules: RequestRules, source: RequestSource, methods: frozenset[str]) -> _Said:
    if rules.body:
        columns = [name for name in rules.body.columns if name != HEADERS]
        text = f" that may have a body has a value in column {' or '.join(columns)}; no body is sent"
        yield from _nowhere(source, methods - {*BODILESS}, "--body", columns, text, PAYLOAD)
    expected = methods & WITH_BODY
    logged = rules.body is None or isinstance(rules.body, LoggedBody)
    if logged and expected and isinstance(source, LogFile | Stored) and {"body", REF} & {*source.names()}:
        count, empty = without_body(source, expected)
        if empty:
            requests = number_of(count, f"{'/'.join(sorted(expected))} request")
            text = f"{empty:,} of {requests} of the log have no body there, and are sent empty; "
            yield "warning: bodies", f"{text}the server or the capture left it out, perhaps for its size"
