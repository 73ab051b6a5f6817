"""Choices of values: every pair of them at least once, another array for each seed; and those that must be refused."""

import random
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product, zip_longest
from typing import Final

from allpairspy import AllPairs

from crossings.table import COMMANDS, RULES, Choice, Factors, Rule

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two factors, each with its value, in the order of the table."""
MOMENT_MS: Final = 2500
"""A signal is sent, or a terminal goes away, at a random moment up to then."""


@dataclass(frozen=True)
class Case:
    """One crossing.

    Attributes:
        command: of logreplay.
        choice: the value of each factor.
        moment: milliseconds after the program has taken over the signals.
    """

    command: str
    choice: Choice
    moment: int = 500

    @property
    def id(self) -> str:
        """What `parse` reads: the values that are not the first of their factor."""
        factors = COMMANDS[self.command]
        told = [f"{name}={value}" for name, value in self.choice.items() if value != next(iter(factors[name]))]
        return shlex.join([self.command, *told, f"moment={self.moment}"])

    @property
    def refused(self) -> list[Rule]:
        """The rules that it breaks."""
        return [rule for rule in RULES[self.command] if rule.holds(self.choice)]

    def but(self, factor: str, value: str) -> "Case":
        """The same with another value."""
        return Case(self.command, {**self.choice, factor: value}, self.moment)


def parse(text: str) -> Case:
    """Read a `Case.id`.

    Raises:
        ValueError: no such command, factor or value.
    """
    command, *told = shlex.split(text)
    if command not in COMMANDS:
        raise ValueError(f"{command!r}: expected one of {', '.join(COMMANDS)}")
    given = dict(word.split("=", 1) for word in told)
    moment = int(given.pop("moment", 500))
    factors = COMMANDS[command]
    for name, value in given.items():
        if value not in factors.get(name, {}):
            raise ValueError(f"{name}={value}: no such value of {command}")
    return Case(command, defaults(factors) | given, moment)


def defaults(factors: Factors) -> dict[str, str]:
    """The first value of each factor."""
    return {name: next(iter(values)) for name, values in factors.items()}


def pairs(command: str, seed: int) -> Iterator[Case]:
    """Yield choices that break no rule, in which every pair of values that may meet meets."""
    factors, rules = COMMANDS[command], RULES[command]
    chance = random.Random(f"{command} {seed}")
    ruled = Counter(name for rule in rules for name in rule.values)
    # what is in most rules is chosen first: a value that fits is then at hand, and no search goes back far
    names = sorted(factors, key=lambda name: (-ruled[name], chance.random()))
    values = [chance.sample([*factors[name]], len(factors[name])) for name in names]

    def legal(first: Sequence[str]) -> bool:
        chosen = dict(zip(names, first, strict=False))
        return not any(rule.holds(chosen) for rule in rules if names[len(first) - 1] in rule.values)

    missing = dict.fromkeys(_all_pairs(factors, chance))
    for row in AllPairs(values, filter_func=legal):
        choice = dict(zip(names, row, strict=True))
        for pair in combinations([(name, choice[name]) for name in factors], 2):
            missing.pop(pair, None)
        yield Case(command, {name: choice[name] for name in factors}, chance.randrange(MOMENT_MS))
    for choice in _meetings(command, list(missing)):
        yield Case(command, choice, chance.randrange(MOMENT_MS))


def completed(command: str, fixed: Choice) -> dict[str, str] | None:
    """Return a choice with these values that breaks no rule, plain otherwise; None if there is none."""
    choice = {**defaults(COMMANDS[command]), **fixed}
    broken = [rule for rule in RULES[command] if rule.holds(choice)]
    if not broken:
        return choice
    if any(rule.values.keys() <= fixed.keys() for rule in broken):
        return None
    for factor in broken[0].values.keys() - fixed.keys():
        for value in COMMANDS[command][factor].keys() - broken[0].values[factor]:
            if found := completed(command, {**fixed, factor: value}):
                return found
    return None


def _all_pairs(factors: Factors, chance: random.Random) -> list[Pair]:
    told = [[(name, value) for value in values] for name, values in factors.items()]
    found = [pair for one, other in combinations(told, 2) for pair in product(one, other)]
    chance.shuffle(found)
    return found


def _meetings(command: str, missing: Sequence[Pair]) -> Iterator[dict[str, str]]:
    """Yield choices in which the pairs meet that may: AllPairs ends when the next best choice brings no new one."""
    while missing:
        fixed: dict[str, str] = {}
        left: list[Pair] = []
        for pair in missing:
            wider = fixed | dict(pair)
            if all(fixed.get(name, value) == value for name, value in pair) and completed(command, wider):
                fixed = wider
            else:
                left.append(pair)
        if len(left) == len(missing):
            return
        if choice := completed(command, fixed):
            yield choice
        missing = left


def refusals(command: str, seed: int) -> Iterator[Case]:
    """For each rule whose breach is a usage error, a choice that breaks it and is plain otherwise."""
    factors, chance = COMMANDS[command], random.Random(seed)
    for rule in RULES[command]:
        if rule.names:
            broken = {name: chance.choice(sorted(values)) for name, values in rule.values.items()}
            yield Case(command, defaults(factors) | broken)


def endless(seed: int, step: int = 1, commands: Sequence[str] = tuple(COMMANDS)) -> Iterator[Case]:
    """Yield crossings of commands in turn, of one seed after the other, so many apart."""
    while True:
        chance = random.Random(seed)
        refused = [case for command in commands for case in refusals(command, seed)]
        queues = [chance.sample(refused, len(refused)), *(pairs(command, seed) for command in commands)]
        for turn in zip_longest(*queues):
            yield from (case for case in turn if case)
        seed += step
