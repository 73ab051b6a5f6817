"""What the tests of reports share."""

import pytest

from logreplay.analysis.output import html


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a report without its pictures, which take a second, for tests of its text."""
    monkeypatch.setattr(html, "_pictures", lambda _: [])
