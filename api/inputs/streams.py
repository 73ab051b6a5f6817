"""Builds the stream of requests that the options ask for, and says which requests are not sent."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from logreplay.analysis.format_time import show
from logreplay.core.errors import LogreplayError, Loss, UsageError
from logreplay.core.masking import masked, terminal_safe
from logreplay.core.plural import number_of
from logreplay.core.rows import names_in
from logreplay.inputs.lacking import PROTOCOL, THINK, expect, expect_readable, expect_times, tell_lacking
from logreplay.inputs.logs import Tell, replayable
from logreplay.inputs.python_logs import RequestsFrom, TableLog
from logreplay.options.request_rules import RequestRules, base
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.requests import hook
from logreplay.replay.requests.auth.schemes import Authorized
from logreplay.replay.requests.combine import Mixed
from logreplay.replay.requests.filters import FromTime
from logreplay.replay.requests.follow import Followed
from logreplay.replay.requests.header_columns import BODILESS
from logreplay.replay.requests.headers import LoggedProtocol
from logreplay.replay.requests.ordering import Drawn, Shuffled
from logreplay.replay.requests.plan import Requests, RequestStream, Shape
from logreplay.replay.requests.sources import RequestFile, RequestSource, Stored, is_request_file
from logreplay.replay.senders.endpoint import parse_target

_RESULT_ROWS: Final = 32_768
"""Rows within which a result log, which is in order of completion, is put in order of start."""


def request_stream(
    request_rules: RequestRules,
    sender_rules: SenderRules,
    log: Path | RequestSource,
    stack: ExitStack,
    tell: Tell,
    *,
    loop: bool,
    keep: Sequence[str] = (),
    skip_idle: float | None = None,
    in_time: bool = False,
    ahead: bool = False,
    last: Shape | None = None,
) -> RequestStream:
    """The requests of a log as they are to be sent.

    Args:
        request_rules: filters and changes of the log's requests.
        sender_rules: allowed methods, version of HTTP, and headers that sessions give in place of the log's.
        log: a normalized CSV, a raw request, or another source of rows.
        stack: keeps temporary files for as long as they are needed.
        tell: takes the report of the conversion of injected logs, and what the log lacks.
        loop: begin again at the end.
        keep: further columns that the schedule needs.
        skip_idle: seconds; shorten longer gaps of the log to this.
        in_time: the log's times count: put a table, or a result log (in order of completion), in order of start; end
            the reading of any log with an error where many requests are out of order.
        ahead: add credentials when requests are read, because it is not known when they are due.
        last: a shape after all others, for a second stream of the same log, which is not checked again.
    """
    methods, unlogged = sender_rules.methods, sender_rules.session_headers
    bodies = not methods <= {*BODILESS}
    versions = (LoggedProtocol(),) if sender_rules.http == "log" else ()
    changes = request_rules.changes(unlogged=unlogged, bodies=bodies)
    requests = Requests(
        _source(log),
        methods,
        loop=loop,
        shapes=(*request_rules.filters(), *changes, *versions, *([last] if last else [])),
        keep=keep,
        skip_idle=skip_idle,
        sorted_within=_sorted_within(log) if in_time else 0,
        in_time=in_time,
    )
    stream: RequestStream = requests
    if request_rules.order == "shuffle":
        stream = Shuffled(requests, request_rules.seed)
    elif request_rules.order == "random":
        stream = Drawn(requests, request_rules.seed)
    needed = [*([PROTOCOL] if versions else []), *([THINK] if "thinktime" in keep else [])]
    if isinstance(log, RequestsFrom):
        if request_rules.order != "log":
            raise UsageError(
                f"{log}: --request-order {request_rules.order} needs all requests before the first is sent; give a list"
            )
        if loop and log.once:
            raise UsageError(
                f"{log}: a generator cannot begin again, and the call may need more requests than it has; give the "
                "function that makes it, or leave out what repeats the log"
            )
    elif not isinstance(log, Followed) and last is None:  # one that is followed is not there yet
        single = isinstance(requests.source, RequestFile)  # which is due at once
        expect(needed, requests.source, methods)
        if isinstance(request_rules.since, FromTime):
            expect_readable(requests.source, "--since needs")
        if in_time and not single:
            kept = Requests(requests.source, methods, shapes=(*request_rules.filters(),))
            expect_times(kept, ordered=requests.sorted_within > 0)
        tell_lacking(request_rules, sender_rules, requests.source, tell)
    for place, (path, share) in enumerate(request_rules.inject):
        other = _source(stack.enter_context(replayable(path, tell)))
        tell_lacking(replace(request_rules, client_key=None), sender_rules, other, tell, where=f"{path}: ")
        expect(needed, other, methods, path)
        shapes = (*request_rules.changes(rewriting=False, unlogged=unlogged, bodies=bodies), *versions)
        among = Requests(other, methods, shapes=shapes, keep=keep)
        later = sum(share for _, share in request_rules.inject[place + 1 :])
        stream = Mixed(stream, among, share / (1 - later))  # what comes later thins this one out
    if request_rules.hook:
        function = hook.load(request_rules.hook) if isinstance(request_rules.hook, str) else request_rules.hook
        stream = hook.Hooked(stream, function, methods)
    if request_rules.auth:
        request_rules.auth.load()
        stream = Authorized(stream, request_rules.auth, ahead)
    return stream


def bind_target(request_rules: RequestRules, target: str) -> None:
    """Tell a scheme that signs requests which target they go to."""
    if request_rules.auth:
        aimed = parse_target(target)
        request_rules.auth.origin = f"{aimed.scheme}://{aimed.authority}"


def count_on(stream: RequestStream) -> None:
    """Count the rest of the log and of those mixed in, so that the counts shown are of whole logs.

    It leaves out a log that grows, and one that a program or a store would have to supply again.
    """
    for requests in _logs(stream):
        if not isinstance(requests.source, Followed | RequestsFrom | Stored):
            requests.count_on()


def _logs(stream: RequestStream) -> Iterator[Requests]:
    """The requests of each log of a stream."""
    inner: Any = stream
    while not isinstance(inner, Requests):
        if isinstance(inner, Mixed):
            yield from _logs(inner.injected)
        inner = inner.requests
    yield inner


def left_out(stream: RequestStream, *, in_time: bool = False) -> tuple[str, ...]:
    """Which requests (a `Loss`) and headers were not sent, and the time spent in a hook, in sentences.

    Args:
        stream: requests of the run, after it.
        in_time: the log's times count: also say how many of its requests are out of order.
    """
    told: list[str] = []
    if stream.left_out:
        counts = ", ".join(f"{count} x {why}" for why, count in stream.left_out.items())
        log = base(stream)  # its rows are counted as they are read; those that a hook leaves out, up to the last sent
        read = f", among the first {number_of(log.rows, 'row')} of the log" if log.left_out and not log.whole else ""
        told.append(Loss(f"not sent: {counts}{read}{log.methods_remedy(stream.left_out)}"))
    for header, count in stream.unfilled.items():
        if count:
            text = f"not in {number_of(count, 'request')} of those read from the log, which have no value in column"
            told.append(f"header {header.name}: {text} {header.column}")
    if in_time and (count := stream.figures.unordered):
        part = "log" if base(stream).whole else "part of the log that was read"
        some = number_of(count, f"request of the {part} is", f"requests of the {part} are")
        text = f"warning: {some} out of order: each is sent together with the one before it"
        told.append(f"{text}; logreplay convert puts a log in order")
    if hooked := hook.hooked(stream):
        told.append(f"hook: {number_of(hooked.calls, 'call')}, ahead of the requests, {show(hooked.cost)} each")
        if hooked.first_error:
            told.append(f"hook: first failure: {terminal_safe(masked(hooked.first_error), ' ')}")
    return tuple(told)


def _source(log: Path | RequestSource) -> Path | RequestSource:
    return RequestFile(log) if isinstance(log, Path) and is_request_file(log) else log


def _sorted_within(log: Path | RequestSource) -> int:
    """Rows within which a log is put in order: all of a table, some of a result log, none of another."""
    if isinstance(log, TableLog):
        return log.table.height
    if isinstance(log, Stored):
        names = log.names()
    else:
        try:
            names = names_in(log) if isinstance(log, Path) else []
        except LogreplayError:
            names = []
    return _RESULT_ROWS if "scheduled" in names else 0
