"""The command line: one module per command. Only here are errors printed and exit codes set."""

import os
import sys

import click

from logreplay.cli.analyze import analyze
from logreplay.cli.calibrate import calibrate
from logreplay.cli.capacity import capacity
from logreplay.cli.compare import compare
from logreplay.cli.convert import convert
from logreplay.cli.demo import demo
from logreplay.cli.exit_codes import Exit
from logreplay.cli.find import find
from logreplay.cli.plot import plot
from logreplay.cli.run import run as run_command
from logreplay.cli.seconds import seconds
from logreplay.cli.serve import serve
from logreplay.cli.sweep import sweep
from logreplay.cli.urls import urls


class InOrder(click.Group):
    """A group that lists its commands in the order of the work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="logreplay", prog_name="logreplay")
def cli() -> None:
    """Replay production access logs at rates you choose, and learn what rate your system will carry.

    \b
    Example:
      logreplay demo
      logreplay convert access.log
      logreplay sweep 50..400 access.csv http://127.0.0.1:8080
    """


COMMANDS = (
    demo,
    convert,
    urls,
    run_command,
    sweep,
    find,
    analyze,
    seconds,
    capacity,
    compare,
    plot,
    serve,
    calibrate,
)
for command in COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command line, and say in one line what went wrong."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = cli.main(arguments, prog_name="logreplay", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else Exit.OK
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains at its end
        return Exit.FAILED
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        from logreplay.parsers.record import LogreplayError  # loads Polars: only when something went wrong

        if not isinstance(error, LogreplayError):
            raise
        return _fail(str(error))


def _fail(text: str) -> Exit:
    click.echo(f"Error: {text}", err=True)
    return Exit.FAILED


if __name__ == "__main__":
    main()
