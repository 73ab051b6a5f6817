"""Options from variables: ``LOGREPLAY_RUN_TPS`` for one command, ``LOGREPLAY_TIMEOUT`` for all that share it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.core.masking import terminal_safe
from logreplay.options import kinds
from logreplay.settings_files.entries import is_replaced
from logreplay.settings_files.keys import Key, everywhere, keys, meanings

PREFIX: Final = "LOGREPLAY_"
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def read_variables(
    environment: Mapping[str, str], tell: Callable[[str], object] = say
) -> dict[str, dict[str, Setting]]:
    """Read the settings in an environment. An empty variable counts as not set.

    For each command the settings by the name of the parameter. A variable of an unknown name has no effect, and is
    told: it may belong to a build or a cluster, such as ``LOGREPLAY_IMAGE``.
    """
    found = {name: text for name, text in environment.items() if name.startswith(PREFIX) and text}
    if not found:
        return {}
    general: dict[str, dict[str, Setting]] = {name: {} for name in meanings()}
    single: dict[str, dict[str, Setting]] = {name: {} for name in meanings()}
    shared = {name.removeprefix(PREFIX).lower() for name in found}
    for variable, text in found.items():
        key = variable.removeprefix(PREFIX).lower().replace("_", "-")
        command = next((name for name in meanings() if key.startswith(f"{name}-")), "")
        own = key.removeprefix(f"{command}-") if command else key
        if command and own in keys(command):
            _put(single[command], own, keys(command)[own], Setting(text, Rank.COMMAND_VARIABLE, variable))
        elif key in everywhere():
            for other, meant in meanings().items():
                if meant.get(key) == everywhere()[key] and not is_replaced(key, shared, meant):
                    _put(general[other], key, keys(other)[key], Setting(text, Rank.VARIABLE, variable))
        elif having := [name for name in meanings() if key in keys(name)]:
            names = " or ".join(variable_of(name, key) for name in having)
            raise click.ClickException(f"{variable}: {key!r} does not mean the same in all commands; set {names}")
        else:
            tell(f"{terminal_safe(variable)} has no effect: {_unknown(own, command)}")
    return {name: general[name] | single[name] for name in meanings()}


def _put(settings: dict[str, Setting], key: str, meant: Key, setting: Setting) -> None:
    """Add a setting, whose value is the text of a variable."""
    value: Any = setting.value
    if meant.switch:
        if value.lower() not in (*_ON, *_OFF):
            raise click.ClickException(f"{setting.origin}={value}: {key!r} is a switch; set 1 or 0")
        value = (value.lower() in _ON) is meant.on
    elif meant.option and meant.option.kind is kinds.PAIR:
        value = tuple(value.split())
    elif meant.several:
        value = tuple(line for line in value.split("\n") if line.strip())
    if meant.name in settings:
        both = f"{settings[meant.name].origin} and {setting.origin}"
        raise click.ClickException(f"{both} set the same option: leave out one of them")
    settings[meant.name] = Setting(value, setting.rank, setting.origin)


def _unknown(key: str, command: str) -> str:
    """Say that no option has this name, and which names are near to it."""
    from logreplay.options.spelling import near_names  # loads all tables: only for an error

    if command:
        by_option = {option: variable_of(command, option) for option in keys(command)}
    else:
        by_option = {option: variable_of(name, option) for name in reversed(list(meanings())) for option in keys(name)}
        by_option |= {option: variable_of(option) for option in everywhere()}
    near = " or ".join(by_option[option] for option in near_names(key, by_option))
    where = f"{command} has" if command else "there is"
    return f"{where} no option {key!r}" + (f"; did you mean {near}?" if near else "")


def variable_of(*parts: str) -> str:
    """Return the variable of an option: of a command and its option, or of an option for all commands."""
    return PREFIX + "_".join(parts).replace("-", "_").upper()
