"""Tables on a terminal: open, never folded; numbers to the right."""

from collections.abc import Collection

from rich.console import Console
from rich.table import Table


class OpenTable:
    """Rows under heads, without lines, printed on stdout."""

    def __init__(self, *heads: str, words: Collection[str] = ("verdict",)) -> None:
        """Begin a table; its first column and those named in ``words`` are text, the others figures."""
        self._table = Table(box=None)
        for index, head in enumerate(heads):
            left = index == 0 or head in words
            self._table.add_column(head, justify="left" if left else "right", no_wrap=True)

    def add(self, *cells: str) -> None:
        """Add a row; signs that could steer a terminal are shown as ``?``."""
        self._table.add_row(*("".join(sign if sign.isprintable() else "?" for sign in cell) for cell in cells))

    def print(self) -> None:
        """Print it, and a blank line after it; nothing if it has no rows."""
        if not self._table.row_count:
            return
        console = Console(highlight=False, markup=False)
        if not console.is_terminal:
            console.width = 200  # a pipe has no width to fold the table to
        console.print(self._table)
        console.print()
