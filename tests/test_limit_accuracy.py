"""The limits that sweeps name, of simulated and of real systems whose limit is known."""

import pytest

from accuracy import limit, limit_live, watch_live
from limit_servers import SERVERS, available, serving
from limit_systems import FAMILIES


def test_the_table_has_a_row_for_each_family(monkeypatch: pytest.MonkeyPatch) -> None:
    some = {name: FAMILIES[name] for name in ("workers", "delaying limiter", "refusing pool")}
    monkeypatch.setattr(limit, "FAMILIES", some)
    first, second = limit.table(1, 1).split("\n\n")
    assert [row.split("|")[1].strip() for row in first.splitlines()[2:]] == [*some, "no limit within the sweep"]
    assert "refusing pool" in second


@pytest.mark.slow
def test_few_causes_that_are_named_are_wrong() -> None:
    found = [limit.named(name, 3, number) for name in FAMILIES for number in range(4)]
    assert sum(each.wrong for each in found) <= 3
    assert sum(each.right for each in found) >= 0.5 * len(found)
    numbers = [each.number for each in found if each.number]
    assert sum(low <= truth <= high for _, low, high, truth in numbers) >= 0.8 * len(numbers)


@pytest.mark.slow
def test_the_limit_of_a_real_server_is_right_or_is_not_told() -> None:
    found = limit_live.limit_of("threads", 1, 2.0)
    assert found.kind is None or limit_live.is_right("threads", found), found.text


@pytest.mark.slow
def test_no_figure_but_that_of_the_full_pool_is_at_its_maximum() -> None:
    found = watch_live.watched_limit("pool_60", 1, 2.0)
    assert {each.name for each in found.watched if each.kind == "ceiling"} <= {"pool"}


def test_each_kind_of_server_can_be_started_or_is_missing() -> None:
    for kind in SERVERS:
        assert available(kind) or kind.startswith(("gunicorn", "nginx"))


def test_a_table_without_a_kind_of_server_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made, and written onto the page, with the other kinds only."""
    monkeypatch.setattr(limit_live, "available", lambda kind: kind != "nginx_429")
    with pytest.raises(SystemExit, match="not installed: nginx with a limit of 100/s that refuses"):
        limit_live.table(1, 1)


@pytest.mark.skipif(not available("nginx_429"), reason="needs nginx")
def test_an_error_beside_a_server_ends_it() -> None:
    """The end of the server was waited for, and nothing ended it."""
    with pytest.raises(ZeroDivisionError), serving("nginx_429"):
        raise ZeroDivisionError
