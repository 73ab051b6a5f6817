"""The command that adds an extra fits the way logreplay was installed."""

import json
import shlex
import subprocess
import sys
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

from logreplay.core import installation


class Installed(metadata.Distribution):
    """A distribution that pip installed from somewhere."""

    def __init__(self, origin: object | None) -> None:
        self._origin = origin

    @property
    def metadata(self) -> Message:  # type: ignore[override]
        told = Message()
        told["Version"] = "0.1.0"
        return told

    def read_text(self, filename: str) -> str | None:
        return json.dumps(self._origin) if filename == "direct_url.json" and self._origin else None

    def locate_file(self, path: object) -> Path:
        raise NotImplementedError


def command(monkeypatch: pytest.MonkeyPatch, origin: object | None) -> list[str]:
    """The words of the command, as a shell reads them."""
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(origin))
    said, _, words = installation.needs_extra("s3").partition(": ")
    assert said == "needs the extra `s3`"
    return shlex.split(words)


def test_from_the_index_the_extra_comes_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command(monkeypatch, None) == ["pip", "install", "logreplay-toolkit[s3]"]


@pytest.mark.parametrize(("editable", "before"), [(False, []), (True, ["-e"])])
def test_from_a_clone_the_extra_comes_from_the_clone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, editable: bool, before: list[str]
) -> None:
    clone = tmp_path / "my clones"
    clone.mkdir()
    origin = {"url": clone.as_uri(), "dir_info": {"editable": editable}}
    assert command(monkeypatch, origin) == ["pip", "install", *before, f"{clone}[s3]"]


def test_a_clone_that_was_deleted_is_not_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    origin = {"url": (tmp_path / "gone").as_uri(), "dir_info": {}}
    assert command(monkeypatch, origin) == ["pip", "install", "PATH_OF_THE_CLONE[s3]"]


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (
            {"url": "https://forge.example/l.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}},
            "logreplay-toolkit[s3] @ git+https://forge.example/l.git",
        ),
        (
            {"url": "https://files.example/l-0.1-py3-none-any.whl", "archive_info": {}},
            "logreplay-toolkit[s3] @ https://files.example/l-0.1-py3-none-any.whl",
        ),
    ],
)
def test_from_an_address_the_extra_comes_from_that_address(
    monkeypatch: pytest.MonkeyPatch, origin: object, requirement: str
) -> None:
    assert command(monkeypatch, origin) == ["pip", "install", requirement]


def test_a_copy_that_was_never_installed_has_no_version_and_names_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "DISTRIBUTION", "logreplay-never-installed")
    assert installation.version() == "of an unknown version"
    assert installation.needs_extra("s3") == "needs the extra `s3`: pip install 'logreplay-never-installed[s3]'"


LOG = str(Path(__file__).resolve().parents[2] / "sample_logs" / "nginx_request_time.log")
NO_EXTRAS = "import sys; sys.modules.update(dict.fromkeys(('matplotlib', 'pandas', 'pyarrow')))\n"
"""As if they were not installed."""
COMMAND = "from logreplay.cli.main import run; sys.exit(run(sys.argv[1:]))"
NO_PICTURES = "no pictures and no report.html, because drawing needs the extra `plots`: pip install "


def plainly(folder: Path, *words: str, code: str = COMMAND) -> "subprocess.CompletedProcess[str]":
    """Run a command, or other code, in a plain installation."""
    command = [sys.executable, "-c", NO_EXTRAS + code, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


FUNCTIONS = """
from logreplay import analysis
from logreplay.analysis.output.folder import write_folder
from logreplay.core.errors import LogreplayError
for call in (
    lambda: analysis.load("out.csv"),
    lambda: analysis.differences("."),
    lambda: analysis.picture(None, "out.csv", "heatmap"),
    lambda: analysis.overlay(None, {"a": "out.csv"}),
    lambda: write_folder("out.csv", "new"),
):
    try:
        call()
    except LogreplayError as error:
        print(error)
"""


@pytest.mark.slow
def test_convert_run_and_analyze_need_no_extra_and_say_once_that_pictures_do(tmp_path: Path) -> None:
    options = ("--demo-target", "--tps", "500", "--for", "0.1", "--shuffle", "-o", "out.csv")
    for words in (("convert", LOG, "-o", "log.parquet"), ("run", "log.parquet", *options)):
        done = plainly(tmp_path, *words)
        assert done.returncode in (0, 3), done.stderr
        assert "extra" not in done.stderr
    for name, *more in (("out",), ("json", "--json"), ("quiet", "-q"), ("none", "--no-plots")):
        done = plainly(tmp_path, "analyze", "out.csv", "-o", name, *more)
        times = int(name in ("out", "json"))
        assert (done.returncode, done.stderr.count(NO_PICTURES), done.stderr.count("extra")) == (0, times, times)
        names = {"results.hgrm", "results.hlog", "routes.csv", "seconds.csv", "steps.csv", "summary.json"}
        assert {path.name for path in (tmp_path / name).iterdir()} == names
    done = plainly(tmp_path, code=FUNCTIONS)
    said = [text.partition(": pip install ")[0] for text in done.stdout.splitlines()]
    tables, drawings = said[:2], said[2:]
    assert tables == 2 * ["a table of pandas needs the extra `pandas`"], done.stderr
    assert drawings == 3 * ["drawing needs the extra `plots`"]
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_sweep_and_find_say_once_that_pictures_need_an_extra(tmp_path: Path) -> None:
    find = ("find", LOG, "--p90", "1s", "--start", "100", "--trial", "1s", "--trials", "1", "--budget", "11s")
    for command in (("sweep", "200", LOG, "--for", "0.2"), find):
        done = plainly(tmp_path, *command, "--demo-target", "-o", command[0])
        assert done.returncode in (0, 3, 4), done.stderr
        assert done.stderr.count(NO_PICTURES) == done.stderr.count("results: ") == 1
        assert not [*(tmp_path / command[0]).glob("*.png")]


@pytest.mark.parametrize(
    "words",
    [
        ["plot", "gone.csv"],
        ["plot", "gone.csv", "lost.csv", "-o", "x.svg", "-q"],
        ["compare", "gone.csv", "lost.csv", "-o", "x.png"],
    ],
)
def test_drawing_without_matplotlib_names_the_extra_before_a_run_is_read(words: list[str], tmp_path: Path) -> None:
    done = plainly(tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: drawing needs the extra `plots`: pip install ")
    assert done.stderr.count("\n") == 1
