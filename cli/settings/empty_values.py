"""Commands that refuse empty values, which mostly come from unset variables, and words that mostly lack quotes."""

import click

from logreplay.cli.display.terminal import print_text


class UnexpectedArgument(click.UsageError):
    """A word stands where the command takes none."""


class Checked(click.Command):
    """A command whose options and arguments have values that are not blank."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return ``--help``, which prints as results are: click writes UTF-8 where a terminal has only ASCII."""
        if option := super().get_help_option(ctx):
            option.callback = show_help
        return option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse blank values, then read the command line, and refuse words that are left."""
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in order:
                if any(isinstance(text, str) and not text.strip() for text in _texts(values.get(parameter.name or ""))):
                    argument = isinstance(parameter, click.Argument)
                    name = parameter.human_readable_name if argument else f"--{key_of(parameter)}"
                    raise click.UsageError(f"{name} is empty: give a value, or leave it out", ctx)
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            names = [each.human_readable_name for each in self.params if isinstance(each, click.Argument)]
            text = f"unexpected argument {left[0]!r}: {self.name} takes {' '.join(names) or 'only options'}"
            raise UnexpectedArgument(f"{text}; quote a value that has spaces", ctx)
        return left


def show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the help of a command, and end."""
    if wanted and not ctx.resilient_parsing:
        print_text(ctx.get_help())
        ctx.exit()


def _texts(value: object) -> "list[object]":
    return list(value) if isinstance(value, tuple | list) else [value]


def key_of(parameter: click.Parameter) -> str:
    """The name by which a parameter is set: the first of an option without ``--``."""
    return next((name[2:] for name in parameter.opts if name.startswith("--")), parameter.name or "")
