"""Pairs of answers, as the keeper samples them."""

import os
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from logreplay.core.errors import LogreplayError
from logreplay.replay.senders import pair_keeper
from logreplay.replay.senders.contract import ERROR_CODES
from logreplay.replay.senders.digests import Head, ReceivedAnswer
from logreplay.replay.senders.pair_keeper import (
    FILES,
    PairCounts,
    PairKeeper,
    RouteCounts,
    SamplingConfig,
    read_counts,
    read_pairs,
)

HEAD = b"HTTP/1.1 200 OK\r\nDate: now\r\nX-A: 1\r\n"
SECOND = 1_000_000_000


class Paths:
    """Each URL is a route."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def of(self, urls: pl.Series) -> NDArray[np.uint16]:
        self.names += [url for url in urls.unique(maintain_order=True) if url not in self.names]
        return np.array([self.names.index(url) for url in urls], np.uint16)


def keeper(folder: Path, together: int = 2) -> PairKeeper:
    made = PairKeeper(SamplingConfig(folder, together, 1.0, Paths, lambda name: name == "date"))
    made.open()
    return made


def answer(body: bytes | None, head: bytes = HEAD, status: int = 200) -> ReceivedAnswer:
    return ReceivedAnswer(status, head, body, len(body or b""), hash(body) & 0xFFFFFFFFFF, "")


def planned(keeper: PairKeeper, pair: int, url: str = "/a") -> None:
    keeper.plan(pl.DataFrame({"row": pair, "url": [url] * len(keeper.listeners)}))


def hears(keeper: PairKeeper, pair: int, target: int, answer: ReceivedAnswer) -> None:
    status, head, body, size, digest, error = answer
    assert not body or keeper.room.hold(len(body))
    seq = pair * len(keeper.listeners) + target
    keeper.listeners[target].take((seq, body, (status, size, digest, ERROR_CODES[error], head)))


def ends(keeper: PairKeeper, pair: int, *answers: ReceivedAnswer, url: str = "/a") -> None:
    planned(keeper, pair, url)
    for target, each in enumerate(answers):
        hears(keeper, pair, target, each)


def read(folder: Path) -> tuple[list[tuple[int, str, list[bytes | None]]], dict[str, tuple[int, int, int]]]:
    (path,) = folder.glob(FILES)
    assert os.stat(path).st_mode & 0o777 == 0o600
    pairs = [(pair.row, pair.route, [each.body for each in pair.answers]) for pair in read_pairs(path)]
    return pairs, {name: (one.pairs, one.differing, one.sampled) for name, one in read_counts(path).routes.items()}


def test_pairs_that_differ_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    keeps = keeper(tmp_path)
    ends(keeps, 0, answer(b"x"), answer(b"x", HEAD.replace(b"now", b"then")))
    ends(keeps, 1, answer(b"x"), answer(b"y"))
    ends(keeps, 2, answer(b"x"), answer(b"x", HEAD.replace(b"1\r", b"2\r")), url="/b")
    ends(keeps, 3, answer(b"x"), answer(b"x", status=500), url="/b")
    keeps.close()
    pairs, counts = read(tmp_path)
    assert pairs == [(1, "/a", [b"x", b"y"]), (2, "/b", [b"x", b"x"]), (3, "/b", [b"x", b"x"])]
    assert counts == {"/a": (2, 1, 1), "/b": (2, 2, 2)}


@pytest.mark.parametrize(("together", "cuts"), [(2, [3, 3, 1, 1, 4]), (3, [1, 1, 4, 5, 1]), (2, [12])])
def test_a_pair_has_its_own_url_wherever_a_plan_is_cut(tmp_path: Path, together: int, cuts: list[int]) -> None:
    """A plan is cut also in a pair, where the bodies before it are large."""
    keeps, at = keeper(tmp_path, together), 0
    rows = pl.DataFrame({"row": [n // together for n in range(12)], "url": [f"/{n // together}" for n in range(12)]})
    for height in cuts:
        keeps.plan(rows[at : at + height])
        at += height
    for pair in range(12 // together):
        for target in range(together):
            hears(keeps, pair, target, answer(b"%d" % target))
    keeps.close()
    assert [(row, route) for row, route, _ in read(tmp_path)[0]] == [(n, f"/{n}") for n in range(12 // together)]


def failed(error: str, status: int = 0) -> ReceivedAnswer:
    return ReceivedAnswer(status, b"", None, 0, 0, error)


def test_pairs_without_an_answer_to_compare_are_counted_apart(tmp_path: Path) -> None:
    """Two requests that failed alike were counted as equal answers, and two that timed out as well."""
    keeps = keeper(tmp_path)
    for pair, both in enumerate((("refused", "refused"), ("timeout", "timeout"), ("", "connect_timeout"),
                                 ("cancelled", ""), ("", ""), ("refused", "reset"), ("", "closed"))):  # fmt: skip
        ends(keeps, pair, *(failed(error) if error else answer(b"x") for error in both))
    ends(keeps, 7, failed("short_body", 200), failed("short_body", 200))
    keeps.close()
    (path,) = tmp_path.glob(FILES)
    assert read_counts(path) == PairCounts({"/a": RouteCounts(3, 2, 2)}, timed_out=2)
    assert [row for row, *_ in read(tmp_path)[0]] == [5, 6]


def test_heads_differ_by_the_headers_that_are_compared_in_any_order(tmp_path: Path) -> None:
    keeps = keeper(tmp_path)
    others: list[Head] = [
        b"HTTP/1.1 200 Fine\r\nX-A: 1\r\ndate: then\r\n",
        b"HTTP/1.1 200 OK\r\nDate: now\r\nX-B: 1\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: 1\r\n",
        ((b"x-a", b"1"), (b"date", b"now")),
        ((b"x-a", b"2"),),
    ]
    for pair, head in enumerate(others):
        ends(keeps, pair, answer(b"x"), answer(b"x")._replace(head=head))
    keeps.close()
    assert [row for row, *_ in read(tmp_path)[0]] == [1, 4]


def test_three_targets_make_one_pair(tmp_path: Path) -> None:
    keeps = keeper(tmp_path, 3)
    ends(keeps, 0, answer(b"x"), answer(b"x"), answer(b"z"))
    ends(keeps, 1, answer(b"x"), answer(b"x"), answer(b"x"))
    keeps.close()
    assert read(tmp_path) == ([(0, "/a", [b"x", b"x", b"z"])], {"/a": (2, 1, 1)})


def test_a_pair_that_never_ends_is_forgotten_and_gives_its_room_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0
    monkeypatch.setattr(pair_keeper, "monotonic", lambda: now)
    keeps = keeper(tmp_path)
    ends(keeps, 0, answer(b"x" * 1000))
    planned(keeps, 1)
    for pair, minute in ((2, 1), (3, 2), (4, 3)):
        now = minute * 60 * SECOND
        ends(keeps, pair, answer(b"x"), answer(b"y"))
        for target in range(2):
            keeps._pair(target)
    assert not keeps._incomplete
    assert not keeps._about
    assert keeps.room.held == keeps._in_block
    for pair, target in ((0, 1), (1, 0), (1, 1)):
        hears(keeps, pair, target, answer(b"y" * 1000))  # too late
    keeps.close()
    assert [row for row, *_ in read(tmp_path)[0]] == [2, 3, 4]
    assert keeps.room.held == keeps.room.freed


def test_a_pair_without_its_last_answer_is_counted(tmp_path: Path) -> None:
    keeps = keeper(tmp_path)
    ends(keeps, 0, answer(b"x" * 1000))
    planned(keeps, 1)
    ends(keeps, 2, answer(b"x"), answer(b"y"))
    keeps.close()
    assert read_counts(*tmp_path.glob(FILES)) == PairCounts({"/a": RouteCounts(1, 1, 1)}, timed_out=0)
    assert keeps.room.held == keeps.room.freed


def test_the_sample_is_uniform_over_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_keeper, "MOST_KEPT", 100)
    keeps = keeper(tmp_path)
    for pair in range(1200):
        ends(keeps, pair, answer(b"x"), answer(b"y"))
    keeps.close()
    pairs, counts = read(tmp_path)
    assert counts == {"/a": (1200, 1200, 100)}
    assert len({row for row, *_ in pairs}) == 100
    parts = Counter(row // 400 for row, *_ in pairs)
    assert all(15 < parts[part] < 55 for part in range(3))


def test_memory_does_not_grow_with_the_number_of_differing_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_keeper, "MOST_KEPT", 10)
    keeps = keeper(tmp_path)

    def differ(pairs: range) -> int:
        for pair in pairs:
            ends(keeps, pair, answer(b"%01000d" % pair), answer(b"x"))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        few = differ(range(100))
        assert differ(range(100, 500)) - few < 100_000
    finally:
        tracemalloc.stop()
    keeps.close()
    assert read(tmp_path)[1] == {"/a": (500, 500, 10)}
    assert keeps.room.held == keeps.room.freed


def test_no_more_bodies_are_held_than_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_keeper, "MOST_HELD", 1000)
    keeps = keeper(tmp_path)
    assert keeps.room.hold(600)
    assert not keeps.room.hold(600)
    keeps.room.free(600)
    assert keeps.room.hold(600)
    keeps.close()


def test_a_long_file_goes_on_without_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_keeper, "MOST_WRITTEN", -1)
    keeps = keeper(tmp_path)
    ends(keeps, 0, answer(b"x"), answer(b"y"))
    keeps.close()
    assert read(tmp_path)[0] == [(0, "/a", [None, None])]


def test_a_file_without_its_end_counts_for_nothing(tmp_path: Path) -> None:
    keeps = keeper(tmp_path)
    ends(keeps, 0, answer(b"x"), answer(b"y"))
    keeps.close()
    (path,) = tmp_path.glob(FILES)
    path.write_bytes(path.read_bytes()[:-40])
    assert read(tmp_path) == ([], {})


def test_a_full_disk_ends_in_an_error_that_names_the_file(tmp_path: Path) -> None:
    keeps = keeper(tmp_path)
    keeps._file.close()
    with open("/dev/full", "wb", buffering=0) as full:
        keeps._file = full  # type: ignore[assignment]
        ends(keeps, 0, answer(b"x"), answer(b"y"))
        with pytest.raises(LogreplayError, match=r"\.pairs-.*the disk is full"):
            keeps.close()


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match="gone"):
        keeper(tmp_path / "gone")
