"""Arguments in the wrong order or of the wrong kind: the error shows the right command."""

from pathlib import Path

import pytest

from logreplay.cli.main import run

TARGET = "http://127.0.0.1:1"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*words]) in (1, 2)
    return capsys.readouterr().err.rpartition("Error: ")[2].strip()


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("../access.csv", TARGET, "50..400"), f"50..400 ../access.csv {TARGET}"),
        (("access.csv", "10,20", TARGET), f"10,20 access.csv {TARGET}"),
        ((TARGET, "my log.csv", "50"), f"50 'my log.csv' {TARGET}"),
        (("access.csv", TARGET), f"50..400 access.csv {TARGET}"),
        (("../access.csv",), "50..400 ../access.csv"),
    ],
)
def test_a_sweep_whose_rates_do_not_come_first_shows_the_right_order(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], right: str
) -> None:
    told = f"is not a rate; RATES come first, then LOG and TARGET: logreplay sweep {right}"
    assert refused(capsys, "sweep", *words) == f"RATES: {words[0]!r} {told}"


def test_a_sweep_whose_rates_are_mistyped_shows_what_rates_look_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "expected rates above 0 requests/s, such as 100, 50..400, 50..400:25 or 10,20,50"
    for rates in ("50rps", "1..x"):
        told = f"Invalid value for RATES: {rates!r}: {expected}"
        assert refused(capsys, "sweep", rates, "access.csv", TARGET) == told
    monkeypatch.chdir(tmp_path)
    Path("logreplay.toml").write_text('[sweep]\nrates = "access.log"\n')
    assert refused(capsys, "sweep") == f"Invalid value for RATES: 'access.log': {expected} (from logreplay.toml)"
    Path("logreplay.toml").write_text('[sweep]\norder = "x"\n')
    assert refused(capsys, "sweep", "9").endswith("'shuffle' (from logreplay.toml)")


@pytest.mark.parametrize(
    ("words", "what"), [(("--vusers", "1", "5,10", "a.csv"), "users"), (("1", "5,10", "a.csv"), "rates")]
)
def test_a_list_of_rates_or_users_with_spaces_is_not_taken_for_a_log(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    what: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    told = f"LOG: '5,10' is not a file; if it is more {what}, write one list: 1,5,10 without spaces"
    assert refused(capsys, "sweep", *words) == told
    Path("5,10").write_text("")
    assert "is empty" in refused(capsys, "sweep", *words)


def test_a_sweep_of_users_takes_log_and_target_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "access.csv"
    assert refused(capsys, "sweep", str(log), TARGET, "--vusers", "1,2") == f"{log}: no such file"


@pytest.mark.parametrize(
    "words",
    [
        "convert odd.log",
        f"run odd.log {TARGET} --tps 5",
        f"sweep 50..400 odd.log {TARGET}",
        f"find odd.log {TARGET} --p99 1s",
        "serve odd.log",
    ],
)
def test_a_log_of_unknown_format_names_the_command_that_takes_the_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.log").write_text("this is nothing known\n" * 3)
    advice = "one that does not fit: 'this is nothing known'; give the format: logreplay convert odd.log -f FORMAT"
    assert refused(capsys, *words.split()).endswith(advice)
