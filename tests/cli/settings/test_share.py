"""Results may hold tokens: they are for their owner alone, unless they are to be shared."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from logreplay.cli.main import run
from logreplay.core.files import write_atomically
from logreplay.replay.servers.minimal import responding

LOG = Path(__file__).parents[3] / "sample_logs" / "nginx_request_time.log"
COMMANDS = (
    ["convert", "access.log", "-o", "access.csv"],
    ["urls", "/item/{n}", "--var", "n=1..9", "-o", "urls.csv"],
    [
        *("run", "access.csv", "{url}", "--tps", "40", "-n", "10", "-o", "one.csv", "--junit", "one.xml"),
        *("--history", "history.csv", "--watch", "figure=!echo 1"),
    ],
    ["sweep", "20,40", "access.csv", "{url}", "--for", "1s", "-o", "sweep"],
    ["duet", "access.csv", "{url}", "{url}", "--tps", "20", "-n", "10", "-o", "duet"],
    ["analyze", "one.csv", "-o", "analyzed"],
    ["seconds", "one.csv", "-o", "seconds.csv"],
    ["plot", "one.csv", "-o", "one.png"],
    ["compare", "duet/baseline.csv", "duet/candidate.csv", "-o", "compared.png"],
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with responding() as url:
        yield url


def use(folder: Path, *words: str, umask: int = 0o022) -> "subprocess.CompletedProcess[str]":
    """The program in a process of its own, which has a umask of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "logreplay.cli.main", *words]
    return subprocess.run(command, cwd=folder, env=environment, umask=umask, capture_output=True, text=True, timeout=60)


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mode & 0o777
        for path in folder.rglob("*")
        if path.name not in ("access.log", "cache") and "cache" not in path.parts
    }


ALL = """
import json, sys
from logreplay.cli.main import run
from logreplay.cli.settings.share import keep_private

def code(words):
    keep_private()  # as the program does at its start
    return int(run(words))

print([code(words) for words in json.loads(sys.argv[1])])
"""


def made_by_all(folder: Path, url: str, *share: str) -> dict[str, int]:
    """The files and folders that all commands make, one after the other in one process."""
    folder.mkdir()
    (folder / "access.log").write_bytes(b"".join([*LOG.read_bytes().splitlines(keepends=True)[:50], b"odd\n"]))
    words = [[*(word.replace("{url}", url) for word in words), *share] for words in COMMANDS]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-c", ALL, json.dumps(words)]
    done = subprocess.run(
        command, cwd=folder, env=environment, umask=0o022, capture_output=True, text=True, timeout=300
    )
    codes = json.loads(done.stdout.splitlines()[-1])
    assert set(codes) <= {0, 3}, (codes, done.stderr)
    return modes(folder)


@pytest.mark.slow
def test_others_may_read_results_only_with_share(tmp_path: Path, url: str) -> None:
    private = made_by_all(tmp_path / "private", url)
    shared = made_by_all(tmp_path / "shared", url, "--share")
    assert len(private) > 30
    by_verdict = "history"  # of an invalid run, as on a busy machine, there is none
    assert {path for path in private.keys() ^ shared.keys() if not path.startswith(by_verdict)} == set()
    assert {path: mode for path, mode in private.items() if mode not in (0o600, 0o700)} == {}
    assert {path: mode for path, mode in shared.items() if mode not in (0o644, 0o755)} == {}


def test_with_share_others_may_do_as_far_as_the_umask_lets_them(tmp_path: Path) -> None:
    use(tmp_path, "urls", "/a", "-o", "urls.csv", "--share", umask=0o027)
    assert modes(tmp_path) == {"urls.csv": 0o640}


def test_share_counts_from_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGREPLAY_SHARE", "1")
    use(tmp_path, "urls", "/a", "-o", "urls.csv")
    assert modes(tmp_path) == {"urls.csv": 0o644}


def test_manual_pages_are_for_everybody(tmp_path: Path) -> None:
    use(tmp_path, "man", "-o", "man1")
    assert modes(tmp_path)["man1"] == 0o755
    assert modes(tmp_path)["man1/logreplay.1"] == 0o644


def test_share_ends_with_its_command(tmp_path: Path) -> None:
    """The files of a process that had called the command line with it were for everybody."""
    before = os.umask(0o022)
    try:
        run(["man", "-o", str(tmp_path / "man1")])
        run(["urls", "/a", "-o", str(tmp_path / "shared.csv"), "--share"])
        write_atomically(tmp_path / "private.csv", "")
    finally:
        os.umask(before)
    made = modes(tmp_path)
    assert {name: made[name] for name in ("man1", "shared.csv", "private.csv")} == {
        "man1": 0o755,
        "shared.csv": 0o644,
        "private.csv": 0o600,
    }
