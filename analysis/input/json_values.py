"""Values of a JSON file that another program may have written; each is checked when it is read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from logreplay.core.errors import LogreplayError

_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value with its place, for errors that name both.

    Attributes:
        file: file that it was read from.
        value: value, of any type; None: null, or there is none.
        remedy: advice that ends an error.
        key: place in the file, such as ``slo.bounds[0].limit``; empty: all of it.
    """

    file: Path
    value: Any
    remedy: str
    key: str = ""

    @classmethod
    def read(cls, file: Path, remedy: str) -> Self:
        """Read a file."""
        try:
            return cls(file, json.loads(file.read_bytes()), remedy)
        except OSError as error:
            raise LogreplayError(f"{file}: cannot be read: {error.strerror}; {remedy}") from None
        except (ValueError, RecursionError) as error:
            raise LogreplayError(f"{file}: is not JSON ({error}); {remedy}") from None

    def __getitem__(self, name: str) -> Self:
        """The value of a key; None if the key, or this object itself, is missing."""
        if not isinstance(self.value, dict | None):
            raise self.wrong("an object")
        return replace(self, value=(self.value or {}).get(name), key=f"{self.key}.{name}".removeprefix("."))

    def each(self) -> Iterator[Self]:
        """The values of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        for place, value in enumerate(self.value):
            yield replace(self, value=value, key=f"{self.key}[{place}]")

    def text(self) -> str:
        """The value as a text."""
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        return self.value

    def number(self, least: float = 0.0, most: float = 1e9) -> float:
        """The value as a number."""
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not (number and least <= self.value <= most):
            raise self.wrong(f"a number from {least:g} to {most:g}")
        return float(self.value)

    def wrong(self, expected: str) -> LogreplayError:
        """The error of a value that is not of the expected kind."""
        shown = "missing or null" if self.value is None else json.dumps(self.value)
        shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
        place = f"{self.file}: {self.key}".removesuffix(": ")
        return LogreplayError(f"{place} is {shown}; expected {expected}; {self.remedy}")
