"""Options from ``logreplay.toml`` and ``LOGREPLAY_*`` variables.

The command line wins over the environment, that over the file, that over the defaults. A file in the current folder
may come from whoever made the folder, so it cannot do all that its user can: see `REFUSED` and `permission`.
"""

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from logreplay.cli.inputs import say

FILE: Final = "logreplay.toml"
PREFIX: Final = "LOGREPLAY"
REFUSED: Final = {
    "hook": "it runs code",
    "cluster": "code is sent there",
    "force": "it overwrites results",
}
"""Options that a file may not set, and why."""
WIDENING: Final = ("allow-target", "methods", "insecure", "cacert", "watch", "live", "metrics")
"""Options by which more may be done than without: only from a file of one's own, and said at every run."""
_SENDING: Final = ("run", "sweep", "find")
_EPILOG: Final = (
    f"Each option can also stand in {FILE} (logreplay init writes one) or in a variable such as {PREFIX}_{{}}; "
    "the command line wins."
)


def read_settings(group: click.Group, path: Path) -> dict[str, dict[str, Any]]:
    """Read a settings file: options at its top are for every command that has them, ``[run]`` is for ``run``.

    Returns:
        For each command the values by the name of the parameter, as click's ``default_map`` wants them.

    Raises:
        ClickException: it is no TOML, has an unknown name or a value of the wrong kind, or sets what it may not.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise click.ClickException(f"{path}: no TOML: {error}") from None
    known = {name: dict(settable(command)) for name, command in group.commands.items() if command.epilog}
    everywhere = shared(group)
    values: dict[str, dict[str, Any]] = {name: {} for name in known}
    top = {key: value for key, value in found.items() if not isinstance(value, dict)}
    for key, value in top.items():
        where = f"{path}, line {_line(text, '', key)}"
        _check_allowed(where, path, key, value)
        if key not in everywhere:
            some = [name for name, options in known.items() if key in options]
            why = f"; it is not the same in all commands, so put it into {' or '.join(f'[{name}]' for name in some)}"
            raise click.ClickException(
                f"{where}: there is no option {key!r} for all commands{why if some else _meant(key, everywhere)}"
            )
        for name, options in known.items():
            if key in options and _kind(options[key]) == everywhere[key]:
                values[name][options[key].name or ""] = _as_typed(where, key, options[key], value)
    for section in [name for name in found if name not in top]:
        if section not in known:
            where = f"{path}, line {_line(text, section, '')}"
            raise click.ClickException(f"{where}: there is no command {section!r}{_meant(section, known)}")
        for key, value in found[section].items():
            where = f"{path}, line {_line(text, section, key)}"
            if key not in known[section]:
                raise click.ClickException(f"{where}: {section} has no option {key!r}{_meant(key, known[section])}")
            _check_allowed(where, path, key, value)
            parameter = known[section][key]
            values[section][parameter.name or ""] = _as_typed(where, key, parameter, value)
    return values


def shared(group: click.Group) -> dict[str, object]:
    """The options that may stand at the top of a file, and what they are there: what run, sweep and find agree on."""
    kinds: dict[str, list[object]] = {}
    for among in (_SENDING, tuple(group.commands)):
        found: dict[str, list[object]] = {}
        for command in among:
            for key, parameter in settable(group.commands[command]):
                found.setdefault(key, []).append(_kind(parameter))
        kinds = {**found, **kinds}
    return {key: one for key, (one, *others) in kinds.items() if all(other == one for other in others)}


def _kind(parameter: click.Parameter) -> object:
    if not isinstance(parameter, click.Option):
        return "argument"
    return parameter.is_flag, parameter.multiple, parameter.help


def settable(command: click.Command) -> Iterator[tuple[str, click.Parameter]]:
    """What can be set of a command: the long names of its options without ``--``, and its arguments."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield parameter.name or "", parameter
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--"):
                yield name[2:], parameter


def prepare(command: click.Command) -> None:
    """Let a command take its options from variables, too, and say what it takes from the file."""
    stem = (command.name or "").upper()
    for parameter in command.params:
        key = (key_of(parameter) if _positive(parameter) else parameter.name or "").replace("-", "_").upper()
        parameter.envvar = [f"{PREFIX}_{stem}_{key}", f"{PREFIX}_{key}"]
    if command.params:
        command.epilog = _EPILOG.format(f"{stem}_{key_of(command.params[-1]).replace('-', '_').upper()}")
    command.callback = _announced(command.callback) if command.callback else None


def key_of(parameter: click.Parameter) -> str:
    """The name by which a parameter is set."""
    return next((name[2:] for name in parameter.opts if name.startswith("--")), parameter.name or "")


def where_from(error: click.BadParameter) -> str:
    """Where a wrong value came from, if not from the command line; empty if it did."""
    if error.ctx is None or error.param is None or not error.param.name:
        return ""
    source = error.ctx.get_parameter_source(error.param.name)
    if source is ParameterSource.DEFAULT_MAP:
        return f" (from {FILE})"
    if source is ParameterSource.ENVIRONMENT and isinstance(names := error.param.envvar, list):
        return f" (from {next(name for name in names if name in os.environ)})"
    return ""


def _announced(callback: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(callback)
    def announced(**options: Any) -> Any:
        context = click.get_current_context()
        taken = {
            key_of(parameter): parameter.name
            for parameter in context.command.params
            if parameter.name in options and context.get_parameter_source(parameter.name) is ParameterSource.DEFAULT_MAP
        }
        if taken:
            wide = [key for key in WIDENING if key in taken]
            given = context.default_map or {}
            said = ", ".join(f"{key}{_shown(given.get(name, ''))}" for key, name in taken.items())
            say(f"{FILE}: {said}", quiet=bool(options.get("quiet")) and not wide)
        if "allow-target" in taken and "target" in taken:
            options["allow_target"] = permission(options["target"], options["allow_target"])
        return callback(**options)

    return announced


def permission(target: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """What a file's ``allow-target`` permits, if the file also names the target: not that target.

    Otherwise entering a stranger's folder and typing ``logreplay run`` would load whomever the stranger likes.

    Raises:
        ClickException: the file names a target and permits it.
    """
    host = re.sub(r":\d+$", "", re.sub(r"^\w+://", "", target).partition("/")[0]).strip("[]").lower()
    if host in {name.lower().strip("[]") for name in allowed}:
        raise click.ClickException(
            f"{FILE} names the target {target} and permits it itself; one of the two must come from you: "
            f"write the target, or --allow-target {host}, or set {PREFIX}_ALLOW_TARGET={host}"
        )
    return allowed


def _check_allowed(where: str, path: Path, key: str, value: object) -> None:
    why = REFUSED.get(key, "")
    if key == "watch" and any("=!" in str(item) for item in (value if isinstance(value, list) else [value])):
        why = "it runs a command"
    if why and value is not False:
        raise click.ClickException(f"{where}: {key!r} cannot be set in a file: {why}; give it on the command line")
    if key in WIDENING:
        status = path.stat()
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise click.ClickException(
                f"{where}: {key!r} counts only in a file that is yours and that nobody else can write to; "
                f"chmod go-w {path}, or give it on the command line"
            )


def _as_typed(where: str, key: str, parameter: click.Parameter, value: Any) -> Any:
    """A value of the file as it would have come from the command line."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise click.ClickException(f"{where}: {key!r} is a switch: write true or false, not {value!r}")
        on = parameter.flag_value if f"--{key}" in parameter.opts else False
        return on if value else not on
    alone = getattr(parameter, "flag_value", None)  # what --live means without a value
    if value is True and isinstance(alone, str):
        return alone
    if isinstance(value, bool | dict) or value is None:
        raise click.ClickException(f"{where}: {key!r} needs a value, not {str(value).lower()}")
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    items = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return tuple(items) if several else ",".join(items)


def _positive(parameter: click.Parameter) -> bool:
    """Not a switch that turns something off; its variable has the name of what it turns off."""
    return not (isinstance(parameter, click.Option) and parameter.is_flag and parameter.flag_value is False)


def _shown(value: Any) -> str:
    """A value after its name; a switch has none."""
    if isinstance(value, bool):
        return ""
    text = " " + (" ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return "".join(char if char.isprintable() else "?" for char in text)


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.replace("_", "-"), list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(sorted(set(known)))}"


def _line(text: str, section: str, key: str) -> int | str:
    """The line on which a key stands, or a section begins; ``?`` if it is written in an unusual way."""
    at = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*[\"']?([^\]\"']+?)[\"']?\s*\]", line):
            at = header[1]
            if not key and at == section:
                return number
        elif key and at == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return "?"
