"""Finds the URLs that a call asked for again, and the routes that its requests may change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from logreplay.analysis.input.routes import route
from logreplay.analysis.tables.url_repeats import url_repeats
from logreplay.core.rows import read_batches
from logreplay.inputs.logs import Tell
from logreplay.inputs.python_logs import RequestsFrom
from logreplay.options.request_rules import RequestRules, base
from logreplay.replay.requests.ordering import Shuffled
from logreplay.replay.requests.plan import RequestStream
from logreplay.replay.results.verdict import Finding, Severity
from logreplay.replay.sweeps.step_log import ASIDE, JUDGED


def repeated_urls(
    stream: RequestStream,
    request_rules: RequestRules,
    folder: Path,
    restarts: Sequence[str],
    *,
    each: str,
    bundled: bool,
    tell: Tell,
) -> tuple[dict[str, Any], list[Finding]]:
    """Say how often the steps in a folder asked for a URL again, and whether a cache may have made use of it.

    Args:
        stream: the requests that were sent.
        folder: with the result log, and with the one of the warm-up if there was one.
        request_rules: filters and changes of the log's requests.
        restarts: the options for which each step began at the start of the log; empty if steps read on.
        each: ``step`` or ``trial``.
        bundled: the log is that of the package, which nobody can make longer.
        tell: takes the sentence.

    Returns:
        The figures for summary.json, and the findings.
    """
    sent = (
        rows.filter(pl.col("row") >= 0, pl.col("error").ne_missing("dropped"))["url"]
        for name in (JUDGED, ASIDE)
        if (folder / name).exists()
        for rows in read_batches(folder / name, ("row", "url", "error"))
    )
    if not (folder / JUDGED).exists() or isinstance(base(stream).source, RequestsFrom):  # which may have no end
        return {}, []
    log = replace(base(stream).anew(), loop=False)
    mixed = request_rules.order != "log"  # the start of the log may have other URLs than its end
    once = Shuffled(log, request_rules.seed).frames() if mixed else log.one_pass()
    found = url_repeats(sent, (frame["url"] for frame in once))
    if not found:
        return {}, []
    tell(found.sentence())
    remedies = []
    if restarts:
        options = " and ".join(restarts)
        remedies.append(f"leave out {options}, so that each {each} reads on where the last one ended")
    if request_rules.order == "random":
        remedies.append("send each request once, with --request-order shuffle")
    if found.requests > found.log_requests or not remedies:
        remedies.append("give a longer log")
    finding = Finding("urls_repeated", Severity.WARNING, found.warning("; ".join(remedies)))
    return {"urls": found.as_dict()}, [finding] if found.repeats and not bundled else []


def changed_routes(changes: Mapping[tuple[str, str], int]) -> list[tuple[str, str, int]]:
    """Requests by method and route, most first: numbers and ids of a path are left out."""
    rows = [(op, path, count) for (op, path), count in changes.items()]
    frame = pl.DataFrame(rows, schema={"op": pl.String, "url": pl.String, "count": pl.Int64}, orient="row")
    routes = frame.group_by("op", route(pl.col("url")).alias("route")).agg(pl.col("count").sum())
    return routes.sort("count", "op", "route", descending=[True, False, False]).rows()
