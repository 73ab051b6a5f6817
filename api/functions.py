"""The functions of the library: parameters as people write them → one frozen value → one call.

Those that send have the parameters of the table of options.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from logreplay.calling.busy import only_run, used_by_thread
from logreplay.calling.callbacks import Callbacks
from logreplay.calling.progress_line import at_prompt
from logreplay.core.errors import Interrupted, LogError, UsageError
from logreplay.core.quantities import Seconds
from logreplay.folder_results import DuetResult, FindResult, SweepResult
from logreplay.inputs.logs import named
from logreplay.inputs.targets import TargetChoice
from logreplay.options.keywords import read, value_of
from logreplay.options.kinds import RATES, TEXT
from logreplay.options.signatures import described, with_known_names
from logreplay.options.spelling import respelled
from logreplay.results import Result, RunResult, absolute

if TYPE_CHECKING:
    from logreplay.calls.sending_call import SendingCall
    from logreplay.inputs.logs import AnyLog, Log
    from logreplay.options.parameters import DuetOptions, FindOptions, RunOptions, SweepOptions
    from logreplay.replay.servers.target_process import Server
    from logreplay.scratch import Scratch

C = TypeVar("C", bound="SendingCall")
R = TypeVar("R", bound=Result)


class Ended(Protocol):
    """A result that says why it ended early."""

    stopped: str


E = TypeVar("E", bound=Ended)


@described
def run(log: "AnyLog | None", target: str | None = None, **options: Unpack["RunOptions"]) -> RunResult:
    """Replay a log against a target.

    Prints nothing, and writes only to ``output``. Without it the rows lie in a temporary folder that goes with the
    result. Functions of ``progress`` and ``stop`` are called in the calling thread with the state of the run; one of
    ``stop`` that returns a reason, or True, ends the run. An exception in one ends the run and is raised, and the rows
    stay in ``output``.

    Raises:
        BusyError: another run is under way in this process.
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
        Interrupted: Ctrl-C ended the run; ``result`` is the result until then. At a prompt it is returned.
    """
    from logreplay.calls.run_call import RunCall
    from logreplay.runs.single import run_once

    values, listener = read_call("run", options)
    call = RunCall(log=named(log), choice=choice_of(target, values), **values)
    return _judged("run", run_once, call, listener)


@described
def sweep(
    log: "AnyLog | None",
    target: str | None = None,
    rates: "float | str | Sequence[float] | None" = None,
    **options: Unpack["SweepOptions"],
) -> SweepResult:
    """Replay a log at each of some rates, and find the rate at which the target saturates.

    Prints nothing, and writes only to ``output``, a folder. Without it the rows lie in a temporary folder that goes
    with the result. Functions of ``progress`` and ``stop`` are called as by `run`. A sweep that was interrupted has the
    steps that were made; with ``output``, ``resume`` makes the others.

    Args:
        log: to replay; None: the bundled log.
        target: its base URL.
        rates: requests/s, such as ``"50..400"``, ``"50..400:25"`` or ``[50, 100, 200]``; None: see ``vusers``.

    Raises:
        BusyError: another run is under way in this process.
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
        Interrupted: Ctrl-C ended the sweep; ``result`` is the result until then. At a prompt it is returned.
    """
    from logreplay.calls.sweep_call import SweepCall
    from logreplay.runs.curve import sweep_once

    if isinstance(rates, str) and "://" in rates:
        raise UsageError(f"rates={rates!r}: is a URL; the log comes first, then the target, then the rates")
    values, listener = read_call("sweep", options)
    place = values["resume"] or values["output"]
    call = SweepCall(
        log=named(log),
        choice=choice_of(target, values),
        rates=None if rates is None else value_of("rates", RATES, rates),
        plots=values.pop("plots") and place is not None,
        **values,
    )
    return uninterrupted(_answered("sweep", sweep_once, call, listener, "sweep", place))


@described
def find(log: "AnyLog | None", target: str | None = None, **options: Unpack["FindOptions"]) -> FindResult:
    """Find the highest rate at which a target keeps bounds on its response time, such as ``p99="300ms"``.

    All of the bounds must hold. Prints nothing, and writes only to ``output``, a folder. Without it the rows lie in a
    temporary folder that goes with the result. Functions of ``progress`` and ``stop`` are called as by `run`.

    Args:
        log: to replay; None: the bundled log.
        target: its base URL.

    Raises:
        BusyError: another run is under way in this process.
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
        Interrupted: Ctrl-C ended the search; ``result`` is the result until then. At a prompt it is returned.
    """
    from logreplay.calls.find_call import FindCall, seed_of, taken_bounds
    from logreplay.runs.rate_search import find_once

    options["seed"] = seed_of(options.get("seed"))
    values, listener = read_call("find", options)
    call = FindCall(
        log=named(log),
        choice=choice_of(target, values),
        bounds=taken_bounds(values),
        plots=values.pop("plots") and values["output"] is not None,
        **values,
    )
    return _judged("find", find_once, call, listener, "find")


@described
def duet(log: "AnyLog", baseline: str, candidate: str, **options: Unpack["DuetOptions"]) -> DuetResult:
    """Replay a log against two targets at once, and compare their times and answers.

    Each request goes to both at the same instant, in random order: what disturbs one disturbs the other, so a duet
    detects far smaller changes than two runs one after the other. ``swap`` names the baseline on the candidate's
    machine and the candidate on the baseline's: both pairs take turns. Prints nothing, and writes only to ``output``, a
    folder. Functions of ``progress`` and ``stop`` are called as by `run`. ``checks`` of the result say whether the duet
    is valid, and whether the candidate keeps ``fail_above`` and ``fail_different``.

    Raises:
        BusyError: another run is under way in this process.
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, a target not be loaded, or the results not be written.
        Interrupted: Ctrl-C ended the duet; ``result`` is the result until then. At a prompt it is returned.
    """
    from logreplay.calls.duet_call import DuetCall
    from logreplay.options.spelling import texts_spelled
    from logreplay.runs.pair import duet_once

    values, listener = read_call("duet", options)
    if (source := named(log)) is None:
        raise UsageError("log: name a log to send to both targets")
    call = DuetCall(
        log=source,
        baseline=value_of("baseline", TEXT, baseline),
        candidate=value_of("candidate", TEXT, candidate),
        **values,
    )
    result = _judged("duet", duet_once, call, listener, "duet")
    result.comparison = texts_spelled(result.comparison, "duet")
    return result


@with_known_names
@respelled("serve")
def serve(
    log: "AnyLog | None" = None,
    *,
    port: int = 0,
    workers: int = 4,
    service_time: Seconds = 0.016,
    exponential: bool = False,
) -> "Server":
    """Start a target that responds to each URL as in ``log``, and carries workers / service_time requests/s.

    Several answers to a URL come in turn, so one that had other requests before answers otherwise than a fresh one.
    It listens on 127.0.0.1, in a process of its own: ``with logreplay.serve("access.log") as server`` ends it with the
    block; `close` does it, too, and so does the end of this process. Prints nothing.

    Args:
        log: a file, such as an access log, a normalized CSV or a list of URLs; a table; or a list of
            `logreplay.Request`; None: the bundled log.
        port: to listen on; 0: a free one.
        workers: requests served at once.
        service_time: to serve one request.
        exponential: draw service times from an exponential distribution of that mean.

    Raises:
        UsageError: the port is not from 0 to 65535, or workers or service time are not above 0.
        LogreplayError: the log cannot be read, or the port is taken.
    """
    given = {"port": port, "workers": workers, "service_time": service_time, "exponential": exponential}
    return serve_once(named(log), **read("serve", given))


def serve_once(log: "Log | None", *, port: int, workers: int, service_time: float, exponential: bool) -> "Server":
    """`serve` for callers whose errors name options."""
    from logreplay.inputs.logs import normalized
    from logreplay.inputs.python_logs import TableLog
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import Server

    notes: list[str] = []
    if isinstance(log, TableLog) and not log.table.height:
        raise LogError(f"log: a {log} has no URL to answer; name a file, or give requests")
    with normalized(log, notes.append) as path:
        return Server(path, ServerCapacity(workers, service_time, exponential), port, tuple(notes))


def read_call(
    function: str, options: Mapping[str, object], apart: Sequence[str] = ()
) -> tuple[dict[str, Any], Callbacks]:
    """The fields of a call that sends, and its listener; ``apart``: keywords of which no frozen value is made.

    Raises:
        UsageError: a parameter is wrong.
    """
    from logreplay.calls.sending_call import frozen

    values = read(function, options)
    kept = {name: values.pop(name) for name in apart}
    stops, progress = values.pop("stop"), values.pop("progress")
    functions = [each for each in stops if callable(each)]
    listener = Callbacks(progress, functions)
    values |= {"stop": [each for each in stops if not callable(each)]}
    asked = listener.asked if functions else None
    return frozen(values, frozenset(options)) | {"stop_asked": asked} | kept, listener


def choice_of(target: str | None, values: dict[str, Any]) -> TargetChoice:
    """The target of a call; its option is taken out of the values."""
    return TargetChoice(None if target is None else value_of("target", TEXT, target), values.pop("demo_target"))


def _judged(
    function: str, make: Callable[[C, Callbacks], R], call: C, listener: Callbacks, name: str = "results.csv"
) -> R:
    """Make a call, write its checks to ``junit``, and add a row of its summary to ``history``.

    Raises:
        Interrupted: Ctrl-C ended it, and no person waits for the result at a prompt.
    """
    from logreplay.options.spelling import spelled
    from logreplay.runs.reports import remember, reported

    history = call.written.get("--history")
    with reported(function, call.written["--junit"], history) as report:
        result = report(_answered(function, make, call, listener, name, call.output))
    if note := remember(function, result.summary, history):
        result.notes = (*result.notes, spelled(note, function))
    return uninterrupted(result)


def _answered(
    function: str, make: Callable[[C, Callbacks], R], call: C, listener: Callbacks, name: str, place: Path | None
) -> R:
    """Make a call; its result holds the texts of the listener, with options spelled as parameters.

    ``place`` is that of the results; without one they have this name in a temporary folder, which goes with the result.

    Raises:
        BusyError: another run is under way in this process.
        Interrupted: Ctrl-C before there was a result, or after its last request.
    """
    from logreplay.options.spelling import spelled, texts_spelled
    from logreplay.runs.evaluation import heard

    with placed(function, place) as scratch:
        late = None
        if scratch:
            call = replace(call, output=scratch.path / name)
        try:
            result = make(call, listener)
        except Interrupted as error:
            if error.result is None:
                raise
            late, result = error, error.result
    result.notes = texts_spelled(tuple(listener.notes), function)
    result.scratch, result.files = scratch, absolute(result.files)
    result.stopped, result.function = spelled(result.stopped, function), function
    result.left_out = texts_spelled(result.left_out, function)
    result.checks = texts_spelled(tuple(heard(check, listener.asked.why) for check in result.checks), function)
    result.findings = texts_spelled(result.findings, function)
    if late:
        raise late
    return result


@contextmanager
def placed(function: str, place: Path | None) -> "Iterator[Scratch | None]":
    """The time of a call, alone in this process; without a place for its results in a temporary folder.

    The folder goes with the result that the block makes, or with the block if that fails.

    Raises:
        BusyError: another run is under way in this process.
        Interrupted: by Ctrl-C.
    """
    from logreplay.scratch import Scratch

    with only_run(function), used_by_thread() as stack:
        scratch = Scratch() if place is None else None
        if scratch:
            stack.callback(scratch.close)
        try:
            yield scratch
        except Interrupted:
            raise
        except KeyboardInterrupt:
            raise Interrupted from None
        stack.pop_all()


def uninterrupted(result: E) -> E:
    """The result of a call that Ctrl-C did not end.

    Raises:
        Interrupted: Ctrl-C ended it, and no person waits for the result at a prompt.
    """
    if result.stopped.startswith("interrupted") and not at_prompt():
        interrupted = Interrupted()
        interrupted.result = result
        raise interrupted
    return result
