"""The target of a call: the one that is named, that of the log, or the built-in one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logreplay.core.errors import UsageError
from logreplay.inputs.logs import Tell, as_file_of

if TYPE_CHECKING:
    from logreplay.inputs.logs import Replayable


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """The target, as the caller wants it.

    Attributes:
        named: its base URL; None: not named.
        demo: start the built-in one.
        asked: the caller named the target, and no settings.
        interactive: somebody sits at a terminal, so a call without a target means the built-in one.
    """

    named: str | None = None
    demo: bool = False
    asked: bool = True
    interactive: bool = False


def expect_target(choice: TargetChoice) -> None:
    """Check that a call with a log has a target, or may send to the built-in one."""
    if not (choice.named or choice.demo or choice.interactive):
        raise UsageError("no TARGET is given; name it, or add --demo-target to send to a built-in server")


@contextmanager
def target_or_builtin(
    choice: TargetChoice, log: "Replayable", tell: Tell, *, given: bool, announce: Tell | None = None
) -> Iterator[str]:
    """The base URL of the target; or of the built-in one, which runs until the block ends.

    Without LOG and TARGET a command is the demo, and says so on stdout. With LOG alone it uses the built-in target
    where somebody sits at a terminal; a script without a target has probably forgotten it.
    """
    from logreplay.inputs.python_logs import RequestsFrom
    from logreplay.replay.requests.siege_list import UrlList
    from logreplay.replay.requests.sources import Stored

    target = choice.named
    if choice.demo:
        if target is not None and choice.asked:
            raise UsageError(f"--demo-target and TARGET exclude each other: leave out {target}")
        if isinstance(log, UrlList) and log.target:
            raise UsageError(f"--demo-target: {log} names its own target, {log.target}; leave out --demo-target")
        target = None
    if isinstance(log, UrlList) and log.target:
        if target is not None and choice.asked:
            raise UsageError(f"{log} names its own target, {log.target}: leave out {target}")
        yield log.target
        return
    if target is not None:
        yield target
        return
    if isinstance(log, Stored | RequestsFrom):
        raise UsageError(f"{log}: the built-in target answers from files, tables and lists only; give a TARGET")
    if isinstance(log, UrlList) and (origins := log.origins()):
        named = ", ".join(origins[:3]) + (", ..." if len(origins) > 3 else "")
        raise UsageError(f"{log} names {named}, and no TARGET is given; name it: {log} {origins[0]}")
    if given:
        expect_target(choice)
    else:
        words = "demo: no LOG is given; this replays the bundled sample log"
        words += "" if choice.demo else " against a built-in server, since no TARGET is given"
        (announce or tell)(words)
    from logreplay.replay.servers.known_capacity import ServerCapacity
    from logreplay.replay.servers.target_process import Server

    with as_file_of(log) as path, Server(path, ServerCapacity()) as server:
        tell(f"started the built-in target at {server.url}: {server.capacity}")
        yield server.url
