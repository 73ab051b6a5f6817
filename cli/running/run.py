"""Makes one replay from options: one call of the library, and what the terminal shows of it."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from logreplay.cli.display.outlet import Outlet
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.replay import ReplayOptions
from logreplay.cli.signals import SIGNALS
from logreplay.options.load import Load

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ReplayOptions):
    """One replay, as the user asked for it."""

    log: "Log | None"
    load: Load
    crash: bool
    verbose: bool
    debug: bool
    classic: bool
    dry_run: bool
    junit: Path | None
    history: Path | None


def replay_once(options: RunOptions) -> Exit:
    """Replay a log, or show what would be sent.

    Raises:
        UsageError: options exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
    """
    from logreplay.runs.single import RunCall, run_once

    terminal = options.terminal()
    exchanges = Outlet(sys.stdout) if options.verbose and not options.dry_run else None
    call = RunCall(
        log=options.log,
        load=options.load,
        crash=options.crash,
        show=(lambda text: exchanges.write(f"{text}\n")) if exchanges else None,
        written={"--junit": options.junit, "--history": options.history},
        **options.of_call(),
    )
    if options.dry_run:
        from logreplay.cli.display.dry_run import show_dry_run
        from logreplay.runs.dry_run import dry_run

        show_dry_run(dry_run(call, terminal), as_json=options.as_json, quiet=options.quiet)
        return Exit.OK
    if options.history:
        from logreplay.analysis.output.history import check, of_run

        check(options.history, of_run({}))
    with SIGNALS.hearing():
        result = run_once(call, terminal)
    if not result.summary:
        options.say(f"nothing was sent: {result.outcome.why_nothing}")
        return Exit.INTERRUPTED if result.outcome.stopped else Exit.FAILED
    from logreplay.cli.display.run import finish, show_run

    if exchanges:
        finish(exchanges, result.files[0])
    return show_run(
        result,
        as_json=options.as_json,
        classic=options.classic,
        debug=options.debug,
        quiet=options.quiet,
        secrets=options.sender_rules.show_secrets,
        junit=options.junit,
        history=options.history,
    )
