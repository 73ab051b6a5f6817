"""Messages on standard error hold nothing that steers the terminal, and with ``--quiet`` only losses are told."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.output.folder import write_folder
from logreplay.cli.display.terminal import print_text, say
from logreplay.cli.main import run
from logreplay.core.errors import Loss
from logreplay.core.record import CORE_COLUMNS, to_csv

HOSTILE = "ev\x1b[2J\x1b]0;owned\x07\x9bil"


def test_a_text_keeps_its_lines_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for tell in (say, print_text):
        tell("one\x1b]0;owned\x07\ntwo\x1b[2J\r")
    assert {*capsys.readouterr()} == {"one?]0;owned?\ntwo?[2J?\n"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a hostile name: a sweep in which one route with such a name saturates, another one, and the log."""
    folder = tmp_path_factory.mktemp("results") / HOSTILE
    folder.mkdir()
    arrivals = simulate.sweep([*range(40, 321, 40)], 10, np.random.default_rng(1), pause_s=8)
    at, rng = arrivals.scheduled, np.random.default_rng(2)
    slow = rng.random(len(at)) < 0.5
    taken = rng.exponential(0.009, len(at)) + np.where(slow, 0, 0.005)
    taken[slow] += simulate.waits(at[slow], taken[slow], 1)
    urls = np.where(slow, f"/{HOSTILE}/page", "/ok")
    swept = simulate.results(arrivals, taken).with_columns(url=pl.Series(urls))
    for name, factor, day in (("results", 1.0, "2026-01-01"), ("slower", 1.3, "2026-01-02")):
        rows = swept.with_columns(pl.col("latency") * factor, date=pl.lit(day))
        (folder / f"{name}.csv").write_bytes(to_csv(rows, header=True))
    usual = pl.when(pl.col("url") == "/ok").then(0.01).otherwise(0.000_123)
    log = swept.sort("seq").select(CORE_COLUMNS).with_columns(latency=usual)
    (folder / "log.csv").write_bytes(to_csv(log, header=True))
    short = pl.concat([log.filter(pl.col("url") == "/ok").head(1990), log.filter(pl.col("url") != "/ok").head(10)])
    (folder / "short.csv").write_bytes(to_csv(short, header=True))
    write_folder(folder / "results.csv", folder, plots=False)  # what a plan reads
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "log.csv", "results.csv"],
        ["compare", "results.csv", "slower.csv", "--fail-above", "1%"],
        ["analyze", "results.csv", "--no-plots", "-o", "tables"],
        ["capacity", "results.csv", "--tps", "500", "--p99", "300ms"],
        ["inspect", "short.csv"],
        ["plan", "short.csv", "--from", "results.csv", "--p99", "300ms"],
        ["run", "short.csv", "--tps", "10", "--dry-run"],
        ["convert", "short.csv", "-o", "short.csv"],
    ],
)
def test_no_name_in_a_file_nor_of_one_steers_the_terminal(
    hostile: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """A route was printed as it stands in the answers of compare LOG RUN and analyze."""
    run([str(hostile / word) if "." in word or word == "tables" else word for word in words])
    out, err = capsys.readouterr()
    assert out + err
    assert [sign for sign in out + err if not sign.isprintable() and sign != "\n"] == []


def test_only_losses_are_said_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    told = (Loss("not sent: 1 x method POST"), "header A: not sent: it has no value", "not sent: a note")
    for sentence in told:
        say(sentence, quiet=True)
    assert capsys.readouterr().err == f"{told[0]}\n"
    for sentence in told:
        say(sentence, quiet=False)
    assert capsys.readouterr().err.splitlines() == [*told]
