"""The collector is off within a run, and what young cycles leave behind is freed all the same."""

import gc

import pytest

from logreplay.replay.engine.garbage_collection import collect_young, no_collection


def test_cycles_that_others_make_are_freed_before_they_are_many() -> None:
    with no_collection():
        gc.collect(0)
        freed = []
        for _ in range(1000):
            for _ in range(1000):
                cycle: list[object] = []
                cycle.append(cycle)
            before = gc.get_count()[0]
            collect_young()
            freed.append(before - gc.get_count()[0])
        assert max(freed) > 40_000
        assert gc.get_count()[0] < 60_000


def test_the_collector_is_off_within_the_block_and_then_as_it_was() -> None:
    assert gc.isenabled()
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_objects_that_the_caller_froze_stay_so() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with no_collection():
        pass
    assert gc.get_freeze_count() == frozen > 0


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_turns_the_collector_on_again() -> None:
    with pytest.raises(KeyError), no_collection():
        raise KeyError
    assert gc.isenabled()


def test_few_young_objects_are_left_alone() -> None:
    with no_collection():
        gc.collect(0)
        cycles: list[object] = [[] for _ in range(1000)]
        before = gc.get_count()[0]
        collect_young()
        assert gc.get_count()[0] >= before
        assert len(cycles) == 1000
