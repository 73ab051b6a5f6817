"""Whatever stands in a log: no exception, and every line is accounted for."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.cli.main import run
from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.parsers.conversion.detect import detect
from logreplay.parsers.conversion.job import convert
from logreplay.parsers.conversion.parse import BUG, parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.named_values import json_from_sample, ltsv_from_sample
from logreplay.parsers.formats.w3c import w3c_format
from support.format_samples import SAMPLES
from support.linear_time import is_linear

JSON = r'{"time":"2026-11-20T18:58:56+01:00","request":"GET /a HTTP/1.1","status":200,"bytes":17,"request_time":0.001}'
LTSV = "time:2026-11-20T18:58:56+01:00\treq:GET /a HTTP/1.1\tstatus:200\tsize:17\treqtime:0.001\tua:x"


SALT = (b'"', b"\\", b"\\x", b"\0", b"\xff", b"[", b"] [", b" ", b"\n", b"-", b"{", b"9" * 30)


def formats() -> list[Format]:
    found = [*FORMATS, json_from_sample([JSON]), ltsv_from_sample([LTSV])]
    return [format for format in found if format is not None]


def samples(format: Format) -> tuple[str, ...]:
    return (SAMPLES | {"json": (JSON,), "ltsv": (LTSV,)})[format.name]


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Format, bytes]:
    """Lines of a format with some bytes changed, taken away, doubled or put in."""
    format = draw(st.sampled_from(formats()))
    data = bytearray("\n".join(samples(format) * 2).encode())
    for _ in range(draw(st.integers(0, 8))):
        place = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 3)):
            case 0 if place < len(data):
                data[place] = draw(st.integers(0, 255))
            case 1:
                del data[place : place + draw(st.integers(1, 20))]
            case 2:
                data[place:place] = draw(
                    st.sampled_from([b'"', b"\\", b"\\x", b"\0", b"\xff", b"[", b"] [", b" ", b"\n", b"-"])
                )
            case _:
                data[place:place] = data[max(0, place - 5) : place]
    return format, bytes(data)


@pytest.mark.slow
@settings(max_examples=300)
@given(mutated())
def test_mutated_lines_never_raise_and_are_all_accounted_for(case: tuple[Format, bytes]) -> None:
    format, data = case
    lines = text_lines(data) if data else pl.Series([], dtype=pl.String)
    parsed = parse(lines, [format], "Europe/Berlin")
    assert len(lines) == parsed.rows.height + len(parsed.refusals) + parsed.blank
    assert not [refusal for refusal in parsed.refusals if refusal.reason.startswith(BUG)]
    for name in ("us", "url", "op", "rc", "bytes", "latency", "xfertime"):
        assert parsed.rows[name].null_count() == 0
    assert all(0x20 < ord(c) < 0x7F and c != '"' for url in parsed.rows["url"] for c in url)


@pytest.mark.slow
@settings(max_examples=15)
@given(mutated())
def test_a_conversion_of_mutated_lines_keeps_every_line_somewhere(case: tuple[Format, bytes]) -> None:
    format, data = case
    with TemporaryDirectory() as folder:
        log, out = Path(folder) / "access.log", Path(folder) / "out.csv"
        log.write_bytes("\n".join(samples(format) * 5).encode() + b"\n" + data)
        report = convert([log], out)
        raw = log.read_bytes().split(b"\n")
        assert report.lines == len(raw) - (raw[-1] == b"")
        assert scan(out).collect().height == report.converted
        kept = out.with_suffix(".rejects").read_bytes().split(b"\n")[:-1] if report.rejects else []
        assert len(kept) == report.rejected + report.unreplayable
        assert {line.partition(b"\t")[2] for line in kept} <= set(raw)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1))
def test_random_bytes_are_no_log_and_that_is_said(lines: list[bytes]) -> None:
    data = b"".join(b"~" + line.replace(b"\n", b"") + b"\n" for line in lines)
    with pytest.raises(LogreplayError, match=r"^noise: not an access log, or in an unknown format: 0% of"):
        detect([data], "noise")


def log_with_garbage(path: Path, lines: int) -> Counter[str]:
    """Write a log of which one line in a hundred is bad in one of five ways; return how many of each kind."""
    rng = random.Random(7)
    line = '10.0.0.7 - - [20/Nov/2026:{clock} +0000] "{request}" {rest}\n'
    counts: Counter[str] = Counter()
    with open(path, "wb") as out:
        for number in range(lines):
            clock = f"{number // 36000 % 24:02}:{number // 600 % 60:02}:{number // 10 % 60:02}"
            kind = rng.choice(("garbage", "tls", "blank", "time", "cut")) if rng.random() < 0.01 else "good"
            counts[kind] += 1
            good = line.format(clock=clock, request=f"GET /{number} HTTP/1.1", rest='200 17 "-" "x" 0.010')
            match kind:
                case "good":
                    out.write(good.encode())
                case "garbage":
                    out.write(b"~" + rng.randbytes(40).replace(b"\n", b"") + b"\n")  # "#" would be a comment
                case "tls":
                    out.write(good.replace(f"GET /{number} HTTP/1.1", r"\x16\x03\x01").encode())
                case "blank":
                    out.write(b"\r\n")
                case "time":
                    out.write(good.replace("20/Nov", "31/Feb").encode())
                case "cut":
                    out.write(good[: rng.randrange(20, 60)].encode() + b"\n")
    return counts


def test_one_bad_line_in_a_hundred_is_counted_exactly(tmp_path: Path) -> None:
    counts = log_with_garbage(tmp_path / "access.log", 50_000)
    report = convert([tmp_path / "access.log"], tmp_path / "out.csv")
    assert report.lines == 50_000
    assert report.converted == counts["good"]
    assert report.unreplayable == counts["tls"]
    assert report.blank == counts["blank"]
    assert report.rejected == counts["garbage"] + counts["time"] + counts["cut"]
    assert report.reasons["rejected: time stamp"] == counts["time"]
    frame = scan(tmp_path / "out.csv").select("url").collect()
    assert frame["url"].n_unique() == counts["good"]


ESCAPES = b"\x1b]0;owned\x07\x1b[31m\x9b2J\r\x08\0"

HOSTILE_LINES = {
    "target": b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /%s HTTP/1.1" 200 17 "-" "x" 0.010',
    "agent": b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "%s" 0.010',
    "user": b'10.0.0.7 - %s [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "x" 0.010',
    "client": b'%s - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "x" 0.010',
    "method": b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "%s / HTTP/1.1" 200 17 "-" "x" 0.010',
    "time": b'10.0.0.7 - - [20/Nov/2026:18:58:5%s +0100] "GET / HTTP/1.1" 200 17 "-" "x" 0.010',
    "size": b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 %s "-" "x" 0.010',
    "name of a JSON value": b'{"time":"2026-11-20T18:58:56","request":"GET / HTTP/1.1","status":200,"%s":1}',
    "JSON": b'{"time":"2026-11-20T18:58:56","request":"GET /%s HTTP/1.1","status":200,"duration":1}',
    "LTSV": b"time:2026-11-20T18:58:56\treq:GET /%s HTTP/1.1\tstatus:200\treqtime:%s",
    "no log": b"%s",
}


@pytest.mark.parametrize("place", HOSTILE_LINES)
def test_neither_the_terminal_nor_the_csv_sees_a_control_character_of_the_log(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = HOSTILE_LINES[place]
    good = line.replace(b"%s", b"1") + b"\r\n"
    log, out = tmp_path / "access.log", tmp_path / "out.csv"
    bad = (line.replace(b"%s", ESCAPES) + b"\n", line.replace(b"%s", b"\n" + ESCAPES) + b"\r\n")
    log.write_bytes(b"".join((good, good, good, *bad, good)))
    code = run(["convert", str(log), "-o", str(out)])
    said = "".join(capsys.readouterr())
    assert code == (1 if place == "no log" else 0), said
    assert said.replace("\n", "").isprintable()
    if out.exists():
        assert out.read_text().replace("\n", "").isprintable()


def test_lines_of_windows_keep_no_carriage_return(tmp_path: Path) -> None:
    log, out = tmp_path / "access.log", tmp_path / "out.csv"
    log.write_bytes(b"\r\n".join([HOSTILE_LINES["target"] % b"a"] * 3) + b"\r\n")
    report = convert([log], out)
    assert (report.lines, report.converted, report.reasons) == (3, 3, Counter())
    assert b"\r" not in out.read_bytes()


W3C = "2026-11-20 18:58:56 GET /a 200 1"
LARGE: dict[str, tuple[str, Callable[[int], str]]] = {
    "JSON, an endless value": ("json", lambda n: JSON[:-1] + ',"x":"' + "a" * n + '"}'),
    "JSON, escapes": ("json", lambda n: JSON[:-1] + ',"x":"' + r"\"" * (n // 2) + '"}'),
    "JSON, a value without end": ("json", lambda n: JSON[:-1] + ',"x":"' + "\\" * n),
    "JSON, fields": ("json", lambda n: JSON[:-1] + ',"x":1' * (n // 6) + "}"),
    "JSON, nested": ("json", lambda n: JSON[:-1] + ',"x":' + '{"a":' * (n // 10) + "1" + "}" * (n // 10) + "}"),
    "LTSV, an endless value": ("ltsv", lambda n: LTSV + "a" * n),
    "LTSV, fields": ("ltsv", lambda n: LTSV + "\tx:1" * (n // 4)),
    "W3C, an endless value": ("w3c", lambda n: W3C.replace("/a", "/" + "a" * n)),
    "W3C, fields": ("w3c", lambda n: W3C + " 1" * (n // 2)),
}


@pytest.mark.parametrize("case", LARGE)
def test_the_time_of_a_hostile_line_is_linear_in_its_size(case: str) -> None:
    name, made = LARGE[case]
    read = {
        "json": json_from_sample([JSON]),
        "ltsv": ltsv_from_sample([LTSV]),
        "w3c": w3c_format(["date", "time", "cs-method", "cs-uri-stem", "sc-status", "time-taken"], " ", "w3c"),
    }
    format = read[name]
    assert format
    assert is_linear(lambda size: parse(text_lines(made(size).encode()), [format]), 100_000)
