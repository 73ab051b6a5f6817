"""The soft limit of descriptors is raised as far as it may be."""

import resource

import pytest

from logreplay.replay.senders.descriptors import allow_descriptors

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "allowed"),
    [
        (100, 1000, 500, 500),
        (100, 1000, 5000, 1000),
        (700, 1000, 500, 700),
        (100, 1000, None, 1000),
        (100, UNLIMITED, 500, 500),
        (100, UNLIMITED, None, float("inf")),
        (UNLIMITED, UNLIMITED, 500, float("inf")),
    ],
)
def test_the_limit_is_raised_to_what_is_wanted_and_allowed(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, wanted: int | None, allowed: float
) -> None:
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: made.append(limits))
    assert allow_descriptors(wanted) == allowed
    assert made == ([(allowed if allowed < float("inf") else UNLIMITED, hard)] if allowed != soft != UNLIMITED else [])


def test_a_system_that_allows_less_leaves_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, UNLIMITED))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert allow_descriptors(10_000) == 256
