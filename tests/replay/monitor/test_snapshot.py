"""A snapshot as JSON: nothing of it is lost."""

import json
from dataclasses import fields

from logreplay.replay.monitor.snapshot import BOUNDS, Snapshot, Stage, Times, Totals


def test_a_snapshot_is_read_back_from_its_json() -> None:
    snapshot = Snapshot(
        "sweep",
        'http://x/"\x1b',
        stage=Stage("step 1", 10.0),
        response=Times(p50=0.5),
        totals=Totals(status={200: 4}, errors={"timeout": 1}),
        watch={"cpu": None},
    )
    read = json.loads(json.dumps(snapshot.as_dict()))
    assert list(read) == [item.name for item in fields(Snapshot) if item.name != "durations"]
    assert (read["target"], read["stage"]["rate"], read["watch"]) == (snapshot.target, 10.0, {"cpu": None})
    assert (read["response"]["p50"], read["response"]["p99"]) == (0.5, None)
    assert read["totals"]["status"] == {"200": 4}


def test_the_bounds_of_the_buckets_rise() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))
