"""Connections are opened from the addresses that were named: in turn, or one for each client."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.cli.main import run
from logreplay.core.errors import TargetError, UsageError
from logreplay.replay.checks.preflight import reachable
from logreplay.replay.senders.endpoint import Endpoint, parse_target, with_sources
from logreplay.replay.senders.source_addresses import check_sources, parse_sources
from support.logging_nginx import LoggingNginx

CLIENTS = tuple(f"192.0.2.{number}" for number in range(6))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.2", ["127.0.0.2"]),
        ("127.0.0.2, 127.0.0.9-127.0.0.11,127.0.0.2", ["127.0.0.2", "127.0.0.9", "127.0.0.10", "127.0.0.11"]),
        ("127.0.1.0/30", ["127.0.1.1", "127.0.1.2"]),
        ("::1", ["::1"]),
        ("fd00::1-fd00::3", ["fd00::1", "fd00::2", "fd00::3"]),
    ],
)
def test_addresses_ranges_and_networks_are_read(text: str, found: list[str]) -> None:
    assert list(parse_sources(text)) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("eth0", "'eth0': expected addresses of this machine, such as 127.0.0.2"),
        ("", "expected addresses"),
        ("127.0.0.9-127.0.0.2", "the range ends before it begins"),
        ("127.0.0.1-::1", "the range ends before it begins"),
        ("127.0.0.1/24", "has host bits set"),
        ("127.0.0.0/8", "more than 4,096 addresses"),
        ("fd00::/64", "more than 4,096 addresses"),
    ],
)
def test_what_is_no_address_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_sources(text)


def test_an_address_that_this_machine_lacks_is_named() -> None:
    with pytest.raises(TargetError, match=r"--local-address 192\.0\.2\.1: this machine cannot send from it"):
        check_sources(("127.0.0.2", "192.0.2.1"))


def test_only_addresses_of_the_same_version_are_used_and_a_target_needs_one() -> None:
    both = Endpoint(parse_target("http://localhost:80"), ("::1", "127.0.0.1"))
    made = with_sources(both, ("127.0.0.2",))
    assert made.addresses == ("127.0.0.1",)
    assert [finding.text for finding in asyncio.run(reachable(made))[1]] == [
        f"{both.target.host} is also ::1, of another version of IP than --local-address; they are not used: name a "
        "local address of their version, too"
    ]
    with pytest.raises(TargetError, match="are of different versions of IP"):
        with_sources(Endpoint(parse_target("http://[::1]:80"), ("::1",)), ("127.0.0.2",))
    with pytest.raises(UsageError, match="a unix socket has no addresses"):
        with_sources(Endpoint(parse_target("unix:/run/a"), ()), ("127.0.0.2",))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    frame = pl.DataFrame({
        "date": "2026-01-01", "time": [f"12:00:{number:02}.000000" for number in range(36)], "latency": 0.01,
        "xfertime": 0, "thinktime": 0, "bytes": 5, "url": [f"/{number % 6}" for number in range(36)],
        "rc": 200, "op": "GET", "client": [CLIENTS[number % 6] for number in range(36)],
    })  # fmt: skip
    frame.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


@pytest.fixture
def server(nginx: ServerFactory) -> LoggingNginx:
    return LoggingNginx.of(nginx, "$remote_addr")


def replayed(server: LoggingNginx, log: Path, *options: object) -> list[list[str]]:
    """Replay the log; what nginx logged: url and address of each request."""
    target = server.url_for(options)
    words = ("run", log, target, "--tps", 200, *options, "-o", log.with_name("out.csv"), "--force")
    assert run([str(word) for word in words]) in (0, 3)  # 3: a busy machine
    return server.rows()


@pytest.mark.parametrize("ways", [(), ("--http", "2"), ("--workers", "2")])
def test_connections_use_the_addresses_in_turn(server: LoggingNginx, log: Path, ways: tuple[str, ...]) -> None:
    words = ("--no-keep-alive", "--local-address", "127.0.0.2,127.0.0.4-127.0.0.5", *ways)
    seen = Counter(address for _, address in replayed(server, log, *words))
    assert seen == {f"127.0.0.{number}": 12 for number in (2, 4, 5)}


@pytest.mark.parametrize("ways", [(), ("--http", "2"), ("--cookies",)])
def test_each_client_has_one_address(server: LoggingNginx, log: Path, ways: tuple[str, ...]) -> None:
    seen = replayed(server, log, "--by-client", "--local-address", "127.0.0.2-127.0.0.4", *ways)
    of_client = {url: {address for other, address in seen if other == url} for url, _ in seen}
    assert len(of_client) == 6
    assert all(len(addresses) == 1 for addresses in of_client.values())
    assert len(set.union(*of_client.values())) > 1


def test_both_targets_of_a_duet_see_the_address(log: Path, server: LoggingNginx) -> None:
    words = (
        "duet",
        log,
        server.url,
        server.url.replace("127.0.0.1", "localhost"),
        "--tps",
        100,
        "--local-address",
        "127.0.0.7",
        "-q",
    )
    run([str(word) for word in (*words, "-o", log.with_name("duet"))])
    assert {address for _, address in server.rows()} == {"127.0.0.7"}


def test_a_port_is_taken_for_one_destination_only() -> None:
    """With one local port left, two servers are reached from one address: the port is chosen with the destination."""
    code = """
import asyncio
from logreplay.replay.senders.endpoint import Dialer, Endpoint, parse_target
async def main():
    servers = [await asyncio.start_server(lambda *pair: None, "127.0.0.1", port) for port in (30001, 30002)]
    for port in (30001, 30002):
        dialer = Dialer(Endpoint(parse_target(f"127.0.0.1:{port}"), ("127.0.0.1",), ("127.0.0.2",)), None, 1)
        transport, _ = await dialer.open(asyncio.Protocol)
        print(transport.get_extra_info("sockname")[1], flush=True)
asyncio.run(main())
"""
    few = "ip link set lo up; echo 40000 40000 > /proc/sys/net/ipv4/ip_local_port_range"
    few += f"; exec {sys.executable} -c '{code}'"
    done = subprocess.run(["unshare", "-rn", "sh", "-c", few], capture_output=True, text=True, timeout=30)
    if "unshare" in done.stderr:
        pytest.skip("no network namespace can be made")
    assert done.stdout.split() == ["40000", "40000"], done.stderr
