"""A mix of routes differs where shares differ beyond chance; methods that were not sent are named."""

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.planning.route_mix import mix_change


def peak(**requests: int) -> pl.DataFrame:
    return pl.DataFrame({"method": "GET", "route": [f"/{name}" for name in requests], "requests": [*requests.values()]})


def sent(**requests: int) -> pl.DataFrame:
    return pl.DataFrame({"route": [f"/{name}" for name in requests], "requests": [*requests.values()]})


def test_the_same_mix_is_no_change() -> None:
    found = mix_change(peak(a=700, b=300), sent(a=7000, b=3000), ("GET",))
    assert (found.share, found.unsent, found.routes) == (0, 0, "")


def test_a_draw_from_the_same_mix_is_no_change_whatever_its_size() -> None:
    rng, shares = np.random.default_rng(3), np.array([0.5, 0.2, 0.1, *[0.02] * 10])
    for size in (20, 200, 2000, 20_000):
        drawn = rng.multinomial(size, shares, 50)
        for counts in drawn:
            routes = [f"/{at}" for at in range(len(shares))]
            table = pl.DataFrame({"method": "GET", "route": routes, "requests": counts})
            other = pl.DataFrame({"route": routes, "requests": rng.multinomial(5000, shares)})
            assert mix_change(table, other, ("GET",)).share < (0.03 if size >= 2000 else 0.1)


def test_a_route_that_the_peak_has_more_of_is_named_with_both_shares() -> None:
    found = mix_change(peak(search=5000, home=5000), sent(search=1000, home=9000), ("GET",))
    assert found.share == pytest.approx(0.4, abs=0.03)
    assert found.routes.startswith("/home 50 % of the peak and 90 % of those sent, /search 50 % of the peak and 10 %")


def test_methods_that_were_not_sent_are_counted_apart() -> None:
    table = pl.concat([peak(a=800), pl.DataFrame({"method": ["POST", "PUT"], "route": "/b", "requests": [150, 50]})])
    found = mix_change(table, sent(a=100), ("GET", "HEAD"))
    assert found.unsent == 0.2
    assert found.methods == ("POST", "PUT")
    assert found.share == 0


def test_nothing_sent_is_another_mix() -> None:
    assert mix_change(peak(a=500), sent(b=500), ("GET",)).share > 0.8


@pytest.mark.parametrize(("requests", "least"), [(10, 0.7), (9, 0.65), (2, 0.4)])
def test_many_small_routes_of_which_none_was_sent_are_another_mix(requests: int, least: float) -> None:
    """No route alone is beyond chance; all of them together are."""
    one, other = ({f"{letter}{at}": requests for at in range(500)} for letter in "ab")
    found = mix_change(peak(**one), sent(**other), ("GET",))
    assert found.share > least
    assert "/a0 0.2 % of the peak and 0 % of those sent" in found.routes


@pytest.mark.parametrize("size", [50, 500, 5000])
@pytest.mark.parametrize("others", [300, 3000, 30_000])
def test_many_small_routes_of_one_mix_are_no_other_mix(size: int, others: int) -> None:
    rng, names = np.random.default_rng(size + others), [f"/{at}" for at in range(1000)]
    for tail in (0.0, 0.6, 1.2):
        shares = np.arange(1, 1001.0) ** -tail
        drawn = [rng.multinomial(each, shares / shares.sum(), 10) for each in (size, others)]
        for counts in zip(*drawn, strict=True):
            both = [pl.DataFrame({"method": "GET", "route": names, "requests": each}) for each in counts]
            both = [each.filter(pl.col("requests") > 0) for each in both]
            assert mix_change(both[0], both[1].drop("method"), ("GET",)).share < (0.1 if size < 500 else 0.03)


def test_a_search_that_sent_nothing_has_another_mix() -> None:
    found = mix_change(peak(a=5), sent(a=1).clear(), ("GET",))
    assert (found.share, found.routes) == (1, "/a 100 % of the peak and 0 % of those sent")


def test_rare_routes_that_one_side_counts_together_are_no_other_mix() -> None:
    """A log of thousands of routes names the first thousand; a short sweep of it meets fewer, and names them all."""
    rest = pl.DataFrame({"method": "GET", "route": "(other)", "requests": [3000]})
    log = pl.concat([peak(a=7000), rest])
    sweep = sent(a=700, **{f"rare{at}": 3 for at in range(100)})
    assert mix_change(log, sweep, ("GET",)).share == 0
    turned = mix_change(peak(a=700, **{f"rare{at}": 3 for at in range(100)}), log.drop("method"), ("GET",))
    assert turned.share == 0
    assert mix_change(log, sent(a=700), ("GET",)).share == pytest.approx(0.25, abs=0.03)
