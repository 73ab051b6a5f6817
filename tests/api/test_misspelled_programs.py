"""A type checker accepts programs that use the library, and refuses misspelled ones, one line after the other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import itertools
from collections.abc import Iterator

import pandas as pd

import logreplay
from logreplay import aio
from logreplay.replay.requests.hook import Planned

common: logreplay.RequestOptions = {"match": "^/api", "header": {"X-Run": "42"}}
sending: logreplay.SenderOptions = {"timeout": "2s", "http": "2"}
result = logreplay.run("access.log", "http://127.0.0.1:8080", tps=100, duration="1m", **common, **sending)
print(result.sentence if result.valid else result.findings)
logreplay.run("access.csv", steps=[(50, 10), (100, "20s")], stop=["errors>5%/10s", lambda now: now.in_flight > 900])
logreplay.run("access.csv", speed=1, by_client=True, cookies=True, extract={"t": "json:$.t"}, use={"t": "header:X"})


def orders() -> Iterator[logreplay.Request]:
    for n in itertools.count():
        yield logreplay.Request(f"/order/{n}", op="POST", body=b"{}")


def tag(request: Planned) -> Planned | None:
    request.headers["X-Run"] = "42"
    return request


async def replay(tps: float) -> object:
    return (await aio.run(orders, "http://127.0.0.1:8080", tps=tps, duration=60, methods="POST")).summary


with logreplay.serve("access.log", workers=4, service_time=0.016) as server:
    logreplay.sweep(pd.DataFrame({"url": ["/shop"]}), server.url, [50, 100, 200], hook=tag, progress=True)
"""
WRONG = """
logreplay.run("access.log", tpz=100)
logreplay.run("access.log", tps=100, durration="1m")
logreplay.run("access.log", tps="fast")
logreplay.run("access.log", vusers=2.5)
logreplay.run("access.log", tps=100, keep_alive="no")
logreplay.run("access.log", tps=100, arrivals="constant")
logreplay.run("access.log", tps=100, http=2)
logreplay.run("access.log", tps=100, no_keep_alive=True)
logreplay.run("access.log", tps=100, verbose=True)
common = logreplay.RequestOptions(macth="^/api")
logreplay.run("access.log", tps=100).sentense
logreplay.run(7, tps=100)
logreplay.serve("access.log", wokers=4)
logreplay.Request("/", method="POST")
print(aio.run("access.log", tpz=100))
logreplay.run("access.log", tps=100, stop=lambda now: now.in_fligth > 900)
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_type_checker_accepts_the_right_lines_and_refuses_each_misspelled_one(checker: str, tmp_path: Path) -> None:
    pytest.importorskip(checker)
    if subprocess.run([sys.executable, "-m", checker, "--version"], capture_output=True).returncode:
        pytest.skip(f"{checker} fetches itself when it is first used, and cannot here")
    program = tmp_path / "program.py"
    program.write_text(RIGHT + WRONG)
    options = ["--strict", "--no-incremental"] if checker == "mypy" else ["--pythonpath", sys.executable]
    command = [sys.executable, "-m", checker, *options, str(program)]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    refused = {int(line) for line in re.findall(r"program\.py:(\d+)(?::\d+ -)?:? error", said)}
    first = RIGHT.count("\n") + 1
    assert refused == {first + number for number in range(1, WRONG.count("\n"))}, said
