"""Programs that call the library: what they find as it was, and where they may run."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import logreplay

AS_BEFORE = """
import gc, json, os, signal, sys, threading
import matplotlib, polars, uvloop  # which a program uses
from pathlib import Path
import logreplay

def state():
    tasks = {}
    for task in Path("/proc/self/task").iterdir() if sys.platform == "linux" else ():
        tasks[task.name] = os.getpriority(os.PRIO_PROCESS, int(task.name))
    return {
        "handlers": [str(signal.getsignal(number)) for number in signal.valid_signals() if number < 32],
        "niceness": {str(nice) for name, nice in tasks.items() if name in before},
        "interval": sys.getswitchinterval(),
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() == 0],
        "backend": matplotlib.rcParams._get_backend_or_none() if "matplotlib" in sys.modules else None,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": list(sys.path),
    }

polars.DataFrame({"a": range(200_000)}).group_by("a").len()  # its threads run
logreplay.run(None, tps=200, requests=5, demo_target=True).close()  # what is loaded once
before = {task.name for task in Path("/proc/self/task").iterdir()} if sys.platform == "linux" else set()
was = state()
with logreplay.run(None, tps=200, duration="500ms", demo_target=True) as result:
    result._repr_html_()
    len(result.requests)
now = state()
print(sorted(name for name in was if was[name] != now[name]))
print(sorted(now["niceness"]))
"""
LEFT_BEHIND = """
import logreplay, os, signal, sys
result = logreplay.run(None, tps=200, requests=5, demo_target=True)
print(result.files[0], flush=True)
os.kill(os.getpid(), int(sys.argv[1])) if int(sys.argv[1]) else None
"""
INTERRUPTED = """
import json, logreplay, sys, threading, time, os, signal

def interrupt():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
began, said = time.monotonic(), {}
try:
    result = logreplay.run(None, tps=200, duration=60, demo_target=True, output="rows.csv")
except logreplay.Interrupted as ended:
    result = ended.result
except KeyboardInterrupt:
    result = None
if result is not None:
    said = {"rows": len(result.requests), "sent": result.outcome.scheduled, "shown": len(result._repr_html_())}
print(json.dumps(said | {"took": time.monotonic() - began - float(sys.argv[1])}))
"""


def output_of(program: str, *given: object, cwd: Path) -> str:
    """What a program prints."""
    command = [sys.executable, "-c", program, *map(str, given)]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert ended.stderr == ""
    return ended.stdout


def test_after_a_call_the_process_is_as_it_was(tmp_path: Path) -> None:
    changed, niceness = output_of(AS_BEFORE, cwd=tmp_path).splitlines()
    assert changed == "[]"
    assert niceness == str([str(os.getpriority(os.PRIO_PROCESS, 0))]) or sys.platform != "linux"
    assert not list(tmp_path.iterdir())


def test_no_temporary_folder_stays_after_the_exit_or_the_next_call(tmp_path: Path) -> None:
    """The second program ends by itself and removes its own folder and that of the first, which was killed."""

    def rows_of(number: int) -> Path:
        command = [sys.executable, "-c", LEFT_BEHIND, str(number)]
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert ended.returncode == -number
        return Path(ended.stdout.strip())

    killed = rows_of(int(signal.SIGKILL))
    assert killed.is_relative_to(tmp_path)
    assert killed.exists()
    assert rows_of(0).is_relative_to(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("logreplay")]


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(10))
def test_ctrl_c_at_any_instant_leaves_whole_rows_and_a_readable_result(moment: int, tmp_path: Path) -> None:
    said = json.loads(output_of(INTERRUPTED, 0.3 + 0.37 * moment, cwd=tmp_path))
    rows = tmp_path / "rows.csv"
    if said.get("rows"):
        assert said["rows"] == said["sent"]
        assert said["shown"] > 0
    if rows.exists():
        text = rows.read_bytes()
        assert text.endswith(b"\n")
        assert len(logreplay.analysis.load(rows)) == said.get("rows", 0) == text.count(b"\n") - 1


NOTEBOOK = [
    """import asyncio, logreplay, os, signal, threading, time
server = logreplay.serve(workers=8, service_time=0.004)
long = dict(tps=100, duration=60)
def interrupt_when_there_are_rows(path):
    while not (os.path.exists(path) and os.path.getsize(path) > 500):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)
def begin(path):
    threading.Thread(target=interrupt_when_there_are_rows, args=(path,), daemon=True).start()""",
    "result = logreplay.run(None, server.url, tps=100, duration='500ms', workers=2, progress=True)\nresult",
    "print(len(result.requests))",
    "result = await logreplay.aio.run(None, server.url, tps=100, duration='500ms')\nprint(len(result.requests))",
    "begin('a.csv')\nended = logreplay.run(None, server.url, output='a.csv', **long)",
    "print(ended.stopped.partition(':')[0], len(ended.requests) > 0)",
    "begin('b.csv')\nended = await logreplay.aio.run(None, server.url, output='b.csv', **long)",
    "print(os.path.exists('b.summary.json'))\nserver.close()",
]


@pytest.mark.slow
def test_a_notebook_runs_with_workers_with_await_and_is_stopped(tmp_path: Path) -> None:
    nbformat, client = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOTEBOOK])
    client.NotebookClient(
        book, timeout=120, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    _, shown, rows, awaited, _, stopped, cancelled, kept = (cell.outputs for cell in book.cells)
    assert any("sent 50, completed 50" in output.get("data", {}).get("text/plain", "") for output in shown)
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert [rows[0].text, awaited[0].text, stopped[0].text] == ["50\n", "50\n", "interrupted True\n"]
    assert [cancelled[0].ename, kept[0].text] == ["CancelledError", "True\n"]


DASK = """
import logreplay
from distributed import Client, LocalCluster

if __name__ == "__main__":  # of Dask's own
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        with logreplay.serve(workers=50, service_time="1ms") as server:
            with logreplay.run(None, server.url, tps=100, duration=2, cluster=client, workers=2) as result:
                print(len(result.requests), result.outcome.lost, client.submit(sum, [1, 2]).result())
"""


@pytest.mark.slow
def test_a_dask_client_of_the_program_sends_and_stays_open(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "program.py").write_text(DASK)
    command = [sys.executable, "program.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=170)
    assert ended.stdout == "200 () 3\n", ended.stderr


LOCAL_CLUSTER = """
import logreplay
print("once")
with logreplay.serve(workers=50, service_time="1ms") as server:
    with logreplay.run(None, server.url, tps=100, duration=1, cluster="local:2") as result:
        print(len(result.requests))
"""


@pytest.mark.slow
def test_a_cluster_of_this_machine_starts_from_a_script_without_a_guard(tmp_path: Path) -> None:
    """Dask spawns its workers, and each ran the script once more."""
    pytest.importorskip("distributed")
    (tmp_path / "program.py").write_text(LOCAL_CLUSTER)
    ended = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=170)
    assert (ended.stdout, ended.stderr) == ("once\n100\n", "")
