"""Refuses options of different groups that contradict each other."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import UsageError
from logreplay.options.sending import Sending, local_workers, session_option
from logreplay.options.shaping import Shaping

if TYPE_CHECKING:
    from logreplay.options.pacing import Pacing

_NONE: Final[Mapping[str, int]] = {}
_ALONE: Final = {"--cluster": "leave out --cluster", "--workers": "use --workers 1"}
"""How to send from one process, by the option that asks for several."""


def reconciled(
    sending: Sending,
    shaping: Shaping,
    pacing: "Pacing | None" = None,
    *,
    users: Mapping[str, int] = _NONE,
    numbered: str = "",
) -> Sending:
    """Refuse options that contradict each other; let one process send where several cannot.

    Args:
        sending: how to send.
        shaping: what to send.
        pacing: when to send, for commands with `--follow`.
        users: the fewest users of a closed loop, by the option that says so; empty: requests are sent at a rate.
        numbered: the command or option that tells requests of a plan by their numbers (seq); empty if none does.

    Returns:
        ``sending``, with one worker where the other options need that.

    Raises:
        UsageError: names both options.
    """
    conflicts = (
        *_following(sending, shaping, pacing),
        *_hooked(sending, shaping),
        *_numbered(sending, numbered),
        *_headers(shaping),
        *_sessions(sending, shaping),
        *_trust(sending),
        *_versions(sending),
        *_sharing(sending, users),
        *_closed(sending, shaping, users),
    )
    for conflict in conflicts:
        raise UsageError(conflict)
    alone = shaping.hook or (pacing and pacing.follow) or (numbered and sending.by_client)
    if sending.login:
        from logreplay.replay.requests.headers import FixedHeader

        fixed = tuple((each.name, each.value) for each in shaping.changes() if isinstance(each, FixedHeader))
        sending = replace(sending, login=replace(sending.login, key=shaping.client_key, headers=fixed))
    return replace(sending, workers=1) if alone else sending


def _several(sending: Sending) -> str:
    """The option that asks for several workers; empty if there is none."""
    if sending.cluster:
        return "--cluster"
    return "--workers" if (sending.workers or 1) > 1 else ""


def _hooked(sending: Sending, shaping: Shaping) -> Iterator[str]:
    if shaping.hook and (several := _several(sending)):
        yield f"--hook and {several} exclude each other: one process must see every request once; {_ALONE[several]}"


def _numbered(sending: Sending, numbered: str) -> Iterator[str]:
    """Workers that share clients number requests in the order of the plan each for itself, and leave gaps."""
    if numbered and sending.by_client and (several := _several(sending)):
        yield (
            f"{numbered} --by-client and {several} exclude each other: several workers with clients of their own do "
            f"not number requests in the order of the plan; {_ALONE[several]}, or leave out --by-client"
        )


def _sharing(sending: Sending, users: Mapping[str, int]) -> Iterator[str]:
    """The limit that is lower than the number of workers; those of a scheduler are counted when it is reached."""
    count = sending.workers or local_workers(sending.cluster)
    if count is None:
        return
    option = f"--workers {count}" if sending.workers else f"--cluster {sending.cluster}"
    limits = {"--max-in-flight": sending.max_in_flight, "--connections": sending.connections, **users}
    for name, total in limits.items():
        if total is not None and total < count:
            yield f"{name} {total} and {option} exclude each other: each worker needs 1 at least; use fewer workers"


def _closed(sending: Sending, shaping: Shaping, users: Mapping[str, int]) -> Iterator[str]:
    """What means nothing in a closed loop."""
    if users and shaping.auth and shaping.auth.expires:
        yield (
            f"--auth {shaping.auth} and --vusers exclude each other: a request is signed just before it is due, "
            "and when a user sends is not known before; give a rate"
        )
    if users and sending.max_in_flight is not None:
        yield "--max-in-flight and --vusers exclude each other: each user has one request in flight; give fewer users"
    if users and sending.late is not None:
        yield "--late and --vusers exclude each other: a user's request is due when it is sent, so none is late"


def _trust(sending: Sending) -> Iterator[str]:
    if sending.insecure and sending.cacert:
        yield (
            f"--insecure and --cacert {sending.cacert} exclude each other: --insecure accepts any certificate, so the "
            "file would not be used; leave one out"
        )


def _versions(sending: Sending) -> Iterator[str]:
    """Options of one sender, or of one version of HTTP."""
    if sending.by_client and sending.sender != "wire":
        yield f"--by-client needs --sender wire: --sender {sending.sender} cannot give each client its own connection"
    if sending.sender == "h2" and sending.http != "2":
        yield f"--sender h2 needs --http 2: it does not speak HTTP/1.1 (--http {sending.http})"
    if sending.http != "1.1" and sending.sender == "aiohttp":
        able = "wire or h2" if sending.http == "2" else "wire"
        yield f"--http {sending.http} needs --sender {able}: --sender aiohttp speaks HTTP/1.1 only"
    for option, given in (("--connections", sending.connections), ("--streams", sending.streams)):
        if given and sending.http == "1.1":
            yield (
                f"{option} needs --http 2 or log: HTTP/1.1 carries one request on a connection; --max-in-flight limits "
                "both"
            )
    if sending.connections and sending.by_client:
        yield "--connections and --by-client exclude each other: with --by-client each client has one connection"
    if sending.by_client and not sending.keep_alive:
        yield (
            "--by-client and --no-keep-alive exclude each other: with --by-client each client keeps one connection; "
            "leave out one of them"
        )
    if sending.streams and not sending.keep_alive:
        yield "--streams and --no-keep-alive exclude each other: without keep-alive a connection carries one request"


def _headers(shaping: Shaping) -> Iterator[str]:
    """Of headers that may stand once only, those that are given twice."""
    from logreplay.replay.requests.header_columns import HEADER

    options = {"host": shaping.host, "user-agent": shaping.agent, "referer": shaping.referer}
    said = {header: f"--{header.rpartition('-')[2]}" for header, value in options.items() if value is not None}
    said |= dict.fromkeys(shaping.auth.written if shaping.auth else (), f"--auth {shaping.auth}")
    for header in shaping.header:
        name, option = header.name.lower(), f"--header '{header.name}: ...'"
        if name in said:
            yield f"{said[name]} and {option} exclude each other: a request has one {header.name}; leave one out"
        if name in HEADER.single:
            said[name] = option


def _sessions(sending: Sending, shaping: Shaping) -> Iterator[str]:
    """What clients keep between requests, and what that needs or excludes."""
    option = session_option(sending)
    for name in filter(None, (option, shaping.client_key and "--client-key")):
        if sending.sender != "wire":
            yield f"{name} and --sender {sending.sender} exclude each other: only --sender wire keeps clients apart"
        if not sending.by_client:
            yield f"{name} needs --by-client: without it, requests belong to no client"
    if option and sending.http == "log":
        yield f"{option} and --http log exclude each other: the session of a client belongs to one connection"
    if option and sending.streams:
        yield f"{option} and --streams exclude each other: a client with a session has one request at a time"
    extracted, used = ({rule.name for rule in rules} for rules in (sending.extract, sending.use))
    for name in sorted(used - extracted):
        yield f"--use {name} needs --extract {name}=...: nothing else has a value of this name"
    for name in sorted(extracted - used):
        yield f"--extract {name} needs --use {name}=...: nothing else takes a value of this name"
    fixed = {header.name.lower() for header in shaping.header}
    for rule in sending.use:
        if rule.kind == "header" and rule.where.lower() in fixed:
            yield (
                f"--use {rule.name}=header:{rule.where} and --header '{rule.where}: ...' exclude each other: "
                "a request has one of them; leave one out"
            )
        if shaping.auth and (shaping.auth.expires or (rule.kind, rule.where.lower()) == ("header", "authorization")):
            yield (
                f"--auth {shaping.auth} and --use {rule.name}={rule.kind}:{rule.where} exclude each other: the "
                "value comes after the credentials, and would replace or spoil them"
            )


def _following(sending: Sending, shaping: Shaping, pacing: "Pacing | None") -> Iterator[str]:
    if pacing is None or not pacing.follow:
        return
    if several := _several(sending):
        yield f"--follow and {several} exclude each other: one process reads the log as it grows, and sends"
    for option, given in (("--shuffle", shaping.shuffle), ("--random", shaping.random), ("--loop", pacing.loop)):
        if given:
            yield f"--follow and {option} exclude each other: {option} needs a log that has an end"
    if shaping.beginning:
        yield "--follow and --from exclude each other: --follow begins with the next line of the log"
    if pacing.skip_idle is not None:
        yield "--follow and --skip-idle exclude each other: requests are sent as the log grows, gaps included"
    if pacing.arrivals:
        yield f"--follow and --arrivals {pacing.arrivals} exclude each other: --follow takes the log's own times"
