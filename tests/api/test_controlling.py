from pathlib import Path

import pytest

import logreplay


def test_an_order_that_is_none_is_refused_before_a_run_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(logreplay.UsageError, match=r"'faster': expected raise 20%"):
        logreplay.control(tmp_path, "faster")


def test_a_folder_without_a_run_is_named() -> None:
    with pytest.raises(logreplay.LogreplayError, match='no run is controlled here; start a run with control="nosuch"'):
        logreplay.control("nosuch", "raise 20%")
