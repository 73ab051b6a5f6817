"""The rules on a backlog, of targets that each of them tells."""

import numpy as np
import pytest

from limit_systems import FAMILIES, swept
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.rules import Fits, decide


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("delaying limiter", "paced"),
        ("batches", "batch"),
        ("pauses", "pauses"),
        ("a queue for each worker", "split"),
        ("a route with a pool of its own", "route"),
    ],
)
def test_a_clear_limit_is_named(name: str, kind: str) -> None:
    rng = np.random.default_rng([5, len(name)])
    requests = arrays.read(swept(FAMILIES[name](rng), rng))
    last = len(requests.labels) - 1
    low, stable = np.arange(last // 2), np.arange(last - 3)
    assert decide(Observations.of(requests), low, stable, [last - 1, last], requests.routes).kind == kind


def test_numbers_that_fit_about_as_well_as_the_best_are_accepted() -> None:
    fit = Fits({1: 40.0, 2: 15.0, 3: 4.0, 4: 2.0}, 10, 50.0, 60.0)
    assert fit.accepted == [3, 4]
    assert not fit.poor
    assert Fits({1: 40.0}, 10, 50.0, 60.0).poor


def test_without_a_backlog_nothing_is_told() -> None:
    rng = np.random.default_rng(6)
    requests = arrays.read(swept(FAMILIES["workers"](rng), rng))
    found = decide(Observations.of(requests), np.arange(2), np.arange(4), [])
    assert found.kind is None
    assert "add lower rates" in found.text
