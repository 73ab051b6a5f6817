"""Computes the figures that siege and ab print, by their own definitions, to compare with older runs.

Neither tool knows when a request was due: all times here are service times. The response times of
`logreplay.analysis.summary` include the wait before sending.

Sources: siege 4.0 (what counts as a transaction follows from its handling of status codes), ab of Apache 2.4.
"""

import math
from typing import Any, Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.downcast import CANCELLED, FIRST_ERROR, HTTP_ERROR, NET_ERROR
from logreplay.analysis.statistics.quantiles import Micros, average, deviation
from logreplay.analysis.tables.aggregate import run_spans

MEGABYTE: Final = 1 << 20
SERVED: Final = (50, 66, 75, 80, 90, 95, 98, 99, 100)
"""Percentages of ab's ladder."""

_FAILED_STATUS: Final = (408, *range(500, 510))
_CHALLENGES: Final = (401, 407)


def elapsed(requests: RequestArrays) -> float:
    """Seconds from the first request sent to the last one over; at least the schedule's where its rate is known.

    Both tools stop at a time or after a number of requests, and do not know of a schedule with a pause at its end.
    """
    first, _, over = requests.sending
    scheduled_s = run_spans(requests)[0] if any(rate > 0 for rate in requests.rates) else 0.0
    return max((over - first) / SECOND, scheduled_s)


def served(requests: RequestArrays) -> Micros:
    """Return the sorted service times of the answered requests, from which both tools compute their figures."""
    ordered = those(requests.service, requests.outcome <= HTTP_ERROR)
    ordered.sort()  # in place: 20 million take 80 MB
    return ordered


def siege(requests: RequestArrays, service: Micros) -> dict[str, float | int | None]:
    """Return siege's final figures, from a run and its times of `served`.

    ``transactions``: answers, other than 408 and 500 to 509. ``failed_transactions``: those, and requests without
    an answer that were not cancelled. ``availability``: percentage of transactions in both. ``elapsed_time``:
    seconds. ``data_transferred``: megabytes (2**20) of bodies. ``response_time``: seconds spent in answered
    requests per transaction. ``transaction_rate``: per second. ``throughput``: megabytes per second.
    ``concurrency``: mean number of requests under way. ``successful_transactions``: status below 400, or 401, 407.
    ``longest_transaction``, ``shortest_transaction``: seconds, of all answered.
    """
    status = requests.kind_counts[:FIRST_ERROR]
    refused = int(status[list(_FAILED_STATUS)].sum())
    transactions = int(status.sum()) - refused
    failed = refused + _unanswered(requests)
    seconds, spent = elapsed(requests), float(service.sum(dtype=np.int64)) / SECOND
    megabytes = float(those(requests.bytes, requests.outcome <= HTTP_ERROR).sum(dtype=np.int64)) / MEGABYTE
    return {
        "transactions": transactions,
        "availability": _ratio(100.0 * transactions, transactions + failed),
        "elapsed_time": seconds,
        "data_transferred": megabytes,
        "response_time": _ratio(spent, transactions),
        "transaction_rate": _ratio(transactions, seconds),
        "throughput": _ratio(megabytes, seconds),
        "concurrency": _ratio(spent, seconds),
        "successful_transactions": int(status[:400].sum() + status[list(_CHALLENGES)].sum()),
        "failed_transactions": failed,
        "longest_transaction": int(service[-1]) / SECOND if len(service) else None,
        "shortest_transaction": int(service[0]) / SECOND if len(service) else None,
    }


def ab(requests: RequestArrays, service: Micros) -> dict[str, Any]:
    """Return ab's tables, from a run and its times of `served`.

    ``connect``, ``processing`` (all but connect), ``waiting`` (to the first byte) and ``total``: each with ``min``,
    ``mean``, ``sd``, ``median`` and ``max``, seconds. ``served_within``: percentage of the requests served →
    seconds. ``requests_per_second``; ``time_per_request``: seconds, across all concurrent requests;
    ``complete_requests``, ``failed_requests`` (neither an answer nor cancelled), ``non_2xx_responses``;
    ``keep_alive_requests``: answered on a connection that was already open, None where the rows do not say;
    ``html_transferred``: bytes of bodies. All but the failed requests are of the answered requests.
    """
    answered = requests.outcome <= HTTP_ERROR
    status = requests.kind_counts[:FIRST_ERROR]
    complete, seconds = int(status.sum()), elapsed(requests)

    def ordered(values: Micros) -> Micros:
        result: Micros = np.sort(those(values, answered))
        return result

    return {
        "connect": _spread(ordered(requests.connect)),
        "processing": _spread(ordered(requests.service - np.minimum(requests.connect, requests.service))),
        "waiting": _spread(ordered(requests.latency)),
        "total": _spread(service),
        "served_within": {percent: _served(service, percent) for percent in SERVED},
        "requests_per_second": _ratio(complete, seconds),
        "time_per_request": _ratio(seconds, complete),
        "complete_requests": complete,
        "failed_requests": _unanswered(requests),
        "non_2xx_responses": complete - int(status[200:300].sum()),
        "keep_alive_requests": _reused(requests, complete),
        "html_transferred": int(those(requests.bytes, answered).sum(dtype=np.int64)),
    }


def _unanswered(requests: RequestArrays) -> int:
    """Requests without an answer; those that the run cancelled as it stopped neither failed nor were answered."""
    return requests.count(NET_ERROR) - int(requests.kind_counts[CANCELLED])


def _reused(requests: RequestArrays, complete: int) -> int | None:
    """Answered requests that opened no connection; None where no request did, for then the rows have no such times."""
    opened = requests.connect > 0
    return complete - int((opened & (requests.outcome <= HTTP_ERROR)).sum()) if opened.any() else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _spread(ordered: Micros) -> dict[str, float | None]:
    """Min, mean, standard deviation of the sample, ab's median, max; seconds."""
    if not len(ordered):
        return dict.fromkeys(("min", "mean", "sd", "median", "max"))
    middle = len(ordered) // 2
    odd = len(ordered) > 1 and len(ordered) % 2 == 1
    median = (int(ordered[middle]) + int(ordered[middle + 1])) / 2 if odd else int(ordered[middle])  # as it is there
    return {
        "min": int(ordered[0]) / SECOND,
        "mean": average(ordered) / SECOND,
        "sd": deviation(ordered) / SECOND,
        "median": median / SECOND,
        "max": int(ordered[-1]) / SECOND,
    }


def _served(ordered: Micros, percent: int) -> float:
    """The time at ab's index for a percentage, seconds; NaN where nothing was answered."""
    if not len(ordered):
        return math.nan
    return float(ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]) / SECOND
