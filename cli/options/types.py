"""Types of options and arguments: text that a function reads, logs, options that stand once."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from logreplay.inputs.logs import log_named
from logreplay.options.kinds import function_of, with_lines

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


class ParsedType(click.ParamType[Any]):
    """Text that a function reads; the `ValueError` that it raises is a fault of the command line.

    Args:
        read: the function; or the name of one of the library, which is imported when it is first called:
            ``replay.monitor.probes:parse_probe``.
    """

    name = "text"

    def __init__(self, read: Callable[[str], Any] | str) -> None:
        self._read = read

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value that a text stands for; click converts a default twice, so other values stay."""
        if not isinstance(value, str):
            return value
        read = function_of(self._read)
        try:
            return read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class LogName(click.ParamType["Log"]):
    """A file; an object of a store, ``s3://BUCKET/access.csv``; or one url, ``http://HOST/PATH``."""

    name = "log"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Log":
        try:
            return log_named(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Once(click.Option):
    """An option that is refused when it is given twice; the last value of the others counts."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser collect every value."""
        self.multiple = True
        super().add_to_parser(parser, ctx)
        self.multiple = False

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """Return the only value."""
        given = opts.get(str(self.name))
        if not isinstance(given, list):
            return super().consume_value(ctx, opts)
        if fault := self.fault(given):
            raise click.UsageError(fault, ctx)
        return super().consume_value(ctx, {**opts, str(self.name): given[0]})

    def fault(self, given: Sequence[Any]) -> str:
        """Return why these values are refused; empty if they are not."""
        return f"{self.opts[0]} is given twice; give it once" if len(given) > 1 else ""


class EitherOption(Once):
    """A switch with a name for on and one for off, which refuse each other on one command line."""

    def fault(self, given: Sequence[Any]) -> str:
        """Return the refusal of both names."""
        both = f"{self.opts[0]} and {self.secondary_opts[0]} contradict each other: give one of them"
        return both if len(set(given)) > 1 else ""


class LinesOfFiles(click.Option):
    """An option that takes a value from each line of a file, too: ``@FILE``. Blank lines are left out.

    The command line is in the list of processes, which other users of the machine can read; a file need not be.
    """

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Convert the values, and those of files."""
        try:
            return super().type_cast_value(ctx, value and with_lines(value))
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, self) from None
