"""The sessions of all clients: what each keeps, what its next request takes along, what its answers leave.

Theory of operation. A sender asks for the next login of a client (`next_login`), passes each request of a client
through `dress` directly before it is sent, and shows each whole answer to `answered`. A client has a session only once
it has something to keep, so that requests without one cost a look into a dict. A session ends after `IDLE_NS` without
requests: its client begins another one. Sessions that were idle longest are dropped when there are more than
`MOST_CLIENTS`, or when they hold more than `MOST_HELD` bytes.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self

from logreplay.replay.clock import Clock
from logreplay.replay.sessions.cookies import DELETED, CookieJar, host_name
from logreplay.replay.sessions.extraction import MOST_BODY, Extraction, Pairs, is_usable
from logreplay.replay.sessions.insertion import Insertion
from logreplay.replay.sessions.logins import LoginRequest, Logins
from logreplay.replay.sessions.request_text import header_of, target_of, with_header

MOST_CLIENTS: Final = 100_000
"""Clients with a session at once."""
MOST_HELD: Final = 1 << 28
"""Bytes that the cookies and values of all clients take in memory, about."""
IDLE_NS: Final = 1800 * 1_000_000_000
"""A client that sent nothing for this long is done: web analytics ends a visit so."""
_MOST_FIELDS: Final = 100
"""Set-Cookie headers of an answer that are read."""
_SHORTEST_SECRET: Final = 4
_EACH: Final = 300
"""Memory overhead per cookie or value, bytes."""


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What clients keep.

    Attributes:
        cookies: cookies that the target sets are sent back.
        logins: sent before the first request of each client.
        extract: values that are taken from answers.
        use: where they are put.
    """

    cookies: bool = False
    logins: Logins | None = None
    extract: Sequence[Extraction] = ()
    use: Sequence[Insertion] = ()

    @property
    def kept_body(self) -> int:
        """Bytes of each answer's body that the rules need."""
        return MOST_BODY if any(rule.of_body for rule in self.extract) else 0

    def part(self, index: int, count: int) -> "SessionPlan":
        """The plan for one of several workers, which share the pool of logins."""
        return replace(self, logins=self.logins.part(index, count)) if self.logins else self


@dataclass(frozen=True, slots=True)
class LoginRow:
    """A login that ended. Times in seconds; ``ended`` since 1970.

    ``target`` is the URL of the server; ``error`` is a word of the result log; ``rc`` 0 where no status line came.
    """

    client: str
    op: str
    url: str
    rc: int
    error: str
    seconds: float
    ended: float
    target: str = ""


@dataclass(slots=True)
class SessionCounts:
    """What became of the sessions.

    Attributes:
        clients: sessions begun.
        forgotten: sessions dropped for lack of room.
        cookies: cookies taken; not those deleted.
        refused: cookies refused, by reason.
        unkept: responses whose cookies were not taken, because clients keep none.
        without_login: sessions begun without a login, because no row of the file is theirs.
        row_shared: sessions begun with a row of the pool that another one had begun with.
        logins: requests of logins that ended.
        login_failures: those that failed, by status or error word, without those that the end of the run cancelled.
        extracted: values taken, by name.
        unusable: values that were empty, too long, or held a control character, by name.
        missing: requests that were sent without a value, because no answer had held one, by name.
        inserted: requests that a value was put into, by rule.
        unfit: requests that have no place for a value, by rule.
        rows: the logins that ended; who has written or reported them takes them out.
    """

    clients: int = 0
    forgotten: int = 0
    cookies: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unkept: int = 0
    without_login: int = 0
    row_shared: int = 0
    logins: int = 0
    login_failures: Counter[str] = field(default_factory=Counter)
    extracted: Counter[str] = field(default_factory=Counter)
    unusable: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    inserted: Counter[str] = field(default_factory=Counter)
    unfit: Counter[str] = field(default_factory=Counter)
    rows: list[LoginRow] = field(default_factory=list)

    def copy(self) -> Self:
        return self.since(type(self)())

    def since(self, before: "SessionCounts") -> Self:
        """The difference from an earlier state."""
        added: dict[str, Any] = {
            each.name: _less(getattr(self, each.name), getattr(before, each.name)) for each in fields(self)
        }
        return type(self)(**added)

    def __add__(self, other: "SessionCounts") -> Self:
        return type(self)(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

    def as_dict(self) -> dict[str, object]:
        """The counts for summary.json."""
        return {
            each.name: dict(value) if isinstance(value, Counter) else value
            for each in fields(self)
            if (value := getattr(self, each.name)) is not self.rows
        }


def _less(now: Any, before: Any) -> Any:
    return now[len(before) :] if isinstance(now, list) else now - before


class ClientSession:
    """The cookies and values of one client."""

    __slots__ = ("jar", "steps", "touched", "values")

    def __init__(self, steps: Sequence[int]) -> None:
        self.jar = CookieJar()
        self.values: dict[str, str] = {}
        self.steps = list(reversed(steps))
        self.touched = 0

    @property
    def size(self) -> int:
        """Bytes that its cookies and values take in memory, about."""
        own = self.jar.size + sum(map(len, self.values.values()))
        return own + _EACH * (len(self.jar) + len(self.values))


class ClientSessions:
    """The sessions of the clients of one sender.

    Attributes:
        kept: the sessions by client, the one that was idle longest first.

    Args:
        secure: the connection is secure, or leads to this machine.
        clock: nanoseconds, for the age of sessions.
        now: seconds since 1970, for that of cookies.
    """

    def __init__(
        self,
        plan: SessionPlan,
        counts: SessionCounts,
        *,
        secure: bool,
        clock: Clock,
        now: Callable[[], float],
        target: str = "",
    ) -> None:
        self.counts, self._target = counts, target
        self._plan, self._secure, self._clock, self._now = plan, secure, clock, now
        self.kept: OrderedDict[str, ClientSession] = OrderedDict()
        self._held = self._drawn = 0
        self._logins = plan.logins
        self._takes = plan.cookies or plan.logins is not None, bool(plan.extract)

    def __len__(self) -> int:
        return len(self.kept)

    def next_login(self, client: str) -> int | None:
        """The number of the login request that a client must send next; None if it need not."""
        if self._logins is None:
            return None
        session = self._current(client, self._clock()) or self._begun(client)
        return session.steps.pop() if session.steps else None

    def _current(self, client: str, now: int) -> ClientSession | None:
        """The session of a client; one that was idle for too long ends."""
        session = self.kept.get(client)
        if session is None or now - session.touched < IDLE_NS:
            return session
        self._held -= self.kept.pop(client).size
        return None

    def _begun(self, client: str) -> ClientSession:
        """Begin the session of a client, and drop those that are done."""
        steps: Sequence[int] = ()
        if self._logins:
            steps = self._logins.steps(client, self._drawn)
            draws = self._logins.draws(client)
            self.counts.row_shared += draws and (self._logins.others_draw or self._drawn >= len(self._logins.pool))
            self._drawn += draws
            self.counts.without_login += not steps
        session = self.kept[client] = ClientSession(steps)
        session.touched = self._clock()
        self.counts.clients += 1
        self._tidy(session.touched, client)
        return session

    def _tidy(self, now: int, client: str) -> None:
        """Drop the sessions that were idle longest, but not that of a client."""
        while (oldest := next(iter(self.kept))) != client:
            full = len(self.kept) > MOST_CLIENTS or self._held > MOST_HELD
            if not full and now - self.kept[oldest].touched < IDLE_NS:
                return
            self.counts.forgotten += full
            self._held -= self.kept.pop(oldest).size

    def dress(self, client: str, request: bytes, *, login: bool = False) -> bytes:
        """A request with its client's values and cookies; what a ``login`` request lacks is not counted as missing."""
        now = self._clock()
        session = self._current(client, now)
        if self._plan.use and not login:
            self._count_missing(request, session.values if session else ())
        if session is None:
            return request
        session.touched = now
        self.kept.move_to_end(client)
        for rule in self._plan.use:
            if rule.name in session.values:
                before, request = request, rule.insert(request, session.values[rule.name])
                (self.counts.unfit if request is before else self.counts.inserted)[rule.label] += 1
        if len(session.jar) and header_of(request, b"cookie") is None:
            host = self._host(request)
            cookies = session.jar.header(host=host, target=target_of(request), secure=self._secure, now=self._now())
            if cookies:
                return with_header(request, b"Cookie", cookies)
        return request

    def _count_missing(self, request: bytes, values: Collection[str]) -> None:
        for rule in self._plan.use:
            if rule.name in values:
                continue
            if rule.concerns(request):
                self.counts.missing[rule.name] += 1
            else:
                self.counts.unfit[rule.label] += 1

    def _host(self, request: bytes) -> str:
        return host_name((header_of(request, b"host") or b"").decode("latin-1"))

    def leaves_something(self, head: bytes) -> bool:
        """Whether `answered` must see an answer with this head (HTTP/1.1, up to the blank line)."""
        cookies, values = self._takes
        return values or (cookies and b"\r\nset-cookie:" in head.lower())

    def leaves(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        """Like `leaves_something`, for headers with names in lower case."""
        cookies, values = self._takes
        if cookies and not values:
            for name, _ in headers:
                if name == b"set-cookie":
                    return True
        return values

    def answered(self, client: str, request: bytes, headers: Pairs, body: bytes) -> None:
        """Take what an answer leaves to a client, from its headers and the beginning of its body."""
        pairs = list(headers)
        set_cookies = [value for name, value in pairs if name.lower() == b"set-cookie"]
        if not self._plan.cookies:
            self.counts.unkept += bool(set_cookies)
            set_cookies = []
        found = {rule.name: value for rule in self._plan.extract if (value := rule.find(pairs, body)) is not None}
        for name in [name for name, value in found.items() if not is_usable(value)]:
            self.counts.unusable[name] += 1
            del found[name]
        if not set_cookies and not found:
            return
        session = self.kept.get(client) or self._begun(client)
        before = session.size
        if set_cookies:
            self._take_cookies(session.jar, set_cookies, request)
        session.values |= found
        self.counts.extracted.update(found.keys())
        self._held += session.size - before
        if self._held > MOST_HELD:
            self.kept.move_to_end(client)
            self._tidy(self._clock(), client)

    def _take_cookies(self, jar: CookieJar, set_cookies: Sequence[bytes], request: bytes) -> None:
        host, target, now = self._host(request), target_of(request), self._now()
        for header in set_cookies[:_MOST_FIELDS]:
            why = jar.store(header, host=host, target=target, secure=self._secure, now=now)
            if not why:
                self.counts.cookies += 1
            elif why != DELETED:
                self.counts.refused[why] += 1
        if len(set_cookies) > _MOST_FIELDS:
            self.counts.refused[f"more than {_MOST_FIELDS} in an answer"] += len(set_cookies) - _MOST_FIELDS

    def logged_in(self, client: str, login: LoginRequest, status: int, error: str, seconds: float) -> None:
        self.counts.logins += 1
        if (error or status >= 400) and error != "cancelled":
            self.counts.login_failures[error or f"status {status}"] += 1
        row = LoginRow(client, login.op, login.url, status, error, seconds, self._now(), self._target)
        self.counts.rows.append(row)

    def secrets(self, client: str) -> list[bytes]:
        """The values that must not be shown of a client: its cookies and extracted values."""
        session = self.kept.get(client)
        if session is None:
            return []
        values = [*session.jar.values(), *(value.encode() for value in session.values.values())]
        return [value for value in values if len(value) >= _SHORTEST_SECRET]
