"""Hints for an option that a command does not have: options spelled nearly so, and the commands that have it."""

import click

from logreplay.core.plural import listed
from logreplay.options.spelling import near_names
from logreplay.options.table import options_of


def refusal(name: str, ctx: click.Context) -> str:
    """Say that a command has no option of this name, and which option may be meant.

    Args:
        name: name with its dashes.
        ctx: context of the command.
    """
    shown = [each for each in ctx.command.get_params(ctx) if isinstance(each, click.Option) and _is_shown(each, name)]
    own = sorted({text for option in shown for text in (*option.opts, *option.secondary_opts)})
    near = near_names(name.removeprefix("--"), (text.removeprefix("--") for text in own))
    group = ctx.find_root().command
    commands = group.list_commands(ctx) if isinstance(group, click.Group) else []
    having = [other for other in commands if name in _names(other)]
    hints = [f"{listed(having)} {'has' if len(having) == 1 else 'have'} it"] if having else []
    hints += [f"did you mean {' or '.join(f'--{each}' for each in near)}?"] if near else []
    return "; ".join([f"No such option {name!r}", *hints])


def _is_shown(option: click.Option, name: str) -> bool:
    """Whether to hint at an option for a name that was typed.

    A hidden one, such as the ``--no-`` form that sets an option back to its default, is hinted at only for a name that
    begins with ``--no-``.
    """
    return not option.hidden or name.startswith("--no-")


def _names(command: str) -> list[str]:
    """The options of a command, without earlier names and those that it only refuses."""
    shown = (each for each in options_of(command) if not each.hidden and command not in each.refused.split())
    return [name for each in shown for name in each.names]
