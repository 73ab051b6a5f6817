from support.abandoned_program import abandoned


def test_a_server_ends_without_a_word_if_the_process_that_started_it_has_ended() -> None:
    assert abandoned("logreplay.replay.servers.minimal") == (0, b"")
