"""Links in a folder that others filled: none leads a result elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.parsers.conversion.external_sort import Sorter
from logreplay.parsers.lines.csv_lines import rendered
from logreplay.replay.servers.minimal import responding
from support.command_line import typed

LOG = Path(__file__).parents[1] / "sample_logs" / "nginx_request_time.log"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with responding() as url:
        yield url


PART = ".other.csv.logreplay.part.csv"
CONVERT = ["convert", "access.log", "-o", "other.csv", "--force"]
RUN = ["run", "access.log", "{url}", "--tps", "40", "-n", "5", "-o", "one.csv", "--force", "--watch", "figure=!echo 1"]
SWEEP = ["sweep", "20,40", "access.log", "{url}", "--for", "500ms", "-o", "sweep", "--force", "--no-plots"]
REMOVED = "one.csv.running.watch.csv", "one.csv.running.logins.csv", "one.csv"


def plant(folder: Path, *names: str, victim: Path) -> None:
    (folder / "access.log").write_bytes(b"".join(LOG.read_bytes().splitlines(keepends=True)[:50]))
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(victim)


@pytest.mark.parametrize(
    ("words", "links", "refused", "dangling"),
    [
        (CONVERT, ("other.csv", f"{PART}.sorted", f"{PART}.sorted.spill", f"{PART}.sorted.bodies"), False, True),
        (CONVERT, ("other.csv", f"{PART}.sorted", f"{PART}.sorted.spill", f"{PART}.sorted.bodies"), False, False),
        (CONVERT, (PART,), True, False),
        (RUN, REMOVED, False, True),
        (RUN, REMOVED, False, False),
        (RUN, ("one.summary.json",), False, True),
        (RUN, (".one.logreplay.lock",), True, False),
        (RUN, ("one.csv.running.csv",), True, True),
        (SWEEP, ("sweep/results.csv",), False, False),
        (SWEEP, ("sweep/running",), True, True),
    ],
)
def test_a_link_that_was_planted_leads_no_result_elsewhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    links: tuple[str, ...],
    refused: bool,
    dangling: bool,
    url: str,
) -> None:
    victim = tmp_path / "outside" / "victim"
    victim.parent.mkdir()
    if not dangling:
        victim.mkdir() if links == ("sweep/running",) else victim.write_text("mine\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    plant(folder, *links, victim=victim)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    done = typed(folder, *(word.replace("{url}", url) for word in words))
    assert [path.name for path in victim.parent.rglob("*")] == ([] if dangling else ["victim"])
    assert dangling or victim.is_dir() or victim.read_text() == "mine\n"
    if refused:
        assert done.returncode == 1
        assert f"{links[0]} is a link; remove it" in done.stderr
    else:
        assert done.returncode in (0, 3), done.stderr
        assert not any((folder / link).is_symlink() for link in links if not link.startswith("."))


def test_temporary_files_of_a_sort_follow_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    for ending in ("", ".spill", ".merged"):
        (tmp_path / f"sorted{ending}").symlink_to(victim)
    sorter = Sorter(tmp_path / "sorted", b"date,time\n", buffer=2)
    for start in (3, 2, 1):
        starts = np.array([start, start, start])
        sorter.add(starts, rendered(pl.DataFrame({"url": ["/a", "/b", "/c"]}), ["url"]))
    sorter.close()
    assert (tmp_path / "sorted").read_bytes().count(b"\n") == 10
    assert victim.read_text() == "mine\n"
