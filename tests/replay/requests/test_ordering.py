"""Requests in another order than that of the log."""

from itertools import chain, islice
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS
from logreplay.replay.requests.bodies import LoggedBody
from logreplay.replay.requests.headers import LoggedHeaders
from logreplay.replay.requests.ordering import Drawn, Shuffled
from logreplay.replay.requests.plan import Requests
from logreplay.replay.schedules.rates import Limited
from support.shaped_replay import FAST, server_saw, shaped, targets, written


def test_shuffling_sends_each_request_once_in_another_order(shop: Path) -> None:
    requests = Shuffled(shaped(shop), seed=3)
    seen = targets(server_saw(requests))
    assert sorted(seen) == sorted(targets(server_saw(shaped(shop))))
    assert seen != targets(server_saw(shaped(shop)))
    assert seen == targets(server_saw(Shuffled(shaped(shop), seed=3)))
    assert seen != targets(server_saw(Shuffled(shaped(shop), seed=4)))
    assert requests.left_out == {"method POST": 1, "method PUT": 1}


def test_drawing_repeats_some_and_leaves_out_others(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *(f"GET /{n} 200" for n in range(60)))
    seen = targets(server_saw(Drawn(shaped(log), seed=1)))
    assert len(seen) == 60
    assert 25 < len(set(seen)) < 50


def test_shuffling_goes_round_with_all_requests_in_each_round(shop: Path) -> None:
    looped = Requests(shop, loop=True)
    seen = targets(server_saw(Shuffled(looped, seed=3), schedule=Limited(FAST, requests=24)))
    assert sorted(seen) == sorted(targets(server_saw(shaped(shop))) * 3)
    assert seen[:8] != seen[8:16]


def rows(stream: Shuffled | Drawn, count: int, block: int = 16) -> list[int]:
    """The rows of the log that the first requests of a stream are."""
    frames = chain.from_iterable(frame["row"].to_list() for frame in stream.frames(block))
    return list(islice(frames, count))


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_order_is_that_of_the_seed_whatever_the_size_of_the_blocks(log: Path, block: int) -> None:
    looped = Requests(log)
    shuffled = rows(Shuffled(looped, seed=5), 250, block)
    assert shuffled == rows(Shuffled(looped, seed=5), 250)
    for begin in (0, 100):
        assert sorted(shuffled[begin : begin + 100]) == list(range(100))
    assert len(rows(Shuffled(Requests(log, loop=False)), 1000, block)) == 100
    assert len(rows(Drawn(Requests(log, loop=False)), 1000, block)) == 100
    assert len(rows(Drawn(looped), 250, block)) == 250


@pytest.mark.parametrize("begin", [1, 99, 100, 130, 250])
def test_a_shuffled_log_is_read_on_from_where_it_stood(log: Path, begin: int) -> None:
    looped = Requests(log)
    rest = chain.from_iterable(frame["row"].to_list() for frame in Shuffled(looped, seed=5).frames(16, begin))
    assert list(islice(rest, 300)) == rows(Shuffled(looped, seed=5), begin + 300)[begin:]


def test_what_begins_later_is_drawn_anew(log: Path) -> None:
    def drawn(begin: int) -> list[int]:
        return next(Drawn(Requests(log), seed=5).frames(40, begin))["row"].to_list()

    assert drawn(40) == drawn(40)
    assert drawn(40) != drawn(0)


def test_another_order_has_no_times(log: Path) -> None:
    for stream in (Shuffled(Requests(log, loop=False)), Drawn(Requests(log, loop=False))):
        assert all(frame["start"].null_count() == frame.height for frame in stream.frames())


def test_a_log_without_a_request_is_an_error(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", "POST /a 200")
    for stream in (Shuffled(shaped(log)), Drawn(shaped(log))):
        with pytest.raises(LogreplayError, match="nothing to replay"):
            next(stream.frames())


@pytest.mark.parametrize("stream", [Shuffled, Drawn])
def test_requests_in_another_order_keep_their_bodies_and_the_headers_that_only_some_have(
    tmp_path: Path, stream: type[Shuffled] | type[Drawn]
) -> None:
    rows = [
        f"2026-01-01,00:{n // 60:02}:{n % 60:02},0,0,0,0,/{n},200,POST,X-{n // 300}: {n},\xff{n}\n" for n in range(600)
    ]
    (tmp_path / "log.csv").write_text(",".join((*CORE_COLUMNS, "headers", "body")) + "\n" + "".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("logreplay.core.rows._ROW_BYTES", 1)  # some batches
        requests = Requests(tmp_path / "log.csv", ("POST",), loop=False, shapes=(LoggedHeaders(), LoggedBody()))
        frame = pl.concat(stream(requests).frames(), how="diagonal")
    for row in frame.to_dicts():
        number = int(row["url"][1:])
        assert row["payload"] == f"\xff{number}".encode()
        assert [row["header:x-0"], row["header:x-1"]] == [str(number), None][:: 1 if number < 300 else -1]


def test_a_short_log_with_other_headers_in_each_part_is_begun_again(tmp_path: Path) -> None:
    rows = [f"2026-01-01,00:{n // 60:02}:{n % 60:02},0,0,0,0,/{n},200,GET,X-{n // 300}: {n}\n" for n in range(600)]
    (tmp_path / "log.csv").write_text(",".join((*CORE_COLUMNS, "headers")) + "\n" + "".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("logreplay.core.rows._ROW_BYTES", 1)
        frames = Requests(tmp_path / "log.csv", ("GET",), shapes=(LoggedHeaders(),)).frames(400)
        seen = pl.concat(list(islice(frames, 8)), how="diagonal")
    for row in seen.to_dicts():
        number = int(row["url"][1:])
        assert row[f"header:x-{number // 300}"] == str(number)
