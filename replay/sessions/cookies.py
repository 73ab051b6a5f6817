"""Cookies: reads ``Set-Cookie`` and keeps a jar for each client (RFC 6265bis).

Theory of operation. A header is parsed by the algorithm for user agents (draft-ietf-httpbis-rfc6265bis, "The
Set-Cookie Header Field"), which takes any bytes, and stored by the storage model of the same document. A cookie belongs
to the host that set it, or to a parent domain of that host, and returns to no other. Three rules differ from a browser:
``SameSite`` and ``HttpOnly`` have no meaning here, and only a domain without a dot counts as a public suffix: whatever
the domain, requests go to the target of the run. Memory is bounded whatever a target sends.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from math import inf
from typing import Final

MOST_COOKIES: Final = 50
"""Cookies of a jar; with one more the oldest is dropped. The RFC asks for 50 a domain."""
MOST_BYTES: Final = 16_384
"""Bytes of all names, values, paths and domains of a jar; the oldest are dropped above it."""
DELETED: Final = "deleted"
NOT_SECURE: Final = "Secure, and the connection is not"
OTHER_DOMAIN: Final = "of another domain"
LONGEST: Final = 4096
"""Bytes of a name and its value; a longer cookie is ignored."""
_LONGEST_ATTRIBUTE: Final = 1024
_LONGEST_LIFE_S: Final = 400 * 86_400
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_BLANKS: Final = b" \t"
_MAX_AGE: Final = re.compile(rb"-?[0-9]+")

_DATE_TOKENS: Final = re.compile(rb"[^\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME: Final = re.compile(rb"(\d{1,2}):(\d{1,2}):(\d{1,2})(?!\d)")
_DAY: Final = re.compile(rb"(\d{1,2})(?!\d)")
_YEAR: Final = re.compile(rb"(\d{2,4})(?!\d)")
_MONTHS: Final = (b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec")


@dataclass(frozen=True, slots=True)
class SetCookie:
    """A ``Set-Cookie`` header, read.

    Attributes:
        name, value: without blanks around them; the name may be empty.
        domain: in lower case, without a leading dot; empty: only the host that set it.
        path: empty: the folder of the request.
        expires: seconds since 1970; infinite: at the end of the session.
        secure: sent over a secure connection only.
    """

    name: bytes
    value: bytes
    domain: str
    path: bytes
    expires: float
    secure: bool


def parse_set_cookie(header: bytes, now: float) -> SetCookie | None:
    """Read the value of a ``Set-Cookie`` header, any bytes; None if it must be ignored."""
    if _CONTROLS.search(header):
        return None
    pair, *attributes = header.split(b";")
    name, equals, value = pair.partition(b"=")
    if not equals:
        name, value = b"", pair
    name, value = name.strip(_BLANKS), value.strip(_BLANKS)
    if not (name or value) or len(name) + len(value) > LONGEST:
        return None
    domain, path, secure = b"", b"", False
    expires, max_age = inf, inf
    for attribute in attributes:
        key, _, text = attribute.partition(b"=")
        key, text = key.strip(_BLANKS).lower(), text.strip(_BLANKS)
        if len(text) > _LONGEST_ATTRIBUTE:
            continue
        if key == b"expires":
            date = _date(text)
            expires = expires if date is None else date
        elif key == b"max-age" and _MAX_AGE.fullmatch(text):
            seconds = int(text)
            max_age = now + min(seconds, _LONGEST_LIFE_S) if seconds > 0 else 0.0
        elif key == b"domain":
            domain = text.removeprefix(b".").lower()
        elif key == b"path":
            path = text if text.startswith(b"/") else b""
        elif key == b"secure":
            secure = True
    if not domain.isascii():
        return None
    end = expires if max_age == inf else max_age
    return SetCookie(name, value, domain.decode(), path, end if end == inf else min(end, now + _LONGEST_LIFE_S), secure)


def _date(text: bytes) -> float | None:
    """A date by the algorithm of RFC 6265, 5.1.1, as seconds since 1970; None if the text is not a date."""
    clock = day = month = year = None
    for token in _DATE_TOKENS.findall(text):
        if clock is None and (found := _TIME.match(token)):
            clock = int(found[1]), int(found[2]), int(found[3])
        elif day is None and (found := _DAY.match(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and (found := _YEAR.match(token)):
            year = int(found[1])
    if clock is None or day is None or month is None or year is None:
        return None
    if year < 100:
        year += 1900 if year >= 70 else 2000
    if year < 1601:
        return None
    try:
        return datetime(year, month, day, clock[0], clock[1], clock[2], tzinfo=UTC).timestamp()
    except ValueError:
        return None


def host_name(authority: str) -> str:
    """The host of a ``Host`` header, in lower case and without its port."""
    if authority.startswith("["):
        return authority.partition("]")[0].strip("[").lower()
    return authority.partition(":")[0].lower()


def domain_matches(host: str, domain: str) -> bool:
    """Whether a host is a domain or lies below it (RFC 6265, 5.1.3). An address matches itself only."""
    return host == domain or (host.endswith(f".{domain}") and not _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def path_matches(path: bytes, of_cookie: bytes) -> bool:
    """Whether a path is that of a cookie or lies below it (RFC 6265, 5.1.4)."""
    return path.startswith(of_cookie) and (
        len(path) == len(of_cookie) or of_cookie.endswith(b"/") or path[len(of_cookie)] == 0x2F
    )


def path_of(target: bytes) -> bytes:
    path = target.partition(b"?")[0]
    return path if path.startswith(b"/") else b"/"


_Place = tuple[bytes, str, bool, bytes]
"""The name of a cookie, the domain and the path that get it, and between these whether the domain is one host."""


class CookieJar:
    """The cookies of one client, in the order of their creation.

    Attributes:
        size: bytes of its cookies.
    """

    __slots__ = ("_kept", "size")

    def __init__(self) -> None:
        self._kept: dict[_Place, SetCookie] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def store(self, header: bytes, *, host: str, target: bytes, secure: bool, now: float) -> str:
        """Take a ``Set-Cookie`` header of an answer; ``host`` has no port and is in lower case.

        Returns:
            Why the cookie was refused; empty if it was stored; `DELETED` if it was deleted, as it asked.
        """
        cookie = parse_set_cookie(header, now)
        if cookie is None:
            return "invalid or too long"
        if cookie.secure and not secure:
            return NOT_SECURE
        domain = cookie.domain
        host_only = not domain or (domain == host and ("." not in host or _is_address(host)))
        if not host_only and ("." not in domain or not domain_matches(host, domain)):
            return OTHER_DOMAIN
        asked = path_of(target)
        path = cookie.path or asked[: asked.rfind(b"/")] or b"/"  # RFC 6265, 5.1.4
        if _breaks_prefix(cookie):
            return "against its prefix"
        place = (cookie.name, host if host_only else domain, host_only, path)
        if old := self._kept.get(place):
            self.size -= _size(place, old)
        if cookie.expires <= now:
            self._kept.pop(place, None)
            return DELETED
        self._kept[place] = cookie  # a new value leaves it where it was in the order
        self.size += _size(place, cookie)
        self._shrink(now)
        return ""

    def _remove(self, place: _Place) -> None:
        self.size -= _size(place, self._kept.pop(place))

    def _shrink(self, now: float) -> None:
        """Keep to the limits: drop expired cookies, then the oldest."""
        if len(self._kept) <= MOST_COOKIES and self.size <= MOST_BYTES:
            return
        for place in [place for place, cookie in self._kept.items() if cookie.expires <= now]:
            self._remove(place)
        while len(self._kept) > MOST_COOKIES or self.size > MOST_BYTES:
            self._remove(next(iter(self._kept)))

    def header(self, *, host: str, target: bytes, secure: bool, now: float) -> bytes:
        """The value of the ``Cookie`` header for a request; empty: none is sent. See `store` for the arguments."""
        asked = path_of(target)
        fit = [
            (path, name, cookie.value)
            for (name, domain, host_only, path), cookie in self._kept.items()
            if (domain == host if host_only else domain_matches(host, domain))
            and path_matches(asked, path)
            and cookie.expires > now
            and (secure or not cookie.secure)
        ]
        fit.sort(key=lambda each: -len(each[0]))  # of paths of one length the older cookie comes first
        return b"; ".join(name + b"=" + value if name else value for _, name, value in fit)

    def values(self) -> Iterator[bytes]:
        return (cookie.value for cookie in self._kept.values())


def _size(place: _Place, cookie: SetCookie) -> int:
    name, domain, _, path = place
    return len(name) + len(cookie.value) + len(domain) + len(path)


def _breaks_prefix(cookie: SetCookie) -> bool:
    """Whether a name promises what the attributes do not hold (``__Secure-``, ``__Host-``)."""
    name = (cookie.name or cookie.value).lower()
    if not name.startswith((b"__secure-", b"__host-")):
        return False
    if not cookie.name or not cookie.secure:
        return True
    return name.startswith(b"__host-") and not (not cookie.domain and cookie.path == b"/")
