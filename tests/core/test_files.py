"""Files are there whole or not at all, have one writer, and never replace what is read."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import (
    NewFile,
    TakenError,
    atomic_path,
    check_distinct,
    check_nameable,
    check_named_once,
    removed_if_empty,
    scratch_folder,
    write_atomically,
)


def test_what_was_there_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    write_atomically(path, "before")
    with pytest.raises(UnicodeEncodeError), atomic_path(path) as fresh, fresh.open("w", encoding="ascii") as file:
        file.writelines(["half\n", "näher"])
    assert path.read_text() == "before"
    write_atomically(path, "näher".encode())
    assert path.read_text(encoding="utf-8") == "näher"
    assert [found.name for found in tmp_path.iterdir()] == ["seconds.csv"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(path, b"rows")
        assert os.read(reader, 100) == b"rows"
    finally:
        os.close(reader)
    assert path.is_fifo()


def test_a_temporary_file_has_the_ending_of_its_own(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "curve.png") as fresh:
        assert fresh.suffix == ".png"
        fresh.touch()


def test_a_file_that_is_being_written_is_not_removed_and_one_left_behind_is(tmp_path: Path) -> None:
    with write_in_another_process(tmp_path / "killed.csv") as process:
        (spill,) = [part.with_name(f"{part.name}.sorted") for part in tmp_path.iterdir()]
        spill.touch()
        write_atomically(tmp_path / "first.csv", "mine")
        assert spill.exists()
        process.kill()
    assert len(list(tmp_path.iterdir())) == 3
    write_atomically(tmp_path / "second.csv", "mine")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["first.csv", "second.csv"]


def write_in_another_process(path: Path) -> "subprocess.Popen[str]":
    """Start a process that writes a file and says so, and goes on until it is killed."""
    code = (
        "import sys; from pathlib import Path; from logreplay.core.files import atomic_path\n"
        "with atomic_path(Path(sys.argv[1])) as fresh:\n"
        "    fresh.write_text('half'); print('writing', flush=True); sys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout
    assert process.stdout.readline() == "writing\n"
    return process


def test_a_name_has_one_writer_until_that_one_ends_or_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    with write_in_another_process(path) as process:
        with pytest.raises(TakenError, match="another logreplay is writing it"):
            write_atomically(path, "mine")
        process.kill()
    assert not path.exists()
    write_atomically(path, "mine")
    assert path.read_text() == "mine"
    assert [found.name for found in tmp_path.iterdir()] == ["seconds.csv"]


def test_a_writer_that_ends_does_not_remove_the_temporary_file_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    first = NewFile(path, force=True)
    first.part.write_text("first")
    first.keep()
    second = NewFile(path, force=True)
    second.part.write_text("second")
    first.close()
    second.keep()
    second.close()
    assert path.read_text() == "second"


def test_what_lies_under_a_temporary_name_goes_with_it(tmp_path: Path) -> None:
    """An interruption came between the making of a sorted file and its owner."""
    with NewFile(tmp_path / "a.parquet") as new:
        new.part.with_name(f"{new.part.name}.sorted").write_text("1\n")
    assert not [*tmp_path.iterdir()]


def test_a_name_that_was_taken_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    with NewFile(path) as new:
        new.part.write_text("mine")
        path.write_text("theirs")
        with pytest.raises(TakenError, match=r"seconds\.csv: exists already"):
            new.keep()
    assert path.read_text() == "theirs"


def test_a_link_that_leads_nowhere_is_no_free_name(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(TakenError, match="exists already"):
        write_atomically(path, "mine", force=False)


@pytest.mark.parametrize("how", ["same", "dotted", "symbolic", "hard", "missing"])
def test_two_names_of_one_file_are_recognized(tmp_path: Path, how: str) -> None:
    one, other = tmp_path / "in.csv", tmp_path / "other.csv"
    if how != "missing":
        one.touch()
    match how:
        case "symbolic":
            other.symlink_to(one)
        case "hard":
            other.hardlink_to(one)
        case "dotted" | "missing":
            (tmp_path / "deeper").mkdir()
            other = tmp_path / "deeper" / ".." / "in.csv"
        case _:
            other = one
    with pytest.raises(LogreplayError, match=r"--junit would overwrite .*, the LOG; choose another name with --junit"):
        check_distinct([("--junit", other)], [("LOG", one)])
    with pytest.raises(LogreplayError, match="-o and --rejects name the same file"):
        check_distinct([("-o", one), ("--rejects", other)])


def test_two_outputs_may_be_one_device() -> None:
    check_distinct([("-o", Path("/dev/null")), ("--rejects", Path("/dev/null"))], [("LOG", "/dev/null")])


def test_a_folder_of_a_killed_process_is_removed_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "logreplay-of-somebody").mkdir()
    code = (
        "import sys; from logreplay.core.files import scratch_folder\n"
        "with scratch_folder() as folder: print(folder, flush=True); sys.stdin.read()\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        assert process.stdout
        foreign = Path(process.stdout.readline().strip())
        with scratch_folder() as mine:
            assert foreign.exists()
        assert not mine.exists()
        process.kill()
    assert foreign.exists()
    with scratch_folder():
        assert not foreign.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["logreplay-of-somebody"]


@pytest.mark.parametrize(
    "end",
    [
        "sys.exit(3)",
        "raise KeyboardInterrupt",
        "from logreplay.cli import signals; signals._end(3)",
    ],
)
def test_what_is_unfinished_is_removed_however_the_process_ends(end: str, tmp_path: Path) -> None:
    """A signal may come while files are closed, and the second Ctrl-C waits for nothing."""
    program = f"""
import sys
from pathlib import Path
from logreplay.core.files import NewFile, lock_beside, scratch_folder
held = lock_beside(Path("r"), Path("r.csv"))
new = NewFile(Path("r.csv"))
new.part.with_name(f"{{new.part.name}}.sorted").write_text("rows")
scratch = scratch_folder()
(scratch.__enter__() / "log.csv").write_text("rows")
print(len(list(Path().iterdir())), flush=True)
{end}
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    assert (ended.stdout, ended.returncode != 0) == (b"4\n", True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("a.log", "{0} is named twice"),
        ("link.log", "{0} and {1} are the same file"),
        ("hard.log", "{0} and {1} are the same file"),
        ("sub/../a.log", "{0} and {1} are the same file"),
    ],
)
def test_a_file_that_is_read_twice_is_refused_with_both_names(tmp_path: Path, other: str, text: str) -> None:
    log = tmp_path / "a.log"
    log.touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.log").touch()
    (tmp_path / "link.log").symlink_to(log)
    (tmp_path / "hard.log").hardlink_to(log)
    check_named_once([log, tmp_path / "b.log", tmp_path / "missing.log", "s3://logs/a.log"])
    with pytest.raises(LogreplayError, match=re.escape(text.format(log, f"{tmp_path}/{other}"))):
        check_named_once([log, tmp_path / "b.log", f"{tmp_path}/{other}"])


def test_a_folder_of_results_that_stays_empty_is_removed_with_those_made_for_it(tmp_path: Path) -> None:
    with suppress(LogreplayError), removed_if_empty(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
        raise LogreplayError("the log is missing")
    assert not [*tmp_path.iterdir()]
    (tmp_path / "a").mkdir()
    with removed_if_empty(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "report.html").touch()
    assert (tmp_path / "a" / "b" / "report.html").exists()
    with removed_if_empty(tmp_path / "a"):
        pass
    assert (tmp_path / "a").is_dir()


def test_an_address_may_be_longer_than_the_name_of_a_file() -> None:
    address = f"s3://bucket/access.log?X-Amz-Security-Token={'a' * 5000}"
    check_nameable(address)
    with pytest.raises(UsageError, match="is not a name that a file can have"):
        check_nameable(address.partition("://")[2])


def test_the_name_of_an_open_file_is_not_replaced(tmp_path: Path) -> None:
    with (tmp_path / "rows.csv").open("wb") as file:
        path = Path(f"/proc/self/fd/{file.fileno()}")
        with pytest.raises(LogreplayError, match=f"{path}: leads to a file that is open already; name the file itself"):
            NewFile(path, force=True)
