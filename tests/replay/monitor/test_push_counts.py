from logreplay.replay.monitor.push_counts import PushCounts


def test_failed_pushes_are_told_with_the_last_reason_and_without_a_password() -> None:
    counts = PushCounts("http://me:secret@127.0.0.1:4317/v1/metrics").and_one("").and_one("status 500").and_one("")
    assert (counts.made, counts.failed) == (3, 1)
    assert "1 of 3 pushes failed, the last one: status 500; port 4317 is for gRPC" in counts.sentence()
    assert "secret" not in counts.sentence()


def test_nothing_is_told_where_none_failed() -> None:
    assert PushCounts("http://127.0.0.1:4318/v1/metrics").and_one("").sentence() == ""
