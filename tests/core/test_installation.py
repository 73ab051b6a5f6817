"""The command that adds an extra fits the way logreplay was installed."""

import json
import os
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
COMMAND = """
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
from logreplay.cli.main import run
from logreplay.core.installation import OWN_PROCESS
OWN_PROCESS.claimed = True  # as `main` does, which ends the process
code = run(sys.argv[1:])
print(*({"matplotlib", "pandas"} & {*sys.modules}), file=sys.stderr)
sys.exit(code)
"""


def plainly(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a plain installation; its last line on stderr names the heavy libraries that it loaded."""
    command = [sys.executable, "-c", COMMAND, *words]
    env = os.environ | {"HOME": "/proc"}  # where nobody can write
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_the_plain_installation_does_the_whole_mission_and_loads_what_a_command_needs(tmp_path: Path) -> None:
    options = ("--demo-target", "--tps", "500", "--for", "0.1", "--shuffle", "-o", "out.csv")
    for words in (("convert", LOG, "-o", "log.parquet"), ("run", "log.parquet", *options)):
        done = plainly(tmp_path, *words)
        assert done.returncode in (0, 3), done.stderr
        assert done.stderr.splitlines()[-1] == ""
    done = plainly(tmp_path, "analyze", "out.csv", "-o", "out")
    assert done.returncode in (0, 3), done.stderr
    assert done.stderr.splitlines()[-1] == "matplotlib"
    assert "Matplotlib" not in done.stderr
    assert {"report.html", "hockeystick.png"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_the_extras_that_now_come_with_it_may_still_be_named() -> None:
    offered = metadata.metadata(installation.DISTRIBUTION).get_all("Provides-Extra") or []
    assert {"pandas", "plots"} <= {*offered}
