"""``logreplay inspect``: facts, routes and commands as text, as JSON, and as a page."""

import json
import pickle
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import logreplay as library
from logreplay.cli.main import run

LINE = '{client} - - [{day}/Jan/2026:{time} +0100] "{method} {url} HTTP/1.1" {status} 100 "-" "{agent}"\n'


class Ended(NamedTuple):
    """An exit code, and what was printed."""

    exit_code: int
    stdout: str
    output: str


Logreplay = Callable[..., Ended]


@pytest.fixture
def logreplay(capsys: pytest.CaptureFixture[str]) -> Logreplay:
    """Run a command within this process."""

    def ended(*words: object) -> Ended:
        capsys.readouterr()
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.out + printed.err)

    return ended


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two days with a request each minute, and one busy minute."""
    lines = [
        LINE.format(client=f"192.0.2.{at % 3}", day=f"{5 + at // 1440:02}", time=f"{at // 60 % 24:02}:{at % 60:02}:00",
                    method="GET", url=f"/item/{at}", status=200, agent="Mozilla/5.0")
        for at in range(2880)
    ]  # fmt: skip
    busy = {"client": "198.51.100.7", "day": "06", "method": "POST", "url": "/buy?token=s3cret", "status": 500}
    lines += [LINE.format(time=f"12:30:{at % 60:02}", agent=f"curl/{at}", **busy) for at in range(120)]
    lines.append('192.0.2.1 - - [06/Jan/2026:12:31:00 +0100] "GET /ws HTTP/1.1" 101 0 "-" "Mozilla/5.0"\n')
    path = tmp_path / "access.log"
    path.write_text("".join(sorted(lines, key=lambda line: line.partition("[")[2])))
    return path


def test_it_says_what_is_in_a_log_and_how_to_replay_it(logreplay: Logreplay, log: Path) -> None:
    done = logreplay("inspect", log, "--timezone", "Europe/Berlin")
    assert done.exit_code == 0
    text = " ".join(done.output.split())
    assert "3,001 lines = 3,000 converted + 1 unreplayable + 0 rejected + 0 blank" in text
    assert "3,000 in 48 hours, 2026-01-05 00:00:00 to 2026-01-06 23:59:00 Europe/Berlin" in text
    assert "busiest second 3/s at 2026-01-06 12:30:00; busiest minute 2.02/s at" in text
    assert "steepest rise from 0.0167/s" in text.replace("1/min", "0.0167/s")
    assert "methods GET 96 %, POST 4 %" in text
    assert "statuses 2xx 96 %, 5xx 4 %" in text
    assert "4 addresses; the busiest sends 32 % of the requests" in text
    assert "1 has 10 or more different agents: several users may be behind one address" in text
    assert "programs 4 % of the requests name a program" in text
    assert "routes 96.0 % GET /item/{}" in text
    assert "not replayed 1 unreplayable: websocket" in text
    assert "the bodies of 120 requests: the log has none" in text
    assert "s3cret" not in text


def test_the_commands_that_it_names_can_be_typed(logreplay: Logreplay, log: Path) -> None:
    found = library.inspect(log)
    assert [each.command.split()[1] for each in found.replays] == ["run", "sweep", "find"]
    for each in found.replays:  # nothing listens there
        words = [word.replace("TARGET", "http://127.0.0.1:9") for word in shlex.split(each.command)[1:]]
        done = logreplay(*words)
        assert "127.0.0.1:9: nothing answers" in done.output or "refused" in done.output, done.output


def test_rates_of_logs_years_apart_are_those_of_the_times_with_requests(logreplay: Logreplay, log: Path) -> None:
    log.with_name("old.log").write_text(log.read_text().replace("/2026:", "/2016:"))
    done = logreplay("inspect", log, log.with_name("old.log"))
    assert "6,000 in 3655 days, 2016-01-04 23:00:00 to 2026-01-06 22:59:00 UTC" in done.stdout
    assert re.search(r"rate +mean 1.64/day, 1.04/min without the empty times; busiest second", done.stdout)
    assert re.search(r"empty +3651 days without a request from 2016-01-06 22:59:01 on\n", done.stdout)
    assert not re.search(r"^  gap ", done.stdout, re.MULTILINE)
    assert "without --from and --for, the replay takes 4 days, with --skip-idle 1m\n" in done.stdout


def test_the_empty_times_of_short_logs_are_shortened(logreplay: Logreplay, log: Path) -> None:
    day = "".join(line for line in log.read_text().splitlines(keepends=True) if "05/Jan/2026:09" in line)
    log.write_text(day + day.replace("05/Jan", "12/Jan"))
    done = logreplay("inspect", log)
    assert "TARGET --speed 1 --by-client --skip-idle 1m\n" in done.stdout
    assert "leaves out the empty times: each is shortened to 1m\n" in done.stdout


def test_the_busiest_hour_of_a_long_log_is_to_be_replayed(logreplay: Logreplay, log: Path) -> None:
    """A replay of days, or of months, was named."""
    command = next(each.command for each in library.inspect(log).replays if "--speed" in each.command)
    assert command.endswith("TARGET --speed 1 --by-client --from 2026-01-06T10:31:00Z --for 1h")
    words = shlex.split(command.replace("TARGET", "http://127.0.0.1:9"))[1:]
    done = logreplay(*words, "--dry-run", "--methods", "GET,POST")
    assert re.search(r"^180 requests in 3[0-9]{3}\.", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("years", [range(2016, 2027, 10), range(2018, 2027)])
def test_logs_years_apart_are_drawn_side_by_side(log: Path, years: range) -> None:
    """Their rate over time was one line, and that of each hour of the week next to none."""
    logs = [log.with_name(f"{year}.log") for year in years]
    for each in logs:
        each.write_text(log.read_text().replace("/2026:", f"/{each.stem}:"))
    found = library.inspect(logs)
    figure = Figure()
    ax = figure.add_subplot()
    found.plot(ax)
    busiest, means = (np.asarray(patch.get_data()[0]) for patch in ax.patches if isinstance(patch, StepPatch))
    assert len(means) > 10 * len(logs)
    assert (means > 0).mean() > 0.5
    assert busiest.max() == found.profile.peaks["second"].requests
    assert len(ax.lines) == len(logs) - 1
    assert ax.get_xticklabels()[0].get_text().startswith(f"{years[0]}-01-0")
    assert found.week["rate"].max() == pytest.approx(library.inspect(log).week["rate"].max(), rel=0.5)


def test_monthly_logs_keep_their_nights_in_a_replay_and_lose_the_times_between_them(
    logreplay: Logreplay, log: Path
) -> None:
    days = [line for line in log.read_text().splitlines(keepends=True) if re.search(r"2026:(0[89]|1\d):", line)]
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    log.write_text("".join("".join(days).replace("/Jan/", f"/{month}/") for month in months))
    done = logreplay("inspect", log)
    empty = re.findall(r"^ +(?:empty +)?(.* without a request.*)\n", done.stdout, re.MULTILINE)
    assert len(empty) == 6, done.stdout
    assert empty[-1] == "6 other times without a request, 170 days in all"
    assert "0.723/min without the empty times" in done.stdout
    assert "the replay takes 18 days, with --skip-idle 721m\n" in done.stdout


def test_several_logs_and_logs_read_with_options_are_converted_first(logreplay: Logreplay, log: Path) -> None:
    other = log.rename(log.with_name("access.log.1"))
    log.write_text(other.read_text().replace(' 100 "-"', ' 101 "-"'))
    found = library.inspect(log, other, timezone="Europe/Berlin", methods="POST")
    assert [each.command.partition(" ")[2] for each in found.replays][:2] == [
        f"convert {log} {other} --method POST -o access.csv",
        "run access.csv TARGET --speed 1",
    ]
    assert "--timezone" not in "".join(found.report.notes)


def test_a_place_that_cannot_be_written_is_refused_before_the_log_is_read(logreplay: Logreplay, log: Path) -> None:
    done = logreplay("inspect", "nosuch.log", "-o", log)
    assert (done.exit_code, done.output) == (
        1,
        f"Error: {log}: is a file; name a folder with -o\n",
    )


def test_json_and_the_page_say_the_same(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "what"
    done = logreplay("inspect", log, "-o", folder, "--json")
    summary = json.loads(done.stdout)
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert {path.name for path in folder.iterdir()} == {
        "report.html", "summary.json", "seconds.csv", "hours.csv", "week.csv", "routes.csv", "clients.csv", "agents.csv"
    }  # fmt: skip
    assert summary["rates"]["second"] == {"rate": 3.0, "at": "2026-01-06T11:30:00Z"}
    assert summary["reasons"] == {"unreplayable: websocket": 1}
    assert sum(row["requests"] for row in summary["week"]) == summary["requests"] == 3000
    page = (folder / "report.html").read_text()
    assert len(re.findall("<svg role", page)) == 2
    assert "token=s3cret" not in page
    again = logreplay("inspect", log, "-o", folder)
    assert again.exit_code == 1
    assert "exists already" in again.output
    assert logreplay("inspect", log, "-o", folder, "--force", "-q").output == ""


def test_a_converted_log_has_the_same_facts(log: Path, tmp_path: Path) -> None:
    converted = library.convert(log, output=tmp_path / "access.csv")
    one, other = library.inspect(log).summary, library.inspect(converted).summary
    differing = {name for name, value in one.items() if value != other[name]}
    assert differing <= {
        "log",
        "format",
        "server",
        "resolution_s",
        "lines",
        "unreplayable",
        "reasons",
        "replays",
        "notes",
    }


def test_a_result_is_a_value_with_tables_and_a_picture(log: Path) -> None:
    found = pickle.loads(pickle.dumps(library.inspect(log, timezone="Europe/Berlin")))
    assert found.week.groupby("day")["requests"].sum().tolist() == [1440, 1560]
    assert found.routes.iloc[0].to_dict()["route"] == "/item/{}"
    assert "3,000 requests in 48 hours" in found._repr_html_()
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_values_of_strangers_are_shown_safely(logreplay: Logreplay, tmp_path: Path) -> None:
    path = tmp_path / "<b>.log"
    agent = "<script>alert(1)</script>\x1b[31m"
    path.write_text(LINE.format(client="192.0.2.1", day="05", time="00:00:00", method="GET", url="/<i>?k=\x1b[2J",
                                status=200, agent=agent) * 3)  # fmt: skip
    done = logreplay("inspect", path, "-o", tmp_path / "what")
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    page = (tmp_path / "what" / "report.html").read_text()
    assert "<script" not in page
    assert "<i>" not in page


def test_requests_without_times_have_no_rate(logreplay: Logreplay, tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("/a\n/b\n/b\n")
    done = logreplay("inspect", path, "-f", "urls")
    assert done.exit_code == 0
    assert "all in the second 1970-01-01 00:00:00 UTC: their rate is unknown" in done.output
    assert "--speed" not in done.output
    assert json.loads(logreplay("inspect", path, "-f", "urls", "--json").stdout)["rates"]["mean"] is None


def test_no_replay_at_the_times_of_a_log_is_advised_whose_times_are_scrambled(
    logreplay: Logreplay, tmp_path: Path
) -> None:
    path = tmp_path / "a.log"
    lines = [
        LINE.format(
            client="192.0.2.1", day="05", time=f"{at * 7 % 24:02}:00:00", method="GET", url="/", status=200, agent="a"
        )
        for at in range(24)
    ]
    path.write_text("".join(lines))
    done = logreplay("inspect", path)
    assert "their timing is not" in done.output
    assert "--speed" not in done.output
    assert "the course of the log's rate" not in done.output
    assert f"logreplay sweep 10..80 {path} TARGET" in done.output


def test_a_normalized_csv_out_of_order_is_converted_first(logreplay: Logreplay, tmp_path: Path) -> None:
    """It was to be replayed as it stood, which `run` refuses."""
    rows = [f"2026-01-05,00:{at * 7 % 60:02}:00,0.01,0,0,2,/a,200,GET\n" for at in range(60)]
    for name, lines in ("in.csv", sorted(rows)), ("out.csv", rows), ("all.csv", rows):
        (tmp_path / name).write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n" + "".join(lines))
    advised = {name: library.inspect(tmp_path / f"{name}.csv").replays[0].command for name in ("in", "out", "all")}
    assert advised["in"].endswith("in.csv TARGET --speed 1")
    assert advised["out"] == f"logreplay convert {tmp_path / 'out.csv'} -o all.csv"
    assert advised["all"] == f"logreplay convert {tmp_path / 'all.csv'} -o all-2.csv"


def test_the_account_of_a_log_without_a_request_is_printed_as_json(logreplay: Logreplay, tmp_path: Path) -> None:
    """It printed no JSON, and convert did."""
    path = tmp_path / "a.log"
    path.write_text('- - - [05/Jan/2026:00:00:00 +0000] "-" 400 0 "-" "-"\n')
    done = logreplay("inspect", path, "--json")
    counts = json.loads(done.stdout)
    assert (done.exit_code, counts["lines"], counts["converted"], counts["unreplayable"]) == (1, 1, 0, 1)
    assert list(counts["reasons"].values()) == [1]


@pytest.mark.parametrize("text", ["", "no log at all\n", '- - - [05/Jan/2026:00:00:00 +0000] "-" 400 0 "-" "-"\n'])
def test_a_file_without_a_request_is_refused(text: str, logreplay: Logreplay, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(text)
    done = logreplay("inspect", path)
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert f"{path}: " in done.output


def test_a_normalized_csv_is_checked_as_convert_checks_it(logreplay: Logreplay, log: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-05,00:00:00,0,0,0,1,/,200,GET\n")
    for words, said in (
        ([table, "--client", "192.0.2.1"], f"--client: {table} has no column client; leave out --client"),
        ([table, table], f"{table} is named twice"),
        ([table, "-f", "combined"], f"--format and {table} exclude each other: a normalized CSV is not parsed"),
        ([table, log], "a log and a normalized CSV cannot be converted together"),
    ):
        done = logreplay("inspect", *words)
        assert (done.exit_code, done.stdout) == (1, "")
        assert said in done.output


def test_routes_come_in_the_order_of_their_requests(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    urls = ["/rare", *["/often"] * 5, "/seldom", "/seldom", *["/mostly"] * 9]
    line = {"client": "192.0.2.1", "day": "05", "time": "00:00:00", "method": "GET", "status": 200, "agent": "-"}
    path.write_text("".join(LINE.format(url=url, **line) for url in urls))
    found = library.inspect(path).routes
    assert found["route"].tolist() == ["/mostly", "/often", "/seldom", "/rare"]
    assert found["requests"].tolist() == [9, 5, 2, 1]


def test_bodies_of_captured_requests_are_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.har"
    changes: list[dict[str, object]] = [{}, {}, {"postData": {}}]
    request = {"method": "POST", "url": "http://a.example/", "headers": [], "postData": {"text": "a=1"}}
    entries = [
        {"startedDateTime": "2026-01-05T00:00:00Z", "request": {**request, **more}, "response": {"status": 200}}
        for more in changes
    ]
    path.write_text(json.dumps({"log": {"entries": entries}}))
    assert library.inspect(path).summary["without_body"] == 1


def test_a_zone_that_cannot_be_computed_with_is_refused(logreplay: Logreplay, log: Path) -> None:
    done = logreplay("inspect", log, "--timezone", "Factory")
    assert done.exit_code == 2
    assert "--timezone 'Factory': " in done.output


def test_secrets_in_the_address_of_a_log_are_shown_nowhere(log: Path) -> None:
    secret = log.rename(log.with_name("a?token=s3cret.log"))
    found = library.inspect(secret)
    assert "s3cret" not in found.html() + json.dumps(found.summary) + found.sentence


def test_anything_but_a_path_is_refused_with_a_sentence() -> None:
    with pytest.raises(library.UsageError, match="expected the path of a log"):
        library.inspect(["a.log", 3])  # type: ignore[list-item]


@pytest.mark.parametrize("words", [["missing.log"], ["access.log", "--format", "nonsense"]])
def test_a_log_that_cannot_be_read_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("access.log").write_text("a line\n")
    assert run(["inspect", *words, "-o", "out/deep"]) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["access.log"]


def test_a_clock_that_was_changed_within_the_log_is_told(logreplay: Logreplay, tmp_path: Path) -> None:
    lines = [
        f'192.0.2.1 - - [29/Mar/2026:{hour:02}:30:00 {offset}] "GET /{hour} HTTP/1.1" 200 1 "-" "curl"\n'
        for hour, offset in ((0, "+0100"), (1, "+0100"), (3, "+0200"), (4, "+0200"))
    ]
    (tmp_path / "access.log").write_text("".join(lines))
    done = logreplay("inspect", tmp_path / "access.log", "--timezone", "Europe/Berlin")
    assert "note           the times have several offsets from UTC, +0100, +0200" in done.stdout
    assert "2026-03-29 00:30:00 to 2026-03-29 04:30:00 Europe/Berlin" in done.stdout
    assert "the times have several offsets from UTC, +0100, +0200" in library.inspect(tmp_path / "access.log").html()
