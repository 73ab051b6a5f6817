"""The share of a load that was sent in its time."""

from math import inf

import numpy as np
import pytest

from logreplay.replay.results.sent_share import SentShare
from logreplay.replay.senders.contract import RECORD

BASE = 7
S = 1_000_000_000
DUE = np.arange(1000, dtype=np.int64) * S // 100


def records(waits: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "np.ndarray[tuple[int], np.dtype[np.void]]":
    made = np.zeros(len(DUE), RECORD)
    made["start"], made["queued"] = BASE + DUE, waits * S
    return made


def share(waits: "np.ndarray[tuple[int], np.dtype[np.float64]]", end_s: float = 10.0) -> float:
    found, sent = SentShare(), records(waits)
    for at in range(0, 1000, 100):
        found.add(sent[at : at + 100], BASE, BASE)
    return found.of(end_s * S)


def test_all_that_was_sent_at_once_is_sent() -> None:
    assert share(np.zeros(1000)) == 1


def test_waits_of_one_length_leave_the_rate() -> None:
    assert share(np.full(1000, 0.5)) == pytest.approx(1)


@pytest.mark.parametrize("slower", [1.1, 2.0, 8.0])
def test_waits_that_grow_show_how_much_slower_the_sending_is(slower: float) -> None:
    assert share((slower - 1) * DUE / S) == pytest.approx(1 / slower, rel=0.01)


def test_one_request_that_waits_for_long_does_not_decide() -> None:
    waits = np.zeros(1000)
    waits[-1] = 60
    assert share(waits) == 0.999


def test_requests_written_before_the_last_was_taken_up_are_in_time() -> None:
    found = SentShare()
    found.add(records(DUE / S), BASE, inf)
    assert found.of(10.0 * S) == 1


def test_nothing_sent_is_nothing_late() -> None:
    assert SentShare().of(1.0) == 1
