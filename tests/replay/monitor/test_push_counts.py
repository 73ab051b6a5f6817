from logreplay.replay.monitor.push_counts import PushCounts


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
