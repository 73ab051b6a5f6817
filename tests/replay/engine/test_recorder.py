"""How long requests have been under way is counted without the generator's lag."""

import numpy as np
import polars as pl

from logreplay.replay.engine.recorder import InFlightChunk, Recorder
from logreplay.replay.engine.run_clock import RunClock, Start
from logreplay.replay.results.result_log import MemoryResults

SECOND = 1_000_000_000


def test_a_request_that_was_started_late_has_waited_since_it_was_first_seen_under_way() -> None:
    """Two requests are due at once; the second one is started 4 s late."""
    run_clock = RunClock(lambda: 0)
    run_clock.begin_run(Start(0, 0))
    recorder = Recorder(MemoryResults(), run_clock, threaded=False)
    recorder.register(InFlightChunk(0, pl.DataFrame({"row": [0, 1]}), np.zeros(2, np.int64), 0, 1.0))
    waited = []
    for next_seq, now in ((1, SECOND // 2), (1, 4 * SECOND), (2, 9 * SECOND // 2), (2, 5 * SECOND)):
        recorder.count_waiting(next_seq, now)
        waiting = recorder.counters.waiting
        waited.append((waiting.total, round(waiting.quantile(0.0) or 0, 1), round(waiting.quantile(1.0) or 0, 1)))
    assert waited == [(1, 0.0, 0.0), (1, 3.5, 3.5), (2, 0.0, 4.0), (2, 0.5, 4.5)]


def test_a_request_that_never_ends_does_not_make_the_memory_grow() -> None:
    """It kept each look of a run of a day, and went through all of them every second."""
    run_clock = RunClock(lambda: 0)
    run_clock.begin_run(Start(0, 0))
    recorder = Recorder(MemoryResults(), run_clock, threaded=False)
    recorder.register(InFlightChunk(0, pl.DataFrame({"row": [0]}), np.zeros(1, np.int64), 0, 1.0))
    for second in range(1, 1000):
        recorder.count_waiting(second, second * SECOND)
    assert len(recorder._looks) == 1
    assert (recorder.counters.waiting.quantile(1.0) or 0) > 990
