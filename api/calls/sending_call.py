"""The part of a call that `run`, `sweep`, `find` and `duet` have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logreplay.calling.audience import Telling
from logreplay.inputs.python_logs import made_here
from logreplay.inputs.targets import TargetChoice
from logreplay.options.conflicts import reconciled
from logreplay.options.keywords import taken
from logreplay.options.load import Load
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log, Tell
    from logreplay.replay.results.stop_rules import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingCall:
    """A call that sends requests of a log.

    Attributes:
        log: log to replay; None: the bundled log.
        of: the log that it was made of, in words; empty: ``log`` itself.
        request_rules, sender_rules, telling: requests to send, sender to use, and receivers of progress.
        stop_at: conditions that end the call.
        stop_asked: returns why a function of the caller wants the call to end; empty if none does. None: there is none.
        output: the result log, or the folder of the results; None: a name made of the time.
        force: replace an earlier result.
        written: further files that the caller writes, by option: they must not be among those that are read.
    """

    log: "Log | None"
    of: str = ""
    request_rules: RequestRules = field(default_factory=RequestRules)
    sender_rules: SenderRules = field(default_factory=SenderRules)
    telling: Telling = field(default_factory=Telling)
    stop_at: "Sequence[Condition]" = ()
    stop_asked: Callable[[], str] | None = None
    output: Path | None = None
    force: bool = False
    written: Mapping[str, Path | None] = field(default_factory=dict)

    def reconciled(
        self,
        load: Load | None = None,
        *,
        users: Mapping[str, int] | None = None,
        numbered: str = "",
        steered: bool = False,
    ) -> SenderRules:
        """The sender's rules, with one worker where other values of the call need that; as `reconciled` says."""
        return reconciled(
            self.sender_rules,
            self.request_rules,
            load,
            users=users or {},
            numbered=numbered,
            made_here=made_here(self.log),
            steered=steered,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOfOneTarget(SendingCall):
    """A call that sends to one target.

    Attributes:
        choice: the target.
        announce: is given the sentence that this is the demo.
    """

    choice: TargetChoice = field(default_factory=TargetChoice)
    announce: "Tell | None" = None


def frozen(values: dict[str, Any], asked: frozenset[str]) -> dict[str, Any]:
    """The fields of a call from its checked options, which are taken; ``asked``: the names of those that were given."""
    fields: dict[str, Any] = {
        "request_rules": taken(RequestRules, values),
        "sender_rules": taken(SenderRules, values, asked=asked),
        "telling": taken(Telling, values),
        "stop_at": values.pop("stop"),
        "written": {f"--{name}": values.pop(name) for name in ("junit", "history") if name in values},
    }
    fields |= {"load": taken(Load, values)} if "ramp" in values else {}
    return fields | values
