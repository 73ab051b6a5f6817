"""Metrics that a run pushes, at a server that records them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay.cli.main import run
from support.otlp import labels_of, metrics_of, points_of


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, str | None, bytes]]]]:
    """Its URL, and the path, a header and the body of each push."""
    got: list[tuple[str, str | None, bytes]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, self.headers["api-key"], body))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", got
        server.shutdown()


@pytest.mark.parametrize("how", [pytest.param({"workers": 2}, marks=pytest.mark.slow), {"by_client": True}])
def test_the_last_push_has_every_request_of_the_result_log(
    how: dict[str, Any], log: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collector() as (url, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
        result = logreplay.run(log, target, tps=200, requests=100, otlp=True, **how)
    path, key, body = got[-1]
    assert (path, key) == ("/v1/metrics", "secret")
    metrics = {metric["name"]: metric for metric in metrics_of(body)}
    outcomes = {labels_of(p)["outcome"]: int(p["asInt"]) for p in points_of(metrics["logreplay.requests"])}
    counts = result.summary["requests"]
    assert outcomes == {name: counts[name] for name in ("ok", "http_error", "net_error", "dropped", "not_sent")}
    (response,) = points_of(metrics["logreplay.response.duration"])
    assert int(response["count"]) == counts["sent"]
    service = points_of(metrics["http.client.request.duration"])
    assert sum(int(point["count"]) for point in service) == counts["sent"]
    assert labels_of(service[0])["server.port"] == target.rpartition(":")[2]
    assert [p["asDouble"] for p in points_of(metrics["logreplay.running"])] == [0.0]
    assert "secret" not in f"{result.notes}{result.summary}"


def test_nothing_is_pushed_unless_it_is_asked_for(log: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as (url, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        logreplay.run(log, target, tps=200, requests=20, metrics=0)
    assert got == []


def test_a_collector_that_is_away_changes_nothing_but_a_note(log: Path, target: str) -> None:
    result = logreplay.run(log, target, tps=200, requests=20, otlp="http://127.0.0.1:9")
    assert result.summary["requests"]["sent"] == 20
    assert any('otlp="http://127.0.0.1:9/v1/metrics": 1 of 1 pushes failed' in note for note in result.notes)


def test_it_needs_no_url_wherever_it_stands(
    log: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", str(log), target, "--tps", "50", "--requests", "2", "-o", str(tmp_path / "r.csv"), "--otlp", "-q"]
    with collector() as (url, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        assert run(words) in (0, 3)
    assert got


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--otlp", "foo"], "if 'foo' is meant for --otlp, write http://HOST:PORT or https://HOST:PORT"),
        (["--otlp", "grpc://127.0.0.1:4317"], "expected the http:// or https:// URL of a collector"),
        (["--live", "foo"], "if 'foo' is meant for --live, write PORT or HOST:PORT"),
    ],
)
def test_a_word_that_is_no_value_of_an_option_is_named(
    words: list[str], told: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([str(log), "http://127.0.0.1:9", *words], [*words, str(log), "http://127.0.0.1:9"]):
        assert run(["run", *arguments]) == 2
        assert told in capsys.readouterr().err
