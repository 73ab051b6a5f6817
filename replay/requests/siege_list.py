"""Lists of urls as siege takes them: one a line, with variables, and with bodies in the line or in files.

::

    # a comment
    SITE = http://127.0.0.1:8080
    $(SITE)/shop
    $(SITE)/cart POST item=4711&count=1
    $(SITE)/api/cart POST <cart.json

Bodies have a ``Content-Type``: of a file by its name, otherwise that of a form, as in siege.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from mimetypes import MimeTypes
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.parsers.files import why
from logreplay.parsers.record import LogreplayError, read_batches
from logreplay.replay.requests.bodies import LARGEST
from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD, header_column
from logreplay.replay.requests.url_rows import UrlRow, to_normalized

_LOOK: Final = 1 << 16
_VARIABLE: Final = re.compile(r"(\w+)\s*=\s*(\S*)", re.ASCII)
_REFERENCE: Final = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|(\w+))", re.ASCII)
_LINE: Final = re.compile(r"(\S+)(?:\s+([A-Z]+)(?:\s+(.*))?)?")
_HOST: Final = r"(?:localhost|[\w-]+(?:\.[\w-]+)+|\[[0-9a-fA-F:.]+\]|[\w.-]+(?=:[0-9]))(?::[0-9]+)?"
_BARE: Final = re.compile(rf"{_HOST}/\S*", re.ASCII)
_URL_LINE: Final = re.compile(
    rf"(?:(?:https?://[^\s/]|/|\$)\S*|{_BARE.pattern})(?:\s+(?:GET|HEAD|POST|PUT|PATCH|DELETE)\b.*)?", re.ASCII
)
_FORM: Final = "application/x-www-form-urlencoded"
_TYPES: Final = MimeTypes()
"""Python's own types, so that a list means the same on every machine."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request: its bytes, and their type."""

    data: bytes
    type: str


@dataclass(frozen=True, slots=True)
class UrlList:
    """A list of urls as a source of requests, with their bodies.

    Attributes:
        name: of the list, for messages.
        path: a normalized CSV that was made of it; ``body`` holds places in ``bodies``.
        bodies: each once.
        origins: ``http://host`` of its urls, each once, in their order.
        target: where a url goes that the user named by itself; empty for a list.
    """

    name: str
    path: Path
    bodies: Sequence[Body]
    origins: Sequence[str]
    target: str = ""

    @classmethod
    def read(cls, listed: Path, name: str, path: Path) -> "UrlList":
        """Read a list; write ``path``.

        Args:
            listed: the list.
            name: for messages.
            path: of the normalized CSV.

        Raises:
            LogreplayError: the list or the file of a body cannot be read, or a line is not a url.
        """
        origins: dict[str, None] = {}
        bodies: dict[Body, int] = {}

        def rows() -> Iterator[UrlRow]:
            with listed.open(encoding="utf-8", errors="surrogateescape") as file:
                for row in _rows(name, file, bodies):
                    if row.origin:
                        origins[row.origin] = None
                    yield row

        try:
            with path.open("wb") as csv:
                csv.writelines(to_normalized(rows()))
        except OSError as error:
            raise LogreplayError(f"{name}: {why(error)}") from None
        return cls(name, path, tuple(bodies), tuple(origins))

    @classmethod
    def one(cls, row: UrlRow, path: Path) -> "UrlList":
        """A url that the user named by itself; write ``path``, see `read`."""
        path.write_bytes(b"".join(to_normalized([row])))
        return cls(str(row), path, (), (), row.origin or "")

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """See `logreplay.replay.requests.sources.RequestSource`."""
        content_type = header_column("Content-Type", ())
        data = {str(place): body.data for place, body in enumerate(self.bodies)}
        types = {str(place): body.type for place, body in enumerate(self.bodies)}
        for frame in read_batches(self.path, list(dict.fromkeys((*columns, "body")))):
            if data:
                payload = pl.Series(PAYLOAD, [data.get(place) for place in frame["body"]], dtype=pl.Binary)
                type_ = pl.Series(content_type, [types.get(place) for place in frame["body"]], dtype=pl.String)
                frame = frame.with_columns(payload, type_)
            yield frame.with_columns(pl.lit(None, pl.String).alias("body"))

    def fingerprint(self) -> str:
        """The identity of this list: a hash of its requests and their bodies."""
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        digest.update(repr(self.bodies).encode())
        return digest.hexdigest()

    def __str__(self) -> str:
        return self.name


def is_url_list(path: Path) -> bool:
    """Whether a file is a list: its first line besides comments and variables is a url."""
    try:
        with path.open("rb") as file:
            lines = file.read(_LOOK).decode("latin-1").splitlines()
    except OSError:
        return False
    said = (line.strip() for line in lines)
    first = next((line for line in said if line and not line.startswith("#") and not _VARIABLE.fullmatch(line)), "")
    return bool(_URL_LINE.fullmatch(first))


def _rows(name: str, lines: Iterable[str], bodies: dict[Body, int]) -> Iterator[UrlRow]:
    """The requests of a list; each new body goes into ``bodies``, and its place into the request."""
    variables: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            if variable := _VARIABLE.fullmatch(text):
                variables[variable[1]] = _filled(variable[2], variables)
            else:
                yield _row(_filled(text, variables), bodies)
        except ValueError as error:
            raise LogreplayError(f"{name}: line {number}: {error}") from None


def _row(text: str, bodies: dict[Body, int]) -> UrlRow:
    line = _LINE.fullmatch(text)
    url, op, data = line.groups() if line else (text, None, None)
    op = op or "GET"
    if (unset := _REFERENCE.search(url)) and not unset[3]:
        raise ValueError(f"{unset[0]} is not set; write {unset[1] or unset[2]}=value in a line above")
    if _BARE.fullmatch(url):
        url = f"http://{url}"
    place = None
    if data:
        if op in BODILESS:
            raise ValueError(f"{op} sends no body, but {data[:40]!r} follows; write URL POST data")
        body = _read(data[1:].strip()) if data.startswith("<") else Body(data.encode("utf-8", "surrogateescape"), _FORM)
        place = str(bodies.setdefault(body, len(bodies)))
    return UrlRow.of(url, op, place)


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """Replace the variables that are set; others stay unchanged."""
    return _REFERENCE.sub(lambda found: variables.get(found[1] or found[2] or found[3], found[0]), text)


def _read(name: str) -> Body:
    try:
        with Path(name).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(f"POST <{name}: {error.strerror}; a path begins in the current folder") from None
    if len(data) > LARGEST:
        raise ValueError(f"POST <{name}: is larger than {LARGEST >> 20} MiB")
    return Body(data, _TYPES.guess_type(name)[0] or _FORM)
