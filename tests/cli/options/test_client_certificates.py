"""Client certificates, names of certificates and other places, as a real nginx sees them."""

import asyncio
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import ServerFactory, WebServer, free_port
from logreplay.cli.main import run
from support.certificates import Authority

Shown = Callable[..., list[list[str]]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.context("shop", host="shop.test")
    made.client("client")
    made.client("second", "word")
    return made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    frame = pl.DataFrame({
        "date": "2026-01-01", "time": [f"12:00:{number:02}.000000" for number in range(20)], "latency": 0.01,
        "xfertime": 0, "thinktime": 0, "bytes": 5, "url": [f"/{number}" for number in range(20)], "rc": 200,
        "op": "GET", "client": [f"192.0.2.{number % 3}" for number in range(20)],
    })  # fmt: skip
    frame.write_csv(tmp_path / "log.csv")
    return tmp_path / "log.csv"


@pytest.fixture
def server(nginx: ServerFactory, authority: Authority) -> WebServer:
    """nginx that wants a client certificate, with one for localhost on a port and one for shop.test on ``files``."""
    port, shop, folder = free_port(), free_port(), authority.cert.parent
    verify = f"ssl_verify_client on; ssl_client_certificate {authority.cert};"
    one, other = (
        f"listen 127.0.0.1:{at} ssl http2; ssl_certificate {folder}/{name}.pem; "
        f"ssl_certificate_key {folder}/{name}.key; "
        f'{verify} location / {{ return 200 "hello"; }}'
        for at, name in ((port, "good"), (shop, "shop"))
    )
    made = nginx(
        server=f"{one} }} server {{ {other}",
        log_format="$request_uri $status $ssl_client_s_dn $ssl_server_name $http_host $server_protocol",
    )
    return WebServer(f"https://localhost:{port}", made.log, Path(str(shop)), made.pid)


def replayed(command: str, log: Path, *words: object) -> int:
    given = [
        command,
        log,
        *words,
        "--tps",
        200,
        "-o",
        log.with_name("out.csv" if command == "run" else "out"),
        "--force",
    ]
    return int(run([str(word) for word in given]))


def seen(server: WebServer) -> list[list[str]]:
    """What nginx logged of each request: url, status, client, SNI, Host, version."""
    rows = [line.split() for line in server.log.read_text().splitlines()]
    return [row for row in rows if row[0] != "/"]


def identity(authority: Authority, name: str = "client") -> tuple[object, ...]:
    folder = authority.cert.parent
    return "--cacert", authority.cert, "--cert", folder / f"{name}.pem", "--key", folder / f"{name}.key"


@pytest.mark.parametrize("ways", [("--by-client",), ("--sender", "aiohttp")])
def test_the_target_is_shown_the_client_certificate(
    server: WebServer, log: Path, authority: Authority, ways: tuple[str, ...]
) -> None:
    assert replayed("run", log, server.url, *identity(authority), *ways) in (0, 3)  # 3: a busy machine
    rows = seen(server)
    assert len(rows) == 20
    assert {(row[1], row[2], row[5]) for row in rows} == {("200", "CN=client", "HTTP/1.1")}


@pytest.mark.parametrize("opened", ["--key-password", "--candidate-key-password"])
def test_each_target_of_a_duet_can_have_its_own(
    server: WebServer, log: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, opened: str
) -> None:
    folder = authority.cert.parent
    monkeypatch.setenv("SECOND_WORD", "word")
    candidate = ("--candidate-cert", folder / "second.pem", "--candidate-key", folder / "second.key")
    shop = f"https://shop.test:{server.files}"
    moved = ("--connect-to", f"shop.test:{server.files}:127.0.0.1:{server.files}", opened, "env:SECOND_WORD")
    assert replayed("duet", log, server.url, shop, *identity(authority), *candidate, *moved, "-q") in (0, 3)
    by_name = {(row[3], row[2]) for row in seen(server)}
    assert by_name == {("localhost", "CN=client"), ("shop.test", "CN=second")}


@pytest.mark.parametrize("ways", [(), ("--http", "2"), ("--workers", "2")])
def test_a_target_that_is_connected_elsewhere_keeps_its_name_and_is_shown_the_client_certificate(
    server: WebServer, log: Path, authority: Authority, ways: tuple[str, ...]
) -> None:
    moved = ("--connect-to", f"shop.test:443:127.0.0.1:{server.files}")
    assert replayed("run", log, "https://shop.test", *moved, *identity(authority), *ways) in (0, 3)
    rows, version = seen(server), "HTTP/2.0" if "--http" in ways else "HTTP/1.1"
    assert len(rows) == 20
    assert {tuple(row[1:]) for row in rows} == {("200", "CN=client", "shop.test", "shop.test", version)}


def test_the_name_of_the_certificate_can_be_another_than_the_target_s(
    server: WebServer, log: Path, authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"https://127.0.0.1:{server.files}"
    assert replayed("run", log, target, *identity(authority)) == 1
    assert "write the certificate's name in TARGET or --tls-name" in capsys.readouterr().err
    assert replayed("run", log, target, *identity(authority), "--tls-name", "shop.test") in (0, 3)
    assert {(row[3], row[4]) for row in seen(server)} == {("shop.test", f"127.0.0.1:{server.files}")}


def test_a_missing_client_certificate_is_suspected(
    server: WebServer, log: Path, authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed("run", log, server.url, "--cacert", authority.cert) == 3
    assert "with 400, as nginx does without a client certificate that it trusts: --cert" in capsys.readouterr().err


def test_a_server_that_ends_the_handshake_without_a_certificate_is_understood(
    log: Path, authority: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    context = authority.context("strict")
    context.verify_mode, context.minimum_version = ssl.CERT_REQUIRED, ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(authority.cert)
    port, ready, ended = free_port(), threading.Event(), threading.Event()

    async def serve() -> None:
        async with await asyncio.start_server(lambda *_: None, "127.0.0.1", port, ssl=context):
            ready.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        assert replayed("run", log, f"https://localhost:{port}", "--cacert", authority.cert) == 3
    finally:
        ended.set()
        thread.join()
    assert "so ends TLS 1.3 where a client certificate is missing (--cert)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--key", "k.pem"), "--key needs --cert"),
        (("--key-password", "env:A"), "--key-password needs --cert"),
        (("--key-password", "hunter2", "--cert", "c.pem"), "expected file:FILE or env:NAME"),
        (("--connect-to", "a:1:b:2", "--sender", "aiohttp"), "--connect-to and --sender aiohttp exclude each other"),
        (("--tls-name", "a", "--sender", "aiohttp"), "--tls-name and --sender aiohttp exclude each other"),
        (("--connect-to", "a:1:127.0.0.1:2"), "begins with the host and port of no target; expected 127.0.0.1:1"),
        (("--connect-to", "nonsense"), "expected HOST:PORT:ADDR:PORT"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    log: Path, words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed("run", log, "http://127.0.0.1:1", *words) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert text in told
    assert "hunter2" not in told


def test_a_settings_file_sends_nowhere_else(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = '"127.0.0.1:80:192.0.2.1:80"'
    (tmp_path / "logreplay.toml").write_text(f'[run]\nconnect-to = [{line}]\nallow-target = ["192.0.2.1"]\n')
    assert replayed("run", log, "http://127.0.0.1") == 1
    assert "'connect-to' cannot be set in a file: it sends elsewhere" in " ".join(capsys.readouterr().err.split())
