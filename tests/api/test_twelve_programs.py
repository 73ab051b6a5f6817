"""The programs of the page on Python, each in a script, in a running loop of another thread, and in a notebook.

That of a Dask client of the program is in `test_programs`: Dask itself wants a script with a guard.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from logreplay.replay.servers.minimal import responding

PREPARED: Final = """
import itertools, logreplay
import pandas as pd
from logreplay import aio
from matplotlib.figure import Figure
URL = open("url").read()
"""
PROGRAMS: Final = {
    "a script": """
result = logreplay.run("access.log", URL, tps=50, duration="300ms")
print(bool(result.sentence), len(result.requests))
""",
    "a notebook": """
curve = logreplay.sweep("access.log", URL, "40,60", duration=1, progress=True, output="sweep-1")
print("<" in curve._repr_html_(), len(curve.steps))
""",
    "a test against a stored baseline": """
logreplay.run("access.log", URL, tps=100, duration=1, output="baseline.csv")
now = logreplay.run("access.log", URL, tps=100, duration=1)
change = logreplay.compare("baseline.csv", now)
print(all(each.low > 0 for each in change.quantiles.values()), bool(change.sentence))
""",
    "a duet": """
other = URL.replace("127.0.0.1", "localhost")
versions = logreplay.duet("access.log", URL, other, tps=100, duration=1, fail_above="5%")
print(versions.passed in (True, False), versions.differences["counts"].any())
""",
    "your own requests": """
log = logreplay.convert("access.log").requests
shop = log[log.url.str.startswith("/")]

def orders():
    for n in itertools.count():
        yield logreplay.Request(f"/order/{n}", op="POST", body=b"{}")

def tag(request):
    request.headers["X-Run"] = "42"
    return request

made = logreplay.run(orders, URL, tps=50, requests=10, methods="POST", hook=tag)
print(len(logreplay.run(shop, URL, tps=50, requests=10).requests), made.requests.url.tolist()[0])
""",
    "sessions": """
users = pd.DataFrame({"client": ["10.0.0.7"], "op": "POST", "url": "/login", "body": "u=a&p=b"})
visits = pd.DataFrame({"url": ["/a", "/b"], "client": "10.0.0.7"})
session = logreplay.run(visits, URL, tps=20, by_client=True, cookies=True, login=users, loop=False,
                        extract={"csrf": "json:$.token"}, use={"csrf": "header:X-CSRF"})
print(len(session.requests), session.summary["sessions"]["logins"])
""",
    "progress and stop conditions": """
seen = []
ended = logreplay.run("access.log", URL, tps=100, duration=60, progress=lambda now: seen.append(now.second),
                      stop=["errors>5%/10s", lambda now: now.totals.sent > 5 and "enough"])
print(ended.stopped.startswith("stopped: enough"), len(seen) > 0)
""",
    "inside a running loop": """
print((await aio.run("access.log", URL, tps=50, duration=0.5)).summary["requests"]["sent"])
""",
    "old results": """
old = logreplay.analyze("sweep-1")
print(len(old.seconds) > 0, int(old.requests.groupby("step").size().sum()))
""",
    "several sweeps on one axes": """
ax = Figure().subplots()
print(logreplay.analysis.overlay(ax, {"before": "sweep-1", "after": curve}, slo=0.3) is ax)
""",
    "several bounds, and machines": """
found = logreplay.find("access.log", URL, p50="50ms", p99=0.3, start=20, max_tps=20, trial=1, trials=1, plots=False)
try:
    machines = logreplay.capacity(curve, demand=2000, p90=0.3).machines
except logreplay.LogreplayError:  # a busy machine leaves no step that counts
    machines = None
print(bool(found.sentence), machines is None or machines > 0)
""",
}
PRINTED: Final = [
    *("True 15", "True 2", "True True", "True False", "10 /order/0", "2 1", "True True", "25", "True 100", "True"),
    "True True",
]
DRIVER: Final = """
import ast, asyncio, json, sys, threading
name, programs = {}, json.load(open("programs.json"))

def run(source):
    return eval(compile(source, "program", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), name)

def one_after_the_other():
    for source in programs:
        if (waiting := run(source)) is not None:
            asyncio.run(waiting)

async def in_a_loop():
    for source in programs:
        if (waiting := run(source)) is not None:
            await waiting

if sys.argv[1] == "thread":
    thread = threading.Thread(target=lambda: asyncio.run(in_a_loop()))
    thread.start()
    thread.join()
else:
    one_after_the_other()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A log, and the address of a target."""
    line = '10.0.0.{} - - [01/Jan/2026:00:00:{:02} +0000] "GET /{} HTTP/1.1" 200 5\n'
    (tmp_path / "access.log").write_text("".join(line.format(n % 3, n // 10, n) for n in range(500)))
    with responding() as url:
        (tmp_path / "url").write_text(url)
        yield tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["script", "thread"])
def test_the_programs_run_in_a(setting: str, folder: Path) -> None:
    (folder / "programs.json").write_text(json.dumps([PREPARED, *PROGRAMS.values()]))
    (folder / "driver.py").write_text(DRIVER)
    command = [sys.executable, "driver.py", setting]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ended.stdout.splitlines() == PRINTED, ended.stderr


@pytest.mark.slow
def test_the_programs_run_in_a_notebook(folder: Path) -> None:
    nbformat, client = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    cells = [nbformat.v4.new_code_cell(source) for source in (PREPARED, *PROGRAMS.values())]
    book = nbformat.v4.new_notebook(cells=cells)
    client.NotebookClient(book, timeout=200, resources={"metadata": {"path": str(folder)}}).execute()
    texts = ["".join(one.get("text", "") for one in cell.outputs if one.get("name") == "stdout") for cell in cells[1:]]
    assert [text.strip() for text in texts] == PRINTED
