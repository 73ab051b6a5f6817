"""Each large route has its own balance in each step."""

import numpy as np
import pytest

from logreplay.analysis.input import arrays
from logreplay.analysis.tables.slow_routes import route_balance
from support.unlike_systems import WIDE, system


def test_the_balance_of_a_large_log_is_that_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    requests = arrays.read(system("route of 30 %, queue").serve(WIDE.arrivals(rng), rng))
    whole = route_balance(requests).filter(route="/report")
    monkeypatch.setattr("logreplay.analysis.tables.slow_routes.SAMPLE", len(requests) // 3)
    part = route_balance(requests).filter(route="/report")
    assert part["completed"].to_list() == pytest.approx(whole["completed"].to_list(), rel=0.15)
    assert part["growth"][-1] == pytest.approx(whole["growth"][-1], abs=0.1)
