"""A settings file of a stranger: a bare command in its folder sends, writes and reads nothing elsewhere."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import pytest

from logreplay.cli.main import cli, run
from logreplay.core.errors import LogreplayError
from logreplay.options.other_commands import OTHERS
from logreplay.options.table import MOST_USED, options_of
from logreplay.settings_files.keys import ARGUMENTS
from logreplay.settings_files.rules import check_places
from support.background_server import beside
from support.recording_server import RecordingServer, recording

LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,body\n2026-01-01,00:00:00,0,0,0,5,/ok,200,POST,all\n"
FOREIGN = "http://192.0.2.1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("a.csv").write_text(LOG)
    for name in [name for name in os.environ if name.startswith("LOGREPLAY_")]:
        monkeypatch.delenv(name)
    return folder


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with beside(partial(recording)) as kept:
        yield kept


def write(text: str) -> None:
    Path("logreplay.toml").write_text(text, encoding="utf-8")


PACE = "[run]\ntps = 10\nfor = '1s'\n[sweep]\nrates = '1,2'\n[find]\np99 = '1s'\n[duet]\ntps = 10\nfor = '1s'\n"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (f"log = 'a.csv'\ntarget = '{FOREIGN}'\nallow-target = ['192.0.2.1']", ["run"]),
        (f"log = 'a.csv'\ntarget = '{FOREIGN}'\nallow-target = ['192.0.2.1']", ["sweep"]),
        (f"log = 'a.csv'\ntarget = '{FOREIGN}'\nallow-target = ['192.0.2.1']", ["find"]),
        (f"log = 'a.csv'\nbaseline = '{FOREIGN}'\ncandidate = '{FOREIGN}'\nallow-target = ['192.0.2.1']", ["duet"]),
        (f"noise = '{FOREIGN}'\nallow-target = ['192.0.2.1']", ["duet", "a.csv", "{url}", "{url}"]),
        (f"candidate = '{FOREIGN}'\nallow-target = ['192.0.2.1']", ["duet", "a.csv", "{url}"]),
        (f"log = '{FOREIGN}/x'\nallow-target = ['192.0.2.1']", ["run"]),
        ("log = 'urls.txt'\nallow-target = ['192.0.2.1']", ["run"]),
        ("allow-target = ['192.0.2.1']", ["run", "urls.txt"]),
    ],
)
def test_a_file_permits_no_destination_that_it_or_a_log_names(
    folder: Path, capsys: pytest.CaptureFixture[str], server: RecordingServer, settings: str, words: list[str]
) -> None:
    Path("urls.txt").write_text(f"{FOREIGN}/a\n")
    write(f"{settings}\n{PACE}")
    assert run([word.replace("{url}", server.url) for word in words]) != 0
    said = capsys.readouterr().err
    assert "allow-target" in said
    assert "192.0.2.1" in said
    assert not server.received


@pytest.mark.parametrize("key", ["methods = 'POST'", "auth = 'bearer:token.txt'", "auth = 'aws:s3:eu-west-1'"])
@pytest.mark.parametrize("how", ["target", "duet", "list"])
def test_methods_and_credentials_of_a_file_need_a_destination_of_the_user(
    folder: Path, capsys: pytest.CaptureFixture[str], server: RecordingServer, key: str, how: str
) -> None:
    Path("token.txt").write_text("secret\n")
    Path("urls.txt").write_text(f"{server.url}/a\n")
    names = {
        "target": f"log = 'a.csv'\ntarget = '{server.url}'",
        "duet": f"log = 'a.csv'\nbaseline = '{server.url}'\ncandidate = '{server.url}'",
        "list": "log = 'urls.txt'",
    }
    write(f"{names[how]}\n{key}\n{PACE}")
    assert run(["duet" if how == "duet" else "run"]) == 1
    assert f"sets {key.split()[0]}, and no target comes from you" in capsys.readouterr().err
    assert not server.received


def test_methods_of_a_file_count_for_a_target_that_is_typed(folder: Path, server: RecordingServer) -> None:
    write(f"methods = 'POST'\nbody = 'log'\n{PACE}")
    run(["run", "a.csv", server.url, "-n", "1"])
    assert any(request.line == "POST /ok HTTP/1.1" for request in server.received)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("target = 'unix:/run/docker.sock'", "target unix:/run/docker.sock: a file cannot name the socket"),
        ("watch = ['a=http://192.0.2.1/x']", "a file cannot have other machines asked"),
        ("watch = ['a=http://127.0.0.1@192.0.2.1/x']", "a file cannot have other machines asked"),
        ("watch = ['a=http://localhost.evil.example/x']", "a file cannot have other machines asked"),
        ("watch = ['nginx:http://192.0.2.1/=http://127.0.0.1/']", "a file cannot have other machines asked"),
        ("watch = ['a=node:http://192.0.2.1/']", "a file cannot have other machines asked"),
        ("watch = ['postgres:host=127.0.0.1']", "a file cannot have other machines asked"),
        ("live = '0.0.0.0:8089'", "a file cannot open a port to other machines"),
        ("metrics = '[::]:9100'", "a file cannot open a port to other machines"),
        ("log = 's3://bucket/a.csv'", "a file cannot have a store read"),
        ("[run]\noutput = '../out.csv'", "outside of its folder"),
        ("[run]\noutput = 'link/out.csv'", "outside of its folder"),
        ("[run]\noutput = '/tmp/.profile.csv'", "outside of its folder"),
        ("history = 'linked.csv'", "outside of its folder"),
        ("junit = '/tmp/x.xml'", "outside of its folder"),
        ("header = ['@../secret.txt']", "outside of its folder"),
        ("auth = 'bearer:../secret.txt'", "outside of its folder"),
        ("auth = 'basic:/etc/hostname'", "outside of its folder"),
        ("body = '../secret.txt:url'", "outside of its folder"),
        ("inject = ['../secret.txt:5%']", "outside of its folder"),
        ("[run]\nlogin = '../secret.txt'\nby-client = true\ncookies = true", "outside of its folder"),
    ],
)
def test_a_file_names_no_place_outside_of_its_folder_and_this_machine(
    folder: Path, capsys: pytest.CaptureFixture[str], server: RecordingServer, settings: str, said: str
) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("X-A: 1\n")
    Path("link").symlink_to(folder.parent)
    Path("linked.csv").symlink_to(folder.parent / "nowhere.csv")
    write(f"{settings}\n")
    words = ["run"] if settings.startswith(("target", "log =")) else ["run", "a.csv", server.url]
    assert run([*words, "--tps", "5", "-n", "1"]) == 1
    assert said in capsys.readouterr().err
    assert not server.received
    assert sorted(path.name for path in folder.parent.iterdir()) == ["folder", "secret.txt"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("var = ['x=@../secret.txt']", ["urls", "/{x}"]),
        ("[urls]\nvar = ['y=1,2', 'x=@link/secret.txt']", ["urls", "/{x}{y}"]),
        ("format = '../secret.txt#x'", ["convert", "b.log"]),
        ("[convert]\nformat = 'linked.conf#x'", ["convert", "b.log"]),
        ("format = '../secret.txt'", ["convert", "b.log"]),
    ],
)
def test_values_and_formats_of_a_file_lie_in_its_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: str, words: list[str]
) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("log_format hunter2 '$request';\n")
    Path("link").symlink_to(folder.parent)
    Path("linked.conf").symlink_to(secret)
    Path("b.log").write_text("")
    write(f"{settings}\n")
    assert run(words) == 1
    said = capsys.readouterr().err
    assert "a file cannot name a path outside of its folder" in said
    assert "hunter2" not in said
    assert not Path("urls.csv").exists()


@pytest.mark.parametrize("place", ["../victim", "link/victim"])
def test_analyze_writes_and_removes_nothing_in_a_folder_that_a_file_names_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    victim = folder.parent / "victim"
    victim.mkdir()
    Path("link").symlink_to(folder.parent)
    (victim / "results.csv").write_text(LOG)
    (victim / "report.html").write_text("mine")
    write(f"[analyze]\nresults = '{place}'\nplots = false\n")
    assert run(["analyze"]) == 1
    assert f"results {place}: a file cannot name a path outside of its folder" in capsys.readouterr().err
    assert sorted(path.name for path in victim.iterdir()) == ["report.html", "results.csv"]


@pytest.mark.parametrize("command", ["capacity", "plot", "seconds"])
def test_commands_that_only_read_results_read_them_elsewhere(command: str) -> None:
    check_places("logreplay.toml", command, {"results": ["../december"]})


def test_the_folder_itself_is_a_place_for_results(folder: Path) -> None:
    Path("a.csv").rename("results.csv")
    write("[analyze]\nresults = '.'\nplots = false\n")
    assert run(["analyze", "-q"]) == 0
    assert Path("summary.json").exists()


@pytest.mark.parametrize("command", ["convert", "inspect", "plan"])
def test_a_file_has_no_web_server_asked_for_a_log(
    folder: Path, capsys: pytest.CaptureFixture[str], server: RecordingServer, command: str
) -> None:
    write(f"[{command}]\nlogs = ['{server.url}/access.log']\n")
    assert run([command]) == 1
    assert "a file cannot name a log on a web server; give it on the command line" in capsys.readouterr().err
    assert not server.received


def test_a_file_hides_nothing_that_it_sets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("quiet = true\n[convert]\nlogs = ['a.csv']\nmatch = ['ok']\n")
    assert run(["convert", "-o", "b.csv"]) == 0
    assert capsys.readouterr().err.startswith("logreplay.toml: logs a.csv, match ok, quiet\n")
    assert run(["convert", "-q", "-o", "c.csv"]) == 0
    assert not capsys.readouterr().err


def test_each_parameter_that_names_a_file_is_checked(folder: Path) -> None:
    tables = {
        option.names[-1].removeprefix("--")
        for command in (*MOST_USED, *OTHERS)
        for option in options_of(command)
        if "File" in option.kind.annotation
    }
    arguments = {
        parameter.name or ""
        for command in ARGUMENTS
        for parameter in cli.commands[command].params
        if isinstance(parameter, click.Argument)
    }
    for key in tables | arguments - {"rates", "templates", "target"}:
        with pytest.raises(LogreplayError, match=r"outside of its folder|store read"):
            check_places("logreplay.toml", "any", {key: "s3:///../../../outside"})


def test_values_and_formats_in_the_folder_and_written_out_count(folder: Path) -> None:
    Path("x.txt").write_text("5\n7\n")
    write("[urls]\nvar = ['x=@x.txt', 'y=/../a,/../b']\n")
    assert run(["urls", "-q", "/{x}{y}"]) == 0
    assert "/7/../b" in Path("urls.csv").read_text()
    Path("b.log").write_text('/../x "GET /page HTTP/1.1" 200\n')
    for text in ('$uri/../x "$request" $status', '%U "%r" %>s'):
        write(f"[convert]\nformat = '{text}'\n")
        assert run(["convert", "-q", "b.log", "--format", text, "--force"]) == run(
            ["convert", "-q", "b.log", "--force"]
        )


def test_places_in_the_folder_and_on_loopback_count(folder: Path, server: RecordingServer) -> None:
    write(
        f"log = 'a.csv'\ntarget = '{server.url}'\nlive = true\nmetrics = '127.0.0.1:0'\nwatch = ['a={server.url}/w']\n"
        "header = ['@headers.txt', 'X-B: 2']\n[run]\ntps = 5\nrequests = 1\noutput = 'out.csv'\n"
    )
    Path("headers.txt").write_text("X-A: 1\n")
    Path("a.csv").write_text(LOG.replace("POST", "GET"))
    assert run(["run", "-q"]) in (0, 3)
    assert Path("out.csv").exists()
    (sent,) = [request for request in server.received if request.target == "/ok"]
    assert (sent.header("x-a"), sent.header("x-b")) == ("1", "2")
