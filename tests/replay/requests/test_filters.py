"""What a server receives when a log is shaped."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from logreplay.parsers.record import LogreplayError
from logreplay.replay.engine.engine import Engine, Limits, replay
from logreplay.replay.requests.bodies import BodyFrom, LoggedBody, SizedBody
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
from logreplay.replay.requests.headers import NO_CACHE, FixedHeader, LoggedHeader, LoggedHost
from logreplay.replay.requests.hook import Hooked, Planned, load, signing
from logreplay.replay.requests.mix import Mixed
from logreplay.replay.requests.ordering import Drawn, Shuffled
from logreplay.replay.requests.plan import SAFE_METHODS, Plan, Requests, RequestStream, Shape
from logreplay.replay.requests.preview import preview
from logreplay.replay.requests.sources import RequestFile
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant, Limited, Schedule
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.encode import default_headers, render
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.wire import WireSender
from support.recording_server import Received, RecordingServer, recording

COLUMNS = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client,host,referer,agent,request_bytes,body"
FAST = Constant(5000)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A log of ten requests of a shop, two of them writes, one of them not found."""
    return written(
        tmp_path / "shop.csv",
        "GET /old/2026-01-01/list?page=1 200 10.0.0.1 shop.example - Firefox",
        "GET /old/item/1 200 10.0.0.2 shop.example https://shop.example/list Chrome",
        "POST /cart 201 10.0.0.1 shop.example - Firefox 11 a=1&b=2&c=3",
        "GET /old/item/2 404 10.0.0.3 shop.example - Firefox",
        "HEAD /health 200 10.0.0.4 - - probe",
        "GET /api/items?page=2&sort=up 200 10.0.0.2 shop.example - Chrome",
        "PUT /cart/1 200 10.0.0.1 shop.example - Firefox 3 xyz",
        "GET /api/items?sort=up&page=3 200 10.0.0.5 shop.example - Chrome",
        "GET /api/items 304 10.0.0.2 shop.example - Chrome",
        "GET /end 200 10.0.0.1 shop.example - Firefox",
    )


def written(path: Path, *rows: str) -> Path:
    """A normalized CSV with a request a second."""
    lines = [COLUMNS]
    for second, row in enumerate(rows):
        op, url, rc, client, host, referer, agent, size, body = (*row.split(" "), "", "", "", "", "", "", "")[:9]
        fields = ["" if field == "-" else field for field in (client, host, referer, agent, size, body)]
        lines.append(",".join(("2026-01-01", f"12:00:{second:02}.000000", "0.01,0,0,5", url, rc, op, *fields)))
    path.write_text("\n".join(lines) + "\n")
    return path


def server_saw(
    stream: RequestStream, sender: str = "wire", schedule: Schedule = FAST, results: MemoryResults | None = None
) -> list[Received]:
    """Replay a stream against a server that keeps what it receives."""

    async def main() -> tuple[RecordingServer, Outcome]:
        async with recording() as server:
            endpoint = await resolve(parse_target(server.url))
            chosen = WireSender if sender == "wire" else AiohttpSender
            one_by_one = Limits(max_in_flight=1)  # so that they arrive in the order in which they are sent
            outcome = await replay(
                Plan(stream, schedule), chosen(endpoint, timeout=5), results or MemoryResults(), limits=one_by_one
            )
            return server, outcome

    server, outcome = asyncio.run(main())
    assert outcome.counters.ok == outcome.scheduled == len(server.received)
    return sorted(server.received, key=lambda received: received.at)


def shaped(log: Path, *shapes: Shape, methods: Sequence[str] = tuple(SAFE_METHODS), **options: object) -> Requests:
    return Requests(log, methods=methods, loop=False, shapes=shapes, **options)  # type: ignore[arg-type]


def targets(received: Sequence[Received]) -> list[str]:
    return [one.target for one in received]


both_senders = pytest.mark.parametrize("sender", ["wire", "aiohttp"])


# which


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
    assert requests.left_out["before the beginning"] == 9


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
    kept = sample(frame)["reason"].null_count()
    assert 3700 < kept < 4300


# rewriting


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
    with pytest.raises(ValueError, match=r"is no rewriting|is no valid pattern"):
        Rewritten.parse(rule)


def test_a_parameter_is_set_or_added(shop: Path) -> None:
    seen = targets(server_saw(shaped(shop, Matching(["^/api"]), Param("page", "7 &#"))))
    assert seen == [
        "/api/items?page=7%20%26%23&sort=up",
        "/api/items?sort=up&page=7%20%26%23",
        "/api/items?page=7%20%26%23",
    ]


# headers


@both_senders
def test_headers_are_added_and_replace_our_own(shop: Path, sender: str) -> None:
    shapes = [
        FixedHeader.parse("X-Test: a: b"),
        FixedHeader("User-Agent", "robot"),
        FixedHeader("Cookie", "a=1"),
        *NO_CACHE,
    ]
    for one in server_saw(shaped(shop, *shapes), sender):
        assert one.header("x-test") == "a: b"
        assert one.header("user-agent") == "robot"
        assert one.header("cookie") == "a=1"
        assert one.header("cache-control") == one.header("pragma") == "no-cache"
        assert one.header("accept") == "*/*"


@both_senders
def test_a_header_may_be_given_twice(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, FixedHeader("X-A", "1"), FixedHeader("X-A", "2")), sender)
    assert [value for name, value in seen[0].headers if name == "x-a"] == ["1", "2"]


@both_senders
def test_of_a_header_that_stands_once_the_last_one_is_sent(shop: Path, sender: str) -> None:
    shapes = FixedHeader("Host", "a.example"), FixedHeader("host", "b.example"), FixedHeader("user-agent", "robot")
    last = Custom(lambda frame: frame.with_columns(pl.lit("c.example").alias("header:HOST")))
    for one in server_saw(shaped(shop, *shapes, LoggedHeader("User-Agent", "agent"), last), sender):
        assert one.header("host") == "c.example"
        assert one.header("user-agent") in ("Firefox", "Chrome", "probe")


@both_senders
def test_the_sender_s_own_header_goes_only_where_no_other_of_its_name_does(shop: Path, sender: str) -> None:
    log = LoggedHeader("Accept", "referer"), FixedHeader("accept", "text/html")
    for one in server_saw(shaped(shop, *log), sender):
        accepted = [value for name, value in one.headers if name == "accept"]
        assert accepted in (["text/html"], ["https://shop.example/list", "text/html"])


@both_senders
def test_a_raw_request_mixed_in_has_one_host(shop: Path, tmp_path: Path, sender: str) -> None:
    (tmp_path / "request.txt").write_text("GET /raw HTTP/1.1\nhost: raw.example\nuser-agent: raw\n\n")
    other = Requests(RequestFile(tmp_path / "request.txt"))
    seen = server_saw(Mixed(shaped(shop, FixedHeader("Host", "shop.example")), other, 0.5), sender)
    assert {(one.target == "/raw", one.header("host")) for one in seen} == {
        (True, "raw.example"),
        (False, "shop.example"),
    }
    assert all(one.header("user-agent") for one in seen)


@both_senders
def test_agent_referer_and_host_come_from_the_log(shop: Path, sender: str) -> None:
    shapes = LoggedHeader("User-Agent", "agent"), LoggedHeader("Referer", "referer"), LoggedHost()
    seen = server_saw(shaped(shop, *shapes), sender)
    assert [one.header("user-agent") for one in seen[:3]] == ["Firefox", "Chrome", "Firefox"]
    assert [one.header("referer") for one in seen[:3]] == [None, "https://shop.example/list", None]
    assert seen[0].header("host") == "shop.example"
    probe = next(one for one in seen if one.target == "/health")
    assert str(probe.header("host")).startswith("127.0.0.1:")


@both_senders
def test_a_host_name_does_not_move_the_request(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, FixedHeader("Host", "www.example.com")), sender)
    assert {one.header("host") for one in seen} == {"www.example.com"}


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Expect", "Upgrade", "a b", ""])
def test_headers_that_would_change_the_message_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is written by the sender alone|is not the name of a header"):
        FixedHeader(name, "1")
    with pytest.raises(ValueError, match="holds a control byte"):
        FixedHeader("X-A", "1\r\nX-B: 2")


HOSTILE = "x\r\nX-Injected: 1\r\n\r\nGET /injected HTTP/1.1\r\nHost: a\r\n\r\n\0\n\x7f"


@both_senders
def test_values_of_a_log_add_no_header_and_no_request(tmp_path: Path, sender: str) -> None:
    frame = pl.read_csv(written(tmp_path / "plain.csv", "GET / 200 10.0.0.1"), infer_schema=False)
    hostile = frame.with_columns(agent=pl.lit(HOSTILE), referer=pl.lit(HOSTILE), host=pl.lit(HOSTILE))
    hostile.write_csv(tmp_path / "hostile.csv")
    shapes = LoggedHeader("User-Agent", "agent"), LoggedHeader("Referer", "referer"), LoggedHost()
    (one,) = server_saw(shaped(tmp_path / "hostile.csv", *shapes), sender)
    assert one.target == "/"
    assert one.header("x-injected") is None
    assert str(one.header("host")).startswith("127.0.0.1:")
    assert str(one.header("user-agent")).startswith("x X-Injected: 1 GET /injected")


@given(st.text(), st.text())
@settings(max_examples=200)
def test_no_value_adds_a_line(agent: str, other: str) -> None:
    frame = pl.DataFrame({"op": "GET", "url": "/", "header:User-Agent": [agent], "header:X-A": [other]})
    (request,) = render(frame, default_headers("localhost", keep_alive=True))
    head, end, rest = request.partition(b"\r\n\r\n")
    assert (end, rest) == (b"\r\n\r\n", b"")
    assert len(head.split(b"\r\n")) == 5
    assert head.count(b"\n") == head.count(b"\r") == 4


# bodies


@both_senders
def test_bodies_come_from_the_log_for_methods_that_have_one(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, LoggedBody(), methods=("GET", "POST", "PUT")), sender)
    assert {one.line.split()[0]: one.body for one in seen} == {"GET": b"", "POST": b"a=1&b=2&c=3", "PUT": b"xyz"}
    assert all(one.header("content-length") is None for one in seen if one.line.startswith("GET"))


@both_senders
def test_bodies_of_the_logged_size(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, SizedBody(), methods=("POST", "PUT")), sender)
    assert [len(one.body) for one in seen] == [11, 3]


@both_senders
def test_bodies_from_a_file_by_a_column(shop: Path, tmp_path: Path, sender: str) -> None:
    (tmp_path / "bodies.csv").write_text('url,body\n/cart,"{""n"": 1}"\n/other,x\n')
    seen = server_saw(shaped(shop, BodyFrom(tmp_path / "bodies.csv", "url"), methods=("POST", "PUT")), sender)
    assert [one.body for one in seen] == [b'{"n": 1}', b""]


@both_senders
def test_without_being_asked_no_body_is_sent_and_its_absence_is_announced(shop: Path, sender: str) -> None:
    seen = server_saw(shaped(shop, methods=("POST", "PUT")), sender)
    assert [(one.body, one.header("content-length")) for one in seen] == [(b"", "0"), (b"", "0")]


def test_a_table_of_bodies_without_its_columns_says_so(tmp_path: Path) -> None:
    (tmp_path / "bodies.csv").write_text("a,b\n1,2\n")
    with pytest.raises(LogreplayError, match=r"bodies\.csv: no column body, url; it needs url,body"):
        BodyFrom(tmp_path / "bodies.csv", "url")


def test_bodies_cannot_be_found_by_the_bodies(tmp_path: Path) -> None:
    (tmp_path / "bodies.csv").write_text("url,body\n/a,hello\n")
    with pytest.raises(LogreplayError, match=r"bodies\.csv:body: .* such as .*bodies\.csv:url"):
        BodyFrom(tmp_path / "bodies.csv", "body")


# order


def test_shuffling_sends_each_request_once_in_another_order(shop: Path) -> None:
    requests = Shuffled(shaped(shop), seed=3)
    seen = targets(server_saw(requests))
    assert sorted(seen) == sorted(targets(server_saw(shaped(shop))))
    assert seen != targets(server_saw(shaped(shop)))
    assert seen == targets(server_saw(Shuffled(shaped(shop), seed=3)))
    assert seen != targets(server_saw(Shuffled(shaped(shop), seed=4)))
    assert requests.left_out == {"method POST": 1, "method PUT": 1}


def test_drawing_repeats_some_and_leaves_out_others(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *(f"GET /{n} 200" for n in range(60)))
    seen = targets(server_saw(Drawn(shaped(log), seed=1)))
    assert len(seen) == 60
    assert 25 < len(set(seen)) < 50


def test_shuffling_goes_round_with_all_requests_in_each_round(shop: Path) -> None:
    looped = Requests(shop, loop=True)
    seen = targets(server_saw(Shuffled(looped, seed=3), schedule=Limited(FAST, requests=24)))
    assert sorted(seen) == sorted(targets(server_saw(shaped(shop))) * 3)
    assert seen[:8] != seen[8:16]


# mixing in


def test_a_share_of_other_requests_is_spread_evenly(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", *(f"GET /log/{n} 200" for n in range(57)))
    other = written(tmp_path / "other.csv", "GET /other/a 200", "POST /other/b 200", "GET /other/c 200")
    results = MemoryResults()
    stream = Mixed(Requests(log), Requests(other), 0.25)
    seen = targets(server_saw(stream, schedule=Limited(FAST, requests=100), results=results))
    places = [place for place, target in enumerate(seen) if target.startswith("/other")]
    assert places == list(range(3, 100, 4))
    assert seen[3] == "/other/a"
    assert seen[7] == "/other/c"
    assert [target for target in seen if target.startswith("/log")][:57] == [f"/log/{n}" for n in range(57)]
    assert stream.left_out == {"injected: method POST": 1}
    rows = results.frame.sort("seq")["row"].to_list()
    assert rows[:9] == [0, 1, 2, -1, 3, 4, 5, -3, 6]


@given(st.lists(st.integers(0, 50), max_size=20), st.floats(0.001, 0.95))
@settings(max_examples=100)
def test_the_share_is_exact_however_the_log_is_cut(sizes: list[int], share: float) -> None:
    class Pieces:
        left_out: object = {}

        def __init__(self, op: str, sizes: Sequence[int]) -> None:
            self.op, self.sizes = op, sizes

        def frames(self, rows: int = 1) -> object:
            for size in self.sizes:
                schema: dict[str, Any] = {"row": pl.Int64, "op": pl.String, "start": pl.Datetime("us")}
                yield pl.DataFrame({"row": range(size), "op": [self.op] * size, "start": [None] * size}, schema=schema)

    endless = [1000] * 60
    mixed = Mixed(Pieces("log", sizes), Pieces("other", endless), share)  # type: ignore[arg-type]
    ops = [op for frame in mixed.frames() for op in frame["op"].to_list()]
    assert ops.count("log") == sum(sizes)
    for n in range(len(ops) + 1):
        assert abs(ops[:n].count("other") - n * share) <= 1


# hook


@both_senders
def test_a_hook_may_change_or_leave_out_each_request(shop: Path, sender: str) -> None:
    def sign(request: Planned) -> Planned | None:
        if request.url.startswith("/old"):
            return None
        request.headers["Authorization"] = f"n{request.number} {request.client}"
        request.headers["user-agent"] = "hooked"
        request.url += "?signed" if "?" not in request.url else "&signed"
        return request

    hooked = Hooked(shaped(shop, LoggedHeader("User-Agent", "agent")), sign)
    seen = server_saw(hooked, sender)
    assert targets(seen) == [
        "/health?signed",
        "/api/items?page=2&sort=up&signed",
        "/api/items?sort=up&page=3&signed",
        "/api/items?signed",
        "/end?signed",
    ]
    assert seen[0].header("authorization") == "n3 10.0.0.4"
    assert seen[0].header("user-agent") == "hooked"
    assert hooked.left_out == {"hook: left out": 3, "method POST": 1, "method PUT": 1}
    assert hooked.calls == 8
    assert hooked.cost > 0


@both_senders
def test_repeated_headers_survive_a_hook(tmp_path: Path, sender: str) -> None:
    request = tmp_path / "request.txt"
    request.write_bytes(b"GET /a HTTP/1.1\r\nX-Tag: one\r\nAccept: a/b\r\nX-Tag: two\r\n\r\n")

    def add(planned: Planned) -> Planned:
        assert planned.headers.getall("x-tag") == ["one", "two"]
        planned.headers.add("X-Tag", f"three, {planned.number}")
        return planned

    plain = Requests(RequestFile(request))
    seen = server_saw(Hooked(plain, add), sender, Limited(FAST, requests=3))
    tags = [[value for name, value in one.headers if name == "x-tag"] for one in seen]
    assert tags == [["one", "two", f"three, {number}"] for number in range(3)]


def age_of_signatures(seen: Sequence[Received]) -> list[float]:
    """Seconds from the hook to the server."""
    return [(one.at - int(one.header("x-signed") or 0)) / 1e9 for one in seen]


def signed(request: Planned) -> Planned:
    request.headers["X-Signed"] = str(time.perf_counter_ns())
    return request


@both_senders
@pytest.mark.parametrize(("rate", "count"), [(2, 8), (400, 400)])
def test_a_hook_that_signs_is_called_within_the_second_before_a_request_is_due(
    shop: Path, sender: str, rate: float, count: int
) -> None:
    hooked = Hooked(Requests(shop), signing(lambda request: signed(request)))
    seen = server_saw(hooked, sender, Limited(Constant(rate), requests=count))
    assert hooked.calls == len(seen) == count
    assert max(age_of_signatures(seen)) < 1.5  # a busy machine sends late; without the mark it is 4 s


def test_what_a_signing_hook_leaves_out_is_counted_and_leaves_a_gap(shop: Path) -> None:
    hooked = Hooked(Requests(shop), signing(lambda request: signed(request) if request.number % 4 else None))
    results = MemoryResults()
    assert len(server_saw(hooked, schedule=Limited(Constant(100), requests=40), results=results)) == 30
    assert hooked.left_out["hook: left out"] == 10
    due = results.frame.sort("seq")["scheduled"].to_list()
    assert due == pytest.approx([(number + 0.5) / 100 for number in range(40) if number % 4], abs=1e-5)


def test_users_and_a_signing_hook_exclude_each_other(shop: Path) -> None:
    async def main() -> None:
        sender = WireSender(await resolve(parse_target("http://127.0.0.1:1")), timeout=5)
        async with Engine(sender, MemoryResults(), closed=True) as engine:
            await engine.run(Plan(Hooked(Requests(shop), signing(lambda request: request)), Users(1)))

    with pytest.raises(LogreplayError, match="--vusers and a --hook that is marked as signing exclude each other"):
        asyncio.run(main())


def test_a_preview_shows_what_a_signing_hook_makes_of_a_request(shop: Path) -> None:
    def sign(request: Planned) -> Planned:
        request.url += "&signed"
        return request

    seen = preview(Plan(Hooked(Requests(shop, loop=False), signing(sign)), Limited(Constant(100), requests=4)))
    assert all(url.endswith("&signed") for _, _, url in seen.head)


def spoil(change: Callable[[Planned], object]) -> Callable[[Planned], Planned]:
    def hook(request: Planned) -> Planned:
        if request.url == "/end":
            change(request)
        return request

    return hook


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: setattr(r, "url", "/a b"), "hook: url that cannot be sent"),
        (lambda r: setattr(r, "url", "http://other.example/"), "hook: url that cannot be sent"),
        (lambda r: setattr(r, "url", "/a#b"), "hook: url with a fragment (#), which is never sent"),
        (lambda r: setattr(r, "op", "DELETE"), "hook: method DELETE"),
        (lambda r: setattr(r, "op", "GET / HTTP/1.1\r\nX: "), "hook: bad method"),
        (lambda r: r.headers.update({"content-length": "5"}), "hook: header 'content-length' that cannot be set"),
        (lambda r: r.headers.update({"a\r\nb": "5"}), "hook: header 'a\\r\\nb' that cannot be set"),
        (lambda r: setattr(r, "body", "text"), "hook: body that is not bytes"),
        (
            lambda r: (r.headers.add("Host", "a"), r.headers.add("host", "b")),
            "hook: header 'Host' that may stand once only",
        ),
        (lambda r: r.headers["missing"], "hook: failed: KeyError"),
    ],
)
def test_what_a_hook_spoils_is_left_out_and_named(shop: Path, change: Callable[[Planned], object], reason: str) -> None:
    hooked = Hooked(shaped(shop), spoil(change))
    assert "/end" not in targets(server_saw(hooked))
    assert hooked.left_out[reason] == 1


def test_a_hook_that_sets_a_hostile_value_adds_no_header(shop: Path) -> None:
    hooked = Hooked(shaped(shop), spoil(lambda request: request.headers.update({"x-a": HOSTILE})))
    assert len(server_saw(hooked)) == 8


def test_a_hook_that_leaves_out_everything_ends_the_run(shop: Path) -> None:
    with pytest.raises(LogreplayError, match=r"the hook leaves out every request: \d+ x hook: left out"):
        server_saw(Hooked(Requests(shop), lambda request: None))


def test_a_hook_is_loaded_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_hooks_for_test.py").write_text("def same(request):\n    return request\n")
    monkeypatch.chdir(tmp_path)
    request = Planned(0, "GET", "/", CIMultiDict(), None, None, 0)
    assert load("my_hooks_for_test:same")(request) is request
    for name, text in [("my_hooks_for_test", "write MODULE:FUNCTION"), ("my_hooks_for_test:other", "no attribute")]:
        with pytest.raises(LogreplayError, match=text):
            load(name)


# other sources


@both_senders
def test_one_raw_request_is_repeated(tmp_path: Path, sender: str) -> None:
    path = tmp_path / "request.txt"
    path.write_bytes(
        b"POST /submit?a=1 HTTP/1.1\r\nHost: www.example.com\r\nX-One: 1\r\nConnection: close\r\n"
        b"Content-Length: 99\r\n\r\nthe body"
    )
    stream = Requests(RequestFile(path), methods=("POST",))
    seen = server_saw(stream, sender, schedule=Limited(FAST, requests=3))
    assert [one.line for one in seen] == ["POST /submit?a=1 HTTP/1.1"] * 3
    assert {one.body for one in seen} == {b"the body"}
    assert {one.header("host") for one in seen} == {"www.example.com"}
    assert {one.header("content-length") for one in seen} == {"8"}
    assert {one.header("connection") for one in seen} <= {None, "keep-alive"}


def test_what_is_no_request_file_says_where(tmp_path: Path) -> None:
    path = tmp_path / "request.txt"
    path.write_text("GET / HTTP/1.1\nHost: a\nnonsense\n")
    with pytest.raises(LogreplayError, match=r"request\.txt: line 3 is no header"):
        server_saw(Requests(RequestFile(path)))
    path.write_text("hello\n")
    with pytest.raises(LogreplayError, match=r"request\.txt: no HTTP request"):
        server_saw(Requests(RequestFile(path)))


def test_a_raw_request_with_two_hosts_says_so(tmp_path: Path) -> None:
    path = tmp_path / "request.txt"
    path.write_text("GET / HTTP/1.1\nHost: a\nX-A: 1\nx-a: 2\nhost: b\n\n")
    with pytest.raises(LogreplayError, match=r"request\.txt: line 5 is a second host; keep one of the two"):
        list(RequestFile(path).batches(["url"]))


# of one's own


def test_a_shape_of_ones_own_composes(shop: Path) -> None:
    no_robots = Custom(lambda frame: leave_out(frame, pl.col("agent") == "probe", "robot"), ("agent",))
    requests = shaped(shop, no_robots, Matching(["health|end"]))
    assert targets(server_saw(requests)) == ["/end"]
    assert requests.left_out["robot"] == 1
