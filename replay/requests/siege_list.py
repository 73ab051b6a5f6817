"""Lists of urls as siege takes them: one a line, with variables, and with bodies in the line or in files.

::

    # a comment
    SITE = http://127.0.0.1:8080
    $(SITE)/shop
    $(SITE)/cart POST item=4711&count=1
    $(SITE)/api/cart POST <cart.json

Bodies have a ``Content-Type``: of a file by its name, otherwise that of a form, as in siege.

Theory of operation. A list is read in blocks of lines. One regular expression takes the plain lines of a block apart;
assignments and other odd lines are gone through one by one. A list is read once before the run, for its bodies, origins
and errors, and again in each pass of the replay, so it is never in memory as a whole.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from mimetypes import MimeTypes
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.files import why
from logreplay.core.record import SCHEMA
from logreplay.replay.requests.bodies import LARGEST
from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD, header_column
from logreplay.replay.requests.url_rows import FIELDS, UrlRow, from_rows, timed, write_frames

_LOOK: Final = 1 << 16
_BLOCK: Final = 1 << 20
"""Letters read together."""
_VARIABLE: Final = re.compile(r"(\w+)\s*=\s*(\S*)", re.ASCII)
_REFERENCE: Final = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|(\w+))", re.ASCII)
_LINE: Final = re.compile(r"(\S+)(?:\s+([A-Z]+)(?:\s+(.*))?)?")
_NAME: Final = "[0-9A-Za-z_-]+"
_HOST: Final = rf"(?:(?:localhost|{_NAME}(?:\.{_NAME})+|\[[0-9a-fA-F:.]+\])(?::[0-9]+)?|[0-9A-Za-z_.-]+:[0-9]+)"
_BARE: Final = re.compile(rf"{_HOST}/\S*")
_URL_LINE: Final = re.compile(
    rf"(?:(?:https?://[^\s/]|/|\$)\S*|{_BARE.pattern})(?:\s+(?:GET|HEAD|POST|PUT|PATCH|DELETE)\b.*)?", re.ASCII
)
_FORM: Final = "application/x-www-form-urlencoded"
_TYPES: Final = MimeTypes()
"""Python's own types, so that a list means the same on every machine."""

_ASSIGNS: Final = r"^[\s\x1c-\x1f]*\w+\s*="
"""Lines that may be assignments."""
_URL: Final = (
    rf"(?:(?P<origin>https?://(?P<host>[!$-.0-;=A-Z_a-z~]+))(?P<rest>(?:[/?][!$-~]*)?)"
    rf"|(?P<bare>{_HOST})(?P<tail>/[!$-~]*)|(?P<path>/[!$-~]*))"
)
"""URLs that need no encoding; `_row` handles the others."""
_PLAIN: Final = rf"^[ \t]*{_URL}(?:[ \t]+(?P<op>[A-Z]+)(?:[ \t]+(?P<data>.+))?)?[ \t]*$"
_WITHOUT_BODY: Final = rf"(?m)^[ \t]*{_URL}(?:[ \t]+[A-Z]+)?[ \t]*$"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request: its bytes, and their type."""

    data: bytes
    type: str


@dataclass(slots=True)
class Bodies:
    """The bodies of a list, each once.

    Attributes:
        places: indexes of each body.
        files: texts of the bodies by file, each read once.
    """

    places: dict[Body, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def place(self, op: str, data: str) -> str:
        """The place of the body that follows a method."""
        if op in BODILESS:
            raise ValueError(f"{op} sends no body, but {data[:40]!r} follows; write URL POST data")
        if not data.startswith("<"):
            return str(self._add(Body(data.encode("utf-8", "surrogateescape"), _FORM)))
        name = data[1:].strip()
        if name not in self.files:
            self.files[name] = self._add(_read(name))
        return str(self.files[name])

    def _add(self, body: Body) -> int:
        return self.places.setdefault(body, len(self.places))


@dataclass(frozen=True, slots=True)
class UrlList:
    """A list of urls as a source of requests, with their bodies.

    Attributes:
        name: name of the list, for messages.
        listed: its file, or a single url.
        bodies: texts of its requests' bodies.
        target: where a url goes that the user named by itself; empty for a list.
    """

    name: str
    listed: Path | UrlRow
    bodies: Bodies
    target: str = ""

    @classmethod
    def read(cls, listed: Path, name: str) -> "UrlList":
        """Read a list once; ``name`` is for messages."""
        made = cls(name, listed.absolute(), Bodies())
        for _ in made.frames(check=True):
            pass
        return made

    @classmethod
    def one(cls, row: UrlRow) -> "UrlList":
        return cls(str(row), row, Bodies(), row.origin or "")

    def frames(self, *, check: bool = False) -> Iterator[pl.DataFrame]:
        """Yield its requests, some at a time: columns `FIELDS` and ``origin``; ``body`` is a place in ``bodies``.

        ``check``: leave out blocks in which every line is a plain url, which needs no check.
        """
        if isinstance(self.listed, UrlRow):
            yield from_rows([self.listed])
            return
        variables: dict[str, str] = {}
        number = 1
        try:
            with self.listed.open(encoding="utf-8", errors="surrogateescape") as file:
                while text := file.read(_BLOCK) + file.readline():
                    lines = text.count("\n")
                    text = text.removesuffix("\n")
                    if not (check and _is_plain(text)):
                        frame = _requests(text, variables, self.bodies)
                        if frame.height:
                            yield frame
                    number += lines
        except _BadLine as bad:
            raise LogreplayError(f"{self.name}: line {number + bad.place}: {bad}") from None
        except OSError as error:
            raise LogreplayError(f"{self.name}: {why(error)}") from None

    def origins(self) -> Sequence[str]:
        """``http://host`` of its urls, each once, in their order."""
        found = (frame["origin"].drop_nulls().unique(maintain_order=True) for frame in self.frames())
        return list(dict.fromkeys(origin for origins in found for origin in origins))

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        content_type = header_column("Content-Type", ())
        data = {str(place): body.data for body, place in self.bodies.places.items()}
        types = {str(place): body.type for body, place in self.bodies.places.items()}
        for frame in timed(self.frames()):
            known = {*frame.columns} - {"body"}
            rows = frame.select(
                (pl.col(name) if name in known else pl.lit(None)).cast(SCHEMA.get(name, pl.String)).alias(name)
                for name in columns
            )
            if data:
                payload = pl.Series(PAYLOAD, [data.get(place) for place in frame["body"]], dtype=pl.Binary)
                type_ = pl.Series(content_type, [types.get(place) for place in frame["body"]], dtype=pl.String)
                rows = rows.with_columns(payload, type_)
            yield rows

    def write_normalized(self, path: Path) -> Path:
        """Write its requests, without their bodies, as a normalized CSV; return ``path``."""
        try:
            with path.open("wb") as file:
                file.writelines(write_frames(self.frames()))
        except OSError as error:
            raise LogreplayError(f"{self.name}: {why(error)}") from None
        return path

    def fingerprint(self) -> str:
        """The identity of this list: a hash of its requests and their bodies."""
        digest = hashlib.sha256()
        for frame in self.frames():
            digest.update(frame.select(FIELDS).write_csv(include_header=False).encode())
        digest.update(repr(list(self.bodies.places)).encode())
        return digest.hexdigest()

    def __str__(self) -> str:
        return self.name


def is_url_list(path: Path) -> bool:
    """Whether a file is a list: its first line besides comments and variables is a url."""
    try:
        with path.open("rb") as file:
            lines = [line.decode("latin-1") for line in file.read(_LOOK).splitlines()]
    except OSError:
        return False
    said = (line.strip() for line in lines)
    first = next((line for line in said if line and not line.startswith("#") and not _VARIABLE.fullmatch(line)), "")
    return bool(_URL_LINE.fullmatch(first))


class _BadLine(ValueError):
    """A line that is not a url."""

    def __init__(self, place: int, error: ValueError) -> None:
        super().__init__(str(error))
        self.place = place


def _is_plain(text: str) -> bool:
    """Whether each of these lines is a url that can be sent without a body."""
    if "$" in text or not text.isascii():
        return False
    return bool(pl.Series([text]).str.count_matches(_WITHOUT_BODY)[0] == text.count("\n") + 1)


def _requests(text: str, variables: dict[str, str], bodies: Bodies) -> pl.DataFrame:
    lines = text.split("\n")
    refers = "$" in text
    texts = _filled_in(lines, variables) if refers else _texts(lines)
    rest = pl.col("rest")
    found = texts.str.extract_groups(_PLAIN).struct.unnest()
    found = found.select(
        pl.coalesce("path", "tail", pl.when(rest.str.starts_with("/")).then(rest).otherwise("/" + rest)).alias("url"),
        pl.coalesce("host", "bare").alias("host"),
        pl.col("op").fill_null("GET"),
        pl.col("data").alias("body"),
        pl.coalesce("origin", "http://" + pl.col("bare")).alias("origin"),
    )
    plain = found["url"].is_not_null() & ~texts.str.contains(r"\$[({]") if refers else found["url"].is_not_null()
    by_hand = (~plain | found["body"].is_not_null()).arg_true()
    if not len(by_hand):
        return found
    rows: list[UrlRow | None] = []
    for place, is_plain, parts in zip(by_hand, plain.gather(by_hand), found[by_hand].iter_rows(), strict=True):
        line = lines[place].strip()
        try:
            if is_plain:
                url, host, op, data, origin = parts
                rows.append(UrlRow(url, host, op, bodies.place(op, data.strip()), origin))
            elif not line or line.startswith("#") or (not refers and _assigned(line, variables)):
                rows.append(None)
            else:
                rows.append(_row(line, bodies))
        except ValueError as error:
            raise _BadLine(place, error) from None
    made = from_rows(rows)
    found = found.select(column.scatter(by_hand, made[column.name]) for column in found)
    return found.filter(pl.col("url").is_not_null())


def _filled_in(lines: list[str], variables: dict[str, str]) -> pl.Series:
    """Replace variables in lines by their values; a line that assigns one becomes empty."""
    texts = _texts(lines)
    single = texts.str.contains(_ASSIGNS) | texts.str.contains(r"\$\w")
    if single.any() or any(map(_SURROGATE.search, [*lines, *variables.values()])):
        for place in (single | texts.str.contains("$", literal=True)).arg_true():
            text = lines[place].strip()
            if not text.startswith("#"):
                lines[place] = "" if _assigned(text, variables) else _filled(text, variables)
        return _texts(lines)
    forms = {form: value for name, value in variables.items() for form in (f"$({name})", f"${{{name}}}")}
    texts = texts.str.replace_many(list(forms), list(forms.values())) if forms else texts
    lines[:] = texts
    return texts


def _assigned(text: str, variables: dict[str, str]) -> bool:
    """Whether a line sets a variable, which is then set."""
    variable = _VARIABLE.fullmatch(text)
    if variable:
        variables[variable[1]] = _filled(variable[2], variables)
    return variable is not None


def _texts(lines: list[str]) -> pl.Series:
    """Lines as a series. A line that is not UTF-8 becomes ``x=``, which is then read by itself."""
    try:
        return pl.Series(lines, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(["x=" if _SURROGATE.search(line) else line for line in lines], dtype=pl.String)


def _row(text: str, bodies: Bodies) -> UrlRow:
    line = _LINE.fullmatch(text)
    url, op, data = line.groups() if line else (text, None, None)
    op = op or "GET"
    if (unset := _REFERENCE.search(url)) and not unset[3]:
        raise ValueError(f"{unset[0]} is not set; write {unset[1] or unset[2]}=value in a line above")
    if _BARE.fullmatch(url):
        url = f"http://{url}"
    return UrlRow.of(url, op, bodies.place(op, data) if data else None)


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
