"""Logs whose lines name their values: JSON, one object a line, and LTSV, ``label:value`` between tabs in any order.

The fast path hands whole blocks of JSON to Polars' reader, and those of LTSV to one pattern with the labels in their
usual order. Other lines go to Python; JSON with the repairs that real logs need: nginx's default escape puts ``\\xHH``
into strings, and a missing number leaves ``"rt":,``.

Source: http://ltsv.org/
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import polars as pl

from logreplay.parsers.fields.values import CLEAN
from logreplay.parsers.formats.field_names import choose, has_status, meaning
from logreplay.parsers.formats.format import Format

Key = tuple[str, ...]
"""Path of a value: names from the outside in, perhaps with `_FIRST` at the end."""

_FIRST: Final = "[0]"
"""Last step of a path: the first value of a list."""

_SUSPECT: Final = r"\\x|[\x00-\x1f]|:\s*[,}\-][^0-9]|:\s*-?[,}]"
_HEX: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\x([0-9A-Fa-f]{2})")
_STRING_OR_VALUE: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+"?+|:\s*+(?:(?P<list>(?:-|[0-9.]+)(?:(?:, | : )(?:-|[0-9.]+))++)|-)?+\s*+(?P<end>(?=[,}]))?+'
)
"""Possessive, and whatever it begins it takes: no character of a line is looked at from two places."""
_OTHER_ESCAPE: Final = re.compile(r'(?<!\\)((?:\\\\)*)\\([^"\\/bfnrtu])')

_REQUEST: Final = rf"(?P<op>[A-Z]+) (?P<url>/{CLEAN}*)(?: (?P<protocol>HTTP/[0-9.]+))?"
_CLEAN_VALUES: Final = {
    "op": "[A-Z]+",
    "url": f"/{CLEAN}*",
    **dict.fromkeys(("args", "query"), f"{CLEAN}*"),
    "rc": "[0-9]{1,3}",
    **dict.fromkeys(("bytes", "request_bytes"), "[0-9]{1,18}|-"),
    **dict.fromkeys(("total", "first"), r"[0-9.]+(?:[eE]-?[0-9]+)?s?|-"),
    "client": r"[!#-+\--Z\]-~]*",
}
"""Patterns of raw fields that need no decoding; all others are printable ASCII."""
_TEXT: Final = r"(?:[ -Z\\-z|}~][ -~]*)?"
"""Printable ASCII that is neither a list nor an object of JSON."""
_ABSOLUTE: Final = r"^https?://(?P<host>[A-Za-z0-9.:_-]+)(?P<url>/[!$-\[\]-~]*)$"
"""An absolute URI whose parts need no decoding."""
_NO_ESCAPES: Final = r"[ -~--[\\]]*"
"""Printable ASCII without the escapes of a log."""
NEEDED: Final = frozenset({"op", "url", "rc", "time", "mark"})
"""Raw fields without which no line is clean; ``mark``: a value that only one writer of these names has."""

_LONGEST: Final = 1 << 16
"""Bytes of a line that is split as part of a block: Polars takes quadratic time for a key that an object repeats."""


@dataclass(frozen=True, slots=True)
class NamedValues:
    """A record a line; each raw field is the value at a path; if it has several paths, the first value."""

    paths: tuple[tuple[str, Key], ...]

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.paths)

    @property
    def tiers(self) -> int:
        return 1

    def split_carefully(self, lines: pl.Series, tier: int) -> pl.DataFrame:
        """Read each line by itself."""
        rows = [self._values(self.record(line)) for line in lines]
        return pl.DataFrame(rows, schema=dict.fromkeys((name for name, _ in self.paths), pl.String), orient="row")

    def _values(self, record: Mapping[str, Any] | None) -> dict[str, str | None]:
        if record is None:
            return {}
        found: dict[str, str | None] = {}
        for name, path in self.paths:
            if found.get(name) is None:
                found[name] = as_text(dig(record, path))
        request = found.get("request") if "request" in found else found.get("url")
        return {} if request is None or found.get("mark", "") is None else {**found, "rc": found.get("rc") or ""}

    def record(self, line: str) -> Mapping[str, Any] | None:
        """The values of a line by their names; None if it has none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class JsonLayout(NamedValues):
    """One object a line; ``lower_case``: methods are written so."""

    lower_case: bool = False

    def _values(self, record: Mapping[str, Any] | None) -> dict[str, str | None]:
        found = NamedValues._values(self, record)
        op = found.get("op")
        return {**found, "op": op.upper()} if op and self.lower_case else found

    def record(self, line: str) -> Mapping[str, Any] | None:
        return load(line)

    def split(self, lines: pl.Series) -> pl.DataFrame:
        """Split whole blocks; blocks with invalid JSON, and long lines, are left to the careful path."""
        whole = lines.str.starts_with("{") & lines.str.ends_with("}") & (lines.str.len_bytes() <= _LONGEST)
        values = self._read(lines.filter(whole))
        if values is None:
            whole &= ~lines.str.contains(_SUSPECT)
            values = self._read(lines.filter(whole))
        if values is None:
            return pl.DataFrame(schema=dict.fromkeys(self._columns, pl.String)).clear(len(lines))
        raw = self._apart(values.select(self._value(name) for name in self._slots))
        clean = raw.select(pl.all_horizontal(map(_is_clean, raw.columns))).to_series()
        if clean.all() and whole.all():
            return raw
        places = pl.int_range(len(lines), eager=True).alias("place")
        table = raw.filter(clean).with_columns(places.filter(whole).filter(clean))
        return places.to_frame().join(table, on="place", how="left", maintain_order="left").drop("place")

    def _read(self, lines: pl.Series) -> pl.DataFrame | None:
        """The values of all lines; None if any of them is not valid JSON."""
        if not len(lines):
            return None
        data = (lines.str.join("\n")[0] + "\n").encode()
        try:
            values = pl.read_ndjson(data, schema=self._schema(), ignore_errors=True)
        except pl.exceptions.PolarsError:
            return None
        return values if values.height == len(lines) else None

    @property
    def _slots(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.paths))

    def _value(self, slot: str) -> pl.Expr:
        value = pl.coalesce(_at(path) for name, path in self.paths if name == slot).alias(slot)
        return value.str.to_uppercase() if slot == "op" and self.lower_case else value

    @property
    def _columns(self) -> list[str]:
        names = [name for name in self._slots if name != "request"]
        return names + [name for name in ("op", "url", "protocol") if "request" in self.fields and name not in names]

    def _apart(self, raw: pl.DataFrame) -> pl.DataFrame:
        if "request" not in raw.columns:
            return _without_origin(raw.select(self._columns))
        line = raw["request"].str.extract_groups(f"^{_REQUEST}$").struct.unnest()
        return raw.drop("request").with_columns(line.get_columns()).select(self._columns)

    def _schema(self) -> pl.Schema:
        tree: dict[str, Any] = {}
        for _, path in self.paths:
            branch = tree
            *steps, last = path[:-1] if path[-1] == _FIRST else path
            for step in steps:
                branch = branch.setdefault(step, {})
            branch[last] = pl.List(pl.String) if path[-1] == _FIRST else pl.String
        return pl.Schema({name: _struct(branch) for name, branch in tree.items()})


def _struct(branch: Any) -> Any:
    return pl.Struct({name: _struct(inner) for name, inner in branch.items()}) if isinstance(branch, dict) else branch


def _at(path: Key) -> pl.Expr:
    value = pl.col(path[0])
    for step in path[1:]:
        value = value.list.first() if step == _FIRST else value.struct.field(step)
    return value


def _without_origin(raw: pl.DataFrame) -> pl.DataFrame:
    """Absolute URIs as path and host, as `values.parts` takes them apart."""
    if not raw["url"].str.starts_with("http").any():
        return raw
    parts = raw["url"].str.extract_groups(_ABSOLUTE).struct.unnest()
    host = pl.coalesce(parts["host"], raw["host"]) if "host" in raw.columns else parts["host"]
    return raw.with_columns(url=pl.coalesce(parts["url"], raw["url"]), host=host)


def _is_clean(name: str) -> pl.Expr:
    """Whether values of a raw field need no decoding."""
    pattern = _CLEAN_VALUES.get(name, _TEXT)
    return pl.col(name).str.contains(f"^(?:{pattern})$").fill_null(name not in NEEDED)


def load(line: str) -> Mapping[str, Any] | None:
    """Read one line as a JSON object, repaired if needed; None if that fails. Numbers stay text."""
    text = line.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    for repair in (str, _repaired):
        try:
            record = json.loads(repair(text), parse_float=str, parse_int=str, strict=False)
        except (ValueError, RecursionError):
            continue
        return record if isinstance(record, dict) else None
    return None


def _repaired(text: str) -> str:
    text = _HEX.sub(r"\1\\u00\2", text)
    text = _OTHER_ESCAPE.sub(r"\1\\u005c\2", text)
    return _STRING_OR_VALUE.sub(_filled, text)


def _filled(found: re.Match[str]) -> str:
    """A list of numbers, or no value at all, as JSON has it; other texts unchanged."""
    if found["end"] is None:
        return found[0]
    return f':"{found["list"]}"' if found["list"] else ":null"


def dig(record: Any, path: Key) -> Any:
    """The value at a path; of a list its first; None if there is none."""
    for step in path:
        if step == _FIRST and isinstance(record, list):
            break
        if not isinstance(record, dict):
            return None
        record = record.get(step)
    return next(iter(record), None) if isinstance(record, list) else record


def as_text(value: Any) -> str | None:
    """A JSON value as the text that a log would have; half of a surrogate pair becomes U+FFFD."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class LtsvLayout(NamedValues):
    """Labels; ``fast`` fits clean lines that have them in their usual order."""

    fast: str

    def record(self, line: str) -> Mapping[str, Any]:
        return pairs(line)

    def split(self, lines: pl.Series) -> pl.DataFrame:
        return lines.str.extract_groups(self.fast).struct.unnest()


def pairs(line: str) -> dict[str, str]:
    """Split a line into labels and values; of a repeated label the first counts."""
    found: dict[str, str] = {}
    for item in line.split("\t"):
        label, colon, value = item.partition(":")
        if colon:
            found.setdefault(label, value)
    return found


def _item(label: str, slot: str) -> str:
    """The pattern of a label and its clean value; the value of a label without a slot may be any."""
    value = _REQUEST if slot == "request" else f"(?P<{slot}>{_CLEAN_VALUES.get(slot, _NO_ESCAPES)})"
    return re.escape(label) + ":" + (value if slot else r"[^\t]*")


def json_from_sample(lines: Sequence[str]) -> Format | None:
    """Find the format of the writer of most JSON lines by the names of their values; None if they hold no request."""
    records = [record for line in lines if (record := load(line)) is not None]
    answered = [record for record in records if has_status(record)]  # the others may be messages of another kind
    slots, about = _named(answered or records)
    layout = JsonLayout(tuple((slot, (name,)) for slot, name in slots.items()))
    return Format(name="json", layout=layout, escaped=False, **about) if slots else None


def ltsv_from_sample(lines: Sequence[str]) -> Format | None:
    """Find the format of the writer of most LTSV lines by their labels; None if they hold no request."""
    records = [found for line in lines if "\t" in line and len(found := pairs(line)) > 2]
    slots, about = _named(records)
    if not slots:
        return None
    asked = slots.get("request") or slots["url"]
    order = Counter(tuple(record) for record in records if asked in record).most_common(1)[0][0]
    slot_of = {label: slot for slot, label in slots.items() if label in order}
    fast = "\t".join(_item(label, slot_of.get(label, "")) for label in order)
    layout = LtsvLayout(tuple((slot, (label,)) for slot, label in slots.items()), f"^{fast}$")
    return Format(name="ltsv", layout=layout, source="http://ltsv.org/", **about)


def of_other_writers(format: Format, lines: Sequence[str]) -> list[str]:
    """The lines that name a request, its time or its status otherwise than a format of JSON or LTSV."""
    layout = format.layout
    assert isinstance(layout, NamedValues)
    names = {slot: path[-1] for slot, path in layout.paths}
    return [line for line in lines if not _is_alike(_telling(layout.record(line) or {}), names)]


def _named(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], dict[str, Any]]:
    """The name of each raw field for the writer of most requests, and the attributes of a `Format` that names tell.

    Without a request, no names.
    """
    telling = [_telling(record) for record in records]
    usual = Counter(tuple(names.items()) for names in telling if names).most_common(1)
    if not usual:
        return {}, {}
    names = dict(usual[0][0])
    records = [record for record, own in zip(records, telling, strict=True) if _is_alike(own, names)]
    given = Counter(name for record in records for name in _given(record))
    given.update(dict.fromkeys((name for record in records for name in record if _is_text(record[name])), 0))
    slots = choose(given)
    durations = {
        slot: [as_text(record.get(slots.get(slot, ""))) or "" for record in records] for slot in ("total", "first")
    }
    return slots, meaning(slots, durations)


def _given(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the values that a record has."""
    return tuple(name for name, value in record.items() if _is_text(value) and value not in (None, "", "-"))


def _is_text(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _telling(record: Mapping[str, Any]) -> Mapping[str, str]:
    """The names of a record for a request, its time and its status; none without a request."""
    return _telling_of(_given(record))


@lru_cache(256)
def _telling_of(given: tuple[str, ...]) -> Mapping[str, str]:
    slots = choose(dict.fromkeys(given, 1))
    return {slot: slots[slot] for slot in ("time", "request", "op", "url", "rc") if slot in slots}


def _is_alike(own: Mapping[str, str], names: Mapping[str, str]) -> bool:
    """Whether the telling names of a record can be those of a writer, who may leave some out."""
    whole_line = ("request" in own) == ("request" in names) or not own
    return whole_line and all(names.get(slot, name) == name for slot, name in own.items())
