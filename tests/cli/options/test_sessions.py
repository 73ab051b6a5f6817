"""Options of sessions, alone and beside others."""

import json
from pathlib import Path

import pytest

from logreplay.cli import main
from support.background_server import beside
from support.recording_server import recording

LOG = '127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n'
EXTRACT = ["--extract", "t=header:X", "--use", "t=header:Y"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.log").write_text(LOG)
    (tmp_path / "logins.csv").write_text("url,body\n/login,user=a\n")
    return tmp_path


@pytest.mark.parametrize("command", [["run", "--tps", "5"], ["sweep", "5"], ["find", "--p99", "1s"]])
@pytest.mark.parametrize(
    ("words", "both"),
    [
        (["--cookies"], "--cookies needs --by-client"),
        (["--login", "logins.csv"], "--login needs --by-client"),
        (EXTRACT, "--extract needs --by-client"),
        (["--client-key", "column:user"], "--client-key needs --by-client"),
        (["--cookies", "--sender", "aiohttp"], "--cookies and --sender aiohttp exclude each other"),
        (["--cookies", "--by-client", "--http", "2", "--streams", "3"], "--cookies and --streams exclude each other"),
        (["--cookies", "--by-client", "--http", "log"], "--cookies and --http log exclude each other"),
        (["--by-client", "--use", "t=header:Y"], "--use t needs --extract t=..."),
        (["--by-client", "--extract", "t=header:Y"], "--extract t needs --use t=..."),
        (["--by-client", *EXTRACT, "--header", "y: 1"], "--use t=header:Y and --header 'Y: ...' exclude each other"),
    ],
)
def test_contradictions_are_refused_in_a_sentence_that_names_both(
    command: list[str], words: list[str], both: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command
    positional = [] if rest[0].startswith("--") else rest
    options = rest if rest[0].startswith("--") else []
    given = [name, *positional, "access.log", "http://127.0.0.1:1", *options, *words, "-o", "out"]
    assert main.run(given) == 2
    assert both in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--login", "none.csv"], "--login none.csv: cannot be read"),
        (["--login", "access.log"], "the first line must name the columns client,op,url,body; it has none of these"),
        (["--login", "wrong.csv"], "the first line must name the columns client,op,url,body; it has User,path,body"),
        (["--login", "secret.csv"], "the first line must name the columns client,op,url,body; it has none of these"),
        (["--login", "json.csv"], "--login json.csv: is JSON; name it .jsonl, with one object on each line"),
    ],
)
def test_a_file_of_logins_that_cannot_be_read_is_an_error_before_anything_is_sent(
    words: list[str], why: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.csv").write_text("User,path,body\nann,/login,x=1\n")
    (folder / "secret.csv").write_text("ann,hunter2\n")
    (folder / "json.csv").write_text('{"url": "/login", "body": "user=ann"}\n')
    for dry in (["--dry-run"], ["-o", "r.csv"]):
        given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--no-loop", "--by-client", *words, *dry]
        assert main.run(given) == 1
        assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--extract", "t"], "expected NAME=header:HEADER"),
        (["--extract", "t=regex:("], "unclosed"),
        (["--use", "t=cookie:x"], "expected NAME=header:HEADER"),
        (["--client-key", "agent"], "expected address, address+agent"),
    ],
)
def test_what_is_no_rule_is_refused(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--by-client", *words]) == 2
    assert why in capsys.readouterr().err


def test_an_output_never_replaces_the_file_of_logins(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--by-client", "--login", "logins.csv"]
    assert main.run([*given, "-o", "logins.csv", "--force"]) in (1, 2)
    assert "--login" in capsys.readouterr().err
    assert "user=a" in (folder / "logins.csv").read_text()


def test_settings_leave_out_what_the_command_line_excludes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "logreplay.toml").write_text(
        "[run]\nby-client = true\ncookies = true\nextract = ['t=header:X']\nuse = ['t=header:Y']\n"
    )
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--no-loop", "--dry-run", "--json"]
    for more in ([], ["--sender", "aiohttp"], ["--http", "2", "--streams", "3"], ["--no-by-client"]):
        assert main.run([*given, *more]) == 0, more
        assert json.loads(capsys.readouterr().out)["requests"] == 1


def test_a_run_tells_once_what_its_sessions_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "access.log").write_text(LOG * 30)
    with beside(lambda: recording(service=0.01)) as server:
        given = ["run", "access.log", server.url, "--tps", "500", "--no-loop", "--by-client", "-o", "r.csv"]
        assert main.run([*given, "--cookies", "--login", "logins.csv"]) in (0, 3)
    said = capsys.readouterr().err
    assert "--cookies: no response set a cookie (30 came)" in said
    assert said.count("a slow target received less load") == 1
    assert said.splitlines()[-1] == "results: r.csv, r.summary.json, r.logins.csv"


@pytest.mark.parametrize("key", ["column:nope", "header:X-User", "cookie:uid", "header:User-Agent", "address+agent"])
def test_a_client_key_of_which_no_request_has_a_value_is_named_once(
    key: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--no-loop", "--dry-run", "--by-client"]
    assert main.run([*given, "--client-key", key]) == 0
    text = f"warning: --client-key {key}: none of 1 request has a value; clients are told apart by their addresses"
    assert capsys.readouterr().err.count(text) == 1


def test_a_client_key_with_values_is_not_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.csv").write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client,user,headers,agent\n"
        "2026-01-01,00:00:00,0.1,0.1,0,5,/,200,GET,10.0.0.1,ann,Cookie: uid=7,curl\n"
    )
    given = ["run", "log.csv", "http://127.0.0.1:1", "--tps", "5", "--no-loop", "--dry-run", "--by-client"]
    for key in ("address", "address+agent", "column:user", "header:cookie", "cookie:uid", "header:User-Agent"):
        assert main.run([*given, "--client-key", key]) == 0
        assert "--client-key" not in capsys.readouterr().err, key


@pytest.mark.parametrize("option", ["--junit", "--history"])
def test_a_report_without_a_folder_names_its_own_option(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "-o", "r.csv", option, "none/report"]
    assert main.run(given) == 1
    assert f"there is no folder none; choose another with {option}" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--login", "logins.csv"), ("--auth", "bearer:logins.csv")])
def test_an_option_given_twice_is_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--by-client"]
    assert main.run([*given, option, value, option, value]) == 2
    assert f"{option} is given twice; give it once" in capsys.readouterr().err


def test_one_login_file_may_come_from_the_settings(folder: Path) -> None:
    (folder / "logreplay.toml").write_text("[run]\nby-client = true\nlogin = 'none.csv'\n")
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--no-loop", "--dry-run"]
    assert main.run(given) == 1
    assert main.run([*given, "--login", "logins.csv"]) == 0


def test_a_dry_run_lists_the_logins_by_method_and_route(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [LOG.replace("127.0.0.1", client) for client in ("10.0.0.1", "10.0.0.2", "10.0.0.1")]
    (folder / "access.log").write_text("".join(lines))
    (folder / "logins.csv").write_text("client,url,body\n*,/form?next=1,\n10.0.0.1,/login,user=a\n,/pool,user=b\n")
    given = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--no-loop", "--dry-run", "--by-client"]
    assert main.run([*given, "--login", "logins.csv"]) == 0
    said = capsys.readouterr().out
    assert "logins: 4 requests of 2 clients" in said
    assert [line.split() for line in said.splitlines()[-3:]] == [
        ["2", "GET", "/form"],
        ["1", "POST", "/login"],
        ["1", "POST", "/pool"],
    ]
    assert main.run([*given, "--login", "logins.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["logins"][0] == {"op": "GET", "route": "/form", "requests": 2}
