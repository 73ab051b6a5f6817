"""Every option of every command is given values that no one means, and answers with an exit code and a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conftest import free_port
from logreplay.cli.main import cli, run
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.settings.empty_values import key_of
from support.background_server import beside
from support.raw_server import raw_server

LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(
    f"2026-01-01,00:00:{second:02},0.01,0,0,5,/ok,200,GET\n" for second in range(10)
)
HOSTILE = {
    "empty": "",
    "blank": " ",
    "denormal": "1e-320",
    "inf": "inf",
    "nan": "nan",
    "20 digits": "9" * 20,
    "negative": "-1",
    "huge": "1e300",
    "folder": "a_folder",
    "folder with a log's ending": "folder.csv",
    "this folder": ".",
    "not UTF-8": "\udcff",
    "a picture's name that is not UTF-8": "\udcff.png",
    "a log's name that is not UTF-8": "\udcff.csv",
    "escape": "\x1b[31m",
}
CODES = (0, 1, 2, 3, 4)
PACING = ["--tps", "500", "--for", "20ms"]
BASES = {
    "calibrate": ["--trial", "50ms", "-q"],
    "capacity": ["results.csv", "--demand", "10", "--p90", "1s"],
    "compare": ["results.csv", "again.csv"],
    "convert": ["access.log", "-o", "converted.csv", "--force"],
    "inspect": ["access.log"],
    "find": ["log.csv", "http://127.0.0.1:{free}", "--p99", "1s"],
    "duet": ["log.csv", "http://127.0.0.1:{free}", "http://127.0.0.1:{free}", "--tps", "20"],
    "plan": ["access.log", "http://127.0.0.1:{free}", "--p99", "1s"],
    "plot": ["results.csv", "-o", "plot.svg", "--force"],
    "run": ["log.csv", "http://127.0.0.1:{port}", "-o", "r.csv", "--force"],
    "seconds": ["results.csv"],
    "serve": ["none.csv"],
    "sweep": ["10,20", "log.csv", "http://127.0.0.1:{free}"],
    "urls": ["/{n}", "--var", "n=1..3", "-o", "urls.csv", "--force"],
    "analyze": ["results.csv", "--no-plots", "-o", "analysed", "--force"],
}
"""For each command the words beside which an option is given; files that commands read are there."""
ALONE = {
    "--tps": ["--for", "20ms"],
    "--speed": ["--for", "20ms"],
    "--ramp": ["--for", "20ms"],
    "--steps": [],
    "--vusers": ["--for", "20ms"],
    "--think": ["--vusers", "1", "--for", "20ms"],
    "--skip-idle": ["--speed", "1000"],
    "--for": ["--tps", "500", "--requests", "3"],
    "--requests": PACING,
}
"""The pacing of a run for options that exclude or need another one."""


REFUSED = {"serve": ("none.csv",), **dict.fromkeys(("duet", "find", "plan", "sweep"), ("connection refused",))}
"""For commands that would take too long, what ends them: with or without the option."""
NOTHING_LEFT = ("not matched", "x excluded", "before --from", "not in the sample", "x method GET")
"""Why all requests of a log are left out."""


def option_names() -> list[tuple[str, str]]:
    return [
        (name, next((text for text in option.opts if text.startswith("--")), option.opts[0]))
        for name, command in cli.commands.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag and not option.count
    ]


def combinations() -> Iterator[tuple[str, str, str]]:
    """Each kind of value with all hostile ones, on the first option that takes it; each other option with one."""
    seen, texts = set(), list(HOSTILE)
    for at, (command, name) in enumerate(option_names()):
        option = next(one for one in cli.commands[command].params if name in one.opts)
        kind = (type(option.type), option.type.name, option.multiple)
        values = texts if kind not in seen else [texts[at % len(texts)]]
        if command == "demo":  # a demo that starts takes half a minute: other commands get the other values
            values = ["empty", "this folder"]
        else:
            seen.add(kind)
        yield from ((command, name, value) for value in values)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that answers."""
    with beside(raw_server) as server:
        yield int(server.url.rpartition(":")[2])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int, results: list[bytes]) -> Path:
    """A folder with a log and a result log, and we are in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("log.csv").write_text(LOG)
    Path("access.log").write_text('127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET /ok HTTP/1.1" 200 5\n')
    for name, content in zip(("results.csv", "again.csv"), results, strict=True):
        Path(name).write_bytes(content)
    Path("a_folder").mkdir()
    Path("folder.csv").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def results(port: int, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Two result logs."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "log.csv").write_text(LOG)
    logs = [folder / "r.csv", folder / "again.csv"]
    for log in logs:
        words = ["run", folder / "log.csv", f"http://127.0.0.1:{port}", *PACING, "-o", log, "-q"]
        assert run([str(word) for word in words]) in (0, 3)
    return [log.read_bytes() for log in logs]


def words_for(command: str, option: str, value: str, port: int, free: int) -> list[str]:
    base = [word.replace("{port}", str(port)).replace("{free}", str(free)) for word in BASES.get(command, [])]
    if command == "run":
        base += ALONE.get(option, PACING)
    for place, word in enumerate(base):  # the option is given once: it replaces that of the base
        if word == option or (word == "-o" and option == "--output"):
            return [command, *base[:place], f"{option}={value}", *base[place + 2 :]]
    return [command, *base, f"{option}={value}"]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option", "kind"), [*combinations()], ids=str)
def test_a_hostile_value_is_accepted_or_refused_in_a_sentence_that_names_it(
    folder: Path, port: int, capfd: pytest.CaptureFixture[str], command: str, option: str, kind: str
) -> None:
    value, free = HOSTILE[kind], free_port()
    code = run(words_for(command, option, value, port, free))
    said = capfd.readouterr().err
    assert code in CODES, said
    assert "Traceback" not in said
    assert "a bug of logreplay" not in said
    if code in (1, 2):
        shown = "".join(sign if sign.isprintable() else "?" for sign in value)
        names = (option.lstrip("-"), shown, repr(value)[1:-1], *NOTHING_LEFT, *REFUSED.get(command, ()))
        assert any(name in said for name in names if name.strip()), said


@pytest.mark.parametrize("command", [name for name, each in cli.commands.items() if isinstance(each, Configurable)])
def test_a_nul_in_a_setting_is_refused_in_a_sentence_that_names_the_option(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for key in [option.removeprefix("--") for name, option in option_names() if name == command]:
        Path("logreplay.toml").write_text(f"[{command}]\n{key} = {json.dumps('a' + chr(0) + 'b')}\n")
        assert run([command, "x", "y"]) in (1, 2), key
        assert repr(key) in capsys.readouterr().err


def test_every_command_with_options_is_in_the_table() -> None:
    assert {name for name, _ in option_names()} - set(BASES) <= {"demo", "init", "man"}
    assert all(key_of(parameter) for command in cli.commands.values() for parameter in command.params)
