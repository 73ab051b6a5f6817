"""The script for k6; tests/test_other_tools.py runs it where k6 is installed."""

import json
import re
from io import BytesIO

from logreplay.parsers.captures.export import Exported
from logreplay.parsers.captures.k6 import write_k6


def test_no_value_of_a_log_can_leave_its_string() -> None:
    hostile = '"];\u2028throw 1; //'
    one = Exported(0, "GET", f"/{hostile}", "http://h/" + hostile, "h", [("X", hostile)], b"\xff", "", 200, 0, 0.0, 0.0)
    out = BytesIO()
    write_k6([one], out)
    script = out.getvalue().decode("ascii")
    (line,) = re.findall(r"^  (\[.*\]),$", script, re.MULTILINE)
    assert json.loads(line) == ["GET", f"/{hostile}", {"X": hostile}, "/w=="]
    assert '__ENV.TARGET || "http://h"' in script
