"""The script for k6; tests/test_other_tools.py runs it where k6 is installed."""

import json
import re
from io import BytesIO
from typing import Any

from logreplay.parsers.captures.capture import Capture
from logreplay.parsers.captures.k6 import write_k6


def requests_of(*requests: Capture) -> tuple[str, list[list[Any]]]:
    out = BytesIO()
    write_k6(requests, out)
    script = out.getvalue().decode("ascii")
    return script, [json.loads(line) for line in re.findall(r"^  (\[.*\]),$", script, re.MULTILINE)]


def test_no_value_of_a_log_can_leave_its_string() -> None:
    hostile = '"];\u2028throw 1; //'
    one = Capture("GET", f"/{hostile}", headers=[("X", hostile)], body=b"\xff", host="h", rc=200)
    script, (line,) = requests_of(one)
    assert line == ["GET", f"/{hostile}", {"X": hostile}, "/w=="]
    assert '"http://h"' not in script
    assert '__ENV.TARGET || "http://localhost";' in script


def test_repeated_headers_are_joined_as_http_allows() -> None:
    headers = [("X-V", "1"), ("Cookie", "a=1"), ("Host", "h"), ("x-v", "2"), ("cookie", "b=2"), ("X-W", "")]
    _, (line,) = requests_of(Capture("GET", "/", headers=headers, host="h", rc=200))
    assert line[2] == {"X-V": "1, 2", "Cookie": "a=1; b=2", "X-W": ""}
