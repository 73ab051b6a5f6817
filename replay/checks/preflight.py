"""Checks before the first request that this machine and the target are ready for the run.

The limit of file descriptors is raised. A condition that makes a run useless is an error; others become findings.
"""

import asyncio
import os
import re
import shutil
import ssl
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.errors import LogreplayError, TargetError
from logreplay.core.record import ERRORS
from logreplay.replay.clock import monotonic
from logreplay.replay.results.verdict import Finding, Severity
from logreplay.replay.senders.contract import FIELDS, Sender
from logreplay.replay.senders.descriptors import allow_descriptors
from logreplay.replay.senders.endpoint import Dialer, Endpoint
from logreplay.replay.senders.http2.connection_state import greeting
from logreplay.replay.senders.http2.frames import HEADER_BYTES, SETTINGS
from logreplay.replay.senders.tls import tls_context

_SPARE_FILES: Final = 64
_ROW_BYTES: Final = 160
_LEAST_FREE: Final = 1_000_000
_UNITS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_TIME_WAIT_S: Final = 60
_PROBE_S: Final = 5.0
_REPLY_S: Final = 2.0
_BAD_REQUEST: Final = 400
"""The status with which a TLS port refuses a request without TLS."""
_STATUS: Final = re.compile(rb"HTTP/1\.\d (\d\d\d)")
_PORTS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_STAT: Final = Path("/proc/stat")
_TOO_BUSY: Final = 0.25
"""Share of all processors above which other processes distort the measurement of a local target."""
_SAYS: Final = {
    "refused": "connection refused: is it running, and is this its port?",
    "no_socket": "nothing listens on this socket: is the server running, and is this its path?",
    "connect_timeout": "no connection within {timeout:g} s: is it reachable from here?",
    "tls": "no TLS connection: {detail}; {advice}",
    "plain": "no TLS connection: its answer is not TLS ({detail}); if the port speaks plain HTTP, write http:// for https://",
    "cut": "no TLS connection: it closed the connection in the handshake; is this its port for https?",
}
_WRONG_NAME: Final = "certificate is not valid for"
_UNTRUSTED: Final = ("self-signed", "self signed", "local issuer", "issuer certificate", "first certificate")
"""Words of OpenSSL about a certificate of an authority that it does not know."""
_CUT_OFF: Final = ("closed", "reset", "protocol")
"""Errors that may come from a port that speaks something else."""
_TIMED_OUT: Final = ("timeout", "connect_timeout")


@dataclass(frozen=True, slots=True)
class Demand:
    """The load that a run puts on this machine.

    Attributes:
        rate: requests/s, the highest of the run.
        duration: seconds; None: unknown.
        timeout: seconds.
        max_in_flight: None: no limit.
        keep_alive: True if connections are used again.
        processes: that share in it on this machine; each has its own descriptors.
        streams: requests that a connection carries at once.
        together: targets that get each request; the user gave the rate of one of them.
        sources: addresses of this machine from which connections are opened; each has all ports. 0: a unix socket.
        more_sources: True if there may be more of them.
    """

    rate: float
    duration: float | None
    timeout: float
    max_in_flight: int | None = None
    keep_alive: bool = True
    processes: int = 1
    streams: int = 1
    together: int = 1
    sources: int = 1
    more_sources: bool = True

    @property
    def given(self) -> str:
        """The rate as the user gave it."""
        if self.together == 1:
            return f"{self.rate:g}/s"
        return f"{self.rate / self.together:g}/s to each of {self.together} targets ({self.rate:g}/s in all)"

    @property
    def connections(self) -> int:
        """Connections that a process may have open at once, if the target should answer nothing."""
        most = self.rate * self.timeout
        return (
            int((most if self.max_in_flight is None else min(most, self.max_in_flight)) / self.processes / self.streams)
            + 1
        )


def machine(demand: Demand, output: Path, ceiling: float | None = None) -> list[Finding]:
    """Look at this machine: descriptors, ports, disk. Raises the soft limit of descriptors.

    ``ceiling``: requests/s that this machine was found to carry; None: never measured.
    """
    findings = [_ceiling(demand, ceiling), _descriptors(demand), _ports(demand), _disk(demand, output)]
    return [finding for finding in findings if finding]


def _ceiling(demand: Demand, ceiling: float | None) -> Finding | None:
    if ceiling is None or demand.rate <= ceiling:
        return None
    return Finding(
        "ceiling",
        Severity.WARNING,
        f"{demand.given} is more than the {ceiling:.0f}/s that this machine sent on time when calibrated; lower the "
        "rate, replay from another machine, or repeat logreplay calibrate if this one was busy then",
    )


def _descriptors(demand: Demand) -> Finding | None:
    needed = demand.connections + _SPARE_FILES
    soft = allow_descriptors(needed)
    if soft >= needed:
        return None
    return Finding(
        "descriptors",
        Severity.INFO,
        f"if the target stalls, {demand.given} with a time-out of {demand.timeout:g} s need {needed} file "
        f"descriptors, and only {soft} are allowed; raise the limit (ulimit -Hn), shorten --timeout, or set "
        f"--max-in-flight {max(1, int(soft) - _SPARE_FILES)}",
    )


def _ports(demand: Demand) -> Finding | None:
    if demand.keep_alive or not demand.sources:
        return None
    try:
        low, high = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return None
    used = demand.rate * min(_TIME_WAIT_S, demand.duration or _TIME_WAIT_S)
    ports = (high - low + 1) * demand.sources
    if used <= ports:
        return None
    of_all = f" of {demand.sources} addresses" if demand.sources > 1 else ""
    return Finding(
        "ports",
        Severity.WARNING,
        f"without keep-alive {demand.given} may use up the {ports} local ports{of_all} (EADDRNOTAVAIL), each of "
        f"which stays in TIME_WAIT for {_TIME_WAIT_S} s; widen the range with "
        "sysctl net.ipv4.ip_local_port_range='1024 65535', "
        f"{'send from more addresses with --local-address, ' * demand.more_sources}or "
        f"lower the rate below {ports / _TIME_WAIT_S / demand.together:.3g}/s",
    )


def _disk(demand: Demand, output: Path) -> Finding | None:
    free = shutil.disk_usage(output.parent).free
    if free < _LEAST_FREE:
        raise LogreplayError(
            f"{output}: only {free // 1000} kB are free in {output.parent}, and a run needs at least "
            f"{_LEAST_FREE // 1_000_000} MB; free some space, or write elsewhere with -o"
        )
    needed = demand.rate * (demand.duration or 0) * _ROW_BYTES
    if needed < 0.9 * free:
        return None
    return Finding(
        "disk",
        Severity.WARNING,
        f"the result log will take about {_size(needed)}, and {_size(free)} are free in {output.parent}; "
        "free some space, or write elsewhere with -o",
    )


def _size(count: float) -> str:
    unit, name = next((each for each in _UNITS if count >= each[0]), _UNITS[-1])
    return f"{count / unit:.3g} {name}"


async def reachable(endpoint: Endpoint) -> tuple[Endpoint, list[Finding]]:
    """Connect to each address once, and leave out those that do not take a connection."""
    findings = []
    if endpoint.unreached:
        text = f"{endpoint.target.host} is also {', '.join(endpoint.unreached)}, of another version of IP than "
        text += "--local-address; they are not used: name a local address of their version, too"
        findings.append(Finding("addresses", Severity.INFO, text))
    if len(endpoint.addresses) < 2:
        return endpoint, findings

    good = await _accepting(endpoint, _PROBE_S)
    if not good:
        raise LogreplayError(
            f"target {endpoint}: none of its addresses ({', '.join(endpoint.addresses)}) accepts a connection: "
            "is it running, is this its port, and is it reachable from here?"
        )
    silent = [address for address in endpoint.addresses if address not in good]
    if silent:
        text = f"{endpoint.target.host} is also {', '.join(silent)}, which accepts no connection; "
        findings.append(Finding("addresses", Severity.INFO, f"{text}only the others are used"))
    return replace(endpoint, addresses=good), findings


async def _accepting(endpoint: Endpoint, timeout_s: float) -> tuple[str, ...]:

    async def accepts(address: str) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                dialer = Dialer(replace(endpoint, addresses=(address,)), None, timeout_s)
                transport, _ = await dialer.open(asyncio.Protocol)
        except (OSError, TimeoutError):
            return False
        transport.abort()
        return True

    answers = await asyncio.gather(*map(accepts, endpoint.addresses))
    return tuple(address for address, answer in zip(endpoint.addresses, answers, strict=True) if answer)


async def answers(
    sender: Sender, endpoint: Endpoint, timeout_s: float = _PROBE_S, *, http: str = "1.1", cacert: Path | None = None
) -> list[Finding]:
    """Ask the target for ``/`` once (HEAD), with the sender that the run will use, which is not open yet."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[dict[str, int]] = loop.create_future()
    status = 0

    def done(*record: int) -> None:
        ended.set_result(dict(zip(FIELDS, record, strict=False)))

    await sender.open(done, monotonic)
    try:
        request = sender.prepare(pl.DataFrame({"op": ["HEAD"], "url": ["/"]}))[0]
        sender.send(0, request, monotonic())
        async with asyncio.timeout(timeout_s):
            record = await asyncio.shield(ended)
            word, status = ("", *ERRORS)[record["error"]], record["status"]
    except TimeoutError:
        word = "timeout"
    finally:
        unspoken = sender.counts.unspoken  # before the connection is closed from here
        sender.cancel()
        await sender.close()
    if word in _TIMED_OUT and endpoint.addresses and not await _accepting(endpoint, timeout_s):
        raise TargetError(f"target {endpoint}: {_SAYS['connect_timeout'].format(timeout=timeout_s)}")
    detail = sender.counts.details.get(word, "")
    cut = word == "tls" and "[SSL" not in detail
    fits = endpoint.target.scheme == "https" and (status or unspoken)  # it answered by TLS
    silent = endpoint.target.scheme == "https" and word in _TIMED_OUT
    unlike = unspoken or status == _BAD_REQUEST or cut or silent or word in _CUT_OFF
    if unlike and not fits and (text := await _remedy(endpoint, http=http, answered=status > 0)):
        raise TargetError(f"target {endpoint}: {text}")
    if unspoken:
        raise TargetError(f"target {endpoint}: no HTTP/2: {unspoken}; leave out --http, or name a port that speaks it")
    if silent and not await _speaks_tls(endpoint):
        text = f"the target answered no TLS handshake ({word}): the port may not speak TLS; if it speaks plain HTTP, "
        return [Finding("no_answer", Severity.WARNING, f"{text}write http:// for https://; sending anyway")]
    if word in _SAYS:
        if cut or "WRONG_VERSION_NUMBER" in detail:
            word = "cut" if cut else "plain"
        if word == "refused" and endpoint.target.path:
            word = "no_socket"
        text = _SAYS[word].format(timeout=timeout_s, detail=detail, advice=_tls_advice(detail, cacert))
        raise TargetError(f"target {endpoint}: {text}")
    if status == _BAD_REQUEST and endpoint.target.scheme == "https":
        text = "the target answered HEAD / with 400, as nginx does without a client certificate that it trusts: --cert "
        return [Finding("bad_request", Severity.INFO, f"{text}and --key give one")]
    if not word:
        return []
    text = f"the target did not answer HEAD / ({word}); "
    if endpoint.target.scheme == "https" and word in ("closed", "reset"):
        text += "so ends TLS 1.3 where a client certificate is missing (--cert); "
    return [Finding("no_answer", Severity.WARNING, f"{text}sending anyway")]


def _tls_advice(detail: str, cacert: Path | None) -> str:
    if "CERTIFICATE_VERIFY_FAILED" not in detail:
        return "check which TLS versions, ciphers and client certificates (--cert) its port expects"
    if _WRONG_NAME in detail:
        return "write the certificate's name in TARGET or --tls-name, or accept any certificate with --insecure"
    if not any(word in detail for word in _UNTRUSTED):
        return "replace the certificate, or accept any with --insecure"
    if cacert:
        return f"{cacert} (--cacert) does not hold its authority; name a file that does, or accept any with --insecure"
    return "trust its authority with --cacert, or accept any certificate with --insecure"


async def _remedy(endpoint: Endpoint, *, http: str, answered: bool) -> str:
    """What the port of a target speaks instead, and what to do; empty if its replies do not show it.

    ``answered``: the request that failed got a response of HTTP/1, if only a refusal.
    """
    if endpoint.target.scheme == "http":
        if await _speaks_tls(endpoint):
            return "its port speaks TLS; write https:// for http://"
        if http == "1.1" and not answered and await _speaks_http2(endpoint):
            return "its port speaks HTTP/2 only; use --http 2"
    elif await _speaks_http1(endpoint):
        return "its port speaks HTTP without TLS; write http:// for https://"
    elif await _speaks_http2(endpoint):
        return "its port speaks HTTP/2 without TLS; write http:// for https://, with --http 2"
    return ""


async def _speaks_tls(endpoint: Endpoint) -> bool:
    """Whether a handshake with a port succeeds, or is refused by an alert."""
    if endpoint.target.path:
        return False
    try:
        async with asyncio.timeout(_REPLY_S):
            transport, _ = await Dialer(endpoint, tls_context(verify=False), _REPLY_S).open(asyncio.Protocol)
    except ssl.SSLError as error:
        return "ALERT" in str(error)
    except (OSError, TimeoutError):
        return False
    transport.abort()
    return True


async def _speaks_http2(endpoint: Endpoint) -> bool:
    reply = await _reply(endpoint, greeting(), HEADER_BYTES)
    return len(reply) == HEADER_BYTES and reply[3] == SETTINGS and not any(reply[5:])


async def _speaks_http1(endpoint: Endpoint) -> bool:
    asked = f"HEAD / HTTP/1.1\r\nHost: {endpoint.target.authority}\r\nConnection: close\r\n\r\n"
    match = _STATUS.match(await _reply(endpoint, asked.encode(), len("HTTP/1.1 200")))
    return match is not None and int(match[1]) != _BAD_REQUEST


async def _reply(endpoint: Endpoint, data: bytes, count: int) -> bytes:
    """The first bytes of a reply without TLS; fewer if no more come."""
    reader = asyncio.StreamReader()
    try:
        async with asyncio.timeout(_REPLY_S):
            transport, _ = await Dialer(endpoint, None, _REPLY_S).open(lambda: asyncio.StreamReaderProtocol(reader))
            try:
                transport.write(data)
                return await reader.readexactly(count)
            except asyncio.IncompleteReadError as error:
                return error.partial
            finally:
                transport.abort()
    except (OSError, TimeoutError):
        return b""


def busy_and_total(stat: str, ticks: int) -> tuple[float, float]:
    """Seconds of all processors since the machine began: at work or taken by its host (steal), and in all.

    Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are counted as user.
    """
    user, nice, system, idle, iowait, irq, softirq, steal = (int(word) for word in stat.split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy / ticks, (busy + idle + iowait) / ticks


def share_of_others(before: tuple[float, float], after: tuple[float, float], own: float) -> float:
    """Share of all processor time that other processes used; ``own`` is this process's time, seconds."""
    busy, total = after[0] - before[0], after[1] - before[1]
    return max(0.0, busy - own) / max(total, 1e-9)


async def cpu_contention(seconds: float = 1.0) -> str:
    """Measure how much other processes use the processors, and describe it; empty if it is little or unknown.

    Nothing is sent meanwhile, so that neither the target nor its helpers count.
    """
    try:
        ticks = os.sysconf("SC_CLK_TCK")
        before, own = busy_and_total(_STAT.read_text(), ticks), time.process_time()
        await asyncio.sleep(seconds)
        share = share_of_others(before, busy_and_total(_STAT.read_text(), ticks), time.process_time() - own)
    except (OSError, ValueError):
        return ""
    if share <= _TOO_BUSY:
        return ""
    seen = f"others used {100 * share:.0f} % of this machine's processors while nothing was sent"
    return f"{seen}: they slow a target that runs here"
