"""Writes results as JSON. JSON has no number that is infinite or undefined: null stands in its place."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: object, *, indent: int | None = 2) -> str:
    """Write a value as JSON; ``indent``: spaces of each level; None: all in one line."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def finite(value: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a value with None in place of each number in it that is not finite."""
    return {key: _finite(part) for key, part in value.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return finite(value)
    if isinstance(value, list | tuple):
        parts = map(_finite, value)
        return tuple(parts) if isinstance(value, tuple) else [*parts]
    return None if isinstance(value, float) and not math.isfinite(value) else value
