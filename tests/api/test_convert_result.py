"""A conversion as a value."""

import copy
import pickle
from pathlib import Path

import pytest

import logreplay

LINE = '10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5\n'


def test_a_result_is_copied_pickled_and_shown(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text(LINE * 3)
    kept = logreplay.convert(log, output=tmp_path / "out.csv")
    assert kept.requests["url"].to_list() == ["/"] * 3
    again = pickle.loads(pickle.dumps(copy.deepcopy(kept)))
    assert again.sentence == kept.sentence == "3 lines = 3 converted + 0 unreplayable + 0 rejected + 0 blank"
    assert again.requests.equals(kept.requests)
    assert again.summary == kept.summary
    assert repr(kept) == f"<ConvertResult {kept.sentence}>"
    assert "<p><b>3 lines" in kept._repr_html_()
    assert (kept.verdict, kept.passed) == ("VALID", True)


def test_each_rejected_line_is_one_row_whatever_characters_it_holds(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    text = "one\x0b\x0c\x1c\x1d\x1e\x85\u2028two\rthree"
    log.write_bytes(f"{LINE}{text}\nno request\r\n{LINE}".encode())
    with logreplay.convert(log) as result:
        assert result.report.rejected == 2
        assert result.rejects[["place", "line"]].to_numpy().tolist() == [["2", text], ["3", "no request"]]


def test_the_place_of_a_rejected_line_may_have_blanks_in_the_name_of_its_log(tmp_path: Path) -> None:
    for name in ("my log.log", "other.log"):
        (tmp_path / name).write_text(LINE + name + "\n")
    with logreplay.convert(tmp_path / "my log.log", tmp_path / "other.log") as result:
        assert result.rejects[["place", "reason"]].to_numpy().tolist() == [
            [f"{tmp_path / name}:2", "rejected: layout"] for name in ("my log.log", "other.log")
        ]


def test_rows_that_are_gone_are_told_as_such(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text(LINE)
    gone = logreplay.convert(log)
    gone.close()
    with pytest.raises(logreplay.LogreplayError, match="the rows are gone"):
        _ = gone.requests
    assert gone.rejects.empty
    assert gone.converted == 1
