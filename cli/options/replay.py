"""The options that run, sweep and find share, and the value that they become."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from logreplay.calling.audience import Telling
from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.terminal import say
from logreplay.cli.options.groups import Command
from logreplay.cli.options.progress import telling_options
from logreplay.cli.options.requests import shaping_options
from logreplay.cli.options.sender import sending_options
from logreplay.cli.options.stop import stop_option
from logreplay.cli.settings.share import share_option
from logreplay.inputs.targets import TargetChoice
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules

if TYPE_CHECKING:
    from logreplay.replay.results.stop_rules import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Where to, how, who is told, when to stop, and where the results go, as the user asked for it."""

    target: str | None
    output: Path | None
    force: bool
    as_json: bool
    quiet: bool
    demo_target: bool
    stop_at: "Sequence[Condition]"
    telling: Telling
    request_rules: RequestRules
    sender_rules: SenderRules

    def warn_beyond_timeout(self, bounds: Mapping[str, float]) -> None:
        """Warn of bounds (seconds, by their option) and of conditions of ``--stop`` that no response can exceed."""
        stops = {f"--stop '{each.text}'": each.limit for each in self.stop_at if each.figure in ("p50", "p99")}
        for option, limit in (dict(bounds) | stops).items():
            if limit > self.sender_rules.timeout:
                self.say(
                    f"warning: {option}: {limit:g} s is longer than --timeout {self.sender_rules.timeout:g} s, so no "
                    f"response can exceed it; a bare number means seconds: write {limit:g}ms for milliseconds"
                )

    @property
    def choice(self) -> TargetChoice:
        """The target that is wanted."""
        source = click.get_current_context().get_parameter_source("target")
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        return TargetChoice(self.target, self.demo_target, source is ParameterSource.COMMANDLINE, interactive)

    def announce(self, text: str) -> None:
        """Print a sentence on standard output; beside JSON on standard error."""
        if self.as_json:
            self.say(text)
        elif not self.quiet:
            click.echo(text)

    def terminal(self) -> Terminal:
        """What tells the user of this command how it goes."""
        return Terminal(progress=self.telling.progress, quiet=self.quiet)

    def say(self, text: str) -> None:
        """Tell the user something besides the result, unless ``--quiet`` was given."""
        say(text, quiet=self.quiet)


def replay_options(command: Command) -> Command:
    """Give a command the options of stopping, telling, shaping and sending, and ``--demo-target``."""
    return stop_option(telling_options(shaping_options(sending_options(_demo_target(command)))))


_demo_target = click.option("--demo-target", is_flag=True, help="Start a built-in server and use it as TARGET.")


def folder_options(command: Command) -> Command:
    """Give a command the options of the folder that it writes, and of what it prints."""
    for option in reversed(_FOLDER):
        command = option(command)
    return command


_FOLDER = (
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write results to this folder.  [default: COMMAND-TIME]",
    ),
    click.option("--force", is_flag=True, help="Replace an existing result."),
    share_option,
    click.option("--no-plots", is_flag=True, help="Write tables and summary without pictures."),
    click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of tables."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
)


class _JunitPath(click.Path):
    """A file that is replaced, so it must not hold something other than XML."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if path.is_file():
            with path.open("rb") as file:
                if file.read(1) not in (b"", b"<"):
                    self.fail(f"{path}: exists and is not JUnit XML; choose another name", param, ctx)
        return path


junit_option = click.option(
    "--junit", type=_JunitPath(dir_okay=False), metavar="PATH", help="Write the checks as JUnit XML."
)
"""Gives a command ``--junit``."""
history_option = click.option(
    "--history",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append one row to this CSV, for Apache Otava.",
)
"""Gives a command ``--history``."""
