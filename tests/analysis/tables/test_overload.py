"""What a target carried while its backlog formed is told from what it carried then."""

from dataclasses import replace

import numpy as np
import pytest

from logreplay.analysis.input import arrays
from logreplay.analysis.tables.overload import completed_falling_behind
from support.unlike_systems import WIDE, system


def test_what_was_carried_while_the_backlog_formed_is_not_what_was_carried_then() -> None:
    rng = np.random.default_rng(0)
    sweep = replace(WIDE, rates=[150, 300])
    requests = arrays.read(system("thrashes above 80").serve(sweep.arrivals(rng), rng))
    assert completed_falling_behind(requests, 1, usual=3.0) == pytest.approx(250, rel=0.1)
    assert np.isnan(completed_falling_behind(requests, 0, usual=3.0))
