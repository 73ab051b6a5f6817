"""Shows the requests of a run and their times; sends nothing."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logreplay.calling.stopping import warn_of_never
from logreplay.calls.run_call import RunCall
from logreplay.core.errors import UsageError
from logreplay.core.masking import masked
from logreplay.inputs.streams import count_on, left_out
from logreplay.replay.requests.preview import Preview, preview
from logreplay.runs.repeated_urls import changed_routes
from logreplay.runs.single import plan_of, sources

if TYPE_CHECKING:
    from logreplay.calling.mailbox import CallListener

Routes = list[tuple[str, str, int]]
"""Method, route and number of requests."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would send.

    Attributes:
        call: the run that was planned.
        seen: head, rates and counts of the plan.
        head: due time, method and URL of the first requests, secrets masked.
        changes: requests that may change data on the target.
        logins: requests of logins; None: there are none.
        left_out: requests that would not be sent, by the reason.
        notes: the same in sentences.
    """

    call: RunCall
    seen: Preview
    head: list[tuple[float, str, str]]
    changes: Routes
    logins: Routes | None
    left_out: dict[str, int]
    notes: tuple[str, ...]


def dry_run(call: RunCall, listener: "CallListener") -> DryRun:
    """Plan a run.

    Raises:
        UsageError: parameters exclude each other.
        LogreplayError: the log cannot be read.
    """
    if call.load.loop and call.load.endless:
        raise UsageError("--dry-run and --loop need an end: add --for 1m or --requests 1000")
    call = call.checked()
    warn_of_never(call.stop_at, call.sender_rules, listener, users=call.load.vusers)
    with ExitStack() as stack:
        _, source = sources(call, stack, listener.note, dry=True)
        plan = plan_of(call, source, stack, listener.note, once=call.load.answers_decide)
        sessions = call.sender_rules.session_plan()
        logins = sessions.logins if sessions else None
        seen = preview(plan, clients=bool(logins))
        head = [(due, op, url if call.sender_rules.show_secrets else masked(url)) for due, op, url in seen.head]
        sent = changed_routes(logins.sent_by(seen.clients)) if logins else None
        count_on(plan.requests)
        told = left_out(plan.requests, in_time=call.load.in_time)
        return DryRun(call, seen, head, changed_routes(seen.changes), sent, dict(plan.requests.left_out), told)
