"""The functions of the library: parameters as people write them → one frozen value → one call.

`run` has the parameters of its load and a few others; some commands have no function yet.
"""

import sys
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from logreplay.calling.busy import only_run, used_by_thread
from logreplay.calling.callbacks import Callbacks
from logreplay.core.errors import Interrupted, UsageError
from logreplay.core.quantities import Seconds, as_seconds
from logreplay.inputs.logs import log_named
from logreplay.inputs.targets import TargetChoice
from logreplay.options.load import Load, ramp_of, speed_of, steps_of
from logreplay.options.sender_rules import SenderRules
from logreplay.results import Result, RunResult

if TYPE_CHECKING:
    from logreplay.calling.callbacks import StopFunction
    from logreplay.replay.monitor.snapshot import Snapshot
    from logreplay.replay.servers.target_process import Server

    Stop = str | StopFunction

_LAST_PORT: Final = 65_535
R = TypeVar("R", bound=Result)


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
    workers: int | None = None,
    stop: "Stop | Sequence[Stop]" = (),
    progress: "Callable[[Snapshot], object] | None" = None,
    crash: bool = False,
    output: str | PathLike[str] | None = None,
    force: bool = False,
) -> RunResult:
    """Replay a log against a target.

    Prints nothing, and writes only to ``output``. Without it the rows lie in a temporary folder that goes with the
    result.

    Args:
        stop: conditions that end the run, such as ``"errors>5%/10s"``, or functions of the state of the run: one that
            returns a reason, or True, ends it.
        progress: is given the state of the run about once a second. Like a function of ``stop``, it is called in the
            calling thread; an exception in it ends the run and is raised, and the rows stay in ``output``.

    Raises:
        BusyError: another run is under way in this process.
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
        Interrupted: Ctrl-C ended the run; ``result`` is the result until then.
    """
    from logreplay.replay.results.stop_rules import parse
    from logreplay.runs.single import RunCall, run_once

    asked = (stop,) if isinstance(stop, str) or callable(stop) else tuple(stop)
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
            workers=workers,
            asked=frozenset({"timeout"}),
        )
        conditions = [parse(each) for each in asked if isinstance(each, str)]
    except ValueError as error:
        raise UsageError(str(error)) from None
    functions = [each for each in asked if not isinstance(each, str)]
    listener = Callbacks(progress, functions)

    def once(place: Path) -> RunResult:
        call = RunCall(
            log=named,
            choice=TargetChoice(target, demo_target),
            load=load,
            sender_rules=sender_rules,
            stop_at=conditions,
            stop_asked=(lambda: listener.asked) if functions else None,
            crash=crash,
            output=place,
            force=force,
        )
        return run_once(call, listener)

    return _answered("run", once, listener, output)


def serve(
    log: str | PathLike[str] | None = None,
    *,
    port: int = 0,
    workers: int = 4,
    service_time: Seconds = 0.016,
    exponential: bool = False,
) -> "Server":
    """Start a target that responds to each URL as in ``log``, and carries workers / service_time requests/s.

    It listens on 127.0.0.1, in a process of its own: ``with logreplay.serve("access.log") as server`` ends it with the
    block; `close` does it, too, and so does the end of this process. Prints nothing.

    Args:
        log: an access log, a normalized CSV or a list of URLs; None: the bundled log.
        port: to listen on; 0: a free one.
        workers: requests served at once.
        service_time: to serve one request.
        exponential: draw service times from an exponential distribution of that mean.

    Raises:
        UsageError: there is no such port, no worker, or no service time.
        LogreplayError: the log cannot be read, or the port is taken.
    """
    from logreplay.inputs.logs import normalized
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import Server

    try:
        capacity = ServerCapacity(workers, as_seconds(service_time), exponential)
        named = None if log is None else log_named(str(log))
        if not 0 <= port <= _LAST_PORT:
            raise ValueError(f"--port {port}: expected a port, 0 to {_LAST_PORT}")
    except ValueError as error:
        raise UsageError(str(error)) from None
    notes: list[str] = []
    with normalized(named, notes.append) as path:
        return Server(path, capacity, port, tuple(notes))


def _answered(function: str, once: Callable[[Path], R], listener: Callbacks, output: str | PathLike[str] | None) -> R:
    """Make a call whose result log gets a place, or a temporary folder that goes with the result.

    Args:
        function: the name of the function.
        once: is given the place of the result log.
        listener: keeps the notes.
        output: the place; None: a temporary folder.

    Raises:
        BusyError: another run is under way in this process.
        Interrupted: Ctrl-C, where no person waits for the result at a prompt.
    """
    from logreplay.scratch import Scratch

    with only_run(function), used_by_thread() as stack:
        scratch = Scratch() if output is None else None
        if scratch:
            stack.callback(scratch.close)
        result = once(scratch.path / "results.csv" if scratch else Path(output or ""))
        stack.pop_all()  # the folder goes with the result
    result.notes, result.scratch = tuple(listener.notes), scratch
    if result.stopped.startswith("interrupted") and not hasattr(sys, "ps1"):
        interrupted = Interrupted()
        interrupted.result = result
        raise interrupted
    return result
