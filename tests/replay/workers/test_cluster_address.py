"""The address of a Dask cluster."""

import pytest

from logreplay.core.errors import UsageError
from logreplay.replay.workers.cluster_address import local_workers


def test_local_workers_are_counted_and_those_of_a_scheduler_are_not() -> None:
    assert local_workers("local:3") == 3
    addresses = ("tcp://scheduler:8786", "tls://10.0.0.5:8786", "[::1]:8786", "tcp://[fe80::1%eth0]:1", "ws://h:1")
    assert [local_workers(address) for address in (None, *addresses)] == [None] * 6


@pytest.mark.parametrize("address", ["", "4", "local:", "local:0", "local:1001", "inproc://1/2/3", "tcp://h", "h:0"])
def test_another_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="expected the address of a Dask scheduler"):
        local_workers(address)
