"""Duets with a target that fails: each target is judged by itself, and named."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from logreplay.cli.main import run
from support.background_server import beside
from support.http2_frames import head
from support.http2_server import Always, gives, http2_server
from support.http2_server import ok as ok_http2
from support.raw_server import ok, raw_server, response, sends

Answer = Callable[[Any], Any]
WAYS = pytest.mark.parametrize("way", [(), ("--http", "2", "--workers", "2")], ids=["http1", "http2"])


def every_fourth_fails(good: Answer, bad: Answer) -> Answer:
    """Answer badly to each fourth request."""
    numbers = count(1)

    async def answer(asked: Any) -> Any:
        return await (good if next(numbers) % 4 else bad)(asked)

    return answer


def target(state: str, *, http2: bool) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """A target that is ``good``, ``half-dead`` or ``dead``."""
    good: Answer = ok_http2 if http2 else ok
    bad: Answer = gives(lambda n: head(n, 500, end=True)) if http2 else sends(response(b"no", "500 Broken"), keep=True)
    answer = {"good": good, "half-dead": every_fourth_fails(good, bad), "dead": bad}[state]
    return (lambda: http2_server(answers=Always(answer))) if http2 else (lambda: raw_server(answers={"/ok": answer}))


@dataclass(frozen=True)
class Ended:
    """A duet that ended."""

    code: int
    folder: Path
    urls: tuple[str, ...]

    @property
    def summary(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return value

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Severity and text of the findings on failed requests."""
        return [
            (each["severity"], each["text"]) for each in self.summary["findings"] if each["code"] == "target_failing"
        ]

    def of(self, name: str) -> dict[str, Any]:
        """The summary of one target's run."""
        value: dict[str, Any] = json.loads((self.folder / f"{name}.summary.json").read_text())
        return value

    def compared(self, *more: str) -> int:
        return run(["compare", *(str(self.folder / f"{name}.csv") for name in ("baseline", "candidate")), *more])


def duet(folder: Path, states: tuple[str, ...], *more: str) -> Ended:
    log = folder / "access.csv"
    rows = "".join(f"2026-01-01,00:00:{at:02}.000000,0,0,0,5,/ok,200,GET\n" for at in range(40))
    log.write_text(f"date,time,latency,xfertime,thinktime,bytes,url,rc,op\n{rows}")
    with ExitStack() as stack:
        made = [stack.enter_context(beside(target(state, http2="--http" in more))) for state in states]
        urls = tuple(server.url for server in made)
        noise = ("--noise", *urls[2:]) if urls[2:] else ()
        given = ("--tps", "80", "-n", "40", "-o", str(folder / "out"), *noise, *more)
        ended = Ended(run(["duet", str(log), *urls[:2], *given]), folder / "out", urls)
    if ended.summary["verdict"] == "GENERATOR_BOUND":
        pytest.skip("other work took the processor, which outranks what the targets did")
    return ended


@WAYS
def test_a_dead_candidate_fails_the_duet_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: tuple[str, ...]
) -> None:
    """Both targets were judged together: half of all requests failed, or a little less or more."""
    junit = tmp_path / "junit.xml"
    ended = duet(tmp_path, ("good", "dead"), *way, "--junit", str(junit))
    said = capsys.readouterr()
    assert ended.code == 4
    ((severity, text),) = ended.failures
    assert severity == "void"
    assert text.startswith(f"candidate {ended.urls[1]}: 100 % of the requests failed")
    assert "verdict: TARGET_FAILING (candidate)\n" in said.err
    assert "more than half of the requests to the candidate failed\n" in said.out
    assert "prove nothing" not in said.out
    assert (
        "<td>TARGET_FAILING; more than half of the requests to the candidate failed</td>"
        in (ended.folder / "report.html").read_text()
    )
    verdicts = {name: each["verdict"] for name, each in ended.summary["targets"].items()}
    assert (
        verdicts
        == {"baseline": "VALID", "candidate": "TARGET_FAILING"}
        == {name: ended.of(name)["verdict"] for name in verdicts}
    )
    cases = {case.attrib["name"]: [part.tag for part in case] for case in ElementTree.parse(junit).getroot()}
    assert cases["valid duet"] == ["system-out"]
    assert cases["candidate: at least half of the requests succeed"] == ["failure"]
    assert ended.compared() == 4
    assert text in capsys.readouterr().err


def test_a_dead_baseline_makes_the_duet_invalid_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = duet(tmp_path, ("dead", "good"), "--fail-above", "900%")
    said = capsys.readouterr()
    assert ended.code == 3
    assert ended.summary["verdict"] == ended.of("baseline")["verdict"] == "TARGET_FAILING"
    assert ended.of("candidate")["verdict"] == "VALID"
    assert "verdict: TARGET_FAILING (baseline)\n" in said.err
    assert (
        "invalid duet: its figures prove nothing; more than half of the requests to the baseline failed\n" in said.out
    )
    ((_, text),) = ended.failures
    assert text.startswith(f"baseline {ended.urls[0]}: 100 % of the requests failed")
    assert ended.compared("--fail-above", "900%") == 3
    assert text in capsys.readouterr().err


def test_a_target_whose_every_fourth_request_fails_is_named_in_a_warning(tmp_path: Path) -> None:
    ended = duet(tmp_path, ("good", "half-dead"), "--http", "2")
    assert ended.code == 0
    ((severity, text),) = ended.failures
    assert severity == "warning"
    assert text.startswith(f"candidate {ended.urls[1]}: 25 % of the requests failed (10 x status 400")
    assert text in [each["text"] for each in ended.of("candidate")["findings"]]
    assert "target_failing" not in [each["code"] for each in ended.of("baseline")["findings"]]
    assert ended.summary["verdict"] == "VALID"


def test_two_dead_targets_are_both_named_and_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = duet(tmp_path, ("dead", "dead"))
    assert ended.code == ended.compared() == 3
    assert [text.split()[0] for _, text in ended.failures] == ["baseline", "candidate"]
    assert "verdict: TARGET_FAILING (baseline and candidate)\n" in capsys.readouterr().err


def test_a_dead_second_baseline_makes_the_duet_invalid(tmp_path: Path) -> None:
    """All that differs would count as noise."""
    ended = duet(tmp_path, ("good", "good", "dead"), "--fail-different", "1%")
    assert ended.code == 3
    assert [text.split()[0] for _, text in ended.failures] == ["noise"]


def test_analyze_repeats_the_verdict_on_a_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = duet(tmp_path, ("good", "dead"), "-q")
    capsys.readouterr()
    for name, word, code in (("baseline", "VALID", 0), ("candidate", "TARGET_FAILING", 3)):
        assert run(["analyze", str(ended.folder / f"{name}.csv"), "-o", str(tmp_path / name), "--no-plots"]) == code
        assert json.loads((tmp_path / name / "summary.json").read_text())["verdict"] == word
        out, err = capsys.readouterr()
        assert (ended.urls[1] in err) == ("; 100 % of the requests failed" in out) == (name == "candidate")


def test_what_this_machine_could_not_open_is_no_failure_of_a_target(tmp_path: Path) -> None:
    """Connections for which descriptors lacked were told as failures of both targets."""
    log = tmp_path / "access.csv"
    rows = "".join(f"2026-01-01,00:00:00.{at:06},0,0,0,5,/stall,200,GET\n" for at in range(200))
    log.write_text(f"date,time,latency,xfertime,thinktime,bytes,url,rc,op\n{rows}")
    with beside(raw_server) as one, beside(raw_server) as other:
        words = [one.url, other.url, "--tps", "200", "-n", "200", "--timeout", "1", "-o", "out", "--fail-above", "5%"]
        limited = (
            f"ulimit -n 70; exec {shlex.join([sys.executable, '-m', 'logreplay.cli.main', 'duet', str(log), *words])}"
        )
        ended = subprocess.run(["bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert ended.returncode == 3, ended.stderr
    assert summary["verdict"] == "GENERATOR_BOUND"
    codes = {each["code"] for each in summary["findings"]}
    assert "emfile" in codes
    assert "target_failing" not in codes
