"""One engine, several targets, one result log for each."""

import asyncio
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.record import RESPONSE_PARTS, TARGET
from logreplay.replay.engine.duet import duet
from logreplay.replay.results.by_target import ByTarget, DuetJudgement
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.verdict import Judgement, metric_missed
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import Sender
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from support.recording_server import RecordingServer, recording
from support.shaped_replay import FAST, both_senders, shaped, targets, written

Seen = tuple[list[RecordingServer], list[MemoryResults]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Forty requests."""
    return written(tmp_path / "shop.csv", *(f"GET /{number} 200" for number in range(40)))


def sent_to_both(log: Path, sender: str, *, alternate: bool = False) -> Seen:
    """What two servers receive, and the rows of each."""

    async def main() -> Seen:
        async with recording() as one, recording() as other:
            servers, logs = [one, other], [MemoryResults(), MemoryResults()]
            kind = WireSender if sender == "wire" else AiohttpSender
            senders: list[Sender] = [kind(await resolve(parse_target(server.url)), timeout=5) for server in servers]
            outcome = await duet(shaped(log), FAST, senders, logs, alternate=alternate, seed=1)
            assert outcome.counters.ok == outcome.scheduled == sum(len(server.received) for server in servers)
            return servers, logs

    return asyncio.run(main())


@both_senders
def test_each_target_receives_every_request_under_its_own_name(shop: Path, sender: str) -> None:
    servers, logs = sent_to_both(shop, sender)
    assert sorted(targets(servers[0].received)) == sorted(targets(servers[1].received))
    for server in servers:
        assert {received.header("host") for received in server.received} == {f"127.0.0.1:{server.port}"}
    one, other = (log.frame.sort("seq") for log in logs)
    assert one["seq"].to_list() == list(range(one.height))
    shared = ["seq", "row", "url", "op", "scheduled", "offered"]
    assert one.select(shared).equals(other.select(shared))
    assert one["offered"].unique().to_list() == [FAST.rate]


def test_alternating_sends_each_request_once(shop: Path) -> None:
    servers, logs = sent_to_both(shop, "wire", alternate=True)
    assert all(server.received for server in servers)
    rows = [row for log in logs for row in log.frame["row"].to_list()]
    assert len(rows) == len(set(rows))
    assert logs[0].frame["offered"].unique().to_list() == [pytest.approx(FAST.rate / 2)]


def test_rows_are_divided_by_target_and_numbered_by_group() -> None:
    logs = [MemoryResults(), MemoryResults(), MemoryResults()]
    rows = pl.DataFrame(
        {
            "seq": [5, 3, 4, 0, 6],
            "offered": [300.0, 300.0, None, 300.0, 300.0],
            "error": ["", "timeout", "dropped", "cancelled", "cancelled"],
            "rc": [404, 0, 0, 0, 0],
            "expected_rc": [200, 200, 200, 0, 0],
            "latency": [0.1, 1.0, 0.0, 0.5, 0.0],
            "queued": [0.0, 0.0, 0.0, 0.0, 2.0],
            TARGET: [0, 1, 1, 0, 0],
        }
    ).with_columns(**dict.fromkeys(("lag", "connect", "xfertime"), pl.lit(0.0)))
    divided = ByTarget(logs, together=3)
    divided.write(rows)
    named = [log.frame.select("seq", "offered").to_dicts() for log in logs]
    assert named[0] == [{"seq": seq, "offered": 100.0} for seq in (1, 0, 2)]
    assert named[1] == [{"seq": 1, "offered": 100.0}, {"seq": 1, "offered": None}]
    assert named[2] == []
    one, other, third = divided.counters
    assert (one.sent, one.not_sent, one.http_error, one.net_error, one.failed) == (2, 1, 1, 1, 1)
    assert (dict(one.unexpected), dict(one.errors)) == ({"200 → 404": 1}, {"cancelled": 2})
    assert (other.sent, other.dropped, other.failed, dict(other.errors)) == (1, 1, 1, {"timeout": 1, "dropped": 1})
    assert third.sent == third.dropped == 0


def test_targets_that_take_turns_share_a_result_log_whose_rows_name_them() -> None:
    logs, urls = [MemoryResults(), MemoryResults()], ["http://b", "http://c", "http://b2", "http://c2"]
    rows = pl.DataFrame(
        {"seq": [0, 1, 2, 3], "offered": 20.0, "error": "", "rc": [200, 200, 500, 200], "expected_rc": 200}
    ).with_columns(pl.Series(TARGET, [1, 0, 2, 3], dtype=pl.Int8), **dict.fromkeys(RESPONSE_PARTS, pl.lit(0.1)))
    divided = ByTarget(logs, together=2, taking_turns=urls)
    divided.write(rows)
    named = [log.frame.select("seq", "offered", TARGET).rows() for log in logs]
    assert named == [[(0, 10.0, "http://b"), (1, 10.0, "http://b2")], [(0, 10.0, "http://c"), (1, 10.0, "http://c2")]]
    assert [each.http_error for each in divided.counters] == [0, 0, 1, 0]


def test_a_metric_that_one_target_does_not_send_is_told_of_that_target() -> None:
    """Only a metric that neither target sent was told."""
    urls = {"baseline": "http://b", "candidate": "http://c"}
    rows = pl.DataFrame(
        {"seq": [0, 1, 2, 3], "offered": 20.0, "error": "", "rc": 200, "expected_rc": 200,
         "server_db": [0.1, None, None, None], "server_app": [None, 0.1, 0.1, None], "server_gone": [None] * 4}
    )  # fmt: skip
    rows = rows.with_columns(
        pl.Series(TARGET, [0, 1, 0, 1], dtype=pl.Int8), **dict.fromkeys(RESPONSE_PARTS, pl.lit(0.1))
    )
    divided = ByTarget([MemoryResults(), MemoryResults()], together=2, metrics=("db", "app", "gone"))
    divided.write(rows)
    divided.write(rows.drop("server_db", "server_app", "server_gone"))  # of a lost worker
    assert divided.lacking == [[], ["db"]]
    found = DuetJudgement.of(Judgement.of(()), urls, divided.counters, divided.lacking)
    (note,) = found.whole.findings
    assert (note.code, found.valid) == ("server_timing", True)
    assert note.text == (
        "candidate http://c: no response had the Server-Timing metric db with a duration; run -v shows the headers"
    )


def test_metrics_that_are_counted_over_all_targets_say_so() -> None:
    """40 of 80 responses had no duration that can be read: all 40 of the candidate, which the note did not tell."""
    urls = {"baseline": "http://b", "candidate": "http://c"}
    counters = [Counters(sent=40, ok=40) for _ in urls]
    pooled = Judgement.of([metric_missed("db", 80, 40), metric_missed("gone")])
    told = [each.text for each in DuetJudgement.of(pooled, urls, counters, [[], []]).whole.findings]
    assert told == [
        "all targets together: the Server-Timing metric db of 40 responses of 80 has no duration that can be read, "
        "such as dur=5.2",
        "all targets together: no response had the Server-Timing metric gone with a duration; run -v shows the headers",
    ]


@pytest.mark.parametrize("failing", ["candidate2", "baseline2"])
def test_one_of_two_targets_that_share_a_result_log_may_fail_alone(failing: str) -> None:
    """Half of the rows in the log failed, which is not more than half."""
    urls = {name: f"http://{name}" for name in ("baseline", "candidate", "baseline2", "candidate2")}
    bad, good = Counters(sent=50, http_error=50, failed=50), Counters(sent=50, ok=50)
    counters = [bad if name == failing else good for name in urls]
    found = DuetJudgement.of(Judgement.of(()), urls, counters, [[]] * 4)
    assert found.failing == [failing]
    assert found.valid == (failing == "candidate2")
    (own,) = found.findings_of(failing.removesuffix("2"))
    assert own.text.startswith(f"{failing} http://{failing}: ")
    assert not found.of_target(failing.removesuffix("2")).valid
