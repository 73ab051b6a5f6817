"""``logreplay compare``, ``capacity`` and ``plot`` on result logs."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click import UsageError
from click.testing import CliRunner, Result

import logreplay as library
import simulate
from logreplay.cli.exit_codes import Exit
from logreplay.cli.main import cli
from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, to_csv
from support.command_line import typed
from support.file_size_limit import files_limited_to

HOSTILE = ("/a", "/b\x1b[31m", "/<script>", "/$x^$", "/c?d=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``once.csv``, ``slower.csv`` (5 % up), and ``log.csv``, the log they were made from."""
    folder = tmp_path_factory.mktemp("runs")
    arrivals = simulate.sweep([50, 100, 150, 200, 300], 8, np.random.default_rng(1))
    work = np.random.default_rng(2).exponential(0.016, len(arrivals.scheduled))
    once = simulate.results(arrivals, simulate.waits(arrivals.scheduled, work, 4) + work, urls=HOSTILE)
    (folder / "once.csv").write_bytes(to_csv(once, header=True))
    later = once.with_columns(pl.col("latency") * 1.05, date=pl.lit("2026-01-02"))
    (folder / "slower.csv").write_bytes(to_csv(later, header=True))
    (folder / "log.csv").write_bytes(to_csv(once.sort("seq").select(CORE_COLUMNS), header=True))
    return folder


def logreplay(*arguments: object) -> Result:
    """Run a command; its exit code is its return value, as in `logreplay.cli.main.run`."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(done.return_value, int):
        done.exit_code = done.return_value
    return done


def answer(done: Result) -> str:
    """The last line on standard output."""
    return done.stdout.splitlines()[-1]


def test_a_run_that_does_not_differ_exits_with_0(folder: Path, tmp_path: Path) -> None:
    done = logreplay("compare", *days(folder, ["once", "once"], tmp_path), "--fail-above", "5%")
    assert done.exit_code == Exit.OK
    assert answer(done).startswith(
        "no difference detected (+0.0% to +0.0%; smallest detectable ~2.0%) in the typical ratio"
    )


def test_a_copy_of_a_run_is_refused_and_a_changed_one_is_not_taken_for_a_duet(folder: Path, tmp_path: Path) -> None:
    """Both began at the same instant, so a copy was judged as the second target of a duet, and passed the gate."""
    copied, changed = Path(shutil.copy(folder / "once.csv", tmp_path / "copy.csv")), tmp_path / "changed.csv"
    done = logreplay("compare", folder / "once.csv", copied, "--fail-above", "5%")
    assert isinstance(done.exception, LogreplayError)
    assert f"{folder / 'once.csv'} and {copied} hold the same rows" in str(done.exception)
    changed.write_bytes(to_csv(pl.read_csv(copied).with_columns(pl.col("latency") * 1.05), header=True))
    done = logreplay("compare", folder / "once.csv", changed)
    assert "one pair of runs does not show" in done.stderr


def test_a_candidate_that_fails_more_is_told_in_the_first_words(folder: Path, tmp_path: Path) -> None:
    """The first words were *no difference detected* where 3 % of the requests newly failed."""
    failing = tmp_path / "failing.csv"
    rows = pl.read_csv(folder / "once.csv").with_columns(
        rc=pl.when(pl.col("seq") % 33 == 0).then(500).otherwise("rc"), date=pl.lit("2026-01-02")
    )
    failing.write_bytes(to_csv(rows, header=True))
    said = answer(logreplay("compare", folder / "once.csv", failing))
    assert said.startswith("fails more: 3.04% of the requests failed, 0.00% in the baseline (+")
    assert "; response times of the others: no difference detected (" in said


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ("once slower", "slower"), ("slower once", "faster"), ("once once", "no difference detected"),
        ("log slower", "slower"), ("log once", "no difference detected"),
    ],
)  # fmt: skip
def test_the_comparison_as_json_has_a_verdict(folder: Path, tmp_path: Path, runs: str, verdict: str) -> None:
    done = logreplay("compare", *days(folder, runs.split(), tmp_path), "--json")
    assert json.loads(done.stdout)["verdict"] == verdict


@pytest.mark.parametrize(("bound", "code"), [("3%", Exit.CONDITION), ("10%", Exit.OK)])
def test_a_slower_run_exits_with_4_only_above_the_bound(folder: Path, bound: str, code: Exit) -> None:
    done = logreplay("compare", folder / "once.csv", folder / "slower.csv", "--fail-above", bound)
    assert done.exit_code == code
    assert answer(done).startswith("slower by 5.0%")


@pytest.mark.parametrize(("factor", "code"), [(1.0, Exit.INVALID), (0.4, Exit.OK), (3.0, Exit.CONDITION)])
def test_a_change_that_could_not_be_seen_does_not_pass(folder: Path, tmp_path: Path, factor: float, code: Exit) -> None:
    """It ended with 0. A candidate that is certainly not slower by so much passes all the same."""
    unsteady = factor * (1 + 0.3 * (pl.col("scheduled") // 1 % 3 - 1))
    frame = pl.read_csv(folder / "once.csv").filter(pl.col("step") == 0)
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_bytes(to_csv(frame, header=True))
    after.write_bytes(to_csv(frame.with_columns(pl.col("latency") * unsteady, date=pl.lit("2026-01-02")), header=True))
    done = logreplay("compare", before, after, "--fail-above", "5%")
    said = "--fail-above 5.0%: cannot be judged: the change may be larger (95% interval "
    assert (done.exit_code, said in done.stderr) == (code, code == Exit.INVALID)
    assert ("--fail-above" in done.stderr) == (code != Exit.OK)


def test_no_url_can_steer_the_terminal(folder: Path) -> None:
    assert "\x1b" not in logreplay("compare", folder / "once.csv", folder / "slower.csv").stdout


def test_the_comparison_as_json_holds_its_tables(folder: Path) -> None:
    found = json.loads(logreplay("compare", folder / "once.csv", folder / "slower.csv", "--json").stdout)
    assert found["change"]["ratio"] == pytest.approx(1.05, abs=1e-4)
    assert {row["route"] for row in found["by_route"]} >= {"/a", "/c?d={}"}


def test_nothing_is_said_of_pairs_where_there_are_none(folder: Path, tmp_path: Path) -> None:
    """It said that 0.00% of the bodies have another size, of no pair of requests."""
    other = pl.read_csv(folder / "once.csv").with_columns(url=pl.lit("/other"), date=pl.lit("2026-01-02"))
    (tmp_path / "other.csv").write_bytes(to_csv(other, header=True))
    done = logreplay("compare", folder / "once.csv", tmp_path / "other.csv")
    assert done.exit_code == Exit.OK
    assert not any(word in done.stdout for word in ("bodies", "became"))


def test_a_log_is_compared_by_shape(folder: Path) -> None:
    done = logreplay("compare", folder / "log.csv", folder / "once.csv")
    assert done.exit_code == Exit.OK
    assert "status class as in the log for 100.0%" in done.stdout


def test_a_picture_is_refused_where_the_baseline_is_a_log(folder: Path) -> None:
    done = logreplay("compare", folder / "log.csv", folder / "once.csv", "-o", "a.svg")
    assert isinstance(done.exception, UsageError)
    assert f"-o and the log {folder / 'log.csv'} as BASELINE exclude each other" in done.exception.message
    assert not Path("a.svg").exists()


@pytest.mark.parametrize(("bound", "code"), [("3%", Exit.CONDITION), ("10%", Exit.OK)])
def test_a_replay_slower_than_its_log_exits_with_4_above_the_bound(folder: Path, bound: str, code: Exit) -> None:
    done = logreplay("compare", folder / "log.csv", folder / "slower.csv", "--fail-above", bound)
    assert done.exit_code == code
    assert "service time against the log: slower by 5.0%" in done.stderr


def test_a_log_without_times_cannot_be_a_bound(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes(to_csv(pl.read_csv(folder / "log.csv").with_columns(latency=0), header=True))
    done = logreplay("compare", log, folder / "once.csv", "--fail-above", "3%")
    assert done.exit_code == Exit.INVALID
    assert "--fail-above 3.0%: cannot be judged" in done.stderr


def test_a_bound_below_the_tolerance_is_kept(folder: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(folder / "once.csv")
    slower = tmp_path / "slower.csv"
    slower.write_bytes(to_csv(frame.with_columns(pl.col("latency") * 1.015, date=pl.lit("2026-01-02")), header=True))
    done = logreplay("compare", folder / "once.csv", slower, "--fail-above", "1%")
    assert (done.exit_code, answer(done).partition("(")[0]) == (Exit.CONDITION, "slower by 1.5% ")
    assert answer(logreplay("compare", folder / "once.csv", slower)).startswith(
        "slower by 1.5% (1.5% to 1.5%) in the typical ratio, within 2%"
    )
    assert logreplay("compare", folder / "once.csv", slower, "--fail-above", "2%").exit_code == Exit.OK


def test_a_candidate_that_answers_with_errors_does_not_pass(folder: Path, tmp_path: Path) -> None:
    failing = tmp_path / "failing.csv"
    failing.write_bytes(to_csv(pl.read_csv(folder / "once.csv").with_columns(rc=500), header=True))
    done = logreplay("compare", folder / "once.csv", failing, "--fail-above", "5%")
    assert done.exit_code == Exit.CONDITION
    assert "--fail-above: 100.00% of the requests failed, 0.00% in the baseline" in done.stderr


@pytest.mark.parametrize(
    ("invalid", "bound"), [("once", ()), ("slower", ("--fail-above", "3%")), ("once", ("--fail-above", "10%"))]
)
def test_an_invalid_run_is_named_and_passes_no_judgement(
    folder: Path, tmp_path: Path, invalid: str, bound: tuple[str, ...]
) -> None:
    runs = days(folder, ["once", "slower"], tmp_path)
    run = next(run for run in runs if run.stem.endswith(invalid))
    finding = {"code": "lag", "severity": "void", "text": "requests were started late"}
    run.with_suffix(".summary.json").write_text(json.dumps({"findings": [finding]}))
    done = logreplay("compare", *runs, *bound)
    assert done.exit_code == Exit.INVALID
    assert f"do not describe the target: {run}: requests were started late\n" in done.stderr
    assert "--fail-above" not in done.stderr


def test_a_candidate_that_fails_all_requests_is_not_only_invalid(folder: Path, tmp_path: Path) -> None:
    failing = tmp_path / "failing.csv"
    failing.write_bytes(to_csv(pl.read_csv(folder / "once.csv").with_columns(rc=500), header=True))
    finding = {"code": "target_failing", "severity": "void", "text": "100 % of the requests failed"}
    (tmp_path / "failing.summary.json").write_text(json.dumps({"findings": [finding]}))
    done = logreplay("compare", folder / "once.csv", failing, "--fail-above", "5%")
    assert (done.exit_code, f"the target: {failing}: 100 % of" in done.stderr) == (Exit.CONDITION, True)


@pytest.mark.parametrize(
    ("failures", "code", "said"),
    [
        (3, Exit.OK, ""),
        (5, Exit.INVALID, "counted as one, to say whether 1% more fail"),
        (40, Exit.CONDITION, "of the requests failed, 0.00% in the baseline\n"),
    ],
)
def test_failures_that_may_be_chance_neither_fail_the_candidate_nor_let_it_pass(
    folder: Path, tmp_path: Path, failures: int, code: Exit, said: str
) -> None:
    frame = pl.read_csv(folder / "once.csv").filter(pl.col("step") == 0)
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_bytes(to_csv(frame, header=True))
    failed = pl.int_range(pl.len()) % (frame.height // failures) == 0
    after.write_bytes(to_csv(frame.with_columns(rc=pl.when(failed).then(500).otherwise("rc")), header=True))
    done = logreplay("compare", before, after, "--fail-above", "5%")
    assert (done.exit_code, said in done.stderr) == (code, True)


def test_runs_too_short_to_judge_do_not_pass(folder: Path, tmp_path: Path) -> None:
    short, other = tmp_path / "short.csv", tmp_path / "other.csv"
    once = pl.read_csv(folder / "once.csv")
    few = (
        "fewer than 100 requests were answered as expected, with a time above 0, in both runs: "
        "run longer, or at a higher rate"
    )
    for rows, reason in (
        (once.head(50), few),
        (once.filter(pl.col("step") == 0, pl.col("scheduled") < 4), "less than 5 s of requests: run longer"),
    ):
        short.write_bytes(to_csv(rows, header=True))
        other.write_bytes(to_csv(rows.with_columns(date=pl.lit("2026-01-02")), header=True))
        done = logreplay("compare", short, other, "--fail-above", "5%")
        assert done.exit_code == Exit.INVALID
        assert answer(done).startswith(f"nothing to compare: {reason}")
        assert "--fail-above 5.0%: cannot be judged" in done.stderr


def days(folder: Path, runs: list[str], to: Path) -> list[Path]:
    """Write the runs of these names as if each had been made a day after the one before."""
    written = [to / f"{at}{name}.csv" for at, name in enumerate(runs)]
    for at, (name, path) in enumerate(zip(runs, written, strict=True)):
        rows = pl.read_csv(folder / f"{name}.csv").with_columns(date=pl.lit(f"2026-02-{at + 1:02}"))
        path.write_bytes(to_csv(rows, header=True))
    return written


def test_several_pairs_of_runs_are_shown_one_by_one(folder: Path, tmp_path: Path) -> None:
    done = logreplay("compare", *days(folder, 3 * ["once", "slower"], tmp_path))
    assert answer(done).startswith("slower by 5.0%")
    assert done.stdout.count("once.csv → ") == 3
    assert "one pair of runs" not in done.stderr
    assert "one pair of runs does not show" in logreplay("compare", folder / "once.csv", folder / "slower.csv").stderr


def test_no_run_is_compared_with_itself_and_among_several_pairs_none_counts_twice(folder: Path, tmp_path: Path) -> None:
    """``--fail-above`` passed where a pipeline had named one run for both."""
    once, slower, third = days(folder, ["once", "slower", "slower"], tmp_path)
    link, hard = tmp_path / "link.csv", tmp_path / "hard.csv"
    link.symlink_to(once)
    hard.hardlink_to(once)
    advice = "a run does not differ from itself; name each run once"
    for runs, said in (
        ((once, once), f"{once} is named twice: {advice}"),
        ((once, hard), f"{once} and {hard} are the same file: {advice}"),
        ((once, slower, once, slower), f"{once} is named twice: {advice}"),
        ((once, slower, link, third), f"{once} and {link} are the same file: {advice}"),
    ):
        done = logreplay("compare", *runs, "--fail-above", "5%")
        assert isinstance(done.exception, UsageError)
        assert done.exception.message == said


def test_a_pair_too_short_to_judge_is_named_and_the_others_are_judged(folder: Path, tmp_path: Path) -> None:
    runs = days(folder, 3 * ["once", "slower"], tmp_path)
    for run in runs[:2]:
        run.write_bytes(to_csv(pl.read_csv(run).filter(pl.col("scheduled") < 4), header=True))
    done = logreplay("compare", *runs)
    assert f"pair 1 ({runs[0]} → {runs[1]}) is left out: less than 5 s of requests: run longer" in done.stderr
    assert answer(done).startswith("slower by 5.0%")
    assert "p50" in done.stdout
    done = logreplay("compare", *runs[:4], "--fail-above", "5%")
    assert answer(done).startswith("nothing to compare: 1 of 2 pairs of runs can be judged, two are needed")
    assert (done.exit_code, "pair 1 (" in done.stderr) == (Exit.INVALID, True)


@pytest.fixture(scope="module")
def duet(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a duet, with the two runs of ``folder`` as its logs."""
    made = tmp_path_factory.mktemp("made") / "my duet"
    made.mkdir()
    for name, run in (("baseline.csv", "once.csv"), ("candidate.csv", "slower.csv")):
        shutil.copy(folder / run, made / name)
    return made


@pytest.mark.parametrize("words", ["compare {}", "compare {} once.csv", "analyze {} -o out", "seconds {}"])
def test_the_folder_of_a_duet_is_refused_with_its_two_logs_to_type(duet: Path, words: str) -> None:
    done = logreplay(*(word.format(duet) for word in words.split()))
    assert isinstance(done.exception, LogreplayError)
    command = str(done.exception).rpartition("or compare both: ")[2]
    assert shlex.split(command) == ["logreplay", "compare", f"{duet}/baseline.csv", f"{duet}/candidate.csv"]
    assert {each.name for each in duet.iterdir()} == {"baseline.csv", "candidate.csv"}


def test_the_two_logs_of_a_duet_that_are_typed_say_what_its_folder_says(folder: Path, duet: Path) -> None:
    told = logreplay("compare", duet / "baseline.csv", duet / "candidate.csv")
    again = logreplay("analyze", duet)
    assert told.exit_code == again.exit_code == Exit.OK
    assert again.stdout == told.stdout
    assert answer(again) in library.analyze(duet).sentence
    assert json.loads(logreplay("analyze", duet, "--json").stdout)["times"]["sentence"] in told.stdout
    assert {each.name for each in duet.iterdir()} == {"baseline.csv", "candidate.csv"}
    once = logreplay("compare", folder / "once.csv")
    assert isinstance(once.exception, UsageError)
    assert once.exception.message == f"CANDIDATE is missing: name the run to compare with {folder / 'once.csv'}"


def test_runs_without_a_partner_and_logs_among_several_pairs_are_refused(folder: Path) -> None:
    once, log = folder / "once.csv", folder / "log.csv"
    done = logreplay("compare", once, once, once)
    assert isinstance(done.exception, UsageError)
    assert "3 runs: expected a candidate after each baseline" in done.exception.message
    for runs in ((log, once, log, once), (once, log)):
        done = logreplay("compare", *runs)
        assert isinstance(done.exception, UsageError)
        assert f"{log} is a log, not a run" in done.exception.message


@pytest.mark.parametrize("option", ["--fail-above", "--tolerance"])
@pytest.mark.parametrize(
    ("share", "said"),
    [
        ("5", "'5' is ambiguous: write 5%, or 500%"),
        ("1", "'1' is ambiguous: write 1%, or 100%"),
        ("1001%", "'1001%': expected a share from 0% to 1000%"),
        ("nan", "'nan': expected a share"),
        ("inf", "'inf': expected a share"),
    ],
)
def test_a_share_that_could_mean_two_things_is_refused(folder: Path, option: str, share: str, said: str) -> None:
    done = logreplay("compare", folder / "once.csv", folder / "slower.csv", option, share)
    assert isinstance(done.exception, UsageError)
    assert said in done.exception.message


def test_a_machine_cannot_be_kept_free_altogether(folder: Path) -> None:
    done = logreplay("capacity", folder / "once.csv", "--demand", 1000, "--p90", "200ms", "--headroom", "100%")
    assert isinstance(done.exception, UsageError)
    assert "'100%': expected a share from 0% to 99%" in done.exception.message


def test_the_changes_can_be_drawn(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "changes.svg"
    assert logreplay("compare", folder / "once.csv", folder / "slower.csv", "-o", picture).exit_code == Exit.OK
    assert picture.read_text("utf-8").startswith("<?xml")
    again = logreplay("compare", folder / "once.csv", folder / "slower.csv", "-o", picture)
    assert isinstance(again.exception, LogreplayError)


def test_a_picture_that_cannot_grow_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output was named."""
    picture = tmp_path / "changes.png"
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # modules that are loaded now would be cut
    with files_limited_to(16_000):
        done = typed(tmp_path, "compare", folder / "once.csv", folder / "slower.csv", "-o", picture)
    assert done.returncode == Exit.FAILED
    limit = "the file size limit is reached (ulimit -f); raise it, or write elsewhere with -o"
    assert f"Error: {picture}: cannot be written: {limit}\n" in done.stderr
    assert not list(tmp_path.iterdir())


def test_capacity_says_how_many(folder: Path) -> None:
    done = logreplay("capacity", folder / "once.csv", "--demand", 1000, "--p90", "200ms", "--headroom", "20%")
    assert done.exit_code == Exit.OK
    assert answer(done).startswith(
        "~6 machines for 1000/s with p90 within 200 ms, 20 % of each kept free: one carries about 244/s ("
    )


def test_capacity_pools_runs_of_the_same_sweep(folder: Path) -> None:
    words = ("--demand", 1000, "--p90", "200ms", "--survive", 1, "--json")
    once, both = (
        json.loads(logreplay("capacity", *(folder / name for name in names), *words).stdout)
        for names in (("once.csv",), ("once.csv", "slower.csv"))
    )
    assert (once["runs"], both["runs"], both["survive"]) == (1, 2, 1)
    assert both["machines"] >= both["machines_likely"] >= both["machines_at_best"] > 1
    assert both["sentence"].endswith("; 2 runs pooled")


def test_capacity_refuses_to_pool_a_run_with_itself(folder: Path) -> None:
    done = logreplay("capacity", folder / "once.csv", folder / "once.csv", "--demand", 1000, "--p90", "200ms")
    assert isinstance(done.exception, LogreplayError)
    assert "its steps would count twice; name each run once" in str(done.exception)


def test_capacity_that_cannot_be_had_exits_with_4(folder: Path) -> None:
    done = logreplay("capacity", folder / "once.csv", "--demand", 1000, "--p90", "1ms")
    assert done.exit_code == Exit.CONDITION
    assert re.fullmatch(r"p90 within 1 ms is not kept even at 50/s, p90 [\d.]+ ms: sweep lower\n", done.stdout)


def test_capacity_says_that_a_bare_bound_is_in_seconds() -> None:
    assert "300ms, 2s; a bare 2 is seconds" in " ".join(logreplay("capacity", "--help").output.split())


def test_capacity_without_a_step_that_counts_exits_with_3(folder: Path, tmp_path: Path) -> None:
    """Nothing was measured: that the bound does not hold is not known."""
    few = tmp_path / "few.csv"
    few.write_text("".join((folder / "once.csv").read_text().splitlines(keepends=True)[:20]))
    done = logreplay("capacity", few, "--demand", 1000, "--p90", "1ms")
    assert done.exit_code == Exit.INVALID
    reason = "no step counts for p90 within 1 ms: 50/s (19 requests, p90 needs 36)"
    assert done.stdout == f"{reason}; make the steps longer, such as --for 2s\n"


@pytest.mark.parametrize("kind", ["percentiles", "heatmap"])
def test_a_picture_of_the_kind_that_is_named_is_drawn(folder: Path, tmp_path: Path, kind: str) -> None:
    picture = tmp_path / f"{kind}.png"
    done = logreplay("plot", folder / "once.csv", "--kind", kind, "-o", picture)
    assert done.exit_code == Exit.OK, done.exception
    assert done.stderr == f"{kind}: {picture}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_of_a_run_at_one_rate_its_response_times_are_drawn_over_time(folder: Path, tmp_path: Path) -> None:
    """A hockey stick of one rate was drawn, with one dot."""
    one = tmp_path / "one.csv"
    rows = pl.read_csv(folder / "once.csv", infer_schema=False)
    one.write_bytes(to_csv(rows.filter(pl.col("step") == "0"), header=True))
    done = logreplay("plot", one, "-o", tmp_path / "one.svg")
    assert done.stderr == f"timeline: {tmp_path}/one.svg\n"
    texts = (tmp_path / "one.svg").read_text()
    assert "time, ms" in texts
    assert "seconds since the start of the run" in texts


def test_several_runs_are_laid_over_each_other(folder: Path, tmp_path: Path) -> None:
    picture = tmp_path / "both.svg"
    done = logreplay("plot", folder / "once.csv", folder / "slower.csv", "-o", picture, "--within", "100ms", "-q")
    assert done.exit_code == Exit.OK
    assert "<svg" in picture.read_text()


def test_a_picture_has_a_known_ending(folder: Path, tmp_path: Path) -> None:
    done = logreplay("plot", folder / "once.csv", "-o", tmp_path / "picture.gif")
    assert isinstance(done.exception, UsageError)
    assert done.exception.format_message().endswith("picture.gif: expected a file that ends with .png or .svg")
