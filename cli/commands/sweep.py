"""``logreplay sweep``: one step for each rate, and the curve of response time against rate."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from logreplay.cli.options.from_table import options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.replay import parts
from logreplay.cli.options.types import LogName
from logreplay.cli.signals import SIGNALS
from logreplay.core.quantities import parse_rates

_WORDS: Final = ("rates", "log", "target")
"""Its arguments, in their order."""


class _Sweep(GroupedCommand):
    """A command without RATES where users are given: its words are then LOG and TARGET."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        left = super().parse_args(ctx, args)
        if not ctx.resilient_parsing and ctx.params["vusers"]:
            typed = (name for name in _WORDS if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE)
            words = _shifted(ctx.params[name] for name in typed)
            ctx.params |= {name: words.get(name, (ctx.default_map or {}).get(name)) for name in _WORDS}
        return left

    def _typed(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        typed = super()._typed(ctx, args)
        of_settings = "vusers" in self._found(ctx) and "reset vusers" not in typed
        if "vusers" in typed or (of_settings and not _are_rates(typed.get("rates", ""))):
            typed |= _shifted(typed.pop(name) for name in _WORDS if name in typed)
        return typed


def _shifted(words: Iterable[str]) -> dict[str, str]:
    """LOG and TARGET where no RATES stand before them."""
    log_and_target = list(words)
    if len(log_and_target) > 2:
        raise click.UsageError(
            "--vusers and RATES exclude each other: give LOG and TARGET only, and users as one list, 1,5,10"
        )
    return dict(zip(("log", "target"), log_and_target, strict=False))


@click.command(cls=_Sweep)
@click.argument("rates", required=False, metavar="RATES")
@click.argument("log", required=False)
@click.argument("target", required=False)
@options
def sweep(rates: str | None, log: str | None, target: str | None, **given: Any) -> int:
    """Replay LOG against TARGET at each of RATES, and find the rate at which the target saturates.

    RATES are requests/s: 50..400 (about eight round steps: 50, 100, … 400), 50..400:25 (steps of 25) or 10,20,50.
    Each step reads on in the log where the last one ended, wraps around at its end, and waits for all responses. The
    sweep stops after two rates in a row that fall behind or fail: at the end of the step more than one second of
    its requests is in flight, and their number still grows, or 1 % more of them failed than at lower rates, or more
    than half. The step table judges by all rows, and may call lower rates overloaded. --resume continues an
    interrupted sweep; repeat its other arguments. LOG is an access log or a normalized CSV; TARGET is
    http://HOST:PORT.
    Exit code 4: a --stop condition came true.
    Units: R requests/s, D a duration (300ms, 10s, 5m, 1h; a bare 10 is seconds), P% a share (5% or 0.05). Without a
    [default], an option is
    off.

    \b
    Example:
      logreplay sweep 50..400 access.log http://127.0.0.1:8080 --for 30s --stop 'errors>5%/10s' -o sweep
      logreplay sweep --vusers 1..256 access.log http://127.0.0.1:8080
    """
    if rates and given["vusers"]:
        raise click.UsageError("--vusers and RATES exclude each other: leave out one of them")
    if rates and click.get_current_context().get_parameter_source("rates") is ParameterSource.COMMANDLINE:
        _check_order(rates, [word for word in (log, target) if word])
    if log and _are_rates(log) and not Path(log).exists():
        what = "users" if given["vusers"] else "rates"
        raise click.UsageError(
            f"LOG: {log!r} is not a file; if it is more {what}, write one list: 1,5,10 without spaces"
        )
    from logreplay.calls.sweep_call import SweepCall
    from logreplay.cli.display.rates import show_sweep
    from logreplay.runs.curve import sweep_once

    values, shown = parts({**given, "target": target})
    call = SweepCall(rates=_rates(rates), log=LogName()(log), **values)
    with SIGNALS.hearing():
        result = sweep_once(call, shown.terminal())
    return show_sweep(result, as_json=shown.as_json, quiet=shown.quiet, again=call.resuming(result.files[0].parent))


def _rates(text: str | None) -> tuple[float, ...]:
    """Read RATES."""
    try:
        return parse_rates(text) if text else ()
    except ValueError as error:
        context = click.get_current_context()
        parameter = next(each for each in context.command.params if each.name == "rates")
        raise click.BadParameter(str(error), context, parameter, "RATES") from None


def _are_rates(text: str) -> bool:
    try:
        return bool(parse_rates(text))
    except ValueError:
        return False


def _check_order(first: str, rest: Sequence[str]) -> None:
    """Check that no file or target stands in the place of RATES."""
    rates = next(filter(_are_rates, (first, *rest)), "50..400")
    is_name = "/" in first or (Path(first).suffix[1:].isalpha() and ".." not in first) or Path(first).exists()
    if first != rates and (is_name or rates in rest):
        targets = [word for word in (first, *rest) if word.startswith(("http:", "https:", "unix:"))]
        logs = [word for word in (first, *rest) if word not in (rates, *targets)]
        order = shlex.join([rates, *logs, *targets])
        raise click.UsageError(
            f"RATES: {first!r} is not a rate; RATES come first, then LOG and TARGET: logreplay sweep {order}"
        )
