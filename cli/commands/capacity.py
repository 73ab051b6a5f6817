"""``logreplay capacity``: the number of machines that carry a load."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logreplay.cli.exit_codes import of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.settings.configurable import Configurable

if TYPE_CHECKING:
    from logreplay.readings import Percentile


@click.command(cls=Configurable)
@click.argument("results", type=click.Path(path_type=Path))
@options
def capacity(results: Path, tps: float, within: float, percentile: "Percentile", headroom: float, as_json: bool) -> int:
    """Compute how many machines carry a load within a bound, from a sweep of one of them.

    RESULTS is the result log of a sweep, or its folder. Steps in which the generator was the limit do not count. A rate
    counts only if it is at least 7.5 % below saturation: closer to it, machines would run full. The bound is on the
    requests answered as expected; a rate at which more requests fail than at the lowest rates does not keep it.
    ~ marks an optimistic estimate: the steps were too short for queues to build up. A sweep over users gives the least
    number of machines, by the throughput at which it levels off.
    Exit code 3: no step counts, or the throughput did not level off. Exit code 4: no rate kept the bound with room.

    \b
    Example: logreplay capacity sweep --tps 200 --within 300ms --headroom 20%
    """
    from logreplay.readings import capacity_once

    given = {"tps": tps, "within": within, "percentile": percentile, "headroom": headroom}
    found = capacity_once(results, given)
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else found.sentence)
    return of_checks(found.checks)
