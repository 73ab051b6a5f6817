"""A function of the user sees each request, and may change it or leave it out."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from multidict import CIMultiDict

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS
from logreplay.replay.engine.engine import Engine, replay
from logreplay.replay.requests.combine import ForTargets, duet_plan
from logreplay.replay.requests.headers import LoggedHeader, LoggedProtocol
from logreplay.replay.requests.hook import Hook, Hooked, Planned, load, signing
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.requests.sources import RequestFile
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.per_client import ByClientSender
from logreplay.replay.senders.http1.sender import WireSender
from support.recording_server import Received, recording
from support.shaped_replay import FAST, HOSTILE, both_senders, server_saw, shaped, targets, written


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


@pytest.mark.slow
@both_senders
@pytest.mark.parametrize(("rate", "count"), [(2, 6), (400, 400)])
def test_a_hook_that_signs_is_called_within_the_second_before_a_request_is_due(
    shop: Path, sender: str, rate: float, count: int
) -> None:
    hooked = Hooked(Requests(shop), signing(lambda request: signed(request)))
    seen = server_saw(hooked, sender, Limited(Constant(rate), requests=count))
    assert hooked.calls == len(seen) == count
    assert max(age_of_signatures(seen)) < 1.5  # a busy machine sends late; without the mark it is 3 s


def test_what_a_signing_hook_leaves_out_is_counted_and_leaves_a_gap(shop: Path) -> None:
    hooked = Hooked(Requests(shop), signing(lambda request: signed(request) if request.number % 4 else None))
    results = MemoryResults()
    assert len(server_saw(hooked, schedule=Limited(Constant(100), requests=40), results=results)) == 30
    assert hooked.left_out["hook: left out"] == 10
    due = results.frame.sort("seq")["scheduled"].to_list()
    assert due == pytest.approx([(number + 0.5) / 100 for number in range(40) if number % 4], abs=1e-5)


@pytest.mark.usefixtures("_plans_begin_at_once")
@pytest.mark.parametrize("mark", [lambda hook: hook, signing])
def test_a_plan_goes_on_in_the_log_where_the_one_before_it_ended_though_the_hook_has_read_ahead(
    tmp_path: Path, mark: Callable[[Hook], Hook]
) -> None:
    """Steps of 60 requests of which every fourth is left out: 248 rows of the log were used up for 240."""
    log = written(tmp_path / "log.csv", *(f"GET /{number} 200" for number in range(1000)))
    hooked = Hooked(Requests(log), mark(lambda request: request if request.row % 4 else None))
    results = MemoryResults()

    async def main() -> list[int]:
        async with recording() as server:
            sender, used, begin = WireSender(await resolve(parse_target(server.url)), timeout=5), [], 0
            async with Engine(sender, results) as engine:
                for step in range(3):
                    schedule = Limited(Constant(600), requests=80 if hooked.signing else 60)
                    outcome = await engine.run(Plan(hooked, schedule, step, begin))
                    used.append(outcome.used)
                    begin += outcome.used
        return used

    assert asyncio.run(main()) == [80, 80, 80]
    assert results.frame.sort("seq")["row"].to_list() == [row for row in range(240) if row % 4]
    assert hooked.left_out["hook: left out"] == 60 + (not hooked.signing)  # and the row after the last


def test_what_a_hook_leaves_out_in_each_plan_of_a_sweep_counts_once(tmp_path: Path) -> None:
    """The counts were those of the last step."""
    log = written(tmp_path / "log.csv", *(f"GET /{number} 200" for number in range(1000)))
    numbers: list[int] = []

    def leave(request: Planned) -> Planned | None:
        numbers.append(request.number)
        if request.row == 4:
            raise ValueError("row 4")
        return request if request.row % 4 else None

    hooked, begin = Hooked(Requests(log), leave), 0
    for _ in range(3):
        next(hooked.frames(begin=begin))
        hooked.forget_ahead(30)  # the row after them is left out, too
        begin += hooked.used(30)
    assert begin == 3 * 40
    assert hooked.left_out == {"hook: left out": 30, "hook: failed: ValueError": 1}
    assert hooked.first_error == "ValueError: row 4"
    assert numbers == [*range(64)] * 3
    assert hooked.calls == len(numbers)


def test_a_request_is_sent_as_one_of_the_client_that_a_hook_gives_it(shop: Path) -> None:
    def as_one_of_two(request: Planned) -> Planned:
        request.client = "even" if request.number % 2 == 0 else None
        return request

    results = MemoryResults()

    async def main() -> list[int]:
        async with recording() as server:
            sender = ByClientSender(await resolve(parse_target(server.url)), timeout=5)
            await replay(Plan(Hooked(Requests(shop), as_one_of_two), Limited(FAST, requests=20)), sender, results)
            return [one.connection for one in server.received]

    assert len(set(asyncio.run(main()))) == 2
    assert results.frame.sort("seq")["client"].to_list() == ["even", None] * 10


def test_users_and_a_signing_hook_exclude_each_other(shop: Path) -> None:
    async def main() -> None:
        sender = WireSender(await resolve(parse_target("http://127.0.0.1:1")), timeout=5)
        async with Engine(sender, MemoryResults(), closed=True) as engine:
            await engine.run(Plan(Hooked(Requests(shop), signing(lambda request: request)), Users(1)))

    with pytest.raises(LogreplayError, match="--vusers and a --hook that is marked as signing exclude each other"):
        asyncio.run(main())


def spoil(change: Callable[[Planned], object]) -> Callable[[Planned], Planned]:
    def hook(request: Planned) -> Planned:
        if request.url == "/end":
            change(request)
        return request

    return hook


@pytest.mark.slow
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
        (lambda r: setattr(r, "client", 7), "hook: client that is not text"),
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
    said = r"every request of the log in its first 10,\d+ calls, so no request can be sent: 10,\d+ x left out"
    with pytest.raises(LogreplayError, match=said):
        server_saw(Hooked(Requests(shop), lambda request: None))


def test_a_hook_that_only_fails_is_not_called_for_the_whole_log(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(",".join(CORE_COLUMNS) + "\n" + "2026-01-01,00:00:00,0,0,0,0,/,200,GET\n" * 30_000)
    hooked = Hooked(Requests(log), lambda request: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(
        LogreplayError,
        match=r"each request in its first 10,048 calls, .*: 10,048 x failed: ZeroDivisionError; the first: Zero",
    ):
        list(hooked.frames())
    assert hooked.calls == 10_048


def test_a_request_that_a_hook_left_out_after_the_last_sent_one_does_not_count(shop: Path) -> None:
    hooked = Hooked(Requests(shop), lambda request: request if request.number % 2 else None)
    next(hooked.frames())
    ahead = hooked.left_out["hook: left out"]
    hooked.forget_ahead(2)
    assert hooked.left_out["hook: left out"] == 3 < ahead
    assert hooked.used(2) == 4


def test_a_request_that_a_hook_left_out_ahead_of_a_duet_s_last_one_does_not_count(shop: Path) -> None:
    """Each request that the hook keeps is sent twice."""
    hooked = Hooked(Requests(shop), lambda request: request if request.number % 2 else None)
    plan = duet_plan(ForTargets(hooked), Limited(FAST, requests=10))

    async def main() -> Outcome:
        async with recording() as server:
            sender = WireSender(await resolve(parse_target(server.url)), timeout=5)
            return await replay(plan, sender, MemoryResults())

    assert asyncio.run(main()).scheduled == 20
    assert hooked.left_out["hook: left out"] == 11


def test_a_hook_is_loaded_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_hooks_for_test.py").write_text("def same(request):\n    return request\n")
    monkeypatch.chdir(tmp_path)
    request = Planned(0, "GET", "/", CIMultiDict(), None, None, 0)
    assert load("my_hooks_for_test:same")(request) is request
    for name, text in [("my_hooks_for_test", "write MODULE:FUNCTION"), ("my_hooks_for_test:other", "no attribute")]:
        with pytest.raises(LogreplayError, match=text):
            load(name)


def test_a_hook_leaves_a_request_the_version_of_http_of_the_log(tmp_path: Path) -> None:
    row = "2026-01-01,00:00:00,0,0,0,0,/,200,GET,HTTP/2.0\n"
    (tmp_path / "log.csv").write_text(",".join((*CORE_COLUMNS, "protocol")) + "\n" + row)
    requests = Requests(tmp_path / "log.csv", loop=False, shapes=(LoggedProtocol(),))
    (frame,) = Hooked(requests, lambda request: request).frames()
    assert frame["protocol"].to_list() == ["HTTP/2.0"]
