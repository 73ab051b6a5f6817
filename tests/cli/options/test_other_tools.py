"""Whoever types an option of another load generator is told the one to use."""

from pathlib import Path

import pytest

from logreplay.cli.main import cli, run
from logreplay.cli.options.other_tools import FOREIGN, uses

PAGE = Path(__file__).parents[3] / "docs" / "coming-from.md"
ONE = ("access.log", "http://127.0.0.1:1")


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*words]) == 2
    return capsys.readouterr().err.rpartition("Error: ")[2].strip()


@pytest.mark.parametrize(
    ("words", "option", "told"),
    [
        ("run -d 10", "-d 10: -d is --debug here, and takes no value", "--for D for the duration (k6, wrk)"),
        ("run -d10s", "-d 10s: -d is --debug here, and takes no value", "--for D for the duration (k6, wrk)"),
        ("run -q 20", "-q 20: -q is --quiet here, and takes no value", "--tps R for the rate (hey)"),
        ("find -c 50", "-c 50: -c is --vusers here, and takes no value", "-c alone (find searches their number)"),
        ("run -t4", "No such option '-t'", "--for D for the duration (ab, siege, Locust) or --workers N for threads"),
        ("run -z 30s", "No such option '-z'", "--for D for the duration (hey)"),
        ("run -rate=100/s -duration=1m", "No such option '-rate'", "--tps R for the rate (vegeta)"),
        ("run -duration 1m", "No such option '-duration'", "--for D for the duration (vegeta)"),
        ("run -timeout 5s", "No such option '-timeout'", "use --timeout"),
        ("run --concurrency 10", "No such option '--concurrency'", "--vusers N for users (plow)"),
        ("run --vus 10", "No such option '--vus'", "--vusers N for users (k6)"),
        ("find -d 10", "No such option '-d'", "--budget D (of all trials) for the duration"),
        ("find --for 10s", "No such option '--for'", "--budget D (of all trials) for the duration"),
        ("sweep -d 10", "No such option '-d'", "--for D (of each step) for the duration"),
        ("sweep --tps 50..400", "No such option '--tps'", "RATES, such as 50..400, for the rate (run)"),
        ("duet -d 10", "No such option '-d'", "--for D for the duration"),
    ],
)
def test_an_option_of_another_tool_names_the_one_to_use(
    capsys: pytest.CaptureFixture[str], words: str, option: str, told: str
) -> None:
    command, *options = words.split()
    for order in ((command, *ONE, *options), (command, *options, *ONE)):
        said = refused(capsys, *order)
        assert said.startswith(option)
        assert told in said


def test_an_option_that_no_tool_has_is_refused_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "run", *ONE, "-w", "5").startswith("No such option '-w'")
    assert refused(capsys, "find", *ONE, "-n", "5").startswith("No such option '-n'")


@pytest.mark.parametrize(
    "words",
    [
        ("run", *ONE, "--tps", "5", "--match", "-rate", "--dry-run"),
        ("run", *ONE, "--tps", "5", "--dry-run", "--", "-rate"),
        ("sweep", "-q", "50", *ONE),
        ("run", "-q", "10", "http://127.0.0.1:1", "--tps", "5"),
    ],
)
def test_values_and_arguments_that_look_like_options_of_other_tools_are_taken(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("10").touch()
    run([*words])
    said = capsys.readouterr().err
    assert not any(text in said for text in ("takes no value", "No such option"))


def test_a_word_too_many_is_named_with_what_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    quote = "quote a value that has spaces"
    said = refused(capsys, "run", *ONE, "--tps", "5", "--header", "X-Test:", "1")
    assert said == f"unexpected argument '1': run takes LOG TARGET; {quote}"
    assert refused(capsys, "calibrate", "x") == f"unexpected argument 'x': calibrate takes only options; {quote}"


def test_the_page_has_the_same_table() -> None:
    named: dict[str, list[str]] = {}
    for name in FOREIGN:
        for _, tools, use in uses(name, "run"):
            if tools != "run":
                named.setdefault(use if use.startswith("the ") else f"`{use}`", []).append(f"`{name}` ({tools})")
    rows = [f"| {use} | {'; '.join(names)} |" for use, names in named.items()]
    assert [line for line in PAGE.read_text().splitlines() if line in rows] == rows


def test_what_the_table_names_is_an_option() -> None:
    run_options = {name for option in cli.commands["run"].params for name in option.opts}
    for name in FOREIGN:
        for _, _, use in uses(name, "run"):
            assert use.split()[0] in {*run_options, "the"}
