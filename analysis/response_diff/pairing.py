"""Pairs the elements of two lists, or the lines of two texts: moved, changed, added, removed.

Theory of operation. Elements are compared by keys. Elements whose keys are in both lists belong together; if these do
not come in the same order, the order differs. The others are paired in their order, as changed, and the rest
was added or removed. The time is linear in the length of the lists, whatever they hold.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paired:
    """The elements of two lists by their positions.

    Attributes:
        same: elements with equal keys.
        changed: elements that are paired although their keys differ.
        removed: elements that only the first list has.
        added: elements that only the second list has.
        moved: the elements with equal keys come in another order.
    """

    same: Sequence[tuple[int, int]]
    changed: Sequence[tuple[int, int]]
    removed: Sequence[int]
    added: Sequence[int]
    moved: bool


def pair(before: Sequence[Hashable], after: Sequence[Hashable]) -> Paired:
    """Pair the elements of two lists, given their keys."""
    if before == after:
        return Paired([(at, at) for at in range(len(before))], (), (), (), moved=False)
    common = Counter(before) & Counter(after)
    kept, removed = _split(before, common)
    kept_after, added = _split(after, common)
    moved = [before[at] for at in kept] != [after[at] for at in kept_after]
    if moved:
        places: dict[Hashable, list[int]] = {}
        for at in reversed(kept_after):
            places.setdefault(after[at], []).append(at)
        kept_after = [places[before[at]].pop() for at in kept]
    changed = min(len(removed), len(added))
    return Paired(
        [*zip(kept, kept_after, strict=True)],
        [*zip(removed[:changed], added[:changed], strict=True)],
        removed[changed:],
        added[changed:],
        moved,
    )


def _split(keys: Sequence[Hashable], common: Counter[Hashable]) -> tuple[list[int], list[int]]:
    """The positions of the elements that both lists have, and of the others."""
    left = common.copy()
    both: list[int] = []
    alone: list[int] = []
    for at, key in enumerate(keys):
        if left[key] > 0:
            left[key] -= 1
            both.append(at)
        else:
            alone.append(at)
    return both, alone
