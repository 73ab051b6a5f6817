"""Makes crossings one after the other, and keeps what they find."""

import json
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from crossings.oracle import Finding, findings
from crossings.pairs import Case, defaults, endless
from crossings.running import Ran, run
from crossings.table import COMMANDS
from crossings.world import make_world
from support.certificates import Authority

REPEAT: Final = "python -m crossings --case {}"


@dataclass(frozen=True)
class Crossed:
    """A crossing that ended, and what was wrong with it."""

    case: Case
    ran: Ran
    findings: list[Finding]

    def __str__(self) -> str:
        said = "\n".join(f"  {finding.kind}: {finding.text}" for finding in self.findings)
        return f"{shlex.join(['logreplay', *self.ran.words])}\n{said}\n  repeat: {self.repeat}"

    @property
    def repeat(self) -> str:
        """The shell line that makes it again, from the folder ``tests``."""
        return REPEAT.format(shlex.quote(self.case.id))

    def as_json(self) -> str:
        """All that is known of it."""
        facts = {
            "case": self.case.id,
            "repeat": self.repeat,
            "command": shlex.join(["logreplay", *self.ran.words]),
            "findings": [asdict(finding) for finding in self.findings],
            "code": self.ran.code,
            "seconds": self.ran.seconds,
            "signalled": self.ran.signalled,
            "out": self.ran.out[-20_000:],
            "err": self.ran.err[-20_000:],
            "received": sum(self.ran.got.requests.values()),
        }
        return json.dumps(facts, indent=1)


class Crossings:
    """Makes crossings in folders below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._authority = Authority(folder / "authority")
        self._client = {path.name: path.read_bytes() for path in self._authority.client("client")}
        self._number = 0

    def cross(self, case: Case, *, keep: bool = False) -> Crossed:
        """Make one crossing; its folder is removed unless it is to be kept."""
        self._number += 1
        folder = self._folder / str(self._number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        world = make_world(case, folder, self._authority.cert.read_bytes(), self._client)
        ran = run(case, world, self._authority.good)
        found = findings(case, ran, world)
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        return Crossed(case, ran, found)

    def smallest(self, crossed: Crossed, go_on: Callable[[], bool]) -> Crossed:
        """Set back to its default every factor without which the same kind of finding is still made."""
        kinds = {finding.kind for finding in crossed.findings}
        plain = defaults(COMMANDS[crossed.case.command])
        for factor, value in plain.items():
            smaller = crossed.case.but(factor, value)
            if smaller.id == crossed.case.id or bool(smaller.refused) != bool(crossed.case.refused) or not go_on():
                continue
            again = self.cross(smaller)
            if kinds & {finding.kind for finding in again.findings}:
                crossed = again
        return crossed

    def close(self) -> None:
        """Remove the folder, if nothing is kept in it."""
        with suppress(OSError):
            shutil.rmtree(self._folder / "authority")
            self._folder.rmdir()


def work(job: int, jobs: int, seed: int, until: float, findings: Path, commands: Sequence[str]) -> tuple[int, int]:
    """Make crossings, of every so-many-th seed, until an instant (wall clock).

    Returns:
        How many crossings were made, and how many found something.
    """
    made = found = 0
    crossings = Crossings(Path(mkdtemp(prefix="crossings-")))
    for case in endless(seed + job, jobs, commands):
        if time.time() > until:
            break
        crossed = crossings.cross(case)
        made += 1
        if crossed.findings:
            crossed = crossings.smallest(crossed, lambda: time.time() < until)
            found += 1
            (findings / f"{seed}-{job}-{made}.json").write_text(crossed.as_json())
            print(crossed, flush=True)
    crossings.close()
    return made, found
