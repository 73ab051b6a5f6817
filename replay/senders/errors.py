"""Maps exceptions to the error words of the result log.

``refused``: no connection could be made; ``reset``: the connection was reset; ``closed``: it was closed before
the whole head of the answer had come; ``short_body``: after that, and before the announced length had.
"""

import errno
import ssl
from typing import Final

_LOCAL: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM, errno.EADDRINUSE}
)
"""Errors by which this machine, not the target, says that it cannot open one more connection."""

RACE_NS: Final = 10_000_000
"""Time for the loop of the generator to see that a connection was lost."""


def is_race(waited: int, quickest: float, idle: int) -> bool:
    """Whether a target may have closed an open connection before a request reached it: then it is sent again.

    A target closes a connection that has been idle for its time-out. The sender learns of it within one round trip,
    plus the time for which the target is busy. Opening a connection takes at least one round trip. A target is taken to
    be busy for less than its time-out, so for less than the connection was idle. A request whose connection is lost
    later may have been worked on: that loss is the target's failure.

    All in nanoseconds: the request was lost after ``waited``; connections took ``quickest`` or longer to open; this one
    carried nothing for ``idle`` before the requests that were lost with it.
    """
    return waited <= quickest + max(idle, 0) + RACE_NS


def connect_fault(error: BaseException) -> str:
    """The word for a connection that could not be opened."""
    if isinstance(error, ssl.SSLError | ssl.CertificateError):
        return "tls"
    if isinstance(error, TimeoutError) or getattr(error, "errno", None) == errno.ETIMEDOUT:
        return "connect_timeout"
    if isinstance(error, ConnectionAbortedError) and not error.errno:  # the loop: a TLS handshake takes too long
        return "connect_timeout"
    if isinstance(error, ConnectionResetError):
        return "reset" if error.errno else "tls"  # without a number asyncio says so of a handshake that was cut short
    return "refused"


def loss_fault(error: BaseException | None, *, in_body: bool) -> str:
    """The word for a connection that ended before the answer did; ``error`` is None if it was closed in order."""
    if error is None:
        return "short_body" if in_body else "closed"
    return "tls" if isinstance(error, ssl.SSLError) else "reset"


def local_fault(error: BaseException) -> str | None:
    """The name of an error of this machine, such as ``EMFILE``; None for all others."""
    number = getattr(error, "errno", None)
    return errno.errorcode[number] if number in _LOCAL else None
