"""Refuses values that contradict each other; options that do are in the table of `logreplay.options.clashes`."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import UsageError
from logreplay.options.request_rules import WRITE_HEADERS, RequestRules, written_by
from logreplay.options.sender_rules import SenderRules
from logreplay.replay.workers.cluster_address import local_workers

if TYPE_CHECKING:
    from logreplay.options.load import Load

_PER_CORE: Final = 4
"""Workers for each core of this machine, at most."""
_FEWEST_ALLOWED: Final = 32
_NONE: Final[Mapping[str, int]] = {}
_ALONE: Final = {"--cluster": "leave out --cluster", "--workers": "use --workers 1"}
"""Advice on sending from one process, by the option that needs several."""


def reconciled(
    sender_rules: SenderRules,
    request_rules: RequestRules,
    load: "Load | None" = None,
    *,
    users: Mapping[str, int] = _NONE,
    numbered: str = "",
    made_here: str = "",
    steered: bool = False,
) -> SenderRules:
    """Refuse options that contradict each other; let one process send where several cannot.

    Args:
        sender_rules: settings of the sender.
        request_rules: filters and changes of the requests.
        load: schedule of the requests, for commands with `--follow`.
        users: the fewest users of a closed loop, by the option that says so; empty: requests are sent at a rate.
        made_here: the log, if a program makes its requests in this process; empty for any other.
        steered: the load may be changed while it is sent (--control).
        numbered: the command or option that tells requests of a plan by their numbers (seq); empty if none does.
    """
    local = local_workers(sender_rules.cluster)  # a malformed address is refused before any conflict
    several = "--cluster" if sender_rules.cluster else "--workers" if (sender_rules.workers or 1) > 1 else ""
    follows, ordered = load is not None and load.follow, bool(numbered and sender_rules.by_client)
    here = "--hook" if request_rules.hook else made_here
    signed = request_rules.auth if request_rules.auth and request_rules.auth.expires else None

    def conflicts() -> Iterator[str]:
        for what in ("--follow" if follows else "", here):
            if what and several:
                once = "one process must see every request once"
                yield f"{what} and {several} exclude each other: {once}; {_ALONE[several]}"
        if ordered and several:  # workers that share clients number requests each for itself, and leave gaps
            yield (
                f"{numbered} --by-client and {several} exclude each other: several workers with clients of their own "
                f"do not number requests in the order of the plan; {_ALONE[several]}, or leave out --by-client"
            )
        yield from _headers(request_rules, traced=sender_rules.trace is not None)
        yield from _sessions(sender_rules, request_rules)
        yield from _sharing(sender_rules, local, users)
        if users and signed:
            yield (
                f"--auth {signed} and --vusers exclude each other: a request is signed just before it is due, "
                "and when a user sends is not known before; give a rate"
            )
        if steered and several:
            yield f"--control and {several} exclude each other: one process changes its rate; {_ALONE[several]}"
        if steered and signed:
            yield (
                f"--auth {signed} and --control exclude each other: a request is signed just before it is due, "
                "and a pause would send it later; leave out one of them"
            )

    for conflict in conflicts():
        raise UsageError(conflict)
    if sender_rules.login:
        from logreplay.replay.requests.headers import FixedHeader

        fixed = tuple((each.name, each.value) for each in request_rules.changes() if isinstance(each, FixedHeader))
        login = replace(sender_rules.login, key=request_rules.client_key, headers=fixed)
        sender_rules = replace(sender_rules, login=login)
    if "seed" in sender_rules.asked:
        sender_rules = replace(sender_rules, trace_seed=request_rules.seed)
    alone = steered or here or follows or ordered
    return replace(sender_rules, workers=1) if alone else sender_rules


def _sharing(sender_rules: SenderRules, local: int | None, users: Mapping[str, int]) -> Iterator[str]:
    """The limit that is lower than the number of workers; those of a scheduler are counted when it is reached."""
    count = sender_rules.workers or local
    if count is None:
        return
    option = f"--workers {count}" if sender_rules.workers else f"--cluster {sender_rules.cluster}"
    here = local or not sender_rules.cluster
    if here and count > (most := max(_FEWEST_ALLOWED, _PER_CORE * (os.cpu_count() or 1))):
        yield f"{option}: each worker is a process that keeps a core busy; use at most {most} on this machine"
    limits = {"--max-in-flight": sender_rules.max_in_flight, "--connections": sender_rules.connections, **users}
    for name, total in limits.items():
        if total is not None and total < count:
            yield f"{name} {total} and {option} exclude each other: each worker needs 1 at least; use fewer workers"


def _headers(request_rules: RequestRules, *, traced: bool) -> Iterator[str]:
    """Headers that are given twice, though a request may have each only once."""
    from logreplay.replay.requests.header_columns import SINGLE
    from logreplay.replay.requests.headers import HeaderFromLog

    values = {name: getattr(request_rules, name) for name in WRITE_HEADERS if name != "trace"}
    values["trace"] = traced or None
    said = {
        header: f"--auth {value}" if name == "auth" else f"--{name}"
        for name, value in values.items()
        for header in written_by(name, value)
    }
    once = SINGLE | {header.name.lower() for header in request_rules.header if isinstance(header, HeaderFromLog)}
    for header in request_rules.header:
        name, option = header.name.lower(), f"--header '{header.name}: ...'"
        if name in said:
            yield f"{said[name]} and {option} exclude each other: a request has one {header.name}; leave one out"
        if name in once:
            said[name] = option


def _sessions(sender_rules: SenderRules, request_rules: RequestRules) -> Iterator[str]:
    """Values that clients take from responses, and put into requests."""
    extracted, used = ({rule.name for rule in rules} for rules in (sender_rules.extract, sender_rules.use))
    for name in sorted(used - extracted):
        yield f"--use {name} needs --extract {name}=...: nothing else has a value of this name"
    for name in sorted(extracted - used):
        yield f"--extract {name} needs --use {name}=...: nothing else takes a value of this name"
    fixed = {header.name.lower() for header in request_rules.header}
    for rule in sender_rules.use:
        if rule.kind == "header" and rule.where.lower() in fixed:
            yield (
                f"--use {rule.name}=header:{rule.where} and --header '{rule.where}: ...' exclude each other: "
                "a request has one of them; leave one out"
            )
        if request_rules.auth and (
            request_rules.auth.expires or (rule.kind, rule.where.lower()) == ("header", "authorization")
        ):
            yield (
                f"--auth {request_rules.auth} and --use {rule.name}={rule.kind}:{rule.where} exclude each other: the "
                "value comes after the credentials, and would replace or spoil them"
            )
