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


def test_headers_come_from_a_file_so_that_no_credential_is_in_the_list_of_processes(
    log: Path, server: RecordingServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "headers.txt"
    file.write_text("Authorization: Bearer hunter2-hunter2\r\n\n  \nX-Name: café\n", encoding="utf-8")
    given = ("--header", "X-Other: 1", "--header", f"@{file}")
    logreplay("run", log, server.url, "--tps", 50, "--requests", 1, *given, "-o", tmp_path / "results.csv")
    received = server.received[-1]
    assert received.header("authorization") == "Bearer hunter2-hunter2"
    assert received.header("x-name") == "café"
    assert received.header("x-other") == "1"
    said = "".join(capsys.readouterr())
    assert "hunter2" not in said
    assert "holds a credential" not in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff", "cannot be read: it is not a text in UTF-8"),
        (b"x" * 70_000, "is longer than 64 KiB"),
        (b"no header", "is not a header; write 'Name: value'"),
    ],
)
def test_a_file_of_headers_that_cannot_be_used_is_named(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    file = tmp_path / "headers.txt"
    if content is not None:
        file.write_bytes(content)
    assert logreplay("run", log, "--tps", 1, "--dry-run", "--header", f"@{file}") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--header", "Authorization: Bearer hunter2"], "--header holds a credential"),
        (["-H", "X-Api-Key: hunter2"], "--header holds a credential"),
        (["--header=Cookie: a=hunter2"], "LOGREPLAY_RUN_HEADER, or in a file: --header @FILE"),
        (["--param", "api_key=hunter2"], "--param holds a credential"),
        (["--rewrite", "s|/a|/a?token=hunter2|"], "in the variable LOGREPLAY_RUN_REWRITE"),
    ],
)
def test_a_credential_on_the_command_line_is_warned_of_once(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str], named: str
) -> None:
    command = ("run", log, "--tps", 1, "--requests", 1, "--dry-run", *words)
    assert logreplay(*command, *(words if "--param" in words else ())) == 0
    said = capsys.readouterr().err
    assert named in said
    assert said.count("other users of this machine can read command lines (ps)") == 1
    assert "hunter2" not in said
    assert logreplay(*command, "-q") == 0
    assert "credential" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--header", "X-Test: 1"],
        ["--header", "log"],
        ["--by-client", "--client-key", "cookie:SESSION"],
        ["--by-client", "--extract", "csrf=header:X-Csrf", "--use", "csrf=header:X-Csrf"],
        ["--match", "token"],
    ],
)
def test_what_is_no_credential_is_not_warned_of(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    logreplay("run", log, "--tps", 1, "--requests", 1, "--dry-run", *words)
    assert "holds a credential" not in capsys.readouterr().err


def test_a_credential_in_a_variable_is_not_warned_of(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGREPLAY_RUN_HEADER", "Authorization: Bearer hunter2")
    assert logreplay("run", log, "--tps", 1, "--requests", 1, "--dry-run") == 0
    assert "holds a credential" not in capsys.readouterr().err


def test_a_template_of_urls_holds_no_credential(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert logreplay("urls", "/a?key={n}", "--var", "n=1..3", "-o", tmp_path / "urls.csv") == 0
    assert "holds a credential" not in capsys.readouterr().err
