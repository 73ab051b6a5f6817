"""``logreplay plan``: how many machines the demand of a log needs."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from logreplay.cli.display.progress_bar import bar
from logreplay.cli.display.terminal import print_json, print_result, print_text, say, say_losses
from logreplay.cli.exit_codes import Exit, of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.replay import parts
from logreplay.cli.settings.precedence import Names
from logreplay.cli.signals import SIGNALS
from logreplay.core.masking import safe_to_show

if TYPE_CHECKING:
    from logreplay.plan_result import PlanResult


class _Plan(GroupedCommand):
    """A command whose last word is TARGET, or one more LOG beside a target of the settings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        left = super().parse_args(ctx, args)
        if not ctx.resilient_parsing and _is_log(ctx.params):
            ctx.params["logs"] = (*ctx.params["logs"], ctx.params["target"])
            ctx.params["target"] = (ctx.default_map or {}).get("target")
        return left

    def _typed(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        typed = super()._typed(ctx, args)
        if _is_log(typed):
            typed["logs"] = (*typed.get("logs", ()), typed.pop("target"))
        return typed

    def _yielding(self, given: Mapping[str, Any]) -> Names | None:
        """Leave out TARGET of the settings beside --from of a higher place, and conversely, where one is refused."""
        pair = {} if given.get("prove") else {"target": {"results"}, "results": {"target"}}
        return {**(super()._yielding(given) or {}), **pair}


def _sends(given: Mapping[str, Any]) -> bool:
    return given.get("results") is None or bool(given.get("prove"))


def _is_log(given: Mapping[str, Any]) -> bool:
    """Whether the word in the place of TARGET is a log."""
    places = r"https?://.*|unix:.*" if _sends(given) else r"https?://[^/]+/?|unix:.*"  # https://HOST/PATH: of a store
    return given.get("target") is not None and not re.fullmatch(places, given["target"])


@click.command(cls=_Plan)
@click.argument("logs", nargs=-1, metavar="LOG...")
@click.argument("target", required=False)
@options
def plan(logs: tuple[str, ...], target: str | None, **given: Any) -> int:
    """Say how many machines the demand of LOG needs: at its busiest second, minute and hour, and by hour of the week.

    LOG is whatever convert reads; several logs are one. TARGET, http://HOST:PORT, is one machine: it is searched for
    the rate that it carries within the bounds, such as --p99 300ms, as find does. --from DIR takes the answer of a
    search or a sweep made before, and sends nothing. The answer is the number for the busiest minute, at the likely
    demand and supply, and that for the worse ends of both. It is refused where the measurements do not support it:
    another mix of routes than the busiest hour's, no valid search. -o DIR keeps the search, plan.json and plan.html.
    For a demand in requests/s, without a log, use capacity --demand R.
    Exit code 3: no answer; 4: not even the lowest rate keeps the bounds, or the proof failed.

    \b
    Examples:
      logreplay plan access.log.* http://127.0.0.1:8080 --p99 300ms --growth 30% --survive 1 -o december
      logreplay plan access.log.* --from december --growth 50% --price 0.12
    """
    from logreplay.calls.find_call import seed_of
    from logreplay.cli.display.rates import show_find
    from logreplay.inputs.targets import TargetChoice
    from logreplay.options.table import READING
    from logreplay.planning import plan_call, plan_once
    from logreplay.result_folder import free_folder, place_for

    context = click.get_current_context()
    asked = frozenset(name for name in given if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    reading = {name: given.pop(name) for name in READING}
    values, shown = parts({**given, "seed": seed_of(given["seed"]), "target": target})
    output = values["output"] or (place_for(None, free_folder, "plan") if values["results"] is None else None)
    values |= {"asked": asked, "choice": TargetChoice(target, values["choice"].demo), "output": output}
    call = plan_call(logs, reading, values)
    bounds = call.find.bounds
    with SIGNALS.hearing(), bar("reading", quiet=shown.quiet) as update:
        result = plan_once(call, shown.terminal(min(bounds.values(), default=None)), update)
    if result.search and result.search.unfinished and not shown.as_json:
        return show_find(result.search, as_json=shown.as_json, quiet=shown.quiet)
    written = output if result.search or call.results else None  # a refusal before the search writes nothing
    if shown.as_json:
        print_json(result.summary)
    else:
        _tell(result, quiet=shown.quiet)
        (print_text if written else print_result)(safe_to_show(result.sentence))
    if written and not shown.quiet:
        say(f"{written / 'plan.html' if result.plan else written}")
    if result.stopped.startswith("interrupted"):
        return Exit.INTERRUPTED
    return of_checks(result.checks)


def _tell(result: "PlanResult", *, quiet: bool) -> None:
    if quiet:
        say_losses(result.log.report)
    else:
        print_text(safe_to_show(result.log.sentence))
        for name, text in result.facts:
            print_text(safe_to_show(f"  {name:<17} {text}"))
