"""Options that meet: the table knows all of them, every pair meets, and what they make together holds."""

import random
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import combinations, islice, product
from pathlib import Path
from typing import Final

import click
import pytest

from crossings.drive import Crossed, Crossings
from crossings.pairs import completed, endless, pairs, parse, refusals
from crossings.table import COMMANDS, OUTSIDE_THE_TABLE, RULES
from logreplay.cli.main import cli

FOR_S: Final = 30.0
"""How long the fresh seed is crossed; a last crossing may begin just before."""


def _options(command: str) -> Iterator[click.Option]:
    found = cli.get_command(click.Context(cli), command)
    assert found
    yield from (each for each in found.params if isinstance(each, click.Option))


def _words(command: str) -> set[str]:
    values = (words for factor in COMMANDS[command].values() for words in factor.values())
    return {word.partition("=")[0] for words in values for word in shlex.split(words)}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_knows_every_option(command: str) -> None:
    """Whoever adds an option enters it in the table, so that it meets all others."""
    words = _words(command) | OUTSIDE_THE_TABLE.get(command, set())
    for option in (each for each in _options(command) if not each.hidden):
        if option.secondary_opts:
            assert words >= {*option.opts, *option.secondary_opts}
        else:
            assert words & {*option.opts}, f"{option.opts[-1]} of {command} is not in tests/crossings/table.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_names_no_option_that_is_gone(command: str) -> None:
    known = {name for option in _options(command) for name in (*option.opts, *option.secondary_opts)}
    assert {word for word in _words(command) if word.startswith("-") and word != "-"} <= known


@pytest.mark.parametrize("command", COMMANDS)
def test_rules_name_values_of_the_table(command: str) -> None:
    for rule in RULES[command]:
        for factor, values in rule.values.items():
            assert values <= set(COMMANDS[command][factor])
        assert rule.names or rule.why


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_pair_that_may_meet_meets_and_no_rule_is_broken(command: str) -> None:
    rules = RULES[command]
    met: set[tuple[tuple[str, str], ...]] = set()
    for case in pairs(command, 1):
        assert not any(rule.holds(case.choice) for rule in rules)
        met.update(combinations(case.choice.items(), 2))
    for (one, values), (other, others) in combinations(COMMANDS[command].items(), 2):
        for pair in product(((one, value) for value in values), ((other, value) for value in others)):
            assert pair in met or not completed(command, dict(pair)), pair


def test_another_seed_makes_other_crossings_and_the_same_seed_the_same() -> None:
    one, same, other = (list(islice(pairs("convert", seed), 5)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("command", COMMANDS)
def test_the_id_of_a_case_is_the_case(command: str) -> None:
    for case in [*islice(pairs(command, 3), 5), *refusals(command, 3)]:
        assert parse(case.id) == case


def test_each_refusal_breaks_its_rule() -> None:
    for command in COMMANDS:
        assert all(case.refused for case in refusals(command, 5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "crossing",
    [
        *COMMANDS,
        "run by-client=yes",
        "duet http=two",
        "duet http=two target=tls candidate=tls trust=cacert",
        "run workers=2 target=periodic methods=all",
        "run workers=2 'signal=TERM to all' moment=2000",
        "run workers=2 'signal=KILL worker'",
        "run workers=2 'signal=KILL workers'",
        "sweep workers=2 'signal=KILL worker'",
        "find workers=2 'signal=KILL worker'",
    ],
)
def test_the_plainest_crossings_find_nothing(crossing: str, tmp_path: Path) -> None:
    crossed = Crossings(tmp_path).cross(parse(crossing))
    assert not crossed.findings, str(crossed)


@pytest.mark.slow
def test_the_command_crosses_in_several_processes(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "crossings",
        "--for",
        "1s",
        "--seed",
        "5",
        "--jobs",
        "2",
        "--findings",
        str(tmp_path),
    ]
    ended = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, timeout=300)
    assert ended.returncode in (0, 1)
    assert ended.stdout.splitlines()[-1].startswith("seed 5: "), ended.stderr


@pytest.mark.slow
@pytest.mark.flaky(reruns=0)
@pytest.mark.timeout(FOR_S + 300)
def test_crossings_of_a_fresh_seed_find_nothing_that_comes_again(tmp_path: Path) -> None:
    """What comes once may be the machine's doing: it is a warning, for ``python -m crossings`` to look into."""
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    until, crossings = time.monotonic() + FOR_S, Crossings(tmp_path)
    found, once = list[Crossed](), list[Crossed]()
    for case in endless(seed):
        if time.monotonic() > until:
            break
        crossed = crossings.cross(case)
        if not crossed.findings:
            continue
        again = crossings.cross(case)
        if {finding.kind for finding in crossed.findings} & {finding.kind for finding in again.findings}:
            found.append(crossed)
        else:
            once.append(crossed)
    with warnings.catch_warnings(action="default"):
        for crossed in once:
            warnings.warn(f"seed {seed}, did not come again:\n{crossed}", stacklevel=1)
    assert not found, f"seed {seed}\n" + "\n".join(map(str, found))
