"""A name that has another address when it is looked up again: no command connects where it did not check."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from support.command_line import COMMAND, MEASURED

LOG: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client\n" + "".join(
    f"2026-01-01,00:00:{second:02d}.000000,0,0,0,0,/{second},200,GET,10.0.0.{second % 4}\n" for second in range(50)
)
RUN: Final = "run log.csv {target} --tps 50 --for 1s"
IN_NAMESPACES: Final = ("unshare", "-rnm")
"""A user, a network and mounts of its own."""


def can_unshare() -> bool:
    return (
        bool(shutil.which("unshare")) and not subprocess.run([*IN_NAMESPACES, "true"], capture_output=True).returncode
    )


needs_namespaces = pytest.mark.skipif(not can_unshare(), reason="no namespaces can be made")


def commanded(folder: Path, command: str) -> Any:
    """What becomes of a command to the name; see `support.rebinding`."""
    (folder / "log.csv").write_text(LOG)
    words = [*IN_NAMESPACES, sys.executable, "-m", "support.rebinding", str(folder), *COMMAND, *command.split()]
    done = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


@needs_namespaces
@pytest.mark.parametrize(
    "command",
    [
        RUN,
        *(
            pytest.param(command, marks=pytest.mark.slow)
            for command in (
                f"{RUN} --no-keep-alive",
                f"{RUN} --no-keep-alive --sender aiohttp",
                f"{RUN} --by-client",
                f"{RUN} --workers 2",
                f"{RUN} --cluster local:2",
                "sweep 50,100 log.csv {target} --for 1s",
                "find log.csv {target} --p50 0.001ms --start 20",
            )
        ),
    ],
)
def test_a_name_that_changes_its_address_is_looked_up_once(command: str, tmp_path: Path) -> None:
    done = commanded(tmp_path, command)
    assert done["code"] in (*MEASURED, 4), done["err"]
    assert {*done["came"]} == {"127.0.0.1"}
    assert done["asked"] == 1


@needs_namespaces
def test_each_look_is_followed_by_a_check(tmp_path: Path) -> None:
    """A duet looks once for each target, and sends nothing before all may be loaded."""
    done = commanded(tmp_path, "duet log.csv {target} {target} --tps 50 --for 1s")
    assert done["code"] == 1
    assert "rebind.test (10.9.9.9) is not this machine" in done["err"]
    assert (done["asked"], done["came"]) == (2, [])
