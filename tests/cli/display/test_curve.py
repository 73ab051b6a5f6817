"""The curve in the terminal: points → lines of text, and where they are put."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.cli.display.curve import CurvePoint, draw
from logreplay.cli.display.progress import GrowingCurve, Terminal
from logreplay.replay.monitor.snapshot import Snapshot, TimePoint

HOCKEY_STICK = [
    CurvePoint(50, 0.016, 0.05),
    CurvePoint(100, 0.016, 0.06),
    CurvePoint(200, 0.025, 0.11),
    CurvePoint(300, 2.5, 6.0, False),
]
points = st.lists(
    st.builds(CurvePoint, st.floats(0.01, 1e6), st.floats(0, 1e5), st.floats(0, 1e5), st.booleans()), max_size=12
)


def test_a_hockey_stick_is_seen() -> None:
    assert draw(HOCKEY_STICK, width=60, height=14, bound=0.3) == [
        "response time   ● p50   ▲ p99   x failed   ╌ bound 300 ms",
        "     5 s ┤                                                ⢀x",
        "         │                                              ⡠⠊⠁x",
        "     2 s ┤                                           ⢀⠔⠊ ⢀⠔⠁",
        "     1 s ┤                                         ⣀⠔⠁ ⢀⠔⠁",
        "  500 ms ┤                                       ⡠⠊  ⢀⠔⠁",
        "         │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌⢀⠔⠊╌╌⣀⠔⠁╌╌╌╌╌╌",
        "  200 ms ┤                                  ⡠⠔⠁  ⡠⠊",
        "  100 ms ┤                       ⣀⣀⣀⣀⠤⠤⠤⠤⠒⠒▲   ⡠⠊",
        "   50 ms ┤        ▲⠤⠤⠤⠔⠒⠒⠒▲⠒⠒⠉⠉⠉⠉            ⡠⠊",
        "         │                              ⢀⣀⣀●⠊",
        "   20 ms ┤        ●⠤⠤⠤⠤⠤⠤⠤●⠤⠤⠔⠒⠒⠒⠒⠒⠉⠉⠉⠉⠉⠁",
        "         └┴───────────────┴────────────────┴───────────────┴",
        "   req/s  0              100              200            300",
    ]


def test_of_several_points_at_one_rate_each_is_marked_and_the_line_goes_through_their_median() -> None:
    low, middle, high = (CurvePoint(100, time, time) for time in (0.01, 0.02, 0.5))
    lines = draw([CurvePoint(50, 0.02, 0.02), low, middle, high], width=60, height=14)
    assert sum("▲" in line or "●" in line for line in lines[1:-2]) == 3
    assert any(re.search("[●▲][⠀-⣿]+[●▲]", line) for line in lines)


@given(points, st.integers(0, 200), st.integers(0, 40), st.one_of(st.none(), st.floats(0.001, 100)))
def test_whatever_is_drawn_fits(points: list[CurvePoint], width: int, height: int, bound: float | None) -> None:
    lines = draw(points, width=width, height=height, bound=bound)
    assert len(lines) in (0, height)
    assert all(len(line) <= width and line.isprintable() for line in lines)


def test_one_rate_is_no_curve() -> None:
    assert draw([CurvePoint(50, 0.1, 0.2), CurvePoint(50, 0.1, 0.3)], width=80, height=20) == []


def test_colours_change_nothing_else() -> None:
    plain = draw(HOCKEY_STICK, width=70, height=12)
    coloured = draw(HOCKEY_STICK, width=70, height=12, colour=True)
    assert [re.sub("\x1b\\[[0-9]*m", "", line).rstrip() for line in coloured] == plain
    assert coloured != plain


def step(number: int) -> Snapshot:
    """The state of a sweep at the end of a step."""
    ended = HOCKEY_STICK[: number + 1]
    states = ("carried" if point.good else "overloaded" for point in ended)
    points = (TimePoint(point.rate, point.p50, point.p99, state) for point, state in zip(ended, states, strict=True))
    return Snapshot(curve=tuple(points))


def say_steps(curve: GrowingCurve) -> None:
    for number, point in enumerate(HOCKEY_STICK):
        curve.say(f"{point.rate:g}/s", step(number))


def test_without_a_terminal_there_are_lines_of_text_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    say_steps(GrowingCurve(sys.stderr.write))
    assert capsys.readouterr() == ("", "50/s\n100/s\n200/s\n300/s\n")


def test_on_a_terminal_the_curve_moves_down_below_each_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    curve = GrowingCurve(sys.stderr.write)
    say_steps(curve)
    first, second, third, fourth = re.split("\x1b\\[18A\x1b\\[J|(?=100/s)", capsys.readouterr().err)
    assert first == "50/s\n"
    assert second.startswith("100/s\nresponse time")
    assert third.startswith("200/s\nresponse time")
    assert fourth.startswith("300/s\nresponse time")
    assert fourth.count("\n") == 19
    curve.say("a note\x1b]0;owned\x07")
    assert capsys.readouterr().err.startswith("\x1b[18A\x1b[Ja note?]0;owned?\nresponse time")


def test_steps_that_say_nothing_of_the_target_are_not_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    points = (TimePoint(50, 0.01, 0.02, "carried"), TimePoint(60, 0.01, None, "carried"), TimePoint(70, 1, 2, "void"))
    GrowingCurve(sys.stderr.write).say("70/s", Snapshot(curve=points))
    assert capsys.readouterr().err == "70/s\n"


def test_a_quiet_sweep_draws_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    terminal = Terminal(quiet=True)
    terminal.opened()
    for number in range(len(HOCKEY_STICK)):
        terminal.ended(step(number), "a line")
    terminal.closed()
    assert capsys.readouterr() == ("", "")
