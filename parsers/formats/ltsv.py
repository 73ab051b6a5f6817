"""Labeled tab-separated values: ``label:value`` between tabs, in any order.

Source: http://ltsv.org/
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from logreplay.parsers.fields.values import CLEAN
from logreplay.parsers.formats.field_names import choose, meaning
from logreplay.parsers.formats.format import Format

_SHAPES: Final = {
    "request": rf"(?P<op>[A-Z]+) (?P<url>/{CLEAN}*)(?: (?P<protocol>HTTP/[0-9.]+))?",
    "op": r"(?P<op>[A-Z]+)",
    "url": rf"(?P<url>/{CLEAN}*)",
    "args": rf"(?P<args>{CLEAN}*)",
    "rc": r"(?P<rc>[0-9]{3})",
    "bytes": r"(?P<bytes>[0-9]+|-)",
    "total": r"(?P<total>[0-9]+(?:\.[0-9]+)?|-)",
    "first": r"(?P<first>[0-9]+(?:\.[0-9]+)?|-)",
    "client": r'(?P<client>[ -~--[\\ ,"\[]]*)',
}


@dataclass(frozen=True, slots=True)
class LtsvLayout:
    """Lines of labels.

    Attributes:
        labels: which label fills which raw field.
        fast: fits clean lines with the labels in their usual order.
    """

    labels: tuple[tuple[str, str], ...]
    fast: str

    @property
    def fields(self) -> frozenset[str]:
        """The raw columns it can deliver."""
        return frozenset(slot for slot, _ in self.labels)

    @property
    def tiers(self) -> int:
        """1: there is only one careful way."""
        return 1

    def split(self, lines: pl.Series) -> pl.DataFrame:
        """Split clean lines with one pattern."""
        return lines.str.extract_groups(self.fast).struct.unnest()

    def split_carefully(self, lines: pl.Series, tier: int) -> pl.DataFrame:
        """Read each line by itself."""
        rows = [self._values(line) for line in lines]
        return pl.DataFrame(rows, schema=dict.fromkeys((slot for slot, _ in self.labels), pl.String), orient="row")

    def _values(self, line: str) -> dict[str, str]:
        found = pairs(line)
        values = {slot: found[label] for slot, label in self.labels if label in found}
        return {"rc": "", **values} if "request" in values or "url" in values else {}


def pairs(line: str) -> dict[str, str]:
    """Split a line into labels and values; of a repeated label the first counts."""
    found: dict[str, str] = {}
    for item in line.split("\t"):
        label, colon, value = item.partition(":")
        if colon:
            found.setdefault(label, value)
    return found


def from_sample(lines: Sequence[str]) -> Format | None:
    """Find the format of LTSV lines by their labels; None if they are not LTSV, or hold no request."""
    records = [found for line in lines if "\t" in line and len(found := pairs(line)) > 2]
    slots = choose(Counter(label for record in records for label in record))
    if not slots:
        return None
    asked = slots.get("request") or slots["url"]
    order = Counter(tuple(record) for record in records if asked in record).most_common(1)[0][0]
    slot_of = {label: slot for slot, label in slots.items() if label in order}
    fast = "\t".join(_item(label, slot_of.get(label, "")) for label in order)
    layout = LtsvLayout(tuple(slots.items()), f"^{fast}$")
    durations = {slot: [record.get(slots.get(slot, ""), "") for record in records] for slot in ("total", "first")}
    return Format(name="ltsv", layout=layout, source="http://ltsv.org/", **meaning(slots, durations))


def _item(label: str, slot: str) -> str:
    text = _SHAPES.get(slot) or (rf"(?P<{slot}>[ -~--[\\]]*)" if slot else r"[^\t]*")
    return re.escape(label) + ":" + text
