"""The options that the commands which send share, as the user asked for them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click
from click.core import ParameterSource

from logreplay.calling.audience import Telling
from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.terminal import print_text, say
from logreplay.inputs.targets import TargetChoice
from logreplay.options.answer_rules import AnswerRules
from logreplay.options.clashes import check
from logreplay.options.keywords import taken
from logreplay.options.load import Load
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

    @property
    def choice(self) -> TargetChoice:
        """The target that is wanted."""
        source = click.get_current_context().get_parameter_source("target")
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        return TargetChoice(self.target, self.demo_target, source is ParameterSource.COMMANDLINE, interactive)

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> Self:
        """Make one of the values of a command, and take them out."""
        return cls(**{name: given.pop(name) for name in cls.__dataclass_fields__})

    def of_call(self) -> dict[str, Any]:
        """The fields of a call that these options give."""
        kept = ("output", "force", "stop_at", "telling", "request_rules", "sender_rules", "choice", "announce")
        return {name: getattr(self, name) for name in kept}

    def announce(self, text: str) -> None:
        """Print a sentence on standard output; beside JSON on standard error."""
        if self.as_json:
            self.say(text)
        elif not self.quiet:
            print_text(text)

    def terminal(self, bound: float | None = None) -> Terminal:
        """The display of progress for this command, with a bound of the response time, seconds."""
        return Terminal(progress=self.telling.progress, quiet=self.quiet, bound=bound)

    def say(self, text: str) -> None:
        """Tell the user something besides the result, unless ``--quiet`` was given."""
        say(text, quiet=self.quiet)


def parts(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a command that sends, with the frozen values that are made of some of them.

    Raises:
        UsageError: two options contradict each other; names both.
    """
    given = dict(values)
    made = {"request_rules": taken(RequestRules, values), "telling": taken(Telling, values)}
    made |= {"sender_rules": taken(SenderRules, values, asked=_asked())}
    made |= {"load": taken(Load, values)} if "ramp" in values else {}
    made |= {"answer_rules": taken(AnswerRules, values)} if "ignore" in values else {}
    check(click.get_current_context().command.name or "", given)
    return made | {"stop_at": values.pop("stop")} | values


def _asked() -> frozenset[str]:
    """The parameters that stand on the command line."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
