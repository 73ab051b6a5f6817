"""What the tests of the engine share."""

from pathlib import Path

import pytest

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A normalized CSV of 100 requests."""
    path = tmp_path / "access.csv"
    rows = [f"2026-01-01,00:00:{i % 60:02}.000000,0.01,0,0,{i},/page/{i}?q=%20{i},200,GET" for i in range(100)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


@pytest.fixture
def _plans_begin_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan does not wait for the next whole second of its run."""
    monkeypatch.setattr("logreplay.replay.engine.run_clock._SECOND", 1)
