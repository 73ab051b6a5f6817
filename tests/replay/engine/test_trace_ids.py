"""Each request has a W3C trace context of its own, and its row the id, as nginx logs them."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import ServerFactory
from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import scan
from logreplay.replay.engine.trace_ids import TraceIds
from support.logging_nginx import LoggingNginx

SENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-0([01])")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_the_share_is_sampled_and_no_id_comes_twice(share: float) -> None:
    numbers = np.arange(20_000)
    found = [SENT.fullmatch(text) for text in TraceIds.of(share, seed=1).parents(numbers)]
    texts = [match.groups() for match in found if match]
    assert len(texts) == len(numbers)
    traces, spans, flags = zip(*texts, strict=True)
    assert len({*traces}) == len({*spans}) == len(numbers)
    assert abs(flags.count("1") / len(numbers) - share) < 0.012
    assert TraceIds.of(share, seed=1).ids(numbers).to_list() == [*traces]


def test_a_seed_makes_the_same_ids_and_no_seed_makes_others() -> None:
    numbers = np.arange(100)
    made = [
        TraceIds.of(0.1, seed, first).ids(numbers) for seed, first in ((1, 0), (2, 0), (1, 50), (None, 0), (None, 0))
    ]
    assert pl.concat(made).n_unique() == 500
    assert made[0].equals(TraceIds.of(0.1, 1).ids(numbers))
    ends = TraceIds(1.0, (0, 0, 0)).parents(np.array([0, 2**62, 2**63 - 1]))
    assert all(SENT.fullmatch(text) for text in ends)


@pytest.fixture
def server(nginx: ServerFactory) -> LoggingNginx:
    return LoggingNginx.of(nginx, "$http_traceparent")


def log_of(folder: Path, count: int) -> Path:
    pl.DataFrame({
        "date": "2026-01-01", "time": "12:00:00.000000", "latency": 0.01, "xfertime": 0, "thinktime": 0, "bytes": 5,
        "url": [f"/{number}" for number in range(count)], "rc": 200, "op": "GET",
        "client": [f"192.0.2.{number % 2}" for number in range(count)],
    }).write_csv(folder / "log.csv")  # fmt: skip
    return folder / "log.csv"


@pytest.mark.parametrize(
    "ways",
    [
        (),
        ("--http", "2"),
        ("--workers", "2", "--by-client"),
        ("--sender", "aiohttp"),
        ("--cookies", "--by-client", "--http", "2"),
        ("--vusers", "3"),
    ],
)
def test_the_row_of_a_request_has_the_id_that_the_target_was_sent(
    server: LoggingNginx, tmp_path: Path, ways: tuple[str, ...]
) -> None:
    log, out = log_of(tmp_path, 60), tmp_path / "out.csv"
    pace = () if "--vusers" in ways else ("--tps", 400)
    words = ("run", log, server.url_for(ways), *pace, "--trace", "30%", *ways, "-o", out)
    assert run([str(word) for word in words]) in (0, 3)  # 3: a busy machine
    rows = scan(out).collect()
    assert rows.columns == [*RESULT_COLUMNS, "trace_id"]
    got = {url: SENT.fullmatch(header) for url, header in server.rows() if header != "-"}
    assert len(got) == 60
    assert {url: match and match[1] for url, match in got.items()} == dict(rows.select("url", "trace_id").iter_rows())
    assert 0 < sum(match is not None and match[3] == "1" for match in got.values()) < 40


@pytest.mark.usefixtures("_plans_begin_at_once")
def test_both_targets_of_a_duet_have_ids_of_their_own_and_a_sweep_never_repeats_one(
    server: LoggingNginx, tmp_path: Path
) -> None:
    log, other = log_of(tmp_path, 20), server.url_for(()).replace("127.0.0.1", "localhost")
    base = ("--trace", "1%", "--seed", 3, "--force")
    words = ("duet", log, server.url_for(()), other, "--tps", 200, *base)
    assert run([str(word) for word in (*words, "-o", tmp_path / "duet")]) in (0, 3)
    ids = pl.concat(
        [scan(tmp_path / "duet" / f"{name}.csv").collect()["trace_id"] for name in ("baseline", "candidate")]
    )
    assert ids.n_unique() == 40
    sent = [SENT.fullmatch(header) for _, header in server.rows() if header != "-"]
    assert {match[1] for match in sent if match} == {*ids}
    steps = ("sweep", "100,200", log, server.url_for(()), "--for", "300ms", "--warmup", "200ms", *base)
    assert run([str(word) for word in (*steps, "--no-plots", "-o", tmp_path / "sweep")]) in (0, 3)
    rows = pl.concat([scan(tmp_path / "sweep" / name).collect() for name in ("results.csv", "warmup.csv")])
    assert rows["trace_id"].n_unique() == rows.height == 110


def test_an_own_traceparent_beside_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", str(log_of(tmp_path, 2)), "http://127.0.0.1:1", "--tps", "5", "--trace", "1%"]
    assert run([*words, "--header", "Traceparent: log"]) == 2
    assert "--trace and --header 'Traceparent: ...' exclude each other" in capsys.readouterr().err
