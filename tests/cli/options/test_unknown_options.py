"""Whoever types an option that a command does not have is told of near names and of the commands that have it."""

import pytest

from logreplay.cli.main import run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run --wombat", ""),
        ("inspect x --tps 5", "; run, find, duet and capacity have it"),
        ("run --tsp 5", "; did you mean --tps?"),
        ("run --timeuot 5", "; did you mean --timeout?"),
        ("run --warmup 5", "; sweep has it"),
        ("run --no-keepalive", "; did you mean --no-keep-alive?"),
        ("sweep --p99 300ms", "; find, plan and capacity have it"),
        ("plan --demand 3", "; find and capacity have it"),
        ("capacity x --growth 3", "; plan has it"),
        ("inspect x --rejects y", "; convert has it"),
        ("seconds x --out y", "; did you mean --output?"),
        ("compare a b --force-it", "; did you mean --force?"),
        ("compare a b --no-forse", "; did you mean --no-force?"),
    ],
)
def test_hints_for_an_unknown_option_are_near_names_and_the_commands_that_have_it(
    capsys: pytest.CaptureFixture[str], words: str, told: str
) -> None:
    name = next(word for word in words.split() if word.startswith("--"))
    assert run(words.split()) == 2
    assert capsys.readouterr().err.rpartition("Error: ")[2].strip() == f"No such option {name!r}{told}"
