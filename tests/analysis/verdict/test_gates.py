"""What ``--fail-above`` says of the rows of a duet."""

from typing import Any

import pytest

from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.gates import gate
from logreplay.analysis.verdict.ratio_interval import Change

CERTAIN, WIDE = Change(1, 0.99, 1.01, 6000, 60, 59), Change(1, 0.8, 1.25, 100, 60, 59)


def comparison(**changes: Any) -> Comparison:
    same: dict[str, Any] = {
        "sentence": "", "paired": True, "at_once": True, "change": CERTAIN, "slower_share": None, "quantiles": {},
        "pairs": {}, "steps": {}, "routes": {}, "statuses": [], "status_changed": None, "bytes_changed": None,
        "failed": (0, 0), "failed_more": (0, 0, 0),
    }  # fmt: skip
    return Comparison(**{**same, **changes})


@pytest.mark.parametrize(
    ("failed_more", "state", "end"),
    [((0.002, -0.002, 0.008), "passed", ""), ((0.05, 0.03, 0.07), "failed", "in the baseline"),
     ((0.0067, -0.077, 0.096), "passed", "whether 1% more fail (-7.7% to +9.6%); run longer"),
     ((0.02, -0.077, 0.096), "unjudged", "whether 1% more fail (-7.7% to +9.6%); run longer")],
)  # fmt: skip
def test_failures_that_pass_say_so_where_one_percent_more_is_not_excluded(
    failed_more: tuple[float, float, float], state: str, end: str
) -> None:
    check = gate(comparison(failed_more=failed_more), 0.05)[0]
    assert check.state == state
    assert check.text.endswith(end)
    assert bool(check.text) == bool(end)


def test_rows_of_a_duet_that_cannot_be_judged_are_named_and_do_not_fail_it() -> None:
    rows = dict.fromkeys(("p99", "/a\x1b", "/b", "/c", "/d"), WIDE)
    checks = gate(comparison(quantiles={"p50": CERTAIN, **rows}), 0.05)
    assert [check.state for check in checks] == ["passed", "passed"]
    said = checks[1].text
    assert "\x1b" not in said
    assert said.endswith(", /b and 2 more (run longer)")
    assert said.startswith("--fail-above 5.0%: all requests together pass; too uncertain to judge: p99, /a")
