"""Says which requests were not sent, and how long a hook took."""

from typing import TYPE_CHECKING

from logreplay.cli.display.terminal import say
from logreplay.inputs.streams import left_out

if TYPE_CHECKING:
    from logreplay.replay.requests.plan import RequestStream


def report_left_out(stream: "RequestStream", *, quiet: bool = False) -> None:
    """Report the requests not sent, and the time spent in a hook."""
    for sentence in left_out(stream):
        say(sentence, quiet=quiet)
