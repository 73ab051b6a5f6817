"""The ranges of plan hold what the next four weeks need, on simulated months of known demand and known machines."""

import numpy as np
import pytest

import traffic
from accuracy import plan
from accuracy.plan import Month, hours_held, overloaded, planned, table
from logreplay.analysis.demand import rates
from traffic import Traffic


def test_the_table_of_the_page_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    months = plan._months()
    monkeypatch.setattr(plan, "_months", lambda: {name: months[name] for name in [*months][:2]})
    monkeypatch.setattr(plan, "NEXT", 1)  # weeks for which an autoscaler is simulated; the page has four
    made = table(1, 2000)
    assert "| weeks differ by 20 % |" in made
    assert "| range of an hour of the week, four weeks |" in made
    assert "| autoscaler |" in made


@pytest.mark.slow
def test_the_range_holds_the_machines_of_the_next_weeks() -> None:
    found = [planned(Month(weeks=weeks), seed) for weeks in (2, 4) for seed in range(2000, 2012)]
    assert np.mean([each.planned.low <= each.needed <= each.planned.high for each in found]) >= 0.85
    assert np.mean([each.planned.high - each.planned.low for each in found]) < 5


@pytest.mark.slow
def test_the_range_of_an_hour_holds_the_next_week_in_three_of_five() -> None:
    assert 0.5 < np.mean([hours_held(0.0, seed) for seed in range(2000, 2010)]) < 0.7


@pytest.mark.slow
def test_an_autoscaler_with_the_target_carries_the_next_weeks() -> None:
    share, pods = np.array([overloaded(Traffic(), 90.0, seed) for seed in range(2000, 2006)]).T
    assert share.max() < 0.01
    assert pods.min() >= 1


def test_simulated_traffic_has_its_mean_rate_and_its_bursts() -> None:
    rng = np.random.default_rng(1)
    seconds, counts = traffic.requests(np.full(2000, 50.0), Traffic(dispersion=5.0), rng)
    assert counts.sum() / (2000 * 60) == pytest.approx(50, rel=0.02)
    assert rates.dispersion(seconds, counts, rates.MINUTE) == pytest.approx(5, rel=0.15)
    profile = traffic.profile(seconds, counts, 2000)
    assert profile.span == 120_000
    assert counts.sum() <= profile.requests <= counts.sum() + 2
