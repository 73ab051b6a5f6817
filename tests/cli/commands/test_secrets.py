"""Tokens, passwords and cookies do not show in what is printed, unless asked for; data keep them."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from logreplay.cli.main import run
from logreplay.core.rows import scan
from support.background_server import beside
from support.recording_server import RecordingServer, recording

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n"
ROW = "2026-01-01,12:00:00.000000,0,0,0,5,/cart?token=hunter2&page=1,404,GET\n"
OPTIONS = ("--header", "Authorization: Bearer hunter2-hunter2", "--header", "Cookie: sid=hunter2")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(HEADER + ROW)
    return tmp_path / "log.csv"


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    headers = b"Set-Cookie: sid=hunter2\r\nLocation: /next?sig=hunter2\r\n"
    with beside(partial(recording, headers=headers, status=b"500 Oops")) as kept:
        yield kept


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


@pytest.mark.parametrize("how", ["-v", "--crash"])
@pytest.mark.parametrize("sender", ["wire", "aiohttp"])
def test_exchanges_are_shown_without_secrets(
    log: Path, server: RecordingServer, capsys: pytest.CaptureFixture[str], how: str, sender: str
) -> None:
    command = ("run", log, server.url, "--tps", 50, "--requests", 1, how, "--sender", sender, "--force")
    results = log.with_name("results.csv")
    logreplay(*command, *OPTIONS, "-o", results)
    said = "".join(capsys.readouterr())
    assert "hunter2" not in said
    for line in (
        "> GET /cart?token=***&page=1 HTTP/1.1",
        "> Authorization: ***",
        "> Cookie: ***",
        "< Set-Cookie: ***",
        "< Location: /next?sig=***",
    ):
        assert line in said
    logreplay(*command, *OPTIONS, "-o", results, "--show-secrets")
    said = "".join(capsys.readouterr())
    assert "GET /cart?token=hunter2&page=1" in said
    assert "< Set-Cookie: sid=hunter2" in said
    assert scan(results).collect()["url"].to_list() == ["/cart?token=hunter2&page=1"]
    assert server.received[-1].header("authorization") == "Bearer hunter2-hunter2"


def test_a_plan_is_shown_without_secrets(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ((), ("--json",)):
        assert logreplay("run", log, "--tps", 1, "--requests", 1, "--dry-run", *form) == 0
        said = capsys.readouterr().out
        assert "hunter2" not in said
        assert "/cart?token=***&page=1" in said
    assert logreplay("run", log, "--tps", 1, "--requests", 1, "--dry-run", "--show-secrets") == 0
    assert "token=hunter2" in capsys.readouterr().out


@pytest.mark.slow
def test_a_report_and_a_summary_hold_no_secrets(log: Path, server: RecordingServer, tmp_path: Path) -> None:
    folder, more = tmp_path / "sweep", ("--param", "api_key=hunter2", "--show-secrets")
    logreplay("sweep", "50,100", log, server.url, "--for", "1s", "-q", "-o", folder, *OPTIONS, *more)
    for name in ("report.html", "summary.json", "steps.csv", "seconds.csv", "results.hlog"):
        assert "hunter2" not in (folder / name).read_text()
    assert "token=***" in (folder / "report.html").read_text()
    assert "hunter2" in (folder / "results.csv").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("http://bob:hunter2@127.0.0.1:1",),
        ("ftp://bob:hunter2@127.0.0.1:1",),
        ("http://127.0.0.1:1/?token=hunter2",),
        ("http://127.0.0.1:1", "--header", "Authorization: hunter2\x01"),
        ("http://127.0.0.1:1", "--header", "Authorization hunter2"),
        ("http://127.0.0.1:1", "--param", "=hunter2"),
    ],
)
def test_error_texts_hold_no_secrets(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], tmp_path: Path
) -> None:
    assert logreplay("run", log, *arguments, "--tps", 1, "-o", tmp_path / "r.csv") in (1, 2)
    said = capsys.readouterr().err
    assert "Error" in said
    assert "hunter2" not in said


def test_a_line_of_a_log_in_an_error_text_holds_no_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.log").write_text("what is this /a?token=hunter2 \x1b[31m\n" * 5)
    assert logreplay("convert", tmp_path / "odd.log", "-o", tmp_path / "odd.csv") == 1
    said = capsys.readouterr().err
    assert "token=***" in said
    assert "\x1b" not in said
