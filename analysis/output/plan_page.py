"""Writes the page of a plan (its answer, facts, pictures and tables), and the manifests of its autoscaler.

Sources: Kubernetes API reference, ``autoscaling/v2``; KEDA, ``keda.sh/v1alpha1``, trigger ``prometheus``.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from logreplay.analysis.demand.rates import DAYS
from logreplay.analysis.format_time import show_rate
from logreplay.analysis.output.html import svg
from logreplay.analysis.output.plots import planning
from logreplay.analysis.output.template import rendered
from logreplay.analysis.planning.autoscaling import STABILIZATION_S, WINDOW_S, ScalingTarget
from logreplay.analysis.planning.plan import MachinePlan
from logreplay.analysis.planning.proof import Proof
from logreplay.core.masking import safe_to_show

_SIZE: Final = (8.6, 3.6)


def html(title: str, plan: MachinePlan, answer: str, facts: Iterable[tuple[str, str]], proofs: Sequence[Proof]) -> str:
    """Return the page of a plan, its answer and its replays of the busiest minute as the text of an HTML file."""
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


def manifests(target: ScalingTarget) -> dict[str, str]:
    """The manifests by name of file; NAME stands for the deployment, and the metric is requests/s per pod."""
    values = {"target": target, "milli": max(round(target.rate * 1000), 1), "stabilization": STABILIZATION_S}
    return {name: rendered(f"{name}.j2", {}, **values, window=WINDOW_S) + "\n" for name in ("hpa.yaml", "keda.yaml")}
