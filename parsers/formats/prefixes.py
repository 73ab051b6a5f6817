"""Prefixes of log shippers (syslog, containers): found in a sample of lines, then removed from whole blocks."""

import json
from dataclasses import dataclass
from typing import Final

import polars as pl

from logreplay.parsers.formats.named_values import as_text


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix of lines: its name and pattern; for ``docker-json`` the line is inside a JSON object."""

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
