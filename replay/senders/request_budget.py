"""Numbers of requests after which connections are closed, so that load spreads over the servers behind an address."""

from random import Random
from typing import Any


class RequestBudget:
    """Draws how many requests each connection carries: evenly from half the mean to one and a half times the mean.

    With the same number for all, connections that were opened together would be closed together.
    """

    def __init__(self, mean: int, seed: int = 0) -> None:
        self._random = Random(seed)
        self._least = (mean + 1) // 2
        self._spread = mean - self._least

    def draw(self) -> int:
        """The number for one more connection, at least 1."""
        return self._random.randint(self._least, self._least + 2 * self._spread)


class BudgetedIdle(dict[Any, int]):
    """The idle connections of a sender of HTTP/1.1; a connection that has carried its requests is closed instead.

    A connection becomes idle after each of its requests, and is taken out when it is lost (`pop`).
    """

    def __init__(self, budget: RequestBudget) -> None:
        super().__init__()
        self._budget = budget
        self._left: dict[Any, int] = {}

    def __setitem__(self, connection: Any, since: int) -> None:
        left = self._left[connection] = (self._left.get(connection) or self._budget.draw()) - 1
        if left:
            super().__setitem__(connection, since)
        else:
            connection.drop()

    def pop(self, connection: Any, default: Any = None) -> Any:
        self._left.pop(connection, None)
        return super().pop(connection, default)
