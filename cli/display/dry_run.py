"""Shows what a run would send: the head of its plan, its rate over time, and what would be left out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from logreplay.cli.display.terminal import print_json, print_result, print_text, say
from logreplay.core.plural import number_of
from logreplay.replay.senders.trace import printable

if TYPE_CHECKING:
    from logreplay.runs.single import DryRun


def show_dry_run(found: "DryRun", *, as_json: bool, quiet: bool) -> None:
    """Print it."""
    seen, load = found.seen, found.call.load
    if as_json:
        figures = {"requests": seen.requests, "seconds": seen.last, "per_second": seen.per_second}
        head = [{"scheduled": due, "op": op, "url": url} for due, op, url in found.head]
        changes, login_requests = (
            [{"op": op, "route": route, "requests": count} for op, route, count in rows]
            for rows in (found.changes, found.logins or [])
        )
        left_out = found.left_out
        may_change = {"changes": changes, "logins": login_requests}
        print_json({**figures, "head": head, **may_change, "left_out": left_out})
        return
    for due, op, url in found.head:
        print_text(f"{due:12.6f} s  {op} {printable(url.encode())}")
    once = ", the log once; the answers decide how many are sent" if load.answers_decide else ""
    print_result(number_of(seen.requests, "request") + (once if load.vusers else f" in {seen.last:.3f} s"))
    if not load.vusers:
        rates = seen.rates()
        most = max((rate for _, _, rate in rates), default=1.0)
        for first, last, rate in rates:
            print_text(f"{first:6d}..{last + 1:<6d} s {rate:10.2f}/s {'#' * round(40 * rate / most)}")
    if found.changes:
        print_text("these may change data on the target:")
        _show_routes(found.changes)
    if found.logins is not None:
        print_text(
            f"logins: {number_of(sum(count for _, _, count in found.logins), 'request')} of "
            f"{number_of(len(seen.clients), 'client')}"
        )
        _show_routes(found.logins)
    for sentence in found.notes:
        say(sentence, quiet=quiet)


def _show_routes(routes: Sequence[tuple[str, str, int]]) -> None:
    for op, route, count in routes:
        print_text(f"{count:10d} {op} {printable(route.encode())}")
