"""``logreplay duet`` as a user meets it."""

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import logreplay
from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import scan
from support.background_server import beside
from support.file_size_limit import files_limited_to
from support.raw_server import RawServer, raw_server
from support.recording_server import recording

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[RawServer, RawServer]]:
    """Two raw servers, in threads of their own."""
    with beside(raw_server) as one, beside(raw_server) as other:
        yield one, other


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Sixty requests."""
    path = tmp_path / "access.csv"
    rows = [f"2026-01-01,00:00:{at:02}.000000,0,0,0,5,/ok,200,GET" for at in range(60)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def duet(*arguments: object) -> int:
    return run(["duet", *(str(argument) for argument in arguments)])


@pytest.mark.parametrize("more", [("--workers", 2), ("--sender", "aiohttp"), ("--steps", "100:500ms,300:500ms")])
def test_both_targets_get_the_same_requests_at_the_same_instants(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, more: tuple[object, ...]
) -> None:
    folder = tmp_path / "out"
    load = () if "--steps" in more else ("--tps", 200, "--for", "500ms")
    assert duet(log, servers[0].url, servers[1].url, *load, "-o", folder, *more) in (0, 3)
    one, other = (scan(folder / f"{name}.csv").collect().sort("seq") for name in ("baseline", "candidate"))
    assert one.columns == list(RESULT_COLUMNS)
    assert 60 < one.height == one["seq"].n_unique()
    shared = ["seq", "row", "url", "op", "scheduled", "step", "offered"]
    assert one.select(shared).equals(other.select(shared))
    assert one["offered"].unique().to_list() == ([100.0, 300.0] if "--steps" in more else [200.0])
    summary = json.loads((folder / "summary.json").read_text())
    assert [target["requests"]["sent"] for target in summary["targets"].values()] == [one.height] * 2
    assert summary["times"]["paired"]


def test_alternating_shares_the_requests_out_at_one_rate(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    load = ("--tps", 200, "--arrivals", "even")
    assert duet(log, servers[0].url, servers[1].url, *load, "--alternate", "-o", folder, "-q") in (0, 3)
    both = [scan(folder / f"{name}.csv").select("row", "scheduled").collect() for name in ("baseline", "candidate")]
    rows = pl.concat(both).sort("scheduled")
    assert sorted(rows["row"].to_list()) == list(range(60))
    assert rows["scheduled"].diff().drop_nulls().to_list() == pytest.approx([1 / 200] * 59, abs=1e-5)
    assert duet("--help") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Rates count requests to each target; with --alternate, to both together." in text


@pytest.mark.slow
def test_one_target_named_twice_is_said(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = servers[0].url
    same, noise = url.replace("127.0.0.1", "localhost"), ("--noise", f"{url}/")
    assert same != url
    assert duet(log, url, same, *noise, "--tps", 200, "-n", 1, "-o", tmp_path / "out") in (0, 3)
    told = capsys.readouterr().err
    for names in ("BASELINE and CANDIDATE", "BASELINE and --noise", "CANDIDATE and --noise"):
        assert f"{names} name one target, http://" in told


def test_a_target_that_got_no_request_has_a_result_log_without_rows(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    assert duet(log, servers[0].url, servers[1].url, "--tps", 200, "-n", 1, "--alternate", "-o", folder) in (0, 3)
    assert sorted(scan(folder / f"{name}.csv").collect().height for name in ("baseline", "candidate")) == [0, 1]


def test_an_invalid_duet_says_so_everywhere(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its report and the terminal told the differences first, its result logs passed for those of valid runs."""
    log.write_text(log.read_text().replace("/ok", "/404"))
    folder = tmp_path / "out"
    assert duet(log, servers[0].url, servers[1].url, "--tps", 200, "-o", folder) == 3
    summary = json.loads((folder / "summary.json").read_text())
    said = capsys.readouterr().out
    told = "invalid duet: its figures prove nothing; more than half of the requests to the baseline and "
    told += "the candidate failed"
    assert f"\n{told}\n{summary['times']['sentence']}\n" in said
    page = unescape((folder / "report.html").read_text())
    assert f"<td>{summary['verdict']}; {told}</td>" in page
    for finding in summary["findings"]:
        word = "invalid" if finding["severity"] == "void" else finding["severity"]
        assert f"<tr><th>{word}</th><td>{finding['text']}</td></tr>" in page
    sides = [folder / f"{name}.csv" for name in ("baseline", "candidate")]
    for side in sides:
        own = json.loads(side.with_suffix(".summary.json").read_text())
        assert own["verdict"] == summary["verdict"] == summary["targets"][side.stem]["verdict"]
        failures = [each for each in summary["findings"] if each["text"].startswith(side.stem)]
        assert [each["severity"] for each in failures] == ["void"]
        assert own["findings"][:1] == failures
    assert run(["analyze", str(folder)]) == 3
    assert f"{told}\n" in capsys.readouterr().out
    assert told in logreplay.analyze(folder).sentence
    assert run(["compare", *map(str, sides)]) == 3
    assert f"do not describe the target: {sides[0]}: baseline {servers[0].url}: 100 % " in capsys.readouterr().err


@pytest.mark.slow
def test_alternating_prints_nothing_of_pairs(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--tps", 200, "--for", "1s", "-o", tmp_path / "out")
    assert duet(log, servers[0].url, servers[1].url, *options) in (0, 3)
    assert "bodies of another size: 0.00% (95% interval 0.00%" in capsys.readouterr().out
    assert duet(log, servers[0].url, servers[1].url, *options, "--force", "--alternate") in (0, 3)
    said = capsys.readouterr().out
    assert not any(word in said for word in ("bodies", "status", "became"))


def test_logins_name_their_target(servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path) -> None:
    header, *rows = log.read_text().splitlines()
    log.write_text("\n".join([f"{header},client", *(f"{row},10.0.0.1" for row in rows)]) + "\n")
    logins, folder = tmp_path / "logins.csv", tmp_path / "out"
    logins.write_text("url\n/ok\n")
    options = ("--tps", 200, "--by-client", "--login", logins, "-o", folder, "-q")
    assert duet(log, servers[0].url, servers[1].url, *options) in (0, 3)
    found = pl.read_csv(folder / "results.logins.csv")
    assert found.columns[:2] == ["target", "date"]
    assert sorted(found["target"]) == sorted(server.url for server in servers)


@pytest.mark.slow
def test_nothing_of_a_replaced_duet_stays(servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path) -> None:
    folder, urls = tmp_path / "out", (servers[0].url, servers[1].url)
    assert duet(log, *urls, "--tps", 200, "--noise", servers[1].url, "-o", folder, "-q") in (0, 3)
    first = {path.name for path in folder.iterdir()}
    (folder / ".pairs-of-a-crash").touch()
    assert duet(log, *urls, "--tps", 200, "--alternate", "--force", "-o", folder, "-q") in (0, 3)
    alone = tmp_path / "alone"
    assert duet(log, *urls, "--tps", 200, "--alternate", "-o", alone, "-q") in (0, 3)
    left = {path.name for path in folder.iterdir()}
    assert left == {path.name for path in alone.iterdir()}
    assert {"differences.csv", "pairs.jsonl", "noise.csv"} <= first - left


def test_a_full_disk_leaves_rows_that_the_error_names_and_no_hidden_file(
    servers: tuple[RawServer, RawServer],
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit of the files' size stands for the disk; rows are written often, so that the first ones always fit."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # modules that are loaded now would be cut
    monkeypatch.setattr("logreplay.replay.engine.engine._FLUSH_S", 0.1)
    folder = tmp_path / "out"
    with files_limited_to(15_001):
        assert duet(log, servers[0].url, servers[1].url, "--tps", 100, "--for", "4s", "-o", folder) == 1
    said = capsys.readouterr().err
    assert "the file size limit is reached" in said
    assert all(said.count(f"are kept in {folder / name}") == 1 for name in ("baseline.csv", "candidate.csv"))
    left = {path.name for path in folder.iterdir()}
    assert {"baseline.csv", "candidate.csv"} <= left
    assert {name.partition(".")[0] for name in left} == {"baseline", "candidate"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--vusers", 3), ("duet", "--vusers")),
        (("--tps", 9, "--think", "1s"), ("duet", "--think")),
        (("--tps", 9, "--alternate", "--keep", 3), ("--alternate", "--keep")),
        (("--tps", 9, "--no-digest", "--ignore", "size"), ("--no-digest", "--ignore")),
        (("--tps", 9, "--alternate", "--noise", "http://127.0.0.1:9"), ("--alternate", "--noise")),
        (("--tps", 9, "--cluster", "local:2"), ("duet", "--cluster")),
    ],
)
def test_options_that_a_duet_cannot_have_are_refused_in_a_sentence_that_names_both(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[object, ...], words: tuple[str, ...]
) -> None:
    assert duet(log, "http://127.0.0.1:9", "http://127.0.0.1:9", *more, "-o", tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert all(word in told for word in words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("foreign", [0, 1, 2])
def test_each_target_needs_its_permission(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], foreign: int
) -> None:
    urls = ["http://127.0.0.1:9"] * 3
    urls[foreign] = "http://192.0.2.1"
    assert duet(log, *urls[:2], "--noise", urls[2], "--tps", 9, "-o", tmp_path / "out") == 1
    assert "--allow-target 192.0.2.1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--cookies",), ("--extract", "user=header:X-User", "--use", "user=header:Cookie")])
def test_sessions_send_no_cookies_of_the_log(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    first, *rows = log.read_text().splitlines()
    logged = "Cookie: sid=of-the-log\tX-Mine: mine"
    log.write_text("\n".join([f"{first},headers", *(f"{row},{logged}" for row in rows)]))
    before = [len(server.heads) for server in servers]
    given = ("--tps", 60, "-o", tmp_path / "out", "--by-client", "--header", "log", *more)
    assert duet(log, *(server.url for server in servers), *given) in (0, 3)
    for server, already in zip(servers, before, strict=True):
        heads = server.heads[already:]
        assert any(b"mine" in head for head in heads)
        assert not any(b"of-the-log" in head for head in heads)


def test_a_pipeline_gets_its_checks_a_row_of_history_and_a_report(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path
) -> None:
    folder, junit, history = tmp_path / "out", tmp_path / "junit.xml", tmp_path / "runs.csv"
    files = ("--junit", junit, "--history", history, "--fail-different", "1%", "--fail-above", "900%")
    assert duet(log, servers[0].url, servers[1].url, "--tps", 60, "-o", folder, *files) in (0, 3)
    cases = {case.attrib["name"] for case in ElementTree.parse(junit).getroot()}
    assert {"valid duet", "times: not slower by more than 900.0%"} < cases
    assert any(name.startswith("answers") for name in cases)
    made = [*tmp_path.glob("runs*.csv")]  # a short duet has its row apart
    assert len(made) == (json.loads((folder / "summary.json").read_text())["verdict"] == "VALID")
    for rows in made:
        assert "failed_more" in rows.read_text().splitlines()[0].split(",")
        assert len(rows.read_text().splitlines()) == 2
    page = (folder / "report.html").read_text()
    assert "<h2>Times</h2>" in page
    urls = {"baseline": servers[0].url, "candidate": servers[1].url}
    for name, value in {**urls, "log": log, "protocol": "HTTP/1.1", "mean rate": "60/s"}.items():
        assert f"<tr><th>{name}</th><td>{value}</td></tr>" in page
    assert "<th>requests to each target</th><td>60 in " in page


def test_the_rate_is_that_of_one_target(
    servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logreplay.replay.checks.preflight.allow_descriptors", lambda needed: needed - 1)
    third = ("--noise", servers[1].url)
    assert duet(log, servers[0].url, servers[1].url, *third, "--tps", 60, "-o", tmp_path / "out", "-q") in (0, 3)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["replay"]["factor"] == pytest.approx(60 / summary["replay"]["log_mean"])
    (told,) = (each["text"] for each in summary["findings"] if each["code"] == "descriptors")
    assert "60/s to each of 3 targets (180/s in all)" in told


def test_a_history_of_another_command_is_refused_before_the_duet(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "runs.csv"
    history.write_text("time,other\n")
    url = "http://127.0.0.1:9"
    assert duet(log, url, url, "--tps", 9, "--history", history, "-o", tmp_path / "out") == 1
    assert "has other columns" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_answers_that_differ_end_with_4(servers: tuple[RawServer, RawServer], log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(log.read_text().replace("/ok", "/404"))
    rewritten = ("--fail-different", "1%", "-q", "-o", tmp_path / "out")
    with beside(recording) as recorder:
        assert duet(other, servers[0].url, recorder.url, "--tps", 100, *rewritten) in (3, 4)


def test_a_limit_on_answers_needs_pairs(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urls = ("http://127.0.0.1:9", "http://127.0.0.1:9")
    assert duet(log, *urls, "--tps", 9, "--alternate", "--fail-different", "1%") == 2
    assert "--fail-different" in capsys.readouterr().err
