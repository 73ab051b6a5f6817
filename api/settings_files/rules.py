"""Rules for a settings file: options that it may not set, those that count only in a file of one's own, and places.

A file in the current folder may come from whoever made the folder, so it cannot do all that its user can. Nothing that
it says lets a bare command write or read secrets outside of the folder, listen for others, or send to a destination
that the file permits itself.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.core.masking import terminal_safe

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
    *("allow-target", "methods", "insecure", "cacert", "tls-name", "auth"),
    *("watch", "live", "metrics", "share", "show-secrets"),
)
"""Options by which more may be done than without: only from a file of one's own, and said at every run."""
DESTINATIONS: Final = ("target", "baseline", "candidate", "noise", "swap")
"""Parameters that name where requests go; in `compare`, files."""
NEEDS_TYPED_DESTINATION: Final = ("methods", "auth", "cert", "candidate-cert")
"""Options that count from a file only beside a destination that the user gave."""
_SENDS: Final = "allow_target"
"""The parameter that each command that sends to a destination has."""
_FILES: Final = (
    *("forecast", "scaling", "output", "junit", "history", "rejects", "resume", "control", "login", "cacert", "cert"),
    *("key", "candidate-cert", "candidate-key", "key-password", "candidate-key-password", "auth", "body", "inject"),
    *("header", "var", "format"),
)
_LISTENS: Final = ("live", "metrics")
_READS: Final = ("log", "logs", "results", "from", "costs", "baseline", "candidate", "more")
_WRITES_BESIDE: Final = ("analyze", "results")
"""A command that writes into, or beside, what this parameter names."""
_MAY_BE_TARGET: Final = ("log", *DESTINATIONS)
"""Parameters whose web address is a target, which needs permission; a web address of another would be downloaded."""
_LOOPBACK: Final = r"(?:127(?:\.[0-9]{1,3}){3}|localhost|\[::1\])"
_PORT: Final = re.compile(rf"auto|(?:{_LOOPBACK}:)?[0-9]+")
_WATCHED: Final = re.compile(
    rf"(?:[A-Za-z_]\w*(?:/s)?(?::[\d.]+)?=)?(?:(?:nginx:|prometheus:|node:)?https?://{_LOOPBACK}(?::[0-9]+)?(?:[/?#].*)?|(?:pid|cgroup):[^=]*)",
    re.ASCII,
)
"""Sources that `--watch` may read: pages, processes and groups of this machine, not a database with credentials."""


def opposite(key: str) -> str:
    """Return the name of the option that undoes another one: ``tps`` and ``no-tps``, ``no-cache`` and ``cache``."""
    return key.removeprefix("no-") if key.startswith("no-") else f"no-{key}"


def permission(target: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """What a file's ``allow-target`` permits, if the file also names the target: not that target.

    Otherwise entering a stranger's folder and typing ``logreplay run`` would load a target that the stranger chose.
    """
    host = re.sub(r":\d+$", "", re.sub(r"^\w+://", "", target).partition("/")[0]).strip("[]").lower()
    if host in {name.lower().strip("[]") for name in allowed}:
        raise LogreplayError(
            f"{FILE} names the target {target} and permits it itself; one of the two must come from you: "
            f"write the target, or --allow-target {host}, or set LOGREPLAY_ALLOW_TARGET={host}"
        )
    return allowed


def check_allowed(where: str, path: Path, key: str, value: object) -> None:
    """Check that a file may set an option."""
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


def check_places(file: str, command: str, taken: Mapping[str, Any]) -> None:
    """Check the places that a settings file names, before any value is read."""
    for key, text in _texts(taken):
        if why := _refused(command, key, text):
            raise LogreplayError(f"{file}: {key} {terminal_safe(text)}: {why}; give it on the command line")


def check_destination(file: str, taken: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
    """Refuse values that count only beside a destination which the user gave.

    ``taken``: what the file sets, by key; ``parameters``: all values of the command.
    """
    if _SENDS not in parameters or is_from_user(taken, parameters):
        return
    for key in NEEDS_TYPED_DESTINATION:
        if key in taken and not (parameters.get("demo_target") or parameters.get("dry_run")):
            raise LogreplayError(
                f"{file} sets {key}, and no target comes from you; a file cannot do both: write the target, or give "
                f"--{key} on the command line"
            )


def is_from_user(taken: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    """Whether the user, and not the file or a log, names every destination."""
    named = [name for name in DESTINATIONS if parameters.get(name) is not None]
    return bool(named) and not any(name in taken for name in named)


def _texts(taken: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in taken.items():
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str):
                yield key, text


def _refused(command: str, key: str, text: str) -> str:
    """Why a file may not say this; empty if it may."""
    if key in DESTINATIONS and text.startswith("unix:"):
        return "a file cannot name the socket of another program"
    is_own = key in _FILES or (command, key) == _WRITES_BESIDE
    if is_own and (path := _path(key, text)) and not _is_inside(path):
        return "a file cannot name a path outside of its folder"
    if key in _LISTENS and not _PORT.fullmatch(text):
        return "a file cannot open a port to other machines"
    if key == "watch" and not _WATCHED.fullmatch(text):
        return "a file cannot have other machines asked"
    if key in _READS and (scheme := re.match(r"([a-z0-9]+)://", text, re.IGNORECASE)):
        if scheme[1].lower() not in ("http", "https"):
            return "a file cannot have a store read with your credentials"
        if key not in _MAY_BE_TARGET:
            return "a file cannot name a log on a web server"
    return ""


def _path(key: str, text: str) -> str:
    """The path in a value; empty if there is none."""
    match key:
        case "header":
            return text[1:] if text.startswith("@") else ""
        case "var":
            return _path("header", text.partition("=")[2])
        case "format":
            return "" if re.search("[$%]", text) else text.rpartition("#")[0] or text
        case "key-password" | "candidate-key-password":
            return text.removeprefix("file:") if text.startswith("file:") else ""
        case "auth":
            scheme, _, path = text.partition(":")
            return "" if scheme == "aws" else path
        case "body" | "inject":
            return text.rpartition(":")[0]
    return text


def _is_inside(path: str) -> bool:
    """Whether a path, all links followed, is the current folder or lies in it."""
    folder = os.path.join(os.path.realpath("."), "")
    return os.path.join(os.path.realpath(path), "").startswith(folder)


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
