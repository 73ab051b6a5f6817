"""A duet from Python sends both targets the same requests, and the analysis reads its result logs."""

import asyncio
from pathlib import Path

import logreplay.analysis as analysis
from logreplay.replay.engine.duet import duet
from logreplay.replay.requests.plan import Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import ResultLog
from logreplay.replay.schedules.arrivals import Poisson
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from support.background_server import beside
from support.recording_server import RecordingServer, recording


async def replayed(log: Path, folder: Path, servers: list[RecordingServer]) -> Outcome:
    senders = [WireSender(await resolve(parse_target(server.url)), timeout=5) for server in servers]
    results = [ResultLog(folder / f"{name}.csv") for name in ("baseline", "candidate")]
    return await duet(Requests(log), Poisson(Constant(200, 0.3)), senders, results)


def test_both_targets_get_each_request_and_pairs_are_read_from_the_folder(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = [f"2026-01-01,00:00:{at:02}.000000,0,0,0,5,/page/{at},200,GET" for at in range(60)]
    log.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    with beside(recording) as old, beside(recording) as new:
        outcome = asyncio.run(replayed(log, tmp_path, [old, new]))
        asked = [sorted(request.target for request in server.received) for server in (old, new)]
    assert asked[0] == asked[1]
    assert outcome.counters.ok == 2 * len(asked[0]) > 40
    pairs = analysis.pairs(tmp_path)
    assert sorted(pairs["url"]) == asked[0]
    assert (pairs["rc_new"] == 200).all()
    found = analysis.compare(tmp_path / "baseline.csv", tmp_path / "candidate.csv")
    assert isinstance(found, analysis.Comparison)
    assert found.paired
