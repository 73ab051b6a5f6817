"""The command line. Only here are errors printed and exit codes set."""

import atexit
import errno
import gc
import os
import sys
import warnings
from io import StringIO, TextIOWrapper
from typing import Final

import click

from logreplay.cli.display.async_output import SPELLED, UnreadOutput, lead_nowhere
from logreplay.cli.display.bug_report import no_tracebacks, of_interruption, sentence
from logreplay.cli.display.terminal import CLOSED, say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.registry import SHORT_HELP, Commands
from logreplay.cli.settings.configurable import find_settings, where_from
from logreplay.cli.settings.share import keep_private
from logreplay.cli.signals import SIGNALS
from logreplay.core.errors import LogreplayError, LossWarning
from logreplay.core.installation import DISTRIBUTION, OWN_PROCESS

_HELP: Final = "logreplay.help"
_LEFT: Final = {
    **dict.fromkeys(("convert", "urls", "seconds"), "no file was written; repeat the command"),
    **dict.fromkeys(("inspect", "compare", "capacity", "calibrate"), "there is no result; repeat the command"),
    "analyze": "files may be missing; repeat the command",
    "plan": "there is no plan; repeat the command",
}
"""Result of an interruption in words, by command; those that send say it themselves, and ``serve`` ends so."""
_WITHOUT_SETTINGS: Final = ("control", "init", "completion", "man")
_OBJECTS: Final = 100_000
"""New ones, before the collector looks for garbage: to load modules makes as many, and none of them is."""


class InOrder(click.Group):
    """A group that lists its commands in the order of the work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, without loading their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SHORT_HELP.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Note whether help is wanted: the group gets no other part of the text after the command."""
        ctx.meta[_HELP] = not {*ctx.help_option_names, "--help-all"}.isdisjoint(args)
        return super().resolve_command(ctx, args)


@click.group(
    cls=InOrder, commands=Commands(), context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name=DISTRIBUTION, prog_name="logreplay")
@click.pass_context
def cli(context: click.Context) -> None:
    """Replay your access log; find the highest rate your server sustains.

    \b
    Example:
      logreplay demo
      logreplay convert access.log
      logreplay sweep 50..400 access.csv http://127.0.0.1:8080
    """
    if context.invoked_subcommand not in _WITHOUT_SETTINGS:
        try:
            find_settings(context)
        except (click.ClickException, LogreplayError):
            if not context.meta.get(_HELP):  # help is there for whoever has to mend the file
                raise


def main() -> None:
    """Run the command line, and say in one line what went wrong."""
    OWN_PROCESS.claimed = True
    gc.set_threshold(_OBJECTS)
    warnings.showwarning = _say_warning
    keep_private()
    _open_standard_streams()
    SIGNALS.listen()
    atexit.register(SIGNALS.ignore)  # registered first, called last
    no_tracebacks()
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while an error was printed
        code = Exit.INTERRUPTED
    SIGNALS.done(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            lead_nowhere(stream)  # else the interpreter fails at its end (exit code 120)
    sys.exit(code)


def _say_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning of a library as the others are; if quiet, only that rows are lost."""
    context = click.get_current_context(silent=True)
    quiet = context is not None and bool(context.params.get("quiet"))
    say(f"warning: {message}", quiet=quiet and not issubclass(category, LossWarning))


def _open_standard_streams() -> None:
    """Open closed standard streams on the null device: otherwise the first opened file would take their place."""
    absent = sys.stdout is None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)  # takes the lowest number that is free
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115  it is there until the end
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115  bytes that are written there are an error
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=SPELLED)  # where the terminal has no µ
    if isinstance(out := sys.stdout, TextIOWrapper):
        encoding, by_line, at_once = out.encoding, out.line_buffering, out.write_through
        sys.stdout = UnreadOutput(out.detach(), encoding, SPELLED, None, by_line, at_once)
        sys.stdout.absent = absent


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = cli.main(arguments, prog_name="logreplay", standalone_mode=False)
        sys.stdout.flush()
        code = code if isinstance(code, int) else Exit.OK
        if isinstance(sys.stdout, UnreadOutput) and sys.stdout.missed:
            return max(code, _fail(CLOSED, arguments))
        return code
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.ctx:
            from logreplay.cli.options.other_tools import refusal  # only for an error

            error = click.UsageError(refusal(error.option_name, error.ctx), error.ctx)
        if isinstance(error, click.BadParameter) and (source := where_from(error)):
            error = click.BadParameter(
                error.message.removesuffix(".") + source, error.ctx, error.param, error.param_hint
            )
        said = StringIO()
        error.show(said)
        say(_shown(said.getvalue().replace("\n\t", "\n  "), arguments).removesuffix("\n"))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(arguments)
    except BrokenPipeError:
        lead_nowhere(sys.stdout)
        return Exit.FAILED
    except OSError as error:
        if error.errno == errno.EIO and not error.filename and SIGNALS.heard:
            lead_nowhere(sys.stdout)
            return Exit.INTERRUPTED  # the terminal was closed, which was the signal
        from logreplay.core.files import FULL  # loads Polars: only when something went wrong

        if error.errno == errno.EBADF and not error.filename:
            lead_nowhere(sys.stdout)
            return _fail(CLOSED, arguments)
        if error.errno in FULL:
            if error.filename:
                advice = f"{FULL[error.errno]}{_elsewhere(arguments)}"
                return _fail(f"{error.filename}: cannot be written: {advice}", arguments)
            lead_nowhere(sys.stdout)
            return _fail(f"standard output: {FULL[error.errno]}, or send it elsewhere", arguments)
        named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _fail(named or sentence(error), arguments)  # a TimeoutError of a library has no text
    except SystemExit:
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if of_interruption(error):
            return _interrupted(arguments)
        return _fail(str(error) if isinstance(error, LogreplayError) else sentence(error), arguments)


def _interrupted(arguments: list[str]) -> Exit:
    """Say what an interruption leaves, of a command that does not say so itself."""
    if left := _LEFT.get(next((word for word in arguments if word in SHORT_HELP), "")):
        say(f"interrupted: {left}")
    return Exit.INTERRUPTED


def _elsewhere(arguments: list[str]) -> str:
    """The advice to write elsewhere, where the command has ``-o``."""
    command = cli.commands[next(word for word in arguments if word in SHORT_HELP)]
    return ", or write elsewhere with -o" if any("-o" in option.opts for option in command.params) else ""


def _fail(text: str, arguments: list[str]) -> Exit:
    say(f"Error: {_shown(text, arguments)}")
    return Exit.FAILED


def _shown(text: str, arguments: list[str]) -> str:
    """The text of an error for a terminal and the logs of a CI: it may hold values of strangers."""
    from logreplay.core.masking import masked, terminal_safe_lines

    clean = terminal_safe_lines(text)
    if "--show-secrets" in arguments:
        return clean
    named = next((word for word in arguments if word and clean.startswith(f"{word}: ")), "")  # a file, not a header
    return masked(named) + masked(clean.removeprefix(named))


if __name__ == "__main__":
    main()
