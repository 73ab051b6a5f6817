"""The command `find` on a real server of known capacity."""

from pathlib import Path

import pytest

from accuracy import find_live
from accuracy.swap_live import written
from search_servers import MM4


@pytest.mark.few
@pytest.mark.slow
def test_a_search_of_a_real_server_ends_and_promises_at_most_what_it_keeps(tmp_path: Path) -> None:
    with find_live.server(log := written(tmp_path)) as url:
        found = find_live.search(log, url, 1, "--start", "100", "--budget", "60s", "--trial", "3s")
    assert found["seconds"] < 90
    assert found["found"]
    assert 100 < found["rate"] <= 1.05 * MM4.truth


def test_searches_without_an_answer_are_counted_and_do_not_enter_the_promises() -> None:
    none = {"found": False, "range": None, "seconds": 60.0}
    held = {"found": True, "range": [200.0, 240.0], "rate": 220.0, "seconds": 121.0}
    assert find_live.row([none, held]) == "| 2 | 1 | 1 | 0 | -2.5% to -2.5% | 1 of 1 | 121 |"
    assert find_live.row([none]) == "| 1 | 0 | 0 | 0 | – | 0 of 0 | 60 |"


def test_an_error_beside_the_server_ends_it(tmp_path: Path) -> None:
    """The program waited for the end of the server, but did not end it."""
    with pytest.raises(ZeroDivisionError), find_live.server(written(tmp_path)):
        raise ZeroDivisionError
