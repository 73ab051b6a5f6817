"""What the tests of reports share."""

import pytest
from markupsafe import Markup


@pytest.fixture
def without_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a report with empty pictures, which take a second to draw, for tests of its text."""
    monkeypatch.setattr("logreplay.analysis.output.html.svg", lambda *_: Markup("<svg></svg>"))
