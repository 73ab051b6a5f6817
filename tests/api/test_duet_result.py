"""What `logreplay.duet` returns."""

import asyncio
import copy
import gzip
import pickle
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay.cli.main import run
from logreplay.folder_results import DuetResult
from support.background_server import beside
from support.raw_server import raw_server, response, sends

Urls = tuple[str, str, str]


@pytest.fixture(scope="module", autouse=True)
def duets_are_not_judged_by_this_machine() -> Iterator[None]:
    """Other work on it delays requests, which would make any of the duets invalid."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("logreplay.replay.results.verdict.LATE_S", inf)
        patch.setattr("logreplay.replay.results.verdict.SENT_ENOUGH", 0.0)
        yield


@pytest.fixture(scope="module")
def urls() -> Iterator[Urls]:
    """A good target, another one, and one that fails."""
    broken = {"/ok": sends(response(b"no", "500 Broken"), keep=True)}
    with ExitStack() as stack:
        good = [stack.enter_context(beside(raw_server)) for _ in range(2)]
        bad = stack.enter_context(beside(lambda: raw_server(answers=broken)))
        yield good[0].url, good[1].url, bad.url


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty requests."""
    path = tmp_path_factory.mktemp("log") / "access.csv"
    rows = "".join(f"2026-01-01,00:00:{at:02}.000000,0,0,0,5,/ok,200,GET\n" for at in range(40))
    path.write_text(f"date,time,latency,xfertime,thinktime,bytes,url,rc,op\n{rows}")
    return path


GIVEN: dict[str, Any] = {"tps": 80, "requests": 40}


@pytest.fixture(scope="module")
def versions(log: Path, urls: Urls) -> DuetResult:
    """A duet of a good target and one that fails, as a fixture of pytest (the program of the Python page)."""
    return logreplay.duet(log, urls[0], urls[2], fail_above="5%", **GIVEN)


def test_a_duet_prints_nothing_and_leaves_nothing_behind(
    log: Path, urls: Urls, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    result = logreplay.duet(log, urls[0], urls[1], **GIVEN)
    assert result.verdict in result.sentence
    assert not result.differences["counts"].any()
    assert result.requests["target"].value_counts().to_dict() == {"baseline": 40, "candidate": 40}
    assert len(result.pairs) == 40
    assert set(result.seconds["target"]) == set(result.routes["target"]) == {"baseline", "candidate"}
    assert result.folder is None
    result.close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.rglob("*")) == [tmp_path / "temporary"]


def test_a_duet_that_sent_nothing_is_not_valid(log: Path, urls: Urls) -> None:
    """Its verdict was VALID."""
    result = logreplay.duet(log, urls[0], urls[1], tps=0.01, duration="50ms")
    assert result.sentence == "nothing was sent: the schedule holds no request"
    assert (result.verdict, result.valid, result.passed) == ("", False, False)


def test_a_candidate_that_fails_does_not_pass_and_the_checks_name_it(versions: DuetResult, urls: Urls) -> None:
    assert not versions.passed, versions.sentence
    assert not versions.valid
    states = {check.name: check.state for check in versions.checks}
    assert versions.verdict == "TARGET_FAILING"
    assert states["valid duet"] == "passed"
    assert "requests to the candidate failed" in versions.sentence
    assert states["candidate: at least half of the requests succeed"] == "failed"
    assert versions.differences["counts"].any()


def test_a_duet_in_a_running_loop(log: Path, urls: Urls, tmp_path: Path) -> None:
    async def main() -> DuetResult:
        return logreplay.duet(log, urls[0], urls[1], output=tmp_path / "loop", **GIVEN)

    assert asyncio.run(main()).folder == tmp_path / "loop"


def test_a_result_is_copied_pickled_and_shown_also_if_invalid_or_empty(
    versions: DuetResult, log: Path, urls: Urls
) -> None:
    empty = logreplay.duet(log, urls[0], urls[1], tps=1, duration="1ms", arrivals="poisson")
    assert not empty.summary
    for result in (versions, empty):
        assert result.sentence in repr(result)
        assert "<p><b>" in result._repr_html_()
        _ = result.pairs if result.summary else None
        again = pickle.loads(pickle.dumps(copy.deepcopy(result)))
        assert "pairs" not in vars(again)
        assert (again.sentence, again.checks) == (result.sentence, result.checks)
        assert again.seconds.equals(result.seconds)
        assert list(again.differences.columns) == list(result.differences.columns)
    assert empty.requests.empty


def test_a_duet_is_saved_and_read_again(versions: DuetResult, log: Path, urls: Urls, tmp_path: Path) -> None:
    result = logreplay.duet(log, urls[0], urls[1], **GIVEN)
    folder = result.save(tmp_path / "kept")
    assert result.folder == folder
    again = logreplay.analyze(folder)
    assert isinstance(again, DuetResult)
    assert again.sentence == result.sentence
    assert again.findings == result.findings
    assert again.requests.equals(result.requests)
    with pytest.raises(logreplay.TakenError):
        copy.copy(versions).save(folder)
    assert len(logreplay.analyze(result.save(folder, force=True)).requests) == 80
    (folder / "summary.json").unlink()
    unknown = logreplay.analyze(folder)
    assert (unknown.verdict, unknown.valid) == ("", False)
    logs = [folder / "baseline.csv", folder / "candidate.csv"]
    assert unknown.checks == logreplay.compare(*logs).checks  # of the rows alone


def test_the_analysis_of_a_duet_shows_its_verdict_and_the_answers_that_differ_as_the_duet_did(
    log: Path, urls: Urls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "duet"
    run(["duet", str(log), urls[0], urls[2], "--tps", "80", "-n", "40", "--ignore", "$.none", "-o", str(folder)])
    duet = capsys.readouterr()
    run(["analyze", str(folder)])
    again = capsys.readouterr()
    differing = duet.out[duet.out.index("answers differ in 100% of 40 pairs:") :]
    assert differing.partition("\n\n")[0] in again.out
    assert "--ignore $.none matched no difference" in again.out
    verdict = next(line for line in duet.err.splitlines() if line.startswith("verdict: ")).partition(" (can")[0]
    assert verdict in again.err.splitlines()


def test_the_differences_of_a_duet_without_a_summary_are_read(versions: DuetResult, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(versions.files[0], tmp_path / "duet"))
    (folder / "summary.json").unlink()
    found = logreplay.analyze(folder)
    assert isinstance(found, DuetResult)
    assert not versions.differences.empty
    assert found.differences["place"].to_list() == versions.differences["place"].to_list()
    assert title_of(found).startswith("candidate against baseline\n")


def test_the_picture_names_both_targets_and_has_the_answer(versions: DuetResult, urls: Urls) -> None:
    assert versions.comparison
    assert title_of(versions) == f"candidate {urls[2]} against baseline {urls[0]}\n{versions.comparison.sentence}"


def title_of(found: DuetResult) -> str:
    return found.plot().axes[0].get_title(loc="left")


def test_a_broken_table_of_differences_is_named(versions: DuetResult, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(versions.files[0], tmp_path / "duet"))
    table = folder / "differences.csv"
    for broken in (b"", b"route\n", table.read_bytes().replace(b",40,", b",,"), b"\xff"):
        table.write_bytes(broken)
        with pytest.raises(logreplay.LogreplayError, match=re.escape(f"{table}: ")):
            logreplay.analyze(folder)


@pytest.mark.parametrize("limit", [0.0, 0.005])
def test_the_limit_of_a_duet_is_that_of_its_analysis_too(log: Path, urls: Urls, tmp_path: Path, limit: float) -> None:
    """A change between the limit and 1 % counted in the duet, and not when it was read again; with 0 % the reverse."""
    result = logreplay.duet(log, urls[0], urls[1], fail_above=limit, output=tmp_path / "duet", **GIVEN)
    again = logreplay.analyze(tmp_path / "duet")
    assert isinstance(again, DuetResult)
    assert result.comparison
    assert again.comparison
    assert again.comparison.tolerance == result.comparison.tolerance == limit
    judged = ({check.name: check.state for check in found.checks} for found in (again, result))
    assert len({states[f"times: not slower by more than {limit:.1%}"] for states in judged}) == 1
    for found in (again, result):
        texts = " ".join(check.text for check in found.checks)
        assert f'fail_above="{limit:.1%}"' in texts
        assert "--fail-above" not in texts


@pytest.mark.parametrize("limit", ["0.00%", "100.00%"])
def test_the_limit_of_different_answers_is_that_of_the_analysis_too(
    log: Path, urls: Urls, tmp_path: Path, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was not written: the analysis of a duet that failed by its answers passed."""
    name = f"answers: not more than {limit} of the pairs differ"
    result = logreplay.duet(log, urls[0], urls[2], fail_different=limit, output=tmp_path / "duet", **GIVEN)
    again = logreplay.analyze(tmp_path / "duet")
    for found in (result, again):
        (check,) = (check for check in found.checks if check.name == name)
        assert check.state == ("failed" if limit == "0.00%" else "passed")
    run(["analyze", str(tmp_path / "duet")])
    assert ("--fail-different 0.00%: 100.00% of the pairs differ" in capsys.readouterr().err) == (limit == "0.00%")


def test_compressed_result_logs_of_a_duet_are_read_whatever_its_summary_calls_them(
    versions: DuetResult, tmp_path: Path
) -> None:
    for name in ("baseline", "candidate"):
        rows = (versions.files[0] / f"{name}.csv").read_bytes()
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(rows))
    (tmp_path / "summary.json").write_text('{"targets": {"../x": {}}}')
    again = logreplay.analyze(tmp_path)
    assert set(again.requests["target"]) == set(again.steps["target"]) == {"baseline", "candidate"}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["--trace-url", "https://t/{trace_id}"], {"trace_url": "https://t/{trace_id}"}),
        (["--cluster", "local:2"], {"cluster": "local:2"}),
    ],
)
def test_what_the_comparison_of_a_duet_does_not_use_is_refused(
    words: list[str], given: dict[str, Any], versions: DuetResult, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"{versions.files[0]}: is the folder of a duet, which is compared without "
    assert run(["analyze", str(versions.files[0]), *words]) == 2
    assert f"{told}{words[0]}: leave it out" in capsys.readouterr().err
    with pytest.raises(logreplay.UsageError, match=re.escape(f"{told}{next(iter(given))}=: leave it out")):
        logreplay.analyze(versions.files[0], **given)


def test_a_duet_needs_a_log(urls: Urls) -> None:
    with pytest.raises(logreplay.UsageError, match="name a log"):
        logreplay.duet(None, urls[0], urls[1], tps=1)  # type: ignore[arg-type]


def test_a_duet_that_a_condition_stops_does_not_pass(log: Path, urls: Urls) -> None:
    result = logreplay.duet(log, urls[0], urls[2], stop="errors>5%/1s", tps=80, duration="30s")
    assert result.stopped.startswith("stopped: errors>5%/1s")
    assert {check.name: check.state for check in result.checks}['stop="errors>5%/1s"'] == "failed"
    by_function = logreplay.duet(log, urls[0], urls[1], stop=lambda now: "enough", tps=80, duration="30s")
    assert by_function.stopped == "stopped: enough"
    assert not by_function.passed


def test_a_duet_that_a_function_stops_before_a_request_was_sent_says_so_in_the_same_words(
    log: Path, urls: Urls
) -> None:
    """It was ``enough``: on a busy machine the first look came first."""
    result = logreplay.duet(log, urls[0], urls[1], stop=lambda now: "enough", tps=0.001, duration="1h")
    assert (result.stopped, result.passed, result.summary) == ("stopped: enough", False, {})
