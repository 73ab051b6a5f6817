"""Before the first request: what is put right, what is said, what ends the run."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvloop

from logreplay.core.errors import LogreplayError
from logreplay.replay.checks import preflight
from logreplay.replay.checks.preflight import Demand, machine
from logreplay.replay.results.verdict import Finding
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.tls import tls_context
from support.raw_server import raw_server, stall

CALM = Demand(rate=10, duration=10, timeout=1)


def findings(demand: Demand, folder: Path, ceiling: float | None = None) -> dict[str, str]:
    return {finding.code: finding.text for finding in machine(demand, folder / "r.csv", ceiling)}


def test_a_machine_that_can_do_it_says_nothing(tmp_path: Path) -> None:
    assert findings(CALM, tmp_path) == {}


def test_the_soft_limit_of_descriptors_is_raised_as_far_as_it_goes(tmp_path: Path) -> None:
    code = f"""
import resource
from pathlib import Path
from logreplay.replay.checks.preflight import Demand, machine
found = machine(Demand(rate=100, duration=1, timeout=2), Path({str(tmp_path)!r}) / "r.csv")
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], [finding.text for finding in found])
"""
    for hard, soft, said in (
        (1000, 265, "[]"),
        (150, 150, "only 150 are allowed; raise the limit (ulimit -Hn), shorten --timeout, or set --max-in-flight 86"),
    ):
        command = ["prlimit", f"--nofile=100:{hard}", sys.executable, "-c", code]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert out.startswith(f"{soft} ")
        assert said in out


def test_without_keep_alive_the_local_ports_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "range").write_text("40000\t40999\n")
    monkeypatch.setattr(preflight, "_PORTS", tmp_path / "range")
    fresh = Demand(rate=100, duration=60, timeout=1, keep_alive=False)
    assert "the 1000 local ports (EADDRNOTAVAIL)" in findings(fresh, tmp_path)["ports"]
    assert "with --local-address, or lower the rate below 16.7/s" in findings(fresh, tmp_path)["ports"]
    assert "--local-address" not in findings(replace(fresh, more_sources=False), tmp_path)["ports"]
    assert findings(replace(fresh, sources=0), tmp_path) == {}
    assert findings(Demand(rate=100, duration=60, timeout=1), tmp_path) == {}
    assert findings(Demand(rate=100, duration=5, timeout=1, keep_alive=False), tmp_path) == {}


def test_a_rate_above_what_the_machine_was_found_to_carry_is_said(tmp_path: Path) -> None:
    assert "more than the 9/s that this machine sent on time" in findings(CALM, tmp_path, ceiling=9)["ceiling"]
    assert findings(CALM, tmp_path, ceiling=10) == {}


def test_the_rate_of_a_duet_is_that_of_one_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate of both together was named as the one to lower."""
    (tmp_path / "range").write_text("40000\t40999\n")
    monkeypatch.setattr(preflight, "_PORTS", tmp_path / "range")
    monkeypatch.setattr(preflight, "allow_descriptors", lambda needed: needed - 1)
    duet = Demand(rate=100, duration=60, timeout=1, keep_alive=False, together=2)
    told = findings(duet, tmp_path, ceiling=60)
    assert all(
        "50/s to each of 2 targets (100/s in all) " in told[code] for code in ("ceiling", "descriptors", "ports")
    )
    assert "lower the rate below 8.33/s" in told["ports"]


def test_the_disk_must_have_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def free(left: int) -> None:
        usage: Any = shutil.disk_usage(tmp_path)._replace(free=left)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)

    free(10_000_000)
    hour = Demand(rate=1000, duration=3600, timeout=1, max_in_flight=10)
    assert "will take about 576 MB, and 10 MB are free" in findings(hour, tmp_path)["disk"]
    short = Demand(rate=10_000, duration=1, timeout=1, max_in_flight=10)
    free(1_500_000)
    assert "will take about 1.6 MB, and 1.5 MB are free" in findings(short, tmp_path)["disk"]
    free(300_000)
    few = r"r\.csv: only 300 kB are free in .*, and a run needs at least 1 MB; free some space, or write elsewhere"
    with pytest.raises(LogreplayError, match=few):
        machine(CALM, tmp_path / "r.csv")


def can_unshare() -> bool:
    return (
        bool(shutil.which("unshare")) and not subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode
    )


@pytest.mark.slow
@pytest.mark.skipif(not can_unshare(), reason="no network namespace can be made")
def test_ports_that_run_out_are_explained(log: Path, tmp_path: Path) -> None:
    """Twenty local ports, and a new connection for each of 400 requests."""
    output = tmp_path / "r.csv"
    run = (
        f"{sys.executable} -m logreplay.cli.main run {log} --demo-target --tps 200 --for 2 --no-keep-alive -o {output}"
    )
    few = f"ip link set lo up; echo 40000 40019 > /proc/sys/net/ipv4/ip_local_port_range; {run}"
    done = subprocess.run(["unshare", "-rn", "sh", "-c", few], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    assert "(EADDRNOTAVAIL): no local port is left: keep connections alive" in " ".join(done.stderr.split())
    assert "without keep-alive 200/s may use up the 20 local ports" in " ".join(done.stderr.split())


def test_a_target_that_says_nothing_is_not_said_to_lack_http2() -> None:
    async def probe() -> list[Finding]:
        async with raw_server(greeting=stall) as server:
            endpoint = await resolve(parse_target(server.url))
            return await preflight.answers(Http2Sender(endpoint, timeout=5.0), endpoint, timeout_s=0.2)

    (finding,) = uvloop.run(probe())
    assert finding.text == "the target did not answer HEAD / (timeout); sending anyway"


@contextmanager
def full_port() -> Iterator[int]:
    """A port whose queue is full: Linux drops the packets of further connections, as a firewall does."""
    with ExitStack() as opened:
        server = opened.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(6):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("kind", "scheme", "patience"),
    [(WireSender, "http", 0.1), (WireSender, "https", 5.0), (Http2Sender, "http", 5.0), (Http2Sender, "https", 0.1)],
)
def test_a_port_that_takes_no_connection_is_an_error_before_the_run(
    kind: Callable[..., Any], scheme: str, patience: float
) -> None:
    """With a time-out below that of the check, and above."""

    async def probe(url: str) -> None:
        endpoint = await resolve(parse_target(url))
        tls = tls_context(verify=False) if scheme == "https" else None
        await preflight.answers(kind(endpoint, timeout=patience, tls=tls), endpoint, timeout_s=0.2)

    with full_port() as port:
        url = f"{scheme}://127.0.0.1:{port}"
        with pytest.raises(LogreplayError) as error:
            uvloop.run(probe(url))
    assert str(error.value) == f"target {url}: no connection within 0.2 s: is it reachable from here?"
