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


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_ends_with_an_error_where_the_terminal_has_ascii_only(tmp_path: Path, words: str) -> None:
    log = tmp_path / "access.log"
    line = '127.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET /caf\u00e9 HTTP/1.1" 200 5 "-" "-"\n'
    log.write_text(line, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "logreplay.cli.main", *(word.format(log=log) for word in words.split())],
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
    )
    text = done.stdout + done.stderr
    assert COMMANDS[words] in text
    assert text.isascii()
    assert b"Traceback" not in text
