"""What counts as silence of another process."""

from collections.abc import Iterator

from logreplay.replay.workers.protocol import Silence


def test_silence_adds_up_while_this_process_runs_and_ends_with_a_word() -> None:
    silence, looks = looked_at(0.0, 1.0, 2.0, 3.0, 3.0, 4.0)
    assert [next(looks), next(looks), next(looks)] == [1.0, 2.0, 3.0]
    silence.heard()
    assert next(looks) == 1.0


def test_time_in_which_this_process_stood_still_is_no_silence_of_others() -> None:
    """Ctrl-Z for an hour: nobody could have been heard."""
    _, looks = looked_at(0.0, 1.0, 3601.0, 3602.0)
    assert [next(looks), next(looks), next(looks)] == [1.0, 3.0, 4.0]


def looked_at(*instants: float) -> tuple[Silence, Iterator[float]]:
    """Silence whose clock reads these, one after the other; and what it says at each look."""
    clock = iter(instants)
    silence = Silence(2.0, lambda: next(clock))
    return silence, iter(silence.look, None)
