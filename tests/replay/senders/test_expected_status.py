"""Two questions to one status: did the request fail, and is it the status of the log?"""

import numpy as np
import pytest

from logreplay.core.record import failed
from logreplay.replay.senders.expected_status import unexpected


@pytest.mark.parametrize(
    ("status", "expected", "fails", "surprises"),
    [
        (200, 200, False, False),
        (200, 0, False, False),
        (302, 200, False, True),
        (200, 304, False, False),
        (404, 200, True, True),
        (404, 0, True, True),
        (404, 404, False, False),
        (403, 404, False, True),
        (404, 499, True, True),
        (499, 499, True, True),
        (200, 499, False, False),
        (503, 404, True, True),
        (404, 500, True, True),
        (500, 500, False, False),
        (503, 500, False, True),
        (200, 404, False, True),
    ],
)
def test_a_status_is_judged_by_what_the_log_had(status: int, expected: int, *, fails: bool, surprises: bool) -> None:
    assert failed(*np.array([[0], [status], [expected]])).item() is fails
    assert unexpected(status, expected) is surprises
