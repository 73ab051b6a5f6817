"""Writes the results of checks as JUnit XML, which pipelines show."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from logreplay.analysis.verdict.checks import Check
from logreplay.core.errors import Interrupted, LogreplayError, UsageError
from logreplay.core.files import write_atomically, writing
from logreplay.core.masking import safe_to_show

_ENDED: Final = "the command came to its end"
_ELEMENTS: Final = {"failed": "failure", "unjudged": "error", "skipped": "skipped"}


@contextmanager
def reported(path: Path | None, command: str) -> Iterator[Callable[[Sequence[Check], str], object]]:
    """Write the checks that the block hands over, with why it stopped; or why there are none: an error, or Ctrl-C.

    Wrong options write nothing: the file may be one that they confuse with another. No path: no file is asked for.
    """
    cases: list[Check] = []

    def report(checks: Sequence[Check], stopped: str) -> None:
        cases.extend(checks)
        if stopped.startswith("interrupted"):
            cases.append(Check(_ENDED, "unjudged", stopped))

    try:
        yield report
    except (Exception, KeyboardInterrupt) as error:
        if path and not isinstance(error, UsageError):
            why = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            made = error.result.checks if isinstance(error, Interrupted) and error.result else ()
            with suppress(LogreplayError):  # the first error is told
                write_junit(path, command, [*made, Check(_ENDED, "unjudged", why)])
        raise
    if path:
        write_junit(path, command, cases)


def write_junit(path: Path, command: str, checks: Iterable[Check]) -> None:
    """Write a file with one test case for each check; an existing file is replaced."""
    cases = list(checks)
    counts = {
        "tests": len(cases),
        "failures": sum(case.state == "failed" for case in cases),
        "errors": sum(case.state == "unjudged" for case in cases),
        "skipped": sum(case.state == "skipped" for case in cases),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suite = Element("testsuite", {"name": f"logreplay {command}", **numbers})
    for case in cases:
        element = SubElement(suite, "testcase", classname=f"logreplay.{command}", name=safe_to_show(case.name))
        text = safe_to_show(case.text)
        if case.state == "passed":
            SubElement(element, "system-out").text = text
        else:
            SubElement(element, _ELEMENTS[case.state], message=text)
    with writing(path, "--junit"):
        text = tostring(suite, encoding="unicode", xml_declaration=False)
        write_atomically(path, f"{text}\n", option="--junit")
