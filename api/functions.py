"""The functions of the library: parameters as people write them → one frozen value → one call.

Those that send have the parameters of the table of options.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, Unpack

from logreplay.calling.audience import Telling
from logreplay.calling.busy import only_run, used_by_thread
from logreplay.calling.callbacks import Callbacks
from logreplay.calling.prompt import at_prompt
from logreplay.core.errors import Interrupted, UsageError
from logreplay.core.quantities import Seconds
from logreplay.duet_result import DuetResult
from logreplay.folder_results import FindResult, FolderResult, SweepResult
from logreplay.inputs.logs import named
from logreplay.inputs.targets import TargetChoice
from logreplay.options.keywords import read, taken, value_of
from logreplay.options.kinds import DURATION, RATES, SWITCH, TEXT, whole
from logreplay.options.load import Load
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules
from logreplay.options.signatures import described, with_known_names
from logreplay.options.spelling import respelled
from logreplay.results import Result, RunResult, absolute

if TYPE_CHECKING:
    from logreplay.inputs.logs import AnyLog
    from logreplay.options.parameters import DuetOptions, FindOptions, RunOptions, SweepOptions
    from logreplay.replay.servers.target_process import Server

_LAST_PORT: Final = 65_535
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

    values, listener, output = read_call("run", options)
    junit, history = values.pop("junit"), values.pop("history")
    call = RunCall(
        log=named(log),
        choice=TargetChoice(_target(target), values.pop("demo_target")),
        load=taken(Load, values),
        written={"--junit": junit, "--history": history},
        **values,
    )
    return _judged(
        "run", lambda place: run_once(replace(call, output=place), listener), listener, output,
        junit=junit, history=history,
    )  # fmt: skip


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
    values, listener, output = read_call("sweep", options)
    place = values["resume"] or output
    call = SweepCall(
        log=named(log),
        choice=TargetChoice(_target(target), values.pop("demo_target")),
        rates=None if rates is None else value_of("rates", RATES, rates),
        plots=values.pop("plots") and place is not None,
        **values,
    )

    def once(free: Path) -> SweepResult:
        return sweep_once(replace(call, output=output if call.resume else free), listener)

    return uninterrupted(_answered("sweep", once, listener, place, "sweep"))


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
    values, listener, output = read_call("find", options)
    junit = values.pop("junit")
    call = FindCall(
        log=named(log),
        choice=TargetChoice(_target(target), values.pop("demo_target")),
        bounds=taken_bounds(values),
        plots=values.pop("plots") and output is not None,
        written={"--junit": junit},
        **values,
    )
    return _judged(
        "find", lambda place: find_once(replace(call, output=place), listener), listener, output, "find", junit=junit
    )


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
    from logreplay.options.answer_rules import AnswerRules
    from logreplay.runs.pair import duet_once

    values, listener, output = read_call("duet", options)
    junit, history = values.pop("junit"), values.pop("history")
    if (source := named(log)) is None:
        raise UsageError("log: name a log to send to both targets")
    call = DuetCall(
        log=source,
        baseline=value_of("baseline", TEXT, baseline),
        candidate=value_of("candidate", TEXT, candidate),
        load=taken(Load, values),
        answer_rules=taken(AnswerRules, values),
        written={"--junit": junit, "--history": history},
        **values,
    )
    return _judged(
        "duet", lambda place: duet_once(replace(call, output=place), listener), listener, output, "duet",
        junit=junit, history=history,
    )  # fmt: skip


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
    from logreplay.inputs.logs import normalized
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import Server

    capacity = ServerCapacity(
        value_of("workers", whole(1), workers),
        value_of("service_time", DURATION, service_time),
        value_of("exponential", SWITCH, exponential),
    )
    port = value_of("port", whole(0, _LAST_PORT), port)
    notes: list[str] = []
    with normalized(named(log), notes.append) as path:
        return Server(path, capacity, port, tuple(notes))


def _target(target: str | None) -> str | None:
    return None if target is None else value_of("target", TEXT, target)


def read_call(
    function: str, options: Mapping[str, object], apart: Sequence[str] = ()
) -> tuple[dict[str, Any], Callbacks, Path | None]:
    """The values of a call that sends, its listener, and its output.

    Args:
        function: its name.
        options: its keywords.
        apart: parameters that neither select requests nor configure the sender.

    Raises:
        UsageError: a parameter is wrong.
    """
    values = read(function, options)
    kept = {name: values.pop(name) for name in apart}
    stops, progress, output = values.pop("stop"), values.pop("progress"), values.pop("output")
    functions = [each for each in stops if callable(each)]
    listener = Callbacks(progress, functions)
    values |= {
        "request_rules": taken(RequestRules, values),
        "sender_rules": taken(SenderRules, values, asked=frozenset(options)),
        "telling": taken(Telling, values),
        "stop_at": [each for each in stops if not callable(each)],
        "stop_asked": listener.asked if functions else None,
    }
    return values | kept, listener, output


def _judged(
    function: str,
    once: Callable[[Path], R],
    listener: Callbacks,
    output: Path | None,
    name: str = "results.csv",
    *,
    junit: Path | None,
    history: Path | None = None,
) -> R:
    """Make a call, write its checks to ``junit``, and add a row of its summary to ``history``.

    Args:
        function, once, listener, output, name: see `_answered`.
        junit, history: the files; None: not written.

    Raises:
        Interrupted: Ctrl-C ended it, and no person waits for the result at a prompt.
    """
    from logreplay.runs.reports import remember, reported

    with reported(function, junit, history) as report:
        result = report(_answered(function, once, listener, output, name))
    if note := remember(function, result.summary, history):
        result.notes = (*result.notes, note)
    return uninterrupted(result)


def _answered(
    function: str, once: Callable[[Path], R], listener: Callbacks, output: Path | None, name: str = "results.csv"
) -> R:
    """Make a call whose results get a place, or a temporary folder that goes with the result.

    Args:
        function: the name of the function.
        once: is given the place of the results.
        listener: keeps the notes.
        output: the place; None: a temporary folder.
        name: name of the results inside the folder.

    Raises:
        BusyError: another run is under way in this process.
        Interrupted: Ctrl-C before there was a result, or after its last request.
    """
    from logreplay.options.spelling import all_spelled, checks_spelled, spelled
    from logreplay.runs.evaluation import heard
    from logreplay.scratch import Scratch

    with only_run(function), used_by_thread() as stack:
        scratch = Scratch() if output is None else None
        if scratch:
            stack.callback(scratch.close)
        late = None
        try:
            result = once(scratch.path / name if scratch else output or Path())
        except Interrupted as error:
            if error.result is None:
                raise
            late, result = error, error.result
        except KeyboardInterrupt:
            raise Interrupted from None
        stack.pop_all()  # the folder goes with the result
    result.notes = tuple(spelled(note, function) for note in listener.notes)
    result.scratch, result.files = scratch, absolute(result.files)
    result.stopped, result.function = spelled(result.stopped, function), function
    if isinstance(result, RunResult | FolderResult):
        result.left_out = tuple(spelled(text, function) for text in result.left_out)
    result.checks = checks_spelled((heard(check, listener.asked.why) for check in result.checks), function)
    result.findings = all_spelled(result.findings, function)
    if late:
        raise late
    return result


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
