"""``--stop``: a condition that comes true stops the engine, and progress is shown all the same."""

from typing import Any

import pytest

from logreplay.calling.stopping import telling_gaps, watched
from logreplay.core.errors import UsageError
from logreplay.options.keywords import read
from logreplay.replay.results.outcome import Progress
from logreplay.replay.results.stop_rules import StopRule, parse


class Engine:
    def __init__(self) -> None:
        self.stopped: list[str] = []

    def stop(self, why: str) -> None:
        self.stopped.append(why)


def seen(engine: Any, *in_flight: int, shown: list[Progress] | None = None) -> list[Progress]:
    """What was given to a watch for more than 5 requests in flight."""
    progress = [Progress(float(second), count, count) for second, count in enumerate(in_flight, 1)]
    see = watched(StopRule([parse("in_flight>5")]), engine, None if shown is None else shown.append)
    for now in progress:
        see(now)
    return progress


def test_an_engine_is_stopped_with_the_reason() -> None:
    engine, shown = Engine(), list[Progress]()
    assert seen(engine, 1, 5, 6, shown=shown) == shown
    assert engine.stopped == ["in_flight>5: 6 in flight"]


def test_an_engine_below_all_limits_goes_on_also_if_nobody_looks() -> None:
    engine = Engine()
    seen(engine, 0, 5)
    watched(StopRule([]), engine)(Progress(1.0, 99, 99))  # type: ignore[arg-type]
    assert engine.stopped == []


def test_conditions_are_read_each_in_its_order() -> None:
    assert read("run", {"stop": ["p99>2s/10s", "in_flight>5"]})["stop"] == (parse("p99>2s/10s"), parse("in_flight>5"))
    assert read("run", {})["stop"] == ()
    with pytest.raises(UsageError, match="stop='p99': 'p99' is not a stop condition"):
        read("run", {"stop": "p99"})


def test_a_wait_for_the_next_request_of_a_log_is_told_once_for_each_gap_that_is_much_longer_than_those_before() -> None:
    told, shown = list[str](), list[Progress]()
    look = telling_gaps(shown.append, told.append)
    course = [(1.0, 1.5), (2.0, 100.0), (3.0, 100.0), (99.0, 100.0), (100.0, 250.0), (300.0, 7502.0), (301.0, None)]
    progress = [Progress(elapsed, 0, 0, next_due=due) for elapsed, due in course]
    for now in progress:
        look(now)
    assert shown == progress
    assert told == [
        f"waiting: by the log's times the next request is due in {how_long}; --skip-idle shortens such gaps"
        for how_long in ("98 s", "2 hours")
    ]
