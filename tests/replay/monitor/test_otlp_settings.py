import pytest

from logreplay.replay.monitor.otlp_settings import PushCounts, otlp_settings, otlp_url


@pytest.mark.parametrize(
    ("typed", "variables", "url"),
    [
        ("", {}, "http://localhost:4318/v1/metrics"),
        ("http://c:4318", {}, "http://c:4318/v1/metrics"),
        ("http://c:9090/api/v1/otlp/", {}, "http://c:9090/api/v1/otlp/v1/metrics"),
        ("https://c/v1/metrics", {}, "https://c/v1/metrics"),
        ("https://c/otlp/?key=x/y", {}, "https://c/otlp/v1/metrics?key=x/y"),
        ("https://c?key=x#part", {}, "https://c/v1/metrics?key=x"),
        ("https://c/v1/metrics?key=x", {}, "https://c/v1/metrics?key=x"),
        ("", {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m:2/?key=x"}, "http://m:2/?key=x"),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://e:1/x"}, "http://e:1/x/v1/metrics"),
        (
            "",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://e:1", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m:2/as/is"},
            "http://m:2/as/is",
        ),
        ("http://t:3", {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m:2"}, "http://t:3/v1/metrics"),
    ],
)
def test_the_endpoint_is_the_typed_one_or_that_of_the_variables(
    typed: str, variables: dict[str, str], url: str
) -> None:
    assert otlp_settings(typed, variables).url == url


def test_headers_and_attributes_come_from_the_variables() -> None:
    settings = otlp_settings(
        "",
        {
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, X-Scope=1",
            "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "X-Scope=2",
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=no,deployment.environment=load%2Ctest",
            "OTEL_SERVICE_NAME": "shop-replay",
        },
    )
    assert settings.headers == {"api-key": "a b", "X-Scope": "2"}
    assert settings.resource == {"service.name": "shop-replay", "deployment.environment": "load,test"}
    assert "a b" not in repr(settings)
    assert otlp_settings("", {}).resource == {"service.name": "logreplay"}


@pytest.mark.parametrize(
    ("typed", "variables", "why"),
    [
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "OTEL_EXPORTER_OTLP_ENDPOINT="),
        ("http://[::1", {}, "--otlp='http://\\[::1'"),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "secretvalue"}, "OTEL_EXPORTER_OTLP_HEADERS: expected NAME=VALUE"),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%0d%0aX:y"}, "cannot be a header"),
        ("", {"OTEL_EXPORTER_OTLP_HEADERS": "Content-Length=5"}, "content-length is set by logreplay"),
        ("", {"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "host=x"}, "host is set by logreplay"),
        (
            "http://u:secretvalue@c",
            {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=secretvalue"},
            "--otlp has a password",
        ),
        ("", {"OTEL_RESOURCE_ATTRIBUTES": "=x"}, "OTEL_RESOURCE_ATTRIBUTES: expected"),
    ],
)
def test_a_variable_that_cannot_be_read_is_named_without_its_value(
    typed: str, variables: dict[str, str], why: str
) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        otlp_settings(typed, variables)
    assert "secretvalue" not in str(refused.value)


@pytest.mark.parametrize("text", ["localhost:4318", "ftp://c", "http://", "http://c:99999", "http://c/ x", "http://é"])
def test_what_is_no_url_of_a_collector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected the http"):
        otlp_url(text)


def test_failed_pushes_are_told_with_the_last_reason_and_without_a_password() -> None:
    counts = PushCounts("http://me:secret@127.0.0.1:4317/v1/metrics").and_one("").and_one("status 500")
    counts = counts.and_one("", ended=True)
    assert (counts.made, counts.failed) == (3, 1)
    assert "1 of 3 pushes failed, the last one: status 500; port 4317 is for gRPC" in counts.sentence()
    assert "secret" not in counts.sentence()


def test_nothing_is_told_where_none_failed() -> None:
    assert PushCounts("http://127.0.0.1:4318/v1/metrics").and_one("", ended=True).sentence() == ""


def test_it_is_told_that_the_state_at_the_end_was_not_pushed() -> None:
    for counts in (PushCounts("http://127.0.0.1:4318"), PushCounts("http://127.0.0.1:4318").and_one("")):
        assert counts.sentence().startswith("--otlp http://127.0.0.1:4318: the state at the end was not pushed")
