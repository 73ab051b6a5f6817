"""Output that leaves by a thread of its own."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest

from logreplay.cli.display.async_output import SPELLED, Outlet


def test_a_full_pipe_that_somebody_made_non_blocking_loses_nothing() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    got: list[bytes] = []

    def read() -> None:
        while data := os.read(reading, 65_536):
            got.append(data)

    with open(writing, "w", encoding="utf-8") as stream:
        outlet = Outlet(stream)
        outlet.write("x" * 1_000_000)
        reader = Thread(target=read)
        reader.start()
        assert outlet.drain()
        assert outlet.failure is None
        outlet.close()
    reader.join()
    assert sum(map(len, got)) == 1_000_000
    os.close(reading)


def test_an_empty_text_ends_nothing() -> None:
    stream = StringIO()
    outlet = Outlet(stream)
    for text in ("a", "", "b"):
        outlet.write(text)
    assert outlet.drain()
    outlet.close()
    assert stream.getvalue() == "ab"


def test_a_closed_stream_without_a_file_ends_the_writing_and_nobody_waits_for_it() -> None:
    stream = StringIO()
    stream.close()
    outlet = Outlet(stream)
    outlet.write("a")
    assert outlet.drain()
    assert outlet.failure
    outlet.close()


@pytest.mark.parametrize(
    ("text", "written"),
    [("97 µs, 200 → 503 – …", "97 us, 200 -> 503 - ..."), ("λ\udcc3", "??"), ("1 × 2", "1 x 2")],
)
def test_signs_that_an_encoding_lacks_are_spelled(text: str, written: str) -> None:
    """97 µs was printed as ``97 ?s``."""
    assert text.encode("ascii", SPELLED).decode() == written


COMMANDS = {
    "run --help-all": b"--steps R:D,...",
    "man sweep": b"logreplay",
    "capacity nothing --demand 5 --p99 1s": b"no such file",
    "run \N{GREEK SMALL LETTER LAMDA}.log http://127.0.0.1:9 --tps 5": b"?.log: no such file",
    "inspect {log}": b"/caf",
    "convert {log} -o {log}.csv": b"1 converted",
}


ONE_AFTER_THE_OTHER = """
import sys
from logreplay.cli import main
main._open_standard_streams()
for words in sys.argv[1:]:
    main.run(words.split())
    print(flush=True)
"""


def test_no_command_ends_with_an_error_where_the_terminal_has_ascii_only(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    line = '127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET /caf\u00e9 HTTP/1.1" 200 5 "-" "-"\n'
    log.write_text(line, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER, *(words.format(log=log) for words in COMMANDS)],
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    begin = 0
    for said in COMMANDS.values():
        begin = done.stdout.index(said, begin)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"Traceback" not in done.stdout
