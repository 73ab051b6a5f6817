"""The documented configuration of Apache Otava finds a slowdown; needs ``otava``, in an environment of its own."""

import json
import random
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from logreplay.analysis.output.history import append, of_duet

OTAVA = shutil.which("otava")
PAGE = Path(__file__).parents[1] / "docs" / "howto" / "ci.md"


@pytest.mark.slow
@pytest.mark.skipif(OTAVA is None, reason="otava is not installed")
def test_the_documented_configuration_finds_a_slowdown(tmp_path: Path) -> None:
    assert OTAVA
    found = re.search(r"```yaml\n(tests:.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    (tmp_path / "otava.yaml").write_text(found[1])
    chance, now = random.Random(1), datetime.now(UTC)
    for number in range(24):
        ratio = chance.gauss(1.0 if number < 12 else 1.05, 0.01)
        known = ("p50", "p90", "p99") if number % 4 else ("p50", "p90")  # a short duet has no p99, and its row is apart
        quantiles = {name: {"ratio": ratio} for name in known}
        change = {"count": 900, "ratio": ratio, "low": ratio - 0.01, "high": ratio + 0.01}
        times = {"change": change, "quantiles": quantiles, "failed_more": [0.0]}
        summary = {"log": "a.csv", "verdict": "VALID", "times": times, "answers": {"share_different": 0.0}}
        row = of_duet(summary)
        append(tmp_path / "runs.csv", row | {"candidate": "b"}, now - timedelta(days=24 - number))
    command = (OTAVA, "analyze", "--config-file", "otava.yaml", "--output", "json", "shop")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    changes = [change for row in json.loads(done.stdout)["shop"] for change in row["changes"]]
    worse = {change["metric"]: float(change["forward_change_percent"]) for change in changes}
    assert worse["ratio"] == pytest.approx(5, abs=2)
    listed = subprocess.run((*command[:5], "regressions_only", "shop"), cwd=tmp_path, capture_output=True, text=True)
    assert "ratio" in listed.stdout
