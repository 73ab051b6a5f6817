"""What is read is never written, and an earlier result stays until the new one is whole."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from logreplay.cli.display.progress import Terminal
from logreplay.cli.main import run as logreplay
from logreplay.core.errors import Interrupted
from logreplay.core.files import TakenError, check_absent
from logreplay.result_folder import place_for
from logreplay.runs.evaluation import evaluating
from support.background_server import beside
from support.command_line import COMMAND, started
from support.raw_server import raw_server

RESULTS = (
    "date,time,latency,xfertime,thinktime,bytes,url,rc,op,seq,row,step,offered,scheduled,lag,connect\n"
    "2026-01-01,00:00:00.000000,0.1,0,0,5,/,200,GET,0,0,0,1,0,0,0\n"
)


@pytest.mark.parametrize(
    "command",
    [
        ("seconds", "r.csv", "-o", "./r.csv"),
        ("seconds", "r.csv", "-o", "link.csv", "--force"),
        ("plot", "r.png", "-o", "./r.png", "--force"),
        ("compare", "r.csv", "r.png", "-o", "r.png", "--force"),
        ("urls", "/{x}", "--var", "x=@r.csv", "-o", "link.csv", "--force"),
    ],
)
def test_no_command_writes_over_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("r.csv", "r.png"):
        Path(name).write_text(RESULTS)
    Path("link.csv").symlink_to("r.csv")
    assert logreplay(list(command)) == 2
    assert "-o would overwrite" in capsys.readouterr().err
    assert Path("r.csv").read_text() == Path("r.png").read_text() == RESULTS
    assert Path("link.csv").is_symlink()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("run access.csv {0} --tps 100 -n 20 -o r.csv", 0),
        ("sweep 100,200 access.csv {0} --for 200ms --no-plots -o out", 0),
        ("find access.csv {0} --p99 10s --start 50 --stop p50>1us/1s --no-plots -o out", 4),
        ("duet access.csv {0} {1} --tps 100 -n 20 -o out", 0),
    ],
)
def test_the_summaries_of_all_commands_that_send_have_the_common_keys(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, code: int
) -> None:
    """That of a search that was stopped had neither ``schema`` nor ``options``, that of a duet no ``schema``."""
    monkeypatch.chdir(log.parent)
    with beside(raw_server) as one, beside(raw_server) as other:
        ended = logreplay([*command.format(one.url, other.url).split(), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert ended in (code, 3)
    assert {"schema", "verdict", "findings", "log", "options"} <= told.keys()
    assert (told["schema"], told["log"]) == ("logreplay/1", "access.csv")
    assert "answer" in told or "answers" in told
    path = Path("r.summary.json" if command.startswith("run") else "out/summary.json")
    assert (json.loads(path.read_text()) if path.exists() else None) == (None if code else told)


def test_places_that_commands_choose_in_one_second_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def take(path: Path) -> Path:
        check_absent(path)
        path.touch()
        return path

    chosen = [place_for(None, take, "run", ".csv") for _ in range(5)]
    assert len(set(chosen)) == 5
    assert all(re.fullmatch(r"run-\d{8}-\d{6}(-\d)?\.csv", path.name) for path in chosen)


def test_a_place_that_the_user_named_is_taken_or_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").touch()
    with pytest.raises(TakenError, match=r"r\.csv: exists already"):
        place_for(tmp_path / "r.csv", check_absent, "run")


@pytest.mark.slow
def test_runs_that_begin_at_once_write_each_a_result_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(RESULTS)
    with beside(raw_server) as server:
        words = ["run", "log.csv", server.url, "--tps", "50", "--requests", "3", "--force", "-q"]
        runs = [started(*COMMAND, *words, cwd=tmp_path, stderr=subprocess.PIPE) for _ in range(3)]
        said = [each.communicate(timeout=60)[1] for each in runs]
    assert {each.returncode for each in runs} <= {0, 3}, said
    assert len([*tmp_path.glob("run-*[0-9].csv")]) == 3


def test_an_interruption_while_rows_are_evaluated_says_that_they_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Interrupted), evaluating(Terminal(quiet=True), "analyze", "sweep"):
        raise Interrupted
    said = "interrupted while the rows were evaluated; they are kept; evaluate them with: logreplay analyze sweep\n"
    assert capsys.readouterr().err == said
