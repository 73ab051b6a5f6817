"""The part of the page on saturation is made from simulated systems, routes and failures."""

import pytest

from accuracy import saturation
from support.simulated_systems import SYSTEMS
from support.unlike_systems import UNLIKE


def test_the_tables_count_verdicts_routes_and_failures_and_name_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saturation, "SYSTEMS", SYSTEMS[:1])
    monkeypatch.setattr(saturation, "UNLIKE", UNLIKE[-1:])
    for name in ("_PER_SHARE", "_HEALTHY", "_FAILING"):
        monkeypatch.setattr(saturation, name, 1)
    rows = [row.split("|")[1:-1] for row in saturation.table(1, 7).splitlines() if row]
    told = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert told["other systems"][:4] == ["1", "1", "1", "0"]
    assert told["30 % of the requests have a pool of their own"] == ["1", "1"]
    assert told["all routes share one queue"] == ["1", "0"]
    assert told["1 %, in bursts of 20"] == ["1", "0"]
    assert told[UNLIKE[-1].name][0] == "none in the sweep"
