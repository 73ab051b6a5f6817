"""What `find` promises in two minutes holds, on simulated servers whose sustainable rate is known."""

import pytest

from search_rehearsal import score
from search_servers import GARBAGE, LIMITED, MM1, MM4, NOISY, SHARED, SHEDDING, WALL, WANDERING, Server

KINDS = (MM4, NOISY, WALL, GARBAGE, MM1, SHARED, LIMITED, SHEDDING, WANDERING)


@pytest.mark.slow
@pytest.mark.parametrize("server", KINDS, ids=lambda server: server.name)
def test_two_minutes_give_a_promise_that_holds(server: Server) -> None:
    """At most 5 % promise over 2 % too much, and 10 % nothing; of 25 searches that may be 4 and 6 by chance."""
    found = score(server, range(25))
    assert found.seconds.max() <= 150
    assert found.over <= 4 / 25
    assert found.without <= 6 / 25
    assert found.trials.max() <= 20


def test_a_promise_holds_and_a_longer_budget_narrows_it() -> None:
    short, long = score(MM4, range(3)), score(MM4, range(3), 600.0)
    assert max(short.over, long.over) == 0
    assert short.seconds.max() <= 150 < long.seconds.max() <= 700
    assert -0.2 < short.promised.mean() < long.promised.mean()
