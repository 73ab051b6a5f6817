"""The call that a command which sends makes of its options, and what the terminal shows of it."""

import sys
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource

from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.terminal import print_text, say
from logreplay.inputs.targets import TargetChoice
from logreplay.options.clashes import check


@dataclass(frozen=True, slots=True)
class Display:
    """What the terminal shows of a call."""

    as_json: bool
    quiet: bool
    progress: str

    def announce(self, text: str) -> None:
        """Print a sentence on standard output; beside JSON on standard error."""
        if self.as_json:
            say(text, quiet=self.quiet)
        elif not self.quiet:
            print_text(text)

    def terminal(self, bound: float | None = None) -> Terminal:
        """The display of progress, with a bound of the response time, seconds."""
        return Terminal(progress=self.progress, quiet=self.quiet, bound=bound)


def parts(values: dict[str, Any]) -> tuple[dict[str, Any], Display]:
    """The fields of a call from the values of its command, and its display."""
    from logreplay.calls.sending_call import frozen

    context = click.get_current_context()
    source = context.get_parameter_source
    asked = frozenset(name for name in context.params if source(name) is ParameterSource.COMMANDLINE)
    fields = frozen(dict(values), asked)
    check(context.command.name or "", values)
    shown = Display(fields.pop("as_json"), fields.pop("quiet"), fields["telling"].progress)
    if "target" in fields:
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        named, demo = fields.pop("target"), fields.pop("demo_target")
        fields |= {"choice": TargetChoice(named, demo, "target" in asked, interactive), "announce": shown.announce}
    return fields, shown
