"""One difference."""

from logreplay.analysis.response_diff.difference import shortened


def test_a_long_value_is_cut() -> None:
    assert shortened("x" * 10_000).endswith("x…")
    assert len(shortened("x" * 10_000)) < 310
    assert shortened("x") == "x"
