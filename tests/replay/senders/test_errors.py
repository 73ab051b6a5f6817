"""Which word an error has."""

import errno
import ssl

import pytest

from logreplay.replay.senders.errors import connect_fault, is_race, local_fault, loss_fault


@pytest.mark.parametrize("name", ["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM", "EADDRINUSE"])
def test_errors_of_this_machine_are_told_from_those_of_the_target(name: str) -> None:
    error = OSError(getattr(errno, name), "no")
    assert local_fault(error) == name
    assert connect_fault(error) == "refused"
    assert local_fault(ConnectionRefusedError(errno.ECONNREFUSED, "no")) is None


def test_a_handshake_that_was_cut_short_is_no_reset() -> None:
    assert connect_fault(ConnectionResetError(errno.ECONNRESET, "reset")) == "reset"
    assert connect_fault(ConnectionResetError()) == "tls"
    assert connect_fault(ssl.SSLError("bad")) == "tls"


def test_a_handshake_that_takes_too_long_is_a_time_out() -> None:
    assert connect_fault(ConnectionAbortedError("SSL handshake is taking longer than 60 s")) == "connect_timeout"
    assert connect_fault(ConnectionAbortedError(errno.ECONNABORTED, "aborted")) == "refused"


def test_a_lost_connection_is_told_by_how_it_was_lost() -> None:
    assert loss_fault(None, in_body=False) == "closed"
    assert loss_fault(None, in_body=True) == "short_body"
    assert loss_fault(ConnectionResetError(errno.ECONNRESET, "reset"), in_body=True) == "reset"
    assert loss_fault(ssl.SSLError("bad"), in_body=True) == "tls"


@pytest.mark.parametrize(
    ("waited_ms", "idle_ms", "race"),
    [(0, 0, True), (40, 0, True), (51, 0, False), (500, 0, False), (500, -1, False), (500, 5000, True)],
)
def test_a_loss_is_a_race_within_a_round_trip_and_the_time_that_the_connection_was_idle(
    waited_ms: int, idle_ms: int, race: bool
) -> None:
    assert is_race(waited_ms * 1_000_000, 40e6, idle_ms * 1_000_000) is race
