"""Says which requests were not sent, and how long a hook took."""

from typing import TYPE_CHECKING

from logreplay.cli.display.terminal import say
from logreplay.core.plural import number_of
from logreplay.options.request_rules import base

if TYPE_CHECKING:
    from logreplay.replay.requests.plan import RequestStream


def report_left_out(stream: "RequestStream", *, quiet: bool = False) -> None:
    """Report the requests not sent, and the time spent in a hook."""
    from logreplay.analysis.wording import show
    from logreplay.core.masking import masked
    from logreplay.replay.requests.hook import hooked

    if stream.left_out:
        left_out = ", ".join(f"{count} x {why}" for why, count in stream.left_out.items())
        say(f"not sent: {left_out}{base(stream).methods_remedy()}", quiet=quiet)
    if hook := hooked(stream):
        say(f"hook: {number_of(hook.calls, 'call')}, {show(hook.cost)} each", quiet=quiet)
        if hook.first_error:
            say(f"hook: first failure: {masked(hook.first_error)}", quiet=quiet)
