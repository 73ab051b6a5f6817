"""Answers and errors of `logreplay.analysis` name parameters, as those of the functions of `logreplay` do."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import logreplay
from logreplay import analysis
from logreplay.options.spelling import texts_spelled
from support.simulated_results import write_results


def test_a_sweep_too_short_for_an_answer_advises_a_parameter(tmp_path: Path) -> None:
    write_results(tmp_path, range(5, 31, 5), 2)
    said = analysis.saturation(tmp_path).sentence
    assert re.search(r'make the steps longer, such as duration="\d+s"', said)
    assert "--" not in said


def test_a_comparison_names_parameters(tmp_path: Path) -> None:
    for name, rates in (("a", [50, 100]), ("b", [50])):
        (tmp_path / name).mkdir()
        write_results(tmp_path / name, rates, 3)
    for compare in (analysis.compare, logreplay.compare):
        found = compare(tmp_path / "a", tmp_path / "b", fail_above=0.01)
        assert any(check.text.startswith("fail_above=") for check in found.checks)
        assert not [text for text in (found.sentence, *found.notes, *map(str, found.checks)) if "--" in text]


def test_the_capacity_has_no_percentile_that_nobody_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="percentile"):
        analysis.capacity(tmp_path, tps=100, within=0.3)  # type: ignore[call-arg]


@dataclass(frozen=True)
class Told:
    text: str
    more: tuple["Told", ...] = ()
    number: float = 0.5


def test_texts_within_values_are_spelled() -> None:
    found = texts_spelled([Told("use --for 5s", (Told("--no-digest"),))], "run")
    assert found == [Told('use duration="5s"', (Told("digest=False"),))]
