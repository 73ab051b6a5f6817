"""What a run tells reaches its listener in the thread that waits."""

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from logreplay.calling.loop_thread import Stop, protected
from logreplay.calling.mailbox import Mailbox
from logreplay.replay.monitor.snapshot import Snapshot


@dataclass
class Diary:
    """Writes down what it is told, and in which thread."""

    told: list[object] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def _write(self, what: object) -> None:
        self.told.append(what)
        self.threads.add(threading.get_ident())

    def note(self, text: str, *, always: bool = False) -> None:
        self._write(text)

    def opened(self) -> None:
        self._write("opened")

    def see(self, now: Snapshot) -> None:
        self._write(now.second)

    def ended(self, now: Snapshot, line: str = "") -> None:
        self._write(f"end at {now.second:g}{line}")

    def closed(self) -> None:
        self._write("closed")

    def fault(self, loop: object, context: dict[str, Any]) -> None:
        self._write(context["message"])


def test_what_a_thread_tells_is_told_in_its_order_by_the_thread_that_waits() -> None:
    diary = Diary()
    mailbox = Mailbox(diary)

    def work(_: Stop) -> int:
        mailbox.opened()
        mailbox.see(Snapshot(second=1))
        mailbox.note("a note")
        mailbox.see(Snapshot(second=2))
        mailbox.ended(Snapshot(second=2.5), ": 5 sent")
        mailbox.fault(None, {"message": "a fault"})
        mailbox.closed()
        return 7

    assert protected(work, mailbox) == 7
    assert diary.told == ["opened", 1, "a note", 2, "end at 2.5: 5 sent", "a fault", "closed"]
    assert diary.threads == {threading.get_ident()}


def test_of_states_that_nobody_has_taken_the_newest_is_left() -> None:
    diary = Diary()
    mailbox = Mailbox(diary)

    def tell() -> None:
        for second in range(1, 4):
            mailbox.see(Snapshot(second=second))
        mailbox.ended(Snapshot(second=3))
        mailbox.see(Snapshot(second=4))

    telling = threading.Thread(target=tell)
    telling.start()
    telling.join()
    mailbox.deliver()
    assert diary.told == [3, "end at 3", 4]


def test_the_thread_that_made_it_is_served_at_once() -> None:
    diary = Diary()
    mailbox = Mailbox(diary)
    mailbox.note("before")
    mailbox.see(Snapshot(second=1))
    assert diary.told == ["before", 1]


def test_an_exception_of_the_listener_stops_the_work_and_is_raised() -> None:
    class Failing(Diary):
        def see(self, now: Snapshot) -> None:
            raise KeyError(now.second)

    mailbox, heard = Mailbox(diary := Failing()), threading.Event()

    def work(stop: Stop) -> None:
        stop.bind(heard.set)
        mailbox.see(Snapshot(second=1))
        assert heard.wait(60)
        mailbox.note("written")

    with pytest.raises(KeyError, match="1"):
        protected(work, mailbox)
    assert diary.told == ["written"]
