"""``logreplay convert`` as a user types it."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from logreplay.cli.main import cli
from logreplay.core.rows import scan
from support.command_line import COMMAND, typed

SAMPLE = Path(__file__).parents[3] / "sample_logs" / "nginx_request_time.log"


def run(folder: Path, *words: str, stdin: Path = Path(os.devnull)) -> "subprocess.CompletedProcess[str]":
    return typed(folder, "convert", *words, stdin=stdin)


def test_a_log_becomes_a_csv_in_the_current_folder(tmp_path: Path) -> None:
    done = run(tmp_path, str(SAMPLE))
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "nginx_request_time.csv").exists()
    assert done.stderr.splitlines()[-1] == "nginx_request_time.csv, nginx_request_time.rejects"
    assert " lines = " in done.stderr


def test_json_is_all_that_stands_on_stdout(tmp_path: Path) -> None:
    summary = json.loads(run(tmp_path, str(SAMPLE), "--json", "-q").stdout)
    assert summary["lines"] == sum(summary[word] for word in ("converted", "unreplayable", "rejected", "blank"))
    assert summary["output"] == "nginx_request_time.csv"


def test_the_csv_can_go_to_stdout(tmp_path: Path) -> None:
    done = run(tmp_path, str(SAMPLE), "-o", "-", "--rejects", "x.rejects")
    assert done.stdout.startswith("date,time,latency,")
    assert sorted(os.listdir(tmp_path)) == ["x.rejects"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_said_in_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "convert", str(SAMPLE), "-q", "-o", "-"]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: standard output: the disk is full")


def test_errors_are_one_line_and_exit_code_1(tmp_path: Path) -> None:
    done = run(tmp_path, "nope.log")
    assert (done.returncode, done.stderr) == (1, "Error: nope.log: no such file\n")


def test_an_output_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, str(SAMPLE), "-o", "no/such/folder.csv")
    assert done.returncode == 1
    assert "Error: no/such/folder.csv: cannot be written: there is no folder no/such; choose" in done.stderr


def test_a_second_run_does_not_overwrite_the_first(tmp_path: Path) -> None:
    run(tmp_path, str(SAMPLE))
    before = (tmp_path / "nginx_request_time.csv").read_bytes()
    assert run(tmp_path, str(SAMPLE)).returncode == 1
    assert (tmp_path / "nginx_request_time.csv").read_bytes() == before
    assert run(tmp_path, str(SAMPLE), "--force").returncode == 0


def test_a_condition_on_rejects_has_its_own_exit_code(tmp_path: Path) -> None:
    done = run(tmp_path, str(SAMPLE), "--strict")
    assert done.returncode == 4
    assert done.stderr.startswith("Error: ")
    assert "1 of" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["--max-rejects", "many"],
            "--max-rejects 'many': expected a number of lines such as 10, or a share such as 2% or 0.02",
        ),
        (
            ["--max-rejects", "inf"],
            "--max-rejects 'inf': expected a number of lines such as 10, or a share such as 2% or 0.02",
        ),
        (
            ["--max-rejects", "1e999%"],
            "--max-rejects '1e999%': expected a number of lines such as 10, or a share such as 2% or 0.02",
        ),
        (
            ["--max-rejects", "nan"],
            "--max-rejects 'nan': expected a number of lines such as 10, or a share such as 2% or 0.02",
        ),
        (["--json", "-o", "-"], "--json and -o - exclude each other: both write to standard output"),
        (["--time-unit", "weeks"], "'weeks' is not one of"),
        (
            ["--since", "2026-11-21", "--until", "2026-11-20"],
            "--until 2026-11-20 must be after --since 2026-11-21: no request starts",
        ),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, words: list[str], text: str) -> None:
    done = run(tmp_path, str(SAMPLE), *words)
    assert done.returncode == 2
    assert text in done.stderr


def test_options_reach_the_conversion(tmp_path: Path) -> None:
    words = ["--status", "404", "--method", "GET", "--redact", "--to", "parquet", "--rejects", "bad", "--json", "-q"]
    summary = json.loads(run(tmp_path, str(SAMPLE), *words).stdout)
    assert 0 < summary["converted"] < summary["filtered"]
    assert (summary["output"], summary["rejects"]) == ("nginx_request_time.parquet", "bad")


def test_standard_input_is_a_log_too(tmp_path: Path) -> None:
    done = run(tmp_path, "-", "-q", "-o", "out.csv", stdin=SAMPLE)
    assert done.returncode == 0
    assert (tmp_path / "out.csv").read_bytes().count(b"\n") > 3000


def test_a_normalized_csv_on_standard_input_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    run(tmp_path, str(SAMPLE), "-q", "-o", "log.csv")
    done = run(tmp_path, "-", "-o", "out.csv", stdin=tmp_path / "log.csv")
    assert done.returncode == 1
    assert "standard input: is a normalized CSV already; name the file to convert" in done.stderr


def test_help_names_the_formats_and_has_examples(tmp_path: Path) -> None:
    text = run(tmp_path, "--help").stdout.replace("-\n  ", "-")  # lines may break behind a hyphen
    for word in ("combined", "nginx-ingress", "aws-alb", "haproxy", "nginx.conf#name", "Examples"):
        assert word in text


@pytest.mark.slow
def test_a_parquet_is_read_whatever_the_case_of_its_name(tmp_path: Path) -> None:
    run(tmp_path, str(SAMPLE), "-q", "-o", "LOG.PARQUET")
    run(tmp_path, "LOG.PARQUET", "-q", "-o", "again.csv")
    assert scan(tmp_path / "LOG.PARQUET").collect().equals(scan(tmp_path / "again.csv").collect())
    for command in (["run", "LOG.PARQUET", "--tps", "5", "--dry-run"], ["analyze", "LOG.PARQUET", "--no-plots"]):
        done = typed(tmp_path, *command)
        assert done.returncode == 0, done.stderr


def test_a_format_that_fits_no_line_is_an_error(tmp_path: Path) -> None:
    """It made a CSV without rows, and ended with 0."""
    (tmp_path / "access.log").write_text('192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n')
    done = run(tmp_path, "access.log", "-f", "caddy")
    assert done.returncode == 1
    assert "no line fits the format caddy; line 1: " in done.stderr
    assert "; leave out --format" in done.stderr
    assert os.listdir(tmp_path) == ["access.log"]
    assert run(tmp_path, "access.log", "-f", "caddy", "--rejects", "asked").returncode == 1
    assert (tmp_path / "asked").read_text().startswith("1 rejected: ")


@pytest.mark.parametrize("command", ["convert", "inspect"])
def test_a_quiet_command_still_says_which_rows_of_a_log_are_lost(tmp_path: Path, command: str) -> None:
    whole = gzip.compress(SAMPLE.read_bytes())
    (tmp_path / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    done = typed(tmp_path, command, "cut.log.gz", "-q")
    assert (done.returncode, done.stdout) == (0, "")
    first, *more = done.stderr.splitlines()
    assert first == "cut.log.gz: the gzip data end too soon or are damaged; the lines before are kept"
    assert all(" 1 rejected + " in line for line in more)
    (tmp_path / "whole.log").write_text('192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n')
    assert typed(tmp_path, command, "whole.log", "-q").stderr == ""


def test_rejected_lines_name_their_log_where_there_are_several(tmp_path: Path) -> None:
    line = '192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n'
    (tmp_path / "one.log").write_text(line)
    (tmp_path / "two.log").write_text(f"garbage\n{line}{line}")
    assert "1 rejected: layout (line two.log:1)\n" in run(tmp_path, "one.log", "two.log").stderr


def test_a_log_without_a_request_is_an_error_as_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("#Version: 1.0\n#Fields: date time cs-method cs-uri-stem\n")
    done = run(tmp_path, "access.log")
    assert done.returncode == 1
    assert "Error: access.log: no line is a request that can be replayed" in done.stderr


def test_a_conversion_of_nothing_leaves_no_result_that_bars_the_next_try(tmp_path: Path) -> None:
    line = '192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "CONNECT h:443 HTTP/1.1" 200 5 "-" "-"\n'
    (tmp_path / "access.log").write_text(line)
    done = run(tmp_path, "access.log", "--json")
    assert (done.returncode, json.loads(done.stdout)["output"]) == (1, "")
    assert os.listdir(tmp_path) == ["access.log"]
    (tmp_path / "access.log").write_text(line.replace("CONNECT h:443", "GET /"))
    assert run(tmp_path, "access.log").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["access.csv", "access.log"]


def test_filters_that_leave_nothing_make_no_result(tmp_path: Path) -> None:
    done = run(tmp_path, str(SAMPLE), "--match", "z z", "--status", "200", "-o", "out.csv")
    assert done.returncode == 1
    assert "nginx_request_time.log: no request is left after --match 'z z' --status 200: nothing was" in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_rejects_of_a_conversion_to_standard_output_do_not_bar_the_next(tmp_path: Path) -> None:
    for _ in range(2):
        assert run(tmp_path, str(SAMPLE), "-o", "-").returncode == 0
        assert os.listdir(tmp_path) == ["nginx_request_time.rejects"]
    (tmp_path / "nginx_request_time.csv").write_text("a result")
    done = run(tmp_path, str(SAMPLE), "-o", "-")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nginx_request_time.rejects: exists already" in done.stderr


@pytest.mark.parametrize("words", [["--strict"], ["--match", "token=hunter2hunter2"], ["--status", "999", "-q"]])
def test_errors_of_a_conversion_hide_secrets_and_what_could_steer_a_terminal(tmp_path: Path, words: list[str]) -> None:
    name = "auth_token=hunter2hunter2\x1b[31m.log"
    (tmp_path / name).write_bytes(SAMPLE.read_bytes())
    done = run(tmp_path, name, "-o", "out.csv", *words)
    assert done.returncode == (4 if words == ["--strict"] else 1)
    *_, error = done.stderr.splitlines()
    assert error.startswith("Error: auth_token=***")
    assert "hunter2" not in error
    assert "\x1b" not in done.stderr


def test_rejects_of_a_result_stay(tmp_path: Path) -> None:
    run(tmp_path, str(SAMPLE), "-o", "out.csv.gz")
    before = (tmp_path / "out.rejects").read_bytes()
    done = run(tmp_path, str(SAMPLE), "-o", "out.csv", "--match", "zzz")
    assert done.returncode == 1
    assert "out.rejects: exists already" in done.stderr
    assert (tmp_path / "out.rejects").read_bytes() == before


def test_an_output_that_its_form_contradicts_gets_the_ending_of_the_form(tmp_path: Path) -> None:
    assert "or name the output .js" in run(tmp_path, str(SAMPLE), "--to", "k6", "-o", "out.csv").stderr


@pytest.mark.parametrize("name", ["session.har", "auth.log", "token.txt", "my-session", "server.key"])
def test_the_name_of_a_file_is_no_secret(tmp_path: Path, name: str) -> None:
    assert run(tmp_path, name).stderr.startswith(f"Error: {name}: ")
    assert "***" not in run(tmp_path, name).stderr


def test_a_run_of_a_log_without_a_request_says_so(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("#Version: 1.0\n#Fields: date time cs-method cs-uri-stem\n")
    done = typed(tmp_path, "run", "access.log", "--tps", "5", "--dry-run")
    assert done.returncode == 1
    assert "Error: access.log: no line is a request that can be replayed; name another log" in done.stderr


@pytest.mark.parametrize("table", [False, True])
def test_one_log_under_two_names_is_not_counted_twice(tmp_path: Path, table: bool) -> None:
    log, output = tmp_path / "a.log", tmp_path / "out.csv"
    log.write_text('10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n')
    if table:
        assert CliRunner().invoke(cli, ["convert", str(log), "-o", str(tmp_path / "a.csv")]).exit_code == 0
        log = tmp_path / "a.csv"
    (tmp_path / "b.log").symlink_to(log)
    done = CliRunner().invoke(cli, ["convert", str(log), str(tmp_path / "b.log"), "-o", str(output)])
    assert str(done.exception) == (
        f"{log} and {tmp_path / 'b.log'} are the same file: its lines would be counted twice; name it once"
    )
    assert not output.exists()
