"""The costs of routes in words."""

import numpy as np
import polars as pl

from logreplay.analysis.costs.route_costs import cost_rows, described, remedy_for, route_costs, too_short
from logreplay.analysis.input.arrays import read
from support.simulated_costs import designed

NAMES = ("/search", "/item/{}", "/checkout")
COSTS, RATES = (0.002, 0.01, 0.05), (70.0, 25.0, 5.0)


def test_the_route_of_the_largest_share_comes_first_with_what_a_fifth_of_it_costs() -> None:
    found = described(NAMES, designed(np.random.default_rng(1), COSTS, RATES), resource="cpu", maximum=2.0)
    item = next(row for row in found.routes if row.route == "/item/{}")
    assert item.share_low < 0.25 / 0.64 < item.share_high
    assert item.fifth == 20 * item.share
    first = found.routes[0]
    assert first.share == max(row.share for row in found.routes)
    assert found.sentence.startswith(f"{first.route} takes {100 * first.share:.0f} %")
    assert "; cpu up to 0." in found.sentence
    assert "of 2" in found.sentence
    assert found.table["route"].to_list() == [row.route for row in found.routes]


def test_an_unknown_maximum_is_said() -> None:
    found = described(NAMES, designed(np.random.default_rng(1), COSTS, RATES), resource="cpu")
    assert found.sentence.endswith("the maximum of cpu is unknown: not checked that it stays below 70 %")


def test_routes_that_always_come_together_are_refused_by_name() -> None:
    steps = designed(np.random.default_rng(1), COSTS, RATES, without=[(0,), (1, 2)])
    together = next(row for row in described(NAMES, steps, resource="cpu").routes if "+" in row.route)
    apart = described(NAMES, designed(np.random.default_rng(1), COSTS, RATES, without=[]), resource="cpu")
    assert together.route == "/item/{} + /checkout"
    assert apart.sentence.startswith("route costs are not known: none of the routes can be told apart (always")
    assert apart.routes[0].why_not == "always together: /search, /item/{}, /checkout"


def test_a_route_too_cheap_to_tell_has_an_upper_end_only() -> None:
    found = described(NAMES, designed(np.random.default_rng(1), (0.00001, 0.01, 0.05), RATES), resource="cpu")
    row = found.routes[-1]
    assert (row.route, row.why_not) == ("/search", "too cheap to tell from nothing")
    *_, shown = cost_rows(found.routes)
    assert shown[0] == "/search"
    assert shown[1] == "–"
    assert shown[2].startswith("0–")
    assert "; 1 route not told apart" in found.sentence


def test_steps_too_short_for_a_range_are_said_to_be_so() -> None:
    found = described(NAMES, designed(np.random.default_rng(1), COSTS, RATES, seconds=5), resource="cpu")
    assert found.sentence.startswith(
        "route costs are not known: the steps have 2 readings at most, too few for a range; use --for 8s or longer"
    )
    assert described(NAMES, designed(np.random.default_rng(1), COSTS, RATES, seconds=8), resource="cpu").routes


def test_more_routes_than_the_fit_can_try_are_refused() -> None:
    steps = designed(np.random.default_rng(1), COSTS, RATES)
    found = described([f"/{n}" for n in range(25)], steps, resource="cpu")
    assert found.sentence == "route costs are not known: there are 25 routes, and a fit has 6 at most; leave out fewer"


def test_steps_that_do_not_count_leave_no_costs() -> None:
    found = described(NAMES, [], resource="cpu", aside=(0, 1, 2))
    assert found.sentence == (
        "route costs are not known: only 0 steps count; use a lower rate, or longer steps with --for"
    )
    assert found.left_out == (0, 1, 2)


def test_the_remedy_is_that_of_what_the_steps_show() -> None:
    """A lower rate and longer steps were the advice where requests failed, too."""
    sound = dict.fromkeys(("over", "failing", "generator"), False)
    busy, failing = pl.DataFrame([sound, {**sound, "generator": True}]), pl.DataFrame([{**sound, "failing": True}])
    assert remedy_for(pl.DataFrame([sound])) == "use a lower rate, or longer steps with --for"
    assert remedy_for(failing) == "see why requests fail with run --crash"
    found = described(NAMES, [], resource="cpu", aside=(0, 1), remedy=remedy_for(busy))
    assert found.sentence.endswith("only 0 steps count; stop other programs, or send from another machine")


def test_steps_that_are_too_short_for_costs_are_foreseen() -> None:
    assert too_short(6).endswith("need steps of 8 s or more, and these last 6 s: use --for 8s")
    assert not too_short(8)


def test_no_other_series_than_that_of_the_processor_is_taken_for_its_time() -> None:
    """The connections to a cache were told as processor seconds of each request."""
    seconds = pl.DataFrame({"second": [0], "watch_redis_connections": [5.0], "watch_cpu_percent": [80.0]})
    found = route_costs(read(pl.DataFrame([ROW])), seconds, pl.DataFrame(), {}, {})
    assert not found.routes
    assert found.sentence == (
        "route costs are not known: no single one of redis_connections, cpu_percent has cpu in its name, in cores"
    )


ROW = {"scheduled": 0.0, "latency": 0.01, "xfertime": 0.0, "rc": 200}
