"""The functions of the library: parameters as people write them → one frozen value → one call.

The prototype has `run`, with the parameters of its load and a few others.
"""

import sys
import weakref
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from os import PathLike
from pathlib import Path

from logreplay.calling.events import Silent
from logreplay.core.errors import Interrupted, UsageError
from logreplay.core.quantities import seconds_of
from logreplay.inputs.logs import log_named
from logreplay.inputs.targets import TargetChoice
from logreplay.options.load import Load, ramp_of, speed_of, steps_of
from logreplay.options.sender_rules import SenderRules
from logreplay.results import RunResult

Seconds = float | str | timedelta


def run(
    log: str | PathLike[str] | None,
    target: str | None = None,
    *,
    tps: float | None = None,
    speed: float | str | None = None,
    ramp: str | None = None,
    steps: str | None = None,
    vusers: int | None = None,
    arrivals: str | None = None,
    duration: Seconds | None = None,
    requests: int | None = None,
    loop: bool | None = None,
    timeout: Seconds = 30.0,
    allow_target: str | tuple[str, ...] = (),
    demo_target: bool = False,
    crash: bool = False,
    output: str | PathLike[str] | None = None,
    force: bool = False,
) -> RunResult:
    """Replay a log against a target.

    Prints nothing, and writes only to ``output``. Without it the rows lie in a temporary folder that goes with the
    result.

    Raises:
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
        Interrupted: Ctrl-C; ``result`` holds what was measured.
    """
    from logreplay.core.files import scratch_folder
    from logreplay.runs.single import RunCall, run_once

    try:
        load = Load(
            tps=tps,
            speed=speed_of(speed) if isinstance(speed, str) else speed,
            ramp=ramp_of(ramp) if ramp else None,
            steps=steps_of(steps) if steps else None,
            vusers=vusers,
            arrivals=arrivals,
            duration=None if duration is None else _seconds(duration),
            requests=requests,
            loop=loop,
        )
        named = None if log is None else log_named(str(log))
        sender_rules = SenderRules(
            timeout=_seconds(timeout),
            allow_target=(allow_target,) if isinstance(allow_target, str) else allow_target,
            asked=frozenset({"timeout"}),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    listener, files = Silent(), ExitStack()
    with files:
        path = Path(output) if output is not None else files.enter_context(scratch_folder()) / "results.csv"
        call = RunCall(
            log=named,
            choice=TargetChoice(target, demo_target),
            load=load,
            sender_rules=sender_rules,
            crash=crash,
            output=path,
            force=force,
        )
        result = run_once(call, listener)
        kept = files.pop_all()
    result = replace(result, notes=tuple(listener.notes), scratch=None if output is not None else kept)
    if output is None:
        weakref.finalize(result, kept.close)
    if result.outcome.stopped == "interrupted" and not hasattr(sys, "ps1"):
        interrupted = Interrupted()
        interrupted.result = result
        raise interrupted
    return result


def _seconds(value: Seconds) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return seconds_of(value) if isinstance(value, str) else value
