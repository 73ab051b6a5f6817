"""Which requests of a log a server receives, and with which urls."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, quote_plus

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.core.record import REASON
from logreplay.replay.requests.filters import (
    Custom,
    Excluding,
    FromRow,
    FromTime,
    Matching,
    Param,
    Rewritten,
    Sampled,
    StatusIn,
    leave_out,
)
from support.shaped_replay import server_saw, shaped, targets, written


def test_only_get_and_head_are_sent_and_the_others_are_named(shop: Path) -> None:
    requests = shaped(shop)
    assert {one.line.split()[0] for one in server_saw(requests)} == {"GET", "HEAD"}
    assert requests.left_out == {"method POST": 1, "method PUT": 1}


def test_match_keeps_and_exclude_leaves_out(shop: Path) -> None:
    requests = shaped(shop, Matching([r"^/api/", r"^/old/"]), Excluding([r"page=\d"]))
    assert targets(server_saw(requests)) == ["/old/item/1", "/old/item/2", "/api/items"]
    assert requests.left_out == {"not matched": 4, "excluded": 3}


def test_status_keeps_what_the_log_has_with_it(shop: Path) -> None:
    requests = shaped(shop, StatusIn([(300, 399), (404, 404)]))
    assert targets(server_saw(requests)) == ["/old/item/2", "/api/items"]


def test_a_replay_may_begin_at_a_row_or_at_an_instant(shop: Path) -> None:
    assert targets(server_saw(shaped(shop, FromRow(8)))) == ["/api/items", "/end"]
    begin = FromTime(datetime(2026, 1, 1, 12, 0, 9, tzinfo=UTC))
    requests = shaped(shop, begin)
    assert targets(server_saw(requests)) == ["/end"]
    assert requests.left_out["before --from"] == 9


def test_a_sample_holds_all_requests_of_some_clients(tmp_path: Path) -> None:
    rows = [f"GET /{client}/{number} 200 10.0.{client}.1" for number in range(3) for client in range(20)]
    log = written(tmp_path / "clients.csv", *rows)
    seen = targets(server_saw(shaped(log, Sampled(50))))
    clients = {target.split("/")[1] for target in seen}
    assert 4 <= len(clients) <= 16
    assert len(seen) == 3 * len(clients)
    assert targets(server_saw(shaped(log, Sampled(50)))) == seen
    assert targets(server_saw(shaped(log, Sampled(50, seed=1)))) != seen
    assert len(server_saw(shaped(log, Sampled(100)))) == 60


def test_sampling_is_of_clients_in_the_long_run() -> None:
    sample = Sampled(20)
    frame = pl.DataFrame(
        {"row": range(20_000), "client": [f"10.{i >> 8}.{i & 255}.{i % 7}" for i in range(20_000)], "url": "/"}
    )
    kept = sample(frame)[REASON].null_count()
    assert 3700 < kept < 4300


def test_urls_are_rewritten_in_the_order_of_the_rules(shop: Path) -> None:
    rules = Rewritten.parse("s|^/old/|/new/|"), Rewritten.parse(r"s#/(\d+)-(\d\d)-(\d\d)/#/\1/\2/\3/#")
    assert targets(server_saw(shaped(shop, *rules)))[:2] == ["/new/2026/01/01/list?page=1", "/new/item/1"]


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("s|a|b|", "/aa", "/ba"),
        ("s|a|b|g", "/aa", "/bb"),
        ("s|A|b|gi", "/aa", "/bb"),
        (r"s|(/x\|/y)z|/n|", "/yz", "/n"),
        ("s|x|$1|", "/x", "/$1"),
        (r"s|/(.)|/\1\1|", "/x", "/xx"),
        ("s|^http://[^/]*||", "http://other.example/x", "/x"),
        ("s|.*| |", "/x", None),
        ("s|/|x|", "/x", None),
        ("s|/|http://other.example/|", "/x", None),
    ],
)
def test_a_rule_is_read_as_sed_reads_it(rule: str, before: str, after: str | None, tmp_path: Path) -> None:
    requests = shaped(written(tmp_path / "one.csv", f"GET {before} 200"), Rewritten.parse(rule))
    if after is None:
        with pytest.raises(LogreplayError, match="nothing to replay"):
            server_saw(requests)
    else:
        assert targets(server_saw(requests)) == [after]


@pytest.mark.parametrize("rule", ["", "s", "s|a", "s|a|b", "y|a|b|", "s|a|b|x", "s|(|b|", "sxaxbx"])
def test_what_is_no_rule_says_so(rule: str) -> None:
    with pytest.raises(ValueError, match=r"expected s|is not a valid regular expression"):
        Rewritten.parse(rule)


def test_a_parameter_is_set_or_added(shop: Path) -> None:
    seen = targets(server_saw(shaped(shop, Matching(["^/api"]), Param("page", "7 &#"))))
    assert seen == [
        "/api/items?page=7%20%26%23&sort=up",
        "/api/items?sort=up&page=7%20%26%23",
        "/api/items?page=7%20%26%23",
    ]


@pytest.mark.parametrize(
    ("url", "changed"),
    [
        ("/a?x=1&x=2&y=3", "/a?x=9&x=9&y=3"),
        ("/a?x&x&x=1&x&xy=2", "/a?x=9&x=9&x=9&x=9&xy=2"),
        ("/a#f", "/a?x=9#f"),
        ("/a?y=1#f?x=2", "/a?y=1&x=9#f?x=2"),
        ("/a?x=#f", "/a?x=9#f"),
        ("/a&x=1?y=2", "/a&x=1?y=2&x=9"),
        ("/login?next=/shop?x=5", "/login?next=/shop?x=5&x=9"),
        ("/login?x=/shop?y=5&y=6", "/login?x=9&y=6"),
        ("/a?%78=1&%58=1", "/a?%78=9&%58=1"),
        ("*", "*"),
    ],
)
def test_a_parameter_has_its_value_wherever_it_stands_before_the_fragment(url: str, changed: str) -> None:
    assert Param("x", "9")(pl.DataFrame({"url": [url]}))["url"].to_list() == [changed]


@pytest.mark.parametrize("name", ["a b", "a+b", "ä", "a&b=c", "A%", "%41", "id[]", "x?", "a.b-c"])
@pytest.mark.parametrize("spelled", [quote, quote_plus, lambda name: "".join(f"%{b:02x}" for b in name.encode())])
def test_a_parameter_is_found_however_the_log_writes_its_name(name: str, spelled: Callable[[str], str]) -> None:
    logged = spelled(name)
    (url,) = Param(name, "9")(pl.DataFrame({"url": [f"/p?{logged}=1&{logged}2=1"]}))["url"]
    assert url == f"/p?{logged}=9&{logged}2=1"


def test_a_shape_of_ones_own_composes(shop: Path) -> None:
    no_robots = Custom(lambda frame: leave_out(frame, pl.col("agent") == "probe", "robot"), ("agent",))
    requests = shaped(shop, no_robots, Matching(["health|end"]))
    assert targets(server_saw(requests)) == ["/end"]
    assert requests.left_out["robot"] == 1
