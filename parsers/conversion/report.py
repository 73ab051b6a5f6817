"""The account of a conversion: the outcome of every line, and notes for the user on the result."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from logreplay.core.errors import LogreplayError, Loss, TooManyRejects

if TYPE_CHECKING:
    from logreplay.parsers.lines.repeated_lines import RepeatedLines

Progress = Callable[[int, int, int], None]
"""Called with bytes read, bytes in all (0: not known) and lines read."""

Keep = Callable[[str, int, str, bytes, bool], None]
"""Called with file, line number, reason and the bytes of a line that became no row, and whether these are all bytes. If
not, it is called again with the next ones, without a reason."""

TELLING: Final = 10
"""Lines, none of which fits, that show another format; fewer of them may be the damaged ones of an idle hour."""

FIRST_SHOWN: Final = 3
"""Number of bad lines that a report names for each reason."""

_TOLD: Final = (
    *("lines", "converted", "unreplayable", "rejected", "blank", "filtered", "reasons", "format", "share", "server"),
    *("resolution_s", "first", "last", "output", "rejects", "bodies", "notes"),
)
"""Names in the output of ``--json``, in this order."""


@dataclass(slots=True)
class ConvertReport:
    """The outcome of every line.

    ``lines = converted + unreplayable + rejected + blank``, and with filters ``+ filtered``.

    Attributes:
        filtered: rows that the filters left out.
        reasons: why lines became no row, with counts.
        first_bad: the first few of each reason: ``(file, line number, reason)``.
        format: the name of the format; several joined by ``+``.
        share: share of the sample's lines that fit.
        server: the server that wrote the log.
        resolution_s: resolution of the start times, seconds; 1 if they are spread within their second; None: no times.
        first: earliest start, ISO 8601 UTC; empty if there is none.
        last: latest start.
        output: path of the result; ``-``: standard output; empty if there is none, as nothing was converted.
        rejects: path of the reject file; empty if there are none.
        notes: for the user, on times, units and sizes.
        scrambled: True if too many rows go back in time for the timing to be used; a note says it.
        idle_zone: the note that ``--timezone`` had no effect; empty if it had one.
        damaged: by name of a log whose compressed data end too soon, the time before which no request is missing,
            microseconds since 1970; 0: not known. A note names each.
        bodies: path of the file with the bodies; empty if there are none.
        unit: word for the things counted: ``lines``, or ``records`` of a capture.
        per_file: rows in each minute since 1970, UTC, by name of the file.
        files: number of files that are converted.
        misfits: number and reason of the first rejected line, and the count of all, by name of the file.
        fitting: names of the files with a line that became a row or is unreplayable.
    """

    lines: int = 0
    converted: int = 0
    unreplayable: int = 0
    rejected: int = 0
    blank: int = 0
    filtered: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first_bad: list[tuple[str, int, str]] = field(default_factory=list)
    format: str = ""
    share: float = 0.0
    server: str = "unknown"
    resolution_s: float | None = 1.0
    first: str = ""
    last: str = ""
    output: str = ""
    rejects: str = ""
    notes: list[str] = field(default_factory=list)
    scrambled: bool = False
    idle_zone: str = ""
    damaged: dict[str, int] = field(default_factory=dict)
    bodies: str = ""
    unit: str = "lines"
    per_file: dict[str, Counter[int]] = field(default_factory=dict)
    files: int = 1
    misfits: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    fitting: set[str] = field(default_factory=set)

    def accept(self, name: str, count: int = 1) -> None:
        """Count lines that became rows."""
        self.converted += count
        if count:
            self.fitting.add(name)

    def refuse(self, name: str, number: int, kind: str, reason: str) -> None:
        """Count a line that became no row."""
        text = f"{kind}: {reason}"
        self.reasons[text] += 1
        if kind == "rejected":
            self.rejected += 1
            first, why, count = self.misfits.get(name, (number, text, 0))
            self.misfits[name] = (first, why, count + 1)
        else:
            self.unreplayable += 1
            self.fitting.add(name)
        if self.reasons[text] <= FIRST_SHOWN:
            self.first_bad.append((name, number, text))

    def note_damage(self, name: str, compression: str, whole_until: int = 0) -> None:
        """Note a log of which only the lines before the end or the damage of its compressed data were read."""
        self.damaged[name] = whole_until
        kept = f"the {self.unit} before are kept"
        self.notes.append(Loss(f"{name}: the {compression} data end too soon or are damaged; {kept}"))

    @property
    def losses(self) -> list[str]:
        """Sentences that name losses: bytes after the damage in a file, and rejected lines."""
        return [note for note in self.notes if isinstance(note, Loss)] + [self.sentence()] * bool(self.rejected)

    def zone_had_no_effect(self, zone: str, why: str) -> str:
        """The note that ``--timezone`` had no effect, and why; remembered as `idle_zone`."""
        self.idle_zone = f"--timezone {zone} had no effect: {why}"
        return self.idle_zone

    def leave_out_idle_zone(self) -> None:
        """Take back that note: the zone is that of the hours that are shown."""
        self.notes = [note for note in self.notes if note != self.idle_zone]

    def count_minutes(self, name: str, stamps: np.ndarray) -> None:
        """Count rows of a file by the minutes of their times, microseconds since 1970, UTC."""
        minutes, rows = np.unique(stamps // 60_000_000, return_counts=True)
        self.per_file.setdefault(name, Counter()).update(dict(zip(minutes.tolist(), rows.tolist(), strict=True)))

    def sentence(self) -> str:
        """The accounting line, after checking it."""
        parts = [
            (self.converted, "converted"),
            (self.unreplayable, "unreplayable"),
            (self.rejected, "rejected"),
            (self.blank, "blank"),
        ]
        if self.filtered:
            parts.append((self.filtered, "filtered out"))
        total = sum(count for count, _ in parts)
        if self.lines != total:
            raise AssertionError(f"{self.lines} {self.unit}, but {total} accounted for")
        unit = self.unit.removesuffix("s") if self.lines == 1 else self.unit
        return f"{self.lines:,} {unit} = " + " + ".join(f"{count:,} {word}" for count, word in parts)

    def summary(self) -> dict[str, Any]:
        """The output of ``--json``."""
        told = {name: getattr(self, name) for name in _TOLD}
        return told | {"reasons": dict(self.reasons.most_common()), "share": round(self.share, 4)}


@dataclass(frozen=True, slots=True)
class Limit:
    """How many lines may be rejected.

    Attributes:
        count: largest number; None: any number.
        share: largest share of all lines; None: any.
    """

    count: int | None = None
    share: float | None = None

    @classmethod
    def read(cls, text: str) -> "Limit":
        """Read a number of lines, ``100``, or a share, ``2%`` or ``0.02``.

        Raises:
            ValueError: neither.
        """
        number = text.strip().removesuffix("%")
        value = float(number)
        if not 0 <= value < inf or (text.strip() == number and value > 1 and not value.is_integer()):
            raise ValueError(text)
        if text.strip() != number:
            return cls(share=value / 100)
        return cls(count=int(value)) if value.is_integer() else cls(share=value)


@dataclass(frozen=True, slots=True)
class Account:
    """Counts the lines of files, hands on those that became no row, and stops where too many are rejected.

    Attributes:
        report: where they are counted.
        limit: on rejected lines.
        keep: told about lines that became no row; None: nobody is.
        progress: told after each block.
    """

    report: ConvertReport
    limit: Limit = field(default_factory=Limit)
    keep: Keep | None = None
    progress: Progress | None = None

    def refuse(self, name: str, number: int, kind: str, reason: str, line: bytes, *, whole: bool = True) -> None:
        """Count a line that became no row, and hand it on."""
        self.report.refuse(name, number, kind, reason)
        if self.keep:
            self.keep(name, number, f"{kind}: {reason}", line, whole)

    def check_limit(self, *, final: bool = False) -> None:
        """Check that no more lines were rejected than the user allows; shares are known at the end only."""
        report, limit = self.report, self.limit
        if final and report.damaged and limit != Limit():
            raise TooManyRejects(
                f"{', '.join(report.damaged)}: the compressed data end too soon or are damaged, so the number of "
                f"rejected {report.unit} is unknown; copy the log again, or leave out --strict and --max-rejects"
            )
        rejected, allowed = report.rejected, limit.count
        if final and limit.share is not None:
            allowed = int(round(limit.share * report.lines, 6))  # 0.29 * 100 is below 29
        if allowed is not None and rejected > allowed:
            name, number, reason = next(item for item in report.first_bad if item[2].startswith("rejected"))
            raise TooManyRejects(
                f"{name}: line {number}: {reason}; {rejected:,} of {report.lines:,} lines rejected"
                f"{'' if final else ' so far'}, {allowed:,} allowed; mend the log, or allow more with --max-rejects"
            )

    def finish(
        self, sums: Mapping[str, tuple[int, int]], repeated: "RepeatedLines", files: Sequence[tuple[str, str, str]]
    ) -> None:
        """Check files that are read to their ends.

        No two hold the same lines, and none was rejected whole, except for fewer than `TELLING` lines beside other
        files or with a limit.

        Args:
            sums: bytes of each file that may be equal to another, and their CRC-32.
            repeated: samples of the files.
            files: name, format and remedy of each file.
        """
        known: dict[tuple[int, int], str] = {}
        for name, found in sums.items():
            if known.setdefault(found, name) != name:
                raise LogreplayError(
                    f"{known[found]} and {name} hold the same lines: they would be counted twice; name one of them"
                )
        repeated.check()
        self.check_limit(final=True)
        report = self.report
        least = TELLING if len(files) > 1 or self.limit != Limit() else 1
        for name, format, remedy in files:
            number, reason, count = report.misfits.get(name, (0, "", 0))
            if name not in report.fitting and count >= least:
                line = report.unit.removesuffix("s")
                raise LogreplayError(f"{name}: no {line} fits the format {format}; {line} {number}: {reason}; {remedy}")
