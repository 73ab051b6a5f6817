"""Checks as JUnit XML."""

from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.output.junit import write_junit
from logreplay.analysis.verdict.checks import Check, State
from logreplay.cli.exit_codes import Exit, of_checks

CHECKS = (
    Check("times", "failed", "slower by 7 % \x1b[31m <b> token=verysecret"),
    Check("answers", "unjudged", "too few"),
    Check("valid"),
    Check("no limit", "skipped", "slower by 7 %"),
)


def test_each_check_is_a_test_case(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("earlier results")
    write_junit(path, "duet", CHECKS)
    suite = ElementTree.parse(path).getroot()
    assert suite.attrib == {"name": "logreplay duet", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    times, answers, valid, open_ = suite
    assert times.attrib == {"classname": "logreplay.duet", "name": "times"}
    assert [child.tag for case in (times, answers, valid, open_) for child in case] == [
        "failure", "error", "system-out", "skipped",
    ]  # fmt: skip
    message = times[0].attrib["message"]
    assert message.startswith("slower by 7 %")
    assert "\x1b" not in message
    assert "verysecret" not in message


def test_a_condition_that_is_not_met_counts_most() -> None:
    assert of_checks(CHECKS) is Exit.CONDITION
    assert of_checks(CHECKS[1:]) is Exit.INVALID
    assert of_checks(CHECKS[2:]) is Exit.OK
    assert of_checks(()) is Exit.OK


@given(st.text(), st.text(), st.sampled_from(("passed", "failed", "unjudged", "skipped")))
def test_no_text_of_a_log_ends_an_element_or_makes_the_file_unreadable(name: str, text: str, state: State) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "junit.xml"
        write_junit(path, "duet", [Check(f"route /{name}", state, f"]]></failure>&#0;{text}\ud800\x00\x1b\ufffe")])
        (case,) = ElementTree.parse(path).getroot()
    assert [len(child) for child in case] == [0]
    shown = case.attrib["name"] + "".join([case[0].text or "", case[0].attrib.get("message", "")])
    assert shown.isprintable()
