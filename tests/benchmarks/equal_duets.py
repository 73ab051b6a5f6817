"""Counts the duets of two equal targets over HTTP/2 whose times are called different.

Usage, from the folder ``tests``: ``python -m benchmarks.equal_duets [DUETS [SECONDS]]``, for so many duets with
TLS and as many without. A target that always gets its request before the other one looks faster. Where other programs
keep the processors busy, ``chrt -f 1`` before the command gives the duets and their targets priority over them.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from support.certificates import Authority
from support.command_line import COMMAND
from support.instant_http2 import instant_http2

RATE: Final = 150
"""Pairs per second."""
HEADER: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


def called(folder: Path, duets: int, seconds: float, *, tls: bool) -> Counter[str]:
    """Make duets one after the other; count their verdicts on the candidate: ``slower``, ``faster`` or ``equal``."""
    log, authority = folder / "access.csv", Authority(folder / "tls")
    log.write_text(f"{HEADER}\n2026-01-01,00:00:00,0,0,0,5,/ok,200,GET\n")
    found = Counter[str]()
    with ExitStack() as stack:
        certificate = [authority.cert.parent / f"good.{kind}" for kind in ("pem", "key")] if tls else []
        urls = [stack.enter_context(instant_http2(*certificate)) for _ in range(2)]
        for number in range(duets):
            pace = ["--tps", str(RATE), "--for", f"{seconds}s", "--seed", str(number)]
            how = ["--http", "2", "--cacert", str(authority.cert), "--no-digest"]
            command = [*COMMAND, "duet", str(log), *urls, *pace, *how]
            result = folder / f"duet-{number}"
            subprocess.run([*command, "-o", str(result), "-q"], check=False)  # an invalid duet is one, too
            sentence = json.loads((result / "summary.json").read_text())["times"]["sentence"]
            found[next(iter(re.findall(r"\b(?:slower|faster)\b", sentence)), "equal")] += 1
    return found


def main() -> None:
    """Print the counts."""
    duets, seconds = [int(sys.argv[1]) if len(sys.argv) > 1 else 40, float(sys.argv[2]) if len(sys.argv) > 2 else 2.5]
    for tls in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            found = called(Path(folder), duets, seconds, tls=tls)
        sys.stdout.write(f"{'TLS' if tls else 'plain'}: {duets} duets of {seconds:g} s, {dict(found)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
