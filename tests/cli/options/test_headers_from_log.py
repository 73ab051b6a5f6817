"""Headers with the values of the log, as a real server logs them."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.cli.main import run
from support.logging_nginx import LoggingNginx

CLIENTS = ("192.0.2.1", "2001:db8::7", "198.51.100.3", None)
SEEN = ("$http_x_forwarded_for", "$http_forwarded", "$http_x_kind", "$server_protocol")


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A request for each client in turn; its url names the client's number."""
    count = 20
    clients = [CLIENTS[number % 4] for number in range(count)]
    frame = pl.DataFrame({
        "date": "2026-01-01", "time": [f"12:00:{number:02}.000000" for number in range(count)], "latency": 0.01,
        "xfertime": 0, "thinktime": 0, "bytes": 5, "url": [f"/{number % 4}?n={number}" for number in range(count)],
        "rc": 200, "op": "GET", "client": clients, "kind": [f"kind {number}" for number in range(count)],
    })  # fmt: skip
    frame.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


@pytest.fixture
def server(nginx: ServerFactory) -> LoggingNginx:
    return LoggingNginx.of(nginx, *SEEN)


@pytest.mark.parametrize(
    "ways",
    [(), ("--http", "2"), ("--by-client",), ("--http", "2", "--by-client", "--workers", "2")],
)
def test_the_target_sees_the_client_of_each_request(
    server: LoggingNginx, log: Path, ways: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    headers = ("--header", "X-Forwarded-For: log", "--header", "Forwarded: log", "--header", "X-Kind: log:kind")
    code = logreplay("run", log, server.url_for(ways), "--tps", 200, *headers, *ways, "-o", log.with_name("out.csv"))
    assert code in (0, 3)  # 3: a busy machine
    rows = server.rows()
    assert len(rows) == 20
    for url, forwarded_for, forwarded, kind, protocol in rows:
        client = CLIENTS[int(url[1])]
        assert forwarded_for == (client or "-")
        assert forwarded.replace("\\x22", '"') == ("-" if client is None else f'for="[{client}]"' if ":" in client else
                                                   f"for={client}")  # fmt: skip
        assert kind == f"kind {url.rpartition('=')[2]}"
        assert protocol == ("HTTP/2.0" if "--http" in ways else "HTTP/1.1")
    err = capsys.readouterr().err
    assert "X-Forwarded-For: not in 5 requests of those read from the log, which have no value in column client" in err
    assert "header Forwarded: not in 5 requests of those" in err
    assert "X-Kind: not in" not in err


def test_both_targets_of_a_duet_see_the_client(server: LoggingNginx, log: Path) -> None:
    words = ("--tps", 100, "--header", "X-Forwarded-For: log", "-o", log.with_name("out"), "-q")
    logreplay("duet", log, server.url, server.url.replace("127.0.0.1", "localhost"), *words)
    assert Counter(row[1] for row in server.rows()) == {str(client or "-"): 10 for client in CLIENTS}


def test_the_client_of_a_followed_log_is_sent(server: LoggingNginx, tmp_path: Path) -> None:
    followed, ended = tmp_path / "access.log", Event()
    followed.touch()

    def grow() -> None:
        while not ended.wait(0.02):
            stamp = datetime.now(UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
            with followed.open("a") as file:
                file.write(f'192.0.2.9 - - [{stamp}] "GET /followed HTTP/1.1" 200 5\n')

    writer = Thread(target=grow)
    writer.start()
    words = ("--follow", "--delay", "500ms", "--for", "1s", "--header", "X-Forwarded-For: log")
    try:
        code = logreplay("run", followed, server.url, *words, "-o", tmp_path / "followed.csv")
    finally:
        ended.set()
        writer.join()
    assert code in (0, 3)  # 3: a busy machine
    assert {(row[0], row[1]) for row in server.rows()} == {("/followed", "192.0.2.9")}


def test_a_column_that_the_plan_makes_is_sent_and_not_said_to_be_missing(
    server: LoggingNginx, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--tps", 200, "--header", "X-Forwarded-For: log:expected_rc")
    logreplay("run", log, server.url, *words, "-o", log.with_name("out.csv"))
    assert "expected_rc" not in capsys.readouterr().err
    assert {row[1] for row in server.rows()} == {"200"}


def test_a_log_without_the_column_is_told_before_the_run(
    server: LoggingNginx, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = ("--header", "X-Forwarded-For: log:clinet", "--header", "X-Kind: log")
    logreplay("run", log, server.url, "--tps", 200, *headers, "-o", log.with_name("out.csv"))
    err = capsys.readouterr().err
    assert "none of 20 requests has a value in column clinet; it is not sent" in err
    assert "warning: --header 'X-Kind: log': none of 20 requests has a value in column headers" in err
    assert "name another column: 'X-Kind: log:COLUMN'" in err
