"""Rules for a settings file: options that it may not set, and those that count only in a file of one's own.

A file in the current folder may come from whoever made the folder, so it cannot do all that its user can.
"""

import os
import re
import stat
from pathlib import Path
from typing import Final

from logreplay.core.errors import LogreplayError

FILE: Final = "logreplay.toml"
REFUSED: Final = {
    "hook": "it runs code",
    "cluster": "code is sent there",
    "force": "it overwrites results",
    "otlp": "it sends the figures of a run elsewhere",
    "connect-to": "it sends elsewhere than the target says",
}
"""Options that a file may not set, and why."""
WIDENING: Final = (
    *("cert", "key", "key-password", "candidate-cert", "candidate-key", "candidate-key-password"),
    *(
        "allow-target",
        "methods",
        "insecure",
        "cacert",
        "tls-name",
        "auth",
        "watch",
        "live",
        "metrics",
        "share",
        "show-secrets",
    ),
)
"""Options by which more may be done than without: only from a file of one's own, and said at every run."""


def opposite(key: str) -> str:
    """Return the name of the option that undoes another one: ``tps`` and ``no-tps``, ``no-cache`` and ``cache``."""
    return key.removeprefix("no-") if key.startswith("no-") else f"no-{key}"


def permission(target: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """What a file's ``allow-target`` permits, if the file also names the target: not that target.

    Otherwise entering a stranger's folder and typing ``logreplay run`` would load whomever the stranger likes.

    Raises:
        LogreplayError: the file names a target and permits it.
    """
    host = re.sub(r":\d+$", "", re.sub(r"^\w+://", "", target).partition("/")[0]).strip("[]").lower()
    if host in {name.lower().strip("[]") for name in allowed}:
        raise LogreplayError(
            f"{FILE} names the target {target} and permits it itself; one of the two must come from you: "
            f"write the target, or --allow-target {host}, or set LOGREPLAY_ALLOW_TARGET={host}"
        )
    return allowed


def check_allowed(where: str, path: Path, key: str, value: object) -> None:
    """Check that a file may set an option.

    Raises:
        LogreplayError: it may not.
    """
    undone = opposite(key)
    if undone in REFUSED or undone in WIDENING:  # no-force = false is force = true
        key, value = undone, not value
    why = REFUSED.get(key, "")
    if key == "watch" and any("=!" in str(item) for item in (value if isinstance(value, list) else [value])):
        why = "it runs a command"
    if why and value is not False:
        raise LogreplayError(f"{where}: {key!r} cannot be set in a file: {why}; give it on the command line")
    if key in WIDENING:
        status = path.stat()
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise LogreplayError(
                f"{where}: {key!r} counts only in a file that is yours and that nobody else can write to; "
                f"chmod go-w {path}, or give it on the command line"
            )


def line_of(text: str, section: str, key: str) -> int | str:
    """The line on which a key stands, or a section begins; ``?`` if it is written in an unusual way."""
    at = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.match(r"\s*\[\s*[\"']?([^\]\"']+?)[\"']?\s*\]", line):
            at = header[1]
            if not key and at == section:
                return number
        elif key and at == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return "?"
