"""Writes the answer of a search: its sentence, its weaknesses, the ``slo`` of summary.json."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from logreplay.analysis.format_time import show, show_length, show_rate, show_share, spoken
from logreplay.analysis.machine_count import machines_for
from logreplay.analysis.search.bounds import BoundFinding
from logreplay.analysis.search.pooled import hard
from logreplay.analysis.search.search import Answer, Goal, Judged, Search
from logreplay.analysis.statistics.failures import ERROR_SHARE, share_of
from logreplay.analysis.untested import OTHER_LOAD, another_mix, not_tested
from logreplay.core.plural import number_of

LEAST_TRIAL_S: Final = 30.0
"""Judged seconds, below which a trial misses rare events of a target."""

_LONGER: Final = 4
"""Factor by which an inconclusive search should be longer to be conclusive."""
_GENERATOR_BOUND: Final = "this machine was too slow or too busy"


def answer_of(search: Search) -> Answer:
    """The answer of a search that has ended."""
    assert isinstance(search.next, Answer), "the search has not ended"
    return search.next


def sentence(search: Search, tps: float | None = None) -> str:
    """Say how a search ended; with ``tps``, also how many such machines that rate needs."""
    answer, goal = answer_of(search), search.goal
    text = goal.text
    bounds = " and ".join(map(str, goal.bounds))
    if not search.measured or answer.why == "generator":
        return f"no trial at {text(goal.start)} was valid, {_GENERATOR_BOUND}: nothing is known of the target"
    if search.judging.fails_anyway is not None:
        errors = next(bound for bound in goal.bounds if bound.statistic == "errors")
        rates = sorted({each.trial.rate for each in search.judged if each.verdict != "void"})
        return (
            f"{errors} does not hold at any rate: {_percent(search.judging.fails_anyway)} of the requests failed from "
            f"{text(rates[0])} to {text(rates[-1])}, however low the rate was; look at them with run --crash, or raise "
            "--max-errors"
        )
    if answer.why == "not-met":
        return f"{bounds} does not hold even at {text(answer.high)}"
    if answer.low is None:
        return (
            f"not finished: too few requests failed at {text(goal.start)} to decide, and --trials or --budget leaves "
            "no room for a longer trial: raise them"
        )
    if answer.why == "open":
        return f"not finished: {_passed(search, answer.low)}; {_upper(search, answer, 'did not pass')}"
    upper = _upper(search, answer, "do not" if goal.users and answer.high != 1 else "does not")
    if answer.why == "unproven":
        return _unproven(search, answer)
    held = _held(answer, goal)
    if answer.why == "drifted":
        return (
            f"no answer: the target changed during the search: {_contradiction(search)}; at its end "
            f"{text(answer.low)} {held}; {upper}"
        )
    if goal.users:
        least = "" if answer.why == "found" else "at least "
        return f"{least}{text(answer.low)} {'keeps' if answer.low == 1 else 'keep'} {bounds}: {held}; {upper}"
    capacity = f", capacity about {goal.text(_about(answer))}{_between(answer)}" if answer.capacity else ""
    return f"at least {text(answer.low)} keeps {bounds}{capacity}: {held}; {upper}{_machines(answer, goal, tps)}"


def unconfirmable(goal: Goal) -> str:
    """Say below which rate the budget has no time for the requests of a confirmation; empty if it has for all rates."""
    if goal.budget_s is None or goal.users:
        return ""
    least = goal.needs / (goal.budget_s - goal.before_confirming_s - goal.settle_s(goal.budget_s))
    if least <= goal.start or least >= (goal.highest or math.inf):
        return ""
    return (
        f"note: {goal.rarest} needs {goal.needs:,} requests, which a --budget of {goal.budget_s:g} s has no time for "
        f"below {goal.text(least)}: if no higher rate keeps the bounds, the answer is not proven"
    )


def so_far(search: Search) -> str:
    """The rates that a stopped search knows to pass and to fail; empty if no trial counts."""
    goal, passed = search.goal, search.judged[-1].low if search.judged else None
    if search.high and not any(each.trial.rate == search.high and each.verdict == "fail" for each in search.judged):
        invalid = f"no trial at {goal.text(search.high)} was valid, {_GENERATOR_BOUND}"
        return f"{_passed(search, passed)}; {invalid}" if passed else invalid
    if passed:
        failed = f"; {goal.text(search.high)} did not pass" if search.high else ""
        return f"{_passed(search, passed)}{failed}"
    bounds = " and ".join(map(str, goal.bounds))
    return f"{bounds} did not hold at {goal.text(search.high)}" if search.high else ""


def _passed(search: Search, rate: float) -> str:
    """Say that a rate passed and was not confirmed; and why, if that was not the target's fault."""
    invalid = search.unconfirmed_rate
    why = f": no confirmation at {search.goal.text(invalid)} was valid, {_GENERATOR_BOUND}" if invalid else ""
    were = "were" if search.goal.users and rate != 1 else "was"
    return f"{search.goal.text(rate)} passed and {were} not confirmed{why}"


def _about(answer: Answer) -> float:
    """The capacity rounded to two and a half digits, as it is an estimate; not rounded if that leaves the bracket."""
    assert answer.capacity
    assert answer.low
    assert answer.high
    unit = 10.0 ** (math.floor(math.log10(answer.capacity)) - 1) / 2
    rounded = round(answer.capacity / unit) * unit
    return rounded if answer.low <= rounded <= answer.high else answer.capacity


def _between(answer: Answer) -> str:
    if not answer.between:
        return ""
    low, high = (f"{each:,.3g}" if each < 999.5 else f"{each:,.0f}" for each in answer.between)
    return f" (90 % range {low} to {high}/s)" if low != high else ""


def _held(answer: Answer, goal: Goal) -> str:
    """The trial on which the promise rests, and that it saw nothing that takes longer."""
    assert answer.proof
    trial = answer.proof.trial
    fresh = f"a fresh trial of {show_length(trial.judged_s)} in one piece"
    seen_of_it = f"({number_of(answer.requests, 'request')}, {seen(answer.findings)}), what takes longer was not seen"
    if trial.rate == answer.low:
        return f"confirmed by {fresh} {seen_of_it}"
    kept = "kept it" if answer.proof.verdict == "pass" else "just missed it"
    return f"{fresh} {kept} at {goal.text(trial.rate)} {seen_of_it}"


def _unproven(search: Search, answer: Answer) -> str:
    goal, judging = search.goal, search.judging
    rarest = f"{goal.rarest} needs {goal.needs:,} requests"
    if not answer.proof:
        rarest += f": {goal.needs / (answer.low or 1):,.0f} s at {goal.text(answer.low)}"
        return f"not proven: {rarest}; use --budget {search.budget_needed_s / 60:.0f}m"
    if answer.requests < goal.needs:
        return f"not proven: {rarest}, and only {answer.requests:,} were judged at {goal.text(answer.low)}"
    trial = answer.proof.trial
    held = f"{goal.text(trial.rate)} for {show_length(trial.judged_s)}"
    longer = f"use --budget {math.ceil(_LONGER * search.elapsed / 60)}m"
    if share := judging.fails_too_often:
        errors = next(str(bound) for bound in goal.bounds if bound.statistic == "errors")
        return (
            f"not proven: {_percent(share)} of the requests failed, whatever the rate was, in so few bursts that "
            f"{errors} may hold or not; the bounds on time allow about {goal.text(answer.low)}; {longer}"
        )
    if grown := judging.builds_up(answer.proof):
        return (
            f"not proven: something builds up: {held} was kept ({seen(answer.findings)}), but the mean response time "
            f"rose during it, from {show(grown[0])} to {show(grown[1])}; {longer}"
        )
    return (
        f"not proven: one confirmation failed, and {held} was kept, but not surely ({seen(answer.findings)}): late "
        f"requests come in few, large bunches; {longer}"
    )


def _upper(search: Search, answer: Answer, failed: str) -> str:
    """The rate above the answer: that it failed, was invalid, or was not tried; ``failed`` is the verb of the first."""
    goal = search.goal
    if answer.high is None:
        limit = goal.highest is not None and answer.low == goal.rounded(goal.highest)
        return "no higher rate was allowed" if limit else "no higher rate was tried"
    if answer.high_void:
        return f"no trial at {goal.text(answer.high)} was valid, {_GENERATOR_BOUND}"
    return f"{goal.text(answer.high)} {failed}"


def _machines(answer: Answer, goal: Goal, tps: float | None) -> str:
    needed = _machines_needed(answer, goal, tps)
    if needed is None or tps is None:
        return ""
    fewer = machines_for(tps, _about(answer)) if answer.capacity else needed
    unless = f" ({fewer} if one carried {goal.text(_about(answer))})" if fewer < needed else ""
    return f". {goal.text(tps)} need {number_of(needed, 'such machine')}{unless}"


def _machines_needed(answer: Answer, goal: Goal, tps: float | None) -> int | None:
    if tps is None or goal.users or not answer.holds or answer.low is None:
        return None
    return machines_for(tps, answer.low)


def _contradiction(search: Search) -> str:
    found = search.judging.contradiction()
    assert found
    passed, failed = found
    return (
        f"{search.goal.text(passed.trial.rate)} passed in trial {passed.trial.number}, "
        f"{search.goal.text(failed.trial.rate)} failed in trial {failed.trial.number}"
    )


def seen(findings: Sequence[BoundFinding]) -> str:
    """The observations on the bounds: ``0.62 % over 300 ms, 0 % failed``; the first is of the answered requests."""
    return ", ".join(map(_seen, findings))


def _seen(finding: BoundFinding) -> str:
    bound = finding.bound
    if bound.statistic == "mean":
        return f"mean {show(finding.cost)}"
    share = _percent(finding.cost) if math.isfinite(finding.cost) else "no requests"
    return f"{share} failed" if bound.statistic == "errors" else f"{share} over {show(bound.limit)}"


def _percent(share: float) -> str:
    """Fixed point: 100 %, 9.0 %, 0.62 %, 0 %."""
    hundredths = share * 100
    return f"{hundredths:.0f} %" if hundredths >= 10 or not share else f"{hundredths:.{1 if hundredths >= 1 else 2}f} %"


def weaknesses(search: Search) -> list[dict[str, str]]:
    """What weakens an answer: ``code``, ``severity`` and ``text`` each, as the findings of summary.json."""
    answer = answer_of(search)
    found = {
        "constant_errors": _constant_errors(search),
        "errors_in_doubt": _errors_in_doubt(answer),
        "short_trials": _short_trials(search.goal, answer),
        "collapse": _collapse(search) if answer.low else "",
        "uneven_work": _uneven(search) if answer.low else "",
        "dependent_requests": _dependent_requests(answer),
        "void_trials": _void_trials(search),
        "busy_machine": _busy_machine(search),
    }
    return [{"code": code, "severity": "warning", "text": text} for code, text in found.items() if text]


def not_covered(search: Search) -> str:
    """The sentence on the conditions that a search did not test; empty if it confirmed no rate."""
    answer, goal = answer_of(search), search.goal
    if not answer.proof:
        return ""
    trial = answer.proof.trial
    were = "were" if goal.users and trial.rate != 1 else "was"
    held = f"{goal.text(trial.rate)} {were} held once, for"
    text = not_tested(held, [trial.judged_s], "answer", another_mix(), OTHER_LOAD)
    for finding in answer.findings:
        if finding.bound.statistic == "max":
            more = f"up to {show_share(finding.high)} of later ones may take longer"
            text += f"; max is that of {number_of(finding.requests, 'request')}: {more}"
    return text


def _constant_errors(search: Search) -> str:
    passed = [each.outcome.evidence.failures for each in search.judged if each.verdict == "pass"]
    share = share_of(passed)
    if share <= ERROR_SHARE / 2:
        return ""
    return (
        f"{_percent(share)} of the requests failed also at rates that passed; the bounds on time are judged without "
        "them; see run --crash"
    )


def _errors_in_doubt(answer: Answer) -> str:
    over = [each for each in answer.findings if each.bound.statistic == "errors" and not each.kept]
    if not answer.holds or not over:
        return ""
    return (
        f"{_percent(over[0].cost)} of the requests of the confirmation failed, and {over[0].bound} was asked for: too "
        "few failures apart from each other to say that more fail; use a longer --budget"
    )


def _short_trials(goal: Goal, answer: Answer) -> str:
    if answer.why in ("open", "unproven") or not answer.proof or answer.proof.trial.judged_s >= LEAST_TRIAL_S:
        return ""
    trial = answer.proof.trial
    _, most = goal.confirming_s(trial.rate)
    remedy = "leave out --trial" if most < LEAST_TRIAL_S else "use a longer --budget"
    return (
        f"a confirmation of {show_length(trial.judged_s)} misses what happens rarely, and queues that fill slowly: "
        f"the rate may be too high; {remedy}"
    )


def _collapse(search: Search) -> str:
    if not search.judging.collapses:
        return ""
    completed = show_rate(search.judging.completed)
    return (
        f"under overload the target completed {completed}/s, less than it kept before: it may stay "
        "overloaded once it is; the promise is a fifth lower for that"
    )


def _uneven(search: Search) -> str:
    why = {
        "work": "few requests bring most of the work",
        "bunches": "late requests come in larger bunches than in a queue",
        "": "",
    }[hard(search.judging)]
    return f"{why}: the next minutes may differ from those of the search; the promise is lower for that" if why else ""


def _dependent_requests(answer: Answer) -> str:
    effect = max((each.design_effect for each in answer.findings if each.bound.statistic != "errors"), default=1.0)
    if not answer.holds or effect <= 10:
        return ""
    return (
        f"late requests come in bunches: {answer.requests:,} requests say as much as "
        f"{answer.requests / effect:,.0f} independent ones"
    )


def _void_trials(search: Search) -> str:
    reasons = [judged.outcome.void for judged in search.judged if judged.verdict == "void"]
    if not reasons:
        return ""
    return f"{number_of(len(reasons), 'trial')} left out{', the first' * (len({*reasons}) > 1)}: {reasons[0]}"


def _busy_machine(search: Search) -> str:
    failed = [each.outcome for each in search.judged if each.verdict == "fail"]
    doubts = [outcome.doubt or outcome.void for outcome in failed if outcome.doubt or outcome.void]
    if not doubts:
        return ""
    return (
        f"in {number_of(len(doubts), 'trial')} that failed, {doubts[0]}: "
        "if the target runs on this machine as well, the rate may be too low"
    )


def headline(facts: Mapping[str, Any]) -> str:
    """The answer in one line, from ``slo`` of summary.json: ``87/s per machine keeps p99 below 300 ms: 3 machines …``.

    Empty if no rate holds.
    """
    bounds = [each for each in facts["bounds"] if each["statistic"] != "errors"]
    if not facts["found"] or not bounds:
        return ""
    kept = " and ".join(f"{spoken(each['statistic'])} below {show(each['limit'])}" for each in bounds)
    if facts["unit"] == "users":
        return f"{number_of(round(facts['rate']), 'user')} {'keeps' if facts['rate'] == 1 else 'keep'} {kept}"
    machines, demand = facts.get("machines"), facts.get("demand")
    if not machines or not demand:
        return f"{facts['rate']:g}/s keeps {kept}"
    needed = f"{number_of(machines, 'machine')} for {demand:g}/s"
    return f"{facts['rate']:g}/s per machine keeps {kept}: {needed}"


def slo(search: Search, tps: float | None = None) -> dict[str, Any]:
    """Return ``slo`` of summary.json: the answer and every trial, plain values."""
    answer = answer_of(search)
    return {
        "found": answer.holds,
        "why": answer.why,
        "sentence": sentence(search, tps),
        "rate": answer.low if answer.holds else None,
        "low": answer.low,
        "high": answer.high,
        "high_void": answer.high_void,
        "planning": answer.low if answer.holds else None,
        "capacity": answer.capacity,
        "range": list(answer.between) if answer.between else None,
        "held_s": answer.proof.trial.judged_s if answer.proof else None,
        "held_rate": answer.proof.trial.rate if answer.proof else None,
        "margin": answer.capacity / answer.low - 1 if answer.holds and answer.capacity and answer.low else None,
        "unit": "users" if search.goal.users else "requests/s",
        "machines": _machines_needed(answer, search.goal, tps),
        "demand": tps,
        "confirmations": int(answer.proof is not None),
        "fails_anyway": search.judging.fails_anyway,
        "requests": answer.requests,
        "bounds": [
            {"statistic": each.bound.statistic, "limit": each.bound.limit, "seen": each.cost,
             "allowed": each.bound.allowance, "design_effect": each.design_effect}
            for each in answer.findings
        ],
        "seconds": search.elapsed,
        "trials": trials(search),
    }  # fmt: skip


def trials(search: Search) -> list[dict[str, Any]]:
    """Return the trials made so far, plain values."""
    return [_trial(judged) for judged in search.judged]


def _trial(judged: Judged) -> dict[str, Any]:
    trial, outcome = judged.trial, judged.outcome
    return {
        "number": trial.number,
        "phase": trial.phase,
        "rate": trial.rate,
        "began": judged.began,
        "seconds": outcome.seconds,
        "judged_s": trial.judged_s,
        "requests": outcome.evidence.requests,
        "verdict": judged.verdict,
        "reason": judged.reason,
        "seen": {each.bound.statistic: each.cost for each in judged.findings},
        "low": judged.low,
        "high": judged.high,
    }


def heading() -> str:
    """The names of the columns of `trial_line`."""
    return (
        f"{'#':>2} {'why':9} {'rate':>9} {'took':>6} {'judged':>16}  seen of the bounds  verdict  "
        "[highest rate that passed, lowest that failed]"
    )


def trial_line(judged: Judged, goal: Goal) -> str:
    """One line of a trial that was made: rate, observations, verdict, and the bracket it leaves."""
    trial, outcome = judged.trial, judged.outcome
    why = f" ({judged.reason})" if judged.reason else ""
    low = goal.text(judged.low) if judged.low else "?"
    high = goal.text(judged.high) if judged.high else "?"
    return (
        f"{trial.number:2} {trial.phase:9} {goal.text(trial.rate):>9} {outcome.seconds:4.0f} s "
        f"{outcome.evidence.requests:7,} requests  {seen(judged.findings)}  {judged.verdict}{why}  [{low}, {high}]"
    )
