"""What ``--fail-above`` says of the rows of a duet."""

from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.gates import gate
from logreplay.analysis.verdict.ratio_interval import Change

CERTAIN, WIDE = Change(1, 0.99, 1.01, 6000, 60, 59), Change(1, 0.8, 1.25, 100, 60, 59)


def test_rows_of_a_duet_that_cannot_be_judged_are_named_and_do_not_fail_it() -> None:
    rows = dict.fromkeys(("p99", "/a\x1b", "/b", "/c", "/d"), WIDE)
    found = Comparison(
        sentence="", paired=True, at_once=True, change=CERTAIN, slower_share=None, quantiles={"p50": CERTAIN, **rows},
        pairs={}, steps={}, routes={}, statuses=[], status_changed=None, bytes_changed=None,
        failed=(0, 0), failed_more=(0, 0, 0),
    )  # fmt: skip
    checks = gate(found, 0.05)
    assert [check.state for check in checks] == ["passed", "passed"]
    said = checks[1].text
    assert "\x1b" not in said
    assert said.endswith(", /b and 2 more (run longer)")
    assert said.startswith("--fail-above 5.0%: all requests together pass; too uncertain to judge: p99, /a")
