"""A folder that others filled: no command runs its Python files, whatever its settings file says."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import pytest

from logreplay.cli.registry import SHORT_HELP
from logreplay.replay.servers.minimal import responding

ROOT: Final = Path(__file__).parent.parent
LOG: Final = ROOT / "sample_logs" / "nginx_request_time.log"
SETTINGS: Final = """
timeout = "5s"
live = true
metrics = "127.0.0.1:0"
[run]
tps = 40
for = "1s"
[duet]
tps = 40
for = "1s"
[sweep]
rates = "20,40"
for = "1s"
[find]
p99 = "500ms"
max-tps = 40
trial = "1s"
budget = "1m"
"""
COMMANDS: Final[dict[str, list[str]]] = {
    "demo": ["demo", "-q", "-o", "demo"],
    "convert": ["convert", "access.log", "-o", "other.csv", "--cluster", "local:1"],
    "inspect": ["inspect", "access.log"],
    "urls": ["urls", "/item/{n}", "--var", "n=1..9", "-o", "urls.csv"],
    "run": ["run", "access.csv", "{url}", "--watch", "figure=!python3 -P -c 'print(1)'", "-o", "one.csv"],
    "run, workers": ["run", "access.csv", "{url}", "--workers", "2", "-o", "shared.csv"],
    "run, cluster": ["run", "access.csv", "{url}", "--cluster", "local:1", "-o", "cluster.csv"],
    "run, demo target": ["run", "access.csv", "--demo-target", "-o", "demo.csv", "--no-live", "--no-metrics"],
    "run, aiohttp": ["run", "access.csv", "{url}", "--sender", "aiohttp", "-o", "aiohttp.csv"],
    "run, users": ["run", "access.csv", "{url}", "--vusers", "2", "--no-tps", "--for", "1s", "-o", "users.csv"],
    "run, Parquet": ["run", "access.csv", "{url}", "-o", "columns.parquet"],
    "run, hook": ["run", "access.csv", "{url}", "--hook", "mine:same", "-o", "hooked.csv"],
    "sweep": ["sweep", "20,40", "access.csv", "--demo-target", "-o", "sweep"],
    "find": ["find", "access.csv", "{url}", "-o", "find"],
    "duet": ["duet", "access.csv", "{url}", "{url}", "-o", "duet"],
    "analyze": ["analyze", "one.csv", "-o", "analyzed"],
    "seconds": ["seconds", "one.csv"],
    "capacity": ["capacity", "sweep", "--demand", "100", "--p90", "500ms"],
    "plan": ["plan", "access.log", "--from", "sweep", "--p90", "500ms", "-o", "planned"],
    "compare": ["compare", "access.csv", "one.csv"],
    "analyze, cluster": ["analyze", "one.csv", "-o", "analyzed-too", "--cluster", "local:1"],
    "plot": ["plot", "one.csv", "-o", "one.png"],
    "run, control": ["run", "access.csv", "{url}", "--control", "load", "--workers", "1", "-o", "steered.csv"],
    "control": ["control", "load", "pause"],
    "serve": ["serve", "access.csv"],
    "calibrate": ["calibrate", "--trial", "200ms"],
    "init": ["init", "--log", "access.log", "--force"],
    "completion": ["completion", "bash"],
    "man": ["man", "run"],
}
"""Each command as it is used; some read what `run` and `sweep` wrote, and `init` writes the settings anew."""


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program `logreplay`, as pip writes it: Python puts its folder, not the current one, on ``sys.path``."""
    program = tmp_path_factory.mktemp("bin") / "logreplay"
    program.write_text(
        "import sys\nfrom logreplay.cli.start import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    return program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, a settings file, and a module of each name that Python could look for."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "access.log").write_bytes(b"".join(LOG.read_bytes().splitlines(keepends=True)[:200]))
    (folder / "logreplay.toml").write_text(SETTINGS)
    (folder / "matplotlibrc").write_text("text.usetex: True\n")  # starts LaTeX
    marker = f"open({str(folder / 'ran')!r}, 'a').write(__name__ + '\\n')\n"
    names = {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize"}
    for name in names - {"logreplay"}:
        if name.isidentifier():
            (folder / f"{name}.py").write_text(marker)
    (folder / "mine.py").write_text(f"{marker}def same(request):\n    return request\n")  # for --hook
    (folder / "logreplay").mkdir()
    (folder / "logreplay" / "__init__.py").write_text(marker)
    return folder


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with responding() as url:
        yield url


def ran(folder: Path) -> list[str]:
    marker = folder / "ran"
    return sorted(set(marker.read_text().split())) if marker.exists() else []


def use(entry: Path, folder: Path, words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command in the folder; those that take long until they have started all their processes."""
    command = [sys.executable, str(entry), *words]
    environment = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    environment["XDG_CACHE_HOME"] = str(folder.with_name("cache"))
    if words[0] in ("demo", "find", "serve"):
        command = ["timeout", "--signal=INT", "4", *command]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL
    )


def test_the_shadowing_modules_would_run_if_the_folder_were_searched(folder: Path) -> None:
    command = [sys.executable, "-c", "import aiohttp, uuid"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert {"aiohttp", "uuid"} <= set(ran(folder))
    (folder / "ran").unlink()


@pytest.mark.slow
@pytest.mark.timeout(900)  # of those that begin first
def test_no_command_runs_a_python_file_of_the_current_folder(entry: Path, folder: Path, url: str) -> None:
    assert {name.partition(",")[0] for name in COMMANDS} == SHORT_HELP.keys(), "a new command must be tried here"

    def try_out(name: str) -> None:
        done = use(entry, folder, [word.replace("{url}", url) for word in COMMANDS[name]])
        assert set(ran(folder)) <= {"mine"}, (name, done.stderr)
        refused = name == "control" and "no run is controlled here" in done.stderr
        assert refused or done.returncode in (0, 3, 4, 124, 130), (name, done.returncode, done.stderr)

    use(entry, folder, ["convert", "access.log", "-o", "access.csv"])
    first, last = ("run", "sweep"), ("init",)
    for name in first:
        try_out(name)
    with ThreadPoolExecutor(2) as several:  # most of them wait
        list(several.map(try_out, COMMANDS.keys() - {*first, *last}))
    for name in last:
        try_out(name)
    assert ran(folder) == ["mine"]
