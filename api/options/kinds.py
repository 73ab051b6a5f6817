"""Options, the rows of the table, and kinds of values: text of a person, or a value of Python → a checked value."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from inspect import iscoroutinefunction
from math import inf
from numbers import Integral, Real
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

from logreplay.core.files import check_nameable, writable
from logreplay.core.quantities import (
    as_timedelta,
    fraction_of,
    parse_rates,
    pause_of,
    percentage_of,
    picture,
    positive_rate,
    price_of,
    seconds_of,
)
from logreplay.options import load, request_rules, sender_rules

BOUNDS: Final = {
    **{"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9", "p9999": "p99.99", "p99999": "p99.999"},
    **{"mean": "mean", "max": "max"},
}
"""Statistics of the response time that can be bounded, as people write them."""
FORMER: Final = {"demand": "tps"}
"""Earlier names of parameters and settings by their names; both are read."""
_SHORTEST_TURN_S: Final = 0.1
_LONGEST_FILE: Final = 1 << 16
"""Characters of a file with values of an option."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What an option accepts.

    A value of Python is spelled as the text that the command line would have, and the same function reads both.

    Attributes:
        annotation: annotation of the parameter.
        read: text → checked value; raises `ValueError`. Or its name, as `function_of` takes it.
        types: Python types other than text that a value may have.
        between: separators of a value with several parts, from the outermost to the innermost.
        marked: the attribute of objects that are not converted, such as functions.
        convert: such an object → checked value, or its name, as for ``read``; None: the object itself is the value.
        choices: the only texts; empty: whatever ``read`` accepts.
    """

    annotation: str
    read: Callable[[str], Any] | str = str
    types: tuple[type, ...] = ()
    between: tuple[str, ...] = ()
    marked: str = ""
    convert: Callable[[Any], Any] | str | None = None
    choices: tuple[str, ...] = ()

    @property
    def reader(self) -> Callable[[str], Any]:
        """The function that reads a text."""
        return function_of(self.read)

    def checked(self, value: object) -> Any:
        """Check a value of Python."""
        taken = isinstance(value, bool) and self.annotation.startswith("bool")
        if taken or (self.marked and hasattr(value, self.marked)):
            if iscoroutinefunction(value):
                raise ValueError(f"{value.__name__} is async, and logreplay does not await it; write def")
            return value if self.convert is None else function_of(self.convert)(value)
        text = self.spelled(value)
        if not text.strip():
            raise ValueError("is empty: give a value, or None")
        if not writable(text):
            raise ValueError("holds a character that no name of a file and no request can have")
        if self.choices and text not in self.choices:
            raise ValueError(f"expected one of {', '.join(self.choices)}")
        try:
            return self.reader(text)
        except OSError as error:
            raise ValueError(error.strerror) from None
        except ValueError as error:
            raise ValueError(str(error).removeprefix(f"{text!r}: ")) from None

    def several(self, value: object, *, lines: bool = False) -> tuple[Any, ...]:
        """Check the values of a parameter that can have several: one, an iterable of them, or a mapping.

        ``lines``: ``@FILE`` stands for the lines of a file.
        """
        if isinstance(value, Mapping):
            value = value.items()
        values = value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]
        return tuple(map(self.checked, with_lines(values) if lines else values))

    def spelled(self, value: object) -> str:
        """Spell a value of Python as the text that the command line would have."""
        return self._spelled(value, self.between)

    def _part(self, part: Any, between: Sequence[str], whole: object) -> str:
        try:
            return self._spelled(part, between)
        except ValueError as error:
            raise ValueError(f"{part!r} in {whole!r}: {error}") from None

    def _spelled(self, value: Any, between: Sequence[str]) -> str:
        if isinstance(value, str):
            return value
        if between and isinstance(value, Iterable) and not isinstance(value, bytes):
            return between[0].join(self._part(part, between[1:], value) for part in value)
        value = float(value) if isinstance(value, Decimal) else as_timedelta(value)
        if isinstance(value, bool) or not isinstance(value, self.types):
            raise ValueError(f"expected {self.annotation}")
        if isinstance(value, PathLike):
            return str(fspath(value))
        if isinstance(value, datetime):
            return value.isoformat()
        number: Any = value.total_seconds() if isinstance(value, timedelta) else value
        return str(int(number)) if isinstance(number, Integral) else format(Decimal(repr(float(number))), "f")


def function_of(named: Callable[[Any], Any] | str) -> Callable[[Any], Any]:
    """Return a function, or import the one of the library with this name: ``replay.monitor.probes:parse_probe``."""
    return resolve_name(f"logreplay.{named}") if isinstance(named, str) else named


def turn_of(text: str) -> float:
    """Read a duration of 100 ms or more: requests in flight at the end of a turn run into the next one."""
    seconds = seconds_of(text)
    if seconds < _SHORTEST_TURN_S:
        raise ValueError(f"{text!r}: expected 100ms or more")
    return seconds


def bound_of(text: str) -> tuple[str, float]:
    """Read ``p99<300ms`` or ``p99.9<=1s`` as a key of `BOUNDS` and seconds."""
    spoken, below, limit = text.partition("<")
    name = next((name for name, words in BOUNDS.items() if spoken.strip() in (name, words)), "")
    if not (name and below):
        raise ValueError(f"{text!r}: expected a bound such as 'p99<300ms'; bounded are {', '.join(BOUNDS.values())}")
    return name, seconds_of(limit.removeprefix("="))


def two(text: str) -> tuple[str, str]:
    """Read two words with a blank between them."""
    words = text.split()
    if len(words) != 2:
        raise ValueError(f"{text!r}: expected two values, such as two URLs with a blank between them")
    return words[0], words[1]


def whole(least: int, most: int | None = None) -> Kind:
    """A whole number in a range."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= (inf if most is None else most):
            limits = f"{least} or more" if most is None else f"{least} to {most}"
            raise ValueError(f"{text!r}: expected a whole number, {limits}")
        return number

    return Kind("int", read, (Integral,))


def choice(*texts: str) -> Kind:
    """One of these texts."""
    return Kind(f"Literal[{', '.join(map(repr, texts))}]".replace("'", '"'), choices=texts)


def percent(most: float = 1.0) -> Kind:
    """``20%``, ``2.5 %`` or ``0.2`` → a fraction, at most ``most``."""
    return Kind("Share", partial(fraction_of, most=most), (Real,))


def path_of(text: str) -> Path:
    """Read the name of a file or a folder, whether there is one or not."""
    check_nameable(text)
    return Path(text)


def junit_file(text: str) -> Path:
    """Read the name of a file that is replaced, so it must not hold something other than XML."""
    path = Path(text)
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    if path.is_file():
        with path.open("rb") as file:
            if file.read(1) not in (b"", b"<"):
                raise ValueError(f"{path}: exists and is not JUnit XML; choose another name")
    return path


def history_file(text: str) -> Path:
    """Read the name of a file."""
    if (path := Path(text)).is_dir():
        raise ValueError(f"{path}: is a folder; name a file")
    return path


def place(text: str) -> str:
    """Read a place whose differences are ignored."""
    from logreplay.analysis.response_diff.rules import Rules

    Rules.of([text])
    return text


def with_lines(values: Iterable[object]) -> list[object]:
    """Put the lines of a file in the place of its name, ``@FILE``. Blank lines are left out.

    The command line is in the list of processes, which other users of the machine can read; a file need not be.
    """
    lines = [_lines(each) if isinstance(each, str) and each.startswith("@") else [each] for each in values]
    return [line for some in lines for line in some]


def _lines(named: str) -> list[str]:
    try:
        with open(named[1:], encoding="utf-8") as file:
            text = file.read(_LONGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text in UTF-8"
        raise ValueError(f"{named}: cannot be read: {why}") from None
    if len(text) > _LONGEST_FILE:
        raise ValueError(f"{named}: is longer than {_LONGEST_FILE >> 10} KiB; name a file of lines")
    return [line.rstrip("\r") for line in text.split("\n") if line.strip()]


def _no_text(_text: str) -> bool:
    raise ValueError("expected True or False")


def _no_progress(_text: str) -> bool:
    raise ValueError("expected True, False or a function")


SWITCH: Final = Kind("bool", _no_text)
"""A switch that is off by default."""
OFF: Final = Kind("bool", _no_text)
"""On unless the option turns it off."""
EITHER: Final = Kind("bool", _no_text)
"""On or off; the command decides unless it is given."""
TEXT: Final = Kind("str")
TURN: Final = Kind("Seconds", turn_of, (Real, timedelta))
PAIR: Final = Kind("str | tuple[str, str]", two, (), (" ",))
"""Two texts, which are two words on the command line."""
PATH: Final = Kind("File", path_of, (PathLike,))
JUNIT: Final = Kind("File", junit_file, (PathLike,))
HISTORY: Final = Kind("File", history_file, (PathLike,))
PICTURE: Final = Kind("File", picture, (PathLike,))
DURATION: Final = Kind("Seconds", seconds_of, (Real, timedelta))
"""Above 0."""
BOUND: Final = Kind("str", bound_of, (Real, timedelta), ("<",))
PAUSE: Final = Kind("Seconds", pause_of, (Real, timedelta))
"""A `DURATION`, or 0 for no pause."""
RATE: Final = Kind("float", positive_rate, (Real,))
"""Requests per second, above 0."""
PRICE: Final = Kind("float", price_of, (Real,))
"""Above 0, in whatever currency."""
SPEED: Final = Kind("float | str", load.speed_of, (Real,))
RATES: Final = Kind("float | str | Sequence[float]", parse_rates, (Real,), (",",))
RAMP: Final = Kind("str | tuple[float, float]", load.ramp_of, (Real,), ("..",))
STEPS: Final = Kind("str | Sequence[tuple[float, Seconds]]", load.steps_of, (Real, timedelta), (",", ":"))
USERS: Final = Kind("int | str | Sequence[int]", load.users_of, (Integral,), (",",))
MACHINES: Final = Kind("int | str | Sequence[int]", load.machines_of, (Integral,), (",",))
THINK: Final = Kind("Seconds | tuple[Seconds, Seconds]", load.think_of, (Real, timedelta), ("..",))
PAUSES: Final = Kind("Seconds | tuple[Seconds, Seconds]", load.parse_pauses, (Real, timedelta), ("..",))
LATE: Final = Kind("str", sender_rules.late)
CONNECT_TO: Final = Kind("str", "replay.senders.endpoint:ConnectTo.parse")
KEY_PASSWORD: Final = Kind("str", "replay.senders.tls:KeyPassword.parse")
SOURCES: Final = Kind("str | Iterable[str]", "replay.senders.source_addresses:parse_sources", (), (",",))
METHODS: Final = Kind("str | Iterable[str]", sender_rules.methods, (), (",",))
STATUS: Final = Kind("int | str | Iterable[int | str]", request_rules.status, (Integral,), (",",))
METRICS: Final = Kind("str | Iterable[str]", "replay.sessions.server_timing:metrics", (), (",",))
TRACE_URL: Final = Kind("str", "analysis.output.trace_links:trace_url")
PERCENT: Final = Kind("Share", percentage_of, (Real,))
HOST: Final = Kind("str", request_rules.host)
PATTERN: Final = Kind("str", request_rules.pattern)
CLIENT_KEY: Final = Kind("str", "replay.sessions.client_key:ClientKey.parse")
SINCE: Final = Kind("datetime | int | str", request_rules.since, (datetime, Integral))
INSTANT: Final = Kind("datetime | str", types=(datetime,))
KEPT_METHODS: Final = Kind("str | Iterable[str]", between=(",",))
KEPT_STATUS: Final = Kind("int | str | Iterable[int | str]", types=(Integral,), between=(",",))
REWRITE: Final = Kind("str", "replay.requests.filters:Rewritten.parse")
PARAM: Final = Kind("str", request_rules.param, (), ("=",))
HEADER: Final = Kind("str", "replay.requests.headers:parse_header", (), (": ",))
BODY: Final = Kind("str", request_rules.body)
MIX_CHANGE: Final = Kind("str", request_rules.mix_change, (), ("=",))
INJECT: Final = Kind("str", request_rules.injection, (Real, PathLike), (":",))
AUTH: Final = Kind("str | Scheme", "replay.requests.auth.schemes:parse", marked="expires")
HOOK: Final = Kind("str | Hook", marked="__call__")
LOGIN: Final = Kind(
    "File | pd.DataFrame",
    "replay.sessions.logins:LoginFile.parse",
    (PathLike,),
    marked="columns",
    convert="replay.sessions.logins:LoginFile.of_table",
)
EXTRACT: Final = Kind("str", "replay.sessions.extraction:Extraction.parse", (), ("=",))
USE: Final = Kind("str", "replay.sessions.insertion:Insertion.parse", (), ("=",))
STOP: Final = Kind("str | StopFunction", "replay.results.stop_rules:parse", marked="__call__")
ADDRESS: Final = Kind("int | str", "replay.monitor.access:parse_address", (Integral,))
OTLP: Final = Kind("bool | str", "replay.monitor.otlp_settings:otlp_url", convert=lambda wanted: "" if wanted else None)
WATCH: Final = Kind("str", "replay.monitor.probes:parse_probe", (), ("=",))
PLACE: Final = Kind("str", place)
CLUSTER: Final = Kind("str | Client", marked="scheduler", convert=attrgetter("scheduler.address"))
PROGRESS: Final = Kind("bool | ProgressFunction", _no_progress, marked="__call__")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of some commands, and the parameter of their functions.

    Attributes:
        commands: that have it.
        name: name of the parameter, and of the value that the command receives.
        kind: kind of its values.
        help: its effect, as ``--help`` shows it.
        metavar: the value in the help.
        flags: on the command line; empty: ``--`` and the name.
        default: as text; empty: none.
        repeated: ``many`` values; ``once``: a second one is refused, where the last of other options counts; ``lines``:
            many, and ``@FILE`` has one in each line.
        only: ``terminal``: the functions do not have it; ``python``: the command line does not.
        refused: commands that take it only to say why they refuse it.
        required: it must be given.
        hidden: an earlier name, which is read, and which the help does not show.
    """

    commands: str
    name: str
    kind: Kind
    help: str
    metavar: str = ""
    flags: str = ""
    default: str = ""
    repeated: str = ""
    only: str = ""
    refused: str = ""
    required: bool = False
    hidden: bool = False

    @property
    def several(self) -> bool:
        """Whether the option may be repeated."""
        return self.repeated in ("many", "lines")

    @property
    def value(self) -> Any:
        """Value that the function receives if the option is not given."""
        if self.several:
            return ()
        if self.kind in (SWITCH, OFF):
            return self.kind is OFF
        return self.kind.checked(self.default) if self.default else None

    @property
    def names(self) -> Sequence[str]:
        """The options of the command line."""
        return (self.flags or f"--{self.name.replace('_', '-')}").replace("/", " ").split()
