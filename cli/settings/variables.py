"""Options from variables: ``LOGREPLAY_RUN_TPS`` for one command, ``LOGREPLAY_TIMEOUT`` for all that share it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.settings.file import configurable, kind_of, shared
from logreplay.cli.settings.option_names import is_switch, switched, takes_several
from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.core.masking import terminal_safe

PREFIX: Final = "LOGREPLAY_"
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def read_variables(
    group: click.Group, environment: Mapping[str, str], tell: Callable[[str], object] = say
) -> dict[str, dict[str, Setting]]:
    """Read the settings in an environment. An empty variable counts as not set.

    A variable of an unknown name has no effect: it may belong to a build or a cluster, such as ``LOGREPLAY_IMAGE``.

    Args:
        tell: called with a sentence for each such variable.

    Returns:
        For each command the settings by the name of the parameter.

    Raises:
        ClickException: an option does not mean the same in all commands, two variables set it, or a switch has a value
            other than 1 or 0.
    """
    found = {name: text for name, text in environment.items() if name.startswith(PREFIX) and text}
    if not found:
        return {}
    commands = configurable(group)
    everywhere = shared(group)
    general: dict[str, dict[str, Setting]] = {name: {} for name in commands}
    single: dict[str, dict[str, Setting]] = {name: {} for name in commands}
    for variable, text in found.items():
        key = variable.removeprefix(PREFIX).lower().replace("_", "-")
        command = next((name for name in commands if key.startswith(f"{name}-")), "")
        parameter = commands.get(command, {}).get(key.removeprefix(f"{command}-"))
        if parameter is not None:
            name = key.removeprefix(f"{command}-")
            _put(single[command], parameter, _setting(variable, name, parameter, text, Rank.COMMAND_VARIABLE))
        elif key in everywhere:
            for other, options in commands.items():
                if key in options and kind_of(options[key]) == everywhere[key]:
                    _put(general[other], options[key], _setting(variable, key, options[key], text, Rank.VARIABLE))
        elif having := [name for name, options in commands.items() if key in options]:
            names = " or ".join(variable_of(name, key) for name in having)
            raise click.ClickException(f"{variable}: {key!r} does not mean the same in all commands; set {names}")
        else:
            tell(f"{terminal_safe(variable)} has no effect: {_unknown(key, command, commands, everywhere)}")
    return {name: general[name] | single[name] for name in commands}


def _put(settings: dict[str, Setting], parameter: click.Parameter, setting: Setting) -> None:
    name = parameter.name or ""
    if name in settings:
        both = f"{settings[name].origin} and {setting.origin}"
        raise click.ClickException(f"{both} set the same option: leave out one of them")
    settings[name] = setting


def _unknown(
    key: str, command: str, commands: Mapping[str, Mapping[str, click.Parameter]], everywhere: Mapping[str, object]
) -> str:
    """Say that no option has this name, and which names are near to it."""
    from logreplay.options.spelling import near_names  # loads all tables: only for an error

    if command:
        key = key.removeprefix(f"{command}-")
        by_option = {option: variable_of(command, option) for option in commands[command]}
    else:
        by_option = {
            option: variable_of(name, option)
            for name, options in reversed(list(commands.items()))
            for option in options
        }
        by_option |= {option: variable_of(option) for option in everywhere}
    near = " or ".join(by_option[option] for option in near_names(key, by_option))
    where = f"{command} has" if command else "there is"
    return f"{where} no option {key!r}" + (f"; did you mean {near}?" if near else "")


def variable_of(*parts: str) -> str:
    """Return the variable of an option: of a command and its option, or of an option for all commands."""
    return PREFIX + "_".join(parts).replace("-", "_").upper()


def _setting(variable: str, key: str, parameter: click.Parameter, text: str, rank: Rank) -> Setting:
    value: Any = text
    if is_switch(parameter):
        if text.lower() not in (*_ON, *_OFF):
            raise click.ClickException(f"{variable}={text}: {key!r} is a switch; set 1 or 0")
        value = switched(parameter, key, on=text.lower() in _ON)
    elif parameter.nargs > 1:
        value = tuple(text.split())
    elif takes_several(parameter):
        value = tuple(line for line in text.split("\n") if line.strip())
    return Setting(value, rank, variable)
