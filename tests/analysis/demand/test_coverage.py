"""Where one of several logs lacks a time that others cover, a sentence names the log and the time."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import pytest

import logreplay
from logreplay.analysis.demand.coverage import coverage

DAY = 24 * 60


def said(**logs: Iterable[int]) -> list[str]:
    """The sentences on logs with five requests in each of these minutes since 1970."""
    per_file = {name: dict.fromkeys(minutes, 5) for name, minutes in logs.items()}
    every = [minute for counts in per_file.values() for minute in counts]
    return [*coverage(per_file, min(every) * 60, max(every) * 60 + 59, "UTC")]


def test_one_log_and_logs_of_the_same_time_are_whole() -> None:
    assert said(one=range(3 * DAY)) == []
    assert said(one=range(3 * DAY), two=range(7, 3 * DAY - 9)) == []


def test_rotated_logs_follow_one_another() -> None:
    assert said(one=range(DAY), two=range(DAY - 5, 2 * DAY), three=range(2 * DAY, 3 * DAY)) == []
    sizes = {"a1": range(5 * DAY), "a2": range(5 * DAY, 9 * DAY), "b1": range(3 * DAY), "b2": range(3 * DAY, 9 * DAY)}
    assert said(**sizes) == []


def test_a_log_that_covers_the_last_day_only_is_named_with_its_time() -> None:
    (text,) = said(one=range(9 * DAY), tail=range(8 * DAY, 9 * DAY))
    assert text.startswith("8 days from 1970-01-01 00:00:00 UTC on are in one only, and other times in 2 logs at once")
    assert "tail covers 1970-01-09 00:00:00 to 1970-01-10 00:00:00" in text


def test_a_gap_of_one_log_beside_another_is_named() -> None:
    (text,) = said(one=[*range(600), *range(900, DAY)], two=range(DAY))
    assert text.startswith("one has no request for 5 hours from 1970-01-01 10:00:00 UTC on, and two has")
    assert said(one=[*range(600), *range(900, DAY)], two=[*range(600), *range(900, DAY)]) == []


def test_a_pause_between_two_rotated_logs_of_one_of_two_servers_is_named() -> None:
    (text,) = said(a1=range(600), a2=range(900, DAY), b=range(DAY))
    assert text.startswith("5 hours from 1970-01-01 10:00:00 UTC on are in b only")


def log(path: Path, hours: Iterable[int]) -> str:
    """A log with a request in every second minute of these hours."""
    lines = [
        f'10.0.0.1 - - [21/Nov/2026:{hour:02d}:{minute:02d}:0{len(path.name)} +0000] "GET /a HTTP/1.1" 200 5 "-" "-"\n'
        for hour in hours
        for minute in range(0, 60, 2)
    ]
    path.write_text("".join(lines))
    return str(path)


def test_inspect_says_that_a_log_covers_less_than_the_other(tmp_path: Path) -> None:
    one, two = log(tmp_path / "a.log", range(20)), log(tmp_path / "bb.log", range(15, 20))
    found = logreplay.inspect(one, two)
    (text,) = found.coverage
    assert "a.log only" in text
    assert text in found.summary["notes"]
    assert ("coverage", text) in found.facts
    assert logreplay.inspect(one, two, since="2026-11-21T15:00:00").coverage == ()


def test_idle_logs_of_the_same_directives_are_not_the_same_log(tmp_path: Path) -> None:
    head = (
        "#Software: Microsoft Internet Information Services 10.0\n#Fields: date time cs-method cs-uri-stem sc-status\n"
    )
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(head)
    (tmp_path / "c.log").write_text(head + "2026-11-20 10:00:00 GET /a 200\n")
    found = logreplay.convert(*(tmp_path / f"{name}.log" for name in "abc"))
    assert found.converted == 1


def test_the_same_lines_under_two_names_are_refused(tmp_path: Path) -> None:
    one = log(tmp_path / "a.log", range(20))
    (tmp_path / "b.log").write_bytes(Path(one).read_bytes())
    with pytest.raises(logreplay.LogreplayError, match=r"a\.log and .*b\.log hold the same lines"):
        logreplay.inspect(one, tmp_path / "b.log")
    with pytest.raises(logreplay.LogreplayError, match=r"hold the same lines"):
        logreplay.convert(one, tmp_path / "b.log")


def varied(path: Path, machine: str, seconds: range, *, probes: bool = False) -> Path:
    """Different requests in some seconds of an hour; and a balancer's probe in each second of it."""
    line = '{} - - [20/Nov/2026:18:{:02}:{:02} +0100] "GET {} HTTP/1.1" 200 17 "-" "x"\n'
    with path.open("w") as file:
        for second in range(3600):
            at = divmod(second, 60)
            if probes:
                file.write(line.format("10.0.0.1", *at, "/health"))
            if second in seconds:
                file.write(line.format("10.0.0.2", *at, f"/{machine}{second}"))
    return path


@pytest.mark.parametrize("cut", [slice(1200), slice(900, 2100), slice(None, None, 5)])
def test_a_part_of_a_log_beside_the_whole_is_refused(tmp_path: Path, cut: slice) -> None:
    one = varied(tmp_path / "a.log", "a", range(3600))
    part = tmp_path / "part.log.gz"
    part.write_bytes(gzip.compress("".join(one.read_text().splitlines(keepends=True)[cut]).encode()))
    with pytest.raises(logreplay.LogreplayError, match=r"a\.log and .*part\.log\.gz hold the same lines"):
        logreplay.inspect(one, part)
    with pytest.raises(logreplay.LogreplayError, match=r"hold the same lines"):
        logreplay.convert(one, part)
    for name, source in {"a": one, "part": part}.items():
        logreplay.convert(source, output=tmp_path / f"{name}.csv")
    with pytest.raises(logreplay.LogreplayError, match=r"a\.csv and .*part\.csv hold the same lines"):
        logreplay.convert(tmp_path / "a.csv", tmp_path / "part.csv")


def test_quiet_machines_with_the_same_probe_in_each_second_are_not_refused(tmp_path: Path) -> None:
    logs = [varied(tmp_path / f"{name}.log", name, range(0, 3600, 25), probes=True) for name in "ab"]
    assert logreplay.convert(*logs, output=tmp_path / "both.csv").converted == 2 * 3744
    assert logreplay.inspect(*logs).coverage == ()
    for log in logs:
        logreplay.convert(log, output=log.with_suffix(".csv"))
    csvs = [log.with_suffix(".csv") for log in logs]
    assert logreplay.convert(*csvs, output=tmp_path / "again.csv").converted == 2 * 3744
