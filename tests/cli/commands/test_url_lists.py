"""Lists of urls as siege takes them, one url, and pipes, by what a real server receives."""

import gzip
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from logreplay.cli.main import run
from logreplay.core.rows import scan
from support.background_server import beside
from support.command_line import MEASURED, typed
from support.recording_server import Received, RecordingServer, recording

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n"
ROWS = "2026-01-01,00:00:00,0,0,0,5,/a,200,GET\n2026-01-01,00:00:01,0,0,0,5,/b,200,GET\n"


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with beside(recording) as server:
        yield server


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def received(server: RecordingServer, *arguments: object, in_flight: int = 1) -> list[Received]:
    """What came for these arguments of ``run``, in order, without the preflight."""
    when = ("--tps", 200, "--max-in-flight", in_flight, "-o", "results.csv", "--force", "-q")
    assert logreplay("run", *arguments, *when) in (0, 3)  # 3: a busy machine
    seen = [one for one in server.received if one.target != "/"]
    server.received.clear()
    return sorted(seen, key=lambda one: one.at)


def lines(seen: Sequence[Received]) -> list[tuple[str, str | None, bytes]]:
    return [(one.line.removesuffix(" HTTP/1.1"), one.header("content-type"), one.body) for one in seen]


SIEGE = """# a list for siege
SITE=http://www.example
PAGE = shop
$(SITE)/$(PAGE)?price=$5
${SITE}/cart POST item=4711&count=1
www.example:8080/bare PUT x
$(SITE)/api POST <cart.json
$(SITE)/blob POST <blob
$(SITE)/empty POST
"""


@pytest.mark.parametrize("more", [(), ("--sender", "aiohttp"), ("--body", "log")])
def test_a_list_of_siege_is_sent_as_siege_sends_it(
    server: RecordingServer, folder: Path, more: tuple[object, ...]
) -> None:
    (folder / "urls.txt").write_text(SIEGE)
    (folder / "cart.json").write_text('{"item": "4711,\n"}')
    (folder / "blob").write_bytes(bytes(range(256)))
    seen = received(server, "urls.txt", server.url, "--methods", "GET,POST,PUT", "--host", "log", *more)
    form = "application/x-www-form-urlencoded"
    assert lines(seen) == [
        ("GET /shop?price=$5", None, b""),
        ("POST /cart", form, b"item=4711&count=1"),
        ("PUT /bare", form, b"x"),
        ("POST /api", "application/json", b'{"item": "4711,\n"}'),
        ("POST /blob", form, bytes(range(256))),
        ("POST /empty", None, b""),
    ]
    assert {one.header("host") for one in seen} == {"www.example", "www.example:8080"}


@pytest.mark.slow
def test_several_workers_send_the_bodies_too(server: RecordingServer, folder: Path) -> None:
    (folder / "urls.txt").write_text("/a POST x=1\n/b POST y=2\n")
    workers = ("--workers", 2, "--requests", 4)
    seen = received(server, "urls.txt", server.url, "--methods", "POST", *workers, in_flight=2)
    assert sorted({(one.target, one.body) for one in seen}) == [("/a", b"x=1"), ("/b", b"y=2")]


def test_injected_lists_have_their_bodies(server: RecordingServer, folder: Path) -> None:
    (folder / "log.csv").write_text(HEADER + ROWS)
    (folder / "more.txt").write_text("/cart POST item=4711\n")
    seen = received(server, "log.csv", server.url, "--inject", "more.txt:50%", "--methods", "GET,POST")
    assert [one.body for one in seen if one.target == "/cart"] == [b"item=4711"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("/a GET data\n", "urls.txt: line 1: GET sends no body, but 'data' follows; write URL POST data"),
        ("# x\n$(HOST)/a\n", "urls.txt: line 2: $(HOST) is not set; write HOST=value in a line above"),
        ("/a POST <gone\n", "urls.txt: line 1: POST <gone: No such file or directory"),
        ("/a\nnonsense\n", "urls.txt: line 2: 'nonsense' is not a url; write /path or http://host/path"),
        (
            "/a POST x\n/b PUT y\n",
            "urls.txt: nothing to replay: all requests are left out: 1 x method POST, 1 x method PUT; "
            "send them with --methods GET,HEAD,POST,PUT; these may change data on the target",
        ),
    ],
)
def test_what_is_wrong_with_a_list_is_said_with_its_line(
    text: str, error: str, folder: Path, server: RecordingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "urls.txt").write_text(text)
    assert logreplay("run", "urls.txt", server.url, "--tps", 10) == 1
    assert f"Error: {error}" in capsys.readouterr().err


def test_variables_of_the_environment_are_not_sent(
    server: RecordingServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    (folder / "urls.txt").write_text("/a?x=$SECRET\n")
    assert [one.target for one in received(server, "urls.txt", server.url)] == ["/a?x=$SECRET"]


@pytest.mark.parametrize("command", [("run", "--tps", 1), ("sweep", "5"), ("find", "--p99", "1s")])
def test_a_list_with_hosts_asks_for_the_target_by_name(
    command: tuple[object, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "urls.txt").write_text("http://127.0.0.1:8089/a\nhttp://127.0.0.1:8089/b\n/c\n")
    assert logreplay(*command, "urls.txt") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "urls.txt names http://127.0.0.1:8089, and no TARGET is given" in said
    assert "name it: urls.txt http://127.0.0.1:8089" in said


def test_a_list_of_paths_is_answered_by_the_built_in_target(folder: Path) -> None:
    (folder / "urls.txt").write_text("/a\n/b POST x=1\n")
    code = logreplay(
        "run", "urls.txt", "--demo-target", "--tps", 20, "--methods", "GET,POST", "-o", "results.csv", "-q"
    )
    assert code in (0, 3)
    assert scan("results.csv").collect()["rc"].to_list() == [200, 200]


def test_one_url_is_replayed_at_its_own_host(server: RecordingServer, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"{server.url}/shop?a=1#part"
    assert [one.target for one in received(server, url, "--requests", 3)] == ["/shop?a=1"] * 3
    assert logreplay("run", url, "http://127.0.0.1:1", "--tps", 1) == 2
    assert f"names its own target, {server.url}: leave out http://127.0.0.1:1" in capsys.readouterr().err
    assert logreplay("run", "http://192.0.2.1/", "--tps", 1) == 1
    assert "--allow-target 192.0.2.1" in capsys.readouterr().err


def test_one_url_wins_over_a_target_of_the_settings(server: RecordingServer, folder: Path) -> None:
    (folder / "logreplay.toml").write_text('target = "http://127.0.0.1:1"\n')
    assert len(received(server, f"{server.url}/shop", "--requests", 2)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "targets"),
    [
        (b"/x\n/y\n", ["/x", "/y"]),
        ((HEADER + ROWS).encode(), ["/a", "/b"]),
        (gzip.compress((HEADER + ROWS).encode()), ["/a", "/b"]),
        (b'10.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /c HTTP/1.1" 200 5\n', ["/c"]),
        (b"GET /raw HTTP/1.1\nX-A: b\n\n", ["/raw"]),
    ],
)
def test_a_log_may_come_out_of_a_pipe(
    content: bytes, targets: list[str], server: RecordingServer, folder: Path
) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    assert [one.target for one in received(server, "pipe", server.url, "--requests", len(targets))] == targets
    writer.join()
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    command = ("run", "-", server.url, "--tps", "50", "--requests", str(len(targets)), "-o", "r.csv", "--force")
    assert typed(folder, *command, stdin=pipe).returncode in MEASURED
    writer.join()
    assert sorted(one.target for one in server.received if one.target != "/") == targets


def test_a_parquet_may_come_out_of_a_pipe(server: RecordingServer, folder: Path) -> None:
    (folder / "log.csv").write_text(HEADER + ROWS)
    scan(folder / "log.csv").collect().write_parquet(folder / "log.parquet")
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(
        target=lambda: (folder / "pipe").write_bytes((folder / "log.parquet").read_bytes()), daemon=True
    )
    writer.start()
    assert [one.target for one in received(server, "pipe", server.url, "--requests", 2)] == ["/a", "/b"]
    writer.join()


def test_an_empty_pipe_is_named(server: RecordingServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert logreplay("run", "/dev/null", server.url, "--tps", 1) == 1
    assert "Error: /dev/null: is empty" in capsys.readouterr().err


def test_requests_on_standard_output_are_said_to_be_there(folder: Path) -> None:
    assert typed(folder, "urls", "/a", "-o", "-").stderr == "1 request: standard output\n"
