"""Results as JSON that every reader takes: no Infinity and no NaN."""

import json
import math

import pytest

from logreplay.analysis.json_text import finite, json_text

VALUE = {"p99": math.inf, "steps": [{"p50": 0.2, "mean": math.nan}], "range": (0, -math.inf), "word": "Infinity"}
KNOWN = {"p99": None, "steps": [{"p50": 0.2, "mean": None}], "range": (0, None), "word": "Infinity"}


@pytest.mark.parametrize("indent", [None, 2])
def test_numbers_that_json_does_not_have_become_null(indent: int | None) -> None:
    assert json.loads(json_text(VALUE, indent=indent), parse_constant=pytest.fail) == {**KNOWN, "range": [0, None]}


def test_a_value_is_copied_without_such_numbers() -> None:
    assert finite(VALUE) == KNOWN
    assert VALUE["p99"] == math.inf
