"""``plan --scaling``: the number of machines by the scalability law that was measured, in place of n times one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.planning.demand_range import DemandRange
from logreplay.analysis.planning.machines import MachineLaw, Machines, Reserve, machines, read_law
from logreplay.analysis.planning.supply import NoAnswer
from logreplay.analysis.scaling.scale_out import ScalingPoint, scale_out
from logreplay.core.errors import LogreplayError

LAW = MachineLaw((0.1, 0.08, 0.12), (0.0, 0.0, 0.002), 4)


def saved(folder: Path, rates: list[float]) -> Path:
    points = [ScalingPoint(2**place, rate, 0.98 * rate, 1.02 * rate) for place, rate in enumerate(rates)]
    path = folder / "scaling.json"
    path.write_text(json.dumps(scale_out(points, tps=300).as_dict()))
    return path


def test_machines_share_something_so_more_of_them_are_needed_than_n_times_one() -> None:
    supply: Any = type("Supply", (), {"rate": 100.0, "low": 100.0, "high": 100.0})
    wanted = DemandRange(370.0, 360.0, 380.0)
    assert machines(wanted, supply, Reserve()) == Machines(4, 4, 4)
    assert machines(wanted, supply, Reserve(), LAW) == Machines(6, 5, 7)


@pytest.mark.parametrize(
    ("reserve", "number"),
    [(Reserve(), 3), (Reserve(headroom=0.2), 4), (Reserve(survive=1), 4), (Reserve(headroom=0.2, survive=1), 5)],
)
def test_a_reserve_is_kept_by_the_law_too(reserve: Reserve, number: int) -> None:
    """Of the 2.4 times that are needed 3 machines carry 2.5; with a fifth to spare it takes 4, which carry 3.08."""
    supply: Any = type("Supply", (), {"rate": 100.0, "low": 100.0, "high": 100.0})
    assert machines(DemandRange(240.0, 240.0, 240.0), supply, reserve, LAW).number == number


def test_a_load_beyond_the_law_is_refused() -> None:
    with pytest.raises(NoAnswer, match=r"20 times what one machine carries is needed.*no number up to 8, 2 times"):
        LAW.number(20)


def test_the_law_is_read_from_what_capacity_printed(tmp_path: Path) -> None:
    law = read_law(saved(tmp_path, [100, 160, 220]))
    assert law.largest == 4
    assert law.contention[1] <= 0.23 <= law.contention[2]
    assert "measured up to 4 machines, in place of n times one" in law.sentence


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("points", [{"number": 0}], "points[0].number is 0; expected a number from 1 to 1e+06"),
        ("points", [{"number": -3}], "points[0].number is -3"),
        ("points", [{"number": float("inf")}], "points[0].number is Infinity"),
        ("points", [{"number": 10**13}], "points[0].number is 10000000000000"),
        ("points", [], "points is []; expected a number of machines or more"),
        ("contention_low", -0.9, "contention_low is -0.9; expected a number from 0"),
        ("contention_high", 0.0, "contention_high is 0.0; expected a number from 0."),
        ("coherency", None, "coherency is missing or null"),
        ("kind", ["bent"], 'kind is ["bent"]; expected a text'),
    ],
)
def test_a_wrong_value_of_a_law_is_named(tmp_path: Path, key: str, value: object, told: str) -> None:
    path = saved(tmp_path, [100, 160, 220])
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(LogreplayError, match=re.escape(told)) as error:
        read_law(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("end", [None, float("inf"), 3.3e9, 1e308])
def test_a_law_without_an_upper_end_gives_no_largest_number_also_from_an_older_file(
    tmp_path: Path, end: float | None
) -> None:
    """Older files hold a large number in place of null."""
    path = saved(tmp_path, [100, 160, 220])
    path.write_text(json.dumps(json.loads(path.read_text()) | {"coherency_high": end}))
    law = read_law(path)
    assert re.search(r"coherency \S+ % \(0 or more\)", law.sentence)
    assert law.number(1, 1) == 1
    with pytest.raises(NoAnswer, match="is sure to carry it: measure more machines"):
        law.number(1.5, 1)


def test_a_straight_line_or_another_file_holds_no_law(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match="holds no scalability law: 4 machines carry 4 times"):
        read_law(saved(tmp_path, [100, 200, 400]))
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(LogreplayError, match=r"other.json is \[\]; expected an object; make the file with"):
        read_law(tmp_path / "other.json")
    with pytest.raises(LogreplayError, match="cannot be read"):
        read_law(tmp_path / "absent.json")
