"""Only what is loopback, or was named, is loaded; and the addresses that were checked are the ones that are used."""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.engine.engine import Limits, replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import (
    Endpoint,
    are_one,
    check_permission,
    is_loopback,
    parse_target,
    resolve,
    turned,
)
from support.raw_server import RawServer, raw_server

LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00.000000,0,0,0,0,/ok,200,GET\n"


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.255.255.254", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.1", False),
        ("::ffff:0.0.0.0", False),
        ("0.0.0.0", False),
        ("::", False),
        ("::127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("fe80::1%lo", False),
    ],
)
def test_which_addresses_are_this_machine(address: str, loopback: bool) -> None:
    assert is_loopback(address) == loopback


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("LOCALHOST", "127.0.0.1"),
        ("167772161", "10.0.0.1"),
        ("0x0a.1", "10.0.0.1"),
        ("012.0.0.1", "10.0.0.1"),
        ("0", "0.0.0.0"),
    ],
)
def test_another_way_to_write_an_address_is_judged_by_the_address(host: str, address: str) -> None:
    endpoint = asyncio.run(resolve(parse_target(f"http://{host}:80")))
    assert address in endpoint.addresses
    if address.startswith("127."):
        check_permission(endpoint)
    else:
        with pytest.raises(LogreplayError, match=r"is not this machine; if you may load it, add"):
            check_permission(endpoint)


def test_localhost_with_a_dot_at_its_end_is_what_the_resolver_says() -> None:
    try:
        endpoint = asyncio.run(resolve(parse_target("http://localhost.:80")))
    except LogreplayError:
        pytest.skip("this resolver does not know it")
    check_permission(endpoint)
    assert all(is_loopback(address) for address in endpoint.addresses)


@pytest.mark.parametrize(
    ("addresses", "allowed", "fine"),
    [
        (("127.0.0.1", "127.0.0.2"), (), True),
        (("127.0.0.1", "10.0.0.1"), (), False),
        (("10.0.0.1", "127.0.0.1"), (), False),
        (("::1", "2001:db8::1"), (), False),
        (("10.0.0.1", "10.0.0.2"), ("web.test",), True),
        (("10.0.0.1", "10.0.0.2"), ("WEB.test",), True),
        (("10.0.0.1", "10.0.0.2"), ("10.0.0.1",), False),
        (("10.0.0.1", "10.0.0.2"), ("10.0.0.1", "10.0.0.2"), True),
        (("10.0.0.1", "127.0.0.1"), ("10.0.0.1",), True),
        (("2001:db8::1",), ("[2001:db8::1]",), True),
        (("10.0.0.1",), ("other.test", "test", "web", "eb.test", "*"), False),
    ],
)
def test_every_address_of_a_name_needs_permission(addresses: Sequence[str], allowed: Sequence[str], fine: bool) -> None:
    endpoint = Endpoint(parse_target("http://web.test"), tuple(addresses))
    if fine:
        check_permission(endpoint, allowed)
    else:
        with pytest.raises(LogreplayError, match=r"--allow-target web\.test$"):
            check_permission(endpoint, allowed)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1@192.0.2.1/",
        "http://127.0.0.1:80@192.0.2.1",
        "http://192.0.2.1#@127.0.0.1/",
        "http://192.0.2.1?@127.0.0.1/",
        "http://127.0.0.1\\@192.0.2.1/",
        "http://[::1]192.0.2.1/",
        "http://127.0.0.1 192.0.2.1",
        "http://１２７.0.0.1/",
        "http://b\u00fccher.test/",
        "//192.0.2.1",
        "http:///",
        "unix:relative",
    ],
)
def test_a_target_that_could_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(LogreplayError, match=r"^target "):
        parse_target(text)


def test_a_unix_socket_needs_no_permission() -> None:
    check_permission(Endpoint(parse_target("unix:/run/app.sock"), ()))


class Rebinding(asyncio.SelectorEventLoop):
    """A resolver that gives loopback to who checks, and another address to who asks again."""

    asked: int = 0

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:
        if host == "rebind.test":
            self.asked += 1
            address = "127.0.0.1" if self.asked == 1 else "127.0.0.2"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]
        return await super().getaddrinfo(host, port)


@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
@pytest.mark.parametrize("keep_alive", [True, False])
def test_the_addresses_that_were_checked_are_the_ones_that_are_used(
    tmp_path: Path, sender: str, keep_alive: bool
) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    results, loop = MemoryResults(), Rebinding()

    async def trap(port: int) -> tuple[asyncio.Server, list[int]]:
        hit: list[int] = []

        async def served(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            hit.append(1)
            writer.close()

        return await asyncio.start_server(served, "127.0.0.2", port), hit

    async def main() -> tuple[RawServer, list[int]]:
        async with raw_server() as server:
            port = int(server.url.rpartition(":")[2])
            other, hit = await trap(port)
            sender_rules = SenderRules(sender=sender, keep_alive=keep_alive, workers=1)
            endpoint = await sender_rules.endpoint(f"http://rebind.test:{port}")
            make, _ = await sender_rules.ready(endpoint, tmp_path / "r.csv", rate=100, duration=1)
            await replay(Plan(Requests(tmp_path / "log.csv"), Constant(100, 0.2)), make(), results, limits=Limits())
            other.close()
            return server, hit

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        server, hit = runner.run(main())
    assert loop.asked == 1
    assert not hit
    assert results.frame["rc"].to_list() == [200] * 20
    assert all(b"\r\nHost: rebind.test:" in head for head in server.heads)


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A port that no one may come to, named as the proxy of everything."""
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        where = f"http://127.0.0.1:{trap.getsockname()[1]}"
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, where)
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv("NO_PROXY", "")
        yield trap


def nobody_came(trap: socket.socket) -> bool:
    try:
        trap.accept()
    except BlockingIOError:
        return True
    return False


@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
def test_a_proxy_of_the_environment_is_not_used(tmp_path: Path, proxied: socket.socket, sender: str) -> None:
    (tmp_path / "log.csv").write_text(LOG)
    results = MemoryResults()

    async def main() -> None:
        async with raw_server() as server:
            rules = SenderRules(sender=sender, workers=1)
            make, _ = await rules.ready(await rules.endpoint(server.url), tmp_path / "r.csv", rate=9, duration=1)
            await replay(Plan(Requests(tmp_path / "log.csv"), Constant(100, 0.1)), make(), results, limits=Limits())

    asyncio.run(main())
    assert results.frame["rc"].to_list() == [200] * 10
    assert nobody_came(proxied)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [("--workers", "2"), ("--cluster", "local:2")])
def test_nor_by_the_processes_of_a_cluster(
    tmp_path: Path, proxied: socket.socket, spread: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    from logreplay.cli.main import run as logreplay
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import spawned

    (tmp_path / "log.csv").write_text(LOG)
    with spawned(tmp_path / "log.csv", ServerCapacity()) as url:
        command = ["run", str(tmp_path / "log.csv"), url, "--tps", "50", "--for", "1s", *spread]
        assert logreplay([*command, "-o", str(tmp_path / "r.csv"), "--force"]) in (0, 3), capsys.readouterr().err
    rows = pl.read_csv(tmp_path / "r.csv")
    assert rows["rc"].to_list() == [200] * 50
    assert nobody_came(proxied)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://127.0.0.1:80", "http://127.0.0.1/", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080/", True),
        ("http://127.0.0.1:8080", "http://LOCALHOST:8080", True),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081", False),
        ("http://127.0.0.1:8080", "https://127.0.0.1:8080", False),
        ("http://127.0.0.1:8080", "http://127.0.0.2:8080", False),
        ("unix:/a", "unix:///a", True),
        ("unix:/a", "unix:/b", False),
    ],
)
def test_which_targets_are_one(one: str, other: str, same: bool) -> None:
    async def both() -> list[Endpoint]:
        return [await resolve(parse_target(text)) for text in (one, other)]

    assert are_one(*asyncio.run(both())) == same


def test_two_names_of_one_address_may_be_two_targets() -> None:
    """A server tells virtual hosts apart by their names."""
    assert not are_one(*(Endpoint(parse_target(f"http://{name}.test"), ("10.0.0.1",)) for name in "ab"))


def test_workers_begin_with_different_addresses() -> None:
    endpoint = Endpoint(parse_target("http://a"), ("192.0.2.1", "192.0.2.2"), ("127.0.0.2", "127.0.0.3", "127.0.0.4"))
    assert [turned(endpoint, worker).addresses[0][-1] for worker in range(4)] == ["1", "2", "1", "2"]
    assert [turned(endpoint, worker).sources[0][-1] for worker in range(4)] == ["2", "3", "4", "2"]
    assert turned(replace(endpoint, addresses=(), sources=()), 3).sources == ()
