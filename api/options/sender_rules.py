"""Builds the senders: target permission, HTTP client, workers, limits."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.core.plural import number_of
from logreplay.core.quantities import TIME_UNITS, seconds_of

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Limits
    from logreplay.replay.engine.trace_ids import TraceIds
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.senders.contract import Sender
    from logreplay.replay.senders.digests import ResponseObserver
    from logreplay.replay.senders.endpoint import ConnectTo, Endpoint
    from logreplay.replay.senders.tls import KeyPassword
    from logreplay.replay.sessions.client_sessions import SessionPlan
    from logreplay.replay.sessions.extraction import Extraction
    from logreplay.replay.sessions.insertion import Insertion
    from logreplay.replay.sessions.logins import LoginFile


def late(text: str) -> float | None:
    """Read ``send`` as None, ``drop:D`` as seconds."""
    word, _, duration = text.partition(":")
    if text != "send" and (word != "drop" or not duration):
        raise ValueError(f"{text!r}: expected send, or drop with a duration, such as drop:2s ({TIME_UNITS})")
    return seconds_of(duration) if duration else None


def methods(text: str) -> frozenset[str]:
    """Read ``GET,HEAD``. Methods are case-sensitive, so any name not in upper case stands for both."""
    named = [part.strip() for part in text.split(",")]
    methods = frozenset(named) | {method.upper() for method in named}
    for method in sorted(methods):
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", method) or method in ("CONNECT", "*"):
            raise ValueError(f"{method!r} cannot be sent: expected methods such as GET,HEAD,POST")
    return methods


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderRules:
    """How to send, as the user asked for it. Times in seconds."""

    timeout: float = 30.0
    sender: str = "wire"
    keep_alive: bool = True
    by_client: bool = False
    requests_per_connection: int | None = None
    max_in_flight: int | None = None
    late: float | None = None
    methods: frozenset[str] = frozenset({"GET", "HEAD"})
    allow_target: tuple[str, ...] = ()
    local_address: tuple[str, ...] | None = None
    insecure: bool = False
    cacert: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    key_password: "KeyPassword | None" = None
    tls_name: str | None = None
    connect_to: "tuple[ConnectTo, ...]" = ()
    workers: int | None = None
    cluster: str | None = None
    show_secrets: bool = False
    http: str = "1.1"
    connections: int | None = None
    streams: int | None = None
    digest: bool | None = None
    cookies: bool = False
    login: "LoginFile | None" = None
    extract: "tuple[Extraction, ...]" = ()
    use: "tuple[Insertion, ...]" = ()
    server_timing: tuple[str, ...] | None = None
    trace: float | None = None
    trace_url: str | None = None
    trace_seed: int | None = None
    """seed of the trace ids; None: no other run has the same."""
    asked: frozenset[str] = frozenset()
    """Parameters that the caller gave, without those of settings: only these are reported as not used."""

    @property
    def limits(self) -> "Limits":
        """What the engine may do to keep its schedule."""
        from logreplay.replay.engine.engine import Limits

        return Limits(self.max_in_flight, self.late)

    def as_summary(self) -> dict[str, Any]:
        """The sender options as given, for the summary: those that differ from the defaults."""
        given = {name: getattr(self, name) for name in _MEASURED if getattr(self, name) != getattr(_NONE, name)}
        given |= {name: _said(getattr(self, name)) for name in KEPT if getattr(self, name)}
        if self.connect_to:
            given["connect_to"] = [*map(str, self.connect_to)]
        if self.server_timing:
            given["server_timing"] = [*self.server_timing]
        if self.trace_url:
            given["trace_url"] = self.trace_url
        if self.local_address:
            given["local_address"] = number_of(len(self.local_address), "address", "addresses")
        if self.methods != _NONE.methods:
            given["methods"] = sorted(self.methods)
        return {"timeout": self.timeout, "sender": self.sender, **given}

    def processes(self, rate: float) -> int:
        """How many processes of this machine send, for the highest rate of a run, requests/s.

        The number that was asked for; otherwise as many as the rate needs, if ``calibrate`` has measured what one can
        send. One core stays free for everything else.
        """
        if self.workers is not None or self.cluster:
            return self.workers or 1
        from logreplay.replay.checks.calibrate import remembered_ceiling

        if not (can := remembered_ceiling()):
            return 1
        from logreplay.parsers.conversion.ingest import usable_cores

        most = min(usable_cores() - 1, self.max_in_flight or math.inf, self.connections or math.inf)
        return int(max(1, min(most, math.ceil(rate / can))))

    async def ready(
        self, endpoint: "Endpoint", output: Path, *, rate: float, duration: float | None, together: int = 1
    ) -> "tuple[Callable[[], Sender], list[Finding]]":
        """Check that a target and this machine are fit for the run.

        Args:
            endpoint: as `endpoint` returned it.
            output: the result log; its folder is there.
            rate: requests/s, the highest of the run.
            duration: seconds, of all of it; None: unknown.
            together: targets that get each request; the rate counts all of them.

        Returns:
            What makes senders to the target (here or in another process), and findings on the way.
        """
        from logreplay.replay.checks import preflight
        from logreplay.replay.checks.calibrate import remembered_ceiling
        from logreplay.replay.results.verdict import Finding, Severity

        plan, processes = self.session_plan(), self.processes(rate)
        streams = (self.streams or _USUAL_STREAMS) if self.http == "2" and self.keep_alive else 1
        demand = preflight.Demand(
            rate,
            duration,
            self.timeout,
            self.max_in_flight,
            self.keep_alive,
            processes,
            streams,
            together,
            0 if endpoint.target.path else len(self.local_address or [""]),
            self.sender != "aiohttp" and not self.cluster,
        )
        alone = processes == 1 and not self.cluster
        findings = preflight.machine(demand, output, remembered_ceiling() if alone else None)
        for name in ("cacert", "insecure", "cert", "tls_name"):
            if getattr(self, name) and endpoint.target.scheme == "http" and name in self.asked:
                text = f"--{name.replace('_', '-')} is not used: {endpoint.target} is not encrypted; "
                text += "write https:// if the port speaks TLS"
                findings.append(Finding(name, Severity.INFO, text))
        if self.sender == "h2":
            text = "--sender h2 is --sender wire, which has the only implementation of HTTP/2; leave it out"
            findings.append(Finding("sender", Severity.INFO, text))
        endpoint, answers = await self._answering(endpoint)
        return partial(self.sender_to, endpoint, plan=plan), findings + answers

    async def first_answer(self, target: str) -> "list[Finding]":
        """See whether a target answers, as before a run; arguments and errors as for `endpoint`."""
        return (await self._answering(await self.endpoint(target)))[1]

    async def _answering(self, endpoint: "Endpoint") -> "tuple[Endpoint, list[Finding]]":
        """See whether a target answers in each HTTP version; return it with the addresses that accept connections."""
        from logreplay.replay.checks import preflight

        endpoint, findings = await preflight.reachable(endpoint)
        for version in ("1.1", "2") if self.http == "log" else (self.http,):
            sender = replace(self, http=version).sender_to(endpoint)
            findings += await preflight.answers(sender, endpoint, http=version, cacert=self.cacert)
        return endpoint, findings

    @property
    def session_headers(self) -> frozenset[str]:
        """Headers, in lower case, that the sessions of the clients give: those of the log are of other sessions."""
        used = {rule.where.lower() for rule in self.use if rule.kind == "header"}
        return frozenset({"cookie", *used} if self.cookies else used)

    def session_plan(self) -> "SessionPlan | None":
        """What clients keep between their requests; None: nothing."""
        if not any(getattr(self, name) for name in KEPT):
            return None
        from logreplay.replay.sessions.client_sessions import SessionPlan

        return SessionPlan(self.cookies, self.login.read() if self.login else None, self.extract, self.use)

    def trace_ids(self, first: int) -> "TraceIds | None":
        """The trace contexts of the requests from this number on; None: they have none."""
        if self.trace is None:
            return None
        from logreplay.replay.engine.trace_ids import TraceIds

        return TraceIds.of(self.trace, self.trace_seed, first)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result log that only these rules add."""
        from logreplay.core.record import TRACE_ID
        from logreplay.replay.sessions.server_timing import column_of

        return (*map(column_of, self.server_timing or ()), *([TRACE_ID] if self.trace is not None else []))

    async def endpoint(self, target: str, among: Iterable[str] = ()) -> "Endpoint":
        """Resolve a target and check that its addresses may be loaded.

        Call it once for each target of a command: a name may have another address the next time.
        ``among``: the base URLs of all of them, if there are several.
        """
        from logreplay.replay.senders.endpoint import (
            check_permission,
            check_used,
            connected,
            parse_target,
            resolve,
            with_sources,
        )

        check_used(self.connect_to, among or (target,))
        named = parse_target(target)
        place = connected(named, self.connect_to)
        endpoint = await resolve(place)
        check_permission(endpoint, self.allow_target)
        moved = None if place == named else place
        endpoint = replace(endpoint, target=named, place=moved, tls_name=self.tls_name or "")
        return with_sources(endpoint, self.local_address or ())

    def is_here(self, endpoint: "Endpoint") -> bool:
        """Whether a target runs on this machine, as far as its address tells, and the sender too."""
        from logreplay.replay.senders.endpoint import is_loopback

        return not self.cluster and all(map(is_loopback, endpoint.addresses))

    def sender_to(
        self,
        endpoint: "Endpoint",
        *,
        plan: "SessionPlan | None" = None,
        connections: int | None = None,
        part: tuple[int, int] = (0, 1),
        listener: "ResponseObserver | None" = None,
    ) -> "Sender":
        """The sender that was asked for.

        Args:
            endpoint: endpoint of the target.
            plan: cookies, values and logins that clients keep between their requests.
            connections: limit of connections of one worker.
            part: index of the worker, and how many there are.
            listener: takes the answers.
        """
        from logreplay.replay.senders.digests import Digests, HeadReader
        from logreplay.replay.senders.endpoint import turned
        from logreplay.replay.senders.request_budget import RequestBudget
        from logreplay.replay.senders.tls import ClientCertificate, tls_context
        from logreplay.replay.sessions.server_timing import ServerTimings

        mine = plan and plan.part(*part)
        endpoint = turned(endpoint, part[0])
        timings = ServerTimings(self.server_timing) if self.server_timing else None

        def made(http: str) -> "Sender":
            tls = None
            if endpoint.target.scheme == "https":
                own = ClientCertificate(self.cert, self.key, self.key_password) if self.cert else None
                tls = tls_context(cacert=self.cacert, verify=not self.insecure, client=own)
            kind = self._kind(http, connections or self.connections, mine)
            wanted = bool(listener or self.digest)
            digests = Digests(listener) if wanted else None
            if timings:
                digests = HeadReader(timings, listener, digests=wanted)
            if each := self.requests_per_connection:
                kind = partial(kind, budget=RequestBudget(each, part[0]))
            return kind(endpoint, timeout=self.timeout, keep_alive=self.keep_alive, tls=tls, digests=digests)

        if self.http != "log":
            return made(self.http)
        from logreplay.replay.senders.multi_target import by_protocol

        return by_protocol(made("1.1"), made("2"))

    def _kind(self, http: str, connections: int | None, plan: "SessionPlan | None") -> "Callable[..., Sender]":
        """A function that makes senders of the requested kind, for a version of HTTP."""
        if http == "2":
            from logreplay.replay.senders.http2.per_client import Http2ByClientSender, Http2SessionSender
            from logreplay.replay.senders.http2.sender import Http2Sender

            if plan:
                return partial(Http2SessionSender, plan=plan)
            if self.by_client:
                return partial(Http2ByClientSender, streams=self.streams)
            return partial(Http2Sender, connections=connections, streams=self.streams)
        if self.sender == "aiohttp":
            from logreplay.replay.senders.aiohttp_sender import AiohttpSender

            return AiohttpSender
        if plan or self.by_client:
            from logreplay.replay.senders.http1.per_client import ByClientSender, LoginSender, SessionSender

            if not plan:
                return ByClientSender
            return partial(LoginSender if plan.logins else SessionSender, plan=plan)
        from logreplay.replay.senders.http1.sender import WireSender

        return WireSender


def _said(value: Any) -> Any:
    if isinstance(value, tuple):
        return [f"{rule.name}={rule.kind}" for rule in value]
    return value if isinstance(value, bool) else str(value)


KEPT: Final = ("cookies", "login", "extract", "use")
"""The options that make a client keep something between its requests."""


_NONE = SenderRules()
_USUAL_STREAMS = 100
"""Requests at once on a connection of HTTP/2 that servers usually allow."""
_MEASURED = (
    *("keep_alive", "by_client", "requests_per_connection", "max_in_flight", "late", "workers", "cluster"),
    *("http", "connections", "streams", "digest", "tls_name", "trace"),
)
"""Options that change the measurement."""
