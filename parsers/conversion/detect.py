"""Detects the format of a log: the one that fits most lines of a sample, whatever the file's name or first line."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS
from logreplay.parsers.captures.formats import CAPTURES
from logreplay.parsers.conversion.parse import BLANK, ParsedBlock, may_fit, parse
from logreplay.parsers.conversion.report import TELLING
from logreplay.parsers.conversion.source import Block, count_lines, text_lines
from logreplay.parsers.fields.units import UNITS
from logreplay.parsers.formats import infer
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.format import Format, TextLayout
from logreplay.parsers.formats.format_spec import defined
from logreplay.parsers.formats.json_writers import is_of_known_writer
from logreplay.parsers.formats.named_values import (
    JsonLayout,
    NamedValues,
    as_text,
    json_from_sample,
    ltsv_from_sample,
    of_other_writers,
)
from logreplay.parsers.formats.w3c import FieldsDirective, stretches

_FIELDS: Final = re.compile(rb"^#Fields:", re.MULTILINE)
_SAYS: Final = re.compile(rb"^(?:#Fields:|[\0 \t]*[^#\s\0])", re.MULTILINE)

ENOUGH: Final = 0.5
"""Share of the sample's lines that must fit; below it, and without a single certain request, the file is rejected."""

_MARKS: Final = {
    "nginx": r'\\x[0-9A-F]?[A-F]|\\x5C|\\x22|" (?:499|444|49[4-7]) [0-9]|"" 4[0-9]{2} [0-9]',
    "apache": r'\\x[0-9a-f]?[a-f]|\\["\\nrtbv]|"-" 408 |" [0-9]{3} -(?: |$)| "" \[',
}
"""Patterns that only one of the two servers writes."""

GOOD: Final = 0.9
"""Share below which prefixes and layouts of the log's own are tried."""

_MOST_WRITERS: Final = 8
"""Number of writers of JSON, or of LTSV, that are looked for: the format of each is tried on many lines."""
FEW: Final = 0.02
"""Smallest share of lines for which a further format is tried."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix that a log shipper puts before lines (syslog, containers); ``docker-json`` wraps them in JSON."""

    name: str
    pattern: str

    def fits(self, lines: pl.Series) -> float:
        """The share of lines that have it."""
        return float(lines.str.contains(self.pattern).sum()) / max(len(lines), 1)

    def strip(self, lines: pl.Series) -> pl.Series:
        """Remove it; lines without it stay unchanged."""
        if self.name == "docker-json":
            return pl.Series(lines.name, [_inner(line) for line in lines], pl.String)
        return lines.str.replace(self.pattern, "")


def _inner(line: str) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    inner = record.get("log") if isinstance(record, dict) else None
    text = as_text(inner) if isinstance(inner, str) else None
    return line if text is None else text.rstrip("\r\n").replace("\n", " ")


_TAG: Final = r"[^\s:\[\]]+(?:\[[0-9]+\])?: ?"

PREFIXES: Final = (
    Prefix("syslog", rf"^(?:<[0-9]{{1,3}}>)?[A-Z][a-z]{{2}} [ 0-9][0-9] [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}} \S+ {_TAG}"),
    Prefix("syslog-iso", rf"^(?:<[0-9]{{1,3}}>)?[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T\S+ \S+ {_TAG}"),
    Prefix("syslog-5424", r"^<[0-9]{1,3}>1 \S+ \S+ \S+ \S+ \S+ (?:-|(?:\[[^\]]*\])+) ?"),
    Prefix("cri", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T\S+ (?:stdout|stderr) [FP] "),
    Prefix("docker-json", r'^\{"log":\s*"'),
    Prefix("kubectl", r"^\[pod/[^\]]+\] "),
    Prefix("docker-compose", r"^[A-Za-z0-9_.-]+ +\| "),
)
"""Sources: RFC 3164, RFC 5424; https://kubernetes.io/docs/concepts/cluster-administration/logging/;
https://docs.docker.com/engine/logging/drivers/json-file/"""


@dataclass(frozen=True, slots=True)
class Detection:
    """The formats, prefix, units and time stamps by which a log is read.

    Attributes:
        formats: the main one first; the others for lines that it does not fit. Empty where directives in the log
            (``#Fields``) say how its lines are laid out.
        prefix: text in front of each line.
        share: share of the sample's lines that fit.
        clean: share of the sample's lines that fit the strict rules.
        sample: number of lines looked at.
        server: who wrote the log; ``unknown`` where nothing in the sample tells.
        w3c_unit: seconds in one unit of the durations of W3C logs, but those of IIS and CloudFront.
        note: note on that unit, for the user.
        time_unit: unit of all durations whose own names tell none; empty: as the formats say.
        stamped: overrides what stamps mean; empty: as the formats say.
    """

    formats: tuple[Format, ...]
    prefix: Prefix | None = None
    share: float = 0.0
    clean: float = 0.0
    sample: int = 0
    server: str = "unknown"
    w3c_unit: float = 1.0
    note: str = ""
    time_unit: str = ""
    stamped: Literal["", "start", "end"] = ""

    @property
    def name(self) -> str:
        """The formats' names joined, with that of the prefix."""
        names = "+".join(dict.fromkeys(format.name for format in self.formats)) or "w3c"
        return f"{names} after {self.prefix.name}" if self.prefix else names

    def parse(self, lines: pl.Series, formats: Sequence[Format], zone: str) -> ParsedBlock:
        """Parse lines of the log."""
        return parse(self.prefix.strip(lines) if self.prefix else lines, [self.adjusted(f) for f in formats], zone)

    def adjusted(self, format: Format) -> Format:
        """A format with the units that the log's values tell, and the user's own settings of units and time stamps."""
        if format.server == "w3c":
            format = replace(format, total_unit=self.w3c_unit, first_unit=self.w3c_unit)
        if self.time_unit:
            unit = UNITS[self.time_unit]
            total, first = (
                known if name in format.named else unit
                for name, known in (("total", format.total_unit), ("first", format.first_unit))
            )
            format = replace(format, total_unit=total, first_unit=first)
        if self.stamped:
            format = replace(format, stamp=replace(format.stamp, at=self.stamped))
        return format

    def pieces(
        self, blocks: Iterable[Block], header: FieldsDirective | None = None
    ) -> Iterator[tuple[Block, tuple[Format, ...]]]:
        """Cut the blocks of one file where its directives change the layout."""
        if self.formats:
            for block in blocks:
                yield block, self.formats
            return
        header = header or FieldsDirective()
        for block in blocks:
            if block.part:
                yield block, ()
                continue
            line = block.first
            for begin, end, format in stretches(block.data, header):
                data = block.data[begin:end]
                yield replace(block, data=data, first=line), (format,) if format else ()
                line += count_lines(data)


def says_format(data: bytes) -> bool:
    """Whether lines can tell the format of their log: not all of them are blank or comments."""
    return bool(_SAYS.search(data))


class _UnknownFormat(LogreplayError):
    """A log is in no known format."""


def detect_each(samples: Sequence[bytes], names: Sequence[str], wanted: str = "auto") -> list[Detection]:
    """Choose the formats of each of several logs; those that have their fields in the same places share a reading.

    Raises:
        LogreplayError: as for `detect`; it names the log that fits no format, if that has `TELLING` lines or is alone.
            A shorter one gets the reading of another log, so that its lines are rejected.
    """
    telling = [at for at, sample in enumerate(samples) if says_format(sample)] or [0]
    if len(telling) == 1 or wanted not in ("auto", "json", "ltsv"):
        return [detect([samples[at] for at in telling], names[telling[0]], wanted)] * len(samples)
    directed = [at for at in telling if wanted == "auto" and _FIELDS.search(samples[at])]
    groups = [[at] for at in directed] + [[at for at in telling if at not in directed]]
    found: dict[int, Detection] = {}
    unread: dict[int, _UnknownFormat] = {}
    for rest in groups:
        while rest:
            try:
                reading, alike = _shared([(at, samples[at], names[at]) for at in rest], wanted)
            except _UnknownFormat as error:
                if count_lines(samples[rest[0]]) >= TELLING:
                    raise
                alike, unread[rest[0]] = rest[:1], error
            else:
                found |= dict.fromkeys(alike, reading)
            rest = [at for at in rest if at not in alike]
    if not found:
        raise next(iter(unread.values()))
    main = next(iter(found.values()))
    for at in unread:
        like = Detection(()) if at in directed else main
        found[at] = replace(like, share=0.0, clean=0.0, sample=count_lines(samples[at]) or 1)
    if told := next((found[at] for at in directed if found[at].note), None):  # a log of an idle hour tells no unit
        found |= {at: replace(found[at], w3c_unit=told.w3c_unit) for at in directed if not found[at].note}
    return [found.get(at, main) for at in range(len(samples))]


def _shared(logs: Sequence[tuple[int, bytes, str]], wanted: str) -> tuple[Detection, list[int]]:
    """Find a reading that many of the logs share, or that of the first one; return it and the numbers of its logs.

    Each log is given as its number, sample and name.
    """
    (at, first, name), *others = logs
    if not others:
        return detect([first], name, wanted), [at]
    try:
        reading = detect([sample for _, sample, _ in logs], name, wanted)
        alike = [log for log in logs if _suits(reading, log[1], wanted)]
    except _UnknownFormat:
        alike = []
    if not alike:
        reading = detect([first], name, wanted)
        alike = [logs[0], *(log for log in others if _suits(reading, log[1], wanted))]
    return (reading, [at for at, _, _ in alike]) if len(alike) == len(logs) else _shared(alike, wanted)


def _suits(reading: Detection, sample: bytes, wanted: str) -> bool:
    """Whether a reading finds what the log's own would: the same named fields, and as many lines by strict rules."""
    lines = text_lines(sample)
    lines = lines.filter(~lines.str.contains(BLANK))
    bare = reading.prefix.strip(lines) if reading.prefix else lines
    for format in _by_names(bare.to_list()):
        known = [_places(each) for each in reading.formats if each.name == format.name]
        if known and not any(_places(format) <= places for places in known):
            return False
    clean = 1 - len(_misfits(bare, reading.formats, 0)) / max(len(bare), 1)
    try:
        return clean >= min(GOOD, reading.clean) or clean >= detect([sample], "", wanted).clean
    except _UnknownFormat:
        return len(_misfits(bare, reading.formats)) <= (1 - ENOUGH) * len(bare)


def _places(format: Format) -> set[tuple[str, object]]:
    """The raw fields of a format whose values have names, each with that name."""
    return {*format.layout.paths} if isinstance(format.layout, NamedValues) else set()


def detect(samples: Sequence[bytes], name: str, wanted: str = "auto") -> Detection:
    """Choose the formats of a log by samples of it.

    Raises:
        LogreplayError: fewer than half of the lines fit any format and none is certainly a request, or ``wanted`` is
            unknown or fits no line.
    """
    given = defined(wanted, [each.name for each in CAPTURES])
    data = b"".join(sample if sample.endswith(b"\n") else sample + b"\n" for sample in samples if sample)
    lines = text_lines(data)
    if lines[0].startswith(",".join(CORE_COLUMNS)):
        raise LogreplayError(f"{name}: is a normalized CSV already; name the file to convert, or replay it")
    if (given is None and wanted == "auto" and _FIELDS.search(data)) or wanted in ("w3c", "iis"):
        unit, note = _w3c_unit(samples)
        return replace(_by_directives(data, name), w3c_unit=unit, note=note)
    lines = lines.filter(~lines.str.contains(BLANK))
    reading, shown = _best(lines, given, wanted), lines
    for prefix in PREFIXES:
        if prefix.fits(lines) > ENOUGH:
            bare = prefix.strip(lines)
            stripped = _best(bare, given, wanted)
            if stripped.clean >= reading.clean and stripped.share > reading.share - FEW:
                reading, shown = replace(stripped, prefix=prefix), bare
    if wanted == "auto":
        reading = _of_its_own(reading, shown)
    if not reading.formats:
        seen = f"; its first line: {lines[0][:120]!r}" if len(lines) else ""
        raise _UnknownFormat(
            f"{name}: -f {wanted}: no line of the sample is {wanted.upper()} with a request in it{seen}; leave out -f, "
            "or name another format"
        )
    reading = replace(reading, server=_server(reading, shown))
    if given is None and reading.share < ENOUGH and not _holds_requests(reading.formats[0], shown):
        rest = shown.gather(_misfits(shown, reading.formats))
        raise _UnknownFormat(
            f"{name}: not an access log, or in an unknown format: {reading.share:.0%} of the sample's lines fit"
            + (f"; one that does not fit: {rest[0][:120]!r}" if len(rest) else "")
            + f"; give the format: logreplay convert {shlex.quote(name)} -f FORMAT"
            + f"; a CSV needs the columns {','.join(CORE_COLUMNS)}" * (len(rest) > 0 and rest[0].count(",") > 1)
        )
    return reading


def _of_its_own(reading: Detection, lines: pl.Series) -> Detection:
    """The layout learned from the lines, where the known ones fit few of them, or mistake referers for user agents."""
    mistaken = _mistaken_texts(reading, lines)
    if (reading.clean >= GOOD and not mistaken) or not (format := infer.from_sample(lines.to_list())):
        return _without(reading, mistaken)
    own = _choose(lines, [format] if mistaken else [*reading.formats, format])
    better = own.clean >= reading.clean if mistaken else own.clean > reading.clean + FEW
    if better and own.share > reading.share - FEW:
        return replace(own, prefix=reading.prefix)
    return _without(reading, mistaken)


def _mistaken_texts(reading: Detection, lines: pl.Series) -> frozenset[str]:
    """Referer or agent, where their columns mostly hold the other, or numbers."""
    have = reading.formats[0].layout.fields & {"referer", "agent"} if reading.formats else frozenset()
    if not have or not isinstance(reading.formats[0].layout, TextLayout):
        return frozenset()
    rows = parse(lines, reading.formats[:1]).rows
    looks = {slot: infer.look_of(rows[slot].drop_nulls().to_list()) for slot in have}
    return frozenset(slot for slot, look in looks.items() if look not in (slot, "empty", ""))


def _without(reading: Detection, slots: frozenset[str]) -> Detection:
    """A reading that leaves out these fields of its main format, and says so."""
    if not slots:
        return reading
    main = reading.formats[0]
    assert isinstance(main.layout, TextLayout)
    what = " and ".join("user agent" if slot == "agent" else slot for slot in sorted(slots))
    note = f"where {main.name} has the {what}, other values stand, so these are left out: give the format with -f"
    main = replace(main, layout=main.layout.without(slots), note="; ".join(filter(None, (main.note, note))))
    return replace(reading, formats=(main, *reading.formats[1:]))


def _holds_requests(format: Format, lines: pl.Series) -> bool:
    """Whether some lines are certainly requests: a format with method, time and status fits them."""
    fields = format.layout.fields
    return {"time", "rc"} <= fields and bool({"request", "op"} & fields) and parse(lines, [format]).rows.height > 0


def _by_directives(data: bytes, name: str) -> Detection:
    if not _FIELDS.search(data):
        raise LogreplayError(
            f"{name}: has no #Fields line, which -f w3c and iis need; leave out -f, or name another format"
        )
    header, count, rows, misfits = FieldsDirective(), 0, 0, []
    for begin, end, format in stretches(data, header):
        lines = text_lines(data[begin:end])
        parsed = parse(lines, [format] if format else [])
        rejected = [refusal.line for refusal in parsed.refusals if refusal.kind == "rejected"]
        misfits += [(lines[number], header.mismatch(lines[number])) for number in rejected[:1]]
        rows += parsed.rows.height + len(parsed.refusals) - len(rejected)
        count += parsed.rows.height + len(parsed.refusals)
    if count and rows < ENOUGH * count:
        why = header.fault() or f"one that does not fit{misfits[0][1]}: {misfits[0][0][:120]!r}"
        raise _UnknownFormat(f"{name}: has #Fields, but only {rows / count:.0%} of the sample's lines fit; {why}")
    server = "iis" if "Internet Information" in header.software else "w3c"
    return Detection((), share=rows / count if count else 1.0, sample=count, server=server)


def _w3c_unit(samples: Sequence[bytes]) -> tuple[float, str]:
    """Find the unit of the durations in W3C logs whose directives do not tell it; return it and a note, as `unit_of`.

    The standard has seconds with decimals; IIS logs whole milliseconds, and says so only with ``#Software``.
    """
    values: list[str] = []
    for sample in samples:
        for begin, end, format in stretches(sample, FieldsDirective()):
            if format and format.server == "w3c" and "total" in format.layout.fields:
                values += format.layout.split(text_lines(sample[begin:end]))["total"].drop_nulls().to_list()
    if not set(values) - {"-", "0"}:
        return 1.0, ""
    if any("." in value for value in values):
        return (
            1.0,
            "the durations in time-taken are taken as seconds, as they have decimals; change it with --time-unit",
        )
    why = "as they are whole and #Software does not name IIS"
    return UNITS["ms"], f"the durations in time-taken are taken as milliseconds, {why}; change it with --time-unit"


def _server(reading: Detection, lines: pl.Series) -> str:
    """The server that wrote the log; between nginx and Apache, inferred from escapes, status codes and sizes."""
    format = reading.formats[0]
    if format.name not in ("combined", "common"):
        return format.server
    marks = {server: int(lines.str.contains(pattern).sum()) for server, pattern in _MARKS.items()}
    best = max(marks, key=marks.__getitem__)
    return best if marks[best] > sum(marks.values()) / 2 else "unknown"


def _best(lines: pl.Series, given: Format | None, wanted: str) -> Detection:
    """The format that fits most lines, then the one that fits most of the rest, and so on."""
    if given is not None:
        return _choose(lines, [given])
    objects = bool(lines.str.contains("{", literal=True).any())  # without one, no format of JSON fits
    known = [each for each in FORMATS if objects or not isinstance(each.layout, JsonLayout)] if wanted == "auto" else []
    return _choose(lines, [*known, *_by_names(lines.to_list(), wanted)])


def _by_names(lines: Sequence[str], wanted: str = "auto") -> list[Format]:
    """The formats of JSON and of LTSV that the names in some lines tell, one a writer, unless the writer is known."""
    makers = {"json": json_from_sample, "ltsv": ltsv_from_sample}
    unknown = [line for line in lines if not is_of_known_writer(line)] if wanted == "auto" else lines
    found: list[Format] = []
    for make in (make for name, make in makers.items() if wanted in ("auto", name)):
        rest, mixed = unknown, len(unknown) < len(lines)
        # beside other writers, lines without a status are mostly messages of these
        for _ in range(_MOST_WRITERS):
            format = make(rest)
            if not format or (mixed and "rc" not in format.layout.fields):
                break
            found.append(format)
            rest, mixed = of_other_writers(format, rest), True
    return found


def _choose(lines: pl.Series, candidates: Sequence[Format]) -> Detection:
    chosen: list[Format] = []
    misfits: list[float] = []
    rest = lines
    for tiers in (0, 1, 9):  # clean lines first, then what fits by a format's rules, at last what it can bear
        rest = rest.gather(_misfits(rest, chosen, tiers))
        able = [each for each in candidates if each not in chosen and (tiers or may_fit(rest, each))]
        while len(rest):
            best, left = None, rest
            for format in able:
                if len(after := rest.gather(_misfits(rest, [format], tiers))) < len(left):
                    best, left = format, after
                    if not len(left):  # none can do better
                        break
            if best is None or (chosen and len(rest) - len(left) < FEW * len(lines) and len(lines) > 200):
                break
            chosen.append(best)
            able.remove(best)
            rest = left
        misfits.append(len(rest) / max(len(lines), 1))
    formats = tuple(chosen) or tuple(candidates[:1])
    return Detection(formats, share=1 - misfits[-1], clean=1 - misfits[0], sample=len(lines))


def _misfits(lines: pl.Series, formats: Sequence[Format], tiers: int = 9) -> list[int]:
    return [refusal.line for refusal in parse(lines, formats, tiers=tiers).refusals if refusal.kind == "rejected"]
