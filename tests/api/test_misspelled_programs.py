"""A type checker accepts programs that use the library, and refuses misspelled ones, one line after the other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import logreplay

common: logreplay.RequestOptions = {"match": "^/api", "header": {"X-Run": "42"}}
sending: logreplay.SenderOptions = {"timeout": "2s", "http": "2"}
result = logreplay.run("access.log", "http://127.0.0.1:8080", tps=100, duration="1m", **common, **sending)
print(result.sentence if result.valid else result.findings)
logreplay.run("access.csv", steps=[(50, 10), (100, "20s")], stop=["errors>5%/10s", lambda now: now.in_flight > 900])
logreplay.run("access.csv", speed=1, by_client=True, cookies=True, extract={"t": "json:$.t"}, use={"t": "header:X"})
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
logreplay.run("access.log", tps=100, stop=lambda now: now.in_fligth > 900)
"""


@pytest.mark.slow
def test_mypy_accepts_the_right_lines_and_refuses_each_misspelled_one(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(RIGHT + WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(program)]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    refused = {int(line) for line in re.findall(r"program\.py:(\d+): error", said)}
    first = RIGHT.count("\n") + 1
    assert refused == {first + number for number in range(1, WRONG.count("\n"))}, said
