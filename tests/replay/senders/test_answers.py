"""Three questions to one status: does it fail, is the failure new, and is it what the log promised?"""

import numpy as np
import pytest

from logreplay.replay.senders.answers import failed, is_new_error, unexpected


@pytest.mark.parametrize(
    ("status", "expected", "fails", "new", "surprises"),
    [
        (200, 200, False, False, False),
        (200, 0, False, False, False),
        (302, 200, False, False, True),
        (200, 304, False, False, False),
        (404, 200, True, True, True),
        (404, 0, True, True, True),
        (404, 404, False, False, False),
        (403, 404, False, False, True),
        (404, 499, False, False, True),
        (503, 404, True, True, True),
        (404, 500, True, True, True),
        (500, 500, True, False, False),
        (503, 500, True, False, True),
        (200, 404, False, False, True),
    ],
)
def test_a_status_is_judged_by_what_the_log_had(
    status: int, expected: int, *, fails: bool, new: bool, surprises: bool
) -> None:
    got, had = np.array([status]), np.array([expected])
    assert failed(got, had).item() is fails
    assert is_new_error(got, had).item() is new
    assert unexpected(status, expected) is surprises
