"""Names the options whose values the log lacks."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from logreplay.core.plural import number_of
from logreplay.inputs.logs import Tell
from logreplay.options.request_rules import RequestRules

if TYPE_CHECKING:
    import polars as pl

    from logreplay.options.sender_rules import SenderRules
    from logreplay.replay.requests.plan import Requests
    from logreplay.replay.requests.sources import RequestSource


@dataclass(frozen=True, slots=True)
class Needed:
    """A column of the log without which an option would do something else in silence.

    Attributes:
        known: the value of a request, null where it has none; None: the column.
        text: missing fields, the option that needs them, and the remedy.
    """

    column: str
    text: str
    known: "Callable[[], pl.Expr] | None" = None


def _pause() -> "pl.Expr":
    import polars as pl

    return pl.when(pl.col("thinktime") > 0).then(pl.col("thinktime"))


PROTOCOL: Final = Needed("protocol", "a value in column protocol, which --http log needs; use --http 1.1 or --http 2")
THINK: Final = Needed(
    "thinktime",
    "a pause in column thinktime, which --think log needs; access logs have none: use --think 1s, or --think 1s..3s",
    _pause,
)


def expect(
    needed: Sequence[Needed], log: "Path | RequestSource", methods: frozenset[str], path: Path | None = None
) -> None:
    """Check that at least one request of a log has a value in each needed column.

    Raises:
        LogreplayError: no request has one; or the log cannot be read.
    """
    from logreplay.core.errors import LogreplayError
    from logreplay.replay.requests.sources import LogFile, lacking

    source = LogFile(log) if isinstance(log, Path) else log
    for each in needed:
        if count := lacking(source, (each.column,), each.column, methods, each.known and each.known()):
            raise LogreplayError(f"{path or log}: none of {number_of(count, 'request')} has {each.text}")


def expect_readable(log: "Path | RequestSource", options: str) -> None:
    """Check that the times of a table, which options need, can be read.

    Raises:
        LogError: a value is not a time; the message names it.
    """
    from logreplay.core.errors import LogError
    from logreplay.inputs.python_logs import TableLog

    if isinstance(log, TableLog) and log.untimed:
        raise LogError(f"{log.untimed}; {options} the times of requests")


def expect_times(requests: "Requests", *, ordered: bool) -> None:
    """Check that the requests of a log did not all start at one time, or at none that is known, and are in order.

    Args:
        requests: those of the log that are sent; read until two different times are found. If they will not be put in
            order, at least `ORDER_OVER` rows are read; the order of later rows is checked when they are read.
        ordered: they will be put in order.

    Raises:
        LogreplayError: requests would be sent at once, all or some; or the log cannot be read.
    """
    from logreplay.core.errors import LogreplayError
    from logreplay.replay.requests.log_stats import ORDER_OVER

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
    request_rules: RequestRules,
    sender_rules: "SenderRules",
    log: "Path | RequestSource",
    tell: Tell,
    *,
    where: str = "",
) -> None:
    """Report the options whose values the log lacks; of a followed log, those that it lacked so far."""
    from logreplay.replay.requests.sources import LogFile

    source, methods = LogFile(log) if isinstance(log, Path) else log, sender_rules.methods
    for about, text in (
        *_clients(request_rules, source, methods, by_client=sender_rules.by_client),
        *_values(request_rules, source, methods),
        *_headers(request_rules, source, methods),
        *_bodies(request_rules, source, methods),
    ):
        tell(f"{about}: {where}{text}")


def _absent(
    source: "RequestSource",
    methods: frozenset[str],
    columns: Sequence[str],
    rendered: str = "",
    value: "pl.Expr | None" = None,
) -> int:
    """As `logreplay.replay.requests.sources.lacking`, also for a log that is followed."""
    from logreplay.replay.requests.follow import Followed
    from logreplay.replay.requests.sources import lacking

    if isinstance(source, Followed):
        return min(source.lacking(column, methods) for column in columns)
    return lacking(source, columns, rendered, methods, value)


_Said = Iterator[tuple[str, str]]
"""The option, and a sentence on what the log lacks for it."""


def _clients(rules: RequestRules, source: "RequestSource", methods: frozenset[str], *, by_client: bool) -> _Said:
    from logreplay.replay.requests.follow import Followed

    key = rules.client_key
    if key and key.columns:
        if count := _absent(source, methods, key.columns, "", key.value):
            text = f"none of {number_of(count, 'request')} has a value; clients are told apart by their addresses"
            yield f"warning: --client-key {key}", text
        return
    if not by_client:
        return
    if isinstance(source, Followed):
        count, crowded = _absent(source, methods, ("client",)), ""
    else:
        count, crowded = _addresses(source, methods)
    if count and not key:
        text = f"none of {number_of(count, 'request')} has a value in column client; all of them share one connection"
        yield "warning: --by-client", text
    if crowded:
        yield "warning: --by-client", crowded


def _addresses(source: "RequestSource", methods: frozenset[str]) -> tuple[int, str]:
    """Look for clients in the column ``client``.

    Args:
        source: read up to `_LOOKED_AT` rows and the first client.
        methods: methods of the requests that are sent.

    Returns:
        The number of requests, if none has a client, else 0; and a sentence on the client that has most of the first
        requests, as behind NAT or a proxy, empty if none has.
    """
    import polars as pl

    counts, read, requests, known = Counter[str](), 0, 0, False
    for frame in source.batches(("op", "client")):
        sent = frame.filter(pl.col("op").is_in(methods))["client"]
        if read < _LOOKED_AT:
            counts.update(dict(sent.drop_nulls().value_counts().iter_rows()))
        read, requests, known = read + frame.height, requests + len(sent), known or sent.count() > 0
        if known and read >= _LOOKED_AT:
            break
    return 0 if known else requests, _crowded(counts, all_read=read < _LOOKED_AT)


def _crowded(counts: Counter[str], *, all_read: bool) -> str:
    from logreplay.core.masking import terminal_safe

    client, most = next(iter(counts.most_common(1)), ("", 0))
    total = counts.total()
    if total < _FEWEST or most < _MOST_OF * total:
        return ""
    some = f"of the{'' if all_read else ' first'} {number_of(total, 'request')}"
    return (
        f"{terminal_safe(client[:60])} has {most / total:.0%} {some}, which share one connection, and over HTTP/1.1 "
        "wait for each other; if it is a proxy or NAT, tell the clients behind it apart with --client-key, such as "
        "address+agent"
    )


_LOOKED_AT: Final = 50_000
"""Rows that are searched for a client with most of the requests."""
_FEWEST: Final = 20
"""Requests of which a share means something."""
_MOST_OF: Final = 0.5


def _values(rules: RequestRules, source: "RequestSource", methods: frozenset[str]) -> _Said:
    for option, value, column, name in (
        ("--host", rules.host, "host", "Host"),
        ("--agent", rules.agent, "agent", "User-Agent"),
        ("--referer", rules.referer, "referer", "Referer"),
    ):
        if value == "log" and (count := _absent(source, methods, (column,), name)):
            instead = "no Referer is sent" if name == "Referer" else f"logreplay's own {name} is sent"
            text = f"none of {number_of(count, 'request')} has a value in column {column}; {instead}"
            yield f"warning: {option} log", text


def _headers(rules: RequestRules, source: "RequestSource", methods: frozenset[str]) -> _Said:
    from logreplay.core.headers import HEADERS
    from logreplay.replay.requests.follow import Followed
    from logreplay.replay.requests.headers import HeaderFromLog, LoggedHeaders
    from logreplay.replay.requests.plan import MADE

    for header in rules.header:
        if (
            isinstance(header, HeaderFromLog)
            and header.column not in MADE
            and (count := _absent(source, methods, header.columns, header.name, header.value))
        ):
            text = f"none of {number_of(count, 'request')} has a value in column {header.column}; it is not sent"
            remedy = f"; name another column: '{header.name}: log:COLUMN'"
            yield f"warning: --header '{header.name}: log'", text + remedy
    if LoggedHeaders() not in rules.header:
        return
    if count := _absent(source, methods, (HEADERS,)):
        text = f"none of {number_of(count, 'request')} has a value in column headers; none of its headers is sent"
        yield "warning: --header log", text
    elif not isinstance(source, Followed):
        named = {header.name.lower() for header in rules.header}
        left_out, having, rows = _traces_in(source, named)
        if left_out:
            text = f"not sent: {', '.join(left_out)}, which {having:,} of the first {number_of(rows, 'request')} have; "
            text += "they would join the traces of production; "
            yield "--header log", f"{text}send one with --header '{left_out[0]}: log'"


def _traces_in(source: "RequestSource", named: set[str]) -> tuple[list[str], int, int]:
    """Look for headers of traces in the first rows of a log, except for those that are ``named``.

    Returns:
        Their names in lower case, the number of requests that have any, and of those that were looked at.
    """
    from logreplay.core.headers import HEADERS, header_pairs
    from logreplay.replay.requests.headers import is_of_trace

    texts: list[str | None] = next((frame[HEADERS].to_list() for frame in source.batches((HEADERS,))), [])
    found = [{name.lower() for name, _ in header_pairs(text)} - named for text in texts if text]
    traces = [{name for name in names if is_of_trace(name)} for names in found]
    return sorted(set().union(*traces)), sum(map(bool, traces)), len(texts)


def _bodies(rules: RequestRules, source: "RequestSource", methods: frozenset[str]) -> _Said:
    from logreplay.core.bodies import REF
    from logreplay.core.headers import HEADERS
    from logreplay.replay.requests.bodies import LoggedBody
    from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD, WITH_BODY
    from logreplay.replay.requests.sources import LogFile, Stored, without_body

    if rules.body:
        columns = [name for name in rules.body.columns if name != HEADERS]
        if count := _absent(source, methods - {*BODILESS}, columns, PAYLOAD):
            text = f"none of {number_of(count, 'request')} that may have a body has a value in column "
            yield "warning: --body", f"{text}{' or '.join(columns)}; no body is sent"
    expected = methods & WITH_BODY
    logged = rules.body is None or isinstance(rules.body, LoggedBody)
    if logged and expected and isinstance(source, LogFile | Stored) and {"body", REF} & {*source.names()}:
        count, empty = without_body(source, expected)
        if empty:
            requests = number_of(count, f"{'/'.join(sorted(expected))} request")
            text = f"{empty:,} of {requests} of the log have no body there, and are sent empty; "
            yield "warning: bodies", f"{text}the server or the capture left it out, perhaps for its size"
