"""Checks as JUnit XML."""

from pathlib import Path
from xml.etree import ElementTree

from logreplay.cli.display.junit import Check, worst, write_junit
from logreplay.cli.exit_codes import Exit

CHECKS = (
    Check("times", Exit.CONDITION, "slower by 7 % \x1b[31m <b> token=verysecret"),
    Check("answers", Exit.INVALID, "too few"),
    Check("valid"),
)


def test_each_check_is_a_test_case(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("earlier results")
    write_junit(path, "duet", CHECKS)
    suite = ElementTree.parse(path).getroot()
    assert suite.attrib == {"name": "logreplay duet", "tests": "3", "failures": "1", "errors": "1"}
    times, answers, valid = suite
    assert times.attrib == {"classname": "logreplay.duet", "name": "times"}
    assert [child.tag for case in (times, answers, valid) for child in case] == ["failure", "error", "system-out"]
    message = times[0].attrib["message"]
    assert message.startswith("slower by 7 %")
    assert "\x1b" not in message
    assert "verysecret" not in message


def test_a_condition_that_is_not_met_counts_most() -> None:
    assert worst(CHECKS) is Exit.CONDITION
    assert worst(CHECKS[1:]) is Exit.INVALID
    assert worst(()) is Exit.OK
