"""Shapes for `logreplay.replay.requests.plan.Requests` that filter the requests of a log and rewrite their urls.

Each is a value with one meaning; they are applied in the given order, to whole frames. A filter sees the url as the
shapes before it left it: as logged, if it stands before the rewriting.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import ClassVar, Final
from urllib.parse import quote

import polars as pl

from logreplay.core.quantities import naive_utc
from logreplay.core.record import REASON

_UNRESERVED: Final = "~"
_GROUP: Final = re.compile(r"\\([0-9])|\$")


def leave_out(frame: pl.DataFrame, unwanted: pl.Expr, reason: str) -> pl.DataFrame:
    """Give rows a reason not to be sent; a row keeps its first.

    Args:
        frame: rows of a log.
        unwanted: true for those to leave out.
        reason: in words, for the report.
    """
    given = pl.col(REASON) if REASON in frame.columns else pl.lit(None, pl.String)
    new = pl.when(unwanted.fill_null(False)).then(pl.lit(reason))
    return frame.with_columns(pl.coalesce(given, new).alias(REASON))


@dataclass(frozen=True, slots=True)
class Custom:
    """A function as a shape.

    Attributes:
        function: takes and returns a frame (see `logreplay.replay.requests.plan.Shape`).
        columns: columns of the log that the filter needs.
    """

    function: Callable[[pl.DataFrame], pl.DataFrame]
    columns: Sequence[str] = ()

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self.function(frame)


@dataclass(frozen=True, slots=True)
class Matching:
    """Keep requests whose url matches one of the patterns.

    Attributes:
        patterns: regular expressions (https://docs.rs/regex/latest/regex/#syntax), found anywhere in the url.
    """

    patterns: Sequence[str]
    columns: ClassVar[Sequence[str]] = ()

    def __post_init__(self) -> None:
        check_patterns(self.patterns)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        return leave_out(frame, ~_found(self.patterns), "not matched")


@dataclass(frozen=True, slots=True)
class Excluding(Matching):
    """Leave out requests whose url matches one of the patterns; as `Matching`."""

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        return leave_out(frame, _found(self.patterns), "excluded")


@dataclass(frozen=True, slots=True)
class StatusIn:
    """Keep requests that the log has with one of these statuses.

    Attributes:
        ranges: ``(first, last)``, both included.
    """

    ranges: Sequence[tuple[int, int]]
    columns: ClassVar[Sequence[str]] = ()

    def __str__(self) -> str:
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        status = pl.col("expected_rc")
        wanted = pl.any_horizontal(status.is_between(first, last) for first, last in self.ranges)
        return leave_out(frame, ~wanted, "other status")


@dataclass(frozen=True, slots=True)
class FromRow:
    """Begin at a row, counted from 0."""

    row: int
    columns: ClassVar[Sequence[str]] = ()

    def __str__(self) -> str:
        return str(self.row)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        return leave_out(frame, pl.col("row") < self.row, "before --from")


@dataclass(frozen=True, slots=True)
class FromTime:
    """Begin at an instant of the log.

    Attributes:
        instant: aware, or UTC.
    """

    instant: datetime
    columns: ClassVar[Sequence[str]] = ()

    def __str__(self) -> str:
        return self.instant.isoformat()

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        early = pl.col("start").is_null() | (pl.col("start") < naive_utc(self.instant))
        return leave_out(frame, early, "before --from")


@dataclass(frozen=True, slots=True)
class Sampled:
    """Keep a share of the clients with all their requests, the same ones each time.

    A request without a client is sampled by itself.

    Attributes:
        percent: share of the clients, above 0 and at most 100 %.
        seed: another seed, other clients.
    """

    percent: float
    seed: int = 0
    columns: ClassVar[Sequence[str]] = ()

    def __post_init__(self) -> None:
        if not 0 < self.percent <= 100:
            raise ValueError(f"a sample must be above 0 % and at most 100 %, got {self.percent!r}")

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        clients = frame.select(pl.coalesce("client", pl.format("row {}", "row")).alias("client"))["client"]
        kept = [client for client in clients.unique().to_list() if self._keeps(client)]
        return leave_out(frame, ~pl.lit(clients.is_in(kept)), "not in the sample")

    def _keeps(self, client: str) -> bool:
        digest = blake2b(client.encode(), digest_size=8, salt=self.seed.to_bytes(16, "little", signed=True)).digest()
        return int.from_bytes(digest, "little") < self.percent / 100 * 2**64


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Replace the matches of a pattern in urls.

    Attributes:
        pattern: a regular expression.
        replacement: ``\\1`` … ``\\9`` stand for its groups, ``\\0`` for all it found.
        everywhere: each place instead of the first.
    """

    pattern: str
    replacement: str
    everywhere: bool = False
    columns: ClassVar[Sequence[str]] = ()

    def __str__(self) -> str:
        return f"s|{self.pattern}|{self.replacement}|{'g' * self.everywhere}"

    def __post_init__(self) -> None:
        check_patterns((self.pattern,))
        if "#" in self.replacement:
            raise ValueError(
                f"{self.replacement!r}: a # begins a fragment, which is never sent; write %23, or leave it out"
            )

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        new = _GROUP.sub(lambda found: f"${{{found[1]}}}" if found[1] else "$$", self.replacement)
        url = pl.col("url").str
        replaced = url.replace_all(self.pattern, new) if self.everywhere else url.replace(self.pattern, new)
        return frame.with_columns(replaced.alias("url"))

    @classmethod
    def parse(cls, text: str) -> "Rewritten":
        r"""Read ``s|FROM|TO|``, with ``g`` (everywhere) and ``i`` (any case) after it, and any delimiter.

        A delimiter within FROM or TO is written with a backslash before it.
        """
        mark = text[1:2]
        parts = re.split(rf"(?<!\\){re.escape(mark)}", text[2:]) if mark else []
        if not text.startswith("s") or len(parts) != 3 or mark.isalnum() or not set(parts[2]) <= set("gi"):
            raise ValueError(f"{text!r}: expected s|FROM|TO| or s|FROM|TO|g")
        source, target = (part.replace("\\" + mark, mark) for part in parts[:2])
        return cls(f"(?i){source}" if "i" in parts[2] else source, target, "g" in parts[2])


@dataclass(frozen=True, slots=True)
class Param:
    """Give a query parameter a value: instead of the one it has, or as one more.

    Attributes:
        name, value: as text; encoded here.
    """

    name: str
    value: str
    columns: ClassVar[Sequence[str]] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a parameter needs a name; write name=value")

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        url = pl.col("url")
        name, value = _spellings(self.name), quote(self.value, safe=_UNRESERVED)
        target, fragment = url.str.extract(r"^([^#]*)"), url.str.extract(r"(#.*)$").fill_null("")
        path, query = target.str.extract(r"^([^?]*\?)"), target.str.extract(r"\?(.*)$")
        changed = pl.element().str.replace(rf"^({name})(=.*)?$", f"${{1}}={value}")
        mark = pl.when(query.is_null()).then(pl.lit("?")).otherwise(pl.lit("&"))
        new = (
            pl.when(~url.str.starts_with("/"))
            .then(url)
            .when(query.str.contains(rf"(^|&){name}(=|&|$)"))
            .then(path + query.str.split("&").list.eval(changed).list.join("&") + fragment)
            .otherwise(target + mark + pl.lit(f"{quote(self.name, safe=_UNRESERVED)}={value}") + fragment)
        )
        return frame.with_columns(new.alias("url"))


def _spellings(name: str) -> str:
    """A regular expression for each spelling of this name in a query."""
    texts = {byte: re.escape(chr(byte)) for byte in range(0x21, 0x7F) if chr(byte) not in "#%&+="} | {0x20: r"\+"}
    return "".join(
        f"(?:{texts[byte]}|%(?i:{byte:02x}))" if byte in texts else f"%(?i:{byte:02x})" for byte in name.encode()
    )


def _found(patterns: Sequence[str]) -> pl.Expr:
    return pl.any_horizontal(pl.col("url").fill_null("").str.contains(pattern) for pattern in patterns)


def check_patterns(patterns: Sequence[str]) -> None:
    for pattern in patterns:
        try:
            pl.Series([""]).str.contains(pattern)
        except pl.exceptions.PolarsError as error:
            said, _, why = str(error).partition("\nerror: ")
            why, mark = why.partition("\n")[0], re.search(r"\^", said.rpartition("\n")[2])
            if why.startswith("look-around"):
                why = "look-around, such as (?=...) or (?!...), is not supported"
            where = f" at character {mark.start() - 3}" if mark and "\n" not in pattern else ""
            raise ValueError(
                f"{pattern!r} is not a valid regular expression: {why or 'it is too large'}{where}"
            ) from None
