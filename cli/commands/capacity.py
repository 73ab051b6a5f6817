"""``logreplay capacity``: the number of machines that carry a load."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from logreplay.cli.display.terminal import print_json, print_result, say, say_finding
from logreplay.cli.exit_codes import of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable


@click.command(cls=Configurable)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@options
def capacity(results: Sequence[Path], as_json: bool, **given: Any) -> int:
    """Compute how many machines carry a load within a bound, from a sweep of one of them.

    RESULTS is the result log of a sweep, or its folder; of several runs of the same sweep, which are pooled, all of
    them. The answer has two numbers: for the rate that one machine likely carries, and for the lower end of its
    bracket. Steps in which the generator was the limit do not count; steps sent late count only if they keep the bound
    with the lag. Both rates are at least 7.5 % below saturation: closer to it, machines would run full. The bound is on
    the requests answered as expected; a rate at which more requests fail than at the lowest rates does not keep it.
    With --machines 1,2,4 RESULTS are searches or sweeps of 1, 2 and 4 machines: contention and coherency by the
    universal scalability law, and the number of machines by it in place of n times one; no number unless the curve has
    bent.
    ~ marks rates read off steps under a minute. A sweep over users gives the least number of machines, by the
    throughput at which it levels off.
    Exit code 3: no step counts, the lower end is below all rates that count, or the throughput did not level off.
    Exit code 4: no rate kept the bound with room.

    \b
    Example: logreplay capacity sweep --demand 200 --p99 300ms --headroom 20%
             logreplay capacity sweep-1 sweep-2 sweep-3 --demand 200 --p99 300ms --survive 1
             logreplay capacity one two four --machines 1,2,4 --demand 900 --p99 300ms -o scaling.png
    """
    from logreplay.readings import capacity_once

    found = capacity_once(results, given)
    for note in found.notes:
        say_finding("warning", note)
    if as_json:
        print_json(found.as_dict())
    else:
        print_result(found.sentence)
    if found.not_covered:
        say(found.not_covered)
    return of_checks(found.checks)
