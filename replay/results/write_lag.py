"""The lag of writing rows behind the requests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WriteLag:
    """The lag of writing rows in a run.

    Attributes:
        rows: rows written more than a second after they were handed on.
        longest: seconds that the most delayed rows waited.
        working: seconds that counting and writing took.
        writing: seconds of these in which the results were written: the disk's share.
    """

    rows: int = 0
    longest: float = 0.0
    working: float = 0.0
    writing: float = 0.0

    def __add__(self, other: "WriteLag") -> "WriteLag":
        """Both together."""
        return WriteLag(
            self.rows + other.rows,
            max(self.longest, other.longest),
            self.working + other.working,
            self.writing + other.writing,
        )
