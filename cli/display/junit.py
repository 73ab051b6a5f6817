"""Writes the results of checks as JUnit XML, which pipelines show."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from logreplay.cli.exit_codes import Exit


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a command.

    Attributes:
        name: of the condition.
        exit: OK: it holds; CONDITION: it does not; another: it could not be judged.
        text: the figures behind it.
    """

    name: str
    exit: Exit = Exit.OK
    text: str = ""


def worst(checks: Iterable[Check]) -> Exit:
    """The exit code of all checks: a condition that is not met counts most."""
    exits = {check.exit for check in checks}
    return next((code for code in (Exit.CONDITION, Exit.INVALID) if code in exits), Exit.OK)


def write_junit(path: Path, command: str, checks: Iterable[Check]) -> None:
    """Write a file with one test case for each check; an existing file is replaced.

    Raises:
        LogreplayError: it cannot be written.
    """
    from logreplay.core.files import unwritable, write_atomically
    from logreplay.core.masking import masked, terminal_safe

    cases = list(checks)
    counts = {
        "tests": len(cases),
        "failures": sum(case.exit is Exit.CONDITION for case in cases),
        "errors": sum(case.exit not in (Exit.OK, Exit.CONDITION) for case in cases),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suite = Element("testsuite", {"name": f"logreplay {command}", **numbers})
    for case in cases:
        element = SubElement(suite, "testcase", classname=f"logreplay.{command}", name=terminal_safe(masked(case.name)))
        text = terminal_safe(masked(case.text))
        if case.exit is Exit.OK:
            SubElement(element, "system-out").text = text
        else:
            SubElement(element, "failure" if case.exit is Exit.CONDITION else "error", message=text)
    try:
        text = tostring(suite, encoding="unicode", xml_declaration=False)
        write_atomically(path, f"{text}\n", option="--junit")
    except OSError as error:
        raise unwritable(path, error, "--junit") from None
