"""``logreplay demo``: conversion, target and sweep with the bundled log, in under a minute."""

from pathlib import Path

import click

from logreplay.cli.display.progress import Terminal
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.signals import SIGNALS


@click.command(cls=Configurable)
@options
def demo(output: Path | None, http: str, force: bool, quiet: bool) -> int:
    """Convert the bundled log, start a target that carries 250 requests/s, and sweep past its saturation.

    \b
    Example:
      logreplay demo -o demo
    """
    from logreplay.cli.display.rates import show_sweep
    from logreplay.runs.demo import demo_once

    with SIGNALS.hearing():
        result = demo_once(output, Terminal(quiet=quiet), http=http, force=force)
    return show_sweep(result, quiet=quiet, again="logreplay demo --force begins again", short=True)
