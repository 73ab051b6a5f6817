"""Writes the page of a plan: its answer, facts, pictures and tables."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from logreplay.analysis.demand.rates import DAYS
from logreplay.analysis.format_time import show_rate
from logreplay.analysis.output.html import svg
from logreplay.analysis.output.plots import planning
from logreplay.analysis.output.template import rendered
from logreplay.analysis.planning.plan import MachinePlan
from logreplay.analysis.planning.proof import Proof
from logreplay.core.masking import safe_to_show

_SIZE: Final = (8.6, 3.6)


def html(title: str, plan: MachinePlan, answer: str, facts: Iterable[tuple[str, str]], proofs: Sequence[Proof]) -> str:
    """Return the page as the text of an HTML file.

    Args:
        title: names the log.
        plan: demand, supply and machines.
        answer: the answer in a sentence.
        facts: name and text of each.
        proofs: replays of the busiest minute.
    """
    return rendered(
        "plan.html.j2",
        {"shown": safe_to_show, "rate": show_rate},
        title=title,
        answer=answer,
        facts=[*facts],
        demand=plan.demand,
        machines=plan.machines,
        pictures=_pictures(plan),
        week=list(plan.week.iter_rows(named=True)),
        days=DAYS,
        proofs=proofs,
    )


def _pictures(plan: MachinePlan) -> list[tuple[str, Any]]:
    drawn = {"Demand and supply": planning.demand_and_supply}
    if plan.week.height > 1:
        drawn["Machines by hour of the week"] = planning.week
    return [(name, svg(partial(draw, plan=plan), _SIZE, name)) for name, draw in drawn.items()]
