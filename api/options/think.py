"""The values of ``--think``: a fixed pause of a user, or one drawn again for each request."""

from typing import TYPE_CHECKING, Any

from logreplay.core.quantities import TIME_UNITS, pause_of

if TYPE_CHECKING:
    from logreplay.replay.schedules.users import UniformThink

Pauses = float | tuple[float, float]
"""Seconds; or the lowest and the highest number of seconds."""


def parse_pauses(text: str) -> Pauses:
    """Read ``1s``, ``0`` or ``1s..3s``.

    Raises:
        ValueError: the range is empty, or one of its ends is not a pause.
    """
    first, dots, last = text.partition("..")
    if not dots:
        return pause_of(text)
    try:
        low, high = pause_of(first), pause_of(last)
    except ValueError:
        raise ValueError(
            f"{text!r}: expected the shortest and the longest pause, up to 87600h, such as 1s..3s ({TIME_UNITS})"
        ) from None
    if low > high:
        raise ValueError(f"{text!r}: {low:g} s is above {high:g} s; write the shorter pause first, such as 1s..3s")
    return high if low == high else (low, high)


def thinking(pauses: Pauses, seed: int) -> "float | UniformThink":
    """The think times of users, for their schedule."""
    from logreplay.replay.schedules.users import UniformThink

    return pauses if isinstance(pauses, float | int) else UniformThink(*pauses, seed=seed)


def mean_of(pauses: Pauses) -> float:
    """The mean pause, seconds."""
    return pauses if isinstance(pauses, float | int) else sum(pauses) / 2


def said(pauses: Pauses | None, seed: int) -> Any:
    """The value as a summary names it: random pauses with their distribution and seed."""
    if isinstance(pauses, tuple):
        return {"distribution": "uniform", "low": pauses[0], "high": pauses[1], "seed": seed}
    return pauses
