"""Writes the page of a log: its facts, pictures and tables. All that comes from the log is masked and escaped."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.replays import Replay
from logreplay.analysis.format_time import show
from logreplay.analysis.output.html import svg
from logreplay.analysis.output.plots import demand
from logreplay.analysis.output.template import rendered
from logreplay.core.masking import safe_to_show
from logreplay.core.quantities import percent

_ROWS: Final = 50
"""Routes, clients and agents on the page."""
_SIZE: Final = (8.6, 3.4)


def html(
    title: str,
    profile: LogProfile,
    facts: Sequence[tuple[str, str]],
    replays: Sequence[Replay],
    missing: Sequence[str],
    account: str,
    reasons: Mapping[str, int],
) -> str:
    """Return the page as the text of an HTML file.

    ``missing``: things that each of the replays leaves out; ``account``: the outcome of all lines, as a sentence;
    ``reasons``: why lines became no request, with counts.
    """
    return rendered(
        "log.html.j2",
        {"shown": safe_to_show, "time": show, "percent": percent},
        title=title,
        facts=facts,
        account=account,
        reasons=reasons,
        pictures=_pictures(profile),
        replays=replays,
        missing=missing,
        **{name: _rows(getattr(profile, name)) for name in ("routes", "clients", "agents")},
        timed="p50" in profile.routes.columns,
        counts={name: getattr(profile, name).height for name in ("routes", "clients", "agents")},
    )


def _rows(table: Any) -> list[dict[str, Any]]:
    return list(table.head(_ROWS).iter_rows(named=True))


def _pictures(profile: LogProfile) -> list[tuple[str, Any]]:
    if not profile.timed:
        return []
    drawn = {"Rate over time": demand.rate_over_time}
    if profile.week.height > 1:
        drawn["Hours of the week"] = demand.week
    return [(name, svg(partial(draw, profile=profile), _SIZE, name)) for name, draw in drawn.items()]
