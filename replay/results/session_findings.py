"""Findings on the sessions of clients."""

from collections.abc import Iterator, Mapping
from typing import Final

from logreplay.core.plural import number_of
from logreplay.replay.results.verdict import Finding, Severity
from logreplay.replay.sessions.client_sessions import MOST_CLIENTS, MOST_HELD, SessionCounts
from logreplay.replay.sessions.cookies import NOT_SECURE, OTHER_DOMAIN
from logreplay.replay.sessions.extraction import LONGEST_VALUE

_REMEDIES: Final = {
    NOT_SECURE: "a Secure cookie is kept only over TLS: use an https:// target",
    OTHER_DOMAIN: "a cookie with a Domain is kept only if requests name a host of that domain: for Domain=shop.example "
    "use --host www.shop.example",
}
"""Advice on a refused cookie, by the reason."""
_ENOUGH_ANSWERS: Final = 20
"""Fewer may all be of requests before the one whose answer sets a cookie."""


def session_findings(counts: SessionCounts, *, answers: int = 0, waits_told: bool = False) -> Iterator[Finding]:
    """Findings on the sessions of a run.

    Args:
        counts: counts of its sessions.
        answers: that came, if clients were to keep cookies; otherwise 0.
        waits_told: another finding says that requests waited for their client's answers.
    """
    taken = sum(counts.extracted.values())
    did = (
        f"{number_of(counts.clients, 'session')}: {number_of(counts.logins, 'login request')}, "
        f"{number_of(counts.cookies, 'cookie')}, {number_of(taken, 'value')}"
    )
    closed = (
        "; clients with sessions are closed loops: the next request of each waits for the answer before it, and a slow "
        "target received less load; the wait is in the response times, as queued"
    )
    yield Finding("sessions", Severity.INFO, did if waits_told else did + closed)
    if failed := sum(counts.login_failures.values()):
        text = (
            f"{failed:,} of {counts.logins:,} login requests failed ({_listed(counts.login_failures)}): what their "
            "clients sent afterwards lacked a session; check the file of --login"
        )
        yield Finding("login_failed", Severity.WARNING, text)
    if counts.without_login:
        used = counts.without_login < counts.clients
        why = "no row of the file names them" if used else "no row of the file names a client of the log"
        text = (
            f"--login: {counts.without_login:,} of {counts.clients:,} clients sent no login ({why}; "
            f"{number_of(counts.logins, 'login request was', 'login requests were')} sent); name clients as the log "
            "does, or leave the column client empty for a pool"
        )
        yield Finding("login_unused", Severity.INFO if used else Severity.WARNING, text)
    if counts.row_shared:
        text = (
            f"--login: {number_of(counts.row_shared, 'session')} began with a row of the pool that another one had: "
            "the pool has fewer rows than clients, or, with several workers, the part of one worker has; add rows, or "
            "lower --workers, if each client needs a row of its own"
        )
        yield Finding("login_shared", Severity.INFO, text)
    if counts.unkept and counts.logins:
        text = (
            f"--login without --cookies: {number_of(counts.unkept, 'response')} set cookies, which were not sent "
            "back, so later requests may lack the session; add --cookies"
        )
        yield Finding("cookies_unkept", Severity.INFO if counts.extracted else Severity.WARNING, text)
    if answers >= _ENOUGH_ANSWERS and not counts.cookies and not counts.refused:
        text = (
            f"--cookies: no response set a cookie ({answers:,} came); replay or log in with the request whose response "
            "sets one (--login), or leave out --cookies; run --verbose shows the responses"
        )
        yield Finding("no_cookies", Severity.WARNING, text)
    if counts.refused:
        remedies = [remedy for why, remedy in _REMEDIES.items() if why in counts.refused]
        text = "; ".join([
            f"{number_of(sum(counts.refused.values()), 'cookie of the target was', 'cookies of the target were')} "
            f"refused ({_listed(counts.refused)}), and requests are sent without them",
            *(remedies or ["check the Set-Cookie headers with run --verbose"]),
        ])  # fmt: skip
        yield Finding("cookies_refused", Severity.WARNING, text)
    if counts.unusable:
        text = (
            f"--extract: values were not taken ({_listed(counts.unusable)}): they are empty, longer than "
            f"{LONGEST_VALUE} characters or hold a control character"
        )
        yield Finding("values_unusable", Severity.WARNING, text)
    for name, count in counts.missing.items():
        never = not counts.extracted[name]
        why = "no answer had one; check the rule of --extract" if never else "no answer before them had one"
        severity = Severity.WARNING if never else Severity.INFO
        yield Finding(
            "value_missing",
            severity,
            f"--use {name}: {number_of(count, 'request was', 'requests were')} sent without it: {why}",
        )
    for rule, count in counts.unfit.items():
        if not counts.inserted[rule] and not counts.missing[rule.partition("=")[0]]:
            text = (
                f"--use {rule}: the value went into 0 requests: {number_of(count, 'request')} had no place for it; a "
                "parameter must be in the URL, a body needs POST, PUT or PATCH, and a header that the request has wins"
            )
            yield Finding("value_unused", Severity.WARNING, text)
    if counts.forgotten:
        text = (
            f"{number_of(counts.forgotten, 'session was', 'sessions were')} dropped for lack of room: at most "
            f"{MOST_CLIENTS:,} clients and {MOST_HELD >> 20} MiB are kept; replay fewer clients with --sample"
        )
        yield Finding("sessions_dropped", Severity.WARNING, text)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {why}" for why, count in counts.items())
