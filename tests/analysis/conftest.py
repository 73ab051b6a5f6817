"""What the tests of reports share."""

import pytest
from markupsafe import Markup

from logreplay.analysis.output import html


@pytest.fixture
def without_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a report with empty pictures, which take a second to draw, for tests of its text."""
    monkeypatch.setattr(html, "svg", lambda *_: Markup("<svg></svg>"))
