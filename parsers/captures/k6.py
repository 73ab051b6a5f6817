"""A k6 script that sends the requests of a log in their order, at a constant rate.

Source: https://grafana.com/docs/k6/latest/ (scenarios, SharedArray, k6/encoding)
"""

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import BinaryIO, Final

from logreplay.parsers.captures.capture import Capture

_HEAD: Final = """\
// Made by logreplay. Run with: k6 run -e TARGET=http://127.0.0.1:8080 -e RATE=10 THIS_FILE
// Each request is: method, path, headers, body as base64 (null: none).
import http from "k6/http";
import encoding from "k6/encoding";
import exec from "k6/execution";
import { SharedArray } from "k6/data";

const requests = new SharedArray("requests", () => [
"""
_TAIL: Final = """\
]);

const target = __ENV.TARGET || "http://localhost"; // no host of the log: clients choose these
const rate = Number(__ENV.RATE || 10);

export const options = {
  scenarios: {
    replay: {
      executor: "constant-arrival-rate",
      rate,
      timeUnit: "1s",
      duration: `${Math.ceil(requests.length / rate)}s`,
      preAllocatedVUs: Number(__ENV.VUS || 50),
    },
  },
};

export default function () {
  const number = exec.scenario.iterationInTest;
  if (number >= requests.length) return;
  const [method, path, headers, body] = requests[number];
  http.request(method, target + path, body === null ? null : encoding.b64decode(body), { headers });
}
"""


def write_k6(requests: Iterable[Capture], out: BinaryIO) -> None:
    """Write a script with the requests in it."""
    out.write(_HEAD.encode())
    for one in requests:
        body = None if one.body is None else b64encode(one.body).decode()
        path = one.target if one.target.startswith("/") else f"/{one.target}"
        out.write(f"  {_script(one.op, path, _joined(one.headers), body)},\n".encode())
    out.write(_TAIL.encode())


def _joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers without Host, one of each name; repeated ones are joined (RFC 9110, 5.2; Cookie: RFC 6265, 5.4)."""
    names: dict[str, str] = {}
    joined: dict[str, str] = {}
    for name, value in headers:
        if (key := name.lower()) == "host":
            continue
        first = names.setdefault(key, name)
        comma = "; " if key == "cookie" else ", "
        joined[first] = joined[first] + comma + value if first in joined else value
    return joined


def _script(*values: object) -> str:
    """Values as JavaScript; JSON's line separators are escaped, since they end a line in older scripts."""
    return json.dumps(values)
