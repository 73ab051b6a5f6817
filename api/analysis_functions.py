"""The functions of `logreplay.analysis` whose answers advise: as programs call them, texts name parameters."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from logreplay.analysis import api
from logreplay.options.spelling import respelled, texts_spelled

P = ParamSpec("P")
R = TypeVar("R")


def _advising(name: str, function: Callable[P, R]) -> Callable[P, R]:
    """A function whose answers and errors name the parameters of the function ``name``, which makes the next run."""

    @wraps(function)
    def called(*given: P.args, **options: P.kwargs) -> R:
        with respelled(name):
            return texts_spelled(function(*given, **options), name)

    return called


capacity = _advising("sweep", api.capacity)
compare = _advising("duet", api.compare)
saturation = _advising("sweep", api.saturation)
