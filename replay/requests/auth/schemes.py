"""Schemes of authentication, as ``--auth`` names them, and the stream of requests that gives each its credentials.

A secret stays where it is read: a scheme holds the name of a file, or of a service, and each process that sends reads
the secret itself. Neither a worker nor a machine of a cluster is sent one.
"""

import base64
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.auth.aws import SigV4
from logreplay.replay.requests.header_columns import with_headers
from logreplay.replay.requests.plan import CHUNK_ROWS, Chunk, Made, RequestStream, part_of, signing_part

_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_LARGEST: Final = 65_536
_EXPECTED: Final = "expected bearer:FILE, basic:FILE, aws:SERVICE or aws:SERVICE:REGION"


@dataclass(slots=True)
class SecretFile:
    """A bearer token (RFC 6750), or user and password (RFC 7617), in a file; read again when the file changes.

    Attributes:
        kind: ``bearer``, ``basic``.
        path: path of the file, absolute.
    """

    written: ClassVar[Collection[str]] = ("authorization",)
    expires: ClassVar[bool] = False
    together: ClassVar[int] = 2048
    kind: str
    path: Path
    origin: str = ""
    stale: str = field(default="", repr=False, compare=False)
    _state: tuple[int, ...] = field(default=(), repr=False, compare=False)
    _value: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return self.kind

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name of the file, and never its content."""
        return SecretFile, (self.kind, self.path, self.origin)

    @property
    def reads(self) -> Path:
        return self.path

    def load(self) -> None:
        """Read the file, if it has changed. While it is being written, the secret that was read before remains."""
        try:
            self._read()
        except LogreplayError as error:
            if not self._value:
                raise
            self.stale = str(error)
        else:
            self.stale = ""

    def _read(self) -> None:
        try:
            state = self._seen()
            if state == self._state:
                return
            if not self.path.is_file() or self.path.stat().st_size > _LARGEST:
                raise LogreplayError(f"--auth {self.kind}: {self.path} is not a file of up to 64 KiB")
            value = self._written(self.path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r"))
            whole = self._seen() == state
        except OSError as error:
            raise LogreplayError(f"--auth {self.kind}: {self.path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise LogreplayError(f"--auth {self.kind}: {self.path} is not UTF-8") from None
        if whole or not self._value:
            self._value, self._state = value, state if whole else ()

    def _seen(self) -> tuple[int, ...]:
        """What changes when the file is written."""
        seen = self.path.stat()
        return seen.st_ino, seen.st_size, seen.st_mtime_ns

    def _written(self, text: str) -> str:
        """The value of the header Authorization."""
        if not text.strip():
            raise LogreplayError(f"--auth {self.kind}: {self.path}: the file is empty; write the secret into it")
        if text.startswith("\ufeff"):
            raise LogreplayError(f"--auth {self.kind}: {self.path}: begins with a byte order mark; save it without one")
        if self.kind == "bearer":
            if text.lower().startswith("bearer "):
                raise LogreplayError(f"--auth bearer: {self.path}: leave out the word Bearer")
            if not _TOKEN.fullmatch(text):
                raise LogreplayError(
                    f"--auth bearer: {self.path}: expected a token of printable ASCII without blanks, and nothing else"
                )
            return f"Bearer {text}"
        user, colon, _ = text.partition(":")
        if not colon or not text.isprintable() or not user:
            raise LogreplayError(f"--auth basic: {self.path}: expected one line, user:password")
        return f"Basic {base64.b64encode(text.encode()).decode()}"

    def apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        self.load()
        return with_headers(frame, {"Authorization": pl.repeat(self._value, frame.height, eager=True)})


Scheme = SecretFile | SigV4
"""Adds credentials to requests.

``written``: names of the headers that it writes, in lower case. ``expires``: each request has a signature of its own,
which is valid for some minutes. ``together``: requests that are given credentials in one go. ``reads``: the file with
the secret, if there is one. ``stale``: why the secret could not be read again, when last looked at; empty: it was.
``origin``: scheme and authority of the target; set before the first request.
"""


def parse(text: str) -> Scheme:
    """Read ``bearer:FILE``, ``basic:FILE``, ``aws:SERVICE`` or ``aws:SERVICE:REGION``."""
    kind, _, rest = text.partition(":")
    if kind in ("bearer", "basic") and rest:
        path = Path(rest)
        if not path.exists():
            raise ValueError(f"{kind}: the file is not there; {_EXPECTED}: write the secret into a file, and name that")
        return SecretFile(kind, path.absolute())
    if kind == "aws":
        service, _, region = rest.partition(":")
        if re.fullmatch(r"[a-z0-9-]+", service) and re.fullmatch(r"[a-z0-9-]*", region):
            return SigV4(service, region)
    raise ValueError(_EXPECTED)  # without the text: a user may have written the secret itself


@dataclass(slots=True)
class Authorized(Made):
    """Requests with credentials.

    Attributes:
        requests: without.
        scheme: adds the credentials.
        ahead: add them when requests are read, not within the second before they are due: the due times of users, and
            of a load that is changed while it is sent, are not known before.
    """

    requests: RequestStream
    scheme: Scheme
    ahead: bool = False

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        self.scheme.load()
        for frame in self.requests.frames(rows, begin):
            yield self.scheme.apply(frame) if self.ahead else frame

    @property
    def signing(self) -> bool:
        """Whether credentials are added, or another part of the stream signs, when requests are due."""
        return not self.ahead or signing_part(self.requests) is not None

    @property
    def together(self) -> int:
        inner = signing_part(self.requests)
        return min(self.scheme.together, inner.together) if inner else self.scheme.together

    def sign(self, chunk: Chunk) -> Chunk:
        """Add the credentials to a chunk, after other parts of the stream have signed it."""
        inner = signing_part(self.requests)
        chunk = inner.sign(chunk) if inner else chunk
        return chunk if self.ahead else Chunk(self.scheme.apply(chunk.frame), chunk.due)


def stale(stream: RequestStream) -> str:
    """Why the secret of a stream could not be read again when it was last looked at; empty if it was, or has none."""
    part = part_of(stream, Authorized)
    return part.scheme.stale if part else ""
