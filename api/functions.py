"""The functions of the library: parameters as people write them → one frozen value → one call.

The prototype has `run`, with the parameters of its load and a few others.
"""

import sys
from os import PathLike
from pathlib import Path

from logreplay.calling.events import Silent
from logreplay.core.errors import Interrupted, UsageError
from logreplay.core.quantities import Seconds, as_seconds
from logreplay.inputs.logs import log_named
from logreplay.inputs.targets import TargetChoice
from logreplay.options.load import Load, ramp_of, speed_of, steps_of
from logreplay.options.sender_rules import SenderRules
from logreplay.results import RunResult


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
    from logreplay.runs.single import RunCall, run_once
    from logreplay.scratch import Scratch

    try:
        load = Load(
            tps=tps,
            speed=speed_of(speed) if isinstance(speed, str) else speed,
            ramp=ramp_of(ramp) if ramp else None,
            steps=steps_of(steps) if steps else None,
            vusers=vusers,
            arrivals=arrivals,
            duration=None if duration is None else as_seconds(duration),
            requests=requests,
            loop=loop,
        )
        named = None if log is None else log_named(str(log))
        sender_rules = SenderRules(
            timeout=as_seconds(timeout),
            allow_target=(allow_target,) if isinstance(allow_target, str) else allow_target,
            asked=frozenset({"timeout"}),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    listener, scratch = Silent(), None if output is not None else Scratch()
    try:
        call = RunCall(
            log=named,
            choice=TargetChoice(target, demo_target),
            load=load,
            sender_rules=sender_rules,
            crash=crash,
            output=scratch.path / "results.csv" if scratch else Path(output or ""),
            force=force,
        )
        result = run_once(call, listener)
    except BaseException:
        if scratch:
            scratch.close()
        raise
    result.notes, result.scratch = tuple(listener.notes), scratch
    if result.outcome.stopped == "interrupted" and not hasattr(sys, "ps1"):
        interrupted = Interrupted()
        interrupted.result = result
        raise interrupted
    return result
