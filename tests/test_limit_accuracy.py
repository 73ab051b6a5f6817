"""The limits that sweeps name, of simulated and of real systems whose limit is known."""

from urllib.request import urlopen

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
def test_the_limit_of_a_real_server_is_told_in_one_of_three_sweeps_and_is_right() -> None:
    """A busy machine sends requests late, and then no limit is named."""
    sweeps = [limit_live.limit_of("threads", 1, 2.0)]
    while sweeps[-1].kind is None and len(sweeps) < 3:
        sweeps.append(limit_live.limit_of("threads", 1 + len(sweeps), 2.0))
    assert limit_live.is_right("threads", sweeps[-1]), [each.text for each in sweeps]


@pytest.mark.slow
def test_the_figure_of_the_full_pool_and_no_other_is_at_its_maximum() -> None:
    assert watch_live.is_decided(watch_live.watched_limit("pool_60", 1, 3.0), "pool")


def test_a_table_without_a_kind_of_server_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with the other kinds only was made and written onto the page."""
    monkeypatch.setattr(limit_live, "available", lambda kind: kind != "nginx_429")
    with pytest.raises(SystemExit, match="not installed: nginx with a limit of 100/s that refuses"):
        limit_live.table(1, 1)


@pytest.mark.skipif(not available("nginx_429"), reason="needs nginx")
def test_an_error_beside_a_server_ends_it() -> None:
    """The program waited for the end of the server, but did not end it."""
    with pytest.raises(ZeroDivisionError), serving("nginx_429"):
        raise ZeroDivisionError


@pytest.mark.parametrize("kind", SERVERS)
def test_each_kind_of_server_answers(kind: str) -> None:
    if not available(kind):
        assert kind.startswith(("gunicorn", "nginx"))
        pytest.skip("its program is not installed")
    with serving(kind) as server, urlopen(server.url, timeout=10) as response:
        assert response.status == 200
