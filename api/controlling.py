"""`control`: changes the load of a run, of this process or another one of the same user."""

from os import PathLike
from pathlib import Path

from logreplay.core.errors import UsageError
from logreplay.options.keywords import value_of
from logreplay.options.kinds import PATH, TEXT
from logreplay.options.signatures import with_known_names
from logreplay.options.spelling import respelled


@with_known_names
def control(place: str | PathLike[str], order: str) -> str:
    """Change the load of a run that has the parameter ``control``; return a sentence on the change.

    Args:
        place: the folder that the run named.
        order: ``"raise 20%"``, ``"lower 20%"``, ``"rate 150"``, ``"speed 2"``, ``"pause"``, ``"continue"``, ``"end"``.

    Raises:
        UsageError: the order is not one of these.
        LogreplayError: no run is controlled there, or it refuses the order.
    """
    where: Path = value_of("place", PATH, place)
    with respelled("run"):
        return control_once(where, value_of("order", TEXT, order))


def control_once(place: Path, order: str) -> str:
    """`control` for callers whose errors name options."""
    from logreplay.replay.monitor.control_socket import give_order
    from logreplay.replay.schedules.orders import parse_order

    try:
        asked = parse_order(order)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return give_order(place, asked)
