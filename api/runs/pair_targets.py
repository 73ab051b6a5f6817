"""Checks the targets of a duet against each other, before its first request."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import UsageError
from logreplay.replay.senders.endpoint import are_one, is_loopback

if TYPE_CHECKING:
    from logreplay.replay.senders.endpoint import Endpoint

_GIVEN_AS: Final = {
    **{"baseline": "BASELINE", "candidate": "CANDIDATE", "noise": "--noise"},
    **{"baseline2": "--swap BASELINE2", "candidate2": "--swap CANDIDATE2"},
}
_DEPLOY: Final = "run BASELINE and CANDIDATE2 on one machine, CANDIDATE and BASELINE2 on the other"


def checked_targets(endpoints: "Mapping[str, Endpoint]") -> Iterator[str]:
    """Yield a note for each two targets that are one.

    Args:
        endpoints: by the name of the target.

    Raises:
        UsageError: the pairs of --swap have a target in common, or the roles of the machines are not swapped.
    """
    for (name, one), (other, another) in combinations(endpoints.items(), 2):
        if not are_one(one, another):
            continue
        what = f"{_GIVEN_AS[name]} and {_GIVEN_AS[other]} name one target, {one.target}"
        if name in ("baseline", "candidate") and other in ("baseline2", "candidate2"):
            raise UsageError(f"{what}: {_DEPLOY}")
        yield f"{what}; any difference between them is due to chance"
    if "baseline2" not in endpoints:
        return
    for own, others in (("baseline", "candidate"), ("candidate", "baseline")):
        second = {address for address in endpoints[f"{own}2"].addresses if not is_loopback(address)}
        if second & {*endpoints[own].addresses} and not second & {*endpoints[others].addresses}:
            raise UsageError(
                f"{_GIVEN_AS[own]} and {_GIVEN_AS[f'{own}2']} are on one machine, {min(second)}, and "
                f"{_GIVEN_AS[others]} on another, so that no role is swapped: {_DEPLOY}"
            )
