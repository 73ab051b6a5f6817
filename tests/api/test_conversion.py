"""`logreplay.convert`, as a program calls it."""

import asyncio
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay.plan_result import PlanResult

LINE = '10.0.0.{n} - - [01/Jan/2026:00:00:0{n} +0000] "GET {url} HTTP/1.1" 200 {n}\n'


def convert(*logs: Any, **given: Any) -> logreplay.ConvertResult:
    """Convert logs of a format that is told: finding it has tests of its own, and takes ten times as long."""
    return logreplay.convert(*logs, format="common", **given)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An access log of four requests and one line that is none."""
    path = tmp_path / "access.log"
    urls = ("/shop/1", "/", "/shop/2", "/about")
    path.write_text("".join(LINE.format(n=n, url=url) for n, url in enumerate(urls)) + "no request\n")
    return path


def test_a_conversion_prints_nothing_and_leaves_nothing_behind(
    log: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    with convert(log) as result:
        assert (result.converted, len(result.requests)) == (4, 4)
        assert result.folder is None
        assert result.rejects.to_dict("records") == [{"place": "5", "reason": "rejected: layout", "line": "no request"}]
    assert capfd.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["access.log", "temporary"]


def test_the_requests_of_a_log_are_chosen_and_replayed(log: Path) -> None:
    """The first lines of the program with requests of one's own."""
    requests = convert(log).requests
    shop = requests[requests.url.str.startswith("/shop")]
    with logreplay.serve(log) as server:
        result = logreplay.run(shop, server.url, tps=50)
    assert sorted(result.requests["url"]) == ["/shop/1", "/shop/2"]


def test_the_result_is_found_from_each_folder(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = convert("access.log", output="out.csv")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir("other")
    assert (len(result.requests), len(result.rejects), result.folder) == (4, 1, tmp_path)
    assert (result.summary["output"], result.summary["rejects"]) == ("out.csv", "out.rejects")
    (tmp_path / "out.csv").unlink()
    with pytest.raises(logreplay.LogreplayError, match=f"{tmp_path / 'out.csv'} was moved or deleted"):
        os.fspath(result)


def test_requests_are_chosen_by_values_of_python(log: Path) -> None:
    values: dict[str, Any] = {
        "status": [200, "4xx"],
        "methods": ("GET", "HEAD"),
        "until": datetime(2026, 1, 1, 0, 0, 2),
    }
    assert convert(log, **values, since=datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)).converted == 1
    assert logreplay.inspect(log, **values).profile.requests == 2
    assert convert(log, timezone="Europe/Berlin", since=datetime(2026, 1, 1, 1, 0, 3)).converted == 1


def test_the_result_stands_for_its_log(log: Path, tmp_path: Path) -> None:
    result = convert(log, output=tmp_path / "out.csv")
    assert result.folder == tmp_path
    with logreplay.serve(log) as server:
        assert len(logreplay.run(result, server.url, tps=50).requests) == 4
    with pytest.raises(logreplay.TakenError):
        convert(log, output=tmp_path / "out.csv")
    second = tmp_path / "second.log"
    second.write_text(2 * log.read_text())
    assert convert(log, second, output=tmp_path / "out.csv", force=True, match="^/shop").converted == 6


def test_a_conversion_in_a_running_loop_and_in_a_thread(log: Path) -> None:
    async def main() -> int:
        return convert(log).converted

    assert asyncio.run(main()) == 4
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(logreplay.convert, log).result().converted == 4


def test_too_many_rejected_lines_raise(log: Path) -> None:
    with pytest.raises(logreplay.TooManyRejects, match="line 5"):
        convert(log, strict=True)
    with pytest.raises(logreplay.TooManyRejects):
        convert(log, max_rejects="10%")
    assert convert(log, max_rejects=1).converted == 4


def test_a_log_of_which_no_request_is_left_raises(log: Path) -> None:
    with pytest.raises(logreplay.LogreplayError, match=r"no request is left after match= nowhere"):
        convert(log, match="nowhere")


def test_the_secret_in_the_address_of_a_log_is_not_in_the_error_that_nothing_is_left(log: Path) -> None:
    signed = log.with_name("access.log?sig=SECRET")
    log.rename(signed)
    with pytest.raises(logreplay.LogreplayError, match=r"access\.log\?sig=\*\*\*: no request is left"):
        convert(signed, match="nowhere")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"to": "zzz"}, "zzz"),
        ({"time_unit": "zzz"}, "zzz"),
        ({"output": "-"}, "prints nothing"),
        ({"max_rejects": "many"}, "max_rejects"),
        ({"timezone": "Mars/Base"}, "Mars/Base"),
        ({"status": "9"}, "9"),
    ],
)
def test_a_wrong_value_is_refused(log: Path, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(logreplay.UsageError, match=told):
        logreplay.convert(log, **wrong)


def test_logs_are_named_by_paths_of_any_kind(log: Path, tmp_path: Path) -> None:
    first = convert(log, output=tmp_path / "first.csv", status=200)
    assert logreplay.convert(first).converted == 4
    with os.scandir(tmp_path) as entries:
        entry = next(each for each in entries if each.name == "access.log")
    assert convert(entry).converted == 4


def test_the_contents_of_a_log_and_a_refused_plan_are_saved_in_a_folder_that_is_returned(
    log: Path, tmp_path: Path
) -> None:
    """They returned None, and other results the path."""
    contents = logreplay.inspect(log)
    for result, file in ((contents, "report.html"), (PlanResult(log=contents, refusal="no"), "plan.json")):
        folder = result.save(tmp_path / "new" / file[:4])
        assert folder == tmp_path / "new" / file[:4]
        assert (folder / file).exists()


def test_what_inspect_returns_is_told_in_one_line_and_can_be_a_key(log: Path) -> None:
    found = logreplay.inspect(log)
    assert repr(found) == f"<InspectResult {found.sentence}>"
    assert {found: 1}[found] == 1
