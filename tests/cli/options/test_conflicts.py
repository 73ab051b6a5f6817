"""Options of different groups that contradict each other are refused in a sentence that names both."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from logreplay.cli import main
from logreplay.core.errors import UsageError
from logreplay.options.conflicts import reconciled
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules

LOG = '127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n'
HOOK = "def same(request):\n    return request\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.log").write_text(LOG)
    (tmp_path / "conflict_hooks.py").write_text(HOOK)
    return tmp_path


@pytest.mark.parametrize(
    "others",
    [
        "--workers 2",
        "--cluster local:2",
        "--request-order shuffle",
        "--random",
        "--loop",
        "--from 5",
        "--skip-idle 1s",
        "--arrivals poisson",
        "--arrivals log",
        "--arrivals even",
        "--dry-run",
        "--tps 5",
        "--vusers 5",
    ],
)
def test_follow_refuses_what_needs_the_whole_log(others: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "access.log", "http://127.0.0.1:1", "--follow", *others.split(), "-o", "r.csv"]
    assert main.run(arguments) == 2
    said = capsys.readouterr().err
    assert "--follow" in said
    assert others.split()[0] in said
    assert not (folder / "r.csv").exists()


@pytest.mark.parametrize("command", [["run", "--tps", "5"], ["sweep", "5"], ["find", "--p99", "1s"]])
@pytest.mark.parametrize("several", ["--workers 2", "--cluster local:2", "--cluster tcp://127.0.0.1:1"])
def test_a_hook_refuses_several_workers(
    command: list[str], several: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command
    positional = [value for value in rest if not value.startswith("--")] if name == "sweep" else []
    options = [] if name == "sweep" else rest
    target = ["access.log", "http://127.0.0.1:1", "--hook", "conflict_hooks:same"]
    assert main.run([name, *positional, *target, *options, *several.split(), "-o", "out"]) == 2
    said = capsys.readouterr().err
    assert "--hook" in said
    assert several.split()[0] in said
    assert not (folder / "out").exists()


def test_a_malformed_cluster_is_refused_as_such_before_the_options_that_exclude_it() -> None:
    with pytest.raises(UsageError, match="expected the address of a Dask scheduler"):
        reconciled(SenderRules(cluster="bad"), RequestRules(hook="conflict_hooks:same"))


@pytest.mark.parametrize("several", ["--workers 2", "--cluster local:2"])
@pytest.mark.parametrize(
    ("command", "ordered"), [("sweep 5 --settle 1s", "--settle --by-client"), ("find --p99 1s", "find --by-client")]
)
def test_what_tells_requests_by_their_numbers_refuses_clients_shared_by_several_workers(
    command: str, ordered: str, several: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Requests of the settling time were judged, and those that another worker had were taken as never answered."""
    words = [*command.split(), "access.log", "http://127.0.0.1:1", "--by-client", *several.split(), "-o", "out"]
    assert main.run(words) == 2
    assert f"{ordered} and {several.split()[0]} exclude each other" in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("by_client", "numbered", "workers"), [(True, "find", 1), (True, "", None), (False, "find", None)]
)
def test_one_process_sends_where_numbers_must_follow_the_plan(
    by_client: bool, numbered: str, workers: int | None
) -> None:
    sender_rules = reconciled(SenderRules(by_client=by_client), RequestRules(), numbered=numbered)
    assert sender_rules.workers == workers


@pytest.mark.parametrize("several", ["--workers 2", "--cluster local:2"])
@pytest.mark.parametrize(
    ("command", "less"),
    [
        ("run --tps 5 --max-in-flight 1 access.log http://127.0.0.1:1 -o out", "--max-in-flight 1"),
        ("run --vusers 1 access.log http://127.0.0.1:1 -o out", "--vusers 1"),
        ("sweep 5 access.log http://127.0.0.1:1 --max-in-flight 1 -o out", "--max-in-flight 1"),
        ("sweep 5 access.log http://127.0.0.1:1 --http 2 --connections 1 -o out", "--connections 1"),
        ("sweep --vusers 1,3 access.log http://127.0.0.1:1 -o out", "--vusers 1"),
        ("find --p99 1s --vusers --start 1 access.log http://127.0.0.1:1 -o out", "--start 1"),
    ],
)
def test_less_than_the_workers_must_share_is_refused_before_anything_is_read(
    command: str, less: str, several: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*command.split(), *several.split()]) == 2
    said = capsys.readouterr().err
    assert f"{less} and {several} exclude each other" in said
    assert "converted" not in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize("open_loop", ["--max-in-flight 5", "--late drop:1s"])
@pytest.mark.parametrize("command", ["run --vusers 2", "sweep --vusers 1,3", "find --p99 1s --vusers"])
def test_users_refuse_what_only_a_rate_has(
    command: str, open_loop: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*command.split(), "access.log", "http://127.0.0.1:1", "-o", "out", *open_loop.split()]
    assert main.run(words) == 2
    said = capsys.readouterr().err
    assert f"{open_loop.split()[0]} and --vusers exclude each other" in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "command",
    [
        "sweep --vusers 1,3 --arrivals poisson",
        "sweep --vusers 1,3 --arrivals even",
        "find --p99 1s --vusers --arrivals even",
        "find --p99 1s --vusers --arrivals poisson",
    ],
)
def test_users_refuse_arrivals(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*command.split(), "access.log", "http://127.0.0.1:1", "-o", "out"]) == 2
    said = capsys.readouterr().err
    assert "--arrivals" in said
    assert "--vusers" in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "command",
    [
        "run --tps 5 access.log https://127.0.0.1:1",
        "sweep 5 access.log https://127.0.0.1:1",
        "find --p99 1s access.log https://127.0.0.1:1",
        "duet --tps 5 access.log https://127.0.0.1:1 https://127.0.0.1:2",
    ],
)
def test_any_certificate_and_a_certificate_exclude_each_other(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*command.split(), "-k", "--cacert", "authority.pem", "-o", "out"]) == 2
    assert "--insecure and --cacert authority.pem exclude each other" in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("settings", "typed"), [("insecure = true", "--cacert other.pem"), ('cacert = "a.pem"', "--insecure")]
)
def test_a_typed_choice_of_certificates_leaves_out_the_one_of_the_settings(
    settings: str, typed: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "logreplay.toml").write_text(f"[run]\n{settings}\n")
    assert main.run([*["run", "--tps", "5", "access.log", "https://127.0.0.1:1", "-o", "out.csv"], *typed.split()]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("logreplay.toml: ")]
    lost, kept = settings.split()[0], typed.split()[0]
    assert said == [f"logreplay.toml: --{lost} is left out beside {kept}, which excludes it"]


def test_settings_with_both_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "logreplay.toml").write_text('[run]\ninsecure = true\ncacert = "a.pem"\n')
    assert main.run(["run", "--tps", "5", "access.log", "https://127.0.0.1:1", "-o", "out.csv"]) == 2
    assert "--insecure and --cacert a.pem exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize(("http", "able"), [("2", "--sender wire:"), ("log", "--sender wire:")])
def test_a_version_that_a_sender_does_not_speak_is_refused_with_the_senders_that_do(
    http: str, able: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--tps", "5", "access.log", "http://127.0.0.1:1", "--http", http, "--sender", "aiohttp"]
    assert main.run([*words, "-o", "out.csv"]) == 2
    assert f"--http {http} needs {able}" in capsys.readouterr().err


def test_a_delay_without_follow_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["run", "access.log", "http://127.0.0.1:1", "--tps", "5", "--delay", "3"]) == 2
    assert "--delay needs --follow" in capsys.readouterr().err


@pytest.mark.slow
def test_a_hook_with_one_worker_is_called_once_for_each_request(folder: Path) -> None:
    """From a folder with the hook's module, as a user would start it."""
    calls = "calls = open('calls', 'a', buffering=1)\ndef noted(request):\n    print(request.number, file=calls)\n"
    (folder / "noting_hooks.py").write_text(calls + "    return request\n")
    (folder / "many.log").write_text(LOG * 40)
    command = [
        sys.executable,
        "-m",
        "logreplay.cli.main",
        "run",
        "many.log",
        "--tps",
        "200",
        "--workers",
        "1",
        "--demo-target",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOGREPLAY_")}
    ended = subprocess.run(
        [*command, "--hook", "noting_hooks:noted", "-o", "r.csv"], env=environment, capture_output=True, timeout=60
    )
    assert ended.returncode in (0, 3), ended.stderr.decode()
    assert (folder / "calls").read_text().split() == [str(number) for number in range(40)]


def test_two_watched_figures_of_one_name_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tps", "1", "--dry-run", "--watch", "a/s=!echo 1", "--watch", "a_per_s=!echo 2"]
    assert main.run(["run", *words]) == 2
    assert "--watch: a_per_s is given twice; give each figure its own name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("--by-client --no-keep-alive", ("--by-client", "--no-keep-alive")),
        *((f"--dry-run {words}", ("--dry-run", words.split()[0]))
          for words in ("--live 0", "--metrics 0", "--watch 'one=!echo 1'", "--junit j.xml", "--history h.csv")),
    ],
)  # fmt: skip
def test_options_that_contradict_each_other_are_refused_by_both_names(
    words: str, names: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "access.log", "http://127.0.0.1:1", "--tps", "5", *shlex.split(words), "-o", "r.csv"]
    assert main.run(arguments) == 2
    said = " ".join(capsys.readouterr().err.split())
    either = "|".join(names)
    assert re.search(rf"({either}) and (?!\1)({either}) exclude each other", said)
    assert not (folder / "r.csv").exists()


@pytest.mark.parametrize("words", [("--strict", "--max-rejects", "5"), ("--max-rejects=5%", "--strict")])
def test_the_two_limits_of_rejected_lines_refuse_each_other(
    words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The number was left out in silence."""
    assert main.run(["convert", "access.log", *words]) == 2
    assert "--strict and --max-rejects exclude each other" in capsys.readouterr().err
    Path("logreplay.toml").write_text("strict = true\n")
    assert main.run(["convert", "access.log", "--max-rejects", "5"]) == 0
