"""Files become blocks of whole lines, whatever they are packed in and however long the lines are."""

import bz2
import gzip
import lzma
import os
import re
import resource
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import free_port
from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.core.zstd import zstd
from logreplay.parsers.conversion import job
from logreplay.parsers.conversion.detect import Detection, detect_each
from logreplay.parsers.conversion.job import convert
from logreplay.parsers.conversion.source import BlockSource, text_lines

TEXT = b"".join(b"line %d \xe9\n" % number for number in range(5000))

PACKED = {
    "plain": TEXT,
    "gzip": gzip.compress(TEXT),
    "gzip of several members": gzip.compress(TEXT[:9000]) + gzip.compress(TEXT[9000:]),
    "bzip2": bz2.compress(TEXT),
    "bzip2 of several streams": bz2.compress(TEXT[:9000]) + bz2.compress(TEXT[9000:]),
    "xz": lzma.compress(TEXT),
    "zstd": zstd.compress(TEXT),
    "zstd of several frames": zstd.compress(TEXT[:9000]) + zstd.compress(TEXT[9000:]),
}


@pytest.mark.parametrize("packing", PACKED)
def test_content_tells_the_compression(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(PACKED[packing])
    source = BlockSource(path)
    source.sample()
    source.block = 1000
    assert b"".join(block.data for block in source.blocks()) == TEXT
    assert not source.truncated
    source.close()


@pytest.mark.parametrize("packing", [name for name in PACKED if name != "plain"])
def test_of_cut_data_all_that_can_be_read_is_kept(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(PACKED[packing][:-20])
    source = BlockSource(path)
    found = b"".join(block.data for block in source.blocks())
    assert TEXT.startswith(found)
    assert source.truncated
    source.close()


@pytest.mark.parametrize("packing", ["gzip of several members", "bzip2 of several streams", "zstd of several frames"])
def test_a_damaged_second_stream_is_told(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    magic = PACKED[packing][:3]
    second = PACKED[packing].rindex(magic)
    path.write_bytes(PACKED[packing][:second] + b"A" + PACKED[packing][second + 1 :])
    source = BlockSource(path)
    assert b"".join(block.data for block in source.blocks()) == TEXT[:9000]
    assert source.truncated
    source.close()


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b""))), st.booleans(), st.integers(1, 40))
def test_lines_and_their_numbers_do_not_depend_on_the_size_of_blocks(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], closed: bool, size: int
) -> None:
    path = tmp_path_factory.mktemp("reader") / "log"
    data = b"\n".join(lines) + (b"\n" if closed and lines else b"")
    path.write_bytes(b"x\n" + data)  # not to be taken for a mark or a compression
    source = BlockSource(path)
    source.block = size
    numbered = []
    for block in source.blocks():
        assert len(block.raw_lines()) == len(block.lines())
        numbered += [(block.first + place, line) for place, line in enumerate(block.raw_lines())]
    source.close()
    expected = (b"x\n" + data).split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert numbered == list(enumerate(expected, 1))


@given(st.binary())
def test_lines_hold_one_character_a_byte(data: bytes) -> None:
    plain = data.replace(b"\0", b"")
    lines = text_lines(plain)
    raw = (plain if plain.endswith(b"\n") else plain + b"\n").split(b"\n")[:-1]
    assert [line.encode("latin-1") for line in lines] == [line.removesuffix(b"\r") for line in raw]


def test_nuls_before_a_line_are_not_part_of_it() -> None:
    assert text_lines(b"\0\0\0a\0b\n").to_list() == ["a\0b"]


def test_a_byte_order_mark_is_not_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbfa\nb\n")
    source = BlockSource(path)
    assert [block.data for block in source.blocks()] == [b"a\nb\n"]
    source.close()


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"\xff\xfea\0\n\0", r"is UTF-16; convert it first: iconv"), (None, r"no such file$")],
)
def test_what_cannot_be_read_is_said(content: bytes | None, text: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LogreplayError, match=text):
        BlockSource(path)


def test_a_command_to_copy_quotes_the_name_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a;id.log"
    path.write_bytes(b"\xff\xfea\0\n\0")
    with pytest.raises(LogreplayError) as caught:
        BlockSource(path)
    command = str(caught.value).partition(" first: ")[2]
    assert shlex.split(command) == ["iconv", "-f", "UTF-16", "-t", "UTF-8", str(path), "|", "logreplay", "convert", "-"]


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"is a folder; name the log files in it$"):
        BlockSource(tmp_path)


def test_a_file_that_grows_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\n")
    source = BlockSource(path)
    with open(path, "ab") as more:
        more.write(b"b\n")
    assert source.grown() == 2
    source.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a web server with the files of the test's folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


LINE = '192.0.2.1 - - [20/Nov/2026:10:00:{:02} +0000] "GET /{} HTTP/1.1" 200 1\n'


def test_logs_of_a_web_server_are_read_by_a_pattern_in_order_of_time(tmp_path: Path, web: str) -> None:
    for name, first in (("b.log", 0), ("a.log.gz", 30)):
        lines = "".join(LINE.format(first + second, first + second) for second in range(30)).encode()
        (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    (tmp_path / "other.txt").write_text("no log")
    report = convert([f"{web}/*.log*"], tmp_path / "out.csv")
    assert (report.converted, report.rejected) == (60, 0)
    assert scan(tmp_path / "out.csv").collect()["url"].to_list() == [f"/{number}" for number in range(60)]
    assert convert([f"{web}/b.log?token=*"], tmp_path / "one.csv").converted == 30


def test_an_address_without_a_file_is_one_sentence_without_its_secrets(tmp_path: Path, web: str) -> None:
    for name, text in (
        ("gone.log", "the server answered with status 404; check the address"),
        ("gone*.log", "no such file on the server; check the address"),
        ("gone.log?token=hunter2", "the server answered with status 404"),
    ):
        with pytest.raises(LogreplayError, match=text) as told:
            convert([f"{web}/{name}"], tmp_path / "out.csv")
        assert "hunter2" not in str(told.value)


@pytest.mark.parametrize("name", ["access.log", "access*.log"])
def test_a_web_server_that_cannot_be_reached_is_told_from_a_missing_file(tmp_path: Path, web: str, name: str) -> None:
    port = free_port()
    refused = f"http://127.0.0.1:{port}/{name}: connection refused; check host and port, and that the server runs"
    with pytest.raises(LogreplayError, match=re.escape(refused)):
        convert([f"http://127.0.0.1:{port}/{name}"], tmp_path / "out.csv")
    with pytest.raises(
        LogreplayError, match=r"no TLS connection .*; check the port and the certificate, or use http://"
    ):
        convert([f"{web.replace('http:', 'https:')}/{name}"], tmp_path / "out.csv")


STAMP = "{:%d/%b/%Y:%H:%M:%S} +0000"


def logs_of(folder: Path, count: int, *, compress: bool, apart_s: int) -> list[Path]:
    """Logs of 50 requests each, so many seconds from one to the next."""
    paths = [folder / f"{number:04}.log" for number in range(count)]
    for number, path in enumerate(paths):
        starts = (datetime(2026, 1, 1) + timedelta(seconds=number * apart_s + second) for second in range(50))
        lines = (f'10.0.0.1 - - [{STAMP.format(start)}] "GET /{number} HTTP/1.1" 200 17\n' for start in starts)
        data = "".join(lines).encode()
        path.write_bytes(gzip.compress(data, 1) if compress else data)
    return paths


@contextmanager
def open_files(most: int) -> Iterator[None]:
    """Let this process open so many files more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("apart_s", [0, 50], ids=["at once", "one after the other"])
@pytest.mark.parametrize("compress", [False, True])
def test_any_number_of_logs_is_read_with_few_of_them_open(tmp_path: Path, compress: bool, apart_s: int) -> None:
    """All of them were open at once: 300 rotated logs failed where a process may open 256 files."""
    paths = logs_of(tmp_path, 30, compress=compress, apart_s=apart_s)
    (tmp_path / "first").mkdir()
    convert(paths[:1], tmp_path / "first" / "out.csv")  # loads what it needs
    with open_files(16):
        report = convert(paths, tmp_path / "out.csv")
    assert (report.lines, report.converted) == (1500, 1500)
    rows = scan(tmp_path / "out.csv").collect()
    assert rows["time"].is_sorted()
    assert rows["url"].n_unique() == 30


def test_the_format_of_many_logs_is_told_by_few_lines_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(samples: list[bytes], names: list[str], wanted: str) -> list[Detection]:
        nonlocal looked_at
        looked_at = sum(map(len, samples))
        return detect_each(samples, names, wanted)

    monkeypatch.setattr(job, "detect_each", counted)
    monkeypatch.setattr(job, "_SAMPLED", 10_000)
    monkeypatch.setattr(job, "_OF_EACH", 500)
    convert(logs_of(tmp_path, 30, compress=True, apart_s=50), tmp_path / "out.csv")
    assert 30 * 400 < looked_at <= 30 * 500


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda path: path.unlink(), "was renamed or removed while it was read; convert again"),
        (lambda path: path.rename(path.with_name("old")), "was renamed or removed while it was read; convert again"),
        (
            lambda path: (path.rename(path.with_name("old")), path.write_bytes(TEXT)),
            "another file took its name while it was read; convert again",
        ),
        (lambda path: path.write_bytes(b""), "was truncated while it was read; convert a copy of it"),
    ],
    ids=["removed", "renamed", "rotated", "truncated"],
)
def test_a_file_that_is_no_longer_the_same_is_an_error(
    tmp_path: Path, change: Callable[[Path], object], text: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(TEXT)
    source = BlockSource(path)
    source.block = 1000
    blocks = source.blocks()
    next(blocks)
    change(path)
    with pytest.raises(LogreplayError, match=rf"^{path}: {text}$"):
        list(blocks)


@pytest.mark.parametrize("packing", {"gzip": gzip, "bzip2": bz2, "xz": lzma, "zstd": zstd}.items(), ids=lambda p: p[0])
@pytest.mark.parametrize("size", [1, 1000])
def test_a_mark_inside_packed_bytes_is_left_out(tmp_path: Path, packing: tuple[str, Any], size: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(packing[1].compress(b"\xef\xbb\xbf" + TEXT))
    source = BlockSource(path)
    assert source.sample().startswith(b"line 0 ")
    source.block = size
    assert b"".join(block.data for block in source.blocks()) == TEXT
    source.close()


@pytest.mark.parametrize("packing", ["plain", "gzip"])
def test_a_mark_is_left_out_each_time_a_file_is_read(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + PACKED[packing])
    source = BlockSource(path)
    assert source.head().startswith(b"line 0 ")
    assert source.sample().startswith(b"line 0 ")
    assert b"".join(block.data for block in source.blocks()) == TEXT
