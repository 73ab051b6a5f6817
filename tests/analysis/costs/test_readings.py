"""Readings of a resource beside the requests of each route."""

from pathlib import Path

import numpy as np
import pytest

from logreplay.analysis import analyze
from logreplay.analysis.costs.readings import REST, step_readings, watched_resource


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["cpu", "db_cpu"], "cpu"),
        (["load", "web_cpu_per_s"], "web_cpu_per_s"),
        (["load"], None),
        (["redis_connections"], None),
        (["cpu_percent"], None),
        (["app_CPU_Pct", "app_cpu"], "app_cpu"),
        (["a_cpu", "b_cpu"], None),
        (["load", "queue"], None),
        ([], None),
    ],
)
def test_the_processor_is_known_by_its_name(names: list[str], found: str | None) -> None:
    assert watched_resource(names) == found


def test_readings_within_a_step_meet_the_requests_of_their_seconds_and_those_at_its_ends_are_left_out(
    tmp_path: Path,
) -> None:
    """Step 0 has 4 requests/s of /a and 2/s of others for 6 s; step 1 lacks /a."""
    head = "date,time,scheduled,lag,url,op,rc,connect,latency,xfertime,thinktime,bytes,step,offered"
    rows = [
        f"2026-01-01,00:00:{second:02},{second + 0.1 * at},0,{url},GET,200,0,0.01,0,0,1,{step},{rate}"
        for step, rate, urls in ((0, 6, ["/a"] * 4 + ["/b", "/c"]), (1, 2, ["/b", "/c"]))
        for second in range(10 * step, 10 * step + 6)
        for at, url in enumerate(urls)
    ]
    path = tmp_path / "results.csv"
    path.write_text("\n".join((head, *rows)) + "\n")
    used = "".join(f"{second},cpu,{0.1 * second!r}\n" for second in range(16) if second != 3)
    (tmp_path / "results.watch.csv").write_text("second,name,value\n" + used)
    found = analyze.analyse(path)
    assert found.requests is not None
    names, (first, second) = step_readings(found.requests, found.seconds, "cpu", {1: "/a"}, {0, 1})
    assert names == ("/a", REST)
    assert first.used == pytest.approx([0.2, 0.4])
    assert np.array_equal(first.sent, [[4, 2], [4, 2]])
    assert (second.without, second.sent.tolist()) == ("/a", [[0, 2]] * 3)
