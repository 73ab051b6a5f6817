"""Every command that reads rows accounts for each line of a CSV that another program wrote."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from logreplay.cli.main import run as logreplay
from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity
from logreplay.replay.servers.target_process import spawned

REFUSED = {"a quote is not closed (first in line 1,502)": 1, "rc is not a whole number (first in line 1,602)": 2}
TEXT = ", ".join(f"{count} x {why}" for why, count in REFUSED.items())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two thousand rows: one with a quote among its letters, one with an open quote, two with a damaged status."""
    rows = [f"2026-01-01,00:00:{i // 50:02}.{i % 50 * 20:03}000,0.001,0,0,7,/a/{i},200,GET,x" for i in range(2000)]
    rows[1000] = rows[1000][:-1] + 'Mozilla "5.0'
    rows[1500] = rows[1500][:-1] + '"Mozilla'
    rows[1600], rows[1700] = (rows[number].replace(",200,", ",2xx,") for number in (1600, 1700))
    header = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,agent"
    (tmp_path / "log.csv").write_text("\n".join((header, *rows)) + "\n")
    return tmp_path / "log.csv"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    empty = tmp_path_factory.mktemp("target") / "log.csv"
    empty.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
    with spawned(empty, ServerCapacity(100, 0.001)) as url:
        yield url


@pytest.mark.parametrize("more", [(), pytest.param(("--workers", "2"), marks=pytest.mark.slow)], ids=["one", "two"])
def test_a_run_sends_every_row_that_it_can_read_and_counts_the_others(
    log: Path, target: str, capfd: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    results = log.parent / "r.csv"
    logreplay(["run", str(log), target, "--tps", "4000", "--no-loop", "-o", str(results), "-q", *more])
    summary = json.loads((log.parent / "r.summary.json").read_text())
    assert summary["requests"]["scheduled"] == 1997
    assert summary["left_out"] == REFUSED
    said = capfd.readouterr().err
    assert all(f"{count} x {why}" in said.partition("not sent: ")[2] for why, count in REFUSED.items())
    assert "Polars" not in said
    assert "UserWarning" not in said
    sent = {int(line.split(",")[6].removeprefix("/a/")) for line in results.read_text().splitlines()[1:]}
    assert sent == {*range(2000)} - {1500, 1600, 1700}


def test_an_analysis_counts_the_rows_that_it_leaves_out(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert logreplay(["analyze", str(log), "-o", str(log.parent / "folder"), "--no-plots", "-q"]) == 0
    summary = json.loads((log.parent / "folder" / "summary.json").read_text())
    assert summary["requests"]["scheduled"] == 1997
    (text,) = [each["text"] for each in summary["findings"] if each["code"] == "unreadable_rows"]
    assert text == f"the result log is not read whole: 3 rows are left out: {TEXT}"
    assert capfd.readouterr().err == f"warning: {text}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("seconds", "{log}"),
        ("seconds", "{log}", "-q"),
        ("capacity", "{log}", "--demand", "200", "--p90", "300ms"),
        ("plot", "{log}", "-o", "{log}.png"),
        ("compare", "{log}", "{log}.other.csv"),
    ],
    ids=lambda words: words[0],
)
def test_a_command_without_a_summary_warns_of_the_rows_that_it_leaves_out(
    log: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    header, *rows = log.read_text().splitlines()
    replayed = [f"{header},scheduled", *(f"{row},{number}" for number, row in enumerate(rows[:1000]))]
    log.with_name("log.csv.other.csv").write_text("\n".join(replayed) + "\n")
    logreplay([word.format(log=log) for word in words])
    assert f"{log}: 3 rows are left out: {TEXT}\n" in capfd.readouterr().err


def test_a_target_answers_as_the_rows_that_can_be_read(log: Path) -> None:
    answers = LoggedAnswers.of_log(log)
    assert answers.refused == REFUSED
    assert (answers.take("GET", "/a/1000"), answers.take("GET", "/a/1500")) == ((200, 7), (404, 0))
