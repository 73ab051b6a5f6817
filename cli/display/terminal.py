"""Text on standard output, messages on standard error, and what the terminal behind the latter can do."""

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from logreplay.analysis.json_text import json_text
from logreplay.cli.display.async_output import UnreadOutput, lead_nowhere
from logreplay.core.errors import Loss
from logreplay.core.masking import terminal_safe_lines

if TYPE_CHECKING:
    from logreplay.parsers.conversion.report import ConvertReport

CLOSED: Final = "standard output: is closed (>&-); send the result to a file or a pipe"


def print_text(text: str = "", *, bold: bool = False) -> None:
    """Print a line, or lines, of a result on standard output, in its encoding.

    Characters that could steer the terminal become ``?``. Not for a product such as CSV, which is in UTF-8 whatever the
    terminal has.
    """
    clean = terminal_safe_lines(text)
    styled = click.style(clean, bold=True) if bold else clean
    click.echo(styled, file=sys.stdout)  # without a file, click would write UTF-8 to a terminal that has only ASCII


def print_result(text: str) -> None:
    """Print what exists nowhere else: a result that no file holds, or what another program is to read.

    If the caller has closed standard output, the command ends with an error: see `UnreadOutput`.
    """
    if isinstance(sys.stdout, UnreadOutput) and sys.stdout.absent:
        sys.stdout.missed = True
    print_text(text)


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print a result as JSON, as `print_result` does."""
    print_result(json_text(value, indent=indent))


def say(text: str, *, quiet: bool = False) -> None:
    """Tell the user something besides the result, on standard error; nothing once nobody reads it any more.

    Characters that could steer the terminal become ``?``. A `Loss` is told also if ``quiet``.
    """
    if not quiet or isinstance(text, Loss):
        try:
            click.echo(terminal_safe_lines(text), file=sys.stderr)  # not err=True: as in print_text
        except OSError:
            lead_nowhere(sys.stderr)


def say_finding(severity: str, text: str, *, quiet: bool = False) -> None:
    """Tell the user a finding; one that makes the run invalid begins with that word."""
    say(f"{severity_word(severity)}: {text}", quiet=quiet)


def say_losses(report: "ConvertReport") -> None:
    """Tell the user what of the logs is lost, also if quiet."""
    for text in report.losses:
        say(text)


def severity_word(severity: str) -> str:
    """The word before a finding: of one that makes the run invalid, that one."""
    return "invalid" if severity == "void" else severity


def on_terminal() -> bool:
    """Return whether standard error is a terminal: progress and colour have a reader."""
    return sys.stderr.isatty()


def can_redraw() -> bool:
    """Return whether standard error is a terminal that can overwrite what it shows."""
    return on_terminal() and os.environ.get("TERM") not in ("dumb", "unknown")


def terminal_size() -> tuple[int, int]:
    """Columns and lines of the terminal on stderr; 80 x 24 where there is none."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return 80, 24
    return columns or 80, lines or 24  # some know their size as 0 x 0
