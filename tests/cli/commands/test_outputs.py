"""What is read is never written, and an earlier result stays until the new one is whole."""

from pathlib import Path

import pytest

from logreplay.cli.main import run as logreplay

RESULTS = (
    "date,time,latency,xfertime,thinktime,bytes,url,rc,op,seq,row,step,offered,scheduled,lag,connect\n"
    "2026-01-01,00:00:00.000000,0.1,0,0,5,/,200,GET,0,0,0,1,0,0,0\n"
)


@pytest.mark.parametrize(
    "command",
    [
        ("seconds", "r.csv", "-o", "./r.csv"),
        ("seconds", "r.csv", "-o", "link.csv", "--force"),
        ("plot", "r.png", "-o", "./r.png", "--force"),
        ("compare", "r.csv", "r.png", "-o", "r.png", "--force"),
        ("urls", "/{x}", "--var", "x=@r.csv", "-o", "link.csv", "--force"),
    ],
)
def test_no_command_writes_over_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("r.csv", "r.png"):
        Path(name).write_text(RESULTS)
    Path("link.csv").symlink_to("r.csv")
    assert logreplay(list(command)) == 1
    assert "-o would overwrite" in capsys.readouterr().err
    assert Path("r.csv").read_text() == Path("r.png").read_text() == RESULTS
    assert Path("link.csv").is_symlink()
