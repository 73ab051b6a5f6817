"""A hand on a running load: from another terminal, from the live page, and from Python."""

import json
import re
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import polars as pl
import pytest
from click.testing import CliRunner

import logreplay
from logreplay.cli.exit_codes import Exit
from logreplay.cli.main import cli
from logreplay.core.rows import scan
from support.command_line import COMMAND, MEASURED, typed, wait_for_rows, wait_until


def posted(url: str, order: str, **headers: str) -> tuple[int, str]:
    request = Request(f"{url}control", order.encode(), headers, method="POST")
    try:
        with urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_a_load_is_changed_from_a_terminal_and_from_the_page_and_each_rate_is_a_step(
    tmp_path: Path, log: Path, target: str
) -> None:
    folder, output = tmp_path / "load", tmp_path / "r.csv"
    words = ("run", log, target, "--tps", "200", "--arrivals", "even", "--for", "4s", "--control", folder, "-o", output)
    with subprocess.Popen([*COMMAND, *words, "--live"], stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr
        told = ""
        while "live page" not in told:
            told += run.stderr.readline()
        page = re.search(r"live page: (\S+)#(\S+)", told)
        assert page
        url, token = page[1], {"Authorization": f"Bearer {page[2]}"}
        wait_until(lambda: output.exists() and output.stat().st_size > 1000)
        for garbage in (b"\xff" * 1_000_000, b"raise 20", b"", b"\n" * 500) * 10:  # broken clients change nothing
            with suppress(OSError), socket.socket(socket.AF_UNIX) as broken:
                broken.connect(str(folder / "control.sock"))
                broken.sendall(garbage)
        first = CliRunner().invoke(cli, ["control", str(folder), "raise", "50%"])
        assert first.exit_code == 0
        assert re.fullmatch(r"200 requests/s → 300 requests/s from second \d of the run\n", first.output)
        assert posted(url, "rate 100") == (403, "this needs the token, from the address that was printed")
        assert posted(url, "rate 100", Origin="http://evil.example", **token)[0] == 403
        for kind in ("text/plain", "text/plain; charset=nosuch"):
            assert posted(url, "go\xff", **token, **{"Content-Type": kind})[0] == 400
        assert posted(url, "speed 2", **token)[0] == 409
        assert posted(url, "rate 100", Origin=url.rstrip("/"), **token)[0] == 200
        time.sleep(1.1)  # a second of the new rate
        assert logreplay.control(folder, "pause").startswith("100 requests/s → paused from second")
        time.sleep(1.1)  # a pause
        assert logreplay.control(folder, "continue").startswith("paused → 100 requests/s from second")
        told = run.stderr.read()
        assert run.wait() in MEASURED, told
    assert not folder.exists()
    summary = json.loads((tmp_path / "r.summary.json").read_text())
    changes = summary["control"]
    assert [(each["order"], each["to"]) for each in changes] == [
        ("raise 50%", 300), ("rate 100", 100), ("pause", 0), ("continue", 100)
    ]  # fmt: skip
    assert [each["from"] for each in changes[2:]] == [100, 0]
    assert summary["replay"]["factor"] is None
    assert [each["by"].split(",")[0] for each in changes] == ["control", "live page", "control", "control"]
    assert "control" in {finding["code"] for finding in summary["findings"]}
    rows = scan(output).collect()
    second = rows.with_columns(second=pl.col("scheduled").floor().cast(pl.Int64), step="step", offered="offered")
    rates = dict(second.group_by("second").len().iter_rows())
    pause, again = (changes[place]["at"] for place in (2, 3))
    offered = dict(second.select("second", "offered").unique().iter_rows())
    assert rates == {at: round(rate) for at, rate in offered.items()}, "each second has its rate, to the request"
    assert set(range(int(again + 4 - pause))) - rates.keys() == set(range(int(pause), int(again)))
    assert rows["lag"].min() >= 0  # type: ignore[operator]  # no request is early
    steps = {row["step"]: row["rate"] for row in summary["steps"]}
    began = [each for each in changes if each["step"]]
    assert steps == {0: 200.0} | {each["step"]: each["to"] for each in began}
    assert len(steps) == len(began) + 1, "each step is named once"


def test_a_program_changes_the_load_of_a_run_and_ends_it(tmp_path: Path, log: Path, target: str) -> None:
    """With the log's own times, HTTP/1.1 and clients of their own."""
    sentences: list[str] = []

    def steer() -> None:
        wait_until((tmp_path / "load").exists)
        while not sentences:
            try:
                sentences.append(logreplay.control(tmp_path / "load", "speed 0.2"))
            except logreplay.LogreplayError:  # it has not begun to send
                time.sleep(0.01)
        sentences.append(logreplay.control(tmp_path / "load", "end"))

    helper = threading.Thread(target=steer)
    helper.start()
    result = logreplay.run(log, target, speed=0.1, by_client=True, control=tmp_path / "load")
    helper.join()
    assert sentences[0].startswith("speed 0.1 → speed 0.2 from second ")
    assert sentences[1] in {f"the run ends; its last load was speed {speed}" for speed in (0.1, 0.2)}
    assert [change["order"] for change in result.summary["control"]] == ["speed 0.2", "end"]
    assert result.stopped.startswith("ended by hand at ")
    assert result.summary["stopped"] in result.stopped


def test_a_load_with_a_token_may_be_changed(tmp_path: Path, log: Path, target: str) -> None:
    (tmp_path / "token.txt").write_text("0123456789abcdef\n")
    logreplay.run(
        log,
        target,
        tps=100,
        requests=5,
        auth=f"bearer:{tmp_path / 'token.txt'}",
        control=tmp_path / "load",
        output=tmp_path / "r.csv",
    )
    assert scan(tmp_path / "r.csv").collect().height == 5


def test_a_run_that_was_ended_by_hand_does_not_pass_for_a_whole_one(tmp_path: Path, log: Path, target: str) -> None:
    output = tmp_path / "r.csv"

    def end() -> None:
        wait_for_rows(output)
        logreplay.control(tmp_path / "load", "end")

    helper = threading.Thread(target=end)
    helper.start()
    ended = typed(tmp_path, "run", log, target, *["--tps", "50", "--for", "50s", "--control", "load", "-o", "r.csv"])
    helper.join()
    told = ended.stderr
    assert ended.returncode == Exit.INTERRUPTED, told
    assert re.search(r"ended by hand at [\d.]+ of 50 s: \d+ requests were sent; their rows", told), told
    assert json.loads((tmp_path / "r.summary.json").read_text())["stopped"].startswith("ended by hand at ")


def test_what_is_no_order_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["control", str(tmp_path), "raise", "20"])
    assert done.exit_code == 2
    assert "'raise 20': expected raise 20%, lower 20%, rate 150" in done.output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("run", "--vusers", "2"), "--control needs --tps R or --speed X"),
        (("run", "--tps", "9", "--workers", "2"), "--control and --workers exclude each other"),
        (("sweep", "10,20"), "logreplay run --control DIR for changes of the load by hand"),
        (("find", "--p99", "1s"), "logreplay run --control DIR for changes of the load by hand"),
        (("duet", "--tps", "9"), "logreplay run --control DIR for changes of the load by hand"),
    ],
)
def test_other_loads_are_refused_by_name(tmp_path: Path, log: Path, words: tuple[str, ...], why: str) -> None:
    command, *more = words
    rates = [more.pop(0)] if command == "sweep" else []
    targets = ["http://127.0.0.1:1"] * (2 if command == "duet" else 1)
    given: list[str | Path] = [command, *rates, log, *targets, *more, "--control", tmp_path / "load"]
    done = CliRunner().invoke(cli, list(map(str, given)))
    assert done.exit_code == 2 or isinstance(done.exception, logreplay.UsageError)
    assert why in " ".join(f"{done.output} {done.exception}".split())
