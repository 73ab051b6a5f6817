"""Seconds in which nothing was answered are found, timed and named."""

from typing import Any

import numpy as np
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.verdict.outages import Outage, outages


def seen(
    down: tuple[float, float], rates: tuple[float, ...] = (50, 50), pause_s: float = 0.0, **errors: Any
) -> list[Outage]:
    """Evenly spaced requests for 10 s at each rate, of which those in a span of time fail."""
    arrivals = simulate.sweep(rates, 10, np.random.default_rng(1), poisson=False, pause_s=pause_s)
    failed = (arrivals.scheduled >= down[0]) & (arrivals.scheduled < down[1])
    columns: dict[str, Any] = {
        name: np.where(failed, value, 200 if name == "rc" else "") for name, value in errors.items()
    }
    return outages(arrays.read(simulate.results(arrivals, np.full(len(failed), 0.01), **columns)))


def test_an_outage_has_its_length_its_kind_and_its_time() -> None:
    (found,) = seen((3.4, 8.6), rc=502)
    assert found.text == "5.2 s of 502 at 00:00:03 UTC"
    assert (found.steps, found.waited) == ((0,), False)


def test_an_outage_over_two_steps_with_a_pause_between_them_is_one() -> None:
    (found,) = seen((8.5, 22.5), pause_s=8, error="refused")
    assert found.steps == (0, 1)
    assert found.text.startswith("14 s of refused at ")


def test_an_outage_that_lasts_to_the_end_has_no_length() -> None:
    (found,) = seen((12.5, 99), error="refused")
    assert found.text == "nothing but refused from 00:00:12 UTC on"


@pytest.mark.parametrize("down", [(0, 99), (50, 60), (3.0, 3.3)])
def test_a_target_that_never_answers_or_always_or_misses_a_moment_has_no_outage(down: tuple[float, float]) -> None:
    assert seen(down, rc=502) == []


def test_a_few_failures_in_a_row_are_no_outage() -> None:
    assert seen((3.0, 6.0), rates=(5, 5), rc=502) == []


def test_seconds_in_which_the_generator_dropped_all_requests_are_no_outage_of_the_target() -> None:
    assert seen((3.4, 8.6), error="dropped", rc=0) == []
