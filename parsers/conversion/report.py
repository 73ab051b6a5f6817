"""The account of a conversion: the outcome of every line, and notes for the user on the result."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from logreplay.core.errors import Loss

FIRST_SHOWN: Final = 3
"""Number of bad lines that a report names for each reason."""


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
        return {
            "lines": self.lines,
            "converted": self.converted,
            "unreplayable": self.unreplayable,
            "rejected": self.rejected,
            "blank": self.blank,
            "filtered": self.filtered,
            "reasons": dict(self.reasons.most_common()),
            "format": self.format,
            "share": round(self.share, 4),
            "server": self.server,
            "resolution_s": self.resolution_s,
            "first": self.first,
            "last": self.last,
            "output": self.output,
            "rejects": self.rejects,
            "bodies": self.bodies,
            "notes": self.notes,
        }
