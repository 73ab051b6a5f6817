"""The growth of a counter."""

import pytest

from logreplay.replay.monitor.presets.figures import Growth


def test_a_counter_is_read_as_its_growth_per_second_and_a_fall_is_told() -> None:
    growth = Growth()
    assert growth.since(10.0, 500) is None
    assert growth.since(11.0, 700) == 200
    assert growth.since(13.0, 800) == 50
    with pytest.raises(ValueError, match="the counter fell from 800 to 3: its server was restarted"):
        growth.since(14.0, 3)
    assert growth.since(15.0, 10) == 7
