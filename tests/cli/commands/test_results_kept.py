"""A result has one writer, replaces no input, and stays until the new one is whole."""

import json
import os
import subprocess
from contextlib import suppress
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from logreplay.analysis.analyze import analyse
from logreplay.cli.main import run
from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.replay.workers import dask_workers
from support.command_line import COMMAND, MEASURED, PATIENCE, started, wait_for_rows, wait_until

LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(
    f"2026-01-01,00:00:{second:02}.000000,0.01,0,0,10,/{second},200,GET\n" for second in range(30)
)
COMPANIONS = ("r.summary.json", "r.hlog", "r.hgrm", "r.watch.csv")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with a log in it."""
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(LOG)
    return tmp_path


def logreplay(*words: object) -> int:
    return run([str(word) for word in words])


def start(*words: object) -> "subprocess.Popen[str]":
    return started(*COMMAND, *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def said_by(process: "subprocess.Popen[str]") -> str:
    return process.communicate(timeout=PATIENCE)[1]


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def old_result(name: str = "r.csv") -> list[str]:
    """An earlier result with all that belongs to it; the names of all."""
    names = [name, *COMPANIONS]
    for each in names:
        Path(each).write_text("precious")
    return names


def assert_precious(names: list[str]) -> None:
    assert {name: Path(name).read_text() for name in names} == dict.fromkeys(names, "precious")


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "in.csv")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_of_two_runs_to_one_name_one_is_made_and_the_other_refused(target: str, form: str) -> None:
    words = ("run", "in.csv", target, "--tps", 20, "--for", "2s", "-o", f"r.{form}")
    ended = {process.returncode: said for process in [start(*words), start(*words)] for said in [said_by(process)]}
    assert len(ended) == 2
    assert f"r.{form}: " in ended[1]
    assert scan(Path(f"r.{form}")).select(pl.len()).collect().item() == 40
    assert left_in(Path()) == sorted([f"r.{form}", "r.hgrm", "r.hlog", "r.summary.json"])


@pytest.mark.slow
def test_a_result_that_grows_is_neither_shared_nor_replaced(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = start("run", "in.csv", target, "--tps", 20, "--for", "60s", "-o", "r.csv")
    try:
        wait_for_rows(Path("r.csv"))
        for name, force in product(("r.csv", "r.csv.gz"), ((), ("--force",))):
            assert logreplay("run", "in.csv", target, "--tps", 20, "--for", "1s", "-o", name, *force) == 1
            assert "another logreplay is writing it" in capsys.readouterr().err
        first.terminate()
        said_by(first)
        rows = scan(Path("r.csv")).collect()
    finally:
        kill(first)
    assert rows["seq"].n_unique() == rows.height > 0


@pytest.mark.slow
def test_a_folder_in_which_a_sweep_runs_takes_no_second_one(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("sweep", "20,30", "in.csv", target, "--for", "60s", "--no-plots")
    first = start(*words, "-o", "sw")
    try:
        wait_for_rows(Path("sw/results.csv"))
        for again in (("-o", "sw"), ("-o", "sw", "--force"), ("--resume", "sw")):
            assert logreplay(*words, *again) == 1
            assert "sw: another logreplay is writing it" in capsys.readouterr().err
    finally:
        kill(first)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "in.csv", "-o", "in.csv"),
        ("run", "in.csv", "-o", "soft.csv"),
        ("run", "soft.csv", "-o", "in.csv"),
        ("run", "in.csv", "-o", "hard.csv"),
        ("run", "in.csv", "--cacert", "r.hlog", "-o", "r.csv"),
        ("run", "in.csv", "--inject", "r.summary.json:5%", "-o", "r.csv.gz"),
        ("run", "in.csv", "--body", "r.hgrm:url", "-o", "r.parquet"),
        ("sweep", "20", "sw/results.csv", "-o", "sw"),
        ("sweep", "20", "soft.csv", "-o", "sw"),
        ("find", "sw/results.csv", "--p99", "1s", "-o", "sw"),
        ("analyze", "sw/steps.csv", "-o", "sw"),
    ],
)
def test_no_input_is_overwritten(target: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    Path("sw").mkdir()
    inputs = [Path(name) for name in ("in.csv", "r.hlog", "r.summary.json", "sw/results.csv", "sw/steps.csv")]
    for path in inputs:
        path.write_text(LOG)
    Path("r.hgrm").write_text("url,body\n/1,text\n")
    Path("soft.csv").symlink_to("sw/results.csv" if words[0] == "sweep" else "in.csv")
    Path("hard.csv").hardlink_to("in.csv")
    to = {"run": (target, "--tps", 20), "analyze": ()}.get(words[0], (target,))
    at = 3 if words[0] == "sweep" else 2
    assert logreplay(*words[:at], *to, *words[at:], "--force") == 2
    assert "-o would overwrite" in capsys.readouterr().err
    assert [path.read_text() for path in inputs] == [LOG] * len(inputs)
    assert Path("r.hgrm").read_text().startswith("url,body")


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        ("--match", "nosuchthing"),
        ("--from", "99999"),
        ("--hook", "nosuchmodule:hook"),
        ("--stop", "errors>5%/10s", "http://127.0.0.1:9"),
        ("--cluster", "tcp://127.0.0.1:9"),
    ],
)
@pytest.mark.parametrize("command", ["run", "sweep", "find"])
def test_what_fails_before_it_sends_keeps_the_earlier_result(
    target: str, command: str, how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "_CONNECT_S", 0.5)
    Path("sw").mkdir()
    names = [*old_result(), "sw/results.csv", "sw/summary.json", "sw/manifest.json", "sw/hockeystick.png"]
    for name in names:
        Path(name).write_text("precious")
    words = {"run": ("--tps", 5, "-o", "r.csv"), "sweep": ("-o", "sw"), "find": ("--p99", "1s", "-o", "sw")}[command]
    to = how[2] if how[2:] else target
    assert logreplay(command, *(["5,6"] if command == "sweep" else []), "in.csv", to, *how[:2], *words, "--force") == 1
    assert_precious(names)
    assert left_in(Path("sw")) == sorted(Path(name).name for name in names if name.startswith("sw/"))
    assert left_in(Path()) == sorted(["sw", "r.csv", *COMPANIONS])


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--refine",)])
def test_a_sweep_that_is_stopped_in_its_warm_up_keeps_the_earlier_result(target: str, more: tuple[str, ...]) -> None:
    """It ended with 0, or with 1 as there was no results.csv to refine, and the earlier result was gone."""
    Path("sw").mkdir()
    Path("sw/results.csv").write_text("precious")
    words = ("20,30", "in.csv", target, "--warmup", "60s", "-o", "sw", "--force", "--no-plots")
    stopped = start("sweep", *words, *more)
    try:
        wait_for_rows(Path("sw/running/warmup.csv"))
        stopped.terminate()
        said = said_by(stopped)
    finally:
        kill(stopped)
    assert stopped.returncode == 130, said
    assert "interrupted" in said
    assert_precious(["sw/results.csv"])
    assert left_in(Path("sw")) == ["results.csv"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["find in.csv {} --p99 1s --start 20 --trial 3s", "sweep 20,30 in.csv {} --for 60s --no-plots"]
)
def test_a_search_or_sweep_that_is_interrupted_keeps_the_earlier_result_and_its_own_rows(
    target: str, command: str
) -> None:
    """The half result had replaced the whole one."""
    Path("out").mkdir()
    Path("out/results.csv").write_text("precious")
    stopped = start(*command.format(target).split(), "-o", "out", "--force")
    try:
        wait_for_rows(Path("out/running/results.csv"))
        stopped.terminate()
        said = said_by(stopped)
    finally:
        kill(stopped)
    assert stopped.returncode == 130, said
    assert_precious(["out/results.csv"])
    assert scan(Path("out/running/results.csv")).select(pl.len()).collect().item() > 0
    assert "out/running" in said


def test_what_fails_before_it_sends_leaves_nothing_behind() -> None:
    nowhere = "http://127.0.0.1:9"
    assert logreplay("run", "in.csv", nowhere, "--tps", 5, "-o", "r.csv", "--watch", "load=!echo 1") == 1
    assert logreplay("sweep", "5", "in.csv", nowhere, "-o", "sw") == 1
    assert left_in(Path()) == []


@pytest.mark.slow
@pytest.mark.parametrize("old", [True, False])
def test_a_run_of_which_no_row_came_leaves_nothing_that_it_watched(old: bool, here: Path, target: str) -> None:
    names = old_result() if old else []
    words = ("run", "in.csv", target, "--tps", 5, "--workers", 2, "--exclude", "/", "-o", "r.csv", "--force")
    assert logreplay(*words, "--watch", "load=!echo 1") == 1
    assert_precious(names)
    assert left_in(here) == sorted(names)


@pytest.mark.parametrize("companion", COMPANIONS)
def test_the_summary_of_another_result_is_not_replaced(
    target: str, capsys: pytest.CaptureFixture[str], companion: str
) -> None:
    Path(companion).write_text("precious")
    assert logreplay("run", "in.csv", target, "--tps", 20, "--for", "1s", "-o", "r.csv.gz") == 1
    assert f"{companion}: exists already; choose another with -o, or replace it with --force" in capsys.readouterr().err
    assert_precious([companion])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.csv.zst", "r.parquet"])
def test_a_new_result_replaces_all_that_belongs_to_the_old_one(target: str, name: str) -> None:
    old_result(name)
    words = ("run", "in.csv", target, "--tps", 20, "--for", "2s", "--watch", "load=!echo 7", "-o", name, "--force")
    assert logreplay(*words) in MEASURED
    assert scan(Path(name)).select(pl.len()).collect().item() == 40
    assert "load,7.0" in Path("r.watch.csv").read_text()
    assert left_in(Path()) == sorted([name, *COMPANIONS])
    assert logreplay(*words[:6], "1s", *words[9:]) in MEASURED
    assert not Path("r.watch.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grows"), [("r.csv", "r.csv.running.csv"), ("r.parquet", "r.parquet.running.csv.zst")]
)
def test_a_killed_run_leaves_the_old_result_and_its_own_rows(
    target: str, capsys: pytest.CaptureFixture[str], name: str, grows: str
) -> None:
    names = old_result(name)
    words = ("run", "in.csv", target, "--tps", 20, "--for", "60s", "--watch", "load=!echo 7", "-o", name)
    process = start(*words, "--force")
    try:
        wait_for_rows(Path(grows))
    finally:
        kill(process)
    assert_precious(names)
    rows = Path(grows).read_bytes()
    assert scan(Path(grows)).select(pl.len()).collect().item() > 0
    for each in names:
        Path(each).unlink()
    assert logreplay(*words) == 1
    assert f"{grows}: exists already; it holds the rows of a run that was killed" in capsys.readouterr().err
    assert Path(grows).read_bytes() == rows
    again = ("run", "in.csv", target, "--tps", 20, "--for", "1s", "-o", name, "--force")
    assert logreplay(*again) in MEASURED
    assert not Path(grows).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "log"),
    [
        (("run", "in.csv", "{}", "--loop", "--steps", "100:2s,50:60s", "-o", "r.csv"), "r.csv"),
        (("run", "in.csv", "{}", "--loop", "--steps", "100:2s,50:60s", "-o", "r.parquet"), "r.parquet.running.csv.zst"),
        (("duet", "in.csv", "{}", "{}", "--loop", "--steps", "100:2s,50:60s", "-o", "d"), "d/candidate.csv"),
        (("find", "in.csv", "{}", "--p99", "9s", "--start", "20", "--trial", "20s", "-o", "d"), "d/results.csv"),
    ],
)
def test_the_last_step_of_what_was_killed_does_not_count(target: str, words: tuple[str, ...], log: str) -> None:
    """A run in steps that was killed counted the step that the kill had cut, as one that was stable."""
    killed = start(*(word.format(target) for word in words))
    try:
        wait_for_steps(Path(log), 1 if words[0] == "find" else 2)
    finally:
        kill(killed)
    steps = analyse(log).steps
    assert steps["verdict"].to_list()[-1] == "cut"
    assert words[0] == "find" or steps.height == 2


def wait_for_steps(log: Path, number: int) -> None:
    """Wait until a result log has rows of so many steps."""

    def enough() -> bool:
        with suppress(LogreplayError):  # a block of it is being written
            return log.exists() and scan(log).select(pl.col("step").n_unique()).collect().item() >= number
        return False

    wait_until(enough)


def test_a_killed_run_leaves_no_lock_and_no_temporary_file_after_the_next_start(target: str) -> None:
    process = start("run", "in.csv", target, "--tps", 200, "--for", "60s", "-o", "killed.csv")
    try:
        wait_for_rows(Path("killed.csv"))
    finally:
        kill(process)
    Path(".other.csv.logreplay.part.csv").touch()
    Path(".other.csv.logreplay.part.csv.sorted").touch()
    assert logreplay("run", "in.csv", target, "--tps", 200, "-n", 20, "-o", "r.csv") in MEASURED
    assert left_in(Path()) == ["killed.csv", "r.csv", "r.hgrm", "r.hlog", "r.summary.json"]


def test_a_new_sweep_replaces_all_of_the_old_one_and_nothing_else(target: str) -> None:
    Path("sw").mkdir()
    for name in ("results.csv", "users.csv", "warmup.csv", "report.html", "hockeystick.png", "search.png", "notes.txt"):
        Path("sw", name).write_text("precious")
    words = ("sweep", "200", "in.csv", target, "--for", "200ms", "--no-plots", "-o", "sw")
    assert logreplay(*words, "--force") in MEASURED
    assert left_in(Path("sw")) == [
        "manifest.json", "notes.txt", "results.csv", "results.hgrm", "results.hlog", "routes.csv", "seconds.csv",
        "steps.csv", "summary.json",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_killed_sweep_leaves_the_old_one_and_goes_on_beside_it(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--resume sw`` found all steps done and passed the old sweep off as the new one."""
    words = ("sweep", "20,30", "in.csv", target, "--for", "1s", "--no-plots", "--keep-going")
    assert logreplay(*words, "-o", "sw") in MEASURED
    old = {path.name: path.read_bytes() for path in Path("sw").iterdir()}
    process = start(*words[:4], "--for", "60s", *words[6:], "-o", "sw", "--force")
    try:
        wait_for_rows(Path("sw/running/results.csv"))
    finally:
        kill(process)
    assert {path.name: path.read_bytes() for path in Path("sw").iterdir() if path.is_file()} == old
    assert Path("sw/running/manifest.json").exists()
    capsys.readouterr()
    assert logreplay(*words, "--resume", "sw") == 1
    assert capsys.readouterr().err == (
        "Error: sw: sw/running holds what a later command left: if it was a sweep, --resume sw/running makes what it "
        "lacks; to go on with the older one in sw, move sw/running elsewhere, or delete it\n"
    )
    assert logreplay(*words[:4], "--for", "60s", *words[6:], "--resume", "sw") == 1
    assert logreplay(*words, "-o", "sw", "--force") in MEASURED
    assert left_in(Path("sw")) == sorted(old)
    assert Path("sw/results.csv").read_bytes() != old["results.csv"]


@pytest.mark.slow
def test_a_resumed_sweep_replaces_the_result_that_it_was_to_replace(target: str) -> None:
    """It stayed in sw/running, beside the old result."""
    words = ("sweep", "20,30", "in.csv", target, "--for", "3s", "--no-plots", "--keep-going")
    Path("sw").mkdir()
    Path("sw/results.csv").write_text("old")
    Path("sw/report.html").write_text("old")
    process = start(*words, "-o", "sw", "--force")
    try:
        wait_for_steps(Path("sw/running/results.csv"), 2)
    finally:
        kill(process)
    assert Path("sw/results.csv").read_text() == "old"
    assert logreplay(*words, "--resume", "sw/running") in MEASURED
    assert not Path("sw/running").exists()
    assert not Path("sw/report.html").exists()
    assert json.loads(Path("sw/summary.json").read_text())["steps"][1]["rate"] == 30


@pytest.mark.slow
def test_a_sweep_in_a_folder_of_that_name_replaces_nothing_above_it(target: str) -> None:
    words = ("sweep", "20,30", "in.csv", target, "--for", "1s", "--no-plots", "--keep-going")
    Path("results.csv").write_text("precious")
    assert logreplay(*words, "-o", "running") in MEASURED
    assert logreplay(*words, "--resume", "running") in MEASURED
    assert Path("results.csv").read_text() == "precious"
    assert Path("running/summary.json").exists()


@pytest.mark.slow
def test_a_sweep_of_somebody_else_replaces_nothing_in_the_folder_above(target: str) -> None:
    """A manifest that names the folder above had its files removed."""
    words = ("sweep", "20", "in.csv", target, "--for", "1s", "--no-plots")
    Path("results.csv").write_text("precious")
    assert logreplay(*words, "-o", "sw") in MEASURED
    manifest = json.loads(Path("sw/manifest.json").read_text())
    Path("sw/manifest.json").write_text(json.dumps(manifest | {"replaces": str(Path.cwd())}))
    assert logreplay(*words, "--resume", "sw") in MEASURED
    assert Path("results.csv").read_text() == "precious"
    assert Path("sw/summary.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("moved", [False, True])
def test_a_sweep_that_has_replaced_a_result_replaces_nothing_in_the_folder_above_when_resumed(
    target: str, *, moved: bool
) -> None:
    """``--resume sw`` removed results.csv beside sw, moved the sweep there, and removed sw."""
    words = ("sweep", "20", "in.csv", target, "--for", "1s", "--no-plots")
    Path("sw").mkdir()
    Path("sw/results.csv").write_text("old")
    Path("results.csv").write_text("precious")
    assert logreplay(*words, "-o", "sw", "--force") in MEASURED
    resumed = Path("sw").rename("running") if moved else Path("sw")
    assert logreplay(*words, "--resume", resumed) in MEASURED
    assert Path("results.csv").read_text() == "precious"
    assert (resumed / "summary.json").exists()


def test_an_analysis_without_pictures_leaves_none_of_another_one(target: str) -> None:
    assert logreplay("run", "in.csv", target, "--tps", 200, "-n", 20, "-o", "r.csv") in MEASURED
    Path("shown").mkdir()
    for name in ("report.html", "hockeystick.png", "users.csv", "search.png"):
        Path("shown", name).touch()
    assert logreplay("analyze", "r.csv", "-o", "shown", "--no-plots", "--force") in MEASURED
    assert left_in(Path("shown")) == [
        "results.hgrm", "results.hlog", "routes.csv", "seconds.csv", "steps.csv", "summary.json"
    ]  # fmt: skip


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_result_log_cannot_be_a_pipe_or_a_device(
    target: str, capsys: pytest.CaptureFixture[str], force: tuple[str, ...]
) -> None:
    os.mkfifo("pipe.csv")
    Path("device.csv").symlink_to("/dev/null")
    for name in ("pipe.csv", "device.csv"):
        assert logreplay("run", "in.csv", target, "--tps", 5, "--for", "1s", "-o", name, *force) == 1
        assert f"{name}: is a device or a pipe" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc on this system")
@pytest.mark.parametrize("words", [("run", "--tps", 5, "-o", "/proc/x.csv"), ("sweep", "-o", "/proc/x")])
def test_a_folder_that_takes_no_files_is_named(
    target: str, capsys: pytest.CaptureFixture[str], words: tuple[object, ...]
) -> None:
    rates = ["5"] if words[0] == "sweep" else []
    assert logreplay(words[0], *rates, "in.csv", target, *words[1:]) == 1
    assert f"Error: {words[-1]}: cannot be written: " in capsys.readouterr().err
