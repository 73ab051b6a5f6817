"""Other requests among those of a log."""

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.record import SWAP_TURN, TARGET
from logreplay.replay.requests.combine import ForTargets, Mixed, Swap, duet_plan
from logreplay.replay.requests.headers import FixedHeader
from logreplay.replay.requests.plan import Requests
from logreplay.replay.requests.sources import RequestFile
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant, Limited
from support.shaped_replay import FAST, both_senders, server_saw, shaped, targets, written


def test_a_share_of_other_requests_is_spread_evenly(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *(f"GET /log/{n} 200" for n in range(57)))
    other = written(tmp_path / "other.csv", "GET /other/a 200", "POST /other/b 200", "GET /other/c 200")
    results = MemoryResults()
    stream = Mixed(Requests(log), Requests(other), 0.25)
    seen = targets(server_saw(stream, schedule=Limited(FAST, requests=100), results=results))
    places = [place for place, target in enumerate(seen) if target.startswith("/other")]
    assert places == list(range(3, 100, 4))
    assert seen[3] == "/other/a"
    assert seen[7] == "/other/c"
    assert [target for target in seen if target.startswith("/log")][:57] == [f"/log/{n}" for n in range(57)]
    assert stream.left_out == {"injected: method POST": 1}
    rows = results.frame.sort("seq")["row"].to_list()
    assert rows[:9] == [0, 1, 2, -1, 3, 4, 5, -3, 6]


@given(st.lists(st.integers(0, 50), max_size=20), st.floats(0.001, 0.95))
@settings(max_examples=100)
def test_the_share_is_exact_however_the_log_is_cut(sizes: list[int], share: float) -> None:
    class Pieces:
        left_out: object = {}

        def __init__(self, op: str, sizes: Sequence[int]) -> None:
            self.op, self.sizes = op, sizes

        def frames(self, rows: int = 1, begin: int = 0) -> object:
            for size in self.sizes:
                schema: dict[str, Any] = {"row": pl.Int64, "op": pl.String, "start": pl.Datetime("us")}
                yield pl.DataFrame({"row": range(size), "op": [self.op] * size, "start": [None] * size}, schema=schema)

    endless = [1000] * 60
    mixed = Mixed(Pieces("log", sizes), Pieces("other", endless), share)  # type: ignore[arg-type]
    ops = [op for frame in mixed.frames() for op in frame["op"].to_list()]
    assert ops.count("log") == sum(sizes)
    for n in range(len(ops) + 1):
        assert abs(ops[:n].count("other") - n * share) <= 1


@both_senders
def test_a_raw_request_mixed_in_has_one_host(shop: Path, tmp_path: Path, sender: str) -> None:
    (tmp_path / "request.txt").write_text("GET /raw HTTP/1.1\nhost: raw.example\nuser-agent: raw\n\n")
    other = Requests(RequestFile(tmp_path / "request.txt"))
    seen = server_saw(Mixed(shaped(shop, FixedHeader("Host", "shop.example")), other, 0.5), sender)
    assert {(one.target == "/raw", one.header("host")) for one in seen} == {
        (True, "raw.example"),
        (False, "shop.example"),
    }
    assert all(one.header("user-agent") for one in seen)


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, float("nan")])
def test_a_share_of_all_or_nothing_is_refused(share: float, tmp_path: Path) -> None:
    stream = Requests(tmp_path / "unread.csv")
    with pytest.raises(ValueError, match=r"^a share is above 0 % and below 100 %, got "):
        Mixed(stream, stream, share)


def test_the_rest_of_the_log_goes_without_when_the_others_end(tmp_path: Path) -> None:
    log = Requests(written(tmp_path / "log.csv", *(f"GET /log/{n} 200" for n in range(9))), loop=False)
    other = Requests(written(tmp_path / "other.csv", "GET /other 200"), loop=False)
    urls = [url for frame in Mixed(log, other, 0.5).frames(2) for url in frame["url"]]
    assert [url for url in urls if url != "/other"] == [f"/log/{n}" for n in range(9)]
    assert urls.count("/other") <= 1


@pytest.mark.parametrize("begin", [1, 2, 3, 10, 77, 400])
def test_both_streams_are_read_on_from_where_they_stood(tmp_path: Path, begin: int) -> None:
    log = Requests(written(tmp_path / "log.csv", *(f"GET /log/{n} 200" for n in range(90))))
    other = Requests(written(tmp_path / "other.csv", *(f"GET /other/{n} 200" for n in range(7))))
    third = Requests(written(tmp_path / "third.csv", *(f"GET /third/{n} 200" for n in range(5))))
    mixed = Mixed(Mixed(log, other, 0.3), third, 0.1)

    def urls(begin: int, count: int) -> list[str]:
        return list(islice((url for frame in mixed.frames(16, begin) for url in frame["url"]), count))

    assert urls(begin, 200) == urls(0, begin + 200)[begin:]


def for_targets(stream: ForTargets, count: int, begin: int = 0, block: int = 64) -> list[tuple[int, int]]:
    """Row and target of the first requests."""
    frames = chain.from_iterable(frame.select("row", TARGET).rows() for frame in stream.frames(block, begin))
    return list(islice(frames, count))


@pytest.mark.parametrize("targets", [2, 3])
def test_each_request_goes_to_all_targets_in_an_order_drawn_by_chance(log: Path, targets: int) -> None:
    sent = for_targets(ForTargets(Requests(log), targets, seed=3), 600 * targets)
    groups = [sent[at : at + targets] for at in range(0, len(sent), targets)]
    assert all(len({row for row, _ in group}) == 1 for group in groups)
    assert all({target for _, target in group} == set(range(targets)) for group in groups)
    for target in range(targets):
        first = sum(group[0][1] == target for group in groups)
        assert abs(first - 600 / targets) < 60
    assert [row for row, _ in sent[::targets]] == [row for row, _ in for_targets(ForTargets(Requests(log), 1), 600)]


@pytest.mark.parametrize("alternate", [False, True])
def test_the_draws_are_those_of_the_seed_wherever_the_stream_begins(log: Path, alternate: bool) -> None:
    stream = ForTargets(Requests(log), 2, seed=3, alternate=alternate)
    whole = for_targets(stream, 400)
    assert for_targets(stream, 400, block=7) == whole
    assert for_targets(stream, 300, begin=100) == whole[100:]
    assert for_targets(ForTargets(Requests(log), 2, seed=4, alternate=alternate), 400) != whole


def test_alternating_gives_each_target_about_its_share(log: Path) -> None:
    sent = for_targets(ForTargets(Requests(log), 2, alternate=True), 1000)
    assert [row for row, _ in sent] == [row for row, _ in for_targets(ForTargets(Requests(log), 1), 1000)]
    assert 400 < sum(target for _, target in sent) < 600


@pytest.mark.parametrize("targets", [2, 3])
def test_two_pairs_take_turns_and_each_has_one_of_two(log: Path, targets: int) -> None:
    plan = duet_plan(ForTargets(Requests(log), targets), Constant(50, 40), Swap(2.0, targets, seed=1))
    rows = pl.concat([chunk.frame.with_columns(due=pl.Series(chunk.due / 1e9)) for chunk in plan])
    assert rows[SWAP_TURN].to_list() == (rows["due"] // 2).cast(pl.Int64).to_list()
    of_pairs = rows.filter(pl.col(TARGET) != 2) if targets == 3 else rows
    second = of_pairs.group_by(SWAP_TURN).agg(pl.col(TARGET).unique().sort()).sort(SWAP_TURN)
    pairs = second[TARGET].to_list()
    for first, other in zip(pairs[::2], pairs[1::2], strict=True):
        assert sorted([first, other]) == [[0, 1], [targets, targets + 1]]
    assert len({first[0] for first in pairs[::2]}) == 2  # drawn: else what recurs each minute would meet one pair
    assert rows.height - of_pairs.height == (rows.height // 3 if targets == 3 else 0)


def test_turns_far_apart_are_drawn_without_those_between_them() -> None:
    swap, far = Swap(0.001, seed=7), 10**14  # one number for each turn before it would take hundreds of terabytes
    turns = np.array([0, 1, 5, far, far + 1, 5])
    drawn = swap.second(turns)
    assert drawn[[0, 3]].tolist() == (~drawn[[1, 4]]).tolist()
    assert drawn.tolist() == [bool(swap.second(turn)[0]) for turn in turns.reshape(-1, 1)]


def test_turns_are_the_same_however_the_plan_is_cut() -> None:
    swap, instants = Swap(0.5, seed=7), np.arange(0, 60_000_000_000, 90_000_000)
    whole = swap.second(swap.turns(instants))
    parts = [swap.second(swap.turns(part)) for part in np.array_split(instants, 37)]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert Swap(0.5, seed=8).second(swap.turns(instants)).tolist() != whole.tolist()
