"""Equal targets over HTTP/2 are not called different; `benchmarks.equal_duets` makes more, and longer, duets."""

from pathlib import Path

import pytest

from benchmarks.equal_duets import called


@pytest.mark.slow
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_equal_targets_are_not_called_different(tmp_path: Path, tls: bool) -> None:
    """By more than chance: one of a few short duets may err."""
    assert called(tmp_path, 4, 1.7, tls=tls)["equal"] >= 3
