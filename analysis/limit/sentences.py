"""Writes the sentences that name the limit of a sweep, with the evidence and with advice."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from logreplay.analysis.format_time import show, show_rate
from logreplay.analysis.limit.watched import WatchedFigure, told
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import number_of

_WATCH: Final = "--watch"
POOLS: Final = "the target's pools"
PROCESSORS_AND_POOLS: Final = "the target's processors and its pools"
_MORE_WORKERS: Final = ("workers", "sharing", "slowed", "split")


@dataclass(frozen=True)
class TargetLimit:
    """The likely limit of a target, from the rows of a sweep.

    Attributes:
        kind: ``workers``, ``sharing``, ``slowed``, ``inner``, ``rate_limit``, ``refuses``, ``paced``, ``route``,
            ``pauses``, ``batch``, ``retrograde`` or ``split``; None where it cannot be told.
        at_once: number of requests that the target works on at once; None if the kind has no such number.
        low: the lower end of the range of this number.
        high: the upper end.
        service_s: mean time of a request that finds the target idle, seconds; None: unknown.
        text: the answer in words, with its evidence.
        advice: advice, in words.
        watched: which figures of `--watch` reached their maxima, which are ruled out, which grow with the queue.
    """

    kind: str | None
    at_once: float | None
    low: float | None
    high: float | None
    service_s: float | None
    text: str
    advice: str
    watched: tuple[WatchedFigure, ...] = ()

    @classmethod
    def of(cls, limit: Mapping[str, Any]) -> "TargetLimit":
        """Read the values of `as_dict`."""
        return cls(**{**limit, "watched": tuple(WatchedFigure(**each) for each in limit.get("watched", ()))})

    @property
    def sentence(self) -> str:
        """Text and advice in one line."""
        return f"{self.text}; {self.advice}" if self.advice else self.text

    @property
    def watched_sentence(self) -> str:
        """Texts of the watched figures in one line; empty without any."""
        return told(self.watched)

    def beside(self, figures: Sequence[WatchedFigure]) -> "TargetLimit":
        """Add the watched figures, and remove advice that they answer or contradict."""
        reached = [each.name.rpartition("_")[2] for each in figures if each.kind == "ceiling"]
        idle = [each.name.rpartition("_")[2] for each in figures if each.kind == "ruled_out"]
        advice = self.advice
        if reached and self.kind is None:
            advice = ""
        elif "cpu" in idle:
            advice = advice.replace(PROCESSORS_AND_POOLS, POOLS)
        elif self.kind in _MORE_WORKERS and "cpu" in reached:
            advice = "the processors are busy: more workers will not help"
        return replace(self, advice=advice, watched=tuple(figures))

    def as_dict(self) -> dict[str, Any]:
        """The values, for JSON."""
        return asdict(self)


def span(low: float, high: float) -> str:
    """Format a range of a number of requests: ``3.9–4.1``."""
    return f"{low:.1f}–{high:.1f}" if high < 20 else f"{low:.0f}–{high:.0f}"


def count(number: float) -> str:
    """Format a number of requests; a number close to a whole one is rounded to it."""
    near = abs(number - round(number)) <= 0.1 * max(number, 1) and round(number) > 0
    return f"{round(number)}" if near else f"{number:.1f}"


def workers(number: float, low: float, high: float, service_s: float, rate: float) -> TargetLimit:
    """Limit: a number of workers with one queue, which answer ``rate`` requests/s together."""
    text = _behaves(number, low, high, service_s, rate, "first come first served")
    advice = "raise the number of workers, threads or connections, or make each faster, and sweep again"
    return TargetLimit("workers", number, low, high, service_s, text, advice)


def sharing(number: float, low: float, high: float, service_s: float) -> TargetLimit:
    """Limit: processors that all requests share."""
    text = (
        f"requests in the target share the equivalent of {_counted(number, 'processor')} ({span(low, high)}); one "
        f"alone takes {show(service_s)}"
    )
    advice = "add processors, or limit how many requests are worked on at once; more workers do not help"
    return TargetLimit("sharing", number, low, high, service_s, text, advice)


def slowed(places: int, number: float, low: float, high: float, service_s: float) -> TargetLimit:
    """Limit: workers that have fewer processors than they need."""
    text = (
        f"the target works on {places} requests at a time, and each takes {places / number:.1f} times as long when all "
        f"are busy: together they are worth {count(number)} ({span(low, high)}); one alone takes {show(service_s)}"
    )
    advice = "look at the processors, or at what the workers share; more workers do not help"
    return TargetLimit("slowed", number, low, high, service_s, text, advice)


def inner(most: int, rate: float, outside: float, service_s: float, *, exact: bool) -> TargetLimit:
    """Limit: a part inside, such as a lock or a pool, that takes few requests at a time."""
    part = "one at a time" if most == 1 else f"{most} at a time" if exact else f"1 to {most} at a time"
    text = (
        f"requests pass {part} through a part inside the target, at most {show_rate(rate, 4)}/s, and {count(outside)} "
        f"are in the target when it is just busy; one alone takes {show(service_s)}"
    )
    named = "a lock, a pool of one, or a single connection" if most == 1 else "a lock or a small pool"
    advice = f"look for {named}; more workers do not help"
    low = most if exact else 1
    return TargetLimit("inner", float(most) if exact else None, float(low), float(most), service_s, text, advice)


def rate_limit(rate: float, took: float, service_s: float | None) -> TargetLimit:
    """Limit: a rate limiter that refuses requests."""
    text = f"the target has a limit of {show_rate(rate, 4)}/s: it refuses requests above it in {show(took)}"
    advice = "look for the limit that is configured: the target may carry more without it"
    return TargetLimit("rate_limit", None, None, None, service_s, text, advice)


def refuses(places: int, low: float, high: float, took: float, service_s: float | None) -> TargetLimit:
    """Limit: requests are refused from some number in flight on."""
    text = f"the target refuses requests beyond {places} at once ({low:.0f}–{high:.0f}), in {show(took)}"
    advice = "raise this number, or that of the workers behind it, or make each request faster"
    return TargetLimit("refuses", float(places), low, high, service_s, text, advice)


def paced(rate: float, service_s: float) -> TargetLimit:
    """Limit: a rate limiter that delays requests."""
    text = (
        f"one request alone takes {show(service_s)}, and only {show_rate(rate, 4)}/s pass: the target delays what "
        "comes faster"
    )
    advice = f"look for a limit of {show_rate(rate)}/s that is configured"
    return TargetLimit("paced", None, None, None, service_s, text, advice)


def route(name: str, alone: TargetLimit | None) -> TargetLimit:
    """Limit: one route is slow, and the others are not; ``alone``: the limit of the route by itself, if known."""
    shown = safe_to_show(name)
    text, advice = f"only route {shown} slows down", f"look at what {shown} alone uses, such as a pool of its own"
    if alone is None or alone.kind is None:
        return TargetLimit("route", None, None, None, None, f"{text}; the others do not", advice)
    own = alone.text.replace("the target", "it")
    return replace(alone, kind="route", text=f"{text}, the others do not: {own}", advice=advice)


def retrograde(most: float, left: float) -> TargetLimit:
    """Limit: throughput falls as the backlog grows."""
    text = (
        f"throughput falls with the backlog: the target carries {show_rate(most, 4)}/s, and {show_rate(left, 4)}/s "
        "under overload"
    )
    advice = "limit how many requests it lets in at once, and look for contention"
    return TargetLimit("retrograde", None, None, None, None, text, advice)


def pauses(number: int, length_s: float, every_s: float, share: float) -> TargetLimit:
    """Limit: pauses in which no request leaves."""
    text = (
        f"the target pauses: nothing is answered in {number} spells of {show(length_s)}, one every "
        f"{show_rate(every_s, 2)} s, {100 * share:.0f} % of the time"
    )
    advice = "look for garbage collection, or for what else stops the whole process"
    return TargetLimit("pauses", None, None, None, None, text, advice)


def batch(size: float, service_s: float) -> TargetLimit:
    """Limit: batches whose responses leave together."""
    text = f"responses leave in batches of about {size:.0f}; one request alone takes {show(service_s)}"
    advice = "look for the size of a batch, or for a timer that writes responses"
    return TargetLimit("batch", None, None, None, service_s, text, advice)


def split(number: float, low: float, high: float, service_s: float, rate: float) -> TargetLimit:
    """Limit: several workers, each with a queue of its own, which answer ``rate`` requests/s together."""
    text = _behaves(number, low, high, service_s, rate, "each with a queue of its own")
    advice = "look at how requests are spread: one queue for all keeps no worker idle while requests wait"
    return TargetLimit("split", number, low, high, service_s, text, advice)


def cannot_tell(why: str, *watch: str, service_s: float | None = None) -> TargetLimit:
    """The cause is unknown.

    Args:
        why: evidence in the rows, or the causes that they fit.
        watch: the series that decide.
        service_s: time of a request alone, seconds.
    """
    advice = f"{_WATCH} decides: watch {' and '.join(watch)}" if watch else ""
    return TargetLimit(None, None, None, None, service_s, f"the cause of the limit cannot be told: {why}", advice)


def _behaves(number: float, low: float, high: float, service_s: float, rate: float, queue: str) -> str:
    """Words for workers, each of which takes so long for a request that together they answer ``rate`` requests/s."""
    each = show(float(count(number)) / rate)
    text = f"the target behaves like {_counted(number, 'worker')} ({span(low, high)}) of {each}, {queue}"
    alone = show(service_s)
    return text if alone == each else f"{text}; one request alone takes {alone}, as the client sees it"


def _counted(number: float, noun: str) -> str:
    return number_of(round(number), noun) if count(number).isdigit() else f"{count(number)} {noun}s"
