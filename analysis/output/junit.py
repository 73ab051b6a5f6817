"""Writes the results of checks as JUnit XML, which pipelines show."""

from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from logreplay.analysis.verdict.checks import Check
from logreplay.core.files import unwritable, write_atomically
from logreplay.core.masking import masked, terminal_safe


def write_junit(path: Path, command: str, checks: Iterable[Check]) -> None:
    """Write a file with one test case for each check; an existing file is replaced.

    Raises:
        LogreplayError: it cannot be written.
    """
    cases = list(checks)
    counts = {
        "tests": len(cases),
        "failures": sum(case.state == "failed" for case in cases),
        "errors": sum(case.state == "unjudged" for case in cases),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suite = Element("testsuite", {"name": f"logreplay {command}", **numbers})
    for case in cases:
        element = SubElement(suite, "testcase", classname=f"logreplay.{command}", name=terminal_safe(masked(case.name)))
        text = terminal_safe(masked(case.text))
        if case.state == "passed":
            SubElement(element, "system-out").text = text
        else:
            SubElement(element, "failure" if case.state == "failed" else "error", message=text)
    try:
        text = tostring(suite, encoding="unicode", xml_declaration=False)
        write_atomically(path, f"{text}\n", option="--junit")
    except OSError as error:
        raise unwritable(path, error, "--junit") from None
