"""Logs made to exhaust memory: endless lines, and small files that unpack to gigabytes."""

import gzip
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.core.zstd import zstd
from logreplay.parsers.conversion import compression
from logreplay.parsers.conversion import source as reader
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.source import BlockSource
from support.command_line import COMMAND, started

LINE = b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /%s HTTP/1.1" 200 17 "-" "curl/8.5.0" 0.010\n'
SOME = b"".join(LINE % str(number).encode() for number in range(300))
MEGABYTE = 1 << 20


MEASURED = """
import re, sys
from logreplay.cli.main import run
code = run(sys.argv[1:])
print(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])  # ru_maxrss knows the parent's peak too
sys.exit(code)
"""


def run_convert(log: Path) -> tuple[int, str, float]:
    """Exit code, what was said, and peak memory in MB of a conversion in a process of its own."""
    command = [sys.executable, "-c", MEASURED, "convert", str(log), "-o", str(log.with_suffix(".csv"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, int(done.stdout) / 1024


def packed(letter: bytes, megabytes: int) -> bytes:
    """Some members of gzip that unpack to so many megabytes of one letter."""
    return gzip.compress(letter * 64 * MEGABYTE) * (megabytes // 64)


@pytest.mark.slow
def test_a_line_of_100_megabytes_is_converted_whole(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(SOME + LINE % (b"a" * 100 * MEGABYTE) + LINE % b"last")
    code, said, peak = run_convert(log)
    assert code == 0
    assert "302 lines = 302 converted + 0 unreplayable + 0 rejected" in said
    rows = (tmp_path / "access.csv").read_bytes().split(b"\n")
    assert max(map(len, rows)) > 100 * MEGABYTE
    assert b"/" + b"a" * 100 * MEGABYTE + b"," in max(rows, key=len)
    assert peak < 1500


@pytest.mark.parametrize("redact", [False, True])
def test_a_line_longer_than_memory_should_hold_goes_to_the_reject_file_whole(
    redact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST", 5 * MEGABYTE)
    log = tmp_path / "access.log"
    endless = b"x" * (15 * MEGABYTE + 7)
    just_fits = b"y" * (3 * MEGABYTE)
    parts = (SOME, endless, b"\n", LINE % b"between", endless, b"\n", just_fits, b"\n", endless, b"\n", LINE % b"last")
    log.write_bytes(b"".join((*parts, endless)))
    report = convert([log], tmp_path / "out.csv", ConvertOptions(redact=redact))
    assert (report.lines, report.converted, report.rejected) == (307, 302, 5)
    assert report.reasons["rejected: longer than 128 MB"] == 4
    kept = (tmp_path / "out.rejects").read_bytes().split(b"\n")[:-1]
    assert [int(line.split(b" ")[0]) for line in kept] == [301, 303, 304, 305, 307]
    lines = [endless, endless, just_fits, endless, endless]
    assert [line.partition(b"\t")[2] for line in kept] == (5 * [b"(redacted)"] if redact else lines)
    assert scan(tmp_path / "out.csv").collect()["url"].to_list()[-2:] == ["/between", "/last"]


def test_parts_of_an_endless_line_are_not_mixed_with_another_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST", 5 * MEGABYTE)
    endless = b"x" * (15 * MEGABYTE)
    logs = [tmp_path / "a.log", tmp_path / "b.log"]
    for number, log in enumerate(logs, 1):
        log.write_bytes(SOME + endless + b"\n" + number * SOME)
    convert(logs, tmp_path / "out.csv")
    kept = (tmp_path / "out.rejects").read_bytes().split(b"\n")[:-1]
    assert [line.partition(b"\t")[2] for line in kept] == [endless, endless]


def test_data_of_xz_that_need_more_memory_than_allowed_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "MEMORY", 4 * MEGABYTE)
    log = tmp_path / "access.log"
    log.write_bytes(lzma.compress(SOME, preset=6))
    with pytest.raises(
        LogreplayError, match=r"unpacking needs more than 256 MB of memory; unpack it with another program: xz"
    ):
        convert([log], tmp_path / "out.csv")


def test_data_of_zstd_that_need_too_much_memory_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 28})
    log.write_bytes(stream.compress(SOME) + stream.flush())
    with pytest.raises(
        LogreplayError, match=r"of memory; unpack it with another program: zstd -dc --long=31 .*access.log"
    ):
        convert([log], tmp_path / "out.csv")


@pytest.mark.parametrize("padding", [0, 4, 1 << 17])
def test_streams_of_xz_may_follow_each_other_and_be_padded(padding: int, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes((lzma.compress(SOME) + bytes(padding)) * 3)
    assert convert([log], tmp_path / "out.csv").converted == 900


@pytest.mark.slow
def test_a_bomb_that_unpacks_to_one_line_of_half_a_gigabyte_is_rejected_in_bounded_memory(tmp_path: Path) -> None:
    log = tmp_path / "bomb.gz"
    log.write_bytes(gzip.compress(SOME) + packed(b"A", 512) + gzip.compress(b"\n" + LINE % b"last"))
    assert log.stat().st_size < 2 * MEGABYTE
    code, said, peak = run_convert(log)
    assert code == 0
    assert "302 lines = 301 converted + 0 unreplayable + 1 rejected" in said
    assert "longer than 128 MB" in said
    assert log.with_name("bomb.rejects").stat().st_size > 1 << 29
    assert peak < 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("letter", "word"),
    [(b"A", "not an access log, or in an unknown format"), (b"\0", "is empty; name a log that holds requests")],
)
def test_a_bomb_of_one_letter_is_no_access_log(letter: bytes, word: str, tmp_path: Path) -> None:
    log = tmp_path / "bomb.gz"
    log.write_bytes(packed(letter, 512))
    code, said, peak = run_convert(log)
    assert code == 1
    assert word in said
    assert len(said) < 500
    assert peak < 400


@pytest.mark.slow
def test_megabytes_of_nul_before_the_first_line_of_a_rotated_log_cost_nothing(tmp_path: Path) -> None:
    log = tmp_path / "access.gz"
    log.write_bytes(packed(b"\0", 256) + gzip.compress(SOME))
    code, said, peak = run_convert(log)
    assert code == 0
    assert "300 lines = 300 converted" in said
    assert peak < 250


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": partial(lzma.compress, preset=0),
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("packing", PACKERS)
def test_what_is_unpacked_at_once_is_bounded(packing: str, tmp_path: Path) -> None:
    log = tmp_path / "bomb"
    log.write_bytes(PACKERS[packing](b"\n" * (64 * MEGABYTE)))
    source = BlockSource(log)
    sizes = [len(block.data) for block in source.blocks()]
    source.close()
    assert sum(sizes) == 64 * MEGABYTE
    assert max(sizes) < 40 * MEGABYTE


@pytest.mark.slow
def test_a_bomb_can_be_interrupted(tmp_path: Path) -> None:
    log = tmp_path / "bomb.gz"
    log.write_bytes(packed(b"\0", 65_536))
    process = started(*COMMAND, "convert", log, "-o", tmp_path / "out.csv", stderr=subprocess.PIPE)
    while process.poll() is None and not process_time_s(process.pid) > 1:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    process.communicate(timeout=20)
    assert time.monotonic() - begin < 5
    assert process.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["bomb.gz"]


def process_time_s(pid: int) -> float:
    """How long a process has been computing."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
