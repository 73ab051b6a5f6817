"""Targets of a duet against each other."""

import pytest

from logreplay.core.errors import UsageError
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.runs.pair import checked_targets


def endpoints(**addresses: str) -> dict[str, Endpoint]:
    """A target of each name, on its own port of an address."""
    found = enumerate(addresses.items(), 8000)
    return {name: Endpoint(parse_target(f"http://{address}:{port}"), (address,)) for port, (name, address) in found}


def four(*addresses: str) -> dict[str, Endpoint]:
    return endpoints(**dict(zip(("baseline", "candidate", "baseline2", "candidate2"), addresses, strict=True)))


def test_two_names_of_one_target_are_noted() -> None:
    found = endpoints(baseline="192.0.2.1", candidate="192.0.2.2")
    assert not [*checked_targets(found)]
    (note,) = checked_targets(found | {"candidate": found["baseline"]})
    assert (
        note
        == "BASELINE and CANDIDATE name one target, http://192.0.2.1:8000; any difference between them is due to chance"
    )


def test_pairs_with_a_common_target_are_refused() -> None:
    found = four("192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.1")
    assert not [*checked_targets(found)]
    with pytest.raises(
        UsageError, match=r"^CANDIDATE and --swap BASELINE2 name one target, http://192\.0\.2\.2:8001: run "
    ):
        [*checked_targets(found | {"baseline2": found["candidate"]})]


def test_a_second_pair_whose_machines_are_not_swapped_is_refused() -> None:
    said = "^BASELINE and --swap BASELINE2 are on one machine, 192.0.2.1, and CANDIDATE on another, so that no role is "
    with pytest.raises(UsageError, match=said):
        [*checked_targets(four("192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"))]


@pytest.mark.parametrize("address", ["192.0.2.1", "127.0.0.1"])
def test_addresses_that_tell_no_machines_apart_are_taken(address: str) -> None:
    """Those of one machine, or of one proxy before all of them; and of this machine each is its own."""
    other = address if address == "192.0.2.1" else "127.0.0.2"
    assert not [*checked_targets(four(address, other, address, other))]
