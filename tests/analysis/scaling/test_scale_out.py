"""How many machines carry a load, in words and values."""

import json
import re
from collections.abc import Sequence

import numpy as np
import pytest

from logreplay.analysis.json_text import json_text
from logreplay.analysis.scaling.law import throughput
from logreplay.analysis.scaling.scale_out import ScaleOut, ScalingPoint, scale_out


def answer(rates: Sequence[float], tps: float | None = None, *, survive: int = 0, headroom: float = 0.0) -> ScaleOut:
    points = [ScalingPoint(2**place, rate, 0.98 * rate, 1.02 * rate) for place, rate in enumerate(rates)]
    return scale_out(points, tps=tps, survive=survive, headroom=headroom)


def bent(contention: float = 0.1, coherency: float = 0.0) -> list[float]:
    return list(throughput(np.array([[100.0, contention, coherency]]), np.array([1.0, 2, 4]))[0])


def test_the_number_of_machines_follows_the_law_and_not_n_times_one() -> None:
    found = answer(bent(0.1, 0.001), 370)
    assert found.machines == 6
    assert found.machines_low is not None
    assert found.machines_low <= 6
    assert found.machines_high is None or found.machines_high >= 6
    assert found.sentence.startswith(f"6 machines for 370/s ({found.machines_low}")
    assert "; n times one would be 4); 4 machines carry" in found.sentence
    assert "contention 10 % (" in found.sentence
    assert found.passed


def test_the_load_that_was_asked_for_and_the_reserve_stand_in_the_sentence() -> None:
    found = answer(bent(0.1, 0.001), 296, headroom=0.2, survive=1)
    assert found.machines == 7
    assert found.sentence.startswith("7 machines for 296/s, 20 % of each kept free, 1 machine lost (")
    refused = answer(bent(0.05, 0.05), 400, headroom=0.5)
    assert refused.peak_rate
    assert refused.sentence.startswith(
        "not known how many machines carry 400/s, 50 % of each kept free: no number of machines carries more than "
        f"{refused.peak_rate / 2:.3g}/s, 50 % of each kept free"
    )


def test_a_load_that_no_number_carries_is_refused_with_the_most_and_its_number() -> None:
    found = answer(bent(0.05, 0.05), 500)
    assert (found.machines, found.peak) == (None, 4)
    assert found.sentence.startswith("not known how many machines carry 500/s: no number of machines carries more than")
    assert found.verdict == "NO_ANSWER"


def test_machines_that_may_be_lost_are_counted_by_the_law_too() -> None:
    """A spare machine slows the others: where more carry less, a number with spare ones must still carry the load."""
    found = answer(bent(0.02, 0.02), 290, survive=1)
    rates = throughput(np.array([[100.0, 0.02, 0.02]]), np.arange(1.0, 9))[0]
    assert found.machines is not None
    assert (rates[found.machines - 2 : found.machines] >= 290).all()
    refused = answer(bent(0.02, 0.02), 350, survive=3)
    assert refused.machines is None
    assert "no number up to 8 carries it both with all of them and with 3 lost" in refused.sentence


def test_a_number_far_beyond_those_measured_is_refused() -> None:
    assert "more than 8 machines, 2 times the most measured, would be needed" in answer(bent(0.05), 650).sentence


@pytest.mark.parametrize(
    ("rates", "kind", "told"),
    [
        ([100, 200, 400], "straight", "4 machines carry 4 times (3.87–4.14) what 1 machine carries: straight up to 4"),
        (
            [100, 200, 250],
            "wall",
            "a wall, straight up to about 2.5 machines and level at 250/s: something that all share",
        ),
        (
            [100, 101, 100],
            "wall",
            "4 machines carry 1 times (0.967–1.03) what 1 machine carries: a wall, straight up to about 1 machine and",
        ),
        ([100, 160], "few", "n times one does not hold; a law needs 3 numbers of machines at least, such as 1,2,4,8"),
        ([100, 199], "few", "n times one may hold"),
        ([100, 400, 500], "unlike", "neither the universal scalability law nor a wall fits"),
    ],
)
def test_a_curve_that_has_not_bent_gives_no_number(rates: list[float], kind: str, told: str) -> None:
    found = answer(rates, 300)
    assert (found.kind, found.machines) == (kind, None)
    assert told in found.sentence
    assert found.as_dict()["points"][0] == {"number": 1, "rate": 100, "low": 98, "high": 102, "level": 1.645}


def test_one_number_of_machines_is_not_compared_with_itself() -> None:
    """3 machines carried 1 times what 3 machines carry, so that n times one may hold."""
    found = scale_out([ScalingPoint(3, 100, 98, 102)], tps=50)
    assert found.sentence == (
        "3 machines carry 100/s; others were not measured; a law needs 3 numbers of machines at least, such as 3,6,12"
    )


def test_points_that_scatter_widely_name_no_cause() -> None:
    """A wall at 173/s was found, and something that all share, though 200/s was measured."""
    points = [ScalingPoint(number, rate, 0.7 * rate, 1.3 * rate) for number, rate in ((1, 100), (2, 150), (4, 200))]
    found = scale_out(points, tps=50)
    assert (found.kind, found.machines) == ("uncertain", None)
    assert found.sentence.endswith(
        ": n times one does not hold; the points are too uncertain to tell a curve from a wall, so no number is given: "
        "measure 1,4,8,16, or longer"
    )


def test_an_upper_end_that_the_points_do_not_set_is_null_in_json_and_no_large_number() -> None:
    """One machine carried up to 1000000000000 requests/s, and coherency was 26 to 3.3e+11 %."""
    points = [ScalingPoint(n, rate, 0.9 * rate, 1.1 * rate) for n, rate in ((4, 100.0), (8, 50.0), (16, 20.0))]
    found = scale_out(points, tps=100)
    told = json.loads(json_text(found.as_dict()))
    assert found.kind == "bent"
    assert (told["single_high"], told["coherency_high"]) == (None, None)
    assert told["single_low"] < told["single"] < 1000
    assert told["contention_high"] < 1
    assert re.search(r"coherency 1\.1e\+02 % \(\d+ or more\);", found.sentence)


def test_points_that_say_nothing_of_one_machine_give_no_law() -> None:
    """One machine was said to carry 1000000000000 requests/s."""
    points = [ScalingPoint(n, rate, 0.6 * rate, 1.4 * rate) for n, rate in ((4, 100.0), (8, 40.0), (16, 9.0))]
    found = scale_out(points, tps=100)
    assert (found.kind, found.single, found.machines) == ("uncertain", None, None)


def test_points_that_scatter_widely_around_a_straight_line_are_not_called_a_wall() -> None:
    """Points at exactly n times one were too uncertain to tell a curve from a wall."""
    points = [ScalingPoint(number, 100.0 * number, 80.0 * number, 120.0 * number) for number in (1, 2, 4)]
    found = scale_out(points, tps=50)
    assert (found.kind, found.machines) == ("uncertain", None)
    assert found.sentence.endswith(
        ": n times one may hold; the points are too uncertain to tell a straight line from a curve, so no number is "
        "given: measure 1,4,8,16, or longer"
    )
