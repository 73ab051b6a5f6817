"""A run compared with itself, with a slower one, with a faster one."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.json_text import json_text
from logreplay.analysis.output import history
from logreplay.analysis.verdict import run_pairs
from logreplay.analysis.verdict.comparison import Comparison, compare, compare_duet
from logreplay.analysis.verdict.ratio_interval import NO_DIFFERENCE, Change
from logreplay.core.errors import LogreplayError


def run(seed: int, *, slower: float = 1.0, rates: Sequence[float] = (150,), seconds: float = 60) -> pl.DataFrame:
    """One run of the same log: the same arrivals and work, times that differ by chance and by a factor."""
    return _simulated(seed, slower, tuple(rates), seconds)


@cache
def _simulated(seed: int, slower: float, rates: tuple[float, ...], seconds: float) -> pl.DataFrame:
    arrivals = simulate.sweep(rates, seconds, np.random.default_rng(77))
    count = len(arrivals.scheduled)
    work = np.random.default_rng(78).exponential(0.016, count) * np.random.default_rng(seed).lognormal(0, 0.1, count)
    return simulate.results(arrivals, slower * (simulate.waits(arrivals.scheduled, work, 4) + work))


def test_a_run_does_not_differ_from_itself() -> None:
    same = compare(run(1), run(1))
    assert same.paired
    assert same.sentence == "no difference detected (+0.0% to +0.0%; smallest detectable ~2.0%) in the typical ratio"
    assert same.slower_share == 0.5
    assert same.status_changed
    assert same.bytes_changed
    assert same.status_changed[0] == same.bytes_changed[0] == 0


def test_a_verdict_says_what_it_does_not_cover_and_which_interval_is_the_widest() -> None:
    found = compare(run(1), run(2))
    widest = max({**found.quantiles, **found.routes}.items(), key=lambda row: row[1].high / row[1].low)
    assert found.not_covered == (
        "both were compared over 60 s: the verdict does not cover what takes longer, such as leaks and slow scaling, "
        f"another load, or another mix of the 4 routes; the widest interval is that of {widest[0]} "
        f"({widest[1].low - 1:+.1%} to {widest[1].high - 1:+.1%})"
    )
    assert found.as_dict()["not_covered"] == found.not_covered
    assert compare(run(1).head(50), run(2).head(50)).not_covered == ""


def test_all_times_three_percent_up_are_found() -> None:
    once = run(1)
    found = compare(once, once.with_columns(pl.col("latency") * 1.03))
    assert found.sentence.startswith("slower by 3.0%")
    assert list(found.by_route["verdict"]) == ["slower"] * 4


@pytest.mark.parametrize("seed", range(5))
def test_two_runs_that_differ_by_chance_are_not_called_different(seed: int) -> None:
    assert compare(run(2 * seed), run(2 * seed + 1)).sentence.startswith("no difference detected")


@pytest.mark.parametrize("seed", range(5))
def test_five_percent_are_found_between_two_runs(seed: int) -> None:
    assert compare(run(2 * seed), run(2 * seed + 1, slower=1.05)).sentence.startswith("slower by")
    assert compare(run(2 * seed, slower=1.05), run(2 * seed + 1)).sentence.startswith("faster by")


def test_only_steps_that_both_runs_carried_are_compared() -> None:
    found = compare(run(1, rates=[100, 200, 400], seconds=20), run(2, rates=[100, 200, 400], seconds=20))
    assert sorted(found.by_step["rate"]) == [100, 200]
    assert (
        found.notes[0] == "left out: rates that one of the runs does not have, or did not carry: 400/s, 16,090 requests"
    )
    assert found.notes[1] == "left out: the first 20% of each step, in which queues fill: 2,504 requests"


@pytest.mark.parametrize(("rates", "kept"), [([50, 70], "50/s, 70/s"), ([400, 500], "none")])
def test_sweeps_that_carried_no_rate_in_common_say_so(rates: list[float], kept: str) -> None:
    """They were told to run longer, and that they do not replay the same requests."""
    found = compare(run(1, rates=[100, 150], seconds=20), run(2, rates=rates, seconds=20))
    assert found.sentence.startswith(
        f"nothing to compare: no rate was carried by both runs (baseline: 100/s, 150/s; candidate: {kept}): run both "
        "at a rate they carry"
    )
    assert not [note for note in found.notes if "same requests" in note]


def test_runs_at_different_rates_say_why_they_are_compared_by_percentiles() -> None:
    found = compare(run(1, rates=[100]), run(2, rates=[150]))
    assert not found.paired
    assert found.notes[0] == (
        "the runs have no rate in common (baseline: 100/s; candidate: 150/s): compared by percentiles, which sees far "
        "less"
    )
    assert found.steps == {}, "a rate of one run only is no row"


def test_a_route_of_one_run_only_is_no_row() -> None:
    one = run(1).with_columns(url=pl.lit("/one"))
    assert [*compare(one, one).routes] == ["/one"]
    assert compare(one, run(2).with_columns(url=pl.lit("/other"))).routes == {}


def test_runs_of_different_logs_are_compared_by_percentiles_and_that_is_said() -> None:
    other = run(2, slower=2).with_columns(url=pl.lit("/other/") + pl.col("row").cast(pl.String))
    found = compare(run(1), other)
    assert not found.paired
    assert found.sentence.startswith("slower by")
    assert found.notes[0] == "the runs do not replay the same requests: compared by percentiles, which sees far less"
    assert found.slower_share is None
    unknown = found.as_dict()
    assert unknown["status_changed"] is unknown["bytes_changed"] is None, "no pairs, and not 0 of them"


def test_runs_without_a_rate_have_no_row_of_a_rate() -> None:
    """Runs with --speed or --follow had a row of 0/s."""
    found = compare(*(run(seed).with_columns(offered=pl.lit(None, pl.Float64)) for seed in (1, 2)))
    assert found.change
    assert found.as_dict()["by_step"] == []
    assert [row["rate"] for row in compare(run(1), run(2)).rows("rate")] == [150]


def test_the_span_that_a_verdict_covers_is_that_of_the_pairs_that_were_compared() -> None:
    """All requests of one pair failed: the text said that both were compared over 0 s."""
    failed = [run(seed).with_columns(rc=pl.lit(500)) for seed in (5, 6)]
    found = compare(*(run(seed) for seed in range(1, 5)), *failed)
    assert found.not_covered.startswith("both were compared over 60 s: ")


@pytest.mark.parametrize("pairs", [1, 2])
def test_p50_has_one_verdict_where_it_is_the_answer(pairs: int) -> None:
    """Its row had an interval that allowed for the other percentiles, and could contradict the answer."""
    other = pl.lit("/other")
    runs = [
        run(seed, slower=1 + 0.05 * (seed % 2)).with_columns(url=other if seed % 2 else "url")
        for seed in range(2 * pairs)
    ]
    found = compare(*runs)
    assert found.headline == "p50"
    assert list(found.quantiles) == ["p50", "p90", "p99"]
    assert found.quantiles["p50"] == found.change
    assert found.verdicts["p50"] == found.verdicts["all"]
    late = [run(seed).with_columns(lag=0.05 * (pl.int_range(pl.len()) % 4 == 0)) for seed in (5, 6)]
    beside = compare(*runs, *runs, *late)  # a pair of the same requests, which is left out
    assert beside.quantiles["p50"] == beside.change


def test_statuses_and_sizes_that_changed_are_counted() -> None:
    once = run(1)
    rows = pl.int_range(pl.len())
    changed = once.with_columns(
        rc=pl.when(rows % 100 == 0).then(503).otherwise("rc"), bytes=pl.when(rows % 10 == 5).then(5).otherwise("bytes")
    )
    found = compare(once, changed)
    assert found.status_changed
    assert found.bytes_changed
    assert found.status_changed[0] == pytest.approx(0.01, abs=0.001)
    assert found.status_changed[1] < 0.01 < found.status_changed[2]
    assert found.bytes_changed[0] == pytest.approx(0.1, abs=0.01)
    assert [each[:2] for each in found.statuses] == [("200", "200"), ("200", "503")]
    assert "1.00% of the requests failed, 0.00% in the baseline" in found.sentence


def test_too_little_is_not_compared() -> None:
    assert compare(run(1, seconds=0.2), run(1, seconds=0.2)).change is None


@pytest.mark.parametrize("empty", [0, 1])
def test_a_run_without_a_request_is_not_compared(empty: int) -> None:
    """It was compared, found no difference, and the command ended with 0."""
    runs = [run(1, seconds=2), run(2, seconds=2)]
    runs[empty] = runs[empty].clear()
    with pytest.raises(LogreplayError, match="results: no request in it was sent: nothing to compare"):
        compare(*runs)


def test_requests_that_were_never_sent_do_not_count_against_a_candidate() -> None:
    """One in ten was dropped by the generator."""
    dropped = pl.col("row") % 10 == 0
    never = {"error": pl.when(dropped).then(pl.lit("dropped")), "rc": pl.when(dropped).then(0).otherwise(200)}
    found = compare(run(1), run(2).with_columns(**never))
    assert found.failed == (0.0, 0.0)
    assert found.verdict == "no difference detected"
    assert any(note.endswith("requests were not sent (dropped), and are left out") for note in found.notes)


def test_the_pairs_of_a_looped_log_are_its_turns() -> None:
    once = run(1, seconds=20)
    looped = once.with_columns(row=pl.col("row") % 500, url=pl.lit("/") + (pl.col("row") % 500).cast(pl.String))
    found = compare(looped, looped.with_columns(pl.col("latency") * 1.1))
    assert found.paired
    assert found.change is not None
    assert found.change.count == pytest.approx(once.height, abs=2)  # a time of 0 has no ratio
    assert run_pairs.rows(looped, [])["turn"].max() == (once.height - 1) // 500


def differing(shifts: list[float], *, slower: float = 1.0) -> list[pl.DataFrame]:
    """Runs in turn, baseline, candidate, ..., an hour after each other; each is slower by its own shift."""
    runs = [run(index, slower=(slower if index % 2 else 1.0) * shift, seconds=60) for index, shift in enumerate(shifts)]
    return [
        frame.with_columns(time=pl.lit(f"{hour:02}") + pl.col("time").str.slice(2)) for hour, frame in enumerate(runs)
    ]


def test_runs_that_differ_by_themselves_are_called_different_by_one_pair_and_not_by_several() -> None:
    runs = differing([1.0, 1.08, 1.06, 0.97, 1.03, 1.09, 0.95, 1.0])
    assert compare(*runs[:2]).sentence.startswith("slower by")
    found = compare(*runs)
    assert found.sentence == (
        "undecided (-9.2% to +15.5%) in the typical ratio: to detect 10%, compare at least 13 pairs of runs"
    )
    assert list(found.by_pair["pair"]) == [1, 2, 3, 4]
    assert found.change is not None
    assert found.change.ratio == pytest.approx(np.exp(np.log(found.by_pair["ratio"]).mean()))
    assert found.change.blocks == 4


def test_a_pair_of_several_says_why_its_interval_is_wider_than_alone() -> None:
    """The same two runs had two intervals, and nothing said why."""
    runs = differing([1.0, 1.08, 1.06, 0.97, 1.03, 1.09])
    found, widths = compare(*runs), []
    for pair in range(3):
        alone, beside = compare(*runs[2 * pair : 2 * pair + 2]), found.pairs[pair + 1]
        assert alone.change
        assert alone.change.ratio == beside.ratio
        widths.append((beside.high / beside.low) / (alone.change.high / alone.change.low))
        assert not any("method of Holm" in note for note in alone.notes)
    assert min(widths) >= 1
    assert max(widths) > 1
    assert [note for note in found.notes if "method of Holm" in note] == [
        "the interval of each pair of runs allows for the number of pairs, by the method of Holm: a pair that is "
        "compared alone can have a narrower one"
    ]


def test_a_change_beyond_that_of_the_runs_themselves_is_found_by_several_pairs() -> None:
    found = compare(*differing([1.0, 1.002, 1.004, 0.998, 1.002, 1.004, 1.001, 1.0], slower=1.1))
    assert found.sentence.startswith("slower by 9.9% (9.1% to 10.6%) in the typical ratio")
    assert list(found.by_route["verdict"]) == ["slower"] * 4
    assert set(found.quantiles) == {"p50", "p90", "p99"}
    assert found.transitions["requests"].sum() == 4 * run(0).height


def test_only_one_pair_and_runs_not_in_turn_have_a_note_of_their_own() -> None:
    runs = [each.filter(pl.col("latency") > 1e-5) for each in differing([1.0] * 4)]
    assert "one pair of runs does not show" in compare(*runs[:2]).notes[-1]
    apart = "the runs of a pair did not follow each other"
    assert not [note for note in compare(*runs).notes if apart in note]
    assert apart in compare(runs[0], runs[2], runs[1], runs[3]).notes[-1]
    assert not [note for note in compare(runs[0], runs[1], runs[3], runs[2]).notes if apart in note]


def test_requests_that_only_one_run_has_are_counted_and_named() -> None:
    once = run(1)
    found = compare(once, once.filter(~pl.col("row").is_in([7, 5_000])).head(8_000))
    left = once.height - 8_000
    assert found.notes[0] == (
        f"not compared: {left:,} of {once.height:,} requests of the baseline, which the other run does not have (rows "
        "7, 5,000 and 8,001 and more)"
    )
    one = compare(once.filter(pl.col("row") != 3), once)
    assert one.notes[0] == (
        f"not compared: 1 of {once.height:,} requests of the candidate, which the other run does not have (row 3)"
    )


def test_pairs_without_a_time_in_both_runs_are_counted() -> None:
    once = run(1).filter(pl.col("latency") > 1e-5)
    paired = once.filter(pl.col("row") >= 40).height
    failed = once.with_columns(rc=pl.when(pl.col("row") < 40).then(500).otherwise("rc"))
    left = once.height - paired
    assert f"{left} pairs are left out of the times: not answered as expected, with a time above 0, in both runs" in (
        compare(once, failed).notes
    )


def test_routes_without_a_row_of_their_own_are_counted() -> None:
    rare = pl.when(pl.col("row") < 60).then(pl.lit("/rare")).otherwise("url")
    found = compare(*(run(seed).with_columns(url=rare) for seed in (1, 2)))
    assert "/rare" not in found.routes
    assert (
        "1 route without a row in the table, 60 requests of the baseline (/rare): fewer than 100 each, or not among "
        "the 30 most frequent"
    ) in found.notes


def test_a_note_of_some_pairs_of_runs_names_them() -> None:
    runs = differing([1.0] * 6)
    runs[3] = runs[3].head(8_000)
    (note,) = (note for note in compare(*runs).notes if "not compared" in note)
    assert note.startswith("pair 2: not compared: ")


def test_a_baseline_without_a_candidate_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        compare(*differing([1.0] * 3))


def test_of_many_routes_that_are_equal_none_is_called_slower() -> None:
    names = pl.lit("/") + (pl.col("row") % 25).cast(pl.String).replace_strict(
        {str(index): chr(97 + index) for index in range(25)}
    )
    verdicts = [
        verdict
        for seed in range(0, 8, 2)
        for verdict in compare(*(run(each).with_columns(url=names) for each in (seed, seed + 1))).by_route["verdict"]
    ]
    assert len(verdicts) == 100
    assert not {*verdicts} & {"slower", "faster"}


def test_a_run_too_unsteady_to_detect_ten_percent_is_undecided_and_says_how_long_it_must_be() -> None:
    once = run(1, seconds=60)
    wander = np.exp(0.3 * np.sin(once["scheduled"].to_numpy() / 9))
    found = compare(once, once.with_columns(pl.col("latency") * wander))
    assert found.verdict == "undecided"
    assert found.sentence.startswith("undecided (-")
    assert found.sentence.endswith("in the typical ratio: to detect 10%, run at least 36 minutes"), found.sentence
    assert found.notes[-1].startswith("both runs at once, as a duet, would see less")


def at_once(
    folder: Path, slower: float, *, alternate: bool = False, seconds: float = 30, bursts: bool = False
) -> Comparison:
    """A duet of 200 pairs/s on a restless machine, with two routes of which one is slower; or three bursts of pairs."""
    files, found = _compared_at_once(slower, alternate, seconds, bursts)
    for name, text in files.items():
        (folder / name).write_text(text)
    return found


@cache
def _compared_at_once(
    slower: float, alternate: bool, seconds: float, bursts: bool
) -> tuple[dict[str, str], Comparison]:
    files = {}
    rng, size = np.random.default_rng(7), int(200 * seconds)
    at = np.sort(rng.uniform(0, seconds, size))
    if bursts:
        at = seconds / 2 * np.round(2 * at / seconds)
    shared = np.exp(rng.normal(0, 0.4, 31))[at.astype(np.int64)]
    slow = np.arange(size) % 2 == 0
    for name, factor in (("baseline", 1.0), ("candidate", slower)):
        response = 0.02 * shared * np.where(slow, factor, 1.0) * rng.lognormal(0, 0.05, size)
        rows = pl.DataFrame(
            {
                "date": "2026-01-01", "time": [f"00:00:{second:09.6f}" for second in at], "latency": response,
                "xfertime": 0.0, "thinktime": 0.0,
                "bytes": np.where(np.arange(size) % 10 == 0, 5000 if name == "candidate" else 100, 100),
                "url": np.where(slow, "/slow", "/fast"), "rc": 200, "op": "GET", "seq": np.arange(size),
                "row": np.arange(size), "step": 0, "scheduled": at, "offered": 200.0, "connect": 0.0,
                "lag": 1e-5 * (name == "candidate"), "error": None,
            }
        )  # fmt: skip
        if alternate:
            rows = rows.filter(pl.col("seq") % 4 < 2 if name == "baseline" else pl.col("seq") % 4 >= 2)
        files[f"{name}.csv"] = rows.write_csv()
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        return files, compare_duet(Path(folder, "baseline.csv"), Path(folder, "candidate.csv"))


def words(found: Comparison) -> dict[str, str]:
    """The verdict on each route."""
    return {row["route"]: row["verdict"] for row in found.rows("route")}


def test_a_duet_names_the_route_that_became_slower(tmp_path: Path) -> None:
    found = at_once(tmp_path, 1.06)
    assert found.sentence.startswith("slower by ")
    assert "1 of 2 routes slower" in found.sentence
    assert words(found) == {"/slow": "slower", "/fast": NO_DIFFERENCE}
    assert found.routes["/slow"].ratio == pytest.approx(1.06, abs=0.01)
    assert found.routes["/fast"].ratio == pytest.approx(1.0, abs=0.01)
    assert found.headline == found.as_dict()["headline"] == "typical ratio"
    assert found.slower(0.04) == ["/slow"]
    assert found.bytes_changed
    assert found.bytes_changed[0] == pytest.approx(0.1)
    assert found.notes == [
        "p90 and p99: not compared, since the requests above came in too few bursts of time; run longer"
    ]
    assert set(found.as_dict()["quantiles"]["p50"]) > {"ratio", "verdict"}


def in_steps(folder: Path, slow: int, *, rates: bool = True) -> Comparison:
    """A duet of three steps of 10 s, in one of which the candidate takes 1.2 times as long."""
    at_once(folder, 1.0)
    step = pl.col("scheduled") // 10
    for name, factor in (("baseline", 1.0), ("candidate", 1.2)):
        rows = pl.read_csv(folder / f"{name}.csv").with_columns(
            pl.col("latency") * pl.when(step == slow).then(factor).otherwise(1.0)
        )
        rows = rows.with_columns(step=step.cast(int), offered=198.0 + step) if rates else rows
        rows.write_csv(folder / f"{name}.csv")
    return compare_duet(folder / "baseline.csv", folder / "candidate.csv")


def test_a_rate_at_which_a_duet_is_slower_is_no_drift(tmp_path: Path) -> None:
    """The halves of the duet hold different rates: the note said to warm both targets up."""
    assert not [note for note in in_steps(tmp_path, 2).notes if "drifted" in note]
    assert [note for note in in_steps(tmp_path, 2, rates=False).notes if "drifted" in note]


def test_a_limit_judges_each_rate_of_a_duet_as_the_table_does(tmp_path: Path) -> None:
    found = in_steps(tmp_path, 1)
    assert [row["rate"] for row in found.rows("rate") if row["verdict"] == "slower"] == [199.0]
    assert "199/s" in found.slower(0.1)
    assert not {"198/s", "200/s"} & {*found.slower(0.01)}
    assert found.verdict == "slower"
    assert found.sentence.startswith("slower at 199/s"), "it read undecided, beside the verdict slower"


def test_a_duet_of_equal_targets_finds_nothing(tmp_path: Path) -> None:
    found = at_once(tmp_path, 1.0)
    assert found.sentence.startswith(NO_DIFFERENCE)
    assert found.slower(0.0) == []
    assert found.uncertain(0.05) == []
    assert found.uncertain(0.0001)[0] == "all"


def test_a_duet_of_two_seconds_is_judged_and_a_shorter_one_says_how_long_it_must_be(tmp_path: Path) -> None:
    short = at_once(tmp_path, 1.06, seconds=2)
    assert short.sentence.startswith("slower by ")
    assert [note for note in short.notes if "--for 10s" in note]
    assert not [note for note in at_once(tmp_path, 1.06).notes if "--for 10s" in note]
    assert at_once(tmp_path, 1.0, seconds=2).sentence.startswith(NO_DIFFERENCE)
    for alternate, least in ((False, "1.6 s"), (True, "5 s")):
        found = at_once(tmp_path, 1.06, alternate=alternate, seconds=1.5)
        assert found.sentence == f"nothing to compare: less than {least} of requests: run longer"


@pytest.mark.parametrize("alternate", [False, True])
def test_a_duet_with_too_few_bursts_is_not_called_too_short(tmp_path: Path, alternate: bool) -> None:
    found = at_once(tmp_path, 1.06, alternate=alternate, bursts=True)
    assert found.sentence == f"nothing to compare: {FEW_BLOCKS}"


def test_runs_with_too_few_bursts_are_not_called_too_short() -> None:
    bursts = pl.col("scheduled") % 20 < 0.5
    once = run(1).filter(bursts)
    assert compare(once, once).sentence == f"nothing to compare: {FEW_BLOCKS}"
    other = run(2).filter(bursts).with_columns(url=pl.lit("/other"))
    assert compare(once, other).sentence == f"nothing to compare: {FEW_BLOCKS}"


FEW_BLOCKS = "the requests fall into fewer than 8 blocks of time: run longer, or at an even rate (--tps)"


def test_the_row_of_the_only_rate_of_a_duet_has_the_verdict_of_all_requests(tmp_path: Path) -> None:
    found = at_once(tmp_path, 1.02, seconds=2)
    assert found.change is not None
    assert found.steps == {200.0: found.change}
    assert [row["verdict"] for row in found.rows("rate")] == [found.verdicts["all"]] == [NO_DIFFERENCE]


def test_a_change_that_is_certain_and_too_small_to_count_is_not_called_undetected() -> None:
    """It read *no difference detected above 1%* beside an interval that excludes 0."""
    certain = Change(1.003, 1.001, 1.005, 6000, 60, 59)
    assert certain.sentence(0.01) == "slower by 0.3% (0.1% to 0.5%), within 1%: too small to count"
    assert certain.sentence(0.002) == "slower by 0.3% (0.1% to 0.5%)"


def test_an_end_that_the_runs_do_not_set_is_null_in_json_and_no_large_number() -> None:
    """The upper end was 3.77e+260."""
    endless = Change(1.1, 0.0, math.inf, 6000, 60, 4, seconds=60)
    same = compare(run(1, seconds=20), run(1, seconds=20))
    found = replace(same, change=endless, quantiles={"p50": endless}, routes={"/a": endless}, steps={150.0: endless})
    told = json.loads(json_text(found.as_dict()))
    rows = [told["change"], *told["quantiles"].values(), *told["by_route"], *told["by_step"]]
    assert [(row["low"], row["high"]) for row in rows] == [(None, None)] * 4
    assert found.by_route["high"].isna().all()
    assert history.of_duet({"times": told})["high"] is None
    assert endless.verdict() == "undecided"
    for seconds in (60, 0):  # of several pairs of runs, 1,000,000,000 were asked for
        assert replace(endless, seconds=seconds).remedy(0.1) == "run longer, or use a quieter machine"


def with_second_baseline(folder: Path, **columns: pl.Expr) -> list[Path]:
    """The result logs of a duet whose candidate is slower by 20 %: baseline, candidate and second baseline."""
    at_once(folder, 1.2)
    paths = [folder / f"{name}.csv" for name in ("baseline", "candidate", "noise")]
    rows = pl.read_csv(paths[0])
    wave = np.exp(0.02 * np.sin(np.linspace(0, 25, rows.height)))
    rows.with_columns(pl.col("latency") * wave, lag=2e-5).with_columns(**columns).write_csv(paths[2])
    return paths


def test_a_second_baseline_is_the_measure_of_how_much_equal_targets_differ(tmp_path: Path) -> None:
    baseline, candidate, noise = with_second_baseline(tmp_path)
    alone, beside = compare_duet(baseline, candidate), compare(baseline, candidate)
    assert alone.change
    assert beside.change
    assert (alone.change.freedom, beside.change.freedom) == (16, 33)
    assert beside.as_dict() == compare_duet(baseline, candidate, noise=noise).as_dict()
    assert beside.sentence.startswith("slower by ")


def test_percentiles_are_compared_with_both_instances_of_the_baseline(tmp_path: Path) -> None:
    """They were compared with the first, and its wander alone was their measure."""
    baseline, candidate, noise = with_second_baseline(tmp_path)
    alone, beside = compare_duet(baseline, candidate), compare_duet(baseline, candidate, noise=noise)
    assert list(beside.quantiles) == list(alone.quantiles)
    for name, each in beside.quantiles.items():
        assert each.freedom > alone.quantiles[name].freedom


def test_a_second_baseline_is_none_of_other_roles_nor_of_another_duet(tmp_path: Path) -> None:
    """A candidate that is slower by 20 % was no different where its log was named first."""
    baseline, candidate, noise = with_second_baseline(tmp_path)
    turned = compare(candidate, baseline)
    assert turned.sentence.startswith("faster by ")
    assert turned.change
    assert turned.change.freedom == 16
    assert compare(baseline, noise).sentence.startswith(NO_DIFFERENCE)
    pl.read_csv(noise).with_columns(date=pl.lit("2026-01-02")).write_csv(noise)
    assert compare(baseline, candidate).as_dict() == compare_duet(baseline, candidate).as_dict()


def test_pairs_that_the_second_baseline_did_not_answer_are_counted(tmp_path: Path) -> None:
    failing = pl.when(pl.col("seq") % 20 == 0).then(500).otherwise("rc")
    baseline, candidate, _ = with_second_baseline(tmp_path, rc=failing)
    found = compare(baseline, candidate)
    assert found.change
    assert found.change.count == 5700
    assert found.notes[0] == ("300 pairs are left out of the times: the second baseline did not answer as expected")


def test_logs_of_which_one_has_turns_are_compared_without_them(tmp_path: Path) -> None:
    baseline, candidate, noise = with_second_baseline(tmp_path)
    noise.unlink()
    turns = pl.read_csv(baseline).with_columns(swap_turn=pl.col("scheduled").cast(int) // 2, target=pl.lit("a"))
    turns.write_csv(baseline)
    assert compare(baseline, candidate).sentence.startswith("slower by ")


def test_a_second_baseline_that_hardly_answered_is_not_used(tmp_path: Path) -> None:
    failing = pl.when(pl.col("seq") % 2 == 0).then(500).otherwise("rc")
    baseline, candidate, _ = with_second_baseline(tmp_path, rc=failing)
    found = compare(baseline, candidate)
    assert found.change == compare_duet(baseline, candidate).change
    assert "the second baseline answered too few" in found.notes[0]


@pytest.mark.slow
def test_a_duet_that_alternates_is_compared_by_percentiles(tmp_path: Path) -> None:
    found = at_once(tmp_path, 1.3, alternate=True)
    assert not found.paired
    assert found.sentence.startswith("slower by ")
    assert words(found)["/slow"] == "slower"


@pytest.mark.parametrize("alternate", [False, True])
def test_the_result_logs_of_a_duet_are_recognised_by_their_start(tmp_path: Path, *, alternate: bool) -> None:
    found = at_once(tmp_path, 1.06, alternate=alternate)
    baseline, candidate = (tmp_path / f"{name}.csv" for name in ("baseline", "candidate"))
    assert compare(baseline, candidate).as_dict() == found.as_dict()
    pl.read_csv(candidate).with_columns(date=pl.lit("2026-01-02")).write_csv(tmp_path / "later.csv")
    assert not compare(baseline, tmp_path / "later.csv").at_once


def looped_duet(folder: Path, *, alternate: bool = False) -> Comparison:
    """A duet that replays a log of five requests again and again; one row of the candidate was left out."""
    at_once(folder, 1.0, alternate=alternate)
    for name in ("baseline", "candidate"):
        failed = pl.col("seq") % 10 == 0
        rows = pl.read_csv(folder / f"{name}.csv").with_columns(
            row=pl.col("row") % 5, url=pl.lit("/"), rc=pl.when(failed).then(404).otherwise(200)
        )
        rows[1 if name == "candidate" else 0 :].write_csv(folder / f"{name}.csv")
    return compare_duet(folder / "baseline.csv", folder / "candidate.csv")


@pytest.mark.parametrize("alternate", [False, True])
def test_neither_the_size_of_a_batch_nor_the_order_of_the_rows_changes_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, alternate: bool
) -> None:
    found = at_once(tmp_path, 1.06, alternate=alternate)
    baseline, candidate = (tmp_path / f"{name}.csv" for name in ("baseline", "candidate"))
    for path in (baseline, candidate):
        pl.read_csv(path).sort(pl.col("scheduled") + pl.col("latency")).write_csv(path)
    monkeypatch.setattr(run_pairs, "_BATCH", 100)
    again = compare_duet(baseline, candidate)
    assert again.as_dict() == found.as_dict()
    assert again.by_route.equals(found.by_route)


def test_a_request_that_is_missing_in_a_duet_moves_no_other_pair(tmp_path: Path) -> None:
    found = looped_duet(tmp_path)
    assert found.statuses == [("200", "200", 5400), ("404", "404", 599)]


@pytest.mark.slow
def test_alternate_requests_of_a_looped_log_are_no_pairs(tmp_path: Path) -> None:
    assert not looped_duet(tmp_path, alternate=True).paired
