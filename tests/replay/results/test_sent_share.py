"""The share of a load that was sent in its time."""

from math import inf

import numpy as np
import pytest

from logreplay.replay.results.sent_share import SentShare
from logreplay.replay.senders.contract import ERROR_CODES, NO_CONNECTION, RECORD

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


def stopped_share(waits: "np.ndarray[tuple[int], np.dtype[np.float64]]", at: float = 10.0) -> float:
    """The share of a load that was stopped after some seconds, when requests that had waited until then were unsent."""
    found, left = SentShare(), at - DUE / S
    sent, unsent = records(np.minimum(waits, left)), waits > left
    sent["error"][unsent], sent["connection"][unsent] = ERROR_CODES["cancelled"], NO_CONNECTION
    found.add(sent[left > 0], BASE, BASE + at * S)
    return found.until(at * S)


def test_a_load_that_was_stopped_while_waits_grew_was_sent_as_far_as_it_was_written() -> None:
    assert stopped_share(9 * DUE / S) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("begin", [0, 2, 8])
def test_a_load_that_was_stopped_in_a_stall_was_sent_up_to_its_begin(begin: int) -> None:
    assert stopped_share(np.where(begin * S <= DUE, 60.0, 0.0)) == pytest.approx(begin / 10, abs=0.01)


def test_a_load_that_was_stopped_with_waits_of_one_length_was_sent() -> None:
    assert stopped_share(np.full(1000, 1.5)) == 1


@pytest.mark.parametrize("at", [1.3, 1.9, 3.9, 4.1])
def test_a_short_load_that_was_stopped_with_waits_of_one_length_was_sent(at: float) -> None:
    assert stopped_share(np.full(1000, 0.2), at) == 1


@pytest.mark.parametrize("at", [1.5, 3.2])
def test_a_short_load_that_was_stopped_while_waits_grew_was_sent_as_far_as_it_was_written(at: float) -> None:
    assert stopped_share(9 * DUE / S, at) == pytest.approx(0.1, abs=0.01)


def test_a_few_requests_that_wait_when_a_short_load_is_stopped_do_not_decide() -> None:
    waits = np.zeros(1000)
    waits[[-1, -3, -8]] = 1.0
    found, sent = SentShare(), records(waits)[-50:]
    sent["error"][[-1, -3, -8]], sent["connection"][[-1, -3, -8]] = ERROR_CODES["cancelled"], NO_CONNECTION
    found.add(sent, BASE, BASE + 10 * S)
    assert found.until(10.0 * S) == 1


def test_nothing_sent_before_a_stop_is_nothing_late() -> None:
    assert SentShare().until(1.0) == 1
