"""The routes of any part of a log are counted, whether it fits into memory or not."""

import polars as pl
import pytest

from logreplay.analysis.demand import log_profile


@pytest.mark.parametrize("memory", [100, 1 << 20])
def test_the_routes_of_some_seconds_are_counted_also_on_disk(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    monkeypatch.setattr(log_profile, "_IN_MEMORY", memory)
    parts = [pl.DataFrame({"second": [at] * 100, "op": "GET", "route": pl.Series([at] * 100, dtype=pl.UInt16)})
             for at in range(9)]  # fmt: skip
    with log_profile.RouteSpool() as spool:
        for part in parts:
            spool.add(part)
        assert spool.between(3, 5).rows() == [("GET", 3, 100), ("GET", 4, 100)]
