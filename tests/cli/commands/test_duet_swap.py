"""``logreplay duet --swap``: two pairs of targets that take turns."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import logreplay
from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import scan
from support.background_server import beside
from support.recording_server import RecordingServer, recording

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Sixty requests of six clients."""
    path = tmp_path / "access.csv"
    rows = [f"2026-01-01,00:00:{at:02}.000000,0,0,0,5,/{at},200,GET,10.0.0.{at % 6}" for at in range(60)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


@pytest.fixture
def four() -> Iterator[list[RecordingServer]]:
    """BASELINE, CANDIDATE, BASELINE2, CANDIDATE2."""
    with ExitStack() as stack:
        yield [stack.enter_context(beside(recording)) for _ in range(4)]


def swapped(log: Path, servers: list[RecordingServer], folder: Path, *more: object) -> int:
    urls = [server.url for server in servers]
    given = [log, *urls[:2], "--swap", *urls[2:4], "--swap-every", "100ms", "--tps", 100, "--for", "1s", "-o", folder]
    return run(["duet", *map(str, (*given, *more))])


@pytest.mark.parametrize(
    "more",
    [
        (),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (("--workers", 2), ("--by-client",), ("--sender", "aiohttp"), ("--no-keep-alive",))
        ),
    ],
)
def test_each_pair_gets_its_requests_in_its_turns_and_rows_say_which(
    four: list[RecordingServer], log: Path, tmp_path: Path, more: tuple[object, ...]
) -> None:
    folder, urls = tmp_path / "out", [server.url for server in four]
    assert swapped(log, four, folder, *more) in (0, 3)
    sides = [scan(folder / f"{name}.csv").collect().sort("seq") for name in ("baseline", "candidate")]
    old, new = sides
    assert old.columns == new.columns == [*RESULT_COLUMNS, "target", "swap_turn"]
    shared = ["seq", "row", "url", "scheduled", "swap_turn", "offered"]
    assert old.select(shared).equals(new.select(shared))
    assert old["swap_turn"].to_list() == (old["scheduled"] / 0.1).floor().cast(pl.Int64).to_list()
    met = pl.DataFrame({"turn": old["swap_turn"], "old": old["target"], "new": new["target"]}).unique()
    assert met.height == old["swap_turn"].n_unique()
    assert {*met.select("old", "new").iter_rows()} == {(urls[0], urls[1]), (urls[2], urls[3])}
    for server, url in zip(four, urls, strict=True):
        rows = pl.concat(sides).filter(pl.col("target") == url)
        got = sorted(each.target for each in server.received if each.line != "HEAD / HTTP/1.1")
        assert got == sorted(rows["url"].to_list())
        assert got
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["options"]["swap"] == urls[2:]
    assert summary["answers"]["pairs"] == old.height
    page = unescape((folder / "report.html").read_text())
    assert f"<th>second pair</th><td>{urls[2]} and {urls[3]}: both pairs take turns of 0.1 s</td>" in page


def test_the_folder_gives_the_same_verdict_again(
    four: list[RecordingServer], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    for server, service in zip(four, (0.05, 0.08) * 2, strict=True):  # longer than lags of a busy machine
        server.service = service
    assert swapped(log, four, folder) in (0, 3)
    capsys.readouterr()
    assert run(["compare", str(folder / "baseline.csv"), str(folder / "candidate.csv"), "--json"]) in (0, 3)
    times = json.loads(capsys.readouterr().out)
    told = json.loads((folder / "summary.json").read_text())["times"]
    assert times["sentence"] == told["sentence"]
    assert times["change"] == told["change"]
    assert times["change"] is None or times["change"]["confidence"] == 0.995  # None: this machine was too busy
    assert told["sentence"] in logreplay.analyze(folder).sentence


def test_connections_of_both_pairs_stay_open(four: list[RecordingServer], log: Path, tmp_path: Path) -> None:
    assert swapped(log, four, tmp_path / "out", "--max-in-flight", 4) in (0, 3)
    for server in four:
        assert len({each.connection for each in server.received}) <= 6  # of ten turns, and one that asks before


def test_a_second_baseline_gets_every_request(four: list[RecordingServer], log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with beside(recording) as noise:
        assert swapped(log, four, folder, "--noise", noise.url) in (0, 3)
        heights = [scan(folder / f"{name}.csv").collect().height for name in ("baseline", "candidate", "noise")]
        assert len({*heights}) == 1
        assert len([each for each in noise.received if each.line != "HEAD / HTTP/1.1"]) == heights[0]
    assert json.loads((folder / "summary.json").read_text())["answers"]["pairs"] == heights[0]


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        (("--tps", 100, "--for", "3s"), "3 s"),
        (("--tps", 100, "--requests", 250), "2.5 s"),
        (("--steps", "10:1s,20:2s"), "3 s"),
        (("--speed", 1, "--for", "4s"), "4 s"),
    ],
)
def test_a_duet_too_short_for_its_turns_is_refused_before_any_request(
    four: list[RecordingServer], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[object],
    takes: str,
) -> None:  # fmt: skip
    urls, folder = [server.url for server in four], tmp_path / "out"
    given = [log, *urls[:2], "--swap", *urls[2:], "--swap-every", "500ms", *words, "-o", folder]
    assert run(["duet", *map(str, given)]) == 2
    assert (
        f"--swap needs 5 s at least, and this duet takes {takes}: each pair of targets has 5 turns of 0.5 s; run "
        "longer, such as --for 5s, or use a shorter --swap-every"
    ) in capsys.readouterr().err
    assert not any(server.received for server in four)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("words", "one"),
    [(("http://127.0.0.1:9", "-o", "x"), ", and http://127.0.0.1:9 is one"), (("--tps", "9"), ""), ((), "")],
)
def test_one_url_of_a_pair_is_refused_with_both_names(
    log: Path, capsys: pytest.CaptureFixture[str], words: list[str], one: str
) -> None:
    assert run(["duet", str(log), "http://127.0.0.1:9", "http://127.0.0.1:9", "--swap", *words]) == 2
    assert f"--swap takes two values, BASELINE2 CANDIDATE2{one}: give both" in capsys.readouterr().err


def test_the_function_takes_both_urls(four: list[RecordingServer], log: Path) -> None:
    urls = [server.url for server in four]
    result = logreplay.duet(log, *urls[:2], swap=(urls[2], urls[3]), swap_every=0.1, tps=100, duration=1)
    assert len(result.pairs) == 100
    assert result.summary["options"]["swap_every"] == 0.1
    assert all(len(server.received) > 10 for server in four)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ((0, 1, 0, 3), "BASELINE and --swap BASELINE2 name one target"),
        ((0, 1, 1, 0), "BASELINE and --swap CANDIDATE2 name one target"),
        ((0, 1, 2, 1), "CANDIDATE and --swap CANDIDATE2 name one target"),
    ],
)
def test_pairs_with_a_common_target_are_refused(
    four: list[RecordingServer],
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    order: tuple[int, ...],
    said: str,
) -> None:
    assert swapped(log, [four[at] for at in order], tmp_path / "out") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "run BASELINE and CANDIDATE2 on one machine" in told
    assert not (tmp_path / "out").exists()
    assert not any(server.received for server in four)


@pytest.mark.parametrize("foreign", [2, 3])
def test_each_target_of_the_second_pair_needs_its_permission(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], foreign: int
) -> None:
    urls = [f"http://127.0.0.1:{port}" for port in (9, 8, 7, 6)]
    urls[foreign] = "http://192.0.2.1"
    assert run(["duet", str(log), *urls[:2], "--swap", *urls[2:], "--tps", "9", "-o", str(tmp_path / "out")]) == 1
    assert "--allow-target 192.0.2.1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--swap-every", "1s"), ("--swap-every", "--swap:")),
        (("--swap-every", "1us"), ("--swap-every", "expected 100ms or more")),
        (("--swap", "http://127.0.0.1:7", "http://127.0.0.1:6", "--alternate"), ("--swap", "--alternate")),
    ],
)
def test_options_that_do_not_go_with_it_are_refused_in_words_that_name_both(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], words: tuple[str, ...]
) -> None:
    urls = ("http://127.0.0.1:9", "http://127.0.0.1:8")
    assert run(["duet", str(log), *urls, "--tps", "9", *more, "-o", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in words)
