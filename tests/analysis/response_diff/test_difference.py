"""One difference."""

from logreplay.analysis.response_diff.difference import shortened


def test_a_value_that_is_cut_ends_with_a_quote_that_closes_the_secret_in_it() -> None:
    assert shortened("x" * 10_000).endswith('x"…')
    assert shortened(r'"a\"b"', 3) == '"a"…'
    assert shortened("x") == "x"
