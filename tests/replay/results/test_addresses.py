"""The result says how connections and requests spread over the addresses of the target, as nginx counts them."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from conftest import ServerFactory, free_port
from logreplay.cli.main import run
from logreplay.replay.senders import endpoint
from logreplay.replay.senders.endpoint import Endpoint, Target

ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
COUNT = 120


@pytest.mark.parametrize(
    "ways",
    [
        ("--requests-per-connection", "4"),
        ("--http", "2", "--workers", "2"),
        ("--http", "2", "--requests-per-connection", "5"),
        ("--by-client", "--cookies", "--digest"),
    ],
)
def test_connections_and_requests_are_counted_for_each_address(
    nginx: ServerFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ways: tuple[str, ...],
) -> None:
    port, version = free_port(), " http2" if "--http" in ways else ""
    listens = "".join(f"listen {address}:{port}{version}; " for address in ADDRESSES)
    server = nginx(
        server=f'{listens} location / {{ return 200 "hello"; }}', log_format="$request_uri|$server_addr|$connection"
    )
    pl.DataFrame({
        "date": "2026-01-01", "time": "12:00:00.000000", "latency": 0.01, "xfertime": 0, "thinktime": 0, "bytes": 5,
        "url": [f"/{number}" for number in range(COUNT)], "rc": 200, "op": "GET",
        "client": [f"192.0.2.{number % 7}" for number in range(COUNT)],
    }).write_csv(tmp_path / "log.csv")  # fmt: skip

    async def resolve(target: Target) -> Endpoint:
        return Endpoint(target, ADDRESSES)

    monkeypatch.setattr(endpoint, "resolve", resolve)
    words = ("run", tmp_path / "log.csv", f"http://localhost:{port}", "--tps", 300, "-o", tmp_path / "out.csv", *ways)
    assert run([str(word) for word in words]) in (0, 3)  # 3: a busy machine
    rows = [line.split("|") for line in server.log.read_text().splitlines()]
    seen = [(address, connection) for url, address, connection in rows if url != "/"]
    requests, connections = Counter(address for address, _ in seen), Counter(address for address, _ in {*seen})
    told = json.loads((tmp_path / "out.summary.json").read_text())["addresses"]
    assert {address: load["requests"] for address, load in told.items() if load["requests"]} == {
        f"{address}:{port}": count for address, count in requests.items()
    }
    for address, count in connections.items():  # one may have been opened in vain
        assert 0 <= told[f"{address}:{port}"]["connections"] - count <= 2 * len(ways)
    if "--workers" in ways:
        assert len(requests) >= 2, "each worker begins with another address"
    assert f"{ADDRESSES[0]}:{port}: {requests[ADDRESSES[0]]} request" in capsys.readouterr().err


def test_one_address_without_a_limit_of_requests_is_not_counted(target: str, tmp_path: Path) -> None:
    pl.DataFrame({
        "date": "2026-01-01", "time": "12:00:00.000000", "latency": 0.01, "xfertime": 0, "thinktime": 0, "bytes": 5,
        "url": ["/a"], "rc": 200, "op": "GET",
    }).write_csv(tmp_path / "log.csv")  # fmt: skip
    words = ("run", tmp_path / "log.csv", target, "--tps", 50, "--requests", 5, "-q", "-o", tmp_path / "out.csv")
    assert run([str(word) for word in words]) in (0, 3)
    assert "addresses" not in json.loads((tmp_path / "out.summary.json").read_text())
