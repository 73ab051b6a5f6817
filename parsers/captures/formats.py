"""The formats of captures, by the names that ``-f`` and ``--to`` take."""

from collections.abc import Callable, Iterable
from typing import BinaryIO, Final

from logreplay.parsers.captures.capture import Capture, CaptureFormat
from logreplay.parsers.captures.envoy_tap import ENVOY_TAP
from logreplay.parsers.captures.gor import GOR, write_gor
from logreplay.parsers.captures.har import HAR, write_har
from logreplay.parsers.captures.k6 import write_k6
from logreplay.parsers.captures.mitmproxy_flows import MITMPROXY
from logreplay.parsers.captures.vegeta import VEGETA, write_vegeta
from logreplay.parsers.captures.warc import WARC

CAPTURES: Final = (HAR, GOR, MITMPROXY, ENVOY_TAP, WARC, VEGETA)

WRITERS: Final[dict[str, Callable[[Iterable[Capture], BinaryIO], None]]] = {
    "vegeta": write_vegeta,
    "k6": write_k6,
    "gor": write_gor,
    "har": write_har,
}


def capture_format(head: bytes, wanted: str = "auto") -> CaptureFormat | None:
    """The format of a file: the one that the user names, or that its first bytes tell; None if it is a log."""
    if wanted not in ("auto", ""):
        return next((each for each in CAPTURES if each.name == wanted), None)
    return next((each for each in CAPTURES if each.fits(head)), None)
